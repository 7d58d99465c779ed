/* SPDX-License-Identifier: MIT */
/*
 * sim_plan.c - what a batch must do, and what its requests must be answered.
 *
 * When the store is about to write a batch, the requests that are in it are
 * played on a copy of the truth. If the batch reaches the disk the copy is the
 * truth. After a crash the disk tells which of the two it is.
 */
#include <errno.h>
#include <string.h>

#include "queue_driving.h"
#include "sim_life.h"

static void check_number(struct life *l, uint32_t number)
{
	uint32_t q;

	for (q = 0; q < LIFE_QUEUES; q++) {
		if (l->queue[q] && l->queue[q]->number == number)
			return;
	}
	life_fail(l, "a record of a queue that nobody has opened");
}

/* In the batch, but refused for want of room or memory. */
static bool is_refused(const struct call *c)
{
	return c->r.state == TKW__REQUEST_DECIDED &&
	       (c->r.refused || c->r.result == -ENOSPC ||
		c->r.result == -ENOMEM);
}

static bool is_decided(const struct call *c)
{
	return c->r.state == TKW__REQUEST_DECIDED && !is_refused(c);
}

/* A queue is made only if somebody asks for it. */
static void hear_name(struct life *l, const char *name)
{
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		const struct call *c = &l->call[i];

		if (c->busy && c->r.kind == TKW__REQUEST_OPEN &&
		    is_decided(c) && !l->now.q[c->q].exists &&
		    strcmp(name, call_queue_name(c->q)) == 0)
			return;
	}
	life_fail(l, "a queue was made that nobody has asked for");
}

static void hear_row(struct life *l, const struct tkw__row *row)
{
	uint8_t kind;

	if (row->name) {
		hear_name(l, row->name);
		l->heard++;
		return;
	}
	if (row->len < 16)
		life_fail(l, "a record is too short");
	if (hear_is_copy(row)) {
		l->snapshot = true;
		return;
	}
	check_number(l, row->queue);
	kind = row->record[4];
	/* A step comes with the change that it is about. */
	l->heard += kind != QD_STEP;
	l->plan_items += kind == QD_PLANNED;
}

/* How many changes there were: each has its row. */
static uint64_t events(const struct truth *t)
{
	uint64_t n = 0;
	uint32_t q;

	for (q = 0; q < LIFE_QUEUES; q++) {
		const struct qo *o = &t->q[q].o;

		n += t->q[q].exists + o->puts + o->acks + o->cancels +
		     o->purges + o->replaces + o->takes + o->nacks + o->losses +
		     o->revivals + o->extends + o->reschedules +
		     o->plan_changes + t->q[q].settings;
	}
	return n;
}

/* A request that was played on a copy has changed it. */
static bool is_changed(const struct life *l, uint32_t q)
{
	uint32_t i;

	for (i = 0; i < QO_PLANS; i++) {
		const struct qo_plan *p = &l->now.q[q].o.plan[i];
		const struct qo_plan *then = &l->scratch.q[q].o.plan[i];

		if (p->paused != then->paused || p->error != then->error)
			return true;
	}
	return events(&l->scratch) != events(&l->now);
}

/* The oracle says what the queue should have recorded. */
static void check_oracles(struct life *l, const struct truth *t)
{
	uint32_t q;

	for (q = 0; q < LIFE_QUEUES; q++) {
		if (t->q[q].o.wrong)
			life_fail(l, t->q[q].o.wrong);
	}
}

/* The next call after a number, in the order of arrival. */
static struct call *next_call(struct life *l, uint64_t after)
{
	struct call *next = NULL;
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		struct call *c = &l->call[i];

		if (c->busy && c->number > after &&
		    (!next || c->number < next->number))
			next = c;
	}
	return next;
}

/* Plays a request of the batch. Returns false if there is nothing for it. */
static bool play(struct life *l, struct call *c)
{
	uint64_t was = events(&l->next);

	if (!call_play(l, c, &l->next, &c->wanted))
		return false;
	c->planned = true;
	c->in_line = false;
	l->changes += events(&l->next) > was;
	return true;
}

static void send_away(struct call *c)
{
	memset(&c->wanted, 0, sizeof(c->wanted));
	c->planned = true;
	c->in_line = false;
}

/* Serves the takes of a queue in the order of arrival, up to the first one for
 * which there is nothing. Behind it, those that do not want to wait are sent
 * away. */
