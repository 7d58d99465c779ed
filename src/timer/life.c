/* SPDX-License-Identifier: MIT */
/*
 * life.c - create, start, stop, destroy.
 *
 * States: INIT -> STARTED -> STOPPING -> STOPPED, or INIT -> STOPPING. Changed
 * under the lock `life`, but for the last step, which only the winner of a stop
 * makes.
 *
 * Stop closes each shard under its lock: what was taken in before is seen by
 * what follows, and what comes after is refused. Nothing falls between.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "os/memory.h"
#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/core.h"

enum {
	CACHE_LINE = 64,
	DEFAULT_SLOTS = 512,
	DEFAULT_WARN_TIMERS = 64,
	JRAFT_WARN_TIMERS = 256
};

static struct tkw__a64 live_timers;
static struct tkw__a32 warned;

/* --- the frames of a thread ---------------------------------------------- */

void tkw__frame_enter(struct tkw__frame *f, const struct tkw_timer *t)
{
	struct tkw__local *local = tkw__thread_local();

	*f = (struct tkw__frame){ t, local->frames };
	local->frames = f;
}

void tkw__frame_leave(const struct tkw__frame *f)
{
	tkw__thread_local()->frames = f->up;
}

bool tkw__frame_inside(const struct tkw_timer *t)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	while (f && f->timer != t)
		f = f->up;
	return f != NULL;
}

/* --- the system's own world ---------------------------------------------- */

static void *system_alloc(void *ctx, size_t bytes, size_t align)
{
	(void)ctx;
	return tkw__memory_take(bytes, align);
}

static void system_free(void *ctx, void *mem, size_t bytes)
{
	(void)ctx;
	tkw__memory_free(mem, bytes);
}

static int system_thread_create(void *ctx, void *(*run)(void *arg), void *arg,
				void **handle)
{
	(void)ctx;
	return tkw__thread_create(run, arg, handle);
}

static void system_thread_join(void *ctx, void *handle)
{
	(void)ctx;
	tkw__thread_join(handle);
}

static struct tkw_timer_hooks hooks_of(const struct tkw_timer_config *cfg)
{
	struct tkw_timer_hooks h = { .ctx = NULL };

	if (cfg->hooks)
		h = *cfg->hooks;
	if (h.alloc == NULL) {
		h.alloc = system_alloc;
		h.free = system_free;
	}
	if (h.thread_create == NULL) {
		h.thread_create = system_thread_create;
		h.thread_join = system_thread_join;
	}
	return h;
}

/* --- create --------------------------------------------------------------- */

int tkw_timer_preset(struct tkw_timer_config *cfg, int preset)
{
	struct tkw_timer_config c = {
		.size = sizeof(c),
		.engine = TKW_WHEEL_HASHED,
	};

	switch (preset) {
	case TKW_PRESET_NETTY:
		c.tick_ns = 100 * TKW_MSEC;
		c.slots = 512;
		break;
	case TKW_PRESET_JRAFT:
		c.tick_ns = TKW_MSEC;
		c.slots = 2048;
		c.warn_timers = JRAFT_WARN_TIMERS;
		break;
	case TKW_PRESET_DUBBO_FUTURE:
		c.tick_ns = 30 * TKW_MSEC;
		c.slots = 512;
		break;
	case TKW_PRESET_DUBBO_HEARTBEAT:
		c.tick_ns = TKW_SEC;
		c.slots = 128;
		break;
	default:
		return -EINVAL;
	}
	if (cfg == NULL)
		return -EINVAL;
	*cfg = c;
	return 0;
}

static bool hooks_are_sound(const struct tkw_timer_hooks *h)
{
	return h == NULL ||
	       (!h->alloc == !h->free && !h->thread_create == !h->thread_join);
}

/* Is the wheel that is asked for one that can be? Written if so. */
static bool wheel_is_sound(const struct tkw_timer_config *cfg,
			   struct tkw_wheel_config *wheel)
{
	bool hashed = cfg->engine == TKW_WHEEL_HASHED;
	uint64_t slots = (uint64_t)cfg->slots;
	size_t bytes;

