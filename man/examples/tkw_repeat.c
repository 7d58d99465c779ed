/* SPDX-License-Identifier: MIT */
/* Makes three rounds. The third round ends the repeat. */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel/repeat.h>

static sem_t over;

static void beat(struct tkw_repeat *r, void *ctx)
{
	int *n = ctx;

	printf("beat %d\n", ++*n);
	if (*n == 3)
		tkw_repeat_shutdown(r);
}

static void on_end(struct tkw_repeat *r, void *ctx)
{
	(void)r;
	(void)ctx;
	sem_post(&over);
}

int main(void)
{
	struct tkw_repeat_config cfg = { .size = sizeof(cfg) };
	struct tkw_repeat *r;
	int n = 0;

	sem_init(&over, 0, 0);
	cfg.interval_ns = 10 * TKW_MSEC;
	cfg.fn = beat;
	cfg.on_end = on_end;
	cfg.ctx = &n;
	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_repeat_create(&r, &cfg) != 0 || tkw_repeat_start(r) != 0)
		return 1;
	while (sem_wait(&over) != 0)
		; /* interrupted by a signal: wait again */
	return tkw_repeat_destroy(r) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
