/* SPDX-License-Identifier: MIT */
/*
 * bench_main.c - runs the rows, every impl in turn, again and again: noise that
 * comes and goes hits them all alike.
 *
 * Exit status: 0; 1: two impls fired different things, or no memory, or the
 * output could not be written; 2: a bad command line.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "report.h"

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
static void spare(struct bench_line *l, const struct bench_row *row,
		  uint64_t looks)
{
	uint64_t most = looks / 4 / row->load.n + 1;

	if (l->skipped) {
		bench_say("%s: %s skipped: %s", row->name, l->impl->name,
			  l->skipped);
	} else if (row->load.ops > most && ticks_only(&row->load)) {
		l->ops = most;
		bench_say("%s: %s does %" PRIu64 " instead of %" PRIu64
			  ": each tick looks at all entries",
			  row->name, l->impl->name, most, row->load.ops);
	}
}

static void choose_impls(struct bench_figures *f, const struct bench_options *o)
{
	f->count = 0;
	for (size_t i = 0; bench_impls[i]->name; i++) {
		const struct bench_impl *impl = bench_impls[i];
		struct bench_line *l = &f->lines[f->count];

		if (!bench_options_want_impl(o, impl->name))
			continue;
		memset(l, 0, sizeof(*l));
		l->impl = impl;
		l->skipped = why_skip(impl, &f->row->load, looks_most(o));
		if (impl->run && impl->linear_tick)
			spare(l, f->row, looks_most(o));
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

/* On a terminal one line that changes, else a line for each run. */
static void show_progress(const struct bench_figures *f, uint32_t run,
			  const char *impl)
{
	bool tty = isatty(STDERR_FILENO);

	if (tty || impl == NULL)
		(void)fprintf(stderr, "%s[%zu/%zu] %s: run %u of %u%s%s%s",
			      tty ? "\r\033[K" : "", f->number, f->of,
			      f->row->name, (unsigned)run + 1,
			      (unsigned)f->row->runs, impl ? ": " : "",
			      impl ? impl : "", tty ? "" : "\n");
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r\033[K");
}

static void take_sample(struct bench_line *line, const struct bench_load *l,
			struct bench_outcome *out)
{
	struct bench_load mine = *l;

	memset(out, 0, sizeof(*out));
	if (line->ops > 0)
		mine.ops = line->ops;
	line->impl->run(line->impl, &mine, out);
	/* The next finds the heap as this one found it. */
	(void)malloc_trim(0);
	if (line->runs == 0)
		line->first = *out;
	line->samples[line->runs++] = out->ns;
}

/* Have all fired the same? */
static bool agree(const char *row, const struct bench_line *a,
		  const struct bench_outcome *x, const struct bench_line *b,
		  const struct bench_outcome *y)
{
	if (x->fired == y->fired && x->checksum == y->checksum)
		return true;
	bench_say("FAILED %s: %s fired %" PRIu64 " (checksum %016" PRIx64
		  "), %s %" PRIu64 " (%016" PRIx64 ")",
		  row, a->impl->name, x->fired, x->checksum, b->impl->name,
		  y->fired, y->checksum);
	return false;
}

/* Every impl once; the first of them is another one in each run. */
static bool one_run(struct bench_figures *f, const struct bench_load *l,
		    uint32_t run)
{
	struct bench_outcome outs[BENCH_IMPLS_MAX];
	size_t model = BENCH_IMPLS_MAX;
	bool good = true;

	show_progress(f, run, NULL);
	for (size_t k = 0; k < f->count; k++) {
		size_t i = (k + run) % f->count;
		struct bench_line *line = &f->lines[i];

		if (line->skipped)
			continue;
		show_progress(f, run, line->impl->name);
		take_sample(line, l, &outs[i]);
		if (line->impl->fires_nothing)
			continue;
		if (model == BENCH_IMPLS_MAX)
			model = i;
		if (!agree(f->row->name, &f->lines[model], &outs[model], line,
			   &outs[i]))
			good = false;
	}
	return good;
}

static bool run_row(struct bench_figures *f, const struct bench_options *o)
{
	struct bench_load load = f->row->load;
	uint32_t *order = NULL;
	bool good = true;

	choose_impls(f, o);
	if (load.kind == BENCH_CANCEL) {
		order = make_order(load.n, load.seed);
		load.order = order;
	}
	for (uint32_t run = 0; run < f->row->runs; run++) {
		good &= one_run(f, &load, run);
		load.drain_step = 0; /* verified once */
	}
	end_progress();
	if (order)
		bench_pages_put(order, load.n * sizeof(uint32_t));
	bench_report_sort(f);
	return good;
}

/* Return 0, or 1 if anything differed or could not be written. */
static int run_rows(const struct bench_row *rows, size_t count,
		    const struct bench_options *o, FILE *json)
{
	static struct bench_figures f;
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		f.row = &rows[i];
		f.number = i + 1;
		f.of = count;
		if (!run_row(&f, o))
			status = 1;
		if (json != stdout) {
			bench_report_table(stdout, &f);
			(void)fflush(stdout);
		}
		if (json) {
			bench_report_json(json, &f);
			(void)fflush(json);
		}
	}
	if (ferror(stdout) || (json && ferror(json))) {
		bench_say("the output could not be written");
		status = 1;
	}
	return status;
}

