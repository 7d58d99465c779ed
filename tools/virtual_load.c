/* SPDX-License-Identifier: MIT */
/*
 * virtual_load.c - the load of the virtual demo: timeouts like a server's, and
 * their ledger.
 *
 * A tick is a millisecond of the demo's own clock. No delay is shorter than 50
 * ms, so that the first three acts are over before anything is due:
 *
 *   ms 0 to 23    timeouts are scheduled
 *   ms 24 to 31   some are pushed back
 *   ms 32 to 47   most are cancelled
 *   then          time runs, in longer and longer steps, until the wheel is
 *                 empty
 *
 * Everything about a timeout follows from the seed and its number. Both engines
 * get the same load, and the plan takes no memory. Entries are pushed back and
 * cancelled in scattered order, because a server's answers do not come in the
 * order of its questions. Only the calls of the wheel are timed.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "interrupt.h"
#include "virtual_demo.h"

enum {
	SCHEDULE_STEPS = 24,
	EXTEND_STEPS = 8,
	CANCEL_STEPS = 16,
	BATCH = 1024 /* calls at a time, followed by one wrong call */
};

/* This limits the time between two pictures. It does not limit the work. */
#define ADVANCE_STEPS (UINT64_C(1) << 20)

/* The plan for a timeout. */
struct plan {
	uint32_t delay_ms;
	uint32_t extend_ms; /* 0 if it is not pushed back */
	bool cancel;
};

struct pick {
	struct virtual_item *item;
	uint32_t extend_ms;
};

/* Scatters x: each bit of x changes about half of the bits of the result. */
static uint64_t mix(uint64_t x)
{
	/* 2^64 divided by the golden ratio: odd, and without a pattern. */
	const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * golden;
	x = (x ^ x >> 29) * golden;
	x = (x ^ x >> 32) * golden;
	return x ^ x >> 32;
}

/* Makes a uniform number in 0 ... n - 1 from 32 random bits. */
static uint32_t below(uint32_t n, uint64_t random)
{
	return (uint32_t)((uint64_t)n * (uint32_t)random >> 32);
}

/* Picks two neighbours in a list of rising bounds, and a value between them. */
static uint32_t between(const uint32_t *bounds, uint32_t n, uint64_t random)
{
	uint32_t i = below(n - 1, random);

	return bounds[i] + below(bounds[i + 1] - bounds[i], random >> 32);
}

static struct plan rpc(uint64_t random, uint32_t fate)
{
	static const uint32_t ms[] = { 50,   100,  200,   500,   1000,
				       2000, 5000, 10000, 20000, 30000 };
	struct plan p = { between(ms, 10, random), 0, fate < 90 };

	return p;
}

static struct plan idle(uint64_t random, uint32_t fate)
{
	uint32_t delay = 45000 + below(30000, random);
	struct plan p = { delay, 0, fate % 10 < 8 };

	if (fate < 50)
		p.extend_ms = 1 + below(delay, random >> 32);
	return p;
}

static struct plan session(uint64_t random, uint32_t fate)
{
	static const uint32_t ms[] = { 600000, 1200000, 2400000, 4800000,
				       VIRTUAL_LONGEST_MS };
	uint32_t delay = between(ms, 5, random);
	struct plan p = { delay, 0, fate % 10 < 9 };

	if (fate < 20)
		p.extend_ms = 1 + below(delay, mix(random));
	return p;
}

/* Of ten timeouts, seven guard a call, two a connection, one a session. */
static struct plan plan(const struct virtual_demo *d, uint64_t index)
{
	uint64_t a = mix(mix(d->cfg.seed + 1) ^ index);
	uint64_t b = mix(a + 1);
	uint32_t kind = below(10, a);
	uint32_t fate = below(100, a >> 32);

