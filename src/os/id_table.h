/* SPDX-License-Identifier: MIT */
/*
 * id_table.h - records that are found by an id.
 *
 * Idea:    records are in blocks, each twice as large as the one before. A few
 *          pointers find all blocks, and no record ever moves. Blocks are freed
 *          only with the whole table, so a stale id reads safe memory, and a
 *          lookup takes no lock.
 * Id:      64 bits: the part (8 bits, chosen by the caller, for tables that
 *          belong together), the index of the record (24) and its generation
 *          (32).
 * Stale:   a record gets a new generation each time it is used, and an id is
 *          valid only for the generation that it was made for. A record that
 *          has used up its generations is not used again. The first generation
 *          is random and not 0, so an id of another table is very unlikely to
 *          be valid, and no id is 0.
 * Word:    generation and state are in one word, so that one load reads both.
 *          The caller defines the states, except that 0 means free.
 * Threads: the caller holds its own lock around all calls, except
 *          tkw__table_at(), tkw__table_find() and tkw__id_...().
 *
 * The timer has its own slab instead, because it gives blocks back while it
 * lives, and because its records share cache lines with the entries of its
 * wheel.
 */
#ifndef TKW_OS_ID_TABLE_H
#define TKW_OS_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/dice.h"
#include "os/sync.h"

/* The narrow builds of the tests have few generations and small blocks. */
#ifndef TKW__RECORD_GENERATION_BITS
#define TKW__RECORD_GENERATION_BITS 32
#endif
#ifndef TKW__RECORD_BLOCK_BITS
#define TKW__RECORD_BLOCK_BITS 5 /* size of the first block */
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

/* The head of each record. */
struct tkw__record {
	struct tkw__a64 word; /* generation and state */
	uint32_t index;
	uint32_t next; /* in a free record: the index of the next free one */
};

struct tkw__table {
	struct tkw__a32 fresh; /* records from this index on were never used */
	uint32_t free;         /* the first free record that was used before */
	uint32_t max;          /* most records that the table may hold */
	uint32_t record_bytes;
	uint32_t align;
	struct tkw__dice dice; /* picks first generations */
	unsigned char *blocks[TKW__RECORD_BLOCKS];
};

/* max must not exceed TKW__RECORDS_MAX. This allocates no memory yet. */
void tkw__table_init(struct tkw__table *t, uint32_t record_bytes,
		     uint32_t align, uint32_t max);

/* Frees all memory, even of records in use. */
void tkw__table_fini(struct tkw__table *t);

/* As tkw__table_take(), but returns a record that was never used. */
int tkw__table_take_fresh(struct tkw__table *t, struct tkw__record **out);

static inline uint32_t tkw__record_state(const struct tkw__record *r)
{
	return (uint32_t)TKW__LOAD(&r->word, RELAXED);
}

static inline uint32_t tkw__record_generation(const struct tkw__record *r)
{
	return (uint32_t)(TKW__LOAD(&r->word, RELAXED) >> 32);
}

/* The word of the record with this id, in this state. */
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

/* The block of an index. If block 0 has B records, it holds the indices below
 * B, block 1 those from B to 3B - 1, and so on. */
static inline uint32_t tkw__table_block_of(uint32_t index)
{
	return tkw__highest_bit(index + (1U << TKW__RECORD_BLOCK_BITS)) -
	       TKW__RECORD_BLOCK_BITS;
}

/* The record of an index. Its block must exist. */
static inline struct tkw__record *tkw__table_place(const struct tkw__table *t,
						   uint32_t index)
{
	uint32_t block = tkw__table_block_of(index);
	uint32_t first = (1U << (TKW__RECORD_BLOCK_BITS + block)) -
			 (1U << TKW__RECORD_BLOCK_BITS);

	return (void *)(t->blocks[block] +
			(size_t)(index - first) * t->record_bytes);
}

/* The record of an index, in any state, or NULL if it was never used. */
static inline struct tkw__record *tkw__table_at(const struct tkw__table *t,
						uint32_t index)
{
	/* ACQUIRE pairs with the RELEASE of tkw__table_take_fresh(). */
	if (index >= TKW__LOAD(&t->fresh, ACQUIRE))
		return NULL;
	return tkw__table_place(t, index);
}

/* The record that an id names, or NULL if the id is stale or the record is
 * free. */
static inline struct tkw__record *tkw__table_find(const struct tkw__table *t,
						  uint64_t id)
{
	struct tkw__record *r = tkw__table_at(t, tkw__id_index(id));
	uint64_t word = r ? TKW__LOAD(&r->word, RELAXED) : 0;

	/* One load, so generation and state belong together. */
	return (uint32_t)word != 0 && word >> 32 == (uint32_t)id ? r : NULL;
}

/*
 * Takes a free record. The caller has to set its state. A fresh record is
 * zeroed; in a used one everything but the head is as it was left.
 *
 * Returns 0, -EAGAIN if there are `max` records, or -ENOMEM.
 */
static inline int tkw__table_take(struct tkw__table *t,
				  struct tkw__record **out)
{
	if (t->free == TKW__NO_RECORD)
		return tkw__table_take_fresh(t, out);
	*out = tkw__table_place(t, t->free);
	t->free = (*out)->next;
	return 0;
}

/*
 * The same, for a caller that often takes the record that it has put last. It
 * passes that record, or NULL. This saves computing the place of the record,
 * while the caller waits for it.
 */
static inline int tkw__table_take_again(struct tkw__table *t,
					struct tkw__record *last,
					struct tkw__record **out)
{
	if (last == NULL || t->free != last->index)
		return tkw__table_take(t, out);
	*out = last;
	t->free = last->next;
	return 0;
}

/* Gives back a record whose id was not told to anybody. Its next use gets the
 * same id. */
static inline void tkw__table_untake(struct tkw__table *t,
				     struct tkw__record *r)
{
	tkw__record_set_state(r, 0);
	r->next = t->free;
	t->free = r->index;
}

/* Gives back a record. Its id becomes stale. */
static inline void tkw__table_put(struct tkw__table *t, struct tkw__record *r)
{
	uint32_t generation = tkw__record_generation(r);

	if (generation == TKW__RECORD_GENERATION_MAX) {
		/* No generation is left, so it is never used again. */
		TKW__STORE(&r->word, 0, RELAXED);
		return;
	}
	TKW__STORE(&r->word, (uint64_t)(generation + 1) << 32, RELAXED);
	r->next = t->free;
	t->free = r->index;
}

#endif /* TKW_OS_ID_TABLE_H */
