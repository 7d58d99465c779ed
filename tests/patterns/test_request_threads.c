/* SPDX-License-Identifier: MIT */
/*
 * test_request_threads.c - SPEC 8.3 with several threads: a thread that waits
 * is told, an executor makes the callbacks, destroy waits for them, the set is
 * inert in a forked child; and races, with a count of each outcome.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "request_bed.h"

static char answer[] = "42";

/* An assert of cmocka does not work in a child, or on a thread that is not the
 * test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

static void spawn(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

/* --- wait ----------------------------------------------------------------- */

struct waiter {
	struct tkw_requests *rs;
	struct tkw_request_id id;
	pthread_t thread;
	_Atomic pid_t tid;
	int ret;
	struct tkw_request_end end;
};

static void *wait_for_it(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->tid, gettid());
	w->ret = tkw_requests_wait(w->rs, w->id, &w->end);
	return NULL;
}

/* Starts a thread, and returns when it sleeps in the wait, where other threads
 * get -EBUSY. */
static void waiter_start(struct waiter *w, struct tkw_requests *rs)
{
	struct tkw_request_end end;

	memset(w, 0, sizeof(*w));
	w->rs = rs;
	w->id = ask_quietly(rs, 5 * TKW_MSEC);
	spawn(&w->thread, wait_for_it, w);
	while (atomic_load(&w->tid) == 0 || !bed_is_asleep(w->tid))
		sched_yield();
	assert_int_equal(tkw_requests_wait(rs, w->id, &end), -EBUSY);
}

static void waiter_end(struct waiter *w, int status, void *response)
{
	pthread_join(w->thread, NULL);
	assert_int_equal(w->ret, 0);
	assert_true(w->end.id.bits == w->id.bits);
	assert_int_equal(w->end.status, status);
	assert_ptr_equal(w->end.response, response);
	assert_int_equal(tkw_requests_count(w->rs), 0);
}

/* SPEC 8.3: each way to end wakes a thread that waits. */
static void test_request_wait_is_woken(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct waiter w;

	waiter_start(&w, rs);
	assert_int_equal(tkw_requests_complete(rs, w.id, answer), 0);
	waiter_end(&w, 0, answer);
	waiter_start(&w, rs);
	assert_int_equal(tkw_requests_cancel(rs, w.id), 0);
	waiter_end(&w, -ECANCELED, NULL);
	waiter_start(&w, rs);
	bed_pass(b, 10 * TKW_MSEC);
	waiter_end(&w, -ETIMEDOUT, NULL);
	waiter_start(&w, rs);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	waiter_end(&w, -ESHUTDOWN, NULL);
	close_set(rs);
	rs = open_set(b, NULL);
	waiter_start(&w, rs);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	waiter_end(&w, -ESHUTDOWN, NULL);
	close_set(rs);
}
BED_TEST(test_request_wait_is_woken)

/* --- executors ------------------------------------------------------------ */

/* An executor that is driven by hand. */
static struct hand {
	int refuse; /* what it returns, if not 0 */
	unsigned count;
	struct tkw_job job[8];
} hand;

static int take_job(const struct tkw_job *job, void *ctx)
{
	struct hand *h = ctx;

	must(job->run && job->abandon);
	if (h->refuse != 0)
		return h->refuse;
	h->job[h->count++] = *job;
	return 0;
}

static const struct tkw_exec by_hand = { .submit = take_job, .ctx = &hand };

static struct tkw_requests *open_by_hand(struct timer_bed *b,
					 int64_t max_pending)
{
	memset(&hand, 0, sizeof(hand));
	return open_limited_set(b, &by_hand, max_pending);
}

/* SPEC 8.3: the callback is made by the executor of the set, and only when the
 * executor runs the job. */
