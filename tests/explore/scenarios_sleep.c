/* SPDX-License-Identifier: MIT */
/*
 * scenarios_sleep.c - the worker falls asleep while other threads need it
 * earlier. Each task checks that its timeout is not late: see scenario_timer.h.
 */
#include <errno.h>

#include "scenario_timer.h"

/* SPEC 4.2 */
void earliest_against_sleep(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("soon", thread_add_soon, 1);
	b = spawn("far", thread_add_far, 2);
	explore_join(a);
	explore_join(b);
	await_fired(1, 1);
	close_timer();
}

static void *add_in_five(void *tag)
{
	explore_check(add((unsigned)(uintptr_t)tag, 5 * TKW_MSEC) == 0);
	return NULL;
}

/* SPEC 4.2: two threads set the alarm at once, and the earlier time counts. */
void two_earliest_at_once(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("one", thread_add_soon, 1);
	b = spawn("five", add_in_five, 2);
	await_fired(1, 1);
	await_fired(2, 1);
	explore_join(a);
	explore_join(b);
	close_timer();
}

/* SPEC 3.3, 4.2: a timeout for a tick that is over wakes the worker at once. */
void due_at_once_against_sleep(void)
{
	int a, b;

	open_timer(2);
	explore_check(tkw_timer_start(run.t) == 0);
	a = spawn("now a", thread_add_now, 1);
	b = spawn("now b", thread_add_now, 2);
	explore_join(a);
	await_fired(1, 1);
	explore_check(explore_now() == EXPLORE_START_NS);
	run.stall_ns = TKW_SEC; /* the next one is overdue */
	explore_check(add(3, -TKW_SEC) == 0);
	explore_join(b);
	await_fired(2, 1);
	explore_await(&run.fired, 3);
	explore_check(explore_now() == EXPLORE_START_NS);
	close_timer();
}

/* SPEC 4.2, 9.1: the time comes from the caller's clock, and the worker sleeps
 * on the system's clock. */
void own_clock_against_sleep(void)
{
	int a, b;

	open_own_clock();
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("soon", thread_add_soon, 1);
	b = spawn("five", add_in_five, 2);
	explore_join(a);
	explore_join(b);
	await_fired(1, 1);
	await_fired(2, 1);
	close_timer();
}

static void *move_earlier(void *tag)
{
	explore_check(reschedule((unsigned)(uintptr_t)tag, TKW_MSEC) == 0);
	return NULL;
}

/* SPEC 4.2, 5.5 */
void reschedule_earlier_against_sleep(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("earlier", move_earlier, 0);
	b = spawn("far", thread_add_far, 1);
	explore_join(a);
	explore_join(b);
	await_fired(0, 1);
	close_timer();
}

static void *move_later(void *tag)
{
	unsigned n = (unsigned)(uintptr_t)tag;
	int err;

	explore_sleep_until(EXPLORE_START_NS + TKW_MSEC);
	err = reschedule(n, 5 * TKW_MSEC);
	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	explore_check(err != 0 || run.tag[n].begun == 0);
	return NULL;
}

/* SPEC 4.1, 5.5: a due timeout is moved, before or after it is in the batch. If
 * the move succeeds, it is not early. Otherwise it runs as before. */
void reschedule_later_against_expiry(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, TKW_MSEC) == 0);
	explore_check(add(1, TKW_MSEC) == 0);
	a = spawn("later a", move_later, 0);
	b = spawn("later b", move_later, 1);
	explore_join(a);
	explore_join(b);
	await_fired(0, 1);
	await_fired(1, 1);
	close_timer();
}

static void *extend_twice(void *arg)
{
	int err = reschedule(0, 50 * TKW_MSEC);

	explore_check(err == 0);
	/* At this time the worker moves it from a coarse ring to a fine one. */
	explore_sleep_until(EXPLORE_START_NS + 40 * TKW_MSEC);
	err = reschedule(0, 26 * TKW_MSEC);
	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	return arg;
}

