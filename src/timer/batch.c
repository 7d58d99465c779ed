/* SPDX-License-Identifier: MIT */
/*
 * batch.c - many timeouts in one call. A schedule takes all or none, a cancel
 * each on its own. The lock of a shard is taken once.
 */
#include <errno.h>

#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/admit.h"
#include "timer/ending.h"
#include "timer/sleep.h"

/* Chains the blocks that are to be freed when the lock is dropped. Each block
 * holds the pointer to the next. */
static void keep_block(void **blocks, void *block)
{
	if (block == NULL)
		return;
	*(void **)block = *blocks;
	*blocks = block;
}

static void give_back_all(struct tkw_timer *t, void *blocks)
{
	while (blocks) {
		void *next = *(void **)blocks;

		tkw__give_back(t, blocks);
		blocks = next;
	}
}

static struct tkw__timeout *first_of(const struct tkw_link *list)
{
	return tkw__timeout_of((struct tkw_entry *)list->next);
}

/* What to schedule. If now_ns is set, the items have delays, which count from
 * it. If it is NULL, they have deadlines. */
struct batch {
	const struct tkw_batch_item *items;
	size_t count;
	const int64_t *now_ns;
};

/*
 * Makes the timeouts of a batch and puts them into a list, each with its tick.
 *
 * need  Receives the tick at which the worker is needed for them.
 *
 * Returns 0, or -ENOMEM. On failure the caller must unmake those in the list.
 */
static int make_batch(struct tkw_timer *t, struct tkw__shard *s,
		      const struct batch *b, struct tkw_link *list,
		      uint64_t *need)
{
	*need = TKW_TICK_NEVER;
	for (size_t i = 0; i < b->count; i++) {
		int64_t when_ns = b->items[i].when_ns;
		struct tkw__due d =
			b->now_ns ? tkw__due_after(t, *b->now_ns, when_ns)
				  : tkw__due_at(t, when_ns);
		uint32_t block;
		struct tkw__timeout *to =
			tkw__admit(t, s, &b->items[i].task, &d, &block);

		if (to == NULL)
			return -ENOMEM;
		to->entry.tick = d.tick;
		tkw__links_append(list, &to->entry.link);
		*need = tkw__min_u64(*need, tkw__shard_need(s, d.tick));
	}
	return 0;
}

/* Undoes make_batch(). */
static void unmake_batch(struct tkw__shard *s, struct tkw_link *list,
			 void **blocks)
{
	while (!tkw__links_empty(list)) {
		struct tkw__timeout *to = first_of(list);

		tkw__links_remove(&to->entry.link);
		keep_block(blocks, tkw__ledger_unaccept(s, to));
	}
}

/* Puts all timeouts where their ticks belong. */
static void place_batch(struct tkw__shard *s, struct tkw_link *list,
			struct tkw_timeout_id *ids)
{
	while (!tkw__links_empty(list)) {
		struct tkw__timeout *to = first_of(list);

		tkw__links_remove(&to->entry.link);
		tkw__shard_place(s, to, to->entry.tick);
		if (ids)
			*ids++ = tkw__shard_id(s, to);
	}
}

/* Accepts a batch, for which places are reserved. */
static int take_in_batch(struct tkw_timer *t, const struct batch *b,
			 struct tkw_timeout_id *ids)
{
	struct tkw__shard *s = tkw__own_shard(t);
	struct tkw_link list;
	void *blocks = NULL;
	uint64_t need;
	int err;

	tkw__links_init(&list);
	tkw__lock_take(&s->lock);
	err = s->closed ? -ESHUTDOWN : make_batch(t, s, b, &list, &need);
	if (err == 0)
		err = tkw__sleep_call(t, need);
	if (err == 0)
		place_batch(s, &list, ids);
	else
		unmake_batch(s, &list, &blocks);
	tkw__lock_drop(&s->lock);
	give_back_all(t, blocks);
	if (err != 0)
		tkw__ledger_unreserve(t, b->count);
	return err;
}

