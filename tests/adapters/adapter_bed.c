/* SPDX-License-Identifier: MIT */
/*
 * adapter_bed.c - the tests of adapter_bed.h. They use the real clock. No test
 * waits for anything that might not come, and none depends on how long
 * something takes.
 */
#include "adapter_bed.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc_state.h"
#include "tickwheel/stats.h"
#include "tickwheel_epoll.h" /* for TKW_ADAPTER_MAX_TASKS */

enum {
	MANY = 100000,
	PAIRS = 5000, /* timeouts that have a socketpair */
	ROUNDS = 3,   /* packets for each socketpair */
	SPARE_FDS = 64,
	LOOKS = 20000 /* polls of a sleeping loop: about 200 ms */
};

#define FAR (3600 * TKW_SEC)

/* A timeout, and perhaps a connection that it belongs to. */
struct bed_conn {
	struct bed *bed;
	void *watch; /* NULL if there is no connection */
	struct tkw_timeout_id id;
	uint32_t fired;
	int near, far; /* the ends of the socketpair */
};

struct bed {
	void *loop;
	void *adapter;
	struct tkw_timer *t;
	uint32_t fired;
	uint32_t packets; /* read */
};

static const struct adapter_ops *ops;

void *bed_calloc(size_t count, size_t size)
{
	void *mem = calloc(count, size);

	assert_non_null(mem);
	return mem;
}

/* An adapter need not be initialised. */
static void *new_adapter(void)
{
	void *adapter = bed_calloc(1, ops->adapter_size);

	memset(adapter, 0xa5, ops->adapter_size);
	return adapter;
}

/* --- a loop with a timer in it ------------------------------------------- */

static void bed_open(struct bed *b)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_LOOP };

	*b = (struct bed){ .loop = ops->loop_open() };
	b->adapter = new_adapter();
	assert_int_equal(tkw_timer_create(&b->t, &cfg), 0);
	assert_int_equal(ops->attach(b->adapter, b->loop, b->t), 0);
	assert_ptr_equal(ops->timer_of(b->adapter), b->t);
}

static void bed_close(struct bed *b)
{
	ops->detach(b->adapter);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	ops->loop_close(b->loop);
	free(b->adapter);
}

static void count_it(const struct tkw_firing *firing, void *ctx)
{
	struct bed *b = ctx;

	(void)firing;
	b->fired++;
}

static struct tkw_timeout_id schedule(struct bed *b, tkw_task_fn *fn,
				      int64_t delay_ns)
{
	const struct tkw_task task = { .fn = fn, .ctx = b };
	struct tkw_timeout_id id = { 0 };

	assert_int_equal(tkw_timer_schedule(b->t, &task, delay_ns, &id), 0);
	return id;
}

static void run_until_fired(struct bed *b, uint32_t fired)
{
	while (b->fired < fired)
		ops->round(b->loop, true);
	assert_int_equal(b->fired, fired);
}

/* How many turns of the timer the adapter has ended. */
static uint64_t turns_of(struct bed *b)
{
	static struct tkw_stats stats;

	assert_int_equal(tkw_timer_get_stats(b->t, &stats), 0);
	return stats.turns;
}

/* --- connections --------------------------------------------------------- */

