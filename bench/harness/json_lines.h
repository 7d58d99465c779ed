/* SPDX-License-Identifier: MIT */
/* json_lines.h - reads the lines that report.h has written. */
#ifndef TKW_JSON_LINES_H
#define TKW_JSON_LINES_H

#include <stddef.h>

struct bench_record {
	char date[32]; /* only in the line that says where the figures are from
			*/
	char bench[64];
	char entrant[32];
	char unit[32];
	double median, min, max;
	double runs;
};

struct bench_records {
	struct bench_record *list;
	size_t count;
};

/* Reads the figures and sorts them by bench, entrant and unit. Skips summaries
 * and the line with the date. Returns 0, or -1 after it has printed one line on
 * stderr that names the file and the line. */
int bench_records_read(struct bench_records *r, const char *file);
void bench_records_free(struct bench_records *r);

/* Compares by bench, entrant and unit, like strcmp(). */
int bench_record_order(const struct bench_record *a,
		       const struct bench_record *b);

#endif /* TKW_JSON_LINES_H */
