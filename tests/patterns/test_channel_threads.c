/* SPDX-License-Identifier: MIT */
/*
 * test_channel_threads.c - SPEC 8.2: sets of channels with several threads:
 * what remove and destroy wait for, executors that refuse, marks, adds and
 * removes beside the steps, and forks.
 */
#include "channel_bed.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "tickwheel/retry.h"

/* --- helpers ------------------------------------------------------------- */

static void spawn(pthread_t *thread, void *(*run)(void *), void *arg)
{
	assert_int_equal(pthread_create(thread, NULL, run, arg), 0);
}

static void join(pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* An action that waits at a gate. */
struct hold {
	struct gate gate;
	int kind; /* the kind that waits; see `others` */
	int (*others)(struct world *w, struct user *u, int kind);
	atomic_int running[KINDS];
	atomic_int over;
	struct user *peer; /* a channel that an action removes */
};

static int pass_gate(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;

	must(atomic_fetch_add(&h->running[kind], 1) == 0);
	if (h->kind == kind || h->kind == KINDS) {
		gate_pass(&h->gate);
		/* It uses its channel until it ends. */
		tkw_channel_mark_write(&u->ch, 1);
		atomic_store(&h->over, 1);
	} else if (h->others) {
		h->others(w, u, kind);
	}
	atomic_fetch_sub(&h->running[kind], 1);
	return 0;
}

static void hold_init(struct hold *h, struct world *w, int kind)
{
	memset(h, 0, sizeof(*h));
	gate_init(&h->gate);
	h->kind = kind;
	w->act = pass_gate;
	w->more = h;
}

/* Lets a period pass, but does not wait for the actions. */
static void begin_period(struct world *w)
{
	bed_set_clock(w->b, now_of(w) + PERIOD_NS + TKW_MSEC);
	bed_wake(w->b);
}

/* The wake-up may still be on the timer. */
static void end_world(struct world *w)
{
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	free(w);
}

/* Opens a gate when a call that should wait for it sleeps. It also opens the
 * gate if the call returns without waiting. Then `over` is 0. */
struct opener {
	struct gate *gate;
	pid_t tid;
	atomic_int returned;
	pthread_t thread;
};

static void *open_when_asleep(void *arg)
{
	struct opener *o = arg;

	while (!atomic_load(&o->returned) && !bed_is_asleep(o->tid))
		sched_yield();
	gate_open(o->gate);
	return NULL;
}

static void opener_start(struct opener *o, struct gate *gate)
{
	o->gate = gate;
	o->tid = gettid();
	atomic_init(&o->returned, 0);
	spawn(&o->thread, open_when_asleep, o);
}

static void opener_end(struct opener *o)
{
	atomic_store(&o->returned, 1);
	join(o->thread);
}

/* --- remove and destroy wait --------------------------------------------- */

/* SPEC 8.2: when remove has returned, the channel may be freed. */
static void test_channel_remove_waits_for_the_action(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(1);
	struct opener o;
	struct hold h;

	hold_init(&h, w, CLOSE);
	add_old(w, u);
	begin_period(w);
	gate_await(&h.gate, 1);
	opener_start(&o, &h.gate);
	drop(w, u);
	assert_int_equal(atomic_load(&h.over), 1);
	free(u);
	opener_end(&o);
	end_world(w);
}
BED_TEST(test_channel_remove_waits_for_the_action)

/* SPEC 8.2: the action of one channel does not delay the remove of another. */
static void test_channel_remove_of_another_does_not_wait(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(3);
	struct hold h;

	hold_init(&h, w, CLOSE);
	add_old(w, &u[0]);
	add_old(w, &u[1]);
	begin_period(w);
	gate_await(&h.gate, 1);
	add_old(w, &u[2]);
	/* This is the next one in the list. It is never looked at. */
	drop(w, &u[1]);
	assert_int_equal(atomic_load(&h.over), 0);
	gate_open(&h.gate);
	bed_pass(b, 0);
	assert_int_equal(u[1].calls[CLOSE], 0);
	assert_int_equal(u[2].calls[CLOSE], 1);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_remove_of_another_does_not_wait)

/* SPEC 8.2 */
static void test_channel_destroy_waits_for_the_action(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(1);
	struct opener o;
	struct hold h;

	hold_init(&h, w, HEARTBEAT);
	add_old(w, u);
	begin_period(w);
	gate_await(&h.gate, 1);
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	opener_start(&o, &h.gate);
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	assert_int_equal(atomic_load(&h.over), 1);
	free(u);
	opener_end(&o);
	bed_pass(b, HOUR_NS);
	assert_int_equal(w->calls, 1);
	free(w);
}
BED_TEST(test_channel_destroy_waits_for_the_action)

struct remover {
	struct world *w;
	struct user *u;
	atomic_int *refused;
	int said;
	pthread_t thread;
};

static void *remove_beside(void *arg)
{
	struct remover *r = arg;

	r->said = tkw_channels_remove(r->w->set, &r->u->ch);
	if (r->said == -ENOENT)
		atomic_fetch_add(r->refused, 1);
	return NULL;
}

/* SPEC 8.2: if several threads remove it, one succeeds, and waits for the
 * action. */
static void test_channel_has_one_remover(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(1);
	struct remover r[3];
	atomic_int refused;
	struct hold h;
	int i, got = 0;

	atomic_init(&refused, 0);
	hold_init(&h, w, CLOSE);
	add_old(w, u);
	begin_period(w);
	gate_await(&h.gate, 1);
	for (i = 0; i < 3; i++) {
		r[i] = (struct remover){ .w = w, .u = u, .refused = &refused };
		spawn(&r[i].thread, remove_beside, &r[i]);
	}
	while (atomic_load(&refused) < 2)
		sched_yield();
	gate_open(&h.gate);
	for (i = 0; i < 3; i++) {
		join(r[i].thread);
		assert_true(r[i].said == 0 || r[i].said == -ENOENT);
		got += r[i].said == 0;
	}
	assert_int_equal(got, 1);
	end_world(w);
	free(u);
}
BED_TEST(test_channel_has_one_remover)

/* --- a pool -------------------------------------------------------------- */

static struct tkw_pool *pool_for(struct timer_bed *b, int threads)
{
	const struct tkw_pool_config cfg = { .threads = threads };
	struct tkw_timer_config timer = { 0 };
	struct tkw_pool *pool = NULL;

	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	timer.exec = tkw_pool_exec(pool);
	bed_reopen(b, &timer);
	return pool;
}

static void close_pool(struct timer_bed *b, struct tkw_pool *pool)
{
	bed_reopen(b, NULL);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}

/* Lets what is due go into the pool, and waits for nothing. */
static void begin_on_pool(struct world *w)
{
	bed_set_clock(w->b, now_of(w) + PERIOD_NS + TKW_MSEC);
	if (bed_by_hand(w->b))
		assert_int_equal(bed_turn(w->b, NULL), 0);
	else
		bed_wake(w->b);
}

/* Adds three channels. Each has actions for one kind more than the one
 * before. */
static void add_three(struct world *w, struct user *u)
{
	int i;

	for (i = 0; i < 3; i++)
		add(w, &u[i]);
	/* This mark is older than 1 ns and younger than CLOSE_AFTER_NS. */
	tkw_channel_mark_write(&u[0].ch, now_of(w));
	tkw_channel_mark_connected(&u[1].ch, 0);
	tkw_channel_mark_write(&u[2].ch, 1);
}
#define CLOSE_AFTER_NS (900 * TKW_SEC)

static struct world *open_three(struct timer_bed *b)
{
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, 1, PERIOD_NS),
			   [RECONNECT] = rule_of(RECONNECT, 1, PERIOD_NS),
			   [CLOSE] =
				   rule_of(CLOSE, CLOSE_AFTER_NS, PERIOD_NS) },
	};

	return open_with(b, cfg);
}

