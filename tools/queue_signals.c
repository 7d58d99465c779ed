/* SPDX-License-Identifier: MIT */
/*
 * queue_signals.c - signals as a descriptor.
 *
 * The library has threads of its own, and a signal may arrive at any of them.
 * With a descriptor it does not matter which one that is, and a signal that
 * comes just before a wait is not missed.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "queue_tool.h"

static bool is_ignored(int sig)
{
	struct sigaction act;

	return !sigaction(sig, NULL, &act) && act.sa_handler == SIG_IGN;
}

int queue_signals_open(bool children)
{
	static const int ends[] = { SIGINT, SIGTERM };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	/* A blocked signal arrives even if it is ignored. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!is_ignored(ends[i]))
			sigaddset(&set, ends[i]);
	}
	if (children) {
		/* If the parent ignores it for us, nobody could be waited for.
		 */
		(void)signal(SIGCHLD, SIG_DFL);
		sigaddset(&set, SIGCHLD);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int queue_signals_wait(int signals, int fd, int64_t wait_ms)
{
	struct pollfd fds[2] = { { .fd = signals, .events = POLLIN },
				 { .fd = fd, .events = POLLIN } };
	int r = poll(fds, 2, wait_ms > INT_MAX ? INT_MAX : (int)wait_ms);

	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		return -EINTR;
	return fds[1].revents ? 1 : 0;
}

int queue_signals_next(int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}
