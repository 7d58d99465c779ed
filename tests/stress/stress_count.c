/* SPDX-License-Identifier: MIT */
/* stress_count.c - names, sums and the table of a stress. */
#include "stress_count.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	FAULTS_SAID = 5,
	/* After this many faults, more of them tell nothing new. */
	FAULTS_ENOUGH = 10000
};

static const char *const names[STRESS_KINDS] = {
	[STRESS_LIFE] = "timers made, used and destroyed",
	[STRESS_DRAINED] = "  after all had ended",
	[STRESS_STOPPED] = "  stopped while in use",
	[STRESS_DESTROYED] = "  destroyed with timeouts pending",
	[STRESS_DRILLED] = "single timeouts that woke the worker",
	[STRESS_ACCEPTED] = "accepted",
	[STRESS_ACCEPTED_INSIDE] = "  inside a callback",
	[STRESS_REFUSED_STOP] = "refused by stop",
	[STRESS_REFUSED_LIMIT] = "refused at the limit",
	[STRESS_FIRED] = "fired",
	[STRESS_FIRED_REENTRY] = "  scheduled by a task",
	[STRESS_CANCEL_WON] = "cancel won",
	[STRESS_CANCEL_WON_FOREIGN] = "  another thread's id",
	[STRESS_CANCEL_WON_INSIDE] = "  inside a callback",
	[STRESS_CANCEL_BUSY] = "cancel lost to running",
	[STRESS_CANCEL_SELF] = "  to the task that called it",
	[STRESS_CANCEL_ENDED] = "cancel found it ended",
	[STRESS_WAIT_WON] = "cancel_wait won",
	[STRESS_WAIT_WAITED] = "cancel_wait waited",
	[STRESS_WAIT_TOGETHER] = "  beside another thread",
	[STRESS_WAIT_ENDED] = "cancel_wait found it ended",
	[STRESS_WAIT_DEADLOCK] = "cancel_wait refused to wait for itself",
	[STRESS_WAIT_ON_CANCEL] = "cancel_wait for an on_cancel under way",
	[STRESS_WAIT_FREED] = "memory freed after cancel_wait",
	[STRESS_MOVE_WON] = "reschedule won",
	[STRESS_MOVE_WON_FOREIGN] = "  another thread's id",
	[STRESS_MOVE_WON_INSIDE] = "  inside a callback",
	[STRESS_MOVE_BUSY] = "reschedule lost to running",
	[STRESS_MOVE_SELF] = "  to the task that called it",
	[STRESS_MOVE_ENDED] = "reschedule found it ended",
	[STRESS_MOVE_STOPPED] = "reschedule refused by stop",
	[STRESS_STALE] = "old ids tried again",
	[STRESS_ON_CANCEL] = "on_cancel calls",
	[STRESS_ON_CANCEL_REENTRY] = "  which called the timer",
	[STRESS_HANDED_OVER] = "handed over by stop",
	[STRESS_ENDED_BY_DESTROY] = "ended by destroy",
	[STRESS_STOP_AMID] = "stop waited for a running task",
	[STRESS_STOP_LOST] = "stop found it stopped",
	[STRESS_STOP_INSIDE] = "stop and destroy refused to a task",
	[STRESS_IDLE] = "wait_idle saw the last one end",
	[STRESS_IDLE_TIMED_OUT] = "  came back when its time was over",
	[STRESS_IDLE_INSIDE] = "  refused to a task",
	[STRESS_TURN] = "turns by hand",
	[STRESS_TURN_BUSY] = "  refused: another thread's turn",
	[STRESS_TURN_INSIDE] = "  refused to a task",
	[STRESS_QUERIED] = "queries answered",
	[STRESS_LEDGER] = "ledgers balanced amid the races",
	[STRESS_CHECK] = "timers sound amid the races",
	[STRESS_ROUND] = "rounds of stop against schedule",
	[STRESS_ROUND_MIXED] = "  that fired some and handed over some",
	[STRESS_ROUND_ACCEPTED] = "accepted",
	[STRESS_ROUND_FIRED] = "fired",
	[STRESS_ROUND_HANDED_OVER] = "handed over by stop",
	[STRESS_ROUND_ON_CANCEL] = "on_cancel calls",
	[STRESS_ROUND_REFUSED] = "refused by stop",
	[STRESS_ROUND_STOP_LOST] = "stop lost to another stop",
};

static const char *const fault_names[STRESS_FAULTS] = {
	[STRESS_LOST] = "lost",
	[STRESS_TWICE] = "fired twice",
	[STRESS_AFTER_CANCEL] = "fired after a cancel or a stop",
	[STRESS_EARLY] = "early",
	[STRESS_BAD_CANCEL] = "on_cancel twice, missing or after firing",
	[STRESS_UNENDED] = "still at work after cancel_wait or stop",
	[STRESS_ANSWER] = "wrong answers",
	[STRESS_LAW] = "ledgers out of balance",
	[STRESS_LIMIT] = "more pending than the limit",
	[STRESS_UNSOUND] = "timers found unsound",
	[STRESS_LEAKED] = "leaked",
};

static _Atomic uint64_t faults[STRESS_FAULTS];

void stress_merge(struct stress_counts *into, const struct stress_counts *from)
{
	int i;

	for (i = 0; i < STRESS_KINDS; i++)
		into->n[i] += from->n[i];
}

void stress_print(const struct stress_counts *c, FILE *out)
{
	int i;

	for (i = 0; i < STRESS_KINDS; i++)
		fprintf(out, "  %12" PRIu64 "  %s\n", c->n[i], names[i]);
	for (i = 0; i < STRESS_FAULTS; i++)
		fprintf(out, "  %12" PRIu64 "  %s (must be 0)\n",
			atomic_load_explicit(&faults[i], memory_order_relaxed),
			fault_names[i]);
}

const char *stress_missing(const struct stress_counts *c, int first, int last)
{
	int i;

	for (i = first; i <= last; i++) {
		if (c->n[i] == 0)
			return names[i];
	}
	return NULL;
}

static void count_fault(enum stress_fault fault, const char *what)
{
	uint64_t before = atomic_fetch_add_explicit(&faults[fault], 1,
						    memory_order_relaxed);

	if (before < FAULTS_SAID)
		fprintf(stderr, "FAULT: %s: %s\n", fault_names[fault], what);
	if (before >= FAULTS_ENOUGH) {
		fprintf(stderr, "FAILED: too many faults to go on: %s\n",
			fault_names[fault]);
		_Exit(1);
	}
}

void stress_fault(enum stress_fault fault, const char *format, ...)
{
	char what[200];
	va_list args;

	va_start(args, format);
	/* It does not see va_start(). */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	count_fault(fault, what);
}

void stress_print_verdict(FILE *out)
{
	const char *sign = ": ";
	int i;

	fprintf(out, "FAILED: %" PRIu64 " faults", stress_faults());
	for (i = 0; i < STRESS_FAULTS; i++) {
		if (atomic_load_explicit(&faults[i], memory_order_relaxed)) {
			fprintf(out, "%s%s", sign, fault_names[i]);
			sign = ", ";
		}
	}
	fprintf(out, "; see above\n");
}

uint64_t stress_faults(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < STRESS_FAULTS; i++)
		sum += atomic_load_explicit(&faults[i], memory_order_relaxed);
	return sum;
}
