/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static int by_median(const void *a, const void *b)
{
	const struct bench_line *x = a;
	const struct bench_line *y = b;

	if ((x->skipped != NULL) != (y->skipped != NULL))
		return x->skipped ? 1 : -1;
	return by_value(&x->median, &y->median);
}

void bench_report_sort(struct bench_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct bench_line *l = &f->lines[i];
		uint32_t half = l->runs / 2;

		if (l->skipped)
			continue;
		qsort(l->samples, l->runs, sizeof(double), by_value);
		l->min = l->samples[0];
		l->max = l->samples[l->runs - 1];
		l->median = l->samples[half];
		if (l->runs % 2 == 0)
			l->median = (l->median + l->samples[half - 1]) / 2;
	}
	qsort(f->lines, f->count, sizeof(f->lines[0]), by_median);
}

/* The hierarchical wheel, or NULL if it did not run. */
static const struct bench_line *find_ours(const struct bench_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		if (!f->lines[i].skipped &&
		    strcmp(f->lines[i].impl->name, "tickwheel") == 0)
			return &f->lines[i];
	}
	return NULL;
}

/* The fastest that is neither ours nor the null loop, or NULL. */
static const struct bench_line *find_rival(const struct bench_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct bench_line *l = &f->lines[i];

		if (!l->skipped && !l->impl->ours && !l->impl->fires_nothing)
			return l;
	}
	return NULL;
}

static void print_line(FILE *to, const struct bench_line *l,
		       const struct bench_line *ours)
{
	(void)fprintf(to, "%c %-17s %10.2f %10.2f %10.2f",
		      l->impl->ours ? '*' : ' ', l->impl->name, l->median,
		      l->min, l->max);
	if (ours && ours->median > 0)
		(void)fprintf(to, " %9.2f", l->median / ours->median);
	else
		(void)fprintf(to, " %9s", "-");
	if (l->first.bytes_per_timer > 0)
		(void)fprintf(to, " %8.1f\n", l->first.bytes_per_timer);
	else
		(void)fprintf(to, " %8s\n", "-");
}

void bench_report_table(FILE *to, const struct bench_figures *f)
{
	const struct bench_line *ours = find_ours(f);
	const struct bench_line *rival = find_rival(f);

	(void)fprintf(to, "\n%s   (ns/op, %u runs, seed %" PRIu64 ")\n",
		      f->row->name, (unsigned)f->row->runs, f->row->load.seed);
	(void)fprintf(to, "  %-17s %10s %10s %10s %9s %8s\n", "", "median",
		      "min", "max", "x ours", "bytes");
	for (size_t i = 0; i < f->count; i++) {
		if (!f->lines[i].skipped)
			print_line(to, &f->lines[i], ours);
	}
	for (size_t i = 0; i < f->count; i++) {
		if (f->lines[i].skipped)
			(void)fprintf(to, "  %-17s skipped: %s\n",
				      f->lines[i].impl->name,
				      f->lines[i].skipped);
	}
	if (ours && rival)
		(void)fprintf(to,
			      "  the best rival, %s, takes %.2f times ours "
			      "(%.2f by the minima)\n",
			      rival->impl->name, rival->median / ours->median,
			      rival->min / ours->min);
}

static void json_line(FILE *to, const char *bench, const struct bench_line *l,
		      uint64_t seed)
{
	(void)fprintf(to,
		      "{\"bench\":\"%s\",\"impl\":\"%s\",\"unit\":\"ns/op\","
		      "\"median\":%.3f,\"min\":%.3f,\"max\":%.3f,\"runs\":%u",
		      bench, l->impl->name, l->median, l->min, l->max,
		      (unsigned)l->runs);
	if (l->first.bytes_per_timer > 0)
		(void)fprintf(to, ",\"bytes_per_timer\":%.1f",
			      l->first.bytes_per_timer);
	if (!l->impl->fires_nothing)
		(void)fprintf(to,
			      ",\"fired\":%" PRIu64
			      ",\"checksum\":\"%016" PRIx64 "\"",
			      l->first.fired, l->first.checksum);
	(void)fprintf(to, ",\"seed\":%" PRIu64 "}\n", seed);
}

void bench_report_json(FILE *to, const struct bench_figures *f)
{
	const struct bench_line *ours = find_ours(f);
	const struct bench_line *rival = find_rival(f);

	for (size_t i = 0; i < f->count; i++) {
		if (!f->lines[i].skipped)
			json_line(to, f->row->name, &f->lines[i],
				  f->row->load.seed);
	}
	(void)fprintf(to, "{\"bench\":\"%s\",\"impl\":\"summary\"",
		      f->row->name);
	if (ours && rival)
		(void)fprintf(to,
			      ",\"best_rival\":\"%s\",\"ratio\":%.3f,"
			      "\"ratio_min\":%.3f}\n",
			      rival->impl->name, rival->median / ours->median,
			      rival->min / ours->min);
	else
		(void)fprintf(to, ",\"best_rival\":null,\"ratio\":null,"
				  "\"ratio_min\":null}\n");
}
