/* SPDX-License-Identifier: MIT */
/*
 * test_store_faults.c - writes and syncs that fail, one by one; a process that
 * is killed at each of them; a full disk.
 */
#define _GNU_SOURCE
#include "store_bed.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "shim_vfs.h"
#include "skips.h"
#include "store/reserve.h"
#include "store/sqlite.h"

enum {
	BATCHES = 10
};

/* The sizes of the batches, the same in each round. */
static size_t batch_size(int n)
{
	return 1 + (size_t)n * 7 % 23;
}

/* Few rows stay, so the table is emptied for them. */
static int compact_at_once(struct store_bed *b)
{
	struct tkw__base base = { 80, 82 };
	int err;

	tkw__sqlite_of(b->s)->piece = 5;
	err = b->s->ops->compact(b->s, &base, UINT64_MAX);
	assert_int_equal(tkw__sqlite_of(b->s)->too_much, 0);
	assert_true(err <= 0);
	return err;
}

/* A checkpoint after each third batch, and two compactions. */
static int do_batch(struct store_bed *b, int n)
{
	struct tkw__base base = { 20, 30 };
	int err = 0;

	if (n == 4)
		err = b->s->ops->compact(b->s, &base, 1000);
	if (n == 7)
		err = compact_at_once(b);
	if (err)
		return err;
	if (n % 3 == 2)
		tkw__sqlite_of(b->s)->next = 1;
	return bed_append(b, batch_size(n));
}

static void start_again(struct store_bed *b)
{
	static const char *const all[] = { "", "-wal", "-shm", "-journal" };

	for (int i = 0; i < 4; i++)
		bed_remove(b, all[i]);
	bed_rows_free(&b->wrote);
	b->random = b->seed;
}

/* --- kills ---------------------------------------------------------------- */

/* Opens, appends and closes. Tells by the pipe how many batches have been
 * answered. */
static void run_child(struct store_bed *b, const struct shim_plan *plan, int fd)
{
	char answered = 0;

	shim_vfs_install();
	shim_vfs_plan(plan);
	if (bed_open(b) != 0)
		_exit(1);
	for (int n = 0; n < BATCHES; n++) {
		if (do_batch(b, n) != 0)
			_exit(2);
		if (write(fd, &answered, 1) != 1)
			_exit(3);
	}
	bed_close(b);
	_exit(0);
}

/* Returns how many batches were answered; *killed tells if it was. */
static int run(struct store_bed *b, const struct shim_plan *plan, bool *killed)
{
	int fds[2];
	char answers[BATCHES];
	ssize_t got;
	int answered = 0;
	int status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_child(b, plan, fds[1]);
	close(fds[1]);
	while ((got = read(fds[0], answers, sizeof(answers))) > 0)
		answered += (int)got;
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	*killed = WIFSIGNALED(status);
	if (*killed)
		assert_int_equal(WTERMSIG(status), SIGKILL);
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	return answered;
}

/* The rows are those of all batches that were answered, and perhaps those of
 * the next one, all of them. */
static bool has_answered(struct store_bed *b, int answered)
{
	struct bed_rows r;
	bool good;

	assert_int_equal(bed_open(b), 0);
	for (int n = 0; n < answered; n++)
		bed_expect(b, batch_size(n));
	assert_int_equal(bed_replay(b, &r), 0);
	good = bed_is_equal(b, &r, 0);
	if (!good && answered < BATCHES) {
		bed_expect(b, batch_size(answered));
		good = bed_is_equal(b, &r, 0);
	}
	bed_rows_free(&r);
	/* And it can be used. */
	if (good)
		good = bed_append(b, 3) == 0;
	if (good)
		bed_check(b);
	bed_close(b);
	return good;
}

static void sweep_kills(struct store_bed *b, enum shim_call call,
			enum shim_act act, const char *what)
{
	struct shim_plan plan = { .call = call, .act = act };
	bool killed = true;
	uint64_t n = 0;

	while (killed) {
		int answered;

		plan.at = ++n;
		start_again(b);
		answered = run(b, &plan, &killed);
		if (!has_answered(b, answered))
			fail_msg("%s %llu: %d batches were answered", what,
				 (unsigned long long)n, answered);
	}
	print_message("killed at each of %llu: %s\n", (unsigned long long)n - 1,
		      what);
	assert_true(n > 20);
}

static void test_store_killed_at_each_write(void **state)
{
	sweep_kills(*state, SHIM_WRITE, SHIM_KILL, "before a write");
}

static void test_store_killed_inside_each_write(void **state)
{
	sweep_kills(*state, SHIM_WRITE, SHIM_TEAR, "in a write");
}

static void test_store_killed_before_each_sync(void **state)
{
	sweep_kills(*state, SHIM_SYNC, SHIM_KILL, "before a sync");
}

static void test_store_killed_after_each_sync(void **state)
{
	sweep_kills(*state, SHIM_SYNC, SHIM_TEAR, "after a sync");
}

