/* SPDX-License-Identifier: MIT */
/*
 * live_timeout.c - the timeouts of the demo in real time: what is asked of the
 * timer, what the tasks do, and what is written down about it.
 *
 * Each timeout has a mark of ours, beside the counters: sums can agree by
 * chance, a mark that is set twice or never cannot.
 *
 * Threads: a call and a connection belong to one thread, which alone arms,
 * cancels and pushes back; the worker only ends their marks. A heartbeat is
 * the worker's once it is armed.
 */
#include "live_timeout.h"

#include <errno.h>

/* Tasks have no other way to it: the argument of a far one is a mark. */
static struct live *stage;

void live_timeout_stage(struct live *l)
{
	stage = l;
}

void live_count(struct live_counters *c, enum live_count what)
{
	atomic_fetch_add_explicit(&c->n[what], 1, memory_order_relaxed);
}

void live_expect(struct live_counters *c, int r, int want)
{
	live_count(c, LIVE_WRONG);
	if (r == want)
		live_count(c, LIVE_REFUSED);
}

void live_mark_end(struct live_counters *c, struct live_mark *m)
{
	/* Pairs with live_is_waiting(): the task has read what it needs before
	 * the owner uses the timeout again. */
	unsigned char was = atomic_exchange_explicit(&m->fate, LIVE_ENDED,
						     memory_order_acq_rel);

	if (was != LIVE_WAITING)
		live_count(c, LIVE_TWICE);
}

bool live_is_waiting(const struct live_mark *m)
{
	/* Pairs with live_mark_end(). */
	return atomic_load_explicit(&m->fate, memory_order_acquire) ==
	       LIVE_WAITING;
}

bool live_is_over(int r)
{
	return r == -ESHUTDOWN || r == -ENOMEM;
}

/* A schedule or reschedule said no. Is there a good reason? */
static void note_refusal(struct live_counters *c, int r)
{
	int none = 0;

	if (r == -ESHUTDOWN && atomic_load(&stage->stopping)) {
		live_count(c, LIVE_CLOSED);
		return;
	}
	if (r == -ENOMEM)
		atomic_compare_exchange_strong(&stage->error, &none, r);
	live_count(c, LIVE_FAILED);
}

/* --- tasks, on the worker --- */

static void has_fired(struct live_mark *m, enum live_count kind,
		      int64_t earliest_ns, const struct tkw_firing *f)
{
	struct live_counters *c = &stage->counters[0];
	int64_t now_ns = live_now_ns();

	live_count(c, kind);
	if (now_ns < earliest_ns || now_ns < f->deadline_ns)
		live_count(c, LIVE_EARLY);
	live_late_add(&stage->late, now_ns - f->deadline_ns);
	live_mark_end(c, m);
}

static int64_t earliest(const struct live_timeout *to)
{
	return atomic_load_explicit(&to->earliest_ns, memory_order_relaxed);
}

static void on_call(void *arg, const struct tkw_firing *f)
{
	struct live_timeout *to = arg;

	has_fired(&to->mark, LIVE_FIRED_CALL, earliest(to), f);
}

static void on_idle(void *arg, const struct tkw_firing *f)
{
	struct live_timeout *to = arg;

	has_fired(&to->mark, LIVE_FIRED_IDLE, earliest(to), f);
}

static void on_far(void *arg, const struct tkw_firing *f)
{
	has_fired(arg, LIVE_FIRED_FAR, stage->far_ns, f);
}

/* Only the worker can say which clock measures its CPU time. */
static void tell_worker_clock(struct live *l)
{
	if (atomic_load_explicit(&l->worker_known, memory_order_relaxed))
		return;
	if (!pthread_getcpuclockid(pthread_self(), &l->worker_clock))
		/* Pairs with worker_ns(). */
		atomic_store_explicit(&l->worker_known, true,
				      memory_order_release);
}

static void on_beat(void *arg, const struct tkw_firing *f)
{
	struct live_beat *b = arg;
	int64_t earliest_ns =
		atomic_load_explicit(&b->earliest_ns, memory_order_relaxed);

	tell_worker_clock(stage);
	has_fired(&b->mark, LIVE_FIRED_BEAT, earliest_ns, f);
	(void)live_arm_beat(&stage->counters[0], b, b->period_ns);
}

/* --- calls of the timer --- */

static int arm(struct live_counters *c, const struct tkw_task *task,
	       int64_t delay_ns, uint64_t *id)
{
	struct live_mark *m = task->arg;
	int r;

	atomic_store_explicit(&m->fate, LIVE_WAITING, memory_order_relaxed);
	r = tkw_timer_schedule(stage->timer, task, delay_ns, id);
	if (r) {
		atomic_store_explicit(&m->fate, LIVE_UNUSED,
				      memory_order_relaxed);
		note_refusal(c, r);
		return r;
	}
	live_count(c, LIVE_ACCEPTED);
	return 0;
}

int live_arm_call(struct live_counters *c, struct live_timeout *to,
		  int64_t now_ns, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_call, .arg = to };

	atomic_store_explicit(&to->earliest_ns, now_ns + delay_ns,
			      memory_order_relaxed);
	return arm(c, &task, delay_ns, &to->id);
}

int live_arm_idle(struct live_counters *c, struct live_timeout *to,
		  int64_t now_ns, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_idle, .arg = to };

	atomic_store_explicit(&to->earliest_ns, now_ns + delay_ns,
			      memory_order_relaxed);
	return arm(c, &task, delay_ns, &to->id);
}

/* Nobody cancels it, so that nobody wants its id; and the worker might arm it
 * anew before the first one's is written. */
int live_arm_beat(struct live_counters *c, struct live_beat *b,
		  int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_beat, .arg = b };

	atomic_store_explicit(&b->earliest_ns, live_now_ns() + delay_ns,
			      memory_order_relaxed);
	return arm(c, &task, delay_ns, NULL);
}

int live_arm_far(struct live_counters *c, struct live_mark *m, int64_t delay_ns)
{
	const struct tkw_task task = { .fn = on_far, .arg = m };

	return arm(c, &task, delay_ns, NULL);
}

int live_push_back(struct live_counters *c, struct live_timeout *to,
		   int64_t now_ns, int64_t delay_ns)
{
	int r = tkw_timer_reschedule(stage->timer, to->id, delay_ns);

	if (r == 0) {
		/* Not before the call: had the task won, the old time would
		 * have been right. */
		atomic_store_explicit(&to->earliest_ns, now_ns + delay_ns,
				      memory_order_relaxed);
		live_count(c, LIVE_PUSHED_BACK);
		return 0;
	}
	if (r == -EBUSY || r == -ENOENT)
		return 0;
	note_refusal(c, r);
	return r;
}

void live_cancel(struct live_counters *c, struct live_timeout *to, bool again)
{
	struct tkw_timer *t = stage->timer;
	int r = tkw_timer_cancel(t, to->id);

	if (r == 0) {
		live_count(c, LIVE_CANCELLED);
		live_mark_end(c, &to->mark);
		if (again)
			live_expect(c, tkw_timer_cancel(t, to->id), -ENOENT);
		return;
	}
	if (r == -EBUSY) {
		r = tkw_timer_cancel_wait(t, to->id);
		if (r == 1)
			r = -ENOENT;
	}
	if (r != -ENOENT)
		live_count(c, LIVE_FAILED);
	else if (!live_is_waiting(&to->mark))
		live_count(c, LIVE_TOO_LATE);
}
