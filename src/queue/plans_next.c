/* SPDX-License-Identifier: MIT */
/*
 * plans_next.c - which item of a plan comes next, and when it is put.
 *
 * tkw__queue_plan() in heart.h has the rules. A command first says what became
 * of the item, by a record about the item. Then the plan goes on: a STEP says
 * what is decided, and PLANNED puts the next item.
 */
#include <errno.h>

#include "queue/state.h"

/* --- the calendar --------------------------------------------------------- */

/* A plan, compiled for one command. */
struct times {
	const struct tkw__queue_calendar *calendar;
	void *compiled;
};

static int open_times(const struct tkw__queue *q,
		      const struct tkw__plan_search *s, struct times *t)
{
	t->calendar = q->calendar;
	if (!t->calendar)
		return -ENOSYS;
	return t->calendar->compile(&t->compiled, s->text, s->zone, s->anew,
				    t->calendar->ctx);
}

static void close_times(const struct times *t)
{
	t->calendar->free(t->compiled, t->calendar->ctx);
}

static int next_time(struct tkw__queue *q, const struct times *t,
		     uint64_t after_ms, uint64_t *out_ms)
{
	int err = t->calendar->next(t->compiled, after_ms, out_ms);

	q->steps++;
	assert(err || *out_ms > after_ms);
	return !err && *out_ms > TKW__QUEUE_MAX_MS ? -ENOENT : err;
}

/* True if a user, or an item of an earlier plan of the name, has the key. */
static bool is_held(struct tkw__queue *q, const struct tkw__plan_search *s,
		    uint64_t planned_ms)
{
	const struct tkw__item *it;
	struct tkw__plan_key key;

	tkw__plan_make_key(&key, s->name, planned_ms);
	it = tkw__index_find_key(
		q, (struct tkw__queue_text){ key.bytes, key.len });
	return it && it != s->own;
}

int tkw__plan_find_next(struct tkw__queue *q, const struct tkw__plan_search *s,
			uint64_t from_ms, uint64_t *out_ms)
{
	struct times t;
	uint64_t ms = from_ms;
	int err = open_times(q, s, &t);

	if (err)
		return err;
	for (int held = -1; held < TKW__QUEUE_MAX_HELD; held++) {
		err = next_time(q, &t, ms, &ms);
		if (err || !is_held(q, s, ms))
			break;
		err = -EEXIST;
	}
	close_times(&t);
	if (!err)
		*out_ms = ms;
	return err;
}

/* --- a plan goes on ------------------------------------------------------- */

int tkw__plan_put(struct tkw__queue *q, struct tkw__queue_call *call,
		  const struct tkw__plan *p, uint64_t planned_ms)
{
	struct tkw__record r = { .kind = TKW__RECORD_PLANNED,
				 .id = tkw__next_seq(q, call),
				 .payload = tkw__plan_payload(p) };
	struct tkw__plan_key key;

	tkw__plan_make_key(&key, tkw__plan_name(p), planned_ms);
	r.key = (struct tkw__queue_text){ key.bytes, key.len };
	r.word[TKW__PUT_DUE] = planned_ms;
	r.word[TKW__PUT_OPTIONS] =
		(uint64_t)p->backoff_ms << 32 | p->max_attempts;
	r.word[TKW__PUT_MAX_BACKOFF] = p->max_backoff_ms;
	r.word[TKW__PLANNED_PLAN] = p->id;
	return tkw__emit(q, call, &r);
}

int tkw__plan_step(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__plan *p, const struct tkw__plan_state *s)
{
	struct tkw__record r = { .kind = TKW__RECORD_STEP,
				 .id = p->id,
				 .key = tkw__plan_name(p) };
	uint64_t old[TKW__RECORD_WORDS] = { 0 };

	tkw__plan_step_words(p->state, old);
	tkw__plan_step_words(s, r.word);
	if (memcmp(old, r.word, sizeof(old)) == 0)
		return 0;
	return tkw__emit(q, call, &r);
}

bool tkw__plan_waits(const struct tkw__plan *p)
{
	return p->running > 0 && (p->next_on_end || p->state->in_turn);
}

