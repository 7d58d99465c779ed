/* SPDX-License-Identifier: MIT */
/*
 * test_id_table.c - tests the table of records: an id is valid only for the use
 * of a record that it was made for, whatever comes after, and a lookup takes no
 * lock.
 */
#include "timer_bed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/id_table.h"

/* An assert of cmocka does not work on a thread that is not the test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

/* --- memory, which may be refused ---------------------------------------- */

/* The linker (--wrap) sends the calls here. The assembler names are needed
 * because C reserves names with two underscores. */
#define NAMED(name) __asm__(name)
void *real_take(size_t bytes, size_t align) NAMED("__real_tkw__memory_take");
void *wrap_take(size_t bytes, size_t align) NAMED("__wrap_tkw__memory_take");
void real_free(void *mem, size_t bytes) NAMED("__real_tkw__memory_free");
void wrap_free(void *mem, size_t bytes) NAMED("__wrap_tkw__memory_free");

static bool refuse;
static size_t pieces; /* pieces that are not freed */
static size_t taken;  /* their bytes */

void *wrap_take(size_t bytes, size_t align)
{
	void *mem = refuse ? NULL : real_take(bytes, align);

	if (mem == NULL)
		return NULL;
	pieces++;
	taken += bytes;
	/* The table itself must set a fresh record to zero. */
	memset(mem, 0xa5, bytes);
	return mem;
}

void wrap_free(void *mem, size_t bytes)
{
	pieces--;
	taken -= bytes;
	real_free(mem, bytes);
}

/* --- helpers ------------------------------------------------------------- */

enum {
	IN_USE = 7, /* the state of a record in use */
	BLOCK = 1 << TKW__RECORD_BLOCK_BITS
};

struct thing {
	struct tkw__record record;
	_Alignas(32) unsigned char body[64];
};

static void init(struct tkw__table *t, uint32_t max)
{
	tkw__table_init(t, sizeof(struct thing), _Alignof(struct thing), max);
	assert_int_equal(pieces, 0);
}

static void fini(struct tkw__table *t)
{
	tkw__table_fini(t);
	assert_int_equal(pieces, 0);
	assert_int_equal(taken, 0);
}

/* Takes a record, and sets its state to IN_USE. */
static struct thing *take(struct tkw__table *t)
{
	struct tkw__record *r = NULL;

	assert_int_equal(tkw__table_take(t, &r), 0);
	assert_non_null(r);
	assert_int_equal(tkw__record_state(r), 0);
	tkw__record_set_state(r, IN_USE);
	return (struct thing *)r;
}

static uint64_t id_of(const struct thing *x)
{
	return tkw__record_id(&x->record, 0);
}

static void assert_found(const struct tkw__table *t, uint64_t id,
			 const struct thing *x)
{
	assert_ptr_equal(tkw__table_find(t, id), &x->record);
}

static void assert_unknown(const struct tkw__table *t, uint64_t id)
{
	assert_null(tkw__table_find(t, id));
}

/* --- ids ----------------------------------------------------------------- */

static void test_table_takes_no_memory_at_first(void **state)
{
	/* Volatile, so that the compiler does not look into a table without
	 * blocks. */
	static volatile uint32_t indices[] = {
		0, 1, TKW__RECORDS_MAX, (1 << TKW__RECORD_INDEX_BITS) - 1
	};
	static volatile uint64_t ids[] = { 0, 1, UINT64_MAX };
	struct tkw__table t;
	size_t i;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	for (i = 0; i < sizeof(indices) / sizeof(indices[0]); i++)
		assert_null(tkw__table_at(&t, indices[i]));
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_unknown(&t, ids[i]);
	fini(&t);
}

static void test_table_finds_what_was_taken(void **state)
{
	enum {
		MANY = 5 * BLOCK
	};
	static struct thing *things[MANY];
	static uint64_t ids[MANY];
	struct tkw__table t;
	uint32_t i;
	size_t k;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	for (i = 0; i < MANY; i++) {
		things[i] = take(&t);
		assert_int_equal(things[i]->record.index, i);
		assert_int_equal((uintptr_t)things[i] % _Alignof(struct thing),
				 0);
		for (k = 0; k < sizeof(things[i]->body); k++)
			assert_int_equal(things[i]->body[k], 0);
		memset(things[i]->body, (int)i, sizeof(things[i]->body));
		ids[i] = id_of(things[i]);
		assert_true(ids[i] != 0);
	}
	/* No record has moved, and no two overlap. */
	for (i = 0; i < MANY; i++) {
		assert_found(&t, ids[i], things[i]);
		assert_ptr_equal(tkw__table_at(&t, i), things[i]);
		for (k = 0; k < sizeof(things[i]->body); k++)
			assert_int_equal(things[i]->body[k], (uint8_t)i);
	}
	assert_null(tkw__table_at(&t, MANY));
	/* The blocks hold one, two and four times BLOCK records. */
	assert_int_equal(pieces, 3);
	assert_int_equal(taken, (size_t)7 * BLOCK * sizeof(struct thing));
	fini(&t);
}

