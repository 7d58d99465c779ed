/* SPDX-License-Identifier: MIT */
/*
 * retry.c - a set of tasks, each tried again and again by a repeat.
 *
 * Idea:    the rounds of a repeat are the tries. The repeat takes care that
 *          there is one chain, that it ends after a running round, and that its
 *          end is told once. A task has one timeout, the pending round.
 *          `due_ns` says when it is due, and the phase says what for. A thread
 *          that changes due_ns from outside restarts the repeat, which then
 *          asks how long that is from now. A round that had begun before is too
 *          early: it does nothing, and the repeat asks again.
 *
 * States of a record, under the lock of the set:
 *          0 -> LIVE       add
 *          LIVE -> ENDING  by the winner: success, the last failure, cancel,
 *                          shutdown, or the timer's refusal. The winner shuts
 *                          the repeat down, unless a round does so first.
 *          ENDING -> 0     the repeat has ended, after a running try, and the
 *                          last holder has let go of the task
 *
 * Phases of a task:
 *          WAITING -> TRYING   the round of the next try
 *          TRYING -> ANSWERED  its failure is answered before it returns
 *          TRYING -> AWAITED   it returns TKW_TRY_LATER
 *          any -> WAITING      it has failed; if AWAITED, by its answer or
 *                              by the round of its timeout
 *
 * Holds:   a thread that calls the repeat from outside of its callbacks holds
 *          the task meanwhile. The repeat itself is one holder, until its
 *          on_end has told the end. The last holder to let go destroys the
 *          repeat.
 *
 * Locks:   the lock of the set is held while a repeat is made and started, so
 *          that add has written the id before a try begins. It is not held
 *          while a repeat is restarted or shut down, because that may call
 *          back.
 *
 * Memory:  the set stays until its owner and all its tasks have let it go.
 */
#include "tickwheel/retry.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "base/config.h"
#include "base/ns.h"
#include "os/bell.h"
#include "os/dice.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/id_table.h"
#include "os/memory.h"
#include "os/sync.h"
#include "tickwheel/repeat.h"
#include "timer/for_patterns.h"

enum {
	DEFAULT_TASKS = 100,
	TASKS_MAX = 1 << 20,
	BACKOFF_MAX = 1000 /* percent */
};
#define DEFAULT_DELAY_NS (5 * TKW_SEC)
#define CONFIG_OLDEST TKW__END_OF(struct tkw_retries_config, max_tasks)

/* States of a record. 0 is free. */
enum {
	LIVE = 1,
	ENDING = 2
};

enum phase {
	WAITING = 0,
	AWAITED = 1,
	TRYING = 2,
	ANSWERED = 3
};

struct task {
	struct tkw__record record;
	struct tkw_retries *rs;
	/* Written under the lock of the set. The repeat reads it without the
	 * lock. */
	struct tkw__a64 due_ns;
	/* Under the lock of the set. */
	struct tkw_repeat *repeat; /* set while there is a holder */
	uint32_t holds;
	enum phase phase;
	int status;
	int64_t tries;
	int64_t delay_ns; /* delay after the next failure, without jitter */
	struct tkw__dice dice;
	struct tkw_retry retry;
};

struct tkw_retries {
	/* Set by create; only read afterwards. */
	struct tkw_retries_config cfg;
	uint32_t epoch; /* the process that made the set; see fork.h */

	struct tkw__a32 refs;
	struct tkw__lock lock; /* for the fields below */
	struct tkw__bell bell; /* rings when a task has ended */
	bool ended;
	uint64_t count;
	struct tkw__dice dice;
	struct tkw__table table;
};

static void drop_ref(struct tkw_retries *rs)
{
	/* ACQ_REL pairs with itself, so that the thread that frees comes after
	 * all others. */
	if (TKW__SUB(&rs->refs, 1, ACQ_REL) == 1) {
		tkw__table_fini(&rs->table);
		tkw__memory_free(rs, sizeof(*rs));
	}
}

/* Returns NULL for NULL. */
static struct task *task_of(struct tkw__record *record)
{
	return (struct task *)(void *)record;
}

static struct tkw_retry_id id_of(const struct task *t)
{
	return (struct tkw_retry_id){ tkw__record_id(&t->record, 0) };
}

static bool is_live(const struct task *t)
{
	return tkw__record_state(&t->record) == LIVE;
}

