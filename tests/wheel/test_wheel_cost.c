/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_cost.c - SPEC 1.5, and the costs in 1.1, 1.7 and 1.11. They are
 * counted without a clock: steps of an advance, memory that must not be
 * touched, calls of the allocator.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, sysconf */
#include "wheel_bed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wheel/engine.h"

static const uint64_t ten_years = UINT64_C(315360000000); /* in ms */

static void count_it(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)e;
	++*(unsigned *)ctx;
}

static void test_1_5_an_empty_wheel_advances_without_a_step(void **state)
{
	struct bed *b = *state;

	assert_int_equal(bed_steps(b, ten_years), 0);
	assert_int_equal(bed_steps(b, TKW_TICK_NEVER), 0);
	assert_true(tkw_wheel_now_tick(b->w) == TKW_TICK_NEVER);
}

/* Fault 15: ten years pass. Entries beyond that cost no step. */
static void test_1_5_ten_years_before_far_entries_cost_no_step(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, (UINT64_C(2) << 40) + i * ten_years);
	assert_int_equal(bed_steps(b, ten_years), 0);
	bed_expect(b, "");
	assert_int_equal(tkw_wheel_count(b->w), BED_ENTRIES);
}

/* The hashed engine looks at them, but not in each round. */
static void test_1_5_ten_years_hashed_look_at_an_entry_once(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, 2 * ten_years + i);
	assert_true(bed_steps(b, ten_years) <= BED_ENTRIES);
	/* In each lap with a due entry, it may look at each entry once more. */
	assert_true(bed_steps(b, 2 * ten_years) <= UINT64_C(2) * BED_ENTRIES);
	assert_int_equal(tkw_wheel_count(b->w), BED_ENTRIES - 1);
}

/* Through all rings: a move out of each ring except the lowest, and the
 * expiry. */
static void test_1_5_an_entry_moves_at_most_once_per_ring(void **state)
{
	struct bed *b = *state;
	uint64_t tick = 0;
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings; ring++) {
		tick = tick * b->shape.slots + 1;
		bed_restart(b, 0);
		bed_add(b, 0, tick);
		assert_true(bed_steps(b, tick) <= ring + 1);
		assert_int_equal(tkw_wheel_count(b->w), 0);
	}
	/* It does not move more often if time goes from next tick to next
	 * tick. */
	bed_restart(b, 0);
	bed_add(b, 0, tick);
	while (tkw_wheel_next_tick(b->w) < tick)
		bed_advance(b, tkw_wheel_next_tick(b->w));
	assert_int_equal(bed_steps(b, tick), 1);
}

/* An entry whose lower digits are 0 skips the rings below, because it is
 * due. */
static void test_1_5_n_entries_cost_n_times_the_rings_at_most(void **state)
{
	struct bed *b = *state;
	uint64_t steps = 0;
	uint64_t tick = 1;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++) {
		bed_add(b, i, tick - 1);
		tick = tick * 2 + (i % 3 == 0);
		if (tick > UINT64_MAX / 4)
			tick = 1 + i;
	}
	while (tkw_wheel_count(b->w) > 0)
		steps += bed_steps(b, tkw_wheel_next_tick(b->w));
	assert_true(steps <= (uint64_t)BED_ENTRIES * b->shape.rings);
	assert_int_equal(b->expired, BED_ENTRIES);
}

/* Extended a thousand times, it moves once each time its old slot comes up. */
static void
test_1_5_extensions_cost_a_move_only_when_the_slot_is_up(void **state)
{
	struct bed *b = *state;
	uint64_t i;

	bed_add(b, 0, 10);
	for (i = 0; i < 1000; i++)
		bed_extend(b, 0, 11 + i);
	assert_int_equal(bed_steps(b, 9), 0);
	assert_int_equal(bed_steps(b, 10), 1);
	assert_int_equal(tkw_wheel_count(b->w), 1);
}

/* A step is what the bound counts. There is exactly one per entry. */
static void test_1_5_a_tick_costs_a_step_per_entry_due(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	bed_advance(b, 6);
	for (i = 0; i < 10; i++)
		bed_add(b, i, 7);
	assert_int_equal(bed_steps(b, 7), 10);
	assert_int_equal(b->expired, 10);
}

