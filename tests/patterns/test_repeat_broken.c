/* SPDX-License-Identifier: MIT */
/*
 * test_repeat_broken.c - SPEC 7.4, 7.5, 4.8 and 6.2 for a repeat: the timer is
 * stopped or full, or its executor refuses a round.
 */
#include "repeat_bed.h"

/* --- what breaks a chain off -------------------------------------------- */

/* SPEC 6.2 for a repeat: the timer is stopped. on_broken is called once, and no
 * round begins any more. */
static void test_repeat_timer_is_stopped(struct timer_bed *b)
{
	static struct book k, other;

	start_repeat(&k, b);
	open_repeat(&other, b);
	pass_to(b, 60);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.err, -ESHUTDOWN);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	/* It was not started, so on_broken is not called. */
	assert_int_equal(other.broken, 0);
	assert_int_equal(tkw_repeat_start(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_start_now(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_restart(k.r), -ESHUTDOWN);
	assert_int_equal(tkw_repeat_reset(k.r, MS(10)), 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -ENOENT);
	assert_described(&k, "heartbeat, every 10 ms, paused");
	assert_int_equal(k.broken, 1);
	assert_rounds(&k, 50);
	close_repeat(&k);
	close_repeat(&other);
}
BED_TEST(test_repeat_timer_is_stopped)

static void *stop_timer(void *arg)
{
	struct timer_bed *b = arg;

	must(tkw_timer_stop(b->t, NULL, NULL) == 0);
	return NULL;
}

/* SPEC 6.2 for a repeat: the timer is stopped while a round runs. on_broken is
 * called after the round, and before the stop returns. */
static void test_repeat_timer_is_stopped_beside_a_round(struct timer_bed *b)
{
	struct passer p;
	static struct book k;
	pthread_t stopper;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	must(pthread_create(&stopper, NULL, stop_timer, b) == 0);
	while (!tkw_timer_is_stopped(b->t))
		sched_yield();
	/* The running round will arm the next one, so this returns 0. */
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	pass_the_gate(&p);
	must(pthread_join(stopper, NULL) == 0);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.err, -ESHUTDOWN);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_rounds(&k, 50);
	close_repeat(&k);
}
BED_TEST(test_repeat_timer_is_stopped_beside_a_round)

static void call_in_visitor(const struct tkw_timeout_info *info, void *ctx)
{
	struct book *k = ctx;

	(void)info;
	must(tkw_repeat_run_now(k->r) == -ENOENT);
	must(k->in_visitor(k->r) == -ESHUTDOWN);
	must(k->broken == 1);
	must(k->in_visitor(k->r) == -ESHUTDOWN);
	must(tkw_repeat_start(k->r) == -ESHUTDOWN);
}

static int (*const restarts[])(struct tkw_repeat *) = { tkw_repeat_restart,
							tkw_repeat_start_now };

/* Starts a repeat and stops its timer. visit() makes the call, which finds that
 * the chain is broken. */
static void stop_and_call(struct book *k, struct timer_bed *b,
			  int (*call)(struct tkw_repeat *),
			  void (*in_broken)(struct book *k),
			  tkw_visit_fn *visit)
{
	bed_reopen(b, NULL);
	start_repeat(k, b);
	k->in_visitor = call;
	k->in_broken = in_broken;
	assert_int_equal(tkw_timer_stop(b->t, visit, k), 0);
	assert_int_equal(k->broken, 1);
	assert_int_equal(k->err, -ESHUTDOWN);
}

/* A restart or a start_now breaks the chain before the timer has handed over
 * the round. on_broken is called once, too. */
static void test_repeat_restart_breaks_off(struct timer_bed *b)
{
	static struct book k;
	size_t i;

	for (i = 0; i < 2; i++) {
		stop_and_call(&k, b, restarts[i], NULL, call_in_visitor);
		assert_described(&k, "heartbeat, every 50 ms, paused");
		close_repeat(&k);
	}
}
BED_TEST(test_repeat_restart_breaks_off)

