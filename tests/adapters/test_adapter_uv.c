/* SPDX-License-Identifier: MIT */
/* test_adapter_uv.c - tests the adapter of libuv with libuv. */
#include "adapter_bed.h"

#include <stdlib.h>
#include <tickwheel_uv.h>

static void *loop_open(void)
{
	uv_loop_t *loop = bed_calloc(1, sizeof(*loop));

	assert_int_equal(uv_loop_init(loop), 0);
	return loop;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void loop_close(void *loop)
{
	uv_walk(loop, close_handle, NULL);
	assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(loop), 0);
	free(loop);
}

static void loop_forked(void *loop)
{
	assert_int_equal(uv_loop_fork(loop), 0);
}

static void run_round(void *loop, bool wait)
{
	(void)uv_run(loop, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

static int attach(void *adapter, void *loop, struct tkw_timer *t)
{
	int err = tkw_uv_attach(adapter, loop, t);
	struct tkw_uv_adapter second;

	if (err != 0)
		return err;
	assert_int_equal(tkw_uv_attach(&second, loop, t), -EEXIST);
	tkw_uv_detach(&second);
	assert_int_equal(tkw_uv_attach(&second, NULL, t), -EINVAL);
	return 0;
}

static void detach(void *adapter)
{
	tkw_uv_detach(adapter);
}

static void free_closed(struct tkw_uv_adapter *a)
{
	free(a);
}

static void detach_and_free(void *adapter)
{
	((struct tkw_uv_adapter *)adapter)->on_closed = free_closed;
	tkw_uv_detach(adapter);
}

static void set_max_tasks(void *adapter, int max_tasks)
{
	((struct tkw_uv_adapter *)adapter)->max_tasks = max_tasks;
}

static struct tkw_timer *timer_of(const void *adapter)
{
	return ((const struct tkw_uv_adapter *)adapter)->timer;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)events;
	assert_int_equal(status, 0);
	bed_on_readable(poll->data);
}

static void watch(void *w, void *loop, int fd, struct bed_conn *c)
{
	uv_poll_t *poll = w;

	assert_int_equal(uv_poll_init(loop, poll, fd), 0);
	poll->data = c;
	assert_int_equal(uv_poll_start(poll, UV_READABLE, on_poll), 0);
}

static void unwatch(void *w)
{
	uv_close(w, NULL);
}

static const struct adapter_ops uv_ops = {
	.loop_open = loop_open,
	.loop_close = loop_close,
	.loop_forked = loop_forked,
	.round = run_round,
	.adapter_size = sizeof(struct tkw_uv_adapter),
	.attach = attach,
	.detach = detach,
	.detach_and_free = detach_and_free,
	.detach_after_close = true,
	.set_max_tasks = set_max_tasks,
	.timer_of = timer_of,
	.watch_size = sizeof(uv_poll_t),
	.watch = watch,
	.unwatch = unwatch,
};

int main(void)
{
	return bed_main(&uv_ops);
}
