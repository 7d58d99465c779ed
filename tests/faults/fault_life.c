/* SPDX-License-Identifier: MIT */
/*
 * fault_life.c - faults 25 to 28 and 30 to 32: the start and the end of a
 * timer, of threads and of the process. For forks see fault_fork.c, for use
 * before main() see fault_before_main.c.
 *
 * Usage: fault_life LIBRARY. LIBRARY is the shared library, for dlopen().
 */
#include "fault_bed.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *shared_library = "";

static void ignore(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
}

static void count(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

static void count_cancel(void *ctx)
{
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

/* --- 25: stop against schedule ----------------------------------------- */

enum {
	SUBMITTERS = 3,
	BATCH = 4000,
	STOP_ROUNDS = 400 / FAULT_SLOWNESS
};

/* How one timeout ended. If it was accepted, it must end once. */
struct fate {
	atomic_uint fired;
	atomic_uint visited;
	atomic_uint ended; /* calls of on_cancel */
	bool accepted;
};

struct closing {
	struct tkw_timer *t;
	struct fate fates[SUBMITTERS][BATCH];
	atomic_ulong accepted;
	atomic_ulong refused;
	unsigned long fired;
	unsigned long handed_over;
};

struct submitter {
	struct closing *c;
	struct fate *fates;
};

static void fate_fired(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add(&((struct fate *)ctx)->fired, 1);
}

static void fate_ended(void *ctx)
{
	struct fate *f = ctx;

	/* The visitor comes first. */
	must(atomic_load(&f->visited) == 1);
	atomic_fetch_add(&f->ended, 1);
}

static void fate_visited(const struct tkw_timeout_info *info, void *ctx)
{
	struct fate *f = info->task.ctx;
	struct closing *c = ctx;

	must(info->task.fn == fate_fired);
	must(tkw_timer_is_stopped(c->t) == 1);
	must(tkw_timer_cancel(c->t, info->id) == -ENOENT);
	atomic_fetch_add(&f->visited, 1);
}

static void *submit_until_refused(void *arg)
{
	struct submitter *s = arg;
	struct tkw_task task = { .fn = fate_fired, .on_cancel = fate_ended };
	int ret = 0;
	size_t i;

	for (i = 0; i < BATCH && ret == 0; i++) {
		task.ctx = &s->fates[i];
		ret = tkw_timer_schedule(s->c->t, &task,
					 (int64_t)(i % 100) * TKW_USEC * 10,
					 NULL);
		s->fates[i].accepted = ret == 0;
		if (ret == 0)
			atomic_fetch_add(&s->c->accepted, 1);
	}
	if (ret != 0) {
		must(ret == -ESHUTDOWN);
		atomic_fetch_add(&s->c->refused, 1);
	}
	return NULL;
}

/* Checks that each accepted timeout ended in one way, and no other ended. */
static void settle_fates(struct closing *c)
{
	struct fate *f = &c->fates[0][0];
	unsigned fired;
	unsigned visited;

	for (; f < &c->fates[0][0] + (size_t)SUBMITTERS * BATCH; f++) {
		fired = atomic_load(&f->fired);
		visited = atomic_load(&f->visited);
		must(fired + visited == (f->accepted ? 1 : 0));
		must(visited == atomic_load(&f->ended));
		c->fired += fired;
		c->handed_over += visited;
	}
}

static void stop_while_submitting(struct closing *c, int drive, uint64_t *seed)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	struct submitter s[SUBMITTERS];
	pthread_t threads[SUBMITTERS];
	struct tkw_ledger l;
	struct fault_pump p;
	int i;

	memset(c, 0, sizeof(*c));
	fault_pump_open(&p, drive, &cfg);
	c->t = p.t;
	for (i = 0; i < SUBMITTERS; i++) {
		s[i] = (struct submitter){ c, c->fates[i] };
		fault_spawn(&threads[i], submit_until_refused, &s[i]);
	}
	/* They have begun. The stop comes in the middle, unless they are very
	 * fast. */
	fault_await(&c->accepted, fault_below(seed, 500));
	must(tkw_timer_stop(p.t, fate_visited, c) == 0);
	for (i = 0; i < SUBMITTERS; i++)
		fault_join(threads[i]);
	fault_pump_halt(&p);
	settle_fates(c);
	l = fault_ledger(p.t);
	must(l.accepted == c->accepted);
	must(l.fired == c->fired);
	must(l.handed_over == c->handed_over);
	must(l.pending == 0 && l.cancelled == 0);
	fault_pump_close(&p);
}

/* SPEC 6.2, 6.4, 6.5, fault 25 */
static void fault_25_schedule_against_stop_loses_nothing(void **state)
{
	static struct closing c;
	uint64_t seed = fault_seed();
	unsigned long handed_over = 0;
	unsigned long refused = 0;
	unsigned long fired = 0;
	int i;

	/* Goes on until each outcome has happened. */
	for (i = 0; i < STOP_ROUNDS || !handed_over || !refused || !fired;
	     i++) {
		stop_while_submitting(&c, fault_drive(state), &seed);
		handed_over += c.handed_over;
		refused += c.refused;
		fired += c.fired;
	}
	print_message("%d rounds: %lu fired, %lu handed over, %lu refused\n", i,
		      fired, handed_over, refused);
}

/* --- 26: stop against stop, start, cancel ------------------------------ */

enum {
	PENDING = 64
};

/* Threads that start at the same time. */
struct melee {
	struct tkw_timer *t;
	pthread_barrier_t begin;
	struct tkw_timeout_id ids[PENDING];
	atomic_ulong ended; /* calls of on_cancel */
	atomic_uint stops_won;
	atomic_uint cancels_won;
	atomic_uint starts_done;
	atomic_uint starts_refused;
};

static void *melee_stop(void *arg)
{
	struct melee *m = arg;
	int ret;

	pthread_barrier_wait(&m->begin);
	ret = tkw_timer_stop(m->t, NULL, NULL);
	must(ret == 0 || ret == 1);
	must(tkw_timer_is_stopped(m->t) == 1);
	if (ret == 0)
		atomic_fetch_add(&m->stops_won, 1);
	return NULL;
}

static void *melee_start(void *arg)
{
	struct melee *m = arg;
	int ret;

	pthread_barrier_wait(&m->begin);
	ret = tkw_timer_start(m->t);
	must(ret == 0 || ret == -ESHUTDOWN);
	atomic_fetch_add(ret ? &m->starts_refused : &m->starts_done, 1);
	return NULL;
}

static void *melee_cancel(void *arg)
{
	struct melee *m = arg;
	int ret;
	int i;

	pthread_barrier_wait(&m->begin);
	for (i = 0; i < PENDING; i++) {
		ret = i % 2 ? tkw_timer_cancel(m->t, m->ids[i])
			    : tkw_timer_cancel_wait(m->t, m->ids[i]);
		must(ret == 0 || ret == -ENOENT);
		if (ret == 0)
			atomic_fetch_add(&m->cancels_won, 1);
	}
	return NULL;
}

static void fight(struct melee *m, int drive, bool started)
{
	static void *(*const roles[])(void *) = { melee_stop, melee_stop,
						  melee_start, melee_start,
						  melee_cancel };
	enum {
		ROLES = sizeof(roles) / sizeof(roles[0])
	};
	const struct tkw_task task = { .fn = ignore,
				       .ctx = &m->ended,
				       .on_cancel = count_cancel };
	pthread_t threads[ROLES];
	struct tkw_ledger l;
	struct fault_pump p;
	int i;

	fault_pump_open(&p, drive, NULL);
	m->t = p.t;
	m->ended = 0;
	m->stops_won = 0;
	m->cancels_won = 0;
	for (i = 0; i < PENDING && started; i++)
		must(tkw_timer_schedule(p.t, &task, 3600 * TKW_SEC,
					&m->ids[i]) == 0);
	must(pthread_barrier_init(&m->begin, NULL, ROLES) == 0);
	for (i = 0; i < ROLES; i++)
		fault_spawn(&threads[i], roles[i], m);
	for (i = 0; i < ROLES; i++)
		fault_join(threads[i]);
	pthread_barrier_destroy(&m->begin);
	must(m->stops_won == 1);
	fault_pump_halt(&p);
	l = fault_ledger(p.t);
	must(l.accepted == (started ? PENDING : 0) && l.pending == 0);
	must(l.cancelled == m->cancels_won);
	must(l.cancelled + l.handed_over == l.accepted);
	must(m->ended == l.accepted);
	fault_pump_close(&p);
}

/* SPEC 2.4, 5.1, 6.3, fault 26 */
static void fault_26_stop_against_stop_start_and_cancel(void **state)
{
	static struct melee m;
	unsigned cancelled = 0;
	int i;

	memset(&m, 0, sizeof(m));
	for (i = 0; i < 1000 / FAULT_SLOWNESS; i++) {
		fight(&m, fault_drive(state), i % 2 == 0);
		cancelled += m.cancels_won;
	}
	print_message("%u cancels won, %u starts done, %u refused\n", cancelled,
		      m.starts_done, m.starts_refused);
}

/* --- 27, 28: destroy and start, too early or too late ------------------ */

/* SPEC 5.6, 6.6, fault 27 */
static void fault_27_destroy_ends_what_is_pending(void **state)
{
	enum {
		MANY = 50000
	};
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = fault_drive(state),
					      .hooks = &hooks };
	atomic_ulong ended = 0;
	const struct tkw_task task = { .fn = ignore,
				       .ctx = &ended,
				       .on_cancel = count_cancel };
	struct fault_memory m;
	struct tkw_timer *t;
	int i;

	fault_memory_hooks(&m, &hooks);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(tkw_timer_schedule(t, &task,
						    (3600 + i) * TKW_SEC, NULL),
				 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(ended, MANY);
	assert_int_equal(m.live, 0);
	assert_int_equal(m.live_bytes, 0);
	/* A timer that was never used can be destroyed, too. */
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(m.live, 0);
}

/* A task that is still running when its timer is destroyed. */
struct slow {
	struct fault_gate begun;
	struct fault_gate end;
	atomic_bool over;
	atomic_bool destroyed;
};

static void run_slowly(const struct tkw_firing *f, void *ctx)
{
	struct slow *s = ctx;

	(void)f;
	fault_gate_open(&s->begun);
	fault_gate_wait(&s->end);
	must(!atomic_load(&s->destroyed));
	atomic_store(&s->over, true);
}

static void *let_it_end(void *arg)
{
	struct slow *s = arg;

	/* Waits until the thread that destroys sleeps, or has returned too
	 * early. */
	fault_await_sleep(getpid(), &s->destroyed);
	fault_gate_open(&s->end);
	return NULL;
}

/* SPEC 6.2, 6.6, fault 27 */
static void fault_27_destroy_waits_for_a_running_task(void **state)
{
	struct slow s = { .begun = FAULT_GATE_INIT, .end = FAULT_GATE_INIT };
	const struct tkw_task task = { .fn = run_slowly, .ctx = &s };
	struct tkw_timer *t;
	pthread_t helper;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, NULL), 0);
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	fault_gate_wait(&s.begun);
	fault_spawn(&helper, let_it_end, &s);
	assert_int_equal(tkw_timer_destroy(t), 0);
	atomic_store(&s.destroyed, true);
	assert_true(atomic_load(&s.over));
	fault_join(helper);
}

