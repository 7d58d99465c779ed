/* SPDX-License-Identifier: MIT */
/*
 * driver.c - the life of a wheel under random operations.
 *
 * A run makes a wheel with a random engine, size and start. It makes operations
 * on the wheel and on the oracle, drains the wheel, and checks that the ledger
 * balances. If the wheel reaches the end of time before the operations are used
 * up, the run continues with another wheel.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "driving.h"

enum op {
	OP_ADD,
	OP_ADD_ANY,
	OP_ADD_SLACK,
	OP_REMOVE,
	OP_MOVE,
	OP_EXTEND,
	OP_EXTEND_AND_ADD,
	OP_ADVANCE,
	OP_ADVANCE_BOUNDED,
	OP_RESUME,
	OP_WALK,
	OPS
};

/* How many lots each operation gets before a run changes the weights. */
static const uint8_t lots_of[OPS] = {
	[OP_ADD] = 20,           [OP_ADD_ANY] = 2, [OP_ADD_SLACK] = 2,
	[OP_REMOVE] = 4,         [OP_MOVE] = 4,    [OP_EXTEND] = 5,
	[OP_EXTEND_AND_ADD] = 2, [OP_ADVANCE] = 8, [OP_ADVANCE_BOUNDED] = 8,
	[OP_RESUME] = 5,         [OP_WALK] = 1,
};

/* Swarm testing: each life prefers other operations, so that rare states build
 * up. */
static void draw_lots(struct driving *d, uint32_t number)
{
	uint64_t state = ~(uint64_t)number;
	uint32_t weight[OPS];
	uint32_t sum = 0;
	uint32_t i, op, got, done = 0;

	for (op = 0; op < OPS; op++) {
		weight[op] = (uint32_t)lots_of[op] << (choice_next(&state) % 3);
		sum += weight[op];
	}
	for (op = 0, got = 0; op < OPS; op++) {
		got += weight[op];
		for (i = got * DRIVING_LOTS / sum; done < i; done++)
			d->lots[done] = (uint8_t)op;
	}
	d->lots[0] = OP_ADD;
	d->lots[1] = OP_ADVANCE;
}

static void draw_config(struct driving *d)
{
	struct tkw_wheel_config *cfg = &d->cfg;

	memset(cfg, 0, sizeof(*cfg));
	cfg->size = choice_below(d->choice, 2) ? sizeof(*cfg) : 0;
	cfg->engine = d->opts->engine;
	if (cfg->engine == DRIVER_ANY_ENGINE)
		cfg->engine = choice_below(d->choice, 3) == 0
				      ? TKW_WHEEL_HASHED
				      : TKW_WHEEL_HIERARCHICAL;
	if (cfg->engine == TKW_WHEEL_HASHED) {
		/* 1 ... 64, and sometimes up to 8192. */
		cfg->slots = UINT64_C(1) << choice_below(d->choice, 7);
		if (choice_below(d->choice, 8) == 0)
			cfg->slots <<= 7;
		if (choice_below(d->choice, 8) == 0)
			cfg->slots = cfg->slots / 2 + 1;
	}
	cfg->now_tick = ticks_start(d->choice);
}

static void begin_life(struct driving *d)
{
	size_t bytes;

	draw_config(d);
	d->pool = 1 + choice_below(d->choice, DRIVING_POOL);
	/* In a small pool, entries meet more often, and checks are cheaper. */
	if (choice_below(d->choice, 4))
		d->pool = 1 + d->pool / 3;
	ticks_make_mix(&d->mix, choice_below(d->choice, 4096));
	draw_lots(d, choice_below(d->choice, 4096));
	if (tkw_wheel_bytes(&d->cfg, &bytes) != 0)
		driving_fail(d, "a legal config has no size");
	d->mem = malloc(bytes);
	if (!d->mem)
		driving_fail(d, "no memory for the test");
	memset(d->mem, 0xa5, bytes);
	memset(d->items, 0, sizeof(d->items));
	if (tkw_wheel_init(&d->wheel, d->mem, bytes, &d->cfg) != 0)
		driving_fail(d, "a legal config is refused");
	oracle_init(&d->oracle, d->cfg.now_tick);
	d->added = 0;
	d->expired = 0;
	d->removed = 0;
	d->stopped = 0;
	d->tally->n[TALLY_WHEEL]++;
	driving_verify(d);
}

