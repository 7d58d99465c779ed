/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_mutex_libev.c - libev with one mutex around its loop. The loop
 * drops the mutex while it waits, as libev's manual advises. Callbacks run with
 * the mutex held.
 *
 * A caller must wake the loop if its timer is earlier than all others, but
 * libev does not tell whether it is. So we keep a witness: a timer that was in
 * the loop when the loop went to sleep. The loop wakes up for it at the latest.
 */
#include "rival.h"

#include <math.h>
#include <pthread.h>

#include <ev.h>

enum {
	HAS_DEADLINES = 0,
	SLOTS_ARE_CALLERS = 0
};

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	struct ev_loop *loop;
	ev_async wake;
	ev_async quit;
	const ev_timer *witness; /* or NULL */
	/* When the loop wakes up at the latest, or INFINITY if unknown. */
	ev_tstamp wakes_at;
	ev_timer *timers;
	size_t bytes;
} timer;

static void fired(size_t i);

static size_t slot_of(const ev_timer *w)
{
	return (size_t)(w - timer.timers);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	fired(slot_of(w));
}

static void on_wake(struct ev_loop *loop, ev_async *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

static void on_quit(struct ev_loop *loop, ev_async *w, int revents)
{
	(void)w;
	(void)revents;
	ev_break(loop, EVBREAK_ALL);
}

/* Called when the loop is about to wait. */
static void release(struct ev_loop *loop)
{
	(void)loop;
	if (timer.witness && ev_is_active(timer.witness))
		timer.wakes_at = timer.witness->at;
	else
		timer.wakes_at = INFINITY;
	(void)pthread_mutex_unlock(&timer.lock);
}

static void acquire(struct ev_loop *loop)
{
	(void)loop;
	(void)pthread_mutex_lock(&timer.lock);
}

static void *work(void *arg)
{
	(void)pthread_mutex_lock(&timer.lock);
	(void)ev_run(timer.loop, 0);
	(void)pthread_mutex_unlock(&timer.lock);
	return arg;
}

static void timer_open(const struct rival_load *l)
{
	(void)l;
	timer.loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
	if (timer.loop == NULL)
		rival_die("ev_loop_new failed");
	timer.witness = NULL;
	timer.wakes_at = INFINITY;
	(void)pthread_mutex_init(&timer.lock, NULL);
	ev_set_loop_release_cb(timer.loop, release, acquire);
	ev_async_init(&timer.wake, on_wake);
	ev_async_start(timer.loop, &timer.wake);
	ev_async_init(&timer.quit, on_quit);
	ev_async_start(timer.loop, &timer.quit);
	if (pthread_create(&timer.thread, NULL, work, NULL) != 0)
		rival_die("pthread_create failed");
}

static void timer_stop(void)
{
	ev_async_send(timer.loop, &timer.quit);
	(void)pthread_join(timer.thread, NULL);
}

static void timer_close(void)
{
	ev_loop_destroy(timer.loop);
	(void)pthread_mutex_destroy(&timer.lock);
}

static const char *slots_open(size_t n)
{
	timer.bytes = n * sizeof(*timer.timers);
	timer.timers = rival_pages_get(timer.bytes);
	for (size_t i = 0; i < n; i++)
		ev_init(&timer.timers[i], on_timer);
	return NULL;
}

static void slots_close(void)
{
	(void)pthread_mutex_lock(&timer.lock);
	timer.witness = NULL;
	(void)pthread_mutex_unlock(&timer.lock);
	rival_pages_put(timer.timers, timer.bytes);
}

/* The lock is held, and dropped. */
static inline void start(ev_timer *w, int64_t delay_ns)
{
	bool wake;

	ev_timer_set(w, (double)delay_ns * 1e-9, 0.);
	ev_timer_start(timer.loop, w);
	wake = w->at < timer.wakes_at;
	if (wake) {
		timer.witness = w;
		timer.wakes_at = w->at;
	}
	(void)pthread_mutex_unlock(&timer.lock);
	if (wake)
		ev_async_send(timer.loop, &timer.wake);
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	(void)pthread_mutex_lock(&timer.lock);
	ev_now_update(timer.loop);
	start(&timer.timers[i], delay_ns);
	return true;
}

/* libev takes only delays, but need not read the clock. */
static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	(void)deadline_ns;
	(void)pthread_mutex_lock(&timer.lock);
	start(&timer.timers[i], delay_ns);
	return true;
}

static inline bool op_cancel(size_t i)
{
	ev_timer *w = &timer.timers[i];
	bool pending;

	(void)pthread_mutex_lock(&timer.lock);
	pending = ev_is_active(w);
	ev_timer_stop(timer.loop, w);
	(void)pthread_mutex_unlock(&timer.lock);
	return pending;
}

/* Later deadlines need not wake the loop. */
static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	ev_timer *w = &timer.timers[i];
	bool pending;

	(void)pthread_mutex_lock(&timer.lock);
	pending = ev_is_active(w);
	ev_now_update(timer.loop);
	w->repeat = (double)delay_ns * 1e-9;
	ev_timer_again(timer.loop, w);
	(void)pthread_mutex_unlock(&timer.lock);
	return pending;
}

static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	ev_timer *w = &timer.timers[i];

	ev_timer_set(w, (double)delay_ns * 1e-9, 0.);
	ev_timer_start(timer.loop, w);
	return true;
}

#include "timer_loops.h"

const struct entrant entrant_mutex_libev = {
	.name = "mutex_libev",
	.run = run_load,
};
