/* SPDX-License-Identifier: MIT */
/* child.h - a test in a process of its own, which may have a small disk. */
#ifndef TKW_TESTS_CHILD_H
#define TKW_TESTS_CHILD_H

#include <stdbool.h>

/* Runs a function in a child, and fails unless the child comes to the end of
 * it. Skips the test if the machine does not allow a small disk. */
void child_run(void (*fn)(void *ctx), void *ctx);

/* In a child: mounts a tmpfs on a folder, for this process alone.
 *
 * size  An option of mount, such as "size=24m". */
void child_mount_disk(const char *dir, const char *size);

/* In a child: ends it, and names the line, unless the condition holds. */
void child_must(bool condition, const char *file, int line);

#define MUST(condition) child_must(condition, __FILE__, __LINE__)

#endif /* TKW_TESTS_CHILD_H */
