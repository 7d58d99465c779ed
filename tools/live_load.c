/* SPDX-License-Identifier: MIT */
/*
 * live_load.c - the load of the demo in real time: threads that act like a
 * busy server, all on one timer.
 *
 *   calls        go out all the time, each with a timeout of 50 to 500 ms.
 *                Most answers come soon, and cancel it. Two in a hundred never
 *                come: the timeout fires. One in a hundred comes just when the
 *                timeout is due: one of the two wins.
 *   connections  have an idle timeout, which each packet pushes back. Some
 *                hear nothing for too long: theirs fires, and they connect
 *                again.
 *   heartbeats   re-arm themselves from their task.
 *   far ones     are hours away: they are held until the stop hands them over.
 *
 * The load is a share of a fixed total: it does not grow with the number of
 * threads beyond four, and shrinks where the machine is slow.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "live_timeout.h"

enum {
	SHARES = 4,           /* fewer threads do not get more each */
	CALLS_PER_S = 400000, /* of all threads, as the following */
	CALLS = 32768,        /* that may be out at a time */
	CONNECTIONS = 4096,
	PACKETS_PER_S = 64000,
	HEARTBEATS = 4096,
	CALENDAR = 1024,  /* ms: answers come within */
	RETRY_MS = 16,    /* then look again at a call not ended */
	CATCH_UP = 4,     /* periods' work at most, after a delay */
	WRONG_EVERY = 256 /* cancels one is repeated, to be refused */
};

#define CALL_MIN_NS (50 * TKW_MSEC)
#define CALL_MAX_NS (500 * TKW_MSEC)
#define ANSWER_MAX_MS 30
#define IDLE_NS (300 * TKW_MSEC)
#define BEAT_MIN_NS (100 * TKW_MSEC)
#define BEAT_MAX_NS TKW_SEC
/* Later than the longest run. */
#define FAR_MIN_NS (7200 * TKW_SEC)
#define FAR_MORE_S (22 * 3600)

#define NONE UINT32_MAX

struct call {
	struct live_timeout timeout;
	uint32_t next; /* in the calendar, or of those not in use */
	bool answered;
};

struct live_server {
	struct live *live;
	struct live_counters *counters;
	pthread_t thread;
	uint64_t random;
	bool closed; /* the timer is stopped, or it failed */
	uint32_t number;
	int64_t last_ns;
	uint64_t call_credit; /* calls times 10^9 */
	uint64_t packet_credit;
	uint64_t cancels;

	struct call *calls;
	uint32_t call_count;
	uint32_t unused;
	/* By the millisecond: calls about which something is to be done. */
	uint32_t calendar[CALENDAR];
	int64_t done_ms;

	struct live_timeout *connections;
	uint32_t connection_count;
	struct live_beat *beats;
	uint32_t beat_count;
	struct live_mark *far;
	uint64_t far_count;
};

int64_t live_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * TKW_SEC + t.tv_nsec;
}

void live_sleep_until(int64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / TKW_SEC),
			      .tv_nsec = (long)(ns % TKW_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static uint32_t below(struct live_server *s, uint32_t n)
{
	s->random = s->random * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)((s->random >> 32) * n >> 32);
}

static int64_t between(struct live_server *s, int64_t lo_ns, int64_t hi_ns)
{
	int64_t us = below(s, (uint32_t)((hi_ns - lo_ns) / TKW_USEC));

	return lo_ns + us * TKW_USEC;
}

/* --- calls --- */

/* Something is to be done about a call at a millisecond to come. */
static void put_down(struct live_server *s, uint32_t call, int64_t ms)
{
	uint32_t *day;

	if (ms <= s->done_ms)
		ms = s->done_ms + 1;
	if (ms > s->done_ms + CALENDAR)
		ms = s->done_ms + CALENDAR;
	day = &s->calendar[ms % CALENDAR];
	s->calls[call].next = *day;
	*day = call;
}

static void call_out(struct live_server *s, int64_t now_ns)
{
	int64_t delay_ns = between(s, CALL_MIN_NS, CALL_MAX_NS);
	int64_t due_ms = (now_ns + delay_ns + TKW_MSEC - 1) / TKW_MSEC;
	uint32_t luck = below(s, 100);
	uint32_t i = s->unused;
	struct call *call;
	int r;

	if (i == NONE)
		return; /* too many are out: such a server sheds load */
	call = &s->calls[i];
	r = live_arm_call(s->counters, &call->timeout, now_ns, delay_ns);
	s->closed = live_is_over(r);
	if (r)
		return;
	s->unused = call->next;
	call->answered = luck >= 2;
	if (luck < 2)
		put_down(s, i, due_ms + 2);
	else if (luck == 2)
		put_down(s, i, due_ms - below(s, 2));
	else
		put_down(s, i, now_ns / TKW_MSEC + 1 + below(s, ANSWER_MAX_MS));
}

