/* SPDX-License-Identifier: MIT */
/*
 * test_pool.c - tests the executors of exec.h without a timer: the inline one
 * and the thread pool. The tests of the pool are about its bounded queue, the
 * wait for it, its end and its threads, and about what happens without memory,
 * without threads, and after a fork (SPEC 4.8, 6.7).
 */
#include "timer_bed.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gate.h"

/* gcc and clang tell in different ways which sanitizer is on. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define UNDER_ASAN
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN
#endif

#ifdef UNDER_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* An assert of cmocka does not work in a job, or on a thread that is not the
 * test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__LINE__, #condition))
static _Noreturn void must_fail(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

/* --- the system, which may refuse --------------------------------------- */

static pthread_mutex_t system_lock = PTHREAD_MUTEX_INITIALIZER;
static bool watching;         /* count and refuse calls */
static unsigned threads_made; /* and that began to run */
static unsigned threads_ended;
static unsigned refuse_thread; /* which call fails, from 1; 0: none */
static bool refuse_memory;

enum {
	PIECES = 16
};
static void *pieces[PIECES]; /* heap memory not freed yet, or NULL */
static size_t mapped;        /* bytes */

#define NAMED(name) __asm__(name)
int real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
	NAMED("__real_pthread_create");
int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
	NAMED("__wrap_pthread_create");
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");
void real_free(void *mem) NAMED("__real_free");
void wrap_free(void *mem) NAMED("__wrap_free");
void *real_mmap(void *at, size_t size, int prot, int flags, int fd,
		off_t offset) NAMED("__real_mmap");
void *wrap_mmap(void *at, size_t size, int prot, int flags, int fd,
		off_t offset) NAMED("__wrap_mmap");
int real_munmap(void *at, size_t size) NAMED("__real_munmap");
int wrap_munmap(void *at, size_t size) NAMED("__wrap_munmap");

struct body {
	void *(*run)(void *);
	void *arg;
};

/* The body of a thread of the pool. Counts that the thread has ended. */
static void *run_body(void *arg)
{
	struct body body = *(struct body *)arg;
	void *result;

	free(arg);
	result = body.run(body.arg);
	pthread_mutex_lock(&system_lock);
	threads_ended++;
	pthread_mutex_unlock(&system_lock);
	return result;
}

int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
{
	struct body *body;
	bool refuse;
	bool watch;

	pthread_mutex_lock(&system_lock);
	watch = watching;
	refuse = watch && refuse_thread == threads_made + 1;
	if (watch && !refuse)
		threads_made++;
	pthread_mutex_unlock(&system_lock);
	if (refuse)
		return EAGAIN;
	if (!watch)
		return real_pthread_create(thread, attr, run, arg);
	body = malloc(sizeof(*body));
	must(body != NULL);
	*body = (struct body){ run, arg };
	return real_pthread_create(thread, attr, run_body, body);
}

/* Replaces `from` by `to` in the table of pieces. */
static void replace_piece(const void *from, void *to)
{
	unsigned i = 0;

	while (i < PIECES && pieces[i] != from)
		i++;
	if (i < PIECES)
		pieces[i] = to;
}

void *wrap_aligned_alloc(size_t align, size_t size)
{
	void *mem = NULL;

	pthread_mutex_lock(&system_lock);
	if (!watching || !refuse_memory)
		mem = real_aligned_alloc(align, size);
	if (watching && mem)
		replace_piece(NULL, mem);
	pthread_mutex_unlock(&system_lock);
	return mem;
}

void wrap_free(void *mem)
{
	if (mem) {
		pthread_mutex_lock(&system_lock);
		replace_piece(mem, NULL);
		pthread_mutex_unlock(&system_lock);
	}
	real_free(mem);
}

/* NOLINTNEXTLINE(readability-function-size): the system's parameters */
void *wrap_mmap(void *at, size_t size, int prot, int flags, int fd,
		off_t offset)
{
	void *mem = MAP_FAILED;

	pthread_mutex_lock(&system_lock);
	if (!watching || !refuse_memory)
		mem = real_mmap(at, size, prot, flags, fd, offset);
	else
		errno = ENOMEM;
	if (watching && mem != MAP_FAILED)
		mapped += size;
	pthread_mutex_unlock(&system_lock);
	return mem;
}

int wrap_munmap(void *at, size_t size)
{
	pthread_mutex_lock(&system_lock);
	if (watching)
		mapped -= size;
	pthread_mutex_unlock(&system_lock);
	return real_munmap(at, size);
}

static void assert_no_memory_left(void)
{
	unsigned i;

	for (i = 0; i < PIECES; i++)
		assert_null(pieces[i]);
	assert_int_equal(mapped, 0);
}

/* Watch the calls of the system, from zero. */
static void watch_system(void)
{
	pthread_mutex_lock(&system_lock);
	watching = true;
	threads_made = 0;
	threads_ended = 0;
	refuse_thread = 0;
	refuse_memory = false;
	memset(pieces, 0, sizeof(pieces));
	mapped = 0;
	pthread_mutex_unlock(&system_lock);
}

static void trust_system(void)
{
	pthread_mutex_lock(&system_lock);
	watching = false;
	pthread_mutex_unlock(&system_lock);
}

/* --- gates, and jobs that are written down ------------------------------ */

enum {
	ROOM = 1 << 17
};

/* What happened to the jobs 0 ... ROOM - 1. */
struct record {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned ran[ROOM];
	unsigned abandoned[ROOM];
	uint64_t order[ROOM]; /* their numbers, in the order of the calls */
	unsigned runs;
	unsigned abandons;
	pthread_t by; /* the thread that made the last abandon */
};

static struct record *record;

