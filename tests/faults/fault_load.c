/* SPDX-License-Identifier: MIT */
/*
 * fault_load.c - faults 34 and 36 to 38: a timer that is full, a storm of
 * cancels, producers while the timer is stopped, and a producer with a higher
 * priority than the worker.
 */
#include "fault_bed.h"

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static void ignore(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
}

static void count(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

/* --- 34: max pending ---------------------------------------------------- */

enum {
	LIMIT = 100
};

/* Exactly `room` timeouts are accepted. The next ones are refused, and leave no
 * trace. */
static void fill(struct timer_bed *b, size_t room, struct tkw_timeout_id *ids)
{
	const struct tkw_task task = bed_task(b, 7);
	struct tkw_timeout_id refused = { 5 };
	size_t i;

	for (i = 0; i < room; i++)
		ids[i] = bed_schedule(b, i, (int64_t)(i + 1) * TKW_SEC);
	for (i = 0; i < 10; i++) {
		assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &refused),
				 -EAGAIN);
		assert_int_equal(
			tkw_timer_schedule_at(b->t, &task, 0, &refused),
			-EAGAIN);
	}
	assert_int_equal(refused.bits, 5);
	bed_assert_ledger(b, LIMIT);
}

/* SPEC 3.6, 3.7, 4.5, fault 34 */
static void fault_34_the_limit_is_exact_and_recovers(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = LIMIT };
	struct tkw_timeout_id ids[LIMIT];
	uint64_t accepted;
	size_t i;

	bed_reopen(b, &cfg);
	fill(b, LIMIT, ids);
	accepted = fault_ledger(b->t).accepted;
	assert_int_equal(accepted, LIMIT);
	/* There is room again for as many as are cancelled, */
	for (i = 0; i < 10; i++)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	fill(b, 10, ids);
	/* or fire. */
	bed_set_clock(b, b->now_ns + 10 * TKW_SEC + TKW_MSEC);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[0], 0), 0);
	if (bed_by_hand(b))
		assert_int_equal(bed_turn(b, NULL), 10);
	bed_wait_fired(b, 10);
	fill(b, 10, ids);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_34_the_limit_is_exact_and_recovers)

static void take_own_place(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task again = { .fn = take_own_place, .ctx = ctx };
	atomic_ulong *rounds = ctx;

	/* Its own place is free before the task runs. */
	must(tkw_timer_schedule(
		     f->timer, &again,
		     atomic_fetch_add(rounds, 1) < 200 ? 0 : 3600 * TKW_SEC,
		     NULL) == 0);
	must(tkw_timer_schedule(f->timer, &again, 0, NULL) == -EAGAIN);
}

/* SPEC 4.5, fault 34 */
static void fault_34_a_task_schedules_again_at_the_limit(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	atomic_ulong rounds = 0;
	const struct tkw_task task = { .fn = take_own_place, .ctx = &rounds };

	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	if (bed_by_hand(b))
		bed_pass(b, 0);
	fault_await(&rounds, 201);
	bed_assert_ledger(b, 1);
}
BED_TEST(fault_34_a_task_schedules_again_at_the_limit)

enum {
	RUSHERS = 4,
	RUSH_ROUNDS = 200 / FAULT_SLOWNESS
};

/* Threads that schedule until they are refused, and then meet at a barrier. */
struct rush {
	struct tkw_timer *t;
	pthread_barrier_t begin;
	pthread_barrier_t end;
	atomic_ulong accepted;
	struct tkw_timeout_id ids[LIMIT + RUSHERS];
};

static void *rush_in(void *arg)
{
	struct rush *r = arg;
	const struct tkw_task task = { .fn = ignore };
	struct tkw_timeout_id id;
	int round;
	int ret;

	for (round = 0; round < RUSH_ROUNDS; round++) {
		pthread_barrier_wait(&r->begin);
		for (;;) {
			ret = tkw_timer_schedule(r->t, &task, 3600 * TKW_SEC,
						 &id);
			if (ret != 0)
				break;
			r->ids[atomic_fetch_add(&r->accepted, 1)] = id;
		}
		must(ret == -EAGAIN);
		pthread_barrier_wait(&r->end);
	}
	return NULL;
}

