/* SPDX-License-Identifier: MIT */
/* text.c - prints times. */
#include "timer/text.h"

#include <stdio.h>

#include "tickwheel/timer.h"

void tkw__print_time(char *buf, size_t size, int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = {
		{ INT64_C(24) * 3600 * TKW_SEC, "d" },
		{ 3600 * TKW_SEC, "h" },
		{ 60 * TKW_SEC, "min" },
		{ TKW_SEC, "s" },
		{ TKW_MSEC, "ms" },
		{ TKW_USEC, "us" },
		{ 1, "ns" },
	};
	size_t i = 0;
	int64_t tenths;
	int64_t count;

	while (ns < units[i].ns && units[i].ns > 1)
		i++;
	/* Below ten, print a tenth, unless it is zero. */
	tenths = (ns % units[i].ns * 10 + units[i].ns / 2) / units[i].ns;
	count = ns / units[i].ns + tenths / 10;
	if (count < 10 && tenths % 10 != 0)
		snprintf(buf, size, "%d.%d %s", (int)count, (int)tenths,
			 units[i].name);
	else
		snprintf(buf, size, "%lld %s", (long long)count, units[i].name);
}
