/* SPDX-License-Identifier: MIT */
/*
 * fault_exec.c - faults 5 and 39 with an executor: tasks that block its
 * threads, and executors that are full, shut down, or refuse at random. Fault 5
 * without an executor is in fault_callbacks.c.
 */
#include "fault_bed.h"

#include <inttypes.h>

static void count(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

static struct tkw_pool *pool_of(int threads, int64_t max_queued)
{
	const struct tkw_pool_config cfg = { .size = sizeof(cfg),
					     .threads = threads,
					     .max_queued = max_queued };
	struct tkw_pool *p;

	must(tkw_pool_create(&p, &cfg) == 0);
	return p;
}

static void await_queued(struct tkw_pool *pool, uint64_t least)
{
	while (tkw_pool_count(pool) < least)
		fault_give_way();
}

/* A task that blocks until a gate is open. */
struct block {
	struct fault_gate gate;
	atomic_ulong begun;
	atomic_ulong over;
};

static void block_fired(const struct tkw_firing *f, void *ctx)
{
	struct block *b = ctx;

	(void)f;
	atomic_fetch_add(&b->begun, 1);
	fault_gate_wait(&b->gate);
	atomic_fetch_add(&b->over, 1);
}

/* Blocks this many threads of the pool. */
static void block_threads(struct tkw_timer *t, struct block *b,
			  unsigned long threads)
{
	const struct tkw_task task = { .fn = block_fired, .ctx = b };
	unsigned long i;

	for (i = 0; i < threads; i++)
		must(tkw_timer_schedule(t, &task, 0, NULL) == 0);
	fault_await(&b->begun, threads);
}

/* --- 5: tasks that block ------------------------------------------------ */

/* SPEC 4.8, fault 5: as long as one thread is free, no task waits for the
 * blocked ones. */
static void fault_05_blocking_tasks_in_the_pool_lose_nothing(void **state)
{
	enum {
		OTHERS = 20000 / FAULT_SLOWNESS
	};
	struct tkw_pool *pool = pool_of(3, 0);
	const struct tkw_timer_config cfg = { .exec = tkw_pool_exec(pool) };
	struct block b = { .gate = FAULT_GATE_INIT };
	atomic_ulong fired = 0;
	const struct tkw_task task = { .fn = count, .ctx = &fired };
	struct tkw_ledger l;
	struct fault_pump p;
	long i;

	fault_pump_open(&p, fault_drive(state), &cfg);
	block_threads(p.t, &b, 2);
	for (i = 0; i < OTHERS; i++)
		must(tkw_timer_schedule(p.t, &task, i % 20 * TKW_MSEC, NULL) ==
		     0);
	fault_await(&fired, OTHERS);
	assert_int_equal(b.over, 0);
	l = fault_ledger(p.t);
	assert_int_equal(l.fired, OTHERS + 2);
	assert_int_equal(l.pending, 0);
	fault_gate_open(&b.gate);
	fault_pump_close(&p);
	assert_int_equal(b.over, 2);
	assert_int_equal(fired, OTHERS);
	must(tkw_pool_destroy(pool) == 0);
}

/* SPEC 4.8, fault 5: all threads are blocked. Timeouts in the queue are
 * pending, and run when the threads go on. */
static void fault_05_all_threads_of_the_pool_block(void **state)
{
	enum {
		OTHERS = 1000
	};
	struct tkw_pool *pool = pool_of(2, OTHERS);
	const struct tkw_timer_config cfg = { .exec = tkw_pool_exec(pool) };
	struct block b = { .gate = FAULT_GATE_INIT };
	atomic_ulong fired = 0;
	const struct tkw_task task = { .fn = count, .ctx = &fired };
	struct fault_pump p;
	int i;

	fault_pump_open(&p, fault_drive(state), &cfg);
	block_threads(p.t, &b, 2);
	for (i = 0; i < OTHERS; i++)
		must(tkw_timer_schedule(p.t, &task, 0, NULL) == 0);
	await_queued(pool, OTHERS);
	assert_int_equal(fault_ledger(p.t).pending, OTHERS);
	assert_int_equal(fired, 0);
	fault_gate_open(&b.gate);
	fault_await(&fired, OTHERS);
	assert_int_equal(fault_ledger(p.t).fired, OTHERS + 2);
	fault_pump_close(&p);
	must(tkw_pool_destroy(pool) == 0);
}

static int refuse(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	(void)job;
	return -EAGAIN;
}

/* Takes five seconds of the virtual clock. */
static void block_for_seconds(const struct tkw_firing *f, void *ctx)
{
	struct timer_bed *b = ctx;

	bed_set_clock(b, tkw_timer_now_ns(f->timer) + 5 * TKW_SEC);
}

/* SPEC 10.2, 4.8, fault 5: a refused task runs on the worker and blocks it.
 * That is reported. Whatever becomes due meanwhile still fires. */
static void fault_05_refused_and_slow_on_the_worker(struct timer_bed *b)
{
	const struct tkw_exec exec = { .submit = refuse };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .slow_task_ns = TKW_SEC };
	const struct tkw_task task = { .fn = block_for_seconds, .ctx = b };
	uint64_t i;

	bed_reopen(b, &cfg);
	must(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL) == 0);
	for (i = 0; i < 100; i++)
		bed_schedule(b, i, 2 * TKW_MSEC + (int64_t)i * 40 * TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_pass(b, 0);
	assert_int_equal(b->fired_count, 100);
	for (i = 0; i < 100; i++)
		assert_int_equal(bed_fired_times(b, i), 1);
	bed_assert_ledger(b, 0);
	bed_reopen(b, NULL);
	assert_int_equal(b->log_count, 1);
}
BED_TEST(fault_05_refused_and_slow_on_the_worker)

