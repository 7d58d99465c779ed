/* SPDX-License-Identifier: MIT */
/*
 * wire.h - what is spoken through the socket beside a file of queues.
 *
 * A client sends a request and reads its answer. Then it may send the next one.
 * The owner of the file reads no request before the last one is answered, so a
 * client that wants to do two things at once connects twice. If the client
 * closes the connection while its take waits, the take is withdrawn.
 *
 * All numbers are little endian. A request and an answer are each a frame:
 *
 *   bytes  request                     bytes  answer
 *   4      length of what follows      4      length of what follows
 *   1      the call                    8      the result, as the call returns
 *   1 + n  the name of the queue              it: a count, 0 or -errno
 *   ...    the arguments               ...    what the call gives, unless the
 *                                             result is an error
 *
 * The length of a name is one byte, and that of other texts is four. A text
 * that may be missing is preceded by a byte, 1 or 0.
 *
 *   call        arguments                       answer
 *   HELLO       u32 version                     u32 version, u64 process
 *   NEXT                                        u8 name of the next queue
 *   FIND        u8 make it if it is not there
 *   PUT         u32 count, puts                 u64 ids
 *   TAKE        u32 max, i64 lease, i64 wait    items
 *   ACK         u32 count, claims               i32 done
 *   NACK        u8 has delay, i64 delay,        i32 done
 *               reason, u32 count, claims
 *   EXTEND      i64 lease, u32 count, claims    i32 done
 *   CANCEL      u32 count, names                i32 done
 *   RESCHEDULE  name, i64 delay, i64 due
 *   GET         name                            one item
 *   LIST        u8 state, u32 max, u64 cursor   u64 cursor, items
 *   REVIVE      u32 count, u64 ids              i32 done
 *   PURGE       u32 count, u64 ids              i32 done
 *   REVIVE_ALL
 *   PURGE_ALL
 *   PAUSE
 *   RESUME
 *   LIMIT       u64 items, bytes, payload
 *   STATS                                       u32 count, u64 words
 *   PLAN        plan                            i64 next time
 *   UNPLAN      name of a plan
 *   PAUSE_PLAN  name of a plan
 *   RESUME_PLAN name of a plan
 *   GET_PLAN    name of a plan                  one plan with facts
 *   LIST_PLANS  u32 max, name of a plan         plans with facts
 *
 *   put    payload, i64 delay, i64 due, u8 has key, key, u8 held,
 *          u32 max attempts, u32 back-off, u32 max back-off
 *   claim  u64 id, u64 token
 *   name   u64 id, u8 has key, key
 *   item   u64 id, u64 token, u8 state, u32 attempts, max attempts, back-off,
 *          max back-off, i64 due, expires, died, planned, payload, u8 has key,
 *          key, and the reason
 *   plan   name, text, zone, payload, i64 grace, u8 misfire, u32 max missed,
 *          u8 overlap, u8 next on ack, u32 max attempts, back-off, max back-off
 *   facts  u8 paused, i32 error, u64 id of the next item, i64 next, decided,
 *          u64 running, runs, missed, overlaps
 *
 * The name, the text and the zone of a plan have no 0 in them. LIST_PLANS lists
 * the plans behind the named one, or from the first one if the name is empty.
 * It gives as many as the bounds of a list allow. At the end it gives none.
 *
 * The first request is HELLO. NEXT gives the name of the queue after the named
 * one, or of the first queue if the name is empty. Its result is 1, or 0 if
 * there is none. Each call with the name of an unknown queue gives -ENOENT,
 * except a FIND that makes it. A take gives at most TKW__WIRE_MAX_ITEMS items,
 * and fewer if they are large.
 *
 *   -EPROTO           the request is malformed; the connection is closed
 *   -EMSGSIZE         the request is too long; the connection is closed
 *   -EPROTONOSUPPORT  HELLO: the owner speaks another version; the connection
 *                     is closed
 *   -EACCES           the client is another user; the connection is closed
 *   -EUSERS           too many clients; the connection is closed
 *   -ESHUTDOWN        the owner closes the file, and has not done the request;
 *                     REVIVE_ALL and PURGE_ALL may have been done in part. The
 *                     connection is closed. The owner also sends this to
 *                     clients that wait for no answer. For them it is the
 *                     answer to their next request.
 */
#ifndef TKW_STORE_WIRE_H
#define TKW_STORE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tickwheel/queue.h>

