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

/* The wheel at one moment: rows of cells. A cell stands for a few slots. */
struct virtual_picture {
	uint64_t now;
	uint32_t cells; /* in a row */
	uint64_t total[VIRTUAL_ROWS_MAX];
	uint64_t cell[VIRTUAL_ROWS_MAX][VIRTUAL_CELLS_MAX];
};

struct virtual_view {
	struct screen screen;
	uint32_t rows;
	uint64_t stride; /* look at every stride-th entry */
	struct virtual_picture now;
	struct virtual_picture fullest;
	/* For each row, the density at the top of the scale. */
	uint64_t full[VIRTUAL_ROWS_MAX];
	uint64_t fading; /* the scale shrinks by 1/fading per picture */
	bool half_shown;
	struct timespec next; /* when the next picture is due */
};

/* Returns how many rows the wheel needs. */
uint32_t virtual_picture_rows(const struct virtual_demo *d);

/* Returns how many lines the picture has, with or without the hands. */
uint32_t virtual_picture_lines(const struct virtual_demo *d, bool hands);

void virtual_picture_take(const struct virtual_demo *d,
			  struct virtual_picture *p);

/* Draws the picture. The top of a row's scale is its fullest cell. With fade,
 * the scale shrinks slowly when the wheel gets empty. */
void virtual_picture_draw(struct virtual_demo *d,
			  const struct virtual_picture *p, bool hands,
			  bool fade);

#endif /* TKW_TOOLS_VIRTUAL_VIEW_H */
