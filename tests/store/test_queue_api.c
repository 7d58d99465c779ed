/* SPDX-License-Identifier: MIT */
/* test_queue_api.c - each public call of queue.h: what it does, what it
 * refuses, and that a refused call leaves no trace. */
#include "file_bed.h"

#include <stdio.h>
#include <stdlib.h>

static struct tkw_item_name by_id(struct tkw_item_id id)
{
	return (struct tkw_item_name){ .id = id };
}

static struct tkw_item_name by_key(const char *key)
{
	return (struct tkw_item_name){ .key = key, .key_len = strlen(key) };
}

static struct tkw_put with_key(const char *key, const char *payload)
{
	return (struct tkw_put){ .payload = payload,
				 .payload_len = strlen(payload),
				 .key = key,
				 .key_len = strlen(key) };
}

/* The number of rows on the disk: it tells if a call has left a trace. */
static uint64_t rows(struct file_bed *b)
{
	return b->disk.last;
}

static struct tkw_items *get(struct file_bed *b, struct tkw_item_name name)
{
	struct tkw_items *items = NULL;

	assert_int_equal(tkw_queue_get(b->q, &name, &items), 0);
	return items;
}

/* --- the file and its queues ---------------------------------------------- */

static void test_api_queues_are_found_again(void **state)
{
	struct file_bed *b = *state;
	char longest[TKW_QUEUE_MAX_NAME + 2];
	struct tkw_queue *q = NULL, *same = NULL;

	memset(longest, 'n', sizeof(longest) - 1);
	longest[TKW_QUEUE_MAX_NAME + 1] = 0;
	assert_int_equal(tkw_queue_open(&q, b->f, longest), -EINVAL);
	longest[TKW_QUEUE_MAX_NAME] = 0;
	assert_int_equal(tkw_queue_open(&q, b->f, longest), 0);
	assert_int_equal(tkw_queue_open(&same, b->f, longest), 0);
	assert_ptr_equal(q, same);
	assert_string_equal(tkw_queue_name(q), longest);
	assert_ptr_equal(tkw_queues_next(b->f, NULL), b->q);
	assert_ptr_equal(tkw_queues_next(b->f, b->q), q);
	assert_null(tkw_queues_next(b->f, q));
	file_bed_reopen(b);
	q = tkw_queues_next(b->f, b->q);
	assert_string_equal(tkw_queue_name(q), longest);
}

static void test_api_bad_names_are_refused(void **state)
{
	static const char *const bad[] = { "",        "a\nb", "\x7f",
					   "\xc3(",   "\xff", "\xed\xa0\x80",
					   "\xc2\x80" };
	struct file_bed *b = *state;
	struct tkw_queue *q = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tkw_queue_open(&q, b->f, bad[i]), -EINVAL);
	assert_int_equal(tkw_queue_open(&q, b->f, NULL), -EINVAL);
	assert_int_equal(tkw_queue_open(NULL, b->f, "a"), -EINVAL);
	assert_int_equal(tkw_queue_open(&q, NULL, "a"), -EINVAL);
	assert_null(q);
	assert_null(tkw_queues_next(b->f, b->q));
	assert_int_equal(tkw_queue_open(&q, b->f, "gr\xc3\xbc\xc3\x9f"), 0);
}

static void test_api_null_is_refused(void **state)
{
	struct tkw_queue_stats s;
	struct tkw_items *items;

	(void)state;
	assert_int_equal(tkw_queues_close(NULL), 0);
	assert_int_equal(tkw_queues_print_error(NULL, NULL, 0), -EINVAL);
	assert_non_null(tkw_queues_check(NULL));
	assert_null(tkw_queues_next(NULL, NULL));
	assert_null(tkw_queue_name(NULL));
	assert_int_equal(tkw_queue_take(NULL, NULL, &items), -EINVAL);
	assert_int_equal(tkw_queue_fd(NULL), -EINVAL);
	assert_int_equal(tkw_queue_pause(NULL), -EINVAL);
	assert_int_equal(tkw_queue_resume(NULL), -EINVAL);
	assert_int_equal(tkw_queue_limit(NULL, NULL), -EINVAL);
	assert_int_equal(tkw_queue_get_stats(NULL, &s), -EINVAL);
	assert_int_equal(tkw_queue_revive_all(NULL), -EINVAL);
	assert_int_equal(tkw_queue_purge_all(NULL), -EINVAL);
	tkw_items_free(NULL);
}

