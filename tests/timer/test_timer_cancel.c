/* SPDX-License-Identifier: MIT */
/*
 * test_timer_cancel.c - SPEC 5 without 5.5 and 5.8: one decision between fire
 * and cancel, waiting for a running task, on-cancel callbacks, and memory.
 */
#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_NS (3600 * TKW_SEC)

/* --- helpers ------------------------------------------------------------ */

static void sem_take(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void must_not_run(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
	abort();
}

static void do_nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/*
 * Lets time pass. If the worker sleeps for a timeout that is now overdue, this
 * wakes it at once.
 */
static void stall(struct timer_bed *b, int64_t ns)
{
	const struct tkw_task task = { .fn = do_nothing };

	bed_set_clock(b, tkw_timer_now_ns(b->t) + ns);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, NULL), 0);
	bed_pass(b, 0);
}

/* A callback waits here until the test lets it go on. */
struct gate {
	sem_t entered;
	sem_t open;
	atomic_int over;
};

static void gate_init(struct gate *g)
{
	sem_init(&g->entered, 0, 0);
	sem_init(&g->open, 0, 0);
	atomic_init(&g->over, 0);
}

static void gate_fini(struct gate *g)
{
	sem_destroy(&g->entered);
	sem_destroy(&g->open);
}

static void gated_cancel(void *ctx)
{
	struct gate *g = ctx;

	sem_post(&g->entered);
	sem_take(&g->open);
	atomic_store(&g->over, 1);
}

static void gated_task(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	gated_cancel(ctx);
}

/* Schedules a task that is due and waits at a gate. */
static struct tkw_timeout_id schedule_gated(struct timer_bed *b, struct gate *g)
{
	const struct tkw_task task = { .fn = gated_task, .ctx = g };
	struct tkw_timeout_id id = { 0 };

	gate_init(g);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	return id;
}

/* A turn on another thread. A timer with its own worker needs none. */
struct runner {
	struct timer_bed *b;
	pthread_t thread;
};

static void *turn_once(void *arg)
{
	struct runner *r = arg;

	bed_turn(r->b, NULL);
	return NULL;
}

static void run_begin(struct runner *r, struct timer_bed *b)
{
	*r = (struct runner){ .b = b };
	if (bed_by_hand(b))
		assert_int_equal(pthread_create(&r->thread, NULL, turn_once, r),
				 0);
}

static void run_end(struct runner *r)
{
	if (bed_by_hand(r->b))
		pthread_join(r->thread, NULL);
}

/*
 * Opens a gate when a call that should wait for it sleeps. If the call returns
 * without waiting, the gate is still shut, and over is 0.
 */
struct opener {
	struct gate *g;
	sem_t go;
	pid_t tid;
	atomic_int returned;
	pthread_t thread;
};

static void *open_when_asleep(void *arg)
{
	struct opener *o = arg;

	sem_take(&o->go);
	while (!atomic_load(&o->returned) && !bed_is_asleep(o->tid))
		sched_yield();
	sem_post(&o->g->open);
	return NULL;
}

static void opener_start(struct opener *o, struct gate *g)
{
	o->g = g;
	sem_init(&o->go, 0, 0);
	atomic_init(&o->returned, 0);
	assert_int_equal(pthread_create(&o->thread, NULL, open_when_asleep, o),
			 0);
}

static void opener_end(struct opener *o)
{
	atomic_store(&o->returned, 1);
	pthread_join(o->thread, NULL);
	sem_destroy(&o->go);
}

/* Calls cancel_wait() for what is at the gate. Sets *over if that had passed
 * the gate on return. */
static int wait_for_gate(struct tkw_timer *t, struct tkw_timeout_id id,
			 struct opener *o, int *over)
{
	int ret;

	o->tid = gettid();
	sem_post(&o->go);
	ret = tkw_timer_cancel_wait(t, id);
	*over = atomic_load(&o->g->over);
	return ret;
}

/* --- 5.1, 5.2: one decision --------------------------------------------- */

/* SPEC 5.2, 5.6, fault 22 */
static void test_timer_cancel_ends_it_once(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);
	const struct tkw_timeout_id never = bed_schedule(b, 2, INT64_MAX);
	const struct tkw_timeout_id far = bed_schedule(b, 3, HOUR_NS);

	bed_schedule(b, 4, TKW_MSEC);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, never), 0);
	assert_int_equal(tkw_timer_cancel(b->t, far), 0);
	bed_pass(b, 2 * HOUR_NS);
	bed_assert_fired(b, 4);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, never), -ENOENT);
	assert_int_equal(b->cancelled_count, 3);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_cancel_ends_it_once)

