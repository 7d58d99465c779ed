/* SPDX-License-Identifier: MIT */
/* wheel_entrants.h - the impls, each defined in its own file. */
#ifndef TKW_WHEEL_ENTRANTS_H
#define TKW_WHEEL_ENTRANTS_H

#include "wheel_bench.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct bench_impl bench_impl_tickwheel;
extern const struct bench_impl bench_impl_tickwheel_hashed;
extern const struct bench_impl bench_impl_libev;
extern const struct bench_impl bench_impl_libuv;
extern const struct bench_impl bench_impl_libevent;
extern const struct bench_impl bench_impl_libevent_common;
extern const struct bench_impl bench_impl_glib;
extern const struct bench_impl bench_impl_asio;
extern const struct bench_impl bench_impl_heap;
extern const struct bench_impl bench_impl_null;

#ifdef __cplusplus
}
#endif

#endif /* TKW_WHEEL_ENTRANTS_H */
