/* SPDX-License-Identifier: MIT */
/*
 * rival.h - what the files of tkw_bench_peer share.
 *
 * A peer is a timer with a thread of its own under test, in a process of its
 * own. It is told on stdin what to do, a line for each sample, and answers with
 * figures on stdout: see rival_main.c. An impl's file defines a few small
 * functions and includes timer_loops.h, so that no timed loop makes an indirect
 * call of ours. The clock is the real one.
 */
#ifndef TKW_RIVAL_H
#define TKW_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PEER_USEC INT64_C(1000)
#define PEER_MSEC INT64_C(1000000)
#define PEER_SEC INT64_C(1000000000)
#define PEER_HOUR (3600 * PEER_SEC)
#define PEER_TEN_DAYS (240 * PEER_HOUR)

#define PEER_THREADS_MAX 64
#define PEER_FIGURES_MAX 16

enum peer_kind {
	PEER_SCHEDULE,
	PEER_PAIR,
	PEER_CHURN,
	PEER_CROSS_CANCEL,
	PEER_FIRE,
	PEER_LATENESS,
	PEER_IDLE,
	PEER_FAR,
	PEER_HERD,
	PEER_MEMORY,
	PEER_STOP,
	PEER_REQUEST,
	PEER_EXTEND
};

/* Whose event loop. */
enum peer_loop {
	PEER_LOOP_LIBUV = 1,
	PEER_LOOP_LIBEVENT,
	PEER_LOOP_LIBEV
};

/* extend: the idle timeout. */
#define EXTEND_MS 60000

/* One sample, as asked for. */
struct peer_load {
	enum peer_kind kind;
	uint32_t threads;
	uint32_t n;      /* timeouts pending */
	uint32_t window; /* pair, request: of each thread */
	uint32_t at;     /* pair: 1: the caller knows the time */
	uint32_t ms;     /* fire, idle, far: how long to measure */
	uint32_t rounds; /* stop */
	uint32_t loop;   /* extend: enum peer_loop */
	uint32_t same;   /* extend: 1: the first delays are the same too */
	uint32_t tick_ns;
	uint32_t ops; /* of each thread */
};

/* What comes of it: figures, unless there is a reason for none. */
struct peer_answer {
	const char *skip;
	const char *fail;
	uint32_t figures;
	struct {
		const char *name;
		double value;
	} figure[PEER_FIGURES_MAX];
};

void peer_figure(struct peer_answer *a, const char *name, double value);
/* The first reason is kept. */
void peer_fail(struct peer_answer *a, const char *reason);

struct peer_impl {
	const char *name;
	/* NULL: not built, or no timer. */
	void (*run)(const struct peer_load *l, struct peer_answer *a);
	/* NULL: has no stop that returns what is pending. */
	void (*run_stop)(const struct peer_load *l, struct peer_answer *a);
	/* NULL: has no requests. */
	void (*run_requests)(const struct peer_load *l, struct peer_answer *a);
	/* NULL: is in no event loop. */
	void (*run_extend)(const struct peer_load *l, struct peer_answer *a);
	uint32_t loop;       /* enum peer_loop; 0: any */
	const char *missing; /* why it was not built */
};

extern const struct peer_impl peer_impl_tickwheel;
extern const struct peer_impl peer_impl_mutex_wheel;
extern const struct peer_impl peer_impl_mutex_libev;
extern const struct peer_impl peer_impl_mutex_libuv;
extern const struct peer_impl peer_impl_mutex_libevent;
extern const struct peer_impl peer_impl_timerfd;
extern const struct peer_impl peer_impl_mutex_hash;
extern const struct peer_impl peer_impl_sharded_hash;
extern const struct peer_impl peer_impl_tickwheel_clock;
extern const struct peer_impl peer_impl_libuv;
extern const struct peer_impl peer_impl_libevent;
extern const struct peer_impl peer_impl_libevent_common;
extern const struct peer_impl peer_impl_libev;

/* run_requests of ours. */
void peer_run_requests(const struct peer_load *l, struct peer_answer *a);

/* run_extend of ours, and of each loop, the clock read each time or not. */
void peer_run_extend(const struct peer_load *l, struct peer_answer *a);
void peer_extend_libuv(const struct peer_load *l, bool clock,
		       struct peer_answer *a);
void peer_extend_libevent(const struct peer_load *l, bool clock,
			  struct peer_answer *a);
void peer_extend_libev(const struct peer_load *l, bool clock,
		       struct peer_answer *a);

/* Threads that begin a timed part together. */
struct peer_team {
	uint32_t threads; /* PEER_THREADS_MAX + 1 at most */
	void (*prepare)(uint32_t thread, void *ctx); /* or NULL */
	void (*timed)(uint32_t thread, void *ctx);
	void *ctx;
};

struct peer_cost {
	int64_t wall_ns; /* from the first to begin to the last to end */
	int64_t cpu_ns;  /* of the process, the timer's threads included */
};

void peer_team_run(const struct peer_team *team, struct peer_cost *cost);

/* What the threads of the process, without the main one, have used. */
struct peer_usage {
	uint64_t wakeups; /* voluntary context switches */
	uint64_t cpu_ns;
};

void peer_usage_read(struct peer_usage *u);

int64_t peer_cpu_ns(void);         /* of the process */
uint64_t peer_resident(void);      /* bytes, after malloc_trim() */
void peer_sleep_until(int64_t ns); /* of peer_now() */

/* Zeroed and touched; give it back with the same size. Never NULL. */
void *peer_pages_get(size_t bytes);
void peer_pages_put(void *mem, size_t bytes);

/* Sort, and tell the one of nearest rank: share is 0 ... 1. */
void peer_sort(int64_t *values, size_t count);
int64_t peer_quantile(const int64_t *sorted, size_t count, double share);

/* Print one line on stderr and exit with status 1. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void peer_die(const char *what);

/* Nanoseconds of the monotonic clock. */
static inline int64_t peer_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * PEER_SEC + ts.tv_nsec;
}

static inline struct timespec peer_timespec(int64_t ns)
{
	struct timespec ts;

	ts.tv_sec = (time_t)(ns / PEER_SEC);
	ts.tv_nsec = (long)(ns % PEER_SEC);
	return ts;
}

/* For a loop that waits for another thread. */
static inline void peer_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* splitmix64 */
static inline uint64_t peer_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The next random number below n. */
static inline uint32_t peer_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((peer_random(state) >> 32) * n >> 32);
}

#endif /* TKW_RIVAL_H */
