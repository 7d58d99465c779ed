/* SPDX-License-Identifier: MIT */
/*
 * test_channel.c - SPEC 8.2: which channels are called, and when; which calls
 * are refused; actions that change the set. See also test_channel_many.c and
 * test_channel_threads.c.
 */
#include "channel_bed.h"

#include <errno.h>

/* --- what is refused ----------------------------------------------------- */

static void assert_refused_by(const struct tkw_channels_config *cfg)
{
	struct tkw_channels *set = NULL;

	assert_int_equal(tkw_channels_create(&set, cfg), -EINVAL);
	assert_null(set);
}

static void assert_refused(struct tkw_channels_config cfg)
{
	assert_refused_by(&cfg);
}

/* SPEC 8.2 */
static void test_channel_create_refuses_bad_input(struct timer_bed *b)
{
	const struct tkw_channels_config good = {
		.timer = b->t,
		.rules = { rule_of(HEARTBEAT, 1, 0) },
	};
	struct tkw_channels_config bad;
	struct tkw_channels *set = NULL;

	assert_int_equal(tkw_channels_create(NULL, &good), -EINVAL);
	assert_int_equal(tkw_channels_create(&set, NULL), -EINVAL);
	assert_null(set);
	bad = good;
	bad.timer = NULL;
	assert_refused(bad);
	bad = good;
	memset(bad.rules, 0, sizeof(bad.rules));
	assert_refused(bad);
	bad = good;
	bad.rules[CLOSE].interval_ns = 1;
	assert_refused(bad);
	bad = good;
	bad.rules[CLOSE].period_ns = 1;
	assert_refused(bad);
	bad = good;
	bad.rules[HEARTBEAT].interval_ns = 0;
	assert_refused(bad);
	bad.rules[HEARTBEAT].interval_ns = -1;
	assert_refused(bad);
	bad = good;
	bad.rules[HEARTBEAT].period_ns = -1;
	assert_refused(bad);
	assert_int_equal(tkw_channels_create(&set, &good), 0);
	assert_int_equal(tkw_channels_destroy(set), 0);
}
BED_TEST(test_channel_create_refuses_bad_input)

/* Configs of older and newer programs. */
static void test_channel_config_sizes(struct timer_bed *b)
{
	struct {
		struct tkw_channels_config cfg;
		char newer[4104];
	} c = { .cfg = { .timer = b->t,
			 .rules = { rule_of(HEARTBEAT, 1, 0) } } };
	struct tkw_channels *set = NULL;

	c.cfg.size = sizeof(size_t);
	assert_refused_by(&c.cfg);
	c.cfg.size = sizeof(c.cfg) - 1;
	assert_refused_by(&c.cfg);
	c.cfg.size = sizeof(c);
	assert_refused_by(&c.cfg); /* the size is too large */
	c.cfg.size = sizeof(c.cfg) + 8;
	c.newer[7] = 1;
	assert_refused_by(&c.cfg);
	c.newer[7] = 0;
	assert_int_equal(tkw_channels_create(&set, &c.cfg), 0);
	assert_int_equal(tkw_channels_destroy(set), 0);
	c.cfg.size = sizeof(c.cfg);
	assert_int_equal(tkw_channels_create(&set, &c.cfg), 0);
	assert_int_equal(tkw_channels_destroy(set), 0);
}
BED_TEST(test_channel_config_sizes)

