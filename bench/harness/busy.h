/* SPDX-License-Identifier: MIT */
/* busy.h - how many CPUs other processes use. */
#ifndef TKW_BUSY_H
#define TKW_BUSY_H

/* More than this, and figures of a disk are not to be trusted: a thread that
 * waits for the disk then also waits for a CPU. */
#define BENCH_BUSY_CPUS 0.2

/* Sleeps for a tenth of a second. Returns how many CPUs were in use meanwhile.
 * Call it while no entrant runs. Returns 0 if the system does not say. */
double bench_busy_cpus(void);

#endif /* TKW_BUSY_H */
