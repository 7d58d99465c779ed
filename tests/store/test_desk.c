/* SPDX-License-Identifier: MIT */
/* test_desk.c - turns: batches, order, failures, time, and bounds. */
#include "desk_bed.h"

#include <stdio.h>
#include <stdlib.h>

#include "home/planner.h"

enum {
	PLANS = 200
};

/* --- batches and order ---------------------------------------------------- */

static void test_desk_requests_of_a_turn_share_a_batch(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r[4];
	uint64_t appends = b->disk.appends;

	for (int i = 0; i < 4; i++)
		ask_put(b, &r[i], (char)('a' + i), 0, 2);
	assert_string_equal(b->told, "");
	bed_turn(b);
	assert_string_equal(b->told, "abcd");
	assert_int_equal(b->disk.appends, appends + 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(r[i].r.result, 0);
	assert_true(r[0].id[1] < r[3].id[0]);
	bed_reopen(b);
}

/* An item can be put, taken and acked in one batch. */
static void test_desk_take_sees_a_put_of_the_same_batch(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request p, t, t2;

	ask_put(b, &p, 'p', 0, 1);
	ask_take(b, &t, 't', 0, 5);
	ask_take(b, &t2, 'u', 0, 5);
	bed_turn(b);
	assert_string_equal(b->told, "ptu");
	assert_int_equal(t.r.result, 1);
	assert_int_equal(t2.r.result, 0);
	assert_null(t2.r.take.items);
	assert_true(t.r.take.items->item[0].claim.id.bits == p.id[0]);
	assert_memory_equal(t.r.take.items->item[0].payload, "payload", 7);
	tkw_items_free(t.r.take.items);
	bed_reopen(b);
}

static void test_desk_refused_request_leaves_no_trace(void **state)
{
	struct desk_bed *b = *state;
	uint64_t digest = tkw__desk_digest(b->desk);
	uint64_t rows = b->disk.last;
	struct bed_request r;

	ask_put(b, &r, 'p', 0, 2);
	r.put[1].payload.len = TKW__QUEUE_DEFAULT_PAYLOAD + 1;
	bed_turn(b);
	assert_int_equal(r.r.result, -EMSGSIZE);
	assert_true(tkw__desk_digest(b->desk) == digest);
	assert_int_equal(b->disk.last, rows);
}

/* --- takes that wait ------------------------------------------------------ */

static void test_desk_waiting_takes_are_served_in_order(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request t[4], p;

	for (int i = 0; i < 3; i++)
		ask_take(b, &t[i], (char)('a' + i), 1000, 1);
	bed_quiet(b);
	assert_string_equal(b->told, "");
	assert_int_equal(b->q->parked.count, 3);
	/* A later one that does not wait must not overtake them. */
	ask_put(b, &p, 'p', 0, 2);
	ask_take(b, &t[3], 'h', 0, 1);
	bed_turn(b);
	assert_string_equal(b->told, "phab");
	assert_int_equal(t[0].r.result, 1);
	assert_int_equal(t[1].r.result, 1);
	assert_int_equal(t[3].r.result, 0);
	assert_true(t[0].r.take.items->item[0].claim.id.bits == p.id[0]);
	assert_true(t[1].r.take.items->item[0].claim.id.bits == p.id[1]);
	assert_int_equal(t[2].r.state, TKW__REQUEST_PARKED);
	tkw_items_free(t[0].r.take.items);
	tkw_items_free(t[1].r.take.items);
	bed_pass(b, 1000);
	bed_turn(b);
	assert_int_equal(t[2].r.result, 0);
}

static void test_desk_waiting_take_is_woken_by_time(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_next next;
	struct bed_request t;

	bed_put(b, 250);
	ask_take(b, &t, 't', 5000, 1);
	bed_quiet(b);
	tkw__desk_next(b->desk, &next);
	assert_true(next.now_us == BED_START_US + 250000);
	bed_pass(b, 249);
	bed_quiet(b);
	assert_string_equal(b->told, "");
	bed_pass(b, 1);
	bed_quiet(b);
	assert_string_equal(b->told, "t");
	assert_int_equal(t.r.result, 1);
	tkw_items_free(t.r.take.items);
}

static void test_desk_waiting_take_times_out(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_next next;
	struct bed_request t, u;

	ask_take(b, &t, 't', 20, 1);
	ask_take(b, &u, 'u', 10, 1);
	bed_quiet(b);
	tkw__desk_next(b->desk, &next);
	assert_true(next.mono_us > b->mono_us);
	assert_true(next.mono_us <= b->mono_us + 10000);
	/* The wall clock has no say in it. */
	b->now_us += UINT64_C(86400000000);
	bed_quiet(b);
	assert_string_equal(b->told, "");
	b->mono_us += 10000;
	bed_quiet(b);
	assert_string_equal(b->told, "u");
	b->mono_us += 10000;
	bed_quiet(b);
	assert_string_equal(b->told, "ut");
	assert_int_equal(t.r.result, 0);
	tkw__desk_next(b->desk, &next);
	assert_true(next.mono_us == UINT64_MAX);
}

/* Many takes time out in pieces. */
static void test_desk_timeouts_of_a_turn_are_bounded(void **state)
{
	enum {
		MANY = 5000
	};
	struct desk_bed *b = *state;
	struct tkw__request *r = calloc(MANY, sizeof(*r));
	int turns = 0, ended = 0;

	assert_non_null(r);
	for (int i = 0; i < MANY; i++) {
		r[i].kind = TKW__REQUEST_TAKE;
		r[i].queue = b->q;
		r[i].take.max = 1;
		r[i].take.lease_ms = 1;
		r[i].take.wait_us = 1000;
		tkw__desk_submit(b->desk, &r[i]);
	}
	bed_quiet(b);
	assert_int_equal(b->q->parked.count, MANY);
	b->mono_us += 1000;
	while (tkw__desk_turn(b->desk, b->now_us, b->mono_us))
		turns++;
	assert_true(turns > 0);
	for (int i = 0; i < MANY; i++)
		ended += r[i].state == TKW__REQUEST_ENDED;
	assert_int_equal(ended, MANY);
	free(r);
}

static void test_desk_take_can_be_withdrawn(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request t, w, w2;

	ask_take(b, &t, 't', 1000, 1);
	bed_quiet(b);
	ask(b, &w, 'w', TKW__REQUEST_WITHDRAW);
	w.r.target = &t.r;
	bed_quiet(b);
	assert_int_equal(t.r.result, -ECANCELED);
	assert_int_equal(w.r.result, 0);
	assert_int_equal(b->q->parked.count, 0);
	ask(b, &w2, 'x', TKW__REQUEST_WITHDRAW);
	w2.r.target = &t.r;
	bed_quiet(b);
	assert_int_equal(w2.r.result, -ENOENT);
}

static void test_desk_paused_queue_keeps_its_waiters(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request t, r;

	ask(b, &r, 'p', TKW__REQUEST_PAUSE);
	ask_take(b, &t, 't', 1000, 1);
	bed_quiet(b);
	bed_put(b, 0);
	assert_string_equal(b->told, "p");
	bed_reopen(b);
	/* A close lets it go, and the queue stays paused. */
	assert_string_equal(b->told, "pt");
	assert_int_equal(t.r.result, -ESHUTDOWN);
	ask_take(b, &t, 't', 1000, 1);
	bed_quiet(b);
	ask(b, &r, 'r', TKW__REQUEST_RESUME);
	bed_quiet(b);
	assert_string_equal(b->told, "ptrt");
	assert_int_equal(t.r.result, 1);
	tkw_items_free(t.r.take.items);
}

/* What a take waits for its turn counts. */
static void test_desk_take_waits_from_the_call_on(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_next next;
	struct bed_request t;

	ask_take(b, &t, 't', 20, 1);
	t.r.take.asked_us = b->mono_us - 15000;
	bed_quiet(b);
	tkw__desk_next(b->desk, &next);
	assert_true(next.mono_us <= b->mono_us + 5000);
	b->mono_us += 5000;
	bed_quiet(b);
	assert_string_equal(b->told, "t");
	assert_int_equal(t.r.result, 0);
	/* Even if its time is over when its turn comes. */
	ask_take(b, &t, 'u', 20, 1);
	t.r.take.asked_us = b->mono_us - 30000;
	bed_quiet(b);
	b->mono_us += 1000;
	bed_quiet(b);
	assert_string_equal(b->told, "tu");
}

/* --- time ----------------------------------------------------------------- */

/* At the end of time, a lease ends later than it begins all the same. */
static void test_desk_takes_at_the_end_of_time(void **state)
{
	struct desk_bed *b = *state;
	struct tkw_items *it;

	b->now_us = INT64_MAX;
	bed_put(b, 0);
	it = bed_take(b, 1, 30000);
	assert_non_null(it);
	assert_int_equal(it->item[0].state, TKW_ITEM_TAKEN);
	assert_string_equal(it->item[0].reason, "");
	assert_int_equal(bed_ack(b, &it->item[0]), 1);
	tkw_items_free(it);
	bed_reopen(b);
}

static void test_desk_lease_survives_a_reopen_and_is_lost(void **state)
{
	struct desk_bed *b = *state;
	struct tkw_queue_stats s;
	struct tkw_items *i;

	bed_put(b, 0);
	i = bed_take(b, 1, 100);
	assert_non_null(i);
	bed_reopen(b);
	assert_null(bed_take(b, 1, 100));
	s = bed_stats(b);
	assert_int_equal(s.taken, 1);
	bed_pass(b, 100);
	s = bed_stats(b);
	assert_int_equal(s.taken, 0);
	assert_int_equal(s.ready, 1);
	assert_int_equal(s.all_losses, 1);
	assert_int_equal(bed_ack(b, &i->item[0]), 0);
	tkw_items_free(i);
	bed_reopen(b);
	i = bed_take(b, 1, 100);
	assert_int_equal(i->item[0].attempts, 2);
	assert_int_equal(bed_ack(b, &i->item[0]), 1);
	tkw_items_free(i);
}

/* SPEC 11.23 */
static void test_desk_clock_steps_back_and_forth(void **state)
{
	struct desk_bed *b = *state;
	uint64_t day_us = UINT64_C(86400000000);
	struct bed_request t;

	b->q->watched = true;
	bed_put(b, 1000);
	assert_null(tkw__desk_changed(b->desk));
	b->now_us += day_us;
	bed_quiet(b);
	assert_ptr_equal(tkw__desk_changed(b->desk), b->q);
	assert_null(tkw__desk_changed(b->desk));
	assert_true(b->q->can_take);
	b->now_us -= day_us;
	bed_quiet(b);
	assert_ptr_equal(tkw__desk_changed(b->desk), b->q);
	assert_false(b->q->can_take);
	ask_take(b, &t, 't', 10, 1);
	bed_quiet(b);
	assert_string_equal(b->told, "");
	b->now_us += day_us;
	bed_quiet(b);
	assert_string_equal(b->told, "t");
	assert_int_equal(t.r.result, 1);
	tkw_items_free(t.r.take.items);
	assert_false(b->q->can_take);
}

static void test_desk_can_take_follows_pause(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r;

	b->q->watched = true;
	bed_put(b, 0);
	assert_true(b->q->can_take);
	ask(b, &r, 0, TKW__REQUEST_PAUSE);
	bed_quiet(b);
	assert_false(b->q->can_take);
	ask(b, &r, 0, TKW__REQUEST_RESUME);
	bed_quiet(b);
	assert_true(b->q->can_take);
	tkw_items_free(bed_take(b, 1, 10));
	assert_false(b->q->can_take);
	bed_pass(b, 10);
	bed_quiet(b);
	assert_true(b->q->can_take);
}

/* --- the store fails ------------------------------------------------------ */

static void test_desk_failed_batch_is_undone_and_told(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request t, p, u, a;
	struct tkw_items *held;
	uint64_t digest;

	bed_put(b, 0);
	bed_put(b, 0);
	held = bed_take(b, 1, 1000);
	ask(b, &p, 0, TKW__REQUEST_PAUSE);
	ask_take(b, &t, 't', 1000, 1);
	bed_quiet(b);
	digest = tkw__desk_digest(b->desk);
	b->disk.fails = 1;
	b->disk.error = -ENOMEM;
	ask(b, &p, 'r', TKW__REQUEST_RESUME);
	ask_take(b, &u, 'u', 1000, 1);
	ask_ack(b, &a, 'a', &held->item[0]);
	bed_turn(b);
	/* The take from before was served, so it is part of the batch. The new
	 * one found nothing, and waits on. */
	assert_string_equal(b->told, "rta");
	assert_int_equal(p.r.result, -ENOMEM);
	assert_int_equal(a.r.result, -ENOMEM);
	assert_int_equal(t.r.result, -ENOMEM);
	assert_null(t.r.take.items);
	assert_int_equal(u.r.state, TKW__REQUEST_PARKED);
	assert_true(tkw__desk_digest(b->desk) == digest);
	ask(b, &p, 'r', TKW__REQUEST_RESUME);
	bed_turn(b);
	assert_string_equal(b->told, "rtaru");
	assert_int_equal(u.r.result, 1);
	tkw_items_free(u.r.take.items);
	assert_int_equal(bed_ack(b, &held->item[0]), 1);
	tkw_items_free(held);
	bed_reopen(b);
}

/* SPEC 11.22: puts are refused, and acks go on. */
static void test_desk_full_disk_refuses_puts_and_lets_acks_through(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request p, a, t, p2;
	struct tkw_items *held;

	bed_put(b, 0);
	bed_put(b, 0);
	held = bed_take(b, 1, 1000);
	ask_take(b, &t, 't', 1000, 2);
	/* There is room for an ack and a take, but not for the put. */
	b->disk.room_bytes = b->disk.bytes + 50;
	ask_put(b, &p, 'p', 0, 1);
	ask_ack(b, &a, 'a', &held->item[0]);
	bed_turn(b);
	assert_int_equal(p.r.result, -ENOSPC);
	assert_int_equal(a.r.result, 1);
	/* It could have had both items; the second one was never there. */
	assert_int_equal(t.r.result, 1);
	tkw_items_free(t.r.take.items);
	tkw_items_free(held);
	b->disk.room_bytes = 0;
	ask_put(b, &p2, 'q', 0, 1);
	bed_turn(b);
	assert_int_equal(p2.r.result, 0);
	bed_reopen(b);
}

static void test_desk_full_disk_uses_the_reserve_and_gets_it_back(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request p, a;
	struct tkw_items *held;

	bed_put(b, 0);
	bed_put(b, 0);
	held = bed_take(b, 2, 1000);
	b->has_reserve = true;
	bed_reopen(b);
	b->disk.room_bytes = b->disk.bytes + 40;
	ask_put(b, &p, 'p', 0, 1);
	bed_turn(b);
	assert_int_equal(p.r.result, -ENOSPC);
	assert_int_equal(b->gives, 1);
	assert_int_equal(bed_ack(b, &held->item[0]), 1);
	/* While it is gone, puts are refused before they are tried. */
	ask_put(b, &p, 'p', 0, 1);
	ask_ack(b, &a, 'a', &held->item[1]);
	bed_turn(b);
	assert_int_equal(p.r.result, -ENOSPC);
	assert_int_equal(a.r.result, 1);
	assert_int_equal(b->gets, 1);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, -ENOSPC);
	b->disk.room_bytes = 0;
	bed_put(b, 0);
	assert_int_equal(b->gets, 2);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, 0);
	tkw_items_free(held);
	bed_reopen(b);
}

