/* SPDX-License-Identifier: MIT */
/*
 * timer_rows.c - the rows of the timer, of the patterns and of the event loops.
 * Where nothing should fire, delays are 20 s or more. Times are wall times.
 * Most rows X have a second figure X_cpu, the processor time.
 *
 * Rows timer/...:
 *
 *   schedule/Tt          T threads schedule on one timer; time per operation
 *   pair/Tt              T threads cancel the oldest of their last 1000
 *                        timeouts and schedule a new one; the timer reads the
 *                        clock
 *   pair_at/Tt           the same with the caller's own deadline
 *   reschedule/Tt        T threads push a random one of their 1000 timeouts
 *                        back to a later deadline; the timer reads the clock
 *   cross_cancel/2t      one thread schedules, another one cancels
 *   churn/N              N are pending. Two threads cancel a random one and
 *                        schedule it again
 *   fire/1e6             1e6 are pending. Each schedules itself again when it
 *                        fires, for 1 to 100 ms, which is more than any entrant
 *                        can do; time per fire
 *   fire_steady_cpu/N    N are pending, and each schedules itself again. Delays
 *                        grow with N, so that half a million fire in a second,
 *                        which the entrants can do; processor time per fire
 *   lateness_Q/N/TICK    N timeouts have delays of 1 to 1000 ms: how late they
 *                        fired, by quantile
 *   lateness_early/N/TICK
 *                        the same: how many were early
 *   idle_wakeups/1h      one timeout is an hour away: wake-ups in 10 s
 *   far_wakeups/1e6      1e6 timeouts are ten days away: wake-ups in 10 s
 *   herd_p99, herd_max/N
 *                        N are due in one tick: how long a schedule by another
 *                        thread takes meanwhile
 *   herd_drain/N         the same: how long it takes until all have fired
 *   create/1             a timer is created and destroyed without a timeout
 *   memory/0             resident bytes of a timer that was never used
 *   memory/N             resident bytes of a pending timeout, with its share of
 *                        what the timer needs for N of them
 *   memory_after/N       what is left after all were cancelled
 *   stop_lost/2t         the timer is stopped while two threads schedule: how
 *                        many accepted timeouts neither fired nor came back
 *
 * Rows patterns/...:
 *
 *   request/Tt           T threads complete the oldest of their last 1000
 *                        requests and add a new one, with a timeout; time per
 *                        operation
 *   delayed/Tt           T threads make an event, which completes the oldest of
 *                        their 1000 delayed operations, and add a new one. Each
 *                        operation has a key of its own; time per event and add
 *   delayed/Tt/10        the same with ten operations on each key. Each event
 *                        asks all ten, and one of them completes
 *   delayed_expire_cpu/2t
 *                        two threads add 50,000 operations each, all with the
 *                        same timeout, and all expire; time per operation
 *
 * Rows loop/...:
 *
 *   extend/1e5/LOOP      1e5 timeouts in an event loop are due in 30 to 60 s. A
 *                        random one is pushed back to 60 s from now, 1000 times
 *                        in each round of the loop. The timeouts are the loop's
 *                        own timers, or ours through the adapter. With
 *                        libevent_same, all are due in 60 s from the start,
 *                        because libevent's common timeouts need that
 */
#include "timer_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/rival_process.h"

static const struct bench_figure schedule_figures[] = {
	{ .key = "ns", .bench = "schedule", .unit = "ns/op" },
	{ .key = "cpu_ns", .bench = "schedule_cpu", .unit = "ns/op" },
};

static const struct bench_figure pair_figures[] = {
	{ .key = "ns", .bench = "pair", .unit = "ns/op" },
	{ .key = "cpu_ns", .bench = "pair_cpu", .unit = "ns/op" },
};

static const struct bench_figure pair_at_figures[] = {
	{ .key = "ns", .bench = "pair_at", .unit = "ns/op" },
};

static const struct bench_figure reschedule_figures[] = {
	{ .key = "ns", .bench = "reschedule", .unit = "ns/op" },
	{ .key = "cpu_ns", .bench = "reschedule_cpu", .unit = "ns/op" },
};

static const struct bench_figure cross_cancel_figures[] = {
	{ .key = "ns", .bench = "cross_cancel", .unit = "ns/op" },
};

static const struct bench_figure churn_figures[] = {
	{ .key = "ns", .bench = "churn", .unit = "ns/op" },
};

static const struct bench_figure fire_figures[] = {
	{ .key = "ns", .bench = "fire", .unit = "ns/fire" },
	{ .key = "cpu_ns", .bench = "fire_cpu", .unit = "ns/fire" },
};

static const struct bench_figure fire_steady_figures[] = {
	{ .key = "cpu_ns", .bench = "fire_steady_cpu", .unit = "ns/fire" },
};

