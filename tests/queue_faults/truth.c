/* SPDX-License-Identifier: MIT */
/* truth.c - see truth.h. */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	FAR_MS = 60 * 1000, /* leases that end later do not end in a test */
	USED_AT_ONCE = 64,  /* claims in one ack of truth_use() */
	IDLE_AT_ONCE = 512,
	MAX_LIVE = 400 /* items, before idle ones are cancelled */
};

/* A failed check leaves its sentence here. */
struct verdict {
	char *why;
	size_t size;
	bool good;
};

static void wrong(struct verdict *v, const char *what, uint64_t number)
{
	if (v->good)
		snprintf(v->why, v->size, "%s (%llu)", what,
			 (unsigned long long)number);
	v->good = false;
}

void truth_init(struct truth *t)
{
	*t = (struct truth){ 0 };
	t->item = calloc(CREW_SERIALS, sizeof(*t->item));
	if (!t->item)
		abort();
}

void truth_fini(struct truth *t)
{
	free(t->item);
}

void truth_clear(struct truth *t)
{
	struct truth_item *item = t->item;

	memset(item, 0, t->count * sizeof(*item));
	*t = (struct truth){ .item = item };
}

/* --- the notes ------------------------------------------------------------ */

static bool in_doubt(const struct crew_call *c)
{
	return c->state == CREW_ASKED || c->result == -EIO;
}

static void read_put(struct truth *t, const struct crew_call *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t serial = c->item[i].serial;
		struct truth_item *it = &t->item[serial];

		if (serial >= t->count)
			t->count = serial + 1;
		it->asked = in_doubt(c) || c->result == 0;
		it->exists = !in_doubt(c) && c->result == 0;
		it->id = c->item[i].id;
		it->group = c->item[0].serial;
		if (it->id > t->max_id)
			t->max_id = it->id;
	}
}

static void read_take(struct truth *t, const struct crew_call *c)
{
	if (in_doubt(c))
		t->takes_in_doubt += c->count;
	for (int32_t i = 0; !in_doubt(c) && i < c->result; i++) {
		struct truth_item *it = &t->item[c->item[i].serial];

		it->exists = 1;
		it->id = c->item[i].id;
		if (c->item[i].token > t->max_token)
			t->max_token = c->item[i].token;
		if (c->item[i].token <= it->token)
			continue;
		it->token = c->item[i].token;
		it->expires_ms = c->item[i].expires_ms;
		it->claim =
			c->lease_ms == CREW_LONG_MS ? TRUTH_HELD : TRUTH_LAPSES;
	}
}

static void read_end(struct truth *t, const struct crew_call *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct truth_item *it = &t->item[c->item[i].serial];

		bool done = !in_doubt(c) && c->item[i].done == 1;

		it->exists = it->exists || done;
		it->doubt = it->doubt || in_doubt(c);
		it->ended = (uint8_t)(it->ended + done);
	}
}

static void read_claim(struct truth *t, const struct crew_call *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct truth_item *it = &t->item[c->item[i].serial];
		bool done = !in_doubt(c) && c->item[i].done == 1;

		if (it->token != c->item[i].token)
			continue;
		if (c->kind == CREW_EXTEND)
			it->expires_ms = 0;
		else if (done)
			it->claim = TRUTH_NACKED;
		else if (in_doubt(c))
			it->claim = TRUTH_DOUBT;
	}
}

static void count_call(struct truth *t, const struct crew_call *c)
{
	struct truth_count *n = &t->calls[c->kind];

	t->in_flight += in_doubt(c);
	if (in_doubt(c)) {
		n->doubt += c->count;
		return;
	}
	if (c->result < 0)
		return;
	n->sure += c->kind == CREW_PUT ? c->count : (uint32_t)c->result;
}

