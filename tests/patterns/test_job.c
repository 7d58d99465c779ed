/* SPDX-License-Identifier: MIT */
/*
 * test_job.c - SPEC 12.3: each call of job.h, bad input, no memory, and forks.
 *
 * The other files:
 *   test_job_times.c    what happens to each planned time
 *   test_job_exec.c     executors, and calls inside callbacks
 *   test_job_threads.c  several threads
 *   test_job_watch.c    a step of the system's clock
 */
#include "job_bed.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the memory, which may be refused ----------------------------------- */

static atomic_int refuse_in; /* the n-th call from now on, or 0 */

#define NAMED(name) __asm__(name)
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");

void *wrap_aligned_alloc(size_t align, size_t size)
{
	if (atomic_load(&refuse_in) > 0 && atomic_fetch_sub(&refuse_in, 1) == 1)
		return NULL;
	return real_aligned_alloc(align, size);
}

/* --- run now ------------------------------------------------------------- */

/* SPEC 12.3: a run now comes besides the plan, even if the job is paused. The
 * planned times stay. */
static void test_12_3_job_runs_now(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	run_to(&l, MINUTES(10));
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	if (bed_by_hand(b)) {
		assert_int_equal(d.runs, 0);
		assert_int_equal(tkw_jobs_run_now(l.set, d.id), -EBUSY);
	}
	bed_pass(b, 0);
	assert_runs(&d, MINUTES(10));
	assert_int_not_equal(d.run[0].run_now, 0);
	run_to(&l, HOURS(1));
	assert_runs(&d, HOURS(1));
	assert_int_equal(d.run[1].run_now, 0);
	assert_int_equal(tkw_jobs_pause(l.set, d.id), 0);
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	bed_pass(b, 0);
	run_to(&l, HOURS(3));
	assert_runs(&d, HOURS(1));
	assert_counts(&d, 1, 0, 0);
	assert_int_equal(info_of(&d).runs_now, 2);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_runs_now)

/* SPEC 12.3: a planned time that comes during such a run is an overlap. */
static void test_12_3_job_run_now_overlaps(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	d.answer = TKW_JOB_LATER;
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	bed_pass(b, 0);
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), -EBUSY);
	run_to(&l, HOURS(1) + 1);
	assert_runs(&d, 0);
	assert_int_equal(tkw_jobs_done(l.set, d.id, 1, 0), 0);
	assert_counts(&d, 0, 0, 1);
	run_to(&l, HOURS(2));
	assert_runs(&d, HOURS(2));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_run_now_overlaps)

/* SPEC 12.3: a run is asked for when planned times are due. They are not
 * overlaps of this run, because they came before it. */
static void test_12_3_job_runs_now_before_what_is_due(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	d.answer = TKW_JOB_LATER;
	bed_set_clock(b, tkw_timer_now_ns(b->t) + 12600 * TKW_SEC);
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	bed_pass(b, 0);
	assert_runs(&d, HOURS(3) + MINUTES(30));
	assert_int_not_equal(d.run[0].run_now, 0);
	assert_int_equal(info_of(&d).next_ms, NOON_MS + HOURS(3));
	run_to(&l, HOURS(4) + 1);
	assert_int_equal(tkw_jobs_done(l.set, d.id, 1, 0), 0);
	bed_pass(b, 0);
	assert_runs(&d, HOURS(3));
	assert_int_equal(d.run[1].run_now, 0);
	assert_counts(&d, 1, 2, 1);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_runs_now_before_what_is_due)

/* --- pause and resume ---------------------------------------------------- */

/* SPEC 12.3: times during a pause do not count. */
static void test_12_3_job_pauses(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	assert_int_equal(tkw_jobs_resume(l.set, d.id), 0);
	run_to(&l, HOURS(1));
	assert_int_equal(tkw_jobs_pause(l.set, d.id), 0);
	assert_int_equal(tkw_jobs_pause(l.set, d.id), 0);
	assert_int_not_equal(info_of(&d).paused, 0);
	run_to(&l, HOURS(3) + 1);
	assert_int_equal(info_of(&d).next_ms, NOON_MS + HOURS(4));
	assert_int_equal(tkw_jobs_resume(l.set, d.id), 0);
	assert_int_equal(info_of(&d).paused, 0);
	run_to(&l, HOURS(4));
	assert_runs(&d, HOURS(1), HOURS(4));
	assert_counts(&d, 2, 0, 0);
	/* One that is due when the pause begins counts as missed. */
	bed_set_clock(b, tkw_timer_now_ns(b->t) + 3600 * TKW_SEC);
	if (bed_by_hand(b)) {
		assert_int_equal(tkw_jobs_pause(l.set, d.id), 0);
		bed_pass(b, 0);
		assert_no_run(&d);
		assert_counts(&d, 2, 1, 0);
	}
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_pauses)

