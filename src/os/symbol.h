/* SPDX-License-Identifier: MIT */
/* symbol.h - names of functions. */
#ifndef TKW_OS_SYMBOL_H
#define TKW_OS_SYMBOL_H

#include <stddef.h>

/* Prints the name of the function at an address. If that is not known (the
 * function is static, or the program exports nothing), prints the file and the
 * offset in it. */
void tkw__symbol_print(char *buf, size_t size, const void *address);

#endif /* TKW_OS_SYMBOL_H */
