/* SPDX-License-Identifier: MIT */
/*
 * fault_callbacks.c - faults 6 to 12: tasks that do something to their timer
 * that a task should not do.
 */
#include "fault_bed.h"

#include <sys/wait.h>
#include <unistd.h>

/* --- 6: loops ----------------------------------------------------------- */

enum {
	LOOPS = 300
};

/* A task that schedules itself again in each run, until it has run LOOPS
 * times. */
struct loop {
	struct timer_bed *b;
	int64_t delay_ns;
	int64_t at_ns;    /* if not 0: the deadline of each run */
	bool clock_ticks; /* a tick passes in each run */
	int64_t late_ns[LOOPS];
	unsigned runs;
};

static void loop_again(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task again = { .fn = loop_again, .ctx = ctx };
	struct loop *l = ctx;

	if (l->clock_ticks)
		bed_set_clock(l->b, tkw_timer_now_ns(f->timer) + TKW_MSEC);
	l->late_ns[l->runs++] = f->late_ns;
	if (l->runs == LOOPS)
		return;
	if (l->at_ns != 0)
		must(tkw_timer_schedule_at(f->timer, &again, l->at_ns, NULL) ==
		     0);
	else
		must(tkw_timer_schedule(f->timer, &again, l->delay_ns, NULL) ==
		     0);
}

/* SPEC 4.6, fault 6: the next run sees the time that the clock had after this
 * one. */
static void fault_06_each_round_of_a_loop_is_a_turn(struct timer_bed *b)
{
	struct loop l = { .b = b, .at_ns = BED_START_NS, .clock_ticks = true };
	const struct tkw_task task = { .fn = loop_again, .ctx = &l };
	unsigned i;

	bed_schedule(b, 1, 7 * TKW_MSEC);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, l.at_ns, NULL), 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(l.runs, LOOPS);
	for (i = 1; i < LOOPS; i++)
		assert_int_equal(l.late_ns[i] - l.late_ns[i - 1], TKW_MSEC);
	/* Other timeouts still had their turn. */
	assert_int_equal(bed_fired_times(b, 1), 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_06_each_round_of_a_loop_is_a_turn)

/* SPEC 3.3, 4.6, fault 6 */
static void fault_06_a_turn_ends_while_the_clock_stands(void **state)
{
	static const int64_t delays[] = { 0, -1, INT64_MIN };
	struct timer_bed *b = *state;
	struct tkw_task task = { .fn = loop_again };
	struct loop l;
	size_t i;
	unsigned n;

	for (i = 0; i < 4; i++) {
		memset(&l, 0, sizeof(l));
		if (i < 3)
			l.delay_ns = delays[i];
		else
			l.at_ns = 1;
		task.ctx = &l;
		assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
		for (n = 0; n < LOOPS; n++)
			assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 1);
		assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 0);
		assert_int_equal(l.runs, LOOPS);
	}
}

/* A task that schedules itself twice, to a depth: 2^depth tasks in all. */
static void split(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task half = { .fn = split,
				       .ctx = (void *)((uintptr_t)ctx - 1) };

	if (ctx == NULL)
		return;
	must(tkw_timer_schedule(f->timer, &half, 0, NULL) == 0);
	must(tkw_timer_schedule(f->timer, &half, 0, NULL) == 0);
}

/* SPEC 4.6, fault 6 */
static void fault_06_what_a_turn_schedules_is_for_the_next(void **state)
{
	const struct tkw_task task = { .fn = split, .ctx = (void *)10 };
	struct timer_bed *b = *state;
	int n;

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	for (n = 1; n <= 1024; n *= 2)
		assert_int_equal(tkw_timer_turn(b->t, 0, NULL), n);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 0);
}

/* --- 7, 8, 9: what a task may not, and may ----------------------------- */

/* The results that a task got from its calls. */
struct answers {
	struct timer_bed *b;
	struct tkw_timeout_id peers[8];
	unsigned peer_count;
	bool wait; /* cancel the peers with cancel_wait */
	int cancel;
	int cancel_wait;
	int reschedule;
	int reschedule_at;
	int stop;
	int destroy;
	int wait_idle;
	int turn;
	int state;
	unsigned runs;
	unsigned cancels; /* calls of on_cancel */
};