/* A pause during a run that answers later. */
static void test_12_3_job_pauses_while_it_runs(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	d.answer = TKW_JOB_LATER;
	run_to(&l, HOURS(3) - 1);
	assert_int_equal(tkw_jobs_pause(l.set, d.id), 0);
	assert_counts(&d, 1, 0, 1);
	run_to(&l, HOURS(5) - 1);
	assert_int_equal(tkw_jobs_resume(l.set, d.id), 0);
	run_to(&l, HOURS(5) + 1);
	assert_int_equal(tkw_jobs_done(l.set, d.id, 1, 0), 0);
	assert_counts(&d, 1, 0, 2);
	run_to(&l, HOURS(6));
	assert_runs(&d, HOURS(1), HOURS(6));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_pauses_while_it_runs)

/* --- change -------------------------------------------------------------- */

/* SPEC 12.3: a new plan counts from now. No time that was decided comes
 * again. */
static void test_12_3_job_changes(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", RULES(.name = "first"));
	run_to(&l, HOURS(1) + MINUTES(25));
	assert_int_equal(change_job(&d, "*/10 * * * *", NO_RULES), 0);
	run_to(&l, HOURS(1) + MINUTES(45));
	assert_runs(&d, HOURS(1), HOURS(1) + MINUTES(30),
		    HOURS(1) + MINUTES(40));
	assert_string_equal(info_of(&d).name, "first");
	set_wall(&l, HOURS(1) + MINUTES(35));
	assert_int_equal(change_job(&d, "*/5 * * * *", RULES(.name = "second")),
			 0);
	assert_string_equal(info_of(&d).name, "second");
	run_to(&l, HOURS(1) + MINUTES(45));
	assert_runs(&d, HOURS(1) + MINUTES(45));
	assert_counts(&d, 4, 0, 0);
	assert_int_equal(change_job(&d, "0 0 31 feb *", NO_RULES), -ENOENT);
	run_to(&l, HOURS(1) + MINUTES(50));
	assert_runs(&d, HOURS(1) + MINUTES(50));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_changes)

/* The times of the old plan that are due count as missed, but with the same
 * plan they stay. */
static void test_12_3_job_changes_when_due(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary same, other;

	job_bed_open(&l, b);
	add_job(&same, &l, "0 * * * *", NO_RULES);
	add_job(&other, &l, "0 * * * *", NO_RULES);
	bed_set_clock(b, tkw_timer_now_ns(b->t) + 3600 * TKW_SEC);
	assert_int_equal(change_job(&same, "0 * * * *",
				    RULES(.misfire = TKW_MISFIRE_SKIP)),
			 0);
	assert_int_equal(change_job(&other, "30 * * * *", NO_RULES), 0);
	bed_pass(b, 0);
	assert_runs(&same, HOURS(1));
	assert_no_run(&other);
	assert_counts(&other, 0, 1, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_changes_when_due)

static int another_fn(const struct tkw_job_run *run, void *ctx)
{
	(void)run;
	(void)ctx;
	return 0;
}

static void test_12_3_job_keeps_its_task(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct tkw_plan *p = make_plan("@daily", NULL);
	struct tkw_job_config cfg = { .size = sizeof(cfg), .plan = p };

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	cfg.fn = another_fn;
	assert_int_equal(tkw_jobs_change(l.set, d.id, &cfg), -EINVAL);
	cfg.fn = note_run;
	cfg.ctx = &l;
	assert_int_equal(tkw_jobs_change(l.set, d.id, &cfg), -EINVAL);
	cfg.ctx = &d;
	cfg.on_end = note_end;
	assert_int_equal(tkw_jobs_change(l.set, d.id, &cfg), 0);
	cfg.plan = NULL;
	assert_int_equal(tkw_jobs_change(l.set, d.id, &cfg), -EINVAL);
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_keeps_its_task)

/* --- remove -------------------------------------------------------------- */

static void test_12_3_job_is_removed(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	add_job(&e, &l, "0 * * * *", NO_RULES);
	run_to(&l, HOURS(1));
	assert_int_equal(tkw_jobs_count(l.set), 2);
	assert_int_equal(tkw_jobs_remove(l.set, d.id), 0);
	assert_ended(&d, -ECANCELED);
	assert_int_equal(tkw_jobs_count(l.set), 1);
	assert_int_equal(tkw_jobs_remove(l.set, d.id), -ENOENT);
	assert_int_equal(tkw_jobs_remove_wait(l.set, d.id), -ENOENT);
	assert_int_equal(tkw_jobs_pause(l.set, d.id), -ENOENT);
	assert_int_equal(tkw_jobs_resume(l.set, d.id), -ENOENT);
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), -ENOENT);
	assert_int_equal(tkw_jobs_done(l.set, d.id, 1, 0), -ENOENT);
	assert_int_equal(change_job(&d, "@daily", NO_RULES), -ENOENT);
	e.answer = TKW_JOB_LATER;
	run_to(&l, HOURS(2));
	/* A run that answers later is given up. */
	assert_int_equal(tkw_jobs_remove_wait(l.set, e.id), 0);
	assert_ended(&e, -ECANCELED);
	assert_int_equal(tkw_jobs_done(l.set, e.id, 2, 0), -ENOENT);
	run_to(&l, HOURS(9));
	assert_runs(&d, HOURS(1));
	assert_runs(&e, HOURS(1), HOURS(2));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_removed)

