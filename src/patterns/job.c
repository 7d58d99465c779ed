/* SPDX-License-Identifier: MIT */
/* job.c - sets of jobs: the calls of job.h. See job_state.h. */
#include "tickwheel/job.h"

#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "calendar/plan_share.h"
#include "os/clock.h"
#include "os/frame.h"
#include "os/memory.h"
#include "os/thread.h"
#include "patterns/job_state.h"
#include "timer/for_patterns.h"

enum {
	JOBS_MAX = 1 << 20
};
#define DEFAULT_GRACE_MS INT64_C(60000)
#define SET_OLDEST TKW__END_OF(struct tkw_jobs_config, now_ctx)
#define JOB_OLDEST TKW__END_OF(struct tkw_job_config, name)

/* --- the set ------------------------------------------------------------- */

int64_t tkw__jobs_now_us(const struct tkw_jobs *js)
{
	int64_t us = js->cfg.now_us ? js->cfg.now_us(js->cfg.now_ctx)
				    : tkw__clock_wall_us();

	return us > 0 ? us : 0;
}

static void free_set(struct tkw_jobs *js)
{
	tkw__table_fini(&js->table);
	tkw__memory_free(js, sizeof(*js));
}

void tkw__jobs_unhold(struct tkw_jobs *js)
{
	/* ACQ_REL pairs with itself, so that the thread that frees comes after
	 * all others. */
	if (TKW__SUB(&js->holders, 1, ACQ_REL) == 1)
		free_set(js);
}

/* The job that an id names, or NULL if it has ended. The lock is held. */
static struct tkw__job *find(const struct tkw_jobs *js, struct tkw_job_id id)
{
	struct tkw__job *j;

	if (tkw__id_part(id.bits) != 0)
		return NULL;
	j = tkw__job_of(tkw__table_find(&js->table, id.bits));
	return j && tkw__job_is_live(j) ? j : NULL;
}

int tkw__job_enter(struct tkw_jobs *js, struct tkw_job_id id,
		   struct tkw__job **out)
{
	if (js == NULL)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	tkw__lock_take(&js->lock);
	*out = find(js, id);
	if (*out == NULL) {
		tkw__lock_drop(&js->lock);
		return -ENOENT;
	}
	tkw__job_hold(*out);
	return 0;
}

/* Calls fn for each job that has not ended. The lock is held in there. */
static void for_all(struct tkw_jobs *js, void (*fn)(struct tkw__job *j))
{
	struct tkw__job *j;

	for (uint32_t i = 0;; i++) {
		j = tkw__job_of(tkw__table_at(&js->table, i));
		if (j == NULL)
			return;
		tkw__lock_take(&js->lock);
		if (tkw__job_is_live(j)) {
			tkw__job_hold(j);
			fn(j);
			tkw__job_leave(j);
		} else {
			tkw__lock_drop(&js->lock);
		}
	}
}

/* --- the wall clock ------------------------------------------------------ */

/* Sleeps until the clock is set, again and again. The alarm is set before the
 * clock is read, so that no step is overlooked. */
static void *watch(void *set)
{
	struct tkw_jobs *js = set;

	tkw__thread_become_worker("tkw-jobs");
	tkw__thread_load_unwinder(); /* see tkw__alarm_end() */
	tkw__lock_take(&js->lock);
	while (!js->leaving) {
		(void)tkw__alarm_prepare(&js->alarm, INT64_MAX, false);
		tkw__lock_drop(&js->lock);
		for_all(js, tkw__job_follow);
		tkw__alarm_wait(&js->alarm);
		tkw__lock_take(&js->lock);
	}
	js->alarm.has_sleeper = false;
	tkw__lock_drop(&js->lock);
	tkw__alarm_leave(&js->alarm);
	return NULL;
}

/* Starts the thread, if the set needs one. The lock is held. */
static int start_watch(struct tkw_jobs *js)
{
	int err;

	if (!js->has_alarm || js->watched ||
	    !tkw__timer_has_thread(js->cfg.timer))
		return 0;
	err = tkw__timer_thread_create(js->cfg.timer, watch, js, &js->watcher);
	js->watched = err == 0;
	return err;
}

