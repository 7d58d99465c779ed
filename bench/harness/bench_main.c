/* SPDX-License-Identifier: MIT */
/*
 * bench_main.c - plans the rows, runs them and writes the results.
 *
 * The exit status is 0 on success. It is 1 if a result was wrong, a process was
 * lost, there is no memory, or the output could not be written. It is 2 if the
 * command line is wrong. For --compare, see compare.h.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "compare.h"
#include "origin.h"
#include "queue/queue_rows.h"
#include "redis/redis_rows.h"
#include "rival_process.h"
#include "timer/timer_run.h"
#include "wheel/wheel_run.h"

struct plan {
	struct bench_row rows[BENCH_ROWS_MAX];
	size_t row_count;
	struct bench_request requests[BENCH_REQUESTS_MAX +
				      BENCH_QUEUE_REQUESTS_MAX +
				      BENCH_REDIS_REQUESTS_MAX];
	size_t request_count;
};

static bool any_wheel_wanted(const struct bench_options *o)
{
	for (size_t i = 0; bench_entrants[i]->name; i++) {
		if (bench_options_want_entrant(o, bench_entrants[i]->name))
			return true;
	}
	return false;
}

/* Returns true if there is anything to run. */
static bool make_plan(struct plan *plan, const struct bench_options *o)
{
	if (any_wheel_wanted(o))
		plan->row_count = bench_rows_plan(plan->rows, o);
	plan->request_count = bench_timer_rows_plan(plan->requests, o);
	plan->request_count +=
		bench_queue_rows_plan(&plan->requests[plan->request_count], o);
	plan->request_count +=
		bench_redis_rows_plan(&plan->requests[plan->request_count], o);
	return plan->row_count + plan->request_count > 0;
}

/* Does the process take part in any row? */
static bool is_asked(const struct plan *plan,
		     const struct bench_process *process)
{
	for (size_t i = 0; i < plan->request_count; i++) {
		if (bench_process_is_of(process, plan->requests[i].group,
					plan->requests[i].where))
			return true;
	}
	return false;
}

/* Does the i-th process take part, and none of the same name before it? */
static bool is_first_asked(const struct plan *plan, size_t i)
{
	const struct bench_process *process = bench_processes_get(i);
	const char *name = bench_process_name(process);

	if (!is_asked(plan, process))
		return false;
	while (i-- > 0) {
		process = bench_processes_get(i);
		if (strcmp(bench_process_name(process), name) == 0 &&
		    is_asked(plan, process))
			return false;
	}
	return true;
}

static void say_missing(const struct bench_options *o, const char *name,
			const char *why)
{
	if (why && bench_options_want_entrant(o, name))
		bench_say("%s skipped: %s", name, why);
}

static void name_missing(const struct plan *plan, const struct bench_options *o)
{
	for (size_t i = 0; plan->row_count > 0 && bench_entrants[i]->name;
	     i++) {
		const struct bench_entrant *entrant = bench_entrants[i];

		say_missing(o, entrant->name,
			    entrant->run ? NULL : entrant->missing);
	}
	for (size_t i = 0; bench_processes_get(i); i++) {
		const struct bench_process *process = bench_processes_get(i);

		if (is_first_asked(plan, i))
			say_missing(o, bench_process_name(process),
				    bench_process_missing(process));
	}
}

/* Returns 0, or 1 if anything was wrong or could not be written. */
static int run_plan(const struct plan *plan, const struct bench_options *o,
		    FILE *json)
{
	static struct bench_figures f;
	struct bench_progress p = { .of = plan->row_count +
					  plan->request_count };
	bool good = true;

	if (json)
		bench_origin_write(json);
	name_missing(plan, o);
	for (size_t i = 0; i < plan->row_count; i++) {
		p.number++;
		good &= bench_wheel_run(&f, &plan->rows[i], o, &p);
		bench_report_write(json, &f);
	}
	for (size_t i = 0; i < plan->request_count; i++) {
		p.number++;
		good &= bench_timer_run(&plan->requests[i], o, &p, json);
	}
	if (ferror(stdout) || (json && ferror(json))) {
		bench_say("the output could not be written");
		good = false;
	}
	return good ? 0 : 1;
}

