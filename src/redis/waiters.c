/* SPDX-License-Identifier: MIT */
/*
 * waiters.c - clients that wait, and the alarm that wakes them.
 *
 * A place stands for a key of a database. It is in a wheel if there is a time
 * at which to look at its queue. A look, then or after a command, signals the
 * key if an item is ready. The server then asks each client in turn. If none is
 * ready, the look sets the alarm again.
 *
 * When the alarm rings, the looks are made in a timer of the server, at once. A
 * look opens a key, and if the key has expired, the server deletes and
 * replicates it. After a timer it sends what is to be replicated, but not after
 * the callback of a file descriptor: Redis 7.0 then stops with a failed
 * assertion.
 *
 * A look may find work that must be recorded before anybody knows which item is
 * first: leases that have run out, items of plans that were missed, or a wheel
 * that has much to move. The callback of a client that waits must not replicate
 * anything unless it serves the client: Redis 7.0 keeps what it replicates for
 * later, and then stops with a failed assertion. So this work is done in a
 * timer of the server, in pieces.
 */
#define _GNU_SOURCE
#include "redis/waiters.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tickwheel/wheel.h"

enum {
	/* How many places one alarm signals, and how many steps a piece of work
	 * may take. */
	ALARM_STEPS = 1024,
	WORK_STEPS = 4096,
	/* At how many places the alarm works at once. */
	ALARM_WORKS = 8,
	/* How long a place is put off. */
	PUT_OFF_MS = 10
};

struct tkw__place {
	struct tkw_entry entry; /* when to look */
	struct rm_string *name;
	int db;
	uint32_t waiting;            /* clients */
	bool working;                /* a timer of the server is on its way */
	struct tkw__place *next_due; /* or the next one to work at */
	/* A queue that had nothing at a time, after so many steps. */
	const struct tkw__queue *dry;
	uint64_t dry_ms;
	uint64_t dry_steps;
	bool refused; /* the server refused to write in this turn */
};

static struct rm_dict *places; /* by database and name */
static uint64_t place_count;
static struct rm_ctx *alarm_ctx; /* for callbacks that have none */
static int alarm_fd = -1;
static uint64_t alarm_ms = TKW_TICK_NEVER; /* when it rings */
static bool is_ringing;  /* a timer of the server is on its way */
static bool all_are_due; /* the clock was set */
/* Places at which the timer that runs now shall work before it ends. A timer
 * that is made inside a timer waits for a whole millisecond. */
static struct tkw__place *to_work;
static unsigned works_left;
static struct tkw_wheel *wheel;
static _Alignas(64) unsigned char wheel_mem[TKW_WHEEL_BYTES];

static uint64_t now_ms(void)
{
	return tkw__redis_now_us() / 1000;
}

/* Looks at a queue on behalf of the clients that wait for it. */
static void look(struct tkw__place *p, struct tkw__visit *v);

/* --- the alarm ------------------------------------------------------------ */

static void set_alarm(uint64_t ms)
{
	struct itimerspec at = { 0 };

	/* Who sets the module's clock also calls tkw__waiters_wake_all(). */
	if (ms == alarm_ms || tkw__redis_now_us != tkw__redis_real_now_us)
		return;
	alarm_ms = ms;
	if (ms != TKW_TICK_NEVER) {
		at.it_value.tv_sec = (time_t)(ms / 1000);
		at.it_value.tv_nsec = (long)(ms % 1000) * 1000000;
		/* Zero would turn it off. */
		if (ms == 0)
			at.it_value.tv_nsec = 1;
	}
	(void)timerfd_settime(alarm_fd,
			      TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at,
			      NULL);
}

/* Sets the alarm to the first place, if that is earlier, and turns it off if
 * there is none. If the first place leaves, it stays: one that rings in vain
 * costs less. */
static void reset_alarm(void)
{
	uint64_t next = tkw_wheel_next_tick(wheel);

	if (tkw_wheel_count(wheel) == 0)
		set_alarm(TKW_TICK_NEVER);
	else if (next < alarm_ms)
		set_alarm(next);
}