/* --- errors --------------------------------------------------------------- */

static int shim_begin(void **state)
{
	shim_vfs_install();
	return store_bed_begin(state);
}

static int shim_end(void **state)
{
	int err = store_bed_end(state);

	shim_vfs_remove();
	return err;
}

/* A batch that found no room is not there, and the next one works. */
static void test_store_full_disk_at_each_write(void **state)
{
	struct store_bed *b = *state;
	struct shim_plan plan = { .call = SHIM_WRITE,
				  .act = SHIM_FAIL,
				  .code = SQLITE_FULL };
	uint64_t told = 0;
	uint64_t hits = 1;

	while (hits) {
		start_again(b);
		plan.at++;
		shim_vfs_plan(&plan);
		if (bed_open(b) != 0) {
			assert_int_equal(bed_open(b), 0);
			told++;
		}
		for (int n = 0; n < BATCHES; n++) {
			int err = do_batch(b, n);

			if (err) {
				assert_int_equal(err, -ENOSPC);
				assert_true(b->s->why[0] != 0);
				assert_int_equal(do_batch(b, n), 0);
				told++;
			}
			bed_check(b);
		}
		hits = shim_vfs_hits();
		bed_close(b);
		assert_int_equal(bed_open(b), 0);
		bed_check(b);
		bed_close(b);
	}
	print_message("full at each of %llu writes, told %llu times\n",
		      (unsigned long long)plan.at - 1,
		      (unsigned long long)told);
	assert_true(told > 20);
}

/* SPEC 11.22: after a failed sync or write, all calls fail until a reopen; then
 * all that was answered is there, and the batch in doubt is there or not. */
static void fail_round(struct store_bed *b, uint64_t *dead)
{
	int n = 0;
	int err = bed_open(b);
	uint64_t seed = b->random;

	while (!err && n < BATCHES) {
		seed = b->random;
		err = do_batch(b, n);
		n += !err;
	}
	if (b->s && err) {
		assert_int_equal(err, -EIO);
		shim_vfs_plan(NULL);
		assert_int_equal(bed_append(b, 1), -EIO);
		assert_true(b->s->why[0] != 0);
		(*dead)++;
	}
	shim_vfs_plan(NULL);
	if (b->s)
		bed_close(b);
	b->random = seed;
	assert_int_equal(bed_open(b), 0);
}

static void sweep_errors(struct store_bed *b, enum shim_call call, int code)
{
	struct shim_plan plan = { .call = call,
				  .act = SHIM_FAIL,
				  .code = code };
	uint64_t dead = 0;
	uint64_t calls = 0;

	do {
		struct bed_rows r;
		size_t answered;

		start_again(b);
		plan.at++;
		shim_vfs_plan(&plan);
		fail_round(b, &dead);
		answered = b->wrote.count;
		assert_int_equal(bed_replay(b, &r), 0);
		if (!bed_is_equal(b, &r, 0)) {
			/* The batch in doubt. */
			size_t more = r.count;

			if (r.base.first)
				more += (size_t)r.base.first - 1;
			assert_true(more > answered);
			bed_expect(b, more - answered);
			assert_true(bed_is_equal(b, &r, 0));
		}
		bed_rows_free(&r);
		bed_close(b);
		calls++;
	} while (calls < 200);
	print_message("errors at %llu calls, dead after %llu\n",
		      (unsigned long long)calls, (unsigned long long)dead);
	assert_true(dead > 5);
}

static void test_store_is_dead_after_a_failed_sync(void **state)
{
	sweep_errors(*state, SHIM_SYNC, SQLITE_IOERR_FSYNC);
}

static void test_store_is_dead_after_a_failed_write(void **state)
{
	sweep_errors(*state, SHIM_WRITE, SQLITE_IOERR_WRITE);
}

/* SPEC 11.22: an answer comes after a sync. Without syncs there is none. */
static void test_store_each_batch_is_synced(void **state)
{
	struct store_bed *b = *state;

	for (int round = 0; round < 2; round++) {
		b->to_system = round == 1;
		assert_int_equal(bed_open(b), 0);
		assert_int_equal(bed_append(b, 5), 0);
		for (int n = 0; n < 20; n++) {
			shim_vfs_plan(NULL);
			assert_int_equal(bed_append(b, 5), 0);
			assert_true(shim_vfs_count(SHIM_WRITE) > 0);
			if (shim_vfs_count(SHIM_SYNC) != (round == 0))
				fail_msg("batch %d was answered after %d syncs",
					 n, (int)shim_vfs_count(SHIM_SYNC));
		}
		bed_close(b);
	}
}