static void serve(struct life *l, uint32_t q)
{
	struct call *c = NULL;
	bool more = true;

	while ((c = next_call(l, c ? c->number : 0)) != NULL) {
		if (!c->in_line || c->q != q || is_refused(c))
			continue;
		if (!is_decided(c)) {
			if (more)
				call_play_look(l, c, &l->next);
			more = false;
		} else if (more) {
			more = play(l, c);
		} else if (c->r.take.wait_us == 0) {
			send_away(c);
		}
	}
}

/* The requests of the batch, in the order in which they came. Each take first
 * lets those go that wait already. */
static void play_batch(struct life *l)
{
	struct call *c = NULL;
	uint32_t q;

	l->changes = 0;
	while ((c = next_call(l, c ? c->number : 0)) != NULL) {
		if (c->r.kind == TKW__REQUEST_TAKE && !c->waits) {
			c->in_line = true;
			serve(l, c->q);
		} else if (c->r.kind != TKW__REQUEST_TAKE &&
			   c->r.kind != TKW__REQUEST_LOOK &&
			   c->r.kind != TKW__REQUEST_WITHDRAW &&
			   is_decided(c)) {
			play(l, c);
		}
	}
	for (q = 0; q < LIFE_QUEUES; q++) {
		hear_lost(l, q, &l->next.q[q].o);
		serve(l, q);
	}
	l->tally->n[LT_SHARED] += l->changes > 1;
}

/* Nobody may know anything of this batch yet. */
static void check_silence(struct life *l)
{
	struct wanted w;
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		struct call *c = &l->call[i];

		if (!c->busy || !c->ended || c->result < 0)
			continue;
		l->scratch = l->now;
		call_play(l, c, &l->scratch, &w);
		if (is_changed(l, c->q))
			life_fail(l, "an answer came before the sync");
	}
}

void plan_batch(struct life *l, const struct tkw__row *rows, size_t count)
{
	uint32_t i;

	life_trace(l, "append", count, sim_disk_last(l->disk) + count);
	for (i = 0; i < l->callers; i++) {
		l->call[i].planned = false;
		l->call[i].in_line = l->call[i].waits;
	}
	check_silence(l);
	l->next = l->now;
	l->heard = 0;
	l->plan_calls = 0;
	l->plan_items = 0;
	for (i = 0; i < count; i++)
		hear_row(l, &rows[i]);
	hear_begin(l, rows, count);
	play_batch(l);
	hear_end(l);
	check_oracles(l, &l->next);
	if (l->heard != events(&l->next) - events(&l->now))
		life_fail(l, "a batch does not tell what its requests do");
	l->in_flight = true;
	l->flying = sim_disk_last(l->disk) + count;
}

void plan_appended(struct life *l, int err)
{
	uint32_t i;

	life_trace(l, "appended", (uint64_t)-err, 0);
	if (err == -EIO) {
		/* The batch stays in flight until the file is opened again. */
		l->failed = true;
		return;
	}
	l->in_flight = false;
	if (err) {
		l->full |= err == -ENOSPC;
		l->busy |= err == -EBUSY;
		return;
	}
	l->now = l->next;
	l->written = true;
	for (i = 0; i < l->callers; i++) {
		struct call *c = &l->call[i];

		c->accepted |= c->busy && c->planned;
		c->planned = false;
	}
}

/* --- answers ------------------------------------------------------------- */

static bool legal_error(struct life *l, const struct call *c)
{
	/* A locked file looks like a full disk to callers. */
	if (c->result == -ENOSPC)
		return l->full || l->busy ||
		       (l->reserve_asked &&
			(c->r.kind == TKW__REQUEST_PUT ||
			 c->r.kind == TKW__REQUEST_OPEN ||
			 c->r.kind == TKW__REQUEST_PLAN ||
			 c->r.kind == TKW__REQUEST_RESUME_PLAN));
	return (c->result == -EIO && l->failed) ||
	       (c->result == -ENOMEM && l->starved);
}

/* A take that waited, and got nothing. */
static bool legal_end_of_wait(struct life *l, const struct call *c)
{
	uint64_t waited = l->mono_us - c->since_us;

	if (c->r.kind != TKW__REQUEST_TAKE)
		return false;
	if (c->result == -ECANCELED && c->withdrawal) {
		l->tally->n[LT_WITHDRAWN]++;
		return true;
	}
	if (c->result != 0 || c->r.take.wait_us == 0 ||
	    waited < c->r.take.wait_us)
		return false;
	l->tally->n[LT_TIMEOUT]++;
	return true;
}

static void judge_withdrawal(struct life *l, const struct call *c)
{
	const struct call *target = c->r.target->ctx;
	bool withdrawn = target->ended && target->result == -ECANCELED;

	if (c->result != (withdrawn ? 0 : -ENOENT))
		life_fail(l, "a withdrawal did not answer what it must");
}

