/* SPDX-License-Identifier: MIT */
/* demo_view.h - what demo_view.c and demo_picture.c share. */
#ifndef TKW_TOOLS_DEMO_VIEW_H
#define TKW_TOOLS_DEMO_VIEW_H

#include <time.h>

#include "demo.h"
#include "screen.h"

enum {
	DEMO_ROWS_MAX = 8,
	DEMO_CELLS_MAX = 256
};

/* The wheel at one moment: rows of cells, each standing for a few slots. */
struct demo_picture {
	uint64_t now;
	uint32_t cells; /* of a row */
	uint64_t total[DEMO_ROWS_MAX];
	uint64_t cell[DEMO_ROWS_MAX][DEMO_CELLS_MAX];
};

struct demo_view {
	struct screen screen;
	uint32_t rows;
	uint64_t stride; /* every so many-th entry is looked at */
	struct demo_picture now;
	struct demo_picture fullest;
	/* What counts as full, per row. */
	uint64_t full[DEMO_ROWS_MAX];
	uint64_t fading; /* by one part in so many, from picture to picture */
	bool half_shown;
	struct timespec next; /* when the next picture is due */
};

/* How many rows show all that can be in the wheel. */
uint32_t demo_picture_rows(const struct demo *d);

/* How many lines there are to draw, without and with the hands. */
uint32_t demo_picture_lines(const struct demo *d, bool hands);

void demo_picture_take(const struct demo *d, struct demo_picture *p);

/* The fullest cell of a row is at the top of the scale, or, if the scale fades,
 * the fullest for a while. */
void demo_picture_draw(struct demo *d, const struct demo_picture *p, bool hands,
		       bool fade);

#endif /* TKW_TOOLS_DEMO_VIEW_H */
