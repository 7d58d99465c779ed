/* SPDX-License-Identifier: MIT */
/*
 * request.c - requests that are under way.
 *
 * Idea:   a request is a record, and a timeout of the timer. Who ends a request
 *         is decided by the timer alone, which lets a timeout be cancelled or
 *         fire, never both: an answer wins if it could cancel the timeout. Who
 *         has won owns the record, and there is no second decision to be in
 *         disagreement with the first.
 *
 * States: FREE   -> OPEN    add, which schedules the timeout
 *         OPEN   -> FREE    it has ended, and fn is about to be called
 *         OPEN   -> QUEUED  it has ended, and the executor has it
 *         QUEUED -> FREE    as above, by the executor's thread
 *         OPEN   -> DONE    it has ended, and has no fn
 *         DONE   -> FREE    somebody has waited for it
 *         They change under the lock of the record's shard, by its owner.
 *
 * Names:  records are in a table for each shard (os/id_table.h), and an id is
 *         shard, index and generation. To look one up takes no lock: records
 *         are never given back before the set is destroyed, so one may read the
 *         word (generation and state), then the id of the timeout, and then the
 *         word once more. If it is the same, the timeout is this request's. It
 *         may be over by then, or the record have a new request: but then the
 *         timeout has ended, and ids of timeouts do not come back.
 *
 * Shards: a thread adds to its own, with a lock of its own. add() holds it
 *         while it schedules, so that a timeout that fires at once, and takes
 *         the lock before it looks at the record, finds it complete.
 *
 * End:    destroy must not free what threads of the timer and of the executor
 *         look at, a lock that they have just dropped included. It waits at the
 *         bell of each shard until no record is in use but DONE ones, and then
 *         until those who were inside have left: each enters before it frees
 *         its record. Other threads are the caller's business.
 */
#include "tickwheel/request.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "base/bits.h"
#include "base/config.h"
#include "os/bell.h"
#include "os/cpus.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/id_table.h"
#include "os/memory.h"
#include "os/rundown.h"
#include "os/sync.h"
#include "os/thread.h"
#include "timer/for_patterns.h"

enum {
	LINE = 64,
	SHARDS_MAX = 64,
/* Records of a shard. The narrow builds have few. */
#ifdef TKW__BLOCK_BITS
	PLACES = 255 << TKW__BLOCK_BITS
#else
	PLACES = TKW__RECORDS_MAX
#endif
};

/* The lower half of a record's word. */
enum {
	FREE = 0,
	OPEN = 1,
	QUEUED = 2,
	DONE = 3
};

struct record {
	_Alignas(LINE) struct tkw__record head;
	struct tkw__a64 timeout; /* of this request; FREE: of the last one */
	tkw_request_fn *fn;
	union {
		void *ctx;                     /* with fn */
		struct {                       /* without */
			struct tkw__a32 ended; /* 1: DONE; to park at */
			bool awaited;
		};
	};
	void *response;      /* QUEUED, DONE */
	struct shard *shard; /* never changes */
	int status;          /* QUEUED, DONE */
};
_Static_assert(sizeof(struct record) == LINE, "a record is one line");

struct shard {
	/* All of it under the lock, but for `inside`. */
	_Alignas(LINE) struct tkw__lock lock;
	uint32_t used;              /* records that are not FREE */
	uint32_t done;              /* those of them that are DONE */
	struct tkw__bell bell;      /* rings when they are all DONE */
	struct tkw__rundown inside; /* threads that destroy waits for */
	bool closed;                /* nothing is added any more */
	/* For lookups. */
	_Alignas(LINE) struct tkw__table table;
	struct tkw_requests *set;
	uint32_t number;
};

struct tkw_requests {
	/* Set by create, and read only. */
	struct tkw_timer *timer;
	struct tkw_exec exec; /* without submit: none */
	uint32_t epoch;       /* of the process that made it */
	uint32_t shard_mask;
	bool limited;
	uint64_t max_pending;
	size_t bytes;

	_Alignas(LINE) struct tkw__a64 reserved; /* only if limited */
	struct tkw__a32 closed;                  /* shut down */
	uint32_t orphans; /* see tkw_requests_destroy() */
	struct shard shards[];
};