/* Is its function running now? */
static bool is_trying(const struct task *t)
{
	return t->phase == TRYING || t->phase == ANSWERED;
}

static int64_t due_of(const struct task *t)
{
	/* RELAXED is enough, because the repeat's lock orders it: see
	 * time_left(). */
	return (int64_t)TKW__LOAD(&t->due_ns, RELAXED);
}

/* Makes the task due delay_ns after from_ns. The lock is held. */
static void set_due(struct task *t, int64_t from_ns, int64_t delay_ns)
{
	TKW__STORE(&t->due_ns, (uint64_t)tkw__ns_add(from_ns, delay_ns),
		   RELAXED);
}

static int64_t now_of(const struct task *t)
{
	return tkw_timer_now_ns(t->rs->cfg.timer);
}

/* --- the end of a task --------------------------------------------------- */

/* Begins the end of a task. The lock is held. Returns true for the winner, who
 * must shut the repeat down. */
static bool begin_ending(struct task *t, int status)
{
	if (!is_live(t))
		return false;
	tkw__record_set_state(&t->record, ENDING);
	t->status = status;
	return true;
}

/* Lets a task go. The last holder frees its record. */
static void release(struct task *t)
{
	struct tkw_retries *rs = t->rs;
	struct tkw_repeat *r;

	tkw__lock_take(&rs->lock);
	if (--t->holds > 0) {
		tkw__lock_drop(&rs->lock);
		return;
	}
	r = t->repeat;
	t->repeat = NULL; /* so that a forked child does not free it twice */
	tkw__table_put(&rs->table, &t->record);
	rs->count--;
	tkw__bell_ring_and_drop(&rs->bell, &rs->lock);
	(void)tkw_repeat_destroy(r);
	drop_ref(rs);
}

/* Called by the winner of the end, who holds the task. */
static void shut_down(struct task *t)
{
	(void)tkw_repeat_shutdown(t->repeat);
	release(t);
}

/* The on_end of the repeat: no try runs any more. */
static void end_task(struct tkw_repeat *r, void *ctx)
{
	struct task *t = ctx;
	struct tkw_retries *rs = t->rs;
	struct tkw_retry_end end;
	struct tkw__frame frame;
	bool added;

	(void)r;
	tkw__lock_take(&rs->lock);
	added = tkw__record_state(&t->record) == ENDING;
	end = (struct tkw_retry_end){ id_of(t), t->status, t->tries };
	tkw__lock_drop(&rs->lock);
	if (!added) /* its add was refused, and cleans up */
		return;
	if (t->retry.on_end) {
		tkw__frame_enter_set(&frame, rs);
		t->retry.on_end(&end, t->retry.ctx);
		tkw__frame_leave(&frame);
	}
	release(t);
}

/* --- tries --------------------------------------------------------------- */

static int64_t grow(const struct tkw_retries_config *cfg, int64_t delay_ns)
{
	int64_t next_ns = tkw__ns_percent(delay_ns, cfg->backoff_percent);

	if (cfg->backoff_percent > 100 && next_ns <= delay_ns)
		next_ns = tkw__ns_add(delay_ns, 1);
	return next_ns < cfg->max_delay_ns ? next_ns : cfg->max_delay_ns;
}

/* The delay after a failure. The lock is held. */
static int64_t next_delay(struct task *t)
{
	const struct tkw_retries_config *cfg = &t->rs->cfg;
	int64_t delay_ns = t->delay_ns;
	int64_t part_ns = tkw__ns_percent(delay_ns, cfg->jitter_percent);

	t->delay_ns = grow(cfg, delay_ns);
	return delay_ns - tkw__dice_roll(&t->dice, part_ns);
}

/* Called when a try has failed. The lock is held. Returns what begin_ending()
 * returns. */
static bool fail(struct task *t)
{
	t->phase = WAITING;
	if (t->tries == t->rs->cfg.max_tries)
		return begin_ending(t, -ETIMEDOUT);
	set_due(t, now_of(t), next_delay(t));
	return false;
}

/* Called when a try has succeeded, and the end was not told yet. A success
 * replaces the status of an earlier winner. The lock is held. Returns what
 * begin_ending() returns. */
static bool succeed(struct task *t)
{
	bool won = begin_ending(t, 0);

	t->status = 0;
	return won;
}

