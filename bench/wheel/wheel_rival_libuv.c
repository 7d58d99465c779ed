/* SPDX-License-Identifier: MIT */
/*
 * wheel_rival_libuv.c - libuv, which has a binary heap of linked nodes inside
 * the handles. Timers are pushed back by uv_timer_again().
 */
#include "wheel_bench.h"
#include "wheel_entrants.h"

#include <uv.h>

struct state {
	uv_loop_t loop;
	uv_timer_t *timers;
	uint32_t n;
};

static void on_timer(uv_timer_t *t)
{
	if (uv_timer_get_repeat(t) > 0)
		(void)uv_timer_stop(t); /* it was pushed back by "again" */
	bench_count_fired((uintptr_t)t->data);
}

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	(void)entrant;
	if (uv_loop_init(&s->loop) != 0)
		bench_die("uv_loop_init failed");
	uv_update_time(&s->loop);
	s->n = l->n;
	s->timers = (uv_timer_t *)bench_pages_get(l->n * sizeof(*s->timers));
	for (uint32_t i = 0; i < l->n; i++) {
		(void)uv_timer_init(&s->loop, &s->timers[i]);
		s->timers[i].data = (void *)(uintptr_t)i;
	}
}

static void state_close(struct state *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		uv_close((uv_handle_t *)&s->timers[i], NULL);
	(void)uv_run(&s->loop, UV_RUN_NOWAIT);
	if (uv_loop_close(&s->loop) != 0)
		bench_die("uv_loop_close failed");
	bench_pages_put(s->timers, s->n * sizeof(*s->timers));
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	(void)uv_timer_start(&s->timers[i], on_timer, tick - bench_tally.now,
			     0);
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	(void)uv_timer_stop(&s->timers[i]);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	uv_timer_set_repeat(&s->timers[i], tick - bench_tally.now);
	(void)uv_timer_again(&s->timers[i]);
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	bench_vclock_set(tick);
	(void)uv_run(&s->loop, UV_RUN_NOWAIT);
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

const struct bench_entrant bench_entrant_libuv = {
	.name = "libuv",
	.run = run_load,
};