static void destroy_in_visitor(const struct tkw_timeout_info *info, void *ctx)
{
	struct book *k = ctx;

	(void)info;
	must(tkw_repeat_destroy(k->r) == 0);
	must(k->ends == 1);
}

/* SPEC 7.5: destroyed while the timer hands over its round. Nothing is called
 * after on_end. */
static void test_repeat_is_destroyed_in_a_visitor(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	assert_int_equal(tkw_timer_stop(b->t, destroy_in_visitor, &k), 0);
	assert_int_equal(k.ends, 1);
	assert_int_equal(k.broken, 0);
}
BED_TEST(test_repeat_is_destroyed_in_a_visitor)

static void shut_down_in_broken(struct book *k)
{
	must(tkw_repeat_shutdown(k->r) == 0);
	must(tkw_repeat_shutdown(k->r) == 0);
	must(k->ends == 0);
}

static void destroy_in_broken(struct book *k)
{
	must(tkw_repeat_destroy(k->r) == 0);
	must(k->ends == 0);
}

static void restart_in_visitor(const struct tkw_timeout_info *info, void *ctx)
{
	struct book *k = ctx;

	(void)info;
	must(k->in_visitor(k->r) == -ESHUTDOWN);
	must(k->broken == 1);
	must(k->ends == 1);
}

/* SPEC 7.5: a call finds the repeat broken off, and on_broken destroys the
 * repeat inside that call. */
static void test_repeat_destroy_inside_a_restart(struct timer_bed *b)
{
	static struct book k;
	size_t i;

	for (i = 0; i < 2; i++) {
		stop_and_call(&k, b, restarts[i], destroy_in_broken,
			      restart_in_visitor);
		assert_int_equal(k.ends, 1);
	}
}
BED_TEST(test_repeat_destroy_inside_a_restart)

/* SPEC 7.5: shutdown and destroy inside on_broken. on_end comes after it. */
static void test_repeat_destroy_inside_on_broken(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	k.in_broken = shut_down_in_broken;
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.ends, 1);
	close_repeat(&k);

	bed_reopen(b, NULL);
	start_repeat(&k, b);
	k.in_broken = shut_down_in_broken;
	k.in_end = destroy_it;
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_null(k.r);
	assert_int_equal(k.ends, 1);

	bed_reopen(b, NULL);
	start_repeat(&k, b);
	k.in_broken = destroy_in_broken;
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.ends, 1);
}
BED_TEST(test_repeat_destroy_inside_on_broken)

static void wait_in_broken(struct book *k)
{
	(void)k;
	gate_pass(&gate);
}

/* SPEC 7.5: destroyed while on_broken runs on another thread. Destroy waits for
 * it, and for on_end. */
static void test_repeat_destroy_beside_on_broken(struct timer_bed *b)
{
	static struct book k;
	struct destroyer d;
	pthread_t stopper;

	start_repeat(&k, b);
	k.in_broken = wait_in_broken;
	gate_init(&gate);
	must(pthread_create(&stopper, NULL, stop_timer, b) == 0);
	gate_await(&gate, 1);
	destroy_and_wait(&d, &k);
	assert_int_equal(k.ends, 0);
	gate_open(&gate);
	end_destroy(&d);
	assert_int_equal(k.ends, 1);
	must(pthread_join(stopper, NULL) == 0);
	assert_int_equal(k.broken, 1);
}
BED_TEST(test_repeat_destroy_beside_on_broken)

/* --- at the limit ------------------------------------------------------- */

/* The place of the running round is free. */
static void take_the_place(struct book *k, struct tkw_repeat *r)
{
	const struct tkw_task task = bed_task(k->b, 1);

	(void)r;
	must(tkw_timer_schedule(k->b->t, &task, 3600 * TKW_SEC, NULL) == 0);
}

