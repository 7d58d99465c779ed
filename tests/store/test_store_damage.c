/* SPDX-License-Identifier: MIT */
/*
 * test_store_damage.c - a file that is damaged is refused, or all of its rows
 * are there; never a part of them. Only the last transaction of the log may be
 * missing, because nobody can tell it from one that was being written.
 */
#include "store_bed.h"

#include <dirent.h>
#include <sqlite3.h>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/wal.h"

enum {
	WAL_HEADER = 32,
	FRAME_HEADER = 24,
	SECTOR = 512
};

/* The files of a store, as a crash leaves them. */
struct image {
	struct bed_file file;
	struct bed_file log;
};

static struct image image_of(struct store_bed *b)
{
	return (struct image){ bed_load(b, ""), bed_load(b, "-wal") };
}

static void image_free(struct image *i)
{
	free(i->file.bytes);
	free(i->log.bytes);
}

static void restore(struct store_bed *b, const struct image *i)
{
	bed_remove(b, "-shm");
	bed_save(b, "", i->file);
	if (i->log.bytes)
		bed_save(b, "-wal", i->log);
	else
		bed_remove(b, "-wal");
}

/* The store has not got the last rows. */
static void forget_rows(struct store_bed *b, size_t count)
{
	for (; count > 0; count--)
		free(b->wrote.row[--b->wrote.count].bytes);
}