/* Adds a place to a list. */
static void on_due(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct tkw__place *p = TKW_CONTAINER_OF(e, struct tkw__place, entry);
	struct tkw__place **due = ctx;

	(void)w;
	p->next_due = *due;
	*due = p;
}

/* A wheel cannot go back. If the clock was put back, it begins anew with the
 * same entries: the places keep their times. */
static void begin_wheel(uint64_t ms)
{
	struct tkw_wheel_config cfg = { .size = sizeof(cfg), .now_tick = ms };
	struct tkw__place *all = NULL;
	struct tkw_entry *e;

	while ((e = tkw_wheel_first(wheel))) {
		(void)tkw_wheel_remove(wheel, e);
		on_due(wheel, e, &all);
	}
	(void)tkw_wheel_init(&wheel, wheel_mem, sizeof(wheel_mem), &cfg);
	for (; all; all = all->next_due)
		(void)tkw_wheel_add(wheel, &all->entry,
				    tkw_entry_tick(&all->entry));
}

static void look_at(struct tkw__place *p, uint64_t ms)
{
	uint64_t now = now_ms();

	if (now + 1 < tkw_wheel_now_tick(wheel))
		begin_wheel(now);
	if (tkw_entry_is_linked(&p->entry)) {
		if (tkw_entry_tick(&p->entry) == ms)
			return;
		(void)tkw_wheel_remove(wheel, &p->entry);
	}
	if (ms <= TKW__QUEUE_MAX_MS)
		(void)tkw_wheel_add(wheel, &p->entry, ms);
	reset_alarm();
}

/* Looks at a place whose time has come. */
static void look_now(struct tkw__place *p, struct rm_ctx *ctx)
{
	struct tkw__visit v;

	(void)tkw__rm.SelectDb(ctx, p->db);
	if (!tkw__visit_find(&v, ctx, p->name)) {
		/* If the key has another type, its clients are let go. */
		tkw__rm.SignalKeyAsReady(ctx, p->name);
		return;
	}
	look(p, &v);
	tkw__visit_undo(&v);
}

void tkw__waiters_wake_all(struct rm_ctx *ctx)
{
	int db = tkw__rm.GetSelectedDb(ctx);
	struct rm_dict_iter *it =
		tkw__rm.DictIteratorStartC(places, "^", NULL, 0);
	void *p;

	while (tkw__rm.DictNextC(it, NULL, &p))
		look_now(p, ctx);
	tkw__rm.DictIteratorStop(it);
	(void)tkw__rm.SelectDb(ctx, db);
}

static void begin_ringing(void);
static void work(struct rm_ctx *ctx, void *data);

/* A timer of the server: looks at the places whose time has come. */
static void ring(struct rm_ctx *ctx, void *data)
{
	struct tkw__place *due = NULL;
	uint64_t now = now_ms();

	(void)data;
	is_ringing = false;
	if (all_are_due)
		tkw__waiters_wake_all(ctx);
	all_are_due = false;
	(void)tkw_wheel_advance(wheel, now, ALARM_STEPS, on_due, &due);
	works_left = ALARM_WORKS;
	while (due) {
		struct tkw__place *p = due;

		due = p->next_due;
		look_now(p, ctx);
	}
	works_left = 0;
	while (to_work) {
		struct tkw__place *p = to_work;

		to_work = p->next_due;
		(void)tkw__rm.SelectDb(ctx, p->db);
		work(ctx, p);
	}
	if (tkw_wheel_count(wheel) > 0 && tkw_wheel_next_tick(wheel) <= now)
		begin_ringing();
	else
		reset_alarm();
}

static void begin_ringing(void)
{
	if (is_ringing)
		return;
	is_ringing = true;
	tkw__rm.CreateTimer(alarm_ctx, 0, ring, NULL);
}

/* A read fails with ECANCELED if the clock was set. The places keep their
 * times, but other times have come. */
static void on_alarm(int fd, void *data, int mask)
{
	uint64_t rings;

	(void)data;
	(void)mask;
	alarm_ms = TKW_TICK_NEVER;
	if (read(fd, &rings, sizeof(rings)) < 0 && errno == ECANCELED)
		all_are_due = true;
	begin_ringing();
}

