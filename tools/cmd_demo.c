/* SPDX-License-Identifier: MIT */
/* cmd_demo.c - the command `tkw demo`: in real time, or on a virtual clock. */
#include "cmd.h"

#include <stdbool.h>
#include <string.h>

#include "demo.h"
#include "virtual_demo.h"

void cmd_demo_usage(void)
{
	demo_usage();
}

/* --virtual may stand anywhere. */
static bool wants_virtual(const struct args *a)
{
	for (int i = 0; i < a->left; i++) {
		if (!strcmp(a->word[i], "--virtual"))
			return true;
	}
	return false;
}

int cmd_demo(struct args *a)
{
	return wants_virtual(a) ? virtual_main(a) : demo_main(a);
}