static bool same_file(struct bed_file a, struct bed_file b)
{
	return a.len == b.len &&
	       (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

/* What an open and a replay have found. */
enum verdict {
	REFUSED,
	WHOLE,
	WITHOUT_LAST, /* transaction */
	HALF
};

/* No file is beside it, unless there was a log. */
static void check_folder(const struct store_bed *b, bool has_log)
{
	DIR *dir = opendir(b->dir);
	const struct dirent *e;

	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		const char *name = e->d_name;

		if (name[0] == '.' || strcmp(name, "q") == 0)
			continue;
		if (!has_log ||
		    (strcmp(name, "q-wal") != 0 && strcmp(name, "q-shm") != 0))
			fail_msg("%s is left", name);
	}
	closedir(dir);
}

/* A refused file is left as it is. */
static void check_untouched(struct store_bed *b, const struct image *damaged)
{
	struct image now = image_of(b);

	check_folder(b, damaged->log.len > 0);
	assert_true(same_file(now.file, damaged->file));
	assert_true(same_file(now.log, damaged->log));
	image_free(&now);
}

static enum verdict try_image(struct store_bed *b, const struct image *i,
			      size_t last_batch)
{
	enum verdict v = REFUSED;
	struct bed_rows r;
	int err;

	restore(b, i);
	err = bed_open(b);
	if (err) {
		if (err != -EBADMSG && err != -EMEDIUMTYPE)
			fail_msg("error %d: %s", err, b->why);
		assert_true(b->why[0] != 0);
		check_untouched(b, i);
		return REFUSED;
	}
	err = bed_replay(b, &r);
	if (err)
		assert_int_equal(err, -EBADMSG);
	else if (bed_is_equal(b, &r, 0))
		v = WHOLE;
	else
		v = last_batch && bed_is_equal(b, &r, last_batch) ? WITHOUT_LAST
								  : HALF;
	bed_rows_free(&r);
	bed_close(b);
	if (v == REFUSED)
		check_untouched(b, i);
	return v;
}

/* --- the file ------------------------------------------------------------- */

/* A file with some of everything: leaves, inner pages, long payloads, free
 * pages, a base and names. */
static struct image make_file(struct store_bed *b)
{
	struct tkw__row name = { .queue = 1, .name = "default" };
	struct tkw__base base = { 150, 400 };
	struct image i;
	uint64_t last;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(b->s->ops->append(b->s, &name, 1, &last), 0);
	for (int n = 0; n < 60; n++)
		assert_int_equal(bed_append(b, 10), 0);
	assert_int_equal(b->s->ops->compact(b->s, &base, 1000), 0);
	assert_int_equal(bed_append(b, 10), 0);
	bed_close(b);
	i = image_of(b);
	assert_null(i.log.bytes);
	return i;
}

static void flip_file(struct store_bed *b, struct image *i, size_t rounds)
{
	size_t refused = 0;

	assert_int_equal(try_image(b, i, 0), WHOLE);
	for (size_t n = 0; n < rounds; n++) {
		/* Headers of pages first, and then anywhere. */
		size_t pages = i->file.len / TKW__SCHEMA_PAGE;
		size_t at = n < 100   ? n
			    : n < 800 ? bed_below(b, pages) * TKW__SCHEMA_PAGE +
						bed_below(b, 64)
				      : bed_below(b, i->file.len);
		uint8_t flip = (uint8_t)(1 + bed_below(b, 255));
		enum verdict v;

		i->file.bytes[at] ^= flip;
		v = try_image(b, i, 0);
		if (v == HALF)
			fail_msg("half of the rows: byte %zu, flip %d", at,
				 flip);
		refused += v == REFUSED;
		i->file.bytes[at] ^= flip;
	}
	print_message("file of %zu bytes: refused %zu of %zu\n", i->file.len,
		      refused, rounds);
	assert_true(refused > rounds / 4);
}

static void test_store_refuses_or_reads_all_of_a_damaged_file(void **state)
{
	struct store_bed *b = *state;
	struct image i = make_file(b);

	flip_file(b, &i, 2000);
	image_free(&i);
}

static void change(struct store_bed *b, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A copy that SQLite makes wants no log. It gets one with its first batch. */
static struct image make_copy(struct store_bed *b)
{
	struct image i = make_file(b);
	char sql[256];

	image_free(&i);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s-copy'", b->path);
	change(b, sql);
	i = (struct image){ .file = bed_load(b, "-copy") };
	bed_remove(b, "-copy");
	assert_int_equal(i.file.bytes[18], 1);
	return i;
}

static void test_store_refuses_or_reads_all_of_a_damaged_copy(void **state)
{
	struct store_bed *b = *state;
	struct image i = make_copy(b);
	struct image now;

	flip_file(b, &i, 1000);
	restore(b, &i);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
	assert_int_equal(bed_append(b, 10), 0);
	now = image_of(b);
	assert_true(now.log.len > 0);
	bed_close(b);
	assert_int_equal(try_image(b, &now, 0), WHOLE);
	image_free(&now);
	image_free(&i);
}

/* SPEC 11.20: cut short. Cut to nothing, it is a new file, which is no secret.
 */
static void test_store_refuses_a_file_cut_short(void **state)
{
	struct store_bed *b = *state;
	struct image i = make_file(b);
	size_t whole = i.file.len;

	for (size_t n = 0; n < 300; n++) {
		i.file.len =
			n < 32   ? whole - 1 - n
			: n < 64 ? TKW__SCHEMA_PAGE *
					   (1 +
					    bed_below(b,
						      whole / TKW__SCHEMA_PAGE))
				 : 1 + bed_below(b, whole - 1);
		if (i.file.len == whole)
			continue;
		assert_int_equal(try_image(b, &i, 0), REFUSED);
	}
	i.file.len = whole;
	assert_int_equal(try_image(b, &i, 0), WHOLE);
	image_free(&i);
}

static int open_after(struct store_bed *b, const char *sql)
{
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 10), 0);
	bed_close(b);
	change(b, sql);
	return bed_open(b);
}

static void test_store_refuses_a_newer_version(void **state)
{
	struct store_bed *b = *state;

	assert_int_equal(open_after(b, "PRAGMA user_version=2"), -EMEDIUMTYPE);
	assert_non_null(strstr(b->why, "version 2"));
}

static void test_store_refuses_another_application(void **state)
{
	struct store_bed *b = *state;

	change(b, "CREATE TABLE a(b); PRAGMA application_id=7");
	assert_int_equal(bed_open(b), -EMEDIUMTYPE);
	assert_string_equal(b->why, "this is not a file of queues");
	change(b, "PRAGMA application_id=0");
	assert_int_equal(bed_open(b), -EMEDIUMTYPE);
	change(b, "PRAGMA journal_mode=WAL");
	assert_int_equal(bed_open(b), -EMEDIUMTYPE);
	check_folder(b, false);
}

static void test_store_refuses_what_is_no_database(void **state)
{
	struct store_bed *b = *state;
	char text[] = "a list of things to do\n";
	struct bed_file f = { (uint8_t *)text, sizeof(text) };

	bed_save(b, "", f);
	assert_int_equal(bed_open(b), -EMEDIUMTYPE);
	assert_true(b->why[0] != 0);
}

