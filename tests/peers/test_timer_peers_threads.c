/* SPDX-License-Identifier: MIT */
/*
 * test_timer_peers_threads.c - tests with many threads from the suites of
 * DPDK's rte_timer and of Pekko's scheduler, on this timer. The sums must
 * balance, whoever wins a race.
 */
#include "timer_racers.h"

#include <stdatomic.h>
#include <time.h>

/* --- DPDK --------------------------------------------------------------- */

enum {
	TIMERS = 2048
};

/* Timeouts that all threads know. Each calls back once. */
struct field {
	struct timer_bed *b;
	int64_t at_ns;
	/* The bits of the ids. 0 if a thread owns the timeout now. */
	_Atomic uint64_t ids[TIMERS];
	uint32_t times[TIMERS]; /* fired; used by the worker only */
};

/* ctx points into times. */
static void field_fired(const struct tkw_firing *firing, void *ctx)
{
	uint32_t *times = ctx;

	(void)firing;
	++*times;
}

static int field_schedule(struct field *f, size_t i, struct tkw_timeout_id *id)
{
	const struct tkw_task task = { .fn = field_fired, .ctx = &f->times[i] };

	return tkw_timer_schedule_at(f->b->t, &task, f->at_ns, id);
}

static struct field *sow_field(struct peers *p)
{
	struct field *f = calloc(1, sizeof(*f));
	struct tkw_timeout_id id;
	size_t i;

	assert_non_null(f);
	if (p->bed.drive == TKW_DRIVE_THREAD)
		p->cfg.shards = THREADS;
	bed_reopen(&p->bed, &p->cfg);
	f->b = &p->bed;
	f->at_ns = tkw_timer_now_ns(p->bed.t) + 250 * p->cfg.tick_ns;
	for (i = 0; i < TIMERS; i++) {
		assert_int_equal(field_schedule(f, i, &id), 0);
		atomic_init(&f->ids[i], id.bits);
	}
	return f;
}

static void reap_field(struct peers *p, struct field *f)
{
	size_t i;

	bed_assert_ledger(f->b, TIMERS);
	peers_pass_to(p, f->at_ns - 1);
	for (i = 0; i < TIMERS; i++)
		assert_int_equal(f->times[i], 0);
	bed_pass(f->b, 2 * p->cfg.tick_ns);
	for (i = 0; i < TIMERS; i++)
		assert_int_equal(f->times[i], 1);
	bed_assert_ledger(f->b, 0);
	free(f);
}

/* Moves each away and back. Another thread may come in between. */
static void reset_all(struct racer *r)
{
	struct field *f = r->ctx;
	struct tkw_timeout_id id;
	size_t i;
	int k;

	for (i = 0; i < TIMERS; i++) {
		id.bits =
			atomic_load_explicit(&f->ids[i], memory_order_relaxed);
		for (k = (int)r->number + 1; k >= 0; k--)
			r->strange += tkw_timer_reschedule_at(
					      f->b->t, id,
					      f->at_ns + k * TKW_SEC) != 0;
	}
}

/* SPEC 5.5, 5.7. DPDK: all cores reset all timers at the same time. Each calls
 * back exactly once. */
static void test_dpdk_all_threads_reset_all_timers(struct peers *p)
{
	struct field *f = sow_field(p);
	struct racer racers[THREADS];
	size_t i;

	run_racers(racers, reset_all, f);
	/* Whichever thread was last, all must be due at at_ns. */
	for (i = 0; i < TIMERS; i++)
		assert_int_equal(
			tkw_timer_reschedule_at(f->b->t,
						BED_ID(atomic_load(&f->ids[i])),
						f->at_ns),
			0);
	reap_field(p, f);
}
PEERS_TEST(test_dpdk_all_threads_reset_all_timers)

/* Half of the time it stops the timeout first. A thread owns the ids that it
 * has taken out. */
static void stop_and_reset_some(struct racer *r)
{
	struct field *f = r->ctx;
	struct tkw_timeout_id id;
	size_t i;
	int n;

	for (n = 0; n < 20000; n++) {
		i = peers_random(&r->seed) % TIMERS;
		id.bits = atomic_exchange_explicit(&f->ids[i], 0,
						   memory_order_acq_rel);
		if (id.bits == 0)
			continue;
		if (n % 2 == 0) {
			r->strange += tkw_timer_cancel(f->b->t, id) != 0;
			r->strange += tkw_timer_cancel(f->b->t, id) != -ENOENT;
			r->strange += field_schedule(f, i, &id) != 0;
			r->cancelled++;
		} else {
			r->strange += tkw_timer_reschedule_at(f->b->t, id,
							      f->at_ns) != 0;
		}
		/* pairs with the exchange */
		atomic_store_explicit(&f->ids[i], id.bits,
				      memory_order_release);
	}
}

