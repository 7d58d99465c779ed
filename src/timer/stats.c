/* SPDX-License-Identifier: MIT */
/* stats.c - what a timer has counted, as a struct and as text. */
#include "tickwheel/stats.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "os/memory.h"
#include "timer/lookup.h"
#include "timer/text.h"

enum {
	RINGS_MAX = 64
};

static void add_ledger(struct tkw_ledger *sum, const struct tkw__shard *s)
{
	const struct tkw_ledger *l = &s->ledger;

	sum->accepted += l->accepted;
	sum->fired += l->fired;
	sum->cancelled += l->cancelled;
	sum->dropped += l->dropped;
	sum->handed_over += l->handed_over;
	sum->pending += tkw__shard_pending(s);
}

static void drop_all(struct tkw_timer *t)
{
	for (uint32_t i = 0; i <= t->shard_mask; i++)
		tkw__lock_drop(&t->shards[i].lock);
}

int tkw_timer_get_ledger(struct tkw_timer *t, struct tkw_ledger *out)
{
	struct tkw_ledger sum = { .accepted = 0 };
	int err = out ? tkw__usable(t) : -EINVAL;

	if (err != 0)
		return err;
	tkw__lock_shards(t);
	for (uint32_t i = 0; i <= t->shard_mask; i++)
		add_ledger(&sum, &t->shards[i]);
	drop_all(t);
	*out = sum;
	return 0;
}

int tkw_timer_get_stats(struct tkw_timer *t, struct tkw_stats *out)
{
	int err = out ? tkw__usable(t) : -EINVAL;

	if (err != 0)
		return err;
	*out = (struct tkw_stats){
		.refused_full = TKW__LOAD(&t->refused_full, RELAXED),
		.refused_memory = TKW__LOAD(&t->refused_memory, RELAXED),
		.refused_stopped = TKW__LOAD(&t->refused_stopped, RELAXED),
		.refused_lost = TKW__LOAD(&t->refused_lost, RELAXED),
		.slow = TKW__LOAD(&t->slow.count, RELAXED),
	};
	tkw_timer_get_ledger(t, &out->ledger);
	/* Only the ledger has to be of one moment. */
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take(&s->lock);
		out->turns += s->turns;
		out->wake_ups += s->wake_ups;
		out->refused_by_exec += s->refusals;
		out->rescheduled += s->rescheduled;
		out->moved += tkw_wheel_count_steps(s->wheel) - s->collected;
		if (s->lateness)
			tkw__histogram_merge(&out->lateness, s->lateness);
		tkw__lock_drop(&s->lock);
	}
	return 0;
}

/* --- as text -------------------------------------------------------------- */

/* Text in a buffer. The length goes on counting beyond the buffer's end. */
struct text {
	char *buf;
	size_t size;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *x,
						      const char *form, ...)
{
	size_t at = x->length < x->size ? x->length : x->size;
	va_list args;
	int n;

	va_start(args, form);
	/* The analyzer does not see va_start(). */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	n = vsnprintf(x->size > at ? x->buf + at : NULL, x->size - at, form,
		      args);
	va_end(args);
	if (n > 0)
		x->length += (size_t)n;
}

static void say_count(struct text *x, const char *what, uint64_t n,
		      double seconds)
{
	say(x, "  %-13s %12llu", what, (unsigned long long)n);
	if (seconds > 0)
		say(x, " %12.1f/s", (double)n / seconds);
	say(x, "\n");
}

static void say_ledger(struct text *x, const struct tkw_ledger *l,
		       double seconds)
{
	say_count(x, "accepted", l->accepted, seconds);
	say_count(x, "fired", l->fired, seconds);
	say_count(x, "cancelled", l->cancelled, seconds);
	say_count(x, "dropped", l->dropped, 0);
	say_count(x, "handed over", l->handed_over, 0);
	say_count(x, "pending", l->pending, 0);
}

static void say_refusals(struct text *x, const struct tkw_stats *st)
{
	say(x,
	    "refused: %llu full, %llu no memory, %llu stopped, %llu no "
	    "descriptor, %llu by the executor\n",
	    (unsigned long long)st->refused_full,
	    (unsigned long long)st->refused_memory,
	    (unsigned long long)st->refused_stopped,
	    (unsigned long long)st->refused_lost,
	    (unsigned long long)st->refused_by_exec);
	say(x,
	    "worker: %llu turns, %llu wake-ups, %llu slow tasks; %llu moves "
	    "in the wheel, %llu reschedules\n",
	    (unsigned long long)st->turns, (unsigned long long)st->wake_ups,
	    (unsigned long long)st->slow, (unsigned long long)st->moved,
	    (unsigned long long)st->rescheduled);
}