/* --- put ------------------------------------------------------------------ */

static void test_api_put_keeps_all_that_it_is_told(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = with_key("key", "payload");
	struct tkw_items *items;
	struct tkw_item_id id;
	const struct tkw_item *it;

	p.delay_ms = 1500;
	p.max_attempts = 3;
	p.backoff_ms = 10;
	p.max_backoff_ms = 100;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	file_bed_reopen(b);
	items = get(b, by_key("key"));
	assert_int_equal(items->count, 1);
	it = &items->item[0];
	assert_true(it->claim.id.bits == id.bits);
	assert_true(it->claim.token == 0);
	assert_int_equal(it->state, TKW_ITEM_WAITING);
	assert_int_equal(it->attempts, 0);
	assert_int_equal(it->max_attempts, 3);
	assert_int_equal(it->backoff_ms, 10);
	assert_int_equal(it->max_backoff_ms, 100);
	assert_true(it->due_ms == FILE_BED_START_MS + 1500);
	assert_true(it->expires_ms == 0 && it->died_ms == 0);
	assert_int_equal(it->payload_len, 7);
	assert_memory_equal(it->payload, "payload", 7);
	assert_int_equal(it->key_len, 3);
	assert_memory_equal(it->key, "key", 3);
	assert_string_equal(it->reason, "");
	tkw_items_free(items);
}

static void test_api_put_is_all_or_none(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p[3] = { with_key("a", "1"), with_key("b", "2"),
				with_key("a", "3") };
	struct tkw_item_id ids[3] = { { 7 }, { 7 }, { 7 } };
	uint64_t before = rows(b);

	assert_int_equal(tkw_queue_put(b->q, p, 3, ids), -EEXIST);
	assert_true(ids[0].bits == 7 && ids[2].bits == 7);
	assert_int_equal(rows(b), before);
	assert_int_equal(file_bed_stats(b).all_puts, 0);
	assert_int_equal(tkw_queue_put(b->q, p, 2, ids), 0);
	assert_true(ids[0].bits < ids[1].bits);
}

static void test_api_put_many(void **state)
{
	enum {
		MANY = 1000
	};
	struct file_bed *b = *state;
	struct tkw_put *p = calloc(MANY, sizeof(*p));
	struct tkw_item_id *ids = calloc(MANY, sizeof(*ids));
	struct tkw_take how = { .max_items = MANY };
	struct tkw_items *items;

	assert_int_equal(tkw_queue_put(b->q, p, MANY, ids), 0);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_true(items->item[i].claim.id.bits == ids[i].bits);
	tkw_items_free(items);
	free(ids);
	free(p);
}

static void test_api_put_with_a_key_that_is_held(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = with_key("k", "first");
	struct tkw_item_id first, id = { 0 };
	struct tkw_items *items;
	uint64_t before;

	assert_int_equal(tkw_queue_put(b->q, &p, 1, &first), 0);
	before = rows(b);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), -EEXIST);
	p.held = TKW_KEY_KEEP;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	assert_true(id.bits == first.bits);
	assert_int_equal(rows(b), before);
	p = with_key("k", "second");
	p.held = TKW_KEY_REPLACE;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	assert_true(id.bits == first.bits);
	items = file_bed_take(b, 0);
	assert_memory_equal(items->item[0].payload, "second", 6);
	tkw_items_free(items);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), -EBUSY);
	assert_int_equal(file_bed_stats(b).all_puts, 1);
	assert_int_equal(file_bed_stats(b).all_replaces, 1);
}

static void never_called(struct tkw_queue *q, const struct tkw_queue_end *end,
			 void *ctx)
{
	(void)q;
	(void)end;
	(void)ctx;
	fail();
}

