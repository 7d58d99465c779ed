/* SPDX-License-Identifier: MIT */
/*
 * scenarios_lease.c - leases: which thread ends a lease, and which threads
 * still hold it then.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/lease.h"

enum {
	LEASES = 2
};

/* What has become of each lease. */
static struct {
	struct tkw_leases *set;
	struct tkw_pool *pool;
	int64_t renew_until_ns; /* renew returns only after this time */
	struct {
		struct tkw_lease_id id;
		unsigned renewing; /* a renew has it now */
		unsigned renewed;
		unsigned released; /* releases that returned 0 */
		unsigned losing;   /* on_lost calls that have begun */
		unsigned lost;
		bool gone; /* a release has returned */
	} tag[LEASES];
} keep;

static unsigned tag_of(const struct tkw_lease *l)
{
	return (unsigned)(uintptr_t)l->data;
}

static void on_renew(struct tkw_lease *leases, size_t count, void *ctx)
{
	(void)ctx;
	explore_tell("renew begins", (int64_t)count);
	for (size_t i = 0; i < count; i++) {
		explore_check(!keep.tag[tag_of(&leases[i])].gone);
		explore_check(keep.tag[tag_of(&leases[i])].renewing++ == 0);
	}
	explore_sleep_until(keep.renew_until_ns);
	explore_yield();
	explore_tell("renew ends", (int64_t)count);
	for (size_t i = 0; i < count; i++) {
		explore_check(!keep.tag[tag_of(&leases[i])].gone);
		keep.tag[tag_of(&leases[i])].renewing--;
		keep.tag[tag_of(&leases[i])].renewed++;
		leases[i].result = 0;
	}
}

static void on_lost(const struct tkw_lease_end *end, void *ctx)
{
	unsigned tag = (unsigned)(uintptr_t)end->data;

	(void)ctx;
	explore_tell("lost, tag", tag);
	explore_check(end->id.bits == keep.tag[tag].id.bits);
	explore_check(keep.tag[tag].losing++ == 0);
	explore_check(keep.tag[tag].released == 0);
	explore_check(end->status == -ESHUTDOWN ||
		      explore_now() < end->expires_ns);
	explore_check(end->renewing || keep.tag[tag].renewing == 0);
	explore_yield();
	explore_check(!keep.tag[tag].gone);
	/* If no renew has it now, no renew will ever have it. */
	keep.tag[tag].gone = !end->renewing;
	keep.tag[tag].lost++;
}

/* Leases of 10 ms, which count as lost after 9 ms. */
static void open_leases(int64_t renew_after_ns, bool with_pool)
{
	const struct tkw_pool_config threads = { .threads = 1,
						 .max_queued = 4 };
	struct tkw_leases_config cfg = {
		.lease_ns = 10 * TKW_MSEC,
		.renew_after_ns = renew_after_ns,
		.margin_ns = TKW_MSEC,
		.renew = on_renew,
		.on_lost = on_lost,
	};

	memset(&keep, 0, sizeof(keep));
	open_timer(1);
	cfg.timer = run.t;
	if (with_pool) {
		explore_check(tkw_pool_create(&keep.pool, &threads) == 0);
		cfg.exec = tkw_pool_exec(keep.pool);
	}
	explore_check(tkw_leases_create(&keep.set, &cfg) == 0);
}

static int keep_lease(unsigned tag)
{
	int err = tkw_leases_add(keep.set, (void *)(uintptr_t)tag,
				 explore_now(), &keep.tag[tag].id);

	explore_tell("add returns", err);
	return err;
}

static void release(unsigned tag)
{
	int err = tkw_leases_release(keep.set, keep.tag[tag].id);

	explore_tell("release returns", err);
	explore_check(err == 0 || err == -ENOENT);
	keep.tag[tag].released += err == 0;
	keep.tag[tag].gone = true;
	explore_check(keep.tag[tag].renewing == 0);
	explore_check(keep.tag[tag].lost == keep.tag[tag].losing);
	explore_check(keep.tag[tag].lost + keep.tag[tag].released == 1);
}

static void *thread_release(void *tag)
{
	release((unsigned)(uintptr_t)tag);
	return NULL;
}

static void close_leases(void)
{
	explore_check(tkw_leases_count(keep.set) == 0);
	explore_check(tkw_leases_destroy(keep.set) == 0);
	for (unsigned i = 0; i < LEASES; i++)
		explore_check(keep.tag[i].renewing == 0);
	check_balance();
	explore_check(tkw_timer_destroy(run.t) == 0);
	if (keep.pool)
		explore_check(tkw_pool_destroy(keep.pool) == 0);
}

static void *release_when_due(void *tag)
{
	explore_sleep_until(EXPLORE_START_NS + 3 * TKW_MSEC);
	return thread_release(tag);
}

/* SPEC 8.4: a lease that was released is in no running renew, and in no later
 * one. */
void release_against_renew(void)
{
	int a;

	open_leases(3 * TKW_MSEC, true);
	explore_check(keep_lease(0) == 0);
	explore_check(keep_lease(1) == 0);
	a = spawn("release a", release_when_due, 0);
	explore_await(&keep.tag[1].renewed, 1);
	release(1);
	explore_join(a);
	close_leases();
}

static void *release_when_lost(void *tag)
{
	explore_sleep_until(EXPLORE_START_NS + 9 * TKW_MSEC);
	return thread_release(tag);
}

/* SPEC 8.4: a lease is renewed, lost and released at the same moment. It ends
 * once. */
void lost_against_renewal_and_release(void)
{
	int a;

	open_leases(8 * TKW_MSEC, true);
	keep.renew_until_ns = EXPLORE_START_NS + 9 * TKW_MSEC;
	explore_check(keep_lease(0) == 0);
	a = spawn("release", release_when_lost, 0);
	explore_join(a);
	close_leases();
}

static void *stop_timer(void *unused)
{
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	return unused;
}

/* SPEC 8.4: leases from before the stop of the timer are released or lost.
 * Later ones are refused. */
void timer_stop_against_release_and_add(void)
{
	bool added;
	int a, b;
	int err;

	open_leases(3 * TKW_MSEC, false);
	explore_check(keep_lease(0) == 0);
	a = explore_spawn("stop", stop_timer, NULL);
	b = spawn("release", thread_release, 0);
	err = keep_lease(1);
	explore_check(err == 0 || err == -ESHUTDOWN);
	added = err == 0;
	explore_join(a);
	explore_join(b);
	explore_check(keep.tag[1].lost == added);
	explore_check(keep_lease(1) == -ESHUTDOWN);
	close_leases();
}

static void *shut_down_when_due(void *unused)
{
	explore_sleep_until(EXPLORE_START_NS + 3 * TKW_MSEC);
	explore_check(tkw_leases_shutdown(keep.set) == 0);
	explore_tell("shutdown returns", 0);
	return unused;
}

/* SPEC 8.4: two threads shut the set down while a batch is renewed. Each lease
 * ends once, none is renewed after that, and destroy waits for the batch. */
void shutdown_against_renew(void)
{
	int a;

	open_leases(3 * TKW_MSEC, true);
	explore_check(keep_lease(0) == 0);
	explore_check(keep_lease(1) == 0);
	a = explore_spawn("shutdown", shut_down_when_due, NULL);
	shut_down_when_due(NULL);
	explore_join(a);
	explore_check(keep.tag[0].lost == 1 && keep.tag[1].lost == 1);
	explore_check(keep_lease(0) == -ESHUTDOWN);
	close_leases();
}
