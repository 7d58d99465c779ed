/* SPDX-License-Identifier: MIT */
/*
 * delayed_set.c - sets of delayed operations: create, shut down, destroy, and
 * the ledger. See delayed_state.h.
 *
 * End:     as in request.c: destroy waits at the bell of each shard until no
 *          record is used, and then until all threads of the timer have left.
 */
#include <errno.h>

#include "base/bits.h"
#include "base/config.h"
#include "os/cpus.h"
#include "os/dice.h"
#include "os/memory.h"
#include "os/thread.h"
#include "patterns/delayed_state.h"
#include "timer/for_patterns.h"

enum {
	SHARDS_PER_CPU = 8, /* so there are at least 8 */
	SHARDS_MAX = 128,
/* Records of a shard. The narrow builds of the tests have few. */
#ifdef TKW__BLOCK_BITS
	PLACES = 255 << TKW__BLOCK_BITS
#else
	PLACES = TKW__RECORDS_MAX
#endif
};

/* --- the ledger ----------------------------------------------------------- */

uint64_t tkw_delayed_count(struct tkw_delayed *d)
{
	uint64_t pending = 0;

	if (d == NULL || tkw__is_child(d->epoch))
		return 0;
	for (uint32_t i = 0; i <= d->shard_mask; i++) {
		tkw__lock_take(&d->shards[i].lock);
		pending += d->shards[i].used;
		tkw__lock_drop(&d->shards[i].lock);
	}
	return pending;
}

int tkw_delayed_get_ledger(struct tkw_delayed *d,
			   struct tkw_delayed_ledger *out)
{
	struct tkw_delayed_ledger l = { 0 };

	if (d == NULL || out == NULL)
		return -EINVAL;
	if (tkw__is_child(d->epoch))
		return -EPERM;
	for (uint32_t i = 0; i <= d->shard_mask; i++)
		tkw__lock_take(&d->shards[i].lock);
	for (uint32_t i = 0; i <= d->shard_mask; i++) {
		const struct tkw__op_shard *s = &d->shards[i];

		l.added += s->added;
		l.completed += s->completed;
		l.expired += s->expired;
		l.cancelled += s->cancelled;
		l.shut_down += s->shut_down;
		l.pending += s->used;
		l.watches += s->watches.count;
		l.keys += s->watches.keys;
	}
	for (uint32_t i = 0; i <= d->shard_mask; i++)
		tkw__lock_drop(&d->shards[i].lock);
	*out = l;
	return 0;
}

/* --- create, shut down and destroy ---------------------------------------- */

static uint32_t count_shards(void)
{
	uint64_t count =
		tkw__round_up_pow2(SHARDS_PER_CPU * (uint64_t)tkw__cpus());

	return (uint32_t)tkw__min_u64(count, SHARDS_MAX);
}

/* Makes a set from a config that was checked. */
static struct tkw_delayed *make_set(const struct tkw_delayed_config *cfg,
				    uint32_t epoch)
{
	uint32_t count = count_shards();
	struct tkw_delayed *d;
	size_t bytes = sizeof(*d) + count * sizeof(d->shards[0]);

	d = tkw__memory_take(bytes, _Alignof(struct tkw_delayed));
	if (d == NULL)
		return NULL;
	*d = (struct tkw_delayed){
		.timer = cfg->timer,
		.odd = tkw__dice_make(0).state | 1,
		.epoch = epoch,
		.shard_mask = count - 1,
		.shard_shift = 64 - tkw__highest_bit(count),
		.limited = cfg->max_pending > 0,
		.max_pending = (uint64_t)cfg->max_pending,
		.bytes = bytes,
	};
	for (uint32_t i = 0; i < count; i++) {
		struct tkw__op_shard *s = &d->shards[i];

		*s = (struct tkw__op_shard){ .number = i, .set = d };
		tkw__watches_init(&s->watches, s->few, tkw__highest_bit(count));
		tkw__table_init(&s->table, sizeof(struct tkw__op),
				_Alignof(struct tkw__op), PLACES);
	}
	return d;
}

