/* SPDX-License-Identifier: MIT */
/* test_adapter_ev.c - tests the adapter of libev with libev. */
#include "adapter_bed.h"

#include <stdlib.h>
#include <tickwheel_ev.h>

/* A connection's watcher, and its loop. */
struct watch {
	ev_io io;
	struct ev_loop *loop;
};

static void *loop_open(void)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	assert_non_null(loop);
	return loop;
}

static void loop_close(void *loop)
{
	ev_loop_destroy(loop);
}

static void loop_forked(void *loop)
{
	ev_loop_fork(loop);
}

static void run_round(void *loop, bool wait)
{
	(void)ev_run(loop, wait ? EVRUN_ONCE : EVRUN_NOWAIT);
}

static int attach(void *adapter, void *loop, struct tkw_timer *t)
{
	struct tkw_ev_adapter none;

	if (t)
		assert_int_not_equal(tkw_ev_attach(&none, NULL, t), 0);
	return tkw_ev_attach(adapter, loop, t);
}

static void detach(void *adapter)
{
	tkw_ev_detach(adapter);
}

static void detach_and_free(void *adapter)
{
	tkw_ev_detach(adapter);
	free(adapter);
}

static void set_max_tasks(void *adapter, int max_tasks)
{
	((struct tkw_ev_adapter *)adapter)->max_tasks = max_tasks;
}

static struct tkw_timer *timer_of(const void *adapter)
{
	return ((const struct tkw_ev_adapter *)adapter)->timer;
}

static void on_read(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	bed_on_readable(io->data);
}

static void watch(void *w, void *loop, int fd, struct bed_conn *c)
{
	struct watch *mine = w;

	ev_io_init(&mine->io, on_read, fd, EV_READ);
	mine->io.data = c;
	mine->loop = loop;
	ev_io_start(loop, &mine->io);
}

static void unwatch(void *w)
{
	struct watch *mine = w;

	ev_io_stop(mine->loop, &mine->io);
}

static const struct adapter_ops ev_ops = {
	.loop_open = loop_open,
	.loop_close = loop_close,
	.loop_forked = loop_forked,
	.round = run_round,
	.adapter_size = sizeof(struct tkw_ev_adapter),
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
	return bed_main(&ev_ops);
}
