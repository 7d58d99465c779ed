/* SPDX-License-Identifier: MIT */
/*
 * test_timer_stop.c - SPEC 6 without 6.7: what stop and destroy wait for, what
 * they hand over, and who may call them.
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

static void pass_gate(struct gate *g)
{
	sem_post(&g->entered);
	sem_take(&g->open);
	atomic_store(&g->over, 1);
}

static void gated_task(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	pass_gate(ctx);
}

static void gated_visit(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	pass_gate(ctx);
}

static void gated_cancel(void *ctx)
{
	pass_gate(ctx);
}

/* A task that is due and stays at a gate. */
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
 * Opens a gate when the timer is stopped, and a call that should wait for the
 * gate sleeps. If the call returns without waiting, the gate is still shut, and
 * over is 0.
 */
struct opener {
	struct gate *g;
	struct tkw_timer *t;
	sem_t go;
	pid_t tid;
	atomic_int returned;
	pthread_t thread;
};

static void *open_when_asleep(void *arg)
{
	struct opener *o = arg;

	sem_take(&o->go);
	while (!atomic_load(&o->returned) &&
	       !(tkw_timer_is_stopped(o->t) && bed_is_asleep(o->tid)))
		sched_yield();
	sem_post(&o->g->open);
	return NULL;
}

static void opener_start(struct opener *o, struct tkw_timer *t, struct gate *g)
{
	o->g = g;
	o->t = t;
	sem_init(&o->go, 0, 0);
	atomic_init(&o->returned, 0);
	assert_int_equal(pthread_create(&o->thread, NULL, open_when_asleep, o),
			 0);
}

/* Called before the call that waits, on the same thread. */
static void opener_go(struct opener *o)
{
	o->tid = gettid();
	sem_post(&o->go);
}

static void opener_end(struct opener *o)
{
	atomic_store(&o->returned, 1);
	pthread_join(o->thread, NULL);
	sem_destroy(&o->go);
}

/* A stop on another thread. */
struct stopper {
	struct tkw_timer *t;
	tkw_visit_fn *visit;
	void *ctx;
	int ret;
	pthread_t thread;
};

static void *stop_beside(void *arg)
{
	struct stopper *s = arg;

	s->ret = tkw_timer_stop(s->t, s->visit, s->ctx);
	return NULL;
}

static void stopper_start(struct stopper *s, struct tkw_timer *t,
			  tkw_visit_fn *visit, void *ctx)
{
	*s = (struct stopper){ .t = t, .visit = visit, .ctx = ctx, .ret = -1 };
	assert_int_equal(pthread_create(&s->thread, NULL, stop_beside, s), 0);
}

static void stopper_end(struct stopper *s)
{
	pthread_join(s->thread, NULL);
}

/* What a visitor has seen. */
enum {
	MAX_SEEN = 64
};

struct seen {
	struct timer_bed *b;
	size_t count;
	struct tkw_timeout_info info[MAX_SEEN];
	size_t cancelled_before[MAX_SEEN]; /* on-cancels before the visit */
	int stopped[MAX_SEEN];
};

static void note_visit(const struct tkw_timeout_info *info, void *ctx)
{
	struct seen *s = ctx;

	if (s->count < MAX_SEEN) {
		s->info[s->count] = *info;
		s->cancelled_before[s->count] = s->b->cancelled_count;
		s->stopped[s->count] = tkw_timer_is_stopped(s->b->t);
	}
	s->count++;
}

static struct tkw_ledger ledger_of(struct timer_bed *b)
{
	struct tkw_ledger l;

	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	return l;
}

/* --- 6.1: from inside --------------------------------------------------- */

struct inside {
	struct timer_bed *b;
	int stop;
	int destroy;
	int stopped;
	int schedule;
	size_t visited;
};

static void count_visit(const struct tkw_timeout_info *info, void *ctx)
{
	struct inside *i = ctx;

	(void)info;
	i->visited++;
}

static void end_from_inside(struct inside *i)
{
	const struct tkw_task task = bed_task(i->b, 7);

	i->stop = tkw_timer_stop(i->b->t, count_visit, i);
	i->destroy = tkw_timer_destroy(i->b->t);
	i->stopped = tkw_timer_is_stopped(i->b->t);
	i->schedule = tkw_timer_schedule(i->b->t, &task, 5 * TKW_MSEC, NULL);
}

static void task_ends_timer(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	end_from_inside(ctx);
}

static void on_cancel_ends_timer(void *ctx)
{
	end_from_inside(ctx);
}

