/* SPDX-License-Identifier: MIT */
/*
 * queue_work.c - `tkw queue FILE work`: runs a command for each item.
 *
 * One thread does everything: it sleeps until an item can be taken, a command
 * has ended, a lease must be extended, or a signal has come.
 *
 *   Result   Exit status 0 acknowledges the item. Any other end is a nack, with
 *            the end as its reason.
 *   Leases   They are extended when a third of them is over.
 *   Signals  SIGHUP, SIGINT, SIGQUIT and SIGTERM are passed to the commands
 *            that run. Nothing is taken any more, and when the last command has
 *            ended `work` ends by the same signal. Items whose commands fail
 *            now are ready again at once. A second signal kills the commands.
 *            SIGTSTP stops the commands and `work`. When `work` goes on, so do
 *            they.
 *   Owner    If the process that has the file open goes away, another way is
 *            opened. A claim stays valid over this.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "interrupt.h"
#include "queue_job.h"
#include "queue_tool.h"
#include "tool.h"
#include "tool_child.h"

/* A command that runs. pid 0: a free place. */
struct job {
	pid_t pid;
	struct tkw_claim claim;
	uint32_t attempt;
	int wait_status;   /* how it has ended */
	int64_t extend_ms; /* when to extend the lease; INT64_MAX: it is lost */
};

struct work {
	struct queue_session *s;
	const struct queue_options *o;
	struct job *jobs; /* [o->jobs] */
	uint64_t running;
	uint64_t started;
	int64_t lease_ms;
	/* The take that waits: its descriptor, and the way it was begun on. */
	int take_fd; /* -1: none */
	unsigned take_opened;
	int64_t idle_ms; /* since when nothing runs */
	bool closing;    /* take nothing any more */
	int signal;      /* that ended it, or 0 */
	int status;      /* exit status */
	bool unsettled;  /* the result of a command did not get to the queue */
	/* Room for the commands that have ended, and for claims of one call. */
	struct job *ended;
	struct tkw_claim *claims;
	int *done;
};

int queue_work_check(const struct queue_options *o)
{
	int r = tool_child_find(o->words[0]);

	return r ? tool_child_fail("work", o->words[0], r) : 0;
}

/* --- results ------------------------------------------------------------- */

/* Looks at the result of a call. If the queue cannot be reached any more, there
 * is nothing left to do but to let the commands end. */
static void check(struct work *k, const char *what, int r)
{
	if (r >= 0)
		return;
	k->closing = true;
	if (r == -EINTR)
		return; /* the signal is read later */
	(void)queue_session_fail(k->s, what, r);
	k->status = TOOL_EXIT_FAILURE;
}

static void complain_stale(const struct tkw_claim *claim)
{
	tool_complain("work: item %" PRIu64 ": its lease was lost, and it may "
		      "be worked on elsewhere",
		      claim->id.bits);
}

static bool has_succeeded(const struct job *j)
{
	return WIFEXITED(j->wait_status) && WEXITSTATUS(j->wait_status) == 0;
}

/* Prints how a command has ended. done: its item is acknowledged. */
static void report(const struct work *k, const struct job *j, bool done)
{
	char end[40];

	tool_child_word(end, sizeof(end), j->wait_status);
	if (k->o->json) {
		(void)printf("{\"id\":%" PRIu64 ",\"token\":%" PRIu64
			     ",\"attempt\":%" PRIu32
			     ",\"done\":%s,\"end\":\"%s\"}\n",
			     j->claim.id.bits, j->claim.token, j->attempt,
			     done ? "true" : "false", end);
		(void)tool_flush();
	} else if (!has_succeeded(j)) {
		tool_complain("work: item %" PRIu64 ", attempt %" PRIu32 ": %s",
			      j->claim.id.bits, j->attempt, end);
	}
}

/* Acknowledges the items of commands that have succeeded, with one call. */
static void ack(struct work *k, const struct job *good, size_t count)
{
	int r = -ECONNRESET;

	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		k->claims[i] = good[i].claim;
	if (k->s->way) {
		QUEUE_CALL(
			r, k->s,
			k->s->ops->ack(k->s->way, k->claims, count, k->done));
		check(k, "ack", r);
	}
	for (size_t i = 0; i < count; i++) {
		bool done = r >= 0 && k->done[i] == 1;

		if (r >= 0 && !done)
			complain_stale(&good[i].claim);
		if (!done)
			k->unsettled = true;
		report(k, &good[i], done);
	}
}

/* at_once: nothing is wrong with the item, so it does not wait. */
static void nack(struct work *k, const struct tkw_claim *claim,
		 const char *reason, bool at_once)
{
	struct tkw_nack how = { .has_delay = at_once || k->o->has_delay,
				.delay_ms = at_once ? 0 : k->o->delay_ms,
				.reason = reason };
	int r = -ECONNRESET, done = 0;

	if (k->s->way) {
		QUEUE_CALL(r, k->s,
			   k->s->ops->nack(k->s->way, claim, 1, &how, &done));
		check(k, "nack", r);
	}
	if (r == 0)
		complain_stale(claim);
	if (done != 1)
		k->unsettled = true;
}

