/* SPDX-License-Identifier: MIT */
/* report.c - writes tables and JSON lines; see report.h. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "busy.h"

/* The engine that the others are compared with, then our other entrants. */
static const char *const ours_first = "tickwheel";
static const char *const ours_too[] = { "tickwheel_inline", "tickwheel_hashed",
					"tickwheel_clock", "tickwheel_ram" };

bool bench_report_is_ours(const char *entrant)
{
	for (size_t i = 0; i < sizeof(ours_too) / sizeof(ours_too[0]); i++) {
		if (strcmp(entrant, ours_too[i]) == 0)
			return true;
	}
	return strcmp(entrant, ours_first) == 0;
}

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

	if ((x->left_out != NULL) != (y->left_out != NULL))
		return x->left_out ? 1 : -1;
	return by_value(&x->median, &y->median);
}

/* Sorts the samples and returns their median. */
static double median_of(double *samples, uint32_t count)
{
	uint32_t half = count / 2;

	qsort(samples, count, sizeof(double), by_value);
	if (count % 2 == 0)
		return (samples[half] + samples[half - 1]) / 2;
	return samples[half];
}

/* Returns the line of our engine, or NULL if it did not run. */
static const struct bench_line *find_ours(const struct bench_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		if (!f->lines[i].left_out &&
		    strcmp(f->lines[i].entrant, ours_first) == 0)
			return &f->lines[i];
	}
	return NULL;
}

/* Returns the best line that is neither ours nor the null loop, or NULL. */
static const struct bench_line *find_rival(const struct bench_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct bench_line *l = &f->lines[i];

		if (!l->left_out && !l->ours && !l->no_rival)
			return l;
	}
	return NULL;
}

/* There is no ratio if ours is 0, or if noise has made a figure negative. */
static bool has_ratio(double rival, double ours)
{
	return ours > 0 && rival >= 0;
}

/* Returns the value that a share of the sorted values lies below. Between two
 * values it takes the straight line. */
static double quantile_of(const double *sorted, uint32_t count, double share)
{
	double at = share * (count - 1);
	uint32_t below = (uint32_t)at;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] +
	       (at - below) * (sorted[below + 1] - sorted[below]);
}

/* Needs the samples in the order of the runs. */
static void compare_pairs(struct bench_line *l, const struct bench_line *ours)
{
	double ratios[BENCH_RUNS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < l->runs && i < ours->runs; i++) {
		if (has_ratio(l->samples[i], ours->samples[i]))
			ratios[count++] = l->samples[i] / ours->samples[i];
	}
	l->pairs = count;
	if (count == 0)
		return;
	l->pair_median = median_of(ratios, count);
	l->pair_low = quantile_of(ratios, count, 0.25);
	l->pair_high = quantile_of(ratios, count, 0.75);
}

static void compare_all_pairs(struct bench_figures *f)
{
	const struct bench_line *ours = find_ours(f);

	for (size_t i = 0; ours && i < f->count; i++) {
		if (!f->lines[i].left_out && &f->lines[i] != ours)
			compare_pairs(&f->lines[i], ours);
	}
}

/* Computes median, min and max from the samples. Then sorts the lines: the best
 * first, those without figures last. */
static void sort_lines(struct bench_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct bench_line *l = &f->lines[i];

		if (l->left_out)
			continue;
		l->median = median_of(l->samples, l->runs);
		l->min = l->samples[0];
		l->max = l->samples[l->runs - 1];
		l->extra = median_of(l->extras, l->runs);
	}
	qsort(f->lines, f->count, sizeof(f->lines[0]), by_median);
}

static void print_line(const struct bench_figures *f,
		       const struct bench_line *l,
		       const struct bench_line *ours)
{
	(void)printf("%c %-18s %10.2f %10.2f %10.2f", l->ours ? '*' : ' ',
		     l->entrant, l->median, l->min, l->max);
	if (l->pairs > 0)
		(void)printf(" %9.2f", l->pair_median);
	else if (ours && has_ratio(l->median, ours->median))
		(void)printf(" %9.2f", l->median / ours->median);
	else
		(void)printf(" %9s", "-");
	if (l->pairs > 0)
		(void)printf(" %9.2f %9.2f", l->pair_low, l->pair_high);
	else if (f->pairs)
		(void)printf(" %9s %9s", "-", "-");
	if (f->extra_key && l->extra > 0)
		(void)printf(" %10.1f", l->extra);
	else if (f->extra_key)
		(void)printf(" %10s", "-");
	(void)printf("\n");
}

