/* SPDX-License-Identifier: MIT */
/* first_wheel.c - the example of the README: two requests, one times out. */
#include <stdio.h>
#include <tickwheel.h>

struct request {
	struct tkw_entry timeout; /* 32 bytes, embedded */
	const char *name;
};

static void on_timeout(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)ctx;
	printf("tick %d: %s timed out\n", (int)tkw_wheel_now(w),
	       ((struct request *)e)->name);
}

int main(void)
{
	static _Alignas(64) unsigned char mem[TKW_WHEEL_BYTES];
	struct request a = { .name = "a" }, b = { .name = "b" };
	struct tkw_wheel *w;

	tkw_wheel_init(&w, mem, sizeof(mem), NULL);
	tkw_wheel_add(w, &a.timeout, 30);
	tkw_wheel_add(w, &b.timeout, 50);
	tkw_wheel_remove(w, &a.timeout);     /* a was answered */
	tkw_wheel_extend(w, &b.timeout, 80); /* b is alive: a store */
	tkw_wheel_advance(w, 100, TKW_STEPS_UNBOUNDED, on_timeout, NULL);
	printf("now is tick %d, %d left\n", (int)tkw_wheel_now(w),
	       (int)tkw_wheel_count(w));
	return tkw_wheel_fini(w);
}
