/* SPDX-License-Identifier: MIT */
/* job_facts.c - what one can ask about jobs. See job_state.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "calendar/plan_share.h"
#include "patterns/job_state.h"

/* --- facts --------------------------------------------------------------- */

/* The next time that will begin, as far as is known now. */
static int64_t next_of(struct tkw__job *j)
{
	struct tkw__job_times t = j->times;
	int64_t at_ms = tkw__jobs_now_ms(j->set);

	if (j->paused) {
		t.from_ms = at_ms;
	} else if (tkw__job_is_busy(j)) {
		/* Those that have come will be left out. */
		t.from_ms = tkw__max_i64(t.from_ms, at_ms - t.shift_ms);
	}
	return tkw__job_times_first(&t);
}

/* The lock is held. */
static void get(struct tkw__job *j, struct tkw_job_info *info)
{
	*info = (struct tkw_job_info){
		.id = tkw__job_id(j),
		.next_ms = next_of(j),
		.last_ms = j->last_ms,
		.last_start_ms = j->last_start_ms,
		.last_result = j->last_result,
		.paused = j->paused,
		.shift_ms = j->times.shift_ms,
		.running = j->running,
		.runs = j->started,
		.runs_now = j->started_by_hand,
		.failed = j->failed,
		.missed = j->times.missed,
		.overlaps = j->times.overlaps,
	};
	memcpy(info->name, j->name, sizeof(info->name));
}

int tkw_jobs_get(struct tkw_jobs *js, struct tkw_job_id id,
		 struct tkw_job_info *info)
{
	struct tkw__job *j;
	int err = info ? tkw__job_enter(js, id, &j) : -EINVAL;

	if (err < 0)
		return err;
	get(j, info);
	tkw__job_leave(j);
	return 0;
}

int tkw_jobs_print(struct tkw_jobs *js, struct tkw_job_id id, char *buf,
		   size_t size)
{
	struct tkw_job_info info;
	struct tkw__job *j;
	char when[64];
	int len = buf || size == 0 ? tkw__job_enter(js, id, &j) : -EINVAL;

	if (len < 0)
		return len;
	get(j, &info);
	if (info.next_ms == INT64_MAX ||
	    tkw_zone_print(tkw__plan_zone(j->times.plan), info.next_ms, when,
			   sizeof(when)) < 0)
		snprintf(when, sizeof(when), "never");
	len = snprintf(buf, size, "%s, %s, next %s%s%s", info.name,
		       tkw_plan_text(j->times.plan), when,
		       info.running > 0 ? ", running" : "",
		       info.paused ? ", paused" : "");
	tkw__job_leave(j);
	return len;
}

int tkw_jobs_list(struct tkw_jobs *js, uint64_t *cursor,
		  struct tkw_job_info *out, size_t max)
{
	struct tkw__job *j = NULL;
	uint64_t at;
	size_t n = 0;

	if (js == NULL || cursor == NULL || out == NULL || max == 0 ||
	    max > INT_MAX)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	tkw__lock_take(&js->lock);
	for (at = *cursor; n < max && at < TKW__RECORDS_MAX; at++) {
		j = tkw__job_of(tkw__table_at(&js->table, (uint32_t)at));
		if (j == NULL)
			break;
		if (tkw__job_is_live(j))
			get(j, &out[n++]);
	}
	*cursor = n < max ? 0 : at;
	tkw__lock_drop(&js->lock);
	return (int)n;
}

uint64_t tkw_jobs_count(struct tkw_jobs *js)
{
	uint64_t count;

	if (js == NULL || tkw__is_child(js->epoch))
		return 0;
	tkw__lock_take(&js->lock);
	count = js->count;
	tkw__lock_drop(&js->lock);
	return count;
}
