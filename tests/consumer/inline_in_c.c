/* SPDX-License-Identifier: MIT */
/* inline_in_c.c - the wheel as a header, without a library; also C++. */
#include <stdio.h>
#include <tickwheel/wheel_inline.h>

static void on_due(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)e;
	printf("fired: %s\n", (const char *)ctx);
}

int main(void)
{
	static char mem[TKW_WHEEL_BYTES] __attribute__((aligned(64)));
	static char name[] = "soon";
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
