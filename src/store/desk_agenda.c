/* SPDX-License-Identifier: MIT */
/*
 * desk_agenda.c - which queue has work to do when: a binary heap.
 *
 * It is not a wheel, because the wall clock may be put back, and a wheel cannot
 * go back. A change costs O(log queues).
 */
#include "store/desk_state.h"

enum {
	NOWHERE = 0 /* places count from 1 */
};

static void put_at(struct tkw__desk *d, struct tkw_queue *q, size_t place)
{
	d->agenda[place - 1] = q;
	q->place = place;
}

/* Moves a queue towards the first place. */
static void rise(struct tkw__desk *d, struct tkw_queue *q)
{
	size_t place = q->place;

	while (place > 1) {
		struct tkw_queue *up = d->agenda[place / 2 - 1];

		if (up->at_us <= q->at_us)
			break;
		put_at(d, up, place);
		place /= 2;
	}
	put_at(d, q, place);
}

static void sink(struct tkw__desk *d, struct tkw_queue *q)
{
	size_t place = q->place;

	while (place * 2 <= d->scheduled) {
		size_t down = place * 2;

		if (down < d->scheduled &&
		    d->agenda[down]->at_us < d->agenda[down - 1]->at_us)
			down++;
		if (d->agenda[down - 1]->at_us >= q->at_us)
			break;
		put_at(d, d->agenda[down - 1], place);
		place = down;
	}
	put_at(d, q, place);
}

static void leave(struct tkw__desk *d, struct tkw_queue *q)
{
	struct tkw_queue *last = d->agenda[d->scheduled - 1];
	size_t place = q->place;

	d->scheduled--;
	q->place = NOWHERE;
	if (last == q)
		return;
	put_at(d, last, place);
	rise(d, last);
	sink(d, last);
}

void tkw__agenda_set(struct tkw__desk *d, struct tkw_queue *q, uint64_t at_us)
{
	q->at_us = at_us;
	if (at_us == UINT64_MAX) {
		if (q->place != NOWHERE)
			leave(d, q);
		return;
	}
	if (q->place == NOWHERE)
		put_at(d, q, ++d->scheduled);
	rise(d, q);
	sink(d, q);
}

struct tkw_queue *tkw__agenda_first(struct tkw__desk *d)
{
	return d->scheduled ? d->agenda[0] : NULL;
}
