/* SPDX-License-Identifier: MIT */
/* tool.c - small functions that all commands of tkw share. */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void tool_complain(const char *fmt, ...)
{
	char line[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* The message may quote what the user typed. Control bytes must not
	 * break the line or reach the terminal. */
	for (char *p = line; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	(void)fprintf(stderr, "tkw: %s\n", line);
}

int tool_flush(void)
{
	static bool told;
	int err;

	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	err = errno ? errno : EIO;
	if (!told)
		tool_complain("standard output: %s", strerror(err));
	told = true;
	return -1;
}

/* The kernel grants more memory than there is, and may later kill the process
 * that uses it. */
bool tool_fits_memory(uint64_t bytes)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);

	return pages <= 0 || page <= 0 ||
	       bytes / (uint64_t)page < (uint64_t)pages;
}

const char *tool_word_count(char buf[TOOL_WORD], uint64_t n)
{
	char *p = &buf[TOOL_WORD - 1];
	int digits = 0;

	*p = '\0';
	do {
		if (digits > 0 && digits % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + n % 10);
		digits++;
		n /= 10;
	} while (n > 0);
	return p;
}
