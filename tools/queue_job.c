/* SPDX-License-Identifier: MIT */
/*
 * queue_job.c - a command that `tkw queue work` runs for an item.
 *
 * The payload is written to a file in memory, which becomes the standard input
 * of the command. Unlike a pipe it needs nobody to feed it, and a command that
 * does not read it is no problem.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "queue_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool_child.h"

/* --- the payload --------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Returns a descriptor from which the payload can be read, or -errno. */
static int open_payload(const struct tkw_item *item)
{
	int fd = memfd_create("payload", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, item->payload, item->payload_len);
	if (!r && lseek(fd, 0, SEEK_SET))
		r = -errno;
	if (!r)
		return fd;
	(void)close(fd);
	return r;
}

/* --- the environment ----------------------------------------------------- */

enum {
	VARIABLES = 6,
	VARIABLE = 300
};

struct environment {
	char text[VARIABLES][VARIABLE];
	const char *list[VARIABLES + 1]; /* NULL ends it */
};

static void make_environment(struct environment *e, const char *queue,
			     const struct tkw_item *item)
{
	(void)snprintf(e->text[0], VARIABLE, "TKW_QUEUE=%s", queue);
	(void)snprintf(e->text[1], VARIABLE, "TKW_ID=%" PRIu64,
		       item->claim.id.bits);
	(void)snprintf(e->text[2], VARIABLE, "TKW_TOKEN=%" PRIu64,
		       item->claim.token);
	(void)snprintf(e->text[3], VARIABLE, "TKW_ATTEMPT=%" PRIu32,
		       item->attempts);
	/* Without a value, the command does not have the variable. */
	(void)snprintf(e->text[4], VARIABLE, "TKW_KEY");
	if (item->key)
		(void)snprintf(e->text[4], VARIABLE, "TKW_KEY=%.*s",
			       (int)item->key_len, (const char *)item->key);
	(void)snprintf(e->text[5], VARIABLE, "TKW_PLANNED_MS");
	if (item->planned_ms)
		(void)snprintf(e->text[5], VARIABLE, "TKW_PLANNED_MS=%" PRId64,
			       item->planned_ms);
	for (size_t i = 0; i < VARIABLES; i++)
		e->list[i] = e->text[i];
	e->list[VARIABLES] = NULL;
}

/* --- the process --------------------------------------------------------- */

int queue_job_start(const struct queue_options *o, const struct tkw_item *item,
		    pid_t *pid)
{
	struct environment env = { .list = { NULL } };
	struct tool_child how = { .words = o->words,
				  .variables = env.list,
				  .own_group = true };
	int r;

	how.input = open_payload(item);
	if (how.input < 0)
		return how.input;
	make_environment(&env, o->queue, item);
	r = tool_child_start(&how, pid);
	(void)close(how.input);
	return r;
}
