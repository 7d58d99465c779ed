/* SPDX-License-Identifier: MIT */
/*
 * test_timer_create.c - SPEC 2: how a timer is created and started.
 *
 * The linker sends pthread_create() and clock_gettime() of the library and of
 * the tests to the functions below. They count threads, refuse them, and tell
 * which clock of the system was read.
 */
#include "timer_bed.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* For a child, where an assert of cmocka does not work. */
#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond);     \
			_exit(1);                                              \
		}                                                              \
	} while (0)

/* The value of a result before a call that must not write it. */
#define UNTOUCHED ((struct tkw_timer *)&untouched)
static char untouched;

/* --- the system ---------------------------------------------------------- */

static pthread_mutex_t system_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned threads_made;
static unsigned threads_to_refuse;

/* The names that --wrap makes are reserved in C, so they are assembler
 * names. */
#define NAMED(name) __asm__(name)
int real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
	NAMED("__real_pthread_create");
int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
	NAMED("__wrap_pthread_create");
int real_clock_gettime(clockid_t id, struct timespec *ts)
	NAMED("__real_clock_gettime");
int wrap_clock_gettime(clockid_t id, struct timespec *ts)
	NAMED("__wrap_clock_gettime");

int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
{
	bool refuse;

	pthread_mutex_lock(&system_lock);
	refuse = threads_to_refuse > 0;
	if (refuse)
		threads_to_refuse--;
	else
		threads_made++;
	pthread_mutex_unlock(&system_lock);
	return refuse ? EAGAIN : real_pthread_create(thread, attr, run, arg);
}

static unsigned made_so_far(void)
{
	unsigned made;

	pthread_mutex_lock(&system_lock);
	made = threads_made;
	pthread_mutex_unlock(&system_lock);
	return made;
}

/* How far the clock that counts sleep is ahead. On a machine that was never
 * suspended, both clocks would show the same. */
static const time_t asleep_sec = 100000;

int wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = real_clock_gettime(id, ts);

	if (id == CLOCK_BOOTTIME)
		ts->tv_sec += asleep_sec;
	return ret;
}

static int64_t system_now(clockid_t id)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(id, &ts), 0);
	return ts.tv_sec * TKW_SEC + ts.tv_nsec;
}

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* --- hooks for threads --------------------------------------------------- */

struct maker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned calls;
	unsigned refuse; /* how many calls to refuse */
	int error;       /* the error of a refused call */
	bool hold;       /* do not return from the call */
	unsigned made;
	unsigned joined;
	pthread_t thread; /* the last one that was made */
	void *(*run)(void *arg);
	void *arg;
};

/* A thread that blocks no signals, as a thread of the user may. */
static void *maker_run(void *ctx)
{
	struct maker *m = ctx;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	return m->run(m->arg);
}

static int maker_create(void *(*run)(void *arg), void *arg, void **handle,
			void *ctx)
{
	struct maker *m = ctx;
	int ret;

	pthread_mutex_lock(&m->lock);
	m->calls++;
	pthread_cond_broadcast(&m->changed);
	while (m->hold)
		pthread_cond_wait(&m->changed, &m->lock);
	if (m->calls <= m->refuse) {
		ret = m->error;
	} else {
		m->run = run;
		m->arg = arg;
		ret = -pthread_create(&m->thread, NULL, maker_run, m);
		m->made++;
		*handle = m;
	}
	pthread_mutex_unlock(&m->lock);
	return ret;
}

static void maker_join(void *handle, void *ctx)
{
	struct maker *m = ctx;

	if (handle != m)
		abort();
	pthread_join(m->thread, NULL);
	pthread_mutex_lock(&m->lock);
	m->joined++;
	pthread_mutex_unlock(&m->lock);
}

/* Refuses the first n calls with an error. */
static void maker_refuse(struct maker *m, unsigned n, int error)
{
	pthread_mutex_lock(&m->lock);
	m->refuse = n;
	m->error = error;
	pthread_mutex_unlock(&m->lock);
}

static struct tkw_timer_hooks maker_hooks(struct maker *m)
{
	const struct tkw_timer_hooks hooks = { .thread_create = maker_create,
					       .thread_join = maker_join,
					       .ctx = m };

	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	return hooks;
}

/* --- what a task sees of its thread -------------------------------------- */

struct seen {
	sem_t done;
	unsigned runs;
	pthread_t thread;
	char name[16];
	sigset_t blocked;
	int64_t now_ns; /* on the clock of the system */
};

static void look(const struct tkw_firing *firing, void *ctx)
{
	struct seen *s = ctx;
	struct timespec ts;

	(void)firing;
	s->runs++;
	s->thread = pthread_self();
	pthread_getname_np(s->thread, s->name, sizeof(s->name));
	pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	s->now_ns = ts.tv_sec * TKW_SEC + ts.tv_nsec;
	sem_post(&s->done);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		assert_int_equal(errno, EINTR);
}

/* Runs a task that looks around, on any timer. */
static void look_from_task(struct tkw_timer *t, struct seen *s)
{
	const struct tkw_task task = { .fn = look, .ctx = s };

	memset(s, 0, sizeof(*s));
	assert_int_equal(sem_init(&s->done, 0, 0), 0);
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	wait_for(&s->done);
	sem_destroy(&s->done);
}

static void nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/* --- 2.1 defaults and presets -------------------------------------------- */

static void assert_fires_at(struct timer_bed *b, int64_t deadline_ns,
			    int64_t fires_ns)
{
	const struct tkw_task task = bed_task(b, 1);

	assert_int_equal(tkw_timer_schedule_at(b->t, &task, deadline_ns, NULL),
			 0);
	bed_assert_fires_at(b, 1, fires_ns);
	assert_true(b->fired[b->fired_count - 1].deadline_ns == deadline_ns);
}

/* SPEC 2.1 */
static void test_timer_default_tick_is_a_millisecond(struct timer_bed *b)
{
	const int64_t base = BED_START_NS - 300;

	assert_fires_at(b, base + 5 * TKW_MSEC, base + 5 * TKW_MSEC);
	assert_fires_at(b, base + 6 * TKW_MSEC + 1, base + 7 * TKW_MSEC);
	assert_fires_at(b, base + 8 * TKW_MSEC - 1, base + 8 * TKW_MSEC);
}
BED_TEST(test_timer_default_tick_is_a_millisecond)

