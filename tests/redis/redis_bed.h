/* SPDX-License-Identifier: MIT */
/*
 * redis_bed.h - the test bed of most tests of the module: one server for a
 * program, which is emptied before each test, and a client of it. The clock of
 * the module is set, and stands still.
 */
#ifndef TKW_TESTS_REDIS_BED_H
#define TKW_TESTS_REDIS_BED_H

/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_server.h"

enum {
	BED_CLIENTS = 64
};

struct redis_bed {
	struct server *server;
	struct resp *c;
	struct resp *more[BED_CLIENTS]; /* opened when a test asks for them */
	int version;
	int64_t now_ms;
};

/* For a group of tests: starts the server, and ends it. A server that crashed
 * is a failure of the group. */
int redis_bed_begin_all(void **state);
int redis_bed_end_all(void **state);

/* For a test: a client that speaks RESP2 or RESP3. */
int redis_bed_begin_2(void **state);
int redis_bed_begin_3(void **state);
int redis_bed_end(void **state);

/* A test with RESP2, and the same one with both. */
#define REDIS_TEST(test)                                                       \
	{                                                                      \
#test, test, redis_bed_begin_2, redis_bed_end, NULL            \
	}
#define REDIS_TEST_BOTH(test)                                                  \
	{ #test "_resp2", test, redis_bed_begin_2, redis_bed_end, NULL },      \
	{                                                                      \
#test "_resp3", test, redis_bed_begin_3, redis_bed_end, NULL   \
	}

/* Another client, by number. It stays until the end of the test. */
struct resp *redis_bed_client(struct redis_bed *b, int number);
/* Closes one, as if its process had ended. */
void redis_bed_drop(struct redis_bed *b, int number);

/* How many clients wait for an item. */
int64_t redis_bed_count_waiting(struct redis_bed *b);
/* Sends a take that waits by a client, and returns when it waits. */
struct resp *redis_bed_wait(struct redis_bed *b, int number, const char *line);

/* Moves the clock of the module. */
void redis_bed_pass(struct redis_bed *b, int64_t ms);
/* Gets the digest of a queue. Valid until the next call. */
const char *redis_bed_digest(struct resp *c, const char *queue);

#endif /* TKW_TESTS_REDIS_BED_H */