/* SPEC 8.2, 4.8: the three kinds run side by side, but only one action of
 * each. */
static void test_channel_kinds_run_side_by_side(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 6);
	struct world *w = open_three(b);
	struct user *u = make_users(3);
	struct hold h;
	int i;

	hold_init(&h, w, KINDS);
	add_three(w, u);
	begin_on_pool(w);
	gate_await(&h.gate, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(u[i].calls[i], 1);
	/* The next steps come while these actions run, and look at nothing. */
	for (i = 0; i < 5; i++)
		begin_on_pool(w);
	assert_int_equal(h.gate.came, 3);
	gate_open(&h.gate);
	/* Afterwards, steps go on. */
	for (i = 0; i < 3; i++) {
		while (u[i].calls[i] < 3)
			begin_on_pool(w);
	}
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	free(w);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_kinds_run_side_by_side)

/* SPEC 8.2: a shutdown does not wait for actions. */
static void test_channel_shutdown_does_not_wait(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 6);
	struct world *w = open_three(b);
	struct user *u = make_users(3);
	struct hold h;

	hold_init(&h, w, KINDS);
	add_three(w, u);
	begin_on_pool(w);
	gate_await(&h.gate, 3);
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	assert_int_equal(atomic_load(&h.over), 0);
	gate_open(&h.gate);
	end_world(w);
	assert_int_equal(h.gate.came, 3);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_shutdown_does_not_wait)

/* Removes the peer, which has a running action, and then its own channel. */
static int remove_both(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;

	if (kind != CLOSE)
		return 0;
	gate_await(&h->gate, 1);
	h->peer->said = tkw_channels_remove(w->set, &h->peer->ch);
	u->said = tkw_channels_remove(w->set, &u->ch);
	gate_open(&h->gate);
	return 0;
}

/* SPEC 8.2: two actions must not wait for each other. The remove is refused,
 * and changes nothing. */
static void test_channel_remove_of_a_busy_one_in_an_action(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 3);
	struct world *w = open_three(b);
	struct user *u = make_users(3);
	struct hold h;

	hold_init(&h, w, HEARTBEAT);
	h.others = remove_both;
	h.peer = &u[0];
	u[2].said = 1;
	add_three(w, u);
	begin_on_pool(w);
	while (atomic_load(&h.over) == 0)
		sched_yield();
	assert_int_equal(tkw_channels_shutdown(w->set), 0);
	assert_int_equal(tkw_channels_count(w->set), 2);
	drop(w, &u[0]);
	end_world(w);
	assert_int_equal(u[0].said, -EDEADLK);
	assert_int_equal(u[2].said, 0);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_remove_of_a_busy_one_in_an_action)

struct removal {
	struct world *w;
	struct user *u;
	struct gate *gate;
	atomic_int over;
};

static void remove_in_task(const struct tkw_firing *firing, void *ctx)
{
	struct removal *r = ctx;

	(void)firing;
	gate_await(r->gate, 1);
	r->u->said = tkw_channels_remove(r->w->set, &r->u->ch);
	gate_open(r->gate);
	atomic_store(&r->over, 1);
}

