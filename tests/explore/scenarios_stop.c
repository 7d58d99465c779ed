/* SPDX-License-Identifier: MIT */
/* scenarios_stop.c - stop against all other calls. */
#include <errno.h>

#include "scenario_timer.h"

/* SPEC 6.4, fault 25: each timeout is refused, fired or handed over. */
void schedule_against_stop(void)
{
	int a, b;

	open_timer(2);
	a = spawn("schedule", thread_try_add_now, 1);
	b = spawn("stop", thread_stop, 0);
	thread_try_add_now((void *)2);
	explore_join(a);
	explore_join(b);
	explore_check(tkw_timer_count(run.t) == 0);
	close_timer();
}

static void *try_add_sooner(void *tag)
{
	int err = add((unsigned)(uintptr_t)tag, 1000 * TKW_SEC);

	explore_check(err == 0 || err == -ESHUTDOWN);
	return NULL;
}

/* SPEC 6.2: stop wakes the worker, even if another thread sets the alarm. Time
 * does not pass while any thread can go on, so the stop must take no time. */
void stop_wakes_the_worker(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("schedule", try_add_sooner, 1);
	b = spawn("stop", thread_stop, 0);
	explore_join(a);
	explore_join(b);
	explore_check(explore_now() == EXPLORE_START_NS);
	close_timer();
}

static void *count_win(void *wins)
{
	int err = stop();

	explore_check(err == 0 || err == 1);
	*(unsigned *)wins += err == 0;
	return NULL;
}

/* SPEC 6.3, 6.5, fault 26: one stop wins, and hands everything over once. */
void stop_against_stop(void)
{
	unsigned wins = 0;
	int a, b, c;

	open_timer(1);
	explore_check(add(0, TKW_SEC) == 0);
	a = explore_spawn("stop a", count_win, &wins);
	b = explore_spawn("stop b", count_win, &wins);
	c = spawn("add", thread_try_add_now, 1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(wins == 1);
	explore_check(run.tag[0].handed == 1);
	close_timer();
}

/* SPEC 5.3, 6.2: a thread that waits for a task, or for an on-cancel of the
 * stop, is woken when it ends. */
void stop_against_cancel_wait(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, 0) == 0);
	a = spawn("wait", thread_cancel_wait, 0);
	b = spawn("stop", thread_stop, 0);
	explore_join(a);
	explore_join(b);
	close_timer();
}

static void *move_to_now(void *tag)
{
	int err = reschedule((unsigned)(uintptr_t)tag, 0);

	explore_check(err == 0 || err == -ESHUTDOWN || err == -ENOENT ||
		      err == -EBUSY);
	return NULL;
}

/* SPEC 5.5, 6.4: a timeout that is moved during a stop fires or is handed
 * over. */
void stop_against_reschedule(void)
{
	int a, b, c;

	open_timer(1);
	explore_check(add(0, TKW_SEC) == 0);
	explore_check(add(1, TKW_SEC) == 0);
	a = spawn("move a", move_to_now, 0);
	b = spawn("stop", thread_stop, 0);
	c = spawn("move b", move_to_now, 1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
	for (unsigned i = 0; i < 2; i++)
		explore_check(run.tag[i].fired + run.tag[i].handed == 1);
}

/* SPEC 5.6, 6.2, fault 26: each is cancelled or handed over, with one
 * on-cancel. */
void stop_against_cancel(void)
{
	int a, b, c;

	open_timer(1);
	explore_check(add(0, TKW_SEC) == 0);
	explore_check(add(1, TKW_SEC) == 0);
	a = spawn("cancel a", thread_cancel, 0);
	b = spawn("stop", thread_stop, 0);
	c = spawn("cancel b", thread_cancel, 1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
	for (unsigned i = 0; i < 2; i++)
		explore_check(run.tag[i].cancelled + run.tag[i].handed == 1);
}

static void rearm_at_once(unsigned tag)
{
	int err;

	explore_check(tkw_timer_stop(run.t, NULL, NULL) == -EDEADLK);
	if (run.tag[tag].begun > 3)
		return;
	err = add(tag, 0);
	explore_check(err == 0 || err == -ESHUTDOWN);
}

/* SPEC 4.6, 6.1, 6.4, faults 6 and 9: a task that always schedules itself for
 * now ends with the stop. Its last timeout is refused or handed over. */
void stop_against_rearm(void)
{
	int a, b;

	open_timer(1);
	run.unlimited_runs = true;
	run.in_task = rearm_at_once;
	explore_check(add(0, 0) == 0);
	a = spawn("stop", thread_stop, 0);
	b = spawn("add", thread_try_add_now, 1);
	explore_join(a);
	explore_join(b);
	close_timer();
}
