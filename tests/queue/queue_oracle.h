/* SPDX-License-Identifier: MIT */
/*
 * queue_oracle.h - what a delay queue must do, told by an unsorted array.
 *
 * The oracle searches its array from the front for everything. It has no wheel,
 * no tree, no hash and no line in common with src/queue: what both agree on is
 * true for another reason than a shared mistake.
 *
 * Time: a lease ends at its time, whether or not the queue has said so in a
 * record. Every answer is that of the items as they are at this time. But what
 * is final is only what was recorded: if the clock is put back, a lease whose
 * end was not recorded goes on. So the oracle is told of each such record
 * (oracle_lost), refuses it if the lease has not run out, and wants it before
 * a command that needs it.
 *
 * The order of giving out is (due, sequence, id). The sequence of a put is its
 * id, that of a lost lease is its end in microseconds, and others are numbered
 * by the counter that gives ids.
 *
 * Plans: the oracle asks each millisecond whether it is a planned time. It has
 * the rules of tkw__queue_plan() in heart.h, and besides them what they are
 * for: no time of a plan is given out twice, and no plan stops without saying
 * why.
 */
#ifndef QUEUE_ORACLE_H
#define QUEUE_ORACLE_H

#include <stdint.h>

enum {
	QO_MAX = 96,
	QO_PLANS = 3,
	QO_HELD = 64, /* held keys that a plan passes over */
	QO_BUCKETS = 156,
	QO_LOST = 1 /* the reason of a lost lease; others are the test's */
};

enum qo_state {
	QO_WAITING,
	QO_READY,
	QO_TAKEN,
	QO_DEAD
};

/* What the caller chooses about an item. Texts are numbers here. */
struct qo_want {
	uint64_t due;
	uint32_t key; /* 0: none, or that of an item of a plan */
	uint32_t job; /* not 0: the key is that of this plan and this time */
	uint64_t planned;
	uint32_t key_len;
	uint32_t payload;
	uint32_t payload_len;
	uint32_t max_attempts;
	uint32_t backoff;
	uint32_t max_backoff;
	int held; /* 0 refuse, 1 replace, 2 keep */
};

struct qo_item {
	uint64_t id;
	uint64_t seq;
	uint64_t token; /* 0: not taken */
	uint64_t lease;
	uint64_t died;
	uint64_t plan; /* the id of its plan; 0: none */
	uint32_t attempts;
	uint32_t reason;
	int dead;
	int started;         /* of a plan, and was taken */
	struct qo_want want; /* due is the present one */
};

/* When a plan comes: at the multiples of a period up to the last time, but not
 * at each skip-th. 0: none is skipped, or there is no last time. */
struct qo_times {
	uint64_t period;
	uint64_t skip;
	uint64_t last;
};

enum qo_misfire {
	QO_ONCE,
	QO_ALL,
	QO_SKIP
};

/* What the caller chooses about a plan. */
struct qo_job {
	uint32_t name; /* 1 to QO_PLANS */
	struct qo_times times;
	uint64_t grace;
	enum qo_misfire misfire;
	uint32_t max_missed;
	int overlap;
	int on_end;
	uint32_t name_len;
	uint32_t text_len;   /* of its times and its zone */
	struct qo_want item; /* only payload, attempts and back-off */
};

struct qo_plan {
	uint64_t id; /* 0: there is none */
	struct qo_job job;
	int paused;
	int error; /* a negative errno */
	int in_turn;
	uint64_t decided, runs, missed, overlaps;
	uint64_t latest; /* the latest time that was given out */
};

struct qo {
	const char *wrong; /* set when the queue has not done its part */
	uint32_t count;
	uint64_t last_id, last_token;
	uint64_t puts, acks, cancels, purges, replaces, takes, nacks, losses;
	uint64_t deaths, revivals, extends, reschedules;
	uint64_t plan_changes; /* plans made, replaced and ended */
	/* Takes of this process, by how late they were. */
	uint64_t lateness[QO_BUCKETS];
	uint64_t paused, max_items, max_bytes, max_payload;
	int calendar; /* what the calendar answers to this command; 0: times */
	struct qo_plan plan[QO_PLANS];
	struct qo_item items[QO_MAX];
};