static void test_store_refuses_a_hole_in_the_journal(void **state)
{
	struct store_bed *b = *state;
	struct bed_rows r;

	assert_int_equal(open_after(b, "DELETE FROM journal WHERE seq = 5"), 0);
	assert_int_equal(bed_replay(b, &r), -EBADMSG);
	assert_string_equal(b->s->why, "no row of the journal has number 5");
	bed_rows_free(&r);
}

static void test_store_refuses_rows_that_were_changed(void **state)
{
	struct store_bed *b = *state;
	struct bed_rows r;

	assert_int_equal(open_after(b, "UPDATE journal SET queue = queue + 1 "
				       "WHERE seq = 6"),
			 0);
	assert_int_equal(bed_replay(b, &r), -EBADMSG);
	bed_rows_free(&r);
	bed_close(b);
	change(b, "ALTER TABLE journal ADD COLUMN other");
	assert_int_equal(bed_open(b), -EBADMSG);
}

/* Kinds that no library of this version writes: a newer one may. */
static void test_store_refuses_a_row_of_an_unknown_kind(void **state)
{
	static const int kinds[] = { 0, 19, 31, 41, 99 };
	struct store_bed *b = *state;
	struct bed_rows r;
	char sql[64];

	assert_int_equal(open_after(b, "SELECT 1"), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bed_close(b);
		snprintf(sql, sizeof(sql),
			 "UPDATE journal SET kind = %d WHERE seq = 6",
			 kinds[i]);
		change(b, sql);
		assert_int_equal(bed_open(b), 0);
		assert_int_equal(bed_replay(b, &r), -EBADMSG);
		assert_string_equal(b->s->why,
				    "this library does not know the kind of "
				    "the row of the journal with number 6");
		bed_rows_free(&r);
	}
}

/* --- the log -------------------------------------------------------------- */

/* Appends batches; the log has only the last ones of them if it was started
 * again in between. Returns the number of rows of the last one. */
static size_t fill_log(struct store_bed *b, bool again, size_t batches)
{
	size_t count = 0;

	assert_int_equal(bed_open(b), 0);
	if (again) {
		for (int n = 0; n < 20; n++)
			assert_int_equal(bed_append(b, 12), 0);
		tkw__sqlite_of(b->s)->next = 1;
	}
	for (size_t n = 0; n < batches; n++) {
		count = 1 + bed_below(b, n % 3 ? 30 : 3);
		assert_int_equal(bed_append(b, count), 0);
	}
	return count;
}

/* Damage in an older transaction is told from a torn tail: nothing that was
 * acknowledged vanishes without a word, but for the last transaction. */
static void flip_log(struct store_bed *b, bool again)
{
	size_t last = fill_log(b, again, 12);
	struct image i = image_of(b);
	size_t count[HALF + 1] = { 0 };

	bed_close(b);
	assert_int_equal(try_image(b, &i, last), WHOLE);
	for (size_t n = 0; n < 1500; n++) {
		size_t frames = (i.log.len - WAL_HEADER) /
				(TKW__SCHEMA_PAGE + FRAME_HEADER);
		size_t at = n < WAL_HEADER ? n
			    : n < 700      ? WAL_HEADER +
						bed_below(b, frames) *
							(TKW__SCHEMA_PAGE +
							 FRAME_HEADER) +
						bed_below(b, FRAME_HEADER)
				      : bed_below(b, i.log.len);
		uint8_t flip = (uint8_t)(1 + bed_below(b, 255));
		enum verdict v;

		i.log.bytes[at] ^= flip;
		v = try_image(b, &i, last);
		if (v == HALF)
			fail_msg("rows vanished: byte %zu, flip %d", at, flip);
		count[v]++;
		i.log.bytes[at] ^= flip;
	}
	print_message("log of %zu bytes%s: refused %zu, whole %zu, without the "
		      "last %zu\n",
		      i.log.len, again ? ", used again" : "", count[REFUSED],
		      count[WHOLE], count[WITHOUT_LAST]);
	assert_true(count[REFUSED] > 0 && count[WITHOUT_LAST] > 0);
	image_free(&i);
}

static void test_store_refuses_or_reads_all_of_a_damaged_log(void **state)
{
	flip_log(*state, false);
}

static void test_store_refuses_or_reads_all_of_a_log_used_again(void **state)
{
	flip_log(*state, true);
}

