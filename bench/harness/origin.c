/* SPDX-License-Identifier: MIT */
/* origin.c - finds out where and when a run is measured; see origin.h. */
#include "origin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__clang__)
#define COMPILER __VERSION__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

enum {
	TEXT_MAX = 100
};

/* Copies the text up to the end of its line, without the characters that a JSON
 * string would have to escape. */
static void set_text(char to[TEXT_MAX], const char *from)
{
	size_t len = 0;

	for (; *from != '\0' && *from != '\n' && len < TEXT_MAX - 1; from++) {
		if (*from >= ' ' && *from <= '~' && *from != '"' &&
		    *from != '\\')
			to[len++] = *from;
	}
	to[len] = '\0';
	if (len == 0)
		(void)snprintf(to, TEXT_MAX, "unknown");
}

/* Not every processor has a "model name" in this file. */
static void find_cpu(char cpu[TEXT_MAX])
{
	static const char key[] = "model name";
	FILE *from = fopen("/proc/cpuinfo", "re");
	char line[256];

	set_text(cpu, "");
	if (from == NULL)
		return;
	while (fgets(line, sizeof(line), from)) {
		const char *value = strchr(line, ':');

		if (value && strncmp(line, key, sizeof(key) - 1) == 0) {
			value++;
			set_text(cpu, value + strspn(value, " "));
			break;
		}
	}
	(void)fclose(from);
}

/* Writes a text like "Linux 6.1.0". Leaves out what a distributor has added to
 * the version. */
static void find_kernel(char kernel[TEXT_MAX])
{
	struct utsname u;
	char text[2 * sizeof(u.sysname)];

	set_text(kernel, "");
	if (uname(&u) != 0)
		return;
	u.release[strcspn(u.release, "-+")] = '\0';
	(void)snprintf(text, sizeof(text), "%s %s", u.sysname, u.release);
	set_text(kernel, text);
}

static void find_date(char date[TEXT_MAX])
{
	time_t now = time(NULL);
	struct tm utc;

	set_text(date, "");
	if (gmtime_r(&now, &utc))
		(void)strftime(date, TEXT_MAX, "%Y-%m-%d", &utc);
}

void bench_origin_write(FILE *json)
{
	const char *given = getenv("TKW_COMMIT");
	char commit[TEXT_MAX];
	char compiler[TEXT_MAX];
	char cpu[TEXT_MAX];
	char date[TEXT_MAX];
	char kernel[TEXT_MAX];

	set_text(commit, given ? given : "");
	set_text(compiler, COMPILER);
	find_cpu(cpu);
	find_date(date);
	find_kernel(kernel);
	(void)fprintf(json,
		      "{\"date\":\"%s\",\"commit\":\"%s\",\"cpu\":\"%s\","
		      "\"cpus\":%ld,\"kernel\":\"%s\",\"compiler\":\"%s\"}\n",
		      date, commit, cpu, sysconf(_SC_NPROCESSORS_ONLN), kernel,
		      compiler);
	(void)fflush(json);
}
