/* SPDX-License-Identifier: MIT */
/*
 * timer_loops.h - the timed loops, compiled once for each entrant.
 *
 * It has no include guard, because it is the last include of each entrant's
 * file. Before the include, the file declares fired(), and calls it with the
 * slot of each timeout that is due. It also defines
 *
 *   enum { HAS_DEADLINES }           1 if it takes absolute deadlines. If not,
 *                                    a delay in fired() may count from the
 *                                    begin of the loop's turn.
 *   enum { SLOTS_ARE_CALLERS }       1 if its slots are plain handles, and not
 *                                    the memory of the timeouts
 *   void timer_open(l)               makes a timer whose worker runs
 *   const char *slots_open(n)        makes room for n timeouts and touches it.
 *                                    Returns NULL, or why that is impossible.
 *   void timer_stop()                ends the worker; timeouts may be pending
 *   void slots_close()               none is pending, or the worker has ended
 *   void timer_close()               called last
 *   bool op_schedule(i, delay_ns)    slot i is not pending
 *   bool op_schedule_at(i, deadline_ns, delay_ns)
 *                                    the same, but reads no clock: it uses the
 *                                    deadline or the delay, as it likes
 *   bool op_cancel(i)                slot i is pending
 *   bool op_reschedule(i, delay_ns)  slot i is pending, and its new deadline
 *                                    is not earlier
 *   bool op_rearm(i, delay_ns)       as op_schedule(), inside fired(i)
 *
 * After the include, it can call run_load(). There is only one sample at a
 * time, so there is one timer. Any thread calls the first four ops, each with
 * its own slots. Only one thread, the worker, calls fired().
 *
 * If op_cancel() does not know whether the slot was pending, the file also
 * defines PENDING_IS(n), which is true if n timeouts are pending.
 */
#include <stdatomic.h>

#ifndef PENDING_IS
#define PENDING_IS(n) ((void)(n), true)
#endif

/* The size of the ring of cross_cancel. */
#define RING 4096

/* Slots of different threads are at least this far apart: two cache lines of
 * ids. */
#define SLOTS_APART 16

/* In fire, one slot in WATCHED_EACH is watched. */
#define WATCHED_EACH 1024

static struct {
	enum rival_kind kind;
	uint32_t n;
	uint32_t spread_us; /* In fire: from the shortest delay to the longest.
			     */
	uint64_t rng;
	_Atomic uint64_t fired;
	_Atomic uint64_t refused; /* calls that should have succeeded */
	/* In herd, when the first and the last timeout fired, or 0. */
	_Atomic int64_t first_ns;
	_Atomic int64_t last_ns;
	/* In lateness, the deadline of each slot, and after it has fired, how
	 * late it was. In fire, when each watched slot is due. */
	int64_t *times;
	/* In lateness, how often each slot has fired. 2 stands for too
	 * often. */
	uint8_t *seen;
	/* In fire, how many watched slots were early. It is read after the
	 * worker has ended. */
	uint64_t early;
} tally;

static uint64_t count_fired(void)
{
	/* pairs with fired() */
	return atomic_load_explicit(&tally.fired, memory_order_acquire);
}

static void count_refused(uint64_t count)
{
	if (count > 0)
		atomic_fetch_add_explicit(&tally.refused, count,
					  memory_order_relaxed);
}

/* From 1 ms to the longest delay. */
static int64_t rearm_delay(uint64_t *rng)
{
	return RIVAL_MSEC + rival_below(rng, tally.spread_us) * RIVAL_USEC;
}

static bool is_watched(size_t i)
{
	return HAS_DEADLINES && i % WATCHED_EACH == 0;
}

/* Entrants without deadlines are not watched. The turn of their loop may have
 * begun long before the callback that re-arms. Then they fire early by the
 * clock, as they are meant to. */
static void fire_again(size_t i)
{
	int64_t delay = rearm_delay(&tally.rng);

	if (is_watched(i)) {
		int64_t now = rival_now();

		tally.early += now < tally.times[i / WATCHED_EACH];
		tally.times[i / WATCHED_EACH] = now + delay;
	}
	count_refused(!op_rearm(i, delay));
}

static void note_lateness(size_t i)
{
	int64_t now = rival_now();

	if (tally.seen[i] < 2)
		tally.seen[i]++;
	tally.times[i] = now - tally.times[i];
}

