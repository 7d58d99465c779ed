/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_epoll.h - run a timer in an epoll loop
 *
 *     struct tkw_epoll_adapter adapter;
 *
 *     tkw_epoll_attach(&adapter, epfd, timer);
 *     while (...) {
 *             n = epoll_wait(epfd, events, 64, -1);
 *             for (i = 0; i < n; i++)
 *                     if (events[i].data.ptr == &adapter)
 *                             tkw_epoll_ready(&adapter);
 *     }
 *     tkw_epoll_detach(&adapter);
 *
 *   Threads  Only one thread at a time may make these calls, usually the
 *            thread of the loop. Tasks run on that thread, inside
 *            tkw_epoll_ready(). Any thread may schedule and cancel timeouts.
 *   Life     You own the memory of the adapter. Do not free or move it between
 *            attach and detach, or while an array of events still holds its
 *            address. After that you may free it or attach it again.
 *   End      Detach the adapter before tkw_timer_destroy(). You may detach it
 *            before or after tkw_timer_stop(). Instead of detaching, you may
 *            close the epoll descriptor. Do not detach after that, because the
 *            number of the descriptor may then belong to another file.
 *   Fork     A child process shares the epoll instance of its parent, so the
 *            child must not poll it. In the child, tkw_epoll_detach() leaves
 *            the epoll instance as it is, and tkw_epoll_ready() returns -EPERM.
 */
#ifndef TICKWHEEL_EPOLL_H
#define TICKWHEEL_EPOLL_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of timeouts that fire before the loop checks its other
 * files. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_epoll_adapter {
	struct tkw_timer *timer; /* NULL if not attached */
	int epfd;
	/* The largest number of timeouts that fire before the loop goes on.
	 * Attach sets it to TKW_ADAPTER_MAX_TASKS. You may change it after
	 * that. */
	int max_tasks;
};

/*
 * Adds the timer to an epoll instance, level-triggered. Its events have the
 * address of the adapter in data.ptr. If the call fails, the adapter is not
 * attached, and tkw_epoll_detach() does nothing.
 *
 * a      The adapter. It must not be attached. It need not be initialised.
 * epfd   The descriptor of the epoll instance.
 * timer  The timer. Its drive must be TKW_DRIVE_LOOP.
 *
 * Returns 0, or
 *   -EINVAL  a or timer is NULL, the timer has another drive, or epfd is not an
 *            epoll descriptor
 *   -EPERM   the timer belongs to the parent of a fork
 *   -EEXIST  the timer is already in this epoll instance
 *   -EBADF, -ENOMEM, -ENOSPC
 *            as in epoll_ctl(2)
 */
static inline int tkw_epoll_attach(struct tkw_epoll_adapter *a, int epfd,
				   struct tkw_timer *timer)
{
	struct epoll_event event;
	int fd = tkw_timer_fd(timer);

	if (a == NULL)
		return -EINVAL;
	a->timer = NULL;
	if (fd < 0)
		return fd;
	memset(&event, 0, sizeof(event));
	event.events = EPOLLIN;
	event.data.ptr = a;
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) != 0)
		return -errno;
	a->timer = timer;
	a->epfd = epfd;
	a->max_tasks = TKW_ADAPTER_MAX_TASKS;
	return 0;
}

/*
 * Takes the timer out of the epoll instance. A task may call this too. It may
 * then free the adapter if no array of events still holds its address. If a is
 * NULL or not attached, the call does nothing.
 */
static inline void tkw_epoll_detach(struct tkw_epoll_adapter *a)
{
	struct epoll_event unused;
	int fd;

	if (a == NULL || a->timer == NULL)
		return;
	fd = tkw_timer_fd(a->timer);
	a->timer = NULL;
	memset(&unused, 0, sizeof(unused)); /* for kernels before 2.6.9 */
	if (fd >= 0) /* else this is a child, which shares the epoll instance */
		(void)epoll_ctl(a->epfd, EPOLL_CTL_DEL, fd, &unused);
}

/*
 * Fires the timeouts that are due. Call this for each event of the adapter. The
 * adapter is not touched after the first task has begun.
 *
 * Returns what tkw_timer_turn() returns; 0 if the adapter was detached after
 * the event came.
 */
static inline int tkw_epoll_ready(struct tkw_epoll_adapter *a)
{
	return a->timer ? tkw_timer_turn(a->timer, a->max_tasks, NULL) : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EPOLL_H */
