/* SPDX-License-Identifier: MIT */
/*
 * sim_store.c - the five calls of a store, on the simulated disk.
 *
 *   offset       bytes
 *   0 and 512    512    a slot: the base, where its frame is, and the names of
 *                       the queues
 *   1024...             frames, one after the other
 *
 *   frame: magic, length, number of the first row, rows, checksum; then for
 *   each row: number of the queue, length and whether it is a name, bytes
 */
#include "sim_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_disk.h"

enum {
	SLOT = 8 * SIM_SECTOR,
	FRAMES = 2 * SLOT, /* where they begin */
	MAGIC = 0x7142,
	NAMES = 8, /* queues of a file, at most */
	NAME = 32  /* bytes of a name with its 0, at most */
};

struct slot {
	uint64_t sum; /* over the rest */
	uint64_t turn;
	struct tkw__base base;
	uint64_t at;  /* of the frame that has the first row */
	uint64_t seq; /* the first row of this frame */
	char name[NAMES][NAME];
};
_Static_assert(sizeof(struct slot) <= SLOT, "a slot has room");

struct frame_head {
	uint64_t sum; /* over the rest of the frame */
	uint64_t seq;
	uint32_t magic;
	uint32_t len;
	uint32_t count;
	uint32_t zero;
};

struct row_head {
	uint32_t queue;
	uint32_t len;
	uint32_t is_name;
};

/* What is known about a frame. */
struct frame {
	size_t at;
	size_t len;
	uint64_t seq;
	uint64_t count;
};

struct sim {
	struct tkw__store store;
	struct sim_disk *disk;
	struct slot slot;
	struct frame *frames;
	size_t count, room;
	size_t front; /* the first frame that is not removed */
	uint64_t next;
	size_t end; /* where the next frame goes */
	bool failed;
	char name[NAMES][NAME]; /* all of them, by number */
	uint8_t *buf;
	size_t buf_room;
};

static uint64_t sum_of(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	while (len--)
		h = (h ^ *at++) * UINT64_C(0x100000001b3);
	return h;
}

/* A write or a sync has failed. */
static void fail(struct sim_disk *d)
{
	if (sim_disk_below(d, 2))
		sim_disk_fail_sync(d);
	else
		sim_disk_forget(d);
}

static uint64_t slot_sum(const struct slot *s)
{
	return sum_of(&s->turn, sizeof(*s) - sizeof(s->sum));
}

static uint64_t frame_sum(const uint8_t *frame, size_t len)
{
	return sum_of(frame + sizeof(uint64_t), len - sizeof(uint64_t));
}

static void add_frame(struct sim *s, const struct frame_head *h)
{
	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->frames = realloc(s->frames, s->room * sizeof(*s->frames));
		if (!s->frames)
			abort();
	}
	s->frames[s->count++] =
		(struct frame){ s->end, h->len, h->seq, h->count };
	s->end += h->len;
	s->next = h->seq + h->count;
}

static void count_bytes(struct sim *s)
{
	size_t from = s->front < s->count ? s->frames[s->front].at : s->end;

	s->store.bytes = s->end - from;
}

/* --- rows ---------------------------------------------------------------- */

/* A walk over the rows of a frame. */
struct walk {
	const uint8_t *at;
	uint64_t seq;
	uint64_t left;
};

static struct walk start_walk(const struct sim *s, const struct frame *f)
{
	return (struct walk){ s->disk->cache + f->at +
				      sizeof(struct frame_head),
			      f->seq, f->count };
}

/* The next row; name has room for one. Returns false at the end. */
static bool next_row(struct walk *w, struct tkw__row *r, char *name)
{
	struct row_head h;

	if (w->left-- == 0)
		return false;
	memcpy(&h, w->at, sizeof(h));
	w->at += sizeof(h);
	*r = (struct tkw__row){ .seq = w->seq++, .queue = h.queue };
	if (h.is_name) {
		memset(name, 0, NAME);
		snprintf(name, NAME, "%.*s", (int)h.len, (const char *)w->at);
		r->name = name;
	} else {
		r->record = w->at;
		r->len = h.len;
	}
	w->at += h.len;
	return true;
}

/* Old rows go, but the names of the queues stay. */
static void keep_names(struct sim *s, const struct frame *f)
{
	struct walk w = start_walk(s, f);
	char name[NAME];
	struct tkw__row r;

	while (next_row(&w, &r, name)) {
		if (r.name && r.queue <= NAMES)
			memcpy(s->name[r.queue - 1], name, NAME);
	}
}

/* --- open ---------------------------------------------------------------- */

