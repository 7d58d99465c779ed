/* SPDX-License-Identifier: MIT */
/*
 * lease.c - leases that are renewed in batches until they are released or lost.
 *
 * Idea:       the set has sorted lists: by when a lease has to be renewed, and
 *             by when it is lost. One timeout, the alarm, is set for the
 *             earliest of their heads. All leases have the same length, so a
 *             new or renewed one belongs near the tail, and is inserted from
 *             there. Jitter would break that. So it has a fixed number of
 *             steps, each with its own list. One more list is for leases that
 *             are to be tried again.
 *
 * States:     idle      LIVE; in `lost`, and in a `renew` list
 *             queued    LIVE; in `lost`, and in a batch that waits for its
 *                       executor
 *             renewing  LIVE; in `lost`, and in a batch whose renew is running
 *             ended     ENDED; in no list. The record is kept while a running
 *                       renew (`batch`) or an on_lost (`told`) knows it. Until
 *                       then its id is found, so that a release waits.
 *             A lease that ends while it is queued is taken out of the batch.
 *
 * Invariants:
 * (I1) While there is a lease, the alarm is armed: it is pending, or on its way
 *      to tick(), which arms the next one. So only add and tick() can fail to
 *      arm it. Moving it can also fail, with -EBADF, if the timer cannot be
 *      woken. Then an add is undone, and after a renew the alarm comes at its
 *      old time.
 * (I2) `count` is the length of `lost`.
 *
 * Threads:    one lock protects everything that changes. It is held during
 *             calls of the timer, in which no callback runs: our cancels call
 *             none. It is not held during calls of the user's functions. A
 *             thread that waits for the end of a renew or an on_lost waits at
 *             the bell.
 *
 * Memory:     the owner, the alarm and each batch hold the set. The last holder
 *             frees it. A job that an executor still has when the set is
 *             destroyed finds its batch empty, and does nothing else.
 */
#include "tickwheel/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "base/bits.h"
#include "base/config.h"
#include "base/links.h"
#include "base/ns.h"
#include "os/bell.h"
#include "os/dice.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/id_table.h"
#include "os/memory.h"
#include "os/sync.h"
#include "os/thread.h"
#include "timer/for_patterns.h"

enum {
	DEFAULT_BATCH = 100,
	BATCH_MAX = 4096,
	STEPS = 32, /* steps of the jitter */
	AGAIN = STEPS,
	LISTS
};

/* States of a record. 0 is free. */
enum {
	LIVE = 1, /* neither released nor lost */
	ENDED = 2
};

struct record {
	struct tkw__record head;
	/* If idle: in a `renew` list or a due list. */
	struct tkw_link renew;
	/* If LIVE: in `lost`. If told: in a list of tell(). */
	struct tkw_link lost;
	struct batch *batch; /* the batch it is in, or NULL */
	void *data;
	int64_t expires_ns;
	int64_t renew_ns; /* when it has to be renewed */
	uint32_t place;   /* its place in the batch */
	bool told;        /* on_lost is about to be called, or running */
};

struct batch {
	struct tkw_leases *set;
	size_t bytes;
	uint32_t epoch; /* in a forked child the set may be gone */
	uint32_t count;
	bool running; /* renew is running; else it is queued */
	/* Behind the leases, in the same memory. NULL for one that was taken
	 * out. */
	struct record **records;
	struct tkw_lease leases[];
};

struct tkw_leases {
	/* Set by create; only read afterwards. */
	/* With the defaults filled in. Its exec is not used. */
	struct tkw_leases_config cfg;
	struct tkw_exec exec; /* submit is NULL if there is none */
	uint32_t epoch;       /* the process that made the set; see fork.h */

