/* SPDX-License-Identifier: MIT */
/*
 * sim_life.c - a file of queues lives, crashes and lives again.
 *
 * A life has several callers, each with one request in flight at most, so that
 * they share batches; a clock that steps; and a disk that fails. After each
 * crash the file is opened again and held against the truth.
 */
#include "sim_life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TURNS = 400,
	TURNS_OF_ONE_FAULT = 100,
	/* So many turns are enough for any work that is left. */
	REST = 1000,
	SECOND = 1000000
};

uint32_t life_below(struct life *l, uint32_t n)
{
	return n < 2 ? 0 : choice_below(&l->choice, n);
}

/* --- what the disk tells ------------------------------------------------- */

static void on_appending(const struct tkw__row *rows, size_t count, void *ctx)
{
	plan_batch(ctx, rows, count);
}

static void on_appended(int err, void *ctx)
{
	plan_appended(ctx, err);
}

static void on_crash(void *ctx)
{
	struct life *l = ctx;

	life_trace(l, "crash", 0, 0);
	l->gone = true;
	l->tally->n[LT_CRASH_IN_SNAPSHOT] += l->snapshot;
	if (l->in_flight && !l->failed) {
		l->tally->n[LT_CRASH_IN_PLAN] += l->plan_calls > 0;
		l->tally->n[LT_CRASH_IN_NEXT] += l->plan_items > 0;
	}
}

static void *life_alloc(size_t bytes, void *ctx)
{
	struct life *l = ctx;
	void *mem;

	if (l->hunger && --l->hunger == 0) {
		l->starved = true;
		return NULL;
	}
	mem = malloc(bytes);
	if (!mem)
		abort();
	return mem;
}

static void life_free(void *mem, size_t bytes, void *ctx)
{
	(void)bytes;
	(void)ctx;
	free(mem);
}

/* Room on the disk that is kept for bad times. */
static bool give_reserve(void *ctx)
{
	struct life *l = ctx;
	bool there = l->reserve;

	l->reserve = false;
	return there;
}

static bool get_reserve(void *ctx)
{
	struct life *l = ctx;

	l->reserve |= life_below(l, 2) == 0;
	l->reserve_asked |= !l->reserve;
	return l->reserve;
}

/* --- birth --------------------------------------------------------------- */

static struct sim_faults draw_faults(struct life *l)
{
	static const uint16_t odds[] = { 0, 20, 60, 200 };

	return (struct sim_faults){
		.crash = { .one_in = 20 + life_below(l, 200) },
		.full = { .one_in = odds[life_below(l, 4)] },
		.error = { .one_in = odds[life_below(l, 4)] * 3u },
		.busy = { .one_in = odds[life_below(l, 4)] * 3u },
	};
}

static void set_faults(struct life *l)
{
	struct sim_faults f = draw_faults(l);
	struct sim_when one = { .at = l->opts->at };

	if (l->opts->fault != LIFE_BY_CHANCE)
		memset(&f, 0, sizeof(f));
	if (l->opts->fault == LIFE_CRASH)
		f.crash = one;
	if (l->opts->fault == LIFE_FULL)
		f.full = one;
	if (l->opts->fault == LIFE_ERROR)
		f.error = one;
	if (l->opts->fault == LIFE_BUSY)
		f.busy = one;
	sim_disk_set_faults(l->disk, &f);
}

