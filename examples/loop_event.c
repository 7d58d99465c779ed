/* SPDX-License-Identifier: MIT */
/*
 * loop_event.c - close idle connections, in a libevent base.
 *
 * Each packet pushes the idle timeout of its connection back. Three clients, at
 * the other ends of socketpairs, send some packets and then fall silent. The
 * clients use the same timer, so everything runs on one thread.
 */
#define _DEFAULT_SOURCE

#include <stdio.h>
#include <sys/socket.h>
#include <tickwheel.h>
#include <tickwheel_event.h>
#include <unistd.h>

#define IDLE (50 * TKW_MSEC)
#define PACE (5 * TKW_MSEC) /* time between two packets */

struct conn {
	const char *name;
	int to_send; /* packets that the client has yet to send */
	int packets; /* packets read so far */
	int near, far;
	struct tkw_timeout_id idle;
	struct event event;
};

static struct conn conns[] = {
	{ .name = "chatty", .to_send = 20 },
	{ .name = "brief", .to_send = 5 },
	{ .name = "silent" },
};

enum {
	CONNS = sizeof(conns) / sizeof(conns[0])
};

static struct tkw_timer *timer;
static struct tkw_event_adapter adapter;
static struct event_base *base;
static int conns_open;

/* Each byte is a packet. Returns whether any was read. */
static int read_packets(struct conn *c)
{
	char bytes[64];
	ssize_t n = recv(c->near, bytes, sizeof(bytes), MSG_DONTWAIT);

	c->packets += n > 0 ? (int)n : 0;
	return n > 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (read_packets(c))
		tkw_timer_reschedule(timer, c->idle, IDLE);
}

static void on_idle(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task again = { .fn = on_idle, .ctx = ctx };
	struct conn *c = ctx;

	(void)firing;
	if (read_packets(c)) { /* not idle: this program was slow */
		tkw_timer_schedule(timer, &again, IDLE, &c->idle);
		return;
	}
	printf("%s: idle after %d packets, closed\n", c->name, c->packets);
	event_del(&c->event);
	close(c->near);
	close(c->far);
	if (--conns_open == 0)
		tkw_event_detach(&adapter); /* lets the loop end */
}

/* Sends one packet from each client that has one left. */
static void send_packets(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task again = { .fn = send_packets };
	int sent = 0;

	(void)ctx;
	(void)firing;
	for (struct conn *c = conns; c < conns + CONNS; c++) {
		if (c->to_send > 0 && send(c->far, "x", 1, 0) == 1) {
			c->to_send--;
			sent++;
		}
	}
	if (sent > 0)
		tkw_timer_schedule(timer, &again, PACE, NULL);
}

static int open_conn(struct conn *c)
{
	const struct tkw_task task = { .fn = on_idle, .ctx = c };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	c->near = ends[0];
	c->far = ends[1];
	conns_open++;
	if (event_assign(&c->event, base, c->near, EV_READ | EV_PERSIST,
			 on_readable, c) != 0 ||
	    event_add(&c->event, NULL) != 0)
		return -1;
	return tkw_timer_schedule(timer, &task, IDLE, &c->idle);
}

int main(void)
{
	const struct tkw_timer_config in_loop = { .drive = TKW_DRIVE_LOOP };
	const struct tkw_task clients = { .fn = send_packets };

	base = event_base_new();
	if (base == NULL || tkw_timer_create(&timer, &in_loop) != 0 ||
	    tkw_event_attach(&adapter, base, timer) != 0)
		return 1;
	tkw_timer_schedule(timer, &clients, PACE, NULL);
	for (int i = 0; i < CONNS; i++) {
		if (open_conn(&conns[i]) != 0)
			return 1;
	}
	event_base_dispatch(base);
	printf("all are closed\n");
	event_base_free(base);
	return tkw_timer_destroy(timer) != 0;
}
