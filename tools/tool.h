/* SPDX-License-Identifier: MIT */
/*
 * tool.h - what all commands of tkw share: exit statuses, error messages,
 * standard output, memory, and how a number is written.
 */
#ifndef TKW_TOOLS_TOOL_H
#define TKW_TOOLS_TOOL_H

#include <stdbool.h>
#include <stdint.h>

/* The exit status of tkw. */
enum {
	TOOL_EXIT_OK = 0,
	TOOL_EXIT_FAILURE = 1, /* it failed, or the result is bad */
	TOOL_EXIT_USAGE = 2    /* the command line is wrong */
};

/* Prints "tkw: " and the message as one line on standard error. Control bytes
 * in the message become question marks. */
void tool_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flushes standard output.
 *
 * Returns 0, or -1 if this or an earlier write failed. The user has been told,
 * once.
 */
int tool_flush(void);

/* Returns false if the machine has less memory than this, free or in use. */
bool tool_fits_memory(uint64_t bytes);

/* Writes a number as "1,234,567" to the end of buf. Returns the text. */
enum {
	TOOL_WORD = 40
};
const char *tool_word_count(char buf[TOOL_WORD], uint64_t n);

#endif /* TKW_TOOLS_TOOL_H */