/* --- facts --------------------------------------------------------------- */

static void test_12_3_job_facts(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	char buf[128], small[8];
	struct tkw_plan *p = make_plan("30 2 * * *", "Europe/Berlin");
	struct tkw_job_config cfg = {
		.plan = p, .fn = note_run, .ctx = &d, .name = "nightly"
	};
	struct tkw_job_info info;
	int n;

	job_bed_open(&l, b);
	memset(&d, 0, sizeof(d));
	d.l = &l;
	assert_int_equal(tkw_jobs_add(l.set, &cfg, &d.id), 0);
	(void)tkw_plan_destroy(p);
	info = info_of(&d);
	assert_string_equal(info.name, "nightly");
	assert_int_equal(info.last_ms, 0);
	assert_int_equal(info.last_start_ms, 0);
	n = tkw_jobs_print(l.set, d.id, buf, sizeof(buf));
	assert_string_equal(buf, "nightly, 30 2 * * *, next "
				 "2026-01-02T02:30:00+01:00");
	assert_int_equal(n, strlen(buf));
	assert_int_equal(tkw_jobs_print(l.set, d.id, small, sizeof(small)), n);
	assert_string_equal(small, "nightly");
	assert_int_equal(tkw_jobs_print(l.set, d.id, NULL, 0), n);
	assert_int_equal(tkw_jobs_print(l.set, d.id, NULL, 1), -EINVAL);
	d.answer = TKW_JOB_LATER;
	stall_to(&l, HOURS(13) + MINUTES(30) + 7);
	assert_int_equal(tkw_jobs_pause(l.set, d.id), 0);
	(void)tkw_jobs_print(l.set, d.id, buf, sizeof(buf));
	assert_string_equal(buf, "nightly, 30 2 * * *, next "
				 "2026-01-03T02:30:00+01:00, running, paused");
	info = info_of(&d);
	assert_int_equal(info.last_ms, NOON_MS + HOURS(13) + MINUTES(30));
	assert_int_equal(info.last_start_ms, info.last_ms + 7);
	assert_int_equal(tkw_jobs_done(l.set, d.id, 1, 42), 0);
	assert_int_equal(info_of(&d).last_result, 42);
	assert_int_equal(info_of(&d).failed, 1);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_facts)

