/* SPDX-License-Identifier: MIT */
/* test_queue_file.c - the public calls on real files: what a close leaves, what
 * survives a reopen, who is refused. */
#define _GNU_SOURCE
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "skips.h"
#include "tickwheel/queue.h"

#define START_MS INT64_C(1700000000000)

struct bed {
	char dir[64];
	char path[96];
	char error[256];
	int64_t owner;
	int64_t now_us; /* atomic */
	struct tkw_queues_config cfg;
	struct tkw_queues *f;
	struct tkw_queue *q;
};

static int64_t bed_now(void *ctx)
{
	struct bed *b = ctx;

	return __atomic_load_n(&b->now_us, __ATOMIC_RELAXED);
}

static void pass(struct bed *b, int64_t ms)
{
	__atomic_fetch_add(&b->now_us, ms * 1000, __ATOMIC_RELAXED);
}

static void open_file(struct bed *b)
{
	int err = tkw_queues_open(&b->f, b->path, &b->cfg);

	if (err)
		fail_msg("%d: %s", err, b->error);
	assert_int_equal(tkw_queue_open(&b->q, b->f, "q"), 0);
	assert_null(tkw_queues_check(b->f));
}

static void close_file(struct bed *b)
{
	assert_null(tkw_queues_check(b->f));
	assert_int_equal(tkw_queues_close(b->f), 0);
	b->f = NULL;
}

static void reopen(struct bed *b)
{
	close_file(b);
	open_file(b);
}

static int begin(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	snprintf(b->dir, sizeof(b->dir), "/tmp/tkw-file-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/f.queue", b->dir);
	b->now_us = START_MS * 1000;
	b->cfg = (struct tkw_queues_config){
		.size = sizeof(b->cfg),
		.now_us = bed_now,
		.now_ctx = b,
		.error = b->error,
		.error_size = sizeof(b->error),
		.owner_pid = &b->owner,
	};
	open_file(b);
	*state = b;
	return 0;
}

