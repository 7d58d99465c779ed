/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_event.h - a timer in a base of libevent, version 2.
 *
 *     struct tkw_event_adapter adapter;
 *
 *     tkw_event_attach(&adapter, base, timer);
 *     event_base_dispatch(base);
 *     tkw_event_detach(&adapter);
 *
 *   Threads  All calls on the thread that runs the base: there the tasks run.
 *            Any thread may schedule and cancel. A task must not run the base.
 *   Life     The adapter is your memory. It must stay, and stay where it is,
 *            from attach to detach. Then it may be freed, or attached again.
 *   End      Detach before tkw_timer_destroy(). A timer that is stopped, but
 *            lives, may be detached as any other. Or free the base first, with
 *            the adapter in it: that is as good as detaching, which must not be
 *            done afterwards, as with any event.
 *   Alive    The event keeps event_base_dispatch() going, also with nothing
 *            pending.
 *   Fork     In a child the timer is the parent's. After event_reinit() the
 *            adapter takes itself out of the child's loop when it is called.
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

/* How many timeouts fire before the base looks at its other events again. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_event_adapter {
	struct event event;
	struct tkw_timer *timer; /* NULL: not attached */
	int max_tasks; /* TKW_ADAPTER_MAX_TASKS; may be changed after attach */
};

/*
 * Take the timer out of the base. Legal in a task too, which may then free the
 * adapter. NULL, or detached already: nothing happens.
 */
static inline void tkw_event_detach(struct tkw_event_adapter *a)
{
	if (a == NULL || a->timer == NULL)
		return;
	a->timer = NULL;
	(void)event_del(&a->event);
}

/* Nothing is touched after the run: a task may have freed the adapter. */
static inline void tkw__event_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct tkw_event_adapter *a = (struct tkw_event_adapter *)arg;

	(void)fd;
	(void)what;
	/* In a child of fork() nobody would ever quieten the fd. */
	if (tkw_timer_fd(a->timer) < 0)
		tkw_event_detach(a);
	else
		(void)tkw_timer_turn(a->timer, a->max_tasks, NULL);
}

/*
 * Let the base run the timer.
 *
 * a       need not be initialised, and must not be attached.
 * timer   with the drive TKW_DRIVE_LOOP.
 * Return  0; -EINVAL: NULL, or another drive; -EPERM: a timer of the parent of
 *         a fork; -ENOMEM: the base refused it, and does not say why. After an
 *         error a detach is legal, and does nothing.
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