static void *add_beside(void *arg)
{
	explore_check(add_with_slack(1, 35 * TKW_MSEC, 8 * TKW_MSEC) == 0);
	explore_sleep_until(EXPLORE_START_NS + 40 * TKW_MSEC);
	explore_check(add_with_slack(2, 3 * TKW_MSEC, 4 * TKW_MSEC) == 0);
	return arg;
}

/* SPEC 1.10, 3.9, 5.5: timeouts are extended lazily, over rings of 16 slots,
 * while the old place comes up. None is later than its slack. */
void slack_and_extension_against_expiry(void)
{
	int a, b;

	open_timer(1);
	explore_check(add_with_slack(0, 3 * TKW_MSEC, 4 * TKW_MSEC) == 0);
	a = explore_spawn("extend", extend_twice, NULL);
	b = explore_spawn("beside", add_beside, NULL);
	explore_join(a);
	explore_join(b);
	for (unsigned i = 0; i < 3; i++)
		await_fired(i, 1);
	close_timer();
}

static void *add_at_the_past(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + TKW_SEC);
	run.stall_ns = 700 * TKW_MSEC;
	explore_check(add_at(1, EXPLORE_START_NS + 300 * TKW_MSEC) == 0);
	return arg;
}

static void *add_after_a_second(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + TKW_SEC);
	explore_check(add(2, 0) == 0);
	explore_check(add(3, TKW_MSEC) == 0);
	return arg;
}

/* SPEC 1.1, 4.1: a wheel was idle for a second. A call that schedules makes it
 * catch up, while timeouts for the past and for the future come in. */
void catch_up_of_an_idle_wheel(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, TKW_SEC + 2 * TKW_MSEC) == 0);
	a = explore_spawn("past", add_at_the_past, NULL);
	b = explore_spawn("now", add_after_a_second, NULL);
	explore_join(a);
	explore_join(b);
	for (unsigned i = 0; i < 4; i++)
		await_fired(i, 1);
	explore_check(run.order[2] == 3 && run.order[3] == 0);
	close_timer();
}

/* SPEC 4.2, 4.3: cancelling the earliest timeout leaves the alarm as it is. A
 * new timeout is still not late. */
void cancel_of_the_earliest(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, 2 * TKW_MSEC) == 0);
	explore_check(add(1, 9 * TKW_MSEC) == 0);
	a = spawn("cancel", thread_cancel, 0);
	b = spawn("five", add_in_five, 2);
	explore_join(a);
	explore_join(b);
	await_fired(2, 1);
	await_fired(1, 1);
	explore_check(run.fired == 2 && run.tag[0].cancelled == 1);
	close_timer();
}

/* The first nap of the watchdog is over here. If it sees no task, it sleeps
 * until it is woken. */
#define NAP_OVER_NS (EXPLORE_START_NS + TKW_MSEC / 2 + 1)

static void *add_when_the_nap_is_over(void *tag)
{
	explore_sleep_until(NAP_OVER_NS);
	explore_check(add((unsigned)(uintptr_t)tag, 0) == 0);
	return NULL;
}

/* The first task ends at once. The second takes too long, and is reported while
 * it runs, not earlier. */
static void take_too_long(unsigned tag)
{
	unsigned told = run.told;

	if (tag == 0)
		return;
	explore_sleep_until(explore_now() + TKW_MSEC);
	explore_check(run.told == told);
	explore_sleep_until(explore_now() + TKW_MSEC);
	explore_check(run.told == told + 1);
}

/* SPEC 10.2: the watchdog does not stay asleep while a task runs. */
void watchdog_against_tasks(void)
{
	int a, b;

	open_watched(TKW_MSEC);
	run.stall_ns = 2 * TKW_MSEC;
	run.in_task = take_too_long;
	explore_check(tkw_timer_start(run.t) == 0);
	a = spawn("quick", add_when_the_nap_is_over, 0);
	b = spawn("slow", add_when_the_nap_is_over, 1);
	await_fired(0, 1);
	await_fired(1, 1);
	explore_join(a);
	explore_join(b);
	explore_check(run.told == 1);
	close_timer();
}
