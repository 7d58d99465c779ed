/* SPDX-License-Identifier: MIT */
/*
 * queue_hear.c - the frame of a command. The oracle hears from the records
 * which leases were lost, in the order in which the queue has noticed it.
 */
#include <errno.h>

#include "queue_driving.h"

static uint64_t le(const uint8_t *at, int n)
{
	uint64_t x = 0;

	while (n-- > 0)
		x = x << 8 | at[n];
	return x;
}

struct tkw__queue_call *qd_call(struct qd *d)
{
	d->log_mark = d->log.len;
	d->call = (struct tkw__queue_call){ d->now_us, &d->log, false };
	d->mem->failed = false;
	if (qd_below(d, 32) == 0) {
		d->digest = tkw__queue_digest(d->q);
		d->mem->fail_at = 1 + qd_below(d, 4);
	}
	return &d->call;
}

uint64_t qd_id_of(const uint8_t *r)
{
	return le(r + 8, 8);
}

static void check_records(struct qd *d)
{
	size_t at = d->log_mark;

	while (at < d->log.len) {
		const uint8_t *r = d->log.bytes + at;
		size_t len = (size_t)le(r, 4);
		bool last = at + len == d->log.len;

		if (len < 16 || len > d->log.len - at)
			qd_fail(d, "a record has no sound length");
		if (((le(r + 6, 2) & 1) == 0) != last)
			qd_fail(d, "a record does not tell the command's end");
		at += len;
	}
}

/* Tells the oracle that a lease was lost. What a plan does is no news for the
 * oracle: it has done so by itself. A cancel is that of a plan if the item is
 * gone. Returns false at a record of something else. */
static bool hear_one(struct qd *d, const uint8_t *r)
{
	uint64_t id = qd_id_of(r);

	if ((r[4] == QD_NACK || r[4] == QD_DEAD) && (le(r + 6, 2) & 2)) {
		qd_trace(d, "  lost", id, 0);
		qo_lost(&d->oracle, id, d->now_us);
		d->tally->n[QT_LOSS]++;
		return true;
	}
	return r[4] == QD_STEP || r[4] == QD_PLANNED ||
	       (r[4] == QD_CANCEL && !qo_find(&d->oracle, id));
}

static void hear(struct qd *d)
{
	while (d->heard < d->log.len && hear_one(d, d->log.bytes + d->heard))
		d->heard += (size_t)le(d->log.bytes + d->heard, 4);
}

void qd_hear_on(struct qd *d)
{
	if (d->heard < d->log.len)
		d->heard += (size_t)le(d->log.bytes + d->heard, 4);
	hear(d);
}

bool qd_answered(struct qd *d, int64_t answer)
{
	d->mem->fail_at = 0;
	if (answer == -ENOMEM) {
		if (!d->mem->failed)
			qd_fail(d, "no memory, though there was");
		if (tkw__queue_digest(d->q) != d->digest ||
		    d->log.len != d->log_mark)
			qd_fail(d,
				"a command without memory changed something");
		d->tally->n[QT_NO_MEMORY]++;
		return true;
	}
	if (d->mem->failed)
		d->tally->n[QT_NO_MEMORY_BORNE]++;
	if (answer < 0 && d->log.len != d->log_mark)
		qd_fail(d, "a refused command made records");
	check_records(d);
	d->heard = d->log_mark;
	hear(d);
	return false;
}