static void draw_config(struct life *l)
{
	static const uint32_t slack[] = { 1, 500, 2000, 10000 };

	l->cfg = (struct tkw__desk_config){
		.seed = { choice_u64(&l->choice), 1 },
		.hooks = { life_alloc, life_free, l },
		.calendar = &l->calendar.calls,
		.reserve = { .give = give_reserve,
			     .get = get_reserve,
			     .ctx = l },
		.slack_bytes = slack[life_below(l, 4)],
		.snapshot_items = 1 + life_below(l, 20),
	};
	if (life_below(l, 3) == 0)
		l->cfg.max_rows = 1 + life_below(l, 12);
	if (life_below(l, 5) == 0)
		l->cfg.max_bytes = 1 + life_below(l, 600);
	l->reserve = life_below(l, 4) != 0;
	l->queues = 1 + life_below(l, LIFE_QUEUES);
	l->callers = 1 + life_below(l, LIFE_CALLERS);
	l->long_leases = life_below(l, 4) == 0;
	if (l->opts->fault != LIFE_BY_CHANCE) {
		/* The one fault shall come in a snapshot, too. */
		l->cfg.slack_bytes = slack[0];
		l->callers = LIFE_CALLERS;
	}
}

static uint64_t draw_start(struct life *l)
{
	if (life_below(l, 4) == 0)
		return 1000000 + life_below(l, 3000);
	return UINT64_C(1700000000000000) + life_below(l, 65536);
}

static void check_disk(struct life *l)
{
	if (sim_disk_wrong(l->disk))
		life_fail(l, sim_disk_wrong(l->disk));
}

/* Opens the file; a crash may come meanwhile. */
static void open_file(struct life *l)
{
	struct sim_store_config cfg = { l->disk };
	char why[100];
	uint64_t compiles;
	int err = -EIO;

	while (err) {
		if (sim_disk_is_down(l->disk))
			sim_disk_restart(l->disk);
		l->gone = false;
		err = sim_store.open(&l->store, &cfg, why, sizeof(why));
		if (err && !sim_disk_is_down(l->disk))
			life_fail(l, "the store could not be opened");
		check_disk(l);
	}
	l->cfg.store = l->store;
	l->cfg.reserve.gone = !l->reserve;
	l->cfg.now_us = l->now_us;
	l->cfg.mono_us = l->mono_us;
	compiles = l->calendar.compiles;
	if (tkw__desk_create(&l->desk, &l->cfg) != 0)
		life_fail(l, "the file was refused");
	if (l->calendar.compiles != compiles)
		life_fail(l, "a replay has used the calendar");
	l->tally->n[LT_REOPEN]++;
	l->tally->n[LT_AFTER_COMPACTION] +=
		sim_disk_counts(l->disk)->compactions > 0;
}

static void begin(struct life *l, uint64_t seed)
{
	struct sim_hooks hooks = { on_appending, on_appended, on_crash, l };

	choice_from_seed(&l->choice, seed);
	l->disk = sim_disk_create(choice_u64(&l->choice), &hooks);
	l->now_us = draw_start(l);
	l->mono_us = life_below(l, 65536);
	queue_calendar_init(&l->calendar);
	draw_config(l);
	call_draw_lots(l);
	set_faults(l);
	open_file(l);
}

/* --- turns --------------------------------------------------------------- */

static void step_back(struct life *l)
{
	uint64_t ms = life_below(l, life_below(l, 4) ? 20 : 3000);
	uint64_t us = (1 + ms) * 1000;

	l->now_us = l->now_us > us + 1000000 ? l->now_us - us : 1000000;
	l->tally->n[LT_CLOCK_BACK]++;
}

/* On to the next time at which something happens. */
static void go_to_next(struct life *l)
{
	struct tkw__desk_next next;

	tkw__desk_next(l->desk, &next);
	if (next.now_us > l->now_us && next.now_us - l->now_us < 1000000000)
		l->now_us = next.now_us;
	if (next.mono_us > l->mono_us && next.mono_us - l->mono_us < 1000000000)
		l->mono_us = next.mono_us;
}

