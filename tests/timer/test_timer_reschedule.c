/* SPDX-License-Identifier: MIT */
/*
 * test_timer_reschedule.c - SPEC 5.5: a pending timeout gets another deadline,
 * earlier or later, and keeps its id.
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

static int64_t clock_of(struct timer_bed *b)
{
	int64_t now_ns;

	pthread_mutex_lock(&b->lock);
	now_ns = b->now_ns;
	pthread_mutex_unlock(&b->lock);
	return now_ns;
}

static void pass_to(struct timer_bed *b, int64_t now_ns)
{
	bed_pass(b, now_ns - clock_of(b));
}

/* The first moment at which a timeout with this deadline may fire. */
static int64_t edge_of(const struct timer_bed *b, int64_t deadline_ns)
{
	return (deadline_ns + b->tick_ns - 1) / b->tick_ns * b->tick_ns;
}

/* Pseudo-random numbers, the same in each run. */
static uint64_t shuffled(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void sem_take(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void wait_asleep(pid_t tid)
{
	while (!bed_is_asleep(tid))
		sched_yield();
}

/* Checks that the tag fires once, at this deadline and not before, and that its
 * task gets this deadline. */
static void expect_once_at(struct timer_bed *b, uint64_t tag,
			   int64_t deadline_ns)
{
	const int64_t edge_ns = edge_of(b, deadline_ns);

	if (edge_ns > clock_of(b)) {
		pass_to(b, edge_ns - 1);
		bed_assert_nothing_fired(b);
		pass_to(b, edge_ns);
	}
	bed_assert_fired(b, tag);
	assert_true(b->fired[b->fired_count - 1].deadline_ns == deadline_ns);
	assert_true(b->fired[b->fired_count - 1].late_ns ==
		    edge_ns - deadline_ns);
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
}

/* --- where it goes ------------------------------------------------------ */

static void expect_moved(struct timer_bed *b, int64_t from_ns, int64_t to_ns)
{
	const int64_t now_ns = clock_of(b);
	const struct tkw_timeout_id id = bed_schedule(b, 1, from_ns);
	struct tkw_timeout_info info;

	assert_int_equal(tkw_timer_reschedule(b->t, id, to_ns), 0);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.id.bits == id.bits);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	assert_true(info.deadline_ns == now_ns + to_ns);
	bed_assert_ledger(b, 1);
	expect_once_at(b, 1, now_ns + to_ns);
	assert_true(b->fired[b->fired_count - 1].id.bits == id.bits);
	assert_int_equal(tkw_timer_reschedule(b->t, id, TKW_SEC), -ENOENT);
	bed_assert_ledger(b, 0);
}

/* SPEC 5.5, 4.1 */
static void test_timer_moves_earlier_and_later(struct timer_bed *b)
{
	static const int64_t delays_ns[] = { 1,
					     TKW_MSEC,
					     5 * TKW_MSEC + 1,
					     17 * TKW_MSEC,
					     70 * TKW_MSEC,
					     300 * TKW_MSEC };
	const size_t n = sizeof(delays_ns) / sizeof(delays_ns[0]);
	size_t i;
	size_t k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++)
			expect_moved(b, delays_ns[i], delays_ns[k]);
	}
	expect_moved(b, HOUR_NS, 3 * TKW_MSEC);
	expect_moved(b, INT64_MAX, 3 * TKW_MSEC);
}
BED_TEST(test_timer_moves_earlier_and_later)

/* SPEC 5.5 */
static void test_timer_moves_to_a_deadline(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, HOUR_NS);

	assert_int_equal(
		tkw_timer_reschedule_at(b->t, id, BED_START_NS + 7 * TKW_MSEC),
		0);
	expect_once_at(b, 1, BED_START_NS + 7 * TKW_MSEC);
}
BED_TEST(test_timer_moves_to_a_deadline)

/* SPEC 5.5, 3.3: moved to a time that has passed. It never fires inside the
 * call. */
