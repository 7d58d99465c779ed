/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_plans.c - a process is killed around the planned times of a file.
 * After each kill, each planned time has exactly one item, what was acked is
 * gone, and nothing is missing.
 *
 * Two plans have the same times. The next item of plan `a` is put by a take,
 * and that of plan `b` by an ack. No time is missed and none is left out, so
 * the items of a plan are those of its times, one after the other. The clock is
 * a number in shared memory, which the workers move, also back.
 *
 * TKW_QUEUE_KILLS in the environment says how many random kills are made.
 * TKW_SEED says which. TKW_PROGRAM is the path of tkw.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queue_fault_bed.h"
#include "skips.h"

#define START_MS INT64_C(1700000000000)
#define PERIOD_MS INT64_C(10000)
#define T(n) (START_MS + (n)*PERIOD_MS)

enum {
	KILLS = 200,
	MAX_US = 50000, /* how long a process lives */
	ROUNDS_PER_FILE = 40,
	PLANS = 2,
	TIMES = 1 << 14, /* of a plan, in one file */
	WORKERS = 4,
	SOCKET_WORKERS = 3,
	SOCKET_KILLS = 20,
	MIN_SITES = 40
};

/* What is known of a planned time. */
struct time_note {
	uint64_t id;    /* of its item; atomic */
	uint64_t taken; /* the latest token of its item; atomic */
	uint64_t acked; /* the token that ended its item; atomic */
	uint32_t asks;  /* an ack was asked for; atomic */
};

/* In memory that outlives the process. */
struct plan_notes {
	int64_t now_ms; /* atomic */
	uint32_t ready; /* atomic */
	uint32_t unplan_asked;
	uint32_t unplanned;
	uint32_t made[PLANS];
	char broken[128];
	struct time_note time[PLANS][TIMES];
};

static struct plan_notes *notes;

static const char *const names[PLANS] = { "a", "b" };

static int64_t now_us(void *ctx)
{
	(void)ctx;
	return __atomic_load_n(&notes->now_ms, __ATOMIC_RELAXED) * 1000;
}

static void pass(int64_t ms)
{
	__atomic_fetch_add(&notes->now_ms, ms, __ATOMIC_RELAXED);
}

static char why[256]; /* of the last open */

static int open_file(struct queue_fault_bed *b, struct tkw_queues **f,
		     struct tkw_queue **q)
{
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .reserve_bytes = 64 << 10,
					 .now_us = now_us,
					 .no_socket = 1,
					 .error = why,
					 .error_size = sizeof(why) };
	int err = tkw_queues_open(f, b->path, &cfg);

	return err ? err : tkw_queue_open(q, *f, "q");
}

/* --- calls ---------------------------------------------------------------- */

static int make_plan(struct tkw_queue *q, int i)
{
	struct tkw_queue_plan_spec p = {
		.name = names[i],
		/* From T(1) on. The clock may go back behind START_MS. */
		.text = "every 10s from 2023-11-14T22:13:30Z",
		.payload = "work",
		.payload_len = 4,
		.grace_ms = INT64_MAX,
		.overlap = TKW_OVERLAP_ALLOW,
		.next_on_ack = i,
	};
	int err = tkw_queue_plan(q, &p, NULL, NULL);

	if (!err)
		notes->made[i] = 1;
	return err;
}

static void complain(const char *what, int64_t planned_ms)
{
	snprintf(notes->broken, sizeof(notes->broken), "%s: %" PRId64, what,
		 planned_ms);
}

/* Finds the plan and the time of an item. */
static bool find_time(const struct tkw_item *it, int *plan, int64_t *n)
{
	*n = (it->planned_ms - START_MS) / PERIOD_MS;
	if (*n < 1 || *n >= TIMES || it->planned_ms != T(*n) || !it->key) {
		complain("no time of the plan", it->planned_ms);
		return false;
	}
	*plan = ((const char *)it->key)[0] - 'a';
	return true;
}