static void pass_time(struct life *l)
{
	uint64_t us = life_below(l, 3);

	switch (life_below(l, 24)) {
	case 0:
		step_back(l);
		break;
	case 1:
		l->now_us += UINT64_C(1000) << life_below(l, 24);
		l->tally->n[LT_CLOCK_JUMP]++;
		break;
	case 2:
	case 3:
	case 4:
		go_to_next(l);
		break;
	case 5:
	case 6:
		us = (uint64_t)life_below(l, 300) * 1000;
		break;
	case 7:
	case 8:
	case 9:
	case 10:
		us = (uint64_t)life_below(l, 6) * 1000;
		break;
	case 11:
		us = SECOND + (uint64_t)life_below(l, 1000) * 1000;
		break;
	default:
		break;
	}
	l->now_us += us;
	l->mono_us += us;
}

/* A withdrawal needs the take it is about, even one that has ended. */
static bool is_free(const struct life *l, const struct call *c)
{
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		const struct call *other = &l->call[i];

		if (other->busy && other->r.kind == TKW__REQUEST_WITHDRAW &&
		    other->r.target == &c->r)
			return false;
	}
	return !c->busy;
}

static void submit_some(struct life *l)
{
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		if (is_free(l, &l->call[i]) && life_below(l, 2))
			call_draw(l, &l->call[i]);
	}
}

/* Now and then the zone files cannot be read. */
static void draw_calendar(struct life *l)
{
	uint32_t q;

	l->calendar.error = life_below(l, 64) ? 0 : -EBADMSG;
	for (q = 0; q < LIFE_QUEUES; q++)
		l->now.q[q].o.calendar = l->calendar.error;
}

static void begin_turn(struct life *l)
{
	l->full = false;
	l->busy = false;
	l->starved = false;
	l->reserve_asked = false;
	l->written = false;
	if (life_below(l, 40) == 0 && l->opts->fault == LIFE_BY_CHANCE)
		l->hunger = 1 + life_below(l, 8);
	draw_calendar(l);
}

/* What the disk did in a turn. */
static void note_disk(struct life *l, const struct sim_counts *was)
{
	const struct sim_counts *is = sim_disk_counts(l->disk);

	check_disk(l);
	if (is->compactions > was->compactions)
		l->snapshot = false;
	if (is->failed > was->failed)
		l->failed = true;
	if (is->full > was->full || is->busy > was->busy || l->starved)
		l->full_us = l->mono_us;
}

/* Returns true if the desk has more to do. */
static bool one_turn(struct life *l)
{
	struct sim_counts was = *sim_disk_counts(l->disk);
	int more;

	begin_turn(l);
	l->digest = tkw__desk_digest(l->desk);
	more = tkw__desk_turn(l->desk, l->now_us, l->mono_us);
	l->hunger = 0;
	l->tally->n[LT_TURN]++;
	l->tally->n[LT_STARVED] += l->starved;
	note_disk(l, &was);
	if (sim_disk_is_down(l->disk))
		return true;
	life_verify_undone(l);
	plan_settle(l);
	if (l->failed)
		plan_failed(l);
	else
		plan_quiet(l, more != 0);
	if (life_below(l, 4) == 0)
		life_verify(l);
	return more != 0;
}

/* --- the file is closed and opened again --------------------------------- */

static void forget_calls(struct life *l, bool crashed)
{
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		struct call *c = &l->call[i];

		l->tally->n[LT_UNANSWERED] += c->busy && crashed;
		if (c->busy && !crashed && c->r.result != -ESHUTDOWN)
			life_fail(l, "a close left a request without answer");
		c->busy = false;
	}
}

/* The disk knows if a batch without an answer is there. */
static void learn_fate(struct life *l)
{
	bool there;

	if (!l->in_flight)
		return;
	there = sim_disk_last(l->disk) == l->flying;
	if (there)
		l->now = l->next;
	l->tally->n[there ? LT_KEPT : LT_GONE]++;
	l->tally->n[there ? LT_PLAN_KEPT : LT_PLAN_GONE] +=
		l->plan_calls + l->plan_items;
	life_trace(l, "the batch in flight is there", there, l->flying);
	l->in_flight = false;
}

