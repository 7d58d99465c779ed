/* SPDX-License-Identifier: MIT */
/* first_wheel.c - two entries: one is removed, the other expires. */
#include <stdio.h>
#include <tickwheel.h>

static void on_due(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	printf("tick %d: %s\n", (int)tkw_wheel_now_tick(w),
	       e == ctx ? "a" : "b");
}

int main(void)
{
	static _Alignas(64) unsigned char mem[TKW_WHEEL_BYTES];
	struct tkw_entry a = TKW_ENTRY_INIT, b = TKW_ENTRY_INIT;
	struct tkw_wheel *w;

	tkw_wheel_init(&w, mem, sizeof(mem), NULL);
	tkw_wheel_add(w, &a, 30);
	tkw_wheel_add(w, &b, 50);
	tkw_wheel_remove(w, &a);     /* a was answered in time */
	tkw_wheel_extend(w, &b, 80); /* b sent a packet: costs a store */
	tkw_wheel_advance(w, 100, TKW_STEPS_UNBOUNDED, on_due, &a);
	return tkw_wheel_fini(w);
}
