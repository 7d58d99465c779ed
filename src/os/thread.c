/* SPDX-License-Identifier: MIT */
/* thread.c - pthreads. */
#define _GNU_SOURCE
#include "os/thread.h"

#include <pthread.h>
#include <signal.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include "os/sync.h"

_Static_assert(sizeof(struct tkw__signals) >= sizeof(sigset_t), "it fits");
_Static_assert(sizeof(pthread_t) <= sizeof(void *), "a handle holds a thread");

int tkw__thread_create(void *(*run)(void *arg), void *arg, void **handle)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	if (err == 0)
		*handle = (void *)(uintptr_t)thread;
	return -err;
}

void tkw__thread_join(void *handle)
{
	pthread_join((pthread_t)(uintptr_t)handle, NULL);
}

void tkw__thread_become_worker(const char *name)
{
	struct tkw__signals were;

	tkw__signals_block(&were);
	tkw__thread_no_cancel();
	pthread_setname_np(pthread_self(), name);
}

void tkw__thread_load_unwinder(void)
{
#ifdef __GLIBC__
	void *here;

	(void)backtrace(&here, 1);
#endif
}

void tkw__signals_block(struct tkw__signals *were)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, (sigset_t *)were->mask);
}

void tkw__signals_restore(const struct tkw__signals *were)
{
	pthread_sigmask(SIG_SETMASK, (const sigset_t *)were->mask, NULL);
}

int tkw__thread_no_cancel(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

void tkw__thread_restore_cancel(int was)
{
	pthread_setcancelstate(was, NULL);
}

_Thread_local struct tkw__local tkw__local;

void tkw__thread_take_number(void)
{
	static struct tkw__a32 last;

	tkw__local.number = TKW__ADD(&last, 1, RELAXED) + 1;
}
