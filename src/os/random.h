/* SPDX-License-Identifier: MIT */
/* random.h - bits that nobody can predict. */
#ifndef TKW_OS_RANDOM_H
#define TKW_OS_RANDOM_H

#include <stdint.h>

uint64_t tkw__random(void);

#endif /* TKW_OS_RANDOM_H */