static void read_call(struct truth *t, const struct crew_call *c, int pass)
{
	/* A call that failed has not happened. */
	if (!in_doubt(c) && c->result < 0)
		return;
	if (c->kind == CREW_PUT && pass == 0)
		read_put(t, c);
	if (c->kind == CREW_TAKE && pass == 1)
		read_take(t, c);
	if ((c->kind == CREW_ACK || c->kind == CREW_CANCEL) && pass == 2)
		read_end(t, c);
	if ((c->kind == CREW_NACK || c->kind == CREW_EXTEND) && pass == 2)
		read_claim(t, c);
	if (pass == 0)
		count_call(t, c);
}

void truth_read(struct truth *t, const struct crew_share *s)
{
	memset(t->calls, 0, sizeof(t->calls));
	t->takes_in_doubt = 0;
	t->in_flight = 0;
	for (int pass = 0; pass < 3; pass++) {
		for (int w = 0; w < CREW_WORKERS; w++) {
			const struct crew_notes *n = &s->notes[w];

			for (uint32_t i = 0; i < n->count; i++)
				read_call(t, &n->call[i], pass);
		}
	}
}

/* --- the file ------------------------------------------------------------- */

static bool is_as_put(const struct tkw_item *it, uint32_t serial)
{
	static uint8_t payload[CREW_PAYLOAD];
	char key[16];
	struct tkw_put put;

	crew_make_put(serial, &put, payload, key);
	return it->payload_len == put.payload_len &&
	       memcmp(it->payload, payload, put.payload_len) == 0 &&
	       it->key_len == put.key_len &&
	       (!put.key || memcmp(it->key, key, put.key_len) == 0) &&
	       it->max_attempts == put.max_attempts;
}

static bool is_claim_right(const struct truth_item *want,
			   const struct tkw_item *it)
{
	bool same = it->claim.token == want->token;

	switch (want->claim) {
	case TRUTH_HELD:
		return it->state == TKW_ITEM_TAKEN && same &&
		       (!want->expires_ms ||
			want->expires_ms == it->expires_ms);
	case TRUTH_NEVER:
	case TRUTH_NACKED:
		return it->state != TKW_ITEM_TAKEN || !same;
	default:
		return true;
	}
}

static bool is_far(int64_t expires_ms)
{
	return expires_ms - (int64_t)time(NULL) * 1000 > FAR_MS;
}

/* What is known of the claim from now on. */
static void note_claim(struct truth_item *want, const struct tkw_item *it)
{
	want->claim = TRUTH_NACKED;
	want->expires_ms = 0;
	if (it->state != TKW_ITEM_TAKEN)
		return;
	want->token = it->claim.token;
	want->claim = TRUTH_LAPSES;
	if (is_far(it->expires_ms)) {
		want->claim = TRUTH_HELD;
		want->expires_ms = it->expires_ms;
	}
}

/* An item that the file has. */
static void see(struct truth *t, const struct tkw_item *it, struct verdict *v)
{
	struct truth_item *want;
	uint32_t serial = 0;

	if (it->payload_len >= sizeof(serial))
		memcpy(&serial, it->payload, sizeof(serial));
	if (serial == 0 || serial >= t->count || !t->item[serial].asked) {
		wrong(v, "an item that nobody has put", serial);
		return;
	}
	want = &t->item[serial];
	if (!is_as_put(it, serial))
		wrong(v, "an item is not as it was put", serial);
	if (want->id && want->id != it->claim.id.bits)
		wrong(v, "an item has another id", serial);
	if (want->ended)
		wrong(v, "an item that had ended is back", serial);
	if (!is_claim_right(want, it))
		wrong(v, "a claim is not as it was", serial);
	if (it->claim.token > want->token) {
		/* By a take in doubt. */
		if (t->takes_in_doubt == 0)
			wrong(v, "a token that nobody was given", serial);
		else
			t->takes_in_doubt--;
	}
	note_claim(want, it);
	want->present = 1;
	want->id = it->claim.id.bits;
	if (want->id > t->max_id)
		t->max_id = want->id;
	if (it->claim.token > t->max_token)
		t->max_token = it->claim.token;
}

