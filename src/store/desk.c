/* SPDX-License-Identifier: MIT */
/* desk.c - the life of a desk, its queues, and what can be seen of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/desk_state.h"

void tkw__requests_push(struct tkw__request_list *l, struct tkw__request *r)
{
	r->next = NULL;
	r->prev = l->last;
	if (l->last)
		l->last->next = r;
	else
		l->first = r;
	l->last = r;
	l->count++;
}

void tkw__requests_insert(struct tkw__request_list *l, struct tkw__request *r,
			  struct tkw__request *before)
{
	if (!before) {
		tkw__requests_push(l, r);
		return;
	}
	r->prev = before->prev;
	r->next = before;
	before->prev = r;
	if (r->prev)
		r->prev->next = r;
	else
		l->first = r;
	l->count++;
}

void tkw__requests_remove(struct tkw__request_list *l, struct tkw__request *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		l->first = r->next;
	if (r->next)
		r->next->prev = r->prev;
	else
		l->last = r->prev;
	l->count--;
}

/* --- queues --------------------------------------------------------------- */

static struct tkw_queue **bucket_of(struct tkw__desk *d, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return &d->by_name[hash & (d->room - 1)];
}

static void link_name(struct tkw__desk *d, struct tkw_queue *q)
{
	struct tkw_queue **at = bucket_of(d, q->name);

	q->namesake = *at;
	*at = q;
}

static void unlink_name(struct tkw__desk *d, const struct tkw_queue *q)
{
	struct tkw_queue **at = bucket_of(d, q->name);

	while (*at != q)
		at = &(*at)->namesake;
	*at = q->namesake;
}

static int grow_table(struct tkw_queue ***table, size_t room)
{
	struct tkw_queue **grown =
		realloc(*table, room * sizeof(struct tkw_queue *));

	if (!grown)
		return -ENOMEM;
	*table = grown;
	return 0;
}

/* Makes room for one more queue in all tables. */
static int grow_tables(struct tkw__desk *d)
{
	size_t room = d->room ? d->room * 2 : 16;

	if (d->count < d->room)
		return 0;
	if (grow_table(&d->by_number, room) || grow_table(&d->agenda, room) ||
	    grow_table(&d->by_name, room))
		return -ENOMEM;
	d->room = room;
	for (size_t i = 0; i < room; i++)
		d->by_name[i] = NULL;
	for (size_t i = 0; i < d->count; i++)
		link_name(d, d->by_number[i]);
	return 0;
}

int tkw__desk_add_queue(struct tkw__desk *d, const char *name,
			struct tkw_queue **out)
{
	struct tkw__queue_config cfg = { .hooks = d->cfg.hooks,
					 .calendar = d->cfg.calendar,
					 .now_us = d->now_us,
					 .seed = { d->cfg.seed[0],
						   d->cfg.seed[1] } };
	struct tkw_queue *q;
	int err = grow_tables(d);

	if (err)
		return err;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	err = tkw__queue_create(&q->heart, &cfg);
	if (err) {
		free(q);
		return err;
	}
	q->desk = d;
	q->owner = d->cfg.owner;
	q->fd = -1;
	q->at_us = UINT64_MAX;
	memcpy(q->name, name, strlen(name) + 1);
	link_name(d, q);
	d->by_number[d->count++] = q;
	q->number = d->count;
	if (d->last)
		d->last->next = q;
	else
		d->first = q;
	d->last = q;
	*out = q;
	return 0;
}

void tkw__desk_measure(struct tkw__desk *d, struct tkw_queue *q)
{
	uint64_t rows = tkw__queue_count_plans(q->heart);
	uint64_t items, bytes;

	tkw__queue_get_size(q->heart, &items, &bytes);
	rows += items;
	d->live -= q->live;
	q->live = bytes + rows * TKW__DESK_ROW;
	d->live += q->live;
}

static void free_queue(struct tkw_queue *q)
{
	tkw__queue_log_fini(q->heart, &q->log);
	tkw__queue_destroy(q->heart);
	free(q);
}

void tkw__desk_drop_queue(struct tkw__desk *d)
{
	struct tkw_queue *q = d->by_number[--d->count];

	tkw__agenda_set(d, q, UINT64_MAX);
	unlink_name(d, q);
	d->last = d->count ? d->by_number[d->count - 1] : NULL;
	if (d->last)
		d->last->next = NULL;
	else
		d->first = NULL;
	free_queue(q);
}

struct tkw_queue *tkw__desk_queue(struct tkw__desk *d, struct tkw_queue *prev)
{
	return prev ? prev->next : d->first;
}

struct tkw_queue *tkw__desk_find(struct tkw__desk *d, const char *name)
{
	struct tkw_queue *q = d->room ? *bucket_of(d, name) : NULL;