/* SPEC 8.2: other tasks of the timer do not wait for an action either. */
static void test_channel_remove_of_a_busy_one_in_a_task(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 2);
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(1);
	struct hold h;
	struct removal r = { .w = w, .u = u, .gate = &h.gate };
	const struct tkw_task task = { .fn = remove_in_task, .ctx = &r };

	hold_init(&h, w, CLOSE);
	add_old(w, u);
	assert_int_equal(tkw_timer_schedule(b->t, &task, PERIOD_NS, NULL), 0);
	begin_on_pool(w);
	while (atomic_load(&r.over) == 0)
		sched_yield();
	assert_int_equal(u->said, -EDEADLK);
	assert_int_equal(tkw_channels_count(w->set), 1);
	end_world(w);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_remove_of_a_busy_one_in_a_task)

static int try_remove_peer(struct world *w, struct user *u, int kind)
{
	const struct world *peer = w->more;
	struct hold *h = peer->more;

	(void)kind;
	gate_await(&h->gate, 1);
	u->said = tkw_channels_remove(peer->set, &h->peer->ch);
	gate_open(&h->gate);
	return 0;
}

/* SPEC 8.2: actions of two sets on one timer must not wait for each other. */
static void test_channel_remove_from_another_set(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 3);
	const struct tkw_channels_config cfg = {
		.rules = { [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};
	struct world *w = open_with(b, cfg);
	struct world *other = open_with(b, cfg);
	struct user *u = make_users(2);
	struct hold h;

	hold_init(&h, w, CLOSE);
	h.peer = &u[0];
	other->act = try_remove_peer;
	other->more = w;
	add_old(w, &u[0]);
	add_old(other, &u[1]);
	begin_on_pool(w);
	while (atomic_load(&h.over) == 0)
		sched_yield();
	assert_int_equal(tkw_channels_destroy(other->set), 0);
	assert_int_equal(u[1].said, -EDEADLK);
	free(other);
	end_world(w);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_remove_from_another_set)

/* --- an executor by hand ------------------------------------------------- */

enum {
	JOBS = 64
};

static struct {
	int refuse; /* how many jobs it refuses */
	int count;
	struct tkw_job job[JOBS];
} hand;

static int take_job(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	if (hand.refuse > 0) {
		hand.refuse--;
		return -EAGAIN;
	}
	must(hand.count < JOBS);
	hand.job[hand.count++] = *job;
	return 0;
}

static void open_hand(struct timer_bed *b, int refusal, int64_t max_pending)
{
	static const struct tkw_exec exec = { .submit = take_job };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .refusal = refusal,
					      .max_pending = max_pending };

	memset(&hand, 0, sizeof(hand));
	bed_reopen(b, &cfg);
}

static void run_job(void)
{
	struct tkw_job job = hand.job[--hand.count];

	job.run(&job);
}

static void *run_job_beside(void *unused)
{
	run_job();
	return unused;
}

/* Lets time pass. The jobs that become due are then in the hand. */
static void pass_turn(struct timer_bed *b, int64_t ns)
{
	bed_set_clock(b, tkw_timer_now_ns(b->t) + ns);
	assert_true(tkw_timer_turn(b->t, 0, NULL) >= 0);
}

/* Makes the only kind of a set pause. `id` has its place on the timer. */
static struct tkw_timeout_id make_it_pause(struct world *w, struct user *u,
					   struct hold *h)
{
	struct tkw_timeout_id id;
	pthread_t thread;

	hold_init(h, w, CLOSE);
	add_old(w, u);
	pass_turn(w->b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 1);
	spawn(&thread, run_job_beside, NULL);
	gate_await(&h->gate, 1);
	/* The next step finds that the action of the last one still runs, and
	 * gives up its place. Another timeout takes the place. */
	pass_turn(w->b, PERIOD_NS);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(tkw_timer_count(w->b->t), 0);
	id = bed_schedule(w->b, 1, 1000 * HOUR_NS);
	gate_open(&h->gate);
	join(thread);
	assert_int_equal(stats_of(w).refused[CLOSE], 1);
	assert_int_equal(stats_of(w).steps[CLOSE], 1);
	assert_int_equal(tkw_timer_count(w->b->t), 1);
	return id;
}

/* SPEC 8.2, 3.6: a step that is refused by the limit of the timer is not lost.
 * An add or a remove brings it back. */
