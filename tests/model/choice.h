/* SPDX-License-Identifier: MIT */
/*
 * choice.h - the source of the decisions of a random test.
 *
 * A source is a generator with a seed (the model test) or a string of bytes
 * (the fuzzer and its corpus). The same source gives the same decisions, so
 * that a failure can be replayed.
 */
#ifndef MODEL_CHOICE_H
#define MODEL_CHOICE_H

#include <stddef.h>
#include <stdint.h>

struct choice {
	const uint8_t *at; /* NULL for the generator */
	const uint8_t *end;
	uint64_t state;
};

void choice_from_seed(struct choice *c, uint64_t seed);
void choice_from_bytes(struct choice *c, const uint8_t *data, size_t len);

/* 1 if a string of bytes is used up. A generator never is. */
int choice_spent(const struct choice *c);

/* Returns any 64 bits, or zeros when the bytes are used up. */
uint64_t choice_u64(struct choice *c);

/* Returns a number below n. n is 1 to 65536. */
uint32_t choice_below(struct choice *c, uint32_t n);

/* The generator alone. Returns the next number of a state. */
uint64_t choice_next(uint64_t *state);

#endif /* MODEL_CHOICE_H */
