/* SPDX-License-Identifier: MIT */
/*
 * scenarios_repeat.c - a repeat every millisecond. When its first round is due,
 * two threads make calls.
 *
 * In each scenario, rounds and adjusts come one at a time, none comes after
 * on_end, and on_end comes once.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/repeat.h"

#define DUE_NS (EXPLORE_START_NS + TKW_MSEC)

static struct {
	struct tkw_repeat *r;
	unsigned busy; /* running rounds, adjusts and on_ends */
	unsigned rounds;
	unsigned broken;
	unsigned ends;
	unsigned offered;      /* jobs offered to the executor */
	bool over;             /* no round may begin any more */
	int64_t not_before_ns; /* no round may begin before this */
} rep;

static void on_round(struct tkw_repeat *r, void *ctx)
{
	(void)r;
	(void)ctx;
	explore_tell("round begins", rep.rounds);
	explore_check(rep.busy++ == 0);
	explore_check(rep.ends == 0);
	explore_check(!rep.over);
	explore_check(explore_now() >= rep.not_before_ns);
	rep.rounds++;
	explore_yield();
	explore_check(rep.ends == 0);
	rep.busy--;
	explore_tell("round ends", rep.rounds);
}

static int64_t on_adjust(struct tkw_repeat *r, int64_t interval_ns, void *ctx)
{
	(void)r;
	(void)ctx;
	explore_tell("adjust begins", interval_ns);
	explore_check(rep.busy++ == 0);
	explore_check(rep.ends == 0);
	explore_yield();
	rep.busy--;
	return interval_ns;
}

static void on_broken(struct tkw_repeat *r, int err, void *ctx)
{
	(void)r;
	(void)ctx;
	explore_tell("on_broken", err);
	explore_check(err == -ECANCELED);
	explore_check(rep.ends == 0);
	explore_check(rep.broken++ == 0);
	explore_yield();
}

static void on_end(struct tkw_repeat *r, void *ctx)
{
	(void)r;
	(void)ctx;
	explore_tell("on_end begins", rep.ends);
	explore_check(rep.busy++ == 0);
	explore_check(rep.ends == 0);
	explore_yield();
	rep.busy--;
	rep.ends++;
	explore_tell("on_end ends", rep.ends);
}

/* Makes and starts a repeat on the timer. */
static void start_repeat(int64_t (*adjust)(struct tkw_repeat *r,
					   int64_t interval_ns, void *ctx))
{
	struct tkw_repeat_config cfg = {
		.interval_ns = TKW_MSEC,
		.fn = on_round,
		.adjust = adjust,
		.on_broken = on_broken,
		.on_end = on_end,
	};

	memset(&rep, 0, sizeof(rep));
	cfg.timer = run.t;
	explore_check(tkw_repeat_create(&rep.r, &cfg) == 0);
	explore_check(tkw_repeat_start(rep.r) == 0);
}

static void open_repeat(int64_t (*adjust)(struct tkw_repeat *r,
					  int64_t interval_ns, void *ctx))
{
	open_timer(1);
	start_repeat(adjust);
}

/* Time goes on only when no thread can. So what has begun has ended then. */
static void let_it_end(void)
{
	explore_sleep_until(explore_now() + TKW_MSEC / 2);
}

/* The repeat is destroyed by now. on_end was called, and no chain is left. */
static void close_repeat_timer(void)
{
	let_it_end();
	explore_check(rep.busy == 0);
	explore_check(rep.ends == 1);
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	rep.over = true;
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	explore_check(tkw_timer_destroy(run.t) == 0);
	explore_check(rep.ends == 1);
}

/* flag is "running" or "invoking". */
static bool is(const char *flag)
{
	char text[64];

	explore_check(tkw_repeat_print(rep.r, text, sizeof(text)) > 0);
	return strstr(text, flag) != NULL;
}

/* --- shutdown ------------------------------------------------------------ */

static void *shut_it_down(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_shutdown(rep.r) == 0);
	return unused;
}

static void *pause_and_start(void *unused)
{
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_repeat_pause(rep.r);
	explore_check(err == 0 || err == -ESHUTDOWN);
	err = tkw_repeat_start(rep.r);
	explore_check(err == 0 || err == -ESHUTDOWN);
	return unused;
}