/* SPEC 11.20: whatever pieces of the last write are missing, the rest is read.
 * Here each sector of it is new or old. */
static void tear_log(struct store_bed *b, bool again)
{
	struct image old, new;
	size_t last, shared;
	size_t count[HALF + 1] = { 0 };

	fill_log(b, again, 8);
	old = image_of(b);
	last = 25;
	assert_int_equal(bed_append(b, last), 0);
	new = image_of(b);
	bed_close(b);
	assert_true(same_file(old.file, new.file));
	shared = old.log.len < new.log.len ? old.log.len : new.log.len;
	for (size_t n = 0; n < 600; n++) {
		struct image torn = new;
		uint64_t keep = bed_random(b);

		for (size_t more = bed_below(b, 6); more > 0; more--)
			keep |= bed_random(b);
		torn.log.bytes = malloc(new.log.len + 1);
		assert_non_null(torn.log.bytes);
		memcpy(torn.log.bytes, new.log.bytes, new.log.len);
		for (size_t at = 0; at < new.log.len; at++) {
			if (keep >> at / SECTOR % 64 & 1)
				continue;
			torn.log.bytes[at] =
				at < shared ? old.log.bytes[at] : 0;
		}
		if (n % 3 == 0)
			torn.log.len -= bed_below(b, new.log.len - shared + 1);
		count[try_image(b, &torn, last)]++;
		free(torn.log.bytes);
	}
	print_message("torn%s: whole %zu, without the last %zu\n",
		      again ? ", used again" : "", count[WHOLE],
		      count[WITHOUT_LAST]);
	assert_int_equal(count[HALF] + count[REFUSED], 0);
	assert_true(count[WITHOUT_LAST] > 100 && count[WHOLE] > 0);
	image_free(&old);
	image_free(&new);
}

static void test_store_cuts_a_torn_tail(void **state)
{
	tear_log(*state, false);
}

static void test_store_cuts_a_torn_tail_of_a_log_used_again(void **state)
{
	tear_log(*state, true);
}

/* When the log is started again, its header is written anew. If this is torn,
 * nothing is lost, because the file has everything. */
static void test_store_reads_a_file_whose_log_has_a_torn_header(void **state)
{
	struct store_bed *b = *state;
	struct image old, new, torn;

	assert_int_equal(bed_open(b), 0);
	for (int n = 0; n < 20; n++)
		assert_int_equal(bed_append(b, 12), 0);
	tkw__sqlite_of(b->s)->next = 1;
	assert_int_equal(bed_append(b, 12), 0); /* and a checkpoint */
	old = image_of(b);
	assert_int_equal(bed_append(b, 7), 0); /* from the log's beginning */
	new = image_of(b);
	bed_close(b);
	assert_memory_not_equal(old.log.bytes, new.log.bytes, WAL_HEADER);
	for (size_t cut = 0; cut <= WAL_HEADER; cut++) {
		torn = (struct image){ old.file, old.log };
		torn.log.bytes = malloc(old.log.len + 1);
		assert_non_null(torn.log.bytes);
		memcpy(torn.log.bytes, old.log.bytes, old.log.len);
		memcpy(torn.log.bytes, new.log.bytes, cut);
		assert_int_equal(try_image(b, &torn, 7), WITHOUT_LAST);
		free(torn.log.bytes);
	}
	image_free(&old);
	image_free(&new);
}

/* SQLite would delete the log. */
static void test_store_refuses_an_emptied_file_with_a_log(void **state)
{
	struct store_bed *b = *state;
	struct image i;

	fill_log(b, false, 5);
	i = image_of(b);
	bed_close(b);
	i.file.len = 0;
	assert_int_equal(try_image(b, &i, 0), REFUSED);
	assert_string_equal(b->why, "the file is empty, but has a log");
	image_free(&i);
}

static void damage_middle(struct image *i)
{
	for (size_t at = 0; at < SECTOR; at++)
		i->log.bytes[i->log.len / 2 + at] ^= 0xff;
}

/* Without syncs, after a loss of power, the log may have holes: it is read up
 * to the first one. */
static void test_store_without_syncs_reads_up_to_the_first_hole(void **state)
{
	struct store_bed *b = *state;
	struct bed_rows r;
	struct image i;

	b->to_system = true;
	fill_log(b, false, 12);
	i = image_of(b);
	bed_close(b);
	damage_middle(&i);
	restore(b, &i);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_replay(b, &r), 0);
	assert_true(r.count > 0 && r.count < b->wrote.count);
	assert_true(bed_is_equal(b, &r, b->wrote.count - r.count));
	bed_rows_free(&r);
	image_free(&i);
}

