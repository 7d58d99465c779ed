/* SPDX-License-Identifier: MIT */
/*
 * retry.c - a group of tasks, each tried again and again by a repeat.
 *
 * Idea:    The rounds of a repeat are the tries; its adjust hook is the
 *          back-off. That there is one chain, that it ends after a running
 *          round, and that its end is told once, is the repeat's affair.
 *
 * States of a place, under the lock of the group:
 *          FREE -> LIVE    add
 *          LIVE -> ENDING  whoever wins: success, giving up, cancel, stop, or
 *                          the timer's refusal. The winner, and nobody else,
 *                          destroys the repeat.
 *          ENDING -> FREE  on_destroy of the repeat: after the running try
 *
 * Locks:   The lock of the group is held while a repeat is made and started,
 *          never while one is destroyed: that may call back.
 *
 * Memory:  the group stays until its owner and all its tasks have let it go.
 */
#include "tickwheel/retry.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "os/memory.h"
#include "os/sync.h"
#include "os/thread.h"
#include "patterns/inner.h"
#include "tickwheel/repeat.h"

enum {
	DEFAULT_TASKS = 100,
	INDEX_BITS = 20,
	BACKOFF_MAX = 1000 /* percent */
};
#define DEFAULT_DELAY_NS (5 * TKW_SEC)
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

enum place_state {
	FREE = 0,
	LIVE = 1,
	ENDING = 2
};

struct place {
	struct tkw_retries *g;
	/* Under the lock of the group. */
	enum place_state state;
	uint64_t id; /* of its task; when it is free, of the last one */
	struct place *next_free;
	struct tkw_repeat *repeat;
	int how;
	bool trying;
	/* Of who makes the repeat go on. */
	struct tkw_retry task;
	struct tkw__dice dice;
	int64_t next_ns; /* before the next try, without jitter */
	int64_t tries;
	bool first;
};

struct tkw_retries {
	/* Set by create, and read only. */
	struct tkw_retries_config cfg;
	uint32_t forks; /* of the process that made it */
	size_t bytes;

	struct tkw__a32 refs;
	struct tkw__a32 bell;  /* counts up when a task has ended */
	struct tkw__lock lock; /* of what follows */
	bool stopped;
	uint64_t count;
	struct place *free;
	struct tkw__dice dice;
	struct place places[];
};

static void drop_ref(struct tkw_retries *g)
{
	/* ACQ_REL pairs with itself: who frees comes after all others. */
	if (TKW__SUB(&g->refs, 1, ACQ_REL) == 1)
		tkw__memory_free(g, g->bytes);
}

/* --- tries --------------------------------------------------------------- */

/* Under the lock. Return true for the one who is to destroy the repeat. */
static bool begin_ending(struct place *p, int how)
{
	if (p->state != LIVE)
		return false;
	p->state = ENDING;
	p->how = how;
	return true;
}

static void try_once(void *arg, struct tkw_repeat *r)
{
	struct place *p = arg;
	struct tkw_retries *g = p->g;
	uint32_t forks = g->forks;
	bool wanted, won = false;
	int err;

	tkw__lock_take(&g->lock);
	wanted = p->state == LIVE;
	p->trying = wanted;
	tkw__lock_drop(&g->lock);
	if (!wanted)
		return;
	err = p->task.fn(p->task.arg, ++p->tries);
	if (tkw__is_child(forks)) /* where the group may be freed */
		return;
	tkw__lock_take(&g->lock);
	p->trying = false;
	if (err == 0)
		won = begin_ending(p, 0);
	else if (p->tries == g->cfg.tries)
		won = begin_ending(p, -ETIMEDOUT);
	/* Who cancelled it meanwhile has lost against the success. */
	if (err == 0)
		p->how = 0;
	tkw__lock_drop(&g->lock);
	if (won)
		(void)tkw_repeat_destroy(r);
}

static void break_off(void *arg, int err)
{
	struct place *p = arg;
	bool won;

	tkw__lock_take(&p->g->lock);
	won = begin_ending(p, err);
	tkw__lock_drop(&p->g->lock);
	if (won)
		(void)tkw_repeat_destroy(p->repeat);
}

static int64_t grow(const struct tkw_retries_config *cfg, int64_t delay_ns)
{
	int64_t percent = cfg->backoff_percent;
	int64_t next_ns;

	if (percent == 100)
		return delay_ns;
	if (delay_ns > cfg->max_delay_ns / percent * 100)
		return cfg->max_delay_ns;
	next_ns = delay_ns / 100 * percent + delay_ns % 100 * percent / 100;
	return next_ns < cfg->max_delay_ns ? next_ns : cfg->max_delay_ns;
}

/* The delay before the next try. */
static int64_t next_delay(void *arg, int64_t interval_ns)
{
	struct place *p = arg;
	const struct tkw_retries_config *cfg = &p->g->cfg;
	int64_t delay_ns = p->next_ns;
	int64_t part_ns;

	(void)interval_ns;
	if (p->first) {
		p->first = false;
		p->next_ns = cfg->delay_ns;
		return delay_ns;
	}
	p->next_ns = grow(cfg, delay_ns);
	part_ns = delay_ns / 100 * cfg->jitter_percent +
		  delay_ns % 100 * cfg->jitter_percent / 100;
	return delay_ns - tkw__dice_roll(&p->dice, part_ns);
}

