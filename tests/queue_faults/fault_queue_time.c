/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_time.c - a clock that is set, processes that stop for seconds,
 * consumers that die, and a million items that are due at once.
 *
 * TKW_PROGRAM in the environment is the path of tkw, and TKW_QUEUE_HERD says
 * how many items are due at once.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queue_fault_bed.h"
#include "skips.h"

#define START_MS INT64_C(1700000000000)
#define HOUR_MS (INT64_C(3600) * 1000)
#define DAY_MS (24 * HOUR_MS)

enum {
	HERD = 1000000,
	AT_ONCE = 1000,
	LEASES = 10000,
	STOP_S = 2
};

/* A clock that a test sets. */
static int64_t clock_ms = START_MS; /* atomic */

static int64_t now_us(void *ctx)
{
	(void)ctx;
	return __atomic_load_n(&clock_ms, __ATOMIC_RELAXED) * 1000;
}

static void set_clock(int64_t ms)
{
	__atomic_store_n(&clock_ms, ms, __ATOMIC_RELAXED);
}

struct file {
	struct tkw_queues *f;
	struct tkw_queue *q;
};

static void open_file(struct file *to, const struct queue_fault_bed *b)
{
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .now_us = now_us,
					 .no_socket = 1 };

	if (tkw_queues_open(&to->f, b->path, &cfg) != 0 ||
	    tkw_queue_open(&to->q, to->f, "q") != 0)
		abort();
}

static void close_file(struct file *f)
{
	assert_null(tkw_queues_check(f->f));
	assert_int_equal(tkw_queues_close(f->f), 0);
}

static struct tkw_queue_stats stats(struct tkw_queue *q)
{
	struct tkw_queue_stats s;

	assert_int_equal(tkw_queue_get_stats(q, &s), 0);
	return s;
}

static struct tkw_item_id put(struct tkw_queue *q, int64_t delay_ms)
{
	struct tkw_put p = { .payload = "work",
			     .payload_len = 4,
			     .delay_ms = delay_ms };
	struct tkw_item_id id;

	assert_int_equal(tkw_queue_put(q, &p, 1, &id), 0);
	return id;
}

/* Takes one item, if one is ready. Returns its claim; a token of 0: none. */
static struct tkw_claim take(struct tkw_queue *q, int64_t lease_ms)
{
	struct tkw_take how = { .lease_ms = lease_ms };
	struct tkw_claim claim = { { 0 }, 0 };
	struct tkw_items *items;
	int n = tkw_queue_take(q, &how, &items);

	assert_true(n >= 0);
	if (n > 0)
		claim = items->item[0].claim;
	tkw_items_free(n > 0 ? items : NULL);
	return claim;
}

/* --- the clock ------------------------------------------------------------ */

static void fault_queue_clock_set_a_day_ahead(void **state)
{
	struct file f;
	struct tkw_claim held;
	struct tkw_claim again;

	set_clock(START_MS);
	open_file(&f, *state);
	put(f.q, 0);
	held = take(f.q, HOUR_MS);
	put(f.q, 2 * HOUR_MS);
	assert_int_equal(take(f.q, 0).token, 0);
	set_clock(START_MS + DAY_MS);
	/* The lease has ended, and the other item is due. */
	assert_int_equal(tkw_queue_ack(f.q, &held, 1, NULL), 0);
	assert_int_equal(stats(f.q).ready, 2);
	again = take(f.q, HOUR_MS);
	assert_int_equal(again.id.bits, held.id.bits);
	assert_true(again.token > held.token);
	assert_true(take(f.q, HOUR_MS).token > again.token);
	assert_int_equal(stats(f.q).all_losses, 1);
	close_file(&f);
}

/* Nothing is due before its time, and leases last longer. New ids and tokens
 * are still higher than all before. */
