/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_mutex_wheel_malloc.c - one mutex around our own wheel, as
 * mutex_wheel. But each timeout gets its entry from malloc() when it is
 * scheduled, and gives it back when it is cancelled or fires. It shows what it
 * costs to bring the memory.
 */
#include "rival_wheel.h"

#include <stdlib.h>

/* gcc's analyzer does not see that a handle, in pages that it knows nothing of,
 * keeps the entry until it is cancelled or fires. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
	HAS_DEADLINES = 1,
	SLOTS_ARE_CALLERS = 1
};

/* A timeout. */
struct node {
	struct tkw_entry entry; /* the first member, so it can be cast back */
	size_t slot;
};

/* What the caller keeps of a timeout. */
struct handle {
	struct node *node; /* valid while the timeout is pending */
};

static struct {
	struct rival_wheel wheel;
	struct handle *handles;
	size_t bytes;
} timer;

static void fired(size_t i);

static void on_expire(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct node *node = (struct node *)e;
	size_t slot = node->slot;

	(void)w;
	(void)ctx;
	free(node);
	fired(slot);
}

static void *work(void *arg)
{
	rival_wheel_work(&timer.wheel, on_expire);
	return arg;
}

static void timer_open(const struct rival_load *l)
{
	rival_wheel_open(&timer.wheel, l->tick_ns, work);
}

static void timer_stop(void)
{
	struct tkw_wheel *w = timer.wheel.wheel;
	struct tkw_entry *next;

	rival_sleeper_stop(&timer.wheel.sleeper);
	for (struct tkw_entry *e = tkw_wheel_first(w); e; e = next) {
		next = tkw_wheel_after(w, e);
		(void)tkw_wheel_remove(w, e);
		free(e);
	}
	(void)tkw_wheel_fini(w);
}

static void timer_close(void)
{
	rival_wheel_close(&timer.wheel);
}

static const char *slots_open(size_t n)
{
	timer.bytes = n * sizeof(*timer.handles);
	timer.handles = rival_pages_get(timer.bytes);
	return NULL;
}

static void slots_close(void)
{
	rival_pages_put(timer.handles, timer.bytes);
}

static inline struct node *make_node(size_t slot)
{
	struct node *node = malloc(sizeof(*node));

	if (node)
		*node = (struct node){ .slot = slot };
	else
		rival_die("out of memory");
	return node;
}

/* Nobody else uses the slot, because it is not pending. */
static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	struct node *node = make_node(i);

	(void)delay_ns;
	timer.handles[i].node = node;
	return rival_wheel_add(&timer.wheel, &node->entry, deadline_ns);
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	return op_schedule_at(i, rival_now() + delay_ns, delay_ns);
}

static inline bool op_cancel(size_t i)
{
	struct node *node = timer.handles[i].node;
	bool pending = rival_wheel_remove(&timer.wheel, &node->entry);

	free(node);
	return pending;
}

static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	return rival_wheel_extend(&timer.wheel, &timer.handles[i].node->entry,
				  rival_now() + delay_ns);
}

/* The lock is held. Leaves the slot alone, because the thread that scheduled it
 * first may still be writing it. No row cancels a timeout that was re-armed. */
static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	struct node *node = make_node(i);

	return tkw_wheel_add(timer.wheel.wheel, &node->entry,
			     rival_wheel_tick(&timer.wheel,
					      rival_now() + delay_ns)) == 0;
}

#include "timer_loops.h"

static void run(const struct rival_load *l, struct rival_answer *a)
{
	switch (l->kind) {
	case RIVAL_SCHEDULE:
	case RIVAL_PAIR:
	case RIVAL_CHURN:
	case RIVAL_CROSS_CANCEL:
	case RIVAL_FIRE:
	case RIVAL_MEMORY:
		run_load(l, a);
		break;
	default:
		a->skip = "mutex_wheel stands for it";
	}
}

const struct entrant entrant_mutex_wheel_malloc = {
	.name = "mutex_wheel_malloc",
	.run = run,
};
