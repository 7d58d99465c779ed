/* SPDX-License-Identifier: MIT */
/*
 * test_timer_exec.c - SPEC 4.5, 4.8, 5, 6: a timer with an executor: what is
 * submitted, which calls are possible while the executor has a timeout, the
 * three policies when it refuses one, and the end.
 *
 * There are three executors: the pool, the inline one, and a collector, which
 * keeps the jobs until the test decides about each. A timer with its own thread
 * sleeps in real time for as long as the virtual clock says. So delays are a
 * few milliseconds, and the worker reads the clock by itself.
 */
#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"

/* An assert of cmocka does not work in a task, or on a thread that is not the
 * test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

/* --- gates and threads -------------------------------------------------- */

static void spawn(pthread_t *thread, void *(*run)(void *), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

static void join(pthread_t thread)
{
	must(pthread_join(thread, NULL) == 0);
}

static void wait_asleep(pid_t tid)
{
	while (!bed_is_asleep(tid))
		sched_yield();
}

/* --- the collector ------------------------------------------------------ */

enum {
	KEPT = 1 << 13
};

struct collector {
	struct tkw_exec exec;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	struct tkw_job jobs[KEPT]; /* taken jobs, in order */
	bool called[KEPT];
	size_t count;
	size_t offered; /* taken and refused jobs */
	int answer;     /* result of submit; 0 takes the job */
	pthread_t by;   /* the last thread that submitted */
};

static struct collector *collector;

static int collect(const struct tkw_job *job, void *ctx)
{
	struct collector *c = ctx;
	int answer;

	must(job->run && job->abandon);
	pthread_mutex_lock(&c->lock);
	c->offered++;
	c->by = pthread_self();
	answer = c->answer;
	if (answer == 0) {
		must(c->count < KEPT);
		c->jobs[c->count++] = *job;
	}
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return answer;
}

/* Each job is called once, as an executor must do. */
static struct tkw_job job_of(size_t i)
{
	struct tkw_job job;

	pthread_mutex_lock(&collector->lock);
	must(i < collector->count && !collector->called[i]);
	collector->called[i] = true;
	job = collector->jobs[i];
	pthread_mutex_unlock(&collector->lock);
	return job;
}

static void run_job(size_t i)
{
	struct tkw_job job = job_of(i);

	job.run(&job);
}

static void abandon_job(size_t i)
{
	struct tkw_job job = job_of(i);

	job.abandon(&job);
}

static void answer_with(int answer)
{
	pthread_mutex_lock(&collector->lock);
	collector->answer = answer;
	pthread_mutex_unlock(&collector->lock);
}

static size_t offered(void)
{
	size_t n;

	pthread_mutex_lock(&collector->lock);
	n = collector->offered;
	pthread_mutex_unlock(&collector->lock);
	return n;
}

static size_t collected(void)
{
	size_t n;

	pthread_mutex_lock(&collector->lock);
	n = collector->count;
	pthread_mutex_unlock(&collector->lock);
	return n;
}

static pthread_t submitter(void)
{
	pthread_t by;

	pthread_mutex_lock(&collector->lock);
	by = collector->by;
	pthread_mutex_unlock(&collector->lock);
	return by;
}

static void await_offered(size_t least)
{
	pthread_mutex_lock(&collector->lock);
	while (collector->offered < least)
		pthread_cond_wait(&collector->changed, &collector->lock);
	pthread_mutex_unlock(&collector->lock);
}

static void await_collected(size_t least)
{
	pthread_mutex_lock(&collector->lock);
	while (collector->count < least)
		pthread_cond_wait(&collector->changed, &collector->lock);
	pthread_mutex_unlock(&collector->lock);
}

/* --- the timer ---------------------------------------------------------- */

/* Sets the clock to a multiple of the tick, and opens a timer with an
 * executor. */
static void open_with(struct timer_bed *b, const struct tkw_exec *exec,
		      struct tkw_timer_config cfg)
{
	cfg.exec = exec;
	bed_set_clock(b, 2000 * TKW_SEC);
	bed_reopen(b, &cfg);
}

static void open_collector(struct timer_bed *b, int refusal)
{
	const struct tkw_timer_config cfg = { .refusal = refusal };

	free(collector);
	collector = calloc(1, sizeof(*collector));
	assert_non_null(collector);
	collector->exec.submit = collect;
	collector->exec.ctx = collector;
	pthread_mutex_init(&collector->lock, NULL);
	pthread_cond_init(&collector->changed, NULL);
	open_with(b, &collector->exec, cfg);
}

/* Destroys the timer, and calls the jobs of the collector after that. */
static void close_collector(struct timer_bed *b)
{
	size_t i;

	bed_reopen(b, NULL);
	for (i = 0; i < collector->count; i++) {
		if (collector->called[i])
			continue;
		if (i % 2)
			run_job(i);
		else
			abandon_job(i);
	}
	free(collector);
	collector = NULL;
}

static struct tkw_pool *pool_of(int threads)
{
	const struct tkw_pool_config cfg = { .size = sizeof(cfg),
					     .threads = threads };
	struct tkw_pool *p = NULL;

	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	return p;
}

static struct tkw_pool *open_pool(struct timer_bed *b, int threads)
{
	const struct tkw_timer_config cfg = { .drive = 0 };
	struct tkw_pool *p = pool_of(threads);

	open_with(b, tkw_pool_exec(p), cfg);
	return p;
}

static void close_pool(struct timer_bed *b, struct tkw_pool *p)
{
	bed_reopen(b, NULL);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static int64_t clock_of(struct timer_bed *b)
{
	int64_t now_ns;

	pthread_mutex_lock(&b->lock);
	now_ns = b->now_ns;
	pthread_mutex_unlock(&b->lock);
	return now_ns;
}

/* Lets time pass. Makes one turn if there is no worker. A worker makes its
 * own. */
static void tick(struct timer_bed *b, int64_t ns)
{
	bed_set_clock(b, clock_of(b) + ns);
	if (bed_by_hand(b))
		assert_true(bed_turn(b, NULL) >= 0);
}

/* The same until this many more jobs were taken. Without a worker, checks that
 * there are no more. */
static void tick_collecting(struct timer_bed *b, int64_t ns, size_t more)
{
	size_t before = collected();

	tick(b, ns);
	await_collected(before + more);
	assert_int_equal(collected(), before + more);
}

/* Runs jobs that were collected, and those that still come, until this many
 * tasks have fired. Some jobs may be stale. */
static void run_until_fired(struct timer_bed *b, size_t count)
{
	size_t i;

	for (i = 0; b->fired_count < count; i++) {
		await_collected(i + 1);
		if (!collector->called[i])
			run_job(i);
	}
}

static void await_log(struct timer_bed *b, size_t count)
{
	pthread_mutex_lock(&b->lock);
	while (b->log_count < count)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

static void await_cancelled(struct timer_bed *b, size_t count)
{
	pthread_mutex_lock(&b->lock);
	while (b->cancelled_count < count)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

static struct tkw_ledger ledger_of(struct timer_bed *b)
{
	const char *broken = tkw_timer_check(b->t);
	struct tkw_ledger l;

	if (broken)
		fail_msg("tkw_timer_check: %s", broken);
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	assert_true(l.accepted == l.fired + l.cancelled + l.dropped +
					  l.handed_over + l.pending);
	return l;
}

static void assert_pending(struct timer_bed *b, struct tkw_timeout_id id,
			   int64_t deadline)
{
	struct tkw_timeout_info info;

	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	assert_true(info.id.bits == id.bits);
	assert_true(info.deadline_ns == deadline);
	assert_true(info.left_ns == deadline - clock_of(b));
}

/* A task that records which thread did what with it. */
struct who {
	struct gate fired;
	struct gate ended; /* its on-cancel has run */
	pthread_t by;
	int64_t late_ns;
	int64_t deadline_ns;
	unsigned times;
};

#define WHO_INIT                                                               \
	{                                                                      \
		.fired = GATE_INIT, .ended = GATE_INIT                         \
	}

static void who_fired(const struct tkw_firing *f, void *ctx)
{
	struct who *w = ctx;

	w->by = pthread_self();
	w->late_ns = f->late_ns;
	w->deadline_ns = f->deadline_ns;
	w->times++;
	gate_open(&w->fired);
}

static void who_ended(void *ctx)
{
	struct who *w = ctx;

	w->by = pthread_self();
	w->times++;
	gate_open(&w->ended);
}

static struct tkw_timeout_id schedule_who(struct timer_bed *b, struct who *w,
					  int64_t delay)
{
	const struct tkw_task task = { .fn = who_fired,
				       .ctx = w,
				       .on_cancel = who_ended };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, delay, &id), 0);
	return id;
}

/* A task that waits at a gate. */
struct block {
	struct gate gate;
	atomic_bool over;
};

static void block_fired(const struct tkw_firing *f, void *ctx)
{
	struct block *block = ctx;

	(void)f;
	gate_pass(&block->gate);
	block->over = true;
}

static struct tkw_timeout_id schedule_block(struct timer_bed *b,
					    struct block *block)
{
	const struct tkw_task task = { .fn = block_fired, .ctx = block };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	return id;
}

/* --- create ------------------------------------------------------------- */

static void test_exec_refuses_bad_config(struct timer_bed *b)
{
	const struct tkw_exec without = { .ctx = b };
	const int refusals[] = { -1, 3, INT32_MIN, INT32_MAX };
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = b->drive,
					.exec = &without };
	struct tkw_timer *t = (struct tkw_timer *)&cfg;
	unsigned i;

	assert_int_equal(tkw_timer_create(&t, &cfg), -EINVAL);
	for (i = 0; i < 8; i++) {
		/* Creates a timer with an executor, and one without. */
		cfg.exec = i % 2 ? tkw_exec_inline() : NULL;
		cfg.refusal = refusals[i / 2];
		assert_int_equal(tkw_timer_create(&t, &cfg), -EINVAL);
	}
	assert_ptr_equal(t, &cfg);
}
BED_TEST(test_exec_refuses_bad_config)

/* The config is not kept. The executor's struct is copied. */
static void test_exec_is_copied(struct timer_bed *b)
{
	struct tkw_exec exec = *tkw_exec_inline();
	const struct tkw_timer_config cfg = { .drive = 0 };

	open_with(b, &exec, cfg);
	memset(&exec, 0, sizeof(exec));
	bed_schedule(b, 1, TKW_MSEC);
	tick(b, TKW_MSEC);
	bed_wait_fired(b, 1);
	bed_reopen(b, NULL);
	bed_assert_fired(b, 1);
}
BED_TEST(test_exec_is_copied)

/* --- what is submitted -------------------------------------------------- */

/* SPEC 4.7, 4.8 */
static void test_exec_each_expiry_is_submitted_once(struct timer_bed *b)
{
	enum {
		MANY = 20
	};
	int64_t begin_ns;
	struct tkw_timeout_id ids[MANY];
	size_t i;

	open_collector(b, TKW_REFUSED_DROP);
	begin_ns = clock_of(b);
	for (i = 0; i < MANY; i++)
		ids[i] = bed_schedule(b, i, (int64_t)(i % 5 + 1) * TKW_MSEC);
	for (i = 0; i < 5; i++) {
		tick_collecting(b, TKW_MSEC, 4);
		bed_assert_ledger(b, MANY);
	}
	bed_assert_nothing_fired(b);
	bed_set_clock(b, begin_ns + 9 * TKW_MSEC);
	for (i = MANY; i-- > 0;)
		run_job(i);
	for (i = 0; i < MANY; i++) {
		const struct bed_fired *f = &b->fired[i];
		int64_t deadline_ns =
			begin_ns + (int64_t)(f->tag % 5 + 1) * TKW_MSEC;

		assert_int_equal(bed_fired_times(b, i), 1);
		assert_true(f->id.bits == ids[f->tag].bits);
		assert_true(f->deadline_ns == deadline_ns);
		assert_true(f->late_ns ==
			    begin_ns + 9 * TKW_MSEC - deadline_ns);
	}
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->fired_count, MANY);
	assert_int_equal(b->cancelled_count, 0);
}
BED_TEST(test_exec_each_expiry_is_submitted_once)

