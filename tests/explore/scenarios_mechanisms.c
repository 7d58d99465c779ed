/* SPDX-License-Identifier: MIT */
/*
 * scenarios_mechanisms.c - the two mechanisms by which the library waits: the
 * bell (os/bell.h) and the rundown (os/rundown.h).
 */
#include "os/bell.h"
#include "os/rundown.h"
#include "scenario_timer.h"

/* --- the bell ------------------------------------------------------------ */

static struct {
	struct tkw__lock lock;
	struct tkw__bell bell;
	unsigned count; /* threads wait for it; under the lock */
	int64_t rung_ns;
} bed;

static void begin(void)
{
	bed.lock = (struct tkw__lock){ 0 };
	bed.bell = (struct tkw__bell){ .waiters = 0 };
	bed.count = 0;
	bed.rung_ns = EXPLORE_START_NS;
}

/* Checks that all rings were counted, and no thread still waits. */
static void end(unsigned count)
{
	explore_check(bed.count == count);
	explore_check(bed.bell.waiters == 0);
}

static void *wait_for_count(void *least)
{
	tkw__lock_take(&bed.lock);
	while (bed.count < (unsigned)(uintptr_t)least)
		tkw__bell_wait(&bed.bell, &bed.lock);
	tkw__lock_drop(&bed.lock);
	return NULL;
}

static void *count_and_ring(void *unused)
{
	tkw__lock_take(&bed.lock);
	bed.count++;
	tkw__bell_ring(&bed.bell);
	explore_yield();
	tkw__lock_drop(&bed.lock);
	return unused;
}

static void *count_ring_and_drop(void *unused)
{
	tkw__lock_take(&bed.lock);
	bed.count++;
	tkw__bell_ring_and_drop(&bed.bell, &bed.lock);
	return unused;
}

/* No ring is missed, even between the look and the sleep. */
void bell_against_rings(void)
{
	int a, b, c, d;

	begin();
	a = spawn("wait for 1", wait_for_count, 1);
	b = spawn("wait for 2", wait_for_count, 2);
	c = explore_spawn("ring", count_and_ring, NULL);
	d = explore_spawn("ring and drop", count_ring_and_drop, NULL);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_join(d);
	end(2);
}

static void *take_one(void *unused)
{
	tkw__lock_take(&bed.lock);
	while (bed.count == 0)
		tkw__bell_wait(&bed.bell, &bed.lock);
	bed.count--;
	tkw__lock_drop(&bed.lock);
	return unused;
}

static void *put_one(void *unused)
{
	tkw__lock_take(&bed.lock);
	bed.count++;
	tkw__bell_ring_one_and_drop(&bed.bell, &bed.lock);
	return unused;
}

/* One ring for one is enough for each thing that was put. */
void bell_against_rings_for_one(void)
{
	int a, b, c;

	begin();
	a = explore_spawn("take a", take_one, NULL);
	b = explore_spawn("take b", take_one, NULL);
	c = explore_spawn("put", put_one, NULL);
	put_one(NULL);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	end(0);
}

/* Waits until something was counted, or until a time. */
static bool wait_until(int64_t until_ns)
{
	bool in_time = true;

	tkw__lock_take(&bed.lock);
	while (bed.count == 0 && in_time)
		in_time = tkw__bell_wait_until(&bed.bell, &bed.lock, until_ns);
	explore_check(in_time == (bed.count > 0));
	tkw__lock_drop(&bed.lock);
	return in_time;
}

/* The ring comes after two milliseconds, so the wait may end either way. */
static void *wait_for_two_ms(void *unused)
{
	int64_t until_ns = EXPLORE_START_NS + 2 * TKW_MSEC;
	bool in_time = wait_until(until_ns);

	explore_tell("in time", in_time);
	explore_check(explore_now() == until_ns);
	return unused;
}

/* A thread with a later bound is woken by the ring, at the time of the ring. */
static void *wait_for_an_hour(void *unused)
{
	explore_sleep_until(EXPLORE_START_NS + 2 * TKW_MSEC);
	explore_check(wait_until(EXPLORE_START_NS + 3600 * TKW_SEC));
	explore_check(explore_now() == bed.rung_ns);
	return unused;
}

static void *wait_without_bound(void *unused)
{
	explore_check(wait_until(INT64_MAX));
	explore_check(explore_now() == bed.rung_ns);
	return unused;
}

static void *ring_after_two_ms(void *unused)
{
	bed.rung_ns = EXPLORE_START_NS + 2 * TKW_MSEC;
	explore_sleep_until(bed.rung_ns);
	return count_ring_and_drop(unused);
}

/* A wait with a bound misses no ring, and ends when its time is over. */
void bell_against_time(void)
{
	int a, b, c, d;

	begin();
	a = explore_spawn("2 ms", wait_for_two_ms, NULL);
	b = explore_spawn("1 h", wait_for_an_hour, NULL);
	c = explore_spawn("no bound", wait_without_bound, NULL);
	d = explore_spawn("ring", ring_after_two_ms, NULL);
	/* The time has passed before the wait begins, so nothing sleeps. */
	explore_check(!wait_until(0) || bed.count > 0);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_join(d);
	end(1);
}

/* --- the rundown --------------------------------------------------------- */

static struct {
	struct tkw__rundown *r;
	unsigned inside;
	bool closed;
} house;

static void build_house(void)
{
	house.r =
		explore_alloc(sizeof(*house.r), _Alignof(struct tkw__rundown));
	*house.r = (struct tkw__rundown){ { 0 } };
	house.inside = 0;
	house.closed = false;
}

static void pull_down(void)
{
	explore_free(house.r, sizeof(*house.r));
}

/* Stays inside for a step, and leaves. */
static void stay_and_leave(void)
{
	explore_check(!house.closed);
	explore_yield();
	explore_check(!house.closed);
	house.inside--;
	tkw__rundown_leave(house.r);
}

static void *enter_and_leave(void *unused)
{
	bool was_closed = house.closed;

	if (tkw__rundown_enter(house.r)) {
		explore_check(!was_closed);
		house.inside++;
		stay_and_leave();
	}
	return unused;
}

static void *close_it(void *unused)
{
	tkw__rundown_close(house.r);
	explore_check(house.inside == 0);
	house.closed = true;
	return unused;
}

/* After the close no thread is inside, and none can enter. */
void rundown_against_enters(void)
{
	int a, b, c;

	build_house();
	a = explore_spawn("enter a", enter_and_leave, NULL);
	b = explore_spawn("enter b", enter_and_leave, NULL);
	c = explore_spawn("close", close_it, NULL);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(house.inside == 0);
	pull_down();
}

static void *leave(void *unused)
{
	stay_and_leave();
	return unused;
}

/* The owner waits for the last thread, and then frees the rundown. No thread
 * touches it after it has left. */
void rundown_against_leaves(void)
{
	int a, b;

	build_house();
	for (int i = 0; i < 2; i++) {
		explore_check(tkw__rundown_enter(house.r));
		house.inside++;
	}
	a = explore_spawn("leave a", leave, NULL);
	b = explore_spawn("leave b", leave, NULL);
	close_it(NULL);
	pull_down();
	explore_join(a);
	explore_join(b);
}
