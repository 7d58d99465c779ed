/* SPDX-License-Identifier: MIT */
/* timer_ours.c - our timer, through the public header. */
#include "rival.h"

#include "tickwheel/timer.h"

enum {
	HAS_DEADLINES = 1,
	SLOTS_ARE_CALLERS = 1
};

static struct {
	struct tkw_timer *t;
	struct tkw_timeout_id *ids;
	size_t bytes;
} timer;

static void fired(size_t i);

static void on_due(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	fired((size_t)(uintptr_t)ctx);
}

static void timer_open(const struct rival_load *l)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.tick_ns = l->tick_ns };

	if (tkw_timer_create(&timer.t, &cfg) != 0 ||
	    tkw_timer_start(timer.t) != 0)
		rival_die("tkw_timer_create or tkw_timer_start failed");
}

static void timer_stop(void)
{
	(void)tkw_timer_stop(timer.t, NULL, NULL);
}

static void timer_close(void)
{
	(void)tkw_timer_destroy(timer.t);
}

static const char *slots_open(size_t n)
{
	timer.bytes = n * sizeof(*timer.ids);
	timer.ids = rival_pages_get(timer.bytes);
	return NULL;
}

static void slots_close(void)
{
	rival_pages_put(timer.ids, timer.bytes);
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	struct tkw_task task = { .fn = on_due, .ctx = (void *)(uintptr_t)i };

	return tkw_timer_schedule(timer.t, &task, delay_ns, &timer.ids[i]) == 0;
}

static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	struct tkw_task task = { .fn = on_due, .ctx = (void *)(uintptr_t)i };

	(void)delay_ns;
	return tkw_timer_schedule_at(timer.t, &task, deadline_ns,
				     &timer.ids[i]) == 0;
}

static inline bool op_cancel(size_t i)
{
	return tkw_timer_cancel(timer.t, timer.ids[i]) == 0;
}

static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	return tkw_timer_reschedule(timer.t, timer.ids[i], delay_ns) == 0;
}

/* Does not ask for the id, because the thread that scheduled slot i first may
 * still be writing it. */
static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	struct tkw_task task = { .fn = on_due, .ctx = (void *)(uintptr_t)i };

	return tkw_timer_schedule(timer.t, &task, delay_ns, NULL) == 0;
}

#include "timer_loops.h"

/* Threads that schedule until they are refused. The counts are read after all
 * threads were joined, so relaxed order is enough. */
struct stop {
	struct tkw_timer *timer;
	_Atomic uint64_t accepted;
	_Atomic uint64_t fired;
	uint64_t handed_over;
};

static void on_stop_due(const struct tkw_firing *firing, void *ctx)
{
	struct stop *s = ctx;

	(void)firing;
	atomic_fetch_add_explicit(&s->fired, 1, memory_order_relaxed);
}

static void on_handed_over(const struct tkw_timeout_info *info, void *ctx)
{
	struct stop *s = ctx;

	(void)info;
	s->handed_over++;
}

/* The first thread stops the timer. The others schedule. */
static void stop_or_schedule(uint32_t thread, void *ctx)
{
	struct stop *s = ctx;
	struct tkw_task task = { .fn = on_stop_due, .ctx = s };
	uint64_t accepted = 0;

	if (thread == 0) {
		rival_sleep_until(rival_now() + 2 * RIVAL_MSEC);
		(void)tkw_timer_stop(s->timer, on_handed_over, s);
		return;
	}
	while (tkw_timer_schedule(s->timer, &task, RIVAL_HOUR, NULL) == 0)
		accepted++;
	atomic_fetch_add_explicit(&s->accepted, accepted, memory_order_relaxed);
}

static void run_stop(const struct rival_load *l, struct rival_answer *a)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.tick_ns = l->tick_ns };
	struct stop stop = { 0 };
	struct rival_team team = { .threads = l->threads + 1,
				   .timed = stop_or_schedule,
				   .ctx = &stop };
	struct rival_cost cost;
	double accepted;
	double kept;

	for (uint32_t round = 0; round < l->rounds; round++) {
		if (tkw_timer_create(&stop.timer, &cfg) != 0)
			rival_die("tkw_timer_create failed");
		rival_team_run(&team, &cost);
		(void)tkw_timer_destroy(stop.timer);
	}
	accepted = (double)atomic_load_explicit(&stop.accepted,
						memory_order_relaxed);
	kept = (double)atomic_load_explicit(&stop.fired, memory_order_relaxed) +
	       (double)stop.handed_over;
	rival_figure(a, "accepted", accepted);
	rival_figure(a, "lost", accepted - kept);
}

static struct tkw_timer *make_unused(void)
{
	struct tkw_timer *t;

	if (tkw_timer_create(&t, NULL) != 0)
		rival_die("tkw_timer_create failed");
	return t;
}

static void run_create(const struct rival_load *l, struct rival_answer *a)
{
	int64_t begin = rival_now();
	int64_t cpu = rival_cpu_ns();

	for (uint32_t i = 0; i < l->ops; i++)
		(void)tkw_timer_destroy(make_unused());
	rival_figure(a, "cpu_ns", (double)(rival_cpu_ns() - cpu) / l->ops);
	rival_figure(a, "ns", (double)(rival_now() - begin) / l->ops);
}

static void run_unused(const struct rival_load *l, struct rival_answer *a)
{
	size_t bytes = l->n * sizeof(struct tkw_timer *);
	struct tkw_timer **timers;
	double before;

	if (l->kind == RIVAL_CREATE) {
		run_create(l, a);
		return;
	}
	timers = rival_pages_get(bytes);
	before = (double)rival_resident();
	for (uint32_t i = 0; i < l->n; i++)
		timers[i] = make_unused();
	rival_figure(a, "bytes", ((double)rival_resident() - before) / l->n);
	for (uint32_t i = 0; i < l->n; i++)
		(void)tkw_timer_destroy(timers[i]);
	rival_pages_put(timers, bytes);
}

const struct entrant entrant_tickwheel = {
	.name = "tickwheel",
	.run = run_load,
	.run_unused = run_unused,
	.run_stop = run_stop,
	.run_requests = ours_run_requests,
	.run_delayed = ours_run_delayed,
	.run_extend = ours_run_extend,
};
