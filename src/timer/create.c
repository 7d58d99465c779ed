/* SPDX-License-Identifier: MIT */
/*
 * create.c - makes a timer from a config, and frees its memory.
 *
 * A timer that is not used yet is small and made fast: a shard gets its wheel
 * with its first timeout, and the CPU quota is read once per process.
 */
#include "timer/create.h"

#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "os/cpus.h"
#include "os/dice.h"
#include "os/memory.h"
#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/due.h"

enum {
	CACHE_LINE = 64,
	DEFAULT_SLOTS = 512,
	DEFAULT_WARN_TIMERS = 64,
	JRAFT_WARN_TIMERS = 256
};

#define CONFIG_OLDEST TKW__END_OF(struct tkw_timer_config, thread_name)

/* A watchdog with a smaller limit would do little else than look. */
#define LEAST_WATCHED_NS TKW_MSEC

static struct tkw__a64 live_timers;
static struct tkw__a32 warned;

/* --- default hooks -------------------------------------------------------- */

static void *system_alloc(size_t bytes, size_t align, void *ctx)
{
	(void)ctx;
	return tkw__memory_take(bytes, align);
}

static void system_free(void *mem, size_t bytes, void *ctx)
{
	(void)ctx;
	tkw__memory_free(mem, bytes);
}

static int system_thread_create(void *(*run)(void *arg), void *arg,
				void **handle, void *ctx)
{
	(void)ctx;
	return tkw__thread_create(run, arg, handle);
}

static void system_thread_join(void *handle, void *ctx)
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
	/* The caller may be older, and its struct no longer than this. */
	struct tkw_timer_config c = {
		.size = CONFIG_OLDEST,
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
	memcpy(cfg, &c, CONFIG_OLDEST);
	return 0;
}

static bool hooks_are_sound(const struct tkw_timer_hooks *h)
{
	return h == NULL ||
	       (!h->alloc == !h->free && !h->thread_create == !h->thread_join);
}

/* Plans the wheel that the config asks for. Returns 0, or -EINVAL if there is
 * no such wheel. */
static int plan_wheel(const struct tkw_timer_config *cfg,
		      struct tkw__shard_kind *kind)
{
	bool hashed = cfg->engine == TKW_WHEEL_HASHED;
	uint64_t slots = (uint64_t)cfg->slots;
	int err;

	if (cfg->slots < 0 || cfg->tick_ns < 0)
		return -EINVAL;
	if (hashed && slots == 0)
		slots = DEFAULT_SLOTS;
	kind->wheel = (struct tkw_wheel_config){
		.engine = cfg->engine,
		.slots = slots,
	};
	/* A wheel that exceeds the address space keeps this size, and
	 * fits_memory() refuses it. */
	kind->wheel_bytes = SIZE_MAX;
	err = tkw_wheel_bytes(&kind->wheel, &kind->wheel_bytes);
	if (err == -EINVAL)
		return err;
	if (hashed &&
	    cfg->tick_ns >= INT64_MAX / (int64_t)tkw__round_up_pow2(slots))
		return -EINVAL;
	return 0;
}

static bool is_sound(const struct tkw_timer_config *cfg)
{
	if (cfg->drive < TKW_DRIVE_THREAD || cfg->drive > TKW_DRIVE_LOOP)
		return false;
	if (cfg->clock != TKW_CLOCK_MONOTONIC &&
	    cfg->clock != TKW_CLOCK_BOOTTIME)
		return false;
	if (cfg->exec && cfg->exec->submit == NULL)
		return false;
	if (cfg->watchdog && (cfg->slow_task_ns < LEAST_WATCHED_NS ||
			      cfg->drive != TKW_DRIVE_THREAD))
		return false;
	if (cfg->refusal < TKW_REFUSED_INLINE ||
	    cfg->refusal > TKW_REFUSED_DROP)
		return false;
	return cfg->shards >= 0 && hooks_are_sound(cfg->hooks);
}

