/* SPDX-License-Identifier: MIT */
/*
 * load_crew.h - processes that use a queue of a server which may be killed, and
 * what is known of their calls.
 *
 * A worker puts, takes, acks, nacks, extends and cancels. It notes a call
 * before it sends the command ("asked"), when the reply has come ("answered"),
 * and when replicas have confirmed it too, if they are asked for this ("sure").
 * The notes are in shared memory, so that they outlive the worker. From these,
 * load_truth.h tells what must be in the queue afterwards.
 *
 * The payload of an item is its serial number, and its key is k and the number.
 * A number is never used again.
 */
#ifndef TKW_TESTS_LOAD_CREW_H
#define TKW_TESTS_LOAD_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	LOAD_WORKERS = 4,
	LOAD_ITEMS = 3,    /* in one call */
	LOAD_CALLS = 8192, /* of one worker */
	LOAD_HELD = 24,
	LOAD_SERIALS = 1 << 18,
	LOAD_LONG_MS = 3600 * 1000
};

enum load_kind {
	LOAD_PUT,
	LOAD_TAKE,
	LOAD_ACK,
	LOAD_NACK,
	LOAD_EXTEND,
	LOAD_CANCEL
};

enum load_state {
	LOAD_ASKED,
	LOAD_ANSWERED,
	LOAD_SURE
};

struct load_item {
	uint32_t serial;
	int32_t done;
	uint64_t id;
	uint64_t token;
};

struct load_call {
	enum load_kind kind;
	enum load_state state; /* atomic */
	uint32_t count;
	struct load_item item[LOAD_ITEMS];
};

struct load_notes {
	uint32_t count; /* atomic */
	struct load_call call[LOAD_CALLS];
};

/* In a shared mapping. */
struct load_share {
	uint32_t serial;   /* atomic: the next one */
	uint32_t answered; /* atomic: calls */
	uint32_t allowed;  /* atomic: calls; 0: any number */
	uint32_t moved;    /* atomic: calls that were sent to another server */
	uint32_t stop;     /* atomic: the workers shall end */
	char broken[256];  /* what a worker found to be wrong */
	struct load_notes notes[LOAD_WORKERS];
};

/* What the workers do. */
struct load_plan {
	int port;
	char queue[32];
	int replicas; /* that must confirm each call; 0: none */
	bool cluster; /* follow -MOVED and -ASK */
};

struct load_share *load_share_make(void);
/* Forgets the notes. The serial numbers go on. */
void load_share_reset(struct load_share *s);
void load_share_free(struct load_share *s);

/* Starts all workers. */
void load_start(struct load_share *s, const struct load_plan *plan,
		uint64_t seed, pid_t *pids);
/* Lets the workers make about so many calls more, and then wait. There is room
 * for LOAD_CALLS notes of each worker, after which it ends. So a test that does
 * something that may take long must bound the calls meanwhile. */
void load_allow(struct load_share *s, uint32_t calls);
/* Waits until the workers have made so many calls. */
void load_wait(struct load_share *s, uint32_t calls);
/* Tells the workers to end, and waits for them. They also end when their server
 * does. Fails the test if one has found something wrong. */
void load_end(struct load_share *s, pid_t *pids);

#endif /* TKW_TESTS_LOAD_CREW_H */