/* Ends a wheel that may have entries. They are free afterwards. */
static void end_life(struct driving *d)
{
	uint32_t id;

	driving_walk(d);
	if (d->added != d->expired + d->removed + d->oracle.count)
		driving_fail(d, "added is not expired + removed + left");
	d->tally->n[TALLY_WHEEL_FULL_FINI] += d->oracle.count > 0;
	if (tkw_wheel_fini(d->wheel) != 0)
		driving_fail(d, "fini failed");
	for (id = 0; id < d->pool; id++) {
		if (tkw_entry_is_linked(&d->items[id].entry))
			driving_fail(d, "an entry is linked after fini");
	}
	free(d->mem);
	d->mem = NULL;
}

static void count_advance(struct driving *d, uint64_t to, uint64_t max_steps)
{
	struct tally *t = d->tally;
	uint64_t now = d->oracle.now;

	t->n[TALLY_ADVANCE]++;
	t->n[TALLY_ADVANCE_BACK] += to < now;
	t->n[TALLY_ADVANCE_JUMP] += to > now && to - now > UINT64_C(1) << 20;
	t->n[TALLY_ADVANCE_BOUNDED] += max_steps != TKW_STEPS_UNBOUNDED;
	t->n[TALLY_ADVANCE_ZERO] += max_steps == 0;
	t->n[TALLY_ADVANCE_TO_NEXT] += to == d->next;
	if (d->stopped && to >= now)
		t->n[to == d->stop_target ? TALLY_RESUME_SAME
					  : TALLY_RESUME_OTHER]++;
}

static void count_stop(struct driving *d)
{
	const struct oracle *o = &d->oracle;

	d->tally->n[TALLY_STOP]++;
	if (d->pass_expired > 0 && oracle_next(o) == o->now)
		d->tally->n[TALLY_STOP_IN_TICK]++;
	if (d->pass_expired == 0 && d->pass_cascaded > 0)
		d->tally->n[TALLY_STOP_IN_CASCADE]++;
}

/* Not all steps can be seen, but those that are seen must not exceed the
 * bound. */
static void verify_bound(struct driving *d, int answer, uint64_t max_steps)
{
	uint64_t before = d->tally->n[TALLY_CASCADE];

	if (max_steps == TKW_STEPS_UNBOUNDED) {
		if (answer == 1)
			driving_fail(d, "an advance without bound was stopped");
		return;
	}
	if (d->pass_expired + driving_look(d) > max_steps)
		driving_fail(d, "an advance took more steps than its bound");
	d->pass_cascaded = d->tally->n[TALLY_CASCADE] - before;
}

static int advance(struct driving *d, uint64_t to, uint64_t max_steps)
{
	uint64_t now = d->oracle.now;
	const char *wrong;
	int answer;

	driving_trace(d, "advance, steps and target:",
		      max_steps > UINT32_MAX ? UINT32_MAX : (uint32_t)max_steps,
		      to);
	count_advance(d, to, max_steps);
	d->pass_expired = 0;
	d->inside_left = 10;
	if (max_steps != TKW_STEPS_UNBOUNDED)
		driving_look(d);
	oracle_begin(&d->oracle, to);
	answer = tkw_wheel_advance(d->wheel, to, max_steps, driving_expired, d);
	wrong = oracle_end(&d->oracle, answer == 1,
			   tkw_wheel_now_tick(d->wheel));
	if (wrong)
		driving_fail(d, wrong);
	if (answer != 0 && answer != 1)
		driving_fail(d, "an advance failed");
	verify_bound(d, answer, max_steps);
	if (to >= now) {
		d->stopped = answer;
		d->stop_target = to;
	}
	if (answer == 1)
		count_stop(d);
	driving_verify(d);
	return answer;
}

/* An empty wheel has no next tick. Do not advance to the end of time then. */
static uint64_t seldom_never(struct driving *d, uint64_t tick)
{
	if (tick < TKW_TICK_NEVER - 1 || choice_below(d->choice, 32) == 0)
		return tick;
	return d->oracle.now;
}

/* Picks a target for an advance, mostly near, or at the tick of an entry. */
static uint64_t draw_target(struct driving *d)
{
	uint64_t now = d->oracle.now;
	uint64_t first = oracle_next(&d->oracle);

	switch (choice_below(d->choice, 16)) {
	case 0:
		return now - (now > 0);
	case 1:
	case 2:
		return seldom_never(d, d->next);
	case 3:
	case 4:
		return seldom_never(d, first);
	case 5:
		return seldom_never(d, first - (first > 0));
	case 6:
		return ticks_boundary(d->choice, now);
	case 7:
		return choice_below(d->choice, 8) ? now + 1
						  : ticks_jump(d->choice, now);
	case 8:
		return seldom_never(d, driving_tick(d));
	case 9:
	case 10:
		return now;
	default:
		if (now > TKW_TICK_NEVER - 1000)
			return now;
		return now + choice_below(d->choice, 40);
	}
}

