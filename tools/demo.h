/* SPDX-License-Identifier: MIT */
/*
 * demo.h - what the parts of `tkw demo`, the demo in real time, share.
 *
 * cmd_demo.c      its options
 * demo.c          runs it, from the load to the report
 * demo_load.c     the load: threads that act like a busy server
 * demo_timeout.c  the timeouts: what is asked of the timer, and the tasks
 * demo_audit.c    stops the timer, and compares its ledger with our own counts
 * demo_lateness.c how late the tasks were
 * demo_view.c     the figures while it runs
 * demo_report.c   the ledger, as text and as JSON
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
	uint64_t pending; /* far timeouts */
	bool json;
};

/* What the demo counts itself, without asking the timer. */
enum demo_count {
	DEMO_ACCEPTED,    /* schedules that returned 0 */
	DEMO_CANCELLED,   /* cancels that returned 0 */
	DEMO_HANDED_OVER, /* calls of the visitor */
	DEMO_PUSHED_BACK, /* reschedules that returned 0 */
	DEMO_TOO_LATE,    /* answers that came when the timeout had fired */
	DEMO_CLOSED,      /* calls refused because of the stop */
	DEMO_WRONG,       /* calls that had to be refused */
	DEMO_REFUSED,     /* those of them that were */
	/* What tasks count: a call unanswered, a connection idle, a heartbeat,
	 * a far timeout. */
	DEMO_FIRED_CALL,
	DEMO_FIRED_IDLE,
	DEMO_FIRED_BEAT,
	DEMO_FIRED_FAR,
	/* What must not be. */
	DEMO_FAILED, /* a right call was refused */
	DEMO_EARLY,
	DEMO_TWICE, /* ended again: fired, cancelled or handed over */
	DEMO_COUNTS
};

/* Each thread has its own, the first is the worker's and then the stop's; only
 * their sums mean something. */
struct demo_counters {
	_Alignas(64) _Atomic uint64_t n[DEMO_COUNTS];
};

/* A log-linear histogram: 64 buckets to the doubling, 2 % wide at most. */
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

/* What the demo knows of a timeout's life. It is the first member of whatever
 * the argument of a task points to. */
struct demo_mark {
	_Atomic unsigned char fate; /* enum demo_fate */
};

struct demo_server;

/* The figures of one moment. */
struct demo_moment {
	int64_t at_ns;
	uint64_t n[DEMO_COUNTS];
	uint64_t pending;  /* by the timer */
	int64_t worker_ns; /* CPU time; 0: not known yet */
	struct demo_late_copy late;
};

struct demo {
	struct demo_config cfg;
	struct tkw_timer *timer;
	struct demo_counters *counters; /* [1 + threads] */
	struct demo_server *servers;    /* [threads] */
	unsigned started;               /* threads that run */
	struct demo_mark *far;          /* [cfg.pending] */
	uint64_t beats;                 /* heartbeats, of all threads */
	struct demo_lateness late;
	/* Threads whose far timeouts are all scheduled. */
	atomic_uint filled;
	/* The stop is about to be called: calls may be refused from now on. */
	atomic_bool stopping;
	/* Threads shall end. */
	atomic_bool ending;
	/* -errno that ends the demo, from any thread. */
	atomic_int error;
	/* The worker's CPU clock, written by the first heartbeat. */
	atomic_bool worker_known;
	clockid_t worker_clock;
	/* No far timeout is due before. */
	int64_t far_ns;

	struct demo_moment first;  /* when all far timeouts were scheduled */
	struct demo_moment before; /* the last one shown */
	struct demo_moment last;   /* now, or before the stop */
	uint64_t readings;         /* of the ledger, on the way */
	uint64_t uneven;           /* that did not balance */
	/* After the stop. */
	struct tkw_ledger ledger;
	struct tkw_stats stats;
	uint64_t n[DEMO_COUNTS];
	uint64_t lost;       /* neither fired, nor cancelled, nor handed over */
	const char *unsound; /* what tkw_timer_check() found, or NULL */

	void *view; /* NULL: nobody watches */
};

/* Run the demo in real time. Return the exit status of tkw. */
int demo_run(const struct demo_config *cfg);

int64_t demo_now_ns(void);
void demo_sleep_until(int64_t ns);

void demo_count(struct demo_counters *c, enum demo_count what);

/* A timeout has ended, for the first time or for one time too many. */
void demo_mark_end(struct demo_counters *c, struct demo_mark *m);

/* A call that had to be refused with `want` returned r. */
void demo_expect(struct demo_counters *c, int r, int want);

/*
 * Make the timer, and start its thread and the server's.
 *
 * Return  0, or -errno: what was started is running; stop it.
 */
int demo_load_init(struct demo *d);
int demo_load_start(struct demo *d);

/* Wait for the server's threads, which end when the timer is stopped. */
void demo_load_join(struct demo *d);
void demo_load_fini(struct demo *d);

/* How many timeouts have not ended, by their marks; how many far ones there
 * were. */
uint64_t demo_load_waiting(const struct demo *d);
uint64_t demo_load_far(const struct demo *d);

/* Take the figures of this moment, and see whether the ledger balances. */
void demo_audit_take(struct demo *d, struct demo_moment *m);

/* Has each kind of thing that the demo is about happened by now? */
bool demo_audit_seen_all(const struct demo *d);

/* Stop the timer in the midst of its load, and close the books. */
void demo_audit_stop(struct demo *d);

bool demo_audit_balanced(const struct demo *d);

/* Does accepted = fired + cancelled + dropped + handed over + pending? */
bool demo_audit_law(const struct tkw_ledger *g);
uint64_t demo_audit_fired(const uint64_t n[DEMO_COUNTS]);

void demo_late_add(struct demo_lateness *h, int64_t late_ns);
void demo_late_take(const struct demo_lateness *h, struct demo_late_copy *out);

/*
 * So late at most was this part of the tasks that ran between two moments.
 *
 * permille
 *         500: the median; 1000: the maximum.
 * Return  ns, rounded up to the end of its bucket; 0 if none ran.
 */
uint64_t demo_late_at(const struct demo_moment *from,
		      const struct demo_moment *to, unsigned permille);

/* Return  0; -ENOMEM. */
int demo_view_init(struct demo *d);
void demo_view_fini(struct demo *d);

/* Milliseconds between two moments. */
unsigned demo_view_pace_ms(const struct demo *d);

/*
 * Show that far timeouts are being scheduled; show what happened between the
 * moments `before` and `last`.
 *
 * permille
 *         of the way.
 * Return  0, or -1: standard output is broken, and the user told.
 */
int demo_view_fill(struct demo *d);
int demo_view_show(struct demo *d, unsigned permille);

struct screen;
struct screen *demo_view_screen(struct demo *d);

/* Draw the title; draw what happened between two moments. */
void demo_view_title(const struct demo *d, struct screen *s);
void demo_view_table(const struct demo_moment *from,
		     const struct demo_moment *to, struct screen *s);

void demo_report_json(const struct demo *d);
int demo_report(const struct demo *d, struct screen *s);

#endif /* TKW_TOOLS_DEMO_H */
