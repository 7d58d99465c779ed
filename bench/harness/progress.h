/* SPDX-License-Identifier: MIT */
/* progress.h - what is running, on stderr. */
#ifndef TKW_PROGRESS_H
#define TKW_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct bench_progress {
	size_t number, of; /* this row, of so many */
	const char *name;
	uint32_t run, runs;
};

/* On a terminal one line that changes, else a line for each run: with `entrant`
 * NULL when a run begins, then with each entrant in turn. */
void bench_progress_show(const struct bench_progress *p, const char *entrant);
void bench_progress_end(void);

#endif /* TKW_PROGRESS_H */
