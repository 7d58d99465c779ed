/* SPDX-License-Identifier: MIT */
/*
 * scenario_timer.h - what the scenarios of the timer share: a timer, calls that
 * record what happens to each timeout, and the check of these records.
 *
 * Each timeout has a tag, a small number, which is its ctx. When a task begins,
 * it checks that no other task runs, that it has not run before, that its
 * deadline is the one that was asked for, and that it is neither early nor
 * later than its tick and its slack allow. It cannot be late by accident,
 * because time stands still while any thread can run.
 */
#ifndef TKW_TESTS_SCENARIO_TIMER_H
#define TKW_TESTS_SCENARIO_TIMER_H

#include "explore.h"
#include "tickwheel/timer.h"

enum {
	TAGS = 8
};

struct run {
	struct tkw_timer *t;
	struct {
		struct tkw_timeout_id id;
		int64_t deadline_ns;
		int64_t asked_ns; /* deadline of a reschedule that is under way
				   */
		int64_t slack_ns;
		unsigned accepted;
		unsigned begun; /* tasks that have begun */
		unsigned fired;
		unsigned cancelled; /* cancels that returned 0 */
		unsigned ending;    /* on-cancel calls that have begun */
		unsigned ended;
		unsigned handed;
	} tag[TAGS];
	unsigned running;
	unsigned fired;       /* tasks of all tags */
	unsigned order[TAGS]; /* the tags in the order of firing */
	unsigned threads;     /* threads that were made for the timer */
	unsigned no_threads;  /* how many threads are refused first */
	unsigned told;        /* reports of the watchdog about running tasks */
	int64_t stall_ns;     /* how long tasks may delay others */
	bool unlimited_runs;  /* a tag may fire more than once */
	bool side_by_side;    /* tasks may run at the same time */
	bool may_drop;        /* timeouts may be dropped by the executor */
	/* Called by a task, an on-cancel and a visitor, if not NULL. */
	void (*in_task)(unsigned tag);
	void (*in_cancel)(unsigned tag);
};
extern struct run run;

/* Opens a timer, with an empty book. */
void open_timer(int shards);
void open_limited(int shards, int64_t max_pending);
void open_manual(void);
void open_loop(int shards);
/* The same with a clock hook, which returns the same time. */
void open_own_clock(void);

/* The same with a watchdog. A task may take this long, and run.told counts the
 * reports. */
void open_watched(int64_t slow_task_ns);

/* The same with an executor, one shard, and a policy for refusals. */
void open_exec(const struct tkw_exec *exec, int refusal);

/* The calls of the timer. They return what the timer returns. A scenario may
 * call the timer itself only if that changes no term of the ledger: to start
 * it, to query it, or to be refused. */
int add(unsigned tag, int64_t delay_ns);
int add_with_slack(unsigned tag, int64_t delay_ns, int64_t slack_ns);
int add_at(unsigned tag, int64_t deadline_ns);
int cancel(unsigned tag);
int cancel_wait(unsigned tag);
int reschedule(unsigned tag, int64_t delay_ns);
int stop(void);
int turn(void);
int turn_of(int max_tasks);

/* Threads that make one call. arg is the tag. The call must return one of the
 * results below. */
void *thread_add_now(void *tag);     /* is due at once; returns 0 */
void *thread_add_soon(void *tag);    /* is due in a tick; returns 0 */
void *thread_add_far(void *tag);     /* is due in an hour; returns 0 */
void *thread_try_add_now(void *tag); /* returns 0, or -ESHUTDOWN */
void *thread_cancel(void *tag);
void *thread_cancel_wait(void *tag);
void *thread_stop(void *unused);
void *thread_turn(void *unused);
/* Makes a thread like these for a tag. */
int spawn(const char *name, void *(*thread)(void *arg), unsigned tag);

/* Waits until the task of a tag has ended this many times. */
void await_fired(unsigned tag, unsigned times);

/* Checks that the ledger balances and that the timer is sound, now. */
void check_balance(void);

/* Checks that the ledger agrees with the book. The timer must be stopped. */
void check_ledger(void);

/* Stops the timer, and checks that each timeout ended once, in one way, and was
 * told so, and that the ledger says the same. Then destroys the timer. */
void close_timer(void);
/* The same check after a destroy. */
void check_book(void);

