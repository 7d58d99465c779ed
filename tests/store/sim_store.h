/* SPDX-License-Identifier: MIT */
/*
 * sim_store.h - a store (store/store.h) on a simulated disk in RAM.
 *
 * The disk outlives the stores that are opened on it. It decides everything by
 * a seed.
 *
 *   Disk     A disk is a row of sectors. A write goes to the cache, sector by
 *            sector. A sync makes what was written durable.
 *   Crash    If the process is killed, what was written stays. If the power
 *            fails, any subset of the sectors written since the last sync is
 *            forgotten. A sector is shorter than most records, so records are
 *            torn, too.
 *   Faults   A call fails by chance, or the n-th one does: -ENOSPC or -EBUSY,
 *            and nothing is appended; or -EIO, and then the batch is there or
 *            not, and all calls fail until the store is opened again.
 *   Format   Two slots of the base, written in turn, and then frames. A frame
 *            is a batch with a checksum. The store reads frames up to the first
 *            one that is not whole, and cuts the rest off.
 *
 * A crash is not an error that the queue sees: the process is gone. But the
 * queue's code has to return from its call. So the disk goes down: it tells the
 * test by a hook, and then every call fails with -EIO until sim_disk_restart().
 * What the queue does in between counts for nothing, and the test must throw it
 * away.
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct sim_disk;

/* When a fault comes. */
struct sim_when {
	uint32_t one_in; /* one of so many on average; 0: never by chance */
	uint64_t at;     /* the n-th from now on; 0: none */
};

/* What happened. */
struct sim_counts {
	uint64_t crashes;
	uint64_t crashes_in_batch; /* between the first write and the answer */
	uint64_t crashes_in_open;
	uint64_t crashes_in_compact;
	uint64_t power_losses; /* the other crashes are kills */
	uint64_t kept_batches; /* never answered with 0, and yet there */
	uint64_t torn_tails;   /* cut off by an open */
	uint64_t full;         /* -ENOSPC */
	uint64_t busy;         /* -EBUSY */
	uint64_t failed;       /* -EIO */
	uint64_t compactions;  /* bases that were set */
	uint64_t removed;      /* rows that were removed */
	uint64_t batches;
	uint64_t rows;
};

/* Called by the disk. Each may be NULL. */
struct sim_hooks {
	/* A batch is about to be written. */
	void (*appending)(const struct tkw__row *rows, size_t count, void *ctx);
	/* It was answered with 0 or -errno. Not called after a crash. */
	void (*appended)(int err, void *ctx);
	/* The disk goes down now. */
	void (*crashed)(void *ctx);
	void *ctx;
};

struct sim_faults {
	/* Counted in steps: each write, and before and after each sync. */
	struct sim_when crash;
	/* Counted in calls of append and compact. */
	struct sim_when full;
	struct sim_when error;
	/* Counted in calls of append: another program holds a lock. */
	struct sim_when busy;
};

/* Passed to open. */
struct sim_store_config {
	struct sim_disk *disk;
};

extern const struct tkw__store_ops sim_store;

struct sim_disk *sim_disk_create(uint64_t seed, const struct sim_hooks *hooks);
void sim_disk_destroy(struct sim_disk *d);

/* Sets the faults from now on. */
void sim_disk_set_faults(struct sim_disk *d, const struct sim_faults *f);

/* A crash between two calls. */
void sim_disk_crash(struct sim_disk *d);
bool sim_disk_is_down(const struct sim_disk *d);

/* After a crash: the disk loses what it loses, and works again. */
void sim_disk_restart(struct sim_disk *d);

/* The number of the last row that is on the disk, after an open. */
uint64_t sim_disk_last(const struct sim_disk *d);

/* Which rule of store.h the queue has broken, or what the disk itself has done
 * wrong; NULL if nothing. */
const char *sim_disk_wrong(const struct sim_disk *d);

const struct sim_counts *sim_disk_counts(const struct sim_disk *d);

#endif /* SIM_STORE_H */
