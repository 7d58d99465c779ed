/* SPDX-License-Identifier: MIT */
/* test_queue_check.c - the checker finds what is broken, and names it. */
#include "queue_bed.h"

#include "queue/state.h"

static void expect_wrong(struct queue_bed *b, const char *wrong)
{
	const char *said = tkw__queue_check(b->q);

	assert_non_null(said);
	assert_string_equal(said, wrong);
}

static void test_queue_check_names_a_broken_law(void **state)
{
	struct queue_bed *b = *state;

	bed_put(b, b->now);
	b->q->totals.puts++;
	expect_wrong(b, "the law is broken");
	b->q->totals.puts--;
	b->q->bytes++;
	expect_wrong(b, "the sum of bytes is wrong");
	b->q->bytes--;
	b->q->by_id.count++;
	expect_wrong(b, "an index has lost items");
	b->q->by_id.count--;
}

static void test_queue_check_names_a_broken_item(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	struct tkw__item *it;

	bed_take(b, 10);
	it = tkw__index_find_id(b->q, id);
	it->token += 5;
	expect_wrong(b, "a token is above the last one");
	it->token -= 5;
	it->max_attempts = 1;
	it->attempts = 2;
	expect_wrong(b, "an item was taken too often");
	it->attempts = 1;
	it->node.tick = TKW__QUEUE_MAX_MS + 1;
	expect_wrong(b, "an item has a time that is none");
	it->node.tick = b->now + 10;
	b->q->totals.last_id--;
	expect_wrong(b, "an id or a sequence is above the last one");
	b->q->totals.last_id++;
	it->max_attempts = 2;
	it->state = TKW__IDLE;
	expect_wrong(b, "the counts by state are wrong");
	it->attempts = 2;
	expect_wrong(b, "an item was taken too often");
	it->state = TKW__TAKEN;
}

static void test_queue_check_names_a_broken_line(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = bed_put(b, b->now);
	uint64_t id;
	struct tkw__item *it;

	bed_put(b, b->now);
	it = tkw__index_find_id(b->q, first);
	it->other += 10;
	b->q->totals.last_id += 10;
	expect_wrong(b, "a list is not in order");
	it->other -= 10;
	b->q->idle.listed++;
	expect_wrong(b, "a list has lost items");
	b->q->idle.listed--;
	b->q->totals.last_id -= 10;
	id = bed_put(b, b->now + 50);
	bed_put(b, b->now + 60);
	bed_put(b, b->now + 70);
	it = tkw__index_find_id(b->q, id);
	it->node.tick += 100;
	expect_wrong(b, "a tree is not in order");
	it->node.tick -= 100;
	it->node.size++;
	expect_wrong(b, "the size of a subtree is wrong");
	it->node.size--;
}

static struct tkw__item *find(struct queue_bed *b, uint64_t id)
{
	return tkw__index_find_id(b->q, id);
}

static struct tkw__item *put_key(struct queue_bed *b, const char *key)
{
	struct tkw__queue_put p = { .key = { key, strlen(key) } };

	return find(b, (uint64_t)bed_put_with(b, &p));
}

static void test_queue_check_names_illegal_fields(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 1 };
	uint64_t id = bed_put(b, b->now);
	struct tkw__item *it = find(b, id);

	it->state = TKW__DEAD + 1;
	expect_wrong(b, "an item has no state or no place");
	it->state = TKW__IDLE;
	it->timed = 1;
	expect_wrong(b, "an item has a time for a sequence");
	it->timed = 0;
	it->has |= TKW__HAS_KEY;
	expect_wrong(b, "an item does not know whether it has a key");
	it->has = 0;
	it->stray = 1;
	expect_wrong(b, "an item that is not in a wheel is a stray");
	it->stray = 0;
	bed_take(b, 10);
	it->lost = 1;
	expect_wrong(b, "a taken item has no token");
	it->lost = 0;
	it->attempts = 0;
	expect_wrong(b, "a taken item was never taken");
	it->attempts = 1;
	id = (uint64_t)bed_put_with(b, &p);
	bed_nack(b, id, bed_take(b, 10).token, NULL);
	it = find(b, id);
	it->max_attempts = 2;
	expect_wrong(b, "a dead item has attempts left");
	it->max_attempts = 0;
	expect_wrong(b, "a dead item has attempts left");
	it->max_attempts = 1;
	bed_check(b);
}

/* Gives an item the id, or the key, of another one. Returns what the checker
 * says. */
static const char *check_twins(struct queue_bed *b, struct tkw__item *it,
			       const struct tkw__item *twin, bool by_key)
{
	unsigned char *key = (unsigned char *)tkw__item_key(it);
	unsigned char was = *key;
	uint64_t id = it->id;
	const char *said;

	if (by_key)
		*key = *tkw__item_key(twin);
	else
		it->id = twin->id;
	said = tkw__queue_check(b->q);
	*key = was;
	it->id = id;
	return said;
}

/* Only one of two twins is found, if they are in the same bucket. Some pair of
 * items is, because their ids do not follow each other. */
static bool finds_twins(struct queue_bed *b, bool by_key, const char *wrong)
{
	char key[] = "a";
	struct tkw__item *it[32];
	bool found = false;

	for (int i = 0; i < 32; i++) {
		key[0] = (char)((by_key ? '0' : 'P') + i);
		b->now++;
		it[i] = put_key(b, key);
	}
	for (int i = 0; i < 32; i++) {
		for (int j = 0; j < 32; j++) {
			const char *said;

			if (i == j)
				continue;
			said = check_twins(b, it[i], it[j], by_key);
			assert_non_null(said);
			found = found || !strcmp(said, wrong);
		}
	}
	bed_check(b);
	return found;
}