/* Makes one try. The lock is held, but not during the call. */
static void try_once(struct task *t)
{
	struct tkw_retries *rs = t->rs;
	int64_t timeout_ns = rs->cfg.try_timeout_ns;
	int64_t begin_ns = now_of(t);
	const struct tkw_try attempt = { rs, id_of(t), ++t->tries };
	int result;

	t->phase = TRYING;
	tkw__lock_drop(&rs->lock);
	result = t->retry.fn(&attempt, t->retry.ctx);
	tkw__lock_take(&rs->lock);
	if (result == TKW_TRY_LATER && t->phase == TRYING) {
		t->phase = AWAITED;
		set_due(t, begin_ns,
			timeout_ns > 0 ? timeout_ns : TKW_NEVER_NS);
		return;
	}
	t->phase = WAITING;
	if (result == 0)
		(void)succeed(t);
	else
		(void)fail(t);
}

/* A round of the repeat: makes a try, or fails one whose answer has not come in
 * time. */
static void come_round(struct tkw_repeat *r, void *ctx)
{
	struct task *t = ctx;
	struct tkw_retries *rs = t->rs;
	bool over;

	tkw__lock_take(&rs->lock);
	if (is_live(t) && now_of(t) >= due_of(t)) {
		if (t->phase == AWAITED)
			(void)fail(t);
		else
			try_once(t);
	}
	over = !is_live(t);
	tkw__lock_drop(&rs->lock);
	/* The winner may be a thread that has yet to shut the repeat down. Do
	 * not wait for it, because rounds without a delay would follow each
	 * other meanwhile. */
	if (over)
		(void)tkw_repeat_shutdown(r);
}

/*
 * The adjust of the repeat: how long until the next round. It does not take the
 * lock, because add holds it when it starts the repeat. A thread that sets
 * due_ns restarts the repeat afterwards, or is in a round of it, so the last
 * call sees the new value.
 */
static int64_t time_left(struct tkw_repeat *r, int64_t interval_ns, void *ctx)
{
	struct task *t = ctx;
	int64_t due_ns = due_of(t);

	(void)r;
	(void)interval_ns;
	if (due_ns == TKW_NEVER_NS)
		return TKW_NEVER_NS;
	return due_ns - now_of(t);
}

/* The on_broken of the repeat. */
static void break_off(struct tkw_repeat *r, int err, void *ctx)
{
	struct task *t = ctx;
	bool won;

	tkw__lock_take(&t->rs->lock);
	won = begin_ending(t, err);
	tkw__lock_drop(&t->rs->lock);
	if (won)
		(void)tkw_repeat_shutdown(r);
}

/* --- create -------------------------------------------------------------- */

static bool has_negative_time(const struct tkw_retries_config *cfg)
{
	return cfg->delay_ns < 0 || cfg->max_delay_ns < 0 ||
	       cfg->try_timeout_ns < 0;
}

static void fill_in_defaults(struct tkw_retries_config *cfg)
{
	if (cfg->delay_ns == 0)
		cfg->delay_ns = DEFAULT_DELAY_NS;
	if (cfg->backoff_percent == 0)
		cfg->backoff_percent = 100;
	if (cfg->max_delay_ns == 0)
		cfg->max_delay_ns = tkw__ns_percent(cfg->delay_ns, 10 * 100);
	if (cfg->max_tasks == 0)
		cfg->max_tasks = DEFAULT_TASKS;
}

static bool is_in_range(const struct tkw_retries_config *cfg)
{
	return cfg->max_delay_ns >= cfg->delay_ns &&
	       cfg->backoff_percent >= 100 &&
	       cfg->backoff_percent <= BACKOFF_MAX &&
	       cfg->jitter_percent >= 0 && cfg->jitter_percent <= 100 &&
	       cfg->max_tasks > 0 && cfg->max_tasks <= TASKS_MAX;
}

static int read_config(struct tkw_retries_config *to,
		       const struct tkw_retries_config *cfg)
{
	int err = tkw__config_read(to, sizeof(*to), cfg, CONFIG_OLDEST);

	if (err < 0 || to->timer == NULL || has_negative_time(to))
		return -EINVAL;
	fill_in_defaults(to);
	return is_in_range(to) ? 0 : -EINVAL;
}

