/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_mutex_libevent.c - libevent with its own locks. It knows when its
 * loop must be woken, and calls back without holding a lock. The events are its
 * public struct, in one array.
 */
#include "rival.h"

#include <pthread.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

enum {
	HAS_DEADLINES = 0,
	SLOTS_ARE_CALLERS = 0
};

static struct {
	pthread_t thread;
	struct event_base *base;
	struct event *events;
	size_t n;
} timer;

static void fired(size_t i);

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	fired((size_t)(uintptr_t)arg);
}

static void *work(void *arg)
{
	(void)event_base_loop(timer.base, EVLOOP_NO_EXIT_ON_EMPTY);
	return arg;
}

static void timer_open(const struct rival_load *l)
{
	struct event_config *cfg;

	if (evthread_use_pthreads() != 0)
		rival_die("evthread_use_pthreads failed");
	cfg = event_config_new();
	if (cfg == NULL)
		rival_die("event_config_new failed");
	(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
	/* By default libevent uses a coarse clock, and threads that schedule
	 * use the time that its loop has cached. That is cheaper, but timeouts
	 * are milliseconds early. */
	if (l->kind == RIVAL_LATENESS) {
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER);
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NO_CACHE_TIME);
	}
	timer.base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (timer.base == NULL)
		rival_die("event_base_new_with_config failed");
	if (pthread_create(&timer.thread, NULL, work, NULL) != 0)
		rival_die("pthread_create failed");
}

static void timer_stop(void)
{
	(void)event_base_loopbreak(timer.base);
	(void)pthread_join(timer.thread, NULL);
}

static void timer_close(void)
{
	event_base_free(timer.base);
}

static const char *slots_open(size_t n)
{
	timer.n = n;
	timer.events = rival_pages_get(n * sizeof(*timer.events));
	for (size_t i = 0; i < n; i++)
		(void)evtimer_assign(&timer.events[i], timer.base, on_timeout,
				     (void *)(uintptr_t)i);
	return NULL;
}

static void slots_close(void)
{
	for (size_t i = timer.n; i-- > 0;)
		(void)event_del(&timer.events[i]);
	rival_pages_put(timer.events, timer.n * sizeof(*timer.events));
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	/* Rounded up, so that it is not early. */
	int64_t us = (delay_ns + RIVAL_USEC - 1) / RIVAL_USEC;
	struct timeval tv = { .tv_sec = (time_t)(us / 1000000),
			      .tv_usec = (suseconds_t)(us % 1000000) };

	return event_add(&timer.events[i], &tv) == 0;
}

/* libevent reads its clock in any case. */
static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	(void)deadline_ns;
	return op_schedule(i, delay_ns);
}

/* To ask whether it was pending would take another call, and the lock again.
 * Instead, the number that fired and the number that is left are checked at the
 * end. */
static inline bool op_cancel(size_t i)
{
	return event_del(&timer.events[i]) == 0;
}

static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	return op_schedule(i, delay_ns);
}

static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	return op_schedule(i, delay_ns);
}

/* libevent does not count the events with which it wakes its loop. */
static bool pending_is(size_t n)
{
	int count =
		event_base_get_num_events(timer.base, EVENT_BASE_COUNT_ADDED);

	return count >= 0 && (size_t)count == n;
}
#define PENDING_IS(n) pending_is(n)

#include "timer_loops.h"

const struct entrant entrant_mutex_libevent = {
	.name = "mutex_libevent",
	.run = run_load,
};
