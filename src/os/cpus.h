/* SPDX-License-Identifier: MIT */
/* cpus.h - how many CPUs the process may use. */
#ifndef TKW_OS_CPUS_H
#define TKW_OS_CPUS_H

#include <stdint.h>

/* The number of CPUs in the process's affinity mask, limited by its cgroup's
 * quota. The quota is read once per process. */
uint32_t tkw__cpus(void);

#endif /* TKW_OS_CPUS_H */
