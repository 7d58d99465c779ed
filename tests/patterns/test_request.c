/* SPDX-License-Identifier: MIT */
/*
 * test_request.c - SPEC 8.3: a request ends exactly once: by an answer, which
 * cancels its timeout, by the timeout, by a cancel or by a stop. These tests
 * check what each call returns, on one thread. Executors, forks and races are
 * in test_request_threads.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/id_table.h"
#include "request_bed.h"

static char answer[] = "42";

/* --- memory that can be refused ------------------------------------------ */

#define NAMED(name) __asm__(name)
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");

static atomic_bool no_memory;
static atomic_size_t watched; /* counts pieces of this size */
static atomic_uint pieces;

void *wrap_aligned_alloc(size_t align, size_t size)
{
	atomic_fetch_add(&pieces, size == atomic_load(&watched));
	return atomic_load(&no_memory) ? NULL : real_aligned_alloc(align, size);
}

/* --- the ends ------------------------------------------------------------- */

/* SPEC 8.3: by an answer, which cancels the timeout. */
static void test_request_is_answered(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked a;

	ask(rs, &a, 5 * TKW_MSEC);
	assert_int_equal(tkw_requests_count(rs), 1);
	assert_int_equal(tkw_timer_count(b->t), 1);
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), 0);
	assert_ended(&a, 0, answer);
	/* It was called inside the call. */
	assert_true(pthread_equal(a.by, pthread_self()));
	/* Nothing is left behind. */
	assert_int_equal(tkw_requests_count(rs), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	bed_pass(b, TKW_SEC);
	assert_ended(&a, 0, answer);
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), -ENOENT);
	assert_int_equal(tkw_requests_cancel(rs, a.id), -ENOENT);
	assert_ended(&a, 0, answer);
	ask(rs, &a, 5 * TKW_MSEC);
	assert_int_equal(tkw_requests_complete(rs, a.id, NULL), 0);
	assert_ended(&a, 0, NULL);
	close_set(rs);
}
BED_TEST(test_request_is_answered)

/* SPEC 8.3: by the timeout, and not before it is due. */
static void test_request_times_out(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked a;
	struct asked other;

	ask(rs, &a, 5 * TKW_MSEC);
	ask(rs, &other, 50 * TKW_MSEC);
	bed_pass(b, 4 * TKW_MSEC);
	assert_under_way(&a);
	bed_pass(b, 2 * TKW_MSEC);
	assert_ended(&a, -ETIMEDOUT, NULL);
	assert_under_way(&other);
	assert_int_equal(tkw_requests_count(rs), 1);
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), -ENOENT);
	assert_int_equal(tkw_requests_cancel(rs, a.id), -ENOENT);
	assert_ended(&a, -ETIMEDOUT, NULL);
	close_set(rs);
	assert_ended(&other, -ESHUTDOWN, NULL);
}
BED_TEST(test_request_times_out)

/* SPEC 8.3: by a cancel. */
static void test_request_is_cancelled(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked a;

	ask(rs, &a, 5 * TKW_MSEC);
	assert_int_equal(tkw_requests_cancel(rs, a.id), 0);
	assert_ended(&a, -ECANCELED, NULL);
	assert_int_equal(tkw_requests_cancel(rs, a.id), -ENOENT);
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), -ENOENT);
	bed_pass(b, TKW_SEC);
	assert_ended(&a, -ECANCELED, NULL);
	close_set(rs);
}
BED_TEST(test_request_is_cancelled)

/* A timeout that is due at once does not fire inside add. One that lies beyond
 * the end of time never fires. */
static void test_request_timeouts_of_all_kinds(struct timer_bed *b)
{
	static const int64_t due[] = { 0, -1, INT64_MIN, 1 };
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked a;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		ask(rs, &a, due[i]);
		if (bed_by_hand(b))
			assert_under_way(&a);
		bed_pass(b, TKW_MSEC);
		assert_ended(&a, -ETIMEDOUT, NULL);
	}
	ask(rs, &a, INT64_MAX);
	bed_pass(b, 1000 * HOUR_NS);
	assert_under_way(&a);
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), 0);
	assert_ended(&a, 0, answer);
	close_set(rs);
}
BED_TEST(test_request_timeouts_of_all_kinds)

/* --- bad input ------------------------------------------------------------ */

static int submit_nothing(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	(void)job;
	return -EAGAIN;
}

