/* SPDX-License-Identifier: MIT */
/*
 * test_repeat_delay.c - SPEC 7.1, 7.2: the time from a round to the next one:
 * the hook that is asked, the spread, and when an interval begins.
 */
#include "repeat_bed.h"

/* --- the delay ---------------------------------------------------------- */

static int64_t add_10_ms_more(struct tkw_repeat *r, int64_t interval_ns,
			      void *ctx)
{
	struct book *k = ctx;

	(void)r;
	must(!k->inside);
	return interval_ns + MS(10) * k->asked++;
}

/* SPEC 7.2: a test of JRaft: the hook is asked before each round. */
static void test_repeat_asks_for_each_delay(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;

	open_book(&k, b);
	cfg = config_of(&k);
	cfg.adjust = add_10_ms_more;
	make_repeat(&k, &cfg);
	assert_int_equal(k.asked, 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_int_equal(k.asked, 1);
	pass_to(b, 400);
	assert_rounds(&k, 50, 110, 180, 260, 350);
	assert_int_equal(k.asked, 6);
	/* The other calls ask it, too, with the interval of that moment. */
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	pass_to(b, 510);
	assert_rounds(&k, 510);
	assert_int_equal(k.asked, 8);
	assert_int_equal(tkw_repeat_reset(k.r, MS(10)), 0);
	pass_to(b, 600);
	assert_rounds(&k, 600);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_int_equal(k.asked, 11);
	assert_chains(&k, 1);
	pass_to(b, 710);
	assert_rounds(&k, 600, 710);
	assert_int_equal(k.asked, 12);
	/* start_now does not ask for its own round, but for the next one. */
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	bed_pass(b, 0);
	assert_rounds(&k, 710);
	assert_int_equal(k.asked, 13);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_asks_for_each_delay)

static int64_t odd_delays(struct tkw_repeat *r, int64_t interval_ns, void *ctx)
{
	static const int64_t delays[] = { -1, INT64_MIN, 0, MS(30), INT64_MAX };
	struct book *k = ctx;

	(void)r;
	(void)interval_ns;
	return delays[k->asked++ % 5];
}

/* SPEC 7.2: a negative delay counts as 0. The longest delay means never. */
static void test_repeat_takes_any_delay(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;
	int mode;

	for (mode = 0; mode <= TKW_REPEAT_RATE_DELAY; mode++) {
		open_book(&k, b);
		bed_reopen(b, NULL);
		cfg = config_of(&k);
		cfg.adjust = odd_delays;
		cfg.mode = mode;
		make_repeat(&k, &cfg);
		assert_int_equal(tkw_repeat_start(k.r), 0);
		bed_pass(b, 0);
		assert_rounds(&k, 0, 0, 0);
		pass_to(b, 30);
		assert_rounds(&k, 30);
		bed_pass(b, 1000000 * TKW_SEC);
		assert_no_round(&k);
		assert_chains(&k, 1);
		close_repeat(&k);
	}
}
BED_TEST(test_repeat_takes_any_delay)

static int64_t none_after_one(struct tkw_repeat *r, int64_t interval_ns,
			      void *ctx)
{
	struct book *k = ctx;

	(void)r;
	return k->asked++ == 1 ? 0 : interval_ns;
}

/* SPEC 7.1, 7.2: without a delay there is no beat to keep. The next round comes
 * at once in each mode, even if the last one was late. */
static void test_repeat_late_and_without_a_delay(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;
	int mode;

	for (mode = 0; mode <= TKW_REPEAT_RATE_DELAY; mode++) {
		open_book(&k, b);
		bed_reopen(b, NULL);
		cfg = config_of(&k);
		cfg.adjust = none_after_one;
		cfg.mode = mode;
		make_repeat(&k, &cfg);
		assert_int_equal(tkw_repeat_start(k.r), 0);
		bed_pass(b, MS(70));
		assert_rounds(&k, 70, 70);
		assert_chains(&k, 1);
		close_repeat(&k);
	}
}
BED_TEST(test_repeat_late_and_without_a_delay)

/* The longest interval means never. With a spread it does not overflow. */
static void test_repeat_has_a_longest_interval(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;

	open_book(&k, b);
	cfg = config_of(&k);
	cfg.interval_ns = INT64_MAX;
	cfg.spread_ns = INT64_MAX;
	make_repeat(&k, &cfg);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	bed_pass(b, 1000000 * TKW_SEC);
	assert_no_round(&k);
	assert_chains(&k, 1);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_int_equal(k.rounds, 1);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_has_a_longest_interval)

/* Measures delays of a repeat with an interval of 50 ms and a spread of 20
 * ms. */
static void spread_delays(struct timer_bed *b, uint64_t seed, unsigned count,
			  int64_t *delays_ns)
{
	struct tkw_repeat_config cfg;
	static struct book k;
	int64_t last_ns = 0;
	unsigned i;

	open_book(&k, b);
	bed_reopen(b, NULL);
	cfg = config_of(&k);
	cfg.spread_ns = MS(20);
	cfg.seed = seed;
	make_repeat(&k, &cfg);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	while (k.rounds < count) {
		bed_pass(b, MS(1));
		assert_chains(&k, 1);
	}
	for (i = 0; i < count; i++) {
		delays_ns[i] = k.at_ns[i] - last_ns;
		last_ns = k.at_ns[i];
	}
	close_repeat(&k);
}

/* SPEC 7.2: random election timeouts, evenly spread in [t, t + max). They are
 * in bounds, the same for the same seed, and not all equal. (A deadline inside
 * a tick fires at its end, so the upper bound is possible, too.) */
static void test_repeat_spreads_its_delays(struct timer_bed *b)
{
	enum {
		COUNT = 40
	};
	int64_t delays_ns[COUNT], again_ns[COUNT];
	unsigned others = 0, low = 0, i;

	spread_delays(b, 4711, COUNT, delays_ns);
	for (i = 0; i < COUNT; i++) {
		assert_in_range(delays_ns[i], MS(50), MS(70));
		low += delays_ns[i] < MS(60);
	}
	assert_in_range(low, 1, COUNT - 1);
	spread_delays(b, 4711, COUNT, again_ns);
	assert_memory_equal(delays_ns, again_ns, sizeof(delays_ns));
	spread_delays(b, 4712, COUNT, again_ns);
	for (i = 0; i < COUNT; i++)
		others += delays_ns[i] != again_ns[i];
	assert_true(others > 0);
	/* Without a seed, any delay in the bounds is right. */
	spread_delays(b, 0, 4, again_ns);
	for (i = 0; i < 4; i++)
		assert_in_range(again_ns[i], MS(50), MS(70));
}
BED_TEST(test_repeat_spreads_its_delays)

/* SPEC 7.2: delays are exact to the nanosecond. A spread of one adds
 * nothing. */
static void test_repeat_spread_of_one_is_none(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;

	open_book(&k, b);
	cfg = config_of(&k);
	cfg.spread_ns = 1;
	make_repeat(&k, &cfg);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	pass_to(b, 150);
	assert_rounds(&k, 50, 100, 150);
	close_repeat(&k);
}
BED_TEST(test_repeat_spread_of_one_is_none)

/* --- from where an interval counts -------------------------------------- */

static void take_longer_once(struct book *k, struct tkw_repeat *r)
{
	(void)r;
	/* The second round takes long. */
	if (k->rounds == 2)
		bed_set_clock(k->b, ZERO_NS + MS(275));
}

static void start_mode(struct book *k, struct timer_bed *b, int mode)
{
	struct tkw_repeat_config cfg;

	open_book(k, b);
	cfg = config_of(k);
	cfg.mode = mode;
	make_repeat(k, &cfg);
	assert_int_equal(tkw_repeat_start(k->r), 0);
}

/* The eighth round ends when the next beat is due. */
static void take_50_ms_once(struct book *k, struct tkw_repeat *r)
{
	(void)r;
	if (k->rounds == 8)
		bed_set_clock(k->b, ZERO_NS + MS(450));
}

/* SPEC 7.1: a fixed delay counts from the end of a round, however long it
 * took. */
static void test_repeat_delay_counts_from_the_end(struct timer_bed *b)
{
	static struct book k;

	start_mode(&k, b, TKW_REPEAT_FIXED_DELAY);
	k.long_ns = MS(7);
	pass_to(b, 200);
	assert_rounds(&k, 50, 107, 164);
	close_repeat(&k);
}
BED_TEST(test_repeat_delay_counts_from_the_end)

/* SPEC 7.1: a fixed rate counts from the deadline. All modes are the same as
 * long as no round is missed, even if the worker is late. */
static void test_repeat_rate_counts_from_the_deadline(struct timer_bed *b)
{
	static struct book k;
	int mode;

	for (mode = 1; mode <= TKW_REPEAT_RATE_DELAY; mode++) {
		bed_set_clock(b, ZERO_NS);
		bed_reopen(b, NULL);
		start_mode(&k, b, mode);
		k.long_ns = MS(7);
		pass_to(b, 200);
		assert_rounds(&k, 50, 100, 150, 200);
		k.long_ns = 0;
		bed_pass(b, ZERO_NS + MS(260) - tkw_timer_now_ns(b->t));
		assert_rounds(&k, 260);
		pass_to(b, 350);
		assert_rounds(&k, 300, 350);
		/* A round that ends exactly at the next beat has missed
		 * none. */
		k.in_round = take_50_ms_once;
		pass_to(b, 400);
		assert_rounds(&k, 400, 450);
		pass_to(b, 500);
		assert_rounds(&k, 500);
		close_repeat(&k);
	}
}
BED_TEST(test_repeat_rate_counts_from_the_deadline)

/* SPEC 7.1: missed rounds are made up for, one after another. */
static void test_repeat_rate_burst(struct timer_bed *b)
{
	static struct book k;

	start_mode(&k, b, TKW_REPEAT_RATE_BURST);
	k.in_round = take_longer_once;
	pass_to(b, 350);
	/* The beats 150, 200 and 250 come at once after the long round. */
	assert_rounds(&k, 50, 100, 275, 275, 275, 300, 350);
	/* The machine sleeps during 400, 450, 500 and 550. */
	bed_pass(b, MS(220));
	assert_rounds(&k, 570, 570, 570, 570);
	assert_chains(&k, 1);
	pass_to(b, 650);
	assert_rounds(&k, 600, 650);
	close_repeat(&k);
}
BED_TEST(test_repeat_rate_burst)

/* SPEC 7.1: missed rounds are left out, and the beat is kept. */
static void test_repeat_rate_skip(struct timer_bed *b)
{
	static struct book k;

	start_mode(&k, b, TKW_REPEAT_RATE_SKIP);
	k.in_round = take_longer_once;
	pass_to(b, 350);
	assert_rounds(&k, 50, 100, 300, 350);
	/* The round of 400 is late. Those of 450, 500 and 550 are left out. */
	bed_pass(b, MS(220));
	assert_rounds(&k, 570);
	assert_chains(&k, 1);
	pass_to(b, 650);
	assert_rounds(&k, 600, 650);
	/* A beat that is due right now is not a missed one. */
	bed_pass(b, MS(200));
	assert_rounds(&k, 850, 850);
	pass_to(b, 900);
	assert_rounds(&k, 900);
	close_repeat(&k);
}
BED_TEST(test_repeat_rate_skip)

/* SPEC 7.1: missed rounds are left out, and a new beat begins. */
static void test_repeat_rate_delay(struct timer_bed *b)
{
	static struct book k;

	start_mode(&k, b, TKW_REPEAT_RATE_DELAY);
	k.in_round = take_longer_once;
	pass_to(b, 400);
	assert_rounds(&k, 50, 100, 325, 375);
	bed_pass(b, MS(180));
	assert_rounds(&k, 580);
	assert_chains(&k, 1);
	pass_to(b, 680);
	assert_rounds(&k, 630, 680);
	close_repeat(&k);
}
BED_TEST(test_repeat_rate_delay)

/* SPEC 7.3: a call that begins a full interval begins a new beat. */
static void test_repeat_rate_begins_anew(struct timer_bed *b)
{
	static struct book k;

	start_mode(&k, b, TKW_REPEAT_RATE_BURST);
	pass_to(b, 60);
	assert_rounds(&k, 50);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_rounds(&k, 60);
	pass_to(b, 170);
	assert_rounds(&k, 110, 160);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	pass_to(b, 280);
	assert_rounds(&k, 220, 270);
	assert_int_equal(tkw_repeat_reset(k.r, MS(20)), 0);
	pass_to(b, 325);
	assert_rounds(&k, 300, 320);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	pass_to(b, 1000);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	pass_to(b, 1050);
	assert_rounds(&k, 1020, 1040);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	bed_pass(b, 0);
	pass_to(b, 1100);
	assert_rounds(&k, 1050, 1070, 1090);
	close_repeat(&k);
}
BED_TEST(test_repeat_rate_begins_anew)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_repeat_asks_for_each_delay),
		BED_TESTS(test_repeat_takes_any_delay),
		BED_TESTS(test_repeat_late_and_without_a_delay),
		BED_TESTS(test_repeat_has_a_longest_interval),
		BED_TESTS(test_repeat_spreads_its_delays),
		BED_TESTS(test_repeat_spread_of_one_is_none),
		BED_TESTS(test_repeat_delay_counts_from_the_end),
		BED_TESTS(test_repeat_rate_counts_from_the_deadline),
		BED_TESTS(test_repeat_rate_burst),
		BED_TESTS(test_repeat_rate_skip),
		BED_TESTS(test_repeat_rate_delay),
		BED_TESTS(test_repeat_rate_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