static void test_12_3_job_list(struct timer_bed *b)
{
	enum {
		JOBS = 100
	};
	static struct job_bed l;
	static struct diary d[JOBS];
	struct tkw_job_info some[7];
	uint64_t cursor = 0;
	unsigned seen = 0;
	int n;

	job_bed_open(&l, b);
	assert_int_equal(tkw_jobs_list(l.set, &cursor, some, 7), 0);
	assert_int_equal(cursor, 0);
	for (int i = 0; i < JOBS; i++)
		add_job(&d[i], &l, "@daily", NO_RULES);
	for (int i = 0; i < JOBS; i += 3)
		assert_int_equal(tkw_jobs_remove(l.set, d[i].id), 0);
	do {
		n = tkw_jobs_list(l.set, &cursor, some, 7);
		assert_true(n >= 0 && n <= 7);
		for (int i = 0; i < n; i++) {
			for (int k = 0; k < JOBS; k++)
				seen += k % 3 != 0 &&
					d[k].id.bits == some[i].id.bits;
		}
	} while (cursor != 0);
	assert_int_equal(seen, 66);
	assert_int_equal(tkw_jobs_count(l.set), 66);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_list)

/* --- the end ------------------------------------------------------------- */

static void test_12_3_job_shutdown(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e;
	struct tkw_plan *p = make_plan("@daily", NULL);
	struct tkw_job_config cfg = { .plan = p, .fn = note_run, .ctx = &e };

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	assert_int_equal(tkw_jobs_shutdown(l.set), 0);
	assert_int_equal(tkw_jobs_shutdown(l.set), 0);
	assert_ended(&d, -ESHUTDOWN);
	assert_int_equal(tkw_jobs_count(l.set), 0);
	assert_int_equal(tkw_jobs_add(l.set, &cfg, NULL), -ESHUTDOWN);
	assert_int_equal(tkw_jobs_reread_clock(l.set), 0);
	run_to(&l, HOURS(3));
	assert_no_run(&d);
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
	assert_int_equal(tkw_jobs_destroy(NULL), 0);
}
BED_TEST(test_12_3_job_shutdown)

/* When the timer is stopped, all jobs end. */
static void test_12_3_job_timer_is_stopped(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e;
	struct tkw_plan *p = make_plan("@daily", NULL);
	struct tkw_job_config cfg = { .plan = p, .fn = note_run, .ctx = &e };

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	add_job(&e, &l, "0 * * * *", NO_RULES);
	e.answer = TKW_JOB_LATER;
	run_to(&l, HOURS(1));
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_ended(&d, -ESHUTDOWN);
	assert_ended(&e, -ESHUTDOWN);
	assert_int_equal(tkw_jobs_count(l.set), 0);
	assert_int_equal(tkw_jobs_add(l.set, &cfg, NULL), -ESHUTDOWN);
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_timer_is_stopped)

/* --- limits and bad input ------------------------------------------------ */

static void test_12_3_job_limits(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e, f;
	struct tkw_jobs_config set;
	struct tkw_plan *p = make_plan("0 * * * *", NULL);
	struct tkw_job_config cfg = { .plan = p, .fn = note_run, .ctx = &f };

	job_bed_init(&l, b);
	set = set_config(&l);
	set.max_jobs = 2;
	assert_int_equal(tkw_jobs_create(&l.set, &set), 0);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	add_job(&e, &l, "0 * * * *", NO_RULES);
	assert_int_equal(tkw_jobs_add(l.set, &cfg, &f.id), -EAGAIN);
	assert_int_equal(tkw_jobs_remove(l.set, d.id), 0);
	memset(&f, 0, sizeof(f));
	f.l = &l;
	assert_int_equal(tkw_jobs_add(l.set, &cfg, &f.id), 0);
	run_to(&l, HOURS(1));
	assert_runs(&f, HOURS(1));
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_limits)

/* The timer is full: an add is refused. A job that is there goes on, because
 * its own place is free when it fires. */
static void test_12_3_job_timer_is_full(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct tkw_plan *p = make_plan("0 * * * *", NULL);
	struct tkw_job_config cfg = { .plan = p, .fn = note_run, .ctx = &d };

	bed_reopen(b, &(struct tkw_timer_config){ .max_pending = 1 });
	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	assert_int_equal(tkw_jobs_add(l.set, &cfg, NULL), -EAGAIN);
	assert_int_equal(tkw_jobs_count(l.set), 1);
	run_to(&l, HOURS(3));
	assert_runs(&d, HOURS(1), HOURS(2), HOURS(3));
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_timer_is_full)

