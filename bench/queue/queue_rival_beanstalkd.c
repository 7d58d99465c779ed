/* SPDX-License-Identifier: MIT */
/*
 * queue_rival_beanstalkd.c - the server beanstalkd, with its log in the folder
 * of the sample (-b), which it syncs after every change (-f0) or never (-F).
 *
 * The server runs on a free port of the loopback address and is killed at the
 * end; it also ends with this program. Each caller has a connection. Many items
 * in one call are as many commands in one write, which the server answers one
 * by one.
 */
#include "queue_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	COMMAND_MAX = 64,
	OUT_MAX = QUEUE_MOST * (COMMAND_MAX + QUEUE_PAYLOAD)
};

static struct queue_server server;

/* Where its log is, and whether each change is synced. */
struct place {
	const char *dir;
	bool sync;
};

/* A connection. */
struct caller {
	int fd;
	size_t from, to; /* of what was read and not used yet */
	size_t len;      /* of what is to be sent */
	char in[65536];
	char out[OUT_MAX];
};

/* --- the server ---------------------------------------------------------- */

/* Returns the program, or NULL. */
static const char *find_program(void)
{
	static const char *const places[] = { "/usr/bin/beanstalkd",
					      "/usr/local/bin/beanstalkd",
					      "/usr/sbin/beanstalkd" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], X_OK) == 0)
			return places[i];
	}
	return NULL;
}

static const char *missing(void)
{
	return find_program() ? NULL : "no beanstalkd";
}

/* Runs in the child. Does not return. */
static void become_server(const char *port, const void *ctx)
{
	const struct place *place = ctx;
	const char *program = find_program();

	if (program)
		(void)execl(program, "beanstalkd", "-l", "127.0.0.1", "-p",
			    port, "-b", place->dir, place->sync ? "-f0" : "-F",
			    (char *)NULL);
	_exit(127);
}

static void open_server(const char *dir, bool sync)
{
	struct place place = { dir, sync };

	queue_server_start(&server, become_server, &place);
}

/* Its log is written with write(), so nothing is lost. */
static void close_server(void)
{
	queue_server_kill(&server);
}

static uint64_t resident(void)
{
	return server.pid > 0 ? queue_process_resident(server.pid) : 0;
}

/* --- a connection -------------------------------------------------------- */

static void *caller_open(void)
{
	struct caller *c = rival_pages_get(sizeof(*c));

	c->fd = queue_server_connect(&server);
	if (c->fd < 0)
		rival_die("beanstalkd refuses a connection");
	return c;
}

static void caller_close(void *caller)
{
	struct caller *c = caller;

	(void)close(c->fd);
	rival_pages_put(c, sizeof(*c));
}

static void add(struct caller *c, const char *command)
{
	size_t len = strlen(command);

	memcpy(c->out + c->len, command, len);
	c->len += len;
}

