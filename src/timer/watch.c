/* SPDX-License-Identifier: MIT */
/*
 * watch.c - slow tasks, and the watchdog.
 *
 * The watchdog looks twice in the time that a task may take. It reads when the
 * task began, which one it is, and once more when it began: if that is the same
 * it was this one all the time. (Two begin at once only by a clock of the
 * user's that stands still; then it may name the one before.)
 */
#include "timer/watch.h"

#include <stdio.h>

#include "os/symbol.h"
#include "os/thread.h"
#include "timer/core.h"

enum {
	NAME_BYTES = 128,
	LINE_BYTES = 256
};

int tkw__watch_init(struct tkw_timer *t, const struct tkw_timer_config *cfg)
{
	t->watch.slow_ns = cfg->slow_task_ns;
	t->watch.watchdog = cfg->watchdog != 0;
	if (!t->watch.watchdog)
		return 0;
	return tkw__alarm_init(&t->watch.alarm, false);
}

void tkw__watch_fini(struct tkw_timer *t)
{
	if (t->watch.watchdog)
		tkw__alarm_fini(&t->watch.alarm);
}

/* Tell the log of a task that was, or is, slow. */
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
	t->hooks.log(t->hooks.ctx, line);
}

void tkw__watch_begin(struct tkw_timer *t, tkw_task_fn *task, int64_t now_ns)
{
	/* RELEASE pairs with the ACQUIREs of look(). */
	TKW__STORE(&t->watch.task, (uintptr_t)task, RELEASE);
	TKW__STORE(&t->watch.since_ns, (uint64_t)now_ns + 1, RELEASE);
}

void tkw__watch_end(struct tkw_timer *t)
{
	uint64_t since_ns = TKW__LOAD(&t->watch.since_ns, RELAXED);
	int64_t ns = tkw__now(t) - (int64_t)(since_ns - 1);

	TKW__STORE(&t->watch.since_ns, 0, RELEASE);
	if (ns <= t->watch.slow_ns)
		return;
	TKW__ADD(&t->watch.slow, 1, RELAXED);
	tell(t, TKW__LOAD(&t->watch.task, RELAXED), "ran for", ns);
}

/* Tell of the running task if it is slow. Return  when it began, if it was told
 * of, now or before (told_ns); else 0. */
static uint64_t look(struct tkw_timer *t, uint64_t told_ns)
{
	uint64_t since_ns = TKW__LOAD(&t->watch.since_ns, ACQUIRE);
	uint64_t task = TKW__LOAD(&t->watch.task, ACQUIRE);
	int64_t ns;

	if (since_ns == 0 || TKW__LOAD(&t->watch.since_ns, ACQUIRE) != since_ns)
		return 0;
	ns = tkw__now(t) - (int64_t)(since_ns - 1);
	if (since_ns != told_ns && ns <= t->watch.slow_ns)
		return 0;
	if (since_ns != told_ns)
		tell(t, task, "has been running for", ns);
	return since_ns;
}

static void *keep_watch(void *timer)
{
	struct tkw_timer *t = timer;
	uint64_t told_ns = 0;

	tkw__thread_become_worker("tkw-watchdog");
	while (!TKW__LOAD(&t->watch.over, ACQUIRE)) {
		told_ns = look(t, told_ns);
		tkw__alarm_set(&t->watch.alarm, t->watch.slow_ns / 2 + 1, true);
		/* Either this sees that it is over, or the alarm was set after
		 * it, to ring at once: see below. */
		if (!TKW__LOAD(&t->watch.over, SEQ_CST))
			tkw__alarm_wait(&t->watch.alarm);
	}
	return NULL;
}

int tkw__watchdog_start(struct tkw_timer *t)
{
	if (!t->watch.watchdog)
		return 0;
	TKW__STORE(&t->watch.over, 0, RELAXED);
	return t->hooks.thread_create(t->hooks.ctx, keep_watch, t,
				      &t->watch.thread);
}

void tkw__watchdog_stop(struct tkw_timer *t)
{
	if (!t->watch.watchdog)
		return;
	TKW__STORE(&t->watch.over, 1, SEQ_CST);
	/* If the watchdog sets it to a later time now, it has not yet looked
	 * whether it is over; if it has looked before, this comes later. */
	tkw__alarm_set(&t->watch.alarm, 0, true);
	t->hooks.thread_join(t->hooks.ctx, t->watch.thread);
}
