/* SPDX-License-Identifier: MIT */
/*
 * slab.h - where the timeouts of a shard live, and how an index finds one.
 *
 * Idea:   blocks of places, and a directory of blocks. The index of a timeout
 *         is its block's number and its place therein. A block of which all
 *         places are free is given back to the system, but for one that is
 *         kept for the next to come; its directory entry stays.
 * Stale:  a place has a generation, one higher each time it is freed; an id is
 *         good only for the generation that it was made for. When a block is
 *         given back the directory remembers the highest of its generations,
 *         and the block's next life begins above it.
 * Wrap:   a place whose generations are used up is never used again, nor is a
 *         block whose floor is: there are 2^17 block numbers.
 * Start:  the first generation of a block is random, so that an id of another
 *         timer, or of another run, is most likely good for nothing.
 * Place 0 of a block is not used: it has the block's number, for the way from a
 * record to its index. Blocks are aligned to their size.
 *
 * All calls under the shard's lock. None waits for memory but add_block().
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
	/* NULL: given back. A block has a line of its own. */
	_Alignas(64) struct tkw__timeout *places;
	struct tkw__timeout *free; /* used before, and free now */
	uint32_t fresh;            /* from this place on, never used */
	uint32_t live;             /* places in use */
	uint32_t generation;       /* of fresh places */
	uint32_t top;              /* the highest generation in this life */
	/* In the list of blocks with room; or (next) of vacant numbers. */
	uint32_t next;
	uint32_t prev;
};

/* One piece, so that one store changes it: a forked child, which may see the
 * slab as it is in the middle of a change, frees what it finds. */
struct tkw__directory {
	size_t bytes;
	uint32_t capacity;
	uint32_t blocks;           /* that there are now */
	struct tkw__block block[]; /* zeroed */
};

/* What is seldom needed, and so in another line. */
struct tkw__slab_rest {
	const struct tkw_timer_hooks *hooks;
	uint32_t random;
	bool systems; /* the blocks are the system's memory */
	/* Nothing is in use any more. For who waits, under the lock. */
	struct tkw__bell emptied;
};

struct tkw__slab {
	struct tkw__directory *directory; /* NULL at first */
	uint32_t count;                   /* of numbers given out so far */
	uint32_t roomy;                   /* the first block with room */
	uint32_t spare;                   /* the empty block that is kept */
	uint32_t vacant;                  /* the first number without a block */
	struct tkw__slab_rest *rest;
};

/* rest: made by the caller, where it stays. */
void tkw__slab_init(struct tkw__slab *s, struct tkw__slab_rest *rest);

/* Free all memory, whatever is in use. */
void tkw__slab_fini(struct tkw__slab *s);

/* Add a block with room, if there is none. Return false: no memory. */
bool tkw__slab_add_block(struct tkw__slab *s);

static inline bool tkw__slab_has_room(const struct tkw__slab *s)
{
	return s->roomy != TKW__NO_BLOCK;
}

/* For take() and put(), now and then. */
/* A place of a block that was never used. */
struct tkw__timeout *tkw__slab_take_fresh(const struct tkw__slab *s,
					  struct tkw__block *b);
/* Put a block into the list `roomy`, and take it out. */
void tkw__slab_list(struct tkw__slab *s, uint32_t n);
void tkw__slab_unlist(struct tkw__slab *s, uint32_t n);
/* Of a block nothing is in use any more. Return  as tkw__slab_put(). */
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

/* A free place, with its generation, all else as it was. There is room. */
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
 * Free a place. Return  memory of TKW__BLOCK_BYTES that the caller gives to
 * hooks->free() when it no longer holds the lock, for that takes time; or NULL.
 */
static inline void *tkw__slab_put(struct tkw__slab *s, struct tkw__timeout *to)
{
	uint32_t n = tkw__slab_place_0(to)->before;
	struct tkw__block *b = &s->directory->block[n];
	uint32_t generation = tkw__generation(to) + 1;
	bool had_room = tkw__block_has_room(b);

	assert(tkw__state(to) != TKW__FREE && b->live > 0);
	/* Out of generations: no id is good for it, and it is not in a list. */
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

/* The timeout of an index and a generation, if it is in use; else NULL. */
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

/* For those who walk: the i-th place of a block, NULL if there is none. */
const struct tkw__timeout *tkw__slab_at(const struct tkw__slab *s,
					uint32_t block, uint32_t place);

/* How many places are in use. */
uint64_t tkw__slab_live(const struct tkw__slab *s);

/* Is none? Of all empty blocks only the spare one is kept. */
static inline bool tkw__slab_is_empty(const struct tkw__slab *s)
{
	return s->directory == NULL ||
	       s->directory->blocks == (s->spare != TKW__NO_BLOCK);
}

/* What is broken, or NULL. In O(places). */
const char *tkw__slab_check(const struct tkw__slab *s);

#endif /* TKW_TIMER_SLAB_H */
