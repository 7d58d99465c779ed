/* SPDX-License-Identifier: MIT */
/*
 * test_repeat_inside.c - SPEC 7.3 to 7.5: every call inside the callbacks of a
 * repeat, or while one of them runs on another thread. There is never more than
 * one chain.
 */
#include "repeat_bed.h"

/* --- inside a round -------------------------------------------------- */

/* Starts a repeat whose rounds call in_round. */
static void act_in_rounds(struct book *k, struct timer_bed *b,
			  void (*in_round)(struct book *k,
					   struct tkw_repeat *r))
{
	bed_set_clock(b, ZERO_NS);
	bed_reopen(b, NULL);
	start_repeat(k, b);
	k->in_round = in_round;
}

/* Checks that there is one chain of rounds, the first at 50 ms, then one every
 * every_ms. */
static void assert_one_chain(struct book *k, int64_t every_ms)
{
	unsigned i;

	pass_to(k->b, 1000);
	assert_chains(k, 1);
	assert_int_equal(k->rounds, 1 + 950 / every_ms);
	for (i = 0; i < k->rounds; i++)
		assert_int_equal(k->at_ns[i], MS(50 + every_ms * i));
	assert_int_equal(k->broken, 0);
	close_repeat(k);
}

/* Only in a few rounds: if this made a second chain, chains would double in
 * each round. */
static void reset_inside(struct book *k, struct tkw_repeat *r)
{
	if (k->rounds <= 4)
		must(tkw_repeat_reset(r, MS(30)) == 0);
}

static void restart_inside(struct book *k, struct tkw_repeat *r)
{
	(void)k;
	must(tkw_repeat_restart(r) == 0);
}

static void pause_start_inside(struct book *k, struct tkw_repeat *r)
{
	(void)k;
	must(tkw_repeat_pause(r) == 0);
	must(tkw_repeat_start(r) == 0);
}

static void start_inside(struct book *k, struct tkw_repeat *r)
{
	(void)k;
	must(tkw_repeat_start(r) == 0);
}

static void run_once_inside(struct book *k, struct tkw_repeat *r)
{
	(void)k;
	must(tkw_repeat_run_now(r) == -EBUSY);
}

static void start_now_inside(struct book *k, struct tkw_repeat *r)
{
	if (k->rounds % 3 != 0)
		must(tkw_repeat_start_now(r) == 0);
}

/* The last call counts. */
static void start_now_and_more_inside(struct book *k, struct tkw_repeat *r)
{
	must(tkw_repeat_start_now(r) == 0);
	if (k->rounds == 1)
		must(tkw_repeat_restart(r) == 0);
	else if (k->rounds == 2)
		must(tkw_repeat_reset(r, MS(20)) == 0);
	else if (k->rounds == 3)
		must(tkw_repeat_pause(r) == 0 && tkw_repeat_start(r) == 0);
	else
		must(tkw_repeat_pause(r) == 0);
}

static void call_all_inside(struct book *k, struct tkw_repeat *r)
{
	int i;

	for (i = 0; i < 3; i++) {
		restart_inside(k, r);
		pause_start_inside(k, r);
		reset_inside(k, r);
		must(tkw_repeat_start_now(r) == 0);
		run_once_inside(k, r);
		must(tkw_repeat_pause(r) == 0);
		must(tkw_repeat_pause(r) == 0);
		must(tkw_repeat_run_now(r) == -EBUSY);
		restart_inside(k, r);
		start_inside(k, r);
	}
}

/* SPEC 7.4: reset inside a round. In JRaft this makes two chains. */
static void test_repeat_reset_inside_makes_no_second_chain(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, reset_inside);
	assert_one_chain(&k, 30);
}
BED_TEST(test_repeat_reset_inside_makes_no_second_chain)

/* SPEC 7.4: restart inside a round. In JRaft this makes two chains. */
static void
test_repeat_restart_inside_makes_no_second_chain(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, restart_inside);
	assert_one_chain(&k, 50);
}
BED_TEST(test_repeat_restart_inside_makes_no_second_chain)

/* SPEC 7.4: pause and start inside a round. In JRaft this makes two chains. */
static void
test_repeat_pause_start_inside_makes_no_second_chain(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, pause_start_inside);
	assert_one_chain(&k, 50);
}
BED_TEST(test_repeat_pause_start_inside_makes_no_second_chain)

/* SPEC 7.3, 7.4: a start and a run_now that have no effect, and all calls
 * together. */
