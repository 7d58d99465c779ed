/* SPDX-License-Identifier: MIT */
/*
 * explore.c - cooperative threads, and the choice which one runs next.
 *
 * Threads are switched by _setjmp() and _longjmp() between stacks that live as
 * long as the process. A context is made only once per thread. There is no
 * state to save and restore: to try another choice, the scenario is run again
 * from its begin, with the same choices up to that point.
 */
#include "explore_inside.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "os/thread.h"

enum {
	THREADS = 8,
	STACK = 128 * 1024,
	CHOICES = 4096, /* a run with more choices does not end */
	BUFFER = 16     /* stores that a thread can keep back */
};

enum state {
	IDLE, /* has no work */
	READY,
	LOCKING, /* until *word is 0 */
	PARKED,  /* until unparked, or `until` */
	HANDING, /* until another has taken the lock that it handed on */
	JOINING, /* until thread `other` has ended */
	WAITING, /* until the count at word is `least` */
	SLEEPING /* until *at */
};

struct store {
	void *a;
	size_t size;
	uint64_t x;
	struct explore_spot spot;
};

struct thread {
	enum state state;
	unsigned buffered;
	const void *word; /* what it waits for, by its state */
	int other;
	unsigned least;
	uint64_t taken; /* HANDING: lock_turns when it handed on */
	int64_t until;  /* PARKED: when it gives up; INT64_MAX: never */
	int uses;       /* of this place in this run */
	bool begun;
	struct tkw__local local;
	const char *name;
	void *(*run)(void *arg);
	void *arg;
	struct store buffer[BUFFER];
	jmp_buf go_on;
	ucontext_t first;
};

/* One choice: the chosen option, the number of options, and which of them cost
 * 1. */
struct choice {
	uint8_t chosen;
	uint8_t count;
	uint32_t costly;
};

static struct thread threads[THREADS];
static int thread_count; /* places used in this run */
static int current;
static unsigned kept_back; /* number of stores, of all threads */
static jmp_buf back;       /* to explore_run() */
static int64_t now_ns;
static uint64_t lock_turns; /* how often any lock was taken */

static const struct explore_scenario *scenario;
static struct explore_how how;
static struct choice choices[CHOICES];
static size_t depth;  /* choices made in this run */
static size_t prefix; /* how many of them are prescribed */
static uint64_t rng;
static unsigned rarely; /* random runs: one choice in 2^rarely is unusual */

/* --- what is said -------------------------------------------------------- */

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* Leaves out the choices after the last one that is not 0. */
static void print_replay(void)
{
	size_t last = depth;

	while (last > 0 && choices[last - 1].chosen == 0)
		last--;
	printf("replay it: %s%s --replay ", how.program,
	       how.buffers ? " --store-buffers" : "");
	for (size_t i = 0; i < last; i++)
		printf("%s%u", i ? "," : "", choices[i].chosen);
	printf("%s %s\n", last ? "" : "none", scenario->name);
}

_Noreturn void explore_fail(const char *file, int line, const char *what)
{
	explore_trace_print();
	printf("%s FAILED in %s, %s:%d: %s\n", scenario->name,
	       threads[current].name, base_name(file), line, what);
	if (how.random)
		printf("seed %llu\n", (unsigned long long)how.seed);
	print_replay();
	fflush(stdout);
	_Exit(1);
}

#define fail(what) explore_fail(__FILE__, __LINE__, what)

static void say(struct explore_spot spot)
{
	if (!explore_trace_step(current, threads[current].name, spot))
		fail("it does not end");
}

/* Records a step of the running thread. */
static void note(struct explore_spot spot)
{
	say(spot);
	explore_trace_count_step(current);
}

void explore_tell(const char *what, int64_t value)
{
	note((struct explore_spot){ what, "", "", 0 });
	explore_trace_value(what, (uint64_t)value);
}

/* --- choices ------------------------------------------------------------ */

