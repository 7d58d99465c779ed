/* SPDX-License-Identifier: MIT */
/*
 * timer.h - timeouts by the million, from many threads
 *
 * A timer calls functions at given times. One scheduled call is a timeout, and
 * the function that it calls is a task. Any thread can schedule, cancel and
 * reschedule timeouts. The worker of the timer fires them: from time to time it
 * makes a turn, in which it runs all tasks that are due. The worker is a thread
 * of the timer, an event loop, or your own code that calls tkw_timer_turn().
 *
 *   Time     Times are nanoseconds in an int64_t, on the timer's clock. A
 *            deadline is rounded up to the next tick. A timeout never fires if
 *            its deadline is TKW_NEVER_NS, or if now plus its delay is
 *            TKW_NEVER_NS or more.
 *   Promise  A timeout never fires early, never fires twice, and is never lost.
 *            At every moment, accepted = fired + cancelled + dropped +
 *            handed over + pending; see struct tkw_ledger.
 *   Order    Timeouts fire in the order of their ticks. Within a tick, timeouts
 *            that were scheduled by the same thread fire in the order in which
 *            they were scheduled. A turn covers all ticks up to the time at
 *            which it starts. If a timeout is scheduled for a tick that is
 *            already covered, it fires at the start of the next turn. With an
 *            executor there is no order.
 *   Ids      A struct tkw_timeout_id names a timeout. It is plain data, and you
 *            may keep it for ever. When the timeout has ended, its id is stale:
 *            calls with a stale id return -ENOENT and never touch another
 *            timeout.
 *   Threads  Any thread may make any call, even inside a task or an on-cancel
 *            callback, but not in a signal handler. The timer holds no lock
 *            while a task, an on-cancel callback or a visitor runs. The
 *            functions of struct tkw_timer_hooks have other rules, which are
 *            given there. A call may change errno.
 *   Fds      A timer with a thread or in an event loop owns one file
 *            descriptor, a timerfd. A program that closes all descriptors, as
 *            daemons do with close_range(), must do so before it creates a
 *            timer. If the descriptor is closed all the same, the timer tells
 *            the log hook once. From then on, a call returns -EBADF if its
 *            timeout is due before the next wake-up of the worker. A timer with
 *            a thread recovers at that wake-up. After that it works without the
 *            descriptor, but while it sleeps it does not count the time in
 *            which the machine is suspended. A timer in an event loop does not
 *            recover. tkw_timer_destroy() works in any case.
 *   Fork     In a child of fork(), of _Fork(), or of clone() without CLONE_VM,
 *            a timer of the parent does nothing, and calls return -EPERM.
 *            There, tkw_timer_destroy() frees the memory. Call it only where
 *            free() is legal. In a child of _Fork(), free() is not legal if the
 *            parent had several threads. A child that was forked inside a
 *            callback may only call exec or _exit().
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     max_pending timeouts are pending already
 *   -ESHUTDOWN  the timer is stopped
 *   -ENOENT     the timeout has ended, or no timeout ever had this id
 *   -EBUSY      the task of the timeout is running now
 *   -EDEADLK    the call would wait for itself, because it is made inside a
 *               task, an on-cancel callback, a visitor or the executor's submit
 *               of this timer
 *   -EPERM      the timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed
 */
#ifndef TICKWHEEL_TIMER_H
#define TICKWHEEL_TIMER_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/exec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Units of time: 5 * TKW_MSEC is five milliseconds. */
#define TKW_USEC INT64_C(1000)
#define TKW_MSEC INT64_C(1000000)
#define TKW_SEC INT64_C(1000000000)

/* The deadline that never comes. */
#define TKW_NEVER_NS INT64_MAX

struct tkw_timer;

/*
 * The id of a timeout. You may copy and store it, compare a.bits == b.bits, and
 * print bits with PRIu64. No timeout has bits 0, so { 0 } can stand for "none".
 */
struct tkw_timeout_id {
	uint64_t bits;
};

/* Passed to a task when it fires. Valid while the task runs. */
struct tkw_firing {
	struct tkw_timer *timer;
	struct tkw_timeout_id id;
	int64_t deadline_ns; /* as in struct tkw_timeout_info */
	/* The time from the deadline to the start of the turn or, if a call of
	 * tkw_timer_turn() continues the turn, to the start of that call. It
	 * does not count how long the task waited for other tasks of the turn;
	 * read the clock if you need that. If an executor runs the task, it is
	 * the time from the deadline to the start of the task. */
	int64_t late_ns;
};