static void test_api_put_refuses_bad_arguments(void **state)
{
	struct file_bed *b = *state;
	char key[TKW_QUEUE_MAX_KEY + 1] = "k";
	struct tkw_put good = { .payload = "x", .payload_len = 1 };
	struct tkw_put p;
	uint64_t before = rows(b);

	assert_int_equal(tkw_queue_put(NULL, &good, 1, NULL), -EINVAL);
	assert_int_equal(tkw_queue_put(b->q, NULL, 1, NULL), -EINVAL);
	assert_int_equal(tkw_queue_put(b->q, &good, 0, NULL), -EINVAL);
	p = good;
	p.payload = NULL;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EINVAL);
	p = good;
	p.key = key;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EINVAL);
	p.key_len = sizeof(key);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EINVAL);
	p.key = NULL;
	p.key_len = 1;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EINVAL);
	p = good;
	p.held = (enum tkw_key_held)3;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EINVAL);
	p = good;
	p.payload_len = (1 << 20) + 1;
	p.payload = calloc(1, p.payload_len);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EMSGSIZE);
	free((void *)p.payload);
	p.payload = "x"; /* refused before it is read */
	p.payload_len = (size_t)600 << 20;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EMSGSIZE);
	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, never_called, NULL),
			 -EMSGSIZE);
	assert_int_equal(rows(b), before);
	assert_int_equal(tkw_queue_put(b->q, &good, 1, NULL), 0);
}

static void test_api_limits_survive_and_refuse(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_limits l = { .max_items = 2,
				      .max_bytes = 10,
				      .max_payload_bytes = 6 };
	struct tkw_put p = { .payload = "1234567", .payload_len = 7 };
	uint64_t before;

	assert_int_equal(tkw_queue_limit(b->q, &l), 0);
	file_bed_reopen(b);
	before = rows(b);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EMSGSIZE);
	p.payload_len = 6;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EAGAIN);
	p.payload_len = 1;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EAGAIN);
	assert_int_equal(rows(b), before + 2);
	assert_int_equal(file_bed_stats(b).limits.max_items, 2);
	l.max_payload_bytes = UINT64_MAX;
	assert_int_equal(tkw_queue_limit(b->q, &l), -EINVAL);
	assert_int_equal(tkw_queue_limit(b->q, NULL), -EINVAL);
}

/* --- take, ack, nack, extend ---------------------------------------------- */

static void test_api_take_refuses_bad_arguments(void **state)
{
	struct file_bed *b = *state;
	struct tkw_items *items = (void *)b;
	struct tkw_take how = { .max_items = TKW_QUEUE_MAX_TAKE + 1 };

	file_bed_put(b, 0);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), -EINVAL);
	how = (struct tkw_take){ .lease_ms = -1 };
	assert_int_equal(tkw_queue_take(b->q, &how, &items), -EINVAL);
	how = (struct tkw_take){ .lease_ms = INT64_MAX };
	assert_int_equal(tkw_queue_take(b->q, &how, &items), -EINVAL);
	how = (struct tkw_take){ .wait_ms = -1 };
	assert_int_equal(tkw_queue_take(b->q, &how, &items), -EINVAL);
	assert_int_equal(tkw_queue_take(b->q, NULL, NULL), -EINVAL);
	assert_ptr_equal(items, b);
	assert_int_equal(file_bed_stats(b).ready, 1);
}

static void test_api_take_gives_items_in_order_with_new_tokens(void **state)
{
	struct file_bed *b = *state;
	struct tkw_take how = { .max_items = 8, .lease_ms = 5000 };
	struct tkw_item_id late = file_bed_put(b, 20);
	struct tkw_item_id early = file_bed_put(b, 10);
	struct tkw_items *items;

	file_bed_put(b, 1000);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), 0);
	assert_null(items);
	file_bed_pass(b, 20);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), 2);
	assert_true(items->item[0].claim.id.bits == early.bits);
	assert_true(items->item[1].claim.id.bits == late.bits);
	assert_true(items->item[0].claim.token < items->item[1].claim.token);
	assert_int_equal(items->item[0].state, TKW_ITEM_TAKEN);
	assert_int_equal(items->item[0].attempts, 1);
	assert_true(items->item[0].expires_ms == FILE_BED_START_MS + 20 + 5000);
	tkw_items_free(items);
}

