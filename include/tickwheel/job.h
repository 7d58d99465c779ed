/* SPDX-License-Identifier: MIT */
/*
 * job.h - run functions by plans, such as each night at 02:30
 *
 * A job calls a task at the times of a plan; calendar.h explains plans. A set
 * holds jobs, and runs them on a timer. The times are those of the wall clock,
 * in milliseconds since 1970. If the clock is set, the jobs follow at once.
 * Each call of a task begins a run.
 *
 *   Promise  Each planned time of a job is decided exactly once: it is started,
 *            missed, left out because of an overlap, or not reached before the
 *            job ends. No run starts before its planned time on the wall clock,
 *            and no planned time is started twice, even if the clock goes back.
 *   Missed   A planned time is missed if its run could not start within the
 *            grace of the job, for example because the machine was suspended or
 *            the clock was set forward. The misfire rule says which of the
 *            missed times are started all the same, late. The others are
 *            counted in `missed`. Times within the grace are started late, one
 *            after the other.
 *            With TKW_MISFIRE_SKIP, a run that has to wait for others, or in
 *            the queue of an executor, until its grace is over, is missed too.
 *   Overlap  A job is running from the start of a run to its end. A planned
 *            time that comes meanwhile is left out, or its run starts all the
 *            same, as the overlap rule says. Times that were due before the
 *            run began are not left out, but started after it.
 *   Back     If the clock goes back, a job waits until the clock has passed the
 *            last planned time that was decided. Times that were due but had
 *            not begun are the exception: they start when the clock comes to
 *            them again. If the clock was far ahead by mistake, remove the job
 *            and add it again.
 *   Clock    Without now_us in the config, the times are those of
 *            CLOCK_REALTIME. If the timer has a thread, the set has a thread
 *            too, which sleeps in the kernel until the clock is set. With the
 *            other drives, poll tkw_jobs_fd(). A set owns one file descriptor
 *            for this, a timerfd. If somebody closes it, a job notices a step
 *            of the clock only when it is next due.
 *   Ids      A struct tkw_job_id names a job. It is plain data, and you may
 *            keep it for ever. When the job has ended, its id is stale: calls
 *            with a stale id return -ENOENT and never touch another job.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. Runs are
 *            made by the timer's worker or executor, or by the executor of the
 *            set.
 *   Refusal  A job has one timeout on the timer. If the timer refuses it, the
 *            job ends with the error of the timer. If the timer drops it (see
 *            TKW_REFUSED_DROP in timer.h), or the executor of the set refuses
 *            or abandons a run, the planned times that are due then count as
 *            missed, a run that was asked for is not made, and the job goes on.
 *   Life     Destroy the set before the timer. If the timer is stopped, all
 *            jobs end with -ESHUTDOWN.
 *   Fork     In a child of fork(), a set of the parent does nothing, and calls
 *            return -EPERM. There, tkw_jobs_destroy() frees the memory and
 *            calls no callback.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the set has max_jobs jobs, or the timer has max_pending
 *               timeouts
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the job has ended, or no job ever had this id
 *   -EBUSY      the job is running, or is about to run
 *   -EDEADLK    the call might wait for ever, because it is made inside a
 *               callback
 *   -EPERM      the set or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
 */
#ifndef TICKWHEEL_JOB_H
#define TICKWHEEL_JOB_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/calendar.h>
#include <tickwheel/exec.h>
#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_jobs;

/* The id of a job. It works like struct tkw_timeout_id, but is a type of its
 * own, so that the compiler does not let you mix up the two. */
struct tkw_job_id {
	uint64_t bits;
};

/* The largest max_missed of a job. */
#define TKW_JOB_MAX_MISSED 100

/* If more times than this are missed or left out at once, for example because
 * the clock was set forward by years, this many are counted. */
#define TKW_JOB_MAX_COUNTED 10000

/* The settings of a set. timer is required. In all other fields, zero means the
 * default. */
struct tkw_jobs_config {
	/* sizeof(struct tkw_jobs_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/*
	 * The executor that calls the tasks, for example a pool. If it is NULL,
	 * they are called by the timer's worker or executor. A task that blocks
	 * the timer's worker delays all timeouts of the timer.
	 * The struct is copied. What its ctx points to must stay valid until
	 * the set is destroyed.
	 */
	const struct tkw_exec *exec;
	/* How many jobs the set may hold, at most 2^20. 0 means 2^20. */
	int64_t max_jobs;
	/* Seed for the random shifts of spread_ms. 0 picks a random seed. */
	uint64_t seed;
	/* The wall clock, in microseconds since 1970. It is for tests and
	 * simulations. NULL means CLOCK_REALTIME. Must be set if the timer has
	 * a clock hook. It is called on any thread, and also while the library
	 * holds locks, so it must not call the library. If this clock is set,
	 * call tkw_jobs_reread_clock(). */
	int64_t (*now_us)(void *ctx);
	/* Passed to now_us. */
	void *now_ctx;
};

