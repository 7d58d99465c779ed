/* SPDX-License-Identifier: MIT */
/*
 * test_delayed.c - SPEC 8.5: an operation completes when its condition holds,
 * or expires, once; an event on a key asks those that watch it; an operation
 * that has ended is in no list. These tests check what each call does, on one
 * thread. Executors are in test_delayed_exec.c, forks and races in
 * test_delayed_threads.c.
 */
#include <errno.h>
#include <string.h>

#include "delayed_bed.h"

/* --- memory that can be refused ------------------------------------------ */

#define NAMED(name) __asm__(name)
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");

/* How many calls still succeed, if not negative. */
static atomic_int allowed = -1;
static atomic_uint refusals;
static atomic_bool no_tables; /* refuse what is aligned to a cache line */

void *wrap_aligned_alloc(size_t align, size_t size)
{
	int left = atomic_load(&allowed);

	if (left == 0 || (align == 64 && atomic_load(&no_tables))) {
		atomic_fetch_add(&refusals, 1);
		return NULL;
	}
	if (left > 0)
		atomic_fetch_sub(&allowed, 1);
	return real_aligned_alloc(align, size);
}

/* --- the ends ------------------------------------------------------------- */

/* SPEC 8.5: a condition that holds at once needs no timeout, no list and no
 * memory. */
static void test_8_5_delayed_completes_at_once(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .holds = true, .id = { 7 } };
	const uint64_t key = 1;
	const struct tkw_delayed_op op = op_of(&w, &key, 1, HOUR_NS);
	struct tkw_delayed_ledger l;

	assert_int_equal(tkw_delayed_add(d, &op, &w.id), 1);
	assert_int_equal(w.id.bits, 0);
	assert_ended(&w, 0);
	assert_true(pthread_equal(w.by, pthread_self()));
	assert_int_equal(atomic_load(&w.asks), 1);
	l = assert_ledger(d, 0, 0);
	assert_int_equal(l.added, 1);
	assert_int_equal(l.completed, 1);
	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_delayed_cancel(d, w.id), -ENOENT);
	close_set(d);
}
BED_TEST(test_8_5_delayed_completes_at_once)

/* SPEC 8.5: an event asks, and the operation completes if its condition
 * holds. */
static void test_8_5_delayed_completes_by_an_event(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct tkw_delayed_ledger l;
	struct waiting w = { .ctx = NULL };

	add(d, &w, 7, 5 * TKW_MSEC);
	assert_int_equal(atomic_load(&w.asks), 1);
	assert_ledger(d, 1, 1);
	assert_int_equal(tkw_timer_count(b->t), 1);
	/* Not yet; and another key does not ask. */
	assert_int_equal(tkw_delayed_event(d, 7), 0);
	assert_int_equal(tkw_delayed_event(d, 8), 0);
	assert_int_equal(atomic_load(&w.asks), 2);
	assert_waits(&w);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, 7), 1);
	assert_ended(&w, 0);
	assert_true(pthread_equal(w.by, pthread_self()));
	/* Nothing is left behind. */
	l = assert_ledger(d, 0, 0);
	assert_int_equal(l.completed, 1);
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(tkw_delayed_event(d, 7), 0);
	assert_int_equal(tkw_delayed_cancel(d, w.id), -ENOENT);
	bed_pass(b, TKW_SEC);
	assert_ended(&w, 0);
	close_set(d);
}
BED_TEST(test_8_5_delayed_completes_by_an_event)

/* SPEC 8.5: it expires when its time is over, and not before. */
static void test_8_5_delayed_expires(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };
	struct waiting other = { .ctx = NULL };
	struct tkw_delayed_ledger l;

	add(d, &w, 7, 5 * TKW_MSEC);
	add(d, &other, 7, 50 * TKW_MSEC);
	bed_pass(b, 4 * TKW_MSEC);
	assert_waits(&w);
	bed_pass(b, 2 * TKW_MSEC);
	assert_ended(&w, -ETIMEDOUT);
	assert_waits(&other);
	l = assert_ledger(d, 1, 1);
	assert_int_equal(l.expired, 1);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, 7), 0);
	assert_int_equal(tkw_delayed_cancel(d, w.id), -ENOENT);
	assert_ended(&w, -ETIMEDOUT);
	close_set(d);
	assert_ended(&other, -ESHUTDOWN);
}
BED_TEST(test_8_5_delayed_expires)

