/* SPDX-License-Identifier: MIT */
/*
 * test_channel_threads.c - SPEC 8.2: sets of channels with several threads:
 * what remove and destroy wait for, executors and what they refuse, marks and
 * churn beside the steps, and forks.
 */
#include "channel_bed.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"

/* --- helpers ------------------------------------------------------------- */

static void spawn(pthread_t *thread, void *(*run)(void *), void *arg)
{
	assert_int_equal(pthread_create(thread, NULL, run, arg), 0);
}

static void join(pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* An action that stays at a gate. */
struct hold {
	struct gate gate;
	int kind; /* which waits; others do what is next */
	int (*others)(struct world *w, struct user *u, int kind);
	atomic_int running[KINDS];
	atomic_int over;
	struct tkw_channel *peer; /* that another set's action removes */
};

static int pass_gate(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;

	must(atomic_fetch_add(&h->running[kind], 1) == 0);
	if (h->kind == kind || h->kind == KINDS) {
		gate_pass(&h->gate);
		/* It uses its channel to the end. */
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

/* A period passes; do not wait for what is called then. */
static void begin_period(struct world *w)
{
	bed_set_clock(w->b, now_of(w) + PERIOD_NS + TKW_MSEC);
	bed_wake(w->b);
}

/* The timer may still have the wake-up. */
static void end_world(struct world *w)
{
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	free(w);
}

/* Opens a gate when a call that should wait for it has gone to sleep, or has
 * returned without: then `over` is 0. */
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

/* SPEC 8.2: when remove has returned the channel can be freed. */
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

/* SPEC 8.2: others are not kept by an action of one. */
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
	/* The next one in the list, which is never looked at. */
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
	assert_int_equal(tkw_channels_stop(w->set), 0);
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

/* SPEC 8.2: of many who remove it one gets it, and waits for the action. */
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

/* Fire what is due, into the pool, and wait for nothing. */
static void begin_on_pool(struct world *w)
{
	bed_set_clock(w->b, now_of(w) + PERIOD_NS + TKW_MSEC);
	if (bed_by_hand(w->b))
		assert_int_equal(bed_turn(w->b, NULL), 0);
	else
		bed_wake(w->b);
}

/* SPEC 8.2, 4.8: the three kinds side by side, each one at a time. */
static void test_channel_kinds_run_side_by_side(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 6);
	struct world *w = open_all(b, 1, PERIOD_NS);
	struct user *u = make_users(10);
	struct hold h;
	int i;

	hold_init(&h, w, KINDS);
	for (i = 0; i < 10; i++)
		add_old(w, &u[i]);
	begin_on_pool(w);
	gate_await(&h.gate, 3);
	/* The next steps come while these are there, and look at nothing. */
	for (i = 0; i < 5; i++)
		begin_on_pool(w);
	assert_int_equal(h.gate.came, 3);
	gate_open(&h.gate);
	/* They go on afterwards. */
	while (stats_of(w).looks[HEARTBEAT] < 30 ||
	       stats_of(w).looks[RECONNECT] < 30 ||
	       stats_of(w).looks[CLOSE] < 30)
		begin_on_pool(w);
	assert_int_equal(tkw_channels_destroy(w->set), 0);
	for (i = 0; i < 10; i++)
		assert_true(u[i].calls[CLOSE] >= 3);
	free(w);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_kinds_run_side_by_side)

static int try_remove(struct world *w, struct user *u, int kind)
{
	struct hold *h = w->more;

	(void)kind;
	gate_await(&h->gate, 1);
	u->said = tkw_channels_remove(w->set, &u->ch);
	gate_open(&h->gate);
	return 0;
}

/* SPEC 8.2: two actions that wait for each other are refused. */
static void test_channel_remove_from_the_other_kind(struct timer_bed *b)
{
	struct tkw_pool *pool = pool_for(b, 3);
	const struct tkw_channels_config cfg = {
		.rules = { [HEARTBEAT] = rule_of(HEARTBEAT, 1, PERIOD_NS),
			   [CLOSE] = rule_of(CLOSE, 1, PERIOD_NS) },
	};
	struct world *w = open_with(b, cfg);
	struct user *u = make_users(1);
	struct hold h;

	hold_init(&h, w, HEARTBEAT);
	h.others = try_remove;
	add_old(w, u);
	begin_on_pool(w);
	while (atomic_load(&h.over) == 0)
		sched_yield();
	assert_int_equal(tkw_channels_stop(w->set), 0);
	assert_int_equal(stats_of(w).channels, 1);
	end_world(w);
	assert_int_equal(u->said, -EDEADLK);
	free(u);
	close_pool(b, pool);
}
BED_TEST(test_channel_remove_from_the_other_kind)

static int try_remove_peer(struct world *w, struct user *u, int kind)
{
	const struct world *peer = w->more;
	struct hold *h = peer->more;

	(void)kind;
	gate_await(&h->gate, 1);
	u->said = tkw_channels_remove(peer->set, h->peer);
	gate_open(&h->gate);
	return 0;
}

/* SPEC 8.2: nor may actions of two sets on one timer wait for each other. */
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
	h.peer = &u[0].ch;
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
	int refuse; /* so many are refused */
	int count;
	struct tkw_job job[JOBS];
} hand;

static int take_job(void *ctx, const struct tkw_job *job)
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

/* Let time pass; what is due is in the hand. */
static void pass_turn(struct timer_bed *b, int64_t ns)
{
	bed_set_clock(b, tkw_timer_now(b->t) + ns);
	assert_true(tkw_timer_turn(b->t, NULL) >= 0);
}

/* A set whose kind pauses: its place on the timer is taken by `id`. */
static uint64_t make_it_pause(struct world *w, struct user *u, struct hold *h)
{
	pthread_t thread;
	uint64_t id;

	hold_init(h, w, CLOSE);
	add_old(w, u);
	pass_turn(w->b, PERIOD_NS + TKW_MSEC);
	assert_int_equal(hand.count, 1);
	spawn(&thread, run_job_beside, NULL);
	gate_await(&h->gate, 1);
	/* The next step finds the one before at its gate, and gives up its
	 * place, which another takes. */
	pass_turn(w->b, PERIOD_NS);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(tkw_timer_pending(w->b->t), 0);
	id = bed_schedule(w->b, 1, 1000 * HOUR_NS);
	gate_open(&h->gate);
	join(thread);
	assert_int_equal(stats_of(w).refused[CLOSE], 1);
	assert_int_equal(stats_of(w).steps[CLOSE], 1);
	assert_int_equal(tkw_timer_pending(w->b->t), 1);
	return id;
}

/* SPEC 8.2, 3.6: a step that the timer's limit does not let in is not lost: an
 * add, or a remove, brings it back. */
static void test_channel_pauses_at_the_limit(struct timer_bed *b)
{
	struct world *w;
	struct user *u = make_users(3);
	struct hold h;
	uint64_t id;

	open_hand(b, TKW_REFUSED_INLINE, 1);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	id = make_it_pause(w, &u[0], &h);
	/* An add that cannot bring it back is refused. */
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
	struct hold h;
	uint64_t id;

	open_hand(b, TKW_REFUSED_INLINE, 1);
	w = open_world(b, CLOSE, 1, PERIOD_NS);
	add(w, &u[1]); /* never seen */
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

/* SPEC 4.8: what an executor refuses, and the timer drops, comes again. */
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
		/* Not before the time of another step. */
		pass_turn(b, TKW_MSEC);
		assert_int_equal(hand.refuse, 2 - i);
		assert_int_equal(tkw_timer_pending(b->t), 1);
	}
	pass_turn(b, PERIOD_NS);
	assert_int_equal(hand.count, 1);
	run_job();
	assert_int_equal(u->calls[CLOSE], 1);
	assert_int_equal(tkw_timer_ledger(b->t, &l), 0);
	assert_int_equal(l.dropped, 3);
	/* Dropped after the last channel has gone: it stays away. */
	pass_turn(b, PERIOD_NS);
	drop(w, u);
	assert_int_equal(tkw_timer_pending(b->t), 0);
	while (hand.count > 0)
		run_job();
	assert_int_equal(u->calls[CLOSE], 1);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_dropped_step_comes_again)

