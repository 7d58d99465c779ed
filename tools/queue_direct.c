/* SPDX-License-Identifier: MIT */
/* queue_direct.c - the way to a queue through its file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "queue_way.h"

struct queue_way {
	struct tkw_queues *file;
	struct tkw_queue *queue;
	struct tkw_take how; /* of take_begin() */
};

static struct tkw_queue *find(struct tkw_queues *file, const char *name)
{
	struct tkw_queue *q = tkw_queues_next(file, NULL);

	while (q && strcmp(tkw_queue_name(q), name) != 0)
		q = tkw_queues_next(file, q);
	return q;
}

static int choose(struct queue_way *w, const char *queue)
{
	w->queue = find(w->file, queue);
	return w->queue ? 0 : -ENOENT;
}

static void close_way(struct queue_way *w)
{
	(void)tkw_queues_close(w->file);
	free(w);
}

static int open_queue(struct queue_way *w, const struct queue_place *place)
{
	if (!place->queue)
		return 0;
	if (place->make)
		return tkw_queue_open(&w->queue, w->file, place->queue);
	return choose(w, place->queue);
}

/* Says who has the file open. */
static void name_owner(int64_t pid, char *why)
{
	if (pid)
		(void)snprintf(why, QUEUE_WHY, "process %" PRId64, pid);
	else
		(void)snprintf(why, QUEUE_WHY, "another process");
}

static int open_way(struct queue_way **out, const struct queue_place *place,
		    char *why)
{
	int64_t owner = 0;
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .error = why,
					 .error_size = QUEUE_WHY,
					 .owner_pid = &owner };
	struct queue_way *w;
	struct stat st;
	int r;

	/* The library would make a file. */
	if (!place->make && stat(place->file, &st))
		return -errno;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	r = tkw_queues_open(&w->file, place->file, &cfg);
	if (r) {
		if (r == -EBUSY)
			name_owner(owner, why);
		free(w);
		return r;
	}
	r = open_queue(w, place);
	if (r) {
		if (r == -ENOENT)
			(void)snprintf(why, QUEUE_WHY, "no queue '%s'",
				       place->queue);
		close_way(w);
		return r;
	}
	*out = w;
	return 0;
}

static int next(struct queue_way *w, char name[TKW_QUEUE_MAX_NAME + 1])
{
	struct tkw_queue *q = NULL;

	if (*name) {
		q = find(w->file, name);
		if (!q)
			return -ENOENT;
	}
	q = tkw_queues_next(w->file, q);
	if (!q)
		return 0;
	(void)snprintf(name, TKW_QUEUE_MAX_NAME + 1, "%s", tkw_queue_name(q));
	return 1;
}

static void give(struct queue_items *out, struct tkw_items *list)
{
	out->list = list;
	out->free = tkw_items_free;
}

static int put(struct queue_way *w, const struct tkw_put *puts, size_t count,
	       struct tkw_item_id *ids)
{
	return tkw_queue_put(w->queue, puts, count, ids);
}

static int take(struct queue_way *w, const struct tkw_take *how,
		struct queue_items *out)
{
	struct tkw_items *list = NULL;
	int r = tkw_queue_take(w->queue, how, &list);

	if (r >= 0)
		give(out, list);
	return r;
}

static int ack(struct queue_way *w, const struct tkw_claim *claims,
	       size_t count, int *done)
{
	return tkw_queue_ack(w->queue, claims, count, done);
}

static int nack(struct queue_way *w, const struct tkw_claim *claims,
		size_t count, const struct tkw_nack *how, int *done)
{
	return tkw_queue_nack(w->queue, claims, count, how, done);
}

static int extend(struct queue_way *w, const struct tkw_claim *claims,
		  size_t count, int64_t lease_ms, int *done)
{
	return tkw_queue_extend(w->queue, claims, count, lease_ms, done);
}

static int cancel(struct queue_way *w, const struct tkw_item_name *names,
		  size_t count, int *done)
{
	return tkw_queue_cancel(w->queue, names, count, done);
}

static int reschedule(struct queue_way *w, const struct tkw_item_name *name,
		      int64_t delay_ms, int64_t due_ms)
{
	return tkw_queue_reschedule(w->queue, name, delay_ms, due_ms);
}