/* SPEC 8.5: a cancel ends it, once. */
static void test_8_5_delayed_is_cancelled(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };
	struct tkw_delayed_ledger l;

	add(d, &w, 7, HOUR_NS);
	assert_int_equal(tkw_delayed_cancel(d, w.id), 0);
	assert_ended(&w, -ECANCELED);
	assert_int_equal(tkw_delayed_cancel(d, w.id), -ENOENT);
	l = assert_ledger(d, 0, 0);
	assert_int_equal(l.cancelled, 1);
	assert_int_equal(tkw_timer_count(b->t), 0);
	close_set(d);
}
BED_TEST(test_8_5_delayed_is_cancelled)

/* A timeout that is due at once does not fire inside add. One that lies beyond
 * the end of time never fires. */
static void test_delayed_timeouts_of_all_kinds(struct timer_bed *b)
{
	static const int64_t due[] = { 0, -1, INT64_MIN, 1 };
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		add(d, &w, i, due[i]);
		if (bed_by_hand(b))
			assert_waits(&w);
		bed_pass(b, TKW_MSEC);
		assert_ended(&w, -ETIMEDOUT);
	}
	add(d, &w, 7, INT64_MAX);
	bed_pass(b, 1000 * HOUR_NS);
	assert_waits(&w);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, 7), 1);
	assert_ended(&w, 0);
	close_set(d);
}
BED_TEST(test_delayed_timeouts_of_all_kinds)

/* --- keys ----------------------------------------------------------------- */

/* SPEC 8.5: an event on any of its keys asks. When it ends, in whatever way, it
 * leaves the lists of all keys at once. */
static void test_8_5_delayed_watches_several_keys(struct timer_bed *b)
{
	static const uint64_t keys[] = { 1, 2, 3, UINT64_MAX, 0 };
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };
	struct waiting one = { .ctx = NULL };

	add(d, &one, 3, HOUR_NS);
	for (size_t i = 0; i < 5; i++) {
		add_under(d, &w, keys, 5, HOUR_NS);
		assert_ledger(d, 2, 6);
		for (size_t k = 0; k < 5; k++)
			assert_int_equal(tkw_delayed_event(d, keys[k]), 0);
		/* Once or twice in add, and once by each event. */
		assert_true(atomic_load(&w.asks) >= 6);
		atomic_store(&w.holds, true);
		assert_int_equal(tkw_delayed_event(d, keys[i]), 1);
		assert_ended(&w, 0);
		assert_ledger(d, 1, 1);
	}
	add_under(d, &w, keys, 5, TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_ended(&w, -ETIMEDOUT);
	assert_ledger(d, 1, 1);
	add_under(d, &w, keys, 5, HOUR_NS);
	assert_int_equal(tkw_delayed_cancel(d, w.id), 0);
	assert_ledger(d, 1, 1);
	add_under(d, &w, keys, 5, HOUR_NS);
	assert_int_equal(tkw_delayed_shutdown(d), 0);
	assert_ended(&w, -ESHUTDOWN);
	assert_ledger(d, 0, 0);
	close_set(d);
}
BED_TEST(test_8_5_delayed_watches_several_keys)

/* The same key twice, and the largest number of keys. */
static void test_delayed_keys_of_all_numbers(struct timer_bed *b)
{
	static uint64_t keys[TKW_DELAYED_MAX_KEYS + 1];
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };
	struct tkw_delayed_op op = op_of(&w, keys, 0, HOUR_NS);

	assert_int_equal(tkw_delayed_add(d, &op, NULL), -EINVAL);
	op.key_count = TKW_DELAYED_MAX_KEYS + 1;
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -EINVAL);
	add_under(d, &w, keys, 2, HOUR_NS);
	assert_int_equal(tkw_delayed_event(d, 0), 0);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, 0), 1);
	assert_ended(&w, 0);
	assert_ledger(d, 0, 0);
	for (size_t i = 0; i < TKW_DELAYED_MAX_KEYS; i++)
		keys[i] = (uint64_t)i << 40;
	add_under(d, &w, keys, TKW_DELAYED_MAX_KEYS, HOUR_NS);
	assert_ledger(d, 1, TKW_DELAYED_MAX_KEYS);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, UINT64_C(1000) << 40), 1);
	assert_ledger(d, 0, 0);
	close_set(d);
}
BED_TEST(test_delayed_keys_of_all_numbers)