static void read_slots(struct sim *s)
{
	const struct sim_disk *d = s->disk;
	int i;

	s->slot = (struct slot){ .at = FRAMES, .seq = 1 };
	for (i = 0; i < 2 && d->size; i++) {
		struct slot got;

		memcpy(&got, d->cache + (size_t)i * SLOT, sizeof(got));
		if (got.sum == slot_sum(&got) && got.turn > s->slot.turn)
			s->slot = got;
	}
}

/* The frame at the end of those that are known; false if it is not whole. */
static bool read_frame(const struct sim *s, struct frame_head *h)
{
	const struct sim_disk *d = s->disk;

	if (s->end + sizeof(*h) > d->size)
		return false;
	memcpy(h, d->cache + s->end, sizeof(*h));
	return h->magic == MAGIC && h->seq == s->next && h->len >= sizeof(*h) &&
	       h->len <= d->size - s->end &&
	       h->sum == frame_sum(d->cache + s->end, h->len);
}

/* What is behind the last frame must not be taken for one later. */
static int cut_tail(struct sim *s)
{
	struct sim_disk *d = s->disk;
	uint8_t *zero;
	size_t end = d->size;
	int err = 0;

	while (end > s->end && d->cache[end - 1] == 0)
		end--;
	if (end <= s->end)
		return 0;
	d->counts.torn_tails++;
	zero = calloc(1, end - s->end);
	if (!zero)
		abort();
	err = sim_disk_write(d, s->end, zero, end - s->end);
	free(zero);
	return err;
}

/* The store itself must not lose anything. */
static void check_last(struct sim *s)
{
	struct sim_disk *d = s->disk;
	uint64_t last = s->next - 1;

	if (last != d->last && (d->trying == 0 || last != d->trying))
		d->wrong = "the simulated disk has lost a synced batch";
	d->counts.kept_batches += d->trying != 0 && last == d->trying;
}

static int write_again(struct sim *s, size_t from, size_t to)
{
	uint8_t *copy;
	int err;

	if (to > s->disk->size || to <= from)
		return 0;
	copy = malloc(to - from);
	if (!copy)
		abort();
	memcpy(copy, s->disk->cache + from, to - from);
	err = sim_disk_write(s->disk, from, copy, to - from);
	free(copy);
	return err;
}

/* After a failed sync, what can be read may not be on the disk. */
static int write_all_again(struct sim *s)
{
	int err = write_again(s, 0, FRAMES);

	return err ? err : write_again(s, (size_t)s->slot.at, s->end);
}

static int recover(struct sim *s)
{
	struct sim_disk *d = s->disk;
	struct frame_head h;
	int err;

	read_slots(s);
	s->end = (size_t)s->slot.at;
	s->next = s->slot.seq;
	memcpy(s->name, s->slot.name, sizeof(s->name));
	while (read_frame(s, &h)) {
		add_frame(s, &h);
		keep_names(s, &s->frames[s->count - 1]);
	}
	check_last(s);
	err = write_all_again(s);
	if (!err)
		err = cut_tail(s);
	if (!err)
		err = sim_disk_sync(d);
	if (err)
		return err;
	d->last = s->next - 1;
	d->trying = 0;
	return 0;
}

static void free_sim(struct sim *s)
{
	free(s->frames);
	free(s->buf);
	free(s);
}

static int sim_open(struct tkw__store **out, const void *cfg, char *why,
		    size_t why_size)
{
	const struct sim_store_config *c = cfg;
	struct sim_disk *d = c->disk;
	struct sim *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		abort();
	s->store.ops = &sim_store;
	s->store.why = "the simulated disk has failed";
	s->disk = d;
	d->phase = SIM_IN_OPEN;
	err = d->down ? -EIO : recover(s);
	d->phase = SIM_IDLE;
	if (err) {
		if (why_size)
			snprintf(why, why_size, "%s", s->store.why);
		free_sim(s);
		return err;
	}
	count_bytes(s);
	*out = &s->store;
	return 0;
}

/* --- append -------------------------------------------------------------- */

static void check_rows(struct sim_disk *d, const struct tkw__row *rows,
		       size_t count)
{
	size_t i;

	if (count == 0)
		d->wrong = "an empty batch";
	for (i = 0; i < count; i++) {
		if (rows[i].queue == 0 ||
		    (rows[i].name == NULL) == (rows[i].record == NULL))
			d->wrong = "a row is neither a record nor a name";
		if (rows[i].name &&
		    (rows[i].queue > NAMES || strlen(rows[i].name) >= NAME))
			d->wrong = "too many queues, or too long a name";
	}
}