/* The time has come to do something about a call. */
static void look_at(struct live_server *s, uint32_t i)
{
	struct call *call = &s->calls[i];

	if (call->answered)
		live_cancel(s->counters, &call->timeout,
			    s->cancels++ % WRONG_EVERY == 0);
	if (live_is_waiting(&call->timeout.mark)) {
		/* Late, or about to be handed over by the stop. */
		put_down(s, i, s->done_ms + RETRY_MS);
		return;
	}
	call->next = s->unused;
	s->unused = i;
}

static void take_answers(struct live_server *s, int64_t now_ms)
{
	/* After a long delay a second round would meet nothing new. */
	if (now_ms - s->done_ms > CALENDAR)
		s->done_ms = now_ms - CALENDAR;
	while (s->done_ms < now_ms) {
		uint32_t *day = &s->calendar[++s->done_ms % CALENDAR];
		uint32_t i = *day;

		*day = NONE;
		while (i != NONE) {
			uint32_t next = s->calls[i].next;

			look_at(s, i);
			i = next;
		}
	}
}

/* --- connections --- */

static void take_packet(struct live_server *s, int64_t now_ns)
{
	struct live_timeout *to =
		&s->connections[below(s, s->connection_count)];
	int r;

	/* If it was idle for too long, it is connected anew. */
	if (live_is_waiting(&to->mark))
		r = live_push_back(s->counters, to, now_ns, IDLE_NS);
	else
		r = live_arm_idle(s->counters, to, now_ns, IDLE_NS);
	s->closed = live_is_over(r);
}

/* --- a thread --- */

/* A thread's share of a total. */
static uint32_t share(const struct live *l, uint32_t total)
{
	uint32_t threads = (uint32_t)l->cfg.threads;

	return total / (threads > SHARES ? threads : SHARES);
}

/* More threads wake up less often each. */
static int64_t period_ns(const struct live *l)
{
	int64_t periods = (int64_t)l->cfg.threads / SHARES;

	return (periods > 1 ? periods : 1) * TKW_MSEC;
}

/* How many calls or packets are due after so much time. */
static uint32_t earn(uint64_t *credit, uint32_t per_s, int64_t ns)
{
	uint64_t n;

	*credit += (uint64_t)ns * per_s;
	n = *credit / (uint64_t)TKW_SEC;
	*credit %= (uint64_t)TKW_SEC;
	return (uint32_t)n;
}

static void turn(struct live_server *s, int64_t now_ns)
{
	const struct live *l = s->live;
	int64_t ns = now_ns - s->last_ns;
	uint32_t n;

	if (ns > CATCH_UP * period_ns(l))
		ns = CATCH_UP * period_ns(l);
	s->last_ns = now_ns;
	take_answers(s, now_ns / TKW_MSEC);
	n = earn(&s->call_credit, share(l, CALLS_PER_S), ns);
	while (n-- > 0 && !s->closed)
		call_out(s, now_ns);
	n = earn(&s->packet_credit, share(l, PACKETS_PER_S), ns);
	while (n-- > 0 && !s->closed)
		take_packet(s, now_ns);
}

static void fill(struct live_server *s)
{
	for (uint64_t i = 0; i < s->far_count && !s->closed; i++) {
		int64_t delay_ns = FAR_MIN_NS + below(s, FAR_MORE_S) * TKW_SEC;
		int r = live_arm_far(s->counters, &s->far[i], delay_ns);

		/* Another thread may have found that there is no memory. */
		s->closed = live_is_over(r) || atomic_load(&s->live->error);
	}
	atomic_fetch_add(&s->live->filled, 1);
}

static void open_all(struct live_server *s)
{
	int64_t now_ns = live_now_ns();

	for (uint32_t i = 0; i < s->connection_count && !s->closed; i++)
		s->closed = live_is_over(live_arm_idle(
			s->counters, &s->connections[i], now_ns, IDLE_NS));
	for (uint32_t i = 0; i < s->beat_count && !s->closed; i++) {
		struct live_beat *b = &s->beats[i];
		int64_t delay_ns = between(s, 0, BEAT_MIN_NS);

		b->period_ns = between(s, BEAT_MIN_NS, BEAT_MAX_NS);
		s->closed =
			live_is_over(live_arm_beat(s->counters, b, delay_ns));
	}
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * TKW_SEC + t.tv_nsec;
}

/*
 * Turns that were missed are left out. Threads that woke all at once, or with
 * the worker at a full tick, would stand in each other's way. And all threads
 * together take half a CPU at most, however slow the machine is: a demo that
 * takes all of it shows a busy machine, and no timer.
 */