static void ask_about_itself(const struct tkw_firing *f, void *ctx)
{
	struct tkw_timeout_info info = { .state = 0 };
	struct answers *a = ctx;

	a->runs++;
	a->cancel = tkw_timer_cancel(f->timer, f->id);
	a->cancel_wait = tkw_timer_cancel_wait(f->timer, f->id);
	a->reschedule = tkw_timer_reschedule(f->timer, f->id, 0);
	a->reschedule_at = tkw_timer_reschedule_at(f->timer, f->id, 0);
	must(tkw_timer_get(f->timer, f->id, &info) == 0);
	a->state = info.state;
}

static void count_cancel(void *ctx)
{
	((struct answers *)ctx)->cancels++;
}

/* SPEC 4.6, 5.2, fault 7 */
static void fault_07_a_task_cannot_cancel_itself(struct timer_bed *b)
{
	struct answers a = { .b = b };
	const struct tkw_task task = { .fn = ask_about_itself,
				       .ctx = &a,
				       .on_cancel = count_cancel };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, &id), 0);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(a.runs, 1);
	assert_int_equal(a.cancel, -EBUSY);
	assert_int_equal(a.cancel_wait, -EDEADLK);
	assert_int_equal(a.reschedule, -EBUSY);
	assert_int_equal(a.reschedule_at, -EBUSY);
	assert_int_equal(a.state, TKW_TIMEOUT_RUNNING);
	assert_int_equal(a.cancels, 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	bed_assert_ledger(b, 0);
	assert_int_equal(fault_ledger(b->t).cancelled, 0);
}
BED_TEST(fault_07_a_task_cannot_cancel_itself)

static void cancel_peers(const struct tkw_firing *f, void *ctx)
{
	struct answers *a = ctx;
	unsigned i;

	a->runs++;
	for (i = 0; i < a->peer_count; i++) {
		if (a->wait)
			must(tkw_timer_cancel_wait(f->timer, a->peers[i]) == 0);
		else
			must(tkw_timer_cancel(f->timer, a->peers[i]) == 0);
		must(tkw_timer_cancel(f->timer, a->peers[i]) == -ENOENT);
	}
}

static void expect_peers_cancelled(struct timer_bed *b, unsigned n)
{
	unsigned i;

	bed_assert_nothing_fired(b);
	for (i = 1; i <= n; i++)
		assert_int_equal(bed_cancelled_times(b, i), 1);
	assert_int_equal(fault_ledger(b->t).cancelled, n);
	bed_assert_ledger(b, 0);
}

/* Cancels peers that come after it in the same tick, and in later ticks of the
 * same turn. */
static void cancel_those_behind(struct timer_bed *b, bool wait)
{
	struct answers a = { .b = b, .wait = wait };
	const struct tkw_task task = { .fn = cancel_peers, .ctx = &a };
	int64_t at_ms;

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	for (at_ms = 1; at_ms <= 8; at_ms++) {
		a.peers[a.peer_count++] = bed_schedule(
			b, (uint64_t)at_ms, (at_ms < 4 ? 1 : at_ms) * TKW_MSEC);
	}
	bed_pass(b, 100 * TKW_MSEC);
	assert_int_equal(a.runs, 1);
	expect_peers_cancelled(b, 8);
}

/* SPEC 4.5, 4.6, fault 8 */
static void
fault_08_a_peer_due_in_the_same_turn_is_cancelled(struct timer_bed *b)
{
	cancel_those_behind(b, false);
}
BED_TEST(fault_08_a_peer_due_in_the_same_turn_is_cancelled)

/* SPEC 4.5, 5.3, fault 8: the peer does not run, so cancel_wait does not
 * wait. */
static void fault_08_a_peer_is_cancelled_by_cancel_wait(struct timer_bed *b)
{
	cancel_those_behind(b, true);
}
BED_TEST(fault_08_a_peer_is_cancelled_by_cancel_wait)

struct submission {
	struct timer_bed *b;
	uint64_t tag;
	struct tkw_timeout_id id;
};

static void *submit_one(void *arg)
{
	struct submission *s = arg;

	s->id = bed_schedule(s->b, s->tag, 2 * TKW_MSEC);
	return NULL;
}

/* SPEC 4.4, 4.5, fault 8: another thread scheduled each peer, in its own
 * shard. */
static void fault_08_peers_of_other_shards_are_cancelled(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 8 };
	struct answers a = { .b = b };
	const struct tkw_task task = { .fn = cancel_peers, .ctx = &a };
	struct submission s = { .b = b };
	pthread_t thread;

	bed_reopen(b, &cfg);
	for (s.tag = 1; s.tag <= 8; s.tag++) {
		fault_spawn(&thread, submit_one, &s);
		fault_join(thread);
		a.peers[a.peer_count++] = s.id;
	}
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(a.runs, 1);
	expect_peers_cancelled(b, 8);
}
BED_TEST(fault_08_peers_of_other_shards_are_cancelled)