/* SPEC 4.8: the inline executor runs the task on the worker, in that turn. */
static void test_exec_inline_fires_on_the_worker(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .refusal = TKW_REFUSED_DROP };
	struct who w = WHO_INIT;

	open_with(b, tkw_exec_inline(), cfg);
	schedule_who(b, &w, 2 * TKW_MSEC);
	tick(b, 2 * TKW_MSEC);
	gate_pass(&w.fired);
	assert_int_equal(w.times, 1);
	assert_true(w.late_ns == 0);
	if (bed_by_hand(b))
		assert_true(pthread_equal(w.by, pthread_self()));
	else
		assert_false(pthread_equal(w.by, pthread_self()));
	bed_reopen(b, NULL);
}
BED_TEST(test_exec_inline_fires_on_the_worker)

struct rearm {
	struct gate done;
	unsigned left;
};

static void rearm_fired(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task task = { .fn = rearm_fired, .ctx = ctx };
	struct rearm *r = ctx;

	must(tkw_timer_cancel(f->timer, f->id) == -EBUSY);
	must(tkw_timer_reschedule(f->timer, f->id, 0) == -EBUSY);
	if (--r->left == 0)
		gate_open(&r->done);
	else
		must(tkw_timer_schedule(f->timer, &task, 0, NULL) == 0);
}

/* SPEC 4.6: a delay of 0 waits for a later turn with that executor, too. */
static void test_exec_inline_turn_ends(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .drive = 0 };
	struct rearm r = { .done = GATE_INIT, .left = 5 };
	const struct tkw_task task = { .fn = rearm_fired, .ctx = &r };
	unsigned left;

	open_with(b, tkw_exec_inline(), cfg);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	if (bed_by_hand(b)) {
		for (left = 5; left > 0; left--) {
			assert_int_equal(r.left, left);
			tick(b, 0);
		}
	}
	gate_pass(&r.done);
	assert_int_equal(r.left, 0);
	bed_reopen(b, NULL);
}
BED_TEST(test_exec_inline_turn_ends)

/* SPEC 4.8 */
static void test_exec_pool_fires_each_once(struct timer_bed *b)
{
	enum {
		MANY = 10000
	};
	struct tkw_pool *p = open_pool(b, 3);
	unsigned char *times = calloc(MANY, 1);
	size_t i;

	assert_non_null(times);
	for (i = 0; i < MANY; i++)
		bed_schedule(b, i, (int64_t)(i % 10) * TKW_MSEC);
	for (i = 0; i < 10; i++)
		tick(b, TKW_MSEC);
	bed_wait_fired(b, MANY);
	for (i = 0; i < MANY; i++) {
		times[b->fired[i].tag]++;
		assert_true(b->fired[i].now_ns >= b->fired[i].deadline_ns);
		assert_true(b->fired[i].late_ns >= 0);
	}
	for (i = 0; i < MANY; i++)
		assert_int_equal(times[i], 1);
	bed_assert_ledger(b, 0);
	close_pool(b, p);
	assert_int_equal(b->fired_count, MANY);
	free(times);
}
BED_TEST(test_exec_pool_fires_each_once)

/* SPEC 4.6: tasks re-arm themselves from the pool's threads. */
static void test_exec_pool_tasks_rearm(struct timer_bed *b)
{
	enum {
		CHAINS = 8,
		LINKS = 200,
		ALL = CHAINS * LINKS
	};
	struct tkw_pool *p = open_pool(b, 3);
	struct rearm r[CHAINS];
	size_t i;

	for (i = 0; i < CHAINS; i++) {
		const struct rearm fresh = { .done = GATE_INIT, .left = LINKS };
		const struct tkw_task task = { .fn = rearm_fired,
					       .ctx = &r[i] };

		r[i] = fresh;
		assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	}
	for (i = 0; i < CHAINS; i++) {
		/* Without a worker, the test must make the turns. */
		while (bed_by_hand(b) && ledger_of(b).fired < ALL) {
			tick(b, 0);
			sched_yield();
		}
		gate_pass(&r[i].done);
	}
	assert_true(ledger_of(b).fired == ALL);
	bed_assert_ledger(b, 0);
	close_pool(b, p);
}
BED_TEST(test_exec_pool_tasks_rearm)

/* SPEC 4.8: eight tasks block, and a hundred thousand others are on time. */
static void test_exec_blocking_tasks_delay_no_other(struct timer_bed *b)
{
	enum {
		BLOCKED = 8,
		STEPS = 100,
		EACH = 1000
	};
	struct tkw_pool *p = open_pool(b, BLOCKED + 1);
	struct block blocks = { .gate = GATE_INIT };
	size_t step;
	size_t i;

	for (i = 0; i < BLOCKED; i++)
		schedule_block(b, &blocks);
	tick(b, 0);
	gate_await(&blocks.gate, BLOCKED);
	for (i = 0; i < (size_t)STEPS * EACH; i++)
		bed_schedule(b, i, (int64_t)(i % STEPS + 1) * TKW_MSEC);
	for (step = 1; step <= STEPS; step++) {
		tick(b, TKW_MSEC);
		bed_wait_fired(b, step * EACH);
		/* None of a later step has fired. */
		pthread_mutex_lock(&b->lock);
		i = b->fired_count;
		pthread_mutex_unlock(&b->lock);
		assert_int_equal(i, step * EACH);
	}
	for (i = 0; i < (size_t)STEPS * EACH; i++) {
		assert_true(b->fired[i].late_ns == 0);
		assert_true(b->fired[i].now_ns == b->fired[i].deadline_ns);
	}
	assert_false(blocks.over);
	bed_assert_ledger(b, 0);
	gate_open(&blocks.gate);
	close_pool(b, p);
	assert_int_equal(blocks.gate.came, BLOCKED);
}
BED_TEST(test_exec_blocking_tasks_delay_no_other)

