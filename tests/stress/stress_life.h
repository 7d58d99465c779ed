/* SPDX-License-Identifier: MIT */
/*
 * stress_life.h - the life of a timer under stress, from create to destroy.
 */
#ifndef STRESS_LIFE_H
#define STRESS_LIFE_H

#include <stdint.h>

#include "stress_count.h"

/* How long and by how many a timer is used. */
struct life_plan {
	uint64_t number; /* of the life: with it come the config and the end */
	uint64_t seed;
	uint64_t timeouts; /* by all threads together, about */
	uint32_t threads;  /* 2 to 8; 0: the seed says */
};

/* Live it, and add what happened to total. */
void life_run(const struct life_plan *plan, struct stress_counts *total);

/* What the timer of a life is: "thread, hierarchical, 8 shards, 1000 us". */
void life_describe(uint64_t number, char *buf, size_t size);

/* Lives until each config has come to each end. */
uint64_t life_variants(void);

#endif /* STRESS_LIFE_H */
