/* SPDX-License-Identifier: MIT */
/*
 * stress_stop.h - rounds of stop against schedule.
 */
#ifndef STRESS_STOP_H
#define STRESS_STOP_H

#include <stdint.h>

#include "stress_count.h"

/*
 * Runs `rounds` rounds, and adds what happened to total.
 *
 * threads  How many threads schedule, 2 to 4.
 */
void stop_rounds(uint64_t rounds, uint32_t threads, uint64_t seed,
		 struct stress_counts *total);

#endif /* STRESS_STOP_H */
