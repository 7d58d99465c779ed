/* SPDX-License-Identifier: MIT */
/* desk_turn.c - the frame of a turn. desk_state.h lists its steps. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "queue/hash.h"
#include "store/desk_state.h"

enum {
	/* How many steps a queue may do in one turn, with rows or without. */
	MAX_STEPS = 16 * 4096,
	/* How many of these steps it does at once. If a lease of an item of a
	 * plan is lost, a step makes up to four rows, one of them with the
	 * payload of the plan. A turn can go beyond its bounds by one piece. */
	STEPS = 64,
	/* How many turns a look waits for its queue. In these, the leases of
	 * 16 million items can be recorded as lost. */
	MAX_LOOK_TURNS = 4096,
	/* A log that has grown beyond this is freed after its turn. */
	MAX_KEPT_LOG = 64 << 10
};

/* --- touching and counting ------------------------------------------------ */

void tkw__desk_touch(struct tkw__desk *d, struct tkw_queue *q)
{
	if (q->is_touched)
		return;
	q->is_touched = true;
	q->behind = false;
	q->touched = NULL;
	if (d->touched)
		d->touched_last->touched = q;
	else
		d->touched = q;
	d->touched_last = q;
}

static size_t record_len(const uint8_t *record)
{
	return (size_t)tkw__le_bytes(record, 4);
}

void tkw__desk_count_rows(struct tkw__desk *d, struct tkw_queue *q, size_t from)
{
	d->bytes += q->log.len - from;
	for (; from < q->log.len; from += record_len(q->log.bytes + from))
		d->rows++;
}

bool tkw__desk_has_room(const struct tkw__desk *d)
{
	return d->batch_count < TKW__DESK_BATCH &&
	       d->rows - d->time_rows < d->cfg.max_rows &&
	       d->bytes - d->time_bytes < d->cfg.max_bytes;
}

void tkw__desk_fail(struct tkw__desk *d, int err)
{
	d->facts.error = err;
	d->held_until_us = d->mono_us + TKW__DESK_HOLD_US;
	d->broken = d->broken || err == -EIO;
}

/* --- 1: the time ---------------------------------------------------------- */

static void look_at_all(struct tkw__desk *d)
{
	for (size_t i = 0; i < d->count; i++)
		tkw__agenda_set(d, d->by_number[i], 0);
}

static void begin(struct tkw__desk *d, uint64_t now_us, uint64_t mono_us)
{
	bool was_held = tkw__desk_is_held(d);
	/* Items that were ready may not be so any more. */
	bool back = tkw__desk_clamp(now_us) < d->now_us;

	d->now_us = tkw__desk_clamp(now_us);
	if (mono_us > d->mono_us)
		d->mono_us = mono_us;
	d->batch_count = 0;
	d->saving = false;
	d->asked = false;
	if (back || (was_held && !tkw__desk_is_held(d)))
		look_at_all(d);
}

static void touch_due(struct tkw__desk *d)
{
	struct tkw_queue *q = tkw__agenda_first(d);
	int n = 0;

	while (q && q->at_us <= d->now_us && n++ < TKW__DESK_QUEUES) {
		tkw__agenda_set(d, q, UINT64_MAX);
		tkw__desk_touch(d, q);
		q = tkw__agenda_first(d);
	}
}

/* --- 2: requests ---------------------------------------------------------- */

static void pick(struct tkw__desk *d)
{
	while (d->todo.first && tkw__desk_has_room(d) &&
	       d->looks.count < TKW__DESK_BATCH) {
		struct tkw__request *r = d->todo.first;

		tkw__requests_remove(&d->todo, r);
		if (r->kind == TKW__REQUEST_OPEN)
			r->queue = NULL;
		if (r->queue)
			tkw__desk_touch(d, r->queue);
		if (r->kind == TKW__REQUEST_LOOK ||
		    r->kind == TKW__REQUEST_WITHDRAW) {
			tkw__requests_push(&d->looks, r);
			continue;
		}
		d->batch[d->batch_count++] = r;
		tkw__desk_decide(d, r);
	}
}

/* --- 3: touched queues ---------------------------------------------------- */

/* How many steps the work of the time may go on now. Rows of requests do not
 * count: otherwise this work would never be done while there are many of
 * these. */
static uint64_t time_steps(const struct tkw__desk *d)
{
	uint64_t max_rows = d->cfg.max_rows;

	if (d->time_rows >= max_rows || d->time_bytes >= d->cfg.max_bytes)
		return 0;
	return max_rows - d->time_rows < STEPS ? max_rows - d->time_rows
					       : STEPS;
}