static void test_channel_pauses_at_the_limit(struct timer_bed *b)
{
	struct world *w;
	struct user *u = make_users(3);
	struct tkw_timeout_id id;
	struct hold h;

	open_hand(b, TKW_REFUSED_INLINE, 1);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	id = make_it_pause(w, &u[0], &h);
	/* An add is refused if it cannot bring the step back. */
	assert_int_equal(tkw_channels_add(w->set, &u[1].ch), -EAGAIN);
	assert_int_equal(stats_of(w).channels, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	pass_turn(b, HOUR_NS);
	assert_int_equal(hand.count, 0);
	add_old(w, &u[1]);
	pass_turn(b, TKW_MSEC);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(u[0].calls[CLOSE], 2);
	assert_int_equal(u[1].calls[CLOSE], 1);
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	run_job();
	assert_int_equal(u[0].calls[CLOSE], 3);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_pauses_at_the_limit)

static void test_channel_remove_ends_a_pause(struct timer_bed *b)
{
	struct world *w;
	struct user *u = make_users(2);
	struct tkw_timeout_id id;
	struct hold h;

	open_hand(b, TKW_REFUSED_INLINE, 1);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	add(w, &u[1]); /* it was never marked */
	id = make_it_pause(w, &u[0], &h);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	drop(w, &u[1]);
	pass_turn(b, TKW_MSEC);
	run_job();
	assert_int_equal(u[0].calls[CLOSE], 2);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_remove_ends_a_pause)

/* SPEC 4.8: if the executor refuses a step and the timer drops it, it comes
 * again. */
static void test_channel_dropped_step_comes_again(struct timer_bed *b)
{
	struct world *w;
	struct user *u = make_users(1);
	struct tkw_ledger l;
	int i;

	open_hand(b, TKW_REFUSED_DROP, 0);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	add_old(w, u);
	hand.refuse = 3;
	for (i = 0; i < 3; i++) {
		pass_turn(b, PERIOD_NS + TKW_MSEC);
		assert_int_equal(hand.count, 0);
		/* It does not come before the time of the next step. */
		pass_turn(b, TKW_MSEC);
		assert_int_equal(hand.refuse, 2 - i);
		assert_int_equal(tkw_timer_count(b->t), 1);
	}
	pass_turn(b, PERIOD_NS);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(u->calls[CLOSE], 1);
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	assert_int_equal(l.dropped, 3);
	/* It was dropped after the last channel was removed. It does not come
	 * again. */
	pass_turn(b, PERIOD_NS);
	drop(w, u);
	assert_int_equal(tkw_timer_count(b->t), 0);
	while (hand.count > 0)
		run_job();
	assert_int_equal(u->calls[CLOSE], 1);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_dropped_step_comes_again)

/* SPEC 4.8: a refused step is run by the worker, or offered again. */
static void test_channel_refused_step_runs(struct timer_bed *b)
{
	struct world *w;
	struct user *u = make_users(1);

	open_hand(b, TKW_REFUSED_INLINE, 0);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	add_old(w, u);
	hand.refuse = 1;
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(u->calls[CLOSE], 1);
	close_world(w);
	open_hand(b, TKW_REFUSED_RETRY, 0);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	add_old(w, u);
	hand.refuse = 1;
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 0);
	pass_turn(b, TKW_MSEC);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(u->calls[CLOSE], 2);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_refused_step_runs)

/* --- two kinds for one channel, by hand ---------------------------------- */

/* A thread that runs a job from the hand. */
struct runner {
	struct tkw_job job;
	pthread_t thread;
};

static void *run_beside(void *arg)
{
	struct runner *r = arg;

	r->job.run(&r->job);
	return NULL;
}

static void runner_start(struct runner *r, int job)
{
	r->job = hand.job[job];
	spawn(&r->thread, run_beside, r);
}

/* Heartbeats of the first channel wait at the gate. Closes do what `others`
 * says. */
struct two {
	struct world *w;
	struct user *u;
	struct hold h;
	struct runner heartbeat;
};

/* Both kinds are due for both channels. The heartbeat of the first one waits at
 * the gate, and the step of the closes is in the hand. */
static void two_open(struct two *t, struct timer_bed *b,
		     int (*others)(struct world *w, struct user *u, int kind))
{
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, 1, PERIOD_NS),
			   [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};

	open_hand(b, TKW_REFUSED_INLINE, 0);
	t->w = open_with(b, cfg);
	hold_init(&t->h, t->w, HEARTBEAT);
	t->h.others = others;
	t->u = make_users(2);
	t->h.peer = &t->u[1];
	add_old(t->w, &t->u[0]);
	add_old(t->w, &t->u[1]);
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	/* The jobs are in the order of the kinds. */
	assert_int_equal(hand.count, 2);
	runner_start(&t->heartbeat, 0);
	gate_await(&t->h.gate, 1);
	hand.job[0] = hand.job[1];
	hand.count = 1;
}

static void two_close(struct two *t)
{
	end_world(t->w);
	free(t->u);
}

/* Checks that no heartbeat runs for this channel. */
static int close_after(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;

	must(kind == CLOSE);
	if (u == h->peer)
		return 0;
	must(atomic_load(&h->over) == 1);
	u->said = tkw_channels_remove(w->set, &u->ch);
	must(tkw_channels_remove(w->set, &u->ch) == -ENOENT);
	/* The channel is freed at once. */
	memset(&u->ch, 0xff, sizeof(u->ch));
	return 0;
}

/* SPEC 8.2: a step does not wait for an action of another kind. It leaves out
 * that channel only, until its next pass. */
static void test_channel_actions_for_one_do_not_overlap(struct timer_bed *b)
{
	struct two t;

	two_open(&t, b, close_after);
	t.u[0].said = 1;
	run_job();
	assert_int_equal(atomic_load(&t.h.over), 0);
	assert_int_equal(t.u[0].calls[CLOSE], 0);
	assert_int_equal(t.u[1].calls[CLOSE], 1);
	assert_int_equal(stats_of(t.w).steps[CLOSE], 1);
	assert_int_equal(stats_of(t.w).looks[CLOSE], 2);
	assert_int_equal(stats_of(t.w).calls[CLOSE], 1);
	gate_open(&t.h.gate);
	join(t.heartbeat.thread);
	assert_int_equal(t.u[0].calls[HEARTBEAT], 1);
	assert_int_equal(t.u[1].calls[HEARTBEAT], 1);
	pass_turn(b, PERIOD_NS);
	assert_int_equal(hand.count, 2);
	run_job();
	assert_int_equal(t.u[0].said, 0);
	assert_int_equal(t.u[0].calls[CLOSE], 1);
	assert_int_equal(t.u[1].calls[CLOSE], 2);
	assert_int_equal(stats_of(t.w).looks[CLOSE], 4);
	assert_int_equal(tkw_channels_count(t.w->set), 1);
	run_job();
	two_close(&t);
}
BED_TEST(test_channel_actions_for_one_do_not_overlap)

/* SPEC 8.2: the same while a thread removes the channel and waits for the
 * action. The step does not see the channel. */
