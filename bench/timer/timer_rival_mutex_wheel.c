/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_mutex_wheel.c - one mutex around our own wheel. It shows what it
 * costs to do without the timer.
 *
 * Callbacks run with the mutex held, which is cheaper than to collect the
 * entries first. After some steps the worker lets callers in.
 */
#include "rival_sleeper.h"

#include "tickwheel/wheel.h"

#define STEPS_AT_ONCE 256

enum {
	HAS_DEADLINES = 1,
	SLOTS_ARE_CALLERS = 0
};

static struct {
	struct rival_sleeper sleeper;
	struct tkw_wheel *wheel;
	void *wheel_mem;
	uint64_t tick_ns;
	struct tkw_entry *entries;
	size_t bytes;
} timer;

static void fired(size_t i);

static size_t slot_of(const struct tkw_entry *e)
{
	return (size_t)(e - timer.entries);
}

static void on_expire(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)ctx;
	fired(slot_of(e));
}

static void *work(void *arg)
{
	struct rival_sleeper *s = &timer.sleeper;

	(void)pthread_mutex_lock(&s->lock);
	while (!rival_sleeper_quits(s)) {
		uint64_t now = (uint64_t)rival_now() / timer.tick_ns;
		uint64_t next;

		if (tkw_wheel_advance(timer.wheel, now, STEPS_AT_ONCE,
				      on_expire, NULL) == 1) {
			(void)pthread_mutex_unlock(&s->lock);
			(void)pthread_mutex_lock(&s->lock);
			continue;
		}
		next = tkw_wheel_next_tick(timer.wheel);
		rival_sleeper_sleep(s,
				    next == TKW_TICK_NEVER
					    ? INT64_MAX
					    : (int64_t)(next * timer.tick_ns));
	}
	(void)pthread_mutex_unlock(&s->lock);
	return arg;
}

static void timer_open(const struct rival_load *l)
{
	struct tkw_wheel_config cfg = { .size = sizeof(cfg) };

	timer.tick_ns = l->tick_ns;
	cfg.now_tick = (uint64_t)rival_now() / timer.tick_ns;
	timer.wheel_mem = rival_pages_get(TKW_WHEEL_BYTES);
	if (tkw_wheel_init(&timer.wheel, timer.wheel_mem, TKW_WHEEL_BYTES,
			   &cfg) != 0)
		rival_die("tkw_wheel_init failed");
	rival_sleeper_open(&timer.sleeper, work);
}

static void timer_stop(void)
{
	rival_sleeper_stop(&timer.sleeper);
	(void)tkw_wheel_fini(timer.wheel);
}

static void timer_close(void)
{
	rival_sleeper_close(&timer.sleeper);
	rival_pages_put(timer.wheel_mem, TKW_WHEEL_BYTES);
}

static const char *slots_open(size_t n)
{
	timer.bytes = n * sizeof(*timer.entries);
	timer.entries = rival_pages_get(timer.bytes);
	return NULL;
}

static void slots_close(void)
{
	rival_pages_put(timer.entries, timer.bytes);
}

/* Rounded up, so that it is never early. */
static inline uint64_t tick_of(int64_t deadline_ns)
{
	return ((uint64_t)deadline_ns + timer.tick_ns - 1) / timer.tick_ns;
}

static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	uint64_t tick = tick_of(deadline_ns);
	int err;

	(void)delay_ns;
	(void)pthread_mutex_lock(&timer.sleeper.lock);
	err = tkw_wheel_add(timer.wheel, &timer.entries[i], tick);
	rival_sleeper_unlock(&timer.sleeper, (int64_t)(tick * timer.tick_ns));
	return err == 0;
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	return op_schedule_at(i, rival_now() + delay_ns, delay_ns);
}

static inline bool op_cancel(size_t i)
{
	int err;

	(void)pthread_mutex_lock(&timer.sleeper.lock);
	err = tkw_wheel_remove(timer.wheel, &timer.entries[i]);
	(void)pthread_mutex_unlock(&timer.sleeper.lock);
	return err == 0;
}

static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	return tkw_wheel_add(timer.wheel, &timer.entries[i],
			     tick_of(rival_now() + delay_ns)) == 0;
}

#include "timer_loops.h"

const struct entrant entrant_mutex_wheel = {
	.name = "mutex_wheel",
	.run = run_load,
};
