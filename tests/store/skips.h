/* SPDX-License-Identifier: MIT */
/*
 * skips.h - tests that the machine does not allow.
 *
 * ctest sees only the exit status of a program. So a program with a test that
 * was skipped, and no failure, ends with 77.
 */
#ifndef TKW_TESTS_SKIPS_H
#define TKW_TESTS_SKIPS_H

/* Skips the test that runs, and says why. */
void skip_because(const char *why);

/* The exit status, from the number of tests that have failed. */
int status_with_skips(int failed);

#endif /* TKW_TESTS_SKIPS_H */