/* Passing an entry whose round has not come is a step, too. */
enum {
	PASSED = 5
};

static void add_passed(struct bed *b, uint64_t now)
{
	uint32_t i;

	for (i = 1; i <= PASSED; i++)
		bed_add(b, i, now + i * b->shape.slots);
}

/* Looks through the slot of now. Only the time must have changed. */
static void expect_passed(struct bed *b, uint64_t now)
{
	uint64_t slot = now & (b->shape.slots - 1);
	uint32_t i;

	assert_true(tkw_wheel_now_tick(b->w) == now + 1);
	assert_int_equal(tkw_wheel_count(b->w), PASSED);
	for (i = 1; i <= PASSED; i++) {
		assert_true(tkw_entry_tick(&b->e[i]) ==
			    now + i * b->shape.slots);
		bed_expect_place(b, i, 0, slot, i - 1);
	}
}

static void test_1_5_an_entry_passed_over_is_a_step(void **state)
{
	struct bed *b = *state;
	uint64_t now = 3;
	uint32_t i;

	bed_restart(b, now);
	bed_add(b, 0, now);
	add_passed(b, now);
	assert_int_equal(bed_advance_by(b, now, 1), 1);
	bed_expect(b, "0@3");
	for (i = 1; i < PASSED; i++) {
		assert_int_equal(bed_advance_by(b, now, 1), 1);
		assert_true(tkw_wheel_now_tick(b->w) == now);
	}
	assert_int_equal(bed_advance_by(b, now, 1), 0);
	bed_expect(b, "");
	expect_passed(b, now);
}

/* An entry that is due behind them has to wait for that many steps. */
static void test_1_5_entries_passed_over_delay_one_behind(void **state)
{
	struct bed *b = *state;
	uint64_t now = 3;

	bed_restart(b, now);
	add_passed(b, now);
	bed_add(b, 0, now);
	assert_int_equal(bed_advance_by(b, now, PASSED), 1);
	bed_expect(b, "");
	assert_true(tkw_wheel_now_tick(b->w) == now);
	assert_int_equal(bed_advance_by(b, now, 1), 0);
	bed_expect(b, "0@3");
	expect_passed(b, now);
}

/* Pages of entries that can be made untouchable. */
struct pages {
	struct tkw_entry *e;
	size_t size;
	size_t n;
};

static struct pages map_pages(void)
{
	struct pages p;

	p.size = (size_t)sysconf(_SC_PAGESIZE);
	p.n = p.size / sizeof(struct tkw_entry);
	p.e = mmap(NULL, p.size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true((void *)p.e != MAP_FAILED);
	return p;
}

/*
 * The list of a slot: e[0], e[1], a page of others, e[2], e[3]. The page is
 * protected, so code that walks over the list crashes.
 */
static struct pages make_long_list(struct bed *b, uint64_t tick)
{
	struct pages p = map_pages();
	size_t i;