/* SPEC 5.2, 5.3: a timeout that has fired has ended. */
static void test_timer_cancel_after_it_fired(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);

	bed_pass(b, TKW_SEC);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, id), -ENOENT);
	assert_int_equal(bed_cancelled_times(b, 1), 0);
	assert_int_equal(tkw_timer_cancel(NULL, id), -EINVAL);
	assert_int_equal(tkw_timer_cancel_wait(NULL, id), -EINVAL);
	assert_int_equal(tkw_timer_cancel(b->t, BED_NO_ID), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, BED_NO_ID), -ENOENT);
}
BED_TEST(test_timer_cancel_after_it_fired)

/* SPEC 5.2: cancelled by another thread while its task runs. */
static void test_timer_cancel_while_it_runs_is_busy(struct timer_bed *b)
{
	struct runner r;
	struct gate g;
	const struct tkw_timeout_id id = schedule_gated(b, &g);
	uint64_t pending;
	int ret[2];

	run_begin(&r, b);
	sem_take(&g.entered);
	ret[0] = tkw_timer_cancel(b->t, id);
	ret[1] = tkw_timer_cancel(b->t, id);
	pending = tkw_timer_count(b->t);
	sem_post(&g.open);
	run_end(&r);
	assert_int_equal(ret[0], -EBUSY);
	assert_int_equal(ret[1], -EBUSY);
	assert_int_equal(pending, 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(g.over, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	gate_fini(&g);
}
BED_TEST(test_timer_cancel_while_it_runs_is_busy)

enum {
	RIVALS = 4,
	ROUNDS = 500
};

struct rivalry {
	struct timer_bed *b;
	pthread_barrier_t barrier;
	struct tkw_timeout_id ids[ROUNDS];
	atomic_int won[ROUNDS];
	atomic_int odd; /* impossible results */
};

static void *cancel_each(void *arg)
{
	struct rivalry *v = arg;
	size_t i;
	int ret;

	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&v->barrier);
		ret = tkw_timer_cancel(v->b->t, v->ids[i]);
		if (ret == 0)
			atomic_fetch_add(&v->won[i], 1);
		else if (ret != -ENOENT)
			atomic_fetch_add(&v->odd, 1);
	}
	return NULL;
}

/* SPEC 5.1, 5.2, 5.6, fault 22 */
static void test_timer_of_many_cancels_one_wins(struct timer_bed *b)
{
	static struct rivalry v;
	pthread_t threads[RIVALS];
	size_t i;

	memset(&v, 0, sizeof(v));
	v.b = b;
	pthread_barrier_init(&v.barrier, NULL, RIVALS);
	for (i = 0; i < ROUNDS; i++)
		v.ids[i] = bed_schedule(b, i, HOUR_NS);
	for (i = 0; i < RIVALS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, cancel_each, &v), 0);
	for (i = 0; i < RIVALS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&v.barrier);
	assert_int_equal(v.odd, 0);
	assert_int_equal(b->cancelled_count, ROUNDS);
	for (i = 0; i < ROUNDS; i++) {
		assert_int_equal(v.won[i], 1);
		assert_int_equal(bed_cancelled_times(b, i), 1);
	}
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_of_many_cancels_one_wins)

/* The memory belongs to the caller, and is freed as soon as that is legal. */
struct lot {
	atomic_int ran;
	atomic_int ended;
};

static void lot_runs(const struct tkw_firing *firing, void *ctx)
{
	struct lot *l = ctx;

	(void)firing;
	atomic_fetch_add(&l->ran, 1);
	sched_yield();
	atomic_fetch_add(&l->ran, 1);
}

static void lot_ends(void *ctx)
{
	struct lot *l = ctx;

	atomic_fetch_add(&l->ended, 1);
}

struct turner {
	struct timer_bed *b;
	atomic_bool over;
	pthread_t thread;
};

static void *turn_on(void *arg)
{
	struct turner *u = arg;

	while (!atomic_load(&u->over)) {
		if (bed_turn(u->b, NULL) <= 0)
			sched_yield();
	}
	return NULL;
}

/* Either it never runs, or it has ended. */
static void race_once(struct timer_bed *b, int round)
{
	struct lot *l = calloc(1, sizeof(*l));
	const struct tkw_task task = { .fn = lot_runs,
				       .ctx = l,
				       .on_cancel = lot_ends };
	struct tkw_timeout_id id;
	int ret;
	int i;

	assert_non_null(l);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	for (i = 0; i < round % 8; i++)
		sched_yield();
	ret = round % 2 ? tkw_timer_cancel(b->t, id) : -EBUSY;
	if (ret == -EBUSY)
		ret = tkw_timer_cancel_wait(b->t, id);
	assert_true(ret == 0 || ret == 1 || ret == -ENOENT);
	assert_int_equal(l->ran, ret == 0 ? 0 : 2);
	assert_int_equal(l->ended, ret == 0);
	free(l);
}

