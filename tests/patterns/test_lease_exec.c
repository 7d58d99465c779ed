/* SPDX-License-Identifier: MIT */
/*
 * test_lease_exec.c - SPEC 8.4: leases with executors and several threads, and
 * what happens to them without memory, on a timer that is full, and in the
 * child of a fork.
 */
#include "lease_bed.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/id_table.h"
#include "tickwheel/repeat.h"
#include "tickwheel/request.h"
#include "tickwheel/retry.h"
#include "timer/object.h"

#define SEC TKW_SEC

/* --- memory that is refused ---------------------------------------------- */

static atomic_int refuse_memory;
static atomic_size_t asked_for; /* bytes that were asked for */

#define NAMED(name) __asm__(name)
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");

void *wrap_aligned_alloc(size_t align, size_t size)
{
	atomic_fetch_add(&asked_for, size);
	return atomic_load(&refuse_memory) ? NULL
					   : real_aligned_alloc(align, size);
}

enum {
	BLOCK = 1 << TKW__RECORD_BLOCK_BITS /* leases in the first block */
};

/* A lease takes 88 bytes at most. */
static void test_lease_takes_little_memory(struct timer_bed *b)
{
	struct kept k[BLOCK] = { 0 };
	struct lease_bed l;

	lease_bed_open(&l, b);
	bed_schedule(b, 1, SEC); /* so that the timer has a block */
	atomic_store(&asked_for, 0);
	for (int i = 0; i < BLOCK; i++)
		keep(&l, &k[i]);
	assert_in_range(atomic_load(&asked_for), 1, 88 * BLOCK);
	lease_bed_close(&l);
}
BED_TEST(test_lease_takes_little_memory)

/* SPEC 8.4: without memory an add is refused, and no other lease is lost. */
static void test_lease_without_memory(struct timer_bed *b)
{
	struct tkw_leases_config cfg;
	struct tkw_leases *none = NULL;
	struct kept k[BLOCK] = { 0 };
	struct lease_bed l;
	struct tkw_lease_id id = { 7 };

	lease_bed_open(&l, b);
	cfg = bed_leases_config(&l);
	assert_int_equal(tkw_timer_start(b->t), 0);
	atomic_store(&refuse_memory, 1);
	assert_int_equal(tkw_leases_create(&none, &cfg), -ENOMEM);
	assert_null(none);
	assert_int_equal(tkw_leases_add(l.set, k, tkw_timer_now_ns(b->t), &id),
			 -ENOMEM);
	atomic_store(&refuse_memory, 0);
	for (int i = 0; i < BLOCK; i++)
		keep(&l, &k[i]);
	atomic_store(&refuse_memory, 1);
	assert_int_equal(tkw_leases_add(l.set, k, tkw_timer_now_ns(b->t), &id),
			 -ENOMEM);
	assert_true(id.bits == 7);
	/* No batch can be made. This counts as a failed renew. */
	bed_pass(b, 10 * SEC);
	assert_int_equal(l.calls, 0);
	assert_int_equal(tkw_leases_release(l.set, k[BLOCK - 1].id), 0);
	bed_pass(b, 3 * SEC - 1);
	atomic_store(&refuse_memory, 0);
	assert_int_equal(l.calls, 0);
	bed_pass(b, 1);
	assert_int_equal(l.calls, 1);
	assert_int_equal(l.counts[0], BLOCK - 1);
	atomic_store(&refuse_memory, 1);
	bed_pass(b, 27 * SEC);
	atomic_store(&refuse_memory, 0);
	for (int i = 0; i < BLOCK - 1; i++) {
		assert_kept(&l, &k[i], 1, 1);
		assert_int_equal(k[i].why, -ETIMEDOUT);
	}
	lease_bed_close(&l);
}
BED_TEST(test_lease_without_memory)

/* --- the timer's limit --------------------------------------------------- */

/* SPEC 8.4: a lease is refused if the timer has no room for the alarm. */
static void test_lease_without_room_on_the_timer(struct timer_bed *b)
{
	const struct tkw_timer_config limited = { .max_pending = 1 };
	struct lease_bed l;
	struct kept k[2] = { 0 };
	struct tkw_timeout_id other;
	struct tkw_lease_id id = { 7 };

	bed_reopen(b, &limited);
	lease_bed_open(&l, b);
	other = bed_schedule(b, 1, 3600 * SEC);
	assert_int_equal(tkw_leases_add(l.set, k, tkw_timer_now_ns(b->t), &id),
			 -EAGAIN);
	assert_true(id.bits == 7 && tkw_leases_count(l.set) == 0);
	assert_int_equal(tkw_timer_cancel(b->t, other), 0);
	/* All leases share one place. */
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	assert_int_equal(tkw_leases_release(l.set, k[0].id), 0);
	assert_int_equal(tkw_leases_release(l.set, k[1].id), 0);
	lease_bed_close(&l);
}
BED_TEST(test_lease_without_room_on_the_timer)

