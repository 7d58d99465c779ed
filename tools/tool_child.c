/* SPDX-License-Identifier: MIT */
/* tool_child.c - a command that tkw runs. */
#include "tool_child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"
#include "tool_signals.h"

extern char **environ;

/* --- the environment ----------------------------------------------------- */

/* Is this variable one of the list? */
static bool is_own(const char *variable, const char *const *own)
{
	for (; *own; own++) {
		size_t len = strcspn(*own, "=");

		if (!strncmp(variable, *own, len) && variable[len] == '=')
			return true;
	}
	return false;
}

/* Returns the environment, to be freed; NULL if there is no memory. */
static char **make_environment(const char *const *own)
{
	size_t n = 0;
	char **list;

	while (environ[n])
		n++;
	for (size_t i = 0; own[i]; i++)
		n++;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return NULL;
	n = 0;
	for (size_t i = 0; own[i]; i++) {
		if (strchr(own[i], '='))
			list[n++] = (char *)own[i];
	}
	for (char **from = environ; *from; from++) {
		if (!is_own(*from, own))
			list[n++] = *from;
	}
	return list;
}

/* --- the process --------------------------------------------------------- */

/* The signals that this process reads from descriptors are blocked here, but
 * not in the command. */
static int set_attributes(posix_spawnattr_t *a, bool own_group)
{
	short flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t mask;
	int r;

	tool_signals_mask_before(&mask);
	r = posix_spawnattr_setsigmask(a, &mask);
	if (!r && own_group) {
		flags |= POSIX_SPAWN_SETPGROUP;
		r = posix_spawnattr_setpgroup(a, 0);
	}
	if (!r)
		r = posix_spawnattr_setflags(a, flags);
	return -r;
}

static int spawn(const struct tool_child *c, char **env, pid_t *pid)
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
	r = set_attributes(&attributes, c->own_group);
	if (!r && c->input != STDIN_FILENO)
		r = -posix_spawn_file_actions_adddup2(&actions, c->input,
						      STDIN_FILENO);
	if (!r)
		r = -posix_spawnp(pid, c->words[0], &actions, &attributes,
				  c->words, env);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int tool_child_start(const struct tool_child *c, pid_t *pid)
{
	char **env = make_environment(c->variables);
	int r;

	if (!env)
		return -ENOMEM;
	r = spawn(c, env, pid);
	free(env);
	return r;
}

void tool_child_word(char *buf, size_t size, int wait_status)
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

int tool_child_find(const char *command)
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

int tool_child_fail(const char *name, const char *command, int error)
{
	tool_complain("%s: '%.60s': %s", name, command, strerror(-error));
	if (error == -ENOENT)
		return TOOL_EXIT_NO_COMMAND;
	if (error == -EACCES || error == -ENOEXEC)
		return TOOL_EXIT_CANNOT_RUN;
	return TOOL_EXIT_FAILURE;
}