/* The disk was too full for a reserve when the desk was opened. */
static void test_desk_without_its_reserve_at_first_gets_it_later(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request p;

	b->has_reserve = true;
	bed_reopen(b);
	b->has_reserve = false;
	b->disk.room_bytes = b->disk.bytes + 40;
	bed_reopen(b);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, -ENOSPC);
	ask_put(b, &p, 'p', 0, 1);
	bed_turn(b);
	assert_int_equal(p.r.result, -ENOSPC);
	assert_int_equal(b->gives, 0);
	b->disk.room_bytes = 0;
	bed_put(b, 0);
	assert_true(b->has_reserve);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, 0);
	/* And now it can be given. */
	b->disk.room_bytes = b->disk.bytes + 40;
	ask_put(b, &p, 'p', 0, 1);
	bed_turn(b);
	assert_int_equal(p.r.result, -ENOSPC);
	assert_int_equal(b->gives, 1);
	bed_reopen(b);
}

/* Consumers alone get the reserve back too. */
static void test_desk_gets_its_reserve_back_without_puts(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request p;
	struct tkw_items *held;

	bed_put(b, 0);
	held = bed_take(b, 1, 100000);
	b->has_reserve = true;
	bed_reopen(b);
	b->disk.room_bytes = b->disk.bytes + 40;
	ask_put(b, &p, 'p', 0, 1);
	bed_turn(b);
	assert_int_equal(b->gives, 1);
	b->disk.room_bytes = 0;
	bed_pass(b, 2000);
	bed_turn(b);
	assert_true(b->has_reserve);
	/* Nothing is wrong any more, even if nothing was written. */
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, 0);
	assert_int_equal(bed_ack(b, &held->item[0]), 1);
	tkw_items_free(held);
}

