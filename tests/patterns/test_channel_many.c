/* SPDX-License-Identifier: MIT */
/*
 * test_channel_many.c - SPEC 8.2: with many channels, none that is due is
 * skipped, and none is called that is not due. This is checked by an oracle and
 * by counting.
 */
#include "channel_bed.h"

#include <errno.h>

/* --- many ---------------------------------------------------------------- */

enum {
	MANY = 100000,
	MANY_STEPS = (MANY + STEP - 1) / STEP
};

/* Each look is a call, one period after the last one. */
static int note_gap(struct world *w, struct user *u, int kind)
{
	int64_t *last_ns = w->more;
	int64_t *at_ns = &last_ns[(u->said) * KINDS + kind];

	if (*at_ns != 0)
		must(now_of(w) - *at_ns == PERIOD_NS);
	*at_ns = now_of(w);
	return 0;
}

/* SPEC 8.2: 100,000 channels on one timer. Each kind looks at each of them once
 * per period, and no step takes long. */
static void test_channel_hundred_thousand(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(MANY);
	struct tkw_channel_stats s;
	int kind, i;

	w->act = note_gap;
	w->more = calloc((size_t)MANY * KINDS, sizeof(int64_t));
	assert_non_null(w->more);
	for (i = 0; i < MANY; i++) {
		u[i].said = i;
		add_old(w, &u[i]);
	}
	bed_pass(b, PERIOD_NS - TKW_MSEC);
	for (i = 1; i <= 3; i++) {
		pass_slowly(b, PERIOD_NS);
		s = stats_of(w);
		for (kind = 0; kind < KINDS; kind++) {
			assert_int_equal(s.looks[kind], i * MANY);
			assert_int_equal(s.calls[kind], i * MANY);
			assert_int_equal(s.steps[kind], i * MANY_STEPS);
		}
		assert_int_equal(s.max_looks, STEP);
	}
	for (i = 0; i < MANY; i++)
		for (kind = 0; kind < KINDS; kind++)
			assert_int_equal(u[i].calls[kind], 3);
	assert_int_equal(tkw_timer_count(b->t), 3);
	free(w->more);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_hundred_thousand)

/* SPEC 8.2: the steps are spread over the period. */
static void test_channel_steps_are_spread(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users((size_t)4 * STEP);
	int i;

	for (i = 0; i < 4 * STEP; i++)
		add_old(w, &u[i]);
	pass_slowly(b, 2 * PERIOD_NS);
	for (i = 0; i < 4 * STEP; i++)
		assert_int_equal(u[i].called_ns[CLOSE],
				 BED_START_NS + PERIOD_NS + TKW_MSEC +
					 i / STEP * (PERIOD_NS / 4));
	close_world(w);
	free(u);
}
BED_TEST(test_channel_steps_are_spread)

/* SPEC 8.2: in a set that shrinks, too, each channel is looked at once per
 * period. */
static void test_channel_shrinking_set_keeps_the_period(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users((size_t)40 * STEP);
	int64_t last_ns;
	int i;

	for (i = 0; i < 40 * STEP; i++)
		add_old(w, &u[i]);
	pass_slowly(b, 2 * PERIOD_NS);
	last_ns = u[300].called_ns[CLOSE];
	assert_int_equal(u[300].calls[CLOSE], 1);
	/* Two of 40 steps are left. Channel 300 is in the second one. */
	for (i = 400; i < 40 * STEP; i++)
		drop(w, &u[i]);
	pass_slowly(b, PERIOD_NS);
	assert_int_equal(u[300].calls[CLOSE], 2);
	assert_true(u[300].called_ns[CLOSE] - last_ns <= PERIOD_NS);
	last_ns = u[300].called_ns[CLOSE];
	pass_slowly(b, PERIOD_NS);
	assert_true(u[300].called_ns[CLOSE] - last_ns <= PERIOD_NS);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_shrinking_set_keeps_the_period)

/* --- against an oracle --------------------------------------------------- */

enum {
	CROWD = 1500,
	TICKS = 2500
};

/* What the test itself knows about a channel. */
struct truth {
	bool in;
	int64_t joined_ns;
	int64_t read_ns;
	int64_t write_ns;
	bool connected;
	int64_t due_ns[KINDS];  /* since when it is due; 0 if it is not */
	int64_t look_ns[KINDS]; /* time of the last call */
};

static const int64_t interval_of[KINDS] = { 300 * TKW_MSEC, 500 * TKW_MSEC,
					    900 * TKW_MSEC };
static const int64_t period_of[KINDS] = { 100 * TKW_MSEC, 170 * TKW_MSEC,
					  300 * TKW_MSEC };

static bool is_due(const struct truth *t, int kind, int64_t now_ns)
{
	bool read = t->read_ns && now_ns - t->read_ns > interval_of[kind];
	bool write = t->write_ns && now_ns - t->write_ns > interval_of[kind];

	if (kind == RECONNECT)
		return read || !t->connected;
	return read || write;
}

/* How many actions of a kind have returned a failure. */
static uint64_t failures[KINDS];

static int check_call(struct world *w, struct user *u, int kind)
{
	struct truth *t = (struct truth *)w->more + u->said;
	const bool fails = u->said % 5 == 0;

	must(t->in);
	must(is_due(t, kind, now_of(w)));
	must(t->look_ns[kind] != now_of(w));
	t->look_ns[kind] = now_of(w);
	failures[kind] += fails;
	return fails ? -EIO : 0;
}

/* Checks that what was due for a whole period was called in it. A new channel
 * may have missed the running pass. */