/* A clock that lets another thread take the last place on the timer, as soon as
 * the place is free. It is free while the task runs that had it. */
static struct {
	struct tkw_timer *t;
	int64_t now_ns;
	bool armed;
	struct tkw_timeout_id id;
} thief;

static void do_nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
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
	if (thief.armed && TKW__LOAD(&thief.t->reserved, RELAXED) == 0) {
		thief.armed = false;
		must(pthread_create(&thread, NULL, steal, NULL) == 0);
		must(pthread_join(thread, NULL) == 0);
	}
	return thief.now_ns;
}

/* SPEC 8.4: if the next alarm cannot be set, all leases are reported as
 * lost. */
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
	assert_int_equal(tkw_leases_create(&l.set, &leases), 0);
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	thief.armed = true;
	thief.now_ns = 10 * SEC;
	assert_int_equal(tkw_timer_turn(thief.t, 0, NULL), 1);
	for (int i = 0; i < 3; i++) {
		assert_kept(&l, &k[i], 0, 1);
		assert_int_equal(k[i].why, -EAGAIN);
	}
	assert_true(tkw_leases_count(l.set) == 0);
	/* The set still works afterwards. */
	assert_int_equal(tkw_timer_cancel(thief.t, thief.id), 0);
	keep(&l, &k[0]);
	thief.now_ns = 20 * SEC;
	assert_int_equal(tkw_timer_turn(thief.t, 0, NULL), 1);
	assert_kept(&l, &k[0], 1, 1);
	assert_int_equal(tkw_leases_destroy(l.set), 0);
	assert_int_equal(tkw_timer_destroy(thief.t), 0);
}

/* --- an executor by hand ------------------------------------------------- */

static struct {
	bool refuse;
	size_t count;
	struct tkw_job job[64];
} hand;

static int take_job(const struct tkw_job *job, void *ctx)
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
	cfg.max_batch = 2;
	assert_int_equal(tkw_leases_create(&l->set, &cfg), 0);
}

/* SPEC 8.4: a lease that was released is not renewed. If it is released while
 * its batch is queued, it is not in the batch when that begins
 * (redisson#7272). */