/* Many keys and many operations on some of them, so that the tables grow. */
static void test_delayed_many_at_a_time(struct timer_bed *b)
{
	enum {
		MANY = 4000
	};
	static struct waiting many[MANY];
	struct tkw_delayed *d = open_set(b);

	memset(many, 0, sizeof(many));
	for (uint64_t i = 0; i < MANY; i++)
		add(d, &many[i], i / 4 * i / 4, i % 8 < 4 ? HOUR_NS : TKW_MSEC);
	assert_ledger(d, MANY, MANY);
	for (uint64_t i = 0; i < MANY; i += 8) {
		atomic_store(&many[i].holds, true);
		assert_int_equal(tkw_delayed_event(d, i / 4 * i / 4), 1);
		assert_ended(&many[i], 0);
	}
	assert_ledger(d, MANY - MANY / 8, MANY - MANY / 8);
	bed_pass(b, 5 * TKW_MSEC);
	assert_ledger(d, UINT64_C(3) * MANY / 8, UINT64_C(3) * MANY / 8);
	assert_int_equal(tkw_delayed_shutdown(d), 0);
	for (uint64_t i = 0; i < MANY; i++)
		assert_ended(&many[i], i % 8 == 0  ? 0
				       : i % 8 < 4 ? -ESHUTDOWN
						   : -ETIMEDOUT);
	assert_ledger(d, 0, 0);
	close_set(d);
}
BED_TEST(test_delayed_many_at_a_time)

/* --- the order of asking -------------------------------------------------- */

static void take_one(struct waiting *w)
{
	int *left = w->ctx;

	--*left;
}

static void look_at_rest(struct waiting *w)
{
	const int *left = w->ctx;

	atomic_store(&w->holds, *left > 0);
}

/* The one that was asked longest ago is asked first, and on_end is called
 * before the next one is asked: two things are enough for two operations, not
 * three. */
static void test_delayed_asks_in_order(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct waiting w[4];
	int left = 0;

	for (int i = 0; i < 4; i++) {
		w[i] = (struct waiting){ .in_holds = look_at_rest,
					 .in_end = take_one,
					 .ctx = &left };
		add(d, &w[i], 7, HOUR_NS);
	}
	left = 2;
	assert_int_equal(tkw_delayed_event(d, 7), 2);
	assert_ended(&w[0], 0);
	assert_ended(&w[1], 0);
	assert_waits(&w[2]);
	assert_true(w[0].asked_at < w[0].ended_at);
	assert_true(w[0].ended_at < w[1].asked_at);
	assert_true(w[1].ended_at < w[2].asked_at);
	assert_true(w[2].asked_at < w[3].asked_at);
	assert_int_equal(left, 0);
	left = 1;
	assert_int_equal(tkw_delayed_event(d, 7), 1);
	assert_ended(&w[2], 0);
	close_set(d);
	assert_ended(&w[3], -ESHUTDOWN);
}
BED_TEST(test_delayed_asks_in_order)

/* --- calls inside callbacks ----------------------------------------------- */

struct inside {
	struct tkw_delayed *d;
	struct timer_bed *b;
	struct waiting other;
	int ret;
};

static void make_an_event_once(struct waiting *w)
{
	struct inside *i = w->ctx;

	if (atomic_load(&w->asks) == 2)
		assert_int_equal(tkw_delayed_event(i->d, 7), 0);
}

/* SPEC 8.5: an event that comes while the operation is asked makes it asked
 * again. */
static void test_8_5_delayed_event_while_it_is_asked(struct timer_bed *b)
{
	struct inside i = { .d = open_set(b) };
	struct waiting w = { .in_holds = make_an_event_once, .ctx = &i };

	add(i.d, &w, 7, HOUR_NS);
	assert_int_equal(atomic_load(&w.asks), 1);
	assert_int_equal(tkw_delayed_event(i.d, 7), 0);
	assert_int_equal(atomic_load(&w.asks), 3);
	assert_waits(&w);
	close_set(i.d);
}
BED_TEST(test_8_5_delayed_event_while_it_is_asked)

