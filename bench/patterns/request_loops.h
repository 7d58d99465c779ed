/* SPDX-License-Identifier: MIT */
/*
 * request_loops.h - the timed loop of requests, compiled once for each entrant.
 *
 * It has no include guard, because it is the last include of each entrant's
 * file. Before the include, the file declares ended(). It calls ended() once
 * for each request that has ended, with the caller, the status and the
 * response. It also defines
 *
 *   request_id                       the type of a request's id
 *   void requests_open(l)            makes room for all requests, and a
 *                                    tickwheel timer for their timeouts
 *   void requests_close()            requests may be under way
 *   bool op_add(caller, timeout_ns, id)
 *   bool op_complete(id, response)   returns false if it had ended before
 *
 * After the include, it can call measure_requests(). Each thread has a window
 * of requests. For each request that it adds, it completes the oldest one.
 */
#include <stdatomic.h>

/* Aligned, so that two callers share no cache line. */
struct caller {
	_Alignas(128) request_id *ids; /* the ids of its window */
	uint64_t answered;
	uint64_t sum; /* sum of the responses */
	uint64_t refused;
	/* Requests that ended without an answer. Any thread may count here. */
	_Atomic uint64_t others;
};

static struct caller callers[RIVAL_THREADS_MAX];

static inline void ended(void *caller, int status, const void *response)
{
	struct caller *c = caller;

	if (status != 0) {
		atomic_fetch_add_explicit(&c->others, 1, memory_order_relaxed);
		return;
	}
	c->answered++;
	c->sum += (uintptr_t)response;
}

/* Long enough that no request times out while it is measured. */
static inline int64_t request_timeout(uint32_t k)
{
	return 20 * RIVAL_SEC + (int64_t)(k % 1024) * 10 * RIVAL_MSEC;
}

static void fill_window(uint32_t thread, void *ctx)
{
	const struct rival_load *l = ctx;
	struct caller *c = &callers[thread];

	*c = (struct caller){ .ids = rival_pages_get(l->window *
						     sizeof(*c->ids)) };
	for (uint32_t k = 0; k < l->window; k++)
		c->refused += !op_add(c, request_timeout(k), &c->ids[k]);
}

static void loop_requests(uint32_t thread, void *ctx)
{
	const struct rival_load *l = ctx;
	struct caller *c = &callers[thread];
	uint32_t oldest = 0;
	uint64_t refused = 0;

	for (uint32_t k = 0; k < l->ops; k++) {
		request_id *id = &c->ids[oldest];

		refused += !op_complete(*id, (void *)(uintptr_t)(k + 1));
		refused += !op_add(c, request_timeout(k), id);
		if (++oldest == l->window)
			oldest = 0;
	}
	c->refused += refused;
}

/* Checks that a caller got all of its answers, and nothing else. */
static void judge_caller(const struct rival_load *l, struct caller *c,
			 struct rival_answer *a)
{
	uint64_t ops = l->ops;

	if (c->refused > 0)
		rival_fail(a, "a request or an answer was refused");
	if (atomic_load_explicit(&c->others, memory_order_relaxed) > 0)
		rival_fail(a, "a request ended that was not answered");
	if (c->answered != ops || c->sum != ops * (ops + 1) / 2)
		rival_fail(a, "an answer is missing, or is not the right one");
	rival_pages_put(c->ids, l->window * sizeof(*c->ids));
}

static void measure_requests(const struct rival_load *l, struct rival_answer *a)
{
	struct rival_load load = *l;
	struct rival_team team = { .threads = l->threads,
				   .prepare = fill_window,
				   .timed = loop_requests,
				   .ctx = &load };
	double ops = (double)l->threads * (double)l->ops;
	struct rival_cost cost;

	requests_open(l);
	rival_team_run(&team, &cost);
	for (uint32_t i = 0; i < l->threads; i++)
		judge_caller(l, &callers[i], a);
	requests_close();
	rival_figure(a, "ns", (double)cost.wall_ns / ops);
	rival_figure(a, "cpu_ns", (double)cost.cpu_ns / ops);
}