static uint64_t random_bits(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/* Chooses one of count options. The set bits of `costly` tell which of them
 * cost 1. Option 0 is the usual one. */
static unsigned choose(unsigned count, uint32_t costly)
{
	struct choice *c = &choices[depth];

	if (count == 1)
		return 0;
	if (depth == CHOICES)
		fail("it does not end");
	if (depth >= prefix) {
		c->chosen = 0;
		if (how.random && random_bits() >> (64 - rarely) == 0)
			c->chosen = (uint8_t)(random_bits() % count);
	} else if (c->chosen >= count) {
		fail("the choices do not fit this scenario");
	}
	c->count = (uint8_t)count;
	c->costly = costly;
	depth++;
	return c->chosen;
}

/* A choice that is not visible in the steps of the trace. */
static unsigned choose_besides(unsigned count, uint32_t costly)
{
	unsigned chosen = choose(count, costly);

	explore_trace_count_choice(chosen);
	return chosen;
}

/* Goes to the next order within the bound. Returns false if there is none. */
static bool next_order(void)
{
	unsigned spent = 0;

	for (size_t i = 0; i < depth; i++)
		spent += choices[i].costly >> choices[i].chosen & 1;
	while (depth > 0) {
		struct choice *c = &choices[--depth];

		spent -= c->costly >> c->chosen & 1;
		while (++c->chosen < c->count) {
			if (spent + (c->costly >> c->chosen & 1) <= how.bound) {
				prefix = depth + 1;
				return true;
			}
		}
	}
	return false;
}

/* --- stores that are kept back ------------------------------------------ */

/* Makes a store of a thread visible. */
static void write_word(int thread, struct store s)
{
	explore_trace_count_store(thread);
	if (s.size == sizeof(uint32_t))
		*(uint32_t *)s.a = (uint32_t)s.x;
	else
		*(uint64_t *)s.a = s.x;
}

/* Makes the oldest store that a thread has kept back visible. */
static void flush_one(int thread)
{
	struct thread *t = &threads[thread];

	/* This line is for the reader. It does not distinguish orders. */
	if (explore_trace_step(thread, t->name, t->buffer[0].spot))
		explore_trace_value(t->buffer[0].a, t->buffer[0].x);
	explore_memory_touch(t->buffer[0].a);
	write_word(thread, t->buffer[0]);
	t->buffered--;
	kept_back--;
	memmove(t->buffer, t->buffer + 1, t->buffered * sizeof(t->buffer[0]));
}

static void flush(void)
{
	while (threads[current].buffered > 0)
		flush_one(current);
}

/* --- threads ------------------------------------------------------------ */

/* The name of a thread consists of its place and of how often the place was
 * used before. */
static bool has_ended(int name)
{
	const struct thread *t = &threads[name % THREADS];

	return t->state == IDLE || t->uses != name / THREADS;
}

static bool can_go_on(const struct thread *t)
{
	switch (t->state) {
	case READY:
		return true;
	case LOCKING:
		return *(const uint32_t *)t->word == 0;
	case HANDING:
		return lock_turns != t->taken;
	case JOINING:
		return has_ended(t->other);
	case WAITING:
		return *(const unsigned *)t->word >= t->least;
	case SLEEPING:
		return *(const int64_t *)t->word <= now_ns;
	case PARKED:
		return t->until <= now_ns;
	case IDLE:
		break;
	}
	return false;
}

static void life(void);

static void make_context(int i)
{
	struct thread *t = &threads[i];

	getcontext(&t->first);
	/* The stack lives as long as the process. */
	t->first.uc_stack.ss_sp = malloc(STACK);
	if (t->first.uc_stack.ss_sp == NULL)
		fail("no memory for a stack");
	t->first.uc_stack.ss_size = STACK;
	makecontext(&t->first, life, 0);
	t->begun = true;
}

/* Switches from the running thread to another one. */
static void switch_to(int next)
{
	int was = current;

	if (next == was)
		return;
	current = next;
	if (_setjmp(threads[was].go_on) != 0)
		return;
	if (threads[next].begun)
		_longjmp(threads[next].go_on, 1);
	make_context(next);
	setcontext(&threads[next].first);
}

/* The time at which a thread goes on by itself, or INT64_MAX. */
static int64_t wakes_at(const struct thread *t)
{
	if (t->state == SLEEPING)
		return *(const int64_t *)t->word;
	return t->state == PARKED ? t->until : INT64_MAX;
}

/* Lets time jump to the next alarm. */
static void pass_time(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < THREADS; i++) {
		if (wakes_at(&threads[i]) < least)
			least = wakes_at(&threads[i]);
	}
	if (least == INT64_MAX)
		fail("nobody can go on, and no alarm is set");
	now_ns = least;
}

