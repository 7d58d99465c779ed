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

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	START_TRIES = 5,
	START_S = 120, /* it may have to read a long log first */
	COMMAND_MAX = 64,
	OUT_MAX = QUEUE_MOST * (COMMAND_MAX + QUEUE_PAYLOAD)
};

static struct {
	pid_t pid;
	uint16_t port;
} server;

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

static struct sockaddr_in address(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return to;
}

/* Returns a port that was free a moment ago. */
static uint16_t free_port(void)
{
	struct sockaddr_in at = address(0);
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0)
		rival_die("no port is free");
	(void)close(fd);
	return ntohs(at.sin_port);
}

/* Runs in the child. Does not return. */
static void become_server(const char *dir, bool sync, pid_t parent)
{
	const char *program = find_program();
	char port[8];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!program || getppid() != parent)
		_exit(127);
	(void)snprintf(port, sizeof(port), "%u", (unsigned)server.port);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	(void)execl(program, "beanstalkd", "-l", "127.0.0.1", "-p", port, "-b",
		    dir, sync ? "-f0" : "-F", (char *)NULL);
	_exit(127);
}

/* Returns a connection, or -1. */
static int connect_once(void)
{
	struct sockaddr_in to = address(server.port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0)
		rival_die("socket failed");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Returns true when the server answers, false if it has ended. */
static bool wait_for_server(void)
{
	int64_t end = rival_now() + START_S * RIVAL_SEC;
	int fd;

	while ((fd = connect_once()) < 0) {
		if (waitpid(server.pid, NULL, WNOHANG) == server.pid)
			return false;
		if (rival_now() > end)
			rival_die("beanstalkd does not answer");
		rival_sleep_until(rival_now() + RIVAL_MSEC);
	}
	(void)close(fd);
	return true;
}

static void open_server(const char *dir, bool sync)
{
	pid_t parent = getpid();

	/* Somebody else may have taken the port. */
	for (int i = 0; i < START_TRIES; i++) {
		server.port = free_port();
		server.pid = fork();
		if (server.pid < 0)
			rival_die("fork failed");
		if (server.pid == 0)
			become_server(dir, sync, parent);
		if (wait_for_server())
			return;
	}
	rival_die("beanstalkd cannot be started");
}

static void close_server(void)
{
	/* Its log is written with write(), so nothing is lost. */
	(void)kill(server.pid, SIGKILL);
	while (waitpid(server.pid, NULL, 0) < 0 && errno == EINTR)
		;
	server.pid = 0;
}

static uint64_t resident(void)
{
	return server.pid > 0 ? queue_process_resident(server.pid) : 0;
}

/* --- a connection -------------------------------------------------------- */

static void *caller_open(void)
{
	struct caller *c = rival_pages_get(sizeof(*c));

	c->fd = connect_once();
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
