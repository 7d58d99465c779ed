/* SPDX-License-Identifier: MIT */
/* test_adapter_event.c - tests the adapter of libevent with libevent. */
#include "adapter_bed.h"

#include <stdlib.h>
#include <tickwheel_event.h>

static void *loop_open(void)
{
	struct event_base *base = event_base_new();

	assert_non_null(base);
	return base;
}

static void loop_close(void *base)
{
	event_base_free(base);
}

static void loop_forked(void *base)
{
	assert_int_equal(event_reinit(base), 0);
}

static void run_round(void *base, bool wait)
{
	(void)event_base_loop(base, wait ? EVLOOP_ONCE
					 : EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static int attach(void *adapter, void *base, struct tkw_timer *t)
{
	struct tkw_event_adapter none;

	if (t)
		assert_int_not_equal(tkw_event_attach(&none, NULL, t), 0);
	return tkw_event_attach(adapter, base, t);
}

static void detach(void *adapter)
{
	tkw_event_detach(adapter);
}

static void detach_and_free(void *adapter)
{
	tkw_event_detach(adapter);
	free(adapter);
}

static void set_max_tasks(void *adapter, int max_tasks)
{
	((struct tkw_event_adapter *)adapter)->max_tasks = max_tasks;
}

static struct tkw_timer *timer_of(const void *adapter)
{
	return ((const struct tkw_event_adapter *)adapter)->timer;
}

static void on_read(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	bed_on_readable(arg);
}

static void watch(void *w, void *base, int fd, struct bed_conn *c)
{
	assert_int_equal(
		event_assign(w, base, fd, EV_READ | EV_PERSIST, on_read, c), 0);
	assert_int_equal(event_add(w, NULL), 0);
}

static void unwatch(void *w)
{
	assert_int_equal(event_del(w), 0);
}

static const struct adapter_ops event_ops = {
	.loop_open = loop_open,
	.loop_close = loop_close,
	.loop_forked = loop_forked,
	.round = run_round,
	.adapter_size = sizeof(struct tkw_event_adapter),
	.attach = attach,
	.detach = detach,
	.detach_and_free = detach_and_free,
	.set_max_tasks = set_max_tasks,
	.timer_of = timer_of,
	.watch_size = sizeof(struct event),
	.watch = watch,
	.unwatch = unwatch,
};

int main(void)
{
	int failed = bed_main(&event_ops);

	libevent_global_shutdown();
	return failed;
}
