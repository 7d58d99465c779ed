/* SPDX-License-Identifier: MIT */
/*
 * wheel_run.c - runs a row of the wheel, every impl in turn, again and again:
 * noise that comes and goes hits them all alike.
 */
#include "wheel_run.h"

#include <inttypes.h>
#include <malloc.h>
#include <string.h>

/* Who runs; in the order of the lines. */
struct runner {
	const struct bench_impl *impl;
	uint64_t ops; /* if not 0: fewer than the row has */
};

struct wheel_run {
	const struct bench_row *row;
	struct bench_figures *f;
	struct bench_progress *progress;
	struct runner runners[BENCH_IMPLS_MAX];
};

/* A tick of GLib's looks at all entries, 50 to 100 ns each. More looks than
 * this in a sample, and it is left out of the row, and we say so. */
static uint64_t looks_most(const struct bench_options *o)
{
	return o->quick ? 5000000 : 100000000;
}

/* Rows in which one can do fewer operations than the others. */
static bool ticks_only(const struct bench_load *l)
{
	return l->kind == BENCH_TICKS || l->kind == BENCH_JUMP;
}

/* Why an impl does not run in a row; NULL if it does. */
static const char *why_skip(const struct bench_impl *impl,
			    const struct bench_load *l, uint64_t looks)
{
	uint64_t ticks = bench_rows_ticks(l) + 32;

	if (impl->run == NULL)
		return impl->missing;
	if (impl->fires_nothing && l->kind == BENCH_EXPIRE)
		return "it fires nothing";
	if (impl->fixed_only && !l->laid_out)
		return "the delays are not all the same";
	if (impl->linear_tick && !ticks_only(l) && ticks * l->n > looks)
		return "each tick looks at all entries";
	return NULL;
}

/* Say so when an impl that looks at all entries does less than the others. */
static void spare(struct runner *r, const struct bench_line *l,
		  const struct bench_row *row, uint64_t looks)
{
	uint64_t most = looks / 4 / row->load.n + 1;

	if (l->left_out) {
		bench_say("%s: %s skipped: %s", row->name, l->impl,
			  l->left_out);
	} else if (row->load.ops > most && ticks_only(&row->load)) {
		r->ops = most;
		bench_say("%s: %s does %" PRIu64 " instead of %" PRIu64
			  ": each tick looks at all entries",
			  row->name, l->impl, most, row->load.ops);
	}
}

static void choose_impls(struct wheel_run *w, const struct bench_options *o)
{
	struct bench_figures *f = w->f;

	f->count = 0;
	for (size_t i = 0; bench_impls[i]->name; i++) {
		const struct bench_impl *impl = bench_impls[i];
		struct bench_line *l = &f->lines[f->count];
		struct runner *r = &w->runners[f->count];

		if (!bench_options_want_impl(o, impl->name))
			continue;
		*r = (struct runner){ .impl = impl };
		memset(l, 0, sizeof(*l));
		l->impl = impl->name;
		l->ours = bench_report_is_ours(impl->name);
		l->no_rival = impl->fires_nothing;
		l->left_out = why_skip(impl, &w->row->load, looks_most(o));
		if (impl->run && impl->linear_tick)
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
	r->impl->run(r->impl, &mine, out);
	/* The next finds the heap as this one found it. */
	(void)malloc_trim(0);
	if (line->runs == 0) {
		line->verified = !r->impl->fires_nothing;
		line->fired = out->fired;
		line->checksum = out->checksum;
	}
	line->extras[line->runs] = out->bytes_per_timer;
	line->samples[line->runs++] = out->ns;
}

/* Have all fired the same? */
static bool agree(const struct wheel_run *w, const struct bench_outcome *outs,
		  size_t a, size_t b)
{
	const struct bench_outcome *x = &outs[a];
	const struct bench_outcome *y = &outs[b];

	if (x->fired == y->fired && x->checksum == y->checksum)
		return true;
	bench_say("FAILED %s: %s fired %" PRIu64 " (checksum %016" PRIx64
		  "), %s %" PRIu64 " (%016" PRIx64 ")",
		  w->row->name, w->runners[a].impl->name, x->fired, x->checksum,
		  w->runners[b].impl->name, y->fired, y->checksum);
	return false;
}

/* Every impl once; the first of them is another one in each run. */
static bool one_run(struct wheel_run *w, const struct bench_load *l,
		    uint32_t run)
{
	struct bench_outcome outs[BENCH_IMPLS_MAX];
	struct bench_figures *f = w->f;
	size_t model = BENCH_IMPLS_MAX;
	bool good = true;

	w->progress->run = run;
	bench_progress_show(w->progress, NULL);
	for (size_t k = 0; k < f->count; k++) {
		size_t i = (k + run) % f->count;
		const struct runner *r = &w->runners[i];

		if (f->lines[i].left_out)
			continue;
		bench_progress_show(w->progress, r->impl->name);
		take_sample(r, &f->lines[i], l, &outs[i]);
		if (r->impl->fires_nothing)
			continue;
		if (model == BENCH_IMPLS_MAX)
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
	choose_impls(&w, o);
	if (load.kind == BENCH_CANCEL) {
		order = make_order(load.n, load.seed);
		load.order = order;
	}
	for (uint32_t run = 0; run < row->runs; run++) {
		good &= one_run(&w, &load, run);
		load.drain_step = 0; /* verified once */
	}
	bench_progress_end();
	if (order)
		bench_pages_put(order, load.n * sizeof(uint32_t));
	return good;
}