static void test_request_executor_calls(struct timer_bed *b)
{
	struct tkw_requests *rs = open_by_hand(b, 4);
	struct tkw_request_end end;
	struct asked a[4];
	struct tkw_request_id id;

	for (int i = 0; i < 4; i++)
		ask(rs, &a[i], i == 2 ? TKW_MSEC : HOUR_NS);
	assert_int_equal(tkw_requests_complete(rs, a[0].id, answer), 0);
	assert_int_equal(tkw_requests_cancel(rs, a[1].id), 0);
	bed_pass(b, 5 * TKW_MSEC);
	/* A request whose callback has not been made keeps its place. */
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -EAGAIN);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	assert_int_equal(hand.count, 4);
	for (int i = 0; i < 4; i++) {
		assert_under_way(&a[i]);
		/* But the request has ended. */
		assert_int_equal(tkw_requests_complete(rs, a[i].id, NULL),
				 -ENOENT);
		assert_int_equal(tkw_requests_cancel(rs, a[i].id), -ENOENT);
		assert_int_equal(tkw_requests_wait(rs, a[i].id, &end), -EINVAL);
	}
	assert_int_equal(tkw_requests_count(rs), 4);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -ESHUTDOWN);
	/* The callback is made whether the job is run or abandoned. */
	for (int i = 0; i < 4; i++) {
		if (i % 2 == 0)
			hand.job[i].run(&hand.job[i]);
		else
			hand.job[i].abandon(&hand.job[i]);
		assert_int_equal(tkw_requests_count(rs), 3 - i);
	}
	assert_ended(&a[0], 0, answer);
	assert_ended(&a[1], -ECANCELED, NULL);
	assert_ended(&a[2], -ETIMEDOUT, NULL);
	assert_ended(&a[3], -ESHUTDOWN, NULL);
	close_set(rs);
}
BED_TEST(test_request_executor_calls)

/* If the executor refuses the job, the thread that submitted it makes the
 * callback. */
static void test_request_executor_refuses(struct timer_bed *b)
{
	struct tkw_requests *rs = open_by_hand(b, 0);
	struct tkw_request_id kept = ask_quietly(rs, HOUR_NS);
	struct asked a[3];

	hand.refuse = -EAGAIN;
	for (int i = 0; i < 3; i++)
		ask(rs, &a[i], i == 1 ? TKW_MSEC : HOUR_NS);
	assert_int_equal(tkw_requests_complete(rs, a[0].id, answer), 0);
	assert_ended(&a[0], 0, answer);
	assert_true(pthread_equal(a[0].by, pthread_self()));
	bed_pass(b, 5 * TKW_MSEC);
	assert_ended(&a[1], -ETIMEDOUT, NULL);
	/* A request without fn needs no executor. */
	assert_int_equal(tkw_requests_complete(rs, kept, answer), 0);
	assert_kept(rs, kept, 0, answer);
	close_set(rs);
	assert_ended(&a[2], -ESHUTDOWN, NULL);
	assert_int_equal(hand.count, 0);
}
BED_TEST(test_request_executor_refuses)

static struct tkw_pool *open_pool(int threads)
{
	const struct tkw_pool_config cfg = { .threads = threads,
					     .max_queued = 64 };
	struct tkw_pool *p = NULL;

	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	return p;
}

/* Callbacks run on threads of the pool, or on the caller if the pool is
 * stopped. Destroy waits for queued ones. */
static void test_request_on_a_pool(struct timer_bed *b)
{
	struct tkw_pool *pool = open_pool(2);
	struct tkw_requests *rs = open_set(b, tkw_pool_exec(pool));
	struct asked a[32];

	for (int i = 0; i < 32; i++)
		ask(rs, &a[i], i % 2 == 0 ? TKW_MSEC : HOUR_NS);
	for (int i = 1; i < 32; i += 4)
		assert_int_equal(tkw_requests_complete(rs, a[i].id, answer), 0);
	bed_pass(b, 5 * TKW_MSEC);
	close_set(rs);
	for (int i = 0; i < 32; i++) {
		static const int status[] = { -ETIMEDOUT, 0, -ETIMEDOUT,
					      -ESHUTDOWN };

		assert_ended(&a[i], status[i % 4], i % 4 == 1 ? answer : NULL);
		assert_false(pthread_equal(a[i].by, pthread_self()));
	}
	rs = open_set(b, tkw_pool_exec(pool));
	ask(rs, &a[0], HOUR_NS);
	assert_int_equal(tkw_pool_stop(pool), 0);
	assert_int_equal(tkw_requests_complete(rs, a[0].id, answer), 0);
	assert_ended(&a[0], 0, answer);
	assert_true(pthread_equal(a[0].by, pthread_self()));
	close_set(rs);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_request_on_a_pool)

