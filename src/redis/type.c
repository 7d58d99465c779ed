/* SPDX-License-Identifier: MIT */
/*
 * type.c - a queue as a data type of the server.
 *
 * In an RDB file, a queue is a list of strings, each a piece of a dump, and an
 * empty string at the end. The pieces are records (queue/record.h). They are
 * input: a RESTORE may bring anything, and the heart refuses what does not fit.
 *
 * There is no defrag callback. The items of a queue point at each other, so
 * they cannot be moved one by one.
 */
#include <stdlib.h>

#include "redis/module.h"
#include "redis/waiters.h"

enum {
	ENCODING = 1,
	/* A piece of a dump has so many items, and about so many bytes. */
	PIECE_ITEMS = 256,
	PIECE_BYTES = 1 << 20
};

struct rm_type *tkw__redis_type;

static void *hook_alloc(size_t bytes, void *ctx)
{
	(void)ctx;
	return tkw__rm.TryAlloc ? tkw__rm.TryAlloc(bytes)
				: tkw__rm.Alloc(bytes);
}

static void hook_free(void *mem, size_t bytes, void *ctx)
{
	(void)bytes;
	(void)ctx;
	tkw__rm.Free(mem);
}

struct tkw__planner *tkw__redis_planner(void)
{
	static struct tkw__planner planner;

	if (!planner.calendar.compile)
		tkw__planner_init(&planner, NULL);
	return &planner;
}

struct tkw__queue *tkw__redis_queue_create(void)
{
	static uint64_t seed[2];
	struct tkw__queue_config cfg = {
		.hooks = { .alloc = hook_alloc, .free = hook_free },
		.calendar = &tkw__redis_planner()->calendar,
		.now_us = tkw__redis_now_us()
	};
	struct tkw__queue *q;

	if (seed[0] == 0)
		tkw__rm.GetRandomBytes((unsigned char *)seed, sizeof(seed));
	cfg.seed[0] = seed[0];
	cfg.seed[1] = seed[1];
	return tkw__queue_create(&q, &cfg) == 0 ? q : NULL;
}

/* How many items or plans a piece of a dump has. */
static uint32_t piece_items(const struct tkw__queue *q)
{
	uint64_t items;
	uint64_t mean; /* bytes of one of them */

	tkw__queue_get_size(q, &items, &mean);
	mean = mean / (items + tkw__queue_count_plans(q) + 1) + 1;
	return (uint32_t)(PIECE_BYTES / (mean + PIECE_BYTES / PIECE_ITEMS)) + 1;
}

/* Writes the next piece of a dump. Returns 1 if there are more, 0, or -ENOMEM.
 */
static int next_piece(struct tkw__queue *q, uint64_t *cursor,
		      struct tkw__queue_log *log)
{
	int err;

	tkw__queue_log_clear(log);
	err = tkw__queue_dump(q, cursor, piece_items(q), log);
	return err ? err : *cursor != 0;
}

/* The same for a save. A server cannot go on without memory then, and nothing
 * tells it that we cannot. */
static bool next_saved(struct tkw__queue *q, uint64_t *cursor,
		       struct tkw__queue_log *log)
{
	int more = next_piece(q, cursor, log);

	if (more < 0) {
		tkw__rm.Log(NULL, "warning", "no memory to save a queue");
		abort();
	}
	return more;
}

static void rdb_save(struct rm_io *io, void *value)
{
	struct tkw__queue_log log = { 0 };
	uint64_t cursor = 0;
	bool more;

	do {
		more = next_saved(value, &cursor, &log);
		tkw__rm.SaveStringBuffer(io, (char *)log.bytes, log.len);
	} while (more);
	tkw__rm.SaveStringBuffer(io, "", 0);
	tkw__queue_log_fini(value, &log);
}

