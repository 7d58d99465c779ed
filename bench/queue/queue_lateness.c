/* SPDX-License-Identifier: MIT */
/*
 * queue_lateness.c - how late items are taken.
 *
 * First the queue gets the items that wait for later, and those that will be
 * due, `rate` per second; without syncs, because no rival could do that in a
 * short time. Then it is closed and opened again, with syncs. Consumers wait
 * for the items, take and acknowledge them. Another thread meanwhile measures
 * what a sync costs.
 *
 * If delays are whole seconds, the items are put at the pace at which they
 * shall be due, all with the same delay.
 */
#include "queue_loops.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TAKE_MOST = 64,
	WAIT_MS = 200,
	PROBE_EACH_MS = 10,
	PROBES_MOST = 20000,
	PROBE_BYTES = 64,
	TRIES = 5
};

/* The numbers of the items that wait for later. */
#define LATER (UINT64_C(1) << 40)

static struct {
	const struct queue_entrant *e;
	const struct queue_load *l;
	uint32_t total;
	int64_t *due_us;
	/* How late each was; INT64_MIN if it was not taken. */
	int64_t *late_us;
	int64_t give_up_us;
	/* How long it may take until the queue is open again. */
	int64_t lead_ms;
	_Atomic uint32_t taken;
	_Atomic bool failed;
	int probe_fd;
	int64_t probes[PROBES_MOST];
	size_t probe_count;
} late;

/* Puts all items, with due times that lie in the future. */
static bool put_ahead(void *caller)
{
	int64_t begin_ms = queue_wall_us() / 1000 + late.lead_ms;
	struct queue_put puts[QUEUE_MOST];
	bool good = true;

	for (uint32_t i = 0; good && i < late.total;) {
		size_t n = 0;

		for (; n < QUEUE_MOST && i < late.total; n++, i++) {
			puts[n].number = i;
			puts[n].due_ms =
				begin_ms + (int64_t)i * 1000 / late.l->rate;
			late.due_us[i] = puts[n].due_ms * 1000;
		}
		good = late.e->put(caller, puts, n);
	}
	return good;
}

/* Puts the items at the pace at which they shall be due. */
static bool put_paced(void *caller)
{
	int64_t delay_ms = (late.l->ms + late.lead_ms + 999) / 1000 * 1000;
	int64_t begin = rival_now();
	struct queue_put puts[QUEUE_MOST];
	bool good = true;
	uint32_t i = 0;

	for (int64_t ms = 0; good && i < late.total; ms++) {
		int64_t until = (ms + 1) * late.l->rate / 1000;
		int64_t now_us;
		size_t n = 0;

		rival_sleep_until(begin + ms * RIVAL_MSEC);
		now_us = queue_wall_us();
		for (; i < until && i < late.total && n < QUEUE_MOST; i++) {
			late.due_us[i] = now_us + delay_ms * 1000;
			puts[n].number = i;
			puts[n++].due_ms = late.due_us[i] / 1000;
		}
		if (n > 0)
			good = late.e->put(caller, puts, n);
	}
	return good;
}

/* Fills the queue, and opens it again if its items survive that. Returns false
 * if the first item is due already. */
static bool prepare_queue(const char *dir, struct rival_answer *a)
{
	bool in_time = true;
	void *caller;
	bool good;

	late.e->open(dir, false);
	caller = late.e->caller_open();
	good = queue_fill(late.e, caller, LATER, late.l->n, true);
	good = good &&
	       (late.e->whole_seconds ? put_paced(caller) : put_ahead(caller));
	late.e->caller_close(caller);
	if (!good)
		rival_fail(a, "a put failed");
	if (late.e->keeps) {
		late.e->close();
		in_time = queue_open_ready(late.e, dir, true);
	}
	/* Who needs longer than that does not keep up. */
	late.give_up_us = late.due_us[late.total - 1] +
			  (2000 + 2 * (int64_t)late.l->ms) * 1000;
	return in_time && queue_wall_us() < late.due_us[0];
}

static bool is_over(void)
{
	/* Nothing depends on the order. */
	return atomic_load_explicit(&late.taken, memory_order_relaxed) >=
		       late.total ||
	       queue_wall_us() > late.give_up_us;
}

static void note(const struct queue_taken *taken, size_t n)
{
	int64_t now_us = queue_wall_us();

	for (size_t i = 0; i < n; i++) {
		if (taken[i].number >= late.total)
			rival_die("an item was taken an hour early");
		late.late_us[taken[i].number] =
			now_us - late.due_us[taken[i].number];
	}
	atomic_fetch_add_explicit(&late.taken, (uint32_t)n,
				  memory_order_relaxed);
}

