/* SPDX-License-Identifier: MIT */
/*
 * test_repeat_threads.c - SPEC 7.4, 7.5: two threads and the rounds make random
 * calls on a repeat. The timer has its own thread and the system's clock, with
 * and without a pool. The invariants are checked when the threads pause.
 *
 * The environment variable TKW_SEED repeats the choices, but not the order of
 * the threads.
 */
#include "repeat_bed.h"

#include <time.h>

#define HOUR_NS (3600 * TKW_SEC)

enum {
	CALLERS = 2,
	REPEATS = 12,
	PAUSES = 6,  /* pauses of each repeat */
	CALLS = 200, /* calls before a pause */
	STOPS = 40
};

struct race {
	struct tkw_timer *t;
	struct tkw_repeat *r;
	pthread_barrier_t pause;
	atomic_uint inside; /* running rounds */
	atomic_uint rounds;
	atomic_uint asked;
	atomic_uint broken;
	atomic_uint ends;
	atomic_bool stopping; /* the timer may be stopped */
	uint32_t seed;
	uint32_t dice; /* used by the rounds */
};

struct caller {
	struct race *race;
	uint32_t dice;
	pthread_t thread;
};

static uint32_t roll(uint32_t *dice, uint32_t sides)
{
	*dice = *dice * 1664525 + 1013904223;
	return (*dice >> 16) % sides;
}

static uint32_t choose_seed(void)
{
	const char *text = getenv("TKW_SEED");
	uint32_t seed =
		text ? (uint32_t)strtoul(text, NULL, 10) : (uint32_t)time(NULL);

	print_message("TKW_SEED=%u\n", seed);
	return seed;
}

/* --- calls -------------------------------------------------------------- */

/* The result is 0, or -ESHUTDOWN if the timer may be stopped. */
static void must_be_well(const struct race *race, int err)
{
	must(err == 0 || (err == -ESHUTDOWN && atomic_load(&race->stopping)));
}

static void call_at_random(struct race *race, struct tkw_repeat *r,
			   uint32_t *dice)
{
	char buf[64];
	int err;

	switch (roll(dice, 7)) {
	case 0:
		must_be_well(race, tkw_repeat_start(r));
		break;
	case 1:
		must_be_well(race, tkw_repeat_pause(r));
		break;
	case 2:
		must_be_well(race, tkw_repeat_restart(r));
		break;
	case 3:
		must_be_well(race, tkw_repeat_reset(r, 1 + roll(dice, 30000)));
		break;
	case 4:
		err = tkw_repeat_run_now(r);
		must(err == 0 || err == -EBUSY || err == -ENOENT);
		break;
	case 5:
		must_be_well(race, tkw_repeat_start_now(r));
		break;
	default:
		must(tkw_repeat_print(r, buf, sizeof(buf)) > 0);
		break;
	}
}

/* No two rounds run at once, and none after on_end. So they can share the
 * dice. */
static void round_of_race(struct tkw_repeat *r, void *ctx)
{
	struct race *race = ctx;

	must(atomic_fetch_add(&race->inside, 1) == 0);
	must(atomic_load(&race->ends) == 0);
	atomic_fetch_add(&race->rounds, 1);
	/* Another thread may have shut it down. Then these calls fail. */
	if (roll(&race->dice, 3) == 0)
		(void)tkw_repeat_pause(r);
	if (roll(&race->dice, 3) == 0)
		(void)tkw_repeat_start(r);
	if (roll(&race->dice, 3) == 0)
		(void)tkw_repeat_restart(r);
	if (roll(&race->dice, 8) == 0)
		(void)tkw_repeat_reset(r, 1 + roll(&race->dice, 30000));
	if (roll(&race->dice, 8) == 0)
		(void)tkw_repeat_start_now(r);
	must(tkw_repeat_run_now(r) < 0);
	if (roll(&race->dice, 4) == 0)
		sched_yield();
	must(atomic_load(&race->ends) == 0);
	must(atomic_fetch_sub(&race->inside, 1) == 1);
}

static int64_t adjust_of_race(struct tkw_repeat *r, int64_t interval_ns,
			      void *ctx)
{
	struct race *race = ctx;

	(void)r;
	must(atomic_load(&race->ends) == 0);
	if (atomic_fetch_add(&race->asked, 1) % 4 == 0)
		sched_yield();
	return interval_ns;
}

static void broken_of_race(struct tkw_repeat *r, int err, void *ctx)
{
	struct race *race = ctx;

	(void)r;
	must(err == -ESHUTDOWN && atomic_load(&race->stopping));
	must(atomic_load(&race->ends) == 0);
	atomic_fetch_add(&race->broken, 1);
}

