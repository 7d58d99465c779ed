/* SPDX-License-Identifier: MIT */
/* explore_inside.h - what the files of the explorer share. */
#ifndef TKW_TESTS_EXPLORE_INSIDE_H
#define TKW_TESTS_EXPLORE_INSIDE_H

#include "explore.h"

/* The trace of a run, and a hash by which orders are told apart: of who made
 * each step, when a store became visible, and what was chosen besides. The
 * program does the rest in the same way each time. A store that is kept back
 * and becomes visible before anything else happens is no other order. */
void explore_trace_begin(void);
/* Return false if there is no room: the run does not end. */
bool explore_trace_step(int thread, const char *name, struct explore_spot s);
/* What the last step found or wrote, and where. */
void explore_trace_value(const void *a, uint64_t value);
void explore_trace_rename(const char *op);
void explore_trace_mix(uint64_t x);
uint64_t explore_trace_hash(void);
void explore_trace_print(void);

/* The memory of a run. Return  what is wrong with it, or NULL. */
void explore_memory_begin(void);
const char *explore_memory_end(void);

#endif /* TKW_TESTS_EXPLORE_INSIDE_H */