/* Lists what can go on: first the running thread, then other threads, then
 * stores. A store is THREADS + the thread that keeps it back. */
static unsigned list_ready(int *list)
{
	unsigned n = 0;

	if (can_go_on(&threads[current]))
		list[n++] = current;
	for (int i = 0; i < thread_count; i++) {
		if (i != current && can_go_on(&threads[i]))
			list[n++] = i;
	}
	for (int i = 0; n > 0 && kept_back > 0 && i < thread_count; i++) {
		/* Otherwise it could have become visible before that step. */
		if (threads[i].buffered > 0 && !explore_trace_has_stepped(i))
			list[n++] = THREADS + i;
	}
	return n;
}

/* Chooses what goes on, and switches to it. */
static void reschedule(void)
{
	int list[2 * THREADS];

	for (;;) {
		unsigned n = list_ready(list);
		uint32_t costly = 0;
		int next;

		if (n == 0) {
			pass_time();
			continue;
		}
		for (unsigned i = 1; i < n && list[0] == current; i++)
			costly |= (uint32_t)(list[i] < THREADS) << i;
		next = list[choose(n, costly)];
		if (next < THREADS) {
			switch_to(next);
			threads[current].state = READY;
			return;
		}
		flush_one(next - THREADS);
	}
}

/* Makes the stores that were kept back visible. Other threads may run before
 * that. This is not a step of the program, and not part of the order. */
static void flush_in_time(struct explore_spot s)
{
	if (threads[current].buffered > 0) {
		reschedule();
		say(s);
	}
	flush();
}

static void block(enum state state, const void *word)
{
	flush_in_time(EXPLORE_SPOT("is about to wait", ""));
	threads[current].state = state;
	threads[current].word = word;
	reschedule();
}

/* The whole life of a thread's stack. It does one piece of work after
 * another. */
static void life(void)
{
	for (;;) {
		struct thread *t = &threads[current];

		t->run(t->arg);
		flush_in_time(EXPLORE_SPOT("is about to end", ""));
		t->state = IDLE;
		if (current == 0)
			/* The scenario is over. This stack stays as it is. */
			if (_setjmp(t->go_on) == 0)
				_longjmp(back, 1);
		if (t->state == IDLE)
			reschedule();
	}
}

int explore_spawn(const char *name, void *(*run)(void *arg), void *arg)
{
	int i = 0;

	/* The new thread sees everything that happened before. */
	flush_in_time(EXPLORE_SPOT("is about to make a thread", ""));
	while (i < THREADS && threads[i].state != IDLE)
		i++;
	if (i == THREADS)
		fail("too many threads");
	if (thread_count <= i) {
		thread_count = i + 1;
		threads[i].uses = 0;
	}
	threads[i].uses++;
	threads[i].name = name;
	threads[i].run = run;
	threads[i].arg = arg;
	threads[i].state = READY;
	threads[i].local = (struct tkw__local){ .number = (uint32_t)i + 1 };
	return threads[i].uses * THREADS + i;
}

void explore_join(int thread)
{
	threads[current].other = thread;
	note(EXPLORE_SPOT("joins", ""));
	block(JOINING, NULL);
}

void explore_point(struct explore_spot s)
{
	reschedule();
	note(s);
}

void explore_yield(void)
{
	explore_point(EXPLORE_SPOT("yields", ""));
}

void explore_await(const unsigned *count, unsigned least)
{
	threads[current].least = least;
	block(WAITING, count);
	note(EXPLORE_SPOT("has waited", ""));
}

int64_t explore_now(void)
{
	return now_ns;
}

struct tkw__local *explore_local(void)
{
	return &threads[current].local;
}

/* --- operations --------------------------------------------------------- */

