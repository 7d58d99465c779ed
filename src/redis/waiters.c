/* SPDX-License-Identifier: MIT */
/*
 * waiters.c - clients that wait, and the alarm that wakes them.
 *
 * A place stands for a key of a database. It is in a wheel if there is a time
 * at which to look at its queue. What is done at that time is the same as after
 * a command: signal the key. The server then asks each client in turn, and what
 * it finds sets the alarm again.
 *
 * A look may find work that must be recorded before anybody knows which item is
 * first: leases that have run out, or a wheel that has much to move. The
 * callback of a client that waits must not replicate anything unless it serves
 * the client: Redis 7.0 keeps what it replicates for later, and then stops with
 * a failed assertion. So this work is done in a timer of the server, in pieces.
 */
#define _GNU_SOURCE
#include "redis/waiters.h"

#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tickwheel/wheel.h"

enum {
	/* How many places one alarm signals, and how many steps a piece of work
	 * may take. */
	ALARM_STEPS = 1024,
	WORK_STEPS = 4096,
	/* How long a place is put off. */
	PUT_OFF_MS = 10
};

struct tkw__place {
	struct tkw_entry entry; /* when to look */
	struct rm_string *name;
	int db;
	uint32_t waiting; /* clients */
	bool working;     /* a timer of the server is on its way */
};

static struct rm_dict *places; /* by database and name */
static uint64_t place_count;
static struct rm_ctx *alarm_ctx; /* for callbacks that have none */
static int alarm_fd = -1;
static uint64_t alarm_ms = TKW_TICK_NEVER; /* when it rings */
static struct tkw_wheel *wheel;
static _Alignas(64) unsigned char wheel_mem[TKW_WHEEL_BYTES];

static uint64_t now_ms(void)
{
	return tkw__redis_now_us() / 1000;
}

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

/* Sets the alarm to the first place, if that is earlier. A place that leaves
 * does not turn it off: one that rings in vain costs less. */
static void reset_alarm(void)
{
	uint64_t next = tkw_wheel_next_tick(wheel);

	if (tkw_wheel_count(wheel) == 0)
		set_alarm(TKW_TICK_NEVER);
	else if (next < alarm_ms)
		set_alarm(next);
}

/* A wheel cannot go back. If the clock was put back, it begins anew. */
static void begin_wheel(uint64_t ms)
{
	struct tkw_wheel_config cfg = { .now_tick = ms };
	struct tkw_entry *e;

	while ((e = tkw_wheel_first(wheel)))
		(void)tkw_wheel_remove(wheel, e);
	(void)tkw_wheel_init(&wheel, wheel_mem, sizeof(wheel_mem), &cfg);
}

static void look_at(struct tkw__place *p, uint64_t ms)
{
	uint64_t now = now_ms();

	if (now + 1 < tkw_wheel_now_tick(wheel)) {
		begin_wheel(now);
		tkw__waiters_wake_all();
	}
	if (tkw_entry_is_linked(&p->entry)) {
		if (tkw_entry_tick(&p->entry) == ms)
			return;
		(void)tkw_wheel_remove(wheel, &p->entry);
	}
	if (ms <= TKW__QUEUE_MAX_MS)
		(void)tkw_wheel_add(wheel, &p->entry, ms);
	reset_alarm();
}

static void signal_place(const struct tkw__place *p)
{
	(void)tkw__rm.SelectDb(alarm_ctx, p->db);
	tkw__rm.SignalKeyAsReady(alarm_ctx, p->name);
}

static void on_due(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)ctx;
	signal_place(TKW_CONTAINER_OF(e, struct tkw__place, entry));
}

/* Rings. A read fails if the clock was set: then each place has another time.
 */
static void on_alarm(int fd, void *data, int mask)
{
	uint64_t rings;
	uint64_t ms = now_ms();

	(void)data;
	(void)mask;
	if (read(fd, &rings, sizeof(rings)) < 0)
		tkw__waiters_wake_all();
	alarm_ms = TKW_TICK_NEVER;
	(void)tkw_wheel_advance(wheel, ms, ALARM_STEPS, on_due, NULL);
	reset_alarm();
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

static struct tkw__place *find(struct rm_ctx *ctx, struct rm_string *name)
{
	struct dict_key k;

	if (place_count == 0)
		return NULL;
	k = key_of(tkw__rm.GetSelectedDb(ctx), name);
	return tkw__rm.DictGetC(places, k.at, k.len, NULL);
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

static void look(struct tkw__place *p, struct tkw__visit *v);

/* A timer of the server: records what has to be recorded, a piece at a time. */
static void work(struct rm_ctx *ctx, void *data)
{
	struct tkw__place *p = data;
	struct tkw__visit v;

	p->working = false;
	if (p->waiting == 0) {
		free_place(p);
		return;
	}
	if (tkw__rm.AvoidReplicaTraffic()) {
		look_at(p, now_ms() + PUT_OFF_MS);
		return;
	}
	if (!tkw__visit_find(&v, ctx, p->name))
		return;
	(void)tkw__queue_advance(v.queue, &v.call, WORK_STEPS,
				 TKW__QUEUE_MASTER);
	tkw__visit_commit(&v);
	look(p, &v);
}

static void begin_work(struct tkw__place *p, struct rm_ctx *ctx)
{
	if (p->working)
		return;
	p->working = true;
	tkw__rm.CreateTimer(ctx, 0, work, p);
}

/* Looks at a queue on behalf of the clients that wait for it. */
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

void tkw__waiters_put_off(struct rm_ctx *ctx, struct rm_string *name)
{
	struct tkw__place *p = find(ctx, name);

	if (p)
		look_at(p, now_ms() + PUT_OFF_MS);
}

void tkw__waiters_wake_all(void)
{
	struct rm_dict_iter *it =
		tkw__rm.DictIteratorStartC(places, "^", NULL, 0);
	void *p;

	while (tkw__rm.DictNextC(it, NULL, &p))
		signal_place(p);
	tkw__rm.DictIteratorStop(it);
}

/* A load brings other queues, and signals nothing. */
static void on_loading(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
		       void *data)
{
	(void)ctx;
	(void)event;
	(void)data;
	if (part == RM_LOADING_ENDED)
		tkw__waiters_wake_all();
}

int tkw__waiters_init(struct rm_ctx *ctx)
{
	const struct rm_event loading = { RM_EVENT_LOADING, 1 };

	places = tkw__rm.CreateDict(NULL);
	alarm_ctx = tkw__rm.GetDetachedThreadSafeContext(ctx);
	begin_wheel(now_ms());
	alarm_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (alarm_fd < 0 || tkw__rm.EventLoopAdd(alarm_fd, RM_READABLE,
						 on_alarm, NULL) != RM_OK)
		return RM_ERR;
	return tkw__rm.SubscribeToServerEvent(ctx, loading, on_loading);
}