enum tkw__wire_call {
	TKW__WIRE_HELLO = 1,
	TKW__WIRE_NEXT,
	TKW__WIRE_FIND,
	TKW__WIRE_PUT,
	TKW__WIRE_TAKE,
	TKW__WIRE_ACK,
	TKW__WIRE_NACK,
	TKW__WIRE_EXTEND,
	TKW__WIRE_CANCEL,
	TKW__WIRE_RESCHEDULE,
	TKW__WIRE_GET,
	TKW__WIRE_LIST,
	TKW__WIRE_REVIVE,
	TKW__WIRE_PURGE,
	TKW__WIRE_REVIVE_ALL,
	TKW__WIRE_PURGE_ALL,
	TKW__WIRE_PAUSE,
	TKW__WIRE_RESUME,
	TKW__WIRE_LIMIT,
	TKW__WIRE_STATS,
	TKW__WIRE_PLAN,
	TKW__WIRE_UNPLAN,
	TKW__WIRE_PAUSE_PLAN,
	TKW__WIRE_RESUME_PLAN,
	TKW__WIRE_GET_PLAN,
	TKW__WIRE_LIST_PLANS,
	TKW__WIRE_CALLS
};

enum {
	TKW__WIRE_VERSION = 2,
	/* The bytes of the length in front of a frame. */
	TKW__WIRE_HEAD = 4,
	/* The longest request. Larger payloads cannot be put through the
	 * socket. */
	TKW__WIRE_MAX_REQUEST = 64 << 20,
	/* The most puts, claims, names or ids of a request. */
	TKW__WIRE_MAX_COUNT = 4096,
	/* The most items of a take or a list. When they have so many bytes,
	 * there are fewer, but at least one: an answer must not grow beyond
	 * 2 GiB. */
	TKW__WIRE_MAX_ITEMS = 256,
	TKW__WIRE_MAX_BYTES = 64 << 20
};

/* The end of the name of the socket: FILE-sock. */
#define TKW__WIRE_SUFFIX "-sock"

/* --- writing ------------------------------------------------------------- */

/* Bytes that are being made. All zero: none yet. */
struct tkw__wire_out {
	uint8_t *bytes;
	size_t len;
	size_t room;
	bool failed; /* no memory, or too long */
};

static inline void tkw__wire_free(struct tkw__wire_out *o)
{
	free(o->bytes);
	memset(o, 0, sizeof(*o));
}

static inline uint8_t *tkw__wire_grow(struct tkw__wire_out *o, size_t n)
{
	size_t room = o->room ? o->room : 256;
	uint8_t *more;

	/* With 2 GiB at most, the room does not overflow 32 bits. */
	if (o->failed || n > (size_t)INT32_MAX - o->len) {
		o->failed = true;
		return NULL;
	}
	while (room < o->len + n)
		room *= 2;
	if (room > o->room) {
		more = realloc(o->bytes, room);
		if (!more) {
			o->failed = true;
			return NULL;
		}
		o->bytes = more;
		o->room = room;
	}
	o->len += n;
	return o->bytes + o->len - n;
}

