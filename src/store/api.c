/* SPDX-License-Identifier: MIT */
/*
 * api.c - the calls of queue.h that wait.
 *
 * Each one checks its arguments, turns them into a request of the desk, and
 * waits for its end. Results are written only if it has succeeded.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/api.h"
#include "store/items.h"
#include "store/keeper.h"
#include "store/name.h"

enum {
	/* How many dead items a piece of ..._all() handles. */
	SOME = 1024
};

static struct tkw_queues *file_of(const struct tkw_queue *q)
{
	return q->owner;
}

int64_t tkw__api_change(struct tkw_queues *f, struct tkw__request *r)
{
	int err = tkw__keeper_admit_wait(f);

	return err ? err : tkw__keeper_call(f, r);
}

static int64_t call_look(struct tkw_queues *f, struct tkw__request *r)
{
	int err = tkw__keeper_admit(f);

	r->kind = TKW__REQUEST_LOOK;
	return err ? err : tkw__keeper_call(f, r);
}

/* Makes a call that only looks. It is legal in all callbacks. */
static int64_t look(struct tkw_queues *f, struct tkw_queue *q, tkw__look_fn *fn,
		    void *arg)
{
	struct tkw__request r = { .queue = q,
				  .look = { .fn = fn, .arg = arg } };

	return call_look(f, &r);
}

int64_t tkw__api_look_when_quiet(struct tkw_queue *q, tkw__look_fn *fn,
				 void *arg)
{
	struct tkw__request r = {
		.queue = q, .look = { .fn = fn, .arg = arg, .quiet = true }
	};

	return call_look(file_of(q), &r);
}

/* --- memory for the arguments --------------------------------------------- */

/* A few arguments fit on the stack. */
struct scratch {
	_Alignas(max_align_t) unsigned char here[768];
	void *heap;
};

static void *scratch_get(struct scratch *s, size_t count, size_t each)
{
	s->heap = NULL;
	if (count <= sizeof(s->here) / each)
		return s->here;
	if (count > SIZE_MAX / each)
		return NULL;
	s->heap = malloc(count * each);
	return s->heap;
}

static void scratch_free(struct scratch *s)
{
	free(s->heap);
}

/* --- the file ------------------------------------------------------------- */

int tkw_queues_close(struct tkw_queues *f)
{
	int was;
	int err;

	if (!f)
		return 0;
	/* A cancelled thread would leave the file half closed. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	err = tkw__keeper_close(f);
	pthread_setcancelstate(was, NULL);
	return err;
}

struct error_text {
	char text[256];
};

static int64_t look_at_error(struct tkw__desk *d, struct tkw__request *r)
{
	struct error_text *e = r->look.arg;
	struct tkw__desk_facts facts;
	bool told;

	tkw__desk_get_facts(d, &facts);
	/* The store has no word about other errors. */
	told = (facts.error == -ENOSPC || facts.error == -EIO) && facts.why &&
	       facts.why[0];
	if (facts.error)
		snprintf(e->text, sizeof(e->text), "%s",
			 told ? facts.why : strerror(-facts.error));
	return 0;
}

int tkw_queues_print_error(struct tkw_queues *f, char *buf, size_t size)
{
	struct error_text e = { "" };
	int64_t err;

	if (!f || (!buf && size > 0))
		return -EINVAL;
	err = look(f, NULL, look_at_error, &e);
	return err == -EPERM ? -EPERM : snprintf(buf, size, "%s", e.text);
}

static int64_t look_for_faults(struct tkw__desk *d, struct tkw__request *r)
{
	const char **broken = r->look.arg;

	*broken = tkw__desk_check(d);
	return 0;
}

const char *tkw_queues_check(struct tkw_queues *f)
{
	const char *broken = NULL;

	if (!f)
		return "there is no file";
	if (look(f, NULL, look_for_faults, &broken) < 0)
		return "the file cannot be checked: it is being closed, or "
		       "belongs to the parent of a fork";
	return broken;
}

