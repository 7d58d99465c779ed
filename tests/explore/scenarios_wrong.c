/* SPDX-License-Identifier: MIT */
/*
 * scenarios_wrong.c - tests the explorer itself: small programs with known
 * errors, and a few without an error. See test_explore_self.sh.
 */
#include <stdlib.h>

#include "explore.h"
#include "os/atomic.h"

static struct {
	struct tkw__a32 x, y;
	struct tkw__a64 wide;
	uint32_t lock_a, lock_b;
	uint32_t saw_x, saw_y;
	unsigned done;
	char *mem;
} toy;

static void begin(void)
{
	toy.x.v = toy.y.v = 0;
	toy.wide.v = 0;
	toy.lock_a = toy.lock_b = 0;
	toy.saw_x = toy.saw_y = 2;
	toy.done = 0;
}

static void run_two(void *(*a)(void *arg), void *(*b)(void *arg))
{
	int one = explore_spawn("one", a, NULL);
	int two = explore_spawn("two", b, NULL);

	explore_join(one);
	explore_join(two);
}

/* --- two threads count --------------------------------------------------- */

static void *count_by_load_and_store(void *arg)
{
	uint32_t x = TKW__LOAD(&toy.x, RELAXED);

	TKW__STORE(&toy.x, x + 1, SEQ_CST);
	return arg;
}

static void lost_count(void)
{
	begin();
	run_two(count_by_load_and_store, count_by_load_and_store);
	explore_check(toy.x.v == 2);
}

static void *count_by_add(void *arg)
{
	TKW__ADD(&toy.x, 1, RELAXED);
	TKW__SUB(&toy.wide, 1, RELAXED);
	return arg;
}

/* One thread and main make three steps, the other makes two: 10 orders. */
static void two_by_two(void)
{
	begin();
	run_two(count_by_add, count_by_add);
	explore_check(toy.x.v == 2 && toy.wide.v == UINT64_MAX - 1);
}

static void *store_and_load(void *arg)
{
	TKW__STORE(&toy.x, 1, RELAXED);
	TKW__LOAD(&toy.y, RELAXED);
	return arg;
}

static void *add_once(void *arg)
{
	TKW__ADD(&toy.y, 1, RELAXED);
	return arg;
}

/* The single step of the other thread comes before, between or after the store,
 * the load and main's step: 4 orders. If the store is kept back over that step,
 * the step comes before or after the load: 2 more. If no step comes between, it
 * does not matter when the store becomes visible. */
static void one_store(void)
{
	begin();
	run_two(store_and_load, add_once);
	explore_check(toy.x.v == 1);
}

/* --- each writes its own word, and reads the other's --------------------- */

static void *write_x_relaxed(void *arg)
{
	TKW__STORE(&toy.x, 1, RELAXED);
	toy.saw_y = TKW__LOAD(&toy.y, RELAXED);
	return arg;
}

static void *write_y_relaxed(void *arg)
{
	TKW__STORE(&toy.y, 1, RELEASE);
	toy.saw_x = TKW__LOAD(&toy.x, ACQUIRE);
	return arg;
}

static void kept_back(void)
{
	begin();
	run_two(write_x_relaxed, write_y_relaxed);
	explore_check(toy.saw_x == 1 || toy.saw_y == 1);
}

static void *write_x(void *arg)
{
	TKW__STORE(&toy.x, 1, SEQ_CST);
	toy.saw_y = TKW__LOAD(&toy.y, SEQ_CST);
	return arg;
}

static void *write_y(void *arg)
{
	TKW__STORE(&toy.y, 1, SEQ_CST);
	toy.saw_x = TKW__LOAD(&toy.x, SEQ_CST);
	return arg;
}

static void not_kept_back(void)
{
	begin();
	run_two(write_x, write_y);
	explore_check(toy.saw_x == 1 || toy.saw_y == 1);
}

static void *write_both(void *arg)
{
	TKW__STORE(&toy.x, 1, RELAXED);
	TKW__STORE(&toy.y, 1, RELEASE);
	explore_check(TKW__LOAD(&toy.x, RELAXED) == 1);
	return arg;
}

static void *read_both(void *arg)
{
	if (TKW__LOAD(&toy.y, ACQUIRE) == 1)
		explore_check(TKW__LOAD(&toy.x, RELAXED) == 1);
	return arg;
}