static void test_lease_released_while_queued(struct timer_bed *b)
{
	/* Static, because they must exist after a failed test. */
	static struct kept k[4];
	static struct lease_bed l;

	memset(k, 0, sizeof(k));
	open_on(&l, b, &by_hand);
	for (int i = 0; i < 4; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(hand.count, 2);
	/* Releases one lease of the first batch, and all of the second. */
	for (int i = 0; i < 4; i++) {
		if (i == 1)
			continue;
		assert_int_equal(tkw_leases_release(l.set, k[i].id), 0);
		assert_int_equal(tkw_leases_release(l.set, k[i].id), -ENOENT);
	}
	bed_pass(b, SEC);
	run_jobs();
	assert_int_equal(l.calls, 1);
	assert_int_equal(l.counts[0], 1);
	assert_kept(&l, &k[1], 1, 0);
	/* The time counts from the begin of the call. */
	assert_true(k[1].renewed_ns == tkw_timer_now_ns(b->t));
	bed_pass(b, 10 * SEC - 1);
	assert_int_equal(hand.count, 0);
	bed_pass(b, 1);
	assert_int_equal(hand.count, 1);
	assert_int_equal(tkw_leases_release(l.set, k[1].id), 0);
	run_jobs();
	assert_int_equal(l.calls, 1);
	lease_bed_close(&l);
}
BED_TEST(test_lease_released_while_queued)

/* SPEC 8.4: a lease that is lost while it is queued is not passed to renew. */
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

/* SPEC 8.4: if the executor refuses or abandons a batch, that is an error, and
 * the renewal is tried again. */
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
	assert_int_equal(tkw_leases_release(l.set, k[0].id), 0);
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

/* SPEC 8.4: jobs may exist longer than the set and its timer. */
static void test_lease_jobs_outlive_the_set(struct timer_bed *b)
{
	struct kept k[4] = { 0 };
	struct lease_bed l;
	struct tkw_job last;

	open_on(&l, b, &by_hand);
	for (int i = 0; i < 4; i++)
		keep(&l, &k[i]);
	bed_pass(b, 10 * SEC);
	assert_int_equal(hand.count, 2);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	lease_bed_close(&l);
	bed_reopen(b, NULL);
	last = hand.job[1];
	hand.count = 1;
	run_jobs();
	last.abandon(&last);
	assert_int_equal(l.calls, 0);
}
BED_TEST(test_lease_jobs_outlive_the_set)

/* SPEC 8.4: the inline executor is the worker itself. */
static void test_lease_on_the_inline_executor(struct timer_bed *b)
{
	struct kept k[3] = { [1] = { .answer = -ESTALE } };
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

static int refuse_job(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	(void)job;
	return -EAGAIN;
}

/* SPEC 8.4: if the timer's executor drops the alarm, leases are still renewed.
 * (Not with a thread, because the markers of the bed would be dropped, too.) */
static void test_lease_alarm_is_dropped(struct timer_bed *b)
{
	static const struct tkw_exec nobody = { .submit = refuse_job };
	const struct tkw_timer_config drops = {
		.exec = &nobody,
		.refusal = TKW_REFUSED_DROP,
	};
	struct kept k[2] = { [1] = { .answer = -EIO } };
	struct lease_bed l;
	int64_t begin_ns;

	bed_reopen(b, &drops);
	lease_bed_open(&l, b);
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	begin_ns = tkw_timer_now_ns(b->t);
	while (tkw_timer_now_ns(b->t) < begin_ns + 28 * SEC)
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

/* A call on its own thread. */
struct caller {
	struct tkw_leases *set;
	struct tkw_lease_id id;
	int (*call)(struct caller *c);
	int ret;
	atomic_int tid;
	atomic_int over;
	pthread_t thread;
};

static int call_release(struct caller *c)
{
	return tkw_leases_release(c->set, c->id);
}

static int call_shutdown(struct caller *c)
{
	return tkw_leases_shutdown(c->set);
}

static int call_destroy(struct caller *c)
{
	return tkw_leases_destroy(c->set);
}

static void *call_beside(void *arg)
{
	struct caller *c = arg;

	atomic_store(&c->tid, gettid());
	c->ret = c->call(c);
	atomic_store(&c->over, 1);
	return NULL;
}

static void caller_await_asleep(struct caller *c)
{
	while (atomic_load(&c->tid) == 0 ||
	       (!bed_is_asleep(atomic_load(&c->tid)) && !atomic_load(&c->over)))
		sched_yield();
	assert_int_equal(atomic_load(&c->over), 0);
}

/* Begins the call, and returns when it waits. */
static void caller_start(struct caller *c, struct tkw_leases *set,
			 int (*call)(struct caller *c), struct tkw_lease_id id)
{
	*c = (struct caller){ .set = set, .call = call, .id = id, .ret = -1 };
	assert_int_equal(pthread_create(&c->thread, NULL, call_beside, c), 0);
	caller_await_asleep(c);
}

static int caller_end(struct caller *c)
{
	pthread_join(c->thread, NULL);
	return c->ret;
}

/* A call in a task of the timer. It must not wait for a renew, because that
 * could take for ever. */
struct from_task {
	struct lease_bed *l;
	struct tkw_lease_id id;
	int ret;
};

static void release_in_task(const struct tkw_firing *firing, void *ctx)
{
	struct from_task *f = ctx;

	(void)firing;
	f->ret = tkw_leases_release(f->l->set, f->id);
}

static int release_from_task(struct lease_bed *l, struct tkw_lease_id id)
{
	struct from_task f = { .l = l, .id = id, .ret = 1 };
	const struct tkw_task task = { .fn = release_in_task, .ctx = &f };

	assert_int_equal(tkw_timer_schedule(l->b->t, &task, 0, NULL), 0);
	bed_pass(l->b, TKW_MSEC);
	return f.ret;
}

/* SPEC 8.4: a release waits for a running renew of its lease. */
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
	assert_true(tkw_leases_count(l.set) == 3);
	caller_start(&c[0], l.set, call_release, k[0].id);
	caller_start(&c[1], l.set, call_release, k[0].id);
	/* The other batch has not begun, so there is no need to wait. */
	assert_int_equal(release_from_task(&l, k[2].id), 0);
	assert_true(tkw_leases_count(l.set) == 1);
	gate_open(&gate);
	assert_int_equal(caller_end(&c[0]), 0);
	assert_int_equal(caller_end(&c[1]), -ENOENT);
	assert_int_equal(tkw_leases_release(l.set, k[1].id), 0);
	assert_int_equal(k[0].renewed, 1);
	assert_int_equal(k[2].renewed, 0);
	assert_int_equal(l.calls, 1);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_release_waits_for_renew)

/* SPEC 8.4: a renew that hangs does not delay the report that the lease is
 * lost. A success after that changes nothing. */
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
	assert_true(tkw_leases_count(l.set) == 0);
	assert_int_equal(release_from_task(&l, a.id), -EDEADLK);
	caller_start(&c, l.set, call_release, a.id);
	gate_open(&gate);
	assert_int_equal(caller_end(&c), -ENOENT);
	bed_pass(b, 100 * SEC);
	assert_kept(&l, &a, 1, 1);
	assert_int_equal(tkw_leases_release(l.set, a.id), -ENOENT);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_lost_while_renew_hangs)

/* SPEC 8.4: a shutdown does not wait for the running renew, but a destroy does.
 * No other renew begins. */
static void test_leases_shutdown_while_renew_runs(struct timer_bed *b)
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
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	assert_true(tkw_leases_count(l.set) == 0);
	assert_true(tkw_timer_count(b->t) == 0);
	for (int i = 0; i < 6; i++) {
		assert_kept(&l, &k[i], i < 2, 1);
		assert_int_equal(k[i].why, -ESHUTDOWN);
		assert_int_equal(k[i].renewing != 0, i < 2);
	}
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	/* A release waits for the batch that is being renewed. The other leases
	 * have ended. */
	assert_int_equal(tkw_leases_release(l.set, k[5].id), -ENOENT);
	caller_start(&c, l.set, call_release, k[0].id);
	gate_open(&gate);
	assert_int_equal(caller_end(&c), -ENOENT);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
	assert_int_equal(l.calls, 1);
	for (int i = 0; i < 6; i++)
		assert_int_equal(k[i].lost, 1);
}
BED_TEST(test_leases_shutdown_while_renew_runs)

