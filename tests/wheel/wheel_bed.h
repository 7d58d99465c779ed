/* SPDX-License-Identifier: MIT */
/*
 * wheel_bed.h - the test bed of the wheel's unit tests.
 *
 * Each test runs once per variant: the hierarchical engine and hashed rings of
 * several sizes. The build runs all of it a second time with 16-slot rings.
 * A bed holds one wheel, numbered entries, and a log of what expired, which a
 * test compares as text: "0@5 2@5 1@7" is entry 0 at tick 5, then 2, then 1 at
 * tick 7. The checker is called after each change.
 */
#ifndef TKW_TESTS_WHEEL_BED_H
#define TKW_TESTS_WHEEL_BED_H

/* cmocka.h needs the first four. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "tickwheel/wheel.h"

enum {
	BED_ENTRIES = 64,
	BED_LOG = 8192
};

#define BED_LAST (TKW_TICK_NEVER - 1)

/* The variants on which a test runs. */
enum bed_on {
	BED_HIER = 1,
	BED_HASHED = 2,
	BED_ANY = BED_HIER | BED_HASHED,
	BED_ONCE = 4 /* once, without a wheel */
};

struct bed;
typedef void bed_hook(struct bed *b, uint32_t id);

struct bed {
	struct tkw_wheel_config cfg;
	struct tkw_wheel *w;
	void *mem;
	size_t bytes;
	struct tkw_wheel_shape shape;
	struct tkw_entry e[BED_ENTRIES];
	bed_hook *hook; /* called for each expiry, inside the callback */
	uint64_t expired;
	char log[BED_LOG];
	size_t log_len;
};

struct bed_test {
	const char *name;
	CMUnitTestFunction function;
	enum bed_on on;
	uint64_t slots; /* the smallest hashed ring for it */
};

#define BED_TEST_FROM(least, test, where)                                      \
	{                                                                      \
		.name = #test, .function = (test), .on = (where),              \
		.slots = (least)                                               \
	}
#define BED_TEST(test, where) BED_TEST_FROM(0, test, where)

/* Runs tests[n] on their variants. Returns 0 if all passed. */
int bed_main(const char *group, const struct bed_test *tests, size_t n);

/* Starts again with an empty wheel whose first tick is now. */
void bed_restart(struct bed *b, uint64_t now);

/* Each of these must succeed, and leave the wheel sound. */
void bed_add(struct bed *b, uint32_t id, uint64_t tick);
void bed_remove(struct bed *b, uint32_t id);
void bed_move(struct bed *b, uint32_t id, uint64_t tick);
void bed_extend(struct bed *b, uint32_t id, uint64_t tick);

/* Advances without a bound. It must be done. */
void bed_advance(struct bed *b, uint64_t to);
/* Advances with a bound. Returns 0 or 1, as tkw_wheel_advance() does. */
int bed_advance_by(struct bed *b, uint64_t to, uint64_t max_steps);
/* Advances one step at a time. Returns how many steps it took. */
uint64_t bed_steps(struct bed *b, uint64_t to);

/* Checks what has expired since the last call. */
void bed_expect(struct bed *b, const char *log);
/* Checks that entry id is in this place. */
void bed_expect_place(struct bed *b, uint32_t id, uint32_t ring, uint64_t slot,
		      uint64_t rounds);

/* The callback itself, for a test that calls tkw_wheel_advance(). */
void bed_expired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx);

#endif /* TKW_TESTS_WHEEL_BED_H */
