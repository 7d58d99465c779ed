/* SPDX-License-Identifier: MIT */
/* cpus.h - how many CPUs there are for the process. */
#ifndef TKW_OS_CPUS_H
#define TKW_OS_CPUS_H

#include <stdint.h>

/* How many CPUs the process may use: its affinity, and its cgroup's quota,
 * which is read once in the life of the process. */
uint32_t tkw__cpus(void);

#endif /* TKW_OS_CPUS_H */
