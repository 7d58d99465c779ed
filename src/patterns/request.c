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
 * States: FREE   -> OPEN    begin, which schedules the timeout
 *         OPEN   -> FREE    it has ended, and fn is about to be called
 *         OPEN   -> QUEUED  it has ended, and the executor has it
 *         QUEUED -> FREE    as above, by the executor's thread
 *         OPEN   -> DONE    it has ended, and has no fn
 *         DONE   -> FREE    somebody has waited for it
 *         They change under the lock of the record's shard, by its owner.
 *
 * Names:  an id is shard, index and generation. To look one up takes no lock:
 *         records are never given back before the set is destroyed, so one may
 *         read the word (generation and state), then the id of the timeout, and
 *         then the word once more. If it is the same, the timeout is this
 *         request's. It may be over by then, or the record have a new request:
 *         but then the timeout has ended, and ids of timeouts do not come back.
 *         A place whose generations are used up is not used again.
 *
 * Shards: a thread begins in its own, with a lock of its own. begin() holds it
 *         while it schedules, so that a timeout that fires at once, and takes
 *         the lock first of all, finds the record complete.
 *
 * Blocks: each is twice as large as the one before, so that a few pointers find
 *         all of them, for ever.
 *
 * End:    destroy must not free what threads of the timer and of the executor
 *         look at, a lock that they have just dropped included. They say when
 *         they enter, under the lock and before the record is free, and when
 *         they have left, which is the last that they do. Other threads are the
 *         caller's business.
 */
#include "tickwheel/request.h"

#include <errno.h>
#include <stdbool.h>

#include "base/bits.h"
#include "os/memory.h"
#include "os/sync.h"
#include "os/thread.h"
#include "patterns/inner.h"

/* The narrow builds have few generations and places, as those of the timer. */
#ifdef TKW__GENERATION_BITS
enum {
	GENERATION_BITS = TKW__GENERATION_BITS,
	BLOCK_BITS = TKW__BLOCK_BITS,
	INDEX_BITS = TKW__BLOCK_BITS + 8
};
#else
enum {
	GENERATION_BITS = 32,
	BLOCK_BITS = 8, /* of the first block */
	INDEX_BITS = 24
};
#endif
#define GENERATION_MAX (UINT32_MAX >> (32 - GENERATION_BITS))

enum {
	LINE = 64,
	SHARDS_MAX = 64,
	SHARD_SHIFT = 56,
	INDEX_SHIFT = 32,
	INDEX_MASK = (1 << 24) - 1,
	BLOCKS = INDEX_BITS - BLOCK_BITS,
	PLACES = (1 << INDEX_BITS) - (1 << BLOCK_BITS) /* of a shard */
};

/* The lower half of a word; the upper one is the generation. */
enum {
	FREE = 0,
	OPEN = 1,
	QUEUED = 2,
	DONE = 3
};

struct record {
	_Alignas(LINE) struct tkw__a64 word;
	struct tkw__a64 timeout; /* of this request; FREE: of the last one */
	tkw_request_fn *fn;
	void *arg;           /* FREE: the next free record */
	void *response;      /* QUEUED, DONE */
	struct shard *shard; /* never changes, nor does the index */
	int status;          /* QUEUED, DONE */
	uint32_t index;
	struct tkw__a32 ended; /* without fn: 1: DONE; who waits parks here */
	bool awaited;
};
_Static_assert(sizeof(struct record) == LINE, "a record is one line");

struct shard {
	/* All of it under the lock, but for `left`. */
	_Alignas(LINE) struct tkw__lock lock;
	struct record *free;
	uint32_t used;         /* records that are not FREE */
	uint32_t done;         /* those of them that are DONE */
	uint32_t entered;      /* see `left` */
	bool closed;           /* by stop: nothing is begun any more */
	struct tkw__a32 left;  /* as often as entered, times 2; see CLOSING */
	struct tkw__dice dice; /* for first generations */
	/* For lookups: seldom or never written. */
	_Alignas(LINE) struct tkw__a32 fresh; /* from here on, never used */
	uint32_t number;
	struct tkw_requests *set;
	struct record *blocks[BLOCKS];
};

/* In `left`: who leaves from now on wakes who waits for that. */
enum {
	CLOSING = 1,
	ONE = 2
};

struct tkw_requests {
	/* Set by create, and read only. */
	struct tkw_timer *timer;
	struct tkw_exec exec; /* without submit: none */
	uint32_t forks;       /* of the process that made it */
	uint32_t shard_mask;
	bool limited;
	uint64_t max_pending;
	size_t bytes;