static void test_repeat_other_calls_inside(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, start_inside);
	assert_one_chain(&k, 50);
	act_in_rounds(&k, b, run_once_inside);
	assert_one_chain(&k, 50);
	act_in_rounds(&k, b, call_all_inside);
	assert_one_chain(&k, 30);
}
BED_TEST(test_repeat_other_calls_inside)

/* SPEC 7.2, 7.4: start_now inside a round. One round follows at once. */
static void test_repeat_start_now_inside(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, start_now_inside);
	pass_to(b, 110);
	assert_rounds(&k, 50, 50, 50, 100, 100, 100);
	assert_chains(&k, 1);
	close_repeat(&k);
	act_in_rounds(&k, b, start_now_and_more_inside);
	pass_to(b, 200);
	assert_rounds(&k, 50, 100, 120, 140);
	assert_chains(&k, 0);
	assert_described(&k, "heartbeat, every 20 ms, paused");
	close_repeat(&k);
}
BED_TEST(test_repeat_start_now_inside)

/* SPEC 7.1: calls inside a long round count from its end. */
static void test_repeat_calls_inside_count_from_the_end(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, restart_inside);
	k.long_ns = MS(20);
	pass_to(b, 150);
	assert_rounds(&k, 50, 120);
	assert_chains(&k, 1);
	close_repeat(&k);
	act_in_rounds(&k, b, reset_inside);
	k.long_ns = MS(20);
	pass_to(b, 130);
	assert_rounds(&k, 50, 100);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_calls_inside_count_from_the_end)

/* SPEC 7.1, 7.3: at a fixed rate, pause and start inside a round keep the beat,
 * because the chain goes on. Restart begins a new beat. */
static void test_repeat_rate_inside(struct timer_bed *b)
{
	struct tkw_repeat_config cfg;
	static struct book k;

	open_book(&k, b);
	cfg = config_of(&k);
	cfg.mode = TKW_REPEAT_RATE_SKIP;
	make_repeat(&k, &cfg);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	k.in_round = pause_start_inside;
	k.long_ns = MS(10);
	pass_to(b, 155);
	assert_rounds(&k, 50, 100, 150);
	k.in_round = restart_inside;
	pass_to(b, 330);
	assert_rounds(&k, 200, 260, 320);
	close_repeat(&k);
}
BED_TEST(test_repeat_rate_inside)

static void pause_inside(struct book *k, struct tkw_repeat *r)
{
	if (k->rounds % 2 == 0)
		must(tkw_repeat_pause(r) == 0);
}

/* SPEC 7.3: a round that pauses is the last one. */
static void test_repeat_pause_inside(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, pause_inside);
	pass_to(b, 500);
	assert_rounds(&k, 50, 100);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	pass_to(b, 900);
	assert_rounds(&k, 550, 600);
	assert_chains(&k, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_pause_inside)

static void shut_down_inside(struct book *k, struct tkw_repeat *r)
{
	must(tkw_repeat_shutdown(r) == 0);
	must(tkw_repeat_shutdown(r) == 0);
	must(tkw_repeat_start(r) == -ESHUTDOWN);
	must(tkw_repeat_start_now(r) == -ESHUTDOWN);
	must(tkw_repeat_pause(r) == -ESHUTDOWN);
	must(tkw_repeat_restart(r) == -ESHUTDOWN);
	must(tkw_repeat_reset(r, 1) == -ESHUTDOWN);
	must(tkw_repeat_run_now(r) == -ESHUTDOWN);
	/* on_end is called after the round. */
	must(k->ends == 0);
}

/* SPEC 7.5: shutdown is legal inside a round. on_end is called after the round.
 * A second shutdown does not call it again. */
static void test_repeat_shutdown_inside(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, shut_down_inside);
	pass_to(b, 300);
	assert_rounds(&k, 50);
	assert_int_equal(k.ends, 1);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_shutdown_inside)

static void pause_and_shut_down_inside(struct book *k, struct tkw_repeat *r)
{
	(void)k;
	must(tkw_repeat_pause(r) == 0);
	must(tkw_repeat_shutdown(r) == 0);
}

/* SPEC 7.5: the same after a pause. JRaft reports this end twice: at once, and
 * at the end of the round. */
static void test_repeat_pause_and_shutdown_inside(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, pause_and_shut_down_inside);
	pass_to(b, 300);
	assert_rounds(&k, 50);
	assert_int_equal(k.ends, 1);
	assert_int_equal(k.early, 0);
	close_repeat(&k);
}
BED_TEST(test_repeat_pause_and_shutdown_inside)