static void test_table_id_has_part_index_and_generation(void **state)
{
	struct tkw__table t;
	struct thing *x;
	uint32_t part;
	uint64_t id;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	take(&t);
	x = take(&t);
	for (part = 0; part < 256; part++) {
		id = tkw__record_id(&x->record, part);
		assert_int_equal(tkw__id_part(id), part);
		assert_int_equal(tkw__id_index(id), 1);
		assert_int_equal((uint32_t)id,
				 tkw__record_generation(&x->record));
		assert_true(tkw__record_word(id, IN_USE) ==
			    TKW__LOAD(&x->record.word, RELAXED));
		/* The part of the id is for the caller. The table ignores
		 * it. */
		assert_found(&t, id, x);
	}
	fini(&t);
}

/* Each bit of an id matters, except those of the part. */
static void test_table_id_with_a_wrong_bit_names_nothing(void **state)
{
	struct tkw__table t;
	struct tkw__record *r;
	struct thing *x;
	unsigned bit;
	uint64_t id;
	int i;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	for (i = 0; i < 2 * BLOCK; i++) {
		x = take(&t);
		for (bit = 0; bit < 56; bit++) {
			id = id_of(x) ^ UINT64_C(1) << bit;
			r = tkw__table_find(&t, id);
			/* It is the index of another record, which happens to
			 * have the same generation. */
			if (r && bit >= 32)
				assert_true(tkw__record_id(r, 0) == id);
			else
				assert_null(r);
		}
	}
	fini(&t);
}

/* The first generations of two tables differ, so that the ids of one are most
 * likely not valid for the other. */
static void test_table_begins_at_random(void **state)
{
	uint32_t least = UINT32_MAX;
	uint32_t most = 0;
	struct tkw__table t;
	uint32_t seen;
	int i;

	(void)state;
	for (i = 0; i < 200; i++) {
		init(&t, 1);
		seen = tkw__record_generation(&take(&t)->record);
		assert_true(seen >= 1);
		assert_true(seen <= TKW__RECORD_GENERATION_MAX / 2);
		least = seen < least ? seen : least;
		most = seen > most ? seen : most;
		fini(&t);
	}
	assert_true(least < most);
}

/* --- used again ---------------------------------------------------------- */

static void test_table_put_makes_the_id_stale(void **state)
{
	struct tkw__table t;
	uint64_t ids[5];
	struct thing *first;
	struct thing *x;
	int i;
	int k;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	first = take(&t);
	memset(first->body, 9, sizeof(first->body));
	for (i = 0; i < 5; i++) {
		ids[i] = id_of(first);
		assert_found(&t, ids[i], first);
		tkw__table_put(&t, &first->record);
		for (k = 0; k <= i; k++)
			assert_unknown(&t, ids[k]);
		/* This record is used next, and its content was not changed. */
		x = take(&t);
		assert_ptr_equal(x, first);
		assert_int_equal(x->body[0], 9);
		assert_int_equal(tkw__record_generation(&x->record),
				 (uint32_t)ids[i] + 1);
		for (k = 0; k <= i; k++)
			assert_unknown(&t, ids[k]);
	}
	fini(&t);
}

/* The record that was freed last is used first. */
static void test_table_uses_what_is_free_first(void **state)
{
	struct thing *things[10];
	struct tkw__table t;
	int i;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	for (i = 0; i < 10; i++)
		things[i] = take(&t);
	for (i = 2; i < 8; i++)
		tkw__table_put(&t, &things[i]->record);
	for (i = 7; i >= 2; i--)
		assert_ptr_equal(take(&t), things[i]);
	assert_int_equal(take(&t)->record.index, 10);
	fini(&t);
}

/* No other code knows its id, so the generation is not used up. */
static void test_table_untake_is_as_if_never_taken(void **state)
{
	struct tkw__table t;
	struct thing *x;
	uint64_t id;
	int i;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	x = take(&t);
	id = id_of(x);
	for (i = 0; i < 100; i++) {
		tkw__table_untake(&t, &x->record);
		assert_unknown(&t, id);
		assert_ptr_equal(take(&t), x);
		assert_true(id_of(x) == id);
		assert_found(&t, id, x);
	}
	fini(&t);
}

