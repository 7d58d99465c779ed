/* SPDX-License-Identifier: MIT */
/* symbol.c - looks names up in the dynamic linker's tables. */
#define _GNU_SOURCE
#include "os/symbol.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

void tkw__symbol_print(char *buf, size_t size, const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) == 0)
		snprintf(buf, size, "%p", address);
	else if (info.dli_sname && info.dli_saddr == address)
		snprintf(buf, size, "%s", info.dli_sname);
	else
		snprintf(buf, size, "%s+0x%llx", info.dli_fname,
			 (unsigned long long)((uintptr_t)address -
					      (uintptr_t)info.dli_fbase));
}