	bed_add(b, 0, tick);
	bed_add(b, 1, tick);
	for (i = 0; i < p.n; i++)
		assert_int_equal(tkw_wheel_add(b->w, &p.e[i], tick), 0);
	bed_add(b, 2, tick);
	bed_add(b, 3, tick);
	assert_int_equal(mprotect(p.e, p.size, PROT_NONE), 0);
	return p;
}

static void drop_long_list(struct bed *b, struct pages *p)
{
	assert_int_equal(mprotect(p->e, p->size, PROT_READ | PROT_WRITE), 0);
	assert_null(tkw_wheel_check(b->w));
	assert_int_equal(tkw_wheel_fini(b->w), 0);
	b->w = NULL;
	assert_int_equal(munmap(p->e, p->size), 0);
}

static void test_1_5_add_remove_move_touch_only_neighbours(void **state)
{
	struct bed *b = *state;
	uint64_t tick = 3 * b->shape.slots + 5;
	struct pages p = make_long_list(b, tick);

	assert_int_equal(tkw_wheel_add(b->w, &b->e[4], tick), 0);
	assert_int_equal(tkw_wheel_add(b->w, &b->e[5], tick + 1), 0);
	assert_int_equal(tkw_wheel_remove(b->w, &b->e[3]), 0);
	assert_int_equal(tkw_wheel_remove(b->w, &b->e[0]), 0);
	assert_int_equal(tkw_wheel_move(b->w, &b->e[4], tick), 0);
	assert_int_equal(tkw_wheel_move(b->w, &b->e[4], 0), 0);
	assert_int_equal(tkw_wheel_extend(b->w, &b->e[1], tick + 9), 0);
	assert_int_equal(tkw_wheel_count(b->w), p.n + 4);
	drop_long_list(b, &p);
}

static void test_1_7_next_looks_at_no_entry(void **state)
{
	struct bed *b = *state;
	uint64_t tick = 3 * b->shape.slots + 5;
	struct pages p = make_long_list(b, tick);

	bed_expect(b, "");
	assert_true(tkw_wheel_next_tick(b->w) <= tick);
	assert_int_equal(tkw_wheel_count(b->w), p.n + 4);
	drop_long_list(b, &p);
}

/*
 * A wheel with very many slots, a few of them in use. The pages of the others
 * are protected, so code that goes through all slots crashes.
 */
enum {
	SPARSE_SLOTS = 1 << 20,
	SPARSE = 6
};

struct sparse {
	struct tkw_wheel *w;
	void *mem;
	size_t bytes;
	struct tkw_entry e[SPARSE];
};

/* Sets the access to the pages that contain only slots. */
static void protect_slots(struct sparse *s, int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t begin = TKW__WHEEL_BYTES;
	size_t end = begin + SPARSE_SLOTS * sizeof(struct tkw_link);

	begin = (begin + page - 1) / page * page;
	end = end / page * page;
	assert_true(begin + 8 * page < end);
	assert_int_equal(mprotect((char *)s->mem + begin, end - begin, access),
			 0);
}

static void open_slot(struct sparse *s, uint32_t slot)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t at = TKW__WHEEL_BYTES + slot * sizeof(struct tkw_link);

	assert_int_equal(mprotect((char *)s->mem + at / page * page, page,
				  PROT_READ | PROT_WRITE),
			 0);
}

/* Entries that are due in twenty years or later. Two share a slot, and one has
 * the last slot. */
static void sparse_init(struct sparse *s)
{
	static const uint32_t slots[SPARSE] = {
		SPARSE_SLOTS / 8, SPARSE_SLOTS / 8,     SPARSE_SLOTS / 3,
		SPARSE_SLOTS / 2, SPARSE_SLOTS / 7 * 5, SPARSE_SLOTS - 1
	};
	struct tkw_wheel_config cfg = { .engine = TKW_WHEEL_HASHED,
					.slots = SPARSE_SLOTS };
	uint64_t round = 2 * ten_years / SPARSE_SLOTS + 1;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	assert_int_equal(tkw_wheel_bytes(&cfg, &s->bytes), 0);
	s->mem = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(s->mem != MAP_FAILED);
	assert_int_equal(tkw_wheel_init(&s->w, s->mem, s->bytes, &cfg), 0);
	for (i = 0; i < SPARSE; i++)
		assert_int_equal(tkw_wheel_add(s->w, &s->e[i],
					       round * SPARSE_SLOTS + slots[i]),
				 0);
	protect_slots(s, PROT_NONE);
	for (i = 0; i < SPARSE; i++)
		open_slot(s, slots[i]);
}

static void sparse_fini(struct sparse *s)
{
	protect_slots(s, PROT_READ | PROT_WRITE);
	assert_int_equal(tkw_wheel_fini(s->w), 0);
	assert_int_equal(munmap(s->mem, s->bytes), 0);
}

static void test_1_11_check_touches_only_slots_in_use(void **state)
{
	struct sparse s;

	(void)state;
	sparse_init(&s);
	assert_null(tkw_wheel_check(s.w));
	sparse_fini(&s);
}

static void test_1_11_a_walk_touches_only_slots_in_use(void **state)
{
	struct tkw_entry *e;
	unsigned seen = 0;
	unsigned n = 0;
	struct sparse s;

	(void)state;
	sparse_init(&s);
	for (e = tkw_wheel_first(s.w); e; e = tkw_wheel_after(s.w, e)) {
		seen |= 1u << (e - s.e);
		n++;
	}
	assert_int_equal(n, SPARSE);
	assert_int_equal(seen, (1u << SPARSE) - 1);
	sparse_fini(&s);
}