static int get(struct queue_way *w, const struct tkw_item_name *name,
	       struct queue_items *out)
{
	struct tkw_items *list = NULL;
	int r = tkw_queue_get(w->queue, name, &list);

	if (r >= 0)
		give(out, list);
	return r;
}

static int list_piece(struct queue_way *w, struct queue_piece *piece,
		      struct queue_items *out)
{
	struct tkw_items *list = NULL;
	int r = tkw_queue_list(w->queue, piece->state, piece->max,
			       &piece->cursor, &list);

	if (r >= 0)
		give(out, list);
	return r;
}

static int revive(struct queue_way *w, const struct tkw_item_id *ids,
		  size_t count, int *done)
{
	return tkw_queue_revive(w->queue, ids, count, done);
}

static int purge(struct queue_way *w, const struct tkw_item_id *ids,
		 size_t count, int *done)
{
	return tkw_queue_purge(w->queue, ids, count, done);
}

static int64_t revive_all(struct queue_way *w)
{
	return tkw_queue_revive_all(w->queue);
}

static int64_t purge_all(struct queue_way *w)
{
	return tkw_queue_purge_all(w->queue);
}

static int pause_queue(struct queue_way *w)
{
	return tkw_queue_pause(w->queue);
}

static int resume(struct queue_way *w)
{
	return tkw_queue_resume(w->queue);
}

static int limit(struct queue_way *w, const struct tkw_queue_limits *limits)
{
	return tkw_queue_limit(w->queue, limits);
}

static int get_stats(struct queue_way *w, struct tkw_queue_stats *out)
{
	return tkw_queue_get_stats(w->queue, out);
}

/* --- plans --------------------------------------------------------------- */

static int plan(struct queue_way *w, const struct tkw_queue_plan_spec *p,
		int64_t *next_ms)
{
	return tkw_queue_plan(w->queue, p, next_ms, NULL);
}

static int unplan(struct queue_way *w, const char *name)
{
	return tkw_queue_unplan(w->queue, name);
}

static int pause_plan(struct queue_way *w, const char *name)
{
	return tkw_queue_pause_plan(w->queue, name);
}

static int resume_plan(struct queue_way *w, const char *name)
{
	return tkw_queue_resume_plan(w->queue, name);
}

static int get_plan(struct queue_way *w, const char *name,
		    struct queue_plans *out)
{
	out->free = tkw_queue_plans_free;
	return tkw_queue_get_plan(w->queue, name, &out->list);
}

static int list_plans(struct queue_way *w, const char *after, uint32_t max,
		      struct queue_plans *out)
{
	out->free = tkw_queue_plans_free;
	return tkw_queue_list_plans(w->queue, after, max, &out->list);
}

/* --- a take that waits --------------------------------------------------- */

static int take_begin(struct queue_way *w, const struct tkw_take *how)
{
	w->how = *how;
	w->how.wait_ms = 0;
	return tkw_queue_fd(w->queue);
}

static int take_end(struct queue_way *w, struct queue_items *out)
{
	int r = take(w, &w->how, out);

	return r == 0 ? -EAGAIN : r;
}

static int take_cancel(struct queue_way *w, struct queue_items *out)
{
	(void)w;
	out->list = NULL;
	return 0;
}

const struct queue_ops queue_direct = {
	.open = open_way,
	.close = close_way,
	.choose = choose,
	.next = next,
	.put = put,
	.take = take,
	.ack = ack,
	.nack = nack,
	.extend = extend,
	.cancel = cancel,
	.reschedule = reschedule,
	.get = get,
	.list = list_piece,
	.revive = revive,
	.purge = purge,
	.revive_all = revive_all,
	.purge_all = purge_all,
	.pause = pause_queue,
	.resume = resume,
	.limit = limit,
	.get_stats = get_stats,
	.plan = plan,
	.unplan = unplan,
	.pause_plan = pause_plan,
	.resume_plan = resume_plan,
	.get_plan = get_plan,
	.list_plans = list_plans,
	.take_begin = take_begin,
	.take_end = take_end,
	.take_cancel = take_cancel,
};