/* --- records ------------------------------------------------------------- */

static struct record *record_of(struct tkw__record *head)
{
	return (struct record *)(void *)head; /* it is the first member */
}

static struct tkw_request_id id_of(const struct record *r)
{
	return (struct tkw_request_id){ tkw__record_id(&r->head,
						       r->shard->number) };
}

/* The shard that an id names, or NULL. */
static struct shard *shard_of(struct tkw_requests *rs, struct tkw_request_id id)
{
	uint32_t number = tkw__id_part(id.bits);

	return number <= rs->shard_mask ? &rs->shards[number] : NULL;
}

/* The record that an id would be in, whatever is there now; or NULL. */
static struct record *find(const struct shard *s, struct tkw_request_id id)
{
	return record_of(tkw__table_at(&s->table, tkw__id_index(id.bits)));
}

static bool reserve(struct tkw_requests *rs)
{
	uint64_t was;

	if (!rs->limited)
		return true;
	was = TKW__LOAD(&rs->reserved, RELAXED);
	while (was < rs->max_pending) {
		if (TKW__CAS(&rs->reserved, &was, was + 1, RELAXED))
			return true;
	}
	return false;
}

static void unreserve(struct tkw_requests *rs)
{
	if (rs->limited)
		TKW__SUB(&rs->reserved, 1, RELAXED);
}

/* Drop the lock of a shard in which a request has ended, or was told. */
static void drop(struct shard *s)
{
	if (s->used == s->done)
		tkw__bell_ring_and_drop(&s->bell, &s->lock);
	else
		tkw__lock_drop(&s->lock);
}

/* Free a record, and make its id stale. The lock is held. The new word needs no
 * order: what comes to be read with it, the timeout, is stored with RELEASE by
 * the next add. */
static void put(struct shard *s, struct record *r)
{
	s->used--;
	unreserve(s->set);
	tkw__table_put(&s->table, &r->head);
}

/* --- the end of a request ------------------------------------------------- */

/* Free the record, and tell who has added the request. The lock is held, and
 * dropped. */
static void call(struct record *r, const struct tkw_request_end *end)
{
	struct shard *s = r->shard;
	struct tkw__frame frame;
	tkw_request_fn *fn = r->fn;
	void *ctx = r->ctx;

	put(s, r);
	drop(s);
	tkw__frame_enter_set(&frame, s->set);
	fn(end, ctx);
	tkw__frame_leave(&frame);
}

/* Without fn: keep the end for who waits, or will wait. The lock is held, and
 * dropped. */
static void keep(struct record *r, const struct tkw_request_end *end)
{
	struct shard *s = r->shard;
	bool awaited;

	r->status = end->status;
	r->response = end->response;
	tkw__record_set_state(&r->head, DONE);
	s->done++;
	/* With `awaited` under one lock: who comes to wait later sees it. */
	TKW__STORE(&r->ended, 1, RELAXED);
	awaited = r->awaited;
	drop(s);
	if (awaited)
		tkw__unpark_all(&r->ended);
}

/* What is told on a thread of the timer or of the executor begins and ends with
 * these. */
static void enter(struct shard *s)
{
	bool open = tkw__rundown_enter(&s->inside);

	/* The record is in use, and destroy waits for that. */
	assert(open);
	(void)open;
	/* Mostly this is the timer's worker, for which others wait. */
	tkw__lock_take_first(&s->lock);
}

static void leave(struct shard *s)
{
	tkw__rundown_leave(&s->inside);
}

static void free_set(struct tkw_requests *rs)
{
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		tkw__table_fini(&rs->shards[i].table);
	tkw__memory_free(rs, rs->bytes);
}

/* In a forked child the executor has come to a job of the parent's. */
static void forget(struct record *r)
{
	struct tkw_requests *rs = r->shard->set;

	tkw__record_set_state(&r->head, DONE);
	if (rs->orphans > 0 && --rs->orphans == 0)
		free_set(rs);
}

/* Run, and abandon: it is never left out. */
static void run_job(const struct tkw_job *job)
{
	struct record *r = job->ctx;
	struct shard *s = r->shard;
	struct tkw_request_end end = { { job->number },
				       r->status,
				       r->response };
	int was;

	if (tkw__is_child(s->set->epoch)) {
		forget(r);
		return;
	}
	/* Were the thread cancelled in there, it would never have left. */
	was = tkw__thread_no_cancel();
	enter(s);
	call(r, &end);
	leave(s);
	tkw__thread_restore_cancel(was);
}