/* SPEC 2.5, 6.3, fault 28 */
static void fault_28_after_a_stop_nothing_starts(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 9);
	struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw_timeout_id other = { 5 };

	bed_pass(b, TKW_MSEC);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_start(b->t), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &other),
			 -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, &other),
			 -ESHUTDOWN);
	assert_int_equal(other.bits, 5);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 0), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 1);
	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_28_after_a_stop_nothing_starts)

/* SPEC 6.3, fault 28 */
static void fault_28_a_stop_before_the_start_is_for_good(void **state)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = fault_drive(state) };
	const struct tkw_task task = { .fn = ignore };
	struct tkw_timer *t;

	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_start(t), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), -ESHUTDOWN);
	assert_int_equal(fault_ledger(t).accepted, 0);
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* --- 30: a storm of signals --------------------------------------------- */

enum {
	STORMED = 3,
	STORM_ROUNDS = 10000 / FAULT_SLOWNESS, /* per thread, at least */
	STORM_SIGNALS = 5000 / FAULT_SLOWNESS,
	AHEAD = 10000 /* how far threads get ahead of the worker */
};

struct storm {
	struct tkw_timer *t;
	pthread_t threads[STORMED];
	struct fault_gate go_home;
	atomic_ulong done; /* threads */
	atomic_ulong accepted;
	atomic_ulong fired;
	atomic_ulong cancelled;
	atomic_ulong ended; /* fired + cancelled */
	atomic_bool over;
};

