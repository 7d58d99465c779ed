/* SPDX-License-Identifier: MIT */
/* test_keeper.c - threads: shared commits, waiting, callbacks, close, fork. */
#include "file_bed.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tickwheel/exec.h"

enum {
	CALLERS = 16
};

/* --- callers -------------------------------------------------------------- */

/* A thread that makes one call. */
struct caller {
	struct file_bed *bed;
	pthread_t thread;
	struct tkw_take how;
	int result;
	struct tkw_items *items;
	struct event *done;
};

static void *put_one(void *arg)
{
	struct caller *c = arg;
	struct tkw_put p = { .payload = "x", .payload_len = 1 };

	c->result = tkw_queue_put(c->bed->q, &p, 1, NULL);
	return NULL;
}

static void *take_one(void *arg)
{
	struct caller *c = arg;

	c->result = tkw_queue_take(c->bed->q, &c->how, &c->items);
	if (c->done)
		event_happen(c->done);
	return NULL;
}

static void start(struct caller *c, struct file_bed *b, void *(*run)(void *))
{
	c->bed = b;
	assert_int_equal(pthread_create(&c->thread, NULL, run, c), 0);
}

static void join(struct caller *c)
{
	assert_int_equal(pthread_join(c->thread, NULL), 0);
}

/* SPEC 11.21: those who come while a commit runs share the next one. The first
 * one waits at the gate until all others are in the inbox. */
static void test_keeper_calls_share_a_commit(void **state)
{
	struct file_bed *b = *state;
	struct caller c[CALLERS] = { { .bed = NULL } };
	uint64_t before = b->disk.appends;
	struct tkw_queue_stats s;

	ram_gate_shut(&b->disk);
	start(&c[0], b, put_one);
	ram_gate_wait(&b->disk);
	for (int i = 1; i < CALLERS; i++)
		start(&c[i], b, put_one);
	while (tkw__keeper_count_inbox(b->f) < CALLERS - 1)
		sched_yield();
	ram_gate_open(&b->disk);
	for (int i = 0; i < CALLERS; i++) {
		join(&c[i]);
		assert_int_equal(c[i].result, 0);
	}
	assert_int_equal(b->disk.appends, before + 2);
	s = file_bed_stats(b);
	assert_int_equal(s.all_puts, CALLERS);
	assert_int_equal(s.commit_calls, CALLERS + 1); /* and the open */
	assert_int_equal(s.commits, 3);
}

/* Nothing is visible before the batch is written. */
static void test_keeper_put_is_invisible_until_it_is_written(void **state)
{
	struct file_bed *b = *state;
	struct caller put = { .bed = NULL };
	struct caller take = { .how = { .wait_ms = INT64_MAX } };
	struct event done = EVENT_INIT;
	struct pollfd fd = { .fd = tkw_queue_fd(b->q), .events = POLLIN };

	take.done = &done;
	start(&take, b, take_one);
	file_bed_wait_for_takes(b, 1);
	ram_gate_shut(&b->disk);
	start(&put, b, put_one);
	ram_gate_wait(&b->disk);
	assert_int_equal(poll(&fd, 1, 0), 0);
	pthread_mutex_lock(&done.mutex);
	assert_int_equal(done.count, 0);
	pthread_mutex_unlock(&done.mutex);
	ram_gate_open(&b->disk);
	join(&put);
	join(&take);
	assert_int_equal(take.result, 1);
	tkw_items_free(take.items);
}

static void test_keeper_waiting_takes_are_served_in_order(void **state)
{
	struct file_bed *b = *state;
	struct caller c[4] = { { .bed = NULL } };
	struct tkw_item_id id[4];

	for (int i = 0; i < 4; i++) {
		c[i].how.wait_ms = INT64_MAX;
		start(&c[i], b, take_one);
		file_bed_wait_for_takes(b, (uint64_t)i + 1);
	}
	for (int i = 0; i < 4; i++)
		id[i] = file_bed_put(b, 0);
	for (int i = 0; i < 4; i++) {
		join(&c[i]);
		assert_int_equal(c[i].result, 1);
		assert_true(c[i].items->item[0].claim.id.bits == id[i].bits);
		tkw_items_free(c[i].items);
	}
}

