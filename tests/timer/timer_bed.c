/* SPDX-License-Identifier: MIT */
/*
 * timer_bed.c - the test bed of the timer's unit tests.
 *
 * Locks: b->lock is the innermost. The timer calls the clock while it holds a
 * lock of its own, so nothing here calls the timer with b->lock held.
 */
#include "timer_bed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ROOM = 1 << 18, /* for firings, and for on-cancel calls */
	LOOP_TASKS = 3  /* bound of the first turn */
};

struct bed_arg {
	struct bed_arg *next;
	struct timer_bed *b;
	uint64_t tag;
};

/* A timeout of the bed itself. See bed_pass(). */
struct marker {
	struct timer_bed *b;
	bool fired;
	bool ended; /* it ended, but did not fire */
};

/* Per thread, because the worker may read its clock at any moment. */
static _Thread_local uint64_t now_calls;

/* --- the hooks ---------------------------------------------------------- */

static int64_t clock_now(void *ctx)
{
	struct timer_bed *b = ctx;
	int64_t now_ns;

	pthread_mutex_lock(&b->lock);
	now_ns = b->now_ns;
	pthread_mutex_unlock(&b->lock);
	now_calls++;
	return now_ns;
}

static void note_log(const char *line, void *ctx)
{
	struct timer_bed *b = ctx;

	pthread_mutex_lock(&b->lock);
	snprintf(b->log, sizeof(b->log), "%s", line);
	b->log_count++;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static void *their_alloc(size_t bytes, size_t align, void *ctx)
{
	struct timer_bed *b = ctx;

	return b->theirs.alloc(bytes, align, b->theirs.ctx);
}

static void their_free(void *mem, size_t bytes, void *ctx)
{
	struct timer_bed *b = ctx;

	b->theirs.free(mem, bytes, b->theirs.ctx);
}

static int their_thread_create(void *(*run)(void *arg), void *arg,
			       void **handle, void *ctx)
{
	struct timer_bed *b = ctx;

	return b->theirs.thread_create(run, arg, handle, b->theirs.ctx);
}

static void their_thread_join(void *handle, void *ctx)
{
	struct timer_bed *b = ctx;

	b->theirs.thread_join(handle, b->theirs.ctx);
}

/* A hook that cfg does not set stays that of the system. */
static void set_hooks(struct timer_bed *b, const struct tkw_timer_hooks *theirs)
{
	memset(&b->theirs, 0, sizeof(b->theirs));
	if (theirs)
		b->theirs = *theirs;
	memset(&b->hooks, 0, sizeof(b->hooks));
	b->hooks.ctx = b;
	b->hooks.now = clock_now;
	b->hooks.log = note_log;
	b->hooks.alloc = b->theirs.alloc ? their_alloc : NULL;
	b->hooks.free = b->theirs.free ? their_free : NULL;
	if (b->theirs.thread_create)
		b->hooks.thread_create = their_thread_create;
	if (b->theirs.thread_join)
		b->hooks.thread_join = their_thread_join;
}

/* --- life --------------------------------------------------------------- */

static void open_timer(struct timer_bed *b, const struct tkw_timer_config *cfg)
{
	struct tkw_timer_config c;

	memset(&c, 0, sizeof(c));
	if (cfg)
		c = *cfg;
	set_hooks(b, c.hooks);
	c.size = sizeof(c);
	c.drive = b->drive;
	c.hooks = &b->hooks;
	if (c.shards == 0)
		c.shards = 1;
	b->tick_ns = c.tick_ns ? c.tick_ns : TKW_MSEC;
	b->max_pending = c.max_pending;
	b->t = NULL;
	assert_int_equal(tkw_timer_create(&b->t, &c), 0);
	assert_non_null(b->t);
}

static void assert_sound(struct timer_bed *b, struct tkw_ledger *l)
{
	const char *broken = tkw_timer_check(b->t);

	if (broken)
		fail_msg("tkw_timer_check: %s", broken);
	memset(l, 0xff, sizeof(*l));
	assert_int_equal(tkw_timer_get_ledger(b->t, l), 0);
	assert_true(l->accepted == l->fired + l->cancelled + l->dropped +
					   l->handed_over + l->pending);
}

static void close_timer(struct timer_bed *b)
{
	struct tkw_timer *t = b->t;
	struct tkw_ledger l;

	if (!t)
		return;
	assert_sound(b, &l);
	b->t = NULL;
	assert_int_equal(tkw_timer_destroy(t), 0);
}

void bed_open(struct timer_bed *b, int drive,
	      const struct tkw_timer_config *cfg)
{
	memset(b, 0, sizeof(*b));
	b->drive = drive;
	b->now_ns = BED_START_NS;
	b->fired = calloc(ROOM, sizeof(*b->fired));
	b->cancelled = calloc(ROOM, sizeof(*b->cancelled));
	assert_true(b->fired && b->cancelled);
	assert_int_equal(pthread_mutex_init(&b->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&b->changed, NULL), 0);
	open_timer(b, cfg);
}

void bed_reopen(struct timer_bed *b, const struct tkw_timer_config *cfg)
{
	close_timer(b);
	open_timer(b, cfg);
}

void bed_close(struct timer_bed *b)
{
	struct bed_arg *a;

	close_timer(b);
	while (b->args) {
		a = b->args;
		b->args = a->next;
		free(a);
	}
	free(b->fired);
	free(b->cancelled);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
}

static int setup(void **state, int drive)
{
	struct timer_bed *b = malloc(sizeof(*b));

	assert_non_null(b);
	bed_open(b, drive, NULL);
	*state = b;
	return 0;
}

int bed_setup_manual(void **state)
{
	return setup(state, TKW_DRIVE_MANUAL);
}

int bed_setup_loop(void **state)
{
	return setup(state, TKW_DRIVE_LOOP);
}

int bed_setup_thread(void **state)
{
	return setup(state, TKW_DRIVE_THREAD);
}

int bed_teardown(void **state)
{
	bed_close(*state);
	free(*state);
	return 0;
}

/* --- time --------------------------------------------------------------- */

void bed_set_clock(struct timer_bed *b, int64_t now_ns)
{
	pthread_mutex_lock(&b->lock);
	b->now_ns = now_ns;
	pthread_mutex_unlock(&b->lock);
}

uint64_t bed_now_calls(void)
{
	return now_calls;
}

/* The last tick that has come, as a deadline. */
static int64_t last_tick_ns(struct timer_bed *b)
{
	int64_t now_ns;

	pthread_mutex_lock(&b->lock);
	now_ns = b->now_ns;
	pthread_mutex_unlock(&b->lock);
	return now_ns - now_ns % b->tick_ns;
}

static void marker_fired(const struct tkw_firing *firing, void *ctx)
{
	struct marker *m = ctx;
	struct timer_bed *b = m->b;

	(void)firing;
	pthread_mutex_lock(&b->lock);
	b->markers++;
	m->fired = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static void marker_ended(void *ctx)
{
	struct marker *m = ctx;
	struct timer_bed *b = m->b;

	pthread_mutex_lock(&b->lock);
	m->ended = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* Waits for a millisecond, or until something has fired. */
static void wait_a_moment(struct timer_bed *b)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&b->lock);
	pthread_cond_timedwait(&b->changed, &b->lock, &until);
	pthread_mutex_unlock(&b->lock);
}

/*
 * The marker has the earliest possible deadline, because a later one might not
 * wake the worker. Returns false if there is no room for the marker, and
 * nothing is due.
 */
static bool put_marker(struct timer_bed *b, struct marker *m,
		       struct tkw_timeout_id *id)
{
	const struct tkw_task task = { .fn = marker_fired,
				       .ctx = m,
				       .on_cancel = marker_ended };
	uint64_t pending;
	int64_t next_ns;
	int ret;

	for (;;) {
		ret = tkw_timer_schedule_at(b->t, &task, 0, id);
		if (ret == 0)
			return true;
		if (ret == -ESHUTDOWN)
			return false;
		assert_int_equal(ret, -EAGAIN);
		/* A timeout that is neither pending nor due has just begun to
		 * run. */
		pending = tkw_timer_count(b->t);
		assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
		if (pending == (uint64_t)b->max_pending &&
		    next_ns > last_tick_ns(b))
			return false;
		wait_a_moment(b);
	}
}

/* Lets one marker fire, or be dropped. Its place is free again afterwards.
 * Returns false if the timer does not go on. */
static bool marker_round(struct timer_bed *b)
{
	struct marker m = { .b = b };
	struct tkw_timeout_id id;
	int ret;

	if (!put_marker(b, &m, &id))
		return false;
	pthread_mutex_lock(&b->lock);
	while (!m.fired && !m.ended)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
	ret = tkw_timer_cancel_wait(b->t, id);
	assert_true(ret == 1 || ret == -ENOENT);
	return m.fired || !tkw_timer_is_stopped(b->t);
}

/* How many were fired or dropped. */
static uint64_t over_in_all(struct timer_bed *b)
{
	struct tkw_ledger l;

	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	return l.fired + l.dropped;
}

/*
 * When a marker is over, its turn may have begun before the clock was set, or
 * may have more to fire. What tasks have scheduled waits for the turn after it.
 * Each marker is over in a later turn than the last one, because that turn had
 * begun when the marker was scheduled. So nothing is left if, after the first,
 * only the marker was over, twice in a row.
 */
static void pass_by_thread(struct timer_bed *b)
{
	unsigned quiet = 0;
	uint64_t before;
	uint64_t after;

	if (!marker_round(b))
		return;
	before = over_in_all(b);
	while (quiet < 2) {
		if (!marker_round(b))
			return;
		after = over_in_all(b);
		quiet = after == before + 1 ? quiet + 1 : 0;
		before = after;
	}
}

bool bed_by_hand(const struct timer_bed *b)
{
	return b->drive != TKW_DRIVE_THREAD;
}

int bed_turn(struct timer_bed *b, int64_t *next_ns)
{
	return tkw_timer_turn(b->t, 0, next_ns);
}

/* With a loop, a turn fires only a few, so that each test has turns that are
 * cut short. */
static void pass_by_hand(struct timer_bed *b)
{
	int max_tasks = b->drive == TKW_DRIVE_LOOP ? LOOP_TASKS : 0;
	int64_t next_ns = 0;
	int ran;

	do {
		ran = tkw_timer_turn(b->t, max_tasks, &next_ns);
		/* Otherwise a hundred thousand would take too long. */
		if (max_tasks < ROOM)
			max_tasks *= 2;
	} while (ran >= 0 && next_ns <= b->now_ns && next_ns < TKW_NEVER_NS);
	assert_true(ran >= 0 || ran == -ESHUTDOWN);
}

void bed_pass(struct timer_bed *b, int64_t ns)
{
	pthread_mutex_lock(&b->lock);
	b->now_ns += ns;
	pthread_mutex_unlock(&b->lock);
	if (b->t && bed_by_hand(b))
		pass_by_hand(b);
	else if (b->t)
		pass_by_thread(b);
}

void bed_pass_to(struct timer_bed *b, int64_t at_ns)
{
	int64_t now_ns;

	while ((now_ns = tkw_timer_now_ns(b->t)) < at_ns) {
		int64_t next_ns = TKW_NEVER_NS;
		int64_t step_ns = TKW_MSEC;

		(void)tkw_timer_next_turn(b->t, &next_ns);
		if (next_ns > at_ns)
			next_ns = at_ns;
		/* In whole milliseconds, rounded up. */
		if (next_ns > now_ns + step_ns)
			step_ns = (next_ns - now_ns + TKW_MSEC - 1) / TKW_MSEC *
				  TKW_MSEC;
		bed_pass(b, step_ns);
	}
}

static void wake_fired(const struct tkw_firing *firing, void *ctx)
{
	struct timer_bed *b = ctx;

	(void)firing;
	pthread_mutex_lock(&b->lock);
	b->markers++;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

void bed_wake(struct timer_bed *b)
{
	const struct tkw_task task = { .fn = wake_fired, .ctx = b };

	if (b->drive == TKW_DRIVE_THREAD)
		assert_int_equal(
			tkw_timer_schedule_at(b->t, &task, 0, &b->wake), 0);
}

void bed_unwake(struct timer_bed *b)
{
	if (b->drive == TKW_DRIVE_THREAD)
		(void)tkw_timer_cancel(b->t, b->wake);
}

void bed_wait_fired(struct timer_bed *b, size_t count)
{
	pthread_mutex_lock(&b->lock);
	while (b->fired_count < count)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

/* --- tasks -------------------------------------------------------------- */

/* The index for the next one. It does not assert, because it runs on the
 * worker, where an assert of cmocka does not work. */
static size_t next_place(size_t *count)
{
	if (*count == ROOM)
		abort();
	return (*count)++;
}

static void note_fired(const struct tkw_firing *firing, void *ctx)
{
	const struct bed_arg *a = ctx;
	struct timer_bed *b = a->b;
	struct bed_fired *f;

	pthread_mutex_lock(&b->lock);
	f = &b->fired[next_place(&b->fired_count)];
	f->tag = a->tag;
	f->id = firing->id;
	f->deadline_ns = firing->deadline_ns;
	f->late_ns = firing->late_ns;
	f->now_ns = b->now_ns;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static void note_cancelled(void *ctx)
{
	const struct bed_arg *a = ctx;
	struct timer_bed *b = a->b;

	pthread_mutex_lock(&b->lock);
	b->cancelled[next_place(&b->cancelled_count)] = a->tag;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

struct tkw_task bed_task(struct timer_bed *b, uint64_t tag)
{
	struct bed_arg *a = malloc(sizeof(*a));
	const struct tkw_task task = { .fn = note_fired,
				       .ctx = a,
				       .on_cancel = note_cancelled };

	if (!a)
		abort();
	a->b = b;
	a->tag = tag;
	pthread_mutex_lock(&b->lock);
	a->next = b->args;
	b->args = a;
	pthread_mutex_unlock(&b->lock);
	return task;
}

struct tkw_timeout_id bed_schedule(struct timer_bed *b, uint64_t tag,
				   int64_t delay_ns)
{
	const struct tkw_task task = bed_task(b, tag);
	struct tkw_timeout_id id = { 0 };

	assert_int_equal(tkw_timer_schedule(b->t, &task, delay_ns, &id), 0);
	assert_true(id.bits != 0);
	return id;
}

/* --- what has happened -------------------------------------------------- */

size_t bed_fired_times(struct timer_bed *b, uint64_t tag)
{
	size_t times = 0;
	size_t i;

	pthread_mutex_lock(&b->lock);
	for (i = 0; i < b->fired_count; i++)
		times += b->fired[i].tag == tag;
	pthread_mutex_unlock(&b->lock);
	return times;
}

size_t bed_cancelled_times(struct timer_bed *b, uint64_t tag)
{
	size_t times = 0;
	size_t i;

	pthread_mutex_lock(&b->lock);
	for (i = 0; i < b->cancelled_count; i++)
		times += b->cancelled[i] == tag;
	pthread_mutex_unlock(&b->lock);
	return times;
}

/* The first index at which the two differ, or count if they are the same. */
static size_t first_other(const struct bed_fired *fired, const uint64_t *tags,
			  size_t count)
{
	size_t i = 0;

	while (i < count && fired[i].tag == tags[i])
		i++;
	return i;
}

void bed_check_fired(struct timer_bed *b, const uint64_t *tags, size_t count)
{
	uint64_t tag = 0;
	size_t fired;
	size_t same;

	pthread_mutex_lock(&b->lock);
	fired = b->fired_count - b->fired_seen;
	same = fired < count ? fired : count;
	if (same > 0)
		same = first_other(b->fired + b->fired_seen, tags, same);
	if (same < fired)
		tag = b->fired[b->fired_seen + same].tag;
	b->fired_seen = b->fired_count;
	pthread_mutex_unlock(&b->lock);
	if (same == fired && same == count)
		return;
	if (same < fired && same < count)
		print_error("number %zu is %" PRIu64 " instead of %" PRIu64
			    "\n",
			    same, tag, tags[same]);
	fail_msg("%zu fired, %zu expected, alike up to number %zu (tag %" PRIu64
		 ")",
		 fired, count, same, tag);
}

void bed_assert_nothing_fired(struct timer_bed *b)
{
	const uint64_t nobody = 0;

	bed_check_fired(b, &nobody, 0);
}

void bed_assert_fires_at(struct timer_bed *b, uint64_t tag, int64_t at_ns)
{
	bed_pass(b, at_ns - 1 - b->now_ns);
	bed_assert_nothing_fired(b);
	bed_pass(b, 1);
	bed_assert_fired(b, tag);
}

void bed_assert_ledger(struct timer_bed *b, uint64_t pending)
{
	struct tkw_ledger l;

	assert_sound(b, &l);
	assert_true(l.pending == pending);
	assert_true(tkw_timer_count(b->t) == pending);
}

/* --- memory ------------------------------------------------------------- */

static void *memory_take(size_t bytes, size_t align, void *ctx)
{
	struct bed_memory *m = ctx;
	bool refuse;

	pthread_mutex_lock(&m->lock);
	m->calls++;
	m->asked += bytes;
	refuse = m->refuse || m->calls == m->refuse_at ||
		 (m->max_bytes && bytes > m->max_bytes);
	m->refused += refuse;
	m->live += !refuse;
	pthread_mutex_unlock(&m->lock);
	if (refuse)
		return NULL;
	return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

static void memory_free(void *mem, size_t bytes, void *ctx)
{
	struct bed_memory *m = ctx;

	(void)bytes;
	pthread_mutex_lock(&m->lock);
	m->live--;
	pthread_mutex_unlock(&m->lock);
	free(mem);
}

struct tkw_timer_hooks bed_memory_hooks(struct bed_memory *m)
{
	const struct tkw_timer_hooks hooks = { .alloc = memory_take,
					       .free = memory_free,
					       .ctx = m };

	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	return hooks;
}

void bed_memory_refuse(struct bed_memory *m, bool refuse)
{
	pthread_mutex_lock(&m->lock);
	m->refuse = refuse;
	pthread_mutex_unlock(&m->lock);
}

void bed_memory_refuse_at(struct bed_memory *m, size_t n)
{
	pthread_mutex_lock(&m->lock);
	m->refuse_at = n ? m->calls + n : 0;
	pthread_mutex_unlock(&m->lock);
}
