/* SPDX-License-Identifier: MIT */
/* scenarios_cancel.c - cancel and cancel_wait against all other calls. */
#include <errno.h>

#include "scenario_timer.h"

/* SPEC 5.1, 5.2, faults 22 and 23 */
void cancel_against_fire(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, 0) == 0);
	a = spawn("cancel a", thread_cancel, 0);
	b = spawn("cancel b", thread_cancel, 0);
	explore_join(a);
	explore_join(b);
	close_timer();
	explore_check(run.tag[0].fired + run.tag[0].cancelled +
			      run.tag[0].handed ==
		      1);
}

static void rearm_as_next(unsigned tag)
{
	if (tag == 0) {
		/* Its own task is running, so it must not wait. */
		explore_check(tkw_timer_cancel_wait(run.t, run.tag[0].id) ==
			      -EDEADLK);
		explore_check(add(1, 0) == 0);
	}
}

/* When the first task does not run any more, the second timeout is known if
 * there is one, and can be cancelled, too. */
static void *cancel_wait_both(void *arg)
{
	cancel_wait(0);
	if (run.tag[1].accepted > 0)
		cancel_wait(1);
	explore_check(run.tag[0].begun + run.tag[0].ended == 1);
	explore_check(run.tag[1].begun == run.tag[1].fired);
	return arg;
}

/* SPEC 5.3, faults 10 and 11 */
void cancel_wait_against_rearm(void)
{
	int a, b;

	open_timer(1);
	run.in_task = rearm_as_next;
	explore_check(add(0, 0) == 0);
	a = explore_spawn("wait", cancel_wait_both, NULL);
	b = spawn("far", thread_add_far, 2);
	explore_join(a);
	explore_join(b);
	close_timer();
}

/* SPEC 5.3, 5.6: cancel_wait waits for the on-cancel of another cancel. */
void cancel_wait_against_on_cancel(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	a = spawn("cancel", thread_cancel, 0);
	b = spawn("wait", thread_cancel_wait, 0);
	explore_check(cancel_wait(0) != 1);
	explore_join(a);
	explore_join(b);
	explore_check(run.tag[0].cancelled == 1);
	close_timer();
}

/* SPEC 5.3: all threads that wait are woken. */
void cancel_waits_of_two(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, 0) == 0);
	a = spawn("wait a", thread_cancel_wait, 0);
	b = spawn("wait b", thread_cancel_wait, 0);
	explore_join(a);
	explore_join(b);
	close_timer();
}

static void wait_for_the_other(unsigned tag)
{
	if (tag == 1)
		explore_check(cancel_wait(0) != 1);
}

/* SPEC 5.3: inside a callback of the timer, cancel_wait does not wait. */
void cancel_wait_in_an_on_cancel(void)
{
	int a, b;

	open_timer(2);
	run.in_cancel = wait_for_the_other;
	explore_check(add(1, 3600 * TKW_SEC) == 0);
	explore_check(add(0, 0) == 0);
	a = spawn("cancel", thread_cancel, 1);
	b = spawn("wait", thread_cancel_wait, 0);
	explore_join(a);
	explore_join(b);
	close_timer();
}

/* SPEC 5.3: the end of any timeout of the shard wakes all waiting threads. A
 * thread that waits for another timeout goes on waiting. */
void cancel_wait_against_other_ends(void)
{
	int a, b;

	open_timer(1);
	explore_check(add(0, 0) == 0);
	explore_check(add(1, 3600 * TKW_SEC) == 0);
	explore_check(add(2, 0) == 0);
	a = spawn("wait", thread_cancel_wait, 2);
	b = spawn("cancel", thread_cancel, 1);
	explore_join(a);
	explore_join(b);
	explore_check(run.tag[1].cancelled == 1);
	close_timer();
}

enum {
	USES = 18,            /* of a place with 15 generations */
	FIRST_GENERATIONS = 7 /* a block begins with one of these */
};

static struct tkw_timeout_id old_ids[USES];

static void *cancel_old_ids(void *arg)
{
	for (int i = 0; i < USES; i += 5)
		explore_check(tkw_timer_cancel(run.t, old_ids[i]) == -ENOENT);
	return arg;
}