static void test_keeper_take_is_woken_when_the_clock_moves(void **state)
{
	struct file_bed *b = *state;
	struct caller c = { .how = { .wait_ms = INT64_MAX } };

	file_bed_put(b, 3600000);
	start(&c, b, take_one);
	file_bed_wait_for_takes(b, 1);
	file_bed_pass(b, 3600000);
	join(&c);
	assert_int_equal(c.result, 1);
	tkw_items_free(c.items);
}

static void test_keeper_take_times_out(void **state)
{
	struct file_bed *b = *state;
	struct tkw_take how = { .wait_ms = 5 };
	struct tkw_items *items = NULL;

	assert_int_equal(tkw_queue_take(b->q, &how, &items), 0);
	assert_null(items);
}

/* The system's clock: a take that waits until an item is due. */
static void test_keeper_take_is_woken_by_the_wall_clock(void **state)
{
	struct file_bed *b = *state;
	struct tkw_take how = { .wait_ms = INT64_MAX };
	struct tkw_put p = { .delay_ms = 20 };
	struct tkw_items *items;
	struct tkw__home home = { .store = ram_store_open(&b->disk) };
	struct tkw_queues *f;
	struct tkw_queue *q;

	file_bed_close(b);
	assert_int_equal(tkw__keeper_open(&f, &home), 0);
	assert_int_equal(tkw_queue_open(&q, f, "q"), 0);
	assert_int_equal(tkw_queue_put(q, &p, 1, NULL), 0);
	assert_int_equal(tkw_queue_take(q, &how, &items), 1);
	assert_true(items->item[0].due_ms > 0);
	tkw_items_free(items);
	assert_int_equal(tkw_queues_close(f), 0);
}

static void test_keeper_resume_wakes_those_who_wait(void **state)
{
	struct file_bed *b = *state;
	struct caller c = { .how = { .wait_ms = INT64_MAX } };

	assert_int_equal(tkw_queue_pause(b->q), 0);
	start(&c, b, take_one);
	file_bed_wait_for_takes(b, 1);
	file_bed_put(b, 0);
	assert_int_equal(file_bed_stats(b).waiting_takes, 1);
	assert_int_equal(tkw_queue_resume(b->q), 0);
	join(&c);
	assert_int_equal(c.result, 1);
	tkw_items_free(c.items);
}

/* --- the descriptor ------------------------------------------------------- */

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void test_keeper_fd_is_readable_while_an_item_can_be_taken(void **state)
{
	struct file_bed *b = *state;
	struct pollfd p = { .events = POLLIN };
	struct tkw_items *items;

	p.fd = tkw_queue_fd(b->q);
	assert_true(p.fd >= 0);
	assert_int_equal(tkw_queue_fd(b->q), p.fd);
	assert_false(is_readable(p.fd));
	file_bed_put(b, 0);
	assert_true(is_readable(p.fd));
	assert_int_equal(tkw_queue_pause(b->q), 0);
	assert_false(is_readable(p.fd));
	assert_int_equal(tkw_queue_resume(b->q), 0);
	assert_true(is_readable(p.fd));
	items = file_bed_take(b, 1000);
	assert_false(is_readable(p.fd));
	/* Time alone: the lease ends, and nobody makes a call. */
	file_bed_pass(b, 1000);
	assert_int_equal(poll(&p, 1, -1), 1);
	/* The clock is put back: the item is not due yet. */
	file_bed_pass(b, -500);
	assert_int_equal(file_bed_stats(b).ready, 0);
	assert_false(is_readable(p.fd));
	tkw_items_free(items);
}

static void test_keeper_fd_of_an_item_that_is_there_already(void **state)
{
	struct file_bed *b = *state;

	file_bed_put(b, 0);
	assert_true(is_readable(tkw_queue_fd(b->q)));
}