static void test_timer_moves_to_the_next_turn(struct timer_bed *b)
{
	static const int64_t delays_ns[] = { 0, -1, -TKW_SEC, INT64_MIN };
	static const int64_t deadlines_ns[] = { BED_START_NS - TKW_SEC, 0, -1,
						INT64_MIN };
	struct tkw_timeout_id id;
	size_t i;

	for (i = 0; i < 4; i++) {
		id = bed_schedule(b, i, HOUR_NS);
		assert_int_equal(tkw_timer_reschedule(b->t, id, delays_ns[i]),
				 0);
		if (bed_by_hand(b))
			bed_assert_nothing_fired(b);
		bed_pass(b, 0);
		bed_assert_fired(b, i);
		id = bed_schedule(b, i, HOUR_NS);
		assert_int_equal(
			tkw_timer_reschedule_at(b->t, id, deadlines_ns[i]), 0);
		if (bed_by_hand(b))
			bed_assert_nothing_fired(b);
		bed_pass(b, 0);
		bed_assert_fired(b, i);
	}
}
BED_TEST(test_timer_moves_to_the_next_turn)

/* SPEC 5.5, 3.2 */
static void test_timer_moves_to_never_and_back(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, 5 * TKW_MSEC);
	struct tkw_timeout_info info;

	assert_int_equal(tkw_timer_reschedule(b->t, id, INT64_MAX), 0);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.deadline_ns == TKW_NEVER_NS);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, TKW_NEVER_NS), 0);
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, TKW_NEVER_NS - 1),
			 0);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 5 * TKW_MSEC), 0);
	expect_once_at(b, 1, clock_of(b) + 5 * TKW_MSEC);
}
BED_TEST(test_timer_moves_to_never_and_back)

/* SPEC 5.5: an idle timeout that is pushed back by each packet. */
static void test_timer_pushed_back_again_and_again(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, 30 * TKW_MSEC);
	int i;

	for (i = 0; i < 500; i++) {
		bed_pass(b, i % 7 * TKW_MSEC + 1000);
		assert_int_equal(tkw_timer_reschedule(b->t, id, 30 * TKW_MSEC),
				 0);
	}
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 1);
	expect_once_at(b, 1, clock_of(b) + 30 * TKW_MSEC);
}
BED_TEST(test_timer_pushed_back_again_and_again)

/* SPEC 5.5: a timeout that is overdue and waits for its turn can be moved,
 * too. */
static void test_timer_moves_while_overdue(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 1);
	struct tkw_timeout_id ids[2];

	bed_pass(b, TKW_SEC);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, &ids[0]), 0);
	ids[1] = bed_schedule(b, 2, TKW_MSEC);
	bed_set_clock(b, clock_of(b) + TKW_SEC);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[0], TKW_SEC), 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[1], 2 * TKW_SEC), 0);
	assert_int_equal(bed_turn(b, NULL), 0);
	bed_pass(b, TKW_SEC + TKW_MSEC);
	bed_assert_fired(b, 1);
	bed_pass(b, TKW_SEC);
	bed_assert_fired(b, 2);
}
BED_TEST(test_timer_moves_while_overdue)

/* --- its place in a tick ------------------------------------------------ */

/* SPEC 5.5, 1.6: it comes after the older ones, and before newer ones. */
static void test_timer_moved_earlier_goes_to_the_end(struct timer_bed *b)
{
	struct tkw_timeout_id id;

	bed_schedule(b, 1, 5 * TKW_MSEC);
	id = bed_schedule(b, 2, 9 * TKW_MSEC);
	bed_schedule(b, 3, 5 * TKW_MSEC);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 5 * TKW_MSEC), 0);
	bed_schedule(b, 4, 5 * TKW_MSEC);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_fired(b, 1, 3, 2, 4);
}
BED_TEST(test_timer_moved_earlier_goes_to_the_end)

/* SPEC 5.5, 1.6 */
static void test_timer_moved_later_goes_behind(struct timer_bed *b)
{
	struct tkw_timeout_id id;

	bed_schedule(b, 1, 9 * TKW_MSEC);
	id = bed_schedule(b, 2, 5 * TKW_MSEC);
	bed_schedule(b, 3, 9 * TKW_MSEC);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 9 * TKW_MSEC), 0);
	bed_schedule(b, 4, 10 * TKW_MSEC);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_fired(b, 1, 3, 2, 4);
}
BED_TEST(test_timer_moved_later_goes_behind)

