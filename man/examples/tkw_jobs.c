/* SPDX-License-Identifier: MIT */
/*
 * Runs a job by a plan, three times. A real plan is rather
 * "30 2 * * *", in a time zone.
 */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel/job.h>

static sem_t is_done;

static int report(const struct tkw_job_run *run, void *ctx)
{
	(void)ctx;
	if (run->number <= 3)
		printf("report %d\n", (int)run->number);
	if (run->number == 3)
		sem_post(&is_done);
	return 0; /* or an error, which is counted */
}

int main(void)
{
	struct tkw_jobs_config cfg = { .size = sizeof(cfg) };
	struct tkw_job_config job = { .size = sizeof(job) };
	struct tkw_plan *plan;
	struct tkw_jobs *js;
	struct tkw_job_id id;

	sem_init(&is_done, 0, 0);
	if (tkw_plan_create(&plan, "every 20ms", NULL, NULL) != 0)
		return 1;
	job.plan = plan;
	job.fn = report;
	job.misfire = TKW_MISFIRE_SKIP;
	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_jobs_create(&js, &cfg) != 0 ||
	    tkw_jobs_add(js, &job, &id) != 0)
		return 1;
	tkw_plan_destroy(plan); /* the job shares it */
	while (sem_wait(&is_done) != 0)
		; /* interrupted by a signal: wait again */
	if (tkw_jobs_remove_wait(js, id) < 0)
		return 1;
	return tkw_jobs_destroy(js) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