/*
 * A task: called once, by the worker or by the executor, when the timeout is
 * due.
 *
 * A task may make any call of this header. A call that would wait for the task
 * itself returns -EDEADLK. The library does not notice if tasks of two timers
 * wait for each other. A task must not leave by longjmp(), by a C++ exception
 * or by pthread_exit(), but it may call exit(). pthread_cancel() does not end
 * the thread while the task runs.
 *
 * firing  The timeout that fires.
 * ctx     The ctx of struct tkw_task.
 */
typedef void tkw_task_fn(const struct tkw_firing *firing, void *ctx);

/*
 * An on-cancel callback: called once if the timeout ends and its task has not
 * run.
 *
 * It runs on the thread that cancels the timeout or stops the timer. If the
 * timeout is dropped, it runs on the worker, or on the thread on which the
 * executor abandons the job. The id is stale by then. The callback may free
 * what ctx points to. The callback must keep the rules for a task.
 *
 * ctx  The ctx of struct tkw_task.
 */
typedef void tkw_cancel_fn(void *ctx);

/* What a timeout calls. It is copied when the timeout is scheduled. */
struct tkw_task {
	tkw_task_fn *fn;          /* must not be NULL */
	void *ctx;                /* passed to fn and on_cancel */
	tkw_cancel_fn *on_cancel; /* may be NULL */
	/*
	 * How late the task may be, counted from the tick to which the deadline
	 * is rounded up. The timer delays the task within the slack, so that
	 * many timeouts share a wake-up. A negative slack counts as 0. The
	 * timer cuts the slack to at most 2 s, or to two ticks if these are
	 * longer. A reschedule uses the same slack, but the slack is rounded
	 * down to a number of ticks that is a power of two.
	 */
	int64_t slack_ns;
};

/* The state of a timeout. */
enum tkw_timeout_state {
	TKW_TIMEOUT_PENDING = 1, /* it can be cancelled; it may be in the queue
				  * of an executor */
	TKW_TIMEOUT_RUNNING = 2  /* its task has started */
};

/* Facts about a timeout. */
struct tkw_timeout_info {
	struct tkw_timeout_id id;
	int state; /* an enum tkw_timeout_state */
	/* The deadline. It is exact if a tick is at most one second long.
	 * Otherwise it is off by at most about tick_ns / 2^30. */
	int64_t deadline_ns;
	int64_t left_ns; /* until the deadline; negative if it has passed */
	struct tkw_task task; /* its slack is rounded as for a reschedule */
};

/*
 * A visitor: called for each timeout that tkw_timer_stop() hands over.
 *
 * info  The timeout. Valid during the call.
 * ctx   The ctx that was passed to tkw_timer_stop().
 */
typedef void tkw_visit_fn(const struct tkw_timeout_info *info, void *ctx);

/* The drive of a timer: who makes its turns. */
enum tkw_timer_drive {
	TKW_DRIVE_THREAD = 0, /* a thread that the timer starts */
	TKW_DRIVE_MANUAL = 1, /* your code, which calls tkw_timer_turn() */
	TKW_DRIVE_LOOP = 2    /* an event loop, see tkw_timer_fd() */
};

/*
 * What happens to a due timeout when the executor refuses its job, or takes the
 * job and abandons it later.
 *
 * If a timeout is rescheduled while its job is queued, and becomes due again,
 * the executor has two jobs for it. The job that is run or abandoned first
 * decides what happens to the timeout. The other job does nothing.
 */
enum tkw_timer_refusal {
	/* The worker runs the task, as it does without an executor: one task at
	 * a time. */
	TKW_REFUSED_INLINE = 0,
	/* The timeout stays pending. In the turn of the next tick, the timer
	 * offers it to the executor again. If the executor is shut down
	 * (-ESHUTDOWN), the timer waits longer and longer between two tries, up
	 * to one second. */
	TKW_REFUSED_RETRY = 1,
	/* The timeout ends: on_cancel is called, and the timeout counts as
	 * dropped. Once per turn the log hook is told how many timeouts were
	 * dropped. */
	TKW_REFUSED_DROP = 2
};

/* The clock of a timer. */
enum tkw_timer_clock {
	TKW_CLOCK_MONOTONIC = 0,
	TKW_CLOCK_BOOTTIME = 1 /* also counts time in which the machine is
				* suspended */
};

