/* SPDX-License-Identifier: MIT */
/*
 * conveyor.h - rows are read on one thread and applied on another.
 *
 * To read the rows of a long journal takes about as long as to apply them. So
 * a second thread reads, and copies the rows into blocks, which the caller's
 * thread applies. There are two blocks: one is filled while the other is
 * emptied. A row that is larger than a block is not copied. The reader waits
 * until it is applied.
 */
#ifndef TKW_STORE_CONVEYOR_H
#define TKW_STORE_CONVEYOR_H

#include "store/store.h"

/* Reads rows that have records, and calls fn for each of them, up to the first
 * error. Returns 0 or an error. */
typedef int tkw__read_fn(void *arg, tkw__row_fn *fn, void *ctx);

/*
 * Does read(arg, fn, ctx): read() runs on a second thread, and fn on this one.
 * If there can be no second thread, all runs on this one.
 *
 * Returns 0, or the error of fn or of read().
 */
int tkw__convey(tkw__read_fn *read, void *arg, tkw__row_fn *fn, void *ctx);

#endif /* TKW_STORE_CONVEYOR_H */
