/* SPDX-License-Identifier: MIT */
/*
 * job_bed.h - a set of jobs on the timer's test bed, with a wall clock of its
 * own, and a record of all runs (the diary).
 *
 * The wall clock runs with the bed's clock. A test lets both run with run_to(),
 * or sets the wall clock with set_wall(). Times are milliseconds from NOON,
 * which is noon of January 1, 2026, UTC.
 *
 * The test's own thread reads what the callbacks have written when nothing
 * runs, after run_to(). Diaries are static, because a test that fails leaves
 * its jobs behind.
 */
#ifndef TKW_TESTS_JOB_BED_H
#define TKW_TESTS_JOB_BED_H

#include "timer_bed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "tickwheel/job.h"

/* For callbacks, because cmocka's asserts cannot end a test there. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))
static inline _Noreturn void must_fail(const char *file, int line,
				       const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
	abort();
}

#define NOON_MS INT64_C(1767268800000)
#define SECONDS(n) ((n)*INT64_C(1000))
#define MINUTES(n) ((n)*INT64_C(60000))
#define HOURS(n) ((n)*INT64_C(3600000))

enum {
	RUNS_MOST = 16384
};

struct job_bed {
	struct timer_bed *b;
	struct tkw_jobs *set;
	int64_t zero_ns;       /* the bed's time when the set was opened */
	atomic_llong ahead_ms; /* the wall clock, of NOON plus this time */
};

struct diary {
	struct job_bed *l;
	struct tkw_job_id id;
	unsigned runs;
	struct tkw_job_run run[RUNS_MOST];
	unsigned checked; /* runs that assert_runs() has checked */
	unsigned early;   /* runs before their planned time, never */
	atomic_uint inside;
	unsigned ends;
	struct tkw_job_end end;
	/* How long a run takes. The run itself moves the clock. */
	int64_t long_ms;
	int answer; /* what the task returns */
	/* Called by a run and by on_end, or NULL. */
	void (*in_run)(struct diary *d, const struct tkw_job_run *run);
	void (*in_end)(struct diary *d);
	struct gate *gate; /* runs wait at it, or NULL */
	int said[8];       /* what calls inside callbacks have returned */
};

static inline int64_t bed_ms(const struct job_bed *l)
{
	int64_t now_ns;

	pthread_mutex_lock(&l->b->lock);
	now_ns = l->b->now_ns;
	pthread_mutex_unlock(&l->b->lock);
	return (now_ns - l->zero_ns) / TKW_MSEC;
}

static inline int64_t wall_us(void *ctx)
{
	struct job_bed *l = ctx;

	return (NOON_MS + atomic_load(&l->ahead_ms) + bed_ms(l)) * 1000;
}

/* The wall clock, counted from NOON. */
static inline int64_t wall_ms(struct job_bed *l)
{
	return wall_us(l) / 1000 - NOON_MS;
}

static inline int note_run(const struct tkw_job_run *run, void *ctx)
{
	struct diary *d = ctx;
	struct tkw_job_run *to = &d->run[d->runs];

	must(run->jobs == d->l->set && d->ends == 0);
	must(d->runs < RUNS_MOST && run->number == (int64_t)d->runs + 1);
	d->early += run->now_ms < run->planned_ms;
	d->inside++;
	d->runs++;
	*to = *run;
	to->planned_ms -= NOON_MS;
	to->now_ms -= NOON_MS;
	if (d->long_ms != 0)
		bed_set_clock(d->l->b, tkw_timer_now_ns(d->l->b->t) +
					       d->long_ms * TKW_MSEC);
	if (d->in_run)
		d->in_run(d, run);
	if (d->gate)
		gate_pass(d->gate);
	d->inside--;
	return d->answer;
}

static inline void note_end(const struct tkw_job_end *end, void *ctx)
{
	struct diary *d = ctx;

	must(d->inside == 0 && d->ends == 0);
	must(end->id.bits == d->id.bits || d->id.bits == 0);
	d->ends++;
	must(end->jobs == d->l->set);
	d->end = *end;
	if (d->in_end)
		d->in_end(d);
}

/* --- the set ------------------------------------------------------------- */

static inline struct tkw_jobs_config set_config(struct job_bed *l)
{
	return (struct tkw_jobs_config){ .size = sizeof(struct tkw_jobs_config),
					 .timer = l->b->t,
					 .now_us = wall_us,
					 .now_ctx = l,
					 .seed = 1 };
}

static inline void job_bed_init(struct job_bed *l, struct timer_bed *b)
{
	memset(l, 0, sizeof(*l));
	l->b = b;
	l->zero_ns = (tkw_timer_now_ns(b->t) / TKW_SEC + 1) * TKW_SEC;
	bed_set_clock(b, l->zero_ns);
}

