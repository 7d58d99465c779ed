/* SPDX-License-Identifier: MIT */
/*
 * delayed_loops.h - the timed loops of delayed operations, compiled once for
 * each entrant.
 *
 * It has no include guard, because it is the last include of each entrant's
 * file. The file defines, before the include,
 *
 *   struct waiter                    one operation: w.ctx is passed to holds()
 *                                    and ended()
 *   void delayed_open(l)             makes room for all operations, and a
 *                                    tickwheel timer for their timeouts
 *   void delayed_close()             operations may be waiting
 *   int op_add(ctx, key, timeout_ns) returns 0 if it waits, 1 if it holds
 *   int op_event(key)                returns how many have completed
 *
 * and calls holds() and ended(), which it declares. After the include, it can
 * call measure_delayed(). A counter is behind each key. An operation waits
 * until the counter is as high as it wants. Each thread has operations with
 * keys of its own, `crowd` of them on each key. Again and again it counts one
 * counter up and tells of it, which completes one operation, and adds another
 * in its place.
 */
#include <stdatomic.h>
#include <stdlib.h>

/* What an operation waits for. */
struct wish {
	uint64_t key;
	uint64_t wanted;
	struct asker *asker;
};

/* A thread. Aligned, so that two threads share no cache line. */
struct asker {
	_Alignas(128) struct wish *wishes;
	_Atomic uint64_t *counters; /* one for each key */
	uint64_t first_key;
	uint64_t completed;
	uint64_t wrong;
	/* Operations that ended otherwise. Any thread may count here. */
	_Atomic uint64_t others;
};

static struct asker askers[RIVAL_THREADS_MAX];

static inline bool holds(const void *ctx)
{
	const struct wish *w = ctx;

	return atomic_load_explicit(
		       &w->asker->counters[w->key - w->asker->first_key],
		       memory_order_acquire) >= w->wanted;
}

static inline void ended(void *ctx, int status)
{
	struct wish *w = ctx;

	if (status == 0)
		w->asker->completed++;
	else
		atomic_fetch_add_explicit(&w->asker->others, 1,
					  memory_order_release);
}

static uint32_t keys_of(const struct rival_load *l)
{
	return l->window / l->crowd;
}

/* Long enough that none expires while it is measured. */
static inline int64_t delayed_timeout(uint32_t k)
{
	return 20 * RIVAL_SEC + (int64_t)(k % 1024) * 10 * RIVAL_MSEC;
}

static void prepare_asker(uint32_t thread, void *ctx)
{
	const struct rival_load *l = ctx;
	struct asker *a = &askers[thread];
	uint32_t keys = keys_of(l);

	*a = (struct asker){
		.wishes = rival_pages_get(l->window * sizeof(*a->wishes)),
		.counters = rival_pages_get(keys * sizeof(*a->counters)),
		.first_key = (uint64_t)thread << 32,
	};
	for (uint32_t k = 0; k < l->window; k++)
		a->wishes[k] = (struct wish){ .key = a->first_key + k % keys,
					      .wanted = 1 + k / keys,
					      .asker = a };
}

static void fill_delayed(uint32_t thread, void *ctx)
{
	const struct rival_load *l = ctx;
	struct asker *a = &askers[thread];

	prepare_asker(thread, ctx);
	for (uint32_t k = 0; k < l->window; k++)
		a->wrong += op_add(&a->wishes[k], a->wishes[k].key,
				   delayed_timeout(k)) != 0;
}

static void loop_delayed(uint32_t thread, void *ctx)
{
	const struct rival_load *l = ctx;
	struct asker *a = &askers[thread];
	uint32_t oldest = 0;
	uint32_t key = 0;
	uint32_t keys = keys_of(l);
	uint64_t wrong = 0;

	for (uint32_t k = 0; k < l->ops; k++) {
		struct wish *w = &a->wishes[oldest];

		atomic_store_explicit(&a->counters[key], w->wanted,
				      memory_order_release);
		wrong += op_event(w->key) != 1;
		w->wanted += l->crowd;
		wrong += op_add(w, w->key, delayed_timeout(k)) != 0;
		if (++oldest == l->window)
			oldest = 0;
		if (++key == keys)
			key = 0;
	}
	a->wrong += wrong;
}

static void judge_asker(struct asker *a, uint64_t completed, uint64_t others,
			struct rival_answer *answer)
{
	if (a->wrong > 0)
		rival_fail(answer, "an operation was refused, or an event "
				   "completed another number of them");
	if (a->completed != completed ||
	    atomic_load_explicit(&a->others, memory_order_acquire) != others)
		rival_fail(answer, "operations ended wrongly");
}

/* Ends the operations that are left, which still use this memory. */
static void close_askers(const struct rival_load *l)
{
	delayed_close();
	for (uint32_t i = 0; i < l->threads; i++) {
		struct asker *a = &askers[i];

		rival_pages_put(a->wishes, l->window * sizeof(*a->wishes));
		rival_pages_put((void *)a->counters,
				keys_of(l) * sizeof(*a->counters));
	}
}

static void measure_completes(const struct rival_load *l,
			      struct rival_answer *answer)
{
	struct rival_load load = *l;
	struct rival_team team = { .threads = l->threads,
				   .prepare = fill_delayed,
				   .timed = loop_delayed,
				   .ctx = &load };
	double ops = (double)l->threads * (double)l->ops;
	struct rival_cost cost;

	delayed_open(l);
	rival_team_run(&team, &cost);
	for (uint32_t i = 0; i < l->threads; i++)
		judge_asker(&askers[i], l->ops, 0, answer);
	close_askers(l);
	rival_figure(answer, "ns", (double)cost.wall_ns / ops);
	rival_figure(answer, "cpu_ns", (double)cost.cpu_ns / ops);
}

/* Adds all operations, and waits until the last one has expired. */
static void loop_expire(uint32_t thread, void *ctx)
{
	const struct rival_load *l = ctx;
	struct asker *a = &askers[thread];

	for (uint32_t k = 0; k < l->window; k++)
		a->wrong += op_add(&a->wishes[k], a->wishes[k].key,
				   RIVAL_MSEC) != 0;
	while (atomic_load_explicit(&a->others, memory_order_acquire) +
		       a->wrong <
	       l->window)
		rival_sleep_until(rival_now() + RIVAL_MSEC);
}

static void measure_expires(const struct rival_load *l,
			    struct rival_answer *answer)
{
	struct rival_load load = *l;
	struct rival_team team = { .threads = l->threads,
				   .prepare = prepare_asker,
				   .timed = loop_expire,
				   .ctx = &load };
	double ops = (double)l->threads * (double)l->window;
	struct rival_cost cost;

	delayed_open(l);
	rival_team_run(&team, &cost);
	for (uint32_t i = 0; i < l->threads; i++)
		judge_asker(&askers[i], 0, l->window, answer);
	close_askers(l);
	rival_figure(answer, "cpu_ns", (double)cost.cpu_ns / ops);
}

static void measure_delayed(const struct rival_load *l, struct rival_answer *a)
{
	if (l->kind == RIVAL_EXPIRE)
		measure_expires(l, a);
	else
		measure_completes(l, a);
}
