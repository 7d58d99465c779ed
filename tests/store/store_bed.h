/* SPDX-License-Identifier: MIT */
/*
 * store_bed.h - the test bed of the store on SQLite: a folder of its own, a
 * store, random records, and a list of all rows that the store must have.
 */
#ifndef STORE_BED_H
#define STORE_BED_H

/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue/heart.h"
#include "queue/record.h"
#include "store/store.h"

/* A row that the bed keeps. */
struct bed_row {
	uint64_t seq;
	uint32_t queue;
	size_t len;
	uint8_t *bytes;
};

struct bed_rows {
	struct bed_row *row;
	size_t count;
	size_t room;
	struct tkw__base base; /* as replay has told it */
	size_t names;
};

struct store_bed {
	char dir[128];
	char path[160];
	struct tkw__store *s; /* NULL: not open */
	bool to_system;
	char why[256];
	uint64_t seed; /* TKW_STORE_SEED in the environment, else 1 */
	uint64_t random;
	/* Lends its memory to the records. */
	struct tkw__queue *heart;
	struct tkw__queue_log log;
	struct bed_rows wrote; /* what the store must have */
};

/* Setup and teardown of each test. The store is not open yet. */
int store_bed_begin(void **state);
int store_bed_end(void **state);

/* Returns 0 or the error; why has the sentence. */
int bed_open(struct store_bed *b);
void bed_close(struct store_bed *b);

uint64_t bed_random(struct store_bed *b);
uint64_t bed_below(struct store_bed *b, uint64_t n);

/* Returns a kind of record; all kinds come if i counts up. */
enum tkw__record_kind bed_kind(uint64_t i);

/* Makes a random record of a kind in the bed's log. */
void bed_make(struct store_bed *b, enum tkw__record_kind kind);

/* Appends a batch of random records, and notes them if it returns 0. */
int bed_append(struct store_bed *b, size_t count);
/* Makes the same batch as bed_append() would, and notes its rows as if the
 * store had them. */
void bed_expect(struct store_bed *b, size_t count);

/* Reads the store. Returns 0 or the error. */
int bed_replay(struct store_bed *b, struct bed_rows *out);
void bed_rows_free(struct bed_rows *r);
/* True if the rows are those that were written, from the base on, without the
 * last `less`. */
bool bed_is_equal(const struct store_bed *b, const struct bed_rows *r,
		  size_t less);
/* Replays, and asserts that all rows are there. */
void bed_check(struct store_bed *b);

/* A file, whole. */
struct bed_file {
	uint8_t *bytes;
	size_t len;
};

/* suffix: "", "-wal" and so on. A file that is not there has no bytes. */
struct bed_file bed_load(const struct store_bed *b, const char *suffix);
void bed_save(const struct store_bed *b, const char *suffix, struct bed_file f);
void bed_remove(const struct store_bed *b, const char *suffix);

#endif /* STORE_BED_H */