static void make_it_hold(struct waiting *w)
{
	struct inside *i = w->ctx;

	/* The first call is that of add, before it watches. The change comes
	 * after the look. */
	if (atomic_load(&w->asks) == 1) {
		assert_int_equal(tkw_delayed_event(i->d, 7), 0);
		w->in_holds = NULL;
		i->ret = 1;
	}
}

static int hold_next_time(void *ctx)
{
	struct waiting *w = ctx;
	const struct inside *i = w->ctx;
	int ret = i->ret;

	(void)note_ask(ctx);
	return ret;
}

/* SPEC 8.5: the condition comes true after the first look of add, and before
 * the operation is in the list. */
static void test_8_5_delayed_event_while_it_is_added(struct timer_bed *b)
{
	struct inside i = { .d = open_set(b) };
	struct waiting w = { .in_holds = make_it_hold, .ctx = &i };
	const uint64_t key = 7;
	struct tkw_delayed_op op = op_of(&w, &key, 1, HOUR_NS);

	op.holds = hold_next_time;
	assert_int_equal(tkw_delayed_add(i.d, &op, &w.id), 0);
	assert_int_equal(atomic_load(&w.asks), 2);
	assert_ended(&w, 0);
	assert_ledger(i.d, 0, 0);
	bed_assert_ledger(b, 0);
	close_set(i.d);
}
BED_TEST(test_8_5_delayed_event_while_it_is_added)

static void cancel_itself(struct waiting *w)
{
	struct inside *i = w->ctx;

	if (w->id.bits == 0)
		return;
	i->ret = tkw_delayed_cancel(i->d, w->id);
	assert_int_equal(tkw_delayed_cancel(i->d, w->id), -ENOENT);
	/* It has not ended yet. */
	assert_int_equal(tkw_delayed_count(i->d), 1);
	assert_waits(w);
}

/* A cancel while it is asked: it completes if it holds, and is cancelled if
 * not. */
static void test_delayed_cancel_while_it_is_asked(struct timer_bed *b)
{
	struct inside i = { .d = open_set(b) };
	struct waiting w = { .in_holds = cancel_itself, .ctx = &i };

	add(i.d, &w, 7, HOUR_NS);
	assert_int_equal(tkw_delayed_event(i.d, 7), 0);
	assert_int_equal(i.ret, 1);
	assert_ended(&w, -ECANCELED);
	assert_int_equal(atomic_load(&w.asks), 2);
	add(i.d, &w, 7, HOUR_NS);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(i.d, 7), 1);
	assert_int_equal(i.ret, 1);
	assert_ended(&w, 0);
	assert_ledger(i.d, 0, 0);
	close_set(i.d);
}
BED_TEST(test_delayed_cancel_while_it_is_asked)

static void let_time_pass(struct waiting *w)
{
	struct inside *i = w->ctx;

	if (w->id.bits == 0)
		return;
	bed_pass(i->b, 10 * TKW_MSEC);
	/* on_end waits until holds has returned. */
	assert_waits(w);
	assert_int_equal(tkw_delayed_count(i->d), 1);
}

/* SPEC 8.5: its time runs out while it is asked. It completes if it holds, and
 * expires if not. */
static void test_8_5_delayed_expires_while_it_is_asked(struct timer_bed *b)
{
	struct inside i = { .d = open_set(b), .b = b };
	struct waiting w = { .in_holds = let_time_pass, .ctx = &i };
	struct tkw_delayed_ledger l;

	add(i.d, &w, 7, 5 * TKW_MSEC);
	assert_int_equal(tkw_delayed_event(i.d, 7), 0);
	assert_ended(&w, -ETIMEDOUT);
	add(i.d, &w, 7, 5 * TKW_MSEC);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(i.d, 7), 1);
	assert_ended(&w, 0);
	l = assert_ledger(i.d, 0, 0);
	assert_int_equal(l.expired, 1);
	assert_int_equal(l.completed, 1);
	close_set(i.d);
}
BED_TEST(test_8_5_delayed_expires_while_it_is_asked)

/* All calls except destroy are legal there. Its own place is free, even if the
 * set was full. */