static inline void tkw__wire_put_number(struct tkw__wire_out *o, uint64_t v,
					size_t bytes)
{
	uint8_t *p = tkw__wire_grow(o, bytes);

	for (size_t i = 0; p && i < bytes; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static inline void tkw__wire_put_u8(struct tkw__wire_out *o, uint8_t v)
{
	tkw__wire_put_number(o, v, 1);
}

static inline void tkw__wire_put_u32(struct tkw__wire_out *o, uint32_t v)
{
	tkw__wire_put_number(o, v, 4);
}

static inline void tkw__wire_put_u64(struct tkw__wire_out *o, uint64_t v)
{
	tkw__wire_put_number(o, v, 8);
}

static inline void tkw__wire_put_i64(struct tkw__wire_out *o, int64_t v)
{
	tkw__wire_put_number(o, (uint64_t)v, 8);
}

static inline void tkw__wire_put_bytes(struct tkw__wire_out *o, const void *at,
				       size_t len)
{
	uint8_t *p = tkw__wire_grow(o, len);

	if (p && len > 0)
		memcpy(p, at, len);
}

static inline void tkw__wire_put_text(struct tkw__wire_out *o, const void *at,
				      size_t len)
{
	if (len > INT32_MAX) {
		o->failed = true;
		return;
	}
	tkw__wire_put_u32(o, (uint32_t)len);
	tkw__wire_put_bytes(o, at, len);
}

/* A text that may be missing. */
static inline void tkw__wire_put_option(struct tkw__wire_out *o, const void *at,
					size_t len)
{
	tkw__wire_put_u8(o, at != NULL);
	if (at)
		tkw__wire_put_text(o, at, len);
}

/* A name of at most 255 bytes. */
static inline void tkw__wire_put_name(struct tkw__wire_out *o, const char *name)
{
	size_t len = strlen(name);

	if (len > UINT8_MAX) {
		o->failed = true;
		return;
	}
	tkw__wire_put_u8(o, (uint8_t)len);
	tkw__wire_put_bytes(o, name, len);
}

static inline void tkw__wire_put_item(struct tkw__wire_out *o,
				      const struct tkw_item *item)
{
	tkw__wire_put_u64(o, item->claim.id.bits);
	tkw__wire_put_u64(o, item->claim.token);
	tkw__wire_put_u8(o, (uint8_t)item->state);
	tkw__wire_put_u32(o, item->attempts);
	tkw__wire_put_u32(o, item->max_attempts);
	tkw__wire_put_u32(o, item->backoff_ms);
	tkw__wire_put_u32(o, item->max_backoff_ms);
	tkw__wire_put_i64(o, item->due_ms);
	tkw__wire_put_i64(o, item->expires_ms);
	tkw__wire_put_i64(o, item->died_ms);
	tkw__wire_put_i64(o, item->planned_ms);
	tkw__wire_put_text(o, item->payload, item->payload_len);
	tkw__wire_put_option(o, item->key, item->key_len);
	tkw__wire_put_text(o, item->reason, strlen(item->reason));
}

/* Begins a frame, whose length is not known yet. */
static inline void tkw__wire_begin(struct tkw__wire_out *o)
{
	o->len = 0;
	o->failed = false;
	tkw__wire_put_u32(o, 0);
}

/* Ends the frame: writes its length. Returns false if it was not made. */
static inline bool tkw__wire_end(struct tkw__wire_out *o)
{
	size_t len = o->len;

	if (o->failed)
		return false;
	o->len = 0;
	tkw__wire_put_u32(o, (uint32_t)(len - TKW__WIRE_HEAD));
	o->len = len;
	return true;
}

/* --- reading ------------------------------------------------------------- */

/* Bytes that are being read. They are not trusted. What is missing is read as
 * 0, and then `bad` is true. */
struct tkw__wire_in {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static inline const uint8_t *tkw__wire_skip(struct tkw__wire_in *in, size_t n)
{
	const uint8_t *p = in->at;

	if (in->bad || n > in->left) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	in->left -= n;
	return p;
}

static inline uint64_t tkw__wire_get_number(struct tkw__wire_in *in,
					    size_t bytes)
{
	const uint8_t *p = tkw__wire_skip(in, bytes);
	uint64_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static inline uint8_t tkw__wire_get_u8(struct tkw__wire_in *in)
{
	return (uint8_t)tkw__wire_get_number(in, 1);
}

static inline uint32_t tkw__wire_get_u32(struct tkw__wire_in *in)
{
	return (uint32_t)tkw__wire_get_number(in, 4);
}

static inline uint64_t tkw__wire_get_u64(struct tkw__wire_in *in)
{
	return tkw__wire_get_number(in, 8);
}

static inline int64_t tkw__wire_get_i64(struct tkw__wire_in *in)
{
	return (int64_t)tkw__wire_get_number(in, 8);
}

/* Reads a text, which stays where it is. */
static inline const void *tkw__wire_get_text(struct tkw__wire_in *in,
					     size_t *len)
{
	uint32_t n = tkw__wire_get_u32(in);
	const uint8_t *p = tkw__wire_skip(in, n);

	*len = p ? n : 0;
	return p;
}

static inline const void *tkw__wire_get_option(struct tkw__wire_in *in,
					       size_t *len)
{
	uint8_t there = tkw__wire_get_u8(in);

	*len = 0;
	if (there > 1)
		in->bad = true;
	return there == 1 ? tkw__wire_get_text(in, len) : NULL;
}

/* Reads a name. One with a 0 in it is bad. */
static inline void tkw__wire_get_name(struct tkw__wire_in *in,
				      char name[UINT8_MAX + 1])
{
	uint8_t n = tkw__wire_get_u8(in);
	const uint8_t *p = tkw__wire_skip(in, n);

	if (!p)
		n = 0;
	else
		memcpy(name, p, n);
	name[n] = '\0';
	if (strlen(name) != n)
		in->bad = true;
}

/* Reads a count of things that have at least `least` bytes each. One that the
 * rest of the frame cannot hold is bad, so the count bounds an allocation. */
static inline uint32_t tkw__wire_get_count(struct tkw__wire_in *in,
					   size_t least)
{
	uint32_t n = tkw__wire_get_u32(in);

	if (!in->bad && n <= in->left / least)
		return n;
	in->bad = true;
	return 0;
}

/* Is the frame sound, and was all of it read? */
static inline bool tkw__wire_is_done(const struct tkw__wire_in *in)
{
	return !in->bad && in->left == 0;
}

/* Returns the length of a frame without its head. */
static inline uint32_t tkw__wire_length(const uint8_t head[TKW__WIRE_HEAD])
{
	struct tkw__wire_in in = { head, TKW__WIRE_HEAD, false };

	return tkw__wire_get_u32(&in);
}

/* Reads an item. Its texts stay where they are. So the reason has no 0 at its
 * end. */
static inline void tkw__wire_get_item(struct tkw__wire_in *in,
				      struct tkw_item *item, size_t *reason_len)
{
	item->claim.id.bits = tkw__wire_get_u64(in);
	item->claim.token = tkw__wire_get_u64(in);
	item->state = (enum tkw_item_state)tkw__wire_get_u8(in);
	item->attempts = tkw__wire_get_u32(in);
	item->max_attempts = tkw__wire_get_u32(in);
	item->backoff_ms = tkw__wire_get_u32(in);
	item->max_backoff_ms = tkw__wire_get_u32(in);
	item->due_ms = tkw__wire_get_i64(in);
	item->expires_ms = tkw__wire_get_i64(in);
	item->died_ms = tkw__wire_get_i64(in);
	item->planned_ms = tkw__wire_get_i64(in);
	item->payload = tkw__wire_get_text(in, &item->payload_len);
	item->key = tkw__wire_get_option(in, &item->key_len);
	item->reason = tkw__wire_get_text(in, reason_len);
}

/* --- plans --------------------------------------------------------------- */

/* A text of a plan. NULL is written as an empty text. */
static inline void tkw__wire_put_words(struct tkw__wire_out *o,
				       const char *text)
{
	tkw__wire_put_text(o, text, text ? strlen(text) : 0);
}

/* Reads a text of a plan. It has no 0 at its end, and one inside is bad. */
static inline const char *tkw__wire_get_words(struct tkw__wire_in *in,
					      size_t *len)
{
	const void *text = tkw__wire_get_text(in, len);

	if (text && memchr(text, 0, *len))
		in->bad = true;
	return text;
}

static inline void tkw__wire_put_plan(struct tkw__wire_out *o,
				      const struct tkw_queue_plan_spec *p)
{
	tkw__wire_put_words(o, p->name);
	tkw__wire_put_words(o, p->text);
	tkw__wire_put_words(o, p->zone);
	tkw__wire_put_text(o, p->payload, p->payload_len);
	tkw__wire_put_i64(o, p->grace_ms);
	tkw__wire_put_u8(o, (uint8_t)p->misfire);
	tkw__wire_put_u32(o, p->max_missed);
	tkw__wire_put_u8(o, (uint8_t)p->overlap);
	tkw__wire_put_u8(o, p->next_on_ack != 0);
	tkw__wire_put_u32(o, p->max_attempts);
	tkw__wire_put_u32(o, p->backoff_ms);
	tkw__wire_put_u32(o, p->max_backoff_ms);
}

/* The lengths of the texts of a plan that was read. */
struct tkw__wire_words {
	size_t name;
	size_t text;
	size_t zone;
};

/* Reads a plan. Its texts stay where they are, so they have no 0 at their
 * ends. */
static inline void tkw__wire_get_plan(struct tkw__wire_in *in,
				      struct tkw_queue_plan_spec *p,
				      struct tkw__wire_words *len)
{
	p->name = tkw__wire_get_words(in, &len->name);
	p->text = tkw__wire_get_words(in, &len->text);
	p->zone = tkw__wire_get_words(in, &len->zone);
	p->payload = tkw__wire_get_text(in, &p->payload_len);
	p->grace_ms = tkw__wire_get_i64(in);
	p->misfire = (enum tkw_misfire)tkw__wire_get_u8(in);
	p->max_missed = tkw__wire_get_u32(in);
	p->overlap = (enum tkw_overlap)tkw__wire_get_u8(in);
	p->next_on_ack = tkw__wire_get_u8(in);
	p->max_attempts = tkw__wire_get_u32(in);
	p->backoff_ms = tkw__wire_get_u32(in);
	p->max_backoff_ms = tkw__wire_get_u32(in);
}

static inline void tkw__wire_put_facts(struct tkw__wire_out *o,
				       const struct tkw_queue_plan_facts *f)
{
	tkw__wire_put_plan(o, &f->plan);
	tkw__wire_put_u8(o, f->paused != 0);
	tkw__wire_put_u32(o, (uint32_t)f->error);
	tkw__wire_put_u64(o, f->next_id.bits);
	tkw__wire_put_i64(o, f->next_ms);
	tkw__wire_put_i64(o, f->decided_ms);
	tkw__wire_put_u64(o, f->running);
	tkw__wire_put_u64(o, f->runs);
	tkw__wire_put_u64(o, f->missed);
	tkw__wire_put_u64(o, f->overlaps);
}

static inline void tkw__wire_get_facts(struct tkw__wire_in *in,
				       struct tkw_queue_plan_facts *f,
				       struct tkw__wire_words *len)
{
	tkw__wire_get_plan(in, &f->plan, len);
	f->paused = tkw__wire_get_u8(in);
	f->error = (int)tkw__wire_get_u32(in);
	f->next_id.bits = tkw__wire_get_u64(in);
	f->next_ms = tkw__wire_get_i64(in);
	f->decided_ms = tkw__wire_get_i64(in);
	f->running = tkw__wire_get_u64(in);
	f->runs = tkw__wire_get_u64(in);
	f->missed = tkw__wire_get_u64(in);
	f->overlaps = tkw__wire_get_u64(in);
}

/* --- the facts of a queue ------------------------------------------------ */

/* How many words STATS sends: first these, then the lateness. */
enum {
	TKW__WIRE_STATS_FIRST = 26,
	TKW__WIRE_STATS_WORDS =
		TKW__WIRE_STATS_FIRST + TKW_QUEUE_LATENESS_BUCKETS
};

static inline void tkw__wire_put_stats(struct tkw__wire_out *o,
				       const struct tkw_queue_stats *s)
{
	const uint64_t words[TKW__WIRE_STATS_FIRST] = {
		s->waiting,
		s->ready,
		s->taken,
		s->dead,
		(uint64_t)(s->paused != 0),
		s->bytes,
		s->memory_bytes,
		(uint64_t)s->oldest_age_ms,
		s->all_puts,
		s->all_takes,
		s->all_acks,
		s->all_nacks,
		s->all_losses,
		s->all_deaths,
		s->all_revivals,
		s->all_cancels,
		s->all_purges,
		s->all_replaces,
		s->limits.max_items,
		s->limits.max_bytes,
		s->limits.max_payload_bytes,
		s->plans,
		s->waiting_takes,
		s->commits,
		s->commit_calls,
		s->commit_bytes,
	};

	tkw__wire_put_u32(o, TKW__WIRE_STATS_WORDS);
	for (size_t i = 0; i < TKW__WIRE_STATS_FIRST; i++)
		tkw__wire_put_u64(o, words[i]);
	for (size_t i = 0; i < TKW_QUEUE_LATENESS_BUCKETS; i++)
		tkw__wire_put_u64(o, s->lateness[i]);
}

static inline void tkw__wire_get_stats(struct tkw__wire_in *in,
				       struct tkw_queue_stats *s)
{
	if (tkw__wire_get_u32(in) != TKW__WIRE_STATS_WORDS)
		in->bad = true;
	s->waiting = tkw__wire_get_u64(in);
	s->ready = tkw__wire_get_u64(in);
	s->taken = tkw__wire_get_u64(in);
	s->dead = tkw__wire_get_u64(in);
	s->paused = tkw__wire_get_u64(in) != 0;
	s->bytes = tkw__wire_get_u64(in);
	s->memory_bytes = tkw__wire_get_u64(in);
	s->oldest_age_ms = tkw__wire_get_i64(in);
	s->all_puts = tkw__wire_get_u64(in);
	s->all_takes = tkw__wire_get_u64(in);
	s->all_acks = tkw__wire_get_u64(in);
	s->all_nacks = tkw__wire_get_u64(in);
	s->all_losses = tkw__wire_get_u64(in);
	s->all_deaths = tkw__wire_get_u64(in);
	s->all_revivals = tkw__wire_get_u64(in);
	s->all_cancels = tkw__wire_get_u64(in);
	s->all_purges = tkw__wire_get_u64(in);
	s->all_replaces = tkw__wire_get_u64(in);
	s->limits.max_items = tkw__wire_get_u64(in);
	s->limits.max_bytes = tkw__wire_get_u64(in);
	s->limits.max_payload_bytes = tkw__wire_get_u64(in);
	s->plans = tkw__wire_get_u64(in);
	s->waiting_takes = tkw__wire_get_u64(in);
	s->commits = tkw__wire_get_u64(in);
	s->commit_calls = tkw__wire_get_u64(in);
	s->commit_bytes = tkw__wire_get_u64(in);
	for (size_t i = 0; i < TKW_QUEUE_LATENESS_BUCKETS; i++)
		s->lateness[i] = tkw__wire_get_u64(in);
}

#endif /* TKW_STORE_WIRE_H */
