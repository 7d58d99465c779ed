/* SPDX-License-Identifier: MIT */
/*
 * test_loop.c - SPEC 9.1: a timer in an event loop. The other files of this
 * folder test what holds for each drive. This one tests tkw_timer_fd() and the
 * bound of a turn. On the real clock there are only lower bounds, and waits for
 * what must come. Such a wait ends after half a minute.
 */
#include "timer_bed.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tickwheel/exec.h"

#define HOUR_NS (TKW_SEC * 3600)
#define YEAR_NS (HOUR_NS * 24 * 365)

enum {
	LONG_MS = 30000
};

/*
 * The linker (--wrap) sends each setting of an alarm here. The assembler names
 * are needed because C reserves names with two underscores.
 */
#define NAMED(name) __asm__(name)
int real_settime(int fd, int flags, const struct itimerspec *value,
		 struct itimerspec *old) NAMED("__real_timerfd_settime");
int wrap_settime(int fd, int flags, const struct itimerspec *value,
		 struct itimerspec *old) NAMED("__wrap_timerfd_settime");

static atomic_uint alarms;

int wrap_settime(int fd, int flags, const struct itimerspec *value,
		 struct itimerspec *old)
{
	atomic_fetch_add(&alarms, 1);
	return real_settime(fd, flags, value, old);
}

/* --- a timer on the real clock ------------------------------------------- */

static struct tkw_timer *open_real(int shards, const struct tkw_exec *exec)
{
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_LOOP,
					      .shards = shards,
					      .exec = exec };
	struct tkw_timer *t = NULL;

	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_true(tkw_timer_fd(t) >= 0);
	return t;
}