/* SPEC 3.6, fault 34 */
static void fault_34_many_threads_share_the_limit(void **state)
{
	const struct tkw_timer_config cfg = { .max_pending = LIMIT,
					      .shards = 4 };
	pthread_t threads[RUSHERS];
	struct fault_pump p;
	struct rush r;
	int round;
	int i;

	memset(&r, 0, sizeof(r));
	fault_pump_open(&p, fault_drive(state), &cfg);
	r.t = p.t;
	must(pthread_barrier_init(&r.begin, NULL, RUSHERS + 1) == 0);
	must(pthread_barrier_init(&r.end, NULL, RUSHERS + 1) == 0);
	for (i = 0; i < RUSHERS; i++)
		fault_spawn(&threads[i], rush_in, &r);
	for (round = 0; round < RUSH_ROUNDS; round++) {
		pthread_barrier_wait(&r.begin);
		pthread_barrier_wait(&r.end);
		must(r.accepted == LIMIT);
		must(tkw_timer_count(p.t) == LIMIT);
		for (i = 0; i < LIMIT; i++)
			must(tkw_timer_cancel(p.t, r.ids[i]) == 0);
		r.accepted = 0;
	}
	for (i = 0; i < RUSHERS; i++)
		fault_join(threads[i]);
	assert_int_equal(fault_ledger(p.t).accepted,
			 (uint64_t)LIMIT * RUSH_ROUNDS);
	fault_pump_close(&p);
	pthread_barrier_destroy(&r.begin);
	pthread_barrier_destroy(&r.end);
}

/* --- 36: a storm of cancels --------------------------------------------- */

enum {
	STORM = 10000000 / FAULT_SLOWNESS,
	SMALL = 4 * 1024 * 1024
};

static void shuffle(struct tkw_timeout_id *ids, size_t n, uint64_t *seed)
{
	struct tkw_timeout_id id;
	size_t i;
	size_t k;

	for (i = n - 1; i > 0; i--) {
		k = fault_below(seed, i + 1);
		id = ids[i];
		ids[i] = ids[k];
		ids[k] = id;
	}
}

static void storm(struct tkw_timer *t, struct fault_memory *m,
		  struct tkw_timeout_id *ids, uint64_t *seed)
{
	const struct tkw_task task = { .fn = ignore };
	unsigned long at_first;
	size_t i;

	must(tkw_timer_schedule(t, &task, 3600 * TKW_SEC, &ids[0]) == 0);
	at_first = m->live_bytes;
	for (i = 1; i < STORM; i++)
		must(tkw_timer_schedule(
			     t, &task,
			     24 * (3600 * TKW_SEC) +
				     (int64_t)fault_below(seed, 3600 * TKW_SEC),
			     &ids[i]) == 0);
	must(m->live_bytes >= 64 * (unsigned long)STORM);
	shuffle(ids, STORM, seed);
	for (i = 0; i < STORM; i++)
		must(tkw_timer_cancel(t, ids[i]) == 0);
	print_message("%d cancelled: %lu MiB at most, %lu KiB left\n", STORM,
		      m->peak_bytes >> 20, m->live_bytes >> 10);
	/* Memory is given back at once, not at the time of the timeouts. */
	assert_true(m->live_bytes <= at_first + SMALL);
	for (i = 0; i < STORM; i += 1000)
		must(tkw_timer_cancel(t, ids[i]) == -ENOENT);
}

/* SPEC 5.4, fault 36 */
static void fault_36_ten_million_cancels_give_memory_back(void **state)
{
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = fault_drive(state),
					      .hooks = &hooks };
	struct tkw_timeout_id *ids = malloc(STORM * sizeof(*ids));
	uint64_t seed = fault_seed();
	struct fault_memory m;
	struct tkw_timer *t;
	struct tkw_ledger l;

	must(ids != NULL);
	fault_memory_hooks(&m, &hooks);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	storm(t, &m, ids, &seed);
	l = fault_ledger(t);
	assert_int_equal(l.accepted, STORM);
	assert_int_equal(l.cancelled, STORM);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(m.live_bytes, 0);
	free(ids);
}

/* SPEC 5.4, fault 36: many timeouts come and go, but few are pending at a
 * time. */
