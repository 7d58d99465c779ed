/* SPDX-License-Identifier: MIT */
/*
 * timer_peers.h - what the tests of the peers' behaviours share.
 *
 * Other well-known timers have test suites. test_timer_peers*.c makes the same
 * tests on this timer. Many of these timers are hashed wheels. Their tests run
 * on the presets named after them, on a ring so small that almost every delay
 * takes several rounds, and on the default engine, with each drive:
 *
 *     static void test_netty_fires_once(struct peers *p) ...
 *     PEERS_TEST(test_netty_fires_once)
 *     const struct CMUnitTest tests[] = {
 *             PEERS_ON_ALL(test_netty_fires_once)
 *     };
 */
#ifndef TKW_TESTS_TIMER_PEERS_H
#define TKW_TESTS_TIMER_PEERS_H

#include "timer_bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The timer on which a test runs. */
struct peers_on {
	int drive;     /* enum tkw_timer_drive */
	int preset;    /* enum tkw_timer_preset, or 0 */
	int64_t slots; /* of a hashed ring, or 0; only without a preset */
};

struct peers;

/* A task of the bed that also does something else. See peers_deed(). */
struct peers_deed {
	struct tkw_task noted; /* made by bed_task() */
	void (*act)(struct peers_deed *deed, const struct tkw_firing *firing);
	struct peers *p;
	int64_t delay_ns;
	int64_t then_ns; /* this and the rest are for act() */
	struct tkw_timeout_id ids[8];
	int rets[8];
	int left;
};

struct peers {
	struct timer_bed bed;
	/* The config for bed_reopen(), which a test may change. Its tick is not
	 * 0. */
	struct tkw_timer_config cfg;
	/* These are here because a test that fails leaves them behind. */
	struct peers_deed deeds[2];
};

#define PEERS_SLOTS_FEW 4

/* Return 0, as cmocka wants it. *state is the table's struct peers_on. */
static inline int peers_setup(void **state)
{
	const struct peers_on *on = *state;
	struct peers *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	if (on->preset != 0) {
		assert_int_equal(tkw_timer_preset(&p->cfg, on->preset), 0);
	} else if (on->slots != 0) {
		p->cfg.engine = TKW_WHEEL_HASHED;
		p->cfg.slots = on->slots;
	}
	if (p->cfg.tick_ns == 0)
		p->cfg.tick_ns = TKW_MSEC;
	bed_open(&p->bed, on->drive, &p->cfg);
	*state = p;
	return 0;
}

static inline int peers_teardown(void **state)
{
	struct peers *p = *state;

	bed_close(&p->bed);
	free(p);
	return 0;
}

#define PEERS_TEST(name)                                                       \
	static void name##_run(void **state)                                   \
	{                                                                      \
		name(*state);                                                  \
	}

#define PEERS_ENTRY(test, text, ...)                                           \
	{                                                                      \
		.name = #test " (" text ")", .test_func = test##_run,          \
		.setup_func = peers_setup, .teardown_func = peers_teardown,    \
		.initial_state = &(struct peers_on)                            \
		{                                                              \
			__VA_ARGS__                                            \
		}                                                              \
	}
#define PEERS_EACH(name, text, preset, slots)                                  \
	PEERS_ENTRY(name, text ", manual", TKW_DRIVE_MANUAL, preset, slots),   \
		PEERS_ENTRY(name, text ", loop", TKW_DRIVE_LOOP, preset,       \
			    slots),                                            \
		PEERS_ENTRY(name, text ", thread", TKW_DRIVE_THREAD, preset,   \
			    slots)

/* Entries of a table of tests: the default and a small hashed ring. */
#define PEERS_ON_TWO(name)                                                     \
	PEERS_EACH(name, "default", 0, 0),                                     \
		PEERS_EACH(name, "small ring", 0, PEERS_SLOTS_FEW)

/* The same for tests that need a timer without a thread. */
#define PEERS_BY_HAND(name)                                                    \
	PEERS_ENTRY(name, "default, manual", TKW_DRIVE_MANUAL, 0, 0),          \
		PEERS_ENTRY(name, "default, loop", TKW_DRIVE_LOOP, 0, 0),      \
		PEERS_ENTRY(name, "small ring, manual", TKW_DRIVE_MANUAL, 0,   \
			    PEERS_SLOTS_FEW),                                  \
		PEERS_ENTRY(name, "small ring, loop", TKW_DRIVE_LOOP, 0,       \
			    PEERS_SLOTS_FEW)