static void test_12_3_job_sets_of_bad_input(struct timer_bed *b)
{
	static struct job_bed l;
	struct tkw_jobs_config good, cfg;
	const struct tkw_exec none = { 0 };
	struct {
		struct tkw_jobs_config cfg;
		char more[8];
	} newer;

	job_bed_init(&l, b);
	good = set_config(&l);
	assert_int_equal(tkw_jobs_create(NULL, &good), -EINVAL);
	assert_int_equal(tkw_jobs_create(&l.set, NULL), -EINVAL);
	cfg = good;
	cfg.timer = NULL;
	assert_int_equal(tkw_jobs_create(&l.set, &cfg), -EINVAL);
	cfg = good;
	cfg.size = sizeof(size_t);
	assert_int_equal(tkw_jobs_create(&l.set, &cfg), -EINVAL);
	cfg = good;
	cfg.exec = &none;
	assert_int_equal(tkw_jobs_create(&l.set, &cfg), -EINVAL);
	cfg = good;
	cfg.max_jobs = -1;
	assert_int_equal(tkw_jobs_create(&l.set, &cfg), -EINVAL);
	cfg.max_jobs = (1 << 20) + 1;
	assert_int_equal(tkw_jobs_create(&l.set, &cfg), -EINVAL);
	/* The bed's timer has a clock of its own. */
	cfg = good;
	cfg.now_us = NULL;
	assert_int_equal(tkw_jobs_create(&l.set, &cfg), -EINVAL);
	memset(&newer, 0, sizeof(newer));
	newer.cfg = good;
	newer.cfg.size = sizeof(newer);
	newer.more[0] = 1;
	assert_int_equal(tkw_jobs_create(&l.set, &newer.cfg), -EINVAL);
	newer.more[0] = 0;
	assert_int_equal(tkw_jobs_create(&l.set, &newer.cfg), 0);
	/* With a clock of the user's there is nothing to poll. */
	assert_int_equal(tkw_jobs_fd(l.set), -EINVAL);
	assert_int_equal(tkw_jobs_fd(NULL), -EINVAL);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_sets_of_bad_input)

static void test_12_3_job_bad_job(struct timer_bed *b)
{
	static struct job_bed l;
	struct tkw_plan *p = make_plan("0 * * * *", NULL);
	struct tkw_plan *never = make_plan("0 0 31 feb *", NULL);
	const struct tkw_job_config good = { .plan = p, .fn = note_run };
	const struct tkw_job_config bad[] = {
		{ .size = 3, .plan = p, .fn = note_run },
		{ .plan = NULL, .fn = note_run },
		{ .plan = p, .fn = NULL },
		{ .plan = p, .fn = note_run, .since_ms = -1 },
		{ .plan = p, .fn = note_run, .grace_ms = -1 },
		{ .plan = p, .fn = note_run, .spread_ms = -1 },
		{ .plan = p, .fn = note_run, .misfire = -1 },
		{ .plan = p, .fn = note_run, .misfire = 3 },
		{ .plan = p, .fn = note_run, .overlap = -1 },
		{ .plan = p, .fn = note_run, .overlap = 2 },
		{ .plan = p, .fn = note_run, .max_missed = 1 },
		{ .plan = p,
		  .fn = note_run,
		  .misfire = TKW_MISFIRE_ALL,
		  .max_missed = -1 },
		{ .plan = p,
		  .fn = note_run,
		  .misfire = TKW_MISFIRE_ALL,
		  .max_missed = 101 },
	};
	struct tkw_job_config cfg = good;

	job_bed_open(&l, b);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tkw_jobs_add(l.set, &bad[i], NULL), -EINVAL);
	assert_int_equal(tkw_jobs_add(NULL, &good, NULL), -EINVAL);
	assert_int_equal(tkw_jobs_add(l.set, NULL, NULL), -EINVAL);
	cfg.plan = never;
	assert_int_equal(tkw_jobs_add(l.set, &cfg, NULL), -ENOENT);
	assert_int_equal(tkw_jobs_count(l.set), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	(void)tkw_plan_destroy(p);
	(void)tkw_plan_destroy(never);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_bad_job)

