/* SPDX-License-Identifier: MIT */
/*
 * timer.c - schedule, cancel, reschedule; one, or a batch.
 *
 * Each call finds the shard, takes its lock, decides by the timeout's state,
 * and changes the ledger there and nowhere else. What takes time, or calls the
 * user, comes after the lock is dropped.
 */
#include "tickwheel/timer.h"

#include <errno.h>

#include "os/thread.h"
#include "timer/core.h"

/* For what two calls have in common: the compiler would rather have it once,
 * and each call pay for that. */
#define ALWAYS_INLINE __attribute__((always_inline)) inline

/* When a timeout shall fire: the deadline, and the tick that covers it. */
struct due {
	int64_t deadline_ns;
	uint64_t tick;
};

int64_t tkw__own_now(struct tkw_timer *t)
{
	int64_t now = t->hooks.now(t->hooks.ctx);
	uint64_t latest = TKW__LOAD(&t->latest_ns, RELAXED);

	while (now > (int64_t)latest) {
		if (TKW__CAS(&t->latest_ns, &latest, (uint64_t)now, RELAXED))
			return now;
	}
	return (int64_t)latest;
}

static inline struct due due_at(const struct tkw_timer *t, int64_t deadline_ns)
{
	struct due d = { .deadline_ns = tkw__max_i64(deadline_ns, 0) };
	uint64_t rest;

	d.tick = tkw__divide((uint64_t)d.deadline_ns, t->by_tick, &rest);
	d.tick += rest != 0;
	if (deadline_ns == TKW_NEVER_NS)
		d.tick = TKW_TICK_NEVER;
	return d;
}

/* now + delay, which is not negative, and not after the end of time. */
static int64_t deadline_after(int64_t now_ns, int64_t delay_ns)
{
	if (delay_ns > TKW_NEVER_NS - now_ns)
		return TKW_NEVER_NS;
	return now_ns + delay_ns;
}

static inline struct due due_after(const struct tkw_timer *t, int64_t now_ns,
				   int64_t delay_ns)
{
	struct due d = due_at(t, deadline_after(now_ns, delay_ns));

	/* What is due by now need not wait for the next tick. */
	if (delay_ns <= 0)
		d.tick = tkw__min_u64(d.tick, tkw__tick_at(t, now_ns));
	return d;
}

/* What a timeout keeps of its deadline, besides its tick. Modulo 2^64, so that
 * the end of a tick may lie beyond the end of time. */
static uint32_t before_of(const struct tkw_timer *t, int64_t deadline_ns,
			  uint64_t tick)
{
	uint64_t ns = (tick + 1) * t->tick_ns - (uint64_t)deadline_ns;

	/* For most, a division less. */
	return (uint32_t)(t->unit_ns == 1 ? ns : ns / t->unit_ns);
}

int64_t tkw__deadline_of(const struct tkw_timer *t,
			 const struct tkw__timeout *to)
{
	uint64_t tick = tkw_entry_tick(&to->entry);
	uint64_t ns;

	if (tick == TKW_TICK_NEVER)
		return TKW_NEVER_NS;
	ns = (tick + 1) * t->tick_ns - to->before * t->unit_ns;
	return (int64_t)tkw__min_u64(ns, (uint64_t)TKW_NEVER_NS - 1);
}

/* Take places under max_pending. Return false if there are not so many. */
static bool reserve(struct tkw_timer *t, uint64_t count)
{
	uint64_t was;

	if (!t->limited)
		return true;
	was = TKW__LOAD(&t->reserved, RELAXED);
	/* Not an add that is taken back: for a moment that would refuse a
	 * caller for whom there is room. */
	while (count <= t->max_pending - was) {
		if (TKW__CAS(&t->reserved, &was, was + count, RELAXED))
			return true;
	}
	return false;
}

static void unreserve(struct tkw_timer *t, uint64_t count)
{
	if (t->limited)
		TKW__SUB(&t->reserved, count, RELAXED);
}

void tkw__unreserve(struct tkw_timer *t)
{
	unreserve(t, 1);
}