/* --- places --------------------------------------------------------------- */

/* The key of a place in the dict. It is valid until the next call. */
struct dict_key {
	void *at;
	size_t len;
};

static struct dict_key key_of(int db, const struct rm_string *name)
{
	static unsigned char *mem;
	static size_t room;
	struct dict_key k;
	size_t len;
	const char *text = tkw__rm.StringPtrLen(name, &len);

	k.len = sizeof(db) + len;
	if (!mem || k.len > room) {
		if (mem)
			tkw__rm.Free(mem);
		mem = tkw__rm.Alloc(k.len);
		room = k.len;
	}
	memcpy(mem, &db, sizeof(db));
	memcpy(mem + sizeof(db), text, len);
	k.at = mem;
	return k;
}

static struct tkw__place *find_in(int db, const struct rm_string *name)
{
	struct dict_key k;

	if (place_count == 0)
		return NULL;
	k = key_of(db, name);
	return tkw__rm.DictGetC(places, k.at, k.len, NULL);
}

static struct tkw__place *find(struct rm_ctx *ctx, struct rm_string *name)
{
	return find_in(tkw__rm.GetSelectedDb(ctx), name);
}

struct tkw__place *tkw__waiters_add(struct rm_ctx *ctx, struct rm_string *name)
{
	struct tkw__place *p = find(ctx, name);

	if (!p) {
		struct dict_key k;

		p = tkw__rm.Alloc(sizeof(*p));
		*p = (struct tkw__place){ .name = name,
					  .db = tkw__rm.GetSelectedDb(ctx) };
		tkw__rm.RetainString(NULL, name);
		k = key_of(p->db, name);
		tkw__rm.DictReplaceC(places, k.at, k.len, p);
		place_count++;
	}
	p->waiting++;
	return p;
}

static void free_place(struct tkw__place *p)
{
	struct dict_key k;

	if (p->waiting > 0 || p->working)
		return;
	(void)tkw_wheel_remove(wheel, &p->entry);
	reset_alarm();
	k = key_of(p->db, p->name);
	tkw__rm.DictDelC(places, k.at, k.len, NULL);
	place_count--;
	tkw__rm.FreeString(NULL, p->name);
	tkw__rm.Free(p);
}

void tkw__waiters_remove(struct tkw__place *p)
{
	p->waiting--;
	free_place(p);
}

uint64_t tkw__waiters_count(struct rm_ctx *ctx, struct rm_string *name)
{
	const struct tkw__place *p = find(ctx, name);

	return p ? p->waiting : 0;
}

/* --- looking -------------------------------------------------------------- */

/* True if the server would accept a command that writes to this key. Only the
 * server knows, so it is told to run one. The command is refused in any case,
 * and the question is by whom: by the module, or by the server before. */
static bool accepts_writes(struct rm_ctx *ctx, struct rm_string *name)
{
	struct rm_reply *reply =
		tkw__rm.Call(ctx, "TKW.APPLY", "SEscc", name, "RECORDS", "");
	size_t own = strlen(TKW__NOT_FROM_MASTER);
	const char *text = NULL;
	bool accepts;
	size_t len = 0;

	if (reply)
		text = tkw__rm.CallReplyStringPtr(reply, &len);
	accepts = text && len >= own &&
		  memcmp(text, TKW__NOT_FROM_MASTER, own) == 0;
	if (reply)
		tkw__rm.FreeCallReply(reply);
	return accepts;
}

bool tkw__waiters_may_serve(struct rm_ctx *ctx, struct rm_string *name)
{
	struct tkw__place *p = find(ctx, name);

	/* It is the same for all clients that are asked in a turn. */
	if (p && p->refused)
		return false;
	if (tkw__redis_is_master(ctx) && !tkw__rm.AvoidReplicaTraffic() &&
	    accepts_writes(ctx, name))
		return true;
	if (p) {
		p->refused = true;
		look_at(p, now_ms() + PUT_OFF_MS);
	}
	return false;
}

/* A take may end items of plans that were missed or overlap, and give out
 * nothing. Here this can be recorded. A take that gives something out is
 * undone: the clients that wait are asked next. */
