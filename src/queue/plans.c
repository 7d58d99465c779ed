/* SPDX-License-Identifier: MIT */
/* plans.c - the plans of a queue, sorted by name. See plans.h. */
#include "queue/plans.h"

#include <errno.h>

#include "queue/state.h"

enum {
	FIRST_ROOM = 4,
	/* A move of so many pointers is a step: what the processor moves at
	 * once. */
	POINTERS_PER_STEP = 8
};

/* --- keys ----------------------------------------------------------------- */

static size_t write_decimal(uint8_t *at, uint64_t x)
{
	uint8_t digits[20];
	size_t n = 0;

	do {
		digits[n++] = (uint8_t)('0' + x % 10);
		x /= 10;
	} while (x > 0);
	for (size_t i = 0; i < n; i++)
		at[i] = digits[n - 1 - i];
	return n;
}

void tkw__plan_make_key(struct tkw__plan_key *key, struct tkw__queue_text name,
			uint64_t planned_ms)
{
	assert(name.len <= TKW__QUEUE_MAX_PLAN_NAME);
	memcpy(key->bytes, name.at, name.len);
	key->bytes[name.len] = '@';
	key->len = name.len + 1;
	key->len += write_decimal(key->bytes + key->len, planned_ms);
}

/* What comes before the last "@". */
struct tkw__queue_text tkw__plan_name_in(struct tkw__queue_text key)
{
	const uint8_t *at = key.at;

	do
		key.len--;
	while (key.len > 0 && at[key.len] != '@');
	return key;
}

bool tkw__plan_is_key(struct tkw__queue_text key, uint64_t planned_ms)
{
	struct tkw__plan_key want;
	struct tkw__queue_text name;

	if (key.len == 0)
		return false;
	name = tkw__plan_name_in(key);
	if (name.len == 0 || name.len > TKW__QUEUE_MAX_PLAN_NAME)
		return false;
	tkw__plan_make_key(&want, name, planned_ms);
	return want.len == key.len && memcmp(want.bytes, key.at, key.len) == 0;
}

/* --- by name -------------------------------------------------------------- */

static int compare(struct tkw__queue_text a, struct tkw__queue_text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int diff = memcmp(a.at, b.at, len);

	if (diff == 0)
		diff = (a.len > b.len) - (a.len < b.len);
	return diff;
}

