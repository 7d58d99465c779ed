/* SPDX-License-Identifier: MIT */
/*
 * test_timer_group_threads.c - SPEC 8.6 with several threads: destroy waits, a
 * long walk lets others in, the group is inert in a forked child; and races,
 * with a count of each outcome.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "group_bed.h"

struct gated {
	struct gate gate;
	atomic_int over;
};

static void run_at_gate(const struct tkw_firing *firing, void *ctx)
{
	struct gated *g = ctx;

	(void)firing;
	gate_pass(&g->gate);
	atomic_store(&g->over, 1);
}

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

/* SPEC 8.6: destroy waits for a running task. */
static void test_8_6_group_destroy_waits(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	struct gated at = { .over = 0 };
	struct opener o = { .g = &at, .tid = gettid() };
	const struct tkw_task task = { .fn = run_at_gate, .ctx = &at };
	int over;

	gate_init(&at.gate);
	assert_int_equal(tkw_group_schedule(g, &task, TKW_MSEC, NULL), 0);
	bed_set_clock(b, b->now_ns + 5 * TKW_MSEC);
	bed_wake(b);
	gate_await(&at.gate, 1);
	assert_int_equal(tkw_group_cancel(g), 0);
	assert_int_equal(tkw_group_shutdown(g), 0);
	assert_int_equal(atomic_load(&at.over), 0);
	must(pthread_create(&o.thread, NULL, open_when_asleep, &o) == 0);
	assert_int_equal(tkw_group_destroy(g), 0);
	over = atomic_load(&at.over);
	atomic_store(&o.returned, true);
	pthread_join(o.thread, NULL);
	assert_int_equal(over, 1);
}
BED_TEST(test_8_6_group_destroy_waits)

/* A walk over all timeouts that reads the clock for each one, while it holds
 * the lock of the group. At the first reading, another thread comes to wait for
 * this lock. */
static struct walk {
	struct tkw_group *g;
	pthread_t walker;
	bool walks;
	unsigned readings;
	atomic_int other; /* the thread that is to wait, or 0 */
	atomic_bool begun;
	/* The other thread's timeout. It is written under the lock. */
	struct tkw_timeout_id id;
	bool let_in; /* before the last reading */
} walk;

enum {
	WALKED = 300
};

static int64_t read_in_walk(void *ctx)
{
	(void)ctx;
	if (!walk.walks || !pthread_equal(pthread_self(), walk.walker))
		return BED_START_NS;
	if (++walk.readings == 1) {
		atomic_store(&walk.begun, true);
		while (!bed_is_asleep(atomic_load(&walk.other)))
			sched_yield();
	} else if (walk.readings == WALKED) {
		walk.let_in = walk.id.bits != 0;
	}
	return BED_START_NS;
}

/* Both threads share a CPU, and a thread of SCHED_BATCH does not preempt
 * another one when it wakes up. So the other thread does not get in by luck. */
static void *join_a_walk(void *arg)
{
	const struct tkw_task task = { .fn = noop };
	const struct sched_param none = { .sched_priority = 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &none);
	atomic_store(&walk.other, gettid());
	while (!atomic_load(&walk.begun))
		sched_yield();
	must(tkw_group_schedule(walk.g, &task, HOUR_NS, &walk.id) == 0);
	return arg;
}

