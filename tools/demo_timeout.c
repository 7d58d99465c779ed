/* SPDX-License-Identifier: MIT */
/*
 * demo_timeout.c - the timeouts of the demo in real time: the calls of the
 * timer, the tasks, and what the demo notes about them.
 *
 * Besides the counters, each timeout has a mark. Sums can agree by chance, but
 * a mark shows that a timeout ended twice or never.
 *
 * Threads: a call and a connection belong to one thread. Only this thread arms,
 * cancels and pushes back its timeouts; the worker only ends their marks. A
 * heartbeat belongs to the worker once it is armed.
 */
#include "demo_timeout.h"

#include <errno.h>

/* Global, because the ctx of a far timeout's task is only its mark. */
static struct demo *stage;

void demo_timeout_stage(struct demo *d)
{
	stage = d;
}

void demo_count(struct demo_counters *c, enum demo_count what)
{
	atomic_fetch_add_explicit(&c->n[what], 1, memory_order_relaxed);
}

void demo_expect(struct demo_counters *c, int r, int want)
{
	demo_count(c, DEMO_WRONG);
	if (r == want)
		demo_count(c, DEMO_REFUSED);
}

void demo_mark_end(struct demo_counters *c, struct demo_mark *m)
{
	/* Pairs with demo_is_waiting(): the owner uses the timeout again only
	 * after the task has read it. */
	unsigned char was = atomic_exchange_explicit(&m->fate, DEMO_ENDED,
						     memory_order_acq_rel);

	if (was != DEMO_WAITING)
		demo_count(c, DEMO_TWICE);
}

bool demo_is_waiting(const struct demo_mark *m)
{
	/* Pairs with demo_mark_end(). */
	return atomic_load_explicit(&m->fate, memory_order_acquire) ==
	       DEMO_WAITING;
}

bool demo_is_over(int r)
{
	return r == -ESHUTDOWN || r == -ENOMEM;
}

/* Counts a schedule or reschedule that was refused. */
static void note_refusal(struct demo_counters *c, int r)
{
	int none = 0;

	if (r == -ESHUTDOWN && atomic_load(&stage->stopping)) {
		demo_count(c, DEMO_CLOSED);
		return;
	}
	if (r == -ENOMEM)
		atomic_compare_exchange_strong(&stage->error, &none, r);
	demo_count(c, DEMO_FAILED);
}

/* --- tasks, on the worker --- */

static void has_fired(struct demo_mark *m, enum demo_count kind,
		      int64_t earliest_ns, const struct tkw_firing *f)
{
	struct demo_counters *c = &stage->counters[0];
	int64_t now_ns = demo_now_ns();

	demo_count(c, kind);
	if (now_ns < earliest_ns || now_ns < f->deadline_ns)
		demo_count(c, DEMO_EARLY);
	demo_late_add(&stage->late, now_ns - f->deadline_ns);
	demo_mark_end(c, m);
}

static int64_t earliest(const struct demo_timeout *to)
{
	return atomic_load_explicit(&to->earliest_ns, memory_order_relaxed);
}

static void on_call(const struct tkw_firing *f, void *ctx)
{
	struct demo_timeout *to = ctx;

	has_fired(&to->mark, DEMO_FIRED_CALL, earliest(to), f);
}

static void on_idle(const struct tkw_firing *f, void *ctx)
{
	struct demo_timeout *to = ctx;

	has_fired(&to->mark, DEMO_FIRED_IDLE, earliest(to), f);
}

static void on_far(const struct tkw_firing *f, void *ctx)
{
	has_fired(ctx, DEMO_FIRED_FAR, stage->far_ns, f);
}

/* Only the worker can find out which clock measures its CPU time. */
static void tell_worker_clock(struct demo *d)
{
	if (atomic_load_explicit(&d->worker_known, memory_order_relaxed))
		return;
	if (!pthread_getcpuclockid(pthread_self(), &d->worker_clock))
		/* Pairs with worker_ns(). */
		atomic_store_explicit(&d->worker_known, true,
				      memory_order_release);
}

