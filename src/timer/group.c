/* SPDX-License-Identifier: MIT */
/*
 * group.c - timeouts that are cancelled or pushed back together.
 *
 * Idea:    a group is a list of members. A member stands for a timeout: it
 *          knows the timeout's id and the user's task. The timeout itself has
 *          functions of this file. They take the member out of the list, and
 *          then call those of the user. So timeouts without a group pay
 *          nothing, and the timer alone decides between fire and cancel.
 *
 * Walks:   a call for the whole group moves all members into a list of its own,
 *          handles the first one until none is left, and lets go of the lock
 *          now and then. A member that fires meanwhile takes itself out of
 *          whatever list it is in. Only one thread walks at a time (`walk`),
 *          because another one would not see the members in that list.
 *
 * Locks:   `walk`, then `lock`, then one of the timer. None is held while a
 *          function of the user runs.
 *
 * Busy:    a timeout that the timer does not let us cancel or move has begun to
 *          fire, or to be cancelled by somebody else. Its function is on its
 *          way, and takes the member out.
 *
 * Memory:  members are in blocks of growing size. A group that has become empty
 *          frees its blocks, unless it has only one. The group is counted by
 *          `refs`: one for the owner, one for each member in use. So its lock
 *          is not freed while a thread drops it.
 */
#include "tickwheel/group.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "base/config.h"
#include "base/links.h"
#include "os/bell.h"
#include "os/frame.h"
#include "os/thread.h"
#include "timer/for_patterns.h"
#include "timer/lookup.h"
#include "timer/member.h"

enum {
	FEW = 4, /* members in the group itself */
	FIRST_BLOCK = 16,
	LARGEST_BLOCK = 1024,
	/* Members that a walk handles while it holds the lock. Fewer in the
	 * narrow builds of the tests, which have small blocks. */
	BATCH = TKW__BLOCK_BITS < 8 ? 2 : 128
};

struct block {
	struct block *next;
	size_t count;
	struct tkw__member members[];
};

struct tkw_group {
	struct tkw__lock walk;
	/* Everything below is under this lock, except what never changes. */
	struct tkw__lock lock;
	struct tkw_timer *timer; /* never changes */
	uint64_t max_pending;    /* the same; 0 if there is no limit */
	struct tkw__a32 refs;    /* see Memory */
	bool ended;
	struct tkw_link members; /* those whose timeouts are pending */
	uint64_t pending;
	uint64_t used;          /* members that are not free */
	struct tkw__bell empty; /* rings when no member is used */
	struct tkw_link *free;  /* free members, linked by `next` */
	struct block *blocks;   /* the largest one first */
	struct tkw__member few[FEW];
};

/* --- memory --------------------------------------------------------------- */

static struct tkw__member *member_of(struct tkw_link *l)
{
	return (struct tkw__member *)(void *)l; /* the link comes first */
}

static size_t bytes_of(size_t count)
{
	return sizeof(struct block) + count * sizeof(struct tkw__member);
}

static void put_member(struct tkw_group *g, struct tkw__member *m)
{
	m->link.next = g->free;
	g->free = &m->link;
}

static void put_few(struct tkw_group *g)
{
	g->free = NULL;
	for (size_t i = 0; i < FEW; i++)
		put_member(g, &g->few[i]);
}

/* Makes more members. The lock is held. */
static bool grow(struct tkw_group *g)
{
	const struct tkw_timer_hooks *hooks = &g->timer->hooks;
	size_t count = g->blocks ? 2 * g->blocks->count : FIRST_BLOCK;
	struct block *b;

	if (count > LARGEST_BLOCK)
		count = LARGEST_BLOCK;
	b = hooks->alloc(bytes_of(count), _Alignof(struct block), hooks->ctx);
	if (b == NULL)
		return false;
	b->count = count;
	b->next = g->blocks;
	g->blocks = b;
	for (size_t i = 0; i < count; i++)
		put_member(g, &b->members[i]);
	return true;
}

static void free_blocks(struct tkw_timer *t, struct block *b)
{
	while (b) {
		struct block *next = b->next;

		t->hooks.free(b, bytes_of(b->count), t->hooks.ctx);
		b = next;
	}
}

