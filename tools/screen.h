/* SPDX-License-Identifier: MIT */
/*
 * screen.h - standard output as a screen. On a terminal a few lines are redrawn
 * in place. Anywhere else the output is plain text without control bytes.
 */
#ifndef TKW_TOOLS_SCREEN_H
#define TKW_TOOLS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_DIM,
	SCREEN_RED,
	SCREEN_GREEN,
	SCREEN_YELLOW,
	SCREEN_MAGENTA,
	SCREEN_CYAN
};

enum {
	SCREEN_LEVELS = 8
};

/* The characters of the pictures, in UTF-8 or in ASCII. */
struct screen_glyphs {
	const char *level[SCREEN_LEVELS + 1]; /* 0 is empty */
	const char *hand;
	const char *wall;
	const char *bar_done;
	const char *bar_left;
};

struct screen {
	const struct screen_glyphs *glyphs;
	bool live;   /* a terminal that can redraw lines */
	bool colour; /* live, and NO_COLOR is not set */
	int cols;
	int rows;
	/* The lines that are being made. */
	int lines;
	int col;
	enum screen_style style;
	size_t len;
	char text[1 << 16];
	bool scrolling; /* lines are not redrawn: they may wrap and scroll */
	int shown; /* lines on the terminal that the next picture replaces */
};

/* Prepares standard output. On a live terminal it hides the cursor, until
 * screen_close() or a signal shows it again. */
void screen_open(struct screen *s);
void screen_close(struct screen *s);

/* Reads the size of the terminal. Call it between two pictures. */
void screen_measure(struct screen *s);

/* Adds text without control bytes. What does not fit into a picture is cut off.
 */
void screen_put(struct screen *s, enum screen_style style, const char *text);
void screen_putf(struct screen *s, enum screen_style style, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));
void screen_end_line(struct screen *s);

/*
 * Writes the lines that were made, in the place of the last picture.
 *
 * After screen_show() the next picture replaces them. After screen_print() they
 * stay, and what follows is text that scrolls.
 *
 * Returns what tool_flush() returns.
 */
int screen_show(struct screen *s);
int screen_print(struct screen *s);

#endif /* TKW_TOOLS_SCREEN_H */