/* A buffer releases its stores in their order, and its owner sees them. */
static void published(void)
{
	begin();
	run_two(write_both, read_both);
}

/* --- one waits for the other --------------------------------------------- */

static void *set_and_wake(void *arg)
{
	TKW__STORE(&toy.x, 1, SEQ_CST);
	tkw__unpark_one(&toy.x);
	return arg;
}

static void *wait_in_a_loop(void *arg)
{
	while (TKW__LOAD(&toy.x, SEQ_CST) == 0)
		tkw__park(&toy.x, 0);
	return arg;
}

static void wake_up(void)
{
	begin();
	run_two(wait_in_a_loop, set_and_wake);
}

static void *wait_elsewhere(void *arg)
{
	while (TKW__LOAD(&toy.x, SEQ_CST) == 0)
		tkw__park(&toy.y, 0);
	return arg;
}

static void *set_and_wake_elsewhere(void *arg)
{
	TKW__STORE(&toy.x, 1, SEQ_CST);
	tkw__unpark_all(&toy.y);
	return arg;
}

static void lost_wake_up(void)
{
	begin();
	run_two(wait_elsewhere, set_and_wake_elsewhere);
}

static void *wait_once(void *arg)
{
	tkw__park(&toy.x, 0);
	explore_check(TKW__LOAD(&toy.x, SEQ_CST) == 1);
	return arg;
}

static void spurious_wake_up(void)
{
	begin();
	run_two(wait_once, set_and_wake);
}

/* --- locks --------------------------------------------------------------- */

static void *lock_a_then_b(void *arg)
{
	explore_lock_take(EXPLORE_SPOT("take", "a"), &toy.lock_a);
	explore_lock_take(EXPLORE_SPOT("take", "b"), &toy.lock_b);
	explore_lock_drop(EXPLORE_SPOT("drop", "b"), &toy.lock_b);
	explore_lock_drop(EXPLORE_SPOT("drop", "a"), &toy.lock_a);
	return arg;
}

static void *lock_b_then_a(void *arg)
{
	explore_lock_take(EXPLORE_SPOT("take", "b"), &toy.lock_b);
	explore_lock_take(EXPLORE_SPOT("take", "a"), &toy.lock_a);
	explore_lock_drop(EXPLORE_SPOT("drop", "a"), &toy.lock_a);
	explore_lock_drop(EXPLORE_SPOT("drop", "b"), &toy.lock_b);
	return arg;
}

static void deadlock(void)
{
	begin();
	run_two(lock_a_then_b, lock_b_then_a);
}

static void *drop_a(void *arg)
{
	explore_lock_drop(EXPLORE_SPOT("drop", "a"), &toy.lock_a);
	return arg;
}

static void not_the_holder(void)
{
	begin();
	run_two(lock_a_then_b, drop_a);
}

/* --- memory and threads -------------------------------------------------- */

static void *free_if_first(void *arg)
{
	if (TKW__EXCHANGE(&toy.x, 1, RELAXED) == 0)
		explore_free(toy.mem, 16);
	return arg;
}

static void *write_if_set(void *arg)
{
	if (TKW__LOAD(&toy.x, RELAXED) == 1)
		toy.mem[3] = 1;
	return arg;
}

static void *free_if_set(void *arg)
{
	if (TKW__LOAD(&toy.x, RELAXED) == 1)
		explore_free(toy.mem, 16);
	return arg;
}

static void *set_x(void *arg)
{
	TKW__STORE(&toy.x, 1, SEQ_CST);
	return arg;
}

static void leak(void)
{
	begin();
	toy.mem = explore_alloc(16, 16);
	run_two(free_if_set, set_x);
}

static void write_after_free(void)
{
	begin();
	toy.mem = explore_alloc(16, 16);
	run_two(free_if_first, write_if_set);
}

static void *read_if_set(void *arg)
{
	if (TKW__LOAD(&toy.x, RELAXED) == 1)
		explore_load32(EXPLORE_SPOT("load", "mem"),
			       (const uint32_t *)toy.mem + 1);
	return arg;
}

static void read_after_free(void)
{
	begin();
	toy.mem = explore_alloc(16, 16);
	run_two(free_if_first, read_if_set);
}