/* SPEC 6.1, 6.6, fault 9 */
static void test_timer_task_cannot_stop_its_timer(struct timer_bed *b)
{
	struct inside i = { .b = b };
	const struct tkw_task task = { .fn = task_ends_timer, .ctx = &i };

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, 2 * TKW_MSEC);
	bed_schedule(b, 2, 9 * TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(i.stop, -EDEADLK);
	assert_int_equal(i.destroy, -EDEADLK);
	assert_int_equal(i.stopped, 0);
	assert_int_equal(i.schedule, 0);
	assert_int_equal(i.visited, 0);
	bed_assert_fired(b, 1);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_ledger(b, 0);
	assert_int_equal(bed_fired_times(b, 2), 1);
	assert_int_equal(bed_fired_times(b, 7), 1);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
}
BED_TEST(test_timer_task_cannot_stop_its_timer)

/* SPEC 6.1, 6.6 */
static void test_timer_on_cancel_cannot_stop_its_timer(struct timer_bed *b)
{
	struct inside i = { .b = b };
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = &i,
				       .on_cancel = on_cancel_ends_timer };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, &id), 0);
	bed_schedule(b, 1, 2 * TKW_MSEC);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(i.stop, -EDEADLK);
	assert_int_equal(i.destroy, -EDEADLK);
	assert_int_equal(i.stopped, 0);
	assert_int_equal(i.schedule, 0);
	assert_int_equal(i.visited, 0);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_fired(b, 1, 7);
	/* After it has returned, the same thread may stop it. */
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
}
BED_TEST(test_timer_on_cancel_cannot_stop_its_timer)

static void visit_ends_timer(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	end_from_inside(ctx);
}

/* SPEC 6.1, 6.6: a visitor, and an on-cancel after it, cannot stop it
 * either. */
static void test_timer_visitor_cannot_stop_its_timer(struct timer_bed *b)
{
	struct inside visitor = { .b = b };
	struct inside on_cancel = { .b = b };
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = &on_cancel,
				       .on_cancel = on_cancel_ends_timer };

	assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, NULL), 0);
	assert_int_equal(tkw_timer_stop(b->t, visit_ends_timer, &visitor), 0);
	assert_int_equal(visitor.stop, -EDEADLK);
	assert_int_equal(visitor.destroy, -EDEADLK);
	assert_int_equal(visitor.stopped, 1);
	assert_int_equal(visitor.schedule, -ESHUTDOWN);
	assert_int_equal(on_cancel.stop, -EDEADLK);
	assert_int_equal(on_cancel.destroy, -EDEADLK);
	assert_int_equal(on_cancel.schedule, -ESHUTDOWN);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 1);
}
BED_TEST(test_timer_visitor_cannot_stop_its_timer)

static void stop_other(const struct tkw_firing *firing, void *ctx)
{
	struct inside *i = ctx;

	(void)firing;
	i->stop = tkw_timer_stop(i->b->t, count_visit, i);
}

/* SPEC 6.1: this holds for its own timer. A task may stop another timer. */
static void test_timer_task_may_stop_another_timer(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_MANUAL };
	struct inside i = { .b = b };
	const struct tkw_task task = { .fn = stop_other, .ctx = &i };
	struct tkw_timer *other;

	bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_timer_create(&other, &cfg), 0);
	assert_int_equal(tkw_timer_schedule(other, &task, 0, NULL), 0);
	assert_int_equal(tkw_timer_turn(other, 0, NULL), 1);
	assert_int_equal(i.stop, 0);
	assert_int_equal(i.visited, 1);
	assert_int_equal(tkw_timer_is_stopped(other), 0);
	assert_int_equal(tkw_timer_destroy(other), 0);
}
BED_TEST(test_timer_task_may_stop_another_timer)

/* --- 6.2: what is handed over ------------------------------------------- */

/* SPEC 6.2, 5.6: stop hands over id, deadline and task, and then calls
 * on-cancel. */
static void test_timer_stop_hands_over(struct timer_bed *b)
{
	struct seen s = { .b = b };
	struct tkw_task tasks[5];
	struct tkw_timeout_id ids[5];
	size_t i;
	size_t k;

	for (i = 0; i < 5; i++) {
		tasks[i] = bed_task(b, i);
		assert_int_equal(tkw_timer_schedule_at(b->t, &tasks[i],
						       BED_START_NS + HOUR_NS +
							       (int64_t)i * 777,
						       &ids[i]),
				 0);
	}
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 0);
	assert_int_equal(s.count, 5);
	assert_int_equal(b->cancelled_count, 5);
	for (k = 0; k < 5; k++) {
		i = (size_t)b->cancelled[k]; /* the order does not matter */
		assert_true(s.info[k].id.bits == ids[i].bits);
		assert_int_equal(s.info[k].state, TKW_TIMEOUT_PENDING);
		assert_true(s.info[k].deadline_ns ==
			    BED_START_NS + HOUR_NS + (int64_t)i * 777);
		assert_true(s.info[k].left_ns == HOUR_NS + (int64_t)i * 777);
		assert_true(s.info[k].task.fn == tasks[i].fn);
		assert_ptr_equal(s.info[k].task.ctx, tasks[i].ctx);
		assert_true(s.info[k].task.on_cancel == tasks[i].on_cancel);
		assert_int_equal(s.cancelled_before[k], k);
		assert_int_equal(bed_cancelled_times(b, i), 1);
	}
	assert_true(ledger_of(b).handed_over == 5);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_stop_hands_over)