/* SPEC 8.2: a refused call leaves no trace. */
static void test_channel_calls_refuse_bad_input(struct timer_bed *b)
{
	struct world *w = open_world(b, HEARTBEAT, 1, PERIOD_NS);
	struct world *other = open_world(b, HEARTBEAT, 1, PERIOD_NS);
	struct user *u = make_users(2);
	struct tkw_channel_stats s;

	assert_int_equal(tkw_channels_add(NULL, &u->ch), -EINVAL);
	assert_int_equal(tkw_channels_add(w->set, NULL), -EINVAL);
	assert_int_equal(tkw_channels_remove(NULL, &u->ch), -EINVAL);
	assert_int_equal(tkw_channels_remove(w->set, NULL), -EINVAL);
	assert_int_equal(tkw_channels_remove(w->set, &u->ch), -ENOENT);
	assert_int_equal(tkw_channels_get_stats(NULL, &s), -EINVAL);
	assert_int_equal(tkw_channels_get_stats(w->set, NULL), -EINVAL);
	assert_int_equal(tkw_channels_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_channels_destroy(NULL), 0);
	assert_int_equal(tkw_channels_count(NULL), 0);
	tkw_channel_mark_read(NULL, 1);
	tkw_channel_mark_write(NULL, 1);
	tkw_channel_mark_connected(NULL, 1);
	assert_int_equal(tkw_timer_count(b->t), 0);
	add(w, &u[0]);
	assert_int_equal(tkw_channels_add(w->set, &u->ch), -EEXIST);
	assert_int_equal(tkw_channels_add(other->set, &u->ch), -EEXIST);
	assert_int_equal(tkw_channels_remove(other->set, &u->ch), -ENOENT);
	assert_int_equal(tkw_channels_remove(w->set, &u[1].ch), -ENOENT);
	assert_int_equal(stats_of(w).channels, 1);
	assert_int_equal(stats_of(other).channels, 0);
	assert_int_equal(tkw_channels_count(w->set), 1);
	assert_int_equal(tkw_channels_count(other->set), 0);
	assert_int_equal(tkw_timer_count(b->t), 1);
	drop(w, &u[0]);
	assert_int_equal(tkw_channels_remove(w->set, &u->ch), -ENOENT);
	close_world(other);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_calls_refuse_bad_input)

/* SPEC 8.2, 3.6: either all kinds get a place on the timer, or none does and
 * the channel is not in the set. */
static void test_channel_add_at_the_limit(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 3 };
	struct user *u = make_users(1);
	struct tkw_timeout_id id;
	struct world *w;

	bed_reopen(b, &cfg);
	w = open_all(b, 1, PERIOD_NS);
	id = bed_schedule(b, 1, HOUR_NS);
	assert_int_equal(tkw_channels_add(w->set, &u->ch), -EAGAIN);
	assert_int_equal(tkw_timer_count(b->t), 1);
	assert_int_equal(stats_of(w).channels, 0);
	assert_int_equal(tkw_channels_remove(w->set, &u->ch), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	add(w, u);
	assert_int_equal(tkw_timer_count(b->t), 3);
	drop(w, u);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_add_at_the_limit)