static void call_from_inside(struct waiting *w)
{
	struct inside *i = w->ctx;
	struct waiting more = { .ctx = NULL };

	i->ret++;
	assert_int_equal(tkw_delayed_destroy(i->d), -EDEADLK);
	assert_int_equal(tkw_delayed_cancel(i->d, w->id), -ENOENT);
	atomic_store(&i->other.holds, true);
	assert_int_equal(tkw_delayed_event(i->d, 8), 1);
	assert_ended(&i->other, 0);
	add(i->d, &more, 7, HOUR_NS);
	add(i->d, &i->other, 8, HOUR_NS);
	assert_int_equal(tkw_delayed_cancel(i->d, more.id), 0);
	assert_ledger(i->d, 1, 1);
}

static void test_delayed_calls_from_on_end(struct timer_bed *b)
{
	struct inside i = { .d = open_limited_set(b, 2) };
	struct waiting w = { .in_end = call_from_inside, .ctx = &i };

	add(i.d, &i.other, 8, HOUR_NS);
	add(i.d, &w, 7, HOUR_NS);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(i.d, 7), 1);
	assert_ended(&w, 0);
	add(i.d, &w, 7, HOUR_NS);
	assert_int_equal(tkw_delayed_cancel(i.d, w.id), 0);
	/* On the timer's worker. */
	add(i.d, &w, 7, TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_ended(&w, -ETIMEDOUT);
	assert_int_equal(i.ret, 3);
	close_set(i.d);
	assert_ended(&i.other, -ESHUTDOWN);
}
BED_TEST(test_delayed_calls_from_on_end)

static void destroy_in_holds(struct waiting *w)
{
	const struct inside *i = w->ctx;

	assert_int_equal(tkw_delayed_destroy(i->d), -EDEADLK);
}

static void destroy_in_task(const struct tkw_firing *firing, void *ctx)
{
	struct inside *i = ctx;

	(void)firing;
	i->ret = tkw_delayed_destroy(i->d);
}

static void test_delayed_destroy_inside(struct timer_bed *b)
{
	struct inside i = { .d = open_set(b) };
	struct waiting w = { .in_holds = destroy_in_holds, .ctx = &i };
	const struct tkw_task task = { .fn = destroy_in_task, .ctx = &i };

	add(i.d, &w, 7, HOUR_NS);
	assert_int_equal(tkw_delayed_event(i.d, 7), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(i.ret, -EDEADLK);
	close_set(i.d);
}
BED_TEST(test_delayed_destroy_inside)

/* --- bad input ------------------------------------------------------------ */

static void test_delayed_create_refuses(struct timer_bed *b)
{
	struct {
		struct tkw_delayed_config cfg;
		char newer[4104];
	} c = { .cfg = { .timer = b->t } };
	const size_t bad[] = { 1, sizeof(c.cfg) - 1, sizeof(c) };
	struct tkw_delayed *d = NULL;

	assert_int_equal(tkw_delayed_create(NULL, &c.cfg), -EINVAL);
	assert_int_equal(tkw_delayed_create(&d, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.cfg.size = bad[i];
		assert_int_equal(tkw_delayed_create(&d, &c.cfg), -EINVAL);
	}
	c.cfg.size = sizeof(c.cfg) + 8;
	c.newer[7] = 1;
	assert_int_equal(tkw_delayed_create(&d, &c.cfg), -EINVAL);
	c.newer[7] = 0;
	assert_int_equal(tkw_delayed_create(&d, &c.cfg), 0);
	close_set(d);
	d = NULL;
	c.cfg = (struct tkw_delayed_config){ .max_pending = INT64_MIN };
	assert_int_equal(tkw_delayed_create(&d, &c.cfg), -EINVAL);
	assert_null(d);
	c.cfg.timer = b->t;
	assert_int_equal(tkw_delayed_create(&d, &c.cfg), 0);
	close_set(d);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_delayed_create_refuses)

static void test_delayed_calls_refuse_bad_input(struct timer_bed *b)
{
	const struct tkw_delayed_id id = { 1 };
	struct tkw_delayed *d = open_set(b);
	struct tkw_delayed_ledger l = { .added = 7 };
	struct waiting w = { .ctx = NULL };
	const uint64_t key = 7;
	const struct tkw_delayed_op good = op_of(&w, &key, 1, 0);
	struct tkw_delayed_op op = good;

	assert_int_equal(tkw_delayed_add(NULL, &op, NULL), -EINVAL);
	assert_int_equal(tkw_delayed_add(d, NULL, NULL), -EINVAL);
	op.holds = NULL;
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -EINVAL);
	op = good;
	op.on_end = NULL;
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -EINVAL);
	op = good;
	op.keys = NULL;
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -EINVAL);
	assert_int_equal(tkw_delayed_event(NULL, 7), -EINVAL);
	assert_int_equal(tkw_delayed_cancel(NULL, id), -EINVAL);
	assert_int_equal(tkw_delayed_count(NULL), 0);
	assert_int_equal(tkw_delayed_get_ledger(NULL, &l), -EINVAL);
	assert_int_equal(tkw_delayed_get_ledger(d, NULL), -EINVAL);
	assert_int_equal(l.added, 7);
	assert_int_equal(tkw_delayed_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_delayed_destroy(NULL), 0);
	assert_int_equal(atomic_load(&w.asks), 0);
	l = assert_ledger(d, 0, 0);
	assert_int_equal(l.added, 0);
	close_set(d);
}
BED_TEST(test_delayed_calls_refuse_bad_input)

