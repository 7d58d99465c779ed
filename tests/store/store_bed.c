/* SPDX-License-Identifier: MIT */
/* store_bed.c - the test bed of the store on SQLite. */
#define _GNU_SOURCE
#include "store_bed.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

static void *take(size_t bytes, void *ctx)
{
	(void)ctx;
	return malloc(bytes);
}

static void give(void *mem, size_t bytes, void *ctx)
{
	(void)bytes;
	(void)ctx;
	free(mem);
}

/* --- a calendar: each full second ----------------------------------------- */

static int compile(void **out, struct tkw__queue_text plan,
		   struct tkw__queue_text zone, bool anew, void *ctx)
{
	(void)plan;
	(void)zone;
	(void)anew;
	*out = ctx;
	return 0;
}

static int next(void *compiled, uint64_t after_ms, uint64_t *out_ms)
{
	(void)compiled;
	*out_ms = (after_ms / 1000 + 1) * 1000;
	return 0;
}

static int previous(void *compiled, uint64_t before_ms, uint64_t *out_ms)
{
	(void)compiled;
	if (before_ms == 0)
		return -ENOENT;
	*out_ms = (before_ms - 1) / 1000 * 1000;
	return 0;
}

static void free_plan(void *compiled, void *ctx)
{
	(void)compiled;
	(void)ctx;
}

static const struct tkw__queue_calendar calendar = { compile, next, previous,
						     free_plan, NULL };

/* --- the bed -------------------------------------------------------------- */

int store_bed_begin(void **state)
{
	struct store_bed *b = calloc(1, sizeof(*b));
	struct tkw__queue_config cfg = { .hooks = { take, give, NULL },
					 .calendar = &calendar };
	const char *tmp = getenv("TMPDIR");
	const char *seed = getenv("TKW_STORE_SEED");

	if (!b)
		return -1;
	/* Kills and damage are the same in RAM, and a hundred times faster. */
	if (!tmp)
		tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(b->dir, sizeof(b->dir), "%s/tkw-store-XXXXXX", tmp);
	if (!mkdtemp(b->dir) || tkw__queue_create(&b->heart, &cfg) != 0) {
		free(b);
		return -1;
	}
	snprintf(b->path, sizeof(b->path), "%s/q", b->dir);
	b->seed = seed ? strtoull(seed, NULL, 10) : 1;
	b->random = b->seed;
	*state = b;
	return 0;
}

static void empty_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)) != NULL)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(dir);
}

int store_bed_end(void **state)
{
	struct store_bed *b = *state;

	if (b->s)
		bed_close(b);
	bed_rows_free(&b->wrote);
	tkw__queue_log_fini(b->heart, &b->log);
	tkw__queue_destroy(b->heart);
	empty_dir(b->dir);
	free(b);
	return 0;
}

int bed_open(struct store_bed *b)
{
	struct tkw__sqlite_config cfg = { b->path, b->to_system };

	return tkw__sqlite_store.open(&b->s, &cfg, b->why, sizeof(b->why));
}

void bed_close(struct store_bed *b)
{
	(void)b->s->ops->close(b->s);
	b->s = NULL;
}

/* --- records -------------------------------------------------------------- */