static void close_real(struct tkw_timer *t)
{
	struct tkw_ledger l;

	assert_null(tkw_timer_check(t));
	assert_int_equal(tkw_timer_get_ledger(t, &l), 0);
	assert_true(l.accepted == l.fired + l.cancelled + l.dropped +
					  l.handed_over + l.pending);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

static bool is_readable(struct tkw_timer *t, int wait_ms)
{
	struct pollfd p = { .fd = tkw_timer_fd(t), .events = POLLIN };
	int ret;

	do {
		ret = poll(&p, 1, wait_ms);
	} while (ret < 0 && errno == EINTR);
	assert_true(ret >= 0);
	return ret == 1;
}

struct note {
	atomic_uint fired;
	atomic_int early; /* fired before its deadline */
};

static void note_fired(const struct tkw_firing *f, void *ctx)
{
	struct note *n = ctx;

	if (tkw_timer_now_ns(f->timer) < f->deadline_ns)
		atomic_fetch_add(&n->early, 1);
	atomic_fetch_add(&n->fired, 1);
}

static struct tkw_timeout_id add_note(struct tkw_timer *t, struct note *n,
				      int64_t delay_ns)
{
	const struct tkw_task task = { .fn = note_fired, .ctx = n };
	struct tkw_timeout_id id = { 0 };

	assert_int_equal(tkw_timer_schedule(t, &task, delay_ns, &id), 0);
	return id;
}

/* Polls and makes turns, as a loop does, until this many have fired. Returns
 * how often it was woken. */
static unsigned run_until(struct tkw_timer *t, struct note *n, unsigned fired)
{
	unsigned woken = 0;

	while (atomic_load(&n->fired) < fired) {
		assert_true(is_readable(t, LONG_MS));
		assert_true(tkw_timer_turn(t, 0, NULL) >= 0);
		woken++;
	}
	return woken;
}

/* SPEC 4.1, 9.1 */
static void test_loop_fd_is_readable_at_the_deadline(void **state)
{
	struct tkw_timer *t = open_real(0, NULL);
	struct note n = { .fired = 0 };
	int64_t at_ns;
	int i;

	(void)state;
	assert_false(is_readable(t, 0));
	for (i = 0; i < 5; i++) {
		at_ns = tkw_timer_now_ns(t) + 20 * TKW_MSEC;
		add_note(t, &n, 20 * TKW_MSEC);
		add_note(t, &n, HOUR_NS);
		assert_true(is_readable(t, LONG_MS));
		assert_true(tkw_timer_now_ns(t) >= at_ns);
		assert_int_equal(tkw_timer_turn(t, 0, NULL), 1);
		assert_int_equal(n.fired, i + 1);
		/* for an hour */
		assert_false(is_readable(t, 0));
	}
	assert_int_equal(n.early, 0);
	close_real(t);
}

struct other {
	struct tkw_timer *t;
	struct note *n;
	int64_t delay_ns;
	unsigned count;
};

static void *add_from_another(void *arg)
{
	const struct other *o = arg;
	unsigned i;

	for (i = 0; i < o->count; i++)
		add_note(o->t, o->n, o->delay_ns * (1 + i % 4));
	return NULL;
}

/* SPEC 4.2, 9.1: a timeout is scheduled while the loop polls, for an hour as
 * far as it knows. */
static void test_loop_is_woken_for_an_earlier_one(void **state)
{
	struct tkw_timer *t = open_real(4, NULL);
	struct note n = { .fired = 0 };
	struct other o = { t, &n, TKW_MSEC, 1 };
	pthread_t thread;
	unsigned i;

	(void)state;
	add_note(t, &n, HOUR_NS);
	for (i = 0; i < 50; i++) {
		assert_true(tkw_timer_turn(t, 0, NULL) >= 0);
		assert_int_equal(
			pthread_create(&thread, NULL, add_from_another, &o), 0);
		run_until(t, &n, i + 1);
		pthread_join(thread, NULL);
	}
	assert_int_equal(n.early, 0);
	close_real(t);
}

/* SPEC 4.3: at most one useless wake-up, and then none. */
static void test_loop_wakes_once_for_what_was_cancelled(void **state)
{
	struct tkw_timer *t = open_real(0, NULL);
	struct note n = { .fired = 0 };
	int64_t next_ns = 0;
	struct tkw_timeout_id id;

	(void)state;
	assert_int_equal(tkw_timer_turn(t, 0, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
	assert_false(is_readable(t, 0));
	id = add_note(t, &n, 5 * TKW_MSEC);
	assert_int_equal(tkw_timer_cancel(t, id), 0);
	assert_true(is_readable(t, LONG_MS));
	assert_int_equal(tkw_timer_turn(t, 0, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
	assert_false(is_readable(t, 20));
	assert_int_equal(n.fired, 0);
	close_real(t);
}

/* SPEC 6.2, 9.1 */
static void test_loop_is_silent_after_stop(void **state)
{
	struct tkw_timer *t = open_real(0, NULL);
	struct note n = { .fired = 0 };
	int64_t next_ns = 77;

	(void)state;
	add_note(t, &n, 0);
	add_note(t, &n, 0);
	assert_int_equal(tkw_timer_turn(t, 1, NULL), 1);
	assert_true(is_readable(t, LONG_MS));
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
	assert_false(is_readable(t, 5));
	assert_int_equal(tkw_timer_turn(t, 0, &next_ns), -ESHUTDOWN);
	assert_true(next_ns == 77);
	assert_int_equal(n.fired, 1);
	close_real(t);
}

/* SPEC 9.1: edge-triggered polling, as timer.h says. Each turn that leaves
 * something makes a new edge. */
static void test_loop_works_with_edges(void **state)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	struct tkw_timer *t = open_real(0, NULL);
	struct note n = { .fired = 0 };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	unsigned i;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(epoll_ctl(fd, EPOLL_CTL_ADD, tkw_timer_fd(t), &e), 0);
	for (i = 0; i < 20; i++)
		add_note(t, &n, (i / 5) * TKW_MSEC);
	while (n.fired < 20) {
		assert_int_equal(epoll_wait(fd, &e, 1, LONG_MS), 1);
		assert_true(tkw_timer_turn(t, 2, NULL) <= 2);
	}
	assert_int_equal(epoll_wait(fd, &e, 1, 0), 0);
	close(fd);
	close_real(t);
}

/* --- system calls -------------------------------------------------------- */

/* SPEC 4.2, 9.1: a later timeout needs no system call, and an earlier one needs
 * one. A tick is a year, so that at most one begins meanwhile. */
static void test_loop_sets_the_alarm_only_for_an_earlier_one(void **state)
{
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_LOOP,
					      .tick_ns = YEAR_NS };
	struct tkw_timer *t = NULL;
	struct note n = { .fired = 0 };
	struct tkw_timeout_id id;
	int i;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	atomic_store(&alarms, 0);
	id = add_note(t, &n, 7 * YEAR_NS);
	assert_int_equal(alarms, 1);
	for (i = 0; i < 100000; i++)
		assert_int_equal(
			tkw_timer_reschedule(t, id, YEAR_NS * 8 + TKW_MSEC * i),
			0);
	for (i = 0; i < 1000; i++)
		add_note(t, &n, YEAR_NS * 9 + TKW_SEC * i);
	assert_int_equal(alarms, 1);
	/* The alarm is already right for all these turns. */
	for (i = 0; i < 1000; i++)
		assert_int_equal(tkw_timer_turn(t, i % 3, NULL), 0);
	assert_int_equal(alarms, 1);
	add_note(t, &n, 5 * YEAR_NS);
	assert_int_equal(alarms, 2);
	assert_int_equal(tkw_timer_turn(t, 0, NULL), 0);
	assert_int_equal(alarms, 2);
	assert_int_equal(tkw_timer_reschedule(t, id, 3 * YEAR_NS), 0);
	assert_int_equal(alarms, 3);
	close_real(t);
}

/* A turn that fires something sets the alarm once, for the next timeout. */
static void test_loop_sets_the_alarm_once_a_turn(void **state)
{
	struct tkw_timer *t = open_real(0, NULL);
	struct note n = { .fired = 0 };
	unsigned i;

	(void)state;
	add_note(t, &n, HOUR_NS);
	for (i = 0; i < 10; i++) {
		add_note(t, &n, 0);
		add_note(t, &n, 0);
		atomic_store(&alarms, 0);
		/* One per turn. There may be several turns, because the clock
		 * goes on. */
		assert_true(run_until(t, &n, 2 * (i + 1)) >= alarms);
	}
	close_real(t);
}

/* --- bounds -------------------------------------------------------------- */

/* The bed's timer has a virtual clock, but its fd follows the real time. What
 * is due makes the fd readable at once. */
static void test_loop_bounded_turns_keep_the_order(struct timer_bed *b)
{
	const bool has_fd = b->drive == TKW_DRIVE_LOOP;
	int max_tasks;

	for (max_tasks = 1; max_tasks <= 12; max_tasks++) {
		const uint64_t all = 10;
		uint64_t left = all;
		uint64_t i;

		for (i = 0; i < all; i++)
			bed_schedule(b, i, (int64_t)(i / 3) * TKW_MSEC);
		bed_set_clock(b, b->now_ns + 10 * TKW_MSEC);
		while (left > 0) {
			const int fired = tkw_timer_turn(b->t, max_tasks, NULL);

			assert_true(fired > 0 && fired <= max_tasks);
			left -= (uint64_t)fired;
			if (has_fd)
				assert_int_equal(is_readable(b->t, 0),
						 left > 0);
		}
		bed_assert_fired(b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
		bed_assert_ledger(b, 0);
	}
}
BED_TEST(test_loop_bounded_turns_keep_the_order)

/* Timeouts that come while a turn is cut short wait for its end. */
static void test_loop_late_ones_wait_for_what_was_left(struct timer_bed *b)
{
	int64_t next_ns = 0;
	uint64_t i;

	for (i = 0; i < 4; i++)
		bed_schedule(b, i, (int64_t)(i + 1) * TKW_MSEC);
	bed_set_clock(b, b->now_ns + 10 * TKW_MSEC);
	assert_int_equal(tkw_timer_turn(b->t, 2, &next_ns), 2);
	assert_true(next_ns <= b->now_ns);
	bed_schedule(b, 4, 0);
	bed_schedule(b, 5, -TKW_SEC);
	/* This is the rest of that turn. The others are due, too. */
	assert_int_equal(tkw_timer_turn(b->t, 0, &next_ns), 2);
	assert_true(next_ns <= b->now_ns);
	bed_assert_fired(b, 0, 1, 2, 3);
	assert_int_equal(tkw_timer_turn(b->t, 1, NULL), 1);
	assert_int_equal(tkw_timer_turn(b->t, 1, &next_ns), 1);
	assert_true(next_ns == TKW_NEVER_NS);
	bed_assert_fired(b, 4, 5);
}
BED_TEST(test_loop_late_ones_wait_for_what_was_left)

/* What a cut turn has left can be cancelled, moved or handed over. */
static void test_loop_what_was_left_can_be_changed(struct timer_bed *b)
{
	struct tkw_timeout_id ids[6];
	uint64_t i;

	for (i = 0; i < 6; i++)
		ids[i] = bed_schedule(b, i, (int64_t)(1 + i / 3) * TKW_MSEC);
	bed_set_clock(b, b->now_ns + 10 * TKW_MSEC);
	assert_int_equal(tkw_timer_turn(b->t, 1, NULL), 1);
	assert_int_equal(tkw_timer_cancel(b->t, ids[1]), 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[2], TKW_SEC), 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[3], 0), 0);
	bed_assert_ledger(b, 4);
	assert_int_equal(tkw_timer_turn(b->t, 1, NULL), 1);
	bed_assert_fired(b, 0, 4);
	assert_int_equal(tkw_timer_cancel(b->t, ids[5]), 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 3);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_fired(b, 2);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_loop_what_was_left_can_be_changed)

static void again_at_once(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task task = { .fn = again_at_once, .ctx = ctx };

	++*(unsigned *)ctx;
	tkw_timer_schedule(f->timer, &task, 0, NULL);
}

/* SPEC 4.6, fault 6: it does not starve others, whatever the bound. */
static void test_loop_re_arming_starves_nobody(struct timer_bed *b)
{
	unsigned rounds = 0;
	const struct tkw_task task = { .fn = again_at_once, .ctx = &rounds };
	unsigned runs = 0;
	uint64_t i;

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	for (i = 0; i < 5; i++)
		bed_schedule(b, i, (int64_t)(i + 1) * TKW_MSEC);
	bed_set_clock(b, b->now_ns + 10 * TKW_MSEC);
	while (b->fired_count < 5) {
		assert_int_equal(tkw_timer_turn(b->t, 1, NULL), 1);
		assert_true(++runs <= 7);
	}
	bed_assert_fired(b, 0, 1, 2, 3, 4);
	assert_true(rounds >= 1);
}
BED_TEST(test_loop_re_arming_starves_nobody)

/* --- clock, threads, executor -------------------------------------------- */

/* SPEC 9.1: a clock of the caller, which stands still. What is due by that
 * clock makes the fd readable, and nothing else fires. */
static void test_loop_has_the_callers_clock(struct timer_bed *b)
{
	bed_schedule(b, 1, TKW_MSEC);
	/* It rings so that the loop reads that clock. */
	assert_true(is_readable(b->t, LONG_MS));
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 0);
	bed_assert_nothing_fired(b);
	bed_set_clock(b, b->now_ns + 2 * TKW_MSEC);
	assert_true(is_readable(b->t, LONG_MS));
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 1);
	bed_assert_fired(b, 1);
	assert_false(is_readable(b->t, 0));
}
BED_TEST(test_loop_has_the_callers_clock)