int tkw_queue_open(struct tkw_queue **out, struct tkw_queues *f,
		   const char *name)
{
	struct tkw__request r = { .kind = TKW__REQUEST_OPEN, .open = { name } };
	int64_t err;

	if (!out || !f || !name || !tkw__name_is_legal(name))
		return -EINVAL;
	err = tkw__api_change(f, &r);
	if (!err)
		*out = r.queue;
	return (int)err;
}

struct tkw_queue *tkw_queues_next(struct tkw_queues *f, struct tkw_queue *prev)
{
	struct tkw__look_queue a = { prev };

	if (!f || look(f, NULL, tkw__look_at_queue, &a) < 0)
		return NULL;
	return a.queue;
}

const char *tkw_queue_name(const struct tkw_queue *q)
{
	return q ? q->name : NULL;
}

/* --- put ------------------------------------------------------------------ */

int tkw__put_read(struct tkw__queue_put *to, const struct tkw_put *from)
{
	if ((!from->payload && from->payload_len) ||
	    from->key_len > TKW_QUEUE_MAX_KEY ||
	    (from->key != NULL) != (from->key_len > 0) ||
	    (unsigned)from->held > TKW_KEY_KEEP)
		return -EINVAL;
	/* No queue allows it. An asynchronous put does not copy it first. */
	if (from->payload_len > TKW__QUEUE_MAX_PAYLOAD)
		return -EMSGSIZE;
	*to = (struct tkw__queue_put){
		.when = tkw__when_read(from->delay_ms, from->due_ms),
		.payload = { from->payload, from->payload_len },
		.key = { from->key, from->key_len },
		.held = from->held == TKW_KEY_REFUSE    ? TKW__QUEUE_REFUSE
			: from->held == TKW_KEY_REPLACE ? TKW__QUEUE_REPLACE
							: TKW__QUEUE_KEEP,
		.max_attempts = from->max_attempts,
		.backoff_ms = from->backoff_ms,
		.max_backoff_ms = from->max_backoff_ms,
	};
	return 0;
}

struct tkw__queue_when tkw__when_read(int64_t delay_ms, int64_t due_ms)
{
	return (struct tkw__queue_when){ .absolute = due_ms != 0,
					 .ms = due_ms ? due_ms : delay_ms };
}

/* A put and its id. */
struct put_room {
	struct tkw__queue_put put;
	uint64_t id;
};

static int put(struct tkw_queue *q, const struct tkw_put *puts, size_t count,
	       void *room, struct tkw_item_id *ids)
{
	struct tkw__queue_put *to = room;
	uint64_t *got = (uint64_t *)(void *)(to + count);
	struct tkw__request r = { .kind = TKW__REQUEST_PUT,
				  .queue = q,
				  .put = { to, count, got } };
	int64_t err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = tkw__put_read(&to[i], &puts[i]);
	if (!err)
		err = tkw__api_change(file_of(q), &r);
	for (size_t i = 0; i < count && ids && !err; i++)
		ids[i].bits = got[i];
	return (int)err;
}

int tkw_queue_put(struct tkw_queue *q, const struct tkw_put *puts, size_t count,
		  struct tkw_item_id *ids)
{
	struct scratch s;
	void *room;
	int err;

	if (!q || !puts || count == 0 || count > INT_MAX)
		return -EINVAL;
	room = scratch_get(&s, count, sizeof(struct put_room));
	if (!room)
		return -ENOMEM;
	err = put(q, puts, count, room, ids);
	scratch_free(&s);
	return err;
}

/* --- take ----------------------------------------------------------------- */

static bool lease_read(int64_t lease_ms, uint64_t *to)
{
	if (lease_ms < 0 || (uint64_t)lease_ms > TKW__QUEUE_MAX_MS)
		return false;
	*to = lease_ms ? (uint64_t)lease_ms : TKW_QUEUE_DEFAULT_LEASE_MS;
	return true;
}