	_Alignas(LINE) struct tkw__a64 reserved; /* only if limited */
	struct tkw__a32 stopped;
	uint32_t orphans; /* see tkw_requests_destroy() */
	struct shard shards[];
};

/* --- records ------------------------------------------------------------- */

static uint32_t state_of(const struct record *r)
{
	return (uint32_t)TKW__LOAD(&r->word, RELAXED);
}

static uint32_t generation_of(const struct record *r)
{
	return (uint32_t)(TKW__LOAD(&r->word, RELAXED) >> 32);
}

/* The lock is held. */
static void set_state(struct record *r, uint32_t state)
{
	TKW__STORE(&r->word, (uint64_t)generation_of(r) << 32 | state, RELAXED);
}

static uint64_t id_of(const struct record *r)
{
	return (uint64_t)r->shard->number << SHARD_SHIFT |
	       (uint64_t)r->index << INDEX_SHIFT | generation_of(r);
}

/* Block 0 has the indices below B, its size, block 1 those from B to 3B. */
static uint32_t block_of(uint32_t index)
{
	return tkw__highest_bit(index + (1U << BLOCK_BITS)) - BLOCK_BITS;
}

static size_t bytes_of(uint32_t block)
{
	return sizeof(struct record) << (BLOCK_BITS + block);
}

/* The record of an index below `fresh`, or of the first one that is not. */
static struct record *place(const struct shard *s, uint32_t index)
{
	uint32_t block = block_of(index);
	uint32_t first = (1U << (BLOCK_BITS + block)) - (1U << BLOCK_BITS);

	return &s->blocks[block][index - first];
}

/* The record that an id would be in, whatever is there now; or NULL. */
static struct record *find(struct tkw_requests *rs, uint64_t id)
{
	uint32_t number = (uint32_t)(id >> SHARD_SHIFT);
	uint32_t index = (uint32_t)(id >> INDEX_SHIFT) & INDEX_MASK;
	const struct shard *s;

	if (number > rs->shard_mask)
		return NULL;
	s = &rs->shards[number];
	/* ACQUIRE pairs with the RELEASE of take_fresh(). */
	if (index >= TKW__LOAD(&s->fresh, ACQUIRE))
		return NULL;
	return place(s, index);
}

/* A record that was never used. The lock is held. */
static int take_fresh(struct shard *s, struct record **out)
{
	uint32_t index = TKW__LOAD(&s->fresh, RELAXED);
	uint32_t block = block_of(index);
	struct record *r;

	if (index == PLACES)
		return -EAGAIN;
	if (s->blocks[block] == NULL)
		s->blocks[block] = tkw__memory_take(bytes_of(block), LINE);
	if (s->blocks[block] == NULL)
		return -ENOMEM;
	r = place(s, index);
	/* The first generation leaves half of them. */
	*r = (struct record){
		.word = { (uint64_t)(1 + tkw__dice_roll(&s->dice,
							GENERATION_MAX / 2))
			  << 32 },
		.shard = s,
		.index = index,
	};
	/* RELEASE pairs with the ACQUIRE of find(). */
	TKW__STORE(&s->fresh, index + 1, RELEASE);
	*out = r;
	return 0;
}

/* A record to be used. The lock is held. */
static int take(struct shard *s, struct record **out)
{
	if (s->free == NULL)
		return take_fresh(s, out);
	*out = s->free;
	s->free = s->free->arg;
	return 0;
}

