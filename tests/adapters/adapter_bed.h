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
/* after those above, as it asks */
#include <cmocka.h>

#include "tickwheel/timer.h"

struct bed_conn;

struct adapter_ops {
	void *(*loop_open)(void);
	/* With an adapter and watches in it, or without. */
	void (*loop_close)(void *loop);
	/* In a child of fork(). NULL: there is nothing to do. */
	void (*loop_forked)(void *loop);
	/* One round of the loop: wait until something happens, or do not. */
	void (*round)(void *loop, bool wait);

	size_t adapter_size;
	int (*attach)(void *adapter, void *loop, struct tkw_timer *t);
	void (*detach)(void *adapter);
	/* Detach, and free() when that is legal. */
	void (*detach_and_free)(void *adapter);
	bool detach_after_close; /* is legal, and does nothing */
	void (*set_max_tasks)(void *adapter, int max_tasks);
	struct tkw_timer *(*timer_of)(const void *adapter);

	/* Call bed_on_readable(c) when an fd is readable. */
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
