/* SPDX-License-Identifier: MIT */
/* visit.c - one command at one queue. */
#include "redis/visit.h"

#include <errno.h>

#include "redis/waiters.h"

enum {
	/* How many steps a command may use to record what time has brought. */
	SETTLE_STEPS = 4096,
	/* The log keeps its memory, unless it has become larger than this. */
	LOG_KEEP = 1 << 20
};

/* The records of the present command. */
static struct tkw__queue_log the_log;

static bool refuse(struct tkw__visit *v, const char *text)
{
	tkw__rm.CloseKey(v->key);
	tkw__rm.ReplyWithError(v->ctx, text);
	return false;
}

static bool create(struct tkw__visit *v)
{
	v->queue = tkw__redis_queue_create();
	v->is_new = true;
	return v->queue || refuse(v, "OOM there is no memory for a queue");
}

/* Opens a key. Returns false if it has another type. */
static bool open_key(struct tkw__visit *v, struct rm_ctx *ctx,
		     struct rm_string *name, int mode)
{
	*v = (struct tkw__visit){ .ctx = ctx,
				  .name = name,
				  .call = { .now_us = tkw__redis_now_us(),
					    .log = &the_log } };
	tkw__queue_log_clear(&the_log);
	v->key = tkw__rm.OpenKey(ctx, name, mode);
	if (!v->key || tkw__rm.KeyType(v->key) == RM_KEY_EMPTY)
		return true;
	if (tkw__rm.ModuleTypeGetType(v->key) != tkw__redis_type)
		return false;
	v->queue = tkw__rm.ModuleTypeGetValue(v->key);
	return true;
}

/* A replica may write what comes from its master or from its own file. */
static bool may_write(struct rm_ctx *ctx)
{
	return tkw__redis_is_master(ctx) || (tkw__rm.GetContextFlags(ctx) &
					     (RM_FROM_MASTER | RM_IS_LOADING));
}

bool tkw__visit_open(struct tkw__visit *v, struct rm_ctx *ctx,
		     struct rm_string *name, enum tkw__visit_mode mode)
{
	if (mode != TKW__VISIT_READ && !may_write(ctx)) {
		tkw__rm.ReplyWithError(
			ctx, "READONLY only the master of a queue changes it");
		return false;
	}
	if (!open_key(v, ctx, name,
		      mode == TKW__VISIT_READ ? RM_READ : RM_READ | RM_WRITE))
		return refuse(v, "WRONGTYPE Operation against a key holding "
				 "the wrong kind of value");
	return v->queue || mode != TKW__VISIT_CREATE || create(v);
}

bool tkw__visit_find(struct tkw__visit *v, struct rm_ctx *ctx,
		     struct rm_string *name)
{
	if (open_key(v, ctx, name, RM_READ | RM_WRITE) && v->queue)
		return true;
	tkw__rm.CloseKey(v->key);
	return false;
}

void tkw__visit_settle(struct tkw__visit *v)
{
	enum tkw__queue_role role = tkw__redis_is_master(v->ctx)
					    ? TKW__QUEUE_MASTER
					    : TKW__QUEUE_REPLICA;

	if (v->queue)
		(void)tkw__queue_advance(v->queue, &v->call, SETTLE_STEPS,
					 role);
}

void tkw__visit_keep(struct tkw__visit *v)
{
	if (v->is_new)
		tkw__rm.ModuleTypeSetValue(v->key, tkw__redis_type, v->queue);
	tkw__queue_commit(v->queue);
	tkw__rm.SignalModifiedKey(v->ctx, v->name);
	tkw__rm.CloseKey(v->key);
}

void tkw__visit_undo(struct tkw__visit *v)
{
	if (v->is_new) {
		tkw__queue_destroy(v->queue);
		v->queue = NULL;
	} else if (v->queue) {
		tkw__queue_undo(v->queue);
	}
	tkw__rm.CloseKey(v->key);
}

/* Each change sends this word, so it is made once. */
static struct rm_string *records_word(void)
{
	static struct rm_string *word;

	if (!word)
		word = tkw__rm.CreateString(NULL, "RECORDS", 7);
	return word;
}

/* A queue comes into being with its first record, here and in each copy. */
void tkw__visit_commit(struct tkw__visit *v)
{
	size_t len = the_log.len;

	if (len > 0 &&
	    tkw__rm.Replicate(v->ctx, "TKW.APPLY", "ssb", v->name,
			      records_word(), the_log.bytes, len) != RM_OK)
		tkw__rm.Log(v->ctx, "warning",
			    "a change of a queue is not replicated");
	if (v->queue && the_log.room > LOG_KEEP)
		tkw__queue_log_fini(v->queue, &the_log);
	if (len > 0)
		tkw__visit_keep(v);
	else
		tkw__visit_undo(v);
}

void tkw__visit_close(struct tkw__visit *v)
{
	tkw__visit_commit(v);
	if (v->queue)
		tkw__waiters_look(v);
}

const char *tkw__visit_error(int err)
{
	switch (err) {
	case -EEXIST:
		return "TKWEXISTS an item of the queue has this key";
	case -EBUSY:
		return "TKWTAKEN the item with this key is taken";
	case -EAGAIN:
		return "TKWFULL the queue has as many items, bytes or plans as "
		       "its limits allow";
	case -ENOENT:
		return "TKWPLAN the plan has no time after now";
	case -EMSGSIZE:
		return "TKWFULL the payload is larger than the limit of the "
		       "queue";
	case -ENOMEM:
		return "OOM there is no memory for this command";
	case -EOVERFLOW:
		return "ERR the queue has no number left for an id or a token";
	default:
		return "ERR an argument is not valid";
	}
}

int tkw__visit_fail(struct tkw__visit *v, int err)
{
	tkw__visit_close(v);
	return tkw__rm.ReplyWithError(v->ctx, tkw__visit_error(err));
}
