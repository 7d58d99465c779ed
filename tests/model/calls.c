/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the calls on an entry, made on the wheel and on the oracle, and the
 * callback that makes them inside an advance.
 */
#include <errno.h>

#include "driving.h"

uint32_t driving_any(struct driving *d)
{
	return choice_below(d->choice, d->pool);
}

uint32_t driving_unlinked(struct driving *d)
{
	uint32_t id = driving_any(d);
	uint32_t i;

	for (i = 0; i < d->pool; i++) {
		if (!oracle_find(&d->oracle, id))
			break;
		id = (id + 1) % d->pool;
	}
	return id;
}

uint64_t driving_tick(struct driving *d)
{
	const struct oracle *o = &d->oracle;
	uint64_t other = o->now;

	if (o->count > 0)
		other = o->items[choice_below(d->choice, o->count)].tick;
	return ticks_draw(d->choice, &d->mix, o->now, other);
}

static void count_tick(struct driving *d, uint64_t tick)
{
	struct tally *t = d->tally;
	uint64_t due = oracle_due(&d->oracle, tick);
	uint32_t i;

	t->n[TALLY_TICK_PAST] += tick < d->oracle.now;
	t->n[TALLY_TICK_BOUNDARY] += (uint64_t)ticks_at_boundary(tick);
	t->n[TALLY_TICK_LAST] += tick == TKW_TICK_NEVER - 1;
	t->n[TALLY_TICK_NEVER] += tick == TKW_TICK_NEVER;
	for (i = 0; i < d->oracle.count; i++) {
		if (d->oracle.items[i].tick == due) {
			t->n[TALLY_TICK_SHARED]++;
			t->n[TALLY_ADD_BEHIND_LOOSE] +=
				d->oracle.items[i].loose;
			return;
		}
	}
}

/* Both have answered: counts the call, and checks the entry. */
static int settle(struct driving *d, uint32_t id, int got, int wanted)
{
	struct driving_item *item = &d->items[id];

	driving_answer(d, got, wanted);
	driving_verify_item(d, id);
	if (d->stopped && !d->oracle.passing)
		d->tally->n[TALLY_CHANGE_WHILE_STOPPED]++;
	if (tkw_entry_is_linked(&item->entry))
		tkw_wheel_get_place(d->wheel, &item->entry, &item->place);
	return got;
}

int driving_add(struct driving *d, uint32_t id, uint64_t tick)
{
	int wanted;

	driving_trace(d, "add", id, tick);
	count_tick(d, tick);
	wanted = oracle_add(&d->oracle, id, tick);
	d->added += wanted == 0;
	d->tally->n[wanted == 0 ? TALLY_ADD : TALLY_ADD_REFUSED]++;
	return settle(d, id, tkw_wheel_add(d->wheel, &d->items[id].entry, tick),
		      wanted);
}

int driving_remove(struct driving *d, uint32_t id)
{
	int wanted;

	driving_trace(d, "remove", id, 0);
	wanted = oracle_remove(&d->oracle, id);
	d->removed += wanted == 0;
	d->tally->n[wanted == 0 ? TALLY_REMOVE : TALLY_REMOVE_REFUSED]++;
	return settle(d, id, tkw_wheel_remove(d->wheel, &d->items[id].entry),
		      wanted);
}

int driving_move(struct driving *d, uint32_t id, uint64_t tick)
{
	int wanted;

	driving_trace(d, "move", id, tick);
	count_tick(d, tick);
	wanted = oracle_move(&d->oracle, id, tick);
	d->tally->n[wanted == 0 ? TALLY_MOVE : TALLY_MOVE_REFUSED]++;
	return settle(d, id,
		      tkw_wheel_move(d->wheel, &d->items[id].entry, tick),
		      wanted);
}

int driving_extend(struct driving *d, uint32_t id, uint64_t tick)
{
	const struct oracle_item *it = oracle_find(&d->oracle, id);
	enum tally_kind kind = TALLY_EXTEND;
	int wanted;

	driving_trace(d, "extend", id, tick);
	if (it && it->tick == tick)
		kind = TALLY_EXTEND_SAME;
	wanted = oracle_extend(&d->oracle, id, tick);
	if (wanted == -EINVAL)
		kind = TALLY_EXTEND_EARLIER;
	else if (wanted == -ENOENT)
		kind = TALLY_EXTEND_REFUSED;
	d->tally->n[kind]++;
	return settle(d, id,
		      tkw_wheel_extend(d->wheel, &d->items[id].entry, tick),
		      wanted);
}