static void fault_queue_clock_set_a_day_back(void **state)
{
	struct file f;
	struct tkw_claim held;
	struct tkw_claim next;
	struct tkw_item_id id;

	set_clock(START_MS);
	open_file(&f, *state);
	put(f.q, 0);
	held = take(f.q, HOUR_MS);
	id = put(f.q, 0);
	assert_int_equal(stats(f.q).ready, 1);
	set_clock(START_MS - DAY_MS);
	assert_int_equal(stats(f.q).ready, 0);
	assert_int_equal(take(f.q, 0).token, 0);
	close_file(&f);
	open_file(&f, *state);
	assert_int_equal(stats(f.q).ready, 0);
	assert_true(put(f.q, 0).bits > id.bits);
	next = take(f.q, HOUR_MS);
	assert_true(next.token > held.token);
	assert_int_equal(tkw_queue_ack(f.q, &held, 1, NULL), 1);
	assert_int_equal(tkw_queue_ack(f.q, &next, 1, NULL), 1);
	set_clock(START_MS);
	next = take(f.q, HOUR_MS);
	assert_int_equal(next.id.bits, id.bits);
	close_file(&f);
}

/* The file was closed in a tomorrow that was none. */
static void fault_queue_clock_set_back_while_closed(void **state)
{
	struct tkw_claim before;
	struct tkw_claim after;
	struct file f;

	set_clock(START_MS + DAY_MS);
	open_file(&f, *state);
	put(f.q, 0);
	before = take(f.q, HOUR_MS);
	close_file(&f);
	set_clock(START_MS);
	open_file(&f, *state);
	put(f.q, 0);
	after = take(f.q, HOUR_MS);
	assert_true(after.token > before.token);
	assert_true(after.id.bits > before.id.bits);
	set_clock(START_MS + DAY_MS + HOUR_MS);
	assert_int_equal(take(f.q, HOUR_MS).id.bits, after.id.bits);
	assert_int_equal(take(f.q, HOUR_MS).id.bits, before.id.bits);
	close_file(&f);
}

/* --- many ----------------------------------------------------------------- */

/* Puts items whose payloads are their numbers, all due in one millisecond. */
static void put_many(struct tkw_queue *q, uint32_t count, int64_t due_ms)
{
	static uint32_t number[AT_ONCE];
	static struct tkw_put puts[AT_ONCE];

	for (uint32_t n = 0; n < count;) {
		size_t i;

		for (i = 0; i < AT_ONCE && n < count; i++) {
			number[i] = n++;
			puts[i] = (struct tkw_put){ .payload = &number[i],
						    .payload_len = 4,
						    .due_ms = due_ms };
		}
		assert_int_equal(tkw_queue_put(q, puts, i, NULL), 0);
	}
}

/* Takes all, which must come in the order of their numbers, and acks them if
 * ack is true. Returns how many came. */
static uint32_t take_many(struct tkw_queue *q, uint32_t attempt, bool ack)
{
	static struct tkw_claim claims[TKW_QUEUE_MAX_TAKE];
	struct tkw_take how = { .max_items = TKW_QUEUE_MAX_TAKE,
				.lease_ms = HOUR_MS };
	struct tkw_items *items;
	uint32_t next = 0;
	int n;

	while ((n = tkw_queue_take(q, &how, &items)) > 0) {
		for (int i = 0; i < n; i++) {
			const struct tkw_item *it = &items->item[i];

			assert_memory_equal(it->payload, &next, 4);
			assert_int_equal(it->attempts, attempt);
			claims[i] = it->claim;
			next++;
		}
		tkw_items_free(items);
		if (ack)
			assert_int_equal(
				tkw_queue_ack(q, claims, (size_t)n, NULL), n);
	}
	assert_int_equal(n, 0);
	return next;
}

