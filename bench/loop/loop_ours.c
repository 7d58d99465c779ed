/* SPDX-License-Identifier: MIT */
/* loop_ours.c - our timer through the adapter of the loop that is asked for,
 * and which loops there are. */
#include "timer/rival.h"

#ifndef PEER_HAVE_LIBUV
const struct peer_impl peer_impl_libuv = { .name = "libuv",
					   .missing = "no libuv" };
#endif
#ifndef PEER_HAVE_LIBEVENT
const struct peer_impl peer_impl_libevent = { .name = "libevent",
					      .missing = "no libevent" };
const struct peer_impl peer_impl_libevent_common = { .name = "libevent_common",
						     .missing = "no libevent" };
#endif
#ifndef PEER_HAVE_LIBEV
const struct peer_impl peer_impl_libev = { .name = "libev",
					   .missing = "no libev" };
#endif

static void run_in(const struct peer_load *l, bool clock, struct peer_answer *a)
{
	switch (l->loop) {
#ifdef PEER_HAVE_LIBUV
	case PEER_LOOP_LIBUV:
		peer_extend_libuv(l, clock, a);
		return;
#endif
#ifdef PEER_HAVE_LIBEVENT
	case PEER_LOOP_LIBEVENT:
		peer_extend_libevent(l, clock, a);
		return;
#endif
#ifdef PEER_HAVE_LIBEV
	case PEER_LOOP_LIBEV:
		peer_extend_libev(l, clock, a);
		return;
#endif
	default:
		a->skip = "there is no such loop";
	}
}

void peer_run_extend(const struct peer_load *l, struct peer_answer *a)
{
	run_in(l, false, a);
}

static void run_with_clock(const struct peer_load *l, struct peer_answer *a)
{
	run_in(l, true, a);
}

const struct peer_impl peer_impl_tickwheel_clock = {
	.name = "tickwheel_clock",
	.run_extend = run_with_clock,
};
