/* SPDX-License-Identifier: MIT */
/* cmd.h - the commands of tkw. Each is in a file of its own, cmd_<name>.c. */
#ifndef TKW_TOOLS_CMD_H
#define TKW_TOOLS_CMD_H

/*
 * Read the options of the command, and run it. --help prints its help.
 *
 * argc, argv
 *         as for main(); argv[0] is the name of the command.
 * Return  the exit status of tkw.
 */
int cmd_demo(int argc, char **argv);

#endif /* TKW_TOOLS_CMD_H */
