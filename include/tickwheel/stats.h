/* SPDX-License-Identifier: MIT */
/*
 * stats.h - what one can see of a timer: counters, and how late its tasks were.
 *
 * All of it is always counted. Each shard counts under its lock; the sums are
 * made when they are asked for.
 */
#ifndef TICKWHEEL_STATS_H
#define TICKWHEEL_STATS_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A histogram: how many samples fell into each bucket. The buckets are one
 * nanosecond wide below 128 ns, and then a 64th of the power of two below: the
 * middle of a bucket is off by less than 0.8 %. All samples from 2^44 ns (4.9
 * hours) on are in the last bucket.
 */
#define TKW_HISTOGRAM_BUCKETS 2496
struct tkw_histogram {
	uint64_t count;
	int64_t max_ns;
	uint64_t bucket[TKW_HISTOGRAM_BUCKETS];
};

/* The bucket of a time; a negative one counts as 0. */
uint32_t tkw_histogram_bucket(int64_t ns);

/* The least time of a bucket; that of TKW_HISTOGRAM_BUCKETS is 2^44. */
int64_t tkw_histogram_least_ns(uint32_t bucket);

/*
 * The time that a share of all samples did not exceed: the middle of a bucket,
 * but never more than max_ns.
 *
 * share   0 ... 1, as in 0.99; less counts as 0, more as 1.
 * Return  nanoseconds; 0 if there are no samples, or h is NULL.
 */
int64_t tkw_histogram_quantile_ns(const struct tkw_histogram *h, double share);

struct tkw_stats {
	struct tkw_ledger ledger;
	/* Schedules that were refused; a batch counts once. */
	uint64_t refused_full;    /* -EAGAIN */
	uint64_t refused_memory;  /* -ENOMEM */
	uint64_t refused_stopped; /* -ESHUTDOWN */
	uint64_t refused_lost;    /* -EBADF */
	/* How often the executor refused or abandoned, whatever came of it. */
	uint64_t refused_by_exec;
	uint64_t rescheduled;
	/* Timeouts that came nearer inside the wheel; hashed: looked at. */
	uint64_t moved;
	/* Of the worker. wake_ups are those before its last turn; in an event
	 * loop, calls of tkw_timer_turn(), of which several may make one turn.
	 */
	uint64_t turns;
	uint64_t wake_ups;
	uint64_t slow; /* tasks beyond slow_task_ns */
	/* From the deadline to the begin of the task. A task that waits for
	 * others of its turn is measured to within a tick of the kernel, some
	 * milliseconds. */
	struct tkw_histogram lateness;
};

/*
 * The statistics. The ledger in them balances.
 *
 * out     20 KiB.
 * Return  0; -EINVAL: NULL; -EPERM: a timer of the parent of a fork.
 */
int tkw_timer_get_stats(struct tkw_timer *t, struct tkw_stats *out);

/*
 * A timer in words, several lines: the ledger, rates since the timer was made,
 * its shards, and the lateness.
 *
 * buf, size
 *         as for snprintf(): cut to size, always ended by a zero byte; size 0
 *         writes nothing.
 * Return  the length of the whole text; -EINVAL: t is NULL, or buf is NULL and
 *         size is not 0; -ENOMEM; -EPERM.
 */
int tkw_timer_print(struct tkw_timer *t, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_STATS_H */
