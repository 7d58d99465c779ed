/* SPDX-License-Identifier: MIT */
/*
 * virtual_picture.c - the picture of the wheel: where its entries are.
 *
 * Each ring is drawn as a row of cells that begins with slot 0, the coarsest
 * ring on top. A cell stands for a few neighbouring slots and shows how many
 * entries are in them. The hashed wheel has one ring. Its entries are drawn in
 * several rows, by the number of rounds that they have to wait.
 *
 * tkw_wheel_get_place() says where an entry is. The entries are visited in the
 * order of their memory, because a walk through the wheel would cost a cache
 * miss for each.
 */
#include <inttypes.h>
#include <string.h>

#include "virtual_view.h"

/* In the picture of a hashed wheel, entries in a row wait for this many times
 * as many rounds as those in the row below. */
enum {
	ROUNDS_PER_ROW = 256
};

static bool is_hashed(const struct virtual_demo *d)
{
	return d->shape.engine == TKW_WHEEL_HASHED;
}

/* Returns the cell of a slot, or the first one if the slot has several. */
static uint32_t cell_of(const struct virtual_demo *d,
			const struct virtual_picture *p, uint64_t slot)
{
	return (uint32_t)(slot * p->cells / d->shape.slots);
}

/* Returns the unit of a row: the ticks of a slot, or the least number of
 * rounds. */
static uint64_t unit_of(const struct virtual_demo *d, uint32_t row)
{
	uint64_t unit = 1;

	for (; row > (is_hashed(d) ? 1 : 0); row--)
		unit *= is_hashed(d) ? ROUNDS_PER_ROW : d->shape.slots;
	return unit;
}

static uint32_t row_of(const struct virtual_demo *d,
		       const struct tkw_wheel_place *place)
{
	uint32_t row = 0;

	if (!is_hashed(d))
		return place->ring;
	while (row + 1 < VIRTUAL_ROWS_MAX &&
	       place->rounds >= unit_of(d, row + 1))
		row++;
	return row;
}

uint32_t virtual_picture_rows(const struct virtual_demo *d)
{
	uint64_t most = is_hashed(d) ? d->horizon / d->shape.slots : d->horizon;
	uint32_t rows = 1;

	while (rows < VIRTUAL_ROWS_MAX && most >= unit_of(d, rows))
		rows++;
	if (!is_hashed(d) && rows > d->shape.rings)
		return d->shape.rings;
	return rows;
}

uint32_t virtual_picture_lines(const struct virtual_demo *d, bool hands)
{
	const struct virtual_view *v = d->watcher;
	uint32_t lines = 2 * v->rows;

	if (hands)
		lines += is_hashed(d) ? 1 : v->rows;
	return lines;
}

/* Returns as many cells as fit. If there are fewer slots than that, all slots
 * have the same number of cells. */
static uint32_t count_cells(const struct virtual_demo *d, int cols)
{
	uint32_t room = cols > 12 ? (uint32_t)cols - 5 : 7;

	if (room > VIRTUAL_CELLS_MAX)
		room = VIRTUAL_CELLS_MAX;
	if (d->shape.slots > room)
		return room;
	return room - room % (uint32_t)d->shape.slots;
}

void virtual_picture_take(const struct virtual_demo *d,
			  struct virtual_picture *p)
{
	const struct virtual_view *v = d->watcher;
	struct tkw_wheel_place place;

	memset(p, 0, sizeof(*p));
	p->now = tkw_wheel_now_tick(d->wheel);
	p->cells = count_cells(d, v->screen.cols);
	for (uint64_t i = 0; i < d->cfg.count; i += v->stride) {
		uint32_t row;

		if (tkw_wheel_get_place(d->wheel, &d->items[i].entry, &place))
			continue;
		row = row_of(d, &place);
		if (row >= v->rows)
			continue;
		p->total[row] += v->stride;
		p->cell[row][cell_of(d, p, place.slot)] += v->stride;
	}
}

/* Returns the entries per 256 slots, because cells stand for different numbers
 * of slots. */
static uint64_t density(const struct virtual_demo *d,
			const struct virtual_picture *p, uint32_t row,
			uint32_t cell)
{
	uint64_t slots = d->shape.slots;
	uint64_t slot = cell * slots / p->cells;
	uint64_t first = (cell * slots + p->cells - 1) / p->cells;
	uint64_t end = ((cell + 1) * slots + p->cells - 1) / p->cells;

	if (slots <= p->cells)
		return p->cell[row][cell_of(d, p, slot)] * 256;
	return p->cell[row][cell] * 256 / (end - first);
}

