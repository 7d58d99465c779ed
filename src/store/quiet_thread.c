/* SPDX-License-Identifier: MIT */
/* quiet_thread.c - see quiet_thread.h. */
#define _GNU_SOURCE
#include "store/quiet_thread.h"

#include <signal.h>

bool tkw__quiet_thread(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, were;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &were);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &were, NULL);
	return err == 0;
}
