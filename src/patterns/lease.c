/* SPDX-License-Identifier: MIT */
/*
 * lease.c - leases that are renewed in batches until they are released or lost.
 *
 * Idea:       lists that are sorted, by when a lease is to be renewed and by
 *             when it is lost, and one timeout, the alarm, at the earliest of
 *             their heads. All leases are of the same length, so that a new or
 *             renewed one belongs near the tail, and is put in from there.
 *             Jitter would break that: so it has so many steps, each with a
 *             list of its own, and another one is for those to be tried again.
 * States:     idle      in `lost`, and in a `renew`
 *             queued    in `lost`, and in a batch that waits for its executor
 *             renewing  in `lost`, and in a batch whose renew is running
 *             ended     in neither list; the record is kept while a running
 *                       renew (`batch`) or an on_lost (`told`) knows it, and
 *                       its id is found until then, so that a release waits.
 *             One that ends while it is queued is taken out of the batch.
 * Invariants: (I1) while there is a lease the alarm is armed: pending, or on
 *             its way to tick(), which arms the next. So to arm it can fail in
 *             add and in tick() only.
 *             (I2) `count` is the length of `lost`.
 * Threads:    one lock, of all that changes. It is held over calls of the
 *             timer, in which no callback runs: a cancel of ours is silent. It
 *             is not held over a call of the user's.
 * Memory:     the owner, the alarm and each batch hold the keeper; who lets go
 *             last frees it. A job that an executor still has when the keeper
 *             is destroyed finds its batch empty, and does nothing else.
 */
#include "tickwheel/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/links.h"
#include "os/memory.h"
#include "os/sync.h"
#include "os/thread.h"
#include "patterns/inner.h"

enum {
	DEFAULT_CHUNK = 100,
	CHUNK_MAX = 4096,
	/* Block i has FIRST_BLOCK << i records. */
	FIRST_BLOCK = 16,
	BLOCKS = 24,
	STEPS = 32, /* of the jitter */
	AGAIN = STEPS,
	LISTS
};

struct record {
	struct tkw_link
		renew; /* idle: in a `renew` or a due list; or in `free` */
	struct tkw_link lost; /* live: in `lost`; told: in a list of tell() */
	struct batch *batch;  /* in which it is, or NULL */
	void *arg;
	int64_t expires_ns;
	int64_t renew_ns; /* when it is to be renewed */
	uint32_t index;
	uint32_t generation;
	uint32_t place; /* in the batch */
	bool live;      /* neither released nor lost */
	bool told;      /* on_lost is about to be called, or running */
};

struct batch {
	struct tkw_leases *keeper;
	size_t bytes;
	uint32_t forks;
	uint32_t count;
	bool running;            /* renew is; else it is queued */
	struct record **records; /* behind the leases; NULL: taken out */
	struct tkw_lease leases[];
};

struct tkw_leases {
	/* Set by create, and read only. */
	struct tkw_leases_config cfg; /* without zeros; its exec is not kept */
	struct tkw_exec exec;         /* without a function: none */
	uint32_t forks;               /* of the process that made it */

	struct tkw__a32 holders;
	struct tkw__a32 bell; /* counts up when one who waits is to look */
	struct tkw__lock lock;
	bool stopped;
	bool ring;        /* when the lock is dropped */
	uint32_t waiters; /* parked at the bell */
	uint32_t busy;    /* threads that call, or may call, the user */
	bool armed;
	uint64_t alarm;   /* its id, if it is armed */
	int64_t alarm_ns; /* for when */
	uint64_t count;
	struct tkw__dice dice;
	struct tkw_link renew[LISTS]; /* each sorted by renew_ns */
	struct tkw_link lost;         /* sorted by expires_ns */
	struct tkw_link free;
	uint32_t blocks;
	struct record *block[BLOCKS];
};

/* --- waiting ------------------------------------------------------------- */

static void take(struct tkw_leases *k)
{
	tkw__lock_take(&k->lock);
}

