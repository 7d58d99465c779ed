/* SPDX-License-Identifier: MIT */
/*
 * stress_stop.c - rounds of stop against schedule.
 *
 * Idea:  in each round, threads schedule on a new timer as fast as they can.
 * The calling thread stops it when a few timeouts were accepted. Each accepted
 * timeout must have fired or been handed over, once. Each thread goes on until
 * it is refused. The threads live for all rounds and meet at barriers. Turns:
 * with the manual drive, the first thread makes turns between its schedules.
 */
#define _POSIX_C_SOURCE 200809L /* barriers, sched_yield */
#include "stress_stop.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "stress_memory.h"
#include "stress_record.h"

enum {
	THREADS_MAX = 4,
	RECORDS = 256,
	NEAR_NS = 100000
};

struct scheduler {
	alignas(64) uint64_t random;
	pthread_t thread;
	_Atomic uint32_t accepted;
	uint32_t stop_after; /* how many accepted, until it stops, too */
	int stop_said;       /* its result; -1 if it made no stop */
	uint64_t refused;
	struct record records[RECORDS];
};

struct contest {
	struct tkw_timer *timer;
	bool manual;
	bool over;       /* no more rounds */
	bool start_race; /* the threads start the worker by hand */
	uint32_t threads;
	int64_t seen_ns; /* read by tasks */
	uint64_t visited;
	pthread_barrier_t begin;
	pthread_barrier_t end;
	struct scheduler schedulers[THREADS_MAX];
};

static struct contest contest;

static const struct tkw_timer_config configs[] = {
	{ .engine = TKW_WHEEL_HASHED,
	  .shards = 1,
	  .slots = 16,
	  .tick_ns = 10 * TKW_USEC },
	{ .engine = TKW_WHEEL_HASHED, .shards = 1, .slots = 8 },
	{ .engine = TKW_WHEEL_HASHED,
	  .drive = TKW_DRIVE_MANUAL,
	  .slots = 16,
	  .tick_ns = TKW_USEC },
	{ .shards = 2, .tick_ns = 10 * TKW_USEC },
	{ .engine = TKW_WHEEL_HASHED, .shards = 2, .slots = 4 },
	{ .shards = 2 },
};

enum {
	CONFIGS = sizeof(configs) / sizeof(configs[0])
};

/* ---- callbacks ---- */

static void run_task(const struct tkw_firing *f, void *ctx)
{
	struct record *r = ctx;

	record_fired(r, f, &contest.seen_ns);
	record_done(r);
}

static void on_cancel(void *ctx)
{
	record_on_cancel(ctx);
}

/* The visitor of the stop that wins. */
static void visit(const struct tkw_timeout_info *info, void *ctx)
{
	(void)ctx;
	contest.visited++;
	record_handed(info->task.ctx);
}

/* ---- a thread's part ---- */

/* Returns false if the timer was stopped. */
static bool schedule_one(struct scheduler *s, struct record *r, int64_t now_ns)
{
	uint64_t dice = choice_next(&s->random);
	int64_t delay_ns = (int64_t)(dice >> 32) % NEAR_NS;
	struct tkw_task task = { .fn = run_task, .ctx = r };
	struct tkw_timeout_id id;
	int err;

	if (dice & 1)
		delay_ns = 0;
	else if ((dice & 6) == 0)
		delay_ns = TKW_NEVER_NS - now_ns;
	r->has_on_cancel = dice & 8;
	if (r->has_on_cancel)
		task.on_cancel = on_cancel;
	record_arm(r, now_ns + delay_ns, false);
	err = tkw_timer_schedule(contest.timer, &task, delay_ns, &id);
	if (err == 0) {
		atomic_store_explicit(&r->id, id, memory_order_relaxed);
		return true;
	}
	record_disarm(r);
	s->refused++;
	if (err != -ESHUTDOWN)
		stress_fault(STRESS_ANSWER, "schedule against stop: %d", err);
	if (!tkw_timer_is_stopped(contest.timer))
		stress_fault(STRESS_ANSWER, "refused, and not stopped");
	return false;
}

static void turn(const struct scheduler *s)
{
	int err;

	if (!contest.manual || s != &contest.schedulers[0])
		return;
	err = tkw_timer_turn(contest.timer, 0, NULL);
	if (err < 0 && err != -ESHUTDOWN)
		stress_fault(STRESS_ANSWER, "turn against stop: %d", err);
}

