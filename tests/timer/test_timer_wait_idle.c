/* SPDX-License-Identifier: MIT */
/*
 * test_timer_wait_idle.c - tkw_timer_wait_idle(): what it waits for, what ends
 * the wait, and who may not wait. It waits in real time, whatever the timer's
 * clock is. The tests check only lower bounds of that.
 */
#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gate.h"
#include "tickwheel/exec.h"

#define HOUR_NS (3600 * TKW_SEC)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* An assert of cmocka does not work in a task, or on a thread that is not the
 * test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

static const int64_t timeouts_ns[] = { INT64_MIN, -1,           0,
				       1,         2 * TKW_MSEC, TKW_NEVER_NS };

/* --- helpers ------------------------------------------------------------ */

static void spawn(pthread_t *thread, void *(*run)(void *), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

static void join(pthread_t thread)
{
	must(pthread_join(thread, NULL) == 0);
}

/* A wait without a bound, on another thread. */
struct waiter {
	struct tkw_timer *t;
	atomic_uint *ends;  /* counts callbacks; may be NULL */
	unsigned ends_then; /* *ends when it returned */
	pthread_t thread;
	struct gate ready;
	pid_t tid;
	atomic_bool back;
	int said;
};

static void *wait_beside(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	gate_open(&w->ready);
	w->said = tkw_timer_wait_idle(w->t, TKW_NEVER_NS);
	if (w->ends)
		w->ends_then = *w->ends;
	w->back = true;
	return NULL;
}

/* Returns when the thread sleeps in the call, or has returned from it. */
static void wait_begin(struct waiter *w, struct tkw_timer *t, atomic_uint *ends)
{
	memset(w, 0, sizeof(*w));
	gate_init(&w->ready);
	w->t = t;
	w->ends = ends;
	spawn(&w->thread, wait_beside, w);
	gate_pass(&w->ready);
	while (!w->back && !bed_is_asleep(w->tid))
		sched_yield();
}

/* Checks that it returns, and that this many had ended by then. */
static void wait_end(struct waiter *w, unsigned ends)
{
	join(w->thread);
	assert_int_equal(w->said, 0);
	if (w->ends)
		assert_int_equal(w->ends_then, ends);
}

static void assert_idle(struct tkw_timer *t)
{
	size_t i;

	for (i = 0; i < COUNT_OF(timeouts_ns); i++)
		assert_int_equal(tkw_timer_wait_idle(t, timeouts_ns[i]), 0);
}

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * TKW_SEC + ts.tv_nsec;
}

/* Checks that it gives up, and not too soon. */
static void assert_busy(struct tkw_timer *t)
{
	int64_t begin_ns;
	size_t i;

	for (i = 0; i < COUNT_OF(timeouts_ns) - 1; i++) {
		begin_ns = monotonic_ns();
		assert_int_equal(tkw_timer_wait_idle(t, timeouts_ns[i]),
				 -ETIMEDOUT);
		assert_true(monotonic_ns() - begin_ns >= timeouts_ns[i]);
	}
}

/* A callback that passes a gate, and is counted when it ends. */
struct passage {
	struct gate gate;
	atomic_uint ends;
};

static void pass(struct passage *p)
{
	gate_pass(&p->gate);
	p->ends++;
}

static void passing_task(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	pass(ctx);
}

static void passing_cancel(void *ctx)
{
	pass(ctx);
}

static void passing_visit(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	pass(ctx);
}

static struct tkw_timeout_id
schedule_passage(struct tkw_timer *t, struct passage *p, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = passing_task,
				       .ctx = p,
				       .on_cancel = passing_cancel };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(t, &task, delay_ns, &id), 0);
	return id;
}

static struct tkw_pool *pool_of(int threads)
{
	const struct tkw_pool_config cfg = { .threads = threads };
	struct tkw_pool *p = NULL;

	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	return p;
}

