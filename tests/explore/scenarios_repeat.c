/* SPDX-License-Identifier: MIT */
/*
 * scenarios_repeat.c - a repeat every millisecond, its first round against what
 * two threads call when it is due.
 *
 * In each of them rounds and adjusts come one at a time, and none after
 * on_destroy, which comes once.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/repeat.h"

#define DUE_NS (EXPLORE_START_NS + TKW_MSEC)

static struct {
	struct tkw_repeat *r;
	unsigned busy; /* rounds and adjusts that run */
	unsigned rounds;
	unsigned broken;
	unsigned destroyed;
	unsigned offered;      /* to the executor */
	bool over;             /* no round may begin any more */
	int64_t not_before_ns; /* nor before this */
} rep;

static void on_round(void *arg, struct tkw_repeat *r)
{
	(void)arg;
	(void)r;
	explore_tell("round begins", rep.rounds);
	explore_check(rep.busy++ == 0);
	explore_check(rep.destroyed == 0);
	explore_check(!rep.over);
	explore_check(explore_now() >= rep.not_before_ns);
	rep.rounds++;
	explore_yield();
	explore_check(rep.destroyed == 0);
	rep.busy--;
	explore_tell("round ends", rep.rounds);
}

static int64_t on_adjust(void *arg, int64_t interval_ns)
{
	(void)arg;
	explore_tell("adjust begins", interval_ns);
	explore_check(rep.busy++ == 0);
	explore_check(rep.destroyed == 0);
	explore_yield();
	rep.busy--;
	return interval_ns;
}

static void on_broken(void *arg, int err)
{
	(void)arg;
	explore_tell("on_broken", err);
	explore_check(err == -ECANCELED);
	explore_check(rep.destroyed == 0);
	explore_check(rep.broken++ == 0);
	explore_yield();
}

static void on_destroy(void *arg)
{
	(void)arg;
	explore_tell("on_destroy", rep.destroyed);
	explore_check(rep.busy == 0);
	explore_check(rep.destroyed++ == 0);
	explore_yield();
}

/* A repeat on the timer, which is started. */
static void start_repeat(int64_t (*adjust)(void *arg, int64_t interval_ns))
{
	struct tkw_repeat_config cfg = {
		.interval_ns = TKW_MSEC,
		.fn = on_round,
		.adjust = adjust,
		.on_broken = on_broken,
		.on_destroy = on_destroy,
	};

	memset(&rep, 0, sizeof(rep));
	cfg.timer = run.t;
	explore_check(tkw_repeat_create(&rep.r, &cfg) == 0);
	explore_check(tkw_repeat_start(rep.r) == 0);
}

static void open_repeat(int64_t (*adjust)(void *arg, int64_t interval_ns))
{
	open_timer(1);
	start_repeat(adjust);
}

/* Time jumps when nobody can go on: what has begun is over then. */
static void let_it_end(void)
{
	explore_sleep_until(explore_now() + TKW_MSEC / 2);
}

/* It is destroyed by now: that was told, and there is no chain. */
static void close_repeat_timer(void)
{
	let_it_end();
	explore_check(rep.busy == 0);
	explore_check(rep.destroyed == 1);
	explore_check(tkw_timer_pending(run.t) == 0);
	check_balance();
	rep.over = true;
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	explore_check(tkw_timer_destroy(run.t) == 0);
	explore_check(rep.destroyed == 1);
}

/* "running" or "invoking" */
static bool is(const char *flag)
{
	char text[64];

	explore_check(tkw_repeat_describe(rep.r, text, sizeof(text)) > 0);
	return strstr(text, flag) != NULL;
}

/* --- destroy ------------------------------------------------------------- */

static void *destroy_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	return unused;
}

static void *stop_and_start(void *unused)
{
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_repeat_stop(rep.r);
	explore_check(err == 0 || err == 1 || err == -ESHUTDOWN);
	err = tkw_repeat_start(rep.r);
	explore_check(err == 0 || err == 1 || err == -ESHUTDOWN);
	return unused;
}

