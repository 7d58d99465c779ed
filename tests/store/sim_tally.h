/* SPDX-License-Identifier: MIT */
/* sim_tally.h - how often each kind of thing happened in the simulation. */
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include <stdint.h>
#include <stdio.h>

#define LIFE_TALLY_KINDS(X)                                                    \
	X(CRASH, "crashes")                                                    \
	X(CRASH_IN_BATCH, "crashes inside a batch")                            \
	X(CRASH_IN_OPEN, "crashes while the file was opened")                  \
	X(CRASH_IN_COMPACT, "crashes while old rows were removed")             \
	X(CRASH_IN_SNAPSHOT, "crashes inside a snapshot")                      \
	X(POWER_LOSS, "of these, losses of power")                             \
	X(KEPT, "batches without an answer that were there afterwards")        \
	X(GONE, "batches without an answer that were not")                     \
	X(SHARED, "commits shared by several callers")                         \
	X(TORN, "torn tails cut off")                                          \
	X(FULL, "ENOSPC")                                                      \
	X(FULL_PART, "ENOSPC for puts, while others went on")                  \
	X(ERROR, "EIO")                                                        \
	X(BUSY, "EBUSY")                                                       \
	X(STARVED, "turns in which memory ran out")                            \
	X(COMPACTION, "compactions")                                           \
	X(TIDIED, "closes that compacted")                                     \
	X(AFTER_COMPACTION, "files opened that had been compacted")            \
	X(REOPEN, "files opened")                                              \
	X(TURN, "turns")                                                       \
	X(REQUEST, "requests answered")                                        \
	X(UNANSWERED, "requests that a crash left unanswered")                 \
	X(PARKED, "takes that had to wait")                                    \
	X(LATE_TAKE, "takes served after they had waited")                     \
	X(TIMEOUT, "takes whose time was over")                                \
	X(WITHDRAWN, "takes withdrawn")                                        \
	X(TOLD, "times a loop was told that there is an item")                 \
	X(LOSS, "leases lost")                                                 \
	X(TAKEN_OVER, "leases that survived a crash")                          \
	X(DEAD, "dead items that survived a crash")                            \
	X(LARGE, "queues opened that have more than 64 items")                 \
	X(PLAN, "plans made")                                                  \
	X(UNPLAN, "plans ended")                                               \
	X(PLAN_PAUSE, "plans paused")                                          \
	X(PLAN_RESUME, "plans resumed")                                        \
	X(PLAN_TIME, "planned times given out")                                \
	X(PLAN_ONCE, "planned times missed, of plans that make up for one")    \
	X(PLAN_ALL, "planned times missed, of plans that make up for some")    \
	X(PLAN_SKIP, "planned times missed, of plans that make up for none")   \
	X(PLAN_OVERLAP, "planned times left out: an item was running")         \
	X(PLAN_ON_END, "items that a plan put when another one had ended")     \
	X(PLAN_TAKEN_OVER, "plans that survived a crash")                      \
	X(CRASH_IN_PLAN, "crashes inside a batch that changes a plan")         \
	X(CRASH_IN_NEXT, "crashes inside a batch in which a plan puts")        \
	X(PLAN_KEPT, "such changes and items that were there afterwards")      \
	X(PLAN_GONE, "such changes and items that were not")                   \
	X(CLOCK_BACK, "times the clock stepped back")                          \
	X(CLOCK_JUMP, "times the clock jumped ahead")

#define LIFE_TALLY_NAME(name, text) LT_##name,
enum life_tally_kind {
	LIFE_TALLY_KINDS(LIFE_TALLY_NAME) LT_KINDS
};
#undef LIFE_TALLY_NAME

struct life_tally {
	uint64_t n[LT_KINDS];
};

void life_tally_print(const struct life_tally *t, FILE *out);
/* What did not happen at all; NULL if everything did. */
const char *life_tally_missing(const struct life_tally *t);

#endif /* SIM_TALLY_H */