static void fired(size_t i)
{
	uint64_t before =
		atomic_load_explicit(&tally.fired, memory_order_relaxed);

	switch (tally.kind) {
	case RIVAL_FIRE:
		fire_again(i);
		break;
	case RIVAL_LATENESS:
		note_lateness(i);
		break;
	case RIVAL_HERD:
		if (before == 0)
			atomic_store_explicit(&tally.first_ns, rival_now(),
					      memory_order_relaxed);
		if (before + 1 == tally.n)
			atomic_store_explicit(&tally.last_ns, rival_now(),
					      memory_order_relaxed);
		break;
	default:
		break;
	}
	/* Only one thread writes, so no read-modify-write is needed. Pairs with
	 * count_fired(). */
	atomic_store_explicit(&tally.fired, before + 1, memory_order_release);
}

/* Makes a running timer with slots. Returns false if that is impossible. Then
 * the answer says why. */
static bool sample_open(const struct rival_load *l, size_t slots,
			struct rival_answer *a)
{
	tally.kind = l->kind;
	tally.n = l->n;
	tally.spread_us = (l->longest_ms - 1) * 1000;
	tally.rng = 1;
	tally.early = 0;
	/* There is no other thread yet. */
	atomic_store_explicit(&tally.fired, 0, memory_order_relaxed);
	atomic_store_explicit(&tally.refused, 0, memory_order_relaxed);
	atomic_store_explicit(&tally.first_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&tally.last_ns, 0, memory_order_relaxed);
	timer_open(l);
	a->skip = slots_open(slots);
	if (a->skip) {
		timer_stop();
		timer_close();
	}
	return a->skip == NULL;
}

/* Checks that nothing has fired, and that `count` timeouts are pending. */
static void expect_pending(size_t count, struct rival_answer *a)
{
	if (count_fired() > 0)
		rival_fail(a, "a timeout fired early");
	if (!PENDING_IS(count))
		rival_fail(a, "not as many are pending as must be");
}

static void sample_close(struct rival_answer *a)
{
	/* Look before the stop, because the stop refuses timeouts that re-arm
	 * themselves. */
	if (atomic_load_explicit(&tally.refused, memory_order_relaxed) > 0)
		rival_fail(a, "a schedule or a cancel was refused");
	timer_stop();
	slots_close();
	timer_close();
}

/* Waits until all have fired. Returns false if they have not by latest_ns. */
static bool await_fired(uint64_t count, int64_t latest_ns)
{
	while (count_fired() < count) {
		if (rival_now() > latest_ns)
			return false;
		rival_sleep_until(rival_now() + RIVAL_MSEC);
	}
	return true;
}

/* The delay of a thread's k-th schedule. */
static inline int64_t far_delay(uint32_t k)
{
	return 20 * RIVAL_SEC + (int64_t)(k % 1024) * 10 * RIVAL_MSEC;
}

/* The same in reschedule. Each deadline is later than all before it, as those
 * of idle timeouts are. */
static inline int64_t later_delay(uint32_t k)
{
	return 31 * RIVAL_SEC + (int64_t)k * 10 * RIVAL_USEC;
}

/* How the threads share the slots. */
struct share {
	const struct rival_load *load;
	uint32_t slots; /* of each thread */
	uint32_t apart; /* from a thread's first slot to the next thread's */
	int64_t base_ns;
};

static size_t first_slot(const struct share *s, uint32_t thread)
{
	return (size_t)s->apart * thread;
}

static void fill_share(uint32_t thread, void *ctx)
{
	const struct share *s = ctx;
	size_t first = first_slot(s, thread);
	uint64_t refused = 0;

	for (uint32_t k = 0; k < s->slots; k++)
		refused += !op_schedule(first + k, far_delay(k));
	count_refused(refused);
}

/* If `at` is set, the caller gives its own deadline. */
static inline void pair(const struct share *s, uint32_t thread, bool at)
{
	size_t first = first_slot(s, thread);
	uint32_t oldest = 0;
	uint64_t refused = 0;

	for (uint32_t k = 0; k < s->load->ops; k++) {
		size_t i = first + oldest;
		int64_t delay = far_delay(k);

		refused += !op_cancel(i);
		refused += at ? !op_schedule_at(i, s->base_ns + delay, delay)
			      : !op_schedule(i, delay);
		if (++oldest == s->slots)
			oldest = 0;
	}
	count_refused(refused);
}