/* NULL if there is none. */
struct qo_item *qo_find(struct qo *o, uint64_t id);
struct qo_item *qo_find_key(struct qo *o, uint32_t key);
/* The item that has the key of a plan and a time. */
struct qo_item *qo_find_planned(struct qo *o, uint32_t job, uint64_t planned);
/* The item that has the key of this one. */
struct qo_item *qo_find_same(struct qo *o, const struct qo_want *w);
/* What a lease that has run out by now makes of an item. */
struct qo_item qo_view(const struct qo_item *it, uint64_t now_ms);
enum qo_state qo_state_of(const struct qo_item *it, uint64_t now_ms);

/* The queue has recorded that a lease ran out. */
void qo_lost(struct qo *o, uint64_t id, uint64_t now_us);

/* 0 or -errno, as the queue's. A failed one changes nothing but ids. */
int qo_put(struct qo *o, uint64_t now_us, const struct qo_want *w,
	   uint64_t *id);
/* The next item to be given out, which is then taken; NULL if there is none. */
struct qo_item *qo_take(struct qo *o, uint64_t now_us, uint64_t lease_ms);

/* 1 done, 0 unknown or stale, -1 taken. */
int qo_ack(struct qo *o, uint64_t now_us, uint64_t id, uint64_t token);
int qo_extend(struct qo *o, uint64_t now_us, uint64_t id, uint64_t token,
	      uint64_t lease_ms);
/* delay < 0: the back-off. */
struct qo_nack {
	uint64_t id;
	uint64_t token;
	int64_t delay;
	uint32_t reason;
};
int qo_nack(struct qo *o, uint64_t now_us, const struct qo_nack *n);
int qo_cancel(struct qo *o, uint64_t now_us, struct qo_item *it);
int qo_reschedule(struct qo *o, uint64_t now_us, struct qo_item *it,
		  uint64_t due);
int qo_revive(struct qo *o, uint64_t now_us, struct qo_item *it);
int qo_purge(struct qo *o, uint64_t now_us, struct qo_item *it);
/* The item of the lowest id, from this one on, that is recorded as dead; NULL
 * if there is none. */
struct qo_item *qo_dead_from(struct qo *o, uint64_t id);

/* --- plans: queue_oracle_plans.c ------------------------------------------ */

/* As the queue's commands. next: the planned time of the fresh item, or 0. */
int qo_make_plan(struct qo *o, uint64_t now_us, const struct qo_job *job,
		 uint64_t *next);
int qo_unplan(struct qo *o, uint32_t name);
int qo_pause_plan(struct qo *o, uint32_t name);
int qo_resume_plan(struct qo *o, uint64_t now_us, uint32_t name);

/* The fresh item of a plan; NULL if there is none. */
struct qo_item *qo_fresh(struct qo *o, const struct qo_plan *p);
/* How many items of a plan are running, by what was recorded. */
uint32_t qo_running(const struct qo *o, const struct qo_plan *p);
uint64_t qo_plan_bytes(const struct qo_plan *p);

/* True if an item is fresh and must not overlap, and another one of its plan is
 * running by what was recorded. */
int qo_overlaps(struct qo *o, const struct qo_item *it);
/* A user cancels an item. If it overlaps, all leases of its plan that have run
 * out must be recorded. */
void qo_want_leases(struct qo *o, const struct qo_item *it, uint64_t now_us);
/* True if a take must end this item, which is the first one, instead of giving
 * it out. It is only known if all leases that have run out are recorded. */
int qo_must_meet(struct qo *o, const struct qo_item *it, uint64_t now_us);
/* A take has ended a fresh item instead of giving it out. */
void qo_meet(struct qo *o, uint64_t now_us, uint64_t id);

/* For the oracle itself. */
uint64_t qo_next_number(uint64_t *last, uint64_t now_us);
void qo_drop(struct qo *o, struct qo_item *it);
int qo_before(const struct qo_item *a, const struct qo_item *b);
/* The first item that is ready, as it is at this time; NULL if there is none.
 */
struct qo_item *qo_first(struct qo *o, uint64_t now_ms);
/* The item is about to be given out, was given out, or has ended. */
void qo_plan_gives(struct qo *o, struct qo_item *it, uint64_t now_us);
void qo_plan_gave(struct qo *o, struct qo_item *it, uint64_t now_us);
void qo_plan_ended(struct qo *o, const struct qo_item *was, uint64_t at_ms,
		   uint64_t now_us);

/* When something changes next after now; UINT64_MAX if nothing does. */
uint64_t qo_next(const struct qo *o, uint64_t now_ms);

#endif /* QUEUE_ORACLE_H */
