/* SPDX-License-Identifier: MIT */
/*
 * test_timer_batch.c - SPEC 3.8: many timeouts in one call, all or none, with
 * at most one wake-up; and many cancels in one call, each as if it were alone.
 */
#include "timer_bed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"

#include "tickwheel/stats.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)
#define HOUR_NS (3600 * TKW_SEC)
#define BASE_NS (BED_START_NS - 300)

/* An assert of cmocka does not work in a task, or on a thread that is not the
 * test's. */
#define must(condition) ((condition) ? (void)0 : not_so(__LINE__, #condition))

static void not_so(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

static void nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/* Fills in items of bed_task(), with tags from `tag` on, all for the same
 * time. */
static void fill(struct timer_bed *b, struct tkw_batch_item *items, size_t n,
		 uint64_t tag, int64_t when_ns)
{
	size_t i;

	for (i = 0; i < n; i++)
		items[i] = (struct tkw_batch_item){ bed_task(b, tag + i),
						    when_ns };
}

/* Items that are not recorded. */
static void fill_plain(struct tkw_batch_item *items, size_t n, int64_t when_ns)
{
	size_t i;

	for (i = 0; i < n; i++)
		items[i] =
			(struct tkw_batch_item){ { .fn = nothing }, when_ns };
}

static struct tkw_ledger ledger_of(struct timer_bed *b)
{
	struct tkw_ledger l;

	memset(&l, 0, sizeof(l));
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	return l;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Checks that each id names a pending timeout, and no two are the same. */
static void assert_good_ids(struct timer_bed *b,
			    const struct tkw_timeout_id *ids, size_t n)
{
	uint64_t *sorted = malloc(n * sizeof(*ids));
	struct tkw_timeout_info info;
	size_t i;

	assert_non_null(sorted);
	memcpy(sorted, ids, n * sizeof(*ids));
	qsort(sorted, n, sizeof(*ids), compare_ids);
	for (i = 0; i < n; i++) {
		assert_true(sorted[i] != 0);
		assert_true(i == 0 || sorted[i] != sorted[i - 1]);
		assert_int_equal(tkw_timer_get(b->t, ids[i], &info), 0);
		assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	}
	free(sorted);
}

/* --- when they fire ------------------------------------------------------ */

static const int64_t delays[] = {
	5 * TKW_MSEC,
	TKW_MSEC,
	1,
	0,
	-1,
	INT64_MIN,
	-TKW_SEC,
	TKW_MSEC - 300,
	TKW_MSEC,
	TKW_MSEC + 1,
	HOUR_NS,
	17 * TKW_MSEC,
	INT64_MAX,
	2,
	5 * TKW_MSEC,
	INT64_MAX - BED_START_NS,
};

enum {
	DELAYS = COUNT_OF(delays),
	/* how many will fire, in the batch and scheduled one by one */
	COMING = 2 * (DELAYS - 2)
};

/* Goes tick by tick at first, and then to the end. */
static void let_all_come(struct timer_bed *b)
{
	unsigned i;

	bed_pass(b, 0);
	bed_pass(b, BASE_NS + TKW_MSEC - b->now_ns);
	for (i = 0; i < 40; i++)
		bed_pass(b, TKW_MSEC);
	bed_pass(b, 3 * TKW_SEC);
	bed_pass(b, 2 * HOUR_NS);
}

static const struct bed_fired *fired_of(struct timer_bed *b, uint64_t tag)
{
	size_t i;

	assert_int_equal(bed_fired_times(b, tag), 1);
	for (i = 0; b->fired[i].tag != tag; i++)
		;
	return &b->fired[i];
}

/* Checks that timeouts of the batch fire like those scheduled one by one. */
static void assert_twins(struct timer_bed *b, const struct tkw_timeout_id *ids)
{
	const struct bed_fired *one;
	const struct bed_fired *other;
	uint64_t i;

	assert_int_equal(b->fired_count, COMING);
	for (i = 0; i < DELAYS; i++) {
		if (bed_fired_times(b, i) == 0) {
			assert_int_equal(bed_fired_times(b, DELAYS + i), 0);
			assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
			continue;
		}
		one = fired_of(b, i);
		other = fired_of(b, DELAYS + i);
		assert_true(one->id.bits == ids[i].bits);
		assert_true(one->deadline_ns == other->deadline_ns);
		assert_true(one->now_ns == other->now_ns);
		assert_true(one->late_ns == other->late_ns);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), -ENOENT);
	}
}

static void run_twins(struct timer_bed *b, int64_t slack_ns, bool at)
{
	struct tkw_batch_item items[DELAYS];
	struct tkw_timeout_id ids[DELAYS] = { 0 };
	struct tkw_task task;
	int64_t when_ns;
	size_t i;

	fill(b, items, DELAYS, 0, 0);
	for (i = 0; i < DELAYS; i++) {
		when_ns = delays[i];
		if (at && when_ns < HOUR_NS + 1)
			when_ns = when_ns < 0 ? when_ns : BASE_NS + when_ns;
		items[i].when_ns = when_ns;
		items[i].task.slack_ns = slack_ns;
	}
	if (at) /* the last tick never comes either */
		items[DELAYS - 1].when_ns = INT64_MAX;
	assert_int_equal(
		(at ? tkw_timer_schedule_batch_at
		    : tkw_timer_schedule_batch)(b->t, items, DELAYS, ids),
		0);
	for (i = 0; i < DELAYS; i++) {
		task = bed_task(b, DELAYS + i);
		task.slack_ns = slack_ns;
		assert_int_equal(
			(at ? tkw_timer_schedule_at : tkw_timer_schedule)(
				b->t, &task, items[i].when_ns, NULL),
			0);
	}
	let_all_come(b);
	assert_twins(b, ids);
	bed_assert_ledger(b, 2);
}

/* SPEC 3.8, 3.2, 3.3 */
static void test_timer_batch_of_delays_is_as_one_by_one(struct timer_bed *b)
{
	run_twins(b, 0, false);
}
BED_TEST(test_timer_batch_of_delays_is_as_one_by_one)

/* SPEC 3.8, 3.4 */
static void test_timer_batch_of_deadlines_is_as_one_by_one(struct timer_bed *b)
{
	run_twins(b, 0, true);
}
BED_TEST(test_timer_batch_of_deadlines_is_as_one_by_one)

/* SPEC 3.8, 3.9 */
static void test_timer_batch_has_slack_as_one_by_one(struct timer_bed *b)
{
	run_twins(b, 11 * TKW_MSEC, false);
}
BED_TEST(test_timer_batch_has_slack_as_one_by_one)

