/* SPDX-License-Identifier: MIT */
/*
 * alarm.h - an alarm for one sleeper.
 *
 * The alarm rings at a given time. One thread waits for it, and other threads
 * may set it to an earlier time meanwhile. It is a timerfd: setting it takes
 * one system call and wakes nobody, it knows CLOCK_BOOTTIME, it has no slack
 * (unlike a futex or a condition variable), and an event loop can poll it.
 *
 * An alarm of the wall clock rings when the clock is set: by a program, by a
 * leap second, or because the machine was suspended. It has no time of its own.
 *
 * Other code in the process may close the descriptor by mistake, and its number
 * may then belong to another file, even to another timerfd. So each alarm puts
 * a mark on its timerfd. A descriptor without this mark is lost. The sleeper
 * then changes to a futex the next time it sets the alarm. Until then it sleeps
 * in the kernel where nobody can reach it, and a call that wants to set the
 * alarm earlier gets -EBADF.
 *
 * Threads: the caller holds one lock of its own around all calls, except wait()
 *          and leave().
 */
#ifndef TKW_OS_ALARM_H
#define TKW_OS_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"

struct tkw__alarm {
	int fd;
	uint32_t mark; /* recognises the fd as ours */
	bool boottime;
	bool wall;             /* rings when the wall clock is set */
	bool lost;             /* the fd is no longer ours */
	bool by_futex;         /* the sleeper sleeps on `calls` */
	bool has_sleeper;      /* `sleeper` is set */
	bool cancelled;        /* the sleeper's thread is to end */
	struct tkw__a32 calls; /* counts the times other threads set it */
	uint32_t seen;         /* `calls` when the sleeper set the alarm */
	int64_t until_ns;      /* with by_futex: when it rings */
	uintptr_t sleeper;
};

/* Returns 0, or -errno from timerfd_create(). */
int tkw__alarm_init(struct tkw__alarm *a, bool boottime);
/* The same for an alarm of the wall clock. Set it to INT64_MAX: from then on it
 * rings if the clock is set. Set it again after it has rung. */
int tkw__alarm_init_wall(struct tkw__alarm *a);
void tkw__alarm_fini(struct tkw__alarm *a);

/*
 * Sets the alarm to ring at a time of the clock or, if relative, after a time.
 * It rings at once if that time has passed, and never for INT64_MAX.
 *
 * Returns 0, or -EBADF if the fd is lost and the sleeper cannot be reached.
 */
int tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative);

/* The same for the sleeper itself, before wait(). The alarm is set in any case.
 * Returns 0, or -EBADF if the fd was lost since the last time. */
int tkw__alarm_prepare(struct tkw__alarm *a, int64_t ns, bool relative);

/* Sleeps until the alarm rings. May return early, for no reason. */
void tkw__alarm_wait(struct tkw__alarm *a);

/* Rings at once, for the last time. If the sleeper cannot be reached, its
 * thread is cancelled: it ends inside wait(), or in leave(). */
void tkw__alarm_end(struct tkw__alarm *a);

/* The sleeper calls this when it will not wait any more. A cancel that is on
 * its way takes effect here, because the thread may do other work from now
 * on. */
void tkw__alarm_leave(struct tkw__alarm *a);

#endif /* TKW_OS_ALARM_H */