static size_t row_len(const struct tkw__row *r)
{
	return r->name ? strlen(r->name) : r->len;
}

static size_t encode(struct sim *s, const struct tkw__row *rows, size_t count)
{
	struct frame_head h = { .seq = s->next,
				.magic = MAGIC,
				.count = (uint32_t)count };
	size_t len = sizeof(h);
	size_t i;
	uint8_t *at;

	for (i = 0; i < count; i++)
		len += sizeof(struct row_head) + row_len(&rows[i]);
	if (len > s->buf_room) {
		free(s->buf);
		s->buf_room = len * 2;
		s->buf = malloc(s->buf_room);
		if (!s->buf)
			abort();
	}
	at = s->buf + sizeof(h);
	for (i = 0; i < count; i++) {
		const struct tkw__row *r = &rows[i];
		struct row_head rh = { r->queue, (uint32_t)row_len(r),
				       r->name != NULL };

		memcpy(at, &rh, sizeof(rh));
		memcpy(at + sizeof(rh),
		       r->name ? (const void *)r->name : r->record, rh.len);
		at += sizeof(rh) + rh.len;
	}
	h.len = (uint32_t)len;
	memcpy(s->buf, &h, sizeof(h));
	h.sum = frame_sum(s->buf, len);
	memcpy(s->buf, &h, sizeof(h));
	return len;
}

/* Writes a part of the frame, in one or two pieces. */
static int write_part(struct sim *s, size_t len)
{
	struct sim_disk *d = s->disk;
	size_t half = sim_disk_below(d, (uint32_t)len + 1);
	int err = sim_disk_write(d, s->end, s->buf, half);

	if (!err && half < len)
		err = sim_disk_write(d, s->end + half, s->buf + half,
				     len - half);
	return err;
}

/* There is room for a part of the batch: it is taken back. */
static int run_full(struct sim *s, size_t len)
{
	struct sim_disk *d = s->disk;
	size_t part = sim_disk_below(d, (uint32_t)len);
	int err = write_part(s, part);

	if (err)
		return err;
	memset(s->buf, 0, part);
	err = sim_disk_write(d, s->end, s->buf, part);
	if (err)
		return err;
	d->trying = 0;
	d->counts.full++;
	s->store.why = "the simulated disk is full";
	return -ENOSPC;
}

/* A write or the sync fails: any part of the batch may be on the disk. */
static int run_error(struct sim *s, size_t len)
{
	struct sim_disk *d = s->disk;
	size_t part =
		sim_disk_below(d, 2) ? len : sim_disk_below(d, (uint32_t)len);
	int err = write_part(s, part);

	if (err)
		return err;
	fail(d);
	d->counts.failed++;
	s->failed = true;
	s->store.why = "the simulated disk has failed";
	return -EIO;
}

static int write_batch(struct sim *s, const struct tkw__row *rows, size_t count)
{
	struct sim_disk *d = s->disk;
	size_t len = encode(s, rows, count);
	struct frame_head h;
	int err;

	if (sim_disk_hit(d, &d->faults.busy)) {
		d->counts.busy++;
		s->store.why = "another program uses the simulated disk";
		return -EBUSY;
	}
	d->trying = s->next + count - 1;
	if (sim_disk_hit(d, &d->faults.full))
		return run_full(s, len);
	if (sim_disk_hit(d, &d->faults.error))
		return run_error(s, len);
	err = write_part(s, len);
	if (!err)
		err = sim_disk_sync(d);
	if (err)
		return err;
	d->last = d->trying;
	d->trying = 0;
	memcpy(&h, s->buf, sizeof(h));
	add_frame(s, &h);
	keep_names(s, &s->frames[s->count - 1]);
	d->counts.batches++;
	d->counts.rows += count;
	return 0;
}

static int sim_append(struct tkw__store *st, const struct tkw__row *rows,
		      size_t count, uint64_t *last)
{
	struct sim *s = (struct sim *)st;
	struct sim_disk *d = s->disk;
	int err;

	if (s->failed || d->down)
		return -EIO;
	check_rows(d, rows, count);
	if (d->hooks.appending)
		d->hooks.appending(rows, count, d->hooks.ctx);
	d->phase = SIM_IN_BATCH;
	err = write_batch(s, rows, count);
	d->phase = SIM_IDLE;
	if (!err) {
		count_bytes(s);
		*last = s->next - 1;
	}
	if (!d->down && d->hooks.appended)
		d->hooks.appended(err, d->hooks.ctx);
	return err;
}

