/* SPDX-License-Identifier: MIT */
/* proc_state.h - what a thread or a process does, as the system says. */
#ifndef TKW_TESTS_PROC_STATE_H
#define TKW_TESTS_PROC_STATE_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns the state letter in a stat file of /proc: 'S' asleep, 'Z' a zombie,
 * ... Returns '?' if there is none. */
char proc_state(const char *path);

/* Does a thread of this process sleep in the kernel? */
bool bed_is_asleep(pid_t tid);

#endif /* TKW_TESTS_PROC_STATE_H */
