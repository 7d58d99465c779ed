/* SPDX-License-Identifier: MIT */
/* lateness.c - how late items were taken. See lateness.h. */
#include "queue/lateness.h"

#include <errno.h>
#include <string.h>

#include "queue/state.h"

enum {
	PIECE_BYTES = TKW__LATENESS_PIECE * sizeof(uint64_t)
};

uint32_t tkw__queue_lateness_bucket(uint64_t ms)
{
	uint32_t octave;

	if (ms < 8)
		return (uint32_t)ms;
	octave = tkw__highest_bit(ms);
	if (octave > 39)
		return TKW__QUEUE_LATENESS_BUCKETS - 1;
	return 8 + (octave - 3) * 4 + (uint32_t)(ms >> (octave - 2)) % 4;
}

uint64_t tkw__queue_lateness_least_ms(uint32_t bucket)
{
	if (bucket < 8)
		return bucket;
	bucket = bucket > TKW__QUEUE_LATENESS_BUCKETS
			 ? TKW__QUEUE_LATENESS_BUCKETS - 8
			 : bucket - 8;
	return (uint64_t)(4 + bucket % 4) << (bucket / 4 + 1);
}

static uint64_t **piece_of(struct tkw__queue *q, uint32_t bucket)
{
	return &q->lateness.piece[bucket / TKW__LATENESS_PIECE];
}

int tkw__lateness_reserve(struct tkw__queue *q, uint64_t ms)
{
	uint64_t **piece = piece_of(q, tkw__queue_lateness_bucket(ms));

	if (*piece)
		return 0;
	*piece = tkw__queue_alloc(q, PIECE_BYTES);
	if (!*piece)
		return -ENOMEM;
	memset(*piece, 0, PIECE_BYTES);
	return 0;
}

uint32_t tkw__lateness_count(struct tkw__queue *q, uint64_t ms)
{
	uint32_t bucket = tkw__queue_lateness_bucket(ms);

	(*piece_of(q, bucket))[bucket % TKW__LATENESS_PIECE]++;
	return bucket;
}

void tkw__lateness_undo(struct tkw__queue *q, uint32_t bucket)
{
	(*piece_of(q, bucket))[bucket % TKW__LATENESS_PIECE]--;
}

void tkw__lateness_get(const struct tkw__queue *q, uint64_t *out)
{
	for (uint32_t i = 0; i < TKW__QUEUE_LATENESS_BUCKETS; i++) {
		const uint64_t *piece =
			q->lateness.piece[i / TKW__LATENESS_PIECE];

		out[i] = piece ? piece[i % TKW__LATENESS_PIECE] : 0;
	}
}

void tkw__lateness_fini(struct tkw__queue *q)
{
	for (uint32_t i = 0; i < TKW__LATENESS_PIECES; i++) {
		if (q->lateness.piece[i])
			tkw__queue_free(q, q->lateness.piece[i], PIECE_BYTES);
	}
}
