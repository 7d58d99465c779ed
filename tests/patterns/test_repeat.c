/* SPDX-License-Identifier: MIT */
/*
 * test_repeat.c - SPEC 7, calls from outside: the rounds and their times, each
 * call, bad input, no memory, and forks.
 *
 * The other files:
 *   test_repeat_delay.c    the times between rounds
 *   test_repeat_inside.c   calls inside callbacks, or while one runs
 *   test_repeat_broken.c   what breaks a repeat off
 *   test_repeat_threads.c  several threads
 */
#include "repeat_bed.h"

#include <sys/wait.h>

/* --- the memory, which may be refused ----------------------------------- */

static atomic_bool refuse_memory;

#define NAMED(name) __asm__(name)
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");

void *wrap_aligned_alloc(size_t align, size_t size)
{
	return atomic_load(&refuse_memory) ? NULL
					   : real_aligned_alloc(align, size);
}

static void wait_in_task(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
	gate_pass(&gate);
}

/* --- rounds ------------------------------------------------------------- */

/* SPEC 7.1: a test of JRaft: with 50 ms there are 20 rounds in a second. */
static void test_repeat_makes_twenty_rounds_in_a_second(struct timer_bed *b)
{
	static struct book k;
	unsigned i;

	start_repeat(&k, b);
	pass_to(b, 1000);
	assert_int_equal(k.rounds, 20);
	for (i = 0; i < 20; i++)
		assert_int_equal(k.at_ns[i], MS(50) * (i + 1));
	assert_int_equal(k.ends, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_makes_twenty_rounds_in_a_second)

/* SPEC 7.3: it is created paused. */
static void test_repeat_is_paused_at_first(struct timer_bed *b)
{
	static struct book k;

	open_repeat(&k, b);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -ENOENT);
	pass_to(b, 200);
	assert_no_round(&k);
	close_repeat(&k);
}
BED_TEST(test_repeat_is_paused_at_first)

/* SPEC 7.3, 7.4: a second start does nothing. It does not move the next
 * round. */
static void test_repeat_starts_once(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	assert_chains(&k, 1);
	pass_to(b, 30);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 1);
	pass_to(b, 120);
	assert_rounds(&k, 50, 100);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_starts_once)

/* SPEC 7.3: a test of JRaft: while it is paused there are no rounds. After a
 * start they come after a full interval. */
static void test_repeat_pauses_and_starts_again(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	pass_to(b, 120);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	pass_to(b, 500);
	assert_rounds(&k, 50, 100);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 1);
	pass_to(b, 610);
	assert_rounds(&k, 550, 600);
	/* The start may come directly after the pause. */
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 1);
	pass_to(b, 720);
	assert_rounds(&k, 660, 710);
	assert_int_equal(k.broken, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_pauses_and_starts_again)

/* SPEC 7.3: a test of JRaft: the pending round is made now, on the calling
 * thread, and the next one comes a full interval later. */
static void test_repeat_runs_now(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	pass_to(b, 20);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_rounds(&k, 20);
	assert_true(pthread_equal(k.by, pthread_self()));
	assert_chains(&k, 1);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	pass_to(b, 130);
	assert_rounds(&k, 20, 70, 120);
	assert_chains(&k, 1);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -ENOENT);
	assert_no_round(&k);
	close_repeat(&k);
}
BED_TEST(test_repeat_runs_now)

/* SPEC 7.2: the first round comes at once, on the timer's thread, and the next
 * ones count from there. A pending round is moved. */