static void on_beat(const struct tkw_firing *f, void *ctx)
{
	struct demo_beat *b = ctx;
	int64_t earliest_ns =
		atomic_load_explicit(&b->earliest_ns, memory_order_relaxed);

	tell_worker_clock(stage);
	has_fired(&b->mark, DEMO_FIRED_BEAT, earliest_ns, f);
	(void)demo_arm_beat(&stage->counters[0], b, b->period_ns);
}

/* --- calls of the timer --- */

static int arm(struct demo_counters *c, const struct tkw_task *task,
	       int64_t delay_ns, struct tkw_timeout_id *id)
{
	struct demo_mark *m = task->ctx;
	int r;

	atomic_store_explicit(&m->fate, DEMO_WAITING, memory_order_relaxed);
	r = tkw_timer_schedule(stage->timer, task, delay_ns, id);
	if (r) {
		atomic_store_explicit(&m->fate, DEMO_UNUSED,
				      memory_order_relaxed);
		note_refusal(c, r);
		return r;
	}
	demo_count(c, DEMO_ACCEPTED);
	return 0;
}

int demo_arm_call(struct demo_counters *c, struct demo_timeout *to,
		  int64_t now_ns, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_call, .ctx = to };

	atomic_store_explicit(&to->earliest_ns, now_ns + delay_ns,
			      memory_order_relaxed);
	return arm(c, &task, delay_ns, &to->id);
}

int demo_arm_idle(struct demo_counters *c, struct demo_timeout *to,
		  int64_t now_ns, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_idle, .ctx = to };

	atomic_store_explicit(&to->earliest_ns, now_ns + delay_ns,
			      memory_order_relaxed);
	return arm(c, &task, delay_ns, &to->id);
}

/* Does not ask for the id, because nobody cancels a heartbeat. And the worker
 * might arm it again before the first id is written. */
int demo_arm_beat(struct demo_counters *c, struct demo_beat *b,
		  int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_beat, .ctx = b };

	atomic_store_explicit(&b->earliest_ns, demo_now_ns() + delay_ns,
			      memory_order_relaxed);
	return arm(c, &task, delay_ns, NULL);
}

int demo_arm_far(struct demo_counters *c, struct demo_mark *m, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_far, .ctx = m };

	return arm(c, &task, delay_ns, NULL);
}

int demo_push_back(struct demo_counters *c, struct demo_timeout *to,
		   int64_t now_ns, int64_t delay_ns)
{
	int r = tkw_timer_reschedule(stage->timer, to->id, delay_ns);

	if (r == 0) {
		/* Store it after the call. If the task runs first, the old time
		 * is the right one. */
		atomic_store_explicit(&to->earliest_ns, now_ns + delay_ns,
				      memory_order_relaxed);
		demo_count(c, DEMO_PUSHED_BACK);
		return 0;
	}
	if (r == -EBUSY || r == -ENOENT)
		return 0;
	note_refusal(c, r);
	return r;
}

void demo_cancel(struct demo_counters *c, struct demo_timeout *to, bool again)
{
	struct tkw_timer *t = stage->timer;
	int r = tkw_timer_cancel(t, to->id);

	if (r == 0) {
		demo_count(c, DEMO_CANCELLED);
		demo_mark_end(c, &to->mark);
		if (again)
			demo_expect(c, tkw_timer_cancel(t, to->id), -ENOENT);
		return;
	}
	if (r == -EBUSY) {
		r = tkw_timer_cancel_wait(t, to->id);
		if (r == 1)
			r = -ENOENT;
	}
	if (r != -ENOENT)
		demo_count(c, DEMO_FAILED);
	else if (!demo_is_waiting(&to->mark))
		demo_count(c, DEMO_TOO_LATE);
}
