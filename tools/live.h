/* SPDX-License-Identifier: MIT */
/*
 * live.h - what the parts of `tkw demo` in real time share.
 *
 * live.c          its options, and the order of things
 * live_load.c     the load: threads that act like a busy server
 * live_timeout.c  the timeouts: what is asked of the timer, and the tasks
 * live_audit.c    stops the timer, and holds its ledger against our own counts
 * live_lateness.c how late the tasks were
 * live_view.c     the figures while it runs
 * live_report.c   the ledger, in words and as JSON
 */
#ifndef TKW_TOOLS_LIVE_H
#define TKW_TOOLS_LIVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "args.h"
#include "tickwheel.h"

struct live_config {
	uint64_t seconds;
	uint64_t threads;
	uint64_t pending; /* far timeouts */
	bool json;
};

/* What the demo counts itself, without asking the timer. */
enum live_count {
	LIVE_ACCEPTED,    /* schedules that returned 0 */
	LIVE_CANCELLED,   /* cancels that returned 0 */
	LIVE_HANDED_OVER, /* calls of the visitor */
	LIVE_PUSHED_BACK, /* reschedules that returned 0 */
	LIVE_TOO_LATE,    /* answers that came when the timeout had fired */
	LIVE_CLOSED,      /* calls refused because of the stop */
	LIVE_WRONG,       /* calls that had to be refused */
	LIVE_REFUSED,     /* those of them that were */
	/* What tasks count: a call unanswered, a connection idle, a heartbeat,
	 * a far timeout. */
	LIVE_FIRED_CALL,
	LIVE_FIRED_IDLE,
	LIVE_FIRED_BEAT,
	LIVE_FIRED_FAR,
	/* What must not be. */
	LIVE_FAILED, /* a right call was refused */
	LIVE_EARLY,
	LIVE_TWICE, /* ended again: fired, cancelled or handed over */
	LIVE_COUNTS
};

/* Each thread has its own, the first is the worker's and then the stop's; only
 * their sums mean something. */
struct live_counters {
	_Alignas(64) _Atomic uint64_t n[LIVE_COUNTS];
};

/* A log-linear histogram: 64 buckets to the doubling, 2 % wide at most. */
enum {
	LIVE_LATE_BITS = 6,
	LIVE_LATE_BUCKETS = (64 - LIVE_LATE_BITS) << LIVE_LATE_BITS
};

struct live_lateness {
	_Atomic uint64_t n[LIVE_LATE_BUCKETS];
};

struct live_late_copy {
	uint64_t n[LIVE_LATE_BUCKETS];
};

enum live_fate {
	LIVE_UNUSED,
	LIVE_WAITING,
	LIVE_ENDED /* fired, cancelled or handed over */
};

/* What the demo knows of a timeout's life. It is the first member of whatever
 * the argument of a task points to. */
struct live_mark {
	_Atomic unsigned char fate; /* enum live_fate */
};

struct live_server;

/* The figures of one moment. */
struct live_moment {
	int64_t at_ns;
	uint64_t n[LIVE_COUNTS];
	uint64_t pending;  /* by the timer */
	int64_t worker_ns; /* CPU time; 0: not known yet */
	struct live_late_copy late;
};

struct live {
	struct live_config cfg;
	struct tkw_timer *timer;
	struct live_counters *counters; /* [1 + threads] */
	struct live_server *servers;    /* [threads] */
	unsigned started;               /* threads that run */
	struct live_mark *far;          /* [cfg.pending] */
	uint64_t beats;                 /* heartbeats, of all threads */
	struct live_lateness late;
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

	struct live_moment first;  /* when all far timeouts were scheduled */
	struct live_moment before; /* the last one shown */
	struct live_moment last;   /* now, or before the stop */
	uint64_t readings;         /* of the ledger, on the way */
	uint64_t uneven;           /* that did not balance */
	/* After the stop. */
	struct tkw_ledger ledger;
	struct tkw_stats stats;
	uint64_t n[LIVE_COUNTS];
	uint64_t lost;       /* neither fired, nor cancelled, nor handed over */
	const char *unsound; /* what tkw_timer_check() found, or NULL */

	void *view; /* NULL: nobody watches */
};

int live_main(struct args *a);
void live_usage(void);

int64_t live_now_ns(void);
void live_sleep_until(int64_t ns);

void live_count(struct live_counters *c, enum live_count what);

/* A timeout has ended, for the first time or for one time too many. */
void live_mark_end(struct live_counters *c, struct live_mark *m);

/* A call that had to be refused with `want` returned r. */
void live_expect(struct live_counters *c, int r, int want);

/*
 * Make the timer, and start its thread and the server's.
 *
 * Return  0, or -errno: what was started is running; stop it.
 */
int live_load_init(struct live *l);
int live_load_start(struct live *l);

/* Wait for the server's threads, which end when the timer is stopped. */
void live_load_join(struct live *l);
void live_load_fini(struct live *l);

/* How many timeouts have not ended, by their marks; how many far ones there
 * were. */
uint64_t live_load_waiting(const struct live *l);
uint64_t live_load_far(const struct live *l);

/* Take the figures of this moment, and see whether the ledger balances. */
void live_audit_take(struct live *l, struct live_moment *m);

/* Has each kind of thing that the demo is about happened by now? */
bool live_audit_seen_all(const struct live *l);

/* Stop the timer in the midst of its load, and close the books. */
void live_audit_stop(struct live *l);

bool live_audit_balanced(const struct live *l);

/* Does accepted = fired + cancelled + dropped + handed over + pending? */
bool live_audit_law(const struct tkw_ledger *g);
uint64_t live_audit_fired(const uint64_t n[LIVE_COUNTS]);

void live_late_add(struct live_lateness *h, int64_t late_ns);
void live_late_take(const struct live_lateness *h, struct live_late_copy *out);

/*
 * So late at most was this part of the tasks that ran between two moments.
 *
 * permille
 *         500: the median; 1000: the maximum.
 * Return  ns, rounded up to the end of its bucket; 0 if none ran.
 */
uint64_t live_late_at(const struct live_moment *from,
		      const struct live_moment *to, unsigned permille);

/* Return  0; -ENOMEM. */
int live_view_init(struct live *l);
void live_view_fini(struct live *l);

/* Milliseconds between two moments. */
unsigned live_view_pace_ms(const struct live *l);

/*
 * Show that far timeouts are being scheduled; show what happened between the
 * moments `before` and `last`.
 *
 * permille
 *         of the way.
 * Return  0, or -1: standard output is broken, and the user told.
 */
int live_view_fill(struct live *l);
int live_view_show(struct live *l, unsigned permille);

struct screen;
struct screen *live_view_screen(struct live *l);

/* Draw the title; draw what happened between two moments. */
void live_view_title(const struct live *l, struct screen *s);
void live_view_table(const struct live_moment *from,
		     const struct live_moment *to, struct screen *s);

void live_report_json(const struct live *l);
int live_report(const struct live *l, struct screen *s);

#endif /* TKW_TOOLS_LIVE_H */
