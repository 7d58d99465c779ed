/* SPDX-License-Identifier: MIT */
/* progress.h - shows on stderr what is running. */
#ifndef TKW_PROGRESS_H
#define TKW_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct bench_progress {
	size_t number, of; /* number of this row, and of all rows */
	const char *name;
	uint32_t run, runs;
};

/* Shows the progress: on a terminal in one line that changes, anywhere else in
 * a line for each run. Call it with `entrant` NULL when a run begins, then with
 * each entrant in turn. */
void bench_progress_show(const struct bench_progress *p, const char *entrant);
void bench_progress_end(void);

#endif /* TKW_PROGRESS_H */
