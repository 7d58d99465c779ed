/* SPDX-License-Identifier: MIT */
/*
 * channel.c - sets of channels, and the sweeps that look at them.
 *
 * Idea:       a set is a list of channels, with new ones at the tail, and a
 *             sweep for each kind of action. A sweep goes through the list from
 *             head to tail once in a period; that is a pass. A pass is cut into
 *             steps. A step is a task of the timer, and looks at STEP channels
 *             at most. Step i of a pass is due at
 *                 start + i * (period / spread)
 *             where spread is the largest number of steps of a pass since the
 *             set was last empty. A channel only moves towards the head, so it
 *             is not looked at later in a pass than in the one before, and
 *             there is at most a period from look to look.
 *
 * States:     RESTING  nothing of the sweep is on the timer: no channels, or
 *                      refused
 *             ARMED    its next step is on the timer, or has begun and not
 *                      taken the lock yet
 *             In both states a sweep may also be running, which means that a
 *             thread is in one of its steps.
 *
 * Invariants:
 * (I1) A sweep has at most one timeout whose step has not taken the lock yet.
 *      While it has one, it is armed, and `id` is that timeout.
 * (I2) cursor is NULL or in the list.
 * (I3) current is not NULL while an action runs for a channel, unless the
 *      action has removed it. It is compared, never dereferenced, because the
 *      channel may be out of the list.
 * (I4) No two sweeps have the same current. If an action of another sweep runs
 *      for a channel, a sweep leaves it out until its next pass. So a sweep
 *      never waits.
 *
 * Threads:    everything is under the lock, except `inside` and the marks,
 *             which are relaxed stores into the channel. A thread that removes
 *             a channel while an action runs for it takes it out first, and
 *             then waits at the bell. So if two threads remove it, only one
 *             succeeds. Inside the action itself there is nothing to wait for.
 *             The innermost frame of the thread tells whether it is there. A
 *             call by the timer counts as `inside` from before it takes the
 *             lock until it has dropped it. destroy waits for the timeout of
 *             (I1) by its id, and for the others by `inside`, so it never frees
 *             a lock that a thread still looks at.
 */
#include "tickwheel/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "base/bits.h"
#include "base/config.h"
#include "base/ns.h"
#include "os/bell.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/memory.h"
#include "os/rundown.h"
#include "os/sync.h"
#include "timer/for_patterns.h"

enum {
	STEP = 256
};
#define LEAST_PERIOD_NS TKW_SEC
#define LEAST_RECONNECT_NS (60 * TKW_SEC)

struct sweep {
	/* Set by create; only read afterwards. */
	struct tkw_channels *set;
	/* Its fn is NULL if there is no such action. */
	struct tkw_channel_rule rule;
	int kind;

	struct tkw_timeout_id id; /* timeout that was scheduled last */
	bool armed;
	int64_t due_ns;   /* when the next step is due */
	int64_t start_ns; /* when the pass of that step began */
	uint64_t index;   /* number of that step in the pass */
	uint64_t steps;   /* steps of this pass */
	uint64_t spread;
	struct tkw_channel *cursor;  /* the next channel of this pass */
	struct tkw_channel *current; /* the channel whose action runs */
	bool running;                /* a step is running */

	uint64_t looks;
	uint64_t calls;
	uint64_t failed;
	uint64_t done; /* steps made */
	uint64_t refused;
};

struct tkw_channels {
	/* Set by create; only read afterwards. */
	struct tkw_timer *timer;
	void *ctx;
	uint32_t epoch; /* the process that made the set; see fork.h */
	bool mark_on_add;

	struct tkw__lock lock;
	struct tkw__bell bell; /* rings when an action ends */
	bool closed;           /* shut down */
	struct tkw_channel *head;
	struct tkw_channel *tail;
	uint64_t count;
	uint64_t max_looks;
	struct sweep sweeps[TKW_CHANNEL_KINDS];
	struct tkw__rundown inside; /* calls by the timer */
};

static bool is_over(struct tkw_channels *set)
{
	return set->closed || tkw_timer_is_stopped(set->timer);
}

/* Every call by the timer begins with enter() and ends with leave(). */
static void enter(struct tkw_channels *set)
{
	bool open = tkw__rundown_enter(&set->inside);

	/* Until here destroy waits for the timeout by its id. */
	assert(open);
	(void)open;
	tkw__lock_take(&set->lock);
}

