/* SPDX-License-Identifier: MIT */
/*
 * queue_rows.c - the rows of the queue. An item has a payload of 100 bytes. A
 * call counts when its change is on the disk, except in tickwheel_ram. Times
 * are wall times. In put and cycle, per_sync is how many calls shared a sync.
 *
 *   put/Cc               C callers put items, one per call
 *   put/Cc_16            the same, with 16 calls in flight for each caller
 *   cycle/Cc             C callers put an item that is due, take one and
 *                        acknowledge it; time of all three
 *   put_sync/C, cycle_sync/C
 *                        the same: the mean time of an fdatasync(). If it is
 *                        not about the same for all, the machine was busy
 *   put_batch/N, take_batch/N, ack_batch/N
 *                        one caller, N items in each call; time per item
 *   amplification/N      the same: bytes of the blocks that were written to the
 *                        disk, divided by the bytes of the records. For put,
 *                        take and ack together, with what the close writes
 *   amplification_put/N, amplification_ack/N
 *                        the same without take, and without the close
 *   lateness_Q/1e4       10,000 items are due per second, and 1e6 wait for
 *                        later. 8 consumers take up to 64 at once. From the due
 *                        time until the take has returned, by quantile
 *   lateness_sync_p99/1e4
 *                        the same: how long a write of 64 bytes and fdatasync()
 *                        take meanwhile, a hundred times per second
 *   lateness_of_limit/1e4
 *                        the same: p99 / (3 * sync_p99 + 2 ms)
 *   lateness_early/1e4   the same: how many were taken before they were due
 *   memory/N, disk/N     bytes per item: resident, and of the files after a
 *                        close
 *   open/N               a file with N waiting items is opened, until the first
 *                        answer. It is not in the page cache
 *   open_warm/N          the same again, when it is in the page cache
 *   churn/N              N items are put, taken and acknowledged while n are
 *                        live, half of them waiting: time per item. Only ours
 *                        makes syncs, so the others have no time
 *   churn_max/N, churn_end/N
 *                        the same: bytes of the files, the most and at the end
 *   churn_of_limit/N     the same: the most / (3 * live records + 16 MiB)
 *   churn_amplification/N
 *                        the same: bytes of the blocks that were written,
 *                        divided by the bytes of the records. The others
 *                        write less than they would with syncs
 */
#include "queue_rows.h"

#include <stdio.h>

static const struct bench_figure put_figures[] = {
	{ .key = "us", .bench = "put", .unit = "us/op", .extra = "per_sync" },
	{ .key = "sync_us",
	  .bench = "put_sync",
	  .unit = "us",
	  .optional = true },
};

static const struct bench_figure cycle_figures[] = {
	{ .key = "us", .bench = "cycle", .unit = "us/op", .extra = "per_sync" },
	{ .key = "sync_us",
	  .bench = "cycle_sync",
	  .unit = "us",
	  .optional = true },
};

static const struct bench_figure batch_figures[] = {
	{ .key = "put_us",
	  .bench = "put_batch",
	  .unit = "us/op",
	  .extra = "put_bytes" },
	{ .key = "take_us", .bench = "take_batch", .unit = "us/op" },
	{ .key = "ack_us",
	  .bench = "ack_batch",
	  .unit = "us/op",
	  .extra = "ack_bytes" },
	{ .key = "put_amp",
	  .bench = "amplification_put",
	  .unit = "x",
	  .optional = true },
	{ .key = "ack_amp",
	  .bench = "amplification_ack",
	  .unit = "x",
	  .optional = true },
	{ .key = "amp",
	  .bench = "amplification",
	  .unit = "x",
	  .optional = true },
};

static const struct bench_figure lateness_figures[] = {
	{ .key = "p50", .bench = "lateness_p50", .unit = "us" },
	{ .key = "p99", .bench = "lateness_p99", .unit = "us" },
	{ .key = "max", .bench = "lateness_max", .unit = "us" },
	{ .key = "sync_p99", .bench = "lateness_sync_p99", .unit = "us" },
	{ .key = "of_limit", .bench = "lateness_of_limit", .unit = "x" },
	{ .key = "early",
	  .bench = "lateness_early",
	  .unit = "count",
	  .zero_for_ours = true },
};

static const struct bench_figure memory_figures[] = {
	{ .key = "ram", .bench = "memory", .unit = "bytes" },
	{ .key = "disk", .bench = "disk", .unit = "bytes" },
};

static const struct bench_figure open_figures[] = {
	{ .key = "cold_ms", .bench = "open", .unit = "ms" },
	{ .key = "warm_ms", .bench = "open_warm", .unit = "ms" },
};

static const struct bench_figure churn_figures[] = {
	{ .key = "us", .bench = "churn", .unit = "us/op", .optional = true },
	{ .key = "max_mib",
	  .bench = "churn_max",
	  .unit = "MiB",
	  .extra = "live_mib" },
	{ .key = "end_mib", .bench = "churn_end", .unit = "MiB" },
	{ .key = "of_limit", .bench = "churn_of_limit", .unit = "x" },
	{ .key = "amp",
	  .bench = "churn_amplification",
	  .unit = "x",
	  .optional = true },
};