static void test_repeat_starts_now(struct timer_bed *b)
{
	static struct book k;

	open_repeat(&k, b);
	pass_to(b, 20);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	if (bed_by_hand(b))
		assert_no_round(&k); /* not inside the call */
	bed_pass(b, 0);
	assert_rounds(&k, 20);
	assert_int_equal(pthread_equal(k.by, pthread_self()) != 0,
			 bed_by_hand(b));
	pass_to(b, 100);
	assert_rounds(&k, 70);
	assert_chains(&k, 1);
	/* It is started. The pending round, which is due at 120, comes now. */
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	if (bed_by_hand(b))
		assert_chains(&k, 1);
	bed_pass(b, 0);
	assert_rounds(&k, 100);
	pass_to(b, 210);
	assert_rounds(&k, 150, 200);
	assert_chains(&k, 1);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	bed_pass(b, 0);
	assert_rounds(&k, 210);
	assert_int_equal(k.broken, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_starts_now)

/* SPEC 7.2: the round comes on the next turn, even in the middle of a tick, and
 * once however often start_now is called. */
static void test_repeat_starts_on_the_next_turn(struct timer_bed *b)
{
	static struct book k;

	open_repeat(&k, b);
	bed_set_clock(b, ZERO_NS + TKW_MSEC / 3);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_chains(&k, 1);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 1);
	assert_int_equal(k.rounds, 1);
	assert_int_equal(k.at_ns[0], TKW_MSEC / 3);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 0);
	/* A pending round, due in 50 ms, is moved, too. */
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 1);
	assert_int_equal(k.rounds, 2);
	close_repeat(&k);
}
BED_TEST(test_repeat_starts_on_the_next_turn)

/* SPEC 7.2, 7.3: calls that come before that round take effect. */
static void test_repeat_starts_now_and_is_called_again(struct timer_bed *b)
{
	const struct tkw_task wait = { .fn = wait_in_task };
	static struct book k;
	struct passer p = { .b = b };

	/* A task waits at a gate, so that no round comes meanwhile. */
	open_repeat(&k, b);
	gate_init(&gate);
	assert_int_equal(tkw_timer_schedule(b->t, &wait, 0, NULL), 0);
	if (bed_by_hand(b))
		must(pthread_create(&p.thread, NULL, pass_beside, &p) == 0);
	gate_await(&gate, 1);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0); /* changes nothing */
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_rounds(&k, 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_reset(k.r, MS(40)), 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_chains(&k, 1);
	pass_the_gate(&p);
	assert_no_round(&k);
	pass_to(b, 90);
	assert_rounds(&k, 40, 80);
	close_repeat(&k);
}
BED_TEST(test_repeat_starts_now_and_is_called_again)

/* SPEC 7.3: restart begins a full new interval, whether it is paused or
 * running, and whether that is later or earlier. */
static void test_repeat_restarts(struct timer_bed *b)
{
	static struct book k;

	open_repeat(&k, b);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_chains(&k, 1);
	pass_to(b, 40);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_chains(&k, 1);
	pass_to(b, 89);
	assert_no_round(&k);
	pass_to(b, 100);
	assert_rounds(&k, 90);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	pass_to(b, 210);
	assert_rounds(&k, 150, 200);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_restarts)

/* SPEC 7.3: a test of JRaft: with a reset every 80 ms there is one round in
 * each. With an interval of 100 there is none. */
static void test_repeat_is_reset_every_80_ms(struct timer_bed *b)
{
	static struct book k;
	int64_t i;

	start_repeat(&k, b);
	for (i = 1; i <= 10; i++) {
		pass_to(b, 80 * i);
		assert_rounds(&k, 80 * i - 30);
		assert_int_equal(tkw_repeat_reset(k.r, MS(50)), 0);
		assert_chains(&k, 1);
	}
	assert_int_equal(tkw_repeat_reset(k.r, MS(100)), 0);
	assert_described(&k, "heartbeat, every 100 ms, running");
	for (; i <= 20; i++) {
		pass_to(b, 80 * i);
		assert_no_round(&k);
		assert_int_equal(tkw_repeat_reset(k.r, MS(100)), 0);
		assert_chains(&k, 1);
	}
	pass_to(b, 1850);
	assert_rounds(&k, 1700, 1800);
	/* This is sooner than the pending round. */
	assert_int_equal(tkw_repeat_reset(k.r, MS(10)), 0);
	assert_chains(&k, 1);
	pass_to(b, 1880);
	assert_rounds(&k, 1860, 1870, 1880);
	close_repeat(&k);
}
BED_TEST(test_repeat_is_reset_every_80_ms)

/* SPEC 7.3: reset stores the interval. It arms the next round only if
 * running. */