/* Lost leases are recorded, if the store can take it. */
static void do_times_work(struct tkw__desk *d, struct tkw_queue *q)
{
	bool idle = d->broken || tkw__desk_is_held(d);
	struct tkw__queue_call call = tkw__desk_call(d, q);
	int more = 1;

	for (int i = 0; i < MAX_STEPS / STEPS && more == 1; i++) {
		size_t from = q->log.len;
		uint64_t rows = d->rows;
		uint64_t steps = time_steps(d);

		if (steps == 0)
			break;
		more = tkw__queue_advance(q->heart, &call, steps,
					  idle ? TKW__QUEUE_REPLICA
					       : TKW__QUEUE_MASTER);
		tkw__desk_count_rows(d, q, from);
		d->time_rows += d->rows - rows;
		d->time_bytes += q->log.len - from;
	}
	q->behind = q->behind || more == 1;
	if (more < 0)
		d->failed = more;
}

static void work(struct tkw__desk *d)
{
	for (struct tkw_queue *q = d->touched; q; q = q->touched) {
		do_times_work(d, q);
		if (!d->broken)
			tkw__desk_serve(d, q);
	}
}

/* --- 5: the batch --------------------------------------------------------- */

static int make_room(struct tkw__desk *d, size_t rows)
{
	struct tkw__row *row;

	if (rows <= d->row_room)
		return 0;
	row = realloc(d->row, rows * sizeof(*row));
	if (!row)
		return -ENOMEM;
	d->row = row;
	d->row_room = rows;
	return 0;
}

static size_t add_names(struct tkw__desk *d)
{
	size_t first = d->count;
	size_t n = 0;

	while (first > 0 && d->by_number[first - 1]->is_new)
		first--;
	for (; first < d->count; first++)
		d->row[n++] = (struct tkw__row){
			.queue = d->by_number[first]->number,
			.name = d->by_number[first]->name,
		};
	return n;
}

static size_t add_records(struct tkw__desk *d, const struct tkw_queue *q,
			  size_t n)
{
	size_t at = 0;

	while (at < q->log.len) {
		size_t len = record_len(q->log.bytes + at);

		d->row[n++] = (struct tkw__row){
			.queue = q->number,
			.record = q->log.bytes + at,
			.len = len,
		};
		at += len;
	}
	return n;
}

static size_t count_new(const struct tkw__desk *d)
{
	size_t n = 0;

	while (n < d->count && d->by_number[d->count - 1 - n]->is_new)
		n++;
	return n;
}

static int append(struct tkw__desk *d)
{
	size_t rows = (size_t)d->rows + count_new(d);
	uint64_t last = d->last_seq;
	size_t n;
	int err = d->failed;

	if (err || rows == 0)
		return err;
	err = make_room(d, rows);
	if (err)
		return err;
	n = add_names(d);
	for (const struct tkw_queue *q = d->touched; q; q = q->touched)
		n = add_records(d, q, n);
	assert(n == rows);
	err = d->store->ops->append(d->store, d->row, n, &last);
	if (err)
		return err;
	d->last_seq = last;
	d->facts.commits++;
	d->facts.commit_calls += d->calls;
	d->facts.commit_rows += n;
	d->facts.commit_bytes += d->bytes;
	if (!d->saving && (!d->reserve_gone || tkw__desk_has_spare(d, 0)))
		d->facts.error = 0;
	return 0;
}

static void clear_log(struct tkw_queue *q)
{
	if (q->log.room > MAX_KEPT_LOG)
		tkw__queue_log_fini(q->heart, &q->log);
	else
		tkw__queue_log_clear(&q->log);
}

static void commit(struct tkw__desk *d)
{
	for (struct tkw_queue *q = d->touched; q; q = q->touched) {
		q->is_new = false;
		if (q->log.len == 0)
			continue;
		tkw__queue_commit(q->heart);
		clear_log(q);
		q->changed = true;
	}
}

/* Takes queues that are new out of the list of touched ones, and frees them. */
static void drop_new(struct tkw__desk *d)
{
	struct tkw_queue *q = d->touched;

	d->touched = NULL;
	while (q) {
		struct tkw_queue *next = q->touched;

		q->is_touched = false;
		if (!q->is_new) {
			bool behind = q->behind;

			tkw__desk_touch(d, q);
			q->behind = behind;
		}
		q = next;
	}
	while (d->last && d->last->is_new)
		tkw__desk_drop_queue(d);
}