/* --- in the executor's queue -------------------------------------------- */

/* SPEC 4.5, 5.8 */
static void test_exec_queued_is_pending(struct timer_bed *b)
{
	int64_t next_ns;
	char text[64];
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_INLINE);
	id = bed_schedule(b, 1, 3 * TKW_MSEC);
	tick_collecting(b, 3 * TKW_MSEC, 1);
	assert_pending(b, id, clock_of(b));
	bed_set_clock(b, clock_of(b) + 7 * TKW_MSEC);
	assert_pending(b, id, clock_of(b) - 7 * TKW_MSEC);
	assert_true(tkw_timer_print_timeout(b->t, id, text, sizeof(text)) > 0);
	assert_string_equal(text, "due, 7 ms late");
	bed_assert_ledger(b, 1);
	/* The worker need not do anything for it. */
	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
	run_job(0);
	bed_assert_fired(b, 1);
	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	close_collector(b);
}
BED_TEST(test_exec_queued_is_pending)

/* SPEC 4.5, 5.2, 5.3, 5.6 */
static void test_exec_queued_can_be_cancelled(struct timer_bed *b)
{
	struct tkw_timeout_id ids[4];
	uint64_t i;

	open_collector(b, TKW_REFUSED_DROP);
	for (i = 0; i < 4; i++)
		ids[i] = bed_schedule(b, i, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 4);
	for (i = 0; i < 4; i++) {
		if (i < 2)
			assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
		else
			assert_int_equal(tkw_timer_cancel_wait(b->t, ids[i]),
					 0);
		assert_int_equal(bed_cancelled_times(b, i), 1);
		bed_assert_ledger(b, 3 - i);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), -ENOENT);
		assert_int_equal(tkw_timer_cancel_wait(b->t, ids[i]), -ENOENT);
		assert_int_equal(tkw_timer_reschedule(b->t, ids[i], 0),
				 -ENOENT);
	}
	/* The jobs of these do nothing. */
	run_job(0);
	abandon_job(1);
	run_job(2);
	abandon_job(3);
	bed_assert_nothing_fired(b);
	assert_int_equal(b->cancelled_count, 4);
	assert_true(ledger_of(b).cancelled == 4);
	close_collector(b);
	assert_int_equal(b->cancelled_count, 4);
}
BED_TEST(test_exec_queued_can_be_cancelled)

/* SPEC 5.5, 4.1: the old job does nothing. Above all, it does not run the task
 * early. */
static void test_exec_queued_can_be_moved_later(struct timer_bed *b)
{
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_DROP);
	id = bed_schedule(b, 1, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 5 * TKW_MSEC), 0);
	assert_pending(b, id, clock_of(b) + 5 * TKW_MSEC);
	run_job(0);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 1);
	tick(b, 5 * TKW_MSEC - 1);
	assert_int_equal(collected(), 1);
	tick_collecting(b, 1, 1);
	bed_assert_nothing_fired(b);
	run_job(1);
	bed_assert_fired(b, 1);
	assert_true(b->fired[0].deadline_ns == clock_of(b));
	assert_true(b->fired[0].late_ns == 0);
	assert_true(b->fired[0].id.bits == id.bits);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->fired_count, 1);
	assert_int_equal(b->cancelled_count, 0);
}
BED_TEST(test_exec_queued_can_be_moved_later)

/* SPEC 5.5: the task runs once, whichever of its two jobs comes first. */
static void test_exec_moved_fires_once_with_two_jobs(struct timer_bed *b)
{
	struct tkw_timeout_id id;
	size_t i;

	for (i = 0; i < 2; i++) {
		open_collector(b, TKW_REFUSED_DROP);
		id = bed_schedule(b, 1, TKW_MSEC);
		tick_collecting(b, TKW_MSEC, 1);
		assert_int_equal(tkw_timer_reschedule(b->t, id, TKW_MSEC), 0);
		tick_collecting(b, TKW_MSEC, 1);
		run_job(i);
		run_job(1 - i);
		bed_assert_fired(b, 1);
		assert_true(b->fired[i].deadline_ns == clock_of(b));
		bed_assert_ledger(b, 0);
		close_collector(b);
	}
	assert_int_equal(b->fired_count, 2);
	assert_int_equal(b->cancelled_count, 0);
}
BED_TEST(test_exec_moved_fires_once_with_two_jobs)

/* SPEC 4.8, 5.5: a timeout has two jobs. The first one that is called
 * counts. */
static void test_exec_first_of_two_jobs_decides(struct timer_bed *b)
{
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_DROP);
	id = bed_schedule(b, 1, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	assert_int_equal(tkw_timer_reschedule(b->t, id, TKW_MSEC), 0);
	tick_collecting(b, TKW_MSEC, 1);
	abandon_job(0);
	run_job(1);
	bed_assert_nothing_fired(b);
	assert_true(ledger_of(b).dropped == 1);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	close_collector(b);
}
BED_TEST(test_exec_first_of_two_jobs_decides)

/* SPEC 5.5 */
static void test_exec_queued_can_be_moved_earlier(struct timer_bed *b)
{
	int64_t at_ns;
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_DROP);
	id = bed_schedule(b, 1, 5 * TKW_MSEC);
	tick_collecting(b, 5 * TKW_MSEC, 1);
	at_ns = clock_of(b) - 3 * TKW_MSEC;
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, at_ns), 0);
	assert_pending(b, id, at_ns);
	tick(b, 0);
	await_collected(2);
	assert_pending(b, id, at_ns);
	run_job(0);
	run_job(1);
	bed_assert_fired(b, 1);
	assert_true(b->fired[0].deadline_ns == at_ns);
	assert_true(b->fired[0].late_ns == 3 * TKW_MSEC);
	close_collector(b);
	assert_int_equal(b->fired_count, 1);
}
BED_TEST(test_exec_queued_can_be_moved_earlier)

/* SPEC 5.4: the executor keeps the job, but not the memory of the timeout. */
static void test_exec_cancelled_memory_is_usable_at_once(struct timer_bed *b)
{
	enum {
		EACH = 200,
		ROUNDS = 30
	};
	struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct tkw_timeout_id ids[EACH];
	size_t calls = 0;
	size_t round;
	size_t i;

	open_collector(b, TKW_REFUSED_INLINE);
	open_with(b, &collector->exec, cfg);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < EACH; i++)
			ids[i] = bed_schedule(b, i, TKW_MSEC);
		if (round == 0)
			calls = m.calls;
		tick_collecting(b, TKW_MSEC, EACH);
		for (i = 0; i < EACH; i++)
			assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	}
	/* A block may have been made and freed, but no more were needed. */
	assert_true(m.live <= calls);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(m.live, 0);
	assert_int_equal(b->fired_count, 0);
	assert_int_equal(b->cancelled_count, (size_t)EACH * ROUNDS);
}
BED_TEST(test_exec_cancelled_memory_is_usable_at_once)

/* --- running on the executor's threads ---------------------------------- */

struct waiter {
	pthread_t thread;
	struct gate ready;
	struct tkw_timer *t;
	struct tkw_timeout_id id;
	const struct block *block;
	pid_t tid;
	int said;
	bool over; /* had that ended, on return? */
};

static void *wait_for_end(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	gate_open(&w->ready);
	w->said = tkw_timer_cancel_wait(w->t, w->id);
	w->over = w->block->over;
	return NULL;
}

/* SPEC 4.5, 5.2, 5.3 */
static void test_exec_running_cannot_be_cancelled(struct timer_bed *b)
{
	struct tkw_pool *p = open_pool(b, 2);
	struct block block = { .gate = GATE_INIT };
	struct waiter w = { .ready = GATE_INIT, .t = b->t, .block = &block };
	struct tkw_timeout_info info;

	w.id = schedule_block(b, &block);
	tick(b, 0);
	gate_await(&block.gate, 1);
	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_timer_cancel(b->t, w.id), -EBUSY);
	assert_int_equal(tkw_timer_reschedule(b->t, w.id, TKW_SEC), -EBUSY);
	assert_int_equal(tkw_timer_get(b->t, w.id, &info), 0);
	assert_int_equal(info.state, TKW_TIMEOUT_RUNNING);
	spawn(&w.thread, wait_for_end, &w);
	gate_pass(&w.ready);
	wait_asleep(w.tid);
	gate_open(&block.gate);
	join(w.thread);
	assert_int_equal(w.said, 1);
	assert_true(w.over);
	assert_int_equal(tkw_timer_cancel(b->t, w.id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, w.id), -ENOENT);
	close_pool(b, p);
}
BED_TEST(test_exec_running_cannot_be_cancelled)