/*
 * Functions that replace those of the system. If one is NULL, the timer uses
 * the system's own.
 *
 * They are called on any thread, and also while the library holds locks. So
 * they must not call the timer, nor a group, a set or a repeat that uses the
 * timer. This struct will not grow.
 */
struct tkw_timer_hooks {
	/*
	 * Returns the time in nanoseconds, which must not be negative. If the
	 * time goes back, the timer uses the largest time that it has read. A
	 * timer with a thread or in an event loop sleeps by the system's clock
	 * and assumes that the clock of this hook runs about as fast. If the
	 * clock of this hook jumps forward, the timer notices that when its
	 * sleep is over, or when an earlier timeout is scheduled.
	 */
	int64_t (*now)(void *ctx);
	/* Returns memory that is aligned to align, a power of two; NULL if
	 * there is none. The timer keeps its timeouts in blocks of 2 MiB that
	 * are aligned to 2 MiB. Set both alloc and free, or neither. */
	void *(*alloc)(size_t bytes, size_t align, void *ctx);
	/* Frees memory from alloc. */
	void (*free)(void *mem, size_t bytes, void *ctx);
	/*
	 * Creates a thread that calls run(arg), as pthread_create() does, and
	 * stores a handle in *handle. The handle is later passed to
	 * thread_join. Returns 0 or a negative errno. Set both thread_create
	 * and thread_join, or neither.
	 *
	 * The timer creates the worker and the watchdog ("tkw-watchdog") with
	 * this function. The library names the threads and blocks their
	 * signals. If the timer's file descriptor was closed while the worker
	 * slept, tkw_timer_stop() ends the worker's thread with
	 * pthread_cancel(). In that case run() does not return.
	 */
	int (*thread_create)(void *(*run)(void *arg), void *arg, void **handle,
			     void *ctx);
	/* Waits until a thread has ended. */
	void (*thread_join)(void *handle, void *ctx);
	/* Receives one line of text, without a newline. If it is NULL, the
	 * timer logs nothing. */
	void (*log)(const char *line, void *ctx);
	/* Passed to each of these functions as the last argument. */
	void *ctx;
};

/* The settings of a timer. All zero means the defaults. */
struct tkw_timer_config {
	/* sizeof(struct tkw_timer_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	/* The length of a tick. 0 means TKW_MSEC. */
	int64_t tick_ns;
	/* An enum tkw_wheel_engine, see wheel.h. 0 means hierarchical. */
	int engine;
	/* An enum tkw_timer_drive. */
	int drive;
	/* An enum tkw_timer_clock. If hooks->now is set, the timer uses this
	 * clock only to sleep. */
	int clock;
	/* The number of shards. A shard is a part of the timer with its own
	 * lock. The number is rounded up to a power of two. A number above 64
	 * counts as 64. 0 means one shard in an event loop, and otherwise two
	 * for each CPU that the process may use. The manual drive always has
	 * one shard. */
	int shards;
	/* The number of slots of the hashed engine, rounded up to a power of
	 * two. 0 means 512. The first schedule into a shard writes to all of
	 * its slots, 16 bytes each. Must be 0 with the hierarchical engine. */
	int64_t slots;
	/* How many timeouts may be pending. 0 or less means no limit. */
	int64_t max_pending;
	/* If the process has more timers than this, the log hook is told, once
	 * in the life of the process. 0 means 64. Less than 0 means never. */
	int64_t warn_timers;
	/* The executor that runs the tasks, see exec.h. If it is NULL, the
	 * worker runs them. The struct is copied. What its ctx points to must
	 * stay valid until the timer is stopped. */
	const struct tkw_exec *exec;
	/* An enum tkw_timer_refusal. */
	int refusal;
	/*
	 * If a task runs on the worker for longer than this, the log hook is
	 * told when the task ends. The line gives the name of the function if
	 * it can be found. Tasks that an executor runs are not measured. The
	 * measurement reads the clock twice for each task. 0 or less means that
	 * no task is measured.
	 */
	int64_t slow_task_ns;
	/*
	 * If this is not 0, the log hook is also told of a slow task while it
	 * is still running. An extra thread looks for slow tasks. It wakes up
	 * at most twice per slow_task_ns, and only while tasks run.
	 * slow_task_ns must then be at least TKW_MSEC, and the drive must be
	 * TKW_DRIVE_THREAD.
	 */
	int watchdog;
	/* The hooks. They are copied. NULL means that there are none. */
	const struct tkw_timer_hooks *hooks;
	/* The name of the worker's thread. It is copied, and the system keeps
	 * its first 15 bytes. NULL means "tickwheel". */
	const char *thread_name;
};

