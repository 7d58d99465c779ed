/* SPDX-License-Identifier: MIT */
/*
 * choice.c - decisions from a seeded generator or from bytes.
 *
 * The generator is a counter with a strong mixing function. So neighbouring
 * seeds give unrelated sequences, and a number takes a nanosecond.
 */
#include "choice.h"

uint64_t choice_next(uint64_t *state)
{
	uint64_t z;

	*state += UINT64_C(0x9e3779b97f4a7c15);
	z = *state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void choice_from_seed(struct choice *c, uint64_t seed)
{
	c->at = NULL;
	c->end = NULL;
	c->state = seed;
	/* Seeds 1, 2, 3 ... must not be shifted copies of one sequence. */
	c->state = choice_next(&c->state);
}

void choice_from_bytes(struct choice *c, const uint8_t *data, size_t len)
{
	static const uint8_t none[1];

	c->at = data ? data : none;
	c->end = c->at + (data ? len : 0);
	c->state = 0;
}

int choice_spent(const struct choice *c)
{
	return c->at && c->at == c->end;
}

static uint32_t next_byte(struct choice *c)
{
	return c->at == c->end ? 0 : *c->at++;
}

uint64_t choice_u64(struct choice *c)
{
	uint64_t v = 0;
	int i;

	if (!c->at)
		return choice_next(&c->state);
	for (i = 0; i < 8; i++)
		v = v << 8 | next_byte(c);
	return v;
}

uint32_t choice_below(struct choice *c, uint32_t n)
{
	if (!c->at)
		return (uint32_t)((choice_next(&c->state) >> 32) * n >> 32);
	if (n <= 1)
		return 0;
	if (n <= 256)
		return next_byte(c) % n;
	return (next_byte(c) << 8 | next_byte(c)) % n;
}