/* A command has failed. */
static void give_back(struct work *k, const struct job *j)
{
	char end[40], reason[80];

	tool_child_word(end, sizeof(end), j->wait_status);
	(void)snprintf(reason, sizeof(reason), "%s%s", end,
		       k->signal ? ", work was ended" : "");
	nack(k, &j->claim, reason, k->signal != 0);
	report(k, j, false);
}

/* Collects the commands that have ended. Those that succeeded share an ack. */
static void reap(struct work *k)
{
	size_t good = 0;

	for (uint64_t i = 0; i < k->o->jobs; i++) {
		struct job *j = &k->jobs[i];

		if (j->pid == 0 ||
		    waitpid(j->pid, &j->wait_status, WNOHANG) != j->pid)
			continue;
		j->pid = 0;
		k->running--;
		k->idle_ms = queue_steady_ms();
		if (has_succeeded(j))
			k->ended[good++] = *j;
		else
			give_back(k, j);
	}
	ack(k, k->ended, good);
}

/* --- leases -------------------------------------------------------------- */

static struct job *find_job(struct work *k, const struct tkw_claim *claim)
{
	for (uint64_t i = 0; i < k->o->jobs; i++) {
		if (k->jobs[i].pid &&
		    k->jobs[i].claim.id.bits == claim->id.bits &&
		    k->jobs[i].claim.token == claim->token)
			return &k->jobs[i];
	}
	return NULL;
}

/* Extends the leases of which a third is over. */
static void extend(struct work *k)
{
	int64_t now_ms = queue_steady_ms();
	size_t count = 0;
	int r;

	for (uint64_t i = 0; i < k->o->jobs; i++) {
		struct job *j = &k->jobs[i];

		if (!j->pid || now_ms < j->extend_ms)
			continue;
		j->extend_ms = now_ms + k->lease_ms / 3;
		k->claims[count++] = j->claim;
	}
	if (count == 0 || !k->s->way)
		return;
	QUEUE_CALL(r, k->s,
		   k->s->ops->extend(k->s->way, k->claims, count, k->lease_ms,
				     k->done));
	check(k, "extend", r);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct job *j = find_job(k, &k->claims[i]);

		if (k->done[i] || !j)
			continue;
		complain_stale(&j->claim);
		j->extend_ms = INT64_MAX;
	}
}

/* --- starting ------------------------------------------------------------ */

/* The command could not be started. */
static void fail_start(struct work *k, const struct tkw_item *item, int r)
{
	int status = tool_child_fail("work", k->o->words[0], r);

	nack(k, &item->claim, "the command cannot be run", true);
	k->closing = true;
	k->status = status;
}

static void start(struct work *k, const struct tkw_item *item)
{
	struct job *j = k->jobs;
	int r;

	while (j->pid)
		j++;
	if (k->signal || k->status) {
		nack(k, &item->claim, "work was ended", true);
		return;
	}
	r = queue_job_start(k->o, item, &j->pid);
	if (r) {
		j->pid = 0;
		fail_start(k, item, r);
		return;
	}
	j->claim = item->claim;
	j->attempt = item->attempts;
	j->extend_ms = queue_steady_ms() + k->lease_ms / 3;
	k->running++;
	k->started++;
	if (k->o->count && k->started >= k->o->count)
		k->closing = true;
}

static void start_all(struct work *k, struct queue_items *items)
{
	for (size_t i = 0; items->list && i < items->list->count; i++)
		start(k, &items->list->item[i]);
	queue_items_free(items);
}

static uint64_t count_wanted(const struct work *k)
{
	uint64_t n = k->o->jobs - k->running;

	if (k->closing || !k->s->way)
		return 0;
	if (k->o->count && n > k->o->count - k->started)
		n = k->o->count - k->started;
	return n;
}

/* Takes what is there now. Returns false if all places are busy, or if nothing
 * may be taken any more. */
static bool take_now(struct work *k)
{
	struct tkw_take how = { .lease_ms = k->lease_ms };
	struct queue_items items = { NULL, NULL };
	int r;

	while (count_wanted(k) > 0) {
		how.max_items = (uint32_t)count_wanted(k);
		QUEUE_CALL(r, k->s, k->s->ops->take(k->s->way, &how, &items));
		check(k, "take", r);
		if (r <= 0)
			break;
		start_all(k, &items);
	}
	return count_wanted(k) > 0;
}

/* Takes items, if there is a free place and no take waits yet. If there are
 * none, begins a take that waits. */
static void take(struct work *k)
{
	struct tkw_take how = { .lease_ms = k->lease_ms };
	int fd;

	if (k->take_opened != k->s->opened)
		k->take_fd = -1;
	if (k->take_fd >= 0 || !take_now(k))
		return;
	if (k->o->wait_ms == 0) {
		k->closing = k->running == 0;
		return;
	}
	how.max_items = (uint32_t)count_wanted(k);
	QUEUE_CALL(fd, k->s, k->s->ops->take_begin(k->s->way, &how));
	check(k, "take", fd);
	k->take_fd = fd < 0 ? -1 : fd;
	k->take_opened = k->s->opened;
}

