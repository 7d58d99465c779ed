/* SPDX-License-Identifier: MIT */
/*
 * Adds two entries. One is removed in time, and the other one is pushed
 * back and then expires.
 */
#include <stdio.h>
#include <tickwheel/wheel.h>

struct call {
	const char *name;
	struct tkw_entry timeout;
};

static void on_due(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct call *c = TKW_CONTAINER_OF(e, struct call, timeout);

	(void)ctx;
	printf("tick %d: %s\n", (int)tkw_wheel_now_tick(w), c->name);
}

int main(void)
{
	static _Alignas(64) unsigned char mem[TKW_WHEEL_BYTES];
	struct call get = { "get", TKW_ENTRY_INIT };
	struct call put = { "put", TKW_ENTRY_INIT };
	struct tkw_wheel *w;

	if (tkw_wheel_init(&w, mem, sizeof(mem), NULL) != 0)
		return 1;
	tkw_wheel_add(w, &get.timeout, 30);
	tkw_wheel_add(w, &put.timeout, 50);
	tkw_wheel_remove(w, &get.timeout);
	tkw_wheel_extend(w, &put.timeout, 80);
	tkw_wheel_advance(w, 100, TKW_STEPS_UNBOUNDED, on_due, NULL);
	return tkw_wheel_fini(w) != 0;
}
