/* SPDX-License-Identifier: MIT */
/*
 * timer_bed.h - a timer on a virtual clock for the tests, under each drive.
 *
 * The clock stands still until a test lets time pass, with bed_pass(). With the
 * manual drive, bed_pass() makes turns. With the drive of an event loop, it
 * makes turns of a few timeouts each. With a thread, it wakes the worker and
 * waits until everything that is due has fired. Nothing here depends on real
 * time.
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
/* cmocka.h needs the headers above */
#include <cmocka.h>
#include <pthread.h>
#include <sys/types.h>

#include "proc_state.h" /* IWYU pragma: export */
#include "tickwheel/timer.h"
#include "tickwheel/wheel.h"

/* The virtual clock begins here. This is neither 0 nor a multiple of a tick. */
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

/* The id with these bits, and the id of no timeout. */
#define BED_ID(bits_) ((struct tkw_timeout_id){ bits_ })
#define BED_NO_ID BED_ID(0)

struct timer_bed {
	struct tkw_timer *t;
	int drive; /* enum tkw_timer_drive */
	struct tkw_timer_hooks hooks;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	int64_t now_ns;
	struct bed_fired *fired; /* in the order of firing */
	size_t fired_count;
	uint64_t *cancelled; /* tags, in the order of the on-cancel calls */
	size_t cancelled_count;
	uint64_t markers; /* markers of bed_pass() and bed_wake() that fired */
	struct tkw_timeout_id wake; /* the marker of the last bed_wake() */
	char log[256];              /* the last line logged */
	size_t log_count;
	size_t fired_seen; /* how many bed_check_fired() has seen */
	int64_t tick_ns;
	int64_t max_pending;
	struct tkw_timer_hooks theirs; /* the hooks of cfg, with their ctx */
	struct bed_arg *args;          /* arguments of bed_task() */
};

/*
 * bed_open() makes the bed and its timer. The tick is 1 ms and there is one
 * shard, unless cfg says otherwise. cfg may be NULL. The bed replaces the
 * drive, and the clock and the log of the hooks. The other hooks are called
 * with their own ctx.
 *
 * bed_close() destroys the timer if it still exists (b->t is not NULL). It
 * asserts that the ledger balances and that tkw_timer_check() finds nothing.
 */
void bed_open(struct timer_bed *b, int drive,
	      const struct tkw_timer_config *cfg);
void bed_close(struct timer_bed *b);

/* Destroys the bed's timer and makes another one in its place. */
void bed_reopen(struct timer_bed *b, const struct tkw_timer_config *cfg);

/*
 * Lets time pass at once, and returns when everything that is due has fired.
 * This includes what tasks have scheduled meanwhile for a time that has come,
 * so it does not return if a task does so for ever. Then no task is running.
 *
 * With a thread, this schedules and fires markers. b->markers counts them, and
 * they are in the ledger. If the timer is stopped, only the clock changes. If
 * max_pending leaves no room for a marker, the worker wakes up by itself, so
 * keep delays short there.
 */
void bed_pass(struct timer_bed *b, int64_t ns);

/*
 * Lets time pass until at_ns in steps of whole milliseconds. Each step ends
 * when the timer's next turn is due. So each task sees the time for which it
 * was scheduled, and hours in which nothing happens cost nothing.
 */
void bed_pass_to(struct timer_bed *b, int64_t at_ns);

/* The first returns true if the test's own thread makes the turns. Then the
 * second makes a turn of everything that is due. */
bool bed_by_hand(const struct timer_bed *b);
int bed_turn(struct timer_bed *b, int64_t *next_ns);

/* With a thread, makes the worker read the clock, by a marker, and does not
 * wait for it. With another drive, does nothing. */
void bed_wake(struct timer_bed *b);
/* Cancels the marker of the last bed_wake(), unless it has fired. The worker
 * may have read the clock by itself, before the marker came. If a task then
 * holds up the worker, the marker counts as pending. */
void bed_unwake(struct timer_bed *b);

/* Waits until `count` bed_task()s have fired in all. Only with a thread. */
void bed_wait_fired(struct timer_bed *b, size_t count);

/* Returns how often the calling thread has read the clock of any bed. */
uint64_t bed_now_calls(void);

/* Sets the clock, even back, without waiting for anything. */
void bed_set_clock(struct timer_bed *b, int64_t now_ns);

/* Returns a task that is noted in b->fired with its tag when it fires, and in
 * b->cancelled when it is cancelled. It is valid until bed_close(). */
struct tkw_task bed_task(struct timer_bed *b, uint64_t tag);

/* Schedules bed_task(tag), asserts that it is accepted, and returns the id. */
struct tkw_timeout_id bed_schedule(struct timer_bed *b, uint64_t tag,
				   int64_t delay_ns);

/* Return how often a tag has fired, and how often its on-cancel was called. */
size_t bed_fired_times(struct timer_bed *b, uint64_t tag);
size_t bed_cancelled_times(struct timer_bed *b, uint64_t tag);

/* Asserts which tags have fired since the last call, in order. */
#define bed_assert_fired(b, ...)                                               \
	bed_check_fired(b, (const uint64_t[]){ __VA_ARGS__ },                  \
			sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)
void bed_check_fired(struct timer_bed *b, const uint64_t *tags, size_t count);
void bed_assert_nothing_fired(struct timer_bed *b);

/* Lets time pass up to at_ns. Asserts that nothing has fired a nanosecond
 * before that, and only this tag then. */
void bed_assert_fires_at(struct timer_bed *b, uint64_t tag, int64_t at_ns);

/* Asserts that the ledger balances, and how many timeouts are pending. */
void bed_assert_ledger(struct timer_bed *b, uint64_t pending);

/* Memory that can be refused, for cfg->hooks. */
struct bed_memory {
	pthread_mutex_t lock; /* protects the fields below */
	size_t calls;
	size_t asked; /* bytes asked for in all */
	size_t refused;
	size_t live;      /* pieces that are not freed yet */
	bool refuse;      /* refuse every call */
	size_t refuse_at; /* number of the call to refuse, or 0 */
	size_t max_bytes; /* largest piece allowed, or 0 for any */
};
struct tkw_timer_hooks bed_memory_hooks(struct bed_memory *m);
void bed_memory_refuse(struct bed_memory *m, bool refuse);
/* Refuses the n-th call from now on. 0 refuses none. */
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