static void fault_36_pairs_hold_what_is_outstanding(void **state)
{
	enum {
		OUTSTANDING = 1000
	};
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = fault_drive(state),
					      .hooks = &hooks };
	const struct tkw_task task = { .fn = ignore };
	static struct tkw_timeout_id ids[OUTSTANDING];
	struct fault_memory m;
	struct tkw_timer *t;
	size_t i;

	fault_memory_hooks(&m, &hooks);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	for (i = 0; i < STORM / 4; i++) {
		if (i >= OUTSTANDING)
			must(tkw_timer_cancel(t, ids[i % OUTSTANDING]) == 0);
		must(tkw_timer_schedule(t, &task, 3600 * TKW_SEC,
					&ids[i % OUTSTANDING]) == 0);
	}
	assert_true(m.peak_bytes <= SMALL);
	assert_int_equal(tkw_timer_count(t), OUTSTANDING);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* --- 37: producers are stopped in the middle ---------------------------- */

enum {
	PRODUCERS = 3,
	PAUSES = 1000 / FAULT_SLOWNESS,
	AHEAD = 10000 /* how far threads get ahead of the worker */
};

/* A producer can be paused at any instruction, until it is told to go on. */
struct producer {
	struct workshop *shop;
	pthread_t thread;
	sem_t resume;
	atomic_ulong made; /* timeouts */
};

struct workshop {
	struct tkw_timer *t;
	struct producer producers[PRODUCERS];
	atomic_ulong paused; /* pauses that have begun */
	atomic_ulong fired;
	atomic_ulong cancelled;
	atomic_bool over;
	struct fault_gate go_home;
	atomic_ulong done;
};

static _Thread_local struct producer *self;

static void pause_here(int number)
{
	const int saved = errno;

	(void)number;
	atomic_fetch_add(&self->shop->paused, 1);
	while (sem_wait(&self->resume) != 0)
		;
	errno = saved;
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	struct workshop *shop = p->shop;
	const struct tkw_task task = { .fn = count, .ctx = &shop->fired };
	struct tkw_timeout_id id;

	self = p;
	while (!atomic_load(&shop->over)) {
		must(tkw_timer_schedule(shop->t, &task, 0, NULL) == 0);
		must(tkw_timer_schedule(shop->t, &task, 3600 * TKW_SEC, &id) ==
		     0);
		must(tkw_timer_cancel(shop->t, id) == 0);
		atomic_fetch_add(&shop->cancelled, 1);
		atomic_fetch_add(&p->made, 2);
		fault_throttle(&shop->cancelled, &shop->fired, AHEAD);
	}
	atomic_fetch_add(&shop->done, 1);
	fault_gate_wait(&shop->go_home);
	return NULL;
}

/* Pauses one, lets the others run for a while, and resumes it. It does not wait
 * for the others, because the paused one may hold a lock that they want. */
static void pause_one(struct workshop *shop, struct producer *p, unsigned turns)
{
	const unsigned long paused = atomic_load(&shop->paused);

	must(pthread_kill(p->thread, SIGUSR2) == 0);
	while (atomic_load(&shop->paused) == paused)
		sched_yield();
	while (turns-- > 0)
		sched_yield();
	must(sem_post(&p->resume) == 0);
}

static unsigned long run_shop(struct workshop *shop, uint64_t *seed)
{
	unsigned long made = 0;
	int i;

	for (i = 0; i < PRODUCERS; i++) {
		shop->producers[i].shop = shop;
		must(sem_init(&shop->producers[i].resume, 0, 0) == 0);
		fault_spawn(&shop->producers[i].thread, produce,
			    &shop->producers[i]);
		fault_await(&shop->producers[i].made, 1);
	}
	for (i = 0; i < PAUSES; i++)
		pause_one(shop, &shop->producers[fault_below(seed, PRODUCERS)],
			  (unsigned)fault_below(seed, 50));
	atomic_store(&shop->over, true);
	fault_await(&shop->done, PRODUCERS);
	fault_gate_open(&shop->go_home);
	for (i = 0; i < PRODUCERS; i++) {
		fault_join(shop->producers[i].thread);
		sem_destroy(&shop->producers[i].resume);
		made += shop->producers[i].made;
	}
	return made;
}