/* SPEC 6.2: timeouts that never fire, are due or are overdue are handed over,
 * too. */
static void test_timer_stop_hands_over_all_there_is(struct timer_bed *b)
{
	struct seen s = { .b = b };
	const struct tkw_task past = bed_task(b, 4);

	bed_pass(b, TKW_SEC);
	bed_schedule(b, 1, INT64_MAX);
	bed_schedule(b, 2, TKW_MSEC);
	bed_schedule(b, 3, 0);
	assert_int_equal(tkw_timer_schedule_at(b->t, &past, 0, NULL), 0);
	bed_set_clock(b, BED_START_NS + 3 * TKW_SEC);
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 0);
	bed_assert_nothing_fired(b);
	assert_int_equal(s.count, 4);
	assert_int_equal(b->cancelled_count, 4);
	assert_true(ledger_of(b).handed_over == 4);
}
BED_TEST(test_timer_stop_hands_over_all_there_is)

static void *schedule_some(void *arg)
{
	struct timer_bed *b = arg;
	uint64_t i;

	for (i = 0; i < 50; i++)
		bed_schedule(b, i, HOUR_NS);
	return NULL;
}

/* SPEC 6.2, 5.7: from all shards. */
static void test_timer_stop_needs_no_visitor(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	pthread_t threads[4];
	size_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, schedule_some, b), 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(b->cancelled_count, 200);
	for (i = 0; i < 50; i++)
		assert_int_equal(bed_cancelled_times(b, i), 4);
	assert_true(ledger_of(b).handed_over == 200);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_stop_needs_no_visitor)

/* SPEC 2.5, 6.2, fault 28: all have ended, and new ones are refused. */
static void test_timer_after_stop_all_have_ended(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);
	const struct tkw_task task = bed_task(b, 2);
	struct tkw_timeout_info info;
	struct tkw_timeout_id none = { 77 };
	int ret;

	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_start(b->t), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &none), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, &none),
			 -ESHUTDOWN);
	assert_true(none.bits == 77);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_get(b->t, id, &info), -ENOENT);
	ret = tkw_timer_reschedule(b->t, id, 0);
	assert_true(ret == -ENOENT || ret == -ESHUTDOWN);
	if (bed_by_hand(b))
		assert_int_equal(bed_turn(b, NULL), -ESHUTDOWN);
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(bed_cancelled_times(b, 2), 0);
	assert_true(ledger_of(b).accepted == 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_after_stop_all_have_ended)

struct workers {
	atomic_int created;
	atomic_int joined;
};

