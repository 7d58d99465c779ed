/* SPDX-License-Identifier: MIT */
/*
 * timer.h - timeouts by the million, from many threads.
 *
 * A timer calls functions when their time has come. Any thread schedules,
 * cancels and reschedules; the worker, a thread of the timer's own, an event
 * loop or a caller that drives it by hand, fires.
 *
 *   Time     Nanoseconds in an int64_t, on the timer's clock. A deadline is
 *            rounded up to the next tick. TKW_NEVER_NS means never; what would
 *            lie beyond it is never too.
 *   Promise  A timeout never fires early, never twice, and is never lost. At
 *            every quiet moment
 *                accepted = fired + cancelled + dropped + handed over + pending
 *            holds exactly. A refused call leaves no trace.
 *   Order    Ticks ascend. Inside a tick, timeouts of one scheduling thread
 *            fire in the order of scheduling. What is scheduled for a tick
 *            that is over fires at the begin of the next turn, in that order.
 *            With an executor there is no order.
 *   Names    A timeout is named by a 64-bit id, plain data that may be kept
 *            for ever. When its timeout has ended the id is stale: calls say
 *            -ENOENT, and never touch another timeout. No id is 0.
 *   Threads  Every call is legal on any thread, tasks and on-cancel callbacks
 *            included, but not in a signal handler. No lock is held while a
 *            task, an on-cancel or a visitor runs; for the hooks see there.
 *            errno may be changed.
 *   Fork     In a child of fork() a timer of the parent's is inert: calls
 *            return -EPERM, tkw_timer_destroy() frees its memory. A child
 *            that a task forks may return from the task; it then leaves the
 *            turn, and the worker's thread ends there. (Not noticed: a child
 *            of vfork() or of a bare clone.)
 *
 * Errors, the same everywhere; results are written on success only:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     as many timeouts are pending as the config allows
 *   -ESHUTDOWN  the timer is stopped
 *   -ENOENT     the timeout has ended, or there never was one of this id
 *   -EBUSY      its task is running now
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the timer belongs to the parent of a fork
 */
#ifndef TICKWHEEL_TIMER_H
#define TICKWHEEL_TIMER_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/exec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Units: 5 * TKW_MSEC is five milliseconds in nanoseconds. */
#define TKW_USEC INT64_C(1000)
#define TKW_MSEC INT64_C(1000000)
#define TKW_SEC INT64_C(1000000000)

/* The deadline that never comes. */
#define TKW_NEVER_NS INT64_MAX

struct tkw_timer;

/* What a task is told about the firing that it is. Valid while it runs. */
struct tkw_firing {
	struct tkw_timer *timer;
	uint64_t id;
	int64_t deadline_ns; /* as in struct tkw_timeout_info */
	/* From the deadline to the begin of the turn; not to that of the task,
	 * which may have waited for others: for that, read the clock. On an
	 * executor's thread: to the begin of the task. */
	int64_t late_ns;
};

/*
 * Called by the worker or by the executor, once, when the timeout is due. It
 * may make any call of this header; those that would wait for itself say
 * -EDEADLK. (That the tasks of two timers wait for each other is not noticed.)
 * It must not leave by longjmp, a C++ exception or pthread_exit(), and cannot
 * be cancelled; exit() is legal.
 */
typedef void tkw_task_fn(void *arg, const struct tkw_firing *firing);

/*
 * Called once if the timeout ends without its task being run: after a cancel
 * on the canceller's thread, after the visitor of a stop on that thread, if it
 * is dropped on the worker's, or on the one on which the executor abandons it.
 * The id is stale by then. Here arg may be freed. The same rules as for a task.
 */
typedef void tkw_cancel_fn(void *arg);

/* What shall be done. It is copied. */
struct tkw_task {
	tkw_task_fn *fn;
	void *arg;                /* yours; the timer does not look at it */
	tkw_cancel_fn *on_cancel; /* or NULL */
	/*
	 * How late the task may be, on top of what the tick makes it. The timer
	 * then rounds the deadline up so that many timeouts share a wake-up. A
	 * negative one is 0; more than 2 s, or two ticks if that is more, have
	 * no further effect. It is kept through tkw_timer_reschedule(), rounded
	 * down to a power of two ticks.
	 */
	int64_t slack_ns;
};

