/* SPDX-License-Identifier: MIT */
/*
 * test_redis_copies.c - a queue is equal in each copy: after a reload, in an
 * RDB file, in an AOF, in another key and on another server. TKW.DIGEST
 * compares all facts. Replicas are in test_redis_replicas.c.
 */
#include "redis_bed.h"

#include <sys/stat.h>
#include <unistd.h>

#include "queue_mix.h"

enum {
	STEPS = 1500,
	CUTS = 60
};

enum {
	QUEUES = 5
};

/* Digests of several queues, to compare them later. */
struct digests {
	char text[QUEUES][64];
};

static const char *const queues[QUEUES] = { "rich", "mixed", "big", "empty",
					    "planned" };

/* Queues of each kind. */
static void make_queues(struct resp *c, uint64_t seed)
{
	struct queue_mix m;

	queue_mix_fill(c, "rich");
	queue_mix_plan(c, "planned");
	EXPECT(c, "OK", "TKW.CLOCK REAL");
	queue_mix_init(&m, c, "mixed", seed);
	queue_mix_run(&m, STEPS);
	/* More than a piece of a dump, and more than a small queue has. */
	EXPECT(c, "nil",
	       "EVAL \"for i = 1, 5000 do redis.call('TKW.PUT', KEYS[1], i * "
	       "100, string.rep('x', i %% 300), 'KEY', i) end\" 1 big");
	EXPECT(c, "OK", "TKW.PAUSE empty");
	EXPECT(c, "OK", "TKW.RESUME empty");
}

static void get_digests(struct resp *c, struct digests *d)
{
	for (int i = 0; i < QUEUES; i++) {
		snprintf(d->text[i], sizeof(d->text[i]), "%s",
			 redis_bed_digest(c, queues[i]));
		assert_int_equal(strlen(d->text[i]), 18);
	}
}

static void expect_digests(struct resp *c, const struct digests *d)
{
	for (int i = 0; i < QUEUES; i++)
		EXPECT(c, d->text[i], "TKW.DIGEST %s", queues[i]);
}

/* They are not only equal, but can be used. */
static void use_queues(struct resp *c)
{
	EXPECT(c, "OK", "TKW.RESUME rich");
	EXPECT(c, "[[...", "TKW.TAKE rich");
	EXPECT(c, "1...", "TKW.PUT rich 0 more");
	queue_mix_check(c, "rich");
	queue_mix_check(c, "mixed");
	EXPECT(c, "1", "TKW.RESCHEDULE big KEY 5000 AT 1");
	EXPECT(c, "[[1...", "TKW.TAKE big");
	/* Everything is late by years. */
	EXPECT(c, "[[17...", "TKW.TAKE planned COUNT 9");
	EXPECT(c, "1...", "TKW.PLAN planned all \"every 1s\" a");
	EXPECT(c, "1", "TKW.PLANRESUME planned paused");
	queue_mix_check(c, "planned");
	EXPECT(c, "1...", "TKW.PUT empty 0 more");
	EXPECT(c, "[[1...", "TKW.TAKE empty");
}

/* --- the digest ----------------------------------------------------------- */

/* Each line makes a queue that differs from the first in one fact. Most facts
 * cannot be set by a command alone: test_a_changed_bit... has all. */
static void test_one_difference_changes_the_digest(void **state)
{
	static const char *const lines[] = {
		"",
		"PUT x 0 a KEY k",
		"PUT x 0 b",
		"PUT x 1 a",
		"PUT x 0 a ATTEMPTS 1",
		"PUT x 0 a BACKOFF 1",
		"PUT x 0 a BACKOFF 1 MAX 1",
		"PUT x 0 \"\"",
		"PAUSE x",
		"LIMIT x ITEMS 1",
		"LIMIT x BYTES 1",
		"LIMIT x PAYLOAD 1",
		"TAKE x",
		"TAKE x LEASE 1",
		"TAKE x LEASE 2",
		"RESCHEDULE x 1700000000000000 0",
		"CANCEL x 1700000000000000",
		"PLAN x p @daily a",
		"PLAN x p @hourly a",
		"PLAN x q @daily a",
		"PLAN x p @daily b",
		"PLAN x p @daily a ZONE UTC",
		"PLAN x p @daily a GRACE 5",
		"PLAN x p @daily a MISFIRE skip",
		"PLAN x p @daily a MISFIRE all 1",
		"PLAN x p @daily a MISFIRE all 2",
		"PLAN x p @daily a OVERLAP allow",
		"PLAN x p @daily a NEXT ack",
		"PLAN x p @daily a ATTEMPTS 1",
		"PLAN x p @daily a BACKOFF 1",
		"PLAN x p @daily a BACKOFF 1 MAX 1",
	};
	enum {
		LINES = sizeof(lines) / sizeof(lines[0])
	};
	struct redis_bed *b = *state;
	char digest[LINES][64];

	for (size_t i = 0; i < LINES; i++) {
		EXPECT(b->c, "1700000000000000", "TKW.PUT x 0 a");
		if (lines[i][0])
			resp_ask(b->c, "TKW.%s", lines[i]);
		snprintf(digest[i], sizeof(digest[i]), "%s",
			 redis_bed_digest(b->c, "x"));
		for (size_t k = 0; k < i; k++) {
			if (strcmp(digest[i], digest[k]) == 0)
				fail_msg("%s: as %s", lines[i], lines[k]);
		}
		EXPECT(b->c, "1", "DEL x");
	}
}