static void put_back(struct shard *s, struct record *r)
{
	r->arg = s->free;
	s->free = r;
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

/* Free a record, and make its id stale. The lock is held. */
static void put(struct shard *s, struct record *r)
{
	uint32_t generation = generation_of(r);

	s->used--;
	unreserve(s->set);
	if (generation == GENERATION_MAX) {
		TKW__STORE(&r->word, FREE, RELAXED);
		return;
	}
	/* RELAXED: what comes to be read with it, the timeout, is stored with
	 * RELEASE when the next request begins. */
	TKW__STORE(&r->word, (uint64_t)(generation + 1) << 32, RELAXED);
	put_back(s, r);
}

/* --- the end of a request --------------------------------------------------
 */

/* Free the record, and tell who began the request. */
static void call(struct record *r, const struct tkw_request_end *end)
{
	struct tkw__local *local = tkw__thread_local();
	struct shard *s = r->shard;
	struct tkw__inside inside;
	tkw_request_fn *fn = r->fn;
	void *arg = r->arg;

	tkw__lock_take(&s->lock);
	put(s, r);
	tkw__lock_drop(&s->lock);
	tkw__inside_enter(local, &inside, s->set);
	fn(arg, end);
	tkw__inside_leave(local, &inside);
}

/* Without fn: keep the end for who waits, or will wait. */
static void keep(struct record *r, const struct tkw_request_end *end)
{
	struct shard *s = r->shard;
	bool awaited;

	tkw__lock_take(&s->lock);
	r->status = end->status;
	r->response = end->response;
	set_state(r, DONE);
	s->done++;
	/* With `awaited` under one lock: who comes to wait later sees it. */
	TKW__STORE(&r->ended, 1, RELAXED);
	awaited = r->awaited;
	tkw__lock_drop(&s->lock);
	if (awaited)
		tkw__unpark_all(&r->ended);
}

/* A thread that destroy waits for; begin() is done with its record now. */
static void enter(struct shard *s)
{
	/* Mostly this is the timer's worker, for which others wait. */
	tkw__lock_take_first(&s->lock);
	s->entered += ONE;
	tkw__lock_drop(&s->lock);
}

/* The last that it does. (Of memory that is freed by then, only the address is
 * looked at.) */
static void leave(struct shard *s)
{
	/* RELEASE pairs with the ACQUIREs of await_leaving(). */
	if (TKW__ADD(&s->left, ONE, RELEASE) & CLOSING)
		tkw__unpark_all(&s->left);
}

static void free_set(struct tkw_requests *rs)
{
	for (uint32_t i = 0; i <= rs->shard_mask; i++) {
		for (uint32_t k = 0; k < BLOCKS; k++) {
			if (rs->shards[i].blocks[k])
				tkw__memory_free(rs->shards[i].blocks[k],
						 bytes_of(k));
		}
	}
	tkw__memory_free(rs, rs->bytes);
}

/* In a forked child the executor has come to a job of the parent's. */
static void forget(struct record *r)
{
	struct tkw_requests *rs = r->shard->set;

	set_state(r, DONE);
	if (rs->orphans > 0 && --rs->orphans == 0)
		free_set(rs);
}

/* Run, and abandon: it is never left out. */
static void run_job(const struct tkw_job *job)
{
	struct record *r = job->ctx;
	struct shard *s = r->shard;
	struct tkw_request_end end = { job->number, r->status, r->response };
	int was;

	if (tkw__is_child(s->set->forks)) {
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

/* Give a request that has ended to the executor. */
static void submit(struct record *r, const struct tkw_request_end *end)
{
	struct shard *s = r->shard;
	const struct tkw_requests *rs = s->set;
	const struct tkw_job job = { run_job, run_job, r, end->id };
	int was;
	int err;

	tkw__lock_take(&s->lock);
	r->status = end->status;
	r->response = end->response;
	set_state(r, QUEUED);
	tkw__lock_drop(&s->lock);
	/* Were the thread cancelled here, nobody would call fn. */
	was = tkw__thread_no_cancel();
	err = rs->exec.submit(rs->exec.ctx, &job);
	tkw__thread_restore_cancel(was);
	if (err != 0)
		call(r, end);
}

/* A request has ended, and the caller owns its record. */
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
static void timed_out(void *record, const struct tkw_firing *firing)
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

	enter(s);
	conclude(r,
		 tkw_timer_is_stopped(s->set->timer) ? -ESHUTDOWN : -ECANCELED,
		 NULL);
	leave(s);
}

/*
 * End a request from outside, if it is still that of the word, which is an OPEN
 * one's. Return  0 or -ENOENT.
 */
static int end_it(struct record *r, uint64_t word, int status, void *response)
{
	uint64_t timeout;

	/* ACQUIREs pair with the RELEASEs of begin(): who sees the timeout of a
	 * later request sees by the second look that its own is over. */
	if (TKW__LOAD(&r->word, ACQUIRE) != word)
		return -ENOENT;
	timeout = TKW__LOAD(&r->timeout, ACQUIRE);
	if (TKW__LOAD(&r->word, RELAXED) != word)
		return -ENOENT;
	if (tkw__cancel_silently(r->shard->set->timer, timeout) != 0)
		return -ENOENT;
	conclude(r, status, response);
	return 0;
}

static int end_by_id(struct tkw_requests *rs, uint64_t id, int status,
		     void *response)
{
	struct record *r;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->forks))
		return -EPERM;
	r = find(rs, id);
	return r ? end_it(r, id << 32 | OPEN, status, response) : -ENOENT;
}

