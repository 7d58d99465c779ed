/* SPDX-License-Identifier: MIT */
/* virtual_view.h - what virtual_view.c and virtual_picture.c share. */
#ifndef TKW_TOOLS_VIRTUAL_VIEW_H
#define TKW_TOOLS_VIRTUAL_VIEW_H

#include <time.h>

#include "screen.h"
#include "virtual_demo.h"

enum {
	VIRTUAL_ROWS_MAX = 8,
	VIRTUAL_CELLS_MAX = 256
};

/* The wheel at one moment: rows of cells, each standing for a few slots. */
struct virtual_picture {
	uint64_t now;
	uint32_t cells; /* of a row */
	uint64_t total[VIRTUAL_ROWS_MAX];
	uint64_t cell[VIRTUAL_ROWS_MAX][VIRTUAL_CELLS_MAX];
};

struct virtual_view {
	struct screen screen;
	uint32_t rows;
	uint64_t stride; /* every so many-th entry is looked at */
	struct virtual_picture now;
	struct virtual_picture fullest;
	/* What counts as full, per row. */
	uint64_t full[VIRTUAL_ROWS_MAX];
	uint64_t fading; /* by one part in so many, from picture to picture */
	bool half_shown;
	struct timespec next; /* when the next picture is due */
};

/* How many rows show all that can be in the wheel. */
uint32_t virtual_picture_rows(const struct virtual_demo *d);

/* How many lines there are to draw, without and with the hands. */
uint32_t virtual_picture_lines(const struct virtual_demo *d, bool hands);

void virtual_picture_take(const struct virtual_demo *d,
			  struct virtual_picture *p);

/* The fullest cell of a row is at the top of the scale, or, if the scale fades,
 * the fullest for a while. */
void virtual_picture_draw(struct virtual_demo *d,
			  const struct virtual_picture *p, bool hands,
			  bool fade);

#endif /* TKW_TOOLS_VIRTUAL_VIEW_H */
