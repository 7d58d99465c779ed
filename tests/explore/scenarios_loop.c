/* SPDX-License-Identifier: MIT */
/*
 * scenarios_loop.c - a timer in an event loop: polls, and turns of a few
 * timeouts.
 */
#include <errno.h>

#include "scenario_timer.h"
#include "tickwheel/timer.h"

/* SPEC 4.2, 9.1: a timeout that comes while a turn ends makes the fd readable
 * in time. Each task checks that it is not late. */
void earliest_against_poll(void)
{
	int a, b;

	open_loop(2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("soon", thread_add_soon, 1);
	b = spawn("now", thread_add_now, 2);
	while (run.tag[1].fired + run.tag[2].fired < 2) {
		explore_check(turn_of(0) >= 0);
		if (run.tag[1].fired + run.tag[2].fired < 2)
			explore_poll(tkw_timer_fd(run.t));
	}
	explore_join(a);
	explore_join(b);
	explore_check(explore_now() < EXPLORE_START_NS + 3 * TKW_MSEC);
	close_timer();
}

/* SPEC 3.3, 4.4, 9.1: the next turn begins with what a turn has left, in order.
 * New timeouts come after that. A stop hands over the rest. */
void bounded_turns_against_all(void)
{
	int least = 0;
	int a, b, c;

	open_loop(1);
	run.stall_ns = 3 * TKW_MSEC;
	explore_check(add(0, TKW_MSEC) == 0);
	explore_check(add(1, 2 * TKW_MSEC) == 0);
	explore_check(add(2, 2 * TKW_MSEC) == 0);
	explore_sleep_until(EXPLORE_START_NS + 3 * TKW_MSEC);
	a = spawn("cancel", thread_cancel, 1);
	b = spawn("add", thread_try_add_now, 3);
	for (int i = 0; i < 4; i++) {
		int fired = turn_of(1);

		explore_check(fired == 0 || fired == 1);
		least += fired;
	}
	c = explore_spawn("stop", thread_stop, NULL);
	least += turn_of(1) == 1;
	explore_check(run.fired == (unsigned)least);
	explore_check(run.tag[0].fired == 1 && run.tag[2].fired == 1);
	for (unsigned i = 1; i < run.fired; i++)
		explore_check(run.order[i - 1] < run.order[i]);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(turn_of(1) == -ESHUTDOWN);
	close_timer();
}
