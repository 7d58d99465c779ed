/* SPDX-License-Identifier: MIT */
/*
 * test_job_threads.c - SPEC 12.3 with several threads: jobs are added and
 * removed, paused, resumed, changed and asked for runs, while the wall clock is
 * set again and again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tickwheel/job.h"

/* An assert of cmocka does not work on a thread that is not the test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

enum {
	KEPT = 8,    /* jobs that stay, and are meddled with */
	EACH = 1000, /* jobs that an adder adds and removes */
	ADDERS = 2,
	MEDDLERS = 2,
	FAR_MS = 20 /* how far the clock is set */
};

struct entry {
	struct tkw_job_id id;
	atomic_uint inside;
	atomic_uint runs; /* by the plan */
	atomic_uint runs_now;
	atomic_uint ends;
	int64_t last_ms; /* planned time of the last run by the plan */
};

static struct {
	struct tkw_timer *timer;
	struct tkw_jobs *set;
	struct tkw_plan *plans[2];
	bool pooled;
	atomic_llong ahead_ms;
	atomic_uint running; /* adders */
	struct entry kept[KEPT];
	struct entry passing[ADDERS][EACH];
} race;

/* The wall clock, which goes back at most by FAR_MS. */
static int64_t wall_us(void *ctx)
{
	(void)ctx;
	return tkw_timer_now_ns(race.timer) / 1000 +
	       (1000000 + atomic_load(&race.ahead_ms)) * 1000;
}

static int on_run(const struct tkw_job_run *run, void *ctx)
{
	struct entry *e = ctx;

	must(atomic_fetch_add(&e->inside, 1) == 0);
	must(atomic_load(&e->ends) == 0);
	/* In the queue of a pool, the clock may go back. */
	must(race.pooled || run->now_ms >= run->planned_ms);
	if (run->run_now) {
		atomic_fetch_add(&e->runs_now, 1);
	} else {
		must(run->planned_ms > e->last_ms);
		e->last_ms = run->planned_ms;
		atomic_fetch_add(&e->runs, 1);
	}
	atomic_fetch_sub(&e->inside, 1);
	return 0;
}

static void on_end(const struct tkw_job_end *end, void *ctx)
{
	struct entry *e = ctx;

	must(atomic_load(&e->inside) == 0);
	must(end->status == -ECANCELED);
	must(atomic_fetch_add(&e->ends, 1) == 0);
}

static void add(struct entry *e)
{
	const struct tkw_job_config cfg = {
		.plan = race.plans[0], .fn = on_run, .on_end = on_end, .ctx = e
	};

	must(tkw_jobs_add(race.set, &cfg, &e->id) == 0);
}

/* Adds a job, waits for a run of some, and removes it. */
static void *add_many(void *arg)
{
	struct entry *all = arg;

	for (unsigned i = 0; i < EACH; i++) {
		struct entry *e = &all[i];
		int said;

		add(e);
		while (i % 4 == 0 && atomic_load(&e->runs) == 0)
			sched_yield();
		if (i % 2) {
			said = tkw_jobs_remove(race.set, e->id);
			must(said == 0 || said == 1);
			/* A run may still be there, so it waits. */
			must(tkw_jobs_remove_wait(race.set, e->id) == -ENOENT);
		} else {
			said = tkw_jobs_remove_wait(race.set, e->id);
			must(said == 0 || said == 1);
		}
		must(atomic_load(&e->ends) == 1);
		must(atomic_load(&e->inside) == 0);
	}
	atomic_fetch_sub(&race.running, 1);
	return NULL;
}

static void meddle(struct entry *e, uint32_t dice)
{
	struct tkw_job_config cfg = { .plan = race.plans[dice >> 8 & 1],
				      .misfire = (int)(dice >> 9) % 3 };
	int said = 0;

	switch (dice % 5) {
	case 0:
		said = tkw_jobs_pause(race.set, e->id);
		break;
	case 1:
		said = tkw_jobs_resume(race.set, e->id);
		break;
	case 2:
		said = tkw_jobs_run_now(race.set, e->id);
		if (said == -EBUSY)
			said = 0;
		break;
	case 3:
		said = tkw_jobs_change(race.set, e->id, &cfg);
		break;
	default:
		atomic_store(&race.ahead_ms, (dice >> 8) % FAR_MS);
		said = tkw_jobs_reread_clock(race.set);
		break;
	}
	must(said == 0);
}

