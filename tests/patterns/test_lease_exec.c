/* SPDX-License-Identifier: MIT */
/*
 * test_lease_exec.c - the keeper of leases on executors and among threads, and
 * what becomes of it without memory, without room on the timer, and in the
 * child of a fork (SPEC 8.4).
 */
#include "lease_bed.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEC TKW_SEC

/* --- memory that is refused ---------------------------------------------- */

static atomic_int refuse_memory;

#define NAMED(name) __asm__(name)
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");

void *wrap_aligned_alloc(size_t align, size_t size)
{
	return atomic_load(&refuse_memory) ? NULL
					   : real_aligned_alloc(align, size);
}

/* SPEC 8.4: without memory nothing is kept, and what is kept is not lost. */
static void test_lease_without_memory(struct timer_bed *b)
{
	struct tkw_leases_config cfg;
	struct tkw_leases *none = NULL;
	struct kept k[17] = { 0 };
	struct lease_bed l;
	uint64_t id = 7;

	lease_bed_open(&l, b);
	cfg = bed_leases_config(&l);
	assert_int_equal(tkw_timer_start(b->t), 0);
	atomic_store(&refuse_memory, 1);
	assert_int_equal(tkw_leases_create(&none, &cfg), -ENOMEM);
	assert_null(none);
	assert_int_equal(tkw_leases_add(l.k, k, tkw_timer_now(b->t), &id),
			 -ENOMEM);
	atomic_store(&refuse_memory, 0);
	for (int i = 0; i < 16; i++)
		keep(&l, &k[i]);
	atomic_store(&refuse_memory, 1);
	assert_int_equal(tkw_leases_add(l.k, k, tkw_timer_now(b->t), &id),
			 -ENOMEM);
	assert_true(id == 7);
	/* No batch can be made: as if it had failed. */
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.calls, 0);
	assert_int_equal(tkw_leases_release(l.k, k[15].id), 0);
	bed_pass(b, 3 * SEC - 1);
	atomic_store(&refuse_memory, 0);
	assert_int_equal(l.calls, 0);
	bed_pass(b, 1);
	assert_int_equal(l.calls, 1);
	assert_int_equal(l.counts[0], 15);
	atomic_store(&refuse_memory, 1);
	bed_pass(b, 27 * SEC);
	atomic_store(&refuse_memory, 0);
	for (int i = 0; i < 15; i++) {
		assert_kept(&l, &k[i], 1, 1);
		assert_int_equal(k[i].why, -ETIMEDOUT);
	}
	lease_bed_close(&l);
}
BED_TEST(test_lease_without_memory)

/* --- the timer's limit --------------------------------------------------- */

