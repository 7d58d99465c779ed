/* SPDX-License-Identifier: MIT */
/*
 * wal.c - walks through FILE-wal.
 *
 * The log, by SQLite's description of its file format (all numbers big endian):
 *
 *   header  32 bytes: magic, version, page size, number of the checkpoint, two
 *           salts, two checksums over the first 24 bytes
 *   frames  24 bytes: page number, size of the file in pages if this frame ends
 *           a transaction, else 0, two salts, two checksums; then the page
 *
 * The checksums of a frame continue those of the frame before. When the log is
 * started again from its beginning, the salts change. So frames with other
 * salts are left from before.
 *
 * Behind the first bad frame, what is left of the transaction that was being
 * written may be there in any pieces. What cannot be there is a frame of yet
 * another transaction: a later one is written only when the one before is
 * synced, and what is left of an earlier one that was not finished is removed
 * before the next one (tkw__wal_mend(), or a log with new salts). Two signs
 * tell where a transaction ends:
 *
 *   1. the mark in the header of its last frame;
 *   2. a page number that is not above the one before.
 *
 * SQLite writes the pages of a transaction in the order of their numbers, and
 * the next transaction writes the last leaf again, or page 1.
 *
 * The second sign counts even if the mark itself was damaged. A disk writes
 * sectors of at least 512 bytes. If a header lies in two of them, one may be
 * old. Its signs count only if its checksum is right.
 */
#define _GNU_SOURCE
#include "store/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/beside.h"

#define MAGIC UINT32_C(0x377f0682) /* the lowest bit: big endian sums */
#define VERSION 3007000

enum {
	HEADER = 32,
	FRAME = 24,
	SECTOR = 512,
	MIN_PAGE = 512,
	MAX_PAGE = 65536,
	/* Offsets in a header, and then in a frame. */
	PAGE_SIZE = 8,
	HEADER_SALT = 16,
	HEADER_SUM = 24,
	COMMIT = 4,
	SALT = 8,
	SUM = 16,
	/* In the file. */
	FILE_PAGE_SIZE = 16
};

struct sum {
	uint32_t a, b;
};

struct wal {
	int fd;
	int file; /* the file itself */
	bool big; /* the words of sums are big endian */
	uint32_t page_size;
	uint32_t salt[2];
	uint64_t frames;
	uint64_t pages; /* of the file */
	uint8_t header[HEADER];
	uint8_t *frame; /* the one that was read last */
};

