/* SPDX-License-Identifier: MIT */
/* test_job_exec.c - SPEC 12.3: jobs on an executor, and calls inside
 * callbacks. */
#include "job_bed.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- an executor that keeps its jobs ------------------------------------- */

struct keeper {
	struct tkw_job job[16];
	unsigned count;
	int refuse; /* what submit returns */
	unsigned refused;
};

static int keep(const struct tkw_job *job, void *ctx)
{
	struct keeper *k = ctx;

	if (k->refuse != 0) {
		k->refused++;
		return k->refuse;
	}
	must(k->count < 16);
	k->job[k->count++] = *job;
	return 0;
}

static void open_kept(struct job_bed *l, struct timer_bed *b, struct keeper *k)
{
	struct tkw_exec exec = { keep, k };
	struct tkw_jobs_config cfg;

	memset(k, 0, sizeof(*k));
	job_bed_init(l, b);
	cfg = set_config(l);
	cfg.exec = &exec;
	assert_int_equal(tkw_jobs_create(&l->set, &cfg), 0);
}

static void run_kept(struct keeper *k, unsigned i)
{
	k->job[i].run(&k->job[i]);
}

/* SPEC 12.3: skip leaves out what comes while a run is in the queue. Allow
 * queues it. */
static void test_12_3_job_is_queued(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary skip, allow;

	open_kept(&l, b, &k);
	add_job(&skip, &l, "* * * * *", NO_RULES);
	run_to(&l, MINUTES(3) + 1);
	assert_int_equal(k.count, 1);
	assert_int_equal(info_of(&skip).running, 1);
	assert_counts(&skip, 0, 0, 0);
	run_kept(&k, 0);
	assert_runs(&skip, MINUTES(1));
	assert_int_equal(skip.run[0].now_ms, MINUTES(3) + 1);
	assert_counts(&skip, 1, 0, 2);
	assert_int_equal(tkw_jobs_remove(l.set, skip.id), 0);
	add_job(&allow, &l, "* * * * *", RULES(.overlap = TKW_OVERLAP_ALLOW));
	run_to(&l, MINUTES(6));
	assert_int_equal(k.count, 4);
	for (unsigned i = 3; i > 0; i--)
		run_kept(&k, i);
	assert_runs(&allow, MINUTES(6), MINUTES(5), MINUTES(4));
	assert_counts(&allow, 3, 0, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_queued)

/* A refused or abandoned run counts as missed, and the job goes on. */
static void test_12_3_job_is_refused_or_abandoned(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary d;

	open_kept(&l, b, &k);
	add_job(&d, &l, "* * * * *", NO_RULES);
	k.refuse = -EAGAIN;
	run_to(&l, MINUTES(2));
	k.refuse = 0;
	assert_counts(&d, 0, 2, 0);
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	bed_pass(b, 0);
	k.job[0].abandon(&k.job[0]);
	assert_counts(&d, 0, 2, 0);
	run_to(&l, MINUTES(3));
	k.job[1].abandon(&k.job[1]);
	assert_counts(&d, 0, 3, 0);
	run_to(&l, MINUTES(4));
	run_kept(&k, 2);
	assert_runs(&d, MINUTES(4));
	assert_int_equal(d.run[0].missed, 3);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_refused_or_abandoned)

/* If the executor refuses or abandons a run, all times that are due then are
 * missed. They are not offered to it one by one. */
static void test_12_3_job_abandoned_misses_what_is_due(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary d;

	/* They came while it was in the queue, the last one just now. */
	open_kept(&l, b, &k);
	add_job(&d, &l, "0 * * * *", RULES(.misfire = TKW_MISFIRE_ALL));
	run_to(&l, HOURS(3));
	k.job[0].abandon(&k.job[0]);
	assert_counts(&d, 0, 3, 0);
	/* They were due before it. */
	stall_to(&l, HOURS(6));
	assert_int_equal(k.count, 2);
	k.job[1].abandon(&k.job[1]);
	bed_pass(b, 0);
	assert_int_equal(k.count, 2);
	assert_counts(&d, 0, 6, 0);
	/* They wait for one that was asked for, which is not made. */
	k.refuse = -EAGAIN;
	put_wall(&l, HOURS(8));
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	bed_pass(b, 0);
	assert_int_equal(k.refused, 1);
	assert_counts(&d, 0, 8, 0);
	assert_int_equal(info_of(&d).runs_now, 0);
	k.refuse = 0;
	run_to(&l, HOURS(9));
	run_kept(&k, 2);
	assert_runs(&d, HOURS(9));
	assert_int_equal(d.run[0].missed, 8);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_abandoned_misses_what_is_due)

/* SPEC 12.3: with skip, a run that was in the queue until its grace was over is
 * missed. With once, it makes up for its time. */
static void test_12_3_job_is_late_in_the_queue(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary skip, once;

	open_kept(&l, b, &k);
	add_job(&skip, &l, "0 * * * *", RULES(.misfire = TKW_MISFIRE_SKIP));
	add_job(&once, &l, "0 * * * *", NO_RULES);
	run_to(&l, HOURS(1));
	run_to(&l, HOURS(1) + MINUTES(1));
	run_kept(&k, 0);
	run_kept(&k, 1);
	assert_runs(&skip, HOURS(1));
	assert_runs(&once, HOURS(1));
	run_to(&l, HOURS(2) + MINUTES(1) + 1);
	run_kept(&k, 2);
	run_kept(&k, 3);
	assert_no_run(&skip);
	assert_counts(&skip, 1, 1, 0);
	assert_int_equal(info_of(&skip).running, 0);
	assert_runs(&once, HOURS(2));
	/* A run that was asked for is never late. */
	assert_int_equal(tkw_jobs_run_now(l.set, skip.id), 0);
	bed_pass(b, 0);
	run_to(&l, HOURS(2) + MINUTES(30));
	run_kept(&k, 4);
	assert_int_equal(info_of(&skip).runs_now, 1);
	assert_int_equal(k.count, 5);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_late_in_the_queue)

/* No run begins after its job was removed, or its set was destroyed, not even
 * one that is queued. */
static void test_12_3_job_queued_run_is_given_up(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary d, e, f;

	open_kept(&l, b, &k);
	add_job(&d, &l, "* * * * *", NO_RULES);
	add_job(&e, &l, "* * * * *", NO_RULES);
	add_job(&f, &l, "* * * * *", NO_RULES);
	run_to(&l, MINUTES(1));
	assert_int_equal(k.count, 3);
	assert_int_equal(tkw_jobs_remove_wait(l.set, d.id), 0);
	assert_ended(&d, -ECANCELED);
	job_bed_close(&l);
	assert_ended(&e, -ESHUTDOWN);
	assert_ended(&f, -ESHUTDOWN);
	run_kept(&k, 0);
	run_kept(&k, 1);
	k.job[2].abandon(&k.job[2]);
	assert_no_run(&d);
	assert_no_run(&e);
	assert_no_run(&f);
}
BED_TEST(test_12_3_job_queued_run_is_given_up)

/* In a child, the set may be gone when its executor gives up its runs. */
static void test_12_3_job_queued_in_a_child(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary d;
	pid_t child;
	int status;

	open_kept(&l, b, &k);
	add_job(&d, &l, "* * * * *", RULES(.overlap = TKW_OVERLAP_ALLOW));
	run_to(&l, MINUTES(2));
	assert_int_equal(k.count, 2);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		must(tkw_jobs_destroy(l.set) == 0);
		run_kept(&k, 0);
		k.job[1].abandon(&k.job[1]);
		_exit(d.runs + d.ends == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	run_kept(&k, 0);
	run_kept(&k, 1);
	assert_runs(&d, MINUTES(1), MINUTES(2));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_queued_in_a_child)

/* The timer's executor drops a timeout: what is due then is missed. */
static void test_12_3_job_is_dropped(struct timer_bed *b)
{
	static struct job_bed l;
	static struct keeper k;
	static struct diary d;
	const struct tkw_exec exec = { keep, &k };

	memset(&k, 0, sizeof(k));
	k.refuse = -EAGAIN;
	bed_reopen(b, &(struct tkw_timer_config){
			      .exec = &exec, .refusal = TKW_REFUSED_DROP });
	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	run_to(&l, HOURS(2));
	assert_counts(&d, 0, 2, 0);
	k.refuse = 0;
	run_to(&l, HOURS(3));
	assert_int_equal(k.count, 1);
	run_kept(&k, 0);
	assert_runs(&d, HOURS(3));
	assert_int_equal(d.run[0].missed, 2);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_dropped)

/* --- a pool -------------------------------------------------------------- */

static void open_pooled(struct job_bed *l, struct timer_bed *b,
			struct tkw_pool **p)
{
	const struct tkw_pool_config threads = { .threads = 2 };
	struct tkw_jobs_config cfg;

	assert_int_equal(tkw_pool_create(p, &threads), 0);
	job_bed_init(l, b);
	cfg = set_config(l);
	cfg.exec = tkw_pool_exec(*p);
	assert_int_equal(tkw_jobs_create(&l->set, &cfg), 0);
}

struct waiter {
	struct diary *d;
	pthread_t thread;
	pid_t tid;
	int said;
};

static void *remove_beside(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
	w->said = tkw_jobs_remove_wait(w->d->l->set, w->d->id);
	/* What ctx points to may be freed now. */
	must(w->d->inside == 0 && w->d->ends == 1);
	return NULL;
}

/* SPEC 12.3: remove_wait waits for the running task and for on_end. Remove does
 * not. */
static void test_12_3_job_remove_waits(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct gate gate = GATE_INIT;
	struct waiter w = { .d = &d, .said = -1 };
	struct tkw_pool *p;
	pid_t tid;

	open_pooled(&l, b, &p);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.gate = &gate;
	run_to(&l, MINUTES(1));
	gate_await(&gate, 1);
	must(pthread_create(&w.thread, NULL, remove_beside, &w) == 0);
	while ((tid = __atomic_load_n(&w.tid, __ATOMIC_SEQ_CST)) == 0 ||
	       !bed_is_asleep(tid))
		sched_yield();
	assert_int_equal(d.ends, 0);
	assert_int_equal(tkw_jobs_remove(l.set, d.id), -ENOENT);
	gate_open(&gate);
	must(pthread_join(w.thread, NULL) == 0);
	assert_int_equal(w.said, 1);
	assert_ended(&d, -ECANCELED);
	job_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(p), 0);
}
BED_TEST(test_12_3_job_remove_waits)

/* SPEC 12.3: with allow, runs overlap on a pool. Destroy waits for them. */
static void test_12_3_job_runs_overlap(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct gate gate = GATE_INIT;
	struct tkw_pool *p;

	open_pooled(&l, b, &p);
	add_job(&d, &l, "* * * * *", RULES(.overlap = TKW_OVERLAP_ALLOW));
	d.gate = &gate;
	run_to(&l, MINUTES(1));
	gate_await(&gate, 1);
	run_to(&l, MINUTES(2));
	gate_await(&gate, 2);
	assert_int_equal(d.inside, 2);
	assert_int_equal(tkw_jobs_run_now(l.set, d.id), 0);
	assert_int_equal(tkw_jobs_remove(l.set, d.id), 1);
	assert_int_equal(d.ends, 0);
	gate_open(&gate);
	job_bed_close(&l);
	assert_ended(&d, -ECANCELED);
	assert_runs(&d, MINUTES(1), MINUTES(2));
	assert_int_equal(tkw_pool_destroy(p), 0);
}
BED_TEST(test_12_3_job_runs_overlap)

/* --- inside the own callback --------------------------------------------- */

static void look_inside(struct diary *d, const struct tkw_job_run *run)
{
	struct tkw_job_info info;
	uint64_t cursor = 0;
	char buf[64];

	must(tkw_jobs_get(run->jobs, run->id, &info) == 0);
	must(info.running == 1 && info.runs == d->runs);
	must(tkw_jobs_print(run->jobs, run->id, buf, sizeof(buf)) > 0);
	must(tkw_jobs_list(run->jobs, &cursor, &info, 1) == 1);
	must(tkw_jobs_count(run->jobs) == 1);
	must(tkw_jobs_reread_clock(run->jobs) == 0);
	must(tkw_jobs_run_now(run->jobs, run->id) == -EBUSY);
	must(tkw_jobs_remove_wait(run->jobs, run->id) == -EDEADLK);
	must(tkw_jobs_destroy(run->jobs) == -EDEADLK);
	must(tkw_jobs_resume(run->jobs, run->id) == 0);
}

static void test_12_3_job_looks_inside(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.in_run = look_inside;
	run_to(&l, MINUTES(3));
	assert_runs(&d, MINUTES(1), MINUTES(2), MINUTES(3));
	assert_counts(&d, 3, 0, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_looks_inside)

static void remove_inside(struct diary *d, const struct tkw_job_run *run)
{
	d->said[0] = tkw_jobs_remove(run->jobs, run->id);
	d->said[1] = tkw_jobs_remove(run->jobs, run->id);
	d->said[2] = tkw_jobs_done(run->jobs, run->id, run->number, 0);
	must(d->ends == 0);
	must(tkw_jobs_remove_wait(run->jobs, run->id) == -EDEADLK);
	/* Another job of the set does not run, so there is no wait. */
	must(tkw_jobs_count(run->jobs) == 1);
}

static void test_12_3_job_is_removed_inside(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	for (int later = 0; later < 2; later++) {
		job_bed_open(&l, b);
		add_job(&d, &l, "* * * * *", NO_RULES);
		d.in_run = remove_inside;
		d.answer = later ? TKW_JOB_LATER : 0;
		run_to(&l, MINUTES(3));
		assert_runs(&d, MINUTES(1));
		assert_int_equal(d.said[0], 1);
		assert_int_equal(d.said[1], -ENOENT);
		assert_int_equal(d.said[2], -ENOENT);
		assert_ended(&d, -ECANCELED);
		job_bed_close(&l);
	}
}
BED_TEST(test_12_3_job_is_removed_inside)

/* One chain goes on. */
static void change_inside(struct diary *d, const struct tkw_job_run *run)
{
	(void)run;
	must(d->runs < 100);
	d->said[0] = change_job(d, d->runs % 2 ? "*/2 * * * *" : "* * * * *",
				NO_RULES);
}

static void test_12_3_job_is_changed_inside(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.in_run = change_inside;
	run_to(&l, MINUTES(6));
	assert_runs(&d, MINUTES(1), MINUTES(2), MINUTES(3), MINUTES(4),
		    MINUTES(5), MINUTES(6));
	assert_int_equal(d.said[0], 0);
	assert_int_equal(tkw_timer_count(b->t), 1);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_changed_inside)

static void pause_inside(struct diary *d, const struct tkw_job_run *run)
{
	d->said[0] = tkw_jobs_pause(run->jobs, run->id);
	if (d->runs == 1)
		d->said[1] = tkw_jobs_resume(run->jobs, run->id);
}

static void test_12_3_job_is_paused_inside(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.in_run = pause_inside;
	d.said[0] = d.said[1] = -1;
	run_to(&l, MINUTES(5));
	assert_runs(&d, MINUTES(1), MINUTES(2));
	assert_int_equal(d.said[0] | d.said[1], 0);
	assert_counts(&d, 2, 0, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_paused_inside)

static void answer_inside(struct diary *d, const struct tkw_job_run *run)
{
	d->said[0] = tkw_jobs_done(run->jobs, run->id, run->number, -EIO);
	d->said[1] = tkw_jobs_done(run->jobs, run->id, run->number, 0);
}

/* The answer comes before the task returns. */
static void test_12_3_job_answers_inside(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.in_run = answer_inside;
	d.answer = TKW_JOB_LATER;
	run_to(&l, MINUTES(2));
	assert_runs(&d, MINUTES(1), MINUTES(2));
	assert_int_equal(d.said[0], 0);
	assert_int_equal(d.said[1], -ENOENT);
	assert_int_equal(info_of(&d).running, 0);
	assert_int_equal(info_of(&d).last_result, -EIO);
	/* If the task does not return TKW_JOB_LATER, it says the result. */
	d.answer = 7;
	run_to(&l, MINUTES(3));
	assert_int_equal(info_of(&d).last_result, 7);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_answers_inside)

static void shut_down_inside(struct diary *d, const struct tkw_job_run *run)
{
	d->said[0] = tkw_jobs_shutdown(run->jobs);
}

static void refuse_destroy(struct diary *d)
{
	d->said[1] = tkw_jobs_destroy(d->l->set);
	d->said[2] = tkw_jobs_remove_wait(d->l->set, d->id);
}

/* All jobs end: this one after its task. */
static void test_12_3_job_set_is_shut_down_inside(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, e;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	add_job(&e, &l, "0 * * * *", NO_RULES);
	d.in_run = shut_down_inside;
	d.in_end = refuse_destroy;
	d.said[0] = -1;
	run_to(&l, MINUTES(2));
	assert_int_equal(d.said[0], 0);
	assert_int_equal(d.said[1], -EDEADLK);
	assert_int_equal(d.said[2], -EDEADLK);
	assert_ended(&d, -ESHUTDOWN);
	assert_ended(&e, -ESHUTDOWN);
	assert_runs(&d, MINUTES(1));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_set_is_shut_down_inside)

static void add_again(struct diary *d)
{
	static struct diary next;

	add_job(&next, d->l, "* * * * *", NO_RULES);
	must(tkw_jobs_remove_wait(d->l->set, next.id) == 0);
	must(next.ends == 1);
}

/* on_end may add a job, and remove one that does not run. */
static void test_12_3_job_is_added_from_on_end(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.in_end = add_again;
	assert_int_equal(tkw_jobs_remove(l.set, d.id), 0);
	assert_int_equal(tkw_jobs_count(l.set), 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_is_added_from_on_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_12_3_job_is_queued),
		BED_TESTS(test_12_3_job_is_refused_or_abandoned),
		BED_TESTS(test_12_3_job_abandoned_misses_what_is_due),
		BED_TESTS(test_12_3_job_is_late_in_the_queue),
		BED_TESTS(test_12_3_job_queued_run_is_given_up),
		BED_TESTS(test_12_3_job_queued_in_a_child),
		BED_TESTS_BY_HAND(test_12_3_job_is_dropped),
		BED_TESTS(test_12_3_job_remove_waits),
		BED_TESTS(test_12_3_job_runs_overlap),
		BED_TESTS(test_12_3_job_looks_inside),
		BED_TESTS(test_12_3_job_is_removed_inside),
		BED_TESTS(test_12_3_job_is_changed_inside),
		BED_TESTS(test_12_3_job_is_paused_inside),
		BED_TESTS(test_12_3_job_answers_inside),
		BED_TESTS(test_12_3_job_set_is_shut_down_inside),
		BED_TESTS(test_12_3_job_is_added_from_on_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