static void test_api_ack_ends_an_item_once(void **state)
{
	struct file_bed *b = *state;
	struct tkw_item_id id = file_bed_put(b, 0);
	struct tkw_items *items = file_bed_take(b, 0);
	struct tkw_claim c[2] = { items->item[0].claim, { id, 1 } };
	struct tkw_items *none = NULL;
	struct tkw_item_name name = by_id(id);
	int done[2] = { 7, 7 };

	assert_int_equal(tkw_queue_ack(b->q, c, 0, done), -EINVAL);
	assert_int_equal(tkw_queue_ack(b->q, NULL, 1, done), -EINVAL);
	assert_int_equal(tkw_queue_ack(NULL, c, 1, done), -EINVAL);
	assert_int_equal(done[0], 7);
	assert_int_equal(tkw_queue_ack(b->q, c, 2, done), 1);
	assert_int_equal(done[0], 1);
	assert_int_equal(done[1], 0);
	assert_int_equal(tkw_queue_ack(b->q, c, 1, done), 0);
	assert_int_equal(done[0], 0);
	assert_int_equal(tkw_queue_get(b->q, &name, &none), -ENOENT);
	assert_null(none);
	tkw_items_free(items);
	file_bed_reopen(b);
	assert_int_equal(tkw_queue_get(b->q, &name, &none), -ENOENT);
	assert_int_equal(file_bed_stats(b).all_acks, 1);
}

static void test_api_nack_waits_and_kills(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = { .max_attempts = 2, .backoff_ms = 100 };
	struct tkw_nack how = { .has_delay = 1,
				.delay_ms = 50,
				.reason = "no luck" };
	char too_long[TKW_QUEUE_MAX_REASON + 2];
	struct tkw_items *items, *got;
	struct tkw_item_id id;

	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	items = file_bed_take(b, 0);
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = 0;
	how.reason = too_long;
	assert_int_equal(
		tkw_queue_nack(b->q, &items->item[0].claim, 1, &how, NULL),
		-EINVAL);
	how.reason = "no luck";
	assert_int_equal(
		tkw_queue_nack(b->q, &items->item[0].claim, 1, &how, NULL), 1);
	tkw_items_free(items);
	got = get(b, by_id(id));
	assert_int_equal(got->item[0].state, TKW_ITEM_WAITING);
	assert_true(got->item[0].due_ms == FILE_BED_START_MS + 50);
	assert_string_equal(got->item[0].reason, "no luck");
	tkw_items_free(got);
	file_bed_pass(b, 50);
	items = file_bed_take(b, 0);
	assert_int_equal(
		tkw_queue_nack(b->q, &items->item[0].claim, 1, NULL, NULL), 1);
	tkw_items_free(items);
	file_bed_reopen(b);
	got = get(b, by_id(id));
	assert_int_equal(got->item[0].state, TKW_ITEM_DEAD);
	assert_true(got->item[0].died_ms == FILE_BED_START_MS + 50);
	tkw_items_free(got);
}

static void test_api_extend_keeps_a_lease(void **state)
{
	struct file_bed *b = *state;
	struct tkw_items *items;
	int done;

	file_bed_put(b, 0);
	items = file_bed_take(b, 100);
	file_bed_pass(b, 99);
	assert_int_equal(
		tkw_queue_extend(b->q, &items->item[0].claim, 1, -1, &done),
		-EINVAL);
	assert_int_equal(
		tkw_queue_extend(b->q, &items->item[0].claim, 1, 100, &done),
		1);
	file_bed_pass(b, 99);
	file_bed_reopen(b);
	assert_int_equal(file_bed_stats(b).taken, 1);
	file_bed_pass(b, 1);
	assert_int_equal(
		tkw_queue_extend(b->q, &items->item[0].claim, 1, 100, &done),
		0);
	assert_int_equal(done, 0);
	assert_int_equal(file_bed_stats(b).all_losses, 1);
	tkw_items_free(items);
	items = file_bed_take(b, 100);
	assert_int_equal(items->item[0].attempts, 2);
	tkw_items_free(items);
}

/* --- cancel, reschedule, get, list ---------------------------------------- */

