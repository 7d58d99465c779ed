/* SPDX-License-Identifier: MIT */
/* queue_loops.c - the samples that measure calls: put, cycle, batch, memory,
 * open and churn. queue_lateness.c has the other one. */
#include "queue_loops.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	PUTS_MOST = 2000000, /* more would only fill the memory */
	CYCLE_WAIT_MS = 60000,
	CHURN_BATCH = 1000,
	FAR_MS = 3600000
};

#define MIB 1048576.0

/* --- what all samples use ------------------------------------------------ */

void queue_payload_write(uint8_t payload[QUEUE_PAYLOAD], uint64_t number)
{
	memcpy(payload, &number, sizeof(number));
	memset(payload + sizeof(number), (int)(number & 0xff),
	       QUEUE_PAYLOAD - sizeof(number));
}

uint64_t queue_payload_read(const void *payload, size_t len)
{
	uint8_t wanted[QUEUE_PAYLOAD];
	uint64_t number;

	if (len != QUEUE_PAYLOAD)
		rival_die("a payload has another length");
	memcpy(&number, payload, sizeof(number));
	queue_payload_write(wanted, number);
	if (memcmp(payload, wanted, len) != 0)
		rival_die("a payload is not what was put");
	return number;
}

int64_t queue_far_ms(uint64_t *rng)
{
	return queue_wall_us() / 1000 + FAR_MS + rival_below(rng, FAR_MS);
}

bool queue_fill(const struct queue_entrant *e, void *caller, uint64_t first,
		uint64_t n, bool far)
{
	static struct queue_put puts[QUEUE_MOST];
	uint64_t rng = 1;
	bool good = true;

	for (uint64_t done = 0; good && done < n;) {
		size_t batch =
			n - done < QUEUE_MOST ? (size_t)(n - done) : QUEUE_MOST;

		for (size_t i = 0; i < batch; i++)
			puts[i] = (struct queue_put){
				.number = first + done + i,
				.due_ms = far ? queue_far_ms(&rng) : 0,
			};
		good = e->put(caller, puts, batch);
		done += batch;
	}
	return good;
}

bool queue_open_ready(const struct queue_entrant *e, const char *dir, bool sync)
{
	struct queue_taken taken;
	void *caller;
	bool none;

	e->open(dir, sync);
	caller = e->caller_open();
	none = e->take(caller, 1, 0, &taken) == 0;
	e->caller_close(caller);
	return none;
}

/* --- callers ------------------------------------------------------------- */

static struct {
	const struct queue_entrant *e;
	const struct queue_load *l;
	uint32_t threads;
	/* How many items a floor writes for each call. */
	size_t each;
	void *callers[RIVAL_THREADS_MAX];
	_Atomic uint64_t ops;
	_Atomic bool failed;
} team;

static void prepare(uint32_t thread, void *ctx)
{
	(void)ctx;
	team.callers[thread] = team.e->caller_open();
}

/* Adds what a thread has done. The sums are read after all were joined. */
static void finish(uint64_t ops, bool good)
{
	atomic_fetch_add_explicit(&team.ops, ops, memory_order_relaxed);
	if (!good)
		atomic_store_explicit(&team.failed, true, memory_order_relaxed);
}

static void put_items(uint32_t thread, void *ctx)
{
	int64_t end = rival_now() + team.l->ms * RIVAL_MSEC;
	size_t flight = team.e->floor ? team.each : team.l->flight;
	bool in_flight = team.l->flight > 1;
	uint64_t most = PUTS_MOST / team.threads;
	uint64_t rng = thread + 1;
	struct queue_put puts[QUEUE_MOST];
	uint64_t done = 0;
	bool good = true;

	(void)ctx;
	while (good && done < most && rival_now() < end) {
		for (size_t i = 0; i < flight; i++)
			puts[i] = (struct queue_put){
				.number = (uint64_t)thread << 32 | (done + i),
				.due_ms = queue_far_ms(&rng),
			};
		good = in_flight ? team.e->put_flight(team.callers[thread],
						      puts, flight)
				 : team.e->put(team.callers[thread], puts,
					       flight);
		done += flight;
	}
	finish(done, good);
}