/* The results that a task on the pool gets if it would have to wait. */
struct inside {
	struct timer_bed *b;
	struct gate done;
	struct tkw_timeout_id other;   /* it is running */
	struct tkw_timeout_id pending; /* its job is queued, or it is not due */
	int wait_self;
	int wait_other;
	int wait_pending;
	int stop;
	int destroy;
	int turn;
};

static void inside_fired(const struct tkw_firing *f, void *ctx)
{
	struct inside *in = ctx;

	in->wait_self = tkw_timer_cancel_wait(f->timer, f->id);
	in->wait_other = tkw_timer_cancel_wait(f->timer, in->other);
	in->wait_pending = tkw_timer_cancel_wait(f->timer, in->pending);
	in->stop = tkw_timer_stop(f->timer, NULL, NULL);
	in->destroy = tkw_timer_destroy(f->timer);
	in->turn = bed_turn(in->b, NULL);
	gate_open(&in->done);
}

/* SPEC 5.3, 6.1, 6.6 */
static void test_exec_task_cannot_wait_for_its_timer(struct timer_bed *b)
{
	struct tkw_pool *p = open_pool(b, 2);
	struct block block = { .gate = GATE_INIT };
	struct inside in = { .b = b, .done = GATE_INIT };
	const struct tkw_task task = { .fn = inside_fired, .ctx = &in };

	in.other = schedule_block(b, &block);
	tick(b, 0);
	gate_await(&block.gate, 1);
	in.pending = bed_schedule(b, 7, TKW_SEC);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	tick(b, 0);
	gate_pass(&in.done);
	assert_int_equal(in.wait_self, -EDEADLK);
	assert_int_equal(in.wait_other, -EDEADLK);
	assert_int_equal(in.wait_pending, 0);
	assert_int_equal(in.stop, -EDEADLK);
	assert_int_equal(in.destroy, -EDEADLK);
	assert_int_equal(in.turn, bed_by_hand(b) ? -EDEADLK : -EINVAL);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	assert_int_equal(bed_cancelled_times(b, 7), 1);
	gate_open(&block.gate);
	close_pool(b, p);
}
BED_TEST(test_exec_task_cannot_wait_for_its_timer)

static void testcancel_fired(const struct tkw_firing *f, void *ctx)
{
	bool *came_back = ctx;

	(void)f;
	pthread_testcancel();
	*came_back = true;
}

/* Runs job 0 while the cancellation of this thread is pending. */
static void *run_doomed(void *arg)
{
	struct gate *pending = arg;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	gate_pass(pending);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	run_job(0);
	return NULL;
}

/* timer.h: a task cannot be cancelled, on whichever thread it runs. Otherwise
 * it would count as running for ever. */
static void test_exec_task_cannot_be_cancelled(struct timer_bed *b)
{
	struct gate pending = GATE_INIT;
	bool came_back = false;
	const struct tkw_task task = { .fn = testcancel_fired,
				       .ctx = &came_back };
	pthread_t thread;

	open_collector(b, TKW_REFUSED_INLINE);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	tick_collecting(b, TKW_MSEC, 1);
	spawn(&thread, run_doomed, &pending);
	must(pthread_cancel(thread) == 0);
	gate_open(&pending);
	join(thread);
	/* If the timer cannot be stopped any more, leave it alone. */
	if (!came_back)
		b->t = NULL;
	assert_true(came_back);
	close_collector(b);
}
BED_TEST(test_exec_task_cannot_be_cancelled)

/* --- refused: inline ---------------------------------------------------- */

/* SPEC 4.8: the worker runs the task, in that turn. */
static void test_exec_refused_runs_inline(struct timer_bed *b)
{
	struct who w = WHO_INIT;

	open_collector(b, TKW_REFUSED_INLINE);
	answer_with(-EAGAIN);
	schedule_who(b, &w, 2 * TKW_MSEC);
	bed_set_clock(b, clock_of(b) + 3 * TKW_MSEC);
	if (bed_by_hand(b))
		assert_int_equal(bed_turn(b, NULL), 1);
	gate_pass(&w.fired);
	assert_true(pthread_equal(w.by, submitter()));
	if (bed_by_hand(b))
		assert_true(pthread_equal(w.by, pthread_self()));
	assert_true(w.deadline_ns == clock_of(b) - TKW_MSEC);
	assert_true(w.late_ns == TKW_MSEC);
	assert_int_equal(offered(), 1);
	close_collector(b);
	assert_int_equal(w.times, 1);
}
BED_TEST(test_exec_refused_runs_inline)

/* SPEC 4.8, 4.4: the worker runs the refused ones in order. The executor has
 * those that it took. */
static void test_exec_refused_runs_inline_in_order(struct timer_bed *b)
{
	uint64_t i;

	open_collector(b, TKW_REFUSED_INLINE);
	answer_with(-ESHUTDOWN);
	for (i = 0; i < 5; i++)
		bed_schedule(b, i, (int64_t)(5 - i) * TKW_MSEC);
	tick(b, 5 * TKW_MSEC);
	bed_wait_fired(b, 5);
	bed_assert_fired(b, 4, 3, 2, 1, 0);
	answer_with(0);
	bed_schedule(b, 5, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	bed_assert_nothing_fired(b);
	run_job(0);
	bed_assert_fired(b, 5);
	bed_assert_ledger(b, 0);
	close_collector(b);
}
BED_TEST(test_exec_refused_runs_inline_in_order)

/* --- refused: retry ----------------------------------------------------- */

/* SPEC 4.8, 4.7: it is still pending, is offered again and again, and keeps its
 * deadline. */
static void test_exec_refused_is_offered_again(struct timer_bed *b)
{
	size_t retries = bed_by_hand(b) ? 5000 : 50;
	int64_t deadline_ns;
	int64_t next_ns;
	struct tkw_timeout_id id;
	size_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-EAGAIN);
	id = bed_schedule(b, 1, 3 * TKW_MSEC);
	deadline_ns = clock_of(b) + 3 * TKW_MSEC;
	tick(b, 3 * TKW_MSEC);
	for (i = 1; i <= retries; i++) {
		await_offered(i);
		assert_pending(b, id, deadline_ns);
		if (bed_by_hand(b)) {
			/* It is offered in the next tick, not at once. */
			assert_int_equal(offered(), i);
			assert_int_equal(tkw_timer_next_turn(b->t, &next_ns),
					 0);
			assert_true(next_ns == clock_of(b) + TKW_MSEC);
		}
		if (i % 100 == 0)
			bed_assert_ledger(b, 1);
		tick(b, TKW_MSEC);
	}
	answer_with(0);
	tick(b, TKW_MSEC);
	await_collected(1);
	assert_int_equal(collected(), 1);
	bed_assert_nothing_fired(b);
	run_job(0);
	bed_assert_fired(b, 1);
	assert_true(b->fired[0].id.bits == id.bits);
	assert_true(b->fired[0].deadline_ns == deadline_ns);
	assert_true(b->fired[0].late_ns == clock_of(b) - deadline_ns);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->fired_count, 1);
	assert_int_equal(b->cancelled_count, 0);
}
BED_TEST(test_exec_refused_is_offered_again)

/* SPEC 4.5, 5.5: a timeout that waits to be offered again can be cancelled and
 * moved. */
static void test_exec_refused_can_be_cancelled_and_moved(struct timer_bed *b)
{
	struct tkw_timeout_id ids[3];
	uint64_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-EAGAIN);
	for (i = 0; i < 3; i++)
		ids[i] = bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_offered(3);
	assert_int_equal(tkw_timer_cancel(b->t, ids[0]), 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[1], 5 * TKW_MSEC), 0);
	bed_assert_ledger(b, 2);
	answer_with(0);
	/* The third one is left. */
	tick(b, TKW_MSEC);
	run_until_fired(b, 1);
	bed_assert_fired(b, 2);
	tick(b, 4 * TKW_MSEC);
	run_until_fired(b, 2);
	bed_assert_fired(b, 1);
	assert_true(b->fired[1].late_ns == 0);
	assert_int_equal(bed_cancelled_times(b, 0), 1);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->fired_count, 2);
	assert_int_equal(b->cancelled_count, 1);
}
BED_TEST(test_exec_refused_can_be_cancelled_and_moved)

