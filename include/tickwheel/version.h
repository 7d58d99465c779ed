/* SPDX-License-Identifier: MIT */
/*
 * version.h - the version of tickwheel
 *
 * The macros give the version of the headers. tkw_version() gives the version
 * of the library that the program runs with, which may be newer.
 */
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
 * Returns the version of the library as "major.minor.patch", a static string.
 * May be called on any thread.
 */
const char *tkw_version(void);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_VERSION_H */
