/* SPDX-License-Identifier: MIT */
/*
 * stress_life.h - the life of a timer under stress, from create to destroy.
 */
#ifndef STRESS_LIFE_H
#define STRESS_LIFE_H

#include <stdint.h>

#include "stress_count.h"

/* How long a timer is used, and by how many threads. */
struct life_plan {
	/* The number of the life. It determines the config and the end. */
	uint64_t number;
	uint64_t seed;
	uint64_t timeouts; /* of all threads together, about */
	uint32_t threads;  /* 2 to 8, or 0 to let the seed choose */
};

/* Runs a life, and adds what happened to total. */
void life_run(const struct life_plan *plan, struct stress_counts *total);

/* Describes the timer of a life, like "thread, hierarchical, 8 shards, 1000
 * us". */
void life_describe(uint64_t number, char *buf, size_t size);

/* Returns how many lives it takes until each config has had each end. */
uint64_t life_variants(void);

#endif /* STRESS_LIFE_H */
