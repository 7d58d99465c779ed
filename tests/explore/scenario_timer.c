/* SPDX-License-Identifier: MIT */
/* scenario_timer.c - the book of a run, and the table of scenarios. */
#include "scenario_timer.h"

#include <errno.h>
#include <string.h>

#include "tickwheel/timer.h"

struct run run;

/* --- what the timer calls ------------------------------------------------ */

static int64_t latest_ns(unsigned tag, int64_t deadline_ns)
{
	int64_t tick = (deadline_ns + TKW_MSEC - 1) / TKW_MSEC;

	return tick * TKW_MSEC + run.tag[tag].slack_ns + run.stall_ns;
}

static void on_fire(const struct tkw_firing *f, void *ctx)
{
	unsigned tag = (unsigned)(uintptr_t)ctx;

	explore_tell("task begins, tag", tag);
	explore_check(run.running++ == 0 || run.side_by_side);
	explore_check(run.tag[tag].begun++ == 0 || run.unlimited_runs);
	explore_check(f->deadline_ns == run.tag[tag].deadline_ns ||
		      f->deadline_ns == run.tag[tag].asked_ns);
	explore_check(explore_now() >= f->deadline_ns);
	explore_check(explore_now() <= latest_ns(tag, f->deadline_ns));
	explore_yield();
	if (run.in_task)
		run.in_task(tag);
	explore_tell("task ends, tag", tag);
	run.order[run.fired++ % TAGS] = tag;
	run.tag[tag].fired++;
	run.running--;
}

static void on_cancel(void *ctx)
{
	unsigned tag = (unsigned)(uintptr_t)ctx;

	explore_tell("on-cancel begins, tag", tag);
	run.tag[tag].ending++;
	explore_yield();
	if (run.in_cancel)
		run.in_cancel(tag);
	explore_tell("on-cancel ends, tag", tag);
	run.tag[tag].ended++;
}

static void on_visit(const struct tkw_timeout_info *info, void *ctx)
{
	unsigned tag = (unsigned)(uintptr_t)info->task.ctx;

	(void)ctx;
	explore_tell("visitor, tag", tag);
	explore_check(info->id.bits == run.tag[tag].id.bits ||
		      run.unlimited_runs);
	explore_check(info->state == TKW_TIMEOUT_PENDING);
	run.tag[tag].handed++;
	explore_yield();
}

static int make_thread(void *(*thread)(void *arg), void *arg, void **handle,
		       void *ctx)
{
	(void)ctx;
	explore_yield();
	if (run.no_threads > 0) {
		run.no_threads--;
		return -EAGAIN;
	}
	run.threads++;
	*handle = (void *)(intptr_t)explore_spawn("worker", thread, arg);
	return 0;
}

static void join_thread(void *handle, void *ctx)
{
	(void)ctx;
	explore_join((int)(intptr_t)handle);
}

static int64_t show_time(void *ctx)
{
	(void)ctx;
	explore_yield();
	return explore_now();
}

/* The watchdog writes a line while a slow task runs, and another one after
 * it. */
static void note_line(const char *line, void *ctx)
{
	(void)ctx;
	run.told += strstr(line, "has been running") != NULL;
}

/* --- open ---------------------------------------------------------------- */

static void open_with(struct tkw_timer_config cfg, int64_t (*now)(void *ctx))
{
	struct tkw_timer_hooks hooks = {
		.now = now,
		.thread_create = make_thread,
		.thread_join = join_thread,
		.log = note_line,
	};

	memset(&run, 0, sizeof(run));
	cfg.hooks = &hooks;
	explore_check(tkw_timer_create(&run.t, &cfg) == 0);
}

void open_timer(int shards)
{
	open_with((struct tkw_timer_config){ .shards = shards }, NULL);
}

void open_limited(int shards, int64_t max_pending)
{
	struct tkw_timer_config cfg = {
		.shards = shards,
		.max_pending = max_pending,
	};

	open_with(cfg, NULL);
}