int tkw__take_read(struct tkw__request_take *to, const struct tkw_take *from)
{
	static const struct tkw_take defaults = { 0, 0, 0 };

	*to = (struct tkw__request_take){ .max = 1 };
	if (!from)
		from = &defaults;
	if (from->max_items > TKW_QUEUE_MAX_TAKE || from->wait_ms < 0 ||
	    !lease_read(from->lease_ms, &to->lease_ms))
		return -EINVAL;
	if (from->max_items)
		to->max = from->max_items;
	to->wait_us = (uint64_t)from->wait_ms > TKW__QUEUE_MAX_MS
			      ? UINT64_MAX
			      : (uint64_t)from->wait_ms * 1000;
	return 0;
}

int tkw_queue_take(struct tkw_queue *q, const struct tkw_take *how,
		   struct tkw_items **out)
{
	struct tkw__request r = { .kind = TKW__REQUEST_TAKE, .queue = q };
	int64_t n;

	if (!q || !out)
		return -EINVAL;
	n = tkw__take_read(&r.take, how);
	if (!n)
		n = tkw__api_change(file_of(q), &r);
	if (n >= 0)
		*out = r.take.items;
	return (int)n;
}

int tkw_queue_fd(struct tkw_queue *q)
{
	int err;

	if (!q)
		return -EINVAL;
	err = tkw__keeper_admit(file_of(q));
	return err ? err : tkw__keeper_fd(file_of(q), q);
}

/* --- what a consumer does ------------------------------------------------- */

struct claim_room {
	struct tkw__queue_claim claim;
	enum tkw__queue_answer answer;
};

/* ack, nack and extend: r has all but the claims. */
static int claim(struct tkw__request *r, const struct tkw_claim *claims,
		 size_t count, int *done)
{
	struct tkw__queue_claims *c = &r->claim.claims;
	struct tkw__queue_claim *to;
	struct scratch s;
	int64_t n;

	if (!r->queue || !claims || count == 0 || count > INT_MAX)
		return -EINVAL;
	to = scratch_get(&s, count, sizeof(struct claim_room));
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		to[i] = (struct tkw__queue_claim){ claims[i].id.bits,
						   claims[i].token };
	c->claim = to;
	c->count = count;
	c->answer = (enum tkw__queue_answer *)(void *)(to + count);
	memset(c->answer, 0, count * sizeof(c->answer[0]));
	n = tkw__api_change(file_of(r->queue), r);
	for (size_t i = 0; i < count && done && n >= 0; i++)
		done[i] = c->answer[i] == TKW__QUEUE_DONE;
	*c = (struct tkw__queue_claims){ NULL, 0, NULL };
	scratch_free(&s);
	return (int)n;
}

int tkw_queue_ack(struct tkw_queue *q, const struct tkw_claim *claims,
		  size_t count, int *done)
{
	struct tkw__request r = { .kind = TKW__REQUEST_ACK, .queue = q };

	return claim(&r, claims, count, done);
}

int tkw_queue_nack(struct tkw_queue *q, const struct tkw_claim *claims,
		   size_t count, const struct tkw_nack *how, int *done)
{
	struct tkw__request r = { .kind = TKW__REQUEST_NACK, .queue = q };
	struct tkw__queue_nack *to = &r.claim.how;

	if (how) {
		to->has_delay = how->has_delay != 0;
		to->delay_ms = how->delay_ms > 0 ? (uint64_t)how->delay_ms : 0;
	}
	if (how && how->reason) {
		to->reason.at = how->reason;
		to->reason.len = strlen(how->reason);
		if (to->reason.len > TKW_QUEUE_MAX_REASON)
			return -EINVAL;
	}
	return claim(&r, claims, count, done);
}

int tkw_queue_extend(struct tkw_queue *q, const struct tkw_claim *claims,
		     size_t count, int64_t lease_ms, int *done)
{
	struct tkw__request r = { .kind = TKW__REQUEST_EXTEND, .queue = q };

	if (!lease_read(lease_ms, &r.claim.lease_ms))
		return -EINVAL;
	return claim(&r, claims, count, done);
}

/* --- what everybody else does --------------------------------------------- */