static uint64_t fullest_cell(const struct virtual_demo *d,
			     const struct virtual_picture *p, uint32_t row)
{
	uint64_t most = 0;

	for (uint32_t c = 0; c < p->cells; c++) {
		uint64_t n = density(d, p, row, c);

		if (most < n)
			most = n;
	}
	return most;
}

/* Each level stands for twice as many entries as the one below. */
static int level_of(uint64_t density, uint64_t full)
{
	int level = SCREEN_LEVELS;

	if (density == 0)
		return 0;
	while (level > 1 && density <= full / 2) {
		full /= 2;
		level--;
	}
	return level;
}

static void draw_ring_name(struct virtual_demo *d, uint32_t ring)
{
	struct screen *s = virtual_view_screen(d);
	uint64_t width = is_hashed(d) ? 1 : unit_of(d, ring);
	char slot[TOOL_WORD];
	char round[TOOL_WORD];

	if (is_hashed(d))
		screen_put(s, SCREEN_BOLD, " this round");
	else
		screen_putf(s, SCREEN_BOLD, " ring %" PRIu32, ring);
	virtual_word_width(slot, width);
	virtual_word_width(round, width * d->shape.slots);
	if (s->cols < 72)
		screen_putf(s, SCREEN_DIM, "  %s a slot: ", slot);
	else
		screen_putf(s, SCREEN_DIM,
			    "  %" PRIu64 " slots of %s, a round takes %s: ",
			    d->shape.slots, slot, round);
}

static void draw_rounds(struct virtual_demo *d, uint32_t row)
{
	struct screen *s = virtual_view_screen(d);
	char from[TOOL_WORD];
	char to[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " later");
	screen_putf(s, SCREEN_DIM, "  in %s to %s rounds: ",
		    tool_word_count(from, unit_of(d, row)),
		    tool_word_count(to, unit_of(d, row + 1) - 1));
}

static void draw_label(struct virtual_demo *d, const struct virtual_picture *p,
		       uint32_t row)
{
	const struct virtual_view *v = d->watcher;
	char total[TOOL_WORD];

	if (is_hashed(d) && row > 0)
		draw_rounds(d, row);
	else
		draw_ring_name(d, row);
	screen_putf(virtual_view_screen(d), SCREEN_PLAIN, "%s%s waiting",
		    v->stride > 1 ? "~" : "",
		    tool_word_count(total, p->total[row]));
	screen_end_line(virtual_view_screen(d));
}

static void draw_cells(struct virtual_demo *d, const struct virtual_picture *p,
		       uint32_t row, uint64_t full)
{
	static const enum screen_style styles[] = { SCREEN_GREEN, SCREEN_CYAN,
						    SCREEN_MAGENTA };
	struct screen *s = virtual_view_screen(d);

	screen_putf(s, SCREEN_DIM, " %s", s->glyphs->wall);
	for (uint32_t c = 0; c < p->cells; c++) {
		int level = level_of(density(d, p, row, c), full);

		screen_put(s, level ? styles[row % 3] : SCREEN_DIM,
			   s->glyphs->level[level]);
	}
	screen_put(s, SCREEN_DIM, s->glyphs->wall);
	screen_end_line(s);
}

static void draw_hand(struct virtual_demo *d, const struct virtual_picture *p,
		      uint32_t row)
{
	struct screen *s = virtual_view_screen(d);
	uint64_t width = is_hashed(d) ? 1 : unit_of(d, row);
	uint64_t slot = p->now / width % d->shape.slots;

	screen_putf(s, SCREEN_YELLOW, "  %*s%s", (int)cell_of(d, p, slot), "",
		    s->glyphs->hand);
	screen_end_line(s);
}

void virtual_picture_draw(struct virtual_demo *d,
			  const struct virtual_picture *p, bool hands,
			  bool fade)
{
	struct virtual_view *v = d->watcher;

	for (uint32_t row = v->rows; row-- > 0;) {
		uint64_t most = fullest_cell(d, p, row);

		/* The scale follows slowly. So one sees the wheel get empty,
		 * and still sees the last few entries. */
		v->full[row] -= v->full[row] / v->fading;
		if (v->full[row] < most || !fade)
			v->full[row] = most;
		draw_label(d, p, row);
		draw_cells(d, p, row, v->full[row]);
		/* The hashed wheel has one hand, under all of its rows. */
		if (hands && (row == 0 || !is_hashed(d)))
			draw_hand(d, p, row);
	}
}
