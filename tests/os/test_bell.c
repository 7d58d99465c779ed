/* SPDX-License-Identifier: MIT */
/*
 * test_bell.c - tests the bell: no ring is missed, a ring wakes the right
 * threads, and no thread holds the lock while it sleeps.
 */
#include "timer_bed.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gate.h"
#include "os/bell.h"

/* An assert of cmocka does not work on a thread that is not the test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

static void spawn(pthread_t *thread, void *(*run)(void *), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

static void join(pthread_t thread)
{
	must(pthread_join(thread, NULL) == 0);
}

/* --- one ring ------------------------------------------------------------ */

enum {
	SLEEPERS = 5
};

/* A room in which threads wait for tokens, one token each. */
struct room {
	struct tkw__lock lock;
	struct tkw__bell bell;
	unsigned tokens;
	unsigned woken; /* how often a wait has returned */
	unsigned left;  /* threads that got a token */
	bool bounded;   /* they wait with a bound, which is far away */
};

static void *wait_for_token(void *arg)
{
	struct room *r = arg;
	/* A year from now. */
	const int64_t until_ns = tkw__clock_now(false) + TKW_SEC * 3600 * 8760;

	tkw__lock_take(&r->lock);
	while (r->tokens == 0) {
		if (r->bounded)
			must(tkw__bell_wait_until(&r->bell, &r->lock,
						  until_ns));
		else
			tkw__bell_wait(&r->bell, &r->lock);
		r->woken++;
	}
	r->tokens--;
	r->left++;
	tkw__lock_drop(&r->lock);
	return NULL;
}

static void fill_room(struct room *r, pthread_t threads[SLEEPERS])
{
	uint32_t waiters = 0;
	size_t i;

	for (i = 0; i < SLEEPERS; i++)
		spawn(&threads[i], wait_for_token, r);
	/* The lock is free while the threads wait, and each of them is
	 * counted. */
	while (waiters < SLEEPERS) {
		sched_yield();
		tkw__lock_take(&r->lock);
		waiters = r->bell.waiters;
		tkw__lock_drop(&r->lock);
	}
}

static void empty_room(struct room *r, pthread_t threads[SLEEPERS])
{
	size_t i;

	for (i = 0; i < SLEEPERS; i++)
		join(threads[i]);
	assert_int_equal(r->left, SLEEPERS);
	assert_int_equal(r->tokens, 0);
	assert_int_equal(r->bell.waiters, 0);
}

/* A ring for all makes all look again. Those that find a token go. */
static void ring_for_all(bool bounded, bool and_drop)
{
	struct room r = { .bounded = bounded };
	pthread_t threads[SLEEPERS];
	unsigned woken = 0;

	fill_room(&r, threads);
	tkw__lock_take(&r.lock);
	if (and_drop) {
		tkw__bell_ring_and_drop(&r.bell, &r.lock);
	} else {
		tkw__bell_ring(&r.bell);
		/* This thread still has the lock. */
		assert_int_equal(r.woken, 0);
		tkw__lock_drop(&r.lock);
	}
	/* There are no tokens, so they wait again. */
	while (woken < SLEEPERS) {
		sched_yield();
		tkw__lock_take(&r.lock);
		woken = r.woken;
		assert_int_equal(r.left, 0);
		tkw__lock_drop(&r.lock);
	}
	tkw__lock_take(&r.lock);
	r.tokens = SLEEPERS;
	if (and_drop) {
		tkw__bell_ring_and_drop(&r.bell, &r.lock);
	} else {
		tkw__bell_ring(&r.bell);
		tkw__lock_drop(&r.lock);
	}
	empty_room(&r, threads);
}

static void test_bell_ring_wakes_all(void **state)
{
	(void)state;
	ring_for_all(false, false);
	ring_for_all(false, true);
	ring_for_all(true, false);
	ring_for_all(true, true);
}

/* One token for each ring. */
static void ring_for_one(bool bounded)
{
	struct room r = { .bounded = bounded };
	pthread_t threads[SLEEPERS];
	size_t i;

	fill_room(&r, threads);
	for (i = 0; i < SLEEPERS; i++) {
		tkw__lock_take(&r.lock);
		r.tokens++;
		tkw__bell_ring_one_and_drop(&r.bell, &r.lock);
	}
	empty_room(&r, threads);
}

static void test_bell_ring_one_wakes_one_each(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 200; i++)
		ring_for_one(i % 2);
}

/* If no thread waits, a ring has no effect, and is not kept for later. */
static void test_bell_rings_for_those_who_wait(void **state)
{
	struct tkw__lock lock = { .state = { 0 } };
	struct tkw__bell bell = { .waiters = 0 };

	(void)state;
	tkw__lock_take(&lock);
	tkw__bell_ring(&bell);
	tkw__bell_ring_and_drop(&bell, &lock);
	tkw__lock_take(&lock);
	tkw__bell_ring_one_and_drop(&bell, &lock);
	assert_int_equal(TKW__LOAD(&bell.rung, RELAXED), 0);
	/* The lock was dropped each time. */
	assert_int_equal(TKW__LOAD(&lock.state, RELAXED), TKW__LOCK_FREE);
}

/* --- time ---------------------------------------------------------------- */