/* SPEC 5.1, 5.3, fault 23 */
static void test_timer_either_fires_or_is_cancelled(struct timer_bed *b)
{
	struct turner u = { .b = b };
	int i;

	if (bed_by_hand(b))
		assert_int_equal(pthread_create(&u.thread, NULL, turn_on, &u),
				 0);
	for (i = 0; i < 3000; i++)
		race_once(b, i);
	atomic_store(&u.over, true);
	if (bed_by_hand(b))
		pthread_join(u.thread, NULL);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_either_fires_or_is_cancelled)

/* --- 5.3: cancel_wait --------------------------------------------------- */

/* SPEC 5.3 */
static void test_timer_cancel_wait_cancels_what_is_pending(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);

	assert_int_equal(tkw_timer_cancel_wait(b->t, id), 0);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_timer_cancel_wait(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
}
BED_TEST(test_timer_cancel_wait_cancels_what_is_pending)

static int wait_for_running(struct timer_bed *b)
{
	struct runner r;
	struct opener o;
	struct gate g;
	const struct tkw_timeout_id id = schedule_gated(b, &g);
	int over;
	int ret;

	run_begin(&r, b);
	opener_start(&o, &g);
	sem_take(&g.entered);
	ret = wait_for_gate(b->t, id, &o, &over);
	opener_end(&o);
	run_end(&r);
	bed_pass(b, TKW_MSEC);
	gate_fini(&g);
	assert_int_equal(over, 1);
	return ret;
}

/* SPEC 5.3, fault 10 */
static void test_timer_cancel_wait_waits_for_the_task(struct timer_bed *b)
{
	int ret;

	/* The thread may sleep elsewhere, for example in a sanitizer. Then the
	 * task may end before the call has looked. */
	do {
		ret = wait_for_running(b);
	} while (ret == -ENOENT);
	assert_int_equal(ret, 1);
}
BED_TEST(test_timer_cancel_wait_waits_for_the_task)

/* SPEC 5.3: it waits for this task, not for the next one of the same turn. */
static void test_timer_cancel_wait_does_not_wait_for_peers(struct timer_bed *b)
{
	struct runner r;
	struct opener o;
	struct gate first;
	struct gate second;
	const struct tkw_timeout_id id = schedule_gated(b, &first);
	int too_long;
	int over;
	int ret;

	schedule_gated(b, &second);
	run_begin(&r, b);
	opener_start(&o, &first);
	sem_take(&first.entered);
	ret = wait_for_gate(b->t, id, &o, &over);
	/* Now the second task is at its gate, or will be. */
	too_long = atomic_load(&second.over);
	sem_post(&second.open);
	opener_end(&o);
	run_end(&r);
	bed_pass(b, TKW_MSEC);
	assert_true(ret == 1 || ret == -ENOENT);
	assert_int_equal(over, 1);
	assert_int_equal(too_long, 0);
	assert_int_equal(second.over, 1);
	gate_fini(&first);
	gate_fini(&second);
}
BED_TEST(test_timer_cancel_wait_does_not_wait_for_peers)

enum {
	WAITERS = 4
};

struct waiter {
	struct timer_bed *b;
	struct gate *g;
	struct tkw_timeout_id id;
	pid_t tid;
	sem_t here;
	int ret;
	int over;
	pthread_t thread;
};

static void *wait_with_others(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	sem_post(&w->here);
	w->ret = tkw_timer_cancel_wait(w->b->t, w->id);
	w->over = atomic_load(&w->g->over);
	return NULL;
}

/* SPEC 5.3 */
static void test_timer_many_wait_for_one_task(struct timer_bed *b)
{
	struct waiter waiters[WAITERS];
	struct runner r;
	struct gate g;
	const struct tkw_timeout_id id = schedule_gated(b, &g);
	size_t i;

	run_begin(&r, b);
	sem_take(&g.entered);
	for (i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){ .b = b, .g = &g, .id = id };
		sem_init(&waiters[i].here, 0, 0);
		assert_int_equal(pthread_create(&waiters[i].thread, NULL,
						wait_with_others, &waiters[i]),
				 0);
		sem_take(&waiters[i].here);
		while (!bed_is_asleep(waiters[i].tid))
			sched_yield();
	}
	sem_post(&g.open);
	for (i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		sem_destroy(&waiters[i].here);
		assert_true(waiters[i].ret == 1 || waiters[i].ret == -ENOENT);
		assert_int_equal(waiters[i].over, 1);
	}
	run_end(&r);
	bed_assert_ledger(b, 0);
	gate_fini(&g);
}
BED_TEST(test_timer_many_wait_for_one_task)