/* SPEC 2.1: there is no limit. */
static void test_timer_default_has_no_limit_of_pending(struct timer_bed *b)
{
	const struct tkw_task task = { .fn = nothing };
	unsigned i;

	for (i = 0; i < 200000; i++)
		assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_SEC, NULL),
				 0);
	bed_assert_ledger(b, 200000);
}
BED_TEST(test_timer_default_has_no_limit_of_pending)

/* SPEC 2.1: without a config, and with a zeroed one, it has its own thread, and
 * tasks run on that. */
static void test_timer_default_runs_tasks_on_one_own_thread(void **state)
{
	const struct tkw_timer_config zero = { .size = 0 };
	const struct tkw_timer_config *const configs[] = { NULL, &zero };
	struct tkw_timer *t;
	struct seen first;
	struct seen second;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(configs); i++) {
		assert_int_equal(tkw_timer_create(&t, configs[i]), 0);
		look_from_task(t, &first);
		look_from_task(t, &second);
		assert_false(pthread_equal(first.thread, pthread_self()));
		assert_true(pthread_equal(first.thread, second.thread));
		assert_int_equal(tkw_timer_turn(t, 0, NULL), -EINVAL);
		assert_int_equal(tkw_timer_destroy(t), 0);
	}
}

/* SPEC 2.1, 4.1, 9.2 */
static void test_timer_default_clock_is_monotonic(void **state)
{
	struct seen s = { .runs = 0 };
	const struct tkw_task task = { .fn = look, .ctx = &s };
	struct tkw_timer *t;
	int64_t before;
	int64_t now_ns;

	(void)state;
	assert_int_equal(sem_init(&s.done, 0, 0), 0);
	assert_int_equal(tkw_timer_create(&t, NULL), 0);
	before = system_now(CLOCK_MONOTONIC);
	now_ns = tkw_timer_now_ns(t);
	assert_true(before <= now_ns && now_ns <= system_now(CLOCK_MONOTONIC));
	before = system_now(CLOCK_MONOTONIC);
	assert_int_equal(tkw_timer_schedule(t, &task, 3 * TKW_MSEC, NULL), 0);
	wait_for(&s.done);
	assert_true(s.now_ns >= before + 3 * TKW_MSEC);
	assert_int_equal(tkw_timer_destroy(t), 0);
	sem_destroy(&s.done);
}

/* SPEC 9.2 */
static void test_timer_clock_can_count_the_time_asleep(void **state)
{
	const struct tkw_timer_config cfg = { .clock = TKW_CLOCK_BOOTTIME };
	struct tkw_timer *t;
	int64_t before;
	int64_t now_ns;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	before = system_now(CLOCK_BOOTTIME);
	now_ns = tkw_timer_now_ns(t);
	assert_true(before <= now_ns && now_ns <= system_now(CLOCK_BOOTTIME));
	assert_int_equal(tkw_timer_destroy(t), 0);
}

struct preset {
	int preset;
	int64_t tick_ns;
	int64_t slots;
	int64_t warn_timers;
};

static const struct preset presets[] = {
	{ TKW_PRESET_NETTY, 100 * TKW_MSEC, 512, 0 },
	{ TKW_PRESET_JRAFT, TKW_MSEC, 2048, 256 },
	{ TKW_PRESET_DUBBO_FUTURE, 30 * TKW_MSEC, 512, 0 },
	{ TKW_PRESET_DUBBO_HEARTBEAT, TKW_SEC, 128, 0 },
};

/* SPEC 2.1 */
static void test_timer_preset_sets_the_whole_config(void **state)
{
	struct tkw_timer_config cfg;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(presets); i++) {
		memset(&cfg, 0xff, sizeof(cfg));
		assert_int_equal(tkw_timer_preset(&cfg, presets[i].preset), 0);
		assert_true(cfg.size == 0 || cfg.size == sizeof(cfg));
		assert_int_equal(cfg.engine, TKW_WHEEL_HASHED);
		assert_true(cfg.tick_ns == presets[i].tick_ns);
		assert_true(cfg.slots == presets[i].slots);
		assert_true(cfg.warn_timers == presets[i].warn_timers);
		assert_int_equal(cfg.drive, TKW_DRIVE_THREAD);
		assert_int_equal(cfg.clock, TKW_CLOCK_MONOTONIC);
		assert_int_equal(cfg.shards, 0);
		assert_true(cfg.max_pending == 0);
		assert_null(cfg.thread_name);
		assert_null(cfg.hooks);
	}
}

/* SPEC 2.1 */
static void test_timer_preset_makes_a_timer_with_its_tick(struct timer_bed *b)
{
	struct tkw_timer_config cfg;
	int64_t tick_ns;
	int64_t base;
	size_t i;

	for (i = 0; i < COUNT_OF(presets); i++) {
		assert_int_equal(tkw_timer_preset(&cfg, presets[i].preset), 0);
		bed_reopen(b, &cfg);
		tick_ns = presets[i].tick_ns;
		base = (b->now_ns / tick_ns + 3) * tick_ns;
		assert_fires_at(b, base, base);
		assert_fires_at(b, base + 1, base + tick_ns);
		/* and one that waits for its round */
		base += (presets[i].slots + 7) * tick_ns;
		assert_fires_at(b, base - 1, base);
	}
}
BED_TEST(test_timer_preset_makes_a_timer_with_its_tick)

/* SPEC 2.1 */
static void test_timer_preset_unknown_is_refused(void **state)
{
	static const int unknown[] = { INT_MIN, -1, 0, 5, INT_MAX };
	struct tkw_timer_config cfg;
	struct tkw_timer_config was;
	size_t i;

	(void)state;
	memset(&cfg, 0x5a, sizeof(cfg));
	memcpy(&was, &cfg, sizeof(cfg));
	for (i = 0; i < COUNT_OF(unknown); i++) {
		assert_int_equal(tkw_timer_preset(&cfg, unknown[i]), -EINVAL);
		assert_memory_equal(&cfg, &was, sizeof(cfg));
	}
	assert_int_equal(tkw_timer_preset(NULL, TKW_PRESET_NETTY), -EINVAL);
}

/* --- 2.2 refusals -------------------------------------------------------- */