/* Moves peers, which are due in this turn, to a second from now. */
static void reschedule_peers(const struct tkw_firing *f, void *ctx)
{
	struct answers *a = ctx;
	unsigned i;

	a->runs++;
	for (i = 0; i < a->peer_count; i++)
		must(tkw_timer_reschedule(f->timer, a->peers[i], TKW_SEC) == 0);
}

/* SPEC 4.5, 4.6, fault 8: a peer that was moved does not run in this turn. */
static void fault_08_a_peer_due_in_the_same_turn_is_put_off(struct timer_bed *b)
{
	struct answers a = { .b = b };
	const struct tkw_task task = { .fn = reschedule_peers, .ctx = &a };

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	a.peers[a.peer_count++] = bed_schedule(b, 1, TKW_MSEC);
	a.peers[a.peer_count++] = bed_schedule(b, 2, 3 * TKW_MSEC);
	bed_pass(b, 10 * TKW_MSEC);
	assert_int_equal(a.runs, 1);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 2);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_fired(b, 1, 2);
}
BED_TEST(fault_08_a_peer_due_in_the_same_turn_is_put_off)

static void try_to_end_the_timer(struct answers *a)
{
	struct tkw_timer *t = a->b->t;

	a->runs++;
	a->stop = tkw_timer_stop(t, NULL, NULL);
	a->destroy = tkw_timer_destroy(t);
	a->wait_idle = tkw_timer_wait_idle(t, TKW_NEVER_NS);
	a->turn = bed_turn(a->b, NULL);
}

static void end_from_task(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	try_to_end_the_timer(ctx);
}

static void end_from_on_cancel(void *ctx)
{
	try_to_end_the_timer(ctx);
}

static void expect_end_refused(const struct answers *a)
{
	assert_int_equal(a->runs, 1);
	assert_int_equal(a->stop, -EDEADLK);
	assert_int_equal(a->destroy, -EDEADLK);
	if (bed_by_hand(a->b)) {
		assert_true(a->turn == -EDEADLK || a->turn == -ESHUTDOWN);
		assert_int_equal(a->wait_idle, -EINVAL);
	} else {
		assert_int_equal(a->turn, -EINVAL);
		assert_int_equal(a->wait_idle, -EDEADLK);
	}
}

/* SPEC 6.1, 6.6, fault 9 */
static void fault_09_a_task_cannot_end_its_timer(struct timer_bed *b)
{
	struct answers a = { .b = b };
	const struct tkw_task task = { .fn = end_from_task, .ctx = &a };

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	bed_schedule(b, 1, 0);
	bed_schedule(b, 2, TKW_SEC);
	bed_pass(b, TKW_MSEC);
	expect_end_refused(&a);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	bed_assert_fired(b, 1);
	bed_assert_ledger(b, 1);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_fired(b, 2);
}
BED_TEST(fault_09_a_task_cannot_end_its_timer)

static void never_runs(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
	fault_fail(__FILE__, __LINE__, "a cancelled task does not run");
}

/* SPEC 6.1, 6.6, fault 9 */
static void fault_09_an_on_cancel_cannot_end_its_timer(struct timer_bed *b)
{
	struct answers a = { .b = b };
	const struct tkw_task task = { .fn = never_runs,
				       .ctx = &a,
				       .on_cancel = end_from_on_cancel };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_SEC, &id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	expect_end_refused(&a);
	assert_int_equal(tkw_timer_is_stopped(b->t), 0);
	bed_schedule(b, 1, 0);
	bed_pass(b, TKW_MSEC);
	bed_assert_fired(b, 1);
}
BED_TEST(fault_09_an_on_cancel_cannot_end_its_timer)

static void end_from_visitor(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	try_to_end_the_timer(ctx);
}

/* SPEC 6.1, 6.6, fault 9 */
static void fault_09_a_visitor_cannot_end_its_timer(struct timer_bed *b)
{
	struct answers a = { .b = b };

	bed_schedule(b, 1, TKW_SEC);
	assert_int_equal(tkw_timer_stop(b->t, end_from_visitor, &a), 0);
	expect_end_refused(&a);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_09_a_visitor_cannot_end_its_timer)

/* --- 10: cancel_wait ---------------------------------------------------- */

enum {
	WAITERS = 3
};

struct held;

