/* SPDX-License-Identifier: MIT */
/*
 * stress_memory.h - the memory hooks of a timer, with a count of what is out.
 */
#ifndef STRESS_MEMORY_H
#define STRESS_MEMORY_H

#include <stddef.h>

/* As alloc and free of struct tkw_timer_hooks; any thread. */
void *stress_alloc(size_t bytes, size_t align, void *ctx);
void stress_free(void *mem, size_t bytes, void *ctx);

/* A fault if anything is out. Call it when no timer with the hooks lives. */
void stress_nothing_leaked(void);

#endif /* STRESS_MEMORY_H */