int tkw_retries_create(struct tkw_retries **out,
		       const struct tkw_retries_config *cfg)
{
	struct tkw_retries_config full = { 0 };
	struct tkw_retries *rs;
	uint32_t epoch;

	if (out == NULL || read_config(&full, cfg) < 0)
		return -EINVAL;
	if (tkw__timer_is_child(full.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) < 0)
		return -ENOMEM;
	rs = tkw__memory_take(sizeof(*rs), alignof(max_align_t));
	if (rs == NULL)
		return -ENOMEM;
	memset(rs, 0, sizeof(*rs));
	rs->cfg = full;
	rs->epoch = epoch;
	TKW__STORE(&rs->refs, 1, RELAXED);
	rs->dice = tkw__dice_make(full.seed);
	/* More records than tasks, because some may have used up their
	 * generations. */
	tkw__table_init(&rs->table, sizeof(struct task), alignof(struct task),
			TKW__RECORDS_MAX);
	*out = rs;
	return 0;
}

/* --- add ----------------------------------------------------------------- */

/* Makes a record for a task, which is not LIVE yet. The lock is held. */
static int make_task(struct tkw_retries *rs, const struct tkw_retry *retry,
		     int64_t first_ns, struct task **out)
{
	struct tkw__record *record;
	struct task *t;
	int err;

	if (rs->ended)
		return -ESHUTDOWN;
	if (rs->count == (uint64_t)rs->cfg.max_tasks)
		return -EAGAIN;
	err = tkw__table_take(&rs->table, &record);
	if (err < 0)
		return err;
	t = task_of(record);
	t->rs = rs;
	t->repeat = NULL;
	t->holds = 1;
	t->phase = WAITING;
	t->tries = 0;
	t->delay_ns = rs->cfg.delay_ns;
	t->dice = (struct tkw__dice){ (uint64_t)tkw__dice_roll(&rs->dice,
							       TKW_NEVER_NS) };
	t->retry = *retry;
	set_due(t, now_of(t), first_ns > 0 ? first_ns : 0);
	*out = t;
	return 0;
}

/* Makes the first try pending. If that fails, nothing has changed. The lock is
 * held. */
static int start_task(struct task *t)
{
	const struct tkw_repeat_config cfg = { .timer = t->rs->cfg.timer,
					       .interval_ns =
						       t->rs->cfg.delay_ns,
					       .fn = come_round,
					       .adjust = time_left,
					       .on_broken = break_off,
					       .on_end = end_task,
					       .ctx = t,
					       .name = "retry" };
	int err = tkw_repeat_create(&t->repeat, &cfg);

	if (err == 0)
		err = tkw_repeat_start(t->repeat);
	if (err < 0)
		return err;
	tkw__record_set_state(&t->record, LIVE);
	t->rs->count++;
	/* Not the first reference: the owner has one. */
	TKW__ADD(&t->rs->refs, 1, RELAXED);
	return 0;
}

/* Gives back the record of a task that was refused. */
static void give_back(struct task *t)
{
	struct tkw_retries *rs = t->rs;
	struct tkw_repeat *r = t->repeat;

	t->repeat = NULL; /* so that a forked child does not free it twice */
	(void)tkw_repeat_destroy(r);
	tkw__lock_take(&rs->lock);
	tkw__table_untake(&rs->table, &t->record);
	tkw__lock_drop(&rs->lock);
}

