/* SPDX-License-Identifier: MIT */
/*
 * scenarios_fire.c - the worker fires while other threads schedule, cancel or
 * query.
 */
#include <errno.h>

#include "scenario_timer.h"

static void *add_now_and_soon(void *arg)
{
	explore_check(add(1, 0) == 0);
	explore_check(add(2, TKW_MSEC) == 0);
	return arg;
}

/* SPEC 3.3, 4.1: each fires once, and when it is due. */
void schedule_against_fire(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, 0) == 0);
	a = explore_spawn("two", add_now_and_soon, NULL);
	b = spawn("one", thread_add_now, 3);
	for (unsigned i = 0; i < 4; i++)
		await_fired(i, 1);
	explore_join(a);
	explore_join(b);
	close_timer();
	explore_check(run.fired == 4);
}

/* The first task blocks the worker until all other timeouts are overdue. */
static void stall(unsigned tag)
{
	if (tag == 0)
		explore_sleep_until(EXPLORE_START_NS + 9 * TKW_MSEC);
}

static void *add_second_and_fourth(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + TKW_MSEC);
	explore_check(add_at(2, EXPLORE_START_NS + 3 * TKW_MSEC) == 0);
	explore_check(add_at(4, EXPLORE_START_NS + 5 * TKW_MSEC) == 0);
	return arg;
}

static void *add_first_and_third(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + TKW_MSEC);
	explore_check(add_at(3, EXPLORE_START_NS + 4 * TKW_MSEC) == 0);
	explore_check(add_at(1, EXPLORE_START_NS + 2 * TKW_MSEC) == 0);
	return arg;
}

/* SPEC 4.4, fault 16: ticks fire in order over all shards, even after a
 * stall. */
void ticks_of_two_shards(void)
{
	int a, b;

	open_timer(2);
	run.in_task = stall;
	run.stall_ns = 9 * TKW_MSEC;
	explore_check(add(0, TKW_MSEC) == 0);
	a = explore_spawn("even", add_second_and_fourth, NULL);
	b = explore_spawn("odd", add_first_and_third, NULL);
	explore_join(a);
	explore_join(b);
	for (unsigned i = 0; i < 5; i++)
		await_fired(i, 1);
	for (unsigned i = 0; i < 5; i++)
		explore_check(run.order[i] == i);
	close_timer();
}

static void cancel_the_third(unsigned tag)
{
	int err;

	if (tag != 0)
		return;
	err = cancel(2);
	explore_check(err == 0 || err == -ENOENT);
	explore_check(cancel(0) == -EBUSY);
}

static void *cancel_second_and_third(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + TKW_MSEC);
	cancel(1);
	explore_check(cancel(2) != -EBUSY);
	return arg;
}

/* SPEC 4.5, 4.6, faults 7 and 8: a timeout in the due batch can be
 * cancelled. */
void cancel_of_the_next_in_line(void)
{
	int a, b;

	open_timer(1);
	run.in_task = cancel_the_third;
	explore_check(add(0, TKW_MSEC) == 0);
	explore_check(add(1, TKW_MSEC) == 0);
	explore_check(add(2, TKW_MSEC) == 0);
	a = explore_spawn("cancel", cancel_second_and_third, NULL);
	b = spawn("soon", thread_add_soon, 3);
	explore_join(a);
	explore_join(b);
	await_fired(0, 1);
	await_fired(3, 1);
	close_timer();
	explore_check(run.tag[2].cancelled == 1 && run.tag[2].begun == 0);
	explore_check(run.tag[1].fired + run.tag[1].cancelled == 1);
}

static void add_at_the_limit(unsigned tag)
{
	int err;

	if (tag != 0)
		return;
	err = add(3, 3600 * TKW_SEC);
	explore_check(err == 0 || err == -EAGAIN);
}

static void *try_add(void *tag)
{
	int err = add((unsigned)(uintptr_t)tag, 3600 * TKW_SEC);

	explore_check(err == 0 || err == -EAGAIN);
	return NULL;
}