int tkw_delayed_create(struct tkw_delayed **out,
		       const struct tkw_delayed_config *cfg)
{
	struct tkw_delayed_config c;
	struct tkw_delayed *d;
	uint32_t epoch;

	if (out == NULL || cfg == NULL ||
	    tkw__config_read(
		    &c, sizeof(c), cfg,
		    TKW__END_OF(struct tkw_delayed_config, max_pending)) != 0 ||
	    c.timer == NULL)
		return -EINVAL;
	if (tkw__timer_is_child(c.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) != 0)
		return -ENOMEM;
	d = make_set(&c, epoch);
	if (d == NULL)
		return -ENOMEM;
	*out = d;
	return 0;
}

static void free_set(struct tkw_delayed *d)
{
	for (uint32_t i = 0; i <= d->shard_mask; i++) {
		struct tkw__op_shard *s = &d->shards[i];

		tkw__watches_fini(&s->watches);
		tkw__table_fini(&s->table);
	}
	tkw__memory_free(d, d->bytes);
}

/* Ends all operations of a closed shard. */
static void end_all(struct tkw__op_shard *s)
{
	struct tkw__record *head;
	struct tkw__frame frame;

	tkw__frame_enter_set(&frame, s->set);
	/* No record is added any more, so the walk ends. */
	for (uint32_t i = 0; (head = tkw__table_at(&s->table, i)); i++) {
		if (tkw__record_state(head) == TKW__OP_FREE)
			continue;
		tkw__lock_take(&s->lock);
		if (tkw__record_state(head) != TKW__OP_FREE)
			(void)tkw__op_end(tkw__op_of(head), -ESHUTDOWN);
		else
			tkw__lock_drop(&s->lock);
	}
	tkw__frame_leave(&frame);
}

int tkw_delayed_shutdown(struct tkw_delayed *d)
{
	int was;

	if (d == NULL)
		return -EINVAL;
	if (tkw__is_child(d->epoch))
		return -EPERM;
	if (TKW__EXCHANGE(&d->closed, 1, RELAXED) != 0)
		return 0;
	/* If the thread were cancelled in a callback, the rest would not
	 * end. */
	was = tkw__thread_no_cancel();
	for (uint32_t i = 0; i <= d->shard_mask; i++) {
		tkw__lock_take(&d->shards[i].lock);
		d->shards[i].closed = true;
		tkw__lock_drop(&d->shards[i].lock);
	}
	for (uint32_t i = 0; i <= d->shard_mask; i++)
		end_all(&d->shards[i]);
	tkw__thread_restore_cancel(was);
	return 0;
}

/* Waits until the timer has ended what it was about to end. */
static void await_all(struct tkw__op_shard *s)
{
	tkw__lock_take(&s->lock);
	while (s->used > 0)
		tkw__bell_wait(&s->bell, &s->lock);
	tkw__lock_drop(&s->lock);
	tkw__rundown_close(&s->inside);
}

/* In a forked child, frees what records point to. */
static void free_watches(struct tkw__op_shard *s)
{
	struct tkw__record *head;

	for (uint32_t i = 0; (head = tkw__table_at(&s->table, i)); i++) {
		struct tkw__op *r = tkw__op_of(head);

		if (r->more)
			tkw__memory_free(r->more,
					 r->more_count * sizeof(*r->more));
	}
}

int tkw_delayed_destroy(struct tkw_delayed *d)
{
	int was;

	if (d == NULL)
		return 0;
	if (tkw__frame_inside(d) || tkw__frame_inside(d->timer))
		return -EDEADLK;
	if (tkw__is_child(d->epoch)) {
		for (uint32_t i = 0; i <= d->shard_mask; i++)
			free_watches(&d->shards[i]);
		free_set(d);
		return 0;
	}
	/* If the thread were cancelled in here, the rest would not be freed. */
	was = tkw__thread_no_cancel();
	(void)tkw_delayed_shutdown(d);
	for (uint32_t i = 0; i <= d->shard_mask; i++)
		await_all(&d->shards[i]);
	free_set(d);
	tkw__thread_restore_cancel(was);
	return 0;
}
