/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_uv.h - run a timer in a libuv loop
 *
 *     struct tkw_uv_adapter adapter;
 *
 *     tkw_uv_attach(&adapter, loop, timer);
 *     uv_run(loop, UV_RUN_DEFAULT);
 *     tkw_uv_detach(&adapter);
 *     uv_run(loop, UV_RUN_DEFAULT);    (closes the handle)
 *
 *   Threads  Make all calls on the thread of the loop. Tasks run there too, and
 *            must not run the loop. Any thread may schedule and cancel
 *            timeouts.
 *   Life     You own the memory of the adapter, which contains a libuv handle.
 *            Do not free or move the adapter between attach and the moment when
 *            the handle is closed. After detach, libuv closes the handle in the
 *            next iteration of the loop and then calls on_closed. Set on_closed
 *            after attach if you need it.
 *   End      Detach the adapter before tkw_timer_destroy(). You may detach it
 *            before or after tkw_timer_stop(). The timer may be destroyed right
 *            after you have detached the adapter, before the handle is closed.
 *            Instead of detaching, you may close the handle yourself, for
 *            example with uv_walk() and uv_close(). In that case on_closed is
 *            not called, and tkw_uv_detach() does nothing.
 *   Alive    The handle keeps uv_run() running, even if no timeout is pending.
 *            If you do not want this, call
 *            uv_unref((uv_handle_t *)&adapter.poll) after attach.
 *   Fork     In a child process the timer belongs to the parent. If the child
 *            calls uv_loop_fork(), the adapter detaches itself from the child's
 *            loop when its callback is next called.
 */
#ifndef TICKWHEEL_UV_H
#define TICKWHEEL_UV_H

#include <errno.h>
#include <stddef.h>
#include <uv.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of timeouts that fire before the loop checks its other
 * handles. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_uv_adapter {
	uv_poll_t poll;
	struct tkw_timer *timer; /* NULL if not attached */
	/* The largest number of timeouts that fire before the loop goes on.
	 * Attach sets it to TKW_ADAPTER_MAX_TASKS. You may change it after
	 * that. */
	int max_tasks;
	/* Called when libuv does not use the adapter any more. tkw_uv_attach()
	 * sets it to NULL. */
	void (*on_closed)(struct tkw_uv_adapter *a);
};

static inline void tkw__uv_on_close(uv_handle_t *handle)
{
	struct tkw_uv_adapter *a = (struct tkw_uv_adapter *)handle->data;

	if (a->on_closed)
		a->on_closed(a);
}

/*
 * Takes the timer out of the loop. A task may call this too. If a is NULL or
 * not attached, the call does nothing.
 */
static inline void tkw_uv_detach(struct tkw_uv_adapter *a)
{
	uv_handle_t *handle;

	if (a == NULL || a->timer == NULL)
		return;
	a->timer = NULL;
	handle = (uv_handle_t *)&a->poll;
	if (!uv_is_closing(handle))
		uv_close(handle, tkw__uv_on_close);
}

/* Does not touch the adapter after the turn, because a task may have detached
 * it. */
static inline void tkw__uv_on_poll(uv_poll_t *poll, int status, int events)
{
	struct tkw_uv_adapter *a = (struct tkw_uv_adapter *)poll->data;

	(void)status;
	(void)events;
	/* In a forked child no turn runs, so the fd would stay readable. */
	if (tkw_timer_fd(a->timer) < 0)
		tkw_uv_detach(a);
	else
		(void)tkw_timer_turn(a->timer, a->max_tasks, NULL);
}

/*
 * Adds the timer to a loop, which then runs it. If the call fails, the adapter
 * is not attached, tkw_uv_detach() does nothing, and you may free the adapter.
 *
 * a      The adapter. It must not be attached, and its handle must not be
 *        closing. It need not be initialised.
 * loop   The loop.
 * timer  The timer. Its drive must be TKW_DRIVE_LOOP.
 *
 * Returns 0, any error of uv_poll_init(), or
 *   -EINVAL  an argument is NULL, or the timer has another drive
 *   -EPERM   the timer belongs to the parent of a fork
 *   -EEXIST  the timer is already in this loop
 */
static inline int tkw_uv_attach(struct tkw_uv_adapter *a, uv_loop_t *loop,
				struct tkw_timer *timer)
{
	int fd = tkw_timer_fd(timer);
	int err;

	if (a == NULL)
		return -EINVAL;
	a->timer = NULL;
	if (loop == NULL || fd < 0)
		return fd < 0 ? fd : -EINVAL;
	err = uv_poll_init(loop, &a->poll, fd);
	if (err != 0)
		return err;
	a->poll.data = a;
	a->timer = timer;
	a->max_tasks = TKW_ADAPTER_MAX_TASKS;
	a->on_closed = NULL;
	/* This cannot fail: the handle was just initialised. */
	(void)uv_poll_start(&a->poll, UV_READABLE, tkw__uv_on_poll);
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_UV_H */
