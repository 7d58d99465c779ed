/* SPDX-License-Identifier: MIT */
/*
 * slab.c - blocks of places.
 *
 * Invariants, verified by tkw__slab_check():
 * (S1) The `live` of a block is the number of its places in use.
 * (S2) The list `roomy` holds exactly the blocks that have memory and room.
 * (S3) A block that has memory and no place in use is the spare one.
 */
#include "timer/slab.h"

#include <string.h>

#include "os/memory.h"

enum {
	FIRST_BLOCKS = 4,
	MANY_BLOCKS = 32
};

void tkw__slab_init(struct tkw__slab *s, struct tkw__slab_rest *rest)
{
	*s = (struct tkw__slab){
		.roomy = TKW__NO_BLOCK,
		.vacant = TKW__NO_BLOCK,
		.spare = TKW__NO_BLOCK,
		.rest = rest,
	};
}

void tkw__slab_fini(struct tkw__slab *s)
{
	struct tkw__directory *d = s->directory;

	if (d == NULL)
		return;
	for (uint32_t n = 0; n < d->capacity; n++) {
		if (d->block[n].places)
			s->rest->hooks->free(d->block[n].places,
					     TKW__BLOCK_BYTES,
					     s->rest->hooks->ctx);
	}
	s->rest->hooks->free(d, d->bytes, s->rest->hooks->ctx);
}

void tkw__slab_list(struct tkw__slab *s, uint32_t n)
{
	s->directory->block[n].prev = TKW__NO_BLOCK;
	s->directory->block[n].next = s->roomy;
	if (s->roomy != TKW__NO_BLOCK)
		s->directory->block[s->roomy].prev = n;
	s->roomy = n;
}

void tkw__slab_unlist(struct tkw__slab *s, uint32_t n)
{
	const struct tkw__block *b = &s->directory->block[n];

	if (b->prev == TKW__NO_BLOCK)
		s->roomy = b->next;
	else
		s->directory->block[b->prev].next = b->next;
	if (b->next != TKW__NO_BLOCK)
		s->directory->block[b->next].prev = b->prev;
}

/* Makes room for one more number in the directory. */
static bool grow(struct tkw__slab *s)
{
	struct tkw__directory *old = s->directory;
	uint32_t capacity = old ? old->capacity : 0;
	uint32_t more = capacity == 0 ? FIRST_BLOCKS : 2 * capacity;
	size_t bytes = sizeof(*old) + more * sizeof(old->block[0]);
	struct tkw__directory *d;

	if (s->count < capacity)
		return true;
	if (s->count == TKW__BLOCKS_MAX)
		return false;
	d = s->rest->hooks->alloc(bytes, _Alignof(struct tkw__directory),
				  s->rest->hooks->ctx);
	if (d == NULL)
		return false;
	memset(d, 0, bytes);
	d->bytes = bytes;
	d->capacity = more;
	if (old) {
		d->blocks = old->blocks;
		memcpy(d->block, old->block, capacity * sizeof(d->block[0]));
	}
	s->directory = d;
	if (old)
		s->rest->hooks->free(old, old->bytes, s->rest->hooks->ctx);
	return true;
}

/* A first generation in the lower half, so that at least half of them are
 * left. */
static uint32_t first_generation(struct tkw__slab *s)
{
	s->rest->random = s->rest->random * 1664525 + 1013904223;
	return 1 + (s->rest->random >> 8) % (TKW__GENERATION_MAX / 2);
}

/* A number for a new block: a vacant one, or the next one. */
static uint32_t take_number(struct tkw__slab *s)
{
	uint32_t n = s->vacant;

	if (n != TKW__NO_BLOCK) {
		s->vacant = s->directory->block[n].next;
		return n;
	}
	n = s->count++;
	s->directory->block[n] = (struct tkw__block){
		.generation = first_generation(s),
	};
	return n;
}

/* True if huge pages are worth it. In a small slab, the unused part of one
 * would be a large share. */
static bool is_large(const struct tkw__slab *s)
{
	return s->directory->blocks >= MANY_BLOCKS;
}

void tkw__slab_prepare_fresh(const struct tkw__slab *s,
			     const struct tkw__block *b)
{
	struct tkw__timeout *to = &b->places[b->fresh];

	if (s->rest->systems && !is_large(s))
		tkw__memory_use_soon(to, TKW__FRESH_PLACES * sizeof(*to));
}