/* An item has been seen. */
static struct time_note *note_item(const struct tkw_item *it)
{
	struct time_note *note;
	uint64_t id = 0;
	int64_t n;
	int plan;

	if (!find_time(it, &plan, &n))
		return NULL;
	note = &notes->time[plan][n];
	if (!__atomic_compare_exchange_n(&note->id, &id, it->claim.id.bits,
					 false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED) &&
	    id != it->claim.id.bits)
		complain("two items of a time", it->planned_ms);
	return note;
}

/* Each take has a later token, and an ack ends the item that has its token. So
 * no take has a later token than the ack.
 *
 * The order of the notes proves nothing. A call has returned before its note is
 * made. If a lease is short, another thread may take the item and ack it
 * between a take and its note. */
static void check_tokens(const struct time_note *note, int64_t planned_ms)
{
	/* A take and an ack write their own token before they read the other
	 * one. All is sequentially consistent, so one of them sees both. */
	uint64_t acked = __atomic_load_n(&note->acked, __ATOMIC_SEQ_CST);
	uint64_t taken = __atomic_load_n(&note->taken, __ATOMIC_SEQ_CST);

	if (acked && taken > acked)
		complain("an acked time comes again", planned_ms);
}

/* An item has been taken. */
static struct time_note *note_take(const struct tkw_item *it)
{
	struct time_note *note = note_item(it);
	uint64_t token = it->claim.token;
	uint64_t taken;