struct canceller {
	struct timer_bed *b;
	struct tkw_timeout_id id;
	int ret;
	pthread_t thread;
};

static void *cancel_beside(void *arg)
{
	struct canceller *c = arg;

	c->ret = tkw_timer_cancel(c->b->t, c->id);
	return NULL;
}

/* Cancels, on another thread, a timeout whose on-cancel waits at a gate. */
static void cancel_gated(struct canceller *c, struct timer_bed *b,
			 struct gate *g)
{
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = g,
				       .on_cancel = gated_cancel };

	gate_init(g);
	c->b = b;
	assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, &c->id), 0);
	assert_int_equal(pthread_create(&c->thread, NULL, cancel_beside, c), 0);
	sem_take(&g->entered);
}

/* SPEC 5.3: after -ENOENT ctx may be freed, too. */
static void test_timer_cancel_wait_waits_for_on_cancel(struct timer_bed *b)
{
	struct canceller c;
	struct opener o;
	struct gate g;
	int again;
	int over;
	int ret;

	cancel_gated(&c, b, &g);
	again = tkw_timer_cancel(b->t, c.id);
	opener_start(&o, &g);
	ret = wait_for_gate(b->t, c.id, &o, &over);
	opener_end(&o);
	pthread_join(c.thread, NULL);
	assert_int_equal(again, -ENOENT);
	assert_int_equal(over, 1);
	assert_int_equal(ret, -ENOENT);
	assert_int_equal(c.ret, 0);
	assert_int_equal(tkw_timer_cancel_wait(b->t, c.id), -ENOENT);
	bed_assert_ledger(b, 0);
	gate_fini(&g);
}
BED_TEST(test_timer_cancel_wait_waits_for_on_cancel)

struct selfish {
	struct timer_bed *b;
	struct tkw_timeout_id
		own; /* of the task, for the on-cancel of another */
	struct tkw_timeout_id ended;
	struct tkw_timeout_id pending;
	struct tkw_timeout_id nested;
	int wait_own;
	int wait_ended;
	int wait_pending;
	int cancel_own;
	int cancel_nested;
	int wait_from_nested;
	int wait_own_after;
};

static void wait_from_nested(void *ctx)
{
	struct selfish *s = ctx;

	s->wait_from_nested = tkw_timer_cancel_wait(s->b->t, s->own);
}

static void wait_for_itself(const struct tkw_firing *firing, void *ctx)
{
	struct selfish *s = ctx;

	s->own = firing->id;
	s->wait_own = tkw_timer_cancel_wait(firing->timer, firing->id);
	s->cancel_own = tkw_timer_cancel(firing->timer, firing->id);
	s->wait_ended = tkw_timer_cancel_wait(firing->timer, s->ended);
	s->wait_pending = tkw_timer_cancel_wait(firing->timer, s->pending);
	s->cancel_nested = tkw_timer_cancel(firing->timer, s->nested);
	s->wait_own_after = tkw_timer_cancel_wait(firing->timer, firing->id);
}

/* SPEC 5.3, fault 10: the call is refused, and does not deadlock. */
static void test_timer_task_cannot_wait_for_itself(struct timer_bed *b)
{
	struct selfish s = { .b = b };
	const struct tkw_task task = { .fn = wait_for_itself, .ctx = &s };
	const struct tkw_task nested = { .fn = must_not_run,
					 .ctx = &s,
					 .on_cancel = wait_from_nested };

	s.ended = bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_timer_cancel(b->t, s.ended), 0);
	s.pending = bed_schedule(b, 2, HOUR_NS);
	assert_int_equal(tkw_timer_schedule(b->t, &nested, HOUR_NS, &s.nested),
			 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_pass(b, TKW_SEC);
	assert_int_equal(s.wait_own, -EDEADLK);
	assert_int_equal(s.cancel_own, -EBUSY);
	assert_int_equal(s.wait_ended, -ENOENT);
	assert_int_equal(s.wait_pending, 0);
	assert_int_equal(s.cancel_nested, 0);
	assert_int_equal(s.wait_from_nested, -EDEADLK);
	assert_int_equal(s.wait_own_after, -EDEADLK);
	assert_int_equal(bed_cancelled_times(b, 2), 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_task_cannot_wait_for_itself)

struct waits {
	struct timer_bed *b;
	sem_t done;
	struct tkw_timeout_id own;
	struct tkw_timeout_id running;
	struct tkw_timeout_id pending;
	int wait_own;
	int wait_running;
	int wait_pending;
};

static void wait_in_on_cancel(void *ctx)
{
	struct waits *s = ctx;

	s->wait_own = tkw_timer_cancel_wait(s->b->t, s->own);
	s->wait_running = tkw_timer_cancel_wait(s->b->t, s->running);
	s->wait_pending = tkw_timer_cancel_wait(s->b->t, s->pending);
}

/* SPEC 5.3, 5.6: the rules for a task also hold for an on-cancel callback. */
static void test_timer_on_cancel_cannot_wait(struct timer_bed *b)
{
	struct waits s = { .b = b };
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = &s,
				       .on_cancel = wait_in_on_cancel };
	struct runner r;
	struct opener o;
	struct gate g;
	int cancel;
	int over;
	int ret;

	s.running = schedule_gated(b, &g);
	s.pending = bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, &s.own), 0);
	run_begin(&r, b);
	opener_start(&o, &g);
	sem_take(&g.entered);
	cancel = tkw_timer_cancel(b->t, s.own);
	/* After it has returned, the same thread may wait. */
	ret = wait_for_gate(b->t, s.running, &o, &over);
	opener_end(&o);
	run_end(&r);
	assert_int_equal(cancel, 0);
	assert_int_equal(s.wait_own, -EDEADLK);
	assert_int_equal(s.wait_running, -EDEADLK);
	assert_int_equal(s.wait_pending, 0);
	assert_true(ret == 1 || ret == -ENOENT);
	assert_int_equal(over, 1);
	bed_pass(b, TKW_MSEC);
	gate_fini(&g);
}
BED_TEST(test_timer_on_cancel_cannot_wait)