/* SPEC 5.5 */
static void test_timer_keeps_its_place_in_its_tick(struct timer_bed *b)
{
	struct tkw_timeout_info info;
	struct tkw_timeout_id ids[3];
	uint64_t i;

	for (i = 0; i < 3; i++)
		ids[i] = bed_schedule(b, i, 5500 * TKW_USEC);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[0], 5800 * TKW_USEC),
			 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[1], 5500 * TKW_USEC),
			 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[1], 5200 * TKW_USEC),
			 0);
	assert_int_equal(tkw_timer_get(b->t, ids[0], &info), 0);
	assert_true(info.deadline_ns == BED_START_NS + 5800 * TKW_USEC);
	assert_int_equal(tkw_timer_get(b->t, ids[1], &info), 0);
	assert_true(info.deadline_ns == BED_START_NS + 5200 * TKW_USEC);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_fired(b, 0, 1, 2);
}
BED_TEST(test_timer_keeps_its_place_in_its_tick)

/* SPEC 5.5, 3.9: a slack of 64 ticks moves it to a multiple of 64 ticks
 * again. */
static void test_timer_keeps_its_slack(struct timer_bed *b)
{
	struct tkw_task task = bed_task(b, 1);
	const int64_t round_ns = 64 * TKW_MSEC;
	int64_t deadline_ns = BED_START_NS + 5 * TKW_MSEC;
	struct tkw_timeout_id id;
	int i;

	task.slack_ns = round_ns;
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, deadline_ns, &id),
			 0);
	for (i = 0; i < 20; i++) {
		deadline_ns = BED_START_NS + (i * 37 % 20) * (5 * TKW_MSEC) +
			      400 * TKW_MSEC;
		assert_int_equal(tkw_timer_reschedule_at(b->t, id, deadline_ns),
				 0);
	}
	deadline_ns = (deadline_ns / round_ns + 2) * round_ns + 1;
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, deadline_ns), 0);
	pass_to(b, deadline_ns - 1 + round_ns - 1);
	bed_assert_nothing_fired(b);
	pass_to(b, deadline_ns + round_ns);
	bed_assert_fired(b, 1);
	assert_true(b->fired[0].deadline_ns == deadline_ns);
}
BED_TEST(test_timer_keeps_its_slack)

/* --- many of them ------------------------------------------------------- */

enum {
	MANY = 300,
	STEPS = 600
};

/* The expected result: when each may fire first, or 0 if it has fired. */
struct plan {
	struct tkw_timeout_id ids[MANY];
	int64_t edges_ns[MANY];
	size_t fired;
};

static void move_some(struct timer_bed *b, struct plan *p, uint64_t *seed)
{
	int64_t delay_ns;
	size_t i;
	int k;

	for (k = 0; k < 8; k++) {
		i = (size_t)(shuffled(seed) % MANY);
		delay_ns = (int64_t)(shuffled(seed) % (200 * TKW_MSEC));
		delay_ns = (delay_ns >> shuffled(seed) % 12) + 1;
		assert_int_equal(
			tkw_timer_reschedule(b->t, p->ids[i], delay_ns),
			p->edges_ns[i] == 0 ? -ENOENT : 0);
		if (p->edges_ns[i] != 0)
			p->edges_ns[i] = edge_of(b, clock_of(b) + delay_ns);
	}
}

/* Checks that exactly what is due has fired since the last look. */
static void compare(struct timer_bed *b, struct plan *p)
{
	size_t due = 0;
	size_t i;

	for (i = 0; i < MANY; i++)
		due += p->edges_ns[i] != 0 && p->edges_ns[i] <= clock_of(b);
	assert_int_equal(b->fired_count - p->fired, due);
	for (; p->fired < b->fired_count; p->fired++) {
		i = (size_t)b->fired[p->fired].tag;
		assert_true(p->edges_ns[i] != 0);
		assert_true(p->edges_ns[i] <= b->fired[p->fired].now_ns);
		assert_true(b->fired[p->fired].id.bits == p->ids[i].bits);
		p->edges_ns[i] = 0;
	}
}

static void move_many(struct timer_bed *b, int engine)
{
	const struct tkw_timer_config cfg = { .engine = engine };
	struct plan p = { .fired = 0 };
	uint64_t seed = 55;
	uint64_t i;

	bed_reopen(b, &cfg);
	p.fired = b->fired_count;
	for (i = 0; i < MANY; i++) {
		p.ids[i] = bed_schedule(b, i, 100 * TKW_MSEC);
		p.edges_ns[i] = edge_of(b, clock_of(b) + 100 * TKW_MSEC);
	}
	for (i = 0; i < STEPS; i++) {
		move_some(b, &p, &seed);
		bed_pass(b, (int64_t)(shuffled(&seed) % (3 * TKW_MSEC)));
		compare(b, &p);
	}
	bed_pass(b, TKW_SEC);
	compare(b, &p);
	bed_assert_ledger(b, 0);
}

