/* SPDX-License-Identifier: MIT */
/*
 * stress_life.c - the life of a timer under stress, from create to destroy.
 *
 * Idea:  threads make steps until enough timeouts were accepted. Then the life
 *        ends in one of three ways:
 *          drain    all threads rest, the far timeouts are cancelled, and the
 *                   near ones fire: nothing must stay pending
 *          stop     the timer is stopped while the threads use it
 *          destroy  all threads rest, and the timer is destroyed as it is
 *        Then each record is judged, the ledger is compared with what was
 *        seen, and all memory must have been freed.
 * Turns: with the manual drive, the first thread makes the turns until the
 *        others rest. Sometimes another thread makes one.
 */
#define _POSIX_C_SOURCE 200809L /* pthread, semaphore, nanosleep */
#include "stress_life.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "choice.h"
#include "stress_actor.h"
#include "stress_calls.h"
#include "stress_meeting.h"
#include "stress_memory.h"

enum life_end {
	END_DRAIN,
	END_STOP,
	END_DESTROY,
	ENDS
};

enum {
	RECORDS = 32768,  /* of all threads together */
	RECORDS_MIN = 64, /* of one thread */
	WORKER_RECORDS = 1024,
	TURN_STEPS = 32,
	OTHERS_TURN_STEPS = 1024,
	/* How many steps are made on a stopped timer. */
	FAREWELL_STEPS = 256,
	LIMIT_SHARE = 8, /* max_pending is this part of the records */
	DRAIN_POLL_NS = 100000,
	DRAIN_WAIT_NS = 10000000
};

struct config {
	int drive;
	int engine;
	int shards;
	int64_t tick_ns;
	uint32_t cost; /* its lives are shorter by this factor */
};

#define THREAD TKW_DRIVE_THREAD
#define MANUAL TKW_DRIVE_MANUAL
#define HIER TKW_WHEEL_HIERARCHICAL
#define HASHED TKW_WHEEL_HASHED

/* With many threads, the second one takes up to ten times as long per timeout,
 * because its worker looks through full slots while all wait for one lock. */
static const struct config configs[] = {
	{ THREAD, HIER, 1, TKW_MSEC, 1 },
	{ THREAD, HASHED, 1, 10 * TKW_USEC, 8 },
	{ MANUAL, HIER, 1, 10 * TKW_USEC, 1 },
	{ THREAD, HIER, 2, 10 * TKW_USEC, 1 },
	{ THREAD, HASHED, 2, TKW_MSEC, 1 },
	{ MANUAL, HASHED, 1, TKW_MSEC, 1 },
	{ THREAD, HIER, 8, TKW_MSEC, 1 },
	{ THREAD, HASHED, 8, 10 * TKW_USEC, 1 },
};

enum {
	CONFIGS = sizeof(configs) / sizeof(configs[0])
};

struct life {
	const struct config *config;
	enum life_end end;
	bool rival;  /* two threads stop it */
	bool hooked; /* its memory is counted */
	uint32_t threads;
	uint64_t quota; /* timeouts of each thread */
	struct scene scene;
	struct actor
		actors[STRESS_THREADS_MAX + 1]; /* the last: the worker's */
	struct actor chief;                     /* the calling thread's */
	struct record *records;
	pthread_t ids[STRESS_THREADS_MAX];
	sem_t ripe; /* a thread has its quota */
	_Atomic bool is_ripe;
	_Atomic uint32_t stepping; /* threads that are not at rest */
	_Atomic uint32_t stops_won;
};

/* Too large for a stack; there is one life at a time. */
static struct life life;

uint64_t life_variants(void)
{
	return (uint64_t)CONFIGS * ENDS;
}

static const struct config *config_of(uint64_t number)
{
	return &configs[number % CONFIGS];
}

void life_describe(uint64_t number, char *buf, size_t size)
{
	const struct config *c = config_of(number);

	snprintf(buf, size, "%s, %s, shards %d, tick %" PRId64 " us",
		 c->drive == MANUAL ? "manual" : "thread",
		 c->engine == HASHED ? "hashed" : "hierarchical", c->shards,
		 c->tick_ns / TKW_USEC);
}

/* ---- begin ---- */

static void begin_actor(struct actor *a, uint64_t seed)
{
	memset(a, 0, sizeof(*a));
	a->scene = &life.scene;
	a->random = seed;
}

static uint32_t pool_size(uint64_t timeouts, uint32_t threads)
{
	uint64_t all = timeouts / 8 < RECORDS ? timeouts / 8 : RECORDS;
	uint32_t size = RECORDS_MIN;

	while ((uint64_t)size * 2 * threads <= all)
		size *= 2;
	return size;
}

