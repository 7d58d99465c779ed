/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_mutex_libuv.c - libuv with one mutex around its loop. The worker
 * does not wait inside the loop, because only a write to a pipe would wake it
 * there. It waits on a condition variable. Callbacks run with the mutex held.
 */
#include "rival_sleeper.h"

#include <uv.h>

enum {
	HAS_DEADLINES = 0,
	SLOTS_ARE_CALLERS = 0
};

static struct {
	struct rival_sleeper sleeper;
	uv_loop_t loop;
	uv_timer_t *timers;
	size_t n;
} timer;

static void fired(size_t i);

static size_t slot_of(const uv_timer_t *t)
{
	return (size_t)(t - timer.timers);
}

static void on_timer(uv_timer_t *t)
{
	fired(slot_of(t));
}

/* The loop's time is the monotonic clock in milliseconds. */
static int64_t next_ns(void)
{
	int wait_ms = uv_backend_timeout(&timer.loop);

	if (!uv_loop_alive(&timer.loop) || wait_ms < 0)
		return INT64_MAX;
	return ((int64_t)uv_now(&timer.loop) + wait_ms) * RIVAL_MSEC;
}

static void *work(void *arg)
{
	struct rival_sleeper *s = &timer.sleeper;

	(void)pthread_mutex_lock(&s->lock);
	while (!rival_sleeper_quits(s)) {
		(void)uv_run(&timer.loop, UV_RUN_NOWAIT);
		rival_sleeper_sleep(s, next_ns());
	}
	(void)pthread_mutex_unlock(&s->lock);
	return arg;
}

static void timer_open(const struct rival_load *l)
{
	(void)l;
	if (uv_loop_init(&timer.loop) != 0)
		rival_die("uv_loop_init failed");
	rival_sleeper_open(&timer.sleeper, work);
}

static void timer_stop(void)
{
	rival_sleeper_stop(&timer.sleeper);
}

static void timer_close(void)
{
	if (uv_loop_close(&timer.loop) != 0)
		rival_die("uv_loop_close failed");
	rival_sleeper_close(&timer.sleeper);
}

static const char *slots_open(size_t n)
{
	timer.n = n;
	timer.timers = rival_pages_get(n * sizeof(*timer.timers));
	(void)pthread_mutex_lock(&timer.sleeper.lock);
	for (size_t i = 0; i < n; i++)
		(void)uv_timer_init(&timer.loop, &timer.timers[i]);
	(void)pthread_mutex_unlock(&timer.sleeper.lock);
	return NULL;
}

static void slots_close(void)
{
	(void)pthread_mutex_lock(&timer.sleeper.lock);
	for (size_t i = 0; i < timer.n; i++)
		uv_close((uv_handle_t *)&timer.timers[i], NULL);
	(void)uv_run(&timer.loop, UV_RUN_NOWAIT);
	(void)pthread_mutex_unlock(&timer.sleeper.lock);
	rival_pages_put(timer.timers, timer.n * sizeof(*timer.timers));
}

/* A delay in whole milliseconds, rounded up. */
static inline uint64_t to_ms(int64_t delay_ns)
{
	return ((uint64_t)delay_ns + RIVAL_MSEC - 1) / RIVAL_MSEC;
}

/* The lock is held, and dropped. */
static inline bool start(size_t i, int64_t delay_ns)
{
	uint64_t ms = to_ms(delay_ns);
	int err = uv_timer_start(&timer.timers[i], on_timer, ms, 0);
	uint64_t due_ms = uv_now(&timer.loop) + ms;

	rival_sleeper_unlock(&timer.sleeper, (int64_t)due_ms * RIVAL_MSEC);
	return err == 0;
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	(void)pthread_mutex_lock(&timer.sleeper.lock);
	uv_update_time(&timer.loop);
	return start(i, delay_ns);
}

/* libuv takes only delays, but need not read the clock. */
static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	(void)deadline_ns;
	(void)pthread_mutex_lock(&timer.sleeper.lock);
	return start(i, delay_ns);
}

static inline bool op_cancel(size_t i)
{
	uv_timer_t *t = &timer.timers[i];
	bool pending;

	(void)pthread_mutex_lock(&timer.sleeper.lock);
	pending = uv_is_active((uv_handle_t *)t);
	(void)uv_timer_stop(t);
	(void)pthread_mutex_unlock(&timer.sleeper.lock);
	return pending;
}

/* Later deadlines need not wake the worker. */
static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	uv_timer_t *t = &timer.timers[i];
	bool pending;

	(void)pthread_mutex_lock(&timer.sleeper.lock);
	pending = uv_is_active((uv_handle_t *)t);
	uv_update_time(&timer.loop);
	uv_timer_set_repeat(t, to_ms(delay_ns));
	(void)uv_timer_again(t);
	(void)pthread_mutex_unlock(&timer.sleeper.lock);
	return pending;
}

static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	return uv_timer_start(&timer.timers[i], on_timer, to_ms(delay_ns), 0) ==
	       0;
}

#include "timer_loops.h"

const struct entrant entrant_mutex_libuv = {
	.name = "mutex_libuv",
	.run = run_load,
};