static atomic_ulong signals_handled;
static atomic_ulong signals_on_worker;
static atomic_int worker_tid;

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&signals_handled, 1);
	if (gettid() == atomic_load(&worker_tid))
		atomic_fetch_add(&signals_on_worker, 1);
}

static void note_worker(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
	atomic_store(&worker_tid, gettid());
}

static void count_in_storm(const struct tkw_firing *f, void *ctx)
{
	struct storm *s = ctx;

	(void)f;
	atomic_fetch_add(&s->fired, 1);
	atomic_fetch_add(&s->ended, 1);
}

static void *work_in_storm(void *arg)
{
	struct storm *s = arg;
	const struct tkw_task task = { .fn = count_in_storm, .ctx = s };
	struct tkw_timeout_id id;
	int ret;
	int i;

	for (i = 0;
	     i < STORM_ROUNDS || atomic_load(&signals_handled) < STORM_SIGNALS;
	     i++) {
		must(tkw_timer_schedule(s->t, &task, i % 64 * TKW_USEC, &id) ==
		     0);
		atomic_fetch_add(&s->accepted, 1);
		fault_throttle(&s->accepted, &s->ended, AHEAD);
		if (i % 2)
			continue;
		ret = i % 4 ? tkw_timer_cancel(s->t, id)
			    : tkw_timer_cancel_wait(s->t, id);
		if (ret == 0) {
			atomic_fetch_add(&s->cancelled, 1);
			atomic_fetch_add(&s->ended, 1);
		}
	}
	atomic_fetch_add(&s->done, 1);
	fault_gate_wait(&s->go_home);
	return NULL;
}