static int create_counted(void *(*run)(void *arg), void *arg, void **handle,
			  void *ctx)
{
	struct workers *w = ctx;
	pthread_t *thread = malloc(sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	if (pthread_create(thread, NULL, run, arg) != 0) {
		free(thread);
		return -EAGAIN;
	}
	atomic_fetch_add(&w->created, 1);
	*handle = thread;
	return 0;
}

static void join_counted(void *handle, void *ctx)
{
	struct workers *w = ctx;

	pthread_join(*(pthread_t *)handle, NULL);
	atomic_fetch_add(&w->joined, 1);
	free(handle);
}

struct visit {
	sem_t done;
	pid_t tid;
};

static void note_thread(const struct tkw_firing *firing, void *ctx)
{
	struct visit *v = ctx;

	(void)firing;
	v->tid = gettid();
	sem_post(&v->done);
}

/* The worker of a timer on the system's clock sleeps for an hour, or for
 * ever. */
static void stop_asleep(struct tkw_timer *t, bool for_an_hour)
{
	const struct tkw_task far = { .fn = must_not_run };
	struct visit v;
	const struct tkw_task task = { .fn = note_thread, .ctx = &v };

	sem_init(&v.done, 0, 0);
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	sem_take(&v.done);
	sem_destroy(&v.done);
	if (for_an_hour)
		assert_int_equal(tkw_timer_schedule(t, &far, HOUR_NS, NULL), 0);
	while (!bed_is_asleep(v.tid))
		sched_yield();
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
}

/* SPEC 6.2: when stop returns, the worker has been joined, once. */
static void test_timer_stop_wakes_and_joins_the_worker(void **state)
{
	struct workers w = { .created = 0 };
	const struct tkw_timer_hooks hooks = { .thread_create = create_counted,
					       .thread_join = join_counted,
					       .ctx = &w };
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct tkw_timer *t;
	int i;

	(void)state;
	for (i = 1; i <= 20; i++) {
		assert_int_equal(tkw_timer_create(&t, &cfg), 0);
		stop_asleep(t, i % 2);
		assert_int_equal(w.created, i);
		assert_int_equal(w.joined, i);
		assert_int_equal(tkw_timer_stop(t, NULL, NULL), 1);
		assert_int_equal(tkw_timer_destroy(t), 0);
		assert_int_equal(w.joined, i);
	}
}

/* SPEC 6.2: stop directly after the start, wherever the worker is. */
static void test_timer_stop_right_after_start(void **state)
{
	const struct tkw_task task = { .fn = must_not_run };
	struct tkw_timer *t;
	int i;

	(void)state;
	for (i = 0; i < 300; i++) {
		assert_int_equal(tkw_timer_create(&t, NULL), 0);
		assert_int_equal(tkw_timer_start(t), 0);
		if (i % 2)
			assert_int_equal(
				tkw_timer_schedule(t, &task, HOUR_NS, NULL), 0);
		if (i % 3 == 0)
			sched_yield();
		assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
		assert_int_equal(tkw_timer_destroy(t), 0);
	}
}

/* SPEC 6.2: a running task ends first. Others that are due do not begin. */
static void test_timer_stop_waits_for_the_running_task(struct timer_bed *b)
{
	struct seen s = { .b = b };
	struct gate g;
	const struct tkw_task task = { .fn = gated_task, .ctx = &g };
	struct runner r;
	struct opener o;
	int over;
	int ret;

	gate_init(&g);
	opener_start(&o, b->t, &g);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, TKW_MSEC); /* due in the same turn */
	bed_set_clock(b, BED_START_NS + 5 * TKW_MSEC);
	run_begin(&r, b);
	sem_take(&g.entered);
	bed_schedule(b, 2, 0);
	bed_schedule(b, 3, HOUR_NS);
	opener_go(&o);
	ret = tkw_timer_stop(b->t, note_visit, &s);
	over = atomic_load(&g.over);
	opener_end(&o);
	run_end(&r);
	assert_int_equal(ret, 0);
	assert_int_equal(over, 1);
	bed_assert_nothing_fired(b);
	assert_int_equal(s.count, 3);
	assert_int_equal(b->cancelled_count, 3);
	assert_true(ledger_of(b).fired == 1);
	assert_true(ledger_of(b).handed_over == 3);
	gate_fini(&g);
}
BED_TEST(test_timer_stop_waits_for_the_running_task)

struct guest {
	struct timer_bed *b;
	struct tkw_timeout_id ids[4];
	size_t visited;
	int cancel;
	int cancel_wait;
	int reschedule;
	int own_cancel;
	int own_wait;
	int query;
	int ledger;
	int turn;
	uint64_t pending;
};

/* The first visit cancels two of the other timeouts. */
static void visit_and_call(const struct tkw_timeout_info *info, void *ctx)
{
	struct tkw_timeout_info other = { .id = 0 };
	struct guest *g = ctx;
	struct tkw_timer *t = g->b->t;
	struct tkw_ledger l;
	size_t i = 0;

	if (g->visited++ > 0)
		return;
	while (i < 3 && g->ids[i].bits != info->id.bits)
		i++;
	g->own_cancel = tkw_timer_cancel(t, info->id);
	g->own_wait = tkw_timer_cancel_wait(t, info->id);
	g->query = tkw_timer_get(t, g->ids[(i + 1) % 4], &other);
	g->reschedule = tkw_timer_reschedule(t, g->ids[(i + 1) % 4], 0);
	g->cancel = tkw_timer_cancel(t, g->ids[(i + 2) % 4]);
	g->cancel_wait = tkw_timer_cancel_wait(t, g->ids[(i + 3) % 4]);
	g->ledger = tkw_timer_get_ledger(t, &l);
	g->turn = bed_turn(g->b, NULL);
	g->pending = tkw_timer_count(t);
}

