/* SPDX-License-Identifier: MIT */
/*
 * virtual_demo.h - what the parts of `tkw demo --virtual` share.
 *
 * cmd_demo.c        its options
 * virtual_demo.c    runs it, from the load to the report
 * virtual_load.c    the load: a server's timeouts, and the ledger of their
 * fates virtual_view.c    shows it while it runs virtual_picture.c the picture
 * of the wheel virtual_report.c  the ledger, in words and as JSON
 */
#ifndef TKW_TOOLS_VIRTUAL_DEMO_H
#define TKW_TOOLS_VIRTUAL_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tickwheel.h"
#include "tool.h"

/* The demo has four acts, each doing one thing to the wheel. */
enum virtual_act {
	VIRTUAL_SCHEDULE,
	VIRTUAL_EXTEND,
	VIRTUAL_CANCEL,
	VIRTUAL_EXPIRE,
	VIRTUAL_ACTS
};

struct virtual_config {
	uint64_t count;
	uint64_t seed;
	uint64_t slots; /* hashed */
	int engine;     /* enum tkw_wheel_engine */
	bool json;
};

enum virtual_fate {
	VIRTUAL_UNUSED,
	VIRTUAL_WAITING,
	VIRTUAL_FIRED,
	VIRTUAL_CANCELLED
};

/* A timeout of the demo. The wheel is judged by `due`, which it never sees. */
struct virtual_item {
	struct tkw_entry entry;
	uint64_t due;
	uint8_t fate; /* enum virtual_fate */
	bool extended;
};

/* What became of all of them. */
struct virtual_ledger {
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
struct virtual_work {
	uint64_t calls;
	uint64_t ns;
};

struct virtual_demo {
	struct virtual_config cfg;
	struct tkw_wheel *wheel;
	struct tkw_wheel_shape shape;
	void *memory; /* the wheel's */
	struct virtual_item *items;
	struct virtual_ledger ledger;
	struct virtual_work work[VIRTUAL_ACTS];
	enum virtual_act act;
	unsigned permille; /* of the way */
	uint64_t horizon;  /* no timeout is due later */
	/* The last to fire. */
	uint64_t last_tick;
	size_t last_index;
	/* Called often, to show something; a result other than 0 ends the load.
	 * NULL: nobody watches. */
	int (*watch)(struct virtual_demo *d, bool act_ended);
	void *watcher;
};

/* No delay is longer, and none is pushed back by more. */
enum {
	VIRTUAL_LONGEST_MS = 2 * 60 * 60 * 1000
};

/* Run the demo on a virtual clock. Return the exit status of tkw. */
int virtual_run(const struct virtual_config *cfg);

/* Return  0, or -errno: there is no such wheel, or no memory for it. */
int virtual_load_init(struct virtual_demo *d);
void virtual_load_fini(struct virtual_demo *d);

/*
 * Play the four acts and close the ledger.
 *
 * Return  0, or what watch returned.
 */
int virtual_load_run(struct virtual_demo *d);

/* True if every timeout ended as it should, and just once. */
bool virtual_ledger_balanced(const struct virtual_ledger *l);

/*
 * Watch the load and draw it.
 *
 * Return  0; -ENOMEM.
 */
int virtual_view_init(struct virtual_demo *d);
void virtual_view_fini(struct virtual_demo *d);

/*
 * Print how the wheel was at its fullest, in the place of the last picture.
 *
 * Return  0, or -1: standard output is broken, and the user told.
 */
int virtual_view_end(struct virtual_demo *d);

struct screen;
struct screen *virtual_view_screen(struct virtual_demo *d);

void virtual_report_json(const struct virtual_demo *d);
int virtual_report(const struct virtual_demo *d, struct screen *s);

/* "65.5 s", "3 h 51 m 12 s"; the text is in buf. */
const char *virtual_word_width(char buf[TOOL_WORD], uint64_t ms);
const char *virtual_word_span(char buf[TOOL_WORD], uint64_t ms);

#endif /* TKW_TOOLS_VIRTUAL_DEMO_H */