static void begin_actors(const struct life_plan *plan, uint64_t *random)
{
	uint32_t size = pool_size(plan->timeouts, life.threads);
	struct record *next = life.records;
	uint32_t i;

	memset(life.records, 0,
	       (RECORDS + WORKER_RECORDS) * sizeof(struct record));
	begin_actor(&life.chief, choice_next(random));
	for (i = 0; i <= life.threads; i++) {
		struct actor *a = &life.actors[i];

		begin_actor(a, choice_next(random));
		a->is_worker = i == life.threads;
		a->is_auditor = i == 1;
		a->can_meet = i > 0 || life.config->drive == THREAD;
		if (a->is_worker)
			size = WORKER_RECORDS;
		a->pool = next;
		a->pool_mask = size - 1;
		next += size;
	}
	life.scene.actors = life.actors;
	life.scene.actor_count = life.threads + 1;
	actor_enter(&life.chief);
	actor_set_worker(&life.actors[life.threads]);
}

static void make_timer(void)
{
	static const struct tkw_timer_hooks hooks = { .alloc = stress_alloc,
						      .free = stress_free };
	struct tkw_timer_config cfg = {
		.size = sizeof(cfg),
		.tick_ns = life.config->tick_ns,
		.engine = life.config->engine,
		.drive = life.config->drive,
		.shards = life.config->shards,
		.max_pending = life.scene.max_pending,
		.thread_name = "stress",
		.hooks = life.hooked ? &hooks : NULL,
	};
	int err = tkw_timer_create(&life.scene.timer, &cfg);

	if (err) {
		fprintf(stderr, "FAILED: tkw_timer_create: %d\n", err);
		exit(1);
	}
}

/* Two to four threads, and in one of eight lives up to eight. With more threads
 * than CPUs, most of the time is spent on switching between them. */
static uint32_t pick_threads(uint64_t dice)
{
	return 2 + (uint32_t)(dice >> 3) % (dice & 7 ? 3 : 7);
}

static void begin(const struct life_plan *plan)
{
	uint64_t random = plan->seed + plan->number;
	struct record *records = life.records;
	uint64_t dice = choice_next(&random);

	memset(&life, 0, sizeof(life));
	life.records = records;
	life.config = config_of(plan->number);
	life.end = (enum life_end)(plan->number / CONFIGS % ENDS);
	life.rival = dice & 1;
	life.hooked = dice & 2;
	life.threads = plan->threads;
	if (life.threads == 0)
		life.threads = pick_threads(dice >> 32);
	life.quota = plan->timeouts / life.config->cost / life.threads + 1;
	life.scene.manual = life.config->drive == MANUAL;
	life.scene.tick_ns = life.config->tick_ns;
	life.scene.always_on_cancel = life.end == END_DESTROY;
	life.scene.limited = (dice & 28) == 0;
	sem_init(&life.ripe, 0, 0);
	begin_actors(plan, &random);
	if (life.scene.limited)
		life.scene.max_pending =
			(int64_t)(life.actors[0].pool_mask + 1) * life.threads /
			LIMIT_SHARE;
	make_timer();
}

/* ---- the threads ---- */

static void stop_it(struct actor *a)
{
	int err;

	atomic_store_explicit(&life.scene.stopping, true, memory_order_relaxed);
	err = tkw_timer_stop(life.scene.timer, actor_visit, NULL);
	if (err == 0) {
		atomic_store_explicit(&life.scene.stopped, true,
				      memory_order_relaxed);
		atomic_fetch_add_explicit(&life.stops_won, 1,
					  memory_order_relaxed);
	} else if (err == 1) {
		a->counts.n[STRESS_STOP_LOST]++;
	} else {
		stress_fault(STRESS_ANSWER, "stop: %d", err);
	}
}

/* Called when a thread has its quota. The first one posts life.ripe. */
static void ripen(struct actor *a)
{
	if (atomic_exchange_explicit(&life.is_ripe, true, memory_order_relaxed))
		return;
	sem_post(&life.ripe);
	if (life.rival && life.end == END_STOP)
		stop_it(a);
}

static void step_and_turn(struct actor *a)
{
	uint64_t every = a == &life.actors[0] ? TURN_STEPS : OTHERS_TURN_STEPS;

	actor_step(a);
	if (life.scene.manual && a->steps % every == 0)
		actor_turn(a);
}

