/* SPDX-License-Identifier: MIT */
/*
 * test_desk_memory.c - each allocation of the desk fails once: the request says
 * so, nothing is half done, and the next ones work.
 *
 * The program is linked with --wrap for malloc(), calloc() and realloc().
 */
#include "desk_bed.h"

#include <stdlib.h>

#include "home/planner.h"
#include "store/clerk.h"

static int fail_at; /* this allocation fails; 0: none */
static int allocations;

/* The linker's names are reserved for it. */
#define NAMED(name) __asm__(name)
void *real_malloc(size_t bytes) NAMED("__real_malloc");
void *real_calloc(size_t n, size_t bytes) NAMED("__real_calloc");
void *real_realloc(void *mem, size_t bytes) NAMED("__real_realloc");
void *wrap_malloc(size_t bytes) NAMED("__wrap_malloc");
void *wrap_calloc(size_t n, size_t bytes) NAMED("__wrap_calloc");
void *wrap_realloc(void *mem, size_t bytes) NAMED("__wrap_realloc");

static bool fails(void)
{
	return fail_at && ++allocations == fail_at;
}

void *wrap_malloc(size_t bytes)
{
	return fails() ? NULL : real_malloc(bytes);
}

void *wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : real_calloc(n, bytes);
}

void *wrap_realloc(void *mem, size_t bytes)
{
	return fails() ? NULL : real_realloc(mem, bytes);
}

/* The disk has memory of its own. */
static int append(struct tkw__store *s, const struct tkw__row *rows,
		  size_t count, uint64_t *last)
{
	int was = fail_at;
	int err;

	fail_at = 0;
	err = ram_store_ops.append(s, rows, count, last);
	fail_at = was;
	return err;
}

static struct tkw__store_ops ops;

static void expect(const struct bed_request *r, int64_t result)
{
	assert_int_equal(r->r.state, TKW__REQUEST_ENDED);
	if (r->r.result != result)
		assert_int_equal(r->r.result, -ENOMEM);
}

/* Something of everything. A failure may change what comes after it. */
static void live(struct desk_bed *b)
{
	struct bed_request p, t, o, n, l;
	struct tkw__look_list list = { .state = TKW__QUEUE_STATES, .max = 100 };

	ask_put(b, &p, 0, 0, 40);
	p.put[0].key.at = "key";
	p.put[0].key.len = 3;
	bed_quiet(b);
	expect(&p, 0);
	ask_open(b, &o, "other");
	bed_quiet(b);
	expect(&o, 0);
	ask_take(b, &t, 0, 0, 2);
	bed_quiet(b);
	expect(&t, p.r.result == 0 ? 2 : 0);
	if (t.r.take.items) {
		ask_ack(b, &n, 0, &t.r.take.items->item[0]);
		n.r.kind = TKW__REQUEST_NACK;
		n.r.claim.how.reason.at = "reason";
		n.r.claim.how.reason.len = 6;
		bed_quiet(b);
		expect(&n, 1);
	}
	tkw_items_free(t.r.take.items);
	l = (struct bed_request){ .r = { .kind = TKW__REQUEST_LOOK,
					 .queue = b->q } };
	l.r.look.fn = tkw__look_at_list;
	l.r.look.arg = &list;
	bed_submit(b, &l, 0);
	bed_quiet(b);
	expect(&l, p.r.result == 0 ? 40 : 0);
	tkw_items_free(list.items);
	bed_pass(b, 40000); /* the lease is lost */
	bed_quiet(b);
}

static void test_desk_survives_each_failed_allocation(void **state)
{
	int n = 0;

	(void)state;
	do {
		struct desk_bed *b;
		void *bed;

		desk_bed_begin(&bed);
		b = bed;
		b->cfg.slack_bytes = 1;
		bed_reopen(b);
		ops = ram_store_ops;
		ops.append = append;
		b->store->ops = &ops;
		allocations = 0;
		fail_at = ++n;
		live(b);
		fail_at = 0;
		/* The hold is over, and everything works. */
		bed_pass(b, 5000);
		bed_put(b, 0);
		bed_reopen(b);
		desk_bed_end(&bed);
	} while (allocations >= n);
	assert_true(n > 20);
}

