/* SPDX-License-Identifier: MIT */
/*
 * slab.h - where the timeouts of a shard live, and how an index finds one.
 *
 * Idea:    blocks of places, and a directory of blocks. The index of a timeout
 *          is the number of its block and its place in the block. A block whose
 *          places are all free is given back to the system, except for one
 *          spare block. Its directory entry stays.
 * Stale:   a place has a generation, which grows by one each time it is freed.
 *          An id is valid only for the generation that it was made for. When a
 *          block is given back, the directory remembers the highest of its
 *          generations, and the block's next life begins above that.
 * Wrap:    a place that has used up its generations is never used again, nor is
 *          a block number that has: there are 2^17 of them.
 * Start:   the first generation of a block is random, so that an id of another
 *          timer, or of another run, is very unlikely to be valid.
 * Number:  place 0 of a block is not used for a timeout. It holds the block's
 *          number, by which a record finds its index. Blocks are aligned to
 *          their size.
 * Threads: all calls are made under the shard's lock. Only
 *          tkw__slab_add_block() waits for memory.
 */
#ifndef TKW_TIMER_SLAB_H
#define TKW_TIMER_SLAB_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/bell.h"
#include "timer/timeout.h"

#ifndef TKW__BLOCK_BITS
#define TKW__BLOCK_BITS 15
#endif
enum {
	TKW__BLOCK_PLACES = 1 << TKW__BLOCK_BITS,
	TKW__BLOCK_BYTES = TKW__BLOCK_PLACES * (int)sizeof(struct tkw__timeout)
};
_Static_assert((TKW__BLOCK_BYTES & (TKW__BLOCK_BYTES - 1)) == 0,
	       "a block is found by cutting off the lower bits of an address");
#define TKW__BLOCKS_MAX (UINT32_C(1) << (32 - TKW__BLOCK_BITS))
#define TKW__NO_BLOCK UINT32_MAX

struct tkw__block {
	/* NULL if the block was given back. Each struct has a cache line of its
	 * own. */
	_Alignas(64) struct tkw__timeout *places;
	struct tkw__timeout *free; /* free places that were used before */
	uint32_t fresh;            /* places from this one on were never used */
	uint32_t live;             /* places in use */
	uint32_t generation;       /* generation of fresh places */
	uint32_t top;              /* highest generation in this life */
	/* Links in the list of blocks with room, or (next) in the list of
	 * vacant numbers. */
	uint32_t next;
	uint32_t prev;
};

/* The directory is one piece of memory, so that one store replaces it. A forked
 * child may see the slab in the middle of a change, and frees what it finds. */
struct tkw__directory {
	size_t bytes;
	uint32_t capacity;
	uint32_t blocks;           /* blocks that have memory now */
	struct tkw__block block[]; /* zeroed at first */
};

/* Fields that are seldom needed, and therefore in another cache line. */
struct tkw__slab_rest {
	const struct tkw_timer_hooks *hooks;
	uint32_t random;
	bool systems; /* the blocks are memory from the system */
	/* Rung when no place is in use any more. Waited for under the shard's
	 * lock. */
	struct tkw__bell emptied;
};

struct tkw__slab {
	struct tkw__directory *directory; /* NULL at first */
	uint32_t count;                   /* block numbers given out so far */
	uint32_t roomy;                   /* first block with room */
	uint32_t spare;                   /* the empty block that is kept */
	uint32_t vacant;                  /* first number without a block */
	struct tkw__slab_rest *rest;
};

/* The caller provides rest, which must stay where it is. */
void tkw__slab_init(struct tkw__slab *s, struct tkw__slab_rest *rest);

/* Frees all memory, even of timeouts in use. */
void tkw__slab_fini(struct tkw__slab *s);

/* Adds a block, for when there is no room. Returns false if there is no
 * memory. */
bool tkw__slab_add_block(struct tkw__slab *s);

static inline bool tkw__slab_has_room(const struct tkw__slab *s)
{
	return s->roomy != TKW__NO_BLOCK;
}

/* The next four are the rare cases of take() and put(). */
/* Takes a place of a block that was never used. */
struct tkw__timeout *tkw__slab_take_fresh(const struct tkw__slab *s,
					  struct tkw__block *b);
