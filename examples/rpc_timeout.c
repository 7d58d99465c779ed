/* SPDX-License-Identifier: MIT */
/*
 * rpc_timeout.c - a client whose requests are answered, time out or are
 * cancelled. The end of each request is reported once.
 *
 * The client sends the id of each request over TCP. The server sends it back
 * with the answer, in any order, late, or never. A thread of the client reads
 * the answers and completes the requests. The timer ends the other requests.
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

/* A message, in both directions. No request has the id 0. A message with this
 * id tells the server to send the late answers. */
struct frame {
	struct tkw_request_id id;
	int64_t number;
};

/* MSG_NOSIGNAL makes send() fail without a signal if the peer is gone. */
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
	LATE = CALLS / 50,      /* answered too late, besides CANCELLED */
	WAITED_FOR = 1,         /* the request that run() waits for */
	CANCELLED = 2           /* the request that run() cancels */
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

/* The answer is twice the number. */
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
static sem_t ended; /* posted when a request with a callback ends */
static atomic_int answered, timed_out, cancelled, wrong;
static int refused; /* answers that came too late */

/* Runs on the thread that ended the request: the one that reads answers, the
 * timer's, or the one that cancels. */
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
	free(end->response); /* ours now; NULL if there was no answer */
	sem_post(&ended);
}

/* A thread that reads answers until the server closes the connection. */
static void *read_answers(void *arg)
{
	struct frame f, *reply;

	while (read_frame(client_fd, &f)) {
		reply = malloc(sizeof(*reply));
		if (reply == NULL)
			break;
		*reply = f;
		/* -ENOENT means that the request has ended. The reply is still
		 * ours. However late it is, it never reaches another request.
		 */
		if (tkw_requests_complete(requests, f.id, reply) != 0) {
			free(reply);
			refused++;
		}
	}
	return arg;
}

/* A request that will be answered may take an hour, so that this program prints
 * the same on the slowest machine. Your program would use one limit for all
 * requests, such as three seconds. */
static int64_t patience_ns(int64_t number)
{
	bool hopeless = is_forgotten(number) || is_late(number);

	return hopeless && number != CANCELLED ? 50 * TKW_MSEC : 3600 * TKW_SEC;
}

static bool send_call(struct call *call)
{
	/* A request without a callback is for tkw_requests_wait(). */
	tkw_request_fn *fn = call->number == WAITED_FOR ? NULL : on_end;
	struct frame f = { .number = call->number };

	/* Add the request before you send it, because the answer may come at
	 * once. */
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
	for (int ends = 1; ends < CALLS;) /* await_call() was one */
		ends += sem_wait(&ended) == 0;
	/* All requests have ended, so all further answers are too late. */
	return send_frame(client_fd, &send_late);
}

/* --- client and server --------------------------------------------------- */

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

	alarm(300); /* ends the program if an end is lost */
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
	/* Destroy the set first, then the timer that it uses. */
	return tkw_requests_destroy(requests) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0 || close(client_fd) != 0 ||
	       wrong != 0 || refused != LATE + 1 || cancelled != 1 ||
	       timed_out != FORGOTTEN + LATE ||
	       answered != CALLS - FORGOTTEN - LATE - 2;
}
