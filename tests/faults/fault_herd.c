/* SPDX-License-Identifier: MIT */
/*
 * fault_herd.c - fault 35: ten million timeouts are due in one tick. While they
 * fire, another thread can still schedule and cancel in the same shard. The
 * memory does not exceed that of the herd, and is given back.
 *
 * No time is measured. After each MARK timeouts, a task waits until the other
 * thread has made another call. If that thread is shut out, the test does not
 * end.
 */
#include "fault_bed.h"

#include "tickwheel/exec.h"
#include "tickwheel/stats.h"

enum {
	HERD = 10000000 / FAULT_SLOWNESS,
	/* For tests in which the full number would show nothing more. */
	SMALL_HERD = HERD / 16,
	MARKS = 50,
	POOL_THREADS = 2,
	POOL_QUEUE = 8192, /* smaller than any herd */
	SMALL = 4 * 1024 * 1024,
	/* How many timeouts the worker may take out of the wheel under one
	 * lock. */
	AT_ONCE = 1024
};

/* The herd is due in an hour. The clock jumps there when the herd is
 * complete. */
#define FAR_NS (3600 * TKW_SEC)

struct herd {
	struct fault_memory memory; /* must be first: the ctx of the hooks */
	struct fault_pump pump;
	struct tkw_exec inner; /* the executor of the pool */
	_Atomic int64_t jump_ns;
	unsigned long count;
	unsigned long mark;
	atomic_uchar *fired_times; /* how often each has fired */
	atomic_ulong fired;
	atomic_ulong submitted;
	atomic_ulong not_in_wheel; /* in the first calls of submit */
	struct fault_gate refused; /* opened at the first refusal of the pool */
	struct fault_gate told;    /* opened when the worker sees the time */
	pthread_mutex_t lock;      /* protects all below */
	pthread_cond_t changed;
	bool over;
	unsigned long pairs;     /* pairs of calls of the other thread */
	unsigned long seen;      /* pairs at the last mark */
	unsigned long marks;     /* marks that were passed */
	unsigned long in_stride; /* marks passed without waiting */
};

/* --- the world ---------------------------------------------------------- */

/* The clock of the system, plus the time that was skipped. */
static int64_t jumping_now(void *ctx)
{
	struct herd *h = ctx;

	return fault_monotonic_ns() + atomic_load(&h->jump_ns);
}

/* Checks for these words, returns the number after them, and moves behind
 * it. */
static unsigned long long number_after(const char **at, const char *words)
{
	unsigned long long number;
	char *end;

	must(strncmp(*at, words, strlen(words)) == 0);
	*at += strlen(words);
	number = strtoull(*at, &end, 10);
	must(end > *at);
	*at = end;
	return number;
}

/* How many timeouts are pending but not in the wheel, according to the dump of
 * a timer with one shard. */
static unsigned long not_in_wheel(struct tkw_timer *t)
{
	unsigned long long pending;
	unsigned long long inside;
	const char *line;
	char text[4096];

	must(tkw_timer_print(t, text, sizeof(text)) > 0);
	line = strstr(text, "shard 0:");
	must(line != NULL);
	pending = number_after(&line, "shard 0: ");
	inside = number_after(&line, " pending, ");
	must(inside <= pending);
	return (unsigned long)(pending - inside);
}