/* A call for the whole group lets those in who wait for its lock. */
static void test_group_walk_lets_others_in(void **state)
{
	const struct tkw_timer_hooks hooks = { .now = read_in_walk };
	const struct tkw_timer_config timer = { .drive = TKW_DRIVE_MANUAL,
						.hooks = &hooks };
	const struct tkw_task task = { .fn = noop };
	struct tkw_group_config cfg = { .size = sizeof(cfg) };
	cpu_set_t all;
	cpu_set_t one;
	pthread_t other;

	(void)state;
	must(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	walk = (struct walk){ .walker = pthread_self() };
	assert_int_equal(tkw_timer_create(&cfg.timer, &timer), 0);
	assert_int_equal(tkw_group_create(&walk.g, &cfg), 0);
	for (int i = 0; i < WALKED; i++)
		assert_int_equal(
			tkw_group_schedule(walk.g, &task, HOUR_NS, NULL), 0);
	must(pthread_create(&other, NULL, join_a_walk, NULL) == 0);
	while (atomic_load(&walk.other) == 0)
		sched_yield();
	walk.walks = true;
	assert_int_equal(tkw_group_reschedule(walk.g, 0), WALKED);
	pthread_join(other, NULL);
	(void)sched_setaffinity(0, sizeof(all), &all);
	assert_int_equal(walk.readings, WALKED);
	assert_true(walk.let_in);
	assert_int_equal(tkw_group_destroy(walk.g), 0);
	assert_int_equal(tkw_timer_destroy(cfg.timer), 0);
}

/* In a child the group is inert. The parent is not affected. */
static void test_group_in_a_forked_child(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	const struct tkw_task task = bed_task(b, 9);
	pid_t child;
	int status;

	for (uint64_t tag = 0; tag < 30; tag++)
		join(b, g, tag, HOUR_NS);
	child = fork();
	must(child >= 0);
	if (child == 0) {
		struct tkw_group_config cfg = { .timer = b->t };
		struct tkw_group *other = NULL;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		must(tkw_group_create(&other, &cfg) == -EPERM && !other);
		must(tkw_group_schedule(g, &task, 0, NULL) == -EPERM);
		must(tkw_group_cancel(g) == -EPERM);
		must(tkw_group_reschedule(g, 0) == -EPERM);
		must(tkw_group_extend(g, 0) == -EPERM);
		must(tkw_group_count(g) == 0);
		must(tkw_group_shutdown(g) == -EPERM);
		must(tkw_group_destroy(g) == 0);
		must(tkw_timer_destroy(b->t) == 0);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(tkw_group_cancel(g), 30);
	close_group(g);
}
BED_TEST(test_group_in_a_forked_child)

/* Threads schedule in one group, others cancel and push back the whole of it,
 * and the worker fires. */
enum {
	JOINERS = 2,
	EACH = 6000
};

struct slot {
	atomic_uint fired;
	atomic_uint lost;
	_Atomic uint64_t id;
};

static struct race {
	struct tkw_timer *t;
	struct tkw_group *g;
	struct slot slots[JOINERS][EACH];
	atomic_uint joined[JOINERS];
	atomic_uint running;
	atomic_uint cancelled; /* as the calls say */
} race;

static void note_fire(const struct tkw_firing *firing, void *ctx)
{
	struct slot *s = ctx;

	(void)firing;
	must(atomic_load(&s->lost) == 0);
	must(atomic_fetch_add(&s->fired, 1) == 0);
}

static void note_loss(void *ctx)
{
	struct slot *s = ctx;

	must(atomic_load(&s->fired) == 0);
	must(atomic_fetch_add(&s->lost, 1) == 0);
}

static void *join_many(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < EACH; i++) {
		struct slot *s = &race.slots[number][i];
		const struct tkw_task task = { .fn = note_fire,
					       .ctx = s,
					       .on_cancel = note_loss };
		int64_t delay_ns = i % 3 == 0 ? 0
				   : i % 3 == 1
					   ? (int64_t)(i % 7) * 100 * TKW_USEC
					   : HOUR_NS;
		struct tkw_timeout_id id;
		int err = tkw_group_schedule(race.g, &task, delay_ns, &id);

		must(err == 0 || err == -ESHUTDOWN);
		if (err != 0)
			break;
		atomic_store(&s->id, id.bits);
		atomic_store(&race.joined[number], i + 1);
	}
	atomic_fetch_sub(&race.running, 1);
	return NULL;
}

static void *disturb(void *arg)
{
	for (unsigned i = 0; atomic_load(&race.running) > 0; i++) {
		unsigned joined = atomic_load(&race.joined[0]);
		int ret = 0;

		if (i % 3 == 0) {
			ret = tkw_group_cancel(race.g);
			must(ret >= 0);
		} else if (i % 3 == 1) {
			must(tkw_group_reschedule(race.g, 500 * TKW_USEC) >= 0);
			must(tkw_group_extend(race.g, 100 * TKW_USEC) >= 0);
		} else if (joined > 0) {
			ret = tkw_timer_cancel(
				      race.t,
				      BED_ID(race.slots[0][joined - 1].id)) ==
			      0;
		}
		atomic_fetch_add(&race.cancelled, (unsigned)ret);
		sched_yield();
	}
	return arg;
}

static void run_race(bool stop_early)
{
	const struct tkw_timer_config timer = { .tick_ns = 100 * TKW_USEC };
	struct tkw_group_config cfg = { .size = sizeof(cfg) };
	pthread_t threads[JOINERS + 2];
	struct tkw_ledger l;
	unsigned joined = 0;
	unsigned fired = 0;
	unsigned lost = 0;
	int left;

	memset(&race, 0, sizeof(race));
	assert_int_equal(tkw_timer_create(&race.t, &timer), 0);
	cfg.timer = race.t;
	assert_int_equal(tkw_group_create(&race.g, &cfg), 0);
	atomic_store(&race.running, JOINERS);
	for (uintptr_t i = 0; i < JOINERS + 2; i++)
		must(pthread_create(&threads[i], NULL,
				    i < JOINERS ? join_many : disturb,
				    (void *)i) == 0);
	if (stop_early) {
		while (atomic_load(&race.joined[0]) < EACH / 4)
			sched_yield();
		assert_int_equal(tkw_group_shutdown(race.g), 0);
	}
	for (unsigned i = 0; i < JOINERS + 2; i++)
		pthread_join(threads[i], NULL);
	left = stop_early ? 0 : tkw_group_cancel(race.g);
	assert_true(left >= 0);
	assert_int_equal(tkw_group_destroy(race.g), 0);
	/* After destroy, no task runs, and nothing is left. */
	for (unsigned k = 0; k < JOINERS; k++) {
		unsigned count = atomic_load(&race.joined[k]);

		joined += count;
		for (unsigned i = 0; i < EACH; i++) {
			struct slot *s = &race.slots[k][i];

			assert_int_equal(atomic_load(&s->fired) +
						 atomic_load(&s->lost),
					 i < count);
			fired += atomic_load(&s->fired);
			lost += atomic_load(&s->lost);
		}
	}
	assert_int_equal(tkw_timer_get_ledger(race.t, &l), 0);
	assert_int_equal(l.accepted, joined);
	assert_int_equal(l.fired, fired);
	assert_int_equal(l.cancelled, lost);
	assert_int_equal(l.pending, 0);
	if (!stop_early)
		assert_int_equal(atomic_load(&race.cancelled) + (unsigned)left,
				 lost);
	assert_int_equal(tkw_timer_destroy(race.t), 0);
}

/* SPEC 8.6: a timeout fires or is cancelled, once, and the calls have counted
 * each cancel. */
static void test_8_6_group_race_of_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		run_race(false);
}

/* SPEC 8.6: the same while the group is shut down. */
static void test_8_6_group_race_of_shutdown(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		run_race(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST_UNDER(test_8_6_group_destroy_waits, thread),
		cmocka_unit_test(test_group_walk_lets_others_in),
		BED_TESTS(test_group_in_a_forked_child),
		cmocka_unit_test(test_8_6_group_race_of_ends),
		cmocka_unit_test(test_8_6_group_race_of_shutdown),
	};

	return cmocka_run_group_tests_name("timer_group_threads", tests, NULL,
					   NULL);
}
