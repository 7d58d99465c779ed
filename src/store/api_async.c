/* SPDX-License-Identifier: MIT */
/*
 * api_async.c - the calls of queue.h that do not wait.
 *
 * A call is one piece of memory: the request, copies of all arguments, and room
 * for the answers. When the request has ended, the keeper hands the callback to
 * the executor. If that refuses it or gives it up, the keeper calls it itself.
 * So it is called exactly once.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "store/api.h"
#include "store/keeper.h"

struct async {
	struct tkw__request r;
	struct tkw_queues *f;
	struct tkw_queue *q;
	tkw_queue_end_fn *fn;
	void *ctx;
	/* Room for the answers. */
	struct tkw_item_id *ids;
	int *done;
	max_align_t more[];
};

static struct async *make_call(struct tkw_queue *q, tkw_queue_end_fn *fn,
			       void *ctx, size_t more)
{
	struct async *a = malloc(sizeof(*a) + more);

	if (!a)
		return NULL;
	*a = (struct async){ .f = q->owner, .q = q, .fn = fn, .ctx = ctx };
	a->r.queue = q;
	return a;
}

/* --- the end -------------------------------------------------------------- */

static void fill_end(struct async *a, struct tkw_queue_end *end)
{
	const struct tkw__request *r = &a->r;

	*end = (struct tkw_queue_end){ .result = (int)r->result };
	if (r->kind == TKW__REQUEST_TAKE)
		end->items = r->take.items;
	if (r->result < 0)
		return;
	if (r->kind == TKW__REQUEST_PUT) {
		for (size_t i = 0; i < r->put.count; i++)
			a->ids[i].bits = r->put.ids[i];
		end->ids = a->ids;
	}
	if (r->kind == TKW__REQUEST_ACK) {
		const struct tkw__queue_claims *c = &r->claim.claims;

		for (size_t i = 0; i < c->count; i++)
			a->done[i] = c->answer[i] == TKW__QUEUE_DONE;
		end->done = a->done;
	}
}

static void call_back(struct async *a)
{
	struct tkw__inside in;
	struct tkw_queue_end end;

	fill_end(a, &end);
	tkw__inside_enter(&in, a->f);
	a->fn(a->q, &end, a->ctx);
	tkw__inside_leave(&in);
	free(a);
}

/* On the keeper's thread, which releases the file. */
static void call_back_here(struct tkw__request *r)
{
	call_back(r->ctx);
}

static void run_job(const struct tkw_job *job)
{
	struct async *a = job->ctx;
	struct tkw_queues *f = a->f;

	call_back(a);
	tkw__keeper_release(f);
}

static void abandon_job(const struct tkw_job *job)
{
	struct async *a = job->ctx;

	a->r.done = call_back_here;
	tkw__keeper_call_later(a->f, &a->r);
}

/* On the keeper's thread: the request has ended. */
static void hand_on(struct tkw__request *r)
{
	struct async *a = r->ctx;
	const struct tkw_exec *exec = tkw__keeper_exec(a->f);
	struct tkw_job job = { .run = run_job,
			       .abandon = abandon_job,
			       .ctx = a };
	struct tkw_queues *f = a->f;

	if (!exec) {
		call_back(a);
		return;
	}
	tkw__keeper_hold(f);
	if (exec->submit(&job, exec->ctx) < 0) {
		call_back(a);
		tkw__keeper_release(f);
	}
}

static int submit(struct async *a, enum tkw__request_kind kind)
{
	int err;

	a->r.kind = kind;
	a->r.done = hand_on;
	a->r.ctx = a;
	err = tkw__keeper_submit(a->f, &a->r);
	if (err)
		free(a);
	return err;
}

static int admit(const struct tkw_queue *q, bool has_fn)
{
	return q && has_fn ? tkw__keeper_admit(q->owner) : -EINVAL;
}

/* --- put ------------------------------------------------------------------ */

static unsigned char *copy_text(struct tkw__queue_text *t, unsigned char *at)
{
	if (t->len)
		memcpy(at, t->at, t->len);
	if (t->at)
		t->at = at;
	return at + t->len;
}

/* Reads all puts. Returns how many bytes their texts have. */
static int measure_puts(const struct tkw_put *puts, size_t count, size_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < count; i++) {
		struct tkw__queue_put p;
		size_t more;
		int err = tkw__put_read(&p, &puts[i]);

		if (err)
			return err;
		more = p.payload.len + p.key.len;
		if (*bytes > SIZE_MAX / 2 - more)
			return -ENOMEM;
		*bytes += more;
	}
	return 0;
}

int tkw_queue_put_async(struct tkw_queue *q, const struct tkw_put *puts,
			size_t count, tkw_queue_end_fn *fn, void *ctx)
{
	size_t each = sizeof(struct tkw__queue_put) + sizeof(uint64_t) +
		      sizeof(struct tkw_item_id);
	struct tkw__queue_put *to;
	unsigned char *at;
	struct async *a;
	size_t bytes;
	int err = admit(q, fn != NULL);

	if (err)
		return err;
	if (!puts || count == 0 || count > INT_MAX)
		return -EINVAL;
	err = measure_puts(puts, count, &bytes);
	if (err)
		return err;
	if (count > SIZE_MAX / 4 / each)
		return -ENOMEM;
	a = make_call(q, fn, ctx, count * each + bytes);
	if (!a)
		return -ENOMEM;
	to = (void *)a->more;
	a->r.put.puts = to;
	a->r.put.count = count;
	a->r.put.ids = (void *)(to + count);
	a->ids = (void *)(a->r.put.ids + count);
	at = (void *)(a->ids + count);
	for (size_t i = 0; i < count; i++) {
		tkw__put_read(&to[i], &puts[i]);
		at = copy_text(&to[i].payload, at);
		at = copy_text(&to[i].key, at);
	}
	return submit(a, TKW__REQUEST_PUT);
}

/* --- take and ack --------------------------------------------------------- */

int tkw_queue_take_async(struct tkw_queue *q, const struct tkw_take *how,
			 tkw_queue_end_fn *fn, void *ctx)
{
	struct tkw__request_take take;
	struct async *a;
	int err = admit(q, fn != NULL);

	if (!err)
		err = tkw__take_read(&take, how);
	if (err)
		return err;
	a = make_call(q, fn, ctx, 0);
	if (!a)
		return -ENOMEM;
	a->r.take = take;
	return submit(a, TKW__REQUEST_TAKE);
}

int tkw_queue_ack_async(struct tkw_queue *q, const struct tkw_claim *claims,
			size_t count, tkw_queue_end_fn *fn, void *ctx)
{
	size_t each = sizeof(struct tkw__queue_claim) +
		      sizeof(enum tkw__queue_answer) + sizeof(int);
	struct tkw__queue_claim *to;
	struct async *a;
	int err = admit(q, fn != NULL);

	if (err)
		return err;
	if (!claims || count == 0 || count > INT_MAX)
		return -EINVAL;
	if (count > SIZE_MAX / 2 / each)
		return -ENOMEM;
	a = make_call(q, fn, ctx, count * each);
	if (!a)
		return -ENOMEM;
	to = (void *)a->more;
	for (size_t i = 0; i < count; i++)
		to[i] = (struct tkw__queue_claim){ claims[i].id.bits,
						   claims[i].token };
	a->r.claim.claims.claim = to;
	a->r.claim.claims.count = count;
	a->r.claim.claims.answer = (void *)(to + count);
	a->done = (void *)(a->r.claim.claims.answer + count);
	return submit(a, TKW__REQUEST_ACK);
}
