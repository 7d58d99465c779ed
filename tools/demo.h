/* SPDX-License-Identifier: MIT */
/*
 * demo.h - what the parts of `tkw demo`, the demo in real time, share.
 *
 * cmd_demo.c      the options
 * demo.c          runs the demo, from the load to the report
 * demo_load.c     the load: threads that act like a busy server
 * demo_timeout.c  the timeouts: the calls of the timer, and the tasks
 * demo_audit.c    stops the timer, and compares its ledger with the demo's own
 *                 counts
 * demo_lateness.c how late the tasks were
 * demo_view.c     the figures while the demo runs
 * demo_report.c   the final report, as text and as JSON
 */
#ifndef TKW_TOOLS_DEMO_H
#define TKW_TOOLS_DEMO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tickwheel.h"

struct demo_config {
	uint64_t seconds;
	uint64_t threads;
	uint64_t pending; /* number of far timeouts */
	bool json;
};

/* What the demo counts itself, independently of the timer. */
enum demo_count {
	DEMO_ACCEPTED,    /* schedules that returned 0 */
	DEMO_CANCELLED,   /* cancels that returned 0 */
	DEMO_HANDED_OVER, /* calls of the visitor */
	DEMO_PUSHED_BACK, /* reschedules that returned 0 */
	DEMO_TOO_LATE,    /* answers that came after the timeout had fired */
	DEMO_CLOSED,      /* calls that were refused because of the stop */
	DEMO_WRONG,       /* wrong calls, which the timer has to refuse */
	DEMO_REFUSED,     /* wrong calls that it refused */
	/* Tasks that ran, by kind: an unanswered call, an idle connection, a
	 * heartbeat, a far timeout. */
	DEMO_FIRED_CALL,
	DEMO_FIRED_IDLE,
	DEMO_FIRED_BEAT,
	DEMO_FIRED_FAR,
	/* Faults. These must stay 0. */
	DEMO_FAILED, /* a correct call was refused */
	DEMO_EARLY,  /* a task ran before its deadline */
	DEMO_TWICE,  /* a timeout ended a second time */
	DEMO_COUNTS
};

/* Each thread has its own counters. The first are those of the worker, and of
 * the main thread during the stop. Only the sums have a meaning. */
struct demo_counters {
	_Alignas(64) _Atomic uint64_t n[DEMO_COUNTS];
};

/* A log-linear histogram: 64 buckets for each power of two, so that a bucket is
 * at most 2 % wide. */
enum {
	DEMO_LATE_BITS = 6,
	DEMO_LATE_BUCKETS = (64 - DEMO_LATE_BITS) << DEMO_LATE_BITS
};

struct demo_lateness {
	_Atomic uint64_t n[DEMO_LATE_BUCKETS];
};

struct demo_late_copy {
	uint64_t n[DEMO_LATE_BUCKETS];
};

enum demo_fate {
	DEMO_UNUSED,
	DEMO_WAITING,
	DEMO_ENDED /* fired, cancelled or handed over */
};

/* The demo's own note of what became of a timeout. It is the first member of
 * the struct that a task gets as its ctx. */
struct demo_mark {
	_Atomic unsigned char fate; /* enum demo_fate */
};

struct demo_server;

/* The figures of one moment. */
struct demo_moment {
	int64_t at_ns;
	uint64_t n[DEMO_COUNTS];
	uint64_t pending;  /* as the timer says */
	int64_t worker_ns; /* CPU time, or 0 if it is not known yet */
	struct demo_late_copy late;
	struct tkw_histogram timer_late; /* as the timer says */
};

struct demo {
	struct demo_config cfg;
	struct tkw_timer *timer;
	struct demo_counters *counters; /* [1 + threads] */
	struct demo_server *servers;    /* [threads] */
	unsigned started;               /* threads that run */
	struct demo_mark *far;          /* [cfg.pending] */
	uint64_t beats;                 /* heartbeats of all threads */
	struct demo_lateness late;
	/* How many threads have scheduled all their far timeouts. */
	atomic_uint filled;
	/* Set just before the stop. From then on calls may be refused. */
	atomic_bool stopping;
	/* Set when the threads have to end. */
	atomic_bool ending;
	/* -errno that ends the demo. Any thread may set it. */
	atomic_int error;
	/* The worker's CPU clock, written by the first heartbeat. */
	atomic_bool worker_known;
	clockid_t worker_clock;
	/* No far timeout is due before this time. */
	int64_t far_ns;

