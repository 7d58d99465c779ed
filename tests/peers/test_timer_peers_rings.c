/* SPDX-License-Identifier: MIT */
/*
 * test_timer_peers_rings.c - tests from the suites of tokio's DelayQueue and of
 * folly's HHWheelTimer, on this timer and on virtual time. Both are
 * hierarchical, and most of the bugs behind those tests were at the boundary
 * between two rings. So these tests go to the edges of every ring, and of a
 * small hashed one too.
 */
#include "timer_peers.h"

/* Ticks at which a ring of 4, 16, 64 or 256 slots, or one above it, ends. */
static const int64_t edges[] = { 4, 16, 64, 256, 1024, 4096, 65536 };

enum {
	EDGES = sizeof(edges) / sizeof(edges[0])
};

/* Goes to a tick at which every ring begins, and returns its time. */
static int64_t begin_all_rings(struct peers *p)
{
	const int64_t whole_ns = (INT64_C(1) << 20) * p->cfg.tick_ns;
	const int64_t now_ns = tkw_timer_now_ns(p->bed.t);
	const int64_t begin_ns = (now_ns / whole_ns + 1) * whole_ns;

	/* This makes a turn, so that what is scheduled now is placed relative
	 * to this tick. */
	peers_pass_to(p, begin_ns);
	return begin_ns;
}

static struct tkw_timeout_id schedule_at(struct peers *p, uint64_t tag,
					 int64_t deadline_ns)
{
	const struct tkw_task task = bed_task(&p->bed, tag);
	struct tkw_timeout_id id = { 0 };

	assert_int_equal(
		tkw_timer_schedule_at(p->bed.t, &task, deadline_ns, &id), 0);
	return id;
}

static void reset_at(struct peers *p, struct tkw_timeout_id id,
		     int64_t deadline_ns)
{
	assert_int_equal(tkw_timer_reschedule_at(p->bed.t, id, deadline_ns), 0);
}

/* --- tokio -------------------------------------------------------------- */

/*
 * One timeout for tick `from` is reset to tick `to` when the clock is at tick
 * `at`. First there is no turn for that tick, so that the wheel is behind. Then
 * there is one.
 */
static void assert_reset_moves_it(struct peers *p, int64_t from, int64_t at,
				  int64_t to)
{
	const int64_t tick_ns = p->cfg.tick_ns;
	int64_t begin_ns;
	struct tkw_timeout_id id;
	int turned;

	for (turned = 0; turned < 2; turned++) {
		begin_ns = begin_all_rings(p);
		id = schedule_at(p, 1, begin_ns + from * tick_ns);
		bed_set_clock(&p->bed, begin_ns + at * tick_ns);
		if (turned)
			bed_pass(&p->bed, 0);
		reset_at(p, id, begin_ns + to * tick_ns);
		peers_assert_fires_at(p, 1, begin_ns + to * tick_ns);
	}
}

/* Resets to each tick around the ring's edge, and around its second round. */
static void assert_resets_around(struct peers *p, int64_t edge, int64_t from,
				 int64_t at)
{
	int64_t turns;
	int64_t off;

	for (turns = 1; turns <= 2; turns++) {
		for (off = -1; off <= 1; off++) {
			if (turns * edge + off > at)
				assert_reset_moves_it(p, from, at,
						      turns * edge + off);
		}
	}
}

/* SPEC 5.5, fault 18. tokio: reset to earlier and later ticks around the edges
 * of slots, before and after the slot has begun. */
static void test_tokio_reset_around_slot_edges(struct peers *p)
{
	int64_t edge;
	int64_t from;
	size_t i;

	for (i = 0; i < EDGES; i++) {
		edge = edges[i];
		for (from = edge - 1; from <= edge + 1; from++) {
			assert_resets_around(p, edge, from, 0);
			assert_resets_around(p, edge, from, edge / 2);
			assert_resets_around(p, edge, from, edge - 2);
		}
		/* from the second round back to the first */
		assert_resets_around(p, edge, 2 * edge + 1, edge - 2);
		assert_resets_around(p, edge, 3 * edge, edge + 1);
	}
	bed_assert_ledger(&p->bed, 0);
}
PEERS_TEST(test_tokio_reset_around_slot_edges)