static void end_of_race(struct tkw_repeat *r, void *ctx)
{
	struct race *race = ctx;

	(void)r;
	must(atomic_load(&race->inside) == 0);
	must(atomic_fetch_add(&race->ends, 1) == 0);
}

static void create_repeat(struct race *race, bool adjust)
{
	const struct tkw_repeat_config cfg = {
		.size = sizeof(cfg),
		.timer = race->t,
		.interval_ns = 20 * TKW_USEC,
		.mode = (int)roll(&race->seed, TKW_REPEAT_RATE_DELAY + 1),
		.fn = round_of_race,
		.ctx = race,
		.adjust = adjust ? adjust_of_race : NULL,
		.on_broken = broken_of_race,
		.on_end = end_of_race,
	};

	atomic_store(&race->ends, 0);
	atomic_store(&race->broken, 0);
	assert_int_equal(tkw_repeat_create(&race->r, &cfg), 0);
}

/* --- two threads -------------------------------------------------------- */

static void shut_down_in_race(struct race *race)
{
	must(tkw_repeat_shutdown(race->r) == 0);
	must(tkw_repeat_start(race->r) == -ESHUTDOWN);
	must(tkw_repeat_start_now(race->r) == -ESHUTDOWN);
	must(tkw_repeat_run_now(race->r) == -ESHUTDOWN);
	must(tkw_repeat_shutdown(race->r) == 0);
}

static void *call_and_pause(void *arg)
{
	struct caller *c = arg;
	struct race *race = c->race;
	int i, j;

	for (i = 0; i < REPEATS * (PAUSES + 1); i++) {
		pthread_barrier_wait(&race->pause);
		if (i % (PAUSES + 1) == PAUSES)
			shut_down_in_race(race);
		for (j = 0; j < CALLS && i % (PAUSES + 1) != PAUSES; j++)
			call_at_random(race, race->r, &c->dice);
		pthread_barrier_wait(&race->pause);
	}
	return NULL;
}

static bool is_started(struct tkw_repeat *r)
{
	char buf[96];

	assert_true(tkw_repeat_print(r, buf, sizeof(buf)) > 0);
	return strstr(buf, "running") != NULL;
}

static bool is_invoking(struct tkw_repeat *r)
{
	char buf[96];

	assert_true(tkw_repeat_print(r, buf, sizeof(buf)) > 0);
	return strstr(buf, "invoking") != NULL;
}

/*
 * SPEC 7.4: only rounds make calls now. After the round that may be running,
 * the next one is an hour away. Then there is one chain if the repeat is
 * started, otherwise none. (If a round has reset the interval, try again.)
 */
static void assert_one_chain_or_none(struct race *race)
{
	uint64_t pending;
	int64_t next_ns = 0;

	for (;;) {
		assert_int_equal(tkw_repeat_reset(race->r, HOUR_NS), 0);
		while (is_invoking(race->r))
			sched_yield();
		if (!is_started(race->r))
			break;
		assert_int_equal(tkw_timer_next_turn(race->t, &next_ns), 0);
		pending = tkw_timer_count(race->t);
		assert_true(pending <= 1);
		if (pending == 1 && is_started(race->r) &&
		    next_ns > tkw_timer_now_ns(race->t) + 60 * TKW_SEC)
			break;
		sched_yield();
	}
	assert_int_equal(tkw_timer_count(race->t), is_started(race->r) ? 1 : 0);
	assert_int_equal(atomic_load(&race->inside), 0);
}

/* Checks that the repeat is alive: a round comes. */
static void assert_goes_on(struct race *race)
{
	unsigned before = atomic_load(&race->rounds);

	assert_int_equal(tkw_repeat_reset(race->r, 20 * TKW_USEC), 0);
	while (atomic_load(&race->rounds) == before) {
		/* An earlier round may pause it. */
		assert_int_equal(tkw_repeat_restart(race->r), 0);
		sched_yield();
	}
}

/* SPEC 7.5: two threads have shut it down. on_end is called once, before
 * destroy returns. */
static void end_repeat(struct race *race)
{
	assert_int_equal(tkw_repeat_destroy(race->r), 0);
	assert_int_equal(atomic_load(&race->ends), 1);
	assert_int_equal(tkw_timer_count(race->t), 0);
	assert_int_equal(atomic_load(&race->broken), 0);
}

static void open_race(struct race *race, const struct tkw_exec *exec)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .tick_ns = 10 * TKW_USEC,
					      .exec = exec };

	memset(race, 0, sizeof(*race));
	race->seed = choose_seed();
	race->dice = race->seed;
	assert_int_equal(tkw_timer_create(&race->t, &cfg), 0);
	assert_int_equal(pthread_barrier_init(&race->pause, NULL, CALLERS + 1),
			 0);
}