static void test_request_create_refuses(struct timer_bed *b)
{
	const struct tkw_exec no_function = { .submit = NULL };
	const struct tkw_exec exec = { .submit = submit_nothing };
	struct tkw_requests_config cfg = { .timer = b->t };
	struct tkw_requests *rs = NULL;

	assert_int_equal(tkw_requests_create(NULL, &cfg), -EINVAL);
	assert_int_equal(tkw_requests_create(&rs, NULL), -EINVAL);
	cfg.exec = &no_function;
	assert_int_equal(tkw_requests_create(&rs, &cfg), -EINVAL);
	cfg.exec = &exec;
	cfg.timer = NULL;
	assert_int_equal(tkw_requests_create(&rs, &cfg), -EINVAL);
	assert_null(rs);
	cfg.timer = b->t;
	cfg.max_pending = INT64_MIN;
	assert_int_equal(tkw_requests_create(&rs, &cfg), 0);
	close_set(rs);
	/* This started no thread, and left nothing in the timer. */
	bed_assert_ledger(b, 0);
}
BED_TEST(test_request_create_refuses)

/* Configs of older and newer programs. */
static void test_request_config_sizes(struct timer_bed *b)
{
	struct {
		struct tkw_requests_config cfg;
		char newer[4104];
	} c = { .cfg = { .timer = b->t } };
	const size_t bad[] = { 1, sizeof(c.cfg) - 1, sizeof(c) };
	struct tkw_requests *rs = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.cfg.size = bad[i];
		assert_int_equal(tkw_requests_create(&rs, &c.cfg), -EINVAL);
	}
	c.cfg.size = sizeof(c.cfg) + 8;
	c.newer[7] = 1;
	assert_int_equal(tkw_requests_create(&rs, &c.cfg), -EINVAL);
	assert_null(rs);
	c.newer[7] = 0;
	assert_int_equal(tkw_requests_create(&rs, &c.cfg), 0);
	close_set(rs);
	c.cfg.size = 0;
	assert_int_equal(tkw_requests_create(&rs, &c.cfg), 0);
	close_set(rs);
}
BED_TEST(test_request_config_sizes)

static void test_request_calls_refuse_null(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct tkw_request_end end = { .id = { 7 } };
	struct tkw_request_id id = { 7 };

	assert_int_equal(tkw_requests_add(NULL, note_end, NULL, 0, &id),
			 -EINVAL);
	assert_int_equal(tkw_requests_add(rs, note_end, NULL, 0, NULL),
			 -EINVAL);
	assert_int_equal(tkw_requests_complete(NULL, id_of(1), NULL), -EINVAL);
	assert_int_equal(tkw_requests_cancel(NULL, id_of(1)), -EINVAL);
	assert_int_equal(tkw_requests_wait(NULL, id_of(1), &end), -EINVAL);
	assert_int_equal(tkw_requests_wait(rs, id_of(1), NULL), -EINVAL);
	assert_int_equal(tkw_requests_count(NULL), 0);
	assert_int_equal(tkw_requests_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_requests_destroy(NULL), 0);
	assert_int_equal(id.bits, 7);
	assert_int_equal(end.id.bits, 7);
	assert_int_equal(tkw_requests_count(rs), 0);
	close_set(rs);
}
BED_TEST(test_request_calls_refuse_null)

static void refuse_id(struct tkw_requests *rs, struct tkw_request_id id)
{
	struct tkw_request_end end;

	assert_int_equal(tkw_requests_complete(rs, id, answer), -ENOENT);
	assert_int_equal(tkw_requests_cancel(rs, id), -ENOENT);
	assert_int_equal(tkw_requests_wait(rs, id, &end), -ENOENT);
}

/* Ids that were never given out, most of them similar to one that was. */
static void test_request_made_up_ids(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	uint64_t random = 1;
	struct asked a;

	refuse_id(rs, id_of(0));
	refuse_id(rs, id_of(1));
	refuse_id(rs, id_of(UINT64_MAX));
	ask(rs, &a, HOUR_NS);
	for (unsigned bit = 0; bit < 64; bit++)
		refuse_id(rs, id_of(a.id.bits ^ UINT64_C(1) << bit));
	/* generation 0 */
	refuse_id(rs, id_of(a.id.bits & ~(uint64_t)UINT32_MAX));
	for (int i = 0; i < 10000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		if (random != a.id.bits)
			refuse_id(rs, id_of(random));
	}
	assert_under_way(&a);
	assert_int_equal(tkw_requests_count(rs), 1);
	assert_int_equal(tkw_requests_complete(rs, a.id, answer), 0);
	assert_ended(&a, 0, answer);
	close_set(rs);
}
BED_TEST(test_request_made_up_ids)

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* SPEC 8.3, 3.5: an id is not given out twice, and a stale one changes no other
 * request. In the narrow build, places are used up. */
