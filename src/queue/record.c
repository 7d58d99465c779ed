/* SPDX-License-Identifier: MIT */
/*
 * record.c - records to bytes and back. The format is in record.h.
 *
 * Reading trusts nothing: bytes come from a disk or from another server. What
 * is read has legal lengths, times and numbers. Whether it fits the queue is
 * decided where it is applied.
 */
#include "queue/record.h"

#include <errno.h>

#include "queue/hash.h"
#include "queue/state.h"

enum body {
	NO_BODY = 0,
	WITH_KEY = 1,
	WITH_REASON = 2,
	WITH_PAYLOAD = 4,
	WITH_ZONE = 8,
	WITH_PLAN = WITH_KEY | WITH_REASON | WITH_ZONE | WITH_PAYLOAD
};

static const struct shape {
	uint8_t words;
	uint8_t body;
	uint8_t has_id;
} shapes[TKW__RECORD_PLAN_KINDS] = {
	[TKW__RECORD_PUT] = { 3, WITH_KEY | WITH_PAYLOAD, 1 },
	[TKW__RECORD_REPLACE] = { 4, WITH_KEY | WITH_PAYLOAD, 1 },
	[TKW__RECORD_TAKE] = { 2, NO_BODY, 1 },
	[TKW__RECORD_EXTEND] = { 1, NO_BODY, 1 },
	[TKW__RECORD_ACK] = { 0, NO_BODY, 1 },
	[TKW__RECORD_NACK] = { 2, WITH_REASON, 1 },
	[TKW__RECORD_DEAD] = { 1, WITH_REASON, 1 },
	[TKW__RECORD_CANCEL] = { 0, NO_BODY, 1 },
	[TKW__RECORD_RESCHEDULE] = { 2, NO_BODY, 1 },
	[TKW__RECORD_REVIVE] = { 2, NO_BODY, 1 },
	[TKW__RECORD_PURGE] = { 0, NO_BODY, 1 },
	[TKW__RECORD_PAUSE] = { 0, NO_BODY, 0 },
	[TKW__RECORD_RESUME] = { 0, NO_BODY, 0 },
	[TKW__RECORD_LIMIT] = { 3, NO_BODY, 0 },
	[TKW__RECORD_TOTALS] = { TKW__RECORD_WORDS, NO_BODY, 0 },
	[TKW__RECORD_ITEM] = { 6, WITH_KEY | WITH_REASON | WITH_PAYLOAD, 1 },
	[TKW__RECORD_PLAN] = { 4, WITH_PLAN, 1 },
	[TKW__RECORD_REPLAN] = { 4, WITH_PLAN, 1 },
	[TKW__RECORD_UNPLAN] = { 0, WITH_KEY, 1 },
	[TKW__RECORD_STEP] = { 5, WITH_KEY, 1 },
	[TKW__RECORD_PLAN_FACTS] = { 9, WITH_PLAN, 1 },
	[TKW__RECORD_PLANNED] = { 4, WITH_KEY | WITH_PAYLOAD, 1 },
	[TKW__RECORD_PLANNED_ITEM] = { 8, WITH_KEY | WITH_REASON | WITH_PAYLOAD,
				       1 },
};

static uint8_t *put_le(uint8_t *at, uint64_t x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)(x >> 8 * i);
	return at + n;
}

/* Written like this, it is one store. */
static uint8_t *put_word(uint8_t *at, uint64_t x)
{
	at[0] = (uint8_t)x;
	at[1] = (uint8_t)(x >> 8);
	at[2] = (uint8_t)(x >> 16);
	at[3] = (uint8_t)(x >> 24);
	at[4] = (uint8_t)(x >> 32);
	at[5] = (uint8_t)(x >> 40);
	at[6] = (uint8_t)(x >> 48);
	at[7] = (uint8_t)(x >> 56);
	return at + 8;
}

static uint8_t *put_text(uint8_t *at, struct tkw__queue_text t)
{
	if (t.len)
		memcpy(at, t.at, t.len);
	return at + t.len;
}

static size_t body_len(const struct tkw__record *r)
{
	size_t len = r->key.len + r->reason.len + r->zone.len + r->payload.len;

	return len ? len + 4 : 0;
}

/* Makes room in a log, doubling it. A log may have records of many queues, so
 * it does not count as memory of one. */