/* How many files there are; they are removed if rid is true. */
static int count_files(struct bed *b, bool rid)
{
	DIR *d = opendir(b->dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		n++;
		if (rid)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	return n;
}

static int end(void **state)
{
	struct bed *b = *state;

	if (b->f)
		close_file(b);
	count_files(b, true);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

static struct tkw_item_id put(struct bed *b, int64_t delay_ms)
{
	struct tkw_put p = { .payload = "work",
			     .payload_len = 4,
			     .delay_ms = delay_ms };
	struct tkw_item_id id;

	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	return id;
}

static struct tkw_queue_stats stats(struct bed *b)
{
	struct tkw_queue_stats s;

	assert_int_equal(tkw_queue_get_stats(b->q, &s), 0);
	return s;
}

/* SPEC 11.21: nothing is left behind but the file. */
static void test_file_close_leaves_only_the_file(void **state)
{
	struct bed *b = *state;

	put(b, 0);
	assert_true(count_files(b, false) > 1);
	close_file(b);
	assert_int_equal(count_files(b, false), 1);
	open_file(b);
	assert_int_equal(stats(b).ready, 1);
}

/* SPEC 11.20 */
static void test_file_has_one_owner(void **state)
{
	struct bed *b = *state;
	struct tkw_queues *f = NULL;
	char text[64];

	b->owner = 7;
	assert_int_equal(tkw_queues_open(&f, b->path, &b->cfg), -EBUSY);
	assert_null(f);
	assert_true(b->owner == getpid());
	snprintf(text, sizeof(text), "process %d has it open", (int)getpid());
	assert_non_null(strstr(b->error, text));
	close_file(b);
	open_file(b);
	assert_true(b->owner == 0);
	assert_string_equal(b->error, "");
}

static void test_file_open_refuses_bad_arguments(void **state)
{
	struct bed *b = *state;
	struct tkw_exec none = { NULL, NULL };
	struct tkw_queues_config cfg = b->cfg;
	struct tkw_queues *f = NULL;
	char path[128];

	assert_int_equal(tkw_queues_open(NULL, b->path, NULL), -EINVAL);
	assert_int_equal(tkw_queues_open(&f, NULL, NULL), -EINVAL);
	cfg.size = 1;
	assert_int_equal(tkw_queues_open(&f, b->path, &cfg), -EINVAL);
	cfg = b->cfg;
	cfg.durability = (enum tkw_queue_durability)2;
	assert_int_equal(tkw_queues_open(&f, b->path, &cfg), -EINVAL);
	cfg = b->cfg;
	cfg.exec = &none;
	b->owner = 7;
	snprintf(b->error, sizeof(b->error), "an older error");
	assert_int_equal(tkw_queues_open(&f, b->path, &cfg), -EINVAL);
	assert_int_equal(b->owner, 0);
	assert_string_equal(b->error, "cannot open the file: Invalid argument");
	snprintf(path, sizeof(path), "%s/no/such/folder", b->dir);
	assert_int_equal(tkw_queues_open(&f, path, &b->cfg), -ENOENT);
	assert_null(f);
	close_file(b);
	assert_int_equal(count_files(b, false), 1);
}

static void test_file_that_is_none_is_refused(void **state)
{
	struct bed *b = *state;
	struct tkw_queues *f = NULL;
	FILE *out;

	close_file(b);
	out = fopen(b->path, "w");
	assert_non_null(out);
	for (int i = 0; i < 1000; i++)
		fputs("this is no file of queues\n", out);
	fclose(out);
	assert_int_equal(tkw_queues_open(&f, b->path, &b->cfg), -EMEDIUMTYPE);
	assert_true(b->error[0] != 0);
	assert_int_equal(count_files(b, false), 1);
	unlink(b->path);
	open_file(b);
}

/* SPEC 11.20: by a link that was there before the file. */
static void test_file_has_one_owner_by_any_link(void **state)
{
	struct bed *b = *state;
	struct tkw_queues *f = NULL, *g = NULL;
	char link[128], real[128];

	snprintf(link, sizeof(link), "%s/link", b->dir);
	snprintf(real, sizeof(real), "%s/real", b->dir);
	assert_int_equal(symlink("real", link), 0);
	assert_int_equal(tkw_queues_open(&f, link, &b->cfg), 0);
	assert_int_equal(tkw_queues_open(&g, real, &b->cfg), -EBUSY);
	assert_int_equal(tkw_queues_close(f), 0);
}

/* --- files that are refused ----------------------------------------------- */

enum {
	MAX_FILE = 1 << 20
};

static size_t load_file(const struct bed *b, const char *suffix, char *to)
{
	char name[128];
	size_t len;
	FILE *in;

	snprintf(name, sizeof(name), "%s%s", b->path, suffix);
	in = fopen(name, "r");
	if (!in)
		return 0;
	len = fread(to, 1, MAX_FILE, in);
	fclose(in);
	return len;
}

static void save_file(const struct bed *b, const char *suffix, const char *from,
		      size_t len)
{
	char name[128];
	FILE *out;

	snprintf(name, sizeof(name), "%s%s", b->path, suffix);
	out = fopen(name, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(from, 1, len, out), len);
	fclose(out);
}

/* SPEC 11.20: the hearts refuse a file too late for the store, and it stays as
 * it is, with its log. The reason is told. */
static void test_file_that_is_damaged_is_left_as_it_is(void **state)
{
	struct bed *b = *state;
	char *file = malloc(MAX_FILE), *log = malloc(MAX_FILE);
	char *now = malloc(MAX_FILE);
	struct tkw_queues *f = NULL;
	size_t file_len, log_len;
	sqlite3 *db;

	assert_non_null(file);
	assert_non_null(log);
	assert_non_null(now);
	put(b, 0);
	close_file(b);
	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA wal_autocheckpoint=0; "
				      "UPDATE journal SET payload = 'x' "
				      "WHERE seq = 1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	file_len = load_file(b, "", file);
	log_len = load_file(b, "-wal", log);
	sqlite3_close(db);
	assert_true(file_len > 0 && log_len > 0);
	save_file(b, "", file, file_len);
	save_file(b, "-wal", log, log_len);
	assert_int_equal(tkw_queues_open(&f, b->path, &b->cfg), -EBADMSG);
	assert_non_null(strstr(b->error, "damaged row of the journal"));
	assert_int_equal(load_file(b, "", now), file_len);
	assert_memory_equal(now, file, file_len);
	assert_int_equal(load_file(b, "-wal", now), log_len);
	assert_memory_equal(now, log, log_len);
	free(file);
	free(log);
	free(now);
}

/* SPEC 11.22: leases survive a reopen. */
static void test_file_leases_survive_a_reopen(void **state)
{
	struct bed *b = *state;
	struct tkw_take how = { .max_items = 4, .lease_ms = 1000 };
	struct tkw_items *items, *none;
	struct tkw_claim claim[2];

	for (int i = 0; i < 3; i++)
		put(b, 0);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), 3);
	claim[0] = items->item[0].claim;
	claim[1] = items->item[1].claim;
	tkw_items_free(items);
	reopen(b);
	assert_int_equal(tkw_queue_take(b->q, &how, &none), 0);
	assert_int_equal(tkw_queue_ack(b->q, &claim[0], 1, NULL), 1);
	pass(b, 1000);
	reopen(b);
	assert_int_equal(tkw_queue_ack(b->q, &claim[1], 1, NULL), 0);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), 2);
	assert_int_equal(items->item[0].attempts, 2);
	assert_true(items->item[0].claim.token > claim[1].token);
	tkw_items_free(items);
	assert_int_equal(stats(b).all_losses, 2);
}