/* SPEC 5.5, 4.1: never early, not late by more than a tick, and never twice. */
static void test_timer_many_are_moved(struct timer_bed *b)
{
	move_many(b, TKW_WHEEL_HIERARCHICAL);
	move_many(b, TKW_WHEEL_HASHED);
}
BED_TEST(test_timer_many_are_moved)

/* --- refusals ----------------------------------------------------------- */

/* SPEC 5.5 */
static void test_timer_what_has_ended_is_not_moved(struct timer_bed *b)
{
	const struct tkw_timeout_id fired = bed_schedule(b, 1, TKW_MSEC);
	const struct tkw_timeout_id cancelled = bed_schedule(b, 2, TKW_MSEC);
	const struct tkw_timeout_id ids[] = {
		fired, cancelled, { 0 }, { ~fired.bits }, { UINT64_MAX }
	};
	size_t i;

	assert_int_equal(tkw_timer_cancel(b->t, cancelled), 0);
	bed_pass(b, 5 * TKW_MSEC);
	bed_assert_fired(b, 1);
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(tkw_timer_reschedule(b->t, ids[i], 0),
				 -ENOENT);
		assert_int_equal(tkw_timer_reschedule_at(b->t, ids[i], 0),
				 -ENOENT);
	}
	assert_int_equal(tkw_timer_reschedule(NULL, fired, 0), -EINVAL);
	assert_int_equal(tkw_timer_reschedule_at(NULL, fired, 0), -EINVAL);
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_what_has_ended_is_not_moved)

struct gate {
	sem_t entered;
	sem_t open;
};

static void stay(const struct tkw_firing *firing, void *ctx)
{
	struct gate *g = ctx;

	(void)firing;
	sem_post(&g->entered);
	sem_take(&g->open);
}

static void *turn_once(void *arg)
{
	struct timer_bed *b = arg;

	bed_turn(b, NULL);
	return NULL;
}

/* SPEC 5.5: moved by another thread while its task runs. */
static void test_timer_what_runs_is_not_moved(struct timer_bed *b)
{
	const bool by_hand = bed_by_hand(b);
	struct gate g;
	const struct tkw_task task = { .fn = stay, .ctx = &g };
	pthread_t thread;
	struct tkw_timeout_id id;
	int ret[2];

	sem_init(&g.entered, 0, 0);
	sem_init(&g.open, 0, 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	if (by_hand)
		assert_int_equal(pthread_create(&thread, NULL, turn_once, b),
				 0);
	sem_take(&g.entered);
	ret[0] = tkw_timer_reschedule(b->t, id, TKW_SEC);
	ret[1] = tkw_timer_reschedule_at(b->t, id, 0);
	sem_post(&g.open);
	if (by_hand)
		pthread_join(thread, NULL);
	assert_int_equal(ret[0], -EBUSY);
	assert_int_equal(ret[1], -EBUSY);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_ledger(b, 0);
	sem_destroy(&g.entered);
	sem_destroy(&g.open);
}
BED_TEST(test_timer_what_runs_is_not_moved)

/* SPEC 5.5, 3.6: a reschedule needs no new place. */
static void test_timer_moves_at_the_limit(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 2 };
	const struct tkw_task task = bed_task(b, 3);
	struct tkw_timeout_id id;
	int i;

	bed_reopen(b, &cfg);
	bed_schedule(b, 1, HOUR_NS);
	id = bed_schedule(b, 2, HOUR_NS);
	for (i = 0; i < 10; i++)
		assert_int_equal(tkw_timer_reschedule(
					 b->t, id, i % 3 * HOUR_NS + TKW_SEC),
				 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, HOUR_NS, NULL), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	bed_assert_ledger(b, 2);
}
BED_TEST(test_timer_moves_at_the_limit)

/* --- what wakes the worker, and races ----------------------------------- */

struct visit {
	sem_t done;
	pid_t tid;
	uint64_t looks; /* readings of a bed's clock by this thread */
};

static void note_thread(const struct tkw_firing *firing, void *ctx)
{
	struct visit *v = ctx;

	(void)firing;
	v->tid = gettid();
	v->looks = bed_now_calls();
	sem_post(&v->done);
}

/* SPEC 4.2, 5.5: on the clock of the system, while the worker sleeps for an
 * hour. */
