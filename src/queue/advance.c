/* SPDX-License-Identifier: MIT */
/* advance.c - what the time alone brings: items become ready, leases end. */
#include <errno.h>

#include "queue/state.h"

int tkw__lose_leases(struct tkw__queue *q, struct tkw__queue_call *call,
		     uint64_t until_ms, uint64_t *max_steps)
{
	if (tkw__line_pump(q, &q->taken, until_ms, max_steps))
		return 0;
	while (*max_steps > 0) {
		struct tkw__line_head h =
			tkw__line_look(q, &q->taken, until_ms);
		int err;

		if (h.says != TKW__LINE_FIRST)
			break;
		--*max_steps;
		err = tkw__settle(q, call, h.item);
		if (err)
			return err;
	}
	return 0;
}

bool tkw__is_quiet(struct tkw__queue *q, uint64_t now_ms,
		   enum tkw__queue_role role)
{
	uint64_t none = 0;

	if (tkw_wheel_next_tick(q->idle.wheel) <= now_ms ||
	    tkw__line_unlist(q, &q->idle, now_ms, &none))
		return false;
	if (role == TKW__QUEUE_REPLICA)
		return tkw_wheel_next_tick(q->taken.wheel) > now_ms;
	return tkw__line_bound(q, &q->taken) > now_ms;
}

int tkw__queue_advance(struct tkw__queue *q, struct tkw__queue_call *call,
		       uint64_t max_steps, enum tkw__queue_role role)
{
	struct tkw__mark m;
	int err = tkw__begin(q, call, &m);

	if (err)
		return err;
	tkw__line_unlist(q, &q->idle, q->now_ms, &max_steps);
	if (!tkw__line_pump(q, &q->idle, q->now_ms, &max_steps)) {
		if (role == TKW__QUEUE_MASTER)
			err = tkw__lose_leases(q, call, q->now_ms, &max_steps);
		else
			tkw__line_pump(q, &q->taken, q->now_ms, &max_steps);
	}
	err = tkw__finish(q, call, &m, err);
	if (err)
		return err;
	return tkw__is_quiet(q, q->now_ms, role) ? 0 : 1;
}

uint64_t tkw__queue_next_ms(struct tkw__queue *q, uint64_t now_us)
{
	uint64_t now = tkw__min_u64(now_us / 1000, TKW__QUEUE_MAX_MS);

	if (!tkw__is_quiet(q, now, TKW__QUEUE_MASTER))
		return now;
	return tkw__min_u64(tkw__line_next(q, &q->idle, now),
			    tkw__line_next(q, &q->taken, now));
}
