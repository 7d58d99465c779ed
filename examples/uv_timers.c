/* SPDX-License-Identifier: MIT */
/* uv_timers.c - close idle connections with libuv's timers. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct conn {
	uv_timer_t idle;
	const char *name;
	struct conn *peer;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void close_conn(struct conn *c, const char *why)
{
	printf("%s: %s\n", c->name, why);
	/* The loop owns the handle until on_closed(). */
	uv_close((uv_handle_t *)&c->idle, on_closed);
}

static void on_idle(uv_timer_t *timer)
{
	struct conn *c = timer->data;

	close_conn(c->peer, "closed by its peer");
	close_conn(c, "idle, closed");
}

static int open_conn(struct conn **out, uv_loop_t *loop, const char *name,
		     uint64_t idle_ms)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return UV_ENOMEM;
	c->name = name;
	*out = c->idle.data = c;
	uv_timer_init(loop, &c->idle);
	return uv_timer_start(&c->idle, on_idle, idle_ms, 0);
}

static void on_packet(struct conn *c, uint64_t idle_ms)
{
	if (uv_timer_start(&c->idle, on_idle, idle_ms, 0) == 0)
		printf("%s: a packet, pushed back\n", c->name);
}

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	struct conn *a, *b;

	if (open_conn(&a, loop, "a", 3600000) != 0 ||
	    open_conn(&b, loop, "b", 50) != 0)
		return 1;
	b->peer = a;
	on_packet(a, 7200000);
	uv_run(loop, UV_RUN_DEFAULT); /* until no handle is active */
	return uv_loop_close(loop);
}