/* As a close does it. A crash may come meanwhile. */
static void tidy_up(struct life *l)
{
	uint64_t before = sim_disk_counts(l->disk)->compactions;
	int turns = 0;

	while (!sim_disk_is_down(l->disk) && tkw__desk_is_untidy(l->desk)) {
		one_turn(l);
		if (++turns > REST)
			life_fail(l, "the desk does not become tidy");
	}
	l->tally->n[LT_TIDIED] +=
		sim_disk_counts(l->disk)->compactions > before;
}

static void reopen(struct life *l)
{
	bool crashed = sim_disk_is_down(l->disk);

	life_trace(l, "close and open", crashed, 0);
	plan_settle(l);
	l->gone = true;
	tkw__desk_shutdown(l->desk);
	forget_calls(l, crashed);
	if (!crashed && !l->failed)
		tidy_up(l);
	tkw__desk_destroy(l->desk);
	l->store->ops->close(l->store);
	memset(l->queue, 0, sizeof(l->queue));
	memset(l->told, 0, sizeof(l->told));
	l->failed = false;
	l->full_us = 0;
	l->snapshot = false;
	open_file(l);
	learn_fate(l);
	life_verify_open(l);
}

/* --- a life -------------------------------------------------------------- */

/* Without requests and faults, all work comes to its end. */
static void come_to_rest(struct life *l)
{
	int turns = 0;

	l->mono_us += UINT64_C(2) * SECOND;
	while (one_turn(l)) {
		if (++turns > REST)
			life_fail(l, "the desk does not come to rest");
	}
}

/* Between turns: a crash, a close, or an open after the disk has failed. */
static void live(struct life *l)
{
	bool by_chance = l->opts->fault == LIFE_BY_CHANCE;
	uint64_t turns = by_chance ? TURNS : TURNS_OF_ONE_FAULT;

	for (; l->turn < turns; l->turn++) {
		pass_time(l);
		submit_some(l);
		one_turn(l);
		if (life_below(l, 200) == 0 && by_chance)
			sim_disk_crash(l->disk);
		if (sim_disk_is_down(l->disk) || life_below(l, 200) == 0 ||
		    (l->failed && life_below(l, 3) == 0))
			reopen(l);
	}
}

static void count_disk(struct life *l)
{
	const struct sim_counts *c = sim_disk_counts(l->disk);
	uint64_t *n = l->tally->n;

	n[LT_CRASH] += c->crashes;
	n[LT_CRASH_IN_BATCH] += c->crashes_in_batch;
	n[LT_CRASH_IN_OPEN] += c->crashes_in_open;
	n[LT_CRASH_IN_COMPACT] += c->crashes_in_compact;
	n[LT_POWER_LOSS] += c->power_losses;
	n[LT_TORN] += c->torn_tails;
	n[LT_FULL] += c->full;
	n[LT_ERROR] += c->failed;
	n[LT_BUSY] += c->busy;
	n[LT_COMPACTION] += c->compactions;
}

static void end(struct life *l)
{
	static const struct sim_faults none;

	sim_disk_set_faults(l->disk, &none);
	if (!l->failed)
		come_to_rest(l);
	reopen(l);
	come_to_rest(l);
	life_verify(l);
	l->gone = true;
	tkw__desk_shutdown(l->desk);
	tkw__desk_destroy(l->desk);
	l->store->ops->close(l->store);
	if (l->calendar.open)
		life_fail(l, "a compiled plan was not freed");
	count_disk(l);
}

int life_run(uint64_t seed, const struct life_opts *opts, struct life_tally *t,
	     struct life_failure *f)
{
	struct life *l = calloc(1, sizeof(*l));
	int failed;

	if (!l)
		abort();
	l->opts = opts;
	l->tally = t;
	l->failure = f;
	failed = setjmp(l->out);
	if (!failed) {
		begin(l, seed);
		live(l);
		end(l);
	}
	/* A desk that went wrong is not called again, and so not freed. */
	sim_disk_destroy(l->disk);
	free(l);
	return failed;
}