/* SPEC 4.8: refused, and run by the worker, or offered again. */
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
	unsigned shut; /* adds that came after the stop */
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

/* SPEC 8.2: marks on any thread, while the steps look. */
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
	/* The last marks are there, and old. */
	assert_int_equal(w->calls, STAYERS * KINDS);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_marks_beside_steps)

/* Use the channel until the end: it must still be there. */
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
	/* One chain for each kind, or none. */
	assert_int_equal(tkw_timer_pending(b->t), stayers ? KINDS : 0);
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

/* SPEC 8.2, 4.8: the same with the kinds side by side. */
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

/* SPEC 8.2: a stop beside adds: in, or refused; then nothing is pending. */
static void test_channel_stop_beside_adds(struct timer_bed *b)
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
		assert_int_equal(tkw_channels_stop(w->set), 0);
		for (i = 0; i < RACERS; i++) {
			join(r[i].thread);
			assert_int_equal(r[i].shut, 1);
		}
		assert_int_equal(stats_of(w).channels, 0);
		assert_int_equal(tkw_timer_pending(b->t), 0);
		close_world(w);
	}
}
BED_TEST(test_channel_stop_beside_adds)

/* SPEC 6.2: the same with the timer's stop, which the adds may be inside of. */
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

/* Return  0 in the child, which dies with its parent. */
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
	must(tkw_channels_stats(w->set, &s) == -EPERM);
	must(tkw_channels_stop(w->set) == -EPERM);
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

