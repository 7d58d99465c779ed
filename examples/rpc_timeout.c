/* SPDX-License-Identifier: MIT */
/*
 * rpc_timeout.c - a client whose requests are answered, time out or are
 * cancelled: each of them is told so once.
 *
 * The client sends the id of each request over TCP, and the server sends it
 * back with the answer, in any order, late, or never. A thread of the client
 * reads the answers and completes the requests; the timer ends the others.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <tickwheel.h>
#include <unistd.h>

/* What goes over the wire, in both directions. Of id 0, which no request has:
 * the server shall send the answers that are late. */
struct frame {
	struct tkw_request_id id;
	int64_t number;
};

/* MSG_NOSIGNAL: if the other side is gone, an error and no signal. */
static bool send_frame(int fd, const struct frame *f)
{
	return send(fd, f, sizeof(*f), MSG_NOSIGNAL) == sizeof(*f);
}

static bool read_frame(int fd, struct frame *f)
{
	return recv(fd, f, sizeof(*f), MSG_WAITALL) == sizeof(*f);
}

/* --- the requests of this program ---------------------------------------- */

enum {
	CALLS = 1000,
	FORGOTTEN = CALLS / 10, /* never answered */
	LATE = CALLS / 50,      /* answered too late, and the cancelled one */
	WAITED_FOR = 1,         /* numbers of two requests */
	CANCELLED = 2
};

static bool is_forgotten(int64_t number)
{
	return number % 10 == 4;
}

static bool is_late(int64_t number)
{
	return number % 50 == 7 || number == CANCELLED;
}

/* --- the server ---------------------------------------------------------- */

/* Answers with twice the number. */
static bool answer(int fd, const struct frame *f)
{
	struct frame reply = { f->id, 2 * f->number };

	return send_frame(fd, &reply);
}

static void *serve(void *arg)
{
	int fd = *(const int *)arg;
	struct frame late[CALLS], f;
	int lates = 0;
	bool ok = true;

	while (ok && read_frame(fd, &f) && f.id.bits != 0) {
		if (is_late(f.number))
			late[lates++] = f;
		else if (!is_forgotten(f.number))
			ok = answer(fd, &f);
	}
	for (int i = 0; ok && i < lates; i++)
		ok = answer(fd, &late[i]);
	close(fd);
	return NULL;
}

/* --- the client ---------------------------------------------------------- */

struct call {
	struct tkw_request_id id;
	int64_t number;
	atomic_int ends;
};

static struct call calls[CALLS];
static struct tkw_requests *requests;
static int client_fd;
static sem_t ended; /* a request with a callback */
static atomic_int answered, timed_out, cancelled, wrong;
static int refused; /* answers that came too late */

/* Called where the request ended: on the thread that reads answers, the timer's
 * or that which cancels. */
static void on_end(const struct tkw_request_end *end, void *ctx)
{
	struct call *call = ctx;
	const struct frame *reply = end->response;

	if (atomic_fetch_add(&call->ends, 1) != 0)
		wrong++;
	if (end->status == -ETIMEDOUT)
		timed_out++;
	else if (end->status == -ECANCELED)
		cancelled++;
	else if (end->status == 0 && reply->number == 2 * call->number)
		answered++;
	else
		wrong++;
	free(end->response); /* it is ours now; NULL unless answered */
	sem_post(&ended);
}

/* A thread: until the server closes the connection. */
static void *read_answers(void *arg)
{
	struct frame f, *reply;

	while (read_frame(client_fd, &f)) {
		reply = malloc(sizeof(*reply));
		if (reply == NULL)
			break;
		*reply = f;
		/* -ENOENT: nobody waits for it any more, and the reply is
		 * still ours. However late, it meets no other request. */
		if (tkw_requests_complete(requests, f.id, reply) != 0) {
			free(reply);
			refused++;
		}
	}
	return arg;
}

/* What will be answered may wait for an hour, so that this program says the
 * same on the slowest machine. Yours will say three seconds, for all. */
static int64_t patience_ns(int64_t number)
{
	bool hopeless = is_forgotten(number) || is_late(number);

	return hopeless && number != CANCELLED ? 50 * TKW_MSEC : 3600 * TKW_SEC;
}

static bool send_call(struct call *call)
{
	/* Without a callback: somebody will wait for it. */
	tkw_request_fn *fn = call->number == WAITED_FOR ? NULL : on_end;
	struct frame f = { .number = call->number };

	/* First add, then send: the answer may be here at once. */
	if (tkw_requests_add(requests, fn, call, patience_ns(f.number),
			     &call->id) != 0)
		return false;
	f.id = call->id;
	return send_frame(client_fd, &f);
}

static bool await_call(const struct call *call)
{
	struct tkw_request_end end;
	bool right;

	if (tkw_requests_wait(requests, call->id, &end) != 0 || end.status != 0)
		return false;
	right = ((struct frame *)end.response)->number == 2 * call->number;
	free(end.response);
	return right;
}

static bool run(void)
{
	const struct frame send_late = { .id = { 0 } };

	for (int i = 0; i < CALLS; i++) {
		calls[i].number = i;
		if (!send_call(&calls[i]))
			return false;
	}
	if (tkw_requests_cancel(requests, calls[CANCELLED].id) != 0 ||
	    !await_call(&calls[WAITED_FOR]))
		return false;
	for (int ends = 1; ends < CALLS;) /* that was one */
		ends += sem_wait(&ended) == 0;
	/* All requests have ended: what is sent from now on is too late. */
	return send_frame(client_fd, &send_late);
}

/* --- both ---------------------------------------------------------------- */

static bool connect_both(int *server_fd)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct sockaddr *any = (struct sockaddr *)&addr;
	socklen_t size = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client_fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || client_fd < 0 || bind(fd, any, size) != 0 ||
	    getsockname(fd, any, &size) != 0 || listen(fd, 1) != 0 ||
	    connect(client_fd, any, size) != 0)
		return false;
	*server_fd = accept(fd, NULL, NULL);
	return close(fd) == 0 && *server_fd >= 0;
}

int main(void)
{
	struct tkw_requests_config cfg = { .size = sizeof(cfg) };
	pthread_t server, reader;
	int server_fd;

	alarm(300); /* should an end be lost, do not wait for it for ever */
	sem_init(&ended, 0, 0);
	if (!connect_both(&server_fd) ||
	    tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_requests_create(&requests, &cfg) != 0 ||
	    pthread_create(&server, NULL, serve, &server_fd) != 0 ||
	    pthread_create(&reader, NULL, read_answers, NULL) != 0 || !run())
		return 1;
	pthread_join(server, NULL);
	pthread_join(reader, NULL);
	printf("requests: %d\n", CALLS);
	printf("answered: %d, and one that was waited for\n", answered);
	printf("timed out: %d\n", timed_out);
	printf("cancelled: %d\n", cancelled);
	printf("answers that came too late, and were refused: %d\n", refused);
	/* First the set, then the timer that it stands on. */
	return tkw_requests_destroy(requests) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0 || close(client_fd) != 0 ||
	       wrong != 0 || refused != LATE + 1 || cancelled != 1 ||
	       timed_out != FORGOTTEN + LATE ||
	       answered != CALLS - FORGOTTEN - LATE - 2;
}