/* SPEC 8.4 */
static void test_leases_destroy_waits_for_renew(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(1);
	struct gate gate = GATE_INIT;
	struct kept k[2] = { 0 };
	struct caller c;
	struct lease_bed l;

	open_on(&l, b, tkw_pool_exec(pool));
	l.gate = &gate;
	keep(&l, &k[0]);
	keep(&l, &k[1]);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 1);
	caller_start(&c, l.set, call_destroy, k[0].id);
	assert_kept(&l, &k[0], 1, 1);
	assert_int_equal(k[0].why, -ESHUTDOWN);
	gate_open(&gate);
	assert_int_equal(caller_end(&c), 0);
	l.set = NULL; /* it is destroyed */
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
	assert_int_equal(k[0].lost + k[1].lost, 2);
}
BED_TEST(test_leases_destroy_waits_for_renew)

static struct gate lost_gate;

static void lost_at_gate(struct lease_bed *l, const struct kept *k)
{
	(void)l;
	if (k->lost > 0)
		gate_pass(&lost_gate);
}

/* SPEC 8.4: a release waits for the on_lost of its lease. A shutdown, and a
 * release of another lease, do not wait for it. */
static void test_lease_release_waits_for_on_lost(struct timer_bed *b)
{
	struct kept k[3] = { 0 };
	struct caller c[2];
	struct lease_bed l;

	gate_init(&lost_gate);
	lease_bed_open(&l, b);
	for (int i = 0; i < 3; i++)
		keep(&l, &k[i]);
	set_inside(&l, lost_at_gate);
	assert_int_equal(tkw_leases_release(l.set, k[2].id), 0);
	caller_start(&c[0], l.set, call_shutdown, k[0].id);
	gate_await(&lost_gate, 1);
	assert_kept(&l, &k[0], 0, 1);
	assert_kept(&l, &k[1], 0, 0);
	assert_int_equal(tkw_leases_shutdown(l.set), 0);
	assert_int_equal(tkw_leases_release(l.set, k[2].id), -ENOENT);
	assert_int_equal(release_from_task(&l, k[0].id), -EDEADLK);
	/* It is lost, but not reported yet. */
	assert_int_equal(release_from_task(&l, k[1].id), -EDEADLK);
	caller_start(&c[1], l.set, call_release, k[1].id);
	gate_open(&lost_gate);
	assert_int_equal(caller_end(&c[0]), 0);
	assert_int_equal(caller_end(&c[1]), -ENOENT);
	assert_kept(&l, &k[1], 0, 1);
	set_inside(&l, NULL);
	lease_bed_close(&l);
}
BED_TEST(test_lease_release_waits_for_on_lost)