/* A sync of the log that fails for lack of room leaves doubt, too. */
static void test_store_failed_sync_is_for_ever(void **state)
{
	struct store_bed *b = *state;
	struct shim_plan plan = { .call = SHIM_SYNC,
				  .act = SHIM_FAIL,
				  .at = 1,
				  .code = SQLITE_IOERR_FSYNC };
	struct tkw__base base = { 1, 0 };

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 5), 0);
	shim_vfs_plan(&plan);
	assert_int_equal(bed_append(b, 5), -EIO);
	for (int i = 0; i < 3; i++)
		assert_int_equal(bed_append(b, 5), -EIO);
	assert_int_equal(b->s->ops->compact(b->s, &base, 1), -EIO);
	assert_int_equal(shim_vfs_hits(), 1);
}

/* SPEC 11.22: what was answered after a reopen survives a loss of power. The
 * batch whose sync has failed can be read then, and is not on the disk. */
static void test_store_stands_on_no_lost_batch(void **state)
{
	struct store_bed *b = *state;
	struct shim_plan plan = { .call = SHIM_SYNC,
				  .act = SHIM_FAIL,
				  .at = 1,
				  .code = SQLITE_IOERR_FSYNC };
	struct bed_file file, log;
	struct bed_rows r;
	uint64_t seed;

	assert_int_equal(bed_open(b), 0);
	for (int n = 0; n < 4; n++)
		assert_int_equal(bed_append(b, 5), 0);
	seed = b->random;
	shim_vfs_plan(&plan);
	assert_int_equal(bed_append(b, 5), -EIO);
	shim_vfs_plan(NULL);
	log = bed_load(b, "-wal");
	assert_true(shim_vfs_lose(log.bytes, log.len) > 0);
	free(log.bytes);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_replay(b, &r), 0);
	b->random = seed;
	if (r.count > b->wrote.count)
		bed_expect(b, 5);
	assert_true(bed_is_equal(b, &r, 0));
	bed_rows_free(&r);
	for (int n = 0; n < 4; n++)
		assert_int_equal(bed_append(b, 5), 0);
	/* The power fails. */
	file = bed_load(b, "");
	log = bed_load(b, "-wal");
	(void)shim_vfs_lose(log.bytes, log.len);
	bed_close(b);
	bed_remove(b, "-shm");
	bed_save(b, "", file);
	bed_save(b, "-wal", log);
	free(file.bytes);
	free(log.bytes);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

/* --- a disk that is full for real ----------------------------------------- */

/* Appends acks, one in a batch; returns how many were answered. */
static int append_acks(struct store_bed *b, int max)
{
	struct tkw__row row = { .queue = 1 };
	uint64_t last;
	int n;

	tkw__queue_log_clear(&b->log);
	bed_make(b, TKW__RECORD_ACK);
	row.record = b->log.bytes;
	row.len = b->log.len;
	for (n = 0; n < max; n++) {
		int err = b->s->ops->append(b->s, &row, 1, &last);

		if (err == -ENOSPC)
			break;
		MUST(err == 0);
	}
	return n;
}

/* In a process and a mount of its own. */
static void fill_disk(void *bed)
{
	struct store_bed *b = bed;
	struct tkw__reserve r;
	struct bed_rows got;
	size_t rows = 0;
	int err;

	child_mount_disk(b->dir, "size=12m");
	MUST(tkw__reserve_open(&r, b->path, 4 << 20) == 0 && r.held);
	MUST(bed_open(b) == 0);
	while ((err = bed_append(b, 30)) == 0)
		rows += 30;
	MUST(err == -ENOSPC && rows > 1000);
	MUST(bed_append(b, 30) == -ENOSPC);
	MUST(tkw__reserve_give(&r) && !r.held);
	/* Far more than the log alone could take. */
	MUST(append_acks(b, 20000) == 20000);
	MUST(!tkw__reserve_get(&r) || r.held);
	bed_close(b);
	MUST(bed_open(b) == 0);
	MUST(bed_replay(b, &got) == 0);
	MUST(got.count == rows + 20000);
	tkw__reserve_close(&r);
}

/* SPEC 11.22: acks succeed on a full disk while there is a reserve. */
static void test_store_acks_on_a_full_disk(void **state)
{
	child_run(fill_disk, *state);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_bed_begin, store_bed_end)
#define TEST_SHIM(name)                                                        \
	cmocka_unit_test_setup_teardown(name, shim_begin, shim_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store_killed_at_each_write),
		TEST(test_store_killed_inside_each_write),
		TEST(test_store_killed_before_each_sync),
		TEST(test_store_killed_after_each_sync),
		TEST_SHIM(test_store_full_disk_at_each_write),
		TEST_SHIM(test_store_each_batch_is_synced),
		TEST_SHIM(test_store_is_dead_after_a_failed_sync),
		TEST_SHIM(test_store_is_dead_after_a_failed_write),
		TEST_SHIM(test_store_failed_sync_is_for_ever),
		TEST_SHIM(test_store_stands_on_no_lost_batch),
		TEST(test_store_acks_on_a_full_disk),
	};

	return status_with_skips(cmocka_run_group_tests(tests, NULL, NULL));
}