static void test_request_stale_ids(struct timer_bed *b)
{
	enum {
		IDS = 3000
	};
	static uint64_t ids[IDS];
	struct tkw_requests *rs = open_set(b, NULL);
	struct asked live;
	struct asked a;

	for (int i = 0; i < IDS; i++) {
		ask(rs, &a, HOUR_NS);
		ids[i] = a.id.bits;
		assert_int_equal(tkw_requests_complete(rs, a.id, answer), 0);
		assert_ended(&a, 0, answer);
	}
	ask(rs, &live, HOUR_NS);
	for (int i = 0; i < IDS; i++)
		refuse_id(rs, id_of(ids[i]));
	assert_under_way(&live);
	qsort(ids, IDS, sizeof(ids[0]), compare_ids);
	for (int i = 1; i < IDS; i++)
		assert_true(ids[i - 1] < ids[i]);
	assert_int_equal(tkw_requests_count(rs), 1);
	close_set(rs);
}
BED_TEST(test_request_stale_ids)

/* Many at a time, in several blocks. Each gets its own answer. */
static void test_request_many_at_a_time(struct timer_bed *b)
{
	enum {
		MANY = 5000
	};
	static struct asked many[MANY];
	struct tkw_requests *rs = open_set(b, NULL);

	for (int i = 0; i < MANY; i++)
		ask(rs, &many[i], i % 3 == 0 ? TKW_MSEC : HOUR_NS);
	assert_int_equal(tkw_requests_count(rs), MANY);
	for (int i = 1; i < MANY; i += 3)
		assert_int_equal(
			tkw_requests_complete(rs, many[i].id, &many[i]), 0);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(tkw_requests_count(rs), MANY / 3);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	for (int i = 0; i < MANY; i++) {
		static const int status[] = { -ETIMEDOUT, 0, -ESHUTDOWN };

		assert_ended(&many[i], status[i % 3],
			     i % 3 == 1 ? &many[i] : NULL);
	}
	assert_int_equal(tkw_requests_count(rs), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	close_set(rs);
}
BED_TEST(test_request_many_at_a_time)

#ifdef TKW__GENERATION_BITS
/* One thread can have as many requests as there are indices, and no more. */
static void test_request_out_of_indices(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct tkw_request_id first = ask_quietly(rs, HOUR_NS);
	uint64_t count = 1;
	struct tkw_request_id id;
	int err = 0;

	while (err == 0 && count < 1 << 20) {
		err = tkw_requests_add(rs, NULL, NULL, HOUR_NS, &id);
		count += err == 0;
	}
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(tkw_requests_count(rs), count);
	assert_int_equal(tkw_timer_count(b->t), count);
	/* When one has ended, there is room for another one. */
	assert_int_equal(tkw_requests_cancel(rs, first), 0);
	assert_kept(rs, first, -ECANCELED, NULL);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, HOUR_NS, &id), 0);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, HOUR_NS, &id),
			 -EAGAIN);
	close_set(rs);
}
BED_TEST(test_request_out_of_indices)
#endif

/* --- wait ----------------------------------------------------------------- */

/* Without fn, the result is kept until a thread asks for it, once. */
static void test_request_wait_after_the_end(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct tkw_request_id answered = ask_quietly(rs, 5 * TKW_MSEC);
	struct tkw_request_id timed_out = ask_quietly(rs, 5 * TKW_MSEC);
	struct tkw_request_id cancelled = ask_quietly(rs, 5 * TKW_MSEC);
	struct tkw_request_id stopped = ask_quietly(rs, HOUR_NS);

	assert_int_equal(tkw_requests_complete(rs, answered, answer), 0);
	assert_int_equal(tkw_requests_complete(rs, answered, answer), -ENOENT);
	assert_int_equal(tkw_requests_cancel(rs, cancelled), 0);
	bed_pass(b, 10 * TKW_MSEC);
	assert_int_equal(tkw_requests_complete(rs, timed_out, answer), -ENOENT);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	assert_int_equal(tkw_requests_count(rs), 4);
	assert_kept(rs, answered, 0, answer);
	assert_kept(rs, timed_out, -ETIMEDOUT, NULL);
	assert_kept(rs, cancelled, -ECANCELED, NULL);
	assert_kept(rs, stopped, -ESHUTDOWN, NULL);
	assert_int_equal(tkw_requests_count(rs), 0);
	close_set(rs);
}
BED_TEST(test_request_wait_after_the_end)