static uint64_t draw_bound(struct driving *d)
{
	return choice_below(d->choice, choice_below(d->choice, 4) ? 3 : 8);
}

/* These are two steps of one operation, so that both use the same tick. */
static void extend_and_add(struct driving *d)
{
	uint32_t id = driving_any(d);
	uint64_t tick = driving_tick(d);

	driving_extend(d, id, tick);
	driving_verify(d);
	driving_add(d, driving_unlinked(d), tick);
}

static void add_with_slack(struct driving *d)
{
	uint64_t tick = driving_tick(d);
	uint64_t slack = choice_u64(d->choice) >> choice_below(d->choice, 64);
	uint64_t rounded = tkw_tick_with_slack(tick, slack);

	driving_trace(d, "slack", 0, slack);
	d->tally->n[TALLY_SLACK]++;
	d->tally->n[TALLY_SLACK_ROUNDED] += rounded != tick;
	if (rounded != oracle_slack(tick, slack))
		driving_fail(d, "a tick was rounded wrongly to its slack");
	driving_add(d, driving_unlinked(d), rounded);
}

static void resume(struct driving *d)
{
	if (!d->stopped) {
		advance(d, seldom_never(d, d->next), draw_bound(d) + 1);
		return;
	}
	advance(d, d->stop_target,
		choice_below(d->choice, 2) ? TKW_STEPS_UNBOUNDED
					   : draw_bound(d));
}

static void operate(struct driving *d)
{
	switch (d->lots[choice_below(d->choice, DRIVING_LOTS)]) {
	case OP_ADD:
		driving_add(d, driving_unlinked(d), driving_tick(d));
		break;
	case OP_ADD_ANY:
		driving_add(d, driving_any(d), driving_tick(d));
		break;
	case OP_ADD_SLACK:
		add_with_slack(d);
		break;
	case OP_REMOVE:
		driving_remove(d, driving_any(d));
		break;
	case OP_MOVE:
		driving_move(d, driving_any(d), driving_tick(d));
		break;
	case OP_EXTEND:
		driving_extend(d, driving_any(d), driving_tick(d));
		break;
	case OP_EXTEND_AND_ADD:
		extend_and_add(d);
		break;
	case OP_ADVANCE:
		advance(d, draw_target(d), TKW_STEPS_UNBOUNDED);
		return;
	case OP_ADVANCE_BOUNDED:
		advance(d, draw_target(d), draw_bound(d));
		return;
	case OP_RESUME:
		resume(d);
		return;
	default:
		d->tally->n[TALLY_WALK]++;
		driving_walk(d);
		return;
	}
	driving_verify(d);
}

/* Advances to the end of time. Only entries that are never due are left. */
static void drain(struct driving *d)
{
	uint64_t bound = choice_below(d->choice, 2) ? TKW_STEPS_UNBOUNDED : 7;
	int calls = 100000;

	while (advance(d, TKW_TICK_NEVER, bound) == 1) {
		if (--calls == 0)
			driving_fail(d,
				     "bounded advances do not come to an end");
	}
	if (d->oracle.count > 0 && d->oracle.items[0].tick != TKW_TICK_NEVER)
		driving_fail(d, "an entry is left at the end of time");
	driving_walk(d);
}

static void run(struct driving *d)
{
	uint64_t ops = d->opts->ops;
	uint32_t old = 0;

	begin_life(d);
	for (; d->op < ops && !choice_spent(d->choice); d->op++) {
		d->tally->n[TALLY_STEP]++;
		operate(d);
		/* The wheel should reach the end of time, but not stay there
		 * for long. */
		if (d->oracle.now == TKW_TICK_NEVER && old++ == 10) {
			d->tally->n[TALLY_WHEEL_END_OF_TIME]++;
			end_life(d);
			begin_life(d);
			old = 0;
		}
	}
	if (choice_below(d->choice, 4))
		drain(d);
	end_life(d);
}

int driver_run(struct choice *c, const struct driver_opts *opts,
	       struct tally *t, struct driver_failure *f)
{
	struct driving *d = calloc(1, sizeof(*d));
	int failed;

	if (!d)
		abort();
	d->choice = c;
	d->opts = opts;
	d->tally = t;
	d->failure = f;
	if (setjmp(d->out) == 0) {
		run(d);
		failed = 0;
	} else {
		failed = 1;
	}
	free(d->mem);
	free(d);
	return failed;
}