enum {
	PRODUCERS = 4,
	EACH = 500
};

/* SPEC 9.1: many shards, and many threads that schedule. */
static void test_loop_takes_from_many_threads(void **state)
{
	struct tkw_timer *t = open_real(8, NULL);
	struct note n = { .fired = 0 };
	struct other o = { t, &n, TKW_MSEC / 2, EACH };
	pthread_t threads[PRODUCERS];
	struct tkw_ledger l;
	size_t i;

	(void)state;
	for (i = 0; i < PRODUCERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, add_from_another, &o),
			0);
	while (n.fired < PRODUCERS * EACH) {
		assert_true(is_readable(t, LONG_MS));
		assert_true(tkw_timer_turn(t, 7, NULL) >= 0);
	}
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(tkw_timer_get_ledger(t, &l), 0);
	assert_true(l.fired == (uint64_t)PRODUCERS * EACH && l.pending == 0);
	assert_int_equal(n.early, 0);
	close_real(t);
}

/* SPEC 4.8, 9.1: the turn gives tasks to a pool, and does not count them. */
static void test_loop_gives_to_an_executor(void **state)
{
	const struct tkw_pool_config cfg = { .threads = 2 };
	struct note n = { .fired = 0 };
	struct tkw_pool *pool = NULL;
	struct tkw_timer *t;
	unsigned i;

	(void)state;
	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	t = open_real(0, tkw_pool_exec(pool));
	for (i = 0; i < 20; i++)
		add_note(t, &n, (i / 4) * TKW_MSEC);
	while (tkw_timer_count(t) > 0) {
		if (is_readable(t, 1))
			assert_int_equal(tkw_timer_turn(t, 3, NULL), 0);
	}
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
	assert_int_equal(n.fired, 20);
	assert_int_equal(n.early, 0);
	close_real(t);
	tkw_pool_destroy(pool);
}