	struct tkw__a32 holders;
	struct tkw__lock lock;
	/* Rings when a record becomes free, or when `busy` goes down. */
	struct tkw__bell bell;
	bool closed;   /* shut down */
	uint32_t busy; /* threads that call the user, or may */
	bool armed;
	struct tkw_timeout_id alarm; /* valid if armed */
	int64_t alarm_ns;            /* when the alarm is due */
	uint64_t count;
	struct tkw__dice dice;
	struct tkw_link renew[LISTS]; /* each sorted by renew_ns */
	struct tkw_link lost;         /* sorted by expires_ns */
	struct tkw__table table;
};

/* --- records ------------------------------------------------------------- */

static struct tkw_lease_id id_of(const struct record *r)
{
	return (struct tkw_lease_id){ tkw__record_id(&r->head, 0) };
}

/* The record of an id, or NULL if the lease has ended and nobody knows it any
 * more. */
static struct record *find(const struct tkw_leases *ls, struct tkw_lease_id id)
{
	if (tkw__id_part(id.bits) != 0)
		return NULL;
	/* The head is the first member. */
	return (struct record *)(void *)tkw__table_find(&ls->table, id.bits);
}

static bool is_live(const struct record *r)
{
	return tkw__record_state(&r->head) == LIVE;
}

/* Frees a record that has ended, unless somebody knows it. */
static void let_go(struct tkw_leases *ls, struct record *r)
{
	if (r->batch || r->told)
		return;
	tkw__table_put(&ls->table, &r->head);
	tkw__bell_ring(&ls->bell);
}

static void hold(struct tkw_leases *ls)
{
	TKW__ADD(&ls->holders, 1, RELAXED);
}

static void free_all(struct tkw_leases *ls)
{
	tkw__table_fini(&ls->table);
	tkw__memory_free(ls, sizeof(*ls));
}

static void unhold(struct tkw_leases *ls)
{
	/* ACQ_REL, so that the thread that frees it comes after all others. */
	if (TKW__SUB(&ls->holders, 1, ACQ_REL) == 1)
		free_all(ls);
}

/* begin_call() and end_call() enclose a time in which this thread calls the
 * user, or may. The lock is held. */
static void begin_call(struct tkw_leases *ls)
{
	ls->busy++;
}

static void end_call(struct tkw_leases *ls)
{
	ls->busy--;
	tkw__bell_ring(&ls->bell);
}

/* --- time ---------------------------------------------------------------- */

static struct record *of_renew(struct tkw_link *l)
{
	return TKW_CONTAINER_OF(l, struct record, renew);
}

static struct record *of_lost(struct tkw_link *l)
{
	return TKW_CONTAINER_OF(l, struct record, lost);
}

static void set_renew(struct tkw_leases *ls, struct record *r, uint32_t list,
		      int64_t at_ns)
{
	struct tkw_link *after = ls->renew[list].prev;

	r->renew_ns = at_ns;
	while (after != &ls->renew[list] && of_renew(after)->renew_ns > at_ns)
		after = after->prev;
	tkw__links_prepend(after, &r->renew);
}

/* The list whose first lease has to be renewed first, or NULL if all are
 * empty. */
static struct tkw_link *first_renew(struct tkw_leases *ls)
{
	struct tkw_link *first = NULL;

	for (uint32_t i = 0; i < LISTS; i++) {
		struct tkw_link *l = &ls->renew[i];

		if (!tkw__links_empty(l) &&
		    (first == NULL || of_renew(l->next)->renew_ns <
					      of_renew(first->next)->renew_ns))
			first = l;
	}
	return first;
}

/* Puts a lease that was granted or renewed at this time into its lists. */
static void set_granted(struct tkw_leases *ls, struct record *r, int64_t at_ns)
{
	int64_t spread =
		tkw__ns_percent(ls->cfg.renew_after_ns, ls->cfg.jitter_percent);
	int64_t step = spread > 0 ? tkw__dice_roll(&ls->dice, STEPS) : 0;
	int64_t early = spread / STEPS * step + spread % STEPS * step / STEPS;
	struct tkw_link *after = ls->lost.prev;

	r->expires_ns = tkw__ns_add(at_ns, ls->cfg.lease_ns);
	while (after != &ls->lost && of_lost(after)->expires_ns > r->expires_ns)
		after = after->prev;
	tkw__links_prepend(after, &r->lost);
	set_renew(ls, r, (uint32_t)step,
		  tkw__ns_add(at_ns, ls->cfg.renew_after_ns - early));
}

