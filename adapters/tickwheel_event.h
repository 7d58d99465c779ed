/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_event.h - run a timer in a libevent base
 *
 * This needs libevent 2.
 *
 *     struct tkw_event_adapter adapter;
 *
 *     tkw_event_attach(&adapter, base, timer);
 *     event_base_dispatch(base);
 *     tkw_event_detach(&adapter);
 *
 *   Threads  Make all calls on the thread that runs the base. Tasks run there
 *            too, and must not run the base. Any thread may schedule and cancel
 *            timeouts.
 *   Life     You own the memory of the adapter. Do not free or move it between
 *            attach and detach. After that you may free it or attach it again.
 *   End      Detach the adapter before tkw_timer_destroy(). You may detach it
 *            before or after tkw_timer_stop(). Instead of detaching, you may
 *            free the base. Do not detach after that.
 *   Alive    The event keeps event_base_dispatch() running, even if no timeout
 *            is pending.
 *   Fork     In a child process the timer belongs to the parent. If the child
 *            calls event_reinit(), the adapter detaches itself from the child's
 *            base when its callback is next called.
 */
#ifndef TICKWHEEL_EVENT_H
#define TICKWHEEL_EVENT_H

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stddef.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of timeouts that fire before the base checks its other
 * events. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_event_adapter {
	struct event event;
	struct tkw_timer *timer; /* NULL if not attached */
	/* The largest number of timeouts that fire before the base goes on.
	 * Attach sets it to TKW_ADAPTER_MAX_TASKS. You may change it after
	 * that. */
	int max_tasks;
};

/*
 * Takes the timer out of the base. A task may call this too, and may then free
 * the adapter. If a is NULL or not attached, the call does nothing.
 */
static inline void tkw_event_detach(struct tkw_event_adapter *a)
{
	if (a == NULL || a->timer == NULL)
		return;
	a->timer = NULL;
	(void)event_del(&a->event);
}

/* Does not touch the adapter after the turn, because a task may have freed
 * it. */
static inline void tkw__event_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct tkw_event_adapter *a = (struct tkw_event_adapter *)arg;

	(void)fd;
	(void)what;
	/* In a forked child no turn runs, so the fd would stay readable. */
	if (tkw_timer_fd(a->timer) < 0)
		tkw_event_detach(a);
	else
		(void)tkw_timer_turn(a->timer, a->max_tasks, NULL);
}

/*
 * Adds the timer to a base, which then runs it. If the call fails, the adapter
 * is not attached, and tkw_event_detach() does nothing.
 *
 * a      The adapter. It must not be attached. It need not be initialised.
 * base   The base.
 * timer  The timer. Its drive must be TKW_DRIVE_LOOP.
 *
 * Returns 0, or
 *   -EINVAL  an argument is NULL, or the timer has another drive
 *   -EPERM   the timer belongs to the parent of a fork
 *   -ENOMEM  the base refused the event; libevent does not say why
 */
static inline int tkw_event_attach(struct tkw_event_adapter *a,
				   struct event_base *base,
				   struct tkw_timer *timer)
{
	int fd = tkw_timer_fd(timer);

	if (a == NULL)
		return -EINVAL;
	a->timer = NULL;
	if (base == NULL || fd < 0)
		return fd < 0 ? fd : -EINVAL;
	if (event_assign(&a->event, base, fd, EV_READ | EV_PERSIST,
			 tkw__event_on_read, a) != 0)
		return -EINVAL;
	if (event_add(&a->event, NULL) != 0)
		return -ENOMEM;
	a->timer = timer;
	a->max_tasks = TKW_ADAPTER_MAX_TASKS;
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EVENT_H */