/* SPEC 6.2, 5.1, fault 26: no lock is held, and cancels still work. */
static void test_timer_visitor_may_call_the_timer(struct timer_bed *b)
{
	struct guest g = { .b = b };
	uint64_t i;

	for (i = 0; i < 4; i++)
		g.ids[i] = bed_schedule(b, i, HOUR_NS);
	assert_int_equal(tkw_timer_stop(b->t, visit_and_call, &g), 0);
	assert_int_equal(g.own_cancel, -ENOENT);
	assert_int_equal(g.own_wait, -EDEADLK);
	assert_int_equal(g.query, 0);
	assert_int_equal(g.reschedule, -ESHUTDOWN);
	assert_int_equal(g.cancel, 0);
	assert_int_equal(g.cancel_wait, 0);
	assert_int_equal(g.ledger, 0);
	assert_true(g.turn < 0);
	assert_int_equal(g.pending, 1);
	assert_int_equal(g.visited, 2);
	assert_true(ledger_of(b).cancelled == 2);
	assert_true(ledger_of(b).handed_over == 2);
	for (i = 0; i < 4; i++)
		assert_int_equal(bed_cancelled_times(b, i), 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_visitor_may_call_the_timer)

static void free_arg(void *ctx)
{
	free(ctx);
}

static void read_arg(const struct tkw_timeout_info *info, void *ctx)
{
	*(int *)ctx += *(const int *)info->task.ctx;
}

/* SPEC 5.6, 6.2: the visitor can use ctx, and on-cancel frees it. */
static void test_timer_stop_frees_args(struct timer_bed *b)
{
	struct tkw_task task = { .fn = must_not_run, .on_cancel = free_arg };
	int sum = 0;
	int i;

	for (i = 1; i <= 10; i++) {
		task.ctx = malloc(sizeof(int));
		assert_non_null(task.ctx);
		*(int *)task.ctx = i;
		assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, NULL),
				 0);
	}
	assert_int_equal(tkw_timer_stop(b->t, read_arg, &sum), 0);
	assert_int_equal(sum, 55);
}
BED_TEST(test_timer_stop_frees_args)

/* SPEC 5.3, 6.2: cancel_wait waits for a timeout that a stop is handing
 * over. */
static void test_timer_cancel_wait_waits_for_the_visitor(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, HOUR_NS);
	struct stopper stop;
	struct opener o;
	struct gate g;
	size_t ended;
	int over;
	int ret;

	gate_init(&g);
	stopper_start(&stop, b->t, gated_visit, &g);
	opener_start(&o, b->t, &g);
	sem_take(&g.entered);
	opener_go(&o);
	ret = tkw_timer_cancel_wait(b->t, id);
	over = atomic_load(&g.over);
	ended = bed_cancelled_times(b, 1);
	opener_end(&o);
	stopper_end(&stop);
	assert_int_equal(ret, -ENOENT);
	assert_int_equal(over, 1);
	assert_int_equal(ended, 1);
	assert_int_equal(stop.ret, 0);
	gate_fini(&g);
}
BED_TEST(test_timer_cancel_wait_waits_for_the_visitor)

/* --- 6.3: one stop wins ------------------------------------------------- */

/* SPEC 6.3 */
static void test_timer_second_stop_does_nothing(struct timer_bed *b)
{
	struct seen s = { .b = b };

	bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 1);
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 1);
	assert_int_equal(s.count, 0);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_timer_stop(NULL, NULL, NULL), -EINVAL);
}
BED_TEST(test_timer_second_stop_does_nothing)

/* SPEC 6.3, 2.5 */
static void test_timer_stop_before_start(struct timer_bed *b)
{
	struct seen s = { .b = b };

	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
	assert_int_equal(tkw_timer_start(b->t), -ESHUTDOWN);
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_stop_before_start)

/* SPEC 6.3: they return at once, while the winner still stops. */
static void test_timer_losers_of_a_stop_do_not_wait(struct timer_bed *b)
{
	struct seen s = { .b = b };
	struct stopper stop;
	struct gate g;
	int over;
	int ret;

	bed_schedule(b, 1, HOUR_NS);
	gate_init(&g);
	stopper_start(&stop, b->t, gated_visit, &g);
	sem_take(&g.entered);
	ret = tkw_timer_stop(b->t, note_visit, &s);
	over = atomic_load(&g.over);
	sem_post(&g.open);
	stopper_end(&stop);
	assert_int_equal(ret, 1);
	assert_int_equal(over, 0);
	assert_int_equal(stop.ret, 0);
	assert_int_equal(s.count, 0);
	gate_fini(&g);
}
BED_TEST(test_timer_losers_of_a_stop_do_not_wait)

enum {
	RIVALS = 4
};

struct contest {
	struct tkw_timer *t;
	pthread_barrier_t barrier;
	atomic_int visited;
	atomic_int won;
	atomic_int lost;
};

static void count_visited(const struct tkw_timeout_info *info, void *ctx)
{
	struct contest *c = ctx;

	(void)info;
	atomic_fetch_add(&c->visited, 1);
}

static void *stop_in_contest(void *arg)
{
	struct contest *c = arg;
	int ret;

	pthread_barrier_wait(&c->barrier);
	ret = tkw_timer_stop(c->t, count_visited, c);
	if (ret == 0)
		atomic_fetch_add(&c->won, 1);
	else if (ret == 1)
		atomic_fetch_add(&c->lost, 1);
	return NULL;
}

