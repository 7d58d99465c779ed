/* SPDX-License-Identifier: MIT */
/*
 * request.c - requests that are under way.
 *
 * Idea:    a request is a record, and a timeout of the timer. The timer alone
 *          decides who ends a request: it lets a timeout be cancelled or fire,
 *          never both. An answer wins if it could cancel the timeout. The
 *          winner owns the record, and there is no second decision that could
 *          contradict the first.
 *
 * States:  FREE   -> OPEN    add, which schedules the timeout
 *          OPEN   -> FREE    it has ended, and fn is about to be called
 *          OPEN   -> QUEUED  it has ended, and the executor has it
 *          QUEUED -> FREE    as above, on the executor's thread
 *          OPEN   -> DONE    it has ended, and has no fn
 *          DONE   -> FREE    somebody has waited for it
 *          The owner of the record changes its state, under the lock of its
 *          shard.
 *
 * Ids:     each shard has a table of records (os/id_table.h). An id is shard,
 *          index and generation. A lookup takes no lock, because records are
 *          not freed before the set is destroyed. It reads the word (generation
 *          and state), then the id of the timeout, and then the word again. If
 *          the word is the same, the timeout belongs to this request. By then
 *          the request may be over, or the record may hold a new one. But then
 *          the timeout has ended, and ids of timeouts do not come back.
 *
 * Shards:  a thread adds to its own shard, which has its own lock. add() holds
 *          the lock while it schedules. A timeout that fires at once takes the
 *          lock before it looks at the record, so it finds the record complete.
 *
 * End:     threads of the timer and of the executor look at the set, and at a
 *          lock that they have just dropped. destroy must not free these too
 *          early. It waits at the bell of each shard until all records in use
 *          are DONE, and then until all who were inside have left: each of them
 *          enters before it frees its record. The caller must take care of
 *          other threads.
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
/* Records of a shard. The narrow builds of the tests have few. */
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
	/* The timeout of this request; in a FREE record, that of the last
	 * one. */
	struct tkw__a64 timeout;
	tkw_request_fn *fn;
	union {
		void *ctx; /* with fn */
		struct {   /* without fn */
			/* 1 when DONE. A thread that waits parks here. */
			struct tkw__a32 ended;
			bool awaited;
		};
	};
	void *response;      /* if QUEUED or DONE */
	struct shard *shard; /* never changes */
	int status;          /* if QUEUED or DONE */
};
_Static_assert(sizeof(struct record) == LINE, "a record is one line");

struct shard {
	/* Everything is under the lock, except `inside`. */
	_Alignas(LINE) struct tkw__lock lock;
	uint32_t used;              /* records that are not FREE */
	uint32_t done;              /* those of them that are DONE */
	struct tkw__bell bell;      /* rings when they are all DONE */
	struct tkw__rundown inside; /* threads that destroy waits for */
	bool closed;                /* nothing can be added any more */
	/* For lookups, which take no lock. */
	_Alignas(LINE) struct tkw__table table;
	struct tkw_requests *set;
	uint32_t number;
};

struct tkw_requests {
	/* Set by create; only read afterwards. */
	struct tkw_timer *timer;
	struct tkw_exec exec; /* submit is NULL if there is none */
	uint32_t epoch;       /* the process that made the set; see fork.h */
	uint32_t shard_mask;
	bool limited;
	uint64_t max_pending;
	size_t bytes;

	_Alignas(LINE) struct tkw__a64 reserved; /* used only if limited */
	struct tkw__a32 closed;                  /* shut down */
	uint32_t orphans;                        /* see destroy_in_child() */
	struct shard shards[];
};

/* --- records ------------------------------------------------------------- */

