/* SPDX-License-Identifier: MIT */
/*
 * demo_audit.c - stops the timer, and compares its ledger with the demo's own
 * counts.
 *
 * The stop comes under full load: the threads schedule, cancel and push back
 * timeouts until the timer refuses. A timer that loses timeouts loses them
 * here.
 */
#include <errno.h>

#include "demo.h"

bool demo_audit_law(const struct tkw_ledger *g)
{
	return g->accepted == g->fired + g->cancelled + g->dropped +
				      g->handed_over + g->pending;
}

uint64_t demo_audit_fired(const uint64_t n[DEMO_COUNTS])
{
	return n[DEMO_FIRED_CALL] + n[DEMO_FIRED_IDLE] + n[DEMO_FIRED_BEAT] +
	       n[DEMO_FIRED_FAR];
}

static void add_up(const struct demo *d, uint64_t n[DEMO_COUNTS])
{
	for (size_t k = 0; k < DEMO_COUNTS; k++) {
		n[k] = 0;
		for (size_t i = 0; i <= d->cfg.threads; i++)
			n[k] += atomic_load_explicit(&d->counters[i].n[k],
						     memory_order_relaxed);
	}
}

static int64_t worker_ns(const struct demo *d)
{
	struct timespec t;

	/* Pairs with the first heartbeat's store. */
	if (!atomic_load_explicit(&d->worker_known, memory_order_acquire) ||
	    clock_gettime(d->worker_clock, &t))
		return 0;
	return (int64_t)t.tv_sec * TKW_SEC + t.tv_nsec;
}

void demo_audit_take(struct demo *d, struct demo_moment *m)
{
	struct tkw_stats stats;
	struct tkw_ledger g;

	m->at_ns = demo_now_ns();
	m->worker_ns = worker_ns(d);
	m->pending = tkw_timer_count(d->timer);
	add_up(d, m->n);
	demo_late_take(&d->late, &m->late);
	if (tkw_timer_get_stats(d->timer, &stats))
		demo_count(&d->counters[0], DEMO_FAILED);
	else
		m->timer_late = stats.lateness;
	d->readings++;
	d->uneven += tkw_timer_get_ledger(d->timer, &g) || !demo_audit_law(&g);
}

bool demo_audit_seen_all(const struct demo *d)
{
	const uint64_t *n = d->last.n;

	/* If more heartbeats fired than there are, one has re-armed itself. */
	return n[DEMO_CANCELLED] > 0 && n[DEMO_PUSHED_BACK] > 0 &&
	       n[DEMO_FIRED_CALL] > 0 && n[DEMO_FIRED_IDLE] > 0 &&
	       n[DEMO_FIRED_BEAT] > d->beats && n[DEMO_WRONG] > 0;
}

static void visit(const struct tkw_timeout_info *info, void *ctx)
{
	struct demo *d = ctx;

	demo_count(&d->counters[0], DEMO_HANDED_OVER);
	demo_mark_end(&d->counters[0], info->task.ctx);
}

static void never(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	demo_count(ctx, DEMO_TWICE);
}

/* Makes calls that a stopped timer has to refuse. */
static void call_in_vain(struct demo *d)
{
	struct demo_counters *c = &d->counters[0];
	const struct tkw_task task = { .fn = never, .ctx = c };

	demo_expect(c, tkw_timer_schedule(d->timer, &task, 0, NULL),
		    -ESHUTDOWN);
	demo_expect(c, tkw_timer_start(d->timer), -ESHUTDOWN);
	demo_expect(c, tkw_timer_stop(d->timer, visit, d), 1);
	demo_expect(c, tkw_timer_is_stopped(d->timer), 1);
}

void demo_audit_stop(struct demo *d)
{
	struct demo_counters *c = &d->counters[0];

	/* The check locks the shards for a long time, so that tasks get late.
	 * This is not in the figures, which end with the moment `last`. */
	d->unsound = tkw_timer_check(d->timer);
	atomic_store(&d->stopping, true);
	if (tkw_timer_stop(d->timer, visit, d))
		demo_count(c, DEMO_FAILED);
	demo_load_join(d);
	call_in_vain(d);
	if (!d->unsound)
		d->unsound = tkw_timer_check(d->timer);
	if (tkw_timer_get_ledger(d->timer, &d->ledger) ||
	    tkw_timer_count(d->timer) != d->ledger.pending ||
	    tkw_timer_get_stats(d->timer, &d->stats))
		demo_count(c, DEMO_FAILED);
	add_up(d, d->n);
	d->lost = demo_load_waiting(d);
}

bool demo_audit_balanced(const struct demo *d)
{
	const struct tkw_ledger *g = &d->ledger;
	const uint64_t *n = d->n;

	return demo_audit_law(g) && g->pending == 0 && g->dropped == 0 &&
	       g->accepted == n[DEMO_ACCEPTED] &&
	       g->fired == demo_audit_fired(n) &&
	       g->cancelled == n[DEMO_CANCELLED] &&
	       g->handed_over == n[DEMO_HANDED_OVER] &&
	       n[DEMO_REFUSED] == n[DEMO_WRONG] && n[DEMO_FAILED] == 0 &&
	       n[DEMO_EARLY] == 0 && n[DEMO_TWICE] == 0 && d->lost == 0 &&
	       d->uneven == 0 && !d->unsound;
}