/* The settings of well-known timers: the length of a tick and the number of
 * slots. All of them use the hashed engine. */
enum tkw_timer_preset {
	TKW_PRESET_NETTY = 1,          /* 100 ms, 512 slots */
	TKW_PRESET_JRAFT = 2,          /* 1 ms, 2048 slots, warn_timers 256 */
	TKW_PRESET_DUBBO_FUTURE = 3,   /* 30 ms, 512 slots */
	TKW_PRESET_DUBBO_HEARTBEAT = 4 /* 1 s, 128 slots */
};

/*
 * Sets a config to a preset.
 *
 * The call also sets size. All fields that are not part of the preset become
 * zero.
 *
 * cfg     Receives the settings.
 * preset  An enum tkw_timer_preset.
 *
 * Returns 0, or
 *   -EINVAL  cfg is NULL, or the preset is unknown
 */
int tkw_timer_preset(struct tkw_timer_config *cfg, int preset);

/*
 * Creates a timer.
 *
 * The call starts no thread. The first schedule or tkw_timer_start() starts the
 * worker. Until then the timer takes less than 32 KiB of memory.
 *
 * out  Receives the timer. Destroy it with tkw_timer_destroy().
 * cfg  The settings. NULL means the defaults. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  out is NULL; cfg has a size or fields that this library does not
 *            know; tick_ns, slots or shards is negative; slots is more than
 *            2^30; slots is not 0 with the hierarchical engine; tick_ns is
 *            INT64_MAX / slots or more, after slots is rounded up; engine,
 *            drive, clock or refusal is unknown; exec has no submit; watchdog
 *            is set, but slow_task_ns is less than TKW_MSEC or the drive is not
 *            TKW_DRIVE_THREAD; only one of alloc and free is set; only one of
 *            thread_create and thread_join is set
 *   -ENOMEM  there is not enough memory, or the wheels of a hashed timer would
 *            take more than a quarter of the machine's memory
 *   -EMFILE, -ENFILE
 *            no file descriptor is free
 */
int tkw_timer_create(struct tkw_timer **out,
		     const struct tkw_timer_config *cfg);

/*
 * Starts the worker now, instead of with the first schedule.
 *
 * If several threads call it, one worker is started. If the drive is not
 * TKW_DRIVE_THREAD, no thread is started.
 *
 * Returns 0 if the timer is started, by this call or before, or
 *   -EINVAL  t is NULL
 *   -ENOMEM  the thread cannot be created; you may try again
 *   -ESHUTDOWN, -EPERM
 *            as listed at the top
 */
int tkw_timer_start(struct tkw_timer *t);

/*
 * Schedules a timeout, which calls a task once after a delay.
 *
 * The call never waits for the worker or for a task. The first schedule starts
 * the worker.
 *
 * task      The task. It is copied. Its fn must not be NULL.
 * delay_ns  The delay from now. With 0 or less, the task runs in the next turn,
 *           never inside this call. If now + delay_ns is TKW_NEVER_NS or more,
 *           the timeout never fires, but it can be cancelled.
 * id        Receives the id. May be NULL.
 *
 * Returns 0, or
 *   -EINVAL  t, task or its fn is NULL
 *   -ENOMEM  as listed at the top; the call may have started the worker
 *   -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
		       int64_t delay_ns, struct tkw_timeout_id *id);

/*
 * Schedules a timeout, which calls a task once at a given time.
 *
 * The call does not read the clock, so it is cheaper than tkw_timer_schedule()
 * if you know the time already. In all other ways it works like
 * tkw_timer_schedule().
 *
 * task         The task, as in tkw_timer_schedule().
 * deadline_ns  The deadline on the timer's clock. If the tick to which it is
 *              rounded up has begun already, the task runs in the next turn. A
 *              negative deadline counts as 0.
 * id           Receives the id. May be NULL.
 *
 * Returns the same as tkw_timer_schedule().
 */
int tkw_timer_schedule_at(struct tkw_timer *t, const struct tkw_task *task,
			  int64_t deadline_ns, struct tkw_timeout_id *id);