/* The hearts are as before this turn. */
static void undo(struct tkw__desk *d)
{
	for (struct tkw_queue *q = d->touched; q; q = q->touched) {
		tkw__queue_undo(q->heart);
		clear_log(q);
	}
	drop_new(d);
	tkw__cycle_undo(d);
	d->rows = 0;
	d->time_rows = 0;
	d->bytes = 0;
	d->time_bytes = 0;
	d->calls = 0;
	d->failed = 0;
	d->again = false;
}

/* Undoes the batch and decides it again: some requests are refused now. */
static void decide_again(struct tkw__desk *d)
{
	size_t n = 0;

	undo(d);
	for (size_t i = d->batch_count; i-- > 0;) {
		if (d->batch[i]->kind == TKW__REQUEST_TAKE)
			tkw__desk_unserve(d, d->batch[i]);
	}
	for (size_t i = 0; i < d->batch_count; i++) {
		if (!d->batch[i]->was_parked)
			d->batch[n++] = d->batch[i];
	}
	d->batch_count = n;
	for (size_t i = 0; i < n; i++)
		tkw__desk_decide(d, d->batch[i]);
}

/* What the requests are told. A file that another program has locked is no
 * failure of the disk: calls work again later, as after -ENOSPC. */
static int error_for_all(int err)
{
	if (err == -EBUSY)
		return -ENOSPC;
	return err == -ENOSPC || err == -ENOMEM ? err : -EIO;
}

/* Can the batch be tried once more, with less in it? */
static bool can_shrink(const struct tkw__desk *d, int err)
{
	if (err == -ENOSPC)
		return d->cycle.piece || !d->saving;
	return err == -ENOMEM && d->cycle.piece;
}

/* Steps 3 to 5. Returns the error of the whole batch. */
static int settle(struct tkw__desk *d)
{
	const struct tkw__desk_reserve *re = &d->cfg.reserve;
	int err;

	for (;;) {
		work(d);
		tkw__cycle_copy(d);
		if (d->again) {
			decide_again(d);
			continue;
		}
		err = append(d);
		if (!can_shrink(d, err))
			break;
		/* The disk is full, or there is no memory. This holds up the
		 * snapshot. If there was none, what is left of the disk is not
		 * for puts. */
		tkw__desk_fail(d, err);
		d->saving = d->saving || !d->cycle.piece;
		if (d->saving && !d->reserve_gone && re->give)
			d->reserve_gone = re->give(re->ctx);
		decide_again(d);
	}
	if (err) {
		undo(d);
		d->facts.undone++;
		err = error_for_all(err);
		tkw__desk_fail(d, err);
	} else {
		tkw__cycle_commit(d);
		commit(d);
	}
	return err;
}

/* --- 6: the end ----------------------------------------------------------- */

/* Without puts, too, but not in each turn. It comes after the work of the turn,
 * which may need the room. */
static void ask_sometimes(struct tkw__desk *d)
{
	if (tkw__desk_is_held(d) || d->mono_us < d->ask_at_us)
		return;
	d->ask_at_us = d->mono_us + TKW__DESK_HOLD_US;
	tkw__desk_ask_reserve(d);
}

static void end_batch(struct tkw__desk *d, int err)
{
	for (size_t i = 0; i < d->batch_count; i++) {
		struct tkw__request *r = d->batch[i];

		if (r->state == TKW__REQUEST_PARKED) {
			r->was_parked = true;
			continue;
		}
		if (tkw_entry_is_linked(&r->deadline))
			tkw_wheel_remove(d->wheel, &r->deadline);
		if (r->kind == TKW__REQUEST_TAKE && (err || r->result < 0)) {
			tkw_items_free(r->take.items);
			r->take.items = NULL;
		}
		if (err)
			r->result = err;
		if (r->kind == TKW__REQUEST_OPEN && r->result < 0)
			r->queue = NULL;
		tkw__requests_push(&d->ended, r);
	}
}

static void withdraw(struct tkw__desk *d, struct tkw__request *r)
{
	r->result = -ENOENT;
	if (r->target->state != TKW__REQUEST_PARKED)
		return;
	r->result = 0;
	tkw__desk_unpark(d, r->target);
	r->target->result = -ECANCELED;
	tkw__requests_push(&d->ended, r->target);
}

/* True if a look has to wait, because its queue is not quiet. If the store
 * cannot take what the queue would record, it never will be. */
