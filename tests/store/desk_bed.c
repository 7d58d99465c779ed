/* SPDX-License-Identifier: MIT */
/* desk_bed.c - see desk_bed.h. */
#include "desk_bed.h"

#include <stdlib.h>

static bool give(void *ctx)
{
	struct desk_bed *b = ctx;
	bool had = b->has_reserve;

	b->gives += had;
	b->has_reserve = false;
	if (b->full_bytes)
		b->disk.room_bytes = b->full_bytes;
	return had;
}

static bool get(void *ctx)
{
	struct desk_bed *b = ctx;

	b->gets++;
	b->has_reserve = b->disk.room_bytes == 0 ||
			 (b->full_bytes &&
			  b->disk.bytes + b->reserve_bytes <= b->full_bytes);
	if (b->has_reserve && b->full_bytes)
		b->disk.room_bytes = b->full_bytes - b->reserve_bytes;
	return b->has_reserve;
}

static void open_desk(struct desk_bed *b)
{
	b->store = ram_store_open(&b->disk);
	b->cfg.store = b->store;
	b->cfg.now_us = b->now_us;
	b->cfg.mono_us = b->mono_us;
	if (b->has_reserve)
		b->cfg.reserve =
			(struct tkw__desk_reserve){ give, get, b,
						    b->reserve_bytes, false };
	b->cfg.reserve.gone = b->cfg.reserve.get && !b->has_reserve;
	assert_int_equal(tkw__desk_create(&b->desk, &b->cfg), 0);
	assert_null(tkw__desk_check(b->desk));
	b->q = tkw__desk_find(b->desk, "q");
}

static void close_desk(struct desk_bed *b)
{
	tkw__desk_shutdown(b->desk);
	tkw__desk_destroy(b->desk);
	b->store->ops->close(b->store);
}

int desk_bed_begin(void **state)
{
	struct desk_bed *b = calloc(1, sizeof(*b));
	struct bed_request r;

	assert_non_null(b);
	ram_disk_init(&b->disk);
	b->now_us = BED_START_US;
	b->mono_us = 5000000;
	open_desk(b);
	ask_open(b, &r, "q");
	bed_quiet(b);
	assert_int_equal(r.r.result, 0);
	b->q = r.r.queue;
	*state = b;
	return 0;
}

int desk_bed_end(void **state)
{
	struct desk_bed *b = *state;

	close_desk(b);
	ram_disk_fini(&b->disk);
	free(b);
	return 0;
}

void bed_reopen(struct desk_bed *b)
{
	uint64_t digest = tkw__desk_digest(b->desk);

	close_desk(b);
	open_desk(b);
	assert_true(tkw__desk_digest(b->desk) == digest);
}

int bed_turn(struct desk_bed *b)
{
	int more = tkw__desk_turn(b->desk, b->now_us, b->mono_us);
	const char *broken = tkw__desk_check(b->desk);

	if (broken)
		fail_msg("%s", broken);
	return more;
}

void bed_quiet(struct desk_bed *b)
{
	while (bed_turn(b))
		;
}

void bed_pass(struct desk_bed *b, uint64_t ms)
{
	b->now_us += ms * 1000;
	b->mono_us += ms * 1000;
}

static void tell(struct tkw__request *r)
{
	struct bed_request *br = (struct bed_request *)r;
	size_t len = strlen(br->bed->told);

	assert_int_equal(r->state, TKW__REQUEST_ENDED);
	if (br->letter && len + 1 < sizeof(br->bed->told))
		br->bed->told[len] = br->letter;
}

void bed_submit(struct desk_bed *b, struct bed_request *r, char letter)
{
	r->bed = b;
	r->letter = letter;
	r->r.done = tell;
	tkw__desk_submit(b->desk, &r->r);
}

void ask(struct desk_bed *b, struct bed_request *r, char letter,
	 enum tkw__request_kind kind)
{
	*r = (struct bed_request){ .r = { .kind = kind, .queue = b->q } };
	bed_submit(b, r, letter);
}

void ask_open(struct desk_bed *b, struct bed_request *r, const char *name)
{
	*r = (struct bed_request){ .r = { .kind = TKW__REQUEST_OPEN,
					  .open = { name } } };
	bed_submit(b, r, 0);
}

void ask_put(struct desk_bed *b, struct bed_request *r, char letter,
	     int64_t delay_ms, size_t count)
{
	*r = (struct bed_request){ .r = { .kind = TKW__REQUEST_PUT,
					  .queue = b->q } };
	assert_true(count <= BED_PUTS);
	for (size_t i = 0; i < count; i++) {
		r->put[i].when.ms = delay_ms;
		r->put[i].payload.at = "payload";
		r->put[i].payload.len = 7;
	}
	r->r.put.puts = r->put;
	r->r.put.count = count;
	r->r.put.ids = r->id;
	bed_submit(b, r, letter);
}

void ask_take(struct desk_bed *b, struct bed_request *r, char letter,
	      uint64_t wait_ms, size_t max)
{
	*r = (struct bed_request){ .r = { .kind = TKW__REQUEST_TAKE,
					  .queue = b->q } };
	r->r.take.max = max;
	r->r.take.lease_ms = 30000;
	r->r.take.wait_us = wait_ms * 1000;
	bed_submit(b, r, letter);
}

void ask_ack(struct desk_bed *b, struct bed_request *r, char letter,
	     const struct tkw_item *item)
{
	*r = (struct bed_request){ .r = { .kind = TKW__REQUEST_ACK,
					  .queue = b->q } };
	r->claim[0].id = item->claim.id.bits;
	r->claim[0].token = item->claim.token;
	r->r.claim.claims.claim = r->claim;
	r->r.claim.claims.count = 1;
	r->r.claim.claims.answer = r->answer;
	bed_submit(b, r, letter);
}

uint64_t bed_put(struct desk_bed *b, int64_t delay_ms)
{
	struct bed_request r;

	ask_put(b, &r, 0, delay_ms, 1);
	bed_quiet(b);
	assert_int_equal(r.r.state, TKW__REQUEST_ENDED);
	assert_int_equal(r.r.result, 0);
	return r.id[0];
}

struct tkw_items *bed_take(struct desk_bed *b, size_t max, uint64_t lease_ms)
{
	struct bed_request r;

	ask_take(b, &r, 0, 0, max);
	r.r.take.lease_ms = lease_ms;
	bed_quiet(b);
	assert_int_equal(r.r.state, TKW__REQUEST_ENDED);
	assert_true(r.r.result >= 0);
	return r.r.take.items;
}

int64_t bed_ack(struct desk_bed *b, const struct tkw_item *item)
{
	struct bed_request r;

	ask_ack(b, &r, 0, item);
	bed_quiet(b);
	assert_int_equal(r.r.state, TKW__REQUEST_ENDED);
	return r.r.result;
}

struct tkw_queue_stats bed_stats(struct desk_bed *b)
{
	struct bed_request r = { .r = { .kind = TKW__REQUEST_LOOK,
					.queue = b->q } };

	r.r.look.fn = tkw__look_at_stats;
	r.r.look.arg = &r.stats;
	bed_submit(b, &r, 0);
	bed_quiet(b);
	assert_int_equal(r.r.state, TKW__REQUEST_ENDED);
	return r.stats;
}