static uint32_t shards_of(const struct tkw_timer_config *cfg)
{
	uint32_t shards = (uint32_t)cfg->shards;

	if (cfg->drive == TKW_DRIVE_MANUAL ||
	    (cfg->drive == TKW_DRIVE_LOOP && shards == 0))
		return 1;
	/* There are often more threads than CPUs, and two that run at the same
	 * time should rarely use the same shard. */
	if (shards == 0)
		shards = 2 * tkw__cpus();
	shards = (uint32_t)tkw__round_up_pow2(shards);
	return shards < TKW__SHARDS_MAX ? shards : TKW__SHARDS_MAX;
}

/* Copies the config into the timer. */
static void settle(struct tkw_timer *t, const struct tkw_timer_config *cfg)
{
	const char *name = cfg->thread_name ? cfg->thread_name : "tickwheel";

	t->tick_ns = cfg->tick_ns ? (uint64_t)cfg->tick_ns : TKW_MSEC;
	t->by_tick = tkw__divisor_of(t->tick_ns);
	/* `before` spans two ticks and the slack. The unit is chosen so that 32
	 * bits hold that. It is a nanosecond for ticks up to a second. */
	t->unit_ns = 1 + (t->tick_ns >> 30);
	t->slack_max_ns = tkw__max_u64(2 * TKW_SEC, 2 * t->tick_ns);
	t->drive = cfg->drive;
	/* No turn was made yet, so the first schedule sets the alarm. */
	t->alarm_tick = TKW_TICK_NEVER;
	TKW__STORE(&t->armed, t->drive == TKW_DRIVE_LOOP ? TKW_TICK_NEVER : 0,
		   RELAXED);
	t->boottime = cfg->clock == TKW_CLOCK_BOOTTIME;
	t->own_clock = t->hooks.now != NULL;
	t->refusal = cfg->refusal;
	t->limited = cfg->max_pending > 0;
	t->plain = !t->limited && t->unit_ns == 1;
	t->max_pending = t->limited ? (uint64_t)cfg->max_pending : 0;
	strncpy(t->name, name, sizeof(t->name) - 1);
}

static void free_shards(struct tkw_timer *t)
{
	for (uint32_t i = 0; i <= t->shard_mask; i++)
		tkw__shard_fini(&t->shards[i]);
	t->hooks.free(t->shards, t->shards_bytes, t->hooks.ctx);
}

static int make_shards(struct tkw_timer *t)
{
	struct tkw__dice dice = tkw__dice_make(0);
	uint32_t count = t->shard_mask + 1;

	t->shards_bytes = count * sizeof(*t->shards);
	t->shards = t->hooks.alloc(t->shards_bytes, CACHE_LINE, t->hooks.ctx);
	if (t->shards == NULL)
		return -ENOMEM;
	t->created_ns = tkw__now(t);
	t->kind.wheel.now_tick = tkw__tick_at(t, t->created_ns);
	for (uint32_t i = 0; i < count; i++)
		tkw__shard_init(&t->shards[i], i, &t->kind,
				(uint32_t)tkw__dice_roll(&dice, UINT32_MAX));
	return 0;
}

/* Makes the struct through which jobs come back from the executor, if there is
 * one. */
static int make_jobs(struct tkw_timer *t, const struct tkw_exec *exec)
{
	if (exec == NULL)
		return 0;
	t->exec = *exec;
	t->jobs = tkw__jobs_make(t);
	return t->jobs ? 0 : -ENOMEM;
}

/*
 * Making an empty hashed wheel writes to all of its slots. If it were larger
 * than the machine's memory, that would never end. Hierarchical wheels are
 * small.
 */
static bool fits_memory(const struct tkw_timer *t)
{
	uint64_t wheels = t->shard_mask + 1;

	return t->kind.wheel.engine != TKW_WHEEL_HASHED ||
	       (t->kind.wheel_bytes != SIZE_MAX &&
		t->kind.wheel_bytes <= tkw__memory_of_machine() / 4 / wheels);
}