/* Checks that create fails with `error`, and does not write, keep, open or
 * start anything. */
static void assert_create_refused(const struct tkw_timer_config *cfg, int error)
{
	const unsigned files = open_files();
	const unsigned threads = made_so_far();
	struct tkw_timer *t = UNTOUCHED;

	assert_int_equal(tkw_timer_create(&t, cfg), error);
	assert_ptr_equal(t, UNTOUCHED);
	assert_int_equal(open_files(), files);
	assert_int_equal(made_so_far(), threads);
}

static void assert_refused(struct tkw_timer_config cfg)
{
	struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);

	if (!cfg.hooks)
		cfg.hooks = &hooks;
	cfg.drive = cfg.drive ? cfg.drive : TKW_DRIVE_MANUAL;
	assert_create_refused(&cfg, -EINVAL);
	if (cfg.drive == TKW_DRIVE_MANUAL)
		cfg.drive = TKW_DRIVE_THREAD;
	assert_create_refused(&cfg, -EINVAL);
	assert_true(m.live == 0);
}

static void assert_accepted(struct tkw_timer_config cfg)
{
	struct tkw_timer *t = UNTOUCHED;

	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_ptr_not_equal(t, UNTOUCHED);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

static struct tkw_timer_config hashed(int64_t slots, int64_t tick_ns)
{
	const struct tkw_timer_config cfg = { .engine = TKW_WHEEL_HASHED,
					      .slots = slots,
					      .tick_ns = tick_ns,
					      .shards = 1 };

	return cfg;
}

/* SPEC 2.2 */
static void test_timer_create_refuses_negative_numbers(void **state)
{
	struct tkw_timer_config cfg = { .tick_ns = -1 };

	(void)state;
	assert_refused(cfg);
	cfg.tick_ns = INT64_MIN;
	assert_refused(cfg);
	assert_refused(hashed(512, -1));
	assert_refused(hashed(-1, 0));
	assert_refused(hashed(INT64_MIN, 0));
	cfg = (struct tkw_timer_config){ .slots = -1 };
	assert_refused(cfg);
	cfg = (struct tkw_timer_config){ .shards = -1 };
	assert_refused(cfg);
	cfg.shards = INT_MIN;
	assert_refused(cfg);
}

/* SPEC 2.2 */
static void test_timer_create_refuses_slots_that_cannot_be(void **state)
{
	struct tkw_timer_config cfg = { .slots = 1 };

	(void)state;
	assert_refused(hashed((INT64_C(1) << 30) + 1, 0));
	assert_refused(hashed(INT64_C(1) << 31, 0));
	assert_refused(hashed(INT64_C(1) << 32, 0));
	assert_refused(hashed(INT64_MAX, 1));
	/* The hierarchical engine has fixed rings. */
	assert_refused(cfg);
	cfg.slots = 512;
	assert_refused(cfg);
}

/* SPEC 2.2: the limit holds for the slots after rounding up. */
static void test_timer_create_refuses_a_tick_beyond_its_ring(void **state)
{
	static const int64_t rings[][2] = {
		{ 1, 1 },   { 2, 2 },       { 3, 4 },       { 4, 4 },
		{ 5, 8 },   { 511, 512 },   { 512, 512 },   { 513, 1024 },
		{ 0, 512 }, { 1024, 1024 }, { 1025, 2048 }, { 65535, 65536 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rings); i++) {
		assert_refused(hashed(rings[i][0], INT64_MAX / rings[i][1]));
		assert_refused(
			hashed(rings[i][0], INT64_MAX / rings[i][1] + (i > 0)));
		assert_accepted(
			hashed(rings[i][0], INT64_MAX / rings[i][1] - 1));
	}
	assert_refused(hashed(512, INT64_MAX));
	assert_refused(hashed(INT64_C(1) << 30, INT64_C(1) << 33));
}

/* SPEC 2.2 */
static void test_timer_create_refuses_what_it_does_not_know(void **state)
{
	static const int unknown[] = { INT_MIN, -1, 2, INT_MAX };
	const struct tkw_timer_config zero = { .size = 0 };
	struct tkw_timer_config cfg;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(unknown); i++) {
		cfg = zero;
		cfg.engine = unknown[i];
		assert_refused(cfg);
		cfg = zero;
		cfg.drive = unknown[i] == 2 ? TKW_DRIVE_LOOP + 1 : unknown[i];
		assert_refused(cfg);
		cfg = zero;
		cfg.clock = unknown[i];
		assert_refused(cfg);
	}
	assert_int_equal(tkw_timer_create(NULL, &zero), -EINVAL);
	assert_int_equal(tkw_timer_create(NULL, NULL), -EINVAL);
}

/* A config of a later version. */
struct newer_config {
	struct tkw_timer_config known;
	unsigned char beyond[100];
};

static void assert_newer(const struct newer_config *cfg, int expected)
{
	struct tkw_timer *t = UNTOUCHED;

	assert_int_equal(tkw_timer_create(&t, &cfg->known), expected);
	if (expected == 0)
		assert_int_equal(tkw_timer_destroy(t), 0);
	else
		assert_ptr_equal(t, UNTOUCHED);
}

/* SPEC 2.2: a size of 0, that of 0.2, or a larger one if the rest is zero. */
static void test_timer_create_reads_configs_of_any_version(void **state)
{
	const struct tkw_timer_config zero = { .size = 0 };
	struct tkw_timer_config cfg = zero;
	struct newer_config newer;
	size_t i;

	(void)state;
	for (cfg.size = 1; cfg.size < sizeof(cfg); cfg.size++)
		assert_refused(cfg);
	cfg.size = sizeof(cfg);
	assert_accepted(cfg);
	for (i = 0; i <= sizeof(newer.beyond); i++) {
		memset(&newer, 0, sizeof(newer));
		newer.known.size = sizeof(cfg) + i;
		assert_newer(&newer, 0);
		/* Bytes after the end that the caller gives may have any value.
		 * Those before the end may not. */
		memset(newer.beyond + i, 0xff, sizeof(newer.beyond) - i);
		assert_newer(&newer, 0);
		if (i > 0) {
			newer.beyond[i - 1] = 1;
			assert_newer(&newer, -EINVAL);
			newer.beyond[i - 1] = 0;
			newer.beyond[0] = 0x80;
			assert_newer(&newer, -EINVAL);
		}
	}
	newer.known.size = 0;
	assert_newer(&newer, 0);
	cfg.size = SIZE_MAX;
	assert_refused(cfg);
	cfg.size = sizeof(cfg) + (1 << 20);
	assert_refused(cfg);
}