/* SPEC 8.4: a lease that the timer has no room for is refused. */
static void test_lease_without_room_on_the_timer(struct timer_bed *b)
{
	const struct tkw_timer_config limited = { .max_pending = 1 };
	struct lease_bed l;
	struct kept k[2] = { 0 };
	uint64_t other;
	uint64_t id = 7;

	bed_reopen(b, &limited);
	lease_bed_open(&l, b);
	other = bed_schedule(b, 1, 3600 * SEC);
	assert_int_equal(tkw_leases_add(l.k, k, tkw_timer_now(b->t), &id),
			 -EAGAIN);
	assert_true(id == 7 && tkw_leases_count(l.k) == 0);
	assert_int_equal(tkw_timer_cancel(b->t, other), 0);
	/* One place will do for all of them. */
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	assert_int_equal(tkw_leases_release(l.k, k[0].id), 0);
	assert_int_equal(tkw_leases_release(l.k, k[1].id), 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_without_room_on_the_timer)

/* A clock that, when it is read inside of a task, lets another thread take the
 * last place on the timer. */
static struct {
	struct tkw_timer *t;
	int64_t now_ns;
	bool armed;
	uint64_t id;
} thief;

static void do_nothing(void *arg, const struct tkw_firing *firing)
{
	(void)arg;
	(void)firing;
}

static void *steal(void *unused)
{
	const struct tkw_task task = { .fn = do_nothing };

	must(tkw_timer_schedule_at(thief.t, &task, 3600 * SEC, &thief.id) == 0);
	return unused;
}

static int64_t thief_now(void *ctx)
{
	pthread_t thread;

	(void)ctx;
	if (thief.armed && tkw_timer_is_inside(thief.t)) {
		thief.armed = false;
		must(pthread_create(&thread, NULL, steal, NULL) == 0);
		must(pthread_join(thread, NULL) == 0);
	}
	return thief.now_ns;
}

/* SPEC 8.4: if the next alarm cannot be had all are told, none is forgotten. */
static void test_leases_are_lost_without_an_alarm(void **state)
{
	const struct tkw_timer_hooks hooks = { .now = thief_now };
	const struct tkw_timer_config cfg = {
		.drive = TKW_DRIVE_MANUAL,
		.max_pending = 1,
		.hooks = &hooks,
	};
	struct tkw_leases_config leases;
	struct kept k[3] = { 0 };
	struct lease_bed l = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct timer_bed b = { 0 };

	(void)state;
	memset(&thief, 0, sizeof(thief));
	assert_int_equal(tkw_timer_create(&thief.t, &cfg), 0);
	b.t = thief.t;
	l.b = &b;
	leases = bed_leases_config(&l);
	assert_int_equal(tkw_leases_create(&l.k, &leases), 0);
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	thief.armed = true;
	thief.now_ns = 10 * SEC;
	assert_int_equal(tkw_timer_turn(thief.t, NULL), 1);
	for (int i = 0; i < 3; i++) {
		assert_kept(&l, &k[i], 0, 1);
		assert_int_equal(k[i].why, -EAGAIN);
	}
	assert_true(tkw_leases_count(l.k) == 0);
	/* It is not stopped by that. */
	assert_int_equal(tkw_timer_cancel(thief.t, thief.id), 0);
	keep(&l, &k[0]);
	thief.now_ns = 20 * SEC;
	assert_int_equal(tkw_timer_turn(thief.t, NULL), 1);
	assert_kept(&l, &k[0], 1, 1);
	assert_int_equal(tkw_leases_destroy(l.k), 0);
	assert_int_equal(tkw_timer_destroy(thief.t), 0);
}

/* --- an executor by hand ------------------------------------------------- */

static struct {
	bool refuse;
	size_t count;
	struct tkw_job job[64];
} hand;

static int take_job(void *ctx, const struct tkw_job *job)
{
	(void)ctx;
	if (hand.refuse)
		return -EAGAIN;
	must(hand.count < 64);
	hand.job[hand.count++] = *job;
	return 0;
}
static const struct tkw_exec by_hand = { .submit = take_job };

static void run_jobs(void)
{
	for (size_t i = 0; i < hand.count; i++)
		hand.job[i].run(&hand.job[i]);
	hand.count = 0;
}

static void abandon_jobs(void)
{
	for (size_t i = 0; i < hand.count; i++)
		hand.job[i].abandon(&hand.job[i]);
	hand.count = 0;
}

static void open_on(struct lease_bed *l, struct timer_bed *b,
		    const struct tkw_exec *exec)
{
	struct tkw_leases_config cfg;

	memset(&hand, 0, sizeof(hand));
	lease_bed_init(l, b);
	cfg = bed_leases_config(l);
	cfg.exec = exec;
	cfg.chunk = 2;
	assert_int_equal(tkw_leases_create(&l->k, &cfg), 0);
}

/* SPEC 8.4: nothing is renewed after release: a lease that is released while
 * its batch waits in the queue is not in it when it begins (redisson#7272). */
static void test_lease_released_while_queued(struct timer_bed *b)
{
	/* They outlive a failure. */
	static struct kept k[4];
	static struct lease_bed l;

	memset(k, 0, sizeof(k));
	open_on(&l, b, &by_hand);
	for (int i = 0; i < 4; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(hand.count, 2);
	/* One of the first batch, and all of the second. */
	for (int i = 0; i < 4; i++) {
		if (i == 1)
			continue;
		assert_int_equal(tkw_leases_release(l.k, k[i].id), 0);
		assert_int_equal(tkw_leases_release(l.k, k[i].id), -ENOENT);
	}
	bed_pass(b, SEC);
	run_jobs();
	assert_int_equal(l.calls, 1);
	assert_int_equal(l.counts[0], 1);
	assert_kept(&l, &k[1], 1, 0);
	/* It counts from the begin of the call. */
	assert_true(k[1].renewed_ns == tkw_timer_now(b->t));
	bed_pass(b, 10 * SEC - 1);
	assert_int_equal(hand.count, 0);
	bed_pass(b, 1);
	assert_int_equal(hand.count, 1);
	assert_int_equal(tkw_leases_release(l.k, k[1].id), 0);
	run_jobs();
	assert_int_equal(l.calls, 1);
	lease_bed_close(&l);
}
BED_TEST(test_lease_released_while_queued)

/* SPEC 8.4: lost while it is queued: renew does not see it. */
static void test_lease_lost_while_queued(struct timer_bed *b)
{
	struct kept k[2] = { 0 };
	struct lease_bed l;

	open_on(&l, b, &by_hand);
	keep_since(&l, &k[0], SEC);
	keep(&l, &k[1]);
	bed_pass(b, 9 * SEC);
	assert_int_equal(hand.count, 1);
	bed_pass(b, 17 * SEC);
	assert_kept(&l, &k[0], 0, 1);
	assert_int_equal(k[0].why, -ETIMEDOUT);
	assert_int_equal(k[0].renewing, 0);
	assert_kept(&l, &k[1], 0, 0);
	run_jobs();
	assert_int_equal(l.counts[0], 1);
	assert_kept(&l, &k[1], 1, 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_lost_while_queued)

/* SPEC 8.4: refused or abandoned by the executor: an error, tried again. */
static void test_lease_executor_refuses(struct timer_bed *b)
{
	struct kept k[3] = { 0 };
	struct lease_bed l;

	open_on(&l, b, &by_hand);
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	hand.refuse = true;
	bed_pass(b, 10 * SEC);
	hand.refuse = false;
	bed_pass(b, 3 * SEC - 1);
	assert_int_equal(hand.count, 0);
	bed_pass(b, 1);
	assert_int_equal(hand.count, 2);
	assert_int_equal(tkw_leases_release(l.k, k[0].id), 0);
	abandon_jobs();
	bed_pass(b, 3 * SEC - 1);
	assert_int_equal(hand.count, 0);
	bed_pass(b, 1);
	assert_int_equal(hand.count, 1);
	run_jobs();
	assert_int_equal(l.counts[0], 2);
	assert_kept(&l, &k[0], 0, 0);
	assert_kept(&l, &k[1], 1, 0);
	hand.refuse = true;
	bed_pass(b, 27 * SEC);
	assert_kept(&l, &k[1], 1, 1);
	assert_int_equal(k[1].why, -ETIMEDOUT);
	lease_bed_close(&l);
}
BED_TEST(test_lease_executor_refuses)

/* SPEC 8.4: jobs may outlive the keeper, and its timer. */
static void test_lease_jobs_outlive_the_keeper(struct timer_bed *b)
{
	struct kept k[4] = { 0 };
	struct lease_bed l;
	struct tkw_job last;

	open_on(&l, b, &by_hand);
	for (int i = 0; i < 4; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(hand.count, 2);
	assert_int_equal(tkw_leases_stop(l.k), 0);
	lease_bed_close(&l);
	bed_reopen(b, NULL);
	last = hand.job[1];
	hand.count = 1;
	run_jobs();
	last.abandon(&last);
	assert_int_equal(l.calls, 0);
}
BED_TEST(test_lease_jobs_outlive_the_keeper)

/* SPEC 8.4: the inline executor is the worker itself. */
static void test_lease_on_the_inline_executor(struct timer_bed *b)
{
	struct kept k[3] = { { 0 }, { .answer = -ESTALE }, { 0 } };
	struct lease_bed l;

	open_on(&l, b, tkw_exec_inline());
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.calls, 2);
	assert_kept(&l, &k[0], 1, 0);
	assert_kept(&l, &k[1], 1, 1);
	lease_bed_close(&l);
}
BED_TEST(test_lease_on_the_inline_executor)

static int refuse_job(void *ctx, const struct tkw_job *job)
{
	(void)ctx;
	(void)job;
	return -EAGAIN;
}

/* SPEC 8.4: if the timer's executor drops the alarm, leases are kept all the
 * same. (Not under a thread: the markers of the bed would be dropped, too.) */
static void test_lease_alarm_is_dropped(struct timer_bed *b)
{
	static const struct tkw_exec nobody = { .submit = refuse_job };
	const struct tkw_timer_config drops = {
		.exec = &nobody,
		.refusal = TKW_REFUSED_DROP,
	};
	struct kept k[2] = { { 0 }, { .answer = -EIO } };
	struct lease_bed l;
	int64_t begin_ns;

	bed_reopen(b, &drops);
	lease_bed_open(&l, b);
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	begin_ns = tkw_timer_now(b->t);
	while (tkw_timer_now(b->t) < begin_ns + 28 * SEC)
		bed_pass(b, SEC);
	assert_kept(&l, &k[0], 2, 0);
	assert_kept(&l, &k[1], k[1].renewed, 1);
	assert_true(k[1].lost_ns == begin_ns + 27 * SEC);
	lease_bed_close(&l);
}
BED_TEST(test_lease_alarm_is_dropped)

/* --- a pool -------------------------------------------------------------- */

static struct tkw_pool *make_pool(int threads)
{
	const struct tkw_pool_config cfg = { .threads = threads };
	struct tkw_pool *pool = NULL;

	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	return pool;
}

/* A call of release, or stop, on a thread of its own. */
struct caller {
	struct tkw_leases *k;
	uint64_t id; /* 0: stop */
	int ret;
	atomic_int tid;
	atomic_int over;
	pthread_t thread;
};

static void *call_beside(void *arg)
{
	struct caller *c = arg;

	atomic_store(&c->tid, gettid());
	c->ret =
		c->id ? tkw_leases_release(c->k, c->id) : tkw_leases_stop(c->k);
	atomic_store(&c->over, 1);
	return NULL;
}

/* Begin, and return when it waits. */
static void caller_start(struct caller *c, struct tkw_leases *k, uint64_t id)
{
	*c = (struct caller){ .k = k, .id = id, .ret = -1 };
	assert_int_equal(pthread_create(&c->thread, NULL, call_beside, c), 0);
	while (atomic_load(&c->tid) == 0 ||
	       (!bed_is_asleep(atomic_load(&c->tid)) && !atomic_load(&c->over)))
		sched_yield();
	assert_int_equal(atomic_load(&c->over), 0);
}

static int caller_end(struct caller *c)
{
	pthread_join(c->thread, NULL);
	return c->ret;
}

/* Called on the timer: to wait there for a renew might be to wait for ever. */
struct from_task {
	struct lease_bed *l;
	uint64_t id;
	int ret;
};

static void release_in_task(void *arg, const struct tkw_firing *firing)
{
	struct from_task *f = arg;

	(void)firing;
	f->ret = tkw_leases_release(f->l->k, f->id);
}

static int release_from_task(struct lease_bed *l, uint64_t id)
{
	struct from_task f = { .l = l, .id = id, .ret = 1 };
	const struct tkw_task task = { .fn = release_in_task, .arg = &f };

	assert_int_equal(tkw_timer_schedule(l->b->t, &task, 0, NULL), 0);
	bed_pass(l->b, TKW_MSEC);
	return f.ret;
}

/* SPEC 8.4: released while its renew runs: the release waits for that. */
static void test_lease_release_waits_for_renew(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(1);
	struct gate gate = GATE_INIT;
	struct kept k[3] = { 0 };
	struct caller c[2];
	struct lease_bed l;

	open_on(&l, b, tkw_pool_exec(pool));
	l.gate = &gate;
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 1);
	assert_int_equal(release_from_task(&l, k[0].id), -EDEADLK);
	assert_true(tkw_leases_count(l.k) == 3);
	caller_start(&c[0], l.k, k[0].id);
	caller_start(&c[1], l.k, k[0].id);
	/* The other batch waits for the thread: no need to wait. */
	assert_int_equal(release_from_task(&l, k[2].id), 0);
	assert_true(tkw_leases_count(l.k) == 1);
	gate_open(&gate);
	assert_int_equal(caller_end(&c[0]), 0);
	assert_int_equal(caller_end(&c[1]), -ENOENT);
	assert_int_equal(tkw_leases_release(l.k, k[1].id), 0);
	assert_int_equal(k[0].renewed, 1);
	assert_int_equal(k[2].renewed, 0);
	assert_int_equal(l.calls, 1);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_release_waits_for_renew)

/* SPEC 8.4: a renew that hangs does not hold up the news that the lease is
 * lost, and that it succeeds after all changes nothing. */
static void test_lease_lost_while_renew_hangs(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(1);
	struct gate gate = GATE_INIT;
	struct kept a = { 0 };
	struct caller c;
	struct lease_bed l;

	open_on(&l, b, tkw_pool_exec(pool));
	l.gate = &gate;
	keep(&l, &a);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 1);
	bed_pass(b, 17 * SEC - 1);
	assert_kept(&l, &a, 1, 0);
	bed_pass(b, 1);
	assert_kept(&l, &a, 1, 1);
	assert_int_equal(a.why, -ETIMEDOUT);
	assert_true(a.renewing != 0);
	assert_true(tkw_leases_count(l.k) == 0);
	assert_int_equal(release_from_task(&l, a.id), -EDEADLK);
	caller_start(&c, l.k, a.id);
	gate_open(&gate);
	assert_int_equal(caller_end(&c), -ENOENT);
	bed_pass(b, 100 * SEC);
	assert_kept(&l, &a, 1, 1);
	assert_int_equal(tkw_leases_release(l.k, a.id), -ENOENT);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_lost_while_renew_hangs)

/* SPEC 8.4: stop waits for the renew that is running, and no other begins. */
static void test_leases_stop_waits_for_renew(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(1);
	struct gate gate = GATE_INIT;
	struct kept k[6] = { 0 };
	struct caller c;
	struct lease_bed l;

	open_on(&l, b, tkw_pool_exec(pool));
	l.gate = &gate;
	for (int i = 0; i < 6; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 1);
	caller_start(&c, l.k, 0);
	assert_true(tkw_leases_count(l.k) == 0);
	assert_int_equal(tkw_leases_stop(l.k), 1);
	gate_open(&gate);
	assert_int_equal(caller_end(&c), 0);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
	assert_int_equal(l.calls, 1);
	for (int i = 0; i < 6; i++)
		assert_int_equal(k[i].lost, 0);
}
BED_TEST(test_leases_stop_waits_for_renew)

static struct kept beside[2]; /* in another batch, which is running */
static int beside_ret[2];

static void release_other(struct lease_bed *l, const struct tkw_lease *lease)
{
	const struct kept *own = lease->arg;

	if (own == &beside[0]) {
		gate_await(l->gate, 1);
		beside_ret[0] = tkw_leases_release(l->k, beside[1].id);
		beside_ret[1] = tkw_leases_stop(l->k);
	}
}

/* SPEC 8.4: two renews must not wait for each other. */
static void test_lease_release_of_another_batch(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(2);
	struct gate gate = GATE_INIT;
	struct tkw_leases_config cfg;
	struct lease_bed l;

	memset(beside, 0, sizeof(beside));
	lease_bed_init(&l, b);
	cfg = bed_leases_config(&l);
	cfg.exec = tkw_pool_exec(pool);
	cfg.chunk = 1;
	assert_int_equal(tkw_leases_create(&l.k, &cfg), 0);
	l.gate = &gate;
	set_inside(&l, release_other);
	keep(&l, &beside[0]);
	keep(&l, &beside[1]);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 2);
	gate_open(&gate);
	assert_int_equal(tkw_leases_release(l.k, beside[0].id), 0);
	assert_int_equal(tkw_leases_release(l.k, beside[1].id), 0);
	assert_int_equal(beside_ret[0], -EDEADLK);
	assert_int_equal(beside_ret[1], -EDEADLK);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_release_of_another_batch)