static void list(const struct bench_row *rows, size_t count,
		 const struct bench_options *o)
{
	for (size_t i = 0; i < count; i++)
		(void)printf("%s\n", rows[i].name);
	(void)printf("\n");
	for (size_t i = 0; bench_impls[i]->name; i++) {
		const struct bench_impl *impl = bench_impls[i];

		if (bench_options_want_impl(o, impl->name))
			(void)printf("%s%s%s\n", impl->name,
				     impl->run ? "" : "   skipped: ",
				     impl->run ? "" : impl->missing);
	}
}

static void name_missing(const struct bench_options *o)
{
	for (size_t i = 0; bench_impls[i]->name; i++) {
		const struct bench_impl *impl = bench_impls[i];

		if (!impl->run && bench_options_want_impl(o, impl->name))
			bench_say("%s skipped: %s", impl->name, impl->missing);
	}
}

/*
 * The same pages for all: small ones, or huge ones wherever the system has
 * them. malloc takes huge pages only if told so before the program starts, so
 * the program starts itself once more.
 */
static void choose_pages(const struct bench_options *o, char **argv)
{
	static const char tunables[] = "GLIBC_TUNABLES";
	static const char hugetlb[] = "glibc.malloc.hugetlb=1";
	const char *before = getenv(tunables);

	if (!o->hugepages) {
		(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		return;
	}
	bench_pages_huge();
	if (before && strcmp(before, hugetlb) == 0)
		return;
	if (setenv(tunables, hugetlb, 1) == 0)
		(void)execv("/proc/self/exe", argv);
	bench_say("--hugepages: malloc keeps its small pages");
}

int main(int argc, char **argv)
{
	static struct bench_row rows[BENCH_ROWS_MAX];
	struct bench_options o;
	FILE *json = NULL;
	size_t count;
	int status;

	if (bench_options_read(&o, argc, argv) != 0)
		return 2;
	if (o.help) {
		bench_options_help();
		return 0;
	}
	count = bench_rows_plan(rows, &o);
	if (count == 0) {
		bench_say("no row is called so; see --list");
		return 2;
	}
	if (o.list) {
		list(rows, count, &o);
		return 0;
	}
	choose_pages(&o, argv);
	if (o.json) {
		json = strcmp(o.json, "-") == 0 ? stdout : fopen(o.json, "w");
		if (json == NULL) {
			bench_say("--json: cannot write '%.200s'", o.json);
			return 2;
		}
	}
	name_missing(&o);
	status = run_rows(rows, count, &o, json);
	if (json && json != stdout && fclose(json) != 0)
		status = 1;
	return status;
}