/* Both of PEERS_ON_TWO(), and each preset. */
#define PEERS_ON_ALL(name)                                                     \
	PEERS_ON_TWO(name), PEERS_EACH(name, "netty", TKW_PRESET_NETTY, 0),    \
		PEERS_EACH(name, "jraft", TKW_PRESET_JRAFT, 0),                \
		PEERS_EACH(name, "dubbo future", TKW_PRESET_DUBBO_FUTURE, 0),  \
		PEERS_EACH(name, "dubbo heartbeat",                            \
			   TKW_PRESET_DUBBO_HEARTBEAT, 0)

/* When the tick of a deadline begins. A timeout for it fires then. */
static inline int64_t peers_due_ns(const struct peers *p, int64_t deadline_ns)
{
	const int64_t tick_ns = p->cfg.tick_ns;

	return deadline_ns / tick_ns * tick_ns +
	       (deadline_ns % tick_ns != 0 ? tick_ns : 0);
}

static inline void peers_pass_to(struct peers *p, int64_t at_ns)
{
	bed_pass(&p->bed, at_ns - tkw_timer_now_ns(p->bed.t));
}

/* Asserts that nothing fires before the tick of a deadline, and then tag
 * does. */
static inline void peers_assert_fires_at(struct peers *p, uint64_t tag,
					 int64_t deadline_ns)
{
	const int64_t due_ns = peers_due_ns(p, deadline_ns);

	peers_pass_to(p, due_ns - 1);
	bed_assert_nothing_fired(&p->bed);
	peers_pass_to(p, due_ns);
	bed_assert_fired(&p->bed, tag);
}

/*
 * Returns when this many tasks of the bed have fired in all. It does not wake
 * the worker, because a due timeout must do that.
 */
static inline void peers_await(struct timer_bed *b, size_t fired)
{
	if (b->drive == TKW_DRIVE_THREAD) {
		bed_wait_fired(b, fired);
		return;
	}
	while (b->fired_count < fired)
		assert_true(bed_turn(b, NULL) > 0);
}

static inline void peers_deed_run(const struct tkw_firing *firing, void *ctx)
{
	struct peers_deed *deed = ctx;

	/* first, so that it has ended when the bed notes the task */
	deed->act(deed, firing);
	deed->noted.fn(firing, deed->noted.ctx);
}

static inline void peers_deed_cancelled(void *ctx)
{
	const struct peers_deed *deed = ctx;

	deed->noted.on_cancel(deed->noted.ctx);
}

static inline struct tkw_task peers_deed_task(struct peers_deed *deed)
{
	const struct tkw_task task = { .fn = peers_deed_run,
				       .ctx = deed,
				       .on_cancel = peers_deed_cancelled };

	return task;
}

/* Resets and returns the deed with this index. */
static inline struct peers_deed *peers_deed(
	struct peers *p, size_t i,
	void (*act)(struct peers_deed *deed, const struct tkw_firing *firing))
{
	struct peers_deed *deed = &p->deeds[i];

	memset(deed, 0, sizeof(*deed));
	deed->p = p;
	deed->act = act;
	return deed;
}

/* Schedules a deed with its delay. The bed notes it with its tag. */
static inline struct tkw_timeout_id peers_schedule_deed(struct peers_deed *deed,
							uint64_t tag)
{
	const struct tkw_task task = peers_deed_task(deed);
	struct timer_bed *b = &deed->p->bed;
	struct tkw_timeout_id id = { 0 };

	deed->noted = bed_task(b, tag);
	assert_int_equal(tkw_timer_schedule(b->t, &task, deed->delay_ns, &id),
			 0);
	return id;
}

/* What a stop has handed over. */
struct peers_visit {
	size_t count;
	struct tkw_timeout_id ids[16]; /* the first ones */
	int64_t deadlines_ns[16];
};

static inline void peers_visited(const struct tkw_timeout_info *info, void *ctx)
{
	struct peers_visit *v = ctx;

	if (v->count < 16) {
		v->ids[v->count] = info->id;
		v->deadlines_ns[v->count] = info->deadline_ns;
	}
	v->count++;
}

/* Numbers for a test to choose by: xorshift, the same ones on each run. */
static inline uint32_t peers_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

#endif /* TKW_TESTS_TIMER_PEERS_H */
