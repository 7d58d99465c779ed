/* SPDX-License-Identifier: MIT */
/* call.c - the life of a queue, and the frame of each command. */
#include <errno.h>

#include "queue/state.h"

void *tkw__queue_alloc(struct tkw__queue *q, size_t bytes)
{
	void *mem = q->hooks.alloc(bytes, q->hooks.ctx);

	if (mem)
		q->allocated += bytes;
	return mem;
}

void tkw__queue_free(struct tkw__queue *q, void *mem, size_t bytes)
{
	q->allocated -= bytes;
	q->hooks.free(mem, bytes, q->hooks.ctx);
}

int tkw__queue_create(struct tkw__queue **out,
		      const struct tkw__queue_config *cfg)
{
	struct tkw__queue *q;

	if (!out || !cfg || !cfg->hooks.alloc || !cfg->hooks.free ||
	    cfg->now_us > TKW__QUEUE_MAX_US)
		return -EINVAL;
	q = cfg->hooks.alloc(sizeof(*q), cfg->hooks.ctx);
	if (!q)
		return -ENOMEM;
	*q = (struct tkw__queue){
		.hooks = cfg->hooks,
		.seed = { cfg->seed[0], cfg->seed[1] },
		.small = cfg->small ? cfg->small : TKW__QUEUE_SMALL,
		.take_steps = cfg->take_steps ? cfg->take_steps
					      : TKW__QUEUE_TAKE_STEPS,
		.now_ms = cfg->now_us / 1000,
		.place_ms = cfg->now_us / 1000,
		.by_key.by_key = true,
		.calendar = cfg->calendar,
		.allocated = sizeof(*q),
	};
	tkw__line_init(q, &q->idle, true);
	tkw__line_init(q, &q->taken, false);
	q->dead = (struct tkw__treap){ .by = TKW__BY_ID, .steps = &q->steps };
	*out = q;
	return 0;
}

int tkw__queue_free_some(struct tkw__queue *q, uint64_t max_items)
{
	if (!q)
		return 0;
	if (!q->freeing)
		tkw__queue_commit(q);
	q->freeing = true;
	for (; max_items > 0; max_items--) {
		struct tkw__item *it = tkw__index_drain(q, &q->by_id);

		if (!it)
			break;
		tkw__item_free(q, it);
	}
	if (q->by_id.count > 0 || tkw__plans_free_some(q, &max_items))
		return 1;
	tkw__index_fini(q, &q->by_id);
	tkw__index_fini(q, &q->by_key);
	tkw__line_fini(q, &q->idle);
	tkw__line_fini(q, &q->taken);
	tkw__undo_fini(q);
	tkw__lateness_fini(q);
	assert(q->allocated == sizeof(*q));
	q->hooks.free(q, sizeof(*q), q->hooks.ctx);
	return 0;
}

void tkw__queue_destroy(struct tkw__queue *q)
{
	tkw__queue_free_some(q, UINT64_MAX);
}

void tkw__queue_log_clear(struct tkw__queue_log *log)
{
	log->len = 0;
	log->last = 0;
}

void tkw__queue_log_fini(const struct tkw__queue *q, struct tkw__queue_log *log)
{
	if (log->bytes)
		q->hooks.free(log->bytes, log->room, q->hooks.ctx);
	*log = (struct tkw__queue_log){ .bytes = NULL };
}

int tkw__begin(struct tkw__queue *q, struct tkw__queue_call *call,
	       struct tkw__mark *m)
{
	call->behind = false;
	/* Such a clock would use up the ids at one go. */
	if (call->now_us > TKW__QUEUE_MAX_US)
		return -EINVAL;
	q->now_ms = call->now_us / 1000;
	q->place_ms = q->now_ms;
	*m = (struct tkw__mark){ .top = q->undo.top,
				 .totals = q->totals,
				 .past = q->past };
	if (call->log) {
		m->len = call->log->len;
		m->last = call->log->last;
	}
	return 0;
}

int tkw__finish(struct tkw__queue *q, struct tkw__queue_call *call,
		const struct tkw__mark *m, int err)
{
	struct tkw__queue_log *log = call->log;

	if (err) {
		tkw__undo_to(q, m->top);
		q->totals = m->totals;
		q->past = m->past;
		call->behind = false;
		if (log) {
			log->len = m->len;
			log->last = m->last;
		}
	} else if (log && log->len > m->len) {
		/* The last record ends the command. */
		log->bytes[log->last + 6] &= (uint8_t)~TKW__RECORD_MORE;
	}
	return err;
}

int tkw__emit(struct tkw__queue *q, struct tkw__queue_call *call,
	      const struct tkw__record *r)
{
	struct tkw__queue_log *log = call->log;
	int err = 0;

	if (!tkw__record_is_legal(r))
		return -EOVERFLOW;
	if (log) {
		err = tkw__record_write(q, log, r);
		if (err)
			return err;
		log->bytes[log->last + 6] |= TKW__RECORD_MORE;
	}
	err = tkw__apply(q, r);
	if (!err && r->item && (r->item->has & TKW__HAS_PLAN))
		err = tkw__plan_follow(q, call, r);
	return err;
}

uint64_t tkw__when_ms(const struct tkw__queue *q, struct tkw__queue_when when)
{
	uint64_t ms = when.ms > 0 ? (uint64_t)when.ms : 0;

	ms = tkw__min_u64(ms, TKW__QUEUE_MAX_MS);
	return when.absolute ? ms : tkw__ms_add(q->now_ms, ms);
}

struct tkw__item *tkw__find(struct tkw__queue *q,
			    const struct tkw__queue_name *name)
{
	if (name->key.at)
		return tkw__index_find_key(q, name->key);
	return tkw__index_find_id(q, name->id);
}

void tkw__lost_record(const struct tkw__item *it, struct tkw__record *r)
{
	uint64_t end = it->node.tick;

	*r = (struct tkw__record){ .id = it->id, .flags = TKW__RECORD_LOST };
	if (tkw__item_used_up(it)) {
		r->kind = TKW__RECORD_DEAD;
		r->word[TKW__DEAD_WHEN] = end;
		return;
	}
	/* The sequence is the moment itself, not the moment at which it is
	 * noticed: so the order does not depend on when advance came by. */
	r->kind = TKW__RECORD_NACK;
	r->word[TKW__NACK_DUE] = tkw__ms_add(end, tkw__item_wait_ms(it));
	r->word[TKW__NACK_SEQ] = end * 1000;
}

int tkw__settle(struct tkw__queue *q, struct tkw__queue_call *call,
		struct tkw__item *it)
{
	struct tkw__record r;

	if (!tkw__has_run_out(it, q->now_ms))
		return 0;
	tkw__lost_record(it, &r);
	r.item = it;
	return tkw__emit(q, call, &r);
}

uint64_t tkw__queue_count_steps(const struct tkw__queue *q)
{
	return q->steps;
}