static void leave(struct tkw_channels *set)
{
	tkw__lock_drop(&set->lock);
	tkw__rundown_leave(&set->inside);
}

/* --- marks --------------------------------------------------------------- */

/* The header has plain fields, because C++ reads it too. */
_Static_assert(offsetof(struct tkw_channel, read_ns) % sizeof(int64_t) == 0 &&
		       _Alignof(struct tkw_channel) >= sizeof(int64_t),
	       "a stamp is read and written in one piece");
static struct tkw__a64 *stamp_of(int64_t *ns)
{
	return (struct tkw__a64 *)(void *)ns;
}

static struct tkw__a32 *flag_of(uint32_t *flag)
{
	return (struct tkw__a32 *)(void *)flag;
}

static void mark(int64_t *stamp, int64_t now_ns)
{
	TKW__STORE(stamp_of(stamp), (uint64_t)now_ns, RELAXED);
}

void tkw_channel_mark_read(struct tkw_channel *ch, int64_t now_ns)
{
	if (ch)
		mark(&ch->read_ns, now_ns);
}

void tkw_channel_mark_write(struct tkw_channel *ch, int64_t now_ns)
{
	if (ch)
		mark(&ch->write_ns, now_ns);
}

void tkw_channel_mark_connected(struct tkw_channel *ch, int connected)
{
	if (ch)
		TKW__STORE(flag_of(&ch->connected), connected != 0, RELAXED);
}

static bool is_old(int64_t *stamp, int64_t now_ns, int64_t interval_ns)
{
	int64_t at = (int64_t)TKW__LOAD(stamp_of(stamp), RELAXED);

	/* Negative times must not get into the subtraction. */
	return at > 0 && at < now_ns && now_ns - at > interval_ns;
}

static bool is_due(const struct sweep *s, struct tkw_channel *ch,
		   int64_t now_ns)
{
	int64_t interval_ns = s->rule.interval_ns;

	if (is_old(&ch->read_ns, now_ns, interval_ns))
		return true;
	if (s->kind == TKW_CHANNEL_RECONNECT)
		return TKW__LOAD(flag_of(&ch->connected), RELAXED) == 0;
	return is_old(&ch->write_ns, now_ns, interval_ns);
}

/* --- on the timer -------------------------------------------------------- */

static void step(const struct tkw_firing *firing, void *sweep);
static void on_cancel(void *sweep);

static struct tkw_task task_of(struct sweep *s)
{
	return (struct tkw_task){ .fn = step,
				  .ctx = s,
				  .on_cancel = on_cancel };
}

/* The time from step to step. */
static int64_t spacing_ns(const struct sweep *s)
{
	uint64_t spread = s->spread > 0 ? s->spread : 1;

	return (int64_t)((uint64_t)s->rule.period_ns / spread);
}

/* Puts the next step on the timer, if it is wanted and not there yet. */
static void arm(struct sweep *s)
{
	const struct tkw_task task = task_of(s);
	struct tkw_channels *set = s->set;

	if (s->armed || s->rule.fn == NULL || set->count == 0 || is_over(set))
		return;
	if (tkw_timer_schedule_at(set->timer, &task, s->due_ns, &s->id) == 0)
		s->armed = true;
	else
		s->refused++;
}

/* Arms all sweeps that are not armed. It is called after each step and whenever
 * the set changes, so that a sweep that the timer has refused is tried
 * again. */
static void arm_each(struct tkw_channels *set)
{
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++)
		arm(&set->sweeps[i]);
}

/* The same for an add: arms all sweeps that are wanted, or none. */
static int arm_all(struct tkw_channels *set)
{
	struct tkw_batch_item items[TKW_CHANNEL_KINDS] = { 0 };
	struct sweep *whose[TKW_CHANNEL_KINDS] = { 0 };
	struct tkw_timeout_id ids[TKW_CHANNEL_KINDS] = { 0 };
	size_t n = 0;
	int err;

	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		struct sweep *s = &set->sweeps[i];

		if (s->armed || s->rule.fn == NULL)
			continue;
		items[n].task = task_of(s);
		items[n].when_ns = s->due_ns;
		whose[n++] = s;
	}
	if (n == 0)
		return 0;
	err = tkw_timer_schedule_batch_at(set->timer, items, n, ids);
	for (size_t i = 0; i < n && err == 0; i++) {
		whose[i]->id = ids[i];
		whose[i]->armed = true;
	}
	return err;
}