/* Picks a tick before, at or after the tick that the callback expires. */
static uint64_t inside_tick(struct driving *d)
{
	const struct oracle *o = &d->oracle;
	uint64_t room = o->target - o->now;
	uint64_t tick;

	switch (choice_below(d->choice, 8)) {
	case 0:
		tick = o->now - (o->now > 0);
		break;
	case 1:
	case 2:
		tick = o->now;
		break;
	case 3:
		tick = o->now + (room > 0);
		break;
	case 4:
		tick = o->target;
		break;
	case 5:
		tick = o->target + 1;
		break;
	default:
		tick = driving_tick(d);
		break;
	}
	if (tick < o->now)
		d->tally->n[TALLY_IN_TICK_BEFORE]++;
	else if (tick == o->now)
		d->tally->n[TALLY_IN_TICK_EQUAL]++;
	else
		d->tally->n[tick <= o->target ? TALLY_IN_TICK_WITHIN
					      : TALLY_IN_TICK_BEYOND]++;
	return tick;
}

static void refuse_inside(struct driving *d)
{
	if (choice_below(d->choice, 2)) {
		driving_trace(d, "fini", 0, 0);
		d->tally->n[TALLY_IN_FINI]++;
		driving_answer(d, tkw_wheel_fini(d->wheel), -EDEADLK);
		return;
	}
	driving_trace(d, "advance", 0, d->oracle.target);
	d->tally->n[TALLY_IN_ADVANCE]++;
	driving_answer(d,
		       tkw_wheel_advance(d->wheel, d->oracle.target,
					 TKW_STEPS_UNBOUNDED, driving_expired,
					 d),
		       -EDEADLK);
}

static void call_inside(struct driving *d, uint32_t self)
{
	const struct oracle *o = &d->oracle;
	int front = choice_below(d->choice, 2) && o->count > 0;
	uint32_t id = front ? o->items[0].id : driving_any(d);
	int same_tick = front && o->items[0].tick == o->now;
	enum tally_kind kind;
	int err;

	switch (choice_below(d->choice, 8)) {
	case 0:
	case 1:
		kind = TALLY_IN_ADD_SELF;
		err = driving_add(d, self, inside_tick(d));
		break;
	case 2:
	case 3:
		kind = TALLY_IN_ADD_OTHER;
		err = driving_add(d, driving_unlinked(d), inside_tick(d));
		break;
	case 4:
		kind = front ? TALLY_IN_REMOVE_FRONT : TALLY_IN_REMOVE;
		err = driving_remove(d, id);
		break;
	case 5:
		kind = front ? TALLY_IN_MOVE_FRONT : TALLY_IN_MOVE;
		err = driving_move(d, id, inside_tick(d));
		break;
	case 6:
		kind = front ? TALLY_IN_EXTEND_FRONT : TALLY_IN_EXTEND;
		err = driving_extend(d, id, inside_tick(d));
		break;
	default:
		refuse_inside(d);
		return;
	}
	d->tally->n[err ? TALLY_IN_REFUSED : kind]++;
	if (same_tick && kind != TALLY_IN_ADD_SELF &&
	    kind != TALLY_IN_ADD_OTHER)
		d->tally->n[TALLY_IN_FRONT_SAME_TICK]++;
}

void driving_expired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct driving *d = ctx;
	uint32_t id = (uint32_t)((struct driving_item *)e - d->items);
	const struct oracle_item *it = oracle_find(&d->oracle, id);
	uint64_t now = tkw_wheel_now_tick(w);
	uint32_t calls;
	const char *wrong;

	driving_trace(d, "expired", id, now);
	d->tally->n[TALLY_EXPIRE]++;
	d->tally->n[TALLY_EXPIRE_LOOSE] += it && it->loose;
	d->tally->n[TALLY_EXPIRE_BOUNDARY] += (uint64_t)ticks_at_boundary(now);
	d->tally->n[TALLY_EXPIRE_LAST] += now == TKW_TICK_NEVER - 1;
	wrong = oracle_expire(&d->oracle, id, now);
	if (wrong)
		driving_fail(d, wrong);
	d->expired++;
	d->pass_expired++;
	driving_verify_item(d, id);
	driving_verify(d);
	for (calls = choice_below(d->choice, 3); calls > 0; calls--) {
		if (d->inside_left == 0)
			return;
		d->inside_left--;
		call_inside(d, id);
		driving_verify(d);
	}
}
