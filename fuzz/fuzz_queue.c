/* SPDX-License-Identifier: MIT */
/*
 * fuzz_queue.c - libFuzzer's target: bytes decide what is done to a queue.
 *
 * The first byte decides between two: the bytes take the place of the generator
 * in the model test, and what differs from the oracle aborts; or the bytes are
 * records, and the queue must refuse them, or apply them and be sound.
 */
#include "fuzz_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "queue/heart.h"
#include "queue_driver.h"
#include "queue_tally.h"

enum {
	MAX_OPS = 2000,
	TRACED_OPS = 40
};

static int run(const uint8_t *data, size_t size,
	       const struct queue_driver_opts *opts,
	       struct queue_driver_failure *f)
{
	struct queue_tally t;
	struct choice c;

	memset(&t, 0, sizeof(t));
	choice_from_bytes(&c, data, size);
	return queue_driver_run(&c, opts, &t, f);
}

static void drive(const uint8_t *data, size_t size)
{
	struct queue_driver_opts opts = { .ops = MAX_OPS };
	struct queue_driver_failure f;

	if (run(data, size, &opts, &f) == 0)
		return;
	opts.trace = stderr;
	opts.trace_from = f.op < TRACED_OPS ? 0 : f.op - TRACED_OPS;
	run(data, size, &opts, &f);
	fprintf(stderr, "command %" PRIu64 ": %s\n(%s)\n", f.op, f.what,
		f.detail);
	abort();
}

static void *get_memory(size_t bytes, void *ctx)
{
	(void)ctx;
	return malloc(bytes);
}

static void put_memory(void *mem, size_t bytes, void *ctx)
{
	(void)bytes;
	(void)ctx;
	free(mem);
}

/* Totals from outside may say anything, so the law does not bind here. */
static void must_be_sound(struct tkw__queue *q)
{
	const char *wrong = tkw__queue_check(q);

	if (wrong && strcmp(wrong, "the law is broken") != 0) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
}

/* Commands on what the records have made: any answer, but a sound queue. */
static void use(struct tkw__queue *q, uint64_t now_us)
{
	struct tkw__queue_call call = { now_us, NULL, false };
	struct tkw__queue_put p = { .when = { false, 10 } };
	struct tkw__queue_taken t[8];
	uint64_t id;

	tkw__queue_put(q, &call, &p, 1, &id);
	must_be_sound(q);
	tkw__queue_take(q, &call, 8, 1000, t);
	must_be_sound(q);
	tkw__queue_advance(q, &call, 100, TKW__QUEUE_MASTER);
	must_be_sound(q);
}

static void replay(const uint8_t *data, size_t size)
{
	struct tkw__queue_config cfg = {
		.hooks = { get_memory, put_memory, NULL },
		.now_us = UINT64_C(1700000000000000),
		.small = 4,
	};
	struct tkw__queue *q;
	uint64_t empty;
	size_t used = 0;
	int err;

	if (tkw__queue_create(&q, &cfg) != 0)
		abort();
	empty = tkw__queue_digest(q);
	err = tkw__queue_replay(q, data, size, &used);
	must_be_sound(q);
	if ((err != 0 || used == 0) && tkw__queue_digest(q) != empty)
		abort();
	use(q, cfg.now_us);
	use(q, cfg.now_us + 1000000);
	tkw__queue_undo(q);
	must_be_sound(q);
	if (tkw__queue_digest(q) != empty)
		abort();
	tkw__queue_destroy(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		drive(data + 1, size - 1);
	else
		replay(data + 1, size - 1);
	return 0;
}
