/* SPDX-License-Identifier: MIT */
/*
 * tool_signals.c - signals as descriptors.
 *
 * The library has threads of its own, and a signal may arrive at any of them.
 * With a descriptor it does not matter which one that is, and a signal that
 * comes just before a wait is not missed.
 *
 * Signals that end the program have a descriptor of their own, so that one can
 * wait for them alone.
 */
#include "tool_signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
	/* How long an owner may take to answer after a signal. */
	PATIENCE_MS = 5000
};

/* The signals that end the program, and all others. poll() passes over a
 * descriptor of -1. */
static int ends = -1;
static int others = -1;

static bool has_ended;   /* a signal that ends the program was read */
static bool by_terminal; /* the system itself has sent the last signal */

/* What the signals were before. */
static sigset_t mask_before;

/* Adds a signal. A blocked signal arrives even if it is ignored. */
static void add(sigset_t *set, int sig)
{
	struct sigaction act;

	if (!sigaction(sig, NULL, &act) && act.sa_handler != SIG_IGN)
		sigaddset(set, sig);
}

static int open_set(const sigset_t *set)
{
	int fd;

	if (sigprocmask(SIG_BLOCK, set, NULL))
		return -errno;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int tool_signals_open(enum tool_signals which)
{
	sigset_t set, unread;

	if (sigprocmask(SIG_BLOCK, NULL, &mask_before))
		return -errno;
	sigemptyset(&set);
	add(&set, SIGHUP);
	add(&set, SIGINT);
	add(&set, SIGQUIT);
	add(&set, SIGTERM);
	ends = open_set(&set);
	if (ends < 0 || which == TOOL_SIGNALS_END)
		return ends < 0 ? ends : 0;
	/* If the parent ignores it for us, nobody could be waited for. */
	(void)signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	add(&set, SIGTSTP);
	if (which == TOOL_SIGNALS_PASS) {
		add(&set, SIGUSR1);
		add(&set, SIGUSR2);
		add(&set, SIGWINCH);
		sigemptyset(&unread);
		sigaddset(&unread, SIGPIPE);
		(void)sigprocmask(SIG_BLOCK, &unread, NULL);
	}
	others = open_set(&set);
	return others < 0 ? others : 0;
}

void tool_signals_mask_before(sigset_t *mask)
{
	*mask = mask_before;
}

int tool_signals_wait(int fd, int64_t wait_ms)
{
	struct pollfd fds[] = { { .fd = ends, .events = POLLIN },
				{ .fd = others, .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };
	int r = poll(fds, 3, wait_ms > INT_MAX ? INT_MAX : (int)wait_ms);

	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents || fds[1].revents)
		return -EINTR;
	return fds[2].revents ? 1 : 0;
}

int tool_signals_wait_answer(int fd, int wait_ms)
{
	struct pollfd fds[] = { { .fd = has_ended ? -1 : ends,
				  .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };
	bool hurry = has_ended;

	for (;;) {
		int r = poll(fds, 2, hurry ? PATIENCE_MS : wait_ms);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (fds[1].revents)
			return 0;
		if (hurry)
			return -EINTR;
		if (r == 0)
			return -EAGAIN;
		/* The signal stays where it is. */
		fds[0].fd = -1;
		hurry = true;
	}
}

static int read_one(int fd)
{
	struct signalfd_siginfo info;

	if (fd < 0 || read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	by_terminal = info.ssi_code == SI_KERNEL;
	return (int)info.ssi_signo;
}

int tool_signals_next(void)
{
	int sig = read_one(ends);

	if (!sig)
		return read_one(others);
	has_ended = true;
	return sig;
}

bool tool_signals_by_terminal(void)
{
	return by_terminal;
}

void tool_signals_stop(void)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	(void)kill(getpid(), SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}
