/* SPDX-License-Identifier: MIT */
/*
 * wheel_run.c - runs a row of the wheel: all entrants in turn, several times,
 * so that noise that comes and goes hits all of them alike.
 */
#include "wheel_run.h"

#include <inttypes.h>
#include <malloc.h>
#include <string.h>

/* An entrant that runs. They are in the order of the lines. */
struct runner {
	const struct bench_entrant *entrant;
	uint64_t ops; /* if not 0, use this instead of the row's ops */
};

struct wheel_run {
	const struct bench_row *row;
	struct bench_figures *f;
	struct bench_progress *progress;
	struct runner runners[BENCH_ENTRANTS_MAX];
};

/* In each tick, GLib looks at all entries, and each look takes 50 to 100 ns. If
 * a sample needs more looks than this, GLib is left out of the row, and a
 * message says so. */
static uint64_t looks_most(const struct bench_options *o)
{
	return o->quick ? 5000000 : 100000000;
}

/* Is it a row in which one entrant may do fewer operations than the others? */
static bool ticks_only(const struct bench_load *l)
{
	return l->kind == BENCH_TICKS || l->kind == BENCH_JUMP;
}

/* Returns why an entrant does not run in a row, or NULL if it does. */
static const char *why_skip(const struct bench_entrant *entrant,
			    const struct bench_load *l, uint64_t looks)
{
	uint64_t ticks = bench_rows_ticks(l) + 32;

	if (entrant->run == NULL)
		return entrant->missing;
	if (entrant->fires_nothing && l->kind == BENCH_EXPIRE)
		return "it fires nothing";
	if (entrant->fixed_only && !l->laid_out)
		return "the delays are not all the same";
	if (entrant->linear_tick && !ticks_only(l) && ticks * l->n > looks)
		return "each tick looks at all entries";
	return NULL;
}

/* Lets an entrant that looks at all entries do fewer operations than the
 * others, and prints that it does. */
static void spare(struct runner *r, const struct bench_line *l,
		  const struct bench_row *row, uint64_t looks)
{
	uint64_t most = looks / 4 / row->load.n + 1;

	if (l->left_out) {
		bench_say("%s: %s skipped: %s", row->name, l->entrant,
			  l->left_out);
	} else if (row->load.ops > most && ticks_only(&row->load)) {
		r->ops = most;
		bench_say("%s: %s does %" PRIu64 " instead of %" PRIu64
			  ": each tick looks at all entries",
			  row->name, l->entrant, most, row->load.ops);
	}
}

static void choose_entrants(struct wheel_run *w, const struct bench_options *o)
{
	struct bench_figures *f = w->f;

	f->count = 0;
	for (size_t i = 0; bench_entrants[i]->name; i++) {
		const struct bench_entrant *entrant = bench_entrants[i];
		struct bench_line *l = &f->lines[f->count];
		struct runner *r = &w->runners[f->count];

		if (!bench_options_want_entrant(o, entrant->name))
			continue;
		*r = (struct runner){ .entrant = entrant };
		memset(l, 0, sizeof(*l));
		l->entrant = entrant->name;
		l->ours = bench_report_is_ours(entrant->name);
		l->no_rival = entrant->fires_nothing;
		l->left_out = why_skip(entrant, &w->row->load, looks_most(o));
		if (entrant->run && entrant->linear_tick)
			spare(r, l, w->row, looks_most(o));
		f->count++;
	}
}

static uint32_t *make_order(uint32_t n, uint64_t seed)
{
	size_t bytes = n * sizeof(uint32_t);
	uint32_t *order = bench_pages_get(bytes);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = bench_below(bench_random(&seed), i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

static void take_sample(const struct runner *r, struct bench_line *line,
			const struct bench_load *l, struct bench_outcome *out)
{
	struct bench_load mine = *l;

	memset(out, 0, sizeof(*out));
	if (r->ops > 0)
		mine.ops = r->ops;
	r->entrant->run(r->entrant, &mine, out);
	/* The next entrant finds the heap as this one found it. */
	(void)malloc_trim(0);
	if (line->runs == 0) {
		line->verified = !r->entrant->fires_nothing;
		line->fired = out->fired;
		line->checksum = out->checksum;
	}
	line->extras[line->runs] = out->bytes_per_timer;
	line->samples[line->runs++] = out->ns;
}

/* Have all entrants fired the same entries at the same ticks? */
static bool agree(const struct wheel_run *w, const struct bench_outcome *outs,
		  size_t a, size_t b)
{
	const struct bench_outcome *x = &outs[a];
	const struct bench_outcome *y = &outs[b];

	if (x->fired == y->fired && x->checksum == y->checksum)
		return true;
	bench_say("FAILED %s: %s fired %" PRIu64 " (checksum %016" PRIx64
		  "), %s %" PRIu64 " (%016" PRIx64 ")",
		  w->row->name, w->runners[a].entrant->name, x->fired,
		  x->checksum, w->runners[b].entrant->name, y->fired,
		  y->checksum);
	return false;
}

/* Runs every entrant once. In each run another entrant is the first. */
static bool one_run(struct wheel_run *w, const struct bench_load *l,
		    uint32_t run)
{
	struct bench_outcome outs[BENCH_ENTRANTS_MAX];
	struct bench_figures *f = w->f;
	size_t model = BENCH_ENTRANTS_MAX;
	bool good = true;

	w->progress->run = run;
	bench_progress_show(w->progress, NULL);
	for (size_t k = 0; k < f->count; k++) {
		size_t i = (k + run) % f->count;
		const struct runner *r = &w->runners[i];

		if (f->lines[i].left_out)
			continue;
		bench_progress_show(w->progress, r->entrant->name);
		take_sample(r, &f->lines[i], l, &outs[i]);
		if (r->entrant->fires_nothing)
			continue;
		if (model == BENCH_ENTRANTS_MAX)
			model = i;
		if (!agree(w, outs, model, i))
			good = false;
	}
	return good;
}

bool bench_wheel_run(struct bench_figures *f, const struct bench_row *row,
		     const struct bench_options *o, struct bench_progress *p)
{
	struct wheel_run w = { .row = row, .f = f, .progress = p };
	struct bench_load load = row->load;
	uint32_t *order = NULL;
	bool good = true;

	*f = (struct bench_figures){ .bench = row->name,
				     .unit = "ns/op",
				     .extra_key = "bytes_per_timer",
				     .extra_title = "bytes",
				     .runs = row->runs,
				     .seed = load.seed };
	p->name = row->name;
	p->runs = row->runs;
	choose_entrants(&w, o);
	if (load.kind == BENCH_CANCEL) {
		order = make_order(load.n, load.seed);
		load.order = order;
	}
	for (uint32_t run = 0; run < row->runs; run++) {
		good &= one_run(&w, &load, run);
		load.drain_step = 0; /* verify only the first run */
	}
	bench_progress_end();
	if (order)
		bench_pages_put(order, load.n * sizeof(uint32_t));
	return good;
}
