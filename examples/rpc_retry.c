/* SPDX-License-Identifier: MIT */
/*
 * rpc_retry.c - remote calls over a lossy network, tried until they are
 * answered.
 *
 * A try sends a request over UDP and returns, so that the timer's thread never
 * waits. The request carries the id of the task and the number of the try, and
 * the answer brings them back. A thread reads the answers and passes them to
 * tkw_retries_done(). A call that is not answered in time is tried again. The
 * delay grows with each try.
 *
 * The number of a call decides whether the server loses, refuses or delays it.
 * So this program prints the same each time. There are two sets of retries.
 * Calls to the store are tried until it answers. Calls to the log, which is
 * down, are tried three times.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <tickwheel.h>
#include <unistd.h>

/* What the server does with a call to the store. The call's number modulo FATES
 * chooses it. */
enum fate {
	ANSWERED,
	LOST_ONCE,
	LOST_TWICE,
	REFUSED_TWICE,
	LATE, /* the answer to the first try comes during the second */
	FATES
};

enum {
	EACH = 40,
	STORE_CALLS = EACH * FATES,
	LOG_CALLS = EACH,
	CALLS = STORE_CALLS + LOG_CALLS,
	LOG_TRIES = 3
};

/* The messages, in both directions. */
enum kind {
	CALL,
	LOG_IS_UP, /* the server is to answer this call to the log after all */
	END
};

struct frame {
	uint64_t id;    /* the id of the task */
	int64_t number; /* the number of the try */
	int32_t call;
	int32_t result; /* 0 or a negative errno */
	int32_t value;  /* the answer: twice the number of the call */
	int32_t kind;
};

static int client_fd, server_fd;

static bool send_frame(int fd, const struct frame *f)
{
	return send(fd, f, sizeof(*f), MSG_DONTWAIT) == sizeof(*f);
}

static bool read_frame(int fd, struct frame *f)
{
	return recv(fd, f, sizeof(*f), 0) == sizeof(*f);
}

/* --- the server ---------------------------------------------------------- */

/* Returns whether the server answers this try. */
static bool answer(struct frame *f)
{
	f->value = 2 * f->call;
	if (f->call >= STORE_CALLS)
		return f->kind == LOG_IS_UP;
	switch (f->call % FATES) {
	case LOST_ONCE:
		return f->number > 1;
	case LOST_TWICE:
		return f->number > 2;
	case REFUSED_TWICE:
		f->result = f->number > 2 ? 0 : -EBUSY;
		return true;
	case LATE:
		if (f->number == 1)
			return false;
		f->number = 1;
		return true;
	default:
		return true;
	}
}

static void *serve(void *unused)
{
	struct frame f;

	while (read_frame(server_fd, &f) && f.kind != END) {
		if (answer(&f))
			(void)send_frame(server_fd, &f);
	}
	(void)send_frame(server_fd, &f);
	return unused;
}

/* --- the client ---------------------------------------------------------- */

struct call {
	struct tkw_retry_id id;
	int32_t number;
};

static struct call calls[CALLS];
static struct tkw_retries *store, *journal;
static sem_t ended, answered;

/* How the calls have ended. */
static atomic_int of_fate[FATES], given_up, wrong;
static int late, refused;

/* A try, on the timer's thread. It fails at once if it cannot be sent. */
static int try_call(const struct tkw_try *attempt, void *ctx)
{
	const struct call *call = ctx;
	const struct frame f = { .id = attempt->id.bits,
				 .number = attempt->number,
				 .call = call->number,
				 .kind = CALL };

	return send_frame(client_fd, &f) ? TKW_TRY_LATER : -EIO;
}

/* Runs once for each call. */
static void on_end(const struct tkw_retry_end *end, void *ctx)
{
	/* The fewest tries that each fate needs. */
	static const int64_t least[FATES] = { 1, 2, 3, 3, 2 };
	const struct call *call = ctx;
	int fate = call->number % FATES;

	if (call->number >= STORE_CALLS && end->status == -ETIMEDOUT &&
	    end->tries == LOG_TRIES)
		given_up++;
	else if (call->number < STORE_CALLS && end->status == 0 &&
		 end->tries >= least[fate])
		of_fate[fate]++;
	else
		wrong++;
	sem_post(&ended);
}

