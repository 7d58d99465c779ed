/* SPDX-License-Identifier: MIT */
/*
 * fault_handles.c - faults 21 to 23: ids that are stale, made up, used twice,
 * or used at the moment when their timeout fires.
 */
#include "fault_bed.h"

#include <sched.h>

enum {
	LIVE = 1000,
	RANDOM_IDS = 1000000
};

static int by_id(const void *a, const void *b)
{
	const uint64_t x = ((const struct tkw_timeout_id *)a)->bits;
	const uint64_t y = ((const struct tkw_timeout_id *)b)->bits;

	return (x > y) - (x < y);
}

static void ignore(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
}

/* Each call that takes an id returns -ENOENT. */
static void expect_no_such(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw_timeout_info info = { .id = { 7 } };
	char text[8] = "as is";

	must(tkw_timer_cancel(t, id) == -ENOENT);
	must(tkw_timer_cancel_wait(t, id) == -ENOENT);
	must(tkw_timer_reschedule(t, id, 0) == -ENOENT);
	must(tkw_timer_reschedule_at(t, id, 0) == -ENOENT);
	must(tkw_timer_get(t, id, &info) == -ENOENT);
	must(info.id.bits == 7);
	must(tkw_timer_print_timeout(t, id, text, sizeof(text)) == -ENOENT);
	must(strcmp(text, "as is") == 0);
}

/* --- 21 ----------------------------------------------------------------- */

/* A timer with live timeouts in each shard, for which no turn is run. */
struct crowd {
	struct tkw_timer *t;
	struct tkw_timeout_id ids[LIVE];
	size_t count;
};

static void *join_crowd(void *arg)
{
	const struct tkw_task task = { .fn = ignore };
	struct crowd *c = arg;
	size_t i;

	for (i = 0; i < LIVE / 8; i++)
		must(tkw_timer_schedule(c->t, &task, 3600 * TKW_SEC,
					&c->ids[c->count++]) == 0);
	return NULL;
}

static void crowd_open(struct crowd *c, int drive)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = drive,
					      .shards = 8 };
	pthread_t thread;
	int i;

	c->count = 0;
	must(tkw_timer_create(&c->t, &cfg) == 0);
	/* One thread after another, each of which uses the next shard. */
	for (i = 0; i < 8; i++) {
		fault_spawn(&thread, join_crowd, c);
		fault_join(thread);
	}
	qsort(c->ids, LIVE, sizeof(c->ids[0]), by_id);
}

static void crowd_close(struct crowd *c)
{
	const struct tkw_ledger l = fault_ledger(c->t);
	struct tkw_timeout_info info;
	size_t i;

	/* No timeout was changed. */
	assert_int_equal(l.accepted, LIVE);
	assert_int_equal(l.pending, LIVE);
	for (i = 0; i < LIVE; i++) {
		assert_int_equal(tkw_timer_get(c->t, c->ids[i], &info), 0);
		assert_true(info.left_ns > TKW_SEC);
		assert_int_equal(tkw_timer_cancel(c->t, c->ids[i]), 0);
		expect_no_such(c->t, c->ids[i]);
	}
	assert_int_equal(tkw_timer_destroy(c->t), 0);
}

static bool crowd_has(const struct crowd *c, struct tkw_timeout_id id)
{
	return bsearch(&id, c->ids, LIVE, sizeof(id), by_id) != NULL;
}

/* SPEC 3.5, fault 21 */
static void fault_21_made_up_ids_are_refused(void **state)
{
	static const uint64_t ids[] = { 0,
					1,
					UINT64_MAX,
					INT64_MAX,
					UINT64_C(1) << 63,
					UINT64_C(1) << 56,
					UINT64_C(1) << 24,
					0xffffff };
	struct crowd c;
	size_t i;

	crowd_open(&c, fault_drive(state));
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		expect_no_such(c.t, BED_ID(ids[i]));
	crowd_close(&c);
}

/* SPEC 3.5, fault 21: from all of 64 bits, a million. */
static void fault_21_random_ids_end_nobody(void **state)
{
	uint64_t seed = fault_seed();
	struct crowd c;
	struct tkw_timeout_id id;
	int i;

	crowd_open(&c, fault_drive(state));
	for (i = 0; i < RANDOM_IDS; i++) {
		id.bits = fault_random(&seed);
		if (crowd_has(&c, id))
			continue;
		if (i % 8 == 0)
			expect_no_such(c.t, id);
		else
			must(tkw_timer_cancel(c.t, id) == -ENOENT);
	}
	crowd_close(&c);
}