/* SPEC 7.5: on_end comes once, after a round that may be running. */
void repeat_against_shutdown(void)
{
	int a, b;

	open_repeat(NULL);
	a = explore_spawn("shutdown", shut_it_down, NULL);
	b = explore_spawn("pause start", pause_and_start, NULL);
	explore_join(a);
	explore_join(b);
	explore_await(&rep.ends, 1);
	explore_check(tkw_repeat_shutdown(rep.r) == 0);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	close_repeat_timer();
}

/* --- one chain ----------------------------------------------------------- */

/* SPEC 7.3, 7.4: two threads pause and start the repeat while a round runs.
 * After the round, one chain goes on. */
void repeat_against_starts(void)
{
	int a, b;

	open_repeat(NULL);
	a = explore_spawn("pause start a", pause_and_start, NULL);
	b = explore_spawn("pause start b", pause_and_start, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(rep.busy == 0);
	/* The last call of the two was a start. */
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	close_repeat_timer();
}

/* The next round comes a full interval from now, unless a round is running. */
static void *restart_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_restart(rep.r) == 0);
	if (!is("invoking"))
		rep.not_before_ns = explore_now() + TKW_MSEC;
	return unused;
}

/* SPEC 7.3, 7.4: if a firing has begun when its round is moved, it is a stray.
 * It makes no round, and no second chain. */
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
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	close_repeat_timer();
}

/* --- a round is dropped -------------------------------------------------- */

static int refuse_first(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	explore_yield();
	if (rep.offered++ == 0)
		return -EAGAIN;
	job->run(job);
	return 0;
}

/* SPEC 4.8, 7.4: the executor drops the round while it is moved. The restart
 * counts, whether the drop comes before it or belongs to a stray. */
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
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	close_repeat_timer();
}

/* --- a round at once ----------------------------------------------------- */

/* A round begins after this call, before time goes on. */
static void *start_it_now(void *at_least)
{
	unsigned *rounds = at_least;

	explore_sleep_until(DUE_NS);
	*rounds = rep.rounds + 1;
	explore_check(tkw_repeat_start_now(rep.r) == 0);
	return NULL;
}

/* SPEC 7.2, 7.4: start_now is called while the pending round is due, runs, or
 * asks for the next delay. One round comes, in one chain. */
void repeat_against_start_now(void)
{
	unsigned least[2];
	int a, b;

	open_repeat(on_adjust);
	a = explore_spawn("start now a", start_it_now, &least[0]);
	b = explore_spawn("start now b", start_it_now, &least[1]);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(rep.busy == 0);
	explore_check(rep.rounds >= least[0] && rep.rounds >= least[1]);
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	close_repeat_timer();
}

/* --- run_now ------------------------------------------------------------- */

static void *run_it_now(void *unused)
{
	unsigned before = rep.rounds;
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_repeat_run_now(rep.r);
	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	explore_check(err != 0 || rep.rounds > before);
	return unused;
}

/* After this no round begins, but one may still be running. */
static void *pause_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_pause(rep.r) == 0);
	if (!is("invoking"))
		rep.over = true;
	return unused;
}

/* SPEC 7.3: run_now or the firing makes the pending round, or none does. */
void repeat_against_run_now(void)
{
	int a, b;

	open_repeat(NULL);
	a = explore_spawn("run now", run_it_now, NULL);
	b = explore_spawn("pause", pause_it, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(tkw_timer_count(run.t) == 0);
	/* The firing may make one, and run_now the next one before the
	 * pause. */
	explore_check(rep.rounds <= 2);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	close_repeat_timer();
}

/* --- destroy ------------------------------------------------------------- */

/* After destroy has returned, no callback is called. */
static void *destroy_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_destroy(rep.r) == 0);
	explore_check(rep.busy == 0 && rep.ends == 1);
	rep.over = true;
	return unused;
}

/* SPEC 7.5: destroy comes while the round begins, runs, asks for the next delay
 * or ends. Destroy waits for the round, and for on_end. */
void repeat_against_destroy(void)
{
	int a;

	open_repeat(on_adjust);
	a = explore_spawn("destroy", destroy_it, NULL);
	explore_join(a);
	explore_check(rep.rounds <= 1);
	close_repeat_timer();
}

static void *restart_and_destroy(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_repeat_restart(rep.r) == 0);
	return destroy_it(unused);
}

/* SPEC 7.5: a firing that has begun reaches a repeat that is being destroyed.
 * The memory is freed only when the firing has left. */
void repeat_against_free(void)
{
	int a;

	open_repeat(NULL);
	a = explore_spawn("restart destroy", restart_and_destroy, NULL);
	explore_join(a);
	explore_check(rep.rounds <= 1);
	close_repeat_timer();
}
