/* SPDX-License-Identifier: MIT */
/* interrupt.c - notes the first SIGINT or SIGTERM. */
#include "interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static struct {
	const int sig;
	struct sigaction before;
} caught[] = { { .sig = SIGINT }, { .sig = SIGTERM } };
enum {
	CAUGHT = sizeof(caught) / sizeof(caught[0])
};

/* Not a volatile sig_atomic_t: other threads read it too. */
static atomic_int noted;

static void on_signal(int sig)
{
	atomic_store(&noted, sig);
	for (size_t i = 0; i < CAUGHT; i++)
		(void)sigaction(caught[i].sig, &caught[i].before, NULL);
}

void interrupt_catch(void)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_signal;
	act.sa_flags = SA_RESTART;
	/* If two signals come at once, the first is noted and the second
	 * kills. */
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < CAUGHT; i++)
		(void)sigaction(caught[i].sig, NULL, &caught[i].before);
	for (size_t i = 0; i < CAUGHT; i++) {
		if (caught[i].before.sa_handler != SIG_IGN)
			(void)sigaction(caught[i].sig, &act, NULL);
	}
}

void interrupt_note(int sig)
{
	atomic_store(&noted, sig);
}

int interrupt_signal(void)
{
	return atomic_load(&noted);
}

void interrupt_finish(void)
{
	int sig = interrupt_signal();
	sigset_t set;

	if (!sig)
		return;
	(void)signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(sig);
}