/* --- destroy waits -------------------------------------------------------- */

/* A callback that waits at a gate. Inside it the set cannot be destroyed. */
struct gated {
	struct tkw_requests *rs;
	struct gate gate;
	atomic_int over;
	int destroy;
	struct tkw_request_id id;
};

static void end_at_gate(const struct tkw_request_end *end, void *arg)
{
	struct gated *g = arg;

	(void)end;
	g->destroy = tkw_requests_destroy(g->rs);
	gate_pass(&g->gate);
	atomic_store(&g->over, 1);
}

/* Opens the gate when a thread sleeps. */
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

static void destroy_at_gate(struct gated *g)
{
	struct opener o = { .g = g, .tid = gettid() };
	int over;
	int ret;

	gate_await(&g->gate, 1);
	spawn(&o.thread, open_when_asleep, &o);
	ret = tkw_requests_destroy(g->rs);
	over = atomic_load(&g->over);
	atomic_store(&o.returned, true);
	pthread_join(o.thread, NULL);
	assert_int_equal(ret, 0);
	assert_int_equal(over, 1);
	assert_int_equal(g->destroy, -EDEADLK);
}

static void ask_gated(struct gated *g, struct tkw_requests *rs)
{
	memset(g, 0, sizeof(*g));
	g->rs = rs;
	gate_init(&g->gate);
	assert_int_equal(tkw_requests_add(rs, end_at_gate, g, TKW_MSEC, &g->id),
			 0);
}

/* Destroy waits for the worker, which is in a callback. */
static void test_request_destroy_waits_for_the_worker(struct timer_bed *b)
{
	struct gated g;

	ask_gated(&g, open_set(b, NULL));
	bed_set_clock(b, b->now_ns + 5 * TKW_MSEC);
	bed_wake(b);
	destroy_at_gate(&g);
}
BED_TEST(test_request_destroy_waits_for_the_worker)

/* A shutdown does not wait for the callback. */
static void test_request_shutdown_does_not_wait(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked a;
	struct gated g;

	ask_gated(&g, rs);
	ask(rs, &a, HOUR_NS);
	bed_set_clock(b, b->now_ns + 5 * TKW_MSEC);
	bed_wake(b);
	gate_await(&g.gate, 1);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	assert_int_equal(atomic_load(&g.over), 0);
	assert_ended(&a, -ESHUTDOWN, NULL);
	assert_int_equal(tkw_requests_count(rs), 0);
	destroy_at_gate(&g);
}
BED_TEST(test_request_shutdown_does_not_wait)

/* Destroy waits for a thread of the executor. */
static void test_request_destroy_waits_for_the_pool(struct timer_bed *b)
{
	struct tkw_pool *pool = open_pool(1);
	struct gated g;

	ask_gated(&g, open_set(b, tkw_pool_exec(pool)));
	assert_int_equal(tkw_requests_complete(g.rs, g.id, NULL), 0);
	destroy_at_gate(&g);
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_request_destroy_waits_for_the_pool)

/* --- fork ----------------------------------------------------------------- */

/* Returns 0 in the child, which dies with its parent. The parent gets the
 * child's pid. */
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

static void expect_inert(struct timer_bed *b, struct tkw_requests *rs,
			 struct tkw_request_id id)
{
	const struct tkw_requests_config cfg = { .timer = b->t };
	struct tkw_requests *other = NULL;
	struct tkw_request_end end;
	struct tkw_request_id more;

	must(tkw_requests_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_requests_add(rs, NULL, NULL, 0, &more) == -EPERM);
	must(tkw_requests_complete(rs, id, NULL) == -EPERM);
	must(tkw_requests_cancel(rs, id) == -EPERM);
	must(tkw_requests_wait(rs, id, &end) == -EPERM);
	must(tkw_requests_count(rs) == 0);
	must(tkw_requests_shutdown(rs) == -EPERM);
}

