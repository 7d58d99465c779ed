/* SPDX-License-Identifier: MIT */
/* queue_client.h - what the files of the way through the socket share. */
#ifndef TKW_TOOLS_QUEUE_CLIENT_H
#define TKW_TOOLS_QUEUE_CLIENT_H

#include "queue_way.h"
#include "store/wire.h"

/* Begins a request of this queue. */
struct tkw__wire_out *queue_client_ask(struct queue_way *w,
				       enum tkw__wire_call call);

/*
 * Sends the request and receives its answer.
 *
 * in  Receives what follows the result. It is valid until the next answer.
 *
 * Returns the result.
 */
int64_t queue_client_exchange(struct queue_way *w, struct tkw__wire_in *in);

/* The same for a request whose answer is only a result. */
int64_t queue_client_exchange_result(struct queue_way *w);

/* Copies a text to `room`, with a 0 at its end, and moves `room` behind it.
 * Returns the copy. */
const char *queue_client_keep_text(char **room, const void *at, size_t len);

/* The operations about plans. */
int queue_client_plan(struct queue_way *w,
		      const struct tkw_queue_plan_spec *plan, int64_t *next_ms);
int queue_client_unplan(struct queue_way *w, const char *name);
int queue_client_pause_plan(struct queue_way *w, const char *name);
int queue_client_resume_plan(struct queue_way *w, const char *name);
int queue_client_get_plan(struct queue_way *w, const char *name,
			  struct queue_plans *out);
int queue_client_list_plans(struct queue_way *w, const char *after,
			    uint32_t max, struct queue_plans *out);

#endif /* TKW_TOOLS_QUEUE_CLIENT_H */