static const struct bench_figure lateness_figures[] = {
	{ .key = "p10", .bench = "lateness_p10", .unit = "us" },
	{ .key = "p25", .bench = "lateness_p25", .unit = "us" },
	{ .key = "p50", .bench = "lateness_p50", .unit = "us" },
	{ .key = "p75", .bench = "lateness_p75", .unit = "us" },
	{ .key = "p90", .bench = "lateness_p90", .unit = "us" },
	{ .key = "p99", .bench = "lateness_p99", .unit = "us" },
	{ .key = "p99_9", .bench = "lateness_p99_9", .unit = "us" },
	{ .key = "max", .bench = "lateness_max", .unit = "us" },
	{ .key = "early",
	  .bench = "lateness_early",
	  .unit = "count",
	  .zero_for_ours = true },
};

static const struct bench_figure idle_figures[] = {
	{ .key = "wakeups", .bench = "idle_wakeups", .unit = "wakeups/10s" },
	{ .key = "cpu_ms", .bench = "idle_cpu", .unit = "ms/10s" },
};

static const struct bench_figure far_figures[] = {
	{ .key = "wakeups", .bench = "far_wakeups", .unit = "wakeups/10s" },
	{ .key = "cpu_ms", .bench = "far_cpu", .unit = "ms/10s" },
};

static const struct bench_figure herd_figures[] = {
	{ .key = "p99", .bench = "herd_p99", .unit = "us", .extra = "probes" },
	{ .key = "max", .bench = "herd_max", .unit = "us" },
	{ .key = "drain_ms", .bench = "herd_drain", .unit = "ms" },
};

static const struct bench_figure create_figures[] = {
	{ .key = "ns", .bench = "create", .unit = "ns/timer" },
	{ .key = "cpu_ns", .bench = "create_cpu", .unit = "ns/timer" },
};

static const struct bench_figure unused_figures[] = {
	{ .key = "bytes", .bench = "memory", .unit = "bytes" },
};

static const struct bench_figure memory_figures[] = {
	{ .key = "bytes", .bench = "memory", .unit = "bytes" },
	{ .key = "after_kb", .bench = "memory_after", .unit = "KiB" },
};

static const struct bench_figure stop_figures[] = {
	{ .key = "lost",
	  .bench = "stop_lost",
	  .unit = "count",
	  .extra = "accepted",
	  .zero_for_ours = true },
};

static const struct bench_figure request_figures[] = {
	{ .key = "ns", .bench = "request", .unit = "ns/op" },
	{ .key = "cpu_ns", .bench = "request_cpu", .unit = "ns/op" },
};

static const struct bench_figure delayed_figures[] = {
	{ .key = "ns", .bench = "delayed", .unit = "ns/op" },
	{ .key = "cpu_ns", .bench = "delayed_cpu", .unit = "ns/op" },
};

static const struct bench_figure delayed_expire_figures[] = {
	{ .key = "cpu_ns", .bench = "delayed_expire_cpu", .unit = "ns/op" },
};

static const struct bench_figure extend_figures[] = {
	{ .key = "ns", .bench = "extend", .unit = "ns/op" },
	{ .key = "cpu_ns", .bench = "extend_cpu", .unit = "ns/op" },
};

/* A case of a shape. It is one request to each process. */
struct timer_case {
	const char *where;
	const char *args;
	uint64_t ops; /* per thread, or 0 if the kind has none */
	bool slow;    /* a sample takes seconds, so fewer are taken */
	bool warm_up; /* one more run first, for runtimes that compile */
};

static const struct timer_case schedule_cases[] = {
	{ "1t", "threads=1", 1000000, false, true },
	{ "2t", "threads=2", 500000, false, true },
	{ "4t", "threads=4", 250000, false, true },
};

static const struct timer_case pair_cases[] = {
	{ "1t", "threads=1", 3000000, false, true },
	{ "2t", "threads=2", 1500000, false, true },
	{ "4t", "threads=4", 750000, false, true },
	{ "8t", "threads=8", 375000, false, true },
	{ "16t", "threads=16", 187500, false, true },
};

static const struct timer_case cross_cancel_cases[] = {
	{ "2t", "", 1000000, false, true },
};

static const struct timer_case churn_cases[] = {
	{ "1e2", "threads=2 n=100", 500000, false, true },
	{ "1e3", "threads=2 n=1000", 500000, false, true },
	{ "1e4", "threads=2 n=10000", 500000, false, true },
	{ "1e5", "threads=2 n=100000", 500000, false, true },
	{ "1e6", "threads=2 n=1000000", 500000, false, true },
	{ "1e7", "threads=2 n=10000000", 500000, true, true },
};