static int make_room(const struct tkw__queue *q, struct tkw__queue_log *log,
		     size_t more)
{
	const struct tkw__queue_hooks *h = &q->hooks;
	size_t room = log->room ? log->room : 256;
	uint8_t *bytes;

	if (more <= log->room - log->len)
		return 0;
	while (room - log->len < more) {
		if (room > SIZE_MAX / 2)
			return -ENOMEM;
		room *= 2;
	}
	bytes = h->alloc(room, h->ctx);
	if (!bytes)
		return -ENOMEM;
	if (log->len)
		memcpy(bytes, log->bytes, log->len);
	if (log->bytes)
		h->free(log->bytes, log->room, h->ctx);
	log->bytes = bytes;
	log->room = room;
	return 0;
}

int tkw__record_write(const struct tkw__queue *q, struct tkw__queue_log *log,
		      const struct tkw__record *r)
{
	const struct shape *s = &shapes[r->kind];
	size_t body = body_len(r);
	size_t len = TKW__RECORD_HEADER + (size_t)s->words * 8 + body;
	uint8_t *at;
	int err = make_room(q, log, len);

	if (err)
		return err;
	at = log->bytes + log->len;
	at = put_le(at, len, 4);
	at = put_le(at, r->kind, 1);
	at = put_le(at, TKW__RECORD_VERSION, 1);
	at = put_le(at, r->flags, 2);
	at = put_word(at, r->id);
	for (int i = 0; i < s->words; i++)
		at = put_word(at, r->word[i]);
	if (body) {
		at = put_le(at, r->key.len, 1);
		at = put_le(at, r->reason.len, 1);
		at = put_le(at, r->zone.len, 2); /* its upper byte is 0 */
		at = put_text(at, r->key);
		at = put_text(at, r->reason);
		at = put_text(at, r->zone);
		put_text(at, r->payload);
	}
	log->last = log->len;
	log->len += len;
	return 0;
}

/* The body: what a kind does not have must be empty. */
static bool read_body(struct tkw__record *r, unsigned has, const uint8_t *at,
		      size_t len)
{
	size_t texts;

	if (len == 0)
		return true;
	if (len <= 4 || has == NO_BODY || at[3] != 0)
		return false;
	texts = (size_t)at[0] + at[1] + at[2];
	if (len - 4 < texts)
		return false;
	r->key = (struct tkw__queue_text){ at + 4, at[0] };
	r->reason = (struct tkw__queue_text){ at + 4 + at[0], at[1] };
	r->zone = (struct tkw__queue_text){ at + 4 + at[0] + at[1], at[2] };
	r->payload =
		(struct tkw__queue_text){ at + 4 + texts, len - 4 - texts };
	return (r->key.len == 0 || (has & WITH_KEY)) &&
	       (r->reason.len == 0 || (has & WITH_REASON)) &&
	       (r->zone.len == 0 || (has & WITH_ZONE)) &&
	       (r->payload.len == 0 || (has & WITH_PAYLOAD)) &&
	       r->payload.len <= TKW__QUEUE_MAX_PAYLOAD;
}

static bool is_ms(uint64_t ms)
{
	return ms <= TKW__QUEUE_MAX_MS;
}

/* Ids, tokens and sequences. */
static bool is_stamp(uint64_t x)
{
	return x <= INT64_MAX;
}

/* What only items of one state have. An idle item has attempts left, or no take
 * could pass it. */
static bool legal_state(const struct tkw__record *r)
{
	const uint64_t *w = r->word;
	uint64_t attempts = w[TKW__ITEM_STATE] >> 32;
	uint32_t most = (uint32_t)w[TKW__PUT_OPTIONS];
	bool lost = (r->flags & TKW__RECORD_LOST) != 0;
	bool timed = (r->flags & TKW__RECORD_TIMED) != 0;

	switch (w[TKW__ITEM_STATE] & UINT32_MAX) {
	case TKW__IDLE:
		return is_stamp(w[TKW__ITEM_OTHER]) && (lost || !timed) &&
		       (most == 0 || attempts < most);
	case TKW__TAKEN:
		return is_ms(w[TKW__ITEM_OTHER]) && !lost && !timed &&
		       r->reason.len == 0 && attempts > 0 &&
		       (most == 0 || attempts <= most);
	case TKW__DEAD:
		return is_ms(w[TKW__ITEM_OTHER]) && !timed && most != 0 &&
		       attempts == most;
	default:
		return false;
	}
}

