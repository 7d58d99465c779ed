/* SPDX-License-Identifier: MIT */
/* compare.h - two runs of the benchmark, side by side. */
#ifndef TKW_COMPARE_H
#define TKW_COMPARE_H

/*
 * Print how each row has changed. It is `faster` or `slower` only if each
 * median lies outside of what the other run saw from min to max, else `=`.
 * Return the exit status: 0; 1: something of ours got slower; 2: a file cannot
 * be read.
 */
int bench_compare(const char *old_file, const char *new_file);

#endif /* TKW_COMPARE_H */