static void destroy_inside(struct book *k, struct tkw_repeat *r)
{
	must(tkw_repeat_destroy(r) == 0);
	must(k->ends == 0);
}

/* SPEC 7.5: destroy is legal, too. The memory is freed after the round. */
static void test_repeat_destroy_inside(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, destroy_inside);
	pass_to(b, 300);
	assert_rounds(&k, 50);
	assert_int_equal(k.ends, 1);
	assert_chains(&k, 0);
	/* This also works after a shutdown in a round. */
	act_in_rounds(&k, b, shut_down_inside);
	pass_to(b, 300);
	close_repeat(&k);
}
BED_TEST(test_repeat_destroy_inside)

/* SPEC 7.3, 7.4: the same in a round on the thread that calls run_now. */
static void test_repeat_calls_inside_run_now(struct timer_bed *b)
{
	static struct book k;

	act_in_rounds(&k, b, call_all_inside);
	pass_to(b, 10);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_chains(&k, 1);
	pass_to(b, 75);
	assert_rounds(&k, 10, 40, 70);
	k.in_round = pause_inside;
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_rounds(&k, 75);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	k.in_round = shut_down_inside;
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_int_equal(k.ends, 1);
	assert_rounds(&k, 75);
	close_repeat(&k);
	act_in_rounds(&k, b, destroy_inside);
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_int_equal(k.ends, 1);
	assert_chains(&k, 0);
}
BED_TEST(test_repeat_calls_inside_run_now)

/* --- inside on_end ------------------------------------------------------ */

static void call_dead(struct book *k)
{
	must(tkw_repeat_shutdown(k->r) == 0);
	must(tkw_repeat_start(k->r) == -ESHUTDOWN);
	must(tkw_repeat_run_now(k->r) == -ESHUTDOWN);
	must(tkw_repeat_print(k->r, NULL, 0) > 0);
}

static void only_shut_down(struct book *k, struct tkw_repeat *r)
{
	(void)k;
	must(tkw_repeat_shutdown(r) == 0);
}

/* SPEC 7.5: it may be destroyed in on_end, on whichever thread that runs. */
static void test_repeat_is_destroyed_in_on_end(struct timer_bed *b)
{
	static struct book k;

	start_repeat(&k, b);
	k.in_end = destroy_it;
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_int_equal(k.ends, 1);
	assert_null(k.r);
	assert_chains(&k, 0);

	act_in_rounds(&k, b, only_shut_down);
	k.in_end = destroy_it;
	pass_to(b, 100);
	assert_int_equal(k.ends, 1);
	assert_null(k.r);

	act_in_rounds(&k, b, only_shut_down);
	k.in_end = destroy_it;
	assert_int_equal(tkw_repeat_run_now(k.r), 0);
	assert_int_equal(k.ends, 1);
	assert_null(k.r);

	start_repeat(&k, b);
	k.in_end = call_dead;
	close_repeat(&k);
}
BED_TEST(test_repeat_is_destroyed_in_on_end)

/* --- while a round runs on another thread ------------------------------- */

/* SPEC 7.3: a pause does not wait. The running round is the last one. */
static void test_repeat_pause_beside_a_round(struct timer_bed *b)
{
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	assert_described(&k, "heartbeat, every 50 ms, running, invoking");
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -EBUSY);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -EBUSY);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	pass_the_gate(&p);
	assert_chains(&k, 0);
	pass_to(b, 200);
	assert_rounds(&k, 50);
	close_repeat(&k);
}
BED_TEST(test_repeat_pause_beside_a_round)

/* SPEC 7.3, 7.4: if it is started meanwhile, the chain goes on after the
 * round. */
static void test_repeat_start_beside_a_round(struct timer_bed *b)
{
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	bed_set_clock(b, ZERO_NS + MS(60));
	pass_the_gate(&p);
	assert_chains(&k, 1);
	pass_to(b, 200);
	assert_rounds(&k, 50, 110, 160);
	close_repeat(&k);
}
BED_TEST(test_repeat_start_beside_a_round)

/* SPEC 7.4: restart and reset meanwhile count from the end of the round, in one
 * chain. */