static int64_t lost_ns(const struct tkw_leases *ls, const struct record *r)
{
	return r->expires_ns - ls->cfg.margin_ns;
}

static int64_t now(const struct tkw_leases *ls)
{
	return tkw_timer_now_ns(ls->cfg.timer);
}

/* --- the alarm ----------------------------------------------------------- */

static void on_alarm(const struct tkw_firing *firing, void *set);
static void on_alarm_cancelled(void *set);

/* Arms the alarm for the earliest thing to do. If this fails, nothing has
 * changed. */
static int arm(struct tkw_leases *ls)
{
	const struct tkw_task task = {
		.fn = on_alarm,
		.ctx = ls,
		.on_cancel = on_alarm_cancelled,
	};
	struct tkw_link *first = first_renew(ls);
	int64_t at_ns;
	int err;

	if (ls->count == 0)
		return 0;
	at_ns = lost_ns(ls, of_lost(ls->lost.next));
	if (first && of_renew(first->next)->renew_ns < at_ns)
		at_ns = of_renew(first->next)->renew_ns;
	if (!ls->armed) {
		err = tkw_timer_schedule_at(ls->cfg.timer, &task, at_ns,
					    &ls->alarm);
		if (err != 0)
			return err;
		ls->armed = true;
		ls->alarm_ns = at_ns;
		hold(ls);
	} else if (at_ns < ls->alarm_ns) {
		err = tkw_timer_reschedule_at(ls->cfg.timer, ls->alarm, at_ns);
		if (err == 0)
			ls->alarm_ns = at_ns;
		else if (err != -ENOENT && err != -EBUSY && err != -ESHUTDOWN)
			return err;
		/* Otherwise the alarm is on its way to tick(), or to its
		 * on-cancel. */
	}
	return 0;
}

/* Disarms the alarm, because there is no lease. */
static void disarm(struct tkw_leases *ls)
{
	/* If it cannot be cancelled, tick() finds nothing to do. */
	if (!ls->armed || tkw__timer_cancel_own(ls->cfg.timer, ls->alarm) != 0)
		return;
	ls->armed = false;
	unhold(ls); /* not the last one: the caller holds it too */
}

/* --- the end of a lease -------------------------------------------------- */

/* The one place where a lease ends. */
static void end(struct tkw_leases *ls, struct record *r)
{
	assert(is_live(r));
	tkw__record_set_state(&r->head, ENDED);
	ls->count--;
	tkw__links_remove(&r->lost);
	if (r->batch == NULL) {
		tkw__links_remove(&r->renew);
	} else if (!r->batch->running) {
		r->batch->records[r->place] = NULL;
		r->batch = NULL;
	}
	let_go(ls, r);
	if (ls->count == 0)
		disarm(ls);
}

/* Ends a lease as lost, and puts it into a list for tell(). */
static void lose(struct tkw_leases *ls, struct record *r, struct tkw_link *list)
{
	r->told = true;
	end(ls, r);
	tkw__links_append(list, &r->lost);
}

/* Loses all leases that are lost by this time. */
static void lose_until(struct tkw_leases *ls, int64_t at_ns,
		       struct tkw_link *list)
{
	while (ls->count > 0 && lost_ns(ls, of_lost(ls->lost.next)) <= at_ns)
		lose(ls, of_lost(ls->lost.next), list);
}

/* Calls on_lost for each lease in the list. The lock is held, but not during
 * the calls. */