/* Makes a timer on the system's clock. */
static struct tkw_timer *timer_of(int shards, const struct tkw_exec *exec)
{
	const struct tkw_timer_config cfg = { .shards = shards, .exec = exec };
	struct tkw_timer *t = NULL;

	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	return t;
}

/* --- nothing to wait for ------------------------------------------------ */

static void test_timer_is_idle_when_nothing_was_scheduled(struct timer_bed *b)
{
	struct tkw_timeout_id id;

	assert_idle(b->t);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_idle(b->t);
	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_idle(b->t);
	id = bed_schedule(b, 2, TKW_NEVER_NS);
	assert_busy(b->t);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_idle(b->t);
	/* A refused call leaves no trace. */
	assert_int_equal(tkw_timer_schedule(b->t, NULL, 0, NULL), -EINVAL);
	assert_idle(b->t);
}
BED_TEST(test_timer_is_idle_when_nothing_was_scheduled)

/* --- what it waits for -------------------------------------------------- */

static void test_timer_wait_idle_waits_for_the_last_task(struct timer_bed *b)
{
	struct passage p = { .gate = GATE_INIT };
	struct waiter w[3];
	size_t i;

	gate_open(&p.gate);
	for (i = 0; i < 100; i++)
		schedule_passage(b->t, &p, (int64_t)i * TKW_MSEC);
	for (i = 0; i < COUNT_OF(w); i++)
		wait_begin(&w[i], b->t, &p.ends);
	bed_pass(b, 98 * TKW_MSEC);
	for (i = 0; i < COUNT_OF(w); i++)
		assert_false(w[i].back);
	assert_busy(b->t);
	bed_pass(b, 2 * TKW_MSEC);
	for (i = 0; i < COUNT_OF(w); i++)
		wait_end(&w[i], 100);
	assert_idle(b->t);
}
BED_TEST(test_timer_wait_idle_waits_for_the_last_task)

/* A running timeout is not pending any more. */
static void test_timer_wait_idle_waits_for_a_running_task(struct timer_bed *b)
{
	struct passage p = { .gate = GATE_INIT };
	struct waiter w;

	schedule_passage(b->t, &p, 0);
	gate_await(&p.gate, 1);
	assert_true(tkw_timer_count(b->t) == 0);
	assert_busy(b->t);
	wait_begin(&w, b->t, &p.ends);
	assert_false(w.back);
	gate_open(&p.gate);
	wait_end(&w, 1);
	assert_idle(b->t);
}
BED_TEST(test_timer_wait_idle_waits_for_a_running_task)

struct canceller {
	struct tkw_timer *t;
	struct tkw_timeout_id id;
	pthread_t thread;
	int said;
};

static void *cancel_beside(void *arg)
{
	struct canceller *c = arg;

	c->said = tkw_timer_cancel(c->t, c->id);
	return NULL;
}

static void test_timer_wait_idle_waits_for_an_on_cancel(struct timer_bed *b)
{
	struct passage p = { .gate = GATE_INIT };
	struct canceller c = { .t = b->t };
	struct waiter w;

	c.id = schedule_passage(b->t, &p, HOUR_NS);
	wait_begin(&w, b->t, &p.ends);
	spawn(&c.thread, cancel_beside, &c);
	gate_await(&p.gate, 1);
	assert_true(tkw_timer_count(b->t) == 0);
	assert_busy(b->t);
	assert_false(w.back);
	gate_open(&p.gate);
	wait_end(&w, 1);
	join(c.thread);
	assert_int_equal(c.said, 0);
}
BED_TEST(test_timer_wait_idle_waits_for_an_on_cancel)