/* SPEC 3.6, 4.5: the place is free before the task runs, so either the task or
 * another thread gets it. */
void limit_against_fire(void)
{
	int a;

	open_limited(2, 2);
	run.in_task = add_at_the_limit;
	explore_check(add(1, 3600 * TKW_SEC) == 0);
	explore_check(add(0, 0) == 0);
	a = spawn("add", try_add, 2);
	await_fired(0, 1);
	explore_join(a);
	explore_check(run.tag[2].accepted + run.tag[3].accepted == 1);
	explore_check(add(4, 0) == -EAGAIN);
	close_timer();
}

static void *read_ledger(void *arg)
{
	struct tkw_ledger one, two;

	explore_check(tkw_timer_get_ledger(run.t, &one) == 0);
	check_balance();
	explore_check(tkw_timer_get_ledger(run.t, &two) == 0);
	explore_check(one.accepted == one.fired + one.cancelled +
					      one.handed_over + one.pending);
	explore_check(one.accepted <= two.accepted && one.fired <= two.fired);
	explore_check(one.cancelled <= two.cancelled);
	return arg;
}

static void check_pending(unsigned tag)
{
	if (tag == 0)
		check_balance();
}

/* SPEC 5.7: the ledger balances at every moment, as the law demands. */
void ledger_against_all(void)
{
	int a, b, c;

	open_timer(2);
	run.in_task = check_pending;
	run.in_cancel = check_pending;
	explore_check(add(0, 0) == 0);
	a = spawn("cancel", thread_cancel, 0);
	b = explore_spawn("ledger", read_ledger, NULL);
	c = spawn("add", thread_add_now, 1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
}

static void *query_twice(void *arg)
{
	struct tkw_timeout_info info;
	bool was_running = false;

	for (int i = 0; i < 2; i++) {
		int err = tkw_timer_get(run.t, run.tag[0].id, &info);

		explore_tell("query returns", err == 0 ? info.state : err);
		explore_check(err == 0 || err == -ENOENT);
		if (err != 0)
			continue;
		explore_check(info.id.bits == run.tag[0].id.bits);
		explore_check(info.task.ctx == NULL);
		explore_check(info.deadline_ns == run.tag[0].deadline_ns ||
			      info.deadline_ns == run.tag[0].asked_ns);
		explore_check(!was_running ||
			      info.state == TKW_TIMEOUT_RUNNING);
		was_running = info.state == TKW_TIMEOUT_RUNNING;
		/* A cancelled timeout does not count as running. */
		explore_check(!was_running || run.tag[0].ending == 0);
	}
	return arg;
}

static void *move_to_now(void *arg)
{
	int err = reschedule(0, 0);

	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	return arg;
}

/* SPEC 5.8 */
void query_against_all(void)
{
	int a, b, c;

	open_timer(1);
	explore_check(add(0, TKW_SEC) == 0);
	a = explore_spawn("move", move_to_now, NULL);
	b = explore_spawn("query", query_twice, NULL);
	c = spawn("cancel", thread_cancel, 0);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
}

static void *add_in_order(void *first)
{
	unsigned tag = (unsigned)(uintptr_t)first;

	explore_check(add(tag, 0) == 0);
	explore_check(add(tag + 1, 0) == 0);
	return NULL;
}

static unsigned place_of(unsigned tag)
{
	unsigned i = 0;

	while (run.order[i] != tag)
		i++;
	return i;
}

/* SPEC 4.4: timeouts of one thread in one tick fire first in, first out. */
void order_of_a_thread(void)
{
	int a, b;

	open_timer(2);
	explore_check(tkw_timer_start(run.t) == 0);
	a = spawn("a", add_in_order, 0);
	b = spawn("b", add_in_order, 2);
	explore_join(a);
	explore_join(b);
	explore_await(&run.fired, 4);
	explore_check(place_of(0) < place_of(1));
	explore_check(place_of(2) < place_of(3));
	close_timer();
}
