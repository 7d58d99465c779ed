/* SPDX-License-Identifier: MIT */
/*
 * lease_bed.h - a set of leases on the timer's test bed, and a book of what it
 * has done. Leases are of 30 s: renewed after 10, lost after 27, tried again
 * after 3. The clock begins at a whole tick.
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

/* Not cmocka's, which cannot leave a callback. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))
static inline void must_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
	abort();
}

/* One lease: its data. */
struct kept {
	struct tkw_lease_id id;
	int answer; /* of renew; 1: it sets nothing */
	unsigned renewed;
	int64_t renewed_ns; /* the last begin */
	int64_t expires_ns; /* as renew was told */
	unsigned lost;
	int64_t lost_ns;
	int why; /* the status */
	int renewing;
};

struct lease_bed {
	struct timer_bed *b;
	struct tkw_leases *set;
	struct gate *gate; /* renew stays there, if there is one */
	/* Called by renew, with the first of the batch, and by on_lost. */
	void (*inside)(struct lease_bed *l, const struct kept *k);
	pthread_mutex_t lock; /* of what follows, and of struct kept */
	size_t strange;       /* leases that are not what they should be */
	size_t calls;
	size_t counts[CALLS]; /* leases of each call */
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

/* Let this be called inside; NULL: nothing. */
static inline void set_inside(struct lease_bed *l,
			      void (*inside)(struct lease_bed *l,
					     const struct kept *k))
{
	pthread_mutex_lock(&l->lock);
	l->inside = inside;
	pthread_mutex_unlock(&l->lock);
}

/* A bed, without a set. */
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

/* Keep a lease that was asked for so long ago. */
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

/* How often it was renewed, and lost, by now. */
static inline void assert_kept(struct lease_bed *l, const struct kept *k,
			       unsigned renewed, unsigned lost)
{
	unsigned renewed_now;
	unsigned lost_now;

	/* An assert that fails leaves: not with the lock. */
	pthread_mutex_lock(&l->lock);
	renewed_now = k->renewed;
	lost_now = k->lost;
	pthread_mutex_unlock(&l->lock);
	assert_int_equal(renewed_now, renewed);
	assert_int_equal(lost_now, lost);
}

#endif /* TKW_TESTS_LEASE_BED_H */