	if (kind < 7)
		return rpc(b, fate);
	return kind < 9 ? idle(b, fate) : session(b, fate);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

enum {
	INTERRUPTED = 1 /* returned by look() and its callers */
};

/* Shows the state. Returns 0, INTERRUPTED, or what watch returned. */
static int look(struct virtual_demo *d, bool act_ended)
{
	int r = d->watch ? d->watch(d, act_ended) : 0;

	return !r && interrupt_signal() ? INTERRUPTED : r;
}

static void on_expire(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct virtual_demo *d = ctx;
	struct virtual_item *it =
		(struct virtual_item *)e; /* its first member */
	size_t index = (size_t)(it - d->items);
	uint64_t tick = tkw_wheel_now_tick(w);

	d->ledger.fired++;
	d->ledger.early += tick < it->due;
	d->ledger.late += tick > it->due;
	d->ledger.twice += it->fate != VIRTUAL_WAITING;
	d->ledger.disorder += tick < d->last_tick;
	if (tick != d->last_tick)
		d->last_index = 0;
	d->last_tick = tick;
	/* A timeout that was pushed back has no fixed place in its tick. */
	if (!it->extended) {
		d->ledger.disorder += index < d->last_index;
		d->last_index = index;
	}
	d->ledger.digest += mix(mix(index) ^ tick);
	it->fate = VIRTUAL_FIRED;
}

/* Expires everything up to a tick. Returns what look() returns. */
static int advance(struct virtual_demo *d, uint64_t to)
{
	for (;;) {
		uint64_t before = d->ledger.fired;
		uint64_t start = now_ns();
		int r = tkw_wheel_advance(d->wheel, to, ADVANCE_STEPS,
					  on_expire, d);

		d->work[VIRTUAL_EXPIRE].ns += now_ns() - start;
		d->work[VIRTUAL_EXPIRE].calls += d->ledger.fired - before;
		if (r <= 0) {
			d->ledger.refused += r < 0;
			return 0;
		}
		r = look(d, false);
		if (r)
			return r;
	}
}

/* Each act has its share of the progress bar. */
static void progress(struct virtual_demo *d, uint64_t part, uint64_t whole)
{
	static const unsigned start[] = { 0, 250, 350, 550, 1000 };
	unsigned share = start[d->act + 1] - start[d->act];

	if (whole > 0)
		d->permille = start[d->act] + (unsigned)(share * part / whole);
}

/* Ends a step of one of the first three acts. Then a millisecond has passed. */
static int end_step(struct virtual_demo *d, size_t step, size_t steps)
{
	int r = advance(d, tkw_wheel_now_tick(d->wheel));

	progress(d, step + 1, steps);
	return r ? r : look(d, step + 1 == steps);
}

/* Counts a wrong call, which the wheel has to refuse. */
static void refuse(struct virtual_demo *d, int result)
{
	d->ledger.wrong++;
	d->ledger.refused += result < 0;
}

static void schedule_some(struct virtual_demo *d, size_t first, size_t end)
{
	uint64_t now = tkw_wheel_now_tick(d->wheel);
	uint64_t start;

	for (size_t i = first; i < end; i++)
		d->items[i].due = now + plan(d, i).delay_ms;
	start = now_ns();
	for (size_t i = first; i < end; i++) {
		struct virtual_item *it = &d->items[i];
		int r = tkw_wheel_add(d->wheel, &it->entry, it->due);

		d->ledger.accepted += r == 0;
		d->ledger.refused += r < 0;
		it->fate = VIRTUAL_WAITING;
	}
	d->work[VIRTUAL_SCHEDULE].ns += now_ns() - start;
	d->work[VIRTUAL_SCHEDULE].calls += end - first;
	for (size_t i = first; i < end; i += BATCH)
		refuse(d, tkw_wheel_add(d->wheel, &d->items[i].entry, now));
}

static int schedule_all(struct virtual_demo *d)
{
	size_t n = (size_t)d->cfg.count;
	int r = 0;

	d->act = VIRTUAL_SCHEDULE;
	for (size_t i = 0; i < SCHEDULE_STEPS && !r; i++) {
		/* As uint64_t, because n * 24 may not fit into 32 bits. */
		schedule_some(d, (size_t)((uint64_t)n * i / SCHEDULE_STEPS),
			      (size_t)((uint64_t)n * (i + 1) / SCHEDULE_STEPS));
		r = end_step(d, i, SCHEDULE_STEPS);
	}
	return r;
}

static void extend_batch(struct virtual_demo *d, const struct pick *picks,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct virtual_item *it = picks[i].item;
		uint64_t due = it->due + picks[i].extend_ms;
		int r = tkw_wheel_extend(d->wheel, &it->entry, due);

		d->ledger.extended += r == 0;
		d->ledger.refused += r < 0;
		it->due = due;
		it->extended = true;
	}
}

static void cancel_batch(struct virtual_demo *d, const struct pick *picks,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct virtual_item *it = picks[i].item;
		int r = tkw_wheel_remove(d->wheel, &it->entry);

		d->ledger.cancelled += r == 0;
		d->ledger.refused += r < 0;
		it->fate = VIRTUAL_CANCELLED;
	}
}

/* Pushes back or cancels some entries, and makes a wrong call. */
static void do_batch(struct virtual_demo *d, const struct pick *picks, size_t n)
{
	uint64_t start = now_ns();

	if (n == 0)
		return;
	if (d->act == VIRTUAL_EXTEND)
		extend_batch(d, picks, n);
	else
		cancel_batch(d, picks, n);
	d->work[d->act].ns += now_ns() - start;
	d->work[d->act].calls += n;
	if (d->act == VIRTUAL_EXTEND)
		refuse(d, tkw_wheel_extend(d->wheel, &picks[0].item->entry, 0));
	else
		refuse(d, tkw_wheel_remove(d->wheel, &picks[0].item->entry));
}

/* Does the act do something to this entry? */
static bool wanted(const struct virtual_demo *d, const struct plan *p)
{
	return d->act == VIRTUAL_EXTEND ? p->extend_ms > 0 : p->cancel;
}