/* In a child the set is inert. The parent is not affected. */
static void test_request_in_a_forked_child(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked a;
	pid_t child;

	ask(rs, &a, HOUR_NS);
	child = fork_child();
	if (child == 0) {
		expect_inert(b, rs, a.id);
		must(tkw_requests_destroy(rs) == 0);
		must(tkw_timer_destroy(b->t) == 0);
		must(atomic_load(&a.calls) == 0);
		_exit(0);
	}
	assert_true(ends_well(child));
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), 0);
	assert_ended(&a, 0, answer);
	close_set(rs);
}
BED_TEST(test_request_in_a_forked_child)

/* In the child, queued jobs make no callback, before and after the set is
 * destroyed. */
static void test_request_in_a_forked_executor(struct timer_bed *b)
{
	struct tkw_requests *rs = open_by_hand(b, 0);
	struct asked a[3];
	pid_t child;

	for (int i = 0; i < 3; i++) {
		ask(rs, &a[i], HOUR_NS);
		assert_int_equal(tkw_requests_complete(rs, a[i].id, answer), 0);
	}
	assert_int_equal(hand.count, 3);
	child = fork_child();
	if (child == 0) {
		expect_inert(b, rs, a[0].id);
		hand.job[0].abandon(&hand.job[0]);
		must(tkw_requests_destroy(rs) == 0);
		hand.job[1].abandon(&hand.job[1]);
		hand.job[2].run(&hand.job[2]);
		for (int i = 0; i < 3; i++)
			must(atomic_load(&a[i].calls) == 0);
		_exit(0);
	}
	assert_true(ends_well(child));
	for (int i = 0; i < 3; i++) {
		hand.job[i].run(&hand.job[i]);
		assert_ended(&a[i], 0, answer);
	}
	close_set(rs);
}
BED_TEST(test_request_in_a_forked_executor)

/* --- races ---------------------------------------------------------------- */

/* Each answer is the id of its request, so a wrong answer is noticed at
 * once. */
enum {
	BEGINNERS = 2,
	ANSWERERS = 2,
	EACH = 4000 /* requests of each beginner */
};

struct slot {
	_Atomic uint64_t id;
	atomic_uint ends;
	atomic_int status;
};

struct race {
	struct tkw_requests *rs;
	struct slot slots[BEGINNERS][EACH];
	atomic_uint begun[BEGINNERS];
	atomic_uint running; /* beginners */
	atomic_uint answered;
	atomic_uint cancelled;
	atomic_uint refused;
};

static struct race race;

struct racer {
	pthread_t thread;
	unsigned number;
};

static void note_race(const struct tkw_request_end *end, void *arg)
{
	struct slot *s = arg;

	must(atomic_fetch_add(&s->ends, 1) == 0);
	must(end->status == 0
		     ? (uintptr_t)end->response == (uintptr_t)end->id.bits
		     : end->response == NULL);
	atomic_store(&s->status, end->status);
}

/* Some time out at once, some soon, some never. */
static void *begin_many(void *arg)
{
	struct racer *r = arg;

	for (unsigned i = 0; i < EACH; i++) {
		struct slot *s = &race.slots[r->number][i];
		int64_t timeout_ns = i % 3 == 0 ? 0
				     : i % 3 == 1
					     ? (int64_t)(i % 7) * 100 * TKW_USEC
					     : HOUR_NS;
		struct tkw_request_id id;
		int err = tkw_requests_add(race.rs, note_race, s, timeout_ns,
					   &id);

		must(err == 0 || err == -ESHUTDOWN);
		if (err != 0) {
			atomic_fetch_add(&race.refused, EACH - i);
			break;
		}
		atomic_store(&s->id, id.bits);
		atomic_store(&race.begun[r->number], i + 1);
	}
	atomic_fetch_sub(&race.running, 1);
	return NULL;
}

/* Answers or cancels the request with these bits. */
static void end_one(uint64_t bits, bool cancel)
{
	struct tkw_request_id id = id_of(bits);
	int err = cancel ? tkw_requests_cancel(race.rs, id)
			 : tkw_requests_complete(race.rs, id,
						 (void *)(uintptr_t)bits);

	must(err == 0 || err == -ENOENT);
	if (err == 0)
		atomic_fetch_add(cancel ? &race.cancelled : &race.answered, 1);
}