/* SPEC 2.2 */
static void test_timer_create_refuses_half_a_pair_of_hooks(void **state)
{
	struct bed_memory m;
	struct maker k;
	struct tkw_timer_hooks hooks;
	const struct tkw_timer_config cfg = { .hooks = &hooks };

	(void)state;
	hooks = bed_memory_hooks(&m);
	hooks.alloc = NULL;
	assert_refused(cfg);
	hooks = bed_memory_hooks(&m);
	hooks.free = NULL;
	assert_refused(cfg);
	hooks = maker_hooks(&k);
	hooks.thread_create = NULL;
	assert_refused(cfg);
	hooks = maker_hooks(&k);
	hooks.thread_join = NULL;
	assert_refused(cfg);
	hooks = maker_hooks(&k);
	assert_accepted(cfg);
}

/* How many bytes a timer with this many slots, and its first timeout, ask
 * for. */
static size_t bytes_of(int64_t slots, int expected)
{
	const struct tkw_task task = { .fn = look };
	struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	struct tkw_timer_config cfg = hashed(slots, 0);
	struct tkw_timer *t = UNTOUCHED;
	int err;

	cfg.hooks = &hooks;
	cfg.drive = TKW_DRIVE_MANUAL;
	m.max_bytes = 64 << 20;
	err = tkw_timer_create(&t, &cfg);
	if (err == 0) {
		/* The first timeout makes the wheel. */
		err = tkw_timer_schedule(t, &task, TKW_SEC, NULL);
		assert_int_equal(tkw_timer_destroy(t), 0);
	} else {
		assert_ptr_equal(t, UNTOUCHED);
	}
	assert_int_equal(err, expected);
	assert_true(m.live == 0);
	return m.asked;
}

/* SPEC 1.3, 2.2: up to the largest legal number, for which there may be no
 * memory. */
static void test_timer_create_rounds_slots_to_a_power_of_two(void **state)
{
	(void)state;
	assert_true(bytes_of(3, 0) == bytes_of(4, 0));
	assert_true(bytes_of(4, 0) < bytes_of(5, 0));
	assert_true(bytes_of(5, 0) == bytes_of(8, 0));
	assert_true(bytes_of(512, 0) < bytes_of(513, 0));
	assert_true(bytes_of(513, 0) == bytes_of(1024, 0));
	assert_true(bytes_of(0, 0) == bytes_of(512, 0));
	assert_true(bytes_of((1 << 29) + 1, -ENOMEM) ==
		    bytes_of(1 << 30, -ENOMEM));
	assert_true(bytes_of((1 << 30) - 1, -ENOMEM) ==
		    bytes_of(1 << 30, -ENOMEM));
}

static size_t count_failing_creates(struct tkw_timer_config cfg)
{
	struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	struct tkw_timer *t = UNTOUCHED;
	size_t n;

	cfg.hooks = &hooks;
	for (n = 1;; n++) {
		bed_memory_refuse_at(&m, n);
		if (tkw_timer_create(&t, &cfg) == 0)
			break;
		assert_ptr_equal(t, UNTOUCHED);
		assert_true(m.live == 0);
		bed_memory_refuse_at(&m, n);
		assert_create_refused(&cfg, -ENOMEM);
		assert_true(m.live == 0);
	}
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_true(m.live == 0);
	return n - 1;
}

/* SPEC 2.2, fault 1 */
static void test_timer_create_without_memory_leaves_nothing(void **state)
{
	struct tkw_timer_config cfg = { .shards = 4 };

	(void)state;
	assert_true(count_failing_creates(cfg) > 0);
	cfg.engine = TKW_WHEEL_HASHED;
	assert_true(count_failing_creates(cfg) > 0);
	cfg.drive = TKW_DRIVE_MANUAL;
	assert_true(count_failing_creates(cfg) > 0);
}

/* --- children ------------------------------------------------------------ */

