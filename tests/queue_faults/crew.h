/* SPDX-License-Identifier: MIT */
/*
 * crew.h - who calls a queue in the fault tests, and what is known of the calls
 *
 * Workers put, take, ack, nack, extend and cancel. Each notes a call before it
 * makes it ("asked") and when it has returned ("answered"). The notes are in
 * memory that outlives the process. From these, truth.h tells what must be in
 * the file afterwards.
 *
 * The payload of an item begins with its serial number, which is never used
 * again in one file. All else about an item follows from this number.
 */
#ifndef TKW_TESTS_CREW_H
#define TKW_TESTS_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "power.h"
#include "tickwheel/queue.h"

enum {
	CREW_WORKERS = 6,
	CREW_ITEMS = 4,    /* in one call */
	CREW_CALLS = 4096, /* of one worker */
	CREW_HELD = 32,
	CREW_PAYLOAD = 16 << 10,
	CREW_SERIALS = 1 << 18, /* in one file */
	CREW_LONG_MS = 3600 * 1000,
	CREW_SHORT_MS = 1
};

enum crew_kind {
	CREW_PUT,
	CREW_TAKE,
	CREW_ACK,
	CREW_NACK,
	CREW_EXTEND,
	CREW_CANCEL,
	CREW_KINDS
};

enum crew_state {
	CREW_NONE,
	CREW_ASKED,
	CREW_ANSWERED
};

struct crew_item {
	uint32_t serial;
	int32_t done;
	uint64_t id;
	uint64_t token;
	int64_t expires_ms;
};

struct crew_call {
	enum crew_kind kind;
	enum crew_state state; /* atomic */
	int32_t result;
	uint32_t count; /* of items; of a take: how many it asks for */
	int64_t lease_ms;
	struct crew_item item[CREW_ITEMS];
};

struct crew_notes {
	uint32_t count; /* atomic */
	struct crew_call call[CREW_CALLS];
};

/* In a shared mapping. */
struct crew_share {
	uint32_t serial;    /* atomic: the next one */
	uint32_t ready;     /* atomic: the file is open, the workers work */
	uint32_t in_commit; /* atomic: the log is written and not yet synced */
	uint64_t commits;   /* since the file was opened */
	uint64_t commit_calls;
	uint32_t refused; /* atomic: puts that found no room and were looked for
			   */
	char broken[128]; /* what a worker found to be wrong */
	struct crew_notes notes[CREW_WORKERS];
	struct power power;
};

/* An item that a worker holds or has put. */
struct crew_hold {
	uint32_t serial;
	int64_t lease_ms;
	struct tkw_claim claim;
};

struct crew_worker {
	struct crew_share *share;
	struct crew_notes *notes;
	struct tkw_queue *q;
	uint64_t random;
	struct crew_hold held[CREW_HELD];
	uint32_t held_count;
	struct crew_hold put[CREW_HELD]; /* a ring */
	uint32_t put_count;
};

struct crew_share *crew_share_make(void);
/* Forgets the notes. The serial numbers go on. */
void crew_share_reset(struct crew_share *s);

uint64_t crew_random(uint64_t *state);
uint64_t crew_below(uint64_t *state, uint64_t below);

/* What a put of this number puts. The payload is written to `payload`, of
 * CREW_PAYLOAD bytes, and the key to `key`, of 16. */
void crew_make_put(uint32_t serial, struct tkw_put *put, uint8_t *payload,
		   char *key);

/* Makes one call of a kind. Returns its result, or 0 if the worker has nothing
 * to call it for. A put that finds no room must have put nothing. */
int crew_call(struct crew_worker *w, enum crew_kind kind);
/* Makes a random call. */
int crew_work(struct crew_worker *w);

/* Opens the file with a config for tests. */
int crew_open(struct tkw_queues **f, struct tkw_queue **q, const char *path,
	      char *error, size_t error_size);

/* Tells the power and the share of writes. For shim_vfs_watch(); ctx is the
 * share. */
void crew_watch(const struct shim_news *news, void *ctx);

#endif /* TKW_TESTS_CREW_H */