static void test_file_two_queues_keep_their_items(void **state)
{
	struct bed *b = *state;
	struct tkw_put p = { .payload = "other", .payload_len = 5 };
	struct tkw_queue *other;
	struct tkw_items *items;

	assert_int_equal(tkw_queue_open(&other, b->f, "other"), 0);
	put(b, 0);
	assert_int_equal(tkw_queue_put(other, &p, 1, NULL), 0);
	reopen(b);
	other = tkw_queues_next(b->f, b->q);
	assert_string_equal(tkw_queue_name(other), "other");
	assert_int_equal(tkw_queue_take(other, NULL, &items), 1);
	assert_memory_equal(items->item[0].payload, "other", 5);
	tkw_items_free(items);
	assert_int_equal(stats(b).ready, 1);
}

/* --- load ----------------------------------------------------------------- */

enum {
	THREADS = 4,
	BATCH = 64
};

struct worker {
	struct bed *bed;
	pthread_t thread;
	int rounds;
	bool failed;
};

/* Puts and acks most of it, so that the journal grows and the queue does not.
 */
static void *load(void *arg)
{
	struct worker *w = arg;
	char payload[200] = "x";
	struct tkw_put p[BATCH];
	struct tkw_take how = { .max_items = BATCH };

	for (int i = 0; i < BATCH; i++)
		p[i] = (struct tkw_put){ .payload = payload,
					 .payload_len = sizeof(payload) };
	for (int i = 0; i < w->rounds && !w->failed; i++) {
		struct tkw_claim c[BATCH];
		struct tkw_items *items = NULL;
		int n;

		w->failed = tkw_queue_put(w->bed->q, p, BATCH, NULL) != 0;
		n = tkw_queue_take(w->bed->q, &how, &items);
		for (int k = 0; k < n; k++)
			c[k] = items->item[k].claim;
		if (n > 0)
			w->failed = w->failed ||
				    tkw_queue_ack(w->bed->q, c, (size_t)n,
						  NULL) != n;
		tkw_items_free(items);
	}
	return NULL;
}

static off_t size_of(const struct bed *b)
{
	struct stat st;

	assert_int_equal(stat(b->path, &st), 0);
	return st.st_size;
}