static void end_watch(struct tkw_jobs *js)
{
	if (js->watched) {
		tkw__lock_take(&js->lock);
		js->leaving = true;
		tkw__alarm_end(&js->alarm);
		tkw__lock_drop(&js->lock);
		tkw__timer_thread_join(js->cfg.timer, js->watcher);
	}
	if (js->has_alarm)
		tkw__alarm_fini(&js->alarm);
}

int tkw_jobs_fd(struct tkw_jobs *js)
{
	if (js == NULL)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	if (!js->has_alarm || tkw__timer_has_thread(js->cfg.timer))
		return -EINVAL;
	return js->alarm.fd;
}

int tkw_jobs_reread_clock(struct tkw_jobs *js)
{
	int err = 0;

	if (js == NULL)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	if (js->has_alarm && !tkw__timer_has_thread(js->cfg.timer)) {
		tkw__lock_take(&js->lock);
		err = tkw__alarm_set(&js->alarm, INT64_MAX, false);
		tkw__lock_drop(&js->lock);
	}
	for_all(js, tkw__job_follow);
	return err;
}

/* --- create -------------------------------------------------------------- */

static int read_set(struct tkw_jobs_config *to,
		    const struct tkw_jobs_config *cfg)
{
	int err = tkw__config_read(to, sizeof(*to), cfg, SET_OLDEST);

	if (err < 0 || to->timer == NULL || to->max_jobs < 0 ||
	    to->max_jobs > JOBS_MAX || (to->exec && !to->exec->submit) ||
	    (to->now_us == NULL && tkw__timer_has_own_clock(to->timer)))
		return -EINVAL;
	if (to->max_jobs == 0)
		to->max_jobs = JOBS_MAX;
	return 0;
}

/* Opens the alarm that rings when the wall clock is set. */
static int open_alarm(struct tkw_jobs *js)
{
	int err;

	if (js->cfg.now_us)
		return 0;
	err = tkw__alarm_init_wall(&js->alarm);
	if (err < 0)
		return err;
	js->has_alarm = true;
	return tkw__alarm_set(&js->alarm, INT64_MAX, false);
}

int tkw_jobs_create(struct tkw_jobs **out, const struct tkw_jobs_config *cfg)
{
	struct tkw_jobs_config full = { 0 };
	struct tkw_jobs *js;
	uint32_t epoch;
	int err;

	if (out == NULL || cfg == NULL || read_set(&full, cfg) < 0)
		return -EINVAL;
	if (tkw__timer_is_child(full.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) < 0)
		return -ENOMEM;
	js = tkw__memory_take(sizeof(*js), alignof(max_align_t));
	if (js == NULL)
		return -ENOMEM;
	*js = (struct tkw_jobs){ .cfg = full,
				 .epoch = epoch,
				 .holders = { 1 },
				 .dice = tkw__dice_make(full.seed) };
	if (full.exec)
		js->exec = *full.exec;
	/* More records than jobs, because some may have used up their
	 * generations. */
	tkw__table_init(&js->table, sizeof(struct tkw__job),
			alignof(struct tkw__job), TKW__RECORDS_MAX);
	err = open_alarm(js);
	if (err < 0) {
		free_set(js);
		return err;
	}
	*out = js;
	return 0;
}

/* --- add and change ------------------------------------------------------ */

static int read_job(struct tkw_job_config *to, const struct tkw_job_config *cfg)
{
	if (cfg == NULL ||
	    tkw__config_read(to, sizeof(*to), cfg, JOB_OLDEST) < 0 ||
	    to->plan == NULL || to->since_ms < 0 || to->grace_ms < 0 ||
	    to->spread_ms < 0 || to->misfire < TKW_MISFIRE_ONCE ||
	    to->misfire > TKW_MISFIRE_SKIP || to->overlap < TKW_OVERLAP_SKIP ||
	    to->overlap > TKW_OVERLAP_ALLOW || to->max_missed < 0 ||
	    to->max_missed > TKW_JOB_MAX_MISSED ||
	    (to->max_missed > 0 && to->misfire != TKW_MISFIRE_ALL))
		return -EINVAL;
	return 0;
}