	if (cfg->slots < 0 || cfg->tick_ns < 0)
		return false;
	if (hashed && slots == 0)
		slots = DEFAULT_SLOTS;
	*wheel = (struct tkw_wheel_config){
		.engine = cfg->engine,
		.slots = slots,
	};
	if (tkw_wheel_bytes(wheel, &bytes) == -EINVAL)
		return false;
	return !hashed ||
	       cfg->tick_ns < INT64_MAX / (int64_t)tkw__round_up_pow2(slots);
}

static bool is_sound(const struct tkw_timer_config *cfg,
		     struct tkw_wheel_config *wheel)
{
	if (cfg->size != 0 && cfg->size != sizeof(*cfg))
		return false;
	if (cfg->drive < TKW_DRIVE_THREAD || cfg->drive > TKW_DRIVE_LOOP)
		return false;
	if (cfg->clock != TKW_CLOCK_MONOTONIC &&
	    cfg->clock != TKW_CLOCK_BOOTTIME)
		return false;
	if (cfg->exec && cfg->exec->submit == NULL)
		return false;
	if (cfg->watchdog &&
	    (cfg->slow_task_ns <= 0 || cfg->drive != TKW_DRIVE_THREAD))
		return false;
	if (cfg->refusal < TKW_REFUSED_INLINE ||
	    cfg->refusal > TKW_REFUSED_DROP)
		return false;
	return cfg->shards >= 0 && hooks_are_sound(cfg->hooks) &&
	       wheel_is_sound(cfg, wheel);
}

static uint32_t shards_of(const struct tkw_timer_config *cfg)
{
	uint32_t shards = (uint32_t)cfg->shards;

	if (cfg->drive == TKW_DRIVE_MANUAL ||
	    (cfg->drive == TKW_DRIVE_LOOP && shards == 0))
		return 1;
	/* There are often more threads than CPUs, and two that run at the same
	 * time shall not meet. */
	if (shards == 0)
		shards = 2 * tkw__cpus();
	shards = (uint32_t)tkw__round_up_pow2(shards);
	return shards < TKW__SHARDS_MAX ? shards : TKW__SHARDS_MAX;
}

/* What a timer takes from its config. */
static void settle(struct tkw_timer *t, const struct tkw_timer_config *cfg)
{
	const char *name = cfg->thread_name ? cfg->thread_name : "tickwheel";

	t->tick_ns = cfg->tick_ns ? (uint64_t)cfg->tick_ns : TKW_MSEC;
	t->by_tick = tkw__divisor_of(t->tick_ns);
	/* `before` spans two ticks and the slack: 32 bits hold that many units
	 * (nanoseconds, for ticks up to a second). */
	t->unit_ns = 1 + (t->tick_ns >> 30);
	t->slack_max_ns = tkw__max_u64(2 * TKW_SEC, 2 * t->tick_ns);
	t->forks = tkw__forks;
	t->manual = cfg->drive != TKW_DRIVE_THREAD;
	t->pollable = cfg->drive == TKW_DRIVE_LOOP;
	/* Nobody has run it yet, and the first schedule sets the alarm. */
	t->alarm_tick = TKW_TICK_NEVER;
	TKW__STORE(&t->armed, t->pollable ? TKW_TICK_NEVER : 0, RELAXED);
	t->boottime = cfg->clock == TKW_CLOCK_BOOTTIME;
	t->own_clock = t->hooks.now != NULL;
	t->refusal = cfg->refusal;
	t->limited = cfg->max_pending > 0;
	t->max_pending = t->limited ? (uint64_t)cfg->max_pending : 0;
	strncpy(t->name, name, sizeof(t->name) - 1);
}

static void free_shards(struct tkw_timer *t, uint32_t count)
{
	while (count-- > 0)
		tkw__shard_fini(&t->shards[count]);
	t->hooks.free(t->hooks.ctx, t->shards, t->shards_bytes);
}

static int make_shards(struct tkw_timer *t, struct tkw_wheel_config *wheel)
{
	uint32_t count = t->shard_mask + 1;

	t->shards_bytes = count * sizeof(*t->shards);
	t->shards = t->hooks.alloc(t->hooks.ctx, t->shards_bytes, CACHE_LINE);
	if (t->shards == NULL)
		return -ENOMEM;
	t->created_ns = tkw__now(t);
	wheel->now = tkw__tick_at(t, t->created_ns);
	for (uint32_t i = 0; i < count; i++) {
		int err =
			tkw__shard_init(&t->shards[i], i, &t->hooks,
					t->hooks.alloc == system_alloc, wheel);

		if (err != 0) {
			free_shards(t, i);
			return err;
		}
	}
	return 0;
}