static void fault_queue_a_million_due_at_once(void **state)
{
	uint32_t count = (uint32_t)queue_fault_number("TKW_QUEUE_HERD", HERD);
	struct tkw_queue_stats s;
	struct file f;

	set_clock(START_MS);
	open_file(&f, *state);
	put_many(f.q, count, START_MS + HOUR_MS);
	set_clock(START_MS + HOUR_MS - 1);
	assert_int_equal(take(f.q, 0).token, 0);
	set_clock(START_MS + HOUR_MS);
	/* They need not all be counted as ready yet, but can be taken. */
	s = stats(f.q);
	assert_int_equal(s.ready + s.waiting, count);
	assert_int_equal(take_many(f.q, 1, true), count);
	assert_int_equal(stats(f.q).all_acks, count);
	close_file(&f);
}

/* Takes all and is killed. The claims are left for the others. */
static void take_and_die(struct queue_fault_bed *b)
{
	struct file f;

	open_file(&f, b);
	put_many(f.q, LEASES, START_MS);
	if (take_many(f.q, 1, false) != LEASES)
		_exit(1);
	kill(getpid(), SIGKILL);
}

static void fault_queue_consumer_dies_with_many_leases(void **state)
{
	struct queue_fault_bed *b = *state;
	struct file f;
	int status;
	pid_t child;

	set_clock(START_MS);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		take_and_die(b);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFSIGNALED(status));
	open_file(&f, b);
	assert_int_equal(stats(f.q).taken, LEASES);
	assert_int_equal(take(f.q, 0).token, 0);
	set_clock(START_MS + HOUR_MS - 1);
	assert_int_equal(take(f.q, 0).token, 0);
	set_clock(START_MS + HOUR_MS);
	assert_int_equal(take_many(f.q, 2, true), LEASES);
	assert_int_equal(stats(f.q).all_losses, LEASES);
	assert_int_equal(stats(f.q).all_acks, LEASES);
	close_file(&f);
}

/* --- processes that stop -------------------------------------------------- */

/* An owner that works until it is killed. */
static void *work(void *arg)
{
	struct crew_worker *w = arg;
	struct crew_share *s = w->share;

	while (w->notes->count < CREW_CALLS && !s->broken[0]) {
		int err = crew_work(w);

		if (err < 0)
			snprintf(s->broken, sizeof(s->broken), "error %d",
				 -err);
	}
	return NULL;
}

static void own(struct queue_fault_bed *b)
{
	static struct crew_worker worker[CREW_WORKERS];
	pthread_t thread[CREW_WORKERS];
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[100];

	if (crew_open(&f, &q, b->path, why, sizeof(why)) != 0)
		_exit(1);
	for (int i = 0; i < CREW_WORKERS; i++) {
		worker[i] = (struct crew_worker){ .share = b->share,
						  .notes = &b->share->notes[i],
						  .q = q,
						  .random = (uint64_t)i };
		if (pthread_create(&thread[i], NULL, work, &worker[i]))
			_exit(1);
	}
	for (;;)
		pause();
}

static uint64_t calls_of(const struct crew_share *s)
{
	uint64_t n = 0;

	for (int i = 0; i < CREW_WORKERS; i++)
		n += __atomic_load_n(&s->notes[i].count, __ATOMIC_ACQUIRE);
	return n;
}

static void await_calls(const struct crew_share *s, uint64_t count)
{
	while (calls_of(s) < count && !s->broken[0])
		usleep(500);
}

/* It goes on where it stopped, in the middle of its calls. */
static void fault_queue_owner_stopped_for_seconds(void **state)
{
	struct queue_fault_bed *b = *state;
	pid_t child = fork();
	uint64_t calls;

	assert_true(child >= 0);
	if (child == 0)
		own(b);
	await_calls(b->share, 50);
	assert_int_equal(kill(child, SIGSTOP), 0);
	sleep(STOP_S);
	calls = calls_of(b->share);
	assert_int_equal(kill(child, SIGCONT), 0);
	await_calls(b->share, calls + 50);
	queue_fault_kill(child);
	assert_string_equal(b->share->broken, "");
	truth_read(&b->truth, b->share);
	queue_fault_verify(b, true);
}