/* A thread that waits for a task, or that should have to wait. */
struct waiter {
	struct held *h;
	pthread_t thread;
	atomic_int tid;
	atomic_bool called;    /* it is about to call cancel_wait */
	atomic_bool came_back; /* cancel_wait has returned */
	int answer;
};

/* A task that runs until all its waiters sleep, or have returned. */
struct held {
	struct tkw_timer *t;
	struct tkw_timeout_id id;
	struct fault_gate running;
	struct waiter waiters[WAITERS];
	bool too_early; /* a waiter returned before the task */
};

static void hold(const struct tkw_firing *f, void *ctx)
{
	struct held *h = ctx;
	struct waiter *w;

	(void)f;
	fault_gate_open(&h->running);
	for (w = h->waiters; w < h->waiters + WAITERS; w++) {
		while (!atomic_load(&w->called))
			fault_give_way();
		fault_await_sleep(atomic_load(&w->tid), &w->came_back);
	}
	for (w = h->waiters; w < h->waiters + WAITERS; w++)
		h->too_early |= atomic_load(&w->came_back);
}

static void *cancel_and_wait(void *arg)
{
	struct waiter *w = arg;

	fault_gate_wait(&w->h->running);
	atomic_store(&w->tid, gettid());
	atomic_store(&w->called, true);
	w->answer = tkw_timer_cancel_wait(w->h->t, w->h->id);
	atomic_store(&w->came_back, true);
	return NULL;
}

static void held_init(struct held *h, struct tkw_timer *t)
{
	struct waiter *w;

	memset(h, 0, sizeof(*h));
	h->t = t;
	fault_gate_init(&h->running);
	for (w = h->waiters; w < h->waiters + WAITERS; w++)
		w->h = h;
}

/* Lets the task run, while its waiters run run() on their threads. */
static void held_pass(struct held *h, struct timer_bed *b, void *(*run)(void *))
{
	struct waiter *w;

	for (w = h->waiters; w < h->waiters + WAITERS; w++)
		fault_spawn(&w->thread, run, w);
	bed_pass(b, 0);
	for (w = h->waiters; w < h->waiters + WAITERS; w++) {
		fault_join(w->thread);
		assert_int_equal(w->answer, 1);
	}
	assert_false(h->too_early);
}

/* SPEC 5.3, fault 10 */
static void fault_10_cancel_wait_waits_for_a_running_task(struct timer_bed *b)
{
	struct held h;
	const struct tkw_task task = { .fn = hold, .ctx = &h };

	held_init(&h, b->t);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &h.id), 0);
	held_pass(&h, b, cancel_and_wait);
	assert_int_equal(tkw_timer_cancel_wait(b->t, h.id), -ENOENT);
	bed_assert_ledger(b, 0);
	assert_int_equal(fault_ledger(b->t).cancelled, 0);
}
BED_TEST(fault_10_cancel_wait_waits_for_a_running_task)

static void *turn_once(void *arg)
{
	bed_pass(arg, 0);
	return NULL;
}

/* Two tasks of one timer. One of them runs, and the other tries to wait for
 * it. */
struct pair {
	struct tkw_timer *t;
	struct tkw_timeout_id running;
	struct fault_gate begun;
	struct fault_gate end;
};

static void run_until_told(const struct tkw_firing *f, void *ctx)
{
	struct pair *p = ctx;

	(void)f;
	fault_gate_open(&p->begun);
	fault_gate_wait(&p->end);
}

static void wait_for_the_running_one(void *ctx)
{
	struct pair *p = ctx;

	must(tkw_timer_cancel_wait(p->t, p->running) == -EDEADLK);
	must(tkw_timer_cancel(p->t, p->running) == -EBUSY);
}

/* SPEC 5.3, fault 10: an on-cancel callback must not wait, because another
 * thread may wait for it. */
static void fault_10_an_on_cancel_does_not_wait(struct timer_bed *b)
{
	struct pair p = { .t = b->t };
	const struct tkw_task runs = { .fn = run_until_told, .ctx = &p };
	const struct tkw_task ends = { .fn = never_runs,
				       .ctx = &p,
				       .on_cancel = wait_for_the_running_one };
	pthread_t driver;
	struct tkw_timeout_id id;

	fault_gate_init(&p.begun);
	fault_gate_init(&p.end);
	assert_int_equal(tkw_timer_schedule(b->t, &runs, 0, &p.running), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &ends, TKW_SEC, &id), 0);
	fault_spawn(&driver, turn_once, b);
	fault_gate_wait(&p.begun);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	fault_gate_open(&p.end);
	fault_join(driver);
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_10_an_on_cancel_does_not_wait)

