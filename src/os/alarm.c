/* SPDX-License-Identifier: MIT */
/* alarm.c - timerfd, and a futex where that is lost. */
#define _GNU_SOURCE
#include "os/alarm.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/ns.h"
#include "os/clock.h"
#include "os/random.h"

enum {
	NS_PER_SEC = 1000000000
};

_Static_assert(sizeof(pthread_t) <= sizeof(uintptr_t), "it holds a thread");

/*
 * The mark is the interval of the timerfd, which the kernel keeps, and tells
 * with each setting: 68 years, so that it never matters, and some nanoseconds
 * that others hardly have.
 */
static struct itimerspec with_mark(const struct tkw__alarm *a)
{
	return (struct itimerspec){
		.it_interval = { .tv_sec = INT32_MAX,
				 .tv_nsec = (long)a->mark },
	};
}

static bool has_mark(const struct tkw__alarm *a, const struct itimerspec *when)
{
	return when->it_interval.tv_sec == INT32_MAX &&
	       when->it_interval.tv_nsec == (long)a->mark;
}

int tkw__alarm_init(struct tkw__alarm *a, bool boottime)
{
	struct itimerspec when;

	*a = (struct tkw__alarm){
		.fd = timerfd_create(boottime ? CLOCK_BOOTTIME
					      : CLOCK_MONOTONIC,
				     TFD_CLOEXEC),
		.mark = (uint32_t)(tkw__random() % NS_PER_SEC),
		.boottime = boottime,
	};
	if (a->fd < 0)
		return -errno;
	when = with_mark(a);
	(void)timerfd_settime(a->fd, 0, &when, NULL);
	return 0;
}

void tkw__alarm_fini(struct tkw__alarm *a)
{
	struct itimerspec is;

	/* What is not ours any more may be somebody else's by now. To look is
	 * all that a forked child may do: the timer itself is its parent's. */
	if (!a->lost && timerfd_gettime(a->fd, &is) == 0 && has_mark(a, &is))
		close(a->fd);
}

/* Set the timerfd. Return  0; -EBADF: it is lost. */
static int set_fd(struct tkw__alarm *a, int64_t ns, bool relative)
{
	struct itimerspec when = with_mark(a);
	struct itimerspec was;

	if (a->lost)
		return -EBADF;
	if (ns <= 0)
		ns = 1; /* 0 would disarm it */
	/* In more than 68 years: it may ring earlier, and time_t have 32 bits.
	 */
	if (ns != INT64_MAX && ns / NS_PER_SEC > INT32_MAX)
		when.it_value.tv_sec = INT32_MAX;
	else if (ns != INT64_MAX) {
		when.it_value.tv_sec = (time_t)(ns / NS_PER_SEC);
		when.it_value.tv_nsec = (long)(ns % NS_PER_SEC);
	}
	/* EBADF; or EINVAL: the number is that of another file now. */
	if (timerfd_settime(a->fd, relative ? 0 : TFD_TIMER_ABSTIME, &when,
			    &was) != 0) {
		a->lost = true;
	} else if (!has_mark(a, &was)) {
		/* Of another timerfd: it is as it was. */
		(void)timerfd_settime(a->fd, 0, &was, NULL);
		a->lost = true;
	}
	return a->lost ? -EBADF : 0;
}

/* When a futex is to time out. */
static void set_until(struct tkw__alarm *a, int64_t ns, bool relative)
{
	a->until_ns = relative ? tkw__ns_add(tkw__clock_now(a->boottime),
					     ns > 0 ? ns : 0)
			       : ns;
}

int tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative)
{
	if (!a->by_futex)
		return set_fd(a, ns, relative);
	/* It wakes up at once, and looks for itself when it is needed. The
	 * order is that of the caller's lock, as in prepare(). */
	TKW__ADD(&a->calls, 1, RELAXED);
	tkw__unpark_all(&a->calls);
	return 0;
}

int tkw__alarm_prepare(struct tkw__alarm *a, int64_t ns, bool relative)
{
	int err = 0;

	a->sleeper = (uintptr_t)pthread_self();
	a->has_sleeper = true;
	if (!a->by_futex) {
		err = set_fd(a, ns, relative);
		a->by_futex = err != 0;
	}
	if (a->by_futex) {
		set_until(a, ns, relative);
		a->seen = TKW__LOAD(&a->calls, RELAXED);
	}
	return err;
}

/* The only place where the sleeper's thread can be cancelled. */
static void read_fd(const struct tkw__alarm *a)
{
	uint64_t rings;
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was);
	/* A signal may end it early; the caller looks at the clock anyway. */
	(void)!read(a->fd, &rings, sizeof(rings));
	pthread_setcancelstate(was, NULL);
}

void tkw__alarm_wait(struct tkw__alarm *a)
{
	int64_t left_ns;

	/* Only the sleeper changes this. */
	if (!a->by_futex) {
		read_fd(a);
		return;
	}
	/* If others have set it since, `calls` is not what was seen. */
	if (a->until_ns == INT64_MAX) {
		tkw__park(&a->calls, a->seen);
		return;
	}
	left_ns = a->until_ns - tkw__clock_now(a->boottime);
	if (left_ns > 0)
		tkw__park_for(&a->calls, a->seen, left_ns);
}

void tkw__alarm_end(struct tkw__alarm *a)
{
	if (tkw__alarm_set(a, 0, true) == 0 || !a->has_sleeper)
		return;
	a->cancelled = true;
	pthread_cancel((pthread_t)a->sleeper);
}

void tkw__alarm_leave(struct tkw__alarm *a)
{
	int was;

	if (!a->cancelled)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was);
	pthread_testcancel();
	pthread_setcancelstate(was, NULL);
}