/* SPEC 3.8: each fires at its time, and not a tick earlier. */
static void test_timer_batch_fires_each_at_its_time(struct timer_bed *b)
{
	struct tkw_batch_item items[20];
	struct tkw_timeout_id ids[20];
	size_t i;

	fill(b, items, 20, 0, 0);
	for (i = 0; i < 20; i++) /* from the last to the first */
		items[i].when_ns = (int64_t)(20 - i) * 10 * TKW_MSEC;
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, 20, ids), 0);
	assert_good_ids(b, ids, 20);
	bed_assert_ledger(b, 20);
	for (i = 20; i-- > 0;)
		bed_assert_fires_at(b, i,
				    BASE_NS + items[i].when_ns + TKW_MSEC);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_fires_each_at_its_time)

/* SPEC 3.8, 4.4: they fire after what the thread has scheduled before, and
 * before what it schedules later. */
static void test_timer_batch_keeps_the_order_in_a_tick(struct timer_bed *b)
{
	const int64_t at_ns = BASE_NS + 400 * TKW_MSEC;
	struct tkw_batch_item items[30];
	uint64_t tags[82];
	uint64_t i;

	for (i = 0; i < 10; i++)
		bed_schedule(b, i, at_ns - b->now_ns);
	/* Items of another tick between them make no difference. */
	fill(b, items, 30, 10, at_ns - b->now_ns);
	for (i = 2; i < 30; i += 3)
		items[i].when_ns -= TKW_MSEC;
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, 30, NULL), 0);
	bed_schedule(b, 40, at_ns - b->now_ns - 1);
	fill(b, items, 30, 41, at_ns);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, items, 30, NULL), 0);
	for (i = 71; i < 82; i++)
		bed_schedule(b, i, at_ns - b->now_ns);
	bed_pass(b, at_ns - TKW_MSEC - b->now_ns);
	for (i = 0; i < 10; i++)
		tags[i] = 12 + 3 * i;
	bed_check_fired(b, tags, 10);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(b->fired_count, 82);
	for (i = 11; i < 82; i++)
		assert_true(b->fired[i].tag > b->fired[i - 1].tag);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_keeps_the_order_in_a_tick)

/* SPEC 3.8, 3.3: this also holds for timeouts that are due at once. */
static void
test_timer_batch_that_is_overdue_keeps_its_order(struct timer_bed *b)
{
	struct tkw_batch_item items[100];
	size_t i;

	bed_pass(b, 10 * TKW_MSEC);
	fill(b, items, 100, 0, 0);
	for (i = 0; i < 100; i++)
		items[i].when_ns = -(int64_t)(i * 7919 % 100) * TKW_MSEC;
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, 100, NULL), 0);
	fill(b, items, 100, 100, 0);
	for (i = 0; i < 100; i++)
		items[i].when_ns = (int64_t)(i * 7919 % 100);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, items, 100, NULL),
			 0);
	if (bed_by_hand(b))
		bed_assert_nothing_fired(b);
	bed_pass(b, 0);
	assert_int_equal(b->fired_count, 200);
	for (i = 0; i < 200; i++)
		assert_true(b->fired[i].tag == i);
}
BED_TEST(test_timer_batch_that_is_overdue_keeps_its_order)

/* SPEC 3.8, 3.4: one reading of the clock for all delays, none for
 * deadlines. */
static void test_timer_batch_reads_the_clock_once(struct timer_bed *b)
{
	struct tkw_batch_item items[100];
	struct tkw_timeout_id ids[100];
	uint64_t calls;

	assert_int_equal(tkw_timer_start(b->t), 0);
	fill_plain(items, 100, HOUR_NS);
	calls = bed_now_calls();
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, 100, ids), 0);
	assert_int_equal(bed_now_calls() - calls, 1);
	calls = bed_now_calls();
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, items, 100, NULL),
			 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 100, NULL), 100);
	assert_int_equal(bed_now_calls() - calls, 0);
}
BED_TEST(test_timer_batch_reads_the_clock_once)

/* SPEC 3.8: an empty batch does not need the time. */
static void test_timer_batch_of_nothing_reads_no_clock(struct timer_bed *b)
{
	uint64_t calls;

	assert_int_equal(tkw_timer_start(b->t), 0);
	calls = bed_now_calls();
	assert_int_equal(tkw_timer_schedule_batch(b->t, NULL, 0, NULL), 0);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, NULL, 0, NULL), 0);
	assert_int_equal(bed_now_calls() - calls, 0);
}
BED_TEST(test_timer_batch_of_nothing_reads_no_clock)

/* --- wake-ups ------------------------------------------------------------ */

/*
 * The linker (--wrap) sends each setting of an alarm, and each wait for one,
 * here. The assembler names are needed because C reserves names with two
 * underscores.
 */
#define NAMED(name) __asm__(name)
int real_settime(int fd, int flags, const struct itimerspec *value,
		 struct itimerspec *old) NAMED("__real_timerfd_settime");
int wrap_settime(int fd, int flags, const struct itimerspec *value,
		 struct itimerspec *old) NAMED("__wrap_timerfd_settime");
ssize_t real_read(int fd, void *buf, size_t size) NAMED("__real_read");
ssize_t wrap_read(int fd, void *buf, size_t size) NAMED("__wrap_read");

static _Thread_local unsigned own_alarms;
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_changed = PTHREAD_COND_INITIALIZER;
static unsigned sleeps; /* sleeps that have begun */

int wrap_settime(int fd, int flags, const struct itimerspec *value,
		 struct itimerspec *old)
{
	own_alarms++;
	return real_settime(fd, flags, value, old);
}

ssize_t wrap_read(int fd, void *buf, size_t size)
{
	pthread_mutex_lock(&sleep_lock);
	sleeps++;
	pthread_cond_broadcast(&sleep_changed);
	pthread_mutex_unlock(&sleep_lock);
	return real_read(fd, buf, size);
}

/* Starts the worker, and waits until it sleeps. By then it has looked for the
 * last time and found nothing. */
static void put_worker_to_sleep(struct timer_bed *b)
{
	unsigned before;

	pthread_mutex_lock(&sleep_lock);
	before = sleeps;
	pthread_mutex_unlock(&sleep_lock);
	assert_int_equal(tkw_timer_start(b->t), 0);
	pthread_mutex_lock(&sleep_lock);
	while (sleeps == before)
		pthread_cond_wait(&sleep_changed, &sleep_lock);
	pthread_mutex_unlock(&sleep_lock);
}

/* SPEC 3.8, 4.2: each is earlier than the one before it, and one call wakes the
 * worker for all. */