/* Ids that were never given out, most of them similar to one that was, and
 * those of operations that have ended. */
static void test_delayed_ids(struct timer_bed *b)
{
	enum {
		OLD = 300
	};
	static struct tkw_delayed_id old[OLD];
	struct tkw_delayed *d = open_set(b);
	uint64_t random = 1;
	struct waiting w = { .ctx = NULL };

	for (int i = 0; i < OLD; i++) {
		add(d, &w, 7, HOUR_NS);
		old[i] = w.id;
		assert_int_equal(tkw_delayed_cancel(d, w.id), 0);
	}
	add(d, &w, 7, HOUR_NS);
	for (int i = 0; i < OLD; i++)
		assert_int_equal(tkw_delayed_cancel(d, old[i]), -ENOENT);
	for (unsigned bit = 0; bit < 64; bit++) {
		struct tkw_delayed_id id = { w.id.bits ^ UINT64_C(1) << bit };

		assert_int_equal(tkw_delayed_cancel(d, id), -ENOENT);
	}
	for (int i = 0; i < 10000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		if (random != w.id.bits)
			assert_int_equal(
				tkw_delayed_cancel(
					d, (struct tkw_delayed_id){ random }),
				-ENOENT);
	}
	assert_waits(&w);
	assert_int_equal(tkw_delayed_cancel(d, w.id), 0);
	close_set(d);
}
BED_TEST(test_delayed_ids)

/* --- limits and memory ---------------------------------------------------- */

/* Exactly max_pending are accepted. One whose condition holds needs no
 * place. */
static void test_delayed_max_pending(struct timer_bed *b)
{
	struct tkw_delayed *d = open_limited_set(b, 2);
	struct waiting w[3] = { { .ctx = NULL } };
	const uint64_t keys[2] = { 7, 8 };
	const struct tkw_delayed_op op = op_of(&w[2], keys, 2, HOUR_NS);

	add(d, &w[0], 7, HOUR_NS);
	add(d, &w[1], 7, TKW_MSEC);
	w[2] = (struct waiting){ .id = { 7 } };
	assert_int_equal(tkw_delayed_add(d, &op, &w[2].id), -EAGAIN);
	assert_int_equal(w[2].id.bits, 7);
	assert_ledger(d, 2, 2);
	atomic_store(&w[2].holds, true);
	assert_int_equal(tkw_delayed_add(d, &op, &w[2].id), 1);
	assert_ended(&w[2], 0);
	bed_pass(b, 5 * TKW_MSEC);
	assert_ended(&w[1], -ETIMEDOUT);
	add(d, &w[1], 7, HOUR_NS);
	atomic_store(&w[2].holds, false);
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -EAGAIN);
	close_set(d);
}
BED_TEST(test_delayed_max_pending)

