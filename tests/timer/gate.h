/* SPDX-License-Identifier: MIT */
/*
 * gate.h - a gate for threads. It is shut until it is opened, and counts the
 * threads that have come to it.
 */
#ifndef TKW_TESTS_GATE_H
#define TKW_TESTS_GATE_H

#include <pthread.h>
#include <stdbool.h>

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned came;
	bool open;
};

#define GATE_INIT                                                              \
	{                                                                      \
		.lock = PTHREAD_MUTEX_INITIALIZER,                             \
		.changed = PTHREAD_COND_INITIALIZER                            \
	}
void gate_init(struct gate *g);

/* Comes to the gate, and waits until it is open. */
void gate_pass(struct gate *g);
void gate_open(struct gate *g);
/* Waits until this many threads have come. */
void gate_await(struct gate *g, unsigned least);

#endif /* TKW_TESTS_GATE_H */
