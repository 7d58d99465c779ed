/* SPDX-License-Identifier: MIT */
/*
 * wheel_rival_libev.c - libev, which has a 4-ary heap and keeps each time
 * beside its pointer. Timers are pushed back by ev_timer_again(), which libev's
 * manual recommends for that.
 */
#include "wheel_bench.h"
#include "wheel_entrants.h"

#include <ev.h>

struct state {
	struct ev_loop *loop;
	ev_timer *timers;
	size_t bytes;
};

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)revents;
	if (w->repeat > 0)
		ev_timer_stop(loop, w); /* it was pushed back by "again" */
	bench_count_fired((uintptr_t)w->data);
}

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	(void)entrant;
	s->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
	if (s->loop == NULL)
		bench_die("ev_loop_new failed");
	s->bytes = l->n * sizeof(*s->timers);
	s->timers = (ev_timer *)bench_pages_get(s->bytes);
	for (uint32_t i = 0; i < l->n; i++) {
		ev_init(&s->timers[i], on_timer);
		s->timers[i].data = (void *)(uintptr_t)i;
	}
}

static void state_close(struct state *s)
{
	ev_loop_destroy(s->loop);
	bench_pages_put(s->timers, s->bytes);
}

/* libev fires what is due strictly before now. The clock is in the middle of a
 * tick, and a timer is due at the beginning of its tick. */
static inline double delay_to(uint64_t tick)
{
	return (double)(tick - bench_tally.now) * 1e-3 - 0.5e-3;
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	ev_timer *w = &s->timers[i];

	ev_timer_set(w, delay_to(tick), 0.);
	ev_timer_start(s->loop, w);
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	ev_timer_stop(s->loop, &s->timers[i]);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	ev_timer *w = &s->timers[i];

	w->repeat = delay_to(tick);
	ev_timer_again(s->loop, w);
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	bench_vclock_set(tick);
	(void)ev_run(s->loop, EVRUN_NOWAIT);
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

const struct bench_entrant bench_entrant_libev = {
	.name = "libev",
	.run = run_load,
};