/* SPEC 4.8: a refused timeout does not delay others that the executor takes. */
static void test_exec_refused_delays_no_other(struct timer_bed *b)
{
	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-EAGAIN);
	bed_schedule(b, 1, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_offered(1);
	bed_schedule(b, 2, TKW_MSEC);
	answer_with(0);
	tick(b, TKW_MSEC);
	await_collected(2);
	run_job(0);
	run_job(1);
	assert_int_equal(bed_fired_times(b, 1), 1);
	assert_int_equal(bed_fired_times(b, 2), 1);
	close_collector(b);
	assert_int_equal(b->fired_count, 2);
}
BED_TEST(test_exec_refused_delays_no_other)

/* SPEC 4.8: it is not offered again in the tick in which it was refused. */
static void test_exec_refused_waits_for_another_tick(struct timer_bed *b)
{
	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-EAGAIN);
	bed_schedule(b, 1, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_offered(1);
	bed_schedule(b, 2, 0);
	tick(b, 0);
	await_offered(2);
	assert_int_equal(offered(), 2);
	answer_with(0);
	tick(b, TKW_MSEC);
	await_collected(2);
	assert_int_equal(offered(), 4);
	close_collector(b);
}
BED_TEST(test_exec_refused_waits_for_another_tick)

/* SPEC 4.8, fault 39: if the executor is full, many timeouts do not ask it one
 * by one. None of them is lost. */
static void test_exec_refused_crowd_asks_a_few_times(struct timer_bed *b)
{
	enum {
		CROWD = 2000
	};
	size_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-EAGAIN);
	for (i = 0; i < CROWD; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_offered(128);
	bed_assert_ledger(b, CROWD);
	assert_int_equal(offered(), 128);
	answer_with(0);
	tick(b, TKW_MSEC);
	await_collected(CROWD);
	for (i = 0; i < CROWD; i++)
		run_job(i);
	bed_assert_ledger(b, 0);
	assert_int_equal(b->fired_count, CROWD);
	close_collector(b);
}
BED_TEST(test_exec_refused_crowd_asks_a_few_times)

/* Makes the turns that next_ns asks for, until a time. Records how many there
 * are, and the time between them. In each turn the executor refuses. */
struct turns {
	size_t count;
	int64_t apart_ns[4096];
};

/* max_tasks is the bound of a call. A turn may take several calls. */
static struct turns turns_by(struct timer_bed *b, int64_t until_ns,
			     int max_tasks)
{
	struct turns turns = { .count = 0 };
	int64_t next_ns;

	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	while (next_ns <= until_ns) {
		size_t before = offered();

		assert_true(turns.count < 4096);
		turns.apart_ns[turns.count++] = next_ns - clock_of(b);
		bed_set_clock(b, next_ns);
		do {
			assert_int_equal(
				tkw_timer_turn(b->t, max_tasks, &next_ns), 0);
		} while (next_ns == clock_of(b));
		assert_true(offered() > before);
	}
	return turns;
}

static struct turns turns_until(struct timer_bed *b, int64_t until_ns)
{
	return turns_by(b, until_ns, 0);
}

/* The delays are a tick, two ticks, four, and so on, up to a second. */
static void assert_patience_grows(const struct turns *turns, int64_t tick_ns)
{
	int64_t most_ns = TKW_SEC / tick_ns * tick_ns;
	int64_t apart_ns = tick_ns;
	size_t i;

	for (i = 0; i < turns->count; i++) {
		if (apart_ns > most_ns)
			apart_ns = most_ns;
		if (turns->apart_ns[i] != apart_ns)
			fail_msg("turn %zu comes %lld ns after the one before, "
				 "not %lld",
				 i, (long long)turns->apart_ns[i],
				 (long long)apart_ns);
		apart_ns *= 2;
	}
}

/* SPEC 4.8: an executor that is shut down is asked less and less often. The
 * timeouts are not lost. */
static void test_exec_shut_down_is_asked_ever_later(struct timer_bed *b)
{
	enum {
		MANY = 10
	};
	int64_t begin_ns;
	struct turns turns;
	uint64_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-ESHUTDOWN);
	for (i = 0; i < MANY; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	begin_ns = clock_of(b);
	turns = turns_until(b, begin_ns + 100 * TKW_SEC);
	assert_patience_grows(&turns, TKW_MSEC);
	/* The first 1023 ms take ten turns. 98 seconds are left. */
	assert_int_equal(turns.count, 10 + 98);
	assert_int_equal(offered(), MANY * (1 + turns.count));
	bed_assert_ledger(b, MANY);
	bed_assert_nothing_fired(b);
	/* When the executor takes them in the end, none is missing. */
	answer_with(0);
	tick(b, TKW_SEC);
	assert_int_equal(collected(), MANY);
	for (i = 0; i < MANY; i++)
		run_job((size_t)i);
	for (i = 0; i < MANY; i++)
		assert_int_equal(bed_fired_times(b, i), 1);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->cancelled_count, 0);
}
BED_TEST(test_exec_shut_down_is_asked_ever_later)

/* SPEC 4.8: an executor that is only full is asked in each tick. */
static void test_exec_full_is_asked_in_each_tick(struct timer_bed *b)
{
	struct turns turns;
	size_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-EAGAIN);
	bed_schedule(b, 1, TKW_MSEC);
	tick(b, TKW_MSEC);
	turns = turns_until(b, clock_of(b) + 3 * TKW_SEC);
	assert_int_equal(turns.count, 3000);
	for (i = 0; i < turns.count; i++)
		assert_true(turns.apart_ns[i] == TKW_MSEC);
	bed_assert_ledger(b, 1);
	close_collector(b);
}
BED_TEST(test_exec_full_is_asked_in_each_tick)

/* SPEC 4.8: any other answer makes the delays start from a tick again. */
static void test_exec_patience_starts_anew(struct timer_bed *b)
{
	static const int answers[] = { 0, -EAGAIN, -ENOMEM };
	struct turns turns;
	size_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	for (i = 0; i < 3; i++) {
		answer_with(-ESHUTDOWN);
		bed_schedule(b, i, TKW_MSEC);
		tick(b, TKW_MSEC);
		turns = turns_until(b, clock_of(b) + 10 * TKW_SEC);
		assert_patience_grows(&turns, TKW_MSEC);
		assert_int_equal(turns.count, 10 + 8);
		answer_with(answers[i]);
		tick(b, TKW_SEC);
	}
	/* The others are offered in the next tick. */
	answer_with(0);
	tick(b, TKW_MSEC);
	assert_int_equal(collected(), 3);
	bed_assert_ledger(b, 3);
	close_collector(b);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_exec_patience_starts_anew)

/* SPEC 4.8: timeouts that become due meanwhile do not delay those that wait. */
static void test_exec_stream_puts_off_nobody(struct timer_bed *b)
{
	int64_t begin_ns;
	size_t before;
	uint64_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	answer_with(-ESHUTDOWN);
	bed_schedule(b, 0, TKW_MSEC);
	tick(b, TKW_MSEC);
	begin_ns = clock_of(b);
	/* A new one comes each 300 ms, and is offered at once. */
	for (i = 1; i <= 100; i++) {
		(void)turns_until(b, begin_ns + (int64_t)i * 300 * TKW_MSEC);
		bed_set_clock(b, begin_ns + (int64_t)i * 300 * TKW_MSEC);
		bed_schedule(b, i, 0);
		before = offered();
		tick(b, 0);
		assert_true(offered() > before);
	}
	/* All that wait are offered once per second, and there are more and
	 * more. */
	assert_true(offered() >= 30 * 100 / 2 - 100);
	bed_assert_ledger(b, 101);
	before = offered();
	(void)turns_until(b, clock_of(b) + TKW_SEC);
	assert_true(offered() >= before + 101);
	answer_with(0);
	tick(b, TKW_SEC);
	assert_int_equal(collected(), 101);
	close_collector(b);
	assert_int_equal(b->fired_count + b->cancelled_count, 101);
}
BED_TEST(test_exec_stream_puts_off_nobody)

/* SPEC 4.8: those that did not ask wait as long as those that did, even if a
 * turn is made by many calls. */
static void test_exec_crowd_is_as_patient(struct timer_bed *b)
{
	enum {
		CROWD = 300
	};
	static const int max_tasks[] = { 0, 7 };
	struct turns turns;
	size_t i, k;

	open_collector(b, TKW_REFUSED_RETRY);
	for (i = 0; i < CROWD; i++)
		bed_schedule(b, i, TKW_MSEC);
	for (k = 0; k < 2; k++) {
		answer_with(-ESHUTDOWN);
		tick(b, TKW_SEC);
		turns = turns_by(b, clock_of(b) + 10 * TKW_SEC, max_tasks[k]);
		assert_patience_grows(&turns, TKW_MSEC);
		assert_int_equal(turns.count, 10 + 8);
		bed_assert_ledger(b, CROWD);
		answer_with(-EAGAIN);
		tick(b, TKW_SEC);
	}
	answer_with(0);
	tick(b, TKW_SEC);
	assert_int_equal(collected(), CROWD);
	close_collector(b);
}
BED_TEST(test_exec_crowd_is_as_patient)