/* Passed to a task. It is valid while the task runs. */
struct tkw_job_run {
	struct tkw_jobs *jobs;
	struct tkw_job_id id;
	/* 1 for the first run of the job. */
	int64_t number;
	/* The planned time. If run_now is set, the time at which the timer came
	 * to the run. */
	int64_t planned_ms;
	/* The wall clock at the start of the run. It is before planned_ms only
	 * if the clock went back while the run was in an executor's queue. */
	int64_t now_ms;
	/* Planned times that were missed and not made up for, since the last
	 * run by the plan. */
	uint64_t missed;
	/* Planned times that were left out because of an overlap, since the
	 * last run by the plan. */
	uint64_t overlaps;
	/* Not 0: tkw_jobs_run_now() asked for this run. */
	int run_now;
};

/* A task returns this value if its run goes on, until tkw_jobs_done() ends it.
 * The value is unusual, so that no task returns it by accident. */
#define TKW_JOB_LATER 0x17e3

/* Passed to on_end. It says how a job has ended. */
struct tkw_job_end {
	struct tkw_jobs *jobs;
	struct tkw_job_id id;
	/*
	 * The reason:
	 *   -ECANCELED  the job was removed
	 *   -ESHUTDOWN  the set was shut down, or the timer was stopped
	 *   -EAGAIN, -ENOMEM, -EBADF
	 *               the timer refused the timeout of the job
	 */
	int status;
};

/* A job. plan and fn are required. In all other fields, zero means the
 * default. */
struct tkw_job_config {
	/* sizeof(struct tkw_job_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	/* The plan. The job shares it, so you may destroy it after the call. */
	const struct tkw_plan *plan;
	/*
	 * The task. The rules of tkw_task_fn in timer.h apply.
	 *
	 * It returns 0, or TKW_JOB_LATER if the run goes on. With any other
	 * value the run counts as failed, and the job goes on as before.
	 */
	int (*fn)(const struct tkw_job_run *run, void *ctx);
	/*
	 * Called once, when the job has ended and its task does not run any
	 * more. It may free what ctx points to. The job counts towards max_jobs
	 * until on_end has returned. May be NULL.
	 *
	 * If the task runs when the job ends, on_end runs on that thread.
	 * Otherwise it runs inside the call that ends the job.
	 */
	void (*on_end)(const struct tkw_job_end *end, void *ctx);
	/* Passed to both functions as the last argument. */
	void *ctx;
	/* Planned times after this one belong to the job. 0 means now. A
	 * program that stores the last planned time passes it here when it
	 * starts again. */
	int64_t since_ms;
	/* How late a run may start before its time is missed. 0 means one
	 * minute. */
	int64_t grace_ms;
	/* Each run starts up to this much later than planned, so that many
	 * machines do not start at once. The shift is random, and is the same
	 * for all runs of the job. The grace counts from the shifted time. 0
	 * means no shift. */
	int64_t spread_ms;
	/* An enum tkw_misfire. */
	int misfire;
	/* For TKW_MISFIRE_ALL: how many of the missed times are started, at
	 * most TKW_JOB_MAX_MISSED. 0 means TKW_JOB_MAX_MISSED. Must be 0 with
	 * the other rules. */
	int max_missed;
	/* An enum tkw_overlap. With TKW_OVERLAP_ALLOW, runs overlap if the set
	 * or the timer has an executor, or if the task returns TKW_JOB_LATER.
	 * If there is no memory for one more run, its time is left out. */
	int overlap;
	/* The name that tkw_jobs_print() writes. It is copied and cut to 31
	 * bytes. NULL means "job". */
	const char *name;
};

/* Facts about a job. */
struct tkw_job_info {
	struct tkw_job_id id;
	/* The name, with a 0 at the end. */
	char name[32];
	/* The next planned time that has not begun, or INT64_MAX if there is
	 * none. While the job is paused, the time that would come next. */
	int64_t next_ms;
	/* The planned time and the start of the last run; 0 before the first
	 * run. */
	int64_t last_ms;
	int64_t last_start_ms;
	/* What the last run that has ended returned; 0 before the first. */
	int last_result;
	int paused; /* not 0: tkw_jobs_pause() */
	/* How much later than planned each run starts. */
	int64_t shift_ms;
	/* Runs that are going on or are in an executor's queue. */
	uint64_t running;
	uint64_t runs;     /* planned times that were started */
	uint64_t runs_now; /* runs that tkw_jobs_run_now() asked for */
	uint64_t failed;   /* runs that have ended, but not with 0 */
	uint64_t missed;   /* planned times that were missed and not made up
			    * for, and those that a pause or a change of the
			    * plan found due */
	uint64_t overlaps; /* planned times that were left out because of an
			    * overlap; counted when the run ends */
};