/* The mark is in the file: it does not matter how the next owner opens it. */
static void test_store_without_syncs_is_opened_by_one_who_syncs(void **state)
{
	struct store_bed *b = *state;
	struct bed_rows r;
	struct image i;

	b->to_system = true;
	fill_log(b, false, 12);
	i = image_of(b);
	bed_close(b);
	damage_middle(&i);
	restore(b, &i);
	b->to_system = false;
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_replay(b, &r), 0);
	assert_true(r.count > 0 && r.count < b->wrote.count);
	assert_true(bed_is_equal(b, &r, b->wrote.count - r.count));
	forget_rows(b, b->wrote.count - r.count);
	bed_rows_free(&r);
	image_free(&i);
	/* From now on it is synced, and damage is refused again. */
	for (int n = 0; n < 9; n++)
		assert_int_equal(bed_append(b, 12), 0);
	i = image_of(b);
	bed_close(b);
	damage_middle(&i);
	assert_int_equal(try_image(b, &i, 12), REFUSED);
	image_free(&i);
}

/* --- a log of an owner that has died -------------------------------------- */

enum {
	FRAME_BYTES = FRAME_HEADER + TKW__SCHEMA_PAGE
};

static sqlite3 *start_reading(const struct store_bed *b)
{
	sqlite3 *db;

	assert_int_equal(
		sqlite3_open_v2(b->path, &db, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM journal",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	return db;
}

/* What the batch of `new` has written to the log, in frames. */
static void find_writes(const struct image *old, const struct image *new,
			size_t *from, size_t *to)
{
	size_t first = WAL_HEADER;
	size_t end = new->log.len;

	while (first + FRAME_BYTES <= old->log.len &&
	       memcmp(old->log.bytes + first, new->log.bytes + first,
		      FRAME_BYTES) == 0)
		first += FRAME_BYTES;
	while (end > first && end <= old->log.len &&
	       memcmp(old->log.bytes + end - FRAME_BYTES,
		      new->log.bytes + end - FRAME_BYTES, FRAME_BYTES) == 0)
		end -= FRAME_BYTES;
	*from = first;
	*to = end;
}

/* The second kill, at each write of the last batch: first comes the header of a
 * frame, and then its page. Returns how many states were tried. */
static size_t kill_again(struct store_bed *b, const struct image *old,
			 const struct image *new, size_t last)
{
	size_t from, to, tried = 0;
	size_t at;

	find_writes(old, new, &from, &to);
	assert_true(to > from);
	for (at = from; at < to; tried++) {
		struct image torn = *old;
		size_t len = old->log.len > at ? old->log.len : at;
		enum verdict v;

		torn.log.bytes = malloc(len + 1);
		assert_non_null(torn.log.bytes);
		memcpy(torn.log.bytes, old->log.bytes, old->log.len);
		memcpy(torn.log.bytes, new->log.bytes, at);
		torn.log.len = len;
		v = try_image(b, &torn, last);
		free(torn.log.bytes);
		if (v != WITHOUT_LAST)
			fail_msg("verdict %d at byte %zu: %s", (int)v, at,
				 b->why);
		at += (at - WAL_HEADER) % FRAME_BYTES ? TKW__SCHEMA_PAGE
						      : FRAME_HEADER;
	}
	return tried;
}

/* Another program that reads the file between the two kills. */
enum reading {
	NOBODY_READS,
	READS_LATER,  /* from the next owner on */
	READS_THROUGH /* since before the first kill */
};

/* The life between the two kills: some small batches, and one that is killed.
 * `before` is how the files were before the first batch that was killed. */
static size_t live_shortly(struct store_bed *b, const struct image *before,
			   const struct image *killed, int batches,
			   enum reading reading)
{
	struct image old, new;
	sqlite3 *reader = NULL;
	size_t tried;

	restore(b, reading == READS_THROUGH ? before : killed);
	if (reading == READS_THROUGH) {
		/* Its index of the log does not know the batch. */
		reader = start_reading(b);
		bed_save(b, "-wal", killed->log);
	}
	assert_int_equal(bed_open(b), 0);
	if (reading == READS_LATER)
		reader = start_reading(b);
	for (int n = 0; n < batches; n++)
		assert_int_equal(bed_append(b, 1), 0);
	old = image_of(b);
	assert_int_equal(bed_append(b, 2), 0);
	new = image_of(b);
	bed_close(b);
	sqlite3_close(reader);
	tried = kill_again(b, &old, &new, 2);
	forget_rows(b, (size_t)batches + 2);
	image_free(&old);
	image_free(&new);
	return tried;
}

/* SPEC 11.20: a kill in a large batch leaves frames behind the end of the log.
 * Later ones overwrite the first of them. Then the rest must not be taken for
 * damage. If the batch was whole, it counts, unless SQLite's index is alive and
 * does not have it. */
static void kill_twice(struct store_bed *b, enum reading reading)
{
	struct image old, killed;
	size_t tried = 0;
	size_t whole;

	fill_log(b, false, 5);
	old = image_of(b);
	assert_int_equal(bed_append(b, 90), 0);
	forget_rows(b, 90);
	killed = image_of(b);
	bed_close(b);
	whole = killed.log.len;
	assert_true(whole - old.log.len >= 6 * (size_t)FRAME_BYTES);
	for (size_t lost = reading != READS_THROUGH; lost < 4; lost++) {
		killed.log.len = whole - lost * FRAME_BYTES;
		for (int batches = 1; batches < 5; batches++)
			tried += live_shortly(b, &old, &killed, batches,
					      reading);
	}
	print_message("killed twice%s: %zu states\n",
		      reading == NOBODY_READS ? "" : " under a reader", tried);
	image_free(&old);
	image_free(&killed);
}

static void test_store_is_killed_twice(void **state)
{
	kill_twice(*state, NOBODY_READS);
}

static void test_store_is_killed_twice_under_a_reader(void **state)
{
	kill_twice(*state, READS_LATER);
}

static void test_store_is_killed_twice_under_an_older_reader(void **state)
{
	kill_twice(*state, READS_THROUGH);
}

/* After a failed sync, the disk may lack what can be read from the log. So an
 * owner does not stand on the log of the one before: all of it is in the file
 * before the first batch is added. */
static void test_store_starts_with_a_log_of_its_own(void **state)
{
	struct store_bed *b = *state;
	struct image was, is;

	fill_log(b, false, 6);
	was = image_of(b);
	bed_close(b);
	restore(b, &was);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 3), 0);
	is = image_of(b);
	bed_close(b);
	assert_memory_not_equal(was.log.bytes + 16, is.log.bytes + 16, 8);
	assert_true(is.log.len < was.log.len);
	free(is.log.bytes);
	is.log = (struct bed_file){ NULL, 0 };
	assert_int_equal(try_image(b, &is, 3), WITHOUT_LAST);
	image_free(&was);
	image_free(&is);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_bed_begin, store_bed_end)

