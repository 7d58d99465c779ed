/* SPDX-License-Identifier: MIT */
/*
 * screen.h - standard output as a screen: a few lines that are redrawn in place
 * on a terminal, or plain text without a control byte anywhere else.
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

/* What is drawn with, in UTF-8 or in ASCII. */
struct screen_glyphs {
	const char *level[SCREEN_LEVELS + 1]; /* 0 is empty */
	const char *hand;
	const char *wall;
	const char *bar_done;
	const char *bar_left;
};

struct screen {
	const struct screen_glyphs *glyphs;
	bool live;   /* a terminal on which lines can be redrawn */
	bool colour; /* live, and the user likes colours */
	int cols;
	int rows;
	/* The lines being made. */
	int lines;
	int col;
	enum screen_style style;
	size_t len;
	char text[1 << 16];
	bool scrolling; /* lines are for good: they may wrap and scroll */
	int shown; /* lines on the terminal that the next picture replaces */
};

/* Also hides the cursor of a live terminal, until close or a signal. */
void screen_open(struct screen *s);
void screen_close(struct screen *s);

/* Has the terminal another size now? Between pictures. */
void screen_measure(struct screen *s);

/* Text without control bytes; of a picture, what does not fit is cut off. */
void screen_put(struct screen *s, enum screen_style style, const char *text);
void screen_putf(struct screen *s, enum screen_style style, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));
void screen_end_line(struct screen *s);

/*
 * Write the lines made since the last time, in the place of the last picture:
 * show until the next ones come, print for good. All that comes after a print
 * is text.
 *
 * Return  0, or -1 as tool_flush().
 */
int screen_show(struct screen *s);
int screen_print(struct screen *s);

#endif /* TKW_TOOLS_SCREEN_H */