static void test_api_cancel_by_id_and_key(void **state)
{
	struct file_bed *b = *state;
	struct tkw_item_id taken = file_bed_put(b, 0);
	struct tkw_items *items = file_bed_take(b, 0);
	struct tkw_put p = with_key("k", "x");
	struct tkw_item_id waiting = file_bed_put(b, 1000);
	struct tkw_item_name names[4] = { by_id(waiting), by_key("k"),
					  by_id(taken),
					  by_id((struct tkw_item_id){ 9 }) };
	int done[4];

	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
	assert_int_equal(tkw_queue_cancel(b->q, names, 4, done), 2);
	assert_int_equal(done[0], 1);
	assert_int_equal(done[1], 1);
	assert_int_equal(done[2], -EBUSY);
	assert_int_equal(done[3], -ENOENT);
	names[0].key = "";
	assert_int_equal(tkw_queue_cancel(b->q, names, 1, done), -EINVAL);
	assert_int_equal(tkw_queue_cancel(b->q, NULL, 1, done), -EINVAL);
	assert_int_equal(tkw_queue_cancel(b->q, names, 0, done), -EINVAL);
	assert_int_equal(file_bed_stats(b).all_cancels, 2);
	tkw_items_free(items);
}

static void test_api_reschedule(void **state)
{
	struct file_bed *b = *state;
	struct tkw_item_id id = file_bed_put(b, 1000);
	struct tkw_item_name name = by_id(id);
	struct tkw_item_name unknown = by_key("unknown");
	struct tkw_items *items;

	assert_int_equal(
		tkw_queue_reschedule(b->q, &name, 0, FILE_BED_START_MS + 77),
		0);
	items = get(b, name);
	assert_true(items->item[0].due_ms == FILE_BED_START_MS + 77);
	tkw_items_free(items);
	assert_int_equal(tkw_queue_reschedule(b->q, &name, 0, 0), 0);
	items = file_bed_take(b, 0);
	tkw_items_free(items);
	assert_int_equal(tkw_queue_reschedule(b->q, &name, 5, 0), -EBUSY);
	assert_int_equal(tkw_queue_reschedule(b->q, &unknown, 5, 0), -ENOENT);
	assert_int_equal(tkw_queue_reschedule(b->q, NULL, 5, 0), -EINVAL);
}

static void test_api_list_shows_each_item(void **state)
{
	struct file_bed *b = *state;
	uint64_t cursor = 0, seen = 0, ready = 0;
	struct tkw_items *items;

	for (int i = 0; i < 200; i++)
		file_bed_put(b, i < 150 ? 0 : 1000);
	do {
		int n = tkw_queue_list(b->q, TKW_ITEM_STATES, 16, &cursor,
				       &items);

		assert_true(n >= 0);
		assert_true((n == 0) == (items == NULL));
		seen += (uint64_t)n;
		tkw_items_free(items);
	} while (cursor);
	assert_int_equal(seen, 200);
	do {
		int n = tkw_queue_list(b->q, TKW_ITEM_READY, 16, &cursor,
				       &items);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++)
			assert_int_equal(items->item[i].state, TKW_ITEM_READY);
		ready += (uint64_t)n;
		tkw_items_free(items);
	} while (cursor);
	assert_int_equal(ready, 150);
	assert_int_equal(
		tkw_queue_list(b->q, TKW_ITEM_STATES, 0, &cursor, &items),
		-EINVAL);
	assert_int_equal(tkw_queue_list(b->q, TKW_ITEM_STATES,
					TKW_QUEUE_MAX_TAKE + 1, &cursor,
					&items),
			 -EINVAL);
	assert_int_equal(tkw_queue_list(b->q, (enum tkw_item_state)5, 1,
					&cursor, &items),
			 -EINVAL);
	assert_int_equal(tkw_queue_list(b->q, TKW_ITEM_READY, 1, NULL, &items),
			 -EINVAL);
}

/* --- the dead ------------------------------------------------------------- */

static struct tkw_item_id make_dead(struct file_bed *b)
{
	struct tkw_put p = { .max_attempts = 1 };
	struct tkw_items *items;
	struct tkw_item_id id;

	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	items = file_bed_take(b, 0);
	assert_int_equal(
		tkw_queue_nack(b->q, &items->item[0].claim, 1, NULL, NULL), 1);
	tkw_items_free(items);
	return id;
}