/* SPEC 3.5, fault 21: live ids with some bits changed. */
static void fault_21_ids_that_are_nearly_right_end_nobody(void **state)
{
	uint64_t seed = fault_seed();
	struct crowd c;
	struct tkw_timeout_id id;
	int i;

	crowd_open(&c, fault_drive(state));
	for (i = 0; i < RANDOM_IDS; i++) {
		id = c.ids[fault_below(&seed, LIVE)];
		if (i % 2 == 0)
			id.bits ^= UINT64_C(1) << fault_below(&seed, 64);
		else
			id.bits += fault_below(&seed, 1 << 16) - (1 << 15);
		if (!crowd_has(&c, id))
			must(tkw_timer_cancel(c.t, id) == -ENOENT);
	}
	crowd_close(&c);
}

/* SPEC 3.5, fault 21: fresh memory looks like a pending timeout of the
 * generation 0x414141. */
static void fault_21_unused_memory_names_nobody(void **state)
{
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = fault_drive(state),
					      .shards = 1,
					      .hooks = &hooks };
	const struct tkw_task task = { .fn = ignore };
	const uint64_t generation = FAULT_FILL * UINT64_C(0x10101);
	struct fault_memory m;
	struct tkw_timer *t;
	struct tkw_timeout_id id;
	uint64_t index;

	fault_memory_hooks(&m, &hooks);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_schedule(t, &task, 3600 * TKW_SEC, &id), 0);
	for (index = 0; index < 100000; index++) {
		const struct tkw_timeout_id other = { index << 24 |
						      generation };

		if (other.bits != id.bits)
			must(tkw_timer_cancel(t, other) == -ENOENT);
	}
	assert_int_equal(fault_ledger(t).pending, 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* SPEC 3.5, fault 21: ids of one timer are most likely not valid for
 * another. */
static void fault_21_ids_of_another_timer_do_not_crash(void **state)
{
	struct crowd mine;
	struct crowd other;
	unsigned taken = 0;
	size_t i;

	crowd_open(&mine, fault_drive(state));
	crowd_open(&other, fault_drive(state));
	for (i = 0; i < LIVE; i++) {
		if (!crowd_has(&mine, other.ids[i]))
			must(tkw_timer_cancel(mine.t, other.ids[i]) == -ENOENT);
		else
			taken++;
	}
	print_message("%u ids of %d are the same in both\n", taken, LIVE);
	crowd_close(&mine);
	crowd_close(&other);
}

/* SPEC 3.5, 5.2, fault 21 */
static void fault_21_stale_ids_are_refused(struct timer_bed *b)
{
	struct tkw_timeout_id fired = bed_schedule(b, 1, TKW_MSEC);
	struct tkw_timeout_id cancelled = bed_schedule(b, 2, TKW_SEC);
	int i;

	assert_int_equal(tkw_timer_cancel(b->t, cancelled), 0);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	for (i = 0; i < 1000; i++) {
		/* Other timeouts take the places of those that ended. */
		bed_schedule(b, 10, TKW_SEC);
		expect_no_such(b->t, fired);
		expect_no_such(b->t, cancelled);
	}
	bed_assert_ledger(b, 1000);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	expect_no_such(b->t, fired);
}
BED_TEST(fault_21_stale_ids_are_refused)

/* --- 22 ----------------------------------------------------------------- */

/* SPEC 5.2, fault 22 */
static void fault_22_the_second_cancel_finds_nothing(struct timer_bed *b)
{
	struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw_timeout_id other;
	int i;

	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	for (i = 0; i < 10; i++)
		assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	other = bed_schedule(b, 2, TKW_SEC);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, id), -ENOENT);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	bed_assert_ledger(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, other), 0);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_nothing_fired(b);
}
BED_TEST(fault_22_the_second_cancel_finds_nothing)

enum {
	CANCELLERS = 4,
	DOUBLE_ROUNDS = 4000 / FAULT_SLOWNESS
};

