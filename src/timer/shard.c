/* SPDX-License-Identifier: MIT */
/*
 * shard.c - begin and end of a shard, what is due in it, and its invariants.
 * Where a timeout is, and how it gets there, is in shard.h.
 *
 * Invariants, verified by tkw__shard_check() under the lock:
 * (T1) The law: accepted = fired + cancelled + dropped + handed over + pending,
 *      where those that are PENDING, OWN or QUEUED are pending.
 * (T2) QUEUED timeouts are in the list `queued`, the other pending ones in the
 *      wheel or in one of the other lists.
 * (T3) The slab has as many places in use as there are timeouts in these
 *      states, RUNNING and ENDING.
 * (T4) `collected` + `listed` - `unlisted` is the number of timeouts in the
 *      lists.
 */
#include "timer/shard.h"

#include <string.h>

#include "base/bits.h"

enum {
	CACHE_LINE = 64
};

void tkw__shard_init(struct tkw__shard *s, uint32_t number,
		     const struct tkw__shard_kind *kind, uint32_t random)
{
	*s = (struct tkw__shard){
		.number = number,
		.covered = kind->wheel.now_tick,
		.kind = kind,
	};
	tkw__links_init(&s->due);
	tkw__links_init(&s->late);
	tkw__links_init(&s->refused);
	tkw__links_init(&s->queued);
	s->slab_rest = (struct tkw__slab_rest){
		.hooks = kind->hooks,
		.random = random,
		.systems = kind->systems,
	};
	tkw__slab_init(&s->slab, &s->slab_rest);
}

/* Allocates the wheel and the histogram, which the first timeout needs. */
static bool furnish(struct tkw__shard *s)
{
	const struct tkw__shard_kind *kind = s->kind;
	const struct tkw_timer_hooks *hooks = kind->hooks;
	struct tkw_wheel_config cfg = kind->wheel;
	void *mem;

	if (s->lateness == NULL) {
		s->lateness = hooks->alloc(sizeof(*s->lateness), CACHE_LINE,
					   hooks->ctx);
		if (s->lateness == NULL)
			return false;
		memset(s->lateness, 0, sizeof(*s->lateness));
	}
	mem = hooks->alloc(kind->wheel_bytes, CACHE_LINE, hooks->ctx);
	if (mem == NULL)
		return false;
	/* Timeouts for earlier ticks go to the late list. */
	cfg.now_tick = s->covered;
	(void)tkw_wheel_init(&s->wheel, mem, kind->wheel_bytes, &cfg);
	return true;
}

bool tkw__shard_grow(struct tkw__shard *s)
{
	if (s->wheel == NULL && !furnish(s))
		return false;
	return tkw__slab_add_block(&s->slab);
}

void tkw__shard_fini(struct tkw__shard *s)
{
	const struct tkw_timer_hooks *hooks = s->kind->hooks;

	tkw__slab_fini(&s->slab);
	if (s->lateness)
		hooks->free(s->lateness, sizeof(*s->lateness), hooks->ctx);
	if (s->wheel)
		hooks->free(s->wheel, s->kind->wheel_bytes, hooks->ctx);
}

static void make_due(struct tkw_wheel *w, struct tkw_entry *e, void *shard)
{
	struct tkw__shard *s = shard;

	(void)w;
	s->collected++;
	tkw__links_append(&s->due, &e->link);
}

bool tkw__shard_collect(struct tkw__shard *s, uint64_t tick, uint64_t steps)
{
	/* Most ends of a turn have nothing to do. */
	if (s->wheel == NULL || tick < s->wheel->now ||
	    tkw__hier_skip(s->wheel, tick))
		return false;
	return tkw_wheel_advance(s->wheel, tick, steps, make_due, s) == 1;
}

/* Appends one list to another, and empties it. */
static void append_all(struct tkw_link *list, struct tkw_link *from)
{
	if (tkw__links_empty(from))
		return;
	from->next->prev = list->prev;
	list->prev->next = from->next;
	from->prev->next = list;
	list->prev = from->prev;
	tkw__links_init(from);
}

