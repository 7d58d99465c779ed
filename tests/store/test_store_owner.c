/* SPDX-License-Identifier: MIT */
/*
 * test_store_owner.c - the lock of a file's owner, the reserve, and folders and
 * files that must not be written to.
 */
#define _GNU_SOURCE
#include "store_bed.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skips.h"
#include "store/beside.h"
#include "store/lock.h"
#include "store/reserve.h"

enum {
	NOBODY = 65534
};

static bool is_there(const struct store_bed *b, const char *suffix)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s", b->path, suffix);
	return access(name, F_OK) == 0;
}

/* Starts a process that takes the lock, and returns when it has it. */
static pid_t start_owner(struct store_bed *b)
{
	struct tkw__file_lock lock;
	int fds[2];
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (tkw__file_lock_take(&lock, b->path, NULL) != 0 ||
		    write(fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return child;
}

static void end_owner(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
}

/* SPEC 11.20: -EBUSY and the owner's pid; a dead owner's lock is taken over. */
static void test_store_second_process_is_refused(void **state)
{
	struct store_bed *b = *state;
	struct tkw__file_lock lock;
	int64_t pid = 0;
	pid_t owner = start_owner(b);

	assert_int_equal(tkw__file_lock_take(&lock, b->path, &pid), -EBUSY);
	assert_int_equal(pid, owner);
	end_owner(owner);
	assert_true(is_there(b, "-lock"));
	assert_int_equal(tkw__file_lock_take(&lock, b->path, &pid), 0);
	tkw__file_lock_drop(&lock);
	assert_false(is_there(b, "-lock"));
}

static void test_store_same_process_is_refused(void **state)
{
	struct store_bed *b = *state;
	struct tkw__file_lock one, two;
	int64_t pid = 0;

	assert_int_equal(tkw__file_lock_take(&one, b->path, NULL), 0);
	assert_int_equal(tkw__file_lock_take(&two, b->path, &pid), -EBUSY);
	assert_int_equal(pid, getpid());
	tkw__file_lock_drop(&two);
	assert_int_equal(tkw__file_lock_take(&two, b->path, &pid), -EBUSY);
	tkw__file_lock_drop(&one);
	assert_int_equal(tkw__file_lock_take(&two, b->path, &pid), 0);
	tkw__file_lock_drop(&two);
	tkw__file_lock_drop(&two);
}

/* The lock is that of the file, by whatever name it is reached. */
static void test_store_lock_follows_links(void **state)
{
	struct store_bed *b = *state;
	char link[192], old[512];
	char *direct, *linked, *relative, *missing;

	snprintf(link, sizeof(link), "%s/link", b->dir);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(symlink(b->path, link), 0);
	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(b->dir), 0);
	assert_int_equal(tkw__real_path(&direct, b->path), 0);
	assert_int_equal(tkw__real_path(&linked, link), 0);
	assert_int_equal(tkw__real_path(&relative, "q"), 0);
	assert_int_equal(tkw__real_path(&missing, "new"), 0);
	assert_int_equal(chdir(old), 0);
	assert_string_equal(direct, linked);
	assert_string_equal(direct, relative);
	assert_non_null(strstr(missing, "/new"));
	assert_int_equal(missing[0], '/');
	assert_int_equal(tkw__real_path(&missing, "/no/such/folder"), -ENOENT);
	assert_int_equal(tkw__real_path(&missing, ""), -ENOENT);
	assert_int_equal(tkw__real_path(&missing, "/tmp/"), -EISDIR);
	free(direct);
	free(linked);
	free(relative);
	free(missing);
}

static void check_real_path(const char *path, const char *real)
{
	char *got;

	assert_int_equal(tkw__real_path(&got, path), 0);
	assert_string_equal(got, real);
	free(got);
}

/* A link may be made before its file. */
static void test_store_lock_follows_links_to_no_file_yet(void **state)
{
	struct store_bed *b = *state;
	char one[192], two[192], far[192], loop[192];
	char *none;

	snprintf(one, sizeof(one), "%s/one", b->dir);
	snprintf(two, sizeof(two), "%s/two", b->dir);
	snprintf(far, sizeof(far), "%s/far", b->dir);
	snprintf(loop, sizeof(loop), "%s/loop", b->dir);
	assert_int_equal(symlink(b->path, one), 0);
	assert_int_equal(symlink("one", two), 0);
	assert_int_equal(symlink("none/q", far), 0);
	assert_int_equal(symlink("loop", loop), 0);
	check_real_path(one, b->path);
	check_real_path(two, b->path);
	assert_int_equal(tkw__real_path(&none, far), -ENOENT);
	assert_int_equal(tkw__real_path(&none, loop), -ELOOP);
	/* And now it is there. */
	assert_int_equal(bed_open(b), 0);
	check_real_path(two, b->path);
}

/* A child of the owner has the lock, and the owner has died: its pid would help
 * nobody. */
static void test_store_dead_owner_is_not_named(void **state)
{
	struct store_bed *b = *state;
	struct tkw__file_lock lock;
	int64_t pid = 7;
	int fds[2];
	char byte = 0;
	pid_t owner, child = 0;
	int err;

	assert_int_equal(pipe(fds), 0);
	owner = fork();
	assert_true(owner >= 0);
	if (owner == 0) {
		if (tkw__file_lock_take(&lock, b->path, NULL) != 0)
			_exit(1);
		child = fork();
		if (child != 0)
			_exit(write(fds[1], &child, sizeof(child)) !=
			      sizeof(child));
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(waitpid(owner, NULL, 0), owner);
	err = tkw__file_lock_take(&lock, b->path, &pid);
	kill(child, SIGKILL);
	assert_int_equal(err, -EBUSY);
	assert_int_equal(pid, 0);
	/* The pipe ends with the child. */
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
}

/* Many at once: one of them has it at a time. Each removes the file. */
static void test_store_lock_is_held_by_one(void **state)
{
	struct store_bed *b = *state;
	pid_t child[4];

	for (int i = 0; i < 4; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] != 0)
			continue;
		for (int got = 0; got < 200;) {
			struct tkw__file_lock lock;
			int err = tkw__file_lock_take(&lock, b->path, NULL);
			char name[256];
			int fd;

			if (err == -EBUSY)
				continue;
			snprintf(name, sizeof(name), "%s-mine", b->path);
			fd = err ? -1 : open(name, O_CREAT | O_EXCL, 0600);
			if (fd < 0)
				_exit(1);
			close(fd);
			unlink(name);
			tkw__file_lock_drop(&lock);
			got++;
		}
		_exit(0);
	}
	for (int i = 0; i < 4; i++) {
		int status;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	assert_false(is_there(b, "-lock"));
}

static void test_store_child_leaves_the_lock(void **state)
{
	struct store_bed *b = *state;
	struct tkw__file_lock lock;
	int64_t pid = 0;
	int status;
	pid_t child;

	assert_int_equal(tkw__file_lock_take(&lock, b->path, NULL), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		tkw__file_lock_leave(&lock);
		_exit(tkw__file_lock_take(&lock, b->path, &pid) != -EBUSY ||
		      pid != getppid());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	tkw__file_lock_drop(&lock);
}

static int64_t blocks(const struct store_bed *b)
{
	struct stat st;
	char name[256];

	snprintf(name, sizeof(name), "%s-reserve", b->path);
	return stat(name, &st) == 0 ? (int64_t)st.st_blocks * 512 : -1;
}

static void test_store_reserve_takes_room(void **state)
{
	struct store_bed *b = *state;
	struct tkw__reserve r;

	assert_int_equal(tkw__reserve_open(&r, b->path, 1 << 20), 0);
	assert_true(r.held);
	assert_true(blocks(b) >= 1 << 20);
	assert_true(tkw__reserve_get(&r));
	assert_true(tkw__reserve_give(&r));
	assert_true(blocks(b) == 0);
	assert_false(tkw__reserve_give(&r));
	assert_true(tkw__reserve_get(&r));
	assert_true(blocks(b) >= 1 << 20);
	tkw__reserve_close(&r);
	assert_false(is_there(b, "-reserve"));
	tkw__reserve_close(&r);
}

static void test_store_no_reserve_is_wanted(void **state)
{
	struct store_bed *b = *state;
	struct tkw__reserve r;

	assert_int_equal(tkw__reserve_open(&r, b->path, -1), 0);
	assert_false(is_there(b, "-reserve"));
	assert_false(tkw__reserve_give(&r));
	assert_true(tkw__reserve_get(&r));
	tkw__reserve_close(&r);
}

/* More than the disk can have: not held, and nothing is left. If no file can be
 * as large as this, the reserve is given up. */
static void test_store_reserve_too_large(void **state)
{
	struct store_bed *b = *state;
	struct tkw__reserve r;

	assert_int_equal(tkw__reserve_open(&r, b->path, INT64_C(1) << 50), 0);
	assert_false(r.held);
	assert_true(blocks(b) == (r.path ? 0 : -1));
	assert_int_equal(tkw__reserve_get(&r), !r.path);
	assert_false(r.held);
	tkw__reserve_close(&r);
}

/* Runs fn as a user who may not write there; 0 is good. */
static void as_nobody(struct store_bed *b, int (*fn)(struct store_bed *b))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 &&
		    (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
			_exit(77);
		_exit(fn(b));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip_because("this process must not become another user");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int try_folder(struct store_bed *b)
{
	struct tkw__file_lock lock;
	struct tkw__reserve r;

	if (bed_open(b) != -EACCES || b->why[0] == 0)
		return 1;
	if (tkw__file_lock_take(&lock, b->path, NULL) != -EACCES)
		return 2;
	return tkw__reserve_open(&r, b->path, 100) != -EACCES ? 3 : 0;
}

static void test_store_in_a_read_only_folder(void **state)
{
	struct store_bed *b = *state;

	assert_int_equal(chmod(b->dir, 0555), 0);
	as_nobody(b, try_folder);
	assert_int_equal(chmod(b->dir, 0755), 0);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 3), 0);
	bed_close(b);
	/* Now with a file in it that can be written. */
	assert_int_equal(chmod(b->path, 0666), 0);
	assert_int_equal(chmod(b->dir, 0555), 0);
	as_nobody(b, try_folder);
	assert_int_equal(chmod(b->dir, 0755), 0);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

static int try_file(struct store_bed *b)
{
	return bed_open(b) == -EACCES && b->why[0] != 0 ? 0 : 1;
}

static void test_store_read_only_file(void **state)
{
	struct store_bed *b = *state;

	assert_int_equal(bed_open(b), 0);
	bed_close(b);
	assert_int_equal(chmod(b->dir, 0777), 0);
	assert_int_equal(chmod(b->path, 0444), 0);
	as_nobody(b, try_file);
}

static void test_store_no_such_folder(void **state)
{
	struct store_bed *b = *state;

	snprintf(b->path, sizeof(b->path), "%s/none/q", b->dir);
	assert_int_equal(bed_open(b), -ENOENT);
	assert_true(b->why[0] != 0);
	snprintf(b->path, sizeof(b->path), "%s", b->dir);
	assert_true(bed_open(b) < 0);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_bed_begin, store_bed_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store_second_process_is_refused),
		TEST(test_store_same_process_is_refused),
		TEST(test_store_lock_follows_links),
		TEST(test_store_lock_follows_links_to_no_file_yet),
		TEST(test_store_dead_owner_is_not_named),
		TEST(test_store_lock_is_held_by_one),
		TEST(test_store_child_leaves_the_lock),
		TEST(test_store_reserve_takes_room),
		TEST(test_store_no_reserve_is_wanted),
		TEST(test_store_reserve_too_large),
		TEST(test_store_in_a_read_only_folder),
		TEST(test_store_read_only_file),
		TEST(test_store_no_such_folder),
	};

	return status_with_skips(cmocka_run_group_tests(tests, NULL, NULL));
}