/* If the timer is full, add is refused, and nothing is left in the set. */
static void test_delayed_timer_is_full(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	const uint64_t keys[2] = { 7, 8 };
	struct waiting w[2] = { { .ctx = NULL } };
	struct tkw_delayed_op op = op_of(&w[1], keys, 1, HOUR_NS);
	struct tkw_delayed *d;

	bed_reopen(b, &cfg);
	d = open_limited_set(b, 2);
	add(d, &w[0], 7, HOUR_NS);
	for (op.key_count = 1; op.key_count <= 2; op.key_count++) {
		assert_int_equal(tkw_delayed_add(d, &op, NULL), -EAGAIN);
		assert_ledger(d, 1, 1);
	}
	assert_int_equal(tkw_delayed_cancel(d, w[0].id), 0);
	add(d, &w[0], 7, HOUR_NS);
	close_set(d);
	assert_int_equal(atomic_load(&w[1].ends), 0);
}
BED_TEST(test_delayed_timer_is_full)

/* Adds operations until one is refused. */
static void add_until_refused(struct tkw_delayed *d, struct waiting *w,
			      size_t count)
{
	const uint64_t keys[3] = { 7, 8, 9 };
	int err = 0;

	for (size_t i = 0; i < count && err == 0; i++) {
		const struct tkw_delayed_op op =
			op_of(&w[i], keys, 1 + i % 3, HOUR_NS);

		err = tkw_delayed_add(d, &op, &w[i].id);
		assert_true(err == 0 || err == -ENOMEM);
	}
}

/* Memory is refused at each place in turn. A refused add changes nothing. */
static void test_delayed_no_memory(struct timer_bed *b)
{
	enum {
		MANY = 200
	};
	static struct waiting w[MANY];
	const struct tkw_delayed_config cfg = { .timer = b->t };
	unsigned before;
	int at = 0;

	/* The timer has its memory before. */
	bed_schedule(b, 1, HOUR_NS);
	do {
		struct tkw_delayed *d = NULL;
		struct tkw_delayed_ledger l;
		int err;

		memset(w, 0, sizeof(w));
		before = atomic_load(&refusals);
		atomic_store(&allowed, at++);
		err = tkw_delayed_create(&d, &cfg);
		assert_int_equal(err, d ? 0 : -ENOMEM);
		if (d)
			add_until_refused(d, w, MANY);
		atomic_store(&allowed, -1);
		if (d == NULL)
			continue;
		assert_int_equal(tkw_delayed_get_ledger(d, &l), 0);
		assert_int_equal(l.added, l.pending);
		assert_int_equal(tkw_delayed_shutdown(d), 0);
		assert_ledger(d, 0, 0);
		for (size_t i = 0; i < MANY; i++)
			assert_int_equal(atomic_load(&w[i].ends), i < l.added);
		close_set(d);
	} while (atomic_load(&refusals) != before);
	assert_true(at > 5);
}
BED_TEST(test_delayed_no_memory)

/* Without memory for a larger table of keys, everything still works. */
static void test_delayed_no_memory_for_keys(struct timer_bed *b)
{
	enum {
		MANY = 500
	};
	static struct waiting w[MANY];
	struct tkw_delayed *d = open_set(b);
	unsigned before = atomic_load(&refusals);

	memset(w, 0, sizeof(w));
	/* Makes room for the records, all under one key. */
	for (uint64_t i = 0; i < MANY; i++)
		add(d, &w[i], 7, HOUR_NS);
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(tkw_delayed_cancel(d, w[i].id), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		const uint64_t key[2] = { 7, 1000 + i };

		atomic_store(&no_tables, true);
		add_under(d, &w[i], key, 2, HOUR_NS);
		atomic_store(&no_tables, false);
	}
	assert_true(atomic_load(&refusals) > before);
	assert_ledger(d, MANY, UINT64_C(2) * MANY);
	for (uint64_t i = 0; i < MANY; i++) {
		atomic_store(&w[i].holds, true);
		assert_int_equal(tkw_delayed_event(d, 1000 + i), 1);
		assert_ended(&w[i], 0);
	}
	assert_ledger(d, 0, 0);
	close_set(d);
}
BED_TEST(test_delayed_no_memory_for_keys)

/* --- shutdown ------------------------------------------------------------- */

