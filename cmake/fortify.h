/* SPDX-License-Identifier: MIT */
/*
 * fortify.h - included before everything else where the library is hardened: the
 * compiler alone knows whether it optimizes, which libc's checks need, and
 * whether a distribution has chosen a level already.
 */
#if defined(__OPTIMIZE__) && !defined(_FORTIFY_SOURCE)
#define _FORTIFY_SOURCE 2
#endif
