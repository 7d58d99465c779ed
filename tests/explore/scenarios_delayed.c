/* SPDX-License-Identifier: MIT */
/*
 * scenarios_delayed.c - delayed operations: several threads make events on
 * their keys and try to end them.
 *
 * An operation waits until a level is high enough, and each event raises the
 * level first. In each scenario, one thread at a time asks an operation, each
 * operation ends once, and nobody asks it after that. Nothing is left behind in
 * the list of a key.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/delayed.h"

#define HOUR_NS (3600 * TKW_SEC)

enum {
	OPS = 2
};

/* The hash of a key is the key times an odd number. So these two are in
 * different shards, whatever the number is. */
enum {
	KEY_A,
	KEY_B
};
static const uint64_t keys[] = { 0, UINT64_C(1) << 63 };

static struct {
	struct tkw_delayed *set;
	bool destroyed;
	unsigned level;
	unsigned completed; /* as the calls say */
	struct {
		struct tkw_delayed_id id;
		unsigned wanted;
		unsigned added;
		unsigned inside; /* threads in holds() */
		unsigned asks;
		unsigned ends;
		int status;
	} of[OPS];
} book;

static int holds(void *ctx)
{
	unsigned n = (unsigned)(uintptr_t)ctx;
	unsigned level = book.level;

	explore_tell("holds begins", n);
	explore_check(!book.destroyed);
	explore_check(book.of[n].inside++ == 0);
	explore_check(book.of[n].ends == 0);
	book.of[n].asks++;
	explore_yield();
	book.of[n].inside--;
	return level >= book.of[n].wanted;
}

static void on_end(const struct tkw_delayed_end *end, void *ctx)
{
	unsigned n = (unsigned)(uintptr_t)ctx;

	explore_tell("operation ends", end->status);
	explore_check(!book.destroyed);
	explore_check(book.of[n].inside == 0);
	explore_check(book.of[n].ends == 0);
	explore_check(end->status != 0 || book.level >= book.of[n].wanted);
	book.of[n].status = end->status;
	explore_yield();
	explore_check(!book.destroyed);
	explore_check(book.of[n].ends++ == 0);
}

static void open_set(void)
{
	struct tkw_delayed_config cfg = { .size = sizeof(cfg) };

	memset(&book, 0, sizeof(book));
	open_timer(1);
	cfg.timer = run.t;
	explore_check(tkw_delayed_create(&book.set, &cfg) == 0);
}

/* Adds an operation that watches the first key_count keys. */
static int begin(unsigned n, unsigned wanted, size_t key_count,
		 int64_t timeout_ns)
{
	const struct tkw_delayed_op op = { .holds = holds,
					   .on_end = on_end,
					   .ctx = (void *)(uintptr_t)n,
					   .keys = keys,
					   .key_count = key_count,
					   .timeout_ns = timeout_ns };
	int ret;

	book.of[n].wanted = wanted;
	ret = tkw_delayed_add(book.set, &op, &book.of[n].id);
	explore_tell("add returns", ret);
	explore_check(ret == 0 || ret == 1 || ret == -ESHUTDOWN);
	book.of[n].added += ret >= 0;
	book.completed += ret == 1;
	return ret;
}

/* Raises the level, and tells of it. */
static void *raise_level(void *key)
{
	int ret;

	book.level++;
	ret = tkw_delayed_event(book.set, keys[(uintptr_t)key]);
	explore_tell("event returns", ret);
	explore_check(ret >= 0);
	book.completed += (unsigned)ret;
	return NULL;
}

static int spawn_event(unsigned key)
{
	return explore_spawn("event", raise_level, (void *)(uintptr_t)key);
}

static void *cancel_first(void *unused)
{
	int ret = tkw_delayed_cancel(book.set, book.of[0].id);

	explore_tell("cancel returns", ret);
	explore_check(ret == 0 || ret == 1 || ret == -ENOENT);
	if (ret == 0)
		explore_check(book.of[0].status == -ECANCELED);
	return unused;
}

static void *begin_second(void *unused)
{
	begin(1, 9, 1, HOUR_NS);
	return unused;
}

/* What was added has ended, and nothing is left of it. */
static void check_nothing_left(void)
{
	struct tkw_delayed_ledger l;
	unsigned completed = 0;

	for (unsigned n = 0; n < OPS; n++) {
		explore_check(book.of[n].ends == book.of[n].added);
		completed += book.of[n].ends == 1 && book.of[n].status == 0;
	}
	explore_check(tkw_delayed_get_ledger(book.set, &l) == 0);
	explore_check(l.watches == 0);
	explore_check(l.keys == 0);
	explore_check(l.pending == 0);
	explore_check(l.completed == completed);
	/* An add that returns 0 may have completed its operation, too. */
	explore_check(l.completed >= book.completed);
}

