/* SPDX-License-Identifier: MIT */
/*
 * nightly_report.c - a report each night at 02:30 in Berlin.
 *
 * The job starts the report and returns. The report is made elsewhere, and when
 * it is ready, its run is ended with tkw_jobs_done(). The program shows what
 * happens to a planned time if the clocks go forward, if the machine sleeps, if
 * the last report is still being made, and if somebody sets the clock back.
 *
 * The clocks are the program's own, so eight days pass at once. A real program
 * leaves out the hooks, now_us and tkw_jobs_reread_clock(). Then the times are
 * those of the system's clock, and a step of it is noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwheel.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define BEGIN_MS INT64_C(1774609200000) /* 27 March 2026, 12:00 in Berlin */

static struct tkw_zone *berlin;
static struct tkw_timer *timer;
static struct tkw_jobs *jobs;
static int64_t passed_ms;          /* since the program began */
static int64_t wall_ms = BEGIN_MS; /* can also be set */

/* The report that is being made. */
static struct {
	struct tkw_job_id id;
	int64_t number;
	int64_t ready_ms;
} report;
static int64_t work_ms = 20 * MINUTE_MS; /* how long the next one takes */

static int64_t read_clock(void *ctx)
{
	(void)ctx;
	return passed_ms * TKW_MSEC;
}

static int64_t read_wall(void *ctx)
{
	(void)ctx;
	return wall_ms * 1000;
}

/* Ends the program if a call has failed. */
static int must(int result)
{
	if (result < 0) {
		fprintf(stderr, "nightly_report: %s\n", strerror(-result));
		exit(1);
	}
	return result;
}

/* Prints what happens, with the time in Berlin, without the seconds. */
static void say(const char *what)
{
	char now[64];

	must(tkw_zone_print(berlin, wall_ms, now, sizeof(now)));
	printf("%.16s%s  %s\n", now, now + 19, what);
}

static int begin_report(const struct tkw_job_run *run, void *ctx)
{
	char text[96];

	(void)ctx;
	snprintf(text, sizeof(text),
		 "report %d begins, %d min late (missed %d, left out %d)",
		 (int)run->number,
		 (int)((run->now_ms - run->planned_ms) / MINUTE_MS),
		 (int)run->missed, (int)run->overlaps);
	say(text);
	report.id = run->id;
	report.number = run->number;
	report.ready_ms = passed_ms + work_ms;
	return TKW_JOB_LATER;
}

static void finish_report(void)
{
	say("the report is ready");
	must(tkw_jobs_done(jobs, report.id, report.number, 0));
	report.number = 0;
}

static void add_nightly(void)
{
	struct tkw_job_config job = { .size = sizeof(job), .name = "nightly" };
	struct tkw_plan *plan;

	must(tkw_zone_open(&berlin, "Europe/Berlin", NULL));
	must(tkw_plan_create(&plan, "30 2 * * *", berlin, NULL));
	job.plan = plan;
	job.fn = begin_report;
	job.misfire = TKW_MISFIRE_ONCE; /* the latest missed one, later */
	job.overlap = TKW_OVERLAP_SKIP; /* never two at a time */
	must(tkw_jobs_add(jobs, &job, NULL));
	tkw_plan_destroy(plan); /* the job shares it */
}

/* Lets time pass while the machine is awake. */
static void pass(int64_t ms)
{
	for (const int64_t until_ms = passed_ms + ms; passed_ms < until_ms;) {
		passed_ms += MINUTE_MS;
		wall_ms += MINUTE_MS;
		if (report.number != 0 && passed_ms >= report.ready_ms)
			finish_report();
		must(tkw_timer_turn(timer, 0, NULL));
	}
}

static void sleep_for(int64_t ms)
{
	say("the machine goes to sleep");
	passed_ms += ms;
	wall_ms += ms;
	say("the machine wakes up");
	must(tkw_timer_turn(timer, 0, NULL));
}

static void set_clock_back(int64_t ms)
{
	say("the clock is set back");
	wall_ms -= ms;
	must(tkw_jobs_reread_clock(jobs));
}

static void print_job(void)
{
	struct tkw_job_info info;
	uint64_t cursor = 0;
	char text[128];

	must(tkw_jobs_list(jobs, &cursor, &info, 1));
	must(tkw_jobs_print(jobs, info.id, text, sizeof(text)));
	puts(text);
	printf("runs %d, missed %d, left out %d\n", (int)info.runs,
	       (int)info.missed, (int)info.overlaps);
}

int main(void)
{
	const struct tkw_timer_hooks hooks = { .now = read_clock };
	const struct tkw_timer_config own = { .size = sizeof(own),
					      .drive = TKW_DRIVE_MANUAL,
					      .hooks = &hooks };
	struct tkw_jobs_config cfg = { .size = sizeof(cfg),
				       .now_us = read_wall };

	must(tkw_timer_create(&timer, &own));
	cfg.timer = timer;
	must(tkw_jobs_create(&jobs, &cfg));
	add_nightly();
	print_job();
	pass(46 * HOUR_MS); /* on the second night, 02:30 does not exist */
	sleep_for(48 * HOUR_MS);
	work_ms = 26 * HOUR_MS; /* the next report takes longer than a day */
	pass(24 * HOUR_MS);
	work_ms = 20 * MINUTE_MS;
	pass(40 * HOUR_MS);
	set_clock_back(HOUR_MS); /* 02:30 comes again, but no report */
	pass(26 * HOUR_MS);
	print_job();
	must(tkw_jobs_destroy(jobs));
	must(tkw_timer_destroy(timer));
	return tkw_zone_close(berlin);
}