/* Sends signals to each of the threads, to the worker, and to the process. */
static void *make_storm(void *arg)
{
	struct storm *s = arg;
	sigset_t all;
	int i;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (!atomic_load(&s->over)) {
		for (i = 0; i < STORMED; i++)
			pthread_kill(s->threads[i], SIGUSR1);
		syscall(SYS_tgkill, getpid(), atomic_load(&worker_tid),
			SIGUSR1);
		kill(getpid(), SIGUSR1);
		sched_yield();
	}
	return NULL;
}

static void weather(struct storm *s)
{
	const struct tkw_task first = { .fn = note_worker };
	pthread_t storm;
	int i;

	/* With the manual drive, the task runs on the thread of the pump. It is
	 * not a worker of the timer, and takes signals like other threads. */
	must(tkw_timer_schedule(s->t, &first, 0, NULL) == 0);
	for (i = 0; i < STORMED; i++)
		fault_spawn(&s->threads[i], work_in_storm, s);
	fault_spawn(&storm, make_storm, s);
	fault_await(&s->done, STORMED);
	fault_await(&s->fired, s->accepted - s->cancelled);
	/* Stop waits for the worker while signals still come. */
	must(tkw_timer_stop(s->t, NULL, NULL) == 0);
	atomic_store(&s->over, true);
	fault_join(storm);
	fault_gate_open(&s->go_home);
	for (i = 0; i < STORMED; i++)
		fault_join(s->threads[i]);
}

