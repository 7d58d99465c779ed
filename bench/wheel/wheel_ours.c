/* SPDX-License-Identifier: MIT */
/* wheel_ours.c - both engines of our wheel, through the library. */
#include "tickwheel/wheel.h"

#include "wheel_ours.h"

const struct bench_entrant bench_entrant_tickwheel = {
	.name = "tickwheel",
	.run = run_load,
	.variant = TKW_WHEEL_HIERARCHICAL,
};

const struct bench_entrant bench_entrant_tickwheel_hashed = {
	.name = "tickwheel_hashed",
	.run = run_load,
	.variant = TKW_WHEEL_HASHED,
};