/* Sets the rules of a job. The lock is held. */
static void set_rules(struct tkw__job *j, const struct tkw_job_config *cfg)
{
	struct tkw__job_times *t = &j->times;

	if (cfg->spread_ms != t->spread_ms)
		t->shift_ms = tkw__dice_roll(&j->set->dice, cfg->spread_ms);
	t->spread_ms = cfg->spread_ms;
	t->grace_ms = cfg->grace_ms > 0 ? cfg->grace_ms : DEFAULT_GRACE_MS;
	t->overlap = cfg->overlap == TKW_OVERLAP_ALLOW;
	t->made_up = cfg->misfire == TKW_MISFIRE_ONCE;
	if (cfg->misfire == TKW_MISFIRE_ALL)
		t->made_up = cfg->max_missed > 0 ? (uint64_t)cfg->max_missed
						 : TKW_JOB_MAX_MISSED;
}

static void set_name(struct tkw__job *j, const char *name)
{
	snprintf(j->name, sizeof(j->name), "%s", name);
}

/* Makes a record for a job, which is not LIVE yet. The lock is held. */
static int make_job(struct tkw_jobs *js, const struct tkw_job_config *cfg,
		    struct tkw__job **out)
{
	struct tkw__record *record;
	struct tkw__job *j;
	int err;

	if (js->closed)
		return -ESHUTDOWN;
	if (js->count == (uint64_t)js->cfg.max_jobs)
		return -EAGAIN;
	err = tkw__table_take(&js->table, &record);
	if (err < 0)
		return err;
	j = tkw__job_of(record);
	/* Everything but the record itself. */
	memset(record + 1, 0, sizeof(*j) - sizeof(*record));
	j->set = js;
	j->fn = cfg->fn;
	j->on_end = cfg->on_end;
	j->ctx = cfg->ctx;
	set_rules(j, cfg);
	set_name(j, cfg->name ? cfg->name : "job");
	j->times.plan = tkw__plan_ref(cfg->plan);
	j->times.from_ms = tkw__jobs_now_ms(js);
	j->times.decided_ms = cfg->since_ms > 0 ? cfg->since_ms : INT64_MIN;
	if (cfg->since_ms > 0)
		j->times.from_ms = 0;
	j->times.begun_ms = j->times.decided_ms;
	j->times.ready_ms = j->times.decided_ms;
	*out = j;
	return 0;
}

/* Makes its timeout pending. If that fails, it has none. The lock is held. */
static int start_job(struct tkw__job *j)
{
	struct tkw_jobs *js = j->set;
	int err;

	if (tkw__job_times_first(&j->times) == INT64_MAX)
		return -ENOENT;
	j->spare = tkw__run_make(js);
	if (j->spare == NULL)
		return -ENOMEM;
	err = start_watch(js);
	if (err == 0)
		err = tkw__job_arm(j);
	if (err < 0)
		return err;
	tkw__job_hold(j); /* by itself */
	tkw__record_set_state(&j->record, TKW__JOB_LIVE);
	js->count++;
	return 0;
}

/* Gives back the record of a job that was refused. The lock is held. */
static void give_back(struct tkw__job *j)
{
	tkw__run_free(j->spare);
	j->spare = NULL; /* so that a forked child does not free it twice */
	(void)tkw_plan_destroy(j->times.plan);
	tkw__table_untake(&j->set->table, &j->record);
}

int tkw_jobs_add(struct tkw_jobs *js, const struct tkw_job_config *cfg,
		 struct tkw_job_id *id)
{
	struct tkw_job_config full = { 0 };
	struct tkw__job *j;
	int err;

	if (js == NULL || read_job(&full, cfg) < 0 || full.fn == NULL)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	tkw__lock_take(&js->lock);
	err = make_job(js, &full, &j);
	if (err == 0) {
		err = start_job(j);
		if (err < 0)
			give_back(j);
		else if (id)
			*id = tkw__job_id(j);
	}
	tkw__lock_drop(&js->lock);
	return err;
}

/* Decides all times that are due, but have not begun. The lock is held. */
static void give_up(struct tkw__job *j, int64_t at_ms)
{
	if (tkw__job_is_busy(j))
		tkw__job_times_overlap(&j->times, at_ms);
	tkw__job_times_give_up(&j->times, at_ms);
}

