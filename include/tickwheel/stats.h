/* SPDX-License-Identifier: MIT */
/*
 * stats.h - counters of a timer, and how late its tasks were
 *
 * Every timer keeps these counters all the time. Most of them are kept in each
 * shard of the timer, and change under the lock of that shard. The calls below
 * add them up.
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
 * A histogram of times: how many samples fell into each bucket.
 *
 * Below 128 ns a bucket is one nanosecond wide. From there on, each power of
 * two is divided into 64 buckets of equal width. A sample differs from the
 * middle of its bucket by less than 0.8 %. The last bucket also counts all
 * samples of 2^44 ns (4.9 hours) or more.
 */
#define TKW_HISTOGRAM_BUCKETS 2496
struct tkw_histogram {
	uint64_t count; /* the number of samples */
	int64_t max_ns; /* the largest sample */
	uint64_t bucket[TKW_HISTOGRAM_BUCKETS];
};

/* Returns the bucket that a time belongs to. A negative time counts as 0. */
uint32_t tkw_histogram_bucket(int64_t ns);

/* Returns the smallest time that belongs to a bucket; 2^44 if bucket is
 * TKW_HISTOGRAM_BUCKETS or more. */
int64_t tkw_histogram_least_ns(uint32_t bucket);

/*
 * Finds the time that a given share of the samples did not exceed.
 *
 * The result is the middle of a bucket, but never more than max_ns.
 *
 * share  The share, from 0 to 1. For example, 0.99 gives the 99th percentile. A
 *        share below 0 counts as 0, and one above 1 counts as 1.
 *
 * Returns nanoseconds; 0 if there are no samples or h is NULL.
 */
int64_t tkw_histogram_quantile_ns(const struct tkw_histogram *h, double share);

/* The statistics of a timer. */
struct tkw_stats {
	struct tkw_ledger ledger;
	/* How many schedule calls were refused, by error. A batch counts
	 * once. */
	uint64_t refused_full;    /* -EAGAIN */
	uint64_t refused_memory;  /* -ENOMEM */
	uint64_t refused_stopped; /* -ESHUTDOWN */
	uint64_t refused_lost;    /* -EBADF */
	/* How often the executor refused or abandoned a job, no matter what
	 * then happened to the timeout. A job does not count if its timeout no
	 * longer waited for the job, for example because the timeout was
	 * cancelled. */
	uint64_t refused_by_exec;
	/* How often a timeout was rescheduled. */
	uint64_t rescheduled;
	/* How often the worker moved a timeout to another place in the wheel.
	 * With the hashed engine, this also counts how often the wheel looked
	 * at a timeout that was due in a later round. */
	uint64_t moved;
	/* How many turns the worker has finished. */
	uint64_t turns;
	/* How often the worker has woken up, as of the end of its last turn. In
	 * an event loop this is the number of calls of tkw_timer_turn(). A turn
	 * may take several calls. With the manual drive it is always 0. */
	uint64_t wake_ups;
	/* How many tasks took longer than slow_task_ns. */
	uint64_t slow;
	/* The times from the deadline to the start of the task. If a task waits
	 * for other tasks of its turn, its sample may be too small by up to a
	 * few milliseconds, because the timer may read the clock only once per
	 * tick of the kernel. */
	struct tkw_histogram lateness;
};

/*
 * Gets the statistics of a timer.
 *
 * The ledger balances, because it is read at one moment. The other counts may
 * change while they are read.
 *
 * out  Receives the statistics, which take 20 KiB.
 *
 * Returns 0, or
 *   -EINVAL  t or out is NULL
 *   -EPERM   the timer belongs to the parent of a fork
 */
int tkw_timer_get_stats(struct tkw_timer *t, struct tkw_stats *out);

/*
 * Prints a timer as several lines of text: the ledger, rates since the timer
 * was created, the shards and the lateness.
 *
 * buf   Receives the text. As with snprintf(), it is cut to size bytes and ends
 *       with a zero byte. May be NULL if size is 0.
 * size  The size of buf. With 0 nothing is written.
 *
 * Returns the length of the whole text, even if it was cut, or
 *   -EINVAL  t is NULL, or buf is NULL and size is not 0
 *   -ENOMEM  there is not enough memory
 *   -EPERM   the timer belongs to the parent of a fork
 */
int tkw_timer_print(struct tkw_timer *t, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_STATS_H */