/* Destroy frees results that no thread has waited for. */
static void test_request_destroy_with_kept_ends(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);

	assert_int_equal(
		tkw_requests_complete(rs, ask_quietly(rs, HOUR_NS), answer), 0);
	ask_quietly(rs, HOUR_NS);
	close_set(rs);
	assert_int_equal(tkw_timer_count(b->t), 0);
}
BED_TEST(test_request_destroy_with_kept_ends)

/* A request with fn cannot be waited for. */
static void test_request_wait_with_a_callback(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct tkw_request_end end;
	struct asked a;

	ask(rs, &a, HOUR_NS);
	assert_int_equal(tkw_requests_wait(rs, a.id, &end), -EINVAL);
	assert_int_equal(tkw_requests_complete(rs, a.id, NULL), 0);
	assert_int_equal(tkw_requests_wait(rs, a.id, &end), -ENOENT);
	close_set(rs);
}
BED_TEST(test_request_wait_with_a_callback)

/* Calls in a task of the timer, or in a callback of the set. */
struct inside {
	struct tkw_requests *rs;
	struct timer_bed *b;
	struct asked other;
	struct tkw_request_id open; /* without fn */
	struct tkw_request_id done; /* the same, ended */
	struct tkw_request_id own;
	unsigned calls;
	int ret[8];
	struct tkw_request_end end;
};

static void call_from_inside(struct inside *i)
{
	static struct asked more;

	i->calls++;
	i->ret[0] = tkw_requests_destroy(i->rs);
	i->ret[1] = tkw_requests_wait(i->rs, i->done, &i->end);
	i->ret[2] = tkw_requests_complete(i->rs, i->other.id, answer);
	i->ret[3] = tkw_requests_complete(i->rs, i->own, answer);
	i->ret[4] = tkw_requests_add(i->rs, note_end, &more, HOUR_NS, &more.id);
	i->ret[5] = tkw_requests_cancel(i->rs, more.id);
}

static void open_inside(struct inside *i, struct timer_bed *b,
			int64_t max_pending)
{
	memset(i, 0, sizeof(*i));
	i->b = b;
	i->rs = open_limited_set(b, NULL, max_pending);
	ask(i->rs, &i->other, HOUR_NS);
	i->open = ask_quietly(i->rs, HOUR_NS);
	i->done = ask_quietly(i->rs, HOUR_NS);
	assert_int_equal(tkw_requests_cancel(i->rs, i->done), 0);
}

static void assert_inside(struct inside *i)
{
	assert_int_equal(i->calls, 1);
	assert_int_equal(i->ret[0], -EDEADLK);
	assert_int_equal(i->ret[1], 0);
	assert_int_equal(i->end.status, -ECANCELED);
	assert_int_equal(i->ret[2], 0);
	assert_ended(&i->other, 0, answer);
	assert_int_equal(i->ret[3], -ENOENT);
	assert_int_equal(i->ret[4], 0);
	assert_int_equal(i->ret[5], 0);
	/* Only the open request is left. */
	assert_int_equal(tkw_requests_count(i->rs), 1);
	close_set(i->rs);
}

static void end_calls_the_set(const struct tkw_request_end *end, void *arg)
{
	struct inside *i = arg;

	if (end->status == -ETIMEDOUT)
		i->ret[6] = tkw_requests_wait(i->rs, i->open, &i->end);
	call_from_inside(i);
}

/* All calls except destroy are legal there. Its own place is free, even if the
 * set was full. */
