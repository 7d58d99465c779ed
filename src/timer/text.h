/* SPDX-License-Identifier: MIT */
/* text.h - prints times. */
#ifndef TKW_TIMER_TEXT_H
#define TKW_TIMER_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
	TKW__TIME_BYTES = 32
};

/* Prints a time in the largest unit that is not longer than the time, as in
 * "1.2 s" or "45 ms". size must be TKW__TIME_BYTES. */
void tkw__print_time(char *buf, size_t size, int64_t ns);

#endif /* TKW_TIMER_TEXT_H */
