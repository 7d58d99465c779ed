/* SPDX-License-Identifier: MIT */
/*
 * heartbeat.c - a server pings idle connections and closes dead ones. Clients
 * whose connection was closed connect again.
 *
 * The server and the clients each have a set of channels, both on one timer. An
 * epoll loop drives the timer with tkw_timer_turn(). So everything runs on one
 * thread, and actions may access any data. The intervals are short because this
 * is an example.
 */
#define _POSIX_C_SOURCE 200809L

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <tickwheel.h>
#include <unistd.h>

#define PERIOD (20 * TKW_MSEC) /* how often each channel is checked */

enum {
	CLIENTS = 50,
	SILENT = 10, /* clients that do not answer on their first connection */
	PINGS = 3
};

/* One end of a connection, or the listening socket. */
struct end {
	struct tkw_channel channel; /* must be the first member */
	void (*on_readable)(struct end *e);
	int fd;
	int pings;   /* server: unanswered; client: on this connection */
	bool silent; /* client: does not answer */
};

static struct tkw_timer *timer;
static struct tkw_channels *server, *clients;
static struct end listener, client_ends[CLIENTS];
static struct sockaddr_in address; /* the server's */
static int loop, server_ends, closed_silent;

static int watch(struct end *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = e };

	return epoll_ctl(loop, EPOLL_CTL_ADD, e->fd, &event);
}

/* Returns true if something was read. The mark is one store; no timeout is
 * moved. */
static bool read_some(struct end *e)
{
	char bytes[64];

	if (recv(e->fd, bytes, sizeof(bytes), 0) <= 0)
		return false;
	tkw_channel_mark_read(&e->channel, tkw_timer_now_ns(timer));
	return true;
}

/* --- the server ---------------------------------------------------------- */

static void drop(struct end *e)
{
	/* With a single thread this call always removes the channel. If several
	 * threads may remove it, free it only if the call returns 0. */
	tkw_channels_remove(server, &e->channel);
	close(e->fd);
	free(e);
	server_ends--;
}

static void on_answer(struct end *e)
{
	if (read_some(e))
		e->pings = 0;
	else
		drop(e);
}

static void on_connection(struct end *l)
{
	struct end *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return;
	server_ends++;
	e->on_readable = on_answer;
	e->fd = accept(l->fd, NULL, NULL);
	if (e->fd < 0 || tkw_channels_add(server, &e->channel) != 0 ||
	    watch(e) != 0)
		drop(e);
}

