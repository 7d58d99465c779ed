/* SPDX-License-Identifier: MIT */
/*
 * timer.h - timeouts by the million, from many threads.
 *
 * A timer calls functions when their time has come. Any thread schedules,
 * cancels and reschedules timeouts. The worker fires them: a thread of the
 * timer's own, an event loop, or a caller that turns the timer by hand.
 *
 *   Time     Nanoseconds in an int64_t, on the timer's clock. A deadline is
 *            rounded up to the next tick. TKW_NEVER_NS means never, and so does
 *            everything beyond it.
 *   Promise  A timeout never fires early, never twice, and is never lost. At
 *            every quiet moment
 *                accepted = fired + cancelled + dropped + handed over + pending
 *            holds exactly. A refused call leaves no trace.
 *   Order    Ticks ascend. Inside a tick, timeouts of one scheduling thread
 *            fire in the order in which they were scheduled. A timeout that is
 *            scheduled for a tick that is over fires at the begin of the next
 *            turn. With an executor there is no order.
 *   Ids      A timeout is named by a struct tkw_timeout_id, plain data that may
 *            be kept for ever. When its timeout has ended the id is stale:
 *            calls return -ENOENT and never touch another timeout.
 *   Threads  Every call is legal on any thread, inside tasks and on-cancel
 *            callbacks too, but not in a signal handler. No lock is held while
 *            a task, an on-cancel callback or a visitor runs; struct
 *            tkw_timer_hooks has other rules. errno may be changed.
 *   Fds      A timer with a thread or in an event loop owns one file
 *            descriptor, a timerfd. Programs that close all descriptors, as
 *            daemons do with close_range(), must do so before they create a
 *            timer. If the descriptor is gone, the log hook is told, once, and
 *            calls that need the worker earlier than it would wake up return
 *            -EBADF, until its sleep is over; then it goes on without the
 *            descriptor, and time in which the machine is suspended does not
 *            count any more. tkw_timer_destroy() works as ever.
 *   Fork     In a child of fork(), _Fork() or a clone without CLONE_VM a timer
 *            of the parent is inert: calls return -EPERM, and
 *            tkw_timer_destroy() frees its memory, where free() is legal (in a
 *            child of _Fork() of a process with threads it is not). A child
 *            that was forked inside a callback may only exec or _exit.
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
 *   -EBADF      somebody has closed the timer's file descriptor
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

/*
 * The name of a timeout. Copy it, store it, compare a.bits == b.bits, print
 * bits with PRIu64. bits is 0 for no timeout at all, so that { 0 } says "none".
 */
struct tkw_timeout_id {
	uint64_t bits;
};

/* Passed to a task when it fires. Valid while the task runs. */
struct tkw_firing {
	struct tkw_timer *timer;
	struct tkw_timeout_id id;
	int64_t deadline_ns; /* as in struct tkw_timeout_info */
	/* From the deadline to the begin of the turn. The task may have waited
	 * for others of its turn: to count that too, read the clock. On an
	 * executor's thread: to the begin of the task. */
	int64_t late_ns;
};

/*
 * Called once, by the worker or by the executor, when the timeout is due. It
 * may make any call of this header; a call that would wait for the task itself
 * returns -EDEADLK. (Two timers whose tasks wait for each other are not
 * noticed.) It must not leave by longjmp, a C++ exception or pthread_exit(),
 * and its thread cannot be cancelled meanwhile; exit() is legal.
 *
 * ctx     the task's.
 */
typedef void tkw_task_fn(const struct tkw_firing *firing, void *ctx);

/*
 * Called once if the timeout ends without its task being run. The thread is
 * that of the call which cancels or stops; or the worker, if the timeout is
 * dropped; or the one on which the executor abandons it. The id is stale by
 * then. What ctx points to may be freed here. The rules of a task apply.
 */
typedef void tkw_cancel_fn(void *ctx);

/* What shall be done. It is copied. */
struct tkw_task {
	tkw_task_fn *fn;
	void *ctx;                /* yours; the timer does not look at it */
	tkw_cancel_fn *on_cancel; /* or NULL */
	/*
	 * How late the task may be, on top of what the tick makes it. The timer
	 * then rounds the deadline up so that many timeouts share a wake-up. A
	 * negative slack counts as 0. More than 2 s (or two ticks, if that is
	 * more) has no further effect. It is kept through
	 * tkw_timer_reschedule(), rounded down to a power of two ticks.
	 */
	int64_t slack_ns;
};

