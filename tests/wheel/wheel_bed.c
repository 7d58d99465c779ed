/* SPDX-License-Identifier: MIT */
/*
 * wheel_bed.c - variants, wrappers that check, and the log of expired entries.
 */
#include "wheel_bed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct variant {
	const char *name;
	int engine;
	uint64_t slots;
};

static struct variant variants[] = {
	{ "hierarchical", TKW_WHEEL_HIERARCHICAL, 0 },
	{ "hashed/1", TKW_WHEEL_HASHED, 1 },
	{ "hashed/2", TKW_WHEEL_HASHED, 2 },
	{ "hashed/16", TKW_WHEEL_HASHED, 16 },
	{ "hashed/64", TKW_WHEEL_HASHED, 64 },
	{ "hashed/512", TKW_WHEEL_HASHED, 512 },
	{ "hashed/8192", TKW_WHEEL_HASHED, 8192 },
};

enum {
	VARIANTS = sizeof(variants) / sizeof(variants[0])
};

static void sound(struct bed *b)
{
	const char *wrong = tkw_wheel_check(b->w);

	if (wrong)
		fail_msg("the checker says: %s", wrong);
}

void bed_restart(struct bed *b, uint64_t now)
{
	if (b->w)
		assert_int_equal(tkw_wheel_fini(b->w), 0);
	free(b->mem);
	b->cfg.now_tick = now;
	assert_int_equal(tkw_wheel_bytes(&b->cfg, &b->bytes), 0);
	if (b->bytes == 0)
		abort();
	b->mem = malloc(b->bytes);
	assert_non_null(b->mem);
	memset(b->mem, 0xa5, b->bytes);
	assert_int_equal(tkw_wheel_init(&b->w, b->mem, b->bytes, &b->cfg), 0);
	assert_int_equal(tkw_wheel_get_shape(b->w, &b->shape), 0);
	memset(b->e, 0, sizeof(b->e));
	b->hook = NULL;
	b->log_len = 0;
	b->log[0] = '\0';
	sound(b);
}

void bed_add(struct bed *b, uint32_t id, uint64_t tick)
{
	assert_int_equal(tkw_wheel_add(b->w, &b->e[id], tick), 0);
	assert_int_equal(tkw_entry_is_linked(&b->e[id]), 1);
	sound(b);
}

void bed_remove(struct bed *b, uint32_t id)
{
	assert_int_equal(tkw_wheel_remove(b->w, &b->e[id]), 0);
	assert_int_equal(tkw_entry_is_linked(&b->e[id]), 0);
	sound(b);
}

void bed_move(struct bed *b, uint32_t id, uint64_t tick)
{
	assert_int_equal(tkw_wheel_move(b->w, &b->e[id], tick), 0);
	assert_int_equal(tkw_entry_is_linked(&b->e[id]), 1);
	sound(b);
}

void bed_extend(struct bed *b, uint32_t id, uint64_t tick)
{
	assert_int_equal(tkw_wheel_extend(b->w, &b->e[id], tick), 0);
	assert_true(tkw_entry_tick(&b->e[id]) == tick);
	sound(b);
}

void bed_expired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct bed *b = ctx;
	uint32_t id = (uint32_t)(e - b->e);
	int n;

	assert_ptr_equal(w, b->w);
	assert_true(id < BED_ENTRIES);
	assert_int_equal(tkw_entry_is_linked(e), 0);
	assert_true(tkw_wheel_now_tick(w) == tkw_entry_tick(e));
	n = snprintf(b->log + b->log_len, BED_LOG - b->log_len,
		     "%s%" PRIu32 "@%" PRIu64, b->log_len ? " " : "", id,
		     tkw_wheel_now_tick(w));
	assert_true(n > 0 && (size_t)n < BED_LOG - b->log_len);
	b->log_len += (size_t)n;
	b->expired++;
	if (b->hook)
		b->hook(b, id);
	sound(b);
}

int bed_advance_by(struct bed *b, uint64_t to, uint64_t max_steps)
{
	int more = tkw_wheel_advance(b->w, to, max_steps, bed_expired, b);

	assert_true(more == 0 || more == 1);
	sound(b);
	return more;
}

void bed_advance(struct bed *b, uint64_t to)
{
	assert_int_equal(bed_advance_by(b, to, TKW_STEPS_UNBOUNDED), 0);
}

uint64_t bed_steps(struct bed *b, uint64_t to)
{
	uint64_t steps = 0;

	/* With a bound of 0 this only tells whether there is more to do. */
	while (bed_advance_by(b, to, 0) == 1) {
		bed_advance_by(b, to, 1);
		steps++;
	}
	return steps;
}

void bed_expect(struct bed *b, const char *log)
{
	assert_string_equal(b->log, log);
	b->log_len = 0;
	b->log[0] = '\0';
}

void bed_expect_place(struct bed *b, uint32_t id, uint32_t ring, uint64_t slot,
		      uint64_t rounds)
{
	struct tkw_wheel_place p;

	assert_int_equal(tkw_wheel_get_place(b->w, &b->e[id], &p), 0);
	assert_int_equal(p.ring, ring);
	assert_int_equal(p.slot, slot);
	assert_int_equal(p.rounds, rounds);
}

static int set_up(void **state)
{
	const struct variant *v = *state;
	struct bed *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	if (v) {
		b->cfg.size = sizeof(b->cfg);
		b->cfg.engine = v->engine;
		b->cfg.slots = v->slots;
		bed_restart(b, 0);
	}
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	free(b->mem);
	free(b);
	return 0;
}

/* "name [variant]" */
static char *full_name(const char *name, const char *variant)
{
	size_t size = strlen(name) + strlen(variant) + 4;
	char *full = malloc(size);

	if (!full || snprintf(full, size, "%s [%s]", name, variant) < 0)
		abort();
	return full;
}

static void put(struct CMUnitTest *to, const char *name,
		const struct bed_test *t, struct variant *v)
{
	memset(to, 0, sizeof(*to));
	to->name = name;
	to->test_func = t->function;
	to->setup_func = set_up;
	to->teardown_func = tear_down;
	to->initial_state = v;
}

static int wanted(const struct bed_test *t, const struct variant *v)
{
	if (v->engine == TKW_WHEEL_HASHED)
		return (t->on & BED_HASHED) != 0 && v->slots >= t->slots;
	return (t->on & BED_HIER) != 0;
}

int bed_main(const char *group, const struct bed_test *tests, size_t n)
{
	struct CMUnitTest *all = calloc(n * VARIANTS, sizeof(*all));
	char **names = calloc(n * VARIANTS, sizeof(*names));
	size_t count = 0;
	size_t i, v;
	int failed;

	if (!all || !names)
		abort();
	for (i = 0; i < n; i++) {
		if (tests[i].on == BED_ONCE) {
			names[count] = full_name(tests[i].name, "once");
			put(&all[count], names[count], &tests[i], NULL);
			count++;
		}
		for (v = 0; v < VARIANTS; v++) {
			if (!wanted(&tests[i], &variants[v]))
				continue;
			names[count] =
				full_name(tests[i].name, variants[v].name);
			put(&all[count], names[count], &tests[i], &variants[v]);
			count++;
		}
	}
	failed = _cmocka_run_group_tests(group, all, count, NULL, NULL);
	for (i = 0; i < count; i++)
		free(names[i]);
	free(names);
	free(all);
	return failed != 0;
}
