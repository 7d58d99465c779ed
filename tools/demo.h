/* SPDX-License-Identifier: MIT */
/*
 * demo.h - what the parts of `tkw demo --virtual` share; live.h is that of the
 * demo in real time.
 *
 * demo.c         which of the two; its options, and the order of things
 * demo_load.c    the load: a server's timeouts, and the ledger of their fates
 * demo_view.c    shows it while it runs
 * demo_picture.c the picture of the wheel
 * demo_report.c  the ledger, in words and as JSON
 */
#ifndef TKW_TOOLS_DEMO_H
#define TKW_TOOLS_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "tickwheel.h"

/* The demo has four acts, each doing one thing to the wheel. */
enum demo_act {
	DEMO_SCHEDULE,
	DEMO_EXTEND,
	DEMO_CANCEL,
	DEMO_EXPIRE,
	DEMO_ACTS
};

struct demo_config {
	uint64_t count;
	uint64_t seed;
	uint64_t slots; /* hashed */
	int engine;     /* enum tkw_wheel_engine */
	bool json;
};

enum demo_fate {
	DEMO_UNUSED,
	DEMO_WAITING,
	DEMO_FIRED,
	DEMO_CANCELLED
};

/* A timeout of the demo. The wheel is judged by `due`, which it never sees. */
struct demo_item {
	struct tkw_entry entry;
	uint64_t due;
	uint8_t fate; /* enum demo_fate */
	bool extended;
};

/* What became of all of them. */
struct demo_ledger {
	uint64_t accepted;
	uint64_t fired;
	uint64_t cancelled;
	uint64_t pending;
	uint64_t extended;
	uint64_t refused;
	uint64_t wrong; /* calls that had to be refused */
	/* What must not be. */
	uint64_t early;
	uint64_t late;
	uint64_t twice;      /* fired again, or after it was cancelled */
	uint64_t lost;       /* neither ended nor in the wheel */
	uint64_t disorder;   /* fired before one that should have come first */
	const char *unsound; /* what tkw_wheel_check() found, or NULL */
	/* The same for the same set of (entry, tick) fired. */
	uint64_t digest;
};

/* Calls made of the wheel, and the time spent in them. */
struct demo_work {
	uint64_t calls;
	uint64_t ns;
};

struct demo {
	struct demo_config cfg;
	struct tkw_wheel *wheel;
	struct tkw_wheel_shape shape;
	void *memory; /* the wheel's */
	struct demo_item *items;
	struct demo_ledger ledger;
	struct demo_work work[DEMO_ACTS];
	enum demo_act act;
	unsigned permille; /* of the way */
	uint64_t horizon;  /* no timeout is due later */
	/* The last to fire. */
	uint64_t last_tick;
	size_t last_index;
	/* Called often, to show something; a result other than 0 ends the load.
	 * NULL: nobody watches. */
	int (*watch)(struct demo *d, bool act_ended);
	void *watcher;
};

/* No delay is longer, and none is pushed back by more. */
enum {
	DEMO_LONGEST_MS = 2 * 60 * 60 * 1000
};

int demo_main(struct args *a);
void demo_usage(void);

/* Return  0, or -errno: there is no such wheel, or no memory for it. */
int demo_load_init(struct demo *d);
void demo_load_fini(struct demo *d);

/*
 * Play the four acts and close the ledger.
 *
 * Return  0, or what watch returned.
 */
int demo_load_run(struct demo *d);

/* True if every timeout ended as it should, and just once. */
bool demo_ledger_balanced(const struct demo_ledger *l);

/*
 * Watch the load and draw it.
 *
 * Return  0; -ENOMEM.
 */
int demo_view_init(struct demo *d);
void demo_view_fini(struct demo *d);

/*
 * Print how the wheel was at its fullest, in the place of the last picture.
 *
 * Return  0, or -1: standard output is broken, and the user told.
 */
int demo_view_end(struct demo *d);

struct screen;
struct screen *demo_view_screen(struct demo *d);

void demo_report_json(const struct demo *d);
int demo_report(const struct demo *d, struct screen *s);

/* "65.5 s", "3 h 51 m 12 s"; the text is in buf. */
const char *demo_word_width(char buf[TOOL_WORD], uint64_t ms);
const char *demo_word_span(char buf[TOOL_WORD], uint64_t ms);

#endif /* TKW_TOOLS_DEMO_H */