uint64_t bed_random(struct store_bed *b)
{
	uint64_t z = b->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t bed_below(struct store_bed *b, uint64_t n)
{
	return bed_random(b) % n;
}

/* A number up to max: 0, small, large or the largest. */
static uint64_t number(struct store_bed *b, uint64_t max)
{
	switch (bed_below(b, 5)) {
	case 0:
		return 0;
	case 1:
		return bed_below(b, 300) & max;
	case 2:
		return max;
	default:
		return max == UINT64_MAX ? bed_random(b)
					 : bed_below(b, max + 1);
	}
}

static uint64_t ms(struct store_bed *b)
{
	return number(b, TKW__QUEUE_MAX_MS);
}

static uint64_t stamp(struct store_bed *b)
{
	return number(b, INT64_MAX);
}

static uint8_t noise[8192];

static struct tkw__queue_text text(struct store_bed *b, size_t max)
{
	size_t len = bed_below(b, 3) ? bed_below(b, max + 1) : 0;

	return (struct tkw__queue_text){ noise + bed_below(b, 4096), len };
}

static void fill_item(struct store_bed *b, struct tkw__record *r)
{
	uint64_t state = bed_below(b, 3);
	uint64_t attempts = number(b, UINT32_MAX);
	uint64_t most;

	if (state == 2)
		r->word[TKW__PUT_OPTIONS] |= 1;
	most = (uint32_t)r->word[TKW__PUT_OPTIONS];
	/* An idle item has attempts left, a taken one has used one, a dead one
	 * all. */
	if (most != 0)
		attempts %= most;
	if (state == 1 && attempts == 0)
		attempts = 1;
	if (state == 2)
		attempts = most;
	r->word[TKW__ITEM_OTHER] = state == 0 ? stamp(b) : ms(b);
	r->word[TKW__ITEM_TOKEN] = state == 1 ? stamp(b) | 1 : 0;
	r->word[TKW__ITEM_STATE] = state | attempts << 32;
	r->key = text(b, 255);
	if (state != 1)
		r->reason = text(b, 255);
	r->payload = text(b, 3000);
}

static void fill_step(struct store_bed *b, uint64_t *w)
{
	w[TKW__STEP_DECIDED] = ms(b);
	w[TKW__STEP_STATUS] =
		bed_below(b, 200) | (bed_below(b, 2) ? TKW__STATUS_PAUSED : 0);
	w[TKW__STEP_RUNS] = number(b, UINT64_MAX);
	w[TKW__STEP_MISSED] = number(b, UINT64_MAX);
	w[TKW__STEP_OVERLAPS] = number(b, UINT64_MAX);
}

static void fill_plan(struct store_bed *b, uint64_t *w)
{
	uint64_t missed = 1 + bed_below(b, TKW__QUEUE_MAX_MISSED);

	w[TKW__PLAN_GRACE] = ms(b);
	w[TKW__PLAN_POLICY] = TKW__QUEUE_MISSED_ALL | missed << 32 |
			      (bed_below(b, 2) ? TKW__POLICY_OVERLAP : 0) |
			      (bed_below(b, 2) ? TKW__POLICY_ON_END : 0);
	w[TKW__PLAN_OPTIONS] = number(b, UINT64_MAX);
	w[TKW__PLAN_MAX_BACKOFF] = number(b, UINT32_MAX);
}

static void fill_plan_words(struct store_bed *b, struct tkw__record *r)
{
	uint64_t *w = r->word;

	switch (r->kind) {
	case TKW__RECORD_PLAN:
	case TKW__RECORD_REPLAN:
		fill_plan(b, w);
		break;
	case TKW__RECORD_PLAN_FACTS:
		fill_plan(b, w);
		fill_step(b, w + TKW__PLAN_STATE);
		break;
	case TKW__RECORD_STEP:
		fill_step(b, w);
		break;
	case TKW__RECORD_PLANNED:
	case TKW__RECORD_PLANNED_ITEM:
		w[TKW__PUT_DUE] = ms(b);
		w[TKW__PUT_OPTIONS] = number(b, UINT64_MAX);
		w[TKW__PUT_MAX_BACKOFF] = number(b, UINT32_MAX);
		break;
	default:
		break;
	}
}

static void fill_words(struct store_bed *b, struct tkw__record *r)
{
	uint64_t *w = r->word;

	switch (r->kind) {
	case TKW__RECORD_PUT:
	case TKW__RECORD_REPLACE:
	case TKW__RECORD_ITEM:
		w[TKW__PUT_DUE] = ms(b);
		w[TKW__PUT_OPTIONS] = number(b, UINT64_MAX);
		w[TKW__PUT_MAX_BACKOFF] = number(b, UINT32_MAX);
		break;
	case TKW__RECORD_TAKE:
		w[TKW__TAKE_TOKEN] = stamp(b) | 1;
		w[TKW__TAKE_LEASE] = ms(b);
		break;
	case TKW__RECORD_EXTEND:
	case TKW__RECORD_DEAD:
		w[0] = ms(b);
		break;
	case TKW__RECORD_NACK:
	case TKW__RECORD_RESCHEDULE:
	case TKW__RECORD_REVIVE:
		w[TKW__NACK_DUE] = ms(b);
		w[TKW__NACK_SEQ] = stamp(b);
		break;
	case TKW__RECORD_LIMIT:
		w[TKW__LIMIT_ITEMS] = number(b, UINT64_MAX);
		w[TKW__LIMIT_BYTES] = number(b, UINT64_MAX);
		w[TKW__LIMIT_PAYLOAD] = number(b, TKW__QUEUE_MAX_PAYLOAD);
		break;
	case TKW__RECORD_TOTALS:
		for (int i = 0; i < TKW__RECORD_WORDS - 4; i++)
			w[i] = stamp(b);
		w[TKW__RECORD_WORDS - 4] = bed_below(b, 2);
		w[TKW__RECORD_WORDS - 3] = number(b, UINT64_MAX);
		w[TKW__RECORD_WORDS - 2] = number(b, UINT64_MAX);
		w[TKW__RECORD_WORDS - 1] = number(b, TKW__QUEUE_MAX_PAYLOAD);
		break;
	default:
		fill_plan_words(b, r);
		break;
	}
}

/* The key of an item of a plan. It stays until the next call. */
static struct tkw__queue_text planned_key(uint64_t planned_ms)
{
	static char key[64];
	int len = snprintf(key, sizeof(key), "at@night@%" PRIu64, planned_ms);

	return (struct tkw__queue_text){ key, (size_t)len };
}

static void fill_plan_body(struct store_bed *b, struct tkw__record *r)
{
	uint64_t *w = r->word;

	switch (r->kind) {
	case TKW__RECORD_PLANNED:
		w[TKW__PLANNED_PLAN] = stamp(b);
		r->key = planned_key(w[TKW__PUT_DUE]);
		r->payload = text(b, 300);
		break;
	case TKW__RECORD_PLANNED_ITEM:
		fill_item(b, r);
		w[TKW__ITEM_PLANNED] = ms(b);
		w[TKW__ITEM_PLAN] = stamp(b);
		r->flags = TKW__RECORD_STARTED;
		r->key = planned_key(w[TKW__ITEM_PLANNED]);
		break;
	default:
		r->key = (struct tkw__queue_text){
			noise, 1 + bed_below(b, TKW__QUEUE_MAX_PLAN_NAME)
		};
		if (r->kind == TKW__RECORD_STEP ||
		    r->kind == TKW__RECORD_UNPLAN)
			break;
		r->reason = (struct tkw__queue_text){ noise + 7,
						      1 + bed_below(b, 255) };
		r->zone = text(b, TKW__QUEUE_MAX_ZONE);
		r->payload = text(b, 300);
		break;
	}
}

static void fill_body(struct store_bed *b, struct tkw__record *r)
{
	switch (r->kind) {
	case TKW__RECORD_REPLACE:
		r->word[TKW__REPLACE_SEQ] = stamp(b);
		r->key = (struct tkw__queue_text){ noise,
						   1 + bed_below(b, 255) };
		r->payload = text(b, 300);
		break;
	case TKW__RECORD_PUT:
		r->key = text(b, 255);
		r->payload = text(b, bed_below(b, 50) ? 300 : 4000);
		break;
	case TKW__RECORD_NACK:
	case TKW__RECORD_DEAD:
		r->reason = text(b, 255);
		break;
	case TKW__RECORD_ITEM:
		fill_item(b, r);
		break;
	default:
		if (r->kind >= TKW__RECORD_PLAN)
			fill_plan_body(b, r);
		break;
	}
}

static void fill_flags(struct store_bed *b, struct tkw__record *r)
{
	bool item = r->kind == TKW__RECORD_ITEM ||
		    r->kind == TKW__RECORD_PLANNED_ITEM;
	bool may_be_lost = r->kind == TKW__RECORD_NACK ||
			   r->kind == TKW__RECORD_DEAD ||
			   (item && (uint32_t)r->word[TKW__ITEM_STATE] != 1);

	if (bed_below(b, 2))
		r->flags |= TKW__RECORD_MORE;
	if (may_be_lost && r->reason.len == 0 && bed_below(b, 2))
		r->flags |= TKW__RECORD_LOST;
	if (item && r->flags & TKW__RECORD_LOST &&
	    (uint32_t)r->word[TKW__ITEM_STATE] == 0 && bed_below(b, 2))
		r->flags |= TKW__RECORD_TIMED;
}

enum tkw__record_kind bed_kind(uint64_t i)
{
	uint64_t first = TKW__RECORD_KINDS - 1;
	uint64_t all = first + TKW__RECORD_PLAN_KINDS - TKW__RECORD_PLAN;

	i %= all;
	return (enum tkw__record_kind)(
		i < first ? i + 1 : i - first + TKW__RECORD_PLAN);
}

void bed_make(struct store_bed *b, enum tkw__record_kind kind)
{
	struct tkw__record r = { .kind = kind };

	if (noise[0] == 0) {
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)(i * 31 + i / 251 + 1);
	}
	if (kind < TKW__RECORD_PAUSE || kind >= TKW__RECORD_ITEM)
		r.id = 1 + number(b, INT64_MAX - 1);
	fill_words(b, &r);
	fill_body(b, &r);
	fill_flags(b, &r);
	assert_true(tkw__record_is_legal(&r));
	assert_int_equal(tkw__record_write(b->heart, &b->log, &r), 0);
}