/* The scenarios. */
void cancel_against_fire(void);
void cancel_wait_against_rearm(void);
void cancel_wait_against_on_cancel(void);
void cancel_waits_of_two(void);
void cancel_wait_in_an_on_cancel(void);
void cancel_wait_against_other_ends(void);
void stale_cancel_of_a_worn_place(void);
void stale_cancel_of_a_block_given_back(void);
void cancels_at_the_limit(void);

void channel_remove_against_actions(void);
void channel_remove_inside_actions(void);
void channel_remove_of_the_next(void);
void channel_empty_against_step(void);
void channel_destroy_against_step(void);

void delayed_complete_against_expire(void);
void delayed_lists_against_ends(void);
void delayed_event_against_event(void);
void delayed_add_against_events(void);
void delayed_add_with_two_keys(void);
void delayed_add_against_expire(void);
void delayed_keys_against_each_other(void);
void delayed_event_against_reuse(void);
void delayed_shutdown_against_add(void);
void delayed_timer_stop_against_event(void);
void delayed_destroy_against_expire(void);

void schedule_against_fire(void);
void ticks_of_two_shards(void);
void order_of_a_thread(void);
void cancel_of_the_next_in_line(void);
void limit_against_fire(void);
void ledger_against_all(void);
void query_against_all(void);

void group_cancel_against_fire(void);
void group_cancel_against_schedule(void);
void group_move_against_fire(void);
void group_move_against_cancel(void);
void group_end_against_schedule(void);
void group_destroy_against_fire(void);
void group_destroy_inside_a_task(void);
void group_cancel_against_timer_stop(void);
void group_query_against_reuse(void);

void start_against_start(void);
void start_against_stop(void);
void start_without_a_thread(void);
void destroy_after_a_lost_stop(void);

void turn_against_stop(void);
void turn_against_turn(void);
void turn_against_rearm(void);
void next_against_schedule(void);

void bell_against_rings(void);
void bell_against_rings_for_one(void);
void bell_against_time(void);
void rundown_against_enters(void);
void rundown_against_leaves(void);

void earliest_against_poll(void);
void bounded_turns_against_all(void);

void earliest_against_sleep(void);
void two_earliest_at_once(void);
void due_at_once_against_sleep(void);
void own_clock_against_sleep(void);
void reschedule_earlier_against_sleep(void);
void reschedule_later_against_expiry(void);
void slack_and_extension_against_expiry(void);
void catch_up_of_an_idle_wheel(void);
void cancel_of_the_earliest(void);

void watchdog_against_tasks(void);

void cancel_against_dequeue(void);
void reschedule_against_dequeue(void);
void cancel_wait_against_pool_stop(void);
void refusal_against_stop(void);
void drop_against_stop(void);
void abandon_against_stop(void);
void abandon_for_a_retry_against_stop(void);
void job_outlives_its_timer(void);
void submit_against_pool_stop(void);

void wait_idle_of_a_pool(void);

void idle_against_a_chain(void);
void idle_against_schedules(void);
void idle_against_cancel(void);
void idle_against_stop(void);
void idle_against_time(void);

void job_remove_against_fire(void);
void job_change_against_fire(void);
void job_pause_against_fire(void);
void job_run_now_against_fire(void);
void job_clock_against_fire(void);
void job_shutdown_against_done(void);
void job_timer_stop_against_fire(void);
void job_destroy_against_fire(void);
void job_queue_against_destroy(void);
void job_watch_against_steps(void);
void job_answers_against_return(void);
void job_change_against_drop(void);

void release_against_renew(void);
void lost_against_renewal_and_release(void);
void timer_stop_against_release_and_add(void);
void shutdown_against_renew(void);

void repeat_against_shutdown(void);
void repeat_against_starts(void);
void repeat_against_restart(void);
void repeat_against_drop(void);
void repeat_against_start_now(void);
void repeat_against_run_now(void);
void repeat_against_destroy(void);
void repeat_against_free(void);

void complete_against_timeout(void);
void complete_against_reuse(void);
void wait_against_complete(void);
void shutdown_of_a_set(void);
void timer_stop_against_complete(void);
void destroy_of_a_set(void);
void destroy_against_timeouts(void);

void retry_against_cancel(void);
void retry_done_against_timeout(void);
void retry_done_against_cancel(void);
void retry_done_against_return(void);

void schedule_against_stop(void);
void stop_wakes_the_worker(void);
void stop_against_stop(void);
void stop_against_cancel_wait(void);
void stop_against_reschedule(void);
void stop_against_cancel(void);
void stop_against_rearm(void);

#endif /* TKW_TESTS_SCENARIO_TIMER_H */