/* SPEC 2.4, fault 30 */
static void fault_30_signals_disturb_nothing(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	const bool own = fault_drive(state) == TKW_DRIVE_THREAD;
	struct sigaction act = { .sa_handler = handle }; /* no restart */
	static struct storm s;
	struct sigaction old;
	struct fault_pump p;
	struct tkw_ledger l;

	memset(&s, 0, sizeof(s));
	fault_gate_init(&s.go_home);
	signals_handled = 0;
	signals_on_worker = 0;
	worker_tid = 0;
	must(sigaction(SIGUSR1, &act, &old) == 0);
	fault_pump_open(&p, fault_drive(state), &cfg);
	s.t = p.t;
	weather(&s);
	fault_pump_halt(&p);
	l = fault_ledger(p.t);
	assert_int_equal(l.accepted, 1 + s.accepted);
	assert_int_equal(l.cancelled, s.cancelled);
	assert_int_equal(l.fired, l.accepted - s.cancelled);
	print_message("%lu signals handled, %lu timeouts\n", signals_handled,
		      s.accepted);
	if (own)
		assert_int_equal(signals_on_worker, 0);
	fault_pump_close(&p);
	must(sigaction(SIGUSR1, &old, NULL) == 0);
}

/* --- 31: submitting threads are cancelled ------------------------------ */

/* Cancellation unwinds a stack without telling AddressSanitizer, which then
 * believes that the stack is still in use. This tells it. */
static void forget_stack(void *arg)
{
	(void)arg;
#ifdef FAULT_ASAN
	__asan_handle_no_return();
#endif
}

struct doomed {
	struct tkw_timer *t;
	atomic_ulong returned; /* schedules that returned 0 */
	atomic_ulong cancels;  /* cancels that returned 0 */
	atomic_ulong ended;    /* fired, or on_cancel called */
	uint64_t seed;
};

static void doomed_fired(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add(&((struct doomed *)ctx)->ended, 1);
}

static void doomed_cancelled(void *ctx)
{
	atomic_fetch_add(&((struct doomed *)ctx)->ended, 1);
}

/* The thread may be cancelled at its testcancel. If the library had a
 * cancellation point, it could be cancelled there, and the counts would be
 * wrong. */
