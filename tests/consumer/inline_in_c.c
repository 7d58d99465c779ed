/* SPDX-License-Identifier: MIT */
/* inline_in_c.c - the wheel as a header, without a library; also C++. */
#include <stdio.h>
#include <tickwheel/wheel_inline.h>

static char name[] = "soon";

static void on_due(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)e;
	if (ctx == name)
		printf("fired: %s\n", name);
}

int main(void)
{
	static char mem[TKW_WHEEL_BYTES] __attribute__((aligned(64)));
	struct tkw_entry soon = TKW_ENTRY_INIT;
	struct tkw_entry never = TKW_ENTRY_INIT;
	struct tkw_wheel *w;

	if (tkw_wheel_init(&w, mem, sizeof(mem), NULL) != 0 ||
	    tkw_wheel_add(w, &soon, 1) != 0 ||
	    tkw_wheel_add(w, &never, 60000) != 0 ||
	    tkw_wheel_remove(w, &never) != 0 ||
	    tkw_wheel_advance(w, 1, TKW_STEPS_UNBOUNDED, on_due, name) != 0 ||
	    tkw_wheel_count(w) != 0 || tkw_wheel_check(w) != NULL)
		return 1;
	return tkw_wheel_fini(w);
}