static void stop_too(struct scheduler *s)
{
	s->stop_said = tkw_timer_stop(contest.timer, visit, NULL);
	if (s->stop_said != 0 && s->stop_said != 1)
		stress_fault(STRESS_ANSWER, "stop: %d", s->stop_said);
}

static void schedule_until_refused(struct scheduler *s)
{
	int64_t now_ns = tkw_timer_now_ns(contest.timer);
	uint32_t i;
	int err;

	if (contest.start_race) {
		err = tkw_timer_start(contest.timer);
		if (err != 0 && err != -ESHUTDOWN)
			stress_fault(STRESS_ANSWER, "start: %d", err);
	}
	for (i = 0; i < RECORDS - 1; i++) {
		if (i == s->stop_after)
			stop_too(s);
		if (!schedule_one(s, &s->records[i], now_ns))
			return;
		atomic_store_explicit(&s->accepted, i + 1,
				      memory_order_relaxed);
		turn(s);
	}
	/* No records are left but the last one, which is for the refusal. */
	while (!tkw_timer_is_stopped(contest.timer)) {
		turn(s);
		sched_yield();
	}
	if (schedule_one(s, &s->records[i], now_ns))
		stress_fault(STRESS_ANSWER, "accepted after stop");
}

static void *keep_scheduling(void *arg)
{
	struct scheduler *s = arg;

	for (;;) {
		pthread_barrier_wait(&contest.begin);
		if (contest.over)
			return NULL;
		schedule_until_refused(s);
		pthread_barrier_wait(&contest.end);
	}
}

/* ---- the stopper's part ---- */

static uint32_t accepted_so_far(void)
{
	uint32_t sum = 0;
	uint32_t i;

	for (i = 0; i < contest.threads; i++)
		sum += atomic_load_explicit(&contest.schedulers[i].accepted,
					    memory_order_relaxed);
	return sum;
}

static void begin_round(uint64_t round, uint64_t dice)
{
	static const struct tkw_timer_hooks hooks = { .alloc = stress_alloc,
						      .free = stress_free };
	struct tkw_timer_config cfg = configs[round % CONFIGS];
	uint32_t i;
	int err;

	cfg.size = sizeof(cfg);
	cfg.hooks = &hooks;
	err = tkw_timer_create(&contest.timer, &cfg);
	if (err) {
		fprintf(stderr, "FAILED: tkw_timer_create: %d\n", err);
		exit(1);
	}
	contest.manual = cfg.drive == TKW_DRIVE_MANUAL;
	contest.start_race = (dice & 7) == 0;
	contest.seen_ns = 0;
	contest.visited = 0;
	for (i = 0; i < contest.threads; i++) {
		struct scheduler *s = &contest.schedulers[i];

		atomic_store_explicit(&s->accepted, 0, memory_order_relaxed);
		s->refused = 0;
		s->stop_said = -1;
		s->stop_after = UINT32_MAX;
	}
	/* Sometimes a second thread stops it, too. */
	if ((dice & 24) == 0)
		contest.schedulers[1].stop_after = (dice >> 8) % 64;
}

/* Checks what happened to the timeouts of a thread. */
static void judge_scheduler(struct scheduler *s, struct stress_counts *c)
{
	uint32_t n = atomic_load_explicit(&s->accepted, memory_order_relaxed);
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct record *r = &s->records[i];
		uint32_t state =
			atomic_load_explicit(&r->state, memory_order_acquire);

		record_judge(r);
		c->n[STRESS_ROUND_FIRED] += (state & RECORD_FIRED) != 0;
		c->n[STRESS_ROUND_HANDED_OVER] += (state & RECORD_HANDED) != 0;
		c->n[STRESS_ROUND_ON_CANCEL] += (state & RECORD_ON_CANCEL) != 0;
	}
	c->n[STRESS_ROUND_ACCEPTED] += n;
	c->n[STRESS_ROUND_REFUSED] += s->refused;
	c->n[STRESS_ROUND_STOP_LOST] += s->stop_said == 1;
	if (s->refused != 1)
		stress_fault(STRESS_ANSWER, "refused %" PRIu64 " times",
			     s->refused);
}

