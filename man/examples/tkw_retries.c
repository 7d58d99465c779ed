/* SPDX-License-Identifier: MIT */
/*
 * Tries a task twice. The first try fails, and the second try is
 * answered later.
 */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel/retry.h>

static struct tkw_retry_id asked;
static sem_t is_asked;

static int ask(const struct tkw_try *attempt, void *ctx)
{
	(void)ctx;
	printf("try %d\n", (int)attempt->number);
	if (attempt->number == 1)
		return -1; /* no connection */
	/* A real program sends a request here. */
	asked = attempt->id;
	sem_post(&is_asked);
	return TKW_TRY_LATER;
}

static void on_end(const struct tkw_retry_end *end, void *ctx)
{
	(void)ctx;
	printf("%s after %d tries\n",
	       end->status == 0 ? "succeeded" : "given up",
	       (int)end->tries);
}

int main(void)
{
	struct tkw_retries_config cfg = { .size = sizeof(cfg) };
	const struct tkw_retry task = { .fn = ask, .on_end = on_end };
	struct tkw_retries *rs;

	sem_init(&is_asked, 0, 0);
	cfg.delay_ns = 10 * TKW_MSEC;
	cfg.backoff_percent = 200;
	cfg.try_timeout_ns = 60 * TKW_SEC;
	cfg.max_tries = 5;
	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_retries_create(&rs, &cfg) != 0 ||
	    tkw_retries_add(rs, &task, 0, NULL) != 0)
		return 1;
	while (sem_wait(&is_asked) != 0)
		; /* interrupted by a signal: wait again */
	/* Usually the thread that reads the socket does this. */
	if (tkw_retries_done(rs, asked, 2, 0) != 0)
		return 1;
	return tkw_retries_destroy(rs) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