static void *submit_until_cancelled(void *arg)
{
	struct doomed *d = arg;
	const struct tkw_task task = { .fn = doomed_fired,
				       .ctx = d,
				       .on_cancel = doomed_cancelled };
	uint64_t seed = d->seed;
	struct tkw_timeout_id id;
	int was;

	pthread_cleanup_push(forget_stack, NULL);
	for (;;) {
		pthread_testcancel();
		must(tkw_timer_schedule(d->t, &task,
					(int64_t)fault_below(&seed, 100000),
					&id) == 0);
		atomic_fetch_add(&d->returned, 1);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
		fault_throttle(&d->returned, &d->ended, AHEAD);
		pthread_setcancelstate(was, NULL);
		if (fault_below(&seed, 2) && tkw_timer_cancel(d->t, id) == 0)
			atomic_fetch_add(&d->cancels, 1);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

/* SPEC 3.7, fault 31 */
static void fault_31_cancelled_submitters_leave_no_trace(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	uint64_t seed = fault_seed();
	struct doomed d = { .seed = seed };
	pthread_t threads[2];
	struct tkw_ledger l;
	struct fault_pump p;
	void *result;
	int round;
	int i;

	fault_pump_open(&p, fault_drive(state), &cfg);
	d.t = p.t;
	for (round = 0; round < 300 / FAULT_SLOWNESS; round++) {
		for (i = 0; i < 2; i++)
			fault_spawn(&threads[i], submit_until_cancelled, &d);
		fault_await(&d.returned, d.returned + fault_below(&seed, 300));
		for (i = 0; i < 2; i++)
			must(pthread_cancel(threads[i]) == 0);
		for (i = 0; i < 2; i++) {
			must(pthread_join(threads[i], &result) == 0);
			must(result == PTHREAD_CANCELED);
		}
		fault_ledger(p.t);
	}
	fault_await(&d.ended, d.returned);
	l = fault_ledger(p.t);
	assert_int_equal(l.accepted, d.returned);
	assert_int_equal(l.cancelled, d.cancels);
	assert_int_equal(l.fired + l.cancelled, l.accepted);
	fault_pump_close(&p);
	assert_int_equal(d.ended, d.returned);
}

/* A thread whose cancellation is pending while it makes each call. */
struct doomed_calls {
	struct tkw_timer *t;
	bool create; /* create a timer, with the hooks */
	struct tkw_timer_hooks hooks;
	struct fault_memory m;
	struct fault_gate pending;
	struct fault_gate running;
	atomic_int tid;
	atomic_bool came_back; /* cancel_wait has returned */
	int drive;
	unsigned calls; /* calls that have returned */
};

/* A task that runs until the thread waits for it. */
static void run_until_awaited(const struct tkw_firing *f, void *ctx)
{
	struct doomed_calls *d = ctx;

	(void)f;
	fault_gate_wait(&d->running);
	fault_await_sleep(atomic_load(&d->tid), &d->came_back);
}

static void wait_for_task(struct doomed_calls *d, struct tkw_timer *t)
{
	const struct tkw_task task = { .fn = run_until_awaited, .ctx = d };
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	must(tkw_timer_schedule(t, &task, 0, &id) == 0);
	d->calls++;
	do
		must(tkw_timer_get(t, id, &info) == 0);
	while (info.state != TKW_TIMEOUT_RUNNING);
	atomic_store(&d->tid, gettid());
	fault_gate_open(&d->running);
	must(tkw_timer_cancel_wait(t, id) == 1);
	atomic_store(&d->came_back, true);
	d->calls++;
}

static void testcancel_in_task(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	pthread_testcancel();
	((struct doomed_calls *)ctx)->calls++;
}

static void testcancel_in_on_cancel(void *ctx)
{
	pthread_testcancel();
	((struct doomed_calls *)ctx)->calls++;
}

static void testcancel_in_visitor(const struct tkw_timeout_info *info,
				  void *ctx)
{
	(void)info;
	testcancel_in_on_cancel(ctx);
}

/* Callbacks are no cancellation points either. */
static void call_back(struct doomed_calls *d, struct tkw_timer *t)
{
	const struct tkw_task task = { .fn = testcancel_in_task,
				       .ctx = d,
				       .on_cancel = testcancel_in_on_cancel };
	struct tkw_timeout_id id;

	must(tkw_timer_schedule(t, &task, 3600 * TKW_SEC, &id) == 0);
	must(tkw_timer_cancel(t, id) == 0);
	d->calls++;
	if (d->drive == TKW_DRIVE_MANUAL) {
		must(tkw_timer_schedule(t, &task, 0, NULL) == 0);
		must(tkw_timer_turn(t, 0, NULL) == 1);
		d->calls++;
	}
	must(tkw_timer_schedule(t, &task, 3600 * TKW_SEC, NULL) == 0);
	must(tkw_timer_stop(t, testcancel_in_visitor, d) == 0);
	d->calls++;
}

static void call_all(struct doomed_calls *d, struct tkw_timer *t)
{
	const struct tkw_task task = { .fn = ignore };
	struct tkw_timeout_info info;
	struct tkw_ledger l;
	struct tkw_timeout_id id;

	if (d->drive == TKW_DRIVE_THREAD)
		wait_for_task(d, t);
	must(tkw_timer_schedule(t, &task, 3600 * TKW_SEC, &id) == 0);
	must(tkw_timer_reschedule(t, id, 1800 * TKW_SEC) == 0);
	must(tkw_timer_get(t, id, &info) == 0);
	must(tkw_timer_get_ledger(t, &l) == 0);
	must(tkw_timer_check(t) == NULL);
	if (d->drive == TKW_DRIVE_THREAD)
		must(tkw_timer_wait_idle(t, TKW_MSEC) == -ETIMEDOUT);
	must(tkw_timer_cancel(t, id) == 0);
	d->calls++;
	call_back(d, t);
}

static void create_and_destroy(struct doomed_calls *d)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = d->drive,
					      .hooks = &d->hooks };
	struct tkw_timer *t;

	must(tkw_timer_create(&t, &cfg) == 0);
	d->calls++;
	must(tkw_timer_destroy(t) == 0);
	d->calls++;
}