static void test_1_7_next_touches_only_slots_in_use(void **state)
{
	struct sparse s;
	uint64_t first;

	(void)state;
	sparse_init(&s);
	first = tkw_entry_tick(&s.e[0]);
	assert_true(tkw_wheel_next_tick(s.w) <= first);
	/* Asks again in the middle of a slot, and of a lap. */
	assert_int_equal(
		tkw_wheel_advance(s.w, first, 1, count_it, &(unsigned){ 0 }),
		1);
	assert_true(tkw_wheel_next_tick(s.w) <= first);
	assert_int_equal(
		tkw_wheel_advance(s.w, first, 1, count_it, &(unsigned){ 0 }),
		0);
	assert_true(tkw_wheel_next_tick(s.w) > first);
	assert_true(tkw_wheel_next_tick(s.w) <= tkw_entry_tick(&s.e[2]));
	sparse_fini(&s);
}

/* Ten years without an entry, and then to the last entry. */
static void test_1_5_an_advance_touches_only_slots_in_use(void **state)
{
	unsigned fired = 0;
	struct sparse s;

	(void)state;
	sparse_init(&s);
	assert_int_equal(tkw_wheel_advance(s.w, ten_years, TKW_STEPS_UNBOUNDED,
					   count_it, &fired),
			 0);
	assert_int_equal(fired, 0);
	assert_int_equal(tkw_wheel_advance(s.w, 3 * ten_years,
					   TKW_STEPS_UNBOUNDED, count_it,
					   &fired),
			 0);
	assert_int_equal(fired, SPARSE);
	sparse_fini(&s);
}

static void test_1_5_fini_touches_only_slots_in_use(void **state)
{
	struct sparse s;
	uint32_t i;

	(void)state;
	sparse_init(&s);
	assert_int_equal(tkw_wheel_fini(s.w), 0);
	for (i = 0; i < SPARSE; i++)
		assert_int_equal(tkw_entry_is_linked(&s.e[i]), 0);
	assert_int_equal(munmap(s.mem, s.bytes), 0);
}

/* extend writes to its own entry only, not to the wheel or to another entry. */
static void test_1_5_extend_writes_to_its_entry_only(void **state)
{
	struct bed *b = *state;
	struct tkw_entry others[3];
	void *copy = malloc(b->bytes);

	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	bed_add(b, 2, 5);
	bed_add(b, 3, 900);
	assert_non_null(copy);
	memcpy(copy, b->mem, b->bytes);
	memcpy(others, &b->e[1], sizeof(others));
	assert_int_equal(tkw_wheel_extend(b->w, &b->e[0], 900), 0);
	assert_memory_equal(copy, b->mem, b->bytes);
	assert_memory_equal(others, &b->e[1], sizeof(others));
	free(copy);
}

/*
 * The linker (--wrap) sends each call of the allocator in this program here,
 * including those of the library. The assembler names are needed because C
 * reserves names with two underscores.
 */
#define NAMED(name) __asm__(name)
void *real_malloc(size_t size) NAMED("__real_malloc");
void *real_calloc(size_t n, size_t size) NAMED("__real_calloc");
void *real_realloc(void *old, size_t size) NAMED("__real_realloc");
void *wrap_malloc(size_t size) NAMED("__wrap_malloc");
void *wrap_calloc(size_t n, size_t size) NAMED("__wrap_calloc");
void *wrap_realloc(void *old, size_t size) NAMED("__wrap_realloc");

static unsigned long allocator_calls;

void *wrap_malloc(size_t size)
{
	allocator_calls++;
	return real_malloc(size);
}

void *wrap_calloc(size_t n, size_t size)
{
	allocator_calls++;
	return real_calloc(n, size);
}

void *wrap_realloc(void *old, size_t size)
{
	allocator_calls++;
	return real_realloc(old, size);
}