/* Gives a job another plan. The lock is held. */
static void set_plan(struct tkw__job *j, struct tkw_plan *plan)
{
	struct tkw__job_times *t = &j->times;
	int64_t at_ms = tkw__jobs_now_ms(j->set);

	if (!tkw__plan_is_same(plan, t->plan)) {
		if (!j->paused)
			give_up(j, at_ms);
		t->from_ms = at_ms;
	}
	t->plan = plan;
}

/* Returns 0, or an error, and then nothing has changed. The lock is held. */
static int change(struct tkw__job *j, const struct tkw_job_config *cfg)
{
	const struct tkw__job_times old = j->times;
	int err;

	if ((cfg->fn && cfg->fn != j->fn) ||
	    (cfg->on_end && cfg->on_end != j->on_end) ||
	    (cfg->ctx && cfg->ctx != j->ctx))
		return -EINVAL;
	set_plan(j, tkw__plan_ref(cfg->plan));
	set_rules(j, cfg);
	err = tkw__job_times_first(&j->times) == INT64_MAX ? -ENOENT : 0;
	if (err == 0)
		err = tkw__job_arm(j);
	(void)tkw_plan_destroy(err == 0 ? old.plan : j->times.plan);
	if (err < 0)
		j->times = old;
	else if (cfg->name)
		set_name(j, cfg->name);
	return err;
}

int tkw_jobs_change(struct tkw_jobs *js, struct tkw_job_id id,
		    const struct tkw_job_config *cfg)
{
	struct tkw_job_config full = { 0 };
	struct tkw__job *j;
	int err = read_job(&full, cfg);

	if (err == 0)
		err = tkw__job_enter(js, id, &j);
	if (err < 0)
		return err;
	err = change(j, &full);
	tkw__job_leave(j);
	return err;
}

/* --- pause, resume, run now, done ---------------------------------------- */

int tkw_jobs_pause(struct tkw_jobs *js, struct tkw_job_id id)
{
	struct tkw__job *j;
	int err = tkw__job_enter(js, id, &j);

	if (err < 0)
		return err;
	if (!j->paused) {
		give_up(j, tkw__jobs_now_ms(js));
		j->paused = true;
		tkw__job_follow(j);
	}
	tkw__job_leave(j);
	return 0;
}

int tkw_jobs_resume(struct tkw_jobs *js, struct tkw_job_id id)
{
	struct tkw__job *j;
	int64_t from_ms;
	int err = tkw__job_enter(js, id, &j);

	if (err < 0)
		return err;
	if (j->paused) {
		from_ms = j->times.from_ms;
		j->paused = false;
		j->times.from_ms = tkw__jobs_now_ms(js);
		err = tkw__job_arm(j);
		if (err < 0) {
			j->paused = true;
			j->times.from_ms = from_ms;
		}
	}
	tkw__job_leave(j);
	return err;
}

int tkw_jobs_run_now(struct tkw_jobs *js, struct tkw_job_id id)
{
	struct tkw__job *j;
	int err = tkw__job_enter(js, id, &j);

	if (err < 0)
		return err;
	if (j->wanted || tkw__job_is_busy(j)) {
		err = -EBUSY;
	} else {
		j->wanted = true;
		err = tkw__job_arm(j);
		if (err < 0)
			j->wanted = false;
	}
	tkw__job_leave(j);
	return err;
}

int tkw_jobs_done(struct tkw_jobs *js, struct tkw_job_id id, int64_t number,
		  int result)
{
	struct tkw__job *j;
	struct tkw__run *r;
	int err = tkw__job_enter(js, id, &j);

	if (err < 0)
		return err;
	r = j->runs;
	while (r && (r->number != number || r->state == TKW__RUN_QUEUED))
		r = r->next;
	if (r && r->state == TKW__RUN_LATER) {
		tkw__run_end(j, r, result);
	} else if (r && r->state == TKW__RUN_RUNNING) {
		r->state = TKW__RUN_ANSWERED;
		r->result = result;
	} else {
		err = -ENOENT;
	}
	tkw__job_leave(j);
	return err;
}