static void test_channel_removed_while_an_action_runs(struct timer_bed *b)
{
	struct remover r = { 0 };
	struct two t;

	two_open(&t, b, close_after);
	r = (struct remover){ .w = t.w, .u = &t.u[0] };
	spawn(&r.thread, remove_beside, &r);
	while (tkw_channels_count(t.w->set) == 2)
		sched_yield();
	run_job();
	assert_int_equal(atomic_load(&t.h.over), 0);
	assert_int_equal(t.u[0].calls[CLOSE], 0);
	assert_int_equal(t.u[1].calls[CLOSE], 1);
	assert_int_equal(stats_of(t.w).looks[CLOSE], 1);
	gate_open(&t.h.gate);
	join(t.heartbeat.thread);
	join(r.thread);
	assert_int_equal(r.said, 0);
	two_close(&t);
}
BED_TEST(test_channel_removed_while_an_action_runs)

/* The heartbeat of the first channel removes and frees it, and runs on until
 * the second one is closed. */
static int remove_and_stay(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;

	if (u == h->peer) {
		if (kind == CLOSE)
			atomic_store(&h->over, 1);
		return 0;
	}
	must(kind == HEARTBEAT);
	gate_pass(&h->gate);
	must(tkw_channels_remove(w->set, &u->ch) == 0);
	free(u);
	while (atomic_load(&h->over) == 0)
		sched_yield();
	return 0;
}

/* SPEC 8.2: the same if the action itself removes the channel, frees it at
 * once, and runs on. */
static void test_channel_freed_while_its_action_runs(struct timer_bed *b)
{
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, 1, PERIOD_NS),
			   [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};
	struct runner heartbeats;
	struct user *first = make_users(1);
	struct user *second = make_users(1);
	struct world *w;
	struct hold h;

	open_hand(b, TKW_REFUSED_INLINE, 0);
	w = open_with(b, cfg);
	hold_init(&h, w, HEARTBEAT);
	h.peer = second;
	w->act = remove_and_stay;
	add_old(w, first);
	add_old(w, second);
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 2);
	runner_start(&heartbeats, 0);
	gate_await(&h.gate, 1);
	gate_open(&h.gate);
	while (tkw_channels_count(w->set) == 2)
		sched_yield();
	run_job();
	join(heartbeats.thread);
	assert_int_equal(second->calls[CLOSE], 1);
	assert_int_equal(second->calls[HEARTBEAT], 1);
	assert_int_equal(tkw_channels_count(w->set), 1);
	end_world(w);
	free(second);
}
BED_TEST(test_channel_freed_while_its_action_runs)

/* Runs a job, as a thread of an executor may do while it waits for
 * something. */
static int help(struct world *w, struct user *u, int kind)
{
	(void)w;
	(void)u;
	if (kind == HEARTBEAT && hand.count > 0)
		run_job();
	return 0;
}

/* SPEC 8.2: a step that runs inside an action does not wait for the action. It
 * leaves the channel out until the next period. */
static void test_channel_step_inside_an_action(struct timer_bed *b)
{
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, 1, PERIOD_NS),
			   [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};
	struct user *u = make_users(2);
	struct tkw_job first;
	struct world *w;

	open_hand(b, TKW_REFUSED_INLINE, 0);
	w = open_with(b, cfg);
	w->act = help;
	add_old(w, &u[0]);
	add_old(w, &u[1]);
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 2);
	first = hand.job[0];
	hand.job[0] = hand.job[1];
	hand.count = 1;
	first.run(&first);
	assert_int_equal(u[0].calls[HEARTBEAT], 1);
	assert_int_equal(u[1].calls[HEARTBEAT], 1);
	assert_int_equal(u[0].calls[CLOSE], 0);
	assert_int_equal(u[1].calls[CLOSE], 1);
	assert_int_equal(stats_of(w).looks[CLOSE], 2);
	pass_turn(b, PERIOD_NS);
	while (hand.count > 0)
		run_job();
	assert_int_equal(u[0].calls[CLOSE], 1);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_step_inside_an_action)

static void remove_on_cancel(void *ctx)
{
	struct removal *r = ctx;

	r->u->said = tkw_channels_remove(r->w->set, &r->u->ch);
}

static void do_nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
}

/* A heartbeat runs a job, and then goes on with its channel. The job is a
 * close, which removes that channel, and then its own. */
static int help_and_remove(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;
	struct removal r = { .w = w, .u = u };
	const struct tkw_task task = { .fn = do_nothing,
				       .ctx = &r,
				       .on_cancel = remove_on_cancel };
	struct tkw_timeout_id id;

	if (kind == CLOSE) {
		must(u == h->peer);
		must(tkw_channels_remove(w->set, &u[-1].ch) == -EDEADLK);
		must(tkw_channels_remove(w->set, &u->ch) == 0);
		return 0;
	}
	run_job();
	must(tkw_channels_count(w->set) == 1);
	/* It is refused in another callback that is called here, too. */
	must(tkw_timer_schedule(w->b->t, &task, HOUR_NS, &id) == 0);
	must(tkw_timer_cancel(w->b->t, id) == 0);
	must(u->said == -EDEADLK);
	must(tkw_channels_count(w->set) == 1);
	must(tkw_channels_remove(w->set, &u->ch) == 0);
	return 0;
}

/* SPEC 8.2: only the innermost callback counts as the channel's own action.
 * Code that runs inside it must not remove a channel that an outer action still
 * uses. */
