/* SPDX-License-Identifier: MIT */
/*
 * desk_snapshot.c - plans and live items are copied forward, and old rows
 * removed.
 *
 * The journal only grows at its end, and most of its rows are about items that
 * have ended. A snapshot appends a record with all facts of each live item, a
 * piece in each turn, together with the records of the requests. It begins at
 * the row `first`. Queue by queue, it lists the plans, then the items, and then
 * writes the totals. An item that was there when it began is listed, unless it
 * ends before; an item that came later has its put behind `first`. The same is
 * true of plans. So the rows from `first` on tell everything, and the others
 * can go.
 *
 * The totals of a queue come last: when they are read, all its plans and items
 * are known, and each later record counts.
 */
#include <errno.h>
#include <string.h>

#include "store/desk_state.h"

enum {
	/* How many items to look at between looks at the bounds. */
	AT_ONCE = 8,
	/* A turn copies this many items for each of its other rows, so that a
	 * snapshot is finished before the journal has grown by much. */
	ITEMS_PER_ROW = 4,
	/* A turn without requests copies so many times more. */
	IF_IDLE = 4,
	/* A turn removes at least so many rows, and this many for each row that
	 * it adds: the removal must come to an end under any load. */
	REMOVE_ROWS = 4096,
	REMOVE_PER_ROW = 4,
	/* On a full disk a snapshot comes this many times earlier, and takes up
	 * to this part of the reserve. */
	IF_FULL = 32,
	RESERVE_PART = 4,
	TOTALS_BYTES = 256 /* of a queue, about */
};

/* A snapshot must leave room for acks. */
static bool fits(const struct tkw__desk *d)
{
	uint64_t need = d->live + (uint64_t)d->count * TOTALS_BYTES;

	return !d->reserve_gone || d->cfg.reserve.bytes == 0 ||
	       need <= d->cfg.reserve.bytes / RESERVE_PART ||
	       need <= d->store->spare / 2;
}

static bool is_due(const struct tkw__desk *d)
{
	const struct tkw__desk_cycle *c = &d->cycle;
	uint64_t slack = d->cfg.slack_bytes / (d->reserve_gone ? IF_FULL : 1);
	/* While a queue becomes empty, what is left of it is not copied again
	 * and again. But on a full disk each page counts, and a close must not
	 * leave all rows to the next open. */
	uint64_t live = d->reserve_gone || c->closing ? d->live : c->most_live;

	if (c->state != TKW__CYCLE_NONE || !d->first || !fits(d))
		return false;
	/* While it is copied, the journal has the items once more, and what
	 * came meanwhile: together less than three times what has lived, and
	 * the slack. */
	if (d->store->bytes <= live + live / 2 + slack)
		return false;
	/* One is enough for a close. Before that, half of the slack must have
	 * been written since the last one. Otherwise a store that gives nothing
	 * back would keep the desk busy for ever. */
	if (c->closing)
		return !c->tidied;
	return !c->done_before ||
	       d->facts.commit_bytes - c->bytes_at_end >= slack / 2;
}

static bool is_busy(const struct tkw__desk *d)
{
	return d->cycle.state == TKW__CYCLE_REMOVE ||
	       (d->cycle.state == TKW__CYCLE_COPY && fits(d));
}

bool tkw__cycle_can_go_on(const struct tkw__desk *d)
{
	return is_busy(d) && !d->broken && !tkw__desk_is_held(d);
}

bool tkw__cycle_needs_room(const struct tkw__desk *d)
{
	return d->cfg.reserve.bytes > 0 && (is_busy(d) || is_due(d));
}

bool tkw__desk_is_untidy(const struct tkw__desk *d)
{
	if (d->broken || tkw__desk_is_held(d))
		return false;
	return tkw__cycle_can_go_on(d) || is_due(d);
}

static void begin(struct tkw__desk *d)
{
	struct tkw__desk_cycle *c = &d->cycle;

	c->state = TKW__CYCLE_COPY;
	c->began = true;
	c->tidied = c->closing;
	c->first = d->last_seq + 1;
	c->at = (struct tkw__cycle_place){ .queue = d->first };
}

struct piece {
	struct tkw_queue *queue;
	uint64_t count; /* of items and plans */
	int err;
};

static void copy_item(const struct tkw__queue_facts *facts, void *ctx)
{
	struct piece *p = ctx;

	p->count++;
	if (!p->err)
		p->err = tkw__queue_dump_item(p->queue->heart, facts->id,
					      &p->queue->log);
}