/* The disk has room for the reserve, and for nothing else. The reserve is not
 * taken back before the work that needs it. */
static void test_desk_leases_run_out_on_an_exactly_full_disk(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__queue_stats s;

	bed_put(b, 0);
	tkw_items_free(bed_take(b, 1, 1000));
	b->has_reserve = true;
	b->reserve_bytes = 10000;
	bed_reopen(b);
	b->disk.room_bytes = b->disk.bytes;
	b->full_bytes = b->disk.bytes + b->reserve_bytes;
	for (int i = 0; i < 4; i++) {
		bed_pass(b, 5000);
		bed_quiet(b);
	}
	tkw__queue_get_stats(b->q->heart, b->now_us, &s);
	assert_int_equal(s.totals.losses, 1);
	assert_int_equal(b->gives, 1);
}

/* An answer through the socket is bounded by bytes. */
static void test_desk_takes_and_lists_up_to_some_bytes(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__look_list list = { .state = TKW__QUEUE_STATES,
				       .max = 100,
				       .max_bytes = 8 };
	struct bed_request p, t, l;
	size_t listed = 0;

	ask_put(b, &p, 0, 0, BED_PUTS); /* of 7 bytes */
	bed_quiet(b);
	do {
		l = (struct bed_request){ .r = { .kind = TKW__REQUEST_LOOK,
						 .queue = b->q } };
		l.r.look.fn = tkw__look_at_list;
		l.r.look.arg = &list;
		bed_submit(b, &l, 0);
		bed_quiet(b);
		/* A list may have a few more. */
		assert_in_range(l.r.result, 0, BED_PUTS / 4);
		listed += (size_t)l.r.result;
		tkw_items_free(list.items);
		list.items = NULL;
	} while (list.cursor);
	assert_int_equal(listed, BED_PUTS);
	for (int left = BED_PUTS; left > 0; left -= 2) {
		ask_take(b, &t, 0, 0, 100);
		t.r.take.max_bytes = 8;
		bed_quiet(b);
		assert_int_equal(t.r.result, 2);
		tkw_items_free(t.r.take.items);
	}
	/* At least one. */
	bed_put(b, 0);
	ask_take(b, &t, 0, 0, 100);
	t.r.take.max_bytes = 1;
	bed_quiet(b);
	assert_int_equal(t.r.result, 1);
	tkw_items_free(t.r.take.items);
}