static void *add_cancel_add(void *arg)
{
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	explore_check(cancel(0) == 0);
	explore_check(add(1, 3600 * TKW_SEC) == 0);
	return arg;
}

/* SPEC 3.5, fault 24: an id is never valid for another timeout, even if all
 * generations of its place are used up meanwhile. */
void stale_cancel_of_a_worn_place(void)
{
	int a, b;

	open_timer(1);
	explore_check(tkw_timer_start(run.t) == 0);
	for (int i = 0; i < USES; i++) {
		explore_check(add(2, 3600 * TKW_SEC) == 0);
		old_ids[i] = run.tag[2].id;
		for (int k = 0; k < i; k++)
			explore_check(old_ids[k].bits != old_ids[i].bits);
		explore_check(cancel(2) == 0);
	}
	a = explore_spawn("use", add_cancel_add, NULL);
	b = explore_spawn("stale", cancel_old_ids, NULL);
	explore_check(tkw_timer_cancel(run.t, old_ids[0]) == -ENOENT);
	explore_join(a);
	explore_join(b);
	explore_check(cancel(1) == 0);
	close_timer();
}

static void *cancel_old_block(void *arg)
{
	explore_check(tkw_timer_cancel(run.t, old_ids[0]) == -ENOENT);
	explore_check(tkw_timer_cancel(run.t, old_ids[1]) == -ENOENT);
	return arg;
}

static void *add_two(void *arg)
{
	explore_check(add(5, 3600 * TKW_SEC) == 0);
	explore_check(add(6, 3600 * TKW_SEC) == 0);
	return arg;
}

/* SPEC 3.5, 5.4, fault 21: blocks have three places. The first block is empty
 * and kept. The second becomes empty, is freed, and is made again when the
 * first one is full. Meanwhile, ids of its first life are tried. */
void stale_cancel_of_a_block_given_back(void)
{
	int a, b, c;

	open_timer(1);
	/* Of two empty blocks, the one that was used more is kept. */
	for (int i = 0; i < FIRST_GENERATIONS; i++) {
		explore_check(add(0, 3600 * TKW_SEC) == 0);
		explore_check(cancel(0) == 0);
	}
	for (unsigned i = 0; i < 5; i++)
		explore_check(add(i, 3600 * TKW_SEC) == 0);
	for (unsigned i = 0; i < 4; i++)
		explore_check(cancel(i) == 0);
	old_ids[0] = run.tag[3].id;
	old_ids[1] = run.tag[4].id;
	a = spawn("cancel", thread_cancel, 4);
	b = explore_spawn("add", add_two, NULL);
	explore_join(a);
	explore_check(run.tag[4].cancelled == 1);
	c = explore_spawn("stale", cancel_old_block, NULL);
	explore_check(add(7, 3600 * TKW_SEC) == 0);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	explore_join(b);
	explore_join(c);
	for (unsigned i = 5; i < 8; i++)
		explore_check(cancel(i) == 0);
	close_timer();
	explore_check(run.tag[0].handed == 1);
}

static void *try_add(void *tag)
{
	int err = add((unsigned)(uintptr_t)tag, 3600 * TKW_SEC);

	explore_check(err == 0 || err == -EAGAIN);
	return NULL;
}

/* SPEC 3.6, 5.7, fault 34: a cancel that succeeds frees one place, and one that
 * fails frees none. */
void cancels_at_the_limit(void)
{
	int a, b, c;

	open_limited(2, 2);
	explore_check(add(0, 3600 * TKW_SEC) == 0);
	explore_check(add(1, 3600 * TKW_SEC) == 0);
	a = spawn("cancel a", thread_cancel, 0);
	b = spawn("cancel b", thread_cancel, 0);
	c = spawn("add", try_add, 2);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(run.tag[0].cancelled == 1);
	explore_check(add(3, 3600 * TKW_SEC) ==
		      (run.tag[2].accepted ? -EAGAIN : 0));
	explore_check(add(4, 3600 * TKW_SEC) == -EAGAIN);
	close_timer();
}