static void wait_for_on_cancel(const struct tkw_firing *firing, void *ctx)
{
	struct waits *s = ctx;

	s->wait_running = tkw_timer_cancel_wait(firing->timer, s->running);
	sem_post(&s->done);
}

/* SPEC 5.3: there is something to wait for, but a task must not wait. */
static void test_timer_task_cannot_wait_for_an_on_cancel(struct timer_bed *b)
{
	struct waits s = { .b = b };
	const struct tkw_task task = { .fn = wait_for_on_cancel, .ctx = &s };
	struct canceller c;
	struct runner r;
	struct gate g;

	sem_init(&s.done, 0, 0);
	cancel_gated(&c, b, &g);
	s.running = c.id;
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	run_begin(&r, b);
	sem_take(&s.done);
	sem_post(&g.open);
	run_end(&r);
	pthread_join(c.thread, NULL);
	assert_int_equal(s.wait_running, -EDEADLK);
	assert_int_equal(c.ret, 0);
	bed_pass(b, TKW_MSEC);
	sem_destroy(&s.done);
	gate_fini(&g);
}
BED_TEST(test_timer_task_cannot_wait_for_an_on_cancel)

struct across {
	struct tkw_timer *other;
	struct tkw_timeout_id id;
	struct opener o;
	sem_t done;
	int ret;
	int over;
};

static void wait_across(const struct tkw_firing *firing, void *ctx)
{
	struct across *a = ctx;

	(void)firing;
	a->ret = wait_for_gate(a->other, a->id, &a->o, &a->over);
	sem_post(&a->done);
}

/* SPEC 5.3: a task may wait for a task of another timer. */
static void test_timer_task_may_wait_for_another_timer(struct timer_bed *b)
{
	struct across a = { .other = b->t };
	const struct tkw_task task = { .fn = wait_across, .ctx = &a };
	struct tkw_timer *second;
	struct runner r;
	struct gate g;

	a.id = schedule_gated(b, &g);
	sem_init(&a.done, 0, 0);
	run_begin(&r, b);
	opener_start(&a.o, &g);
	sem_take(&g.entered);
	assert_int_equal(tkw_timer_create(&second, NULL), 0);
	assert_int_equal(tkw_timer_schedule(second, &task, 0, NULL), 0);
	sem_take(&a.done);
	opener_end(&a.o);
	run_end(&r);
	assert_int_equal(tkw_timer_destroy(second), 0);
	assert_true(a.ret == 1 || a.ret == -ENOENT);
	assert_int_equal(a.over, 1);
	bed_pass(b, TKW_MSEC);
	sem_destroy(&a.done);
	gate_fini(&g);
}
BED_TEST(test_timer_task_may_wait_for_another_timer)

/* --- 5.4: memory -------------------------------------------------------- */

struct memory {
	atomic_size_t held;
	atomic_size_t peak;
};

static void *count_alloc(size_t bytes, size_t align, void *ctx)
{
	struct memory *m = ctx;
	size_t held;
	void *mem;

	if (align < sizeof(void *))
		align = sizeof(void *);
	if (posix_memalign(&mem, align, bytes) != 0)
		return NULL;
	held = atomic_fetch_add(&m->held, bytes) + bytes;
	if (held > atomic_load(&m->peak))
		atomic_store(&m->peak, held);
	return mem;
}