void tkw__give_back(struct tkw_timer *t, void *block)
{
	if (block)
		t->hooks.free(t->hooks.ctx, block, TKW__BLOCK_BYTES);
}

/* Let a timeout have slack, which few ask for. */
static void give_slack(const struct tkw_timer *t, struct tkw__timeout *to,
		       int64_t slack_ns, struct due *d)
{
	uint64_t ns = tkw__min_u64((uint64_t)slack_ns, t->slack_max_ns);
	uint64_t ticks = ns / t->tick_ns;

	to->mark |= tkw__slack_bits(ticks) << TKW__SLACK_SHIFT;
	d->tick = tkw_tick_with_slack(d->tick, ticks);
}

/* A new timeout of a shard, PENDING and nowhere yet. The lock is held. */
static ALWAYS_INLINE struct tkw__timeout *
new_timeout(struct tkw_timer *t, struct tkw__shard *s,
	    const struct tkw_task *task, struct due *d)
{
	struct tkw__timeout *to = tkw__slab_take(&s->slab);

	if (to == NULL)
		return NULL;
	to->mark |= TKW__PENDING;
	if (task->slack_ns > 0)
		give_slack(t, to, task->slack_ns, d);
	to->fn = task->fn;
	to->arg = task->arg;
	to->on_cancel = task->on_cancel;
	to->before = before_of(t, d->deadline_ns, d->tick);
	s->ledger.accepted++;
	s->ledger.pending++;
	return to;
}

/* Where the calling thread schedules. */
static struct tkw__shard *own_shard(struct tkw_timer *t)
{
	return &t->shards[tkw__thread_local()->number & t->shard_mask];
}

/* Take a new timeout in. Return  what schedule returns. */
static int take_in(struct tkw_timer *t, const struct tkw_task *task,
		   struct due d, uint64_t *id)
{
	struct tkw__shard *s = own_shard(t);
	struct tkw__timeout *to = NULL;
	uint64_t need = TKW_TICK_NEVER;
	uint64_t name = 0;
	int err = -ENOMEM;

	tkw__lock_take(&s->lock);
	if (s->closed)
		err = -ESHUTDOWN;
	else
		to = new_timeout(t, s, task, &d);
	if (to) {
		need = tkw__shard_place(s, to, d.tick);
		name = tkw__shard_id(s, to);
	}
	tkw__lock_drop(&s->lock);
	if (to == NULL)
		return err;
	if (id)
		*id = name;
	tkw__worker_call(t, need);
	return 0;
}

/* What schedule can refuse before it takes anything. */
static ALWAYS_INLINE int prepare(struct tkw_timer *t,
				 const struct tkw_task *task)
{
	if (t == NULL || task == NULL || task->fn == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	return tkw__ensure_started(t);
}

static int schedule(struct tkw_timer *t, const struct tkw_task *task,
		    struct due d, uint64_t *id)
{
	int err;

	if (!reserve(t, 1))
		return -EAGAIN;
	err = take_in(t, task, d, id);
	if (err != 0)
		unreserve(t, 1);
	return err;
}

/* Count a refusal. Return  what it was. */
static int refused(struct tkw_timer *t, int err)
{
	if (err == -EAGAIN)
		TKW__ADD(&t->refused_full, 1, RELAXED);
	else if (err == -ENOMEM)
		TKW__ADD(&t->refused_memory, 1, RELAXED);
	else if (err == -ESHUTDOWN)
		TKW__ADD(&t->refused_stopped, 1, RELAXED);
	return err;
}

int tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
		       int64_t delay_ns, uint64_t *id)
{
	int err = prepare(t, task);

	if (err == 0)
		err = schedule(t, task, due_after(t, tkw__now(t), delay_ns),
			       id);
	return err == 0 ? 0 : refused(t, err);
}

int tkw_timer_schedule_at(struct tkw_timer *t, const struct tkw_task *task,
			  int64_t deadline_ns, uint64_t *id)
{
	int err = prepare(t, task);

	if (err == 0)
		err = schedule(t, task, due_at(t, deadline_ns), id);
	return err == 0 ? 0 : refused(t, err);
}