static void sleep_until_next_turn(const struct live_server *s, int64_t used_ns)
{
	int64_t threads = (int64_t)s->live->cfg.threads;
	int64_t period = period_ns(s->live);
	int64_t phase = period * (2 * (int64_t)s->number + 1) / (2 * threads);
	int64_t now_ns = live_now_ns() + (2 * threads - 1) * used_ns;

	live_sleep_until(now_ns - (now_ns - phase) % period + period);
}

static void *serve(void *arg)
{
	struct live_server *s = arg;
	const struct live *l = s->live;

	fill(s);
	open_all(s);
	s->last_ns = live_now_ns();
	s->done_ms = s->last_ns / TKW_MSEC;
	while (!s->closed && !atomic_load(&l->ending)) {
		int64_t start_ns = cpu_ns();

		turn(s, live_now_ns());
		sleep_until_next_turn(s, cpu_ns() - start_ns);
	}
	return NULL;
}

/* --- all of it --- */

static int init_server(struct live *l, uint32_t number)
{
	struct live_server *s = &l->servers[number];
	uint64_t first = l->cfg.pending * number / l->cfg.threads;
	uint64_t end = l->cfg.pending * (number + 1) / l->cfg.threads;

	s->live = l;
	s->number = number;
	s->counters = &l->counters[1 + number];
	s->random = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	s->call_count = share(l, CALLS);
	s->connection_count = share(l, CONNECTIONS);
	s->beat_count = share(l, HEARTBEATS);
	l->beats += s->beat_count;
	s->far = l->far + first;
	s->far_count = end - first;
	s->calls = calloc(s->call_count, sizeof(*s->calls));
	s->connections = calloc(s->connection_count, sizeof(*s->connections));
	s->beats = calloc(s->beat_count, sizeof(*s->beats));
	if (!s->calls || !s->connections || !s->beats)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->call_count; i++)
		s->calls[i].next = i + 1 < s->call_count ? i + 1 : NONE;
	for (size_t i = 0; i < CALENDAR; i++)
		s->calendar[i] = NONE;
	return 0;
}

int live_load_init(struct live *l)
{
	size_t counters = (1 + (size_t)l->cfg.threads) * sizeof(*l->counters);
	int r = 0;

	l->far_ns = live_now_ns() + FAR_MIN_NS;
	l->counters = aligned_alloc(64, counters);
	l->servers = calloc((size_t)l->cfg.threads, sizeof(*l->servers));
	/* One more: there may be none. */
	l->far = calloc((size_t)l->cfg.pending + 1, sizeof(*l->far));
	if (!l->counters || !l->servers || !l->far)
		return -ENOMEM;
	for (size_t i = 0; i <= l->cfg.threads; i++) {
		for (size_t k = 0; k < LIVE_COUNTS; k++)
			atomic_init(&l->counters[i].n[k], 0);
	}
	for (uint32_t i = 0; i < l->cfg.threads && !r; i++)
		r = init_server(l, i);
	if (!r)
		r = tkw_timer_create(&l->timer, NULL);
	return r;
}

int live_load_start(struct live *l)
{
	/* These are about the thread that gets them. */
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t all;
	sigset_t old;
	int r;

	live_timeout_stage(l);
	r = tkw_timer_start(l->timer);
	/* Signals are for the main thread, which shows the cursor again. */
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&all, own[i]);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	for (uint32_t i = 0; i < l->cfg.threads && !r; i++) {
		r = -pthread_create(&l->servers[i].thread, NULL, serve,
				    &l->servers[i]);
		l->started += r == 0;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

void live_load_join(struct live *l)
{
	atomic_store(&l->ending, true);
	for (; l->started > 0; l->started--)
		(void)pthread_join(l->servers[l->started - 1].thread, NULL);
}

void live_load_fini(struct live *l)
{
	for (uint64_t i = 0; l->servers && i < l->cfg.threads; i++) {
		free(l->servers[i].calls);
		free(l->servers[i].connections);
		free(l->servers[i].beats);
	}
	if (l->timer)
		(void)tkw_timer_destroy(l->timer);
	free(l->servers);
	free(l->counters);
	free(l->far);
}

uint64_t live_load_waiting(const struct live *l)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < l->cfg.threads; i++) {
		const struct live_server *s = &l->servers[i];

		for (uint32_t k = 0; k < s->call_count; k++)
			n += live_is_waiting(&s->calls[k].timeout.mark);
		for (uint32_t k = 0; k < s->connection_count; k++)
			n += live_is_waiting(&s->connections[k].mark);
		for (uint32_t k = 0; k < s->beat_count; k++)
			n += live_is_waiting(&s->beats[k].mark);
	}
	for (uint64_t i = 0; i < l->cfg.pending; i++)
		n += live_is_waiting(&l->far[i]);
	return n;
}

uint64_t live_load_far(const struct live *l)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < l->cfg.pending; i++)
		n += atomic_load_explicit(&l->far[i].fate,
					  memory_order_relaxed) != LIVE_UNUSED;
	return n;
}