enum tkw_timeout_state {
	TKW_TIMEOUT_PENDING = 1, /* it can be cancelled; an executor may have
				  * it in its queue */
	TKW_TIMEOUT_RUNNING = 2  /* its task has begun */
};

/* The facts about a timeout. */
struct tkw_timeout_info {
	struct tkw_timeout_id id;
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
	TKW_DRIVE_LOOP = 2    /* an event loop: see tkw_timer_fd() */
};

/*
 * What becomes of a timeout that is due, if the executor refuses its job or
 * abandons it later. (A timeout that was rescheduled while its job was queued,
 * and came due again, has two jobs: the first to be called decides.)
 */
enum tkw_timer_refusal {
	/* The worker runs the task, one at a time, as without an executor. */
	TKW_REFUSED_INLINE = 0,
	/* It stays pending, and is offered again by the turn of the next tick.
	 * If the executor is shut down (-ESHUTDOWN) the turns that offer it
	 * come ever later, up to one second apart. */
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
 * What a timer takes from its surroundings. Each function that is NULL is the
 * system's own. They are called on any thread, and while locks of the library
 * are held: they must not call the timer, nor a pattern that stands on it. This
 * struct will not grow.
 */
struct tkw_timer_hooks {
	/*
	 * The time in nanoseconds, not negative. A reading before an earlier
	 * one counts as that one. A timer with a thread, or in an event loop,
	 * assumes that this clock goes at about the pace of the system's: after
	 * a jump it fires when its sleep is over, or when something earlier is
	 * scheduled.
	 */
	int64_t (*now)(void *ctx);
	/* bytes of memory aligned to align, a power of two; NULL if there is
	 * none. Timeouts are in pieces of 2 MiB, aligned to that. */
	void *(*alloc)(size_t bytes, size_t align, void *ctx);
	void (*free)(void *mem, size_t bytes, void *ctx);
	/*
	 * Give both or none. Make a thread that calls run(arg), as
	 * pthread_create() does, and write a handle; return 0 or -errno. Wait
	 * until it has ended. The library gives its threads a name and blocks
	 * their signals. The worker is such a thread, and so is the watchdog,
	 * "tkw-watchdog". If the timer's descriptor was closed while the worker
	 * slept, a stop ends its thread by pthread_cancel(), inside run().
	 */
	int (*thread_create)(void *(*run)(void *arg), void *arg, void **handle,
			     void *ctx);
	void (*thread_join)(void *handle, void *ctx);
	/* One line, without a newline. NULL: nothing is said. */
	void (*log)(const char *line, void *ctx);
	void *ctx; /* the last argument of each */
};

/* How a timer shall be. All zero means the defaults. */
struct tkw_timer_config {
	/* sizeof(struct tkw_timer_config); 0: the fields of version 0.2. */
	size_t size;
	/* The resolution; 0: TKW_MSEC. */
	int64_t tick_ns;
	/* enum tkw_wheel_engine of wheel.h; 0: hierarchical. */
	int engine;
	/* enum tkw_timer_drive */
	int drive;
	/* enum tkw_timer_clock; ignored if there is a hook for now */
	int clock;
	/* How many parts the timer has, each with a lock of its own: rounded up
	 * to a power of two, 64 at most. 0: two for each CPU that the process
	 * may use, and one with an event loop. The manual drive always has
	 * one. */
	int shards;
	/* hashed: slots of a ring, rounded up to a power of two; 0: 512. The
	 * first schedule into a shard writes to all of its slots, 16 bytes
	 * each. hierarchical: 0. */
	int64_t slots;
	/* How many timeouts may be pending; <= 0: no limit. */
	int64_t max_pending;
	/* If more timers than this live in the process, the log hook is told,
	 * once in the life of the process. 0: 64; < 0: never. */
	int64_t warn_timers;
	/* Who runs the tasks, see exec.h; NULL: the worker. Copied, but what
	 * its ctx points to must live until the timer is stopped. */
	const struct tkw_exec *exec;
	/* enum tkw_timer_refusal: what happens if the executor refuses */
	int refusal;
	/*
	 * A task that the worker runs, and no executor, and that takes longer
	 * than this is reported to the log hook when it ends, by its function's
	 * name where that can be found. It costs two readings of the clock for
	 * each task. <= 0: tasks are not measured.
	 */
	int64_t slow_task_ns;
	/*
	 * Not 0: a slow task is reported while it still runs, too. A thread of
	 * its own looks at most twice in each slow_task_ns, and only while a
	 * task runs. slow_task_ns must be at least TKW_MSEC then, and the drive
	 * a thread.
	 */
	int watchdog;
	/* Copied; NULL: none. */
	const struct tkw_timer_hooks *hooks;
	/* The worker's name, of which the system takes 15 bytes; NULL:
	 * "tickwheel". Copied. */
	const char *thread_name;
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
 * Make a timer. No thread is started: the first schedule does that, or
 * tkw_timer_start(). Until then it takes less than 32 KiB of memory.
 *
 * out     written on success; give it to tkw_timer_destroy() in the end.
 * cfg     NULL means the defaults. It is not kept.
 * Return  0; -EINVAL: out is NULL, a size that this library does not know, a
 *         negative tick, slots or shards, slots above 2^30 or with the
 *         hierarchical engine, a tick of INT64_MAX / slots or more (slots after
 *         rounding), an unknown engine, drive, clock or refusal, an executor
 *         without a function, a watchdog with slow_task_ns below TKW_MSEC or
 *         without a thread, one of the thread hooks, or one of alloc and free,
 *         without the other;
 *         -ENOMEM, also if the shards' hashed wheels would take more than a
 *         quarter of the machine's memory;
 *         -EMFILE or -ENFILE: no file descriptor to be had.
 */
int tkw_timer_create(struct tkw_timer **out,
		     const struct tkw_timer_config *cfg);

/*
 * Start the worker now, instead of with the first schedule. If many threads
 * call it, one worker is made. Where there is no thread there is nothing to
 * start.
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
 *         all the same); -EAGAIN; -ESHUTDOWN; -EPERM; -EBADF.
 */
int tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
		       int64_t delay_ns, struct tkw_timeout_id *id);

/*
 * The same at a time on the timer's clock. The clock is not read: for callers
 * who know what time it is.
 *
 * deadline_ns
 *         one that has passed: on the next turn. A negative one counts as 0.
 */
int tkw_timer_schedule_at(struct tkw_timer *t, const struct tkw_task *task,
			  int64_t deadline_ns, struct tkw_timeout_id *id);

/* One timeout of a batch. */
struct tkw_batch_item {
	struct tkw_task task;
	int64_t when_ns; /* the delay, or the deadline */
};

/* The largest batch. A batch is placed under one lock, so this bounds how long
 * the lock is held. */
#define TKW_MAX_BATCH 4096

/*
 * Schedule many timeouts, all or none. They keep the order of the batch, and
 * wake the worker once at most.
 *
 * items   their when_ns is a delay, or a deadline, as in tkw_timer_schedule()
 *         and tkw_timer_schedule_at(). The clock is read once, or not at all.
 * count   TKW_MAX_BATCH at most; 0 is legal, and does nothing.
 * ids     room for count of them, written on success; may be NULL.
 * Return  0; -EAGAIN: there is no room for all of them; -EINVAL: NULL, an item
 *         without fn, too many; -ENOMEM, -ESHUTDOWN, -EPERM, -EBADF as above.
 */
int tkw_timer_schedule_batch(struct tkw_timer *t,
			     const struct tkw_batch_item *items, size_t count,
			     struct tkw_timeout_id *ids);
int tkw_timer_schedule_batch_at(struct tkw_timer *t,
				const struct tkw_batch_item *items,
				size_t count, struct tkw_timeout_id *ids);

/*
 * End a timeout before its task runs. Exactly one of cancel and run happens.
 * Its memory is usable again at once. on_cancel, if any, runs inside the call.
 *
 * Return  0: cancelled; the task never runs. -EBUSY: the task is running now,
 *         which is what a task gets for its own id; -ENOENT; -EINVAL: t is
 *         NULL; -EPERM.
 */
int tkw_timer_cancel(struct tkw_timer *t, struct tkw_timeout_id id);

/*
 * Cancel many timeouts, each as tkw_timer_cancel() would: those that have ended
 * or are running do not keep the others from being cancelled. The lock of a
 * shard is taken once for all of its timeouts.
 *
 * count   TKW_MAX_BATCH at most; 0 is legal, and does nothing.
 * results what tkw_timer_cancel() would have returned, for each; may be NULL.
 *         An id that is there twice gets -ENOENT the second time.
 * Return  how many were cancelled; -EINVAL: NULL, or too many; -EPERM.
 */
int tkw_timer_cancel_batch(struct tkw_timer *t,
			   const struct tkw_timeout_id *ids, size_t count,
			   int *results);

/*
 * End a timeout, and if its task is running wait until it has returned. After
 * 0, 1 and -ENOENT neither its task nor its on_cancel runs any more: what ctx
 * points to may be freed.
 *
 * Return  0: cancelled, it never ran; 1: it was running, and has returned now;
 *         -ENOENT: it had ended before; -EDEADLK: called from a task, an
 *         on-cancel callback or a visitor of this timer, and there is something
 *         to wait for: nothing changed; -EINVAL: t is NULL; -EPERM.
 */
int tkw_timer_cancel_wait(struct tkw_timer *t, struct tkw_timeout_id id);

/*
 * Give a pending timeout another deadline, earlier or later; it keeps its id.
 * Later is the cheap direction: about a store, for idle timeouts that every
 * packet pushes back. The timeout stays in the order of the thread that
 * scheduled it. Moved to an earlier tick it goes behind those that are there;
 * to a later one, it takes its place there at some moment between this call and
 * that tick; inside its own tick it keeps its place, unless a turn has come to
 * it.
 *
 * delay_ns, deadline_ns
 *         as in tkw_timer_schedule() and tkw_timer_schedule_at().
 * Return  0; -EBUSY: its task is running now, which is what a task gets for its
 *         own id; -ENOENT; -ESHUTDOWN; -EINVAL: t is NULL; -EPERM; -EBADF.
 */
int tkw_timer_reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
			 int64_t delay_ns);