/* The shard that an id names, with its lock held; NULL: there is none. */
static struct tkw__shard *lock_shard(struct tkw_timer *t, struct tkw__name n)
{
	struct tkw__shard *s;

	if (n.shard > t->shard_mask)
		return NULL;
	s = &t->shards[n.shard];
	tkw__lock_take(&s->lock);
	return s;
}

/* Is the timeout to be had? Return  0, -EBUSY or -ENOENT. */
static int decide(const struct tkw__timeout *to)
{
	if (to == NULL)
		return -ENOENT;
	switch (tkw__state(to)) {
	case TKW__PENDING:
	case TKW__QUEUED:
	case TKW__OWN:
		return 0;
	case TKW__RUNNING:
		return -EBUSY;
	default:
		return -ENOENT; /* its on-cancel is running */
	}
}

void tkw__finish_ending(struct tkw_timer *t, struct tkw__shard *s,
			struct tkw__timeout *to)
{
	struct tkw__frame frame;
	void *block;

	if (to->on_cancel) {
		/* Were the thread cancelled in there it would never end. */
		int was = tkw__thread_no_cancel();

		tkw__frame_enter(&frame, t);
		to->on_cancel(to->arg);
		tkw__frame_leave(&frame);
		tkw__thread_restore_cancel(was);
		if (tkw__is_foreign(t))
			return; /* it has forked, and this is the child */
	}
	tkw__lock_take(&s->lock);
	block = tkw__shard_end(s, to);
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
}

/* Cancel a timeout that is pending, of a shard whose lock is held. If it has an
 * on-cancel it is ENDING now. Return  as tkw__slab_put(). */
static ALWAYS_INLINE void *cancel(struct tkw_timer *t, struct tkw__shard *s,
				  struct tkw__timeout *to)
{
	tkw__shard_pull(s, to);
	s->ledger.pending--;
	s->ledger.cancelled++;
	tkw__unreserve(t);
	if (to->on_cancel == NULL)
		return tkw__slab_put(&s->slab, to);
	tkw__set_state(to, TKW__ENDING);
	return NULL;
}

/* The same, and drop the lock. */
static void cancel_and_drop(struct tkw_timer *t, struct tkw__shard *s,
			    struct tkw__timeout *to)
{
	bool call;
	void *block;

	/* Its owner knows: see tkw__cancel_silently() of src/patterns. */
	if (to->on_cancel && tkw__thread_local()->silent) {
		to->on_cancel = NULL;
		tkw__thread_local()->silent = false;
	}
	call = to->on_cancel != NULL;
	block = cancel(t, s, to);

	tkw__lock_drop(&s->lock);
	if (call)
		tkw__finish_ending(t, s, to);
	else
		tkw__give_back(t, block);
}

int tkw_timer_cancel(struct tkw_timer *t, uint64_t id)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__timeout *to;
	struct tkw__shard *s;
	int err;

	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	s = lock_shard(t, n);
	if (s == NULL)
		return -ENOENT;
	to = tkw__shard_find(s, n);
	err = decide(to);
	if (err == 0)
		cancel_and_drop(t, s, to);
	else
		tkw__lock_drop(&s->lock);
	return err;
}

/* Drop the lock until something of the shard has ended; take it again. */
static void wait_for_an_end(struct tkw__shard *s)
{
	uint32_t ended = TKW__LOAD(&s->ended, RELAXED);

	s->waiters++;
	tkw__lock_drop(&s->lock);
	tkw__park(&s->ended, ended);
	tkw__lock_take(&s->lock);
	s->waiters--;
}

int tkw_timer_cancel_wait(struct tkw_timer *t, uint64_t id)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__timeout *to;
	struct tkw__shard *s;
	int end = -ENOENT;

	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	s = lock_shard(t, n);
	if (s == NULL)
		return -ENOENT;
	while ((to = tkw__shard_find(s, n)) && decide(to) != 0) {
		if (tkw__frame_inside(t)) {
			end = -EDEADLK;
			break;
		}
		if (tkw__state(to) == TKW__RUNNING)
			end = 1;
		wait_for_an_end(s);
	}
	if (to && end != -EDEADLK) {
		cancel_and_drop(t, s, to);
		return 0;
	}
	tkw__lock_drop(&s->lock);
	return end;
}