static pid_t child_of_action;

static int fork_in_action(struct world *w, struct user *u, int kind)
{
	(void)u;
	(void)kind;
	child_of_action = fork_child();
	if (child_of_action == 0)
		must(tkw_channels_destroy(w->set) == -EDEADLK);
	return 0;
}

/* SPEC 6.7: a child that an action forks returns, and leaves the turn. */
static void test_channel_child_returns_from_an_action(struct timer_bed *b)
{
	struct world *w = open_world(b, CLOSE, 1, PERIOD_NS);
	struct user *u = make_users(3);

	child_of_action = -1;
	add_old(w, &u[0]);
	add_old(w, &u[1]);
	w->act = fork_in_action;
	tkw_channel_mark_read(&u[1].ch, 0);
	bed_set_clock(b, now_of(w) + PERIOD_NS + TKW_MSEC);
	tkw_timer_turn(b->t, NULL);
	if (child_of_action == 0) {
		expect_inert(w, &u[0], &u[2]);
		_exit(0);
	}
	assert_true(ends_well(child_of_action));
	assert_int_equal(stats_of(w).looks[CLOSE], 2);
	close_world(w);
	free(u);
}
BED_TEST(test_channel_child_returns_from_an_action)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* With the manual drive the action is on the test's thread. */
		BED_TEST_UNDER(test_channel_remove_waits_for_the_action,
			       thread),
		BED_TEST_UNDER(test_channel_remove_of_another_does_not_wait,
			       thread),
		BED_TEST_UNDER(test_channel_destroy_waits_for_the_action,
			       thread),
		BED_TEST_UNDER(test_channel_has_one_remover, thread),
		BED_TESTS(test_channel_kinds_run_side_by_side),
		BED_TESTS(test_channel_remove_from_the_other_kind),
		BED_TESTS(test_channel_remove_from_another_set),
		/* Jobs are taken by hand between two turns. */
		BED_TEST_UNDER(test_channel_pauses_at_the_limit, manual),
		BED_TEST_UNDER(test_channel_remove_ends_a_pause, manual),
		BED_TEST_UNDER(test_channel_dropped_step_comes_again, manual),
		BED_TEST_UNDER(test_channel_refused_step_runs, manual),
		BED_TESTS(test_channel_marks_beside_steps),
		BED_TESTS(test_channel_churn_beside_steps),
		BED_TESTS(test_channel_churn_on_a_pool),
		BED_TESTS(test_channel_stop_beside_adds),
		BED_TESTS(test_channel_timer_stop_beside_adds),
		BED_TESTS(test_channel_in_a_child_is_inert),
		BED_TEST_UNDER(test_channel_child_returns_from_an_action,
			       manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
