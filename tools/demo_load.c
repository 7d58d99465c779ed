/* SPDX-License-Identifier: MIT */
/*
 * demo_load.c - the load of the demo in real time: threads that act like a
 * busy server, all on one timer.
 *
 *   calls        go out all the time, each with a timeout of 50 to 500 ms.
 *                Most answers come soon and cancel the timeout. Two in a
 *                hundred never come, and the timeout fires. One in a hundred
 *                comes just when the timeout is due, and one of the two wins.
 *   connections  have an idle timeout, which each packet pushes back. Some
 *                connections get no packet for too long. Then the timeout
 *                fires, and the next packet opens the connection again.
 *   heartbeats   re-arm themselves from their task.
 *   far ones     are due in hours. They stay pending until the stop hands them
 *                over.
 *
 * The threads share a fixed total load. It does not grow with more than four
 * threads, and it is less on a slow machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "demo_timeout.h"
#include "interrupt.h"

enum {
	SHARES = 4, /* with fewer threads than this, each has a fourth */
	CALLS_PER_S = 400000, /* of all threads, like the next four */
	CALLS = 32768,        /* that may be unanswered at a time */
	CONNECTIONS = 4096,
	PACKETS_PER_S = 64000,
	HEARTBEATS = 4096,
	CALENDAR = 1024, /* ms; answers come within this time */
	RETRY_MS = 16,   /* when to look again at a call that has not ended */
	/* After a delay, make up for at most this many periods. */
	CATCH_UP = 4,
	/* One cancel in this many is repeated, which is a wrong call. */
	WRONG_EVERY = 256
};

#define CALL_MIN_NS (50 * TKW_MSEC)
#define CALL_MAX_NS (500 * TKW_MSEC)
#define ANSWER_MAX_MS 30
#define IDLE_NS (300 * TKW_MSEC)
#define BEAT_MIN_NS (100 * TKW_MSEC)
#define BEAT_MAX_NS TKW_SEC
/* Longer than the longest run. */
#define FAR_MIN_NS (7200 * TKW_SEC)
#define FAR_MORE_S (22 * 3600)

#define NONE UINT32_MAX

struct call {
	struct demo_timeout timeout;
	uint32_t next; /* in the calendar, or in the list of unused calls */
	bool answered;
};

struct demo_server {
	struct demo *demo;
	struct demo_counters *counters;
	pthread_t thread;
	uint64_t random;
	bool closed; /* the timer is stopped, or there is no memory */
	uint32_t number;
	int64_t last_ns;
	uint64_t call_credit; /* calls times 10^9 */
	uint64_t packet_credit;
	uint64_t cancels;

	struct call *calls;
	uint32_t call_count;
	uint32_t unused;
	/* For each millisecond, the first of the calls to look at then. */
	uint32_t calendar[CALENDAR];
	int64_t done_ms;

	struct demo_timeout *connections;
	uint32_t connection_count;
	struct demo_beat *beats;
	uint32_t beat_count;
	struct demo_mark *far;
	uint64_t far_count;
};

int64_t demo_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * TKW_SEC + t.tv_nsec;
}

void demo_sleep_until(int64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / TKW_SEC),
			      .tv_nsec = (long)(ns % TKW_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) &&
	       !interrupt_signal())
		;
}

static uint32_t below(struct demo_server *s, uint32_t n)
{
	s->random = s->random * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)((s->random >> 32) * n >> 32);
}

static int64_t between(struct demo_server *s, int64_t lo_ns, int64_t hi_ns)
{
	int64_t us = below(s, (uint32_t)((hi_ns - lo_ns) / TKW_USEC));

	return lo_ns + us * TKW_USEC;
}

/* --- calls --- */

/* Notes that a call has to be looked at in a later millisecond. */
static void put_down(struct demo_server *s, uint32_t call, int64_t ms)
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

