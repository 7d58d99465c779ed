/* SPDX-License-Identifier: MIT */
/*
 * loop_epoll.c - close idle connections, in a plain epoll loop.
 *
 * Each packet pushes the idle timeout of its connection back. Three clients, at
 * the other ends of socketpairs, send some packets and then fall silent. The
 * clients use the same timer, so everything runs on one thread.
 */
#define _DEFAULT_SOURCE

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <tickwheel.h>
#include <tickwheel_epoll.h>
#include <unistd.h>

#define IDLE (50 * TKW_MSEC)
#define PACE (5 * TKW_MSEC) /* time between two packets */

struct conn {
	const char *name;
	int to_send; /* packets that the client has yet to send */
	int packets; /* packets read so far */
	int near, far;
	struct tkw_timeout_id idle;
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
static struct tkw_epoll_adapter adapter;
static int loop;
static int conns_open;

/* Each byte is a packet. Returns whether any was read. */
static int read_packets(struct conn *c)
{
	char bytes[64];
	ssize_t n = recv(c->near, bytes, sizeof(bytes), MSG_DONTWAIT);

	c->packets += n > 0 ? (int)n : 0;
	return n > 0;
}

static void on_readable(struct conn *c)
{
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
	epoll_ctl(loop, EPOLL_CTL_DEL, c->near, NULL);
	close(c->near);
	close(c->far);
	if (--conns_open == 0)
		tkw_epoll_detach(&adapter); /* nothing is left to wait for */
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
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	c->near = ends[0];
	c->far = ends[1];
	conns_open++;
	if (epoll_ctl(loop, EPOLL_CTL_ADD, c->near, &event) != 0)
		return -1;
	return tkw_timer_schedule(timer, &task, IDLE, &c->idle);
}

int main(void)
{
	const struct tkw_timer_config in_loop = { .drive = TKW_DRIVE_LOOP };
	const struct tkw_task clients = { .fn = send_packets };
	struct epoll_event event;

	loop = epoll_create1(EPOLL_CLOEXEC);
	if (loop < 0 || tkw_timer_create(&timer, &in_loop) != 0 ||
	    tkw_epoll_attach(&adapter, loop, timer) != 0)
		return 1;
	tkw_timer_schedule(timer, &clients, PACE, NULL);
	for (int i = 0; i < CONNS; i++) {
		if (open_conn(&conns[i]) != 0)
			return 1;
	}
	/* Take one event at a time, because a task may close the connection of
	 * the next event. */
	while (conns_open > 0) {
		if (epoll_wait(loop, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == &adapter)
			tkw_epoll_ready(&adapter);
		else
			on_readable(event.data.ptr);
	}
	printf("all are closed\n");
	close(loop);
	return tkw_timer_destroy(timer) != 0;
}
