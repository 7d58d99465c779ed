/* SPDX-License-Identifier: MIT */
/* queue_client_plans.c - the calls about plans, through the socket. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queue_client.h"

int queue_client_plan(struct queue_way *w,
		      const struct tkw_queue_plan_spec *plan, int64_t *next_ms)
{
	struct tkw__wire_in in;
	int64_t next, r;

	tkw__wire_put_plan(queue_client_ask(w, TKW__WIRE_PLAN), plan);
	r = queue_client_exchange(w, &in);
	if (r < 0)
		return (int)r;
	next = tkw__wire_get_i64(&in);
	if (!tkw__wire_is_done(&in))
		return -EPROTO;
	*next_ms = next;
	return 0;
}

static int change(struct queue_way *w, enum tkw__wire_call call,
		  const char *name)
{
	tkw__wire_put_words(queue_client_ask(w, call), name);
	return (int)queue_client_exchange_result(w);
}

int queue_client_unplan(struct queue_way *w, const char *name)
{
	return change(w, TKW__WIRE_UNPLAN, name);
}

int queue_client_pause_plan(struct queue_way *w, const char *name)
{
	return change(w, TKW__WIRE_PAUSE_PLAN, name);
}

int queue_client_resume_plan(struct queue_way *w, const char *name)
{
	return change(w, TKW__WIRE_RESUME_PLAN, name);
}

/* --- plans that are given ------------------------------------------------- */

static void free_plans(struct tkw_queue_plans *list)
{
	free(list);
}

/* Returns how many bytes the texts of the plans have, with a 0 after each. */
static size_t count_bytes(struct tkw__wire_in in, size_t count)
{
	struct tkw_queue_plan_facts f;
	struct tkw__wire_words len;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		tkw__wire_get_facts(&in, &f, &len);
		bytes += len.name + len.text + len.zone + f.plan.payload_len;
		bytes += 4;
	}
	return bytes;
}

static void keep_plan(struct tkw__wire_in *in, struct tkw_queue_plan_facts *f,
		      char **room)
{
	struct tkw_queue_plan_spec *p = &f->plan;
	struct tkw__wire_words len;

	tkw__wire_get_facts(in, f, &len);
	p->name = queue_client_keep_text(room, p->name, len.name);
	p->text = queue_client_keep_text(room, p->text, len.text);
	p->zone = queue_client_keep_text(room, p->zone, len.zone);
	p->payload = queue_client_keep_text(room, p->payload, p->payload_len);
}

/* Copies the plans out of the answer, into one piece of memory. */
static int64_t keep_plans(struct tkw__wire_in *in, int64_t count,
			  struct queue_plans *out)
{
	struct tkw_queue_plan_facts *f;
	struct tkw_queue_plans *list;
	size_t n = (size_t)count;
	char *room;

	out->list = NULL;
	out->free = free_plans;
	if (n > in->left)
		return -EPROTO;
	if (n == 0)
		return tkw__wire_is_done(in) ? 0 : -EPROTO;
	list = malloc(sizeof(*list) + n * sizeof(*f) + count_bytes(*in, n));
	if (!list)
		return -ENOMEM;
	f = (struct tkw_queue_plan_facts *)(list + 1);
	*list = (struct tkw_queue_plans){ n, f };
	room = (char *)(f + n);
	for (size_t i = 0; i < n; i++)
		keep_plan(in, &f[i], &room);
	if (!tkw__wire_is_done(in)) {
		free(list);
		return -EPROTO;
	}
	out->list = list;
	return count;
}

int queue_client_get_plan(struct queue_way *w, const char *name,
			  struct queue_plans *out)
{
	struct tkw__wire_in in;
	int64_t r;

	tkw__wire_put_words(queue_client_ask(w, TKW__WIRE_GET_PLAN), name);
	r = queue_client_exchange(w, &in);
	if (r >= 0)
		r = keep_plans(&in, 1, out);
	return r > 0 ? 0 : (int)r;
}

int queue_client_list_plans(struct queue_way *w, const char *after,
			    uint32_t max, struct queue_plans *out)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_LIST_PLANS);
	struct tkw__wire_in in;
	int64_t r;

	tkw__wire_put_u32(o, max);
	tkw__wire_put_words(o, after);
	r = queue_client_exchange(w, &in);
	return (int)(r < 0 ? r : keep_plans(&in, r, out));
}