static void consume(void)
{
	void *caller = late.e->caller_open();
	struct queue_taken taken[TAKE_MOST];

	while (!is_over()) {
		size_t n = late.e->take(caller, TAKE_MOST, WAIT_MS, taken);

		note(taken, n);
		if (n > 0 && !late.e->ack(caller, taken, n))
			atomic_store_explicit(&late.failed, true,
					      memory_order_relaxed);
	}
	late.e->caller_close(caller);
}

/* Measures syncs from the first due time on. */
static void probe(void)
{
	char bytes[PROBE_BYTES] = { 0 };

	while (queue_wall_us() < late.due_us[0])
		rival_sleep_until(rival_now() + RIVAL_MSEC);
	while (!is_over() && late.probe_count < PROBES_MOST) {
		int64_t begin = rival_now();

		if (write(late.probe_fd, bytes, sizeof(bytes)) !=
			    (ssize_t)sizeof(bytes) ||
		    fdatasync(late.probe_fd) != 0)
			rival_die("a sync failed");
		late.probes[late.probe_count++] = rival_now() - begin;
		rival_sleep_until(begin + PROBE_EACH_MS * RIVAL_MSEC);
	}
}

/* The last thread is the probe. */
static void consume_or_probe(uint32_t thread, void *ctx)
{
	(void)ctx;
	if (thread == late.l->threads)
		probe();
	else
		consume();
}

static void figures(struct rival_answer *a)
{
	int64_t now_us = queue_wall_us();
	double sync_us = 0;
	double early = 0;
	double p99;

	for (uint32_t i = 0; i < late.total; i++) {
		/* It is at least that late. */
		if (late.late_us[i] == INT64_MIN)
			late.late_us[i] = now_us - late.due_us[i];
		early += late.late_us[i] < 0;
	}
	rival_sort(late.late_us, late.total);
	rival_sort(late.probes, late.probe_count);
	if (late.probe_count > 0)
		sync_us = (double)rival_quantile(late.probes, late.probe_count,
						 0.99) /
			  1e3;
	p99 = (double)rival_quantile(late.late_us, late.total, 0.99);
	rival_figure(a, "p50",
		     (double)rival_quantile(late.late_us, late.total, 0.5));
	rival_figure(a, "p99", p99);
	rival_figure(a, "max", (double)late.late_us[late.total - 1]);
	rival_figure(a, "sync_p99", sync_us);
	rival_figure(a, "of_limit", p99 / (3 * sync_us + 2000));
	rival_figure(a, "early", early);
}

static void open_probe(const char *dir)
{
	char path[QUEUE_DIR_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/probe", dir);
	late.probe_fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (late.probe_fd < 0)
		rival_die("a file cannot be made");
	late.probe_count = 0;
}

static void run_once(struct rival_answer *a)
{
	struct rival_team team = { .threads = late.l->threads + 1,
				   .timed = consume_or_probe };
	struct rival_cost cost;

	rival_team_run(&team, &cost);
	figures(a);
	if (atomic_load_explicit(&late.failed, memory_order_relaxed))
		rival_fail(a, "an ack failed");
}

/* Each try has a folder of its own. Returns false if the machine was too slow
 * for the lead. */
static bool try_once(struct rival_answer *a)
{
	char dir[QUEUE_DIR_MAX];
	bool in_time;

	for (uint32_t i = 0; i < late.total; i++)
		late.late_us[i] = INT64_MIN;
	/* The threads do not exist yet. */
	atomic_store_explicit(&late.taken, 0, memory_order_relaxed);
	atomic_store_explicit(&late.failed, false, memory_order_relaxed);
	queue_folder_make(dir);
	open_probe(dir);
	in_time = prepare_queue(dir, a);
	if (in_time && a->fail == NULL)
		run_once(a);
	late.e->close();
	(void)close(late.probe_fd);
	queue_folder_remove(dir);
	return in_time;
}

void queue_run_lateness(const struct queue_entrant *e,
			const struct queue_load *l, struct rival_answer *a)
{
	bool in_time = false;
	size_t bytes;

	late.e = e;
	late.l = l;
	late.total = (uint32_t)((uint64_t)l->rate * l->ms / 1000);
	bytes = late.total * sizeof(int64_t);
	late.due_us = rival_pages_get(bytes);
	late.late_us = rival_pages_get(bytes);
	late.lead_ms = 2000 + l->n / 200;
	for (int i = 0; !in_time && i < TRIES; i++) {
		in_time = try_once(a);
		late.lead_ms *= 2;
	}
	if (!in_time)
		rival_fail(a, "it was not open again in time");
	rival_pages_put(late.due_us, bytes);
	rival_pages_put(late.late_us, bytes);
}
