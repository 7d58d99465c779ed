/* SPDX-License-Identifier: MIT */
/*
 * impls.c - the list of all impls, in the order of the first run. Those whose
 * library was not found when the benchmark was built are in it by name, so that
 * a run says what it did not measure.
 */
#include "impls.h"

#ifndef TKW__HAVE_LIBEV
const struct tkw__impl tkw__impl_libev = { .name = "libev",
					   .missing = "no libev" };
#endif
#ifndef TKW__HAVE_LIBUV
const struct tkw__impl tkw__impl_libuv = { .name = "libuv",
					   .missing = "no libuv" };
#endif
#ifndef TKW__HAVE_LIBEVENT
const struct tkw__impl tkw__impl_libevent = { .name = "libevent",
					      .missing = "no libevent" };
const struct tkw__impl tkw__impl_libevent_common = { .name = "libevent_common",
						     .missing = "no libevent",
						     .fixed_only = 1 };
#endif
#ifndef TKW__HAVE_GLIB
const struct tkw__impl tkw__impl_glib = { .name = "glib",
					  .missing = "no glib" };
#endif
#ifndef TKW__HAVE_ASIO
const struct tkw__impl tkw__impl_asio = { .name = "asio",
					  .missing = "no Boost.Asio or C++" };
#endif

static const struct tkw__impl end;

const struct tkw__impl *const tkw__impls[] = {
	&tkw__impl_tickwheel,
	&tkw__impl_tickwheel_hashed,
	&tkw__impl_libev,
	&tkw__impl_libuv,
	&tkw__impl_libevent,
	&tkw__impl_libevent_common,
	&tkw__impl_glib,
	&tkw__impl_asio,
	&tkw__impl_heap,
	&tkw__impl_null,
	&end,
};