static void release_in_job(const struct tkw_job *job)
{
	call_beside(job->ctx);
}

static void release_in_callback(const struct tkw_request_end *end, void *ctx)
{
	struct caller *c = ctx;

	(void)end;
	c->ret = tkw_leases_release(c->set, c->id);
}

static int never_tried(const struct tkw_try *attempt, void *ctx)
{
	(void)attempt;
	(void)ctx;
	return 0;
}

static void release_in_on_end(const struct tkw_retry_end *end, void *ctx)
{
	must(end->status == -ECANCELED);
	release_in_callback(NULL, ctx);
}

static int release_from_retry(struct tkw_timer *t, struct caller *c)
{
	const struct tkw_retries_config cfg = { .timer = t };
	const struct tkw_retry task = { .fn = never_tried,
					.on_end = release_in_on_end,
					.ctx = c };
	struct tkw_retries *rs;
	struct tkw_retry_id id;

	c->ret = 1;
	assert_int_equal(tkw_retries_create(&rs, &cfg), 0);
	assert_int_equal(tkw_retries_add(rs, &task, 60 * SEC, &id), 0);
	assert_int_equal(tkw_retries_cancel(rs, id), 0);
	assert_int_equal(tkw_retries_destroy(rs), 0);
	return c->ret;
}

static void release_in_round(struct tkw_repeat *r, void *ctx)
{
	(void)r;
	release_in_callback(NULL, ctx);
}

static int release_from_repeat(struct tkw_timer *t, struct caller *c)
{
	const struct tkw_repeat_config cfg = { .timer = t,
					       .interval_ns = 60 * SEC,
					       .fn = release_in_round,
					       .ctx = c };
	struct tkw_repeat *r;

	c->ret = 1;
	assert_int_equal(tkw_repeat_create(&r, &cfg), 0);
	assert_int_equal(tkw_repeat_start(r), 0);
	assert_int_equal(tkw_repeat_run_now(r), 0);
	assert_int_equal(tkw_repeat_destroy(r), 0);
	return c->ret;
}

/* SPEC 8.4: a job of the user may wait for a renew. A callback of another set
 * may not, because a renew might wait for that callback. */
static void test_lease_release_from_other_callbacks(struct timer_bed *b)
{
	const struct tkw_requests_config cfg = { .timer = b->t };
	struct tkw_pool *pool = make_pool(2);
	const struct tkw_exec *exec = tkw_pool_exec(pool);
	struct gate gate = GATE_INIT;
	struct kept a = { 0 };
	struct tkw_requests *rs;
	struct tkw_request_id id;
	struct caller c = { 0 };
	const struct tkw_job job = { release_in_job, release_in_job, &c, 0 };
	struct lease_bed l;

	open_on(&l, b, exec);
	l.gate = &gate;
	keep(&l, &a);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 1);
	c.set = l.set;
	c.id = a.id;
	assert_int_equal(tkw_requests_create(&rs, &cfg), 0);
	assert_int_equal(
		tkw_requests_add(rs, release_in_callback, &c, 60 * SEC, &id),
		0);
	assert_int_equal(tkw_requests_complete(rs, id, NULL), 0);
	assert_int_equal(c.ret, -EDEADLK);
	assert_int_equal(release_from_retry(b->t, &c), -EDEADLK);
	assert_int_equal(release_from_repeat(b->t, &c), -EDEADLK);
	assert_true(tkw_leases_count(l.set) == 1);
	assert_int_equal(tkw_requests_destroy(rs), 0);
	c.call = call_release;
	assert_int_equal(exec->submit(&job, exec->ctx), 0);
	caller_await_asleep(&c);
	gate_open(&gate);
	assert_int_equal(tkw_pool_wait_idle(pool, INT64_MAX), 0);
	assert_int_equal(c.ret, 0);
	lease_bed_close(&l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_lease_release_from_other_callbacks)

