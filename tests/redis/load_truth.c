/* SPDX-License-Identifier: MIT */
/* load_truth.c - see load_truth.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load_truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_mix.h"

/* What is known of an item. */
struct truth_of {
	uint64_t id;
	uint64_t token;     /* of the last take that is sure */
	uint8_t asked;      /* somebody has put it */
	uint8_t exists;     /* for sure */
	uint8_t ended;      /* for sure */
	uint8_t end_asked;  /* perhaps */
	uint8_t token_used; /* that claim was given back, perhaps */
	/* In the queue. */
	uint8_t seen;
	uint8_t seen_taken;
	uint64_t seen_id;
	uint64_t seen_token;
};

void load_truth_init(struct load_truth *t)
{
	*t = (struct load_truth){ 0 };
	t->item = calloc(LOAD_SERIALS, sizeof(*t->item));
	assert_non_null(t->item);
}

void load_truth_fini(struct load_truth *t)
{
	free(t->item);
}

void load_truth_clear(struct load_truth *t)
{
	memset(t->item, 0, LOAD_SERIALS * sizeof(*t->item));
	t->max_id = 0;
	t->max_token = 0;
}

/* --- the notes ------------------------------------------------------------ */

static void saw(uint64_t *max, uint64_t number)
{
	if (number > *max)
		*max = number;
}

static void read_item(struct load_truth *t, enum load_kind kind, bool sure,
		      const struct load_item *i)
{
	struct truth_of *it = &t->item[i->serial];

	saw(&t->max_id, i->id);
	saw(&t->max_token, i->token);
	switch (kind) {
	case LOAD_PUT:
		it->asked = 1;
		it->exists = sure;
		if (i->id)
			it->id = i->id;
		break;
	case LOAD_TAKE:
		/* What was given out was put, and is taken. */
		if (sure && i->token > it->token) {
			it->token = i->token;
			it->token_used = 0;
		}
		break;
	case LOAD_ACK:
	case LOAD_CANCEL:
		it->end_asked = it->end_asked || !sure || i->done == 1;
		it->ended = it->ended || (sure && i->done == 1);
		break;
	default:
		break;
	}
}

/* A claim that was used is not a claim any more, or its lease is another. It is
 * read after all takes. */
static void read_claim(struct load_truth *t, enum load_kind kind,
		       const struct load_item *i)
{
	struct truth_of *it = &t->item[i->serial];

	if ((kind == LOAD_ACK || kind == LOAD_NACK) && i->token == it->token)
		it->token_used = 1;
}

static void read_notes(struct load_truth *t, const struct load_notes *n,
		       bool claims)
{
	for (uint32_t i = 0; i < n->count; i++) {
		const struct load_call *c = &n->call[i];
		bool sure = c->state == LOAD_SURE;

		/* Nobody knows what a take would have taken. */
		if (c->kind == LOAD_TAKE && c->state == LOAD_ASKED) {
			t->doubt += !claims;
			continue;
		}
		if (!claims)
			*(sure ? &t->sure : &t->doubt) += 1;
		for (uint32_t k = 0; k < c->count; k++) {
			if (claims)
				read_claim(t, c->kind, &c->item[k]);
			else
				read_item(t, c->kind, sure, &c->item[k]);
		}
	}
}

void load_truth_read(struct load_truth *t, const struct load_share *s)
{
	assert_true(s->serial < LOAD_SERIALS);
	t->count = s->serial;
	for (int i = 0; i < LOAD_WORKERS; i++)
		read_notes(t, &s->notes[i], false);
	for (int i = 0; i < LOAD_WORKERS; i++)
		read_notes(t, &s->notes[i], true);
}

/* --- the queue ------------------------------------------------------------ */

static void see(struct load_truth *t, const char *facts)
{
	uint64_t serial = strtoull(resp_value(facts, "payload") + 1, NULL, 10);
	struct truth_of *it;

	assert_true(serial < t->count);
	it = &t->item[serial];
	if (!it->asked)
		fail_msg("an item that nobody has put: %" PRIu64, serial);
	it->seen = 1;
	it->seen_id = strtoull(resp_value(facts, "id"), NULL, 10);
	it->seen_token = strtoull(resp_value(facts, "token"), NULL, 10);
	it->seen_taken =
		strncmp(resp_value(facts, "state"), "\"taken\"", 7) == 0;
}

static void see_all(struct load_truth *t, struct resp *c, const char *queue)
{
	char cursor[32] = "0";

	for (uint32_t i = 0; i < t->count; i++)
		t->item[i].seen = 0;
	do {
		const char *at = resp_ask(c,
					  "TKW.LIST %s STATE all COUNT 1000 "
					  "CURSOR %s",
					  queue, cursor);

		assert_int_equal(sscanf(at, "[\"%31[0-9]\"", cursor), 1);
		while ((at = strstr(at, "[\"id\"")) != NULL) {
			see(t, at);
			at++;
		}
	} while (strcmp(cursor, "0") != 0);
}

static void compare(struct load_truth *t, uint32_t serial, bool exact)
{
	const struct truth_of *it = &t->item[serial];

	if (it->exists && !it->end_asked && !it->seen) {
		t->lost++;
		if (exact)
			fail_msg("item %u is lost", serial);
	}
	if (it->ended && it->seen) {
		t->back++;
		if (exact)
			fail_msg("item %u has ended, and is there", serial);
	}
	if (it->seen && it->id && it->id != it->seen_id)
		fail_msg("item %u has another id", serial);
	if (exact && it->seen && it->token && !it->token_used &&
	    (!it->seen_taken || it->seen_token != it->token))
		fail_msg("item %u was taken, and is not", serial);
}

/* What is there now is the truth. */
static void take_over(struct truth_of *it)
{
	*it = (struct truth_of){ .id = it->seen_id,
				 .token = it->seen_taken ? it->seen_token : 0,
				 .asked = it->seen,
				 .exists = it->seen };
}

/* New numbers are larger than all old ones. The item is the first to be taken,
 * because it was due long ago. */
static void use(struct load_truth *t, struct resp *c, const char *queue)
{
	uint64_t id = (uint64_t)resp_number(c, "TKW.PUT %s AT 1 0", queue);
	uint64_t taken;
	uint64_t token;

	if (id <= t->max_id)
		fail_msg("ids go back: %" PRIu64 ", %" PRIu64, id, t->max_id);
	if (sscanf(resp_ask(c, "TKW.TAKE %s", queue),
		   "[[%" SCNu64 ", \"0\", %" SCNu64, &taken, &token) != 2 ||
	    taken != id)
		fail_msg("the first due is not the first taken");
	if (token <= t->max_token)
		fail_msg("tokens go back: %" PRIu64 ", %" PRIu64, token,
			 t->max_token);
	EXPECT(c, "[1]", "TKW.ACK %s %" PRIu64 " %" PRIu64, queue, id, token);
	t->max_id = id;
	t->max_token = token;
}

void load_truth_check(struct load_truth *t, struct resp *c, const char *queue,
		      bool exact)
{
	see_all(t, c, queue);
	for (uint32_t i = 1; i < t->count; i++)
		compare(t, i, exact);
	for (uint32_t i = 1; i < t->count; i++)
		take_over(&t->item[i]);
	use(t, c, queue);
	queue_mix_check(c, queue);
}
