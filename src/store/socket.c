/* SPDX-License-Identifier: MIT */
/*
 * socket.c - the socket beside an open file of queues.
 *
 * A connection is always in one of these states:
 *
 *   READ   the next request comes in        watched for input
 *   BUSY   the desk has its request         watched for its end only
 *   WRITE  the answer goes out              watched for room
 *   GONE   closed, but the desk still has   not watched
 *          its request
 *
 * An epoll descriptor watches all of them, so that the keeper has one
 * descriptor to poll, however many clients there are.
 */
#define _GNU_SOURCE /* accept4(), struct ucred */
#include "store/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "store/address.h"
#include "store/clerk.h"
#include "store/keeper.h"
#include "store/wire.h"

enum {
	/* How much is done before the keeper gets its thread back. */
	EVENTS = 64,
	ACCEPTS = 16,
	/* How much is read from a connection at once, and how often, before it
	 * is the turn of the next one. */
	READ_BYTES = 64 << 10,
	READS = 8,
	/* Buffers that are larger are not kept for the next request. */
	KEEP_BYTES = 256 << 10,
	BACKLOG = 128,
	/* How long a close waits for clients to read their answers. */
	FLUSH_MS = 500
};

enum state {
	STATE_READ,
	STATE_BUSY,
	STATE_WRITE,
	STATE_GONE
};

struct client {
	struct tkw__socket *socket;
	uint32_t place; /* in the table of clients */
	int fd;         /* -1: closed */
	enum state state;
	bool closing;     /* close it when the answer was sent */
	bool asked;       /* the desk has the clerk's request */
	bool withdrawing; /* the desk has `withdraw` */
	bool owes;        /* items that it will give back */
	struct tkw__clerk clerk;
	struct tkw__request withdraw;
	/* The request: its head, then the frame. */
	uint8_t head[TKW__WIRE_HEAD];
	size_t head_len;
	struct tkw__wire_out frame;
	size_t sent; /* of the answer */
};

struct tkw__socket {
	struct tkw_queues *file;
	int listener;
	int epoll;
	/* Closed for a moment to refuse a connection when no descriptor is
	 * free. */
	int spare;
	int folder; /* of the file */
	char *name; /* of the socket in its folder */
	struct client *clients[TKW__SOCKET_CLIENTS]; /* NULL: a free place */
};

/* --- the life of a client ------------------------------------------------ */

static void free_client(struct client *c)
{
	c->socket->clients[c->place] = NULL;
	tkw__clerk_fini(&c->clerk);
	tkw__wire_free(&c->frame);
	free(c);
}

/* Frees a client that has gone, unless the desk has a request of it. */
static void release(struct client *c)
{
	if (c->state == STATE_GONE && !c->asked && !c->withdrawing && !c->owes)
		free_client(c);
}

static bool submit(struct client *c)
{
	c->asked = !tkw__keeper_submit(c->socket->file, &c->clerk.request);
	return c->asked;
}

static void withdraw(struct client *c)
{
	c->withdraw.kind = TKW__REQUEST_WITHDRAW;
	c->withdraw.target = &c->clerk.request;
	c->withdrawing = !tkw__keeper_submit(c->socket->file, &c->withdraw);
}