static void test_api_dead_items_are_revived_and_purged(void **state)
{
	struct file_bed *b = *state;
	struct tkw_item_id id[2] = { make_dead(b), make_dead(b) };
	struct tkw_item_id more[2] = { id[0], { 1 } };
	struct tkw_queue_stats s;
	int done[2];

	assert_int_equal(tkw_queue_revive(b->q, more, 2, done), 1);
	assert_int_equal(done[0], 1);
	assert_int_equal(done[1], -ENOENT);
	assert_int_equal(tkw_queue_purge(b->q, id, 2, done), 1);
	assert_int_equal(done[0], -ENOENT); /* it lives */
	assert_int_equal(done[1], 1);
	assert_int_equal(tkw_queue_purge(b->q, id, 0, done), -EINVAL);
	assert_int_equal(tkw_queue_revive(b->q, NULL, 1, done), -EINVAL);
	s = file_bed_stats(b);
	assert_int_equal(s.ready, 1);
	assert_int_equal(s.dead, 0);
	assert_int_equal(s.all_deaths, 2);
	assert_int_equal(s.all_revivals, 1);
	assert_int_equal(s.all_purges, 1);
}

static void test_api_all_dead_items_at_once(void **state)
{
	struct file_bed *b = *state;

	for (int i = 0; i < 20; i++)
		make_dead(b);
	assert_int_equal(tkw_queue_revive_all(b->q), 20);
	assert_int_equal(tkw_queue_revive_all(b->q), 0);
	assert_int_equal(tkw_queue_purge_all(b->q), 0);
	assert_int_equal(file_bed_stats(b).ready, 20);
	assert_int_equal(tkw_queue_pause(b->q), 0);
	assert_int_equal(tkw_queue_pause(b->q), 0);
	assert_int_equal(file_bed_stats(b).paused, 1);
	file_bed_reopen(b);
	assert_int_equal(file_bed_stats(b).paused, 1);
}

/* Puts so many items that can be taken once. */
static void put_many(struct file_bed *b, size_t count)
{
	struct tkw_put *puts = calloc(count, sizeof(*puts));

	for (size_t i = 0; i < count; i++)
		puts[i].max_attempts = 1;
	assert_int_equal(tkw_queue_put(b->q, puts, count, NULL), 0);
	free(puts);
}

/* Takes so many items, which must be all that are ready. */
static struct tkw_claim *take_many(struct file_bed *b, size_t count,
				   int64_t lease_ms)
{
	struct tkw_claim *claims = calloc(count, sizeof(*claims));
	struct tkw_take how = { .max_items = TKW_QUEUE_MAX_TAKE,
				.lease_ms = lease_ms };
	struct tkw_items *items;
	size_t n = 0;

	while (n < count) {
		assert_true(tkw_queue_take(b->q, &how, &items) > 0);
		assert_true(items->count <= count - n);
		for (size_t i = 0; i < items->count; i++)
			claims[n++] = items->item[i].claim;
		tkw_items_free(items);
	}
	return claims;
}

static void test_api_many_dead_items_at_once(void **state)
{
	struct file_bed *b = *state;
	struct tkw_claim *claims;

	put_many(b, 3000);
	claims = take_many(b, 3000, 0);
	assert_int_equal(tkw_queue_nack(b->q, claims, 3000, NULL, NULL), 3000);
	assert_int_equal(tkw_queue_revive_all(b->q), 3000);
	assert_int_equal(file_bed_stats(b).ready, 3000);
	free(claims);
	free(take_many(b, 3000, 100));
	file_bed_pass(b, 100);
	assert_int_equal(tkw_queue_purge_all(b->q), 3000);
	assert_int_equal(file_bed_stats(b).dead, 0);
}

static uint64_t count_listed(struct file_bed *b, enum tkw_item_state state)
{
	struct tkw_items *items;
	uint64_t cursor = 0;
	uint64_t listed = 0;

	do {
		int n = tkw_queue_list(b->q, state, 4096, &cursor, &items);

		assert_true(n >= 0);
		listed += (uint64_t)n;
		tkw_items_free(items);
	} while (cursor != 0);
	return listed;
}