/* --- remove -------------------------------------------------------------- */

/* Returns 1 if the task runs, else 0. The lock is held, and dropped. The caller
 * holds the job, and this lets go of it. */
static int remove_job(struct tkw__job *j)
{
	int runs = j->calls > 0;

	(void)tkw__job_end(j, -ECANCELED);
	tkw__job_leave(j);
	return runs;
}

int tkw_jobs_remove(struct tkw_jobs *js, struct tkw_job_id id)
{
	struct tkw__job *j;
	int err = tkw__job_enter(js, id, &j);

	return err < 0 ? err : remove_job(j);
}

/* Does the job of an id still call the user, or may it? The lock is held. */
static bool is_ending(const struct tkw_jobs *js, struct tkw_job_id id)
{
	const struct tkw__record *record =
		tkw__id_part(id.bits) == 0
			? tkw__table_find(&js->table, id.bits)
			: NULL;

	return record && tkw__record_state(record) == TKW__JOB_ENDING;
}

/* May this thread wait for a callback? Not if it is in one, because others may
 * wait for that one. */
static bool may_wait(const struct tkw_jobs *js)
{
	return !tkw__frame_inside_set() && !tkw__frame_inside(js->cfg.timer);
}

int tkw_jobs_remove_wait(struct tkw_jobs *js, struct tkw_job_id id)
{
	struct tkw__job *j;
	int err = -ENOENT;

	if (js == NULL)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	tkw__lock_take(&js->lock);
	j = find(js, id);
	if (!may_wait(js) && (j ? j->calls > 0 : is_ending(js, id))) {
		tkw__lock_drop(&js->lock);
		return -EDEADLK;
	}
	if (j) {
		tkw__job_hold(j);
		err = remove_job(j);
		tkw__lock_take(&js->lock);
	}
	/* A thread that may not wait has nothing to wait for. */
	while (is_ending(js, id) && may_wait(js))
		tkw__bell_wait(&js->bell, &js->lock);
	tkw__lock_drop(&js->lock);
	return err;
}

/* --- shutdown and destroy ------------------------------------------------ */

static void shut_down(struct tkw__job *j)
{
	(void)tkw__job_end(j, -ESHUTDOWN);
}

int tkw_jobs_shutdown(struct tkw_jobs *js)
{
	if (js == NULL)
		return -EINVAL;
	if (tkw__is_child(js->epoch))
		return -EPERM;
	tkw__lock_take(&js->lock);
	js->closed = true;
	tkw__lock_drop(&js->lock);
	for_all(js, shut_down);
	return 0;
}

static void await_ends(struct tkw_jobs *js)
{
	tkw__lock_take(&js->lock);
	while (js->count > 0)
		tkw__bell_wait(&js->bell, &js->lock);
	tkw__lock_drop(&js->lock);
}

/* For a forked child, where no task runs any more. Queued runs belong to the
 * executor. */
static void free_in_child(struct tkw_jobs *js)
{
	struct tkw__job *j;
	struct tkw__run *r;
	uint32_t state;

	for (uint32_t i = 0;; i++) {
		j = tkw__job_of(tkw__table_at(&js->table, i));
		if (j == NULL)
			break;
		state = tkw__record_state(&j->record);
		if (state == 0 || state == TKW__JOB_OVER)
			continue;
		(void)tkw_plan_destroy(j->times.plan);
		tkw__run_free(j->spare);
		while ((r = j->runs) != NULL) {
			j->runs = r->next;
			if (r->state != TKW__RUN_QUEUED)
				tkw__run_free(r);
		}
	}
	if (js->has_alarm)
		tkw__alarm_fini(&js->alarm);
	free_set(js);
}

int tkw_jobs_destroy(struct tkw_jobs *js)
{
	if (js == NULL)
		return 0;
	if (tkw__is_child(js->epoch)) {
		free_in_child(js);
		return 0;
	}
	if (tkw__frame_inside(js) || tkw__frame_inside(js->cfg.timer))
		return -EDEADLK;
	(void)tkw_jobs_shutdown(js);
	await_ends(js);
	end_watch(js);
	tkw__jobs_unhold(js);
	return 0;
}
