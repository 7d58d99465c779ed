/* SPDX-License-Identifier: MIT */
/*
 * run.h - what `tkw after`, `tkw every` and `tkw cron` share.
 *
 * run_options.c  reads the command line
 * run.c          waits for the planned times, runs the command, passes signals
 * run_events.c   tells what happens, as text or as JSON
 */
#ifndef TKW_TOOLS_RUN_H
#define TKW_TOOLS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The longest time that the command line takes: 100 years. */
#define RUN_MAX_MS (INT64_C(36525) * 24 * 60 * 60 * 1000)

enum {
	RUN_MAX_AT_ONCE = 1024, /* commands at once, with --overlap allow */
	RUN_TIME = 40           /* bytes of a printed time */
};

enum run_until {
	RUN_UNTIL_NEVER = 0,
	RUN_UNTIL_SUCCESS,
	RUN_UNTIL_FAILURE
};

/* When a command of `tkw cron` runs: by the wall clock. */
struct run_calendar {
	/* Finds the first time after a time. Returns 0 or -ENOENT. */
	int (*next)(const void *ctx, int64_t after_ms, int64_t *out_ms);
	/* Finds the last time before a time. Returns 0 or -ENOENT. */
	int (*previous)(const void *ctx, int64_t before_ms, int64_t *out_ms);
	/* Prints a time. */
	void (*print)(const void *ctx, int64_t at_ms, char buf[RUN_TIME]);
	const char *text; /* for TKW_PLAN */
	const void *ctx;
};

/* What the command line says. */
struct run_options {
	const char *name;  /* after, every or cron */
	const char *usage; /* its help */
	unsigned takes;    /* RUN_TAKES_ bits */
	const char *when;  /* the first word */
	char **words;      /* the command; NULL ends it */
	int64_t delay_ms;  /* until the first run, if `now` is set */
	int64_t period_ms;
	int64_t jitter_ms;
	uint64_t times; /* 0: without an end */
	int64_t grace_ms;
	bool skip_missed; /* --misfire skip */
	bool allow;       /* --overlap allow */
	bool now;
	bool json;
	bool quiet;
	enum run_until until;
	const char *zone;
	/* NULL: by the monotonic clock, each period_ms. */
	const struct run_calendar *calendar;
};

/* The options of a command, besides those of all of them. */
enum {
	RUN_TAKES_REPEAT = 1,  /* --times, --until, --overlap, --now */
	RUN_TAKES_CALENDAR = 2 /* --zone, --misfire, --grace */
};

/*
 * Reads a command line.
 *
 * o  Its name, usage and takes must be set. Receives the rest.
 *
 * Returns 1 if the command shall run, else 0 with the exit status of tkw.
 */
int run_read(struct run_options *o, int argc, char **argv, int *status);

/* Waits and runs the command. Returns the exit status of tkw. */
int run_command(const struct run_options *o);

/* --- run_events.c -------------------------------------------------------- */

/* A run of the command. */
struct run_child {
	pid_t pid; /* 0: a free place */
	uint64_t number;
	int64_t planned_ms;
	int64_t start_ns; /* on the monotonic clock */
};

/* Prints a time for the user: that of the plan's zone, or UTC. */
void run_print_time(const struct run_options *o, int64_t at_ms,
		    char buf[RUN_TIME]);

void run_tell_planned(const struct run_options *o, int64_t at_ms);
void run_tell_started(const struct run_options *o, const struct run_child *c,
		      int64_t late_ms);
void run_tell_ended(const struct run_options *o, const struct run_child *c,
		    int wait_status, int64_t duration_ms);
/* count: more than one only if they were missed; from at_ms on.
 * why: "overlap" or "missed". */
void run_tell_skipped(const struct run_options *o, int64_t at_ms,
		      uint64_t count, const char *why);

#endif /* TKW_TOOLS_RUN_H */