/* Each caller has put an item before it takes one, so nobody waits for ever. */
static void cycle_items(uint32_t thread, void *ctx)
{
	int64_t end = rival_now() + team.l->ms * RIVAL_MSEC;
	void *caller = team.callers[thread];
	struct queue_taken taken[QUEUE_MOST];
	struct queue_put puts[QUEUE_MOST] = { 0 };
	uint64_t done = 0;
	bool good = true;

	(void)ctx;
	while (good && rival_now() < end) {
		puts[0].number = (uint64_t)thread << 32 | done;
		good = team.e->put(caller, puts, team.each) &&
		       team.e->take(caller, team.each, CYCLE_WAIT_MS, taken) ==
			       team.each &&
		       team.e->ack(caller, taken, team.each);
		done += team.each;
	}
	finish(done, good);
}

struct syncs {
	double count;
	double ns;
};

/* A caller goes on when its change is on the disk. So between two syncs, no
 * caller can end more calls than it has in flight. A sample in which that
 * happens has measured something that is not durable. */
static void check_syncs(const struct queue_entrant *e,
			const struct queue_load *l, const struct syncs *syncs,
			struct rival_answer *a)
{
	double each = l->kind == QUEUE_CYCLE ? 3 : 1;
	double ops =
		(double)atomic_load_explicit(&team.ops, memory_order_relaxed);

	if (e->written == NULL)
		return;
	rival_figure(a, "sync_us", syncs->ns / 1e3 / syncs->count);
	rival_figure(a, "per_sync", ops * each / syncs->count);
	if (ops * each > (syncs->count + 1) * l->threads * l->flight)
		rival_fail(a, "more calls ended than its syncs allow");
}

/* Callers share a write of a floor, because that is what a queue can do at
 * best. So a floor has one caller, who writes for all of them. */
static void run_team(const struct queue_entrant *e, const struct queue_load *l,
		     struct rival_answer *a)
{
	struct rival_team t = { .threads = e->floor ? 1 : l->threads,
				.prepare = prepare,
				.timed = l->kind == QUEUE_PUT ? put_items
							      : cycle_items };
	char dir[QUEUE_DIR_MAX];
	struct rival_cost cost;
	struct syncs syncs;
	double ops;

	team.e = e;
	team.l = l;
	team.threads = t.threads;
	team.each = e->floor ? (size_t)l->threads * l->flight : 1;
	/* The threads do not exist yet. */
	atomic_store_explicit(&team.ops, 0, memory_order_relaxed);
	atomic_store_explicit(&team.failed, false, memory_order_relaxed);
	queue_folder_make(dir);
	e->open(dir, true);
	syncs.count = -(double)queue_syncs();
	syncs.ns = -(double)queue_sync_ns();
	rival_team_run(&t, &cost);
	syncs.count += (double)queue_syncs();
	syncs.ns += (double)queue_sync_ns();
	for (uint32_t i = 0; i < t.threads; i++)
		e->caller_close(team.callers[i]);
	e->close();
	queue_folder_remove(dir);
	ops = (double)atomic_load_explicit(&team.ops, memory_order_relaxed);
	rival_figure(a, "us", (double)cost.wall_ns / 1e3 / ops);
	rival_figure(a, "per_s", ops * 1e9 / (double)cost.wall_ns);
	check_syncs(e, l, &syncs, a);
	if (atomic_load_explicit(&team.failed, memory_order_relaxed))
		rival_fail(a, "a call failed");
}

/* --- batch --------------------------------------------------------------- */

/* One part of a batch sample. */
struct part {
	uint64_t items;
	int64_t ns;
	uint64_t written;
};

