/* SPDX-License-Identifier: MIT */
/* version.h - which tickwheel this is. */
#ifndef TICKWHEEL_VERSION_H
#define TICKWHEEL_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define TKW_VERSION_MAJOR 0
#define TKW_VERSION_MINOR 2
#define TKW_VERSION_PATCH 0
#define TKW_VERSION "0.2.0"

/*
 * The version of the library that runs, which may be newer than the header.
 *
 * Thread  any.
 * Return  "major.minor.patch", a static string.
 */
const char *tkw_version(void);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_VERSION_H */