/* A timeout whose memory is freed as soon as cancel_wait has returned. */
struct mortal {
	atomic_ulong *fired;
	uint64_t sound;
};

static void use_mortal(const struct tkw_firing *f, void *ctx)
{
	struct mortal *m = ctx;

	(void)f;
	must(m->sound == 0x5053);
	atomic_fetch_add(m->fired, 1);
	must(m->sound == 0x5053);
}

/* SPEC 5.3, fault 10: whatever cancel_wait returns, the argument may be
 * freed. */
static void fault_10_after_cancel_wait_the_argument_is_free(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	struct tkw_task task = { .fn = use_mortal };
	uint64_t seed = fault_seed();
	unsigned long cancelled = 0;
	atomic_ulong fired = 0;
	struct fault_pump p;
	struct mortal *m;
	unsigned round;
	struct tkw_timeout_id id;
	int ret;

	fault_pump_open(&p, fault_drive(state), &cfg);
	for (round = 0; round < 20000 / FAULT_SLOWNESS; round++) {
		m = malloc(sizeof(*m));
		must(m != NULL);
		m->fired = &fired;
		m->sound = 0x5053;
		task.ctx = m;
		must(tkw_timer_schedule(p.t, &task,
					(int64_t)fault_below(&seed, 80000),
					&id) == 0);
		if (round % 4 == 0)
			sched_yield();
		ret = tkw_timer_cancel_wait(p.t, id);
		must(ret == 0 || ret == 1 || ret == -ENOENT);
		cancelled += ret == 0;
		m->sound = 0;
		free(m);
	}
	assert_int_equal(atomic_load(&fired) + cancelled, round);
	fault_pump_close(&p);
}

/* --- 11: a periodic task is cancelled ---------------------------------- */

struct periodic {
	struct tkw_timer *t;
	pthread_mutex_t lock;
	struct tkw_timeout_id id;
	atomic_ulong runs;
	bool over;
	atomic_bool dead; /* cancel_wait has returned */
};

static void run_and_rearm(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task again = { .fn = run_and_rearm, .ctx = ctx };
	struct periodic *p = ctx;

	must(!atomic_load(&p->dead));
	atomic_fetch_add(&p->runs, 1);
	pthread_mutex_lock(&p->lock);
	if (!p->over)
		must(tkw_timer_schedule(f->timer, &again, 0, &p->id) == 0);
	pthread_mutex_unlock(&p->lock);
}

static int end_periodic(struct periodic *p)
{
	struct tkw_timeout_id id;
	int ret;

	pthread_mutex_lock(&p->lock);
	p->over = true;
	id = p->id;
	pthread_mutex_unlock(&p->lock);
	ret = tkw_timer_cancel_wait(p->t, id);
	atomic_store(&p->dead, true);
	return ret;
}

/* SPEC 5.3, fault 11 */
static void fault_11_no_run_after_a_periodic_task_was_cancelled(void **state)
{
	enum {
		ROUNDS = 2000 / FAULT_SLOWNESS
	};
	static struct periodic rounds[ROUNDS];
	struct tkw_task task = { .fn = run_and_rearm };
	uint64_t seed = fault_seed();
	unsigned long runs = 0;
	unsigned waited = 0;
	struct fault_pump p;
	struct tkw_ledger l;
	unsigned i;
	int ret;

	memset(rounds, 0, sizeof(rounds));
	fault_pump_open(&p, fault_drive(state), NULL);
	for (i = 0; i < ROUNDS; i++) {
		rounds[i].t = p.t;
		pthread_mutex_init(&rounds[i].lock, NULL);
		task.ctx = &rounds[i];
		pthread_mutex_lock(&rounds[i].lock);
		must(tkw_timer_schedule(p.t, &task, 0, &rounds[i].id) == 0);
		pthread_mutex_unlock(&rounds[i].lock);
		fault_await(&rounds[i].runs, fault_below(&seed, 4));
		ret = end_periodic(&rounds[i]);
		must(ret == 0 || ret == 1 || ret == -ENOENT);
		waited += ret == 1;
	}
	fault_pump_halt(&p);
	l = fault_ledger(p.t);
	print_message("%u cancelled, %u waited for\n", (unsigned)l.cancelled,
		      waited);
	for (i = 0; i < ROUNDS; i++)
		runs += atomic_load(&rounds[i].runs);
	assert_int_equal(l.fired, runs);
	assert_int_equal(l.pending, 0);
	assert_int_equal(l.fired + l.cancelled, l.accepted);
	fault_pump_close(&p);
}

