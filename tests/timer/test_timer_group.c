/* SPDX-License-Identifier: MIT */
/*
 * test_timer_group.c - SPEC 8.6: the timeouts of a group are cancelled or
 * pushed back in one call; a group that is ended refuses new ones; a timeout
 * leaves the group when it fires or is cancelled. Forks and races are in
 * test_timer_group_threads.c.
 */
#include <errno.h>

#include "group_bed.h"

/* --- what a group does ---------------------------------------------------- */

/* SPEC 8.6: its timeouts fire as others do, and leave the group then. */
static void test_8_6_group_fires(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	const struct tkw_task task = bed_task(b, 3);
	struct tkw_timeout_id id;

	join(b, g, 1, 5 * TKW_MSEC);
	bed_schedule(b, 2, 6 * TKW_MSEC);
	assert_int_equal(tkw_group_schedule_at(
				 g, &task, BED_START_NS + 7 * TKW_MSEC, &id),
			 0);
	assert_int_equal(tkw_group_count(g), 2);
	bed_pass(b, 4 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(tkw_group_count(g), 1);
	bed_pass(b, 10 * TKW_MSEC);
	bed_assert_fired(b, 1, 2, 3);
	assert_true(b->fired[2].id.bits == id.bits);
	assert_int_equal(b->fired[2].deadline_ns, BED_START_NS + 7 * TKW_MSEC);
	assert_int_equal(tkw_group_count(g), 0);
	assert_int_equal(tkw_group_cancel(g), 0);
	close_group(g);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_8_6_group_fires)

/* SPEC 8.6: all are cancelled in one call, and no others. */
static void test_8_6_group_cancel(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	struct tkw_group *other = open_group(b);

	for (uint64_t tag = 1; tag <= 100; tag++)
		join(b, g, tag, (int64_t)tag * TKW_MSEC);
	join(b, other, 101, 5 * TKW_MSEC);
	bed_schedule(b, 102, 5 * TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_group_cancel(g), 99);
	for (uint64_t tag = 1; tag <= 100; tag++)
		assert_int_equal(bed_cancelled_times(b, tag), tag > 1);
	assert_int_equal(tkw_group_count(g), 0);
	assert_int_equal(tkw_group_count(other), 1);
	/* It can be used further. */
	join(b, g, 103, 8 * TKW_MSEC);
	bed_pass(b, TKW_SEC);
	bed_assert_fired(b, 101, 102, 103);
	close_group(g);
	close_group(other);
}
BED_TEST(test_8_6_group_cancel)

/* SPEC 8.6: all are pushed back in one call, and no others. */
static void test_8_6_group_reschedule(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);

	join(b, g, 1, 5 * TKW_MSEC);
	join(b, g, 2, 20 * TKW_MSEC);
	bed_schedule(b, 3, 5 * TKW_MSEC);
	assert_int_equal(tkw_group_reschedule(g, 10 * TKW_MSEC), 2);
	bed_pass(b, 9 * TKW_MSEC);
	bed_assert_fired(b, 3);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(b->fired_count, 3);
	join(b, g, 4, HOUR_NS);
	assert_int_equal(tkw_group_reschedule(g, 0), 1);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(bed_fired_times(b, 4), 1);
	assert_int_equal(tkw_group_reschedule(g, 0), 0);
	close_group(g);
}
BED_TEST(test_8_6_group_reschedule)

/* SPEC 8.6: each deadline is later by the same time. */
static void test_8_6_group_extend(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	struct tkw_timeout_id id = join(b, g, 1, 5 * TKW_MSEC);
	struct tkw_timeout_info info;

	join(b, g, 2, 20 * TKW_MSEC);
	join(b, g, 3, INT64_MAX);
	assert_int_equal(tkw_group_extend(g, -1), -EINVAL);
	assert_int_equal(tkw_group_extend(g, 100 * TKW_MSEC), 3);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.deadline_ns, BED_START_NS + 105 * TKW_MSEC);
	bed_pass(b, 104 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	bed_pass(b, 15 * TKW_MSEC);
	bed_assert_fired(b, 2);
	assert_int_equal(tkw_group_extend(g, INT64_MAX), 1);
	assert_int_equal(tkw_group_cancel(g), 1);
	close_group(g);
}
BED_TEST(test_8_6_group_extend)