/* --- races --------------------------------------------------------------- */

enum {
	RACERS = 3,
	ROUNDS = 500
};

/* The arg of a lease; freed when its release has returned. */
struct raced {
	atomic_int gone;
	atomic_int lost;
	int answer;
};

static struct {
	struct lease_bed l;
	uint64_t seed;
	atomic_int racing; /* threads */
	atomic_uint renewed;
	atomic_uint lost;
	atomic_uint released;
	atomic_uint stale;
} race;

static uint64_t roll(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void race_renew(void *ctx, struct tkw_lease *leases, size_t count)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		struct raced *r = leases[i].arg;

		must(!atomic_load(&r->gone));
		leases[i].result = r->answer;
	}
	sched_yield();
	for (size_t i = 0; i < count; i++) {
		struct raced *r = leases[i].arg;

		must(!atomic_load(&r->gone));
	}
	atomic_fetch_add(&race.renewed, (unsigned)count);
}

static void race_lost(void *ctx, const struct tkw_lease *lease, int why,
		      int renewing)
{
	struct raced *r = lease->arg;

	(void)ctx;
	(void)why;
	(void)renewing;
	must(!atomic_load(&r->gone));
	must(atomic_fetch_add(&r->lost, 1) == 0);
	sched_yield();
	must(!atomic_load(&r->gone));
	atomic_fetch_add(&race.lost, 1);
}