static void close_fd(struct client *c)
{
	/* A child of a fork may have a copy of the descriptor. Then closing it
	 * would not end the watch. */
	(void)epoll_ctl(c->socket->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	(void)close(c->fd);
	c->fd = -1;
}

/* Ends a connection. The client may be freed. */
static void drop(struct client *c)
{
	bool unsent = c->state == STATE_WRITE;

	close_fd(c);
	c->state = STATE_GONE;
	if (unsent && tkw__clerk_give_back(&c->clerk))
		(void)submit(c);
	else if (c->asked && tkw__clerk_takes(&c->clerk))
		withdraw(c);
	release(c);
}

static void set_state(struct client *c, enum state state)
{
	static const uint32_t events[] = {
		[STATE_READ] = EPOLLIN | EPOLLRDHUP,
		[STATE_BUSY] = EPOLLRDHUP,
		[STATE_WRITE] = EPOLLOUT,
	};
	struct epoll_event ev = { .events = events[state],
				  .data.u32 = c->place };

	if (c->state != state)
		(void)epoll_ctl(c->socket->epoll, EPOLL_CTL_MOD, c->fd, &ev);
	c->state = state;
}

/* --- answers ------------------------------------------------------------- */

/* Sends what the connection takes now. Returns 1 if all was sent, 0, or -1 if
 * the client has gone. */
static int send_some(struct client *c)
{
	const struct tkw__wire_out *o = &c->clerk.out;

	while (c->sent < o->len) {
		ssize_t n = send(c->fd, o->bytes + c->sent, o->len - c->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
		c->sent += (size_t)n;
	}
	return 1;
}

/* Makes the connection ready for the next request. */
static void start_read(struct client *c)
{
	tkw__clerk_sent(&c->clerk);
	c->head_len = 0;
	c->frame.len = 0;
	if (c->frame.room > KEEP_BYTES)
		tkw__wire_free(&c->frame);
	if (c->clerk.out.room > KEEP_BYTES)
		tkw__wire_free(&c->clerk.out);
	set_state(c, STATE_READ);
}

/* Sends more of the answer. The client may be freed. */
static void go_on_writing(struct client *c)
{
	int r = send_some(c);

	if (r == 0)
		return;
	if (r > 0)
		start_read(c);
	if (r < 0 || c->closing)
		drop(c);
}

/* Begins to send the clerk's answer. The client may be freed. */
static void start_write(struct client *c, bool closing)
{
	c->closing = closing;
	c->sent = 0;
	set_state(c, STATE_WRITE);
	if (c->clerk.out.failed)
		drop(c);
	else
		go_on_writing(c);
}

/* --- requests ------------------------------------------------------------ */

/* Does what the clerk says. The client may be freed. */
static void go_on(struct client *c, enum tkw__clerk_step step)
{
	if (step != TKW__CLERK_SUBMIT) {
		start_write(c, step == TKW__CLERK_CLOSE);
		return;
	}
	set_state(c, STATE_BUSY);
	if (!submit(c)) {
		tkw__clerk_answer(&c->clerk, -ESHUTDOWN);
		start_write(c, true);
	}
}

/* Gives back what a client that has gone has taken. Not while the desk has the
 * withdrawal, which looks at the request of the take. */
static void settle_debt(struct client *c)
{
	if (c->owes && !c->withdrawing) {
		c->owes = false;
		if (tkw__clerk_give_back(&c->clerk))
			(void)submit(c);
	}
	release(c);
}

/* The desk has ended a request of the client. */
static void on_done(struct tkw__request *r)
{
	struct client *c = r->ctx;
	enum tkw__clerk_step step;

	if (r == &c->withdraw) {
		c->withdrawing = false;
		settle_debt(c);
		return;
	}
	c->asked = false;
	step = tkw__clerk_go_on(&c->clerk);
	if (c->state != STATE_GONE) {
		go_on(c, step);
		return;
	}
	c->owes = step == TKW__CLERK_ANSWER;
	settle_debt(c);
}

/* --- reading ------------------------------------------------------------- */

/* Reads up to len bytes. Returns how many; 0: none are there now; -ECONNRESET:
 * the client has gone. */
static ssize_t receive(const struct client *c, uint8_t *to, size_t len)
{
	ssize_t n;

	do
		n = recv(c->fd, to, len, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return n;
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0
								  : -ECONNRESET;
}

static ssize_t receive_head(struct client *c)
{
	ssize_t n =
		receive(c, c->head + c->head_len, TKW__WIRE_HEAD - c->head_len);

	if (n > 0)
		c->head_len += (size_t)n;
	return n;
}

/* The memory grows as the bytes come: the length that a client claims costs
 * nothing yet. */
static ssize_t receive_frame(struct client *c, size_t len)
{
	struct tkw__wire_out *f = &c->frame;
	size_t had = f->len;
	size_t more = len - had < READ_BYTES ? len - had : READ_BYTES;
	ssize_t n;

	if (len > TKW__WIRE_MAX_REQUEST)
		return -EMSGSIZE;
	if (!tkw__wire_grow(f, more))
		return -ENOMEM;
	n = receive(c, f->bytes + had, more);
	f->len = n > 0 ? had + (size_t)n : had;
	return n;
}

/* Reads what has come, but not for ever. Returns 1 if a whole request is there,
 * 0 if not yet, or an error. */
static int receive_some(struct client *c)
{
	for (int i = 0; i < READS; i++) {
		ssize_t n;

		if (c->head_len < TKW__WIRE_HEAD)
			n = receive_head(c);
		else
			n = receive_frame(c, tkw__wire_length(c->head));
		if (n <= 0)
			return (int)n;
		if (c->head_len == TKW__WIRE_HEAD &&
		    c->frame.len == tkw__wire_length(c->head))
			return 1;
	}
	return 0;
}

/* The client may be freed. */
static void go_on_reading(struct client *c)
{
	int r = receive_some(c);

	if (r == 0)
		return;
	if (r == -ECONNRESET) {
		drop(c);
		return;
	}
	if (r < 0) {
		tkw__clerk_answer(&c->clerk, r);
		start_write(c, true);
		return;
	}
	go_on(c, tkw__clerk_read(&c->clerk, c->frame.bytes, c->frame.len,
				 getpid()));
}

/* What an event means, by the state. Of a client that is busy, only its end is
 * watched. One that has gone is not watched. The client may be freed. */
static void (*const serve[])(struct client *c) = {
	[STATE_READ] = go_on_reading,
	[STATE_BUSY] = drop,
	[STATE_WRITE] = go_on_writing,
};

/* --- new clients --------------------------------------------------------- */

static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* What epoll tells of a client is its place, and of the listener this. */
enum {
	LISTENER = TKW__SOCKET_CLIENTS
};

static int add_client(struct tkw__socket *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	struct client *c;
	uint32_t place = 0;

	while (place < TKW__SOCKET_CLIENTS && s->clients[place])
		place++;
	if (place == TKW__SOCKET_CLIENTS)
		return -EUSERS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	ev.data.u32 = place;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev)) {
		free(c);
		return -ENOMEM;
	}
	c->socket = s;
	c->place = place;
	c->fd = fd;
	c->clerk.request.done = on_done;
	c->clerk.request.ctx = c;
	c->withdraw.done = on_done;
	c->withdraw.ctx = c;
	s->clients[place] = c;
	return 0;
}

/* Sends an answer that is only a result, if the connection takes it. */
static void tell(int fd, int64_t result)
{
	struct tkw__clerk clerk;

	memset(&clerk, 0, sizeof(clerk));
	tkw__clerk_answer(&clerk, result);
	if (!clerk.out.failed)
		(void)!send(fd, clerk.out.bytes, clerk.out.len,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	tkw__clerk_fini(&clerk);
}

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* No descriptor is free. A connection that nobody accepts would wake the keeper
 * for ever, so one is accepted and closed. */
static void shed(struct tkw__socket *s)
{
	int fd;

	if (s->spare >= 0)
		(void)close(s->spare);
	fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		(void)close(fd);
	s->spare = open_spare();
}

static void accept_some(struct tkw__socket *s)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(s->listener, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		int err;

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE)
				shed(s);
			return;
		}
		err = is_trusted(fd) ? add_client(s, fd) : -EACCES;
		if (err) {
			tell(fd, err);
			(void)close(fd);
		}
	}
}

