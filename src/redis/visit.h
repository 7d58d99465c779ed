/* SPDX-License-Identifier: MIT */
/*
 * visit.h - one command at one queue.
 *
 * A command opens a visit, lets the heart decide, closes the visit and replies.
 * The close replicates what the heart has recorded, and wakes the clients that
 * wait. Replicas and the AOF get the records, never the command: they have
 * absolute times, ids and tokens, so that each copy is equal.
 */
#ifndef TKW_REDIS_VISIT_H
#define TKW_REDIS_VISIT_H

#include "redis/module.h"

struct tkw__visit {
	struct rm_ctx *ctx;
	struct rm_string *name; /* of the key */
	struct rm_key *key;
	struct tkw__queue *queue; /* NULL if there is none */
	bool is_new;              /* the queue is not in the key yet */
	struct tkw__queue_call call;
};

enum tkw__visit_mode {
	TKW__VISIT_READ,
	TKW__VISIT_WRITE,
	TKW__VISIT_CREATE /* also makes the queue if there is none */
};

/*
 * Opens the queue of a key.
 *
 * Returns true. If it returns false it has replied: the key has another type,
 * there is no memory, or a client wants to write to a replica. Only a master
 * gives out, also if its replicas are told to accept writes.
 */
bool tkw__visit_open(struct tkw__visit *v, struct rm_ctx *ctx,
		     struct rm_string *name, enum tkw__visit_mode mode);

/* The same without a reply. Returns true if there is a queue. Otherwise nothing
 * is open. */
bool tkw__visit_find(struct tkw__visit *v, struct rm_ctx *ctx,
		     struct rm_string *name);

/* Records what the time has brought, in bounded steps, so that counts are
 * exact. A replica records nothing. */
void tkw__visit_settle(struct tkw__visit *v);

/* Ends a visit: replicates and commits what was recorded, and looks after the
 * clients that wait for this key. */
void tkw__visit_close(struct tkw__visit *v);

/* Ends a visit of a command that has failed, and replies with the error. What
 * was recorded before, about leases that have run out, stays. */
int tkw__visit_fail(struct tkw__visit *v, int err);
/* The reply to an error of the heart. */
const char *tkw__visit_error(int err);

/* Parts of a close. commit() replicates and commits, but looks after nobody.
 * keep() commits what others have decided, and replicates nothing. undo() takes
 * everything back. */
void tkw__visit_commit(struct tkw__visit *v);
void tkw__visit_keep(struct tkw__visit *v);
void tkw__visit_undo(struct tkw__visit *v);

#endif /* TKW_REDIS_VISIT_H */