static void test_1_1_no_call_of_the_allocator(void **state)
{
	struct bed *b = *state;
	unsigned long before;
	unsigned fired = 0;
	struct tkw_wheel *w;
	uint32_t i;

	assert_true(allocator_calls > 0); /* calls of the bed are counted */
	before = allocator_calls;
	assert_int_equal(tkw_wheel_init(&w, b->mem, b->bytes, &b->cfg), 0);
	for (i = 0; i < BED_ENTRIES; i++)
		assert_int_equal(tkw_wheel_add(w, &b->e[i], UINT64_C(77) * i),
				 0);
	assert_int_equal(tkw_wheel_move(w, &b->e[1], 1000000), 0);
	assert_int_equal(tkw_wheel_extend(w, &b->e[2], 5000), 0);
	assert_int_equal(tkw_wheel_remove(w, &b->e[3]), 0);
	assert_null(tkw_wheel_check(w));
	assert_int_equal(tkw_wheel_advance(w, 10000, TKW_STEPS_UNBOUNDED,
					   count_it, &fired),
			 0);
	assert_int_equal(tkw_wheel_fini(w), 0);
	assert_int_equal(fired, BED_ENTRIES - 2);
	assert_int_equal(allocator_calls, before);
	b->w = NULL;
}

/* Nothing is written outside of the bytes that were asked for. */
static void test_1_1_the_wheel_stays_in_its_memory(void **state)
{
	struct bed *b = *state;
	unsigned char *mem = malloc(b->bytes + 64);
	unsigned char canary[64];
	struct tkw_wheel *w;
	uint32_t i;

	assert_non_null(mem);
	memset(canary, 0x5a, sizeof(canary));
	memcpy(mem + b->bytes, canary, sizeof(canary));
	assert_int_equal(tkw_wheel_init(&w, mem, b->bytes, &b->cfg), 0);
	memset(b->e, 0, sizeof(b->e));
	for (i = 0; i < BED_ENTRIES; i++)
		assert_int_equal(
			tkw_wheel_add(w, &b->e[i], UINT64_MAX >> (i % 64)), 0);
	assert_int_equal(tkw_wheel_fini(w), 0);
	assert_memory_equal(mem + b->bytes, canary, sizeof(canary));
	free(mem);
}

static void test_1_1_an_entry_takes_four_words(void **state)
{
	(void)state;
	if (sizeof(void *) == 8)
		assert_int_equal(sizeof(struct tkw_entry), 32);
	else
		assert_true(sizeof(struct tkw_entry) < 32);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_1_an_entry_takes_four_words, BED_ONCE),
		BED_TEST(test_1_1_no_call_of_the_allocator, BED_ANY),
		BED_TEST(test_1_1_the_wheel_stays_in_its_memory, BED_ANY),
		BED_TEST(test_1_5_an_empty_wheel_advances_without_a_step,
			 BED_ANY),
		BED_TEST(test_1_5_ten_years_before_far_entries_cost_no_step,
			 BED_HIER),
		BED_TEST(test_1_5_ten_years_hashed_look_at_an_entry_once,
			 BED_HASHED),
		BED_TEST(test_1_5_an_entry_moves_at_most_once_per_ring,
			 BED_HIER),
		BED_TEST(test_1_5_n_entries_cost_n_times_the_rings_at_most,
			 BED_HIER),
		BED_TEST(
			test_1_5_extensions_cost_a_move_only_when_the_slot_is_up,
			BED_HIER),
		BED_TEST(test_1_5_a_tick_costs_a_step_per_entry_due, BED_ANY),
		BED_TEST(test_1_5_add_remove_move_touch_only_neighbours,
			 BED_ANY),
		BED_TEST(test_1_5_extend_writes_to_its_entry_only, BED_ANY),
		BED_TEST(test_1_5_an_entry_passed_over_is_a_step, BED_HASHED),
		BED_TEST(test_1_5_entries_passed_over_delay_one_behind,
			 BED_HASHED),
		BED_TEST(test_1_5_an_advance_touches_only_slots_in_use,
			 BED_ONCE),
		BED_TEST(test_1_5_fini_touches_only_slots_in_use, BED_ONCE),
		BED_TEST(test_1_7_next_looks_at_no_entry, BED_ANY),
		BED_TEST(test_1_7_next_touches_only_slots_in_use, BED_ONCE),
		BED_TEST(test_1_11_a_walk_touches_only_slots_in_use, BED_ONCE),
		BED_TEST(test_1_11_check_touches_only_slots_in_use, BED_ONCE),
	};

	return bed_main("wheel_cost", tests, sizeof(tests) / sizeof(tests[0]));
}