/* SPEC 8.2, fault 1 */
static void test_channel_add_without_memory(struct timer_bed *b)
{
	struct bed_memory m = { .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct user *u = make_users(1);
	struct world *w;

	bed_reopen(b, &cfg);
	w = open_all(b, 1, PERIOD_NS);
	bed_memory_refuse(&m, true);
	assert_int_equal(tkw_channels_add(w->set, &u->ch), -ENOMEM);
	assert_int_equal(stats_of(w).channels, 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	bed_memory_refuse(&m, false);
	add_old(w, u);
	pass_a_period(w);
	assert_int_equal(u->calls[CLOSE], 1);
	close_world(w);
	free(u);
	bed_reopen(b, NULL); /* the memory belongs to this test */
}
BED_TEST(test_channel_add_without_memory)

void *real_aligned_alloc(size_t align,
			 size_t size) __asm__("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align,
			 size_t size) __asm__("__wrap_aligned_alloc");
static bool refuse_memory; /* no other thread allocates then */

void *wrap_aligned_alloc(size_t align, size_t size)
{
	return refuse_memory ? NULL : real_aligned_alloc(align, size);
}

/* Fault 1 */
static void test_channel_create_without_memory(struct timer_bed *b)
{
	const struct tkw_channels_config cfg = {
		.timer = b->t,
		.rules = { rule_of(HEARTBEAT, 1, 0) },
	};
	struct tkw_channels *set = NULL;

	refuse_memory = true;
	assert_int_equal(tkw_channels_create(&set, &cfg), -ENOMEM);
	refuse_memory = false;
	assert_null(set);
	assert_int_equal(tkw_channels_create(&set, &cfg), 0);
	assert_int_equal(tkw_channels_destroy(set), 0);
}
BED_TEST(test_channel_create_without_memory)

/* --- which are due ------------------------------------------------------- */

/* SPEC 8.2: a channel that was never seen is skipped. */
static void test_channel_never_seen_is_skipped(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(2);

	add(w, &u[0]);
	add(w, &u[1]);
	/* It is as it was before the add. */
	drop(w, &u[1]);
	tkw_channel_mark_read(&u[1].ch, 1);
	tkw_channel_mark_connected(&u[1].ch, 0);
	add(w, &u[1]);
	pass_a_period(w);
	pass_a_period(w);
	assert_int_equal(w->calls, 0);
	assert_int_equal(stats_of(w).looks[HEARTBEAT], 4);
	assert_int_equal(stats_of(w).looks[RECONNECT], 4);
	assert_int_equal(stats_of(w).looks[CLOSE], 4);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_never_seen_is_skipped)

/* Opens a set of all kinds that marks each channel that is added. */
static struct world *open_marking(struct timer_bed *b, int64_t interval_ns)
{
	struct tkw_channels_config cfg = { .mark_on_add = 1 };
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		cfg.rules[kind] = rule_of(kind, interval_ns, PERIOD_NS);
	return open_with(b, cfg);
}

/* Marks this channel, and lets time pass. */
static void touch_and_pass(struct world *w, struct user *u, int64_t ns)
{
	tkw_channel_mark_read(&u->ch, now_of(w));
	tkw_channel_mark_write(&u->ch, now_of(w));
	bed_pass(w->b, ns);
}

/* SPEC 8.2: with mark_on_add, a channel that is never marked becomes idle after
 * it was added, and again after it was added again. */
static void test_channel_mark_on_add(struct timer_bed *b)
{
	struct world *w = open_marking(b, 2 * PERIOD_NS);
	struct user *u = make_users(2);
	unsigned round;
	int kind;

	/* Passes begin a period apart, counted from the first one. */
	add(w, &u[0]);
	for (round = 0; round < 2; round++) {
		touch_and_pass(w, &u[0], PERIOD_NS / 2);
		add(w, &u[1]);
		touch_and_pass(w, &u[0], PERIOD_NS);
		touch_and_pass(w, &u[0], PERIOD_NS);
		/* It is exactly as old as the interval, not older. */
		for (kind = 0; kind < KINDS; kind++)
			assert_int_equal(u[1].calls[kind], round);
		touch_and_pass(w, &u[0], PERIOD_NS);
		for (kind = 0; kind < KINDS; kind++)
			assert_int_equal(u[1].calls[kind], round + 1);
		drop(w, &u[1]);
		touch_and_pass(w, &u[0], PERIOD_NS / 2);
	}
	for (kind = 0; kind < KINDS; kind++)
		assert_int_equal(u[0].calls[kind], 0);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_mark_on_add)

static int64_t young_now;

static int64_t tell_young_now(void *ctx)
{
	(void)ctx;
	return young_now;
}

/* SPEC 8.2: this also works on a clock that is at 0, although a mark of 0 means
 * never. */
static void test_channel_mark_on_add_at_zero(void **state)
{
	const struct tkw_timer_hooks hooks = { .now = tell_young_now };
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_MANUAL,
					      .hooks = &hooks };
	struct timer_bed b = { 0 };
	struct user *u = make_users(1);
	struct world *w;

	(void)state;
	young_now = 0;
	assert_int_equal(tkw_timer_create(&b.t, &cfg), 0);
	w = open_marking(&b, PERIOD_NS / 2);
	add(w, u);
	young_now = PERIOD_NS;
	assert_int_equal(tkw_timer_turn(b.t, 0, NULL), KINDS);
	assert_int_equal(w->calls, KINDS);
	close_world(w);
	free(u);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
}

enum {
	READ = 1,
	WRITTEN = 2,
	CUT = 4
};

/* Which kinds are called for a channel with these old marks and new other
 * ones. */
static unsigned kinds_called(struct timer_bed *b, unsigned old)
{
	struct world *w = open_all(b, 3 * PERIOD_NS, PERIOD_NS);
	struct user *u = make_users(1);
	int64_t now_ns = tkw_timer_now_ns(b->t);
	unsigned kinds = 0;
	int kind;

	add(w, u);
	tkw_channel_mark_read(&u->ch, old & READ ? 1 : now_ns);
	tkw_channel_mark_write(&u->ch, old & WRITTEN ? 1 : now_ns);
	tkw_channel_mark_connected(&u->ch, !(old & CUT));
	pass_a_period(w);
	for (kind = 0; kind < KINDS; kind++)
		kinds |= u->calls[kind] << kind;
	close_world(w);
	free(u);
	return kinds;
}

/* SPEC 8.2: heartbeat and close are due if either mark is old, reconnect if the
 * channel is not connected or read-idle. */
static void test_channel_kinds_look_at_different_things(struct timer_bed *b)
{
	const unsigned idle = 1 << HEARTBEAT | 1 << CLOSE;
	const unsigned cut = 1 << RECONNECT;

	assert_int_equal(kinds_called(b, 0), 0);
	assert_int_equal(kinds_called(b, READ), idle | cut);
	assert_int_equal(kinds_called(b, WRITTEN), idle);
	assert_int_equal(kinds_called(b, CUT), cut);
	assert_int_equal(kinds_called(b, READ | WRITTEN | CUT), idle | cut);
	assert_int_equal(kinds_called(b, WRITTEN | CUT), idle | cut);
}
BED_TEST(test_channel_kinds_look_at_different_things)

/* SPEC 8.2: a mark must be older than the interval, not just as old. */
static void test_channel_age_is_exact(struct timer_bed *b)
{
	struct world *w = open_world(b, HEARTBEAT, 5 * TKW_MSEC, PERIOD_NS);
	struct user *u = make_users(2);
	int64_t look_ns = BED_START_NS + PERIOD_NS + TKW_MSEC;

	add(w, &u[0]);
	add(w, &u[1]);
	tkw_channel_mark_read(&u[0].ch, look_ns - 5 * TKW_MSEC);
	tkw_channel_mark_read(&u[1].ch, look_ns - 5 * TKW_MSEC - 1);
	pass_a_period(w);
	assert_int_equal(u[0].calls[HEARTBEAT], 0);
	assert_int_equal(u[1].calls[HEARTBEAT], 1);
	assert_int_equal(u[1].called_ns[HEARTBEAT], look_ns);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_age_is_exact)

/* SPEC 8.2: a mark that is not positive means never. A mark in the future is
 * not old. */
static void test_channel_odd_stamps(struct timer_bed *b)
{
	const int64_t odd[] = { 0,
				-1,
				INT64_MIN,
				INT64_MAX,
				INT64_MIN + 1,
				BED_START_NS + HOUR_NS };
	const size_t count = sizeof(odd) / sizeof(odd[0]);
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(count);
	size_t i;

	for (i = 0; i < count; i++) {
		add(w, &u[i]);
		tkw_channel_mark_read(&u[i].ch, odd[i]);
		tkw_channel_mark_write(&u[i].ch, odd[i]);
	}
	pass_a_period(w);
	assert_int_equal(w->calls, 0);
	assert_int_equal(stats_of(w).looks[CLOSE], count);
	/* Now the last mark is in the past. */
	bed_pass(b, HOUR_NS);
	assert_int_equal(u[count - 1].calls[CLOSE], 1);
	assert_int_equal(w->calls, 3);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_odd_stamps)

/* SPEC 8.2: the largest interval is never due, and nothing overflows. */
static void test_channel_largest_interval_and_period(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, INT64_MAX, INT64_MAX);
	struct world *v = open_world(b, CLOSE, INT64_MAX, PERIOD_NS);
	struct user *u = make_users(2);

	add_old(w, &u[0]);
	add_old(v, &u[1]);
	bed_pass(b, 1000 * HOUR_NS);
	assert_int_equal(w->calls + v->calls, 0);
	assert_int_equal(stats_of(w).looks[CLOSE], 0);
	assert_int_equal(stats_of(v).looks[CLOSE], 1);
	assert_int_equal(tkw_timer_count(b->t), 2);
	drop(w, &u[0]);
	drop(v, &u[1]);
	close_world(v);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_largest_interval_and_period)