/* Takes the next steps off the timer. A step that has begun, or that the timer
 * is dropping, cannot be cancelled. It stays armed until it has taken the lock
 * (I1). */
static void disarm(struct tkw_channels *set)
{
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		struct sweep *s = &set->sweeps[i];

		if (s->armed && tkw__timer_cancel_own(set->timer, s->id) == 0)
			s->armed = false;
	}
}

/*
 * Called when the timer was stopped, or when its executor has refused the step
 * and the timer has dropped it. In the second case the step comes again at the
 * time of the one after it. Coming at once would keep the worker busy for as
 * long as the executor is.
 */
static void on_cancel(void *sweep)
{
	struct sweep *s = sweep;
	struct tkw_channels *set = s->set;
	int64_t now_ns = tkw_timer_now_ns(set->timer);

	enter(set);
	s->armed = false;
	s->due_ns = tkw__ns_add(now_ns, spacing_ns(s));
	arm(s);
	leave(set);
}

/* --- a step -------------------------------------------------------------- */

/* The sweep that runs an action for this channel, or NULL. It compares the
 * address, and does not look at the channel. */
static struct sweep *busy_with(struct tkw_channels *set,
			       const struct tkw_channel *ch)
{
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		if (set->sweeps[i].current == ch)
			return &set->sweeps[i];
	}
	return NULL;
}

/* Calls the action. The channel may be gone afterwards. */
static void call(struct sweep *s, struct tkw_channel *ch)
{
	struct tkw_channels *set = s->set;
	struct tkw__frame frame;
	int err;

	s->current = ch;
	s->calls++;
	tkw__lock_drop(&set->lock);
	tkw__frame_enter_set(&frame, s);
	err = s->rule.fn(ch, set->ctx);
	tkw__frame_leave(&frame);
	tkw__lock_take(&set->lock);
	s->failed += err != 0;
	s->current = NULL;
	tkw__bell_ring(&set->bell);
}

/* Looks at the next channels. */
static void walk(struct sweep *s, int64_t now_ns)
{
	struct tkw_channels *set = s->set;
	uint64_t looks = 0;

	while (looks < STEP && s->cursor && !is_over(set)) {
		struct tkw_channel *ch = s->cursor;

		s->cursor = ch->next;
		s->looks++;
		if (++looks > set->max_looks)
			set->max_looks = looks;
		if (is_due(s, ch, now_ns) && busy_with(set, ch) == NULL)
			call(s, ch);
	}
}

/* Begins a pass if none is under way, and computes when the next step is
 * due. */
static void plan(struct sweep *s, int64_t now_ns)
{
	if (s->index == 0) {
		s->cursor = s->set->head;
		s->steps = (s->set->count + STEP - 1) / STEP;
		if (s->spread < s->steps)
			s->spread = s->steps;
		/* Passes that were missed are not made up for. */
		if (now_ns - s->start_ns >= s->rule.period_ns)
			s->start_ns = now_ns;
	}
	if (++s->index >= s->steps) {
		s->index = 0;
		s->start_ns = tkw__ns_add(s->start_ns, s->rule.period_ns);
	}
	/* index < spread, so the product is less than a period. */
	s->due_ns = tkw__ns_add(s->start_ns, (int64_t)s->index * spacing_ns(s));
}

/*
 * A step of a sweep. It first arms the next step, because its own place under
 * the timer's limit has just become free. On an executor the next step may then
 * come while this one runs. In that case it only marks itself as not armed, and
 * this one arms it again at the end.
 */
static void step(const struct tkw_firing *firing, void *sweep)
{
	struct sweep *s = sweep;
	struct tkw_channels *set = s->set;
	int64_t now_ns = tkw_timer_now_ns(set->timer);

	(void)firing;
	enter(set);
	s->armed = false;
	if (!s->running && set->count > 0 && !is_over(set)) {
		s->running = true;
		s->done++;
		plan(s, now_ns);
		arm(s);
		walk(s, now_ns);
		s->running = false;
		arm_each(set);
	}
	leave(set);
}

