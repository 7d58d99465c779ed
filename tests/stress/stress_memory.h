/* SPDX-License-Identifier: MIT */
/*
 * stress_memory.h - the memory hooks of a timer, with a count of what was not
 * freed yet.
 */
#ifndef STRESS_MEMORY_H
#define STRESS_MEMORY_H

#include <stddef.h>

/* The alloc and free of struct tkw_timer_hooks. Any thread may call them. */
void *stress_alloc(size_t bytes, size_t align, void *ctx);
void stress_free(void *mem, size_t bytes, void *ctx);

/* Reports a fault if any memory was not freed. Call it when no timer with these
 * hooks exists. */
void stress_nothing_leaked(void);

#endif /* STRESS_MEMORY_H */
