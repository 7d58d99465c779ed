/* SPDX-License-Identifier: MIT */
/* guide_repeat.c - a heartbeat that ends itself after three beats. */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel.h>

struct heart {
	int beats;
	sem_t still;
};

static void beat(struct tkw_repeat *r, void *ctx)
{
	struct heart *h = ctx;

	printf("beat %d\n", ++h->beats);
	if (h->beats == 3)
		tkw_repeat_destroy(r); /* legal here: no round follows */
}

static void on_end(struct tkw_repeat *r, void *ctx)
{
	struct heart *h = ctx;

	(void)r;
	sem_post(&h->still); /* no round runs, and none will */
}

int main(void)
{
	struct tkw_repeat_config cfg = { .size = sizeof(cfg),
					 .interval_ns = 5 * TKW_MSEC,
					 .mode = TKW_REPEAT_RATE_SKIP,
					 .fn = beat,
					 .on_end = on_end };
	struct heart h = { 0 };
	struct tkw_repeat *r;

	sem_init(&h.still, 0, 0);
	cfg.ctx = &h;
	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_repeat_create(&r, &cfg) != 0 || tkw_repeat_start(r) != 0)
		return 1;
	while (sem_wait(&h.still) != 0)
		; /* interrupted by a signal */
	return tkw_timer_destroy(cfg.timer);
}
