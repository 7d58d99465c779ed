/* SPDX-License-Identifier: MIT */
/* child.c - a test in a process of its own. */
#define _GNU_SOURCE
#include "child.h"

/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skips.h"

enum {
	NOT_ALLOWED = 77
};

void child_run(void (*fn)(void *ctx), void *ctx)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		fn(ctx);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_ALLOWED)
		skip_because("this process must not mount a tmpfs");
	assert_int_equal(WEXITSTATUS(status), 0);
}

void child_mount_disk(const char *dir, const char *size)
{
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tkw", dir, "tmpfs", 0, size) != 0)
		_exit(NOT_ALLOWED);
}

void child_must(bool condition, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d\n", file, line);
	_exit(1);
}
