/* SPDX-License-Identifier: MIT */
/* sim_verify.c - holds the queues against the truth. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "queue_driving.h"
#include "sim_life.h"

_Noreturn void life_fail(struct life *l, const char *what)
{
	struct life_failure *f = l->failure;

	f->what = what;
	f->turn = l->turn;
	snprintf(f->detail, sizeof(f->detail),
		 "now %" PRIu64 " us, row %" PRIu64 ", %" PRIu64 " crashes",
		 l->now_us, sim_disk_last(l->disk),
		 sim_disk_counts(l->disk)->crashes);
	longjmp(l->out, 1);
}

void life_trace(struct life *l, const char *what, uint64_t a, uint64_t b)
{
	if (!l->opts->trace || l->turn < l->opts->trace_from)
		return;
	fprintf(l->opts->trace,
		"  turn %" PRIu64 ", now %" PRIu64 ".%03" PRIu64 ": %s %" PRIu64
		" %" PRIu64 "\n",
		l->turn, l->now_us / 1000, l->now_us % 1000, what, a, b);
}

static bool same_totals(const struct tkw__queue_totals *t, const struct qo *o)
{
	return t->last_id == o->last_id && t->last_token == o->last_token &&
	       t->puts == o->puts && t->acks == o->acks &&
	       t->cancels == o->cancels && t->purges == o->purges &&
	       t->replaces == o->replaces && t->takes == o->takes &&
	       t->nacks == o->nacks && t->losses == o->losses &&
	       t->deaths == o->deaths && t->revivals == o->revivals &&
	       t->extends == o->extends && t->reschedules == o->reschedules &&
	       t->paused == o->paused && t->max_items == o->max_items &&
	       t->max_bytes == o->max_bytes && t->max_payload == o->max_payload;
}

static void verify_totals(struct life *l, struct tkw__queue *heart,
			  const struct qo *o)
{
	struct tkw__queue_stats s;
	const struct tkw__queue_totals *t = &s.totals;

	tkw__queue_get_stats(heart, l->now_us, &s);
	if (t->puts != t->acks + t->cancels + t->purges + s.items)
		life_fail(l, "the law does not hold");
	if (s.items != o->count)
		life_fail(l, "the number of items is wrong");
	if (!same_totals(t, o))
		life_fail(l, "the totals are wrong");
}

static void verify_state(struct life *l, const struct tkw__queue_facts *f,
			 const struct qo_item *it)
{
	struct qo_item v = qo_view(it, life_now_ms(l));
	enum qo_state state = qo_state_of(it, life_now_ms(l));

	if ((int)f->state == (int)state && f->due_ms == v.want.due &&
	    f->attempts == v.attempts &&
	    (state > QO_READY || f->seq == v.seq) &&
	    f->token == (state == QO_TAKEN ? v.token : 0) &&
	    f->lease_ms == (state == QO_TAKEN ? v.lease : 0) &&
	    f->died_ms == (state == QO_DEAD ? v.died : 0))
		return;
	/* It may have run out since, and then tells when. */
	life_fail(l, it->token ? "a lease was forgotten"
			       : "an item has the wrong state");
}

static void verify_facts(struct life *l, const struct tkw__queue_facts *f,
			 const struct qo_item *it)
{
	struct qo_item v = qo_view(it, life_now_ms(l));
	const struct qo_want *w = &v.want;

	verify_state(l, f, it);
	if (f->max_attempts != w->max_attempts || f->backoff_ms != w->backoff ||
	    f->max_backoff_ms != w->max_backoff)
		life_fail(l, "an item has the wrong options");
	if (!qd_same(f->payload, qd_payload(w->payload, w->payload_len)) ||
	    !qd_same(f->reason, qd_reason(v.reason)))
		life_fail(l, "an item has the wrong bytes");
	if (!qd_same(f->key, qd_key_of(w)) ||
	    f->planned_ms != (v.plan ? w->planned : 0))
		life_fail(l, "an item has the wrong key");
}

struct visit {
	struct life *l;
	uint32_t q;
};

static void visit(const struct tkw__queue_facts *f, void *ctx)
{
	struct visit *v = ctx;
	const struct qo_item *it = qo_find(&v->l->now.q[v->q].o, f->id);

	if (!it)
		life_fail(v->l, "an item is there that ended or never was");
	verify_facts(v->l, f, it);
}