/* SPEC 8.5: a shutdown ends all, and refuses what is new. */
static void test_8_5_delayed_shutdown(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct waiting w[2] = { { .ctx = NULL } };
	const uint64_t key = 7;
	const struct tkw_delayed_op op = op_of(&w[1], &key, 1, HOUR_NS);
	struct tkw_delayed_ledger l;

	add(d, &w[0], 7, HOUR_NS);
	assert_int_equal(tkw_delayed_shutdown(d), 0);
	assert_ended(&w[0], -ESHUTDOWN);
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -ESHUTDOWN);
	assert_int_equal(atomic_load(&w[1].asks), 0);
	assert_int_equal(tkw_delayed_event(d, 7), 0);
	assert_int_equal(tkw_delayed_cancel(d, w[0].id), -ENOENT);
	assert_int_equal(tkw_delayed_shutdown(d), 0);
	l = assert_ledger(d, 0, 0);
	assert_int_equal(l.shut_down, 1);
	close_set(d);
}
BED_TEST(test_8_5_delayed_shutdown)

static void shut_down_inside(struct waiting *w)
{
	struct inside *i = w->ctx;

	if (w->id.bits == 0)
		return;
	assert_int_equal(tkw_delayed_shutdown(i->d), 0);
	assert_waits(w);
}

/* An operation that is being asked ends when that is over. */
static void test_delayed_shutdown_while_it_is_asked(struct timer_bed *b)
{
	for (int holds = 0; holds <= 1; holds++) {
		struct inside i = { .d = open_set(b) };
		struct waiting w = { .in_holds = shut_down_inside, .ctx = &i };

		add(i.d, &w, 7, HOUR_NS);
		atomic_store(&w.holds, holds);
		assert_int_equal(tkw_delayed_event(i.d, 7), holds);
		assert_ended(&w, holds ? 0 : -ESHUTDOWN);
		close_set(i.d);
	}
}
BED_TEST(test_delayed_shutdown_while_it_is_asked)

/* SPEC 8.5: the stop of the timer ends all. A condition that holds at once
 * needs no timer. */
static void test_8_5_delayed_timer_is_stopped(struct timer_bed *b)
{
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };
	const uint64_t keys[2] = { 7, 8 };
	const struct tkw_delayed_op op = op_of(&w, keys, 2, HOUR_NS);

	add_under(d, &w, keys, 2, HOUR_NS);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_ended(&w, -ESHUTDOWN);
	assert_int_equal(tkw_delayed_add(d, &op, NULL), -ESHUTDOWN);
	assert_ledger(d, 0, 0);
	w = (struct waiting){ .holds = true };
	assert_int_equal(tkw_delayed_add(d, &op, NULL), 1);
	assert_ended(&w, 0);
	close_set(d);
}
BED_TEST(test_8_5_delayed_timer_is_stopped)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_8_5_delayed_completes_at_once),
		BED_TESTS(test_8_5_delayed_completes_by_an_event),
		BED_TESTS(test_8_5_delayed_expires),
		BED_TESTS(test_8_5_delayed_is_cancelled),
		BED_TESTS(test_delayed_timeouts_of_all_kinds),
		BED_TESTS(test_8_5_delayed_watches_several_keys),
		BED_TESTS(test_delayed_keys_of_all_numbers),
		BED_TESTS(test_delayed_many_at_a_time),
		BED_TESTS(test_delayed_asks_in_order),
		BED_TESTS(test_8_5_delayed_event_while_it_is_asked),
		BED_TESTS(test_8_5_delayed_event_while_it_is_added),
		BED_TESTS(test_delayed_cancel_while_it_is_asked),
		BED_TESTS(test_8_5_delayed_expires_while_it_is_asked),
		BED_TESTS(test_delayed_calls_from_on_end),
		BED_TESTS(test_delayed_destroy_inside),
		BED_TESTS(test_delayed_create_refuses),
		BED_TESTS(test_delayed_calls_refuse_bad_input),
		BED_TESTS(test_delayed_ids),
		BED_TESTS(test_delayed_max_pending),
		BED_TESTS(test_delayed_timer_is_full),
		BED_TESTS(test_delayed_no_memory),
		BED_TESTS(test_delayed_no_memory_for_keys),
		BED_TESTS(test_8_5_delayed_shutdown),
		BED_TESTS(test_delayed_shutdown_while_it_is_asked),
		BED_TESTS(test_8_5_delayed_timer_is_stopped),
	};

	return cmocka_run_group_tests_name("delayed", tests, NULL, NULL);
}
