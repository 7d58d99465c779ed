/* SPDX-License-Identifier: MIT */
/*
 * fault_fork.c - fault 29: the process forks while its timers live.
 *
 * A child has one thread, and every lock is as it was at the fork. The parent's
 * timers must be inert in the child, and the child must be able to free them,
 * whatever another thread of the parent was doing. Other ways to make a child,
 * and other objects than timers, are in fault_fork_kinds.c.
 */
#include "fault_bed.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static atomic_ulong fired;
static atomic_ulong cancelled;

static void count(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
	atomic_fetch_add(&fired, 1);
}

static void count_cancel(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&cancelled, 1);
}

static const struct tkw_task counted = { .fn = count,
					 .on_cancel = count_cancel };

/* Like fork(), but the child dies with its parent. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* --- a quiet fork ------------------------------------------------------- */

/* SPEC 6.7, fault 29 */
static void fault_29_in_a_child_a_timer_is_inert(void **state)
{
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct fault_memory m;
	struct fault_pump p;
	struct tkw_timeout_id id;
	pid_t child;
	int i;

	fired = 0;
	cancelled = 0;
	fault_memory_hooks(&m, &hooks);
	fault_pump_open(&p, fault_drive(state), &cfg);
	must(tkw_timer_schedule(p.t, &counted, 3600 * TKW_SEC, &id) == 0);
	for (i = 0; i < 100; i++) {
		/* The child must not set the alarm of the parent. */
		must(tkw_timer_schedule(p.t, &counted, 5 * TKW_MSEC, NULL) ==
		     0);
		child = fork_child();
		if (child == 0) {
			fault_expect_inert(p.t, id);
			must(tkw_timer_destroy(p.t) == 0);
			must(m.live == 0 && m.live_bytes == 0);
			must(cancelled == 0);
			_exit(0);
		}
		fault_reap(child);
		fault_await(&fired, (unsigned long)i + 1);
	}
	must(tkw_timer_cancel(p.t, id) == 0);
	assert_int_equal(fault_ledger(p.t).fired, 100);
	fault_pump_close(&p);
	assert_int_equal(m.live, 0);
}

/* SPEC 6.7, fault 29: a timer that was stopped, and one that was never used. */
static void fault_29_whatever_the_state_of_the_timer(void **state)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = fault_drive(state) };
	struct tkw_timer *fresh;
	struct tkw_timer *stopped;
	pid_t child;

	must(tkw_timer_create(&fresh, &cfg) == 0);
	must(tkw_timer_create(&stopped, &cfg) == 0);
	must(tkw_timer_stop(stopped, NULL, NULL) == 0);
	child = fork_child();
	if (child == 0) {
		fault_expect_inert(fresh, BED_ID(1));
		fault_expect_inert(stopped, BED_ID(1));
		must(tkw_timer_destroy(fresh) == 0);
		must(tkw_timer_destroy(stopped) == 0);
		_exit(0);
	}
	fault_reap(child);
	must(tkw_timer_schedule(fresh, &counted, 3600 * TKW_SEC, NULL) == 0);
	must(tkw_timer_destroy(fresh) == 0);
	must(tkw_timer_destroy(stopped) == 0);
}

/* Makes, uses and destroys a timer. */
static void live_a_life(int drive)
{
	struct fault_pump p;
	unsigned long before = fired;
	struct tkw_timeout_id id;

	fault_pump_open(&p, drive, NULL);
	must(tkw_timer_schedule(p.t, &counted, 0, NULL) == 0);
	must(tkw_timer_schedule(p.t, &counted, 3600 * TKW_SEC, &id) == 0);
	fault_await(&fired, before + 1);
	must(tkw_timer_cancel(p.t, id) == 0);
	fault_pump_close(&p);
}

/* There is no pump: under ThreadSanitizer, a child of a process with several
 * threads must not make a thread. */
static void live_a_quiet_life(void)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL };
	struct tkw_timer *t;

	must(tkw_timer_create(&t, &cfg) == 0);
	must(tkw_timer_schedule(t, &counted, 0, NULL) == 0);
	must(tkw_timer_turn(t, 0, NULL) == 1);
	must(tkw_timer_destroy(t) == 0);
}