static int name_read(struct tkw__queue_name *to,
		     const struct tkw_item_name *from)
{
	if (from->key &&
	    (from->key_len == 0 || from->key_len > TKW_QUEUE_MAX_KEY))
		return -EINVAL;
	*to = (struct tkw__queue_name){ .id = from->id.bits };
	if (from->key)
		to->key = (struct tkw__queue_text){ from->key, from->key_len };
	return 0;
}

static int error_of(enum tkw__queue_answer a)
{
	if (a == TKW__QUEUE_DONE)
		return 1;
	return a == TKW__QUEUE_TAKEN ? -EBUSY : -ENOENT;
}

struct name_room {
	struct tkw__queue_name name;
	enum tkw__queue_answer answer;
};

static int cancel(struct tkw_queue *q, const struct tkw_item_name *names,
		  size_t count, void *room, int *done)
{
	struct tkw__queue_name *to = room;
	enum tkw__queue_answer *answers = (void *)(to + count);
	struct tkw__request r = { .kind = TKW__REQUEST_CANCEL,
				  .queue = q,
				  .cancel = { to, count, answers } };
	int64_t n = 0;

	for (size_t i = 0; i < count && !n; i++)
		n = name_read(&to[i], &names[i]);
	if (!n)
		n = tkw__api_change(file_of(q), &r);
	for (size_t i = 0; i < count && done && n >= 0; i++)
		done[i] = error_of(answers[i]);
	return (int)n;
}

int tkw_queue_cancel(struct tkw_queue *q, const struct tkw_item_name *names,
		     size_t count, int *done)
{
	struct scratch s;
	void *room;
	int n;

	if (!q || !names || count == 0 || count > INT_MAX)
		return -EINVAL;
	room = scratch_get(&s, count, sizeof(struct name_room));
	if (!room)
		return -ENOMEM;
	n = cancel(q, names, count, room, done);
	scratch_free(&s);
	return n;
}

int tkw_queue_reschedule(struct tkw_queue *q, const struct tkw_item_name *name,
			 int64_t delay_ms, int64_t due_ms)
{
	struct tkw__queue_name to;
	struct tkw__request r = { .kind = TKW__REQUEST_RESCHEDULE, .queue = q };

	if (!q || !name || name_read(&to, name))
		return -EINVAL;
	r.move.name = &to;
	r.move.when = tkw__when_read(delay_ms, due_ms);
	return (int)tkw__api_change(file_of(q), &r);
}

int tkw_queue_get(struct tkw_queue *q, const struct tkw_item_name *name,
		  struct tkw_items **out)
{
	struct tkw__look_item a = { .items = NULL };
	int64_t err;

	if (!q || !name || !out || name_read(&a.name, name))
		return -EINVAL;
	err = look(file_of(q), q, tkw__look_at_item, &a);
	if (!err)
		*out = a.items;
	return (int)err;
}

int tkw_queue_list(struct tkw_queue *q, enum tkw_item_state state, uint32_t max,
		   uint64_t *cursor, struct tkw_items **out)
{
	static const enum tkw__queue_state states[] = {
		[TKW_ITEM_WAITING] = TKW__QUEUE_IS_WAITING,
		[TKW_ITEM_READY] = TKW__QUEUE_IS_READY,
		[TKW_ITEM_TAKEN] = TKW__QUEUE_IS_TAKEN,
		[TKW_ITEM_DEAD] = TKW__QUEUE_IS_DEAD,
		[TKW_ITEM_STATES] = TKW__QUEUE_STATES,
	};
	struct tkw__look_list a = { .max = max };
	int64_t n;

	if (!q || !cursor || !out || (unsigned)state > TKW_ITEM_STATES ||
	    max == 0 || max > TKW_QUEUE_MAX_TAKE)
		return -EINVAL;
	a.state = states[state];
	a.cursor = *cursor;
	/* For other states, the heart's list is always complete. */
	if (state == TKW_ITEM_DEAD)
		n = tkw__api_look_when_quiet(q, tkw__look_at_list, &a);
	else
		n = look(file_of(q), q, tkw__look_at_list, &a);
	if (n >= 0) {
		*cursor = a.cursor;
		*out = a.items;
	}
	return (int)n;
}

/* --- the dead ------------------------------------------------------------- */

