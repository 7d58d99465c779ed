/* SPDX-License-Identifier: MIT */
/*
 * virtual_demo.h - what the parts of `tkw demo --virtual` share.
 *
 * cmd_demo.c        the options
 * virtual_demo.c    runs the demo, from the load to the report
 * virtual_load.c    the load: a server's timeouts, and their ledger
 * virtual_view.c    shows the demo while it runs
 * virtual_picture.c the picture of the wheel
 * virtual_report.c  the final report, as text and as JSON
 */
#ifndef TKW_TOOLS_VIRTUAL_DEMO_H
#define TKW_TOOLS_VIRTUAL_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tickwheel.h"
#include "tool.h"

/* The demo has four acts. Each does one thing to the wheel. */
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
	uint64_t slots; /* of the hashed wheel */
	int engine;     /* enum tkw_wheel_engine */
	bool json;
};

enum virtual_fate {
	VIRTUAL_UNUSED,
	VIRTUAL_WAITING,
	VIRTUAL_FIRED,
	VIRTUAL_CANCELLED
};

/* A timeout of the demo. `due` is the demo's own note of its tick, to check the
 * wheel. */
struct virtual_item {
	struct tkw_entry entry;
	uint64_t due;
	uint8_t fate; /* enum virtual_fate */
	bool extended;
};

/* What became of all timeouts. */
struct virtual_ledger {
	uint64_t accepted;
	uint64_t fired;
	uint64_t cancelled;
	uint64_t pending;
	uint64_t extended;
	uint64_t refused; /* calls that the wheel refused */
	uint64_t wrong;   /* wrong calls, which it has to refuse */
	/* Faults. These must stay 0. */
	uint64_t early;
	uint64_t late;
	uint64_t twice;      /* fired again, or after it was cancelled */
	uint64_t lost;       /* neither ended nor in the wheel */
	uint64_t disorder;   /* fired in the wrong order */
	const char *unsound; /* what tkw_wheel_check() found, or NULL */
	/* A checksum over which entry fired at which tick. It does not depend
	 * on the order. */
	uint64_t digest;
};

/* How many calls of the wheel were made, and how long they took. */
struct virtual_work {
	uint64_t calls;
	uint64_t ns;
};

struct virtual_demo {
	struct virtual_config cfg;
	struct tkw_wheel *wheel;
	struct tkw_wheel_shape shape;
	void *memory; /* of the wheel */
	struct virtual_item *items;
	struct virtual_ledger ledger;
	struct virtual_work work[VIRTUAL_ACTS];
	enum virtual_act act;
	unsigned permille; /* how much of the work is done */
	bool interrupted;  /* by a signal */
	uint64_t horizon;  /* no timeout is due after this tick */
	/* The timeout that fired last. */
	uint64_t last_tick;
	size_t last_index;
	/* Called often, to show the state. A result other than 0 ends the load.
	 * NULL with --json. */
	int (*watch)(struct virtual_demo *d, bool act_ended);
	void *watcher;
};

/* The longest delay, and also the most that a timeout is pushed back by. */
enum {
	VIRTUAL_LONGEST_MS = 2 * 60 * 60 * 1000
};

/* Runs the demo on a virtual clock. Returns the exit status of tkw. */
int virtual_run(const struct virtual_config *cfg);

/* Creates the wheel and the timeouts. Returns 0, or -errno. */
int virtual_load_init(struct virtual_demo *d);
void virtual_load_fini(struct virtual_demo *d);

/*
 * Runs the four acts and completes the ledger. A signal ends the acts early.
 *
 * Returns 0, or what watch returned.
 */
int virtual_load_run(struct virtual_demo *d);

/* Did every timeout end as it should, exactly once? After an interruption,
 * timeouts may still be pending. */
bool virtual_ledger_balanced(const struct virtual_demo *d);

/* Prepares the screen, and draws the load while it runs. Returns 0, or -ENOMEM.
 */
int virtual_view_init(struct virtual_demo *d);
void virtual_view_fini(struct virtual_demo *d);

/*
 * Replaces the last picture by one that shows the wheel when it was fullest.
 * After an interruption, it shows the wheel at that moment.
 *
 * Returns 0, or -1 if standard output is broken. The user has been told.
 */
int virtual_view_end(struct virtual_demo *d);

struct screen;
struct screen *virtual_view_screen(struct virtual_demo *d);

void virtual_report_json(const struct virtual_demo *d);

/* Prints the report. Together with the picture it fits a terminal of 80 x 24.
 * Returns what virtual_view_end() returns. */
int virtual_report(const struct virtual_demo *d, struct screen *s);

/* Write a time: the first like "65.5 s", the second like "3 h 51 m 12 s". Both
 * return buf. */
const char *virtual_word_width(char buf[TOOL_WORD], uint64_t ms);
const char *virtual_word_span(char buf[TOOL_WORD], uint64_t ms);

#endif /* TKW_TOOLS_VIRTUAL_DEMO_H */