static void tell(struct tkw_leases *ls, struct tkw_link *list, int status)
{
	while (!tkw__links_empty(list)) {
		struct record *r = of_lost(list->next);
		const struct tkw_lease_end how = {
			.id = id_of(r),
			.status = status,
			.data = r->data,
			.expires_ns = r->expires_ns,
			.renewing = r->batch != NULL,
		};
		struct tkw__frame frame;

		tkw__links_remove(&r->lost);
		if (ls->cfg.on_lost) {
			tkw__lock_drop(&ls->lock);
			tkw__frame_enter_set(&frame, ls);
			ls->cfg.on_lost(&how, ls->cfg.ctx);
			tkw__frame_leave(&frame);
			tkw__lock_take(&ls->lock);
		}
		r->told = false;
		let_go(ls, r);
	}
}

/* --- a batch ------------------------------------------------------------- */

/* Leaves out leases that were taken out of the batch, and begins. The lock is
 * held. Returns false if no lease is left. */
static bool begin(struct tkw_leases *ls, struct batch *b)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		struct record *r = b->records[i];

		if (r == NULL)
			continue;
		r->place = count;
		b->records[count] = r;
		b->leases[count++] = (struct tkw_lease){
			.id = id_of(r),
			.data = r->data,
			.expires_ns = r->expires_ns,
			.result = -EIO,
		};
	}
	b->count = count;
	b->running = count > 0;
	if (b->running)
		begin_call(ls);
	return b->running;
}

/* Takes a lease out of its batch, with the result of the renew. */
static void settle(struct tkw_leases *ls, struct record *r, int result,
		   int64_t granted_ns)
{
	r->batch = NULL;
	if (!is_live(r)) {
		let_go(ls, r);
	} else if (result == 0) {
		tkw__links_remove(&r->lost);
		set_granted(ls, r, granted_ns);
	} else {
		set_renew(ls, r, AGAIN, tkw__ns_add(now(ls), ls->cfg.retry_ns));
	}
}

/* Called after renew. The lock is held, but not during calls. */
static void finish(struct tkw_leases *ls, struct batch *b, int64_t begun_ns)
{
	struct tkw_link stale;

	tkw__links_init(&stale);
	for (uint32_t i = 0; i < b->count; i++) {
		struct record *r = b->records[i];

		settle(ls, r, b->leases[i].result, begun_ns);
		if (is_live(r) && b->leases[i].result == -ESTALE)
			lose(ls, r, &stale);
	}
	arm(ls); /* may fail: see (I1) */
	tell(ls, &stale, -ESTALE);
	end_call(ls);
}

/* Renews what is left of a batch. */
static void renew(struct tkw_leases *ls, struct batch *b)
{
	struct tkw__frame frame;
	int64_t begun_ns;

	tkw__lock_take(&ls->lock);
	if (begin(ls, b)) {
		begun_ns = now(ls);
		tkw__lock_drop(&ls->lock);
		tkw__frame_enter_set(&frame, ls);
		ls->cfg.renew(b->leases, b->count, ls->cfg.ctx);
		tkw__frame_leave(&frame);
		tkw__lock_take(&ls->lock);
		finish(ls, b, begun_ns);
	}
	tkw__lock_drop(&ls->lock);
}

static void run(const struct tkw_job *job)
{
	struct batch *b = job->ctx;

	if (!tkw__is_child(b->epoch)) {
		/* If the thread were cancelled in here, its leases would be
		 * renewing for ever. */
		int was = tkw__thread_no_cancel();

		renew(b->set, b);
		unhold(b->set);
		tkw__thread_restore_cancel(was);
	}
	tkw__memory_free(b, b->bytes);
}

/* The executor gives up the batch: its leases are tried again later. */
static void abandon(const struct tkw_job *job)
{
	struct batch *b = job->ctx;
	struct tkw_leases *ls = b->set;

	if (!tkw__is_child(b->epoch)) {
		tkw__lock_take(&ls->lock);
		for (uint32_t i = 0; i < b->count; i++) {
			if (b->records[i])
				settle(ls, b->records[i], -EIO, 0);
		}
		arm(ls); /* may fail: see (I1) */
		tkw__lock_drop(&ls->lock);
		unhold(ls);
	}
	tkw__memory_free(b, b->bytes);
}

