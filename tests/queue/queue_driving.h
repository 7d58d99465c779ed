/* SPDX-License-Identifier: MIT */
/* queue_driving.h - what the files of the driver share; not for others. */
#ifndef QUEUE_DRIVING_H
#define QUEUE_DRIVING_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "choice.h"
#include "queue/heart.h"
#include "queue_calendar.h"
#include "queue_driver.h"
#include "queue_oracle.h"
#include "queue_tally.h"

enum {
	QD_LOTS = 128,
	QD_MANY = 4,    /* items of one command */
	QD_TOKENS = 16, /* claims remembered */
	QD_KEYS = 12,
	/* Items, before the commands that may put more of them stop. */
	QD_FULL = QO_MAX - 16,
	QD_BATCH = 12 /* commands with records between two commits, at most */
};

/* Memory that is counted, and that runs out when a test wants it to. */
struct qd_memory {
	uint64_t bytes;   /* handed out */
	uint32_t fail_at; /* this allocation from now on fails; 0: none */
	bool failed;
};

/* A scan that goes on over several commands: of all items, or of the dead. */
struct qd_scan {
	bool on;
	bool dead;
	uint64_t cursor;
	uint32_t count;
	uint64_t id[QO_MAX]; /* what was there at its start */
	bool seen[QO_MAX];
	bool gone[QO_MAX]; /* it was not there throughout */
};

/* What the oracle says after a command that has made records. */
struct qd_point {
	size_t len; /* of the log */
	struct qo oracle;
};

/* Bytes that grow. */
struct qd_bytes {
	uint8_t *at;
	size_t len;
	size_t room;
};

/* What is on the disk: the records of all commits. */
struct qd_journal {
	struct qd_bytes records;
	/* What is before `first` was dropped; a snapshot ends at `whole`. Both
	 * are 0 if nothing was dropped. */
	size_t first;
	size_t whole;
	/* A dump, made when the journal had this length. */
	struct qd_bytes dump;
	size_t dumped;
};

/* Items are copied forward, some at a time, so that old records can be
 * dropped. */
struct qd_copy {
	bool on;
	bool plans_first; /* before the items, or after them */
	bool ended;       /* its TOTALS are in the log */
	uint64_t cursor;
	size_t first; /* where in the journal it began */
};

struct qd {
	struct choice *choice;
	const struct queue_driver_opts *opts;
	struct queue_tally *tally;
	struct queue_driver_failure *failure;
	jmp_buf out;
	uint64_t op;

	struct tkw__queue *q;
	struct tkw__queue *replica;
	struct qd_memory memory[2];
	struct qd_memory *mem, *replica_mem;
	struct queue_calendar calendar;
	struct tkw__queue_config cfg;
	struct qo oracle;
	struct qo saved;  /* at the last commit */
	struct qo before; /* a command of several items */
	uint64_t now_us;
	uint64_t jumped_us; /* by this the clock has jumped ahead last */
	uint64_t quiet_ms;  /* all is quiet at this time; 0: not known */
	uint8_t lots[QD_LOTS];
	struct tkw__queue_claim token[QD_TOKENS];
	uint32_t tokens;
	struct qd_scan scan;
	struct tkw__queue_walk walk; /* over the dead */

	struct tkw__queue_log log; /* since the last commit */
	size_t log_mark;           /* before this command */
	size_t heard;              /* the oracle was told of these records */
	uint64_t digest;           /* before a command that may fail */
	struct tkw__queue_call call;
	struct qd_point point[QD_BATCH];
	uint32_t points;
	struct qd_journal journal;
	struct qd_copy copy, copy_saved;
};

_Noreturn void qd_fail(struct qd *d, const char *what);
void qd_trace(struct qd *d, const char *what, uint64_t a, uint64_t b);
uint32_t qd_below(struct qd *d, uint32_t n);
static inline uint64_t qd_now_ms(const struct qd *d)
{
	return d->now_us / 1000;
}

/* Texts, made from numbers. */
struct tkw__queue_text qd_key(uint32_t key);
struct tkw__queue_text qd_plan_name(uint32_t name);
/* The key that an item has, or that a put wants. Valid up to the next call. */
struct tkw__queue_text qd_key_of(const struct qo_want *w);
struct tkw__queue_text qd_payload(uint32_t payload, uint32_t len);
struct tkw__queue_text qd_reason(uint32_t reason);
bool qd_same(struct tkw__queue_text a, struct tkw__queue_text b);

