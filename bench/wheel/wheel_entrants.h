/* SPDX-License-Identifier: MIT */
/* wheel_entrants.h - the entrants, each defined in its own file. */
#ifndef TKW_WHEEL_ENTRANTS_H
#define TKW_WHEEL_ENTRANTS_H

#include "wheel_bench.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct bench_entrant bench_entrant_tickwheel;
extern const struct bench_entrant bench_entrant_tickwheel_inline;
extern const struct bench_entrant bench_entrant_tickwheel_hashed;
extern const struct bench_entrant bench_entrant_libev;
extern const struct bench_entrant bench_entrant_libuv;
extern const struct bench_entrant bench_entrant_libevent;
extern const struct bench_entrant bench_entrant_libevent_common;
extern const struct bench_entrant bench_entrant_glib;
extern const struct bench_entrant bench_entrant_asio;
extern const struct bench_entrant bench_entrant_heap;
extern const struct bench_entrant bench_entrant_null;

#ifdef __cplusplus
}
#endif

#endif /* TKW_WHEEL_ENTRANTS_H */