/* The journal is compacted under load, and nothing is lost. */
static void test_file_snapshot_cycle_under_load(void **state)
{
	struct bed *b = *state;
	struct worker w[THREADS];
	struct tkw_queue_stats before, after;

	close_file(b);
	b->cfg.durability = TKW_QUEUE_TO_SYSTEM;
	open_file(b);
	for (int i = 0; i < 500; i++)
		put(b, 1000000);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .bed = b, .rounds = 600 };
		assert_int_equal(
			pthread_create(&w[i].thread, NULL, load, &w[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_false(w[i].failed);
	}
	before = stats(b);
	assert_int_equal(before.all_puts, 500 + THREADS * 600 * BATCH);
	/* What was written is far more than what the file has. */
	assert_true(before.commit_bytes > 40000000);
	reopen(b);
	assert_true((uint64_t)size_of(b) < before.commit_bytes / 2);
	after = stats(b);
	assert_int_equal(after.waiting, 500);
	assert_int_equal(after.all_puts, before.all_puts);
	assert_int_equal(after.all_acks, before.all_acks);
	assert_int_equal(after.ready, before.ready);
	assert_int_equal(after.taken, before.taken);
	assert_int_equal(after.bytes, before.bytes);
}

/* Takes and acks all items. Returns how many. */
static int drain(struct bed *b)
{
	struct tkw_take how = { .max_items = 10 };
	struct tkw_items *items;
	int all = 0;
	int n;

	while ((n = tkw_queue_take(b->q, &how, &items)) > 0) {
		for (int i = 0; i < n; i++)
			MUST(tkw_queue_ack(b->q, &items->item[i].claim, 1,
					   NULL) == 1);
		all += n;
		tkw_items_free(items);
	}
	MUST(n == 0);
	return all;
}

static int64_t number(const struct bed *b, const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t n = -1;

	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL),
			 SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

/* A worker has done all that there was, and ends. The next open does not read
 * all of it again, and new items use the room of the old ones. */
static void test_file_that_was_drained_is_short(void **state)
{
	enum {
		ROUNDS = 30000 / BATCH
	};
	struct bed *b = *state;
	static const char payload[100];
	struct tkw_put p[BATCH];
	int64_t id, pages;

	close_file(b);
	b->cfg.durability = TKW_QUEUE_TO_SYSTEM;
	open_file(b);
	for (int i = 0; i < BATCH; i++)
		p[i] = (struct tkw_put){ .payload = payload,
					 .payload_len = sizeof(payload) };
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(tkw_queue_put(b->q, p, BATCH, NULL), 0);
	assert_int_equal(drain(b), ROUNDS * BATCH);
	id = (int64_t)put(b, 1000000).bits;
	close_file(b);
	assert_true(number(b, "SELECT count(*) FROM journal") < 100);
	assert_int_equal(number(b, "SELECT id FROM item"), id);
	pages = number(b, "PRAGMA page_count");
	assert_true(number(b, "PRAGMA freelist_count") > pages * 9 / 10);
	open_file(b);
	assert_int_equal(stats(b).waiting, 1);
	assert_int_equal(stats(b).all_acks, ROUNDS * BATCH);
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(tkw_queue_put(b->q, p, BATCH, NULL), 0);
	reopen(b);
	assert_int_equal(number(b, "PRAGMA page_count"), pages);
	assert_int_equal(stats(b).ready, ROUNDS * BATCH);
}

/* As a shell script does it: a process for each call. */
static void test_file_of_short_lives_stays_small(void **state)
{
	enum {
		LARGE = 1 << 20
	};
	struct bed *b = *state;
	char *payload = calloc(1, LARGE);
	struct tkw_put p = { .payload = payload, .payload_len = LARGE };

	assert_non_null(payload);
	close_file(b);
	b->cfg.durability = TKW_QUEUE_TO_SYSTEM;
	open_file(b);
	for (int i = 0; i < 40; i++) {
		struct tkw_items *items;

		assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
		reopen(b);
		assert_int_equal(tkw_queue_take(b->q, NULL, &items), 1);
		assert_int_equal(
			tkw_queue_ack(b->q, &items->item[0].claim, 1, NULL), 1);
		tkw_items_free(items);
		reopen(b);
	}
	assert_true(size_of(b) < 20 << 20);
	free(payload);
}

/* --- a full disk ---------------------------------------------------------- */

/* In a process and a mount of its own. */
static void fill_disk(void *bed)
{
	static const char payload[1000];
	struct bed *b = bed;
	struct tkw_put p[20];
	int err, all = 0;

	child_mount_disk(b->dir, "size=24m");
	for (int i = 0; i < 20; i++)
		p[i] = (struct tkw_put){ .payload = payload,
					 .payload_len = sizeof(payload) };
	MUST(tkw_queues_open(&b->f, b->path, &b->cfg) == 0);
	MUST(tkw_queue_open(&b->q, b->f, "q") == 0);
	for (int round = 0; round < 3; round++) {
		while ((err = tkw_queue_put(b->q, p, 20, NULL)) == 0)
			all += 20;
		MUST(err == -ENOSPC && all >= 1000);
		MUST(drain(b) == all);
		/* The journal is compacted, at the latest a second after the
		 * last write that failed. */
		for (all = 0; all < 1000; all += err ? 0 : 20) {
			err = tkw_queue_put(b->q, p, 20, NULL);
			MUST(err == 0 || err == -ENOSPC);
			if (err)
				usleep(10000);
		}
	}
	MUST(tkw_queues_check(b->f) == NULL);
	MUST(tkw_queues_close(b->f) == 0);
}

/* SPEC 11.22: acks succeed, and then puts do. */
static void test_file_on_a_full_disk_comes_back(void **state)
{
	struct bed *b = *state;

	close_file(b);
	child_run(fill_disk, b);
}

/* Here no file can be as large as the reserve. */
static void work_with_small_files(void *bed)
{
	struct bed *b = bed;
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	char reserve[128];

	MUST(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	MUST(tkw_queues_open(&b->f, b->path, &b->cfg) == 0);
	MUST(tkw_queue_open(&b->q, b->f, "q") == 0);
	MUST(tkw_queue_put(b->q, &p, 1, NULL) == 0);
	MUST(drain(b) == 1);
	snprintf(reserve, sizeof(reserve), "%s-reserve", b->path);
	MUST(access(reserve, F_OK) == -1 && errno == ENOENT);
	MUST(tkw_queues_close(b->f) == 0);
}

/* Only a full disk is a reason to refuse puts. */
static void test_file_whose_reserve_cannot_be_made_works(void **state)
{
	struct bed *b = *state;

	close_file(b);
	child_run(work_with_small_files, b);
}

/* --- no log --------------------------------------------------------------- */

/* Where SQLite cannot have a log, the open says so, not the first change. */
static void test_file_that_can_have_no_log_is_refused(void **state)
{
	struct bed *b = *state;
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	sqlite3_vfs *none = sqlite3_vfs_find("unix-none");
	struct tkw_queues *f = NULL;
	int err;

	if (!none)
		skip_because("SQLite has no VFS without a log");
	close_file(b);
	assert_int_equal(sqlite3_vfs_register(none, 1), SQLITE_OK);
	err = tkw_queues_open(&f, b->path, &b->cfg);
	assert_int_equal(sqlite3_vfs_register(usual, 1), SQLITE_OK);
	assert_int_equal(err, -EIO);
	assert_non_null(strstr(b->error, "cannot have a log"));
	open_file(b);
}

/* --- cancellation --------------------------------------------------------- */

struct opening {
	struct bed *b;
	bool done;
};

static void *open_and_close(void *arg)
{
	struct opening *o = arg;
	struct tkw_queues *f;

	pthread_cancel(pthread_self());
	o->done = tkw_queues_open(&f, o->b->path, &o->b->cfg) == 0 &&
		  tkw_queues_close(f) == 0;
	pthread_testcancel();
	return NULL;
}

/* A thread that is cancelled opens and closes the file first. */
static void test_file_open_and_close_are_not_cancelled(void **state)
{
	struct opening o = { .b = *state };
	pthread_t thread;
	void *result = NULL;

	close_file(o.b);
	assert_int_equal(pthread_create(&thread, NULL, open_and_close, &o), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_true(o.done);
	open_file(o.b);
}

/* --- fork ----------------------------------------------------------------- */

/* The child may close its copy: the parent goes on, and still has the lock. */
static void test_file_child_leaves_the_file_to_its_parent(void **state)
{
	struct bed *b = *state;
	struct tkw_queues *f = NULL;
	int status;
	pid_t pid;

	put(b, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct tkw_items *items;
		bool fine = tkw_queue_take(b->q, NULL, &items) == -EPERM &&
			    tkw_queues_close(b->f) == 0 &&
			    tkw_queues_open(&f, b->path, &b->cfg) == -EBUSY;

		_exit(fine ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(tkw_queues_open(&f, b->path, &b->cfg), -EBUSY);
	put(b, 0);
	reopen(b);
	assert_int_equal(stats(b).ready, 2);
}

#define BED_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_file_close_leaves_only_the_file),
		BED_TEST(test_file_has_one_owner),
		BED_TEST(test_file_open_refuses_bad_arguments),
		BED_TEST(test_file_that_is_none_is_refused),
		BED_TEST(test_file_has_one_owner_by_any_link),
		BED_TEST(test_file_that_is_damaged_is_left_as_it_is),
		BED_TEST(test_file_leases_survive_a_reopen),
		BED_TEST(test_file_two_queues_keep_their_items),
		BED_TEST(test_file_snapshot_cycle_under_load),
		BED_TEST(test_file_that_was_drained_is_short),
		BED_TEST(test_file_of_short_lives_stays_small),
		BED_TEST(test_file_on_a_full_disk_comes_back),
		BED_TEST(test_file_whose_reserve_cannot_be_made_works),
		BED_TEST(test_file_that_can_have_no_log_is_refused),
		BED_TEST(test_file_open_and_close_are_not_cancelled),
		BED_TEST(test_file_child_leaves_the_file_to_its_parent),
	};

	return status_with_skips(
		cmocka_run_group_tests_name("queue_file", tests, NULL, NULL));
}
