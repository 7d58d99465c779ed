/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_kill.c - a process is killed while several of its threads use a
 * file; what it was told must be in the file. In a second test the power is cut
 * as well: what was not synced is lost. In some rounds a write finds no room.
 *
 * TKW_QUEUE_KILLS in the environment says how many kills the first test makes;
 * the second makes a quarter of them. TKW_SEED says which.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "queue_fault_bed.h"

enum {
	KILLS = 1000,
	KILLS_PER_CUT = 4,
	MAX_MORE = 6000, /* until all has happened that must */
	ROUNDS_PER_FILE = 50,
	MAX_US = 50000,  /* how long a process lives */
	STATS_EACH = 4,  /* calls */
	FULL_EACH = 3,   /* rounds */
	FULL_WRITES = 20 /* one of the first so many writes finds no room */
};

struct tally {
	uint64_t rounds;
	uint64_t in_commit;
	uint64_t in_open;
	uint64_t shared;
	uint64_t torn;
	uint64_t lost_writes;
	uint64_t in_flight;
	uint64_t calls;
	uint64_t leases;  /* held when the process was killed */
	uint64_t refused; /* puts that found no room */
	uint64_t cut;     /* calls answered before all unsynced was lost */
};

/* --- the process that is killed ------------------------------------------- */

