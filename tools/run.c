/* SPDX-License-Identifier: MIT */
/*
 * run.c - runs a command at planned times, for `tkw after`, `every` and `cron`.
 *
 * One thread does everything: it sleeps until a time is due, a command has
 * ended, or a signal has come.
 *
 *   Clock    `after` and `every` count on CLOCK_MONOTONIC, from the start and
 *            not from the last run, so they do not drift. `cron` counts on
 *            CLOCK_REALTIME, and a step of that clock wakes it up.
 *   Once     The next time is later than the last planned time, also when the
 *            clock was set back. So no planned time comes twice.
 *   Group    If standard input is a terminal, the command stays in the process
 *            group of tkw, so that it can read from the terminal, and Ctrl-C
 *            and Ctrl-Z reach both. Otherwise it gets a group of its own, so
 *            that a signal reaches everything that it has started.
 *   Signals  SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGWINCH
 *            are passed on, unless the terminal has sent them to the command
 *            already. The first four also end tkw as soon as no command runs. A
 *            second one kills the commands, but not SIGHUP, which often comes
 *            twice.
 */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "tool.h"
#include "tool_child.h"
#include "tool_signals.h"

#define MS INT64_C(1000000) /* in ns */
/* The last time that cron waits for, in the year 2162. Even with the longest
 * jitter, it fits into an int64_t in ns. */
#define LAST_MS (INT64_MAX / MS - RUN_MAX_MS)

enum {
	/* Counting missed times must not take long. */
	MAX_MISSED = 10000
};

