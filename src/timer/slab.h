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
 * All calls under the shard's lock. None waits for memory but take().
 */
#ifndef TKW_TIMER_SLAB_H
#define TKW_TIMER_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timer/timeout.h"

#ifndef TKW__BLOCK_BITS
#define TKW__BLOCK_BITS 15
#endif
enum {
	TKW__BLOCK_PLACES = 1 << TKW__BLOCK_BITS,
	TKW__BLOCK_BYTES = TKW__BLOCK_PLACES * (int)sizeof(struct tkw__timeout)
};
#define TKW__BLOCKS_MAX (UINT32_C(1) << (32 - TKW__BLOCK_BITS))
#define TKW__NO_BLOCK UINT32_MAX

struct tkw__block {
	struct tkw__timeout *places; /* NULL: given back */
	struct tkw__timeout *free;   /* used before, and free now */
	uint32_t fresh;              /* from this place on, never used */
	uint32_t live;               /* places in use */
	uint32_t generation;         /* of fresh places */
	uint32_t top;                /* the highest generation in this life */
	/* In the list of blocks with room; or (next) of vacant numbers. */
	uint32_t next;
	uint32_t prev;
};

/* One piece, so that one store changes it: a forked child, which may see the
 * slab as it is in the middle of a change, frees what it finds. */
struct tkw__directory {
	size_t bytes;
	uint32_t capacity;
	struct tkw__block block[]; /* zeroed */
};

struct tkw__slab {
	const struct tkw_timer_hooks *hooks;
	struct tkw__directory *directory; /* NULL at first */
	uint32_t count;                   /* of numbers given out so far */
	uint32_t roomy;                   /* the first block with room */
	uint32_t vacant;                  /* the first number without a block */
	uint32_t spare;                   /* the empty block that is kept */
	uint64_t live;
	uint64_t random;
};

void tkw__slab_init(struct tkw__slab *s, const struct tkw_timer_hooks *hooks,
		    uint64_t random);

/* Free all memory, whatever is in use. */
void tkw__slab_fini(struct tkw__slab *s);

/* A free place, with its generation, all else as it was; NULL: no memory. */
struct tkw__timeout *tkw__slab_take(struct tkw__slab *s);

/*
 * Free a place. Return  memory of TKW__BLOCK_BYTES that the caller gives to
 * hooks->free() when it no longer holds the lock, for that takes time; or NULL.
 */
void *tkw__slab_put(struct tkw__slab *s, struct tkw__timeout *to);

/* The timeout of an index and a generation, if it is in use; else NULL. */
struct tkw__timeout *tkw__slab_find(const struct tkw__slab *s, uint32_t index,
				    uint32_t generation);

uint32_t tkw__slab_index(const struct tkw__timeout *to);

/* For those who walk: the i-th place of a block, NULL if there is none. */
const struct tkw__timeout *tkw__slab_at(const struct tkw__slab *s,
					uint32_t block, uint32_t place);

/* What is broken, or NULL. In O(blocks). */
const char *tkw__slab_check(const struct tkw__slab *s);

#endif /* TKW_TIMER_SLAB_H */
