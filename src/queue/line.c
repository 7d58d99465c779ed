/* SPDX-License-Identifier: MIT */
/* line.c - items by time: a wheel, a list and a tree. See line.h. */
#include "queue/line.h"

#include "queue/state.h"

void tkw__line_init(struct tkw__queue *q, struct tkw__line *l, bool strict)
{
	*l = (struct tkw__line){ .strict = strict };
	tkw__links_init(&l->list);
	l->tree.by = strict ? TKW__BY_ORDER : TKW__BY_TICK;
	l->tree.steps = &q->steps;
}

uint64_t tkw__line_count(const struct tkw__line *l)
{
	return l->listed + tkw__treap_size(l->tree.root) +
	       tkw_wheel_count(l->wheel);
}

static struct tkw__item *list_first(const struct tkw__line *l)
{
	return l->listed ? tkw__item_of(l->list.next) : NULL;
}

static struct tkw__item *list_last(const struct tkw__line *l)
{
	return l->listed ? tkw__item_of(l->list.prev) : NULL;
}

static bool less(const struct tkw__line *l, const struct tkw__item *a,
		 const struct tkw__item *b)
{
	if (!l->strict)
		return a->node.tick < b->node.tick;
	return tkw__item_less(a, b, TKW__BY_ORDER);
}

static void append(struct tkw__line *l, struct tkw__item *it)
{
	it->place = TKW__IN_LIST;
	l->listed++;
	l->max_other = tkw__max_u64(l->max_other, it->other);
	tkw__links_append(&l->list, &it->link);
}

static void plant(struct tkw__line *l, struct tkw__item *it)
{
	it->place = TKW__IN_TREE;
	tkw__treap_insert(&l->tree, it);
}

/* True if an item would break the order behind the list. */
static bool is_before_last(const struct tkw__line *l,
			   const struct tkw__item *it)
{
	return l->listed > 0 && less(l, it, tkw__item_of(l->list.prev));
}

/* Behind the list, or into the tree if that would break the order. */
static void append_or_plant(struct tkw__line *l, struct tkw__item *it)
{
	if (is_before_last(l, it))
		plant(l, it);
	else
		append(l, it);
}

/* Takes an item out of the wheel's books; the wheel has it no longer. */
static struct tkw__item *leave_wheel(struct tkw__line *l, struct tkw_entry *e)
{
	struct tkw__item *it = tkw__item_of(&e->link);

	l->strays -= it->stray;
	it->stray = 0;
	return it;
}

/* A wheel begins with the tick after now: what is due now needs no wheel. But a
 * snapshot tells items in no order, and many may have been due for long. The
 * wheel sorts them. It then begins with the first one known so far, within
 * reason. */
static uint64_t first_tick(const struct tkw__queue *q,
			   const struct tkw__line *l)
{
	uint64_t first = q->place_ms + 1;

	if (q->past == TKW__LOADING && l->tree.root)
		first = tkw__min_u64(first,
				     tkw__treap_first(&l->tree)->node.tick);
	if (q->now_ms > TKW__LINE_LONGEST_OVERDUE)
		first = tkw__max_u64(first,
				     q->now_ms - TKW__LINE_LONGEST_OVERDUE);
	return first;
}

static int start_wheel(const struct tkw__queue *q, struct tkw__line *l,
		       void *mem, size_t bytes)
{
	struct tkw_wheel_config cfg = { .size = sizeof(cfg),
					.now_tick = first_tick(q, l) };

	return tkw_wheel_init(&l->wheel, mem, bytes, &cfg);
}

/* If there is no memory for a wheel, the tree does its work. */
static void make_wheel(struct tkw__queue *q, struct tkw__line *l)
{
	size_t bytes;
	void *mem;

	if (tkw_wheel_bytes(NULL, &bytes) != 0)
		return;
	mem = tkw__queue_alloc(q, bytes);
	if (mem && start_wheel(q, l, mem, bytes) != 0) {
		l->wheel = NULL;
		tkw__queue_free(q, mem, bytes);
	}
}

static void free_wheel(struct tkw__queue *q, struct tkw__line *l)
{
	size_t bytes;

	/* The wheel is at the start of its memory. */
	if (l->wheel && tkw_wheel_bytes(NULL, &bytes) == 0)
		tkw__queue_free(q, l->wheel, bytes);
	l->wheel = NULL;
}

/* A line that has become small again gives its wheel back. */
static void shrink(struct tkw__queue *q, struct tkw__line *l)
{
	struct tkw_entry *e;

	if (!l->wheel || tkw__line_count(l) * 4 > q->small)
		return;
	while ((e = tkw_wheel_first(l->wheel)) != NULL) {
		q->steps++;
		tkw_wheel_remove(l->wheel, e);
		plant(l, leave_wheel(l, e));
	}
	free_wheel(q, l);
}

