/* SPDX-License-Identifier: MIT */
/*
 * sim_disk.c - sectors, a cache, and what a crash leaves of it.
 *
 * The cache and the platter are two copies of the disk. A write changes the
 * cache and marks its sectors, and a sync copies the marked ones. A loss of
 * power takes each marked sector from the one or from the other. After a sync
 * that has failed, a sector can be in the cache only, without a mark.
 */
#include "sim_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"

uint32_t sim_disk_below(struct sim_disk *d, uint32_t n)
{
	return (uint32_t)((choice_next(&d->state) >> 32) * n >> 32);
}

bool sim_disk_hit(struct sim_disk *d, struct sim_when *when)
{
	if (when->at && --when->at == 0)
		return true;
	return when->one_in && sim_disk_below(d, when->one_in) == 0;
}

static void nothing_dirty(struct sim_disk *d)
{
	d->low = SIZE_MAX;
	d->high = 0;
}

struct sim_disk *sim_disk_create(uint64_t seed, const struct sim_hooks *hooks)
{
	struct sim_disk *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->state = seed;
	if (hooks)
		d->hooks = *hooks;
	nothing_dirty(d);
	return d;
}

void sim_disk_destroy(struct sim_disk *d)
{
	if (!d)
		return;
	free(d->cache);
	free(d->platter);
	free(d->dirty);
	free(d);
}

void sim_disk_set_faults(struct sim_disk *d, const struct sim_faults *f)
{
	d->faults = *f;
}

static void go_down(struct sim_disk *d)
{
	d->down = true;
	d->counts.crashes++;
	d->counts.crashes_in_batch += d->phase == SIM_IN_BATCH;
	d->counts.crashes_in_open += d->phase == SIM_IN_OPEN;
	d->counts.crashes_in_compact += d->phase == SIM_IN_COMPACT;
	d->phase = SIM_IDLE;
	if (d->hooks.crashed)
		d->hooks.crashed(d->hooks.ctx);
}

void sim_disk_crash(struct sim_disk *d)
{
	if (!d->down)
		go_down(d);
}

bool sim_disk_is_down(const struct sim_disk *d)
{
	return d->down;
}

static uint8_t *grow(uint8_t *mem, size_t from, size_t to)
{
	mem = realloc(mem, to);
	if (!mem)
		abort();
	memset(mem + from, 0, to - from);
	return mem;
}

static void make_room(struct sim_disk *d, size_t end)
{
	size_t size = d->size ? d->size : (size_t)64 * SIM_SECTOR;

	while (size < end)
		size *= 2;
	if (size == d->size)
		return;
	d->cache = grow(d->cache, d->size, size);
	d->platter = grow(d->platter, d->size, size);
	d->dirty = grow(d->dirty, d->size / SIM_SECTOR, size / SIM_SECTOR);
	d->size = size;
}

static void mark(struct sim_disk *d, size_t at, size_t len)
{
	size_t first = at / SIM_SECTOR;
	size_t end = (at + len + SIM_SECTOR - 1) / SIM_SECTOR;

	memset(d->dirty + first, SIM_DIRTY, end - first);
	if (first < d->low)
		d->low = first;
	if (end > d->high)
		d->high = end;
}

int sim_disk_write(struct sim_disk *d, size_t at, const void *bytes, size_t len)
{
	bool crash;

	if (d->down)
		return -EIO;
	make_room(d, at + len);
	crash = sim_disk_hit(d, &d->faults.crash);
	if (crash)
		len = sim_disk_below(d, (uint32_t)len + 1);
	if (len) {
		memcpy(d->cache + at, bytes, len);
		mark(d, at, len);
	}
	if (crash)
		go_down(d);
	return crash ? -EIO : 0;
}

static void copy_sector(uint8_t *to, const uint8_t *from, size_t sector,
			size_t len)
{
	memcpy(to + sector * SIM_SECTOR, from + sector * SIM_SECTOR, len);
}

int sim_disk_sync(struct sim_disk *d)
{
	bool lost = false;
	size_t i;

	if (!d->down && sim_disk_hit(d, &d->faults.crash))
		go_down(d);
	if (d->down)
		return -EIO;
	for (i = d->low; i < d->high; i++) {
		if (d->dirty[i] == SIM_DIRTY) {
			copy_sector(d->platter, d->cache, i, SIM_SECTOR);
			d->dirty[i] = SIM_CLEAN;
		}
		lost = lost || d->dirty[i] == SIM_LOST;
	}
	if (!lost)
		nothing_dirty(d);
	/* All is on the disk, but nobody has been told. */
	if (sim_disk_hit(d, &d->faults.crash))
		go_down(d);
	return d->down ? -EIO : 0;
}

/* A sector reaches the platter, or does not, or a part of it does. */
static void settle_sector(struct sim_disk *d, size_t i, uint32_t chance)
{
	uint32_t lot = sim_disk_below(d, 8);

	if (chance < 8 && sim_disk_below(d, 64) == 0)
		copy_sector(d->platter, d->cache, i,
			    sim_disk_below(d, SIM_SECTOR));
	else if (lot < chance)
		copy_sector(d->platter, d->cache, i, SIM_SECTOR);
	copy_sector(d->cache, d->platter, i, SIM_SECTOR);
}

void sim_disk_fail_sync(struct sim_disk *d)
{
	uint32_t chance = sim_disk_below(d, 9);
	size_t i;

	for (i = d->low; i < d->high; i++) {
		if (d->dirty[i] != SIM_DIRTY)
			continue;
		d->dirty[i] = SIM_LOST;
		if (sim_disk_below(d, 8) >= chance)
			continue;
		copy_sector(d->platter, d->cache, i, SIM_SECTOR);
		d->dirty[i] = SIM_CLEAN;
	}
}

void sim_disk_forget(struct sim_disk *d)
{
	/* 0: all are lost; 8: none is. */
	uint32_t chance = sim_disk_below(d, 9);
	size_t i;

	for (i = d->low; i < d->high; i++) {
		if (d->dirty[i] == SIM_DIRTY)
			settle_sector(d, i, chance);
		else if (d->dirty[i] == SIM_LOST)
			copy_sector(d->cache, d->platter, i, SIM_SECTOR);
		d->dirty[i] = SIM_CLEAN;
	}
	nothing_dirty(d);
}

void sim_disk_restart(struct sim_disk *d)
{
	if (sim_disk_below(d, 4)) {
		sim_disk_forget(d);
		d->counts.power_losses++;
	}
	d->down = false;
}

uint64_t sim_disk_last(const struct sim_disk *d)
{
	return d->last;
}

const char *sim_disk_wrong(const struct sim_disk *d)
{
	return d->wrong;
}

const struct sim_counts *sim_disk_counts(const struct sim_disk *d)
{
	return &d->counts;
}