static void call_out(struct demo_server *s, int64_t now_ns)
{
	int64_t delay_ns = between(s, CALL_MIN_NS, CALL_MAX_NS);
	int64_t due_ms = (now_ns + delay_ns + TKW_MSEC - 1) / TKW_MSEC;
	uint32_t luck = below(s, 100);
	uint32_t i = s->unused;
	struct call *call;
	int r;

	if (i == NONE)
		return; /* too many are unanswered, so skip this call */
	call = &s->calls[i];
	r = demo_arm_call(s->counters, &call->timeout, now_ns, delay_ns);
	s->closed = demo_is_over(r);
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

/* Called when the answer of a call has come, or when its timeout should have
 * fired. */
static void look_at(struct demo_server *s, uint32_t i)
{
	struct call *call = &s->calls[i];

	if (call->answered)
		demo_cancel(s->counters, &call->timeout,
			    s->cancels++ % WRONG_EVERY == 0);
	if (demo_is_waiting(&call->timeout.mark)) {
		/* The timeout is late, or the stop is about to hand it over. */
		put_down(s, i, s->done_ms + RETRY_MS);
		return;
	}
	call->next = s->unused;
	s->unused = i;
}

static void take_answers(struct demo_server *s, int64_t now_ms)
{
	/* After a long delay, one round of the calendar is enough. */
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

static void take_packet(struct demo_server *s, int64_t now_ns)
{
	struct demo_timeout *to =
		&s->connections[below(s, s->connection_count)];
	int r;

	/* If the connection was idle for too long, the packet opens it
	 * again. */
	if (demo_is_waiting(&to->mark))
		r = demo_push_back(s->counters, to, now_ns, IDLE_NS);
	else
		r = demo_arm_idle(s->counters, to, now_ns, IDLE_NS);
	s->closed = demo_is_over(r);
}

/* --- a thread --- */

/* A thread's share of the total load. */
static uint32_t share(const struct demo *d, uint32_t total)
{
	uint32_t threads = (uint32_t)d->cfg.threads;

	return total / (threads > SHARES ? threads : SHARES);
}

/* With more threads, each wakes up less often. */
static int64_t period_ns(const struct demo *d)
{
	int64_t periods = (int64_t)d->cfg.threads / SHARES;

	return (periods > 1 ? periods : 1) * TKW_MSEC;
}

/* Returns how many calls or packets are due after a time. */
static uint32_t earn(uint64_t *credit, uint32_t per_s, int64_t ns)
{
	uint64_t n;

	*credit += (uint64_t)ns * per_s;
	n = *credit / (uint64_t)TKW_SEC;
	*credit %= (uint64_t)TKW_SEC;
	return (uint32_t)n;
}

static void turn(struct demo_server *s, int64_t now_ns)
{
	const struct demo *d = s->demo;
	int64_t ns = now_ns - s->last_ns;
	uint32_t n;

	if (ns > CATCH_UP * period_ns(d))
		ns = CATCH_UP * period_ns(d);
	s->last_ns = now_ns;
	take_answers(s, now_ns / TKW_MSEC);
	n = earn(&s->call_credit, share(d, CALLS_PER_S), ns);
	while (n-- > 0 && !s->closed)
		call_out(s, now_ns);
	n = earn(&s->packet_credit, share(d, PACKETS_PER_S), ns);
	while (n-- > 0 && !s->closed)
		take_packet(s, now_ns);
}

static void fill(struct demo_server *s)
{
	for (uint64_t i = 0; i < s->far_count && !s->closed; i++) {
		int64_t delay_ns = FAR_MIN_NS + below(s, FAR_MORE_S) * TKW_SEC;
		int r = demo_arm_far(s->counters, &s->far[i], delay_ns);

		/* Another thread may have run out of memory. */
		s->closed = demo_is_over(r) || atomic_load(&s->demo->error);
	}
	atomic_fetch_add(&s->demo->filled, 1);
}

static void open_all(struct demo_server *s)
{
	int64_t now_ns = demo_now_ns();

	for (uint32_t i = 0; i < s->connection_count && !s->closed; i++)
		s->closed = demo_is_over(demo_arm_idle(
			s->counters, &s->connections[i], now_ns, IDLE_NS));
	for (uint32_t i = 0; i < s->beat_count && !s->closed; i++) {
		struct demo_beat *b = &s->beats[i];
		int64_t delay_ns = between(s, 0, BEAT_MIN_NS);

		b->period_ns = between(s, BEAT_MIN_NS, BEAT_MAX_NS);
		s->closed =
			demo_is_over(demo_arm_beat(s->counters, b, delay_ns));
	}
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * TKW_SEC + t.tv_nsec;
}

/*
 * Sleeps until the thread's next turn. Turns that were missed are left out.
 *
 * Each thread has its own phase, because threads that wake up together, or with
 * the worker at a full tick, delay each other. All threads together use at most
 * half a CPU, even on a slow machine. Otherwise the demo would show how busy
 * the machine is, and not the timer.
 */
static void sleep_until_next_turn(const struct demo_server *s, int64_t used_ns)
{
	int64_t threads = (int64_t)s->demo->cfg.threads;
	int64_t period = period_ns(s->demo);
	int64_t phase = period * (2 * (int64_t)s->number + 1) / (2 * threads);
	int64_t now_ns = demo_now_ns() + (2 * threads - 1) * used_ns;

	demo_sleep_until(now_ns - (now_ns - phase) % period + period);
}

static void *serve(void *arg)
{
	struct demo_server *s = arg;
	const struct demo *d = s->demo;

	fill(s);
	open_all(s);
	s->last_ns = demo_now_ns();
	s->done_ms = s->last_ns / TKW_MSEC;
	while (!s->closed && !atomic_load(&d->ending)) {
		int64_t start_ns = cpu_ns();

		turn(s, demo_now_ns());
		sleep_until_next_turn(s, cpu_ns() - start_ns);
	}
	return NULL;
}

/* --- all threads --- */

static int init_server(struct demo *d, uint32_t number)
{
	struct demo_server *s = &d->servers[number];
	uint64_t first = d->cfg.pending * number / d->cfg.threads;
	uint64_t end = d->cfg.pending * (number + 1) / d->cfg.threads;

	s->demo = d;
	s->number = number;
	s->counters = &d->counters[1 + number];
	s->random = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	s->call_count = share(d, CALLS);
	s->connection_count = share(d, CONNECTIONS);
	s->beat_count = share(d, HEARTBEATS);
	d->beats += s->beat_count;
	s->far = d->far + first;
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

int demo_load_init(struct demo *d)
{
	size_t counters = (1 + (size_t)d->cfg.threads) * sizeof(*d->counters);
	int r = 0;

	d->far_ns = demo_now_ns() + FAR_MIN_NS;
	d->counters = aligned_alloc(64, counters);
	d->servers = calloc((size_t)d->cfg.threads, sizeof(*d->servers));
	/* At least one, because calloc(0) may return NULL. */
	d->far = calloc((size_t)d->cfg.pending + 1, sizeof(*d->far));
	if (!d->counters || !d->servers || !d->far)
		return -ENOMEM;
	for (size_t i = 0; i <= d->cfg.threads; i++) {
		for (size_t k = 0; k < DEMO_COUNTS; k++)
			atomic_init(&d->counters[i].n[k], 0);
	}
	for (uint32_t i = 0; i < d->cfg.threads && !r; i++)
		r = init_server(d, i);
	if (!r)
		r = tkw_timer_create(&d->timer, NULL);
	return r;
}

int demo_load_start(struct demo *d)
{
	/* A thread causes these signals itself, so it must not block them. */
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t all;
	sigset_t old;
	int r;

	demo_timeout_stage(d);
	r = tkw_timer_start(d->timer);
	/* Only the main thread handles the other signals. They end its sleep,
	 * and it shows the cursor again. */
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&all, own[i]);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	for (uint32_t i = 0; i < d->cfg.threads && !r; i++) {
		r = -pthread_create(&d->servers[i].thread, NULL, serve,
				    &d->servers[i]);
		d->started += r == 0;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

void demo_load_join(struct demo *d)
{
	atomic_store(&d->ending, true);
	for (; d->started > 0; d->started--)
		(void)pthread_join(d->servers[d->started - 1].thread, NULL);
}

void demo_load_fini(struct demo *d)
{
	for (uint64_t i = 0; d->servers && i < d->cfg.threads; i++) {
		free(d->servers[i].calls);
		free(d->servers[i].connections);
		free(d->servers[i].beats);
	}
	if (d->timer)
		(void)tkw_timer_destroy(d->timer);
	free(d->servers);
	free(d->counters);
	free(d->far);
}

uint64_t demo_load_waiting(const struct demo *d)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < d->cfg.threads; i++) {
		const struct demo_server *s = &d->servers[i];

		for (uint32_t k = 0; k < s->call_count; k++)
			n += demo_is_waiting(&s->calls[k].timeout.mark);
		for (uint32_t k = 0; k < s->connection_count; k++)
			n += demo_is_waiting(&s->connections[k].mark);
		for (uint32_t k = 0; k < s->beat_count; k++)
			n += demo_is_waiting(&s->beats[k].mark);
	}
	for (uint64_t i = 0; i < d->cfg.pending; i++)
		n += demo_is_waiting(&d->far[i]);
	return n;
}

uint64_t demo_load_far(const struct demo *d)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < d->cfg.pending; i++)
		n += atomic_load_explicit(&d->far[i].fate,
					  memory_order_relaxed) != DEMO_UNUSED;
	return n;
}