/* Threads that meet at a barrier, and then all cancel the same timeout. */
struct duel {
	struct tkw_timer *t;
	pthread_barrier_t begin;
	pthread_barrier_t end;
	struct tkw_timeout_id id;
	atomic_uint won;
	atomic_uint calls; /* calls of on_cancel */
};

static void count_call(void *ctx)
{
	atomic_fetch_add(&((struct duel *)ctx)->calls, 1);
}

static void *cancel_each(void *arg)
{
	struct duel *d = arg;
	int ret;
	int i;

	for (i = 0; i < DOUBLE_ROUNDS; i++) {
		pthread_barrier_wait(&d->begin);
		ret = i % 2 ? tkw_timer_cancel_wait(d->t, d->id)
			    : tkw_timer_cancel(d->t, d->id);
		must(ret == 0 || ret == -ENOENT);
		/* When cancel_wait has returned, on_cancel has returned,
		 * too. */
		if (i % 2)
			must(atomic_load(&d->calls) == 1);
		atomic_fetch_add(&d->won, ret == 0);
		pthread_barrier_wait(&d->end);
	}
	return NULL;
}

/* SPEC 5.1, 5.2, 5.3, 5.6, fault 22 */
static void fault_22_of_many_cancels_at_once_one_wins(void **state)
{
	struct duel d = { .won = 0 };
	const struct tkw_task task = { .fn = ignore,
				       .ctx = &d,
				       .on_cancel = count_call };
	pthread_t threads[CANCELLERS];
	struct fault_pump p;
	int i;

	fault_pump_open(&p, fault_drive(state), NULL);
	d.t = p.t;
	must(pthread_barrier_init(&d.begin, NULL, CANCELLERS + 1) == 0);
	must(pthread_barrier_init(&d.end, NULL, CANCELLERS + 1) == 0);
	for (i = 0; i < CANCELLERS; i++)
		fault_spawn(&threads[i], cancel_each, &d);
	for (i = 0; i < DOUBLE_ROUNDS; i++) {
		d.won = 0;
		d.calls = 0;
		must(tkw_timer_schedule(p.t, &task, 3600 * TKW_SEC, &d.id) ==
		     0);
		pthread_barrier_wait(&d.begin);
		pthread_barrier_wait(&d.end);
		must(d.won == 1);
		must(d.calls == 1);
	}
	for (i = 0; i < CANCELLERS; i++)
		fault_join(threads[i]);
	assert_int_equal(fault_ledger(p.t).cancelled, DOUBLE_ROUNDS);
	fault_pump_close(&p);
	pthread_barrier_destroy(&d.begin);
	pthread_barrier_destroy(&d.end);
}

/* --- 23 ----------------------------------------------------------------- */

enum {
	RACERS = 100000 / FAULT_SLOWNESS,
	KINDS = 64 /* of 64, each kind but RACED has one */
};

/* What the outcome depends on. */
enum kind {
	HELD, /* it runs until the cancel was tried */
	OVER, /* it has run before the cancel is tried */
	FAR,  /* it is not due for a long time */
	RACED /* on who comes first */
};

/* What happened to one timeout. */
struct racer {
	struct race *race;
	struct tkw_timeout_id id;
	atomic_uint ran;
	atomic_uint cancelled; /* on_cancel was called */
	atomic_bool tried;
};

struct race {
	struct tkw_timer *t;
	struct racer *racers;
	atomic_ulong ready; /* racers that were scheduled */
	atomic_ulong ended;
	atomic_ulong won;     /* cancel returned 0 */
	atomic_ulong running; /* cancel returned -EBUSY */
	atomic_ulong stale;   /* cancel returned -ENOENT */
	uint64_t seed;
};

static enum kind kind_of(const struct racer *r)
{
	const size_t k = (size_t)(r - r->race->racers) % KINDS;

	return k < RACED ? (enum kind)k : RACED;
}

static void race_fired(const struct tkw_firing *f, void *ctx)
{
	struct racer *r = ctx;

	(void)f;
	must(atomic_fetch_add(&r->ran, 1) == 0);
	/* The other thread tries each in its turn, and does not wait for
	 * any. */
	while (kind_of(r) == HELD && !atomic_load(&r->tried))
		sched_yield();
	atomic_fetch_add(&r->race->ended, 1);
}