static void loop_pair(uint32_t thread, void *ctx)
{
	pair(ctx, thread, false);
}

static void loop_pair_at(uint32_t thread, void *ctx)
{
	pair(ctx, thread, true);
}

static void loop_reschedule(uint32_t thread, void *ctx)
{
	const struct share *s = ctx;
	size_t first = first_slot(s, thread);
	uint64_t rng = thread;
	uint64_t refused = 0;

	for (uint32_t k = 0; k < s->load->ops; k++) {
		size_t i = first + rival_below(&rng, s->slots);

		refused += !op_reschedule(i, later_delay(k));
	}
	count_refused(refused);
}

static void loop_churn(uint32_t thread, void *ctx)
{
	const struct share *s = ctx;
	size_t first = first_slot(s, thread);
	uint64_t rng = thread;
	uint64_t refused = 0;

	for (uint32_t k = 0; k < s->load->ops; k++) {
		size_t i = first + rival_below(&rng, s->slots);

		refused += !op_cancel(i);
		refused += !op_schedule(i, far_delay(k));
	}
	count_refused(refused);
}

/* For schedule, pair, reschedule and churn. Each thread has its own slots. */
static void run_shares(const struct rival_load *l, uint32_t slots,
		       struct rival_team team, struct rival_answer *a)
{
	struct share share = { .load = l,
			       .slots = slots,
			       .apart = (slots + SLOTS_APART - 1) /
					SLOTS_APART * SLOTS_APART };
	double ops = (double)l->threads * (double)l->ops;
	struct rival_cost cost;

	if (!sample_open(l, (size_t)share.apart * l->threads, a))
		return;
	share.base_ns = rival_now();
	team.threads = l->threads;
	team.ctx = &share;
	rival_team_run(&team, &cost);
	expect_pending((size_t)slots * l->threads, a);
	sample_close(a);
	rival_figure(a, "ns", (double)cost.wall_ns / ops);
	if (l->kind != RIVAL_CHURN)
		rival_figure(a, "cpu_ns", (double)cost.cpu_ns / ops);
}

static void run_schedule(const struct rival_load *l, struct rival_answer *a)
{
	struct rival_team team = { .timed = fill_share };

	run_shares(l, l->ops, team, a);
}

static void run_pair(const struct rival_load *l, struct rival_answer *a)
{
	struct rival_team team = { .prepare = fill_share,
				   .timed = l->at ? loop_pair_at : loop_pair };

	run_shares(l, l->window, team, a);
}

static void run_reschedule(const struct rival_load *l, struct rival_answer *a)
{
	struct rival_team team = { .prepare = fill_share,
				   .timed = loop_reschedule };

	run_shares(l, l->window, team, a);
}

static void run_churn(const struct rival_load *l, struct rival_answer *a)
{
	struct rival_team team = { .prepare = fill_share, .timed = loop_churn };
	uint32_t slots = l->n / l->threads;

	run_shares(l, slots > 0 ? slots : 1, team, a);
}

/* Passes handles from one thread to another. Handle k is in slot k % RING,
 * which is free again when the consumer has cancelled it. */
struct ring {
	_Alignas(64) _Atomic uint32_t put;
	_Alignas(64) _Atomic uint32_t got;
	_Alignas(64) uint32_t ops;
};

static void loop_produce(struct ring *r)
{
	uint32_t got = 0;
	uint64_t refused = 0;

	for (uint32_t k = 0; k < r->ops; k++) {
		while (k - got == RING) {
			/* pairs with loop_consume() */
			got = atomic_load_explicit(&r->got,
						   memory_order_acquire);
			if (k - got == RING)
				rival_pause();
		}
		refused += !op_schedule(k % RING, far_delay(k));
		/* pairs with loop_consume() */
		atomic_store_explicit(&r->put, k + 1, memory_order_release);
	}
	count_refused(refused);
}

static void loop_consume(struct ring *r)
{
	uint32_t put = 0;
	uint64_t refused = 0;

	for (uint32_t k = 0; k < r->ops; k++) {
		while (k == put) {
			/* pairs with loop_produce() */
			put = atomic_load_explicit(&r->put,
						   memory_order_acquire);
			if (k == put)
				rival_pause();
		}
		refused += !op_cancel(k % RING);
		/* pairs with loop_produce() */
		atomic_store_explicit(&r->got, k + 1, memory_order_release);
	}
	count_refused(refused);
}