/* Leases that have run out count at once, however many they are. */
static void test_api_lost_leases_count_at_once(void **state)
{
	struct file_bed *b = *state;

	put_many(b, 10000);
	free(take_many(b, 10000, 100));
	assert_int_equal(count_listed(b, TKW_ITEM_TAKEN), 10000);
	file_bed_pass(b, 500);
	assert_int_equal(count_listed(b, TKW_ITEM_DEAD), 10000);
	assert_int_equal(tkw_queue_purge_all(b->q), 10000);

	put_many(b, 10000);
	free(take_many(b, 10000, 100));
	file_bed_pass(b, 500);
	assert_int_equal(tkw_queue_revive_all(b->q), 10000);

	free(take_many(b, 10000, 100));
	file_bed_pass(b, 500);
	assert_int_equal(file_bed_stats(b).dead, 10000);
}

static void test_api_stats_of_many_due_items(void **state)
{
	enum {
		MANY = 200000
	};
	struct file_bed *b = *state;
	struct tkw_put *puts = calloc(MANY, sizeof(*puts));
	struct tkw_queue_stats s;

	for (int i = 0; i < MANY; i++)
		puts[i].delay_ms = 5000;
	assert_int_equal(tkw_queue_put(b->q, puts, MANY, NULL), 0);
	free(puts);
	file_bed_pass(b, 5999);
	s = file_bed_stats(b);
	assert_int_equal(s.ready, MANY);
	assert_int_equal(s.waiting, 0);
	assert_int_equal(s.oldest_age_ms, 999);
}

struct killer {
	struct file_bed *b;
	bool stop; /* atomic */
};

/* Takes all that it can get, and kills it. */
static void *kill_all(void *arg)
{
	struct killer *k = arg;
	struct tkw_take how = { .max_items = 64 };
	struct tkw_claim claims[64];
	struct tkw_items *items;

	while (!__atomic_load_n(&k->stop, __ATOMIC_ACQUIRE)) {
		if (tkw_queue_take(k->b->q, &how, &items) <= 0)
			continue;
		for (size_t i = 0; i < items->count; i++)
			claims[i] = items->item[i].claim;
		tkw_queue_nack(k->b->q, claims, items->count, NULL, NULL);
		tkw_items_free(items);
	}
	return NULL;
}

/* A consumer that kills what was revived does not keep the call from its end:
 * each item is revived once. */
static void test_api_revive_all_revives_each_item_once(void **state)
{
	struct file_bed *b = *state;
	struct killer k = { b, false };
	struct tkw_claim *claims;
	pthread_t thread;

	put_many(b, 5000);
	claims = take_many(b, 5000, 0);
	assert_int_equal(tkw_queue_nack(b->q, claims, 5000, NULL, NULL), 5000);
	free(claims);
	assert_int_equal(pthread_create(&thread, NULL, kill_all, &k), 0);
	assert_int_equal(tkw_queue_revive_all(b->q), 5000);
	__atomic_store_n(&k.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(file_bed_stats(b).all_revivals, 5000);
}

/* A clock that has told the latest time once does no harm for ever. */
static void test_api_mad_clock_leaves_numbers(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	int64_t was = b->now_us;

	__atomic_store_n(&b->now_us, INT64_MAX, __ATOMIC_SEQ_CST);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
	tkw_items_free(file_bed_take(b, 0));
	__atomic_store_n(&b->now_us, was, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
		tkw_items_free(file_bed_take(b, 0));
	}
	file_bed_reopen(b);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
}

/* --- errors of the disk --------------------------------------------------- */

static void test_api_full_disk_says_so_and_works_again(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct tkw_item_id id = { 7 };
	struct tkw_items *items;
	char why[64];

	file_bed_put(b, 0);
	items = file_bed_take(b, 1000);
	assert_int_equal(tkw_queues_print_error(b->f, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	b->disk.room_bytes = b->disk.bytes + 20;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), -ENOSPC);
	assert_true(id.bits == 7);
	assert_true(tkw_queues_print_error(b->f, why, sizeof(why)) > 0);
	assert_string_equal(why, "no room");
	assert_int_equal(tkw_queue_ack(b->q, &items->item[0].claim, 1, NULL),
			 1);
	tkw_items_free(items);
	b->disk.room_bytes = 0;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	assert_int_equal(tkw_queues_print_error(b->f, why, sizeof(why)), 0);
}

/* What the store says is about the disk. */
static void test_api_error_of_memory_is_not_that_of_the_disk(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	char why[64];

	b->disk.fails = 1;
	b->disk.error = -ENOMEM;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -ENOMEM);
	assert_true(tkw_queues_print_error(b->f, why, sizeof(why)) > 0);
	assert_string_equal(why, strerror(ENOMEM));
}

