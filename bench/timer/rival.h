/* SPDX-License-Identifier: MIT */
/*
 * rival.h - what the files of tkw_bench_rival share.
 *
 * The program is run once for each entrant: our timer, or one of its rivals in
 * C. It reads one line per sample from stdin, and answers with figures on
 * stdout: see rival_main.c. An entrant's file defines a few small functions and
 * includes timer_loops.h, so that the timed loops call them directly. The clock
 * is the real one.
 */
#ifndef TKW_RIVAL_H
#define TKW_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define RIVAL_USEC INT64_C(1000)
#define RIVAL_MSEC INT64_C(1000000)
#define RIVAL_SEC INT64_C(1000000000)
#define RIVAL_HOUR (3600 * RIVAL_SEC)
#define RIVAL_TEN_DAYS (240 * RIVAL_HOUR)

#define RIVAL_THREADS_MAX 64
#define RIVAL_FIGURES_MAX 16

enum rival_kind {
	RIVAL_SCHEDULE,
	RIVAL_PAIR,
	RIVAL_RESCHEDULE,
	RIVAL_CHURN,
	RIVAL_CROSS_CANCEL,
	RIVAL_FIRE,
	RIVAL_LATENESS,
	RIVAL_IDLE,
	RIVAL_FAR,
	RIVAL_HERD,
	RIVAL_CREATE,
	RIVAL_UNUSED,
	RIVAL_MEMORY,
	RIVAL_STOP,
	RIVAL_REQUEST,
	RIVAL_DELAYED,
	RIVAL_EXPIRE,
	RIVAL_EXTEND
};

/* Which event loop. */
enum rival_loop {
	RIVAL_LOOP_LIBUV = 1,
	RIVAL_LOOP_LIBEVENT,
	RIVAL_LOOP_LIBEV
};

/* The idle timeout of extend. */
#define EXTEND_MS 60000

/* A request for one sample. */
struct rival_load {
	enum rival_kind kind;
	uint32_t threads;
	uint32_t n; /* pending timeouts; for unused, timers */
	/* pair, reschedule, request, delayed, expire: timeouts of each
	 * thread */
	uint32_t window;
	uint32_t crowd;      /* delayed, expire: operations on a key */
	uint32_t at;         /* pair: 1 if the caller knows the time */
	uint32_t ms;         /* fire, idle, far: how long to measure */
	uint32_t longest_ms; /* fire: the longest delay */
	uint32_t rounds;     /* stop: how often to repeat it */
	uint32_t loop;       /* extend: enum rival_loop */
	/* extend: 1 if the first delays are the same too. */
	uint32_t same;
	uint32_t tick_ns;
	uint32_t ops; /* operations of each thread */
};

/* The answer: figures, or a reason why there are none. */
struct rival_answer {
	const char *skip;
	const char *fail;
	uint32_t figures;
	struct {
		const char *name;
		double value;
	} figure[RIVAL_FIGURES_MAX];
};

void rival_figure(struct rival_answer *a, const char *name, double value);
/* Says that the sample has failed. Only the first reason is kept. */
void rival_fail(struct rival_answer *a, const char *reason);

struct entrant {
	const char *name;
	/* NULL if it was not built or is not a timer. */
	void (*run)(const struct rival_load *l, struct rival_answer *a);
	/* For create and unused. NULL if a new timer starts its thread at
	 * once. */
	void (*run_unused)(const struct rival_load *l, struct rival_answer *a);
	/* NULL if it has no stop that returns what is pending. */
	void (*run_stop)(const struct rival_load *l, struct rival_answer *a);
	/* NULL if it has no requests. */
	void (*run_requests)(const struct rival_load *l,
			     struct rival_answer *a);
	/* For delayed and expire. NULL if it has no delayed operations. */
	void (*run_delayed)(const struct rival_load *l, struct rival_answer *a);
	/* NULL if it is in no event loop. */
	void (*run_extend)(const struct rival_load *l, struct rival_answer *a);
	uint32_t loop;       /* enum rival_loop, or 0 for any */
	const char *missing; /* why it was not built */
};

extern const struct entrant entrant_tickwheel;
extern const struct entrant entrant_mutex_wheel;
extern const struct entrant entrant_mutex_wheel_malloc;
extern const struct entrant entrant_mutex_libev;
extern const struct entrant entrant_mutex_libuv;
extern const struct entrant entrant_mutex_libevent;
extern const struct entrant entrant_timerfd;
extern const struct entrant entrant_mutex_hash;
extern const struct entrant entrant_sharded_hash;
extern const struct entrant entrant_mutex_lists;
extern const struct entrant entrant_tickwheel_clock;
extern const struct entrant entrant_libuv;
extern const struct entrant entrant_libevent;
extern const struct entrant entrant_libevent_common;
extern const struct entrant entrant_libev;

/* The run_requests and run_delayed of our timer. */
void ours_run_requests(const struct rival_load *l, struct rival_answer *a);
void ours_run_delayed(const struct rival_load *l, struct rival_answer *a);

/* The run_extend of our timer, and its part for each loop. If `clock` is set,
 * each call reads the clock. */
void ours_run_extend(const struct rival_load *l, struct rival_answer *a);
void ours_extend_libuv(const struct rival_load *l, bool clock,
		       struct rival_answer *a);
void ours_extend_libevent(const struct rival_load *l, bool clock,
			  struct rival_answer *a);
void ours_extend_libev(const struct rival_load *l, bool clock,
		       struct rival_answer *a);

/* Threads that begin a timed part together. */
struct rival_team {
	uint32_t threads; /* at most RIVAL_THREADS_MAX + 1 */
	void (*prepare)(uint32_t thread, void *ctx); /* or NULL */
	void (*timed)(uint32_t thread, void *ctx);
	void *ctx;
};

struct rival_cost {
	/* From the begin of the first thread to the end of the last one. */
	int64_t wall_ns;
	int64_t cpu_ns; /* of the process, with the timer's threads */
};

void rival_team_run(const struct rival_team *team, struct rival_cost *cost);

/* What all threads of the process except the main one have used. */
struct rival_usage {
	uint64_t wakeups; /* voluntary context switches */
	uint64_t cpu_ns;
};

void rival_usage_read(struct rival_usage *u);

int64_t rival_cpu_ns(void);         /* of the process */
uint64_t rival_resident(void);      /* bytes, after malloc_trim() */
void rival_sleep_until(int64_t ns); /* a time of rival_now() */

/* Returns memory that is zeroed and touched, never NULL. Give it back with the
 * same size. */
void *rival_pages_get(size_t bytes);
void rival_pages_put(void *mem, size_t bytes);

/* Sort the values, and return the one of the nearest rank. share is 0 ... 1. */
void rival_sort(int64_t *values, size_t count);
int64_t rival_quantile(const int64_t *sorted, size_t count, double share);

/* Prints one line on stderr and exits with status 1. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void rival_die(const char *what);

/* The time of the monotonic clock in nanoseconds. */
static inline int64_t rival_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * RIVAL_SEC + ts.tv_nsec;
}

static inline struct timespec rival_timespec(int64_t ns)
{
	struct timespec ts;

	ts.tv_sec = (time_t)(ns / RIVAL_SEC);
	ts.tv_nsec = (long)(ns % RIVAL_SEC);
	return ts;
}

/* Call this in a loop that waits for another thread. */
static inline void rival_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The next random number, by splitmix64. */
static inline uint64_t rival_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The next random number below n. */
static inline uint32_t rival_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((rival_random(state) >> 32) * n >> 32);
}

#endif /* TKW_RIVAL_H */
