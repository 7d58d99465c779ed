/* SPDX-License-Identifier: MIT */
/*
 * scenarios_group.c - groups: calls for the whole group against the worker,
 * against calls for one timeout, and against each other.
 *
 * In each scenario, each timeout fires, or its on-cancel is called, once and
 * never both. The cancels of the group have counted what they cancelled.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/group.h"

#define HOUR_NS (3600 * TKW_SEC)
#define LATER_NS (EXPLORE_START_NS + TKW_MSEC)

enum {
	MEMBERS = 4
};

static struct {
	struct tkw_group *g;
	bool destroyed;
	bool destroy_inside; /* a task destroys the group */
	unsigned inside;     /* running tasks and on-cancels */
	unsigned cancelled;  /* as the calls say */
	int moved;           /* by a reschedule or an extend */
	struct {
		struct tkw_timeout_id id;
		unsigned joined;
		unsigned fired;
		unsigned lost;
		int64_t fired_ns;
	} of[MEMBERS];
} book;

static void destroy_group(void)
{
	explore_check(tkw_group_destroy(book.g) == 0);
	book.destroyed = true;
}

static void task(const struct tkw_firing *firing, void *ctx)
{
	unsigned n = (unsigned)(uintptr_t)ctx;

	(void)firing;
	explore_tell("task begins", n);
	explore_check(!book.destroyed);
	explore_check(book.of[n].fired == 0 && book.of[n].lost == 0);
	book.inside++;
	book.of[n].fired_ns = explore_now();
	explore_yield();
	if (book.destroy_inside)
		destroy_group();
	book.inside--;
	explore_check(book.of[n].lost == 0);
	explore_check(book.of[n].fired++ == 0);
}

static void on_cancel(void *ctx)
{
	unsigned n = (unsigned)(uintptr_t)ctx;

	explore_tell("on-cancel begins", n);
	explore_check(book.of[n].fired == 0);
	book.inside++;
	explore_yield();
	book.inside--;
	explore_check(book.of[n].lost++ == 0);
}

static void open_group(void)
{
	struct tkw_group_config cfg = { .size = sizeof(cfg) };

	memset(&book, 0, sizeof(book));
	open_timer(1);
	cfg.timer = run.t;
	explore_check(tkw_group_create(&book.g, &cfg) == 0);
}

static int join(unsigned n, int64_t delay_ns)
{
	const struct tkw_task t = { .fn = task,
				    .ctx = (void *)(uintptr_t)n,
				    .on_cancel = on_cancel };
	int err = tkw_group_schedule(book.g, &t, delay_ns, &book.of[n].id);

	explore_tell("schedule returns", err);
	explore_check(err == 0 || err == -ESHUTDOWN);
	book.of[n].joined += err == 0;
	return err;
}

static void *join_far(void *n)
{
	join((unsigned)(uintptr_t)n, HOUR_NS);
	return NULL;
}

static void *cancel_all(void *unused)
{
	int ret = tkw_group_cancel(book.g);

	explore_tell("group cancel returns", ret);
	explore_check(ret >= 0);
	book.cancelled += (unsigned)ret;
	return unused;
}

static void *cancel_one(void *n)
{
	int err = tkw_timer_cancel(run.t, book.of[(uintptr_t)n].id);

	explore_tell("cancel returns", err);
	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	book.cancelled += err == 0;
	return NULL;
}

static int spawn_cancel(unsigned n)
{
	return explore_spawn("cancel", cancel_one, (void *)(uintptr_t)n);
}

static void check_ends(void)
{
	unsigned lost = 0;

	for (unsigned n = 0; n < MEMBERS; n++) {
		explore_check(book.of[n].fired + book.of[n].lost ==
			      book.of[n].joined);
		lost += book.of[n].lost;
	}
	explore_check(lost == book.cancelled);
}

static void close_group_timer(void)
{
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	explore_check(tkw_timer_destroy(run.t) == 0);
}

static void close_group(void)
{
	destroy_group();
	explore_check(book.inside == 0);
	close_group_timer();
}

/* SPEC 8.6: a timeout of the group fires, or it is cancelled with the group, or
 * alone. */
void group_cancel_against_fire(void)
{
	int a, b;

	open_group();
	join(0, 0);
	join(1, HOUR_NS);
	a = explore_spawn("group cancel", cancel_all, NULL);
	b = spawn_cancel(0);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[1].lost == 1);
	/* What has begun ends before time goes on. */
	explore_sleep_until(LATER_NS);
	check_ends();
	explore_check(tkw_group_count(book.g) == 0);
	close_group();
}

/* SPEC 8.6: what is scheduled while the group is cancelled is cancelled with
 * it, or it stays in the group. */
void group_cancel_against_schedule(void)
{
	int a, b;

	open_group();
	join(0, 0);
	join(1, HOUR_NS);
	join(2, HOUR_NS);
	a = explore_spawn("group cancel", cancel_all, NULL);
	b = explore_spawn("schedule", join_far, (void *)3);
	explore_join(a);
	explore_join(b);
	explore_check(book.of[1].lost == 1 && book.of[2].lost == 1);
	cancel_all(NULL);
	explore_check(book.of[3].lost == 1);
	explore_sleep_until(LATER_NS);
	check_ends();
	explore_check(tkw_group_count(book.g) == 0);
	close_group();
}