static void step_to_the_end(struct actor *a)
{
	int farewell = FAREWELL_STEPS;
	bool full = false;

	while (!full || life.end == END_STOP) {
		step_and_turn(a);
		if (!full && a->counts.n[STRESS_ACCEPTED] >= life.quota) {
			full = true;
			ripen(a);
		}
		if (a->was_refused && farewell-- == 0)
			break;
	}
}

static void *act(void *arg)
{
	struct actor *a = arg;

	actor_enter(a);
	a->now_ns = tkw_timer_now_ns(life.scene.timer);
	if (!life.scene.manual)
		meeting_drill(a, life.threads);
	step_to_the_end(a);
	actor_leave(a);
	atomic_fetch_sub_explicit(&life.stepping, 1, memory_order_relaxed);
	/* Other threads may wait until their tasks run. A stop hands them
	 * over. */
	while (life.scene.manual && a == &life.actors[0] &&
	       life.end != END_STOP &&
	       atomic_load_explicit(&life.stepping, memory_order_relaxed) > 0) {
		actor_turn(a);
		sched_yield();
	}
	return NULL;
}

static void start_threads(void)
{
	uint32_t i;

	atomic_store_explicit(&life.stepping, life.threads,
			      memory_order_relaxed);
	for (i = 0; i < life.threads; i++) {
		int err = pthread_create(&life.ids[i], NULL, act,
					 &life.actors[i]);

		if (err) {
			fprintf(stderr, "FAILED: pthread_create: %s\n",
				strerror(err));
			exit(1);
		}
	}
}

/* ---- ends ---- */

/* Checks the law while the timer drains. Returns false after a fault, because
 * a timeout that got lost would be waited for without end. */
static bool is_well(void)
{
	call_ledger(&life.chief);
	return stress_faults() == 0;
}

static void drain_by_hand(void)
{
	static const struct timespec poll = { 0, DRAIN_POLL_NS };

	do {
		actor_cancel_far(&life.chief);
		actor_turn(&life.chief);
		nanosleep(&poll, NULL);
	} while (tkw_timer_count(life.scene.timer) > 0 && is_well());
}

/* Checks that nothing is pending, and no callback is running. */
static void look_at_the_idle(void)
{
	if (tkw_timer_count(life.scene.timer) != 0)
		stress_fault(STRESS_UNENDED, "pending after wait_idle");
	for (uint32_t i = 0; i < life.scene.actor_count; i++) {
		const struct actor *a = &life.actors[i];

		for (uint32_t j = 0; j <= a->pool_mask; j++) {
			if (!record_is_over(&a->pool[j]))
				stress_fault(STRESS_UNENDED,
					     "not over after wait_idle");
		}
	}
}

static void drain_by_waiting(void)
{
	int err;

	do {
		/* A running task may have scheduled one more. */
		actor_cancel_far(&life.chief);
		err = tkw_timer_wait_idle(life.scene.timer, DRAIN_WAIT_NS);
	} while (err == -ETIMEDOUT && is_well());
	if (err != 0)
		stress_fault(STRESS_ANSWER, "wait_idle: %d", err);
	look_at_the_idle();
	life.chief.counts.n[STRESS_IDLE]++;
}

static void drain(void)
{
	atomic_store_explicit(&life.scene.quiet, true, memory_order_relaxed);
	if (life.scene.manual)
		drain_by_hand();
	else
		drain_by_waiting();
	stop_it(&life.chief);
	life.chief.counts.n[STRESS_DRAINED]++;
}

static uint64_t seen(const struct stress_counts *c, enum stress_kind kind)
{
	return c->n[kind];
}

static void compare_ledger(const struct stress_counts *c)
{
	struct tkw_ledger l;
	int err = tkw_timer_get_ledger(life.scene.timer, &l);

	if (err)
		stress_fault(STRESS_ANSWER, "ledger: %d", err);
	else if (l.accepted != seen(c, STRESS_ACCEPTED) ||
		 l.fired != seen(c, STRESS_FIRED) ||
		 l.cancelled != seen(c, STRESS_CANCEL_WON) +
					seen(c, STRESS_WAIT_WON) ||
		 l.handed_over != seen(c, STRESS_HANDED_OVER) ||
		 l.dropped != 0 || l.pending != 0 ||
		 tkw_timer_count(life.scene.timer) != 0 ||
		 l.accepted != l.fired + l.cancelled + l.handed_over)
		stress_fault(STRESS_LAW,
			     "%" PRIu64 " accepted, %" PRIu64 " fired, %" PRIu64
			     " cancelled, %" PRIu64 " handed over, %" PRIu64
			     " pending in the end; %" PRIu64 " seen to fire",
			     l.accepted, l.fired, l.cancelled, l.handed_over,
			     l.pending, seen(c, STRESS_FIRED));
}