/* SPEC 7.5: on_destroy once, after the round that may be running. */
void repeat_against_destroy(void)
{
	int a, b;

	open_repeat(NULL);
	a = explore_spawn("destroy", destroy_it, NULL);
	b = explore_spawn("stop start", stop_and_start, NULL);
	explore_join(a);
	explore_join(b);
	explore_await(&rep.destroyed, 1);
	explore_check(tkw_repeat_destroy(rep.r) == 1);
	explore_check(tkw_repeat_free(rep.r) == 0);
	close_repeat_timer();
}

/* --- one chain ----------------------------------------------------------- */

/* SPEC 7.3, 7.4: stopped and started by two while a round runs: one chain goes
 * on after it. */
void repeat_against_starts(void)
{
	int a, b;

	open_repeat(NULL);
	a = explore_spawn("stop start a", stop_and_start, NULL);
	b = explore_spawn("stop start b", stop_and_start, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(rep.busy == 0);
	/* One of them was the last to start. */
	explore_check(tkw_timer_pending(run.t) == 1);
	explore_check(tkw_repeat_free(rep.r) == 0);
	close_repeat_timer();
}

/* A full interval from now, but for a round that runs, and ends later. */
static void *restart_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_restart(rep.r) == 0);
	if (!is("invoking"))
		rep.not_before_ns = explore_now() + TKW_MSEC;
	return unused;
}

/* SPEC 7.3, 7.4: a firing that has begun when the round is moved is a stray: it
 * makes no round, and no second chain. */
void repeat_against_restart(void)
{
	int a, b;

	open_repeat(on_adjust);
	a = explore_spawn("restart a", restart_it, NULL);
	b = explore_spawn("restart b", restart_it, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(rep.busy == 0);
	explore_check(tkw_timer_pending(run.t) == 1);
	explore_check(tkw_repeat_free(rep.r) == 0);
	close_repeat_timer();
}

/* --- a round is dropped -------------------------------------------------- */

static int refuse_first(void *ctx, const struct tkw_job *job)
{
	(void)ctx;
	explore_yield();
	if (rep.offered++ == 0)
		return -EAGAIN;
	job->run(job);
	return 0;
}

/* SPEC 4.8, 7.4: the executor drops the round while it is moved: whether that
 * breaks the chain off before, or is that of a stray, the restart holds. */
void repeat_against_drop(void)
{
	static const struct tkw_exec exec = { .submit = refuse_first };
	int a, b;

	open_exec(&exec, TKW_REFUSED_DROP);
	start_repeat(NULL);
	a = explore_spawn("restart a", restart_it, NULL);
	b = explore_spawn("restart b", restart_it, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(is("running"));
	explore_check(tkw_timer_pending(run.t) == 1);
	explore_check(tkw_repeat_free(rep.r) == 0);
	close_repeat_timer();
}

/* --- run_once_now -------------------------------------------------------- */

static void *run_it_once(void *unused)
{
	unsigned before = rep.rounds;
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_repeat_run_once_now(rep.r);
	explore_check(err == 0 || err == 1);
	explore_check(err == 1 || rep.rounds > before);
	return unused;
}

/* No round after it, but for one that runs. */
static void *stop_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_stop(rep.r) == 0);
	if (!is("invoking"))
		rep.over = true;
	return unused;
}

/* SPEC 7.3: the pending round is made now, or by its firing, or not at all. */
void repeat_against_run_once(void)
{
	int a, b;

	open_repeat(NULL);
	a = explore_spawn("run once", run_it_once, NULL);
	b = explore_spawn("stop", stop_it, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(tkw_timer_pending(run.t) == 0);
	/* By its firing, and then, before the stop, the next one now. */
	explore_check(rep.rounds <= 2);
	explore_check(tkw_repeat_free(rep.r) == 0);
	close_repeat_timer();
}

/* --- free ---------------------------------------------------------------- */

static void *free_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_free(rep.r) == 0);
	return unused;
}

/* SPEC 7.5: freed while the round begins, runs or ends: the memory goes when
 * all have left. */
void repeat_against_free(void)
{
	int a;

	open_repeat(NULL);
	a = explore_spawn("free", free_it, NULL);
	explore_join(a);
	explore_await(&rep.destroyed, 1);
	explore_check(rep.rounds <= 1);
	close_repeat_timer();
}