/* The commands, on both. */
void qd_put(struct qd *d);
void qd_take(struct qd *d);
void qd_ack(struct qd *d);
void qd_nack(struct qd *d);
void qd_extend(struct qd *d);
void qd_cancel(struct qd *d);
void qd_reschedule(struct qd *d);
void qd_revive_or_purge(struct qd *d);
void qd_some_dead(struct qd *d);
/* Advances until all is quiet. */
void qd_make_quiet(struct qd *d);
void qd_settings(struct qd *d);
void qd_advance(struct qd *d);

/* The commands of plans. */
void qd_plan(struct qd *d);
void qd_change_plan(struct qd *d);
/* Chooses the key of an item of a plan, or one that such an item may get. */
void qd_draw_planned(struct qd *d, struct qo_want *w);
void qd_verify_plans(struct qd *d);
/* A new plan, an old one, or an old one with another setting. */
void qd_draw_plan(struct choice *c, const struct qo *o, uint64_t now,
		  struct qo_job *job);
/* As the queue is told. Sets the lengths in the job. The text of the times is
 * valid up to the next call. */
struct tkw__queue_plan qd_make_plan(struct qo_job *job);
/* Holds the plans of a queue against those of an oracle. Returns NULL if they
 * are the same, else what is wrong. */
const char *qd_compare_plans(struct tkw__queue *q, struct qo *o);

/* Gets ready for a command; memory may run out in it. */
struct tkw__queue_call *qd_call(struct qd *d);
/* The queue has answered: tell the oracle which leases were lost, up to the
 * first record of something else. Returns true if it failed for want of memory,
 * and so changed nothing. */
bool qd_answered(struct qd *d, int64_t answer);
/* Kinds of records, as record.h documents them. */
enum {
	QD_TAKE = 3,
	QD_NACK = 6,
	QD_DEAD = 7,
	QD_CANCEL = 8,
	QD_TOTALS = 15,
	QD_ITEM = 16,
	QD_PLAN = 32,
	QD_REPLAN = 33,
	QD_UNPLAN = 34,
	QD_STEP = 35,
	QD_PLAN_FACTS = 36,
	QD_PLANNED = 37,
	QD_PLANNED_ITEM = 38
};
/* The id in a record. */
uint64_t qd_id_of(const uint8_t *r);
/* Goes on behind the record of something else. */
void qd_hear_on(struct qd *d);
/* All records of the command must have been heard. */
void qd_expect(struct qd *d, int64_t got, int64_t wanted);

/* Holds the queue against the oracle. */
void qd_verify(struct qd *d);
void qd_verify_items(struct qd *d);
void qd_verify_quiet(struct qd *d);
void qd_scan_some(struct qd *d);
void qd_scan_watch(struct qd *d);

/* Records: commit, undo, and what a replica makes of them. */
void qd_commit(struct qd *d);
void qd_undo(struct qd *d);
void qd_replicate(struct qd *d, const uint8_t *bytes, size_t len);
/* Applies records, of which so many bytes are whole commands. */
void qd_apply(struct qd *d, struct tkw__queue *q, const uint8_t *bytes,
	      size_t len, size_t wanted);
size_t qd_record_len(const uint8_t *r);
/* The length of the command at the start of some records. */
size_t qd_command_len(const uint8_t *bytes);
void qd_append(struct qd_bytes *b, const uint8_t *from, size_t len);
void *qd_alloc(size_t bytes, void *ctx);
void qd_free(void *mem, size_t bytes, void *ctx);

/* Crashes: the queue is rebuilt and goes on, or its replica does. */
void qd_crash(struct qd *d);
void qd_failover(struct qd *d);
/* Copies some items forward. */
void qd_copy_some(struct qd *d);
/* A commit has made a copy durable: older records are dropped. */
void qd_copy_done(struct qd *d);
/* Dumps the queue, at a commit. */
void qd_dump(struct qd *d);

#endif /* QUEUE_DRIVING_H */