/* SPEC 6.3, fault 26 */
static void test_timer_of_many_stops_one_wins(struct timer_bed *b)
{
	pthread_t threads[RIVALS];
	struct contest c;
	size_t i;
	int round;

	for (round = 0; round < 50; round++) {
		bed_reopen(b, NULL);
		bed_schedule(b, 1, HOUR_NS);
		bed_schedule(b, 1, HOUR_NS);
		c = (struct contest){ .t = b->t };
		pthread_barrier_init(&c.barrier, NULL, RIVALS);
		for (i = 0; i < RIVALS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							stop_in_contest, &c),
					 0);
		for (i = 0; i < RIVALS; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&c.barrier);
		assert_int_equal(c.won, 1);
		assert_int_equal(c.lost, RIVALS - 1);
		assert_int_equal(c.visited, 2);
		bed_assert_ledger(b, 0);
	}
}
BED_TEST(test_timer_of_many_stops_one_wins)

/* --- 6.4: schedule against stop ----------------------------------------- */

enum {
	SCHEDULERS = 3,
	EACH = 60,
	FATES = SCHEDULERS * EACH
};

/* What happened to one timeout. */
struct fate {
	atomic_int accepted;
	atomic_int fired;
	atomic_int visited;
	atomic_int ended;
};

struct race {
	struct tkw_timer *t;
	pthread_barrier_t barrier;
	atomic_int begun;
	atomic_int odd; /* impossible results */
	struct fate fates[FATES];
};

struct scheduler {
	struct race *r;
	struct fate *first;
	pthread_t thread;
};

static void fate_fires(const struct tkw_firing *firing, void *ctx)
{
	struct fate *f = ctx;

	(void)firing;
	atomic_fetch_add(&f->fired, 1);
}

static void fate_ends(void *ctx)
{
	struct fate *f = ctx;

	atomic_fetch_add(&f->ended, 1);
}

static void fate_is_seen(const struct tkw_timeout_info *info, void *ctx)
{
	struct fate *f = info->task.ctx;

	(void)ctx;
	atomic_fetch_add(&f->visited, 1);
}

static void *schedule_in_race(void *arg)
{
	static const int64_t delays_ns[] = { 0, HOUR_NS, TKW_USEC, INT64_MAX };
	struct scheduler *s = arg;
	struct tkw_task task = { .fn = fate_fires, .on_cancel = fate_ends };
	int ret;
	int i;

	pthread_barrier_wait(&s->r->barrier);
	for (i = 0; i < EACH; i++) {
		task.ctx = &s->first[i];
		ret = tkw_timer_schedule(s->r->t, &task, delays_ns[i % 4],
					 NULL);
		if (ret == 0)
			atomic_store(&s->first[i].accepted, 1);
		else if (ret != -ESHUTDOWN)
			atomic_fetch_add(&s->r->odd, 1);
		atomic_fetch_add(&s->r->begun, 1);
	}
	return NULL;
}

static void *turn_in_race(void *arg)
{
	struct race *r = arg;
	int ret = 0;

	while (ret != -ESHUTDOWN) {
		ret = tkw_timer_turn(r->t, 0, NULL);
		if (ret < 0 && ret != -ESHUTDOWN)
			atomic_fetch_add(&r->odd, 1);
		sched_yield();
	}
	return NULL;
}

/* Checks that each accepted timeout either fired or was handed over. */
static void assert_fates(const struct race *r)
{
	struct tkw_ledger sum = { .accepted = 0 };
	struct tkw_ledger l;
	const struct fate *f;

	for (f = r->fates; f < r->fates + FATES; f++) {
		assert_int_equal(f->fired + f->visited, f->accepted);
		assert_int_equal(f->ended, f->visited);
		sum.accepted += (uint64_t)f->accepted;
		sum.fired += (uint64_t)f->fired;
		sum.handed_over += (uint64_t)f->visited;
	}
	assert_int_equal(r->odd, 0);
	assert_int_equal(tkw_timer_get_ledger(r->t, &l), 0);
	assert_memory_equal(&l, &sum, sizeof(l));
	assert_int_equal(tkw_timer_count(r->t), 0);
	assert_null(tkw_timer_check(r->t));
}