int tkw_requests_complete(struct tkw_requests *rs, uint64_t id, void *response)
{
	return end_by_id(rs, id, 0, response);
}

int tkw_requests_cancel(struct tkw_requests *rs, uint64_t id)
{
	return end_by_id(rs, id, -ECANCELED, NULL);
}

/* --- begin and wait --------------------------------------------------------
 */

/* The lock is held. */
static int begin(struct shard *s, tkw_request_fn *fn, void *arg,
		 int64_t timeout_ns, uint64_t *id)
{
	struct tkw_task task = { .fn = timed_out, .on_cancel = lost_timeout };
	uint64_t timeout;
	struct record *r;
	int err;

	if (s->closed)
		return -ESHUTDOWN;
	err = take(s, &r);
	if (err != 0)
		return err;
	task.arg = r;
	err = tkw_timer_schedule(s->set->timer, &task, timeout_ns, &timeout);
	if (err != 0) {
		put_back(s, r);
		return err;
	}
	s->used++;
	r->fn = fn;
	r->arg = arg;
	r->awaited = false;
	TKW__STORE(&r->ended, 0, RELAXED);
	*id = id_of(r);
	/* Each RELEASE pairs with the ACQUIRE of end_it(): the first makes what
	 * was in the word before visible, the second all of the record. */
	TKW__STORE(&r->timeout, timeout, RELEASE);
	TKW__STORE(&r->word, *id << 32 | OPEN, RELEASE);
	return 0;
}

int tkw_requests_begin(struct tkw_requests *rs, tkw_request_fn *fn, void *arg,
		       int64_t timeout_ns, uint64_t *id)
{
	struct shard *s;
	int err;

	if (rs == NULL || id == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->forks))
		return -EPERM;
	if (TKW__LOAD(&rs->stopped, RELAXED))
		return -ESHUTDOWN; /* whether it is full or not */
	if (!reserve(rs))
		return -EAGAIN;
	s = &rs->shards[tkw__thread_local()->number & rs->shard_mask];
	tkw__lock_take(&s->lock);
	err = begin(s, fn, arg, timeout_ns, id);
	tkw__lock_drop(&s->lock);
	if (err != 0)
		unreserve(rs);
	return err;
}

/* Wait until a request is DONE. The lock is held before and after. */
static int await(struct record *r, uint64_t id)
{
	struct shard *s = r->shard;

	if (generation_of(r) != (uint32_t)id || state_of(r) == FREE)
		return -ENOENT;
	if (r->fn)
		return -EINVAL;
	if (r->awaited)
		return -EBUSY;
	while (state_of(r) != DONE) {
		if (tkw_timer_is_inside(s->set->timer))
			return -EDEADLK;
		r->awaited = true;
		tkw__lock_drop(&s->lock);
		tkw__park(&r->ended, 0);
		tkw__lock_take(&s->lock);
	}
	return 0;
}

int tkw_requests_wait(struct tkw_requests *rs, uint64_t id,
		      struct tkw_request_end *end)
{
	struct record *r;
	struct shard *s;
	int err;

	if (rs == NULL || end == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->forks))
		return -EPERM;
	r = find(rs, id);
	if (r == NULL)
		return -ENOENT;
	s = r->shard;
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

uint64_t tkw_requests_pending(struct tkw_requests *rs)
{
	uint64_t pending = 0;

	if (rs == NULL || tkw__is_child(rs->forks))
		return 0;
	for (uint32_t i = 0; i <= rs->shard_mask; i++) {
		tkw__lock_take(&rs->shards[i].lock);
		pending += rs->shards[i].used;
		tkw__lock_drop(&rs->shards[i].lock);
	}
	return pending;
}

/* --- create, stop and destroy ----------------------------------------------
 */

static bool is_sound(const struct tkw_requests_config *cfg)
{
	return (cfg->size == 0 || cfg->size == sizeof(*cfg)) && cfg->timer &&
	       (cfg->exec == NULL || cfg->exec->submit);
}

/* As the timer has them. */
static uint32_t count_shards(void)
{
	uint64_t count = tkw__round_up_pow2(2 * (uint64_t)tkw__cpus());

	return (uint32_t)tkw__min_u64(count, SHARDS_MAX);
}