/* The bytes of a DUMP, and their number. The last 10 are the version and the
 * checksum of the server. */
static uint8_t *get_dump(struct resp *c, const char *queue, size_t *len)
{
	const char *raw;
	const char *bytes;
	uint8_t *out;

	resp_ask(c, "DUMP %s", queue);
	raw = resp_raw(c);
	assert_int_equal(raw[0], '$');
	*len = strtoul(raw + 1, NULL, 10);
	bytes = strchr(raw, '\n') + 1;
	out = malloc(*len);
	assert_non_null(out);
	memcpy(out, bytes, *len);
	return out;
}

static const char *restore(struct resp *c, const char *queue,
			   const uint8_t *bytes, size_t len)
{
	struct words w = { .count = 0 };

	words_read(&w, "RESTORE");
	words_add(&w, queue, strlen(queue));
	words_add(&w, "0", 1);
	words_add(&w, bytes, len);
	words_add(&w, "REPLACE", 7);
	resp_send_words(c, &w);
	words_free(&w);
	return resp_read(c);
}

/* What became of dumps with a wrong bit. */
struct flips {
	char digest[64]; /* of the right queue */
	uint8_t *dump;   /* of the right queue, when it was restored */
	size_t dump_len;
	size_t refused;
	size_t changed;
	size_t equal;
};

static void restore_wrong(struct resp *c, const uint8_t *wrong, size_t len,
			  struct flips *f)
{
	size_t other_len;
	uint8_t *other;

	if (restore(c, "x", wrong, len)[0] == '-') {
		f->refused++;
		return;
	}
	if (strcmp(redis_bed_digest(c, "x"), f->digest) != 0) {
		f->changed++;
		return;
	}
	/* Some bits say where a command ends, and are no facts. */
	other = get_dump(c, "x", &other_len);
	if (other_len != f->dump_len || memcmp(other, f->dump, other_len) != 0)
		fail_msg("a difference that the digest does not see");
	free(other);
	f->equal++;
}

/* Each bit of a dump is changed, one after the other. The server refuses it, or
 * the digest says that the queue is another one, or it is indeed no other. So
 * the digest has each fact, and damage does not crash the server. */