static void test_timer_batch_wakes_the_worker_once(void **state)
{
	struct tkw_batch_item items[1000];
	struct tkw_stats st;
	struct timer_bed b;
	unsigned before;
	size_t i;

	(void)state;
	bed_open(&b, TKW_DRIVE_THREAD, NULL);
	put_worker_to_sleep(&b);
	fill_plain(items, 1000, 0);
	for (i = 0; i < 1000; i++)
		items[i].when_ns = 2 * HOUR_NS - (int64_t)i * TKW_SEC;
	before = own_alarms;
	assert_int_equal(tkw_timer_schedule_batch(b.t, items, 1000, NULL), 0);
	assert_int_equal(own_alarms - before, 1);
	/* Later ones do not wake the worker, whether it sleeps again or not. */
	for (i = 0; i < 1000; i++)
		items[i].when_ns += HOUR_NS;
	before = own_alarms;
	assert_int_equal(tkw_timer_schedule_batch(b.t, items, 1000, NULL), 0);
	assert_int_equal(own_alarms - before, 0);
	assert_int_equal(tkw_timer_stop(b.t, NULL, NULL), 0);
	/* The stop is a wake-up, too. */
	assert_int_equal(tkw_timer_get_stats(b.t, &st), 0);
	assert_true(st.wake_ups <= 2);
	assert_int_equal(st.ledger.handed_over, 2000);
	bed_close(&b);
}

/* SPEC 3.8: a refused batch and an empty one do not wake the worker. */
static void test_timer_batch_that_takes_nothing_wakes_nobody(void **state)
{
	struct tkw_timer_config cfg = { .max_pending = 1 };
	struct tkw_batch_item items[2];
	struct timer_bed b;
	unsigned before;

	(void)state;
	bed_open(&b, TKW_DRIVE_THREAD, &cfg);
	put_worker_to_sleep(&b);
	before = own_alarms;
	fill_plain(items, 2, 0);
	assert_int_equal(tkw_timer_schedule_batch(b.t, items, 2, NULL),
			 -EAGAIN);
	assert_int_equal(tkw_timer_schedule_batch(b.t, items, 0, NULL), 0);
	items[1].task.fn = NULL;
	assert_int_equal(tkw_timer_schedule_batch(b.t, items, 2, NULL),
			 -EINVAL);
	assert_int_equal(own_alarms - before, 0);
	bed_close(&b);
}

/* --- how many ------------------------------------------------------------ */

static atomic_uint threads_made;

static int count_thread(void *(*run)(void *arg), void *arg, void **handle,
			void *ctx)
{
	pthread_t *thread = malloc(sizeof(*thread));

	(void)ctx;
	must(thread && pthread_create(thread, NULL, run, arg) == 0);
	atomic_fetch_add(&threads_made, 1);
	*handle = thread;
	return 0;
}

static void join_thread(void *handle, void *ctx)
{
	(void)ctx;
	must(pthread_join(*(pthread_t *)handle, NULL) == 0);
	free(handle);
}

static const struct tkw_timer_hooks counting = {
	.thread_create = count_thread,
	.thread_join = join_thread,
};

/* SPEC 3.8: it does not even start a worker. */
static void test_timer_batch_of_nothing_does_nothing(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .hooks = &counting };
	struct tkw_batch_item item;
	struct tkw_ledger before;
	struct tkw_ledger after;
	struct tkw_timeout_id id = { UNTOUCHED };
	int result = 77;

	bed_reopen(b, &cfg);
	atomic_store(&threads_made, 0);
	before = ledger_of(b);
	memset(&item, 0, sizeof(item));
	assert_int_equal(tkw_timer_schedule_batch(b->t, NULL, 0, NULL), 0);
	assert_int_equal(tkw_timer_schedule_batch(b->t, &item, 0, &id), 0);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, NULL, 0, NULL), 0);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, &item, 0, &id), 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, NULL, 0, NULL), 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, &id, 0, &result), 0);
	assert_true(id.bits == UNTOUCHED && result == 77);
	assert_int_equal(threads_made, 0);
	after = ledger_of(b);
	assert_memory_equal(&before, &after, sizeof(before));
}
BED_TEST(test_timer_batch_of_nothing_does_nothing)

/* One more than the limit. */
static struct tkw_batch_item many_items[TKW_MAX_BATCH + 1];
static struct tkw_timeout_id many_ids[TKW_MAX_BATCH + 1];
static int many_results[TKW_MAX_BATCH + 1];

/* SPEC 3.8 */
static void test_timer_batch_of_the_most_is_taken(struct timer_bed *b)
{
	size_t i;

	fill(b, many_items, TKW_MAX_BATCH, 0, TKW_MSEC);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items,
						  TKW_MAX_BATCH, many_ids),
			 0);
	assert_good_ids(b, many_ids, TKW_MAX_BATCH);
	bed_assert_ledger(b, TKW_MAX_BATCH);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(b->fired_count, TKW_MAX_BATCH);
	for (i = 0; i < TKW_MAX_BATCH; i++) {
		assert_true(b->fired[i].tag == i);
		assert_true(b->fired[i].id.bits == many_ids[i].bits);
	}
	for (i = 0; i < TKW_MAX_BATCH; i++)
		many_items[i].when_ns = HOUR_NS * 1000;
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, many_items,
						     TKW_MAX_BATCH, many_ids),
			 0);
	memset(many_results, 0xff, sizeof(many_results));
	assert_int_equal(tkw_timer_cancel_batch(b->t, many_ids, TKW_MAX_BATCH,
						many_results),
			 TKW_MAX_BATCH);
	for (i = 0; i < TKW_MAX_BATCH; i++) {
		assert_int_equal(many_results[i], 0);
		assert_true(b->cancelled[i] == i);
	}
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_of_the_most_is_taken)

/* --- what is refused ----------------------------------------------------- */

static void assert_refused(struct timer_bed *b,
			   const struct tkw_batch_item *items, size_t n,
			   int err)
{
	struct tkw_ledger before = ledger_of(b);
	struct tkw_ledger after;
	size_t i;

	for (i = 0; i <= TKW_MAX_BATCH; i++)
		many_ids[i].bits = UNTOUCHED;
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, n, many_ids),
			 err);
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, n, NULL), err);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, items, n, many_ids),
			 err);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, items, n, NULL),
			 err);
	for (i = 0; i <= TKW_MAX_BATCH; i++)
		assert_true(many_ids[i].bits == UNTOUCHED);
	after = ledger_of(b);
	assert_memory_equal(&before, &after, sizeof(before));
	bed_assert_ledger(b, before.pending);
}

