/* SPDX-License-Identifier: MIT */
/* tool_signals.h - signals as descriptors, for commands that wait. */
#ifndef TKW_TOOLS_TOOL_SIGNALS_H
#define TKW_TOOLS_TOOL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Which signals are read. */
enum tool_signals {
	TOOL_SIGNALS_END,      /* SIGHUP, SIGINT, SIGQUIT and SIGTERM */
	TOOL_SIGNALS_CHILDREN, /* also SIGCHLD and SIGTSTP */
	TOOL_SIGNALS_PASS      /* also SIGUSR1, SIGUSR2 and SIGWINCH; SIGPIPE is
				* blocked */
};

/*
 * Reads these signals from descriptors from now on. Call it before any thread
 * is started. A signal that is ignored stays ignored. Without this call, the
 * functions below see no signals.
 *
 * Returns 0 or -errno.
 */
int tool_signals_open(enum tool_signals which);

/* Gives the signal mask from before tool_signals_open(), for a command. */
void tool_signals_mask_before(sigset_t *mask);

/* Waits for events of fd, or if it is -1 only for signals, up to wait_ms; -1
 * means without a limit. Returns 1 if fd is ready, 0 if the time is over, or
 * -EINTR if a signal has come. */
int tool_signals_wait(int fd, int64_t wait_ms);

/*
 * Waits until the answer of an owner can be read from fd, up to wait_ms; -1
 * means without a limit. An owner may be suspended. So if a signal comes that
 * ends the program, or has come before, this waits for a few seconds only.
 *
 * Returns 0, -EAGAIN if the time is over, or -EINTR if it gave up because of a
 * signal.
 */
int tool_signals_wait_answer(int fd, int wait_ms);

/* Returns the next signal that has come, or 0. */
int tool_signals_next(void);

/* Has the terminal sent the last signal, by Ctrl-C for example? Then all of the
 * process group has it. */
bool tool_signals_by_terminal(void);

/* Stops this process, as SIGTSTP does by default. Returns when it goes on. */
void tool_signals_stop(void);

#endif /* TKW_TOOLS_TOOL_SIGNALS_H */