static inline void job_bed_open(struct job_bed *l, struct timer_bed *b)
{
	struct tkw_jobs_config cfg;

	job_bed_init(l, b);
	cfg = set_config(l);
	assert_int_equal(tkw_jobs_create(&l->set, &cfg), 0);
}

static inline void job_bed_close(struct job_bed *l)
{
	assert_int_equal(tkw_jobs_destroy(l->set), 0);
	l->set = NULL;
	if (l->b->t)
		assert_int_equal(tkw_timer_count(l->b->t), 0);
}

/* Lets time pass up to a time of the wall clock. */
static inline void run_to(struct job_bed *l, int64_t ms)
{
	bed_pass_to(l->b,
		    l->zero_ns + (ms - atomic_load(&l->ahead_ms)) * TKW_MSEC);
}

/* Lets time pass at once, as after a stall. */
static inline void stall_to(struct job_bed *l, int64_t ms)
{
	bed_pass(l->b, (ms - wall_ms(l)) * TKW_MSEC);
}

/* Sets the wall clock, without telling anybody. */
static inline void put_wall(struct job_bed *l, int64_t ms)
{
	atomic_fetch_add(&l->ahead_ms, ms - wall_ms(l));
}

/* Sets the wall clock. The set notices, and what is due then runs. */
static inline void set_wall(struct job_bed *l, int64_t ms)
{
	put_wall(l, ms);
	assert_int_equal(tkw_jobs_reread_clock(l->set), 0);
	bed_pass(l->b, 0);
}

/* --- jobs ---------------------------------------------------------------- */

static inline struct tkw_plan *make_plan(const char *text, const char *zone)
{
	struct tkw_zone *z = NULL;
	struct tkw_plan *p = NULL;

	if (zone)
		assert_int_equal(tkw_zone_open(&z, zone, NULL), 0);
	assert_int_equal(tkw_plan_create(&p, text, z, NULL), 0);
	(void)tkw_zone_close(z);
	return p;
}

/* Adds a job with these rules. plan, fn, on_end and ctx are filled in. */
static inline void add_job(struct diary *d, struct job_bed *l, const char *plan,
			   const struct tkw_job_config *rules)
{
	struct tkw_job_config cfg = *rules;
	struct tkw_plan *p = make_plan(plan, NULL);

	memset(d, 0, sizeof(*d));
	d->l = l;
	cfg.size = sizeof(cfg);
	cfg.plan = p;
	cfg.fn = note_run;
	cfg.on_end = note_end;
	cfg.ctx = d;
	assert_int_equal(tkw_jobs_add(l->set, &cfg, &d->id), 0);
	assert_true(d->id.bits != 0);
	(void)tkw_plan_destroy(p);
}
#define NO_RULES (&(struct tkw_job_config){ 0 })
#define RULES(...) (&(struct tkw_job_config){ __VA_ARGS__ })

static inline int change_job(struct diary *d, const char *plan,
			     const struct tkw_job_config *rules)
{
	struct tkw_job_config cfg = *rules;
	struct tkw_plan *p = make_plan(plan, NULL);
	int err;

	cfg.size = sizeof(cfg);
	cfg.plan = p;
	err = tkw_jobs_change(d->l->set, d->id, &cfg);
	(void)tkw_plan_destroy(p);
	return err;
}

static inline struct tkw_job_info info_of(struct diary *d)
{
	struct tkw_job_info info;

	memset(&info, 0xff, sizeof(info));
	assert_int_equal(tkw_jobs_get(d->l->set, d->id, &info), 0);
	assert_true(info.id.bits == d->id.bits);
	return info;
}

/* Asserts the planned times of the runs since the last call. */
#define assert_runs(d, ...)                                                    \
	check_runs(d, (const int64_t[]){ __VA_ARGS__ },                        \
		   sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)
static inline void check_runs(struct diary *d, const int64_t *ms, size_t count)
{
	size_t i;

	for (i = 0; i < count && d->checked < d->runs; i++)
		assert_int_equal(d->run[d->checked++].planned_ms, ms[i]);
	assert_int_equal(i, count);
	assert_int_equal(d->checked, d->runs);
	assert_int_equal(d->early, 0);
}

static inline void assert_no_run(struct diary *d)
{
	assert_int_equal(d->checked, d->runs);
}

static inline void assert_counts(struct diary *d, uint64_t runs,
				 uint64_t missed, uint64_t overlaps)
{
	struct tkw_job_info info = info_of(d);

	assert_int_equal(d->early, 0);
	assert_int_equal(info.runs, runs);
	assert_int_equal(info.missed, missed);
	assert_int_equal(info.overlaps, overlaps);
}

static inline void assert_ended(struct diary *d, int status)
{
	assert_int_equal(d->ends, 1);
	assert_int_equal(d->end.status, status);
}

#endif /* TKW_TESTS_JOB_BED_H */
