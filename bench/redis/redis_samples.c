/* SPDX-License-Identifier: MIT */
/* redis_samples.c - the samples that measure calls, memory and the restart.
 * redis_due.c has those about items that become due. */
#include "redis_bench.h"

#include <stdio.h>

enum {
	FILL_EACH = 1000, /* items in a call that is not measured */
	SETTLE_MS = 30,   /* until the server has freed a closed connection */
	HERD_S = 10       /* longest time to take a herd */
};

/* --- the stage ----------------------------------------------------------- */

static void start(struct redis_stage *s, const struct redis_entrant *e)
{
	redis_server_start(&s->server, s->dir,
			   e->module ? redis_module() : NULL);
	s->link = redis_link_open(s->server.port);
}

static void end(struct redis_stage *s)
{
	redis_link_close(s->link);
	queue_server_kill(&s->server);
}

void redis_stage_open(struct redis_stage *s, const struct redis_entrant *e)
{
	queue_folder_make(s->dir);
	start(s, e);
}

void redis_stage_close(struct redis_stage *s)
{
	end(s);
	queue_folder_remove(s->dir);
}

bool redis_fill(const struct redis_entrant *e, uint64_t n, enum redis_due due)
{
	const struct redis_puts p = { .first = due == REDIS_FAR ? REDIS_LATER
								: 0,
				      .n = n,
				      .each = FILL_EACH,
				      .call = true,
				      .due = due };

	return e->worker->put(&p);
}

/* --- put, take and cycle ------------------------------------------------- */

static bool call(const struct redis_entrant *e, const struct redis_load *l)
{
	const struct redis_puts p = { .n = l->n,
				      .each = l->each,
				      .call = l->call != 0,
				      .due = REDIS_FAR };

	switch (l->kind) {
	case REDIS_PUT:
		return e->worker->put(&p);
	case REDIS_TAKE:
		return e->worker->take(l->n, l->each, (enum redis_way)l->way);
	default:
		return e->worker->cycle(l->n);
	}
}

static void run_calls(const struct redis_entrant *e, const struct redis_load *l,
		      struct rival_answer *a)
{
	struct redis_stage s;
	int64_t cpu_ns;
	int64_t ns;
	bool good;

	redis_stage_open(&s, e);
	e->worker->open(e, s.server.port);
	good = l->kind != REDIS_TAKE || redis_fill(e, l->n, REDIS_NOW);
	cpu_ns = -queue_process_main_ns(s.server.pid);
	ns = -rival_now();
	good = good && call(e, l);
	ns += rival_now();
	cpu_ns += queue_process_main_ns(s.server.pid);
	if (l->kind == REDIS_PUT && good)
		good = e->count(s.link) == l->n;
	e->worker->close();
	redis_stage_close(&s);
	rival_figure(a, "us", (double)ns / 1e3 / l->n);
	rival_figure(a, "server_us", (double)cpu_ns / 1e3 / l->n);
	if (!good)
		rival_fail(a, "a call failed");
}

/* --- memory and restart -------------------------------------------------- */

/* Returns how many bytes the server uses when it is at rest. */
static double used_by(struct redis_stage *s)
{
	rival_sleep_until(rival_now() + SETTLE_MS * RIVAL_MSEC);
	return (double)redis_server_used(s->link);
}

static void save(struct redis_stage *s, struct rival_answer *a)
{
	int64_t begin = rival_now();

	redis_add_word(s->link, "SAVE");
	redis_end(s->link);
	if (!redis_reply_ok(s->link))
		rival_fail(a, "it could not be saved");
	rival_figure(a, "save_ms", (double)(rival_now() - begin) / 1e6);
}

static void restart(struct redis_stage *s, const struct redis_entrant *e,
		    struct rival_answer *a)
{
	int64_t begin;

	end(s);
	begin = rival_now();
	start(s, e);
	rival_figure(a, "restart_ms", (double)(rival_now() - begin) / 1e6);
}

static void run_hold(const struct redis_entrant *e, const struct redis_load *l,
		     struct rival_answer *a)
{
	struct redis_stage s;
	double resident;
	double used;

	redis_stage_open(&s, e);
	resident = (double)queue_process_resident(s.server.pid);
	used = used_by(&s);
	e->worker->open(e, s.server.port);
	if (!redis_fill(e, l->n, REDIS_FAR))
		rival_fail(a, "a put failed");
	e->worker->close();
	rival_figure(a, "memory", (used_by(&s) - used) / l->n - QUEUE_PAYLOAD);
	rival_figure(a, "resident",
		     ((double)queue_process_resident(s.server.pid) - resident) /
				     l->n -
			     QUEUE_PAYLOAD);
	save(&s, a);
	rival_figure(a, "disk",
		     (double)queue_folder_bytes(s.dir) / l->n - QUEUE_PAYLOAD);
	restart(&s, e, a);
	if (e->count(s.link) != l->n)
		rival_fail(a, "a restart has lost items");
	rival_figure(a, "after", (used_by(&s) - used) / l->n - QUEUE_PAYLOAD);
	redis_stage_close(&s);
}

static void run_tiny(const struct redis_entrant *e, const struct redis_load *l,
		     struct rival_answer *a)
{
	struct redis_stage s;
	double used;
	bool good;

	redis_stage_open(&s, e);
	e->worker->open(e, s.server.port);
	/* The server allocates something when it executes a command for the
	 * first time. */
	good = e->worker->tiny(0, 1, l->n);
	used = used_by(&s);
	if (!good || !e->worker->tiny(1, l->count, l->n))
		rival_fail(a, "a call failed");
	used = (used_by(&s) - used) / l->count;
	e->worker->close();
	rival_figure(a, "bytes", used - (double)l->n * QUEUE_PAYLOAD);
	rival_figure(a, "whole", used);
	redis_stage_close(&s);
}

/* --- all ----------------------------------------------------------------- */

/* Does the sample measure calls with many items? */
static bool has_many(const struct redis_load *l)
{
	return l->each > 1 &&
	       ((l->kind == REDIS_TAKE && l->way != REDIS_SINGLE) ||
		(l->kind == REDIS_PUT && l->call != 0));
}

/* Returns why the entrant has no such sample, or NULL. */
static const char *why_not(const struct redis_entrant *e,
			   const struct redis_load *l)
{
	const char *missing = redis_server_missing();

	if (missing == NULL && e->missing)
		missing = e->missing();
	if (missing)
		return missing;
	if (e->only_many && !has_many(l))
		return "does the same as lua";
	if (l->way == REDIS_APART && e->commands == NULL)
		return "takes the next item with each ack";
	if (l->kind >= REDIS_TINY && e->no_due)
		return "has no queues and no due times";
	if (l->kind == REDIS_LATENESS && l->rate > e->rate_most)
		return "takes fewer items per second than become due";
	if (l->kind == REDIS_HERD && l->n / HERD_S > e->rate_most)
		return "would need minutes for so many items";
	return NULL;
}

void redis_run(const struct redis_entrant *e, const struct redis_load *l,
	       struct rival_answer *a)
{
	static void (*const samples[])(const struct redis_entrant *e,
				       const struct redis_load *l,
				       struct rival_answer *a) = {
		[REDIS_PUT] = run_calls,
		[REDIS_TAKE] = run_calls,
		[REDIS_CYCLE] = run_calls,
		[REDIS_HOLD] = run_hold,
		[REDIS_TINY] = run_tiny,
		[REDIS_LATENESS] = redis_run_lateness,
		[REDIS_HERD] = redis_run_herd,
	};

	a->skip = why_not(e, l);
	if (a->skip == NULL)
		samples[l->kind](e, l, a);
}