static bool legal_item(const struct tkw__record *r)
{
	const uint64_t *w = r->word;
	bool taken = (w[TKW__ITEM_STATE] & UINT32_MAX) == TKW__TAKEN;

	return is_ms(w[TKW__PUT_DUE]) &&
	       w[TKW__PUT_MAX_BACKOFF] <= UINT32_MAX &&
	       is_stamp(w[TKW__ITEM_TOKEN]) &&
	       taken == (w[TKW__ITEM_TOKEN] != 0) && legal_state(r);
}

/* An item that has not started was never taken. */
static bool legal_planned_item(const struct tkw__record *r)
{
	const uint64_t *w = r->word;

	return legal_item(r) && is_ms(w[TKW__ITEM_PLANNED]) &&
	       is_stamp(w[TKW__ITEM_PLAN]) &&
	       ((r->flags & TKW__RECORD_STARTED) ||
		w[TKW__ITEM_STATE] == TKW__IDLE) &&
	       tkw__plan_is_key(r->key, w[TKW__ITEM_PLANNED]);
}

static bool legal_step(const uint64_t *w)
{
	return is_ms(w[TKW__STEP_DECIDED]) &&
	       !(w[TKW__STEP_STATUS] &
		 ~(TKW__STATUS_ERROR | TKW__STATUS_PAUSED |
		   TKW__STATUS_IN_TURN));
}

/* The name of a plan is needed to find it. */
static bool legal_name(const struct tkw__record *r)
{
	return r->key.len > 0 && r->key.len <= TKW__QUEUE_MAX_PLAN_NAME;
}

static bool legal_plan(const struct tkw__record *r)
{
	uint64_t policy = r->word[TKW__PLAN_POLICY];
	uint64_t misfire = policy & TKW__POLICY_MISFIRE;
	uint64_t missed = policy >> 32;
	uint64_t flags =
		TKW__POLICY_MISFIRE | TKW__POLICY_OVERLAP | TKW__POLICY_ON_END;

	if (!legal_name(r) || r->reason.len == 0 ||
	    r->zone.len > TKW__QUEUE_MAX_ZONE ||
	    !is_ms(r->word[TKW__PLAN_GRACE]) ||
	    r->word[TKW__PLAN_MAX_BACKOFF] > UINT32_MAX ||
	    (policy & UINT32_MAX & ~flags) || misfire > TKW__QUEUE_MISSED_SKIP)
		return false;
	if (misfire == TKW__QUEUE_MISSED_ALL)
		return missed > 0 && missed <= TKW__QUEUE_MAX_MISSED;
	return missed == 0;
}

static bool legal_totals(const uint64_t *w)
{
	struct tkw__queue_totals t;

	memcpy(&t, w, sizeof(t));
	return is_stamp(t.last_id) && is_stamp(t.last_token) && t.paused <= 1 &&
	       t.max_payload <= TKW__QUEUE_MAX_PAYLOAD;
}

static bool legal_plan_words(const struct tkw__record *r)
{
	const uint64_t *w = r->word;

	switch (r->kind) {
	case TKW__RECORD_PLAN:
	case TKW__RECORD_REPLAN:
		return legal_plan(r);
	case TKW__RECORD_STEP:
		return legal_name(r) && legal_step(w);
	case TKW__RECORD_PLAN_FACTS:
		return legal_plan(r) && legal_step(w + TKW__PLAN_STATE);
	case TKW__RECORD_PLANNED:
		return is_ms(w[TKW__PUT_DUE]) &&
		       w[TKW__PUT_MAX_BACKOFF] <= UINT32_MAX &&
		       is_stamp(w[TKW__PLANNED_PLAN]) &&
		       tkw__plan_is_key(r->key, w[TKW__PUT_DUE]);
	case TKW__RECORD_PLANNED_ITEM:
		return legal_planned_item(r);
	default:
		return legal_name(r);
	}
}