/* --- 39: the executor is full ------------------------------------------- */

enum {
	QUEUE = 4,
	MANY = 1000,
	CANCELLED = 100
};

/* A pool with one thread, which is blocked, and MANY timeouts that become
 * due. */
struct full {
	struct tkw_pool *pool;
	struct block block;
	struct fault_pump pump;
	atomic_ulong fired;
	atomic_ulong ended;
	struct tkw_timeout_id ids[MANY];
};

static void full_ended(void *ctx)
{
	atomic_fetch_add(&((struct full *)ctx)->ended, 1);
}

static void full_fired(const struct tkw_firing *f, void *ctx)
{
	must(tkw_timer_now_ns(f->timer) >= f->deadline_ns);
	atomic_fetch_add(&((struct full *)ctx)->fired, 1);
}

static void full_open(struct full *f, void **state, int refusal)
{
	const struct tkw_task task = { .fn = full_fired,
				       .ctx = f,
				       .on_cancel = full_ended };
	struct tkw_timer_config cfg = { .refusal = refusal };
	int i;

	memset(f, 0, sizeof(*f));
	fault_gate_init(&f->block.gate);
	f->pool = pool_of(1, QUEUE);
	cfg.exec = tkw_pool_exec(f->pool);
	fault_pump_open(&f->pump, fault_drive(state), &cfg);
	block_threads(f->pump.t, &f->block, 1);
	for (i = 0; i < MANY; i++)
		must(tkw_timer_schedule(f->pump.t, &task, i % 3 * TKW_MSEC,
					&f->ids[i]) == 0);
}

static void full_close(struct full *f)
{
	fault_pump_close(&f->pump);
	must(tkw_pool_destroy(f->pool) == 0);
}

/* SPEC 4.8, fault 39 */
static void fault_39_full_and_inline(void **state)
{
	static struct full f;

	full_open(&f, state, TKW_REFUSED_INLINE);
	fault_await(&f.fired, MANY - QUEUE);
	assert_int_equal(fault_ledger(f.pump.t).pending, QUEUE);
	assert_int_equal(f.fired, MANY - QUEUE);
	fault_gate_open(&f.block.gate);
	fault_await(&f.fired, MANY);
	assert_int_equal(fault_ledger(f.pump.t).fired, MANY + 1);
	full_close(&f);
	assert_int_equal(f.fired, MANY);
	assert_int_equal(f.ended, 0);
}

/* SPEC 4.8, 4.5, fault 39 */
static void fault_39_full_and_retry(void **state)
{
	static struct full f;
	struct tkw_ledger l;
	size_t i;

	full_open(&f, state, TKW_REFUSED_RETRY);
	await_queued(f.pool, QUEUE);
	for (i = 0; i < CANCELLED; i++)
		must(tkw_timer_cancel(f.pump.t, f.ids[i * 7]) == 0);
	assert_int_equal(f.ended, CANCELLED);
	l = fault_ledger(f.pump.t);
	assert_int_equal(l.pending, MANY - CANCELLED);
	assert_int_equal(l.fired, 1);
	fault_gate_open(&f.block.gate);
	fault_await(&f.fired, MANY - CANCELLED);
	l = fault_ledger(f.pump.t);
	assert_int_equal(l.fired, MANY - CANCELLED + 1);
	assert_int_equal(l.cancelled, CANCELLED);
	full_close(&f);
	assert_int_equal(f.fired, MANY - CANCELLED);
	assert_int_equal(f.ended, CANCELLED);
}

