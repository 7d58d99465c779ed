/* SPDX-License-Identifier: MIT */
/*
 * desk_bed.h - the test bed of the desk: a desk on a disk in memory, two clocks
 * that the test moves, and requests that write down when they have ended. Each
 * turn is followed by a check of all queues.
 */
#ifndef TKW_TESTS_DESK_BED_H
#define TKW_TESTS_DESK_BED_H

/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ram_store.h"
#include "store/desk.h"
#include "store/items.h"

#define BED_START_US UINT64_C(1700000000000000)

enum {
	BED_PUTS = 64
};

struct desk_bed;

/* A request with room for its arguments. */
struct bed_request {
	struct tkw__request r; /* first */
	struct desk_bed *bed;
	char letter;
	struct tkw__queue_put put[BED_PUTS];
	uint64_t id[BED_PUTS];
	struct tkw__queue_claim claim[BED_PUTS];
	enum tkw__queue_answer answer[BED_PUTS];
	struct tkw__queue_name name;
	struct tkw_queue_stats stats;
};

struct desk_bed {
	struct ram_disk disk;
	struct tkw__store *store;
	struct tkw__desk *desk;
	struct tkw__desk_config cfg;
	uint64_t now_us;
	uint64_t mono_us;
	struct tkw_queue *q; /* named "q" */
	char told[256];      /* the letters of those that ended, in order */
	/* The reserve. */
	bool has_reserve;
	uint64_t reserve_bytes;
	uint64_t full_bytes; /* the disk with the reserve; 0: any */
	int gives;
	int gets;
};

int desk_bed_begin(void **state);
int desk_bed_end(void **state);

#define DESK_TEST(test)                                                        \
	cmocka_unit_test_setup_teardown(test, desk_bed_begin, desk_bed_end)

/* Closes the desk and opens another one on the same disk. */
void bed_reopen(struct desk_bed *b);
/* Does a turn, and checks. */
int bed_turn(struct desk_bed *b);
/* Does turns until nothing is left to do. */
void bed_quiet(struct desk_bed *b);
/* Both clocks go on. */
void bed_pass(struct desk_bed *b, uint64_t ms);

/* Submit a request. The letter is told when it has ended; 0: not told. */
void bed_submit(struct desk_bed *b, struct bed_request *r, char letter);
void ask_open(struct desk_bed *b, struct bed_request *r, const char *name);
void ask_put(struct desk_bed *b, struct bed_request *r, char letter,
	     int64_t delay_ms, size_t count);
void ask_take(struct desk_bed *b, struct bed_request *r, char letter,
	      uint64_t wait_ms, size_t max);
void ask_ack(struct desk_bed *b, struct bed_request *r, char letter,
	     const struct tkw_item *item);
void ask(struct desk_bed *b, struct bed_request *r, char letter,
	 enum tkw__request_kind kind);

/* The same, and turns until they have ended. */
uint64_t bed_put(struct desk_bed *b, int64_t delay_ms);
struct tkw_items *bed_take(struct desk_bed *b, size_t max, uint64_t lease_ms);
int64_t bed_ack(struct desk_bed *b, const struct tkw_item *item);
struct tkw_queue_stats bed_stats(struct desk_bed *b);

#endif /* TKW_TESTS_DESK_BED_H */
