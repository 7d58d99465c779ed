/* SPDX-License-Identifier: MIT */
/* skips.c - see skips.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "skips.h"

#include <stdbool.h>

enum {
	SKIPPED = 77
};

static bool skipped;

void skip_because(const char *why)
{
	skipped = true;
	print_message("skipped: %s\n", why);
	skip();
}

int status_with_skips(int failed)
{
	return failed == 0 && skipped ? SKIPPED : failed;
}
