/* SPDX-License-Identifier: MIT */
/* queue_commands.c - the commands of `tkw queue` that are one call or a few. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue_tool.h"
#include "tool.h"

/* --- put ----------------------------------------------------------------- */

static void fill_put(const struct queue_options *o, const struct queue_bytes *b,
		     struct tkw_put *p)
{
	p->payload = b->bytes;
	p->payload_len = b->len;
	p->delay_ms = o->delay_ms;
	p->due_ms = o->at_ms;
	p->key = o->key;
	p->key_len = o->key ? strlen(o->key) : 0;
	p->held = o->held;
	p->max_attempts = (uint32_t)o->attempts;
	p->backoff_ms = (uint32_t)o->backoff_ms;
	p->max_backoff_ms = (uint32_t)o->max_backoff_ms;
}

static int put_all(struct queue_session *s, const struct queue_options *o,
		   const struct tkw_put *puts, struct tkw_item_id *ids)
{
	int r;

	QUEUE_CALL(r, s, s->ops->put(s->way, puts, o->word_count, ids));
	if (r == -EBUSY) {
		tool_complain("put: the item with this key is taken");
		return TOOL_EXIT_FAILURE;
	}
	if (r < 0)
		return queue_session_fail(s, "put", r);
	for (size_t i = 0; i < o->word_count; i++)
		(void)printf(o->json ? "{\"id\":%" PRIu64 "}\n"
				     : "%" PRIu64 "\n",
			     ids[i].bits);
	return TOOL_EXIT_OK;
}

int queue_put(struct queue_session *s, const struct queue_options *o,
	      struct queue_words *w)
{
	struct tkw_put *puts = calloc(o->word_count, sizeof(*puts));
	struct tkw_item_id *ids = calloc(o->word_count, sizeof(*ids));
	int status;

	if (puts && ids) {
		for (size_t i = 0; i < o->word_count; i++)
			fill_put(o, &w->payloads[i], &puts[i]);
		status = put_all(s, o, puts, ids);
	} else {
		status = queue_session_fail(s, "put", -ENOMEM);
	}
	free(puts);
	free(ids);
	return status;
}

/* --- take ---------------------------------------------------------------- */

static void print_taken(const struct queue_options *o,
			const struct tkw_items *list)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (o->json)
			queue_print_json_item(&list->item[i]);
		else
			queue_print_taken(&list->item[i]);
	}
}

/* Returns how many items a call may take, of those that are wanted. */
static uint32_t clip(uint64_t wanted)
{
	return wanted < TKW_QUEUE_MAX_TAKE ? (uint32_t)wanted
					   : TKW_QUEUE_MAX_TAKE;
}

/* Takes what is there now, in as many calls as are needed. */
static int64_t take_now(struct queue_session *s, const struct queue_options *o,
			uint64_t max)
{
	struct tkw_take how = { .lease_ms = o->lease_ms };
	struct queue_items items = { NULL, NULL };
	uint64_t taken = 0;
	int r = 1;

	while (taken < max && r > 0) {
		how.max_items = clip(max - taken);
		QUEUE_CALL(r, s, s->ops->take(s->way, &how, &items));
		if (r <= 0)
			break;
		print_taken(o, items.list);
		queue_items_free(&items);
		taken += (uint64_t)r;
	}
	/* Items that were taken and printed count more than an error. */
	return r < 0 && taken == 0 ? r : (int64_t)taken;
}

/*
 * Waits for items and takes them.
 *
 * Returns how many were taken, 0 if the time is over, -EINTR if a signal has
 * come, or an error.
 */
static int take_later(struct queue_session *s, const struct queue_options *o,
		      struct queue_items *items)
{
	struct tkw_take how = { .max_items = clip(o->count),
				.lease_ms = o->lease_ms };
	int64_t until_ms = o->wait_ms == INT64_MAX
				   ? INT64_MAX
				   : queue_steady_ms() + o->wait_ms;
	int fd, r;

begin:
	QUEUE_CALL(fd, s, s->ops->take_begin(s->way, &how));
	if (fd < 0)
		return fd;
	for (;;) {
		int64_t left = until_ms == INT64_MAX
				       ? -1
				       : until_ms - queue_steady_ms();

		/* -1 would mean without a limit. */
		if (until_ms != INT64_MAX && left < 0)
			left = 0;
		r = tool_signals_wait(fd, left);
		if (r < 0 || (r == 0 && queue_steady_ms() >= until_ms))
			break;
		if (r == 0)
			continue;
		r = s->ops->take_end(s->way, items);
		if (queue_session_again(s, r))
			goto begin;
		if (r != -EAGAIN)
			return r;
	}
	/* What came in the last moment is taken: nobody else has it. */
	fd = s->ops->take_cancel(s->way, items);
	return fd > 0 ? fd : r;
}