/* Answers or cancels all requests that there are, each more than once. */
static void *answer_many(void *arg)
{
	struct racer *r = arg;
	unsigned from[BEGINNERS] = { 0 };
	bool more = true;

	while (more) {
		more = atomic_load(&race.running) > 0;
		for (unsigned k = 0; k < BEGINNERS; k++) {
			unsigned to = atomic_load(&race.begun[k]);
			/* Old ids are tried again, too. */
			unsigned i = from[k] > 50 ? from[k] - 50 : 0;

			for (; i < to; i++) {
				end_one(race.slots[k][i].id,
					i % 11 == r->number);
			}
			from[k] = to;
		}
		sched_yield();
	}
	return NULL;
}

static void run_race(bool stop_early)
{
	const struct tkw_timer_config timer = { .tick_ns = 100 * TKW_USEC };
	struct tkw_requests_config cfg = { .size = sizeof(cfg) };
	struct racer beginners[BEGINNERS];
	struct racer answerers[ANSWERERS];

	memset(&race, 0, sizeof(race));
	assert_int_equal(tkw_timer_create(&cfg.timer, &timer), 0);
	assert_int_equal(tkw_requests_create(&race.rs, &cfg), 0);
	atomic_store(&race.running, BEGINNERS);
	for (unsigned i = 0; i < BEGINNERS; i++) {
		beginners[i].number = i;
		spawn(&beginners[i].thread, begin_many, &beginners[i]);
	}
	for (unsigned i = 0; i < ANSWERERS; i++) {
		answerers[i].number = i;
		spawn(&answerers[i].thread, answer_many, &answerers[i]);
	}
	if (stop_early) {
		while (atomic_load(&race.begun[0]) < EACH / 4)
			sched_yield();
		assert_int_equal(tkw_requests_shutdown(race.rs), 0);
	}
	for (unsigned i = 0; i < BEGINNERS; i++)
		pthread_join(beginners[i].thread, NULL);
	for (unsigned i = 0; i < ANSWERERS; i++)
		pthread_join(answerers[i].thread, NULL);
	close_set(race.rs);
	assert_int_equal(tkw_timer_count(cfg.timer), 0);
	assert_int_equal(tkw_timer_destroy(cfg.timer), 0);
}

/* Checks that each request ended once, and in each way as often as the calls
 * have returned. */
static void judge_race(void)
{
	unsigned begun = 0;
	unsigned ended[4] = { 0 }; /* answered, cancelled, timed out, stopped */

	for (unsigned k = 0; k < BEGINNERS; k++) {
		unsigned count = atomic_load(&race.begun[k]);

		begun += count;
		for (unsigned i = 0; i < EACH; i++) {
			struct slot *s = &race.slots[k][i];
			int status = atomic_load(&s->status);

			assert_int_equal(atomic_load(&s->ends), i < count);
			if (i >= count)
				continue;
			ended[0] += status == 0;
			ended[1] += status == -ECANCELED;
			ended[2] += status == -ETIMEDOUT;
			ended[3] += status == -ESHUTDOWN;
		}
	}
	assert_int_equal(ended[0] + ended[1] + ended[2] + ended[3], begun);
	assert_int_equal(ended[0], atomic_load(&race.answered));
	assert_int_equal(ended[1], atomic_load(&race.cancelled));
	assert_int_equal(begun + atomic_load(&race.refused), BEGINNERS * EACH);
}

/* SPEC 8.3: each request ends exactly once, whichever thread is first. */
static void test_request_race_of_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		run_race(false);
		judge_race();
		assert_int_equal(atomic_load(&race.refused), 0);
	}
}

/* SPEC 8.3: the same while the set is shut down. Each add is refused, or its
 * request ends. */
static void test_request_race_of_stop(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		run_race(true);
		judge_race();
	}
}

/* The latest id of a thread that adds and completes requests in one record.
 * Other threads answer old ids. */
struct reuse {
	struct tkw_requests *rs;
	_Atomic uint64_t latest;
	atomic_bool over;
	atomic_uint taken; /* late answers that were accepted */
};

