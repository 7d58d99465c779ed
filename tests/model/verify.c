/* SPDX-License-Identifier: MIT */
/* verify.c - compares the wheel with the oracle. */
#include <inttypes.h>
#include <stdarg.h>

#include "driving.h"

_Noreturn void driving_fail(struct driving *d, const char *what)
{
	struct driver_failure *f = d->failure;

	f->what = what;
	f->op = d->op;
	snprintf(f->detail, sizeof(f->detail),
		 "%s, slots %" PRIu64 ", started at %" PRIu64 ", now %" PRIu64
		 ", %" PRIu32 " linked",
		 d->cfg.engine == TKW_WHEEL_HASHED ? "hashed" : "hierarchical",
		 d->cfg.slots, d->cfg.now_tick, d->oracle.now, d->oracle.count);
	longjmp(d->out, 1);
}

void driving_trace(struct driving *d, const char *what, uint32_t id,
		   uint64_t tick)
{
	if (!d->opts->trace || d->op < d->opts->trace_from)
		return;
	fprintf(d->opts->trace,
		"  op %" PRIu64 ", now %" PRIu64 ": %s%s %" PRIu32 " %" PRIu64
		"\n",
		d->op, d->oracle.now, d->oracle.passing ? "inside, " : "", what,
		id, tick);
}

void driving_answer(struct driving *d, int got, int wanted)
{
	if (got != wanted)
		driving_fail(d, "a call did not return what it must");
	if (wanted != 0 && tkw_wheel_next_tick(d->wheel) != d->next)
		driving_fail(d, "a refused call changed the next tick");
}

void driving_verify(struct driving *d)
{
	const struct tkw_wheel *w = d->wheel;
	const char *wrong = tkw_wheel_check(w);
	uint64_t earliest = oracle_next(&d->oracle);

	if (wrong)
		driving_fail(d, wrong);
	if (tkw_wheel_count(w) != d->oracle.count)
		driving_fail(d, "the count is wrong");
	if (tkw_wheel_now_tick(w) != d->oracle.now)
		driving_fail(d, "now is wrong");
	d->next = tkw_wheel_next_tick(w);
	if (d->next > earliest)
		driving_fail(d, "next is late");
	if (d->next < d->oracle.now)
		driving_fail(d, "next is before now");
	if (d->oracle.count == 0)
		return;
	d->tally->n[d->next == earliest ? TALLY_NEXT_EXACT
					: TALLY_NEXT_EARLY]++;
}

void driving_verify_item(struct driving *d, uint32_t id)
{
	const struct oracle_item *it = oracle_find(&d->oracle, id);
	const struct tkw_entry *e = &d->items[id].entry;

	if (tkw_entry_is_linked(e) != (it != NULL))
		driving_fail(d, "an entry is linked and should not be, or not");
	if (it && tkw_entry_tick(e) != it->tick)
		driving_fail(d, "an entry has the wrong tick");
}

uint64_t driving_look(struct driving *d)
{
	struct tkw_wheel_place now;
	uint64_t moved = 0;
	uint32_t i;

	for (i = 0; i < d->oracle.count; i++) {
		struct driving_item *item = &d->items[d->oracle.items[i].id];

		if (tkw_wheel_get_place(d->wheel, &item->entry, &now) != 0)
			driving_fail(d, "a linked entry has no place");
		d->tally->n[TALLY_CASCADE] += now.ring < item->place.ring;
		moved += now.ring != item->place.ring ||
			 now.slot != item->place.slot;
		item->place = now;
	}
	return moved;
}

void driving_walk(struct driving *d)
{
	uint64_t seen = 0;
	uint32_t n = 0;
	struct tkw_entry *e = tkw_wheel_first(d->wheel);

	for (; e; e = tkw_wheel_after(d->wheel, e)) {
		size_t at = (size_t)((char *)e - (char *)d->items);
		uint32_t id = (uint32_t)(at / sizeof(d->items[0]));

		if (at % sizeof(d->items[0]) != 0 ||
		    at / sizeof(d->items[0]) >= d->pool)
			driving_fail(d, "a walk visited what is no entry");
		if (seen >> id & 1)
			driving_fail(d, "a walk visited an entry twice");
		seen |= UINT64_C(1) << id;
		driving_verify_item(d, id);
		n++;
	}
	if (n != d->oracle.count)
		driving_fail(d, "a walk missed an entry");
}