/* Put a block into the list `roomy`, and take it out. */
void tkw__slab_list(struct tkw__slab *s, uint32_t n);
void tkw__slab_unlist(struct tkw__slab *s, uint32_t n);
/* Called when no place of block n is in use any more. Returns what
 * tkw__slab_put() returns. */
void *tkw__slab_emptied(struct tkw__slab *s, uint32_t n);

static inline bool tkw__block_has_room(const struct tkw__block *b)
{
	return b->free != NULL || b->fresh < TKW__BLOCK_PLACES;
}

/* Place 0 of the block that a timeout is in. */
static inline const struct tkw__timeout *
tkw__slab_place_0(const struct tkw__timeout *to)
{
	return (const struct tkw__timeout *)((uintptr_t)to &
					     ~((uintptr_t)TKW__BLOCK_BYTES -
					       1));
}

static inline uint32_t tkw__slab_index(const struct tkw__timeout *to)
{
	const struct tkw__timeout *places = tkw__slab_place_0(to);

	return places->before << TKW__BLOCK_BITS | (uint32_t)(to - places);
}

/* Takes a free place. Its generation is set; the rest is as it was left. The
 * slab must have room. */
static inline struct tkw__timeout *tkw__slab_take(struct tkw__slab *s)
{
	struct tkw__block *b;
	struct tkw__timeout *to;

	assert(tkw__slab_has_room(s));
	b = &s->directory->block[s->roomy];
	to = b->free;
	if (to)
		b->free = to->ctx;
	else
		to = tkw__slab_take_fresh(s, b);
	if (s->spare == s->roomy)
		s->spare = TKW__NO_BLOCK;
	if (!tkw__block_has_room(b))
		tkw__slab_unlist(s, s->roomy);
	b->live++;
	return to;
}

/*
 * Frees a place. Returns NULL, or memory of TKW__BLOCK_BYTES that the caller
 * must give to hooks->free(). The caller does that after it has dropped the
 * lock, because it takes time.
 */
static inline void *tkw__slab_put(struct tkw__slab *s, struct tkw__timeout *to)
{
	uint32_t n = tkw__slab_place_0(to)->before;
	struct tkw__block *b = &s->directory->block[n];
	uint32_t generation = tkw__generation(to) + 1;
	bool had_room = tkw__block_has_room(b);

	assert(tkw__state(to) != TKW__FREE && b->live > 0);
	/* If it is out of generations, no id is valid for it, and it is in no
	 * list. */
	to->mark = generation << TKW__GENERATION_SHIFT;
	if (generation <= TKW__GENERATION_MAX) {
		to->ctx = b->free;
		b->free = to;
		if (!had_room)
			tkw__slab_list(s, n);
	}
	if (b->top < generation)
		b->top = generation;
	return --b->live > 0 ? NULL : tkw__slab_emptied(s, n);
}

/* The timeout of an index and a generation, or NULL if it is not in use. */
static inline struct tkw__timeout *
tkw__slab_find(const struct tkw__slab *s, uint32_t index, uint32_t generation)
{
	uint32_t n = index >> TKW__BLOCK_BITS;
	uint32_t place = index % TKW__BLOCK_PLACES;
	struct tkw__timeout *to;

	if (n >= s->count || s->directory->block[n].places == NULL ||
	    place == 0 || place >= s->directory->block[n].fresh)
		return NULL;
	to = &s->directory->block[n].places[place];
	if (tkw__generation(to) != generation || tkw__state(to) == TKW__FREE)
		return NULL;
	return to;
}

/* For walking through all timeouts: the given place of a block, or NULL if
 * there is none. */
const struct tkw__timeout *tkw__slab_at(const struct tkw__slab *s,
					uint32_t block, uint32_t place);

/* How many places are in use. */
uint64_t tkw__slab_live(const struct tkw__slab *s);

/* True if no place is in use. The spare block is the only empty one that is
 * kept. */
static inline bool tkw__slab_is_empty(const struct tkw__slab *s)
{
	return s->directory == NULL ||
	       s->directory->blocks == (s->spare != TKW__NO_BLOCK);
}

/* Returns what is broken, or NULL. Looks at every place. */
const char *tkw__slab_check(const struct tkw__slab *s);

#endif /* TKW_TIMER_SLAB_H */
