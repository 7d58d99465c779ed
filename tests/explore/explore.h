/* SPDX-License-Identifier: MIT */
/*
 * explore.h - runs code of the library on cooperative threads, and tries every
 * order in which they can go on.
 *
 * A thread runs alone until its next point: an atomic operation, a lock, a
 * park, an alarm, a reading of the clock. There the explorer chooses who goes
 * on. A scenario is a function that makes threads, joins them, and checks what
 * came out; it is run again and again, each time with other choices, first all
 * of them up to a bound on what they cost, then at random.
 *
 * What costs 1: to leave a thread that could go on; to wake a parked thread for
 * no reason; to keep a store in the store buffer (with store buffers on).
 *
 * Time is virtual. It stands still while any thread can go on; then it jumps to
 * the next alarm. If there is none either, somebody was forgotten: a failure.
 * So is a thread that is left behind, memory that is not freed, or used after
 * it was, and a run that does not end.
 */
#ifndef TKW_TESTS_EXPLORE_H
#define TKW_TESTS_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- for scenarios ------------------------------------------------------- */

/* The virtual clock begins here. */
#define EXPLORE_START_NS INT64_C(1000000000)

struct explore_scenario {
	const char *name;
	const char *what; /* in a few words */
	void (*run)(void);
};

/* A table of scenarios, for the main() of explore_main.c. */
extern const struct explore_scenario explore_scenarios[];
extern const size_t explore_scenario_count;

/* Make a thread; wait until one has ended. */
int explore_spawn(const char *name, void *(*run)(void *arg), void *arg);
void explore_join(int thread);

/* A point without an operation. */
void explore_yield(void);

/* Wait until others have counted up to so many. */
void explore_await(const unsigned *count, unsigned least);

int64_t explore_now(void);
/* Sleep until a time; those who wake at the same time race from there. */
void explore_sleep_until(int64_t at_ns);

/* A line in the trace: what a call returned, what a task found. */
void explore_tell(const char *what, int64_t value);

/* End the exploration: say what is wrong, and in which order it came about. */
_Noreturn void explore_fail(const char *file, int line, const char *what);
#define explore_check(x)                                                       \
	((x) ? (void)0 : explore_fail(__FILE__, __LINE__, "not so: " #x))

/* --- for what stands in for src/os --------------------------------------- */

enum explore_order {
	EXPLORE_RELAXED,
	EXPLORE_ACQUIRE,
	EXPLORE_RELEASE,
	EXPLORE_SEQ_CST
};

/* Where an operation is, and on what, for the trace. */
struct explore_spot {
	const char *op;
	const char *object; /* as the source calls it; "" for none */
	const char *file;
	int line;
};
#define EXPLORE_SPOT(op, object)                                               \
	((struct explore_spot){ op, object, __FILE__, __LINE__ })

/* Atomics of 4 and 8 bytes. */
uint32_t explore_load32(struct explore_spot s, const uint32_t *a);
uint64_t explore_load64(struct explore_spot s, const uint64_t *a);
void explore_store32(struct explore_spot s, uint32_t *a, uint32_t x,
		     enum explore_order order);
void explore_store64(struct explore_spot s, uint64_t *a, uint64_t x,
		     enum explore_order order);
enum explore_rmw {
	EXPLORE_EXCHANGE,
	EXPLORE_ADD,
	EXPLORE_SUB
};
uint32_t explore_rmw32(struct explore_spot s, uint32_t *a, uint32_t x,
		       enum explore_rmw how);
uint64_t explore_rmw64(struct explore_spot s, uint64_t *a, uint64_t x,
		       enum explore_rmw how);
bool explore_cas32(struct explore_spot s, uint32_t *a, uint32_t *was,
		   uint32_t x);
bool explore_cas64(struct explore_spot s, uint64_t *a, uint64_t *was,
		   uint64_t x);

/* All that any thread has kept back becomes visible. Returns true. */
bool explore_fence_all(struct explore_spot s);

void explore_park(struct explore_spot s, const uint32_t *a, uint32_t value);
/* The same, but not for longer than this. */
void explore_park_for(struct explore_spot s, const uint32_t *a, uint32_t value,
		      int64_t ns);
void explore_unpark(struct explore_spot s, const uint32_t *a, bool all);

/* The lock as a primitive: who holds it, 0 for nobody. */
void explore_lock_take(struct explore_spot s, uint32_t *holder);
void explore_lock_drop(struct explore_spot s, uint32_t *holder);
void explore_lock_let_in(struct explore_spot s, uint32_t *holder);

/* Wait for a time, *at, which others may change meanwhile. */
void explore_wait_until(struct explore_spot s, const int64_t *at);
/* Wait until the fd of an alarm is readable, as poll() does: explore_os.c. */
void explore_poll(int fd);
/* A point for an operation that changes nothing itself. */
void explore_point(struct explore_spot s);

/* Memory that is watched. */
void *explore_alloc(size_t bytes, size_t align);
void explore_free(void *mem, size_t bytes);

/* What the library keeps for the running thread. */
struct tkw__local *explore_local(void);

/* --- for explore_main.c -------------------------------------------------- */

/* Distinct orders that were seen, by hash: a set of 2^bits words, 0 at first.
 */
struct explore_seen {
	uint64_t *hash;
	unsigned bits;
	uint64_t count;
};

/* How to explore; all zero: all orders that cost nothing, sequentially. */
struct explore_how {
	const char *program; /* to name in what is to be called for a replay */
	bool buffers;        /* stores may be kept back */
	bool random;
	unsigned bound;
	uint64_t seed;
	const unsigned char *replay; /* choices, or NULL */
	size_t replay_count;
	uint64_t until; /* so many distinct orders are in the set */
	uint64_t runs;  /* or so many runs were made */
};

struct explore_result {
	uint64_t runs;
	bool all; /* there are no more orders within the bound */
};

/* Run a scenario. Does not return if it fails. */
struct explore_result explore_run(const struct explore_scenario *sc,
				  const struct explore_how *how,
				  struct explore_seen *seen);

#endif /* TKW_TESTS_EXPLORE_H */