static void race_once(int drive, int round)
{
	const struct tkw_timer_config cfg = { .drive = drive, .shards = 2 };
	struct scheduler schedulers[SCHEDULERS];
	static struct race r;
	pthread_t turner;
	size_t i;

	memset(&r, 0, sizeof(r));
	assert_int_equal(tkw_timer_create(&r.t, &cfg), 0);
	pthread_barrier_init(&r.barrier, NULL, SCHEDULERS);
	if (drive != TKW_DRIVE_THREAD)
		assert_int_equal(
			pthread_create(&turner, NULL, turn_in_race, &r), 0);
	for (i = 0; i < SCHEDULERS; i++) {
		schedulers[i].r = &r;
		schedulers[i].first = &r.fates[i * EACH];
		assert_int_equal(pthread_create(&schedulers[i].thread, NULL,
						schedule_in_race,
						&schedulers[i]),
				 0);
	}
	/* Stops at a different point in each round. */
	while (atomic_load(&r.begun) < round % FATES)
		sched_yield();
	assert_int_equal(tkw_timer_stop(r.t, fate_is_seen, NULL), 0);
	for (i = 0; i < SCHEDULERS; i++)
		pthread_join(schedulers[i].thread, NULL);
	if (drive != TKW_DRIVE_THREAD)
		pthread_join(turner, NULL);
	pthread_barrier_destroy(&r.barrier);
	assert_fates(&r);
	assert_int_equal(tkw_timer_destroy(r.t), 0);
}

/* SPEC 6.4, fault 25 */
static void test_timer_schedule_races_stop(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2 * FATES; i++) {
		race_once(TKW_DRIVE_THREAD, i);
		race_once(TKW_DRIVE_MANUAL, i);
		race_once(TKW_DRIVE_LOOP, i);
	}
}

/* --- 6.5: is_stopped ---------------------------------------------------- */

/* SPEC 6.5: it is true as soon as the stop has won, while that waits for a
 * task. */
static void test_timer_is_stopped_while_stop_waits(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 9);
	struct stopper stop;
	struct runner r;
	struct gate g;
	struct tkw_timeout_id id;
	int ret[5];

	assert_int_equal(tkw_timer_is_stopped(NULL), 0);
	id = bed_schedule(b, 1, HOUR_NS);
	schedule_gated(b, &g);
	run_begin(&r, b);
	sem_take(&g.entered);
	ret[0] = tkw_timer_is_stopped(b->t);
	stopper_start(&stop, b->t, NULL, NULL);
	while (!tkw_timer_is_stopped(b->t))
		sched_yield();
	ret[1] = tkw_timer_schedule(b->t, &task, 0, NULL);
	ret[2] = tkw_timer_start(b->t);
	ret[3] = tkw_timer_stop(b->t, NULL, NULL);
	/* A pending timeout can still be cancelled. */
	ret[4] = tkw_timer_cancel(b->t, id);
	sem_post(&g.open);
	stopper_end(&stop);
	run_end(&r);
	assert_int_equal(ret[0], 0);
	assert_int_equal(ret[1], -ESHUTDOWN);
	assert_int_equal(ret[2], -ESHUTDOWN);
	assert_int_equal(ret[3], 1);
	assert_int_equal(ret[4], 0);
	assert_int_equal(stop.ret, 0);
	assert_int_equal(g.over, 1);
	assert_true(ledger_of(b).cancelled == 1);
	assert_true(ledger_of(b).handed_over == 0);
	bed_assert_ledger(b, 0);
	gate_fini(&g);
}
BED_TEST(test_timer_is_stopped_while_stop_waits)

/* SPEC 6.5 */
static void test_timer_is_stopped_in_the_visitor(struct timer_bed *b)
{
	struct seen s = { .b = b };

	bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_timer_stop(b->t, note_visit, &s), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.stopped[0], 1);
	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
}
BED_TEST(test_timer_is_stopped_in_the_visitor)

/* --- 6.6: destroy ------------------------------------------------------- */

static void *count_alloc(size_t bytes, size_t align, void *ctx)
{
	atomic_size_t *held = ctx;
	void *mem;

	if (align < sizeof(void *))
		align = sizeof(void *);
	if (posix_memalign(&mem, align, bytes) != 0)
		return NULL;
	atomic_fetch_add(held, bytes);
	return mem;
}

static void count_free(void *mem, size_t bytes, void *ctx)
{
	atomic_size_t *held = ctx;

	atomic_fetch_sub(held, bytes);
	free(mem);
}

static void destroy_now(struct timer_bed *b)
{
	struct tkw_timer *t = b->t;

	b->t = NULL;
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* SPEC 6.6, 5.6, fault 27: no memory is left. */
static void test_timer_destroy_with_pending(struct timer_bed *b)
{
	atomic_size_t held = 0;
	const struct tkw_timer_hooks hooks = { .alloc = count_alloc,
					       .free = count_free,
					       .ctx = &held };
	const struct tkw_timer_config cfg = { .hooks = &hooks, .shards = 4 };
	uint64_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < 100; i++)
		bed_schedule(b, i, (int64_t)i * TKW_MSEC + TKW_SEC);
	assert_true(held > 0);
	destroy_now(b);
	assert_int_equal(held, 0);
	assert_int_equal(b->cancelled_count, 100);
	for (i = 0; i < 100; i++)
		assert_int_equal(bed_cancelled_times(b, i), 1);
	bed_assert_nothing_fired(b);
}
BED_TEST(test_timer_destroy_with_pending)