int tkw_retries_add(struct tkw_retries *rs, const struct tkw_retry *task,
		    int64_t first_ns, struct tkw_retry_id *id)
{
	struct task *t = NULL;
	int err;

	if (rs == NULL || task == NULL || task->fn == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	tkw__lock_take(&rs->lock);
	err = make_task(rs, task, first_ns, &t);
	if (err == 0)
		err = start_task(t);
	if (err == 0 && id)
		*id = id_of(t);
	tkw__lock_drop(&rs->lock);
	if (err < 0 && t)
		give_back(t);
	return err;
}

/* --- answers and cancels ------------------------------------------------- */

/* The task that an id names, or NULL. The lock is held. */
static struct task *find(const struct tkw_retries *rs, struct tkw_retry_id id)
{
	if (tkw__id_part(id.bits) != 0)
		return NULL;
	return task_of(tkw__table_find(&rs->table, id.bits));
}

/* What an answer did to a task. */
enum effect {
	NONE = 0,
	MOVED = 1, /* the repeat has to be restarted */
	ENDED = 2  /* the repeat has to be shut down */
};

/* Takes an answer. The lock is held. Returns an effect, or -ENOENT. */
static int take_answer(struct task *t, int64_t number, int result)
{
	if (number < 1 || number > t->tries)
		return -ENOENT;
	/* A task that is ending takes no answer, except that a running try may
	 * still succeed. */
	if (!is_live(t) && (result != 0 || t->status == 0 || !is_trying(t)))
		return -ENOENT;
	if (result == 0)
		return succeed(t) ? ENDED : NONE;
	if (number != t->tries || t->phase == WAITING || t->phase == ANSWERED)
		return -ENOENT;
	if (t->phase == TRYING) {
		t->phase = ANSWERED;
		return NONE;
	}
	return fail(t) ? ENDED : MOVED;
}

int tkw_retries_done(struct tkw_retries *rs, struct tkw_retry_id id,
		     int64_t number, int result)
{
	struct task *t;
	int effect = -ENOENT;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	tkw__lock_take(&rs->lock);
	t = find(rs, id);
	if (t)
		effect = take_answer(t, number, result);
	if (effect > NONE)
		t->holds++;
	tkw__lock_drop(&rs->lock);
	if (effect == ENDED) {
		shut_down(t);
	} else if (effect == MOVED) {
		/* If the timer refuses, break_off() has handled it. */
		(void)tkw_repeat_restart(t->repeat);
		release(t);
	}
	return effect < 0 ? effect : 0;
}

/* Begins the end of a task, and holds it if that wins. The lock is held. */
static bool win_end(struct task *t, int status)
{
	if (!begin_ending(t, status))
		return false;
	t->holds++;
	return true;
}

int tkw_retries_cancel(struct tkw_retries *rs, struct tkw_retry_id id)
{
	struct task *t;
	bool won, trying;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	tkw__lock_take(&rs->lock);
	t = find(rs, id);
	won = t && win_end(t, -ECANCELED);
	trying = t && is_trying(t);
	tkw__lock_drop(&rs->lock);
	if (!won)
		return -ENOENT;
	shut_down(t);
	return trying ? 1 : 0;
}

uint64_t tkw_retries_count(struct tkw_retries *rs)
{
	uint64_t count;

	if (rs == NULL || tkw__is_child(rs->epoch))
		return 0;
	tkw__lock_take(&rs->lock);
	count = rs->count;
	tkw__lock_drop(&rs->lock);
	return count;
}

/* --- shutdown and destroy ------------------------------------------------ */

int tkw_retries_shutdown(struct tkw_retries *rs)
{
	struct task *t;
	bool was, won;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	tkw__lock_take(&rs->lock);
	was = rs->ended;
	rs->ended = true;
	tkw__lock_drop(&rs->lock);
	for (uint32_t i = 0; !was; i++) {
		t = task_of(tkw__table_at(&rs->table, i));
		if (t == NULL)
			break;
		tkw__lock_take(&rs->lock);
		won = win_end(t, -ESHUTDOWN);
		tkw__lock_drop(&rs->lock);
		if (won)
			shut_down(t);
	}
	return 0;
}

static void await_ends(struct tkw_retries *rs)
{
	tkw__lock_take(&rs->lock);
	while (rs->count > 0)
		tkw__bell_wait(&rs->bell, &rs->lock);
	tkw__lock_drop(&rs->lock);
}

/* For a forked child, where no try runs any more. */
static void free_all(struct tkw_retries *rs)
{
	struct task *t;

	for (uint32_t i = 0;; i++) {
		t = task_of(tkw__table_at(&rs->table, i));
		if (t == NULL)
			break;
		(void)tkw_repeat_destroy(t->repeat);
	}
	tkw__table_fini(&rs->table);
	tkw__memory_free(rs, sizeof(*rs));
}

int tkw_retries_destroy(struct tkw_retries *rs)
{
	if (rs == NULL)
		return 0;
	if (tkw__is_child(rs->epoch)) {
		free_all(rs);
		return 0;
	}
	if (tkw__frame_inside(rs) || tkw__frame_inside(rs->cfg.timer))
		return -EDEADLK;
	(void)tkw_retries_shutdown(rs);
	await_ends(rs);
	drop_ref(rs);
	return 0;
}
