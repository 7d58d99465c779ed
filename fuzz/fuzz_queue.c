/* SPDX-License-Identifier: MIT */
/*
 * fuzz_queue.c - libFuzzer's target: bytes decide what is done to a queue.
 *
 * The first byte decides between three: the bytes take the place of the
 * generator in the model test, and what differs from the oracle aborts; or the
 * bytes are records, to be replayed or to be loaded as a snapshot, and the
 * queue must refuse them, or apply them and be sound.
 */
#include "fuzz_target.h"

#include <errno.h>
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

static const uint64_t start_us = UINT64_C(1700000000000000);

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

static void must_be_sound(struct tkw__queue *q)
{
	const char *wrong = tkw__queue_check(q);

	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
}

/* A command may be refused, but what it decides must fit. */
static void must_fit(struct tkw__queue *q, int answer)
{
	if (answer == -EBADMSG) {
		fprintf(stderr, "a command does not fit its queue\n");
		abort();
	}
	must_be_sound(q);
}

/* Commands on what the records have made. */
static void use(struct tkw__queue *q, uint64_t now_us)
{
	struct tkw__queue_call call = { now_us, NULL, false };
	struct tkw__queue_put p = { .when = { false, 10 } };
	struct tkw__queue_taken t[8];
	uint64_t id;

	must_fit(q, tkw__queue_put(q, &call, &p, 1, &id));
	must_fit(q, tkw__queue_take(q, &call, 8, 1000, t));
	must_fit(q, tkw__queue_advance(q, &call, 100, TKW__QUEUE_MASTER));
}

static struct tkw__queue *make_queue(uint64_t now_us)
{
	struct tkw__queue_config cfg = {
		.hooks = { get_memory, put_memory, NULL },
		.now_us = now_us,
		.small = 4,
	};
	struct tkw__queue *q;

	if (tkw__queue_create(&q, &cfg) != 0)
		abort();
	return q;
}

/* Uses a queue, and undoes it all: then it must be as before. */
static void use_and_undo(struct tkw__queue *q, uint64_t digest)
{
	use(q, start_us);
	use(q, start_us + 1000000);
	tkw__queue_undo(q);
	must_be_sound(q);
	if (tkw__queue_digest(q) != digest)
		abort();
}

static void replay(const uint8_t *data, size_t size)
{
	struct tkw__queue *q = make_queue(start_us);
	uint64_t empty = tkw__queue_digest(q);
	size_t used = 0;
	int err = tkw__queue_replay(q, data, size, &used);

	must_be_sound(q);
	if ((err != 0 || used == 0) && tkw__queue_digest(q) != empty)
		abort();
	use_and_undo(q, empty);
	tkw__queue_destroy(q);
}

static void load(const uint8_t *data, size_t size)
{
	struct tkw__queue *q = make_queue(start_us);
	size_t used = 0;
	int err = tkw__queue_load(q, data, size, &used);

	must_be_sound(q);
	if (err == 0 && tkw__queue_is_whole(q)) {
		tkw__queue_commit(q);
		use_and_undo(q, tkw__queue_digest(q));
	}
	tkw__queue_destroy(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		drive(data + 1, size - 1);
	else if (data[0] % 4 == 1)
		replay(data + 1, size - 1);
	else
		load(data + 1, size - 1);
	return 0;
}
