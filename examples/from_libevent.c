/* SPDX-License-Identifier: MIT */
/* from_libevent.c - event_timers.c, with a tickwheel timer in the same base. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel.h>
#include <tickwheel_event.h>

struct conn {
	struct tkw_timeout_id idle;
	const char *name;
	struct conn *peer;
};

static struct tkw_timer *timer;
static struct tkw_event_adapter adapter;

static void close_conn(struct conn *c, const char *why)
{
	printf("%s: %s\n", c->name, why);
	/* Inside the connection's own on_idle() this does nothing. */
	tkw_timer_cancel(timer, c->idle);
	free(c);
}

static void on_idle(const struct tkw_firing *firing, void *ctx)
{
	struct conn *c = ctx;

	(void)firing;
	close_conn(c->peer, "closed by its peer");
	close_conn(c, "idle, closed");
	tkw_event_detach(&adapter); /* nothing is left: the loop ends */
}

static int open_conn(struct conn **out, const char *name, int64_t idle_ns)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct tkw_task task = { .fn = on_idle, .ctx = c };

	if (c == NULL)
		return -ENOMEM;
	c->name = name;
	*out = c;
	return tkw_timer_schedule(timer, &task, idle_ns, &c->idle);
}

static void on_packet(struct conn *c, int64_t idle_ns)
{
	if (tkw_timer_reschedule(timer, c->idle, idle_ns) == 0)
		printf("%s: a packet, pushed back\n", c->name);
}

int main(void)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = TKW_DRIVE_LOOP };
	struct event_base *base = event_base_new();
	struct conn *a, *b;

	if (base == NULL || tkw_timer_create(&timer, &cfg) != 0 ||
	    tkw_event_attach(&adapter, base, timer) != 0)
		return 1;
	if (open_conn(&a, "a", 3600 * TKW_SEC) != 0 ||
	    open_conn(&b, "b", 50 * TKW_MSEC) != 0)
		return 1;
	b->peer = a;
	on_packet(a, 7200 * TKW_SEC);
	event_base_dispatch(base); /* until no event is pending */
	event_base_free(base);
	return tkw_timer_destroy(timer);
}