int tkw_timer_reschedule_at(struct tkw_timer *t, struct tkw_timeout_id id,
			    int64_t deadline_ns);

/*
 * The facts about one timeout.
 *
 * info    written on success.
 * Return  0; -ENOENT; -EINVAL: NULL; -EPERM.
 */
int tkw_timer_get(struct tkw_timer *t, struct tkw_timeout_id id,
		  struct tkw_timeout_info *info);

/*
 * One timeout in words: "due in 1.2 s", "due, 3 ms late", "never due",
 * "running, 3 ms late".
 *
 * buf, size
 *         as for snprintf(): cut to size, always ended by a zero byte; size 0
 *         writes nothing.
 * Return  the length of the whole text; -ENOENT; -EINVAL: t is NULL, or buf is
 *         NULL and size is not 0; -EPERM.
 */
int tkw_timer_print_timeout(struct tkw_timer *t, struct tkw_timeout_id id,
			    char *buf, size_t size);

/* How many timeouts are pending, without the running ones. It takes the lock of
 * each shard. 0 for NULL and in a forked child. */
uint64_t tkw_timer_count(struct tkw_timer *t);

/* The time on the timer's clock, in a forked child too; 0 for NULL. */
int64_t tkw_timer_now_ns(struct tkw_timer *t);