/* Reads the pieces of a queue. Returns NULL, or what is wrong. */
static const char *load_pieces(struct rm_io *io, struct tkw__queue *q)
{
	for (;;) {
		size_t len = 0;
		size_t used = 0;
		char *bytes = tkw__rm.LoadStringBuffer(io, &len);
		int err;

		if (!bytes || tkw__rm.IsIOError(io)) {
			if (bytes)
				tkw__rm.Free(bytes);
			return "a queue is cut off";
		}
		err = tkw__queue_load(q, bytes, len, &used);
		tkw__rm.Free(bytes);
		if (err)
			return "the records of a queue do not fit each other";
		if (used != len)
			return "a record of a queue is cut off";
		if (len == 0)
			return tkw__queue_is_whole(q) ? NULL
						      : "a queue has no end";
	}
}

static void *rdb_load(struct rm_io *io, int version)
{
	struct tkw__queue *q;
	const char *wrong;

	if (version != ENCODING) {
		tkw__rm.LogIOError(io, "warning",
				   "a queue has the format %d, which this "
				   "version of tickwheel does not know",
				   version);
		return NULL;
	}
	q = tkw__redis_queue_create();
	wrong = q ? load_pieces(io, q) : "no memory for a queue";
	if (!wrong)
		return q;
	tkw__rm.LogIOError(io, "warning", "%s", wrong);
	tkw__queue_destroy(q);
	return NULL;
}

static void aof_rewrite(struct rm_io *io, struct rm_string *key, void *value)
{
	struct tkw__queue_log log = { 0 };
	uint64_t cursor = 0;
	bool more;

	do {
		more = next_saved(value, &cursor, &log);
		tkw__rm.EmitAOF(io, "TKW.APPLY", "scb", key, "SNAPSHOT",
				(char *)log.bytes, log.len);
	} while (more);
	tkw__queue_log_fini(value, &log);
}

/* Copies all items. Returns false if there is no memory. */
static bool copy_items(struct tkw__queue *from, struct tkw__queue *to)
{
	struct tkw__queue_log log = { 0 };
	uint64_t cursor = 0;
	int more;

	do {
		size_t used;

		more = next_piece(from, &cursor, &log);
		if (more >= 0 &&
		    tkw__queue_load(to, log.bytes, log.len, &used) != 0)
			more = -1;
	} while (more > 0);
	tkw__queue_log_fini(from, &log);
	return more == 0;
}

static void *copy(struct rm_string *from, struct rm_string *to,
		  const void *value)
{
	struct tkw__queue *out = tkw__redis_queue_create();

	(void)from;
	(void)to;
	/* A dump changes nothing but a counter of steps. */
	if (out && !copy_items((struct tkw__queue *)(uintptr_t)value, out)) {
		tkw__queue_destroy(out);
		out = NULL;
	}
	return out;
}

static size_t mem_usage(const void *value)
{
	return (size_t)tkw__queue_allocated(value);
}

/* How much work it is to free a queue. With a lot, the server uses a thread, if
 * it may. */
static size_t free_effort(struct rm_string *key, const void *value)
{
	uint64_t items;
	uint64_t bytes;

	(void)key;
	tkw__queue_get_size(value, &items, &bytes);
	return (size_t)(items + tkw__queue_count_plans(value)) + 1;
}

static void digest(struct rm_digest *d, void *value)
{
	tkw__rm.DigestAddLongLong(d, (long long)tkw__queue_digest(value));
	tkw__rm.DigestEndSequence(d);
}

/* A queue leaves its key: it is deleted, renamed, or overwritten by something
 * else. */
static void unlink_value(struct rm_key_info *info, const void *value)
{
	(void)value;
	tkw__waiters_gone(tkw__rm.GetDbIdFromOptCtx(info),
			  tkw__rm.GetKeyNameFromOptCtx(info));
}

static void free_value(void *value)
{
	tkw__redis_bury(value);
}

int tkw__redis_type_create(struct rm_ctx *ctx)
{
	static struct rm_type_methods methods = { .version = RM_TYPE_METHODS,
						  .rdb_load = rdb_load,
						  .rdb_save = rdb_save,
						  .aof_rewrite = aof_rewrite,
						  .mem_usage = mem_usage,
						  .digest = digest,
						  .free = free_value,
						  .free_effort = free_effort,
						  .unlink2 = unlink_value,
						  .copy = copy };

	tkw__redis_type =
		tkw__rm.CreateDataType(ctx, "tickwheel", ENCODING, &methods);
	return tkw__redis_type ? RM_OK : RM_ERR;
}