static void check_changed_bits(struct redis_bed *b, const char *queue)
{
	struct flips f = { .refused = 0 };
	uint8_t *bytes;
	size_t len;

	EXPECT(b->c, "OK", "CONFIG SET rdbcompression no");
	snprintf(f.digest, sizeof(f.digest), "%s",
		 redis_bed_digest(b->c, queue));
	bytes = get_dump(b->c, queue, &len);
	assert_string_equal(restore(b->c, "x", bytes, len), "OK");
	f.dump = get_dump(b->c, "x", &f.dump_len);
	EXPECT(b->c, "OK", "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
	for (size_t i = 0; i < 8 * (len - 10); i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		restore_wrong(b->c, bytes, len, &f);
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	EXPECT(b->c, "OK", "DEBUG SET-SKIP-CHECKSUM-VALIDATION 0");
	print_message("%zu refused, %zu changed the digest, %zu are no facts\n",
		      f.refused, f.changed, f.equal);
	assert_true(f.refused > 0 && f.changed > 0);
	assert_true(f.equal < f.changed / 20);
	EXPECT(b->c, f.digest, "TKW.DIGEST %s", queue);
	assert_string_equal(restore(b->c, "x", bytes, len), "OK");
	EXPECT(b->c, f.digest, "TKW.DIGEST x");
	EXPECT(b->c, "OK", "CONFIG SET rdbcompression yes");
	free(bytes);
	free(f.dump);
}

static void test_a_changed_bit_is_refused_or_changes_the_digest(void **state)
{
	struct redis_bed *b = *state;

	queue_mix_fill(b->c, "rich");
	check_changed_bits(b, "rich");
}

/* SPEC 12.4: the same for plans. */
static void test_a_changed_bit_of_a_plan_is_noticed(void **state)
{
	struct redis_bed *b = *state;

	queue_mix_plan(b->c, "planned");
	check_changed_bits(b, "planned");
}

static void check_cut_dump(struct redis_bed *b, const char *queue)
{
	uint8_t *bytes;
	uint8_t end[10];
	size_t len;

	bytes = get_dump(b->c, queue, &len);
	EXPECT(b->c, "OK", "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
	memcpy(end, bytes + len - 10, 10);
	for (size_t cut = len - 11; cut > 0; cut--) {
		memcpy(bytes + cut, end, 10);
		if (restore(b->c, "x", bytes, cut + 10)[0] != '-')
			fail_msg("%zu bytes of %zu are enough", cut, len);
	}
	EXPECT(b->c, "OK", "DEBUG SET-SKIP-CHECKSUM-VALIDATION 0");
	EXPECT(b->c, "0", "EXISTS x");
	free(bytes);
}

static void test_a_dump_that_is_cut_off_is_refused(void **state)
{
	struct redis_bed *b = *state;

	queue_mix_fill(b->c, "rich");
	check_cut_dump(b, "rich");
	queue_mix_plan(b->c, "planned");
	check_cut_dump(b, "planned");
}

/* --- in one server -------------------------------------------------------- */

/* SPEC 11.31, 11.32. */
static void test_reload(void **state)
{
	struct redis_bed *b = *state;
	struct digests d;

	make_queues(b->c, server_seed());
	get_digests(b->c, &d);
	EXPECT(b->c, "OK", "DEBUG RELOAD");
	expect_digests(b->c, &d);
	EXPECT(b->c, "OK", "DEBUG RELOAD");
	expect_digests(b->c, &d);
	use_queues(b->c);
}

/* SPEC 11.31, 11.32. */
static void test_copy_rename_move_dump_and_restore(void **state)
{
	struct redis_bed *b = *state;
	struct digests d;

	make_queues(b->c, server_seed());
	get_digests(b->c, &d);
	for (int i = 0; i < QUEUES; i++) {
		const char *q = queues[i];
		uint8_t *bytes;
		size_t len;

		EXPECT(b->c, "1", "COPY %s copy", q);
		EXPECT(b->c, d.text[i], "TKW.DIGEST copy");
		EXPECT(b->c, "1", "COPY %s copy DB 5", q);
		EXPECT(b->c, "OK", "RENAME copy renamed");
		EXPECT(b->c, d.text[i], "TKW.DIGEST renamed");
		EXPECT(b->c, "1", "MOVE renamed 6");
		EXPECT(b->c, "OK", "SELECT 6");
		EXPECT(b->c, d.text[i], "TKW.DIGEST renamed");
		EXPECT(b->c, "OK", "SWAPDB 5 6");
		EXPECT(b->c, d.text[i], "TKW.DIGEST copy");
		EXPECT(b->c, "OK", "FLUSHDB");
		EXPECT(b->c, "OK", "SELECT 5");
		EXPECT(b->c, "OK", "FLUSHDB ASYNC");
		EXPECT(b->c, "OK", "SELECT 0");
		bytes = get_dump(b->c, q, &len);
		assert_string_equal(restore(b->c, "restored", bytes, len),
				    "OK");
		free(bytes);
		EXPECT(b->c, d.text[i], "TKW.DIGEST restored");
		EXPECT(b->c, "OK", "RENAME restored %s", q);
	}
	expect_digests(b->c, &d);
	use_queues(b->c);
}

/* A queue whose items are larger than the pieces in which it is written, alone
 * and among many small ones. */
static void make_large_items(struct resp *c, const char *queue)
{
	EXPECT(c, "OK", "TKW.LIMIT %s PAYLOAD 4000000", queue);
	EXPECT(c, "nil",
	       "EVAL \"for i = 1, 600 do redis.call('TKW.PUT', KEYS[1], i, i, "
	       "'KEY', i) end "
	       "for i = 0, 6 do redis.call('TKW.PUT', KEYS[1], 0, "
	       "string.rep(string.char(97 + i), i * 600000), "
	       "'KEY', string.rep(i, 255)) "
	       "redis.call('TKW.PLAN', KEYS[1], 'p' .. i, '@daily', "
	       "string.rep('p', i * 400000)) end\" 1 %s",
	       queue);
	/* Two of them are taken. */
	EXPECT(c, "[[...", "TKW.TAKE %s COUNT 2 LEASE 1000000", queue);
}

/* SPEC 11.31, 11.32. */
static void test_items_larger_than_a_piece(void **state)
{
	struct redis_bed *b = *state;
	struct server other;
	struct resp *c;
	char digest[64];
	uint8_t *bytes;
	size_t len;

	make_large_items(b->c, "large");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "large"));
	EXPECT(b->c, "1", "COPY large copy");
	EXPECT(b->c, digest, "TKW.DIGEST copy");
	bytes = get_dump(b->c, "copy", &len);
	assert_string_equal(restore(b->c, "copy", bytes, len), "OK");
	free(bytes);
	EXPECT(b->c, digest, "TKW.DIGEST copy");
	EXPECT(b->c, "OK", "DEBUG RELOAD");
	EXPECT(b->c, digest, "TKW.DIGEST large");
	server_begin(&other, SERVER_TEST_MODULE, "");
	c = server_connect(&other, 2);
	EXPECT(b->c, "OK", "MIGRATE 127.0.0.1 %d copy 0 60000", other.port);
	EXPECT(c, digest, "TKW.DIGEST copy");
	server_follow(&other, b->server);
	EXPECT(c, digest, "TKW.DIGEST large");
	EXPECT(c, "0", "EXISTS copy");
	queue_mix_check(c, "large");
	resp_close(c);
	assert_true(server_end(&other));
}

/* A copy lives on its own. */
static void test_a_copy_is_independent(void **state)
{
	struct redis_bed *b = *state;
	char digest[64];

	queue_mix_fill(b->c, "rich");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "rich"));
	EXPECT(b->c, "1", "COPY rich copy");
	EXPECT(b->c, "17...", "TKW.PUT copy 0 a");
	EXPECT(b->c, "OK", "TKW.RESUME copy");
	EXPECT(b->c, "[[...", "TKW.TAKE copy COUNT 9");
	EXPECT(b->c, digest, "TKW.DIGEST rich");
	EXPECT(b->c, "1", "DEL copy");
	EXPECT(b->c, digest, "TKW.DIGEST rich");
}