/* SPEC 8.6: a group that is ended refuses new ones. */
static void test_8_6_group_shutdown(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	const struct tkw_task task = bed_task(b, 2);
	struct tkw_timeout_id id = BED_ID(7);

	join(b, g, 1, HOUR_NS);
	assert_int_equal(tkw_group_shutdown(g), 0);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_group_schedule(g, &task, 0, &id), -ESHUTDOWN);
	assert_int_equal(id.bits, 7);
	assert_int_equal(tkw_group_shutdown(g), 0);
	assert_int_equal(tkw_group_cancel(g), 0);
	assert_int_equal(tkw_group_reschedule(g, 1), 0);
	assert_int_equal(tkw_group_count(g), 0);
	close_group(g);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_8_6_group_shutdown)

/* SPEC 8.6: the calls of the timer know a timeout in a group, and take it out
 * of the group. */
static void test_8_6_group_and_calls_of_the_timer(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	struct tkw_timeout_id ids[3];
	struct tkw_timeout_info info;
	const struct tkw_task task = bed_task(b, 1);

	assert_int_equal(tkw_group_schedule(g, &task, HOUR_NS, &ids[0]), 0);
	ids[1] = join(b, g, 2, HOUR_NS);
	ids[2] = join(b, g, 3, HOUR_NS);
	assert_int_equal(tkw_timer_get(b->t, ids[0], &info), 0);
	/* It shows the user's task. */
	assert_true(info.task.fn == task.fn);
	assert_ptr_equal(info.task.ctx, task.ctx);
	assert_true(info.task.on_cancel == task.on_cancel);
	assert_int_equal(tkw_timer_cancel(b->t, ids[0]), 0);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_group_count(g), 2);
	assert_int_equal(tkw_timer_cancel_batch(b->t, ids, 2, NULL), 1);
	assert_int_equal(bed_cancelled_times(b, 2), 1);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[2], TKW_MSEC), 0);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 3);
	assert_int_equal(tkw_timer_cancel_wait(b->t, ids[2]), -ENOENT);
	assert_int_equal(tkw_group_count(g), 0);
	close_group(g);
}
BED_TEST(test_8_6_group_and_calls_of_the_timer)

static void look(const struct tkw_timeout_info *info, void *ctx)
{
	const struct tkw_task *task = ctx;

	assert_true(info->task.fn == task->fn);
	assert_ptr_equal(info->task.ctx, task->ctx);
}

/* The stop of the timer hands over what is in groups. */
static void test_group_and_stop_of_the_timer(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	struct tkw_task task = bed_task(b, 1);

	assert_int_equal(tkw_group_schedule(g, &task, HOUR_NS, NULL), 0);
	assert_int_equal(tkw_timer_stop(b->t, look, &task), 0);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_group_count(g), 0);
	assert_int_equal(tkw_group_schedule(g, &task, 0, NULL), -ESHUTDOWN);
	assert_int_equal(tkw_group_cancel(g), 0);
	close_group(g);
}
BED_TEST(test_group_and_stop_of_the_timer)

/* Tasks without an on-cancel, and with slack. */
static void test_group_tasks_of_all_kinds(struct timer_bed *b)
{
	struct tkw_group *g = open_group(b);
	const struct tkw_task task = { .fn = noop, .slack_ns = 4 * TKW_MSEC };
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	assert_int_equal(tkw_group_schedule(g, &task, HOUR_NS, &id), 0);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.task.slack_ns, 4 * TKW_MSEC);
	assert_int_equal(tkw_group_cancel(g), 1);
	assert_int_equal(tkw_group_schedule(g, &task, HOUR_NS, &id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_group_schedule(g, &task, -1, NULL), 0);
	bed_pass(b, 10 * TKW_MSEC);
	assert_int_equal(tkw_group_count(g), 0);
	close_group(g);
}
BED_TEST(test_group_tasks_of_all_kinds)

