/* SPDX-License-Identifier: MIT */
/* scenarios_manual.c - the manual drive: turns on any thread. */
#include <errno.h>

#include "scenario_timer.h"

static void *stop_and_see_the_end(void *arg)
{
	unsigned fired;

	explore_check(stop() == 0);
	/* The turn has ended, and no other one runs. */
	explore_check(run.running == 0);
	fired = run.fired;
	explore_yield();
	/* It is -EBUSY if another turn has not yet noticed the stop. */
	explore_check(turn() < 0);
	explore_check(run.fired == fired);
	return arg;
}

/* SPEC 6.2, 9.1: a stop waits for the turn. */
void turn_against_stop(void)
{
	int a, b;

	open_manual();
	explore_check(add(0, 0) == 0);
	explore_check(add(1, 0) == 0);
	a = explore_spawn("turn", thread_turn, NULL);
	b = explore_spawn("stop", stop_and_see_the_end, NULL);
	thread_turn(NULL);
	explore_join(a);
	explore_join(b);
	close_timer();
}

static void *count_turn(void *sum)
{
	int fired = turn();

	explore_check(fired >= 0 || fired == -EBUSY);
	if (fired > 0)
		*(unsigned *)sum += (unsigned)fired;
	return NULL;
}

/* SPEC 4.6, 9.1: one turn runs at a time, and each timeout fires once. */
void turn_against_turn(void)
{
	unsigned sum = 0;
	int a, b, c;

	open_manual();
	explore_check(add(0, 0) == 0);
	a = explore_spawn("turn a", count_turn, &sum);
	b = explore_spawn("turn b", count_turn, &sum);
	c = spawn("add", thread_add_now, 1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	count_turn(&sum);
	explore_check(sum == 2 && run.fired == 2);
	explore_check(turn() == 0);
	close_timer();
}

static void rearm(unsigned tag)
{
	if (run.tag[tag].begun < 3)
		explore_check(add(tag, 0) == 0);
	explore_check(turn() == -EDEADLK);
}

/* SPEC 3.3, 4.6, fault 6: what a task schedules for now runs in a later turn,
 * so that each turn ends. */
void turn_against_rearm(void)
{
	int a, b;

	open_manual();
	run.unlimited_runs = true;
	run.in_task = rearm;
	explore_check(add(0, 0) == 0);
	a = spawn("add", thread_add_now, 1);
	b = explore_spawn("turn", thread_turn, NULL);
	explore_join(a);
	explore_join(b);
	while (run.fired < 6) {
		unsigned before = run.fired;
		int fired = turn();

		explore_check(fired == 1 || fired == 2);
		explore_check(run.fired == before + (unsigned)fired);
	}
	explore_check(turn() == 0);
	close_timer();
}

static void *add_and_ask(void *arg)
{
	int64_t next_ns;

	explore_check(add(1, TKW_MSEC) == 0);
	explore_check(tkw_timer_next_turn(run.t, &next_ns) == 0);
	explore_tell("next is", next_ns);
	explore_check(next_ns <= run.tag[1].deadline_ns);
	return arg;
}

static void *add_now_and_ask(void *arg)
{
	struct tkw_timeout_info info;
	int64_t next_ns;

	explore_check(add(2, 0) == 0);
	explore_check(tkw_timer_next_turn(run.t, &next_ns) == 0);
	explore_tell("next is", next_ns);
	/* If it is pending now, it was pending before. */
	if (tkw_timer_get(run.t, run.tag[2].id, &info) == 0 &&
	    info.state == TKW_TIMEOUT_PENDING)
		explore_check(next_ns <= explore_now());
	return arg;
}

/* SPEC 1.7, 9.1: next is never later than a timeout scheduled before. */
void next_against_schedule(void)
{
	int a, b, c;

	open_manual();
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = explore_spawn("soon", add_and_ask, NULL);
	b = explore_spawn("now", add_now_and_ask, NULL);
	c = explore_spawn("turn", thread_turn, NULL);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	thread_turn(NULL);
	explore_check(run.tag[2].fired == 1);
	close_timer();
}