static void note_run(const struct tkw_job *job)
{
	struct record *r = job->ctx;

	pthread_mutex_lock(&r->lock);
	must(job->number < ROOM && r->runs + r->abandons < ROOM);
	r->order[r->runs + r->abandons] = job->number;
	r->ran[job->number]++;
	r->runs++;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void note_abandon(const struct tkw_job *job)
{
	struct record *r = job->ctx;

	pthread_mutex_lock(&r->lock);
	must(job->number < ROOM && r->runs + r->abandons < ROOM);
	r->order[r->runs + r->abandons] = job->number;
	r->abandoned[job->number]++;
	r->abandons++;
	r->by = pthread_self();
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void await_runs(unsigned least)
{
	pthread_mutex_lock(&record->lock);
	while (record->runs < least)
		pthread_cond_wait(&record->changed, &record->lock);
	pthread_mutex_unlock(&record->lock);
}

static void await_abandons(unsigned least)
{
	pthread_mutex_lock(&record->lock);
	while (record->abandons < least)
		pthread_cond_wait(&record->changed, &record->lock);
	pthread_mutex_unlock(&record->lock);
}

/* How many jobs were run or abandoned. */
static unsigned ends_so_far(void)
{
	unsigned ends;

	pthread_mutex_lock(&record->lock);
	ends = record->runs + record->abandons;
	pthread_mutex_unlock(&record->lock);
	return ends;
}

static void wait_at_gate(const struct tkw_job *job)
{
	gate_pass(job->ctx);
}

static void never(const struct tkw_job *job)
{
	(void)job;
	must_fail(__LINE__, "this job is not to be called");
}

static struct tkw_job noted(uint64_t number)
{
	return (struct tkw_job){ .run = note_run,
				 .abandon = note_abandon,
				 .ctx = record,
				 .number = number };
}

static int submit(const struct tkw_exec *exec, struct tkw_job job)
{
	int err = exec->submit(&job, exec->ctx);

	/* The pool has copied the job. */
	memset(&job, 0xff, sizeof(job));
	return err;
}

static int submit_noted(struct tkw_pool *p, uint64_t number)
{
	return submit(tkw_pool_exec(p), noted(number));
}

/* Holds some threads of the pool at a gate. */
static void hold(struct tkw_pool *p, struct gate *g, unsigned threads)
{
	const struct tkw_job job = { .run = wait_at_gate,
				     .abandon = never,
				     .ctx = g };
	unsigned i;

	for (i = 0; i < threads; i++) {
		assert_int_equal(submit(tkw_pool_exec(p), job), 0);
		gate_await(g, i + 1);
	}
}

static struct tkw_pool *pool_of(int threads, int64_t max_queued)
{
	const struct tkw_pool_config cfg = { .size = sizeof(cfg),
					     .threads = threads,
					     .max_queued = max_queued };
	struct tkw_pool *p = NULL;

	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	assert_non_null(p);
	return p;
}

static int setup(void **state)
{
	(void)state;
	record = calloc(1, sizeof(*record));
	if (!record)
		return -1;
	pthread_mutex_init(&record->lock, NULL);
	pthread_cond_init(&record->changed, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	trust_system();
	free(record);
	return 0;
}

/* Checks that jobs 0 ... count - 1 were called once each. Returns how many of
 * them ran. */
static unsigned each_once(unsigned count)
{
	unsigned runs = 0;
	unsigned i;

	for (i = 0; i < ROOM; i++) {
		if (record->ran[i] + record->abandoned[i] != (i < count))
			fail_msg("job %u: ran %u times, abandoned %u times", i,
				 record->ran[i], record->abandoned[i]);
		runs += record->ran[i];
	}
	return runs;
}

static void spawn(pthread_t *thread, void *(*run)(void *), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

static void join(pthread_t thread)
{
	must(pthread_join(thread, NULL) == 0);
}

static void wait_asleep(pid_t tid)
{
	while (!bed_is_asleep(tid))
		sched_yield();
}

/* A call that may wait, on a thread of its own. */
struct caller {
	pthread_t thread;
	int (*call)(struct tkw_pool *p);
	struct tkw_pool *pool;
	struct gate ready; /* opened when tid is set */
	pid_t tid;
	int said;
	pthread_mutex_t lock;
	bool back;
};

static void *call_pool(void *arg)
{
	struct caller *c = arg;
	int said;

	c->tid = gettid();
	gate_open(&c->ready);
	said = c->call(c->pool);
	pthread_mutex_lock(&c->lock);
	c->said = said;
	c->back = true;
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Returns when the thread sleeps in the call, or has returned from it. */
static void call_and_sleep(struct caller *c, int (*call)(struct tkw_pool *p),
			   struct tkw_pool *p)
{
	const struct gate shut = GATE_INIT;

	memset(c, 0, sizeof(*c));
	c->ready = shut;
	pthread_mutex_init(&c->lock, NULL);
	c->call = call;
	c->pool = p;
	spawn(&c->thread, call_pool, c);
	gate_pass(&c->ready);
	wait_asleep(c->tid);
}

static bool is_back(struct caller *c)
{
	bool back;

	pthread_mutex_lock(&c->lock);
	back = c->back;
	pthread_mutex_unlock(&c->lock);
	return back;
}

/* --- the inline executor ------------------------------------------------ */

/* SPEC 4.8 */
static void test_inline_runs_inside_of_submit(void **state)
{
	const struct tkw_exec *exec = tkw_exec_inline();
	unsigned i;

	(void)state;
	assert_non_null(exec);
	assert_non_null(exec->submit);
	for (i = 0; i < 3; i++) {
		assert_int_equal(submit(exec, noted(i)), 0);
		assert_int_equal(record->runs, i + 1);
	}
	assert_int_equal(each_once(3), 3);
}

static void refuse_without_functions(const struct tkw_exec *exec)
{
	const struct tkw_job no_run = { .abandon = never };
	const struct tkw_job no_abandon = { .run = never };
	const struct tkw_job neither = { .ctx = NULL };

	assert_int_equal(exec->submit(NULL, exec->ctx), -EINVAL);
	assert_int_equal(submit(exec, no_run), -EINVAL);
	assert_int_equal(submit(exec, no_abandon), -EINVAL);
	assert_int_equal(submit(exec, neither), -EINVAL);
}

static void test_inline_refuses_a_job_without_functions(void **state)
{
	(void)state;
	refuse_without_functions(tkw_exec_inline());
}

/* --- create ------------------------------------------------------------- */

static void assert_bad(struct tkw_pool_config cfg)
{
	struct tkw_pool *const untouched = (struct tkw_pool *)&cfg;
	struct tkw_pool *p = untouched;

	assert_int_equal(tkw_pool_create(&p, &cfg), -EINVAL);
	assert_ptr_equal(p, untouched);
	assert_int_equal(threads_made, 0);
	assert_no_memory_left();
}

static void test_pool_refuses_bad_input(void **state)
{
	const struct tkw_pool_config good = { .size = sizeof(good),
					      .threads = 1 };
	const size_t sizes[] = { 1, sizeof(good) - 1, sizeof(good) + (1 << 20),
				 SIZE_MAX };
	const int64_t bounds[] = { -1, INT64_MIN, (INT64_C(1) << 30) + 1,
				   INT64_MAX };
	const int threads[] = { 0, -1, INT32_MIN, 4097, INT32_MAX };
	struct tkw_pool_config cfg;
	struct tkw_pool *p = (struct tkw_pool *)&cfg;
	unsigned i;

	(void)state;
	watch_system();
	assert_int_equal(tkw_pool_create(NULL, &good), -EINVAL);
	assert_int_equal(tkw_pool_create(&p, NULL), -EINVAL);
	assert_ptr_equal(p, &cfg);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cfg = good;
		cfg.size = sizes[i];
		assert_bad(cfg);
	}
	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		cfg = good;
		cfg.threads = threads[i];
		assert_bad(cfg);
	}
	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		cfg = good;
		cfg.max_queued = bounds[i];
		assert_bad(cfg);
	}
}

/* Waits until all queued jobs have run, and stops the pool. */
static void run_all_and_stop(struct tkw_pool *p)
{
	assert_int_equal(tkw_pool_wait_idle(p, INT64_MAX), 0);
	assert_int_equal(tkw_pool_stop(p), 0);
}

/* A size of 0 means the fields of version 0.2. */
static void test_pool_takes_a_size_of_zero(void **state)
{
	const struct tkw_pool_config cfg = { .threads = 2, .max_queued = 4 };
	struct tkw_pool *p;

	(void)state;
	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	assert_int_equal(submit_noted(p, 0), 0);
	run_all_and_stop(p);
	assert_int_equal(each_once(1), 1);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* A config of a later version is legal if the fields that are unknown here are
 * zero. */
static void test_pool_takes_a_config_that_is_newer(void **state)
{
	struct {
		struct tkw_pool_config known;
		unsigned char beyond[40];
	} newer;
	struct tkw_pool *p;
	size_t i;

	(void)state;
	watch_system();
	for (i = 1; i <= sizeof(newer.beyond); i++) {
		memset(&newer, 0, sizeof(newer));
		newer.known.size = sizeof(newer.known) + i;
		newer.known.threads = 1;
		/* Bytes after the size that the config gives may have any
		 * value. */
		memset(newer.beyond + i, 0xff, sizeof(newer.beyond) - i);
		assert_int_equal(tkw_pool_create(&p, &newer.known), 0);
		assert_int_equal(tkw_pool_destroy(p), 0);
		newer.beyond[i - 1] = 1;
		p = (struct tkw_pool *)&newer;
		assert_int_equal(tkw_pool_create(&p, &newer.known), -EINVAL);
		assert_ptr_equal(p, &newer);
	}
	assert_int_equal(threads_made, sizeof(newer.beyond));
	assert_no_memory_left();
}

static void test_pool_of_nothing(void **state)
{
	(void)state;
	assert_int_equal(tkw_pool_destroy(NULL), 0);
	assert_int_equal(tkw_pool_stop(NULL), -EINVAL);
	assert_int_equal(tkw_pool_wait_idle(NULL, 0), -EINVAL);
	assert_int_equal(tkw_pool_wait_idle(NULL, INT64_MAX), -EINVAL);
	assert_null(tkw_pool_exec(NULL));
	assert_true(tkw_pool_count(NULL) == 0);
}

/* If the k-th thread cannot be created, nothing is left of the pool. If all
 * can, the pool works. */
static void test_pool_needs_all_its_threads(void **state)
{
	enum {
		THREADS = 5
	};
	const struct tkw_pool_config cfg = { .size = sizeof(cfg),
					     .threads = THREADS,
					     .max_queued = 3 };
	struct tkw_pool *p;
	unsigned k;

	(void)state;
	for (k = 1; k <= THREADS; k++) {
		watch_system();
		refuse_thread = k;
		p = (struct tkw_pool *)&p;
		assert_int_equal(tkw_pool_create(&p, &cfg), -ENOMEM);
		assert_ptr_equal(p, &p);
		assert_int_equal(threads_made, k - 1);
		assert_int_equal(threads_ended, k - 1);
		assert_no_memory_left();
	}
	watch_system();
	refuse_thread = THREADS + 1;
	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	assert_int_equal(submit_noted(p, 0), 0);
	run_all_and_stop(p);
	assert_int_equal(threads_ended, THREADS);
	assert_int_equal(tkw_pool_destroy(p), 0);
	assert_no_memory_left();
	assert_int_equal(each_once(1), 1);
}

static void test_pool_without_memory(void **state)
{
	/* Small pieces come from the heap, large ones from mmap(). */
	const int64_t bounds[] = { 1, 0, 100000 };
	struct tkw_pool_config cfg = { .size = sizeof(cfg), .threads = 2 };
	struct tkw_pool *p;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		cfg.max_queued = bounds[i];
		p = (struct tkw_pool *)&cfg;
		watch_system();
		refuse_memory = true;
		assert_int_equal(tkw_pool_create(&p, &cfg), -ENOMEM);
		assert_ptr_equal(p, &cfg);
		assert_int_equal(threads_made, 0);
		assert_no_memory_left();
		refuse_memory = false;
		assert_int_equal(tkw_pool_create(&p, &cfg), 0);
		assert_true(mapped > 0 || pieces[0]);
		assert_int_equal(tkw_pool_destroy(p), 0);
		assert_no_memory_left();
	}
}

/* --- what the threads are ----------------------------------------------- */

struct self {
	struct gate done;
	char name[32];
	sigset_t blocked;
	int cancel_state;
};

static void note_self(const struct tkw_job *job)
{
	struct self *s = job->ctx;

	must(pthread_getname_np(pthread_self(), s->name, sizeof(s->name)) == 0);
	must(pthread_sigmask(SIG_BLOCK, NULL, &s->blocked) == 0);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel_state);
	gate_open(&s->done);
}

static struct self self_in_pool(const char *name)
{
	const struct tkw_pool_config cfg = { .size = sizeof(cfg),
					     .threads = 1,
					     .thread_name = name };
	struct self s = { .done = GATE_INIT };
	const struct tkw_job job = { .run = note_self,
				     .abandon = never,
				     .ctx = &s };
	struct tkw_pool *p;

	assert_int_equal(tkw_pool_create(&p, &cfg), 0);
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	gate_pass(&s.done);
	assert_int_equal(tkw_pool_destroy(p), 0);
	return s;
}

static void test_pool_names_its_threads(void **state)
{
	char name[] = "0123456789abcdefgh";

	(void)state;
	assert_string_equal(self_in_pool(NULL).name, "tkw-pool");
	assert_string_equal(self_in_pool("mine").name, "mine");
	assert_string_equal(self_in_pool(name).name, "0123456789abcde");
}

/* Jobs cannot be cancelled either. */
static void test_pool_blocks_signals_in_jobs(void **state)
{
	struct self s = self_in_pool(NULL);
	sigset_t mine;
	int number;

	(void)state;
	for (number = 1; number < 32; number++) {
		if (number != SIGKILL && number != SIGSTOP)
			assert_int_equal(sigismember(&s.blocked, number), 1);
	}
	assert_int_equal(sigismember(&s.blocked, SIGRTMAX), 1);
	assert_int_equal(s.cancel_state, PTHREAD_CANCEL_DISABLE);
	/* The creator's own signal mask has not changed. */
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mine), 0);
	assert_int_equal(sigismember(&mine, SIGUSR1), 0);
}