static bool must_wait(const struct tkw__desk *d, struct tkw__request *r)
{
	if (r->kind != TKW__REQUEST_LOOK || !r->look.quiet || d->broken ||
	    tkw__desk_is_held(d) ||
	    tkw__queue_next_ms(r->queue->heart, d->now_us) > d->now_us / 1000)
		return false;
	return r->look.turns++ < MAX_LOOK_TURNS;
}

static void look(struct tkw__desk *d)
{
	while (d->looks.first) {
		struct tkw__request *r = d->looks.first;

		tkw__requests_remove(&d->looks, r);
		if (must_wait(d, r)) {
			/* Behind the others, so that it holds up nobody. */
			r->state = TKW__REQUEST_PARKED;
			tkw__requests_push(&d->todo, r);
			continue;
		}
		if (r->kind == TKW__REQUEST_WITHDRAW) {
			withdraw(d, r);
		} else {
			r->look.now_us = d->now_us;
			r->result = r->look.fn(d, r);
		}
		tkw__requests_push(&d->ended, r);
	}
}

/* When the queue needs a turn again. */
static uint64_t time_of(struct tkw__desk *d, struct tkw_queue *q)
{
	uint64_t ms = tkw__queue_next_ms(q->heart, d->now_us);
	uint64_t us = ms == UINT64_MAX ? ms : ms * 1000;

	if (q->behind)
		us = d->now_us;
	/* Its takes do not want to wait. If the store fails, they end. */
	if (q->hasty > 0 && !d->broken)
		return d->now_us;
	if (us <= d->now_us) {
		/* It comes again when the store may work again. */
		return tkw__desk_is_held(d) || d->broken ? UINT64_MAX : us;
	}
	if (us != UINT64_MAX && !q->watched && !q->parked.first)
		us += TKW__DESK_LAZY_US;
	return us;
}

static void look_back(struct tkw__desk *d, struct tkw_queue *q)
{
	bool can_take;

	tkw__agenda_set(d, q, time_of(d, q));
	if (q->changed) {
		tkw__desk_measure(d, q);
		q->changed = false;
	}
	if (!q->watched)
		return;
	/* If it may be ready, the next turn tells. */
	can_take = tkw__queue_has_ready(q->heart, d->now_us) ==
		   TKW__QUEUE_SOME_READY;
	if (can_take == q->can_take)
		return;
	q->can_take = can_take;
	if (!q->tell) {
		q->tell = true;
		q->next_to_tell = d->to_tell;
		d->to_tell = q;
	}
}

static void end_requests(struct tkw__desk *d)
{
	while (d->ended.first) {
		struct tkw__request *r = d->ended.first;

		tkw__requests_remove(&d->ended, r);
		r->state = TKW__REQUEST_ENDED;
		if (r->done)
			r->done(r);
	}
}

static void finish(struct tkw__desk *d, int err)
{
	end_batch(d, err);
	if (err)
		tkw__desk_end_hasty(d, err);
	tkw__cycle_remove(d);
	if (d->broken)
		tkw__desk_end_parked(d, -EIO);
	look(d);
	tkw__desk_time_out(d);
	while (d->touched) {
		struct tkw_queue *q = d->touched;

		d->touched = q->touched;
		q->is_touched = false;
		look_back(d, q);
	}
	d->rows = 0;
	d->time_rows = 0;
	d->bytes = 0;
	d->time_bytes = 0;
	d->calls = 0;
	end_requests(d);
}

static int has_more(struct tkw__desk *d)
{
	const struct tkw_queue *q = tkw__agenda_first(d);

	if (d->todo.first || d->late || (q && q->at_us <= d->now_us))
		return 1;
	return tkw__cycle_can_go_on(d);
}

int tkw__desk_turn(struct tkw__desk *d, uint64_t now_us, uint64_t mono_us)
{
	int err;

	begin(d, now_us, mono_us);
	touch_due(d);
	pick(d);
	err = settle(d);
	ask_sometimes(d);
	finish(d, err);
	return has_more(d);
}

void tkw__desk_shutdown(struct tkw__desk *d)
{
	d->cycle.closing = true;
	tkw__desk_end_parked(d, -ESHUTDOWN);
	while (d->todo.first) {
		struct tkw__request *r = d->todo.first;

		tkw__requests_remove(&d->todo, r);
		r->result = -ESHUTDOWN;
		tkw__requests_push(&d->ended, r);
	}
	end_requests(d);
}