/* SPEC 3.8, 3.7 */
static void test_timer_batch_with_a_bad_argument_is_refused(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .hooks = &counting };
	struct tkw_batch_item item = { { .fn = nothing }, 0 };

	bed_reopen(b, &cfg);
	atomic_store(&threads_made, 0);
	assert_int_equal(tkw_timer_schedule_batch(NULL, &item, 1, NULL),
			 -EINVAL);
	assert_int_equal(tkw_timer_schedule_batch_at(NULL, &item, 1, NULL),
			 -EINVAL);
	assert_int_equal(tkw_timer_schedule_batch(NULL, NULL, 0, NULL),
			 -EINVAL);
	assert_int_equal(tkw_timer_schedule_batch_at(NULL, NULL, 0, NULL),
			 -EINVAL);
	assert_refused(b, NULL, 1, -EINVAL);
	fill_plain(many_items, TKW_MAX_BATCH + 1, 0);
	assert_refused(b, many_items, TKW_MAX_BATCH + 1, -EINVAL);
	assert_refused(b, many_items, SIZE_MAX, -EINVAL);
	/* Nothing was started for them. */
	assert_int_equal(threads_made, 0);
}
BED_TEST(test_timer_batch_with_a_bad_argument_is_refused)

/* SPEC 3.8, 3.7: at whichever index the item without a function is. */
static void test_timer_batch_with_one_bad_item_is_refused(struct timer_bed *b)
{
	size_t i;

	bed_schedule(b, 1, HOUR_NS);
	fill_plain(many_items, 100, 0);
	for (i = 0; i < 100; i++) {
		many_items[i].task.fn = NULL;
		assert_refused(b, many_items, 100, -EINVAL);
		many_items[i].task.fn = nothing;
	}
	bed_pass(b, TKW_SEC);
	bed_assert_nothing_fired(b);
	assert_int_equal(ledger_of(b).accepted, 1 + b->markers);
}
BED_TEST(test_timer_batch_with_one_bad_item_is_refused)

/* SPEC 3.8, 3.6 */
static void test_timer_batch_fits_the_limit_or_is_refused(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 10 };
	struct tkw_timeout_id ids[10];

	bed_reopen(b, &cfg);
	fill_plain(many_items, 11, HOUR_NS * 1000);
	assert_refused(b, many_items, 11, -EAGAIN);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 4, ids), 0);
	assert_refused(b, many_items, 7, -EAGAIN);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 6, ids + 4),
			 0);
	bed_assert_ledger(b, 10);
	assert_refused(b, many_items, 1, -EAGAIN);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 0, NULL),
			 0);
	/* Only the places of the cancelled ones are free. */
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 3, NULL), 3);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 3, NULL), 0);
	assert_refused(b, many_items, 4, -EAGAIN);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, many_items, 3, ids),
			 0);
	assert_refused(b, many_items, 1, -EAGAIN);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 10, NULL), 10);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 10, NULL),
			 0);
	bed_assert_ledger(b, 10);
}
BED_TEST(test_timer_batch_fits_the_limit_or_is_refused)

/* SPEC 3.8, 6.4 */
static void test_timer_batch_after_stop_is_refused(struct timer_bed *b)
{
	struct tkw_timeout_id ids[2];
	int results[2];

	fill_plain(many_items, 100, 0);
	ids[0] = bed_schedule(b, 1, HOUR_NS);
	ids[1] = bed_schedule(b, 2, HOUR_NS);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_refused(b, many_items, 100, -ESHUTDOWN);
	assert_refused(b, many_items, 1, -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule_batch(b->t, NULL, 0, NULL), 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 2, results), 0);
	assert_int_equal(results[0], -ENOENT);
	assert_int_equal(results[1], -ENOENT);
}
BED_TEST(test_timer_batch_after_stop_is_refused)

static int calls_in_a_child(struct timer_bed *b,
			    const struct tkw_timeout_id *id)
{
	struct tkw_timeout_id ids[3] = { { UNTOUCHED },
					 { UNTOUCHED },
					 { UNTOUCHED } };
	int result = 77;

	if (tkw_timer_schedule_batch(b->t, many_items, 3, ids) != -EPERM ||
	    tkw_timer_schedule_batch_at(b->t, many_items, 3, ids) != -EPERM ||
	    tkw_timer_cancel_batch(b->t, id, 1, &result) != -EPERM)
		return 1;
	return ids[0].bits != UNTOUCHED || ids[2].bits != UNTOUCHED ||
	       result != 77;
}

/* SPEC 3.8, 6.7 */
static void test_timer_batch_in_a_child_is_refused(struct timer_bed *b)
{
	struct tkw_ledger before;
	struct tkw_ledger after;
	int status = -1;
	struct tkw_timeout_id id;
	pid_t pid;

	fill_plain(many_items, 3, 0);
	id = bed_schedule(b, 1, HOUR_NS);
	before = ledger_of(b);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(calls_in_a_child(b, &id));
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
	after = ledger_of(b);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(tkw_timer_cancel_batch(b->t, &id, 1, NULL), 1);
}
BED_TEST(test_timer_batch_in_a_child_is_refused)

/* --- memory -------------------------------------------------------------- */

enum {
	HUNGRY = 1000 /* about twenty allocations in the narrow build */
};

static size_t live_of(struct bed_memory *m)
{
	size_t live;

	pthread_mutex_lock(&m->lock);
	live = m->live;
	pthread_mutex_unlock(&m->lock);
	return live;
}

/* Refuses the n-th allocation of a batch, twice, and then lets it succeed.
 * Returns false if it needs fewer than n. */
static bool refuse_nth(struct timer_bed *b, struct bed_memory *m, size_t n)
{
	const size_t at_first = live_of(m);
	struct tkw_stats st;
	struct tkw_ledger before;
	struct tkw_ledger after;
	size_t twice;
	int ret;

	fill_plain(many_items, HUNGRY, TKW_MSEC);
	for (twice = 0; twice < 2; twice++) {
		before = ledger_of(b);
		many_ids[0] = many_ids[HUNGRY - 1] = BED_ID(UNTOUCHED);
		bed_memory_refuse_at(m, n);
		ret = tkw_timer_schedule_batch(b->t, many_items, HUNGRY,
					       many_ids);
		bed_memory_refuse_at(m, 0);
		if (ret == 0)
			return twice > 0;
		assert_int_equal(ret, -ENOMEM);
		assert_true(many_ids[0].bits == UNTOUCHED);
		assert_true(many_ids[HUNGRY - 1].bits == UNTOUCHED);
		after = ledger_of(b);
		assert_memory_equal(&before, &after, sizeof(before));
		bed_assert_ledger(b, before.pending);
		/* It may keep the wheel with its histogram, the directory, and
		 * one block. */
		assert_true(live_of(m) <= at_first + 4);
	}
	assert_int_equal(tkw_timer_get_stats(b->t, &st), 0);
	assert_int_equal(st.refused_memory, 2);
	return true;
}