/* SPEC 5.2: a cancel of the last one, alone or in a batch, ends the wait. */
static void test_timer_wait_idle_ends_with_a_cancel(struct timer_bed *b)
{
	struct tkw_timeout_id ids[10];
	struct waiter w;
	size_t i;

	for (i = 0; i < 10; i++)
		ids[i] = bed_schedule(b, i, i % 2 ? HOUR_NS : TKW_NEVER_NS);
	wait_begin(&w, b->t, NULL);
	for (i = 0; i < 9; i++)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	assert_false(w.back);
	assert_busy(b->t);
	assert_int_equal(tkw_timer_cancel(b->t, ids[9]), 0);
	wait_end(&w, 0);
	for (i = 0; i < 10; i++)
		ids[i] = bed_schedule(b, i, i % 2 ? HOUR_NS : TKW_NEVER_NS);
	wait_begin(&w, b->t, NULL);
	assert_false(w.back);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 10, NULL), 10);
	wait_end(&w, 0);
	bed_schedule(b, 1, HOUR_NS);
	wait_begin(&w, b->t, NULL);
	assert_false(w.back);
	assert_int_equal(
		tkw_timer_cancel_wait(b->t, bed_schedule(b, 2, HOUR_NS)), 0);
	assert_false(w.back);
	bed_pass(b, 2 * HOUR_NS);
	wait_end(&w, 0);
}
BED_TEST(test_timer_wait_idle_ends_with_a_cancel)

/* Each task of a chain schedules the next one. */
struct chain {
	atomic_uint begins;
	atomic_uint ends;
	unsigned links;
};

static void next_link(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task task = { .fn = next_link, .ctx = ctx };
	struct chain *c = ctx;

	if (++c->begins < c->links)
		must(tkw_timer_schedule(firing->timer, &task, 0, NULL) == 0);
	c->ends++;
}