	while (q && strcmp(q->name, name) != 0)
		q = q->namesake;
	return q;
}

struct tkw_queue *tkw__desk_changed(struct tkw__desk *d)
{
	struct tkw_queue *q = d->to_tell;

	if (q) {
		d->to_tell = q->next_to_tell;
		q->tell = false;
	}
	return q;
}

/* --- life ----------------------------------------------------------------- */

static void *heart_alloc(size_t bytes, void *ctx)
{
	(void)ctx;
	return malloc(bytes);
}

static void heart_free(void *mem, size_t bytes, void *ctx)
{
	(void)bytes;
	(void)ctx;
	free(mem);
}

static void set_defaults(struct tkw__desk_config *c)
{
	if (!c->hooks.alloc)
		c->hooks = (struct tkw__queue_hooks){ heart_alloc, heart_free,
						      NULL };
	if (!c->max_rows)
		c->max_rows = 4096;
	if (!c->max_bytes)
		c->max_bytes = 1 << 20;
	if (!c->slack_bytes)
		c->slack_bytes = 4 << 20;
	if (!c->snapshot_items)
		c->snapshot_items = 256;
}

static int make_wheel(struct tkw__desk *d)
{
	struct tkw_wheel_config cfg = { .size = sizeof(cfg),
					.now_tick = d->mono_us / 1000 };
	size_t bytes;
	int err = tkw_wheel_bytes(&cfg, &bytes);

	if (err)
		return err;
	d->wheel_mem = malloc(bytes);
	if (!d->wheel_mem)
		return -ENOMEM;
	return tkw_wheel_init(&d->wheel, d->wheel_mem, bytes, &cfg);
}

int tkw__desk_create(struct tkw__desk **out, const struct tkw__desk_config *cfg)
{
	struct tkw__desk *d = calloc(1, sizeof(*d));
	int err = -ENOMEM;

	if (!d)
		return -ENOMEM;
	d->cfg = *cfg;
	set_defaults(&d->cfg);
	d->store = cfg->store;
	d->now_us = tkw__desk_clamp(cfg->now_us);
	d->mono_us = cfg->mono_us;
	d->reserve_gone = cfg->reserve.gone;
	if (d->reserve_gone)
		d->facts.error = -ENOSPC;
	d->taken = malloc(TKW__QUEUE_MAX_TAKE * sizeof(*d->taken));
	if (d->taken)
		err = make_wheel(d);
	if (!err)
		err = tkw__desk_replay(d);
	if (err) {
		tkw__desk_destroy(d);
		return err;
	}
	d->store->sound = true;
	*out = d;
	return 0;
}

void tkw__desk_destroy(struct tkw__desk *d)
{
	if (!d)
		return;
	while (d->count > 0)
		tkw__desk_drop_queue(d);
	/* No entry is unlinked: in a forked child the takes that waited are
	 * gone with their threads. */
	free(d->wheel_mem);
	free(d->taken);
	free(d->row);
	free(d->by_number);
	free(d->agenda);
	free(d->by_name);
	free(d);
}

void tkw__desk_submit(struct tkw__desk *d, struct tkw__request *r)
{
	r->state = TKW__REQUEST_WAITS;
	r->result = 0;
	r->refused = 0;
	r->was_parked = false;
	tkw__requests_push(&d->todo, r);
}

struct tkw__request *tkw__desk_first(struct tkw__desk *d)
{
	return d->todo.first;
}

void tkw__desk_next(struct tkw__desk *d, struct tkw__desk_next *out)
{
	struct tkw_queue *q = tkw__agenda_first(d);
	uint64_t tick = tkw_wheel_next_tick(d->wheel);

	out->now_us = q ? q->at_us : UINT64_MAX;
	out->mono_us = tick == TKW_TICK_NEVER ? UINT64_MAX : tick * 1000;
	if (tkw__desk_is_held(d) && !d->broken &&
	    d->held_until_us < out->mono_us)
		out->mono_us = d->held_until_us;
}

/* --- checks --------------------------------------------------------------- */

void tkw__desk_get_facts(const struct tkw__desk *d, struct tkw__desk_facts *out)
{
	*out = d->facts;
	out->why = d->store->why;
}

const char *tkw__desk_check(struct tkw__desk *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const char *broken = tkw__queue_check(d->by_number[i]->heart);

		if (broken)
			return broken;
	}
	return NULL;
}

uint64_t tkw__desk_digest(struct tkw__desk *d)
{
	uint64_t sum = d->count;

	for (size_t i = 0; i < d->count; i++)
		sum = sum * UINT64_C(0x9e3779b97f4a7c15) +
		      tkw__queue_digest(d->by_number[i]->heart);
	return sum;
}