enum tkw_timeout_state {
	TKW_TIMEOUT_PENDING = 1, /* it can be cancelled; an executor may have
				  * it in its queue */
	TKW_TIMEOUT_RUNNING = 2  /* its task has begun */
};

/* What tkw_timer_query() and the visitor of tkw_timer_stop() are told. */
struct tkw_timeout_info {
	uint64_t id;
	int state; /* enum tkw_timeout_state */
	/* Exact for ticks up to one second; with coarser ones to within a
	 * 2^30th of a tick. */
	int64_t deadline_ns;
	int64_t left_ns; /* until the deadline; negative when it has passed */
	struct tkw_task task; /* its slack as it is kept */
};

/* Called for each timeout that a stop hands over; see tkw_timer_stop(). */
typedef void tkw_visit_fn(const struct tkw_timeout_info *info, void *ctx);

/* Who makes a timer's time pass. */
enum tkw_timer_drive {
	TKW_DRIVE_THREAD = 0, /* a thread of its own */
	TKW_DRIVE_MANUAL = 1, /* whoever calls tkw_timer_turn() */
	TKW_DRIVE_LOOP = 2    /* an event loop: see loop.h */
};

/* What becomes of a timeout that is due, and that the executor does not take:
 * it refuses it, or abandons it later. (Its job is known by its id. One that
 * was rescheduled while it waited in the queue, and came due again, has two
 * jobs: the first to be called decides.) */
enum tkw_timer_refusal {
	/* The worker runs the task, one at a time, as without an executor. */
	TKW_REFUSED_INLINE = 0,
	/* It is pending as before, and offered again by a later turn, for which
	 * the worker comes one tick later. */
	TKW_REFUSED_RETRY = 1,
	/* It ends: on_cancel is called, `dropped` counts it, and the log hook
	 * is told how many there were, once in a turn. */
	TKW_REFUSED_DROP = 2
};

enum tkw_timer_clock {
	TKW_CLOCK_MONOTONIC = 0,
	TKW_CLOCK_BOOTTIME = 1 /* goes on while the machine is suspended */
};

/*
 * The world around a timer. Each function that is NULL is the system's own.
 * They are called on any thread, all but log also while the timer holds a lock:
 * they must not call the timer.
 */
struct tkw_timer_hooks {
	void *ctx; /* the first argument of each */
	/* Nanoseconds, not negative. A reading before an earlier one counts as
	 * that one. With a thread of its own, or in an event loop, the timer
	 * takes this clock to go at about the pace of the system's: after a
	 * jump it fires when its sleep is over, or when something earlier is
	 * scheduled. */
	int64_t (*now)(void *ctx);
	/* bytes of memory aligned to align, a power of two; NULL if there is
	 * none. Timeouts are in pieces of 2 MiB, aligned to that. */
	void *(*alloc)(void *ctx, size_t bytes, size_t align);
	void (*free)(void *ctx, void *mem, size_t bytes);
	/* Both or none: make a thread that calls run(arg), as pthread_create()
	 * does, and write a handle; 0 or -errno. Wait until run() has returned.
	 * It leaves its thread with another name and without signals. The
	 * worker is such a thread, and the watchdog, "tkw-watchdog". */
	int (*thread_create)(void *ctx, void *(*run)(void *arg), void *arg,
			     void **handle);
	void (*thread_join)(void *ctx, void *handle);
	/* One line, without a newline. NULL: nothing is said. */
	void (*log)(void *ctx, const char *line);
};