static const struct timer_case fire_cases[] = {
	{ "1e6", "n=1000000 ms=2000", 0, true, false },
};

/* With 100 timeouts and a tick of 1 ms, half a million in a second are not
 * possible. With 1000, a timeout takes 1 ms of delay on average, half a tick,
 * and the wake-up. */
static const struct timer_case fire_steady_cases[] = {
	{ "1e2", "n=100 longest_ms=2 ms=1000", 0, true, false },
	{ "1e3", "n=1000 longest_ms=2 ms=1000", 0, true, false },
	{ "1e4", "n=10000 longest_ms=40 ms=1000", 0, true, false },
	{ "1e5", "n=100000 longest_ms=400 ms=1000", 0, true, false },
	{ "1e6", "n=1000000 longest_ms=4000 ms=1000", 0, true, false },
	{ "1e7", "n=10000000 longest_ms=40000 ms=1000", 0, true, false },
};

static const struct timer_case lateness_cases[] = {
	{ "1e3/10us", "n=1000 tick_ns=10000", 0, true, true },
	{ "1e3/1ms", "n=1000 tick_ns=1000000", 0, true, true },
	{ "1e5/10us", "n=100000 tick_ns=10000", 0, true, true },
	{ "1e5/1ms", "n=100000 tick_ns=1000000", 0, true, true },
};

static const struct timer_case idle_cases[] = {
	{ "1h", "ms=10000", 0, true, true },
};

static const struct timer_case far_cases[] = {
	{ "1e6", "n=1000000 ms=10000", 0, true, true },
};

static const struct timer_case herd_cases[] = {
	{ "1e6", "n=1000000", 0, true, true },
	{ "1e7", "n=10000000", 0, true, false },
};

static const struct timer_case create_cases[] = {
	{ "1", "", 20000, false, true },
};

/* With more timers, Netty would print a warning. */
static const struct timer_case unused_cases[] = {
	{ "0", "n=60", 0, false, false },
};

static const struct timer_case memory_cases[] = {
	{ "1e3", "n=1000", 0, true, true },
	{ "1e4", "n=10000", 0, true, true },
	{ "1e5", "n=100000", 0, true, true },
	{ "1e6", "n=1000000", 0, true, false },
	{ "1e7", "n=10000000", 0, true, false },
};

static const struct timer_case stop_cases[] = {
	{ "2t", "threads=2 rounds=100", 0, true, false },
};

static const struct timer_case request_cases[] = {
	{ "1t", "threads=1", 1500000, false, true },
	{ "2t", "threads=2", 750000, false, true },
	{ "4t", "threads=4", 375000, false, true },
};

static const struct timer_case delayed_cases[] = {
	{ "1t", "threads=1", 1500000, false, true },
	{ "2t", "threads=2", 750000, false, true },
	{ "4t", "threads=4", 375000, false, true },
	{ "1t/10", "threads=1 crowd=10", 1500000, false, true },
	{ "2t/10", "threads=2 crowd=10", 750000, false, true },
};

static const struct timer_case delayed_expire_cases[] = {
	{ "2t", "threads=2 window=50000", 0, false, true },
};

static const struct timer_case extend_cases[] = {
	{ "1e5/libuv", "loop=1 n=100000", 2000000, false, true },
	{ "1e5/libevent", "loop=2 n=100000", 2000000, false, true },
	{ "1e5/libevent_same", "loop=2 n=100000 same=1", 2000000, false, true },
	{ "1e5/libev", "loop=3 n=100000", 2000000, false, true },
};

struct timer_shape {
	const char *group; /* how the names of its rows begin */
	const char *name;
	const char *kind; /* how the request begins */
	const struct bench_figure *figures;
	size_t figure_count;
	const struct timer_case *cases;
	size_t count, quick_count;
	bool together;
};

#define FIGURES(list) (list), sizeof(list) / sizeof((list)[0])

