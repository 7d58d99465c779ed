/* SPDX-License-Identifier: MIT */
/*
 * module.h - what the files of the module share.
 *
 *   module.c     loads the module and registers its commands
 *   server.h     the calls of the server
 *   type.c       a queue as a data type: RDB, AOF, COPY, memory, deletion
 *   visit.c      one command at one queue: open, decide, replicate, wake
 *   args.c       reads the arguments of a command
 *   ..._command.c, ..._commands.c
 *                the commands
 *   reply.c      replies that several commands have
 *   documents.c  what COMMAND DOCS says about the commands
 *   waiters.c    clients that wait, and the alarm that wakes them
 *   burial.c     frees large queues piece by piece
 *   settings.c   the settings of the module, and of the server
 *
 * The heart (src/queue) decides everything. These files read the clock and the
 * arguments, replicate records and write replies.
 *
 * Threads  All of it runs on the server's main thread, except the free
 *          callback of the type, which the server may call on another one.
 */
#ifndef TKW_REDIS_MODULE_H
#define TKW_REDIS_MODULE_H

#include <stdbool.h>

#include "home/planner.h"
#include "queue/heart.h"
#include "redis/server.h"

/* --- module.c ------------------------------------------------------------- */

/* The module's clock, in microseconds since 1970. It is the wall clock. Tests
 * replace it. */
extern uint64_t (*tkw__redis_now_us)(void);
uint64_t tkw__redis_real_now_us(void);
/* Called near the end of the load if it is not NULL. Tests add commands here.
 */
extern int (*tkw__redis_extra_load)(struct rm_ctx *ctx);

/* The commands. */
rm_command_fn tkw__redis_put, tkw__redis_mput, tkw__redis_take, tkw__redis_ack,
	tkw__redis_nack, tkw__redis_extend, tkw__redis_cancel,
	tkw__redis_reschedule, tkw__redis_get, tkw__redis_list,
	tkw__redis_count, tkw__redis_info, tkw__redis_digest, tkw__redis_pause,
	tkw__redis_resume, tkw__redis_limit, tkw__redis_dead, tkw__redis_apply,
	tkw__redis_plan, tkw__redis_unplan, tkw__redis_plans,
	tkw__redis_planpause, tkw__redis_planresume;

/* --- type.c --------------------------------------------------------------- */

/* The data type of a queue. */
extern struct rm_type *tkw__redis_type;

/* Registers the type. Returns RM_OK or RM_ERR. */
int tkw__redis_type_create(struct rm_ctx *ctx);
/* The calendar of all queues. It reads the time zones of this machine. Only a
 * master uses it, and commands that show planned times. */
struct tkw__planner *tkw__redis_planner(void);
/* Creates an empty queue. Returns NULL if there is no memory. */
struct tkw__queue *tkw__redis_queue_create(void);

/* --- burial.c ------------------------------------------------------------- */

/* Called once, on the main thread, when the module is loaded. */
void tkw__redis_burial_init(struct rm_ctx *ctx);
/* Frees a queue: at once if it is small, if this is not the main thread, or if
 * the server evicts keys until it has memory; else piece by piece. */
void tkw__redis_bury(struct tkw__queue *q);

/* Frees at once what was put aside. */
void tkw__redis_burial_finish(void);

/* --- apply_command.c ------------------------------------------------------ */

/* What TKW.APPLY replies to everybody but a master and an AOF. */
#define TKW__NOT_FROM_MASTER "ERR only the master and the AOF may apply records"

/* Called when the server has loaded its data. */
void tkw__redis_apply_end(struct rm_ctx *ctx);

/* --- settings.c ----------------------------------------------------------- */

/* Reads the arguments of the module. Returns RM_OK or RM_ERR. */
int tkw__redis_read_settings(struct rm_ctx *ctx, struct rm_string **argv,
			     int argc);
/* Registers the settings, and asks to be told about the server. Each returns
 * RM_OK or RM_ERR. */
int tkw__redis_settings_init(struct rm_ctx *ctx);
int tkw__redis_events_init(struct rm_ctx *ctx);
/* True if this server is a master, so that it decides. */
bool tkw__redis_is_master(struct rm_ctx *ctx);
/* True if the server may delete a queue to get memory, and nobody has allowed
 * it. Then nothing should be put. */
bool tkw__redis_may_evict(struct rm_ctx *ctx);
/* The reply to a command that is refused for this reason. */
#define TKW__MAY_EVICT                                                         \
	"ERR maxmemory-policy lets the server delete queues; set it to "       \
	"noeviction, or tickwheel.allow-eviction to yes"
/* True if the server deletes keys when it has no memory left. */
bool tkw__redis_evicts(struct rm_ctx *ctx);

#endif /* TKW_REDIS_MODULE_H */