static void test_api_failed_disk_is_for_ever(void **state)
{
	struct file_bed *b = *state;
	struct tkw_put p = { .payload = "x", .payload_len = 1 };
	struct tkw_take how = { .wait_ms = INT64_MAX };
	struct tkw_items *items = NULL;
	struct tkw_queue *other = NULL;

	file_bed_put(b, 0);
	b->disk.fails = 1;
	b->disk.error = -EIO;
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EIO);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), -EIO);
	assert_int_equal(tkw_queue_take(b->q, &how, &items), -EIO);
	assert_int_equal(tkw_queue_pause(b->q), -EIO);
	assert_int_equal(tkw_queue_open(&other, b->f, "other"), -EIO);
	assert_null(items);
	/* What only looks still works. */
	assert_int_equal(file_bed_stats(b).ready, 1);
	file_bed_reopen(b);
	assert_int_equal(tkw_queue_put(b->q, &p, 1, NULL), 0);
	assert_int_equal(file_bed_stats(b).ready, 2);
}

static void test_api_lateness(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_stats s;

	file_bed_put(b, 0);
	file_bed_pass(b, 5);
	s = file_bed_stats(b);
	assert_int_equal(s.oldest_age_ms, 5);
	assert_int_equal(s.bytes, 4);
	assert_true(s.memory_bytes > 0);
	tkw_items_free(file_bed_take(b, 0));
	assert_int_equal(file_bed_stats(b).lateness[5], 1);
	assert_int_equal(tkw_queue_lateness_ms(5), 5);
	assert_true(tkw_queue_lateness_ms(TKW_QUEUE_LATENESS_BUCKETS) ==
		    INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(test_api_queues_are_found_again),
		FILE_TEST(test_api_bad_names_are_refused),
		FILE_TEST(test_api_null_is_refused),
		FILE_TEST(test_api_put_keeps_all_that_it_is_told),
		FILE_TEST(test_api_put_is_all_or_none),
		FILE_TEST(test_api_put_many),
		FILE_TEST(test_api_put_with_a_key_that_is_held),
		FILE_TEST(test_api_put_refuses_bad_arguments),
		FILE_TEST(test_api_limits_survive_and_refuse),
		FILE_TEST(test_api_take_refuses_bad_arguments),
		FILE_TEST(test_api_take_gives_items_in_order_with_new_tokens),
		FILE_TEST(test_api_ack_ends_an_item_once),
		FILE_TEST(test_api_nack_waits_and_kills),
		FILE_TEST(test_api_extend_keeps_a_lease),
		FILE_TEST(test_api_cancel_by_id_and_key),
		FILE_TEST(test_api_reschedule),
		FILE_TEST(test_api_list_shows_each_item),
		FILE_TEST(test_api_dead_items_are_revived_and_purged),
		FILE_TEST(test_api_all_dead_items_at_once),
		FILE_TEST(test_api_many_dead_items_at_once),
		FILE_TEST(test_api_lost_leases_count_at_once),
		FILE_TEST(test_api_stats_of_many_due_items),
		FILE_TEST(test_api_revive_all_revives_each_item_once),
		FILE_TEST(test_api_mad_clock_leaves_numbers),
		FILE_TEST(test_api_full_disk_says_so_and_works_again),
		FILE_TEST(test_api_error_of_memory_is_not_that_of_the_disk),
		FILE_TEST(test_api_failed_disk_is_for_ever),
		FILE_TEST(test_api_lateness),
	};

	return cmocka_run_group_tests_name("queue_api", tests, NULL, NULL);
}
