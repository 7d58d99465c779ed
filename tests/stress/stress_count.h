/* SPDX-License-Identifier: MIT */
/*
 * stress_count.h - counts what happened in a stress, and what must never
 * happen.
 *
 * A stress proves nothing about a race that it never met. So each kind of race
 * is counted and printed, and must have happened. Each fault is counted and
 * printed, and must not have happened. Each thread has its own counts, which
 * are added up when it has ended.
 */
#ifndef STRESS_COUNT_H
#define STRESS_COUNT_H

#include <stdint.h>
#include <stdio.h>

enum stress_kind {
	/* Lives of a timer. */
	STRESS_LIFE,
	STRESS_DRAINED,
	STRESS_STOPPED,
	STRESS_DESTROYED,
	STRESS_DRILLED,
	STRESS_ACCEPTED,
	STRESS_ACCEPTED_INSIDE,
	STRESS_REFUSED_STOP,
	STRESS_REFUSED_LIMIT,
	STRESS_FIRED,
	STRESS_FIRED_REENTRY,
	STRESS_CANCEL_WON,
	STRESS_CANCEL_WON_FOREIGN,
	STRESS_CANCEL_WON_INSIDE,
	STRESS_CANCEL_BUSY,
	STRESS_CANCEL_SELF,
	STRESS_CANCEL_ENDED,
	STRESS_WAIT_WON,
	STRESS_WAIT_WAITED,
	STRESS_WAIT_TOGETHER,
	STRESS_WAIT_ENDED,
	STRESS_WAIT_DEADLOCK,
	STRESS_WAIT_ON_CANCEL,
	STRESS_WAIT_FREED,
	STRESS_MOVE_WON,
	STRESS_MOVE_WON_FOREIGN,
	STRESS_MOVE_WON_INSIDE,
	STRESS_MOVE_BUSY,
	STRESS_MOVE_SELF,
	STRESS_MOVE_ENDED,
	STRESS_MOVE_STOPPED,
	STRESS_STALE,
	STRESS_ON_CANCEL,
	STRESS_ON_CANCEL_REENTRY,
	STRESS_HANDED_OVER,
	STRESS_ENDED_BY_DESTROY,
	STRESS_STOP_AMID,
	STRESS_STOP_LOST,
	STRESS_STOP_INSIDE,
	STRESS_IDLE,
	STRESS_IDLE_TIMED_OUT,
	STRESS_IDLE_INSIDE,
	STRESS_TURN,
	STRESS_TURN_BUSY,
	STRESS_TURN_INSIDE,
	STRESS_QUERIED,
	STRESS_LEDGER,
	STRESS_CHECK,
	/* Rounds of stop against schedule. */
	STRESS_ROUND,
	STRESS_ROUND_MIXED,
	STRESS_ROUND_ACCEPTED,
	STRESS_ROUND_FIRED,
	STRESS_ROUND_HANDED_OVER,
	STRESS_ROUND_ON_CANCEL,
	STRESS_ROUND_REFUSED,
	STRESS_ROUND_STOP_LOST,
	STRESS_KINDS
};

struct stress_counts {
	uint64_t n[STRESS_KINDS];
};

enum stress_fault {
	STRESS_LOST,         /* neither fired nor cancelled nor handed over */
	STRESS_TWICE,        /* fired again, or under an id that has ended */
	STRESS_AFTER_CANCEL, /* fired after a cancel or stop that ended it */
	STRESS_EARLY,
	STRESS_BAD_CANCEL, /* on_cancel twice, missing, or after firing */
	STRESS_UNENDED,    /* cancel_wait or stop returned too soon */
	STRESS_ANSWER,     /* a call returned what it must not return here */
	STRESS_LAW,        /* the ledger is not the sum of what was seen */
	STRESS_LIMIT,      /* more pending than allowed */
	STRESS_UNSOUND,    /* tkw_timer_check() found something */
	STRESS_LEAKED,
	STRESS_FAULTS
};

void stress_merge(struct stress_counts *into, const struct stress_counts *from);

/* Prints the counts and then the faults, as one table. */
void stress_print(const struct stress_counts *c, FILE *out);

/* Returns the first kind in first ... last that did not happen, or NULL. */
const char *stress_missing(const struct stress_counts *c, int first, int last);

/* Counts a fault, from any thread, and prints the first ones. After very many
 * faults it ends the program. */
void stress_fault(enum stress_fault fault, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints how many faults there were, and of which kinds. */
void stress_print_verdict(FILE *out);

/* Returns how many faults of all kinds there were so far. */
uint64_t stress_faults(void);

#endif /* STRESS_COUNT_H */