/* --- the end of a task --------------------------------------------------- */

/* Under the lock. */
static void free_place(struct place *p)
{
	struct tkw_retries *g = p->g;

	p->state = FREE;
	p->repeat = NULL;
	p->next_free = g->free;
	g->free = p;
}

/* The repeat is destroyed, and no try runs any more. */
static void end_task(void *arg)
{
	struct place *p = arg;
	struct tkw_retries *g = p->g;
	struct tkw__inside inside;
	int how;

	tkw__lock_take(&g->lock);
	if (p->state != ENDING) { /* its add was refused, and sees to it */
		tkw__lock_drop(&g->lock);
		return;
	}
	how = p->how;
	tkw__lock_drop(&g->lock);
	tkw__inside_enter(tkw__thread_local(), &inside, g);
	if (p->task.on_end)
		p->task.on_end(p->task.arg, how);
	tkw__inside_leave(tkw__thread_local(), &inside);
	(void)tkw_repeat_free(p->repeat);
	tkw__lock_take(&g->lock);
	free_place(p);
	g->count--;
	TKW__ADD(&g->bell, 1, RELAXED); /* the lock orders it */
	tkw__lock_drop(&g->lock);
	tkw__unpark_all(&g->bell);
	drop_ref(g);
}

/* --- create -------------------------------------------------------------- */

/* With the defaults filled in. */
static struct tkw_retries_config complete(const struct tkw_retries_config *cfg)
{
	struct tkw_retries_config full = *cfg;

	if (full.delay_ns == 0)
		full.delay_ns = DEFAULT_DELAY_NS;
	if (full.backoff_percent == 0)
		full.backoff_percent = 100;
	if (full.max_delay_ns == 0)
		full.max_delay_ns =
			full.delay_ns < 0 || full.delay_ns > TKW_NEVER_NS / 10
				? TKW_NEVER_NS
				: full.delay_ns * 10;
	if (full.max_tasks == 0)
		full.max_tasks = DEFAULT_TASKS;
	return full;
}

static bool is_sound(const struct tkw_retries_config *cfg)
{
	return (cfg->size == 0 || cfg->size == sizeof(*cfg)) && cfg->timer &&
	       cfg->delay_ns > 0 && cfg->max_delay_ns >= cfg->delay_ns &&
	       cfg->backoff_percent >= 100 &&
	       cfg->backoff_percent <= BACKOFF_MAX &&
	       cfg->jitter_percent >= 0 && cfg->jitter_percent <= 100 &&
	       cfg->max_tasks > 0 && cfg->max_tasks <= 1 << INDEX_BITS;
}

/* All places are free. Their generations begin at random. */
static void make_places(struct tkw_retries *g)
{
	uint64_t first = tkw__random() >> (INDEX_BITS + 1);

	for (size_t i = (size_t)g->cfg.max_tasks; i-- > 0;) {
		struct place *p = &g->places[i];

		memset(p, 0, sizeof(*p));
		p->g = g;
		p->id = first << INDEX_BITS | i;
		p->next_free = g->free;
		g->free = p;
	}
}

int tkw_retries_create(struct tkw_retries **out,
		       const struct tkw_retries_config *cfg)
{
	struct tkw_retries_config full;
	struct tkw_retries *g;
	size_t bytes;

	if (out == NULL || cfg == NULL)
		return -EINVAL;
	full = complete(cfg);
	if (!is_sound(&full))
		return -EINVAL;
	if (tkw__is_childs(full.timer))
		return -EPERM;
	if (tkw__forks_watch() < 0)
		return -ENOMEM;
	bytes = sizeof(*g) + (size_t)full.max_tasks * sizeof(g->places[0]);
	g = tkw__memory_take(bytes, alignof(max_align_t));
	if (g == NULL)
		return -ENOMEM;
	memset(g, 0, sizeof(*g));
	g->cfg = full;
	g->forks = tkw__forks;
	g->bytes = bytes;
	TKW__STORE(&g->refs, 1, RELAXED);
	g->dice = tkw__dice_make(full.seed);
	make_places(g);
	*out = g;
	return 0;
}

/* --- add and cancel ------------------------------------------------------ */

/* Under the lock: a place for a task, with its id. */
static struct place *take_place(struct tkw_retries *g,
				const struct tkw_retry *task, int64_t first_ns)
{
	struct place *p = g->free;

	g->free = p->next_free;
	p->id += UINT64_C(1) << INDEX_BITS;
	if (p->id >> INDEX_BITS == 0) /* it wrapped, and no id is 0 */
		p->id += UINT64_C(1) << INDEX_BITS;
	p->task = *task;
	p->next_ns = first_ns;
	p->first = true;
	p->tries = 0;
	p->dice.state = (uint64_t)tkw__dice_roll(&g->dice, TKW_NEVER_NS);
	return p;
}