/* SPEC 11.31. */
static void test_migrate(void **state)
{
	struct redis_bed *b = *state;
	struct server other;
	struct digests d;
	struct resp *c;

	server_begin(&other, SERVER_TEST_MODULE, "");
	c = server_connect(&other, 2);
	make_queues(b->c, server_seed());
	get_digests(b->c, &d);
	for (int i = 0; i < QUEUES; i++) {
		EXPECT(b->c, "OK", "MIGRATE 127.0.0.1 %d %s 0 60000 COPY",
		       other.port, queues[i]);
		EXPECT(b->c, "OK", "MIGRATE 127.0.0.1 %d %s 0 60000 REPLACE",
		       other.port, queues[i]);
		EXPECT(b->c, "0", "EXISTS %s", queues[i]);
	}
	expect_digests(c, &d);
	use_queues(c);
	resp_close(c);
	assert_true(server_end(&other));
}

/* --- files ---------------------------------------------------------------- */

/* SPEC 11.31, 11.32. */
static void test_rdb_file(void **state)
{
	struct server s;
	struct digests d;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE, "");
	c = server_connect(&s, 2);
	make_queues(c, server_seed());
	get_digests(c, &d);
	EXPECT(c, "OK", "SAVE");
	resp_close(c);
	server_kill(&s);
	server_start(&s);
	c = server_connect(&s, 2);
	expect_digests(c, &d);
	use_queues(c);
	resp_close(c);
	assert_true(server_end(&s));
}

/* The server refuses a file with queues if it does not have the module. */
static void test_rdb_file_without_the_module_is_refused(void **state)
{
	struct server s;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE, "");
	c = server_connect(&s, 2);
	queue_mix_fill(c, "rich");
	EXPECT(c, "OK", "SAVE");
	resp_close(c);
	server_kill(&s);
	server_change(&s, SERVER_NO_MODULE, "");
	assert_false(server_try_start(&s));
	assert_true(server_end(&s));
}

