/* SPDX-License-Identifier: MIT */
/*
 * channel_bed.h - a set of channels on the timer's bed, and users with one
 * channel each, for the tests of SPEC 8.2.
 */
#ifndef TKW_TESTS_CHANNEL_BED_H
#define TKW_TESTS_CHANNEL_BED_H

#include "timer_bed.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tickwheel/channel.h"

enum {
	HEARTBEAT = TKW_CHANNEL_HEARTBEAT,
	RECONNECT = TKW_CHANNEL_RECONNECT,
	CLOSE = TKW_CHANNEL_CLOSE,
	KINDS = TKW_CHANNEL_KINDS,
	STEP = 256
};
#define PERIOD_NS TKW_SEC
#define HOUR_NS (3600 * TKW_SEC)

/* For callbacks, because cmocka's asserts cannot end a test there. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static inline _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

/* --- a set and its users ------------------------------------------------- */

struct user {
	struct tkw_channel ch;
	atomic_uint calls[KINDS];
	int64_t called_ns[KINDS]; /* when each kind was called last */
	int said;                 /* what a call inside the action returned */
};

struct world {
	struct timer_bed *b;
	struct tkw_channels *set;
	/* Called by each action, if it is not NULL. */
	int (*act)(struct world *w, struct user *u, int kind);
	void *more;
	atomic_uint calls; /* atomic, because kinds may run side by side */
};

static inline struct user *user_of(struct tkw_channel *ch)
{
	return (struct user *)(void *)ch; /* the channel is the first member */
}

static inline int called(void *ctx, struct tkw_channel *ch, int kind)
{
	struct user *u = user_of(ch);
	struct world *w = ctx;

	w->calls++;
	u->calls[kind]++;
	u->called_ns[kind] = tkw_timer_now_ns(w->b->t);
	return w->act ? w->act(w, u, kind) : 0;
}

static inline int heartbeat(struct tkw_channel *ch, void *ctx)
{
	return called(ctx, ch, HEARTBEAT);
}

static inline int reconnect(struct tkw_channel *ch, void *ctx)
{
	return called(ctx, ch, RECONNECT);
}

static inline int close_idle(struct tkw_channel *ch, void *ctx)
{
	return called(ctx, ch, CLOSE);
}

static tkw_channel_fn *const actions[KINDS] = { heartbeat, reconnect,
						close_idle };

static inline struct tkw_channel_rule rule_of(int kind, int64_t interval_ns,
					      int64_t period_ns)
{
	return (struct tkw_channel_rule){ .fn = actions[kind],
					  .interval_ns = interval_ns,
					  .period_ns = period_ns };
}

/* Opens a set with this config. The timer and ctx are filled in. */
static inline struct world *open_with(struct timer_bed *b,
				      struct tkw_channels_config cfg)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->b = b;
	cfg.size = sizeof(cfg);
	cfg.timer = b->t;
	cfg.ctx = w;
	assert_int_equal(tkw_channels_create(&w->set, &cfg), 0);
	return w;
}

/* Opens a set with one kind of action. */
static inline struct world *open_world(struct timer_bed *b, int kind,
				       int64_t interval_ns, int64_t period_ns)
{
	struct tkw_channels_config cfg = { 0 };

	cfg.rules[kind] = rule_of(kind, interval_ns, period_ns);
	return open_with(b, cfg);
}

/* A config with all kinds of actions. */
static inline struct tkw_channels_config all_rules(int64_t interval_ns,
						   int64_t period_ns)
{
	struct tkw_channels_config cfg = { 0 };
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		cfg.rules[kind] = rule_of(kind, interval_ns, period_ns);
	return cfg;
}

static inline struct world *open_all(struct timer_bed *b, int64_t interval_ns,
				     int64_t period_ns)
{
	return open_with(b, all_rules(interval_ns, period_ns));
}

static inline void close_world(struct world *w)
{
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	assert_int_equal(tkw_timer_count(w->b->t), 0);
	free(w);
}

static inline struct user *make_users(size_t count)
{
	struct user *users = calloc(count, sizeof(*users));

	assert_non_null(users);
	return users;
}

static inline void add(struct world *w, struct user *u)
{
	assert_int_equal(tkw_channels_add(w->set, &u->ch), 0);
}

/* Adds a channel that is due at each look. */
static inline void add_old(struct world *w, struct user *u)
{
	add(w, u);
	tkw_channel_mark_read(&u->ch, 1);
}

static inline void drop(struct world *w, struct user *u)
{
	assert_int_equal(tkw_channels_remove(w->set, &u->ch), 0);
}

static inline struct tkw_channel_stats stats_of(struct world *w)
{
	struct tkw_channel_stats s;

	memset(&s, 0xff, sizeof(s));
	assert_int_equal(tkw_channels_get_stats(w->set, &s), 0);
	return s;
}

static inline int64_t now_of(struct world *w)
{
	return tkw_timer_now_ns(w->b->t);
}

/* Lets time pass tick by tick, so that each step comes at its time. */
static inline void pass_slowly(struct timer_bed *b, int64_t ns)
{
	for (; ns > 0; ns -= TKW_MSEC)
		bed_pass(b, TKW_MSEC);
}

/* Lets a period and a tick pass, so that each channel is looked at. */
static inline void pass_a_period(struct world *w)
{
	bed_pass(w->b, PERIOD_NS + TKW_MSEC);
}

static inline uint64_t seed_of_today(void)
{
	const char *given = getenv("TKW_SEED");
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

static inline uint64_t roll(uint64_t *seed, uint64_t sides)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (*seed >> 33) % sides;
}

#endif /* TKW_TESTS_CHANNEL_BED_H */
