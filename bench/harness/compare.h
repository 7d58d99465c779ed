/* SPDX-License-Identifier: MIT */
/* compare.h - compares two runs of the benchmark. */
#ifndef TKW_COMPARE_H
#define TKW_COMPARE_H

/*
 * Prints how each row has changed. A row is `faster` or `slower` only if the
 * median of each run lies outside the range from min to max of the other run.
 * Otherwise it is `=`, or `?` if one of the runs has too few samples.
 *
 * Returns the exit status: 0, 1 if a row of ours is slower, or 2 if a file
 * cannot be read.
 */
int bench_compare(const char *old_file, const char *new_file);

#endif /* TKW_COMPARE_H */