/* Keep a lease for a while, and give it back. */
static void race_one(uint64_t *state)
{
	struct raced *r = calloc(1, sizeof(*r));
	uint64_t id;
	int err;

	must(r != NULL);
	r->answer = (int[]){ 0, 0, 0, -EIO, -ESTALE }[roll(state) % 5];
	do {
		err = tkw_leases_add(race.l.k, r, tkw_timer_now(race.l.b->t),
				     &id);
		must(err == 0 || err == -ETIMEDOUT);
	} while (err != 0);
	for (uint64_t i = roll(state) % 8; i > 0; i--)
		sched_yield();
	err = tkw_leases_release(race.l.k, id);
	atomic_store(&r->gone, 1);
	must(err == 0 || err == -ENOENT || err == -ETIMEDOUT);
	must((err == -ENOENT) == (atomic_load(&r->lost) == 1));
	atomic_fetch_add(err == -ENOENT ? &race.stale : &race.released, 1);
	free(r);
}

static void *race_many(void *arg)
{
	uint64_t state = race.seed * 2 + (uint64_t)(uintptr_t)arg + 1;

	for (int i = 0; i < ROUNDS; i++)
		race_one(&state);
	atomic_fetch_sub(&race.racing, 1);
	return NULL;
}

/* SPEC 8.4: nothing is renewed after release, whatever the race, and each lease
 * ends once. */
