/* SPDX-License-Identifier: MIT */
/*
 * tool.h - what all commands of tkw share: exit statuses, error messages,
 * standard output, memory, and how a number is written.
 */
#ifndef TKW_TOOLS_TOOL_H
#define TKW_TOOLS_TOOL_H

#include <stdbool.h>
#include <stdint.h>

/* How tkw ends. */
enum {
	TOOL_EXIT_OK = 0,
	TOOL_EXIT_FAILURE = 1, /* it went wrong, or the result is bad */
	TOOL_EXIT_USAGE = 2    /* the command line is wrong */
};

/* Print "tkw: " and the message as one line on standard error. Control bytes in
 * it become question marks. */
void tool_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flush standard output.
 *
 * Return  0, or -1: this or an earlier write failed; the user has been told,
 *         once.
 */
int tool_flush(void);

/* False if the machine has less memory than this, free or in use. */
bool tool_fits_memory(uint64_t bytes);

/* Write a number as "1,234,567". Return the text, which is in buf. */
enum {
	TOOL_WORD = 40
};
const char *tool_word_count(char buf[TOOL_WORD], uint64_t n);

#endif /* TKW_TOOLS_TOOL_H */