/*
 * Creates a set without jobs.
 *
 * The call starts no thread. If the timer has a thread, and now_us is NULL, the
 * first tkw_jobs_add() starts one.
 *
 * out  Receives the set. Destroy it with tkw_jobs_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument or timer is NULL, cfg has a size or fields that this
 *            library does not know, exec has no submit, max_jobs is out of
 *            range, or the timer has a clock hook and now_us is NULL
 *   -EMFILE, -ENFILE
 *            no file descriptor is free
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_jobs_create(struct tkw_jobs **out, const struct tkw_jobs_config *cfg);

/*
 * Adds a job to a set.
 *
 * The task never runs inside this call.
 *
 * cfg  The job. It is copied.
 * id   Receives the id. It is written before the first run. May be NULL.
 *
 * Returns 0, or
 *   -EINVAL  js, cfg, or its plan or fn is NULL, cfg has a size or fields that
 *            this library does not know, misfire or overlap is unknown,
 *            max_missed is out of range, or since_ms, grace_ms or spread_ms
 *            is negative
 *   -ENOENT  the plan has no later time
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_jobs_add(struct tkw_jobs *js, const struct tkw_job_config *cfg,
		 struct tkw_job_id *id);

/*
 * Changes the plan and the rules of a job.
 *
 * If the plan has the text and the zone of the old one, the job only gets the
 * new rules. Otherwise the times of the new plan count from now; times of the
 * old plan that are due, but not started, count as missed. Planned times up to
 * the last decided one are never started again. Runs that are going on are not
 * disturbed.
 *
 * cfg  The new settings, all of them: 0 means the default and not the old
 *      value. fn, on_end and ctx cannot change: each must be NULL or the old
 *      one. since_ms is not used. If name is NULL, the name stays.
 *
 * Returns 0, or
 *   -EINVAL  js, cfg or its plan is NULL, fn, on_end or ctx is another one, or
 *            a field is not valid, as in tkw_jobs_add()
 *   -ENOENT  the plan has no later time, or as listed at the top
 *   -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_jobs_change(struct tkw_jobs *js, struct tkw_job_id id,
		    const struct tkw_job_config *cfg);

/*
 * Pauses a job: no planned time is started until it is resumed.
 *
 * Planned times during the pause are not decided and not counted. Those that
 * are due when the pause begins, but not started, count as missed. The call
 * does not wait for a run that is going on. If the job is already paused, the
 * call does nothing.
 *
 * Returns 0 if the job is paused, or
 *   -EINVAL  js is NULL
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_jobs_pause(struct tkw_jobs *js, struct tkw_job_id id);

/*
 * Resumes a job. Its planned times count from now.
 *
 * If the job is not paused, the call does nothing.
 *
 * Returns 0, or
 *   -EINVAL  js is NULL
 *   -ENOENT, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_jobs_resume(struct tkw_jobs *js, struct tkw_job_id id);

/*
 * Asks for a run in the next turn of the timer, besides the plan.
 *
 * The run is made where the other runs are made, never inside this call. A
 * paused job runs too. The planned times of the job stay as they are. One that
 * is due already is started after this run, and one that comes during this run
 * is an overlap.
 *
 * Returns 0, or
 *   -EINVAL  js is NULL
 *   -EBUSY   the job is running and its overlap rule is TKW_OVERLAP_SKIP, or
 *            an earlier call has asked for a run that has not begun
 *   -ENOENT, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_jobs_run_now(struct tkw_jobs *js, struct tkw_job_id id);

/*
 * Ends a run whose task returns TKW_JOB_LATER.
 *
 * The call may come before the task has returned. If the task then returns
 * another value, that value is the result.
 *
 * number  The number of the run, from struct tkw_job_run.
 * result  0 if the run succeeded. Any other value means that it failed.
 *
 * Returns 0, or
 *   -EINVAL  js is NULL
 *   -ENOENT  the job has ended, or no such run is going on, for example because
 *            an earlier call has ended it
 *   -EPERM   as listed at the top
 */
int tkw_jobs_done(struct tkw_jobs *js, struct tkw_job_id id, int64_t number,
		  int result);