static void *call_with_cancel_pending(void *arg)
{
	struct doomed_calls *d = arg;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	fault_gate_wait(&d->pending);
	pthread_cleanup_push(forget_stack, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	if (d->create)
		create_and_destroy(d);
	else
		call_all(d, d->t);
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return NULL;
}

/* Runs the calls on a thread whose cancellation is pending. */
static void call_doomed(struct doomed_calls *d)
{
	pthread_t thread;
	void *result;

	fault_gate_init(&d->pending);
	fault_gate_init(&d->running);
	fault_spawn(&thread, call_with_cancel_pending, d);
	must(pthread_cancel(thread) == 0);
	fault_gate_open(&d->pending);
	must(pthread_join(thread, &result) == 0);
	assert_true(result == PTHREAD_CANCELED);
}

/* Fault 31: schedule, start, wait and stop are no cancellation points. */
static void fault_31_calls_are_no_cancellation_points(void **state)
{
	struct doomed_calls d = { .drive = fault_drive(state) };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = d.drive };

	assert_int_equal(tkw_timer_create(&d.t, &cfg), 0);
	call_doomed(&d);
	assert_int_equal(d.calls, 8);
	assert_int_equal(tkw_timer_destroy(d.t), 0);
}

/* Fault 31: otherwise memory would be lost for good. */
static void fault_31_create_and_destroy_are_none_either(void **state)
{
	static struct doomed_calls d;

	memset(&d, 0, sizeof(d));
	d.drive = fault_drive(state);
	d.create = true;
	fault_memory_hooks(&d.m, &d.hooks);
	call_doomed(&d);
	assert_int_equal(d.calls, 2);
	assert_int_equal(d.m.live, 0);
}

/* --- 32: the process ends, or the library goes -------------------------- */

static struct tkw_timer *immortal;

static void again(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task task = { .fn = again, .ctx = ctx };

	atomic_fetch_add((atomic_ulong *)ctx, 1);
	must(tkw_timer_schedule(f->timer, &task, 0, NULL) == 0);
}

static void *submit_for_ever(void *arg)
{
	const struct tkw_task task = { .fn = count, .ctx = arg };
	atomic_ulong submitted = 0;
	struct tkw_timeout_id id;

	for (;;) {
		must(tkw_timer_schedule(immortal, &task, TKW_MSEC, &id) == 0);
		must(tkw_timer_schedule(immortal, &task, 3600 * TKW_SEC, &id) ==
		     0);
		must(tkw_timer_cancel(immortal, id) == 0);
		atomic_fetch_add(&submitted, 1);
		fault_throttle(&submitted, arg, AHEAD);
	}
	return NULL;
}

/* Timers and threads are all busy when main() returns. */
static int child_exits_alive(void)
{
	static atomic_ulong fired;
	const struct tkw_task task = { .fn = again, .ctx = &fired };
	pthread_t thread;
	int i;

	must(tkw_timer_create(&immortal, NULL) == 0);
	for (i = 0; i < 3; i++)
		must(tkw_timer_schedule(immortal, &task, 0, NULL) == 0);
	fault_spawn(&thread, submit_for_ever, &fired);
	fault_await(&fired, 1000);
	printf("bye");
	return 5;
}

/* SPEC 4.9, fault 32 */
static void fault_32_exit_with_a_live_worker(void **state)
{
	char out[64];
	int status;
	int i;

	(void)state;
	for (i = 0; i < 30 / FAULT_SLOWNESS; i++) {
		status = fault_child("exits_alive", "", out, sizeof(out));
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 5);
		assert_string_equal(out, "bye");
	}
}

