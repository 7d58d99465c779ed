/* SPDX-License-Identifier: MIT */
/*
 * faulty_timer.c - a timer that makes mistakes on purpose.
 *
 * tkw_faulty_timer is tkw, but some calls of the timer go through here (by the
 * linker's --wrap). TKW_FAULT names the mistake. It is made at every hundredth
 * call, unless the list says otherwise:
 *
 *   none      no mistake
 *   early     every timeout is scheduled with half of its delay
 *   forget    a timeout is not scheduled, but the timer returns 0
 *   refuse    a timeout is not scheduled, and the timer returns -EAGAIN
 *   lose      a timeout leaves the wheel when the wheel advances, and is not
 *             told to anybody
 *   twice     a task is called twice
 *   keep      a timeout is not cancelled, but the timer returns 0
 *   deny      a timeout is cancelled, but the timer returns -ENOENT
 *   agree     every cancel of a timeout that has ended returns 0
 *   hold      a reschedule never moves the timeout, but returns 0
 *   skip      the stop does not tell its visitor about a timeout
 *   swap      the stop tells its visitor about the last timeout again instead
 *   cook      the ledger always has one accepted and one fired too many
 *   uneven    the ledger has one accepted too many, until the stop
 *   unsound   the checker always finds something
 *   stall     the checker keeps the worker from firing for a second
 *   idle      the timer cannot start its thread
 *   restart   a stopped timer says that it is started
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tickwheel.h"

enum {
	EVERY = 100
};

/* The linker wants these names.
 * NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_tkw_timer_start(struct tkw_timer *t);
int __wrap_tkw_timer_start(struct tkw_timer *t);
int __real_tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
			      int64_t delay_ns, struct tkw_timeout_id *id);
int __wrap_tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
			      int64_t delay_ns, struct tkw_timeout_id *id);
int __real_tkw_timer_cancel(struct tkw_timer *t, struct tkw_timeout_id id);
int __wrap_tkw_timer_cancel(struct tkw_timer *t, struct tkw_timeout_id id);
int __real_tkw_timer_reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
				int64_t delay_ns);
int __wrap_tkw_timer_reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
				int64_t delay_ns);
int __real_tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx);
int __wrap_tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx);
int __real_tkw_wheel_advance(struct tkw_wheel *w, uint64_t to,
			     uint64_t max_steps, tkw_expire_fn *fn, void *ctx);
int __wrap_tkw_wheel_advance(struct tkw_wheel *w, uint64_t to,
			     uint64_t max_steps, tkw_expire_fn *fn, void *ctx);
int __real_tkw_timer_get_ledger(struct tkw_timer *t, struct tkw_ledger *out);
int __wrap_tkw_timer_get_ledger(struct tkw_timer *t, struct tkw_ledger *out);
const char *__real_tkw_timer_check(struct tkw_timer *t);
const char *__wrap_tkw_timer_check(struct tkw_timer *t);

static const char *fault = "none";

/* Runs before there are threads. */
__attribute__((constructor)) static void read_fault(void)
{
	const char *name = getenv("TKW_FAULT");

	if (name)
		fault = name;
}

static bool fault_is(const char *name)
{
	return !strcmp(fault, name);
}

static bool errs(const char *name)
{
	static atomic_uint calls;

	return fault_is(name) && atomic_fetch_add(&calls, 1) % EVERY == 0;
}

/* A task that is called twice. */
struct doubled {
	struct tkw_task task;
};

static void call_twice(const struct tkw_firing *firing, void *ctx)
{
	struct doubled *d = ctx;

	d->task.fn(firing, d->task.ctx);
	d->task.fn(firing, d->task.ctx);
	free(d);
}

static int schedule_doubled(struct tkw_timer *t, const struct tkw_task *task,
			    int64_t delay_ns, struct tkw_timeout_id *id)
{
	struct doubled *d = malloc(sizeof(*d));
	struct tkw_task twice = { .fn = call_twice,
				  .ctx = d,
				  .on_cancel = free };
	int r;

	if (!d)
		return -ENOMEM;
	d->task = *task;
	r = __real_tkw_timer_schedule(t, &twice, delay_ns, id);
	if (r)
		free(d);
	return r;
}

int __wrap_tkw_timer_start(struct tkw_timer *t)
{
	int r;

	if (fault_is("idle"))
		return -ENOMEM;
	r = __real_tkw_timer_start(t);
	return r == -ESHUTDOWN && fault_is("restart") ? 0 : r;
}

