/* SPDX-License-Identifier: MIT */
/*
 * power.h - cuts the power of a process that was killed.
 *
 * After kill -9 the system still has all that the process wrote. After a loss
 * of power, what was not synced may be lost. So a watcher of SQLite's writes
 * (shim_vfs.h) notes, in memory that outlives the process, what each write
 * overwrites, and forgets it when the file is synced. power_cut() puts this
 * back: all of it, or in random sectors only.
 *
 * A truncation counts as durable at once, and syncs the file.
 */
#ifndef TKW_TESTS_POWER_H
#define TKW_TESTS_POWER_H

#include <stdbool.h>
#include <stdint.h>

#include "shim_vfs.h"

enum {
	POWER_WRITES = 1 << 16,
	POWER_BYTES = 32 << 20
};

/* One write that is not synced. */
struct power_write {
	enum shim_kind kind; /* SHIM_OTHER: it is synced now */
	int64_t at;
	int64_t len;
	int64_t old_len;  /* so much was there before */
	int64_t old_size; /* of the file */
	int64_t bytes;    /* where its old bytes are */
};

/* In a shared mapping. */
struct power {
	uint32_t count; /* atomic */
	int64_t used;
	struct power_write write[POWER_WRITES];
	uint8_t bytes[POWER_BYTES];
};

/* Called with all news of the shim. */
void power_note(struct power *p, const struct shim_news *news);

/* Nothing is unsynced: a new process begins. */
void power_reset(struct power *p);

/* Returns how many writes were taken back. If some is true, each sector is
 * kept or lost by the seed. */
uint32_t power_cut(const struct power *p, const char *path, bool some,
		   uint64_t seed);

#endif /* TKW_TESTS_POWER_H */