static void test_repeat_restart_beside_a_round(struct timer_bed *b)
{
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_int_equal(tkw_repeat_reset(k.r, MS(30)), 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	bed_set_clock(b, ZERO_NS + MS(70));
	pass_the_gate(&p);
	assert_chains(&k, 1);
	pass_to(b, 130);
	assert_rounds(&k, 50, 100, 130);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_restart_beside_a_round)

/* SPEC 7.2, 7.4: start_now meanwhile. One round follows at once. */
static void test_repeat_start_now_beside_a_round(struct timer_bed *b)
{
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_chains(&k, 0);
	bed_set_clock(b, ZERO_NS + MS(60));
	pass_the_gate(&p);
	assert_chains(&k, 1);
	pass_to(b, 120);
	assert_rounds(&k, 50, 60, 110);
	close_repeat(&k);
}
BED_TEST(test_repeat_start_now_beside_a_round)

/* SPEC 7.5: shut down meanwhile. on_end is called at the end of the round. */
static void test_repeat_shutdown_beside_a_round(struct timer_bed *b)
{
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_described(&k, "heartbeat, every 50 ms, paused, ended, "
			     "invoking");
	assert_int_equal(k.ends, 0);
	pass_the_gate(&p);
	assert_int_equal(k.ends, 1);
	assert_chains(&k, 0);
	pass_to(b, 200);
	assert_rounds(&k, 50);
	close_repeat(&k);
}
BED_TEST(test_repeat_shutdown_beside_a_round)

/* SPEC 7.5: destroyed meanwhile. Destroy waits for the round, and for
 * on_end. */
static void test_repeat_destroy_beside_a_round(struct timer_bed *b)
{
	struct destroyer d;
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	pass_to_gate(&p, &k, 50);
	destroy_and_wait(&d, &k);
	assert_int_equal(k.ends, 0);
	gate_open(&gate);
	end_destroy(&d);
	pass_the_gate(&p);
	assert_int_equal(k.ends, 1);
	assert_chains(&k, 0);
	pass_to(b, 200);
	assert_rounds(&k, 50);
}
BED_TEST(test_repeat_destroy_beside_a_round)

static void wait_in_end(struct book *k)
{
	k->inside = true;
	gate_pass(&gate);
	k->inside = false;
}

/* SPEC 7.5: destroyed while on_end runs on another thread. Destroy waits for
 * it. */
static void test_repeat_destroy_beside_on_end(struct timer_bed *b)
{
	struct destroyer d;
	struct passer p;
	static struct book k;

	start_repeat(&k, b);
	k.in_end = wait_in_end;
	pass_to_gate_in(&p, &k, 50, only_shut_down);
	destroy_and_wait(&d, &k);
	gate_open(&gate);
	end_destroy(&d);
	pass_the_gate(&p);
	assert_int_equal(k.ends, 1);
	assert_rounds(&k, 50);
}
BED_TEST(test_repeat_destroy_beside_on_end)

static void destroy_in_task(const struct tkw_firing *firing, void *ctx)
{
	struct book *k = ctx;

	(void)firing;
	must(tkw_repeat_destroy(k->r) == 0);
	must(k->inside && k->ends == 0);
	k->said[0]++;
	gate_open(&gate);
}

/* SPEC 7.5: destroyed in a task of the timer, while a round runs on another
 * thread of its executor. Destroy does not wait, because the round might wait
 * for the task, as it does here. */
static void test_repeat_destroy_in_a_task_beside_a_round(struct timer_bed *b)
{
	struct tkw_pool_config cfg = { .threads = 2 };
	struct tkw_pool *pool = NULL;
	static struct book k;
	struct tkw_task task = { .fn = destroy_in_task, .ctx = &k };

	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	bed_set_clock(b, ZERO_NS);
	bed_reopen(b,
		   &(struct tkw_timer_config){ .exec = tkw_pool_exec(pool) });
	start_repeat(&k, b);
	k.in_round = wait_inside;
	gate_init(&gate);
	bed_pass(b, MS(50));
	gate_await(&gate, 1);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	bed_pass(b, 0);
	/* This also waits for the ends of both tasks. */
	assert_int_equal(tkw_pool_wait_idle(pool, TKW_NEVER_NS), 0);
	assert_int_equal(k.said[0], 1);
	assert_int_equal(k.ends, 1);
	assert_int_equal(k.early, 0);
	assert_rounds(&k, 50);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	b->t = NULL;
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_repeat_destroy_in_a_task_beside_a_round)

static struct book two[2];
static struct gate destroyed; /* opened when both are destroyed */

static void destroy_other(struct book *k, struct tkw_repeat *r)
{
	struct book *other = k == &two[0] ? &two[1] : &two[0];

	(void)r;
	gate_pass(&gate);
	must(tkw_repeat_destroy(other->r) == 0);
	must(other->inside && other->ends == 0);
	gate_pass(&destroyed);
}

static void *run_round(void *arg)
{
	const struct book *k = arg;

	must(tkw_repeat_run_now(k->r) == 0);
	return NULL;
}

/* SPEC 7.5: destroyed in a round of another repeat, which was made by run_now.
 * Destroy does not wait, because its round might wait for this one, as it does
 * here. */
static void test_repeat_rounds_destroy_each_other(struct timer_bed *b)
{
	pthread_t thread[2];

	gate_init(&gate);
	gate_init(&destroyed);
	for (int i = 0; i < 2; i++) {
		start_repeat(&two[i], b);
		two[i].in_round = destroy_other;
	}
	for (int i = 0; i < 2; i++)
		must(pthread_create(&thread[i], NULL, run_round, &two[i]) == 0);
	gate_await(&gate, 2);
	gate_open(&gate);
	gate_await(&destroyed, 2);
	assert_int_equal(tkw_timer_count(b->t), 0);
	gate_open(&destroyed);
	for (int i = 0; i < 2; i++) {
		must(pthread_join(thread[i], NULL) == 0);
		assert_int_equal(two[i].ends, 1);
		assert_int_equal(two[i].early, 0);
		assert_int_equal(two[i].rounds, 1);
	}
	pass_to(b, 200);
	assert_int_equal(two[0].rounds + two[1].rounds, 2);
}
BED_TEST(test_repeat_rounds_destroy_each_other)

/* --- while an adjust runs on another thread ----------------------------- */

/* The first adjust waits. Each returns another delay. */
static int64_t wait_in_adjust(struct tkw_repeat *r, int64_t interval_ns,
			      void *ctx)
{
	struct book *k = ctx;

	(void)r;
	if (k->asked++ == 0)
		gate_pass(&gate);
	return interval_ns + MS(k->asked);
}

struct caller {
	struct tkw_repeat *r;
	int (*call)(struct tkw_repeat *r);
	int said;
	pthread_t thread;
};

static void *call_beside(void *arg)
{
	struct caller *c = arg;

	c->said = c->call(c->r);
	return NULL;
}

/* A call that waits in adjust, on its own thread. */
static void call_to_gate(struct caller *c, struct book *k,
			 int (*call)(struct tkw_repeat *r))
{
	*c = (struct caller){ .r = k->r, .call = call, .said = -1 };
	k->asked = 0;
	gate_init(&gate);
	must(pthread_create(&c->thread, NULL, call_beside, c) == 0);
	gate_await(&gate, 1);
}

static void end_call(struct caller *c)
{
	gate_open(&gate);
	must(pthread_join(c->thread, NULL) == 0);
	assert_int_equal(c->said, 0);
}

static void open_adjusted(struct book *k, struct timer_bed *b)
{
	struct tkw_repeat_config cfg;

	open_book(k, b);
	bed_reopen(b, NULL);
	cfg = config_of(k);
	cfg.adjust = wait_in_adjust;
	make_repeat(k, &cfg);
}

/* SPEC 7.2, 7.4: if another call comes meanwhile, adjust is asked again, and
 * the other call takes effect. */
static void test_repeat_calls_beside_an_adjust(struct timer_bed *b)
{
	struct caller c;
	static struct book k;

	open_adjusted(&k, b);
	call_to_gate(&c, &k, tkw_repeat_start);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -EBUSY);
	assert_described(&k, "heartbeat, every 50 ms, running");
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	assert_int_equal(tkw_repeat_restart(k.r), 0);
	assert_int_equal(tkw_repeat_reset(k.r, MS(30)), 0);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_run_now(k.r), -ENOENT);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 0);
	end_call(&c);
	assert_int_equal(k.asked, 2);
	assert_chains(&k, 1);
	pass_to(b, 70);
	assert_rounds(&k, 32, 65);
	assert_chains(&k, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_calls_beside_an_adjust)

