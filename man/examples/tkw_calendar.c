/* SPDX-License-Identifier: MIT */
/*
 * Prints a plan in words and its next three times. On one of the
 * days, the clocks go forward.
 */
#include <stdio.h>
#include <tickwheel/calendar.h>

int main(void)
{
	const int64_t after_ms = 1774612800000; /* 2026-03-27T12:00Z */
	struct tkw_plan_error error;
	struct tkw_zone *zone;
	struct tkw_plan *plan;
	int64_t next_ms[3];
	char text[128];

	if (tkw_plan_create(&plan, "30 2 32 * *", NULL, &error) != 0)
		printf("at %d: %s\n", (int)error.position, error.text);
	if (tkw_zone_open(&zone, "Europe/Berlin", NULL) != 0 ||
	    tkw_plan_create(&plan, "30 2 * * *", zone, NULL) != 0)
		return 1;
	tkw_plan_print(plan, text, sizeof(text));
	printf("%s\n", text);
	if (tkw_plan_list(plan, after_ms, next_ms, 3) != 3)
		return 1;
	for (int i = 0; i < 3; i++) {
		tkw_zone_print(zone, next_ms[i], text, sizeof(text));
		printf("%s\n", text);
	}
	tkw_plan_destroy(plan);
	return tkw_zone_close(zone);
}