static void *push_all_back(void *unused)
{
	int ret = tkw_group_reschedule(book.g, TKW_MSEC);

	explore_tell("reschedule returns", ret);
	explore_check(ret >= 0);
	book.moved += ret;
	return unused;
}

static void *extend_all(void *unused)
{
	int ret = tkw_group_extend(book.g, TKW_MSEC);

	explore_tell("extend returns", ret);
	explore_check(ret >= 0);
	book.moved += ret;
	return unused;
}

/* SPEC 8.6: a timeout is pushed back if, and only if, the call counts it. */
void group_move_against_fire(void)
{
	int a, b;

	open_group();
	join(0, 0);
	a = explore_spawn("reschedule", push_all_back, NULL);
	b = explore_spawn("extend", extend_all, NULL);
	explore_join(a);
	explore_join(b);
	explore_await(&book.of[0].fired, 1);
	explore_check((book.moved > 0) == (book.of[0].fired_ns >= LATER_NS));
	check_ends();
	close_group();
}

static void *cancel_and_look(void *unused)
{
	cancel_all(NULL);
	explore_check(book.of[1].lost == 1 && book.of[2].lost == 1);
	explore_check(book.of[3].lost == 1);
	return unused;
}

/* SPEC 8.6: a cancel does not overlook the timeouts that another thread is
 * pushing back. */
void group_move_against_cancel(void)
{
	int a, b;

	open_group();
	join(0, 0);
	for (unsigned n = 1; n < MEMBERS; n++)
		join(n, HOUR_NS);
	a = explore_spawn("extend", extend_all, NULL);
	b = explore_spawn("group cancel", cancel_and_look, NULL);
	explore_join(a);
	explore_join(b);
	explore_sleep_until(LATER_NS + TKW_MSEC);
	check_ends();
	close_group();
}

static void *shut_group_down(void *unused)
{
	explore_check(tkw_group_shutdown(book.g) == 0);
	return unused;
}

/* SPEC 8.6: a group that is ended refuses new timeouts, and has none. */
void group_end_against_schedule(void)
{
	int a, b, c;

	open_group();
	join(0, HOUR_NS);
	a = explore_spawn("shutdown", shut_group_down, NULL);
	b = explore_spawn("schedule a", join_far, (void *)1);
	c = explore_spawn("schedule b", join_far, (void *)2);
	explore_join(a);
	explore_check(join(3, HOUR_NS) == -ESHUTDOWN);
	explore_join(b);
	explore_join(c);
	for (unsigned n = 0; n < MEMBERS; n++)
		explore_check(book.of[n].lost == book.of[n].joined);
	explore_check(tkw_group_count(book.g) == 0);
	close_group();
}

/* SPEC 8.6: when destroy has returned, no task and no on-cancel runs. */
void group_destroy_against_fire(void)
{
	int a;

	open_group();
	join(0, 0);
	join(1, HOUR_NS);
	a = spawn_cancel(1);
	destroy_group();
	explore_check(book.inside == 0);
	explore_check(book.of[0].fired + book.of[0].lost == 1);
	explore_check(book.of[1].lost == 1);
	explore_join(a);
	close_group_timer();
}

/* SPEC 8.6: a task may destroy its group. Then the memory stays for those who
 * still use it. */
void group_destroy_inside_a_task(void)
{
	int a;

	open_group();
	book.destroy_inside = true;
	join(1, HOUR_NS);
	join(0, 0);
	a = spawn_cancel(1);
	explore_join(a);
	explore_await(&book.of[0].fired, 1);
	explore_check(book.of[1].lost == 1);
	close_group_timer();
}

static void *stop_timer(void *unused)
{
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	return unused;
}

/* SPEC 8.6: the stop of the timer ends the timeouts of a group as others. */
void group_cancel_against_timer_stop(void)
{
	int a, b, c;

	open_group();
	join(0, HOUR_NS);
	a = explore_spawn("stop", stop_timer, NULL);
	b = explore_spawn("group cancel", cancel_all, NULL);
	c = explore_spawn("schedule", join_far, (void *)1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(book.of[0].lost == 1);
	explore_check(book.of[1].lost == book.of[1].joined);
	explore_check(tkw_group_count(book.g) == 0);
	close_group();
}

static void *look_at_first(void *unused)
{
	struct tkw_timeout_info info;
	int err = tkw_timer_get(run.t, book.of[0].id, &info);

	explore_tell("get returns", err);
	explore_check(err == 0 || err == -ENOENT);
	if (err == 0)
		explore_check(info.task.fn == task && info.task.ctx == NULL);
	return unused;
}

/* SPEC 8.6: a timeout is shown with its own task, also when its member belongs
 * to the next timeout already. */
void group_query_against_reuse(void)
{
	int a, b;

	open_group();
	join(0, 0);
	a = explore_spawn("get", look_at_first, NULL);
	b = explore_spawn("schedule", join_far, (void *)1);
	explore_join(a);
	explore_join(b);
	explore_await(&book.of[0].fired, 1);
	cancel_all(NULL);
	check_ends();
	close_group();
}