int tkw__plan_go_on(struct tkw__queue *q, struct tkw__queue_call *call,
		    struct tkw__plan *p, struct tkw__plan_move *m)
{
	struct tkw__plan_search search = { .name = tkw__plan_name(p),
					   .text = tkw__plan_text(p),
					   .zone = tkw__plan_zone(p),
					   .anew = m->anew };
	struct tkw__plan_state *s = &m->state;
	uint64_t ms;
	int err;

	if (p->running > 0 && (p->next_on_end || s->in_turn))
		return tkw__plan_step(q, call, p, s);
	s->in_turn = false;
	s->error = tkw__plan_find_next(q, &search, m->from_ms, &ms);
	if (s->error == -ENOMEM)
		return -ENOMEM;
	/* This must not fail a command that ends an item. */
	if (!s->error && tkw__next_seq(q, call) > INT64_MAX)
		s->error = -EOVERFLOW;
	err = tkw__plan_step(q, call, p, s);
	if (err || s->error)
		return err;
	return tkw__plan_put(q, call, p, ms);
}

int tkw__plan_drop(struct tkw__queue *q, struct tkw__queue_call *call,
		   struct tkw__plan *p)
{
	struct tkw__record r = { .kind = TKW__RECORD_CANCEL,
				 .alone = true,
				 .id = p->fresh->id,
				 .item = p->fresh };

	return tkw__emit(q, call, &r);
}

/* The time of the fresh item is decided, and the plan goes on after it. */
static struct tkw__plan_move decide(const struct tkw__plan *p,
				    const struct tkw__item *fresh)
{
	struct tkw__plan_move m = { .state = *p->state };

	m.from_ms = tkw__item_planned(fresh).planned_ms;
	m.state.decided_ms = m.from_ms;
	return m;
}

/* The fresh item was ready while another one was running, up to at_ms. */
static int leave_out(struct tkw__queue *q, struct tkw__queue_call *call,
		     struct tkw__plan *p, uint64_t at_ms)
{
	struct tkw__plan_move m = decide(p, p->fresh);
	int err = tkw__plan_drop(q, call, p);

	if (err)
		return err;
	m.state.overlaps++;
	m.from_ms = tkw__max_u64(m.from_ms, at_ms);
	return tkw__plan_go_on(q, call, p, &m);
}

/* --- a take meets a fresh item -------------------------------------------- */

/* True if an item is, or was, given out too late. */
static bool is_missed(const struct tkw__queue *q, const struct tkw__plan *p,
		      const struct tkw__item *it)
{
	uint64_t since = tkw__max_u64(tkw__item_planned(it).planned_ms,
				      tkw__item_due(it));

	return q->now_ms > since && q->now_ms - since > p->grace_ms;
}

/* Finds the time that misfire wants first, from that of the fresh item on, if
 * the times before end_ms are missed. For TKW__QUEUE_MISSED_SKIP this is any
 * time that is not missed. */
static int find_wanted(struct tkw__queue *q, const struct tkw__plan *p,
		       uint64_t end_ms, uint64_t *out_ms)
{
	uint64_t planned_ms = tkw__item_planned(p->fresh).planned_ms;
	uint32_t most = p->misfire == TKW__QUEUE_MISSED_ALL ? p->max_missed : 1;
	struct tkw__plan_search s = { .text = tkw__plan_text(p),
				      .zone = tkw__plan_zone(p) };
	uint64_t ms = end_ms;
	struct times t;
	int err;

	*out_ms = end_ms;
	if (p->misfire == TKW__QUEUE_MISSED_SKIP)
		return 0;
	err = open_times(q, &s, &t);
	/* Without a calendar, the plan gives its last item out. */
	*out_ms = planned_ms;
	if (err)
		return err == -ENOMEM ? err : 0;
	for (uint32_t n = 0; n < most && ms > planned_ms; n++) {
		q->steps++;
		if (t.calendar->previous(t.compiled, ms, &ms) != 0)
			ms = planned_ms;
	}
	close_times(&t);
	*out_ms = tkw__max_u64(ms, planned_ms);
	return 0;
}