/* Give a PENDING timeout its new deadline. Return  as tkw__shard_move(). */
static uint64_t move(struct tkw_timer *t, struct tkw__shard *s,
		     struct tkw__timeout *to, struct due d)
{
	uint64_t slack = tkw__slack(to);

	if (slack > 0)
		d.tick = tkw_tick_with_slack(d.tick, slack);
	to->before = before_of(t, d.deadline_ns, d.tick);
	return tkw__shard_move(s, to, d.tick);
}

static int reschedule(struct tkw_timer *t, uint64_t id, struct due d)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__shard *s = lock_shard(t, n);
	struct tkw__timeout *to;
	uint64_t need = TKW_TICK_NEVER;
	int err;

	if (s == NULL)
		return -ENOENT;
	to = tkw__shard_find(s, n);
	err = decide(to);
	if (err == 0 && s->closed)
		err = -ESHUTDOWN;
	if (err == 0) {
		need = move(t, s, to, d);
		s->rescheduled++;
	}
	tkw__lock_drop(&s->lock);
	tkw__worker_call(t, need);
	return err;
}

int tkw_timer_reschedule(struct tkw_timer *t, uint64_t id, int64_t delay_ns)
{
	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	return reschedule(t, id, due_after(t, tkw__now(t), delay_ns));
}

int tkw_timer_reschedule_at(struct tkw_timer *t, uint64_t id,
			    int64_t deadline_ns)
{
	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	return reschedule(t, id, due_at(t, deadline_ns));
}

/* --- batches -------------------------------------------------------------- */

/* Blocks that are to be given back when the lock is dropped, one in the other.
 */
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

/* What shall be scheduled. now_ns: delays count from there; NULL: these are
 * deadlines. */
struct batch {
	const struct tkw_batch_item *items;
	size_t count;
	const int64_t *now_ns;
};

/* New timeouts for a batch, in a list, each with its tick. Return false if the
 * memory does not suffice: then those that there are must go again. */
static bool make_batch(struct tkw_timer *t, struct tkw__shard *s,
		       const struct batch *b, struct tkw_link *list)
{
	for (size_t i = 0; i < b->count; i++) {
		int64_t when_ns = b->items[i].when_ns;
		struct due d = b->now_ns ? due_after(t, *b->now_ns, when_ns)
					 : due_at(t, when_ns);
		struct tkw__timeout *to =
			new_timeout(t, s, &b->items[i].task, &d);

		if (to == NULL)
			return false;
		to->entry.tick = d.tick;
		tkw__shard_list(list, to);
	}
	return true;
}

/* As if they had never been. */
static void unmake_batch(struct tkw__shard *s, struct tkw_link *list,
			 void **blocks)
{
	while (!tkw__links_empty(list)) {
		struct tkw__timeout *to = first_of(list);

		tkw__links_remove(&to->entry.link);
		s->ledger.accepted--;
		s->ledger.pending--;
		keep_block(blocks, tkw__slab_put(&s->slab, to));
	}
}

/* Put all where they belong. Return  when the worker is needed. */
static uint64_t place_batch(struct tkw__shard *s, struct tkw_link *list,
			    uint64_t *ids)
{
	uint64_t need = TKW_TICK_NEVER;

	while (!tkw__links_empty(list)) {
		struct tkw__timeout *to = first_of(list);

		tkw__links_remove(&to->entry.link);
		need = tkw__min_u64(need,
				    tkw__shard_place(s, to, to->entry.tick));
		if (ids)
			*ids++ = tkw__shard_id(s, to);
	}
	return need;
}

/* Take a batch in, for which there is room. */
static int take_in_batch(struct tkw_timer *t, const struct batch *b,
			 uint64_t *ids)
{
	struct tkw__shard *s = own_shard(t);
	uint64_t need = TKW_TICK_NEVER;
	struct tkw_link list;
	void *blocks = NULL;
	int err = 0;

	tkw__links_init(&list);
	tkw__lock_take(&s->lock);
	if (s->closed) {
		err = -ESHUTDOWN;
	} else if (!make_batch(t, s, b, &list)) {
		unmake_batch(s, &list, &blocks);
		err = -ENOMEM;
	} else {
		need = place_batch(s, &list, ids);
	}
	tkw__lock_drop(&s->lock);
	give_back_all(t, blocks);
	tkw__worker_call(t, need);
	return err;
}