static void see_all(struct truth *t, struct tkw_queue *q, struct verdict *v)
{
	struct tkw_items *items;
	uint64_t cursor = 0;

	do {
		int n = tkw_queue_list(q, TKW_ITEM_STATES, 512, &cursor,
				       &items);

		if (n < 0)
			wrong(v, "the items cannot be listed", (uint64_t)-n);
		for (int i = 0; i < n; i++) {
			uint32_t serial = 0;

			memcpy(&serial, items->item[i].payload, sizeof(serial));
			/* One whose lease ends meanwhile is listed twice. */
			if (serial < t->count && t->item[serial].present)
				continue;
			see(t, &items->item[i], v);
		}
		if (n > 0)
			tkw_items_free(items);
	} while (v->good && cursor != 0);
}

/* A put in doubt has put all of its items or none. */
static void settle_groups(struct truth *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct truth_item *it = &t->item[i];

		if (it->present || it->exists)
			t->item[it->group].exists = 1;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		struct truth_item *it = &t->item[i];

		if (it->asked && t->item[it->group].exists)
			it->exists = 1;
	}
}

static void check_items(struct truth *t, struct verdict *v)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct truth_item *it = &t->item[i];

		if (it->ended > 1)
			wrong(v, "an item has ended twice", i);
		if (it->exists && !it->present && !it->ended && !it->doubt)
			wrong(v, "an item is lost", i);
	}
}

static void check_counter(const struct truth_count *n, uint64_t before,
			  uint64_t now, const char *what, struct verdict *v)
{
	if (now - before < n->sure || now - before > n->sure + n->doubt)
		wrong(v, what, now - before);
}

static uint64_t live(const struct tkw_queue_stats *s)
{
	return s->waiting + s->ready + s->taken + s->dead;
}

static void check_counters(struct truth *t, const struct tkw_queue_stats *s,
			   struct verdict *v)
{
	const struct tkw_queue_stats *b = &t->before;
	uint64_t exist = 0;
	uint64_t present = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		exist += t->item[i].exists && !t->item[i].carried;
		present += t->item[i].present;
	}
	if (s->all_puts !=
	    s->all_acks + s->all_cancels + s->all_purges + live(s))
		wrong(v, "the law is broken", s->all_puts);
	if (live(s) != present)
		wrong(v, "there are more items than are listed", live(s));
	check_counter(&t->calls[CREW_PUT], b->all_puts, s->all_puts, "puts", v);
	check_counter(&t->calls[CREW_TAKE], b->all_takes, s->all_takes, "takes",
		      v);
	check_counter(&t->calls[CREW_ACK], b->all_acks, s->all_acks, "acks", v);
	check_counter(&t->calls[CREW_NACK], b->all_nacks, s->all_nacks, "nacks",
		      v);
	check_counter(&t->calls[CREW_CANCEL], b->all_cancels, s->all_cancels,
		      "cancels", v);
	if (s->all_puts - b->all_puts != exist)
		wrong(v, "puts and new items differ", exist);
}

/* What is not there any more is forgotten. The rest is as it was found. */
static void take_over(struct truth *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct truth_item *it = &t->item[i];

		if (!it->present) {
			bool ended = it->exists || it->ended;

			*it = (struct truth_item){ .group = i };
			/* It must not come back. */
			it->asked = it->ended = ended;
			it->doubt = 0;
			continue;
		}
		it->present = 0;
		it->doubt = 0;
		it->exists = 1;
		it->asked = 1;
		it->group = i;
		it->carried = 1;
	}
}

bool truth_check(struct truth *t, struct tkw_queues *f, struct tkw_queue *q,
		 char *why, size_t why_size)
{
	struct verdict v = { why, why_size, true };
	const char *broken = tkw_queues_check(f);
	struct tkw_queue_stats s;

	if (broken) {
		snprintf(why, why_size, "%s", broken);
		return false;
	}
	see_all(t, q, &v);
	if (tkw_queue_get_stats(q, &s) != 0)
		wrong(&v, "no stats", 0);
	settle_groups(t);
	if (v.good)
		check_items(t, &v);
	if (v.good)
		check_counters(t, &s, &v);
	take_over(t);
	t->before = s;
	return v.good;
}