static void test_repeat_is_reset_when_paused(struct timer_bed *b)
{
	static struct book k;

	open_repeat(&k, b);
	assert_int_equal(tkw_repeat_reset(k.r, MS(20)), 0);
	assert_chains(&k, 0);
	assert_described(&k, "heartbeat, every 20 ms, paused");
	pass_to(b, 100);
	assert_no_round(&k);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	pass_to(b, 150);
	assert_rounds(&k, 120, 140);
	close_repeat(&k);
}
BED_TEST(test_repeat_is_reset_when_paused)

/* SPEC 7.5, 7.3: a test of JRaft: after a shutdown there are no rounds, and no
 * call starts them again. A second shutdown does not call on_end again. */
static void test_repeat_is_shut_down_once(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	pass_to(b, 60);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_int_equal(k.ends, 1);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_int_equal(k.ends, 1);
	assert_int_equal(tkw_repeat_start(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_start_now(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_pause(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_restart(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_reset(k.r, MS(10)), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_run_now(k.r), -ESHUTDOWN);
	assert_described(&k, "heartbeat, every 50 ms, paused, ended");
	pass_to(b, 300);
	assert_rounds(&k, 50);
	assert_chains(&k, 0);
	assert_int_equal(k.broken, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_is_shut_down_once)

/* SPEC 7.5: destroy is also a shutdown, even if it was never started. on_end
 * may be NULL. */
static void test_repeat_is_destroyed_at_once(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;

	open_repeat(&k, b);
	close_repeat(&k);
	start_repeat(&k, b);
	close_repeat(&k);
	open_book(&k, b);
	cfg = config_of(&k);
	cfg.on_end = NULL;
	make_repeat(&k, &cfg);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_int_equal(tkw_repeat_destroy(k.r), 0);
	assert_chains(&k, 0);
}
BED_TEST(test_repeat_is_destroyed_at_once)

/* Two repeats on one timer do not affect each other. */
static void test_repeats_are_apart(struct timer_bed *b)
{
	static struct book k, other;

	start_repeat(&k, b);
	open_repeat(&other, b);
	assert_int_equal(tkw_repeat_reset(other.r, MS(20)), 0);
	assert_int_equal(tkw_repeat_start(other.r), 0);
	pass_to(b, 100);
	assert_int_equal(tkw_repeat_destroy(other.r), 0);
	pass_to(b, 150);
	assert_rounds(&k, 50, 100, 150);
	assert_rounds(&other, 20, 40, 60, 80, 100);
	assert_int_equal(other.ends, 1);
	close_repeat(&k);
}
BED_TEST(test_repeats_are_apart)

/* --- bad input ---------------------------------------------------------- */

static int64_t same_delay(struct tkw_repeat *r, int64_t interval_ns, void *ctx)
{
	(void)r;
	(void)ctx;
	return interval_ns;
}

static void assert_refused(const struct tkw_repeat_config *cfg)
{
	struct tkw_repeat *r = (struct tkw_repeat *)(uintptr_t)1;

	assert_int_equal(tkw_repeat_create(&r, cfg), -EINVAL);
	assert_true(r == (struct tkw_repeat *)(uintptr_t)1);
}

/* SPEC 7.2, Errors: a bad config is refused, and leaves no trace. */
static void test_repeat_refuses_a_bad_config(struct timer_bed *b)
{
	struct tkw_repeat_config cfg, good;
	static struct book k;

	open_book(&k, b);
	good = config_of(&k);
	assert_int_equal(tkw_repeat_create(NULL, &good), -EINVAL);
	assert_refused(NULL);
#define REFUSED(change)                                                        \
	do {                                                                   \
		cfg = good;                                                    \
		change;                                                        \
		assert_refused(&cfg);                                          \
	} while (0)
	REFUSED(cfg.size = 1);
	REFUSED(cfg.size = sizeof(cfg) - 1);
	REFUSED(cfg.timer = NULL);
	REFUSED(cfg.fn = NULL);
	REFUSED(cfg.interval_ns = 0);
	REFUSED(cfg.interval_ns = -1);
	REFUSED(cfg.interval_ns = INT64_MIN);
	REFUSED(cfg.mode = -1);
	REFUSED(cfg.mode = TKW_REPEAT_RATE_DELAY + 1);
	REFUSED(cfg.spread_ns = -1);
	REFUSED(cfg.spread_ns = 1; cfg.adjust = same_delay);
#undef REFUSED
	assert_int_equal(k.ends, 0);
	assert_chains(&k, 0);
}
BED_TEST(test_repeat_refuses_a_bad_config)

/* A config that is larger than this library knows. The rest must be zero. */
static void test_repeat_takes_a_newer_config(struct timer_bed *b)
{
	struct {
		struct tkw_repeat_config cfg;
		unsigned char newer[8192];
	} large = { .cfg = { 0 } };
	static struct book k;

	open_book(&k, b);
	large.cfg = config_of(&k);
	large.cfg.size = sizeof(large.cfg) + 8;
	make_repeat(&k, &large.cfg);
	close_repeat(&k);
	open_book(&k, b);
	large.newer[8] = 1;
	make_repeat(&k, &large.cfg);
	close_repeat(&k);
	large.newer[7] = 1;
	assert_refused(&large.cfg);
	large.newer[7] = 0;
	/* No config can be that large. */
	large.cfg.size = sizeof(large);
	assert_refused(&large.cfg);
}
BED_TEST(test_repeat_takes_a_newer_config)

/* Errors: NULL, and an interval that is not positive, in each state. */
static void test_repeat_refuses_bad_arguments(struct timer_bed *b)
{
	static struct book k;
	char buf[8];

	assert_int_equal(tkw_repeat_start(NULL), -EINVAL);
	assert_int_equal(tkw_repeat_start_now(NULL), -EINVAL);
	assert_int_equal(tkw_repeat_pause(NULL), -EINVAL);
	assert_int_equal(tkw_repeat_restart(NULL), -EINVAL);
	assert_int_equal(tkw_repeat_reset(NULL, 1), -EINVAL);
	assert_int_equal(tkw_repeat_run_now(NULL), -EINVAL);
	assert_int_equal(tkw_repeat_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_repeat_destroy(NULL), 0);
	assert_int_equal(tkw_repeat_print(NULL, buf, 8), -EINVAL);
	start_repeat(&k, b);
	assert_int_equal(tkw_repeat_print(k.r, NULL, 8), -EINVAL);
	pass_to(b, 40);
	assert_int_equal(tkw_repeat_reset(k.r, 0), -EINVAL);
	assert_int_equal(tkw_repeat_reset(k.r, -1), -EINVAL);
	assert_int_equal(tkw_repeat_reset(k.r, INT64_MIN), -EINVAL);
	pass_to(b, 110);
	assert_rounds(&k, 50, 100);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_int_equal(tkw_repeat_reset(k.r, 0), -EINVAL);
	close_repeat(&k);
}
BED_TEST(test_repeat_refuses_bad_arguments)

/* A size of zero means the fields of version 0.2. All fields may be zero except
 * timer, interval and function. */
static void test_repeat_takes_a_size_of_zero(struct timer_bed *b)
{
	struct tkw_repeat_config cfg = { .fn = note_round };
	static struct book k;

	open_book(&k, b);
	cfg.timer = b->t;
	cfg.interval_ns = MS(10);
	cfg.ctx = &k;
	make_repeat(&k, &cfg);
	/* The repeat does not keep the config. */
	memset(&cfg, 0xff, sizeof(cfg));
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_described(&k, "repeat, every 10 ms, running");
	pass_to(b, 20);
	assert_rounds(&k, 10, 20);
	/* There is no on_broken to call. */
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_described(&k, "repeat, every 10 ms, paused");
	assert_int_equal(tkw_repeat_destroy(k.r), 0);
}
BED_TEST(test_repeat_takes_a_size_of_zero)

/* --- in words ----------------------------------------------------------- */

static void describe_inside(struct book *k, struct tkw_repeat *r)
{
	char buf[128];

	must(tkw_repeat_print(r, buf, sizeof(buf)) > 0);
	must(strcmp(buf, "heartbeat, every 50 ms, running, invoking") == 0);
	must(tkw_repeat_pause(r) == 0);
	must(tkw_repeat_print(r, buf, sizeof(buf)) > 0);
	must(strcmp(buf, "heartbeat, every 50 ms, paused, invoking") == 0);
	if (k->rounds == 1) {
		must(tkw_repeat_start(r) == 0);
		return;
	}
	must(tkw_repeat_shutdown(r) == 0);
	must(tkw_repeat_print(r, buf, sizeof(buf)) > 0);
	must(strcmp(buf, "heartbeat, every 50 ms, paused, ended, "
			 "invoking") == 0);
}

/* SPEC 7.6: name, interval and flags, in each state. */
static void test_repeat_describes_itself(struct timer_bed *b)
{
	static struct book k;

	open_repeat(&k, b);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_described(&k, "heartbeat, every 50 ms, running");
	k.in_round = describe_inside;
	pass_to(b, 120);
	assert_int_equal(k.rounds, 2);
	assert_described(&k, "heartbeat, every 50 ms, paused, ended");
	close_repeat(&k);
}
BED_TEST(test_repeat_describes_itself)

/* SPEC 7.6: the interval is in the unit that fits. */
static void test_repeat_describes_its_interval(struct timer_bed *b)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 1, "heartbeat, every 1 ns, paused" },
		{ 1001, "heartbeat, every 1001 ns, paused" },
		{ 1000, "heartbeat, every 1 us, paused" },
		{ 1500000, "heartbeat, every 1500 us, paused" },
		{ MS(1500), "heartbeat, every 1500 ms, paused" },
		{ 3600 * TKW_SEC, "heartbeat, every 3600 s, paused" },
		{ INT64_MAX,
		  "heartbeat, every 9223372036854775807 ns, paused" },
	};
	static struct book k;
	size_t i;

	open_repeat(&k, b);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(tkw_repeat_reset(k.r, cases[i].ns), 0);
		assert_described(&k, cases[i].text);
	}
	close_repeat(&k);
}
BED_TEST(test_repeat_describes_its_interval)

/* SPEC 7.6: the text is cut as by snprintf(). A long name is cut to 31
 * bytes. */
static void test_repeat_describes_what_fits(struct timer_bed *b)
{
	static const char text[] = "heartbeat, every 50 ms, paused";
	struct tkw_repeat_config cfg;
	static struct book k;
	char buf[sizeof(text) + 1];
	size_t size;

	open_repeat(&k, b);
	assert_int_equal(tkw_repeat_print(k.r, NULL, 0), sizeof(text) - 1);
	for (size = 0; size <= sizeof(text); size++) {
		memset(buf, '#', sizeof(buf));
		assert_int_equal(tkw_repeat_print(k.r, buf, size),
				 sizeof(text) - 1);
		if (size > 0) {
			assert_int_equal(strlen(buf), size - 1);
			assert_memory_equal(buf, text, size - 1);
		}
		assert_int_equal(buf[size], '#');
	}
	close_repeat(&k);
	open_book(&k, b);
	cfg = config_of(&k);
	cfg.name = "0123456789012345678901234567890123456789";
	make_repeat(&k, &cfg);
	assert_described(&k, "0123456789012345678901234567890, every 50 ms, "
			     "paused");
	close_repeat(&k);
}
BED_TEST(test_repeat_describes_what_fits)

/* --- no memory ---------------------------------------------------------- */

/* Errors: create without memory returns -ENOMEM, and leaves no trace. */
static void test_repeat_without_memory(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	struct tkw_repeat *r = NULL;
	static struct book k;
	int err;

	open_book(&k, b);
	cfg = config_of(&k);
	atomic_store(&refuse_memory, true);
	err = tkw_repeat_create(&r, &cfg);
	atomic_store(&refuse_memory, false);
	assert_int_equal(err, -ENOMEM);
	assert_null(r);
	assert_int_equal(k.ends, 0);
	make_repeat(&k, &cfg);
	close_repeat(&k);
}
BED_TEST(test_repeat_without_memory)

/* SPEC 7.3, Errors: the timer has no memory for the first round. The call
 * fails, and the repeat is paused as before. A later call may succeed. */
static void test_repeat_start_without_memory(struct timer_bed *b)
{
	struct bed_memory m = { .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	static struct book k;

	bed_set_clock(b, ZERO_NS);
	bed_reopen(b, &cfg);
	open_repeat(&k, b);
	bed_memory_refuse(&m, true);
	assert_int_equal(tkw_repeat_start(k.r), -ENOMEM);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_int_equal(tkw_repeat_restart(k.r), -ENOMEM);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_int_equal(tkw_repeat_start_now(k.r), -ENOMEM);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_int_equal(tkw_repeat_reset(k.r, MS(40)), 0);
	bed_memory_refuse(&m, false);
	assert_int_equal(k.broken, 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 1);
	/* From now on it needs no memory. */
	bed_memory_refuse(&m, true);
	pass_to(b, 120);
	assert_rounds(&k, 40, 80, 120);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	bed_memory_refuse(&m, false);
	close_repeat(&k);
	bed_reopen(b, NULL);
	assert_int_equal(m.live, 0);
}
BED_TEST(test_repeat_start_without_memory)

/* --- forks -------------------------------------------------------------- */

static void assert_child_ends_well(pid_t child)
{
	int status = -1;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* SPEC 6.7 for a repeat: in a child it is inert, and the parent is not
 * affected. */
static void test_repeat_in_a_child_is_inert(struct timer_bed *b)
{
	struct tkw_repeat *other = NULL;
	struct tkw_repeat_config cfg;
	static struct book k;
	pid_t child;
	char buf[8];

	start_repeat(&k, b);
	cfg = config_of(&k);
	pass_to(b, 60);
	child = fork();
	if (child == 0) {
		must(tkw_repeat_start(k.r) == -EPERM);
		must(tkw_repeat_start_now(k.r) == -EPERM);
		must(tkw_repeat_pause(k.r) == -EPERM);
		must(tkw_repeat_restart(k.r) == -EPERM);
		must(tkw_repeat_reset(k.r, 1) == -EPERM);
		must(tkw_repeat_reset(k.r, 0) == -EINVAL);
		must(tkw_repeat_run_now(k.r) == -EPERM);
		must(tkw_repeat_shutdown(k.r) == -EPERM);
		must(tkw_repeat_print(k.r, buf, 8) == -EPERM);
		must(tkw_repeat_create(&other, &cfg) == -EPERM);
		must(other == NULL);
		must(tkw_repeat_destroy(k.r) == 0);
		must(k.ends == 0 && k.rounds == 1);
		_exit(0);
	}
	assert_child_ends_well(child);
	pass_to(b, 100);
	assert_rounds(&k, 50, 100);
	close_repeat(&k);
}
BED_TEST(test_repeat_in_a_child_is_inert)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_repeat_makes_twenty_rounds_in_a_second),
		BED_TESTS(test_repeat_is_paused_at_first),
		BED_TESTS(test_repeat_starts_once),
		BED_TESTS(test_repeat_pauses_and_starts_again),
		BED_TESTS(test_repeat_runs_now),
		BED_TESTS(test_repeat_starts_now),
		BED_TEST_UNDER(test_repeat_starts_on_the_next_turn, manual),
		BED_TESTS(test_repeat_starts_now_and_is_called_again),
		BED_TESTS(test_repeat_restarts),
		BED_TESTS(test_repeat_is_reset_every_80_ms),
		BED_TESTS(test_repeat_is_reset_when_paused),
		BED_TESTS(test_repeat_is_shut_down_once),
		BED_TESTS(test_repeat_is_destroyed_at_once),
		BED_TESTS(test_repeats_are_apart),
		BED_TESTS(test_repeat_refuses_a_bad_config),
		BED_TESTS(test_repeat_takes_a_newer_config),
		BED_TESTS(test_repeat_refuses_bad_arguments),
		BED_TESTS(test_repeat_takes_a_size_of_zero),
		BED_TESTS(test_repeat_describes_itself),
		BED_TESTS(test_repeat_describes_its_interval),
		BED_TESTS(test_repeat_describes_what_fits),
		BED_TESTS(test_repeat_without_memory),
		BED_TESTS(test_repeat_start_without_memory),
		BED_TESTS(test_repeat_in_a_child_is_inert),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
