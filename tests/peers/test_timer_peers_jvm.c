/* SPDX-License-Identifier: MIT */
/*
 * test_timer_peers_jvm.c - tests from the suites of Kafka's timer
 * (hierarchical) and of Pekko's LightArrayRevolverScheduler (hashed), on this
 * timer and on virtual time.
 */
#include "timer_peers.h"

/* --- Kafka -------------------------------------------------------------- */

/* SPEC 3.3, fault 17. Kafka: tasks that are already due run at once. */
static void test_kafka_already_expired_runs_at_once(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t now_ns = tkw_timer_now_ns(b->t);
	struct tkw_task task;
	uint64_t i;

	for (i = 0; i < 5; i++)
		bed_schedule(b, i, ((int64_t)i - 5) * TKW_MSEC);
	for (i = 5; i < 10; i++) {
		task = bed_task(b, i);
		assert_int_equal(tkw_timer_schedule_at(b->t, &task,
						       now_ns - TKW_SEC, NULL),
				 0);
	}
	peers_await(b, 10);
	/* The clock has not moved. */
	assert_true(tkw_timer_now_ns(b->t) == now_ns);
	for (i = 0; i < 10; i++)
		assert_int_equal(bed_fired_times(b, i), 1);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_kafka_already_expired_runs_at_once)

enum {
	KAFKA_TASKS = 5 + 2 * 90 + 400
};

/* Delays in ticks: 0 to 4, 10 to 99 twice, 100 to 499. */
static void fill_delays(uint64_t delays[KAFKA_TASKS])
{
	size_t n = 0;
	uint64_t i;

	for (i = 0; i < 500; i++) {
		if (i < 5 || i >= 10)
			delays[n++] = i;
		if (i >= 10 && i < 100)
			delays[n++] = i;
	}
	assert_int_equal(n, KAFKA_TASKS);
}

static void shuffle(uint64_t *numbers, size_t count, uint32_t seed)
{
	uint64_t kept;
	size_t i;
	size_t k;

	for (i = count - 1; i > 0; i--) {
		k = peers_random(&seed) % (i + 1);
		kept = numbers[i];
		numbers[i] = numbers[k];
		numbers[k] = kept;
	}
}

/* SPEC 1.6, 4.4. Kafka: whatever the order of adding, all expire in order of
 * time. */
static void test_kafka_tasks_expire_in_order_of_time(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	uint64_t sorted[KAFKA_TASKS];
	uint64_t mixed[KAFKA_TASKS];
	size_t i;

	fill_delays(sorted);
	memcpy(mixed, sorted, sizeof(mixed));
	shuffle(mixed, KAFKA_TASKS, 20240611);
	/* The delays are so long that none is due before all are scheduled. */
	for (i = 0; i < KAFKA_TASKS; i++)
		bed_schedule(b, mixed[i],
			     (int64_t)(mixed[i] + 1) * p->cfg.tick_ns);
	bed_assert_ledger(b, KAFKA_TASKS);
	bed_pass(b, 2000 * p->cfg.tick_ns);
	bed_check_fired(b, sorted, KAFKA_TASKS);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_kafka_tasks_expire_in_order_of_time)

/* --- Pekko -------------------------------------------------------------- */

/* SPEC 1.4, 4.1, fault 18. Pekko: a delay that is a multiple of one round of
 * the wheel. Each power of two is a round of some ring. */
static void test_pekko_delay_of_whole_turns_of_the_wheel(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	int64_t turn;
	int64_t at_ns;
	int64_t k;

	for (turn = 2; turn <= 1 << 16; turn *= 2) {
		for (k = turn - 1; k <= 3 * turn + 1; k++) {
			if (k % turn > 1 && k % turn < turn - 1)
				continue;
			at_ns = tkw_timer_now_ns(b->t) + k * tick_ns;
			bed_schedule(b, (uint64_t)k, k * tick_ns);
			peers_assert_fires_at(p, (uint64_t)k, at_ns);
		}
	}
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_pekko_delay_of_whole_turns_of_the_wheel)

/* Delays of half a tick plus whole ticks. */
static void schedule_half_ticks(struct peers *p, uint64_t count)
{
	const int64_t tick_ns = p->cfg.tick_ns;
	uint64_t i;

	for (i = 0; i < count; i++)
		bed_schedule(&p->bed, i, tick_ns / 2 + (int64_t)i * tick_ns);
}