	if (!note)
		return NULL;
	taken = __atomic_load_n(&note->taken, __ATOMIC_SEQ_CST);
	while (taken < token &&
	       !__atomic_compare_exchange_n(&note->taken, &taken, token, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	check_tokens(note, it->planned_ms);
	return note;
}

static int ack(struct tkw_queue *q, const struct tkw_item *it,
	       struct time_note *note)
{
	int n;

	__atomic_fetch_add(&note->asks, 1, __ATOMIC_RELEASE);
	n = tkw_queue_ack(q, &it->claim, 1, NULL);
	if (n == 1) {
		if (__atomic_exchange_n(&note->acked, it->claim.token,
					__ATOMIC_SEQ_CST))
			complain("a time was acked twice", it->planned_ms);
		check_tokens(note, it->planned_ms);
	}
	if (n == 0) /* its lease was short, and this ack has changed nothing */
		__atomic_fetch_sub(&note->asks, 1, __ATOMIC_RELEASE);
	return n;
}

/* Takes an item, and acks or nacks it, or keeps it. */
static int work_once(struct tkw_queue *q, uint64_t random)
{
	struct tkw_take how = { .lease_ms = random % 8 ? INT64_C(1) << 50 : 1 };
	struct tkw_nack again = { .has_delay = 1, .delay_ms = 2500 };
	struct tkw_items *items;
	struct time_note *note;
	int n = tkw_queue_take(q, &how, &items);

	if (n <= 0)
		return n;
	note = note_take(&items->item[0]);
	if (!note)
		n = -EPROTO;
	else if (random % 16 == 1)
		n = tkw_queue_nack(q, &items->item[0].claim, 1, &again, NULL);
	else if (random % 16 != 2)
		n = ack(q, &items->item[0], note);
	tkw_items_free(items);
	return n;
}

/* --- what must be in the file --------------------------------------------- */

/* The items of the file, by plan and time. */
struct found {
	struct tkw_queue_plan_facts plan[PLANS];
	bool there[PLANS];
	uint64_t id[PLANS][TIMES];
};

static void look_at_plans(struct tkw_queue *q, struct found *found)
{
	for (int i = 0; i < PLANS; i++) {
		struct tkw_queue_plans *plans;
		int err = tkw_queue_get_plan(q, names[i], &plans);

		found->there[i] = err == 0;
		if (err) {
			assert_int_equal(err, -ENOENT);
			assert_true(!notes->made[i] ||
				    (i == 1 && notes->unplan_asked));
			continue;
		}
		found->plan[i] = plans->plan[0];
		tkw_queue_plans_free(plans);
	}
	assert_false(notes->unplanned && found->there[1]);
}

static void look_at_items(struct tkw_queue *q, struct found *found)
{
	uint64_t cursor = 0;

	do {
		struct tkw_items *items;
		int n = tkw_queue_list(q, TKW_ITEM_STATES, 256, &cursor,
				       &items);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++) {
			const struct tkw_item *it = &items->item[i];
			const struct time_note *note = note_item(it);
			uint64_t *id;
			int64_t at = 0;
			int plan = 0;

			if (!note)
				fail_msg("%s", notes->broken);
			/* No thread works on the file now. */
			if (note->acked)
				complain("an acked time is still there",
					 it->planned_ms);
			assert_true(find_time(it, &plan, &at));
			id = &found->id[plan][at];
			/* One item for each planned time. */
			assert_true(*id == 0 || *id == it->claim.id.bits);
			*id = it->claim.id.bits;
		}
		tkw_items_free(items);
	} while (cursor);
	assert_string_equal(notes->broken, "");
}

/* The times up to `last` are decided: each was acked, or is there. Those behind
 * it were never taken. */
static void check_times(const struct found *found, int plan, int64_t last)
{
	for (int64_t n = 1; n < TIMES; n++) {
		const struct time_note *note = &notes->time[plan][n];
		bool there = found->id[plan][n] != 0;

		if (n > last + 1)
			assert_true(!there && note->id == 0);
		else if (note->acked)
			assert_false(there);
		else if (n <= last && !note->asks)
			assert_true(there);
	}
}

static void check_plan(const struct found *found, int i)
{
	const struct tkw_queue_plan_facts *f = &found->plan[i];
	int64_t last =
		f->decided_ms ? (f->decided_ms - START_MS) / PERIOD_MS : 0;

	assert_int_equal(f->error, 0);
	assert_int_equal(f->runs, last);
	assert_int_equal(f->missed + f->overlaps, 0);
	if (f->next_ms) {
		assert_int_equal(f->next_ms, T(last + 1));
		assert_int_equal(found->id[i][last + 1], f->next_id.bits);
	} else {
		assert_true(f->paused || (i == 1 && f->running == 1));
	}
	check_times(found, i, last);
}

/* Each item was put by a plan: for a time that was taken, for the next time, or
 * cancelled by a pause. */
static void check_puts(struct tkw_queue *q, const struct found *found)
{
	struct tkw_queue_stats s;
	uint64_t puts;

	assert_int_equal(tkw_queue_get_stats(q, &s), 0);
	puts = s.all_cancels;
	for (int i = 0; i < PLANS; i++) {
		if (!found->there[i] && notes->unplan_asked)
			return;
		if (found->there[i])
			puts += found->plan[i].runs +
				(found->plan[i].next_ms != 0);
	}
	assert_int_equal(s.all_puts, puts);
}

/* Opens the file, compares it with the notes, and works on. */
static void verify(struct queue_fault_bed *b)
{
	struct found *found = calloc(1, sizeof(*found));
	struct tkw_queues *f;
	struct tkw_queue *q;
	int err = open_file(b, &f, &q);

	assert_non_null(found);
	if (err)
		fail_msg("the open fails with %d: %s", err, why);
	assert_null(tkw_queues_check(f));
	look_at_plans(q, found);
	look_at_items(q, found);
	for (int i = 0; i < PLANS; i++) {
		if (found->there[i])
			check_plan(found, i);
	}
	check_puts(q, found);
	for (int i = 0; i < 5; i++)
		assert_true(work_once(q, 0) >= 0);
	assert_string_equal(notes->broken, "");
	assert_int_equal(tkw_queues_close(f), 0);
	free(found);
}

static void start_again(struct queue_fault_bed *b)
{
	queue_fault_start_again(b);
	memset(notes, 0, sizeof(*notes));
	notes->now_ms = START_MS;
}

static void make_notes(void)
{
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(notes != MAP_FAILED);
}

/* --- the notes themselves ------------------------------------------------- */

/* Takes the item of plan `a` that is due. */
static struct tkw_items *take_one(struct tkw_queue *q, int64_t lease_ms)
{
	struct tkw_take how = { .lease_ms = lease_ms };
	struct tkw_items *items;

