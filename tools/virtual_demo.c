/* SPDX-License-Identifier: MIT */
/* virtual_demo.c - runs the virtual demo, from its load to its report. */
#include "virtual_demo.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interrupt.h"
#include "screen.h"

/* Runs the load and prints the result. Returns the exit status. */
static int play(struct virtual_demo *d)
{
	if (virtual_load_run(d))
		return TOOL_EXIT_FAILURE;
	if (d->cfg.json) {
		virtual_report_json(d);
	} else {
		if (virtual_view_end(d) ||
		    virtual_report(d, virtual_view_screen(d)))
			return TOOL_EXIT_FAILURE;
	}
	return virtual_ledger_balanced(d) ? TOOL_EXIT_OK : TOOL_EXIT_FAILURE;
}

int virtual_run(const struct virtual_config *cfg)
{
	struct virtual_demo d = { .cfg = *cfg };
	int status = TOOL_EXIT_FAILURE;
	int r = virtual_load_init(&d);

	if (!r && !d.cfg.json)
		r = virtual_view_init(&d);
	interrupt_catch();
	if (r == -ENOMEM)
		tool_complain("demo: not enough memory for %" PRIu64
			      " timeouts",
			      d.cfg.count);
	else if (r)
		tool_complain("demo: %s", strerror(-r));
	else
		status = play(&d);
	virtual_view_fini(&d);
	virtual_load_fini(&d);
	return status;
}