static void loop_cross(uint32_t thread, void *ctx)
{
	if (thread == 0)
		loop_produce(ctx);
	else
		loop_consume(ctx);
}

static void run_cross_cancel(const struct rival_load *l, struct rival_answer *a)
{
	struct ring ring = { .ops = l->ops };
	struct rival_team team = { .threads = 2,
				   .timed = loop_cross,
				   .ctx = &ring };
	struct rival_cost cost;

	if (!sample_open(l, RING, a))
		return;
	rival_team_run(&team, &cost);
	expect_pending(0, a);
	sample_close(a);
	rival_figure(a, "ns", (double)cost.wall_ns / l->ops);
}

/* What is left of the delay of a timeout that was scheduled some time ago: the
 * lesser of two delays. With this, the rate of the fires is the same from the
 * start. */
static int64_t rest_of_delay(uint64_t *rng)
{
	int64_t one = rearm_delay(rng);
	int64_t other = rearm_delay(rng);

	return one < other ? one : other;
}

/* Schedules all timeouts. Their delays count from begin. */
static void fire_fill(uint32_t n, int64_t begin)
{
	uint64_t rng = 2;
	uint64_t refused = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t due = begin + rest_of_delay(&rng);

		if (is_watched(i))
			tally.times[i / WATCHED_EACH] = due;
		refused += !op_schedule(i, due - rival_now());
	}
	count_refused(refused);
}

static void run_fire(const struct rival_load *l, struct rival_answer *a)
{
	/* Nothing is due before all timeouts are scheduled. Otherwise the
	 * filling would have to compete for the lock with a worker that is
	 * always busy. */
	int64_t lead = 100 * RIVAL_MSEC + (int64_t)l->n * 1000;
	size_t bytes = (l->n / WATCHED_EACH + 1) * sizeof(*tally.times);
	uint64_t fires;
	int64_t wall;
	int64_t cpu;
	int64_t begin;

	if (!sample_open(l, l->n, a))
		return;
	tally.times = rival_pages_get(bytes);
	begin = rival_now() + lead;
	fire_fill(l->n, begin);
	rival_sleep_until(begin + 500 * RIVAL_MSEC);
	cpu = -rival_cpu_ns();
	wall = -rival_now();
	fires = -count_fired();
	rival_sleep_until(rival_now() + l->ms * RIVAL_MSEC);
	fires += count_fired();
	wall += rival_now();
	cpu += rival_cpu_ns();
	sample_close(a);
	rival_pages_put(tally.times, bytes);
	if (tally.early > 0)
		rival_fail(a, "a timeout fired early");
	if (fires == 0) {
		rival_fail(a, "nothing fired");
		return;
	}
	rival_figure(a, "ns", (double)wall / (double)fires);
	rival_figure(a, "cpu_ns", (double)cpu / (double)fires);
}

static void lateness_figures(int64_t *late, size_t n, struct rival_answer *a)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = {
		{ "p10", 0.1 },     { "p25", 0.25 }, { "p50", 0.5 },
		{ "p75", 0.75 },    { "p90", 0.9 },  { "p99", 0.99 },
		{ "p99_9", 0.999 }, { "max", 1 },
	};
	size_t early = 0;

	rival_sort(late, n);
	while (early < n && late[early] < 0)
		early++;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		rival_figure(a, shares[i].name,
			     (double)rival_quantile(late, n, shares[i].share) /
				     RIVAL_USEC);
	rival_figure(a, "early", (double)early);
}

static bool all_seen_once(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (tally.seen[i] != 1)
			return false;
	}
	return true;
}