/* SPEC 4.8, 5.6, fault 39 */
static void fault_39_full_and_drop(void **state)
{
	static struct full f;
	struct tkw_ledger l;

	full_open(&f, state, TKW_REFUSED_DROP);
	fault_await(&f.ended, MANY - QUEUE);
	l = fault_ledger(f.pump.t);
	assert_int_equal(l.dropped, MANY - QUEUE);
	assert_int_equal(l.pending, QUEUE);
	fault_gate_open(&f.block.gate);
	fault_await(&f.fired, QUEUE);
	full_close(&f);
	assert_int_equal(f.fired, QUEUE);
	assert_int_equal(f.ended, MANY - QUEUE);
}

/* --- 39: the executor is dead ------------------------------------------- */

/* Schedules MANY timeouts for a pool that was stopped. The pool runs none. */
static void dead_open(struct full *f, void **state, int refusal)
{
	const struct tkw_task task = { .fn = full_fired,
				       .ctx = f,
				       .on_cancel = full_ended };
	struct tkw_timer_config cfg = { .refusal = refusal };
	int i;

	memset(f, 0, sizeof(*f));
	f->pool = pool_of(2, QUEUE);
	must(tkw_pool_stop(f->pool) == 0);
	cfg.exec = tkw_pool_exec(f->pool);
	fault_pump_open(&f->pump, fault_drive(state), &cfg);
	for (i = 0; i < MANY; i++)
		must(tkw_timer_schedule(f->pump.t, &task, i % 3 * TKW_MSEC,
					&f->ids[i]) == 0);
}

/* SPEC 4.8, 6.2, fault 39 */
static void fault_39_dead_and_each_policy(void **state)
{
	static struct full f;
	struct tkw_ledger l;

	dead_open(&f, state, TKW_REFUSED_INLINE);
	fault_await(&f.fired, MANY);
	assert_int_equal(fault_ledger(f.pump.t).pending, 0);
	full_close(&f);
	assert_int_equal(f.fired, MANY);
	assert_int_equal(f.ended, 0);

	dead_open(&f, state, TKW_REFUSED_DROP);
	fault_await(&f.ended, MANY);
	assert_int_equal(fault_ledger(f.pump.t).dropped, MANY);
	full_close(&f);
	assert_int_equal(f.fired, 0);
	assert_int_equal(f.ended, MANY);

	dead_open(&f, state, TKW_REFUSED_RETRY);
	must(tkw_timer_stop(f.pump.t, NULL, NULL) == 0);
	fault_pump_halt(&f.pump);
	l = fault_ledger(f.pump.t);
	assert_int_equal(l.handed_over, MANY);
	full_close(&f);
	assert_int_equal(f.fired, 0);
	assert_int_equal(f.ended, MANY);
}

/* --- 39: the executor refuses as it likes ------------------------------- */

enum {
	SUBMITTERS = 3,
	EACH = 6000 / FAULT_SLOWNESS,
	ALL = SUBMITTERS * EACH
};

enum mood {
	ALWAYS,
	EVERY_SECOND,
	AT_RANDOM, /* and abandons some at once */
	MOODS
};

/* An executor in front of a pool. The pool may be full, too. */
struct moody {
	const struct tkw_exec *pool;
	enum mood mood;
	uint64_t seed;
	atomic_ulong calls;
	atomic_ulong refused;
	atomic_ulong abandoned;
};

static int submit_moody(const struct tkw_job *job, void *ctx)
{
	struct moody *m = ctx;
	uint64_t call = atomic_fetch_add(&m->calls, 1);
	uint64_t dice = m->seed + call;
	int err = 0;

	dice = m->mood == AT_RANDOM ? fault_below(&dice, 8) : call % 2 * 7;
	if (m->mood == ALWAYS || dice < 3)
		err = -EAGAIN;
	if (err == 0 && dice == 3) {
		atomic_fetch_add(&m->abandoned, 1);
		job->abandon(job);
		return 0;
	}
	if (err == 0)
		err = m->pool->submit(job, m->pool->ctx);
	if (err != 0)
		atomic_fetch_add(&m->refused, 1);
	return err;
}