static void test_channel_remove_inside_anothers_action(struct timer_bed *b)
{
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, 1, PERIOD_NS),
			   [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};
	struct user *u = make_users(2);
	struct tkw_job first;
	struct world *w;
	struct hold h;

	open_hand(b, TKW_REFUSED_INLINE, 0);
	w = open_with(b, cfg);
	hold_init(&h, w, KINDS);
	h.peer = &u[1];
	w->act = help_and_remove;
	add_old(w, &u[0]);
	add_old(w, &u[1]);
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 2);
	first = hand.job[0];
	hand.job[0] = hand.job[1];
	hand.count = 1;
	first.run(&first);
	assert_int_equal(u[0].calls[HEARTBEAT], 1);
	assert_int_equal(u[1].calls[HEARTBEAT], 0);
	assert_int_equal(u[1].calls[CLOSE], 1);
	assert_int_equal(tkw_channels_count(w->set), 0);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_remove_inside_anothers_action)

static int never_tried(const struct tkw_try *attempt, void *ctx)
{
	(void)attempt;
	(void)ctx;
	return 0;
}

static void remove_on_end(const struct tkw_retry_end *end, void *ctx)
{
	must(end->status == -ECANCELED);
	remove_on_cancel(ctx);
}

/* SPEC 8.2: a callback of a set on another timer does not wait for an action
 * either, because the action may wait for that callback. */
static void
test_channel_remove_in_a_callback_of_another_set(struct timer_bed *b)
{
	struct tkw_retries_config cfg = { 0 };
	struct tkw_retries *retries;
	struct tkw_retry_id id;
	struct tkw_retry task;
	struct removal r = { 0 };
	struct two t;

	two_open(&t, b, NULL);
	r.w = t.w;
	r.u = &t.u[0];
	assert_int_equal(tkw_timer_create(&cfg.timer, NULL), 0);
	assert_int_equal(tkw_retries_create(&retries, &cfg), 0);
	task = (struct tkw_retry){ .fn = never_tried,
				   .on_end = remove_on_end,
				   .ctx = &r };
	assert_int_equal(tkw_retries_add(retries, &task, HOUR_NS, &id), 0);
	assert_int_equal(tkw_retries_cancel(retries, id), 0);
	assert_int_equal(t.u[0].said, -EDEADLK);
	assert_int_equal(tkw_channels_count(t.w->set), 2);
	/* If there is nothing to wait for, the call is not refused. */
	r.u = &t.u[1];
	assert_int_equal(tkw_retries_add(retries, &task, HOUR_NS, &id), 0);
	assert_int_equal(tkw_retries_cancel(retries, id), 0);
	assert_int_equal(t.u[1].said, 0);
	assert_int_equal(tkw_channels_count(t.w->set), 1);
	assert_int_equal(tkw_retries_destroy(retries), 0);
	assert_int_equal(tkw_timer_destroy(cfg.timer), 0);
	gate_open(&t.h.gate);
	join(t.heartbeat.thread);
	run_job();
	two_close(&t);
}
BED_TEST(test_channel_remove_in_a_callback_of_another_set)

/* SPEC 8.2: each step of another kind tries to end the pause of a kind. */
static void test_channel_other_kind_ends_a_pause(struct timer_bed *b)
{
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, CLOSE_AFTER_NS,
						 PERIOD_NS),
			   [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};
	struct user *u = make_users(1);
	struct tkw_timeout_id id;
	struct runner closes;
	struct world *w;
	struct hold h;

	open_hand(b, TKW_REFUSED_INLINE, 2);
	w = open_with(b, cfg);
	hold_init(&h, w, CLOSE);
	add(w, u);
	tkw_channel_mark_read(&u->ch, now_of(w));
	pass_turn(b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 2);
	runner_start(&closes, 1);
	gate_await(&h.gate, 1);
	hand.count = 1;
	run_job();
	/* The next close finds the action of the last one at its gate. */
	pass_turn(b, PERIOD_NS);
	assert_int_equal(hand.count, 2);
	run_job();
	run_job();
	assert_int_equal(tkw_timer_count(b->t), 1);
	id = bed_schedule(b, 1, 1000 * HOUR_NS);
	gate_open(&h.gate);
	join(closes.thread);
	assert_int_equal(stats_of(w).refused[CLOSE], 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	pass_turn(b, PERIOD_NS);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(tkw_timer_count(b->t), 2);
	pass_turn(b, TKW_MSEC);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(u->calls[CLOSE], 2);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_other_kind_ends_a_pause)

/* --- threads that race --------------------------------------------------- */

enum {
	ROUNDS = 2000,
	RACERS = 3,
	STAYERS = 20
};

struct racer {
	struct world *w;
	pthread_t thread;
	atomic_int *done;
	unsigned added;
	unsigned removed;
	unsigned shut; /* adds refused after the shutdown */
};

static void race(struct world *w, void *(*run)(void *), struct racer *r,
		 atomic_int *done)
{
	int i;

	atomic_init(done, 0);
	for (i = 0; i < RACERS; i++) {
		r[i] = (struct racer){ .w = w, .done = done };
		spawn(&r[i].thread, run, &r[i]);
	}
}

static void *mark_all(void *arg)
{
	struct racer *r = arg;
	struct user *u = r->w->more;
	int i;

	for (i = 0; i < ROUNDS * 10; i++) {
		tkw_channel_mark_read(&u[i % STAYERS].ch, i);
		tkw_channel_mark_write(&u[i % STAYERS].ch, i);
		tkw_channel_mark_connected(&u[i % STAYERS].ch, i % 2);
	}
	atomic_fetch_add(r->done, 1);
	return NULL;
}

