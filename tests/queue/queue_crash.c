/* SPDX-License-Identifier: MIT */
/*
 * queue_crash.c - the queue is lost, and goes on: rebuilt from what is on the
 * disk, at each record at which the last write can have been cut off, or in its
 * replica. The new one takes the place of the old one, beside the same oracle.
 *
 * On the disk are all records; or a snapshot, copied forward while the queue
 * was in use, and what came after it; or a dump, and what came after it.
 */
#include <stdlib.h>
#include <string.h>

#include "queue_driving.h"

static struct tkw__queue *fresh(struct qd *d, struct qd_memory *mem)
{
	struct tkw__queue_config cfg = d->cfg;
	struct tkw__queue *q;

	cfg.hooks.ctx = mem;
	cfg.seed[0] = qd_below(d, 65536);
	cfg.small = 1 + qd_below(d, 20);
	cfg.now_us = d->now_us;
	if (tkw__queue_create(&q, &cfg) != 0)
		qd_fail(d, "a queue could not be created");
	return q;
}

/* Loads a snapshot, and what may come after it. */
static void load(struct qd *d, struct tkw__queue *q, const uint8_t *bytes,
		 size_t len)
{
	size_t used = 0;

	if (tkw__queue_load(q, bytes, len, &used) != 0 || used != len)
		qd_fail(d, "a snapshot was refused");
	if (!tkw__queue_is_whole(q))
		qd_fail(d, "a snapshot has no end");
}

void qd_dump(struct qd *d)
{
	struct tkw__queue_log log = { NULL, 0, 0, 0 };
	uint64_t cursor = 0;

	d->journal.dump.len = 0;
	do {
		tkw__queue_log_clear(&log);
		if (tkw__queue_dump(d->q, &cursor, qd_below(d, 9), &log) != 0)
			qd_fail(d, "a dump failed");
		qd_append(&d->journal.dump, log.bytes, log.len);
	} while (cursor != 0);
	tkw__queue_log_fini(d->q, &log);
	d->journal.dumped = d->journal.records.len;
}

/* From a dump, and the records after it. */
static void from_dump(struct qd *d, struct tkw__queue *q)
{
	const struct qd_journal *j = &d->journal;
	size_t left = j->records.len - j->dumped;

	load(d, q, j->dump.at, j->dump.len);
	qd_apply(d, q, left ? j->records.at + j->dumped : NULL, left, left);
	d->tally->n[QT_FROM_DUMP]++;
}

/* From what is left in the journal, record by record. */
static void from_rows(struct qd *d, struct tkw__queue *q)
{
	const struct qd_journal *j = &d->journal;
	size_t at = j->first;

	while (at < j->records.len) {
		size_t len = qd_record_len(j->records.at + at);

		if (tkw__queue_replay_one(q, j->records.at + at, len,
					  at < j->whole) < 0)
			qd_fail(d, "a record of a journal was refused");
		at += len;
	}
	if (!tkw__queue_is_whole(q))
		qd_fail(d, "a snapshot has no end");
	d->tally->n[QT_FROM_ROWS]++;
}

/* The queue as it was at the last commit. */
static struct tkw__queue *rebuild(struct qd *d)
{
	const struct qd_journal *j = &d->journal;
	struct tkw__queue *q = fresh(d, d->mem);
	uint32_t way = qd_below(d, 4);

	if (way == 0 && j->dump.len) {
		from_dump(d, q);
	} else if (way == 1) {
		from_rows(d, q);
	} else if (way == 2 && j->whole) {
		load(d, q, j->records.at + j->first, j->records.len - j->first);
		d->tally->n[QT_FROM_SNAPSHOT]++;
	} else {
		/* As if nothing had been dropped yet. */
		qd_apply(d, q, j->records.at, j->records.len, j->records.len);
		d->tally->n[QT_FROM_ALL]++;
	}
	tkw__queue_commit(q);
	return q;
}

/* What holds for a queue that has just begun to work. */
static void begin_anew(struct qd *d)
{
	memset(d->oracle.lateness, 0, sizeof(d->oracle.lateness));
	d->saved = d->oracle;
	d->quiet_ms = 0;
	d->points = 0;
	d->scan.on = false;
	d->copy.on = false;
	d->copy.ended = false;
	d->copy_saved = d->copy;
}

static void lose_queue(struct qd *d)
{
	tkw__queue_log_fini(d->q, &d->log);
	tkw__queue_destroy(d->q);
	d->q = NULL;
	if (d->mem->bytes != 0)
		qd_fail(d, "memory has leaked");
}

/* How many bytes of a batch are whole commands if it is cut off here. */
static size_t whole_commands(const uint8_t *bytes, size_t cut)
{
	size_t at = 0;

	while (at < cut) {
		size_t len = qd_command_len(bytes + at);

		if (len > cut - at)
			break;
		at += len;
	}
	return at;
}

