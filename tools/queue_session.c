/* SPDX-License-Identifier: MIT */
/*
 * queue_session.c - chooses the way to a queue.
 *
 * The file is tried first. If another process has it open, that process is
 * asked through its socket. It may open or close the file at this very moment,
 * for example because it is another `tkw queue` that is just done. Then both
 * ways are tried again for a few seconds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"
#include "queue_tool.h"
#include "tool.h"

enum {
	PATIENCE_MS = 10000,
	PAUSE_FIRST_MS = 1,
	PAUSE_MAX_MS = 50
};

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t queue_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t queue_steady_ms(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void queue_items_free(struct queue_items *items)
{
	if (items->list)
		items->free(items->list);
	items->list = NULL;
}

void queue_plans_free(struct queue_plans *plans)
{
	if (plans->list)
		plans->free(plans->list);
	plans->list = NULL;
}

static const char *explain(int64_t error)
{
	switch (error) {
	case -EEXIST:
		return "an item has this key already";
	case -EAGAIN:
		return "the queue is full";
	case -EMSGSIZE:
		return "the payload is larger than the queue allows";
	case -E2BIG:
		return "the process that has it open accepts up to 64 MiB at "
		       "once";
	case -EBADMSG:
		return "the file is damaged";
	case -EMEDIUMTYPE:
		return "it is not a file of queues of this version";
	case -ESHUTDOWN:
		return "its owner is closing it";
	case -ECONNRESET:
		return "the process that had it open has ended; nobody knows "
		       "if the change was made";
	case -EINTR:
		return "the process that has it open does not answer";
	case -EPROTO:
		return "the process that has it open does not speak this "
		       "language";
	case -EUSERS:
		return "the process that has it open has too many clients";
	default:
		return strerror((int)-error);
	}
}

int queue_session_fail(const struct queue_session *s, const char *what,
		       int64_t error)
{
	if (error == -EINTR) {
		interrupt_note(tool_signals_next());
		return TOOL_EXIT_OK;
	}
	if (s->way)
		tool_complain("%.200s: %s", what, explain(error));
	return TOOL_EXIT_FAILURE;
}

/* Tries each way once. */
static int try_open(struct queue_session *s, char why[QUEUE_WHY])
{
	char owner[QUEUE_WHY] = "";
	int r;

	why[0] = '\0';
	s->ops = &queue_direct;
	r = s->ops->open(&s->way, &s->place, owner);
	if (r != -EBUSY) {
		memcpy(why, owner, sizeof(owner));
		return r;
	}
	s->ops = &queue_client;
	r = s->ops->open(&s->way, &s->place, why);
	if (r == -EBUSY)
		(void)snprintf(why, QUEUE_WHY,
			       "%.40s has it open and does not answer", owner);
	return r;
}

static void sleep_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000,
			      .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&t, NULL);
}

static int open_way(struct queue_session *s, char why[QUEUE_WHY])
{
	int64_t until_ms = queue_steady_ms() + PATIENCE_MS;
	int64_t pause_ms = PAUSE_FIRST_MS;
	int r;

	s->way = NULL;
	s->opened++;
	while ((r = try_open(s, why)) == -EBUSY &&
	       queue_steady_ms() < until_ms) {
		sleep_ms(pause_ms);
		pause_ms = 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms
						       : PAUSE_MAX_MS;
	}
	return r;
}

static int reopen(struct queue_session *s)
{
	char why[QUEUE_WHY];
	int r = open_way(s, why);

	if (r && why[0])
		tool_complain("%.200s: %s", s->place.file, why);
	else if (r)
		tool_complain("%.200s: %s", s->place.file, explain(r));
	return r;
}

int queue_session_open(struct queue_session *s, const struct queue_place *place)
{
	memset(s, 0, sizeof(*s));
	s->place = *place;
	return reopen(s);
}

void queue_session_close(struct queue_session *s)
{
	if (s->way)
		s->ops->close(s->way);
	s->way = NULL;
}

bool queue_session_again(struct queue_session *s, int64_t result)
{
	if (result == -EINTR) {
		tool_complain("%.200s: %s", s->place.file, explain(result));
		queue_session_close(s);
		return false;
	}
	if (result != -ESHUTDOWN && !(result == -ECONNRESET && s->insist))
		return false;
	/* The file itself is closed by nobody but this process. */
	if (s->ops == &queue_direct)
		return false;
	queue_session_close(s);
	return reopen(s) == 0;
}

int queue_session_choose(struct queue_session *s, const char *queue)
{
	int r;

	/* A way that is opened again begins with this queue. */
	s->place.queue = queue;
	QUEUE_CALL(r, s, s->ops->choose(s->way, queue));
	return r;
}