/* --- when ---------------------------------------------------------------- */

/* How long it takes until the first step of a kind. */
static int64_t first_look(struct timer_bed *b, int kind, int64_t interval_ns,
			  int64_t period_ns)
{
	struct world *w = open_world(b, kind, interval_ns, period_ns);
	struct user *u = make_users(1);
	int64_t from_ns = now_of(w);
	int64_t took_ns;

	add_old(w, u);
	while (stats_of(w).looks[kind] == 0)
		bed_pass(b, 500 * TKW_MSEC);
	took_ns = now_of(w) - from_ns;
	close_world(w);
	free(u);
	return took_ns;
}

/* SPEC 8.2: the period is as set, or a third of the interval, at least 1 s, and
 * 60 s for a reconnect. (A deadline between two ticks is half a second late
 * here.) */
static void test_channel_periods(struct timer_bed *b)
{
	const int64_t sec = TKW_SEC;
	const int64_t late = 500 * TKW_MSEC;

	assert_int_equal(first_look(b, HEARTBEAT, 9 * sec, 0), 3 * sec + late);
	assert_int_equal(first_look(b, HEARTBEAT, 1, 0), sec + late);
	assert_int_equal(first_look(b, CLOSE, 2 * sec, 0), sec + late);
	assert_int_equal(first_look(b, CLOSE, 60 * sec, 0), 20 * sec + late);
	assert_int_equal(first_look(b, RECONNECT, 9 * sec, 0), 60 * sec + late);
	assert_int_equal(first_look(b, RECONNECT, 180 * sec, 0),
			 60 * sec + late);
	assert_int_equal(first_look(b, RECONNECT, 270 * sec, 0),
			 90 * sec + late);
	assert_int_equal(first_look(b, RECONNECT, 9 * sec, sec), sec + late);
	assert_int_equal(first_look(b, CLOSE, 9 * sec, 7 * sec),
			 7 * sec + late);
}
BED_TEST(test_channel_periods)