static void conn_open(struct bed_conn *c, void *watch)
{
	int ends[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	c->near = ends[0];
	c->far = ends[1];
	c->watch = watch;
	ops->watch(watch, c->bed->loop, c->near, c);
}

static void conn_close(struct bed_conn *c)
{
	ops->unwatch(c->watch);
	c->watch = NULL;
	close(c->near);
	close(c->far);
}

/* A packet pushes the idle timeout back. */
void bed_on_readable(struct bed_conn *c)
{
	char bytes[16];
	ssize_t n = recv(c->near, bytes, sizeof(bytes), 0);

	assert_true(n > 0);
	c->bed->packets += (uint32_t)n;
	if (c->id.bits != 0)
		assert_int_equal(tkw_timer_reschedule(c->bed->t, c->id, FAR),
				 0);
}

static void send_packet(const struct bed_conn *c)
{
	assert_int_equal(send(c->far, "x", 1, 0), 1);
}

static void run_until_read(struct bed *b, uint32_t packets)
{
	while (b->packets < packets)
		ops->round(b->loop, true);
	assert_int_equal(b->packets, packets);
}

/* --- tests of the contract ----------------------------------------------- */

static void test_adapter_refuses_what_is_no_loop_timer(void **state)
{
	void *adapter = new_adapter();
	const struct tkw_timer_config by_hand = { .drive = TKW_DRIVE_MANUAL };
	void *loop = ops->loop_open();
	struct tkw_timer *t;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &by_hand), 0);
	assert_int_equal(ops->attach(adapter, loop, NULL), -EINVAL);
	ops->detach(adapter);
	assert_int_equal(ops->attach(adapter, loop, t), -EINVAL);
	ops->detach(adapter);
	assert_int_equal(ops->attach(NULL, loop, t), -EINVAL);
	ops->detach(NULL);
	ops->loop_close(loop);
	assert_int_equal(tkw_timer_destroy(t), 0);
	free(adapter);
}

static void test_adapter_fires_what_is_due(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 3 * TKW_MSEC);
	schedule(&b, count_it, 0);
	schedule(&b, count_it, FAR);
	run_until_fired(&b, 2);
	assert_int_equal(tkw_timer_count(b.t), 1);
	bed_close(&b);
}

static void *schedule_elsewhere(void *arg)
{
	/* The loop is on the first thread. */
	while (!bed_is_asleep(getpid()))
		sched_yield();
	schedule(arg, count_it, 0);
	return NULL;
}

static void test_adapter_is_woken_by_another_thread(void **state)
{
	pthread_t thread;
	struct bed b;

	(void)state;
	bed_open(&b);
	assert_int_equal(pthread_create(&thread, NULL, schedule_elsewhere, &b),
			 0);
	run_until_fired(&b, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	bed_close(&b);
}

/* The loop handles its other events between the two rounds. */
static void test_adapter_fires_so_many_in_a_round(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	for (int i = 0; i < TKW_ADAPTER_MAX_TASKS + 1; i++)
		schedule(&b, count_it, 0);
	ops->round(b.loop, true);
	assert_int_equal(b.fired, TKW_ADAPTER_MAX_TASKS);
	run_until_fired(&b, TKW_ADAPTER_MAX_TASKS + 1);
	b.fired = 0;
	ops->set_max_tasks(b.adapter, 100);
	for (int i = 0; i < 250; i++)
		schedule(&b, count_it, 0);
	ops->round(b.loop, true);
	assert_int_equal(b.fired, 100);
	ops->round(b.loop, true);
	assert_int_equal(b.fired, 200);
	run_until_fired(&b, 250);
	bed_close(&b);
}

static void test_adapter_is_inert_in_a_forked_child(void **state)
{
	int status = -1;
	struct bed b;
	pid_t child;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (ops->loop_forked)
			ops->loop_forked(b.loop);
		ops->round(b.loop, true);
		/* Otherwise the fd would keep the loop busy for ever. */
		if (ops->loop_forked && ops->timer_of(b.adapter))
			_exit(2);
		ops->detach(b.adapter); /* this does not affect the parent */
		_exit(b.fired == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	run_until_fired(&b, 1);
	bed_close(&b);
}

/* --- the end, in each order ---------------------------------------------- */

static void test_adapter_detach_destroy_close(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 0); /* the fd is readable */
	ops->detach(b.adapter);
	assert_null(ops->timer_of(b.adapter));
	ops->round(b.loop, false);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
	ops->round(b.loop, false);
	ops->loop_close(b.loop);
	free(b.adapter);
	assert_int_equal(b.fired, 0);
}

static void test_adapter_detach_close_destroy(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 0);
	ops->detach(b.adapter);
	ops->loop_close(b.loop);
	free(b.adapter);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
	assert_int_equal(b.fired, 0);
}