static void refuse_each(struct timer_bed *b, unsigned pending)
{
	static struct bed_memory m;
	struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	uint64_t fired;
	size_t n = 0;
	bool more;

	do {
		bed_reopen(b, &cfg);
		assert_int_equal(tkw_timer_start(b->t), 0);
		fill_plain(many_items, pending, HOUR_NS * 1000);
		assert_int_equal(tkw_timer_schedule_batch(b->t, many_items,
							  pending, NULL),
				 0);
		more = refuse_nth(b, &m, ++n);
		/* A later batch works. */
		fill(b, many_items, 10, 0, TKW_MSEC);
		assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 10,
							  many_ids),
				 0);
		assert_good_ids(b, many_ids, 10);
		fired = b->fired_count;
		bed_pass(b, 2 * TKW_MSEC);
		assert_int_equal(b->fired_count - fired, 10);
		bed_assert_ledger(b, pending);
	} while (more);
	print_message("%zu allocations refused\n", n - 1);
	bed_reopen(b, NULL);
	assert_int_equal(live_of(&m), 0);
}

/* SPEC 3.8, 3.7, fault 1: refuses each allocation that a batch makes. */
static void test_timer_batch_without_memory_takes_nothing(struct timer_bed *b)
{
	refuse_each(b, 0);
}
BED_TEST(test_timer_batch_without_memory_takes_nothing)

/* The same with other timeouts, in a block that is not full. */
static void test_timer_batch_without_memory_leaves_others(struct timer_bed *b)
{
	refuse_each(b, 5);
}
BED_TEST(test_timer_batch_without_memory_leaves_others)

/* SPEC 5.4: the memory of a cancelled batch is free at once. */
static void test_timer_batch_cancel_gives_memory_back(struct timer_bed *b)
{
	enum {
		ROUNDS = 10
	};
	static struct tkw_timeout_id ids[ROUNDS][TKW_MAX_BATCH];
	static struct bed_memory m;
	struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	size_t before;
	size_t i;

	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_cancel(b->t, bed_schedule(b, 1, HOUR_NS)),
			 0);
	before = live_of(&m);
	fill_plain(many_items, TKW_MAX_BATCH, HOUR_NS);
	for (i = 0; i < ROUNDS; i++)
		assert_int_equal(tkw_timer_schedule_batch(b->t, many_items,
							  TKW_MAX_BATCH,
							  ids[i]),
				 0);
	assert_true(live_of(&m) > before);
	for (i = 0; i < ROUNDS; i++)
		assert_int_equal(tkw_timer_cancel_batch(b->t, ids[i],
							TKW_MAX_BATCH, NULL),
				 TKW_MAX_BATCH);
	assert_true(live_of(&m) <= before);
	bed_assert_ledger(b, 0);
	bed_reopen(b, NULL);
	assert_int_equal(live_of(&m), 0);
}
BED_TEST(test_timer_batch_cancel_gives_memory_back)

/* --- from tasks ---------------------------------------------------------- */

enum {
	FROM_TASK = 20
};

struct from_task {
	struct tkw_batch_item items[FROM_TASK];
	struct tkw_timeout_id ids[FROM_TASK + 1];
	int scheduled;
	int cancelled;
	int results[FROM_TASK + 1];
};

/* Schedules a batch for now, and cancels half of it, and itself. */
static void schedule_and_cancel(const struct tkw_firing *firing, void *ctx)
{
	struct from_task *f = ctx;

	f->scheduled = tkw_timer_schedule_batch(firing->timer, f->items,
						FROM_TASK, f->ids);
	f->ids[FROM_TASK / 2] = firing->id;
	f->cancelled = tkw_timer_cancel_batch(firing->timer, f->ids,
					      FROM_TASK / 2 + 1, f->results);
}

/* SPEC 3.8, 3.1, 4.6 */
static void test_timer_batch_from_a_task(struct timer_bed *b)
{
	struct from_task f = { .scheduled = 77 };
	const struct tkw_task task = { .fn = schedule_and_cancel, .ctx = &f };
	uint64_t i;

	fill(b, f.items, FROM_TASK, 0, 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	if (bed_by_hand(b)) /* not in the same turn */
		assert_int_equal(bed_turn(b, NULL), 1);
	bed_pass(b, 0);
	assert_int_equal(f.scheduled, 0);
	assert_int_equal(f.cancelled, FROM_TASK / 2);
	assert_int_equal(f.results[FROM_TASK / 2], -EBUSY);
	for (i = 0; i < FROM_TASK; i++) {
		assert_int_equal(bed_cancelled_times(b, i), i < FROM_TASK / 2);
		assert_int_equal(bed_fired_times(b, i), i >= FROM_TASK / 2);
	}
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_from_a_task)

/* --- cancel -------------------------------------------------------------- */

/* A task waits here until it may go on. */
static void pass_gate(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	gate_pass(ctx);
}

static void *turn_once(void *arg)
{
	struct timer_bed *b = arg;

	must(bed_turn(b, NULL) == 1);
	return NULL;
}

/* One id of each kind, and the expected results. */
enum {
	KINDS = 12
};
static const int said[KINDS] = { 0,       -EBUSY,  -ENOENT, 0,
				 -ENOENT, -ENOENT, -ENOENT, -ENOENT,
				 0,       -ENOENT, -EBUSY,  -ENOENT };

static void one_of_each(struct timer_bed *b, struct tkw_timeout_id running,
			struct tkw_timeout_id ids[KINDS])
{
	ids[0] = bed_schedule(b, 10, HOUR_NS);
	ids[1] = running;
	ids[2] = bed_schedule(b, 12, HOUR_NS); /* cancelled before */
	assert_int_equal(tkw_timer_cancel(b->t, ids[2]), 0);
	ids[3] = bed_schedule(b, 13, INT64_MAX);
	ids[4] = ids[0];                      /* again */
	ids[5] = BED_NO_ID;                   /* made up, as are */
	ids[6] = BED_ID(UINT64_MAX);          /* a shard that is not there, */
	ids[7].bits = ids[0].bits ^ 0x800000; /* a generation, */
	ids[8] = bed_schedule(b, 18, 0);      /* due, but the worker is busy */
	ids[9].bits = ids[3].bits ^ (UINT64_C(1) << 54); /* a place */
	ids[10] = running;                               /* again */
	ids[11] = ids[8];                                /* again */
}

/* SPEC 3.8, 5.2 */
static void test_timer_batch_cancel_says_of_each_what_it_is(struct timer_bed *b)
{
	const bool by_hand = bed_by_hand(b);
	struct gate g = GATE_INIT;
	const struct tkw_task task = { .fn = pass_gate, .ctx = &g };
	struct tkw_timeout_id ids[KINDS];
	int results[KINDS];
	pthread_t turner;
	struct tkw_timeout_id running;
	int cancelled;

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &running), 0);
	if (by_hand)
		assert_int_equal(pthread_create(&turner, NULL, turn_once, b),
				 0);
	gate_await(&g, 1);
	one_of_each(b, running, ids);
	cancelled = tkw_timer_cancel_batch(b->t, ids, KINDS, results);
	gate_open(&g);
	if (by_hand)
		assert_int_equal(pthread_join(turner, NULL), 0);
	assert_int_equal(cancelled, 3);
	assert_memory_equal(results, said, sizeof(said));
	bed_pass(b, 2 * HOUR_NS);
	bed_assert_nothing_fired(b);
	assert_int_equal(b->cancelled_count, 4);
	bed_assert_ledger(b, 0);
	/* By now all of them have ended. */
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, KINDS, results), 0);
	for (size_t i = 0; i < KINDS; i++)
		assert_int_equal(results[i], -ENOENT);
}
BED_TEST(test_timer_batch_cancel_says_of_each_what_it_is)

