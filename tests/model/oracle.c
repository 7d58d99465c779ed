/* SPDX-License-Identifier: MIT */
/*
 * oracle.c - the naive list that the wheel is compared with.
 *
 * Everything is O(n), on purpose, so that it is easy to see that it is right.
 * The rules (O1) to (O5) are in oracle.h.
 */
#include "oracle.h"

#include <errno.h>
#include <string.h>

void oracle_init(struct oracle *o, uint64_t now)
{
	memset(o, 0, sizeof(*o));
	o->now = now;
}

uint64_t oracle_due(const struct oracle *o, uint64_t tick)
{
	if (o->passing)
		return tick <= o->now ? o->target + 1 : tick;
	return tick < o->now ? o->now : tick;
}

static uint32_t index_of(const struct oracle *o, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (o->items[i].id == id)
			break;
	}
	return i;
}

const struct oracle_item *oracle_find(const struct oracle *o, uint32_t id)
{
	uint32_t i = index_of(o, id);

	return i < o->count ? &o->items[i] : NULL;
}

static void insert(struct oracle *o, uint32_t id, uint64_t tick, uint32_t loose)
{
	uint32_t i = o->count++;

	/* Its moment is the newest, so it goes behind the others of its
	 * tick. */
	while (i > 0 && o->items[i - 1].tick > tick) {
		o->items[i] = o->items[i - 1];
		i--;
	}
	o->items[i].tick = tick;
	o->items[i].moment = ++o->moment;
	o->items[i].id = id;
	o->items[i].loose = loose;
}

static void take_out(struct oracle *o, uint32_t i)
{
	o->count--;
	for (; i < o->count; i++)
		o->items[i] = o->items[i + 1];
}

int oracle_add(struct oracle *o, uint32_t id, uint64_t tick)
{
	if (oracle_find(o, id))
		return -EEXIST;
	insert(o, id, oracle_due(o, tick), 0);
	return 0;
}

int oracle_remove(struct oracle *o, uint32_t id)
{
	uint32_t i = index_of(o, id);

	if (i == o->count)
		return -ENOENT;
	take_out(o, i);
	return 0;
}

int oracle_move(struct oracle *o, uint32_t id, uint64_t tick)
{
	int err = oracle_remove(o, id);

	return err ? err : oracle_add(o, id, tick);
}

int oracle_extend(struct oracle *o, uint32_t id, uint64_t tick)
{
	uint32_t i = index_of(o, id);

	if (i == o->count)
		return -ENOENT;
	if (tick < o->items[i].tick)
		return -EINVAL;
	if (tick > o->items[i].tick) {
		take_out(o, i);
		insert(o, id, tick, 1);
	}
	return 0;
}

uint64_t oracle_next(const struct oracle *o)
{
	return o->count ? o->items[0].tick : ORACLE_NEVER;
}

void oracle_begin(struct oracle *o, uint64_t to)
{
	o->passing = 1;
	o->target = to == ORACLE_NEVER ? ORACLE_NEVER - 1 : to;
}

const char *oracle_expire(struct oracle *o, uint32_t id, uint64_t now)
{
	uint32_t at = index_of(o, id);
	uint32_t i;

	if (at == o->count)
		return "an entry expired that is not linked";
	if (o->items[at].tick > now)
		return "an entry expired before its tick";
	if (o->items[at].tick < now)
		return "an entry expired after its tick";
	if (now > o->target)
		return "an entry expired beyond the target";
	for (i = 0; i < at; i++) {
		if (o->items[i].tick < now)
			return "an entry of an earlier tick was passed over";
		if (!o->items[i].loose)
			return "an entry expired out of its order in its tick";
	}
	o->now = now;
	take_out(o, at);
	return NULL;
}

static const char *end_stopped(const struct oracle *o, uint64_t now)
{
	if (o->target < o->now)
		return "an advance into the past was stopped by its bound";
	if (now < o->now)
		return "a bounded advance put now back";
	if (now > o->target)
		return "a bounded advance stopped behind its target";
	if (oracle_next(o) < now)
		return "a bounded advance stopped behind an entry";
	return NULL;
}

static const char *end_done(const struct oracle *o, uint64_t now)
{
	if (o->target < o->now)
		return now == o->now ? NULL
				     : "an advance into the past moved now";
	if (now != o->target + 1)
		return "an advance that is done did not make now = target + 1";
	if (oracle_next(o) <= o->target)
		return "an advance that is done left an entry behind";
	return NULL;
}

const char *oracle_end(struct oracle *o, int stopped, uint64_t now)
{
	const char *wrong = stopped ? end_stopped(o, now) : end_done(o, now);

	o->passing = 0;
	o->now = now;
	return wrong;
}

uint64_t oracle_slack(uint64_t tick, uint64_t slack)
{
	uint64_t last = slack > ORACLE_NEVER - 1 - tick ? ORACLE_NEVER - 1
							: tick + slack;
	uint64_t width;

	if (tick == ORACLE_NEVER)
		return tick;
	for (width = UINT64_C(1) << 63; width > 1; width /= 2) {
		uint64_t over = tick % width;
		uint64_t up = over ? tick - over + width : tick;

		if (up >= tick && up <= last)
			return up;
	}
	return tick;
}