static void test_queue_check_names_an_item_that_is_not_found(void **state)
{
	struct queue_bed *b = *state;

	assert_true(finds_twins(b, false, "an item is not found by its id"));
	assert_true(finds_twins(b, true, "an item is not found by its key"));
}

static void test_queue_check_names_a_broken_index(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__item *it = put_key(b, "key");

	b->q->by_id.count--;
	expect_wrong(b, "an index has more items than it knows");
	b->q->by_id.count++;
	it->has = 0;
	expect_wrong(b, "an item without a key has its place");
	it->has = TKW__HAS_KEY;
	tkw__index_remove(b->q, &b->q->by_id, it);
	expect_wrong(b, "an index has the wrong count");
	tkw__index_insert(b->q, &b->q->by_id, it);
	bed_check(b);
}

static void test_queue_check_names_a_broken_list_or_tree(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__item *listed = find(b, bed_put(b, b->now));
	struct tkw__item *planted = find(b, bed_put(b, b->now + 10));
	struct tkw_link *prev = listed->link.prev;

	listed->link.prev = &listed->link;
	expect_wrong(b, "a list is broken");
	listed->link.prev = prev;
	listed->place = TKW__IN_TREE;
	expect_wrong(b, "an item in a list does not know it");
	listed->place = TKW__IN_LIST;
	assert_int_equal(planted->place, TKW__IN_TREE);
	planted->place = TKW__IN_LIST;
	expect_wrong(b, "an item in a tree does not know it");
	planted->place = TKW__IN_TREE;
	b->q->idle.strays = 1;
	expect_wrong(b, "there are strays, and no wheel");
	b->q->idle.strays = 0;
	bed_check(b);
}

/* A tree of two items, the wrong way round. */
static void test_queue_check_names_a_tree_that_is_no_heap(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__item **root = &b->q->idle.tree.root;
	struct tkw__item *was, *low;

	bed_put(b, b->now + 10);
	bed_put(b, b->now + 20);
	was = *root;
	if (was->node.left) {
		low = was->node.left;
		was->node.left = NULL;
		low->node.right = was;
	} else {
		low = was->node.right;
		was->node.right = NULL;
		low->node.left = was;
	}
	was->node.size = 1;
	low->node.size = 2;
	*root = low;
	expect_wrong(b, "a tree is no heap");
	if (low->node.right) {
		low->node.right = NULL;
		was->node.left = low;
	} else {
		low->node.left = NULL;
		was->node.right = low;
	}
	low->node.size = 1;
	was->node.size = 2;
	*root = was;
	bed_check(b);
}

static void test_queue_check_names_a_broken_wheel(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call;
	struct tkw__item *it[4];

	bed_restart(b, 1, 0);
	bed_put(b, b->now + 100);
	for (int i = 0; i < 4; i++)
		it[i] = find(b, bed_put(b, b->now + 10));
	assert_int_equal(it[3]->place, TKW__IN_WHEEL);
	it[3]->place = TKW__IN_TREE;
	expect_wrong(b, "an item in a wheel does not know it");
	it[3]->place = TKW__IN_WHEEL;
	b->q->idle.max_other--;
	expect_wrong(b, "a line has a higher sequence than it knows");
	b->q->idle.max_other++;
	b->q->idle.strays++;
	expect_wrong(b, "the strays are counted wrongly");
	b->q->idle.strays--;
	/* One item of the tick comes into the list before the others. */
	b->now += 10;
	for (int i = 0; i < 100 && it[0]->place == TKW__IN_WHEEL; i++) {
		call = bed_call(b);
		tkw__queue_advance(b->q, &call, 1, TKW__QUEUE_MASTER);
	}
	assert_int_equal(it[0]->place, TKW__IN_LIST);
	assert_int_equal(it[3]->place, TKW__IN_WHEEL);
	it[0]->other += 100;
	expect_wrong(b, "an item in a wheel is before one in the list");
	it[0]->other -= 100;
	bed_check(b);
}

/* A counter that has come to its end gives no more numbers. */
static void test_queue_last_number_is_not_passed(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .payload = { "x", 1 } };
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_taken t;

	bed_put(b, b->now);
	b->q->totals.last_id = INT64_MAX;
	b->q->totals.last_token = INT64_MAX;
	assert_int_equal(bed_put_with(b, &p), -EOVERFLOW);
	assert_int_equal(tkw__queue_take(b->q, &call, 1, 10, &t), -EOVERFLOW);
	bed_check(b);
}

/* An item that has no limit can be taken any number of times. */
static void test_queue_attempts_stay_at_the_largest_number(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	struct tkw__queue_taken t;

	tkw__index_find_id(b->q, id)->attempts = UINT32_MAX - 1;
	t = bed_take(b, 10);
	assert_int_equal(t.attempt, UINT32_MAX);
	assert_int_equal(bed_nack(b, id, t.token, NULL), TKW__QUEUE_DONE);
	assert_int_equal(bed_take(b, 10).attempt, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_check_names_a_broken_law),
		BED_TEST(test_queue_check_names_a_broken_item),
		BED_TEST(test_queue_check_names_a_broken_line),
		BED_TEST(test_queue_check_names_illegal_fields),
		BED_TEST(test_queue_check_names_an_item_that_is_not_found),
		BED_TEST(test_queue_check_names_a_broken_index),
		BED_TEST(test_queue_check_names_a_broken_list_or_tree),
		BED_TEST(test_queue_check_names_a_tree_that_is_no_heap),
		BED_TEST(test_queue_check_names_a_broken_wheel),
		BED_TEST(test_queue_last_number_is_not_passed),
		BED_TEST(test_queue_attempts_stay_at_the_largest_number),
	};

	return cmocka_run_group_tests_name("queue_check", tests, NULL, NULL);
}