static void note_reuse(const struct tkw_request_end *end, void *arg)
{
	must(atomic_fetch_add((atomic_uint *)arg, 1) == 0);
	must((uintptr_t)end->response == (uintptr_t)end->id.bits);
}

static void *answer_late(void *arg)
{
	struct reuse *u = arg;

	while (!atomic_load(&u->over)) {
		uint64_t bits = atomic_load(&u->latest);
		int err = tkw_requests_complete(u->rs, id_of(bits),
						(void *)(uintptr_t)bits);

		must(err == 0 || err == -ENOENT);
		if (err == 0)
			atomic_fetch_add(&u->taken, 1);
	}
	return NULL;
}

/* SPEC 8.3: a stale answer never ends another request. */
static void test_request_race_of_reuse(struct timer_bed *b)
{
	enum {
		ROUNDS = 20000
	};
	struct reuse u = { .rs = open_set(b, NULL) };
	pthread_t late[2];
	unsigned own = 0;

	for (int i = 0; i < 2; i++)
		spawn(&late[i], answer_late, &u);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct tkw_request_id id;
		atomic_uint calls = 0;
		int err;

		must(tkw_requests_add(u.rs, note_reuse, &calls, HOUR_NS, &id) ==
		     0);
		atomic_store(&u.latest, id.bits);
		err = tkw_requests_complete(u.rs, id,
					    (void *)(uintptr_t)id.bits);
		must(err == 0 || err == -ENOENT);
		own += err == 0;
		/* The thread that ended the request may still have to make the
		 * callback. */
		while (atomic_load(&calls) == 0)
			sched_yield();
	}
	atomic_store(&u.over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(late[i], NULL);
	assert_int_equal(own + atomic_load(&u.taken), ROUNDS);
	close_set(u.rs);
}
BED_TEST(test_request_race_of_reuse)

/* A chain of waits. Another thread answers each of them. */
struct chain {
	struct tkw_requests *rs;
	_Atomic uint64_t latest;
	atomic_bool over;
};

static void *answer_chain(void *arg)
{
	struct chain *c = arg;

	while (!atomic_load(&c->over)) {
		uint64_t bits = atomic_exchange(&c->latest, 0);

		if (bits == 0)
			sched_yield();
		else
			must(tkw_requests_complete(c->rs, id_of(bits),
						   (void *)(uintptr_t)bits) ==
			     0);
	}
	return NULL;
}

/* SPEC 8.3: no wake-up is lost. */
static void test_request_race_of_wait(struct timer_bed *b)
{
	struct chain c = { .rs = open_set(b, NULL) };
	pthread_t thread;

	spawn(&thread, answer_chain, &c);
	for (int i = 0; i < 5000; i++) {
		struct tkw_request_id id = ask_quietly(c.rs, HOUR_NS);
		struct tkw_request_end end;

		atomic_store(&c.latest, id.bits);
		must(tkw_requests_wait(c.rs, id, &end) == 0);
		must(end.status == 0 && end.id.bits == id.bits);
		must((uintptr_t)end.response == (uintptr_t)id.bits);
	}
	atomic_store(&c.over, true);
	pthread_join(thread, NULL);
	close_set(c.rs);
}
BED_TEST(test_request_race_of_wait)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_request_wait_is_woken),
		BED_TESTS(test_request_executor_calls),
		BED_TESTS(test_request_executor_refuses),
		BED_TESTS(test_request_on_a_pool),
		BED_TEST_UNDER(test_request_destroy_waits_for_the_worker,
			       thread),
		BED_TEST_UNDER(test_request_shutdown_does_not_wait, thread),
		BED_TESTS(test_request_destroy_waits_for_the_pool),
		BED_TESTS(test_request_in_a_forked_child),
		BED_TESTS(test_request_in_a_forked_executor),
		cmocka_unit_test(test_request_race_of_ends),
		cmocka_unit_test(test_request_race_of_stop),
		BED_TESTS(test_request_race_of_reuse),
		BED_TESTS(test_request_race_of_wait),
	};

	return cmocka_run_group_tests_name("request_threads", tests, NULL,
					   NULL);
}