void tkw__shard_collect_late(struct tkw__shard *s, uint64_t tick)
{
	if (tick >= s->retry_tick)
		append_all(&s->due, &s->refused);
	append_all(&s->due, &s->late);
}

/* All refused timeouts are offered again together, as soon as the first of them
 * may be. */
static void retry_after(struct tkw__shard *s, uint64_t ticks)
{
	uint64_t tick = tkw__sat_add(s->covered, ticks);

	if (tkw__links_empty(&s->refused) || tick < s->retry_tick)
		s->retry_tick = tick;
}

void tkw__shard_refuse(struct tkw__shard *s, struct tkw__timeout *to,
		       uint64_t ticks)
{
	retry_after(s, ticks);
	tkw__shard_list(s, &s->refused, to);
}

void tkw__shard_put_off(struct tkw__shard *s, uint64_t ticks)
{
	retry_after(s, ticks);
	append_all(&s->refused, &s->due);
}

uint64_t tkw__shard_next(const struct tkw__shard *s)
{
	uint64_t next = tkw_wheel_next_tick(s->wheel);

	if (!tkw__links_empty(&s->late) || !tkw__links_empty(&s->due) ||
	    s->ledger.dropped != s->dropped_told)
		return 0;
	if (!tkw__links_empty(&s->refused))
		next = tkw__min_u64(next, s->retry_tick);
	return next;
}

struct tkw__timeout *tkw__shard_any(const struct tkw__shard *s)
{
	const struct tkw_link *const lists[] = { &s->due, &s->late, &s->refused,
						 &s->queued };
	struct tkw_entry *e = tkw_wheel_first(s->wheel);

	for (size_t i = 0; e == NULL && i < sizeof(lists) / sizeof(lists[0]);
	     i++) {
		if (!tkw__links_empty(lists[i]))
			e = (struct tkw_entry *)lists[i]->next;
	}
	return e ? tkw__timeout_of(e) : NULL;
}

static uint64_t list_length(const struct tkw_link *head)
{
	uint64_t n = 0;

	for (const struct tkw_link *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

/* Counts the timeouts of the slab by their state, in one walk, because the lock
 * is held. */
static void count_states(const struct tkw__slab *slab,
			 uint64_t n[TKW__STATE_MASK + 1])
{
	for (uint32_t b = 0; b < slab->count; b++) {
		const struct tkw__timeout *to;

		for (uint32_t i = 1; (to = tkw__slab_at(slab, b, i)); i++)
			n[tkw__state(to)]++;
	}
}

/* How many timeouts should be pending by the other terms of the ledger. */
static uint64_t unsettled(const struct tkw_ledger *l)
{
	return l->accepted - l->fired - l->cancelled - l->dropped -
	       l->handed_over;
}

/* How many timeouts are in the lists, without those that are QUEUED. */
static uint64_t length_of_lists(const struct tkw__shard *s)
{
	return list_length(&s->due) + list_length(&s->late) +
	       list_length(&s->refused);
}

const char *tkw__shard_check(const struct tkw__shard *s)
{
	uint64_t in[TKW__STATE_MASK + 1] = { 0 };
	uint64_t in_wheel = tkw_wheel_count(s->wheel);
	uint64_t pending;
	const char *broken = s->wheel ? tkw_wheel_check(s->wheel) : NULL;

	if (broken == NULL)
		broken = tkw__slab_check(&s->slab);
	if (broken)
		return broken;
	count_states(&s->slab, in);
	pending = in[TKW__PENDING] + in[TKW__OWN] + in[TKW__QUEUED];
	if (pending != unsettled(&s->ledger))
		return "T1: the ledger does not balance";
	if (in[TKW__QUEUED] != list_length(&s->queued) ||
	    pending != in[TKW__QUEUED] + in_wheel + length_of_lists(s))
		return "T2: a pending timeout is in no list, or in two";
	if (pending != tkw__shard_pending(s))
		return "T4: the lists have another length than was counted";
	if (tkw__slab_live(&s->slab) !=
	    pending + in[TKW__RUNNING] + in[TKW__ENDING])
		return "T3: a timeout in use has no valid state";
	return NULL;
}