uint32_t tkw__plans_seek(struct tkw__queue *q, struct tkw__queue_text name)
{
	uint32_t from = 0;
	uint32_t to = q->plans.count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		q->steps++;
		if (compare(tkw__plan_name(q->plans.at[middle]), name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* True if the plan of a name is at this index. */
static bool is_at(const struct tkw__queue *q, uint32_t i,
		  struct tkw__queue_text name)
{
	return i < q->plans.count &&
	       compare(tkw__plan_name(q->plans.at[i]), name) == 0;
}

uint32_t tkw__plans_seek_behind(struct tkw__queue *q,
				struct tkw__queue_text name)
{
	uint32_t i = tkw__plans_seek(q, name);

	return is_at(q, i, name) ? i + 1 : i;
}

struct tkw__plan *tkw__plans_find(struct tkw__queue *q,
				  struct tkw__queue_text name)
{
	uint32_t i = tkw__plans_seek(q, name);

	return is_at(q, i, name) ? q->plans.at[i] : NULL;
}

struct tkw__plan *tkw__plan_of(struct tkw__queue *q, const struct tkw__item *it)
{
	struct tkw__queue_text key = { tkw__item_key(it), it->key_len };
	struct tkw__plan *p;

	if (!(it->has & TKW__HAS_PLAN) || q->plans.count == 0)
		return NULL;
	p = tkw__plans_find(q, tkw__plan_name_in(key));
	return p && p->id == tkw__item_planned(it).plan_id ? p : NULL;
}

int tkw__plans_reserve(struct tkw__queue *q)
{
	struct tkw__plans *x = &q->plans;
	uint32_t room = x->room ? x->room * 2 : FIRST_ROOM;
	struct tkw__plan **at;

	if (x->count < x->room)
		return 0;
	at = tkw__queue_alloc(q, room * sizeof(struct tkw__plan *));
	if (!at)
		return -ENOMEM;
	if (x->room) {
		memcpy(at, x->at, x->count * sizeof(struct tkw__plan *));
		tkw__queue_free(q, x->at, x->room * sizeof(struct tkw__plan *));
	}
	q->steps += x->count / POINTERS_PER_STEP;
	x->at = at;
	x->room = room;
	return 0;
}

/* Moves the pointers from one index on to another one. */
static void move(struct tkw__queue *q, uint32_t from, uint32_t to)
{
	struct tkw__plan **at = q->plans.at;
	uint32_t n = q->plans.count - from;

	q->steps += 1 + n / POINTERS_PER_STEP;
	memmove(&at[to], &at[from], n * sizeof(struct tkw__plan *));
}

void tkw__plans_insert(struct tkw__queue *q, struct tkw__plan *p)
{
	uint32_t i = tkw__plans_seek(q, tkw__plan_name(p));

	assert(q->plans.count < q->plans.room);
	move(q, i, i + 1);
	q->plans.at[i] = p;
	q->plans.count++;
	q->bytes += tkw__plan_bytes(p);
}

void tkw__plans_remove(struct tkw__queue *q, const struct tkw__plan *p)
{
	uint32_t i = tkw__plans_seek(q, tkw__plan_name(p));

	assert(q->plans.at[i] == p);
	move(q, i + 1, i);
	q->plans.count--;
	q->bytes -= tkw__plan_bytes(p);
}

void tkw__plan_state_free(struct tkw__queue *q, struct tkw__plan_state *s)
{
	tkw__queue_free(q, s, sizeof(*s));
}

void tkw__plan_free(struct tkw__queue *q, struct tkw__plan *p)
{
	tkw__plan_state_free(q, p->state);
	tkw__queue_free(q, p, sizeof(*p) + (size_t)tkw__plan_bytes(p));
}

bool tkw__plans_free_some(struct tkw__queue *q, uint64_t *max)
{
	struct tkw__plans *x = &q->plans;

	for (; x->count > 0 && *max > 0; --*max)
		tkw__plan_free(q, x->at[--x->count]);
	if (x->count > 0)
		return true;
	if (x->room)
		tkw__queue_free(q, x->at, x->room * sizeof(struct tkw__plan *));
	*x = (struct tkw__plans){ NULL, 0, 0 };
	return false;
}

/* --- what follows from the items ------------------------------------------ */

void tkw__plan_count(struct tkw__queue *q, struct tkw__item *it, bool enters)
{
	struct tkw__plan *p = tkw__plan_of(q, it);

	if (!p)
		return;
	if (!it->started)
		p->fresh = enters ? it : NULL;
	else if (it->state != TKW__DEAD)
		p->running += enters ? 1 : UINT64_MAX;
}

bool tkw__plan_allows(const struct tkw__plan_state *s,
		      const struct tkw__item *fresh)
{
	return !fresh || (!s->paused && s->error == 0 &&
			  tkw__item_planned(fresh).planned_ms > s->decided_ms);
}

/* (P4) */
static bool goes_on(const struct tkw__plan *p)
{
	return p->fresh || p->state->paused || p->state->error ||
	       tkw__plan_waits(p);
}

static void recount(struct tkw__queue *q, struct tkw__item *it, void *ctx)
{
	bool *twice = ctx;
	struct tkw__plan *p = tkw__plan_of(q, it);

	if (p && !it->started && p->fresh)
		*twice = true;
	tkw__plan_count(q, it, true);
}

bool tkw__plans_recount(struct tkw__queue *q)
{
	bool twice = false;
	bool legal = true;

	if (q->plans.count == 0)
		return true;
	for (uint32_t i = 0; i < q->plans.count; i++) {
		q->plans.at[i]->fresh = NULL;
		q->plans.at[i]->running = 0;
	}
	tkw__index_each(q, &q->by_id, recount, &twice);
	for (uint32_t i = 0; i < q->plans.count; i++) {
		const struct tkw__plan *p = q->plans.at[i];

		legal = legal && tkw__plan_allows(p->state, p->fresh) &&
			goes_on(p);
	}
	return legal && !twice;
}

/* Each item and each plan adds a number that stands for its plan. So the sums
 * are equal if each plan is right. */
struct plan_sums {
	uint64_t running;
	uint64_t fresh;
	bool wrong;
};

static void add_item(struct tkw__queue *q, struct tkw__item *it, void *ctx)
{
	struct plan_sums *sums = ctx;
	struct tkw__plan *p = tkw__plan_of(q, it);

	if (!p)
		return;
	if (!it->started && p->fresh != it)
		sums->wrong = true;
	if (!it->started)
		sums->fresh += tkw__mix(p->id);
	else if (it->state != TKW__DEAD)
		sums->running += tkw__mix(p->id);
}

static const char *check_order(struct tkw__queue *q)
{
	for (uint32_t i = 1; i < q->plans.count; i++) {
		if (compare(tkw__plan_name(q->plans.at[i - 1]),
			    tkw__plan_name(q->plans.at[i])) >= 0)
			return "the plans are not in order";
	}
	return NULL;
}

const char *tkw__plans_check(struct tkw__queue *q)
{
	const char *wrong = check_order(q);
	struct plan_sums sums = { 0, 0, false };

	if (wrong || q->past == TKW__LOADING)
		return wrong;
	tkw__index_each(q, &q->by_id, add_item, &sums);
	for (uint32_t i = 0; i < q->plans.count; i++) {
		const struct tkw__plan *p = q->plans.at[i];

		if (!tkw__plan_allows(p->state, p->fresh))
			return "a plan does not fit its fresh item";
		if (!goes_on(p))
			return "a plan has stopped and does not say why";
		sums.fresh -= p->fresh ? tkw__mix(p->id) : 0;
		sums.running -= p->running * tkw__mix(p->id);
	}
	return sums.wrong || sums.fresh || sums.running
		       ? "a plan does not know its items"
		       : NULL;
}