static void list_entrant(const char *name, const char *missing)
{
	(void)printf("%s%s%s\n", name, missing ? "   skipped: " : "",
		     missing ? missing : "");
}

static void list_wheel(const struct plan *plan, const struct bench_options *o)
{
	for (size_t i = 0; i < plan->row_count; i++)
		(void)printf("%s\n", plan->rows[i].name);
	(void)printf("\n");
	for (size_t i = 0; bench_entrants[i]->name; i++) {
		const struct bench_entrant *entrant = bench_entrants[i];

		if (bench_options_want_entrant(o, entrant->name))
			list_entrant(entrant->name,
				     entrant->run ? NULL : entrant->missing);
	}
}

static void list_timer(const struct plan *plan, const struct bench_options *o)
{
	char name[BENCH_NAME_MAX];

	for (size_t i = 0; i < plan->request_count; i++) {
		for (size_t k = 0; k < plan->requests[i].figure_count; k++) {
			bench_timer_rows_name(name, &plan->requests[i], k);
			(void)printf("%s\n", name);
		}
	}
	(void)printf("\n");
	for (size_t i = 0; bench_processes_get(i); i++) {
		const struct bench_process *process = bench_processes_get(i);

		if (is_first_asked(plan, i) &&
		    bench_options_want_entrant(o, bench_process_name(process)))
			list_entrant(bench_process_name(process),
				     bench_process_missing(process));
	}
}

static void list(const struct plan *plan, const struct bench_options *o)
{
	if (plan->row_count > 0)
		list_wheel(plan, o);
	if (plan->row_count > 0 && plan->request_count > 0)
		(void)printf("\n");
	if (plan->request_count > 0)
		list_timer(plan, o);
}

/*
 * All entrants get the same kind of pages: small ones or, with --hugepages,
 * huge ones wherever the system has them. malloc() uses huge pages only if it
 * is told so before the program starts, so the program executes itself once
 * more. The processes that it starts inherit both settings.
 */
static void choose_pages(const struct bench_options *o, char **argv)
{
	static const char tunables[] = "GLIBC_TUNABLES";
	static const char hugetlb[] = "glibc.malloc.hugetlb=1";
	const char *before = getenv(tunables);

	if (!o->hugepages) {
		(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		return;
	}
	bench_pages_huge();
	if (before && strcmp(before, hugetlb) == 0)
		return;
	if (setenv(tunables, hugetlb, 1) == 0)
		(void)execv("/proc/self/exe", argv);
	bench_say("--hugepages: malloc keeps its small pages");
}

static int measure(const struct plan *plan, const struct bench_options *o)
{
	FILE *json;
	int status;

	if (o->json == NULL)
		return run_plan(plan, o, NULL);
	if (strcmp(o->json, "-") == 0)
		return run_plan(plan, o, stdout);
	json = fopen(o->json, "we");
	if (json == NULL) {
		bench_say("--json: cannot write '%.200s'", o->json);
		return 2;
	}
	status = run_plan(plan, o, json);
	if (fclose(json) == 0)
		return status;
	bench_say("--json: '%.200s' could not be written", o->json);
	return 1;
}

int main(int argc, char **argv)
{
	static struct plan plan;
	struct bench_options o;

	if (bench_options_read(&o, argc, argv) != 0)
		return 2;
	if (o.help) {
		bench_options_help();
		return 0;
	}
	if (o.old_json)
		return bench_compare(o.old_json, o.new_json);
	bench_processes_init(o.patience_s, o.rivals);
	if (!make_plan(&plan, &o)) {
		bench_say("no row has this name; see --list");
		return 2;
	}
	if (o.list) {
		list(&plan, &o);
		return 0;
	}
	choose_pages(&o, argv);
	return measure(&plan, &o);
}