/* Its crew, if it has an executor. */
static int make_crew(struct tkw_timer *t, const struct tkw_exec *exec)
{
	if (exec == NULL)
		return 0;
	t->exec = *exec;
	t->crew = tkw__crew_make(t);
	return t->crew ? 0 : -ENOMEM;
}

static void count_in(struct tkw_timer *t, int64_t warn_timers)
{
	uint64_t live = TKW__ADD(&live_timers, 1, RELAXED) + 1;

	if (warn_timers == 0)
		warn_timers = DEFAULT_WARN_TIMERS;
	if (warn_timers < 0 || live <= (uint64_t)warn_timers ||
	    t->hooks.log == NULL || TKW__EXCHANGE(&warned, 1, RELAXED))
		return;
	t->hooks.log(t->hooks.ctx,
		     "tickwheel: many timers live in this process; one can "
		     "serve all threads");
}

static bool has_alarm(const struct tkw_timer *t)
{
	return !t->manual || t->pollable;
}

/* Create, from a config that is sound. */
static int create(struct tkw_timer **out, const struct tkw_timer_config *cfg,
		  struct tkw_wheel_config *wheel)
{
	struct tkw_timer_hooks hooks = hooks_of(cfg);
	struct tkw_timer *t;
	int err = tkw__forks_watch();

	if (err != 0)
		return err;
	t = hooks.alloc(hooks.ctx, sizeof(*t), _Alignof(struct tkw_timer));
	if (t == NULL)
		return -ENOMEM;
	*t = (struct tkw_timer){
		.hooks = hooks,
		.shard_mask = shards_of(cfg) - 1,
	};
	settle(t, cfg);
	err = has_alarm(t) ? tkw__alarm_init(&t->alarm, t->boottime) : 0;
	if (err != 0)
		goto free_timer;
	err = tkw__watch_init(t, cfg);
	if (err != 0)
		goto free_alarm;
	err = make_shards(t, wheel);
	if (err != 0)
		goto free_watch;
	err = make_crew(t, cfg->exec);
	if (err != 0)
		goto free_shards;
	count_in(t, cfg->warn_timers);
	*out = t;
	return 0;
free_shards:
	free_shards(t, t->shard_mask + 1);
free_watch:
	tkw__watch_fini(t);
free_alarm:
	if (has_alarm(t))
		tkw__alarm_fini(&t->alarm);
free_timer:
	hooks.free(hooks.ctx, t, sizeof(*t));
	return err;
}

int tkw_timer_create(struct tkw_timer **out, const struct tkw_timer_config *cfg)
{
	static const struct tkw_timer_config defaults;
	struct tkw_wheel_config wheel;
	int was;
	int err;

	if (cfg == NULL)
		cfg = &defaults;
	if (out == NULL || !is_sound(cfg, &wheel))
		return -EINVAL;
	/* A thread that is cancelled half way would leak the rest. */
	was = tkw__thread_no_cancel();
	err = create(out, cfg, &wheel);
	tkw__thread_restore_cancel(was);
	return err;
}

static void free_timer(struct tkw_timer *t)
{
	struct tkw_timer_hooks hooks = t->hooks;
	int was =
		tkw__thread_no_cancel(); /* as above, while a file is closed */

	free_shards(t, t->shard_mask + 1);
	if (has_alarm(t))
		tkw__alarm_fini(&t->alarm);
	tkw__watch_fini(t);
	if (t->crew)
		tkw__crew_release(t->crew);
	hooks.free(hooks.ctx, t, sizeof(*t));
	TKW__SUB(&live_timers, 1, RELAXED);
	tkw__thread_restore_cancel(was);
}

/* --- start ---------------------------------------------------------------- */

/* Make the worker. What it blocks, it blocks from its first moment. */
static int make_worker(struct tkw_timer *t)
{
	struct tkw__signals were;
	int err;

	tkw__signals_block(&were);
	err = tkw__watchdog_start(t);
	if (err == 0) {
		err = t->hooks.thread_create(t->hooks.ctx, tkw__worker_run, t,
					     &t->thread);
		if (err != 0)
			tkw__watchdog_stop(t);
	}
	tkw__signals_restore(&were);
	/* EAGAIN is for a full timer. */
	return err == 0 ? 0 : -ENOMEM;
}