/* SPEC 5.5. tokio: after a reset to a later time it fires only then. */
static void test_tokio_reset_later(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t now_ns = begin_all_rings(p);
	const struct tkw_timeout_id id =
		schedule_at(p, 1, now_ns + 5 * TKW_MSEC);

	bed_pass(b, TKW_MSEC);
	reset_at(p, id, now_ns + 10 * TKW_MSEC);
	bed_pass(b, 7 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	peers_assert_fires_at(p, 1, now_ns + 10 * TKW_MSEC);
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
}
PEERS_TEST(test_tokio_reset_later)

/* SPEC 4.2, 5.5. tokio: reset to a much earlier time, twice (#849). */
static void test_tokio_reset_much_earlier(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	int64_t now_ns = begin_all_rings(p);
	struct tkw_timeout_id id = schedule_at(p, 1, now_ns + 200 * TKW_MSEC);

	bed_pass(b, 3 * TKW_MSEC);
	reset_at(p, id, now_ns + 10 * TKW_MSEC);
	peers_assert_fires_at(p, 1, now_ns + 10 * TKW_MSEC);
	now_ns = begin_all_rings(p);
	id = schedule_at(p, 2, now_ns + 200 * TKW_MSEC);
	bed_pass(b, 3 * TKW_MSEC);
	reset_at(p, id, now_ns + 50 * TKW_MSEC);
	bed_pass(b, 20 * TKW_MSEC);
	reset_at(p, id, now_ns + 40 * TKW_MSEC);
	peers_assert_fires_at(p, 2, now_ns + 40 * TKW_MSEC);
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
}
PEERS_TEST(test_tokio_reset_much_earlier)

/* SPEC 5.5. tokio: two timeouts are reset several times. The last reset
 * counts. */
static void test_tokio_last_reset_counts(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t now_ns = begin_all_rings(p);
	const struct tkw_timeout_id one =
		schedule_at(p, 1, now_ns + 200 * TKW_MSEC);
	const struct tkw_timeout_id two =
		schedule_at(p, 2, now_ns + 250 * TKW_MSEC);

	reset_at(p, one, now_ns + 300 * TKW_MSEC);
	reset_at(p, two, now_ns + 350 * TKW_MSEC);
	reset_at(p, one, now_ns + 400 * TKW_MSEC);
	bed_pass(b, 310 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	peers_assert_fires_at(p, 2, now_ns + 350 * TKW_MSEC);
	peers_assert_fires_at(p, 1, now_ns + 400 * TKW_MSEC);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_tokio_last_reset_counts)

/* SPEC 4.4, 5.5. tokio: the first or the second of two is reset to be the
 * earliest, and the first to be the last. */
static void test_tokio_reset_changes_who_is_first(struct peers *p)
{
	const int64_t to_ms[3][2] = { { 100, 250 },
				      { 200, 100 },
				      { 300, 250 } };
	struct tkw_timeout_id ids[2];
	int64_t now_ns;
	size_t early;
	size_t i;

	for (i = 0; i < 3; i++) {
		now_ns = begin_all_rings(p);
		ids[0] = schedule_at(p, 0, now_ns + 200 * TKW_MSEC);
		ids[1] = schedule_at(p, 1, now_ns + 250 * TKW_MSEC);
		bed_pass(&p->bed, TKW_MSEC);
		reset_at(p, ids[i % 2], now_ns + to_ms[i][i % 2] * TKW_MSEC);
		early = to_ms[i][0] < to_ms[i][1] ? 0 : 1;
		peers_assert_fires_at(p, early,
				      now_ns + to_ms[i][early] * TKW_MSEC);
		peers_assert_fires_at(p, 1 - early,
				      now_ns + to_ms[i][1 - early] * TKW_MSEC);
	}
}
PEERS_TEST(test_tokio_reset_changes_who_is_first)

static void cancel_ids(struct peers_deed *deed, const struct tkw_firing *firing)
{
	int i;

	for (i = 0; i < 8; i++) {
		if (deed->ids[i].bits != 0)
			deed->rets[i] =
				tkw_timer_cancel(firing->timer, deed->ids[i]);
	}
}

/*
 * Two timeouts at the edge of a ring. One is removed while the other runs. It
 * is the first of its slot, where a hierarchical wheel can go wrong.
 */
static void assert_removed_at_the_edge(struct peers *p, int64_t edge)
{
	struct timer_bed *b = &p->bed;
	const int64_t begin_ns = begin_all_rings(p);
	struct peers_deed *deed = peers_deed(p, 0, cancel_ids);

	deed->delay_ns = edge * p->cfg.tick_ns;
	peers_schedule_deed(deed, 1);
	deed->ids[0] = bed_schedule(b, (uint64_t)edge, deed->delay_ns);
	peers_pass_to(p, begin_ns + edge * p->cfg.tick_ns);
	bed_assert_fired(b, 1);
	assert_int_equal(deed->rets[0], 0);
	assert_int_equal(bed_cancelled_times(b, (uint64_t)edge), 1);
	bed_assert_ledger(b, 0);
}

/* SPEC 4.5, 5.2, fault 8, fault 18. tokio: an entry for the exact tick at which
 * a ring begins can be removed when that tick has come. */
static void test_tokio_remove_at_ring_thresholds(struct peers *p)
{
	size_t i;

	for (i = 0; i < EDGES; i++) {
		assert_removed_at_the_edge(p, edges[i] - 1);
		assert_removed_at_the_edge(p, edges[i]);
		assert_removed_at_the_edge(p, edges[i] + 1);
		assert_removed_at_the_edge(p, 3 * edges[i]);
	}
}
PEERS_TEST(test_tokio_remove_at_ring_thresholds)

/* SPEC 5.2, 5.4, fault 18. tokio: it can also be removed before a turn was made
 * for that tick. Without a thread only, because a worker might be faster. */
static void test_tokio_remove_what_is_due_before_the_turn(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	int64_t begin_ns;
	int64_t next_ns;
	struct tkw_timeout_id id;
	size_t i;

	for (i = 0; i < EDGES; i++) {
		begin_ns = begin_all_rings(p);
		id = bed_schedule(b, 1, edges[i] * p->cfg.tick_ns);
		bed_set_clock(b, begin_ns + edges[i] * p->cfg.tick_ns);
		assert_int_equal(tkw_timer_cancel(b->t, id), 0);
		assert_int_equal(bed_turn(b, &next_ns), 0);
		assert_true(next_ns == TKW_NEVER_NS);
		assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	}
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_tokio_remove_what_is_due_before_the_turn)

/* SPEC 3.3, 3.4. tokio: a timeout in the past fires at once, even if the wheel
 * has moved on and another timeout is pending. */
static void test_tokio_insert_in_the_past_fires_at_once(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t now_ns = begin_all_rings(p);

	bed_pass(b, 10 * TKW_MSEC);
	schedule_at(p, 1, now_ns);
	peers_await(b, 1);
	bed_assert_fired(b, 1);
	schedule_at(p, 2, now_ns + 200 * TKW_MSEC);
	bed_pass(b, 70 * TKW_MSEC);
	schedule_at(p, 3, now_ns + 40 * TKW_MSEC);
	peers_await(b, 2);
	bed_assert_fired(b, 3);
	assert_true(tkw_timer_now_ns(b->t) == now_ns + 80 * TKW_MSEC);
	peers_assert_fires_at(p, 2, now_ns + 200 * TKW_MSEC);
}
PEERS_TEST(test_tokio_insert_in_the_past_fires_at_once)

/* SPEC 5.5. tokio: scheduled in the past, and reset before a turn was made,
 * once (#2473) and repeatedly. Without a thread only, because a worker might be
 * faster. */
static void test_tokio_reset_what_was_inserted_in_the_past(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	int64_t now_ns = begin_all_rings(p);
	struct tkw_timeout_id id = schedule_at(p, 1, now_ns - 100 * TKW_MSEC);

	reset_at(p, id, now_ns + 100 * TKW_MSEC);
	bed_assert_ledger(b, 1);
	peers_assert_fires_at(p, 1, now_ns + 100 * TKW_MSEC);
	now_ns = begin_all_rings(p);
	id = schedule_at(p, 2, now_ns - 100 * TKW_MSEC);
	reset_at(p, id, now_ns + 100 * TKW_MSEC);
	reset_at(p, id, now_ns + 50 * TKW_MSEC);
	peers_assert_fires_at(p, 2, now_ns + 50 * TKW_MSEC);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_tokio_reset_what_was_inserted_in_the_past)

/* SPEC 4.2, 4.4. tokio: a timeout that is scheduled last but due first fires
 * first. */
static void test_tokio_last_inserted_expires_first(struct peers *p)
{
	const int64_t now_ns = begin_all_rings(p);

	schedule_at(p, 1, now_ns + 10000 * TKW_MSEC);
	bed_pass(&p->bed, TKW_MSEC);
	schedule_at(p, 2, now_ns + 600 * TKW_MSEC);
	peers_assert_fires_at(p, 2, now_ns + 600 * TKW_MSEC);
	peers_assert_fires_at(p, 1, now_ns + 10000 * TKW_MSEC);
}
PEERS_TEST(test_tokio_last_inserted_expires_first)

/* When the earliest of those that have not fired is due. */
static int64_t earliest_after(const int64_t *delays, size_t count, int64_t now)
{
	int64_t least = INT64_MAX;
	size_t i;

	for (i = 0; i < count; i++) {
		if (delays[i] > now && delays[i] < least)
			least = delays[i];
	}
	return least;
}

/* SPEC 1.7, 4.1. tokio: delays over several rings, from tick to tick. The next
 * turn is never later than the earliest of them. */
static void test_tokio_delays_of_several_rings_tick_by_tick(struct peers *p)
{
	static const int64_t delays[] = { 1000, 2, 234, 299008, 60, 10 };
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t begin_ns = begin_all_rings(p);
	int64_t next_ns;
	int64_t least;
	int64_t k;
	size_t i;

	for (i = 0; i < 6; i++)
		bed_schedule(b, (uint64_t)delays[i], delays[i] * tick_ns);
	for (k = 1; k <= 1200; k++) {
		least = earliest_after(delays, 6, k - 1);
		assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
		assert_true(next_ns <= begin_ns + least * tick_ns);
		peers_pass_to(p, begin_ns + k * tick_ns);
		if (k == least)
			bed_assert_fired(b, (uint64_t)k);
		else
			bed_assert_nothing_fired(b);
	}
	peers_assert_fires_at(p, 299008, begin_ns + 299008 * tick_ns);
}
PEERS_TEST(test_tokio_delays_of_several_rings_tick_by_tick)

/* --- folly -------------------------------------------------------------- */

static void cancel_and_arm(struct peers_deed *deed,
			   const struct tkw_firing *firing)
{
	const struct tkw_task task = deed->noted;

	cancel_ids(deed, firing);
	deed->rets[7] =
		tkw_timer_schedule(firing->timer, &task, deed->delay_ns, NULL);
}

/* SPEC 4.5, 4.6, fault 8. folly: in a list that is running, the first task
 * cancels the head and one in the middle. The third cancels the last one and
 * some of other ticks, and schedules itself again. */
static void test_folly_cancel_head_middle_and_last_of_the_list(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t begin_ns = begin_all_rings(p);
	struct peers_deed *first = peers_deed(p, 0, cancel_ids);
	struct peers_deed *third = peers_deed(p, 1, cancel_and_arm);

	first->delay_ns = 5 * tick_ns;
	third->delay_ns = 5 * tick_ns;
	peers_schedule_deed(first, 1);
	first->ids[0] = bed_schedule(b, 2, 5 * tick_ns);
	peers_schedule_deed(third, 3);
	first->ids[1] = bed_schedule(b, 4, 5 * tick_ns);
	third->ids[0] = bed_schedule(b, 5, 5 * tick_ns);
	bed_schedule(b, 101, 10 * tick_ns);
	third->ids[1] = bed_schedule(b, 102, 10 * tick_ns);
	bed_schedule(b, 103, 10 * tick_ns);
	third->ids[2] = bed_schedule(b, 201, 20 * tick_ns);
	third->ids[3] = bed_schedule(b, 202, 20 * tick_ns);
	peers_pass_to(p, begin_ns + 5 * tick_ns);
	bed_assert_fired(b, 1, 3);
	bed_assert_ledger(b, 3);
	peers_pass_to(p, begin_ns + 30 * tick_ns);
	bed_assert_fired(b, 101, 103, 3);
	assert_int_equal(first->rets[0] | first->rets[1], 0);
	assert_int_equal(third->rets[0] | third->rets[1] | third->rets[2] |
				 third->rets[3] | third->rets[7],
			 0);
	assert_int_equal(b->cancelled_count, 6);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_folly_cancel_head_middle_and_last_of_the_list)

/* The task takes long, and then schedules. */
static void be_slow_and_arm(struct peers_deed *deed,
			    const struct tkw_firing *firing)
{
	struct timer_bed *b = &deed->p->bed;
	const struct tkw_task task = bed_task(b, 2);
	const int64_t now_ns = tkw_timer_now_ns(firing->timer);

	bed_set_clock(b, now_ns + 100 * deed->p->cfg.tick_ns);
	deed->rets[0] =
		tkw_timer_schedule(firing->timer, &task, deed->delay_ns, NULL);
}

/* SPEC 4.1, 4.6, faults 13, 16. folly: after a late or long turn nothing fires
 * early. A delay counts from the current time, not from that of the wheel. */
static void test_folly_not_early_after_a_late_turn(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	struct peers_deed *deed = peers_deed(p, 0, be_slow_and_arm);
	int64_t begin_ns;
	size_t i;

	for (i = 0; i < EDGES; i++) {
		begin_ns = begin_all_rings(p);
		deed->delay_ns = edges[i] * tick_ns;
		peers_schedule_deed(deed, 1);
		/* ten ticks late, and the task takes a hundred */
		peers_pass_to(p, begin_ns + (edges[i] + 10) * tick_ns);
		bed_assert_fired(b, 1);
		assert_int_equal(deed->rets[0], 0);
		peers_assert_fires_at(
			p, 2, begin_ns + (2 * edges[i] + 110) * tick_ns);
	}
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_folly_not_early_after_a_late_turn)

static void arm_another(struct peers_deed *deed,
			const struct tkw_firing *firing)
{
	const struct tkw_task task = bed_task(&deed->p->bed, 2);

	deed->rets[0] =
		tkw_timer_schedule(firing->timer, &task, deed->then_ns, NULL);
}

/* SPEC 1.9, 4.6, fault 18. folly: a task that fires in the middle of a ring
 * schedules for the slot just behind its own, a whole round away. */
static void test_folly_task_schedules_a_whole_turn_ahead(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	struct peers_deed *deed = peers_deed(p, 0, arm_another);
	int64_t begin_ns;
	int64_t ahead;
	size_t i;

	for (i = 0; i < EDGES; i++) {
		for (ahead = edges[i] - 1; ahead <= edges[i] + 1; ahead++) {
			begin_ns = begin_all_rings(p);
			deed->delay_ns = edges[i] / 2 * tick_ns;
			deed->then_ns = ahead * tick_ns;
			peers_schedule_deed(deed, 1);
			begin_ns += deed->delay_ns;
			peers_assert_fires_at(p, 1, begin_ns);
			peers_assert_fires_at(p, 2, begin_ns + deed->then_ns);
		}
	}
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_folly_task_schedules_a_whole_turn_ahead)

/* SPEC 5.5, 5.7. folly: scheduled twice, which is a reset here. It fires once,
 * and the counts are right. */
static void test_folly_scheduled_twice_fires_once(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t now_ns = begin_all_rings(p);
	struct tkw_timeout_id id;

	bed_schedule(b, 1, 5 * TKW_MSEC);
	id = bed_schedule(b, 2, 5 * TKW_MSEC);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 5 * TKW_MSEC), 0);
	bed_schedule(b, 3, 10 * TKW_MSEC);
	assert_true(tkw_timer_count(b->t) == 3);
	peers_pass_to(p, now_ns + 5 * TKW_MSEC);
	bed_assert_fired(b, 1, 2);
	assert_true(tkw_timer_count(b->t) == 1);
	peers_assert_fires_at(p, 3, now_ns + 10 * TKW_MSEC);
	assert_true(tkw_timer_count(b->t) == 0);
}
PEERS_TEST(test_folly_scheduled_twice_fires_once)

