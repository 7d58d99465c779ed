/* SPDX-License-Identifier: MIT */
/*
 * plan_times.c - answers for test_croniter.py: reads lines with a time in
 * seconds and a plan, and prints for each line the next times of the plan and
 * the previous one, in seconds, or "refused".
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tickwheel/calendar.h"

enum {
	COUNT = 10
};

static void answer(const char *text, int64_t after_ms)
{
	struct tkw_plan *p = NULL;
	int64_t out_ms[COUNT];
	int count;
	int i;

	if (tkw_plan_create(&p, text, NULL, NULL) < 0) {
		puts("refused");
		return;
	}
	count = tkw_plan_list(p, after_ms, out_ms, COUNT);
	for (i = 0; i < count; i++)
		printf("%" PRId64 " ", out_ms[i] / 1000);
	if (tkw_plan_previous(p, after_ms, out_ms) == 0)
		printf("%" PRId64, out_ms[0] / 1000);
	putchar('\n');
	tkw_plan_destroy(p);
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		char *text;
		int64_t after_s = strtoll(line, &text, 10);

		line[strcspn(line, "\n")] = 0;
		answer(text, after_s * 1000);
	}
	return 0;
}
