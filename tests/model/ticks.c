/* SPDX-License-Identifier: MIT */
/* ticks.c - kinds of ticks, and mixes of them. */
#include "ticks.h"

#define LAST (UINT64_MAX - 1)

enum kind {
	SHARED, /* a tick in use, or one next to it */
	NEAR,
	NEARBY,
	BOUNDARY,
	POWER,
	JUMP,
	PAST,
	END,
	NEVER,
	KINDS
};

/* a + b, or the last tick. */
static uint64_t later(uint64_t a, uint64_t b)
{
	return b > LAST - a || a > LAST ? LAST : a + b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

/* tick - 1, tick or tick + 1. */
static uint64_t beside(struct choice *c, uint64_t tick)
{
	switch (choice_below(c, 4)) {
	case 0:
		return earlier(tick, 1);
	case 1:
		return later(tick, 1);
	default:
		return tick;
	}
}

uint64_t ticks_boundary(struct choice *c, uint64_t now)
{
	/* Prefer low rings, because the wheel reaches their far side sooner. */
	uint32_t ring = choice_below(c, choice_below(c, 15) + 1) + 1;
	uint64_t width = UINT64_C(1) << 4 * ring;
	uint64_t up = later(earlier(now, now % width),
			    width * (1 + choice_below(c, 2)));

	return beside(c, up);
}

uint64_t ticks_jump(struct choice *c, uint64_t now)
{
	return later(now, choice_u64(c) >> (4 + choice_below(c, 60)));
}

uint64_t ticks_start(struct choice *c)
{
	uint64_t any;

	switch (choice_below(c, 8)) {
	case 0:
		return 0;
	case 1:
		return choice_below(c, 300);
	case 2:
		return choice_u64(c);
	case 3:
		return choice_u64(c) >> choice_below(c, 64);
	case 4:
		return earlier(LAST, choice_below(c, 600));
	case 5:
		return earlier(UINT64_C(1) << 32, choice_below(c, 20));
	default:
		any = choice_u64(c) >> 8;
		return earlier(ticks_boundary(c, any), choice_below(c, 20));
	}
}

void ticks_make_mix(struct ticks_mix *m, uint32_t number)
{
	uint64_t state = number;
	uint64_t spread = choice_next(&state) % KINDS + 1;
	int i;

	for (i = 0; i < TICKS_MIX; i++)
		m->kind[i] = (uint8_t)(choice_next(&state) % spread);
	m->kind[0] = SHARED;
	m->kind[1] = NEAR;
	/* Ticks that never come fill the wheel, so one of these kinds is
	 * enough. */
	for (i = 2; i < TICKS_MIX; i++) {
		if (m->kind[i] == NEVER || m->kind[i] == END)
			m->kind[i] = i % 2 ? NEAR : NEARBY;
	}
	m->kind[2] = (uint8_t)(choice_next(&state) % KINDS);
}

uint64_t ticks_draw(struct choice *c, const struct ticks_mix *m, uint64_t now,
		    uint64_t other)
{
	switch (m->kind[choice_below(c, TICKS_MIX)]) {
	case SHARED:
		return beside(c, other);
	case NEAR:
		return later(now, choice_below(c, 8));
	case NEARBY:
		return later(now, choice_below(c, 700));
	case BOUNDARY:
		return ticks_boundary(c, now);
	case POWER:
		return beside(c, UINT64_C(1) << choice_below(c, 64));
	case JUMP:
		return ticks_jump(c, now);
	case PAST:
		return earlier(now, choice_below(c, 20));
	case END:
		return LAST - choice_below(c, 3);
	default:
		return UINT64_MAX;
	}
}

int ticks_at_boundary(uint64_t tick)
{
	return (tick + 1) % 256 < 3;
}