/* Fault 37 */
static void fault_37_producers_are_paused_at_any_instruction(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC,
					      .shards = 2 };
	struct sigaction act = { .sa_handler = pause_here };
	uint64_t seed = fault_seed();
	static struct workshop shop;
	struct fault_pump p;
	struct sigaction old;
	struct tkw_ledger l;
	unsigned long made;

	memset(&shop, 0, sizeof(shop));
	fault_gate_init(&shop.go_home);
	must(sigaction(SIGUSR2, &act, &old) == 0);
	fault_pump_open(&p, fault_drive(state), &cfg);
	shop.t = p.t;
	made = run_shop(&shop, &seed);
	fault_await(&shop.fired, made / 2);
	l = fault_ledger(p.t);
	print_message("%lu pauses, %lu timeouts\n", shop.paused, made);
	assert_int_equal(shop.paused, PAUSES);
	assert_int_equal(l.accepted, made);
	assert_int_equal(l.cancelled, shop.cancelled);
	assert_int_equal(l.fired, made / 2);
	assert_int_equal(l.pending, 0);
	fault_pump_close(&p);
	must(sigaction(SIGUSR2, &old, NULL) == 0);
}

/* --- 38: priorities ----------------------------------------------------- */

enum {
	URGENT = 100000 / FAULT_SLOWNESS
};

struct urgency {
	struct tkw_timer *t;
	atomic_ulong fired;
	unsigned long cancelled;
	bool real_time;
};

/* Takes a real-time priority below those of the system. If that is not allowed,
 * takes the best nice value that is. */
static bool become_urgent(void)
{
	const struct sched_param param = { .sched_priority = 10 };

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0)
		return true;
	(void)!nice(-20);
	return false;
}

static void *produce_urgently(void *arg)
{
	struct urgency *u = arg;
	const struct tkw_task task = { .fn = count, .ctx = &u->fired };
	struct tkw_timeout_id id;
	int i;

	u->real_time = become_urgent();
	for (i = 0; i < URGENT; i++) {
		must(tkw_timer_schedule(u->t, &task, i % 100 * TKW_USEC, &id) ==
		     0);
		if (i % 3 == 0 && tkw_timer_cancel(u->t, id) == 0)
			u->cancelled++;
		/* From time to time it sleeps just long enough for the worker
		 * to take its lock, and wakes up while the worker holds it. */
		if (i % 64 == 0)
			usleep(20);
	}
	return NULL;
}

/* Binds the calling thread, and those it makes, to one CPU. */
static void keep_to_one_cpu(cpu_set_t *before)
{
	cpu_set_t one;
	size_t cpu = 0;

	must(sched_getaffinity(0, sizeof(*before), before) == 0);
	while (!CPU_ISSET(cpu, before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	must(sched_setaffinity(0, sizeof(one), &one) == 0);
}

/* Fault 38: a thread that waits for a lock lets the holder run, whatever the
 * priorities. */
static void fault_38_a_real_time_producer_and_one_cpu(void **state)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC,
					      .shards = 1 };
	struct urgency u = { .cancelled = 0 };
	struct fault_pump p;
	struct tkw_ledger l;
	pthread_t thread;
	cpu_set_t before;

	keep_to_one_cpu(&before);
	fault_pump_open(&p, fault_drive(state), &cfg);
	/* The worker inherits the priority of this thread, not the
	 * producer's. */
	must(tkw_timer_start(p.t) == 0);
	u.t = p.t;
	fault_spawn(&thread, produce_urgently, &u);
	fault_join(thread);
	fault_await(&u.fired, URGENT - u.cancelled);
	l = fault_ledger(p.t);
	print_message("%s, %lu fired, %lu cancelled\n",
		      u.real_time ? "SCHED_FIFO" : "nice", u.fired,
		      u.cancelled);
	assert_int_equal(l.accepted, URGENT);
	assert_int_equal(l.fired, URGENT - u.cancelled);
	assert_int_equal(l.pending, 0);
	fault_pump_close(&p);
	must(sched_setaffinity(0, sizeof(before), &before) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(fault_34_the_limit_is_exact_and_recovers),
		BED_TESTS(fault_34_a_task_schedules_again_at_the_limit),
		FAULT_BOTH(fault_34_many_threads_share_the_limit),
		FAULT_BOTH(fault_36_ten_million_cancels_give_memory_back),
		FAULT_BOTH(fault_36_pairs_hold_what_is_outstanding),
		FAULT_BOTH(fault_37_producers_are_paused_at_any_instruction),
		FAULT_BOTH(fault_38_a_real_time_producer_and_one_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