/* Give a request that has ended to the executor. The lock is held, and dropped.
 */
static void submit(struct record *r, const struct tkw_request_end *end)
{
	struct shard *s = r->shard;
	const struct tkw_requests *rs = s->set;
	const struct tkw_job job = { run_job, run_job, r, end->id.bits };
	int was;
	int err;

	r->status = end->status;
	r->response = end->response;
	tkw__record_set_state(&r->head, QUEUED);
	tkw__lock_drop(&s->lock);
	/* Were the thread cancelled here, nobody would call fn. */
	was = tkw__thread_no_cancel();
	err = rs->exec.submit(&job, rs->exec.ctx);
	tkw__thread_restore_cancel(was);
	if (err != 0) {
		tkw__lock_take(&s->lock);
		call(r, end);
	}
}

/* A request has ended, and the caller owns its record. The lock is held, and
 * dropped. */
static void conclude(struct record *r, int status, void *response)
{
	struct tkw_request_end end = { id_of(r), status, response };

	if (r->fn == NULL)
		keep(r, &end);
	else if (r->shard->set->exec.submit)
		submit(r, &end);
	else
		call(r, &end);
}

/* The task of each timeout. */
static void timed_out(const struct tkw_firing *firing, void *record)
{
	struct record *r = record;
	struct shard *s = r->shard;

	(void)firing;
	enter(s);
	conclude(r, -ETIMEDOUT, NULL);
	leave(s);
}

/* Its on-cancel: the timer was stopped, or has dropped it. */
static void lost_timeout(void *record)
{
	struct record *r = record;
	struct shard *s = r->shard;
	int stopped = tkw_timer_is_stopped(s->set->timer);

	enter(s);
	conclude(r, stopped ? -ESHUTDOWN : -ECANCELED, NULL);
	leave(s);
}

/*
 * End a request from outside, if it is still that of the word, which is an OPEN
 * one's. Return  0 or -ENOENT.
 */
static int end_it(struct shard *s, struct record *r, uint64_t word, int status,
		  void *response)
{
	struct tkw_timeout_id timeout;

	/* ACQUIREs pair with the RELEASEs of add(): who sees the timeout of a
	 * later request sees by the second look that its own is over. */
	if (TKW__LOAD(&r->head.word, ACQUIRE) != word)
		return -ENOENT;
	timeout.bits = TKW__LOAD(&r->timeout, ACQUIRE);
	if (TKW__LOAD(&r->head.word, RELAXED) != word)
		return -ENOENT;
	if (tkw__timer_cancel_own(s->set->timer, timeout) != 0)
		return -ENOENT;
	tkw__lock_take(&s->lock);
	conclude(r, status, response);
	return 0;
}

static int end_by_id(struct tkw_requests *rs, struct tkw_request_id id,
		     int status, void *response)
{
	struct record *r;
	struct shard *s;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	s = shard_of(rs, id);
	r = s ? find(s, id) : NULL;
	if (r == NULL)
		return -ENOENT;
	return end_it(s, r, tkw__record_word(id.bits, OPEN), status, response);
}

int tkw_requests_complete(struct tkw_requests *rs, struct tkw_request_id id,
			  void *response)
{
	return end_by_id(rs, id, 0, response);
}

int tkw_requests_cancel(struct tkw_requests *rs, struct tkw_request_id id)
{
	return end_by_id(rs, id, -ECANCELED, NULL);
}

/* --- add and wait --------------------------------------------------------- */

/* What is to be known of a request, but for its timeout. */
static void fill_in(struct record *r, tkw_request_fn *fn, void *ctx)
{
	r->fn = fn;
	if (fn) {
		r->ctx = ctx;
	} else {
		r->awaited = false;
		TKW__STORE(&r->ended, 0, RELAXED);
	}
}

