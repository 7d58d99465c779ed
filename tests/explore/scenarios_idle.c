/* SPDX-License-Identifier: MIT */
/* scenarios_idle.c - wait_idle against all other calls. */
#include <errno.h>

#include "scenario_timer.h"

/* Checks that all tags below `tags` have ended, with their callbacks. */
static void check_ended(unsigned tags)
{
	for (unsigned i = 0; i < tags; i++) {
		explore_check(run.tag[i].begun == run.tag[i].fired);
		explore_check(run.tag[i].ending == run.tag[i].ended);
		explore_check(run.tag[i].fired + run.tag[i].ended == 1);
	}
}

static int wait_idle(int64_t timeout_ns)
{
	int err = tkw_timer_wait_idle(run.t, timeout_ns);

	explore_tell("wait_idle returns", err);
	return err;
}

static void *wait_for_tags(void *tags)
{
	explore_check(wait_idle(TKW_NEVER_NS) == 0);
	check_ended((unsigned)(uintptr_t)tags);
	return NULL;
}

/* Each task schedules the next timeout, in the shard of the worker. */
static void schedule_the_next(unsigned tag)
{
	explore_check(tkw_timer_wait_idle(run.t, 0) == -EDEADLK);
	if (tag < 2)
		explore_check(add(tag + 1, 0) == 0);
}

/* At each moment there is a timeout until the last one has ended, although each
 * shard is empty at times. */
void idle_against_a_chain(void)
{
	int a, b;

	open_timer(2);
	run.in_task = schedule_the_next;
	explore_check(add(0, 0) == 0);
	a = spawn("wait a", wait_for_tags, 3);
	b = spawn("wait b", wait_for_tags, 3);
	explore_join(a);
	explore_join(b);
	close_timer();
	explore_check(run.fired == 3);
}

/* A task ends only when the next timeout is scheduled. */
static void wait_for_the_next(unsigned tag)
{
	if (tag < 2)
		explore_await(&run.tag[tag + 1].accepted, 1);
}

/* Schedules a tag while the task of the tag before it runs. */
static void *add_behind(void *tag)
{
	unsigned n = (unsigned)(uintptr_t)tag;

	explore_await(&run.tag[n - 1].begun, 1);
	explore_check(add(n, 0) == 0);
	return NULL;
}

/* The same with two threads that use different shards. A thread that has waited
 * for one shard must look at the other one again. */
void idle_against_schedules(void)
{
	int a, b, c;

	open_timer(2);
	run.in_task = wait_for_the_next;
	explore_check(add(0, 0) == 0);
	a = spawn("add 1", add_behind, 1);
	b = spawn("add 2", add_behind, 2);
	c = spawn("wait", wait_for_tags, 3);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
	explore_check(run.fired == 3);
}

/* wait_idle waits for an on-cancel, and for a task that a cancel came too late
 * for. */
void idle_against_cancel(void)
{
	int a, b, c;

	open_timer(1);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	explore_check(add(1, 0) == 0);
	a = spawn("wait", wait_for_tags, 2);
	b = spawn("cancel far", thread_cancel, 0);
	c = spawn("cancel due", thread_cancel, 1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
}

/* A stop ends the wait, but only after everything has been handed over. */
void idle_against_stop(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	explore_check(add(1, 0) == 0);
	a = spawn("wait", wait_for_tags, 2);
	b = explore_spawn("stop", thread_stop, NULL);
	explore_join(a);
	explore_join(b);
	explore_check(wait_idle(TKW_NEVER_NS) == 0);
	explore_check(explore_now() == EXPLORE_START_NS);
	close_timer();
}

/* Waits until exactly the tick in which the last timeout fires. */
static void *wait_for_two_ms(void *unused)
{
	int err = wait_idle(2 * TKW_MSEC);

	explore_check(err == 0 || err == -ETIMEDOUT);
	explore_check(explore_now() == EXPLORE_START_NS + 2 * TKW_MSEC);
	if (err == 0)
		check_ended(2);
	return unused;
}

/* The end of the last timeout wakes this thread, long before its own time is
 * over. */
static void *wait_for_an_hour(void *unused)
{
	explore_sleep_until(EXPLORE_START_NS + 2 * TKW_MSEC);
	explore_check(wait_idle(3600 * TKW_SEC) == 0);
	explore_check(explore_now() == EXPLORE_START_NS + 2 * TKW_MSEC);
	check_ended(2);
	return unused;
}

void idle_against_time(void)
{
	int a, b;

	open_timer(2);
	explore_check(add(0, TKW_MSEC) == 0);
	explore_check(add(1, 2 * TKW_MSEC) == 0);
	a = explore_spawn("2 ms", wait_for_two_ms, NULL);
	b = explore_spawn("1 h", wait_for_an_hour, NULL);
	explore_check(wait_idle(0) == -ETIMEDOUT);
	explore_join(a);
	explore_join(b);
	close_timer();
}