struct batch {
	const struct queue_entrant *e;
	const struct queue_load *l;
	void *caller;
	struct queue_taken *taken; /* PUTS_MOST */
	struct part parts[QUEUE_RECORDS];
	bool failed;
};

static uint64_t written_by(const struct queue_entrant *e)
{
	return e->written ? e->written() : 0;
}

static size_t batch_put(struct batch *b)
{
	static struct queue_put puts[QUEUE_MOST];
	struct part *part = &b->parts[QUEUE_RECORD_PUT];

	if (part->items + b->l->n > PUTS_MOST)
		return 0;
	for (size_t i = 0; i < b->l->n; i++)
		puts[i].number = part->items + i;
	b->failed = !b->e->put(b->caller, puts, b->l->n);
	return b->l->n;
}

static size_t batch_take(struct batch *b)
{
	uint64_t had = b->parts[QUEUE_RECORD_TAKE].items;

	if (had + b->l->n > b->parts[QUEUE_RECORD_PUT].items)
		return 0;
	return b->e->take(b->caller, b->l->n, 0, &b->taken[had]);
}

static size_t batch_ack(struct batch *b)
{
	uint64_t had = b->parts[QUEUE_RECORD_ACK].items;

	if (had + b->l->n > b->parts[QUEUE_RECORD_TAKE].items)
		return 0;
	b->failed = !b->e->ack(b->caller, &b->taken[had], b->l->n);
	return b->l->n;
}

/* Calls step() until the time is over, or until it returns 0. */
static void run_part(struct batch *b, enum queue_record record,
		     size_t (*step)(struct batch *b))
{
	struct part *part = &b->parts[record];
	uint64_t written = written_by(b->e);
	int64_t begin = rival_now();
	int64_t end = begin + b->l->ms * RIVAL_MSEC;
	size_t n = 1;

	while (n > 0 && !b->failed && rival_now() < end) {
		n = step(b);
		part->items += n;
	}
	part->ns = rival_now() - begin;
	part->written = written_by(b->e) - written;
	if (part->items == 0)
		b->failed = true;
}

static double microseconds(const struct part *part)
{
	return (double)part->ns / 1e3 / (double)part->items;
}

static double bytes_each(const struct part *part)
{
	return (double)part->written / (double)part->items;
}

/* All parts together, with the same share of what the close has written for
 * each record. So the figure does not depend on how many items each part has
 * handled in its time. */
static double amplification(const struct batch *b, uint64_t by_close)
{
	double written = 0;
	double records = 0;
	double items = 0;

	for (int i = 0; i < QUEUE_RECORDS; i++)
		items += (double)b->parts[i].items;
	for (int i = 0; i < QUEUE_RECORDS; i++) {
		written += bytes_each(&b->parts[i]) + (double)by_close / items;
		records += (double)queue_record_bytes((enum queue_record)i);
	}
	return written / records;
}

static void batch_figures(const struct batch *b, uint64_t by_close,
			  struct rival_answer *a)
{
	const struct part *put = &b->parts[QUEUE_RECORD_PUT];
	const struct part *ack = &b->parts[QUEUE_RECORD_ACK];
	double put_bytes = (double)queue_record_bytes(QUEUE_RECORD_PUT);
	double ack_bytes = (double)queue_record_bytes(QUEUE_RECORD_ACK);

	rival_figure(a, "put_us", microseconds(put));
	rival_figure(a, "take_us", microseconds(&b->parts[QUEUE_RECORD_TAKE]));
	rival_figure(a, "ack_us", microseconds(ack));
	if (b->e->written == NULL)
		return;
	rival_figure(a, "put_bytes", bytes_each(put));
	rival_figure(a, "ack_bytes", bytes_each(ack));
	rival_figure(a, "put_amp", bytes_each(put) / put_bytes);
	rival_figure(a, "ack_amp", bytes_each(ack) / ack_bytes);
	rival_figure(a, "amp", amplification(b, by_close));
}