static bool send_all(struct caller *c)
{
	size_t sent = 0;

	while (sent < c->len) {
		ssize_t n =
			send(c->fd, c->out + sent, c->len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		sent += (size_t)n;
	}
	c->len = 0;
	return true;
}

/* Reads until there are `need` bytes. Returns where they are, or NULL. */
static char *read_bytes(struct caller *c, size_t need)
{
	while (c->to - c->from < need) {
		ssize_t n;

		if (c->from > 0) {
			memmove(c->in, c->in + c->from, c->to - c->from);
			c->to -= c->from;
			c->from = 0;
		}
		n = recv(c->fd, c->in + c->to, sizeof(c->in) - c->to, 0);
		if (n <= 0)
			return NULL;
		c->to += (size_t)n;
	}
	return c->in + c->from;
}

/* Reads a line. Returns it without its end, or NULL. It is valid until the next
 * read. */
static char *read_line(struct caller *c)
{
	size_t need = 1;
	char *line;
	char *end;

	do {
		line = read_bytes(c, need);
		if (line == NULL)
			return NULL;
		end = memchr(line, '\n', c->to - c->from);
		need = c->to - c->from + 1;
	} while (end == NULL);
	c->from += (size_t)(end - line) + 1;
	end[end > line && end[-1] == '\r' ? -1 : 0] = '\0';
	return line;
}

static bool expect(struct caller *c, const char *word)
{
	const char *line = read_line(c);

	return line && strncmp(line, word, strlen(word)) == 0;
}

/* --- operations ---------------------------------------------------------- */

static void add_put(struct caller *c, const struct queue_put *put,
		    int64_t now_ms)
{
	int64_t delay_ms = put->due_ms ? put->due_ms - now_ms : 0;
	char command[COMMAND_MAX];
	uint8_t payload[QUEUE_PAYLOAD];

	/* The nearest second. */
	(void)snprintf(command, sizeof(command), "put 0 %" PRId64 " %d %d\r\n",
		       delay_ms > 0 ? (delay_ms + 500) / 1000 : 0,
		       QUEUE_LEASE_S, QUEUE_PAYLOAD);
	add(c, command);
	queue_payload_write(payload, put->number);
	memcpy(c->out + c->len, payload, QUEUE_PAYLOAD);
	c->len += QUEUE_PAYLOAD;
	add(c, "\r\n");
}

static bool put(void *caller, const struct queue_put *puts, size_t n)
{
	int64_t now_ms = queue_wall_us() / 1000;
	struct caller *c = caller;
	bool good;

	for (size_t i = 0; i < n; i++)
		add_put(c, &puts[i], now_ms);
	good = send_all(c);
	for (size_t i = 0; good && i < n; i++)
		good = expect(c, "INSERTED ");
	return good;
}

/* Returns true if an item was reserved. */
static bool read_reserved(struct caller *c, struct queue_taken *out)
{
	static const char word[] = "RESERVED ";
	const char *line = read_line(c);
	const char *body = NULL;

	if (line && strncmp(line, word, sizeof(word) - 1) != 0)
		return false;
	if (line) {
		out->id = strtoull(line + sizeof(word) - 1, NULL, 10);
		out->token = 0;
		body = read_bytes(c, QUEUE_PAYLOAD + 2);
	}
	if (body) {
		out->number = queue_payload_read(body, QUEUE_PAYLOAD);
		c->from += QUEUE_PAYLOAD + 2;
		return true;
	}
	rival_die("beanstalkd has closed the connection");
}

/* Only the first command waits. */
static size_t take(void *caller, size_t max, int64_t wait_ms,
		   struct queue_taken *out)
{
	struct caller *c = caller;
	char command[COMMAND_MAX];
	size_t n = 0;

	(void)snprintf(command, sizeof(command),
		       "reserve-with-timeout %" PRId64 "\r\n",
		       (wait_ms + 999) / 1000);
	add(c, command);
	for (size_t i = 1; i < max; i++)
		add(c, "reserve-with-timeout 0\r\n");
	if (!send_all(c))
		rival_die("beanstalkd has closed the connection");
	for (size_t i = 0; i < max; i++)
		n += read_reserved(c, &out[n]);
	return n;
}

static bool ack(void *caller, const struct queue_taken *taken, size_t n)
{
	struct caller *c = caller;
	char command[COMMAND_MAX];
	bool good;

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(command, sizeof(command),
			       "delete %" PRIu64 "\r\n", taken[i].id);
		add(c, command);
	}
	good = send_all(c);
	for (size_t i = 0; good && i < n; i++)
		good = expect(c, "DELETED");
	return good;
}

const struct queue_entrant queue_beanstalkd = {
	.name = "beanstalkd",
	.missing = missing,
	.keeps = true,
	.whole_seconds = true,
	.open = open_server,
	.close = close_server,
	.caller_open = caller_open,
	.caller_close = caller_close,
	.put = put,
	.put_flight = put,
	.take = take,
	.ack = ack,
	.resident = resident,
};