static void test_adapter_close_while_attached(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, FAR);
	ops->loop_close(b.loop);
	if (ops->detach_after_close)
		ops->detach(b.adapter);
	free(b.adapter);
	/* The timer still works, in another loop too. */
	schedule(&b, count_it, 0);
	b.loop = ops->loop_open();
	b.adapter = new_adapter();
	assert_int_equal(ops->attach(b.adapter, b.loop, b.t), 0);
	run_until_fired(&b, 1);
	ops->loop_close(b.loop);
	free(b.adapter);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
}

static void test_adapter_stop_detach_destroy(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 0);
	assert_int_equal(tkw_timer_stop(b.t, NULL, NULL), 0);
	ops->round(b.loop, false);
	ops->round(b.loop, false);
	assert_int_equal(b.fired, 0);
	bed_close(&b);
}

static void test_adapter_stop_close_destroy(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 0);
	assert_int_equal(tkw_timer_stop(b.t, NULL, NULL), 0);
	ops->loop_close(b.loop);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
	free(b.adapter);
	assert_int_equal(b.fired, 0);
}

static void test_adapter_detach_twice_and_attach_again(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, count_it, 0);
	for (int i = 0; i < 3; i++) {
		ops->detach(b.adapter);
		ops->detach(b.adapter);
		ops->round(b.loop, false); /* libuv needs a round here */
		ops->detach(b.adapter);
		assert_int_equal(ops->attach(b.adapter, b.loop, b.t), 0);
	}
	run_until_fired(&b, 1);
	bed_close(&b);
}

static void detach_it(const struct tkw_firing *firing, void *ctx)
{
	struct bed *b = ctx;

	count_it(firing, ctx);
	ops->detach(b->adapter);
}

/* The current run ends as usual, and no other run follows. */
static void test_adapter_detach_in_a_task(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	ops->set_max_tasks(b.adapter, 2);
	schedule(&b, detach_it, 0);
	schedule(&b, count_it, 0);
	schedule(&b, count_it, 0);
	run_until_fired(&b, 2);
	ops->round(b.loop, false);
	ops->round(b.loop, false);
	assert_int_equal(b.fired, 2);
	assert_int_equal(ops->attach(b.adapter, b.loop, b.t), 0);
	run_until_fired(&b, 3);
	bed_close(&b);
}

static void free_it(const struct tkw_firing *firing, void *ctx)
{
	struct bed *b = ctx;

	count_it(firing, ctx);
	ops->detach_and_free(b->adapter);
	b->adapter = NULL;
}

static void test_adapter_free_in_a_task(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, free_it, 0);
	schedule(&b, count_it, 0);
	run_until_fired(&b, 2);
	ops->round(b.loop, false);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
	ops->loop_close(b.loop);
}

static void stop_in_vain(const struct tkw_firing *firing, void *ctx)
{
	struct bed *b = ctx;

	count_it(firing, ctx);
	assert_int_equal(tkw_timer_destroy(b->t), -EDEADLK);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), -EDEADLK);
}

static void test_adapter_destroy_in_a_task_is_refused(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	schedule(&b, stop_in_vain, 0);
	run_until_fired(&b, 1);
	bed_close(&b);
}

/* --- many ---------------------------------------------------------------- */

/* Returns how many pairs the limit on descriptors allows. */
static uint32_t raise_limit(void)
{
	const rlim_t wanted = 2 * PAIRS + SPARE_FDS;
	struct rlimit limit;
	uint64_t pairs;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	assert_true(limit.rlim_cur > (rlim_t)2 * SPARE_FDS);
	pairs = (limit.rlim_cur - SPARE_FDS) / 2;
	if (pairs >= PAIRS)
		return PAIRS;
	printf("%u socketpairs instead of %d: the system allows no more\n",
	       (unsigned)pairs, PAIRS);
	return (uint32_t)pairs;
}

static void on_idle(const struct tkw_firing *firing, void *ctx)
{
	struct bed_conn *c = ctx;

	assert_int_equal(firing->id.bits, c->id.bits);
	c->fired++;
	c->bed->fired++;
	if (c->watch)
		conn_close(c);
}

