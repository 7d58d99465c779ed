/* SPDX-License-Identifier: MIT */
/* queue_tally.h - how often each kind of thing happened in the model test. */
#ifndef QUEUE_TALLY_H
#define QUEUE_TALLY_H

#include <stdint.h>
#include <stdio.h>

#define QUEUE_TALLY_KINDS(X)                                                   \
	X(COMMAND, "commands")                                                 \
	X(PUT, "items put")                                                    \
	X(PUT_MANY, "puts of several items")                                   \
	X(PUT_PAST, "items put for a time in the past")                        \
	X(PUT_SHARED, "items put for a time that another item has")            \
	X(PUT_HELD, "puts refused: the key is held")                           \
	X(PUT_BUSY, "replacements refused: the item is taken")                 \
	X(PUT_FULL, "puts refused: full")                                      \
	X(PUT_LARGE, "puts refused: the payload is too large")                 \
	X(REPLACE, "items replaced")                                           \
	X(REPLACE_DEAD, "dead items replaced")                                 \
	X(REPLACE_LOST, "items replaced whose lease had just run out")         \
	X(KEEP, "items kept")                                                  \
	X(TAKE, "items taken")                                                 \
	X(TAKE_NONE, "takes that found nothing")                               \
	X(TAKE_PAUSED, "takes from a paused queue")                            \
	X(TAKE_BEHIND, "takes that were behind")                               \
	X(TAKE_BEHIND_SOME, "takes that were behind and gave items")           \
	X(MAYBE_READY, "times when only an advance tells what is ready")       \
	X(TAKE_LOST, "takes that met a lease that had run out")                \
	X(TAKE_TIE, "items taken beside others of the same due time")          \
	X(ACK, "acks")                                                         \
	X(NACK, "nacks")                                                       \
	X(NACK_REASON, "nacks with a reason")                                  \
	X(EXTEND, "extensions")                                                \
	X(EXTEND_SHORTER, "extensions to an earlier time")                     \
	X(STALE, "stale claims")                                               \
	X(STALE_BY_TIME, "claims stale by time alone")                         \
	X(CANCEL, "cancels")                                                   \
	X(CANCEL_TAKEN, "cancels refused: taken")                              \
	X(RESCHEDULE, "reschedules")                                           \
	X(DEATH, "items that died")                                            \
	X(REVIVE, "revivals")                                                  \
	X(PURGE, "purges")                                                     \
	X(SOME_DEAD, "bounded revivals and purges")                            \
	X(WALK_ON, "walks over the dead that went on")                         \
	X(WALK_BEHIND, "walks over the dead that met many lost leases")        \
	X(LOSS, "leases lost")                                                 \
	X(PAUSE, "pauses")                                                     \
	X(LIMIT, "limits set")                                                 \
	X(ADVANCE_QUIET, "advances that came to an end")                       \
	X(ADVANCE_MORE, "advances that met their bound")                       \
	X(CLOCK_BACK, "clock put back")                                        \
	X(CLOCK_BACK_READY, "clock put back while items were ready")           \
	X(CLOCK_JUMP, "clock jumped ahead")                                    \
	X(CLOCK_BACK_JUMP, "clock put back to before it jumped ahead")         \
	X(EXTREME, "due times and leases near the end of time")                \
	X(COMMIT, "commits")                                                   \
	X(UNDO, "undos")                                                       \
	X(UNDO_CHANGES, "undos of something")                                  \
	X(NO_MEMORY, "commands that failed for want of memory")                \
	X(NO_MEMORY_BORNE, "commands that did without memory")                 \
	X(TORN, "commands cut off at a record and not applied")                \
	X(TORN_INSIDE, "commands cut off inside a record")                     \
	X(DAMAGED, "batches refused because of a damaged record")              \
	X(STARVED, "batches that could not be applied for want of memory")     \
	X(CRASH, "crashes")                                                    \
	X(CRASH_AT_RECORD,                                                     \
	  "rebuilt queues compared, each cut off at a record")                 \
	X(FROM_ALL, "queues rebuilt from all records")                         \
	X(FROM_SNAPSHOT, "queues rebuilt from a snapshot in a journal")        \
	X(FROM_ROWS, "queues rebuilt record by record")                        \
	X(FROM_DUMP, "queues rebuilt from a dump and later records")           \
	X(FAILOVER, "failovers to a replica")                                  \
	X(COPIED, "journals whose items were copied forward")                  \
	X(SCAN, "scans finished")                                              \
	X(SCAN_DEAD, "scans of the dead finished")                             \
	X(COMPARE, "comparisons item by item")                                 \
	X(PLAN, "plans made")                                                  \
	X(PLAN_AGAIN, "plans replaced")                                        \
	X(PLAN_SAME, "equal plans, which changed nothing")                     \
	X(PLAN_LATER, "plans replaced while an item had to end first")         \
	X(PLAN_OVER, "plans refused: no time comes")                           \
	X(PLAN_FULL, "plans refused: full")                                    \
	X(PLAN_LARGE, "plans refused: the payload is too large")               \
	X(PLAN_BROKEN, "plans refused by the calendar")                        \
	X(UNPLAN, "plans ended")                                               \
	X(UNPLAN_RUNNING, "plans ended while an item was running")             \
	X(PLAN_PAUSE, "plans paused")                                          \
	X(PLAN_RESUME, "plans resumed")                                        \
	X(PLAN_UNKNOWN, "changes of a plan that is not there")                 \
	X(PUT_PLANNED, "items put with the key of a plan")                     \
	X(REPLACE_PLANNED, "items of plans replaced")                          \
	X(CANCEL_FRESH, "fresh items cancelled")                               \
	X(MEET, "fresh items that a take has ended")                           \
	X(RUN_AGAIN, "commands while a plan had several running items")        \
	X(IN_TURN, "commands while missed times came in turn")                 \
	X(PLAN_WAITS, "commands while a plan waited for an end")               \
	X(PLAN_ENDED, "commands on a plan without more times")                 \
	X(PLAN_STOPPED, "commands on a plan that the calendar has stopped")    \
	X(PLAN_MISSED, "commands on a plan that has missed times")             \
	X(PLAN_OVERLAP, "commands on a plan that has left times out")          \
	X(WITH_WHEEL, "commands on a queue with a wheel")                      \
	X(WITHOUT_WHEEL, "commands on a queue without one")                    \
	X(WITH_STRAYS, "commands on a queue with strays in its wheel")

#define QUEUE_TALLY_NAME(name, text) QT_##name,
enum queue_tally_kind {
	QUEUE_TALLY_KINDS(QUEUE_TALLY_NAME) QT_KINDS
};
#undef QUEUE_TALLY_NAME

struct queue_tally {
	uint64_t n[QT_KINDS];
};

void queue_tally_merge(struct queue_tally *into, const struct queue_tally *t);
void queue_tally_print(const struct queue_tally *t, FILE *out);
/* What did not happen at all; NULL if everything did. */
const char *queue_tally_missing(const struct queue_tally *t);

#endif /* QUEUE_TALLY_H */
