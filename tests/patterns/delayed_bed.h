/* SPDX-License-Identifier: MIT */
/*
 * delayed_bed.h - a set of delayed operations on the bed, and a record of their
 * callbacks.
 */
#ifndef TKW_TESTS_DELAYED_BED_H
#define TKW_TESTS_DELAYED_BED_H

#include "timer_bed.h"

#include <stdatomic.h>

#include "tickwheel/delayed.h"

#define HOUR_NS (3600 * TKW_SEC)

/* An operation, and what was passed to its callbacks. */
struct waiting {
	struct tkw_delayed_id id;
	atomic_bool holds;
	atomic_uint asks;
	atomic_uint ends;
	unsigned asked_at; /* the order in which operations were asked */
	unsigned ended_at; /* the same for their ends */
	struct tkw_delayed_end end;
	pthread_t by;
	/* Called in these callbacks, if not NULL. */
	void (*in_holds)(struct waiting *w);
	void (*in_end)(struct waiting *w);
	void *ctx; /* for the test */
};

/* Counts the callbacks of all operations. */
static atomic_uint delayed_steps;

static inline int note_ask(void *ctx)
{
	struct waiting *w = ctx;

	w->asked_at = atomic_fetch_add(&delayed_steps, 1);
	atomic_fetch_add(&w->asks, 1);
	if (w->in_holds)
		w->in_holds(w);
	return atomic_load(&w->holds);
}

static inline void note_end(const struct tkw_delayed_end *end, void *ctx)
{
	struct waiting *w = ctx;

	w->ended_at = atomic_fetch_add(&delayed_steps, 1);
	w->end = *end;
	w->by = pthread_self();
	if (w->in_end)
		w->in_end(w);
	atomic_fetch_add(&w->ends, 1);
}

static inline struct tkw_delayed *open_limited_set(struct timer_bed *b,
						   int64_t max_pending)
{
	const struct tkw_delayed_config cfg = { .size = sizeof(cfg),
						.timer = b->t,
						.max_pending = max_pending };
	struct tkw_delayed *d = NULL;

	assert_int_equal(tkw_delayed_create(&d, &cfg), 0);
	assert_non_null(d);
	return d;
}

static inline struct tkw_delayed *open_set(struct timer_bed *b)
{
	return open_limited_set(b, 0);
}

/* What the operations of these tests are made of. */
static inline struct tkw_delayed_op
op_of(struct waiting *w, const uint64_t *keys, size_t count, int64_t timeout_ns)
{
	return (struct tkw_delayed_op){ .holds = note_ask,
					.on_end = note_end,
					.ctx = w,
					.keys = keys,
					.key_count = count,
					.timeout_ns = timeout_ns };
}

/* Adds an operation whose condition does not hold, under several keys. */
static inline void add_under(struct tkw_delayed *d, struct waiting *w,
			     const uint64_t *keys, size_t count,
			     int64_t timeout_ns)
{
	const struct tkw_delayed_op op = op_of(w, keys, count, timeout_ns);

	*w = (struct waiting){ .in_holds = w->in_holds,
			       .in_end = w->in_end,
			       .ctx = w->ctx };
	assert_int_equal(tkw_delayed_add(d, &op, &w->id), 0);
	assert_true(w->id.bits != 0);
}

static inline void add(struct tkw_delayed *d, struct waiting *w, uint64_t key,
		       int64_t timeout_ns)
{
	add_under(d, w, &key, 1, timeout_ns);
}

static inline void assert_waits(struct waiting *w)
{
	assert_int_equal(atomic_load(&w->ends), 0);
}

/* Asserts that on_end was called once, with this status. */
static inline void assert_ended(struct waiting *w, int status)
{
	assert_int_equal(atomic_load(&w->ends), 1);
	assert_true(w->end.id.bits == w->id.bits);
	assert_int_equal(w->end.status, status);
}

/* Asserts that the ledger balances, how many wait, and that no key's list holds
 * more than these. */
static inline struct tkw_delayed_ledger
assert_ledger(struct tkw_delayed *d, uint64_t pending, uint64_t watches)
{
	struct tkw_delayed_ledger l;

	assert_int_equal(tkw_delayed_get_ledger(d, &l), 0);
	assert_int_equal(l.added, l.completed + l.expired + l.cancelled +
					  l.shut_down + l.pending);
	assert_int_equal(l.pending, pending);
	assert_int_equal(l.watches, watches);
	assert_true(l.keys <= watches && (l.keys == 0) == (watches == 0));
	assert_int_equal(tkw_delayed_count(d), pending);
	return l;
}

static inline void close_set(struct tkw_delayed *d)
{
	assert_int_equal(tkw_delayed_destroy(d), 0);
}

#endif /* TKW_TESTS_DELAYED_BED_H */