/* A set without shards yet, from a config that is sound. */
static struct tkw_requests *make_set(const struct tkw_requests_config *cfg)
{
	uint32_t count = count_shards();
	struct tkw_requests *rs;
	size_t bytes = sizeof(*rs) + count * sizeof(rs->shards[0]);

	rs = tkw__memory_take(bytes, LINE);
	if (rs == NULL)
		return NULL;
	*rs = (struct tkw_requests){
		.timer = cfg->timer,
		.forks = tkw__forks,
		.shard_mask = count - 1,
		.limited = cfg->max_pending > 0,
		.max_pending = (uint64_t)cfg->max_pending,
		.bytes = bytes,
	};
	if (cfg->exec)
		rs->exec = *cfg->exec;
	return rs;
}

int tkw_requests_create(struct tkw_requests **out,
			const struct tkw_requests_config *cfg)
{
	struct tkw_requests *rs;

	if (out == NULL || cfg == NULL || !is_sound(cfg))
		return -EINVAL;
	/* No timeout has this id: nothing but the parent's timer is noticed. */
	if (tkw__is_childs(cfg->timer))
		return -EPERM;
	if (tkw__forks_watch() != 0)
		return -ENOMEM;
	rs = make_set(cfg);
	if (rs == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i <= rs->shard_mask; i++) {
		rs->shards[i] = (struct shard){
			.number = i,
			.set = rs,
			.dice = tkw__dice_make(0),
		};
	}
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
	/* It changes no more. */
	uint32_t count = TKW__LOAD(&s->fresh, RELAXED);

	for (uint32_t i = 0; i < count; i++) {
		struct record *r = place(s, i);
		/* end_it() looks again. */
		uint64_t word = TKW__LOAD(&r->word, RELAXED);

		if ((uint32_t)word == OPEN)
			end_it(r, word, -ESHUTDOWN, NULL);
		if (tkw__is_child(s->set->forks))
			return; /* a callback has forked; this is the child */
	}
}

int tkw_requests_stop(struct tkw_requests *rs)
{
	int was;

	if (rs == NULL)
		return -EINVAL;
	if (tkw__is_child(rs->forks))
		return -EPERM;
	if (TKW__EXCHANGE(&rs->stopped, 1, RELAXED) != 0)
		return 1;
	/* Were the thread cancelled in a callback, the rest would not end. */
	was = tkw__thread_no_cancel();
	close_shards(rs);
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		end_all(&rs->shards[i]);
	tkw__thread_restore_cancel(was);
	return tkw__is_child(rs->forks) ? -EPERM : 0;
}

/* Is nothing under way, and has everyone left who had entered? */
static bool is_quiet(struct shard *s, uint32_t left)
{
	bool quiet;

	tkw__lock_take(&s->lock);
	quiet = s->used == s->done && s->entered + CLOSING == left;
	tkw__lock_drop(&s->lock);
	return quiet;
}

/* What is under way is with threads of the timer or of the executor: each will
 * enter, if it has not, and leave, which changes `left`. */
static void await_leaving(struct shard *s)
{
	uint32_t left = TKW__ADD(&s->left, CLOSING, ACQUIRE) + CLOSING;

	while (!is_quiet(s, left)) {
		tkw__park(&s->left, left);
		left = TKW__LOAD(&s->left, ACQUIRE);
	}
}

/* How many jobs of this shard the executor may have. */
static uint32_t count_queued(const struct shard *s)
{
	uint32_t count = TKW__LOAD(&s->fresh, RELAXED);
	uint32_t queued = 0;

	for (uint32_t i = 0; i < count; i++)
		queued += state_of(place(s, i)) == QUEUED;
	return queued;
}

/* In a child, also one that a callback of this stop has forked: jobs that the
 * executor still has look at their records. The last of them, when it is
 * abandoned, frees the memory. */
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
		return -EINVAL;
	if (tkw__is_inside(rs, rs->timer))
		return -EDEADLK;
	was = tkw__thread_no_cancel(); /* as in a stop */
	tkw_requests_stop(rs);
	if (tkw__is_child(rs->forks)) {
		destroy_in_child(rs);
	} else {
		for (uint32_t i = 0; i <= rs->shard_mask; i++)
			await_leaving(&rs->shards[i]);
		free_set(rs);
	}
	tkw__thread_restore_cancel(was);
	return 0;
}