/* Under the lock: its first try is armed, or nothing has changed. */
static int start_place(struct place *p)
{
	const struct tkw_repeat_config cfg = { .timer = p->g->cfg.timer,
					       .interval_ns =
						       p->g->cfg.delay_ns,
					       .fn = try_once,
					       .arg = p,
					       .adjust = next_delay,
					       .on_broken = break_off,
					       .on_destroy = end_task,
					       .name = "retry" };
	int err = tkw_repeat_create(&p->repeat, &cfg);

	if (err == 0)
		err = tkw_repeat_start(p->repeat);
	if (err == 0)
		p->state = LIVE;
	return err;
}

/* The place of a task that was refused. */
static void give_back(struct place *p)
{
	struct tkw_retries *g = p->g;
	struct tkw_repeat *r = p->repeat;

	p->repeat = NULL; /* a child of fork() does not free it once more */
	if (r)
		(void)tkw_repeat_free(r);
	tkw__lock_take(&g->lock);
	free_place(p);
	tkw__lock_drop(&g->lock);
}

int tkw_retries_add(struct tkw_retries *g, const struct tkw_retry *task,
		    int64_t first_ns, uint64_t *id)
{
	struct place *p = NULL;
	int err = 0;

	if (g == NULL || task == NULL || task->fn == NULL)
		return -EINVAL;
	if (tkw__is_child(g->forks))
		return -EPERM;
	tkw__lock_take(&g->lock);
	if (g->stopped)
		err = -ESHUTDOWN;
	else if (g->free == NULL)
		err = -EAGAIN;
	if (err == 0) {
		p = take_place(g, task, first_ns);
		err = start_place(p);
	}
	if (err == 0) {
		g->count++;
		TKW__ADD(&g->refs, 1, RELAXED); /* the owner has one */
		if (id)
			*id = p->id;
	}
	tkw__lock_drop(&g->lock);
	if (err < 0 && p)
		give_back(p);
	return err;
}

int tkw_retries_cancel(struct tkw_retries *g, uint64_t id)
{
	struct place *p;
	bool won, trying;

	if (g == NULL)
		return -EINVAL;
	if (tkw__is_child(g->forks))
		return -EPERM;
	if ((id & INDEX_MASK) >= (uint64_t)g->cfg.max_tasks)
		return -ENOENT;
	p = &g->places[id & INDEX_MASK];
	tkw__lock_take(&g->lock);
	won = p->id == id && begin_ending(p, -ECANCELED);
	trying = p->trying;
	tkw__lock_drop(&g->lock);
	if (!won)
		return -ENOENT;
	(void)tkw_repeat_destroy(p->repeat);
	return trying ? 1 : 0;
}

uint64_t tkw_retries_pending(struct tkw_retries *g)
{
	uint64_t count;

	if (g == NULL || tkw__is_child(g->forks))
		return 0;
	tkw__lock_take(&g->lock);
	count = g->count;
	tkw__lock_drop(&g->lock);
	return count;
}

/* --- stop and destroy ---------------------------------------------------- */

int tkw_retries_stop(struct tkw_retries *g)
{
	bool was;

	if (g == NULL)
		return -EINVAL;
	if (tkw__is_child(g->forks))
		return -EPERM;
	tkw__lock_take(&g->lock);
	was = g->stopped;
	g->stopped = true;
	tkw__lock_drop(&g->lock);
	if (was)
		return 1;
	for (int64_t i = 0; i < g->cfg.max_tasks; i++) {
		struct place *p = &g->places[i];
		bool won;

		tkw__lock_take(&g->lock);
		won = begin_ending(p, -ESHUTDOWN);
		tkw__lock_drop(&g->lock);
		if (won)
			(void)tkw_repeat_destroy(p->repeat);
	}
	return 0;
}

static void await_ends(struct tkw_retries *g)
{
	tkw__lock_take(&g->lock);
	while (g->count > 0) {
		uint32_t rung = TKW__LOAD(&g->bell, RELAXED);

		tkw__lock_drop(&g->lock);
		tkw__park(&g->bell, rung);
		tkw__lock_take(&g->lock);
	}
	tkw__lock_drop(&g->lock);
}

/* In a forked child, where the tries are not any more. */
static void free_all(struct tkw_retries *g)
{
	for (int64_t i = 0; i < g->cfg.max_tasks; i++)
		if (g->places[i].repeat)
			(void)tkw_repeat_free(g->places[i].repeat);
	tkw__memory_free(g, g->bytes);
}

int tkw_retries_destroy(struct tkw_retries *g)
{
	if (g == NULL)
		return -EINVAL;
	if (tkw__is_child(g->forks)) {
		free_all(g);
		return 0;
	}
	if (tkw__is_inside(g, g->cfg.timer))
		return -EDEADLK;
	(void)tkw_retries_stop(g);
	await_ends(g);
	drop_ref(g);
	return 0;
}
