/* SPDX-License-Identifier: MIT */
/* proc_state.c - reads /proc; see proc_state.h. */
#include "proc_state.h"

#include <stdio.h>
#include <string.h>

char proc_state(const char *path)
{
	char text[512];
	const char *state;
	size_t n;
	FILE *f = fopen(path, "r");

	if (!f)
		return '?';
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "TID (NAME) STATE ...". The name may contain any character. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' ? state[2] : '?';
}

bool bed_is_asleep(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	return proc_state(path) == 'S';
}