static void note(struct bed_rows *r, const struct tkw__row *row)
{
	struct bed_row *to;

	if (r->count == r->room) {
		r->room = r->room ? r->room * 2 : 64;
		r->row = realloc(r->row, r->room * sizeof(*r->row));
		assert_non_null(r->row);
	}
	to = &r->row[r->count++];
	*to = (struct bed_row){ row->seq, row->queue, row->len,
				malloc(row->len) };
	assert_non_null(to->bytes);
	memcpy(to->bytes, row->record, row->len);
}

/* The rows point into the log. */
static struct tkw__row *make_batch(struct store_bed *b, size_t count)
{
	struct tkw__row *rows = calloc(count, sizeof(*rows));
	size_t *ends = calloc(count, sizeof(*ends));
	size_t at = 0;

	assert_true(rows && ends);
	tkw__queue_log_clear(&b->log);
	for (size_t i = 0; i < count; i++) {
		bed_make(b, bed_kind(bed_random(b)));
		ends[i] = b->log.len;
		rows[i].queue = 1 + (uint32_t)bed_below(b, 300);
	}
	for (size_t i = 0; i < count; i++) {
		rows[i].record = b->log.bytes + at;
		rows[i].len = ends[i] - at;
		at = ends[i];
	}
	free(ends);
	return rows;
}