/* Drop the lock, and wake those who wait if something has ended. */
static void drop(struct tkw_leases *k)
{
	bool ring = k->ring && k->waiters > 0;

	k->ring = false;
	if (ring)
		TKW__ADD(&k->bell, 1, RELAXED);
	tkw__lock_drop(&k->lock);
	if (ring)
		tkw__unpark_all(&k->bell);
}

/* Wait until something ends: the bell is remembered under the lock. */
static void wait_for_an_end(struct tkw_leases *k)
{
	uint32_t rung = TKW__LOAD(&k->bell, RELAXED);

	k->waiters++;
	drop(k);
	tkw__park(&k->bell, rung);
	take(k);
	k->waiters--;
}

/* --- records ------------------------------------------------------------- */

static size_t block_bytes(uint32_t block)
{
	return ((size_t)FIRST_BLOCK << block) * sizeof(struct record);
}

/* The index of the first record of a block. */
static uint32_t block_begin(uint32_t block)
{
	return (UINT32_C(1) << block) * FIRST_BLOCK - FIRST_BLOCK;
}

static int grow(struct tkw_leases *k)
{
	uint32_t generation = (uint32_t)tkw__random() | 1;
	uint32_t first;
	struct record *r;

	if (k->blocks == BLOCKS)
		return -ENOMEM;
	r = tkw__memory_take(block_bytes(k->blocks), _Alignof(max_align_t));
	if (r == NULL)
		return -ENOMEM;
	memset(r, 0, block_bytes(k->blocks));
	first = block_begin(k->blocks);
	k->block[k->blocks] = r;
	k->blocks++;
	for (uint32_t i = first; i < block_begin(k->blocks); i++, r++) {
		r->index = i;
		r->generation = generation;
		tkw__links_append(&k->free, &r->renew);
	}
	return 0;
}

static uint64_t id_of(const struct record *r)
{
	return (uint64_t)r->generation << 32 | r->index;
}

/* NULL: the lease has ended, and nobody knows it any more. */
static struct record *find(const struct tkw_leases *k, uint64_t id)
{
	uint32_t index = (uint32_t)id;
	uint32_t block = tkw__highest_bit((uint64_t)index / FIRST_BLOCK + 1);
	struct record *r;

	if (block >= k->blocks)
		return NULL;
	r = &k->block[block][index - block_begin(block)];
	/* The id of a free record has not been given to anybody yet. */
	return id_of(r) == id && (r->live || r->batch || r->told) ? r : NULL;
}

/* Free a record that has ended, unless somebody knows it. The free ones are a
 * queue, so that generations last. */
static void let_go(struct tkw_leases *k, struct record *r)
{
	if (r->live || r->batch || r->told)
		return;
	r->generation += r->generation == UINT32_MAX ? 2 : 1;
	tkw__links_append(&k->free, &r->renew);
	k->ring = true;
}

static void hold(struct tkw_leases *k)
{
	TKW__ADD(&k->holders, 1, RELAXED);
}

static void free_all(struct tkw_leases *k)
{
	for (uint32_t i = 0; i < k->blocks; i++)
		tkw__memory_free(k->block[i], block_bytes(i));
	tkw__memory_free(k, sizeof(*k));
}

static void unhold(struct tkw_leases *k)
{
	/* ACQ_REL: whoever frees it comes after all others. */
	if (TKW__SUB(&k->holders, 1, ACQ_REL) == 1)
		free_all(k);
}

/* --- time ---------------------------------------------------------------- */