/* --- use ------------------------------------------------------------------ */

/* Leases of an hour survive, so the claims do. */
static void use_claims(struct truth *t, struct tkw_queue *q, struct verdict *v)
{
	struct tkw_claim claims[USED_AT_ONCE];
	uint32_t serial[USED_AT_ONCE];
	int done[USED_AT_ONCE];
	struct tkw_items *items;
	uint64_t cursor = 0;
	size_t count = 0;
	int n = tkw_queue_list(q, TKW_ITEM_TAKEN, USED_AT_ONCE, &cursor,
			       &items);

	for (int i = 0; i < n; i++) {
		const struct tkw_item *it = &items->item[i];

		/* Not one that may end meanwhile. */
		if (!is_far(it->expires_ms) || count == USED_AT_ONCE)
			continue;
		memcpy(&serial[count], it->payload, sizeof(serial[count]));
		claims[count++] = it->claim;
	}
	if (n > 0)
		tkw_items_free(items);
	if (count == 0)
		return;
	if (tkw_queue_ack(q, claims, count, done) != (int)count)
		wrong(v, "a claim is not valid after a reopen", count);
	for (size_t i = 0; i < count; i++)
		t->item[serial[i]].ended = 1;
}

static void use_idle(struct truth *t, struct tkw_queue *q,
		     enum tkw_item_state state, struct verdict *v)
{
	static struct tkw_item_name names[IDLE_AT_ONCE];
	struct tkw_items *items;
	uint64_t cursor = 0;
	int n = tkw_queue_list(q, state, IDLE_AT_ONCE, &cursor, &items);

	if (n <= 0)
		return;
	for (int i = 0; i < n; i++) {
		uint32_t serial;

		names[i].id = items->item[i].claim.id;
		memcpy(&serial, items->item[i].payload, sizeof(serial));
		t->item[serial].ended = 1;
	}
	tkw_items_free(items);
	if (tkw_queue_cancel(q, names, (size_t)n, NULL) != n)
		wrong(v, "an item cannot be cancelled", (uint64_t)n);
}

static void use_new(struct truth *t, struct crew_share *s, struct tkw_queue *q,
		    struct verdict *v)
{
	uint32_t serial = s->serial++;
	struct tkw_put put = { .payload = &serial,
			       .payload_len = sizeof(serial),
			       .due_ms = 1 };
	struct tkw_items *items = NULL;
	struct tkw_item_id id = { 0 };

	if (tkw_queue_put(q, &put, 1, &id) != 0 || id.bits <= t->max_id)
		wrong(v, "ids have not grown", id.bits);
	if (tkw_queue_take(q, NULL, &items) != 1) {
		wrong(v, "nothing can be taken", serial);
		return;
	}
	if (items->item[0].claim.token <= t->max_token)
		wrong(v, "tokens have not grown", items->item[0].claim.token);
	t->max_id = id.bits;
	t->max_token = items->item[0].claim.token;
	if (items->item[0].claim.id.bits != id.bits)
		wrong(v, "the first due is not the first taken", serial);
	if (tkw_queue_ack(q, &items->item[0].claim, 1, NULL) != 1)
		wrong(v, "an item cannot be acked", serial);
	tkw_items_free(items);
}

bool truth_use(struct truth *t, struct crew_share *s, struct tkw_queue *q,
	       char *why, size_t why_size)
{
	struct verdict v = { why, why_size, true };

	why[0] = 0;
	use_new(t, s, q, &v);
	use_claims(t, q, &v);
	if (live(&t->before) > MAX_LIVE) {
		use_idle(t, q, TKW_ITEM_WAITING, &v);
		use_idle(t, q, TKW_ITEM_READY, &v);
		use_idle(t, q, TKW_ITEM_DEAD, &v);
	}
	if (tkw_queue_get_stats(q, &t->before) != 0)
		wrong(&v, "no stats", 0);
	return v.good;
}