/* Runs it in another process, which ends with a CHECK or returns. */
static void assert_child_succeeds(void (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		run();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
}

static void run_out_of_files(void)
{
	struct rlimit limit;
	struct tkw_timer *t = UNTOUCHED;
	int next = dup(0);

	CHECK(next >= 0 && close(next) == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = (rlim_t)next;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(tkw_timer_create(&t, NULL) == -EMFILE);
	CHECK(t == UNTOUCHED);
	limit.rlim_cur = (rlim_t)next + 1;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(tkw_timer_create(&t, NULL) == 0);
	CHECK(tkw_timer_destroy(t) == 0);
	CHECK(tkw_timer_create(&t, NULL) == 0);
	CHECK(tkw_timer_destroy(t) == 0);
}

/* SPEC 2.2, fault 4 */
static void test_timer_create_without_a_file_leaves_nothing(void **state)
{
	(void)state;
	assert_child_succeeds(run_out_of_files);
}

/* --- 2.3 fine ticks ------------------------------------------------------ */

static void assert_fine_ticks(struct timer_bed *b, int engine, int64_t tick_ns)
{
	const struct tkw_timer_config cfg = { .engine = engine,
					      .tick_ns = tick_ns };
	int64_t base;

	bed_reopen(b, &cfg);
	base = (b->now_ns / tick_ns + 1) * tick_ns;
	assert_fires_at(b, base + 10 * tick_ns, base + 10 * tick_ns);
	base += 11 * tick_ns;
	assert_fires_at(b, base + 1, base + (tick_ns > 1 ? tick_ns : 1));
	base += 3 * tick_ns;
	assert_fires_at(b, base + 9999 * tick_ns, base + 9999 * tick_ns);
}

/* SPEC 2.3 */
static void test_timer_tick_of_a_microsecond_works(struct timer_bed *b)
{
	assert_fine_ticks(b, TKW_WHEEL_HIERARCHICAL, TKW_USEC);
	assert_fine_ticks(b, TKW_WHEEL_HASHED, TKW_USEC);
	assert_fine_ticks(b, TKW_WHEEL_HIERARCHICAL, 20 * TKW_USEC);
	assert_fine_ticks(b, TKW_WHEEL_HIERARCHICAL, 999 * TKW_USEC);
	assert_fine_ticks(b, TKW_WHEEL_HIERARCHICAL, 1);
}
BED_TEST(test_timer_tick_of_a_microsecond_works)

/* SPEC 2.3: ten microseconds stay ten microseconds, and not a millisecond. */
static void test_timer_fires_a_microsecond_apart_in_order(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	const int64_t base = BED_START_NS - 300;
	int64_t i;

	bed_set_clock(b, base);
	bed_reopen(b, &cfg);
	for (i = 20; i > 0; i--)
		bed_schedule(b, (uint64_t)i, i * TKW_USEC);
	for (i = 1; i <= 20; i++) {
		bed_pass(b, TKW_USEC - 1);
		bed_assert_nothing_fired(b);
		bed_pass(b, 1);
		bed_assert_fired(b, (uint64_t)i);
		assert_true(b->fired[i - 1].late_ns == 0);
	}
}
BED_TEST(test_timer_fires_a_microsecond_apart_in_order)

/* --- 2.4 the worker ------------------------------------------------------ */

/* SPEC 2.4 */
static void test_timer_create_starts_no_thread(void **state)
{
	const unsigned threads = made_so_far();
	struct tkw_timer_config cfg = { .shards = 4 };
	struct tkw_timer *t;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	tkw_timer_now_ns(t);
	tkw_timer_count(t);
	assert_int_equal(tkw_timer_cancel(t, BED_ID(1)), -ENOENT);
	assert_null(tkw_timer_check(t));
	assert_int_equal(made_so_far(), threads);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(made_so_far(), threads);
}

/* SPEC 2.4 */
static void test_timer_first_schedule_starts_the_worker(struct timer_bed *b)
{
	const unsigned one = b->drive == TKW_DRIVE_THREAD;
	const unsigned threads = made_so_far();
	const struct tkw_task task = bed_task(b, 1);

	bed_schedule(b, 1, TKW_SEC);
	assert_int_equal(made_so_far(), threads + one);
	bed_schedule(b, 2, TKW_SEC);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_int_equal(made_so_far(), threads + one);
	/* so does a deadline */
	bed_reopen(b, NULL);
	assert_int_equal(
		tkw_timer_schedule_at(b->t, &task, 2 * BED_START_NS, NULL), 0);
	assert_int_equal(made_so_far(), threads + 2 * one);
}
BED_TEST(test_timer_first_schedule_starts_the_worker)

/* SPEC 2.4 */
static void test_timer_start_starts_the_worker_once(struct timer_bed *b)
{
	const unsigned one = b->drive == TKW_DRIVE_THREAD;
	const unsigned threads = made_so_far();
	int i;

	for (i = 0; i < 5; i++) {
		assert_int_equal(tkw_timer_start(b->t), 0);
		assert_int_equal(made_so_far(), threads + one);
	}
	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_int_equal(made_so_far(), threads + one);
	assert_int_equal(tkw_timer_start(NULL), -EINVAL);
}
BED_TEST(test_timer_start_starts_the_worker_once)

struct race {
	struct timer_bed bed;
	struct maker maker;
	pthread_barrier_t begin;
	pthread_mutex_t lock;
	unsigned refused; /* how often it got -ENOMEM */
	unsigned wrong;   /* other errors, and 0 without a worker */
};

/* Starts or schedules until it is accepted. There must be a worker then. */
static void *start_until_started(void *arg)
{
	struct race *r = arg;
	const struct tkw_task task = bed_task(&r->bed, 7);
	unsigned refused = 0;
	bool by_schedule;
	int ret;

	ret = pthread_barrier_wait(&r->begin);
	by_schedule = ret == PTHREAD_BARRIER_SERIAL_THREAD;
	for (;;) {
		ret = by_schedule ? tkw_timer_schedule(r->bed.t, &task, 0, NULL)
				  : tkw_timer_start(r->bed.t);
		if (ret != -ENOMEM)
			break;
		refused++;
	}
	pthread_mutex_lock(&r->lock);
	r->refused += refused;
	r->wrong += ret != 0;
	pthread_mutex_lock(&r->maker.lock);
	r->wrong += r->maker.made != 1;
	pthread_mutex_unlock(&r->maker.lock);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

enum {
	RACERS = 8
};

static void race_to_start(unsigned refuse)
{
	struct race r;
	const struct tkw_timer_hooks hooks = maker_hooks(&r.maker);
	const struct tkw_timer_config cfg = { .hooks = &hooks, .shards = 4 };
	pthread_t threads[RACERS];
	unsigned i;

	maker_refuse(&r.maker, refuse, -EAGAIN);
	r.refused = 0;
	r.wrong = 0;
	bed_open(&r.bed, TKW_DRIVE_THREAD, &cfg);
	pthread_mutex_init(&r.lock, NULL);
	pthread_barrier_init(&r.begin, NULL, RACERS);
	for (i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						start_until_started, &r),
				 0);
	for (i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(r.wrong, 0);
	assert_int_equal(r.maker.calls, refuse + 1);
	assert_int_equal(r.maker.made, 1);
	assert_true(refuse == 0 ? r.refused == 0 : r.refused >= refuse);
	bed_pass(&r.bed, 0);
	bed_assert_fired(&r.bed, 7);
	bed_close(&r.bed);
	assert_int_equal(r.maker.joined, 1);
	pthread_barrier_destroy(&r.begin);
}

/* SPEC 2.4 */
static void test_timer_started_by_many_threads_has_one_worker(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 50; i++)
		race_to_start(0);
}

/* SPEC 2.4, fault 3 */
static void test_timer_refused_threads_delay_the_one_worker(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 50; i++)
		race_to_start(5);
}

static void *start_behind(void *arg)
{
	struct race *r = arg;

	pthread_barrier_wait(&r->begin);
	start_until_started(r);
	return NULL;
}

/* SPEC 2.4: a second start returns only when there is a worker. */
static void test_timer_start_waits_for_a_start_in_progress(void **state)
{
	struct race r;
	const struct tkw_timer_hooks hooks = maker_hooks(&r.maker);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	pthread_t threads[2];
	int i;

	(void)state;
	r.maker.hold = true;
	r.refused = 0;
	r.wrong = 0;
	bed_open(&r.bed, TKW_DRIVE_THREAD, &cfg);
	pthread_mutex_init(&r.lock, NULL);
	pthread_barrier_init(&r.begin, NULL, 1);
	pthread_create(&threads[0], NULL, start_until_started, &r);
	pthread_mutex_lock(&r.maker.lock);
	while (r.maker.calls == 0)
		pthread_cond_wait(&r.maker.changed, &r.maker.lock);
	pthread_mutex_unlock(&r.maker.lock);
	pthread_create(&threads[1], NULL, start_behind, &r);
	/* Gives it time to return too early. The test also passes without
	 * that. */
	for (i = 0; i < 1000; i++)
		sched_yield();
	pthread_mutex_lock(&r.maker.lock);
	r.maker.hold = false;
	pthread_cond_broadcast(&r.maker.changed);
	pthread_mutex_unlock(&r.maker.lock);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(r.wrong, 0);
	assert_int_equal(r.maker.calls, 1);
	bed_close(&r.bed);
	pthread_barrier_destroy(&r.begin);
}

/* Checks that both ways to start return -ENOMEM, and nothing has changed. */
static void assert_start_refused(struct timer_bed *b)
{
	const struct tkw_ledger none = { .accepted = 0 };
	const struct tkw_task task = bed_task(b, 9);
	struct tkw_ledger l;
	struct tkw_timeout_id id = { 42 };

	assert_int_equal(tkw_timer_start(b->t), -ENOMEM);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), -ENOMEM);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, &id), -ENOMEM);
	assert_true(id.bits == 42);
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	assert_memory_equal(&l, &none, sizeof(l));
	assert_true(bed_cancelled_times(b, 9) == 0);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	bed_assert_ledger(b, 0);
}