static const struct timer_shape shapes[] = {
	{ "timer", "schedule", "schedule", FIGURES(schedule_figures),
	  schedule_cases, 3, 3, false },
	{ "timer", "pair", "pair", FIGURES(pair_figures), pair_cases, 5, 5,
	  false },
	{ "timer", "pair_at", "pair at=1", FIGURES(pair_at_figures), pair_cases,
	  3, 3, false },
	{ "timer", "reschedule", "reschedule", FIGURES(reschedule_figures),
	  pair_cases, 3, 3, false },
	{ "timer", "cross_cancel", "cross_cancel",
	  FIGURES(cross_cancel_figures), cross_cancel_cases, 1, 1, false },
	{ "timer", "churn", "churn", FIGURES(churn_figures), churn_cases, 6, 4,
	  false },
	{ "timer", "fire", "fire", FIGURES(fire_figures), fire_cases, 1, 1,
	  false },
	{ "timer", "fire_steady", "fire", FIGURES(fire_steady_figures),
	  fire_steady_cases, 6, 4, false },
	{ "timer", "lateness", "lateness", FIGURES(lateness_figures),
	  lateness_cases, 4, 4, false },
	{ "timer", "idle", "idle", FIGURES(idle_figures), idle_cases, 1, 1,
	  true },
	{ "timer", "far", "far", FIGURES(far_figures), far_cases, 1, 1, true },
	{ "timer", "herd", "herd", FIGURES(herd_figures), herd_cases, 2, 1,
	  false },
	{ "timer", "create", "create", FIGURES(create_figures), create_cases, 1,
	  1, false },
	{ "timer", "memory", "unused", FIGURES(unused_figures), unused_cases, 1,
	  1, false },
	{ "timer", "memory", "memory", FIGURES(memory_figures), memory_cases, 5,
	  4, false },
	{ "timer", "stop", "stop", FIGURES(stop_figures), stop_cases, 1, 1,
	  false },
	{ "patterns", "request", "request", FIGURES(request_figures),
	  request_cases, 3, 3, false },
	{ "patterns", "delayed", "delayed", FIGURES(delayed_figures),
	  delayed_cases, 5, 5, false },
	{ "patterns", "delayed_expire", "expire",
	  FIGURES(delayed_expire_figures), delayed_expire_cases, 1, 1, false },
	{ "loop", "extend", "extend", FIGURES(extend_figures), extend_cases, 4,
	  4, false },
};

enum {
	SHAPES = sizeof(shapes) / sizeof(shapes[0]),
	CASES_MOST = sizeof(churn_cases) / sizeof(churn_cases[0])
};
_Static_assert(SHAPES *CASES_MOST <= BENCH_REQUESTS_MAX, "too many requests");

static uint32_t runs_of(const struct timer_shape *shape,
			const struct timer_case *c,
			const struct bench_options *o)
{
	if (o->runs > 0)
		return c->slow ? o->long_runs : o->runs;
	if (shape->together)
		return 1;
	if (c->slow)
		return o->quick ? 1 : 3;
	return o->quick ? 3 : 7;
}

static void make_request(struct bench_request *q,
			 const struct timer_shape *shape,
			 const struct timer_case *c,
			 const struct bench_options *o)
{
	char ops[32] = "";

	*q = (struct bench_request){ .group = shape->group,
				     .where = c->where,
				     .figures = shape->figures,
				     .figure_count = shape->figure_count,
				     .runs = runs_of(shape, c, o),
				     .warm_up = c->warm_up,
				     .together = shape->together };
	(void)snprintf(q->name, sizeof(q->name), "%s/%s/%s", shape->group,
		       shape->name, c->where);
	if (c->ops > 0)
		(void)snprintf(ops, sizeof(ops), " ops=%" PRIu64,
			       o->quick ? c->ops / 10 : c->ops);
	(void)snprintf(q->text, sizeof(q->text), "%s%s%s%s", shape->kind,
		       *c->args ? " " : "", c->args, ops);
}

void bench_timer_rows_name(char name[BENCH_NAME_MAX],
			   const struct bench_request *q, size_t figure)
{
	(void)snprintf(name, BENCH_NAME_MAX, "%s/%s/%s", q->group,
		       q->figures[figure].bench, q->where);
}

/* Does any wanted process take part in this request? */
static bool has_process(const struct bench_request *q,
			const struct bench_options *o)
{
	const struct bench_process *process;

	for (size_t i = 0; (process = bench_processes_get(i)) != NULL; i++) {
		if (bench_process_is_of(process, q->group, q->where) &&
		    bench_options_want_entrant(o, bench_process_name(process)))
			return true;
	}
	return false;
}

bool bench_timer_rows_want(const struct bench_request *q,
			   const struct bench_options *o)
{
	char name[BENCH_NAME_MAX];

	if (!has_process(q, o))
		return false;
	if (bench_options_want_row(o, q->name))
		return true;
	for (size_t i = 0; i < q->figure_count; i++) {
		bench_timer_rows_name(name, q, i);
		if (bench_options_want_row(o, name))
			return true;
	}
	return false;
}

size_t bench_timer_rows_plan(struct bench_request *requests,
			     const struct bench_options *o)
{
	size_t count = 0;

	for (size_t k = 0; k < SHAPES; k++) {
		const struct timer_shape *shape = &shapes[k];
		size_t cases = o->quick ? shape->quick_count : shape->count;

		for (size_t i = 0; i < cases; i++) {
			make_request(&requests[count], shape, &shape->cases[i],
				     o);
			if (bench_timer_rows_want(&requests[count], o))
				count++;
		}
	}
	return count;
}