/* --- what is due --------------------------------------------------------- */

/* Takes the leases that have to be renewed, and those that will be soon. */
static void take_due(struct tkw_leases *ls, int64_t at_ns, struct tkw_link *due)
{
	int64_t until_ns = tkw__ns_add(at_ns, ls->cfg.renew_after_ns / 10);
	struct tkw_link *first = first_renew(ls);

	if (first == NULL || of_renew(first->next)->renew_ns > at_ns)
		return;
	for (uint32_t i = 0; i < LISTS; i++) {
		struct tkw_link *list = &ls->renew[i];

		while (!tkw__links_empty(list) &&
		       of_renew(list->next)->renew_ns <= until_ns) {
			struct tkw_link *l = list->next;

			tkw__links_remove(l);
			tkw__links_append(due, l);
		}
	}
}

/* Called if there is no memory for a batch: all leases are tried again
 * later. */
static void put_back(struct tkw_leases *ls, struct tkw_link *due)
{
	int64_t at_ns = tkw__ns_add(now(ls), ls->cfg.retry_ns);

	while (!tkw__links_empty(due)) {
		struct record *r = of_renew(due->next);

		tkw__links_remove(&r->renew);
		set_renew(ls, r, AGAIN, at_ns);
	}
	arm(ls); /* may fail: see (I1) */
}

/* Makes the next batch of the leases that are due. Returns NULL if none is
 * left. The lock is held. */
static struct batch *next_batch(struct tkw_leases *ls, struct tkw_link *due)
{
	uint32_t count = 0;
	struct batch *b;
	size_t bytes;