/* SPEC 8.2: a mark is only a store. It arms or moves no timeout. */
static void test_channel_marks_do_not_touch_the_timer(struct timer_bed *b)
{
	struct world *w = open_all(b, 3 * PERIOD_NS, PERIOD_NS);
	struct user *u = make_users(1);
	struct tkw_ledger before, after;
	int i;

	add(w, u);
	assert_int_equal(tkw_timer_get_ledger(b->t, &before), 0);
	for (i = 1; i < 1000; i++) {
		tkw_channel_mark_read(&u->ch, i);
		tkw_channel_mark_write(&u->ch, i);
		tkw_channel_mark_connected(&u->ch, i % 2);
	}
	assert_int_equal(tkw_timer_get_ledger(b->t, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	close_world(w);
	free(u);
}
BED_TEST(test_channel_marks_do_not_touch_the_timer)

/* SPEC 8.2: it is called in each period until it is marked. */
static void test_channel_is_called_until_marked(struct timer_bed *b)
{
	struct world *w = open_world(b, HEARTBEAT, 2 * PERIOD_NS, PERIOD_NS);
	struct user *u = make_users(1);
	int i;

	add_old(w, u);
	for (i = 1; i <= 5; i++) {
		bed_pass(b, PERIOD_NS + (i == 1 ? TKW_MSEC : 0));
		assert_int_equal(u->calls[HEARTBEAT], i);
	}
	tkw_channel_mark_read(&u->ch, now_of(w));
	bed_pass(b, PERIOD_NS);
	bed_pass(b, PERIOD_NS);
	assert_int_equal(u->calls[HEARTBEAT], 5);
	bed_pass(b, PERIOD_NS);
	assert_int_equal(u->calls[HEARTBEAT], 6);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_is_called_until_marked)

/* SPEC 8.2: an hour without a look is made up by one pass, not by 3,600. */
static void test_channel_missed_passes_are_skipped(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(600);
	size_t i;

	for (i = 0; i < 600; i++)
		add_old(w, &u[i]);
	bed_pass(b, HOUR_NS);
	/* This is its first step, and the clock stands still. */
	assert_int_equal(stats_of(w).looks[CLOSE], 256);
	pass_slowly(b, PERIOD_NS - TKW_MSEC);
	assert_int_equal(stats_of(w).looks[CLOSE], 600);
	for (i = 0; i < 600; i++)
		assert_int_equal(u[i].calls[CLOSE], 1);
	pass_slowly(b, PERIOD_NS);
	assert_int_equal(stats_of(w).looks[CLOSE], 1200);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_missed_passes_are_skipped)

/* While the set is empty, the timer is empty. */
static void test_channel_empty_set_costs_nothing(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(3);
	int i;

	assert_int_equal(tkw_timer_count(b->t), 0);
	for (i = 0; i < 3; i++) {
		add_old(w, &u[0]);
		add_old(w, &u[1]);
		assert_int_equal(tkw_timer_count(b->t), 3);
		drop(w, &u[0]);
		assert_int_equal(tkw_timer_count(b->t), 3);
		if (i == 1)
			pass_a_period(w);
		drop(w, &u[1]);
		assert_int_equal(tkw_timer_count(b->t), 0);
		bed_pass(b, HOUR_NS);
	}
	assert_int_equal(u[0].calls[CLOSE], 0);
	assert_int_equal(u[1].calls[CLOSE], 1);
	assert_int_equal(stats_of(w).steps[CLOSE], 1);
	/* After that, the first channel is looked at after a period. */
	add_old(w, &u[2]);
	bed_pass(b, PERIOD_NS - TKW_MSEC);
	assert_int_equal(u[2].calls[CLOSE], 0);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(u[2].calls[CLOSE], 1);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_empty_set_costs_nothing)

/* --- actions that do something ------------------------------------------- */

static int fail_some(struct world *w, struct user *u, int kind)
{
	(void)w;
	(void)kind;
	return u->said;
}

/* SPEC 8.2: the failure of one channel does not affect the others. */
static void test_channel_failure_stops_no_other(struct timer_bed *b)
{
	struct world *w = open_world(b, HEARTBEAT, 1, PERIOD_NS);
	struct user *u = make_users(600);
	int i;

	w->act = fail_some;
	for (i = 0; i < 600; i++) {
		u[i].said = i % 3 - 1; /* -1, 0, 1 */
		add_old(w, &u[i]);
	}
	pass_slowly(b, 3 * PERIOD_NS);
	for (i = 0; i < 600; i++)
		assert_int_equal(u[i].calls[HEARTBEAT], 2);
	assert_int_equal(stats_of(w).calls[HEARTBEAT], 1200);
	assert_int_equal(stats_of(w).failed[HEARTBEAT], 800);
	assert_int_equal(stats_of(w).failed[CLOSE], 0);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_failure_stops_no_other)

/* Closes a channel for good, and frees its memory. */
static int remove_and_free(struct world *w, struct user *u, int kind)
{
	(void)kind;
	must(tkw_channels_remove(w->set, &u->ch) == 0);
	must(tkw_channels_remove(w->set, &u->ch) == -ENOENT);
	free(u);
	return 0;
}

/* SPEC 8.2: an action may remove its channel, and free it. */
static void test_channel_action_removes_itself(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	int i;

	w->act = remove_and_free;
	for (i = 0; i < 700; i++)
		add_old(w, make_users(1));
	pass_slowly(b, 2 * PERIOD_NS);
	assert_int_equal(w->calls, 700);
	assert_int_equal(stats_of(w).channels, 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	close_world(w);
}
BED_TEST(test_channel_action_removes_itself)

/* Removes the users at some places relative to this one. */
struct around {
	struct user *users;
	int count;
	int from;
	int to;
};

static int remove_around(struct world *w, struct user *u, int kind)
{
	const struct around *a = w->more;
	int me = (int)(u - a->users);
	int i;

	(void)kind;
	if (me != a->count / 2)
		return 0;
	for (i = a->from; i <= a->to; i++)
		must(tkw_channels_remove(w->set, &u[i].ch) == 0);
	return 0;
}

static void remove_in_action(struct timer_bed *b, int from, int to)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct around a = { .count = 9, .from = from, .to = to };
	bool gone;
	int i;

	a.users = make_users(9);
	w->act = remove_around;
	w->more = &a;
	for (i = 0; i < a.count; i++)
		add_old(w, &a.users[i]);
	pass_a_period(w);
	for (i = 0; i < a.count; i++) {
		gone = i - 4 >= from && i - 4 <= to && i > 4;
		assert_int_equal(a.users[i].calls[CLOSE], !gone);
	}
	assert_int_equal(stats_of(w).channels, 9 - (to - from + 1));
	w->act = NULL;
	bed_pass(b, PERIOD_NS);
	for (i = 0; i < a.count; i++) {
		gone = i - 4 >= from && i - 4 <= to;
		if (!gone)
			assert_int_equal(a.users[i].calls[CLOSE], 2);
	}
	close_world(w);
	free(a.users);
}

/* SPEC 8.2: an action may remove its neighbours, or all channels. */
static void test_channel_action_removes_others(struct timer_bed *b)
{
	remove_in_action(b, 1, 1);
	remove_in_action(b, -1, -1);
	remove_in_action(b, 0, 1);
	remove_in_action(b, -1, 0);
	remove_in_action(b, 1, 4);
	remove_in_action(b, 1, 3);
	remove_in_action(b, -4, -1);
	remove_in_action(b, -4, 4);
}
BED_TEST(test_channel_action_removes_others)

static int add_another(struct world *w, struct user *u, int kind)
{
	struct user *other = w->more;

	(void)kind;
	w->more = NULL;
	if (other == NULL)
		return 0;
	/* The set may become empty in between. */
	if (u->said)
		must(tkw_channels_remove(w->set, &u->ch) == 0);
	must(tkw_channels_add(w->set, &other->ch) == 0);
	tkw_channel_mark_read(&other->ch, 1);
	return 0;
}

/* SPEC 8.2: a new channel is looked at in this pass or in the next one. */
static void test_channel_action_adds(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(4);

	w->act = add_another;
	add_old(w, &u[0]);
	w->more = &u[1];
	pass_a_period(w);
	bed_pass(b, PERIOD_NS);
	assert_int_equal(u[0].calls[CLOSE], 2);
	assert_in_range(u[1].calls[CLOSE], 1, 2);
	drop(w, &u[0]);
	/* Inside the action, the last channel is removed and another one
	 * added. */
	u[1].said = 1;
	w->more = &u[2];
	bed_pass(b, PERIOD_NS);
	assert_int_equal(stats_of(w).channels, 1);
	assert_int_equal(u[2].calls[CLOSE], 0);
	assert_int_equal(tkw_timer_count(b->t), 1);
	pass_a_period(w);
	assert_int_equal(u[2].calls[CLOSE], 1);
	assert_int_equal(tkw_timer_count(b->t), 1);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_action_adds)

static int shut_down(struct world *w, struct user *u, int kind)
{
	(void)kind;
	u->said = tkw_channels_shutdown(w->set);
	must(tkw_channels_destroy(w->set) == -EDEADLK);
	return 0;
}

/* SPEC 8.2: a shutdown inside an action ends the step. */
static void test_channel_action_shuts_the_set_down(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(2);

	w->act = shut_down;
	u[0].said = -1;
	add_old(w, &u[0]);
	add_old(w, &u[1]);
	pass_a_period(w);
	bed_pass(b, HOUR_NS);
	assert_int_equal(u[0].said, 0);
	assert_int_equal(w->calls, 1);
	assert_int_equal(tkw_timer_count(b->t), 0);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_action_shuts_the_set_down)

/* --- shut down and destroy ----------------------------------------------- */

/* SPEC 8.2: a shutdown is final. The channels stay in the set, and can be
 * removed. */
static void test_channel_shutdown(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(3);

	add_old(w, &u[0]);
	add_old(w, &u[1]);
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	bed_pass(b, HOUR_NS);
	assert_int_equal(w->calls, 0);
	assert_int_equal(tkw_channels_add(w->set, &u[2].ch), -ESHUTDOWN);
	assert_int_equal(stats_of(w).channels, 2);
	drop(w, &u[0]);
	assert_int_equal(tkw_timer_count(b->t), 0);
	drop(w, &u[1]);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_shutdown)

/* SPEC 8.2: destroy removes all channels. */
static void test_channel_destroy_frees_the_channels(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(3);
	int i;

	for (i = 0; i < 3; i++)
		add_old(w, &u[i]);
	close_world(w);
	w = open_all(b, 1, PERIOD_NS);
	for (i = 0; i < 3; i++)
		add_old(w, &u[i]);
	pass_a_period(w);
	assert_int_equal(w->calls, 9);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_destroy_frees_the_channels)

/* SPEC 6.2: the stop of the timer stops the set. */
static void test_channel_timer_is_stopped(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct world *empty = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(3);

	add_old(w, &u[0]);
	add_old(w, &u[1]);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_channels_add(w->set, &u[2].ch), -ESHUTDOWN);
	assert_int_equal(tkw_channels_add(empty->set, &u[2].ch), -ESHUTDOWN);
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	assert_int_equal(tkw_channels_shutdown(empty->set), 0);
	drop(w, &u[1]);
	assert_int_equal(stats_of(w).channels, 1);
	assert_int_equal(stats_of(w).refused[CLOSE], 0);
	close_world(w);
	close_world(empty);
	/* The timer of this set is stopped already. */
	w = open_all(b, 1, PERIOD_NS);
	assert_int_equal(tkw_channels_add(w->set, &u[2].ch), -ESHUTDOWN);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_timer_is_stopped)

/* --- several, and sessions ----------------------------------------------- */

/* SPEC 8.2: sets on one timer do not affect each other. */
static void test_channel_two_sets(struct timer_bed *b)
{
	struct world *v = open_world(b, HEARTBEAT, 1, PERIOD_NS);
	struct world *w = open_world(b, CLOSE, 1, 2 * PERIOD_NS);
	struct user *u = make_users(2);

	add_old(v, &u[0]);
	add_old(w, &u[1]);
	bed_pass(b, TKW_MSEC);
	pass_slowly(b, 4 * PERIOD_NS);
	assert_int_equal(u[0].calls[HEARTBEAT], 4);
	assert_int_equal(u[1].calls[CLOSE], 2);
	assert_int_equal(v->calls + w->calls, 6);
	assert_int_equal(tkw_channels_shutdown(v->set), 0);
	assert_int_equal(tkw_channels_destroy(v->set), 0);
	pass_slowly(b, 4 * PERIOD_NS);
	assert_int_equal(v->calls, 4);
	assert_int_equal(u[1].calls[CLOSE], 4);
	close_world(w);
	free(v);
	free(u);
}
BED_TEST(test_channel_two_sets)

static int expire(struct world *w, struct user *u, int kind)
{
	(void)kind;
	must(tkw_channels_remove(w->set, &u->ch) == 0);
	return 0;
}

/* SPEC 8.2: sessions as in ZooKeeper. They are touched, and expire if they were
 * not. */
static void test_channel_sessions_expire(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 6 * TKW_SEC, 2 * TKW_SEC);
	struct user *u = make_users(300);
	int64_t from_ns = tkw_timer_now_ns(b->t);
	int second, i;

	w->act = expire;
	for (i = 0; i < 300; i++) {
		add(w, &u[i]);
		tkw_channel_mark_read(&u[i].ch, from_ns);
	}
	/* Session i is touched each second, until second i / 10. */
	for (second = 1; second <= 40; second++) {
		bed_pass(b, TKW_SEC);
		for (i = 0; i < 300; i++) {
			if (second <= i / 10)
				tkw_channel_mark_read(&u[i].ch, now_of(w));
		}
	}
	for (i = 0; i < 300; i++) {
		int64_t life_ns =
			u[i].called_ns[CLOSE] - from_ns - i / 10 * TKW_SEC;

		assert_int_equal(u[i].calls[CLOSE], 1);
		/* This test moves the clock by a second, so steps come once per
		 * second. */
		assert_true(life_ns > 6 * TKW_SEC);
		assert_true(life_ns <= 9 * TKW_SEC);
	}
	assert_int_equal(stats_of(w).channels, 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_sessions_expire)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_channel_create_refuses_bad_input),
		BED_TESTS(test_channel_config_sizes),
		BED_TESTS(test_channel_calls_refuse_bad_input),
		BED_TESTS(test_channel_add_at_the_limit),
		BED_TESTS(test_channel_add_without_memory),
		BED_TESTS(test_channel_create_without_memory),
		BED_TESTS(test_channel_never_seen_is_skipped),
		BED_TESTS(test_channel_mark_on_add),
		cmocka_unit_test(test_channel_mark_on_add_at_zero),
		BED_TESTS(test_channel_kinds_look_at_different_things),
		BED_TESTS(test_channel_age_is_exact),
		BED_TESTS(test_channel_odd_stamps),
		BED_TESTS(test_channel_largest_interval_and_period),
		BED_TESTS(test_channel_periods),
		BED_TESTS(test_channel_marks_do_not_touch_the_timer),
		BED_TESTS(test_channel_is_called_until_marked),
		BED_TESTS(test_channel_missed_passes_are_skipped),
		BED_TESTS(test_channel_empty_set_costs_nothing),
		BED_TESTS(test_channel_failure_stops_no_other),
		BED_TESTS(test_channel_action_removes_itself),
		BED_TESTS(test_channel_action_removes_others),
		BED_TESTS(test_channel_action_adds),
		BED_TESTS(test_channel_action_shuts_the_set_down),
		BED_TESTS(test_channel_shutdown),
		BED_TESTS(test_channel_destroy_frees_the_channels),
		BED_TESTS(test_channel_timer_is_stopped),
		BED_TESTS(test_channel_two_sets),
		BED_TESTS(test_channel_sessions_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