/* A thread reads its own store if it has kept one back. */
#define DEFINE_LOAD(bits)                                                      \
	uint##bits##_t explore_load##bits(struct explore_spot s,               \
					  const uint##bits##_t *a)             \
	{                                                                      \
		const struct thread *t = &threads[current];                    \
		uint##bits##_t x;                                              \
                                                                               \
		explore_point(s);                                              \
		explore_memory_touch(a);                                       \
		x = *a;                                                        \
		for (unsigned i = 0; i < t->buffered; i++) {                   \
			if (t->buffer[i].a == a)                               \
				x = (uint##bits##_t)t->buffer[i].x;            \
		}                                                              \
		explore_trace_value(a, x);                                     \
		return x;                                                      \
	}
DEFINE_LOAD(32)
DEFINE_LOAD(64)

static void store(struct store st, enum explore_order order)
{
	struct thread *t = &threads[current];

	explore_point(st.spot);
	explore_trace_value(st.a, st.x);
	explore_memory_touch(st.a);
	if (order == EXPLORE_SEQ_CST || !how.buffers)
		flush();
	/* If a store is kept back, all later stores are kept back, too. */
	if (how.buffers && order != EXPLORE_SEQ_CST && t->buffered < BUFFER &&
	    (t->buffered > 0 || choose(2, 2) == 1)) {
		explore_trace_rename("keep back");
		t->buffer[t->buffered++] = st;
		kept_back++;
	} else {
		flush();
		write_word(current, st);
	}
}

void explore_store32(struct explore_spot s, uint32_t *a, uint32_t x,
		     enum explore_order order)
{
	store((struct store){ a, sizeof(*a), x, s }, order);
}

void explore_store64(struct explore_spot s, uint64_t *a, uint64_t x,
		     enum explore_order order)
{
	store((struct store){ a, sizeof(*a), x, s }, order);
}

/* Read, modify and write. This makes all stores of the thread visible. */
#define DEFINE_RMW(bits)                                                       \
	uint##bits##_t explore_rmw##bits(struct explore_spot s,                \
					 uint##bits##_t *a, uint##bits##_t x,  \
					 enum explore_rmw rmw)                 \
	{                                                                      \
		uint##bits##_t was;                                            \
                                                                               \
		explore_point(s);                                              \
		flush();                                                       \
		explore_memory_touch(a);                                       \
		was = *a;                                                      \
		*a = rmw == EXPLORE_ADD   ? was + x                            \
		     : rmw == EXPLORE_SUB ? was - x                            \
					  : x;                                 \
		explore_trace_value(a, was);                                   \
		return was;                                                    \
	}
DEFINE_RMW(32)
DEFINE_RMW(64)

#define DEFINE_CAS(bits)                                                       \
	bool explore_cas##bits(struct explore_spot s, uint##bits##_t *a,       \
			       uint##bits##_t *was, uint##bits##_t x)          \
	{                                                                      \
		explore_point(s);                                              \
		flush();                                                       \
		explore_memory_touch(a);                                       \
		explore_trace_value(a, *a);                                    \
		if (*a != *was) {                                              \
			*was = *a;                                             \
			return false;                                          \
		}                                                              \
		*a = x;                                                        \
		return true;                                                   \
	}
DEFINE_CAS(32)
DEFINE_CAS(64)

bool explore_fence_all(struct explore_spot s)
{
	explore_point(s);
	for (int i = 0; i < THREADS; i++) {
		while (threads[i].buffered > 0)
			flush_one(i);
	}
	return true;
}

static void park_until(struct explore_spot s, const uint32_t *a, uint32_t value,
		       int64_t until)
{
	explore_point(s);
	flush();
	explore_memory_touch(a);
	explore_trace_value(a, *a);
	if (*a != value || choose_besides(2, 2) == 1)
		return;
	threads[current].until = until;
	block(PARKED, a);
	note((struct explore_spot){ "is unparked", s.object, s.file, s.line });
}

void explore_park(struct explore_spot s, const uint32_t *a, uint32_t value)
{
	park_until(s, a, value, INT64_MAX);
}

void explore_park_for(struct explore_spot s, const uint32_t *a, uint32_t value,
		      int64_t ns)
{
	park_until(s, a, value, now_ns + ns);
}

void explore_unpark(struct explore_spot s, const uint32_t *a, bool all)
{
	int parked[THREADS];
	unsigned n = 0;

	explore_point(s);
	flush();
	/* Do not read the value: the thread that parked may have freed it. */
	explore_trace_value(a, 0);
	for (int i = 0; i < THREADS; i++) {
		if (threads[i].state == PARKED && threads[i].word == a)
			parked[n++] = i;
	}
	if (!all && n > 1) {
		parked[0] = parked[choose_besides(n, 0)];
		n = 1;
	}
	while (n-- > 0)
		threads[parked[n]].state = READY;
}