void open_manual(void)
{
	open_with((struct tkw_timer_config){ .drive = TKW_DRIVE_MANUAL }, NULL);
}

void open_loop(int shards)
{
	struct tkw_timer_config cfg = {
		.drive = TKW_DRIVE_LOOP,
		.shards = shards,
	};

	open_with(cfg, NULL);
}

void open_exec(const struct tkw_exec *exec, int refusal)
{
	struct tkw_timer_config cfg = {
		.shards = 1,
		.exec = exec,
		.refusal = refusal,
	};

	open_with(cfg, NULL);
}

void open_watched(int64_t slow_task_ns)
{
	struct tkw_timer_config cfg = {
		.shards = 1,
		.slow_task_ns = slow_task_ns,
		.watchdog = 1,
	};

	open_with(cfg, NULL);
}

void open_own_clock(void)
{
	open_with((struct tkw_timer_config){ .shards = 1 }, show_time);
}

/* --- calls --------------------------------------------------------------- */

static struct tkw_task task_of(unsigned tag)
{
	return (struct tkw_task){
		.fn = on_fire,
		.ctx = (void *)(uintptr_t)tag,
		.on_cancel = on_cancel,
		.slack_ns = run.tag[tag].slack_ns,
	};
}

static int booked(const char *call, unsigned tag, int err)
{
	explore_tell(call, err);
	run.tag[tag].accepted += err == 0;
	return err;
}

int add(unsigned tag, int64_t delay_ns)
{
	struct tkw_task task = task_of(tag);

	run.tag[tag].deadline_ns = explore_now() + delay_ns;
	return booked(
		"schedule returns", tag,
		tkw_timer_schedule(run.t, &task, delay_ns, &run.tag[tag].id));
}

int add_with_slack(unsigned tag, int64_t delay_ns, int64_t slack_ns)
{
	run.tag[tag].slack_ns = slack_ns;
	return add(tag, delay_ns);
}

int add_at(unsigned tag, int64_t deadline_ns)
{
	struct tkw_task task = task_of(tag);

	run.tag[tag].deadline_ns = deadline_ns;
	return booked("schedule_at returns", tag,
		      tkw_timer_schedule_at(run.t, &task, deadline_ns,
					    &run.tag[tag].id));
}

int cancel(unsigned tag)
{
	int err = tkw_timer_cancel(run.t, run.tag[tag].id);

	explore_tell("cancel returns", err);
	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	run.tag[tag].cancelled += err == 0;
	return err;
}

/* SPEC 5.3: after this, neither the task nor the on-cancel runs. */
int cancel_wait(unsigned tag)
{
	int err = tkw_timer_cancel_wait(run.t, run.tag[tag].id);

	explore_tell("cancel_wait returns", err);
	run.tag[tag].cancelled += err == 0;
	if (err == -EDEADLK)
		return err;
	explore_check(err == 0 || err == 1 || err == -ENOENT);
	explore_check(run.tag[tag].begun == run.tag[tag].fired);
	explore_check(run.tag[tag].ending == run.tag[tag].ended);
	if (err == 0)
		explore_check(run.tag[tag].begun == 0 &&
			      run.tag[tag].ended == 1);
	else
		explore_check(run.tag[tag].fired + run.tag[tag].ended == 1);
	if (err == 1)
		explore_check(run.tag[tag].fired == 1);
	return err;
}

int reschedule(unsigned tag, int64_t delay_ns)
{
	int err;

	run.tag[tag].asked_ns = explore_now() + delay_ns;
	err = tkw_timer_reschedule(run.t, run.tag[tag].id, delay_ns);
	explore_tell("reschedule returns", err);
	if (err == 0)
		run.tag[tag].deadline_ns = run.tag[tag].asked_ns;
	else
		run.tag[tag].asked_ns = run.tag[tag].deadline_ns;
	return err;
}

int stop(void)
{
	int err = tkw_timer_stop(run.t, on_visit, NULL);

	explore_tell("stop returns", err);
	return err;
}

