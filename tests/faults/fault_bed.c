/* SPDX-License-Identifier: MIT */
/* fault_bed.c - what the fault tests share. */
#include "fault_bed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tickwheel/stats.h"

int fault_manual = TKW_DRIVE_MANUAL;
int fault_thread = TKW_DRIVE_THREAD;

_Noreturn void fault_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
	abort();
}

int fault_drive(void **state)
{
	return *(const int *)*state;
}

/* --- random numbers ---------------------------------------------------- */

uint64_t fault_seed(void)
{
	const char *given = getenv("TKW_SEED");
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* A counter with a mixing function. Every state is a good one. */
uint64_t fault_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

uint64_t fault_below(uint64_t *state, uint64_t below)
{
	return fault_random(state) % below;
}

struct tkw_ledger fault_ledger(struct tkw_timer *t)
{
	const char *broken = tkw_timer_check(t);
	struct tkw_ledger l;

	if (broken)
		fault_fail(__FILE__, __LINE__, broken);
	memset(&l, 0xff, sizeof(l));
	must(tkw_timer_get_ledger(t, &l) == 0);
	must(l.accepted ==
	     l.fired + l.cancelled + l.dropped + l.handed_over + l.pending);
	return l;
}

/* --- gates and threads ------------------------------------------------- */

void fault_gate_init(struct fault_gate *g)
{
	const struct fault_gate shut = FAULT_GATE_INIT;

	*g = shut;
}

void fault_gate_open(struct fault_gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->opened);
	pthread_mutex_unlock(&g->lock);
}

