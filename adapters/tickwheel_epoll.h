/* SPDX-License-Identifier: MIT */
/*
 * tickwheel_epoll.h - a timer in a loop of plain epoll.
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
 *   Threads  All calls on one thread at a time, usually the loop's: there the
 *            tasks run. Any thread may schedule and cancel.
 *   Life     The adapter is your memory. It must stay, and stay where it is,
 *            from attach to detach, and until no array of events has its
 *            address any more. Then it may be freed, or attached again.
 *   End      Detach before tkw_timer_destroy(). A timer that is stopped, but
 *            lives, may be detached as any other. Or close the epoll fd first,
 *            with the adapter in it: that is as good as detaching, which must
 *            not be done afterwards, for the number may be another file's.
 *   Fork     The epoll of a child is that of the parent. Detach leaves it as it
 *            is there, and tkw_epoll_ready() says -EPERM: do not poll it.
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

/* How many timeouts fire before the loop looks at its other files again. */
#ifndef TKW_ADAPTER_MAX_TASKS
#define TKW_ADAPTER_MAX_TASKS 1024
#endif

struct tkw_epoll_adapter {
	struct tkw_timer *timer; /* NULL: not attached */
	int epfd;
	int max_tasks; /* TKW_ADAPTER_MAX_TASKS; may be changed after attach */
};

/*
 * Watch the timer, level-triggered. Events for it have data.ptr = a.
 *
 * a       need not be initialised, and must not be attached.
 * timer   with the drive TKW_DRIVE_LOOP.
 * Return  0; -EINVAL: NULL, another drive, or epfd is no epoll; -EPERM: a timer
 *         of the parent of a fork; -EEXIST: this epoll has the timer already;
 *         -EBADF, -ENOMEM, -ENOSPC: as epoll_ctl(). After an error a detach is
 *         legal, and does nothing.
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
 * Stop watching. Legal in a task too, which may free the adapter if no event of
 * it is still to be looked at. NULL, or detached already: nothing happens.
 */
static inline void tkw_epoll_detach(struct tkw_epoll_adapter *a)
{
	struct epoll_event unused;
	int fd;

	if (a == NULL || a->timer == NULL)
		return;
	fd = tkw_timer_fd(a->timer);
	a->timer = NULL;
	memset(&unused, 0, sizeof(unused)); /* old kernels want one */
	if (fd >= 0) /* else this is a child, and the epoll is the parent's */
		(void)epoll_ctl(a->epfd, EPOLL_CTL_DEL, fd, &unused);
}

/*
 * An event has come: fire what is due. The adapter is not touched after the
 * first task.
 *
 * Return  as tkw_timer_turn(); 0 if it was detached since the event came.
 */
static inline int tkw_epoll_ready(struct tkw_epoll_adapter *a)
{
	return a->timer ? tkw_timer_turn(a->timer, a->max_tasks, NULL) : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EPOLL_H */