static void close_race(struct race *race)
{
	struct tkw_ledger l;

	assert_null(tkw_timer_check(race->t));
	assert_int_equal(tkw_timer_get_ledger(race->t, &l), 0);
	assert_true(l.accepted == l.fired + l.cancelled && l.pending == 0);
	assert_int_equal(tkw_timer_destroy(race->t), 0);
	pthread_barrier_destroy(&race->pause);
}

static void start_callers(struct race *race, struct caller callers[CALLERS],
			  void *(*run)(void *arg))
{
	uint32_t i;

	for (i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .race = race,
					      .dice = race->seed + 1 + i };
		assert_int_equal(pthread_create(&callers[i].thread, NULL, run,
						&callers[i]),
				 0);
	}
}

static void join_callers(struct caller callers[CALLERS])
{
	int i;

	for (i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
}

static void run_race(const struct tkw_exec *exec)
{
	struct caller callers[CALLERS];
	struct race race;
	int i, j;

	open_race(&race, exec);
	start_callers(&race, callers, call_and_pause);
	for (i = 0; i < REPEATS; i++) {
		create_repeat(&race, i % 2 == 0);
		for (j = 0; j < PAUSES; j++) {
			pthread_barrier_wait(&race.pause);
			pthread_barrier_wait(&race.pause);
			assert_one_chain_or_none(&race);
		}
		assert_goes_on(&race);
		pthread_barrier_wait(&race.pause);
		pthread_barrier_wait(&race.pause);
		end_repeat(&race);
	}
	join_callers(callers);
	print_message("%u rounds\n", atomic_load(&race.rounds));
	close_race(&race);
}

/* SPEC 7.4, 7.5: there is one chain, no two rounds at once, and one on_end. */
static void test_repeat_two_threads_call_everything(void **state)
{
	(void)state;
	run_race(NULL);
}

/* SPEC 7.4, 4.8: the same when a pool runs the rounds. */
static void test_repeat_two_threads_and_a_pool(void **state)
{
	const struct tkw_pool_config cfg = { .size = sizeof(cfg),
					     .threads = 3 };
	struct tkw_pool *pool = NULL;

	(void)state;
	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	run_race(tkw_pool_exec(pool));
	assert_int_equal(tkw_pool_destroy(pool), 0);
}

/* --- the timer is stopped ----------------------------------------------- */

static void *call_until_stopped(void *arg)
{
	struct caller *c = arg;
	struct race *race = c->race;
	int i, j;

	for (i = 0; i < STOPS; i++) {
		pthread_barrier_wait(&race->pause);
		for (j = 0; j < CALLS; j++)
			call_at_random(race, race->r, &c->dice);
		pthread_barrier_wait(&race->pause);
	}
	return NULL;
}

/* SPEC 6.4, 7.4 for a repeat: threads call while the timer is stopped. The
 * ledger balances, and the repeat is paused in the end. */
static void test_repeat_two_threads_and_a_stop(void **state)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .tick_ns = 10 * TKW_USEC };
	struct caller callers[CALLERS];
	struct race race;
	struct tkw_ledger l;
	int i;

	(void)state;
	open_race(&race, NULL);
	atomic_store(&race.stopping, true);
	start_callers(&race, callers, call_until_stopped);
	for (i = 0; i < STOPS; i++) {
		assert_int_equal(tkw_timer_destroy(race.t), 0);
		assert_int_equal(tkw_timer_create(&race.t, &cfg), 0);
		create_repeat(&race, i % 2 == 0);
		assert_int_equal(tkw_repeat_start(race.r), 0);
		pthread_barrier_wait(&race.pause);
		if (i % 4 != 0)
			sched_yield();
		assert_int_equal(tkw_timer_stop(race.t, NULL, NULL), 0);
		pthread_barrier_wait(&race.pause);
		assert_false(is_started(race.r));
		assert_int_equal(tkw_timer_get_ledger(race.t, &l), 0);
		assert_true(l.accepted ==
			    l.fired + l.cancelled + l.handed_over);
		assert_int_equal(tkw_repeat_destroy(race.r), 0);
		assert_int_equal(atomic_load(&race.ends), 1);
	}
	join_callers(callers);
	assert_int_equal(tkw_timer_destroy(race.t), 0);
	pthread_barrier_destroy(&race.pause);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repeat_two_threads_call_everything),
		cmocka_unit_test(test_repeat_two_threads_and_a_pool),
		cmocka_unit_test(test_repeat_two_threads_and_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