static void test_12_3_job_bad_input(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct tkw_plan *p = make_plan("0 * * * *", NULL);
	const struct tkw_job_config good = {
		.size = sizeof(good), .plan = p, .fn = note_run, .ctx = &d
	};
	struct tkw_job_info info;
	uint64_t cursor = 0;

	job_bed_open(&l, b);
	d.id = (struct tkw_job_id){ 0 };
	assert_int_equal(tkw_jobs_change(NULL, d.id, &good), -EINVAL);
	assert_int_equal(tkw_jobs_change(l.set, d.id, NULL), -EINVAL);
	assert_int_equal(tkw_jobs_pause(NULL, d.id), -EINVAL);
	assert_int_equal(tkw_jobs_resume(NULL, d.id), -EINVAL);
	assert_int_equal(tkw_jobs_run_now(NULL, d.id), -EINVAL);
	assert_int_equal(tkw_jobs_done(NULL, d.id, 1, 0), -EINVAL);
	assert_int_equal(tkw_jobs_remove(NULL, d.id), -EINVAL);
	assert_int_equal(tkw_jobs_remove_wait(NULL, d.id), -EINVAL);
	assert_int_equal(tkw_jobs_get(NULL, d.id, &info), -EINVAL);
	assert_int_equal(tkw_jobs_get(l.set, d.id, NULL), -EINVAL);
	assert_int_equal(tkw_jobs_get(l.set, d.id, &info), -ENOENT);
	assert_int_equal(tkw_jobs_print(NULL, d.id, NULL, 0), -EINVAL);
	assert_int_equal(tkw_jobs_list(NULL, &cursor, &info, 1), -EINVAL);
	assert_int_equal(tkw_jobs_list(l.set, NULL, &info, 1), -EINVAL);
	assert_int_equal(tkw_jobs_list(l.set, &cursor, NULL, 1), -EINVAL);
	assert_int_equal(tkw_jobs_list(l.set, &cursor, &info, 0), -EINVAL);
	assert_int_equal(
		tkw_jobs_list(l.set, &cursor, &info, (size_t)INT_MAX + 1),
		-EINVAL);
	assert_int_equal(tkw_jobs_count(NULL), 0);
	assert_int_equal(tkw_jobs_reread_clock(NULL), -EINVAL);
	assert_int_equal(tkw_jobs_shutdown(NULL), -EINVAL);
	/* Ids that nobody has given out. */
	for (int bit = 0; bit < 64; bit++) {
		d.id.bits = UINT64_C(1) << bit;
		assert_int_equal(tkw_jobs_remove(l.set, d.id), -ENOENT);
		assert_int_equal(tkw_jobs_remove_wait(l.set, d.id), -ENOENT);
	}
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_bad_input)

/* Extreme numbers do not overflow. */
static void test_12_3_job_extremes(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *",
		RULES(.grace_ms = INT64_MAX, .spread_ms = INT64_MAX));
	add_job(&e, &l, "0 * * * *", RULES(.grace_ms = INT64_MAX));
	stall_to(&l, HOURS(50));
	assert_no_run(&d);
	assert_int_equal(e.runs, 50);
	assert_int_equal(
		change_job(&d, "0 * * * *", RULES(.grace_ms = INT64_MAX)), 0);
	bed_pass(b, 0);
	assert_int_equal(d.runs, 50);
	put_wall(&l, -NOON_MS - HOURS(1000000));
	assert_int_equal(tkw_jobs_reread_clock(l.set), 0);
	bed_pass(b, 0);
	assert_int_equal(d.runs, 50);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_extremes)

/* --- no memory, forks ---------------------------------------------------- */

/* Each piece of memory is refused once. The call fails and changes nothing, or
 * it does not need this piece. */
static void test_12_3_job_without_memory(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct tkw_plan *p = make_plan("0 * * * *", NULL);
	struct tkw_job_config cfg = { .plan = p, .fn = note_run, .ctx = &d };
	struct tkw_jobs_config set;
	int err, refusals = 0;

	job_bed_init(&l, b);
	set = set_config(&l);
	memset(&d, 0, sizeof(d));
	d.l = &l;
	assert_int_equal(tkw_timer_start(b->t), 0);
	bed_schedule(b, 1, 3600 * TKW_SEC); /* the timer has its memory */
	for (int n = 1;; n++) {
		atomic_store(&refuse_in, n);
		err = tkw_jobs_create(&l.set, &set);
		if (err == 0)
			break;
		assert_int_equal(err, -ENOMEM);
		refusals++;
	}
	for (int n = 1;; n++) {
		atomic_store(&refuse_in, n);
		err = tkw_jobs_add(l.set, &cfg, &d.id);
		if (err == 0)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(tkw_jobs_count(l.set), 0);
		refusals++;
	}
	atomic_store(&refuse_in, 0);
	assert_true(refusals >= 3);
	/* A run needs none, unless it overlaps another one. */
	cfg.overlap = TKW_OVERLAP_ALLOW;
	assert_int_equal(tkw_jobs_change(l.set, d.id, &cfg), 0);
	d.answer = TKW_JOB_LATER;
	run_to(&l, HOURS(1) - 1);
	atomic_store(&refuse_in, 1);
	run_to(&l, HOURS(2));
	assert_int_equal(atomic_load(&refuse_in), 0);
	assert_runs(&d, HOURS(1));
	assert_counts(&d, 1, 0, 1);
	run_to(&l, HOURS(3));
	assert_runs(&d, HOURS(3));
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_without_memory)

