/* SPDX-License-Identifier: MIT */
/*
 * queue_folder.c - the folder of a sample, and the files in it. It lies beside
 * the program, or in $TKW_BENCH_DIR. All entrants are measured there, so all on
 * the same disk.
 */
#include "queue_bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder is called bench_queue.PID.XXXXXX. */
static const char prefix[] = "bench_queue.";

static void find_base(char base[QUEUE_DIR_MAX])
{
	const char *wanted = getenv("TKW_BENCH_DIR");
	char exe[PATH_MAX];
	ssize_t len;

	if (wanted && *wanted) {
		(void)snprintf(base, QUEUE_DIR_MAX, "%s", wanted);
		return;
	}
	len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (len <= 0)
		rival_die("/proc/self/exe cannot be read");
	exe[len] = '\0';
	*strrchr(exe, '/') = '\0';
	if (strlen(exe) >= QUEUE_DIR_MAX / 2)
		rival_die("the program's path is too long; set TKW_BENCH_DIR");
	(void)snprintf(base, QUEUE_DIR_MAX, "%.*s", QUEUE_DIR_MAX / 2, exe);
}

void queue_folder_make(char dir[QUEUE_DIR_MAX])
{
	char base[QUEUE_DIR_MAX];
	int len;

	find_base(base);
	len = snprintf(dir, QUEUE_DIR_MAX, "%s/%s%d.XXXXXX", base, prefix,
		       (int)getpid());
	if (len >= QUEUE_DIR_MAX || mkdtemp(dir) == NULL)
		rival_die("cannot make a folder; set TKW_BENCH_DIR");
}

typedef void file_fn(int dir_fd, const char *name, void *ctx);

/* Calls fn for each file of a folder. */
static void each_file(const char *dir, file_fn *fn, void *ctx)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	if (d == NULL)
		return;
	while ((entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			fn(dirfd(d), entry->d_name, ctx);
	}
	(void)closedir(d);
}

static void remove_file(int dir_fd, const char *name, void *ctx)
{
	(void)ctx;
	(void)unlinkat(dir_fd, name, 0);
}

void queue_folder_remove(const char *dir)
{
	each_file(dir, remove_file, NULL);
	(void)rmdir(dir);
}

static void add_bytes(int dir_fd, const char *name, void *ctx)
{
	uint64_t *bytes = ctx;
	struct stat st;

	/* A file may go away meanwhile. */
	if (fstatat(dir_fd, name, &st, 0) == 0)
		*bytes += (uint64_t)st.st_blocks * 512;
}

uint64_t queue_folder_bytes(const char *dir)
{
	uint64_t bytes = 0;

	each_file(dir, add_bytes, &bytes);
	return bytes;
}

static void cool_file(int dir_fd, const char *name, void *ctx)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

	(void)ctx;
	if (fd < 0)
		return;
	/* Only pages that are on the disk can be dropped. */
	(void)fdatasync(fd);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)close(fd);
}

void queue_folder_cool(const char *dir)
{
	each_file(dir, cool_file, NULL);
}

static void sweep_one(int dir_fd, const char *name, void *ctx)
{
	const char *base = ctx;
	char dir[QUEUE_DIR_MAX];
	char *end;
	long pid;

	(void)dir_fd;
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return;
	pid = strtol(name + sizeof(prefix) - 1, &end, 10);
	if (*end != '.' || pid <= 0 || kill((pid_t)pid, 0) == 0 ||
	    errno != ESRCH)
		return;
	if (snprintf(dir, sizeof(dir), "%s/%s", base, name) < QUEUE_DIR_MAX)
		queue_folder_remove(dir);
}

void queue_folder_sweep(void)
{
	char base[QUEUE_DIR_MAX];

	find_base(base);
	each_file(base, sweep_one, base);
}