/* SPEC 7.2: after a start_now it is not asked again. */
static void test_repeat_start_now_beside_an_adjust(struct timer_bed *b)
{
	struct caller c;
	static struct book k;

	open_adjusted(&k, b);
	call_to_gate(&c, &k, tkw_repeat_start);
	assert_int_equal(tkw_repeat_start_now(k.r), 0);
	end_call(&c);
	bed_pass(b, 0);
	assert_rounds(&k, 0);
	assert_int_equal(k.asked, 2);
	assert_chains(&k, 1);
	pass_to(b, 60);
	assert_rounds(&k, 52);
	close_repeat(&k);
}
BED_TEST(test_repeat_start_now_beside_an_adjust)

/* SPEC 7.3: if it is paused meanwhile there is no chain, even if there was
 * one. */
static void test_repeat_pause_beside_an_adjust(struct timer_bed *b)
{
	struct caller c;
	static struct book k;

	open_adjusted(&k, b);
	call_to_gate(&c, &k, tkw_repeat_start);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_int_equal(tkw_repeat_reset(k.r, MS(40)), 0);
	end_call(&c);
	assert_int_equal(k.asked, 1);
	assert_chains(&k, 0);
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 1);
	call_to_gate(&c, &k, tkw_repeat_restart);
	assert_int_equal(tkw_repeat_pause(k.r), 0);
	assert_chains(&k, 0);
	end_call(&c);
	assert_chains(&k, 0);
	pass_to(b, 100);
	assert_no_round(&k);
	close_repeat(&k);
}
BED_TEST(test_repeat_pause_beside_an_adjust)

