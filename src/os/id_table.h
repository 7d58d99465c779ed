/* SPDX-License-Identifier: MIT */
/*
 * id_table.h - records that are found by an id.
 *
 * Idea:   blocks of records, each twice as large as the one before, so that a
 *         few pointers find all of them and no record ever moves. Blocks are
 *         given back only with the whole table: a stale id reads safe memory,
 *         and to look one up takes no lock.
 * Id:     in 64 bits a part (8 bits, the caller's, for tables that belong
 *         together), the record's index (24) and its generation (32).
 * Stale:  a record has another generation each time it is used; an id is good
 *         only for the one that it was made for. A record whose generations are
 *         used up is not used again. The first generation is random and not 0,
 *         so that an id of another table is most likely good for nothing, and
 *         no id is 0.
 * Word:   generation and state in one word, so that one load tells both. The
 *         state is the caller's; 0 is free.
 * Locks:  the caller's, for all calls but at(), find() and the id's own.
 *
 * (The timer has a slab of its own: it gives blocks back while it lives, and
 * its records are in the lines of its wheel's entries.)
 */
#ifndef TKW_OS_ID_TABLE_H
#define TKW_OS_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/dice.h"
#include "os/sync.h"

/* The narrow builds have few generations and small blocks. */
#ifndef TKW__RECORD_GENERATION_BITS
#define TKW__RECORD_GENERATION_BITS 32
#endif
#ifndef TKW__RECORD_BLOCK_BITS
#define TKW__RECORD_BLOCK_BITS 5 /* of the first block */
#endif
#define TKW__RECORD_GENERATION_MAX                                             \
	(UINT32_MAX >> (32 - TKW__RECORD_GENERATION_BITS))

enum {
	TKW__RECORD_INDEX_BITS = 24,
	TKW__RECORDS_MAX =
		(1 << TKW__RECORD_INDEX_BITS) - (1 << TKW__RECORD_BLOCK_BITS),
	TKW__RECORD_BLOCKS = TKW__RECORD_INDEX_BITS - TKW__RECORD_BLOCK_BITS
};
#define TKW__NO_RECORD UINT32_MAX

/* What each record begins with. */
struct tkw__record {
	struct tkw__a64 word; /* generation, state */
	uint32_t index;
	uint32_t next; /* free: the index of the next free one */
};

struct tkw__table {
	struct tkw__a32 fresh; /* from this index on, never used */
	uint32_t free;         /* the first one used before, and free now */
	uint32_t max;          /* records at most */
	uint32_t record_bytes;
	uint32_t align;
	struct tkw__dice dice; /* for first generations */
	unsigned char *blocks[TKW__RECORD_BLOCKS];
};

/* max: TKW__RECORDS_MAX at most. It takes no memory yet. */
void tkw__table_init(struct tkw__table *t, uint32_t record_bytes,
		     uint32_t align, uint32_t max);

/* Free all memory, whatever is in use. */
void tkw__table_fini(struct tkw__table *t);

/* As tkw__table_take(), a record that was never used. */
int tkw__table_take_fresh(struct tkw__table *t, struct tkw__record **out);

static inline uint32_t tkw__record_state(const struct tkw__record *r)
{
	return (uint32_t)TKW__LOAD(&r->word, RELAXED);
}

static inline uint32_t tkw__record_generation(const struct tkw__record *r)
{
	return (uint32_t)(TKW__LOAD(&r->word, RELAXED) >> 32);
}

/* The word of a record in its present generation. */
static inline uint64_t tkw__record_word(uint64_t id, uint32_t state)
{
	return id << 32 | state;
}

static inline void tkw__record_set_state(struct tkw__record *r, uint32_t state)
{
	TKW__STORE(&r->word, (uint64_t)tkw__record_generation(r) << 32 | state,
		   RELAXED);
}

static inline uint64_t tkw__record_id(const struct tkw__record *r,
				      uint32_t part)
{
	return (uint64_t)part << 56 | (uint64_t)r->index << 32 |
	       tkw__record_generation(r);
}

static inline uint32_t tkw__id_part(uint64_t id)
{
	return (uint32_t)(id >> 56);
}

static inline uint32_t tkw__id_index(uint64_t id)
{
	return (uint32_t)(id >> 32) & ((1 << TKW__RECORD_INDEX_BITS) - 1);
}

/* Block 0 has the indices below B, its size, block 1 those from B to 3B. */
static inline uint32_t tkw__table_block_of(uint32_t index)
{
	return tkw__highest_bit(index + (1U << TKW__RECORD_BLOCK_BITS)) -
	       TKW__RECORD_BLOCK_BITS;
}

/* The record of an index whose block is there. */
static inline struct tkw__record *tkw__table_place(const struct tkw__table *t,
						   uint32_t index)
{
	uint32_t block = tkw__table_block_of(index);
	uint32_t first = (1U << (TKW__RECORD_BLOCK_BITS + block)) -
			 (1U << TKW__RECORD_BLOCK_BITS);

	return (void *)(t->blocks[block] +
			(size_t)(index - first) * t->record_bytes);
}

/* The record of an index, whatever is there now; NULL: never used. */
static inline struct tkw__record *tkw__table_at(const struct tkw__table *t,
						uint32_t index)
{
	/* ACQUIRE pairs with the RELEASE of tkw__table_take_fresh(). */
	if (index >= TKW__LOAD(&t->fresh, ACQUIRE))
		return NULL;
	return tkw__table_place(t, index);
}

/* The record that an id names, in any state but free; else NULL. */
static inline struct tkw__record *tkw__table_find(const struct tkw__table *t,
						  uint64_t id)
{
	struct tkw__record *r = tkw__table_at(t, tkw__id_index(id));
	uint64_t word = r ? TKW__LOAD(&r->word, RELAXED) : 0;

	/* Generation and state are of one moment. */
	return (uint32_t)word != 0 && word >> 32 == (uint32_t)id ? r : NULL;
}

/* A free record, of which all but the head is as it was left; a fresh one is
 * zero. Its state is to be set. Return  0, -EAGAIN: there are `max` of them, or
 * -ENOMEM. */
static inline int tkw__table_take(struct tkw__table *t,
				  struct tkw__record **out)
{
	if (t->free == TKW__NO_RECORD)
		return tkw__table_take_fresh(t, out);
	*out = tkw__table_place(t, t->free);
	t->free = (*out)->next;
	return 0;
}

/* A record that was taken, and never named to anybody, is free again. */
static inline void tkw__table_untake(struct tkw__table *t,
				     struct tkw__record *r)
{
	tkw__record_set_state(r, 0);
	r->next = t->free;
	t->free = r->index;
}

/* It is free again, and its id stale. */
static inline void tkw__table_put(struct tkw__table *t, struct tkw__record *r)
{
	uint32_t generation = tkw__record_generation(r);

	if (generation == TKW__RECORD_GENERATION_MAX) {
		TKW__STORE(&r->word, 0, RELAXED); /* used up */
		return;
	}
	TKW__STORE(&r->word, (uint64_t)(generation + 1) << 32, RELAXED);
	r->next = t->free;
	t->free = r->index;
}

#endif /* TKW_OS_ID_TABLE_H */