/* SPEC 5.2, 5.7. DPDK: all cores stop and reset random timers. Again each calls
 * back exactly once. */
static void test_dpdk_all_threads_stop_and_reset_random_timers(struct peers *p)
{
	struct field *f = sow_field(p);
	struct racer racers[THREADS];
	struct tkw_ledger l;
	uint64_t cancelled = 0;
	int i;

	run_racers(racers, stop_and_reset_some, f);
	for (i = 0; i < THREADS; i++)
		cancelled += racers[i].cancelled;
	assert_int_equal(tkw_timer_get_ledger(f->b->t, &l), 0);
	assert_int_equal(l.cancelled, cancelled);
	assert_int_equal(l.accepted, cancelled + TIMERS);
	reap_field(p, f);
}
PEERS_TEST(test_dpdk_all_threads_stop_and_reset_random_timers)

enum {
	EACH = 15000,
	SHARED = 256
};

/* The n-th timeout of a thread. */
struct token {
	_Atomic uint32_t fired;
	_Atomic uint32_t cancelled;
};

struct commons {
	struct timer_bed *b;
	int64_t tick_ns;
	/* Bits of ids of any thread, ended or not. */
	_Atomic uint64_t ids[SHARED];
	struct token tokens[THREADS][EACH];
};

static void token_fired(const struct tkw_firing *firing, void *ctx)
{
	struct token *token = ctx;

	(void)firing;
	atomic_fetch_add_explicit(&token->fired, 1, memory_order_relaxed);
}

static void token_cancelled(void *ctx)
{
	struct token *token = ctx;

	atomic_fetch_add_explicit(&token->cancelled, 1, memory_order_relaxed);
}

/* Each thread lets time pass. With the manual drive it also makes turns. */
static void pass_a_tick(struct racer *r)
{
	const struct commons *c = r->ctx;
	struct timer_bed *b = c->b;
	int ret = 0;

	pthread_mutex_lock(&b->lock);
	b->now_ns += c->tick_ns;
	pthread_mutex_unlock(&b->lock);
	if (bed_by_hand(b))
		ret = bed_turn(b, NULL);
	r->strange += ret < 0 && ret != -EBUSY;
}

/* Does something to a timeout that another thread may know, too. */
static void meddle(struct racer *r, struct tkw_timeout_id id)
{
	struct commons *c = r->ctx;
	int64_t delay_ns = peers_random(&r->seed) % 30 * c->tick_ns;
	int ret;

	if (peers_random(&r->seed) % 2 == 0) {
		ret = tkw_timer_cancel(c->b->t, id);
		r->cancelled += ret == 0;
	} else {
		ret = tkw_timer_reschedule(c->b->t, id, delay_ns);
	}
	r->strange += ret != 0 && !has_ended(ret);
}

static void do_everything(struct racer *r)
{
	struct commons *c = r->ctx;
	struct tkw_task task = { .fn = token_fired,
				 .on_cancel = token_cancelled };
	int64_t delay_ns;
	struct tkw_timeout_id id = { 0 };
	size_t place;
	int i;

	for (i = 0; i < EACH; i++) {
		task.ctx = &c->tokens[r->number][i];
		delay_ns = peers_random(&r->seed) % 30 * c->tick_ns;
		r->strange +=
			tkw_timer_schedule(c->b->t, &task, delay_ns, &id) != 0;
		r->accepted++;
		place = peers_random(&r->seed) % SHARED;
		atomic_store_explicit(&c->ids[place], id.bits,
				      memory_order_relaxed);
		place = peers_random(&r->seed) % SHARED;
		id.bits = atomic_load_explicit(&c->ids[place],
					       memory_order_relaxed);
		meddle(r, id);
		if (i % 16 == 0)
			pass_a_tick(r);
	}
}

/* Checks that each ended once, in one of the two ways. Returns how many
 * fired. */