static void run_lateness(const struct rival_load *l, struct rival_answer *a)
{
	size_t bytes = l->n * sizeof(*tally.times);
	uint64_t rng = 1; /* the rivals in Java and Go draw the same delays */

	if (!sample_open(l, l->n, a))
		return;
	tally.times = rival_pages_get(bytes);
	tally.seen = rival_pages_get(l->n);
	for (uint32_t i = 0; i < l->n; i++) {
		int64_t delay =
			RIVAL_MSEC + rival_below(&rng, 999 * RIVAL_MSEC + 1);

		tally.times[i] = rival_now() + delay;
		count_refused(!op_schedule(i, delay));
	}
	rival_sleep_until(rival_now() + RIVAL_SEC);
	if (!await_fired(l->n, rival_now() + 10 * RIVAL_SEC))
		rival_fail(a, "a timeout did not fire");
	sample_close(a);
	if (!all_seen_once(l->n))
		rival_fail(a, "a timeout fired more than once");
	if (a->fail == NULL)
		lateness_figures(tally.times, l->n, a);
	rival_pages_put(tally.seen, l->n);
	rival_pages_put(tally.times, bytes);
}

/* For idle and far: what it costs to have timeouts that are not due. */
static void run_rest(const struct rival_load *l, uint32_t n, int64_t delay,
		     struct rival_answer *a)
{
	struct rival_usage before;
	struct rival_usage after;

	if (!sample_open(l, n, a))
		return;
	for (uint32_t i = 0; i < n; i++)
		count_refused(!op_schedule(i, delay));
	rival_sleep_until(rival_now() + 500 * RIVAL_MSEC);
	rival_usage_read(&before);
	rival_sleep_until(rival_now() + l->ms * RIVAL_MSEC);
	rival_usage_read(&after);
	expect_pending(n, a);
	sample_close(a);
	rival_figure(a, "wakeups", (double)(after.wakeups - before.wakeups));
	rival_figure(a, "cpu_ms",
		     (double)(after.cpu_ns - before.cpu_ns) / RIVAL_MSEC);
}

/* One call while the herd runs. */
struct probe {
	int64_t begin;
	int64_t took;
};

/* With one probe in 10 us, this is enough for 40 s. */
#define PROBES_MAX ((size_t)1 << 22)

struct prober {
	int64_t from_ns;
	int64_t until_ns; /* when to give up if the last timeout never fires */
	struct probe *probes;
	size_t count;
};

/* Notes a call that lasted from begin to end. Calls that ended before the first
 * timeout fired are ignored. */
static void probe_note(struct prober *p, int64_t begin, int64_t end)
{
	int64_t first =
		atomic_load_explicit(&tally.first_ns, memory_order_relaxed);

	if (first > 0 && end >= first && p->count < PROBES_MAX)
		p->probes[p->count++] = (struct probe){ begin, end - begin };
}

static void probe_once(struct prober *p)
{
	int64_t begin = rival_now();
	int64_t middle;
	int64_t spin;

	count_refused(!op_schedule(tally.n, RIVAL_HOUR));
	middle = rival_now();
	probe_note(p, begin, middle);
	count_refused(!op_cancel(tally.n));
	spin = rival_now();
	/* We want to know how long a schedule waits. But it may be the cancel
	 * that has waited for the whole herd. */
	if (p->count == 0)
		probe_note(p, middle, spin);
	spin += 10 * RIVAL_USEC;
	while (rival_now() < spin)
		rival_pause();
}

static void loop_probe(uint32_t thread, void *ctx)
{
	struct prober *p = ctx;

	(void)thread;
	rival_sleep_until(p->from_ns);
	while (count_fired() < tally.n && rival_now() < p->until_ns)
		probe_once(p);
}

/* Schedules all timeouts with one deadline. Returns false if the deadline has
 * passed before all were scheduled. */
static bool herd_fill(uint32_t n, int64_t deadline)
{
	uint64_t refused = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (HAS_DEADLINES)
			refused += !op_schedule_at(i, deadline, 0);
		else
			refused += !op_schedule(i, deadline - rival_now());
	}
	count_refused(refused);
	return rival_now() < deadline;
}

static void herd_figures(const struct prober *p, struct rival_answer *a)
{
	/* The worker has ended. */
	int64_t first =
		atomic_load_explicit(&tally.first_ns, memory_order_relaxed);
	int64_t last =
		atomic_load_explicit(&tally.last_ns, memory_order_relaxed);
	int64_t *took = rival_pages_get((p->count + 1) * sizeof(*took));
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->probes[i].begin <= last)
			took[count++] = p->probes[i].took;
	}
	rival_sort(took, count);
	if (count == 0) {
		a->skip = "no call fell into the herd";
	} else {
		rival_figure(a, "p99",
			     (double)rival_quantile(took, count, 0.99) /
				     RIVAL_USEC);
		rival_figure(a, "max", (double)took[count - 1] / RIVAL_USEC);
		rival_figure(a, "drain_ms",
			     (double)(last - first) / RIVAL_MSEC);
		rival_figure(a, "probes", (double)count);
	}
	rival_pages_put(took, (p->count + 1) * sizeof(*took));
}