static bool ends_well(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && status == 0;
}

/* In a child, a set of the parent does nothing. */
static void test_12_3_job_in_a_child(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e;
	struct tkw_plan *p = make_plan("0 * * * *", NULL);
	struct tkw_job_config cfg = { .plan = p, .fn = note_run, .ctx = &d };
	struct tkw_jobs_config set;
	struct tkw_jobs *childs;
	struct tkw_job_info info;
	uint64_t cursor = 0;
	pid_t child;

	job_bed_open(&l, b);
	set = set_config(&l);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	add_job(&e, &l, "0 * * * *", NO_RULES);
	e.answer = TKW_JOB_LATER;
	run_to(&l, HOURS(1));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool inert =
			tkw_jobs_add(l.set, &cfg, NULL) == -EPERM &&
			tkw_jobs_change(l.set, d.id, &cfg) == -EPERM &&
			tkw_jobs_pause(l.set, d.id) == -EPERM &&
			tkw_jobs_resume(l.set, d.id) == -EPERM &&
			tkw_jobs_run_now(l.set, d.id) == -EPERM &&
			tkw_jobs_done(l.set, e.id, 1, 0) == -EPERM &&
			tkw_jobs_remove(l.set, d.id) == -EPERM &&
			tkw_jobs_remove_wait(l.set, d.id) == -EPERM &&
			tkw_jobs_get(l.set, d.id, &info) == -EPERM &&
			tkw_jobs_print(l.set, d.id, NULL, 0) == -EPERM &&
			tkw_jobs_list(l.set, &cursor, &info, 1) == -EPERM &&
			tkw_jobs_fd(l.set) == -EPERM &&
			tkw_jobs_reread_clock(l.set) == -EPERM &&
			tkw_jobs_count(l.set) == 0 &&
			tkw_jobs_shutdown(l.set) == -EPERM &&
			tkw_jobs_create(&childs, &set) == -EPERM &&
			tkw_jobs_destroy(l.set) == 0 && d.ends == 0;

		_exit(inert ? 0 : 1);
	}
	assert_true(ends_well(child));
	run_to(&l, HOURS(2));
	assert_runs(&d, HOURS(1), HOURS(2));
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_in_a_child)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_12_3_job_runs_now),
		BED_TESTS(test_12_3_job_run_now_overlaps),
		BED_TESTS_BY_HAND(test_12_3_job_runs_now_before_what_is_due),
		BED_TESTS(test_12_3_job_pauses),
		BED_TESTS(test_12_3_job_pauses_while_it_runs),
		BED_TESTS(test_12_3_job_changes),
		BED_TESTS_BY_HAND(test_12_3_job_changes_when_due),
		BED_TESTS(test_12_3_job_keeps_its_task),
		BED_TESTS(test_12_3_job_is_removed),
		BED_TESTS(test_12_3_job_facts),
		BED_TESTS(test_12_3_job_list),
		BED_TESTS(test_12_3_job_shutdown),
		BED_TESTS(test_12_3_job_timer_is_stopped),
		BED_TESTS(test_12_3_job_limits),
		BED_TESTS_BY_HAND(test_12_3_job_timer_is_full),
		BED_TESTS(test_12_3_job_sets_of_bad_input),
		BED_TESTS(test_12_3_job_bad_job),
		BED_TESTS(test_12_3_job_bad_input),
		BED_TESTS(test_12_3_job_extremes),
		BED_TESTS(test_12_3_job_without_memory),
		BED_TESTS(test_12_3_job_in_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