static void start_at_limit(struct book *k, struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };

	bed_set_clock(b, ZERO_NS);
	bed_reopen(b, &cfg);
	start_repeat(k, b);
}

/* Errors: at the limit of the timer a start is refused. A pending round can
 * still be moved. */
static void test_repeat_at_the_limit(struct timer_bed *b)
{
	static struct book k, other;

	start_at_limit(&k, b);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_int_equal(tkw_repeat_reset(k.r, MS(20)), 0);
	open_repeat(&other, b);
	assert_int_equal(tkw_repeat_start(other.r), -EAGAIN);
	assert_int_equal(tkw_repeat_start_now(other.r), -EAGAIN);
	assert_int_equal(tkw_repeat_restart(other.r), -EAGAIN);
	assert_described(&other, "heartbeat, every 50 ms, paused");
	assert_int_equal(other.broken, 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_start(other.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), -EAGAIN);
	assert_int_equal(tkw_repeat_destroy(other.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_int_equal(k.broken, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_at_the_limit)

/* A round finds its place taken. on_broken is called, and it may be started
 * again. (Not with a thread, because there is no place for the bed's
 * markers.) */
static void test_repeat_breaks_off_at_the_limit(struct timer_bed *b)
{
	static struct book k;

	start_at_limit(&k, b);
	k.in_round = take_the_place;
	bed_pass(b, MS(50));
	assert_rounds(&k, 50);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.err, -EAGAIN);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_int_equal(tkw_repeat_start(k.r), -EAGAIN);
	assert_int_equal(k.broken, 1);
	/* The other timeout fires, and its place is free. */
	bed_pass(b, 3600 * TKW_SEC);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	/* The same in run_now, which still makes its round. */
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_int_equal(k.rounds, 2);
	assert_int_equal(k.broken, 2);
	assert_int_equal(k.err, -EAGAIN);
	bed_pass(b, 3600 * TKW_SEC);
	close_repeat(&k);
}
BED_TEST(test_repeat_breaks_off_at_the_limit)

/* --- an executor that refuses ------------------------------------------- */

static struct {
	struct tkw_job job;
	bool keep; /* keep the next job, to abandon it */
	int refuse;
} picky;

static int pick(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	if (picky.refuse > 0) {
		picky.refuse--;
		return -EAGAIN;
	}
	if (picky.keep)
		picky.job = *job;
	else
		job->run(job);
	return 0;
}

static void start_picky(struct book *k, struct timer_bed *b, int refusal)
{
	static const struct tkw_exec exec = { .submit = pick };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .refusal = refusal };

	memset(&picky, 0, sizeof(picky));
	bed_set_clock(b, ZERO_NS);
	bed_reopen(b, &cfg);
	start_repeat(k, b);
}

/* Like bed_pass(), which relies on tasks that the worker runs. */
static void pass_picky(struct timer_bed *b, int64_t ms)
{
	bed_pass(b, MS(ms));
	bed_pass(b, 0);
}

/* SPEC 4.8: the executor drops a round. The error is -ECANCELED, and the repeat
 * is paused. */
static void test_repeat_round_is_dropped(struct timer_bed *b)
{
	static struct book k;

	start_picky(&k, b, TKW_REFUSED_DROP);
	pass_picky(b, 50);
	assert_rounds(&k, 50);
	picky.refuse = 1;
	pass_picky(b, 50);
	assert_no_round(&k);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.err, -ECANCELED);
	assert_described(&k, "heartbeat, every 50 ms, paused");
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	pass_picky(b, 50);
	assert_rounds(&k, 150);
	/* The executor takes the job, and abandons it later. */
	picky.keep = true;
	pass_picky(b, 50);
	assert_no_round(&k);
	assert_chains(&k, 1);
	picky.job.abandon(&picky.job);
	assert_int_equal(k.broken, 2);
	assert_int_equal(k.err, -ECANCELED);
	assert_chains(&k, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_round_is_dropped)

static void start_in_broken(struct book *k)
{
	char buf[64];

	must(tkw_repeat_print(k->r, buf, sizeof(buf)) > 0);
	must(strcmp(buf, "heartbeat, every 50 ms, paused") == 0);
	k->said[0] = k->broken % 2 ? tkw_repeat_start(k->r)
				   : tkw_repeat_restart(k->r);
}

/* SPEC 7.4: it is started again in on_broken, and there is one chain. */
static void test_repeat_starts_again_in_on_broken(struct timer_bed *b)
{
	static struct book k;

	start_picky(&k, b, TKW_REFUSED_DROP);
	k.in_broken = start_in_broken;
	picky.refuse = 2;
	pass_picky(b, 50);
	assert_int_equal(k.broken, 1);
	assert_int_equal(k.said[0], 0);
	assert_chains(&k, 1);
	pass_picky(b, 50);
	assert_int_equal(k.broken, 2);
	assert_int_equal(k.said[0], 0);
	assert_chains(&k, 1);
	pass_picky(b, 50);
	pass_picky(b, 50);
	assert_rounds(&k, 150, 200);
	/* The start fails because the timer is stopped. on_broken is not called
	 * again. */
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(k.broken, 3);
	assert_int_equal(k.said[0], -ESHUTDOWN);
	close_repeat(&k);
}
BED_TEST(test_repeat_starts_again_in_on_broken)

/* SPEC 4.8: a round that is refused but not dropped does not break the
 * chain. */
static void test_repeat_round_is_refused(struct timer_bed *b)
{
	static struct book k;

	start_picky(&k, b, TKW_REFUSED_RETRY);
	picky.refuse = 2;
	pass_picky(b, 50);
	pass_picky(b, 1);
	pass_picky(b, 1);
	assert_int_equal(k.rounds, 1);
	assert_int_equal(k.broken, 0);
	assert_chains(&k, 1);
	close_repeat(&k);
	start_picky(&k, b, TKW_REFUSED_INLINE);
	picky.refuse = 1;
	pass_picky(b, 50);
	assert_rounds(&k, 50);
	assert_int_equal(k.broken, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_round_is_refused)

/* SPEC 7.3, 7.4: a round in the executor's queue is pending. It can be moved,
 * paused and made now. Its job then does nothing. */
static void test_repeat_round_waits_in_a_queue(struct timer_bed *b)
{
	static struct book k;
	struct tkw_job job;

	start_picky(&k, b, TKW_REFUSED_DROP);
	picky.keep = true;
	pass_picky(b, 50);
	job = picky.job;
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	job.run(&job);
	assert_no_round(&k);
	assert_chains(&k, 1);
	pass_picky(b, 50);
	job = picky.job;
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_rounds(&k, 100);
	job.run(&job);
	assert_no_round(&k);
	assert_chains(&k, 1);
	pass_picky(b, 50);
	job = picky.job;
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	job.run(&job);
	assert_no_round(&k);
	assert_chains(&k, 0);
	assert_int_equal(k.broken, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_round_waits_in_a_queue)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_repeat_timer_is_stopped),
		BED_TESTS(test_repeat_timer_is_stopped_beside_a_round),
		BED_TESTS(test_repeat_restart_breaks_off),
		BED_TESTS(test_repeat_is_destroyed_in_a_visitor),
		BED_TESTS(test_repeat_destroy_inside_on_broken),
		BED_TESTS(test_repeat_destroy_inside_a_restart),
		BED_TESTS(test_repeat_destroy_beside_on_broken),
		BED_TESTS(test_repeat_at_the_limit),
		BED_TEST_UNDER(test_repeat_breaks_off_at_the_limit, manual),
		BED_TEST_UNDER(test_repeat_round_is_dropped, manual),
		BED_TEST_UNDER(test_repeat_starts_again_in_on_broken, manual),
		BED_TEST_UNDER(test_repeat_round_is_refused, manual),
		BED_TEST_UNDER(test_repeat_round_waits_in_a_queue, manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