/* One timeout of a batch. */
struct tkw_batch_item {
	struct tkw_task task;
	int64_t when_ns; /* the delay or the deadline */
};

/* The largest batch. A batch is placed under one lock, so this bounds how long
 * the lock is held. */
#define TKW_MAX_BATCH 4096

/*
 * Schedules several timeouts, all or none.
 *
 * The timeouts keep the order of the batch. They wake the worker at most once.
 * tkw_timer_schedule_batch() takes delays and reads the clock once.
 * tkw_timer_schedule_batch_at() takes deadlines and does not read the clock.
 *
 * items  The timeouts. when_ns is the delay_ns of tkw_timer_schedule(), or the
 *        deadline_ns of tkw_timer_schedule_at().
 * count  The number of timeouts, at most TKW_MAX_BATCH. With 0 the call does
 *        nothing.
 * ids    Receives count ids. May be NULL.
 *
 * Returns 0, or
 *   -EINVAL  t is NULL; items is NULL and count is not 0; an item has no fn;
 *            count is too large
 *   -EAGAIN  max_pending leaves no room for all of them; the call may have
 *            started the worker
 *   -ENOMEM  as listed at the top; the call may have started the worker
 *   -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_timer_schedule_batch(struct tkw_timer *t,
			     const struct tkw_batch_item *items, size_t count,
			     struct tkw_timeout_id *ids);
int tkw_timer_schedule_batch_at(struct tkw_timer *t,
				const struct tkw_batch_item *items,
				size_t count, struct tkw_timeout_id *ids);

/*
 * Cancels a timeout, unless its task has started.
 *
 * A timeout is cancelled or runs, never both. The timer can reuse the memory of
 * a cancelled timeout at once. If the timeout has an on-cancel callback, this
 * call runs it.
 *
 * Returns 0 if the timeout is cancelled and its task will never run, or
 *   -EBUSY   the task is running now; a task gets this for its own id
 *   -EINVAL  t is NULL
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_timer_cancel(struct tkw_timer *t, struct tkw_timeout_id id);

/*
 * Cancels several timeouts, each as tkw_timer_cancel() does.
 *
 * A timeout that has ended or is running does not keep the others from being
 * cancelled. The call takes the lock of a shard once for all timeouts in it,
 * and once more after each on-cancel callback.
 *
 * ids      The timeouts.
 * count    The number of ids, at most TKW_MAX_BATCH. With 0 the call does
 *          nothing.
 * results  Receives, for each id, what tkw_timer_cancel() would have returned.
 *          If an id is given twice and the first one cancels the timeout, the
 *          second one gets -ENOENT. May be NULL.
 *
 * Returns the number of timeouts that this call has cancelled, or
 *   -EINVAL  t is NULL; ids is NULL and count is not 0; count is too large
 *   -EPERM   as listed at the top
 */
int tkw_timer_cancel_batch(struct tkw_timer *t,
			   const struct tkw_timeout_id *ids, size_t count,
			   int *results);

/*
 * Cancels a timeout. If its task or its on-cancel callback is running, the call
 * waits until that has returned.
 *
 * When the call has returned 0, 1 or -ENOENT, neither the task nor the
 * on-cancel callback is running, and neither will run. You may then free what
 * the task's ctx points to.
 *
 * Returns 0 if the timeout was cancelled and never ran, 1 if the task was
 * running and has returned now, or
 *   -ENOENT   the timeout had ended before
 *   -EDEADLK  the call would have to wait, and is made inside a task, an
 *             on-cancel callback, a visitor or the executor's submit of this
 *             timer
 *   -EINVAL   t is NULL
 *   -EPERM    as listed at the top
 */
int tkw_timer_cancel_wait(struct tkw_timer *t, struct tkw_timeout_id id);