int __wrap_tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
			      int64_t delay_ns, struct tkw_timeout_id *id)
{
	if (fault_is("early"))
		delay_ns /= 2;
	if (errs("refuse"))
		return -EAGAIN;
	if (errs("twice"))
		return schedule_doubled(t, task, delay_ns, id);
	if (errs("forget")) {
		if (id)
			*id = (struct tkw_timeout_id){ 0 };
		return 0;
	}
	return __real_tkw_timer_schedule(t, task, delay_ns, id);
}

int __wrap_tkw_timer_cancel(struct tkw_timer *t, struct tkw_timeout_id id)
{
	int r;

	if (errs("keep"))
		return 0;
	r = __real_tkw_timer_cancel(t, id);
	if (r == 0 && errs("deny"))
		return -ENOENT;
	return r == -ENOENT && fault_is("agree") ? 0 : r;
}

int __wrap_tkw_timer_reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
				int64_t delay_ns)
{
	struct tkw_timeout_info info;

	if (!fault_is("hold"))
		return __real_tkw_timer_reschedule(t, id, delay_ns);
	return tkw_timer_get(t, id, &info);
}

struct visitor {
	tkw_visit_fn *visit;
	void *ctx;
	struct tkw_timeout_info before;
};

static void visit_wrongly(const struct tkw_timeout_info *info, void *ctx)
{
	struct visitor *v = ctx;
	struct tkw_timeout_info told = *info;

	if (told.task.fn == call_twice) {
		const struct doubled *d = told.task.ctx;

		told.task = d->task;
	}
	if (errs("skip"))
		return;
	if (v->before.id.bits && errs("swap"))
		told = v->before;
	v->visit(&told, v->ctx);
	v->before = told;
}

int __wrap_tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx)
{
	struct visitor v = { .visit = visit, .ctx = ctx };

	return __real_tkw_timer_stop(t, visit_wrongly, &v);
}

/* The timer calls this under the lock of the wheel's shard. */
int __wrap_tkw_wheel_advance(struct tkw_wheel *w, uint64_t to,
			     uint64_t max_steps, tkw_expire_fn *fn, void *ctx)
{
	struct tkw_entry *e = tkw_wheel_first(w);

	if (e && errs("lose")) {
		tkw_wheel_remove(w, e);
		/* A list of its own, so that the timer can still cancel it. */
		e->link.next = &e->link;
		e->link.prev = &e->link;
	}
	return __real_tkw_wheel_advance(w, to, max_steps, fn, ctx);
}

int __wrap_tkw_timer_get_ledger(struct tkw_timer *t, struct tkw_ledger *out)
{
	int r = __real_tkw_timer_get_ledger(t, out);

	if (!r && fault_is("cook")) {
		out->accepted++;
		out->fired++;
	}
	if (!r && fault_is("uneven") && !tkw_timer_is_stopped(t))
		out->accepted++;
	return r;
}

static void sleep_ms(int64_t ms)
{
	const struct timespec t = { .tv_sec = (time_t)(ms / 1000),
				    .tv_nsec = (long)(ms % 1000 * TKW_MSEC) };

	(void)nanosleep(&t, NULL);
}

static void sleep_long(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
	sleep_ms(1000);
}

static void set_flag(const struct tkw_firing *firing, void *ctx)
{
	atomic_bool *flag = ctx;

	(void)firing;
	atomic_store(flag, true);
}

/* Returns after a task ran that was a second late. */
static void stall(struct tkw_timer *t)
{
	static atomic_bool over;
	const struct tkw_task first = { .fn = sleep_long };
	const struct tkw_task second = { .fn = set_flag, .ctx = &over };

	/* After the stop these are refused. */
	if (__real_tkw_timer_schedule(t, &first, 0, NULL) ||
	    __real_tkw_timer_schedule(t, &second, 0, NULL))
		return;
	while (!atomic_load(&over))
		sleep_ms(1);
}

const char *__wrap_tkw_timer_check(struct tkw_timer *t)
{
	if (fault_is("stall"))
		stall(t);
	return fault_is("unsound") ? "a fault on purpose"
				   : __real_tkw_timer_check(t);
}
/* NOLINTEND(bugprone-reserved-identifier) */
