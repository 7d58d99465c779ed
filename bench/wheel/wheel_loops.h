/* SPDX-License-Identifier: MIT */
/*
 * wheel_loops.h - the timed loops, compiled once for each entrant.
 *
 * It has no include guard, because it is the last include of each entrant's
 * file. Before the include, the file defines
 *
 *   struct state
 *   void state_open(s, entrant, load)
 *                                    ready for load->n entries, none pending
 *   void state_close(s)              entries may be pending
 *   void op_schedule(s, i, tick)     entry i is not pending
 *   void op_cancel(s, i)             entry i is pending
 *   void op_extend(s, i, tick)       entry i is pending, for tick or earlier
 *   void op_advance(s, tick)         fires what is due up to tick
 *   void op_settle(s)                completes what was put off
 *
 * After the include, it can call run_load(). Ticks are absolute, and
 * bench_tally.now is the present one. An entrant that fires an entry calls
 * bench_count_fired(i), and touches the entry.
 */
static void advance_to(struct state *s, uint64_t tick)
{
	bench_tally.now = tick;
	op_advance(s, tick);
}

static uint64_t first_delay(const struct bench_load *l, uint64_t bits)
{
	return l->delay_far + l->delay_min + bench_below(bits, l->delay_span);
}

/* Makes all entries pending. It is not timed. */
static void fill(struct state *s, const struct bench_load *l)
{
	uint64_t rng = l->seed;

	for (uint32_t i = 0; i < l->n; i++) {
		uint64_t delay = l->laid_out
					 ? l->delay_fixed
					 : first_delay(l, bench_random(&rng));

		op_schedule(s, i, bench_tally.now + delay);
		if (l->laid_out && i % l->per_tick == l->per_tick - 1)
			advance_to(s, bench_tally.now + 1);
	}
}

/* Cancels all entries. It is not timed. It begins with the last, which is cheap
 * for a heap. */
static void clear(struct state *s, const struct bench_load *l)
{
	for (uint32_t i = l->n; i-- > 0;)
		op_cancel(s, i);
	op_settle(s);
}

static void loop_schedule(struct state *s, const struct bench_load *l)
{
	uint64_t rng = l->seed;
	uint64_t now = bench_tally.now;

	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t more = bench_below(bench_random(&rng), l->delay_span);

		op_schedule(s, i, now + l->delay_min + more);
	}
}

static void loop_cancel(struct state *s, const struct bench_load *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		op_cancel(s, l->order[i]);
	op_settle(s);
}

static void loop_churn(struct state *s, const struct bench_load *l)
{
	uint64_t rng = ~l->seed;
	uint64_t now = bench_tally.now;

	for (uint64_t k = 0; k < l->ops; k++) {
		uint64_t bits = bench_random(&rng);
		uint32_t i = bench_below(bits >> 32, l->n);
		uint32_t more = bench_below(bits, l->delay_span);

		op_cancel(s, i);
		op_schedule(s, i, now + l->delay_min + more);
	}
	op_settle(s);
}

static void loop_extend(struct state *s, const struct bench_load *l)
{
	uint64_t rng = ~l->seed;

	for (uint64_t k = 0; k < l->ops;) {
		uint64_t tick = bench_tally.now + l->delay_fixed;
		uint64_t pause = k + l->per_tick;

		for (; k < pause && k < l->ops; k++) {
			uint64_t bits = bench_random(&rng);

			op_extend(s, bench_below(bits >> 32, l->n), tick);
		}
		advance_to(s, bench_tally.now + 1);
	}
	op_settle(s);
}

static void loop_rpc(struct state *s, const struct bench_load *l)
{
	uint32_t oldest = 0;

	for (uint64_t k = 0; k < l->ops;) {
		uint64_t tick = bench_tally.now + l->delay_fixed;
		uint64_t pause = k + l->per_tick;

		for (; k < pause && k < l->ops; k++) {
			op_cancel(s, oldest);
			op_schedule(s, oldest, tick);
			if (++oldest == l->n)
				oldest = 0;
		}
		advance_to(s, bench_tally.now + 1);
	}
	op_settle(s);
}

