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
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
	VARIABLES = 5,
	VARIABLE = 300
};

struct environment {
	char own[VARIABLES][VARIABLE];
	char **list; /* NULL ends it */
};

static bool is_own(const char *variable)
{
	static const char *const names[] = { "TKW_QUEUE=", "TKW_ID=",
					     "TKW_TOKEN=", "TKW_ATTEMPT=",
					     "TKW_KEY=" };

	for (size_t i = 0; i < VARIABLES; i++) {
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

static size_t write_own(struct environment *e, const char *queue,
			const struct tkw_item *item)
{
	(void)snprintf(e->own[0], VARIABLE, "TKW_QUEUE=%s", queue);
	(void)snprintf(e->own[1], VARIABLE, "TKW_ID=%" PRIu64,
		       item->claim.id.bits);
	(void)snprintf(e->own[2], VARIABLE, "TKW_TOKEN=%" PRIu64,
		       item->claim.token);
	(void)snprintf(e->own[3], VARIABLE, "TKW_ATTEMPT=%" PRIu32,
		       item->attempts);
	if (!item->key)
		return VARIABLES - 1;
	(void)snprintf(e->own[4], VARIABLE, "TKW_KEY=%.*s", (int)item->key_len,
		       (const char *)item->key);
	return VARIABLES;
}

static int make_environment(struct environment *e, const char *queue,
			    const struct tkw_item *item)
{
	size_t n = 0, own;

	while (environ[n])
		n++;
	e->list = calloc(n + VARIABLES + 1, sizeof(*e->list));
	if (!e->list)
		return -ENOMEM;
	own = write_own(e, queue, item);
	for (size_t i = 0; i < own; i++)
		e->list[i] = e->own[i];
	for (char **from = environ; *from; from++) {
		if (!is_own(*from))
			e->list[own++] = *from;
	}
	return 0;
}

/* --- the process --------------------------------------------------------- */

/* The signals that this process reads from descriptors are blocked here, but
 * not in the command. */
static int set_attributes(posix_spawnattr_t *a)
{
	sigset_t mask;
	int r;

	queue_signals_mask_before(&mask);
	r = posix_spawnattr_setsigmask(a, &mask);
	if (!r)
		r = posix_spawnattr_setpgroup(a, 0);
	if (!r)
		r = posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK |
							POSIX_SPAWN_SETPGROUP);
	return -r;
}

static int spawn(const struct queue_options *o, char **env, int payload,
		 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	r = set_attributes(&attributes);
	if (!r)
		r = -posix_spawn_file_actions_adddup2(&actions, payload,
						      STDIN_FILENO);
	if (!r)
		r = -posix_spawnp(pid, o->words[0], &actions, &attributes,
				  o->words, env);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int queue_job_start(const struct queue_options *o, const struct tkw_item *item,
		    pid_t *pid)
{
	struct environment env;
	int payload = open_payload(item);
	int r;

	if (payload < 0)
		return payload;
	r = make_environment(&env, o->queue, item);
	if (!r) {
		r = spawn(o, env.list, payload, pid);
		free(env.list);
	}
	(void)close(payload);
	return r;
}

void queue_job_word(char *buf, size_t size, int wait_status)
{
	if (WIFSIGNALED(wait_status))
		(void)snprintf(buf, size, "signal %d", WTERMSIG(wait_status));
	else
		(void)snprintf(buf, size, "exit status %d",
			       WEXITSTATUS(wait_status));
}

/* --- looking for it ------------------------------------------------------ */

static int look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? -EACCES : -ENOENT;
	return S_ISDIR(st.st_mode) || access(path, X_OK) ? -EACCES : 0;
}

int queue_job_find(const char *command)
{
	const char *path = getenv("PATH");
	int r, worst = -ENOENT;

	if (strchr(command, '/') || !*command)
		return look_at(command);
	/* posix_spawnp() has a default of its own for this. */
	if (!path)
		return 0;
	while (path) {
		const char *end = strchr(path, ':');
		int len = end ? (int)(end - path) : (int)strlen(path);
		char file[4096];

		(void)snprintf(file, sizeof(file), "%.*s%s%s", len, path,
			       len ? "/" : "./", command);
		r = look_at(file);
		if (r == 0)
			return 0;
		if (r == -EACCES)
			worst = r;
		path = end ? end + 1 : NULL;
	}
	return worst;
}