/* --- create -------------------------------------------------------------- */

static bool is_sound_rule(const struct tkw_channel_rule *r)
{
	if (r->fn == NULL)
		return r->interval_ns == 0 && r->period_ns == 0;
	return r->interval_ns > 0 && r->period_ns >= 0;
}

static bool is_sound(const struct tkw_channels_config *cfg)
{
	bool some = false;

	if (cfg->timer == NULL)
		return false;
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		if (!is_sound_rule(&cfg->rules[i]))
			return false;
		some = some || cfg->rules[i].fn;
	}
	return some;
}

static int64_t default_period_ns(int kind, int64_t interval_ns)
{
	int64_t least_ns = kind == TKW_CHANNEL_RECONNECT ? LEAST_RECONNECT_NS
							 : LEAST_PERIOD_NS;

	return interval_ns / 3 > least_ns ? interval_ns / 3 : least_ns;
}

static void init_sweep(struct tkw_channels *set, int kind,
		       const struct tkw_channel_rule *rule)
{
	struct sweep *s = &set->sweeps[kind];

	s->set = set;
	s->kind = kind;
	s->rule = *rule;
	if (rule->period_ns == 0)
		s->rule.period_ns = default_period_ns(kind, rule->interval_ns);
}

int tkw_channels_create(struct tkw_channels **out,
			const struct tkw_channels_config *cfg)
{
	struct tkw_channels_config c;
	struct tkw_channels *set;
	uint32_t epoch;

	if (out == NULL || cfg == NULL ||
	    tkw__config_read(&c, sizeof(c), cfg,
			     TKW__END_OF(struct tkw_channels_config, ctx)) !=
		    0 ||
	    !is_sound(&c))
		return -EINVAL;
	if (tkw__timer_is_child(c.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) != 0)
		return -ENOMEM;
	set = tkw__memory_take(sizeof(*set), _Alignof(max_align_t));
	if (set == NULL)
		return -ENOMEM;
	*set = (struct tkw_channels){
		.timer = c.timer,
		.ctx = c.ctx,
		.epoch = epoch,
		.mark_on_add = c.mark_on_add != 0,
	};
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++)
		init_sweep(set, i, &c.rules[i]);
	*out = set;
	return 0;
}

/* --- add and remove ------------------------------------------------------ */

static void link_last(struct tkw_channels *set, struct tkw_channel *ch)
{
	int64_t at_ns = 0;

	/* The user's clock may be at 0, but a mark of 0 means never. */
	if (set->mark_on_add)
		at_ns = tkw__max_i64(tkw_timer_now_ns(set->timer), 1);
	mark(&ch->read_ns, at_ns);
	mark(&ch->write_ns, at_ns);
	TKW__STORE(flag_of(&ch->connected), 1, RELAXED);
	ch->set = set;
	ch->next = NULL;
	ch->prev = set->tail;
	if (set->tail)
		set->tail->next = ch;
	else
		set->head = ch;
	set->tail = ch;
	set->count++;
}

/* Begins new passes, a period from now. Called for the first channel. */
static void begin_passes(struct tkw_channels *set)
{
	int64_t now_ns = tkw_timer_now_ns(set->timer);

	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		struct sweep *s = &set->sweeps[i];

		if (s->armed)
			continue;
		s->start_ns = tkw__ns_add(now_ns, s->rule.period_ns);
		s->due_ns = s->start_ns;
	}
}

int tkw_channels_add(struct tkw_channels *set, struct tkw_channel *ch)
{
	int err = 0;

	if (set == NULL || ch == NULL)
		return -EINVAL;
	if (tkw__is_child(set->epoch))
		return -EPERM;
	tkw__lock_take(&set->lock);
	if (ch->set)
		err = -EEXIST;
	else if (is_over(set))
		err = -ESHUTDOWN;
	if (err == 0 && set->count == 0)
		begin_passes(set);
	if (err == 0)
		err = arm_all(set);
	if (err == 0)
		link_last(set, ch);
	tkw__lock_drop(&set->lock);
	return err;
}