/* Calls about a plan. Each one that finds no memory has changed nothing. */
static void plan_and_take(struct desk_bed *b)
{
	static const enum tkw__request_kind kinds[] = {
		TKW__REQUEST_PLAN,       TKW__REQUEST_TAKE,
		TKW__REQUEST_PAUSE_PLAN, TKW__REQUEST_RESUME_PLAN,
		TKW__REQUEST_UNPLAN,
	};
	const struct tkw__queue_plan plan = {
		.name = { "n", 1 },
		.plan = { "30 2 * * *", 10 },
		.zone = { "Europe/Berlin", 13 },
		.payload = { "work", 4 },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct bed_request r = { .r = { .kind = kinds[i],
						.queue = b->q } };
		uint64_t digest = tkw__desk_digest(b->desk);

		if (kinds[i] == TKW__REQUEST_PLAN)
			r.r.plan.plan = &plan;
		else if (kinds[i] == TKW__REQUEST_TAKE)
			r.r.take.max = 1;
		else
			r.r.plan_name = plan.name;
		bed_submit(b, &r, 0);
		bed_quiet(b);
		assert_int_equal(r.r.state, TKW__REQUEST_ENDED);
		if (r.r.result == -ENOMEM)
			assert_true(digest == tkw__desk_digest(b->desk));
		else if (kinds[i] != TKW__REQUEST_TAKE && r.r.result)
			assert_int_equal(r.r.result, -ENOENT);
		if (kinds[i] == TKW__REQUEST_TAKE)
			tkw_items_free(r.r.take.items);
		if (kinds[i] == TKW__REQUEST_PLAN)
			bed_pass(b, (uint64_t)24 * 3600 * 1000);
	}
}

static void test_desk_plans_survive_each_failed_allocation(void **state)
{
	int n = 0;

	(void)state;
	do {
		struct tkw__planner planner;
		struct desk_bed *b;
		void *bed;

		desk_bed_begin(&bed);
		b = bed;
		tkw__planner_init(&planner, NULL);
		b->cfg.calendar = &planner.calendar;
		bed_reopen(b);
		ops = ram_store_ops;
		ops.append = append;
		b->store->ops = &ops;
		allocations = 0;
		fail_at = ++n;
		plan_and_take(b);
		fail_at = 0;
		bed_pass(b, 5000);
		plan_and_take(b);
		bed_reopen(b);
		desk_bed_end(&bed);
		tkw__planner_fini(&planner);
	} while (allocations >= n);
	assert_true(n > 20);
}

/* A desk that cannot be created leaves nothing behind. */
static void test_desk_create_survives_each_failed_allocation(void **state)
{
	struct desk_bed *b = *state;
	int n = 0;
	int err;

	for (int i = 0; i < 100; i++)
		bed_put(b, i);
	do {
		struct tkw__desk *d = NULL;

		allocations = 0;
		fail_at = ++n;
		err = tkw__desk_create(&d, &b->cfg);
		fail_at = 0;
		if (!err) {
			assert_null(tkw__desk_check(d));
			assert_true(tkw__desk_digest(d) ==
				    tkw__desk_digest(b->desk));
			tkw__desk_destroy(d);
		} else {
			assert_int_equal(err, -ENOMEM);
			assert_null(d);
		}
	} while (allocations >= n);
	assert_int_equal(err, 0);
	assert_true(n > 100);
}

/* Without memory for a snapshot, the snapshot waits, and nothing else. */
static void test_desk_put_needs_no_memory_for_a_snapshot(void **state)
{
	int64_t result = -1;
	int n = 0;

	(void)state;
	do {
		struct desk_bed *b;
		struct bed_request o, p;
		struct tkw__desk_facts facts;
		struct tkw_items *items;
		void *bed;

		desk_bed_begin(&bed);
		b = bed;
		ask_put(b, &p, 0, 0, BED_PUTS);
		ask_open(b, &o, "other");
		bed_quiet(b);
		/* A snapshot is due now. */
		items = bed_take(b, BED_PUTS, 1000);
		for (size_t i = 0; i < BED_PUTS / 2; i++)
			assert_int_equal(bed_ack(b, &items->item[i]), 1);
		tkw_items_free(items);
		b->cfg.slack_bytes = 1;
		bed_reopen(b);
		ops = ram_store_ops;
		ops.append = append;
		b->store->ops = &ops;
		ask_put(b, &p, 0, 0, 1);
		p.r.queue = tkw__desk_find(b->desk, "other");
		allocations = 0;
		fail_at = ++n;
		bed_turn(b);
		fail_at = 0;
		tkw__desk_get_facts(b->desk, &facts);
		if (allocations >= n)
			result = p.r.result;
		else
			assert_true(facts.commit_rows > BED_PUTS / 2);
		desk_bed_end(&bed);
	} while (allocations >= n);
	/* The last allocation is for the snapshot. */
	assert_true(n > 1);
	assert_int_equal(result, 0);
}

/* --- the clerk of a connection -------------------------------------------- */

static void start_frame(struct tkw__wire_out *o, enum tkw__wire_call call,
			const char *name)
{
	tkw__wire_begin(o);
	tkw__wire_put_u8(o, (uint8_t)call);
	tkw__wire_put_name(o, name);
}

static enum tkw__clerk_step send_frame(struct tkw__clerk *c,
				       const struct tkw__wire_out *o)
{
	return tkw__clerk_read(c, o->bytes + TKW__WIRE_HEAD,
			       o->len - TKW__WIRE_HEAD, 1);
}