/* SPEC 3.8: a stale id is not valid, even if its place is used again. */
static void test_timer_batch_cancel_of_stale_ids(struct timer_bed *b)
{
	struct tkw_timeout_id ids[100];
	int results[100];
	size_t i;

	fill(b, many_items, 100, 0, TKW_MSEC);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 100, ids),
			 0);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(b->fired_count, 100);
	fill(b, many_items, 100, 100, HOUR_NS);
	assert_int_equal(
		tkw_timer_schedule_batch(b->t, many_items, 100, many_ids), 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 100, results), 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(results[i], -ENOENT);
	bed_assert_ledger(b, 100);
	assert_good_ids(b, many_ids, 100);
}
BED_TEST(test_timer_batch_cancel_of_stale_ids)

/* SPEC 3.8 */
static void test_timer_batch_cancel_refuses_bad_arguments(struct timer_bed *b)
{
	struct tkw_timeout_id id = bed_schedule(b, 1, HOUR_NS);
	size_t i;

	for (i = 0; i <= TKW_MAX_BATCH; i++) {
		many_ids[i] = id;
		many_results[i] = 77;
	}
	assert_int_equal(tkw_timer_cancel_batch(NULL, many_ids, 1, NULL),
			 -EINVAL);
	assert_int_equal(tkw_timer_cancel_batch(NULL, NULL, 0, NULL), -EINVAL);
	assert_int_equal(tkw_timer_cancel_batch(b->t, NULL, 1, many_results),
			 -EINVAL);
	assert_int_equal(tkw_timer_cancel_batch(b->t, many_ids,
						TKW_MAX_BATCH + 1,
						many_results),
			 -EINVAL);
	for (i = 0; i <= TKW_MAX_BATCH; i++)
		assert_int_equal(many_results[i], 77);
	bed_assert_ledger(b, 1);
	/* The largest batch, with the same id everywhere. */
	assert_int_equal(tkw_timer_cancel_batch(b->t, many_ids, TKW_MAX_BATCH,
						many_results),
			 1);
	assert_int_equal(many_results[0], 0);
	for (i = 1; i < TKW_MAX_BATCH; i++)
		assert_int_equal(many_results[i], -ENOENT);
	assert_int_equal(b->cancelled_count, 1);
}
BED_TEST(test_timer_batch_cancel_refuses_bad_arguments)

/* SPEC 3.8: results may be NULL. */
static void test_timer_batch_cancel_without_results(struct timer_bed *b)
{
	struct tkw_timeout_id ids[5];

	fill(b, many_items, 3, 0, HOUR_NS);
	assert_int_equal(tkw_timer_schedule_batch(b->t, many_items, 3, ids), 0);
	ids[3] = BED_ID(UINT64_MAX);
	ids[4] = ids[0];
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 5, NULL), 3);
	assert_int_equal(b->cancelled_count, 3);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 5, NULL), 0);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_cancel_without_results)

enum {
	CREW = 4,
	EACH = 100
};

struct crew {
	struct timer_bed *b;
	pthread_barrier_t *together;
	unsigned number;
	struct tkw_batch_item items[EACH];
	struct tkw_timeout_id ids[EACH];
};

static void *schedule_a_batch(void *arg)
{
	struct crew *c = arg;

	/* While all threads exist, each has a different number. */
	pthread_barrier_wait(c->together);
	must(tkw_timer_schedule_batch(c->b->t, c->items, EACH, c->ids) == 0);
	pthread_barrier_wait(c->together);
	return NULL;
}

static void run_crew(struct timer_bed *b, struct crew crew[CREW],
		     void *(*run)(void *arg))
{
	pthread_t threads[CREW];
	pthread_barrier_t together;
	unsigned i;

	assert_int_equal(pthread_barrier_init(&together, NULL, CREW), 0);
	for (i = 0; i < CREW; i++) {
		crew[i].b = b;
		crew[i].together = &together;
		crew[i].number = i;
		assert_int_equal(
			pthread_create(&threads[i], NULL, run, &crew[i]), 0);
	}
	for (i = 0; i < CREW; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&together);
}

/* SPEC 3.8: ids of all shards, in any order. */
static void test_timer_batch_cancel_over_all_shards(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = CREW };
	const size_t all = (size_t)CREW * EACH;
	static struct crew crew[CREW];
	uint64_t shards = 0;
	size_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < CREW; i++)
		fill(b, crew[i].items, EACH, i * EACH, HOUR_NS);
	run_crew(b, crew, schedule_a_batch);
	for (i = 0; i < all; i++) {
		many_ids[i] = crew[i % CREW].ids[i / CREW];
		shards |= UINT64_C(1) << (many_ids[i].bits >> 56);
		many_results[i] = 77;
	}
	/* The threads had different numbers. */
	assert_int_equal((shards & (shards - 1)) != 0,
			 b->drive != TKW_DRIVE_MANUAL);
	bed_assert_ledger(b, all);
	many_ids[all].bits = UINT64_C(63) << 56 | (many_ids[0].bits & 0xffffff);
	assert_int_equal(
		tkw_timer_cancel_batch(b->t, many_ids, all + 1, many_results),
		all);
	for (i = 0; i < all; i++) {
		assert_int_equal(many_results[i], 0);
		assert_int_equal(bed_cancelled_times(b, i), 1);
	}
	assert_int_equal(many_results[all], -ENOENT);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_cancel_over_all_shards)

