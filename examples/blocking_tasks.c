/* SPDX-License-Identifier: MIT */
/* blocking_tasks.c - run blocking tasks on a pool; they delay no others. */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel.h>

static sem_t quick_done, slow_done, release;

/* Blocks. On the timer's own thread it would delay all other tasks. */
static void slow(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
	while (sem_wait(&release) != 0)
		; /* interrupted by a signal */
	sem_post(&slow_done);
}

static void quick(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
	sem_post(&quick_done);
}

static void wait_for(sem_t *done, int times)
{
	while (times > 0)
		times -= sem_wait(done) == 0;
}

int main(void)
{
	const struct tkw_pool_config threads = { .threads = 3 };
	struct tkw_timer_config cfg = { .size = sizeof(cfg) };
	const struct tkw_batch_item two[] = { { { .fn = slow }, 0 },
					      { { .fn = slow }, 0 } };
	const struct tkw_task task = { .fn = quick };
	struct tkw_stats stats;
	struct tkw_timer *t;
	struct tkw_pool *p;

	sem_init(&quick_done, 0, 0);
	sem_init(&slow_done, 0, 0);
	sem_init(&release, 0, 0);
	if (tkw_pool_create(&p, &threads) != 0)
		return 1;
	cfg.exec = tkw_pool_exec(p);
	if (tkw_timer_create(&t, &cfg) != 0)
		return 1;
	/* Two slow tasks block two of the three threads. The third thread runs
	 * the quick tasks. */
	if (tkw_timer_schedule_batch(t, two, 2, NULL) != 0)
		return 1;
	for (int i = 1; i <= 100; i++) {
		if (tkw_timer_schedule(t, &task, i * TKW_USEC, NULL) != 0)
			return 1;
	}
	wait_for(&quick_done, 100);
	puts("100 quick tasks are done, 2 slow ones still wait");
	sem_post(&release);
	sem_post(&release);
	wait_for(&slow_done, 2);
	tkw_timer_stop(t, NULL, NULL);
	if (tkw_timer_get_stats(t, &stats) == 0)
		printf("fired: %d\n", (int)stats.ledger.fired);
	/* Destroy the timer first, then the pool that it uses. */
	return tkw_timer_destroy(t) != 0 || tkw_pool_destroy(p) != 0;
}