static void free_group(struct tkw_group *g)
{
	free_blocks(g->timer, g->blocks);
	g->timer->hooks.free(g, sizeof(*g), g->timer->hooks.ctx);
}

static void drop_refs(struct tkw_group *g, uint32_t count)
{
	if (TKW__SUB(&g->refs, count, ACQ_REL) == count)
		free_group(g);
}

/* Frees the members of a list, and lets go of the group. No lock is held. */
static void put_members(struct tkw_group *g, struct tkw_link *list)
{
	struct block *blocks = NULL;
	uint32_t count = 0;

	tkw__lock_take(&g->lock);
	while (!tkw__links_empty(list)) {
		struct tkw_link *first = list->next;

		tkw__links_remove(first);
		put_member(g, member_of(first));
		count++;
	}
	g->used -= count;
	if (g->used == 0 && g->blocks && g->blocks->next) {
		blocks = g->blocks;
		g->blocks = NULL;
		put_few(g);
	}
	if (g->used == 0)
		tkw__bell_ring_and_drop(&g->empty, &g->lock);
	else
		tkw__lock_drop(&g->lock);
	free_blocks(g->timer, blocks);
	drop_refs(g, count);
}

static void put_one(struct tkw__member *m)
{
	struct tkw_link list;

	tkw__links_init(&list);
	tkw__links_append(&list, &m->link);
	put_members(m->group, &list);
}

/* --- members -------------------------------------------------------------- */

/* Takes a member out of the group, because its timeout has ended. It belongs to
 * the caller then. */
static void leave(struct tkw__member *m)
{
	struct tkw_group *g = m->group;

	/* This is often the timer's worker, for which others wait. */
	tkw__lock_take_first(&g->lock);
	tkw__links_remove(&m->link);
	g->pending--;
	tkw__lock_drop(&g->lock);
}

/* Gives the user's task to the timeout itself, so that the member can be freed
 * while the timeout is known. */
static void reveal(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__shard *s = tkw__lock_shard(t, n);
	struct tkw__timeout *to = tkw__shard_find(s, n);
	struct tkw_task task;

	assert(to != NULL && tkw__state(to) == TKW__RUNNING);
	task = tkw__task_of(to);
	to->fn = task.fn;
	to->ctx = task.ctx;
	to->on_cancel = task.on_cancel;
	tkw__lock_drop(&s->lock);
}

void tkw__group_fire(const struct tkw_firing *firing, void *ctx)
{
	struct tkw__member *m = ctx;

	leave(m);
	reveal(firing->timer, firing->id);
	m->fn(firing, m->ctx);
	put_one(m);
}

/* The on-cancel of each timeout in a group. */
static void lose(void *ctx)
{
	struct tkw__member *m = ctx;

	leave(m);
	if (m->on_cancel)
		m->on_cancel(m->ctx);
	put_one(m);
}

/* What to schedule, and how: with the delay or with the deadline. */
struct wish {
	const struct tkw_task *task;
	int64_t when_ns;
	bool is_delay;
};

/* Schedules the timeout of a member that is not in use yet. The lock is
 * held. */
static int schedule(struct tkw_group *g, struct tkw__member *m,
		    const struct wish *w)
{
	const struct tkw_task task = { .fn = tkw__group_fire,
				       .ctx = m,
				       .on_cancel = lose,
				       .slack_ns = w->task->slack_ns };

	m->group = g;
	m->fn = w->task->fn;
	m->ctx = w->task->ctx;
	m->on_cancel = w->task->on_cancel;
	if (w->is_delay)
		return tkw_timer_schedule(g->timer, &task, w->when_ns, &m->id);
	return tkw_timer_schedule_at(g->timer, &task, w->when_ns, &m->id);
}

/* The lock is held. */
static int join(struct tkw_group *g, const struct wish *w,
		struct tkw_timeout_id *id)
{
	struct tkw__member *m;
	int err;

	if (g->ended)
		return -ESHUTDOWN;
	if (g->max_pending > 0 && g->pending >= g->max_pending)
		return -EAGAIN;
	if (g->free == NULL && !grow(g))
		return -ENOMEM;
	m = member_of(g->free);
	err = schedule(g, m, w);
	if (err != 0)
		return err;
	g->free = m->link.next;
	tkw__links_append(&g->members, &m->link);
	g->pending++;
	g->used++;
	TKW__ADD(&g->refs, 1, RELAXED); /* not the first reference */
	if (id)
		*id = m->id;
	return 0;
}

