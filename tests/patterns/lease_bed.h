/* SPDX-License-Identifier: MIT */
/*
 * lease_bed.h - a set of leases on the timer's test bed, and a record of its
 * calls. Leases last 30 s. They are renewed after 10 s, lost after 27 s, and
 * tried again after 3 s. The clock begins at a whole tick.
 */
#ifndef TKW_TESTS_LEASE_BED_H
#define TKW_TESTS_LEASE_BED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "tickwheel/lease.h"
#include "timer_bed.h"

enum {
	CALLS = 4096
};

/* For callbacks, because cmocka's asserts cannot end a test there. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))
static inline void must_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
	abort();
}

/* The data of one lease. */
struct kept {
	struct tkw_lease_id id;
	int answer; /* the result that renew sets, or 1 to set none */
	unsigned renewed;
	int64_t renewed_ns; /* when the last renew began */
	int64_t expires_ns; /* as it was passed to renew */
	unsigned lost;
	int64_t lost_ns;
	int why; /* the status of the loss */
	int renewing;
};

struct lease_bed {
	struct timer_bed *b;
	struct tkw_leases *set;
	struct gate *gate; /* renew waits at it, if it is not NULL */
	/* Called by renew, with the first lease of the batch, and by
	 * on_lost. */
	void (*inside)(struct lease_bed *l, const struct kept *k);
	pthread_mutex_t lock; /* protects the fields below, and struct kept */
	size_t strange;       /* leases whose fields were not as expected */
	size_t calls;
	size_t counts[CALLS]; /* how many leases each call had */
};

static inline void bed_renew(struct tkw_lease *leases, size_t count, void *ctx)
{
	struct lease_bed *l = ctx;

	pthread_mutex_lock(&l->lock);
	must(l->calls < CALLS);
	l->counts[l->calls++] = count;
	for (size_t i = 0; i < count; i++) {
		struct kept *k = leases[i].data;

		l->strange += leases[i].id.bits != k->id.bits ||
			      leases[i].result != -EIO;
		k->renewed++;
		k->renewed_ns = tkw_timer_now_ns(l->b->t);
		k->expires_ns = leases[i].expires_ns;
		if (k->answer != 1)
			leases[i].result = k->answer;
	}
	pthread_mutex_unlock(&l->lock);
	if (l->inside)
		l->inside(l, leases[0].data);
	if (l->gate)
		gate_pass(l->gate);
}

static inline void bed_lost(const struct tkw_lease_end *end, void *ctx)
{
	struct lease_bed *l = ctx;
	struct kept *k = end->data;

	pthread_mutex_lock(&l->lock);
	l->strange += end->id.bits != k->id.bits || end->status >= 0;
	k->lost++;
	k->lost_ns = tkw_timer_now_ns(l->b->t);
	k->expires_ns = end->expires_ns;
	k->why = end->status;
	k->renewing = end->renewing;
	pthread_mutex_unlock(&l->lock);
	if (l->inside)
		l->inside(l, k);
}

static inline struct tkw_leases_config bed_leases_config(struct lease_bed *l)
{
	return (struct tkw_leases_config){
		.size = sizeof(struct tkw_leases_config),
		.timer = l->b->t,
		.lease_ns = 30 * TKW_SEC,
		.renew = bed_renew,
		.on_lost = bed_lost,
		.ctx = l,
	};
}

/* Sets the function that renew and on_lost call, or NULL. */
static inline void set_inside(struct lease_bed *l,
			      void (*inside)(struct lease_bed *l,
					     const struct kept *k))
{
	pthread_mutex_lock(&l->lock);
	l->inside = inside;
	pthread_mutex_unlock(&l->lock);
}

/* Makes a bed without a set. */
static inline void lease_bed_init(struct lease_bed *l, struct timer_bed *b)
{
	memset(l, 0, sizeof(*l));
	l->b = b;
	pthread_mutex_init(&l->lock, NULL);
	bed_pass(b, TKW_MSEC - tkw_timer_now_ns(b->t) % TKW_MSEC);
}

static inline void lease_bed_open(struct lease_bed *l, struct timer_bed *b)
{
	struct tkw_leases_config cfg;

	lease_bed_init(l, b);
	cfg = bed_leases_config(l);
	assert_int_equal(tkw_leases_create(&l->set, &cfg), 0);
}

static inline void lease_bed_close(struct lease_bed *l)
{
	assert_int_equal(tkw_leases_destroy(l->set), 0);
	bed_pass(l->b, 60 * TKW_SEC);
	assert_true(tkw_timer_count(l->b->t) == 0);
	assert_int_equal(l->strange, 0);
	pthread_mutex_destroy(&l->lock);
}

/* Adds a lease that was asked for this long ago. */
static inline void keep_since(struct lease_bed *l, struct kept *k, int64_t ns)
{
	int64_t asked_ns = tkw_timer_now_ns(l->b->t) - ns;

	int err;

	pthread_mutex_lock(&l->lock);
	err = tkw_leases_add(l->set, k, asked_ns, &k->id);
	pthread_mutex_unlock(&l->lock);
	assert_int_equal(err, 0);
	assert_true(k->id.bits != 0);
}

static inline void keep(struct lease_bed *l, struct kept *k)
{
	keep_since(l, k, 0);
}

/* Asserts how often the lease was renewed and lost so far. */
static inline void assert_kept(struct lease_bed *l, const struct kept *k,
			       unsigned renewed, unsigned lost)
{
	unsigned renewed_now;
	unsigned lost_now;

	/* An assert that fails jumps out, so do not hold the lock then. */
	pthread_mutex_lock(&l->lock);
	renewed_now = k->renewed;
	lost_now = k->lost;
	pthread_mutex_unlock(&l->lock);
	assert_int_equal(renewed_now, renewed);
	assert_int_equal(lost_now, lost);
}

#endif /* TKW_TESTS_LEASE_BED_H */
