/* SPDX-License-Identifier: MIT */
/* interrupt.h - Ctrl-C (SIGINT) and SIGTERM end a command early, with its
 * report. */
#ifndef TKW_TOOLS_INTERRUPT_H
#define TKW_TOOLS_INTERRUPT_H

/*
 * Catches SIGINT and SIGTERM from now on. Call it after screen_open().
 *
 * The first signal is only noted. The demo asks for it with interrupt_signal().
 * A second signal has the effect that it had before this call, so it ends the
 * program at once. A signal that is ignored stays ignored.
 */
void interrupt_catch(void);

/* Notes a signal that the program has read in another way. */
void interrupt_note(int sig);

/* Returns the signal that was noted, or 0. Any thread may call it. */
int interrupt_signal(void);

/* Ends the program by the signal that was noted, so that a shell sees what
 * ended it. Returns if there was none. Call it after the last output. */
void interrupt_finish(void);

#endif /* TKW_TOOLS_INTERRUPT_H */