static void read_hello(struct tkw__clerk *c, struct tkw__wire_out *o)
{
	start_frame(o, TKW__WIRE_HELLO, "");
	tkw__wire_put_u32(o, TKW__WIRE_VERSION);
	assert_int_equal(send_frame(c, o), TKW__CLERK_ANSWER);
}

/* Lets the desk do what the clerk asks for, up to the last request. */
static void run_clerk(struct desk_bed *b, struct tkw__clerk *c)
{
	tkw__desk_submit(b->desk, &c->request);
	bed_quiet(b);
	assert_int_equal(c->request.state, TKW__REQUEST_ENDED);
}

/* Without memory for the answer to a take, the client cannot have the items:
 * they are given back at once. */
static void test_desk_clerk_gives_items_back_without_memory(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__clerk c = { .greeted = false };
	struct tkw__wire_out o = { 0 };
	struct bed_request p;

	ask_put(b, &p, 0, 0, BED_PUTS);
	bed_quiet(b);
	read_hello(&c, &o);
	start_frame(&o, TKW__WIRE_TAKE, "q");
	tkw__wire_put_u32(&o, BED_PUTS);
	tkw__wire_put_i64(&o, 30000);
	tkw__wire_put_i64(&o, 0);
	assert_int_equal(send_frame(&c, &o), TKW__CLERK_SUBMIT);
	run_clerk(b, &c);
	assert_int_equal(tkw__clerk_go_on(&c), TKW__CLERK_SUBMIT);
	run_clerk(b, &c);
	assert_int_equal(c.request.result, BED_PUTS);
	allocations = 0;
	fail_at = 1;
	assert_int_equal(tkw__clerk_go_on(&c), TKW__CLERK_ANSWER);
	fail_at = 0;
	assert_true(c.out.failed);
	assert_true(tkw__clerk_give_back(&c));
	run_clerk(b, &c);
	assert_int_equal(bed_stats(b).ready, BED_PUTS);
	tkw__clerk_fini(&c);
	tkw__wire_free(&o);
}

/* Returns the result of an answer. */
static int64_t result_of(const struct tkw__clerk *c)
{
	struct tkw__wire_in in = { c->out.bytes + TKW__WIRE_HEAD,
				   c->out.len - TKW__WIRE_HEAD, false };

	assert_false(c->out.failed);
	return tkw__wire_get_i64(&in);
}

/* A put that was done is never answered with an error, or a client that tries
 * it again would put its items twice. */
static void test_desk_clerk_has_memory_for_the_answer_before_a_put(void **state)
{
	struct desk_bed *b = *state;
	struct tkw__wire_out o = { 0 };
	enum tkw__clerk_step step;
	int refused = 0;
	int n = 0;

	do {
		struct tkw__clerk c = { .greeted = false };
		uint64_t had = bed_stats(b).ready;

		read_hello(&c, &o);
		start_frame(&o, TKW__WIRE_PUT, "q");
		tkw__wire_put_u32(&o, BED_PUTS);
		for (int i = 0; i < BED_PUTS; i++) {
			tkw__wire_put_text(&o, "x", 1);
			tkw__wire_put_i64(&o, 0);
			tkw__wire_put_i64(&o, 0);
			tkw__wire_put_option(&o, NULL, 0);
			tkw__wire_put_u8(&o, 0);
			tkw__wire_put_u32(&o, 0);
			tkw__wire_put_u32(&o, 0);
			tkw__wire_put_u32(&o, 0);
		}
		ops = ram_store_ops;
		ops.append = append;
		b->store->ops = &ops;
		allocations = 0;
		fail_at = ++n;
		step = send_frame(&c, &o);
		while (step == TKW__CLERK_SUBMIT) {
			run_clerk(b, &c);
			step = tkw__clerk_go_on(&c);
		}
		fail_at = 0;
		assert_int_equal(step, TKW__CLERK_ANSWER);
		refused += result_of(&c) != 0;
		assert_true(result_of(&c) == 0 || result_of(&c) == -ENOMEM);
		assert_int_equal(bed_stats(b).ready,
				 had + (result_of(&c) ? 0 : BED_PUTS));
		tkw__clerk_fini(&c);
	} while (allocations >= n);
	assert_true(refused > 2);
	tkw__wire_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_desk_survives_each_failed_allocation),
		cmocka_unit_test(
			test_desk_plans_survive_each_failed_allocation),
		DESK_TEST(test_desk_create_survives_each_failed_allocation),
		cmocka_unit_test(test_desk_put_needs_no_memory_for_a_snapshot),
		DESK_TEST(test_desk_clerk_gives_items_back_without_memory),
		DESK_TEST(
			test_desk_clerk_has_memory_for_the_answer_before_a_put),
	};

	return cmocka_run_group_tests_name("desk_memory", tests, NULL, NULL);
}