static void run_batch(const struct queue_entrant *e, const struct queue_load *l,
		      struct rival_answer *a)
{
	struct batch b = { .e = e, .l = l };
	size_t bytes = PUTS_MOST * sizeof(b.taken[0]);
	char dir[QUEUE_DIR_MAX];
	uint64_t before;

	b.taken = rival_pages_get(bytes);
	queue_folder_make(dir);
	e->open(dir, true);
	b.caller = e->caller_open();
	run_part(&b, QUEUE_RECORD_PUT, batch_put);
	run_part(&b, QUEUE_RECORD_TAKE, batch_take);
	run_part(&b, QUEUE_RECORD_ACK, batch_ack);
	e->caller_close(b.caller);
	before = written_by(e);
	e->close();
	queue_folder_remove(dir);
	rival_pages_put(b.taken, bytes);
	if (b.failed)
		rival_fail(a, "a call failed");
	else
		batch_figures(&b, written_by(e) - before, a);
}

/* --- memory and open ----------------------------------------------------- */

static void run_memory(const struct queue_entrant *e,
		       const struct queue_load *l, struct rival_answer *a)
{
	char dir[QUEUE_DIR_MAX];
	uint64_t before;
	void *caller;

	queue_folder_make(dir);
	before = e->resident();
	e->open(dir, false);
	caller = e->caller_open();
	if (!queue_fill(e, caller, 0, l->n, true))
		rival_fail(a, "a put failed");
	e->caller_close(caller);
	rival_figure(a, "ram", ((double)e->resident() - (double)before) / l->n);
	e->close();
	rival_figure(a, "disk", (double)queue_folder_bytes(dir) / l->n);
	queue_folder_remove(dir);
}

static int64_t time_open(const struct queue_entrant *e, const char *dir,
			 struct rival_answer *a)
{
	int64_t begin = rival_now();
	int64_t end;

	if (!queue_open_ready(e, dir, true))
		rival_fail(a, "an item was taken an hour early");
	end = rival_now();
	e->close();
	return end - begin;
}

static double median_ms(int64_t *ns, uint32_t count)
{
	uint32_t half = count / 2;

	rival_sort(ns, count);
	return (double)ns[half] / 1e6;
}

static void run_open(const struct queue_entrant *e, const struct queue_load *l,
		     struct rival_answer *a)
{
	int64_t cold[QUEUE_ROUNDS_MAX];
	int64_t warm[QUEUE_ROUNDS_MAX];
	char dir[QUEUE_DIR_MAX];
	void *caller;

	queue_folder_make(dir);
	e->open(dir, false);
	caller = e->caller_open();
	if (!queue_fill(e, caller, 0, l->n, true))
		rival_fail(a, "a put failed");
	e->caller_close(caller);
	e->close();
	for (uint32_t i = 0; i < l->rounds; i++) {
		queue_folder_cool(dir);
		cold[i] = time_open(e, dir, a);
		warm[i] = time_open(e, dir, a);
	}
	queue_folder_remove(dir);
	rival_figure(a, "cold_ms", median_ms(cold, l->rounds));
	rival_figure(a, "warm_ms", median_ms(warm, l->rounds));
}

/* --- churn --------------------------------------------------------------- */

/* Puts a batch of items at the end of the line, and takes and acknowledges the
 * first ones. */
static bool churn_batch(const struct queue_entrant *e, void *caller,
			uint64_t number)
{
	static struct queue_taken taken[CHURN_BATCH];
	size_t n = 0;

	if (!queue_fill(e, caller, number, CHURN_BATCH, false))
		return false;
	while (n < CHURN_BATCH) {
		size_t got = e->take(caller, CHURN_BATCH - n, 0, &taken[n]);

		if (got == 0)
			return false;
		n += got;
	}
	return e->ack(caller, taken, CHURN_BATCH);
}