/* The fresh item is missed. */
static int pass_missed(struct tkw__queue *q, struct tkw__queue_call *call,
		       struct tkw__plan *p, bool *ended)
{
	struct tkw__plan_move m = decide(p, p->fresh);
	uint64_t wanted_ms;
	int err = find_wanted(q, p, q->now_ms - p->grace_ms, &wanted_ms);

	*ended = !err && wanted_ms > m.from_ms;
	if (!*ended)
		return err;
	err = tkw__plan_drop(q, call, p);
	if (err)
		return err;
	m.state.missed++;
	m.from_ms = wanted_ms - 1;
	return tkw__plan_go_on(q, call, p, &m);
}

bool tkw__plan_overlaps(struct tkw__queue *q, const struct tkw__item *it)
{
	const struct tkw__plan *p = tkw__plan_of(q, it);

	return p && p->fresh == it && !p->allow_overlap && p->running > 0;
}

int tkw__plan_meet(struct tkw__queue *q, struct tkw__queue_call *call,
		   struct tkw__item *it, uint64_t *budget, bool *ended)
{
	struct tkw__plan *p = tkw__plan_of(q, it);
	uint64_t steps = q->steps;
	int err;

	*ended = false;
	if (!p || p->fresh != it)
		return 0;
	if (!p->allow_overlap && p->running > 0) {
		*ended = true;
		err = leave_out(q, call, p, q->now_ms);
	} else if (is_missed(q, p, it)) {
		err = pass_missed(q, call, p, ended);
	} else {
		return 0;
	}
	*budget -= tkw__min_u64(*budget, q->steps - steps);
	return err;
}

/* --- something happened to an item ---------------------------------------- */

int tkw__plan_taken(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__item *it)
{
	struct tkw__plan *p = tkw__plan_of(q, it);
	struct tkw__plan_move m;

	if (!p)
		return 0;
	m = decide(p, it);
	m.state.runs++;
	if (!p->allow_overlap) {
		m.state.in_turn = p->misfire == TKW__QUEUE_MISSED_ALL &&
				  is_missed(q, p, it);
		m.from_ms = tkw__max_u64(m.from_ms, q->now_ms);
	}
	return tkw__plan_go_on(q, call, p, &m);
}

/* A user has cancelled the fresh item. */
static int cancelled(struct tkw__queue *q, struct tkw__queue_call *call,
		     struct tkw__plan *p, const struct tkw__item *it)
{
	struct tkw__plan_move m = decide(p, it);

	if (!p->allow_overlap && p->running > 0)
		m.from_ms = tkw__max_u64(m.from_ms, q->now_ms);
	return tkw__plan_go_on(q, call, p, &m);
}

/* An item that was running has ended or died at a time. */
static int ended(struct tkw__queue *q, struct tkw__queue_call *call,
		 struct tkw__plan *p, uint64_t at_ms)
{
	struct tkw__plan_move m = { .state = *p->state };

	if (p->running > 0 || p->state->paused || p->state->error)
		return 0;
	if (p->fresh) {
		if (p->allow_overlap || tkw__item_due(p->fresh) > at_ms)
			return 0;
		return leave_out(q, call, p, at_ms);
	}
	m.from_ms = p->state->decided_ms;
	if (!p->allow_overlap && !p->state->in_turn)
		m.from_ms = tkw__max_u64(m.from_ms, at_ms);
	return tkw__plan_go_on(q, call, p, &m);
}

int tkw__plan_follow(struct tkw__queue *q, struct tkw__queue_call *call,
		     const struct tkw__record *r)
{
	const struct tkw__item *it = r->item;
	struct tkw__plan *p;

	if (r->alone ||
	    (r->kind != TKW__RECORD_ACK && r->kind != TKW__RECORD_CANCEL &&
	     r->kind != TKW__RECORD_DEAD))
		return 0;
	p = tkw__plan_of(q, it);
	if (!p)
		return 0;
	if (!it->started)
		return cancelled(q, call, p, it);
	if (r->kind == TKW__RECORD_DEAD)
		return ended(q, call, p, r->word[TKW__DEAD_WHEN]);
	/* A dead item that is cancelled was not running. */
	return it->state == TKW__DEAD ? 0 : ended(q, call, p, q->now_ms);
}
