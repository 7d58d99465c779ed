/* SPDX-License-Identifier: MIT */
/*
 * queue_server.c - a server that a program of the benchmark starts for itself,
 * on a free port of the loopback address. It ends with the program, even if the
 * program is killed.
 */
#include "queue_bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	START_TRIES = 5,
	START_S = 120 /* it may have to read a long log first */
};

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

int queue_server_connect(const struct queue_server *s)
{
	struct sockaddr_in to = address(s->port);
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
static bool wait_for_server(const struct queue_server *s)
{
	int64_t end = rival_now() + START_S * RIVAL_SEC;
	int fd;

	while ((fd = queue_server_connect(s)) < 0) {
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
			return false;
		if (rival_now() > end)
			rival_die("the server does not answer");
		rival_sleep_until(rival_now() + RIVAL_MSEC);
	}
	(void)close(fd);
	return true;
}

/* Runs in the child. Does not return. */
static void become_server(const struct queue_server *s, pid_t parent,
			  queue_server_exec *become, const void *ctx)
{
	char port[8];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	(void)snprintf(port, sizeof(port), "%u", (unsigned)s->port);
	/* Nobody but this program writes answers. */
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	become(port, ctx);
	_exit(127);
}

void queue_server_start(struct queue_server *s, queue_server_exec *become,
			const void *ctx)
{
	pid_t parent = getpid();

	/* Somebody else may have taken the port. */
	for (int i = 0; i < START_TRIES; i++) {
		s->port = free_port();
		s->pid = fork();
		if (s->pid < 0)
			rival_die("fork failed");
		if (s->pid == 0)
			become_server(s, parent, become, ctx);
		if (wait_for_server(s))
			return;
	}
	rival_die("the server cannot be started");
}

void queue_server_kill(struct queue_server *s)
{
	(void)kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}