static void churn_written(uint64_t items, uint64_t written,
			  struct rival_answer *a)
{
	double records = 0;

	for (int i = 0; i < QUEUE_RECORDS; i++)
		records += (double)queue_record_bytes((enum queue_record)i);
	rival_figure(a, "amp", (double)written / records / (double)items);
}

static void churn_sizes(const struct queue_load *l, uint64_t most,
			uint64_t at_end, struct rival_answer *a)
{
	double live =
		(double)l->n * (double)queue_record_bytes(QUEUE_RECORD_PUT);

	rival_figure(a, "max_mib", (double)most / MIB);
	rival_figure(a, "end_mib", (double)at_end / MIB);
	rival_figure(a, "live_mib", live / MIB);
	rival_figure(a, "of_limit", (double)most / (3 * live + 16 * MIB));
}

/* Half of the live items wait, and the other half are ready and change. The
 * size of the files does not depend on syncs, so the rivals make none: one of
 * them would take an hour. So their times compare with nothing, and they write
 * less than they would with syncs. */
static void run_churn(const struct queue_entrant *e, const struct queue_load *l,
		      struct rival_answer *a)
{
	char dir[QUEUE_DIR_MAX];
	uint64_t most = 0;
	bool synced = e == &queue_ours;
	uint64_t items = 0;
	uint64_t written;
	int64_t begin;
	void *caller;
	bool good;

	queue_folder_make(dir);
	e->open(dir, synced);
	caller = e->caller_open();
	good = queue_fill(e, caller, 0, l->n / 2, true) &&
	       queue_fill(e, caller, 0, l->n - l->n / 2, false);
	written = written_by(e);
	begin = rival_now();
	for (; good && items < l->ops; items += CHURN_BATCH) {
		uint64_t bytes;

		good = churn_batch(e, caller, items);
		bytes = queue_folder_bytes(dir);
		most = bytes > most ? bytes : most;
	}
	if (synced)
		rival_figure(a, "us",
			     (double)(rival_now() - begin) / 1e3 /
				     (double)items);
	if (e->written != NULL)
		churn_written(items, written_by(e) - written, a);
	e->caller_close(caller);
	churn_sizes(l, most, queue_folder_bytes(dir), a);
	e->close();
	queue_folder_remove(dir);
	if (!good)
		rival_fail(a, "a call failed");
}

/* --- all ----------------------------------------------------------------- */

/* Returns why the entrant has no such sample, or NULL. */
static const char *why_not(const struct queue_entrant *e,
			   const struct queue_load *l)
{
	const char *missing = e->missing ? e->missing() : NULL;

	if (missing)
		return missing;
	if (l->flight > 1 && e->put_flight == NULL)
		return "has no calls that do not wait";
	if (e->floor && l->kind > QUEUE_BATCH)
		return "holds no items";
	if (!e->keeps && (l->kind == QUEUE_OPEN || l->kind == QUEUE_CHURN))
		return "has no file";
	return NULL;
}

void queue_run(const struct queue_entrant *e, const struct queue_load *l,
	       struct rival_answer *a)
{
	static void (*const samples[])(const struct queue_entrant *e,
				       const struct queue_load *l,
				       struct rival_answer *a) = {
		[QUEUE_PUT] = run_team,
		[QUEUE_CYCLE] = run_team,
		[QUEUE_BATCH] = run_batch,
		[QUEUE_LATENESS] = queue_run_lateness,
		[QUEUE_MEMORY] = run_memory,
		[QUEUE_OPEN] = run_open,
		[QUEUE_CHURN] = run_churn,
	};

	a->skip = why_not(e, l);
	if (a->skip)
		return;
	/* It is computed here, before there are threads. */
	(void)queue_record_bytes(QUEUE_RECORD_PUT);
	samples[l->kind](e, l, a);
}
