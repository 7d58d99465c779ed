/* SPDX-License-Identifier: MIT */
/* wheel_inline.c - our wheel, inlined into the timed loops. */
#include "tickwheel/wheel_inline.h"

#include "wheel_ours.h"

const struct bench_entrant bench_entrant_tickwheel_inline = {
	.name = "tickwheel_inline",
	.run = run_load,
	.variant = TKW_WHEEL_HIERARCHICAL,
};