static void count_free(void *mem, size_t bytes, void *ctx)
{
	struct memory *m = ctx;

	atomic_fetch_sub(&m->held, bytes);
	free(mem);
}

static void reopen_counted(struct timer_bed *b, struct memory *m)
{
	const struct tkw_timer_hooks hooks = { .alloc = count_alloc,
					       .free = count_free,
					       .ctx = m };
	const struct tkw_timer_config cfg = { .hooks = &hooks };

	atomic_init(&m->held, 0);
	atomic_init(&m->peak, 0);
	bed_reopen(b, &cfg);
}

enum {
	MILLION = 1000000,
	MOST = 1000
};

/* This is slow, and has nothing that the thread sanitizer could find. */
#ifdef __SANITIZE_THREAD__
enum {
	PAIRS = MILLION / 10
};
#else
enum {
	PAIRS = MILLION
};
#endif

/* How many bytes the pairs may add. In the narrow build generations are short,
 * so numbers run out, and their directory grows. */
#ifdef TKW__GENERATION_BITS
enum {
	GROWTH = 4 * PAIRS
};
#else
enum {
	GROWTH = 0
};
#endif

/* Pairs of schedule and cancel, with this many pending at a time. */
static void expect_flat(struct timer_bed *b, size_t outstanding)
{
	const struct tkw_task task = { .fn = must_not_run };
	struct tkw_timeout_id ids[MOST];
	struct memory m;
	size_t before;
	size_t i;

	reopen_counted(b, &m);
	for (i = 0; i < outstanding; i++)
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, HOUR_NS, &ids[i]), 0);
	before = m.peak;
	for (i = 0; i < PAIRS; i++) {
		struct tkw_timeout_id *id = &ids[i * 7 % outstanding];

		assert_int_equal(tkw_timer_cancel(b->t, *id), 0);
		assert_int_equal(tkw_timer_schedule(b->t, &task,
						    HOUR_NS + (int64_t)i, id),
				 0);
	}
	assert_true(m.peak - before <= GROWTH);
	bed_assert_ledger(b, outstanding);
	bed_reopen(b, NULL);
	assert_int_equal(m.held, 0);
}

/* SPEC 5.4 */
static void test_timer_cancelled_ones_hold_no_memory(struct timer_bed *b)
{
	expect_flat(b, 1);
	expect_flat(b, MOST);
}
BED_TEST(test_timer_cancelled_ones_hold_no_memory)

static void assert_all_stale(struct timer_bed *b,
			     const struct tkw_timeout_id *ids)
{
	struct tkw_timeout_info info;
	size_t i;

	for (i = 0; i < MILLION; i++)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), -ENOENT);
	for (i = 0; i < MILLION; i += 101) {
		assert_int_equal(tkw_timer_get(b->t, ids[i], &info), -ENOENT);
		assert_int_equal(tkw_timer_reschedule_at(b->t, ids[i], 0),
				 -ENOENT);
		assert_int_equal(tkw_timer_cancel_wait(b->t, ids[i]), -ENOENT);
	}
}

static void schedule_million(struct timer_bed *b, const struct tkw_task *task,
			     struct tkw_timeout_id *ids)
{
	size_t i;

	for (i = 0; i < MILLION; i++)
		assert_int_equal(tkw_timer_schedule(b->t, task,
						    TKW_SEC + (int64_t)i * 5000,
						    &ids[i]),
				 0);
}

/* SPEC 5.4, 3.5, fault 36 */
static void test_timer_gives_blocks_back_when_cancelled(struct timer_bed *b)
{
	const struct tkw_task task = { .fn = must_not_run };
	struct tkw_timeout_id *ids = malloc(MILLION * sizeof(*ids));
	struct memory m;
	uint64_t i;

	assert_non_null(ids);
	reopen_counted(b, &m);
	schedule_million(b, &task, ids);
	bed_assert_ledger(b, MILLION);
	for (i = 0; i < MILLION; i++)
		assert_int_equal(
			tkw_timer_cancel(b->t, ids[i * 7919 % MILLION]), 0);
	assert_true(m.held < m.peak / 8);
	bed_assert_ledger(b, 0);
	assert_all_stale(b, ids);
	/* They do not change the timeouts that use their places now. */
	for (i = 0; i < MOST; i++)
		assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, NULL),
				 0);
	assert_all_stale(b, ids);
	bed_assert_ledger(b, MOST);
	free(ids);
	bed_reopen(b, NULL);
	assert_int_equal(m.held, 0);
}
BED_TEST(test_timer_gives_blocks_back_when_cancelled)

