/* SPDX-License-Identifier: MIT */
/*
 * Renews a lease after a third of its time, and then releases it. The
 * program drives the timer by hand and provides its clock.
 */
#include <stdio.h>
#include <tickwheel/lease.h>

static int64_t clock_ns = TKW_SEC;

static int64_t now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

/* A real program asks the server here. */
static void renew(struct tkw_lease *leases, size_t count, void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		printf("renewed: %s\n", (const char *)leases[i].data);
		leases[i].result = 0;
	}
}

int main(void)
{
	const struct tkw_timer_hooks hooks = { .now = now };
	const struct tkw_timer_config by_hand = {
		.size = sizeof(by_hand),
		.drive = TKW_DRIVE_MANUAL,
		.hooks = &hooks
	};
	struct tkw_leases_config cfg = { .size = sizeof(cfg) };
	struct tkw_lease_id id;
	struct tkw_leases *ls;

	cfg.lease_ns = 30 * TKW_SEC;
	cfg.renew = renew;
	if (tkw_timer_create(&cfg.timer, &by_hand) != 0 ||
	    tkw_leases_create(&ls, &cfg) != 0 ||
	    tkw_leases_add(ls, "lock", tkw_timer_now_ns(cfg.timer),
			   &id) != 0)
		return 1;
	clock_ns += 11 * TKW_SEC;
	tkw_timer_turn(cfg.timer, 0, NULL);
	if (tkw_leases_release(ls, id) == 0)
		printf("released: lock\n");
	return tkw_leases_destroy(ls) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
