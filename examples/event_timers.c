/* SPDX-License-Identifier: MIT */
/* event_timers.c - close idle connections with libevent's timers. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

struct conn {
	struct event *idle;
	const char *name;
	struct conn *peer;
};

static void close_conn(struct conn *c, const char *why)
{
	printf("%s: %s\n", c->name, why);
	event_free(c->idle); /* deletes it too */
	free(c);
}

static void on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	close_conn(c->peer, "closed by its peer");
	close_conn(c, "idle, closed");
}

static int open_conn(struct conn **out, struct event_base *base,
		     const char *name, const struct timeval *idle)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -1;
	c->name = name;
	c->idle = evtimer_new(base, on_idle, c);
	*out = c;
	return c->idle == NULL ? -1 : evtimer_add(c->idle, idle);
}

static void on_packet(struct conn *c, const struct timeval *idle)
{
	if (evtimer_add(c->idle, idle) == 0)
		printf("%s: a packet, pushed back\n", c->name);
}

int main(void)
{
	const struct timeval hour = { 3600, 0 }, later = { 7200, 0 };
	const struct timeval soon = { 0, 50000 };
	struct event_base *base = event_base_new();
	struct conn *a, *b;

	if (base == NULL || open_conn(&a, base, "a", &hour) != 0 ||
	    open_conn(&b, base, "b", &soon) != 0)
		return 1;
	b->peer = a;
	on_packet(a, &later);
	event_base_dispatch(base); /* until no event is pending */
	event_base_free(base);
	return 0;
}