static void *meddle_much(void *arg)
{
	uint32_t dice = (uint32_t)(uintptr_t)arg;

	while (atomic_load(&race.running) > 0) {
		dice = dice * 1664525 + 1013904223;
		meddle(&race.kept[(dice >> 28) % KEPT], dice >> 4);
		if (dice >> 31)
			sched_yield();
	}
	return NULL;
}

/* All is quiet: each job knows its runs, and runs on. */
static void judge(struct entry *e)
{
	struct tkw_job_info info;
	unsigned before;

	assert_int_equal(tkw_jobs_resume(race.set, e->id), 0);
	before = atomic_load(&e->runs);
	while (atomic_load(&e->runs) == before)
		sched_yield();
	assert_int_equal(tkw_jobs_pause(race.set, e->id), 0);
	do {
		assert_int_equal(tkw_jobs_get(race.set, e->id, &info), 0);
	} while (info.running > 0);
	assert_int_equal(info.runs, atomic_load(&e->runs));
	assert_int_equal(info.runs_now, atomic_load(&e->runs_now));
	assert_int_equal(info.failed, 0);
	assert_true(info.last_ms >= e->last_ms);
	assert_int_equal(tkw_jobs_remove_wait(race.set, e->id), 0);
	assert_int_equal(atomic_load(&e->ends), 1);
}

static void run_race(const struct tkw_exec *exec)
{
	struct tkw_jobs_config cfg = { .exec = exec, .now_us = wall_us };
	pthread_t threads[ADDERS + MEDDLERS];

	memset(&race, 0, sizeof(race));
	race.pooled = exec != NULL;
	assert_int_equal(tkw_timer_create(&race.timer, NULL), 0);
	cfg.timer = race.timer;
	assert_int_equal(tkw_jobs_create(&race.set, &cfg), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(tkw_plan_create(&race.plans[i],
						 i ? "every 2ms" : "every 1ms",
						 NULL, NULL),
				 0);
	for (unsigned i = 0; i < KEPT; i++)
		add(&race.kept[i]);
	atomic_store(&race.running, ADDERS);
	for (uintptr_t i = 0; i < ADDERS + MEDDLERS; i++)
		must(pthread_create(&threads[i], NULL,
				    i < ADDERS ? add_many : meddle_much,
				    i < ADDERS ? (void *)race.passing[i]
					       : (void *)i) == 0);
	for (unsigned i = 0; i < ADDERS + MEDDLERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < KEPT; i++)
		judge(&race.kept[i]);
	assert_int_equal(tkw_jobs_count(race.set), 0);
	assert_int_equal(tkw_timer_count(race.timer), 0);
	assert_int_equal(tkw_jobs_destroy(race.set), 0);
	assert_int_equal(tkw_timer_destroy(race.timer), 0);
	for (unsigned i = 0; i < 2; i++)
		(void)tkw_plan_destroy(race.plans[i]);
}

/* SPEC 12.3: the worker makes the runs. */
static void test_12_3_job_races_on_the_worker(void **state)
{
	(void)state;
	run_race(NULL);
}

/* SPEC 12.3: a pool makes the runs. */
static void test_12_3_job_races_on_a_pool(void **state)
{
	const struct tkw_pool_config threads = { .threads = 2 };
	struct tkw_pool *p;

	(void)state;
	assert_int_equal(tkw_pool_create(&p, &threads), 0);
	run_race(tkw_pool_exec(p));
	assert_int_equal(tkw_pool_destroy(p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_12_3_job_races_on_the_worker),
		cmocka_unit_test(test_12_3_job_races_on_a_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
