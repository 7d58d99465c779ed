/* SPDX-License-Identifier: MIT */
/*
 * ticks.h - ticks at which a wheel is likely to go wrong.
 *
 * Uniform ticks would almost never share a slot or reach a boundary. So a tick
 * is drawn from one of several kinds. Each wheel has its own mix of kinds: in
 * some runs all ticks are near, in some all are at boundaries.
 */
#ifndef MODEL_TICKS_H
#define MODEL_TICKS_H

#include <stdint.h>

#include "choice.h"

enum {
	TICKS_MIX = 16
};

struct ticks_mix {
	uint8_t kind[TICKS_MIX];
};

/* Picks the first tick of a wheel: near 0, anywhere, near a boundary or the
 * end. */
uint64_t ticks_start(struct choice *c);

/* Makes mix number `number`. Kinds that every run needs are always in it. */
void ticks_make_mix(struct ticks_mix *m, uint32_t number);

/*
 * A tick for an add, a move or an extension.
 * other   a tick already in use, to be shared or missed by one
 */
uint64_t ticks_draw(struct choice *c, const struct ticks_mix *m, uint64_t now,
		    uint64_t other);

/* A tick within 1 of a boundary near now: a multiple of 16^k or 256^k. */
uint64_t ticks_boundary(struct choice *c, uint64_t now);

/* now plus 2^0 ... 2^60 or so, rarely to the end of time. */
uint64_t ticks_jump(struct choice *c, uint64_t now);

/* 1 if a tick is within 1 of a multiple of 256, where rings of both 16 and 256
 * slots meet. */
int ticks_at_boundary(uint64_t tick);

#endif /* MODEL_TICKS_H */