/* SPEC 6.7, fault 29: the child makes its own timers, and so does its child. */
static void fault_29_a_child_makes_its_own_timers(void **state)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL };
	struct tkw_timer *mine;
	struct tkw_timer *its;
	pid_t child;

	must(tkw_timer_create(&mine, &cfg) == 0);
	child = fork_child();
	if (child == 0) {
		live_a_life(fault_drive(state));
		must(tkw_timer_create(&its, &cfg) == 0);
		child = fork_child();
		if (child == 0) {
			live_a_quiet_life();
			fault_expect_inert(its, BED_ID(1));
			fault_expect_inert(mine, BED_ID(1));
			must(tkw_timer_destroy(its) == 0);
			must(tkw_timer_destroy(mine) == 0);
			_exit(0);
		}
		fault_reap(child);
		must(tkw_timer_turn(its, 0, NULL) == 0);
		must(tkw_timer_destroy(its) == 0);
		_exit(0);
	}
	fault_reap(child);
	must(tkw_timer_turn(mine, 0, NULL) == 0);
	must(tkw_timer_destroy(mine) == 0);
}

/* --- a fork from inside ------------------------------------------------- */

/* The child calls exec, or only exits. */
static void fork_inside(bool exec)
{
	pid_t child = fork_child();

	if (child == 0) {
		if (exec)
			execl("/proc/self/exe", "fault_fork", "--child",
			      (char *)NULL);
		_exit(exec);
	}
	fault_reap(child);
}

static void fork_from_task(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	(void)ctx;
	fork_inside(atomic_load(&fired) % 2 == 0);
	atomic_fetch_add(&fired, 1);
}

static void fork_from_on_cancel(void *ctx)
{
	(void)ctx;
	fork_inside(atomic_load(&cancelled) % 2 == 0);
	atomic_fetch_add(&cancelled, 1);
}

/* SPEC 6.7, fault 29: the fork does not affect the parent. */
static void fault_29_a_callback_forks(void **state)
{
	const struct tkw_task task = { .fn = fork_from_task,
				       .on_cancel = fork_from_on_cancel };
	struct tkw_timeout_id id;
	struct fault_pump p;
	int i;

	fired = 0;
	cancelled = 0;
	fault_pump_open(&p, fault_drive(state), NULL);
	for (i = 0; i < 20; i++)
		must(tkw_timer_schedule(p.t, &task, 0, NULL) == 0);
	for (i = 0; i < 2; i++) {
		must(tkw_timer_schedule(p.t, &task, 3600 * TKW_SEC, &id) == 0);
		must(tkw_timer_cancel(p.t, id) == 0);
	}
	fault_await(&fired, 20);
	assert_int_equal(fault_ledger(p.t).fired, 20);
	assert_int_equal(cancelled, 2);
	fault_pump_close(&p);
}

/* --- a fork while a lock is held ---------------------------------------- */

enum {
	PIECES = 4096,
#ifdef TKW__RING_BITS
	MANY = 600 /* blocks of 64; their list grows */
#else
	MANY = 140000
#endif
};

struct piece {
	void *mem;
	size_t bytes;
};

/*
 * Each call of the alloc and free hooks stops at its begin and at its end.
 * There the timer may hold its locks, and its lists may be half changed. The
 * call goes on when the main thread has forked and its child has ended.
 */
struct ambush {
	pthread_mutex_t lock; /* protects all; held during a fork */
	pthread_cond_t changed;
	struct piece pieces[PIECES];
	size_t live;
	bool on;
	unsigned asked;    /* how many calls have stopped */
	unsigned answered; /* how many of them may go on */
	bool over;
	struct tkw_timer *t;
	int drive;
	struct tkw_timeout_id ids[MANY];
};

static struct ambush ambush;

static void stop_here(void)
{
	unsigned mine;

	if (!ambush.on)
		return;
	mine = ++ambush.asked;
	pthread_cond_broadcast(&ambush.changed);
	while (ambush.answered < mine)
		pthread_cond_wait(&ambush.changed, &ambush.lock);
}

static size_t find_piece(const void *mem)
{
	size_t i = 0;

	while (i < PIECES && ambush.pieces[i].mem != mem)
		i++;
	must(i < PIECES); /* it is not freed twice, nor unknown */
	return i;
}

static void *ambush_alloc(size_t bytes, size_t align, void *ctx)
{
	void *mem = NULL;

	(void)ctx;
	if (align < sizeof(void *))
		align = sizeof(void *);
	pthread_mutex_lock(&ambush.lock);
	stop_here();
	must(posix_memalign(&mem, align, bytes) == 0);
	memset(mem, 0xa5, bytes < 4096 ? bytes : 4096);
	ambush.pieces[find_piece(NULL)] = (struct piece){ mem, bytes };
	ambush.live++;
	stop_here();
	pthread_mutex_unlock(&ambush.lock);
	return mem;
}

