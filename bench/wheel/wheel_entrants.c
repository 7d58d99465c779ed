/* SPDX-License-Identifier: MIT */
/*
 * wheel_entrants.c - the list of all impls, in the order of the first run.
 * Those whose library was not found when the benchmark was built are in it by
 * name, so that a run says what it did not measure.
 */
#include "wheel_entrants.h"

#ifndef BENCH_HAVE_LIBEV
const struct bench_impl bench_impl_libev = { .name = "libev",
					     .missing = "no libev" };
#endif
#ifndef BENCH_HAVE_LIBUV
const struct bench_impl bench_impl_libuv = { .name = "libuv",
					     .missing = "no libuv" };
#endif
#ifndef BENCH_HAVE_LIBEVENT
const struct bench_impl bench_impl_libevent = { .name = "libevent",
						.missing = "no libevent" };
const struct bench_impl bench_impl_libevent_common = {
	.name = "libevent_common", .missing = "no libevent", .fixed_only = 1
};
#endif
#ifndef BENCH_HAVE_GLIB
const struct bench_impl bench_impl_glib = { .name = "glib",
					    .missing = "no glib" };
#endif
#ifndef BENCH_HAVE_ASIO
const struct bench_impl bench_impl_asio = { .name = "asio",
					    .missing = "no Boost.Asio or C++" };
#endif

static const struct bench_impl end;

const struct bench_impl *const bench_impls[] = {
	&bench_impl_tickwheel,
	&bench_impl_tickwheel_hashed,
	&bench_impl_libev,
	&bench_impl_libuv,
	&bench_impl_libevent,
	&bench_impl_libevent_common,
	&bench_impl_glib,
	&bench_impl_asio,
	&bench_impl_heap,
	&bench_impl_null,
	&end,
};