struct last_run {
	struct held held; /* must be first */
	unsigned runs;
	atomic_bool over;
};

static void hold_and_rearm(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task again = { .fn = hold_and_rearm, .ctx = ctx };
	struct last_run *r = ctx;

	r->runs++;
	hold(f, &r->held);
	if (!atomic_load(&r->over))
		must(tkw_timer_schedule(f->timer, &again, 0, NULL) == 0);
}

/* The task reads `over` after all waiters sleep. */
static void *end_and_wait(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&((struct last_run *)w->h)->over, true);
	return cancel_and_wait(w);
}

/* SPEC 5.3, fault 11 */
static void
fault_11_the_round_that_was_waited_for_is_the_last(struct timer_bed *b)
{
	struct last_run r = { .runs = 0 };
	const struct tkw_task task = { .fn = hold_and_rearm, .ctx = &r };

	held_init(&r.held, b->t);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &r.held.id), 0);
	held_pass(&r.held, b, end_and_wait);
	bed_pass(b, TKW_SEC);
	assert_int_equal(r.runs, 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_11_the_round_that_was_waited_for_is_the_last)

/* --- 12: exit() --------------------------------------------------------- */

static struct tkw_timer *exiting;

static void at_exit(void)
{
	/* This runs inside the task. It must not wait for the task or the
	 * worker. */
	printf("destroy=%d", tkw_timer_destroy(exiting));
}

static void exit_from_task(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
	printf("task ");
	exit(7);
}

static int child_exits(int drive)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = drive };
	const struct tkw_task task = { .fn = exit_from_task };
	int i;

	must(atexit(at_exit) == 0);
	must(tkw_timer_create(&exiting, &cfg) == 0);
	for (i = 0; i < 10; i++)
		must(tkw_timer_schedule(exiting, &task, TKW_MSEC, NULL) == 0);
	while (drive == TKW_DRIVE_MANUAL)
		must(tkw_timer_turn(exiting, 0, NULL) >= 0);
	for (;;)
		pause();
}

/* SPEC 4.9, fault 12: exit() still runs the handlers of atexit(), and flushes
 * the streams of stdio. */
static void fault_12_exit_from_a_task_ends_the_process(void **state)
{
	const bool manual = fault_drive(state) == TKW_DRIVE_MANUAL;
	char expected[64];
	char out[64];
	int status;

	snprintf(expected, sizeof(expected), "task destroy=%d", -EDEADLK);
	status = fault_child(manual ? "exit_manual" : "exit_thread", "", out,
			     sizeof(out));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_string_equal(out, expected);
}

#define ON_MANUAL_BED(name)                                                    \
	cmocka_unit_test_setup_teardown(name, bed_setup_manual, bed_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(fault_06_each_round_of_a_loop_is_a_turn),
		ON_MANUAL_BED(fault_06_a_turn_ends_while_the_clock_stands),
		ON_MANUAL_BED(fault_06_what_a_turn_schedules_is_for_the_next),
		BED_TESTS(fault_07_a_task_cannot_cancel_itself),
		BED_TESTS(fault_08_a_peer_due_in_the_same_turn_is_cancelled),
		BED_TESTS(fault_08_a_peer_is_cancelled_by_cancel_wait),
		BED_TESTS(fault_08_peers_of_other_shards_are_cancelled),
		BED_TESTS(fault_08_a_peer_due_in_the_same_turn_is_put_off),
		BED_TESTS(fault_09_a_task_cannot_end_its_timer),
		BED_TESTS(fault_09_an_on_cancel_cannot_end_its_timer),
		BED_TESTS(fault_09_a_visitor_cannot_end_its_timer),
		BED_TESTS(fault_10_cancel_wait_waits_for_a_running_task),
		BED_TESTS(fault_10_an_on_cancel_does_not_wait),
		FAULT_BOTH(fault_10_after_cancel_wait_the_argument_is_free),
		FAULT_BOTH(fault_11_no_run_after_a_periodic_task_was_cancelled),
		BED_TESTS(fault_11_the_round_that_was_waited_for_is_the_last),
		FAULT_BOTH(fault_12_exit_from_a_task_ends_the_process),
	};

	if (argc > 2 && strcmp(argv[1], "--child") == 0)
		return child_exits(strcmp(argv[2], "exit_manual") == 0
					   ? TKW_DRIVE_MANUAL
					   : TKW_DRIVE_THREAD);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