int turn_of(int max_tasks)
{
	int err = tkw_timer_turn(run.t, max_tasks, NULL);

	explore_tell("turn returns", err);
	return err;
}

int turn(void)
{
	return turn_of(0);
}

/* --- threads ------------------------------------------------------------- */

static unsigned tag_of(void *arg)
{
	return (unsigned)(uintptr_t)arg;
}

void *thread_add_now(void *tag)
{
	explore_check(add(tag_of(tag), 0) == 0);
	return NULL;
}

void *thread_add_soon(void *tag)
{
	explore_check(add(tag_of(tag), TKW_MSEC) == 0);
	return NULL;
}

void *thread_add_far(void *tag)
{
	explore_check(add(tag_of(tag), 3600 * TKW_SEC) == 0);
	return NULL;
}

void *thread_try_add_now(void *tag)
{
	int err = add(tag_of(tag), 0);

	explore_check(err == 0 || err == -ESHUTDOWN);
	return NULL;
}

void *thread_cancel(void *tag)
{
	cancel(tag_of(tag));
	return NULL;
}

void *thread_cancel_wait(void *tag)
{
	explore_check(cancel_wait(tag_of(tag)) != -EDEADLK);
	return NULL;
}

void *thread_stop(void *unused)
{
	int err = stop();

	explore_check(err == 0 || err == 1);
	return unused;
}

void *thread_turn(void *unused)
{
	int err = turn();

	explore_check(err >= 0 || err == -EBUSY || err == -ESHUTDOWN);
	return unused;
}

int spawn(const char *name, void *(*thread)(void *arg), unsigned tag)
{
	return explore_spawn(name, thread, (void *)(uintptr_t)tag);
}

void await_fired(unsigned tag, unsigned times)
{
	explore_await(&run.tag[tag].fired, times);
}

/* --- close --------------------------------------------------------------- */

void check_balance(void)
{
	struct tkw_ledger l;

	explore_check(tkw_timer_get_ledger(run.t, &l) == 0);
	explore_check(l.accepted == l.fired + l.cancelled + l.dropped +
					    l.handed_over + l.pending);
	explore_check(tkw_timer_check(run.t) == NULL);
}

/* Checks that the counts of the timer agree with those of the tags. */
void check_ledger(void)
{
	uint64_t accepted = 0, fired = 0, cancelled = 0, handed = 0, ended = 0;
	struct tkw_ledger l;

	for (unsigned i = 0; i < TAGS; i++) {
		accepted += run.tag[i].accepted;
		fired += run.tag[i].fired;
		cancelled += run.tag[i].cancelled;
		handed += run.tag[i].handed;
		ended += run.tag[i].ended;
	}
	explore_check(tkw_timer_get_ledger(run.t, &l) == 0);
	explore_check(l.accepted == accepted);
	explore_check(l.fired == fired);
	explore_check(l.cancelled == cancelled);
	explore_check(l.handed_over == handed);
	explore_check(l.dropped == ended - cancelled - handed);
	explore_check(l.dropped == 0 || run.may_drop);
}

void check_book(void)
{
	for (unsigned i = 0; i < TAGS; i++) {
		explore_check(run.tag[i].begun == run.tag[i].fired);
		explore_check(run.tag[i].ending == run.tag[i].ended);
		explore_check(run.tag[i].accepted ==
			      run.tag[i].fired + run.tag[i].ended);
		/* The others were dropped. */
		explore_check(run.tag[i].ended == run.tag[i].cancelled +
							  run.tag[i].handed ||
			      run.may_drop);
	}
}

void close_timer(void)
{
	unsigned fired;

	stop();
	explore_check(tkw_timer_is_stopped(run.t) == 1);
	fired = run.fired;
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	check_ledger();
	explore_check(tkw_timer_destroy(run.t) == 0);
	explore_check(run.fired == fired);
	check_book();
}

/* --- the scenarios ------------------------------------------------------- */

