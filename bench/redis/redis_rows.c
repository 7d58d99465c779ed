/* SPDX-License-Identifier: MIT */
/*
 * redis_rows.c - the rows of the queue in Redis. An item has a payload of 100
 * bytes. There is one client, with one connection. Times are wall times. A row
 * X has a second figure X_cpu: the processor time of the server's main thread.
 *
 *   put/N                items are put, due in one to two hours. N commands are
 *                        sent at once, and then N replies are read; time per
 *                        item
 *   mput/N               the same, with N items in one command
 *   take/N               items that are due are taken and acknowledged. Up to N
 *                        are taken by one command, and acknowledged by another
 *                        one, which is sent together with the next take; time
 *                        per item, of both together
 *   take/1_apart         the same, but nothing is sent before the last reply is
 *                        there
 *   take/1_of_16         each item has its own take and its own ack. 16 acks
 *                        and 16 takes are sent at once, as if 16 consumers took
 *                        one by one
 *   cycle/1              an item is put, taken and acknowledged, one command
 *                        after the other; time of all three
 *   memory/N             N items wait: bytes per item beyond the payload, by
 *                        the server's count (used_memory)
 *   resident/N           the same, as the system counts (resident memory)
 *   memory_after/N       the same as memory, after a restart
 *   disk/N               the same: bytes per item of the file (RDB) beyond the
 *                        payload
 *   save/N               the same: time of SAVE
 *   restart/N            the same: a server is started with this file, until it
 *                        answers
 *   queue/N              bytes of a queue with N items beyond the payload, by
 *                        the server's count; mean of many queues. With 0 items:
 *                        it had one, which is gone
 *   lateness_Q/R         R items become due per second, and 1e6 wait for later.
 *                        One consumer takes up to 100 at once, and waits for
 *                        them. From the due time until it has the reply, by
 *                        quantile
 *   lateness_early/R     the same: how many were taken before they were due
 *   lateness_cpu/R       the same: processor time of server and consumer, per
 *                        item
 *   herd_Q/N             N items become due in one millisecond. A consumer
 *                        takes up to 100 at once. How long a PING of another
 *                        connection takes meanwhile, by quantile; `before` is
 *                        the longest one in the 100 ms before
 *   herd_drain/N         the same: from the due time until all were
 *                        acknowledged
 */
#include "redis_rows.h"

#include <stdio.h>

static const struct bench_figure put_figures[] = {
	{ .key = "us", .bench = "put", .unit = "us/op" },
	{ .key = "server_us", .bench = "put_cpu", .unit = "us/op" },
};

static const struct bench_figure mput_figures[] = {
	{ .key = "us", .bench = "mput", .unit = "us/op" },
	{ .key = "server_us", .bench = "mput_cpu", .unit = "us/op" },
};

static const struct bench_figure take_figures[] = {
	{ .key = "us", .bench = "take", .unit = "us/op" },
	{ .key = "server_us", .bench = "take_cpu", .unit = "us/op" },
};

static const struct bench_figure cycle_figures[] = {
	{ .key = "us", .bench = "cycle", .unit = "us/op" },
	{ .key = "server_us", .bench = "cycle_cpu", .unit = "us/op" },
};

static const struct bench_figure hold_figures[] = {
	{ .key = "memory", .bench = "memory", .unit = "bytes" },
	{ .key = "resident", .bench = "resident", .unit = "bytes" },
	{ .key = "after", .bench = "memory_after", .unit = "bytes" },
	{ .key = "disk", .bench = "disk", .unit = "bytes" },
	{ .key = "save_ms", .bench = "save", .unit = "ms" },
	{ .key = "restart_ms", .bench = "restart", .unit = "ms" },
};

static const struct bench_figure tiny_figures[] = {
	{ .key = "bytes", .bench = "queue", .unit = "bytes", .extra = "whole" },
};

static const struct bench_figure lateness_figures[] = {
	{ .key = "p50", .bench = "lateness_p50", .unit = "us" },
	{ .key = "p99", .bench = "lateness_p99", .unit = "us" },
	{ .key = "max", .bench = "lateness_max", .unit = "us" },
	{ .key = "early",
	  .bench = "lateness_early",
	  .unit = "count",
	  .zero_for_ours = true },
	{ .key = "cpu_us", .bench = "lateness_cpu", .unit = "us/op" },
};

static const struct bench_figure herd_figures[] = {
	{ .key = "p50", .bench = "herd_p50", .unit = "us", .extra = "pings" },
	{ .key = "p99", .bench = "herd_p99", .unit = "us" },
	{ .key = "max", .bench = "herd_max", .unit = "us", .extra = "before" },
	{ .key = "drain_ms", .bench = "herd_drain", .unit = "ms" },
};

/* One request to each process, at full length and for --quick. A request that
 * is NULL is left out. */
struct redis_case {
	const char *where;
	const char *request;
	const char *quick_where;
	const char *quick_request;
	bool slow; /* a sample takes seconds */
};