/* --- the keeper ---------------------------------------------------------- */

static size_t list_fds(struct pollfd *fds, size_t max, void *ctx)
{
	const struct tkw__socket *s = ctx;

	if (max > 0)
		fds[0] = (struct pollfd){ .fd = s->epoll, .events = POLLIN };
	return 1;
}

static void on_ready(const struct pollfd *fds, size_t count, void *ctx)
{
	struct tkw__socket *s = ctx;
	struct epoll_event events[EVENTS];
	int n;

	if (count == 0 || !fds[0].revents)
		return;
	n = epoll_wait(s->epoll, events, EVENTS, 0);
	for (int i = 0; i < n; i++) {
		uint32_t place = events[i].data.u32;
		struct client *c = place == LISTENER ? NULL : s->clients[place];

		if (place == LISTENER)
			accept_some(s);
		else if (c && c->state != STATE_GONE)
			serve[c->state](c);
	}
}

/* --- open and close ------------------------------------------------------ */

/* Opens the folder of the file, and notes the name of the socket there: the
 * process may change its working folder until the socket is removed. */
static int note_place(struct tkw__socket *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	s->folder = slash ? tkw__address_open_folder(path,
						     (size_t)(slash - path) + 1)
			  : tkw__address_open_folder(".", 1);
	if (s->folder < 0)
		return s->folder;
	s->name = malloc(len + sizeof(TKW__WIRE_SUFFIX));
	if (!s->name)
		return -ENOMEM;
	memcpy(s->name, name, len);
	memcpy(s->name + len, TKW__WIRE_SUFFIX, sizeof(TKW__WIRE_SUFFIX));
	return 0;
}