/* The length of a tick; 0 for NULL. */
int64_t tkw_timer_tick_ns(struct tkw_timer *t);

/* The terms of the law; each timeout that was ever accepted is in one. */
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
int tkw_timer_get_ledger(struct tkw_timer *t, struct tkw_ledger *out);

/*
 * Walk the whole timer and verify each invariant, for tests. It changes
 * nothing, but takes O(timeouts) time, during which each shard in turn is
 * locked.
 *
 * Return  NULL: sound; else what is broken, as a static string, which is also
 *         what NULL and a timer of the parent of a fork get.
 */
const char *tkw_timer_check(struct tkw_timer *t);

/*
 * Wait until no timeout is pending and no task and no on-cancel callback runs.
 * More may be scheduled meanwhile, by tasks too, and are waited for. It needs a
 * timer with a thread of its own.
 *
 * timeout_ns
 *         how long to wait at most; <= 0: do not wait; TKW_NEVER_NS: no bound.
 *         A timeout that never fires is pending until it is cancelled.
 * Return  0: nothing is pending or running, as after a stop; -ETIMEDOUT;
 *         -EDEADLK: called from a task, an on-cancel callback or a visitor of
 *         this timer; -EINVAL: NULL, or another drive; -EPERM.
 */
int tkw_timer_wait_idle(struct tkw_timer *t, int64_t timeout_ns);