	for (struct tkw_link *l = due->next;
	     l != due && count < (uint32_t)ls->cfg.max_batch; l = l->next)
		count++;
	if (count == 0)
		return NULL;
	bytes = sizeof(*b) + count * (sizeof(b->leases[0]) + sizeof(void *));
	b = tkw__memory_take(bytes, _Alignof(max_align_t));
	if (b == NULL) {
		put_back(ls, due);
		return NULL;
	}
	*b = (struct batch){
		.set = ls,
		.bytes = bytes,
		.epoch = ls->epoch,
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
	hold(ls);
	return b;
}

/* Renews all leases that are due. The lock is held, but not during calls. */
static void renew_due(struct tkw_leases *ls, struct tkw_link *due)
{
	struct batch *b;

	while ((b = next_batch(ls, due)) != NULL) {
		const struct tkw_job job = {
			.run = run,
			.abandon = abandon,
			.ctx = b,
		};

		tkw__lock_drop(&ls->lock);
		if (ls->exec.submit == NULL)
			run(&job);
		else if (ls->exec.submit(&job, ls->exec.ctx) != 0)
			abandon(&job);
		tkw__lock_take(&ls->lock);
	}
}

/*
 * Called by the alarm. It arms the next alarm before it calls anything, because
 * the place that this alarm had among the timer's timeouts is free at that
 * moment. Another tick may come while this one is in a call. Each has its own
 * lists.
 */
static void tick(struct tkw_leases *ls)
{
	struct tkw_link lost, gone, due;
	int64_t at_ns;
	int err;

	tkw__links_init(&lost);
	tkw__links_init(&gone);
	tkw__links_init(&due);
	tkw__lock_take(&ls->lock);
	ls->armed = false;
	if (ls->count > 0) {
		begin_call(ls);
		at_ns = now(ls);
		lose_until(ls, at_ns, &lost);
		take_due(ls, at_ns, &due);
		err = arm(ls);
		if (err != 0)
			lose_until(ls, INT64_MAX, &gone);
		tell(ls, &lost, -ETIMEDOUT);
		tell(ls, &gone, err);
		renew_due(ls, &due);
		end_call(ls);
	}
	tkw__lock_drop(&ls->lock);
	unhold(ls);
}

static void on_alarm(const struct tkw_firing *firing, void *set)
{
	(void)firing;
	tick(set);
}

/* The timer was stopped, and arm() will find out. Or its executor has dropped
 * the alarm, which is no reason to forget the leases. */
static void on_alarm_cancelled(void *set)
{
	tick(set);
}

/* --- create -------------------------------------------------------------- */

static bool is_sound(const struct tkw_leases_config *cfg)
{
	return cfg->timer && cfg->renew &&
	       (cfg->exec == NULL || cfg->exec->submit) && cfg->lease_ns > 0 &&
	       cfg->renew_after_ns >= 0 && cfg->margin_ns >= 0 &&
	       cfg->retry_ns >= 0 && cfg->jitter_percent >= 0 &&
	       cfg->jitter_percent <= 100 && cfg->max_batch >= 0 &&
	       cfg->max_batch <= BATCH_MAX;
}

/* Fills in the defaults. Returns false if the times do not fit together. */
static bool fill_in(struct tkw_leases_config *cfg)
{
	int64_t tick_ns = tkw_timer_tick_ns(cfg->timer);

	if (cfg->renew_after_ns == 0)
		cfg->renew_after_ns = tkw__max_i64(cfg->lease_ns / 3, 1);
	if (cfg->margin_ns == 0)
		cfg->margin_ns = tkw__max_i64(cfg->lease_ns / 10,
					      tkw__ns_add(tick_ns, tick_ns));
	if (cfg->retry_ns == 0)
		cfg->retry_ns = tkw__max_i64(cfg->lease_ns / 10, 1);
	if (cfg->max_batch == 0)
		cfg->max_batch = DEFAULT_BATCH;
	/* A loss is told up to a tick late. */
	return cfg->margin_ns >= tick_ns &&
	       cfg->renew_after_ns < cfg->lease_ns - cfg->margin_ns;
}

/* Makes a set from a config that was checked and filled in. */
static struct tkw_leases *make_set(const struct tkw_leases_config *cfg,
				   uint32_t epoch)
{
	struct tkw_leases *ls =
		tkw__memory_take(sizeof(*ls), _Alignof(max_align_t));

	if (ls == NULL)
		return NULL;
	*ls = (struct tkw_leases){
		.cfg = *cfg,
		.epoch = epoch,
		.holders = { 1 },
		.dice = tkw__dice_make(cfg->seed),
	};
	if (cfg->exec)
		ls->exec = *cfg->exec;
	for (uint32_t i = 0; i < LISTS; i++)
		tkw__links_init(&ls->renew[i]);
	tkw__links_init(&ls->lost);
	tkw__table_init(&ls->table, sizeof(struct record),
			_Alignof(struct record), TKW__RECORDS_MAX);
	return ls;
}

int tkw_leases_create(struct tkw_leases **out,
		      const struct tkw_leases_config *cfg)
{
	struct tkw_leases_config c;
	struct tkw_leases *ls;
	uint32_t epoch;

	if (out == NULL || cfg == NULL ||
	    tkw__config_read(&c, sizeof(c), cfg,
			     TKW__END_OF(struct tkw_leases_config, ctx)) != 0 ||
	    !is_sound(&c) || !fill_in(&c))
		return -EINVAL;
	if (tkw__timer_is_child(c.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) != 0)
		return -ENOMEM;
	ls = make_set(&c, epoch);
	if (ls == NULL)
		return -ENOMEM;
	*out = ls;
	return 0;
}

/* --- add and release ----------------------------------------------------- */

/* Adds a lease. The lock is held. */
static int add(struct tkw_leases *ls, void *data, int64_t asked_ns,
	       struct tkw_lease_id *id)
{
	int64_t now_ns = now(ls);
	struct tkw__record *head;
	struct record *r;
	int err;

