/* SPDX-License-Identifier: MIT */
/*
 * timer_bed.h - a timer on a virtual clock for the tests, under each drive.
 *
 * The clock stands still until a test lets time pass. With the manual drive
 * bed_pass() runs turns, and with that of an event loop turns of a few timeouts
 * each; with a thread of its own it wakes the worker, and waits until what is
 * due has fired. Nothing here depends on real time.
 *
 * A test is a function of a bed, and is run over all drives:
 *
 *     static void test_timer_fires_once(struct timer_bed *b) ...
 *     const struct CMUnitTest tests[] = { BED_TESTS(test_timer_fires_once) };
 */
#ifndef TKW_TESTS_TIMER_BED_H
#define TKW_TESTS_TIMER_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* after those above, as it asks */
#include <cmocka.h>
#include <pthread.h>
#include <sys/types.h>

#include "proc_state.h" /* IWYU pragma: export */
#include "tickwheel/timer.h"
#include "tickwheel/wheel.h"

/* The virtual clock begins here: not 0, and not a multiple of a tick. */
#define BED_START_NS (1000 * TKW_SEC + 300)

/* One call of bed_task(). */
struct bed_fired {
	uint64_t tag;
	struct tkw_timeout_id id;
	int64_t deadline_ns;
	int64_t late_ns;
	int64_t now_ns;
};

struct bed_arg;

/* The id of these bits; that of no timeout. */
#define BED_ID(bits_) ((struct tkw_timeout_id){ bits_ })
#define BED_NO_ID BED_ID(0)

struct timer_bed {
	struct tkw_timer *t;
	int drive; /* enum tkw_timer_drive */
	struct tkw_timer_hooks hooks;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	int64_t now_ns;
	struct bed_fired *fired; /* in order */
	size_t fired_count;
	uint64_t *cancelled; /* tags, in order of the on-cancel calls */
	size_t cancelled_count;
	uint64_t markers; /* fired, of bed_pass() and bed_wake() */
	char log[256];    /* the last line logged */
	size_t log_count;
	size_t fired_seen; /* by bed_check_fired() */
	int64_t tick_ns;
	int64_t max_pending;
	struct tkw_timer_hooks theirs; /* the hooks of cfg, with their ctx */
	struct bed_arg *args;          /* of bed_task() */
};

/*
 * Make the bed and its timer, with tick 1 ms and one shard unless cfg says
 * otherwise. cfg may be NULL; its drive, and the clock and log of its hooks,
 * are the bed's; its other hooks are called with its own ctx. bed_close()
 * destroys the timer if it is still there (b->t is not NULL), and asserts that
 * the ledger balances and tkw_timer_check() finds nothing.
 */
void bed_open(struct timer_bed *b, int drive,
	      const struct tkw_timer_config *cfg);
void bed_close(struct timer_bed *b);

/* Destroy the bed's timer and make another one in its place. */
void bed_reopen(struct timer_bed *b, const struct tkw_timer_config *cfg);

/*
 * Let time pass, at once, and return when all that is due has fired, also what
 * tasks have scheduled meanwhile for a time that has come: not for a task that
 * does so for ever. No task is running then. Under a thread this schedules and
 * fires markers, b->markers of them, which are in the ledger. If the timer is
 * stopped only the clock changes. If max_pending leaves no room for a marker,
 * the worker wakes up in its own time: keep delays short there.
 */
void bed_pass(struct timer_bed *b, int64_t ns);

/*
 * Let time pass until at_ns in steps of whole milliseconds, each of which ends
 * where the timer's next turn is due: each task sees the time for which it was
 * scheduled, and hours in which nothing happens cost nothing.
 */
void bed_pass_to(struct timer_bed *b, int64_t at_ns);

/* Is it this thread that makes the timer's time pass? Then a turn of all that
 * is due. */
bool bed_by_hand(const struct timer_bed *b);
int bed_turn(struct timer_bed *b, int64_t *next_ns);

/* Under a thread, make the worker look at the clock, by a marker; do not wait
 * for it. Under another drive: nothing. */
void bed_wake(struct timer_bed *b);

/* Wait until so many bed_task()s have fired in all. For a thread. */
void bed_wait_fired(struct timer_bed *b, size_t count);

/* How often the clock of any bed has been read on the calling thread. */
uint64_t bed_now_calls(void);

/* Set the clock, also backward, without waiting for anything. */
void bed_set_clock(struct timer_bed *b, int64_t now_ns);

/* A task that is written down in b->fired with its tag, and in b->cancelled if
 * it is cancelled. It is valid until bed_close(). */
struct tkw_task bed_task(struct timer_bed *b, uint64_t tag);

/* Schedule bed_task(tag), assert that it is accepted, and return the id. */
struct tkw_timeout_id bed_schedule(struct timer_bed *b, uint64_t tag,
				   int64_t delay_ns);

/* How often a tag has fired; how often its on-cancel was called. */
size_t bed_fired_times(struct timer_bed *b, uint64_t tag);
size_t bed_cancelled_times(struct timer_bed *b, uint64_t tag);

/* Assert which tags have fired since the last call, in order. */
#define bed_assert_fired(b, ...)                                               \
	bed_check_fired(b, (const uint64_t[]){ __VA_ARGS__ },                  \
			sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)
void bed_check_fired(struct timer_bed *b, const uint64_t *tags, size_t count);
void bed_assert_nothing_fired(struct timer_bed *b);

/* Let time pass up to at_ns; assert that nothing has fired a nanosecond before
 * that, and this tag alone then. */
void bed_assert_fires_at(struct timer_bed *b, uint64_t tag, int64_t at_ns);

/* Assert that the ledger balances, and how many are pending. */
void bed_assert_ledger(struct timer_bed *b, uint64_t pending);

/* Memory that can be refused, for cfg->hooks. */
struct bed_memory {
	pthread_mutex_t lock; /* of what follows */
	size_t calls;
	size_t asked; /* bytes, in all */
	size_t refused;
	size_t live;      /* pieces that are not freed yet */
	bool refuse;      /* every call */
	size_t refuse_at; /* this call, from 1; 0: none */
	size_t max_bytes; /* of a piece; 0: any */
};
struct tkw_timer_hooks bed_memory_hooks(struct bed_memory *m);
void bed_memory_refuse(struct bed_memory *m, bool refuse);
/* The n-th call from now on; 0: none. */
void bed_memory_refuse_at(struct bed_memory *m, size_t n);

/* Three entries of a table of tests: "NAME (manual)", "NAME (loop)" and
 * "NAME (thread)". */
typedef void bed_test_fn(struct timer_bed *b);
int bed_setup_manual(void **state);
int bed_setup_thread(void **state);
int bed_setup_loop(void **state);
int bed_teardown(void **state);
#define BED_TEST(name)                                                         \
	static void name##_run(void **state)                                   \
	{                                                                      \
		name(*state);                                                  \
	}
#define BED_TEST_UNDER(name_, drive_)                                          \
	{                                                                      \
		.name = #name_ " (" #drive_ ")", .test_func = name_##_run,     \
		.setup_func = bed_setup_##drive_,                              \
		.teardown_func = bed_teardown                                  \
	}
#define BED_TESTS(name)                                                        \
	BED_TEST_UNDER(name, manual), BED_TEST_UNDER(name, loop),              \
		BED_TEST_UNDER(name, thread)
/* The same without the thread. */
#define BED_TESTS_BY_HAND(name)                                                \
	BED_TEST_UNDER(name, manual), BED_TEST_UNDER(name, loop)

#endif /* TKW_TESTS_TIMER_BED_H */