/* SPEC 4.8, 2.3: the delay is a multiple of a tick, and at most a second. If a
 * tick is longer than that, the delay is one tick. */
static void test_exec_patience_is_a_second_at_most(struct timer_bed *b)
{
	static const int64_t ticks_ns[] = { 300 * TKW_MSEC, 700 * TKW_MSEC,
					    TKW_SEC, 7 * TKW_SEC };
	int64_t most_ns;
	struct turns turns;
	size_t i, n;

	open_collector(b, TKW_REFUSED_RETRY);
	for (i = 0; i < sizeof(ticks_ns) / sizeof(ticks_ns[0]); i++) {
		const struct tkw_timer_config cfg = {
			.exec = &collector->exec,
			.refusal = TKW_REFUSED_RETRY,
			.tick_ns = ticks_ns[i],
		};

		most_ns = i == 0 ? 900 * TKW_MSEC : ticks_ns[i];
		/* Starts at a multiple of the tick. */
		bed_set_clock(b, 2100 * TKW_SEC);
		bed_reopen(b, &cfg);
		answer_with(-ESHUTDOWN);
		bed_schedule(b, i, ticks_ns[i]);
		tick(b, ticks_ns[i]);
		turns = turns_until(b, clock_of(b) + 20 * most_ns);
		for (n = 2; n < turns.count; n++)
			assert_true(turns.apart_ns[n] == most_ns);
		assert_true(turns.apart_ns[0] == ticks_ns[i]);
		bed_assert_ledger(b, 1);
	}
	close_collector(b);
}
BED_TEST(test_exec_patience_is_a_second_at_most)

/* SPEC 4.8: many timeouts on several shards. Those that were not offered wait
 * as long as those on the other shard. */
static void *schedule_crowd(void *bed)
{
	struct timer_bed *b = bed;
	unsigned i;

	for (i = 0; i < 300; i++)
		bed_schedule(b, i, TKW_MSEC);
	return NULL;
}

static void test_exec_crowd_on_two_shards(struct timer_bed *b)
{
	static const int answers[] = { -EAGAIN, -ESHUTDOWN };
	struct turns turns;
	pthread_t thread;
	size_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	for (i = 0; i < 2; i++) {
		const struct tkw_timer_config cfg = {
			.exec = &collector->exec,
			.refusal = TKW_REFUSED_RETRY,
			.shards = 64,
		};

		bed_set_clock(b, 2000 * TKW_SEC);
		bed_reopen(b, &cfg);
		answer_with(answers[i]);
		schedule_crowd(b);
		spawn(&thread, schedule_crowd, b);
		join(thread);
		tick(b, TKW_MSEC);
		turns = turns_until(b, clock_of(b) + TKW_SEC);
		if (answers[i] == -ESHUTDOWN)
			assert_patience_grows(&turns, TKW_MSEC);
		assert_int_equal(turns.count, i == 0 ? 1000 : 9);
		bed_assert_ledger(b, 600);
	}
	close_collector(b);
}
BED_TEST(test_exec_crowd_on_two_shards)

/* --- refused: drop ------------------------------------------------------ */

/* SPEC 4.8, 5.6: they are counted, and reported once per turn. */
static void test_exec_refused_is_dropped(struct timer_bed *b)
{
	struct tkw_timeout_id ids[5];
	uint64_t i;

	open_collector(b, TKW_REFUSED_DROP);
	answer_with(-EAGAIN);
	for (i = 0; i < 5; i++)
		ids[i] = bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_log(b, 1);
	assert_int_equal(b->log_count, 1);
	assert_non_null(strstr(b->log, " 5 "));
	assert_non_null(strstr(b->log, "dropped"));
	assert_true(ledger_of(b).dropped == 5);
	bed_assert_ledger(b, 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(bed_cancelled_times(b, i), 1);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), -ENOENT);
	}
	/* Each turn reports its own drops, and nothing if there are none. */
	answer_with(0);
	bed_schedule(b, 5, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	answer_with(-ESHUTDOWN);
	bed_schedule(b, 6, TKW_MSEC);
	bed_schedule(b, 7, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_log(b, 2);
	assert_non_null(strstr(b->log, " 2 "));
	run_job(0);
	bed_assert_fired(b, 5);
	assert_true(ledger_of(b).dropped == 7);
	close_collector(b);
	assert_int_equal(b->log_count, 2);
	assert_int_equal(b->fired_count, 1);
	assert_int_equal(b->cancelled_count, 7);
}
BED_TEST(test_exec_refused_is_dropped)

/* SPEC 5.6: on-cancel runs on the worker's thread. */
static void test_exec_drop_calls_on_the_worker(struct timer_bed *b)
{
	struct who w = WHO_INIT;

	open_collector(b, TKW_REFUSED_DROP);
	answer_with(-EAGAIN);
	schedule_who(b, &w, TKW_MSEC);
	tick(b, TKW_MSEC);
	gate_pass(&w.ended);
	assert_true(pthread_equal(w.by, submitter()));
	close_collector(b);
	assert_int_equal(w.times, 1);
	assert_int_equal(w.fired.open, false);
}
BED_TEST(test_exec_drop_calls_on_the_worker)

/* --- abandoned ---------------------------------------------------------- */

/* SPEC 4.8: the job is offered again, and the executor takes it. */
static void test_exec_abandoned_is_offered_again(struct timer_bed *b)
{
	int64_t deadline_ns;
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_RETRY);
	id = bed_schedule(b, 1, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	deadline_ns = clock_of(b);
	abandon_job(0);
	assert_pending(b, id, deadline_ns);
	bed_assert_ledger(b, 1);
	tick(b, TKW_MSEC);
	await_collected(2);
	assert_pending(b, id, deadline_ns);
	bed_assert_nothing_fired(b);
	run_job(1);
	bed_assert_fired(b, 1);
	assert_true(b->fired[0].deadline_ns == deadline_ns);
	assert_true(b->fired[0].late_ns == TKW_MSEC);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->fired_count, 1);
	assert_int_equal(b->cancelled_count, 0);
}
BED_TEST(test_exec_abandoned_is_offered_again)