static void test_request_calls_from_a_callback(struct timer_bed *b)
{
	struct inside i;

	open_inside(&i, b, 4);
	assert_int_equal(
		tkw_requests_add(i.rs, end_calls_the_set, &i, HOUR_NS, &i.own),
		0);
	assert_int_equal(tkw_requests_complete(i.rs, i.own, NULL), 0);
	assert_inside(&i);
	/* On the timer's worker: it cannot wait for a request that it must end
	 * itself. */
	open_inside(&i, b, 4);
	assert_int_equal(
		tkw_requests_add(i.rs, end_calls_the_set, &i, TKW_MSEC, &i.own),
		0);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(i.ret[6], -EDEADLK);
	assert_inside(&i);
}
BED_TEST(test_request_calls_from_a_callback)

static void task_calls_the_set(const struct tkw_firing *firing, void *arg)
{
	struct inside *i = arg;

	(void)firing;
	i->ret[6] = tkw_requests_wait(i->rs, i->open, &i->end);
	call_from_inside(i);
}

static void test_request_calls_from_a_task(struct timer_bed *b)
{
	struct inside i;
	const struct tkw_task task = { .fn = task_calls_the_set, .ctx = &i };

	open_inside(&i, b, 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(i.ret[6], -EDEADLK);
	assert_inside(&i);
}
BED_TEST(test_request_calls_from_a_task)

/* --- limits and memory ---------------------------------------------------- */

/* Exactly max_pending are accepted. A result that is kept counts, too. */
static void test_request_max_pending(struct timer_bed *b)
{
	struct tkw_requests *rs = open_limited_set(b, NULL, 3);
	struct tkw_request_id kept = ask_quietly(rs, HOUR_NS);
	struct asked first;
	struct asked second;
	struct tkw_request_id id = { 7 };

	ask(rs, &first, HOUR_NS);
	ask(rs, &second, TKW_MSEC);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -EAGAIN);
	assert_int_equal(id.bits, 7);
	assert_int_equal(tkw_requests_count(rs), 3);
	assert_int_equal(tkw_timer_count(b->t), 3);
	assert_int_equal(tkw_requests_complete(rs, kept, NULL), 0);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -EAGAIN);
	assert_kept(rs, kept, 0, NULL);
	ask_quietly(rs, HOUR_NS);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -EAGAIN);
	bed_pass(b, 5 * TKW_MSEC);
	assert_ended(&second, -ETIMEDOUT, NULL);
	ask(rs, &second, HOUR_NS);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -EAGAIN);
	assert_int_equal(tkw_requests_cancel(rs, second.id), 0);
	ask(rs, &second, HOUR_NS);
	close_set(rs);
}
BED_TEST(test_request_max_pending)

/* If the timer is full, add is refused, and nothing is left in the set. */
static void test_request_timer_is_full(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 2 };
	struct tkw_requests *rs;
	struct asked a[2];
	struct tkw_request_id id;

	bed_reopen(b, &cfg);
	rs = open_limited_set(b, NULL, 3);
	ask(rs, &a[0], HOUR_NS);
	ask(rs, &a[1], HOUR_NS);
	for (int i = 0; i < 5; i++)
		assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id),
				 -EAGAIN);
	assert_int_equal(tkw_requests_count(rs), 2);
	assert_int_equal(tkw_requests_cancel(rs, a[0].id), 0);
	ask(rs, &a[0], HOUR_NS);
	assert_int_equal(tkw_requests_cancel(rs, a[1].id), 0);
	close_set(rs);
	assert_ended(&a[0], -ESHUTDOWN, NULL);
}
BED_TEST(test_request_timer_is_full)

/* No memory for the set, for its first block, and for later ones. */
static void test_request_no_memory(struct timer_bed *b)
{
	const struct tkw_requests_config cfg = { .timer = b->t };
	struct tkw_requests *rs = NULL;
	unsigned refused = 0;
	struct tkw_request_id id = { 7 };

	assert_int_equal(tkw_timer_start(b->t), 0);
	atomic_store(&no_memory, true);
	assert_int_equal(tkw_requests_create(&rs, &cfg), -ENOMEM);
	atomic_store(&no_memory, false);
	assert_null(rs);
	rs = open_limited_set(b, NULL, 1000);
	for (unsigned i = 0; i < 700; i++) {
		int err;

		atomic_store(&no_memory, true);
		err = tkw_requests_add(rs, NULL, NULL, HOUR_NS, &id);
		atomic_store(&no_memory, false);
		assert_int_equal(tkw_requests_count(rs), i + (err == 0));
		assert_int_equal(tkw_timer_count(b->t), i + (err == 0));
		if (err == 0)
			continue;
		assert_int_equal(err, -ENOMEM);
		refused++;
		ask_quietly(rs, HOUR_NS);
	}
	assert_true(refused >= 2);
	close_set(rs);
}
BED_TEST(test_request_no_memory)