static void test_table_free_record_has_no_id(void **state)
{
	struct tkw__record *r = NULL;
	struct tkw__table t;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	assert_int_equal(tkw__table_take(&t, &r), 0);
	/* The record is taken, but has no state yet. */
	assert_unknown(&t, tkw__record_id(r, 0));
	tkw__record_set_state(r, 1);
	assert_ptr_equal(tkw__table_find(&t, tkw__record_id(r, 0)), r);
	tkw__record_set_state(r, UINT32_MAX);
	assert_ptr_equal(tkw__table_find(&t, tkw__record_id(r, 0)), r);
	tkw__table_put(&t, r);
	/* The id that it will have next is not valid either. */
	assert_unknown(&t, tkw__record_id(r, 0));
	fini(&t);
}

/* Fault 24: a record whose generations are all used is not used again. */
static void test_table_retires_a_record_that_is_used_up(void **state)
{
	struct tkw__record *r;
	struct tkw__table t;
	struct thing *x;
	uint64_t last;
	uint32_t i;

	(void)state;
	init(&t, 2);
	x = take(&t);
	/* Pretend that it was used this often. */
	TKW__STORE(&x->record.word,
		   (uint64_t)(TKW__RECORD_GENERATION_MAX - 1) << 32 | IN_USE,
		   RELAXED);
	tkw__table_put(&t, &x->record);
	assert_ptr_equal(take(&t), x);
	last = id_of(x);
	assert_int_equal((uint32_t)last, TKW__RECORD_GENERATION_MAX);
	assert_found(&t, last, x);
	tkw__table_put(&t, &x->record);
	assert_unknown(&t, last);
	assert_unknown(&t, 0);
	for (i = 0; i < 1000; i++)
		assert_unknown(&t, i);
	assert_int_equal(take(&t)->record.index, 1);
	/* A retired record counts towards the limit. */
	assert_int_equal(tkw__table_take(&t, &r), -EAGAIN);
	fini(&t);
}

#if TKW__RECORD_GENERATION_BITS < 32
/* Fault 24: all generations are used, and no old id becomes valid again. */
static void test_table_narrow_generations_wrap(void **state)
{
	enum {
		USES = 2000
	};
	static uint64_t ids[USES];
	struct tkw__table t;
	struct thing *x;
	uint32_t retired;
	size_t i;
	size_t k;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	for (i = 0; i < USES; i++) {
		x = take(&t);
		ids[i] = id_of(x);
		for (k = 0; k < i; k++)
			assert_true(ids[k] != ids[i]);
		tkw__table_put(&t, &x->record);
	}
	for (i = 0; i < USES; i++)
		assert_unknown(&t, ids[i]);
	/* Records were retired one after another. Each was used for between
	 * half of its generations and all of them. */
	retired = x->record.index;
	assert_true(retired >= USES / TKW__RECORD_GENERATION_MAX - 1);
	assert_true(retired <= USES / (TKW__RECORD_GENERATION_MAX / 2));
	fini(&t);
}
#endif

/* --- limits -------------------------------------------------------------- */

static void test_table_bound_is_exact(void **state)
{
	const uint32_t bounds[] = { 0,         1,         2,    BLOCK,
				    BLOCK + 1, 3 * BLOCK, 1000, 3 * BLOCK + 1 };
	struct tkw__record *r;
	struct tkw__table t;
	struct thing *x = NULL;
	uint32_t n;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		init(&t, bounds[i]);
		for (n = 0; n < bounds[i]; n++)
			x = take(&t);
		for (n = 0; n < 3; n++) {
			r = (struct tkw__record *)&t;
			assert_int_equal(tkw__table_take(&t, &r), -EAGAIN);
			assert_ptr_equal(r, &t);
		}
		if (bounds[i] > 0) {
			tkw__table_put(&t, &x->record);
			assert_ptr_equal(take(&t), x);
			assert_int_equal(tkw__table_take(&t, &r), -EAGAIN);
		}
		fini(&t);
	}
}

/* Each index is in one block, and each block has the right size. */
static void test_table_blocks_hold_all_indices(void **state)
{
	uint32_t block = 0;
	uint32_t begin = 0; /* first index of the block */
	uint32_t i;

	(void)state;
	for (i = 0; i < TKW__RECORDS_MAX; i++) {
		if (i == begin + ((uint32_t)BLOCK << block)) {
			begin = i;
			block++;
		}
		if (tkw__table_block_of(i) != block)
			fail_msg("index %u is in block %u instead of %u", i,
				 tkw__table_block_of(i), block);
	}
	assert_int_equal(block, TKW__RECORD_BLOCKS - 1);
	/* The last one is full. */
	assert_int_equal(i - begin, (uint32_t)BLOCK << block);
	assert_true(TKW__RECORDS_MAX <= 1 << TKW__RECORD_INDEX_BITS);
}