/* --- replay -------------------------------------------------------------- */

static int replay_frame(struct sim *s, const struct frame *f, tkw__row_fn *fn,
			void *ctx)
{
	struct walk w = start_walk(s, f);
	char name[NAME];
	struct tkw__row r;
	int err = 0;

	while (!err && next_row(&w, &r, name)) {
		if (r.seq >= s->slot.base.first)
			err = fn(&r, ctx);
	}
	return err;
}

static int replay_names(struct sim *s, tkw__row_fn *fn, void *ctx)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < NAMES && s->slot.name[i][0] && !err; i++) {
		struct tkw__row r = { .queue = i + 1, .name = s->slot.name[i] };

		err = fn(&r, ctx);
	}
	return err;
}

static int sim_replay(struct tkw__store *st, tkw__row_fn *fn,
		      struct tkw__base *base, void *ctx)
{
	struct sim *s = (struct sim *)st;
	size_t i;
	int err;

	*base = s->slot.base;
	err = replay_names(s, fn, ctx);
	for (i = 0; i < s->count && !err; i++)
		err = replay_frame(s, &s->frames[i], fn, ctx);
	return err;
}

/* --- compact ------------------------------------------------------------- */

static int set_base(struct sim *s, const struct tkw__base *base)
{
	struct sim_disk *d = s->disk;
	struct slot slot = { .turn = s->slot.turn + 1,
			     .base = *base,
			     .at = s->end,
			     .seq = s->next };
	size_t i;
	int err;

	if (base->first < s->slot.base.first || base->first > s->next ||
	    base->whole >= s->next)
		d->wrong = "a base that cannot be";
	for (i = s->front; i < s->count; i++) {
		const struct frame *f = &s->frames[i];

		if (f->seq + f->count > base->first) {
			slot.at = f->at;
			slot.seq = f->seq;
			break;
		}
	}
	memcpy(slot.name, s->name, sizeof(slot.name));
	slot.sum = slot_sum(&slot);
	err = sim_disk_write(d, slot.turn % 2 * SLOT, &slot, sizeof(slot));
	if (!err)
		err = sim_disk_sync(d);
	if (err)
		return err;
	s->slot = slot;
	d->counts.compactions++;
	return 0;
}

/* Nobody may read a removed row: it is overwritten. */
static int remove_frame(struct sim *s, const struct frame *f)
{
	uint8_t *junk = malloc(f->len);
	int err;

	if (!junk)
		abort();
	memset(junk, 0xdd, f->len);
	err = sim_disk_write(s->disk, f->at, junk, f->len);
	free(junk);
	return err;
}

static int remove_rows(struct sim *s, uint64_t max)
{
	uint64_t removed = 0;
	int err;

	while (s->front < s->count) {
		const struct frame *f = &s->frames[s->front];

		if (f->seq + f->count > s->slot.base.first)
			break;
		if (removed >= max)
			return 1;
		err = remove_frame(s, f);
		if (err)
			return err;
		removed += f->count;
		s->disk->counts.removed += f->count;
		s->front++;
	}
	return 0;
}

static int compact_or_fail(struct sim *s, const struct tkw__base *base,
			   uint64_t max)
{
	struct sim_disk *d = s->disk;
	int err = 0;

	if (sim_disk_hit(d, &d->faults.full)) {
		d->counts.full++;
		s->store.why = "the simulated disk is full";
		return -ENOSPC;
	}
	if (base->first != s->slot.base.first ||
	    base->whole != s->slot.base.whole)
		err = set_base(s, base);
	if (err)
		return err;
	err = remove_rows(s, max);
	if (err < 0 || !sim_disk_hit(d, &d->faults.error))
		return err;
	fail(d);
	d->counts.failed++;
	s->failed = true;
	s->store.why = "the simulated disk has failed";
	return -EIO;
}

static int sim_compact(struct tkw__store *st, const struct tkw__base *base,
		       uint64_t max)
{
	struct sim *s = (struct sim *)st;
	int err;

	if (s->failed || s->disk->down)
		return -EIO;
	s->disk->phase = SIM_IN_COMPACT;
	err = compact_or_fail(s, base, max);
	s->disk->phase = SIM_IDLE;
	count_bytes(s);
	return err;
}

static int sim_close(struct tkw__store *st)
{
	free_sim((struct sim *)st);
	return 0;
}

const struct tkw__store_ops sim_store = {
	.open = sim_open,
	.append = sim_append,
	.replay = sim_replay,
	.compact = sim_compact,
	.close = sim_close,
};