/* Continues a walk through the entries, from the place `at`, by n steps. */
static size_t walk(struct virtual_demo *d, size_t at, size_t stride, uint64_t n)
{
	struct pick picks[BATCH];
	size_t used = 0;

	for (; n > 0; n--) {
		struct plan p = plan(d, at);

		if (wanted(d, &p)) {
			picks[used].item = &d->items[at];
			picks[used++].extend_ms = p.extend_ms;
		}
		if (used == BATCH) {
			do_batch(d, picks, used);
			used = 0;
		}
		at = (at + stride) % (size_t)d->cfg.count;
	}
	do_batch(d, picks, used);
	return at;
}

static size_t common_divisor(size_t a, size_t b)
{
	while (b > 0) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Returns a stride that shares no divisor with the count. A walk with it visits
 * each entry once. */
static size_t scattering_stride(size_t count)
{
	/* Close to the golden ratio, so that steps stay far from each other. */
	size_t stride = (size_t)((uint64_t)count * 10946 / 17711) + 1;

	while (common_divisor(stride, count) != 1)
		stride++;
	return stride;
}

static int scattered(struct virtual_demo *d, enum virtual_act act,
		     unsigned steps)
{
	uint64_t count = d->cfg.count;
	size_t stride = scattering_stride((size_t)count);
	size_t at = 0;
	int r = 0;

	d->act = act;
	for (uint64_t i = 0; i < steps && !r; i++) {
		at = walk(d, at, stride,
			  count * (i + 1) / steps - count * i / steps);
		r = end_step(d, i, steps);
	}
	return r;
}

/* Each step is a sixth of the time so far, so that the first seconds get as
 * many pictures as the last hours. */
static int expire_all(struct virtual_demo *d)
{
	uint64_t whole = d->ledger.accepted - d->ledger.cancelled;
	int r = 0;

	d->act = VIRTUAL_EXPIRE;
	while (!r && tkw_wheel_count(d->wheel) > 0) {
		uint64_t now = tkw_wheel_now_tick(d->wheel);

		if (now > d->horizon)
			break; /* the wheel has lost some, which the audit finds
				*/
		r = advance(d, now + now / 6);
		progress(d, d->ledger.fired, whole);
		if (!r)
			r = look(d, false);
	}
	return r ? r : look(d, true);
}

static void check(struct virtual_demo *d)
{
	if (!d->ledger.unsound)
		d->ledger.unsound = tkw_wheel_check(d->wheel);
}

/* The counters say how many timeouts ended. The entries say which. */
static void audit(struct virtual_demo *d)
{
	d->ledger.pending = tkw_wheel_count(d->wheel);
	for (size_t i = 0; i < d->cfg.count; i++) {
		const struct virtual_item *it = &d->items[i];
		int linked = tkw_entry_is_linked(&it->entry);

		d->ledger.lost += it->fate == VIRTUAL_WAITING && !linked;
		d->ledger.twice += it->fate != VIRTUAL_WAITING && linked;
	}
	check(d);
}

int virtual_load_run(struct virtual_demo *d)
{
	int r = schedule_all(d);

	if (!r)
		r = scattered(d, VIRTUAL_EXTEND, EXTEND_STEPS);
	if (!r)
		r = scattered(d, VIRTUAL_CANCEL, CANCEL_STEPS);
	if (!r) {
		check(d);
		r = expire_all(d);
	}
	d->interrupted = r == INTERRUPTED;
	if (r && !d->interrupted)
		return r;
	audit(d);
	return 0;
}

bool virtual_ledger_balanced(const struct virtual_demo *d)
{
	const struct virtual_ledger *l = &d->ledger;

	return l->accepted == l->fired + l->cancelled + l->pending &&
	       (l->pending == 0 || d->interrupted) && l->refused == l->wrong &&
	       l->early == 0 && l->late == 0 && l->twice == 0 && l->lost == 0 &&
	       l->disorder == 0 && !l->unsound;
}

int virtual_load_init(struct virtual_demo *d)
{
	struct tkw_wheel_config cfg = { sizeof(cfg), d->cfg.engine,
					d->cfg.slots, 0 };
	size_t bytes;
	int r = tkw_wheel_bytes(&cfg, &bytes);

	if (r)
		return r;
	if (!tool_fits_memory(bytes + d->cfg.count * sizeof(*d->items)))
		return -ENOMEM;
	bytes = (bytes + 63) / 64 * 64;
	d->memory = aligned_alloc(64, bytes);
	d->items = calloc((size_t)d->cfg.count, sizeof(*d->items));
	r = -ENOMEM;
	if (d->memory && d->items)
		r = tkw_wheel_init(&d->wheel, d->memory, bytes, &cfg);
	if (r) {
		virtual_load_fini(d);
		return r;
	}
	d->horizon = SCHEDULE_STEPS + 2 * (uint64_t)VIRTUAL_LONGEST_MS;
	return tkw_wheel_get_shape(d->wheel, &d->shape);
}

void virtual_load_fini(struct virtual_demo *d)
{
	if (d->wheel)
		(void)tkw_wheel_fini(d->wheel);
	d->wheel = NULL;
	free(d->items);
	d->items = NULL;
	free(d->memory);
	d->memory = NULL;
}