/* Checks that the timer is stopped, by one stop only. */
static void look_at_the_stopped(const struct stress_counts *c)
{
	struct tkw_timer *t = life.scene.timer;
	const char *broken = tkw_timer_check(t);
	uint32_t won =
		atomic_load_explicit(&life.stops_won, memory_order_relaxed);

	if (broken)
		stress_fault(STRESS_UNSOUND, "%s", broken);
	if (won != 1)
		stress_fault(STRESS_ANSWER, "stop won %" PRIu32 " times", won);
	if (tkw_timer_stop(t, actor_visit, NULL) != 1)
		stress_fault(STRESS_ANSWER, "another stop did not say 1");
	if (tkw_timer_start(t) != -ESHUTDOWN)
		stress_fault(STRESS_ANSWER, "start after stop");
	if (!life.scene.manual && tkw_timer_wait_idle(t, TKW_NEVER_NS) != 0)
		stress_fault(STRESS_ANSWER, "wait_idle after stop");
	compare_ledger(c);
}

static void judge_record(struct record *r)
{
	uint32_t s = atomic_load_explicit(&r->state, memory_order_acquire);

	if (life.end == END_DESTROY && s == (RECORD_ARMED | RECORD_ON_CANCEL))
		life.chief.counts.n[STRESS_ENDED_BY_DESTROY]++;
	else
		record_judge(r);
}

static void judge_records(void)
{
	uint32_t i, j;

	for (i = 0; i <= life.threads; i++) {
		for (j = 0; j <= life.actors[i].pool_mask; j++)
			judge_record(&life.actors[i].pool[j]);
		judge_record(&life.actors[i].meeting.record);
	}
	judge_record(&life.chief.meeting.record);
}

static void sum_up(struct stress_counts *sum)
{
	uint32_t i;

	memset(sum, 0, sizeof(*sum));
	stress_merge(sum, &life.chief.counts);
	for (i = 0; i <= life.threads; i++)
		stress_merge(sum, &life.actors[i].counts);
}

static void judge_sums(const struct stress_counts *c)
{
	uint64_t ended = seen(c, STRESS_FIRED) + seen(c, STRESS_CANCEL_WON) +
			 seen(c, STRESS_WAIT_WON) +
			 seen(c, STRESS_HANDED_OVER) +
			 seen(c, STRESS_ENDED_BY_DESTROY);

	if (seen(c, STRESS_ACCEPTED) != ended)
		stress_fault(STRESS_LAW,
			     "%" PRIu64 " accepted, %" PRIu64 " seen to end",
			     seen(c, STRESS_ACCEPTED), ended);
}

static void end(struct stress_counts *sum)
{
	uint32_t i;
	int err;

	if (life.end == END_STOP) {
		while (sem_wait(&life.ripe) != 0)
			;
		if (!life.rival)
			meeting_before_stop(&life.chief);
		stop_it(&life.chief);
		life.chief.counts.n[STRESS_STOPPED]++;
	}
	for (i = 0; i < life.threads; i++)
		pthread_join(life.ids[i], NULL);
	if (life.end == END_DRAIN)
		drain();
	if (life.end != END_DESTROY) {
		sum_up(sum);
		look_at_the_stopped(sum);
	}
	/* Destroy waits for tasks, and a refusal is legal in those. */
	atomic_store_explicit(&life.scene.stopping, true, memory_order_relaxed);
	err = tkw_timer_destroy(life.scene.timer);
	if (err)
		stress_fault(STRESS_ANSWER, "destroy: %d", err);
	life.chief.counts.n[STRESS_DESTROYED] += life.end == END_DESTROY;
	life.chief.counts.n[STRESS_LIFE]++;
}

void life_run(const struct life_plan *plan, struct stress_counts *total)
{
	struct stress_counts sum;

	if (!life.records)
		life.records = aligned_alloc(alignof(struct record),
					     (RECORDS + WORKER_RECORDS) *
						     sizeof(struct record));
	if (!life.records)
		abort();
	begin(plan);
	start_threads();
	end(&sum);
	judge_records();
	sum_up(&sum);
	judge_sums(&sum);
	if (life.hooked)
		stress_nothing_leaked();
	sem_destroy(&life.ripe);
	stress_merge(total, &sum);
}
