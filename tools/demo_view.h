/* SPDX-License-Identifier: MIT */
/* demo_view.h - what demo_view.c and demo_picture.c share. */
#ifndef TKW_TOOLS_DEMO_VIEW_H
#define TKW_TOOLS_DEMO_VIEW_H

#include <time.h>

#include "demo.h"
#include "screen.h"

enum {
	TKW__ROWS_MAX = 8,
	TKW__CELLS_MAX = 256
};

/* The wheel at one moment: rows of cells, each standing for a few slots. */
struct tkw__picture {
	uint64_t now;
	uint32_t cells; /* of a row */
	uint64_t total[TKW__ROWS_MAX];
	uint64_t cell[TKW__ROWS_MAX][TKW__CELLS_MAX];
};

struct tkw__view {
	struct tkw__screen screen;
	uint32_t rows;
	uint64_t stride; /* every so many-th entry is looked at */
	struct tkw__picture now;
	struct tkw__picture fullest;
	/* What counts as full, per row. */
	uint64_t full[TKW__ROWS_MAX];
	uint64_t fading; /* by one part in so many, from picture to picture */
	bool half_shown;
	struct timespec next; /* when the next picture is due */
};

/* How many rows show all that can be in the wheel. */
uint32_t tkw__picture_rows(const struct tkw__demo *d);

/* How many lines there are to draw, without and with the hands. */
uint32_t tkw__picture_lines(const struct tkw__demo *d, bool hands);

void tkw__picture_take(const struct tkw__demo *d, struct tkw__picture *p);

/* The fullest cell of a row is at the top of the scale, or, if the scale fades,
 * the fullest for a while. */
void tkw__picture_draw(struct tkw__demo *d, const struct tkw__picture *p,
		       bool hands, bool fade);

#endif /* TKW_TOOLS_DEMO_VIEW_H */