/* So many leases have run out that a turn cannot record all of them. */
static void lose_many_leases(struct desk_bed *b)
{
	struct bed_request r;

	b->cfg.slack_bytes = 1 << 30;
	bed_reopen(b);
	for (int i = 0; i < 400; i++) {
		ask_put(b, &r, 0, 0, BED_PUTS);
		bed_turn(b);
	}
	for (int i = 0; i < 400 * BED_PUTS; i += TKW_QUEUE_MAX_TAKE)
		tkw_items_free(bed_take(b, TKW_QUEUE_MAX_TAKE, 100));
	assert_int_equal(bed_stats(b).ready, 0);
	b->now_us += 1000000;
}

/* A take that does not want to wait has an answer, although the desk's own work
 * is put off and nobody knows yet if there is an item. */
static void test_desk_hasty_take_does_not_wait_for_the_disk(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request p, t;

	lose_many_leases(b);
	b->disk.error = -ENOSPC;
	b->disk.fails = 1000;
	ask_take(b, &t, 't', 0, 1);
	bed_quiet(b);
	assert_string_equal(b->told, "t");
	assert_int_equal(t.r.result, -ENOSPC);
	b->disk.fails = 0;
	ask_take(b, &t, 't', 0, 1);
	ask_put(b, &p, 'p', 0, 1);
	bed_quiet(b);
	assert_string_equal(b->told, "tpt");
	assert_int_equal(t.r.result, 1);
	tkw_items_free(t.r.take.items);
}

static void test_desk_full_disk_does_not_make_the_desk_busy(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_next next;

	bed_put(b, 0);
	tkw_items_free(bed_take(b, 1, 100));
	b->disk.fails = 1000;
	b->disk.error = -ENOSPC;
	bed_pass(b, 2000);
	bed_quiet(b); /* the lost lease cannot be written */
	assert_true(b->disk.fails >= 997);
	tkw__desk_next(b->desk, &next);
	assert_true(next.now_us > b->now_us);
	assert_true(next.mono_us > b->mono_us);
	b->disk.fails = 0;
	bed_pass(b, 2000);
	bed_quiet(b);
	assert_int_equal(bed_stats(b).all_losses, 1);
	bed_reopen(b);
}

static void test_desk_broken_store_ends_all_who_wait(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request t, p;
	uint64_t digest = tkw__desk_digest(b->desk);

	ask_take(b, &t, 't', 1000, 1);
	bed_quiet(b);
	b->disk.fails = 1;
	b->disk.error = -EIO;
	ask_put(b, &p, 'p', 10, 1);
	bed_turn(b);
	assert_int_equal(p.r.result, -EIO);
	assert_int_equal(t.r.result, -EIO);
	assert_true(tkw__desk_digest(b->desk) == digest);
	/* For ever, although the store would work again. */
	ask_take(b, &t, 't', 1000, 1);
	ask_put(b, &p, 'p', 0, 1);
	bed_turn(b);
	assert_int_equal(p.r.result, -EIO);
	assert_int_equal(t.r.result, -EIO);
	assert_int_equal(bed_stats(b).all_puts, 0);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, -EIO);
	bed_reopen(b);
	bed_put(b, 0);
}

static void test_desk_failed_open_makes_no_queue(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r, s, again;

	b->disk.fails = 1;
	b->disk.error = -ENOMEM;
	ask_open(b, &r, "x");
	ask_open(b, &s, "x");
	bed_turn(b);
	assert_int_equal(r.r.result, -ENOMEM);
	assert_null(r.r.queue);
	assert_null(tkw__desk_find(b->desk, "x"));
	ask_open(b, &r, "x");
	ask_open(b, &s, "x");
	bed_turn(b);
	assert_int_equal(r.r.result, 0);
	assert_ptr_equal(r.r.queue, s.r.queue);
	ask_open(b, &again, "x");
	bed_turn(b);
	assert_ptr_equal(again.r.queue, r.r.queue);
	bed_reopen(b);
	assert_non_null(tkw__desk_find(b->desk, "x"));
	assert_int_equal(tkw__desk_find(b->desk, "x")->number, 2);
}

static void test_desk_many_queues_are_found(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r;
	char name[16];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		ask_open(b, &r, name);
		bed_turn(b);
		assert_int_equal(r.r.result, 0);
		assert_ptr_equal(tkw__desk_find(b->desk, name), r.r.queue);
	}
	bed_reopen(b);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_non_null(tkw__desk_find(b->desk, name));
	}
	assert_null(tkw__desk_find(b->desk, "n200"));
}

/* --- bounds --------------------------------------------------------------- */

static void test_desk_turn_is_bounded(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r[8];

	b->cfg.max_rows = 32;
	bed_reopen(b);
	for (int i = 0; i < 8; i++)
		ask_put(b, &r[i], (char)('a' + i), 0, 16);
	assert_int_equal(bed_turn(b), 1);
	assert_string_equal(b->told, "ab");
	assert_ptr_equal(tkw__desk_first(b->desk), &r[2].r);
	bed_quiet(b);
	assert_string_equal(b->told, "abcdefgh");
}

