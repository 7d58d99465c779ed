/* SPDX-License-Identifier: MIT */
/* loop_ours.c - our timer through the adapter of the requested loop, and the
 * list of the loops. */
#include "timer/rival.h"

#ifndef RIVAL_HAVE_LIBUV
const struct entrant entrant_libuv = { .name = "libuv", .missing = "no libuv" };
#endif
#ifndef RIVAL_HAVE_LIBEVENT
const struct entrant entrant_libevent = { .name = "libevent",
					  .missing = "no libevent" };
const struct entrant entrant_libevent_common = { .name = "libevent_common",
						 .missing = "no libevent" };
#endif
#ifndef RIVAL_HAVE_LIBEV
const struct entrant entrant_libev = { .name = "libev", .missing = "no libev" };
#endif

static void run_in(const struct rival_load *l, bool clock,
		   struct rival_answer *a)
{
	switch (l->loop) {
#ifdef RIVAL_HAVE_LIBUV
	case RIVAL_LOOP_LIBUV:
		ours_extend_libuv(l, clock, a);
		return;
#endif
#ifdef RIVAL_HAVE_LIBEVENT
	case RIVAL_LOOP_LIBEVENT:
		ours_extend_libevent(l, clock, a);
		return;
#endif
#ifdef RIVAL_HAVE_LIBEV
	case RIVAL_LOOP_LIBEV:
		ours_extend_libev(l, clock, a);
		return;
#endif
	default:
		a->skip = "there is no such loop";
	}
}

void ours_run_extend(const struct rival_load *l, struct rival_answer *a)
{
	run_in(l, false, a);
}

static void run_with_clock(const struct rival_load *l, struct rival_answer *a)
{
	run_in(l, true, a);
}

const struct entrant entrant_tickwheel_clock = {
	.name = "tickwheel_clock",
	.run_extend = run_with_clock,
};