static int usable(const struct tkw_group *g)
{
	return g == NULL ? -EINVAL : tkw__usable(g->timer);
}

static int schedule_in(struct tkw_group *g, const struct wish *w,
		       struct tkw_timeout_id *id)
{
	int err = w->task && w->task->fn ? usable(g) : -EINVAL;

	if (err != 0)
		return err;
	tkw__lock_take(&g->lock);
	err = join(g, w, id);
	tkw__lock_drop(&g->lock);
	return err;
}

int tkw_group_schedule(struct tkw_group *g, const struct tkw_task *task,
		       int64_t delay_ns, struct tkw_timeout_id *id)
{
	const struct wish w = { task, delay_ns, true };

	return schedule_in(g, &w, id);
}

int tkw_group_schedule_at(struct tkw_group *g, const struct tkw_task *task,
			  int64_t deadline_ns, struct tkw_timeout_id *id)
{
	const struct wish w = { task, deadline_ns, false };

	return schedule_in(g, &w, id);
}

/* --- the whole group ------------------------------------------------------ */

/* Moves all links of a list to the end of another one. */
static void move_all(struct tkw_link *from, struct tkw_link *to)
{
	struct tkw_link *first = from->next;
	struct tkw_link *last = from->prev;

	if (tkw__links_empty(from))
		return;
	tkw__links_init(from);
	first->prev = to->prev;
	last->next = to;
	to->prev->next = first;
	to->prev = last;
}

/* Begins a walk: takes both locks, and moves all members to a list. */
static void begin_walk(struct tkw_group *g, struct tkw_link *todo)
{
	tkw__links_init(todo);
	tkw__lock_take(&g->walk);
	tkw__lock_take(&g->lock);
	move_all(&g->members, todo);
}

/* Called for each member of a walk. Lets others have the lock now and then: one
 * that waits like all, and one that goes first, which a drop lets in. */
static void step(struct tkw_group *g, uint32_t *steps)
{
	if (++*steps % BATCH != 0)
		return;
	tkw__lock_let_in(&g->lock);
	tkw__lock_drop(&g->lock);
	tkw__lock_take(&g->lock);
}

static void end_walk(struct tkw_group *g, struct tkw_link *todo)
{
	move_all(todo, &g->members);
	tkw__lock_drop(&g->lock);
	tkw__lock_drop(&g->walk);
}

/* Cancels all timeouts of a group, and moves their members to a list. */
static uint64_t cancel_all(struct tkw_group *g, bool end, struct tkw_link *list)
{
	uint64_t cancelled = 0;
	uint32_t steps = 0;
	struct tkw_link todo;

	begin_walk(g, &todo);
	if (end)
		g->ended = true;
	while (!tkw__links_empty(&todo)) {
		struct tkw__member *m = member_of(todo.next);

		tkw__links_remove(&m->link);
		if (tkw__timer_cancel_own(g->timer, m->id) == 0) {
			tkw__links_append(list, &m->link);
			g->pending--;
			cancelled++;
		} else {
			tkw__links_append(&g->members, &m->link);
		}
		step(g, &steps);
	}
	end_walk(g, &todo);
	return cancelled;
}

/* Calls the on-cancel of each member of a list. */
static void tell_all(struct tkw_group *g, const struct tkw_link *list)
{
	struct tkw__frame frame;

	tkw__frame_enter(&frame, g->timer);
	for (struct tkw_link *l = list->next; l != list; l = l->next) {
		const struct tkw__member *m = member_of(l);

		if (m->on_cancel)
			m->on_cancel(m->ctx);
	}
	tkw__frame_leave(&frame);
}

/* Cancels all timeouts. Returns how many. */
static int cancel_and_tell(struct tkw_group *g, bool end)
{
	struct tkw_link list;
	uint64_t cancelled;
	int was;

	tkw__links_init(&list);
	/* If the thread were cancelled in a callback, the rest would not be
	 * told. */
	was = tkw__thread_no_cancel();
	cancelled = cancel_all(g, end, &list);
	if (cancelled > 0) {
		tell_all(g, &list);
		put_members(g, &list);
	}
	tkw__thread_restore_cancel(was);
	return (int)tkw__min_u64(cancelled, INT_MAX);
}

