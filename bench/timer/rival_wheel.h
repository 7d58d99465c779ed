/* SPDX-License-Identifier: MIT */
/*
 * rival_wheel.h - our own wheel behind one mutex, and the worker that advances
 * it. It is shared by the entrants that show what it costs to do without the
 * timer.
 *
 * Callbacks run with the mutex held, which is cheaper than to collect the
 * entries first. After some steps the worker lets callers in. The wheel is
 * inlined, as it is in our timer.
 */
#ifndef TKW_RIVAL_WHEEL_H
#define TKW_RIVAL_WHEEL_H

#include "rival_sleeper.h"

#include "tickwheel/wheel_inline.h"

#define RIVAL_STEPS_AT_ONCE 256

struct rival_wheel {
	struct rival_sleeper sleeper;
	struct tkw_wheel *wheel;
	void *mem;
	uint64_t tick_ns;
};

/* What the worker does. */
static inline void rival_wheel_work(struct rival_wheel *w,
				    tkw_expire_fn *on_expire)
{
	struct rival_sleeper *s = &w->sleeper;

	(void)pthread_mutex_lock(&s->lock);
	while (!rival_sleeper_quits(s)) {
		uint64_t now = (uint64_t)rival_now() / w->tick_ns;
		uint64_t next;

		if (tkw_wheel_advance(w->wheel, now, RIVAL_STEPS_AT_ONCE,
				      on_expire, NULL) == 1) {
			(void)pthread_mutex_unlock(&s->lock);
			(void)pthread_mutex_lock(&s->lock);
			continue;
		}
		next = tkw_wheel_next_tick(w->wheel);
		rival_sleeper_sleep(s, next == TKW_TICK_NEVER
					       ? INT64_MAX
					       : (int64_t)(next * w->tick_ns));
	}
	(void)pthread_mutex_unlock(&s->lock);
}

/* Starts the worker. work() calls rival_wheel_work(). */
static inline void rival_wheel_open(struct rival_wheel *w, uint32_t tick_ns,
				    void *(*work)(void *arg))
{
	struct tkw_wheel_config cfg = { .size = sizeof(cfg) };

	w->tick_ns = tick_ns;
	cfg.now_tick = (uint64_t)rival_now() / w->tick_ns;
	w->mem = rival_pages_get(TKW_WHEEL_BYTES);
	if (tkw_wheel_init(&w->wheel, w->mem, TKW_WHEEL_BYTES, &cfg) != 0)
		rival_die("tkw_wheel_init failed");
	rival_sleeper_open(&w->sleeper, work);
}

/* The worker has ended. */
static inline void rival_wheel_close(struct rival_wheel *w)
{
	rival_sleeper_close(&w->sleeper);
	rival_pages_put(w->mem, TKW_WHEEL_BYTES);
}

/* Rounded up, so that it is never early. */
static inline uint64_t rival_wheel_tick(const struct rival_wheel *w,
					int64_t deadline_ns)
{
	return ((uint64_t)deadline_ns + w->tick_ns - 1) / w->tick_ns;
}

static inline bool rival_wheel_add(struct rival_wheel *w, struct tkw_entry *e,
				   int64_t deadline_ns)
{
	uint64_t tick = rival_wheel_tick(w, deadline_ns);
	int err;

	(void)pthread_mutex_lock(&w->sleeper.lock);
	err = tkw_wheel_add(w->wheel, e, tick);
	rival_sleeper_unlock(&w->sleeper, (int64_t)(tick * w->tick_ns));
	return err == 0;
}

static inline bool rival_wheel_remove(struct rival_wheel *w,
				      struct tkw_entry *e)
{
	int err;

	(void)pthread_mutex_lock(&w->sleeper.lock);
	err = tkw_wheel_remove(w->wheel, e);
	(void)pthread_mutex_unlock(&w->sleeper.lock);
	return err == 0;
}

/* The deadline is not earlier than the one before, so the worker need not wake
 * up. */
static inline bool rival_wheel_extend(struct rival_wheel *w,
				      struct tkw_entry *e, int64_t deadline_ns)
{
	uint64_t tick = rival_wheel_tick(w, deadline_ns);
	int err;

	(void)pthread_mutex_lock(&w->sleeper.lock);
	err = tkw_wheel_extend(w->wheel, e, tick);
	(void)pthread_mutex_unlock(&w->sleeper.lock);
	return err == 0;
}

#endif /* TKW_RIVAL_WHEEL_H */
