/* SPDX-License-Identifier: MIT */
/*
 * Two tasks block until a third task lets them go. With a pool of three
 * threads they do not hold up the third task.
 */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel/timer.h>

static sem_t go;

static void slow(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
	while (sem_wait(&go) != 0)
		; /* interrupted by a signal: wait again */
}

static void quick(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
	sem_post(&go);
	sem_post(&go);
}

int main(void)
{
	const struct tkw_pool_config three = { .threads = 3 };
	const struct tkw_task wait = { .fn = slow },
			      wake = { .fn = quick };
	struct tkw_timer_config cfg = { .size = sizeof(cfg) };
	struct tkw_timer *t;
	struct tkw_pool *p;

	sem_init(&go, 0, 0);
	if (tkw_pool_create(&p, &three) != 0)
		return 1;
	cfg.exec = tkw_pool_exec(p);
	if (tkw_timer_create(&t, &cfg) != 0 ||
	    tkw_timer_schedule(t, &wait, 0, NULL) != 0 ||
	    tkw_timer_schedule(t, &wait, 0, NULL) != 0 ||
	    tkw_timer_schedule(t, &wake, 0, NULL) != 0 ||
	    tkw_timer_wait_idle(t, TKW_NEVER_NS) != 0)
		return 1;
	printf("all three are done\n");
	/* The timer uses the pool, so destroy the timer first. */
	return tkw_timer_destroy(t) != 0 || tkw_pool_destroy(p) != 0;
}