/* How a timer shall be. All zero means the defaults. */
struct tkw_timer_config {
	/* sizeof(struct tkw_timer_config); 0: the fields of version 0.1. */
	size_t size;
	/* The resolution; 0: TKW_MSEC. */
	int64_t tick_ns;
	/* enum tkw_wheel_engine of wheel.h; 0: hierarchical. */
	int engine;
	/* enum tkw_timer_drive */
	int drive;
	/* enum tkw_timer_clock; not looked at if there is a hook for now */
	int clock;
	/* How many parts the timer has, each with a lock of its own: rounded up
	 * to a power of two, 64 at most. 0: two for each CPU that the process
	 * may use, and one with an event loop. The manual drive has one,
	 * whatever is said here. */
	int shards;
	/* hashed: slots of a ring, rounded up to a power of two; 0: 512.
	 * hierarchical: 0. */
	int64_t slots;
	/* How many timeouts may be pending; <= 0: no limit. */
	int64_t max_pending;
	/* If more timers than this live in the process, the log hook is told,
	 * once in the life of the process. 0: 64; < 0: never. */
	int64_t warn_timers;
	/* Who runs the tasks, see exec.h; NULL: the worker. Copied, but what
	 * its ctx points to must live until the timer is stopped. */
	const struct tkw_exec *exec;
	/* enum tkw_timer_refusal: what if it refuses */
	int refusal;
	/* A task that the worker runs, and no executor, and that takes longer
	 * than this is told to the log hook when it ends, by its function's
	 * name where that can be found. It costs two readings of the clock for
	 * each task. <= 0: nobody looks. */
	int64_t slow_task_ns;
	/* Not 0: tell the log hook also while such a task runs. A thread of its
	 * own looks twice in each slow_task_ns, which must be positive. Only
	 * for a timer with a thread. */
	int watchdog;
	/* The worker's name, of which the system takes 15 bytes; NULL:
	 * "tickwheel". Copied. */
	const char *thread_name;
	/* Copied; NULL: none. */
	const struct tkw_timer_hooks *hooks;
};

/* Configs of well-known timers, all hashed. */
enum tkw_timer_preset {
	TKW_PRESET_NETTY = 1,          /* 100 ms, 512 slots */
	TKW_PRESET_JRAFT = 2,          /* 1 ms, 2048 slots, warn_timers 256 */
	TKW_PRESET_DUBBO_FUTURE = 3,   /* 30 ms, 512 slots */
	TKW_PRESET_DUBBO_HEARTBEAT = 4 /* 1 s, 128 slots */
};

/*
 * Set a config to a preset; what the preset does not say becomes zero.
 *
 * Return  0; -EINVAL: NULL, or an unknown preset.
 */
int tkw_timer_preset(struct tkw_timer_config *cfg, int preset);

/*
 * Make a timer. No thread is started: the first schedule does, or
 * tkw_timer_start().
 *
 * out     written on success; give it to tkw_timer_destroy() in the end.
 * cfg     NULL means the defaults. It is not kept.
 * Return  0; -EINVAL: out is NULL, a size unknown to this library, a negative
 *         tick, slots or shards, slots above 2^30 or with the hierarchical
 *         engine, a tick of INT64_MAX / slots or more (slots after rounding),
 *         an unknown engine, drive, clock or refusal, an executor without a
 *         function, a watchdog without slow_task_ns or without a thread, one of
 *         the thread hooks, or one of alloc and free, without the other;
 *         -ENOMEM; -EMFILE or -ENFILE: no file descriptor for an alarm.
 */
int tkw_timer_create(struct tkw_timer **out,
		     const struct tkw_timer_config *cfg);

/*
 * Start the worker now, instead of with the first schedule. Many threads may:
 * one worker is made. Where there is no thread there is nothing to start.
 *
 * Return  0: it is started, by this call or before; -EINVAL: NULL; -ENOMEM:
 *         the thread could not be made, nothing changed, try again;
 *         -ESHUTDOWN; -EPERM.
 */
int tkw_timer_start(struct tkw_timer *t);

/*
 * Call a task once, after a delay. Never waits for the worker or for a task;
 * the first call starts the worker.
 *
 * task    copied. fn must not be NULL.
 * delay_ns
 *         from now. <= 0: on the next turn, never inside this call. Beyond the
 *         end of time: never, but it can be cancelled.
 * id      written on success; may be NULL.
 * Return  0; -EINVAL: NULL, or no fn; -ENOMEM (the worker may have been started
 *         all the same); -EAGAIN; -ESHUTDOWN; -EPERM.
 */
int tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
		       int64_t delay_ns, uint64_t *id);

/*
 * The same at a time on the timer's clock. The clock is not read: for callers
 * who know what time it is.
 *
 * deadline_ns
 *         one that has passed: on the next turn. A negative one counts as 0.
 */
int tkw_timer_schedule_at(struct tkw_timer *t, const struct tkw_task *task,
			  int64_t deadline_ns, uint64_t *id);

/* One of a batch. */
struct tkw_batch_item {
	struct tkw_task task;
	int64_t when_ns; /* the delay, or the deadline */
};

/* So many at most in one call, which holds a lock for all of them. */
#define TKW_BATCH_MAX 4096