int tkw__start(struct tkw_timer *t)
{
	uint32_t state;
	int err = 0;

	/* Who stops it may be waiting for the caller. */
	if (TKW__LOAD(&t->state, RELAXED) >= TKW__STOPPING)
		return -ESHUTDOWN;
	tkw__lock_take(&t->life);
	state = TKW__LOAD(&t->state, RELAXED);
	if (state >= TKW__STOPPING)
		err = -ESHUTDOWN;
	else if (state == TKW__INIT && !t->manual)
		err = make_worker(t);
	if (err == 0)
		/* RELEASE pairs with the ACQUIRE of tkw__ensure_started(). */
		TKW__STORE(&t->state, TKW__STARTED, RELEASE);
	tkw__lock_drop(&t->life);
	return err;
}

int tkw_timer_start(struct tkw_timer *t)
{
	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	return tkw__ensure_started(t);
}

/* --- the manual drive --------------------------------------------------- */

int64_t tkw__ns_of_next(struct tkw_timer *t, uint64_t tick)
{
	if (tick == 0)
		return tkw__now(t);
	if (tick > (uint64_t)TKW_NEVER_NS / t->tick_ns)
		return TKW_NEVER_NS;
	return (int64_t)(tick * t->tick_ns);
}

/* Who is in a turn; a stop that waits for its end says so. */
enum {
	IDLE = 0,
	TURNING = 1,
	AWAITED = 2
};

void tkw__turn_leave(struct tkw_timer *t)
{
	/* RELEASE pairs with the ACQUIREs of enter_turn() and await_turn(). */
	if (TKW__EXCHANGE(&t->turning, IDLE, RELEASE) == AWAITED)
		tkw__unpark_all(&t->turning);
}

/*
 * Either this sees that the timer is being stopped, or the stop sees that there
 * is a turn to wait for: each writes its own word and then reads the other's,
 * all of it SEQ_CST.
 */
static int enter_turn(struct tkw_timer *t)
{
	uint32_t idle = IDLE;

	if (!TKW__CAS(&t->turning, &idle, TURNING, SEQ_CST))
		return -EBUSY;
	if (TKW__LOAD(&t->state, SEQ_CST) < TKW__STOPPING)
		return 0;
	tkw__turn_leave(t);
	return -ESHUTDOWN;
}

static void await_turn(struct tkw_timer *t)
{
	uint32_t turning = TKW__LOAD(&t->turning, SEQ_CST);

	while (turning != IDLE) {
		if (turning == AWAITED ||
		    TKW__CAS(&t->turning, &turning, AWAITED, RELAXED))
			tkw__park(&t->turning, AWAITED);
		turning = TKW__LOAD(&t->turning, ACQUIRE);
	}
}

int tkw__turn_enter(struct tkw_timer *t, bool pollable)
{
	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	if (!t->manual || t->pollable != pollable)
		return -EINVAL;
	if (tkw__frame_inside(t))
		return -EDEADLK;
	return enter_turn(t);
}

int tkw_timer_turn(struct tkw_timer *t, int64_t *next_ns)
{
	uint64_t fired;
	uint64_t next;
	int was;
	int err = tkw__turn_enter(t, false);

	if (err != 0)
		return err;
	/* Were the thread cancelled in a task, the turn would never end. */
	was = tkw__thread_no_cancel();
	fired = tkw__worker_turn(t, UINT64_MAX, &next);
	tkw__thread_restore_cancel(was);
	if (tkw__is_foreign(t))
		return -EPERM; /* a task has forked, and this is the child */
	if (next_ns)
		*next_ns = tkw__ns_of_next(t, next);
	tkw__turn_leave(t);
	return fired < INT_MAX ? (int)fired : INT_MAX;
}

