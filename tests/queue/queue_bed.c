/* SPDX-License-Identifier: MIT */
/* queue_bed.c - see queue_bed.h. */
#include "queue_bed.h"

#include <stdlib.h>

void *bed_alloc(size_t bytes, void *ctx)
{
	struct queue_bed *b = ctx;
	void *mem;

	if (++b->allocs == b->fail_at)
		return NULL;
	mem = malloc(bytes);
	if (!mem)
		abort();
	b->bytes += bytes;
	return mem;
}

void bed_free(void *mem, size_t bytes, void *ctx)
{
	struct queue_bed *b = ctx;

	b->bytes -= bytes;
	free(mem);
}

void bed_restart(struct queue_bed *b, uint32_t small, uint32_t take_steps)
{
	if (b->q) {
		tkw__queue_log_fini(b->q, &b->log);
		tkw__queue_destroy(b->q);
	}
	b->cfg.small = small;
	b->cfg.take_steps = take_steps;
	b->cfg.now_us = b->now * 1000;
	assert_int_equal(tkw__queue_create(&b->q, &b->cfg), 0);
}

int queue_bed_begin(void **state)
{
	struct queue_bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->now = BED_START;
	b->cfg.hooks = (struct tkw__queue_hooks){ bed_alloc, bed_free, b };
	b->cfg.seed[0] = 1;
	queue_calendar_init(&b->calendar);
	b->cfg.calendar = &b->calendar.calls;
	bed_restart(b, 0, 0);
	*state = b;
	return 0;
}

int queue_bed_end(void **state)
{
	struct queue_bed *b = *state;

	bed_check(b);
	tkw__queue_log_fini(b->q, &b->log);
	tkw__queue_destroy(b->q);
	assert_int_equal(b->bytes, 0);
	assert_int_equal(b->calendar.open, 0);
	free(b);
	return 0;
}

void bed_check(struct queue_bed *b)
{
	const char *wrong = tkw__queue_check(b->q);

	if (wrong)
		fail_msg("%s", wrong);
}

struct tkw__queue_call bed_call(struct queue_bed *b)
{
	return (struct tkw__queue_call){ b->now * 1000, &b->log, false };
}

int64_t bed_put_with(struct queue_bed *b, const struct tkw__queue_put *p)
{
	struct tkw__queue_call call = bed_call(b);
	uint64_t id = 0;
	int err = tkw__queue_put(b->q, &call, p, 1, &id);

	bed_check(b);
	return err ? err : (int64_t)id;
}

uint64_t bed_put(struct queue_bed *b, uint64_t due)
{
	struct tkw__queue_put p = { .when = { true, (int64_t)due },
				    .payload = { "hello", 5 } };
	int64_t id = bed_put_with(b, &p);

	assert_true(id > 0);
	return (uint64_t)id;
}

struct tkw__queue_taken bed_take(struct queue_bed *b, uint64_t lease)
{
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_taken t = { .id = 0 };
	int n = tkw__queue_take(b->q, &call, 1, lease, &t);

	assert_in_range(n, 0, 1);
	b->behind = call.behind;
	bed_check(b);
	return t;
}

void bed_expect(struct queue_bed *b, ...)
{
	va_list ids;
	uint64_t wanted;

	va_start(ids, b);
	do {
		wanted = va_arg(ids, uint64_t);
		assert_int_equal(bed_take(b, 1000).id, wanted);
	} while (wanted != 0);
	va_end(ids);
}

int bed_ack(struct queue_bed *b, uint64_t id, uint64_t token)
{
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_claim c = { id, token };
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &c, 1, &answer };

	assert_int_equal(tkw__queue_ack(b->q, &call, &claims), 0);
	bed_check(b);
	return (int)answer;
}

int bed_nack(struct queue_bed *b, uint64_t id, uint64_t token,
	     const struct tkw__queue_nack *how)
{
	static const struct tkw__queue_nack plain;
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_claim c = { id, token };
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &c, 1, &answer };

	assert_int_equal(
		tkw__queue_nack(b->q, &call, &claims, how ? how : &plain), 0);
	bed_check(b);
	return (int)answer;
}

int bed_cancel(struct queue_bed *b, uint64_t id)
{
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_name name = { .id = id };
	enum tkw__queue_answer answer;

	assert_int_equal(tkw__queue_cancel(b->q, &call, &name, 1, &answer), 0);
	bed_check(b);
	return (int)answer;
}

struct tkw__queue_facts bed_get(struct queue_bed *b, uint64_t id)
{
	struct tkw__queue_name name = { .id = id };
	struct tkw__queue_facts f;

	assert_int_equal(tkw__queue_get(b->q, b->now * 1000, &name, &f), 0);
	return f;
}

void bed_quiet(struct queue_bed *b)
{
	struct tkw__queue_call call = bed_call(b);
	int more;

	do {
		more = tkw__queue_advance(b->q, &call, 1000, TKW__QUEUE_MASTER);
		assert_true(more >= 0);
	} while (more);
}

uint64_t bed_count(struct queue_bed *b, enum tkw__queue_state state)
{
	struct tkw__queue_stats s;

	bed_quiet(b);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	return s.count[state];
}

struct tkw__queue_text bed_text(const char *s)
{
	return (struct tkw__queue_text){ s, strlen(s) };
}

struct tkw__queue_plan bed_plan(const char *name, const char *text)
{
	return (struct tkw__queue_plan){ .name = bed_text(name),
					 .plan = bed_text(text),
					 .payload = bed_text("hello"),
					 .grace_ms = 100 };
}

int64_t bed_make_plan(struct queue_bed *b, const struct tkw__queue_plan *p)
{
	struct tkw__queue_call call = bed_call(b);
	uint64_t next_ms = 0;
	int err = tkw__queue_plan(b->q, &call, p, &next_ms);

	bed_check(b);
	return err ? err : (int64_t)next_ms;
}

struct tkw__queue_plan_facts bed_get_plan(struct queue_bed *b, const char *name)
{
	struct tkw__queue_plan_facts f;

	assert_int_equal(tkw__queue_get_plan(b->q, bed_text(name), &f), 0);
	return f;
}