static void race_cancelled(void *ctx)
{
	struct racer *r = ctx;

	must(atomic_fetch_add(&r->cancelled, 1) == 0);
	atomic_fetch_add(&r->race->ended, 1);
}

static void try_cancel(struct racer *r)
{
	struct race *race = r->race;

	switch (tkw_timer_cancel(race->t, r->id)) {
	case 0:
		atomic_fetch_add(&race->won, 1);
		must(atomic_load(&r->cancelled) == 1);
		break;
	case -EBUSY:
		atomic_fetch_add(&race->running, 1);
		break;
	case -ENOENT:
		atomic_fetch_add(&race->stale, 1);
		must(atomic_load(&r->ran) == 1);
		break;
	default:
		fault_fail(__FILE__, __LINE__, "cancel has such an answer");
	}
	atomic_store(&r->tried, true);
}

static void *cancel_racers(void *arg)
{
	struct race *race = arg;
	size_t i;

	for (i = 0; i < RACERS; i++) {
		while (atomic_load(&race->ready) <= i)
			sched_yield();
		try_cancel(&race->racers[i]);
	}
	return NULL;
}

static int64_t delay_of(struct racer *r)
{
	if (kind_of(r) == FAR)
		return 3600 * TKW_SEC;
	if (kind_of(r) == RACED) /* about when the other thread comes to it */
		return (int64_t)fault_below(&r->race->seed, 50000);
	return 0;
}

/* Waits until the cancel of this racer may be tried. */
static void prepare(struct racer *r)
{
	struct tkw_timeout_info info;

	while (kind_of(r) == HELD && !atomic_load(&r->ran))
		sched_yield();
	while (kind_of(r) == OVER &&
	       tkw_timer_get(r->race->t, r->id, &info) == 0)
		sched_yield();
}

static void schedule_racers(struct race *race)
{
	struct tkw_task task = { .fn = race_fired,
				 .on_cancel = race_cancelled };
	struct racer *r;
	size_t i;

	for (i = 0; i < RACERS; i++) {
		r = &race->racers[i];
		r->race = race;
		task.ctx = r;
		must(tkw_timer_schedule(race->t, &task, delay_of(r), &r->id) ==
		     0);
		prepare(r);
		atomic_store(&race->ready, i + 1);
	}
}

/* SPEC 4.5, 5.1, 5.2, fault 23: each is either cancelled or fired. */
static void fault_23_cancel_or_fire_and_never_both(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	struct race race = { .seed = fault_seed() };
	struct fault_pump p;
	struct tkw_ledger l;
	pthread_t canceller;
	size_t i;

	race.racers = calloc(RACERS, sizeof(*race.racers));
	must(race.racers != NULL);
	fault_pump_open(&p, fault_drive(state), &cfg);
	race.t = p.t;
	fault_spawn(&canceller, cancel_racers, &race);
	schedule_racers(&race);
	fault_join(canceller);
	fault_await(&race.ended, RACERS);
	l = fault_ledger(p.t);
	for (i = 0; i < RACERS; i++)
		must(race.racers[i].ran + race.racers[i].cancelled == 1);
	print_message("cancel won %lu, lost to running %lu, too late %lu; "
		      "%d of each by arrangement\n",
		      race.won, race.running, race.stale, RACERS / KINDS);
	assert_int_equal(race.won + race.running + race.stale, RACERS);
	assert_int_equal(l.cancelled, race.won);
	assert_int_equal(l.fired, RACERS - race.won);
	assert_int_equal(l.pending, 0);
	assert_true(race.won > 0);
	assert_true(race.running > 0);
	assert_true(race.stale > 0);
	fault_pump_close(&p);
	free(race.racers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_BOTH(fault_21_made_up_ids_are_refused),
		FAULT_BOTH(fault_21_random_ids_end_nobody),
		FAULT_BOTH(fault_21_ids_that_are_nearly_right_end_nobody),
		FAULT_BOTH(fault_21_unused_memory_names_nobody),
		FAULT_BOTH(fault_21_ids_of_another_timer_do_not_crash),
		BED_TESTS(fault_21_stale_ids_are_refused),
		BED_TESTS(fault_22_the_second_cancel_finds_nothing),
		FAULT_BOTH(fault_22_of_many_cancels_at_once_one_wins),
		FAULT_BOTH(fault_23_cancel_or_fire_and_never_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