static void loop_expire(struct state *s, const struct bench_load *l)
{
	uint64_t end = bench_tally.now + l->delay_min + l->delay_span;

	for (uint64_t tick = bench_tally.now + 1; tick < end; tick++)
		advance_to(s, tick);
}

static void loop_ticks(struct state *s, const struct bench_load *l)
{
	uint64_t end = bench_tally.now + l->ops;

	for (uint64_t tick = bench_tally.now + 1; tick <= end; tick++)
		advance_to(s, tick);
}

static void loop_jump(struct state *s, const struct bench_load *l)
{
	for (uint64_t k = 0; k < l->ops; k++)
		advance_to(s, bench_tally.now + l->jump);
}

static void run_timed(struct state *s, const struct bench_load *l)
{
	switch (l->kind) {
	case BENCH_SCHEDULE:
		loop_schedule(s, l);
		break;
	case BENCH_CANCEL:
		loop_cancel(s, l);
		break;
	case BENCH_CHURN:
		loop_churn(s, l);
		break;
	case BENCH_EXTEND:
		loop_extend(s, l);
		break;
	case BENCH_RPC:
		loop_rpc(s, l);
		break;
	case BENCH_EXPIRE:
		loop_expire(s, l);
		break;
	case BENCH_TICKS:
		loop_ticks(s, l);
		break;
	case BENCH_JUMP:
		loop_jump(s, l);
		break;
	}
}

/* Expires everything that is left, so that the pending entries are counted. The
 * steps are the same wherever the timed part ended. */
static void drain(struct state *s, const struct bench_load *l)
{
	uint64_t begin = BENCH_START + l->delay_far;
	uint64_t end = begin + l->delay_min + l->delay_span / l->drain_part;

	if (l->drain_part == 1 && end < bench_tally.now + l->delay_fixed)
		end = bench_tally.now + l->delay_fixed;
	if (bench_tally.now < begin)
		advance_to(s, begin);
	while (bench_tally.now < end) {
		uint64_t steps = (bench_tally.now - begin) / l->drain_step;

		advance_to(s, begin + (steps + 1) * l->drain_step);
	}
}

/* Runs the timed part, round by round. Returns the time that it took. */
static uint64_t run_rounds(struct state *s, const struct bench_load *l,
			   struct bench_outcome *out, uint64_t bytes_before)
{
	uint64_t spent = 0;

	for (uint32_t round = 0; round < l->rounds; round++) {
		uint64_t start;

		if (l->kind != BENCH_SCHEDULE)
			fill(s, l);
		else if (round > 0)
			clear(s, l);
		if (l->kind != BENCH_SCHEDULE && round == 0)
			out->bytes_per_timer =
				(double)(bench_bytes_in_use() - bytes_before);
		/* There are few jumps, so the cold first one is not timed. */
		if (l->kind == BENCH_JUMP)
			advance_to(s, bench_tally.now + l->jump);
		(void)bench_cpu_ns();
		start = bench_cpu_ns();
		run_timed(s, l);
		spent += bench_cpu_between(start, bench_cpu_ns());
	}
	if (l->kind == BENCH_SCHEDULE)
		out->bytes_per_timer =
			(double)(bench_bytes_in_use() - bytes_before);
	out->bytes_per_timer /= (double)l->n;
	return spent;
}

static void run_load(const struct bench_entrant *entrant,
		     const struct bench_load *l, struct bench_outcome *out)
{
	uint64_t bytes_before = bench_bytes_in_use();
	struct state s;

	bench_tally.now = BENCH_START;
	bench_tally.fired = 0;
	bench_tally.checksum = 0;
	bench_vclock_on(BENCH_START);
	state_open(&s, entrant, l);
	if (l->kind == BENCH_SCHEDULE) {
		/* After this, an entrant that keeps an array has grown it. */
		fill(&s, l);
		clear(&s, l);
	}
	out->ns = (double)run_rounds(&s, l, out, bytes_before) / (double)l->ops;
	if (l->drain_step > 0)
		drain(&s, l);
	state_close(&s);
	bench_vclock_off();
	out->fired = bench_tally.fired;
	out->checksum = bench_tally.checksum;
	if (entrant->fires_nothing)
		out->bytes_per_timer = 0;
}