/* --- close ---------------------------------------------------------------- */

static void test_keeper_close_lets_those_who_wait_go(void **state)
{
	struct file_bed *b = *state;
	struct caller c[4] = { { .bed = NULL } };

	for (int i = 0; i < 4; i++) {
		c[i].how.wait_ms = INT64_MAX;
		start(&c[i], b, take_one);
		file_bed_wait_for_takes(b, (uint64_t)i + 1);
	}
	file_bed_close(b);
	for (int i = 0; i < 4; i++) {
		join(&c[i]);
		assert_int_equal(c[i].result, -ESHUTDOWN);
	}
}

static void *close_file(void *arg)
{
	struct caller *c = arg;

	c->result = tkw_queues_close(c->bed->f);
	return NULL;
}

/* A close waits for the call that is being written; the one behind it is sent
 * away. */
static void test_keeper_close_waits_for_the_write(void **state)
{
	struct file_bed *b = *state;
	struct caller put[2] = { { .bed = NULL } };
	struct caller closer = { .bed = NULL };

	ram_gate_shut(&b->disk);
	start(&put[0], b, put_one);
	ram_gate_wait(&b->disk);
	start(&put[1], b, put_one);
	while (tkw__keeper_count_inbox(b->f) < 1)
		sched_yield();
	start(&closer, b, close_file);
	ram_gate_open(&b->disk);
	join(&put[0]);
	join(&put[1]);
	join(&closer);
	assert_int_equal(closer.result, 0);
	assert_int_equal(put[0].result, 0);
	assert_true(put[1].result == 0 || put[1].result == -ESHUTDOWN);
	file_bed_open(b);
	assert_int_equal(file_bed_stats(b).all_puts,
			 put[1].result == 0 ? 2 : 1);
}

/* --- callbacks ------------------------------------------------------------ */

struct async_log {
	struct file_bed *bed;
	struct event ended;
	int results[64];
	uint64_t ids[64];
	int inside;   /* result of a call that waits, made inside */
	int get;      /* result of a call that looks, made inside */
	int closed;   /* result of a close, made inside */
	pthread_t at; /* the thread of the last one */
};

static void log_end(struct tkw_queue *q, const struct tkw_queue_end *end,
		    void *ctx)
{
	struct async_log *l = ctx;
	struct tkw_put p = { .payload = "y", .payload_len = 1 };
	struct tkw_queue_stats s;

	l->results[l->ended.count] = end->result;
	if (end->ids)
		l->ids[l->ended.count] = end->ids[0].bits;
	if (end->done)
		assert_int_equal(end->done[0], end->result);
	l->at = pthread_self();
	l->get = tkw_queue_get_stats(q, &s);
	l->inside = tkw_queue_put(q, &p, 1, NULL);
	l->closed = tkw_queues_close(l->bed->f);
	tkw_items_free(end->items);
	event_happen(&l->ended);
}

static void test_keeper_async_calls_end_once(void **state)
{
	struct file_bed *b = *state;
	struct async_log l = { .bed = b, .ended = EVENT_INIT };
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct tkw_take how = { .wait_ms = INT64_MAX };
	struct tkw_claim claim = { { 0 }, 0 };

	assert_int_equal(tkw_queue_take_async(b->q, &how, log_end, &l), 0);
	file_bed_wait_for_takes(b, 1);
	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, log_end, &l), 0);
	event_wait(&l.ended, 2);
	assert_int_equal(l.results[0] + l.results[1], 1);
	assert_int_equal(l.get, 0);
	/* The library's own thread cannot wait for itself. */
	assert_int_equal(l.inside, -EDEADLK);
	assert_int_equal(l.closed, -EDEADLK);
	assert_false(pthread_equal(l.at, pthread_self()));
	claim.id.bits = l.ids[0] ? l.ids[0] : l.ids[1];
	assert_int_equal(tkw_queue_ack_async(b->q, &claim, 1, log_end, &l), 0);
	event_wait(&l.ended, 3);
	assert_int_equal(l.results[2], 0); /* not its token */
	assert_int_equal(tkw_queue_take_async(b->q, &how, log_end, &l), 0);
	file_bed_close(b);
	assert_int_equal(l.ended.count, 4);
	assert_int_equal(l.results[3], -ESHUTDOWN);
}