/* SPEC 8.2: any thread may set marks while steps read them. */
static void test_channel_marks_beside_steps(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(STAYERS);
	struct racer r[RACERS];
	atomic_int done;
	int i;

	for (i = 0; i < STAYERS; i++)
		add_old(w, &u[i]);
	w->more = u;
	race(w, mark_all, r, &done);
	while (atomic_load(&done) < RACERS)
		pass_a_period(w);
	for (i = 0; i < RACERS; i++)
		join(r[i].thread);
	w->calls = 0;
	pass_a_period(w);
	/* The last marks are visible, and old. */
	assert_int_equal(w->calls, STAYERS * KINDS);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_marks_beside_steps)

/* Uses the channel until the end. It must still exist. */
static int use(struct world *w, struct user *u, int kind)
{
	(void)w;
	tkw_channel_mark_read(&u->ch, 1);
	u->called_ns[kind]++;
	return u->said;
}

static void *come_and_go(void *arg)
{
	struct racer *r = arg;
	struct user *u;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u = calloc(1, sizeof(*u));
		must(u != NULL);
		must(tkw_channels_add(r->w->set, &u->ch) == 0);
		tkw_channel_mark_read(&u->ch, 1);
		if (i % 8 == 0)
			sched_yield();
		must(tkw_channels_remove(r->w->set, &u->ch) == 0);
		free(u);
	}
	atomic_fetch_add(r->done, 1);
	return NULL;
}

static void churn(struct timer_bed *b, bool stayers)
{
	struct world *w = open_all(b, 1, TKW_MSEC);
	struct user *u = make_users(STAYERS);
	struct racer r[RACERS];
	struct tkw_channel_stats s;
	atomic_int done;
	int i;

	w->act = use;
	for (i = 0; i < STAYERS && stayers; i++)
		add_old(w, &u[i]);
	race(w, come_and_go, r, &done);
	while (atomic_load(&done) < RACERS)
		bed_pass(b, TKW_MSEC);
	for (i = 0; i < RACERS; i++)
		join(r[i].thread);
	bed_pass(b, 2 * TKW_MSEC);
	s = stats_of(w);
	assert_int_equal(s.channels, stayers ? STAYERS : 0);
	assert_int_equal(s.refused[CLOSE], 0);
	assert_int_equal(s.calls[HEARTBEAT] + s.calls[RECONNECT] +
				 s.calls[CLOSE],
			 w->calls);
	for (i = 0; i < STAYERS && stayers; i++)
		assert_true(u[i].calls[CLOSE] > 0);
	/* There is one chain for each kind, or none. */
	assert_int_equal(tkw_timer_count(b->t), stayers ? KINDS : 0);
	close_world(w);
	free(u);
}

/* SPEC 8.2: channels that are freed as soon as they are removed. */
static void test_channel_churn_beside_steps(struct timer_bed *b)
{
	churn(b, true);
	churn(b, false);
}
BED_TEST(test_channel_churn_beside_steps)

/* SPEC 8.2, 4.8: the same with kinds that run side by side. */
static void test_channel_churn_on_a_pool(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 3);
	struct world *w = open_all(b, 1, TKW_MSEC);
	struct racer r[RACERS];
	atomic_int done;
	int i;

	w->act = use;
	race(w, come_and_go, r, &done);
	while (atomic_load(&done) < RACERS) {
		bed_set_clock(b, now_of(w) + TKW_MSEC);
		if (bed_by_hand(b))
			assert_true(bed_turn(b, NULL) >= 0);
		else
			bed_wake(b);
		sched_yield();
	}
	for (i = 0; i < RACERS; i++)
		join(r[i].thread);
	assert_int_equal(stats_of(w).channels, 0);
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	free(w);
	close_pool(b, pool);
}
BED_TEST(test_channel_churn_on_a_pool)

/* Each close removes and frees its channel, while heartbeats use theirs. */
static int close_and_free(struct world *w, struct user *u, int kind)
{
	if (kind != CLOSE)
		return use(w, u, kind);
	must(tkw_channels_remove(w->set, &u->ch) == 0);
	free(u);
	return 0;
}

/* SPEC 8.2: on a pool, a close can always remove and free its channel, whatever
 * else runs. The add itself marks the channel, because after the add the
 * channel may be freed already. */
static void test_channel_close_frees_on_a_pool(struct timer_bed *b)
{
	enum {
		COUNT = 5000
	};
	struct tkw_channels_config cfg = all_rules(1, TKW_MSEC);
	struct tkw_pool *pool = pool_for(b, 4);
	struct tkw_channel_stats s;
	struct world *w;
	int added = 0;

	cfg.mark_on_add = 1;
	w = open_with(b, cfg);
	w->act = close_and_free;
	while (added < COUNT || tkw_channels_count(w->set) > 0) {
		for (int i = 0; i < 50 && added < COUNT; i++, added++)
			add(w, make_users(1));
		bed_set_clock(b, now_of(w) + TKW_MSEC);
		if (bed_by_hand(b))
			assert_true(bed_turn(b, NULL) >= 0);
		else
			bed_wake(b);
		sched_yield();
	}
	s = stats_of(w);
	assert_int_equal(s.calls[CLOSE], COUNT);
	assert_int_equal(s.failed[CLOSE], 0);
	print_message("beside the closes: %" PRIu64 " heartbeats\n",
		      s.calls[HEARTBEAT]);
	end_world(w);
	close_pool(b, pool);
}
BED_TEST(test_channel_close_frees_on_a_pool)