/* The lock is held. */
static int add(struct shard *s, tkw_request_fn *fn, void *ctx,
	       int64_t timeout_ns, struct tkw_request_id *id)
{
	struct tkw_task task = { .fn = timed_out, .on_cancel = lost_timeout };
	struct tkw_timeout_id timeout;
	struct tkw__record *head;
	struct record *r;
	int err;

	if (s->closed)
		return -ESHUTDOWN;
	err = tkw__table_take(&s->table, &head);
	if (err != 0)
		return err;
	r = record_of(head);
	r->shard = s; /* the timeout looks at it before it takes the lock */
	task.ctx = r;
	err = tkw_timer_schedule(s->set->timer, &task, timeout_ns, &timeout);
	if (err != 0) {
		tkw__table_untake(&s->table, head);
		return err;
	}
	s->used++;
	fill_in(r, fn, ctx);
	*id = id_of(r);
	/* Each RELEASE pairs with the ACQUIRE of end_it(): the first makes what
	 * was in the word before visible, the second all of the record. */
	TKW__STORE(&r->timeout, timeout.bits, RELEASE);
	TKW__STORE(&r->head.word, tkw__record_word(id->bits, OPEN), RELEASE);
	return 0;
}

int tkw_requests_add(struct tkw_requests *rs, tkw_request_fn *fn, void *ctx,
		     int64_t timeout_ns, struct tkw_request_id *id)
{
	struct shard *s;
	int err;

	if (rs == NULL || id == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	if (TKW__LOAD(&rs->closed, RELAXED))
		return -ESHUTDOWN; /* whether it is full or not */
	if (!reserve(rs))
		return -EAGAIN;
	s = &rs->shards[tkw__thread_local()->number & rs->shard_mask];
	tkw__lock_take(&s->lock);
	err = add(s, fn, ctx, timeout_ns, id);
	tkw__lock_drop(&s->lock);
	if (err != 0)
		unreserve(rs);
	return err;
}

/* Wait until a request is DONE. The lock is held before and after. */
static int await(struct record *r, struct tkw_request_id id)
{
	struct shard *s = r->shard;

	if (tkw__table_find(&s->table, id.bits) == NULL)
		return -ENOENT;
	if (r->fn)
		return -EINVAL;
	if (r->awaited)
		return -EBUSY;
	while (tkw__record_state(&r->head) != DONE) {
		if (tkw__frame_inside(s->set->timer))
			return -EDEADLK;
		r->awaited = true;
		tkw__lock_drop(&s->lock);
		tkw__park(&r->ended, 0);
		tkw__lock_take(&s->lock);
	}
	return 0;
}

int tkw_requests_wait(struct tkw_requests *rs, struct tkw_request_id id,
		      struct tkw_request_end *end)
{
	struct record *r;
	struct shard *s;
	int err;

	if (rs == NULL || end == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	s = shard_of(rs, id);
	r = s ? find(s, id) : NULL;
	if (r == NULL)
		return -ENOENT;
	tkw__lock_take(&s->lock);
	err = await(r, id);
	if (err == 0) {
		*end = (struct tkw_request_end){ id, r->status, r->response };
		s->done--;
		put(s, r);
	}
	tkw__lock_drop(&s->lock);
	return err;
}

uint64_t tkw_requests_count(struct tkw_requests *rs)
{
	uint64_t pending = 0;

	if (rs == NULL || tkw__is_child(rs->epoch))
		return 0;
	for (uint32_t i = 0; i <= rs->shard_mask; i++) {
		tkw__lock_take(&rs->shards[i].lock);
		pending += rs->shards[i].used;
		tkw__lock_drop(&rs->shards[i].lock);
	}
	return pending;
}

/* --- create, shut down and destroy ---------------------------------------- */

/* As the timer has them. */
static uint32_t count_shards(void)
{
	uint64_t count = tkw__round_up_pow2(2 * (uint64_t)tkw__cpus());

	return (uint32_t)tkw__min_u64(count, SHARDS_MAX);
}

/* From a config that is sound. */
static struct tkw_requests *make_set(const struct tkw_requests_config *cfg,
				     uint32_t epoch)
{
	uint32_t count = count_shards();
	struct tkw_requests *rs;
	size_t bytes = sizeof(*rs) + count * sizeof(rs->shards[0]);

	rs = tkw__memory_take(bytes, LINE);
	if (rs == NULL)
		return NULL;
	*rs = (struct tkw_requests){
		.timer = cfg->timer,
		.epoch = epoch,
		.shard_mask = count - 1,
		.limited = cfg->max_pending > 0,
		.max_pending = (uint64_t)cfg->max_pending,
		.bytes = bytes,
	};
	if (cfg->exec)
		rs->exec = *cfg->exec;
	for (uint32_t i = 0; i < count; i++) {
		rs->shards[i] = (struct shard){ .number = i, .set = rs };
		tkw__table_init(&rs->shards[i].table, sizeof(struct record),
				_Alignof(struct record), PLACES);
	}
	return rs;
}

int tkw_requests_create(struct tkw_requests **out,
			const struct tkw_requests_config *cfg)
{
	struct tkw_requests_config c;
	struct tkw_requests *rs;
	uint32_t epoch;

	if (out == NULL || cfg == NULL ||
	    tkw__config_read(&c, sizeof(c), cfg,
			     TKW__END_OF(struct tkw_requests_config,
					 max_pending)) != 0 ||
	    c.timer == NULL || (c.exec && c.exec->submit == NULL))
		return -EINVAL;
	if (tkw__timer_is_child(c.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) != 0)
		return -ENOMEM;
	rs = make_set(&c, epoch);
	if (rs == NULL)
		return -ENOMEM;
	*out = rs;
	return 0;
}

static void close_shards(struct tkw_requests *rs)
{
	for (uint32_t i = 0; i <= rs->shard_mask; i++) {
		tkw__lock_take(&rs->shards[i].lock);
		rs->shards[i].closed = true;
		tkw__lock_drop(&rs->shards[i].lock);
	}
}

/* End all that is OPEN in a shard that is closed. */
static void end_all(struct shard *s)
{
	struct record *r;

	/* Nothing is added any more. */
	for (uint32_t i = 0; (r = record_of(tkw__table_at(&s->table, i)));
	     i++) {
		/* end_it() looks again. */
		uint64_t word = TKW__LOAD(&r->head.word, RELAXED);

		if ((uint32_t)word == OPEN)
			end_it(s, r, word, -ESHUTDOWN, NULL);
	}
}

int tkw_requests_shutdown(struct tkw_requests *rs)
{
	int was;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->epoch))
		return -EPERM;
	if (TKW__EXCHANGE(&rs->closed, 1, RELAXED) != 0)
		return 0;
	/* Were the thread cancelled in a callback, the rest would not end. */
	was = tkw__thread_no_cancel();
	close_shards(rs);
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		end_all(&rs->shards[i]);
	tkw__thread_restore_cancel(was);
	return 0;
}

