/* SPDX-License-Identifier: MIT */
/*
 * clerk.h - turns the frames of a client into requests for the desk, and their
 * answers into frames (wire.h). It does no I/O. Each connection has a clerk.
 *
 * A frame may need several requests, one after the other: one to find its queue
 * by name, and several for a call about all dead items, which is made in
 * pieces.
 */
#ifndef TKW_STORE_CLERK_H
#define TKW_STORE_CLERK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/desk.h"
#include "store/items.h"
#include "store/plan_looks.h"
#include "store/wire.h"

enum tkw__clerk_step {
	TKW__CLERK_ANSWER, /* send `out` */
	TKW__CLERK_SUBMIT, /* submit `request` */
	TKW__CLERK_CLOSE   /* send `out`, and close the connection */
};

/* For a new connection, set everything to zero except `ctx` and `done` of the
 * request. */
struct tkw__clerk {
	struct tkw__request request;
	struct tkw__wire_out out; /* the answer, a whole frame */

	/* The clerk's own. */
	bool greeted;
	bool finding; /* the request is to find the queue */
	enum tkw__wire_call call;
	struct tkw__wire_in in; /* the arguments; they stay in the frame */
	char name[UINT8_MAX + 1];
	struct tkw_queue *queue; /* the last one that was found, or NULL */
	char queue_name[UINT8_MAX + 1];
	/* Arrays for the arguments and the answers, freed with the answer. */
	void *args;
	void *answers;
	size_t count;
	int64_t sum; /* of the pieces so far */
	struct tkw__queue_name item;
	struct tkw__look_item at_item;
	struct tkw__look_list at_list;
	struct tkw__queue_plan plan;
	struct tkw__look_plan at_plan;
	struct tkw__look_plans at_plans;
	struct tkw_queue_stats *stats;
};

/*
 * Reads a frame. It must stay where it is until the answer is made.
 *
 * pid  The process of the owner, for HELLO.
 */
enum tkw__clerk_step tkw__clerk_read(struct tkw__clerk *c, const void *frame,
				     size_t len, int64_t pid);

/* Goes on when the request has ended. If `out` has failed, the connection must
 * be ended, as if the client had gone. */
enum tkw__clerk_step tkw__clerk_go_on(struct tkw__clerk *c);

/* Makes an answer that is only a result. It needs no memory if there was an
 * answer before. */
void tkw__clerk_answer(struct tkw__clerk *c, int64_t result);

/* True if the request is a take. It may wait for an item, and can be
 * withdrawn. */
bool tkw__clerk_takes(const struct tkw__clerk *c);

/*
 * Makes a request that gives back the items of a take that has ended, because
 * the client has gone and its answer was not sent.
 *
 * Returns false if there are none. After the request has ended, only
 * tkw__clerk_fini() may follow.
 */
bool tkw__clerk_give_back(struct tkw__clerk *c);

/* To be called when all of the answer was sent. */
void tkw__clerk_sent(struct tkw__clerk *c);

void tkw__clerk_fini(struct tkw__clerk *c);

/* --- clerk_plans.c -------------------------------------------------------- */

/* Reads the arguments of a call about plans, and makes its request. Returns 0
 * or an error. */
int tkw__clerk_read_plan_call(struct tkw__clerk *c);
/* Writes plans and frees them. */
void tkw__clerk_write_plans(struct tkw__clerk *c,
			    struct tkw_queue_plans *plans);

#endif /* TKW_STORE_CLERK_H */