static void test_desk_lost_leases_are_recorded_in_pieces(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r;

	b->cfg.max_rows = 32;
	bed_reopen(b);
	for (int i = 0; i < 4; i++) {
		ask_put(b, &r, 0, 0, BED_PUTS);
		bed_quiet(b);
		tkw_items_free(bed_take(b, BED_PUTS, 100));
	}
	bed_pass(b, 5000);
	bed_quiet(b);
	assert_int_equal(bed_stats(b).all_losses, 4 * BED_PUTS);
	bed_reopen(b);
}

/* Takes the items of plans, and lets their leases run out. Each plan then puts
 * its next item. */
static void lose_plans(struct desk_bed *b, struct tkw__planner *planner)
{
	static const char payload[1000];
	struct tkw_items *items;
	struct bed_request r;
	char name[8];

	tkw__planner_init(planner, NULL);
	b->cfg.calendar = &planner->calendar;
	bed_reopen(b);
	for (int i = 0; i < PLANS; i++) {
		int len = snprintf(name, sizeof(name), "%d", i);
		const struct tkw__queue_plan p = {
			.name = { name, (size_t)len },
			.plan = { "every 1s", 8 },
			.payload = { payload, sizeof(payload) },
			.next_on_end = true,
			.max_attempts = 1,
		};

		r = (struct bed_request){ .r = { .kind = TKW__REQUEST_PLAN,
						 .queue = b->q } };
		r.r.plan.plan = &p;
		bed_submit(b, &r, 0);
		bed_quiet(b);
		assert_int_equal(r.r.result, 0);
	}
	bed_pass(b, 1000);
	items = bed_take(b, PLANS, 100);
	assert_int_equal(items->count, PLANS);
	tkw_items_free(items);
	bed_pass(b, 5000);
}

static void forget_planner(struct desk_bed *b, struct tkw__planner *planner)
{
	b->cfg.calendar = NULL;
	bed_reopen(b);
	tkw__planner_fini(planner);
}

/* Does turns until nothing is left to do. Gets the most rows and bytes of one
 * of them. */
static void measure_turns(struct desk_bed *b, uint64_t *rows, uint64_t *bytes)
{
	int more;

	*rows = 0;
	*bytes = 0;
	do {
		uint64_t first = b->disk.last;
		uint64_t from = b->disk.bytes;

		more = bed_turn(b);
		if (b->disk.last - first > *rows)
			*rows = b->disk.last - first;
		if (b->disk.bytes - from > *bytes)
			*bytes = b->disk.bytes - from;
	} while (more);
	assert_int_equal(bed_stats(b).all_losses, PLANS);
}

/* A lost lease of an item of a plan makes more than one row. */
static void test_desk_turn_bounds_the_rows_of_plans(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__planner planner;
	uint64_t rows, bytes;

	b->cfg.max_rows = 10;
	lose_plans(b, &planner);
	measure_turns(b, &rows, &bytes);
	assert_in_range(rows, 11, 40);
	forget_planner(b, &planner);
}

static void test_desk_turn_bounds_the_bytes_of_plans(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__planner planner;
	uint64_t rows, bytes;

	b->cfg.max_bytes = 2000;
	lose_plans(b, &planner);
	measure_turns(b, &rows, &bytes);
	assert_in_range(bytes, 2000, 100000);
	forget_planner(b, &planner);
}

/* Makes a request for stats that are exact. */
static void ask_stats(struct desk_bed *b, struct bed_request *r, char letter)
{
	*r = (struct bed_request){ .r = { .kind = TKW__REQUEST_LOOK,
					  .queue = b->q } };
	r->r.look.fn = tkw__look_at_stats;
	r->r.look.arg = &r->stats;
	r->r.look.quiet = true;
	bed_submit(b, r, letter);
}

/* Takes 256 items, and lets their leases run out. */
static void lose_many(struct desk_bed *b)
{
	struct bed_request r;

	b->cfg.max_rows = 32;
	bed_reopen(b);
	for (int i = 0; i < 4; i++) {
		ask_put(b, &r, 0, 0, BED_PUTS);
		bed_quiet(b);
		tkw_items_free(bed_take(b, BED_PUTS, 100));
	}
	bed_pass(b, 100);
}

/* A look that wants a quiet queue waits for it. It holds up no other request,
 * and these do not hold up what it waits for. */
static void test_desk_look_waits_for_a_quiet_queue(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request look, put;
	int turns = 0;

	lose_many(b);
	ask_stats(b, &look, 0);
	while (look.r.state != TKW__REQUEST_ENDED) {
		ask_put(b, &put, 0, 1000, 32); /* fills a turn */
		bed_turn(b);
		assert_int_equal(put.r.state, TKW__REQUEST_ENDED);
		turns++;
	}
	assert_int_equal(turns, 256 / 32);
	assert_int_equal(look.stats.all_losses, 256);
	assert_int_equal(look.stats.ready, 256);
	assert_int_equal(look.stats.taken, 0);
	assert_int_equal(look.stats.waiting, turns * 32);
}

static void test_desk_look_does_not_wait_for_a_failed_store(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request look, put;

	lose_many(b);
	b->disk.error = -ENOSPC;
	b->disk.fails = 100;
	ask_put(b, &put, 'p', 0, 1);
	ask_stats(b, &look, 'l');
	bed_turn(b);
	assert_string_equal(b->told, "pl");
	assert_int_equal(look.r.result, 0);
	assert_int_equal(look.stats.taken, 256);
	b->disk.fails = 0;
	bed_pass(b, 5000);
	bed_quiet(b);
}

static void test_desk_shutdown_ends_a_look_that_waits(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request look;

	lose_many(b);
	ask_stats(b, &look, 'l');
	bed_turn(b);
	assert_string_equal(b->told, "");
	tkw__desk_shutdown(b->desk);
	assert_int_equal(look.r.result, -ESHUTDOWN);
}

/* --- snapshots ------------------------------------------------------------ */

/* Puts, takes and acks while a snapshot goes on; after each turn a reopened
 * desk is the same. */