void fault_gate_wait(struct fault_gate *g)
{
	pthread_mutex_lock(&g->lock);
	while (!g->open)
		pthread_cond_wait(&g->opened, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

bool fault_gate_is_open(struct fault_gate *g)
{
	bool open;

	pthread_mutex_lock(&g->lock);
	open = g->open;
	pthread_mutex_unlock(&g->lock);
	return open;
}

void fault_spawn(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	must(pthread_create(thread, NULL, run, arg) == 0);
}

void fault_join(pthread_t thread)
{
	must(pthread_join(thread, NULL) == 0);
}

void fault_give_way(void)
{
	sched_yield();
}

void fault_await(atomic_ulong *counter, unsigned long least)
{
	while (atomic_load(counter) < least)
		fault_give_way();
}

void fault_throttle(atomic_ulong *made, atomic_ulong *done, unsigned long most)
{
	while (atomic_load(made) > atomic_load(done) + most)
		fault_give_way();
}

/* The state follows the name, which is in parentheses and may contain any
 * character. */
static char thread_state(pid_t tid)
{
	char path[64];
	char text[256];
	const char *end = NULL;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '?';
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n > 0) {
		text[n] = '\0';
		end = strrchr(text, ')');
	}
	return end && end[1] == ' ' ? end[2] : '?';
}

void fault_await_sleep(pid_t tid, atomic_bool *over)
{
	while (!atomic_load(over) && thread_state(tid) != 'S')
		fault_give_way();
}

/* --- memory ------------------------------------------------------------ */

void fault_memory_plan(struct fault_memory *m, unsigned long at, bool on)
{
	atomic_store(&m->calls, 0);
	atomic_store(&m->refused, 0);
	atomic_store(&m->refuse_at, at);
	atomic_store(&m->refuse_on, on);
}

bool fault_memory_refuses(struct fault_memory *m)
{
	const unsigned long call = atomic_fetch_add(&m->calls, 1) + 1;
	const unsigned long at = atomic_load(&m->refuse_at);

	if (at == 0 || call < at || (call > at && !atomic_load(&m->refuse_on)))
		return false;
	atomic_fetch_add(&m->refused, 1);
	return true;
}

void fault_memory_note(struct fault_memory *m, size_t bytes)
{
	unsigned long now = atomic_fetch_add(&m->live_bytes, bytes) + bytes;
	unsigned long peak = atomic_load(&m->peak_bytes);

	atomic_fetch_add(&m->live, 1);
	while (peak < now &&
	       !atomic_compare_exchange_weak(&m->peak_bytes, &peak, now))
		;
}

void fault_memory_forget(struct fault_memory *m, size_t bytes)
{
	must(atomic_fetch_sub(&m->live_bytes, bytes) >= bytes);
	must(atomic_fetch_sub(&m->live, 1) >= 1);
}

static void *hook_alloc(size_t bytes, size_t align, void *ctx)
{
	struct fault_memory *m = ctx;
	void *mem = NULL;

	must(bytes > 0 && align > 0 && (align & (align - 1)) == 0);
	if (fault_memory_refuses(m))
		return NULL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	must(posix_memalign(&mem, align, bytes) == 0);
	/* The library must not rely on zeros. */
	memset(mem, FAULT_FILL, bytes);
	fault_memory_note(m, bytes);
	return mem;
}

static void hook_free(void *mem, size_t bytes, void *ctx)
{
	must(mem != NULL);
	fault_memory_forget(ctx, bytes);
	free(mem);
}

void fault_memory_hooks(struct fault_memory *m, struct tkw_timer_hooks *hooks)
{
	memset(m, 0, sizeof(*m));
	hooks->ctx = m;
	hooks->alloc = hook_alloc;
	hooks->free = hook_free;
}

/* --- a timer on the real clock ----------------------------------------- */

int64_t fault_monotonic_ns(void)
{
	struct timespec ts;

	must(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return ts.tv_sec * TKW_SEC + ts.tv_nsec;
}

/* Sleeps like an event loop, but at most 100 us, because a thread may schedule
 * an earlier timeout meanwhile. */
static void sleep_until(struct fault_pump *p, int64_t next_ns)
{
	struct timespec nap = { 0, 100000 };
	const int64_t left_ns = next_ns - tkw_timer_now_ns(p->t);

	if (left_ns <= 0)
		return;
	if (left_ns < nap.tv_nsec)
		nap.tv_nsec = (long)left_ns;
	nanosleep(&nap, NULL);
}

static void *run_turns(void *arg)
{
	struct fault_pump *p = arg;
	int64_t next_ns;
	int ran;

	while (!atomic_load(&p->over)) {
		ran = tkw_timer_turn(p->t, 0, &next_ns);
		if (ran == -ESHUTDOWN)
			break;
		must(ran >= 0);
		sleep_until(p, next_ns);
	}
	return NULL;
}

void fault_pump_open(struct fault_pump *p, int drive,
		     const struct tkw_timer_config *cfg)
{
	struct tkw_timer_config c;

	memset(&c, 0, sizeof(c));
	if (cfg)
		c = *cfg;
	c.size = sizeof(c);
	c.drive = drive;
	memset(p, 0, sizeof(*p));
	p->drive = drive;
	must(tkw_timer_create(&p->t, &c) == 0);
	if (drive == TKW_DRIVE_MANUAL)
		fault_spawn(&p->thread, run_turns, p);
}

void fault_pump_halt(struct fault_pump *p)
{
	if (p->drive == TKW_DRIVE_MANUAL && !atomic_load(&p->over)) {
		atomic_store(&p->over, true);
		fault_join(p->thread);
	}
}

void fault_pump_close(struct fault_pump *p)
{
	fault_pump_halt(p);
	fault_ledger(p->t);
	must(tkw_timer_destroy(p->t) == 0);
	p->t = NULL;
}

/* --- children ---------------------------------------------------------- */

static void read_all(int fd, char *out, size_t size)
{
	char rest[256];
	size_t have = 0;
	ssize_t n;

	for (;;) {
		if (have + 1 < size)
			n = read(fd, out + have, size - 1 - have);
		else
			n = read(fd, rest, sizeof(rest));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (have + 1 < size)
			have += (size_t)n;
	}
	out[have] = '\0';
}

int fault_child(const char *name, const char *extra, char *out, size_t size)
{
	char program[] = "fault";
	char flag[] = "--child";
	char *args[] = { program, flag, strdup(name), strdup(extra), NULL };
	posix_spawn_file_actions_t actions;
	int ends[2];
	int status;
	pid_t pid;

	must(args[2] && args[3]);
	fflush(NULL);
	must(pipe2(ends, O_CLOEXEC) == 0);
	must(posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0);
	must(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, args,
			 environ) == 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	read_all(ends[0], out, size);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0)
		must(errno == EINTR);
	free(args[2]);
	free(args[3]);
	return status;
}

int fault_wait(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR);
	return status;
}