#ifdef FAULT_ASAN
/* The leak detector of gcc 12 crashes if a thread has thread-local data of a
 * library that was opened by dlopen(). */
static bool leaks_ignored;
int ignore_leaks(void) __asm__("__lsan_is_turned_off");

int ignore_leaks(void)
{
	return leaks_ignored;
}
#endif

/* The library as a plug-in uses it: by the names of its functions only. */
struct plugin {
	void *handle;
	__typeof__(tkw_timer_create) *create;
	__typeof__(tkw_timer_schedule) *schedule;
	__typeof__(tkw_timer_destroy) *destroy;
};

static atomic_ulong plugin_runs;
static struct plugin plugin;

static void plugin_again(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task task = { .fn = plugin_again, .ctx = ctx };

	atomic_fetch_add(&plugin_runs, 1);
	must(plugin.schedule(f->timer, &task, 0, NULL) == 0);
}

static void *symbol(const char *name)
{
	void *s = dlsym(plugin.handle, name);

	must(s != NULL);
	return s;
}

static void plugin_open(const char *path)
{
	plugin.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin.handle)
		fault_fail(__FILE__, __LINE__, dlerror());
	*(void **)&plugin.create = symbol("tkw_timer_create");
	*(void **)&plugin.schedule = symbol("tkw_timer_schedule");
	*(void **)&plugin.destroy = symbol("tkw_timer_destroy");
}

/* The worker runs on in the library after dlclose(). Then the process ends. */
static int child_closes_library(const char *path)
{
	const struct tkw_task task = { .fn = plugin_again };
	unsigned long runs;
	int i;

#ifdef FAULT_ASAN
	leaks_ignored = true;
#endif
	plugin_open(path);
	must((void *)plugin.create != (void *)tkw_timer_create);
	must(plugin.create(&immortal, NULL) == 0);
	for (i = 0; i < 3; i++)
		must(plugin.schedule(immortal, &task, 0, NULL) == 0);
	fault_await(&plugin_runs, 100);
	must(dlclose(plugin.handle) == 0);
	runs = atomic_load(&plugin_runs);
	fault_await(&plugin_runs, runs + 1000);
	/* A fork calls the handlers that the library may have registered. */
	switch (fork()) {
	case 0:
		_exit(0);
	case -1:
		return 1;
	default:
		must(wait(&i) > 0 && i == 0);
	}
	printf("alive");
	return 5;
}

/* SPEC 4.9, fault 32 */
static void fault_32_dlclose_with_a_live_worker(void **state)
{
	char out[64];
	int status;

	(void)state;
	assert_string_not_equal(shared_library, "");
	status =
		fault_child("closes_library", shared_library, out, sizeof(out));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
	assert_string_equal(out, "alive");
}

static int run_child(const char *name, const char *extra)
{
	if (strcmp(name, "exits_alive") == 0)
		return child_exits_alive();
	if (strcmp(name, "closes_library") == 0)
		return child_closes_library(extra);
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		FAULT_BOTH(fault_25_schedule_against_stop_loses_nothing),
		FAULT_BOTH(fault_26_stop_against_stop_start_and_cancel),
		FAULT_BOTH(fault_27_destroy_ends_what_is_pending),
		cmocka_unit_test(fault_27_destroy_waits_for_a_running_task),
		BED_TESTS(fault_28_after_a_stop_nothing_starts),
		FAULT_BOTH(fault_28_a_stop_before_the_start_is_for_good),
		FAULT_BOTH(fault_30_signals_disturb_nothing),
		FAULT_BOTH(fault_31_cancelled_submitters_leave_no_trace),
		FAULT_BOTH(fault_31_calls_are_no_cancellation_points),
		FAULT_BOTH(fault_31_create_and_destroy_are_none_either),
		cmocka_unit_test(fault_32_exit_with_a_live_worker),
		cmocka_unit_test(fault_32_dlclose_with_a_live_worker),
	};

	if (argc > 3 && strcmp(argv[1], "--child") == 0)
		return run_child(argv[2], argv[3]);
	if (argc > 1)
		shared_library = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
