/* SPDX-License-Identifier: MIT */
/*
 * test_lease.c - SPEC 8.4: leases on the virtual clock: when they are renewed,
 * which of them are in one batch, and how they end.
 */
#include "lease_bed.h"

#define SEC TKW_SEC

static int64_t now_of(struct lease_bed *l)
{
	return tkw_timer_now_ns(l->b->t);
}

/* --- renewal ------------------------------------------------------------- */

/* SPEC 8.4: a lease is renewed after a third of its time, again and again. */
static void test_lease_is_renewed_after_a_third(struct timer_bed *b)
{
	struct kept a = { .answer = 0 };
	struct lease_bed l;
	int64_t begin_ns;

	lease_bed_open(&l, b);
	assert_true(tkw_timer_count(b->t) == 0);
	keep(&l, &a);
	begin_ns = now_of(&l);
	assert_true(tkw_leases_count(l.set) == 1);
	assert_true(tkw_timer_count(b->t) == 1);
	for (unsigned i = 1; i <= 20; i++) {
		bed_pass(b, 10 * SEC - 1);
		assert_kept(&l, &a, i - 1, 0);
		bed_pass(b, 1);
		assert_kept(&l, &a, i, 0);
		assert_true(a.renewed_ns == begin_ns + 10 * SEC * i);
		assert_true(a.expires_ns == a.renewed_ns + 20 * SEC);
	}
	assert_int_equal(tkw_leases_release(l.set, a.id), 0);
	assert_true(tkw_leases_count(l.set) == 0);
	assert_true(tkw_timer_count(b->t) == 0);
	bed_pass(b, 100 * SEC);
	assert_kept(&l, &a, 20, 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_is_renewed_after_a_third)

/* SPEC 8.4: leases are renewed in batches, with one timeout for all. */
static void test_leases_go_in_batches(struct timer_bed *b)
{
	static struct kept many[1000];
	struct lease_bed l;

	memset(many, 0, sizeof(many));
	lease_bed_open(&l, b);
	for (size_t i = 0; i < 1000; i++)
		keep(&l, &many[i]);
	assert_true(tkw_timer_count(b->t) == 1);
	for (unsigned round = 1; round <= 3; round++) {
		bed_pass(b, 10 * SEC);
		assert_int_equal(l.calls, 10 * round);
		for (size_t i = 0; i < l.calls; i++)
			assert_int_equal(l.counts[i], 100);
		for (size_t i = 0; i < 1000; i++)
			assert_kept(&l, &many[i], round, 0);
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(tkw_leases_release(l.set, many[i].id), 0);
	lease_bed_close(&l);
}
BED_TEST(test_leases_go_in_batches)

/* SPEC 8.4: a batch is not larger than max_batch. */
static void test_lease_max_batch(struct timer_bed *b)
{
	struct tkw_leases_config cfg;
	struct kept some[20] = { 0 };
	struct lease_bed l;

	lease_bed_init(&l, b);
	cfg = bed_leases_config(&l);
	cfg.max_batch = 7;
	assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
	for (size_t i = 0; i < 20; i++)
		keep(&l, &some[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.calls, 3);
	assert_int_equal(l.counts[0], 7);
	assert_int_equal(l.counts[1], 7);
	assert_int_equal(l.counts[2], 6);
	lease_bed_close(&l);
}
BED_TEST(test_lease_max_batch)

/* SPEC 8.4: leases that must be renewed within the next tenth go along, others
 * do not. */
static void test_leases_of_a_tenth_go_together(struct timer_bed *b)
{
	struct kept k[4] = { 0 };
	struct lease_bed l;

	lease_bed_open(&l, b);
	keep(&l, &k[0]);
	bed_pass(b, SEC / 2);
	keep(&l, &k[1]);
	bed_pass(b, SEC / 2);
	keep(&l, &k[2]);
	bed_pass(b, TKW_MSEC);
	keep(&l, &k[3]);
	bed_pass(b, 9 * SEC - 2 * TKW_MSEC);
	assert_int_equal(l.calls, 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(l.calls, 1);
	assert_int_equal(l.counts[0], 3);
	bed_pass(b, SEC);
	assert_kept(&l, &k[3], 0, 0);
	bed_pass(b, TKW_MSEC);
	assert_kept(&l, &k[3], 1, 0);
	assert_int_equal(l.counts[1], 1);
	/* From now on the three are renewed together. */
	bed_pass(b, 9 * SEC - 2 * TKW_MSEC);
	assert_int_equal(l.calls, 2);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(l.calls, 3);
	lease_bed_close(&l);
}
BED_TEST(test_leases_of_a_tenth_go_together)

/* SPEC 8.4: the time counts from when the lease was asked for. */
static void test_lease_counts_from_before_it_was_asked(struct timer_bed *b)
{
	struct kept k[3] = { 0 };
	struct lease_bed l;
	struct tkw_lease_id id = { 7 };

	lease_bed_open(&l, b);
	keep(&l, &k[0]);
	/* The alarm moves to an earlier time, twice. */
	keep_since(&l, &k[1], 8 * SEC);
	keep_since(&l, &k[2], 27 * SEC - TKW_MSEC);
	bed_pass(b, 0);
	assert_kept(&l, &k[2], 1, 0);
	assert_true(k[2].expires_ns == now_of(&l) + 3 * SEC + TKW_MSEC);
	bed_pass(b, 2 * SEC - 1);
	assert_kept(&l, &k[1], 0, 0);
	bed_pass(b, 1);
	assert_kept(&l, &k[1], 1, 0);
	assert_kept(&l, &k[0], 0, 0);

	assert_int_equal(tkw_leases_add(l.set, k, now_of(&l) + 1, &id),
			 -EINVAL);
	assert_int_equal(tkw_leases_add(l.set, k, now_of(&l) - 27 * SEC, &id),
			 -ETIMEDOUT);
	assert_int_equal(tkw_leases_add(l.set, k, now_of(&l) - 300 * SEC, &id),
			 -ETIMEDOUT);
	assert_int_equal(tkw_leases_add(l.set, k, INT64_MIN, &id), -ETIMEDOUT);
	assert_true(id.bits == 7);
	assert_true(tkw_leases_count(l.set) == 3);
	lease_bed_close(&l);
}
BED_TEST(test_lease_counts_from_before_it_was_asked)

/* SPEC 8.4: with jitter, renewals are earlier by a random part, and not all at
 * once. The same seed gives the same times. */
static void test_lease_jitter_spreads(struct timer_bed *b)
{
	static struct kept many[2][200];
	struct tkw_leases_config cfg;
	struct lease_bed l;
	int64_t begin_ns;
	size_t quarters[4] = { 0 };

	memset(many, 0, sizeof(many));
	for (int run = 0; run < 2; run++) {
		lease_bed_init(&l, b);
		cfg = bed_leases_config(&l);
		cfg.jitter_percent = 40;
		cfg.seed = 4711;
		assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
		for (size_t i = 0; i < 200; i++)
			keep(&l, &many[run][i]);
		begin_ns = now_of(&l);
		for (int i = 0; i < 1000; i++)
			bed_pass(b, 10 * TKW_MSEC);
		for (size_t i = 0; i < 200; i++) {
			struct kept *k = &many[run][i];

			assert_kept(&l, k, k->renewed, 0);
			assert_true(k->renewed > 0);
			k->renewed_ns -= begin_ns;
			if (run == 1)
				assert_true(k->renewed_ns ==
					    many[0][i].renewed_ns);
			/* With others in a batch, it may be a tenth earlier. */
			if (k->renewed == 1) {
				assert_true(k->renewed_ns >= 5 * SEC);
				assert_true(k->renewed_ns <= 10 * SEC);
				quarters[(k->renewed_ns - 5 * SEC) /
					 (1251 * TKW_MSEC)]++;
			}
		}
		assert_true(l.calls >= 4);
		lease_bed_close(&l);
	}
	assert_true(quarters[1] > 0 && quarters[2] > 0 && quarters[3] > 0);
}
BED_TEST(test_lease_jitter_spreads)

/* SPEC 8.4: a lease that is longer than all time is renewed, and never lost. */
static void test_lease_of_all_time(struct timer_bed *b)
{
	struct kept a = { .answer = -EIO };
	struct tkw_leases_config cfg;
	struct lease_bed l;

	lease_bed_init(&l, b);
	cfg = bed_leases_config(&l);
	cfg.lease_ns = INT64_MAX;
	cfg.renew_after_ns = 5 * SEC;
	cfg.jitter_percent = 100;
	assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
	keep(&l, &a);
	bed_pass(b, 5 * SEC);
	assert_kept(&l, &a, 1, 0);
	assert_true(a.expires_ns == INT64_MAX);
	assert_int_equal(tkw_leases_release(l.set, a.id), 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_of_all_time)

/* --- the end ------------------------------------------------------------- */

/* SPEC 8.4: -ESTALE ends a lease, and no other lease. */
static void test_lease_that_is_not_yours_ends(struct timer_bed *b)
{
	struct kept k[3] = { { .answer = 0 },
			     { .answer = -ESTALE },
			     { .answer = 0 } };
	struct lease_bed l;

	lease_bed_open(&l, b);
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.calls, 1);
	assert_kept(&l, &k[0], 1, 0);
	assert_kept(&l, &k[1], 1, 1);
	assert_kept(&l, &k[2], 1, 0);
	assert_int_equal(k[1].why, -ESTALE);
	assert_int_equal(k[1].renewing, 0);
	assert_true(tkw_leases_count(l.set) == 2);
	assert_int_equal(tkw_leases_release(l.set, k[1].id), -ENOENT);
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.counts[1], 2);
	assert_kept(&l, &k[1], 1, 1);
	assert_kept(&l, &k[0], 2, 0);
	assert_kept(&l, &k[2], 2, 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_that_is_not_yours_ends)

/* SPEC 8.4: errors are retried. The loss is reported before the lease expires,
 * but not too early. */
static void test_lease_is_retried_until_it_is_lost(struct timer_bed *b)
{
	struct kept k[2] = { { .answer = -ECONNREFUSED }, { .answer = 1 } };
	struct lease_bed l;
	int64_t begin_ns;

	lease_bed_open(&l, b);
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	begin_ns = now_of(&l);
	bed_pass(b, 10 * SEC);
	for (unsigned i = 1; i <= 5; i++) {
		assert_kept(&l, &k[0], i, 0);
		bed_pass(b, 3 * SEC - 1);
		assert_kept(&l, &k[0], i, 0);
		bed_pass(b, 1);
	}
	assert_kept(&l, &k[0], 6, 0);
	bed_pass(b, 2 * SEC - 1);
	assert_kept(&l, &k[0], 6, 0);
	assert_true(tkw_leases_count(l.set) == 2);
	bed_pass(b, 1);
	for (int i = 0; i < 2; i++) {
		assert_kept(&l, &k[i], 6, 1);
		assert_true(k[i].lost_ns == begin_ns + 27 * SEC);
		assert_int_equal(k[i].why, -ETIMEDOUT);
		assert_int_equal(k[i].renewing, 0);
		assert_int_equal(tkw_leases_release(l.set, k[i].id), -ENOENT);
	}
	assert_true(tkw_leases_count(l.set) == 0);
	assert_true(tkw_timer_count(b->t) == 0);
	bed_pass(b, 100 * SEC);
	assert_kept(&l, &k[0], 6, 1);
	lease_bed_close(&l);
}
BED_TEST(test_lease_is_retried_until_it_is_lost)

/* SPEC 8.4: a lease that is renewed after an error has its full time again. */
static void test_lease_recovers_from_an_error(struct timer_bed *b)
{
	struct kept a = { .answer = -EIO };
	struct lease_bed l;

	lease_bed_open(&l, b);
	keep(&l, &a);
	bed_pass(b, 10 * SEC);
	bed_pass(b, 3 * SEC);
	assert_kept(&l, &a, 2, 0);
	a.answer = 0;
	bed_pass(b, 3 * SEC);
	assert_kept(&l, &a, 3, 0);
	bed_pass(b, 10 * SEC - 1);
	assert_kept(&l, &a, 3, 0);
	bed_pass(b, 1);
	assert_kept(&l, &a, 4, 0);
	assert_true(a.expires_ns == now_of(&l) + 20 * SEC);
	lease_bed_close(&l);
}
BED_TEST(test_lease_recovers_from_an_error)

/* SPEC 8.4: the times come from the config. There is no on_lost. */
static void test_lease_times_are_settable(struct timer_bed *b)
{
	struct kept a = { .answer = -EIO };
	struct tkw_leases_config cfg;
	struct lease_bed l;

	lease_bed_init(&l, b);
	cfg = bed_leases_config(&l);
	cfg.size = 0;
	cfg.renew_after_ns = 4 * SEC;
	cfg.margin_ns = 25 * SEC;
	cfg.retry_ns = 20 * TKW_MSEC;
	cfg.on_lost = NULL;
	assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
	keep(&l, &a);
	bed_pass(b, 4 * SEC - 1);
	assert_kept(&l, &a, 0, 0);
	bed_pass(b, 1);
	assert_kept(&l, &a, 1, 0);
	bed_pass(b, 20 * TKW_MSEC);
	assert_kept(&l, &a, 2, 0);
	bed_pass(b, SEC - 20 * TKW_MSEC - 1);
	assert_true(tkw_leases_count(l.set) == 1);
	bed_pass(b, 1);
	assert_true(tkw_leases_count(l.set) == 0);
	assert_int_equal(tkw_leases_release(l.set, a.id), -ENOENT);
	lease_bed_close(&l);
}
BED_TEST(test_lease_times_are_settable)

/* SPEC 8.4: the loss is reported before the lease expires, even if ticks are
 * long. */
static void test_lease_is_told_in_time_by_coarse_ticks(struct timer_bed *b)
{
	struct kept a = { .answer = -EIO };
	struct tkw_leases_config cfg;
	struct lease_bed l;
	int64_t asked_ns;

	bed_reopen(b, &(struct tkw_timer_config){ .tick_ns = 100 * TKW_MSEC });
	lease_bed_init(&l, b);
	cfg = bed_leases_config(&l);
	cfg.lease_ns = 310 * TKW_MSEC;
	assert_int_equal(tkw_timer_tick_ns(b->t), 100 * TKW_MSEC);
	assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
	for (int i = 1; i < 100; i++) {
		asked_ns = now_of(&l);
		a.lost = 0;
		keep(&l, &a);
		while (a.lost == 0)
			bed_pass(b, TKW_MSEC);
		assert_true(a.lost_ns < asked_ns + cfg.lease_ns);
		bed_pass(b, 17 * TKW_MSEC); /* another phase of the tick */
	}
	lease_bed_close(&l);
	cfg.margin_ns = 100 * TKW_MSEC - 1;
	assert_int_equal(tkw_leases_create(&l.set, &cfg), -EINVAL);
}
BED_TEST(test_lease_is_told_in_time_by_coarse_ticks)

/* SPEC 8.4: if the timer is late, release does not claim that the lease was
 * valid. */
static void test_lease_released_after_its_time(struct timer_bed *b)
{
	struct kept k[2] = { 0 };
	struct lease_bed l;

	lease_bed_open(&l, b);
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	/* There was no turn yet. */
	bed_set_clock(b, now_of(&l) + 30 * SEC - 1);
	assert_int_equal(tkw_leases_release(l.set, k[0].id), 0);
	bed_set_clock(b, now_of(&l) + 1);
	assert_int_equal(tkw_leases_release(l.set, k[1].id), -ETIMEDOUT);
	assert_int_equal(tkw_leases_release(l.set, k[1].id), -ENOENT);
	bed_pass(b, 100 * SEC);
	assert_kept(&l, &k[0], 0, 0);
	assert_kept(&l, &k[1], 0, 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_released_after_its_time)

static int release_bits(struct lease_bed *l, uint64_t bits)
{
	return tkw_leases_release(l->set, (struct tkw_lease_id){ bits });
}

/* SPEC 8.4: ids of leases that have ended, or never existed, change nothing. */
static void test_lease_ids_go_stale(struct timer_bed *b)
{
	struct kept k[100] = { 0 };
	struct tkw_lease_id old[100];
	struct lease_bed l;

	lease_bed_open(&l, b);
	assert_int_equal(release_bits(&l, 0), -ENOENT);
	assert_int_equal(release_bits(&l, UINT64_MAX), -ENOENT);
	/* Ids with another part, index or generation. */
	keep(&l, &k[0]);
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(
			release_bits(&l, k[0].id.bits ^ UINT64_C(1) << bit),
			-ENOENT);
	assert_int_equal(tkw_leases_release(l.set, k[0].id), 0);
	for (int i = 0; i < 100; i++) {
		keep(&l, &k[i]);
		old[i] = k[i].id;
		for (int j = 0; j < i; j++)
			assert_true(old[j].bits != old[i].bits);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(tkw_leases_release(l.set, old[i]), 0);
		assert_int_equal(tkw_leases_release(l.set, old[i]), -ENOENT);
	}
	/* The next generation of a free record is not valid yet. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(release_bits(&l, old[i].bits + 1), -ENOENT);
	for (int i = 0; i < 100; i++)
		keep(&l, &k[i]);
	for (int i = 0; i < 100; i++)
		assert_int_equal(tkw_leases_release(l.set, old[i]), -ENOENT);
	assert_true(tkw_leases_count(l.set) == 100);
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.counts[0], 100);
	lease_bed_close(&l);
}
BED_TEST(test_lease_ids_go_stale)

/* --- shutdown ------------------------------------------------------------ */

/* SPEC 8.4: a shutdown reports each lease once, inside the call. */
static void test_leases_shutdown_tells_each(struct timer_bed *b)
{
	struct kept k[300] = { 0 };
	struct tkw_lease_id id = { 7 };
	struct lease_bed l;
	int64_t begin_ns;

	lease_bed_open(&l, b);
	begin_ns = now_of(&l);
	for (int i = 0; i < 300; i++)
		keep(&l, &k[i]);
	bed_pass(b, SEC);
	assert_int_equal(tkw_leases_release(l.set, k[7].id), 0);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	for (int i = 0; i < 300; i++) {
		assert_kept(&l, &k[i], 0, i != 7);
		assert_int_equal(tkw_leases_release(l.set, k[i].id), -ENOENT);
		if (i == 7)
			continue;
		assert_int_equal(k[i].why, -ESHUTDOWN);
		assert_int_equal(k[i].renewing, 0);
		assert_true(k[i].expires_ns == begin_ns + 30 * SEC);
	}
	assert_true(tkw_leases_count(l.set) == 0);
	assert_true(tkw_timer_count(b->t) == 0);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	assert_int_equal(tkw_leases_add(l.set, k, now_of(&l), &id), -ESHUTDOWN);
	assert_true(id.bits == 7);
	bed_pass(b, 100 * SEC);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	lease_bed_close(&l);
	for (int i = 0; i < 300; i++)
		assert_int_equal(k[i].lost, i != 7);
}
BED_TEST(test_leases_shutdown_tells_each)

/* SPEC 8.4: destroy does the same, if the set was not shut down before. */
static void test_leases_destroy_tells_each(struct timer_bed *b)
{
	struct kept k[3] = { 0 };
	struct lease_bed l;

	lease_bed_open(&l, b);
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	lease_bed_close(&l);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(k[i].renewed, 1);
		assert_int_equal(k[i].lost, 1);
		assert_int_equal(k[i].why, -ESHUTDOWN);
		assert_true(k[i].expires_ns == k[i].renewed_ns + 30 * SEC);
	}
}
BED_TEST(test_leases_destroy_tells_each)

/* SPEC 8.4: without on_lost nothing is reported. */
static void test_leases_shutdown_without_on_lost(struct timer_bed *b)
{
	struct tkw_leases_config cfg;
	struct kept a = { 0 };
	struct lease_bed l;

	lease_bed_init(&l, b);
	cfg = bed_leases_config(&l);
	cfg.on_lost = NULL;
	assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
	keep(&l, &a);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	assert_true(tkw_leases_count(l.set) == 0);
	assert_int_equal(tkw_leases_release(l.set, a.id), -ENOENT);
	lease_bed_close(&l);
}
BED_TEST(test_leases_shutdown_without_on_lost)

/* SPEC 8.4: if the timer is stopped, all leases are lost, and each is
 * reported. */
static void test_leases_are_lost_with_their_timer(struct timer_bed *b)
{
	struct kept k[40] = { 0 };
	struct lease_bed l;
	struct tkw_lease_id id = { 7 };

	lease_bed_open(&l, b);
	for (int i = 0; i < 40; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(tkw_leases_release(l.set, k[3].id), 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	for (int i = 0; i < 40; i++) {
		assert_kept(&l, &k[i], 1, i != 3);
		if (i != 3)
			assert_int_equal(k[i].why, -ESHUTDOWN);
		assert_int_equal(tkw_leases_release(l.set, k[i].id), -ENOENT);
	}
	assert_true(tkw_leases_count(l.set) == 0);
	assert_int_equal(tkw_leases_add(l.set, k, now_of(&l), &id), -ESHUTDOWN);
	assert_true(id.bits == 7);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	lease_bed_close(&l);
}
BED_TEST(test_leases_are_lost_with_their_timer)

/* --- from inside --------------------------------------------------------- */

static struct {
	struct kept other; /* not in a batch */
	struct kept fresh[2];
	int own;
	int release;
	int shutdown;
	int destroy;
	int add;
	unsigned times;
} inside;

static void call_all(struct lease_bed *l, const struct kept *k)
{
	struct kept *fresh = &inside.fresh[inside.times++];

	inside.own = tkw_leases_release(l->set, k->id);
	inside.release = tkw_leases_release(l->set, inside.other.id);
	inside.destroy = tkw_leases_destroy(l->set);
	inside.add = tkw_leases_add(l->set, fresh, now_of(l), &fresh->id);
}

/* SPEC 8.4: every call is legal in renew and on_lost. A call that would wait
 * for itself returns -EDEADLK. */
static void test_lease_calls_from_inside(struct timer_bed *b)
{
	const int answers[] = { 0, -ESTALE };

	for (int i = 0; i < 2; i++) {
		struct kept a = { .answer = answers[i] };
		struct lease_bed l;

		memset(&inside, 0, sizeof(inside));
		lease_bed_open(&l, b);
		keep(&l, &a);
		bed_pass(b, 5 * SEC);
		keep(&l, &inside.other);
		set_inside(&l, call_all);
		bed_pass(b, 5 * SEC);
		set_inside(&l, NULL);
		/* It was called in renew, and the second time in on_lost,
		 * too. */
		assert_int_equal(inside.times, 1 + i);
		assert_int_equal(inside.own, -EDEADLK);
		assert_int_equal(inside.release, i == 0 ? 0 : -ENOENT);
		assert_int_equal(inside.destroy, -EDEADLK);
		assert_int_equal(inside.add, 0);
		assert_kept(&l, &a, 1, (unsigned)i);
		assert_true(tkw_leases_count(l.set) == 2);
		bed_pass(b, 10 * SEC);
		assert_kept(&l, &a, i == 0 ? 2 : 1, (unsigned)i);
		assert_kept(&l, &inside.other, 0, 0);
		assert_kept(&l, &inside.fresh[i], 1, 0);
		lease_bed_close(&l);
	}
}
BED_TEST(test_lease_calls_from_inside)

/* shut_down() acts in the first call for a lease with this `why`. */
static int shut_down_for;

static void shut_down(struct lease_bed *l, const struct kept *k)
{
	struct kept *fresh = &inside.fresh[0];

	if (inside.times > 0 || k->why != shut_down_for)
		return;
	inside.times++;
	inside.shutdown = tkw_leases_shutdown(l->set);
	inside.add = tkw_leases_add(l->set, fresh, now_of(l), &fresh->id);
	must(tkw_leases_count(l->set) == 0);
	must(k->lost == 1);
}

/* SPEC 8.4: a shutdown in renew or on_lost reports all leases at once, even
 * those that are being renewed. */
static void test_leases_shutdown_from_inside(struct timer_bed *b)
{
	for (int i = 0; i < 2; i++) {
		bool in_renew = i == 0;
		struct kept k[3] = { { .answer = in_renew ? 0 : -ESTALE } };
		struct lease_bed l;

		memset(&inside, 0, sizeof(inside));
		shut_down_for = in_renew ? 0 : -ESTALE;
		lease_bed_open(&l, b);
		keep(&l, &k[0]);
		keep(&l, &k[1]);
		bed_pass(b, 5 * SEC);
		keep(&l, &k[2]);
		set_inside(&l, shut_down);
		bed_pass(b, 5 * SEC);
		set_inside(&l, NULL);
		assert_int_equal(inside.times, 1);
		assert_int_equal(inside.shutdown, 0);
		assert_int_equal(inside.add, -ESHUTDOWN);
		assert_int_equal(k[0].why, in_renew ? -ESHUTDOWN : -ESTALE);
		for (int j = 0; j < 3; j++) {
			assert_kept(&l, &k[j], j < 2, 1);
			assert_int_equal(k[j].renewing != 0, in_renew && j < 2);
			if (j > 0)
				assert_int_equal(k[j].why, -ESHUTDOWN);
		}
		bed_pass(b, 100 * SEC);
		lease_bed_close(&l);
		for (int j = 0; j < 3; j++)
			assert_int_equal(k[j].lost, 1);
	}
}
BED_TEST(test_leases_shutdown_from_inside)

/* --- bad input ----------------------------------------------------------- */

/* Checks that a config with this change is refused. */
#define assert_refused(l, change)                                              \
	do {                                                                   \
		struct tkw_leases_config c = bed_leases_config(l);             \
		struct tkw_leases *k_ = NULL;                                  \
		change;                                                        \
		assert_int_equal(tkw_leases_create(&k_, &c), -EINVAL);         \
		assert_null(k_);                                               \
	} while (0)

/* SPEC 8.4: what is not valid is refused, and leaves no trace. */
static void test_leases_refuse_bad_input(struct timer_bed *b)
{
	const struct tkw_exec nobody = { 0 };
	struct kept a = { 0 };
	struct lease_bed l;
	struct tkw_leases_config good;
	struct tkw_lease_id id = { 7 };

	lease_bed_open(&l, b);
	good = bed_leases_config(&l);
	assert_int_equal(tkw_leases_create(NULL, &good), -EINVAL);
	assert_int_equal(tkw_leases_create(&l.set, NULL), -EINVAL);
	assert_refused(&l, c.timer = NULL);
	assert_refused(&l, c.renew = NULL);
	assert_refused(&l, c.exec = &nobody);
	assert_refused(&l, c.lease_ns = 0);
	assert_refused(&l, c.lease_ns = -1);
	assert_refused(&l, c.lease_ns = 1);
	assert_refused(&l, c.renew_after_ns = -1);
	assert_refused(&l, c.renew_after_ns = 27 * SEC);
	assert_refused(&l, c.renew_after_ns = INT64_MAX);
	assert_refused(&l, c.margin_ns = -1);
	assert_refused(&l, c.margin_ns = 20 * SEC);
	assert_refused(&l, c.margin_ns = INT64_MAX);
	assert_refused(&l, c.retry_ns = -1);
	assert_refused(&l, c.jitter_percent = -1);
	assert_refused(&l, c.jitter_percent = 101);
	assert_refused(&l, c.max_batch = -1);
	assert_refused(&l, c.max_batch = 4097);

	assert_int_equal(tkw_leases_add(NULL, &a, 0, &id), -EINVAL);
	assert_int_equal(tkw_leases_add(l.set, &a, now_of(&l), NULL), -EINVAL);
	assert_int_equal(tkw_leases_release(NULL, id), -EINVAL);
	assert_true(tkw_leases_count(NULL) == 0);
	assert_int_equal(tkw_leases_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_leases_destroy(NULL), 0);
	assert_true(tkw_leases_count(l.set) == 0);
	lease_bed_close(&l);
}
BED_TEST(test_leases_refuse_bad_input)

/* Configs of older and newer programs. */
static void test_leases_config_sizes(struct timer_bed *b)
{
	struct {
		struct tkw_leases_config cfg;
		char newer[4104];
	} c;
	const size_t bad[] = { 1, sizeof(c.cfg) - 1, sizeof(c) };
	struct lease_bed l;

	memset(&c, 0, sizeof(c));
	lease_bed_init(&l, b);
	c.cfg = bed_leases_config(&l);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.cfg.size = bad[i];
		assert_int_equal(tkw_leases_create(&l.set, &c.cfg), -EINVAL);
	}
	c.cfg.size = sizeof(c.cfg) + 8;
	c.newer[7] = 1;
	assert_int_equal(tkw_leases_create(&l.set, &c.cfg), -EINVAL);
	assert_null(l.set);
	c.newer[7] = 0;
	assert_int_equal(tkw_leases_create(&l.set, &c.cfg), 0);
	lease_bed_close(&l);
}
BED_TEST(test_leases_config_sizes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_lease_is_renewed_after_a_third),
		BED_TESTS(test_leases_go_in_batches),
		BED_TESTS(test_lease_max_batch),
		BED_TESTS(test_leases_of_a_tenth_go_together),
		BED_TESTS(test_lease_counts_from_before_it_was_asked),
		BED_TESTS(test_lease_jitter_spreads),
		BED_TESTS(test_lease_of_all_time),
		BED_TESTS(test_lease_that_is_not_yours_ends),
		BED_TESTS(test_lease_is_retried_until_it_is_lost),
		BED_TESTS(test_lease_recovers_from_an_error),
		BED_TESTS(test_lease_times_are_settable),
		BED_TESTS(test_lease_is_told_in_time_by_coarse_ticks),
		BED_TESTS(test_lease_released_after_its_time),
		BED_TESTS(test_lease_ids_go_stale),
		BED_TESTS(test_leases_shutdown_tells_each),
		BED_TESTS(test_leases_destroy_tells_each),
		BED_TESTS(test_leases_shutdown_without_on_lost),
		BED_TESTS(test_leases_are_lost_with_their_timer),
		BED_TESTS(test_lease_calls_from_inside),
		BED_TESTS(test_leases_shutdown_from_inside),
		BED_TESTS(test_leases_refuse_bad_input),
		BED_TESTS(test_leases_config_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
