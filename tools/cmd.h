/* SPDX-License-Identifier: MIT */
/* cmd.h - the commands of tkw. Each is in a file of its own, cmd_<name>.c. */
#ifndef TKW_TOOLS_CMD_H
#define TKW_TOOLS_CMD_H

#include "args.h"

/* Return  the exit status. */
int cmd_demo(struct args *a);
void cmd_demo_usage(void);

#endif /* TKW_TOOLS_CMD_H */
