/* SPDX-License-Identifier: MIT */
/*
 * waiters.h - clients that wait for an item, and the alarm that wakes them.
 *
 * The server keeps the clients that are blocked on a key, in the order of their
 * arrival. When the key is signalled as ready, it calls on_ready() of
 * take_command.c for each of them. We know the keys for which clients wait, and
 * signal a key when its time comes.
 *
 * There is one alarm for all keys, and it is set only while a client waits. It
 * is a timerfd in the server's event loop, on the wall clock. The server's own
 * timers would be late by up to two milliseconds: they count whole
 * milliseconds, and the event loop rounds up once more. A timerfd is also told
 * when somebody sets the clock.
 */
#ifndef TKW_REDIS_WAITERS_H
#define TKW_REDIS_WAITERS_H

#include "redis/visit.h"

/* A key for which clients wait. */
struct tkw__place;

/* Returns RM_OK or RM_ERR. */
int tkw__waiters_init(struct rm_ctx *ctx);

/* Adds a client that waits for a key, or removes one. */
struct tkw__place *tkw__waiters_add(struct rm_ctx *ctx, struct rm_string *name);
void tkw__waiters_remove(struct tkw__place *p);

/* How many clients wait for a key. */
uint64_t tkw__waiters_count(struct rm_ctx *ctx, struct rm_string *name);

/*
 * Looks what a queue has for the clients that wait for its key: signals the key
 * if an item is ready, or sets the alarm. It is called after each visit that
 * may have changed something.
 */
void tkw__waiters_look(struct tkw__visit *v);

/*
 * True if the server may give out an item now, to a client that has waited. The
 * server checked this when the client sent its take, but not since then. It
 * must be a master, must not be paused, and must not refuse writes: it does so
 * after an error of its disk, if too few replicas are there, or if its cluster
 * is down. If it may not, the clients of this key wait a little longer.
 */
bool tkw__waiters_may_serve(struct rm_ctx *ctx, struct rm_string *name);

/* A take has found nothing, because there is too much to record first. Does
 * this work, and then looks again. Until then the queue is dry. */
void tkw__waiters_work(struct tkw__visit *v);

/* When a key is signalled, the server asks all clients that wait for it, one
 * after the other. dry() looks at a queue that has nothing, and remembers it.
 * is_dry() spares the clients behind a second look. */
void tkw__waiters_dry(struct tkw__visit *v);
bool tkw__waiters_is_dry(const struct tkw__visit *v);

/* A queue has left its key. If the key has another type now, clients that wait
 * for it are let go. */
void tkw__waiters_gone(int db, const struct rm_string *name);

/* Looks at all keys, for example after the clock was set. */
void tkw__waiters_wake_all(struct rm_ctx *ctx);

#endif /* TKW_REDIS_WAITERS_H */
