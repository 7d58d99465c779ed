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
	TKW__FRESH_PLACES = 1024, /* places prepared at a time */
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
	uint32_t fresh;            /* places from this one on were never used;
				      0 if there are no places */
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
/* Gets memory for the next TKW__FRESH_PLACES places of a block, which were
 * never used. */
void tkw__slab_prepare_fresh(const struct tkw__slab *s,
			     const struct tkw__block *b);
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

/* The number of the block that a timeout is in. Who knows it already does not
 * ask here, because place 0 is one cache line more. */
static inline uint32_t tkw__slab_block_of(const struct tkw__timeout *to)
{
	return tkw__slab_place_0(to)->before;
}

/* The index of a timeout in block n. */
static inline uint32_t tkw__slab_index(uint32_t n,
				       const struct tkw__timeout *to)
{
	uint32_t place =
		(uint32_t)((uintptr_t)to / sizeof(*to)) % TKW__BLOCK_PLACES;

	return n << TKW__BLOCK_BITS | place;
}

/* The number of the block in which the timeout of a name is, and the block. */
static inline uint32_t tkw__number_of_name(struct tkw__name name)
{
	return name.index >> TKW__BLOCK_BITS;
}

static inline struct tkw__block *tkw__block_of_name(const struct tkw__slab *s,
						    struct tkw__name name)
{
	return &s->directory->block[tkw__number_of_name(name)];
}

/* True if tkw__block_take() is all of a take from this block: the block is not
 * the spare one, and has room afterwards. */
static inline bool tkw__block_takes_fast(const struct tkw__block *b)
{
	if (b->live == 0)
		return false;
	if (b->fresh < TKW__BLOCK_PLACES - 1)
		return b->free != NULL || b->fresh % TKW__FRESH_PLACES != 0;
	return b->free != NULL && b->free->ctx != NULL;
}

/* True if tkw__block_put() is all of a put of a timeout of this generation. */
static inline bool tkw__block_puts_fast(const struct tkw__block *b,
					uint32_t generation)
{
	return b->live > 1 && tkw__block_has_room(b) &&
	       generation < TKW__GENERATION_MAX;
}

/* Takes a place of a block that has room: one that was used before, if there is
 * one. */
static inline struct tkw__timeout *tkw__block_take(struct tkw__block *b)
{
	struct tkw__timeout *to = b->free;

	b->live++;
	if (to) {
		b->free = to->ctx;
	} else {
		to = &b->places[b->fresh++];
		to->entry.flags = 0;
		to->mark = b->generation << TKW__GENERATION_SHIFT;
	}
	return to;
}

/* Frees a place whose next generation this is. */
static inline void tkw__block_put(struct tkw__block *b, struct tkw__timeout *to,
				  uint32_t generation)
{
	to->mark = generation << TKW__GENERATION_SHIFT;
	to->ctx = b->free;
	b->free = to;
	if (b->top < generation)
		b->top = generation;
	b->live--;
}

/* Takes a free place. Its generation is set; the rest is as it was left. The
 * slab must have room. `block` receives the number of its block. */
static inline struct tkw__timeout *tkw__slab_take(struct tkw__slab *s,
						  uint32_t *block)
{
	uint32_t n = s->roomy;
	struct tkw__block *b;
	struct tkw__timeout *to;

	assert(tkw__slab_has_room(s));
	*block = n;
	b = &s->directory->block[n];
	if (s->spare == n)
		s->spare = TKW__NO_BLOCK;
	if (b->free == NULL && b->fresh % TKW__FRESH_PLACES == 0)
		tkw__slab_prepare_fresh(s, b);
	to = tkw__block_take(b);
	if (!tkw__block_has_room(b))
		tkw__slab_unlist(s, n);
	return to;
}

/*
 * Frees a place of block n. Returns NULL, or memory of TKW__BLOCK_BYTES that
 * the caller must give to hooks->free(). The caller does that after it has
 * dropped the lock, because it takes time.
 */
static inline void *tkw__slab_put(struct tkw__slab *s, uint32_t n,
				  struct tkw__timeout *to)
{
	struct tkw__block *b = &s->directory->block[n];
	uint32_t generation = tkw__generation(to) + 1;
	bool had_room = tkw__block_has_room(b);

	assert(tkw__state(to) != TKW__FREE && b->live > 0);
	if (generation <= TKW__GENERATION_MAX) {
		tkw__block_put(b, to, generation);
		if (!had_room)
			tkw__slab_list(s, n);
	} else {
		/* It is out of generations: no id is valid for it, and it is in
		 * no list. */
		to->mark = generation << TKW__GENERATION_SHIFT;
		b->top = generation;
		b->live--;
	}
	return b->live > 0 ? NULL : tkw__slab_emptied(s, n);
}

/* The place of an index, whatever is there, or NULL if there is no such place.
 * A block without memory has no places. */
static inline struct tkw__timeout *tkw__slab_place(const struct tkw__slab *s,
						   uint32_t index)
{
	uint32_t n = index >> TKW__BLOCK_BITS;
	uint32_t place = index % TKW__BLOCK_PLACES;
	const struct tkw__block *b;

	if (n >= s->count)
		return NULL;
	b = &s->directory->block[n];
	return place < b->fresh ? &b->places[place] : NULL;
}

/* The timeout of an index and a generation, or NULL if it is not in use. (Place
 * 0 is FREE.) */
static inline struct tkw__timeout *
tkw__slab_find(const struct tkw__slab *s, uint32_t index, uint32_t generation)
{
	struct tkw__timeout *to = tkw__slab_place(s, index);

	if (to == NULL || tkw__generation(to) != generation ||
	    tkw__state(to) == TKW__FREE)
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