/* A request that made no record, and so may change nothing. */
static void judge_without_record(struct life *l, struct call *c)
{
	struct wanted w;

	l->scratch = l->now;
	if (!call_play(l, c, &l->scratch, &w))
		life_fail(l, "a take that must wait was answered");
	check_oracles(l, &l->scratch);
	if (is_changed(l, c->q))
		life_fail(l, "an answer came, but nothing is on the disk");
	call_compare(l, c, &w);
}

static void judge(struct life *l, struct call *c)
{
	if (c->accepted) {
		l->tally->n[LT_LATE_TAKE] += c->waits;
		l->tally->n[LT_FULL_PART] += l->full;
		call_compare(l, c, &c->wanted);
	} else if (c->r.kind == TKW__REQUEST_WITHDRAW) {
		judge_withdrawal(l, c);
	} else if (!legal_error(l, c) && !legal_end_of_wait(l, c)) {
		judge_without_record(l, c);
	}
	call_learn(l, c);
	l->tally->n[LT_REQUEST]++;
}

/* The answer was judged, or the take has begun to wait. */
static void let_go(struct life *l, struct call *c)
{
	if (c->ended) {
		if (c->r.kind == TKW__REQUEST_TAKE)
			tkw_items_free(c->r.take.items);
		c->busy = false;
	} else if (c->r.state == TKW__REQUEST_PARKED && !c->waits) {
		c->waits = true;
		c->since_us = l->mono_us;
		l->tally->n[LT_PARKED]++;
	}
}

void plan_settle(struct life *l)
{
	struct call *c = NULL;
	uint32_t i;

	while ((c = next_call(l, c ? c->number : 0)) != NULL) {
		if (c->ended)
			judge(l, c);
		else if (c->accepted && !l->gone)
			life_fail(l, "a request in a batch got no answer");
	}
	for (i = 0; i < l->callers; i++) {
		if (l->call[i].busy)
			let_go(l, &l->call[i]);
	}
}

static bool has_ready(const struct qo *o, uint64_t now_ms)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (qo_state_of(&o->items[i], now_ms) == QO_READY)
			return !o->paused;
	}
	return false;
}

void plan_failed(struct life *l)
{
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		if (l->call[i].busy &&
		    l->call[i].r.state == TKW__REQUEST_PARKED)
			life_fail(l, "a take waits, and the disk has failed");
	}
}

/* The desk must ask for a turn before something happens for a take that
 * waits. */
static void check_next(struct life *l, const struct call *c,
		       const struct tkw__desk_next *next)
{
	const struct qo *o = &l->now.q[c->q].o;
	uint64_t ms = qo_next(o, life_now_ms(l));
	uint64_t end_us = c->since_us + c->r.take.wait_us;

	if (!o->paused && ms != UINT64_MAX && next->now_us > ms * 1000)
		life_fail(l, "the next turn is late for an item");
	if (c->r.take.wait_us != UINT64_MAX && next->mono_us > end_us + 1000)
		life_fail(l, "the next turn is late for the end of a wait");
}

/* Event loops are told if an item can be taken. */
static void check_watched(struct life *l)
{
	uint32_t q;

	for (q = 0; q < LIFE_QUEUES; q++) {
		bool ready = has_ready(&l->now.q[q].o, life_now_ms(l));

		if (!l->queue[q] || !l->queue[q]->watched)
			continue;
		if (l->told[q] != ready)
			life_fail(l, "it was told wrongly if there is an item");
		l->tally->n[LT_TOLD] += ready;
	}
}

/* Takes the news from the desk. */
static void hear_news(struct life *l)
{
	struct tkw_queue *changed;
	uint32_t q;

	while ((changed = tkw__desk_changed(l->desk)) != NULL) {
		for (q = 0; q < LIFE_QUEUES; q++) {
			if (l->queue[q] == changed)
				l->told[q] = changed->can_take;
		}
	}
}

void plan_quiet(struct life *l, bool more)
{
	struct tkw__desk_next next;
	uint32_t i;

	hear_news(l);
	/* After a failed write the desk pauses for a second. */
	if (more || l->full || l->busy || l->starved ||
	    (l->full_us && l->mono_us <= l->full_us + 1000000))
		return;
	tkw__desk_next(l->desk, &next);
	for (i = 0; i < l->callers; i++) {
		const struct call *c = &l->call[i];

		if (!c->busy || c->r.state != TKW__REQUEST_PARKED)
			continue;
		if (has_ready(&l->now.q[c->q].o, life_now_ms(l)))
			life_fail(l, "a take waits, and an item is ready");
		check_next(l, c, &next);
	}
	check_watched(l);
}