	if (ls->closed)
		return -ESHUTDOWN;
	if (asked_ns > now_ns)
		return -EINVAL;
	if (tkw__ns_add(asked_ns, ls->cfg.lease_ns) - ls->cfg.margin_ns <=
	    now_ns)
		return -ETIMEDOUT;
	err = tkw__table_take(&ls->table, &head);
	if (err != 0)
		return err;
	r = (struct record *)(void *)head;
	r->data = data;
	tkw__record_set_state(head, LIVE);
	ls->count++;
	set_granted(ls, r, asked_ns);
	err = arm(ls);
	if (err != 0)
		end(ls, r);
	else
		*id = id_of(r);
	return err;
}

int tkw_leases_add(struct tkw_leases *ls, void *data, int64_t asked_ns,
		   struct tkw_lease_id *id)
{
	int err;

	if (ls == NULL || id == NULL)
		return -EINVAL;
	if (tkw__is_child(ls->epoch))
		return -EPERM;
	tkw__lock_take(&ls->lock);
	err = add(ls, data, asked_ns, id);
	tkw__lock_drop(&ls->lock);
	return err;
}

/* May this thread wait for a callback? Not if it is in one, because others may
 * wait for that one. */
static bool may_wait(const struct tkw_leases *ls)
{
	return !tkw__frame_inside_set() && !tkw__frame_inside(ls->cfg.timer);
}

/* Releases a lease. The lock is held, but not while this waits. */
static int release(struct tkw_leases *ls, struct tkw_lease_id id)
{
	struct record *r = find(ls, id);
	int err = -ENOENT;

	if (r == NULL)
		return err;
	if ((r->told || (r->batch && r->batch->running)) && !may_wait(ls))
		return -EDEADLK;
	if (is_live(r)) {
		err = r->expires_ns > now(ls) ? 0 : -ETIMEDOUT;
		end(ls, r);
	}
	while (find(ls, id) != NULL)
		tkw__bell_wait(&ls->bell, &ls->lock);
	return err;
}

int tkw_leases_release(struct tkw_leases *ls, struct tkw_lease_id id)
{
	int err;

	if (ls == NULL)
		return -EINVAL;
	if (tkw__is_child(ls->epoch))
		return -EPERM;
	tkw__lock_take(&ls->lock);
	err = release(ls, id);
	tkw__lock_drop(&ls->lock);
	return err;
}

uint64_t tkw_leases_count(struct tkw_leases *ls)
{
	uint64_t count;

	if (ls == NULL || tkw__is_child(ls->epoch))
		return 0;
	tkw__lock_take(&ls->lock);
	count = ls->count;
	tkw__lock_drop(&ls->lock);
	return count;
}

/* --- shut down and destroy ----------------------------------------------- */

int tkw_leases_shutdown(struct tkw_leases *ls)
{
	struct tkw_link gone;
	int was;

	if (ls == NULL)
		return -EINVAL;
	if (tkw__is_child(ls->epoch))
		return -EPERM;
	/* If the thread were cancelled in a callback, the rest would not be
	 * told. */
	was = tkw__thread_no_cancel();
	tkw__links_init(&gone);
	tkw__lock_take(&ls->lock);
	ls->closed = true;
	begin_call(ls);
	lose_until(ls, INT64_MAX, &gone);
	tell(ls, &gone, -ESHUTDOWN);
	end_call(ls);
	tkw__lock_drop(&ls->lock);
	tkw__thread_restore_cancel(was);
	return 0;
}

int tkw_leases_destroy(struct tkw_leases *ls)
{
	if (ls == NULL)
		return 0;
	if (tkw__frame_inside(ls) || tkw__frame_inside(ls->cfg.timer))
		return -EDEADLK;
	if (tkw__is_child(ls->epoch)) {
		/* The other holders stayed in the parent. Jobs in the queue of
		 * an executor look only at their batch. */
		free_all(ls);
		return 0;
	}
	tkw_leases_shutdown(ls);
	tkw__lock_take(&ls->lock);
	while (ls->busy > 0)
		tkw__bell_wait(&ls->bell, &ls->lock);
	tkw__lock_drop(&ls->lock);
	unhold(ls);
	return 0;
}
