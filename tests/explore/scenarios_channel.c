/* SPDX-License-Identifier: MIT */
/*
 * scenarios_channel.c - sets of channels: a channel is removed, or the set is
 * shut down or destroyed, while a step looks at it.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/channel.h"

enum {
	CHANNELS = 3
};
#define PERIOD_NS TKW_MSEC

static struct tkw_channels *set;
static struct tkw_channel *channels[CHANNELS];
static struct {
	unsigned running[CHANNELS]; /* actions */
	unsigned calls[CHANNELS];
	bool removed[CHANNELS];
	bool destroyed;
	bool first_goes; /* the action of channel 0 removes it */
} seen;

static void free_channel(unsigned i)
{
	seen.removed[i] = true;
	explore_free(channels[i], sizeof(*channels[i]));
}

/* An action that uses its channel until it returns. */
static int act(struct tkw_channel *ch, void *ctx)
{
	unsigned i = 0;

	(void)ctx;
	while (i < CHANNELS - 1 && channels[i] != ch)
		i++;
	explore_check(channels[i] == ch);
	explore_check(!seen.removed[i] && !seen.destroyed);
	explore_tell("action begins", i);
	/* A channel has one action at a time, of whatever kind. */
	explore_check(seen.running[i]++ == 0);
	seen.calls[i]++;
	explore_yield();
	tkw_channel_mark_write(ch, 1);
	if (i == 0 && seen.first_goes) {
		explore_check(tkw_channels_remove(set, ch) == 0);
		free_channel(0);
	}
	seen.running[i]--;
	explore_tell("action ends", i);
	return 0;
}

static void open_set(int kinds)
{
	struct tkw_channels_config cfg = { .timer = run.t };

	memset(&seen, 0, sizeof(seen));
	memset((void *)channels, 0, sizeof(channels));
	for (int kind = 0; kind < kinds; kind++)
		cfg.rules[kind] = (struct tkw_channel_rule){
			.fn = act, .interval_ns = 1, .period_ns = PERIOD_NS
		};
	explore_check(tkw_channels_create(&set, &cfg) == 0);
}

/* Adds a channel for which there is always an action to run. */
static int add_channel(unsigned i)
{
	struct tkw_channel *ch =
		explore_alloc(sizeof(*ch), _Alignof(struct tkw_channel));
	int err;

	memset(ch, 0, sizeof(*ch));
	channels[i] = ch;
	err = tkw_channels_add(set, ch);
	explore_tell("add returns", err);
	if (err == 0)
		tkw_channel_mark_read(ch, 1);
	return err;
}

static void remove_channel(unsigned i)
{
	int err = tkw_channels_remove(set, channels[i]);

	explore_tell("remove returns", err);
	explore_check(err == 0);
	explore_check(seen.running[i] == 0);
	free_channel(i);
}

static void *thread_remove(void *i)
{
	explore_sleep_until(EXPLORE_START_NS + PERIOD_NS);
	remove_channel((unsigned)(uintptr_t)i);
	return NULL;
}

/* Destroys the set. After that, it has no timeout on the timer. */
static void destroy_set(void)
{
	explore_check(tkw_channels_destroy(set) == 0);
	seen.destroyed = true;
	for (unsigned i = 0; i < CHANNELS; i++)
		explore_check(seen.running[i] == 0);
	explore_check(tkw_timer_count(run.t) == 0);
}

static void end_timer(void)
{
	check_balance();
	explore_check(tkw_timer_destroy(run.t) == 0);
}

/* Opens a pool whose threads run kinds side by side, and a set of that many
 * kinds. */
static struct tkw_pool *open_on_pool(int kinds)
{
	const struct tkw_pool_config cfg = { .threads = 2, .max_queued = 2 };
	struct tkw_pool *pool;

	explore_check(tkw_pool_create(&pool, &cfg) == 0);
	open_exec(tkw_pool_exec(pool), TKW_REFUSED_INLINE);
	open_set(kinds);
	return pool;
}

/* SPEC 8.2: two kinds have an action for the channel. When remove returns, the
 * channel may be freed. */
void channel_remove_against_actions(void)
{
	struct tkw_pool *pool = open_on_pool(2);
	int a;

	explore_check(add_channel(0) == 0);
	a = spawn("remove", thread_remove, 0);
	explore_join(a);
	explore_check(tkw_timer_count(run.t) == 0);
	destroy_set();
	end_timer();
	explore_check(tkw_pool_destroy(pool) == 0);
}

/* SPEC 8.2: the first action, of whatever kind, removes the channel and frees
 * it. The other kind leaves it out, and goes on with the next channel. */
void channel_remove_inside_actions(void)
{
	struct tkw_pool *pool = open_on_pool(2);

	seen.first_goes = true;
	explore_check(add_channel(0) == 0);
	explore_check(add_channel(1) == 0);
	explore_await(&seen.calls[0], 1);
	explore_await(&seen.calls[1], 2);
	remove_channel(1);
	explore_check(seen.calls[0] == 1);
	explore_check(tkw_timer_count(run.t) == 0);
	destroy_set();
	end_timer();
	explore_check(tkw_pool_destroy(pool) == 0);
}

/* SPEC 8.2: the next channel and the one after it are removed during the action
 * of the first one. The other channels still have their turn. */
void channel_remove_of_the_next(void)
{
	int a;

	open_timer(1);
	open_set(1);
	for (unsigned i = 0; i < CHANNELS; i++)
		explore_check(add_channel(i) == 0);
	a = spawn("remove", thread_remove, 1);
	explore_join(a);
	explore_sleep_until(EXPLORE_START_NS + PERIOD_NS * 3 / 2);
	explore_check(seen.calls[0] == 1 && seen.calls[2] == 1);
	remove_channel(0);
	remove_channel(2);
	destroy_set();
	end_timer();
}

static void *remove_and_add(void *unused)
{
	explore_sleep_until(EXPLORE_START_NS + PERIOD_NS);
	remove_channel(0);
	explore_check(add_channel(1) == 0);
	return unused;
}

/* SPEC 8.2: the last channel is removed, and another one added, while a step
 * begins. After that there is exactly one chain of steps. */
void channel_empty_against_step(void)
{
	int a;

	open_timer(1);
	open_set(1);
	explore_check(add_channel(0) == 0);
	a = explore_spawn("remove and add", remove_and_add, NULL);
	explore_join(a);
	explore_sleep_until(EXPLORE_START_NS + PERIOD_NS * 5 / 2);
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(seen.calls[1] >= 1 && seen.calls[1] <= 2);
	remove_channel(1);
	explore_check(tkw_timer_count(run.t) == 0);
	destroy_set();
	end_timer();
}

static void *shut_set_down(void *unused)
{
	explore_sleep_until(EXPLORE_START_NS + PERIOD_NS);
	explore_check(tkw_channels_shutdown(set) == 0);
	return unused;
}

/* SPEC 8.2: when destroy returns, no action runs and none will. */
void channel_destroy_against_step(void)
{
	int a, err;

	open_timer(1);
	open_set(1);
	explore_check(add_channel(0) == 0);
	a = explore_spawn("shutdown", shut_set_down, NULL);
	explore_sleep_until(EXPLORE_START_NS + PERIOD_NS);
	err = add_channel(1);
	explore_check(err == 0 || err == -ESHUTDOWN);
	explore_join(a);
	destroy_set();
	free_channel(0);
	free_channel(1);
	end_timer();
}
