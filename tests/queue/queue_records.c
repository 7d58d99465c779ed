/* SPDX-License-Identifier: MIT */
/*
 * queue_records.c - the records: a replica that gets them, cut off here and
 * there as a crash would; queues that are rebuilt from them; and undo.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queue_driving.h"

void *qd_alloc(size_t bytes, void *ctx)
{
	struct qd_memory *m = ctx;
	void *mem;

	if (m->fail_at && --m->fail_at == 0) {
		m->failed = true;
		return NULL;
	}
	mem = malloc(bytes);
	if (!mem)
		abort();
	memset(mem, 0xa5, bytes < 4096 ? bytes : 4096);
	m->bytes += bytes;
	return mem;
}

void qd_free(void *mem, size_t bytes, void *ctx)
{
	struct qd_memory *m = ctx;

	memset(mem, 0x5a, bytes < 4096 ? bytes : 4096);
	m->bytes -= bytes;
	free(mem);
}

static size_t record_len(const uint8_t *r)
{
	return (size_t)r[0] | (size_t)r[1] << 8 | (size_t)r[2] << 16 |
	       (size_t)r[3] << 24;
}

/* The length of the command at the start of some records. */
static size_t command_len(const uint8_t *bytes)
{
	size_t at = 0;
	uint8_t more;

	do {
		more = bytes[at + 6] & 1;
		at += record_len(bytes + at);
	} while (more);
	return at;
}

static void apply(struct qd *d, struct tkw__queue *q, const uint8_t *bytes,
		  size_t len, size_t wanted)
{
	size_t used = 0;

	if (tkw__queue_replay(q, bytes, len, &used) != 0)
		qd_fail(d, "records were refused");
	if (used != wanted)
		qd_fail(d, "replay did not apply the whole commands alone");
}

/* A crash at each record of a command, and inside one: nothing of it is
 * there. */
static void tear(struct qd *d, const uint8_t *bytes, size_t len)
{
	uint64_t digest = tkw__queue_digest(d->replica);
	size_t at = 0;
	size_t cut;

	while ((at += record_len(bytes + at)) < len) {
		apply(d, d->replica, bytes, at, 0);
		d->tally->n[QT_TORN]++;
	}
	cut = qd_below(d, (uint32_t)(len < 65536 ? len : 65536));
	apply(d, d->replica, bytes, cut, 0);
	d->tally->n[QT_TORN_INSIDE]++;
	if (tkw__queue_digest(d->replica) != digest ||
	    tkw__queue_check(d->replica))
		qd_fail(d, "a command that was cut off has left something");
}

static void keep(struct qd *d)
{
	size_t need = d->whole_len + d->log.len;

	if (!d->keep || d->log.len == 0)
		return;
	if (need > d->whole_room) {
		d->whole_room = need * 2;
		d->whole = realloc(d->whole, d->whole_room);
		if (!d->whole)
			abort();
	}
	memcpy(d->whole + d->whole_len, d->log.bytes, d->log.len);
	d->whole_len = need;
}

void qd_replicate(struct qd *d)
{
	struct tkw__queue_call call = { .now_us = d->now_us };
	size_t at = 0;

	while (at < d->log.len) {
		size_t len = command_len(d->log.bytes + at);

		if (qd_below(d, 8) == 0)
			tear(d, d->log.bytes + at, len);
		apply(d, d->replica, d->log.bytes + at, len, len);
		at += len;
	}
	/* A replica derives what is ready, at its own pace. */
	if (qd_below(d, 4) == 0)
		tkw__queue_advance(d->replica, &call, qd_below(d, 8),
				   TKW__QUEUE_REPLICA);
	tkw__queue_commit(d->replica);
	if (d->log.len && qd_below(d, 4) == 0 && tkw__queue_check(d->replica))
		qd_fail(d, tkw__queue_check(d->replica));
	if (d->log.len &&
	    tkw__queue_digest(d->replica) != tkw__queue_digest(d->q))
		qd_fail(d, "the replica is not equal");
	keep(d);
}

void qd_commit(struct qd *d)
{
	qd_trace(d, "commit", 0, 0);
	tkw__queue_commit(d->q);
	qd_replicate(d);
	tkw__queue_log_clear(&d->log);
	d->saved = d->oracle;
	d->tally->n[QT_COMMIT]++;
}

void qd_undo(struct qd *d)
{
	qd_trace(d, "undo", 0, 0);
	d->tally->n[QT_UNDO]++;
	d->tally->n[QT_UNDO_CHANGES] += d->log.len > 0;
	tkw__queue_undo(d->q);
	tkw__queue_log_clear(&d->log);
	d->oracle = d->saved;
	d->quiet_ms = 0;
	/* What had ended is back: it was not there throughout. */
	d->scan.on = false;
	if (tkw__queue_digest(d->q) != tkw__queue_digest(d->replica))
		qd_fail(d, "undo did not go back to the commit");
	qd_verify_items(d);
}

static struct tkw__queue *fresh(struct qd *d)
{
	struct tkw__queue_config cfg = d->cfg;
	struct tkw__queue *q;

	cfg.hooks.ctx = &d->replica_mem;
	cfg.small = 1 + qd_below(d, 20);
	cfg.now_us = d->now_us;
	if (tkw__queue_create(&q, &cfg) != 0)
		qd_fail(d, "a queue could not be created");
	return q;
}

static void expect_equal(struct qd *d, struct tkw__queue *q)
{
	const char *wrong = tkw__queue_check(q);

	if (wrong)
		qd_fail(d, wrong);
	if (tkw__queue_digest(q) != tkw__queue_digest(d->q))
		qd_fail(d, "a rebuilt queue is not equal");
	tkw__queue_destroy(q);
}

/* From all records, and from a dump in pieces. */
void qd_rebuild(struct qd *d)
{
	struct tkw__queue *q = fresh(d);
	struct tkw__queue_log log = { NULL, 0, 0, 0 };
	uint64_t cursor = 0;
	size_t used;

	if (d->whole_len)
		apply(d, q, d->whole, d->whole_len, d->whole_len);
	expect_equal(d, q);
	d->tally->n[QT_REBUILT]++;
	q = fresh(d);
	do {
		tkw__queue_log_clear(&log);
		if (tkw__queue_dump(d->q, &cursor, qd_below(d, 9), &log) != 0)
			qd_fail(d, "a dump failed");
		if (tkw__queue_load(q, log.bytes, log.len, &used) != 0 ||
		    used != log.len)
			qd_fail(d, "a dump was refused");
	} while (cursor != 0);
	if (!tkw__queue_is_whole(q))
		qd_fail(d, "a dump has no end");
	tkw__queue_log_fini(d->q, &log);
	expect_equal(d, q);
	d->tally->n[QT_DUMPED]++;
}
