/* SPDX-License-Identifier: MIT */
/*
 * desk_takes.c - takes are parked in their queue, and served in order.
 *
 * Each take is parked first, behind those that wait already. Serving begins
 * with the first one and ends at the first one for which there is nothing. So a
 * later take never overtakes an earlier one.
 *
 * A take that does not want to wait is answered at once, unless the heart is
 * behind: then nobody knows yet if there is an item. It stays parked until the
 * next turn, and counts as hasty.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/desk_state.h"
#include "store/items.h"

enum {
	/* How often a serving helps a heart that is behind, and by how much. */
	MAX_HELP = 4,
	HELP_STEPS = 4096
};

static bool is_hasty(const struct tkw__request *r)
{
	return r->take.wait_us == 0;
}

static void park(struct tkw__desk *d, struct tkw__request *r)
{
	uint64_t from_us = r->take.asked_us ? r->take.asked_us : d->mono_us;
	uint64_t until_us = from_us + r->take.wait_us;

	r->state = TKW__REQUEST_PARKED;
	r->ticket = ++d->tickets;
	r->take.items = NULL;
	tkw__requests_push(&r->queue->parked, r);
	if (is_hasty(r)) {
		r->queue->hasty++;
		return;
	}
	if (until_us < from_us || until_us > UINT64_MAX - 1000)
		return; /* without a limit */
	/* Rounded up, so that it is never early. */
	tkw_wheel_add(d->wheel, &r->deadline, (until_us + 999) / 1000);
}

void tkw__desk_unpark(struct tkw__desk *d, struct tkw__request *r)
{
	r->state = TKW__REQUEST_DECIDED;
	tkw__requests_remove(&r->queue->parked, r);
	if (is_hasty(r))
		r->queue->hasty--;
	if (tkw_entry_is_linked(&r->deadline))
		tkw_wheel_remove(d->wheel, &r->deadline);
}

/* A parked take is decided in this turn. */
static void decide_parked(struct tkw__desk *d, struct tkw__request *r,
			  int64_t result)
{
	tkw__requests_remove(&r->queue->parked, r);
	if (is_hasty(r))
		r->queue->hasty--;
	r->result = result;
	r->state = TKW__REQUEST_DECIDED;
	/* The others are in the batch already. */
	if (r->was_parked)
		d->batch[d->batch_count++] = r;
}

/* Takes from the heart: one by one if their bytes are to be counted. */
static int take_some(struct tkw__desk *d, const struct tkw__request_take *t,
		     struct tkw__queue *heart, struct tkw__queue_call *call)
{
	uint64_t bytes = 0;
	int n = 0;

	if (t->max_bytes == 0)
		return tkw__queue_take(heart, call, t->max, t->lease_ms,
				       d->taken);
	while ((size_t)n < t->max && bytes < t->max_bytes) {
		struct tkw__queue_taken *to = &d->taken[n];
		int got = tkw__queue_take(heart, call, 1, t->lease_ms, to);

		if (got <= 0)
			return n ? n : got;
		bytes += to->payload.len + to->key.len;
		n++;
	}
	return n;
}

/* Takes from the heart, and helps it while it is behind. */
static int take(struct tkw__desk *d, struct tkw__request *r, bool *behind)
{
	struct tkw_queue *q = r->queue;
	struct tkw__queue_call call = tkw__desk_call(d, q);
	int n = 0;

	for (int i = 0; i < MAX_HELP; i++) {
		n = take_some(d, &r->take, q->heart, &call);
		*behind = n == 0 && call.behind;
		if (!*behind)
			break;
		if (tkw__queue_advance(q->heart, &call, HELP_STEPS,
				       TKW__QUEUE_MASTER) < 0)
			return -ENOMEM;
	}
	return n;
}