static void run_chain(struct tkw_timer *t, unsigned links)
{
	struct chain c = { .links = links };
	const struct tkw_task task = { .fn = next_link, .ctx = &c };

	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	assert_int_equal(tkw_timer_wait_idle(t, TKW_NEVER_NS), 0);
	assert_int_equal(c.ends, links);
	assert_true(tkw_timer_count(t) == 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* The timer is never idle between two of them, nor between two shards. */
static void test_timer_wait_idle_waits_for_what_tasks_schedule(void **state)
{
	struct tkw_pool *p = pool_of(4);

	(void)state;
	run_chain(timer_of(1, NULL), 200);
	run_chain(timer_of(8, NULL), 200);
	run_chain(timer_of(8, tkw_pool_exec(p)), 200);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

enum {
	SHARDS = 8
};

struct scheduler {
	struct tkw_timer *t;
	struct passage *p;
	struct tkw_timeout_id id;
	pthread_t thread;
};

static void *schedule_beside(void *arg)
{
	struct scheduler *s = arg;

	s->id = schedule_passage(s->t, s->p, TKW_NEVER_NS);
	return NULL;
}

/* It waits for all shards, whichever ends last. */
static void test_timer_wait_idle_waits_for_all_shards(void **state)
{
	struct passage p = { .gate = GATE_INIT };
	struct tkw_timer *t = timer_of(SHARDS, NULL);
	struct scheduler s[SHARDS];
	struct waiter w;
	size_t first;
	size_t i;

	(void)state;
	gate_open(&p.gate);
	for (first = 0; first < SHARDS; first++) {
		p.ends = 0;
		for (i = 0; i < SHARDS; i++) {
			s[i] = (struct scheduler){ .t = t, .p = &p };
			spawn(&s[i].thread, schedule_beside, &s[i]);
			join(s[i].thread);
		}
		wait_begin(&w, t, &p.ends);
		for (i = 0; i < SHARDS; i++) {
			assert_false(w.back);
			assert_int_equal(tkw_timer_wait_idle(t, 0), -ETIMEDOUT);
			assert_int_equal(
				tkw_timer_cancel(t, s[(first + i) % SHARDS].id),
				0);
		}
		wait_end(&w, SHARDS);
	}
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* --- executors ---------------------------------------------------------- */

/* SPEC 4.8: a timeout in the executor's queue is pending, and one that the
 * executor runs is running. */
static void test_timer_wait_idle_waits_for_an_executor(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_of(1);
	const struct tkw_timer_config cfg = { .exec = tkw_pool_exec(pool) };
	struct passage p = { .gate = GATE_INIT };
	struct waiter w;
	size_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < 10; i++)
		schedule_passage(b->t, &p, 0);
	gate_await(&p.gate, 1);
	while (tkw_pool_count(pool) < 9)
		sched_yield();
	assert_busy(b->t);
	wait_begin(&w, b->t, &p.ends);
	assert_false(w.back);
	gate_open(&p.gate);
	wait_end(&w, 10);
	bed_reopen(b, NULL);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_timer_wait_idle_waits_for_an_executor)

/* An executor that keeps one job. */
struct keeper {
	struct gate kept;
	struct tkw_job job;
};

static int keep(const struct tkw_job *job, void *ctx)
{
	struct keeper *k = ctx;

	k->job = *job;
	gate_open(&k->kept);
	return 0;
}

/* A cancelled timeout has ended, although the executor still has its job. */
static void test_timer_is_idle_while_a_stale_job_is_queued(struct timer_bed *b)
{
	struct keeper k = { .kept = GATE_INIT };
	const struct tkw_exec exec = { .submit = keep, .ctx = &k };
	const struct tkw_timer_config cfg = { .exec = &exec };
	struct tkw_timeout_id id;
	struct waiter w;

	bed_reopen(b, &cfg);
	id = bed_schedule(b, 1, 0);
	gate_pass(&k.kept);
	assert_busy(b->t);
	wait_begin(&w, b->t, NULL);
	assert_false(w.back);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	wait_end(&w, 0);
	assert_idle(b->t);
	k.job.run(&k.job);
	assert_idle(b->t);
	bed_assert_nothing_fired(b);
	bed_reopen(b, NULL);
}
BED_TEST(test_timer_is_idle_while_a_stale_job_is_queued)

static int refuse(const struct tkw_job *job, void *ctx)
{
	(void)job;
	(void)ctx;
	return -EAGAIN;
}

/* SPEC 4.8: a dropped timeout has ended when its on-cancel has. */
static void test_timer_wait_idle_ends_with_a_drop(struct timer_bed *b)
{
	const struct tkw_exec exec = { .submit = refuse };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .refusal = TKW_REFUSED_DROP };
	struct passage p = { .gate = GATE_INIT };
	struct waiter w;

	bed_reopen(b, &cfg);
	schedule_passage(b->t, &p, 0);
	wait_begin(&w, b->t, &p.ends);
	gate_await(&p.gate, 1);
	assert_busy(b->t);
	assert_false(w.back);
	gate_open(&p.gate);
	wait_end(&w, 1);
	bed_reopen(b, NULL);
}
BED_TEST(test_timer_wait_idle_ends_with_a_drop)

/* --- stop --------------------------------------------------------------- */

struct stopper {
	struct tkw_timer *t;
	struct passage *p;
	pthread_t thread;
	int said;
};

static void *stop_beside(void *arg)
{
	struct stopper *s = arg;

	s->said = tkw_timer_stop(s->t, s->p ? passing_visit : NULL, s->p);
	return NULL;
}

/* SPEC 6.2 */
static void test_timer_wait_idle_ends_with_a_stop(struct timer_bed *b)
{
	struct waiter w[3];
	size_t i;

	for (i = 0; i < 10; i++)
		bed_schedule(b, i, i % 2 ? HOUR_NS : TKW_NEVER_NS);
	for (i = 0; i < COUNT_OF(w); i++)
		wait_begin(&w[i], b->t, NULL);
	for (i = 0; i < COUNT_OF(w); i++)
		assert_false(w[i].back);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	for (i = 0; i < COUNT_OF(w); i++)
		wait_end(&w[i], 0);
	assert_int_equal(b->cancelled_count, 10);
	assert_idle(b->t);
}
BED_TEST(test_timer_wait_idle_ends_with_a_stop)

/* SPEC 6.2: while a task still runs, and while timeouts are handed over. */
static void test_timer_wait_idle_of_one_being_stopped(struct timer_bed *b)
{
	struct passage running = { .gate = GATE_INIT };
	struct passage handed = { .gate = GATE_INIT };
	struct stopper s = { .t = b->t, .p = &handed };
	struct waiter w;

	schedule_passage(b->t, &running, 0);
	gate_await(&running.gate, 1);
	bed_schedule(b, 1, HOUR_NS);
	wait_begin(&w, b->t, &running.ends);
	spawn(&s.thread, stop_beside, &s);
	while (!tkw_timer_is_stopped(b->t))
		sched_yield();
	gate_open(&running.gate);
	gate_await(&handed.gate, 1);
	gate_open(&handed.gate);
	wait_end(&w, 1);
	join(s.thread);
	assert_int_equal(s.said, 0);
	assert_int_equal(handed.ends, 1);
	assert_idle(b->t);
}
BED_TEST(test_timer_wait_idle_of_one_being_stopped)

/* --- who may not wait --------------------------------------------------- */

struct inside {
	struct timer_bed *b;
	struct gate done;
	int said[2];
};

static void wait_inside(struct inside *in)
{
	in->said[0] = tkw_timer_wait_idle(in->b->t, 0);
	in->said[1] = tkw_timer_wait_idle(in->b->t, TKW_NEVER_NS);
	gate_open(&in->done);
}

static void task_waits(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	wait_inside(ctx);
}

static void on_cancel_waits(void *ctx)
{
	wait_inside(ctx);
}

static void visit_waits(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	wait_inside(ctx);
}

static struct inside inside_of(struct timer_bed *b)
{
	return (struct inside){ .b = b, .done = GATE_INIT, .said = { 1, 1 } };
}

static void assert_refused_inside(struct inside *in)
{
	gate_pass(&in->done);
	assert_int_equal(in->said[0], -EDEADLK);
	assert_int_equal(in->said[1], -EDEADLK);
}

static struct tkw_timeout_id schedule_inside(struct inside *in,
					     int64_t delay_ns)
{
	const struct tkw_task task = { .fn = task_waits,
				       .ctx = in,
				       .on_cancel = on_cancel_waits };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(in->b->t, &task, delay_ns, &id), 0);
	return id;
}

/* It would wait for itself, so it is refused (as SPEC 6.1 says of stop). */
static void test_timer_task_cannot_wait_for_idle(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_of(1);
	const struct tkw_timer_config cfg = { .exec = tkw_pool_exec(pool) };
	struct inside in = inside_of(b);

	schedule_inside(&in, 0);
	assert_refused_inside(&in);
	/* On a thread of an executor, too. */
	bed_reopen(b, &cfg);
	in = inside_of(b);
	schedule_inside(&in, 0);
	assert_refused_inside(&in);
	bed_reopen(b, NULL);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_timer_task_cannot_wait_for_idle)

static void test_timer_on_cancel_cannot_wait_for_idle(struct timer_bed *b)
{
	struct inside in = inside_of(b);

	assert_int_equal(tkw_timer_cancel(b->t, schedule_inside(&in, HOUR_NS)),
			 0);
	assert_refused_inside(&in);
	/* After it has returned, the same thread may wait. */
	assert_idle(b->t);
}
BED_TEST(test_timer_on_cancel_cannot_wait_for_idle)

static void test_timer_visitor_cannot_wait_for_idle(struct timer_bed *b)
{
	struct inside visitor = inside_of(b);
	struct inside on_cancel = inside_of(b);

	schedule_inside(&on_cancel, HOUR_NS);
	assert_int_equal(tkw_timer_stop(b->t, visit_waits, &visitor), 0);
	assert_refused_inside(&visitor);
	assert_refused_inside(&on_cancel);
	assert_idle(b->t);
}
BED_TEST(test_timer_visitor_cannot_wait_for_idle)

/* This holds for its own timer. A task may wait for another timer. */
static void test_timer_task_may_wait_for_another_timer(struct timer_bed *b)
{
	struct tkw_timer *other = timer_of(1, NULL);
	struct inside in = inside_of(b);
	const struct tkw_task task = { .fn = task_waits, .ctx = &in };

	bed_schedule(b, 1, 0);
	assert_int_equal(tkw_timer_schedule(other, &task, 0, NULL), 0);
	gate_pass(&in.done);
	/* The first call did not wait. */
	assert_true(in.said[0] == 0 || in.said[0] == -ETIMEDOUT);
	assert_int_equal(in.said[1], 0);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_destroy(other), 0);
}
BED_TEST(test_timer_task_may_wait_for_another_timer)