static void destroy_inside(struct peers_deed *deed,
			   const struct tkw_firing *firing)
{
	cancel_ids(deed, firing);
	deed->rets[6] = tkw_timer_destroy(firing->timer);
	deed->rets[7] = tkw_timer_stop(firing->timer, NULL, NULL);
}

/* SPEC 6.1, 6.6, fault 9. folly: destroyed inside a task that has cancelled the
 * rest of its list. There the destruction is delayed. Here it is refused, and
 * the timer goes on. */
static void test_folly_destroy_inside_a_task(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct peers_deed *deed = peers_deed(p, 0, destroy_inside);

	deed->delay_ns = 128 * TKW_MSEC;
	bed_schedule(b, 1, 128 * TKW_MSEC);
	peers_schedule_deed(deed, 2);
	deed->ids[0] = bed_schedule(b, 3, 128 * TKW_MSEC);
	deed->ids[1] = bed_schedule(b, 4, 200 * TKW_MSEC);
	bed_schedule(b, 5, 200 * TKW_MSEC);
	bed_pass(b, 300 * TKW_MSEC);
	bed_assert_fired(b, 1, 2, 5);
	assert_int_equal(deed->rets[0] | deed->rets[1], 0);
	assert_int_equal(deed->rets[6], -EDEADLK);
	assert_int_equal(deed->rets[7], -EDEADLK);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_folly_destroy_inside_a_task)