static void test_timer_moved_earlier_wakes_the_worker(void **state)
{
	struct visit v = { .tid = 0 };
	const struct tkw_task task = { .fn = note_thread, .ctx = &v };
	struct tkw_timer *t;
	struct tkw_timeout_id id;
	int i;

	(void)state;
	sem_init(&v.done, 0, 0);
	assert_int_equal(tkw_timer_create(&t, NULL), 0);
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	sem_take(&v.done);
	for (i = 0; i < 5; i++) {
		assert_int_equal(tkw_timer_schedule(t, &task, HOUR_NS, &id), 0);
		wait_asleep(v.tid);
		assert_int_equal(tkw_timer_reschedule(t, id, i % 2 * TKW_MSEC),
				 0);
		sem_take(&v.done);
	}
	assert_int_equal(tkw_timer_destroy(t), 0);
	sem_destroy(&v.done);
}

/* SPEC 4.2, 5.5 */
static void test_timer_moved_later_wakes_nobody(struct timer_bed *b)
{
	enum {
		ROUNDS = 100
	};
	const struct tkw_timeout_id id = bed_schedule(b, 1, HOUR_NS);
	struct visit v = { .tid = 0 };
	const struct tkw_task task = { .fn = note_thread, .ctx = &v };
	uint64_t before;
	int64_t i;

	sem_init(&v.done, 0, 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	sem_take(&v.done);
	before = v.looks;
	for (i = 1; i <= ROUNDS; i++) {
		wait_asleep(v.tid);
		assert_int_equal(
			tkw_timer_reschedule(b->t, id, HOUR_NS + i * TKW_SEC),
			0);
	}
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	sem_take(&v.done);
	assert_true(v.looks - before < ROUNDS / 4);
	sem_destroy(&v.done);
}
BED_TEST(test_timer_moved_later_wakes_nobody)

struct lot {
	atomic_int ran;
	atomic_int ended;
};

static void lot_runs(const struct tkw_firing *firing, void *ctx)
{
	struct lot *l = ctx;

	(void)firing;
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

/* Moves a timeout that may be firing. Either it fires, or it waits for an
 * hour. */
static void race_once(struct timer_bed *b, int round)
{
	struct lot l = { .ran = 0 };
	const struct tkw_task task = { .fn = lot_runs,
				       .ctx = &l,
				       .on_cancel = lot_ends };
	struct tkw_timeout_id id;
	int moved;
	int ret;
	int i;

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	for (i = 0; i < round % 8; i++)
		sched_yield();
	moved = tkw_timer_reschedule(b->t, id, HOUR_NS);
	assert_true(moved == 0 || moved == -EBUSY || moved == -ENOENT);
	ret = tkw_timer_cancel_wait(b->t, id);
	if (moved == 0)
		assert_int_equal(ret, 0);
	else
		assert_true(ret == 1 || ret == -ENOENT);
	assert_int_equal(l.ran, moved != 0);
	assert_int_equal(l.ended, moved == 0);
}

/* SPEC 5.1, 5.5 */
static void test_timer_either_fires_or_is_moved(struct timer_bed *b)
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
BED_TEST(test_timer_either_fires_or_is_moved)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_moves_earlier_and_later),
		BED_TESTS(test_timer_moves_to_a_deadline),
		BED_TESTS(test_timer_moves_to_the_next_turn),
		BED_TESTS(test_timer_moves_to_never_and_back),
		BED_TESTS(test_timer_pushed_back_again_and_again),
		BED_TESTS_BY_HAND(test_timer_moves_while_overdue),
		BED_TESTS(test_timer_moved_earlier_goes_to_the_end),
		BED_TESTS(test_timer_moved_later_goes_behind),
		BED_TESTS(test_timer_keeps_its_place_in_its_tick),
		BED_TESTS(test_timer_keeps_its_slack),
		BED_TESTS(test_timer_many_are_moved),
		BED_TESTS(test_timer_what_has_ended_is_not_moved),
		BED_TESTS(test_timer_what_runs_is_not_moved),
		BED_TESTS(test_timer_moves_at_the_limit),
		cmocka_unit_test(test_timer_moved_earlier_wakes_the_worker),
		BED_TEST_UNDER(test_timer_moved_later_wakes_nobody, thread),
		BED_TESTS(test_timer_either_fires_or_is_moved),
	};

	return cmocka_run_group_tests_name("timer_reschedule", tests, NULL,
					   NULL);
}