/* Checks that it starts when it can get a thread, and that the refused calls
 * did not use up the limit. */
static void assert_starts_now(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 2);

	assert_int_equal(tkw_timer_start(b->t), 0);
	bed_schedule(b, 1, TKW_MSEC);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), -EAGAIN);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	bed_assert_ledger(b, 0);
}

/* SPEC 2.4, 3.7, fault 3 */
static void test_timer_without_a_thread_can_be_started_later(void **state)
{
	static const int errors[] = { -EAGAIN, -ENOMEM, -EPERM };
	struct maker k;
	struct tkw_timer_hooks hooks;
	const struct tkw_timer_config cfg = { .hooks = &hooks,
					      .max_pending = 1 };
	struct timer_bed b;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(errors); i++) {
		hooks = maker_hooks(&k);
		maker_refuse(&k, 6, errors[i]);
		bed_open(&b, TKW_DRIVE_THREAD, &cfg);
		assert_start_refused(&b);
		assert_start_refused(&b);
		assert_int_equal(k.calls, 6);
		assert_starts_now(&b);
		assert_int_equal(k.calls, 7);
		bed_close(&b);
		assert_int_equal(k.joined, 1);
	}
}

/* SPEC 2.4, fault 3: the same with threads of the system. */
static void test_timer_without_a_system_thread_starts_later(void **state)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	const unsigned threads = made_so_far();
	struct timer_bed b;

	(void)state;
	bed_open(&b, TKW_DRIVE_THREAD, &cfg);
	threads_to_refuse = 3;
	assert_start_refused(&b);
	assert_int_equal(threads_to_refuse, 0);
	assert_int_equal(made_so_far(), threads);
	assert_starts_now(&b);
	assert_int_equal(made_so_far(), threads + 1);
	bed_close(&b);
}

/* SPEC 2.4, 6.3: there is no thread to join. */
static void test_timer_that_never_got_a_thread_can_be_stopped(void **state)
{
	struct maker k;
	const struct tkw_timer_hooks hooks = maker_hooks(&k);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct timer_bed b;

	(void)state;
	maker_refuse(&k, 2, -EAGAIN);
	bed_open(&b, TKW_DRIVE_THREAD, &cfg);
	assert_int_equal(tkw_timer_start(b.t), -ENOMEM);
	assert_int_equal(tkw_timer_stop(b.t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_start(b.t), -ESHUTDOWN);
	bed_close(&b);
	bed_open(&b, TKW_DRIVE_THREAD, &cfg);
	assert_int_equal(tkw_timer_start(b.t), -ENOMEM);
	bed_close(&b);
	assert_int_equal(k.calls, 2);
	assert_int_equal(k.joined, 0);
}

static void assert_worker_named(const char *wanted, const char *expected)
{
	char name[64];
	const struct tkw_timer_config cfg = { .thread_name =
						      wanted ? name : NULL };
	struct tkw_timer *t;
	struct seen s;

	snprintf(name, sizeof(name), "%s", wanted ? wanted : "");
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	memset(name, 'x', sizeof(name)); /* it is copied */
	look_from_task(t, &s);
	assert_string_equal(s.name, expected);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* SPEC 2.4 */
static void test_timer_worker_has_a_name(void **state)
{
	char before[16];
	char after[16];

	(void)state;
	pthread_getname_np(pthread_self(), before, sizeof(before));
	assert_worker_named(NULL, "tickwheel");
	assert_worker_named("leases", "leases");
	assert_worker_named("fifteen-of-them", "fifteen-of-them");
	assert_worker_named("sixteen-are-more", "sixteen-are-mor");
	assert_worker_named("a name that is longer than the system takes, far",
			    "a name that is ");
	pthread_getname_np(pthread_self(), after, sizeof(after));
	assert_string_equal(before, after);
}

static void assert_all_blocked(const sigset_t *blocked)
{
	int s;

	for (s = 1; s <= SIGRTMAX; s++) {
		/* Two signals cannot be blocked, and some from 32 on belong to
		 * libc. */
		if (s == SIGKILL || s == SIGSTOP || (s >= 32 && s < SIGRTMIN))
			continue;
		if (!sigismember(blocked, s))
			fail_msg("signal %d is not blocked", s);
	}
}

/* SPEC 2.4 */
static void test_timer_worker_blocks_all_signals(void **state)
{
	struct maker k;
	const struct tkw_timer_hooks hooks = maker_hooks(&k);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct tkw_timer *t;
	struct seen s;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, NULL), 0);
	look_from_task(t, &s);
	assert_all_blocked(&s.blocked);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	look_from_task(t, &s);
	assert_all_blocked(&s.blocked);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

static void assert_same_signals(const sigset_t *a, const sigset_t *b)
{
	int s;

	for (s = 1; s <= SIGRTMAX; s++)
		assert_int_equal(sigismember(a, s), sigismember(b, s));
}

/* SPEC 2.4: start does not change the signal mask of its caller. */
static void test_timer_start_leaves_the_callers_signals(struct timer_bed *b)
{
	sigset_t one;
	sigset_t before;
	sigset_t after;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	if (b->drive == TKW_DRIVE_THREAD) {
		threads_to_refuse = 1;
		assert_int_equal(tkw_timer_start(b->t), -ENOMEM);
	}
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_same_signals(&before, &after);
	assert_int_equal(tkw_timer_start(b->t), 0);
	bed_schedule(b, 1, 0);
	bed_pass(b, 0);
	pthread_sigmask(SIG_UNBLOCK, &one, &after);
	assert_same_signals(&before, &after);
	assert_false(sigismember(&after, SIGUSR1));
}
BED_TEST(test_timer_start_leaves_the_callers_signals)

/* SPEC 2.4 */
static void test_timer_worker_can_be_made_by_a_hook(void **state)
{
	struct maker k;
	const struct tkw_timer_hooks hooks = maker_hooks(&k);
	const struct tkw_timer_config cfg = { .hooks = &hooks,
					      .thread_name = "by-hook" };
	struct tkw_timer *t;
	struct seen s;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(k.calls, 0);
	look_from_task(t, &s);
	assert_int_equal(k.calls, 1);
	assert_true(pthread_equal(s.thread, k.thread));
	assert_string_equal(s.name, "by-hook");
	assert_int_equal(k.joined, 0);
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
	assert_int_equal(k.joined, 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(k.joined, 1);
	assert_int_equal(k.calls, 1);
}

/* --- 2.5 states ---------------------------------------------------------- */

static void assert_stopped(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 3);
	const unsigned threads = made_so_far();
	struct tkw_timeout_id id = { 42 };

	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
	assert_int_equal(tkw_timer_start(b->t), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, &id),
			 -ESHUTDOWN);
	assert_true(id.bits == 42);
	assert_true(bed_cancelled_times(b, 3) == 0);
	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
	assert_int_equal(made_so_far(), threads);
	bed_assert_ledger(b, 0);
}