static void test_bell_waits_no_longer_than_it_should(void **state)
{
	const int64_t past_ns[] = { INT64_MIN / 2, -1, 0,
				    tkw__clock_now(false) };
	struct tkw__lock lock = { .state = { 0 } };
	struct tkw__bell bell = { .waiters = 0 };
	int64_t until_ns;
	size_t i;

	(void)state;
	tkw__lock_take(&lock);
	for (i = 0; i < sizeof(past_ns) / sizeof(past_ns[0]); i++)
		assert_false(tkw__bell_wait_until(&bell, &lock, past_ns[i]));
	for (i = 0; i < 10; i++) {
		until_ns = tkw__clock_now(false) + 500 * TKW_USEC;
		while (tkw__bell_wait_until(&bell, &lock, until_ns))
			;
		assert_true(tkw__clock_now(false) >= until_ns);
	}
	assert_int_equal(bell.waiters, 0);
	assert_int_equal(TKW__LOAD(&lock.state, RELAXED), TKW__LOCK_HELD);
	tkw__lock_drop(&lock);
}

struct unbounded {
	struct tkw__lock lock;
	struct tkw__bell bell;
	struct gate ready;
	pid_t tid;
	bool rung;
};

static void *wait_for_ever(void *arg)
{
	struct unbounded *u = arg;

	u->tid = gettid();
	gate_open(&u->ready);
	tkw__lock_take(&u->lock);
	while (!u->rung)
		must(tkw__bell_wait_until(&u->bell, &u->lock, INT64_MAX));
	tkw__lock_drop(&u->lock);
	return NULL;
}

static void test_bell_waits_for_ever(void **state)
{
	struct unbounded u = { .ready = GATE_INIT };
	pthread_t thread;

	(void)state;
	spawn(&thread, wait_for_ever, &u);
	gate_pass(&u.ready);
	while (!bed_is_asleep(u.tid))
		sched_yield();
	tkw__lock_take(&u.lock);
	u.rung = true;
	tkw__bell_ring_and_drop(&u.bell, &u.lock);
	join(thread);
}

/* --- no ring is missed --------------------------------------------------- */

enum {
	TURNS = 20000
};

/* Two threads take turns. If a ring is missed, the test hangs. */
struct table {
	struct tkw__lock lock;
	struct tkw__bell bell;
	unsigned turn;
	int how; /* which function rings it */
};

static void ring_somehow(struct table *t)
{
	switch (t->how) {
	case 0:
		tkw__bell_ring(&t->bell);
		tkw__lock_drop(&t->lock);
		break;
	case 1:
		tkw__bell_ring_and_drop(&t->bell, &t->lock);
		break;
	default:
		tkw__bell_ring_one_and_drop(&t->bell, &t->lock);
	}
}

static void take_turns(struct table *t, unsigned mine)
{
	unsigned i;

	for (i = 0; i < TURNS; i++) {
		tkw__lock_take(&t->lock);
		while (t->turn % 2 != mine)
			tkw__bell_wait(&t->bell, &t->lock);
		t->turn++;
		ring_somehow(t);
	}
}

static void *take_odd_turns(void *arg)
{
	take_turns(arg, 1);
	return NULL;
}

static void test_bell_misses_no_ring(void **state)
{
	int how;

	(void)state;
	for (how = 0; how < 3; how++) {
		struct table t = { .how = how };
		pthread_t thread;

		spawn(&thread, take_odd_turns, &t);
		take_turns(&t, 0);
		join(thread);
		assert_int_equal(t.turn, 2 * TURNS);
		assert_int_equal(t.bell.waiters, 0);
	}
}

enum {
	MAKERS = 3,
	USERS = 3,
	GOODS = 30000,
	SHELF = 4
};

/* Makers wake one user for each thing, and users wake one maker for each free
 * place. */
struct market {
	struct tkw__lock lock;
	struct tkw__bell things;
	struct tkw__bell places;
	unsigned on_shelf;
	unsigned made;
	unsigned used;
};

static void *make_goods(void *arg)
{
	struct market *m = arg;

	for (;;) {
		tkw__lock_take(&m->lock);
		while (m->on_shelf == SHELF && m->made < GOODS)
			tkw__bell_wait(&m->places, &m->lock);
		if (m->made == GOODS)
			break;
		m->made++;
		m->on_shelf++;
		tkw__bell_ring_one_and_drop(&m->things, &m->lock);
	}
	/* No more things will come, so wake all. */
	tkw__bell_ring(&m->places);
	tkw__bell_ring_and_drop(&m->things, &m->lock);
	return NULL;
}

static void *use_goods(void *arg)
{
	struct market *m = arg;

	for (;;) {
		tkw__lock_take(&m->lock);
		while (m->on_shelf == 0 && m->made < GOODS)
			tkw__bell_wait(&m->things, &m->lock);
		if (m->on_shelf == 0)
			break;
		must(m->on_shelf <= SHELF);
		m->on_shelf--;
		m->used++;
		tkw__bell_ring_one_and_drop(&m->places, &m->lock);
	}
	tkw__lock_drop(&m->lock);
	return NULL;
}

static void test_bell_of_many_threads(void **state)
{
	struct market m = { .made = 0 };
	pthread_t threads[MAKERS + USERS];
	size_t i;

	(void)state;
	for (i = 0; i < MAKERS + USERS; i++)
		spawn(&threads[i], i < MAKERS ? make_goods : use_goods, &m);
	for (i = 0; i < MAKERS + USERS; i++)
		join(threads[i]);
	assert_int_equal(m.made, GOODS);
	assert_int_equal(m.used, GOODS);
	assert_int_equal(m.on_shelf, 0);
	assert_int_equal(m.things.waiters, 0);
	assert_int_equal(m.places.waiters, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bell_ring_wakes_all),
		cmocka_unit_test(test_bell_ring_one_wakes_one_each),
		cmocka_unit_test(test_bell_rings_for_those_who_wait),
		cmocka_unit_test(test_bell_waits_no_longer_than_it_should),
		cmocka_unit_test(test_bell_waits_for_ever),
		cmocka_unit_test(test_bell_misses_no_ring),
		cmocka_unit_test(test_bell_of_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