/*
 * Gives a pending timeout an earlier or a later deadline. It keeps its id.
 *
 * A later deadline costs only about one store. This suits idle timeouts, which
 * every packet pushes back.
 *
 * In the order of firing, the timeout still belongs to the thread that
 * scheduled it, even if another thread reschedules it. If its new tick is
 * earlier, it goes behind the timeouts that are already in that tick. If its
 * new tick is later, it counts as scheduled at some moment between this call
 * and that tick. If its tick does not change, it keeps its place, unless a turn
 * already covers that tick; see Order at the top.
 *
 * delay_ns     The new delay from now, as in tkw_timer_schedule().
 * deadline_ns  The new deadline, as in tkw_timer_schedule_at().
 *
 * Returns 0, or
 *   -EBUSY   the task is running now; a task gets this for its own id
 *   -EINVAL  t is NULL
 *   -ENOENT, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_timer_reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
			 int64_t delay_ns);
int tkw_timer_reschedule_at(struct tkw_timer *t, struct tkw_timeout_id id,
			    int64_t deadline_ns);

/*
 * Gets the facts about a timeout.
 *
 * info  Receives the facts.
 *
 * Returns 0, or
 *   -EINVAL  t or info is NULL
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_timer_get(struct tkw_timer *t, struct tkw_timeout_id id,
		  struct tkw_timeout_info *info);

/*
 * Prints a timeout as text, for example "due in 1.2 s", "due, 3 ms late",
 * "never due" or "running, 3 ms late".
 *
 * buf   Receives the text. As with snprintf(), it is cut to size bytes and ends
 *       with a zero byte. May be NULL if size is 0.
 * size  The size of buf. With 0 nothing is written.
 *
 * Returns the length of the whole text, even if it was cut, or
 *   -EINVAL  t is NULL, or buf is NULL and size is not 0
 *   -ENOENT, -EPERM
 *            as listed at the top
 */
int tkw_timer_print_timeout(struct tkw_timer *t, struct tkw_timeout_id id,
			    char *buf, size_t size);

/* Returns the number of pending timeouts, not counting the running ones; 0 if t
 * is NULL or in a forked child. It takes the lock of each shard. */
uint64_t tkw_timer_count(struct tkw_timer *t);

/* Returns the time on the timer's clock, in a forked child too; 0 if t is
 * NULL. */
int64_t tkw_timer_now_ns(struct tkw_timer *t);

/* Returns the length of a tick; 0 if t is NULL. */
int64_t tkw_timer_tick_ns(struct tkw_timer *t);

/* The ledger of a timer. Each accepted timeout is counted in exactly one of the
 * other five fields. */
struct tkw_ledger {
	uint64_t accepted;    /* all timeouts that were ever scheduled */
	uint64_t fired;       /* the task has started, or has returned */
	uint64_t cancelled;   /* cancelled before the task started */
	uint64_t dropped;     /* ended by TKW_REFUSED_DROP */
	uint64_t handed_over; /* ended by a stop */
	uint64_t pending;     /* not ended and not running */
};

/*
 * Gets the ledger of a timer.
 *
 * The ledger balances at every moment, because it is read while all locks of
 * the timer are held.
 *
 * out  Receives the ledger.
 *
 * Returns 0, or
 *   -EINVAL  t or out is NULL
 *   -EPERM   as listed at the top
 */
int tkw_timer_get_ledger(struct tkw_timer *t, struct tkw_ledger *out);

/*
 * Checks all invariants of a timer. It changes nothing. Use it in tests.
 *
 * It locks one shard after the other, each for about 0.1 us per timeout in it.
 * Meanwhile other threads wait for that shard, and nothing in it fires.
 *
 * Returns NULL if the timer is sound, else a static string that says what is
 * broken. If t is NULL or belongs to the parent of a fork, the call returns a
 * string too.
 */
const char *tkw_timer_check(struct tkw_timer *t);

/*
 * Waits until no timeout is pending, and no task and no on-cancel callback is
 * running.
 *
 * It also waits for timeouts that are scheduled meanwhile, by tasks or by other
 * threads. A timeout that never fires is pending until it is cancelled. The
 * drive must be TKW_DRIVE_THREAD.
 *
 * timeout_ns  How long to wait at most. With 0 or less the call does not wait.
 *             With TKW_NEVER_NS it waits without a limit.
 *
 * Returns 0 if nothing is pending or running, or
 *   -ETIMEDOUT  the time is over
 *   -EINVAL     t is NULL, or has another drive
 *   -EDEADLK, -EPERM
 *               as listed at the top
 */
int tkw_timer_wait_idle(struct tkw_timer *t, int64_t timeout_ns);