/*
 * Schedule many timeouts, all or none. They are in the order of the batch, have
 * nothing else in common, and wake the worker once at most.
 *
 * items   their when_ns is a delay, or a deadline, as in tkw_timer_schedule()
 *         and tkw_timer_schedule_at(). The clock is read once, or not at all.
 * count   TKW_BATCH_MAX at most; 0 is legal, and does nothing.
 * ids     room for count of them, written on success; may be NULL.
 * Return  0; -EAGAIN: there is no room for all of them; -EINVAL: NULL, an item
 *         without fn, too many; -ENOMEM, -ESHUTDOWN and -EPERM as above.
 */
int tkw_timer_schedule_batch(struct tkw_timer *t,
			     const struct tkw_batch_item *items, size_t count,
			     uint64_t *ids);
int tkw_timer_schedule_batch_at(struct tkw_timer *t,
				const struct tkw_batch_item *items,
				size_t count, uint64_t *ids);

/*
 * End a timeout before its task runs. Exactly one of cancel and run happens.
 * Its memory is usable again at once. on_cancel, if any, runs inside the call.
 *
 * Return  0: cancelled; the task never runs. -EBUSY: it is running now, which
 *         is what a task gets for its own id; -ENOENT; -EINVAL: t is NULL;
 *         -EPERM.
 */
int tkw_timer_cancel(struct tkw_timer *t, uint64_t id);

/*
 * Cancel many timeouts, each as tkw_timer_cancel() would: what has ended, or is
 * running, does not keep the others from being cancelled. The lock of a shard
 * is taken once for all of its timeouts.
 *
 * count   TKW_BATCH_MAX at most; 0 is legal, and does nothing.
 * results what tkw_timer_cancel() would have returned, for each; may be NULL.
 *         An id that is there twice gets -ENOENT the second time.
 * Return  how many were cancelled; -EINVAL: NULL, or too many; -EPERM, also in
 * a child that an on-cancel of this call has forked.
 */
int tkw_timer_cancel_batch(struct tkw_timer *t, const uint64_t *ids,
			   size_t count, int *results);

/*
 * End a timeout, and if its task is running wait until it has returned. After
 * 0, 1 and -ENOENT nothing of the timeout's runs any more, on_cancel included:
 * arg may be freed.
 *
 * Return  0: cancelled, it never ran; 1: it was running, and has returned now;
 *         -ENOENT: it had ended before; -EDEADLK: called from a task or an
 *         on-cancel callback of this timer, and there is something to wait
 *         for: nothing changed; -EINVAL: t is NULL; -EPERM.
 */
int tkw_timer_cancel_wait(struct tkw_timer *t, uint64_t id);

/*
 * Give a pending timeout another deadline, earlier or later; it keeps its id.
 * Later is the cheap direction: about a store, for idle timeouts that every
 * packet pushes back. It stays in the order of the thread that scheduled it.
 * Moved to an earlier tick it goes behind those that are there; to a later one,
 * it takes its place there at some moment between this call and that tick; in
 * the tick that it has, it keeps its place unless a turn has come to it.
 *
 * delay_ns, deadline_ns
 *         as in tkw_timer_schedule() and tkw_timer_schedule_at().
 * Return  0; -EBUSY: its task is running now, which is what a task gets for its
 *         own id; -ENOENT; -ESHUTDOWN; -EINVAL: t is NULL; -EPERM.
 */
int tkw_timer_reschedule(struct tkw_timer *t, uint64_t id, int64_t delay_ns);
int tkw_timer_reschedule_at(struct tkw_timer *t, uint64_t id,
			    int64_t deadline_ns);

/*
 * What is known of a timeout.
 *
 * info    written on success.
 * Return  0; -ENOENT; -EINVAL: NULL; -EPERM.
 */
int tkw_timer_query(struct tkw_timer *t, uint64_t id,
		    struct tkw_timeout_info *info);

/*
 * The same in words: "due in 1.2 s", "due, 3 ms late", "never due", "running,
 * 3 ms late".
 *
 * buf, size
 *         as for snprintf(): cut to size, always ended by a zero byte; size 0
 *         writes nothing.
 * Return  how long the text is, uncut; -ENOENT; -EINVAL: t is NULL, or buf is
 *         and size is not 0; -EPERM.
 */