/* SPEC 6.6 */
static void test_timer_destroy_in_any_state(struct timer_bed *b)
{
	destroy_now(b); /* never started */
	bed_reopen(b, NULL);
	assert_int_equal(tkw_timer_start(b->t), 0);
	destroy_now(b);
	bed_reopen(b, NULL);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	destroy_now(b);
	bed_reopen(b, NULL);
	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	bed_assert_fired(b, 1);
	destroy_now(b);
	assert_int_equal(tkw_timer_destroy(NULL), 0);
}
BED_TEST(test_timer_destroy_in_any_state)

/* SPEC 6.6 */
static void test_timer_destroy_waits_for_the_running_task(struct timer_bed *b)
{
	struct tkw_timer *t = b->t;
	struct opener o;
	struct gate g;
	int over;
	int ret;

	schedule_gated(b, &g);
	opener_start(&o, t, &g);
	sem_take(&g.entered);
	b->t = NULL;
	opener_go(&o);
	ret = tkw_timer_destroy(t);
	over = atomic_load(&g.over);
	opener_end(&o);
	assert_int_equal(ret, 0);
	assert_int_equal(over, 1);
	gate_fini(&g);
}
BED_TEST(test_timer_destroy_waits_for_the_running_task)

/* The gate is in the visitor of the stop, or in an on-cancel after it. */
static void destroy_during_stop(struct timer_bed *b, bool in_visitor)
{
	struct tkw_timer *t = b->t;
	struct gate g;
	const struct tkw_task task = { .fn = must_not_run,
				       .ctx = &g,
				       .on_cancel = in_visitor ? NULL
							       : gated_cancel };
	struct stopper stop;
	struct opener o;
	int over;
	int ret;

	gate_init(&g);
	assert_int_equal(tkw_timer_schedule(t, &task, HOUR_NS, NULL), 0);
	stopper_start(&stop, t, in_visitor ? gated_visit : NULL, &g);
	opener_start(&o, t, &g);
	sem_take(&g.entered);
	b->t = NULL;
	opener_go(&o);
	ret = tkw_timer_destroy(t);
	over = atomic_load(&g.over);
	opener_end(&o);
	stopper_end(&stop);
	assert_int_equal(ret, 0);
	assert_int_equal(over, 1);
	assert_int_equal(stop.ret, 0);
	gate_fini(&g);
}

/* SPEC 6.6 */
static void test_timer_destroy_waits_for_a_stop(struct timer_bed *b)
{
	destroy_during_stop(b, true);
	bed_reopen(b, NULL);
	destroy_during_stop(b, false);
}
BED_TEST(test_timer_destroy_waits_for_a_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_task_cannot_stop_its_timer),
		BED_TESTS(test_timer_on_cancel_cannot_stop_its_timer),
		BED_TESTS(test_timer_visitor_cannot_stop_its_timer),
		BED_TESTS(test_timer_task_may_stop_another_timer),
		BED_TESTS(test_timer_stop_hands_over),
		BED_TESTS_BY_HAND(test_timer_stop_hands_over_all_there_is),
		BED_TESTS(test_timer_stop_needs_no_visitor),
		BED_TESTS(test_timer_after_stop_all_have_ended),
		cmocka_unit_test(test_timer_stop_wakes_and_joins_the_worker),
		cmocka_unit_test(test_timer_stop_right_after_start),
		BED_TESTS(test_timer_stop_waits_for_the_running_task),
		BED_TESTS(test_timer_visitor_may_call_the_timer),
		BED_TESTS(test_timer_stop_frees_args),
		BED_TESTS(test_timer_cancel_wait_waits_for_the_visitor),
		BED_TESTS(test_timer_second_stop_does_nothing),
		BED_TESTS(test_timer_stop_before_start),
		BED_TESTS(test_timer_losers_of_a_stop_do_not_wait),
		BED_TESTS(test_timer_of_many_stops_one_wins),
		cmocka_unit_test(test_timer_schedule_races_stop),
		BED_TESTS(test_timer_is_stopped_while_stop_waits),
		BED_TESTS(test_timer_is_stopped_in_the_visitor),
		BED_TESTS(test_timer_destroy_with_pending),
		BED_TESTS(test_timer_destroy_in_any_state),
		BED_TEST_UNDER(test_timer_destroy_waits_for_the_running_task,
			       thread),
		BED_TESTS(test_timer_destroy_waits_for_a_stop),
	};

	return cmocka_run_group_tests_name("timer_stop", tests, NULL, NULL);
}
