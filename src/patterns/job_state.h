/* SPDX-License-Identifier: MIT */
/*
 * job_state.h - sets of jobs inside.
 *
 * Idea:    each job has one timeout. It is always pending, or on its way to
 *          come_due(): for the next planned time, for the next turn, or for
 *          never, if the job is paused or waits for the end of a run. So a call
 *          from outside only writes down what is wanted and moves the timeout.
 *          Whatever happens, happens in come_due(), which reads the wall clock
 *          and schedules the next timeout before it makes a run.
 *
 * States of a record, under the lock of the set:
 *          0 -> LIVE       add
 *          LIVE -> ENDING  by the winner: remove, shutdown, or the timer
 *          ENDING -> OVER  no task runs, and on_end has returned
 *          OVER -> 0       the last holder has let go of the job
 *
 * States of a run:
 *          QUEUED    in the queue of the executor, or about to begin. If the
 *                    job ends, the run loses its job, and does nothing.
 *          RUNNING   the task runs
 *          ANSWERED  the task runs, and tkw_jobs_done() has come before its end
 *          LATER     the task has returned TKW_JOB_LATER
 *
 * Holds:   a job is held by itself until it is OVER, by each timeout that has
 *          not ended, and by each thread that works on it without the lock.
 *          Each hold also holds the set. So do a queued run and the owner.
 *
 * Firing:  a timeout that has begun to fire, or that is being dropped, cannot
 *          be moved. It is not replaced, either: it looks at the job when it
 *          gets the lock. So a job that has not ended has one timeout, never
 *          two. If the job has ended, the firing does nothing.
 *
 * Locks:   one lock for a set. It is held over calls of the timer, but not over
 *          calls of the user or of an executor.
 */
#ifndef TKW_PATTERNS_JOB_STATE_H
#define TKW_PATTERNS_JOB_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/alarm.h"
#include "os/bell.h"
#include "os/dice.h"
#include "os/fork.h"
#include "os/id_table.h"
#include "os/sync.h"
#include "patterns/job_times.h"
#include "tickwheel/job.h"

enum {
	TKW__JOB_NAME = 32
};

/* States of a record. 0 is free. */
enum {
	TKW__JOB_LIVE = 1,
	TKW__JOB_ENDING = 2,
	TKW__JOB_OVER = 3
};

enum tkw__run_state {
	TKW__RUN_QUEUED = 0,
	TKW__RUN_RUNNING,
	TKW__RUN_ANSWERED,
	TKW__RUN_LATER
};

/* A run. The fields behind the first line are valid while it has a job. */
struct tkw__run {
	struct tkw_jobs *set;
	uint32_t epoch;        /* in a forked child the set may be gone */
	struct tkw__job *job;  /* NULL if the job has ended */
	struct tkw__run *next; /* of the job */
	enum tkw__run_state state;
	int result; /* if ANSWERED */
	int64_t number;
	int64_t planned_ms;
	int64_t now_ms; /* the wall clock at its start */
	bool by_hand;
};

struct tkw__job {
	struct tkw__record record;
	struct tkw_jobs *set;
	/* Set by add; only read afterwards. */
	int (*fn)(const struct tkw_job_run *run, void *ctx);
	void (*on_end)(const struct tkw_job_end *end, void *ctx);
	void *ctx;
	/* Under the lock of the set. */
	char name[TKW__JOB_NAME];
	struct tkw__job_times times;
	struct tkw_timeout_id timeout; /* 0 if it is firing */
	uint32_t holds;
	uint32_t calls; /* running tasks */
	bool paused;
	bool wanted; /* a run that was asked for */
	bool told;   /* on_end is about to be called, or running */
	int status;  /* why it has ended */
	struct tkw__run *runs;
	/* So that a run which does not overlap needs no memory. */
	struct tkw__run *spare;
	uint64_t running; /* the length of `runs` */
	int64_t number;   /* of the last run */
	int64_t last_ms;
	int64_t last_start_ms;
	int last_result;
	uint64_t started;
	uint64_t started_by_hand;
	uint64_t failed;
};

struct tkw_jobs {
	/* Set by create; only read afterwards. Its exec is not used. */
	struct tkw_jobs_config cfg;
	struct tkw_exec exec; /* submit is NULL if there is none */
	uint32_t epoch;       /* the process that made the set; see fork.h */
	bool has_alarm;       /* the wall clock is the system's */

	struct tkw__a32 holders;
	struct tkw__lock lock; /* for the fields below */
	struct tkw__bell bell; /* rings when a job is OVER */
	bool closed;           /* shut down */
	bool watched;          /* `watcher` runs */
	bool leaving;          /* the watcher is to end */
	void *watcher;
	struct tkw__alarm alarm;
	uint64_t count; /* jobs that are not OVER */
	struct tkw__dice dice;
	struct tkw__table table;
};

/* --- job.c --------------------------------------------------------------- */

/* Microseconds since 1970. */
int64_t tkw__jobs_now_us(const struct tkw_jobs *js);
void tkw__jobs_unhold(struct tkw_jobs *js);

/* Takes the lock, for a call about a job, and holds the job. Returns 0 or
 * -errno. */
int tkw__job_enter(struct tkw_jobs *js, struct tkw_job_id id,
		   struct tkw__job **out);

static inline int64_t tkw__jobs_now_ms(const struct tkw_jobs *js)
{
	return tkw__jobs_now_us(js) / 1000;
}

static inline void tkw__jobs_hold(struct tkw_jobs *js)
{
	TKW__ADD(&js->holders, 1, RELAXED); /* not the first one */
}

/* The lock is held. */
static inline void tkw__job_hold(struct tkw__job *j)
{
	j->holds++;
	tkw__jobs_hold(j->set);
}

/* Returns NULL for NULL. */
static inline struct tkw__job *tkw__job_of(struct tkw__record *record)
{
	return (struct tkw__job *)(void *)record;
}

static inline struct tkw_job_id tkw__job_id(const struct tkw__job *j)
{
	return (struct tkw_job_id){ tkw__record_id(&j->record, 0) };
}

static inline bool tkw__job_is_live(const struct tkw__job *j)
{
	return tkw__record_state(&j->record) == TKW__JOB_LIVE;
}

/* Is the job at work, so that a planned time has to wait or is left out? */
static inline bool tkw__job_is_busy(const struct tkw__job *j)
{
	return j->running > 0 && !j->times.overlap;
}

/* --- job_run.c ----------------------------------------------------------- */

/* Moves the timeout of a job to where it belongs now, or schedules it. The lock
 * is held. Returns 0 or the timer's error. */
int tkw__job_arm(struct tkw__job *j);

/* The same. If the timer refuses, the job ends. */
void tkw__job_follow(struct tkw__job *j);

/* Begins the end of a job. The lock is held. Returns true for the winner. The
 * caller holds the job, and has to leave it. */
bool tkw__job_end(struct tkw__job *j, int status);

/* Lets go of a job. If it has ended, and this was the last task, calls on_end.
 * The lock is held, and dropped. */
void tkw__job_leave(struct tkw__job *j);

/* Ends a run. The lock is held. */
void tkw__run_end(struct tkw__job *j, struct tkw__run *r, int result);

/* Returns NULL without memory. */
struct tkw__run *tkw__run_make(struct tkw_jobs *js);
void tkw__run_free(struct tkw__run *r);

#endif /* TKW_PATTERNS_JOB_STATE_H */