int tkw_timer_print(struct tkw_timer *t, uint64_t id, char *buf, size_t size);

/* How many timeouts are pending; running ones are not. It takes the lock of
 * each shard. 0 for NULL and in a forked child. */
uint64_t tkw_timer_pending(struct tkw_timer *t);

/* The time on the timer's clock, in nanoseconds, in a forked child too; 0 for
 * NULL. */
int64_t tkw_timer_now(struct tkw_timer *t);

/* The length of a tick, in nanoseconds; 0 for NULL. */
int64_t tkw_timer_tick(struct tkw_timer *t);

/* The law's terms; each timeout that was ever accepted is in one of them. */
struct tkw_ledger {
	uint64_t accepted;
	uint64_t fired;       /* the task has begun, or is over */
	uint64_t cancelled;   /* by a cancel that returned 0 */
	uint64_t dropped;     /* refused by the executor: TKW_REFUSED_DROP */
	uint64_t handed_over; /* by stop */
	uint64_t pending;
};

/*
 * The ledger. It balances at every moment, for it is read with all of the
 * timer's locks held.
 *
 * Return  0; -EINVAL: NULL; -EPERM.
 */
int tkw_timer_ledger(struct tkw_timer *t, struct tkw_ledger *out);

/*
 * Walk the whole timer and verify each invariant, in O(timeouts), under its
 * locks. For tests and for a suspicious mind; it changes nothing.
 *
 * Return  NULL: sound; else what is broken, as a static string, which is also
 *         what NULL and a timer of the parent of a fork get.
 */
const char *tkw_timer_check(struct tkw_timer *t);

/*
 * The manual drive: let time pass. Fires, on the calling thread, everything
 * that is due by the timer's clock when the call begins, in order. What a task
 * schedules waits for a later turn, so that a turn ends. A stop ends it early.
 *
 * next_ns
 *         when the next turn is needed: written on success, may be NULL. It is
 *         never later than the earliest tick that has something, and may be
 *         earlier, when far timeouts are to be brought nearer; TKW_NEVER_NS if
 *         nothing is pending that will ever be due. A schedule may make it
 *         earlier: see tkw_timer_next().
 * Return  how many tasks ran, INT_MAX at most, without those that were given to
 *         an executor; -EINVAL: NULL, or it is not the manual drive; -EBUSY:
 *         another thread is in a turn; -EDEADLK: called from a task, an
 *         on-cancel callback or a visitor of this timer; -ESHUTDOWN; -EPERM.
 */
int tkw_timer_turn(struct tkw_timer *t, int64_t *next_ns);

/*
 * When is the next turn needed? As next_ns of tkw_timer_turn().
 *
 * Return  0; -EINVAL: NULL; -EPERM.
 */
int tkw_timer_next(struct tkw_timer *t, int64_t *next_ns);

/* 1 if the calling thread is inside a task, an on-cancel callback or a visitor
 * of this timer, where calls that wait say -EDEADLK; else 0; 0 for NULL. */
int tkw_timer_is_inside(struct tkw_timer *t);

/*
 * Stop for good: refuse what is new, let running tasks end, end the worker, and
 * hand over all that is pending, what waits in an executor's queue included.
 *
 * visit   called for each timeout that was pending, with ctx, on this thread,
 *         no lock held; then its on_cancel. NULL: only the latter. The order
 *         is not promised. It may make any call but those that wait.
 * Return  0: stopped by this call; 1: it was stopped, or is being stopped by
 *         another thread: nothing was visited, and this call does not wait for
 *         that one; -EDEADLK: called from a task, an on-cancel callback or a
 *         visitor of this timer; -EINVAL: NULL; -EPERM, also in a child that a
 *         callback of this call has forked.
 */
int tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx);

/* 1 from the moment in which a stop has won, else 0; 0 for NULL. */
int tkw_timer_is_stopped(struct tkw_timer *t);

/*
 * Stop the timer without a visitor, if nobody has; wait for a stop that is
 * under way; free all its memory. No other thread may be using it.
 *
 * Return  0; -EINVAL: NULL; -EDEADLK: called from a task, an on-cancel
 *         callback or a visitor of this timer: nothing changed. In a forked
 *         child, outside of those: 0, and nothing but memory is touched.
 */
int tkw_timer_destroy(struct tkw_timer *t);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_TIMER_H */
