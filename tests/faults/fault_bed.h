/* SPDX-License-Identifier: MIT */
/*
 * fault_bed.h - what the fault tests share: memory that can be refused, gates,
 * threads, child processes, and a timer on the real clock with each drive.
 *
 * The name of a test has the number of its fault: fault_08_... is fault 8.
 * Tests on a virtual clock use timer_bed.h.
 */
#ifndef TKW_TESTS_FAULT_BED_H
#define TKW_TESTS_FAULT_BED_H

#include "../timer/timer_bed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* gcc and clang tell in different ways which sanitizer is on. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define FAULT_ASAN
#endif
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FAULT_OTHER_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FAULT_ASAN
#endif
#ifdef __SANITIZE_THREAD__
#define FAULT_OTHER_SANITIZER
#endif

#ifdef FAULT_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* Sanitizers make a program about ten times slower. */
#if defined(FAULT_ASAN) || defined(FAULT_OTHER_SANITIZER)
#define FAULT_SLOWNESS 10
#else
#define FAULT_SLOWNESS 1
#endif

/*
 * An assert of cmocka does not work in a task, or on a thread that is not the
 * test's.
 */
#define must(condition)                                                        \
	((condition) ? (void)0 : fault_fail(__FILE__, __LINE__, #condition))
_Noreturn void fault_fail(const char *file, int line, const char *condition);

/* Two entries of a table of tests. The test asks fault_drive() for its
 * drive. */
extern int fault_manual;
extern int fault_thread;
#define FAULT_BOTH(name)                                                       \
	{ #name " (manual)", name, NULL, NULL, &fault_manual },                \
	{                                                                      \
#name " (thread)", name, NULL, NULL, &fault_thread             \
	}
int fault_drive(void **state);

/* Prints and returns a seed. TKW_SEED in the environment replays one. */
uint64_t fault_seed(void);
uint64_t fault_random(uint64_t *state);
/* Returns a number from 0 to below - 1. */
uint64_t fault_below(uint64_t *state, uint64_t below);

/* Returns the ledger. Checks that it balances and that the timer is sound. */
struct tkw_ledger fault_ledger(struct tkw_timer *t);

/* --- gates and threads ------------------------------------------------- */

/* A gate is shut at first. Once opened, it stays open. */
struct fault_gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool open;
};
#define FAULT_GATE_INIT                                                        \
	{                                                                      \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false     \
	}
void fault_gate_init(struct fault_gate *g);
void fault_gate_open(struct fault_gate *g);
void fault_gate_wait(struct fault_gate *g);
bool fault_gate_is_open(struct fault_gate *g);

void fault_spawn(pthread_t *thread, void *(*run)(void *arg), void *arg);
void fault_join(pthread_t thread);
/* Lets other threads run. These tests use real threads, and poll where no event
 * tells that something has happened. */
void fault_give_way(void);
/* Gives way until the counter is at least this high. */
void fault_await(atomic_ulong *counter, unsigned long least);
/* Gives way while more than `most` were made but are not done. A producer can
 * be faster than a worker that gets no CPU, and memory is limited. */
void fault_throttle(atomic_ulong *made, atomic_ulong *done, unsigned long most);
/* Waits until a thread sleeps in the kernel, or *over is set. */
void fault_await_sleep(pid_t tid, atomic_bool *over);

/* --- memory ------------------------------------------------------------ */

/* The value of each byte of new memory. */
#define FAULT_FILL 0x41

/* Counts of the calls of the alloc and free hooks. */
struct fault_memory {
	atomic_ulong calls;     /* calls of alloc */
	atomic_ulong refused;   /* how many of them were refused */
	atomic_ulong refuse_at; /* number of the call to refuse; 0: none */
	atomic_bool refuse_on;  /* refuse all calls after it, too */
	atomic_ulong live;      /* pieces that were not freed */
	atomic_ulong live_bytes;
	atomic_ulong peak_bytes;
};
void fault_memory_hooks(struct fault_memory *m, struct tkw_timer_hooks *hooks);
/* Counts a call. Returns true if the call must fail. */
bool fault_memory_refuses(struct fault_memory *m);
void fault_memory_note(struct fault_memory *m, size_t bytes);
void fault_memory_forget(struct fault_memory *m, size_t bytes);
/* Resets the counters. Refuses call number `at` (0: none), and with `on` all
 * later calls. */
void fault_memory_plan(struct fault_memory *m, unsigned long at, bool on);

/* --- a timer on the real clock ----------------------------------------- */

/* With the manual drive, the pump has a thread that runs the turns. */
struct fault_pump {
	struct tkw_timer *t;
	int drive;
	pthread_t thread;
	atomic_bool over;
};
void fault_pump_open(struct fault_pump *p, int drive,
		     const struct tkw_timer_config *cfg);
/* Ends the turns. The timer stays. */
void fault_pump_halt(struct fault_pump *p);
/* Halts, checks that the ledger balances, and destroys the timer. */
void fault_pump_close(struct fault_pump *p);

int64_t fault_monotonic_ns(void);

/* --- children ---------------------------------------------------------- */

/*
 * Run this program again as "PROGRAM --child NAME EXTRA", and wait for it.
 *
 * out     what it wrote to its standard output, cut to size, ended by a zero.
 * Return  its status, as of waitpid().
 */
int fault_child(const char *name, const char *extra, char *out, size_t size);

/* Waits for a child of fork(). Returns its status, as waitpid() does. */
int fault_wait(pid_t child);
/* The same, but checks that the child has succeeded. */
void fault_reap(pid_t child);

/* Call this in a child of fork(). Checks that each call on a timer of the
 * parent is refused, and that none waits for a lock. */
void fault_expect_inert(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TESTS_FAULT_BED_H */
