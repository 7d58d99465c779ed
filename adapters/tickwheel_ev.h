/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_ev.h - a timer in a loop of libev, version 4, as it is usually
 * built: with more than one loop (EV_MULTIPLICITY).
 *
 *     struct tkw_ev_adapter adapter;
 *
 *     tkw_ev_attach(&adapter, loop, timer);
 *     ev_run(loop, 0);
 *     tkw_ev_detach(&adapter);
 *
 *   Threads  All calls on the loop's thread: there the tasks run. Any thread
 *            may schedule and cancel. A task must not run the loop.
 *   Life     The adapter is your memory. It must stay, and stay where it is,
 *            from attach to detach. Then it may be freed, or attached again.
 *   End      Detach before tkw_timer_destroy(). A timer that is stopped, but
 *            lives, may be detached as any other. Or destroy the loop first,
 *            with the adapter in it: that is as good as detaching, which must
 *            not be done afterwards, as with any watcher.
 *   Alive    The watcher keeps ev_run() going, also with nothing pending:
 *            ev_unref() after attach, and ev_ref() before detach, if it shall
 *            not.
 *   Fork     In a child the timer is the parent's. After ev_loop_fork() the
 *            adapter takes itself out of the child's loop when it is called.
 */
#ifndef TICKWHEEL_EV_H
#define TICKWHEEL_EV_H

#include <errno.h>
#include <ev.h>
#include <stddef.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many timeouts fire before the loop looks at its other watchers again. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_ev_adapter {
	ev_io io;
	struct ev_loop *loop;
	struct tkw_timer *timer; /* NULL: not attached */
	int max_tasks; /* TKW_ADAPTER_MAX_TASKS; may be changed after attach */
};

/*
 * Take the timer out of the loop. Legal in a task too, which may then free the
 * adapter. NULL, or detached already: nothing happens.
 */
static inline void tkw_ev_detach(struct tkw_ev_adapter *a)
{
	if (a == NULL || a->timer == NULL)
		return;
	a->timer = NULL;
	ev_io_stop(a->loop, &a->io);
}

/* Nothing is touched after the run: a task may have freed the adapter. */
static inline void tkw__ev_on_read(struct ev_loop *loop, ev_io *io, int revents)
{
	struct tkw_ev_adapter *a = (struct tkw_ev_adapter *)io->data;

	(void)loop;
	(void)revents;
	/* In a child of fork() nobody would ever quieten the fd. */
	if (tkw_timer_fd(a->timer) < 0)
		tkw_ev_detach(a);
	else
		(void)tkw_timer_turn(a->timer, a->max_tasks, NULL);
}

/*
 * Let the loop run the timer.
 *
 * a       need not be initialised, and must not be attached.
 * timer   with the drive TKW_DRIVE_LOOP.
 * Return  0; -EINVAL: NULL, or another drive; -EPERM: a timer of the parent of
 *         a fork. After an error a detach is legal, and does nothing.
 */
static inline int tkw_ev_attach(struct tkw_ev_adapter *a, struct ev_loop *loop,
				struct tkw_timer *timer)
{
	int fd = tkw_timer_fd(timer);

	if (a == NULL)
		return -EINVAL;
	a->timer = NULL;
	if (loop == NULL || fd < 0)
		return fd < 0 ? fd : -EINVAL;
	ev_io_init(&a->io, tkw__ev_on_read, fd, EV_READ);
	a->io.data = a;
	a->loop = loop;
	a->timer = timer;
	a->max_tasks = TKW_ADAPTER_MAX_TASKS;
	ev_io_start(loop, &a->io);
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EV_H */