static void wait_for_rewrite(struct resp *c)
{
	resp_ask(c, "BGREWRITEAOF");
	WAIT_UNTIL(resp_info_number(c, "persistence",
				    "aof_rewrite_in_progress") == 0 &&
		   resp_info_number(c, "persistence",
				    "aof_rewrite_scheduled") == 0);
	assert_string_equal(
		resp_info(c, "persistence", "aof_last_bgrewrite_status"), "ok");
}

/* Restarts a server and compares. */
static void expect_after_restart(struct server *s, const struct digests *d,
				 bool by_kill)
{
	struct resp *c;

	if (by_kill)
		server_kill(s);
	else
		server_stop(s);
	server_start(s);
	c = server_connect(s, 2);
	expect_digests(c, d);
	resp_close(c);
}

/* The AOF as it is written, after a rewrite, with more behind it, and after
 * DEBUG LOADAOF. */
static void check_aof(const char *lines)
{
	struct queue_mix m;
	struct server s;
	struct digests d;
	struct resp *c;

	server_begin(&s, SERVER_TEST_MODULE, lines);
	c = server_connect(&s, 2);
	make_queues(c, server_seed());
	get_digests(c, &d);
	EXPECT(c, "OK", "DEBUG LOADAOF");
	expect_digests(c, &d);
	resp_close(c);
	expect_after_restart(&s, &d, true);
	c = server_connect(&s, 2);
	wait_for_rewrite(c);
	resp_close(c);
	expect_after_restart(&s, &d, false);
	c = server_connect(&s, 2);
	queue_mix_init(&m, c, "mixed", 7);
	queue_mix_run(&m, STEPS / 4);
	get_digests(c, &d);
	resp_close(c);
	expect_after_restart(&s, &d, true);
	c = server_connect(&s, 2);
	use_queues(c);
	resp_close(c);
	assert_true(server_end(&s));
}

/* SPEC 11.31, 11.32. */
static void test_aof(void **state)
{
	(void)state;
	check_aof("appendonly yes\nappendfsync always\n"
		  "aof-use-rdb-preamble no");
}

/* SPEC 11.31, 11.32: each piece is a command. */
static void test_aof_with_items_larger_than_a_piece(void **state)
{
	char digest[64];
	struct server s;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE,
		     "appendonly yes\naof-use-rdb-preamble no");
	c = server_connect(&s, 2);
	make_large_items(c, "large");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(c, "large"));
	EXPECT(c, "OK", "DEBUG LOADAOF");
	EXPECT(c, digest, "TKW.DIGEST large");
	wait_for_rewrite(c);
	EXPECT(c, "OK", "DEBUG LOADAOF");
	EXPECT(c, digest, "TKW.DIGEST large");
	queue_mix_check(c, "large");
	resp_close(c);
	assert_true(server_end(&s));
}

static void test_aof_with_an_rdb_preamble(void **state)
{
	(void)state;
	check_aof("appendonly yes\nappendfsync always\n"
		  "aof-use-rdb-preamble yes");
}

/* SPEC 11.31: commands that come while the AOF is rewritten. */
static void test_aof_rewrite_under_load(void **state)
{
	struct queue_mix m;
	struct server s;
	struct digests d;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE,
		     "appendonly yes\nappendfsync always\n"
		     "aof-use-rdb-preamble no\nrdb-key-save-delay 20000");
	c = server_connect(&s, 2);
	make_queues(c, server_seed());
	queue_mix_init(&m, c, "mixed", 11);
	resp_ask(c, "BGREWRITEAOF");
	WAIT_UNTIL(resp_info_number(c, "persistence",
				    "aof_rewrite_in_progress") == 1);
	do {
		queue_mix_run(&m, 100);
	} while (resp_info_number(c, "persistence",
				  "aof_rewrite_in_progress") == 1);
	get_digests(c, &d);
	resp_close(c);
	expect_after_restart(&s, &d, true);
	assert_true(server_end(&s));
}

/* --- an AOF that is cut short --------------------------------------------- */

/* How long the AOF was after a command, and the digest then. */
struct moment {
	long size;
	char digest[64];
};

/* The part of the AOF to which the server appends. */
static const char *aof_path(const struct server *s)
{
	return server_path(s, "appendonlydir/appendonly.aof.1.incr.aof");
}

static long file_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (long)st.st_size;
}