/* Sees to it that there is a wheel if the line needs one. */
static void tend_wheel(struct tkw__queue *q, struct tkw__line *l, uint64_t tick)
{
	size_t bytes;

	if (!l->wheel) {
		if (tkw__line_count(l) >= q->small)
			make_wheel(q, l);
		return;
	}
	/* The clock was put back, and the wheel is empty: it begins anew. */
	if (tick < tkw_wheel_now_tick(l->wheel) && tick > q->place_ms &&
	    tkw_wheel_now_tick(l->wheel) > q->place_ms + 1 &&
	    tkw_wheel_count(l->wheel) == 0 &&
	    tkw_wheel_bytes(NULL, &bytes) == 0)
		start_wheel(q, l, l->wheel, bytes);
}

/* True if an item is due already and belongs behind the list. Not while a
 * snapshot is loaded: its items come in no order, and with one of the last ones
 * in the list the others could not be appended any more. */
static bool fits_list(const struct tkw__queue *q, const struct tkw__line *l,
		      const struct tkw__item *it)
{
	if (it->node.tick > q->place_ms || q->past == TKW__LOADING ||
	    is_before_last(l, it))
		return false;
	return tkw_wheel_count(l->wheel) == 0 ||
	       it->node.tick < tkw_wheel_now_tick(l->wheel);
}

/* Puts an item into the wheel. */
static void enrol(struct tkw__line *l, struct tkw__item *it)
{
	bool is_empty = l->listed == 0 && tkw_wheel_count(l->wheel) == 0;

	it->stray = l->strict && !is_empty && it->other <= l->max_other;
	l->strays += it->stray;
	if (is_empty || !it->stray)
		l->max_other = it->other;
	it->place = TKW__IN_WHEEL;
	it->node.flags = 0;
	tkw_wheel_add(l->wheel, &it->entry, it->node.tick);
}

void tkw__line_place(struct tkw__queue *q, struct tkw__line *l,
		     struct tkw__item *it)
{
	q->steps++;
	if (fits_list(q, l, it)) {
		it->node.flags = 0;
		append(l, it);
		return;
	}
	tend_wheel(q, l, it->node.tick);
	if (l->wheel && it->node.tick >= tkw_wheel_now_tick(l->wheel))
		enrol(l, it);
	else
		plant(l, it);
}

static void take_out(struct tkw__line *l, struct tkw__item *it)
{
	switch (it->place) {
	case TKW__IN_LIST:
		l->listed--;
		tkw__links_remove(&it->link);
		break;
	case TKW__IN_TREE:
		tkw__treap_remove(&l->tree, it);
		break;
	default:
		assert(it->place == TKW__IN_WHEEL);
		tkw_wheel_remove(l->wheel, &it->entry);
		leave_wheel(l, &it->entry);
	}
	it->place = TKW__NOWHERE;
}

void tkw__line_remove(struct tkw__queue *q, struct tkw__line *l,
		      struct tkw__item *it)
{
	q->steps++;
	take_out(l, it);
	shrink(q, l);
}

void tkw__line_move(struct tkw__queue *q, struct tkw__line *l,
		    struct tkw__item *it, uint64_t tick)
{
	assert(!l->strict);
	q->steps++;
	if (it->place == TKW__IN_WHEEL && tick >= it->node.tick) {
		tkw_wheel_extend(l->wheel, &it->entry, tick);
		return;
	}
	take_out(l, it);
	it->node.tick = tick;
	tkw__line_place(q, l, it);
}

struct tkw__line_head tkw__line_look(struct tkw__queue *q, struct tkw__line *l,
				     uint64_t now)
{
	struct tkw__item *listed = list_first(l);
	struct tkw__item *first = tkw__treap_first(&l->tree);
	uint64_t coming = tkw_wheel_next_tick(l->wheel);
	uint64_t limit = now;

	q->steps++;
	if (!first || (listed && less(l, listed, first)))
		first = listed;
	if (first && first->node.tick > now)
		first = NULL;
	if (first) {
		/* What is in the wheel is behind what is in the list (L4),
		 * unless the wheel has begun anew since, or has strays. */
		if (first->node.tick < coming ||
		    (listed && listed->node.tick <= coming && !l->strays))
			return (struct tkw__line_head){ TKW__LINE_FIRST, first,
							first->node.tick };
		limit = first->node.tick;
	}
	if (coming <= limit)
		return (struct tkw__line_head){ TKW__LINE_PUMP, NULL, limit };
	return (struct tkw__line_head){ TKW__LINE_NONE, NULL, UINT64_MAX };
}

uint64_t tkw__line_bound(struct tkw__queue *q, const struct tkw__line *l)
{
	const struct tkw__item *listed = list_first(l);
	const struct tkw__item *planted = tkw__treap_first(&l->tree);
	uint64_t bound = tkw_wheel_next_tick(l->wheel);

	q->steps++;
	if (listed)
		bound = tkw__min_u64(bound, listed->node.tick);
	if (planted)
		bound = tkw__min_u64(bound, planted->node.tick);
	return bound;
}