/* SPEC 7.5: shut down meanwhile. on_end is called after the adjust. */
static void test_repeat_shutdown_beside_an_adjust(struct timer_bed *b)
{
	struct caller c;
	static struct book k;

	open_adjusted(&k, b);
	call_to_gate(&c, &k, tkw_repeat_start);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	assert_int_equal(k.ends, 0);
	end_call(&c);
	assert_int_equal(k.ends, 1);
	close_repeat(&k);
}
BED_TEST(test_repeat_shutdown_beside_an_adjust)

/* SPEC 7.4: the pending round is due while it is moved. That firing is a stray,
 * and does not make a second chain. */
static void test_repeat_stray_firing(struct timer_bed *b)
{
	struct caller c;
	static struct book k;

	open_adjusted(&k, b);
	k.asked = 1;
	assert_int_equal(tkw_repeat_start(k.r), 0);
	assert_chains(&k, 1);
	call_to_gate(&c, &k, tkw_repeat_restart);
	pass_to(b, 60);
	assert_no_round(&k);
	assert_chains(&k, 0);
	end_call(&c);
	assert_chains(&k, 1);
	pass_to(b, 111);
	assert_rounds(&k, 111);
	assert_chains(&k, 1);
	close_repeat(&k);
	/* The same, but it is shut down meanwhile. */
	open_adjusted(&k, b);
	k.asked = 1;
	assert_int_equal(tkw_repeat_start(k.r), 0);
	call_to_gate(&c, &k, tkw_repeat_restart);
	pass_to(b, 60);
	assert_int_equal(tkw_repeat_shutdown(k.r), 0);
	end_call(&c);
	assert_no_round(&k);
	close_repeat(&k);
}
BED_TEST(test_repeat_stray_firing)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_repeat_reset_inside_makes_no_second_chain),
		BED_TESTS(test_repeat_restart_inside_makes_no_second_chain),
		BED_TESTS(test_repeat_pause_start_inside_makes_no_second_chain),
		BED_TESTS(test_repeat_other_calls_inside),
		BED_TESTS(test_repeat_start_now_inside),
		BED_TESTS(test_repeat_calls_inside_count_from_the_end),
		BED_TESTS(test_repeat_rate_inside),
		BED_TESTS(test_repeat_pause_inside),
		BED_TESTS(test_repeat_shutdown_inside),
		BED_TESTS(test_repeat_pause_and_shutdown_inside),
		BED_TESTS(test_repeat_destroy_inside),
		BED_TESTS(test_repeat_calls_inside_run_now),
		BED_TESTS(test_repeat_is_destroyed_in_on_end),
		BED_TESTS(test_repeat_pause_beside_a_round),
		BED_TESTS(test_repeat_start_beside_a_round),
		BED_TESTS(test_repeat_restart_beside_a_round),
		BED_TESTS(test_repeat_start_now_beside_a_round),
		BED_TESTS(test_repeat_shutdown_beside_a_round),
		BED_TESTS(test_repeat_destroy_beside_a_round),
		BED_TESTS(test_repeat_destroy_beside_on_end),
		BED_TESTS(test_repeat_destroy_in_a_task_beside_a_round),
		BED_TESTS(test_repeat_rounds_destroy_each_other),
		BED_TESTS(test_repeat_calls_beside_an_adjust),
		BED_TESTS(test_repeat_start_now_beside_an_adjust),
		BED_TESTS(test_repeat_pause_beside_an_adjust),
		BED_TESTS(test_repeat_shutdown_beside_an_adjust),
		BED_TESTS(test_repeat_stray_firing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
