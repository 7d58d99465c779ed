/* SPDX-License-Identifier: MIT */
/* id_table.c - memory for the records. */
#include "os/id_table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "os/memory.h"

static size_t bytes_of(const struct tkw__table *t, uint32_t block)
{
	return (size_t)t->record_bytes << (TKW__RECORD_BLOCK_BITS + block);
}

void tkw__table_init(struct tkw__table *t, uint32_t record_bytes,
		     uint32_t align, uint32_t max)
{
	assert(max <= TKW__RECORDS_MAX);
	*t = (struct tkw__table){
		.free = TKW__NO_RECORD,
		.max = max,
		.record_bytes = record_bytes,
		.align = align,
		.dice = tkw__dice_make(0),
	};
}

void tkw__table_fini(struct tkw__table *t)
{
	for (uint32_t i = 0; i < TKW__RECORD_BLOCKS; i++) {
		if (t->blocks[i])
			tkw__memory_free(t->blocks[i], bytes_of(t, i));
	}
}

int tkw__table_take_fresh(struct tkw__table *t, struct tkw__record **out)
{
	uint32_t index = TKW__LOAD(&t->fresh, RELAXED);
	uint32_t block = tkw__table_block_of(index);
	int64_t first_half = TKW__RECORD_GENERATION_MAX / 2;

	if (index >= t->max)
		return -EAGAIN;
	if (t->blocks[block] == NULL) {
		void *mem = tkw__memory_take(bytes_of(t, block), t->align);

		if (mem == NULL)
			return -ENOMEM;
		memset(mem, 0, bytes_of(t, block));
		t->blocks[block] = mem;
	}
	/* RELEASE pairs with the ACQUIRE of tkw__table_at(): a thread that
	 * finds the record finds it zeroed. Its generation is still 0, which no
	 * id has. */
	TKW__STORE(&t->fresh, index + 1, RELEASE);
	*out = tkw__table_place(t, index);
	(*out)->index = index;
	/* The first generation is in the lower half, so that at least half of
	 * them are left. */
	TKW__STORE(&(*out)->word,
		   (uint64_t)(1 + tkw__dice_roll(&t->dice, first_half)) << 32,
		   RELAXED);
	return 0;
}