static void note_batch(struct store_bed *b, struct tkw__row *rows, size_t count)
{
	uint64_t seq =
		b->wrote.count ? b->wrote.row[b->wrote.count - 1].seq + 1 : 1;

	for (size_t i = 0; i < count; i++) {
		rows[i].seq = seq + i;
		note(&b->wrote, &rows[i]);
	}
}

int bed_append(struct store_bed *b, size_t count)
{
	struct tkw__row *rows = make_batch(b, count);
	uint64_t last = 0;
	int err = b->s->ops->append(b->s, rows, count, &last);

	if (!err) {
		note_batch(b, rows, count);
		assert_int_equal(last, b->wrote.row[b->wrote.count - 1].seq);
	}
	free(rows);
	return err;
}

void bed_expect(struct store_bed *b, size_t count)
{
	struct tkw__row *rows = make_batch(b, count);

	note_batch(b, rows, count);
	free(rows);
}

/* --- replay --------------------------------------------------------------- */

static int see(const struct tkw__row *row, void *ctx)
{
	struct bed_rows *r = ctx;

	if (row->name)
		r->names++;
	else
		note(r, row);
	return 0;
}

int bed_replay(struct store_bed *b, struct bed_rows *out)
{
	*out = (struct bed_rows){ 0 };
	return b->s->ops->replay(b->s, see, &out->base, out);
}

void bed_rows_free(struct bed_rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->row[i].bytes);
	free(r->row);
	*r = (struct bed_rows){ 0 };
}

static bool same(const struct bed_row *a, const struct bed_row *b)
{
	return a->seq == b->seq && a->queue == b->queue && a->len == b->len &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool bed_is_equal(const struct store_bed *b, const struct bed_rows *r,
		  size_t less)
{
	size_t skipped = r->base.first ? (size_t)r->base.first - 1 : 0;

	if (b->wrote.count < less + skipped ||
	    r->count != b->wrote.count - less - skipped)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		if (!same(&r->row[i], &b->wrote.row[skipped + i]))
			return false;
	}
	return true;
}

void bed_check(struct store_bed *b)
{
	struct bed_rows r;

	assert_int_equal(bed_replay(b, &r), 0);
	assert_true(bed_is_equal(b, &r, 0));
	bed_rows_free(&r);
}

/* --- files ---------------------------------------------------------------- */

static int open_beside(const struct store_bed *b, const char *suffix, int flags)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s", b->path, suffix);
	return open(name, flags | O_CLOEXEC, 0600);
}

struct bed_file bed_load(const struct store_bed *b, const char *suffix)
{
	struct bed_file f = { NULL, 0 };
	int fd = open_beside(b, suffix, O_RDONLY);
	off_t len;

	if (fd < 0)
		return f;
	len = lseek(fd, 0, SEEK_END);
	f.len = (size_t)len;
	f.bytes = malloc(f.len + 1);
	assert_non_null(f.bytes);
	assert_int_equal(pread(fd, f.bytes, f.len, 0), len);
	close(fd);
	return f;
}

void bed_save(const struct store_bed *b, const char *suffix, struct bed_file f)
{
	int fd = open_beside(b, suffix, O_WRONLY | O_CREAT | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, f.bytes, f.len), (ssize_t)f.len);
	close(fd);
}

void bed_remove(const struct store_bed *b, const char *suffix)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s", b->path, suffix);
	(void)unlink(name);
}