/* --- an executor ---------------------------------------------------------- */

/* Keeps the jobs until the test runs them. */
struct keeper {
	struct tkw_job jobs[8];
	size_t count;
};

static int keep_job(const struct tkw_job *job, void *ctx)
{
	struct keeper *k = ctx;

	must(k->count < sizeof(k->jobs) / sizeof(k->jobs[0]));
	k->jobs[k->count++] = *job;
	return 0;
}

/* SPEC 8.6: timeouts that wait in an executor are in the group, too. They are
 * pushed back and cancelled with it. */
static void test_8_6_group_and_an_executor(struct timer_bed *b)
{
	struct keeper k = { .count = 0 };
	const struct tkw_exec exec = { .submit = keep_job, .ctx = &k };
	const struct tkw_timer_config cfg = { .exec = &exec };
	struct tkw_group *g;

	bed_reopen(b, &cfg);
	g = open_group(b);
	for (uint64_t tag = 1; tag <= 3; tag++)
		join(b, g, tag, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(k.count, 3);
	assert_int_equal(tkw_group_count(g), 3);
	assert_int_equal(tkw_group_reschedule(g, 5 * TKW_MSEC), 3);
	for (size_t i = 0; i < 3; i++)
		k.jobs[i].run(&k.jobs[i]);
	bed_assert_nothing_fired(b);
	bed_pass(b, 6 * TKW_MSEC);
	assert_int_equal(k.count, 6);
	k.jobs[3].run(&k.jobs[3]);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_group_count(g), 2);
	assert_int_equal(tkw_group_cancel(g), 2);
	assert_int_equal(bed_cancelled_times(b, 2), 1);
	assert_int_equal(bed_cancelled_times(b, 3), 1);
	for (size_t i = 4; i < 6; i++)
		k.jobs[i].run(&k.jobs[i]);
	assert_int_equal(b->fired_count, 1);
	assert_int_equal(tkw_group_count(g), 0);
	close_group(g);
	bed_assert_ledger(b, 0);
	bed_reopen(b, NULL);
}
BED_TEST(test_8_6_group_and_an_executor)

static int refuse_job(const struct tkw_job *job, void *ctx)
{
	(void)job;
	(void)ctx;
	return -EAGAIN;
}

/* SPEC 8.6: a timeout that the timer drops leaves the group. */
static void test_8_6_group_and_a_dropped_timeout(struct timer_bed *b)
{
	const struct tkw_exec exec = { .submit = refuse_job };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .refusal = TKW_REFUSED_DROP };
	struct tkw_group *g;

	bed_reopen(b, &cfg);
	g = open_group(b);
	join(b, g, 1, TKW_MSEC);
	join(b, g, 2, HOUR_NS);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_group_count(g), 1);
	assert_int_equal(tkw_group_cancel(g), 1);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	close_group(g);
}
BED_TEST(test_8_6_group_and_a_dropped_timeout)

/* --- bad input, limits and memory ----------------------------------------- */

