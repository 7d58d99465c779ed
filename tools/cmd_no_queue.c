/* SPDX-License-Identifier: MIT */
/* cmd_no_queue.c - the command `tkw queue`, if there is no SQLite. */
#include "cmd.h"
#include "tool.h"

int cmd_queue(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	tool_complain("tkw was built without SQLite");
	return TOOL_EXIT_USAGE;
}