/* What happened to one timeout. */
struct fate {
	_Atomic struct tkw_timeout_id id;
	atomic_uint fired;
	atomic_uint visited;
	atomic_uint cancelled; /* cancels that returned 0 */
	atomic_uint ended;     /* calls of on_cancel */
	bool accepted;
};

struct storm {
	struct tkw_timer *t;
	struct fate fates[ALL];
	atomic_ulong accepted;
	atomic_ulong done; /* fired, or ended in another way */
};

struct submitter {
	struct storm *s;
	struct fate *fates;
	uint64_t seed;
	pthread_t thread;
};

static struct storm storm;

static void fate_fired(const struct tkw_firing *f, void *ctx)
{
	struct fate *fate = ctx;

	must(tkw_timer_now_ns(f->timer) >= f->deadline_ns);
	must(atomic_fetch_add(&fate->fired, 1) == 0);
	must(atomic_load(&fate->ended) == 0);
	atomic_fetch_add(&storm.done, 1);
}

static void fate_ended(void *ctx)
{
	struct fate *fate = ctx;

	must(atomic_fetch_add(&fate->ended, 1) == 0);
	must(atomic_load(&fate->fired) == 0);
	atomic_fetch_add(&storm.done, 1);
}

static void fate_visited(const struct tkw_timeout_info *info, void *ctx)
{
	struct fate *fate = info->task.ctx;

	(void)ctx;
	must(info->state == TKW_TIMEOUT_PENDING);
	must(atomic_load(&fate->ended) == 0);
	must(atomic_fetch_add(&fate->visited, 1) == 0);
}

/* Does something to a timeout, which any thread may have scheduled. */
static void disturb(struct storm *s, uint64_t *seed)
{
	struct fate *fate = &s->fates[fault_below(seed, ALL)];
	struct tkw_timeout_id id = atomic_load(&fate->id);
	int64_t delay = (int64_t)fault_below(seed, 300) * TKW_USEC;
	int ret;

	switch (fault_below(seed, 4)) {
	case 0:
		ret = tkw_timer_cancel(s->t, id);
		must(ret == 0 || ret == -EBUSY || ret == -ENOENT);
		break;
	case 1:
		ret = tkw_timer_cancel_wait(s->t, id);
		must(ret == 0 || ret == 1 || ret == -ENOENT);
		break;
	default:
		ret = tkw_timer_reschedule(s->t, id, delay);
		must(ret == 0 || ret == -EBUSY || ret == -ENOENT ||
		     ret == -ESHUTDOWN);
		return;
	}
	if (ret == 0)
		atomic_fetch_add(&fate->cancelled, 1);
}

static void *submit_in_storm(void *arg)
{
	struct submitter *sub = arg;
	struct tkw_task task = { .fn = fate_fired, .on_cancel = fate_ended };
	int64_t delay;
	struct tkw_timeout_id id;
	int ret = 0;
	int i;

	for (i = 0; i < EACH && ret == 0; i++) {
		task.ctx = &sub->fates[i];
		delay = (int64_t)fault_below(&sub->seed, 300) * TKW_USEC;
		ret = tkw_timer_schedule(sub->s->t, &task, delay, &id);
		must(ret == 0 || ret == -ESHUTDOWN);
		if (ret != 0)
			break;
		sub->fates[i].accepted = true;
		atomic_store(&sub->fates[i].id, id);
		atomic_fetch_add(&sub->s->accepted, 1);
		disturb(sub->s, &sub->seed);
	}
	return NULL;
}

/* Checks that each accepted timeout ended once, in one way, and that the ledger
 * has the same sums. */
static void settle(struct tkw_timer *t, int refusal)
{
	struct tkw_ledger l = fault_ledger(t);
	struct tkw_ledger sum = { 0 };
	const struct fate *f = storm.fates;

	for (; f < storm.fates + ALL; f++) {
		must(f->fired + f->ended == (f->accepted ? 1 : 0));
		must(f->cancelled + f->visited <= f->ended);
		sum.accepted += f->accepted;
		sum.fired += f->fired;
		sum.cancelled += f->cancelled;
		sum.handed_over += f->visited;
		sum.dropped += f->ended - f->cancelled - f->visited;
	}
	must(l.accepted == storm.accepted);
	must(l.accepted == sum.accepted);
	must(l.fired == sum.fired);
	must(l.cancelled == sum.cancelled);
	must(l.handed_over == sum.handed_over);
	must(l.dropped == sum.dropped);
	must(l.pending == 0);
	must(l.dropped == 0 || refusal == TKW_REFUSED_DROP);
	print_message(
		"%" PRIu64 " accepted: %" PRIu64 " fired, %" PRIu64
		" cancelled, %" PRIu64 " dropped, %" PRIu64 " handed over\n",
		l.accepted, l.fired, l.cancelled, l.dropped, l.handed_over);
}