/* Items have come, or the owner has gone. */
static void end_take(struct work *k)
{
	struct queue_items items = { NULL, NULL };
	int r = k->s->ops->take_end(k->s->way, &items);

	if (r == -EAGAIN)
		return;
	k->take_fd = -1;
	if (r >= 0)
		start_all(k, &items);
	else if (!queue_session_again(k->s, r))
		check(k, "take", r);
}

/* Ends the take that waits. What it took in the last moment is worked on, or
 * given back if a signal ends the work. */
static void cancel_take(struct work *k)
{
	struct queue_items items = { NULL, NULL };

	if (k->take_fd < 0)
		return;
	k->take_fd = -1;
	if (k->s->way && k->take_opened == k->s->opened &&
	    k->s->ops->take_cancel(k->s->way, &items) > 0)
		start_all(k, &items);
}

/* --- the loop ------------------------------------------------------------ */

static void kill_all(const struct work *k, int sig)
{
	for (uint64_t i = 0; i < k->o->jobs; i++) {
		if (k->jobs[i].pid)
			(void)kill(-k->jobs[i].pid, sig);
	}
}

/* Returns when somebody lets this process go on. Until then others get the
 * items: here they would only lose their leases. */
static void stop(struct work *k)
{
	cancel_take(k);
	kill_all(k, SIGTSTP);
	tool_signals_stop();
	kill_all(k, SIGCONT);
}

static void on_signal(struct work *k, int sig)
{
	if (sig == SIGCHLD)
		return;
	if (sig == SIGTSTP) {
		stop(k);
		return;
	}
	/* The first signal is passed on. The second one kills, but not SIGHUP,
	 * which often comes twice when a terminal closes. */
	kill_all(k, k->signal && sig != SIGHUP ? SIGKILL : sig);
	/* A command that is stopped cannot end before it goes on. */
	kill_all(k, SIGCONT);
	k->closing = true;
	if (!k->signal)
		k->signal = sig;
}

static void read_signals(struct work *k)
{
	int sig;

	while ((sig = tool_signals_next()) != 0)
		on_signal(k, sig);
}

/* Returns how long to sleep, in ms; -1 means without a limit. */
static int64_t count_sleep(const struct work *k)
{
	int64_t now_ms = queue_steady_ms();
	int64_t until_ms = INT64_MAX;

	for (uint64_t i = 0; i < k->o->jobs; i++) {
		const struct job *j = &k->jobs[i];

		if (j->pid && j->extend_ms < until_ms)
			until_ms = j->extend_ms;
	}
	if (k->running == 0 && k->o->wait_ms < INT64_MAX - k->idle_ms &&
	    k->idle_ms + k->o->wait_ms < until_ms)
		until_ms = k->idle_ms + k->o->wait_ms;
	if (until_ms == INT64_MAX)
		return -1;
	return until_ms > now_ms ? until_ms - now_ms : 0;
}

/* Has it waited for an item as long as it may? */
static bool is_idle(const struct work *k)
{
	return k->running == 0 && k->o->wait_ms != INT64_MAX &&
	       queue_steady_ms() - k->idle_ms >= k->o->wait_ms;
}

static void turn(struct work *k)
{
	/* Nothing is taken while all places are busy. */
	int fd = count_wanted(k) ? k->take_fd : -1;
	int r = tool_signals_wait(fd, count_sleep(k));

	read_signals(k);
	reap(k);
	extend(k);
	if (r == 1 && k->take_fd >= 0 && k->take_opened == k->s->opened &&
	    k->s->way)
		end_take(k);
	else if (r == 0 && is_idle(k))
		k->closing = true;
}

static void run(struct work *k)
{
	k->idle_ms = queue_steady_ms();
	for (;;) {
		take(k);
		if (k->closing)
			cancel_take(k);
		if (k->closing && k->running == 0)
			break;
		turn(k);
	}
	/* A call that a signal has ended does not read it. */
	read_signals(k);
}

int queue_work(struct queue_session *s, const struct queue_options *o,
	       struct queue_words *w)
{
	struct work k = { .s = s, .o = o, .take_fd = -1 };

	(void)w;
	s->insist = true;
	k.lease_ms = o->lease_ms ? o->lease_ms : TKW_QUEUE_DEFAULT_LEASE_MS;
	k.jobs = calloc(o->jobs, sizeof(*k.jobs));
	k.ended = calloc(o->jobs, sizeof(*k.ended));
	k.claims = calloc(o->jobs, sizeof(*k.claims));
	k.done = calloc(o->jobs, sizeof(*k.done));
	if (k.jobs && k.ended && k.claims && k.done)
		run(&k);
	else
		k.status = queue_session_fail(s, "work", -ENOMEM);
	if (k.signal)
		interrupt_note(k.signal);
	if (k.unsettled && !k.status)
		k.status = TOOL_EXIT_FAILURE;
	free(k.jobs);
	free(k.ended);
	free(k.claims);
	free(k.done);
	return k.status;
}
