/* SPDX-License-Identifier: MIT */
/*
 * queue_records.c - the records: a replica that gets them, cut off here and
 * there as a crash would, damaged, or without memory; commit, and undo.
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

void qd_append(struct qd_bytes *b, const uint8_t *from, size_t len)
{
	if (len == 0)
		return;
	if (b->len + len > b->room) {
		b->room = (b->len + len) * 2;
		b->at = realloc(b->at, b->room);
		if (!b->at)
			abort();
	}
	memcpy(b->at + b->len, from, len);
	b->len += len;
}

size_t qd_record_len(const uint8_t *r)
{
	return (size_t)r[0] | (size_t)r[1] << 8 | (size_t)r[2] << 16 |
	       (size_t)r[3] << 24;
}

size_t qd_command_len(const uint8_t *bytes)
{
	size_t at = 0;
	uint8_t more;

	do {
		more = bytes[at + 6] & 1;
		at += qd_record_len(bytes + at);
	} while (more);
	return at;
}

void qd_apply(struct qd *d, struct tkw__queue *q, const uint8_t *bytes,
	      size_t len, size_t wanted)
{
	size_t used = 0;

	if (tkw__queue_replay(q, bytes, len, &used) != 0)
		qd_fail(d, "records were refused");
	if (used != wanted)
		qd_fail(d, "replay did not apply the whole commands alone");
}

static void expect_unchanged(struct qd *d, uint64_t digest, const char *what)
{
	if (tkw__queue_digest(d->replica) != digest ||
	    tkw__queue_check(d->replica))
		qd_fail(d, what);
}

/* A crash at each record of a command, and inside one: nothing of it is
 * there. */
static void tear(struct qd *d, const uint8_t *bytes, size_t len)
{
	uint64_t digest = tkw__queue_digest(d->replica);
	size_t at = 0;
	size_t cut;

	while ((at += qd_record_len(bytes + at)) < len) {
		qd_apply(d, d->replica, bytes, at, 0);
		d->tally->n[QT_TORN]++;
	}
	cut = qd_below(d, (uint32_t)(len < 65536 ? len : 65536));
	qd_apply(d, d->replica, bytes, cut, 0);
	d->tally->n[QT_TORN_INSIDE]++;
	expect_unchanged(d, digest,
			 "a command that was cut off has left something");
}

/* The last record of some commands is of no kind. Nothing of all of them is
 * there then. */
static void damage(struct qd *d, const uint8_t *bytes, size_t len)
{
	struct qd_bytes copy = { NULL, 0, 0 };
	uint64_t digest = tkw__queue_digest(d->replica);
	size_t at = 0;
	size_t used = 0;
	int err;

	qd_append(&copy, bytes, len);
	while (at + qd_record_len(bytes + at) < len)
		at += qd_record_len(bytes + at);
	copy.at[at + 4] = 0;
	err = tkw__queue_replay(d->replica, copy.at, len, &used);
	free(copy.at);
	if (err != -EBADMSG)
		qd_fail(d, "a damaged record was not refused");
	expect_unchanged(d, digest, "refused records have left something");
	d->tally->n[QT_DAMAGED]++;
}

/* The memory runs out in a replay. Nothing of all commands is there then. */
static void starve(struct qd *d, const uint8_t *bytes, size_t len)
{
	uint64_t digest = tkw__queue_digest(d->replica);
	size_t used = 0;
	int err;

	d->replica_mem->fail_at = 1 + qd_below(d, 6);
	err = tkw__queue_replay(d->replica, bytes, len, &used);
	d->replica_mem->fail_at = 0;
	if (err == 0)
		tkw__queue_undo(d->replica);
	else if (err != -ENOMEM)
		qd_fail(d, "records were refused");
	d->tally->n[QT_STARVED] += err != 0;
	expect_unchanged(d, digest,
			 "a replay without memory has left something");
}

void qd_replicate(struct qd *d, const uint8_t *bytes, size_t len)
{
	struct tkw__queue_call call = { .now_us = d->now_us };
	uint64_t compiles = d->calendar.compiles;
	size_t at = 0;

	if (len && qd_below(d, 16) == 0)
		damage(d, bytes, len);
	if (len && qd_below(d, 16) == 0)
		starve(d, bytes, len);
	while (at < len) {
		size_t one = qd_command_len(bytes + at);

		if (qd_below(d, 8) == 0)
			tear(d, bytes + at, one);
		qd_apply(d, d->replica, bytes + at, one, one);
		at += one;
	}
	/* A replica derives what is ready, at its own pace. */
	if (qd_below(d, 4) == 0)
		tkw__queue_advance(d->replica, &call, qd_below(d, 8),
				   TKW__QUEUE_REPLICA);
	tkw__queue_commit(d->replica);
	if (d->calendar.compiles != compiles || d->calendar.open)
		qd_fail(d, "a replica has used the calendar");
	if (len && qd_below(d, 4) == 0 && tkw__queue_check(d->replica))
		qd_fail(d, tkw__queue_check(d->replica));
	if (len && tkw__queue_digest(d->replica) != tkw__queue_digest(d->q))
		qd_fail(d, "the replica is not equal");
}

void qd_commit(struct qd *d)
{
	qd_trace(d, "commit", 0, 0);
	tkw__queue_commit(d->q);
	qd_replicate(d, d->log.bytes, d->log.len);
	qd_append(&d->journal.records, d->log.bytes, d->log.len);
	tkw__queue_log_clear(&d->log);
	d->saved = d->oracle;
	d->points = 0;
	qd_copy_done(d);
	if (qd_below(d, 32) == 0)
		qd_dump(d);
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
	d->points = 0;
	d->quiet_ms = 0;
	d->copy = d->copy_saved;
	/* What had ended is back: it was not there throughout. */
	d->scan.on = false;
	if (tkw__queue_digest(d->q) != tkw__queue_digest(d->replica))
		qd_fail(d, "undo did not go back to the commit");
	qd_verify_items(d);
}