int tkw_group_cancel(struct tkw_group *g)
{
	int err = usable(g);

	return err != 0 ? err : cancel_and_tell(g, false);
}

int tkw_group_shutdown(struct tkw_group *g)
{
	int err = usable(g);

	if (err == 0)
		(void)cancel_and_tell(g, true);
	return err;
}

/* How a walk moves a timeout. */
typedef int move_fn(struct tkw_timer *t, struct tkw_timeout_id id, int64_t ns);

/* Returns how many timeouts were moved, or an error. */
static int move_timeouts(struct tkw_group *g, move_fn *move, int64_t ns)
{
	struct tkw_link todo;
	uint32_t steps = 0;
	uint64_t moved = 0;
	int err = 0;

	begin_walk(g, &todo);
	while (!tkw__links_empty(&todo) && err == 0) {
		struct tkw__member *m = member_of(todo.next);

		tkw__links_remove(&m->link);
		tkw__links_append(&g->members, &m->link);
		err = move(g->timer, m->id, ns);
		moved += err == 0;
		if (err == -EBUSY || err == -ENOENT)
			err = 0; /* it is on its way out of the group */
		step(g, &steps);
	}
	end_walk(g, &todo);
	return err != 0 ? err : (int)tkw__min_u64(moved, INT_MAX);
}

int tkw_group_reschedule(struct tkw_group *g, int64_t delay_ns)
{
	int err = usable(g);

	if (err != 0)
		return err;
	if (delay_ns <= 0)
		return move_timeouts(g, tkw_timer_reschedule, delay_ns);
	return move_timeouts(g, tkw_timer_reschedule_at,
			     tkw__ns_add(tkw__now(g->timer), delay_ns));
}

int tkw_group_extend(struct tkw_group *g, int64_t by_ns)
{
	int err = by_ns >= 0 ? usable(g) : -EINVAL;

	return err != 0 ? err : move_timeouts(g, tkw__timer_extend, by_ns);
}

uint64_t tkw_group_count(struct tkw_group *g)
{
	uint64_t pending;

	if (usable(g) != 0)
		return 0;
	tkw__lock_take(&g->lock);
	pending = g->pending;
	tkw__lock_drop(&g->lock);
	return pending;
}

/* --- create and destroy --------------------------------------------------- */

int tkw_group_create(struct tkw_group **out, const struct tkw_group_config *cfg)
{
	struct tkw_group_config c;
	struct tkw_group *g;
	int err;

	if (out == NULL || cfg == NULL ||
	    tkw__config_read(
		    &c, sizeof(c), cfg,
		    TKW__END_OF(struct tkw_group_config, max_pending)) != 0)
		return -EINVAL;
	err = tkw__usable(c.timer);
	if (err != 0)
		return err;
	g = c.timer->hooks.alloc(sizeof(*g), _Alignof(struct tkw_group),
				 c.timer->hooks.ctx);
	if (g == NULL)
		return -ENOMEM;
	*g = (struct tkw_group){
		.timer = c.timer,
		.max_pending = c.max_pending > 0 ? (uint64_t)c.max_pending : 0,
	};
	TKW__STORE(&g->refs, 1, RELAXED);
	tkw__links_init(&g->members);
	put_few(g);
	*out = g;
	return 0;
}

int tkw_group_destroy(struct tkw_group *g)
{
	if (g == NULL)
		return 0;
	if (tkw__timer_is_child(g->timer)) {
		free_group(g);
		return 0;
	}
	(void)tkw_group_shutdown(g);
	/* A callback must not wait: two callbacks that destroy each other's
	 * group would wait for each other. */
	if (!tkw__frame_inside_set() && !tkw__frame_inside(g->timer)) {
		tkw__lock_take(&g->lock);
		while (g->used > 0)
			tkw__bell_wait(&g->empty, &g->lock);
		tkw__lock_drop(&g->lock);
	}
	drop_refs(g, 1);
	return 0;
}