/* Waits until the other thread has made a pair since the last mark. */
static void pass_mark(struct herd *h)
{
	pthread_mutex_lock(&h->lock);
	h->in_stride += h->pairs > h->seen;
	while (h->pairs == h->seen)
		pthread_cond_wait(&h->changed, &h->lock);
	h->seen = h->pairs;
	h->marks++;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

/* The ctx of a task points into fired_times, so this is how a task finds its
 * herd. */
static struct herd *only;

static void stampede(const struct tkw_firing *f, void *ctx)
{
	struct herd *h = only;
	unsigned long number;

	must(atomic_fetch_add((atomic_uchar *)ctx, 1) == 0);
	number = atomic_fetch_add(&h->fired, 1) + 1;
	if (number == 1 && h->inner.submit == NULL)
		atomic_store(&h->not_in_wheel, not_in_wheel(f->timer));
	if (number % h->mark == 0)
		pass_mark(h);
}

static void ignore(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
}

/* Counts a pair. The other thread pauses when it has made enough pairs since
 * the last mark, because this test is not about speed. Returns false when the
 * herd has ended. */
static bool count_pair(struct herd *h)
{
	bool over;

	pthread_mutex_lock(&h->lock);
	h->pairs++;
	pthread_cond_broadcast(&h->changed);
	while (!h->over && h->pairs - h->seen >= h->mark / 10)
		pthread_cond_wait(&h->changed, &h->lock);
	over = h->over;
	pthread_mutex_unlock(&h->lock);
	return !over;
}

/* Schedules and cancels, as a thread does that knows nothing of the herd. */
static void *go_about_business(void *arg)
{
	struct herd *h = arg;
	const struct tkw_task task = { .fn = ignore };
	struct tkw_timeout_id id;

	do {
		must(tkw_timer_schedule(h->pump.t, &task, FAR_NS, &id) == 0);
		must(tkw_timer_cancel(h->pump.t, id) == 0);
	} while (count_pair(h));
	return NULL;
}

/* Passes the job to the pool. Looks at the timer at the first two calls,
 * because one of them is for the timeout of let_loose(). */
static int submit_through(const struct tkw_job *job, void *ctx)
{
	struct herd *h = ctx;
	int err;

	if (atomic_fetch_add(&h->submitted, 1) < 2)
		atomic_store(&h->not_in_wheel, not_in_wheel(h->pump.t));
	err = h->inner.submit(job, h->inner.ctx);
	if (err != 0)
		fault_gate_open(&h->refused);
	return err;
}

/* --- the herd ----------------------------------------------------------- */

static void gather(struct herd *h, int64_t deadline_ns)
{
	static struct tkw_batch_item items[TKW_MAX_BATCH];
	unsigned long done = 0;
	size_t n;
	size_t i;

	while (done < h->count) {
		n = TKW_MAX_BATCH;
		if (n > h->count - done)
			n = h->count - done;
		for (i = 0; i < n; i++)
			items[i] = (struct tkw_batch_item){
				.task = { .fn = stampede,
					  .ctx = &h->fired_times[done + i] },
				.when_ns = deadline_ns,
			};
		must(tkw_timer_schedule_batch_at(h->pump.t, items, n, NULL) ==
		     0);
		done += n;
	}
}

static void open_gate(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	fault_gate_open(ctx);
}

/* Moves the clock by an hour. A timeout that is due before the herd wakes the
 * worker, so that it notices. */
static void let_loose(struct herd *h, int64_t deadline_ns)
{
	const struct tkw_task task = { .fn = open_gate, .ctx = &h->told };
	int64_t missing_ns = deadline_ns - tkw_timer_now_ns(h->pump.t);

	if (missing_ns > 0)
		atomic_fetch_add(&h->jump_ns, missing_ns);
	must(tkw_timer_schedule_at(h->pump.t, &task, 0, NULL) == 0);
}

/* The last timeout of the herd passes the last mark. */
static void await_the_end(struct herd *h)
{
	fault_gate_wait(&h->told);
	pthread_mutex_lock(&h->lock);
	while (h->marks < MARKS)
		pthread_cond_wait(&h->changed, &h->lock);
	h->over = true;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

static void wait_for_refusal(const struct tkw_job *job)
{
	struct herd *h = job->ctx;

	fault_gate_wait(&h->refused);
}

/* Keeps the threads of the pool busy until the pool has refused a job because
 * its queue is full. */
static void hold_pool(struct herd *h)
{
	const struct tkw_job job = { .run = wait_for_refusal,
				     .abandon = wait_for_refusal,
				     .ctx = h };
	int i;

	for (i = 0; i < POOL_THREADS; i++)
		must(h->inner.submit(&job, h->inner.ctx) == 0);
}

static void open_herd(struct herd *h, void **state, unsigned long count,
		      const struct tkw_timer_config *cfg)
{
	struct tkw_timer_hooks hooks = { .now = jumping_now };
	const struct tkw_exec through = { submit_through, h };
	struct tkw_timer_config c = *cfg;

	memset(h, 0, sizeof(*h));
	h->count = count;
	h->mark = count / MARKS;
	h->fired_times = calloc(count, sizeof(*h->fired_times));
	must(h->fired_times != NULL);
	fault_gate_init(&h->refused);
	fault_gate_init(&h->told);
	must(pthread_mutex_init(&h->lock, NULL) == 0);
	must(pthread_cond_init(&h->changed, NULL) == 0);
	fault_memory_hooks(&h->memory, &hooks);
	only = h;
	c.shards = 1;
	c.hooks = &hooks;
	if (cfg->exec) {
		h->inner = *cfg->exec;
		c.exec = &through;
		hold_pool(h);
	}
	fault_pump_open(&h->pump, fault_drive(state), &c);
}

static void close_herd(struct herd *h)
{
	must(tkw_timer_destroy(h->pump.t) == 0);
	must(h->memory.live_bytes == 0);
	free(h->fired_times);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->changed);
}

/* Checks that each has fired once, that the law holds, and that the memory was
 * given back. */
static void expect_all(struct herd *h, unsigned long at_first)
{
	struct tkw_ledger l = fault_ledger(h->pump.t);
	unsigned long i;

	for (i = 0; i < h->count; i++)
		must(h->fired_times[i] == 1);
	assert_int_equal(h->fired, h->count);
	/* One more is the timeout that woke the worker. */
	assert_int_equal(l.fired, h->count + 1);
	assert_int_equal(l.cancelled, h->pairs);
	assert_int_equal(l.pending, 0);
	assert_int_equal(l.accepted, h->count + 1 + h->pairs);
	assert_int_equal(h->marks, MARKS);
	assert_true(h->pairs >= MARKS);
	assert_true(h->memory.peak_bytes <= 64 * h->count + SMALL);
	assert_true(h->memory.live_bytes <= at_first + SMALL);
}

static void run_herd(void **state, unsigned long count,
		     const struct tkw_timer_config *cfg)
{
	static struct herd h;
	struct tkw_stats st;
	unsigned long at_first;
	int64_t deadline_ns;
	pthread_t other;

	open_herd(&h, state, count, cfg);
	at_first = h.memory.live_bytes;
	deadline_ns =
		(tkw_timer_now_ns(h.pump.t) + FAR_NS) / TKW_MSEC * TKW_MSEC;
	gather(&h, deadline_ns);
	must(tkw_timer_count(h.pump.t) == count);
	fault_spawn(&other, go_about_business, &h);
	let_loose(&h, deadline_ns);
	await_the_end(&h);
	fault_join(other);
	/* The last task may still be ending. A stop waits for it. */
	assert_int_equal(tkw_timer_stop(h.pump.t, NULL, NULL), 0);
	fault_pump_halt(&h.pump);
	must(tkw_timer_get_stats(h.pump.t, &st) == 0);
	print_message("%lu fired, %lu pairs meanwhile, in stride at %lu of "
		      "%lu marks; %lu MiB at most, %lu KiB left; %llu turns, "
		      "refused %llu times\n",
		      h.fired, h.pairs, h.in_stride, h.marks,
		      h.memory.peak_bytes >> 20, h.memory.live_bytes >> 10,
		      (unsigned long long)st.turns,
		      (unsigned long long)st.refused_by_exec);
	expect_all(&h, at_first);
	assert_int_equal(st.lateness.count, count + 1);
	assert_int_equal(st.refused_by_exec > 0, h.inner.submit != NULL);
	/* Batches are bounded, so no lock was held for the whole herd. */
	assert_true(h.not_in_wheel <= AT_ONCE);
	close_herd(&h);
}

/* The full herd is for the usual drive, a thread of the timer. */
static unsigned long herd_of(void **state)
{
	return fault_drive(state) == TKW_DRIVE_THREAD ? HERD : SMALL_HERD;
}

/* SPEC 1.8, 4.4, fault 35 */
static void fault_35_a_herd_on_the_worker_shuts_nobody_out(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_MSEC };

	run_herd(state, herd_of(state), &cfg);
}