static void *run_worker(void *arg)
{
	struct crew_worker *w = arg;
	struct crew_share *s = w->share;
	struct tkw_queue_stats stats;

	for (uint32_t n = 0; !s->broken[0]; n++) {
		int err = crew_work(w);

		if (err < 0 && err != -ENOSPC)
			snprintf(s->broken, sizeof(s->broken), "error %d",
				 -err);
		if (w->notes->count == CREW_CALLS)
			pause();
		if (n % STATS_EACH != 0 || tkw_queue_get_stats(w->q, &stats))
			continue;
		__atomic_store_n(&s->commits, stats.commits, __ATOMIC_RELAXED);
		__atomic_store_n(&s->commit_calls, stats.commit_calls,
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

/* full  The number of the write that finds no room, or 0. */
static void run_child(struct queue_fault_bed *b, uint64_t seed, uint64_t full)
{
	struct shim_plan plan = { .call = SHIM_WRITE,
				  .act = SHIM_FAIL,
				  .at = full,
				  .code = SQLITE_FULL };
	static struct crew_worker worker[CREW_WORKERS];
	pthread_t thread[CREW_WORKERS];
	struct crew_share *s = b->share;
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[100];
	int err;

	shim_vfs_install();
	shim_vfs_watch(crew_watch, s);
	err = crew_open(&f, &q, b->path, why, sizeof(why));
	if (err) {
		snprintf(s->broken, sizeof(s->broken), "open: %d: %s", err,
			 why);
		_exit(1);
	}
	shim_vfs_plan(&plan);
	for (int i = 0; i < CREW_WORKERS; i++) {
		worker[i] =
			(struct crew_worker){ .share = s,
					      .notes = &s->notes[i],
					      .q = q,
					      .random = seed + (uint64_t)i };
		if (pthread_create(&thread[i], NULL, run_worker, &worker[i]))
			_exit(1);
	}
	__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < CREW_WORKERS; i++)
		pthread_join(thread[i], NULL);
	_exit(1);
}

/* --- the one that kills --------------------------------------------------- */

/* Lets a process work for a random time, and kills it. */
static void run_and_kill(struct queue_fault_bed *b, uint64_t *random)
{
	bool early = crew_below(random, 10) == 0;
	uint64_t seed = crew_random(random);
	uint64_t full = crew_below(random, FULL_EACH) == 0
				? 1 + crew_below(random, FULL_WRITES)
				: 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		run_child(b, seed, full);
	while (!early && !b->share->broken[0] &&
	       !__atomic_load_n(&b->share->ready, __ATOMIC_ACQUIRE))
		usleep(200);
	/* Most lives are short. */
	usleep((useconds_t)crew_below(random, 1 + crew_below(random, MAX_US)));
	queue_fault_kill(child);
}

static uint64_t leases_of(const struct truth *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct truth_item *it = &t->item[i];

		n += it->claim == TRUTH_HELD && !it->carried && !it->ended &&
		     !it->doubt;
	}
	return n;
}

static void count_round(struct queue_fault_bed *b, enum queue_fault_cut cut,
			struct tally *t)
{
	const struct crew_share *s = b->share;
	uint64_t calls = 0;

	t->rounds++;
	t->in_commit += s->in_commit;
	t->in_open += !s->ready;
	t->shared += s->commit_calls > s->commits;
	t->torn += queue_fault_has_torn_tail(b);
	t->in_flight += b->truth.in_flight;
	t->leases += leases_of(&b->truth);
	t->refused += s->refused;
	for (int i = 0; i < CREW_WORKERS; i++)
		calls += s->notes[i].count;
	t->calls += calls;
	if (cut == QUEUE_FAULT_CUT_ALL)
		t->cut += calls - b->truth.in_flight;
}

static void run_round(struct queue_fault_bed *b, enum queue_fault_cut cut,
		      uint64_t *random, struct tally *t)
{
	if (t->rounds % ROUNDS_PER_FILE == ROUNDS_PER_FILE - 1)
		queue_fault_start_again(b);
	crew_share_reset(b->share);
	run_and_kill(b, random);
	if (b->share->broken[0])
		fail_msg("round %llu: %s", (unsigned long long)t->rounds,
			 b->share->broken);
	t->lost_writes += queue_fault_cut_power(b, cut, crew_random(random));
	truth_read(&b->truth, b->share);
	count_round(b, cut, t);
	queue_fault_verify_at(b, t->rounds);
}

static void print_tally(const struct tally *t)
{
	print_message("rounds %llu, calls %llu, in flight %llu\n",
		      (unsigned long long)t->rounds,
		      (unsigned long long)t->calls,
		      (unsigned long long)t->in_flight);
	print_message("kills inside a commit %llu, inside the open %llu\n",
		      (unsigned long long)t->in_commit,
		      (unsigned long long)t->in_open);
	print_message("rounds with shared commits %llu, torn tails %llu, "
		      "lost writes %llu\n",
		      (unsigned long long)t->shared,
		      (unsigned long long)t->torn,
		      (unsigned long long)t->lost_writes);
	print_message("leases held %llu, puts without room %llu, calls before "
		      "all unsynced was lost %llu\n",
		      (unsigned long long)t->leases,
		      (unsigned long long)t->refused,
		      (unsigned long long)t->cut);
}

/* All has happened that a run is for. */
static bool is_enough(const struct tally *t, bool cuts)
{
	return t->in_commit && t->shared && t->torn && t->in_flight &&
	       t->leases && (cuts ? t->lost_writes && t->cut : t->refused);
}

static void run_rounds(struct queue_fault_bed *b, uint64_t rounds, bool cuts)
{
	uint64_t random = queue_fault_seed();
	struct tally t = { 0 };

	while (t.rounds < rounds || !is_enough(&t, cuts)) {
		enum queue_fault_cut cut = QUEUE_FAULT_NO_CUT;

		if (cuts)
			cut = t.rounds % 2 ? QUEUE_FAULT_CUT_ALL
					   : QUEUE_FAULT_CUT_SOME;
		run_round(b, cut, &random, &t);
		if (t.rounds > rounds + MAX_MORE)
			break;
	}
	print_tally(&t);
	assert_true(is_enough(&t, cuts));
}

static void fault_queue_killed_at_random_moments(void **state)
{
	run_rounds(*state, queue_fault_number("TKW_QUEUE_KILLS", KILLS), false);
}

static void fault_queue_power_cut_at_random_moments(void **state)
{
	uint64_t kills = queue_fault_number("TKW_QUEUE_KILLS", KILLS);

	run_rounds(*state, kills / KILLS_PER_CUT, true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_killed_at_random_moments),
		QUEUE_FAULT(fault_queue_power_cut_at_random_moments),
	};

	queue_fault_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