/* --- on-cancel ----------------------------------------------------------- */

enum {
	FREE_HANDED = 50
};

/* What an on-cancel does. It would hang if a lock were held. */
struct free_hand {
	struct timer_bed *b;
	struct tkw_timeout_id ids[FREE_HANDED];
	struct tkw_timeout_id
		others[FREE_HANDED]; /* one for each, to be cancelled */
	unsigned calls;
	unsigned wrong;
};

static void use_the_timer(void *ctx)
{
	const struct tkw_batch_item items[2] = {
		{ { .fn = nothing }, HOUR_NS }, { { .fn = nothing }, HOUR_NS }
	};
	struct free_hand *f = ctx;
	struct tkw_timer *t = f->b->t;
	struct tkw_timeout_info info;
	struct tkw_timeout_id ids[FREE_HANDED];
	size_t i;

	/* By now all ids of the batch are stale, whichever on-cancel this
	 * is. */
	for (i = 0; i < FREE_HANDED; i++) {
		f->wrong += tkw_timer_cancel(t, f->ids[i]) != -ENOENT;
		f->wrong += tkw_timer_get(t, f->ids[i], &info) != -ENOENT;
	}
	f->wrong += tkw_timer_cancel_batch(t, f->ids, FREE_HANDED, NULL) != 0;
	f->wrong += tkw_timer_schedule_batch(t, items, 2, ids) != 0;
	ids[1] = f->others[f->calls];
	f->wrong += tkw_timer_cancel_batch(t, ids, 2, NULL) != 2;
	f->wrong += tkw_timer_check(t) != NULL;
	f->calls++;
}

/* SPEC 3.8, 5.6: once for each, and no lock is held. */
static void test_timer_batch_cancel_calls_on_cancel_freely(struct timer_bed *b)
{
	struct free_hand f = { .b = b };
	struct tkw_batch_item items[FREE_HANDED];
	size_t i;

	fill(b, items, FREE_HANDED, 0, HOUR_NS);
	assert_int_equal(
		tkw_timer_schedule_batch(b->t, items, FREE_HANDED, f.others),
		0);
	for (i = 0; i < FREE_HANDED; i++)
		items[i].task = (struct tkw_task){ .fn = nothing,
						   .ctx = &f,
						   .on_cancel = use_the_timer };
	assert_int_equal(
		tkw_timer_schedule_batch(b->t, items, FREE_HANDED, f.ids), 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, f.ids, FREE_HANDED, NULL),
			 FREE_HANDED);
	assert_int_equal(f.calls, FREE_HANDED);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(b->cancelled_count, FREE_HANDED);
	/* The second one of each pair is still pending. */
	bed_assert_ledger(b, FREE_HANDED);
}
BED_TEST(test_timer_batch_cancel_calls_on_cancel_freely)

/* Frees its memory, as an on-cancel usually does. */
static void free_it(void *ctx)
{
	free(ctx);
}

/* SPEC 5.6: with and without an on-cancel in one batch. */
static void test_timer_batch_cancel_frees_the_arguments(struct timer_bed *b)
{
	size_t i;

	fill_plain(many_items, 300, HOUR_NS);
	for (i = 0; i < 300; i += 2) {
		many_items[i].task.ctx = malloc(16);
		many_items[i].task.on_cancel = free_it;
		assert_non_null(many_items[i].task.ctx);
	}
	assert_int_equal(
		tkw_timer_schedule_batch(b->t, many_items, 300, many_ids), 0);
	assert_int_equal(tkw_timer_cancel_batch(b->t, many_ids, 300, NULL),
			 300);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_batch_cancel_frees_the_arguments)

/* --- races --------------------------------------------------------------- */

enum {
	RACE = 1000,
	RACE_ROUNDS = 20
};

/* What happened to one timeout. */
struct raced {
	atomic_uint won;    /* cancels that returned 0 */
	atomic_uint fired;  /* runs of the task */
	atomic_uint called; /* calls of on-cancel */
};

struct race {
	struct timer_bed *b;
	pthread_barrier_t begin;
	struct tkw_timeout_id ids[RACE];
	struct raced of[RACE];
	atomic_uint wrong;
};

static void count_run(const struct tkw_firing *firing, void *ctx)
{
	struct raced *one = ctx;

	(void)firing;
	atomic_fetch_add(&one->fired, 1);
}

static void count_call(void *ctx)
{
	struct raced *one = ctx;

	atomic_fetch_add(&one->called, 1);
}

/* Cancels all in parts. The parts of two threads overlap. */
static void *cancel_parts(void *arg)
{
	static atomic_uint number;
	const unsigned me = atomic_fetch_add(&number, 1);
	const size_t part = 30 + me % 3 * 17;
	struct race *r = arg;
	int results[RACE];
	size_t from;
	size_t n;
	int won;

	pthread_barrier_wait(&r->begin);
	for (from = 0; from < RACE; from += part) {
		n = RACE - from < part ? RACE - from : part;
		won = tkw_timer_cancel_batch(r->b->t, r->ids + from, n,
					     results);
		for (size_t i = 0; i < n; i++) {
			if (results[i] == 0) {
				atomic_fetch_add(&r->of[from + i].won, 1);
				won--;
			} else if (results[i] != -EBUSY &&
				   results[i] != -ENOENT) {
				atomic_fetch_add(&r->wrong, 1);
			}
		}
		if (won != 0)
			atomic_fetch_add(&r->wrong, 1);
	}
	return NULL;
}

static void race_once(struct race *r)
{
	struct tkw_batch_item items[RACE];
	pthread_t cancellers[CREW];
	size_t i;

	memset(r->of, 0, sizeof(r->of));
	for (i = 0; i < RACE; i++)
		items[i] = (struct tkw_batch_item){
			{ .fn = count_run,
			  .ctx = &r->of[i],
			  .on_cancel = i % 2 ? count_call : NULL },
			(int64_t)(i % 4) * TKW_MSEC
		};
	for (i = 0; i < CREW; i++)
		assert_int_equal(
			pthread_create(&cancellers[i], NULL, cancel_parts, r),
			0);
	assert_int_equal(tkw_timer_schedule_batch(r->b->t, items, RACE, r->ids),
			 0);
	pthread_barrier_wait(&r->begin);
	for (i = 0; i < 5; i++)
		bed_pass(r->b, TKW_MSEC);
	for (i = 0; i < CREW; i++)
		assert_int_equal(pthread_join(cancellers[i], NULL), 0);
	for (i = 0; i < RACE; i++) {
		assert_int_equal(r->of[i].won + r->of[i].fired, 1);
		assert_int_equal(r->of[i].called, i % 2 ? r->of[i].won : 0);
	}
	assert_int_equal(r->wrong, 0);
}