static void count_run(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	++*(uint64_t *)ctx;
}

/* SPEC 5.4 */
static void test_timer_gives_blocks_back_when_fired(struct timer_bed *b)
{
	struct tkw_timeout_id *ids = malloc(MILLION * sizeof(*ids));
	uint64_t ran = 0;
	const struct tkw_task task = { .fn = count_run, .ctx = &ran };
	struct memory m;

	assert_non_null(ids);
	reopen_counted(b, &m);
	schedule_million(b, &task, ids);
	stall(b, HOUR_NS);
	assert_int_equal(ran, MILLION);
	assert_true(m.held < m.peak / 8);
	assert_all_stale(b, ids);
	bed_assert_ledger(b, 0);
	free(ids);
	bed_reopen(b, NULL);
}
BED_TEST(test_timer_gives_blocks_back_when_fired)

/* --- 5.6: on-cancel ----------------------------------------------------- */

struct callback {
	struct timer_bed *b;
	struct tkw_timeout_id own;
	struct tkw_timeout_id peer;
	pthread_t thread;
	int times;
	int results[8];
	uint64_t pending;
	const char *broken;
};

static void call_all(void *ctx)
{
	struct callback *c = ctx;
	struct tkw_timer *t = c->b->t;
	struct tkw_task task = bed_task(c->b, 7);
	struct tkw_timeout_info info;
	struct tkw_ledger ledger;
	char text[64];

	c->times++;
	c->thread = pthread_self();
	c->results[0] = tkw_timer_cancel(t, c->own);
	c->results[1] = tkw_timer_get(t, c->own, &info);
	c->results[2] = tkw_timer_reschedule(t, c->own, TKW_SEC);
	c->results[3] = tkw_timer_schedule(t, &task, TKW_MSEC, NULL);
	c->results[4] = tkw_timer_reschedule(t, c->peer, 2 * TKW_MSEC);
	c->results[5] = tkw_timer_get_ledger(t, &ledger);
	c->results[6] = tkw_timer_print_timeout(t, c->peer, text, sizeof(text));
	c->results[7] = tkw_timer_start(t);
	c->pending = tkw_timer_count(t);
	c->broken = tkw_timer_check(t);
}

/* SPEC 5.6: it is called inside the cancel, on the same thread, and with no
 * lock held. */
static void test_timer_on_cancel_may_make_any_call(struct timer_bed *b)
{
	struct callback c = { .b = b };
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = &c,
				       .on_cancel = call_all };

	assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, &c.own), 0);
	c.peer = bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_timer_cancel(b->t, c.own), 0);
	assert_int_equal(c.times, 1);
	assert_true(pthread_equal(c.thread, pthread_self()));
	assert_int_equal(c.results[0], -ENOENT);
	assert_int_equal(c.results[1], -ENOENT);
	assert_int_equal(c.results[2], -ENOENT);
	assert_int_equal(c.results[3], 0);
	assert_int_equal(c.results[4], 0);
	assert_int_equal(c.results[5], 0);
	assert_true(c.results[6] > 0);
	assert_int_equal(c.results[7], 0);
	assert_int_equal(c.pending, 2);
	assert_null(c.broken);
	bed_pass(b, TKW_SEC);
	bed_assert_fired(b, 7, 1);
	bed_assert_ledger(b, 0);
	assert_int_equal(c.times, 1);
}
BED_TEST(test_timer_on_cancel_may_make_any_call)

static void free_arg(void *ctx)
{
	free(ctx);
}

/* SPEC 5.6: on-cancel may free ctx, and may be NULL. */
static void test_timer_on_cancel_may_free_arg(struct timer_bed *b)
{
	struct tkw_task task = { .fn = must_not_run, .on_cancel = free_arg };
	struct tkw_timeout_id ids[100];
	size_t i;

	for (i = 0; i < 100; i++) {
		task.ctx = malloc(16);
		assert_non_null(task.ctx);
		task.on_cancel = free_arg;
		if (i % 10 == 9) {
			free_arg(task.ctx);
			task.on_cancel = NULL;
		}
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, HOUR_NS, &ids[i]), 0);
	}
	for (i = 0; i < 100; i += 2)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	for (i = 1; i < 50; i += 2)
		assert_int_equal(tkw_timer_cancel_wait(b->t, ids[i]), 0);
	bed_assert_ledger(b, 25); /* these are freed with the timer */
}
BED_TEST(test_timer_on_cancel_may_free_arg)

struct nest {
	struct timer_bed *b;
	struct tkw_timeout_id ids[50];
	size_t depth;
};