static struct record *record_of(struct tkw__record *head)
{
	return (struct record *)(void *)head; /* the head is its first member */
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

/* The record that an id points to, in any state and generation, or NULL. */
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

/* Drops the lock of a shard, and rings its bell if all records in use are
 * DONE. */
static void drop(struct shard *s)
{
	if (s->used == s->done)
		tkw__bell_ring_and_drop(&s->bell, &s->lock);
	else
		tkw__lock_drop(&s->lock);
}

/* Frees a record, and makes its id stale. The lock is held. The new word needs
 * no memory order, because the next add stores the timeout, which is read
 * together with it, with RELEASE. */
static void put(struct shard *s, struct record *r)
{
	s->used--;
	unreserve(s->set);
	tkw__table_put(&s->table, &r->head);
}

/* --- the end of a request ------------------------------------------------- */

/* Frees the record, and calls its fn. The lock is held, and dropped. */
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

/* For a request without fn: keeps the end for a thread that waits now or later.
 * The lock is held, and dropped. */
static void keep(struct record *r, const struct tkw_request_end *end)
{
	struct shard *s = r->shard;
	bool awaited;

	r->status = end->status;
	r->response = end->response;
	tkw__record_set_state(&r->head, DONE);
	s->done++;
	/* `awaited` is read under the same lock, so a thread that comes to wait
	 * later sees the end. */
	TKW__STORE(&r->ended, 1, RELAXED);
	awaited = r->awaited;
	drop(s);
	if (awaited)
		tkw__unpark_all(&r->ended);
}

/* Every call on a thread of the timer or of the executor begins with enter()
 * and ends with leave(). */
static void enter(struct shard *s)
{
	bool open = tkw__rundown_enter(&s->inside);

	/* The record is in use, and destroy waits for it. */
	assert(open);
	(void)open;
	/* This is usually the timer's worker, for which others wait. */
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

/* For a forked child, in which the executor has come to a job of the
 * parent's. */
static void forget(struct record *r)
{
	struct tkw_requests *rs = r->shard->set;

	tkw__record_set_state(&r->head, DONE);
	if (rs->orphans > 0 && --rs->orphans == 0)
		free_set(rs);
}

/* Both run and abandon: fn is called in any case. */
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
	/* A thread that is cancelled in there would never leave. */
	was = tkw__thread_no_cancel();
	enter(s);
	call(r, &end);
	leave(s);
	tkw__thread_restore_cancel(was);
}

/* Gives a request that has ended to the executor. The lock is held, and
 * dropped. */
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
	/* If the thread were cancelled here, nobody would call fn. */
	was = tkw__thread_no_cancel();
	err = rs->exec.submit(&job, rs->exec.ctx);
	tkw__thread_restore_cancel(was);
	if (err != 0) {
		tkw__lock_take(&s->lock);
		call(r, end);
	}
}

/* Concludes a request that has ended. The caller owns its record. The lock is
 * held, and dropped. */
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

/* The on-cancel of each timeout. The timer was stopped, or has dropped the
 * timeout. */
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
 * Ends a request from outside, if the record still has this word, which is that
 * of an OPEN one. Returns 0 or -ENOENT.
 */
static int end_it(struct shard *s, struct record *r, uint64_t word, int status,
		  void *response)
{
	struct tkw_timeout_id timeout;

	/* The ACQUIREs pair with the RELEASEs of add(): a thread that sees the
	 * timeout of a later request sees by its second look that its own is
	 * over. */
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

/* Fills in a record, except for its timeout. */
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

/* Adds a request. The lock is held. */
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
	/* Set first, because the timeout reads it before it takes the lock. */
	r->shard = s;
	task.ctx = r;
	err = tkw_timer_schedule(s->set->timer, &task, timeout_ns, &timeout);
	if (err != 0) {
		tkw__table_untake(&s->table, head);
		return err;
	}
	s->used++;
	fill_in(r, fn, ctx);
	*id = id_of(r);
	/* Each RELEASE pairs with an ACQUIRE of end_it(). The first makes the
	 * earlier words visible, the second the whole record. */
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
		return -ESHUTDOWN; /* even if it is full */
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

/* Waits until a request is DONE. The lock is held before and after. */
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

/* As many as a timer has. */
static uint32_t count_shards(void)
{
	uint64_t count = tkw__round_up_pow2(2 * (uint64_t)tkw__cpus());

	return (uint32_t)tkw__min_u64(count, SHARDS_MAX);
}

/* Makes a set from a config that was checked. */
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

/* Ends all OPEN requests of a closed shard. */
static void end_all(struct shard *s)
{
	struct record *r;

	/* No record is added any more, so the walk ends. */
	for (uint32_t i = 0; (r = record_of(tkw__table_at(&s->table, i)));
	     i++) {
		/* RELAXED is enough, because end_it() looks again. */
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
	/* If the thread were cancelled in a callback, the rest would not
	 * end. */
	was = tkw__thread_no_cancel();
	close_shards(rs);
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		end_all(&rs->shards[i]);
	tkw__thread_restore_cancel(was);
	return 0;
}

/* Waits for requests that threads of the timer or of the executor are ending.
 * Each thread enters, if it has not yet, frees its record, and leaves. */
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

/* In a forked child, jobs that the executor still has look at their records.
 * The last of them that is abandoned frees the memory. */
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
	/* If the thread were cancelled in here, the rest would not be freed. */
	was = tkw__thread_no_cancel();
	tkw_requests_shutdown(rs);
	for (uint32_t i = 0; i <= rs->shard_mask; i++)
		await_all(&rs->shards[i]);
	free_set(rs);
	tkw__thread_restore_cancel(was);
	return 0;
}