static void test_keeper_async_refused_calls_do_not_end(void **state)
{
	struct file_bed *b = *state;
	struct async_log l = { .bed = b, .ended = EVENT_INIT };
	struct tkw_put p = { .payload_len = 1 };
	struct tkw_take how = { .wait_ms = -1 };
	struct tkw_claim claim = { { 0 }, 0 };

	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, log_end, &l),
			 -EINVAL);
	assert_int_equal(tkw_queue_put_async(b->q, NULL, 1, log_end, &l),
			 -EINVAL);
	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, NULL, &l), -EINVAL);
	assert_int_equal(tkw_queue_take_async(b->q, &how, log_end, &l),
			 -EINVAL);
	assert_int_equal(tkw_queue_ack_async(b->q, &claim, 0, log_end, &l),
			 -EINVAL);
	assert_int_equal(tkw_queue_ack_async(NULL, &claim, 1, log_end, &l),
			 -EINVAL);
	file_bed_close(b);
	assert_int_equal(l.ended.count, 0);
}

/* An executor that refuses each third job, and abandons each third one. */
struct moody {
	const struct tkw_exec *pool;
	int jobs;
};

static int moody_submit(const struct tkw_job *job, void *ctx)
{
	struct moody *m = ctx;
	int n = m->jobs++;

	if (n % 3 == 0)
		return -EAGAIN;
	if (n % 3 == 1) {
		job->abandon(job);
		return 0;
	}
	return m->pool->submit(job, m->pool->ctx);
}

static void count_end(struct tkw_queue *q, const struct tkw_queue_end *end,
		      void *ctx)
{
	(void)q;
	assert_int_equal(end->result, 0);
	event_happen(ctx);
}

static void test_keeper_async_executor_may_refuse_and_abandon(void **state)
{
	struct file_bed *b = *state;
	struct tkw_pool_config cfg = { .threads = 2 };
	struct event ended = EVENT_INIT;
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct tkw_pool *pool;
	struct moody moody = { NULL, 0 };
	struct tkw_exec exec = { moody_submit, &moody };

	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	moody.pool = tkw_pool_exec(pool);
	file_bed_close(b);
	b->home.exec = &exec;
	file_bed_open(b);
	for (int i = 0; i < 100; i++)
		assert_int_equal(
			tkw_queue_put_async(b->q, &p, 1, count_end, &ended), 0);
	event_wait(&ended, 100);
	file_bed_reopen(b);
	assert_int_equal(file_bed_stats(b).all_puts, 100);
	assert_int_equal(ended.count, 100);
	file_bed_close(b);
	tkw_pool_destroy(pool);
}

/* An executor that keeps its only job. */
struct hoard {
	struct tkw_job job;
	struct event came;
};

static int hoard_submit(const struct tkw_job *job, void *ctx)
{
	struct hoard *h = ctx;

	h->job = *job;
	event_happen(&h->came);
	return 0;
}

/* A close waits for a callback, and an item becomes due meanwhile. Nobody can
 * take it, so nobody looks. */