static void test_desk_snapshot_under_load_keeps_everything(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts = { .snapshots = 0 };
	struct bed_request r;
	uint64_t snapshots = 0;

	b->cfg.slack_bytes = 500;
	b->cfg.snapshot_items = 2;
	bed_reopen(b);
	for (int i = 0; i < 300; i++) {
		struct tkw_items *it;

		ask_put(b, &r, 0, i % 7, 3);
		bed_turn(b);
		assert_int_equal(r.r.result, 0);
		ask_take(b, &r, 0, 0, 4);
		bed_turn(b);
		it = r.r.take.items;
		if (it && i % 5) {
			for (size_t k = 0; k < it->count; k++) {
				ask_ack(b, &r, 0, &it->item[k]);
				bed_turn(b);
				assert_int_equal(r.r.result, 1);
			}
		}
		tkw_items_free(it);
		bed_pass(b, 3);
		tkw__desk_get_facts(b->desk, &facts);
		if (i % 30 == 29) {
			snapshots += facts.snapshots;
			bed_reopen(b);
		}
	}
	assert_true(snapshots > 3);
	assert_true(b->disk.compactions > 3);
	assert_true(b->disk.base.first > 1);
}

static uint64_t count_snapshots(struct desk_bed *b)
{
	struct tkw__desk_facts facts;

	tkw__desk_get_facts(b->desk, &facts);
	return facts.snapshots;
}

/* As a close does it. */
static void tidy_up(struct desk_bed *b)
{
	tkw__desk_shutdown(b->desk);
	while (tkw__desk_is_untidy(b->desk))
		bed_turn(b);
}

/* Puts, takes and acks as many items as one call can put. */
static void fill_and_drain(struct desk_bed *b)
{
	struct bed_request r;
	struct tkw_items *it;

	ask_put(b, &r, 0, 0, BED_PUTS);
	bed_quiet(b);
	it = bed_take(b, BED_PUTS, 1000);
	assert_int_equal(it->count, BED_PUTS);
	for (size_t i = 0; i < BED_PUTS; i++) {
		ask_ack(b, &r, 0, &it->item[i]);
		bed_quiet(b);
		assert_int_equal(r.r.result, 1);
	}
	tkw_items_free(it);
}

/* A queue that becomes empty is not copied while it does, but when the file is
 * closed. */
static void test_desk_empties_without_snapshots_until_the_close(void **state)
{
	struct desk_bed *b = *state;

	b->cfg.slack_bytes = 3000;
	bed_reopen(b);
	fill_and_drain(b);
	assert_true(b->store->bytes > b->cfg.slack_bytes);
	assert_int_equal(count_snapshots(b), 0);
	assert_false(tkw__desk_is_untidy(b->desk));
	tidy_up(b);
	assert_int_equal(count_snapshots(b), 1);
	assert_true(b->store->bytes < b->cfg.slack_bytes);
	/* All rows went at once. */
	assert_int_equal(b->disk.compactions, 1);
	bed_reopen(b);
	assert_int_equal(b->q->live, 0);
}

/* Puts, takes and acks an item. */
static void churn(struct desk_bed *b)
{
	struct tkw_items *it;

	bed_put(b, 0);
	it = bed_take(b, 1, 1000);
	assert_int_equal(it->count, 1);
	assert_int_equal(bed_ack(b, &it->item[0]), 1);
	tkw_items_free(it);
}

/* The same if there was a snapshot before, and little was written since. */
static void test_desk_close_tidies_up_after_a_snapshot(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r;
	struct tkw_items *it;

	b->cfg.slack_bytes = 3000;
	bed_reopen(b);
	ask_put(b, &r, 0, 0, BED_PUTS);
	bed_quiet(b);
	it = bed_take(b, BED_PUTS, 1000);
	assert_int_equal(it->count, BED_PUTS);
	while (count_snapshots(b) == 0)
		churn(b);
	for (size_t i = 0; i < BED_PUTS; i++)
		assert_int_equal(bed_ack(b, &it->item[i]), 1);
	tkw_items_free(it);
	assert_int_equal(count_snapshots(b), 1);
	assert_true(b->store->bytes > b->cfg.slack_bytes);
	tidy_up(b);
	assert_int_equal(count_snapshots(b), 2);
	assert_true(b->store->bytes < b->cfg.slack_bytes);
	bed_reopen(b);
}

/* If the process does not live to close the file, the next one does it. */
static void test_desk_tidies_up_after_a_crash(void **state)
{
	struct desk_bed *b = *state;

	b->cfg.slack_bytes = 3000;
	bed_reopen(b);
	fill_and_drain(b);
	bed_reopen(b);
	assert_true(tkw__desk_is_untidy(b->desk));
	bed_quiet(b);
	assert_int_equal(count_snapshots(b), 1);
	assert_true(b->store->bytes < b->cfg.slack_bytes);
}

/* If the store has no room, the close leaves the journal as it is. */
static void test_desk_close_gives_up_on_a_full_disk(void **state)
{
	struct desk_bed *b = *state;
	uint64_t bytes;

	b->cfg.slack_bytes = 3000;
	bed_reopen(b);
	fill_and_drain(b);
	bytes = b->disk.bytes;
	b->disk.room_bytes = bytes;
	tidy_up(b);
	assert_int_equal(b->disk.bytes, bytes);
	b->disk.room_bytes = 0;
	bed_reopen(b);
	b->disk.compact_error = -ENOSPC;
	tidy_up(b);
	assert_true(b->disk.bytes > bytes);
	assert_int_equal(b->disk.base.first, 0);
	b->disk.compact_error = 0;
	bed_reopen(b);
	tidy_up(b);
	assert_true(b->store->bytes < b->cfg.slack_bytes);
	bed_reopen(b);
}

/* After a snapshot, a queue that was large once counts as the small one that it
 * is. */
static void test_desk_snapshot_forgets_what_lived_before(void **state)
{
	struct desk_bed *b = *state;
	uint64_t most = 0;

	b->cfg.slack_bytes = 500;
	bed_reopen(b);
	fill_and_drain(b);
	for (int i = 0; i < 400; i++) {
		churn(b);
		if (count_snapshots(b) > 0 && b->disk.bytes > most)
			most = b->disk.bytes;
	}
	assert_true(count_snapshots(b) > 5);
	assert_true(most > 0 && most < 2000);
}

/* A crash after any batch of a snapshot: the rows that are there tell all. */
static void test_desk_snapshot_can_be_cut_anywhere(void **state)
{
	struct desk_bed *b = *state;
	struct bed_request r, r2;

	for (int i = 0; i < 10; i++) {
		ask_put(b, &r, 0, 1000, 10);
		bed_quiet(b);
	}
	ask_open(b, &r2, "other");
	bed_quiet(b);
	b->cfg.slack_bytes = 1;
	b->cfg.snapshot_items = 3;
	bed_reopen(b);
	for (int i = 0; i < 20; i++) {
		ask_put(b, &r, 0, 10, 1);
		bed_turn(b);
		bed_reopen(b);
	}
	bed_quiet(b);
	bed_reopen(b);
}