static void close_set(void)
{
	explore_check(tkw_delayed_destroy(book.set) == 0);
	book.destroyed = true;
	for (unsigned n = 0; n < OPS; n++)
		explore_check(book.of[n].ends == book.of[n].added);
	/* No timeout is left behind. */
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	explore_check(tkw_timer_destroy(run.t) == 0);
}

/* SPEC 8.5: an operation completes, expires or is cancelled, once. */
void delayed_complete_against_expire(void)
{
	int a, b;

	open_set();
	begin(0, 1, 1, 0);
	a = spawn_event(KEY_A);
	b = explore_spawn("cancel", cancel_first, NULL);
	explore_join(a);
	explore_join(b);
	explore_await(&book.of[0].ends, 1);
	explore_check((book.completed == 1) == (book.of[0].status == 0));
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: the same with two keys. It leaves the lists of both. */
void delayed_lists_against_ends(void)
{
	int a, b;

	open_set();
	begin(0, 1, 2, 0);
	a = spawn_event(KEY_B);
	b = explore_spawn("cancel", cancel_first, NULL);
	explore_join(a);
	explore_join(b);
	explore_await(&book.of[0].ends, 1);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: an event is not lost while another thread asks. */
void delayed_event_against_event(void)
{
	int a, b;

	open_set();
	begin(0, 2, 1, HOUR_NS);
	begin(1, 1, 1, HOUR_NS);
	a = spawn_event(KEY_A);
	b = spawn_event(KEY_A);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[0].ends == 1 && book.of[0].status == 0);
	explore_check(book.of[1].ends == 1 && book.of[1].status == 0);
	explore_check(book.completed == 2);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: nor is it lost between the first look of add and the list. */
void delayed_add_against_events(void)
{
	int a, b;

	open_set();
	a = spawn_event(KEY_A);
	b = spawn_event(KEY_A);
	begin(0, 2, 1, HOUR_NS);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[0].ends == 1 && book.of[0].status == 0);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: nor before the operation is in the list of its second key. */
void delayed_add_with_two_keys(void)
{
	int a, b;

	open_set();
	a = spawn_event(KEY_B);
	b = spawn_event(KEY_B);
	begin(0, 2, 2, HOUR_NS);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[0].ends == 1 && book.of[0].status == 0);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: it may expire while it gets into the lists, or out of them. */
void delayed_add_against_expire(void)
{
	int a, b;

	open_set();
	a = spawn_event(KEY_A);
	b = spawn_event(KEY_B);
	begin(0, 2, 2, 0);
	explore_join(a);
	explore_join(b);
	explore_await(&book.of[0].ends, 1);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: events on different keys are not lost either, and one thread at a
 * time asks. */
void delayed_keys_against_each_other(void)
{
	int a, b;

	open_set();
	begin(0, 2, 2, HOUR_NS);
	a = spawn_event(KEY_A);
	b = spawn_event(KEY_B);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[0].ends == 1 && book.of[0].status == 0);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: an event on the second key of an operation and a late cancel do
 * nothing to the next operation in its record. */
void delayed_event_against_reuse(void)
{
	int a, b;

	open_set();
	begin(0, 9, 2, HOUR_NS);
	a = spawn_event(KEY_B);
	b = explore_spawn("late cancel", cancel_first, NULL);
	cancel_first(NULL);
	begin(1, 9, 1, HOUR_NS);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[0].ends == 1);
	explore_check(book.of[1].ends == 0 && book.of[1].asks == 1);
	close_set();
}

static void *shut_set_down(void *unused)
{
	explore_check(tkw_delayed_shutdown(book.set) == 0);
	return unused;
}

/* SPEC 8.5: an add is refused, or its operation ends before or by the
 * shutdown. */
void delayed_shutdown_against_add(void)
{
	int a, b, c;

	open_set();
	begin(0, 1, 1, HOUR_NS);
	a = explore_spawn("shutdown", shut_set_down, NULL);
	b = explore_spawn("add", begin_second, NULL);
	c = spawn_event(KEY_A);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	check_nothing_left();
	close_set();
}

static void *stop_timer(void *unused)
{
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	return unused;
}

/* SPEC 8.5: the stop of the timer ends the operations, but not one that is
 * being asked: it ends when that is over. */
void delayed_timer_stop_against_event(void)
{
	int a, b, c;

	open_set();
	begin(0, 2, 1, HOUR_NS);
	a = explore_spawn("stop", stop_timer, NULL);
	b = explore_spawn("add", begin_second, NULL);
	c = spawn_event(KEY_A);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(book.of[0].status == -ESHUTDOWN);
	check_nothing_left();
	close_set();
}

/* SPEC 8.5: after destroy has returned, no callback runs, and the worker does
 * not use the memory. */
void delayed_destroy_against_expire(void)
{
	open_set();
	begin(0, 9, 2, 0);
	begin(1, 9, 1, TKW_MSEC);
	explore_sleep_until(EXPLORE_START_NS + TKW_MSEC);
	close_set();
}
