/* SPDX-License-Identifier: MIT */
/*
 * wheel_rival_libevent.c - libevent, with its binary heap of pointers, or with
 * its common timeouts: a queue for each of a few fixed delays. Timers are
 * pushed back by another event_add(). The events are its public struct, in one
 * array.
 */
#include "wheel_bench.h"
#include "wheel_entrants.h"

#include <event2/event.h>
#include <event2/event_struct.h>

enum {
	HEAP,
	COMMON
};

struct state {
	struct event_base *base;
	struct event *events;
	const struct timeval *common; /* NULL for the heap */
	uint32_t n;
};

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	bench_count_fired((uintptr_t)arg);
}

static struct timeval to_timeval(uint64_t ticks)
{
	struct timeval tv;

	tv.tv_sec = (time_t)(ticks / 1000);
	tv.tv_usec = (suseconds_t)(ticks % 1000 * 1000);
	return tv;
}

static struct event_base *new_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	if (cfg == NULL)
		bench_die("event_config_new failed");
	(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (base == NULL)
		bench_die("event_base_new_with_config failed");
	return base;
}

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	struct timeval fixed = to_timeval(l->delay_fixed);

	s->base = new_base();
	s->common = NULL;
	if (entrant->variant == COMMON) {
		s->common = event_base_init_common_timeout(s->base, &fixed);
		if (s->common == NULL)
			bench_die("event_base_init_common_timeout failed");
	}
	s->n = l->n;
	s->events = (struct event *)bench_pages_get(l->n * sizeof(*s->events));
	for (uint32_t i = 0; i < l->n; i++)
		(void)evtimer_assign(&s->events[i], s->base, on_timeout,
				     (void *)(uintptr_t)i);
}

static void state_close(struct state *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		(void)event_del(&s->events[i]);
	event_base_free(s->base);
	bench_pages_put(s->events, s->n * sizeof(*s->events));
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	if (s->common) {
		(void)event_add(&s->events[i], s->common);
	} else {
		struct timeval tv = to_timeval(tick - bench_tally.now);

		(void)event_add(&s->events[i], &tv);
	}
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	(void)event_del(&s->events[i]);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	op_schedule(s, i, tick);
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	bench_vclock_set(tick);
	(void)event_base_loop(s->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

const struct bench_entrant bench_entrant_libevent = {
	.name = "libevent",
	.run = run_load,
	.variant = HEAP,
};

const struct bench_entrant bench_entrant_libevent_common = {
	.name = "libevent_common",
	.run = run_load,
	.variant = COMMON,
	.fixed_only = 1,
};
