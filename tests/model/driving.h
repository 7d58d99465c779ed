/* SPDX-License-Identifier: MIT */
/*
 * driving.h - what the files of the driver share. Other files do not include
 * it.
 */
#ifndef MODEL_DRIVING_H
#define MODEL_DRIVING_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#include "choice.h"
#include "driver.h"
#include "oracle.h"
#include "tally.h"
#include "ticks.h"
#include "tickwheel/wheel.h"

enum {
	DRIVING_POOL = 40,
	DRIVING_LOTS = 64
};

struct driving_item {
	struct tkw_entry entry;
	struct tkw_wheel_place place; /* where it was seen last */
};

struct driving {
	struct choice *choice;
	const struct driver_opts *opts;
	struct tally *tally;
	struct driver_failure *failure;
	jmp_buf out; /* out of the calls of a broken wheel */
	uint64_t op;

	/* this wheel's life */
	struct tkw_wheel *wheel;
	void *mem;
	struct tkw_wheel_config cfg;
	struct oracle oracle;
	struct driving_item items[DRIVING_POOL];
	uint32_t pool; /* how many of the items take part */
	struct ticks_mix mix;
	uint8_t lots[DRIVING_LOTS]; /* which operation, by lot */
	uint64_t next;              /* the next tick after the last call */

	/* the ledger */
	uint64_t added;
	uint64_t expired;
	uint64_t removed;

	/* the running pass */
	uint64_t pass_expired;
	uint64_t pass_cascaded; /* if bounded: moves to a finer ring */
	uint32_t inside_left;   /* calls that its callbacks may still make */
	int stopped;            /* the last advance met its bound */
	uint64_t stop_target;
};

/* Give up this run. */
_Noreturn void driving_fail(struct driving *d, const char *what);

/* Compares the wheel with the oracle, after each call. */
void driving_verify(struct driving *d);
/* The same for one entry. */
void driving_verify_item(struct driving *d, uint32_t id);
/* The same for each entry, by a walk. */
void driving_walk(struct driving *d);
/*
 * Looks where each entry is. Returns how many entries the wheel has moved since
 * the last look.
 */
uint64_t driving_look(struct driving *d);
/* Checks that a call has returned what the oracle returned. */
void driving_answer(struct driving *d, int got, int wanted);

void driving_trace(struct driving *d, const char *what, uint32_t id,
		   uint64_t tick);

/* The four calls on an entry, made on the wheel and on the oracle. They return
 * what both have returned. */
int driving_add(struct driving *d, uint32_t id, uint64_t tick);
int driving_remove(struct driving *d, uint32_t id);
int driving_move(struct driving *d, uint32_t id, uint64_t tick);
int driving_extend(struct driving *d, uint32_t id, uint64_t tick);

/* Return any id, and one that is not linked if there is one. */
uint32_t driving_any(struct driving *d);
uint32_t driving_unlinked(struct driving *d);
/* Picks a tick for an add, a move or an extension. */
uint64_t driving_tick(struct driving *d);

/* The callback. Checks the expiry, and calls the wheel. */
void driving_expired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx);

#endif /* MODEL_DRIVING_H */