	assert_int_equal(tkw_queue_take(q, &how, &items), 1);
	assert_int_equal(items->item[0].planned_ms, T(1));
	return items;
}

/* A thread takes an item, and its lease ends before the take is noted. Another
 * thread takes the item and acks it meanwhile. That is no fault. An ack by the
 * first token would be one, and so would be a later take. */
static void fault_plans_take_noted_after_the_ack_of_another(void **state)
{
	struct queue_fault_bed *b = *state;
	struct tkw_items *first, *second;
	struct time_note *note;
	struct tkw_queues *f;
	struct tkw_item later;
	struct tkw_queue *q;

	make_notes();
	start_again(b);
	assert_int_equal(open_file(b, &f, &q), 0);
	assert_int_equal(make_plan(q, 0), 0);
	pass(PERIOD_MS);
	first = take_one(q, 1);
	pass(2);
	second = take_one(q, INT64_C(1) << 50);
	assert_true(second->item[0].claim.token > first->item[0].claim.token);
	note = note_take(&second->item[0]);
	assert_non_null(note);
	assert_int_equal(ack(q, &first->item[0], note), 0);
	assert_int_equal(ack(q, &second->item[0], note), 1);
	assert_ptr_equal(note_take(&first->item[0]), note);
	assert_string_equal(notes->broken, "");
	later = second->item[0];
	later.claim.token++;
	assert_ptr_equal(note_take(&later), note);
	assert_non_null(strstr(notes->broken, "an acked time comes again"));
	tkw_items_free(first);
	tkw_items_free(second);
	assert_int_equal(tkw_queues_close(f), 0);
	munmap(notes, sizeof(*notes));
}

/* --- kills at random moments ---------------------------------------------- */

struct worker {
	struct tkw_queue *q;
	uint64_t random;
};

static void *run_worker(void *arg)
{
	struct worker *w = arg;

	while (!notes->broken[0]) {
		int64_t step = (int64_t)crew_below(&w->random, 4000);
		int err;

		/* The clock goes back now and then. */
		pass(crew_below(&w->random, 32) == 0 ? -4 * step : step);
		if (now_us(NULL) / 1000 > T(TIMES - 64))
			pause();
		err = work_once(w->q, crew_random(&w->random));
		if (err < 0)
			complain("a call fails", err);
	}
	return NULL;
}

static void run_child(struct queue_fault_bed *b, uint64_t seed)
{
	static struct worker worker[WORKERS];
	pthread_t thread[WORKERS];
	struct tkw_queues *f;
	struct tkw_queue *q;

	shim_vfs_install();
	shim_vfs_watch(crew_watch, b->share);
	if (open_file(b, &f, &q) || make_plan(q, 0) || make_plan(q, 1))
		complain("the file cannot be opened", 0);
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = (struct worker){ q, seed + (uint64_t)i };
		if (pthread_create(&thread[i], NULL, run_worker, &worker[i]))
			_exit(1);
	}
	__atomic_store_n(&notes->ready, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	_exit(1);
}

static void run_and_kill(struct queue_fault_bed *b, uint64_t *random)
{
	uint64_t seed = crew_random(random);
	pid_t child;

	notes->ready = 0;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_child(b, seed);
	while (!notes->broken[0] &&
	       !__atomic_load_n(&notes->ready, __ATOMIC_ACQUIRE))
		usleep(200);
	usleep((useconds_t)crew_below(random, MAX_US));
	queue_fault_kill(child);
	assert_string_equal(notes->broken, "");
}

static uint64_t count_acked(void)
{
	uint64_t acked = 0;

	for (int i = 0; i < PLANS; i++) {
		for (int n = 0; n < TIMES; n++)
			acked += notes->time[i][n].acked != 0;
	}
	return acked;
}

static void fault_plans_killed_at_random_moments(void **state)
{
	struct queue_fault_bed *b = *state;
	uint64_t kills = queue_fault_number("TKW_QUEUE_KILLS", KILLS);
	uint64_t random = queue_fault_seed();
	uint64_t in_commit = 0, acked = 0, before = 0, round = 0;

	make_notes();
	start_again(b);
	for (; round < kills || in_commit == 0 || acked == 0; round++) {
		if (round % ROUNDS_PER_FILE == ROUNDS_PER_FILE - 1) {
			before += acked;
			start_again(b);
		}
		crew_share_reset(b->share);
		run_and_kill(b, &random);
		in_commit += b->share->in_commit;
		queue_fault_cut_power(
			b, round % 2 ? QUEUE_FAULT_CUT_ALL : QUEUE_FAULT_NO_CUT,
			crew_random(&random));
		verify(b);
		acked = count_acked();
	}
	print_message("rounds %" PRIu64 ", kills inside a commit %" PRIu64
		      ", times done %" PRIu64 "\n",
		      round, in_commit, before + acked);
	munmap(notes, sizeof(*notes));
}

/* --- kills at each write -------------------------------------------------- */

/* A short life, the same in each run. Returns 0 or an error. */
static int live(struct tkw_queue *q)
{
	int err = make_plan(q, 0);

	if (!err)
		err = make_plan(q, 1);
	for (int i = 0; i < 3 && err >= 0; i++) {
		pass(PERIOD_MS);
		err = work_once(q, 3);
		if (err >= 0)
			err = work_once(q, 3);
	}
	if (err >= 0)
		err = tkw_queue_pause_plan(q, "a");
	if (!err)
		err = tkw_queue_resume_plan(q, "a");
	pass(PERIOD_MS);
	if (!err)
		err = work_once(q, 2); /* it is kept */
	if (err < 0)
		return err;
	notes->unplan_asked = 1;
	err = tkw_queue_unplan(q, "b");
	notes->unplanned = !err;
	return err;
}

static void run_life(struct queue_fault_bed *b, const struct shim_plan *plan)
{
	struct tkw_queues *f;
	struct tkw_queue *q;

	shim_vfs_install();
	shim_vfs_watch(crew_watch, b->share);
	shim_vfs_plan(plan);
	if (open_file(b, &f, &q))
		_exit(1);
	if (live(q) < 0)
		_exit(2);
	_exit(tkw_queues_close(f) == 0 ? 0 : 3);
}

static void sweep(struct queue_fault_bed *b, enum shim_call call,
		  enum shim_act act, enum queue_fault_cut cut)
{
	struct shim_plan plan = { .call = call, .act = act };
	bool killed = true;