/* What a batch can be refused for before anything is taken. */
static int prepare_batch(struct tkw_timer *t, const struct batch *b)
{
	if (t == NULL || (b->items == NULL && b->count > 0) ||
	    b->count > TKW_BATCH_MAX)
		return -EINVAL;
	for (size_t i = 0; i < b->count; i++) {
		if (b->items[i].task.fn == NULL)
			return -EINVAL;
	}
	if (tkw__is_foreign(t))
		return -EPERM;
	return b->count > 0 ? tkw__ensure_started(t) : 0;
}

static int schedule_batch(struct tkw_timer *t, const struct batch *b,
			  uint64_t *ids)
{
	int err;

	if (!reserve(t, b->count))
		return -EAGAIN;
	err = take_in_batch(t, b, ids);
	if (err != 0)
		unreserve(t, b->count);
	return err;
}

int tkw_timer_schedule_batch(struct tkw_timer *t,
			     const struct tkw_batch_item *items, size_t count,
			     uint64_t *ids)
{
	struct batch b = { .items = items, .count = count };
	int err = prepare_batch(t, &b);
	int64_t now_ns;

	if (err == 0 && count > 0) {
		now_ns = tkw__now(t);
		b.now_ns = &now_ns;
		err = schedule_batch(t, &b, ids);
	}
	return err == 0 ? 0 : refused(t, err);
}

int tkw_timer_schedule_batch_at(struct tkw_timer *t,
				const struct tkw_batch_item *items,
				size_t count, uint64_t *ids)
{
	const struct batch b = { .items = items, .count = count };
	int err = prepare_batch(t, &b);

	if (err == 0 && count > 0)
		err = schedule_batch(t, &b, ids);
	return err == 0 ? 0 : refused(t, err);
}

/* Those of a batch that are in a shard. Return  how many were cancelled. */
static int cancel_in_shard(struct tkw_timer *t, struct tkw__shard *s,
			   const uint64_t *ids, size_t count, int *results)
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
		err = decide(to);
		if (err == 0 && to->on_cancel) {
			cancel(t, s, to);
			tkw__shard_list(&ending, to);
		} else if (err == 0) {
			keep_block(&blocks, cancel(t, s, to));
		}
		cancelled += err == 0;
		if (results)
			results[i] = err;
	}
	tkw__lock_drop(&s->lock);
	give_back_all(t, blocks);
	while (!tkw__links_empty(&ending) && !tkw__is_foreign(t)) {
		struct tkw__timeout *to = first_of(&ending);

		tkw__links_remove(&to->entry.link);
		tkw__finish_ending(t, s, to);
	}
	return cancelled;
}

int tkw_timer_cancel_batch(struct tkw_timer *t, const uint64_t *ids,
			   size_t count, int *results)
{
	uint64_t shards = 0;
	int cancelled = 0;
	int was;

	if (t == NULL || (ids == NULL && count > 0) || count > TKW_BATCH_MAX)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	for (size_t i = 0; i < count; i++) {
		uint32_t shard = tkw__name_of(ids[i]).shard;

		if (shard <= t->shard_mask)
			shards |= UINT64_C(1) << shard;
		else if (results)
			results[i] = -ENOENT;
	}
	/* Were the thread cancelled in between, the rest would never end. */
	was = tkw__thread_no_cancel();
	for (uint32_t i = 0; i <= t->shard_mask && !tkw__is_foreign(t); i++) {
		if (shards >> i & 1)
			cancelled += cancel_in_shard(t, &t->shards[i], ids,
						     count, results);
	}
	tkw__thread_restore_cancel(was);
	/* An on-cancel may have forked, and this be the child. */
	return tkw__is_foreign(t) ? -EPERM : cancelled;
}