static void decide_plans(struct tkw__place *p, struct rm_ctx *ctx)
{
	struct tkw__queue_taken one;
	struct tkw__visit v;

	if (!tkw__visit_find(&v, ctx, p->name))
		return;
	if (tkw__queue_take(v.queue, &v.call, 1, 1, &one) == 0)
		tkw__visit_commit(&v);
	else
		tkw__visit_undo(&v);
}

/* A timer of the server: records what has to be recorded, a piece at a time. */
static void work(struct rm_ctx *ctx, void *data)
{
	struct tkw__place *p = data;
	struct tkw__visit v;

	p->working = false;
	p->refused = false;
	if (p->waiting == 0) {
		free_place(p);
		return;
	}
	if (!tkw__waiters_may_serve(ctx, p->name) ||
	    !tkw__visit_find(&v, ctx, p->name))
		return;
	(void)tkw__queue_advance(v.queue, &v.call, WORK_STEPS,
				 TKW__QUEUE_MASTER);
	tkw__visit_commit(&v);
	if (tkw__queue_count_plans(v.queue) > 0)
		decide_plans(p, ctx);
	look_now(p, ctx);
}

static void begin_work(struct tkw__place *p, struct rm_ctx *ctx)
{
	if (p->working)
		return;
	p->working = true;
	if (works_left > 0) {
		works_left--;
		p->next_due = to_work;
		to_work = p;
		return;
	}
	tkw__rm.CreateTimer(ctx, 0, work, p);
}

static void remember_dry(struct tkw__place *p, const struct tkw__visit *v)
{
	p->dry = v->queue;
	p->dry_ms = v->call.now_us / 1000;
	p->dry_steps = tkw__queue_count_steps(v->queue);
}

void tkw__waiters_work(struct tkw__visit *v)
{
	struct tkw__place *p = find(v->ctx, v->name);

	if (!p)
		return;
	remember_dry(p, v);
	begin_work(p, v->ctx);
}

static void look(struct tkw__place *p, struct tkw__visit *v)
{
	enum tkw__queue_ready ready =
		tkw__queue_has_ready(v->queue, v->call.now_us);
	uint64_t next;

	if (tkw__queue_is_paused(v->queue)) {
		look_at(p, TKW_TICK_NEVER);
		return;
	}
	if (ready == TKW__QUEUE_SOME_READY) {
		p->dry = NULL;
		p->refused = false;
		tkw__rm.SignalKeyAsReady(v->ctx, v->name);
		return;
	}
	next = tkw__queue_next_ms(v->queue, v->call.now_us);
	if (ready == TKW__QUEUE_MAYBE_READY || next <= v->call.now_us / 1000)
		begin_work(p, v->ctx);
	else
		look_at(p, next);
}

void tkw__waiters_look(struct tkw__visit *v)
{
	struct tkw__place *p = find(v->ctx, v->name);

	if (p && p->waiting > 0)
		look(p, v);
}

void tkw__waiters_dry(struct tkw__visit *v)
{
	struct tkw__place *p = find(v->ctx, v->name);

	if (!p)
		return;
	look(p, v);
	remember_dry(p, v);
}

bool tkw__waiters_is_dry(const struct tkw__visit *v)
{
	const struct tkw__place *p = find(v->ctx, v->name);

	return p && p->dry == v->queue && p->dry_ms == v->call.now_us / 1000 &&
	       p->dry_steps == tkw__queue_count_steps(v->queue);
}

/* The command that has done it is not over, so the key is looked at soon. */
void tkw__waiters_gone(int db, const struct rm_string *name)
{
	struct tkw__place *p = find_in(db, name);

	if (p && p->waiting > 0)
		look_at(p, now_ms());
}

int tkw__waiters_init(struct rm_ctx *ctx)
{
	places = tkw__rm.CreateDict(NULL);
	alarm_ctx = tkw__rm.GetDetachedThreadSafeContext(ctx);
	begin_wheel(now_ms());
	alarm_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (alarm_fd < 0)
		return RM_ERR;
	return tkw__rm.EventLoopAdd(alarm_fd, RM_READABLE, on_alarm, NULL);
}
