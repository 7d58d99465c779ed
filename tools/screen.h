/* SPDX-License-Identifier: MIT */
/*
 * screen.h - standard output as a screen: a few lines that are redrawn in place
 * on a terminal, or plain text without a control byte anywhere else.
 */
#ifndef TKW_TOOLS_SCREEN_H
#define TKW_TOOLS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum tkw__style {
	TKW__PLAIN,
	TKW__BOLD,
	TKW__DIM,
	TKW__RED,
	TKW__GREEN,
	TKW__YELLOW,
	TKW__MAGENTA,
	TKW__CYAN
};

enum {
	TKW__LEVELS = 8
};

/* What is drawn with, in UTF-8 or in ASCII. */
struct tkw__glyphs {
	const char *level[TKW__LEVELS + 1]; /* 0 is empty */
	const char *hand;
	const char *wall;
	const char *bar_done;
	const char *bar_left;
};

struct tkw__screen {
	const struct tkw__glyphs *glyphs;
	bool live;   /* a terminal on which lines can be redrawn */
	bool colour; /* live, and the user likes colours */
	int cols;
	int rows;
	/* The lines being made. */
	int lines;
	int col;
	enum tkw__style style;
	size_t len;
	char text[1 << 16];
	bool scrolling; /* lines are for good: they may wrap and scroll */
	int shown; /* lines on the terminal that the next picture replaces */
};

/* Also hides the cursor of a live terminal, until close or a signal. */
void tkw__screen_open(struct tkw__screen *s);
void tkw__screen_close(struct tkw__screen *s);

/* Has the terminal another size now? Between pictures. */
void tkw__screen_measure(struct tkw__screen *s);

/* Text without control bytes; of a picture, what does not fit is cut off. */
void tkw__screen_put(struct tkw__screen *s, enum tkw__style style,
		     const char *text);
void tkw__screen_putf(struct tkw__screen *s, enum tkw__style style,
		      const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tkw__screen_end_line(struct tkw__screen *s);

/*
 * Write the lines made since the last time, in the place of the last picture:
 * show until the next ones come, print for good. All that comes after a print
 * is text.
 *
 * Return  0, or -1 as tkw__flush().
 */
int tkw__screen_show(struct tkw__screen *s);
int tkw__screen_print(struct tkw__screen *s);

#endif /* TKW_TOOLS_SCREEN_H */