static void copy_plan(const struct tkw__queue_plan_facts *facts, void *ctx)
{
	struct piece *p = ctx;
	struct tkw__cycle_place *at = &p->queue->desk->cycle.next;

	p->count++;
	if (!p->err)
		p->err = tkw__queue_dump_plan(p->queue->heart, facts->plan.name,
					      &p->queue->log);
	at->name_len = facts->plan.name.len;
	memcpy(at->name, facts->plan.name.at, at->name_len);
}

static void copy_plans(struct tkw__cycle_place *at, struct piece *p)
{
	struct tkw__queue_text after = { at->name_len ? at->name : NULL,
					 at->name_len };

	at->in_items = tkw__queue_list_plans(p->queue->heart, after, AT_ONCE,
					     copy_plan, p) < AT_ONCE;
}

/* The totals follow the last item. */
static void copy_items(struct tkw__cycle_place *at, struct piece *p,
		       uint64_t now_us)
{
	struct tkw__queue_list list = { .now_us = now_us,
					.state = TKW__QUEUE_STATES,
					.max = AT_ONCE,
					.visit = copy_item,
					.ctx = p };

	at->cursor = tkw__queue_list(p->queue->heart, &list, at->cursor);
	if (p->err || at->cursor)
		return;
	p->err = tkw__queue_dump_totals(p->queue->heart, &p->queue->log);
	*at = (struct tkw__cycle_place){ .queue = p->queue->next };
}

/* Copies a few plans or items. */
static int copy_some(struct tkw__desk *d, uint64_t *count)
{
	struct tkw__cycle_place *at = &d->cycle.next;
	struct piece p = { .queue = at->queue };
	size_t from = p.queue->log.len;

	tkw__desk_touch(d, p.queue);
	if (at->in_items)
		copy_items(at, &p, d->now_us);
	else
		copy_plans(at, &p);
	tkw__desk_count_rows(d, p.queue, from);
	*count += p.count + 1; /* empty queues count too */
	return p.err;
}

void tkw__cycle_copy(struct tkw__desk *d)
{
	struct tkw__desk_cycle *c = &d->cycle;
	uint64_t least = d->cfg.snapshot_items;
	uint64_t max = ITEMS_PER_ROW * d->rows +
		       (d->batch_count ? least : least * IF_IDLE);
	uint64_t max_bytes =
		d->bytes + ITEMS_PER_ROW * d->bytes + d->cfg.max_bytes;
	uint64_t count = 0;
	int err = 0;

	c->piece = false;
	if (c->most_live < d->live)
		c->most_live = d->live;
	if (d->broken || tkw__desk_is_held(d))
		return;
	if (is_due(d))
		begin(d);
	if (c->state != TKW__CYCLE_COPY || !fits(d))
		return;
	c->piece = true;
	c->next = c->at;
	while (c->next.queue && count < max && d->bytes < max_bytes && !err)
		err = copy_some(d, &count);
	/* Without memory the records of this piece would have a hole. */
	if (err)
		d->failed = err;
	c->ends = !c->next.queue;
}

void tkw__cycle_commit(struct tkw__desk *d)
{
	struct tkw__desk_cycle *c = &d->cycle;

	if (!c->piece)
		return;
	c->began = false;
	c->at = c->next;
	if (!c->ends)
		return;
	c->base = (struct tkw__base){ c->first, d->last_seq };
	c->state = TKW__CYCLE_REMOVE;
	c->done_before = true;
	c->bytes_at_end = d->facts.commit_bytes;
	c->most_live = d->live;
	d->facts.snapshots++;
}

void tkw__cycle_undo(struct tkw__desk *d)
{
	if (d->cycle.began)
		d->cycle.state = TKW__CYCLE_NONE;
	d->cycle.began = false;
}

void tkw__cycle_remove(struct tkw__desk *d)
{
	struct tkw__desk_cycle *c = &d->cycle;
	/* Nobody waits for a turn before a close. */
	uint64_t max = c->closing ? UINT64_MAX
				  : REMOVE_ROWS + REMOVE_PER_ROW * d->rows;
	int more;

	if (c->state != TKW__CYCLE_REMOVE || d->broken || tkw__desk_is_held(d))
		return;
	more = d->store->ops->compact(d->store, &c->base, max);
	d->facts.compactions++;
	if (more == 0)
		c->state = TKW__CYCLE_NONE;
	if (more < 0)
		tkw__desk_fail(d, more == -EBUSY ? -ENOSPC : more);
}