/* Checks what a batch can be refused for before anything is taken. */
static int prepare_batch(struct tkw_timer *t, const struct batch *b)
{
	if (t == NULL || (b->items == NULL && b->count > 0) ||
	    b->count > TKW_MAX_BATCH)
		return -EINVAL;
	for (size_t i = 0; i < b->count; i++) {
		if (b->items[i].task.fn == NULL)
			return -EINVAL;
	}
	if (tkw__is_child(t->epoch))
		return -EPERM;
	return b->count > 0 ? tkw__ensure_started(t) : 0;
}

static int schedule_batch(struct tkw_timer *t, const struct batch *b,
			  struct tkw_timeout_id *ids)
{
	return tkw__ledger_reserve(t, b->count) ? take_in_batch(t, b, ids)
						: -EAGAIN;
}

int tkw_timer_schedule_batch(struct tkw_timer *t,
			     const struct tkw_batch_item *items, size_t count,
			     struct tkw_timeout_id *ids)
{
	struct batch b = { .items = items, .count = count };
	int err = prepare_batch(t, &b);
	int64_t now_ns;

	if (err == 0 && count > 0) {
		now_ns = tkw__now(t);
		b.now_ns = &now_ns;
		err = schedule_batch(t, &b, ids);
	}
	return err == 0 ? 0 : tkw__refused(t, err);
}

int tkw_timer_schedule_batch_at(struct tkw_timer *t,
				const struct tkw_batch_item *items,
				size_t count, struct tkw_timeout_id *ids)
{
	const struct batch b = { .items = items, .count = count };
	int err = prepare_batch(t, &b);

	if (err == 0 && count > 0)
		err = schedule_batch(t, &b, ids);
	return err == 0 ? 0 : tkw__refused(t, err);
}

/* Cancels those of a batch that are in this shard. Returns how many were
 * cancelled. */
static int cancel_in_shard(struct tkw_timer *t, struct tkw__shard *s,
			   const struct tkw_timeout_id *ids, size_t count,
			   int *results)
{
	struct tkw_link ending;
	void *blocks = NULL;
	int cancelled = 0;

	tkw__links_init(&ending);
	tkw__lock_take(&s->lock);
	for (size_t i = 0; i < count; i++) {
		struct tkw__name n = tkw__name_of(ids[i]);
		struct tkw__timeout *to;
		int err;

		if (n.shard != s->number)
			continue;
		to = tkw__shard_find(s, n);
		err = tkw__decide(to);
		if (err == 0 && to->on_cancel) {
			tkw__ledger_settle(t, s, to, &s->ledger.cancelled,
					   TKW__ENDING);
			tkw__links_append(&ending, &to->entry.link);
		} else if (err == 0) {
			keep_block(&blocks,
				   tkw__ledger_settle_and_free(
					   t, s, to, tkw__number_of_name(n),
					   &s->ledger.cancelled));
		}
		cancelled += err == 0;
		if (results)
			results[i] = err;
	}
	tkw__lock_drop(&s->lock);
	give_back_all(t, blocks);
	while (!tkw__links_empty(&ending)) {
		struct tkw__timeout *to = first_of(&ending);

		tkw__links_remove(&to->entry.link);
		tkw__finish_ending(t, s, to);
	}
	return cancelled;
}

int tkw_timer_cancel_batch(struct tkw_timer *t,
			   const struct tkw_timeout_id *ids, size_t count,
			   int *results)
{
	uint64_t shards = 0;
	int cancelled = 0;
	int was;

	if (t == NULL || (ids == NULL && count > 0) || count > TKW_MAX_BATCH)
		return -EINVAL;
	if (tkw__is_child(t->epoch))
		return -EPERM;
	for (size_t i = 0; i < count; i++) {
		uint32_t shard = tkw__name_of(ids[i]).shard;

		if (shard <= t->shard_mask)
			shards |= UINT64_C(1) << shard;
		else if (results)
			results[i] = -ENOENT;
	}
	/* If the thread were cancelled in between, the rest would never end. */
	was = tkw__thread_no_cancel();
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		if (shards >> i & 1)
			cancelled += cancel_in_shard(t, &t->shards[i], ids,
						     count, results);
	}
	tkw__thread_restore_cancel(was);
	return cancelled;
}