/* No thread would make the timeouts fire. */
static void test_timer_wait_idle_wants_a_thread(struct timer_bed *b)
{
	struct tkw_timeout_id id;
	size_t i;

	for (i = 0; i < COUNT_OF(timeouts_ns); i++) {
		assert_int_equal(tkw_timer_wait_idle(NULL, timeouts_ns[i]),
				 -EINVAL);
		assert_int_equal(tkw_timer_wait_idle(b->t, timeouts_ns[i]),
				 -EINVAL);
		id = bed_schedule(b, i, HOUR_NS);
		assert_int_equal(tkw_timer_wait_idle(b->t, timeouts_ns[i]),
				 -EINVAL);
		assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	}
}
BED_TEST(test_timer_wait_idle_wants_a_thread)

/* SPEC 6.7: whether something is pending or not. */
static void test_timer_wait_idle_in_a_child_is_refused(struct timer_bed *b)
{
	int status = -1;
	pid_t pid;
	size_t i;
	size_t n;

	for (n = 0; n < 2; n++) {
		pid = fork();
		assert_true(pid >= 0);
		for (i = 0; pid == 0 && i < COUNT_OF(timeouts_ns); i++) {
			if (tkw_timer_wait_idle(b->t, timeouts_ns[i]) != -EPERM)
				_exit(1);
		}
		if (pid == 0)
			_exit(0);
		while (waitpid(pid, &status, 0) < 0)
			assert_int_equal(errno, EINTR);
		assert_int_equal(status, 0);
		bed_schedule(b, n, HOUR_NS);
	}
}
BED_TEST(test_timer_wait_idle_in_a_child_is_refused)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST_UNDER(test_timer_is_idle_when_nothing_was_scheduled,
			       thread),
		BED_TEST_UNDER(test_timer_wait_idle_waits_for_the_last_task,
			       thread),
		BED_TEST_UNDER(test_timer_wait_idle_waits_for_a_running_task,
			       thread),
		BED_TEST_UNDER(test_timer_wait_idle_waits_for_an_on_cancel,
			       thread),
		BED_TEST_UNDER(test_timer_wait_idle_ends_with_a_cancel, thread),
		cmocka_unit_test(
			test_timer_wait_idle_waits_for_what_tasks_schedule),
		cmocka_unit_test(test_timer_wait_idle_waits_for_all_shards),
		BED_TEST_UNDER(test_timer_wait_idle_waits_for_an_executor,
			       thread),
		BED_TEST_UNDER(test_timer_is_idle_while_a_stale_job_is_queued,
			       thread),
		BED_TEST_UNDER(test_timer_wait_idle_ends_with_a_drop, thread),
		BED_TEST_UNDER(test_timer_wait_idle_ends_with_a_stop, thread),
		BED_TEST_UNDER(test_timer_wait_idle_of_one_being_stopped,
			       thread),
		BED_TEST_UNDER(test_timer_task_cannot_wait_for_idle, thread),
		BED_TEST_UNDER(test_timer_on_cancel_cannot_wait_for_idle,
			       thread),
		BED_TEST_UNDER(test_timer_visitor_cannot_wait_for_idle, thread),
		BED_TEST_UNDER(test_timer_task_may_wait_for_another_timer,
			       thread),
		BED_TESTS_BY_HAND(test_timer_wait_idle_wants_a_thread),
		BED_TEST_UNDER(test_timer_wait_idle_in_a_child_is_refused,
			       thread),
	};

	return cmocka_run_group_tests_name("timer_wait_idle", tests, NULL,
					   NULL);
}