/* b is not negative. */
static int64_t later(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static struct record *of_renew(struct tkw_link *l)
{
	return TKW_CONTAINER_OF(l, struct record, renew);
}

static struct record *of_lost(struct tkw_link *l)
{
	return TKW_CONTAINER_OF(l, struct record, lost);
}

static void set_renew(struct tkw_leases *k, struct record *r, uint32_t list,
		      int64_t at_ns)
{
	struct tkw_link *after = k->renew[list].prev;

	r->renew_ns = at_ns;
	while (after != &k->renew[list] && of_renew(after)->renew_ns > at_ns)
		after = after->prev;
	tkw__links_prepend(after, &r->renew);
}

/* The list of which the first one is to be renewed first; NULL: none is. */
static struct tkw_link *first_renew(struct tkw_leases *k)
{
	struct tkw_link *first = NULL;

	for (uint32_t i = 0; i < LISTS; i++) {
		struct tkw_link *l = &k->renew[i];

		if (!tkw__links_empty(l) &&
		    (first == NULL || of_renew(l->next)->renew_ns <
					      of_renew(first->next)->renew_ns))
			first = l;
	}
	return first;
}

/* The lease was granted or renewed at this time. */
static void set_granted(struct tkw_leases *k, struct record *r, int64_t at_ns)
{
	int64_t spread =
		k->cfg.renew_after_ns / 100 * k->cfg.jitter_percent +
		k->cfg.renew_after_ns % 100 * k->cfg.jitter_percent / 100;
	int64_t step = spread > 0 ? tkw__dice_roll(&k->dice, STEPS) : 0;
	int64_t early = spread / STEPS * step + spread % STEPS * step / STEPS;
	struct tkw_link *after = k->lost.prev;

	r->expires_ns = later(at_ns, k->cfg.lease_ns);
	while (after != &k->lost && of_lost(after)->expires_ns > r->expires_ns)
		after = after->prev;
	tkw__links_prepend(after, &r->lost);
	set_renew(k, r, (uint32_t)step,
		  later(at_ns, k->cfg.renew_after_ns - early));
}

static int64_t lost_ns(const struct tkw_leases *k, const struct record *r)
{
	return r->expires_ns - k->cfg.margin_ns;
}

static int64_t now(const struct tkw_leases *k)
{
	return tkw_timer_now(k->cfg.timer);
}

/* --- the alarm ----------------------------------------------------------- */

static void on_alarm(void *keeper, const struct tkw_firing *firing);
static void on_alarm_cancelled(void *keeper);

/* Let it be armed for the earliest that is to be done. */
static int arm(struct tkw_leases *k)
{
	const struct tkw_task task = {
		.fn = on_alarm,
		.arg = k,
		.on_cancel = on_alarm_cancelled,
	};
	struct tkw_link *first = first_renew(k);
	int64_t at_ns;
	int err;

	if (k->count == 0)
		return 0;
	at_ns = lost_ns(k, of_lost(k->lost.next));
	if (first && of_renew(first->next)->renew_ns < at_ns)
		at_ns = of_renew(first->next)->renew_ns;
	if (!k->armed) {
		err = tkw_timer_schedule_at(k->cfg.timer, &task, at_ns,
					    &k->alarm);
		if (err != 0)
			return err;
		k->armed = true;
		k->alarm_ns = at_ns;
		hold(k);
	} else if (at_ns < k->alarm_ns) {
		/* If it cannot be moved it is on its way to tick(). */
		err = tkw_timer_reschedule_at(k->cfg.timer, k->alarm, at_ns);
		if (err == 0)
			k->alarm_ns = at_ns;
	}
	return 0;
}

/* There is no lease. */
static void disarm(struct tkw_leases *k)
{
	/* If it cannot be cancelled, tick() will find nothing to do. */
	if (!k->armed || tkw__cancel_silently(k->cfg.timer, k->alarm) != 0)
		return;
	k->armed = false;
	unhold(k); /* not the last one: the caller holds it too */
}

/* --- the end of a lease -------------------------------------------------- */

/* The one place where a lease ends. */
static void end(struct tkw_leases *k, struct record *r)
{
	assert(r->live);
	r->live = false;
	k->count--;
	tkw__links_remove(&r->lost);
	if (r->batch == NULL) {
		tkw__links_remove(&r->renew);
	} else if (!r->batch->running) {
		r->batch->records[r->place] = NULL;
		r->batch = NULL;
	}
	let_go(k, r);
	if (k->count == 0)
		disarm(k);
}

/* It is lost; that is to be told of those in the list. */
static void lose(struct tkw_leases *k, struct record *r, struct tkw_link *list)
{
	r->told = true;
	end(k, r);
	tkw__links_append(list, &r->lost);
}

/* Those who are lost at this time. */
static void lose_until(struct tkw_leases *k, int64_t at_ns,
		       struct tkw_link *list)
{
	while (k->count > 0 && lost_ns(k, of_lost(k->lost.next)) <= at_ns)
		lose(k, of_lost(k->lost.next), list);
}

/*
 * Tell of each lease in the list why it was lost. With the lock held, but for
 * the calls. Return false, without the lock, in a child that one has forked.
 */
static bool tell(struct tkw_leases *k, struct tkw_link *list, int why)
{
	while (!tkw__links_empty(list)) {
		struct record *r = of_lost(list->next);
		const struct tkw_lease lease = {
			.id = id_of(r),
			.arg = r->arg,
			.expires_ns = r->expires_ns,
			.result = why,
		};
		int renewing = r->batch != NULL;
		struct tkw__inside inside;

		tkw__links_remove(&r->lost);
		if (k->cfg.on_lost) {
			drop(k);
			tkw__inside_enter(tkw__thread_local(), &inside, k);
			k->cfg.on_lost(k->cfg.ctx, &lease, why, renewing);
			tkw__inside_leave(tkw__thread_local(), &inside);
			if (tkw__is_child(k->forks))
				return false;
			take(k);
		}
		r->told = false;
		let_go(k, r);
	}
	return true;
}

/* --- a batch ------------------------------------------------------------- */

/* Leave out what has been taken out, and begin. Return false if none is left.
 */
static bool begin(struct tkw_leases *k, struct batch *b, int64_t *begun_ns)
{
	uint32_t count = 0;

	take(k);
	for (uint32_t i = 0; i < b->count; i++) {
		struct record *r = b->records[i];

		if (r == NULL)
			continue;
		r->place = count;
		b->records[count] = r;
		b->leases[count++] = (struct tkw_lease){
			.id = id_of(r),
			.arg = r->arg,
			.expires_ns = r->expires_ns,
			.result = -EIO,
		};
	}
	b->count = count;
	if (count > 0) {
		b->running = true;
		k->busy++;
		*begun_ns = now(k);
	}
	drop(k);
	return count > 0;
}

/* A lease comes out of its batch. */
static void settle(struct tkw_leases *k, struct record *r, int result,
		   int64_t granted_ns)
{
	r->batch = NULL;
	if (!r->live) {
		let_go(k, r);
	} else if (result == 0) {
		tkw__links_remove(&r->lost);
		set_granted(k, r, granted_ns);
	} else {
		set_renew(k, r, AGAIN, later(now(k), k->cfg.retry_ns));
	}
}

/* After renew. Return false, without the lock, in a forked child. */
static bool finish(struct tkw_leases *k, struct batch *b, int64_t begun_ns)
{
	struct tkw_link stale;

	tkw__links_init(&stale);
	for (uint32_t i = 0; i < b->count; i++) {
		struct record *r = b->records[i];

		settle(k, r, b->leases[i].result, begun_ns);
		if (r->live && b->leases[i].result == -ESTALE)
			lose(k, r, &stale);
	}
	arm(k); /* (I1) */
	return tell(k, &stale, -ESTALE);
}

static void run(const struct tkw_job *job)
{
	struct batch *b = job->ctx;
	struct tkw_leases *k = b->keeper;
	/* Were the thread cancelled, its leases would be renewing for ever. */
	int was = tkw__thread_no_cancel();
	bool is_child = tkw__is_child(b->forks);
	int64_t begun_ns = 0;
	struct tkw__inside inside;

	if (!is_child && begin(k, b, &begun_ns)) {
		tkw__inside_enter(tkw__thread_local(), &inside, k);
		k->cfg.renew(k->cfg.ctx, b->leases, b->count);
		tkw__inside_leave(tkw__thread_local(), &inside);
		is_child = tkw__is_child(b->forks);
		if (!is_child) {
			take(k);
			is_child = !finish(k, b, begun_ns);
		}
		if (!is_child) {
			k->busy--;
			k->ring = true;
			drop(k);
		}
	}
	tkw__memory_free(b, b->bytes);
	if (!is_child)
		unhold(k);
	tkw__thread_restore_cancel(was);
}

/* Nobody renews them now: try again. */
static void abandon(const struct tkw_job *job)
{
	struct batch *b = job->ctx;
	struct tkw_leases *k = b->keeper;

	if (!tkw__is_child(b->forks)) {
		take(k);
		for (uint32_t i = 0; i < b->count; i++) {
			if (b->records[i])
				settle(k, b->records[i], -EIO, 0);
		}
		arm(k); /* (I1) */
		drop(k);
		unhold(k);
	}
	tkw__memory_free(b, b->bytes);
}

/* --- what is due --------------------------------------------------------- */

/* Those who are to be renewed, and those who soon would be. */
static void take_due(struct tkw_leases *k, int64_t at_ns, struct tkw_link *due)
{
	int64_t until_ns = later(at_ns, k->cfg.renew_after_ns / 10);
	struct tkw_link *first = first_renew(k);

	if (first == NULL || of_renew(first->next)->renew_ns > at_ns)
		return;
	for (uint32_t i = 0; i < LISTS; i++) {
		struct tkw_link *list = &k->renew[i];

		while (!tkw__links_empty(list) &&
		       of_renew(list->next)->renew_ns <= until_ns) {
			struct tkw_link *l = list->next;

			tkw__links_remove(l);
			tkw__links_append(due, l);
		}
	}
}

/* Without memory for a batch: try all of them again. */
static void put_back(struct tkw_leases *k, struct tkw_link *due)
{
	int64_t at_ns = later(now(k), k->cfg.retry_ns);

	while (!tkw__links_empty(due)) {
		struct record *r = of_renew(due->next);

		tkw__links_remove(&r->renew);
		set_renew(k, r, AGAIN, at_ns);
	}
	arm(k); /* (I1) */
}

/* The next batch of those who are due; NULL: none is left. With the lock held.
 */
static struct batch *next_batch(struct tkw_leases *k, struct tkw_link *due)
{
	uint32_t count = 0;
	struct batch *b;
	size_t bytes;

	for (struct tkw_link *l = due->next;
	     l != due && count < (uint32_t)k->cfg.chunk; l = l->next)
		count++;
	if (count == 0)
		return NULL;
	bytes = sizeof(*b) + count * (sizeof(b->leases[0]) + sizeof(void *));
	b = tkw__memory_take(bytes, _Alignof(max_align_t));
	if (b == NULL) {
		put_back(k, due);
		return NULL;
	}
	*b = (struct batch){
		.keeper = k,
		.bytes = bytes,
		.forks = k->forks,
		.count = count,
	};
	b->records = (struct record **)(void *)(b->leases + count);
	for (uint32_t i = 0; i < count; i++) {
		struct record *r = of_renew(due->next);

		tkw__links_remove(&r->renew);
		r->batch = b;
		r->place = i;
		b->records[i] = r;
	}
	hold(k);
	return b;
}

/* With the lock held, but for the calls. Return as tell(). */
static bool renew_due(struct tkw_leases *k, struct tkw_link *due)
{
	struct batch *b;

	while ((b = next_batch(k, due)) != NULL) {
		const struct tkw_job job = {
			.run = run,
			.abandon = abandon,
			.ctx = b,
		};

		drop(k);
		if (k->exec.submit == NULL)
			run(&job);
		else if (k->exec.submit(k->exec.ctx, &job) != 0)
			abandon(&job);
		if (tkw__is_child(k->forks))
			return false;
		take(k);
	}
	return true;
}

/*
 * The alarm. The next one is armed before anything is called: the place that
 * this one had among the timer's timeouts is free then. Others may come here
 * while this one is in a call; each has its own lists.
 */
static void tick(struct tkw_leases *k)
{
	struct tkw_link lost, gone, due;
	int64_t at_ns;
	int err;

	tkw__links_init(&lost);
	tkw__links_init(&gone);
	tkw__links_init(&due);
	take(k);
	k->armed = false;
	if (k->count > 0) {
		k->busy++;
		at_ns = now(k);
		lose_until(k, at_ns, &lost);
		take_due(k, at_ns, &due);
		err = arm(k);
		if (err != 0)
			lose_until(k, INT64_MAX, &gone);
		if (!tell(k, &lost, -ETIMEDOUT) || !tell(k, &gone, err) ||
		    !renew_due(k, &due))
			return;
		k->busy--;
		k->ring = true;
	}
	drop(k);
	unhold(k);
}

static void on_alarm(void *keeper, const struct tkw_firing *firing)
{
	(void)firing;
	tick(keeper);
}

/* The timer was stopped, of which arm() will hear; or its executor has dropped
 * the alarm, which is no reason to forget the leases. */
static void on_alarm_cancelled(void *keeper)
{
	tick(keeper);
}

/* --- the calls ----------------------------------------------------------- */

static bool is_sound(const struct tkw_leases_config *cfg)
{
	return (cfg->size == 0 || cfg->size == sizeof(*cfg)) && cfg->timer &&
	       cfg->renew && (cfg->exec == NULL || cfg->exec->submit) &&
	       cfg->lease_ns > 0 && cfg->renew_after_ns >= 0 &&
	       cfg->margin_ns >= 0 && cfg->retry_ns >= 0 &&
	       cfg->jitter_percent >= 0 && cfg->jitter_percent <= 100 &&
	       cfg->chunk >= 0 && cfg->chunk <= CHUNK_MAX;
}

/* The config without zeros. Return false if the times do not fit together. */
static bool fill_in(struct tkw_leases_config *cfg)
{
	int64_t tick_ns = tkw_timer_tick(cfg->timer);

	if (cfg->renew_after_ns == 0)
		cfg->renew_after_ns = tkw__max_i64(cfg->lease_ns / 3, 1);
	if (cfg->margin_ns == 0)
		cfg->margin_ns = tkw__max_i64(
			cfg->lease_ns / 10,
			tick_ns > INT64_MAX / 2 ? tick_ns : 2 * tick_ns);
	if (cfg->retry_ns == 0)
		cfg->retry_ns = tkw__max_i64(cfg->lease_ns / 10, 1);
	if (cfg->chunk == 0)
		cfg->chunk = DEFAULT_CHUNK;
	/* What is lost is told up to a tick later. */
	return cfg->margin_ns >= tick_ns &&
	       cfg->renew_after_ns < cfg->lease_ns - cfg->margin_ns;
}

int tkw_leases_create(struct tkw_leases **out,
		      const struct tkw_leases_config *cfg)
{
	struct tkw_leases_config c;
	struct tkw_leases *k;
	int err;

	if (out == NULL || cfg == NULL || !is_sound(cfg))
		return -EINVAL;
	c = *cfg;
	if (!fill_in(&c))
		return -EINVAL;
	if (tkw__is_childs(c.timer))
		return -EPERM;
	err = tkw__forks_watch();
	if (err != 0)
		return err;
	k = tkw__memory_take(sizeof(*k), _Alignof(max_align_t));
	if (k == NULL)
		return -ENOMEM;
	*k = (struct tkw_leases){
		.cfg = c,
		.forks = tkw__forks,
		.holders = { 1 },
		.dice = tkw__dice_make(c.seed),
	};
	if (c.exec)
		k->exec = *c.exec;
	for (uint32_t i = 0; i < LISTS; i++)
		tkw__links_init(&k->renew[i]);
	tkw__links_init(&k->lost);
	tkw__links_init(&k->free);
	*out = k;
	return 0;
}

/* With the lock held. */
static int add(struct tkw_leases *k, void *arg, int64_t asked_ns, uint64_t *id)
{
	int64_t now_ns = now(k);
	struct record *r;
	int err;

	if (k->stopped)
		return -ESHUTDOWN;
	if (asked_ns > now_ns)
		return -EINVAL;
	if (later(asked_ns, k->cfg.lease_ns) - k->cfg.margin_ns <= now_ns)
		return -ETIMEDOUT;
	if (tkw__links_empty(&k->free) && grow(k) != 0)
		return -ENOMEM;
	r = of_renew(k->free.next);
	tkw__links_remove(&r->renew);
	r->arg = arg;
	r->live = true;
	k->count++;
	set_granted(k, r, asked_ns);
	err = arm(k);
	if (err != 0)
		end(k, r);
	else
		*id = id_of(r);
	return err;
}

int tkw_leases_add(struct tkw_leases *k, void *arg, int64_t asked_ns,
		   uint64_t *id)
{
	int err;

	if (k == NULL || id == NULL)
		return -EINVAL;
	if (tkw__is_child(k->forks))
		return -EPERM;
	take(k);
	err = add(k, arg, asked_ns, id);
	drop(k);
	return err;
}

/* With the lock held, but while waiting. */
static int release(struct tkw_leases *k, uint64_t id)
{
	struct record *r = find(k, id);
	int err = -ENOENT;

	if (r == NULL)
		return err;
	if ((r->told || (r->batch && r->batch->running)) &&
	    tkw__is_inside(NULL, k->cfg.timer))
		return -EDEADLK;
	if (r->live) {
		err = r->expires_ns > now(k) ? 0 : -ETIMEDOUT;
		end(k, r);
	}
	while (find(k, id) != NULL)
		wait_for_an_end(k);
	return err;
}

int tkw_leases_release(struct tkw_leases *k, uint64_t id)
{
	int err;

	if (k == NULL)
		return -EINVAL;
	if (tkw__is_child(k->forks))
		return -EPERM;
	take(k);
	err = release(k, id);
	drop(k);
	return err;
}

uint64_t tkw_leases_count(struct tkw_leases *k)
{
	uint64_t count;

	if (k == NULL || tkw__is_child(k->forks))
		return 0;
	take(k);
	count = k->count;
	drop(k);
	return count;
}

/* Return  as tkw_leases_stop(), from outside. */
static int stop(struct tkw_leases *k)
{
	int was_stopped;

	take(k);
	was_stopped = k->stopped;
	k->stopped = true;
	while (k->count > 0)
		end(k, of_lost(k->lost.next));
	drop(k);
	return was_stopped;
}

static void wait_until_idle(struct tkw_leases *k)
{
	take(k);
	while (k->busy > 0)
		wait_for_an_end(k);
	drop(k);
}

int tkw_leases_stop(struct tkw_leases *k)
{
	if (k == NULL)
		return -EINVAL;
	if (tkw__is_child(k->forks))
		return -EPERM;
	if (tkw__is_inside(k, k->cfg.timer))
		return -EDEADLK;
	if (stop(k) != 0)
		return 1;
	wait_until_idle(k);
	return 0;
}

int tkw_leases_destroy(struct tkw_leases *k)
{
	if (k == NULL)
		return -EINVAL;
	if (tkw__is_inside(k, k->cfg.timer))
		return -EDEADLK;
	if (tkw__is_child(k->forks)) {
		/* Who holds it has stayed in the parent; jobs in the queue of
		 * an executor look at their batch alone. */
		free_all(k);
		return 0;
	}
	stop(k);
	wait_until_idle(k);
	unhold(k);
	return 0;
}