/* SPEC 3.8, 5.1: exactly one of them wins, and the law holds. */
static void
test_timer_batch_cancels_race_fires_and_each_other(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 2 };
	static struct race r;
	unsigned i;

	bed_reopen(b, &cfg);
	memset(&r, 0, sizeof(r));
	r.b = b;
	assert_int_equal(pthread_barrier_init(&r.begin, NULL, CREW + 1), 0);
	for (i = 0; i < RACE_ROUNDS; i++) {
		race_once(&r);
		bed_assert_ledger(b, 0);
	}
	assert_int_equal(ledger_of(b).accepted,
			 (size_t)RACE * RACE_ROUNDS + b->markers);
	pthread_barrier_destroy(&r.begin);
}
BED_TEST(test_timer_batch_cancels_race_fires_and_each_other)

enum {
	SEVEN = 7
};

static pthread_mutex_t taken_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t taken_changed = PTHREAD_COND_INITIALIZER;
static unsigned batches_taken;

static void *schedule_sevens(void *arg)
{
	struct crew *c = arg;
	int ret;

	pthread_barrier_wait(c->together);
	while ((ret = tkw_timer_schedule_batch(c->b->t, c->items, SEVEN,
					       c->ids)) == 0) {
		pthread_mutex_lock(&taken_lock);
		batches_taken++;
		pthread_cond_signal(&taken_changed);
		pthread_mutex_unlock(&taken_lock);
	}
	must(ret == -EAGAIN || ret == -ESHUTDOWN);
	return NULL;
}

/* SPEC 3.8, 3.6: as many batches are accepted as there is room for, and none in
 * part. */
static void
test_timer_batches_of_many_threads_fill_the_limit(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = CREW,
					      .max_pending = 1000 };
	static struct crew crew[CREW];
	unsigned round;
	size_t i;

	for (round = 0; round < 10; round++) {
		bed_reopen(b, &cfg);
		batches_taken = 0;
		for (i = 0; i < CREW; i++)
			fill_plain(crew[i].items, SEVEN, HOUR_NS);
		run_crew(b, crew, schedule_sevens);
		assert_int_equal(batches_taken, 1000 / SEVEN);
		bed_assert_ledger(b, UINT64_C(1000) / SEVEN * SEVEN);
	}
}
BED_TEST(test_timer_batches_of_many_threads_fill_the_limit)

struct stopper {
	struct timer_bed *b;
	uint64_t visited;
};

static void count_visit(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	((struct stopper *)ctx)->visited++;
}

/* Stops when some batches were accepted. */
static void *stop_soon(void *arg)
{
	struct stopper *s = arg;

	pthread_mutex_lock(&taken_lock);
	while (batches_taken < 50)
		pthread_cond_wait(&taken_changed, &taken_lock);
	pthread_mutex_unlock(&taken_lock);
	must(tkw_timer_stop(s->b->t, count_visit, s) == 0);
	return NULL;
}

/* SPEC 3.8, 6.4: a batch that races a stop is refused, or handed over whole. */
static void test_timer_batches_race_stop(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = CREW };
	static struct crew crew[CREW];
	struct stopper s = { .b = b };
	pthread_t stopper;
	unsigned round;
	size_t i;

	for (round = 0; round < 10; round++) {
		bed_reopen(b, &cfg);
		s.visited = 0;
		batches_taken = 0;
		for (i = 0; i < CREW; i++)
			fill_plain(crew[i].items, SEVEN, HOUR_NS);
		assert_int_equal(pthread_create(&stopper, NULL, stop_soon, &s),
				 0);
		run_crew(b, crew, schedule_sevens);
		assert_int_equal(pthread_join(stopper, NULL), 0);
		assert_int_equal(s.visited, batches_taken * SEVEN);
		assert_int_equal(ledger_of(b).accepted, s.visited);
		assert_int_equal(ledger_of(b).handed_over, s.visited);
		bed_assert_ledger(b, 0);
	}
}
BED_TEST(test_timer_batches_race_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_batch_of_delays_is_as_one_by_one),
		BED_TESTS(test_timer_batch_of_deadlines_is_as_one_by_one),
		BED_TESTS(test_timer_batch_has_slack_as_one_by_one),
		BED_TESTS(test_timer_batch_fires_each_at_its_time),
		BED_TESTS(test_timer_batch_keeps_the_order_in_a_tick),
		BED_TESTS(test_timer_batch_that_is_overdue_keeps_its_order),
		BED_TESTS(test_timer_batch_reads_the_clock_once),
		BED_TESTS(test_timer_batch_of_nothing_reads_no_clock),
		cmocka_unit_test(test_timer_batch_wakes_the_worker_once),
		cmocka_unit_test(
			test_timer_batch_that_takes_nothing_wakes_nobody),
		BED_TESTS(test_timer_batch_of_nothing_does_nothing),
		BED_TESTS(test_timer_batch_of_the_most_is_taken),
		BED_TESTS(test_timer_batch_with_a_bad_argument_is_refused),
		BED_TESTS(test_timer_batch_with_one_bad_item_is_refused),
		BED_TESTS(test_timer_batch_fits_the_limit_or_is_refused),
		BED_TESTS(test_timer_batch_after_stop_is_refused),
		BED_TESTS(test_timer_batch_in_a_child_is_refused),
		BED_TESTS(test_timer_batch_without_memory_takes_nothing),
		BED_TESTS(test_timer_batch_without_memory_leaves_others),
		BED_TESTS(test_timer_batch_cancel_gives_memory_back),
		BED_TESTS(test_timer_batch_from_a_task),
		BED_TESTS(test_timer_batch_cancel_says_of_each_what_it_is),
		BED_TESTS(test_timer_batch_cancel_of_stale_ids),
		BED_TESTS(test_timer_batch_cancel_refuses_bad_arguments),
		BED_TESTS(test_timer_batch_cancel_without_results),
		BED_TESTS(test_timer_batch_cancel_over_all_shards),
		BED_TESTS(test_timer_batch_cancel_calls_on_cancel_freely),
		BED_TESTS(test_timer_batch_cancel_frees_the_arguments),
		BED_TESTS(test_timer_batch_cancels_race_fires_and_each_other),
		BED_TESTS(test_timer_batches_of_many_threads_fill_the_limit),
		BED_TESTS(test_timer_batches_race_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