struct runner {
	const struct run_options *o;
	struct run_child *children; /* [places] */
	size_t places;
	size_t running;
	uint64_t started;
	clockid_t clock;
	int alarm;         /* a timerfd */
	int64_t due_ns;    /* the planned time, on the clock */
	int64_t spread_ns; /* the jitter of this time */
	int64_t ahead_ns;  /* the wall clock, of the monotonic clock */
	bool has_due;      /* a time is planned */
	bool shares;       /* the process group, with the commands */
	bool closing;      /* start nothing any more */
	bool has_ended;    /* a command has ended */
	int wait_status;   /* of the last one that has ended */
	int signal;        /* that ended tkw, or 0 */
	int status;        /* exit status, if the command cannot be run */
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

/* Returns a random time from 0 to less than max_ms, in ns. */
static int64_t spread(int64_t max_ms)
{
	uint64_t dice;

	if (max_ms <= 0 || getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
		return 0;
	return (int64_t)(dice % (uint64_t)max_ms) * MS +
	       (int64_t)((dice >> 40) % (uint64_t)MS);
}

/* Returns the planned time by the wall clock. The distance of the two clocks is
 * kept until the wall clock is stepped, so that the times stay a period
 * apart. */
static int64_t planned_ms(struct runner *k)
{
	int64_t ahead_ns;

	if (k->clock == CLOCK_REALTIME)
		return k->due_ns / MS;
	ahead_ns = now_ns(CLOCK_REALTIME) - now_ns(k->clock);
	if (llabs(ahead_ns - k->ahead_ns) > 1000 * MS)
		k->ahead_ns = ahead_ns;
	return (k->due_ns + k->ahead_ns) / MS;
}

/* --- planning ------------------------------------------------------------ */

static void set_alarm(const struct runner *k)
{
	int64_t at_ns = k->due_ns + k->spread_ns;
	struct itimerspec when = { .it_value = { 0, 0 } };
	int flags = TFD_TIMER_ABSTIME;

	if (k->clock == CLOCK_REALTIME)
		flags |= TFD_TIMER_CANCEL_ON_SET;
	if (k->has_due) {
		at_ns = at_ns > 0 ? at_ns : 1; /* 0 would switch it off */
		when.it_value.tv_sec = (time_t)(at_ns / (1000 * MS));
		when.it_value.tv_nsec = (long)(at_ns % (1000 * MS));
	}
	(void)timerfd_settime(k->alarm, flags, &when, NULL);
}

static void plan(struct runner *k, int64_t due_ns)
{
	k->due_ns = due_ns;
	k->spread_ns = spread(k->o->jitter_ms);
	k->has_due = true;
	run_tell_planned(k->o, planned_ms(k));
	set_alarm(k);
}

/* Plans the time after the last one. It may have come meanwhile: then fire()
 * finds the latest one. */
static void plan_next(struct runner *k)
{
	const struct run_calendar *c = k->o->calendar;
	int64_t next_ms = 0;
	char time[RUN_TIME];

	k->has_due = false;
	if (k->closing)
		return;
	if (!c) {
		plan(k, k->due_ns + k->o->period_ms * MS);
		return;
	}
	if (c->next(c->ctx, k->due_ns / MS, &next_ms)) {
		tool_complain("%s: the plan has no later time", k->o->name);
	} else if (next_ms > LAST_MS) {
		c->print(c->ctx, next_ms, time);
		tool_complain("%s: the next time, %s, is too far away",
			      k->o->name, time);
	} else {
		plan(k, next_ms * MS);
		return;
	}
	k->closing = true;
	if (k->started == 0)
		k->status = TOOL_EXIT_FAILURE;
}

static void plan_first(struct runner *k)
{
	k->due_ns = now_ns(k->clock) + k->o->delay_ms * MS;
	if (k->o->now)
		plan(k, k->due_ns);
	else
		plan_next(k);
}

/* --- running ------------------------------------------------------------- */

enum {
	VARIABLES = 4,
	VARIABLE = 320
};

static int spawn(struct runner *k, struct run_child *c)
{
	char text[VARIABLES][VARIABLE], time[RUN_TIME];
	const char *list[VARIABLES + 1] = { text[0], text[1], text[2], text[3],
					    NULL };
	struct tool_child how = { .words = k->o->words,
				  .variables = list,
				  .input = STDIN_FILENO,
				  .own_group = !k->shares };

	run_print_time(k->o, c->planned_ms, time);
	(void)snprintf(text[0], VARIABLE, "TKW_PLANNED=%s", time);
	(void)snprintf(text[1], VARIABLE, "TKW_PLANNED_MS=%" PRId64,
		       c->planned_ms);
	(void)snprintf(text[2], VARIABLE, "TKW_RUN=%" PRIu64, c->number);
	(void)snprintf(text[3], VARIABLE, "TKW_PLAN");
	if (k->o->calendar)
		(void)snprintf(text[3], VARIABLE, "TKW_PLAN=%s",
			       k->o->calendar->text);
	return tool_child_start(&how, &c->pid);
}

static void start(struct runner *k)
{
	struct run_child *c = k->children;
	int64_t late_ns = now_ns(k->clock) - k->due_ns;
	int r;

	while (c->pid)
		c++;
	c->number = k->started + 1;
	c->planned_ms = planned_ms(k);
	c->start_ns = now_ns(CLOCK_MONOTONIC);
	r = spawn(k, c);
	if (r) {
		c->pid = 0;
		k->status = tool_child_fail(k->o->name, k->o->words[0], r);
		k->closing = true;
		return;
	}
	k->running++;
	k->started++;
	run_tell_started(k->o, c, late_ns / MS);
	if (k->o->times && k->started >= k->o->times)
		k->closing = true;
}

/* Counts the times of a plan from one of them to before a later one. */
static uint64_t count_missed(const struct run_calendar *c, int64_t from_ms,
			     int64_t to_ms)
{
	uint64_t count = 0;

	while (count < MAX_MISSED && from_ms < to_ms &&
	       !c->next(c->ctx, from_ms, &from_ms))
		count++;
	return count;
}

/* Several times may be due, after a stall. Moves on to the latest of them.
 * Returns false if that one is missed too, and shall not run. */
static bool find_latest(struct runner *k, int64_t at_ns)
{
	const struct run_calendar *c = k->o->calendar;
	int64_t first_ms = planned_ms(k);
	/* A time may be as late as the longest jitter. Its own may be short,
	 * but that of the time before has held it up. */
	int64_t since_ns = at_ns - k->o->jitter_ms * MS;
	int64_t latest_ms;
	uint64_t missed = 0;

	if (!c && k->o->period_ms > 0 && since_ns > k->due_ns) {
		missed = (uint64_t)((since_ns - k->due_ns) /
				    (k->o->period_ms * MS));
		k->due_ns += (int64_t)missed * k->o->period_ms * MS;
	} else if (c && !c->previous(c->ctx, since_ns / MS + 1, &latest_ms) &&
		   latest_ms > first_ms) {
		missed = count_missed(c, first_ms, latest_ms);
		k->due_ns = latest_ms * MS;
	}
	if (missed)
		run_tell_skipped(k->o, first_ms, missed, "missed");
	if (!c || !k->o->skip_missed ||
	    (since_ns - k->due_ns) / MS <= k->o->grace_ms)
		return true;
	run_tell_skipped(k->o, planned_ms(k), 1, "missed");
	return false;
}

/* A planned time may be due. */
static void fire(struct runner *k)
{
	int64_t at_ns = now_ns(k->clock);
	uint64_t count;

	if (read(k->alarm, &count, sizeof(count)) < 0 && errno == ECANCELED)
		set_alarm(k);
	if (!k->has_due || k->closing || at_ns < k->due_ns + k->spread_ns)
		return;
	if (find_latest(k, at_ns)) {
		if (k->running == k->places)
			run_tell_skipped(k->o, planned_ms(k), 1, "overlap");
		else
			start(k);
	}
	plan_next(k);
}

/* --- ending -------------------------------------------------------------- */

static bool is_enough(const struct runner *k)
{
	if (k->o->until == RUN_UNTIL_SUCCESS)
		return k->wait_status == 0;
	return k->o->until == RUN_UNTIL_FAILURE && k->wait_status != 0;
}

/* Collects the commands that have ended. */
static void reap(struct runner *k)
{
	for (size_t i = 0; i < k->places; i++) {
		struct run_child *c = &k->children[i];
		int status;

		if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
			continue;
		run_tell_ended(k->o, c, status,
			       (now_ns(CLOCK_MONOTONIC) - c->start_ns) / MS);
		c->pid = 0;
		k->running--;
		k->has_ended = true;
		k->wait_status = status;
		if (is_enough(k))
			k->closing = true;
	}
}

static void pass(const struct runner *k, int sig)
{
	for (size_t i = 0; i < k->places; i++) {
		pid_t pid = k->children[i].pid;

		if (pid)
			(void)kill(k->shares ? pid : -pid, sig);
	}
}

static bool is_passed_only(int sig)
{
	return sig == SIGUSR1 || sig == SIGUSR2 || sig == SIGWINCH;
}

static void on_signal(struct runner *k, int sig)
{
	bool has_it = k->shares && tool_signals_by_terminal();

	if (sig == SIGCHLD)
		return;
	if (sig == SIGTSTP) {
		if (!has_it)
			pass(k, sig);
		tool_signals_stop();
		pass(k, SIGCONT);
		return;
	}
	if (k->signal && sig != SIGHUP && !is_passed_only(sig))
		pass(k, SIGKILL);
	else if (!has_it)
		pass(k, sig);
	if (is_passed_only(sig))
		return;
	/* A command that is stopped cannot end before it goes on. */
	pass(k, SIGCONT);
	k->closing = true;
	if (!k->signal)
		k->signal = sig;
}

/* Returns the exit status of tkw. */
static int finish(const struct runner *k)
{
	bool killed = k->has_ended && WIFSIGNALED(k->wait_status);
	bool once = !strcmp(k->o->name, "after");

	if (k->status)
		return k->status;
	if (k->signal &&
	    !(once && k->has_ended &&
	      (!killed || WTERMSIG(k->wait_status) != k->signal))) {
		interrupt_note(k->signal);
		return TOOL_EXIT_OK;
	}
	if (killed)
		return 128 + WTERMSIG(k->wait_status);
	return k->has_ended ? WEXITSTATUS(k->wait_status) : TOOL_EXIT_OK;
}

static int run(struct runner *k)
{
	plan_first(k);
	while (!k->closing || k->running > 0) {
		int sig;

		(void)tool_signals_wait(k->closing ? -1 : k->alarm, -1);
		while ((sig = tool_signals_next()) != 0)
			on_signal(k, sig);
		reap(k);
		fire(k);
	}
	return finish(k);
}

int run_command(const struct run_options *o)
{
	struct runner k = { .o = o,
			    .places = o->allow ? RUN_MAX_AT_ONCE : 1,
			    .clock = o->calendar ? CLOCK_REALTIME
						 : CLOCK_MONOTONIC,
			    .shares = isatty(STDIN_FILENO) };
	int r = tool_child_find(o->words[0]);

	if (r)
		return tool_child_fail(o->name, o->words[0], r);
	r = tool_signals_open(TOOL_SIGNALS_PASS);
	k.alarm = timerfd_create(k.clock, TFD_CLOEXEC | TFD_NONBLOCK);
	k.children = calloc(k.places, sizeof(*k.children));
	if (r || k.alarm < 0 || !k.children) {
		tool_complain("%s: %s", o->name, strerror(r ? -r : errno));
		r = TOOL_EXIT_FAILURE;
	} else {
		r = run(&k);
	}
	free(k.children);
	if (k.alarm >= 0)
		(void)close(k.alarm);
	return r;
}
