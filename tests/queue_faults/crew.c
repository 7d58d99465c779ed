/* SPDX-License-Identifier: MIT */
/* crew.c - see crew.h. */
#include "crew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct crew_share *crew_share_make(void)
{
	struct crew_share *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (s == MAP_FAILED)
		abort();
	return s;
}

void crew_share_reset(struct crew_share *s)
{
	for (int i = 0; i < CREW_WORKERS; i++)
		s->notes[i].count = 0;
	s->ready = 0;
	s->in_commit = 0;
	s->commits = 0;
	s->commit_calls = 0;
	s->refused = 0;
	s->broken[0] = 0;
	power_reset(&s->power);
}

uint64_t crew_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t crew_below(uint64_t *state, uint64_t below)
{
	return crew_random(state) % below;
}

/* --- items ---------------------------------------------------------------- */

void crew_make_put(uint32_t serial, struct tkw_put *put, uint8_t *payload,
		   char *key)
{
	uint64_t random = serial;
	size_t len = sizeof(serial) + crew_below(&random, 200);

	if (crew_below(&random, 16) == 0)
		len += crew_below(&random, CREW_PAYLOAD - 256);
	memcpy(payload, &serial, sizeof(serial));
	for (size_t i = sizeof(serial); i < len; i++)
		payload[i] = (uint8_t)(serial + i * 31);
	*put = (struct tkw_put){ .payload = payload, .payload_len = len };
	if (serial % 2 == 1) {
		put->key = key;
		put->key_len = (size_t)snprintf(key, 16, "k%u", serial);
	}
	if (serial % 8 == 1)
		put->delay_ms = CREW_LONG_MS;
	if (serial % 4 == 0)
		put->max_attempts = 2;
}

/* --- calls ---------------------------------------------------------------- */

static struct crew_call *ask(struct crew_worker *w, enum crew_kind kind)
{
	struct crew_call *c = &w->notes->call[w->notes->count];

	memset(c, 0, sizeof(*c));
	c->kind = kind;
	return c;
}

static void asked(struct crew_worker *w, struct crew_call *c)
{
	__atomic_store_n(&c->state, CREW_ASKED, __ATOMIC_RELEASE);
	__atomic_store_n(&w->notes->count, w->notes->count + 1,
			 __ATOMIC_RELEASE);
}

static int answered(struct crew_call *c, int result)
{
	c->result = result;
	__atomic_store_n(&c->state, CREW_ANSWERED, __ATOMIC_RELEASE);
	return result;
}

static void complain(struct crew_worker *w, const char *what, uint32_t serial)
{
	snprintf(w->share->broken, sizeof(w->share->broken), "%s: item %u",
		 what, serial);
}

/* Items of a put that was refused are not there. */
static void look_for(struct crew_worker *w, const struct crew_call *c,
		     const struct tkw_put *puts)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct tkw_item_name name = { .key = puts[i].key,
					      .key_len = puts[i].key_len };
		struct tkw_items *items;
		int err =
			name.key ? tkw_queue_get(w->q, &name, &items) : -ENOENT;

		if (err == 0) {
			tkw_items_free(items);
			complain(w, "a put was refused, and is there",
				 c->item[i].serial);
		}
		if (name.key)
			__atomic_fetch_add(&w->share->refused, 1,
					   __ATOMIC_RELAXED);
	}
}

static int put(struct crew_worker *w)
{
	static _Thread_local uint8_t payload[CREW_ITEMS][CREW_PAYLOAD];
	char key[CREW_ITEMS][16];
	struct tkw_put puts[CREW_ITEMS];
	struct tkw_item_id ids[CREW_ITEMS];
	struct crew_call *c = ask(w, CREW_PUT);
	uint32_t serial;
	int err;

	c->count = 1 + (uint32_t)crew_below(&w->random, CREW_ITEMS);
	serial = __atomic_fetch_add(&w->share->serial, c->count,
				    __ATOMIC_RELAXED);
	if (serial + c->count > CREW_SERIALS)
		return 0;
	for (uint32_t i = 0; i < c->count; i++) {
		c->item[i].serial = serial + i;
		crew_make_put(serial + i, &puts[i], payload[i], key[i]);
	}
	asked(w, c);
	err = tkw_queue_put(w->q, puts, c->count, ids);
	for (uint32_t i = 0; !err && i < c->count; i++) {
		c->item[i].id = ids[i].bits;
		w->put[w->put_count++ % CREW_HELD] =
			(struct crew_hold){ .serial = serial + i,
					    .claim = { .id = ids[i] } };
	}
	answered(c, err);
	if (err == -ENOSPC)
		look_for(w, c, puts);
	return err;
}

static void keep(struct crew_worker *w, const struct crew_call *c)
{
	for (int32_t i = 0; i < c->result; i++)
		w->held[w->held_count++] =
			(struct crew_hold){ .serial = c->item[i].serial,
					    .lease_ms = c->lease_ms,
					    .claim = { { c->item[i].id },
						       c->item[i].token } };
}