static int wait_and_take(struct queue_session *s, const struct queue_options *o)
{
	struct queue_items items = { NULL, NULL };
	int r = take_later(s, o, &items);

	if (r < 0)
		return queue_session_fail(s, "take", r);
	print_taken(o, items.list);
	queue_items_free(&items);
	return r ? TOOL_EXIT_OK : QUEUE_EXIT_NOTHING;
}

int queue_take(struct queue_session *s, const struct queue_options *o,
	       struct queue_words *w)
{
	int64_t r = take_now(s, o, o->count);

	(void)w;
	if (r < 0)
		return queue_session_fail(s, "take", r);
	if (r > 0)
		return TOOL_EXIT_OK;
	return o->wait_ms ? wait_and_take(s, o) : QUEUE_EXIT_NOTHING;
}

/* --- calls with an answer for each word ---------------------------------- */

/* What the answers of a call mean. */
struct meaning {
	const char *done; /* the name in JSON */
	const char *no;   /* 0 or -ENOENT */
	const char *busy; /* -EBUSY */
};

static const char *find_fault(const struct meaning *m, int done)
{
	if (done == 1)
		return NULL;
	return done == -EBUSY ? m->busy : m->no;
}

static void print_json_answer(const struct meaning *m, const char *word,
			      int done)
{
	const char *fault = find_fault(m, done);

	(void)putchar('{');
	queue_print_json_bytes("item", word, strlen(word));
	(void)printf(",\"%s\":%s", m->done, fault ? "false" : "true");
	if (fault)
		(void)printf(",\"why\":\"%s\"", fault);
	(void)fputs("}\n", stdout);
}

/* Prints the answers. Returns the exit status: a failure if one is not 1. */
static int print_answers(const struct queue_options *o, const int *done,
			 const struct meaning *m)
{
	size_t count = o->word_count ? o->word_count : 1;
	int status = TOOL_EXIT_OK;

	for (size_t i = 0; i < count; i++) {
		const char *word = o->word_count ? o->words[i] : o->key;

		if (o->json)
			print_json_answer(m, word, done[i]);
		if (done[i] == 1)
			continue;
		status = TOOL_EXIT_FAILURE;
		tool_complain("'%.60s': %s", word, find_fault(m, done[i]));
	}
	return status;
}

static const char stale[] = "the claim is stale";
static const char no_item[] = "no such item";
static const char not_dead[] = "no such dead item";
static const char is_taken[] = "the item is taken";
static const char is_dead[] = "the item is dead";

int queue_ack(struct queue_session *s, const struct queue_options *o,
	      struct queue_words *w)
{
	int r;

	QUEUE_CALL(r, s,
		   s->ops->ack(s->way, w->claims, o->word_count, w->done));
	if (r < 0)
		return queue_session_fail(s, "ack", r);
	return print_answers(o, w->done,
			     &(struct meaning){ "acked", stale, stale });
}

int queue_nack(struct queue_session *s, const struct queue_options *o,
	       struct queue_words *w)
{
	struct tkw_nack how = { .has_delay = o->has_delay,
				.delay_ms = o->delay_ms,
				.reason = o->reason };
	int r;

	QUEUE_CALL(
		r, s,
		s->ops->nack(s->way, w->claims, o->word_count, &how, w->done));
	if (r < 0)
		return queue_session_fail(s, "nack", r);
	return print_answers(o, w->done,
			     &(struct meaning){ "nacked", stale, stale });
}

int queue_extend(struct queue_session *s, const struct queue_options *o,
		 struct queue_words *w)
{
	int r;

