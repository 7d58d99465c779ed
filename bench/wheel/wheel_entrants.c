/* SPDX-License-Identifier: MIT */
/*
 * wheel_entrants.c - the list of all entrants, in the order of the first run.
 * An entrant whose library was not found is in it by name, so that a run says
 * what it did not measure.
 */
#include "wheel_entrants.h"

#ifndef BENCH_HAVE_LIBEV
const struct bench_entrant bench_entrant_libev = { .name = "libev",
						   .missing = "no libev" };
#endif
#ifndef BENCH_HAVE_LIBUV
const struct bench_entrant bench_entrant_libuv = { .name = "libuv",
						   .missing = "no libuv" };
#endif
#ifndef BENCH_HAVE_LIBEVENT
const struct bench_entrant bench_entrant_libevent = {
	.name = "libevent",
	.missing = "no libevent",
};
const struct bench_entrant bench_entrant_libevent_common = {
	.name = "libevent_common", .missing = "no libevent", .fixed_only = 1
};
#endif
#ifndef BENCH_HAVE_GLIB
const struct bench_entrant bench_entrant_glib = { .name = "glib",
						  .missing = "no glib" };
#endif
#ifndef BENCH_HAVE_ASIO
const struct bench_entrant bench_entrant_asio = {
	.name = "asio", .missing = "no Boost.Asio or C++"
};
#endif

static const struct bench_entrant end;

const struct bench_entrant *const bench_entrants[] = {
	&bench_entrant_tickwheel,
	&bench_entrant_tickwheel_inline,
	&bench_entrant_tickwheel_hashed,
	&bench_entrant_libev,
	&bench_entrant_libuv,
	&bench_entrant_libevent,
	&bench_entrant_libevent_common,
	&bench_entrant_glib,
	&bench_entrant_asio,
	&bench_entrant_heap,
	&bench_entrant_null,
	&end,
};
