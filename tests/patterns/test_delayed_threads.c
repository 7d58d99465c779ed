/* SPDX-License-Identifier: MIT */
/*
 * test_delayed_threads.c - SPEC 8.5 with several threads: destroy waits for the
 * worker, the set is inert in a forked child; and races, with an exact ledger
 * and a count of each outcome.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "delayed_bed.h"
#include "gate.h"

/* An assert of cmocka does not work in a child, or on a thread that is not the
 * test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

static void spawn(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

/* --- destroy waits -------------------------------------------------------- */

/* An on_end that waits at a gate. */
struct gated {
	struct tkw_delayed *d;
	struct gate gate;
	struct waiting w;
	atomic_int over;
	int destroy;
};

static void end_at_gate(struct waiting *w)
{
	struct gated *g = w->ctx;

	g->destroy = tkw_delayed_destroy(g->d);
	gate_pass(&g->gate);
	atomic_store(&g->over, 1);
}

/* Opens the gate when a thread sleeps. */
struct opener {
	struct gated *g;
	pid_t tid;
	atomic_bool returned;
	pthread_t thread;
};

static void *open_when_asleep(void *arg)
{
	struct opener *o = arg;

	while (!atomic_load(&o->returned) && !bed_is_asleep(o->tid))
		sched_yield();
	gate_open(&o->g->gate);
	return NULL;
}

/* A shutdown does not wait for the worker, which is in on_end. Destroy does. */
static void test_delayed_destroy_waits_for_the_worker(struct timer_bed *b)
{
	struct gated g = { .d = open_set(b),
			   .w = { .in_end = end_at_gate, .ctx = &g } };
	struct opener o = { .g = &g, .tid = gettid() };
	struct waiting other = { .ctx = NULL };
	int over;

	gate_init(&g.gate);
	add(g.d, &g.w, 7, TKW_MSEC);
	add(g.d, &other, 7, HOUR_NS);
	bed_set_clock(b, b->now_ns + 5 * TKW_MSEC);
	bed_wake(b);
	gate_await(&g.gate, 1);
	assert_int_equal(tkw_delayed_shutdown(g.d), 0);
	assert_int_equal(atomic_load(&g.over), 0);
	assert_ended(&other, -ESHUTDOWN);
	assert_ledger(g.d, 0, 0);
	spawn(&o.thread, open_when_asleep, &o);
	assert_int_equal(tkw_delayed_destroy(g.d), 0);
	over = atomic_load(&g.over);
	atomic_store(&o.returned, true);
	pthread_join(o.thread, NULL);
	assert_int_equal(over, 1);
	assert_int_equal(g.destroy, -EDEADLK);
	assert_ended(&g.w, -ETIMEDOUT);
}
BED_TEST(test_delayed_destroy_waits_for_the_worker)

/* --- fork ----------------------------------------------------------------- */

static bool ends_well(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void expect_inert(struct timer_bed *b, struct tkw_delayed *d,
			 struct waiting *w)
{
	const struct tkw_delayed_config cfg = { .timer = b->t };
	const uint64_t key = 7;
	const struct tkw_delayed_op op = op_of(w, &key, 1, 0);
	struct tkw_delayed *other = NULL;
	struct tkw_delayed_ledger l;
	unsigned asks = atomic_load(&w->asks);

	must(tkw_delayed_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_delayed_add(d, &op, NULL) == -EPERM);
	must(tkw_delayed_event(d, 7) == -EPERM);
	must(tkw_delayed_cancel(d, w->id) == -EPERM);
	must(tkw_delayed_count(d) == 0);
	must(tkw_delayed_get_ledger(d, &l) == -EPERM);
	must(tkw_delayed_shutdown(d) == -EPERM);
	must(atomic_load(&w->asks) == asks);
}

/* In a child the set is inert. The parent is not affected. */
static void test_delayed_in_a_forked_child(struct timer_bed *b)
{
	static const uint64_t keys[] = { 7, 8, 9 };
	struct tkw_delayed *d = open_set(b);
	struct waiting w = { .ctx = NULL };
	pid_t child;

	add_under(d, &w, keys, 3, HOUR_NS);
	child = fork();
	must(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		expect_inert(b, d, &w);
		must(tkw_delayed_destroy(d) == 0);
		must(tkw_timer_destroy(b->t) == 0);
		must(atomic_load(&w.ends) == 0);
		_exit(0);
	}
	assert_true(ends_well(child));
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, 9), 1);
	assert_ended(&w, 0);
	close_set(d);
}
BED_TEST(test_delayed_in_a_forked_child)

/* --- races ---------------------------------------------------------------- */

/*
 * A stock for each key. An operation wants one thing of the stock of each of
 * its keys, and takes them in holds(), so what it has taken shows whether an
 * operation completed twice, or ended otherwise after it had taken.
 */