static void freed_twice(void)
{
	begin();
	toy.mem = explore_alloc(16, 16);
	run_two(free_if_first, free_if_set);
}

static void left_behind(void)
{
	begin();
	explore_spawn("one", set_x, NULL);
}

static void *yield_for_ever(void *arg)
{
	while (toy.done == 0)
		explore_yield();
	return arg;
}

static void endless(void)
{
	begin();
	run_two(yield_for_ever, yield_for_ever);
}

static void *abort_if_set(void *arg)
{
	if (TKW__LOAD(&toy.x, RELAXED) == 1)
		abort();
	return arg;
}

static void killed(void)
{
	begin();
	run_two(abort_if_set, set_x);
}

/* --- time ---------------------------------------------------------------- */

static void *sleep_a_second(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + 1000000000);
	explore_check(explore_now() == EXPLORE_START_NS + 1000000000);
	TKW__ADD(&toy.x, 1, RELAXED);
	return arg;
}

static void *sleep_two_seconds(void *arg)
{
	explore_sleep_until(EXPLORE_START_NS + 2000000000);
	explore_check(TKW__LOAD(&toy.x, RELAXED) == 1);
	return arg;
}

/* Time does not pass while any thread can go on. */
static void asleep(void)
{
	begin();
	run_two(sleep_two_seconds, sleep_a_second);
	explore_check(explore_now() == EXPLORE_START_NS + 2000000000);
}

static void *wait_a_second_at_most(void *arg)
{
	tkw__park_for(&toy.x, 0, 1000000000);
	/* It was woken by the other thread, by the time, or for no reason. */
	explore_check(explore_now() <= EXPLORE_START_NS + 1000000000);
	return arg;
}

static void *wait_for_nobody(void *arg)
{
	int64_t end = EXPLORE_START_NS + 1000000000;

	while (explore_now() < end)
		tkw__park_for(&toy.y, 0, end - explore_now());
	explore_check(explore_now() == end);
	return arg;
}

/* A park with a bound ends, and not after its bound. */
static void timed_out(void)
{
	begin();
	run_two(wait_a_second_at_most, wait_for_nobody);
	begin();
	run_two(wait_a_second_at_most, set_and_wake);
}

static void *look_and_wait_elsewhere(void *arg)
{
	if (TKW__LOAD(&toy.x, SEQ_CST) == 0)
		tkw__park_for(&toy.y, 0, 1000000000);
	explore_check(explore_now() == EXPLORE_START_NS);
	return arg;
}

/* The timeout makes up for the missed wake-up. The late time shows the bug. */
static void late_wake_up(void)
{
	begin();
	run_two(look_and_wait_elsewhere, set_and_wake_elsewhere);
}

const struct explore_scenario explore_scenarios[] = {
	{ "lost_count", "wrong: load and store", lost_count },
	{ "two_by_two", "right: 10 orders", two_by_two },
	{ "one_store", "right: 6 orders, 4 of them sequential", one_store },
	{ "kept_back", "wrong with store buffers only", kept_back },
	{ "not_kept_back", "right", not_kept_back },
	{ "published", "right", published },
	{ "wake_up", "right", wake_up },
	{ "lost_wake_up", "wrong: looks at one word, parks at another",
	  lost_wake_up },
	{ "spurious_wake_up", "wrong: does not look again", spurious_wake_up },
	{ "deadlock", "wrong: two locks in either order", deadlock },
	{ "not_the_holder", "wrong: drops the lock of another",
	  not_the_holder },
	{ "leak", "wrong: nobody frees", leak },
	{ "write_after_free", "wrong", write_after_free },
	{ "read_after_free", "wrong", read_after_free },
	{ "freed_twice", "wrong", freed_twice },
	{ "left_behind", "wrong: a thread that nobody waits for", left_behind },
	{ "endless", "wrong: never ends", endless },
	{ "killed", "wrong: abort()", killed },
	{ "asleep", "right", asleep },
	{ "timed_out", "right: a park with a bound", timed_out },
	{ "late_wake_up", "wrong: woken by the time alone", late_wake_up },
};
const size_t explore_scenario_count =
	sizeof(explore_scenarios) / sizeof(explore_scenarios[0]);