/* Removes the socket, and nothing else that has its name. */
static void remove_socket(const struct tkw__socket *s)
{
	struct stat st;

	if (!fstatat(s->folder, s->name, &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISSOCK(st.st_mode))
		(void)unlinkat(s->folder, s->name, 0);
}

static int start_listening(struct tkw__socket *s, const char *path)
{
	struct tkw__address address;
	int err = tkw__address_make(&address, path);

	if (err)
		return err;
	s->listener =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode of the descriptor becomes that of the name, so that there is
	 * no moment at which others could connect. */
	if (s->listener < 0 || fchmod(s->listener, S_IRUSR | S_IWUSR) ||
	    bind(s->listener, (const struct sockaddr *)&address.un,
		 sizeof(address.un)))
		err = -errno;
	else if (listen(s->listener, BACKLOG)) {
		err = -errno;
		remove_socket(s);
	}
	tkw__address_free(&address);
	return err;
}

static int start_watching(struct tkw__socket *s)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = LISTENER };

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &ev))
		return -errno;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

static void destroy(struct tkw__socket *s)
{
	for (int i = 0; i < TKW__SOCKET_CLIENTS; i++) {
		if (!s->clients[i])
			continue;
		close_if_open(s->clients[i]->fd);
		free_client(s->clients[i]);
	}
	close_if_open(s->listener);
	close_if_open(s->epoll);
	close_if_open(s->spare);
	close_if_open(s->folder);
	free(s->name);
	free(s);
}

int tkw__socket_open(struct tkw__socket **out, struct tkw_queues *f,
		     const char *path)
{
	struct tkw__socket *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->file = f;
	s->listener = -1;
	s->epoll = -1;
	s->folder = -1;
	s->spare = open_spare();
	err = note_place(s, path);
	if (!err) {
		remove_socket(s);
		err = start_listening(s, path);
	}
	if (!err) {
		err = start_watching(s);
		if (err)
			remove_socket(s);
	}
	if (err) {
		destroy(s);
		return err;
	}
	tkw__keeper_watch(f, &(struct tkw__watch){ .list = list_fds,
						   .ready = on_ready,
						   .ctx = s });
	*out = s;
	return 0;
}

static int64_t steady_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Sends the rest of an answer, until a time. */
static void flush(struct client *c, int64_t until_ms)
{
	struct pollfd fd = { .fd = c->fd, .events = POLLOUT };
	int64_t left = until_ms - steady_ms();

	while (send_some(c) == 0 && left > 0) {
		(void)poll(&fd, 1, (int)left);
		left = until_ms - steady_ms();
	}
}

void tkw__socket_close(struct tkw__socket *s)
{
	int64_t until_ms = steady_ms() + FLUSH_MS;

	if (!s)
		return;
	remove_socket(s);
	for (int i = 0; i < TKW__SOCKET_CLIENTS; i++) {
		struct client *c = s->clients[i];

		if (!c || c->fd < 0)
			continue;
		if (c->state == STATE_WRITE)
			flush(c, until_ms);
		else
			tell(c->fd, -ESHUTDOWN);
	}
	destroy(s);
}

void tkw__socket_abandon(struct tkw__socket *s)
{
	if (s)
		destroy(s);
}