/* Serves the first parked take. Returns false if there is nothing for it. */
static bool serve_first(struct tkw__desk *d, struct tkw__request *r,
			bool *behind)
{
	struct tkw_queue *q = r->queue;
	size_t from = q->log.len;
	int n;

	if (r->refused) {
		decide_parked(d, r, r->refused);
		return true;
	}
	n = take(d, r, behind);
	tkw__desk_count_rows(d, q, from);
	if (n == 0)
		return false;
	if (n > 0) {
		d->calls++;
		r->take.items = tkw__items_taken(q->heart, d->now_us, d->taken,
						 (size_t)n);
		if (!r->take.items) {
			/* Its items must not stay taken. */
			r->refused = -ENOMEM;
			d->again = true;
		}
	}
	decide_parked(d, r, n);
	return true;
}

/* Those that do not want to wait have their answer. */
static void send_hasty_away(struct tkw__desk *d, struct tkw_queue *q)
{
	struct tkw__request *r = q->parked.first;

	while (r && q->hasty > 0 && d->batch_count < TKW__DESK_BATCH) {
		struct tkw__request *next = r->next;

		if (is_hasty(r))
			decide_parked(d, r, 0);
		r = next;
	}
}

void tkw__desk_serve(struct tkw__desk *d, struct tkw_queue *q)
{
	bool behind = false;

	while (q->parked.first && !behind) {
		if (!tkw__desk_has_room(d))
			behind = true;
		else if (!serve_first(d, q->parked.first, &behind))
			break;
	}
	if (!behind)
		send_hasty_away(d, q);
	q->behind = q->behind || behind || q->hasty > 0;
}

void tkw__desk_take(struct tkw__desk *d, struct tkw__request *r)
{
	park(d, r);
	tkw__desk_serve(d, r->queue);
}

/* Puts a take back to where it was. Nearly always this is the head. */
static void park_again(struct tkw__request *r)
{
	struct tkw__request *before = r->queue->parked.first;

	while (before && before->ticket < r->ticket)
		before = before->next;
	r->state = TKW__REQUEST_PARKED;
	tkw__requests_insert(&r->queue->parked, r, before);
	if (is_hasty(r))
		r->queue->hasty++;
}

/* The batch is decided again. A take from before this turn goes back to those
 * that wait. */
void tkw__desk_unserve(struct tkw__desk *d, struct tkw__request *r)
{
	if (r->state == TKW__REQUEST_PARKED) {
		tkw__desk_unpark(d, r);
	} else if (tkw_entry_is_linked(&r->deadline) && !r->was_parked) {
		tkw_wheel_remove(d->wheel, &r->deadline);
	}
	tkw_items_free(r->take.items);
	r->take.items = NULL;
	r->state = TKW__REQUEST_WAITS;
	if (r->was_parked)
		park_again(r);
}

void tkw__desk_end_hasty(struct tkw__desk *d, int64_t result)
{
	for (struct tkw_queue *q = d->touched; q; q = q->touched) {
		struct tkw__request *r = q->parked.first;

		while (r && q->hasty > 0) {
			struct tkw__request *next = r->next;

			if (is_hasty(r)) {
				tkw__desk_unpark(d, r);
				r->result = result;
				tkw__requests_push(&d->ended, r);
			}
			r = next;
		}
	}
}

void tkw__desk_end_parked(struct tkw__desk *d, int64_t result)
{
	for (size_t i = 0; i < d->count; i++) {
		struct tkw_queue *q = d->by_number[i];

		while (q->parked.first) {
			struct tkw__request *r = q->parked.first;

			tkw__desk_unpark(d, r);
			r->result = result;
			tkw__requests_push(&d->ended, r);
		}
	}
}

static void time_out(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct tkw__request *r =
		TKW_CONTAINER_OF(e, struct tkw__request, deadline);
	struct tkw__desk *d = ctx;

	(void)w;
	tkw__desk_unpark(d, r);
	r->result = 0;
	tkw__requests_push(&d->ended, r);
}

void tkw__desk_time_out(struct tkw__desk *d)
{
	d->late = tkw_wheel_advance(d->wheel, d->mono_us / 1000,
				    TKW__DESK_BATCH, time_out, d) == 1;
}
