/* SPDX-License-Identifier: MIT */
/*
 * live_audit.c - stops the timer, and holds its ledger against our own counts.
 *
 * The stop comes in the midst of the load: threads go on to schedule, cancel
 * and push back until they are refused. That is when timers lose timeouts.
 */
#include <errno.h>

#include "live.h"

bool live_audit_law(const struct tkw_ledger *g)
{
	return g->accepted == g->fired + g->cancelled + g->dropped +
				      g->handed_over + g->pending;
}

uint64_t live_audit_fired(const uint64_t n[LIVE_COUNTS])
{
	return n[LIVE_FIRED_CALL] + n[LIVE_FIRED_IDLE] + n[LIVE_FIRED_BEAT] +
	       n[LIVE_FIRED_FAR];
}

static void add_up(const struct live *l, uint64_t n[LIVE_COUNTS])
{
	for (size_t k = 0; k < LIVE_COUNTS; k++) {
		n[k] = 0;
		for (size_t i = 0; i <= l->cfg.threads; i++)
			n[k] += atomic_load_explicit(&l->counters[i].n[k],
						     memory_order_relaxed);
	}
}

static int64_t worker_ns(const struct live *l)
{
	struct timespec t;

	/* Pairs with the first heartbeat's store. */
	if (!atomic_load_explicit(&l->worker_known, memory_order_acquire) ||
	    clock_gettime(l->worker_clock, &t))
		return 0;
	return (int64_t)t.tv_sec * TKW_SEC + t.tv_nsec;
}

void live_audit_take(struct live *l, struct live_moment *m)
{
	struct tkw_ledger g;

	m->at_ns = live_now_ns();
	m->worker_ns = worker_ns(l);
	m->pending = tkw_timer_pending(l->timer);
	add_up(l, m->n);
	live_late_take(&l->late, &m->late);
	l->readings++;
	l->uneven += tkw_timer_ledger(l->timer, &g) || !live_audit_law(&g);
}

bool live_audit_seen_all(const struct live *l)
{
	const uint64_t *n = l->last.n;

	/* More heartbeats than there are: one has re-armed itself. */
	return n[LIVE_CANCELLED] > 0 && n[LIVE_PUSHED_BACK] > 0 &&
	       n[LIVE_FIRED_CALL] > 0 && n[LIVE_FIRED_IDLE] > 0 &&
	       n[LIVE_FIRED_BEAT] > l->beats && n[LIVE_WRONG] > 0;
}

static void visit(const struct tkw_timeout_info *info, void *ctx)
{
	struct live *l = ctx;

	live_count(&l->counters[0], LIVE_HANDED_OVER);
	live_mark_end(&l->counters[0], info->task.arg);
}

static void never(void *arg, const struct tkw_firing *f)
{
	(void)f;
	live_count(arg, LIVE_TWICE);
}

/* What a stopped timer has to refuse. */
static void call_in_vain(struct live *l)
{
	struct live_counters *c = &l->counters[0];
	const struct tkw_task task = { .fn = never, .arg = c };

	live_expect(c, tkw_timer_schedule(l->timer, &task, 0, NULL),
		    -ESHUTDOWN);
	live_expect(c, tkw_timer_start(l->timer), -ESHUTDOWN);
	live_expect(c, tkw_timer_stop(l->timer, visit, l), 1);
	live_expect(c, tkw_timer_is_stopped(l->timer), 1);
}

void live_audit_stop(struct live *l)
{
	struct live_counters *c = &l->counters[0];

	l->unsound = tkw_timer_check(l->timer);
	atomic_store(&l->stopping, true);
	if (tkw_timer_stop(l->timer, visit, l))
		live_count(c, LIVE_FAILED);
	live_load_join(l);
	call_in_vain(l);
	if (!l->unsound)
		l->unsound = tkw_timer_check(l->timer);
	if (tkw_timer_ledger(l->timer, &l->ledger) ||
	    tkw_timer_pending(l->timer) != l->ledger.pending ||
	    tkw_timer_stats(l->timer, &l->stats))
		live_count(c, LIVE_FAILED);
	add_up(l, l->n);
	l->lost = live_load_waiting(l);
}

bool live_audit_balanced(const struct live *l)
{
	const struct tkw_ledger *g = &l->ledger;
	const uint64_t *n = l->n;

	return live_audit_law(g) && g->pending == 0 && g->dropped == 0 &&
	       g->accepted == n[LIVE_ACCEPTED] &&
	       g->fired == live_audit_fired(n) &&
	       g->cancelled == n[LIVE_CANCELLED] &&
	       g->handed_over == n[LIVE_HANDED_OVER] &&
	       n[LIVE_REFUSED] == n[LIVE_WRONG] && n[LIVE_FAILED] == 0 &&
	       n[LIVE_EARLY] == 0 && n[LIVE_TWICE] == 0 && l->lost == 0 &&
	       l->uneven == 0 && !l->unsound;
}
