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
 * The functions are not called any more when tkw__keeper_stop() has returned.
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
 * -ESHUTDOWN, -EPERM. r->done and r->ctx are used by the call. */
int64_t tkw__keeper_call(struct tkw_queues *f, struct tkw__request *r);