/* Applies a batch that was cut off, and sets the oracle to what must be then.
 */
static void apply_cut(struct qd *d, const struct qd_bytes *batch, size_t cut)
{
	size_t whole = whole_commands(batch->at, cut);
	uint32_t i;

	qd_apply(d, d->q, batch->at, cut, whole);
	d->oracle = d->saved;
	for (i = 0; i < d->points && d->point[i].len <= whole; i++)
		d->oracle = d->point[i].oracle;
	if (tkw__queue_check(d->q))
		qd_fail(d, tkw__queue_check(d->q));
	qd_verify_items(d);
	d->tally->n[QT_CRASH_AT_RECORD]++;
}

/* Cuts the batch off at each record, one after the other. Returns one of these
 * places. */
static size_t try_cuts(struct qd *d, const struct qd_bytes *batch)
{
	size_t chosen = 0;
	size_t cut = 0;
	uint32_t n = 1;

	while (cut < batch->len) {
		cut += qd_record_len(batch->at + cut);
		apply_cut(d, batch, cut);
		tkw__queue_undo(d->q);
		if (qd_below(d, ++n) == 0)
			chosen = cut;
	}
	return chosen;
}

void qd_crash(struct qd *d)
{
	struct qd_bytes batch = { NULL, 0, 0 };
	size_t cut, whole;

	qd_trace(d, "crash", d->log.len, 0);
	qd_append(&batch, d->log.bytes, d->log.len);
	lose_queue(d);
	d->q = rebuild(d);
	if (tkw__queue_digest(d->q) != tkw__queue_digest(d->replica))
		qd_fail(d, "a rebuilt queue is not equal");
	cut = try_cuts(d, &batch);
	apply_cut(d, &batch, cut);
	qd_trace(d, "  cut off at", cut, 0);
	tkw__queue_commit(d->q);
	whole = whole_commands(batch.at, cut);
	qd_replicate(d, batch.at, whole);
	qd_append(&d->journal.records, batch.at, whole);
	free(batch.at);
	begin_anew(d);
	d->tally->n[QT_CRASH]++;
}

void qd_failover(struct qd *d)
{
	struct qd_memory *mem = d->mem;

	qd_trace(d, "failover", d->log.len, 0);
	lose_queue(d);
	d->q = d->replica;
	d->mem = d->replica_mem;
	d->replica_mem = mem;
	d->oracle = d->saved;
	begin_anew(d);
	qd_verify_items(d);
	qd_dump(d);
	d->replica = fresh(d, d->replica_mem);
	load(d, d->replica, d->journal.dump.at, d->journal.dump.len);
	if (tkw__queue_digest(d->q) != tkw__queue_digest(d->replica))
		qd_fail(d, "the replica is not equal");
	d->tally->n[QT_FAILOVER]++;
}

static void visit_copied(const struct tkw__queue_facts *f, void *ctx)
{
	struct qd *d = ctx;

	if (tkw__queue_dump_item(d->q, f->id, &d->log) != 0)
		qd_fail(d, "an item could not be copied");
}

static void visit_plan(const struct tkw__queue_plan_facts *f, void *ctx)
{
	struct qd *d = ctx;

	if (tkw__queue_dump_plan(d->q, f->plan.name, &d->log) != 0)
		qd_fail(d, "a plan could not be copied");
}

static void copy_plans(struct qd *d)
{
	struct tkw__queue_text first = { NULL, 0 };

	tkw__queue_list_plans(d->q, first, UINT32_MAX, visit_plan, d);
}

void qd_copy_some(struct qd *d)
{
	struct tkw__queue_list list = { d->now_us, TKW__QUEUE_STATES,
					1 + qd_below(d, 8), visit_copied, d };
	struct qd_copy *c = &d->copy;

	qd_trace(d, "copy", c->on, c->ended);
	if (c->ended)
		return;
	if (!c->on) {
		/* It begins between two batches. */
		if (d->log.len)
			qd_commit(d);
		*c = (struct qd_copy){ .on = true,
				       .plans_first = qd_below(d, 2),
				       .first = d->journal.records.len };
		if (c->plans_first)
			copy_plans(d);
	}
	c->cursor = tkw__queue_list(d->q, &list, c->cursor);
	if (c->cursor != 0)
		return;
	if (!c->plans_first)
		copy_plans(d);
	if (tkw__queue_dump_totals(d->q, &d->log) != 0)
		qd_fail(d, "totals could not be written");
	c->ended = true;
}

void qd_copy_done(struct qd *d)
{
	struct qd_copy *c = &d->copy;

	if (c->ended) {
		d->journal.first = c->first;
		d->journal.whole = d->journal.records.len;
		*c = (struct qd_copy){ .on = false };
		d->tally->n[QT_COPIED]++;
	}
	d->copy_saved = *c;
}
