/* SPDX-License-Identifier: MIT */
/* compare.c - compares two runs; see compare.h. */
#include "compare.h"

#include <stdio.h>

#include "json_lines.h"
#include "report.h"

enum {
	SPREAD_RUNS = 3 /* fewer runs have no spread */
};

enum change {
	SAME,
	FASTER,
	SLOWER,
	UNKNOWN,
	CHANGES
};

static const char *const change_names[CHANGES] = { "=", "faster", "slower",
						   "?" };

struct tally {
	size_t all[CHANGES];
	size_t ours[CHANGES];
};

static bool outside(double value, const struct bench_record *r)
{
	return value < r->min || value > r->max;
}

static enum change judge(const struct bench_record *old,
			 const struct bench_record *new)
{
	if (old->runs < SPREAD_RUNS || new->runs < SPREAD_RUNS)
		return UNKNOWN;
	if (!outside(new->median, old) || !outside(old->median, new))
		return SAME;
	return new->median < old->median ? FASTER : SLOWER;
}

static void compare_row(struct tally *t, const struct bench_record *old,
			const struct bench_record *new)
{
	enum change change = judge(old, new);

	t->all[change]++;
	if (bench_report_is_ours(old->entrant))
		t->ours[change]++;
	(void)printf("%-32s %-18s %12.2f %12.2f %-11s ", old->bench,
		     old->entrant, old->median, new->median, old->unit);
	if (old->median > 0)
		(void)printf("%+8.1f%%",
			     (new->median - old->median) / old->median * 100);
	else
		(void)printf("%9s", "-");
	(void)printf("  %s\n", change_names[change]);
}

static void name_single(const struct bench_record *r, const char *file)
{
	(void)printf("%-32s %-18s only in %s\n", r->bench, r->entrant, file);
}

/* Walks both lists together, like a merge. Both are sorted. */
static void walk(struct tally *t, const struct bench_records *old,
		 const struct bench_records *new, const char *const files[2])
{
	size_t i = 0;
	size_t j = 0;

	while (i < old->count || j < new->count) {
		int order = 0;

		if (i == old->count)
			order = 1;
		else if (j == new->count)
			order = -1;
		else
			order = bench_record_order(&old->list[i],
						   &new->list[j]);
		if (order == 0)
			compare_row(t, &old->list[i++], &new->list[j++]);
		else if (order < 0)
			name_single(&old->list[i++], files[0]);
		else
			name_single(&new->list[j++], files[1]);
	}
}

static void print_counts(const char *whose, const size_t counts[CHANGES])
{
	(void)printf("%s %zu faster, %zu slower, %zu =, %zu ?", whose,
		     counts[FASTER], counts[SLOWER], counts[SAME],
		     counts[UNKNOWN]);
}

static void print_tally(const struct tally *t)
{
	size_t compared = 0;

	for (size_t i = 0; i < CHANGES; i++)
		compared += t->all[i];
	(void)printf("%zu", compared);
	print_counts(" compared:", t->all);
	print_counts("; of tickwheel:", t->ours);
	(void)printf("\n");
}

int bench_compare(const char *old_file, const char *new_file)
{
	const char *const files[2] = { old_file, new_file };
	struct tally t = { { 0 }, { 0 } };
	struct bench_records old;
	struct bench_records new;

	if (bench_records_read(&old, old_file) != 0)
		return 2;
	if (bench_records_read(&new, new_file) != 0) {
		bench_records_free(&old);
		return 2;
	}
	(void)printf("%-32s %-18s %12s %12s %-11s %9s\n", "", "", "old", "new",
		     "", "change");
	walk(&t, &old, &new, files);
	print_tally(&t);
	bench_records_free(&old);
	bench_records_free(&new);
	return t.ours[SLOWER] > 0 ? 1 : 0;
}