static void verify_all_are_there(struct life *l, struct tkw__queue *heart,
				 const struct qo *o)
{
	struct tkw__queue_facts f;
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		struct tkw__queue_name name = { .id = o->items[i].id };

		if (tkw__queue_get(heart, l->now_us, &name, &f) != 0)
			life_fail(l, "what was acknowledged is lost");
	}
}

void life_verify_undone(struct life *l)
{
	if (!l->written && tkw__desk_digest(l->desk) != l->digest)
		life_fail(l, "a batch that failed was not undone");
}

void life_verify_queue(struct life *l, uint32_t q)
{
	struct tkw__queue *heart = l->queue[q]->heart;
	struct visit v = { l, q };
	struct tkw__queue_list list = { l->now_us, TKW__QUEUE_STATES, 1000,
					visit, &v };
	uint64_t cursor = 0;
	const char *wrong;

	verify_all_are_there(l, heart, &l->now.q[q].o);
	do {
		cursor = tkw__queue_list(heart, &list, cursor);
	} while (cursor != 0);
	verify_totals(l, heart, &l->now.q[q].o);
	wrong = qd_compare_plans(heart, &l->now.q[q].o);
	if (wrong)
		life_fail(l, wrong);
}

void life_verify(struct life *l)
{
	const char *wrong = tkw__desk_check(l->desk);
	uint32_t q;

	if (wrong)
		life_fail(l, wrong);
	for (q = 0; q < LIFE_QUEUES; q++) {
		if (l->queue[q])
			life_verify_queue(l, q);
	}
}

/* Which queues are there. */
static void verify_names(struct life *l)
{
	struct tkw_queue *at = NULL;
	uint32_t count = 0;
	uint32_t q;

	for (q = 0; q < LIFE_QUEUES; q++) {
		l->queue[q] = tkw__desk_find(l->desk, call_queue_name(q));
		if (!l->queue[q] && l->now.q[q].exists)
			life_fail(l, "a queue is lost");
		if (l->queue[q] && !l->now.q[q].exists)
			life_fail(l, "a queue is there that never was");
		count += l->queue[q] != NULL;
	}
	while ((at = tkw__desk_queue(l->desk, at)) != NULL)
		count--;
	if (count != 0)
		life_fail(l, "the number of queues is wrong");
}

static void verify_memory(struct life *l, uint32_t q)
{
	const struct memory *m = &l->memory[q];
	struct tkw__queue_facts f;
	struct tkw__queue_stats s;
	uint32_t i;

	for (i = 0; i < m->ends && i < LIFE_ENDED; i++) {
		struct tkw__queue_name name = { .id = m->ended[i] };

		if (tkw__queue_get(l->queue[q]->heart, l->now_us, &name, &f) !=
		    -ENOENT)
			life_fail(l, "what had ended came back");
	}
	tkw__queue_get_stats(l->queue[q]->heart, l->now_us, &s);
	if (s.totals.last_id < m->last_id)
		life_fail(l, "an id will be given twice");
	if (s.totals.last_token < m->last_token)
		life_fail(l, "a token will be given twice");
}

static void count_survivors(struct life *l, const struct qo *o)
{
	uint32_t i;

	l->tally->n[LT_LARGE] += o->count > TKW__QUEUE_SMALL;
	for (i = 0; i < o->count; i++) {
		enum qo_state s = qo_state_of(&o->items[i], life_now_ms(l));

		l->tally->n[LT_TAKEN_OVER] += s == QO_TAKEN;
		l->tally->n[LT_DEAD] += s == QO_DEAD;
	}
	for (i = 0; i < QO_PLANS; i++)
		l->tally->n[LT_PLAN_TAKEN_OVER] += o->plan[i].id != 0;
}

void life_verify_open(struct life *l)
{
	uint32_t q;

	verify_names(l);
	for (q = 0; q < LIFE_QUEUES; q++) {
		if (!l->queue[q])
			continue;
		verify_memory(l, q);
		count_survivors(l, &l->now.q[q].o);
	}
	life_verify(l);
}