static void cancel_next(void *ctx)
{
	struct nest *n = ctx;

	if (++n->depth < 50)
		assert_int_equal(tkw_timer_cancel(n->b->t, n->ids[n->depth]),
				 0);
}

/* SPEC 5.6 */
static void test_timer_on_cancel_may_cancel(struct timer_bed *b)
{
	struct nest n = { .b = b };
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = &n,
				       .on_cancel = cancel_next };
	size_t i;

	for (i = 0; i < 50; i++)
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, HOUR_NS, &n.ids[i]), 0);
	assert_int_equal(tkw_timer_cancel(b->t, n.ids[0]), 0);
	assert_int_equal(n.depth, 50);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_on_cancel_may_cancel)

/* SPEC 5.6: it is not called for a timeout that has run. */
static void test_timer_on_cancel_is_for_the_cancelled(struct timer_bed *b)
{
	struct tkw_timeout_id ids[20];
	uint64_t i;

	for (i = 0; i < 20; i++)
		ids[i] = bed_schedule(b, i, (int64_t)i * TKW_MSEC);
	bed_pass(b, 10 * TKW_MSEC + 1000);
	for (i = 0; i < 20; i++)
		tkw_timer_cancel(b->t, ids[i]);
	for (i = 0; i < 20; i++) {
		assert_int_equal(
			bed_fired_times(b, i) + bed_cancelled_times(b, i), 1);
		assert_int_equal(bed_fired_times(b, i), i <= 9);
	}
}
BED_TEST(test_timer_on_cancel_is_for_the_cancelled)

/* --- 5.7: pending ------------------------------------------------------- */

/* SPEC 5.7 */
static void test_timer_pending_goes_down_once_each(struct timer_bed *b)
{
	struct tkw_timeout_id ids[10];
	uint64_t i;

	assert_int_equal(tkw_timer_count(b->t), 0);
	for (i = 0; i < 10; i++) {
		ids[i] = bed_schedule(b, i, (int64_t)(i + 1) * TKW_SEC);
		assert_int_equal(tkw_timer_count(b->t), i + 1);
	}
	assert_int_equal(tkw_timer_cancel(b->t, ids[9]), 0);
	assert_int_equal(tkw_timer_count(b->t), 9);
	assert_int_equal(tkw_timer_cancel(b->t, ids[9]), -ENOENT);
	assert_int_equal(tkw_timer_count(b->t), 9);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[8], HOUR_NS), 0);
	assert_int_equal(tkw_timer_count(b->t), 9);
	for (i = 1; i <= 8; i++) {
		stall(b, TKW_SEC + TKW_MSEC);
		assert_int_equal(tkw_timer_count(b->t), 9 - i);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i - 1]), -ENOENT);
		assert_int_equal(tkw_timer_count(b->t), 9 - i);
	}
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(tkw_timer_cancel(b->t, ids[8]), -ENOENT);
	assert_int_equal(tkw_timer_count(b->t), 0);
}
BED_TEST(test_timer_pending_goes_down_once_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_cancel_ends_it_once),
		BED_TESTS(test_timer_cancel_after_it_fired),
		BED_TESTS(test_timer_cancel_while_it_runs_is_busy),
		BED_TESTS(test_timer_of_many_cancels_one_wins),
		BED_TESTS(test_timer_either_fires_or_is_cancelled),
		BED_TESTS(test_timer_cancel_wait_cancels_what_is_pending),
		BED_TESTS(test_timer_cancel_wait_waits_for_the_task),
		BED_TESTS(test_timer_cancel_wait_does_not_wait_for_peers),
		BED_TESTS(test_timer_many_wait_for_one_task),
		BED_TESTS(test_timer_cancel_wait_waits_for_on_cancel),
		BED_TESTS(test_timer_task_cannot_wait_for_itself),
		BED_TESTS(test_timer_on_cancel_cannot_wait),
		BED_TESTS(test_timer_task_cannot_wait_for_an_on_cancel),
		BED_TESTS(test_timer_task_may_wait_for_another_timer),
		BED_TESTS(test_timer_cancelled_ones_hold_no_memory),
		BED_TEST_UNDER(test_timer_gives_blocks_back_when_cancelled,
			       manual),
		BED_TEST_UNDER(test_timer_gives_blocks_back_when_fired, thread),
		BED_TESTS(test_timer_on_cancel_may_make_any_call),
		BED_TESTS(test_timer_on_cancel_may_free_arg),
		BED_TESTS(test_timer_on_cancel_may_cancel),
		BED_TESTS(test_timer_on_cancel_is_for_the_cancelled),
		BED_TESTS(test_timer_pending_goes_down_once_each),
	};

	return cmocka_run_group_tests_name("timer_cancel", tests, NULL, NULL);
}