/* Starts tkw queue FILE take --wait forever. Its output goes to *out. */
static pid_t start_consumer(const struct queue_fault_bed *b, int *out)
{
	const char *tkw = getenv("TKW_PROGRAM");
	int fds[2];
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		execl(tkw, tkw, "queue", b->path, "take", "--wait", "forever",
		      "--lease", "1s", "-q", "q", (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	*out = fds[0];
	return child;
}

static void await_takes(struct tkw_queue *q, uint64_t count)
{
	while (stats(q).waiting_takes != count)
		usleep(500);
}

/* Takes with a wait until an item comes. */
static struct tkw_claim take_next(struct tkw_queue *q)
{
	struct tkw_take how = { .wait_ms = INT64_MAX, .lease_ms = HOUR_MS };
	struct tkw_items *items;
	struct tkw_claim claim;

	assert_int_equal(tkw_queue_take(q, &how, &items), 1);
	claim = items->item[0].claim;
	tkw_items_free(items);
	return claim;
}

/* A consumer at the socket stops while it waits. It is given the item, and does
 * not hear of it: when the lease ends, the next one is given it. */
static void fault_queue_consumer_stopped_for_seconds(void **state)
{
	struct queue_fault_bed *b = *state;
	struct tkw_queues *f;
	struct tkw_queue *q;
	struct tkw_item_id id;
	struct tkw_claim claim;
	char line[100] = "";
	pid_t child;
	int out;

	if (!getenv("TKW_PROGRAM"))
		skip_because("TKW_PROGRAM does not say where tkw is");
	assert_int_equal(tkw_queues_open(&f, b->path, NULL), 0);
	assert_int_equal(tkw_queue_open(&q, f, "q"), 0);
	child = start_consumer(b, &out);
	await_takes(q, 1);
	assert_int_equal(kill(child, SIGSTOP), 0);
	id = put(q, 0);
	claim = take_next(q);
	assert_int_equal(claim.id.bits, id.bits);
	assert_int_equal(stats(q).all_losses, 1);
	/* Others work meanwhile. */
	assert_int_equal(tkw_queue_ack(q, &claim, 1, NULL), 1);
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_true(read(out, line, sizeof(line) - 1) > 0);
	assert_non_null(strstr(line, "work"));
	queue_fault_kill(child);
	close(out);
	assert_null(tkw_queues_check(f));
	assert_int_equal(tkw_queues_close(f), 0);
}

/* One that is killed while it waits is given nothing. */
static void fault_queue_consumer_killed_while_it_waits(void **state)
{
	struct queue_fault_bed *b = *state;
	struct tkw_queues *f;
	struct tkw_queue *q;
	pid_t child;
	int out;

	if (!getenv("TKW_PROGRAM"))
		skip_because("TKW_PROGRAM does not say where tkw is");
	assert_int_equal(tkw_queues_open(&f, b->path, NULL), 0);
	assert_int_equal(tkw_queue_open(&q, f, "q"), 0);
	child = start_consumer(b, &out);
	await_takes(q, 1);
	queue_fault_kill(child);
	await_takes(q, 0);
	put(q, 0);
	assert_true(take(q, HOUR_MS).token != 0);
	assert_int_equal(stats(q).all_takes, 1);
	close(out);
	assert_int_equal(tkw_queues_close(f), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_clock_set_a_day_ahead),
		QUEUE_FAULT(fault_queue_clock_set_a_day_back),
		QUEUE_FAULT(fault_queue_clock_set_back_while_closed),
		QUEUE_FAULT(fault_queue_a_million_due_at_once),
		QUEUE_FAULT(fault_queue_consumer_dies_with_many_leases),
		QUEUE_FAULT(fault_queue_owner_stopped_for_seconds),
		QUEUE_FAULT(fault_queue_consumer_stopped_for_seconds),
		QUEUE_FAULT(fault_queue_consumer_killed_while_it_waits),
	};

	queue_fault_choose(argc, argv);
	return status_with_skips(cmocka_run_group_tests(tests, NULL, NULL));
}