void explore_lock_take(struct explore_spot s, uint32_t *holder)
{
	explore_point(s);
	flush();
	explore_memory_touch(holder);
	while (*holder != 0) {
		explore_trace_value(holder, *holder);
		block(LOCKING, holder);
		note((struct explore_spot){ "gets", s.object, s.file, s.line });
	}
	*holder = (uint32_t)current + 1;
	explore_trace_value(holder, *holder);
	lock_turns++;
}

bool explore_lock_try(struct explore_spot s, uint32_t *holder)
{
	explore_point(s);
	flush();
	explore_memory_touch(holder);
	explore_trace_value(holder, *holder);
	if (*holder != 0)
		return false;
	*holder = (uint32_t)current + 1;
	lock_turns++;
	return true;
}

void explore_lock_drop(struct explore_spot s, uint32_t *holder)
{
	flush_in_time(EXPLORE_SPOT("is about to drop", s.object));
	note(s);
	explore_trace_value(holder, *holder);
	if (*holder != (uint32_t)current + 1)
		fail("a lock is dropped by who does not hold it");
	*holder = 0;
}

void explore_lock_let_in(struct explore_spot s, uint32_t *holder)
{
	bool wanted = false;

	for (int i = 0; i < THREADS; i++)
		wanted |= threads[i].state == LOCKING &&
			  threads[i].word == holder;
	if (!wanted)
		return;
	explore_lock_drop(s, holder);
	threads[current].taken = lock_turns;
	block(HANDING, NULL);
	explore_lock_take(s, holder);
}

void explore_wait_until(struct explore_spot s, const int64_t *at)
{
	explore_point(s);
	if (*at > now_ns)
		block(SLEEPING, at);
	note(EXPLORE_SPOT("wakes at", ""));
	explore_trace_value(at, (uint64_t)now_ns);
}

void explore_sleep_until(int64_t at_ns)
{
	explore_wait_until(EXPLORE_SPOT("sleeps", ""), &at_ns);
}

/* --- runs ---------------------------------------------------------------- */

static void *run_scenario(void *arg)
{
	(void)arg;
	scenario->run();
	return NULL;
}

static void begin_run(void)
{
	depth = 0;
	now_ns = EXPLORE_START_NS;
	current = 0;
	thread_count = 0;
	threads[0].state = IDLE;
	explore_trace_begin();
	explore_memory_begin();
	/* Runs with few changes find other bugs than runs with many. */
	if (how.random)
		rarely = 1 + (unsigned)(random_bits() >> 32) % 6;
	explore_spawn("main", run_scenario, NULL);
}

static void run_once(void)
{
	const char *broken;

	begin_run();
	if (_setjmp(back) == 0) {
		if (threads[0].begun)
			_longjmp(threads[0].go_on, 1);
		make_context(0);
		setcontext(&threads[0].first);
	}
	for (int i = 0; i < THREADS; i++) {
		if (threads[i].state != IDLE)
			fail("a thread was left behind");
	}
	broken = explore_memory_end();
	if (broken)
		fail(broken);
}

/* Adds the order of the last run to the set, if it is not in it. */
static void remember(struct explore_seen *seen)
{
	uint64_t mask = (UINT64_C(1) << seen->bits) - 1;
	uint64_t key = explore_trace_hash() | 1;
	uint64_t i = key >> 20 & mask;

	while (seen->hash[i] != 0) {
		if (seen->hash[i] == key)
			return;
		i = (i + 1) & mask;
	}
	seen->hash[i] = key;
	seen->count++;
}

struct explore_result explore_run(const struct explore_scenario *sc,
				  const struct explore_how *h,
				  struct explore_seen *seen)
{
	struct explore_result r = { .runs = 0 };

	scenario = sc;
	how = *h;
	prefix = how.replay_count;
	for (size_t i = 0; i < prefix; i++)
		choices[i].chosen = how.replay[i];
	rng = how.seed * 0x9e3779b97f4a7c15 + 1;
	do {
		run_once();
		remember(seen);
		if (how.replay)
			explore_trace_print();
		r.runs++;
		r.all = !how.random && !next_order();
	} while (!r.all && seen->count < how.until && r.runs < how.runs);
	return r;
}