static uint32_t get_big(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static uint32_t get_word(const struct wal *w, const uint8_t *at)
{
	if (w->big)
		return get_big(at);
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[1] << 8 | at[0];
}

static struct sum sum_of(const struct wal *w, struct sum s, const uint8_t *at,
			 size_t len)
{
	for (size_t i = 0; i < len; i += 8) {
		s.a += get_word(w, at + i) + s.b;
		s.b += get_word(w, at + i + 4) + s.a;
	}
	return s;
}

static bool is_sum(struct sum s, const uint8_t *at)
{
	return s.a == get_big(at) && s.b == get_big(at + 4);
}

static struct sum stored_sum(const uint8_t *at)
{
	return (struct sum){ get_big(at), get_big(at + 4) };
}

/* Reads len bytes or fails. */
static bool read_at(int fd, uint8_t *to, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static uint64_t frame_at(const struct wal *w, uint64_t i)
{
	return HEADER + i * (FRAME + (uint64_t)w->page_size);
}

static bool load(const struct wal *w, uint64_t i)
{
	return read_at(w->fd, w->frame, FRAME + (size_t)w->page_size,
		       frame_at(w, i));
}

/* The sum of the frame that was loaded, if `before` was that of the one
 * before. */
static struct sum frame_sum(const struct wal *w, struct sum before)
{
	struct sum s = sum_of(w, before, w->frame, SALT);

	return sum_of(w, s, w->frame + FRAME, w->page_size);
}

static bool same_salts(const struct wal *w)
{
	return get_big(w->frame + SALT) == w->salt[0] &&
	       get_big(w->frame + SALT + 4) == w->salt[1];
}

/* Is it a frame of this round, even if one of its salts was damaged? No salt of
 * another round is the same. */
static bool is_current(const struct wal *w)
{
	return get_big(w->frame + SALT) == w->salt[0] ||
	       get_big(w->frame + SALT + 4) == w->salt[1];
}

static bool is_page_size(uint32_t size)
{
	return size >= MIN_PAGE && size <= MAX_PAGE && (size & (size - 1)) == 0;
}

static bool is_header_good(struct wal *w)
{
	uint32_t magic = get_big(w->header);

	w->big = magic & 1;
	w->page_size = get_big(w->header + PAGE_SIZE);
	w->salt[0] = get_big(w->header + HEADER_SALT);
	w->salt[1] = get_big(w->header + HEADER_SALT + 4);
	return (magic & ~UINT32_C(1)) == MAGIC &&
	       get_big(w->header + 4) == VERSION &&
	       is_page_size(w->page_size) &&
	       is_sum(sum_of(w, (struct sum){ 0, 0 }, w->header, HEADER_SUM),
		      w->header + HEADER_SUM);
}

/* --- behind the first bad frame ------------------------------------------- */

struct trail {
	uint32_t page; /* the last one of this transaction; 0: none */
	struct sum sum;
	bool has_sum; /* of the frame before */
	bool ended;   /* a transaction has ended */
};

/* Looks at frame i, which was loaded. Returns true if it belongs to a later
 * transaction than the one that was being written. */
static bool is_later(const struct wal *w, uint64_t i, struct trail *t)
{
	bool split = frame_at(w, i) % SECTOR > SECTOR - FRAME;
	bool good;
	uint32_t page = get_big(w->frame);

	if (!is_current(w)) {
		t->has_sum = false;
		return false;
	}
	good = t->has_sum && is_sum(frame_sum(w, t->sum), w->frame + SUM);
	t->sum = stored_sum(w->frame + SUM);
	t->has_sum = true;
	if (t->ended)
		return true;
	if (split && !good)
		return false;
	if (page <= t->page)
		return true;
	t->page = page;
	t->ended = get_big(w->frame + COMMIT) != 0;
	return false;
}

static bool is_torn(const struct wal *w, uint64_t bad, struct trail t)
{
	for (uint64_t i = bad; i < w->frames; i++) {
		if (!load(w, i))
			break;
		if (is_later(w, i, &t))
			return false;
	}
	return true;
}

/* Walks to the first bad frame. */
static bool walk(const struct wal *w, uint64_t *bad)
{
	struct trail t = { .sum = stored_sum(w->header + HEADER_SUM),
			   .has_sum = true };
	uint64_t i;

	for (i = 0; i < w->frames && load(w, i); i++) {
		struct sum s = frame_sum(w, t.sum);

		if (!same_salts(w) || !is_sum(s, w->frame + SUM))
			break;
		t.sum = s;
		t.page = get_big(w->frame + COMMIT) ? 0 : get_big(w->frame);
	}
	*bad = i;
	return is_torn(w, i, t);
}

/* --- a bad header --------------------------------------------------------- */

/* How many frames are of one round, up to the last end of a transaction. Their
 * sums cannot be checked: the header tells how. */
static uint64_t count_frames(const struct wal *w)
{
	uint8_t salts[8];
	uint64_t ended = 0;

	for (uint64_t i = 0; i < w->frames && load(w, i); i++) {
		if (i == 0)
			memcpy(salts, w->frame + SALT, sizeof(salts));
		if (memcmp(salts, w->frame + SALT, sizeof(salts)) != 0)
			break;
		if (get_big(w->frame + COMMIT) != 0)
			ended = i + 1;
	}
	return ended;
}

/* The newest frame of each page, from 1. What the file does not have is noted
 * at page 0. */
static uint32_t *newest_frames(const struct wal *w)
{
	uint32_t *newest = calloc((size_t)w->pages + 1, sizeof(*newest));
	uint64_t count = count_frames(w);

	for (uint64_t i = 0; newest && i < count && load(w, i); i++) {
		uint32_t page = get_big(w->frame);

		newest[page <= w->pages ? page : 0] = (uint32_t)i + 1;
	}
	return newest;
}

static bool is_in_file(const struct wal *w, uint32_t page, uint8_t *copy)
{
	return read_at(w->file, copy, w->page_size,
		       (uint64_t)(page - 1) * w->page_size) &&
	       memcmp(copy, w->frame + FRAME, w->page_size) == 0;
}

/*
 * With a bad header, SQLite forgets the whole log. The header is written anew
 * when all frames have been copied to the file. So a header can be torn, and
 * then nothing is lost; or it is damaged, and then the file lacks something.
 *
 * Returns 1 if the file has all pages of the log, 0 if not, or -errno.
 */
static int is_copied(const struct wal *w)
{
	uint32_t *newest = newest_frames(w);
	uint8_t *copy = malloc(w->page_size);
	int all = newest && copy ? newest[0] == 0 : -ENOMEM;

	for (uint64_t page = 1; all == 1 && page <= w->pages; page++) {
		if (newest[page] != 0 && (!load(w, newest[page] - 1) ||
					  !is_in_file(w, (uint32_t)page, copy)))
			all = 0;
	}
	free(copy);
	free(newest);
	return all;
}

/* The page size of the file, in case that the header of the log is bad. */
static int read_page_size(struct wal *w)
{
	uint8_t two[2];

	if (!read_at(w->file, two, sizeof(two), FILE_PAGE_SIZE))
		return -EBADMSG;
	w->page_size = (uint32_t)two[0] << 8 | two[1];
	if (w->page_size == 1)
		w->page_size = MAX_PAGE;
	return is_page_size(w->page_size) ? 0 : -EBADMSG;
}

/* --- the check ------------------------------------------------------------ */

static int check_frames(struct wal *w, uint64_t size, char *why,
			size_t why_size)
{
	bool good = is_header_good(w);
	uint64_t bad = 0;
	int err = good ? 0 : read_page_size(w);

	if (err) {
		snprintf(why, why_size, "the file and its log are damaged");
		return err;
	}
	w->frame = malloc(FRAME + (size_t)w->page_size);
	if (!w->frame)
		return -ENOMEM;
	w->frames = (size - HEADER) / (FRAME + (uint64_t)w->page_size);
	w->pages /= w->page_size;
	if (good) {
		err = walk(w, &bad) ? 0 : -EBADMSG;
	} else if (w->frames > 0) {
		int copied = is_copied(w);

		err = copied < 0 ? copied : copied ? 0 : -EBADMSG;
	}
	free(w->frame);
	if (err == -EBADMSG)
		snprintf(why, why_size, "the log is damaged in frame %llu",
			 (unsigned long long)bad + 1);
	return err;
}

static int check_files(struct wal *w, char *why, size_t why_size)
{
	struct stat log;
	struct stat file = { 0 };

	if (fstat(w->fd, &log) != 0 ||
	    (w->file >= 0 && fstat(w->file, &file) != 0))
		return -errno;
	/* The log of an empty file would be deleted. We make the file before
	 * its log, so somebody has emptied it. */
	if (log.st_size > 0 && file.st_size == 0) {
		snprintf(why, why_size, "the file is empty, but has a log");
		return -EBADMSG;
	}
	w->pages = (uint64_t)file.st_size;
	if (log.st_size < HEADER || !read_at(w->fd, w->header, HEADER, 0))
		return 0;
	return check_frames(w, (uint64_t)log.st_size, why, why_size);
}

/* Opens the log. Returns 0 and no descriptor if there is none. */
static int open_log(struct wal *w, const char *path, int flags)
{
	char *name = tkw__beside(path, "-wal");
	int err = 0;

	if (!name)
		return -ENOMEM;
	w->fd = open(name, flags | O_CLOEXEC);
	if (w->fd < 0 && errno != ENOENT)
		err = -errno;
	free(name);
	return err;
}

int tkw__wal_check(const char *path, char *why, size_t why_size)
{
	struct wal w = { .fd = -1, .file = -1 };
	int err = open_log(&w, path, O_RDONLY);

	if (w.fd < 0)
		return err;
	w.file = open(path, O_RDONLY | O_CLOEXEC);
	if (w.file < 0 && errno != ENOENT)
		err = -errno;
	else
		err = check_files(&w, why, why_size);
	if (w.file >= 0)
		close(w.file);
	close(w.fd);
	return err;
}

/* --- mending -------------------------------------------------------------- */

static int write_at(int fd, const uint8_t *from, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* How many frames there are up to the end of the last whole transaction. */
static uint64_t count_whole(const struct wal *w)
{
	struct sum s = stored_sum(w->header + HEADER_SUM);
	uint64_t whole = 0;

	for (uint64_t i = 0; i < w->frames && load(w, i); i++) {
		s = frame_sum(w, s);
		if (!same_salts(w) || !is_sum(s, w->frame + SUM))
			break;
		if (get_big(w->frame + COMMIT) != 0)
			whole = i + 1;
	}
	return whole;
}

static int write_again(const struct wal *w, uint64_t count)
{
	int err = write_at(w->fd, w->header, HEADER, 0);

	for (uint64_t i = 0; !err && i < count; i++)
		err = load(w, i) ? write_at(w->fd, w->frame,
					    FRAME + (size_t)w->page_size,
					    frame_at(w, i))
				 : -EIO;
	return err;
}

static int cut(const struct wal *w, uint64_t size)
{
	while (ftruncate(w->fd, (off_t)size) != 0) {
		if (errno != EINTR)
			return -errno;
	}
	return fdatasync(w->fd) == 0 ? 0 : -EIO;
}

static int mend(struct wal *w, uint64_t used, bool again)
{
	struct stat log;
	uint64_t whole;
	int err = 0;

	if (fstat(w->fd, &log) != 0)
		return -errno;
	/* With a bad header, SQLite uses nothing of it. */
	if (log.st_size < HEADER || !read_at(w->fd, w->header, HEADER, 0) ||
	    !is_header_good(w))
		return cut(w, 0);
	w->frames = ((uint64_t)log.st_size - HEADER) /
		    (FRAME + (uint64_t)w->page_size);
	w->frame = malloc(FRAME + (size_t)w->page_size);
	if (!w->frame)
		return -ENOMEM;
	whole = count_whole(w);
	if (whole > used)
		whole = used;
	if (again)
		err = write_again(w, whole);
	if (!err)
		err = cut(w, frame_at(w, whole));
	free(w->frame);
	return err;
}

int tkw__wal_mend(const char *path, uint64_t used, bool again)
{
	struct wal w = { .fd = -1, .file = -1 };
	int err = open_log(&w, path, O_RDWR);

	if (w.fd < 0)
		return err;
	err = mend(&w, used, again);
	close(w.fd);
	return err;
}