	/* The figures are those of the time from `first` to `last`. */
	struct demo_moment first;  /* when all far timeouts were scheduled */
	struct demo_moment before; /* when the figures were last shown */
	struct demo_moment last;   /* the latest, taken before the stop */
	uint64_t readings;         /* how often the ledger was read so far */
	uint64_t uneven;           /* how often it did not balance */
	bool interrupted;          /* by a signal, before the time was up */
	/* After the stop. */
	struct tkw_ledger ledger;
	struct tkw_stats stats;
	uint64_t n[DEMO_COUNTS];
	uint64_t lost;       /* neither fired, nor cancelled, nor handed over */
	const char *unsound; /* what tkw_timer_check() found, or NULL */

	void *view; /* NULL with --json */
};

/* Runs the demo in real time. Returns the exit status of tkw. */
int demo_run(const struct demo_config *cfg);

int64_t demo_now_ns(void);

/* Sleeps until a time. SIGINT or SIGTERM wakes the main thread. */
void demo_sleep_until(int64_t ns);

void demo_count(struct demo_counters *c, enum demo_count what);

/* Notes that a timeout has ended, and counts it if it had ended before. */
void demo_mark_end(struct demo_counters *c, struct demo_mark *m);

/* Counts a wrong call that returned r and had to return `want`. */
void demo_expect(struct demo_counters *c, int r, int want);

/*
 * The first creates the timer. The second starts its thread and those of the
 * server.
 *
 * They return 0, or -errno. If the start fails, the threads that were started
 * before go on running.
 */
int demo_load_init(struct demo *d);
int demo_load_start(struct demo *d);

/* Ends the server's threads and waits for them. */
void demo_load_join(struct demo *d);
void demo_load_fini(struct demo *d);

/* Returns how many timeouts have not ended, by their marks. */
uint64_t demo_load_waiting(const struct demo *d);

/* Returns how many far timeouts were scheduled. */
uint64_t demo_load_far(const struct demo *d);

/* Reads the figures of this moment, and checks that the ledger balances. */
void demo_audit_take(struct demo *d, struct demo_moment *m);

/* Has everything that the demo shows happened at least once? */
bool demo_audit_seen_all(const struct demo *d);

/* Stops the timer under full load, and takes the final counts. */
void demo_audit_stop(struct demo *d);

/* Did every timeout end exactly once, and was there no fault? */
bool demo_audit_balanced(const struct demo *d);

/* Does accepted = fired + cancelled + dropped + handed over + pending? */
bool demo_audit_law(const struct tkw_ledger *g);
uint64_t demo_audit_fired(const uint64_t n[DEMO_COUNTS]);

void demo_late_add(struct demo_lateness *h, int64_t late_ns);
void demo_late_take(const struct demo_lateness *h, struct demo_late_copy *out);

/*
 * Computes how late the tasks were that ran between two moments.
 *
 * permille  The quantile. 500 is the median, 1000 the maximum.
 *
 * Returns ns, rounded up to the end of its bucket; 0 if no task ran.
 */
uint64_t demo_late_at(const struct demo_moment *from,
		      const struct demo_moment *to, unsigned permille);

/* Writes the timer's histogram of the time between two moments. Its maximum is
 * the end of its last bucket. */
void demo_late_by_timer(const struct demo_moment *from,
			const struct demo_moment *to,
			struct tkw_histogram *out);

/* Prepares the screen. Returns 0, or -ENOMEM. */
int demo_view_init(struct demo *d);
void demo_view_fini(struct demo *d);

/* Returns the milliseconds between two moments. */
unsigned demo_view_pace_ms(const struct demo *d);

/* Shows how many far timeouts are scheduled so far. Returns what
 * demo_view_show() returns. */
int demo_view_fill(struct demo *d);

/*
 * Shows what happened between the moments `before` and `last`.
 *
 * permille  How much of the time is over.
 *
 * Returns 0, or -1 if standard output is broken. The user has been told.
 */
int demo_view_show(struct demo *d, unsigned permille);

struct screen;
struct screen *demo_view_screen(struct demo *d);

/* Draws the title, in one line. */
void demo_view_title(const struct demo *d, struct screen *s);

/* Draws the figures between two moments, in five lines. */
void demo_view_table(const struct demo_moment *from,
		     const struct demo_moment *to, struct screen *s);

void demo_report_json(const struct demo *d);

/* Prints the report. It has at most 23 lines of 79 columns, so that a terminal
 * of 80 x 24 shows all of it. Returns what demo_view_show() returns. */
int demo_report(const struct demo *d, struct screen *s);

#endif /* TKW_TOOLS_DEMO_H */