static uint64_t count_tokens(struct commons *c)
{
	struct token *token;
	uint64_t fired = 0;
	int i;

	for (i = 0; i < THREADS * EACH; i++) {
		token = &c->tokens[i / EACH][i % EACH];
		assert_int_equal(token->fired + token->cancelled, 1);
		fired += token->fired;
	}
	return fired;
}

/* SPEC 5.1, 5.7, the law. DPDK: all cores schedule, reset and stop timers while
 * they fire. Each callback comes once, and the sum balances. */
static void test_dpdk_all_threads_do_everything_while_it_fires(struct peers *p)
{
	struct commons *c = calloc(1, sizeof(*c));
	struct racer racers[THREADS];
	struct tkw_ledger l;
	uint64_t cancelled = 0;
	int i;

	assert_non_null(c);
	if (p->bed.drive == TKW_DRIVE_THREAD)
		p->cfg.shards = THREADS;
	bed_reopen(&p->bed, &p->cfg);
	c->b = &p->bed;
	c->tick_ns = p->cfg.tick_ns;
	run_racers(racers, do_everything, c);
	bed_pass(&p->bed, 100 * p->cfg.tick_ns);
	for (i = 0; i < THREADS; i++)
		cancelled += racers[i].cancelled;
	bed_assert_ledger(&p->bed, 0);
	assert_int_equal(tkw_timer_get_ledger(p->bed.t, &l), 0);
	assert_int_equal(l.fired, count_tokens(c) + p->bed.markers);
	assert_int_equal(l.cancelled, cancelled);
	assert_int_equal(l.accepted, (uint64_t)THREADS * EACH + p->bed.markers);
	assert_true(l.fired > p->bed.markers);
	assert_true(cancelled > 0);
	free(c);
}
PEERS_TEST(test_dpdk_all_threads_do_everything_while_it_fires)

/* --- Pekko -------------------------------------------------------------- */

enum {
	REFUSALS = 200
};

struct closing {
	struct tkw_timer *t;
	pthread_mutex_t lock;
	pthread_cond_t warm;
	uint64_t threads_warm; /* threads with an accepted timeout */
	_Atomic uint64_t fired;
	_Atomic uint64_t told; /* calls of on-cancel */
	_Atomic uint64_t handed_over;
};

static void closing_fired(const struct tkw_firing *firing, void *ctx)
{
	struct closing *c = ctx;

	(void)firing;
	atomic_fetch_add_explicit(&c->fired, 1, memory_order_relaxed);
}

static void closing_told(void *ctx)
{
	struct closing *c = ctx;

	atomic_fetch_add_explicit(&c->told, 1, memory_order_relaxed);
}

static void closing_visited(const struct tkw_timeout_info *info, void *ctx)
{
	struct closing *c = ctx;

	(void)info;
	atomic_fetch_add_explicit(&c->handed_over, 1, memory_order_relaxed);
}

static void say_warm(struct closing *c)
{
	pthread_mutex_lock(&c->lock);
	c->threads_warm++;
	pthread_cond_signal(&c->warm);
	pthread_mutex_unlock(&c->lock);
}

/* Schedules until it is refused. After that it is always refused. */
static void schedule_until_refused(struct racer *r)
{
	struct closing *c = r->ctx;
	const struct tkw_task task = { .fn = closing_fired,
				       .ctx = c,
				       .on_cancel = closing_told };
	int refusals = 0;
	int ret;

	while (refusals < REFUSALS) {
		ret = tkw_timer_schedule(c->t, &task, r->accepted % 2 * TKW_SEC,
					 NULL);
		if (ret == 0) {
			r->strange += refusals > 0;
			if (++r->accepted == 50)
				say_warm(c);
		} else {
			r->strange += ret != -ESHUTDOWN;
			refusals++;
		}
	}
}

static void close_while_they_schedule(struct peers *p, struct closing *c)
{
	struct racer racers[THREADS];
	pthread_barrier_t begin;
	uint64_t accepted = 0;
	int i;

	c->t = p->bed.t;
	c->threads_warm = 0;
	start_racers(racers, &begin, schedule_until_refused, c);
	pthread_mutex_lock(&c->lock);
	while (c->threads_warm < THREADS)
		pthread_cond_wait(&c->warm, &c->lock);
	pthread_mutex_unlock(&c->lock);
	assert_int_equal(tkw_timer_stop(c->t, closing_visited, c), 0);
	assert_true(tkw_timer_count(c->t) == 0);
	join_racers(racers, &begin);
	for (i = 0; i < THREADS; i++)
		accepted += racers[i].accepted;
	assert_int_equal(accepted,
			 atomic_load(&c->fired) + atomic_load(&c->handed_over));
	assert_int_equal(atomic_load(&c->told), atomic_load(&c->handed_over));
	bed_assert_ledger(&p->bed, 0);
}

