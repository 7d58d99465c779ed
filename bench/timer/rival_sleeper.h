/* SPDX-License-Identifier: MIT */
/*
 * rival_sleeper.h - one mutex, and a worker that sleeps until a given time, or
 * until a caller has something earlier. It is shared by the entrants whose
 * timer knows nothing of threads.
 */
#ifndef TKW_RIVAL_SLEEPER_H
#define TKW_RIVAL_SLEEPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "rival.h"

struct rival_sleeper {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	/* Until when the worker sleeps, or INT64_MIN if it does not. Under the
	 * lock. */
	int64_t until_ns;
	/* Not under the lock, because a busy worker lets nobody else have the
	 * lock for long. */
	_Atomic bool quit;
};

/* Starts the worker. */
static inline void rival_sleeper_open(struct rival_sleeper *s,
				      void *(*work)(void *arg))
{
	pthread_condattr_t attr;

	s->until_ns = INT64_MIN;
	/* The worker does not exist yet. */
	atomic_store_explicit(&s->quit, false, memory_order_relaxed);
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (pthread_create(&s->thread, NULL, work, NULL) != 0)
		rival_die("pthread_create failed");
}

/* Asks the worker to end, and waits for it. */
static inline void rival_sleeper_stop(struct rival_sleeper *s)
{
	/* pairs with rival_sleeper_quits() */
	atomic_store_explicit(&s->quit, true, memory_order_release);
	/* Either the worker has not looked at quit yet, or it sleeps. */
	(void)pthread_mutex_lock(&s->lock);
	(void)pthread_cond_signal(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
}

static inline void rival_sleeper_close(struct rival_sleeper *s)
{
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
}

static inline bool rival_sleeper_quits(struct rival_sleeper *s)
{
	/* pairs with rival_sleeper_stop() */
	return atomic_load_explicit(&s->quit, memory_order_acquire);
}

/* Called by the worker with the lock held. Sleeps until a time, or for
 * INT64_MAX until it is woken. */
static inline void rival_sleeper_sleep(struct rival_sleeper *s,
				       int64_t until_ns)
{
	struct timespec ts = rival_timespec(until_ns);

	if (rival_sleeper_quits(s))
		return;
	s->until_ns = until_ns;
	if (until_ns == INT64_MAX)
		(void)pthread_cond_wait(&s->wake, &s->lock);
	else
		(void)pthread_cond_timedwait(&s->wake, &s->lock, &ts);
	s->until_ns = INT64_MIN;
}

/* Called by a caller with the lock held. Drops the lock, and wakes the worker
 * if it would sleep beyond due_ns. */
static inline void rival_sleeper_unlock(struct rival_sleeper *s, int64_t due_ns)
{
	bool wake = due_ns < s->until_ns;

	if (wake)
		s->until_ns = due_ns; /* the next caller does not wake it */
	(void)pthread_mutex_unlock(&s->lock);
	if (wake)
		(void)pthread_cond_signal(&s->wake);
}

#endif /* TKW_RIVAL_SLEEPER_H */