/* --- what is refused ----------------------------------------------------- */

static void test_loop_fd_is_of_this_drive_only(void **state)
{
	const int drives[] = { TKW_DRIVE_THREAD, TKW_DRIVE_MANUAL };
	size_t i;

	(void)state;
	assert_int_equal(tkw_timer_fd(NULL), -EINVAL);
	for (i = 0; i < 2; i++) {
		const struct tkw_timer_config cfg = { .drive = drives[i] };
		struct tkw_timer *t = NULL;

		assert_int_equal(tkw_timer_create(&t, &cfg), 0);
		assert_int_equal(tkw_timer_fd(t), -EINVAL);
		assert_int_equal(tkw_timer_destroy(t), 0);
	}
}

/* The worker makes the turns, whether it is started or not. */
static void test_loop_no_turns_beside_a_worker(struct timer_bed *b)
{
	int64_t next_ns = 77;

	assert_int_equal(tkw_timer_turn(NULL, 0, &next_ns), -EINVAL);
	assert_int_equal(tkw_timer_turn(b->t, 0, &next_ns), -EINVAL);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_int_equal(tkw_timer_turn(b->t, 1, &next_ns), -EINVAL);
	assert_true(next_ns == 77);
}
BED_TEST(test_loop_no_turns_beside_a_worker)