static void test_keeper_sleeps_while_a_close_waits(void **state)
{
	struct file_bed *b = *state;
	struct event ended = EVENT_INIT;
	struct hoard hoard = { .came = EVENT_INIT };
	struct tkw_exec exec = { hoard_submit, &hoard };
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct caller closer = { .bed = NULL };
	struct tkw_queue_stats s;
	int before;

	file_bed_close(b);
	b->home.exec = &exec;
	file_bed_open(b);
	file_bed_put(b, 1000);
	assert_true(tkw_queue_fd(b->q) >= 0);
	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, count_end, &ended),
			 0);
	event_wait(&hoard.came, 1);
	start(&closer, b, close_file);
	while (tkw_queue_get_stats(b->q, &s) != -ESHUTDOWN)
		sched_yield();
	file_bed_pass(b, 5000);
	before = __atomic_load_n(&b->looks, __ATOMIC_RELAXED);
	usleep(200000);
	assert_true(__atomic_load_n(&b->looks, __ATOMIC_RELAXED) - before <
		    1000);
	hoard.job.run(&hoard.job);
	join(&closer);
	assert_int_equal(ended.count, 1);
	b->home.exec = NULL;
	file_bed_open(b);
	assert_int_equal(file_bed_stats(b).all_puts, 2);
}

/* An executor without a thread runs the callback on the keeper's thread. */
static void test_keeper_async_inline_executor(void **state)
{
	struct file_bed *b = *state;
	struct async_log l = { .bed = b, .ended = EVENT_INIT };
	struct tkw_put p = { .payload = "x", .payload_len = 1 };

	file_bed_close(b);
	b->home.exec = tkw_exec_inline();
	file_bed_open(b);
	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, log_end, &l), 0);
	event_wait(&l.ended, 1);
	assert_int_equal(l.results[0], 0);
	assert_int_equal(l.get, 0);
	assert_int_equal(l.inside, -EDEADLK);
	assert_int_equal(l.closed, -EDEADLK);
}

/* A callback on an executor with threads may wait. */
static void test_keeper_async_callback_on_a_pool_may_wait(void **state)
{
	struct file_bed *b = *state;
	struct tkw_pool_config cfg = { .threads = 1 };
	struct async_log l = { .bed = b, .ended = EVENT_INIT };
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct tkw_pool *pool;

	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	file_bed_close(b);
	b->home.exec = tkw_pool_exec(pool);
	file_bed_open(b);
	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, log_end, &l), 0);
	event_wait(&l.ended, 1);
	assert_int_equal(l.inside, 0);
	assert_int_equal(l.closed, -EDEADLK);
	assert_int_equal(file_bed_stats(b).all_puts, 2);
	file_bed_close(b);
	tkw_pool_destroy(pool);
}

/* --- many threads --------------------------------------------------------- */

enum {
	ROUNDS = 200
};

static void *cycle(void *arg)
{
	struct caller *c = arg;
	struct tkw_take how = { .wait_ms = INT64_MAX };

	for (int i = 0; i < ROUNDS; i++) {
		struct tkw_put p = { .payload = "x", .payload_len = 1 };
		struct tkw_items *items;

		c->result = tkw_queue_put(c->bed->q, &p, 1, NULL);
		if (c->result < 0)
			break;
		c->result = tkw_queue_take(c->bed->q, &how, &items);
		if (c->result != 1)
			break;
		c->result = tkw_queue_ack(c->bed->q, &items->item[0].claim, 1,
					  NULL);
		tkw_items_free(items);
		if (c->result != 1)
			break;
	}
	return NULL;
}

/* Put, take and ack by many threads, while snapshots go on. */
static void test_keeper_many_threads_lose_nothing(void **state)
{
	struct file_bed *b = *state;
	struct caller c[8] = { { .bed = NULL } };
	struct tkw_queue_stats s;

	file_bed_close(b);
	b->home.desk.slack_bytes = 10000;
	b->home.desk.snapshot_items = 4;
	file_bed_open(b);
	for (int i = 0; i < 100; i++)
		file_bed_put(b, 1000000);
	for (int i = 0; i < 8; i++)
		start(&c[i], b, cycle);
	for (int i = 0; i < 8; i++) {
		join(&c[i]);
		assert_int_equal(c[i].result, 1);
	}
	s = file_bed_stats(b);
	assert_int_equal(s.all_puts, 100 + 8 * ROUNDS);
	assert_int_equal(s.all_acks, 8 * ROUNDS);
	assert_int_equal(s.waiting, 100);
	assert_true(b->disk.compactions > 0);
	file_bed_reopen(b);
	s = file_bed_stats(b);
	assert_int_equal(s.all_acks, 8 * ROUNDS);
	assert_int_equal(s.waiting, 100);
}

