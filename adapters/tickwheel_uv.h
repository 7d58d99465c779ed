/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_uv.h - a timer in a loop of libuv.
 *
 *     struct tkw_uv_adapter adapter;
 *
 *     tkw_uv_attach(&adapter, loop, timer);
 *     uv_run(loop, UV_RUN_DEFAULT);
 *     tkw_uv_detach(&adapter);
 *     uv_run(loop, UV_RUN_DEFAULT);    (closes the handle)
 *
 *   Threads  All calls on the loop's thread: there the tasks run. Any thread
 *            may schedule and cancel. A task must not run the loop.
 *   Life     The adapter is your memory, and has a handle of libuv in it: as
 *            for any handle, it must stay, and stay where it is, until that is
 *            closed, which needs one more round of the loop after detach. Set
 *            on_closed, after attach, to be told.
 *   End      Detach before tkw_timer_destroy(); the timer may be destroyed
 *            right after, before the handle is closed. A timer that is stopped,
 *            but lives, may be detached as any other. Or close the handle
 *            yourself, as by uv_walk() and uv_close(): that is as good as
 *            detaching, which does nothing then. (on_closed is not called.)
 *   Alive    The handle keeps uv_run() going, also with nothing pending:
 *            uv_unref((uv_handle_t *)&adapter.poll) if it shall not.
 *   Fork     In a child the timer is the parent's. After uv_loop_fork() the
 *            adapter takes itself out of the child's loop when it is called.
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

/* How many timeouts fire before the loop looks at its other handles again. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_uv_adapter {
	uv_poll_t poll;
	struct tkw_timer *timer; /* NULL: not attached */
	int max_tasks; /* TKW_ADAPTER_MAX_TASKS; may be changed after attach */
	/* Called when the memory is no longer libuv's; NULL after attach. */
	void (*on_closed)(struct tkw_uv_adapter *a);
};

static inline void tkw__uv_on_close(uv_handle_t *handle)
{
	struct tkw_uv_adapter *a = (struct tkw_uv_adapter *)handle->data;

	if (a->on_closed)
		a->on_closed(a);
}

/*
 * Take the timer out of the loop. Legal in a task too. NULL, or detached
 * already: nothing happens.
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

/* Nothing is touched after the run: a task may have detached the adapter. */
static inline void tkw__uv_on_poll(uv_poll_t *poll, int status, int events)
{
	struct tkw_uv_adapter *a = (struct tkw_uv_adapter *)poll->data;

	(void)status;
	(void)events;
	/* In a child of fork() nobody would ever quieten the fd. */
	if (tkw_timer_fd(a->timer) < 0)
		tkw_uv_detach(a);
	else
		(void)tkw_timer_turn(a->timer, a->max_tasks, NULL);
}

/*
 * Let the loop run the timer.
 *
 * a       need not be initialised, and must not be attached, nor be closing.
 * timer   with the drive TKW_DRIVE_LOOP.
 * Return  0; -EINVAL: NULL, or another drive; -EPERM: a timer of the parent of
 *         a fork; -EEXIST: this loop has the timer already; else what
 *         uv_poll_init() says, a negative errno. After an error the memory is
 *         yours, and a detach is legal, and does nothing.
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
	/* It has nothing to refuse in a handle that was just made. */
	(void)uv_poll_start(&a->poll, UV_READABLE, tkw__uv_on_poll);
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_UV_H */
