/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_mutex_wheel.c - one mutex around our own wheel. Its entries are
 * in memory of the caller's, which is there before.
 */
#include "rival_wheel.h"

enum {
	HAS_DEADLINES = 1,
	SLOTS_ARE_CALLERS = 0
};

static struct {
	struct rival_wheel wheel;
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
	rival_wheel_work(&timer.wheel, on_expire);
	return arg;
}

static void timer_open(const struct rival_load *l)
{
	rival_wheel_open(&timer.wheel, l->tick_ns, work);
}

static void timer_stop(void)
{
	rival_sleeper_stop(&timer.wheel.sleeper);
	(void)tkw_wheel_fini(timer.wheel.wheel);
}

static void timer_close(void)
{
	rival_wheel_close(&timer.wheel);
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

static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	(void)delay_ns;
	return rival_wheel_add(&timer.wheel, &timer.entries[i], deadline_ns);
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	return op_schedule_at(i, rival_now() + delay_ns, delay_ns);
}

static inline bool op_cancel(size_t i)
{
	return rival_wheel_remove(&timer.wheel, &timer.entries[i]);
}

static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	return rival_wheel_extend(&timer.wheel, &timer.entries[i],
				  rival_now() + delay_ns);
}

/* The lock is held. */
static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	return tkw_wheel_add(timer.wheel.wheel, &timer.entries[i],
			     rival_wheel_tick(&timer.wheel,
					      rival_now() + delay_ns)) == 0;
}

#include "timer_loops.h"

const struct entrant entrant_mutex_wheel = {
	.name = "mutex_wheel",
	.run = run_load,
};
