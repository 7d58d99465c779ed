/* SPDX-License-Identifier: MIT */
/* cmd.h - the commands of tkw. Each has its own file, cmd_<name>.c. */
#ifndef TKW_TOOLS_CMD_H
#define TKW_TOOLS_CMD_H

/*
 * Reads the options of the command and runs it. --help prints its help.
 *
 * argc, argv  As for main(). argv[0] is the name of the command.
 *
 * Returns the exit status of tkw.
 */
int cmd_demo(int argc, char **argv);
int cmd_queue(int argc, char **argv);
int cmd_after(int argc, char **argv);
int cmd_every(int argc, char **argv);
int cmd_cron(int argc, char **argv);
int cmd_next(int argc, char **argv);

#endif /* TKW_TOOLS_CMD_H */
