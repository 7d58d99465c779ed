/* SPDX-License-Identifier: MIT */
/* text.h - times in words. */
#ifndef TKW_TIMER_TEXT_H
#define TKW_TIMER_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
	TKW__TIME_BYTES = 32
};

/* A time in the largest unit of which there is one: "1.2 s", "45 ms". size:
 * TKW__TIME_BYTES. */
void tkw__print_time(char *buf, size_t size, int64_t ns);

#endif /* TKW_TIMER_TEXT_H */
