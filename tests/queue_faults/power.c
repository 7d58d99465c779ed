/* SPDX-License-Identifier: MIT */
/* power.c - see power.h. */
#include "power.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SECTOR = 512
};

static const char *const suffix[] = {
	[SHIM_DATABASE] = "",
	[SHIM_LOG] = "-wal",
	[SHIM_JOURNAL] = "-journal",
};

/* --- in the process that writes ------------------------------------------- */

static void forget(struct power *p, enum shim_kind kind)
{
	uint32_t count = p->count;
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		if (p->write[i].kind == kind)
			p->write[i].kind = SHIM_OTHER;
		any = any || p->write[i].kind != SHIM_OTHER;
	}
	if (!any)
		power_reset(p);
}

static void sync_all(struct power *p, const struct shim_news *news)
{
	(void)news->file->pMethods->xSync(news->file, SQLITE_SYNC_NORMAL);
	forget(p, news->kind);
}

static void note_write(struct power *p, const struct shim_news *news)
{
	struct power_write *w;
	sqlite3_int64 size = 0;

	if (p->count == POWER_WRITES || p->used + news->len > POWER_BYTES)
		sync_all(p, news);
	/* Only if another file has more than there is room for. */
	if (p->count == POWER_WRITES || p->used + news->len > POWER_BYTES)
		abort();
	w = &p->write[p->count];
	(void)news->file->pMethods->xFileSize(news->file, &size);
	*w = (struct power_write){ .kind = news->kind,
				   .at = news->at,
				   .len = news->len,
				   .old_size = size,
				   .bytes = p->used };
	w->old_len = size - news->at;
	if (w->old_len < 0)
		w->old_len = 0;
	if (w->old_len > w->len)
		w->old_len = w->len;
	if (w->old_len > 0)
		(void)news->file->pMethods->xRead(news->file,
						  p->bytes + w->bytes,
						  (int)w->old_len, w->at);
	p->used += w->old_len;
	__atomic_store_n(&p->count, p->count + 1, __ATOMIC_RELEASE);
}

void power_note(struct power *p, const struct shim_news *news)
{
	if (news->kind == SHIM_OTHER)
		return;
	if (news->event == SHIM_BEFORE_WRITE)
		note_write(p, news);
	else if (news->event == SHIM_AFTER_SYNC)
		forget(p, news->kind);
	else if (news->event == SHIM_BEFORE_TRUNCATE)
		sync_all(p, news);
}

void power_reset(struct power *p)
{
	__atomic_store_n(&p->count, 0, __ATOMIC_RELEASE);
	p->used = 0;
}

/* --- when it is dead ------------------------------------------------------ */

static bool is_lost(const struct power_write *w, int64_t at, bool some,
		    uint64_t seed)
{
	uint64_t x = seed + (uint64_t)w->kind * 31 + (uint64_t)(at / SECTOR);

	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 32) * UINT64_C(0x94d049bb133111eb);
	return !some || (x >> 40) % 2 == 0;
}

/* The bytes of one sector; those that were not there are zero. */
static void put_back(const struct power *p, const struct power_write *w, int fd,
		     int64_t from, int64_t to)
{
	uint8_t old[SECTOR] = { 0 };
	int64_t len = w->old_len - (from - w->at);

	if (len > to - from)
		len = to - from;
	if (len > 0)
		memcpy(old, p->bytes + w->bytes + (from - w->at), (size_t)len);
	if (pwrite(fd, old, (size_t)(to - from), from) != to - from)
		abort();
}

static void take_back(const struct power *p, const struct power_write *w,
		      int fd, bool some, uint64_t seed)
{
	int64_t end = w->at + w->len;

	for (int64_t at = w->at; at < end;) {
		int64_t to = (at / SECTOR + 1) * SECTOR;

		if (to > end)
			to = end;
		if (is_lost(w, at, some, seed))
			put_back(p, w, fd, at, to);
		at = to;
	}
	if (!some && ftruncate(fd, w->old_size) != 0)
		abort();
}

uint32_t power_cut(const struct power *p, const char *path, bool some,
		   uint64_t seed)
{
	uint32_t lost = 0;

	for (uint32_t i = p->count; i-- > 0;) {
		const struct power_write *w = &p->write[i];
		char name[256];
		int fd;

		if (w->kind == SHIM_OTHER)
			continue;
		snprintf(name, sizeof(name), "%s%s", path, suffix[w->kind]);
		fd = open(name, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue; /* it was deleted */
		take_back(p, w, fd, some, seed);
		close(fd);
		lost++;
	}
	return lost;
}
