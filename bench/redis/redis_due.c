/* SPDX-License-Identifier: MIT */
/*
 * redis_due.c - the samples about items that become due: how late they are
 * taken, and how long others wait for the server meanwhile.
 *
 * Items are put before they are due. How long that takes differs by much, so
 * the first due time is chosen after some items have been put. If it was too
 * early, the sample is made again.
 */
#include "redis_bench.h"

#include <stdatomic.h>

enum {
	TRIES = 4,
	LEAD_MS = 300,
	PUT_EACH = 1000,
	GIVE_UP_MS = 2000,
	PINGS_MOST = 1000000,
	PING_EACH_MS = 1,
	PING_BEFORE_MS = 100
};

static int64_t wall_ms(void)
{
	return queue_wall_us() / 1000;
}

/* Puts n items that wait for later, and then `due` items that become due from a
 * time on that lies in the future, `rate` of them per second. Returns this time
 * in milliseconds, or 0 if it is over already. */
static int64_t put_ahead(const struct redis_entrant *e, uint64_t n,
			 uint64_t due, uint32_t rate, struct rival_answer *a)
{
	struct redis_puts p = { .n = due,
				.each = PUT_EACH,
				.call = true,
				.due = REDIS_AT,
				.rate = rate };
	int64_t begin = rival_now();

	if (!redis_fill(e, n, REDIS_FAR))
		rival_fail(a, "a put failed");
	p.begin_ms = wall_ms() + LEAD_MS +
		     (int64_t)((double)(rival_now() - begin) / (double)n *
			       (double)due * 1.5 / 1e6);
	if (!e->worker->put(&p))
		rival_fail(a, "a put failed");
	return wall_ms() + PING_BEFORE_MS < p.begin_ms ? p.begin_ms : 0;
}

/* Makes a sample on a new server. Returns false if the machine was slower than
 * expected. */
typedef bool sample_fn(const struct redis_entrant *e,
		       const struct redis_load *l,
		       const struct queue_server *server,
		       struct rival_answer *a);

static void try_often(const struct redis_entrant *e, const struct redis_load *l,
		      sample_fn *sample, struct rival_answer *a)
{
	bool in_time = false;

	for (int i = 0; !in_time && i < TRIES; i++) {
		struct redis_stage s;

		redis_stage_open(&s, e);
		e->worker->open(e, s.server.port);
		in_time = sample(e, l, &s.server, a);
		e->worker->close();
		redis_stage_close(&s);
	}
	if (!in_time)
		rival_fail(a, "items were due before all of them were put");
}

/* --- lateness ------------------------------------------------------------ */

static bool lateness(const struct redis_entrant *e, const struct redis_load *l,
		     const struct queue_server *server, struct rival_answer *a)
{
	struct redis_late late = {
		.total = (uint32_t)((uint64_t)l->rate * l->ms / 1000),
		.each = l->each,
		.rate = l->rate,
	};
	double cpu_ns;

	late.begin_ms = put_ahead(e, l->n, late.total, l->rate, a);
	if (late.begin_ms == 0)
		return false;
	/* Who needs longer than that does not keep up. */
	late.give_up_ms = late.begin_ms + 3 * (int64_t)l->ms + GIVE_UP_MS;
	cpu_ns = -(double)queue_process_cpu_ns(server->pid) -
		 (double)e->worker->cpu_ns();
	if (!e->worker->late(&late))
		rival_fail(a, "a call failed");
	cpu_ns += (double)queue_process_cpu_ns(server->pid) +
		  (double)e->worker->cpu_ns();
	rival_figure(a, "p50", late.p50);
	rival_figure(a, "p99", late.p99);
	rival_figure(a, "max", late.max);
	rival_figure(a, "early", late.early);
	rival_figure(a, "cpu_us", cpu_ns / 1e3 / late.total);
	return true;
}

void redis_run_lateness(const struct redis_entrant *e,
			const struct redis_load *l, struct rival_answer *a)
{
	try_often(e, l, lateness, a);
}

