/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_ev.h - run a timer in a libev loop
 *
 * This needs libev 4 with EV_MULTIPLICITY, which is its default.
 *
 *     struct tkw_ev_adapter adapter;
 *
 *     tkw_ev_attach(&adapter, loop, timer);
 *     ev_run(loop, 0);
 *     tkw_ev_detach(&adapter);
 *
 *   Threads  Make all calls on the thread of the loop. Tasks run there too, and
 *            must not run the loop. Any thread may schedule and cancel
 *            timeouts.
 *   Life     You own the memory of the adapter. Do not free or move it between
 *            attach and detach. After that you may free it or attach it again.
 *   End      Detach the adapter before tkw_timer_destroy(). You may detach it
 *            before or after tkw_timer_stop(). Instead of detaching, you may
 *            destroy the loop. Do not detach after that.
 *   Alive    The watcher keeps ev_run() running, even if no timeout is pending.
 *            If you do not want this, call ev_unref() after attach and ev_ref()
 *            before detach.
 *   Fork     In a child process the timer belongs to the parent. If the child
 *            calls ev_loop_fork(), the adapter detaches itself from the child's
 *            loop when its callback is next called.
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

/* The largest number of timeouts that fire before the loop checks its other
 * watchers. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_ev_adapter {
	ev_io io;
	struct ev_loop *loop;
	struct tkw_timer *timer; /* NULL if not attached */
	/* The largest number of timeouts that fire before the loop goes on.
	 * Attach sets it to TKW_ADAPTER_MAX_TASKS. You may change it after
	 * that. */
	int max_tasks;
};

/*
 * Takes the timer out of the loop. A task may call this too, and may then free
 * the adapter. If a is NULL or not attached, the call does nothing.
 */
static inline void tkw_ev_detach(struct tkw_ev_adapter *a)
{
	if (a == NULL || a->timer == NULL)
		return;
	a->timer = NULL;
	ev_io_stop(a->loop, &a->io);
}

/* Does not touch the adapter after the turn, because a task may have freed
 * it. */
static inline void tkw__ev_on_read(struct ev_loop *loop, ev_io *io, int revents)
{
	struct tkw_ev_adapter *a = (struct tkw_ev_adapter *)io->data;

	(void)loop;
	(void)revents;
	/* In a forked child no turn runs, so the fd would stay readable. */
	if (tkw_timer_fd(a->timer) < 0)
		tkw_ev_detach(a);
	else
		(void)tkw_timer_turn(a->timer, a->max_tasks, NULL);
}

/*
 * Adds the timer to a loop, which then runs it. If the call fails, the adapter
 * is not attached, and tkw_ev_detach() does nothing.
 *
 * a      The adapter. It must not be attached. It need not be initialised.
 * loop   The loop.
 * timer  The timer. Its drive must be TKW_DRIVE_LOOP.
 *
 * Returns 0, or
 *   -EINVAL  an argument is NULL, or the timer has another drive
 *   -EPERM   the timer belongs to the parent of a fork
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