static void expired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	append_or_plant(ctx, leave_wheel(ctx, e));
}

bool tkw__line_pump(struct tkw__queue *q, struct tkw__line *l, uint64_t to,
		    uint64_t *max_steps)
{
	uint64_t before = tkw_wheel_count_steps(l->wheel);
	uint64_t used;
	int more;

	q->steps++;
	if (!l->wheel)
		return false;
	more = tkw_wheel_advance(l->wheel, to, *max_steps, expired, l);
	used = tkw_wheel_count_steps(l->wheel) - before;
	q->steps += used;
	*max_steps -= used;
	return more == 1;
}

bool tkw__line_unlist(struct tkw__queue *q, struct tkw__line *l, uint64_t now,
		      uint64_t *max_steps)
{
	struct tkw__item *last;

	while ((last = list_last(l)) != NULL && last->node.tick > now) {
		if (*max_steps == 0)
			return true;
		--*max_steps;
		q->steps++;
		take_out(l, last);
		plant(l, last);
	}
	return false;
}

uint64_t tkw__line_next(struct tkw__queue *q, struct tkw__line *l, uint64_t now)
{
	const struct tkw__item *first = list_first(l);
	const struct tkw__item *last = list_last(l);
	uint64_t next = tkw__treap_tick_above(&l->tree, now);

	q->steps++;
	next = tkw__min_u64(
		next, tkw__max_u64(tkw_wheel_next_tick(l->wheel), now + 1));
	if (last && last->node.tick > now)
		next = tkw__min_u64(next,
				    tkw__max_u64(first->node.tick, now + 1));
	return next;
}

void tkw__line_fini(struct tkw__queue *q, struct tkw__line *l)
{
	free_wheel(q, l);
}

static const char *check_list(const struct tkw__line *l)
{
	const struct tkw_link *at;
	const struct tkw__item *last = NULL;
	uint64_t n = 0;

	for (at = l->list.next; at != &l->list; at = at->next) {
		const struct tkw__item *it = (const void *)at;

		if (at->prev->next != at || at->next->prev != at ||
		    ++n > l->listed)
			return "a list is broken";
		if (it->place != TKW__IN_LIST || it->node.flags != 0)
			return "an item in a list does not know it";
		if (last && less(l, it, last))
			return "a list is not in order";
		last = it;
	}
	return n == l->listed ? NULL : "a list has lost items";
}

/* The last one in the list whose tick is not above this one, or the list
 * itself. It is looked for from the last one found, because the wheel is walked
 * more or less in the order of ticks. */
static const struct tkw_link *seek(const struct tkw__line *l,
				   const struct tkw_link *at, uint64_t tick)
{
	while (at->next != &l->list &&
	       ((const struct tkw__item *)(const void *)at->next)->node.tick <=
		       tick)
		at = at->next;
	while (at != &l->list &&
	       ((const struct tkw__item *)(const void *)at)->node.tick > tick)
		at = at->prev;
	return at;
}

/* (L4), for one item of the wheel. The list is sorted, so it is enough to look
 * at the last one of the tick. */
static bool behind_list(const struct tkw__line *l, const struct tkw__item *it,
			const struct tkw_link **at)
{
	const struct tkw__item *listed;

	*at = seek(l, *at, it->node.tick);
	if (*at == &l->list)
		return true;
	listed = (const void *)*at;
	return listed->node.tick < it->node.tick || less(l, listed, it);
}

static const char *check_wheel(const struct tkw__line *l)
{
	const struct tkw_link *at = &l->list;
	const char *wrong = tkw_wheel_check(l->wheel);
	uint64_t strays = 0;
	struct tkw_entry *e;

	if (wrong)
		return wrong;
	for (e = tkw_wheel_first(l->wheel); e;
	     e = tkw_wheel_after(l->wheel, e)) {
		const struct tkw__item *it = tkw__item_of(&e->link);

		if (it->place != TKW__IN_WHEEL)
			return "an item in a wheel does not know it";
		if (l->strict && it->other > l->max_other)
			return "a line has a higher sequence than it knows";
		if (l->strict && !it->stray && !behind_list(l, it, &at))
			return "an item in a wheel is before one in the list";
		strays += it->stray;
	}
	return strays == l->strays ? NULL : "the strays are counted wrongly";
}

const char *tkw__line_check(struct tkw__queue *q, const struct tkw__line *l)
{
	uint64_t steps = q->steps;
	const char *wrong = check_list(l);

	if (!wrong)
		wrong = tkw__treap_check(&l->tree);
	if (!wrong && l->wheel)
		wrong = check_wheel(l);
	if (!wrong && !l->wheel && l->strays)
		wrong = "there are strays, and no wheel";
	q->steps = steps;
	return wrong;
}
