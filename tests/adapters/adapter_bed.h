/* SPDX-License-Identifier: MIT */
/*
 * adapter_bed.h - the tests of the adapters. They are the same for each
 * library. A table has the functions that differ.
 */
#ifndef TKW_TESTS_ADAPTER_BED_H
#define TKW_TESTS_ADAPTER_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "tickwheel/timer.h"

struct bed_conn;

struct adapter_ops {
	void *(*loop_open)(void);
	/* The loop may still have an adapter and watches. */
	void (*loop_close)(void *loop);
	/* Called in a child of fork(). NULL if there is nothing to do. */
	void (*loop_forked)(void *loop);
	/* One round of the loop. With wait, it waits for an event. */
	void (*round)(void *loop, bool wait);

	size_t adapter_size;
	int (*attach)(void *adapter, void *loop, struct tkw_timer *t);
	void (*detach)(void *adapter);
	/* Detaches, and frees the adapter when that is legal. */
	void (*detach_and_free)(void *adapter);
	bool detach_after_close; /* it is legal, and does nothing */
	void (*set_max_tasks)(void *adapter, int max_tasks);
	struct tkw_timer *(*timer_of)(const void *adapter);

	/* Calls bed_on_readable(c) when an fd is readable. */
	size_t watch_size;
	void (*watch)(void *watch, void *loop, int fd, struct bed_conn *c);
	void (*unwatch)(void *watch);
};

void bed_on_readable(struct bed_conn *c);

/* Never NULL. */
void *bed_calloc(size_t count, size_t size);

/* Run all tests with a library; returns what main() returns. */
int bed_main(const struct adapter_ops *library);

#endif /* TKW_TESTS_ADAPTER_BED_H */