/* --- herd ---------------------------------------------------------------- */

/* Two threads: one takes the items, the other one measures how long the server
 * needs to answer it. */
static struct {
	const struct redis_entrant *e;
	const struct redis_load *l;
	int64_t begin_ms;
	int64_t drained_us;
	struct redis_link *link;
	_Atomic bool over;
	bool good;
	int64_t *pings; /* from the due time on, in nanoseconds */
	size_t ping_count;
	int64_t before_ns; /* the longest one before */
} herd;

static void drain(void)
{
	herd.good = herd.e->worker->take(herd.l->n, herd.l->each, false);
	herd.drained_us = queue_wall_us();
	/* Nothing else is passed on. */
	atomic_store_explicit(&herd.over, true, memory_order_relaxed);
}

static int64_t ping(void)
{
	int64_t begin = rival_now();

	redis_add_word(herd.link, "PING");
	redis_end(herd.link);
	(void)redis_reply(herd.link);
	return rival_now() - begin;
}

/* One per millisecond, so that each moment is as likely as another. */
static void look(void)
{
	int64_t next = rival_now();

	while (!atomic_load_explicit(&herd.over, memory_order_relaxed) &&
	       herd.ping_count < PINGS_MOST) {
		int64_t sent_us;
		int64_t ns;

		next += PING_EACH_MS * RIVAL_MSEC;
		if (next < rival_now())
			next = rival_now();
		rival_sleep_until(next);
		sent_us = queue_wall_us();
		ns = ping();
		if (sent_us >= herd.begin_ms * 1000)
			herd.pings[herd.ping_count++] = ns;
		else if (sent_us >= (herd.begin_ms - PING_BEFORE_MS) * 1000 &&
			 ns > herd.before_ns)
			herd.before_ns = ns;
	}
}

static void drain_or_look(uint32_t thread, void *ctx)
{
	(void)ctx;
	if (thread == 0)
		drain();
	else
		look();
}

static void herd_figures(struct rival_answer *a)
{
	rival_sort(herd.pings, herd.ping_count);
	rival_figure(a, "p50",
		     (double)rival_quantile(herd.pings, herd.ping_count, 0.5) /
			     1e3);
	rival_figure(a, "p99",
		     (double)rival_quantile(herd.pings, herd.ping_count, 0.99) /
			     1e3);
	rival_figure(a, "max", (double)herd.pings[herd.ping_count - 1] / 1e3);
	rival_figure(a, "before", (double)herd.before_ns / 1e3);
	rival_figure(a, "drain_ms",
		     (double)herd.drained_us / 1e3 - (double)herd.begin_ms);
	rival_figure(a, "pings", (double)herd.ping_count);
}

static bool run_herd(const struct redis_entrant *e, const struct redis_load *l,
		     const struct queue_server *server, struct rival_answer *a)
{
	struct rival_team team = { .threads = 2, .timed = drain_or_look };
	struct rival_cost cost;

	herd.begin_ms = put_ahead(e, l->n / 20 + 1, l->n, 0, a);
	if (herd.begin_ms == 0)
		return false;
	herd.ping_count = 0;
	herd.before_ns = 0;
	/* The threads do not exist yet. */
	atomic_store_explicit(&herd.over, false, memory_order_relaxed);
	herd.link = redis_link_open(server->port);
	rival_team_run(&team, &cost);
	redis_link_close(herd.link);
	if (!herd.good || herd.ping_count == 0)
		rival_fail(a, "not all items were taken");
	else
		herd_figures(a);
	return true;
}

void redis_run_herd(const struct redis_entrant *e, const struct redis_load *l,
		    struct rival_answer *a)
{
	size_t bytes = PINGS_MOST * sizeof(herd.pings[0]);

	herd.e = e;
	herd.l = l;
	herd.pings = rival_pages_get(bytes);
	try_often(e, l, run_herd, a);
	rival_pages_put(herd.pings, bytes);
}
