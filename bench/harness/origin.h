/* SPDX-License-Identifier: MIT */
/* origin.h - where and when the figures of a run were measured. */
#ifndef TKW_ORIGIN_H
#define TKW_ORIGIN_H

#include <stdio.h>

/*
 * Writes one JSON line: the date (UTC), the commit, the processor's model, the
 * number of processors, the kernel and the compiler. The commit is the value of
 * the environment variable TKW_COMMIT, because only the caller knows what was
 * built. A value that cannot be found out is "unknown".
 */
void bench_origin_write(FILE *json);

#endif /* TKW_ORIGIN_H */
