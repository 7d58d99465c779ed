/* SPDX-License-Identifier: MIT */
/* alarm.c - an alarm on a timerfd, or on a futex once the timerfd is lost. */
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

/* The time for which an alarm of the wall clock is set, because the kernel
 * tells of a step only while it is set: the year 2242. Where a time_t has 32
 * bits, the clock cannot go beyond its end. */
#define FAR_S (sizeof(time_t) > 4 ? (time_t)(INT64_C(1) << 33) : INT32_MAX)

_Static_assert(sizeof(pthread_t) <= sizeof(uintptr_t), "it holds a thread");

/*
 * The mark by which we recognise our timerfd is its interval, which the kernel
 * reports with each setting. The interval is 68 years, so it never matters,
 * plus a random number of nanoseconds that other timerfds hardly have.
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

static int init(struct tkw__alarm *a, clockid_t clock)
{
	struct itimerspec when;

	*a = (struct tkw__alarm){
		.fd = timerfd_create(clock, TFD_CLOEXEC),
		.mark = (uint32_t)(tkw__random() % NS_PER_SEC),
		.boottime = clock == CLOCK_BOOTTIME,
		.wall = clock == CLOCK_REALTIME,
	};
	if (a->fd < 0)
		return -errno;
	when = with_mark(a);
	(void)timerfd_settime(a->fd, 0, &when, NULL);
	return 0;
}

int tkw__alarm_init(struct tkw__alarm *a, bool boottime)
{
	return init(a, boottime ? CLOCK_BOOTTIME : CLOCK_MONOTONIC);
}

int tkw__alarm_init_wall(struct tkw__alarm *a)
{
	return init(a, CLOCK_REALTIME);
}

void tkw__alarm_fini(struct tkw__alarm *a)
{
	struct itimerspec is;

	/* The number may belong to another file by now, so close it only if it
	 * has our mark. A forked child must do no more than look, because it
	 * shares the timer with its parent. */
	if (!a->lost && timerfd_gettime(a->fd, &is) == 0 && has_mark(a, &is))
		close(a->fd);
}

/* timerfd_settime() for the alarm. */
static int settime(const struct tkw__alarm *a, bool relative,
		   const struct itimerspec *when, struct itimerspec *was)
{
	int flags = relative ? 0 : TFD_TIMER_ABSTIME;
	int err;

	if (a->wall && !relative)
		flags |= TFD_TIMER_CANCEL_ON_SET;
	err = timerfd_settime(a->fd, flags, when, was);
	/* The clock was set since the last time. Now this is known. */
	if (err != 0 && errno == ECANCELED)
		err = timerfd_settime(a->fd, flags, when, was);
	return err;
}

/* Sets the timerfd. Returns 0, or -EBADF if the timerfd is lost. */
static int set_fd(struct tkw__alarm *a, int64_t ns, bool relative)
{
	struct itimerspec when = with_mark(a);
	struct itimerspec was;

	if (a->lost)
		return -EBADF;
	if (ns <= 0)
		ns = 1; /* 0 would disarm it */
	/* A time_t may have 32 bits, so more than 68 years become 68. The alarm
	 * may ring early. */
	if (ns != INT64_MAX && ns / NS_PER_SEC > INT32_MAX)
		when.it_value.tv_sec = INT32_MAX;
	else if (ns != INT64_MAX) {
		when.it_value.tv_sec = (time_t)(ns / NS_PER_SEC);
		when.it_value.tv_nsec = (long)(ns % NS_PER_SEC);
	} else if (a->wall) {
		when.it_value.tv_sec = FAR_S;
	}
	/* EBADF if it was closed; EINVAL if the number belongs to another kind
	 * of file now. */
	if (settime(a, relative, &when, &was) != 0) {
		a->lost = true;
	} else if (!has_mark(a, &was)) {
		/* This is somebody else's timerfd. Set it back. */
		(void)timerfd_settime(a->fd, 0, &was, NULL);
		a->lost = true;
	}
	return a->lost ? -EBADF : 0;
}

/* Stores when the futex is to time out. */
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
	/* Wakes the sleeper at once, which then finds out for itself how long
	 * to sleep. The caller's lock orders this, as in prepare(). */
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
	/* A signal may end the read early. The caller looks at the clock
	 * anyway. */
	(void)!read(a->fd, &rings, sizeof(rings));
	pthread_setcancelstate(was, NULL);
}

void tkw__alarm_wait(struct tkw__alarm *a)
{
	int64_t left_ns;

	/* Only the sleeper changes by_futex. */
	if (!a->by_futex) {
		read_fd(a);
		return;
	}
	/* If another thread has set the alarm since, `calls` is no longer
	 * `seen`. */
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
