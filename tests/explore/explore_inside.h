/* SPDX-License-Identifier: MIT */
/* explore_inside.h - what the files of the explorer share. */
#ifndef TKW_TESTS_EXPLORE_INSIDE_H
#define TKW_TESTS_EXPLORE_INSIDE_H

#include "explore.h"

/*
 * The trace of a run, and a hash that tells orders apart. The hash covers which
 * thread made each step, when a store became visible to others, and all other
 * choices. The rest of the program is the same each time. It matters how many
 * steps a thread makes, and how many of its stores become visible, before
 * another thread runs. It does not matter when that is between those steps. So
 * a store that is kept back while no other thread runs does not make another
 * order.
 */
void explore_trace_begin(void);
/* Returns false if there is no room, which means that the run does not end. */
bool explore_trace_step(int thread, const char *name, struct explore_spot s);
/* What the last step found or wrote, and where. */
void explore_trace_value(const void *a, uint64_t value);
void explore_trace_rename(const char *op);
/* Add to the hash: a step of a thread, a store that others see, a choice. */
void explore_trace_count_step(int thread);
void explore_trace_count_store(int thread);
void explore_trace_count_choice(unsigned chosen);
/* Has the thread made a step since another thread did something? */
bool explore_trace_has_stepped(int thread);
uint64_t explore_trace_hash(void);
void explore_trace_print(void);

void explore_memory_begin(void);
/* Fails if this memory was freed. */
void explore_memory_touch(const void *a);
/* Returns what is wrong with the memory of the run, or NULL. */
const char *explore_memory_end(void);

#endif /* TKW_TESTS_EXPLORE_INSIDE_H */