static int ping(struct tkw_channel *ch, void *ctx)
{
	struct end *e = (struct end *)ch;

	(void)ctx;
	e->pings++;
	if (send(e->fd, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return -1; /* the set only counts the failure */
	tkw_channel_mark_write(ch, tkw_timer_now_ns(timer));
	return 0;
}

static const struct tkw_channel_rule idle = { ping, PERIOD, PERIOD };

/* If this program itself was suspended, no client had time to answer. So close
 * a connection only if it has also left several pings unanswered. */
static int close_dead(struct tkw_channel *ch, void *ctx)
{
	struct end *e = (struct end *)ch;

	(void)ctx;
	if (e->pings >= PINGS)
		drop(e);
	return 0;
}

static const struct tkw_channel_rule dead = { close_dead, 5 * PERIOD, PERIOD };

/* --- the clients --------------------------------------------------------- */

static void on_ping(struct end *e)
{
	if (read_some(e)) {
		e->pings++;
		if (!e->silent)
			(void)send(e->fd, "!", 1, MSG_NOSIGNAL);
		return;
	}
	/* The server has closed the connection. The set will call reconnect().
	 */
	close(e->fd);
	e->fd = -1;
	tkw_channel_mark_connected(&e->channel, 0);
	closed_silent += e->silent;
	e->silent = false;
}

/* Also makes the first connection. If it fails, the set calls it again one
 * period later. */
static int reconnect(struct tkw_channel *ch, void *ctx)
{
	struct end *e = (struct end *)ch;

	(void)ctx;
	if (e->fd >= 0)
		close(e->fd);
	e->pings = 0;
	e->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (e->fd < 0 ||
	    connect(e->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    watch(e) != 0)
		return -1;
	tkw_channel_mark_connected(ch, 1);
	tkw_channel_mark_read(ch, tkw_timer_now_ns(timer));
	return 0;
}

static const struct tkw_channel_rule lost = { reconnect, 500 * PERIOD, PERIOD };

/* Runs the due tasks, then waits for bytes until the next task is due. */
static bool go_round(void)
{
	struct epoll_event event;
	int64_t next_ns, left_ns;
	struct end *e;
	int wait_ms = 1000; /* the longest wait; an extra turn does no harm */

	if (tkw_timer_turn(timer, 0, &next_ns) < 0)
		return false;
	left_ns = next_ns - tkw_timer_now_ns(timer);
	if (left_ns < TKW_SEC)
		wait_ms = left_ns > 0 ? (int)(left_ns / TKW_MSEC) + 1 : 0;
	if (epoll_wait(loop, &event, 1, wait_ms) == 1) {
		e = event.data.ptr;
		e->on_readable(e);
	}
	return true;
}

static bool open_all(void)
{
	const struct tkw_channels_config of_server = {
		.timer = timer,
		.rules = { [TKW_CHANNEL_HEARTBEAT] = idle,
			   [TKW_CHANNEL_CLOSE] = dead },
		.mark_on_add = 1, /* a client that never sends is idle */
	};
	const struct tkw_channels_config of_clients = {
		.timer = timer,
		.rules = { [TKW_CHANNEL_RECONNECT] = lost },
	};
	struct sockaddr *any = (struct sockaddr *)&address;
	socklen_t size = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	loop = epoll_create1(0);
	listener.fd = socket(AF_INET, SOCK_STREAM, 0);
	listener.on_readable = on_connection;
	return tkw_channels_create(&server, &of_server) == 0 &&
	       tkw_channels_create(&clients, &of_clients) == 0 && loop >= 0 &&
	       listener.fd >= 0 && bind(listener.fd, any, size) == 0 &&
	       getsockname(listener.fd, any, &size) == 0 &&
	       listen(listener.fd, SOMAXCONN) == 0 && watch(&listener) == 0;
}

static int count_answering(void)
{
	int n = 0;

	for (const struct end *e = client_ends; e < client_ends + CLIENTS; e++)
		n += e->fd >= 0 && !e->silent && e->pings >= PINGS;
	return n;
}

int main(void)
{
	const struct tkw_timer_config by_hand = { .drive = TKW_DRIVE_MANUAL };
	bool ok = tkw_timer_create(&timer, &by_hand) == 0 && open_all();

	alarm(300); /* the program takes less than a second */
	for (int i = 0; i < CLIENTS; i++) {
		struct end *e = &client_ends[i];

		*e = (struct end){ .on_readable = on_ping, .fd = -1 };
		e->silent = i < SILENT;
		ok = ok && tkw_channels_add(clients, &e->channel) == 0;
		tkw_channel_mark_connected(&e->channel, 0);
	}
	while (ok && count_answering() < CLIENTS)
		ok = go_round();
	if (!ok)
		return 1;
	printf("clients: %d\n", CLIENTS);
	printf("silent, and closed by the server: %d\n", closed_silent);
	printf("connected in the end, and answering: %d\n", count_answering());
	/* The clients disconnect for good. The server notices it. */
	tkw_channels_shutdown(clients);
	for (int i = 0; i < CLIENTS; i++)
		close(client_ends[i].fd);
	while (ok && server_ends > 0)
		ok = go_round();
	close(listener.fd);
	close(loop);
	return !ok || tkw_channels_destroy(clients) != 0 ||
	       tkw_channels_destroy(server) != 0 ||
	       tkw_timer_destroy(timer) != 0 || closed_silent != SILENT;
}