/* SPEC 2.5, fault 28 */
static void test_timer_goes_from_init_to_started_to_stopped(struct timer_bed *b)
{
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	bed_schedule(b, 1, TKW_MSEC);
	bed_schedule(b, 2, TKW_SEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_stopped(b);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_nothing_fired(b);
}
BED_TEST(test_timer_goes_from_init_to_started_to_stopped)

/* SPEC 2.5, 6.3 */
static void test_timer_goes_from_init_to_stopped(struct timer_bed *b)
{
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_stopped(b);
	assert_int_equal(tkw_timer_is_stopped(NULL), 0);
}
BED_TEST(test_timer_goes_from_init_to_stopped)

/* --- 2.6 too many timers ------------------------------------------------- */

/* Used in a child: the number of lines logged, and the live timers. */
static unsigned lines;
static struct tkw_timer *living[300];

static void count_line(const char *line, void *ctx)
{
	(void)ctx;
	CHECK(line && line[0] && !strchr(line, '\n'));
	pthread_mutex_lock(&system_lock);
	lines++;
	pthread_mutex_unlock(&system_lock);
}

static const struct tkw_timer_hooks line_hooks = { .log = count_line };

static struct tkw_timer *make_one(int64_t warn_timers, int drive)
{
	const struct tkw_timer_config cfg = { .warn_timers = warn_timers,
					      .drive = drive,
					      .shards = 1,
					      .hooks = &line_hooks };
	struct tkw_timer *t = NULL;

	CHECK(tkw_timer_create(&t, &cfg) == 0);
	return t;
}

/* Checks that the warning comes with timer number limit + 1, and only then. */
static void check_warned_beyond(int64_t warn_timers, unsigned limit)
{
	unsigned i;

	for (i = 0; i < limit; i++)
		living[i] = make_one(warn_timers, TKW_DRIVE_MANUAL);
	CHECK(lines == 0);
	living[i++] = make_one(warn_timers, TKW_DRIVE_MANUAL);
	CHECK(lines == 1);
	living[i++] = make_one(warn_timers, TKW_DRIVE_MANUAL);
	while (i > 0)
		CHECK(tkw_timer_destroy(living[--i]) == 0);
	for (; i < limit + 3; i++)
		living[i] = make_one(warn_timers, TKW_DRIVE_MANUAL);
	CHECK(lines == 1);
	while (i > 0)
		CHECK(tkw_timer_destroy(living[--i]) == 0);
}

static void exceed_the_default(void)
{
	check_warned_beyond(0, 64);
}

static void exceed_three(void)
{
	check_warned_beyond(3, 3);
}

static void exceed_a_preset(void)
{
	struct tkw_timer_config cfg;
	unsigned i;

	CHECK(tkw_timer_preset(&cfg, TKW_PRESET_JRAFT) == 0);
	cfg.hooks = &line_hooks;
	cfg.drive = TKW_DRIVE_MANUAL;
	for (i = 0; i < 256; i++)
		CHECK(tkw_timer_create(&living[i], &cfg) == 0);
	CHECK(lines == 0);
	CHECK(tkw_timer_create(&living[i], &cfg) == 0);
	CHECK(lines == 1);
}

static void exceed_no_limit(void)
{
	unsigned i;

	for (i = 0; i < 300; i++)
		living[i] = make_one(i % 2 ? -1 : INT64_MIN, TKW_DRIVE_MANUAL);
	CHECK(lines == 0);
	/* They count for a timer that has a limit. */
	make_one(300, TKW_DRIVE_MANUAL);
	CHECK(lines == 1);
}

static void exceed_without_a_log(void)
{
	const struct tkw_timer_config cfg = { .warn_timers = 1, .shards = 1 };
	unsigned i;

	for (i = 0; i < 5; i++)
		CHECK(tkw_timer_create(&living[i], &cfg) == 0);
	for (i = 0; i < 5; i++)
		CHECK(tkw_timer_destroy(living[i]) == 0);
}

/* SPEC 2.6: no timer is refused. */
static void test_timers_beyond_the_limit_are_warned_of_once(void **state)
{
	(void)state;
	assert_child_succeeds(exceed_the_default);
	assert_child_succeeds(exceed_three);
	assert_child_succeeds(exceed_a_preset);
	assert_child_succeeds(exceed_no_limit);
	assert_child_succeeds(exceed_without_a_log);
}

static void *make_many(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < 20; i++)
		make_one(10, TKW_DRIVE_MANUAL);
	return NULL;
}

