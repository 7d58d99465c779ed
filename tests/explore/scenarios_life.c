/* SPDX-License-Identifier: MIT */
/* scenarios_life.c - start and destroy against all other calls. */
#include <errno.h>

#include "scenario_timer.h"

static void *start(void *arg)
{
	int err = tkw_timer_start(run.t);

	explore_tell("start returns", err);
	explore_check(err == 0 || err == -ESHUTDOWN);
	return arg;
}

/* SPEC 2.4: several threads start the timer, and one worker is made. */
void start_against_start(void)
{
	int a, b, c;

	open_timer(1);
	a = explore_spawn("start a", start, NULL);
	b = explore_spawn("start b", start, NULL);
	c = spawn("add", thread_add_now, 0);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(run.threads == 1);
	await_fired(0, 1);
	close_timer();
}

static void *stop_and_look(void *arg)
{
	explore_check(stop() == 0);
	explore_check(tkw_timer_is_stopped(run.t) == 1);
	explore_check(tkw_timer_start(run.t) == -ESHUTDOWN);
	return arg;
}

/* SPEC 2.5, 6.3, faults 26 and 28: after a stop it stays stopped, and no worker
 * is left. */
void start_against_stop(void)
{
	int a, b, c;

	open_timer(1);
	a = explore_spawn("start", start, NULL);
	b = explore_spawn("stop", stop_and_look, NULL);
	c = spawn("add", thread_try_add_now, 0);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(run.threads <= 1);
	explore_check(tkw_timer_is_stopped(run.t) == 1);
	explore_check(add(1, 0) == -ESHUTDOWN);
	explore_check(tkw_timer_count(run.t) == 0);
	close_timer();
}

static void *add_now_if_there_is_a_thread(void *tag)
{
	int err = add((unsigned)(uintptr_t)tag, 0);

	explore_check(err == 0 || err == -ENOMEM);
	return NULL;
}

/* SPEC 2.4, 3.7, fault 3: a call that gets no thread is refused and changes
 * nothing. The next call starts the timer. */
void start_without_a_thread(void)
{
	int a, b, c;

	open_timer(2);
	run.no_threads = 1;
	a = spawn("add a", add_now_if_there_is_a_thread, 0);
	b = spawn("add b", add_now_if_there_is_a_thread, 1);
	c = spawn("add c", add_now_if_there_is_a_thread, 2);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(run.threads == 1);
	explore_check(run.tag[0].accepted + run.tag[1].accepted +
			      run.tag[2].accepted ==
		      2);
	for (unsigned i = 0; i < 3; i++)
		await_fired(i, run.tag[i].accepted);
	close_timer();
}

static void *stop_and_say(void *done)
{
	int err = stop();

	explore_check(err == 0 || err == 1);
	if (err == 1)
		*(unsigned *)done = 1;
	return NULL;
}

/* SPEC 6.3, 6.6, fault 27: the thread that loses the stop may destroy at once.
 * Destroy waits until the winner has handed over all that was pending. */
void destroy_after_a_lost_stop(void)
{
	unsigned lost = 0;
	int a;

	open_timer(2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	explore_check(add(1, 0) == 0);
	a = explore_spawn("stop", stop_and_say, &lost);
	if (stop() == 0) {
		/* The other thread must have left the timer before it is
		 * freed. */
		explore_await(&lost, 1);
		check_ledger();
	}
	/* After a lost stop the ledger may be incomplete. So only the book is
	 * checked. */
	explore_check(tkw_timer_destroy(run.t) == 0);
	check_book();
	explore_check(run.tag[0].handed == 1);
	explore_join(a);
}