/* What is under way is with threads of the timer or of the executor: each will
 * enter, if it has not, free its record, and leave. */
static void await_all(struct shard *s)
{
	tkw__lock_take(&s->lock);
	while (s->used != s->done)
		tkw__bell_wait(&s->bell, &s->lock);
	tkw__lock_drop(&s->lock);
	tkw__rundown_close(&s->inside);
}

/* How many jobs of this shard the executor may have. */
static uint32_t count_queued(const struct shard *s)
{
	const struct tkw__record *r;
	uint32_t queued = 0;

	for (uint32_t i = 0; (r = tkw__table_at(&s->table, i)); i++)
		queued += tkw__record_state(r) == QUEUED;
	return queued;
}

/* In a child jobs that the executor still has look at their records. The last
 * of them, when it is abandoned, frees the memory. */
static void destroy_in_child(struct tkw_requests *rs)
{
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		rs->orphans += count_queued(&rs->shards[i]);
	if (rs->orphans == 0)
		free_set(rs);
}

int tkw_requests_destroy(struct tkw_requests *rs)
{
	int was;

	if (rs == NULL)
		return 0;
	if (tkw__frame_inside(rs) || tkw__frame_inside(rs->timer))
		return -EDEADLK;
	if (tkw__is_child(rs->epoch)) {
		destroy_in_child(rs);
		return 0;
	}
	was = tkw__thread_no_cancel(); /* or the rest would not be freed */
	tkw_requests_shutdown(rs);
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		await_all(&rs->shards[i]);
	free_set(rs);
	tkw__thread_restore_cancel(was);
	return 0;
}