struct id_room {
	uint64_t id;
	enum tkw__queue_answer answer;
};

static int bury(struct tkw__request *r, const struct tkw_item_id *ids,
		size_t count, int *done)
{
	struct scratch s;
	uint64_t *to;
	int64_t n;

	if (!r->queue || !ids || count == 0 || count > INT_MAX)
		return -EINVAL;
	to = scratch_get(&s, count, sizeof(struct id_room));
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		to[i] = ids[i].bits;
	r->ids.ids = to;
	r->ids.count = count;
	r->ids.answers = (enum tkw__queue_answer *)(void *)(to + count);
	memset(r->ids.answers, 0, count * sizeof(r->ids.answers[0]));
	n = tkw__api_change(file_of(r->queue), r);
	for (size_t i = 0; i < count && done && n >= 0; i++)
		done[i] = r->ids.answers[i] == TKW__QUEUE_DONE ? 1 : -ENOENT;
	r->ids = (struct tkw__request_ids){ NULL, 0, NULL };
	scratch_free(&s);
	return (int)n;
}

int tkw_queue_revive(struct tkw_queue *q, const struct tkw_item_id *ids,
		     size_t count, int *done)
{
	struct tkw__request r = { .kind = TKW__REQUEST_REVIVE, .queue = q };

	return bury(&r, ids, count, done);
}

int tkw_queue_purge(struct tkw_queue *q, const struct tkw_item_id *ids,
		    size_t count, int *done)
{
	struct tkw__request r = { .kind = TKW__REQUEST_PURGE, .queue = q };

	return bury(&r, ids, count, done);
}

static int64_t bury_all(struct tkw_queue *q, enum tkw__request_kind kind)
{
	struct tkw__request_some some = { .max = SOME, .more = true };
	int64_t all = 0;

	if (!q)
		return -EINVAL;
	while (some.more) {
		struct tkw__request r = { .kind = kind,
					  .queue = q,
					  .some = some };
		int64_t n = tkw__api_change(file_of(q), &r);

		if (n < 0)
			return n;
		all += n;
		some.walk = r.some.next;
		some.more = r.some.more;
	}
	return all;
}

int64_t tkw_queue_revive_all(struct tkw_queue *q)
{
	return bury_all(q, TKW__REQUEST_REVIVE_SOME);
}

int64_t tkw_queue_purge_all(struct tkw_queue *q)
{
	return bury_all(q, TKW__REQUEST_PURGE_SOME);
}

/* --- the queue ------------------------------------------------------------ */

int tkw_queue_pause(struct tkw_queue *q)
{
	struct tkw__request r = { .kind = TKW__REQUEST_PAUSE, .queue = q };

	return q ? (int)tkw__api_change(file_of(q), &r) : -EINVAL;
}

int tkw_queue_resume(struct tkw_queue *q)
{
	struct tkw__request r = { .kind = TKW__REQUEST_RESUME, .queue = q };

	return q ? (int)tkw__api_change(file_of(q), &r) : -EINVAL;
}

int tkw_queue_limit(struct tkw_queue *q, const struct tkw_queue_limits *limits)
{
	struct tkw__request r = { .kind = TKW__REQUEST_LIMIT, .queue = q };

	if (!q || !limits || limits->max_payload_bytes > TKW__QUEUE_MAX_PAYLOAD)
		return -EINVAL;
	r.limits = (struct tkw__queue_limits){
		.items = limits->max_items,
		.bytes = limits->max_bytes,
		.payload = limits->max_payload_bytes,
	};
	return (int)tkw__api_change(file_of(q), &r);
}

int tkw_queue_get_stats(struct tkw_queue *q, struct tkw_queue_stats *out)
{
	if (!q || !out)
		return -EINVAL;
	return (int)tkw__api_look_when_quiet(q, tkw__look_at_stats, out);
}

int64_t tkw_queue_lateness_ms(uint32_t bucket)
{
	return bucket >= TKW_QUEUE_LATENESS_BUCKETS
		       ? INT64_MAX
		       : (int64_t)tkw__queue_lateness_least_ms(bucket);
}
