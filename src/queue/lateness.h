/* SPDX-License-Identifier: MIT */
/*
 * lateness.h - how late items were taken: a histogram.
 *
 * A server may have many small queues, and most of their items are taken within
 * a few milliseconds. So the buckets come in pieces, and a piece is allocated
 * when it has something to count.
 */
#ifndef TKW_QUEUE_LATENESS_H
#define TKW_QUEUE_LATENESS_H

#include "queue/heart.h"

enum {
	TKW__LATENESS_PIECE = 16, /* buckets */
	TKW__LATENESS_PIECES =
		(TKW__QUEUE_LATENESS_BUCKETS + TKW__LATENESS_PIECE - 1) /
		TKW__LATENESS_PIECE
};

struct tkw__lateness {
	uint64_t *piece[TKW__LATENESS_PIECES];
};

/* Makes room to count a take that is this late. Returns 0 or -ENOMEM. */
int tkw__lateness_reserve(struct tkw__queue *q, uint64_t ms);
/* Counts a take, for which there must be room. Returns its bucket. */
uint32_t tkw__lateness_count(struct tkw__queue *q, uint64_t ms);
/* Takes one back. */
void tkw__lateness_undo(struct tkw__queue *q, uint32_t bucket);
/* Writes all buckets. */
void tkw__lateness_get(const struct tkw__queue *q, uint64_t *out);
void tkw__lateness_fini(struct tkw__queue *q);

#endif /* TKW_QUEUE_LATENESS_H */