static void test_lease_release_races_renew(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(2);
	struct tkw_leases_config cfg;
	pthread_t racer[RACERS];

	memset(&race, 0, sizeof(race));
	race.seed = (uint64_t)getpid();
	print_message("seed %llu\n", (unsigned long long)race.seed);
	lease_bed_init(&race.l, b);
	cfg = bed_leases_config(&race.l);
	cfg.exec = tkw_pool_exec(pool);
	cfg.renew = race_renew;
	cfg.on_lost = race_lost;
	cfg.chunk = 3;
	cfg.jitter_percent = 20;
	assert_int_equal(tkw_leases_create(&race.l.k, &cfg), 0);
	atomic_store(&race.racing, RACERS);
	for (uintptr_t i = 0; i < RACERS; i++)
		assert_int_equal(
			pthread_create(&racer[i], NULL, race_many, (void *)i),
			0);
	while (atomic_load(&race.racing) > 0)
		bed_pass(b, 5 * SEC);
	for (int i = 0; i < RACERS; i++)
		pthread_join(racer[i], NULL);
	assert_true(tkw_leases_count(race.l.k) == 0);
	assert_int_equal(race.released + race.stale, RACERS * ROUNDS);
	assert_int_equal(race.stale, race.lost);
	print_message("renewed %u, released %u, lost %u\n", race.renewed,
		      race.released, race.lost);
	lease_bed_close(&race.l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_release_races_renew)

/* --- fork ---------------------------------------------------------------- */

#define child_must(x) ((x) ? (void)0 : _exit(__LINE__ & 127))

/* In the child the keeper is inert. */
static void expect_inert(struct lease_bed *l, const struct kept *k, int destroy)
{
	struct tkw_leases_config cfg = bed_leases_config(l);
	struct tkw_leases *other;
	uint64_t id;

	child_must(tkw_leases_create(&other, &cfg) == -EPERM);
	child_must(tkw_leases_add(l->k, NULL, 0, &id) == -EPERM);
	child_must(tkw_leases_release(l->k, k->id) == -EPERM);
	child_must(tkw_leases_count(l->k) == 0);
	child_must(tkw_leases_stop(l->k) == -EPERM);
	child_must(tkw_leases_destroy(l->k) == destroy);
}

static void assert_child_is_well(pid_t child)
{
	int status = -1;

	must(child > 0);
	must(waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* SPEC 8.4: in the child of a fork the keeper is inert, jobs included, and the
 * parent notices nothing. */
static void test_leases_in_a_forked_child(struct timer_bed *b)
{
	struct kept k[4] = { 0 };
	struct lease_bed l;
	struct tkw_job last;
	pid_t child;

	open_on(&l, b, &by_hand);
	for (int i = 0; i < 4; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(hand.count, 2);
	child = fork();
	if (child == 0) {
		expect_inert(&l, &k[0], 0);
		last = hand.job[1];
		hand.count = 1;
		run_jobs();
		last.abandon(&last);
		child_must(l.calls == 0);
		_exit(0);
	}
	assert_child_is_well(child);
	run_jobs();
	assert_int_equal(l.calls, 2);
	assert_true(tkw_leases_count(l.k) == 4);
	lease_bed_close(&l);
}
BED_TEST(test_leases_in_a_forked_child)

static pid_t forked;
static bool fork_in_lost;

static void fork_inside(struct lease_bed *l, const struct tkw_lease *lease)
{
	/* renew knows of -EIO only */
	if (forked == 0 && (lease->result == -ETIMEDOUT) == fork_in_lost) {
		forked = fork();
		if (forked == 0)
			expect_inert(l, lease->arg, -EDEADLK);
	}
}

/* SPEC 8.4: a child that renew or on_lost has forked may return from there.
 * (Not under a thread, of which nothing would be left in the child.) */
static void test_leases_callback_forks(struct timer_bed *b)
{
	const pid_t parent = getpid();
	struct lease_bed l;

	for (int i = 0; i < 2; i++) {
		struct kept k[2] = { { .answer = 1 }, { .answer = 1 } };

		forked = 0;
		fork_in_lost = i == 1;
		lease_bed_open(&l, b);
		keep(&l, &k[0]);
		keep(&l, &k[1]);
		set_inside(&l, fork_inside);
		bed_set_clock(b, tkw_timer_now(b->t) + (i ? 27 : 10) * SEC);
		tkw_timer_turn(b->t, NULL);
		if (getpid() != parent) {
			child_must(tkw_leases_destroy(l.k) == 0);
			_exit(0);
		}
		assert_child_is_well(forked);
		assert_true(tkw_leases_count(l.k) == (i ? 0 : 2));
		set_inside(&l, NULL);
		lease_bed_close(&l);
	}
}
BED_TEST(test_leases_callback_forks)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_lease_without_memory),
		BED_TESTS(test_lease_without_room_on_the_timer),
		cmocka_unit_test(test_leases_are_lost_without_an_alarm),
		BED_TESTS(test_lease_released_while_queued),
		BED_TESTS(test_lease_lost_while_queued),
		BED_TESTS(test_lease_executor_refuses),
		BED_TESTS(test_lease_jobs_outlive_the_keeper),
		BED_TESTS(test_lease_on_the_inline_executor),
		BED_TEST_UNDER(test_lease_alarm_is_dropped, manual),
		BED_TESTS(test_lease_release_waits_for_renew),
		BED_TESTS(test_lease_lost_while_renew_hangs),
		BED_TESTS(test_leases_stop_waits_for_renew),
		BED_TESTS(test_lease_release_of_another_batch),
		BED_TESTS(test_lease_release_races_renew),
		BED_TESTS(test_leases_in_a_forked_child),
		BED_TEST_UNDER(test_leases_callback_forks, manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
