/* SPDX-License-Identifier: MIT */
/*
 * waiters.h - clients that wait for an item, and the alarm that wakes them.
 *
 * The server keeps the clients that are blocked on a key, in the order of their
 * arrival. When the key is signalled as ready, it calls tkw__take_ready() for
 * each of them. We know the keys for which clients wait, and signal a key when
 * its time comes.
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

/* The server must not write now, so the clients have to wait a little longer.
 */
void tkw__waiters_put_off(struct rm_ctx *ctx, struct rm_string *name);

/* Signals all keys, for example after the clock was set. */
void tkw__waiters_wake_all(void);

#endif /* TKW_REDIS_WAITERS_H */