static int take(struct crew_worker *w)
{
	struct crew_call *c = ask(w, CREW_TAKE);
	struct tkw_items *items = NULL;
	struct tkw_take how;
	int n;

	if (w->held_count + CREW_ITEMS > CREW_HELD)
		return 0;
	c->count = 1 + (uint32_t)crew_below(&w->random, CREW_ITEMS);
	c->lease_ms =
		crew_below(&w->random, 8) == 0 ? CREW_SHORT_MS : CREW_LONG_MS;
	how = (struct tkw_take){ .max_items = c->count,
				 .lease_ms = c->lease_ms };
	asked(w, c);
	n = tkw_queue_take(w->q, &how, &items);
	for (int i = 0; i < n; i++) {
		const struct tkw_item *it = &items->item[i];
		struct crew_item *to = &c->item[i];

		memcpy(&to->serial, it->payload, sizeof(to->serial));
		to->id = it->claim.id.bits;
		to->token = it->claim.token;
		to->expires_ms = it->expires_ms;
	}
	tkw_items_free(items);
	answered(c, n);
	keep(w, c);
	return n;
}

/* Ack, nack or extend. Claims are given back, but those that are extended. */
static int claim(struct crew_worker *w, enum crew_kind kind)
{
	struct tkw_nack how = { .reason = "no" };
	struct crew_call *c = ask(w, kind);
	struct tkw_claim claims[CREW_ITEMS];
	int done[CREW_ITEMS] = { 0 };
	struct crew_hold *first;
	int n;

	if (w->held_count == 0)
		return 0;
	c->count = 1 + (uint32_t)crew_below(&w->random, CREW_ITEMS);
	if (c->count > w->held_count)
		c->count = w->held_count;
	first = &w->held[w->held_count - c->count];
	for (uint32_t i = 0; i < c->count; i++) {
		claims[i] = first[i].claim;
		c->item[i].serial = first[i].serial;
		c->item[i].id = claims[i].id.bits;
		c->item[i].token = claims[i].token;
	}
	asked(w, c);
	if (kind == CREW_ACK)
		n = tkw_queue_ack(w->q, claims, c->count, done);
	else if (kind == CREW_NACK)
		n = tkw_queue_nack(w->q, claims, c->count, &how, done);
	else
		n = tkw_queue_extend(w->q, claims, c->count, CREW_LONG_MS,
				     done);
	for (uint32_t i = 0; n >= 0 && i < c->count; i++) {
		c->item[i].done = done[i];
		if (!done[i] && first[i].lease_ms == CREW_LONG_MS)
			complain(w, "a valid claim was refused",
				 first[i].serial);
	}
	answered(c, n);
	if (n >= 0 && kind != CREW_EXTEND)
		w->held_count -= c->count;
	return n;
}

/* Of items that this worker has put; others may hold them. */
static int cancel(struct crew_worker *w)
{
	struct crew_call *c = ask(w, CREW_CANCEL);
	uint32_t there = w->put_count;
	const struct crew_hold *h;
	struct tkw_item_name name;
	int done = 0;
	int n;

	if (there == 0)
		return 0;
	if (there > CREW_HELD)
		there = CREW_HELD;
	h = &w->put[crew_below(&w->random, there)];
	name = (struct tkw_item_name){ .id = h->claim.id };
	c->count = 1;
	c->item[0].serial = h->serial;
	c->item[0].id = h->claim.id.bits;
	asked(w, c);
	n = tkw_queue_cancel(w->q, &name, 1, &done);
	c->item[0].done = done;
	return answered(c, n);
}

int crew_call(struct crew_worker *w, enum crew_kind kind)
{
	if (w->notes->count == CREW_CALLS)
		return 0;
	switch (kind) {
	case CREW_PUT:
		return put(w);
	case CREW_TAKE:
		return take(w);
	case CREW_CANCEL:
		return cancel(w);
	default:
		return claim(w, kind);
	}
}

int crew_work(struct crew_worker *w)
{
	static const enum crew_kind kinds[] = {
		CREW_PUT, CREW_PUT,  CREW_TAKE,   CREW_TAKE,   CREW_ACK,
		CREW_ACK, CREW_NACK, CREW_EXTEND, CREW_CANCEL,
	};
	size_t count = sizeof(kinds) / sizeof(kinds[0]);

	return crew_call(w, kinds[crew_below(&w->random, count)]);
}

/* --- the file ------------------------------------------------------------- */

int crew_open(struct tkw_queues **f, struct tkw_queue **q, const char *path,
	      char *error, size_t error_size)
{
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .reserve_bytes = 64 << 10,
					 .no_socket = 1,
					 .error = error,
					 .error_size = error_size };
	int err = tkw_queues_open(f, path, &cfg);

	if (err)
		return err;
	err = tkw_queue_open(q, *f, "q");
	if (err) {
		snprintf(error, error_size, "the queue cannot be opened");
		tkw_queues_close(*f);
		*f = NULL;
	}
	return err;
}

/* Now and then the disk is slow, so that a kill finds a write half done. */
static void be_slow(const struct shim_news *news)
{
	static uint64_t random;
	const struct timespec some = { 0, 300000 };

	if (news->event == SHIM_INSIDE_WRITE && news->kind == SHIM_LOG &&
	    crew_below(&random, 16) == 0)
		nanosleep(&some, NULL);
}

void crew_watch(const struct shim_news *news, void *ctx)
{
	struct crew_share *s = ctx;

	power_note(&s->power, news);
	if (news->kind == SHIM_LOG && news->event == SHIM_BEFORE_WRITE)
		__atomic_store_n(&s->in_commit, 1, __ATOMIC_RELEASE);
	if (news->kind == SHIM_LOG && news->event == SHIM_AFTER_SYNC)
		__atomic_store_n(&s->in_commit, 0, __ATOMIC_RELEASE);
	be_slow(news);
}