/* SPEC 1.6, 4.4, fault 16. Pekko: a late wake-up expires several slots. */
static void test_pekko_late_turn_expires_several_slots(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(b->t));

	peers_pass_to(p, begin_ns);
	schedule_half_ticks(p, 6);
	peers_pass_to(p, begin_ns + 4 * p->cfg.tick_ns + p->cfg.tick_ns / 2);
	bed_assert_fired(b, 0, 1, 2, 3);
	/* The next one comes half a tick later, and not before. */
	peers_assert_fires_at(p, 4, begin_ns + 5 * p->cfg.tick_ns);
	bed_assert_ledger(b, 1);
}
PEERS_TEST(test_pekko_late_turn_expires_several_slots)

/* SPEC 4.1. Pekko: after a turn that was late, a delay counts from now. */
static void test_pekko_late_turn_makes_nothing_early(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(b->t));

	bed_schedule(b, 1, tick_ns);
	/* The worker is late by five ticks, or by many rounds of the wheel. */
	bed_set_clock(b, begin_ns + 5 * tick_ns);
	bed_schedule(b, 2, 3 * tick_ns);
	bed_pass(b, 0);
	bed_assert_fired(b, 1);
	peers_assert_fires_at(p, 2, begin_ns + 8 * tick_ns);
	bed_set_clock(b, begin_ns + 100005 * tick_ns);
	bed_schedule(b, 3, 3 * tick_ns);
	peers_assert_fires_at(p, 3, begin_ns + 100008 * tick_ns);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_pekko_late_turn_makes_nothing_early)

/* SPEC 1.4, 1.6. Pekko: the rounds of a wheel with two slots wrap around. */
static void test_pekko_rounds_wrap_around(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(b->t));
	int64_t k;

	peers_pass_to(p, begin_ns);
	schedule_half_ticks(p, 40);
	for (k = 0; k < 40; k++)
		peers_assert_fires_at(p, (uint64_t)k,
				      begin_ns + (k + 1) * p->cfg.tick_ns);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_pekko_rounds_wrap_around)

/* Forty timeouts, one per tick, around the given tick. */
static void assert_forty_fire_around(struct peers *p, int64_t tick)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t begin_ns = (tick - 20) * tick_ns;
	int64_t k;

	bed_set_clock(b, begin_ns);
	schedule_half_ticks(p, 40);
	for (k = 0; k < 40; k++)
		peers_assert_fires_at(p, (uint64_t)k,
				      begin_ns + (k + 1) * tick_ns);
	bed_assert_ledger(b, 0);
}

/* SPEC 1.1, 4.1. Pekko: ticks wrap around. In Pekko they have 31 bits. */
static void test_pekko_ticks_of_31_and_32_bits_are_passed(struct peers *p)
{
	assert_forty_fire_around(p, INT64_C(1) << 31);
	assert_forty_fire_around(p, INT64_C(1) << 32);
}
PEERS_TEST(test_pekko_ticks_of_31_and_32_bits_are_passed)

/* SPEC 3.2, 4.1, fault 17. Pekko: the clock reaches its largest value. There it
 * wraps around. Here a time beyond that means never. */
static void test_pekko_fires_up_to_the_end_of_the_clock(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t last_ns = INT64_MAX / tick_ns * tick_ns;
	struct tkw_timeout_id beyond;
	int64_t k;

	bed_set_clock(b, last_ns - 10 * tick_ns);
	for (k = 0; k < 10; k++)
		bed_schedule(b, (uint64_t)k, tick_ns / 2 + k * tick_ns);
	beyond = bed_schedule(b, 11, 12 * tick_ns);
	for (k = 0; k < 10; k++)
		peers_assert_fires_at(p, (uint64_t)k,
				      last_ns - (9 - k) * tick_ns);
	bed_assert_ledger(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, beyond), 0);
}
PEERS_TEST(test_pekko_fires_up_to_the_end_of_the_clock)

/* SPEC 5.2, fault 22. Pekko: cancel is true, then false. */
static void test_pekko_cancel_is_true_then_false(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const struct tkw_timeout_id id = bed_schedule(b, 1, 10 * TKW_SEC);

	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	bed_pass(b, 20 * TKW_SEC);
	bed_assert_nothing_fired(b);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_pekko_cancel_is_true_then_false)

/* SPEC 5.2. Pekko: after the run, even the first cancel is false. */
static void test_pekko_cancel_after_the_run_is_false(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const struct tkw_timeout_id id = bed_schedule(b, 1, 10 * TKW_MSEC);

	bed_pass(b, 10 * TKW_MSEC + p->cfg.tick_ns);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(bed_cancelled_times(b, 1), 0);
}
PEERS_TEST(test_pekko_cancel_after_the_run_is_false)