	QUEUE_CALL(r, s,
		   s->ops->extend(s->way, w->claims, o->word_count, o->lease_ms,
				  w->done));
	if (r < 0)
		return queue_session_fail(s, "extend", r);
	return print_answers(o, w->done,
			     &(struct meaning){ "extended", stale, stale });
}

int queue_cancel(struct queue_session *s, const struct queue_options *o,
		 struct queue_words *w)
{
	int r;

	QUEUE_CALL(r, s,
		   s->ops->cancel(s->way, w->names, o->key ? 1 : o->word_count,
				  w->done));
	if (r < 0)
		return queue_session_fail(s, "cancel", r);
	return print_answers(
		o, w->done,
		&(struct meaning){ "cancelled", no_item, is_taken });
}

/* Says why an item cannot be rescheduled: it is dead, or not there. */
static const char *find_reason(struct queue_session *s,
			       const struct tkw_item_name *name)
{
	struct queue_items items = { NULL, NULL };
	const char *reason = no_item;
	int r;

	QUEUE_CALL(r, s, s->ops->get(s->way, name, &items));
	if (r >= 0 && items.list->item[0].state == TKW_ITEM_DEAD)
		reason = is_dead;
	queue_items_free(&items);
	return reason;
}

int queue_reschedule(struct queue_session *s, const struct queue_options *o,
		     struct queue_words *w)
{
	struct meaning m = { "rescheduled", no_item, is_taken };
	int r;

	QUEUE_CALL(r, s,
		   s->ops->reschedule(s->way, &w->names[0], o->delay_ms,
				      o->at_ms));
	if (r < 0 && r != -ENOENT && r != -EBUSY)
		return queue_session_fail(s, "reschedule", r);
	if (r == -ENOENT)
		m.no = find_reason(s, &w->names[0]);
	w->done[0] = r ? r : 1;
	return print_answers(o, w->done, &m);
}

/* Prints how many dead items were revived or purged by --all. */
static int print_count(const struct queue_options *o, const char *name,
		       int64_t count)
{
	(void)printf(o->json ? "{\"%s\":%" PRId64 "}\n" : "%s %" PRId64 "\n",
		     name, count);
	return TOOL_EXIT_OK;
}

int queue_revive(struct queue_session *s, const struct queue_options *o,
		 struct queue_words *w)
{
	int64_t r;

	if (o->all)
		QUEUE_CALL(r, s, s->ops->revive_all(s->way));
	else
		QUEUE_CALL(
			r, s,
			s->ops->revive(s->way, w->ids, o->word_count, w->done));
	if (r < 0)
		return queue_session_fail(s, "revive", r);
	if (o->all)
		return print_count(o, "revived", r);
	return print_answers(
		o, w->done, &(struct meaning){ "revived", not_dead, not_dead });
}

int queue_purge(struct queue_session *s, const struct queue_options *o,
		struct queue_words *w)
{
	int64_t r;

	if (o->all)
		QUEUE_CALL(r, s, s->ops->purge_all(s->way));
	else
		QUEUE_CALL(
			r, s,
			s->ops->purge(s->way, w->ids, o->word_count, w->done));
	if (r < 0)
		return queue_session_fail(s, "purge", r);
	if (o->all)
		return print_count(o, "purged", r);
	return print_answers(o, w->done,
			     &(struct meaning){ "purged", not_dead, not_dead });
}

/* --- looking ------------------------------------------------------------- */

int queue_get(struct queue_session *s, const struct queue_options *o,
	      struct queue_words *w)
{
	struct queue_items items = { NULL, NULL };
	const struct tkw_item *item;
	int r;

	QUEUE_CALL(r, s, s->ops->get(s->way, &w->names[0], &items));
	if (r == -ENOENT) {
		tool_complain("'%.60s': %s", o->key ? o->key : o->words[0],
			      no_item);
		return TOOL_EXIT_FAILURE;
	}
	if (r < 0)
		return queue_session_fail(s, "get", r);
	item = &items.list->item[0];
	if (o->raw)
		(void)fwrite(item->payload, 1, item->payload_len, stdout);
	else if (o->json)
		queue_print_json_item(item);
	else
		queue_print_item(item);
	queue_items_free(&items);
	return TOOL_EXIT_OK;
}