enum {
	ADDERS = 2,
	BRINGERS = 2,
	EACH = 3000, /* operations of each adder */
	KEYS = 7
};

struct order {
	_Atomic uint64_t id;
	uint64_t keys[2];
	unsigned key_count;
	atomic_uint took;
	atomic_uint inside; /* threads in holds() */
	atomic_uint ends;
	atomic_int status;
};

static struct race {
	struct tkw_delayed *d;
	struct order orders[ADDERS][EACH];
	atomic_uint added[ADDERS];
	atomic_int stock[KEYS];
	atomic_uint running;   /* adders */
	atomic_uint completed; /* as the calls say */
	atomic_uint cancelled;
	atomic_uint asked_to_end; /* cancels that returned 1 */
	atomic_uint refused;
} race;

static bool take_from(atomic_int *stock)
{
	int left = atomic_load(stock);

	while (left > 0) {
		if (atomic_compare_exchange_weak(stock, &left, left - 1))
			return true;
	}
	return false;
}

static int take_all(void *ctx)
{
	struct order *o = ctx;
	unsigned taken = 0;
	bool all;

	must(atomic_fetch_add(&o->inside, 1) == 0);
	must(atomic_load(&o->ends) == 0);
	while (taken < o->key_count && take_from(&race.stock[o->keys[taken]]))
		taken++;
	all = taken == o->key_count;
	while (!all && taken > 0)
		atomic_fetch_add(&race.stock[o->keys[--taken]], 1);
	if (all)
		must(atomic_fetch_add(&o->took, 1) == 0);
	atomic_fetch_sub(&o->inside, 1);
	return all;
}

static void note_order(const struct tkw_delayed_end *end, void *ctx)
{
	struct order *o = ctx;

	must(atomic_load(&o->inside) == 0);
	must(atomic_fetch_add(&o->ends, 1) == 0);
	must((end->status == 0) == (atomic_load(&o->took) == 1));
	atomic_store(&o->status, end->status);
}

/* Some expire at once, some soon, some never. */
static void *add_many(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < EACH; i++) {
		struct order *o = &race.orders[number][i];
		struct tkw_delayed_op op = { .holds = take_all,
					     .on_end = note_order,
					     .ctx = o,
					     .keys = o->keys,
					     .key_count = 1 + i % 4 / 3 };
		struct tkw_delayed_id id = { 0 };
		int ret;

		op.timeout_ns = i % 5 == 0   ? 0
				: i % 5 == 1 ? (int64_t)(i % 9) * 100 * TKW_USEC
					     : HOUR_NS;
		o->keys[0] = i % KEYS;
		o->keys[1] = (i + 3) % KEYS;
		o->key_count = (unsigned)op.key_count;
		ret = tkw_delayed_add(race.d, &op, &id);
		must(ret == 0 || ret == 1 || ret == -ESHUTDOWN);
		if (ret < 0) {
			atomic_fetch_add(&race.refused, EACH - i);
			break;
		}
		atomic_fetch_add(&race.completed, ret == 1);
		atomic_store(&o->id, id.bits);
		atomic_store(&race.added[number], i + 1);
	}
	atomic_fetch_sub(&race.running, 1);
	return NULL;
}

static void cancel_one(struct order *o)
{
	const struct tkw_delayed_id id = { atomic_load(&o->id) };
	int ret = tkw_delayed_cancel(race.d, id);

	must(ret == 0 || ret == 1 || ret == -ENOENT);
	if (ret == 0)
		atomic_fetch_add(&race.cancelled, 1);
	else if (ret == 1)
		atomic_fetch_add(&race.asked_to_end, 1);
}

/* Brings things and tells of them. Cancels now and then. */
static void *bring_many(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;
	unsigned i = 0;

	while (atomic_load(&race.running) > 0) {
		unsigned adder = i % ADDERS;
		unsigned added = atomic_load(&race.added[adder]);
		uint64_t key = (i++ + number) % KEYS;
		int ret;

		atomic_fetch_add(&race.stock[key], 1);
		ret = tkw_delayed_event(race.d, key);
		must(ret >= 0);
		if (i % 13 == 0 && added > 0)
			cancel_one(&race.orders[adder][added - 1]);
		if (i % 4 == 0)
			sched_yield();
	}
	return NULL;
}