/* A request takes 64 bytes, one cache line, and nothing else. */
static void test_request_takes_one_line(struct timer_bed *b)
{
	enum {
		BLOCK = 1 << TKW__RECORD_BLOCK_BITS
	};
	struct tkw_requests *rs = open_set(b, NULL);
	struct tkw_timeout_id ids[8 * BLOCK];

	/* Makes room in each block of the timer. */
	for (int i = 0; i < 8 * BLOCK; i++)
		ids[i] = bed_schedule(b, 1, HOUR_NS);
	for (int i = 0; i < 8 * BLOCK; i += 2)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	atomic_store(&pieces, 0);
	atomic_store(&watched, (size_t)BLOCK * 64);
	ask_quietly(rs, HOUR_NS);
	assert_int_equal(atomic_load(&pieces), 1);
	for (int i = 1; i < BLOCK; i++)
		ask_quietly(rs, HOUR_NS);
	assert_int_equal(atomic_load(&pieces), 1);
	/* The next block is twice as large. */
	atomic_store(&watched, (size_t)BLOCK * 128);
	ask_quietly(rs, HOUR_NS);
	assert_int_equal(atomic_load(&pieces), 2);
	atomic_store(&watched, 0);
	close_set(rs);
}
BED_TEST(test_request_takes_one_line)

/* If the timer has no memory, add leaves no trace in the set. */
static void test_request_no_memory_in_the_timer(struct timer_bed *b)
{
	static struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct tkw_requests *rs;
	struct asked a;
	struct tkw_request_id id;

	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_start(b->t), 0);
	rs = open_limited_set(b, NULL, 1);
	bed_memory_refuse(&m, true);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -ENOMEM);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -ENOMEM);
	bed_memory_refuse(&m, false);
	assert_int_equal(tkw_requests_count(rs), 0);
	ask(rs, &a, HOUR_NS);
	close_set(rs);
	assert_ended(&a, -ESHUTDOWN, NULL);
	bed_reopen(b, NULL);
}
BED_TEST(test_request_no_memory_in_the_timer)

/* --- shutdown ------------------------------------------------------------- */

static void test_request_shutdown(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct tkw_request_id kept = ask_quietly(rs, HOUR_NS);
	struct asked a[3];
	struct tkw_request_id id = { 7 };

	for (int i = 0; i < 3; i++)
		ask(rs, &a[i], HOUR_NS);
	assert_int_equal(tkw_requests_complete(rs, a[1].id, answer), 0);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	assert_ended(&a[0], -ESHUTDOWN, NULL);
	assert_ended(&a[1], 0, answer);
	assert_ended(&a[2], -ESHUTDOWN, NULL);
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	assert_int_equal(tkw_requests_add(rs, note_end, &a[0], 0, &id),
			 -ESHUTDOWN);
	assert_int_equal(id.bits, 7);
	refuse_id(rs, a[0].id);
	assert_kept(rs, kept, -ESHUTDOWN, NULL);
	bed_pass(b, 2 * HOUR_NS);
	assert_ended(&a[0], -ESHUTDOWN, NULL);
	close_set(rs);
	/* The timer still works. */
	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(bed_fired_times(b, 1), 1);
}
BED_TEST(test_request_shutdown)

/* A callback shuts the set down, and so does another one during that. */
struct stopper {
	struct tkw_requests *rs;
	int ret;
	int begin;
	unsigned calls;
};

static void end_stops_the_set(const struct tkw_request_end *end, void *arg)
{
	struct stopper *s = arg;
	struct tkw_request_id id;

	(void)end;
	s->calls++;
	s->ret = tkw_requests_shutdown(s->rs);
	s->begin = tkw_requests_add(s->rs, NULL, NULL, 0, &id);
}

