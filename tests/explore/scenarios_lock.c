/* SPDX-License-Identifier: MIT */
/*
 * scenarios_lock.c - the lock of src/os, itself: its atomics and parks are the
 * points. Parked threads wake up for no reason now and then in all of them.
 */
#include "explore.h"
#include "os/sync.h"

static struct {
	struct tkw__lock lock;
	bool held;
	unsigned entered;    /* by those who take and drop */
	unsigned before;     /* of them, when the one who goes first came */
	struct tkw__a32 sum; /* what the lock protects */
} run;

static void begin(void)
{
	run.lock.state.v = 0;
	run.lock.waiters.v = 0;
	run.held = false;
	run.entered = 0;
	run.before = 0;
	run.sum.v = 0;
}

/* Nobody else is in here; what the others have written is seen. */
static void be_inside(void)
{
	uint32_t sum;

	explore_check(!run.held);
	run.held = true;
	sum = TKW__LOAD(&run.sum, RELAXED);
	TKW__STORE(&run.sum, sum + 1, RELAXED);
	explore_check(run.held);
	run.held = false;
}

static void take_and_drop(void)
{
	tkw__lock_take(&run.lock);
	be_inside();
	run.entered++;
	tkw__lock_drop(&run.lock);
}

static void *enter_once(void *arg)
{
	take_and_drop();
	return arg;
}

static void *enter_twice(void *arg)
{
	take_and_drop();
	take_and_drop();
	return arg;
}

/* As the worker does: there is one such thread. */
static void *enter_first(void *arg)
{
	tkw__lock_take_first(&run.lock);
	be_inside();
	run.before = run.entered;
	tkw__lock_drop(&run.lock);
	return arg;
}

static void *enter_first_twice(void *arg)
{
	enter_first(arg);
	enter_first(arg);
	return arg;
}

static void *let_in_once(void *arg)
{
	tkw__lock_take_first(&run.lock);
	be_inside();
	tkw__lock_let_in(&run.lock);
	be_inside();
	tkw__lock_drop(&run.lock);
	return arg;
}

/* All have come and gone: the lock is free, and all was counted. */
static void end(uint32_t sum)
{
	explore_check(run.sum.v == sum);
	explore_check(run.lock.state.v == TKW__LOCK_FREE);
	explore_check(run.lock.waiters.v == 0);
}

static void spawn_and_join(void *(*const *threads)(void *arg), int count)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	int number[4];

	for (int i = 0; i < count; i++)
		number[i] = explore_spawn(names[i], threads[i], NULL);
	for (int i = 0; i < count; i++)
		explore_join(number[i]);
}

/* --- take and drop ------------------------------------------------------- */

static void two_take_turns(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ enter_twice, enter_twice },
		       2);
	end(4);
}

static void three_take_turns(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ enter_twice, enter_twice,
						   enter_once },
		       3);
	end(5);
}

static void four_want_it(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ enter_once, enter_once,
						   enter_once, enter_once },
		       4);
	end(4);
}

/* Two are parked when it is dropped: one is woken, and wakes the other. */
static void the_woken_wakes_the_next(void)
{
	int one, two;

	begin();
	tkw__lock_take(&run.lock);
	one = explore_spawn("one", enter_once, NULL);
	two = explore_spawn("two", enter_once, NULL);
	explore_await(&run.lock.waiters.v, 2);
	tkw__lock_drop(&run.lock);
	explore_join(one);
	explore_join(two);
	end(2);
}

/* --- the one who goes first ---------------------------------------------- */

/* Once it is parked, the next drop is a hand-over to it. */
static void first_when_parked(void)
{
	int one, two;

	begin();
	tkw__lock_take(&run.lock);
	one = explore_spawn("one", enter_once, NULL);
	two = explore_spawn("first", enter_first, NULL);
	explore_await(&run.lock.state.v, TKW__LOCK_URGENT);
	tkw__lock_drop(&run.lock);
	take_and_drop();
	explore_join(one);
	explore_join(two);
	explore_check(run.before == 0);
	end(3);
}

/* Nobody is forgotten for its sake. */
static void first_among_three(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ enter_first_twice,
						   enter_twice, enter_once },
		       3);
	end(5);
}

/* --- let in -------------------------------------------------------------- */

/* Who waits has had the lock when let_in returns, though a third thread comes
 * by and wants it too. */
static void let_in_lets_in(void)
{
	unsigned before;
	int one, two;

	begin();
	tkw__lock_take(&run.lock);
	one = explore_spawn("one", enter_once, NULL);
	explore_await(&run.lock.waiters.v, 1);
	two = explore_spawn("two", enter_once, NULL);
	before = run.entered;
	tkw__lock_let_in(&run.lock);
	explore_check(run.entered > before);
	be_inside();
	tkw__lock_drop(&run.lock);
	explore_join(one);
	explore_join(two);
	end(3);
}

/* With nobody waiting it neither waits nor gives the lock away. */
static void let_in_nobody(void)
{
	begin();
	tkw__lock_take(&run.lock);
	run.held = true;
	tkw__lock_let_in(&run.lock);
	explore_check(run.lock.state.v == TKW__LOCK_HELD);
	run.held = false;
	tkw__lock_drop(&run.lock);
	spawn_and_join((void *(*const[])(void *)){ enter_once, enter_once }, 2);
	end(2);
}

static void let_in_while_others_come_and_go(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ let_in_once, enter_twice,
						   enter_once },
		       3);
	end(5);
}

/* A hand-over to the one who goes first, and one by it, look different to those
 * who are about to park. */
static void let_in_after_a_hand_over(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ let_in_once, enter_twice,
						   enter_twice },
		       3);
	end(6);
}

static void let_in_twice_in_a_row(void)
{
	int one, two;

	begin();
	tkw__lock_take(&run.lock);
	one = explore_spawn("one", enter_once, NULL);
	two = explore_spawn("two", enter_once, NULL);
	explore_await(&run.lock.waiters.v, 2);
	tkw__lock_let_in(&run.lock);
	explore_check(run.entered >= 1);
	be_inside();
	tkw__lock_let_in(&run.lock);
	explore_check(run.entered == 2);
	be_inside();
	tkw__lock_drop(&run.lock);
	explore_join(one);
	explore_join(two);
	end(4);
}

/* One who has handed the lock on is parked for that when it is handed on
 * again, by the one who got it. */
static void two_let_in(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ let_in_once, let_in_once,
						   enter_once },
		       3);
	end(5);
}

const struct explore_scenario explore_scenarios[] = {
	{ "lock_two", "two threads, in turns", two_take_turns },
	{ "lock_three", "three threads, in turns", three_take_turns },
	{ "lock_four", "four threads, once each", four_want_it },
	{ "lock_wakes_next", "who is woken wakes the next",
	  the_woken_wakes_the_next },
	{ "lock_first", "one that is parked, and goes first",
	  first_when_parked },
	{ "lock_first_three", "one of three goes first", first_among_three },
	{ "let_in_first", "who waits comes in before the lock is had again",
	  let_in_lets_in },
	{ "let_in_nobody", "nobody waits to be let in", let_in_nobody },
	{ "let_in_take_drop", "let in against take and drop",
	  let_in_while_others_come_and_go },
	{ "let_in_handed", "let in by one to whom it was handed over",
	  let_in_after_a_hand_over },
	{ "let_in_twice", "two are let in, one after the other",
	  let_in_twice_in_a_row },
	{ "let_in_two", "two let each other in", two_let_in },
};
const size_t explore_scenario_count =
	sizeof(explore_scenarios) / sizeof(explore_scenarios[0]);