/*
 * Makes a turn: fires, on the calling thread and in order, all timeouts that
 * are due when the turn starts.
 *
 * The drive must be TKW_DRIVE_MANUAL or TKW_DRIVE_LOOP. A timeout that is
 * scheduled by a task fires in a later turn, so that every turn ends. A stop
 * ends the turn early.
 *
 * max_tasks  The largest number of timeouts to fire. 0 or less means all that
 *            are due. If more timeouts are due, the next call continues this
 *            turn, and the fd of an event loop stays readable. Timeouts that
 *            become due meanwhile fire in the turn after this one.
 * next_ns    Receives the time at which the next call is needed. This is never
 *            later than the tick of the earliest timeout. It may be earlier,
 *            because the wheel has to move far timeouts to finer rings.
 *            TKW_NEVER_NS means that no pending timeout will ever be due. If
 *            something is scheduled after this call, a turn may be needed
 *            earlier; see tkw_timer_next_turn(). May be NULL.
 *
 * Returns the number of tasks that ran, at most INT_MAX, not counting those
 * that were given to an executor, or
 *   -EINVAL  t is NULL, or has the drive TKW_DRIVE_THREAD
 *   -EBUSY   another thread is in a turn
 *   -EBADF   the fd was closed; the timeouts that were due have fired
 *   -EDEADLK, -ESHUTDOWN, -EPERM
 *            as listed at the top
 */
int tkw_timer_turn(struct tkw_timer *t, int max_tasks, int64_t *next_ns);

/*
 * Gets the time at which the next turn is needed.
 *
 * next_ns  Receives the time, as in tkw_timer_turn().
 *
 * Returns 0, or
 *   -EINVAL  t or next_ns is NULL
 *   -EPERM   as listed at the top
 */
int tkw_timer_next_turn(struct tkw_timer *t, int64_t *next_ns);

/*
 * Returns the file descriptor of a timer in an event loop (TKW_DRIVE_LOOP).
 *
 * Poll the fd for reading, and call tkw_timer_turn() when it is readable. Any
 * thread may schedule and cancel. If a timeout is scheduled that is earlier
 * than all others, the fd becomes readable in time for it. The fd stays
 * readable until tkw_timer_turn() is called. After a stop it is never readable.
 *
 * You may poll the fd level-triggered or edge-triggered, with select, poll,
 * epoll, io_uring, or any library that takes an fd. The folder adapters has
 * headers for libuv, libevent, libev and plain epoll. The fd belongs to the
 * timer until tkw_timer_destroy(). Do not read it, close it, or set it with
 * timerfd_settime(). Remove it from the loop before you destroy the timer.
 *
 * Setting the fd takes a system call. The timer sets it only when the earliest
 * deadline becomes earlier, and in the turn after the fd was readable. If
 * hooks->now is set, every turn sets it. Pushing timeouts back costs no system
 * call. The loop wakes up once for nothing if the earliest timeout was pushed
 * back or cancelled. A timeout that is far away can also wake the loop up
 * before it is due: at most once for each ring of the wheel or, with the hashed
 * engine, once in each round.
 *
 * Returns the number of the fd, even if somebody has closed it, or
 *   -EINVAL  t is NULL, or has another drive
 *   -EPERM   as listed at the top
 */
int tkw_timer_fd(struct tkw_timer *t);

/*
 * Stops a timer for good.
 *
 * The timer refuses new timeouts from now on. The call waits until the running
 * tasks have returned and the worker has ended. Then it hands over all pending
 * timeouts, including those in the queue of an executor. To hand over a
 * timeout, it calls visit and then on_cancel, on the calling thread, with no
 * lock held. The order is not defined.
 *
 * If the call returns 1, it has visited nothing and has not waited.
 *
 * visit  Called for each pending timeout. It may make any call that does not
 *        wait. May be NULL.
 * ctx    Passed to visit.
 *
 * Returns 0 if this call stopped the timer, 1 if another call has stopped it or
 * is stopping it, or
 *   -EINVAL  t is NULL
 *   -EDEADLK, -EPERM
 *            as listed at the top
 */
int tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx);

/* Returns 1 if the timer is stopped or is being stopped, else 0; 0 if t is
 * NULL. */
int tkw_timer_is_stopped(struct tkw_timer *t);

/*
 * Stops a timer without a visitor, unless it is stopped already, and frees it.
 *
 * If another call is stopping the timer, this call waits for it. No other
 * thread may use the timer any more.
 *
 * In a forked child the call frees the memory of the timer and closes the
 * child's copy of the file descriptor. It touches nothing else and returns 0.
 *
 * t  The timer. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  as listed at the top
 */
int tkw_timer_destroy(struct tkw_timer *t);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_TIMER_H */
