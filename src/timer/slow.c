/* SPDX-License-Identifier: MIT */
/*
 * slow.c - slow tasks, and the watchdog.
 *
 * Look:    the watchdog looks twice in the time that a task may take. It reads
 *          when the task began, which task it is, and once more when it began.
 *          If both times are the same, it was the same task. (Two tasks begin
 *          at the same time only if the user's clock stands still. Then the
 *          watchdog may name the one before.)
 * Sleep:   the watchdog looks only while tasks run. If none has begun since its
 *          last look and none runs, it says that it sleeps, looks once more,
 *          and sleeps until the next task begins and wakes it. So it is woken
 *          at most twice in the time that a task may take, however many tasks
 *          there are. Each side writes its own word and then reads the other's,
 *          all with SEQ_CST: either the watchdog sees the task, or the task
 *          sees that the watchdog sleeps.
 */
#include "timer/slow.h"

#include <stdio.h>

#include "os/symbol.h"
#include "os/thread.h"
#include "timer/object.h"
#include "timer/text.h"

enum {
	NAME_BYTES = 128,
	LINE_BYTES = 256
};

/* The moods of the watchdog. */
enum {
	AWAKE = 0,
	ASLEEP = 1,
	OVER = 2
};

void tkw__slow_init(struct tkw_timer *t, const struct tkw_timer_config *cfg)
{
	t->slow.limit_ns = cfg->slow_task_ns;
	t->slow.watchdog = cfg->watchdog != 0;
}

/* Tells the log of a task that was or still is slow. */
static void tell(const struct tkw_timer *t, uint64_t task, const char *what,
		 int64_t ns)
{
	char name[NAME_BYTES];
	char time[TKW__TIME_BYTES];
	char line[LINE_BYTES];

	if (t->hooks.log == NULL)
		return;
	tkw__symbol_print(name, sizeof(name), (const void *)(uintptr_t)task);
	tkw__print_time(time, sizeof(time), ns);
	snprintf(line, sizeof(line), "tickwheel: task %s %s %s on the worker",
		 name, what, time);
	tkw__log(t, line);
}

static void wake_watchdog(struct tkw_timer *t)
{
	uint32_t asleep = ASLEEP;

	if (TKW__CAS(&t->slow.mood, &asleep, AWAKE, RELAXED))
		tkw__unpark_all(&t->slow.mood);
}

void tkw__slow_begin(struct tkw_timer *t, tkw_task_fn *task, int64_t now_ns)
{
	/* Only the worker changes this count. */
	uint32_t begun = TKW__LOAD(&t->slow.begun, RELAXED);

	TKW__STORE(&t->slow.begun, begun + 1, RELAXED);
	/* RELEASE pairs with the ACQUIREs of look(). */
	TKW__STORE(&t->slow.task, (uintptr_t)task, RELEASE);
	TKW__STORE(&t->slow.since_ns, (uint64_t)now_ns + 1, SEQ_CST);
	if (t->slow.watchdog && TKW__LOAD(&t->slow.mood, SEQ_CST) == ASLEEP)
		wake_watchdog(t);
}

void tkw__slow_end(struct tkw_timer *t)
{
	uint64_t since_ns = TKW__LOAD(&t->slow.since_ns, RELAXED);
	int64_t ns = tkw__now(t) - (int64_t)(since_ns - 1);

	TKW__STORE(&t->slow.since_ns, 0, RELEASE);
	if (ns <= t->slow.limit_ns)
		return;
	TKW__ADD(&t->slow.count, 1, RELAXED);
	tell(t, TKW__LOAD(&t->slow.task, RELAXED), "ran for", ns);
}

/* Tells the log of the running task if it is slow. Returns when the task began
 * if the log was told of it, now or before (told_ns), and otherwise 0. */
static uint64_t look(struct tkw_timer *t, uint64_t told_ns)
{
	uint64_t since_ns = TKW__LOAD(&t->slow.since_ns, ACQUIRE);
	uint64_t task = TKW__LOAD(&t->slow.task, ACQUIRE);
	int64_t ns;

	if (since_ns == 0 || TKW__LOAD(&t->slow.since_ns, ACQUIRE) != since_ns)
		return 0;
	ns = tkw__now(t) - (int64_t)(since_ns - 1);
	if (since_ns != told_ns && ns <= t->slow.limit_ns)
		return 0;
	if (since_ns != told_ns)
		tell(t, task, "has been running for", ns);
	return since_ns;
}

/* Called when no task runs. Sleeps until one begins, or until the watchdog is
 * stopped. */
static void sleep_on(struct tkw_timer *t)
{
	uint32_t mood = AWAKE;

	if (!TKW__CAS(&t->slow.mood, &mood, ASLEEP, SEQ_CST))
		return;
	if (TKW__LOAD(&t->slow.since_ns, SEQ_CST) != 0) {
		mood = ASLEEP;
		(void)TKW__CAS(&t->slow.mood, &mood, AWAKE, RELAXED);
		return;
	}
	while (TKW__LOAD(&t->slow.mood, RELAXED) == ASLEEP)
		tkw__park(&t->slow.mood, ASLEEP);
}

static void *keep_watch(void *timer)
{
	struct tkw_timer *t = timer;
	uint64_t told_ns = 0;

	tkw__thread_become_worker("tkw-watchdog");
	/* ACQUIRE pairs with tkw__watchdog_stop(). */
	while (TKW__LOAD(&t->slow.mood, ACQUIRE) != OVER) {
		uint32_t begun = TKW__LOAD(&t->slow.begun, RELAXED);

		told_ns = look(t, told_ns);
		tkw__park_for(&t->slow.mood, AWAKE, t->slow.limit_ns / 2 + 1);
		if (TKW__LOAD(&t->slow.begun, RELAXED) == begun &&
		    TKW__LOAD(&t->slow.since_ns, RELAXED) == 0)
			sleep_on(t);
	}
	return NULL;
}

int tkw__watchdog_start(struct tkw_timer *t)
{
	if (!t->slow.watchdog)
		return 0;
	TKW__STORE(&t->slow.mood, AWAKE, RELAXED);
	return t->hooks.thread_create(keep_watch, t, &t->slow.thread,
				      t->hooks.ctx);
}

void tkw__watchdog_stop(struct tkw_timer *t)
{
	if (!t->slow.watchdog)
		return;
	/* RELEASE pairs with the ACQUIRE of keep_watch(). */
	TKW__STORE(&t->slow.mood, OVER, RELEASE);
	tkw__unpark_all(&t->slow.mood);
	t->hooks.thread_join(t->slow.thread, t->hooks.ctx);
}