/* How long a run takes. */
enum length {
	SHORT, /* a second or so */
	LONG,
	LONGEST /* it is made once, and repeats within itself what varies */
};

/* One request to each process, at full length and for --quick. A request that
 * is NULL is left out. */
struct queue_case {
	const char *where;
	const char *request;
	const char *quick_where;
	const char *quick_request;
	enum length length;
};

static const struct queue_case put_cases[] = {
	{ "1c", "threads=1 ms=1000", "1c", "threads=1 ms=200", SHORT },
	{ "8c", "threads=8 ms=1000", "8c", "threads=8 ms=200", SHORT },
	{ "64c", "threads=64 ms=1000", "64c", "threads=64 ms=200", SHORT },
	{ "64c_16", "threads=64 flight=16 ms=1000", "64c_16",
	  "threads=64 flight=16 ms=200", SHORT },
};

static const struct queue_case cycle_cases[] = {
	{ "1c", "threads=1 ms=1000", "1c", "threads=1 ms=200", SHORT },
	{ "8c", "threads=8 ms=1000", "8c", "threads=8 ms=200", SHORT },
	{ "64c", "threads=64 ms=1000", "64c", "threads=64 ms=200", SHORT },
};

static const struct queue_case batch_cases[] = {
	{ "8", "n=8 ms=500", NULL, NULL, SHORT },
	{ "32", "n=32 ms=500", "32", "n=32 ms=100", SHORT },
	{ "512", "n=512 ms=500", "512", "n=512 ms=100", SHORT },
};

static const struct queue_case lateness_cases[] = {
	{ "1e4", "rate=10000 n=1000000 ms=10000 threads=8", "1e4/1e5",
	  "rate=10000 n=100000 ms=1000 threads=8", LONG },
};

static const struct queue_case memory_cases[] = {
	{ "1e6", "n=1000000", "1e5", "n=100000", LONG },
};

static const struct queue_case open_cases[] = {
	{ "1e6", "n=1000000 rounds=5", "1e5", "n=100000 rounds=3", LONGEST },
	{ "1e7", "n=10000000 rounds=3", NULL, NULL, LONGEST },
};

static const struct queue_case churn_cases[] = {
	{ "10M", "ops=10000000 n=100000", "100k", "ops=100000 n=10000",
	  LONGEST },
};

struct queue_shape {
	const char *name; /* also how the request begins */
	const struct bench_figure *figures;
	size_t figure_count;
	const struct queue_case *cases;
	size_t count;
	bool pairs;
};

#define LIST(list) (list), sizeof(list) / sizeof((list)[0])

static const struct queue_shape shapes[] = {
	{ "put", LIST(put_figures), LIST(put_cases), true },
	{ "cycle", LIST(cycle_figures), LIST(cycle_cases), true },
	{ "batch", LIST(batch_figures), LIST(batch_cases), true },
	{ "lateness", LIST(lateness_figures), LIST(lateness_cases), false },
	{ "memory", LIST(memory_figures), LIST(memory_cases), false },
	{ "open", LIST(open_figures), LIST(open_cases), false },
	{ "churn", LIST(churn_figures), LIST(churn_cases), false },
};

enum {
	SHAPES = sizeof(shapes) / sizeof(shapes[0]),
	CASES = sizeof(put_cases) / sizeof(put_cases[0])
};
/* put has the most cases. */
_Static_assert(SHAPES *CASES <= BENCH_QUEUE_REQUESTS_MAX, "too many requests");

static uint32_t runs_of(enum length length, const struct bench_options *o)
{
	if (o->runs > 0)
		return length == SHORT ? o->runs : o->long_runs;
	switch (length) {
	case SHORT:
		return o->quick ? 3 : 9;
	case LONG:
		return o->quick ? 1 : 3;
	default:
		return 1;
	}
}

static void make_request(struct bench_request *q,
			 const struct queue_shape *shape,
			 const struct queue_case *c,
			 const struct bench_options *o)
{
	*q = (struct bench_request){ .group = "queue",
				     .where = o->quick ? c->quick_where
						       : c->where,
				     .figures = shape->figures,
				     .figure_count = shape->figure_count,
				     .runs = runs_of(c->length, o),
				     .pairs = shape->pairs,
				     .look = true };
	(void)snprintf(q->name, sizeof(q->name), "queue/%s/%s", shape->name,
		       q->where);
	(void)snprintf(q->text, sizeof(q->text), "%s %s", shape->name,
		       o->quick ? c->quick_request : c->request);
}

size_t bench_queue_rows_plan(struct bench_request *requests,
			     const struct bench_options *o)
{
	size_t count = 0;

	for (size_t k = 0; k < SHAPES; k++) {
		for (size_t i = 0; i < shapes[k].count; i++) {
			const struct queue_case *c = &shapes[k].cases[i];

			if (o->quick && c->quick_request == NULL)
				continue;
			make_request(&requests[count], &shapes[k], c, o);
			if (bench_timer_rows_want(&requests[count], o))
				count++;
		}
	}
	return count;
}