static void make_moments(struct server *s, struct moment *moments, int count)
{
	struct resp *c = server_connect(s, 2);
	struct queue_mix m;

	queue_mix_init(&m, c, "q", server_seed());
	EXPECT(c, "1...", "TKW.PUT q 0 a");
	for (int i = 0; i < count; i++) {
		queue_mix_run(&m, 20);
		/* What has run out is recorded now, and not between the digest
		 * and the next command. */
		snprintf(moments[i].digest, sizeof(moments[i].digest), "%s",
			 redis_bed_digest(c, "q"));
		moments[i].size = file_size(aof_path(s));
	}
	resp_close(c);
}

/* With aof-load-truncated, the server drops the last, incomplete command. What
 * is left is exactly the queue as it was before. */
static void test_aof_that_is_cut_short(void **state)
{
	struct moment moments[CUTS];
	struct server s;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE,
		     "appendonly yes\nappendfsync always\n"
		     "auto-aof-rewrite-percentage 0\naof-load-truncated yes");
	make_moments(&s, moments, CUTS);
	server_kill(&s);
	for (int i = CUTS - 1; i >= 0; i--) {
		struct resp *c;

		/* A few bytes of the next command are left. */
		assert_int_equal(
			truncate(aof_path(&s),
				 moments[i].size + (i < CUTS - 1 ? i % 3 : 0)),
			0);
		server_start(&s);
		c = server_connect(&s, 2);
		EXPECT(c, moments[i].digest, "TKW.DIGEST q");
		queue_mix_check(c, "q");
		resp_close(c);
		server_kill(&s);
	}
	assert_true(server_end(&s));
}

static void test_aof_that_is_cut_short_can_be_refused(void **state)
{
	struct moment moment;
	struct server s;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE,
		     "appendonly yes\nappendfsync always\n"
		     "aof-load-truncated no");
	make_moments(&s, &moment, 1);
	server_kill(&s);
	assert_int_equal(truncate(aof_path(&s), moment.size - 5), 0);
	assert_false(server_try_start(&s));
	assert_true(server_end(&s));
}

/* A command is missing in the middle, so that the next one does not fit. The
 * server must not start with half of the items. */
static void test_aof_without_a_command_is_refused(void **state)
{
	struct server s;
	struct resp *c;
	char *bytes;
	char *at;
	char *next;
	long len;
	FILE *f;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE,
		     "appendonly yes\nappendfsync always");
	c = server_connect(&s, 2);
	EXPECT(c, "1...", "TKW.PUT q 0 a");
	EXPECT(c, "[[...", "TKW.TAKE q");
	EXPECT(c, "1...", "TKW.PUT q 0 b");
	resp_close(c);
	server_kill(&s);
	len = file_size(aof_path(&s));
	bytes = calloc(1, (size_t)len + 1);
	assert_non_null(bytes);
	f = fopen(aof_path(&s), "r+");
	assert_non_null(f);
	assert_int_equal(fread(bytes, 1, (size_t)len, f), len);
	at = memmem(bytes, (size_t)len, "*4\r\n", 4);
	assert_non_null(at);
	next = memmem(at + 4, (size_t)(bytes + len - at - 4), "*4\r\n", 4);
	assert_non_null(next);
	memmove(at, next, (size_t)(bytes + len - next));
	rewind(f);
	len -= next - at;
	assert_int_equal(fwrite(bytes, 1, (size_t)len, f), len);
	fclose(f);
	assert_int_equal(truncate(aof_path(&s), len), 0);
	free(bytes);
	assert_false(server_try_start(&s));
	assert_true(server_end(&s));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST(test_one_difference_changes_the_digest),
		REDIS_TEST(test_a_changed_bit_is_refused_or_changes_the_digest),
		REDIS_TEST(test_a_changed_bit_of_a_plan_is_noticed),
		REDIS_TEST(test_a_dump_that_is_cut_off_is_refused),
		REDIS_TEST(test_reload),
		REDIS_TEST(test_copy_rename_move_dump_and_restore),
		REDIS_TEST(test_items_larger_than_a_piece),
		REDIS_TEST(test_a_copy_is_independent),
		REDIS_TEST(test_migrate),
		REDIS_TEST(test_rdb_file),
		REDIS_TEST(test_rdb_file_without_the_module_is_refused),
		REDIS_TEST(test_aof),
		REDIS_TEST(test_aof_with_items_larger_than_a_piece),
		REDIS_TEST(test_aof_with_an_rdb_preamble),
		REDIS_TEST(test_aof_rewrite_under_load),
		REDIS_TEST(test_aof_that_is_cut_short),
		REDIS_TEST(test_aof_that_is_cut_short_can_be_refused),
		REDIS_TEST(test_aof_without_a_command_is_refused),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