static void test_group_refuses_bad_input(struct timer_bed *b)
{
	struct {
		struct tkw_group_config cfg;
		char newer[4104];
	} c = { .cfg = { .timer = b->t } };
	const size_t bad[] = { 1, sizeof(c.cfg) - 1, sizeof(c) };
	const struct tkw_task good = bed_task(b, 1);
	struct tkw_task task = good;
	struct tkw_group *g = NULL;

	assert_int_equal(tkw_group_create(NULL, &c.cfg), -EINVAL);
	assert_int_equal(tkw_group_create(&g, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.cfg.size = bad[i];
		assert_int_equal(tkw_group_create(&g, &c.cfg), -EINVAL);
	}
	c.cfg.size = sizeof(c.cfg) + 8;
	c.newer[7] = 1;
	assert_int_equal(tkw_group_create(&g, &c.cfg), -EINVAL);
	c.newer[7] = 0;
	assert_int_equal(tkw_group_create(&g, &c.cfg), 0);
	close_group(g);
	g = NULL;
	c.cfg = (struct tkw_group_config){ .size = 0 };
	assert_int_equal(tkw_group_create(&g, &c.cfg), -EINVAL);
	assert_null(g);
	g = open_limited_group(b, INT64_MIN);
	task.fn = NULL;
	assert_int_equal(tkw_group_schedule(g, &task, 0, NULL), -EINVAL);
	assert_int_equal(tkw_group_schedule(g, NULL, 0, NULL), -EINVAL);
	assert_int_equal(tkw_group_schedule(NULL, &good, 0, NULL), -EINVAL);
	assert_int_equal(tkw_group_schedule_at(NULL, &good, 0, NULL), -EINVAL);
	assert_int_equal(tkw_group_cancel(NULL), -EINVAL);
	assert_int_equal(tkw_group_reschedule(NULL, 0), -EINVAL);
	assert_int_equal(tkw_group_extend(NULL, 0), -EINVAL);
	assert_int_equal(tkw_group_count(NULL), 0);
	assert_int_equal(tkw_group_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_group_destroy(NULL), 0);
	close_group(g);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_group_refuses_bad_input)

/* Exactly max_pending are accepted. */
static void test_group_max_pending(struct timer_bed *b)
{
	struct tkw_group *g = open_limited_group(b, 2);
	const struct tkw_task task = bed_task(b, 9);

	join(b, g, 1, TKW_MSEC);
	join(b, g, 2, HOUR_NS);
	assert_int_equal(tkw_group_schedule(g, &task, 0, NULL), -EAGAIN);
	bed_pass(b, 2 * TKW_MSEC);
	join(b, g, 3, HOUR_NS);
	assert_int_equal(tkw_group_schedule(g, &task, 0, NULL), -EAGAIN);
	assert_int_equal(tkw_group_cancel(g), 2);
	join(b, g, 4, HOUR_NS);
	close_group(g);
}
BED_TEST(test_group_max_pending)

/* SPEC 8.6: what a group needs for its timeouts is given back. */
static void test_8_6_group_memory_is_bounded(struct timer_bed *b)
{
	static struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	struct tkw_group *g;
	size_t live;

	bed_reopen(b, &cfg);
	g = open_group(b);
	for (int round = 0; round < 3; round++) {
		for (uint64_t tag = 0; tag < 3000; tag++)
			join(b, g, tag, tag % 2 == 0 ? HOUR_NS : TKW_MSEC);
		bed_pass(b, 2 * TKW_MSEC);
		assert_int_equal(tkw_group_cancel(g), 1500);
	}
	/* What is left is the group itself. */
	live = m.live;
	close_group(g);
	assert_int_equal(m.live, live - 1);
	bed_reopen(b, NULL);
	assert_int_equal(m.live, 0);
}
BED_TEST(test_8_6_group_memory_is_bounded)

/* Memory is refused at each place in turn. */
static void test_group_no_memory(struct timer_bed *b)
{
	size_t refused;
	size_t at = 0;

	do {
		static struct bed_memory m;
		const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
		const struct tkw_timer_config cfg = { .hooks = &hooks };
		struct tkw_group_config group = { .size = sizeof(group) };
		struct tkw_group *g = NULL;
		uint64_t joined = 0;
		int err;

		bed_reopen(b, &cfg);
		bed_schedule(b, 1, HOUR_NS);
		group.timer = b->t;
		bed_memory_refuse_at(&m, ++at);
		err = tkw_group_create(&g, &group);
		for (uint64_t i = 0; err == 0 && i < 100; i++) {
			const struct tkw_task task = bed_task(b, 2);

			err = tkw_group_schedule(g, &task, HOUR_NS, NULL);
			joined += err == 0;
		}
		assert_true(err == 0 || err == -ENOMEM);
		refused = m.refused;
		assert_int_equal(err == 0, refused == 0);
		bed_memory_refuse_at(&m, 0);
		assert_int_equal(tkw_group_count(g), joined);
		if (g) {
			assert_int_equal(tkw_group_cancel(g), joined);
			close_group(g);
		}
		bed_assert_ledger(b, 1);
		bed_reopen(b, NULL);
		assert_int_equal(m.live, 0);
	} while (refused > 0);
	assert_true(at > 3);
}
BED_TEST(test_group_no_memory)

/* --- calls inside callbacks ----------------------------------------------- */

struct inside {
	struct tkw_group *g;
	int ret;
	int fired;
	int cancelled;
};

static void end_group(const struct tkw_firing *firing, void *ctx)
{
	struct inside *i = ctx;
	struct tkw_timeout_info info;

	i->fired++;
	/* It is running, and not in the group. */
	must(tkw_timer_get(firing->timer, firing->id, &info) == 0);
	must(info.task.fn == end_group && info.task.ctx == ctx);
	must(info.state == TKW_TIMEOUT_RUNNING);
	must(tkw_timer_cancel(firing->timer, firing->id) == -EBUSY);
	i->ret = tkw_group_cancel(i->g);
	must(tkw_group_shutdown(i->g) == 0);
	must(tkw_group_destroy(i->g) == 0);
	must(tkw_timer_get(firing->timer, firing->id, &info) == 0);
	must(info.task.fn == end_group);
}

static void count_cancel(void *ctx)
{
	struct inside *i = ctx;

	i->cancelled++;
}

/* A task may cancel, shut down and destroy its own group. */
static void test_group_destroyed_by_its_task(struct timer_bed *b)
{
	struct inside i = { .g = open_group(b) };
	const struct tkw_task task = { .fn = end_group,
				       .ctx = &i,
				       .on_cancel = count_cancel };

	for (int k = 0; k < 30; k++)
		assert_int_equal(tkw_group_schedule(i.g, &task,
						    k == 0 ? TKW_MSEC : HOUR_NS,
						    NULL),
				 0);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(i.fired, 1);
	assert_int_equal(i.ret, 29);
	assert_int_equal(i.cancelled, 29);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_group_destroyed_by_its_task)

static void join_again(void *ctx)
{
	struct inside *i = ctx;
	const struct tkw_task task = { .fn = noop };

	i->cancelled++;
	i->ret = tkw_group_schedule(i->g, &task, HOUR_NS, NULL);
	must(tkw_group_cancel(i->g) == (i->ret == 0));
}

/* An on-cancel may use the group. */
static void test_group_calls_from_on_cancel(struct timer_bed *b)
{
	struct inside i = { .g = open_group(b) };
	const struct tkw_task task = { .fn = noop,
				       .ctx = &i,
				       .on_cancel = join_again };

	for (int k = 0; k < 10; k++)
		assert_int_equal(tkw_group_schedule(i.g, &task, HOUR_NS, NULL),
				 0);
	assert_int_equal(tkw_group_cancel(i.g), 10);
	assert_int_equal(i.cancelled, 10);
	assert_int_equal(i.ret, 0);
	assert_int_equal(tkw_group_schedule(i.g, &task, HOUR_NS, NULL), 0);
	close_group(i.g);
	assert_int_equal(i.cancelled, 11);
	assert_int_equal(i.ret, -ESHUTDOWN);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_group_calls_from_on_cancel)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_8_6_group_fires),
		BED_TESTS(test_8_6_group_cancel),
		BED_TESTS(test_8_6_group_reschedule),
		BED_TESTS(test_8_6_group_extend),
		BED_TESTS(test_8_6_group_shutdown),
		BED_TESTS(test_8_6_group_and_calls_of_the_timer),
		BED_TESTS(test_group_and_stop_of_the_timer),
		BED_TESTS(test_group_tasks_of_all_kinds),
		BED_TESTS_BY_HAND(test_8_6_group_and_an_executor),
		BED_TESTS(test_8_6_group_and_a_dropped_timeout),
		BED_TESTS(test_group_refuses_bad_input),
		BED_TESTS(test_group_max_pending),
		BED_TESTS(test_8_6_group_memory_is_bounded),
		BED_TESTS(test_group_no_memory),
		BED_TESTS(test_group_destroyed_by_its_task),
		BED_TESTS(test_group_calls_from_on_cancel),
	};

	return cmocka_run_group_tests_name("timer_group", tests, NULL, NULL);
}