static void ambush_free(void *mem, size_t bytes, void *ctx)
{
	size_t i;

	(void)ctx;
	pthread_mutex_lock(&ambush.lock);
	stop_here();
	i = find_piece(mem);
	must(ambush.pieces[i].bytes == bytes);
	ambush.pieces[i].mem = NULL;
	ambush.live--;
	free(mem);
	stop_here();
	pthread_mutex_unlock(&ambush.lock);
}

/* Runs in the child. Ends the ambush first. */
static void end_in_child(void)
{
	ambush.on = false;
	pthread_mutex_unlock(&ambush.lock);
	fault_expect_inert(ambush.t, ambush.ids[0]);
	must(tkw_timer_destroy(ambush.t) == 0);
	/* One piece may be in the middle of an alloc or a free. */
	must(ambush.live <= 1);
	_exit(0);
}

/* Forks at each stop, until the others have ended. Returns how often. */
static unsigned fork_at_each_stop(void)
{
	pid_t child;

	pthread_mutex_lock(&ambush.lock);
	for (;;) {
		while (ambush.asked == ambush.answered && !ambush.over)
			pthread_cond_wait(&ambush.changed, &ambush.lock);
		if (ambush.asked == ambush.answered)
			break;
		child = fork_child();
		if (child == 0)
			end_in_child();
		fault_reap(child);
		ambush.answered = ambush.asked;
		pthread_cond_broadcast(&ambush.changed);
	}
	pthread_mutex_unlock(&ambush.lock);
	return ambush.answered;
}

static void *walk_into_ambush(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < MANY; i++)
		must(tkw_timer_schedule(ambush.t, &counted, 3600 * TKW_SEC,
					&ambush.ids[i]) == 0);
	for (i = 1; i < MANY; i += 2)
		must(tkw_timer_reschedule(ambush.t, ambush.ids[i], 0) == 0);
	fault_await(&fired, MANY / 2);
	for (i = 0; i < MANY; i += 2)
		must(tkw_timer_cancel(ambush.t, ambush.ids[i]) == 0);
	pthread_mutex_lock(&ambush.lock);
	ambush.over = true;
	pthread_cond_broadcast(&ambush.changed);
	pthread_mutex_unlock(&ambush.lock);
	return NULL;
}

static void ambush_open(int drive)
{
	memset(&ambush, 0, sizeof(ambush));
	pthread_mutex_init(&ambush.lock, NULL);
	pthread_cond_init(&ambush.changed, NULL);
	ambush.drive = drive;
	fired = 0;
	cancelled = 0;
}

/* SPEC 6.7, fault 29: the fork comes while the timer allocates or frees
 * memory. */
static void fault_29_a_fork_finds_the_timer_half_changed(void **state)
{
	const struct tkw_timer_hooks hooks = { .alloc = ambush_alloc,
					       .free = ambush_free };
	const struct tkw_timer_config cfg = { .hooks = &hooks, .shards = 1 };
	struct fault_pump p;
	pthread_t victim;
	unsigned forks;

	ambush_open(fault_drive(state));
	fault_pump_open(&p, ambush.drive, &cfg);
	ambush.t = p.t;
	ambush.on = true;
	fault_spawn(&victim, walk_into_ambush, NULL);
	forks = fork_at_each_stop();
	fault_join(victim);
	print_message("%u forks\n", forks);
	assert_true(forks >= 10);
	ambush.on = false;
	assert_int_equal(fired, MANY / 2);
	assert_int_equal(cancelled, MANY / 2);
	fault_pump_close(&p);
	assert_int_equal(ambush.live, 0);
}

static int ambush_thread_create(void *(*run)(void *arg), void *arg,
				void **handle, void *ctx)
{
	static pthread_t thread;

	(void)ctx;
	pthread_mutex_lock(&ambush.lock);
	stop_here();
	*handle = &thread;
	must(pthread_create(&thread, NULL, run, arg) == 0);
	stop_here();
	pthread_mutex_unlock(&ambush.lock);
	return 0;
}

static void ambush_thread_join(void *handle, void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&ambush.lock);
	stop_here();
	pthread_mutex_unlock(&ambush.lock);
	fault_join(*(pthread_t *)handle);
	pthread_mutex_lock(&ambush.lock);
	stop_here();
	pthread_mutex_unlock(&ambush.lock);
}