	make_notes();
	while (killed) {
		plan.at++;
		start_again(b);
		killed = queue_fault_run(b, run_life, &plan);
		assert_string_equal(notes->broken, "");
		queue_fault_cut_power(b, cut, plan.at);
		verify(b);
		/* It goes on from there. */
		pass(20 * PERIOD_MS);
		verify(b);
	}
	print_message("killed at each of %" PRIu64 "\n", plan.at - 1);
	assert_true(plan.at > (call == SHIM_WRITE ? MIN_SITES : MIN_SITES / 4));
	munmap(notes, sizeof(*notes));
}

static void fault_plans_killed_before_each_write(void **state)
{
	sweep(*state, SHIM_WRITE, SHIM_KILL, QUEUE_FAULT_NO_CUT);
}

static void fault_plans_each_write_torn(void **state)
{
	sweep(*state, SHIM_WRITE, SHIM_TEAR, QUEUE_FAULT_NO_CUT);
}

static void fault_plans_killed_after_each_sync(void **state)
{
	sweep(*state, SHIM_SYNC, SHIM_TEAR, QUEUE_FAULT_NO_CUT);
}

static void fault_plans_power_cut_before_each_sync(void **state)
{
	sweep(*state, SHIM_SYNC, SHIM_KILL, QUEUE_FAULT_CUT_ALL);
}

/* --- a full disk ---------------------------------------------------------- */

/* At each write, one finds no room. What fails has no effect, and the plans go
 * on. */
static void fault_plans_each_write_finds_no_room(void **state)
{
	struct queue_fault_bed *b = *state;
	struct shim_plan plan = { .call = SHIM_WRITE,
				  .act = SHIM_FAIL,
				  .code = 13 /* SQLITE_FULL */ };
	struct tkw_queues *f;
	struct tkw_queue *q;
	uint64_t hits = 1;

	make_notes();
	while (hits > 0) {
		plan.at++;
		start_again(b);
		assert_int_equal(open_file(b, &f, &q), 0);
		assert_int_equal(tkw_queues_close(f), 0);
		shim_vfs_install();
		assert_int_equal(open_file(b, &f, &q), 0);
		shim_vfs_plan(&plan);
		(void)live(q);
		hits = shim_vfs_hits();
		shim_vfs_plan(NULL);
		assert_null(tkw_queues_check(f));
		assert_int_equal(tkw_queues_close(f), 0);
		shim_vfs_remove();
		verify(b);
	}
	print_message("no room at each of %" PRIu64 "\n", plan.at - 1);
	assert_true(plan.at > MIN_SITES / 4);
	munmap(notes, sizeof(*notes));
}

/* --- processes ------------------------------------------------------------ */

/* Starts tkw queue FILE work. The first one has the file open, and the others
 * work through its socket. */
static pid_t start_work(const struct queue_fault_bed *b, const char *log)
{
	const char *tkw = getenv("TKW_PROGRAM");
	char script[256];
	pid_t child = fork();

	assert_true(child >= 0);
	if (child > 0)
		return child;
	snprintf(script, sizeof(script), "echo $TKW_PLANNED_MS >>%s", log);
	execl(tkw, tkw, "queue", b->path, "work", "-q", "q", "--lease", "1h",
	      "--", "sh", "-c", script, (char *)NULL);
	_exit(127);
}

static void plan_every_20ms(struct queue_fault_bed *b)
{
	struct tkw_queue_plan_spec p = {
		.name = "a",
		.text = "every 20ms",
		.grace_ms = INT64_MAX,
		.overlap = TKW_OVERLAP_ALLOW,
	};
	struct tkw_queues *f;
	struct tkw_queue *q;

	assert_int_equal(tkw_queues_open(&f, b->path, NULL), 0);
	assert_int_equal(tkw_queue_open(&q, f, "q"), 0);
	assert_int_equal(tkw_queue_plan(q, &p, NULL, NULL), 0);
	assert_int_equal(tkw_queues_close(f), 0);
}

/* Each time from the first to the last was worked on, or is still taken. */
struct seen {
	int64_t first_ms;
	uint8_t worked[1 << 16];
	uint8_t there[1 << 16];
};

static size_t place_of(struct seen *s, int64_t planned_ms)
{
	int64_t n = (planned_ms - s->first_ms) / 20;

	assert_true(planned_ms % 20 == 0 && n >= 0 && n < 1 << 16);
	return (size_t)n;
}

static void read_log(struct seen *s, const char *log)
{
	FILE *f = fopen(log, "r");
	char line[64];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		s->worked[place_of(s, strtoll(line, NULL, 10))] = 1;
	fclose(f);
}

static void read_items(struct seen *s, struct tkw_queue *q)
{
	uint64_t cursor = 0;

	do {
		struct tkw_items *items;
		int n = tkw_queue_list(q, TKW_ITEM_STATES, 256, &cursor,
				       &items);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++)
			assert_int_equal(
				s->there[place_of(s,
						  items->item[i].planned_ms)]++,
				0);
		tkw_items_free(items);
	} while (cursor);
}