/* Prints one line for each power of ten. A bucket is never split between two
 * lines. */
static void say_buckets(struct text *x, const struct tkw_histogram *h)
{
	int64_t ns = TKW_USEC;
	uint32_t i = 0;

	while (i < TKW_HISTOGRAM_BUCKETS) {
		uint32_t end = tkw_histogram_bucket(ns);
		char time[TKW__TIME_BYTES];
		uint64_t n = 0;

		if (ns > 1000 * TKW_SEC)
			end = TKW_HISTOGRAM_BUCKETS;
		while (i < end)
			n += h->bucket[i++];
		tkw__print_time(time, sizeof(time), ns);
		if (n > 0)
			say(x, "  %s %-7s %12llu %8.3f %%\n",
			    ns > 1000 * TKW_SEC ? "more " : "below", time,
			    (unsigned long long)n,
			    100 * (double)n / (double)h->count);
		ns *= 10;
	}
}

static void say_lateness(struct text *x, const struct tkw_histogram *h)
{
	static const struct {
		const char *name;
		double share;
	} rows[] = {
		{ "p50", 0.5 },     { "p90", 0.9 },       { "p99", 0.99 },
		{ "p99.9", 0.999 }, { "p99.99", 0.9999 }, { "max", 1 },
	};
	char time[TKW__TIME_BYTES];

	say(x, "lateness of %llu firings:", (unsigned long long)h->count);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ns = tkw_histogram_quantile_ns(h, rows[i].share);

		if (rows[i].share >= 1)
			ns = h->max_ns;
		tkw__print_time(time, sizeof(time), ns);
		say(x, "%s %s %s", i ? "," : "", rows[i].name, time);
	}
	say(x, "\n");
	say_buckets(x, h);
}

/* Prints what one shard has, and where. A shard that was never used has no
 * wheel. */
static void say_shard(struct text *x, struct tkw__shard *s)
{
	uint64_t in_ring[RINGS_MAX] = { 0 };
	struct tkw_wheel_shape shape = { .rings = 0 };
	uint64_t in_wheel;
	uint64_t pending;

	tkw__lock_take(&s->lock);
	(void)tkw_wheel_get_shape(s->wheel, &shape);
	for (uint32_t r = 0; r < shape.rings; r++)
		in_ring[r] = tkw_wheel_count_slots(s->wheel, r);
	in_wheel = tkw_wheel_count(s->wheel);
	pending = tkw__shard_pending(s);
	tkw__lock_drop(&s->lock);
	if (shape.rings == 0) {
		say(x, "shard %u: not used yet\n", (unsigned)s->number);
		return;
	}
	say(x,
	    "shard %u: %llu pending, %llu of them in the wheel; slots in use",
	    (unsigned)s->number, (unsigned long long)pending,
	    (unsigned long long)in_wheel);
	for (uint32_t r = 0; r < shape.rings; r++)
		say(x, " %llu", (unsigned long long)in_ring[r]);
	say(x, " of %u x %llu\n", (unsigned)shape.rings,
	    (unsigned long long)shape.slots);
}

static void say_timer(struct text *x, struct tkw_timer *t,
		      const struct tkw_stats *st)
{
	int64_t age_ns = tkw__now(t) - t->created_ns;
	char tick[TKW__TIME_BYTES];
	char age[TKW__TIME_BYTES];

	tkw__print_time(tick, sizeof(tick), (int64_t)t->tick_ns);
	tkw__print_time(age, sizeof(age), age_ns);
	say(x, "timer \"%s\": tick %s, age %s\n", t->name, tick, age);
	say_ledger(x, &st->ledger, (double)age_ns / (double)TKW_SEC);
	say_refusals(x, st);
	for (uint32_t i = 0; i <= t->shard_mask; i++)
		say_shard(x, &t->shards[i]);
	say_lateness(x, &st->lateness);
}

int tkw_timer_print(struct tkw_timer *t, char *buf, size_t size)
{
	struct tkw_stats *st;
	struct text x;

	int err = buf || size == 0 ? tkw__usable(t) : -EINVAL;

	if (err != 0)
		return err;
	/* Not on the stack, because that may be small. */
	st = tkw__memory_take(sizeof(*st), _Alignof(struct tkw_stats));
	if (st == NULL)
		return -ENOMEM;
	tkw_timer_get_stats(t, st);
	x.buf = buf;
	x.size = size;
	x.length = 0;
	say_timer(&x, t, st);
	tkw__memory_free(st, sizeof(*st));
	return (int)x.length;
}