/*
 * A turn, for the manual and the loop drive: fires, on the calling thread, what
 * is due by the timer's clock when the turn begins, in order. What a task
 * schedules waits for a later turn, so that a turn ends. A stop ends it early.
 *
 * max_tasks
 *         how many timeouts to fire at most; <= 0: all that are due. If more
 *         are due, the next call goes on with the same turn, and what has come
 *         to be due meanwhile is for the turn after that; an event loop's fd
 *         stays readable.
 * next_ns when the next call is needed: written on success, may be NULL. It is
 *         never later than the earliest tick that has something, and may be
 *         earlier, when far timeouts are to be brought nearer; TKW_NEVER_NS if
 *         nothing is pending that will ever be due. A schedule may make it
 *         earlier: see tkw_timer_next_turn().
 * Return  how many tasks ran, INT_MAX at most, without those that were given to
 *         an executor; -EINVAL: NULL, or a timer with a thread; -EBUSY: another
 *         thread is in a turn; -EDEADLK: called from a task, an on-cancel
 *         callback or a visitor of this timer; -ESHUTDOWN; -EPERM; -EBADF: what
 *         was due has been fired, but the fd is gone.
 */
int tkw_timer_turn(struct tkw_timer *t, int max_tasks, int64_t *next_ns);

/*
 * When is the next turn needed? As next_ns of tkw_timer_turn().
 *
 * Return  0; -EINVAL: NULL; -EPERM.
 */
int tkw_timer_next_turn(struct tkw_timer *t, int64_t *next_ns);

/*
 * The file descriptor of a timer in an event loop (TKW_DRIVE_LOOP). Poll it for
 * reading, and call tkw_timer_turn() when it is readable. Any thread may
 * schedule and cancel as ever: what is scheduled earlier than all the rest
 * makes the fd readable in time.
 *
 * Polling may be level-triggered or edge-triggered, by select, poll, epoll,
 * io_uring, or any library that takes an fd; the folder adapters has libuv,
 * libevent, libev and plain epoll. The fd is the timer's until
 * tkw_timer_destroy(): do not read, set or close it, and take it out of the
 * loop before.
 *
 * The fd is set anew, which is a system call, only when the earliest deadline
 * becomes earlier, and by the turn after it was readable. Pushing timeouts back
 * costs no system call. The loop is woken in vain once for a deadline that was
 * pushed back or cancelled, and at most once for each ring of the wheel on the
 * way to a far one (with the hashed engine, once in each round of its ring).
 *
 * Return  the fd, which is readable until tkw_timer_turn() has been called, and
 *         no more when the timer is stopped (its number, if somebody has closed
 *         it); -EINVAL: NULL, or not this drive; -EPERM.
 */
int tkw_timer_fd(struct tkw_timer *t);

/*
 * Stop for good: refuse what is new, let running tasks end, end the worker, and
 * hand over all that is pending, including what waits in an executor's queue.
 *
 * visit   called for each timeout that was pending, with ctx, on this thread,
 *         no lock held; then its on_cancel is called. NULL: only the latter.
 *         The order is not promised. It may make any call but those that wait.
 * Return  0: stopped by this call; 1: another thread has stopped it or is
 *         stopping it: nothing was visited, and this call does not wait for
 *         that one; -EDEADLK: called from a task, an on-cancel callback or a
 *         visitor of this timer; -EINVAL: NULL; -EPERM.
 */
int tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx);

/* 1 from the moment at which a stop has won, else 0; 0 for NULL. */
int tkw_timer_is_stopped(struct tkw_timer *t);

/*
 * Stop the timer without a visitor, if nobody has; wait for a stop that is
 * under way; free all its memory. No other thread may be using it.
 *
 * t       NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from a task, an on-cancel callback or a visitor
 *         of this timer: nothing changed. In a forked child: 0; its memory is
 *         freed and its copy of the descriptor closed, and nothing else is
 *         touched.
 */
int tkw_timer_destroy(struct tkw_timer *t);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_TIMER_H */