static void check_seen(struct queue_fault_bed *b, struct seen *s,
		       const char *log)
{
	struct tkw_queue_plans *plans;
	struct tkw_queue_stats st;
	struct tkw_queues *f;
	struct tkw_queue *q;
	size_t next;

	assert_int_equal(tkw_queues_open(&f, b->path, NULL), 0);
	assert_null(tkw_queues_check(f));
	assert_int_equal(tkw_queue_open(&q, f, "q"), 0);
	assert_int_equal(tkw_queue_get_plan(q, "a", &plans), 0);
	assert_int_equal(tkw_queue_get_stats(q, &st), 0);
	read_log(s, log);
	read_items(s, q);
	next = place_of(s, plans->plan[0].next_ms);
	assert_int_equal(st.all_puts, next + 1);
	/* What was taken for a client that has died is taken again. */
	assert_true(st.all_takes >= next);
	for (size_t n = 0; n < next; n++)
		assert_true(s->worked[n] || s->there[n]);
	print_message("%zu planned times, %" PRIu64 " left by the dead\n", next,
		      st.taken);
	tkw_queue_plans_free(plans);
	assert_int_equal(tkw_queues_close(f), 0);
}

static int64_t first_time(struct queue_fault_bed *b)
{
	struct tkw_queue_plans *plans;
	struct tkw_queues *f;
	struct tkw_queue *q;
	int64_t ms;

	assert_int_equal(tkw_queues_open(&f, b->path, NULL), 0);
	assert_int_equal(tkw_queue_open(&q, f, "q"), 0);
	assert_int_equal(tkw_queue_get_plan(q, "a", &plans), 0);
	ms = plans->plan[0].next_ms;
	tkw_queue_plans_free(plans);
	assert_int_equal(tkw_queues_close(f), 0);
	return ms;
}