/* Fault 1: whichever block is refused, the table does not change, and the next
 * try works. */
static void test_table_without_memory_is_untouched(void **state)
{
	struct tkw__table before;
	struct tkw__record *r;
	struct tkw__table t;
	struct thing *x = NULL;
	uint64_t id = 0;
	size_t block;
	uint32_t n;

	(void)state;
	init(&t, TKW__RECORDS_MAX);
	for (block = 0; block < 6; block++) {
		for (n = 0; n < 3; n++) {
			before = t;
			refuse = true;
			r = (struct tkw__record *)&t;
			assert_int_equal(tkw__table_take(&t, &r), -ENOMEM);
			refuse = false;
			assert_ptr_equal(r, &t);
			assert_memory_equal(&t, &before, sizeof(t));
			assert_int_equal(pieces, block);
			if (x)
				assert_found(&t, id, x);
		}
		for (n = 0; n < (uint32_t)BLOCK << block; n++) {
			x = take(&t);
			id = id_of(x);
			/* Taking a free record needs no memory. */
			refuse = true;
			tkw__table_put(&t, &x->record);
			assert_ptr_equal(take(&t), x);
			refuse = false;
			assert_unknown(&t, id);
			id = id_of(x);
		}
	}
	fini(&t);
}

/* --- threads ------------------------------------------------------------- */

enum {
	ROUNDS = 20000,
	PUBLISHED = 64
};

/* One thread takes and puts records, and publishes ids. Others look for
 * them. */
struct scene {
	struct tkw__table t;
	_Atomic uint64_t ids[PUBLISHED];
	atomic_bool over;
};

static void *look_for_ids(void *arg)
{
	/* An id that was never given out. Volatile, as above. */
	static volatile uint64_t last_id = UINT64_MAX >> 8;
	struct scene *s = arg;
	struct tkw__record *r;
	uint64_t id;
	unsigned i;

	for (i = 0; !s->over; i++) {
		id = s->ids[i % PUBLISHED];
		/* This finds its record or nothing, because the record may have
		 * been put. */
		r = tkw__table_find(&s->t, id);
		must(r == NULL || r->index == tkw__id_index(id));
		if (id != 0) {
			r = tkw__table_at(&s->t, tkw__id_index(id));
			must(r != NULL && r->index == tkw__id_index(id));
		}
		must(tkw__table_find(&s->t, last_id) == NULL);
	}
	return NULL;
}

static void test_table_is_looked_at_without_a_lock(void **state)
{
	struct thing *held[PUBLISHED] = { NULL };
	struct scene *s = calloc(1, sizeof(*s));
	pthread_t threads[3];
	unsigned i;
	unsigned k;

	(void)state;
	assert_non_null(s);
	init(&s->t, TKW__RECORDS_MAX);
	for (i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, look_for_ids, s), 0);
	for (i = 0; i < ROUNDS; i++) {
		k = i % PUBLISHED;
		if (held[k] && i % 5 != 0) {
			assert_found(&s->t, s->ids[k], held[k]);
			tkw__table_put(&s->t, &held[k]->record);
			assert_unknown(&s->t, s->ids[k]);
		}
		held[k] = take(&s->t);
		s->ids[k] = id_of(held[k]);
	}
	s->over = true;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	fini(&s->t);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_takes_no_memory_at_first),
		cmocka_unit_test(test_table_finds_what_was_taken),
		cmocka_unit_test(test_table_id_has_part_index_and_generation),
		cmocka_unit_test(test_table_id_with_a_wrong_bit_names_nothing),
		cmocka_unit_test(test_table_begins_at_random),
		cmocka_unit_test(test_table_put_makes_the_id_stale),
		cmocka_unit_test(test_table_uses_what_is_free_first),
		cmocka_unit_test(test_table_untake_is_as_if_never_taken),
		cmocka_unit_test(test_table_free_record_has_no_id),
		cmocka_unit_test(test_table_retires_a_record_that_is_used_up),
#if TKW__RECORD_GENERATION_BITS < 32
		cmocka_unit_test(test_table_narrow_generations_wrap),
#endif
		cmocka_unit_test(test_table_bound_is_exact),
		cmocka_unit_test(test_table_blocks_hold_all_indices),
		cmocka_unit_test(test_table_without_memory_is_untouched),
		cmocka_unit_test(test_table_is_looked_at_without_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
