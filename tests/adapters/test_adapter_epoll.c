/* SPDX-License-Identifier: MIT */
/* test_adapter_epoll.c - tests the adapter of plain epoll. */
#include "adapter_bed.h"

#include <stdlib.h>
#include <tickwheel_epoll.h>
#include <unistd.h>

enum {
	EVENTS = 64
};

struct loop {
	int epfd;
	const void *adapter; /* to know the events of the adapter */
};

/* What the events of a connection point to. */
struct watch {
	struct bed_conn *conn; /* NULL if it was closed after the event */
	int epfd;
	int fd;
};

static void *loop_open(void)
{
	struct loop *l = bed_calloc(1, sizeof(*l));

	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(l->epfd >= 0);
	return l;
}

static void loop_close(void *loop)
{
	struct loop *l = loop;

	assert_int_equal(close(l->epfd), 0);
	free(l);
}

static void run_round(void *loop, bool wait)
{
	const struct loop *l = loop;
	struct epoll_event events[EVENTS];
	int n;

	do {
		n = epoll_wait(l->epfd, events, EVENTS, wait ? -1 : 0);
	} while (n < 0 && errno == EINTR);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		void *ptr = events[i].data.ptr;

		if (ptr == l->adapter)
			(void)tkw_epoll_ready(ptr);
		else if (((struct watch *)ptr)->conn)
			bed_on_readable(((struct watch *)ptr)->conn);
	}
}

static int attach(void *adapter, void *loop, struct tkw_timer *t)
{
	struct loop *l = loop;
	int err = tkw_epoll_attach(adapter, l->epfd, t);
	struct tkw_epoll_adapter second;

	if (err != 0)
		return err;
	l->adapter = adapter;
	assert_int_equal(tkw_epoll_attach(&second, l->epfd, t), -EEXIST);
	tkw_epoll_detach(&second);
	assert_int_equal(tkw_epoll_attach(&second, -1, t), -EBADF);
	return 0;
}

/* Calling ready for an adapter that was detached does nothing. */
static void detach(void *adapter)
{
	tkw_epoll_detach(adapter);
	if (adapter)
		assert_int_equal(tkw_epoll_ready(adapter), 0);
}

static void detach_and_free(void *adapter)
{
	detach(adapter);
	free(adapter);
}

static void set_max_tasks(void *adapter, int max_tasks)
{
	((struct tkw_epoll_adapter *)adapter)->max_tasks = max_tasks;
}

static struct tkw_timer *timer_of(const void *adapter)
{
	return ((const struct tkw_epoll_adapter *)adapter)->timer;
}

static void watch(void *w, void *loop, int fd, struct bed_conn *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = w };
	const struct loop *l = loop;

	*(struct watch *)w = (struct watch){ c, l->epfd, fd };
	assert_int_equal(epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &event), 0);
}

static void unwatch(void *w)
{
	struct watch *mine = w;

	mine->conn = NULL;
	assert_int_equal(epoll_ctl(mine->epfd, EPOLL_CTL_DEL, mine->fd, NULL),
			 0);
}

static const struct adapter_ops epoll_ops = {
	.loop_open = loop_open,
	.loop_close = loop_close,
	.round = run_round,
	.adapter_size = sizeof(struct tkw_epoll_adapter),
	.attach = attach,
	.detach = detach,
	.detach_and_free = detach_and_free,
	.set_max_tasks = set_max_tasks,
	.timer_of = timer_of,
	.watch_size = sizeof(struct watch),
	.watch = watch,
	.unwatch = unwatch,
};

int main(void)
{
	return bed_main(&epoll_ops);
}
