/* SPDX-License-Identifier: MIT */
/* inline.c - the executor that runs a job at once, on the submitting thread. */
#include <errno.h>

#include "tickwheel/exec.h"

static int submit(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	if (job == NULL || job->run == NULL || job->abandon == NULL)
		return -EINVAL;
	job->run(job);
	return 0;
}

const struct tkw_exec *tkw_exec_inline(void)
{
	static const struct tkw_exec exec = { .submit = submit };

	return &exec;
}