struct inside {
	struct tkw_timer *t;
	int turn;
	int fd;
	int from_other;
};

static void *turn_from_another(void *arg)
{
	struct inside *in = arg;

	in->from_other = tkw_timer_turn(in->t, INT_MAX, NULL);
	return NULL;
}

static void turn_inside(const struct tkw_firing *f, void *ctx)
{
	struct inside *in = ctx;
	pthread_t thread;

	in->turn = tkw_timer_turn(f->timer, INT_MIN, NULL);
	in->fd = tkw_timer_fd(f->timer);
	if (pthread_create(&thread, NULL, turn_from_another, in) == 0)
		pthread_join(thread, NULL);
}

/* SPEC 4.6, 9.1 */
static void test_loop_one_turn_at_a_time(struct timer_bed *b)
{
	struct inside in = { .t = b->t };
	const struct tkw_task task = { .fn = turn_inside, .ctx = &in };

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 1);
	assert_int_equal(in.turn, -EDEADLK);
	assert_int_equal(in.from_other, -EBUSY);
	assert_int_equal(in.fd, tkw_timer_fd(b->t));
}
BED_TEST(test_loop_one_turn_at_a_time)

/* SPEC 6.7 */
static void test_loop_in_a_child_is_refused(struct timer_bed *b)
{
	int status = 0;
	pid_t pid;

	bed_schedule(b, 1, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(tkw_timer_fd(b->t) == -EPERM &&
				      tkw_timer_turn(b->t, 0, NULL) == -EPERM
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	bed_pass(b, TKW_MSEC);
	bed_assert_fired(b, 1);
}
BED_TEST(test_loop_in_a_child_is_refused)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop_fd_is_readable_at_the_deadline),
		cmocka_unit_test(test_loop_is_woken_for_an_earlier_one),
		cmocka_unit_test(test_loop_wakes_once_for_what_was_cancelled),
		cmocka_unit_test(test_loop_is_silent_after_stop),
		cmocka_unit_test(test_loop_works_with_edges),
		cmocka_unit_test(
			test_loop_sets_the_alarm_only_for_an_earlier_one),
		cmocka_unit_test(test_loop_sets_the_alarm_once_a_turn),
		BED_TESTS_BY_HAND(test_loop_bounded_turns_keep_the_order),
		BED_TESTS_BY_HAND(test_loop_late_ones_wait_for_what_was_left),
		BED_TESTS_BY_HAND(test_loop_what_was_left_can_be_changed),
		BED_TESTS_BY_HAND(test_loop_re_arming_starves_nobody),
		BED_TEST_UNDER(test_loop_has_the_callers_clock, loop),
		cmocka_unit_test(test_loop_takes_from_many_threads),
		cmocka_unit_test(test_loop_gives_to_an_executor),
		cmocka_unit_test(test_loop_fd_is_of_this_drive_only),
		BED_TEST_UNDER(test_loop_no_turns_beside_a_worker, thread),
		BED_TEST_UNDER(test_loop_one_turn_at_a_time, loop),
		BED_TEST_UNDER(test_loop_in_a_child_is_refused, loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