/* Callbacks on the keeper's thread look at the queue, while others lead: the
 * lead must come to them, too. */
static void look_around(struct tkw_queue *q, const struct tkw_queue_end *end,
			void *ctx)
{
	struct tkw_queue_stats s;

	assert_int_equal(end->result, 0);
	assert_int_equal(tkw_queue_get_stats(q, &s), 0);
	event_happen(ctx);
}

static void test_keeper_callbacks_look_while_others_lead(void **state)
{
	struct file_bed *b = *state;
	struct event ended = EVENT_INIT;
	struct tkw_put p = { .payload = "x", .payload_len = 1, .delay_ms = 9 };
	struct caller c[4] = { { .bed = NULL } };

	file_bed_close(b);
	b->home.desk.max_rows = 8; /* there is always something left */
	file_bed_open(b);
	for (int i = 0; i < 4; i++)
		start(&c[i], b, cycle);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(
			tkw_queue_put_async(b->q, &p, 1, look_around, &ended),
			0);
	event_wait(&ended, 2000);
	for (int i = 0; i < 4; i++) {
		join(&c[i]);
		assert_int_equal(c[i].result, 1);
	}
	assert_int_equal(file_bed_stats(b).all_puts, 2000 + 4 * ROUNDS);
}

/* --- fork ----------------------------------------------------------------- */

static int child(struct file_bed *b)
{
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct tkw_queue_stats s;
	struct tkw_items *items;

	if (tkw_queue_put(b->q, &p, 1, NULL) != -EPERM ||
	    tkw_queue_take(b->q, NULL, &items) != -EPERM ||
	    tkw_queue_get_stats(b->q, &s) != -EPERM ||
	    tkw_queue_fd(b->q) != -EPERM || tkw_queues_next(b->f, NULL) != NULL)
		return 1;
	return tkw_queues_close(b->f) == 0 ? 0 : 2;
}

static void test_keeper_child_of_a_fork_is_refused(void **state)
{
	struct file_bed *b = *state;
	struct caller c = { .how = { .wait_ms = INT64_MAX } };
	pid_t pid;
	int status;

	start(&c, b, take_one);
	file_bed_wait_for_takes(b, 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child(b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	file_bed_put(b, 0);
	join(&c);
	assert_int_equal(c.result, 1);
	tkw_items_free(c.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(test_keeper_calls_share_a_commit),
		FILE_TEST(test_keeper_put_is_invisible_until_it_is_written),
		FILE_TEST(test_keeper_waiting_takes_are_served_in_order),
		FILE_TEST(test_keeper_take_is_woken_when_the_clock_moves),
		FILE_TEST(test_keeper_take_times_out),
		FILE_TEST(test_keeper_take_is_woken_by_the_wall_clock),
		FILE_TEST(test_keeper_resume_wakes_those_who_wait),
		FILE_TEST(
			test_keeper_fd_is_readable_while_an_item_can_be_taken),
		FILE_TEST(test_keeper_fd_of_an_item_that_is_there_already),
		FILE_TEST(test_keeper_close_lets_those_who_wait_go),
		FILE_TEST(test_keeper_close_waits_for_the_write),
		FILE_TEST(test_keeper_async_calls_end_once),
		FILE_TEST(test_keeper_async_refused_calls_do_not_end),
		FILE_TEST(test_keeper_async_executor_may_refuse_and_abandon),
		FILE_TEST(test_keeper_sleeps_while_a_close_waits),
		FILE_TEST(test_keeper_async_inline_executor),
		FILE_TEST(test_keeper_async_callback_on_a_pool_may_wait),
		FILE_TEST(test_keeper_many_threads_lose_nothing),
		FILE_TEST(test_keeper_callbacks_look_while_others_lead),
		FILE_TEST(test_keeper_child_of_a_fork_is_refused),
	};

	return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