/* Each packet moves one timeout to FAR after the packet. */
static void push_all_back(struct bed *b, const struct bed_conn *conns,
			  uint32_t pairs)
{
	uint32_t packets = b->packets;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		int64_t begin_ns = tkw_timer_now_ns(b->t);
		struct tkw_timeout_info info;

		for (uint32_t i = 0; i < pairs; i++)
			send_packet(&conns[i]);
		packets += pairs;
		run_until_read(b, packets);
		for (uint32_t i = 0; i < pairs; i++) {
			assert_int_equal(
				tkw_timer_get(b->t, conns[i].id, &info), 0);
			assert_true(info.deadline_ns >= begin_ns + FAR);
		}
	}
}

static void *send_later(void *arg)
{
	for (uint32_t looks = 0; looks < LOOKS;) {
		if (bed_is_asleep(getpid()))
			looks++;
	}
	send_packet(arg);
	return NULL;
}

/* A turn comes once, for a timeout that was pushed back. After that, the loop
 * sleeps until a packet comes, a while later. */
static void see_that_it_sleeps(struct bed *b, struct bed_conn *c)
{
	uint64_t turns = turns_of(b);
	uint64_t rounds = 0;
	struct tkw_timeout_id id;
	pthread_t thread;

	id = schedule(b, count_it, 20 * TKW_MSEC);
	assert_int_equal(tkw_timer_reschedule(b->t, id, FAR), 0);
	while (turns_of(b) == turns)
		ops->round(b->loop, true);
	assert_int_equal(turns_of(b), turns + 1);
	assert_int_equal(b->fired, 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);

	assert_int_equal(pthread_create(&thread, NULL, send_later, c), 0);
	for (uint32_t packets = b->packets; b->packets == packets; rounds++)
		ops->round(b->loop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(turns_of(b), turns + 1);
	assert_int_equal(rounds, 1);
}

static void test_adapter_100000_idle_timeouts(void **state)
{
	struct bed_conn *conns = bed_calloc(MANY, sizeof(*conns));
	uint32_t pairs = raise_limit();
	char *watches = bed_calloc(pairs, ops->watch_size);
	struct bed b;

	(void)state;
	bed_open(&b);
	for (uint32_t i = 0; i < MANY; i++) {
		struct bed_conn *c = &conns[i];
		const struct tkw_task task = { .fn = on_idle, .ctx = c };

		c->bed = &b;
		if (i < pairs)
			conn_open(c, watches + i * ops->watch_size);
		assert_int_equal(tkw_timer_schedule(b.t, &task, FAR, &c->id),
				 0);
	}
	push_all_back(&b, conns, pairs);
	assert_int_equal(turns_of(&b), 0);
	see_that_it_sleeps(&b, &conns[0]);
	assert_int_equal(b.fired, 0);
	assert_int_equal(tkw_timer_count(b.t), MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(tkw_timer_reschedule(b.t, conns[i].id,
						      i % 20 * TKW_MSEC),
				 0);
	run_until_fired(&b, MANY);
	ops->round(b.loop, false);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(conns[i].fired, 1);
	assert_int_equal(tkw_timer_count(b.t), 0);
	assert_null(tkw_timer_check(b.t));
	bed_close(&b);
	free(watches);
	free(conns);
}

int bed_main(const struct adapter_ops *library)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adapter_refuses_what_is_no_loop_timer),
		cmocka_unit_test(test_adapter_fires_what_is_due),
		cmocka_unit_test(test_adapter_is_woken_by_another_thread),
		cmocka_unit_test(test_adapter_fires_so_many_in_a_round),
		cmocka_unit_test(test_adapter_is_inert_in_a_forked_child),
		cmocka_unit_test(test_adapter_detach_destroy_close),
		cmocka_unit_test(test_adapter_detach_close_destroy),
		cmocka_unit_test(test_adapter_close_while_attached),
		cmocka_unit_test(test_adapter_stop_detach_destroy),
		cmocka_unit_test(test_adapter_stop_close_destroy),
		cmocka_unit_test(test_adapter_detach_twice_and_attach_again),
		cmocka_unit_test(test_adapter_detach_in_a_task),
		cmocka_unit_test(test_adapter_free_in_a_task),
		cmocka_unit_test(test_adapter_destroy_in_a_task_is_refused),
		cmocka_unit_test(test_adapter_100000_idle_timeouts),
	};

	ops = library;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