/* When the stop comes: while threads schedule, when they have finished, or when
 * all timeouts have ended. */
enum moment {
	EARLY,
	DONE,
	LATE,
	MOMENTS
};

/* Lets threads schedule and disturb, and stops the timer. */
static void weather(struct tkw_timer *t, uint64_t *seed, enum moment stop)
{
	struct submitter subs[SUBMITTERS];
	int i;

	for (i = 0; i < SUBMITTERS; i++) {
		subs[i] = (struct submitter){
			.s = &storm,
			.fates = &storm.fates[(size_t)i * EACH],
			.seed = fault_random(seed)
		};
		fault_spawn(&subs[i].thread, submit_in_storm, &subs[i]);
	}
	if (stop == EARLY) {
		fault_await(&storm.accepted, fault_below(seed, EACH));
		must(tkw_timer_stop(t, fate_visited, NULL) == 0);
	}
	for (i = 0; i < SUBMITTERS; i++)
		fault_join(subs[i].thread);
	if (stop == LATE)
		fault_await(&storm.done, storm.accepted);
	if (stop != EARLY)
		must(tkw_timer_stop(t, fate_visited, NULL) == 0);
}

static void refuse_in_storm(void **state, int refusal)
{
	uint64_t seed = fault_seed();
	struct tkw_timer_config cfg = { .tick_ns = 50 * TKW_USEC,
					.refusal = refusal };
	struct tkw_pool *pool;
	struct fault_pump p;
	struct moody m;
	struct tkw_exec exec = { .submit = submit_moody, .ctx = &m };
	enum moment stop;
	int round;

	cfg.exec = &exec;
	for (round = 0; round < MOMENTS * MOODS; round++) {
		memset(&storm, 0, sizeof(storm));
		memset(&m, 0, sizeof(m));
		pool = pool_of(2, 16);
		m.pool = tkw_pool_exec(pool);
		m.mood = (enum mood)(round % MOODS);
		m.seed = fault_random(&seed);
		fault_pump_open(&p, fault_drive(state), &cfg);
		storm.t = p.t;
		stop = (enum moment)(round / MOODS);
		/* Otherwise the timeouts would never end. */
		if (refusal == TKW_REFUSED_RETRY && m.mood == ALWAYS &&
		    stop == LATE)
			stop = DONE;
		weather(p.t, &seed, stop);
		fault_pump_halt(&p);
		settle(p.t, refusal);
		/* Jobs that are still in the pool do nothing, before and after
		 * the timer is destroyed. */
		if (round % 2)
			must(tkw_pool_destroy(pool) == 0);
		fault_pump_close(&p);
		if (round % 2 == 0)
			must(tkw_pool_destroy(pool) == 0);
		print_message("%lu offered, %lu refused, %lu abandoned\n",
			      m.calls, m.refused, m.abandoned);
	}
}

/* SPEC 4.8, 6.4, fault 39 */
static void fault_39_refusals_lose_nothing_inline(void **state)
{
	refuse_in_storm(state, TKW_REFUSED_INLINE);
}

static void fault_39_refusals_lose_nothing_retry(void **state)
{
	refuse_in_storm(state, TKW_REFUSED_RETRY);
}

static void fault_39_refusals_lose_nothing_drop(void **state)
{
	refuse_in_storm(state, TKW_REFUSED_DROP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_BOTH(fault_05_blocking_tasks_in_the_pool_lose_nothing),
		FAULT_BOTH(fault_05_all_threads_of_the_pool_block),
		BED_TESTS(fault_05_refused_and_slow_on_the_worker),
		FAULT_BOTH(fault_39_full_and_inline),
		FAULT_BOTH(fault_39_full_and_retry),
		FAULT_BOTH(fault_39_full_and_drop),
		FAULT_BOTH(fault_39_dead_and_each_policy),
		FAULT_BOTH(fault_39_refusals_lose_nothing_inline),
		FAULT_BOTH(fault_39_refusals_lose_nothing_retry),
		FAULT_BOTH(fault_39_refusals_lose_nothing_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