/* SPEC 4.8: the job is not offered again. The worker runs the task. */
static void test_exec_abandoned_runs_inline(struct timer_bed *b)
{
	struct who w = WHO_INIT;
	int64_t next_ns;

	open_collector(b, TKW_REFUSED_INLINE);
	schedule_who(b, &w, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	abandon_job(0);
	if (bed_by_hand(b)) {
		assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
		assert_true(next_ns <= clock_of(b));
		assert_int_equal(bed_turn(b, NULL), 1);
	}
	gate_pass(&w.fired);
	assert_true(pthread_equal(w.by, submitter()));
	assert_true(w.late_ns == 0);
	assert_int_equal(collector->count, 1);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(w.times, 1);
}
BED_TEST(test_exec_abandoned_runs_inline)

/* timer.h: with this policy it is offered again one tick later, whether it was
 * refused or abandoned. */
static void test_exec_abandoned_retry_waits_for_a_tick(struct timer_bed *b)
{
	int64_t next_ns;

	open_collector(b, TKW_REFUSED_RETRY);
	bed_schedule(b, 1, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	abandon_job(0);
	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	assert_true(next_ns == clock_of(b) + TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	run_job(1);
	bed_assert_fired(b, 1);
	close_collector(b);
}
BED_TEST(test_exec_abandoned_retry_waits_for_a_tick)

/* SPEC 4.8, 5.6: on-cancel runs on the thread that abandons the job. */
static void *abandon_first(void *arg)
{
	(void)arg;
	abandon_job(0);
	return NULL;
}

static void test_exec_abandoned_is_dropped(struct timer_bed *b)
{
	struct who w = WHO_INIT;
	pthread_t thread;
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_DROP);
	id = schedule_who(b, &w, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	spawn(&thread, abandon_first, NULL);
	gate_pass(&w.ended);
	join(thread);
	assert_true(pthread_equal(w.by, thread));
	assert_true(ledger_of(b).dropped == 1);
	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	/* The next turn writes the log. */
	tick(b, TKW_MSEC);
	await_log(b, 1);
	assert_non_null(strstr(b->log, " 1 "));
	close_collector(b);
	assert_int_equal(w.times, 1);
	assert_int_equal(b->log_count, 1);
}
BED_TEST(test_exec_abandoned_is_dropped)

/* SPEC 4.8: a pool that is stopped before the timer refuses all later jobs. */
static void test_exec_pool_is_stopped_first(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .refusal = TKW_REFUSED_DROP };
	struct tkw_pool *p = pool_of(2);
	uint64_t i;

	open_with(b, tkw_pool_exec(p), cfg);
	for (i = 0; i < 50; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	bed_wait_fired(b, 50);
	assert_int_equal(tkw_pool_stop(p), 0);
	for (i = 50; i < 80; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	await_log(b, 1);
	assert_non_null(strstr(b->log, " 30 "));
	assert_int_equal(b->fired_count, 50);
	assert_int_equal(b->cancelled_count, 30);
	assert_true(ledger_of(b).dropped == 30);
	bed_assert_ledger(b, 0);
	close_pool(b, p);
}
BED_TEST(test_exec_pool_is_stopped_first)

static void *stop_pool(void *pool)
{
	must(tkw_pool_stop(pool) == 0);
	return NULL;
}

/* SPEC 4.8: the pool abandons queued jobs, and lets running ones end. */
static void test_exec_pool_is_stopped_with_a_queue(struct timer_bed *b)
{
	enum {
		QUEUED = 30
	};
	const struct tkw_timer_config cfg = { .refusal = TKW_REFUSED_DROP };
	struct block block = { .gate = GATE_INIT };
	struct tkw_pool *p = pool_of(1);
	pthread_t stopper;
	uint64_t i;

	open_with(b, tkw_pool_exec(p), cfg);
	schedule_block(b, &block);
	tick(b, 0);
	gate_await(&block.gate, 1);
	for (i = 0; i < QUEUED; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	while (tkw_pool_count(p) < QUEUED)
		sched_yield();
	bed_assert_ledger(b, QUEUED);
	spawn(&stopper, stop_pool, p);
	await_cancelled(b, QUEUED);
	assert_false(block.over);
	gate_open(&block.gate);
	join(stopper);
	assert_true(block.over);
	for (i = 0; i < QUEUED; i++)
		assert_int_equal(bed_cancelled_times(b, i), 1);
	assert_int_equal(b->fired_count, 0);
	assert_true(ledger_of(b).fired == 1);
	assert_true(ledger_of(b).dropped == QUEUED);
	bed_assert_ledger(b, 0);
	close_pool(b, p);
	assert_int_equal(b->cancelled_count, QUEUED);
}
BED_TEST(test_exec_pool_is_stopped_with_a_queue)

/* --- max_pending -------------------------------------------------------- */

/* Schedules again at the limit: from a task, and from an on-cancel. */
struct refill {
	struct timer_bed *b;
	struct gate done;
	int said;
	int beyond;
};

static void refill(struct refill *r)
{
	const struct tkw_task task = bed_task(r->b, 99);

	r->said = tkw_timer_schedule(r->b->t, &task, TKW_SEC, NULL);
	r->beyond = tkw_timer_schedule(r->b->t, &task, TKW_SEC, NULL);
	gate_open(&r->done);
}

static void refill_fired(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	refill(ctx);
}

static void refill_ended(void *ctx)
{
	refill(ctx);
}

static void limit_to_two(struct timer_bed *b, const struct tkw_exec *exec,
			 int refusal)
{
	const struct tkw_timer_config cfg = { .max_pending = 2,
					      .refusal = refusal };

	open_with(b, exec, cfg);
}

/* SPEC 3.6, 4.5: the place is taken while the job is queued. It is free when
 * the task begins, whichever thread runs it. */
static void test_exec_place_is_free_when_it_runs(struct timer_bed *b)
{
	struct refill r = { .b = b, .done = GATE_INIT, .said = 1 };
	const struct tkw_task task = { .fn = refill_fired, .ctx = &r };
	struct refill s = r;
	const struct tkw_task again = { .fn = refill_fired, .ctx = &s };
	struct tkw_pool *p;

	open_collector(b, TKW_REFUSED_INLINE);
	limit_to_two(b, &collector->exec, TKW_REFUSED_INLINE);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, TKW_SEC);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	tick_collecting(b, TKW_MSEC, 1);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	run_job(0);
	assert_int_equal(r.said, 0);
	assert_int_equal(r.beyond, -EAGAIN);
	bed_assert_ledger(b, 2);
	close_collector(b);

	p = pool_of(1);
	limit_to_two(b, tkw_pool_exec(p), TKW_REFUSED_INLINE);
	bed_schedule(b, 1, TKW_SEC);
	assert_int_equal(tkw_timer_schedule(b->t, &again, TKW_MSEC, NULL), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	tick(b, TKW_MSEC);
	gate_pass(&s.done);
	assert_int_equal(s.said, 0);
	assert_int_equal(s.beyond, -EAGAIN);
	bed_assert_ledger(b, 2);
	close_pool(b, p);
}
BED_TEST(test_exec_place_is_free_when_it_runs)

/* SPEC 3.6: the place is free if the timeout was dropped, or cancelled while
 * its job was queued. */
static void test_exec_place_is_free_when_it_ends(struct timer_bed *b)
{
	struct refill r = { .b = b, .done = GATE_INIT, .said = 1 };
	const struct tkw_task task = { .fn = refill_fired,
				       .ctx = &r,
				       .on_cancel = refill_ended };
	struct tkw_timeout_id id;

	open_collector(b, TKW_REFUSED_DROP);
	limit_to_two(b, &collector->exec, TKW_REFUSED_DROP);
	answer_with(-EAGAIN);
	bed_schedule(b, 1, TKW_SEC);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	tick(b, TKW_MSEC);
	gate_pass(&r.done);
	assert_int_equal(r.said, 0);
	assert_int_equal(r.beyond, -EAGAIN);
	assert_true(ledger_of(b).dropped == 1);

	answer_with(0);
	limit_to_two(b, &collector->exec, TKW_REFUSED_DROP);
	bed_schedule(b, 2, TKW_SEC);
	id = bed_schedule(b, 3, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	bed_schedule(b, 4, TKW_SEC);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	run_job(0);
	bed_assert_ledger(b, 2);
	close_collector(b);
}
BED_TEST(test_exec_place_is_free_when_it_ends)

/* --- stop and destroy --------------------------------------------------- */

struct visited {
	struct timer_bed *b;
	size_t count;
	struct tkw_timeout_id ids[8];
};

static void visit(const struct tkw_timeout_info *info, void *ctx)
{
	struct visited *v = ctx;

	must(info->state == TKW_TIMEOUT_PENDING);
	/* The on-cancel comes after the visitor. */
	must(v->b->cancelled_count == v->count);
	must(tkw_timer_cancel(v->b->t, info->id) == -ENOENT);
	must(v->count < 8);
	v->ids[v->count++] = info->id;
}

static bool was_visited(const struct visited *v, struct tkw_timeout_id id)
{
	size_t times = 0;
	size_t i;

	for (i = 0; i < v->count; i++)
		times += v->ids[i].bits == id.bits;
	return times == 1;
}

/* SPEC 6.2, 5.6: queued, refused and not yet due timeouts. */
static void test_exec_stop_claims_what_is_queued(struct timer_bed *b)
{
	struct visited v = { .b = b };
	struct tkw_timeout_id ids[5];
	size_t i;

	open_collector(b, TKW_REFUSED_RETRY);
	for (i = 0; i < 3; i++)
		ids[i] = bed_schedule(b, i, TKW_MSEC);
	ids[3] = bed_schedule(b, 3, 2 * TKW_MSEC);
	ids[4] = bed_schedule(b, 4, TKW_SEC);
	tick_collecting(b, TKW_MSEC, 3);
	answer_with(-EAGAIN);
	tick(b, TKW_MSEC);
	await_offered(4);
	assert_int_equal(tkw_timer_stop(b->t, visit, &v), 0);
	assert_int_equal(v.count, 5);
	for (i = 0; i < 5; i++) {
		assert_true(was_visited(&v, ids[i]));
		assert_int_equal(bed_cancelled_times(b, i), 1);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), -ENOENT);
	}
	assert_true(ledger_of(b).handed_over == 5);
	bed_assert_ledger(b, 0);
	/* The executor calls these too late. */
	run_job(0);
	abandon_job(1);
	bed_assert_ledger(b, 0);
	close_collector(b);
	assert_int_equal(b->fired_count, 0);
	assert_int_equal(b->cancelled_count, 5);
}
BED_TEST(test_exec_stop_claims_what_is_queued)

static void *run_first(void *arg)
{
	(void)arg;
	run_job(0);
	return NULL;
}

struct ender {
	pthread_t thread;
	struct gate ready;
	struct tkw_timer *t;
	bool destroy;
	const struct block *block;
	pid_t tid;
	int said;
	bool over; /* had the task ended, on return? */
};

static void *end_timer(void *arg)
{
	struct ender *e = arg;

	e->tid = gettid();
	gate_open(&e->ready);
	e->said = e->destroy ? tkw_timer_destroy(e->t)
			     : tkw_timer_stop(e->t, NULL, NULL);
	e->over = e->block->over;
	return NULL;
}

/* One task runs on a thread of the executor, another is queued. Ends the timer,
 * and lets the task go on when that waits. */
static void end_while_running(struct timer_bed *b, bool destroy)
{
	struct block block = { .gate = GATE_INIT };
	struct ender e = { .ready = GATE_INIT,
			   .destroy = destroy,
			   .block = &block };
	pthread_t runner;

	open_collector(b, TKW_REFUSED_DROP);
	schedule_block(b, &block);
	bed_schedule(b, 1, 0);
	tick(b, 0);
	await_collected(2);
	e.t = b->t;
	spawn(&runner, run_first, NULL);
	gate_await(&block.gate, 1);
	spawn(&e.thread, end_timer, &e);
	gate_pass(&e.ready);
	wait_asleep(e.tid);
	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
	gate_open(&block.gate);
	join(e.thread);
	join(runner);
	assert_int_equal(e.said, 0);
	assert_true(e.over);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	if (destroy)
		b->t = NULL;
	else
		assert_true(ledger_of(b).handed_over == 1);
	run_job(1);
	assert_int_equal(bed_fired_times(b, 1), 0);
	close_collector(b);
}

/* SPEC 6.2 */
static void test_exec_stop_waits_for_running_tasks(struct timer_bed *b)
{
	end_while_running(b, false);
}
BED_TEST(test_exec_stop_waits_for_running_tasks)

/* SPEC 6.6 */
static void test_exec_destroy_waits_for_running_tasks(struct timer_bed *b)
{
	end_while_running(b, true);
}
BED_TEST(test_exec_destroy_waits_for_running_tasks)

/* SPEC 6.6: the executor calls its jobs after the timer was destroyed. */
static void test_exec_jobs_may_outlive_the_timer(struct timer_bed *b)
{
	struct tkw_timer *t;
	size_t i;

	open_collector(b, TKW_REFUSED_INLINE);
	for (i = 0; i < 6; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 6);
	t = b->t;
	b->t = NULL;
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(b->cancelled_count, 6);
	for (i = 0; i < 6; i++) {
		if (i % 2)
			abandon_job(i);
		else
			run_job(i);
	}
	assert_int_equal(b->fired_count, 0);
	assert_int_equal(b->cancelled_count, 6);
	close_collector(b);
}
BED_TEST(test_exec_jobs_may_outlive_the_timer)

/* SPEC 6.6: a pool is full of jobs of a timer that was destroyed. */
static void test_exec_pool_outlives_the_timer(struct timer_bed *b)
{
	struct tkw_pool *p = open_pool(b, 1);
	/* A task of another timer blocks the thread of the pool. */
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL,
					      .exec = tkw_pool_exec(p) };
	struct block block = { .gate = GATE_INIT };
	const struct tkw_task task = { .fn = block_fired, .ctx = &block };
	struct tkw_timer *holder = NULL;
	struct tkw_timer *other = b->t;
	size_t i;

	assert_int_equal(tkw_timer_create(&holder, &cfg), 0);
	assert_int_equal(tkw_timer_schedule(holder, &task, 0, NULL), 0);
	assert_int_equal(tkw_timer_turn(holder, 0, NULL), 0);
	gate_await(&block.gate, 1);
	for (i = 0; i < 100; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick(b, TKW_MSEC);
	while (tkw_pool_count(p) < 100)
		sched_yield();
	b->t = NULL;
	assert_int_equal(tkw_timer_destroy(other), 0);
	assert_int_equal(b->cancelled_count, 100);
	gate_open(&block.gate);
	assert_int_equal(tkw_timer_destroy(holder), 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
	assert_int_equal(b->fired_count, 0);
	assert_int_equal(b->cancelled_count, 100);
}
BED_TEST(test_exec_pool_outlives_the_timer)

/* --- fork --------------------------------------------------------------- */

/* Returns 0 in the child, which dies with its parent. The parent gets the
 * child's pid. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Waits for a child that has no reason to wait. If it is found asleep again and
 * again, it waits for a lock that no thread will drop. */
static bool ends_well(pid_t child)
{
	unsigned asleep = 0;
	char path[64];
	int status;
	pid_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
	while ((got = waitpid(child, &status, WNOHANG)) == 0) {
		asleep = proc_state(path) == 'S' ? asleep + 1 : 0;
		if (asleep == 2000)
			must(kill(child, SIGKILL) == 0);
		sched_yield();
	}
	must(got == child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* SPEC 6.7: in a child, jobs of the parent's timer do nothing, before and after
 * the timer was freed there. */
static void test_exec_jobs_in_a_child_do_nothing(struct timer_bed *b)
{
	struct tkw_timer *t;
	pid_t child;
	size_t i;

	open_collector(b, TKW_REFUSED_DROP);
	for (i = 0; i < 4; i++)
		bed_schedule(b, i, TKW_MSEC);
	tick_collecting(b, TKW_MSEC, 4);
	t = b->t;
	child = fork_child();
	if (child == 0) {
		run_job(0);
		abandon_job(1);
		must(tkw_timer_destroy(t) == 0);
		run_job(2);
		abandon_job(3);
		must(b->fired_count == 0 && b->cancelled_count == 0);
		_exit(0);
	}
	assert_true(ends_well(child));
	for (i = 0; i < 4; i++)
		run_job(i);
	assert_int_equal(b->fired_count, 4);
	close_collector(b);
}
BED_TEST(test_exec_jobs_in_a_child_do_nothing)

/* ------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_exec_refuses_bad_config),
		BED_TESTS(test_exec_is_copied),
		BED_TESTS(test_exec_each_expiry_is_submitted_once),
		BED_TESTS(test_exec_inline_fires_on_the_worker),
		BED_TESTS(test_exec_inline_turn_ends),
		BED_TESTS(test_exec_pool_fires_each_once),
		BED_TESTS(test_exec_pool_tasks_rearm),
		BED_TESTS(test_exec_blocking_tasks_delay_no_other),
		BED_TESTS(test_exec_queued_is_pending),
		BED_TESTS(test_exec_queued_can_be_cancelled),
		BED_TESTS(test_exec_queued_can_be_moved_later),
		BED_TESTS(test_exec_moved_fires_once_with_two_jobs),
		BED_TESTS(test_exec_first_of_two_jobs_decides),
		BED_TESTS(test_exec_queued_can_be_moved_earlier),
		BED_TESTS(test_exec_cancelled_memory_is_usable_at_once),
		BED_TESTS(test_exec_running_cannot_be_cancelled),
		BED_TESTS(test_exec_task_cannot_wait_for_its_timer),
		BED_TESTS(test_exec_refused_runs_inline),
		BED_TESTS(test_exec_refused_runs_inline_in_order),
		BED_TESTS(test_exec_refused_is_offered_again),
		BED_TESTS(test_exec_refused_can_be_cancelled_and_moved),
		BED_TESTS(test_exec_refused_delays_no_other),
		BED_TESTS(test_exec_refused_waits_for_another_tick),
		BED_TESTS(test_exec_refused_crowd_asks_a_few_times),
		BED_TESTS_BY_HAND(test_exec_shut_down_is_asked_ever_later),
		BED_TESTS_BY_HAND(test_exec_full_is_asked_in_each_tick),
		BED_TESTS_BY_HAND(test_exec_patience_starts_anew),
		BED_TESTS_BY_HAND(test_exec_stream_puts_off_nobody),
		BED_TESTS_BY_HAND(test_exec_crowd_is_as_patient),
		BED_TESTS_BY_HAND(test_exec_patience_is_a_second_at_most),
		BED_TESTS_BY_HAND(test_exec_crowd_on_two_shards),
		BED_TESTS(test_exec_refused_is_dropped),
		BED_TESTS(test_exec_drop_calls_on_the_worker),
		BED_TESTS(test_exec_abandoned_is_offered_again),
		BED_TESTS(test_exec_abandoned_runs_inline),
		BED_TEST_UNDER(test_exec_abandoned_retry_waits_for_a_tick,
			       manual),
		BED_TESTS(test_exec_abandoned_is_dropped),
		BED_TESTS(test_exec_pool_is_stopped_first),
		BED_TESTS(test_exec_pool_is_stopped_with_a_queue),
		BED_TESTS(test_exec_place_is_free_when_it_runs),
		BED_TESTS(test_exec_place_is_free_when_it_ends),
		BED_TESTS(test_exec_stop_claims_what_is_queued),
		BED_TESTS(test_exec_stop_waits_for_running_tasks),
		BED_TESTS(test_exec_destroy_waits_for_running_tasks),
		BED_TESTS(test_exec_jobs_may_outlive_the_timer),
		BED_TESTS(test_exec_pool_outlives_the_timer),
		BED_TESTS(test_exec_jobs_in_a_child_do_nothing),
		BED_TESTS(test_exec_task_cannot_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