/* The same with the hashed engine, where the herd waits in one slot for its
 * round. */
static void fault_35_a_herd_in_a_hashed_ring_shuts_nobody_out(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_MSEC,
					      .engine = TKW_WHEEL_HASHED };

	run_herd(state, SMALL_HERD, &cfg);
}

static void run_with_pool(void **state, unsigned long count, int refusal)
{
	const struct tkw_pool_config pc = { .size = sizeof(pc),
					    .threads = POOL_THREADS,
					    .max_queued = POOL_QUEUE };
	struct tkw_timer_config cfg = { .tick_ns = TKW_MSEC,
					.refusal = refusal };
	struct tkw_pool *p;

	must(tkw_pool_create(&p, &pc) == 0);
	cfg.exec = tkw_pool_exec(p);
	run_herd(state, count, &cfg);
	must(tkw_pool_destroy(p) == 0);
}

/* SPEC 4.8, fault 35: the worker runs what does not fit into the queue. */
static void fault_35_a_herd_on_a_pool_that_refuses(void **state)
{
	run_with_pool(state, herd_of(state), TKW_REFUSED_INLINE);
}

/* SPEC 4.8, fault 35: what does not fit into the queue is offered again. */
static void fault_35_a_herd_on_a_pool_that_is_asked_again(void **state)
{
	run_with_pool(state, SMALL_HERD, TKW_REFUSED_RETRY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_BOTH(fault_35_a_herd_on_the_worker_shuts_nobody_out),
		FAULT_BOTH(fault_35_a_herd_in_a_hashed_ring_shuts_nobody_out),
		FAULT_BOTH(fault_35_a_herd_on_a_pool_that_refuses),
		FAULT_BOTH(fault_35_a_herd_on_a_pool_that_is_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