static void test_desk_snapshot_waits_after_an_error(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request r;

	b->cfg.slack_bytes = 100;
	b->cfg.snapshot_items = 1;
	b->disk.compact_error = -ENOSPC;
	bed_reopen(b);
	for (int i = 0; i < 10; i++) {
		struct tkw_items *it;

		bed_put(b, 0);
		it = bed_take(b, 1, 100);
		ask_ack(b, &r, 0, &it->item[0]);
		bed_quiet(b);
		assert_int_equal(r.r.result, 1);
		tkw_items_free(it);
	}
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.snapshots, 1);
	assert_int_equal(facts.compactions, 1);
	b->disk.compact_error = 0;
	bed_pass(b, 2000);
	bed_quiet(b);
	tkw__desk_get_facts(b->desk, &facts);
	assert_true(facts.compactions > 1);
	assert_true(b->disk.base.first > 1);
	bed_reopen(b);
}

/* A snapshot that does not fit is put off; the puts beside it are not. */
static void test_desk_snapshot_yields_to_puts_on_a_full_disk(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct tkw_items *held;
	struct bed_request r;

	ask_put(b, &r, 0, 0, 60);
	bed_quiet(b);
	held = bed_take(b, 50, 1000);
	for (size_t i = 0; i < held->count; i++)
		assert_int_equal(bed_ack(b, &held->item[i]), 1);
	tkw_items_free(held);
	b->has_reserve = true;
	b->cfg.slack_bytes = 1;
	bed_reopen(b);
	b->disk.room_bytes = b->disk.bytes + 100;
	ask_put(b, &r, 0, 1000, 1);
	bed_turn(b);
	assert_int_equal(r.r.result, 0);
	assert_int_equal(b->gives, 0);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.snapshots, 0);
	assert_int_equal(facts.error, 0);
	b->disk.room_bytes = 0;
	bed_pass(b, 2000);
	bed_quiet(b);
	tkw__desk_get_facts(b->desk, &facts);
	assert_true(facts.snapshots > 0);
	bed_reopen(b);
}

/* --- the journal stays small ---------------------------------------------- */

/* Puts and acks one item, as a process does that lives for one call. */
static void live_for_one_item(struct desk_bed *b)
{
	churn(b);
	tidy_up(b);
	bed_reopen(b);
}

/* It counts what is in the journal, not who has written it. */
static void test_desk_short_lives_compact_the_journal(void **state)
{
	struct desk_bed *b = *state;

	b->cfg.slack_bytes = 4000;
	bed_reopen(b);
	for (int i = 0; i < 200; i++) {
		live_for_one_item(b);
		assert_true(b->disk.bytes < 8000);
	}
	assert_true(b->disk.compactions > 1);
}

/* A close in the middle of a snapshot finishes it. */
static void test_desk_is_untidy_until_the_snapshot_ends(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request r;

	for (int i = 0; i < 20; i++) {
		ask_put(b, &r, 0, 0, BED_PUTS);
		bed_quiet(b);
	}
	for (int i = 0; i < 5; i++) {
		tkw_items_free(bed_take(b, (size_t)20 * BED_PUTS, 100));
		bed_pass(b, 5000);
		bed_quiet(b);
	}
	assert_false(tkw__desk_is_untidy(b->desk));
	b->cfg.slack_bytes = 1;
	b->cfg.snapshot_items = 3;
	bed_reopen(b);
	ask(b, &r, 0, TKW__REQUEST_PAUSE);
	bed_turn(b);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.snapshots, 0);
	while (tkw__desk_is_untidy(b->desk))
		bed_turn(b);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.snapshots, 1);
	assert_true(b->disk.base.first > 1);
	assert_true(b->disk.rows[0].seq >= b->disk.base.first);
}

enum {
	MANY = 12000
};

/* One command. It does turns until it has ended, and no more. */
static void command(struct desk_bed *b, struct tkw__request *r)
{
	r->queue = b->q;
	tkw__desk_submit(b->desk, r);
	while (r->state != TKW__REQUEST_ENDED)
		bed_turn(b);
}

/* Commands of any size: what is removed keeps up with what is added. */
static void test_desk_large_commands_do_not_outrun_the_removal(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__queue_put *puts = calloc(MANY, sizeof(*puts));
	struct tkw__queue_name *names = calloc(MANY, sizeof(*names));
	enum tkw__queue_answer *answers = calloc(MANY, sizeof(*answers));
	uint64_t *ids = calloc(MANY, sizeof(*ids));

	assert_non_null(puts);
	assert_non_null(names);
	assert_non_null(answers);
	assert_non_null(ids);
	b->cfg.slack_bytes = 100000;
	bed_reopen(b);
	for (int round = 0; round < 8; round++) {
		struct tkw__request put = { .kind = TKW__REQUEST_PUT,
					    .put = { puts, MANY, ids } };
		struct tkw__request end = { .kind = TKW__REQUEST_CANCEL,
					    .cancel = { names, MANY,
							answers } };

		command(b, &put);
		assert_int_equal(put.result, 0);
		for (int i = 0; i < MANY; i++)
			names[i].id = ids[i];
		command(b, &end);
		assert_int_equal(end.result, MANY);
		if (b->disk.count / 8 > MANY)
			fail_msg("%zu rows after round %d", b->disk.count,
				 round);
	}
	free(puts);
	free(names);
	free(answers);
	free(ids);
	bed_reopen(b);
}

/* --- a full disk becomes usable again ------------------------------------- */

/* Fills the disk up; all items are taken. The reserve is gone then. */
static struct tkw_items *fill_up(struct desk_bed *b, int puts)
{
	struct bed_request r;

	b->has_reserve = true;
	bed_reopen(b);
	for (int i = 0; i < puts; i++) {
		ask_put(b, &r, 0, 0, BED_PUTS);
		bed_quiet(b);
	}
	b->disk.room_bytes = b->disk.bytes + 3 * b->reserve_bytes;
	b->disk.fails = 1;
	b->disk.error = -ENOSPC;
	ask_put(b, &r, 0, 0, 1);
	bed_turn(b);
	assert_int_equal(r.r.result, -ENOSPC);
	assert_int_equal(b->gives, 1);
	bed_pass(b, 2000);
	return bed_take(b, (size_t)puts * BED_PUTS, 100000);
}