static void herd_watch(const struct rival_load *l, int64_t deadline,
		       struct rival_answer *a)
{
	struct prober prober = { .from_ns = deadline - 20 * RIVAL_MSEC,
				 .until_ns = deadline + 60 * RIVAL_SEC };
	struct rival_team team = { .threads = 1,
				   .timed = loop_probe,
				   .ctx = &prober };
	struct rival_cost cost;

	prober.probes = rival_pages_get(PROBES_MAX * sizeof(struct probe));
	rival_team_run(&team, &cost);
	if (count_fired() != l->n)
		rival_fail(a, "a timeout did not fire");
	if (!PENDING_IS(0))
		rival_fail(a, "not as many are pending as must be");
	sample_close(a);
	if (a->fail == NULL)
		herd_figures(&prober, a);
	rival_pages_put(prober.probes, PROBES_MAX * sizeof(struct probe));
}

static void run_herd(const struct rival_load *l, struct rival_answer *a)
{
	int64_t lead = RIVAL_SEC + (int64_t)l->n * 300;

	for (int tries = 0; tries < 5; tries++) {
		int64_t deadline;

		/* One slot more, for the probe. */
		if (!sample_open(l, (size_t)l->n + 1, a))
			return;
		deadline = rival_now() + lead;
		if (herd_fill(l->n, deadline)) {
			herd_watch(l, deadline, a);
			return;
		}
		sample_close(a);
		lead *= 2;
	}
	a->skip = "too slow to have all scheduled before the deadline";
}

static void run_memory(const struct rival_load *l, struct rival_answer *a)
{
	double bare;
	double empty;
	double full;
	double after;

	if (!sample_open(l, 1, a))
		return;
	rival_sleep_until(rival_now() + 20 * RIVAL_MSEC);
	bare = (double)rival_resident();
	slots_close();
	(void)slots_open(l->n);
	/* Memory for handles that only the caller needs does not count. */
	empty = SLOTS_ARE_CALLERS ? (double)rival_resident() : bare;
	for (uint32_t i = 0; i < l->n; i++)
		count_refused(!op_schedule(i, RIVAL_TEN_DAYS));
	full = (double)rival_resident();
	for (uint32_t i = 0; i < l->n; i++)
		count_refused(!op_cancel(i));
	expect_pending(0, a);
	slots_close();
	(void)slots_open(1);
	rival_sleep_until(rival_now() + 100 * RIVAL_MSEC);
	after = (double)rival_resident();
	sample_close(a);
	rival_figure(a, "bytes", (full - empty) / l->n);
	rival_figure(a, "after_kb", (after - bare) / 1024);
	rival_figure(a, "empty_kb", bare / 1024);
}

static void run_load(const struct rival_load *l, struct rival_answer *a)
{
	switch (l->kind) {
	case RIVAL_SCHEDULE:
		run_schedule(l, a);
		break;
	case RIVAL_PAIR:
		run_pair(l, a);
		break;
	case RIVAL_RESCHEDULE:
		run_reschedule(l, a);
		break;
	case RIVAL_CHURN:
		run_churn(l, a);
		break;
	case RIVAL_CROSS_CANCEL:
		run_cross_cancel(l, a);
		break;
	case RIVAL_FIRE:
		run_fire(l, a);
		break;
	case RIVAL_LATENESS:
		run_lateness(l, a);
		break;
	case RIVAL_IDLE:
		run_rest(l, 1, RIVAL_HOUR, a);
		break;
	case RIVAL_FAR:
		run_rest(l, l->n, RIVAL_TEN_DAYS, a);
		break;
	case RIVAL_HERD:
		run_herd(l, a);
		break;
	case RIVAL_MEMORY:
		run_memory(l, a);
		break;
	case RIVAL_CREATE:
	case RIVAL_UNUSED:
	case RIVAL_STOP:
	case RIVAL_REQUEST:
	case RIVAL_DELAYED:
	case RIVAL_EXPIRE:
	case RIVAL_EXTEND:
		break; /* not here: see struct entrant */
	}
}