static struct kept beside[2]; /* in another batch that is running */
static int beside_ret[2];

static void release_other(struct lease_bed *l, const struct kept *own)
{
	if (own == &beside[0]) {
		gate_await(l->gate, 1);
		beside_ret[0] = tkw_leases_release(l->set, beside[1].id);
		beside_ret[1] = tkw_leases_destroy(l->set);
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
	cfg.max_batch = 1;
	assert_int_equal(tkw_leases_create(&l.set, &cfg), 0);
	l.gate = &gate;
	set_inside(&l, release_other);
	keep(&l, &beside[0]);
	keep(&l, &beside[1]);
	bed_pass(b, 10 * SEC);
	gate_await(&gate, 2);
	gate_open(&gate);
	assert_int_equal(tkw_leases_release(l.set, beside[0].id), 0);
	assert_int_equal(tkw_leases_release(l.set, beside[1].id), 0);
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

/* The data of a lease. It is freed when its release has returned. */
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

static void race_renew(struct tkw_lease *leases, size_t count, void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		struct raced *r = leases[i].data;

		must(!atomic_load(&r->gone));
		leases[i].result = r->answer;
	}
	sched_yield();
	for (size_t i = 0; i < count; i++) {
		struct raced *r = leases[i].data;

		must(!atomic_load(&r->gone));
	}
	atomic_fetch_add(&race.renewed, (unsigned)count);
}

static void race_lost(const struct tkw_lease_end *end, void *ctx)
{
	struct raced *r = end->data;

	(void)ctx;
	must(!atomic_load(&r->gone));
	must(atomic_fetch_add(&r->lost, 1) == 0);
	sched_yield();
	must(!atomic_load(&r->gone));
	atomic_fetch_add(&race.lost, 1);
}

/* Keeps a lease for a while, and releases it. Returns false if it is
 * refused. */
static bool race_one(uint64_t *state)
{
	struct raced *r = calloc(1, sizeof(*r));
	struct tkw_lease_id id;
	int err;

	must(r != NULL);
	r->answer = (int[]){ 0, 0, 0, -EIO, -ESTALE }[roll(state) % 5];
	do {
		err = tkw_leases_add(race.l.set, r,
				     tkw_timer_now_ns(race.l.b->t), &id);
		must(err == 0 || err == -ETIMEDOUT || err == -ESHUTDOWN);
	} while (err == -ETIMEDOUT);
	if (err != 0) {
		free(r);
		return false;
	}
	for (uint64_t i = roll(state) % 8; i > 0; i--)
		sched_yield();
	err = tkw_leases_release(race.l.set, id);
	atomic_store(&r->gone, 1);
	must(err == 0 || err == -ENOENT || err == -ETIMEDOUT);
	must((err == -ENOENT) == (atomic_load(&r->lost) == 1));
	atomic_fetch_add(err == -ENOENT ? &race.stale : &race.released, 1);
	free(r);
	return true;
}

static void *race_many(void *arg)
{
	uint64_t state = race.seed * 2 + (uint64_t)(uintptr_t)arg + 1;

	for (int i = 0; i < ROUNDS; i++)
		must(race_one(&state));
	atomic_fetch_sub(&race.racing, 1);
	return NULL;
}

static void *race_until_shut(void *arg)
{
	uint64_t state = race.seed * 2 + (uint64_t)(uintptr_t)arg + 1;

	while (race_one(&state))
		;
	atomic_fetch_sub(&race.racing, 1);
	return NULL;
}

static void race_open(struct timer_bed *b, struct tkw_pool *pool)
{
	struct tkw_leases_config cfg;

	memset(&race, 0, sizeof(race));
	race.seed = (uint64_t)getpid();
	print_message("seed %llu\n", (unsigned long long)race.seed);
	lease_bed_init(&race.l, b);
	cfg = bed_leases_config(&race.l);
	cfg.exec = tkw_pool_exec(pool);
	cfg.renew = race_renew;
	cfg.on_lost = race_lost;
	cfg.max_batch = 3;
	cfg.jitter_percent = 20;
	assert_int_equal(tkw_leases_create(&race.l.set, &cfg), 0);
	atomic_store(&race.racing, RACERS);
}

static void race_start(pthread_t *racer, void *(*run)(void *arg))
{
	for (uintptr_t i = 0; i < RACERS; i++)
		assert_int_equal(
			pthread_create(&racer[i], NULL, run, (void *)i), 0);
}

static void race_end(pthread_t *racer, struct tkw_pool *pool)
{
	for (int i = 0; i < RACERS; i++)
		pthread_join(racer[i], NULL);
	assert_true(tkw_leases_count(race.l.set) == 0);
	assert_int_equal(race.stale, race.lost);
	print_message("renewed %u, released %u, lost %u\n", race.renewed,
		      race.released, race.lost);
	lease_bed_close(&race.l);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}

/* SPEC 8.4: in no race is a lease renewed after its release, and each lease
 * ends once. */
static void test_lease_release_races_renew(struct timer_bed *b)
{
	struct tkw_pool *pool = make_pool(2);
	pthread_t racer[RACERS];

	race_open(b, pool);
	race_start(racer, race_many);
	while (atomic_load(&race.racing) > 0)
		bed_pass(b, 5 * SEC);
	assert_int_equal(race.released + race.stale, RACERS * ROUNDS);
	race_end(racer, pool);
}
BED_TEST(test_lease_release_races_renew)

/* SPEC 8.4: the same with a shutdown. Each lease is reported once, or
 * released. */
static void test_lease_shutdown_races_all(struct timer_bed *b)
{
	for (int i = 0; i < 5; i++) {
		struct tkw_pool *pool = make_pool(2);
		pthread_t racer[RACERS];

		race_open(b, pool);
		race_start(racer, race_until_shut);
		while (atomic_load(&race.released) < 50)
			bed_pass(b, 5 * SEC);
		assert_int_equal(tkw_leases_shutdown(race.l.set), 0);
		race_end(racer, pool);
	}
}
BED_TEST(test_lease_shutdown_races_all)

/* --- fork ---------------------------------------------------------------- */

#define child_must(x) ((x) ? (void)0 : _exit(__LINE__ & 127))

/* In the child the set is inert. */
static void expect_inert(struct lease_bed *l, const struct kept *k)
{
	struct tkw_leases_config cfg = bed_leases_config(l);
	struct tkw_leases *other;
	struct tkw_lease_id id;

	child_must(tkw_leases_create(&other, &cfg) == -EPERM);
	child_must(tkw_leases_add(l->set, NULL, 0, &id) == -EPERM);
	child_must(tkw_leases_release(l->set, k->id) == -EPERM);
	child_must(tkw_leases_count(l->set) == 0);
	child_must(tkw_leases_shutdown(l->set) == -EPERM);
	child_must(tkw_leases_destroy(l->set) == 0);
}

static void assert_child_is_well(pid_t child)
{
	int status = -1;

	must(child > 0);
	must(waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* SPEC 8.4: in the child of a fork, the set and its jobs are inert. The parent
 * is not affected. */
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
		expect_inert(&l, &k[0]);
		last = hand.job[1];
		hand.count = 1;
		run_jobs();
		last.abandon(&last);
		child_must(l.calls == 0 && k[0].lost == 0);
		_exit(0);
	}
	assert_child_is_well(child);
	run_jobs();
	assert_int_equal(l.calls, 2);
	assert_true(tkw_leases_count(l.set) == 4);
	lease_bed_close(&l);
}
BED_TEST(test_leases_in_a_forked_child)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_lease_takes_little_memory),
		BED_TESTS(test_lease_without_memory),
		BED_TESTS(test_lease_without_room_on_the_timer),
		cmocka_unit_test(test_leases_are_lost_without_an_alarm),
		BED_TESTS(test_lease_released_while_queued),
		BED_TESTS(test_lease_lost_while_queued),
		BED_TESTS(test_lease_executor_refuses),
		BED_TESTS(test_lease_jobs_outlive_the_set),
		BED_TESTS(test_lease_on_the_inline_executor),
		BED_TEST_UNDER(test_lease_alarm_is_dropped, manual),
		BED_TESTS(test_lease_release_waits_for_renew),
		BED_TESTS(test_lease_lost_while_renew_hangs),
		BED_TESTS(test_leases_shutdown_while_renew_runs),
		BED_TESTS(test_leases_destroy_waits_for_renew),
		BED_TESTS(test_lease_release_waits_for_on_lost),
		BED_TESTS(test_lease_release_from_other_callbacks),
		BED_TESTS(test_lease_release_of_another_batch),
		BED_TESTS(test_lease_release_races_renew),
		BED_TESTS(test_lease_shutdown_races_all),
		BED_TESTS(test_leases_in_a_forked_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
