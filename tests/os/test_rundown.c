/* SPDX-License-Identifier: MIT */
/*
 * test_rundown.c - tests the rundown: a thread that closes it waits until all
 * threads inside have left, and no thread enters after that.
 */
#include "timer_bed.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "os/rundown.h"

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

/* --- one thread ---------------------------------------------------------- */

static void test_rundown_lets_in_until_it_is_closed(void **state)
{
	struct tkw__rundown r = { .inside = { 0 } };
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_true(tkw__rundown_enter(&r));
		assert_true(tkw__rundown_enter(&r));
		tkw__rundown_leave(&r);
		tkw__rundown_leave(&r);
	}
	/* No thread is inside, so close does not wait. */
	tkw__rundown_close(&r);
	for (i = 0; i < 3; i++)
		assert_false(tkw__rundown_enter(&r));
}

static void test_rundown_that_nobody_entered(void **state)
{
	struct tkw__rundown r = { .inside = { 0 } };

	(void)state;
	tkw__rundown_close(&r);
	assert_false(tkw__rundown_enter(&r));
}

/* The other threads do not exist in a child, so it does not wait for them. */
static void test_rundown_of_a_child(void **state)
{
	struct tkw__rundown r = { .inside = { 0 } };

	(void)state;
	assert_true(tkw__rundown_enter(&r));
	assert_true(tkw__rundown_enter(&r));
	tkw__rundown_close_child(&r);
	assert_false(tkw__rundown_enter(&r));
}

/* --- waiting ------------------------------------------------------------- */

enum {
	GUESTS = 3
};

struct house {
	struct tkw__rundown r;
	struct gate inside;
	struct gate ready;
	pid_t closer;
	atomic_uint guests; /* threads that have not left */
	atomic_bool closed;
};

static void *visit(void *arg)
{
	struct house *h = arg;

	must(tkw__rundown_enter(&h->r));
	h->guests++;
	gate_pass(&h->inside);
	h->guests--;
	tkw__rundown_leave(&h->r);
	return NULL;
}

static void *close_house(void *arg)
{
	struct house *h = arg;

	h->closer = gettid();
	gate_open(&h->ready);
	tkw__rundown_close(&h->r);
	must(h->guests == 0);
	h->closed = true;
	return NULL;
}

static void test_rundown_close_waits_for_all_inside(void **state)
{
	struct house h = { .inside = GATE_INIT, .ready = GATE_INIT };
	pthread_t guests[GUESTS];
	pthread_t closer;
	int i;

	(void)state;
	for (i = 0; i < GUESTS; i++)
		spawn(&guests[i], visit, &h);
	gate_await(&h.inside, GUESTS);
	/* This thread enters, too, and stays until the others have left. */
	assert_true(tkw__rundown_enter(&h.r));
	spawn(&closer, close_house, &h);
	gate_pass(&h.ready);
	while (!bed_is_asleep(h.closer))
		sched_yield();
	/* No thread can enter any more, even before the close has returned. A
	 * thread that tries does not count as inside, and does not end the
	 * wait. */
	for (i = 0; i < 100; i++)
		assert_false(tkw__rundown_enter(&h.r));
	assert_false(h.closed);
	gate_open(&h.inside);
	for (i = 0; i < GUESTS; i++)
		join(guests[i]);
	assert_false(h.closed);
	tkw__rundown_leave(&h.r);
	join(closer);
	assert_true(h.closed);
	assert_false(tkw__rundown_enter(&h.r));
}

/* --- many threads -------------------------------------------------------- */

enum {
	THREADS = 4,
	ROUNDS = 100
};

struct yard {
	struct tkw__rundown r;
	pthread_barrier_t begin;
	atomic_int inside;
	atomic_bool closed;
};

/* Enters and leaves until it is closed. */
static void *come_and_go(void *arg)
{
	struct yard *y = arg;

	pthread_barrier_wait(&y->begin);
	while (tkw__rundown_enter(&y->r)) {
		must(!y->closed);
		y->inside++;
		must(!y->closed);
		y->inside--;
		tkw__rundown_leave(&y->r);
	}
	/* Once closed, it stays closed. */
	must(!tkw__rundown_enter(&y->r));
	return NULL;
}

static void test_rundown_close_against_many_who_enter(void **state)
{
	pthread_t threads[THREADS];
	struct yard y;
	int round;
	int i;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		memset(&y, 0, sizeof(y));
		pthread_barrier_init(&y.begin, NULL, THREADS + 1);
		for (i = 0; i < THREADS; i++)
			spawn(&threads[i], come_and_go, &y);
		pthread_barrier_wait(&y.begin);
		for (i = 0; i < round % 7; i++)
			sched_yield();
		tkw__rundown_close(&y.r);
		y.closed = true;
		assert_int_equal(y.inside, 0);
		for (i = 0; i < THREADS; i++)
			join(threads[i]);
		assert_int_equal(TKW__LOAD(&y.r.inside, RELAXED),
				 TKW__RUNDOWN_CLOSED);
		pthread_barrier_destroy(&y.begin);
	}
}

struct hut {
	struct tkw__rundown r;
	atomic_int left;
};

static void *leave_hut(void *arg)
{
	struct hut *h = arg;

	h->left++;
	tkw__rundown_leave(&h->r);
	return NULL;
}

/* It may be freed at once, because a thread that leaves does not touch it
 * afterwards. */
static void test_rundown_is_freed_when_it_is_closed(void **state)
{
	pthread_t threads[2];
	struct hut *h;
	int round;
	int left;
	int i;

	(void)state;
	for (round = 0; round < 1000; round++) {
		h = calloc(1, sizeof(*h));
		assert_non_null(h);
		for (i = 0; i < 2; i++) {
			assert_true(tkw__rundown_enter(&h->r));
			spawn(&threads[i], leave_hut, h);
		}
		tkw__rundown_close(&h->r);
		left = h->left;
		free(h);
		for (i = 0; i < 2; i++)
			join(threads[i]);
		assert_int_equal(left, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rundown_lets_in_until_it_is_closed),
		cmocka_unit_test(test_rundown_that_nobody_entered),
		cmocka_unit_test(test_rundown_of_a_child),
		cmocka_unit_test(test_rundown_close_waits_for_all_inside),
		cmocka_unit_test(test_rundown_close_against_many_who_enter),
		cmocka_unit_test(test_rundown_is_freed_when_it_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
