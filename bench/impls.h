/* SPDX-License-Identifier: MIT */
/* impls.h - the impls, each defined in its own file. */
#ifndef TKW_IMPLS_H
#define TKW_IMPLS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct tkw__impl tkw__impl_tickwheel;
extern const struct tkw__impl tkw__impl_tickwheel_hashed;
extern const struct tkw__impl tkw__impl_libev;
extern const struct tkw__impl tkw__impl_libuv;
extern const struct tkw__impl tkw__impl_libevent;
extern const struct tkw__impl tkw__impl_libevent_common;
extern const struct tkw__impl tkw__impl_glib;
extern const struct tkw__impl tkw__impl_asio;
extern const struct tkw__impl tkw__impl_heap;
extern const struct tkw__impl tkw__impl_null;

#ifdef __cplusplus
}
#endif

#endif /* TKW_IMPLS_H */
