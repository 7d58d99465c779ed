/* SPDX-License-Identifier: MIT */
/*
 * explore.h - runs code of the library on cooperative threads, and tries every
 * order in which they can run.
 *
 * A thread runs alone until its next point: an atomic operation, a lock, a
 * park, an alarm, or a reading of the clock. There the explorer chooses which
 * thread runs next. A scenario is a function that makes threads, joins them,
 * and checks the result. It is run again and again, each time with other
 * choices: first with all choices up to a bound on their cost, then at random.
 *
 * Three things cost 1 each: to leave a thread that could go on, to wake a
 * parked thread for no reason, and to keep a store in the store buffer (if
 * store buffers are on).
 *
 * Time is virtual. It stands still while any thread can run. Then it jumps to
 * the next alarm. If there is no alarm either, a thread was forgotten, and the
 * scenario fails. It also fails if a thread is left behind, if memory is not
 * freed or is used after it was freed, or if a run does not end.
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
	const char *what; /* what it tests, in a few words */
	void (*run)(void);
};

/* A table of scenarios, for the main() of explore_main.c. */
extern const struct explore_scenario explore_scenarios[];
extern const size_t explore_scenario_count;

/* Makes a thread; waits until a thread has ended. */
int explore_spawn(const char *name, void *(*run)(void *arg), void *arg);
void explore_join(int thread);

/* A point without an operation. */
void explore_yield(void);

/* Waits until others have counted up to `least`. */
void explore_await(const unsigned *count, unsigned least);

int64_t explore_now(void);
/* Sleeps until a time. Threads that wake at the same time race from there. */
void explore_sleep_until(int64_t at_ns);

/* Adds a line to the trace: what a call returned, or what a task found. */
void explore_tell(const char *what, int64_t value);

/* Ends the exploration. Prints what is wrong, and the order that led to it. */
_Noreturn void explore_fail(const char *file, int line, const char *what);
#define explore_check(x)                                                       \
	((x) ? (void)0 : explore_fail(__FILE__, __LINE__, "not so: " #x))

/* --- for the files that replace src/os ----------------------------------- */

enum explore_order {
	EXPLORE_RELAXED,
	EXPLORE_ACQUIRE,
	EXPLORE_RELEASE,
	EXPLORE_SEQ_CST
};

/* Where an operation is, and its object, for the trace. */
struct explore_spot {
	const char *op;
	const char *object; /* its name in the source, or "" */
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

/* Makes visible all stores that any thread has kept back. Returns true. */
bool explore_fence_all(struct explore_spot s);

void explore_park(struct explore_spot s, const uint32_t *a, uint32_t value);
/* The same, but for at most this long. */
void explore_park_for(struct explore_spot s, const uint32_t *a, uint32_t value,
		      int64_t ns);
void explore_unpark(struct explore_spot s, const uint32_t *a, bool all);

/* The lock as a primitive. *holder is the thread that holds it, or 0. */
void explore_lock_take(struct explore_spot s, uint32_t *holder);
bool explore_lock_try(struct explore_spot s, uint32_t *holder);
void explore_lock_drop(struct explore_spot s, uint32_t *holder);
void explore_lock_let_in(struct explore_spot s, uint32_t *holder);

/* Waits for the time *at, which others may change meanwhile. */
void explore_wait_until(struct explore_spot s, const int64_t *at);
/* Waits until the fd of an alarm is readable, like poll(). See explore_os.c. */
void explore_poll(int fd);
/* Sets the wall clock to the virtual clock plus this time. */
void explore_step_wall(int64_t ahead_us);
/* A point for an operation that changes nothing itself. */
void explore_point(struct explore_spot s);

/* Memory that is watched. */
void *explore_alloc(size_t bytes, size_t align);
void explore_free(void *mem, size_t bytes);

/* What the library keeps for the running thread. */
struct tkw__local *explore_local(void);

/* --- for explore_main.c -------------------------------------------------- */

/* The hashes of the distinct orders that were seen, in a set of 2^bits words
 * that are 0 at first. */
struct explore_seen {
	uint64_t *hash;
	unsigned bits;
	uint64_t count;
};

/* How to explore. All zero means all orders that cost nothing, without store
 * buffers. */
struct explore_how {
	/* Its name, for the command line that replays a failure. */
	const char *program;
	bool buffers; /* stores may be kept in a store buffer */
	bool random;
	unsigned bound;
	uint64_t seed;
	const unsigned char *replay; /* the choices to replay, or NULL */
	size_t replay_count;
	/* Explores until the set has this many distinct orders ... */
	uint64_t until;
	uint64_t runs; /* ... or until this many runs were made */
};

struct explore_result {
	uint64_t runs;
	bool all; /* there are no more orders within the bound */
};

/* Runs a scenario. Does not return if it fails. */
struct explore_result explore_run(const struct explore_scenario *sc,
				  const struct explore_how *how,
				  struct explore_seen *seen);

#endif /* TKW_TESTS_EXPLORE_H */