void fault_reap(pid_t child)
{
	must(fault_wait(child) == 0);
}

static void inert_task(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	(void)ctx;
	fault_fail(__FILE__, __LINE__, "a parent's timer runs no task here");
}

/* The calls that take no id. */
static void expect_inert_timer(struct tkw_timer *t)
{
	const struct tkw_task task = { .fn = inert_task };
	const struct tkw_batch_item item = { .task = task };
	static struct tkw_stats stats;
	struct tkw_ledger l = { .accepted = 7 };
	struct tkw_timeout_id id = { 7 };
	char text[8] = "as is";

	must(tkw_timer_start(t) == -EPERM);
	must(tkw_timer_schedule(t, &task, 0, &id) == -EPERM);
	must(tkw_timer_schedule_at(t, &task, 0, &id) == -EPERM);
	must(tkw_timer_schedule_batch(t, &item, 1, &id) == -EPERM);
	must(tkw_timer_schedule_batch_at(t, &item, 1, &id) == -EPERM);
	must(tkw_timer_get_ledger(t, &l) == -EPERM);
	must(tkw_timer_get_stats(t, &stats) == -EPERM);
	must(tkw_timer_print(t, text, sizeof(text)) == -EPERM);
	must(tkw_timer_stop(t, NULL, NULL) == -EPERM);
	must(tkw_timer_check(t) != NULL);
	must(tkw_timer_count(t) == 0);
	must(id.bits == 7 && l.accepted == 7 && strcmp(text, "as is") == 0);
	/* These calls cannot refuse, but they must not hang. */
	(void)tkw_timer_is_stopped(t);
	(void)tkw_timer_now_ns(t);
	(void)tkw_timer_tick_ns(t);
}

/* The calls that only some drives support. */
static void expect_inert_drive(struct tkw_timer *t)
{
	int64_t next_ns = 7;
	int turn = tkw_timer_turn(t, 0, &next_ns);
	int wait_idle = tkw_timer_wait_idle(t, TKW_NEVER_NS);
	int fd = tkw_timer_fd(t);

	must(turn == -EPERM || turn == -EINVAL);           /* it has a thread */
	must(wait_idle == -EPERM || wait_idle == -EINVAL); /* it has none */
	must(fd == -EPERM || fd == -EINVAL);
	must(tkw_timer_next_turn(t, &next_ns) == -EPERM);
	must(next_ns == 7);
}

void fault_expect_inert(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw_timeout_info info = { .id = { 7 } };
	char text[8] = "as is";
	int result = 7;

	expect_inert_timer(t);
	expect_inert_drive(t);
	must(tkw_timer_cancel(t, id) == -EPERM);
	must(tkw_timer_cancel_batch(t, &id, 1, &result) == -EPERM);
	must(tkw_timer_cancel_wait(t, id) == -EPERM);
	must(tkw_timer_reschedule(t, id, 0) == -EPERM);
	must(tkw_timer_reschedule_at(t, id, 0) == -EPERM);
	must(tkw_timer_get(t, id, &info) == -EPERM);
	must(tkw_timer_print_timeout(t, id, text, sizeof(text)) == -EPERM);
	must(info.id.bits == 7 && result == 7 && strcmp(text, "as is") == 0);
}