static void test_request_shutdown_from_a_callback(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct stopper first = { .rs = rs };
	struct stopper second = { .rs = rs };
	struct tkw_request_id id[2];

	assert_int_equal(tkw_requests_add(rs, end_stops_the_set, &first,
					  HOUR_NS, &id[0]),
			 0);
	assert_int_equal(tkw_requests_add(rs, end_stops_the_set, &second,
					  HOUR_NS, &id[1]),
			 0);
	assert_int_equal(tkw_requests_complete(rs, id[0], NULL), 0);
	assert_int_equal(first.ret, 0);
	assert_int_equal(second.ret, 0);
	assert_int_equal(first.calls + second.calls, 2);
	assert_int_equal(first.begin, -ESHUTDOWN);
	assert_int_equal(second.begin, -ESHUTDOWN);
	close_set(rs);
}
BED_TEST(test_request_shutdown_from_a_callback)

/* The visitor of a stop of the timer. */
static void visit_destroys(const struct tkw_timeout_info *info, void *ctx)
{
	struct stopper *s = ctx;

	(void)info;
	s->calls++;
	s->ret = tkw_requests_destroy(s->rs);
}

/* The timer of the set is stopped. All requests end, and new ones are
 * refused. */
static void test_request_timer_is_stopped(struct timer_bed *b)
{
	struct tkw_requests *rs = open_set(b, NULL);
	struct stopper s = { .rs = rs };
	struct tkw_request_id kept = ask_quietly(rs, HOUR_NS);
	struct asked a[2];
	struct tkw_request_id id;

	ask(rs, &a[0], HOUR_NS);
	ask(rs, &a[1], HOUR_NS);
	assert_int_equal(tkw_requests_cancel(rs, a[1].id), 0);
	assert_int_equal(tkw_timer_stop(b->t, visit_destroys, &s), 0);
	assert_int_equal(s.calls, 2);
	assert_int_equal(s.ret, -EDEADLK);
	assert_ended(&a[0], -ESHUTDOWN, NULL);
	assert_ended(&a[1], -ECANCELED, NULL);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -ESHUTDOWN);
	assert_int_equal(tkw_requests_add(rs, NULL, NULL, 0, &id), -ESHUTDOWN);
	refuse_id(rs, a[0].id);
	assert_kept(rs, kept, -ESHUTDOWN, NULL);
	assert_int_equal(tkw_requests_count(rs), 0);
	assert_int_equal(tkw_requests_shutdown(rs), 0);
	close_set(rs);
}
BED_TEST(test_request_timer_is_stopped)

/* The timer's executor refuses jobs, and the timer drops them. */
static void test_request_timeout_is_dropped(struct timer_bed *b)
{
	const struct tkw_exec exec = { .submit = submit_nothing };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .refusal = TKW_REFUSED_DROP };
	struct tkw_requests *rs;
	struct tkw_request_id kept;
	struct asked a;

	bed_reopen(b, &cfg);
	rs = open_set(b, NULL);
	ask(rs, &a, TKW_MSEC);
	kept = ask_quietly(rs, TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_kept(rs, kept, -ECANCELED, NULL);
	assert_ended(&a, -ECANCELED, NULL);
	close_set(rs);
}
BED_TEST(test_request_timeout_is_dropped)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_request_is_answered),
		BED_TESTS(test_request_times_out),
		BED_TESTS(test_request_is_cancelled),
		BED_TESTS(test_request_timeouts_of_all_kinds),
		BED_TESTS(test_request_create_refuses),
		BED_TESTS(test_request_config_sizes),
		BED_TESTS(test_request_calls_refuse_null),
		BED_TESTS(test_request_made_up_ids),
		BED_TESTS(test_request_stale_ids),
		BED_TESTS(test_request_many_at_a_time),
#ifdef TKW__GENERATION_BITS
		BED_TESTS(test_request_out_of_indices),
#endif
		BED_TESTS(test_request_wait_after_the_end),
		BED_TESTS(test_request_destroy_with_kept_ends),
		BED_TESTS(test_request_wait_with_a_callback),
		BED_TESTS(test_request_calls_from_a_callback),
		BED_TESTS(test_request_calls_from_a_task),
		BED_TESTS(test_request_max_pending),
		BED_TESTS(test_request_timer_is_full),
		BED_TESTS(test_request_no_memory),
		BED_TESTS(test_request_takes_one_line),
		BED_TESTS(test_request_no_memory_in_the_timer),
		BED_TESTS(test_request_shutdown),
		BED_TESTS(test_request_shutdown_from_a_callback),
		BED_TESTS(test_request_timer_is_stopped),
		BED_TEST_UNDER(test_request_timeout_is_dropped, manual),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