enum {
	CROWD = 20000
};

struct crowd {
	struct tkw_timeout_id ids[CROWD];
	uint64_t delay_ticks[CROWD];
	uint8_t times[CROWD]; /* how often each fired or was cancelled */
};

/* ctx points into times. */
static void note_in_crowd(const struct tkw_firing *firing, void *ctx)
{
	uint8_t *times = ctx;

	(void)firing;
	++*times;
}

static void schedule_crowd(struct peers *p, struct crowd *c, uint32_t seed)
{
	struct tkw_task task = { .fn = note_in_crowd };
	size_t i;

	for (i = 0; i < CROWD; i++) {
		c->delay_ticks[i] = 1 + peers_random(&seed) % 3000;
		task.ctx = &c->times[i];
		assert_int_equal(tkw_timer_schedule(p->bed.t, &task,
						    (int64_t)c->delay_ticks[i] *
							    p->cfg.tick_ns,
						    &c->ids[i]),
				 0);
	}
}

/* SPEC 1.6, 5.1, 5.7. Pekko: many timeouts with random delays, all cancelled in
 * the middle. Each has either run or been cancelled. */
static void test_pekko_survives_cancelling_a_crowd(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(b->t));
	struct crowd *c = calloc(1, sizeof(*c));
	size_t i;
	int ret;

	assert_non_null(c);
	peers_pass_to(p, begin_ns);
	schedule_crowd(p, c, 777);
	peers_pass_to(p, begin_ns + 500 * p->cfg.tick_ns);
	for (i = 0; i < CROWD; i++) {
		assert_int_equal(c->times[i], c->delay_ticks[i] <= 500);
		ret = tkw_timer_cancel(b->t, c->ids[i]);
		assert_int_equal(ret, c->times[i] ? -ENOENT : 0);
	}
	bed_assert_ledger(b, 0);
	peers_pass_to(p, begin_ns + 4000 * p->cfg.tick_ns);
	for (i = 0; i < CROWD; i++)
		assert_int_equal(c->times[i], c->delay_ticks[i] <= 500);
	free(c);
}
PEERS_TEST(test_pekko_survives_cancelling_a_crowd)

/* SPEC 1.6, 4.1. Pekko: the same timeouts, and none is cancelled. */
static void test_pekko_survives_a_crowd(struct peers *p)
{
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(p->bed.t));
	struct crowd *c = calloc(1, sizeof(*c));
	uint64_t tick;
	size_t i;

	assert_non_null(c);
	peers_pass_to(p, begin_ns);
	schedule_crowd(p, c, 778);
	for (tick = 250; tick <= 3000; tick += 250) {
		peers_pass_to(p, begin_ns + (int64_t)tick * p->cfg.tick_ns);
		for (i = 0; i < CROWD; i++)
			assert_int_equal(c->times[i],
					 c->delay_ticks[i] <= tick);
	}
	bed_assert_ledger(&p->bed, 0);
	free(c);
}
PEERS_TEST(test_pekko_survives_a_crowd)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEERS_ON_ALL(test_kafka_already_expired_runs_at_once),
		PEERS_ON_ALL(test_kafka_tasks_expire_in_order_of_time),
		PEERS_ON_ALL(test_pekko_delay_of_whole_turns_of_the_wheel),
		PEERS_ON_ALL(test_pekko_late_turn_expires_several_slots),
		PEERS_ON_ALL(test_pekko_late_turn_makes_nothing_early),
		PEERS_ON_ALL(test_pekko_rounds_wrap_around),
		PEERS_EACH(test_pekko_rounds_wrap_around, "two slots", 0, 2),
		PEERS_ON_ALL(test_pekko_ticks_of_31_and_32_bits_are_passed),
		PEERS_ON_ALL(test_pekko_fires_up_to_the_end_of_the_clock),
		PEERS_ON_ALL(test_pekko_cancel_is_true_then_false),
		PEERS_ON_ALL(test_pekko_cancel_after_the_run_is_false),
		PEERS_ON_ALL(test_pekko_survives_cancelling_a_crowd),
		PEERS_ON_ALL(test_pekko_survives_a_crowd),
	};

	return cmocka_run_group_tests_name("timer_peers_jvm", tests, NULL,
					   NULL);
}
