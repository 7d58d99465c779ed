/* SPDX-License-Identifier: MIT */
/* in_cxx.cc - as in_c.c, in C++, and with the wheel alone. */
#include <cstdio>
#include <tickwheel.h>

static void on_due(struct tkw_wheel *, struct tkw_entry *, void *)
{
	std::puts("fired: soon");
}

int main()
{
	alignas(64) static unsigned char mem[TKW_WHEEL_BYTES];
	struct tkw_entry e = TKW_ENTRY_INIT;
	struct tkw_wheel *w;

	if (tkw_wheel_init(&w, mem, sizeof(mem), nullptr) != 0 ||
	    tkw_wheel_add(w, &e, 1) != 0)
		return 1;
	tkw_wheel_advance(w, 1, TKW_STEPS_UNBOUNDED, on_due, nullptr);
	return tkw_wheel_fini(w);
}