/* SPEC 5.8. folly: the remaining time gets shorter and shorter. */
static void test_folly_tells_the_time_that_remains(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const struct tkw_timeout_id id = bed_schedule(b, 1, 600 * TKW_MSEC);
	struct tkw_timeout_info info;
	int64_t passed;

	for (passed = 0; passed < 600; passed += 150) {
		assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
		assert_true(info.left_ns == (600 - passed) * TKW_MSEC);
		bed_pass(b, 150 * TKW_MSEC);
	}
	bed_pass(b, p->cfg.tick_ns);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_get(b->t, id, &info), -ENOENT);
}
PEERS_TEST(test_folly_tells_the_time_that_remains)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEERS_ON_TWO(test_tokio_reset_around_slot_edges),
		PEERS_ON_TWO(test_tokio_reset_later),
		PEERS_ON_TWO(test_tokio_reset_much_earlier),
		PEERS_ON_TWO(test_tokio_last_reset_counts),
		PEERS_ON_TWO(test_tokio_reset_changes_who_is_first),
		PEERS_ON_TWO(test_tokio_remove_at_ring_thresholds),
		PEERS_BY_HAND(test_tokio_remove_what_is_due_before_the_turn),
		PEERS_ON_TWO(test_tokio_insert_in_the_past_fires_at_once),
		PEERS_BY_HAND(test_tokio_reset_what_was_inserted_in_the_past),
		PEERS_ON_TWO(test_tokio_last_inserted_expires_first),
		PEERS_ON_TWO(test_tokio_delays_of_several_rings_tick_by_tick),
		PEERS_ON_TWO(
			test_folly_cancel_head_middle_and_last_of_the_list),
		PEERS_ON_TWO(test_folly_not_early_after_a_late_turn),
		PEERS_ON_TWO(test_folly_task_schedules_a_whole_turn_ahead),
		PEERS_ON_TWO(test_folly_scheduled_twice_fires_once),
		PEERS_ON_TWO(test_folly_destroy_inside_a_task),
		PEERS_ON_TWO(test_folly_tells_the_time_that_remains),
	};

	return cmocka_run_group_tests_name("timer_peers_rings", tests, NULL,
					   NULL);
}
