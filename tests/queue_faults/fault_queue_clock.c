/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_clock.c - the wall clock of the machine is stepped for real.
 *
 * Only when asked for, because all processes of the machine see it:
 * TKW_STEP_CLOCK in the environment says by how many seconds. The clock is away
 * until a take has noticed, or for MAX_AWAY_MS. A child steps it and puts it
 * back. If the child dies, its parent puts the clock back.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "queue_fault_bed.h"
#include "skips.h"

enum {
	NOT_ALLOWED = 77,
	MAX_AWAY_MS = 1000,
	MIN_STEP_S = 10,
	SLACK_S = 2 /* a clock that is wrong by more is put back */
};

#define NSEC_PER_SEC INT64_C(1000000000)

static int64_t read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* --- the clock ------------------------------------------------------------ */

/* The wall clock minus the monotonic one, before the test. */
static int64_t right_ns;

static void note_clock(void)
{
	right_ns = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC);
}

/* How far the wall clock is ahead. */
static int64_t ahead_ns(void)
{
	return read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC) - right_ns;
}

/* Sets the wall clock that far ahead; 0 puts it back. */
static int set_ahead(int64_t by_ns)
{
	int64_t ns = right_ns + read_ns(CLOCK_MONOTONIC) + by_ns;
	struct timespec ts = { .tv_sec = ns / NSEC_PER_SEC,
			       .tv_nsec = ns % NSEC_PER_SEC };

	return clock_settime(CLOCK_REALTIME, &ts) == 0 ? 0 : -errno;
}

/* --- the child ------------------------------------------------------------ */

static void must(bool condition, int line)
{
	if (condition)
		return;
	(void)set_ahead(0);
	fprintf(stderr, "fault_queue_clock.c:%d\n", line);
	_exit(1);
}

#define MUST(condition) must(condition, __LINE__)

struct waiter {
	struct tkw_queue *q;
	pthread_t thread;
	uint64_t served; /* atomic: the id of its item */
};

/* Waits for ever, by nobody's polling. */
static void *wait_for_item(void *arg)
{
	struct waiter *w = arg;
	struct tkw_take how = { .wait_ms = INT64_MAX };
	struct tkw_items *items;

	MUST(tkw_queue_take(w->q, &how, &items) == 1);
	__atomic_store_n(&w->served, items->item[0].claim.id.bits,
			 __ATOMIC_RELEASE);
	tkw_items_free(items);
	return NULL;
}

static uint64_t served(struct waiter *w)
{
	return __atomic_load_n(&w->served, __ATOMIC_ACQUIRE);
}

static struct tkw_queue_stats stats(struct tkw_queue *q)
{
	struct tkw_queue_stats s;

	MUST(tkw_queue_get_stats(q, &s) == 0);
	return s;
}

static uint64_t put(struct tkw_queue *q, int64_t delay_ms)
{
	struct tkw_put p = { .payload = "work",
			     .payload_len = 4,
			     .delay_ms = delay_ms };
	struct tkw_item_id id;

	MUST(tkw_queue_put(q, &p, 1, &id) == 0);
	return id.bits;
}

/* Steps the clock, and puts it back. Returns how long the take took to notice,
 * or -1. */
static int64_t step(struct waiter *w, int64_t step_ns)
{
	int64_t begin = read_ns(CLOCK_MONOTONIC);
	int64_t end;

	if (set_ahead(step_ns) != 0)
		_exit(NOT_ALLOWED);
	do {
		usleep(100);
		end = read_ns(CLOCK_MONOTONIC);
	} while (!served(w) && end - begin < MAX_AWAY_MS * INT64_C(1000000));
	if (!served(w)) {
		MUST(set_ahead(0) == 0);
		return -1;
	}
	/* Ready while the clock is ahead. */
	put(w->q, 0);
	MUST(stats(w->q).ready == 1);
	MUST(set_ahead(0) == 0);
	return end - begin;
}

static void run_child(struct queue_fault_bed *b, int64_t step_ns)
{
	struct tkw_take at_once = { 0 };
	struct waiter w = { 0 };
	struct tkw_queues *f;
	struct tkw_items *items;
	uint64_t id;
	int64_t ns;

	MUST(tkw_queues_open(&f, b->path, NULL) == 0);
	MUST(tkw_queue_open(&w.q, f, "q") == 0);
	id = put(w.q, step_ns / 1000000);
	MUST(pthread_create(&w.thread, NULL, wait_for_item, &w) == 0);
	while (stats(w.q).waiting_takes != 1)
		usleep(100);
	MUST(!served(&w));
	ns = step(&w, step_ns);
	printf("the step was noticed after %lld us\n", (long long)ns / 1000);
	MUST(ns >= 0 && served(&w) == id);
	pthread_join(w.thread, NULL);
	/* What was ready is not due any more. */
	MUST(tkw_queue_take(w.q, &at_once, &items) == 0);
	MUST(stats(w.q).ready == 0 && stats(w.q).waiting == 1);
	MUST(tkw_queues_check(f) == NULL);
	MUST(tkw_queues_close(f) == 0);
	fflush(stdout);
	_exit(0);
}

/* --- its parent ----------------------------------------------------------- */

/* A signal must not end the parent while the clock is away. */
static void hold_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(how, &set, NULL);
}

static int64_t step_by_s(void)
{
	uint64_t s = queue_fault_number("TKW_STEP_CLOCK", 0);

	if (s == 0)
		skip_because("TKW_STEP_CLOCK does not ask for it");
	return s < MIN_STEP_S ? MIN_STEP_S : (int64_t)s;
}

/* SPEC 11.23: a step forwards is noticed at once, and a step back, too. */
static void fault_queue_clock_of_the_machine_is_stepped(void **state)
{
	int64_t step_s = step_by_s();
	int64_t wrong_ns;
	pid_t child;
	int status;

	note_clock();
	hold_signals(SIG_BLOCK);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_child(*state, step_s * NSEC_PER_SEC);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	wrong_ns = ahead_ns();
	if (llabs(wrong_ns) > SLACK_S * NSEC_PER_SEC)
		(void)set_ahead(0);
	hold_signals(SIG_UNBLOCK);
	print_message("a step of %lld s; the clock is %lld us off now\n",
		      (long long)step_s, (long long)wrong_ns / 1000);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_ALLOWED)
		skip_because("this process must not set the clock");
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(llabs(wrong_ns) < SLACK_S * NSEC_PER_SEC);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_clock_of_the_machine_is_stepped),
	};

	queue_fault_choose(argc, argv);
	return status_with_skips(cmocka_run_group_tests(tests, NULL, NULL));
}
