/* SPDX-License-Identifier: MIT */
/* scenarios_retry.c - a task that succeeds at its first try, against a cancel
 * and a stop of its group. */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/retry.h"

static struct {
	struct tkw_retries *g;
	uint64_t id;
	unsigned tries;
	unsigned ends;
	int how;
	bool over; /* no try may begin any more */
} group;

static int try_it(void *arg, int64_t number)
{
	(void)arg;
	explore_tell("try", number);
	explore_check(!group.over);
	explore_check(group.tries++ == 0);
	explore_yield();
	explore_check(group.ends == 0);
	return 0;
}

static void note_end(void *arg, int how)
{
	(void)arg;
	explore_tell("end", how);
	explore_check(group.ends++ == 0);
	group.how = how;
	explore_yield();
}

static void *cancel_task(void *unused)
{
	int ret = tkw_retries_cancel(group.g, group.id);

	explore_check(ret == 0 || ret == 1 || ret == -ENOENT);
	if (ret == 0) {
		explore_check(group.tries == 0);
		group.over = true;
	}
	return unused;
}

static void *stop_group(void *unused)
{
	explore_check(tkw_retries_stop(group.g) == 0);
	return unused;
}

/* SPEC 8.1: it ends once, and is not tried after a cancel that said so. */
void retry_against_cancel_and_stop(void)
{
	const struct tkw_retry task = { .fn = try_it, .on_end = note_end };
	struct tkw_retries_config cfg = { .max_tasks = 2 };
	int a, b;

	memset(&group, 0, sizeof(group));
	open_timer(1);
	cfg.timer = run.t;
	explore_check(tkw_retries_create(&group.g, &cfg) == 0);
	explore_check(tkw_retries_add(group.g, &task, 0, &group.id) == 0);
	a = explore_spawn("cancel", cancel_task, NULL);
	b = explore_spawn("stop", stop_group, NULL);
	explore_join(a);
	explore_join(b);
	explore_check(tkw_retries_destroy(group.g) == 0);
	explore_check(group.ends == 1);
	explore_check((group.how == 0) == (group.tries == 1));
	explore_check(tkw_timer_destroy(run.t) == 0);
}