bool tkw__slab_add_block(struct tkw__slab *s)
{
	struct tkw__timeout *places;
	uint32_t n;

	if (s->vacant == TKW__NO_BLOCK && !grow(s))
		return false;
	places = s->rest->hooks->alloc(TKW__BLOCK_BYTES, TKW__BLOCK_BYTES,
				       s->rest->hooks->ctx);
	if (places == NULL)
		return false;
	n = take_number(s);
	s->directory->blocks++;
	/* Memory from the user's allocator is left alone. */
	if (s->rest->systems && is_large(s))
		tkw__memory_use_all(places, TKW__BLOCK_BYTES);
	places[0] = (struct tkw__timeout){ .before = n };
	s->directory->block[n].places = places;
	s->directory->block[n].fresh = 1;
	s->directory->block[n].top = s->directory->block[n].generation;
	tkw__slab_list(s, n);
	return true;
}

/* Takes a block with no place in use out of the slab. Returns its memory. */
static void *give_back(struct tkw__slab *s, uint32_t n)
{
	struct tkw__block *b = &s->directory->block[n];
	void *mem = b->places;

	if (tkw__block_has_room(b))
		tkw__slab_unlist(s, n);
	s->directory->blocks--;
	b->places = NULL;
	b->free = NULL;
	b->fresh = 0;
	b->generation = b->top + 1;
	/* A number that has used up its generations is never given out
	 * again. */
	if (b->generation <= TKW__GENERATION_MAX) {
		b->next = s->vacant;
		s->vacant = n;
	}
	return mem;
}

/* Keeps an empty block, or takes it or the spare one out. */
static void *keep_one(struct tkw__slab *s, uint32_t n)
{
	const struct tkw__block *b = &s->directory->block[n];

	if (tkw__block_has_room(b) && s->spare == TKW__NO_BLOCK) {
		s->spare = n;
		return NULL;
	}
	/* Of two empty blocks, keep the one that has used more generations:
	 * when a block is given back, all its places lose as many as the most
	 * used one. */
	if (tkw__block_has_room(b) &&
	    s->directory->block[s->spare].top < b->top) {
		uint32_t other = s->spare;

		s->spare = n;
		n = other;
	}
	return give_back(s, n);
}

void *tkw__slab_emptied(struct tkw__slab *s, uint32_t n)
{
	void *mem = keep_one(s, n);

	if (tkw__slab_is_empty(s))
		tkw__bell_ring(&s->rest->emptied);
	return mem;
}

const struct tkw__timeout *tkw__slab_at(const struct tkw__slab *s,
					uint32_t block, uint32_t place)
{
	const struct tkw__block *b = &s->directory->block[block];

	return b->places && place < b->fresh ? &b->places[place] : NULL;
}

uint64_t tkw__slab_live(const struct tkw__slab *s)
{
	uint64_t live = 0;

	for (uint32_t n = 0; n < s->count; n++)
		live += s->directory->block[n].live;
	return live;
}

/* Counts the places in use of one block, by looking at each. */
static uint32_t count_live(const struct tkw__block *b)
{
	uint32_t live = 0;

	for (uint32_t i = 1; i < b->fresh; i++)
		live += tkw__state(&b->places[i]) != TKW__FREE;
	return live;
}

const char *tkw__slab_check(const struct tkw__slab *s)
{
	uint32_t roomy = 0;

	for (uint32_t n = 0; n < s->count; n++) {
		const struct tkw__block *b = &s->directory->block[n];

		if (b->places == NULL)
			continue;
		roomy += tkw__block_has_room(b);
		if (b->live == 0 && n != s->spare)
			return "S3: an empty block was not given back";
	}
	for (uint32_t n = s->roomy; n != TKW__NO_BLOCK;
	     n = s->directory->block[n].next) {
		if (roomy-- == 0 ||
		    !tkw__block_has_room(&s->directory->block[n]))
			return "S2: a block without room is listed";
	}
	if (roomy > 0)
		return "S2: a block with room is not listed";
	for (uint32_t n = 0; n < s->count; n++) {
		const struct tkw__block *b = &s->directory->block[n];

		if (b->places && b->live != count_live(b))
			return "S1: places in use were miscounted";
	}
	return NULL;
}