static void *start_and_stop(void *arg)
{
	(void)arg;
	must(tkw_timer_schedule(ambush.t, &counted, 3600 * TKW_SEC,
				&ambush.ids[0]) == 0);
	must(tkw_timer_stop(ambush.t, NULL, NULL) == 0);
	pthread_mutex_lock(&ambush.lock);
	ambush.over = true;
	pthread_cond_broadcast(&ambush.changed);
	pthread_mutex_unlock(&ambush.lock);
	return NULL;
}

/* SPEC 6.7, fault 29: the fork comes while the worker is created or joined. */
static void fault_29_a_fork_finds_the_timer_half_started(void **state)
{
	const struct tkw_timer_hooks hooks = { .thread_create =
						       ambush_thread_create,
					       .thread_join =
						       ambush_thread_join };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .hooks = &hooks };
	pthread_t victim;

	(void)state;
	ambush_open(TKW_DRIVE_THREAD);
	assert_int_equal(tkw_timer_create(&ambush.t, &cfg), 0);
	ambush.on = true;
	fault_spawn(&victim, start_and_stop, NULL);
	assert_int_equal(fork_at_each_stop(), 4);
	fault_join(victim);
	ambush.on = false;
	assert_int_equal(cancelled, 1);
	assert_int_equal(tkw_timer_destroy(ambush.t), 0);
}

/* --- a fork among busy threads ------------------------------------------ */

enum {
	BUSY = 3,
	AHEAD = 10000 /* how far threads get ahead of the worker */
};

struct busy {
	struct tkw_timer *t;
	atomic_ulong rounds;
	atomic_bool over;
};

static void *keep_busy(void *arg)
{
	struct busy *b = arg;
	struct tkw_ledger l;
	struct tkw_timeout_id id;
	int ret;

	while (!atomic_load(&b->over)) {
		must(tkw_timer_schedule(b->t, &counted, TKW_USEC, NULL) == 0);
		must(tkw_timer_schedule(b->t, &counted, 3600 * TKW_SEC, &id) ==
		     0);
		must(tkw_timer_reschedule(b->t, id, TKW_MSEC) == 0);
		must(tkw_timer_get_ledger(b->t, &l) == 0);
		ret = tkw_timer_cancel(b->t, id);
		must(ret == 0 || ret == -EBUSY || ret == -ENOENT);
		atomic_fetch_add(&b->rounds, 1);
		fault_throttle(&b->rounds, &fired, AHEAD);
	}
	return NULL;
}

/* SPEC 6.7, fault 29: the fork comes while any thread may hold any lock. */
static void fault_29_forks_among_busy_threads(void **state)
{
	const struct tkw_timer_config cfg = { .shards = 2 };
	pthread_t threads[BUSY];
	struct busy b = { .over = false };
	struct fault_pump p;
	struct tkw_ledger l;
	pid_t child;
	int i;

	fired = 0;
	fault_pump_open(&p, fault_drive(state), &cfg);
	b.t = p.t;
	for (i = 0; i < BUSY; i++)
		fault_spawn(&threads[i], keep_busy, &b);
	for (i = 0; i < 300 / FAULT_SLOWNESS; i++) {
		fault_await(&b.rounds, b.rounds + 10);
		child = fork_child();
		if (child == 0) {
			fault_expect_inert(p.t, BED_ID(1));
			must(tkw_timer_destroy(p.t) == 0);
			_exit(0);
		}
		fault_reap(child);
	}
	atomic_store(&b.over, true);
	for (i = 0; i < BUSY; i++)
		fault_join(threads[i]);
	must(tkw_timer_stop(p.t, NULL, NULL) == 0);
	l = fault_ledger(p.t);
	assert_int_equal(l.accepted, 2 * b.rounds);
	fault_pump_close(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		FAULT_BOTH(fault_29_in_a_child_a_timer_is_inert),
		FAULT_BOTH(fault_29_whatever_the_state_of_the_timer),
		FAULT_BOTH(fault_29_a_child_makes_its_own_timers),
		FAULT_BOTH(fault_29_a_callback_forks),
		FAULT_BOTH(fault_29_a_fork_finds_the_timer_half_changed),
		cmocka_unit_test(fault_29_a_fork_finds_the_timer_half_started),
		FAULT_BOTH(fault_29_forks_among_busy_threads),
	};

	if (argc > 1 && strcmp(argv[1], "--child") == 0)
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
