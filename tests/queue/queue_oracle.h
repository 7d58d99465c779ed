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
 */
#ifndef QUEUE_ORACLE_H
#define QUEUE_ORACLE_H

#include <stdint.h>

enum {
	QO_MAX = 96,
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
	uint32_t key; /* 0: none */
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
	uint32_t attempts;
	uint32_t reason;
	int dead;
	struct qo_want want; /* due is the present one */
};

struct qo {
	const char *wrong; /* set when the queue has not done its part */
	uint32_t count;
	uint64_t last_id, last_token;
	uint64_t puts, acks, cancels, purges, replaces, takes, nacks, losses;
	uint64_t deaths, revivals, extends, reschedules;
	/* Takes of this process, by how late they were. */
	uint64_t lateness[QO_BUCKETS];
	uint64_t paused, max_items, max_bytes, max_payload;
	struct qo_item items[QO_MAX];
};

/* NULL if there is none. */
struct qo_item *qo_find(struct qo *o, uint64_t id);
struct qo_item *qo_find_key(struct qo *o, uint32_t key);
/* What a lease that has run out by now makes of an item. */
struct qo_item qo_view(const struct qo_item *it, uint64_t now_ms);
enum qo_state qo_state_of(const struct qo_item *it, uint64_t now_ms);

/* The queue has recorded that a lease ran out. */
void qo_lost(struct qo *o, uint64_t id, uint64_t now_ms);

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

/* When something changes next after now; UINT64_MAX if nothing does. */
uint64_t qo_next(const struct qo *o, uint64_t now_ms);

#endif /* QUEUE_ORACLE_H */
