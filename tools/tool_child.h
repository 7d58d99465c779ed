/* SPDX-License-Identifier: MIT */
/* tool_child.h - a command that tkw runs. No shell is between. */
#ifndef TKW_TOOLS_TOOL_CHILD_H
#define TKW_TOOLS_TOOL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	/* Exit statuses, as in a shell: the command is not executable, and it
	 * is not there. */
	TOOL_EXIT_CANNOT_RUN = 126,
	TOOL_EXIT_NO_COMMAND = 127
};

struct tool_child {
	char **words; /* NULL ends them */
	/* NAME=value, for its environment. NAME alone takes the variable away.
	 * NULL ends the list. */
	const char *const *variables;
	int input;      /* its standard input; 0: that of tkw */
	bool own_group; /* a process group of its own */
};

/*
 * Starts a command. Its signals are as they were before tool_signals_open().
 *
 * pid  Receives its process.
 *
 * Returns 0 or -errno.
 */
int tool_child_start(const struct tool_child *c, pid_t *pid);

/* Writes how a process has ended, from its wait status: "exit status 3" or
 * "signal 9". */
void tool_child_word(char *buf, size_t size, int wait_status);

/* Looks for a command as a shell does. Returns 0; -ENOENT: it is not there;
 * -EACCES: it is not executable. */
int tool_child_find(const char *command);

/* Tells the user why a command cannot be run. Returns the exit status of tkw.
 */
int tool_child_fail(const char *name, const char *command, int error);

#endif /* TKW_TOOLS_TOOL_CHILD_H */