static void exceed_by_many_threads(void)
{
	pthread_t threads[4];
	unsigned i;

	for (i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, make_many, NULL) == 0);
	for (i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(lines == 1);
}

/* SPEC 2.6 */
static void test_timers_made_by_many_threads_are_warned_of_once(void **state)
{
	(void)state;
	assert_child_succeeds(exceed_by_many_threads);
}

/* After all that, no timer is counted as live. */
static void check_none_is_counted(void)
{
	CHECK(lines == 0);
	check_warned_beyond(3, 3);
}

static void end_unstarted_ones(void)
{
	unsigned i;

	for (i = 0; i < 20; i++) {
		CHECK(tkw_timer_destroy(make_one(3, i % 2)) == 0);
		CHECK(tkw_timer_destroy(make_one(3, TKW_DRIVE_MANUAL)) == 0);
	}
	check_none_is_counted();
}

static void end_stopped_ones(void)
{
	struct tkw_timer *t;
	unsigned i;

	for (i = 0; i < 20; i++) {
		t = make_one(3, i % 2);
		CHECK(tkw_timer_stop(t, NULL, NULL) == 0);
		CHECK(tkw_timer_stop(t, NULL, NULL) == 1);
		CHECK(tkw_timer_destroy(t) == 0);
	}
	check_none_is_counted();
}

static void end_started_ones(void)
{
	struct tkw_timer *t;
	unsigned i;

	for (i = 0; i < 20; i++) {
		t = make_one(3, TKW_DRIVE_THREAD);
		CHECK(tkw_timer_start(t) == 0);
		if (i % 2)
			CHECK(tkw_timer_stop(t, NULL, NULL) == 0);
		CHECK(tkw_timer_destroy(t) == 0);
	}
	check_none_is_counted();
}

static void fail_to_make_some(void)
{
	const struct tkw_timer_config bad = { .tick_ns = -1 };
	struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct tkw_timer *t = NULL;
	unsigned i;

	for (i = 0; i < 20; i++) {
		CHECK(tkw_timer_create(&t, &bad) == -EINVAL);
		bed_memory_refuse_at(&m, 1 + i % 2);
		CHECK(tkw_timer_create(&t, &cfg) == -ENOMEM);
	}
	check_none_is_counted();
}

/* SPEC 2.6 */
static void test_timers_that_have_ended_count_no_more(void **state)
{
	(void)state;
	assert_child_succeeds(end_unstarted_ones);
	assert_child_succeeds(end_stopped_ones);
	assert_child_succeeds(end_started_ones);
	assert_child_succeeds(fail_to_make_some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_default_tick_is_a_millisecond),
		BED_TESTS(test_timer_default_has_no_limit_of_pending),
		cmocka_unit_test(
			test_timer_default_runs_tasks_on_one_own_thread),
		cmocka_unit_test(test_timer_default_clock_is_monotonic),
		cmocka_unit_test(test_timer_clock_can_count_the_time_asleep),
		cmocka_unit_test(test_timer_preset_sets_the_whole_config),
		BED_TESTS(test_timer_preset_makes_a_timer_with_its_tick),
		cmocka_unit_test(test_timer_preset_unknown_is_refused),
		cmocka_unit_test(test_timer_create_refuses_negative_numbers),
		cmocka_unit_test(
			test_timer_create_refuses_slots_that_cannot_be),
		cmocka_unit_test(
			test_timer_create_refuses_a_tick_beyond_its_ring),
		cmocka_unit_test(
			test_timer_create_refuses_what_it_does_not_know),
		cmocka_unit_test(
			test_timer_create_reads_configs_of_any_version),
		cmocka_unit_test(
			test_timer_create_refuses_half_a_pair_of_hooks),
		cmocka_unit_test(
			test_timer_create_rounds_slots_to_a_power_of_two),
		cmocka_unit_test(
			test_timer_create_without_memory_leaves_nothing),
		cmocka_unit_test(
			test_timer_create_without_a_file_leaves_nothing),
		BED_TESTS(test_timer_tick_of_a_microsecond_works),
		BED_TESTS(test_timer_fires_a_microsecond_apart_in_order),
		cmocka_unit_test(test_timer_create_starts_no_thread),
		BED_TESTS(test_timer_first_schedule_starts_the_worker),
		BED_TESTS(test_timer_start_starts_the_worker_once),
		cmocka_unit_test(
			test_timer_started_by_many_threads_has_one_worker),
		cmocka_unit_test(
			test_timer_refused_threads_delay_the_one_worker),
		cmocka_unit_test(
			test_timer_start_waits_for_a_start_in_progress),
		cmocka_unit_test(
			test_timer_without_a_thread_can_be_started_later),
		cmocka_unit_test(
			test_timer_without_a_system_thread_starts_later),
		cmocka_unit_test(
			test_timer_that_never_got_a_thread_can_be_stopped),
		cmocka_unit_test(test_timer_worker_has_a_name),
		cmocka_unit_test(test_timer_worker_blocks_all_signals),
		BED_TESTS(test_timer_start_leaves_the_callers_signals),
		cmocka_unit_test(test_timer_worker_can_be_made_by_a_hook),
		BED_TESTS(test_timer_goes_from_init_to_started_to_stopped),
		BED_TESTS(test_timer_goes_from_init_to_stopped),
		cmocka_unit_test(
			test_timers_beyond_the_limit_are_warned_of_once),
		cmocka_unit_test(
			test_timers_made_by_many_threads_are_warned_of_once),
		cmocka_unit_test(test_timers_that_have_ended_count_no_more),
	};

	return cmocka_run_group_tests_name("timer_create", tests, NULL, NULL);
}