static void run_race(bool stop_early)
{
	const struct tkw_timer_config timer = { .tick_ns = 100 * TKW_USEC };
	struct tkw_delayed_config cfg = { .size = sizeof(cfg) };
	pthread_t threads[ADDERS + BRINGERS];
	struct tkw_delayed_ledger l;

	memset(&race, 0, sizeof(race));
	assert_int_equal(tkw_timer_create(&cfg.timer, &timer), 0);
	assert_int_equal(tkw_delayed_create(&race.d, &cfg), 0);
	atomic_store(&race.running, ADDERS);
	for (uintptr_t i = 0; i < ADDERS + BRINGERS; i++)
		spawn(&threads[i], i < ADDERS ? add_many : bring_many,
		      (void *)(i < ADDERS ? i : i - ADDERS));
	if (stop_early) {
		while (atomic_load(&race.added[0]) < EACH / 4)
			sched_yield();
		assert_int_equal(tkw_delayed_shutdown(race.d), 0);
	}
	for (unsigned i = 0; i < ADDERS + BRINGERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(tkw_delayed_shutdown(race.d), 0);
	/* The timer may be about to end some. */
	while (tkw_delayed_count(race.d) > 0)
		sched_yield();
	l = assert_ledger(race.d, 0, 0);
	assert_int_equal(l.added + atomic_load(&race.refused), ADDERS * EACH);
	assert_int_equal(tkw_delayed_destroy(race.d), 0);
	assert_int_equal(tkw_timer_count(cfg.timer), 0);
	assert_int_equal(tkw_timer_destroy(cfg.timer), 0);
}

/* Checks that each operation ended once, and in each way as often as the calls
 * have returned. */
static void judge_race(void)
{
	unsigned cancelled = 0;

	for (unsigned k = 0; k < ADDERS; k++) {
		unsigned added = atomic_load(&race.added[k]);

		for (unsigned i = 0; i < EACH; i++) {
			struct order *o = &race.orders[k][i];

			assert_int_equal(atomic_load(&o->ends), i < added);
			cancelled += i < added &&
				     atomic_load(&o->status) == -ECANCELED;
		}
	}
	assert_true(cancelled >= atomic_load(&race.cancelled));
	assert_true(cancelled <= atomic_load(&race.cancelled) +
					 atomic_load(&race.asked_to_end));
}

/* SPEC 8.5: each operation ends exactly once, whichever thread is first. */
static void test_8_5_delayed_race_of_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		run_race(false);
		judge_race();
		assert_int_equal(atomic_load(&race.refused), 0);
	}
}

/* SPEC 8.5: the same while the set is shut down. */
static void test_8_5_delayed_race_of_shutdown(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		run_race(true);
		judge_race();
	}
}

/* Two threads play ping-pong with a counter. Each waits until it is its turn,
 * for ever. If an event were lost, nobody would go on. */
static struct {
	struct tkw_delayed *d;
	atomic_uint counter;
} game;

struct player {
	unsigned number;
	unsigned wanted;
	atomic_uint ends;
};

static int is_my_turn(void *ctx)
{
	const struct player *p = ctx;

	return atomic_load(&game.counter) == p->wanted;
}

static void play_on(const struct tkw_delayed_end *end, void *ctx)
{
	struct player *p = ctx;

	must(end->status == 0);
	atomic_fetch_add(&p->ends, 1);
}

static void *play(void *arg)
{
	enum {
		ROUNDS = 5000
	};
	struct player *p = arg;
	/* Both watch both keys, in different orders. */
	const uint64_t keys[2] = { p->number, 1 - p->number };

	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct tkw_delayed_op op = { .holds = is_my_turn,
						   .on_end = play_on,
						   .ctx = p,
						   .keys = keys,
						   .key_count = 1 + i % 2,
						   .timeout_ns = INT64_MAX };

		p->wanted = 2 * i + p->number;
		must(tkw_delayed_add(game.d, &op, NULL) >= 0);
		while (atomic_load(&p->ends) == i)
			sched_yield();
		atomic_fetch_add(&game.counter, 1);
		must(tkw_delayed_event(game.d, 1 - p->number) >= 0);
	}
	return NULL;
}

/* SPEC 8.5: no event is lost. */
static void test_8_5_delayed_race_of_events(struct timer_bed *b)
{
	struct player players[2] = { { .number = 0 }, { .number = 1 } };
	pthread_t threads[2];

	game.d = open_set(b);
	atomic_store(&game.counter, 0);
	for (int i = 0; i < 2; i++)
		spawn(&threads[i], play, &players[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_ledger(game.d, 0, 0);
	close_set(game.d);
}
BED_TEST(test_8_5_delayed_race_of_events)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST_UNDER(test_delayed_destroy_waits_for_the_worker,
			       thread),
		BED_TESTS(test_delayed_in_a_forked_child),
		cmocka_unit_test(test_8_5_delayed_race_of_ends),
		cmocka_unit_test(test_8_5_delayed_race_of_shutdown),
		BED_TESTS(test_8_5_delayed_race_of_events),
	};

	return cmocka_run_group_tests_name("delayed_threads", tests, NULL,
					   NULL);
}
