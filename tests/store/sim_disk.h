/* SPDX-License-Identifier: MIT */
/* sim_disk.h - the sectors below sim_store.c; not for others. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "sim_store.h"

enum {
	SIM_SECTOR = 64
};

/* What the store is doing, for the counts. */
enum sim_phase {
	SIM_IDLE,
	SIM_IN_BATCH,
	SIM_IN_OPEN,
	SIM_IN_COMPACT
};

/* If a sector of the cache and of the platter differ. */
enum sim_dirt {
	SIM_CLEAN,
	SIM_DIRTY,
	SIM_LOST /* a sync has failed: no later sync writes it */
};

struct sim_disk {
	uint64_t state; /* of the generator */
	struct sim_hooks hooks;
	struct sim_faults faults;
	struct sim_counts counts;
	enum sim_phase phase;
	bool down;
	const char *wrong;

	uint8_t *cache;   /* what a read sees */
	uint8_t *platter; /* what a loss of power leaves */
	uint8_t *dirty;   /* for each sector: an enum sim_dirt */
	size_t size;      /* in bytes, whole sectors */
	size_t low, high; /* all that are not clean are within these */

	/* The truth, by which the store itself is checked: the last row that
	 * was answered or read, and that of a batch whose fate is open. */
	uint64_t last;
	uint64_t trying;
};

uint32_t sim_disk_below(struct sim_disk *d, uint32_t n);
/* True if a fault comes now. */
bool sim_disk_hit(struct sim_disk *d, struct sim_when *when);

/* Both return 0, or -EIO if the disk is down or goes down. A write that goes
 * down with the disk may have written a part. */
int sim_disk_write(struct sim_disk *d, size_t at, const void *bytes,
		   size_t len);
int sim_disk_sync(struct sim_disk *d);

/* Any subset of what was not synced is forgotten. */
void sim_disk_forget(struct sim_disk *d);

/* A sync fails as it does on Linux: any subset of the sectors is written, but
 * all count as written from then on, and can be read until the power fails. */
void sim_disk_fail_sync(struct sim_disk *d);

#endif /* SIM_DISK_H */
