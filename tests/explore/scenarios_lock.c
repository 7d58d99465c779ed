/* SPDX-License-Identifier: MIT */
/*
 * scenarios_lock.c - the lock of src/os itself, and parking without it. Atomic
 * operations and parks are the points. In all scenarios, parked threads
 * sometimes wake up for no reason.
 */
#include "explore.h"
#include "os/sync.h"

static struct {
	struct tkw__lock lock;
	bool held;
	unsigned entered;    /* how many took and dropped the lock */
	unsigned before;     /* value of entered when the first one came */
	struct tkw__a32 sum; /* protected by the lock */
	struct tkw__a32 token;
	struct tkw__a32 done[2]; /* set before the bits of the token */
} run;

static void begin(void)
{
	run.lock = (struct tkw__lock){ .state = { 0 } };
	run.held = false;
	run.entered = 0;
	run.before = 0;
	run.sum.v = 0;
	run.token.v = 0;
	run.done[0].v = 0;
	run.done[1].v = 0;
}

/* Checks that no other thread is inside, and sees what the others wrote. */
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

/* Takes and drops the lock as the usual schedule and the usual cancel do. */
static void try_and_drop_last(void)
{
	if (!tkw__lock_try(&run.lock))
		tkw__lock_wait(&run.lock);
	be_inside();
	run.entered++;
	explore_check(tkw__lock_drop_last(&run.lock) == 0);
}

static void *try_once(void *arg)
{
	try_and_drop_last();
	return arg;
}

static void *try_twice(void *arg)
{
	try_and_drop_last();
	try_and_drop_last();
	return arg;
}

/* Takes the lock as the worker does. Only one thread does that. */
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

/* After all threads have left, the lock is free, and each was counted. */
static void end(uint32_t sum)
{
	explore_check(run.sum.v == sum);
	explore_check(run.lock.state.v == TKW__LOCK_FREE);
	explore_check(run.lock.waiters.v == 0);
	explore_check(run.lock.firsts.v == 0);
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

/* One thread drops the lock while the other is about to park. The store of the
 * drop may still be in its buffer when that thread looks for the other. */
static void one_drops_and_one_parks(void)
{
	int one;

	begin();
	tkw__lock_take(&run.lock);
	one = explore_spawn("one", enter_once, NULL);
	be_inside();
	tkw__lock_drop(&run.lock);
	explore_join(one);
	end(2);
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

/* Two threads are parked when the lock is dropped. One is woken, and wakes the
 * other. */
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

/* --- try and drop last --------------------------------------------------- */

/* While the lock is held nobody else gets it by a try, and a thread that tries
 * does not wait. */
static void *try_in_vain(void *arg)
{
	explore_check(!tkw__lock_try(&run.lock));
	return arg;
}

static void try_takes_it_or_fails(void)
{
	begin();
	explore_check(tkw__lock_try(&run.lock));
	spawn_and_join((void *(*const[])(void *)){ try_in_vain, try_in_vain },
		       2);
	explore_check(tkw__lock_drop_last(&run.lock) == 0);
	spawn_and_join((void *(*const[])(void *)){ try_twice, try_once }, 2);
	end(3);
}

/* As in one_drops_and_one_parks(). */
static void one_drops_last_and_one_parks(void)
{
	int one;

	begin();
	explore_check(tkw__lock_try(&run.lock));
	one = explore_spawn("one", try_once, NULL);
	be_inside();
	explore_check(tkw__lock_drop_last(&run.lock) == 0);
	explore_join(one);
	end(2);
}

static void both_kinds_take_turns(void)
{
	begin();
	spawn_and_join(
		(void *(*const[])(void *)){ try_twice, enter_twice, try_once },
		3);
	end(5);
}

/* As in the_woken_wakes_the_next(), but all of them drop it last. */
static void the_last_step_wakes_the_next(void)
{
	int one, two;

	begin();
	explore_check(tkw__lock_try(&run.lock));
	one = explore_spawn("one", try_once, NULL);
	two = explore_spawn("two", try_once, NULL);
	explore_await(&run.lock.waiters.v, 2);
	explore_check(tkw__lock_drop_last(&run.lock) == 0);
	explore_join(one);
	explore_join(two);
	end(2);
}

/* As in first_when_parked(). */
static void the_last_step_hands_it_over(void)
{
	int one, two;

	begin();
	explore_check(tkw__lock_try(&run.lock));
	one = explore_spawn("one", try_once, NULL);
	two = explore_spawn("first", enter_first, NULL);
	explore_await(&run.lock.waiters.v, 2);
	explore_check(tkw__lock_drop_last(&run.lock) == 0);
	try_and_drop_last();
	explore_join(one);
	explore_join(two);
	explore_check(run.before == 0);
	end(3);
}

/* --- the one who goes first ---------------------------------------------- */

/* If the first one waits, the next drop hands the lock over to it. */
static void first_when_parked(void)
{
	int one, two;

	begin();
	tkw__lock_take(&run.lock);
	one = explore_spawn("one", enter_once, NULL);
	two = explore_spawn("first", enter_first, NULL);
	explore_await(&run.lock.waiters.v, 2);
	tkw__lock_drop(&run.lock);
	take_and_drop();
	explore_join(one);
	explore_join(two);
	explore_check(run.before == 0);
	end(3);
}

/* No other thread is forgotten because of the first one. */
static void first_among_three(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ enter_first_twice,
						   enter_twice, enter_once },
		       3);
	end(5);
}