static const struct redis_case put_cases[] = {
	{ "1", "put n=20000 each=1", "1", "put n=2000 each=1", false },
	{ "16", "put n=50000 each=16", "16", "put n=5000 each=16", false },
	{ "100", "put n=50000 each=100", "100", "put n=5000 each=100", false },
};

static const struct redis_case mput_cases[] = {
	{ "100", "put n=50000 each=100 call=1", "100",
	  "put n=5000 each=100 call=1", false },
};

static const struct redis_case take_cases[] = {
	{ "1", "take n=20000 each=1", "1", "take n=2000 each=1", false },
	{ "1_apart", "take n=20000 each=1 way=1", "1_apart",
	  "take n=2000 each=1 way=1", false },
	{ "1_of_16", "take n=50000 each=16 way=2", "1_of_16",
	  "take n=5000 each=16 way=2", false },
	{ "100", "take n=50000 each=100", "100", "take n=5000 each=100",
	  false },
};

static const struct redis_case cycle_cases[] = {
	{ "1", "cycle n=10000", "1", "cycle n=1000", false },
};

static const struct redis_case hold_cases[] = {
	{ "1e6", "hold n=1000000", "2e4", "hold n=20000", true },
};

static const struct redis_case tiny_cases[] = {
	{ "0", "tiny n=0 count=1000", "0", "tiny n=0 count=200", false },
	{ "10", "tiny n=10 count=1000", "10", "tiny n=10 count=200", false },
};

static const struct redis_case lateness_cases[] = {
	{ "5e4", "lateness rate=50000 n=1000000 ms=5000 each=100", "5e4/2e4",
	  "lateness rate=50000 n=20000 ms=1000 each=100", true },
	{ "2e4", "lateness rate=20000 n=1000000 ms=5000 each=100", NULL, NULL,
	  true },
	{ "2e3/1e5", "lateness rate=2000 n=100000 ms=5000 each=100", "2e3/1e4",
	  "lateness rate=2000 n=10000 ms=1000 each=100", true },
};

static const struct redis_case herd_cases[] = {
	{ "1e6", "herd n=1000000 each=100", "2e4", "herd n=20000 each=100",
	  true },
};

struct redis_shape {
	const char *name;
	const struct bench_figure *figures;
	size_t figure_count;
	const struct redis_case *cases;
	size_t count;
	bool warm_up; /* for runtimes that compile */
};

#define LIST(list) (list), sizeof(list) / sizeof((list)[0])

static const struct redis_shape shapes[] = {
	{ "put", LIST(put_figures), LIST(put_cases), true },
	{ "mput", LIST(mput_figures), LIST(mput_cases), true },
	{ "take", LIST(take_figures), LIST(take_cases), true },
	{ "cycle", LIST(cycle_figures), LIST(cycle_cases), true },
	{ "hold", LIST(hold_figures), LIST(hold_cases), false },
	{ "queue", LIST(tiny_figures), LIST(tiny_cases), false },
	{ "lateness", LIST(lateness_figures), LIST(lateness_cases), false },
	{ "herd", LIST(herd_figures), LIST(herd_cases), false },
};

enum {
	SHAPES = sizeof(shapes) / sizeof(shapes[0]),
	CASES = sizeof(take_cases) / sizeof(take_cases[0])
};
/* take has the most cases. */
_Static_assert(SHAPES *CASES <= BENCH_REDIS_REQUESTS_MAX, "too many requests");

static uint32_t runs_of(const struct redis_case *c,
			const struct bench_options *o)
{
	if (o->runs > 0)
		return c->slow ? o->long_runs : o->runs;
	if (o->quick)
		return c->slow ? 1 : 3;
	return 15;
}

static void make_request(struct bench_request *q,
			 const struct redis_shape *shape,
			 const struct redis_case *c,
			 const struct bench_options *o)
{
	*q = (struct bench_request){ .group = "redis",
				     .where = o->quick ? c->quick_where
						       : c->where,
				     .figures = shape->figures,
				     .figure_count = shape->figure_count,
				     .runs = runs_of(c, o),
				     .warm_up = shape->warm_up,
				     .pairs = true,
				     .look = true };
	(void)snprintf(q->name, sizeof(q->name), "redis/%s/%s", shape->name,
		       q->where);
	(void)snprintf(q->text, sizeof(q->text), "%s",
		       o->quick ? c->quick_request : c->request);
}

size_t bench_redis_rows_plan(struct bench_request *requests,
			     const struct bench_options *o)
{
	size_t count = 0;

	for (size_t k = 0; k < SHAPES; k++) {
		for (size_t i = 0; i < shapes[k].count; i++) {
			const struct redis_case *c = &shapes[k].cases[i];

			if (o->quick && c->quick_request == NULL)
				continue;
			make_request(&requests[count], &shapes[k], c, o);
			if (bench_timer_rows_want(&requests[count], o))
				count++;
		}
	}
	return count;
}