static void ack_all(struct desk_bed *b, const struct tkw_items *it, size_t from,
		    size_t to)
{
	for (size_t i = from; i < to; i++)
		assert_int_equal(bed_ack(b, &it->item[i]), 1);
}

/* SPEC 11.22: the file does not shrink, so the reserve never comes back. The
 * room inside of the file is as good. */
static void test_desk_puts_work_again_when_all_was_acked(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts facts;
	struct bed_request r;
	struct tkw_items *it;

	b->reserve_bytes = 100000;
	b->cfg.slack_bytes = 1 << 20;
	it = fill_up(b, 40);
	assert_int_equal(it->count, 40 * BED_PUTS);
	ack_all(b, it, 0, it->count);
	tkw_items_free(it);
	bed_quiet(b);
	ask_put(b, &r, 0, 0, 1);
	bed_turn(b);
	assert_int_equal(r.r.result, 0);
	assert_true(b->gets > 0);
	assert_false(b->has_reserve);
	tkw__desk_get_facts(b->desk, &facts);
	assert_int_equal(facts.error, 0);
	/* What is as much as the reserve is left alone. */
	do {
		ask_put(b, &r, 0, 1000, BED_PUTS);
		bed_turn(b);
	} while (r.r.result == 0);
	assert_int_equal(r.r.result, -ENOSPC);
	assert_true(b->disk.bytes + b->reserve_bytes <= b->disk.peak + 10000);
	bed_reopen(b);
}

/* A snapshot waits until it fits into a part of the reserve. */
static void test_desk_snapshot_leaves_the_reserve_to_acks(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__desk_facts before, after;
	struct tkw_items *it;

	b->reserve_bytes = 100000;
	b->cfg.slack_bytes = 64;
	it = fill_up(b, 40);
	tkw__desk_get_facts(b->desk, &before);
	ack_all(b, it, 0, it->count / 2);
	tkw__desk_get_facts(b->desk, &after);
	assert_int_equal(after.snapshots, before.snapshots);
	assert_int_equal(after.commit_rows - before.commit_rows, it->count / 2);
	ack_all(b, it, it->count / 2, it->count);
	tkw__desk_get_facts(b->desk, &after);
	assert_true(after.snapshots > before.snapshots);
	tkw_items_free(it);
	bed_reopen(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DESK_TEST(test_desk_requests_of_a_turn_share_a_batch),
		DESK_TEST(test_desk_take_sees_a_put_of_the_same_batch),
		DESK_TEST(test_desk_refused_request_leaves_no_trace),
		DESK_TEST(test_desk_waiting_takes_are_served_in_order),
		DESK_TEST(test_desk_waiting_take_is_woken_by_time),
		DESK_TEST(test_desk_waiting_take_times_out),
		DESK_TEST(test_desk_timeouts_of_a_turn_are_bounded),
		DESK_TEST(test_desk_take_can_be_withdrawn),
		DESK_TEST(test_desk_paused_queue_keeps_its_waiters),
		DESK_TEST(test_desk_lease_survives_a_reopen_and_is_lost),
		DESK_TEST(test_desk_clock_steps_back_and_forth),
		DESK_TEST(test_desk_can_take_follows_pause),
		DESK_TEST(test_desk_failed_batch_is_undone_and_told),
		DESK_TEST(
			test_desk_full_disk_refuses_puts_and_lets_acks_through),
		DESK_TEST(
			test_desk_full_disk_uses_the_reserve_and_gets_it_back),
		DESK_TEST(test_desk_without_its_reserve_at_first_gets_it_later),
		DESK_TEST(test_desk_gets_its_reserve_back_without_puts),
		DESK_TEST(test_desk_leases_run_out_on_an_exactly_full_disk),
		DESK_TEST(test_desk_hasty_take_does_not_wait_for_the_disk),
		DESK_TEST(test_desk_takes_and_lists_up_to_some_bytes),
		DESK_TEST(test_desk_full_disk_does_not_make_the_desk_busy),
		DESK_TEST(test_desk_broken_store_ends_all_who_wait),
		DESK_TEST(test_desk_failed_open_makes_no_queue),
		DESK_TEST(test_desk_many_queues_are_found),
		DESK_TEST(test_desk_turn_is_bounded),
		DESK_TEST(test_desk_lost_leases_are_recorded_in_pieces),
		DESK_TEST(test_desk_turn_bounds_the_rows_of_plans),
		DESK_TEST(test_desk_turn_bounds_the_bytes_of_plans),
		DESK_TEST(test_desk_look_waits_for_a_quiet_queue),
		DESK_TEST(test_desk_look_does_not_wait_for_a_failed_store),
		DESK_TEST(test_desk_shutdown_ends_a_look_that_waits),
		DESK_TEST(test_desk_snapshot_under_load_keeps_everything),
		DESK_TEST(test_desk_empties_without_snapshots_until_the_close),
		DESK_TEST(test_desk_close_tidies_up_after_a_snapshot),
		DESK_TEST(test_desk_tidies_up_after_a_crash),
		DESK_TEST(test_desk_close_gives_up_on_a_full_disk),
		DESK_TEST(test_desk_snapshot_forgets_what_lived_before),
		DESK_TEST(test_desk_snapshot_can_be_cut_anywhere),
		DESK_TEST(test_desk_snapshot_waits_after_an_error),
		DESK_TEST(test_desk_snapshot_yields_to_puts_on_a_full_disk),
		DESK_TEST(test_desk_take_waits_from_the_call_on),
		DESK_TEST(test_desk_takes_at_the_end_of_time),
		DESK_TEST(test_desk_short_lives_compact_the_journal),
		DESK_TEST(test_desk_is_untidy_until_the_snapshot_ends),
		DESK_TEST(test_desk_large_commands_do_not_outrun_the_removal),
		DESK_TEST(test_desk_puts_work_again_when_all_was_acked),
		DESK_TEST(test_desk_snapshot_leaves_the_reserve_to_acks),
	};

	return cmocka_run_group_tests_name("desk", tests, NULL, NULL);
}