static bool legal_words(const struct tkw__record *r)
{
	const uint64_t *w = r->word;

	switch (r->kind) {
	case TKW__RECORD_REPLACE:
		return is_ms(w[TKW__PUT_DUE]) &&
		       w[TKW__PUT_MAX_BACKOFF] <= UINT32_MAX &&
		       is_stamp(w[TKW__REPLACE_SEQ]) && r->key.len > 0;
	case TKW__RECORD_PUT:
		return is_ms(w[TKW__PUT_DUE]) &&
		       w[TKW__PUT_MAX_BACKOFF] <= UINT32_MAX;
	case TKW__RECORD_TAKE:
		return is_stamp(w[TKW__TAKE_TOKEN]) &&
		       w[TKW__TAKE_TOKEN] != 0 && is_ms(w[TKW__TAKE_LEASE]);
	case TKW__RECORD_EXTEND:
	case TKW__RECORD_DEAD:
		return is_ms(w[0]);
	case TKW__RECORD_NACK:
	case TKW__RECORD_RESCHEDULE:
	case TKW__RECORD_REVIVE:
		return is_ms(w[TKW__NACK_DUE]) && is_stamp(w[TKW__NACK_SEQ]);
	case TKW__RECORD_LIMIT:
		return w[TKW__LIMIT_PAYLOAD] <= TKW__QUEUE_MAX_PAYLOAD;
	case TKW__RECORD_TOTALS:
		return legal_totals(w);
	case TKW__RECORD_ITEM:
		return legal_item(r);
	default:
		return r->kind < TKW__RECORD_PLAN || legal_plan_words(r);
	}
}

static bool legal_flags(const struct tkw__record *r)
{
	unsigned may = TKW__RECORD_MORE;
	bool item;

	if (!(r->flags & ~may))
		return true;
	item = r->kind == TKW__RECORD_ITEM ||
	       r->kind == TKW__RECORD_PLANNED_ITEM;

	if (r->kind == TKW__RECORD_NACK || r->kind == TKW__RECORD_DEAD || item)
		may |= TKW__RECORD_LOST;
	if (item)
		may |= TKW__RECORD_TIMED;
	if (r->kind == TKW__RECORD_PLANNED_ITEM)
		may |= TKW__RECORD_STARTED;
	if (r->flags & ~may)
		return false;
	return !(r->flags & TKW__RECORD_LOST) || r->reason.len == 0;
}

bool tkw__record_is_legal(const struct tkw__record *r)
{
	return shapes[r->kind].has_id == (r->id != 0) && is_stamp(r->id) &&
	       legal_words(r) && legal_flags(r);
}

static bool is_kind(unsigned kind)
{
	return (kind > 0 && kind < TKW__RECORD_KINDS) ||
	       (kind >= TKW__RECORD_PLAN && kind < TKW__RECORD_PLAN_KINDS);
}

/* The longest body of a kind. A length above it is damage. It must not look
 * like a record that was cut off. */
static size_t longest_body(unsigned has)
{
	if (has == NO_BODY)
		return 0;
	return (size_t)4 + (has & WITH_KEY ? TKW__QUEUE_MAX_KEY : 0) +
	       (has & WITH_REASON ? TKW__QUEUE_MAX_REASON : 0) +
	       (has & WITH_ZONE ? TKW__QUEUE_MAX_ZONE : 0) +
	       (has & WITH_PAYLOAD ? TKW__QUEUE_MAX_PAYLOAD : 0);
}

int64_t tkw__record_read(struct tkw__record *r, const uint8_t *bytes,
			 size_t len)
{
	const struct shape *s;
	uint64_t size;
	size_t fixed;

	if (len < TKW__RECORD_HEADER)
		return 0;
	size = tkw__le_bytes(bytes, 4);
	*r = (struct tkw__record){ .kind = bytes[4],
				   .flags = (uint16_t)tkw__le_bytes(bytes + 6,
								    2),
				   .id = tkw__le_bytes(bytes + 8, 8) };
	if (!is_kind(r->kind) || bytes[5] != TKW__RECORD_VERSION)
		return -EBADMSG;
	s = &shapes[r->kind];
	fixed = TKW__RECORD_HEADER + (size_t)s->words * 8;
	if (size < fixed || size > fixed + longest_body(s->body))
		return -EBADMSG;
	if (size > len)
		return 0;
	for (size_t i = 0; i < s->words; i++)
		r->word[i] = tkw__le_word(bytes + TKW__RECORD_HEADER + i * 8);
	if (!read_body(r, s->body, bytes + fixed, (size_t)size - fixed) ||
	    !tkw__record_is_legal(r))
		return -EBADMSG;
	return (int64_t)size;
}