int tkw_timer_next(struct tkw_timer *t, int64_t *next_ns)
{
	if (t == NULL || next_ns == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	*next_ns = tkw__ns_of_next(t, tkw__worker_next(t));
	return 0;
}

/* --- stop and destroy --------------------------------------------------- */

/* Win the stop, or lose it. Return  whether there was a worker; -1: lost. */
static int begin_stop(struct tkw_timer *t)
{
	uint32_t state;

	tkw__lock_take(&t->life);
	state = TKW__LOAD(&t->state, RELAXED);
	if (state < TKW__STOPPING)
		/* SEQ_CST: see enter_turn(). */
		TKW__STORE(&t->state, TKW__STOPPING, SEQ_CST);
	tkw__lock_drop(&t->life);
	if (state >= TKW__STOPPING)
		return -1;
	return state == TKW__STARTED && !t->manual;
}

static void close_shards(struct tkw_timer *t)
{
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		tkw__lock_take(&t->shards[i].lock);
		t->shards[i].closed = true;
		tkw__lock_drop(&t->shards[i].lock);
	}
}

/* Wait until nothing of the timer runs. */
static void end_drive(struct tkw_timer *t, bool has_worker)
{
	if (t->manual)
		await_turn(t);
	if (t->pollable)
		tkw__worker_disarm(t);
	if (has_worker) {
		tkw__worker_wake(t);
		t->hooks.thread_join(t->hooks.ctx, t->thread);
		tkw__watchdog_stop(t);
	}
	if (t->crew) {
		tkw__crew_close(t->crew);
		tkw__worker_tell_dropped(t);
	}
}

/* Take any timeout that is pending out of a shard; NULL: there is none. */
static struct tkw__timeout *claim(struct tkw_timer *t, struct tkw__shard *s)
{
	struct tkw__timeout *to;

	tkw__lock_take(&s->lock);
	to = tkw__shard_any(s);
	if (to) {
		tkw__shard_pull(s, to);
		tkw__set_state(to, TKW__ENDING);
		s->ledger.pending--;
		s->ledger.handed_over++;
		tkw__unreserve(t);
	}
	tkw__lock_drop(&s->lock);
	return to;
}

static void show(struct tkw_timer *t, const struct tkw_timeout_info *info,
		 tkw_visit_fn *visit, void *ctx)
{
	struct tkw__frame frame;

	tkw__frame_enter(&frame, t);
	visit(info, ctx);
	tkw__frame_leave(&frame);
}

/* The worker is gone; cancels may still come. */
static void hand_over(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx)
{
	int64_t now = tkw__now(t);

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];
		struct tkw__timeout *to;

		while ((to = claim(t, s))) {
			struct tkw_timeout_info info =
				tkw__info_of(t, s, to, now);

			info.state = TKW_TIMEOUT_PENDING;
			if (visit)
				show(t, &info, visit, ctx);
			if (tkw__is_foreign(t))
				return;
			tkw__finish_ending(t, s, to);
			if (tkw__is_foreign(t))
				return;
		}
	}
}

int tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx)
{
	int has_worker;
	int was;

	if (t == NULL)
		return -EINVAL;
	if (tkw__is_foreign(t))
		return -EPERM;
	if (tkw__frame_inside(t))
		return -EDEADLK;
	has_worker = begin_stop(t);
	if (has_worker < 0)
		return 1;
	/* Were the thread cancelled from here on, in the join or in a visitor,
	 * the timer would stay half stopped for ever. */
	was = tkw__thread_no_cancel();
	close_shards(t);
	end_drive(t, has_worker);
	hand_over(t, visit, ctx);
	tkw__thread_restore_cancel(was);
	if (tkw__is_foreign(t))
		return -EPERM; /* a callback has forked; this is the child */
	/* RELEASE pairs with the ACQUIRE of destroy. */
	TKW__STORE(&t->state, TKW__STOPPED, RELEASE);
	tkw__unpark_all(&t->state);
	return 0;
}

int tkw_timer_is_stopped(struct tkw_timer *t)
{
	return t && TKW__LOAD(&t->state, ACQUIRE) >= TKW__STOPPING;
}

int tkw_timer_is_inside(struct tkw_timer *t)
{
	return t && tkw__frame_inside(t);
}

int tkw_timer_destroy(struct tkw_timer *t)
{
	if (t == NULL)
		return -EINVAL;
	if (tkw__frame_inside(t))
		return -EDEADLK;
	if (!tkw__is_foreign(t)) {
		tkw_timer_stop(t, NULL, NULL);
		while (TKW__LOAD(&t->state, ACQUIRE) != TKW__STOPPED)
			tkw__park(&t->state, TKW__STOPPING);
	} else if (t->crew) {
		tkw__crew_close_child(t->crew);
	}
	free_timer(t);
	return 0;
}