/* --- the queue ---------------------------------------------------------- */

static void test_pool_refuses_a_job_without_functions(void **state)
{
	struct tkw_pool *p = pool_of(1, 1);

	(void)state;
	refuse_without_functions(tkw_pool_exec(p));
	assert_true(tkw_pool_count(p) == 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* SPEC 4.8 */
static void test_pool_of_one_runs_each_once_in_order(void **state)
{
	struct tkw_pool *p = pool_of(1, 0);
	unsigned i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(submit_noted(p, i), 0);
	run_all_and_stop(p);
	assert_int_equal(each_once(1000), 1000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(record->order[i], i);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static void assert_bound(int threads, unsigned queue, int64_t configured)
{
	struct tkw_pool *p = pool_of(threads, configured);
	struct gate g = GATE_INIT;
	unsigned before = record->runs;
	unsigned i;

	hold(p, &g, (unsigned)threads);
	for (i = 0; i < queue; i++) {
		assert_true(tkw_pool_count(p) == i);
		assert_int_equal(submit_noted(p, i), 0);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(submit_noted(p, ROOM - 1), -EAGAIN);
	assert_true(tkw_pool_count(p) == queue);
	assert_int_equal(record->runs, before);
	gate_open(&g);
	run_all_and_stop(p);
	assert_int_equal(record->runs, before + queue);
	assert_true(tkw_pool_count(p) == 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static void test_pool_queue_bound_is_exact(void **state)
{
	unsigned queue;
	int threads;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		for (queue = 1; queue <= 5; queue++)
			assert_bound(threads, queue, queue);
	}
	assert_bound(1, 65536, 0);
	assert_int_equal(record->ran[ROOM - 1], 0);
}

/* Each job has a gate, so that it runs when the test opens the gate. */
static void test_pool_has_room_again_when_one_has_run(void **state)
{
	enum {
		QUEUE = 3,
		JOBS = 20
	};
	struct tkw_pool *p = pool_of(1, QUEUE);
	struct gate gates[JOBS];
	unsigned i;

	(void)state;
	for (i = 0; i < JOBS; i++) {
		const struct gate shut = GATE_INIT;
		const struct tkw_job job = { .run = wait_at_gate,
					     .abandon = never,
					     .ctx = &gates[i] };

		gates[i] = shut;
		if (i > QUEUE) {
			/* One job runs, and the queue is full. */
			assert_int_equal(submit(tkw_pool_exec(p), job),
					 -EAGAIN);
			gate_open(&gates[i - QUEUE - 1]);
			gate_await(&gates[i - QUEUE], 1);
		}
		assert_int_equal(submit(tkw_pool_exec(p), job), 0);
		if (i == 0)
			gate_await(&gates[0], 1);
	}
	assert_true(tkw_pool_count(p) == QUEUE);
	for (i = 0; i < JOBS; i++)
		gate_open(&gates[i]);
	run_all_and_stop(p);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static void test_pool_ring_wraps_around(void **state)
{
	struct tkw_pool *p = pool_of(1, 3);
	unsigned i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		/* The queue holds up to one, two and three jobs, in turn. */
		if (i > i % 3)
			await_runs(i - i % 3);
		assert_int_equal(submit_noted(p, i), 0);
	}
	run_all_and_stop(p);
	assert_int_equal(each_once(5000), 5000);
	for (i = 0; i < 5000; i++)
		assert_int_equal(record->order[i], i);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

struct parent {
	struct tkw_pool *pool;
	struct gate gate;
	unsigned first;
	unsigned count;
	int said[8];
};

static void submit_children(const struct tkw_job *job)
{
	struct parent *parent = job->ctx;
	unsigned i;

	for (i = 0; i < parent->count; i++)
		parent->said[i] = submit_noted(parent->pool, parent->first + i);
}

/* This works on the only thread of a pool, until the queue is full. */
static void test_pool_job_submits_jobs(void **state)
{
	struct tkw_pool *p = pool_of(1, 3);
	struct parent parent = { .pool = p, .count = 5 };
	const struct tkw_job job = { .run = submit_children,
				     .abandon = never,
				     .ctx = &parent };

	(void)state;
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	await_runs(3);
	assert_int_equal(parent.said[0], 0);
	assert_int_equal(parent.said[2], 0);
	assert_int_equal(parent.said[3], -EAGAIN);
	assert_int_equal(parent.said[4], -EAGAIN);
	run_all_and_stop(p);
	assert_int_equal(each_once(3), 3);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* --- waiting for idle --------------------------------------------------- */

static void test_pool_wait_idle_has_nothing_to_wait_for(void **state)
{
	const int64_t timeouts_ns[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
	struct tkw_pool *p = pool_of(2, 4);
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(timeouts_ns) / sizeof(timeouts_ns[0]); i++)
		assert_int_equal(tkw_pool_wait_idle(p, timeouts_ns[i]), 0);
	assert_int_equal(submit_noted(p, 0), 0);
	run_all_and_stop(p);
	assert_int_equal(each_once(1), 1);
	for (i = 0; i < sizeof(timeouts_ns) / sizeof(timeouts_ns[0]); i++)
		assert_int_equal(tkw_pool_wait_idle(p, timeouts_ns[i]), 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static unsigned ends_expected;

/* When the wait returns, all jobs have ended. */
static int wait_for_all(struct tkw_pool *p)
{
	int said = tkw_pool_wait_idle(p, INT64_MAX);

	must(ends_so_far() == ends_expected);
	return said;
}

/* It waits for queued jobs, and for running ones. */
static void test_pool_wait_idle_waits_for_the_last_job(void **state)
{
	struct tkw_pool *p = pool_of(2, 100);
	struct caller waiters[3];
	struct gate g = GATE_INIT;
	unsigned i;

	(void)state;
	hold(p, &g, 2);
	for (i = 0; i < 100; i++)
		assert_int_equal(submit_noted(p, i), 0);
	ends_expected = 100;
	for (i = 0; i < 3; i++)
		call_and_sleep(&waiters[i], wait_for_all, p);
	assert_int_equal(ends_so_far(), 0);
	for (i = 0; i < 3; i++)
		assert_false(is_back(&waiters[i]));
	gate_open(&g);
	for (i = 0; i < 3; i++) {
		join(waiters[i].thread);
		assert_int_equal(waiters[i].said, 0);
	}
	assert_int_equal(each_once(100), 100);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static void test_pool_wait_idle_waits_for_a_running_job(void **state)
{
	struct tkw_pool *p = pool_of(2, 1);
	struct gate gates[2] = { GATE_INIT, GATE_INIT };
	struct caller waiter;

	(void)state;
	hold(p, &gates[0], 1);
	hold(p, &gates[1], 1);
	assert_true(tkw_pool_count(p) == 0);
	ends_expected = 0;
	call_and_sleep(&waiter, wait_for_all, p);
	gate_open(&gates[0]);
	assert_false(is_back(&waiter));
	assert_int_equal(tkw_pool_wait_idle(p, 0), -ETIMEDOUT);
	gate_open(&gates[1]);
	join(waiter.thread);
	assert_int_equal(waiter.said, 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* It does not give up early. Tested with a running and with a queued job. */
static void test_pool_wait_idle_gives_up(void **state)
{
	const int64_t timeouts_ns[] = { INT64_MIN, -1, 0, 1, 2000000 };
	struct tkw_pool *p = pool_of(1, 1);
	struct gate g = GATE_INIT;
	int64_t begin_ns;
	unsigned i;

	(void)state;
	hold(p, &g, 1);
	for (i = 0; i < 10; i++) {
		begin_ns = monotonic_ns();
		assert_int_equal(tkw_pool_wait_idle(p, timeouts_ns[i % 5]),
				 -ETIMEDOUT);
		assert_true(monotonic_ns() - begin_ns >= timeouts_ns[i % 5]);
		if (i == 4)
			assert_int_equal(submit_noted(p, 0), 0);
	}
	gate_open(&g);
	run_all_and_stop(p);
	assert_int_equal(each_once(1), 1);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* Each job of a chain submits the next one. */
struct chain {
	struct tkw_pool *pool;
	unsigned left;
};

static void run_chain(const struct tkw_job *job)
{
	struct chain *c = job->ctx;

	c->left--;
	if (c->left > 0)
		must(submit(tkw_pool_exec(c->pool), *job) == 0);
}

/* The pool is never idle between two jobs of the chain. */
static void test_pool_wait_idle_waits_for_what_jobs_submit(void **state)
{
	struct tkw_pool *p = pool_of(2, 4);
	struct chain c = { p, 10000 };
	const struct tkw_job job = { .run = run_chain,
				     .abandon = never,
				     .ctx = &c };

	(void)state;
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	assert_int_equal(tkw_pool_wait_idle(p, INT64_MAX), 0);
	assert_int_equal(c.left, 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* A stop ends the wait, but only after it has abandoned the queued jobs. */
static void test_pool_wait_idle_while_it_is_stopped(void **state)
{
	struct tkw_pool *p = pool_of(1, 8);
	struct gate g = GATE_INIT;
	struct caller waiter;
	struct caller stopper;
	unsigned i;

	(void)state;
	hold(p, &g, 1);
	for (i = 0; i < 8; i++)
		assert_int_equal(submit_noted(p, i), 0);
	ends_expected = 8;
	call_and_sleep(&waiter, wait_for_all, p);
	call_and_sleep(&stopper, tkw_pool_stop, p);
	await_abandons(8);
	assert_false(is_back(&waiter));
	gate_open(&g);
	join(waiter.thread);
	join(stopper.thread);
	assert_int_equal(waiter.said, 0);
	assert_int_equal(stopper.said, 0);
	assert_int_equal(each_once(8), 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static void abandon_at_gate(const struct tkw_job *job)
{
	gate_pass(job->ctx);
}

/* The wait also waits for an abandon that is running. */
static void test_pool_wait_idle_waits_for_an_abandon(void **state)
{
	struct tkw_pool *p = pool_of(1, 1);
	struct gate held = GATE_INIT;
	struct gate g = GATE_INIT;
	const struct tkw_job job = { .run = never,
				     .abandon = abandon_at_gate,
				     .ctx = &g };
	struct caller stopper;

	(void)state;
	hold(p, &held, 1);
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	call_and_sleep(&stopper, tkw_pool_stop, p);
	gate_await(&g, 1);
	gate_open(&held);
	assert_true(tkw_pool_count(p) == 0);
	assert_int_equal(tkw_pool_wait_idle(p, 1000000), -ETIMEDOUT);
	gate_open(&g);
	assert_int_equal(tkw_pool_wait_idle(p, INT64_MAX), 0);
	join(stopper.thread);
	assert_int_equal(stopper.said, 0);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* --- stop --------------------------------------------------------------- */

/* Running jobs go on. Queued jobs are abandoned by the thread that stops, in
 * order, and without waiting for the running ones. Later jobs are refused. */
static void test_pool_stop_abandons_what_is_queued(void **state)
{
	struct tkw_pool *p = pool_of(2, 100);
	struct gate g = GATE_INIT;
	struct caller stopper;
	unsigned i;

	(void)state;
	/* Move the ring away from its start. */
	for (i = 0; i < 5; i++) {
		assert_int_equal(submit_noted(p, i), 0);
		await_runs(i + 1);
	}
	hold(p, &g, 2);
	for (i = 5; i < 105; i++)
		assert_int_equal(submit_noted(p, i), 0);
	call_and_sleep(&stopper, tkw_pool_stop, p);
	await_abandons(100);
	assert_false(is_back(&stopper));
	assert_true(tkw_pool_count(p) == 0);
	gate_open(&g);
	join(stopper.thread);
	assert_int_equal(stopper.said, 0);
	assert_int_equal(each_once(105), 5);
	assert_true(pthread_equal(record->by, stopper.thread));
	for (i = 0; i < 105; i++)
		assert_int_equal(record->order[i], i);
	assert_int_equal(submit_noted(p, 105), -ESHUTDOWN);
	assert_int_equal(tkw_pool_stop(p), 1);
	assert_int_equal(tkw_pool_destroy(p), 0);
	assert_int_equal(each_once(105), 5);
}

static void submit_behind_gate(const struct tkw_job *job)
{
	struct parent *parent = job->ctx;

	gate_pass(&parent->gate);
	parent->said[0] = submit_noted(parent->pool, 0);
}

/* While a stop waits, new jobs are refused, also those that a job submits.
 * Another stop does not wait. */
static void test_pool_being_stopped_refuses(void **state)
{
	struct tkw_pool *p = pool_of(1, 10);
	struct parent parent = { .pool = p, .gate = GATE_INIT };
	const struct tkw_job job = { .run = submit_behind_gate,
				     .abandon = never,
				     .ctx = &parent };
	struct caller stopper;

	(void)state;
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	gate_await(&parent.gate, 1);
	call_and_sleep(&stopper, tkw_pool_stop, p);
	assert_int_equal(submit_noted(p, 0), -ESHUTDOWN);
	assert_int_equal(tkw_pool_stop(p), 1);
	assert_false(is_back(&stopper));
	gate_open(&parent.gate);
	join(stopper.thread);
	assert_int_equal(stopper.said, 0);
	assert_int_equal(parent.said[0], -ESHUTDOWN);
	assert_int_equal(tkw_pool_destroy(p), 0);
	assert_int_equal(each_once(0), 0);
}

struct stopper {
	struct tkw_pool *pool;
	pthread_barrier_t *begin;
	int said;
};

static void *stop_together(void *arg)
{
	struct stopper *s = arg;

	pthread_barrier_wait(s->begin);
	s->said = tkw_pool_stop(s->pool);
	return NULL;
}

static void test_pool_concurrent_stops_have_one_winner(void **state)
{
	enum {
		STOPPERS = 4
	};
	struct stopper stoppers[STOPPERS];
	pthread_t threads[STOPPERS];
	pthread_barrier_t begin;
	unsigned lost;
	int round;
	int i;

	(void)state;
	assert_int_equal(pthread_barrier_init(&begin, NULL, STOPPERS), 0);
	for (round = 0; round < 50; round++) {
		struct tkw_pool *p = pool_of(2, 8);

		lost = 0;
		for (i = 0; i < 8; i++)
			submit_noted(p, (uint64_t)round);
		for (i = 0; i < STOPPERS; i++) {
			stoppers[i] = (struct stopper){ p, &begin, -1 };
			spawn(&threads[i], stop_together, &stoppers[i]);
		}
		for (i = 0; i < STOPPERS; i++) {
			join(threads[i]);
			assert_true(stoppers[i].said == 0 ||
				    stoppers[i].said == 1);
			lost += stoppers[i].said == 1;
		}
		assert_int_equal(lost, STOPPERS - 1);
		assert_int_equal(record->ran[round] + record->abandoned[round],
				 8);
		assert_int_equal(tkw_pool_destroy(p), 0);
	}
	pthread_barrier_destroy(&begin);
}

struct suicide {
	struct tkw_pool *pool;
	int idle_said;
	int stop_said;
	int destroy_said;
	struct gate done;
};

static void stop_and_destroy(const struct tkw_job *job)
{
	struct suicide *s = job->ctx;

	s->idle_said = tkw_pool_wait_idle(s->pool, 0);
	must(tkw_pool_wait_idle(s->pool, INT64_MAX) == s->idle_said);
	s->stop_said = tkw_pool_stop(s->pool);
	s->destroy_said = tkw_pool_destroy(s->pool);
	gate_open(&s->done);
}

static void wait_for_and_stop_another(const struct tkw_job *job)
{
	struct suicide *s = job->ctx;

	s->idle_said = tkw_pool_wait_idle(s->pool, INT64_MAX);
	s->stop_said = tkw_pool_stop(s->pool);
	gate_open(&s->done);
}

/* A job would wait for itself, so the call is refused and changes nothing (as
 * SPEC 6.1 says of the timer). Jobs of another pool may call it. */
static void test_pool_job_cannot_wait_for_its_pool(void **state)
{
	struct suicide s = { .done = GATE_INIT };
	struct suicide other = { .done = GATE_INIT };
	struct tkw_job job = { .run = stop_and_destroy,
			       .abandon = never,
			       .ctx = &s };
	struct tkw_pool *p = pool_of(1, 4);
	struct tkw_pool *q = pool_of(1, 4);

	(void)state;
	s.pool = p;
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	gate_pass(&s.done);
	assert_int_equal(s.idle_said, -EDEADLK);
	assert_int_equal(s.stop_said, -EDEADLK);
	assert_int_equal(s.destroy_said, -EDEADLK);
	assert_int_equal(submit_noted(p, 0), 0);
	other.pool = p;
	job.run = wait_for_and_stop_another;
	job.ctx = &other;
	assert_int_equal(submit(tkw_pool_exec(q), job), 0);
	gate_pass(&other.done);
	assert_int_equal(other.idle_said, 0);
	assert_int_equal(other.stop_said, 0);
	assert_int_equal(each_once(1), 1);
	assert_int_equal(tkw_pool_destroy(p), 0);
	assert_int_equal(tkw_pool_destroy(q), 0);
}

/* --- destroy ------------------------------------------------------------ */

/* SPEC 4.8: each job is called. Here each is abandoned, on this thread. */
static void test_pool_destroy_abandons_what_is_queued(void **state)
{
	struct tkw_pool *p = pool_of(1, 8);
	struct gate g = GATE_INIT;
	struct caller destroyer;
	unsigned i;

	(void)state;
	/* Move the ring away from its start. */
	for (i = 0; i < 5; i++) {
		assert_int_equal(submit_noted(p, i), 0);
		await_runs(i + 1);
	}
	hold(p, &g, 1);
	for (i = 5; i < 13; i++)
		assert_int_equal(submit_noted(p, i), 0);
	call_and_sleep(&destroyer, tkw_pool_destroy, p);
	await_abandons(8);
	assert_false(is_back(&destroyer));
	gate_open(&g);
	join(destroyer.thread);
	assert_int_equal(destroyer.said, 0);
	assert_int_equal(each_once(13), 5);
	assert_true(pthread_equal(record->by, destroyer.thread));
	for (i = 0; i < 13; i++)
		assert_int_equal(record->order[i], i);
}

struct long_job {
	struct gate begun;
	struct gate go_on;
	bool over;
};

static void run_long(const struct tkw_job *job)
{
	struct long_job *l = job->ctx;

	gate_open(&l->begun);
	gate_pass(&l->go_on);
	l->over = true;
}

static void test_pool_destroy_waits_for_running_jobs(void **state)
{
	struct long_job jobs[2] = {
		{ .begun = GATE_INIT, .go_on = GATE_INIT },
		{ .begun = GATE_INIT, .go_on = GATE_INIT },
	};
	struct tkw_pool *p = pool_of(2, 8);
	struct caller destroyer;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const struct tkw_job job = { .run = run_long,
					     .abandon = never,
					     .ctx = &jobs[i] };

		assert_int_equal(submit(tkw_pool_exec(p), job), 0);
		gate_pass(&jobs[i].begun);
	}
	call_and_sleep(&destroyer, tkw_pool_destroy, p);
	gate_open(&jobs[0].go_on);
	assert_false(is_back(&destroyer));
	gate_open(&jobs[1].go_on);
	join(destroyer.thread);
	assert_int_equal(destroyer.said, 0);
	assert_true(jobs[0].over && jobs[1].over);
}

/* The stop itself waits for a running job. */
static void test_pool_destroy_waits_for_a_stop(void **state)
{
	struct tkw_pool *p = pool_of(1, 8);
	struct gate g = GATE_INIT;
	struct caller stopper;
	struct caller destroyer;
	unsigned i;

	(void)state;
	hold(p, &g, 1);
	for (i = 0; i < 8; i++)
		assert_int_equal(submit_noted(p, i), 0);
	call_and_sleep(&stopper, tkw_pool_stop, p);
	call_and_sleep(&destroyer, tkw_pool_destroy, p);
	assert_false(is_back(&stopper));
	assert_false(is_back(&destroyer));
	gate_open(&g);
	join(stopper.thread);
	join(destroyer.thread);
	assert_int_equal(stopper.said, 0);
	assert_int_equal(destroyer.said, 0);
	assert_int_equal(each_once(8), 0);
	assert_true(pthread_equal(record->by, stopper.thread));
}

static void submit_in_abandon(const struct tkw_job *job)
{
	struct parent *parent = job->ctx;

	parent->said[0] = submit_noted(parent->pool, 0);
	parent->said[1] = tkw_pool_stop(parent->pool);
	parent->said[2] = tkw_pool_wait_idle(parent->pool, INT64_MAX);
	parent->said[3] = tkw_pool_destroy(parent->pool);
}

static void end_with_an_abandon(int (*end)(struct tkw_pool *p))
{
	struct tkw_pool *p = pool_of(1, 2);
	struct gate g = GATE_INIT;
	struct parent parent = { .pool = p };
	const struct tkw_job job = { .run = never,
				     .abandon = submit_in_abandon,
				     .ctx = &parent };
	struct caller ender;

	hold(p, &g, 1);
	assert_int_equal(submit(tkw_pool_exec(p), job), 0);
	call_and_sleep(&ender, end, p);
	gate_open(&g);
	join(ender.thread);
	assert_int_equal(ender.said, 0);
	assert_int_equal(parent.said[0], -ESHUTDOWN);
	assert_int_equal(parent.said[1], -EDEADLK);
	assert_int_equal(parent.said[2], -EDEADLK);
	assert_int_equal(parent.said[3], -EDEADLK);
	assert_int_equal(each_once(0), 0);
	if (end == tkw_pool_stop)
		assert_int_equal(tkw_pool_destroy(p), 0);
}

/* Calls are legal in an abandon, too. The pool is stopped by then. */
static void test_pool_is_stopped_for_an_abandon(void **state)
{
	(void)state;
	end_with_an_abandon(tkw_pool_stop);
	end_with_an_abandon(tkw_pool_destroy);
}

/* --- many threads ------------------------------------------------------- */

enum {
	PRODUCERS = 4,
	EACH = 10000
};

struct producer {
	pthread_t thread;
	struct tkw_pool *pool;
	unsigned first;
	unsigned accepted[EACH];
	unsigned count; /* length of accepted */
	bool patient;   /* try again until there is room */
};

static void *produce(void *arg)
{
	struct producer *pr = arg;
	unsigned i;
	int err;

	for (i = 0; i < EACH; i++) {
		do {
			err = submit_noted(pr->pool, pr->first + i);
			must(err == 0 || err == -EAGAIN || err == -ESHUTDOWN);
			if (err == -EAGAIN && pr->patient)
				sched_yield();
		} while (err == -EAGAIN && pr->patient);
		if (err == 0)
			pr->accepted[pr->count++] = pr->first + i;
	}
	return NULL;
}

static struct producer *produce_into(struct tkw_pool *p, bool patient)
{
	struct producer *pr = calloc(PRODUCERS, sizeof(*pr));
	unsigned i;

	assert_non_null(pr);
	for (i = 0; i < PRODUCERS; i++) {
		pr[i].pool = p;
		pr[i].first = i * EACH;
		pr[i].patient = patient;
		spawn(&pr[i].thread, produce, &pr[i]);
	}
	return pr;
}

/* Checks that each accepted job was called once, and no other job was
 * called. */
static unsigned settle(struct producer *pr)
{
	unsigned accepted = 0;
	unsigned called;
	unsigned i;
	unsigned k;

	for (i = 0; i < PRODUCERS; i++) {
		for (k = 0; k < pr[i].count; k++) {
			called = record->ran[pr[i].accepted[k]] +
				 record->abandoned[pr[i].accepted[k]];
			assert_int_equal(called, 1);
		}
		accepted += pr[i].count;
	}
	assert_int_equal(record->runs + record->abandons, accepted);
	free(pr);
	return accepted;
}

static void join_producers(struct producer *pr)
{
	int i;

	for (i = 0; i < PRODUCERS; i++)
		join(pr[i].thread);
}

/* SPEC 4.8 */
static void test_pool_many_threads_lose_nothing(void **state)
{
	struct tkw_pool *p = pool_of(3, 7);
	struct producer *pr = produce_into(p, true);

	(void)state;
	join_producers(pr);
	run_all_and_stop(p);
	assert_int_equal(record->abandons, 0);
	assert_int_equal(settle(pr), PRODUCERS * EACH);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

/* SPEC 4.8: the pool is stopped while threads submit. Each accepted job is run
 * or abandoned. */
static void test_pool_stop_against_submit(void **state)
{
	struct tkw_pool *p = pool_of(2, 50);
	struct producer *pr = produce_into(p, true);

	(void)state;
	await_runs(500);
	assert_int_equal(tkw_pool_stop(p), 0);
	assert_int_equal(tkw_pool_wait_idle(p, 0), 0);
	join_producers(pr);
	assert_true(settle(pr) >= 500);
	assert_int_equal(tkw_pool_destroy(p), 0);
}

static uint64_t seed_of_today(void)
{
	const char *given = getenv("TKW_SEED");
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* SPEC 4.8: destroy while some jobs have run and others have not. */
static void test_pool_destroy_in_the_middle(void **state)
{
	uint64_t seed = seed_of_today();
	unsigned abandons = 0;
	unsigned runs = 0;
	struct producer *pr;
	struct tkw_pool *p;
	int round;

	for (round = 0; round < 10; round++) {
		teardown(state);
		assert_int_equal(setup(state), 0);
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963;
		p = pool_of(1 + (int)(seed >> 40 & 3), 0);
		pr = produce_into(p, false);
		await_runs((unsigned)(seed >> 50 & 1023));
		join_producers(pr);
		assert_int_equal(tkw_pool_destroy(p), 0);
		runs += record->runs;
		abandons += record->abandons;
		settle(pr);
	}
	print_message("%d rounds: %u run, %u abandoned\n", round, runs,
		      abandons);
}

/* --- fork --------------------------------------------------------------- */

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

static void expect_inert(struct tkw_pool *p)
{
	must(submit_noted(p, ROOM - 1) == -EPERM);
	must(tkw_pool_count(p) == 0);
	must(tkw_pool_wait_idle(p, 0) == -EPERM);
	must(tkw_pool_wait_idle(p, INT64_MAX) == -EPERM);
	must(tkw_pool_stop(p) == -EPERM);
	must(tkw_pool_exec(p) != NULL);
}

/* SPEC 6.7: the child abandons its copies of the queued jobs. The parent runs
 * its own. */
static void test_pool_in_a_child_is_inert(void **state)
{
	struct tkw_pool *p = pool_of(2, 8);
	struct gate g = GATE_INIT;
	pid_t child;
	unsigned i;

	(void)state;
	hold(p, &g, 2);
	for (i = 0; i < 8; i++)
		assert_int_equal(submit_noted(p, i), 0);
	child = fork_child();
	if (child == 0) {
		expect_inert(p);
		must(record->abandons == 0);
		must(tkw_pool_destroy(p) == 0);
		must(record->abandons == 8 && record->runs == 0);
		must(pthread_equal(record->by, pthread_self()));
		_exit(0);
	}
	assert_true(ends_well(child));
	gate_open(&g);
	run_all_and_stop(p);
	assert_int_equal(each_once(8), 8);
	/* A stopped pool is inert in a child, too. */
	child = fork_child();
	if (child == 0) {
		expect_inert(p);
		must(tkw_pool_destroy(p) == 0);
		must(record->abandons == 0);
		_exit(0);
	}
	assert_true(ends_well(child));
	assert_int_equal(tkw_pool_destroy(p), 0);
}

#ifndef UNDER_TSAN /* it does not support threads in a child */
/* SPEC 6.7: a pool that the child creates works as usual. */
static void test_pool_of_a_child_works(void **state)
{
	struct tkw_pool *p = pool_of(1, 8);
	pid_t child = fork_child();

	(void)state;
	if (child == 0) {
		struct tkw_pool *q = pool_of(2, 8);

		must(submit_noted(q, 0) == 0);
		must(tkw_pool_wait_idle(q, INT64_MAX) == 0);
		must(record->runs == 1);
		must(tkw_pool_stop(q) == 0);
		must(tkw_pool_destroy(q) == 0);
		must(tkw_pool_destroy(p) == 0);
		_exit(0);
	}
	assert_true(ends_well(child));
	assert_int_equal(tkw_pool_destroy(p), 0);
}

#endif

/* --- threads that are cancelled ----------------------------------------- */

/* A thread whose cancellation is pending while it makes a call. */
struct doomed {
	void (*call)(struct doomed *d);
	struct tkw_pool *pool;
	pthread_t thread;
	pid_t tid;
	struct gate pending;
	struct gate begun;
	int said;
	bool came_back;
};

/* Cancellation unwinds a stack without telling AddressSanitizer, which then
 * believes that the stack is still in use. This tells it. */
static void forget_stack(void *unused)
{
	(void)unused;
#ifdef UNDER_ASAN
	__asan_handle_no_return();
#endif
}

static void *call_doomed(void *arg)
{
	struct doomed *d = arg;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	gate_pass(&d->pending);
	d->tid = gettid();
	gate_open(&d->begun);
	pthread_cleanup_push(forget_stack, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	d->call(d);
	d->came_back = true;
	pthread_cleanup_pop(0);
	return NULL;
}

/* Returns when the thread is about to make its call. */
static void begin_doomed(struct doomed *d)
{
	const struct gate shut = GATE_INIT;

	d->pending = shut;
	d->begun = shut;
	spawn(&d->thread, call_doomed, d);
	must(pthread_cancel(d->thread) == 0);
	gate_open(&d->pending);
	gate_pass(&d->begun);
}

static void create_in_vain(struct doomed *d)
{
	const struct tkw_pool_config cfg = { .threads = 3, .max_queued = 1 };

	d->said = tkw_pool_create(&d->pool, &cfg);
}

/* Otherwise memory and threads would be lost for good. */
static void test_pool_create_is_no_cancellation_point(void **state)
{
	struct doomed d = { .call = create_in_vain };

	(void)state;
	watch_system();
	refuse_thread = 4; /* the doomed thread itself is call 1 */
	begin_doomed(&d);
	join(d.thread);
	assert_true(d.came_back);
	assert_int_equal(d.said, -ENOMEM);
	assert_no_memory_left();
}

static void testcancel_in_abandon(const struct tkw_job *job)
{
	pthread_testcancel();
	note_abandon(job);
}

static void destroy_doomed(struct doomed *d)
{
	d->said = tkw_pool_destroy(d->pool);
}

/* An abandon is no cancellation point either. Otherwise the abandons after it
 * would not be called. */
static void test_pool_destroy_is_no_cancellation_point(void **state)
{
	struct doomed d = { .call = destroy_doomed, .pool = pool_of(1, 4) };
	struct gate g = GATE_INIT;
	struct tkw_job job;
	unsigned i;

	(void)state;
	hold(d.pool, &g, 1);
	for (i = 0; i < 4; i++) {
		job = noted(i);
		job.abandon = testcancel_in_abandon;
		assert_int_equal(submit(tkw_pool_exec(d.pool), job), 0);
	}
	begin_doomed(&d);
	wait_asleep(d.tid);
	gate_open(&g);
	join(d.thread);
	assert_true(d.came_back);
	assert_int_equal(d.said, 0);
	each_once(4);
}

static void wait_idle_doomed(struct doomed *d)
{
	d->said = tkw_pool_wait_idle(d->pool, INT64_MAX);
}

static void test_pool_wait_idle_is_no_cancellation_point(void **state)
{
	struct doomed d = { .call = wait_idle_doomed, .pool = pool_of(1, 4) };
	struct gate g = GATE_INIT;

	(void)state;
	hold(d.pool, &g, 1);
	begin_doomed(&d);
	wait_asleep(d.tid);
	gate_open(&g);
	join(d.thread);
	assert_true(d.came_back);
	assert_int_equal(d.said, 0);
	assert_int_equal(tkw_pool_destroy(d.pool), 0);
}

/* ------------------------------------------------------------------------ */

/* The first pool makes what the process keeps for ever. The tests must not
 * count that. */
static int make_a_first_one(void **state)
{
	(void)state;
	return tkw_pool_destroy(pool_of(1, 1));
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL_TEST(test_inline_runs_inside_of_submit),
		POOL_TEST(test_inline_refuses_a_job_without_functions),
		POOL_TEST(test_pool_refuses_bad_input),
		POOL_TEST(test_pool_takes_a_size_of_zero),
		POOL_TEST(test_pool_takes_a_config_that_is_newer),
		POOL_TEST(test_pool_of_nothing),
		POOL_TEST(test_pool_needs_all_its_threads),
		POOL_TEST(test_pool_without_memory),
		POOL_TEST(test_pool_names_its_threads),
		POOL_TEST(test_pool_blocks_signals_in_jobs),
		POOL_TEST(test_pool_refuses_a_job_without_functions),
		POOL_TEST(test_pool_of_one_runs_each_once_in_order),
		POOL_TEST(test_pool_queue_bound_is_exact),
		POOL_TEST(test_pool_has_room_again_when_one_has_run),
		POOL_TEST(test_pool_ring_wraps_around),
		POOL_TEST(test_pool_job_submits_jobs),
		POOL_TEST(test_pool_wait_idle_has_nothing_to_wait_for),
		POOL_TEST(test_pool_wait_idle_waits_for_the_last_job),
		POOL_TEST(test_pool_wait_idle_waits_for_a_running_job),
		POOL_TEST(test_pool_wait_idle_gives_up),
		POOL_TEST(test_pool_wait_idle_waits_for_what_jobs_submit),
		POOL_TEST(test_pool_wait_idle_while_it_is_stopped),
		POOL_TEST(test_pool_wait_idle_waits_for_an_abandon),
		POOL_TEST(test_pool_stop_abandons_what_is_queued),
		POOL_TEST(test_pool_being_stopped_refuses),
		POOL_TEST(test_pool_concurrent_stops_have_one_winner),
		POOL_TEST(test_pool_job_cannot_wait_for_its_pool),
		POOL_TEST(test_pool_destroy_abandons_what_is_queued),
		POOL_TEST(test_pool_destroy_waits_for_running_jobs),
		POOL_TEST(test_pool_destroy_waits_for_a_stop),
		POOL_TEST(test_pool_is_stopped_for_an_abandon),
		POOL_TEST(test_pool_many_threads_lose_nothing),
		POOL_TEST(test_pool_stop_against_submit),
		POOL_TEST(test_pool_destroy_in_the_middle),
		POOL_TEST(test_pool_in_a_child_is_inert),
#ifndef UNDER_TSAN
		POOL_TEST(test_pool_of_a_child_works),
#endif
		POOL_TEST(test_pool_create_is_no_cancellation_point),
		POOL_TEST(test_pool_destroy_is_no_cancellation_point),
		POOL_TEST(test_pool_wait_idle_is_no_cancellation_point),
	};

	return cmocka_run_group_tests(tests, make_a_first_one, NULL);
}