static void unlink_channel(struct tkw_channels *set, struct tkw_channel *ch)
{
	if (ch->prev)
		ch->prev->next = ch->next;
	else
		set->head = ch->next;
	if (ch->next)
		ch->next->prev = ch->prev;
	else
		set->tail = ch->prev;
	set->count--;
	ch->set = NULL;
	ch->next = NULL;
	ch->prev = NULL;
}

/* Called when there are no channels any more: the next pass is a new one. */
static void end_passes(struct tkw_channels *set)
{
	disarm(set);
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		struct sweep *s = &set->sweeps[i];

		s->index = 0;
		s->spread = 0;
	}
}

static void take_out(struct tkw_channels *set, struct tkw_channel *ch)
{
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		struct sweep *s = &set->sweeps[i];

		if (s->cursor == ch)
			s->cursor = ch->next;
	}
	unlink_channel(set, ch);
	if (set->count == 0)
		end_passes(set);
	else
		arm_each(set);
}

/* May this thread wait? Not in a callback: two callbacks that remove each
 * other's channel would wait for each other. They may be actions of one set, or
 * of two sets on two timers. */
static bool may_wait(const struct tkw_channels *set)
{
	return !tkw__frame_inside(set->timer) && !tkw__frame_inside_set();
}

int tkw_channels_remove(struct tkw_channels *set, struct tkw_channel *ch)
{
	struct sweep *busy;
	bool own;
	int err = 0;

	if (set == NULL || ch == NULL)
		return -EINVAL;
	if (tkw__is_child(set->epoch))
		return -EPERM;
	tkw__lock_take(&set->lock);
	busy = busy_with(set, ch);
	/* Only the innermost action counts. A thread of an executor may run
	 * other jobs while it waits in an action, which goes on afterwards. */
	own = busy && tkw__frame_innermost(busy);
	if (ch->set != set) {
		err = -ENOENT;
	} else if (busy && !own && !may_wait(set)) {
		err = -EDEADLK;
	} else {
		take_out(set, ch);
		/* Another channel may get this address soon. */
		if (own)
			busy->current = NULL;
		while (busy_with(set, ch))
			tkw__bell_wait(&set->bell, &set->lock);
	}
	tkw__lock_drop(&set->lock);
	return err;
}

/* --- statistics, shutdown and destroy ------------------------------------ */

int tkw_channels_get_stats(struct tkw_channels *set,
			   struct tkw_channel_stats *out)
{
	if (set == NULL || out == NULL)
		return -EINVAL;
	if (tkw__is_child(set->epoch))
		return -EPERM;
	tkw__lock_take(&set->lock);
	out->channels = set->count;
	out->max_looks = set->max_looks;
	for (int i = 0; i < TKW_CHANNEL_KINDS; i++) {
		struct sweep *s = &set->sweeps[i];

		out->looks[s->kind] = s->looks;
		out->calls[s->kind] = s->calls;
		out->failed[s->kind] = s->failed;
		out->steps[s->kind] = s->done;
		out->refused[s->kind] = s->refused;
	}
	tkw__lock_drop(&set->lock);
	return 0;
}

uint64_t tkw_channels_count(struct tkw_channels *set)
{
	uint64_t count;

	if (set == NULL || tkw__is_child(set->epoch))
		return 0;
	tkw__lock_take(&set->lock);
	count = set->count;
	tkw__lock_drop(&set->lock);
	return count;
}

int tkw_channels_shutdown(struct tkw_channels *set)
{
	if (set == NULL)
		return -EINVAL;
	if (tkw__is_child(set->epoch))
		return -EPERM;
	tkw__lock_take(&set->lock);
	set->closed = true;
	disarm(set);
	tkw__lock_drop(&set->lock);
	return 0;
}

int tkw_channels_destroy(struct tkw_channels *set)
{
	if (set == NULL)
		return 0;
	if (tkw__frame_inside(set->timer))
		return -EDEADLK;
	if (tkw_channels_shutdown(set) == 0) { /* fails in a forked child */
		for (int i = 0; i < TKW_CHANNEL_KINDS; i++)
			tkw_timer_cancel_wait(set->timer, set->sweeps[i].id);
		tkw__rundown_close(&set->inside);
		while (set->head)
			unlink_channel(set, set->head);
	}
	tkw__memory_free(set, sizeof(*set));
	return 0;
}
