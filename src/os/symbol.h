/* SPDX-License-Identifier: MIT */
/* symbol.h - what a function is called. */
#ifndef TKW_OS_SYMBOL_H
#define TKW_OS_SYMBOL_H

#include <stddef.h>

/* Print the name of the function at an address, or where that is not known (it
 * is static, or the program exports nothing) the file and the place in it. */
void tkw__symbol_print(char *buf, size_t size, const void *address);

#endif /* TKW_OS_SYMBOL_H */
