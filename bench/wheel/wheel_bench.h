/* SPDX-License-Identifier: MIT */
/*
 * wheel_bench.h - what the files that measure the wheel share.
 *
 * A row is one line of the plan, such as wheel/churn/uniform/1e6. It is a load:
 * which operation, on how many entries, with which random numbers. An entrant
 * is one of the things that are compared: our wheel, a rival, or the null loop.
 * A sample is one entrant under one load, from its creation to its end. run()
 * is compiled from wheel_loops.h in the entrant's own file, so that the timed
 * loops call the entrant's functions directly.
 *
 * Time is counted in ticks of 1 ms and is virtual: see vclock.h.
 */
#ifndef TKW_WHEEL_BENCH_H
#define TKW_WHEEL_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "harness/vclock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tick at which each sample begins. It is not 0, because some entrants take
 * 0 for "unset". It is not round, so that the wheel's rings begin in the
 * middle. */
#define BENCH_START UINT64_C(1000001)

enum bench_kind {
	BENCH_SCHEDULE,
	BENCH_CANCEL,
	BENCH_CHURN,
	BENCH_EXTEND,
	BENCH_RPC,
	BENCH_EXPIRE,
	BENCH_TICKS,
	BENCH_JUMP
};

struct bench_load {
	enum bench_kind kind;
	uint32_t n;        /* entries */
	uint32_t rounds;   /* schedule, cancel: passes over all entries */
	uint64_t ops;      /* timed operations, in all rounds */
	uint32_t per_tick; /* extend, rpc: operations per tick */
	/* The first delays are far + min + (0 ... span - 1), uniform. */
	uint64_t delay_far;
	uint32_t delay_min;
	uint32_t delay_span;
	uint32_t delay_fixed; /* extend, rpc: the delay of each operation */
	/* The first delays are fixed too, and the clock runs meanwhile. */
	int laid_out;
	uint64_t jump; /* jump: how many ticks */
	uint64_t seed;
	const uint32_t *order; /* a random permutation of the entries */
	/* After the timed part, everything left is expired in steps of this
	 * many ticks, and counted. 0 means not in this run. If drain_part is
	 * not 1, only the first part of the time is drained, because a large
	 * heap empties slowly. */
	uint64_t drain_step;
	uint32_t drain_part;
};

struct bench_outcome {
	double ns;              /* per operation */
	double bytes_per_timer; /* 0 if unknown */
	uint64_t fired;
	uint64_t checksum; /* over which entries fired, and when */
};

struct bench_entrant {
	const char *name;
	/* NULL if it was not built. */
	void (*run)(const struct bench_entrant *entrant,
		    const struct bench_load *load, struct bench_outcome *out);
	const char *missing; /* why it was not built */
	int variant;         /* for a file that has two entrants */
	int fires_nothing;   /* the null loop, which cannot be verified */
	int fixed_only;      /* takes part only if all delays are the same */
	int linear_tick;     /* a tick looks at all entries */
};

/* All entrants, built or not. The last one has no name. */
extern const struct bench_entrant *const bench_entrants[];

/* What fired in the sample that is running. */
struct bench_tally {
	uint64_t now; /* the present tick */
	uint64_t fired;
	uint64_t checksum;
};
extern struct bench_tally bench_tally;

/* Each entrant's callback calls this. The checksum is a sum, so it does not
 * depend on the order. */
static inline void bench_count_fired(uint64_t id)
{
	uint64_t x = id * UINT64_C(0x9e3779b97f4a7c15) +
		     bench_tally.now * UINT64_C(0xd6e8feb86659fd93);

	x ^= x >> 32;
	bench_tally.checksum += x * UINT64_C(0xff51afd7ed558ccd);
	bench_tally.fired++;
}

/* The next random number, by splitmix64. It depends on a counter and not on the
 * number before, so that the generator adds no chain of dependent operations to
 * a loop. */
static inline uint64_t bench_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Makes a number below n from 32 random bits. */
static inline uint32_t bench_below(uint64_t bits, uint32_t n)
{
	return (uint32_t)((bits & UINT32_MAX) * n >> 32);
}

/* Returns memory for entries and for what we allocate ourselves: whole pages,
 * zeroed, and touched, so that no page fault is timed. Never NULL. */
void *bench_pages_get(size_t bytes);
void bench_pages_put(void *mem, size_t bytes);
/* From now on, asks for huge pages. */
void bench_pages_huge(void);

/* Returns the bytes in use: pages of the calls above, and malloc's. */
uint64_t bench_bytes_in_use(void);

/* Prints one line on stderr and exits with status 1. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void bench_die(const char *what);

#ifdef __cplusplus
}
#endif

#endif /* TKW_WHEEL_BENCH_H */
