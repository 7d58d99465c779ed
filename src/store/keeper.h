/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the threads of an open file of queues
 *
 * The desk is single-threaded. Threads use it by leading: one thread at a time
 * leads. It hands the requests that have come to the desk, does a turn, and
 * passes the lead on. No lock is held during a turn, so that requests can come
 * while the disk works; they share the next batch.
 *
 *   Callers  A caller that finds nobody leading leads itself. Else it sleeps
 *            until its request has ended, or until the lead is passed to it.
 *   Keeper   A thread. It leads when the time asks for it, and when the
 *            requests that wait have no thread. It calls the callbacks of
 *            requests that nobody waits for, and watches the descriptors of the
 *            socket.
 *   Locks    The mutex guards the inbox, who leads, and the callbacks to call.
 *            Only the leader touches the desk and its queues.
 */
#ifndef TKW_STORE_KEEPER_H
#define TKW_STORE_KEEPER_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/desk.h"
#include "tickwheel/queue.h"

/* Descriptors that the keeper watches for somebody else. Both functions are
 * called on the keeper's thread, and must not block. */
struct tkw__watch {
	/*
	 * Called before each sleep. Writes up to max of the descriptors.
	 *
	 * Returns how many there are. If these are more than max, it is called
	 * again with more room.
	 */
	size_t (*list)(struct pollfd *fds, size_t max, void *ctx);
	/* Called after each sleep, with what list has written and the events
	 * that have come. */
	void (*ready)(const struct pollfd *fds, size_t count, void *ctx);
	void *ctx;
};

/*
 * Sets what the keeper watches, once, before the file is used.
 *
 * The functions are not called any more when before_close of struct tkw__home
 * is called.
 */
void tkw__keeper_watch(struct tkw_queues *f, const struct tkw__watch *watch);

/*
 * Submits a request and does not wait. Any thread may call it, the keeper's
 * too.
 *
 * When the request has ended, r->done is called on the keeper's thread. There
 * it may submit requests. It must not block.
 *
 * Returns 0, or -ESHUTDOWN: done is not called.
 */
int tkw__keeper_submit(struct tkw_queues *f, struct tkw__request *r);

/* Submits a request and waits until it has ended. Returns its result, or
 * -ESHUTDOWN. r->done and r->ctx are used by the call. */
int64_t tkw__keeper_call(struct tkw_queues *f, struct tkw__request *r);

/* For tests: how many requests are in the inbox. */
uint64_t tkw__keeper_count_inbox(struct tkw_queues *f);

/* tkw_queue_fd() */
int tkw__keeper_fd(struct tkw_queues *f, struct tkw_queue *q);

/* --- callbacks of users --------------------------------------------------- */

/* Returns 0, or -EPERM in a forked child. */
int tkw__keeper_admit(const struct tkw_queues *f);
/* The same for calls that wait. -EDEADLK: this is the keeper's thread. */
int tkw__keeper_admit_wait(const struct tkw_queues *f);

/* The executor of the config, or NULL. */
const struct tkw_exec *tkw__keeper_exec(const struct tkw_queues *f);

/* hold() keeps the file open for a callback that is still to come. release()
 * ends this, and must be the last access to the file. */
void tkw__keeper_hold(struct tkw_queues *f);
void tkw__keeper_release(struct tkw_queues *f);

/* Lets the keeper's thread call r->done. It releases the file afterwards. */
void tkw__keeper_call_later(struct tkw_queues *f, struct tkw__request *r);

/* Notes that a thread is inside a callback of a user. */
struct tkw__inside {
	const struct tkw_queues *f;
	struct tkw__inside *up;
};
void tkw__inside_enter(struct tkw__inside *in, const struct tkw_queues *f);
void tkw__inside_leave(const struct tkw__inside *in);
bool tkw__inside_any(const struct tkw_queues *f);

/* --- the file ------------------------------------------------------------- */

/* What a file is made of. */
struct tkw__home {
	/* Opened. It is closed with the file. */
	struct tkw__store *store;
	struct tkw__desk_reserve reserve;
	const struct tkw_exec *exec;  /* may be NULL */
	int64_t (*now_us)(void *ctx); /* may be NULL */
	void *now_ctx;
	/* Called by tkw_queues_close() when no thread uses the file any more:
	 * before and after the store is closed, or instead in a forked child,
	 * where the store is left alone. May be NULL. */
	void (*before_close)(void *ctx);
	void (*after_close)(void *ctx);
	void (*in_child)(void *ctx);
	void *ctx;
	/* For tests. Zero means the defaults of the desk. */
	struct tkw__desk_config desk;
};

/* Opens a file on a store, and starts its thread. If it fails the store is not
 * closed. Returns 0 or -errno. */
int tkw__keeper_open(struct tkw_queues **out, const struct tkw__home *home);

/* Closes a file: tkw_queues_close(). */
int tkw__keeper_close(struct tkw_queues *f);

#endif /* TKW_STORE_KEEPER_H */