/* What a killed process had started has become a child of the test. Until it
 * executes its command, it holds the lock of the file, and later it still
 * writes the log. */
static void wait_for_orphans(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	assert_int_equal(errno, ECHILD);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void fault_plans_processes_are_killed(void **state)
{
	struct queue_fault_bed *b = *state;
	uint64_t random = queue_fault_seed();
	pid_t child[SOCKET_WORKERS];
	struct seen *s;
	char log[192];

	if (!getenv("TKW_PROGRAM"))
		skip_because("TKW_PROGRAM does not say where tkw is");
	s = calloc(1, sizeof(*s));
	assert_non_null(s);
	snprintf(log, sizeof(log), "%s/log", b->dir);
	plan_every_20ms(b);
	s->first_ms = first_time(b);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (int i = 0; i < SOCKET_WORKERS; i++)
		child[i] = start_work(b, log);
	/* At least one item must have been worked on. */
	for (int i = 0; i < SOCKET_KILLS || access(log, F_OK); i++) {
		uint64_t n = crew_below(&random, SOCKET_WORKERS);

		usleep((useconds_t)crew_below(&random, 300000));
		queue_fault_kill(child[n]);
		child[n] = start_work(b, log);
	}
	for (int i = 0; i < SOCKET_WORKERS; i++)
		queue_fault_kill(child[i]);
	wait_for_orphans();
	check_seen(b, s, log);
	free(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_plans_take_noted_after_the_ack_of_another),
		QUEUE_FAULT(fault_plans_killed_at_random_moments),
		QUEUE_FAULT(fault_plans_killed_before_each_write),
		QUEUE_FAULT(fault_plans_each_write_torn),
		QUEUE_FAULT(fault_plans_killed_after_each_sync),
		QUEUE_FAULT(fault_plans_power_cut_before_each_sync),
		QUEUE_FAULT(fault_plans_each_write_finds_no_room),
		QUEUE_FAULT(fault_plans_processes_are_killed),
	};

	queue_fault_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