/* An argument chooses tests: a name, in which * stands for any text. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store_refuses_or_reads_all_of_a_damaged_file),
		TEST(test_store_refuses_or_reads_all_of_a_damaged_copy),
		TEST(test_store_refuses_a_file_cut_short),
		TEST(test_store_refuses_a_newer_version),
		TEST(test_store_refuses_another_application),
		TEST(test_store_refuses_what_is_no_database),
		TEST(test_store_refuses_a_hole_in_the_journal),
		TEST(test_store_refuses_rows_that_were_changed),
		TEST(test_store_refuses_a_row_of_an_unknown_kind),
		TEST(test_store_refuses_or_reads_all_of_a_damaged_log),
		TEST(test_store_refuses_or_reads_all_of_a_log_used_again),
		TEST(test_store_cuts_a_torn_tail),
		TEST(test_store_cuts_a_torn_tail_of_a_log_used_again),
		TEST(test_store_reads_a_file_whose_log_has_a_torn_header),
		TEST(test_store_refuses_an_emptied_file_with_a_log),
		TEST(test_store_without_syncs_reads_up_to_the_first_hole),
		TEST(test_store_without_syncs_is_opened_by_one_who_syncs),
		TEST(test_store_is_killed_twice),
		TEST(test_store_is_killed_twice_under_a_reader),
		TEST(test_store_is_killed_twice_under_an_older_reader),
		TEST(test_store_starts_with_a_log_of_its_own),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
