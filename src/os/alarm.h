/* SPDX-License-Identifier: MIT */
/*
 * alarm.h - an alarm for one sleeper.
 *
 * It rings at a time; one thread waits for it, and others set it to an earlier
 * time meanwhile. It is a timerfd: to set it takes a system call and wakes
 * nobody, it knows CLOCK_BOOTTIME, it has no slack, unlike a futex or a
 * condition variable, and an event loop can poll it.
 *
 * Somebody may close the descriptor behind our back, and its number may become
 * that of another file, or of another timerfd: each has a mark, by which it is
 * known. The sleeper then goes over
 * to a futex when it next sets the alarm; until then it sleeps on in the kernel
 * where nobody can reach it, and who wants to set the alarm earlier is told so.
 *
 * All calls but wait() and leave() are made under one lock of the caller's.
 */
#ifndef TKW_OS_ALARM_H
#define TKW_OS_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"

struct tkw__alarm {
	int fd;
	uint32_t mark; /* by which the fd is known to be ours */
	bool boottime;
	bool lost;             /* the fd is not ours any more */
	bool by_futex;         /* the sleeper sleeps on `calls` */
	bool has_sleeper;      /* it is known who */
	bool cancelled;        /* the sleeper's thread is to end */
	struct tkw__a32 calls; /* counts up when it is set by others */
	uint32_t seen;         /* calls, when the sleeper set it */
	int64_t until_ns;      /* by_futex: when it rings */
	uintptr_t sleeper;
};

/* Return  0, or -errno of timerfd_create(). */
int tkw__alarm_init(struct tkw__alarm *a, bool boottime);
void tkw__alarm_fini(struct tkw__alarm *a);

/*
 * Ring at a time of the clock, or (relative) after a time; at once if that has
 * passed; INT64_MAX: never.
 *
 * Return  0; -EBADF: the fd is lost, and the sleeper cannot be reached.
 */
int tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative);

/* The same by the sleeper itself, before wait(). It always works. Return  0;
 * -EBADF: the fd was lost since the last time. */
int tkw__alarm_prepare(struct tkw__alarm *a, int64_t ns, bool relative);

/* Sleep until it rings, or for no reason. */
void tkw__alarm_wait(struct tkw__alarm *a);

/* Let it ring at once, for the last time. If the sleeper cannot be reached its
 * thread is cancelled: it ends inside wait(), or in leave(). */
void tkw__alarm_end(struct tkw__alarm *a);

/* The sleeper will not wait any more; its thread may be another's from now on,
 * so that a cancel which is on its way must act here. */
void tkw__alarm_leave(struct tkw__alarm *a);

#endif /* TKW_OS_ALARM_H */