/* A thread that reads answers until the server sends END. */
static void *read_answers(void *unused)
{
	struct tkw_retries *rs;
	struct frame f;
	int err;

	while (read_frame(client_fd, &f) && f.kind != END) {
		rs = f.call < STORE_CALLS ? store : journal;
		/* -ENOENT means that the call or this try is over. However late
		 * an answer is, it never reaches another call. */
		err = tkw_retries_done(rs, (struct tkw_retry_id){ f.id },
				       f.number, f.result);
		wrong += f.value != 2 * f.call;
		late += err == 0 && f.call % FATES == LATE;
		if (f.kind == LOG_IS_UP) {
			refused += err == -ENOENT;
			sem_post(&answered);
		}
	}
	return unused;
}

static bool add_call(int32_t number)
{
	struct call *call = &calls[number];
	const struct tkw_retry task = { .fn = try_call,
					.on_end = on_end,
					.ctx = call };

	call->number = number;
	return tkw_retries_add(number < STORE_CALLS ? store : journal, &task, 0,
			       &call->id) == 0;
}

/* Makes the server answer a call to the log that was given up. */
static bool answer_late(const struct call *call)
{
	const struct frame f = { .id = call->id.bits,
				 .number = LOG_TRIES,
				 .call = call->number,
				 .kind = LOG_IS_UP };

	if (!send_frame(client_fd, &f))
		return false;
	while (sem_wait(&answered) != 0)
		; /* interrupted by a signal */
	return true;
}

static bool run(void)
{
	const struct frame end = { .kind = END };

	for (int32_t i = 0; i < CALLS; i++) {
		if (!add_call(i))
			return false;
	}
	for (int ends = 0; ends < CALLS;)
		ends += sem_wait(&ended) == 0;
	for (int32_t i = STORE_CALLS; i < CALLS; i++) {
		if (!answer_late(&calls[i]))
			return false;
	}
	return send_frame(client_fd, &end);
}

/* --- client and server --------------------------------------------------- */

static int open_socket(struct sockaddr_in *addr)
{
	socklen_t size = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, size) != 0 ||
	    getsockname(fd, (struct sockaddr *)addr, &size) != 0)
		return -1;
	return fd;
}

static bool connect_both(void)
{
	struct sockaddr_in client, server;

	client_fd = open_socket(&client);
	server_fd = open_socket(&server);
	return client_fd >= 0 && server_fd >= 0 &&
	       connect(client_fd, (struct sockaddr *)&server, sizeof(server)) ==
		       0 &&
	       connect(server_fd, (struct sockaddr *)&client, sizeof(client)) ==
		       0;
}

static bool create_sets(struct tkw_timer *t)
{
	struct tkw_retries_config cfg = { .size = sizeof(cfg),
					  .timer = t,
					  .delay_ns = 5 * TKW_MSEC,
					  .backoff_percent = 150,
					  .max_delay_ns = TKW_SEC,
					  .jitter_percent = 20,
					  .try_timeout_ns = 20 * TKW_MSEC,
					  .max_tasks = STORE_CALLS };

	if (tkw_retries_create(&store, &cfg) != 0)
		return false;
	cfg.max_tries = LOG_TRIES;
	return tkw_retries_create(&journal, &cfg) == 0;
}

int main(void)
{
	struct tkw_timer *t;
	pthread_t server, reader;

	alarm(300); /* ends the program if an end is lost */
	sem_init(&ended, 0, 0);
	sem_init(&answered, 0, 0);
	if (!connect_both() || tkw_timer_create(&t, NULL) != 0 ||
	    !create_sets(t) ||
	    pthread_create(&server, NULL, serve, NULL) != 0 ||
	    pthread_create(&reader, NULL, read_answers, NULL) != 0 || !run())
		return 1;
	pthread_join(server, NULL);
	pthread_join(reader, NULL);
	printf("calls to the store: %d\n", STORE_CALLS);
	printf("answered at once, or tried again: %d\n", of_fate[ANSWERED]);
	printf("answered after a loss: %d, after two: %d\n", of_fate[LOST_ONCE],
	       of_fate[LOST_TWICE]);
	printf("answered after two refusals: %d\n", of_fate[REFUSED_TWICE]);
	printf("answered late, when a try was over: %d\n", late);
	printf("calls to the log, given up after %d tries: %d\n", LOG_TRIES,
	       given_up);
	printf("answers to these, refused: %d\n", refused);
	/* Destroy the sets first, then the timer that they use. */
	return tkw_retries_destroy(store) != 0 ||
	       tkw_retries_destroy(journal) != 0 || tkw_timer_destroy(t) != 0 ||
	       close(client_fd) != 0 || close(server_fd) != 0 || wrong != 0;
}