int queue_list(struct queue_session *s, const struct queue_options *o,
	       struct queue_words *w)
{
	struct queue_piece piece = { .state = o->state, .max = 256 };
	uint64_t left = o->count ? o->count : UINT64_MAX;
	int r;

	(void)w;
	do {
		struct queue_items items = { NULL, NULL };

		QUEUE_CALL(r, s, s->ops->list(s->way, &piece, &items));
		if (r < 0)
			return queue_session_fail(s, "list", r);
		for (int i = 0; i < r && left > 0; i++, left--) {
			if (o->json)
				queue_print_json_item(&items.list->item[i]);
			else
				queue_print_listed(&items.list->item[i]);
		}
		queue_items_free(&items);
	} while (piece.cursor && left > 0 && !tool_flush());
	return TOOL_EXIT_OK;
}

static int print_stats(struct queue_session *s, const struct queue_options *o,
		       const char *queue)
{
	struct tkw_queue_stats st;
	int r;

	QUEUE_CALL(r, s, s->ops->get_stats(s->way, &st));
	if (r < 0)
		return queue_session_fail(s, "stats", r);
	if (o->json)
		queue_print_json_stats(queue, &st);
	else
		queue_print_stats(queue, &st);
	return TOOL_EXIT_OK;
}

int queue_stats(struct queue_session *s, const struct queue_options *o,
		struct queue_words *w)
{
	char name[TKW_QUEUE_MAX_NAME + 1] = "";
	int r, status = TOOL_EXIT_OK;

	(void)w;
	if (!o->all)
		return print_stats(s, o, o->queue);
	while (status == TOOL_EXIT_OK) {
		bool first = !*name;

		QUEUE_CALL(r, s, s->ops->next(s->way, name));
		if (r == 0)
			break;
		if (r > 0)
			r = queue_session_choose(s, name);
		if (r < 0)
			return queue_session_fail(s, "stats", r);
		if (!first && !o->json)
			(void)putchar('\n');
		status = print_stats(s, o, name);
	}
	return status;
}

/* --- the queue ----------------------------------------------------------- */

static int print_paused(const struct queue_options *o, bool paused)
{
	if (!o->json)
		return TOOL_EXIT_OK;
	(void)fputs("{\"queue\":", stdout);
	queue_print_json_text(o->queue, strlen(o->queue));
	(void)printf(",\"paused\":%s}\n", paused ? "true" : "false");
	return TOOL_EXIT_OK;
}

int queue_pause(struct queue_session *s, const struct queue_options *o,
		struct queue_words *w)
{
	int r;

	(void)w;
	QUEUE_CALL(r, s, s->ops->pause(s->way));
	return r < 0 ? queue_session_fail(s, "pause", r)
		     : print_paused(o, true);
}

int queue_resume(struct queue_session *s, const struct queue_options *o,
		 struct queue_words *w)
{
	int r;

	(void)w;
	QUEUE_CALL(r, s, s->ops->resume(s->way));
	return r < 0 ? queue_session_fail(s, "resume", r)
		     : print_paused(o, false);
}

int queue_limit(struct queue_session *s, const struct queue_options *o,
		struct queue_words *w)
{
	struct tkw_queue_stats st;
	struct tkw_queue_limits *to = &st.limits;
	int r;

	(void)w;
	/* The limits that are not named stay. */
	QUEUE_CALL(r, s, s->ops->get_stats(s->way, &st));
	if (r < 0)
		return queue_session_fail(s, "limit", r);
	if (o->max_items != UINT64_MAX)
		to->max_items = o->max_items;
	if (o->max_bytes != UINT64_MAX)
		to->max_bytes = o->max_bytes;
	if (o->max_payload != UINT64_MAX)
		to->max_payload_bytes = o->max_payload;
	QUEUE_CALL(r, s, s->ops->limit(s->way, to));
	if (r < 0)
		return queue_session_fail(s, "limit", r);
	if (o->json)
		(void)printf("{\"max_items\":%" PRIu64 ",\"max_bytes\":%" PRIu64
			     ",\"max_payload_bytes\":%" PRIu64 "}\n",
			     to->max_items, to->max_bytes,
			     to->max_payload_bytes);
	return TOOL_EXIT_OK;
}