static void print_rival(const struct bench_line *ours,
			const struct bench_line *rival)
{
	if (!ours || !rival || !has_ratio(rival->median, ours->median))
		return;
	(void)printf("  the best rival, %s, takes %.2f times ours",
		     rival->entrant,
		     rival->pairs > 0 ? rival->pair_median
				      : rival->median / ours->median);
	if (rival->pairs > 0)
		(void)printf(" (quartiles %.2f and %.2f of %u pairs)",
			     rival->pair_low, rival->pair_high,
			     (unsigned)rival->pairs);
	else if (has_ratio(rival->min, ours->min))
		(void)printf(" (%.2f by the minima)", rival->min / ours->min);
	(void)printf("\n");
}

static void print_table(const struct bench_figures *f)
{
	const struct bench_line *ours = find_ours(f);

	(void)printf("\n%s   (%s, %u run%s", f->bench, f->unit,
		     (unsigned)f->runs, f->runs == 1 ? "" : "s");
	if (f->seed > 0)
		(void)printf(", seed %" PRIu64, f->seed);
	(void)printf(")\n");
	(void)printf("  %-18s %10s %10s %10s %9s", "", "median", "min", "max",
		     "x ours");
	if (f->pairs)
		(void)printf(" %9s %9s", "quartile", "quartile");
	if (f->extra_key)
		(void)printf(" %10s", f->extra_title);
	(void)printf("\n");
	for (size_t i = 0; i < f->count; i++) {
		const struct bench_line *l = &f->lines[i];

		if (l->left_out)
			(void)printf("  %-18s %s: %s\n", l->entrant,
				     l->failed ? "failed" : "skipped",
				     l->left_out);
		else
			print_line(f, l, ours);
	}
	print_rival(ours, find_rival(f));
	if (f->looked && f->busy_cpus > BENCH_BUSY_CPUS)
		(void)printf("  times are NOT VALID: other processes used %.1f "
			     "CPUs\n",
			     f->busy_cpus);
}

static void json_pairs(FILE *to, const struct bench_line *l)
{
	if (l->pairs > 0)
		(void)fprintf(to,
			      ",\"pairs\":%u,\"pair_ratio\":%.3f,"
			      "\"pair_low\":%.3f,\"pair_high\":%.3f",
			      (unsigned)l->pairs, l->pair_median, l->pair_low,
			      l->pair_high);
}

static void json_line(FILE *to, const struct bench_figures *f,
		      const struct bench_line *l)
{
	(void)fprintf(to,
		      "{\"bench\":\"%s\",\"impl\":\"%s\",\"unit\":\"%s\","
		      "\"median\":%.3f,\"min\":%.3f,\"max\":%.3f,\"runs\":%u",
		      f->bench, l->entrant, f->unit, l->median, l->min, l->max,
		      (unsigned)l->runs);
	if (f->extra_key && l->extra > 0)
		(void)fprintf(to, ",\"%s\":%.1f", f->extra_key, l->extra);
	json_pairs(to, l);
	if (l->verified)
		(void)fprintf(to,
			      ",\"fired\":%" PRIu64
			      ",\"checksum\":\"%016" PRIx64 "\"",
			      l->fired, l->checksum);
	if (f->seed > 0)
		(void)fprintf(to, ",\"seed\":%" PRIu64, f->seed);
	(void)fprintf(to, "}\n");
}

static void json_ratio(FILE *to, const char *key, double rival, double ours)
{
	if (has_ratio(rival, ours))
		(void)fprintf(to, ",\"%s\":%.3f", key, rival / ours);
	else
		(void)fprintf(to, ",\"%s\":null", key);
}

static void json_busy(FILE *to, const struct bench_figures *f)
{
	if (f->looked)
		(void)fprintf(to, ",\"busy_cpus\":%.2f", f->busy_cpus);
}

static void json_summary(FILE *to, const struct bench_figures *f)
{
	const struct bench_line *ours = find_ours(f);
	const struct bench_line *rival = find_rival(f);

	(void)fprintf(to, "{\"bench\":\"%s\",\"impl\":\"summary\"", f->bench);
	if (ours && rival) {
		(void)fprintf(to, ",\"best_rival\":\"%s\"", rival->entrant);
		json_ratio(to, "ratio", rival->median, ours->median);
		json_ratio(to, "ratio_min", rival->min, ours->min);
		json_pairs(to, rival);
		json_busy(to, f);
		(void)fprintf(to, "}\n");
	} else {
		(void)fprintf(to, ",\"best_rival\":null,\"ratio\":null,"
				  "\"ratio_min\":null");
		json_busy(to, f);
		(void)fprintf(to, "}\n");
	}
}

void bench_report_write(FILE *json, struct bench_figures *f)
{
	if (f->pairs)
		compare_all_pairs(f);
	sort_lines(f);
	if (json != stdout) {
		print_table(f);
		(void)fflush(stdout);
	}
	if (json == NULL)
		return;
	for (size_t i = 0; i < f->count; i++) {
		if (!f->lines[i].left_out)
			json_line(json, f, &f->lines[i]);
	}
	json_summary(json, f);
	(void)fflush(json);
}