static void judge_ledger(const struct stress_counts *c)
{
	struct tkw_ledger l;
	int err = tkw_timer_get_ledger(contest.timer, &l);

	if (err)
		stress_fault(STRESS_ANSWER, "ledger: %d", err);
	else if (l.accepted != c->n[STRESS_ROUND_ACCEPTED] ||
		 l.fired != c->n[STRESS_ROUND_FIRED] ||
		 l.handed_over != c->n[STRESS_ROUND_HANDED_OVER] ||
		 l.handed_over != contest.visited || l.cancelled != 0 ||
		 l.dropped != 0 || l.pending != 0 ||
		 tkw_timer_count(contest.timer) != 0 ||
		 l.accepted != l.fired + l.handed_over)
		stress_fault(STRESS_LAW,
			     "%" PRIu64 " accepted, %" PRIu64 " fired, %" PRIu64
			     " handed over, %" PRIu64 " visited, %" PRIu64
			     " pending after stop",
			     l.accepted, l.fired, l.handed_over,
			     contest.visited, l.pending);
}

static void judge_round(int stop_said, struct stress_counts *total)
{
	const char *broken = tkw_timer_check(contest.timer);
	struct stress_counts c;
	uint32_t won = stop_said == 0;
	uint32_t i;

	memset(&c, 0, sizeof(c));
	for (i = 0; i < contest.threads; i++) {
		judge_scheduler(&contest.schedulers[i], &c);
		won += contest.schedulers[i].stop_said == 0;
	}
	if (won != 1)
		stress_fault(STRESS_ANSWER, "stop won %" PRIu32 " times", won);
	if (broken)
		stress_fault(STRESS_UNSOUND, "%s", broken);
	judge_ledger(&c);
	c.n[STRESS_ROUND]++;
	c.n[STRESS_ROUND_STOP_LOST] += stop_said == 1;
	c.n[STRESS_ROUND_MIXED] += c.n[STRESS_ROUND_FIRED] > 0 &&
				   c.n[STRESS_ROUND_HANDED_OVER] > 0;
	stress_merge(total, &c);
}

static void run_round(uint64_t round, uint64_t dice,
		      struct stress_counts *total)
{
	/* From none to some, and small numbers more often. */
	uint32_t enough = (uint32_t)(dice >> 32) % (1U << (dice >> 16) % 9);
	int said;

	begin_round(round, dice);
	pthread_barrier_wait(&contest.begin);
	while (accepted_so_far() < enough &&
	       !tkw_timer_is_stopped(contest.timer))
		sched_yield();
	said = tkw_timer_stop(contest.timer, visit, NULL);
	if (said != 0 && said != 1)
		stress_fault(STRESS_ANSWER, "stop: %d", said);
	pthread_barrier_wait(&contest.end);
	judge_round(said, total);
	if (tkw_timer_destroy(contest.timer) != 0)
		stress_fault(STRESS_ANSWER, "destroy after a round");
	stress_nothing_leaked();
}

static void open_contest(uint32_t threads, uint64_t *random)
{
	uint32_t i;

	memset(&contest, 0, sizeof(contest));
	contest.threads = threads;
	pthread_barrier_init(&contest.begin, NULL, threads + 1);
	pthread_barrier_init(&contest.end, NULL, threads + 1);
	for (i = 0; i < threads; i++) {
		struct scheduler *s = &contest.schedulers[i];
		int err;

		s->random = choice_next(random);
		err = pthread_create(&s->thread, NULL, keep_scheduling, s);
		if (err) {
			fprintf(stderr, "FAILED: pthread_create: %s\n",
				strerror(err));
			exit(1);
		}
	}
}

static void close_contest(void)
{
	uint32_t i;

	contest.over = true;
	pthread_barrier_wait(&contest.begin);
	for (i = 0; i < contest.threads; i++)
		pthread_join(contest.schedulers[i].thread, NULL);
	pthread_barrier_destroy(&contest.begin);
	pthread_barrier_destroy(&contest.end);
}

void stop_rounds(uint64_t rounds, uint32_t threads, uint64_t seed,
		 struct stress_counts *total)
{
	uint64_t random = seed;
	uint64_t i;

	open_contest(threads, &random);
	for (i = 0; i < rounds; i++)
		run_round(i, choice_next(&random), total);
	close_contest();
}