/* SPEC 2.5, 6.4, faults 25, 28. Pekko: a timer that is being closed reliably
 * rejects jobs. Each job that was accepted runs or is handed over. */
static void test_pekko_rejects_reliably_while_closing(struct peers *p)
{
	struct closing c;
	int round;

	memset(&c, 0, sizeof(c));
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.warm, NULL);
	for (round = 0; round < 25; round++) {
		if (p->bed.drive == TKW_DRIVE_THREAD)
			p->cfg.shards = 1 + round % THREADS;
		bed_reopen(&p->bed, &p->cfg);
		atomic_store(&c.fired, 0);
		atomic_store(&c.told, 0);
		atomic_store(&c.handed_over, 0);
		close_while_they_schedule(p, &c);
	}
	pthread_cond_destroy(&c.warm);
	pthread_mutex_destroy(&c.lock);
}
PEERS_TEST(test_pekko_rejects_reliably_while_closing)

static const struct tkw_timer_config fine = {
	.tick_ns = 100 * TKW_USEC,
	.shards = THREADS,
};

enum {
	PUNCTUAL = 300
};

struct punctual {
	pthread_mutex_t lock;
	pthread_cond_t all;
	int fired;
	int early;
};

struct appointment {
	struct punctual *of;
	int64_t not_before_ns; /* on CLOCK_MONOTONIC */
};

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * TKW_SEC + now.tv_nsec;
}

static void keep_appointment(const struct tkw_firing *firing, void *ctx)
{
	const struct appointment *a = ctx;
	struct punctual *of = a->of;
	const int64_t now_ns = monotonic_ns();

	pthread_mutex_lock(&of->lock);
	of->early += now_ns < a->not_before_ns || firing->late_ns < 0;
	of->fired++;
	pthread_cond_signal(&of->all);
	pthread_mutex_unlock(&of->lock);
}

static void assert_punctual(const struct tkw_timer_config *cfg)
{
	struct punctual of = { .lock = PTHREAD_MUTEX_INITIALIZER,
			       .all = PTHREAD_COND_INITIALIZER };
	struct appointment made[PUNCTUAL];
	struct tkw_task task = { .fn = keep_appointment };
	struct tkw_timer *t;
	int64_t delay_ns;
	int i;

	assert_int_equal(tkw_timer_create(&t, cfg), 0);
	for (i = 0; i < PUNCTUAL; i++) {
		delay_ns = i % 100 * (333 * TKW_USEC);
		made[i].of = &of;
		made[i].not_before_ns = monotonic_ns() + delay_ns;
		task.ctx = &made[i];
		assert_int_equal(tkw_timer_schedule(t, &task, delay_ns, NULL),
				 0);
	}
	pthread_mutex_lock(&of.lock);
	while (of.fired < PUNCTUAL)
		pthread_cond_wait(&of.all, &of.lock);
	pthread_mutex_unlock(&of.lock);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(of.fired, PUNCTUAL);
	assert_int_equal(of.early, 0);
}

/* SPEC 4.1, fault 13. Pekko: on the real clock, none fires early. */
static void test_pekko_never_fires_prematurely(void **state)
{
	struct tkw_timer_config cfg;

	(void)state;
	assert_punctual(NULL);
	assert_punctual(&fine);
	assert_int_equal(tkw_timer_preset(&cfg, TKW_PRESET_JRAFT), 0);
	assert_punctual(&cfg);
	assert_int_equal(tkw_timer_preset(&cfg, TKW_PRESET_NETTY), 0);
	assert_punctual(&cfg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEERS_ON_TWO(test_dpdk_all_threads_reset_all_timers),
		PEERS_ON_TWO(
			test_dpdk_all_threads_stop_and_reset_random_timers),
		PEERS_ON_TWO(
			test_dpdk_all_threads_do_everything_while_it_fires),
		PEERS_ON_TWO(test_pekko_rejects_reliably_while_closing),
		cmocka_unit_test(test_pekko_never_fires_prematurely),
	};

	return cmocka_run_group_tests_name("timer_peers_threads", tests, NULL,
					   NULL);
}