/* --- let in -------------------------------------------------------------- */

/* When let_in returns, the waiting thread has had the lock, even if a third
 * thread wants it too. */
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

/* If no thread waits, let_in keeps the lock and does not wait. */
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

/* Threads that are about to park can tell a hand-over to the first one from a
 * hand-over by it. */
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

/* A thread hands the lock on and parks until it gets the lock back. Meanwhile
 * the thread that got the lock hands it on again. */
static void two_let_in(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ let_in_once, let_in_once,
						   enter_once },
		       3);
	end(5);
}

/* --- parking ------------------------------------------------------------- */

enum {
	BIT_ONE = 1,
	BIT_ALL = 2
};

static void *set_and_unpark_one(void *arg)
{
	TKW__STORE(&run.done[0], 1, RELAXED);
	TKW__ADD(&run.token, BIT_ONE, RELEASE);
	tkw__unpark_one(&run.token);
	return arg;
}

static void *set_and_unpark_all(void *arg)
{
	TKW__STORE(&run.done[1], 1, RELAXED);
	TKW__ADD(&run.token, BIT_ALL, RELEASE);
	tkw__unpark_all(&run.token);
	return arg;
}

/* A thread that sees the bit of a waker sees what the waker did before. */
static void check_done(uint32_t token)
{
	if (token & BIT_ONE)
		explore_check(TKW__LOAD(&run.done[0], RELAXED) == 1);
	if (token & BIT_ALL)
		explore_check(TKW__LOAD(&run.done[1], RELAXED) == 1);
}

static void *park_until_both(void *arg)
{
	uint32_t token = TKW__LOAD(&run.token, ACQUIRE);

	while (token != (BIT_ONE | BIT_ALL)) {
		check_done(token);
		tkw__park(&run.token, token);
		token = TKW__LOAD(&run.token, ACQUIRE);
	}
	check_done(BIT_ONE | BIT_ALL);
	run.entered++;
	return arg;
}

/* Parks like cancel_wait and the pool, on a value that was read before. The
 * thread is woken once or twice, or need not park at all. */
static void one_parks_and_two_wake(void)
{
	begin();
	spawn_and_join((void *(*const[])(void *)){ park_until_both,
						   set_and_unpark_one,
						   set_and_unpark_all },
		       3);
	explore_check(run.entered == 1);
	explore_check(run.token.v == (BIT_ONE | BIT_ALL));
}

const struct explore_scenario explore_scenarios[] = {
	{ "lock_two", "two threads, in turns", two_take_turns },
	{ "lock_fence", "one drops it, one is about to park",
	  one_drops_and_one_parks },
	{ "lock_three", "three threads, in turns", three_take_turns },
	{ "lock_four", "four threads, once each", four_want_it },
	{ "lock_wakes_next", "who is woken wakes the next",
	  the_woken_wakes_the_next },
	{ "lock_try", "it is tried while it is held, and while it is free",
	  try_takes_it_or_fails },
	{ "lock_last_fence", "one drops it last, one is about to park",
	  one_drops_last_and_one_parks },
	{ "lock_last_three", "take and drop, and try and drop last",
	  both_kinds_take_turns },
	{ "lock_last_wakes_next", "the last step wakes the next",
	  the_last_step_wakes_the_next },
	{ "lock_last_first", "the last step hands it to who goes first",
	  the_last_step_hands_it_over },
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
	{ "park_two_wakers", "two wake one that parks until both have",
	  one_parks_and_two_wake },
};
const size_t explore_scenario_count =
	sizeof(explore_scenarios) / sizeof(explore_scenarios[0]);
