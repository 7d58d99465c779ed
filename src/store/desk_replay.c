/* SPDX-License-Identifier: MIT */
/* desk_replay.c - from the rows of the store to the hearts. */
#include <errno.h>
#include <string.h>

#include "store/desk_state.h"

struct replay {
	struct tkw__desk *d;
	struct tkw__base base;
};

/* Queues are numbered in the order in which they were made. A store may name
 * one again. */
static int name_queue(struct tkw__desk *d, const struct tkw__row *row)
{
	struct tkw_queue *q;

	if (row->queue > 0 && row->queue <= d->count)
		return strcmp(d->by_number[row->queue - 1]->name, row->name)
			       ? -EBADMSG
			       : 0;
	if (row->queue != d->count + 1 ||
	    strlen(row->name) > TKW_QUEUE_MAX_NAME)
		return -EBADMSG;
	return tkw__desk_add_queue(d, row->name, &q);
}

static int replay_row(const struct tkw__row *row, void *ctx)
{
	struct replay *re = ctx;
	struct tkw__desk *d = re->d;
	struct tkw__queue *heart;
	int err;

	if (row->seq > d->last_seq)
		d->last_seq = row->seq;
	if (row->name)
		return name_queue(d, row);
	if (row->queue == 0 || row->queue > d->count)
		return -EBADMSG;
	heart = d->by_number[row->queue - 1]->heart;
	err = tkw__queue_replay_one(heart, row->record, row->len,
				    row->seq <= re->base.whole);
	if (err < 0)
		return err;
	tkw__queue_commit(heart);
	return 0;
}

/* The law, by the counters. */
static bool is_lawful(const struct tkw__queue_stats *s)
{
	const struct tkw__queue_totals *t = &s->totals;

	return t->puts == t->acks + t->cancels + t->purges + s->items;
}

/* The store has found nothing wrong, but the hearts have. */
static int refuse(struct tkw__desk *d, int err)
{
	if (err == -EBADMSG && (!d->store->why || !d->store->why[0]))
		d->store->why = "the records do not fit together";
	return err;
}

static int look_over(struct tkw__desk *d)
{
	for (size_t i = 0; i < d->count; i++) {
		struct tkw_queue *q = d->by_number[i];
		struct tkw__queue_stats s;

		tkw__queue_get_stats(q->heart, d->now_us, &s);
		if (!tkw__queue_is_whole(q->heart) || !is_lawful(&s))
			return -EBADMSG;
		tkw__desk_measure(d, q);
		/* The first turn looks at each of them. */
		tkw__agenda_set(d, q, 0);
	}
	d->cycle.most_live = d->live;
	return 0;
}

int tkw__desk_replay(struct tkw__desk *d)
{
	struct replay re = { .d = d };
	int err = d->store->ops->replay(d->store, replay_row, &re.base, &re);

	if (err)
		return refuse(d, err);
	if (d->last_seq < re.base.whole)
		d->last_seq = re.base.whole;
	if (re.base.first > 1) {
		/* The removal of old rows may have been interrupted. */
		d->cycle.state = TKW__CYCLE_REMOVE;
		d->cycle.base = re.base;
	}
	return refuse(d, look_over(d));
}