/*
 * Removes a job, which ends with -ECANCELED.
 *
 * No run begins after this call. The call does not wait for a task that runs:
 * on_end says when it has returned. If the task of a run has returned
 * TKW_JOB_LATER, tkw_jobs_done() returns -ENOENT for this run from now on.
 *
 * Returns 0 if the task does not run, 1 if it runs, or
 *   -EINVAL  js is NULL
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_jobs_remove(struct tkw_jobs *js, struct tkw_job_id id);

/*
 * Removes a job as tkw_jobs_remove() does. If its task or its on_end is
 * running, the call waits until that has returned.
 *
 * When the call has returned 0, 1 or -ENOENT, no callback of the job runs. Do
 * not hold a lock that a callback of the set takes.
 *
 * Returns 0 if the task did not run, 1 if it ran and has returned now, or
 *   -EINVAL   js is NULL
 *   -ENOENT   the job had ended before
 *   -EDEADLK  the call would have to wait, and is made inside a callback of any
 *             set or repeat, or inside a task, an on-cancel callback or a
 *             visitor of the timer
 *   -EPERM    as listed at the top
 */
int tkw_jobs_remove_wait(struct tkw_jobs *js, struct tkw_job_id id);

/*
 * Gets the facts about a job.
 *
 * info  Receives the facts.
 *
 * Returns 0, or
 *   -EINVAL  js or info is NULL
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_jobs_get(struct tkw_jobs *js, struct tkw_job_id id,
		 struct tkw_job_info *info);

/*
 * Prints a job as text, for example "nightly, 30 2 * * *, next
 * 2026-11-20T02:30:00+01:00, running".
 *
 * The text ends with "running" if a run is going on, and with "paused" if the
 * job is paused. It says "next never" if there is no next time.
 *
 * buf   Receives the text. As with snprintf(), it is cut to size bytes and ends
 *       with a zero byte. May be NULL if size is 0.
 * size  The size of buf. With 0 nothing is written.
 *
 * Returns the length of the whole text, even if it was cut, or
 *   -EINVAL  js is NULL, or buf is NULL and size is not 0
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_jobs_print(struct tkw_jobs *js, struct tkw_job_id id, char *buf,
		   size_t size);

/*
 * Lists the jobs of a set. Each call gives you a piece of the list.
 *
 * A job that is in the set from the first call to the last one is listed
 * exactly once.
 *
 * cursor  Set it to 0 before the first call. Each call sets it for the next
 *         one. If it is 0 after a call, the list is complete.
 * out     Receives up to max jobs.
 * max     The size of out, from 1 to INT_MAX.
 *
 * Returns how many jobs it has written, or
 *   -EINVAL  js, cursor or out is NULL, or max is out of range
 *   -EPERM   as listed at the top
 */
int tkw_jobs_list(struct tkw_jobs *js, uint64_t *cursor,
		  struct tkw_job_info *out, size_t max);

/* Returns the number of jobs that have not ended; 0 if js is NULL or in a
 * forked child. */
uint64_t tkw_jobs_count(struct tkw_jobs *js);

/*
 * Returns a file descriptor that is readable when the wall clock was set.
 *
 * Use it if the timer has no thread. Poll the fd for reading, and call
 * tkw_jobs_reread_clock() when it is readable. The fd stays readable until
 * then. It belongs to the set until tkw_jobs_destroy(). Do not read it, close
 * it, or set it.
 *
 * Returns the number of the fd, even if somebody has closed it, or
 *   -EINVAL  js is NULL, the timer has a thread, or the set has a clock of its
 *            own
 *   -EPERM   as listed at the top
 */
int tkw_jobs_fd(struct tkw_jobs *js);

/*
 * Reads the wall clock again, and moves the timeouts of all jobs accordingly.
 *
 * Runs that are due start in the next turn of the timer, not inside this call.
 * If the set has a thread, the thread does this by itself when the clock is
 * set.
 *
 * Returns 0, or
 *   -EINVAL  js is NULL
 *   -EBADF   the fd of the set was closed; the timeouts have been moved
 *   -EPERM   as listed at the top
 */
int tkw_jobs_reread_clock(struct tkw_jobs *js);

/*
 * Shuts a set down: it refuses new jobs, and all its jobs end with -ESHUTDOWN.
 *
 * The call never waits. A job whose task runs ends when that task returns.
 *
 * Returns 0, even if the set was shut down before, or
 *   -EINVAL  js is NULL
 *   -EPERM   as listed at the top
 */
int tkw_jobs_shutdown(struct tkw_jobs *js);

/*
 * Shuts a set down, unless that is done already, and frees it.
 *
 * The call waits until all jobs of the set have ended, and until the thread of
 * the set has ended. No other thread may use the set any more. Do not hold a
 * lock that a callback of the set takes.
 *
 * The set's executor may still have runs in its queue. They do nothing, and
 * each keeps a piece of memory until it is run or abandoned.
 *
 * js  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside a task or an on_end of the set, or inside a task,
 *             an on-cancel callback or a visitor of the timer
 */
int tkw_jobs_destroy(struct tkw_jobs *js);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_JOB_H */
