/* SPDX-License-Identifier: MIT */
/*
 * timer_racers.h - threads that begin together, for the tests from other
 * timers' suites. They only count. The test's own thread asserts.
 */
#ifndef TKW_TESTS_TIMER_RACERS_H
#define TKW_TESTS_TIMER_RACERS_H

#include "timer_peers.h"

enum {
	THREADS = 4
};

/* One of several threads that begin together. */
struct racer {
	pthread_t thread;
	pthread_barrier_t *begin;
	void (*run)(struct racer *r);
	void *ctx;
	uint32_t number; /* from 0 */
	uint32_t seed;
	uint64_t accepted;
	uint64_t cancelled;
	uint64_t strange; /* results that make no sense */
};

static inline void *race(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->begin);
	r->run(r);
	return NULL;
}

static inline void start_racers(struct racer racers[THREADS],
				pthread_barrier_t *begin,
				void (*run)(struct racer *r), void *ctx)
{
	uint32_t i;

	memset(racers, 0, THREADS * sizeof(racers[0]));
	assert_int_equal(pthread_barrier_init(begin, NULL, THREADS), 0);
	for (i = 0; i < THREADS; i++) {
		racers[i].begin = begin;
		racers[i].run = run;
		racers[i].ctx = ctx;
		racers[i].number = i;
		racers[i].seed = 4711 + i;
		assert_int_equal(pthread_create(&racers[i].thread, NULL, race,
						&racers[i]),
				 0);
	}
}

static inline void join_racers(struct racer racers[THREADS],
			       pthread_barrier_t *begin)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
	pthread_barrier_destroy(begin);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(racers[i].strange, 0);
}

static inline void run_racers(struct racer racers[THREADS],
			      void (*run)(struct racer *r), void *ctx)
{
	pthread_barrier_t begin;

	start_racers(racers, &begin, run, ctx);
	join_racers(racers, &begin);
}

/* The results of a call that came too late. */
static inline bool has_ended(int ret)
{
	return ret == -EBUSY || ret == -ENOENT;
}

#endif /* TKW_TESTS_TIMER_RACERS_H */