const struct explore_scenario explore_scenarios[] = {
	{ "cancel_fire", "two cancels against the fire", cancel_against_fire },
	{ "cancel_wait_rearm", "cancel_wait against a task that re-arms",
	  cancel_wait_against_rearm },
	{ "cancel_wait_ending", "cancel_wait against the on-cancel of a cancel",
	  cancel_wait_against_on_cancel },
	{ "cancel_wait_two", "two cancel_waits against the fire",
	  cancel_waits_of_two },
	{ "cancel_wait_inside", "cancel_wait in an on-cancel against the fire",
	  cancel_wait_in_an_on_cancel },
	{ "cancel_wait_others", "cancel_wait against the ends of others",
	  cancel_wait_against_other_ends },
	{ "stale_place", "generations run out against a stale cancel",
	  stale_cancel_of_a_worn_place },
	{ "stale_block", "a block is given back against a stale cancel",
	  stale_cancel_of_a_block_given_back },
	{ "cancel_limit", "two cancels against a schedule at the limit",
	  cancels_at_the_limit },

	{ "channel_remove", "remove of a channel against its two actions",
	  channel_remove_against_actions },
	{ "channel_inside", "two kinds, and each removes and frees the channel",
	  channel_remove_inside_actions },
	{ "channel_next", "remove of the channel that is looked at next",
	  channel_remove_of_the_next },
	{ "channel_empty", "the last one out and another in against a step",
	  channel_empty_against_step },
	{ "channel_destroy", "shutdown, add and destroy against a step",
	  channel_destroy_against_step },

	{ "delayed_ends", "complete, expire and cancel of an operation",
	  delayed_complete_against_expire },
	{ "delayed_lists", "the same with two keys",
	  delayed_lists_against_ends },
	{ "delayed_event", "two events against two operations on a key",
	  delayed_event_against_event },
	{ "delayed_add", "two events on a key against add",
	  delayed_add_against_events },
	{ "delayed_add_keys", "two events on the second key against add",
	  delayed_add_with_two_keys },
	{ "delayed_add_expire", "add with two keys against events and expire",
	  delayed_add_against_expire },
	{ "delayed_keys", "events on the two keys of an operation",
	  delayed_keys_against_each_other },
	{ "delayed_reuse", "event and cancel against the next in the record",
	  delayed_event_against_reuse },
	{ "delayed_shutdown", "shutdown of a set against add and event",
	  delayed_shutdown_against_add },
	{ "delayed_timer_stop", "stop of the timer against add and event",
	  delayed_timer_stop_against_event },
	{ "delayed_destroy", "destroy of a set against two that expire",
	  delayed_destroy_against_expire },

	{ "schedule_fire", "schedules against the fire",
	  schedule_against_fire },
	{ "ticks_in_order", "two shards, ticks in order after a stall",
	  ticks_of_two_shards },
	{ "order_in_tick", "two threads, each in its order in a tick",
	  order_of_a_thread },
	{ "cancel_next_in_line", "cancels of what is due in the same tick",
	  cancel_of_the_next_in_line },
	{ "limit_fire", "the limit of pending against the fire",
	  limit_against_fire },
	{ "ledger", "the ledger against all", ledger_against_all },
	{ "query", "query against fire, cancel and reschedule",
	  query_against_all },

	{ "group_cancel", "cancels of a group and of a timeout against fire",
	  group_cancel_against_fire },
	{ "group_schedule", "cancel of a group against schedule and fire",
	  group_cancel_against_schedule },
	{ "group_move", "reschedule and extend of a group against fire",
	  group_move_against_fire },
	{ "group_move_cancel", "extend of a group against its cancel and fire",
	  group_move_against_cancel },
	{ "group_end", "the end of a group against two schedules",
	  group_end_against_schedule },
	{ "group_destroy", "destroy of a group against cancel and fire",
	  group_destroy_against_fire },
	{ "group_inside", "a task that destroys its group against a cancel",
	  group_destroy_inside_a_task },
	{ "group_stop", "stop of the timer against a group",
	  group_cancel_against_timer_stop },
	{ "group_query", "a query against the next timeout in the member",
	  group_query_against_reuse },

	{ "start_start", "two starts against a schedule", start_against_start },
	{ "start_stop", "start against stop and schedule", start_against_stop },
	{ "start_refused", "no thread for the first of three schedules",
	  start_without_a_thread },
	{ "destroy_lost_stop", "destroy after a stop that was lost",
	  destroy_after_a_lost_stop },

	{ "turn_stop", "manual: turn against stop", turn_against_stop },
	{ "turn_turn", "manual: two turns against a schedule",
	  turn_against_turn },
	{ "turn_rearm", "manual: a task that re-arms against a turn",
	  turn_against_rearm },
	{ "next_schedule", "manual: next against turn and schedule",
	  next_against_schedule },

	{ "bell_ring", "a bell: two who wait against two who ring",
	  bell_against_rings },
	{ "bell_ring_one", "a bell: two takers against rings for one",
	  bell_against_rings_for_one },
	{ "bell_time", "a bell: waits with a bound against a ring",
	  bell_against_time },
	{ "rundown_enter", "a rundown: two who enter against the close",
	  rundown_against_enters },
	{ "rundown_leave", "a rundown: two who leave against close and free",
	  rundown_against_leaves },

	{ "loop_wake", "loop: a new earliest against the end of a turn",
	  earliest_against_poll },
	{ "loop_bound", "loop: bounded turns against cancel, schedule and stop",
	  bounded_turns_against_all },

	{ "sleep_earliest", "a new earliest against the worker's sleep",
	  earliest_against_sleep },
	{ "sleep_two_earliest", "two new earliest against the worker's sleep",
	  two_earliest_at_once },
	{ "sleep_now", "what is due at once against the worker's sleep",
	  due_at_once_against_sleep },
	{ "sleep_own_clock", "the same with a clock of the caller's",
	  own_clock_against_sleep },
	{ "reschedule_earlier", "reschedule earlier against the sleep",
	  reschedule_earlier_against_sleep },
	{ "reschedule_later", "reschedule later against expiry",
	  reschedule_later_against_expiry },
	{ "slack_extension", "slack and extension against expiry",
	  slack_and_extension_against_expiry },
	{ "catch_up", "schedules into a wheel that was idle",
	  catch_up_of_an_idle_wheel },
	{ "cancel_earliest", "cancel of the earliest against the sleep",
	  cancel_of_the_earliest },

	{ "watchdog_sleep", "two tasks begin against the watchdog's sleep",
	  watchdog_against_tasks },

	{ "exec_cancel", "cancel against a thread of the pool",
	  cancel_against_dequeue },
	{ "exec_reschedule", "reschedule against a thread of the pool",
	  reschedule_against_dequeue },
	{ "exec_cancel_wait", "cancel_wait against the stop of the pool",
	  cancel_wait_against_pool_stop },
	{ "exec_refuse_stop", "an executor that refuses against stop",
	  refusal_against_stop },
	{ "exec_drop_stop", "the same, and what it refuses is dropped",
	  drop_against_stop },
	{ "exec_abandon_stop", "abandon against stop and cancel",
	  abandon_against_stop },
	{ "exec_retry_stop", "abandon of what is offered again against stop",
	  abandon_for_a_retry_against_stop },
	{ "exec_outlives", "a job is run while its timer is destroyed",
	  job_outlives_its_timer },
	{ "pool_stop", "two submits against stop and destroy of a pool",
	  submit_against_pool_stop },

	{ "pool_idle", "wait_idle against submits and the stop of a pool",
	  wait_idle_of_a_pool },

	{ "idle_chain", "wait_idle against tasks that schedule the next",
	  idle_against_a_chain },
	{ "idle_schedule", "wait_idle against schedules into either shard",
	  idle_against_schedules },
	{ "idle_cancel", "wait_idle against cancels", idle_against_cancel },
	{ "idle_stop", "wait_idle against stop", idle_against_stop },
	{ "idle_time", "wait_idle with a bound against the last fire",
	  idle_against_time },

	{ "lease_release", "release against a batch of leases on a pool",
	  release_against_renew },
	{ "lease_lost", "a lease is lost against its renewal and its release",
	  lost_against_renewal_and_release },
	{ "lease_stop", "stop of the timer against release and add of leases",
	  timer_stop_against_release_and_add },
	{ "lease_shutdown", "two shutdowns against a batch of leases on a pool",
	  shutdown_against_renew },

	{ "repeat_shutdown", "shutdown against pause and start, and a round",
	  repeat_against_shutdown },
	{ "repeat_start", "two pauses and starts against a round",
	  repeat_against_starts },
	{ "repeat_restart", "two restarts with an adjust against a round",
	  repeat_against_restart },
	{ "repeat_drop", "two restarts against an executor that drops",
	  repeat_against_drop },
	{ "repeat_start_now", "two starts with a round at once against a round",
	  repeat_against_start_now },
	{ "repeat_run_now", "run_now against a round and pause",
	  repeat_against_run_now },
	{ "repeat_destroy", "destroy, which waits, against a round",
	  repeat_against_destroy },
	{ "repeat_free", "restart and destroy against a round",
	  repeat_against_free },

	{ "request_timeout", "two answers against the timeout of a request",
	  complete_against_timeout },
	{ "request_reuse", "an answer against the next request in its record",
	  complete_against_reuse },
	{ "request_wait", "wait against an answer and the timeout",
	  wait_against_complete },
	{ "request_shutdown", "shutdown of a set against add and answer",
	  shutdown_of_a_set },
	{ "request_timer_stop", "stop of the timer against add and answer",
	  timer_stop_against_complete },
	{ "request_destroy", "destroy of a set against timeouts and a pool",
	  destroy_of_a_set },
	{ "request_destroy_timeouts", "destroy of a set against its callbacks",
	  destroy_against_timeouts },

	{ "job_remove", "two removes of a job against its time",
	  job_remove_against_fire },
	{ "job_change", "changes of a job against its time",
	  job_change_against_fire },
	{ "job_pause", "pause and resume of a job against its time",
	  job_pause_against_fire },
	{ "job_run_now", "runs that are asked for against a time",
	  job_run_now_against_fire },
	{ "job_clock", "steps of the clock against the time of a job",
	  job_clock_against_fire },
	{ "job_shutdown", "shutdown of jobs against an answer",
	  job_shutdown_against_done },
	{ "job_stop", "stop of the timer against a job",
	  job_timer_stop_against_fire },
	{ "job_destroy", "destroy of jobs against a time",
	  job_destroy_against_fire },
	{ "job_queue", "destroy of jobs against an executor",
	  job_queue_against_destroy },
	{ "job_watch", "steps of the clock against the thread that watches it",
	  job_watch_against_steps },
	{ "job_done", "two answers of a run against its return",
	  job_answers_against_return },
	{ "job_drop", "changes of a job against an executor that drops",
	  job_change_against_drop },

	{ "retry_cancel", "cancel and shutdown of retries against a try",
	  retry_against_cancel },
	{ "retry_timeout", "two answers against the timeout of a try",
	  retry_done_against_timeout },
	{ "retry_done", "an answer against cancel and timeout of a try",
	  retry_done_against_cancel },
	{ "retry_return", "an answer against the return of its try",
	  retry_done_against_return },

	{ "stop_schedule", "stop against two schedules",
	  schedule_against_stop },
	{ "stop_wakes_worker", "stop against a schedule that sets the alarm",
	  stop_wakes_the_worker },
	{ "stop_stop", "two stops against a schedule", stop_against_stop },
	{ "stop_cancel_wait", "stop against cancel_wait on a running task",
	  stop_against_cancel_wait },
	{ "stop_reschedule", "stop against reschedule",
	  stop_against_reschedule },
	{ "stop_cancel", "the hand-over of a stop against cancels",
	  stop_against_cancel },
	{ "stop_rearm", "stop against a task that re-arms at once",
	  stop_against_rearm },
};
const size_t explore_scenario_count =
	sizeof(explore_scenarios) / sizeof(explore_scenarios[0]);