static void check_none_missed(struct world *w, struct truth *t)
{
	int64_t now_ns = now_of(w);
	int64_t since_ns;
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		if (!t->in || !is_due(t, kind, now_ns)) {
			t->due_ns[kind] = 0;
			continue;
		}
		if (t->due_ns[kind] == 0)
			t->due_ns[kind] = now_ns;
		since_ns = t->due_ns[kind] > t->look_ns[kind]
				   ? t->due_ns[kind]
				   : t->look_ns[kind];
		if (now_ns - t->joined_ns > 2 * period_of[kind] + TKW_MSEC)
			assert_true(now_ns - since_ns <=
				    period_of[kind] + TKW_MSEC);
	}
}

static void toggle(struct world *w, struct user *u, struct truth *t)
{
	if (t->in) {
		drop(w, u);
		t->in = false;
		return;
	}
	add(w, u);
	*t = (struct truth){ .in = true,
			     .joined_ns = now_of(w),
			     .connected = true };
}

static void change(struct world *w, struct user *u, struct truth *t,
		   uint64_t what)
{
	int64_t now_ns = now_of(w);

	if (what == 0) {
		toggle(w, u, t);
	} else if (!t->in) {
		return;
	} else if (what < 6) {
		tkw_channel_mark_read(&u->ch, now_ns);
		t->read_ns = now_ns;
	} else if (what < 11) {
		tkw_channel_mark_write(&u->ch, now_ns);
		t->write_ns = now_ns;
	} else {
		t->connected = what > 11;
		tkw_channel_mark_connected(&u->ch, t->connected);
	}
}

/* SPEC 8.2: channels are added, removed and marked at random. A channel is
 * called if and only if it is due. */
static void test_channel_against_an_oracle(struct timer_bed *b)
{
	struct truth *truths = calloc(CROWD, sizeof(*truths));
	struct user *u = make_users(CROWD);
	struct tkw_channels_config cfg = { 0 };
	uint64_t seed = seed_of_today();
	struct tkw_channel_stats s;
	struct world *w;
	int kind, tick, i;

	assert_non_null(truths);
	memset(failures, 0, sizeof(failures));
	for (kind = 0; kind < KINDS; kind++)
		cfg.rules[kind] =
			rule_of(kind, interval_of[kind], period_of[kind]);
	w = open_with(b, cfg);
	w->act = check_call;
	w->more = truths;
	for (i = 0; i < CROWD; i++) {
		u[i].said = i;
		toggle(w, &u[i], &truths[i]);
	}
	for (tick = 0; tick < TICKS; tick++) {
		for (i = 0; i < 20; i++) {
			size_t k = (size_t)roll(&seed, CROWD);

			change(w, &u[k], &truths[k], roll(&seed, 13));
		}
		bed_pass(b, TKW_MSEC);
		for (i = 0; i < CROWD; i++)
			check_none_missed(w, &truths[i]);
	}
	s = stats_of(w);
	print_message("calls: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		      s.calls[HEARTBEAT], s.calls[RECONNECT], s.calls[CLOSE]);
	for (kind = 0; kind < KINDS; kind++) {
		assert_true(s.calls[kind] > 0);
		assert_int_equal(s.failed[kind], failures[kind]);
		assert_true(s.looks[kind] > s.calls[kind]);
	}
	assert_true(s.max_looks <= STEP);
	close_world(w);
	free(u);
	free(truths);
}
BED_TEST(test_channel_against_an_oracle)

/* Each look is a call. There are not two in a pass, and there is one in each
 * period. */
static int note_look(struct world *w, struct user *u, int kind)
{
	int64_t *last_ns = (int64_t *)w->more + u->said;

	if (*last_ns != 0)
		must(now_of(w) > *last_ns && now_of(w) - *last_ns <= PERIOD_NS);
	*last_ns = now_of(w);
	(void)kind;
	return 0;
}

/* SPEC 8.2: a channel that stays is looked at in each pass, even if others come
 * and go. */
static void test_channel_churn_skips_none(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users((size_t)4 * CROWD);
	int64_t *last_ns = calloc((size_t)4 * CROWD, sizeof(*last_ns));
	uint64_t seed = seed_of_today();
	uint64_t stays = 0;
	int tick, i;

	assert_non_null(last_ns);
	w->act = note_look;
	w->more = last_ns;
	for (i = 0; i < 4 * CROWD; i++) {
		u[i].said = i;
		add_old(w, &u[i]);
	}
	/* Every fourth channel stays. In 5 periods, each of them is looked at 5
	 * times. */
	bed_pass(b, PERIOD_NS - TKW_MSEC);
	for (tick = 0; tick < 5000; tick++) {
		for (i = 0; i < 6; i++) {
			size_t k = (size_t)roll(&seed, (uint64_t)4 * CROWD);

			if (k % 4 == 0)
				continue;
			last_ns[k] = 0;
			if (tkw_channels_remove(w->set, &u[k].ch) != 0)
				add_old(w, &u[k]);
		}
		bed_pass(b, TKW_MSEC);
	}
	for (i = 0; i < 4 * CROWD; i += 4) {
		assert_int_equal(u[i].calls[CLOSE], 5);
		stays += u[i].calls[CLOSE];
	}
	assert_true(stats_of(w).looks[CLOSE] > stays);
	assert_int_equal(stats_of(w).looks[CLOSE], w->calls);
	assert_true(stats_of(w).max_looks <= STEP);
	close_world(w);
	free(last_ns);
	free(u);
}
BED_TEST(test_channel_churn_skips_none)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_channel_hundred_thousand),
		BED_TESTS(test_channel_steps_are_spread),
		BED_TESTS(test_channel_shrinking_set_keeps_the_period),
		BED_TESTS(test_channel_against_an_oracle),
		BED_TESTS(test_channel_churn_skips_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