static void *add_until_shut(void *arg)
{
	struct racer *r = arg;
	struct user *u = calloc(1, sizeof(*u));
	int err;

	must(u != NULL);
	while ((err = tkw_channels_add(r->w->set, &u->ch)) == 0) {
		r->added++;
		atomic_fetch_add(r->done, 1);
		must(tkw_channels_remove(r->w->set, &u->ch) == 0);
	}
	must(err == -ESHUTDOWN);
	must(tkw_channels_remove(r->w->set, &u->ch) == -ENOENT);
	r->shut++;
	free(u);
	return NULL;
}

/* SPEC 8.2: a shutdown while threads add. Each add succeeds or is refused, and
 * then nothing is pending. */
static void test_channel_shutdown_beside_adds(struct timer_bed *b)
{
	struct racer r[RACERS];
	struct world *w;
	atomic_int done;
	int round, i;

	for (round = 0; round < 50; round++) {
		w = open_all(b, 1, TKW_MSEC);
		race(w, add_until_shut, r, &done);
		while (atomic_load(&done) < 10)
			bed_pass(b, TKW_MSEC);
		assert_int_equal(tkw_channels_shutdown(w->set), 0);
		for (i = 0; i < RACERS; i++) {
			join(r[i].thread);
			assert_int_equal(r[i].shut, 1);
		}
		assert_int_equal(stats_of(w).channels, 0);
		assert_int_equal(tkw_timer_count(b->t), 0);
		close_world(w);
	}
}
BED_TEST(test_channel_shutdown_beside_adds)

/* SPEC 6.2: the same with a stop of the timer, which may come inside an add. */
static void test_channel_timer_stop_beside_adds(struct timer_bed *b)
{
	struct racer r[RACERS];
	struct world *w;
	atomic_int done;
	int round, i;

	for (round = 0; round < 50; round++) {
		bed_reopen(b, NULL);
		w = open_all(b, 1, TKW_MSEC);
		race(w, add_until_shut, r, &done);
		while (atomic_load(&done) < 10)
			sched_yield();
		assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
		for (i = 0; i < RACERS; i++)
			join(r[i].thread);
		close_world(w);
	}
}
BED_TEST(test_channel_timer_stop_beside_adds)

/* --- forks --------------------------------------------------------------- */

/* Returns 0 in the child, which dies with its parent. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static bool ends_well(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void expect_inert(struct world *w, struct user *in, struct user *out)
{
	const struct tkw_channels_config cfg = {
		.timer = w->b->t,
		.rules = { rule_of(HEARTBEAT, 1, 0) },
	};
	struct tkw_channel_stats s;
	struct tkw_channels *set;

	must(tkw_channels_add(w->set, &out->ch) == -EPERM);
	must(tkw_channels_remove(w->set, &in->ch) == -EPERM);
	must(tkw_channels_get_stats(w->set, &s) == -EPERM);
	must(tkw_channels_count(w->set) == 0);
	must(tkw_channels_shutdown(w->set) == -EPERM);
	must(tkw_channels_create(&set, &cfg) == -EPERM);
	must(tkw_channels_destroy(w->set) == 0);
}

/* SPEC 6.7 */
static void test_channel_in_a_child_is_inert(struct timer_bed *b)
{
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(2);
	pid_t child;

	add_old(w, &u[0]);
	pass_a_period(w);
	child = fork_child();
	if (child == 0) {
		expect_inert(w, &u[0], &u[1]);
		_exit(0);
	}
	assert_true(ends_well(child));
	bed_pass(b, PERIOD_NS);
	assert_int_equal(u[0].calls[CLOSE], 2);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_in_a_child_is_inert)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* With the manual drive, the action runs on the test's own
		 * thread. */
		BED_TEST_UNDER(test_channel_remove_waits_for_the_action,
			       thread),
		BED_TEST_UNDER(test_channel_remove_of_another_does_not_wait,
			       thread),
		BED_TEST_UNDER(test_channel_destroy_waits_for_the_action,
			       thread),
		BED_TEST_UNDER(test_channel_has_one_remover, thread),
		BED_TESTS(test_channel_kinds_run_side_by_side),
		BED_TESTS(test_channel_shutdown_does_not_wait),
		BED_TESTS(test_channel_remove_of_a_busy_one_in_an_action),
		BED_TESTS(test_channel_remove_of_a_busy_one_in_a_task),
		BED_TESTS(test_channel_remove_from_another_set),
		/* These take jobs by hand between two turns. */
		BED_TEST_UNDER(test_channel_pauses_at_the_limit, manual),
		BED_TEST_UNDER(test_channel_remove_ends_a_pause, manual),
		BED_TEST_UNDER(test_channel_dropped_step_comes_again, manual),
		BED_TEST_UNDER(test_channel_refused_step_runs, manual),
		BED_TEST_UNDER(test_channel_actions_for_one_do_not_overlap,
			       manual),
		BED_TEST_UNDER(test_channel_removed_while_an_action_runs,
			       manual),
		BED_TEST_UNDER(test_channel_freed_while_its_action_runs,
			       manual),
		BED_TEST_UNDER(test_channel_step_inside_an_action, manual),
		BED_TEST_UNDER(test_channel_remove_inside_anothers_action,
			       manual),
		BED_TEST_UNDER(test_channel_remove_in_a_callback_of_another_set,
			       manual),
		BED_TEST_UNDER(test_channel_other_kind_ends_a_pause, manual),
		BED_TESTS(test_channel_marks_beside_steps),
		BED_TESTS(test_channel_churn_beside_steps),
		BED_TESTS(test_channel_churn_on_a_pool),
		BED_TESTS(test_channel_close_frees_on_a_pool),
		BED_TESTS(test_channel_shutdown_beside_adds),
		BED_TESTS(test_channel_timer_stop_beside_adds),
		BED_TESTS(test_channel_in_a_child_is_inert),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