static void count_in(struct tkw_timer *t, int64_t warn_timers)
{
	uint64_t live = TKW__ADD(&live_timers, 1, RELAXED) + 1;

	if (warn_timers == 0)
		warn_timers = DEFAULT_WARN_TIMERS;
	if (warn_timers < 0 || live <= (uint64_t)warn_timers ||
	    t->hooks.log == NULL || TKW__EXCHANGE(&warned, 1, RELAXED))
		return;
	tkw__log(t, "tickwheel: this process has many timers; one timer can "
		    "serve all threads");
}

/* Makes what a timer needs besides its own memory, all or nothing. */
static int equip(struct tkw_timer *t, const struct tkw_exec *exec)
{
	int err = 0;

	if (!fits_memory(t)) {
		tkw__log(t, "tickwheel: the wheels do not fit into memory; use "
			    "fewer slots");
		return -ENOMEM;
	}
	if (tkw__has_alarm(t))
		err = tkw__alarm_init(&t->alarm, t->boottime);
	if (err != 0)
		return err;
	err = make_shards(t);
	if (err != 0)
		goto free_alarm;
	err = make_jobs(t, exec);
	if (err == 0)
		return 0;
	free_shards(t);
free_alarm:
	if (tkw__has_alarm(t))
		tkw__alarm_fini(&t->alarm);
	return err;
}

/* Creates a timer from a config that was checked. */
static int create(struct tkw_timer **out, const struct tkw_timer_config *cfg,
		  const struct tkw__shard_kind *kind)
{
	struct tkw_timer_hooks hooks = hooks_of(cfg);
	struct tkw_timer *t;
	uint32_t epoch;
	int err = tkw__epoch_get(&epoch);

	if (err != 0)
		return err;
	t = hooks.alloc(sizeof(*t), _Alignof(struct tkw_timer), hooks.ctx);
	if (t == NULL)
		return -ENOMEM;
	*t = (struct tkw_timer){
		.hooks = hooks,
		.shard_mask = shards_of(cfg) - 1,
		.epoch = epoch,
		.kind = *kind,
	};
	t->kind.hooks = &t->hooks;
	t->kind.systems = hooks.alloc == system_alloc;
	settle(t, cfg);
	tkw__slow_init(t, cfg);
	err = equip(t, cfg->exec);
	if (err != 0) {
		hooks.free(t, sizeof(*t), hooks.ctx);
		return err;
	}
	count_in(t, cfg->warn_timers);
	*out = t;
	return 0;
}

int tkw_timer_create(struct tkw_timer **out, const struct tkw_timer_config *cfg)
{
	struct tkw__shard_kind kind = { .hooks = NULL };
	struct tkw_timer_config c;
	int was;
	int err = tkw__config_read(&c, sizeof(c), cfg, CONFIG_OLDEST);

	if (err == 0 && (out == NULL || !is_sound(&c)))
		err = -EINVAL;
	if (err == 0)
		err = plan_wheel(&c, &kind);
	if (err != 0)
		return err;
	/* A thread that is cancelled half way would leak what it has made. */
	was = tkw__thread_no_cancel();
	err = create(out, &c, &kind);
	tkw__thread_restore_cancel(was);
	return err;
}

void tkw__timer_free(struct tkw_timer *t)
{
	struct tkw_timer_hooks hooks = t->hooks;
	/* As above: closing the fd is a point where it could be cancelled. */
	int was = tkw__thread_no_cancel();

	free_shards(t);
	if (tkw__has_alarm(t))
		tkw__alarm_fini(&t->alarm);
	if (t->jobs)
		tkw__jobs_release(t->jobs);
	hooks.free(t, sizeof(*t), hooks.ctx);
	TKW__SUB(&live_timers, 1, RELAXED);
	tkw__thread_restore_cancel(was);
}
