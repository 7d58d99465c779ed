/* SPDX-License-Identifier: MIT */
/*
 * fault_fd.c - fault 40: somebody closes the timer's file descriptor, for
 * example a daemon that closes all descriptors.
 *
 * If the worker sleeps at that time, it sleeps on in the kernel, and nobody can
 * reach it. When it wakes up, it goes on without the descriptor. The tests look
 * where it sleeps, and wake it by a second descriptor of the same timerfd.
 */
#include "fault_bed.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tickwheel/lease.h"
#include "tickwheel/stats.h"

#define HOUR_NS (3600 * TKW_SEC)

/* --- where the worker sleeps --------------------------------------------- */

/*
 * The linker (--wrap) sends each wait of the library here. The assembler names
 * are needed because C reserves names with two underscores.
 */
#define NAMED(name) __asm__(name)
struct tkw__a32;
ssize_t real_read(int fd, void *buf, size_t size) NAMED("__real_read");
ssize_t wrap_read(int fd, void *buf, size_t size) NAMED("__wrap_read");
void real_testcancel(void) NAMED("__real_pthread_testcancel");
void wrap_testcancel(void) NAMED("__wrap_pthread_testcancel");
void real_park(struct tkw__a32 *a, uint32_t value) NAMED("__real_tkw__park");
void wrap_park(struct tkw__a32 *a, uint32_t value) NAMED("__wrap_tkw__park");
void real_park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
	NAMED("__real_tkw__park_for");
void wrap_park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
	NAMED("__wrap_tkw__park_for");

enum place {
	AWAKE,
	IN_READ,    /* it reads the descriptor */
	IN_PARK,    /* it is parked without a bound */
	IN_PARK_FOR /* it is parked with a bound */
};

static _Thread_local bool is_worker;
static atomic_int worker_is; /* a value of enum place */
static atomic_int worker_tid;

static void worker_goes(enum place place)
{
	if (is_worker)
		atomic_store(&worker_is, (int)place);
}

/* A cancelled worker leaves its stack, and AddressSanitizer does not notice. */
static void leave_stack(void *unused)
{
	(void)unused;
#ifdef FAULT_ASAN
	__asan_handle_no_return();
#endif
}

ssize_t wrap_read(int fd, void *buf, size_t size)
{
	ssize_t n;

	worker_goes(IN_READ);
	pthread_cleanup_push(leave_stack, NULL);
	n = real_read(fd, buf, size);
	pthread_cleanup_pop(0);
	worker_goes(AWAKE);
	return n;
}

void wrap_testcancel(void)
{
	pthread_cleanup_push(leave_stack, NULL);
	real_testcancel();
	pthread_cleanup_pop(0);
}

void wrap_park(struct tkw__a32 *a, uint32_t value)
{
	worker_goes(IN_PARK);
	real_park(a, value);
	worker_goes(AWAKE);
}

void wrap_park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
{
	worker_goes(IN_PARK_FOR);
	real_park_for(a, value, ns);
	worker_goes(AWAKE);
}

/* Waits until the worker sleeps in that place. */
static void await_worker(enum place place)
{
	while (atomic_load(&worker_is) != (int)place ||
	       !bed_is_asleep(atomic_load(&worker_tid)))
		fault_give_way();
}

/* --- threads of the user's ----------------------------------------------- */

struct threads {
	atomic_ulong made;
	atomic_ulong joined;
	atomic_ulong cancelled; /* how many of them were cancelled */
};

static int make_thread(void *(*run)(void *arg), void *arg, void **handle,
		       struct threads *all)
{
	pthread_t *thread = malloc(sizeof(*thread));

	must(thread && pthread_create(thread, NULL, run, arg) == 0);
	atomic_fetch_add(&all->made, 1);
	*handle = thread;
	return 0;
}

static void join_thread(void *handle, struct threads *all)
{
	void *result = all;

	must(pthread_join(*(pthread_t *)handle, &result) == 0);
	must(result == NULL || result == PTHREAD_CANCELED);
	atomic_fetch_add(&all->cancelled, result == PTHREAD_CANCELED);
	atomic_fetch_add(&all->joined, 1);
	free(handle);
}

/* --- a timer that can be robbed ------------------------------------------ */

struct robbed {
	struct tkw_timer *t;
	int fd; /* the timer's */
	atomic_ulong fired;
	atomic_ulong cancelled;
	atomic_ulong lines; /* lines in the log */
	struct threads threads;
	int64_t now_ns; /* the test's own clock */
};

static struct robbed robbed;

static void fire(const struct tkw_firing *f, void *ctx)
{
	struct robbed *r = ctx;

	must(f->timer == r->t);
	atomic_fetch_add(&r->fired, 1);
}

static void end(void *ctx)
{
	atomic_fetch_add(&((struct robbed *)ctx)->cancelled, 1);
}

static const struct tkw_task task = { .fn = fire,
				      .ctx = &robbed,
				      .on_cancel = end };

static void note_line(const char *line, void *ctx)
{
	struct robbed *r = ctx;

	must(strstr(line, "file descriptor") != NULL);
	atomic_fetch_add(&r->lines, 1);
}

static int hook_create(void *(*run)(void *arg), void *arg, void **handle,
		       void *ctx)
{
	return make_thread(run, arg, handle, &((struct robbed *)ctx)->threads);
}

static void hook_join(void *handle, void *ctx)
{
	join_thread(handle, &((struct robbed *)ctx)->threads);
}

static int64_t hook_now(void *ctx)
{
	return ((struct robbed *)ctx)->now_ns;
}

/* Returns the only timerfd of the process. */
static int find_timerfd(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	int found = -1;

	must(dir != NULL);
	while ((e = readdir(dir)) != NULL) {
		char file[64] = "";

		if (readlinkat(dirfd(dir), e->d_name, file, sizeof(file) - 1) >
			    0 &&
		    strcmp(file, "anon_inode:[timerfd]") == 0) {
			must(found < 0);
			found = (int)strtol(e->d_name, NULL, 10);
		}
	}
	closedir(dir);
	must(found >= 0);
	return found;
}

/*
 * Closes the descriptor, or puts another one in its place. It uses system calls
 * that ThreadSanitizer does not know. Otherwise it would report that the
 * descriptor is closed while a thread reads it, which is the point of this
 * test.
 */
static void rob(void)
{
	must(syscall(SYS_close, robbed.fd) == 0);
}

static void replace_by(int fd)
{
	must(syscall(SYS_dup3, fd, robbed.fd, O_CLOEXEC) == robbed.fd);
}

static struct tkw_timer_hooks hooks_of(bool threads, bool clock)
{
	struct tkw_timer_hooks hooks = { .log = note_line, .ctx = &robbed };

	if (threads) {
		hooks.thread_create = hook_create;
		hooks.thread_join = hook_join;
	}
	if (clock)
		hooks.now = hook_now;
	return hooks;
}

static void open_with(struct tkw_timer_config cfg,
		      const struct tkw_timer_hooks *hooks)
{
	memset(&robbed, 0, sizeof(robbed));
	robbed.now_ns = 1000 * TKW_SEC;
	cfg.size = sizeof(cfg);
	cfg.shards = 1;
	cfg.hooks = hooks;
	must(tkw_timer_create(&robbed.t, &cfg) == 0);
	robbed.fd = find_timerfd();
}

/* The first task tells the tests which thread is the worker. */
static void show_worker(const struct tkw_firing *f, void *ctx)
{
	is_worker = true;
	atomic_store(&worker_is, AWAKE);
	atomic_store(&worker_tid, (int)syscall(SYS_gettid));
	fire(f, ctx);
}

static void start_worker(void)
{
	const struct tkw_task first = { .fn = show_worker, .ctx = &robbed };

	must(tkw_timer_schedule(robbed.t, &first, 0, NULL) == 0);
	fault_await(&robbed.fired, 1);
}

/* The variants of a timer with a thread. */
struct kind {
	bool threads; /* the thread hooks are used */
	bool clock;   /* the clock hook is used */
	int watchdog;
};

static struct kind plain;
static struct kind by_hooks = { .threads = true };
static struct kind own_clock = { .clock = true };
static struct kind watched = { .threads = true, .watchdog = 1 };

#define EACH_KIND(name)                                                        \
	{ #name, name, NULL, NULL, &plain },                                   \
		{ #name " (thread hooks)", name, NULL, NULL, &by_hooks },      \
		{ #name " (own clock)", name, NULL, NULL, &own_clock },        \
	{                                                                      \
#name " (watchdog)", name, NULL, NULL, &watched                \
	}

/* Opens a timer with a limit, and waits until its worker runs. */
static void open_thread(const struct kind *k, int64_t max_pending)
{
	const struct tkw_timer_hooks hooks = hooks_of(k->threads, k->clock);
	const struct tkw_timer_config cfg = {
		.max_pending = max_pending,
		.slow_task_ns = k->watchdog ? HOUR_NS : 0,
		.watchdog = k->watchdog,
	};

	open_with(cfg, &hooks);
	start_worker();
}

/* Destroys the timer, and checks whether its worker had to be cancelled. */
static void close_thread(const struct kind *k, bool cancelled)
{
	struct tkw_ledger l = fault_ledger(robbed.t);
	unsigned long ended = robbed.cancelled;

	must(tkw_timer_destroy(robbed.t) == 0);
	must(robbed.cancelled == ended + l.pending);
	must(robbed.fired == l.fired);
	if (k->threads) {
		must(robbed.threads.made == (k->watchdog ? 2 : 1));
		must(robbed.threads.joined == robbed.threads.made);
		must(robbed.threads.cancelled == cancelled);
	}
}

static struct tkw_timeout_id schedule(int64_t delay_ns)
{
	struct tkw_timeout_id id;

	must(tkw_timer_schedule(robbed.t, &task, delay_ns, &id) == 0);
	return id;
}

/*
 * Schedules a timeout in an hour, and waits until the worker sleeps until then.
 *
 * The worker sleeps before, so it is this thread that sets the alarm to that
 * time. A worker that sets it sometimes wakes up earlier, to move the timeout
 * to a finer ring of the wheel. With the test's clock it is the worker that
 * sets the alarm, but the time of that clock is not near such a moment.
 */
static struct tkw_timeout_id sleep_for_an_hour(const struct kind *k)
{
	struct tkw_timeout_id id;

	await_worker(IN_READ);
	if (k->clock)
		atomic_store(&worker_is, AWAKE);
	id = schedule(HOUR_NS);
	await_worker(IN_READ);
	return id;
}

/* Schedules a timeout that is due soon, and waits until it fires. */
static void expect_fire(int64_t delay_ns)
{
	unsigned long before = robbed.fired;

	schedule(delay_ns);
	fault_await(&robbed.fired, before + 1);
	must(robbed.fired == before + 1);
}

/* --- what is refused leaves no trace ------------------------------------- */

struct facts {
	struct tkw_stats stats;
	struct tkw_timeout_info info;
	uint64_t count;
};

static void get_facts(struct facts *f, struct tkw_timeout_id id)
{
	memset(f, 0, sizeof(*f));
	must(tkw_timer_get_stats(robbed.t, &f->stats) == 0);
	must(tkw_timer_get(robbed.t, id, &f->info) == 0);
	f->count = tkw_timer_count(robbed.t);
	(void)fault_ledger(robbed.t);
}

/* If the error is another one, prints where the worker is. */
static void expect_badf(int err, size_t delay)
{
	if (err != -EBADF)
		fprintf(stderr, "%d for delay %zu; the worker is at %d%s\n",
			err, delay, atomic_load(&worker_is),
			bed_is_asleep(worker_tid) ? ", asleep" : "");
	must(err == -EBADF);
}

/* Checks that each call is refused that needs the worker earlier than it would
 * wake up by itself. */
static void expect_refused(struct tkw_timeout_id far)
{
	static const int64_t delays_ns[] = { -1, 0, 1, TKW_MSEC, HOUR_NS / 2 };
	static struct facts before;
	static struct facts after;
	const int64_t now_ns = tkw_timer_now_ns(robbed.t);
	struct tkw_batch_item items[3] = { { task, 3 * HOUR_NS },
					   { task, 0 },
					   { task, TKW_NEVER_NS } };
	struct tkw_timeout_id ids[3] = { { 7 }, { 7 }, { 7 } };
	const size_t i_max = sizeof(delays_ns) / sizeof(delays_ns[0]);
	struct tkw_timer *t = robbed.t;
	size_t i;

	get_facts(&before, far);
	for (i = 0; i < i_max; i++) {
		const int64_t ns = delays_ns[i];

		expect_badf(tkw_timer_schedule(t, &task, ns, ids), i);
		expect_badf(tkw_timer_schedule_at(t, &task, now_ns + ns, ids),
			    i);
		items[1].when_ns = ns;
		expect_badf(tkw_timer_schedule_batch(t, items, 3, ids), i);
		items[1].when_ns = now_ns + ns;
		expect_badf(tkw_timer_schedule_batch_at(t, items, 3, ids), i);
		expect_badf(tkw_timer_reschedule(t, far, ns), i);
		expect_badf(tkw_timer_reschedule_at(t, far, now_ns + ns), i);
	}
	for (i = 0; i < 3; i++)
		must(ids[i].bits == 7);
	get_facts(&after, far);
	/* All refusals but those of reschedule are counted. Nothing else has
	 * changed. */
	must(after.stats.refused_lost == before.stats.refused_lost + 4 * i_max);
	after.stats.refused_lost = before.stats.refused_lost;
	must(memcmp(&before.stats, &after.stats, sizeof(before.stats)) == 0);
	must(before.info.id.bits == after.info.id.bits);
	must(before.info.state == after.info.state);
	must(before.info.deadline_ns == after.info.deadline_ns);
	must(before.count == after.count);
	must(robbed.cancelled == 0);
}

/* Fault 40: the worker sleeps for an hour. */
static void fault_40_who_cannot_be_woken_is_not_needed(void **state)
{
	const struct kind *k = *state;
	struct tkw_timeout_id far;
	struct tkw_timeout_id later;

	open_thread(k, 5);
	far = sleep_for_an_hour(k);
	rob();
	must(robbed.lines == 0);
	expect_refused(far);
	must(robbed.lines == 1);
	/* No place is lost: timeouts for which the worker wakes up by itself
	 * anyway are accepted. */
	later = schedule(HOUR_NS);
	schedule(2 * HOUR_NS);
	schedule(TKW_NEVER_NS);
	must(tkw_timer_reschedule(robbed.t, later, HOUR_NS + TKW_SEC) == 0);
	must(tkw_timer_reschedule(robbed.t, later, HOUR_NS) == 0);
	schedule(2 * HOUR_NS);
	must(tkw_timer_schedule(robbed.t, &task, 2 * HOUR_NS, NULL) == -EAGAIN);
	must(tkw_timer_cancel(robbed.t, later) == 0);
	must(tkw_timer_cancel_wait(robbed.t, far) == 0);
	/* The worker still wakes up at the time of the cancelled timeout. */
	must(tkw_timer_schedule(robbed.t, &task, 0, NULL) == -EBADF);
	schedule(HOUR_NS);
	must(tkw_timer_wait_idle(robbed.t, 0) == -ETIMEDOUT);
	must(robbed.lines == 1);
	must(robbed.fired == 1);
	close_thread(k, true);
}

static void renew_nothing(struct tkw_lease *leases, size_t count, void *ctx)
{
	(void)leases;
	(void)count;
	(void)ctx;
	must(0);
}

/* Fault 40: a lease that would be renewed too late is refused. */
static void fault_40_a_lease_that_is_not_seen_to_is_refused(void **state)
{
	const struct kind *k = *state;
	struct tkw_leases_config cfg = { .lease_ns = 6 * HOUR_NS,
					 .renew_after_ns = 2 * HOUR_NS,
					 .renew = renew_nothing };
	struct tkw_lease_id id[3] = { { 7 }, { 7 }, { 7 } };
	struct tkw_leases *ls;
	int64_t now_ns;

	open_thread(k, 0);
	cfg.timer = robbed.t;
	must(tkw_leases_create(&ls, &cfg) == 0);
	now_ns = tkw_timer_now_ns(robbed.t);
	must(tkw_leases_add(ls, NULL, now_ns, &id[0]) == 0);
	await_worker(IN_READ);
	rob();
	must(tkw_leases_add(ls, NULL, now_ns - HOUR_NS, &id[1]) == -EBADF);
	must(id[1].bits == 7);
	must(tkw_leases_count(ls) == 1);
	/* This lease can be renewed when the first one is. */
	must(tkw_leases_add(ls, NULL, now_ns, &id[2]) == 0);
	must(tkw_leases_count(ls) == 2);
	must(tkw_leases_release(ls, id[0]) == 0);
	must(tkw_leases_release(ls, id[2]) == 0);
	must(tkw_timer_count(robbed.t) == 0);
	must(tkw_leases_destroy(ls) == 0);
	must(robbed.lines == 1);
	close_thread(k, true);
}

/* Fault 40: nothing is pending, and the worker sleeps for good. */
static void fault_40_a_stop_ends_who_sleeps_for_good(void **state)
{
	const struct kind *k = *state;

	open_thread(k, 0);
	await_worker(IN_READ);
	rob();
	must(tkw_timer_schedule(robbed.t, &task, 3 * HOUR_NS, NULL) == -EBADF);
	schedule(TKW_NEVER_NS);
	must(tkw_timer_stop(robbed.t, NULL, NULL) == 0);
	must(robbed.lines == 1 && robbed.cancelled == 1);
	must(tkw_timer_schedule(robbed.t, &task, 0, NULL) == -ESHUTDOWN);
	close_thread(k, true);
}

/* Fault 40: a running task is not interrupted. */
static struct fault_gate entered;
static struct fault_gate gate;
static atomic_int stopper_tid;

static void wait_at_gate(const struct tkw_firing *f, void *ctx)
{
	fault_gate_open(&entered);
	fault_gate_wait(&gate);
	pthread_testcancel();
	fire(f, ctx);
}

static void *stop_it(void *arg)
{
	atomic_store(&stopper_tid, (int)syscall(SYS_gettid));
	must(tkw_timer_stop(robbed.t, NULL, NULL) == 0);
	return arg;
}

static void fault_40_a_stop_lets_a_task_end(void **state)
{
	const struct tkw_task waits = { .fn = wait_at_gate, .ctx = &robbed };
	const struct kind *k = *state;
	pthread_t stopper;

	fault_gate_init(&entered);
	fault_gate_init(&gate);
	atomic_store(&stopper_tid, 0);
	open_thread(k, 0);
	(void)sleep_for_an_hour(k);
	must(tkw_timer_schedule(robbed.t, &waits, 0, NULL) == 0);
	fault_gate_wait(&entered);
	rob();
	fault_spawn(&stopper, stop_it, NULL);
	/* It waits for the worker only. */
	while (!tkw_timer_is_stopped(robbed.t) ||
	       !bed_is_asleep(atomic_load(&stopper_tid)))
		fault_give_way();
	must(robbed.fired == 1);
	fault_gate_open(&gate);
	fault_join(stopper);
	must(robbed.fired == 2 && robbed.cancelled == 1);
	close_thread(k, true);
}

/* --- it goes on without -------------------------------------------------- */

/* The worker sleeps for an hour. Its descriptor is closed, and it wakes up. */
static void rob_and_wake(const struct kind *k, int64_t delay_ns)
{
	const struct itimerspec now = { .it_value = { 0, 1 } };
	int second;

	open_thread(k, 0);
	schedule(delay_ns);
	await_worker(IN_READ);
	second = dup(robbed.fd);
	must(second >= 0);
	rob();
	must(timerfd_settime(second, 0, &now, NULL) == 0);
	await_worker(delay_ns == TKW_NEVER_NS ? IN_PARK : IN_PARK_FOR);
	must(close(second) == 0);
	must(robbed.lines == 1);
}

/* Fault 40: a worker that has woken up needs no descriptor any more. */
static void fault_40_who_wakes_up_goes_on_without(void **state)
{
	const struct tkw_batch_item items[2] = { { task, 0 }, { task, 0 } };
	const struct kind *k = *state;
	struct tkw_timeout_id id;

	rob_and_wake(k, HOUR_NS);
	expect_fire(0);
	await_worker(IN_PARK_FOR);
	id = schedule(HOUR_NS / 2);
	await_worker(IN_PARK_FOR);
	must(tkw_timer_schedule_batch(robbed.t, items, 2, NULL) == 0);
	fault_await(&robbed.fired, 4);
	await_worker(IN_PARK_FOR);
	must(tkw_timer_reschedule(robbed.t, id, 0) == 0);
	fault_await(&robbed.fired, 5);
	await_worker(IN_PARK_FOR);
	must(fault_ledger(robbed.t).pending == 1);
	must(robbed.lines == 1);
	close_thread(k, false);
}

/* Fault 40: this also holds if nothing is ever due. */
static void fault_40_who_has_nothing_to_do_goes_on(void **state)
{
	const struct kind *k = *state;

	rob_and_wake(k, TKW_NEVER_NS);
	expect_fire(0);
	await_worker(IN_PARK);
	schedule(HOUR_NS);
	await_worker(IN_PARK_FOR);
	expect_fire(0);
	await_worker(IN_PARK_FOR);
	must(robbed.lines == 1);
	close_thread(k, false);
}

/* Fault 40: the worker still wakes up by itself, and not early. */
static void fault_40_who_goes_on_knows_the_time(void **state)
{
	int64_t begin_ns;
	int i;

	(void)state;
	rob_and_wake(&plain, HOUR_NS);
	for (i = 0; i < 20; i++) {
		begin_ns = tkw_timer_now_ns(robbed.t);
		expect_fire(3 * TKW_MSEC);
		must(tkw_timer_now_ns(robbed.t) >= begin_ns + 3 * TKW_MSEC);
	}
	close_thread(&plain, false);
}

/* Fault 40: the descriptor is closed before the worker has begun. */
static void fault_40_before_the_worker_begins(void **state)
{
	const struct kind *k = *state;
	const struct tkw_timer_hooks hooks = hooks_of(k->threads, k->clock);
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_THREAD };

	open_with(cfg, &hooks);
	rob();
	start_worker();
	await_worker(IN_PARK);
	must(robbed.lines == 1);
	expect_fire(0);
	if (k->threads)
		must(robbed.threads.made == 1);
	must(tkw_timer_destroy(robbed.t) == 0);
	must(robbed.threads.cancelled == 0);
}

/* Many threads schedule ever earlier timeouts while the worker sleeps on a
 * futex. */
enum {
	SUBMITTERS = 3,
	EACH = 2000 / FAULT_SLOWNESS
};

static void *submit(void *arg)
{
	int i;

	for (i = 0; i < EACH; i++) {
		schedule(0);
		schedule((i % 7) * TKW_USEC);
		schedule((i % 3) * TKW_MSEC);
	}
	return arg;
}

/* Fault 40: no timeout is lost, however many threads wake the worker. */
static void fault_40_many_wake_who_goes_on_without(void **state)
{
	pthread_t threads[SUBMITTERS];
	struct tkw_ledger l;
	int i;

	(void)state;
	rob_and_wake(&plain, TKW_NEVER_NS);
	for (i = 0; i < SUBMITTERS; i++)
		fault_spawn(&threads[i], submit, NULL);
	for (i = 0; i < SUBMITTERS; i++)
		fault_join(threads[i]);
	fault_await(&robbed.fired, 1 + 3 * SUBMITTERS * EACH);
	l = fault_ledger(robbed.t);
	must(l.fired == 1 + 3 * SUBMITTERS * EACH && l.pending == 1);
	close_thread(&plain, false);
}

/* --- somebody else has the number ---------------------------------------- */

struct stranger {
	int fd;
	struct stat is;
};

enum {
	STRANGERS = 4,
	COUNT = 5 /* the value of the eventfd */
};

/* The setting of another timerfd: in an hour, and then each hour. */
static const struct itimerspec theirs = { { 3600, 5 }, { 3600, 0 } };

/* A stranger: a file, an eventfd that is readable, a pipe, or a timerfd. */
static struct stranger make_stranger(int which)
{
	struct stranger s;
	int ends[2];

	if (which == 0) {
		s.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} else if (which == 1) {
		s.fd = eventfd(COUNT, EFD_CLOEXEC);
	} else if (which == 2) {
		must(pipe2(ends, O_CLOEXEC) == 0 && close(ends[1]) == 0);
		s.fd = ends[0];
	} else {
		s.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		must(timerfd_settime(s.fd, 0, &theirs, NULL) == 0);
	}
	must(s.fd >= 0 && fstat(s.fd, &s.is) == 0);
	return s;
}

/* Gives it the number of the timer's descriptor. */
static struct stranger move_in(int which)
{
	struct stranger s = make_stranger(which);

	replace_by(s.fd);
	must(close(s.fd) == 0);
	s.fd = robbed.fd;
	return s;
}

/* Checks that the stranger was not changed. */
static void expect_untouched(const struct stranger *s, int which)
{
	struct stat is;
	uint64_t count;

	must(fstat(s->fd, &is) == 0);
	must(is.st_ino == s->is.st_ino && is.st_dev == s->is.st_dev);
	if (which == 1) {
		must(real_read(s->fd, &count, sizeof(count)) ==
		     (ssize_t)sizeof(count));
		must(count == COUNT);
	}
	if (which == 3) {
		struct itimerspec left;

		must(timerfd_gettime(s->fd, &left) == 0);
		must(left.it_value.tv_sec > 3000);
		must(left.it_interval.tv_sec == theirs.it_interval.tv_sec &&
		     left.it_interval.tv_nsec == theirs.it_interval.tv_nsec);
	}
}

/* Fault 40: the library does not use the stranger as a timerfd, nor close
 * it. */
static void fault_40_the_number_is_another_files(void **state)
{
	const struct kind *k = *state;
	struct tkw_timeout_id far;
	struct stranger s;
	int i;

	for (i = 0; i < STRANGERS; i++) {
		open_thread(k, 5);
		far = sleep_for_an_hour(k);
		s = move_in(i);
		expect_refused(far);
		must(robbed.lines == 1);
		close_thread(k, true);
		expect_untouched(&s, i);
		must(close(s.fd) == 0);
	}
}

/* Fault 40: a worker that wakes up does not wait for the stranger. */
static void fault_40_the_worker_lets_a_stranger_be(void **state)
{
	const struct itimerspec now = { .it_value = { 0, 1 } };
	const struct kind *k = *state;
	struct stranger s;
	int second;
	int i;

	for (i = 0; i < STRANGERS; i++) {
		open_thread(k, 0);
		(void)sleep_for_an_hour(k);
		second = dup(robbed.fd);
		s = move_in(i);
		must(timerfd_settime(second, 0, &now, NULL) == 0);
		await_worker(IN_PARK_FOR);
		expect_fire(0);
		await_worker(IN_PARK_FOR);
		close_thread(k, false);
		expect_untouched(&s, i);
		must(close(s.fd) == 0 && close(second) == 0);
	}
}

/* Fault 40: destroy closes no stranger, even if it is the first to notice
 * it. */
static void fault_40_destroy_closes_no_stranger(void **state)
{
	static const int drives[] = { TKW_DRIVE_THREAD, TKW_DRIVE_LOOP };
	const struct tkw_timer_hooks hooks = hooks_of(false, false);
	struct tkw_timer_config cfg = { .drive = 0 };
	struct stranger s;
	int i;

	(void)state;
	for (i = 0; i < 2 * STRANGERS; i++) {
		cfg.drive = drives[i % 2];
		open_with(cfg, &hooks);
		s = move_in(i / 2);
		must(tkw_timer_destroy(robbed.t) == 0);
		expect_untouched(&s, i / 2);
		must(close(s.fd) == 0);
		/* It also works if the number is not in use. */
		open_with(cfg, &hooks);
		rob();
		must(tkw_timer_destroy(robbed.t) == 0);
		/* The timer's own descriptor is closed. */
		open_with(cfg, &hooks);
		must(tkw_timer_destroy(robbed.t) == 0);
		must(fcntl(robbed.fd, F_GETFD) == -1);
	}
}

/* --- a child that closes all --------------------------------------------- */

static void close_all(void)
{
	int fd;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0)
		return;
#endif
	for (fd = 3; fd < 1024; fd++)
		close(fd);
}

static pid_t fork_child(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A daemon that has created its timer too early. */
static void be_a_daemon(bool asleep)
{
	struct tkw_timeout_id far;

	open_thread(&plain, 5);
	far = asleep ? sleep_for_an_hour(&plain) : schedule(HOUR_NS);
	if (!asleep)
		schedule(20 * TKW_MSEC);
	close_all();
	must(fcntl(robbed.fd, F_GETFD) == -1);
	if (asleep) {
		expect_refused(far);
		close_thread(&plain, true);
		return;
	}
	fault_await(&robbed.fired, 2);
	expect_fire(0);
	must(tkw_timer_reschedule(robbed.t, far, 0) == 0);
	fault_await(&robbed.fired, 4);
	must(robbed.lines == 1);
	close_thread(&plain, false);
}

/* Fault 40 */
static void fault_40_a_child_closes_all(void **state)
{
	pid_t child;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		child = fork_child();
		if (child == 0) {
			be_a_daemon(i == 0);
			_exit(0);
		}
		fault_reap(child);
	}
}

/* Faults 29 and 40: a child frees the timer of its parent, and closes only the
 * timer's own descriptor. The parent's timer goes on. */
static void fault_40_a_child_lets_a_stranger_be(void **state)
{
	struct stranger s;
	pid_t child;
	int i;

	(void)state;
	open_thread(&plain, 0);
	(void)sleep_for_an_hour(&plain);
	for (i = 0; i <= STRANGERS; i++) {
		child = fork_child();
		if (child == 0) {
			if (i < STRANGERS)
				s = move_in(i);
			must(tkw_timer_destroy(robbed.t) == 0);
			if (i < STRANGERS)
				expect_untouched(&s, i);
			else
				must(fcntl(robbed.fd, F_GETFD) == -1);
			_exit(0);
		}
		fault_reap(child);
		expect_fire(0);
		await_worker(IN_READ);
	}
	must(robbed.lines == 0);
	close_thread(&plain, false);
}

/* --- the loop ------------------------------------------------------------ */

/* Fault 40: a turn fires what is due, and reports that the fd is gone. */
static void loop_is_robbed(bool clock)
{
	const struct tkw_timer_hooks hooks = hooks_of(false, clock);
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_LOOP,
					      .max_pending = 5 };
	struct tkw_timeout_id far;
	int64_t next_ns = 7;
	int i;

	open_with(cfg, &hooks);
	must(tkw_timer_fd(robbed.t) == robbed.fd);
	far = schedule(HOUR_NS);
	schedule(0);
	schedule(0);
	rob();
	must(tkw_timer_turn(robbed.t, 0, &next_ns) == -EBADF);
	must(next_ns == 7 && robbed.fired == 2 && robbed.lines == 1);
	/* No alarm will ring any more. */
	expect_refused(far);
	must(tkw_timer_schedule(robbed.t, &task, 9 * HOUR_NS, NULL) == -EBADF);
	schedule(TKW_NEVER_NS);
	/* Turns that are made anyway still fire what is due. */
	for (i = 0; clock && i < 3; i++) {
		robbed.now_ns += HOUR_NS / 3;
		must(robbed.fired == 2);
		must(tkw_timer_turn(robbed.t, 0, &next_ns) == -EBADF);
	}
	if (clock)
		must(robbed.fired == 3);
	else
		must(tkw_timer_cancel(robbed.t, far) == 0);
	must(tkw_timer_next_turn(robbed.t, &next_ns) == 0);
	must(next_ns == TKW_NEVER_NS && robbed.lines == 1);
	must(fault_ledger(robbed.t).pending == 1);
	must(tkw_timer_destroy(robbed.t) == 0);
	must(robbed.cancelled == (clock ? 1 : 2));
}

static void fault_40_a_turn_says_that_the_fd_is_gone(void **state)
{
	(void)state;
	loop_is_robbed(false);
	loop_is_robbed(true);
}

/* Fault 40: once the loss is known, a turn reports it even if it need not set
 * the alarm. */
static void fault_40_a_turn_remembers_that_the_fd_is_gone(void **state)
{
	const struct tkw_timer_hooks hooks = hooks_of(false, false);
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_LOOP };
	struct stranger s;
	int i;

	(void)state;
	for (i = 0; i < STRANGERS; i++) {
		open_with(cfg, &hooks);
		schedule(HOUR_NS);
		must(tkw_timer_turn(robbed.t, 0, NULL) == 0);
		s = move_in(i);
		must(tkw_timer_schedule(robbed.t, &task, 0, NULL) == -EBADF);
		must(tkw_timer_turn(robbed.t, 0, NULL) == -EBADF);
		must(tkw_timer_turn(robbed.t, 1, NULL) == -EBADF);
		must(robbed.lines == 1 && robbed.fired == 0);
		must(tkw_timer_destroy(robbed.t) == 0);
		must(robbed.cancelled == 1);
		expect_untouched(&s, i);
		must(close(s.fd) == 0);
	}
}

/* --- an executor --------------------------------------------------------- */

static struct tkw_job kept;

static int keep(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	kept = *job;
	return 0;
}

/* Fault 40: the loop cannot be told that a job was abandoned, but the timeout
 * is not lost. */
static void fault_40_a_job_is_given_up(void **state)
{
	const struct tkw_exec exec = { .submit = keep };
	const struct tkw_timer_hooks hooks = hooks_of(false, true);
	const struct tkw_timer_config cfg = { .drive = TKW_DRIVE_LOOP,
					      .exec = &exec };

	(void)state;
	open_with(cfg, &hooks);
	schedule(0);
	schedule(HOUR_NS);
	must(tkw_timer_turn(robbed.t, 0, NULL) == 0);
	rob();
	kept.abandon(&kept);
	must(robbed.lines == 1 && robbed.fired == 0);
	must(fault_ledger(robbed.t).pending == 2);
	must(tkw_timer_turn(robbed.t, 0, NULL) == -EBADF);
	must(robbed.fired == 1);
	must(tkw_timer_destroy(robbed.t) == 0);
	must(robbed.cancelled == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_KIND(fault_40_who_cannot_be_woken_is_not_needed),
		EACH_KIND(fault_40_a_lease_that_is_not_seen_to_is_refused),
		EACH_KIND(fault_40_a_stop_ends_who_sleeps_for_good),
		EACH_KIND(fault_40_a_stop_lets_a_task_end),
		EACH_KIND(fault_40_who_wakes_up_goes_on_without),
		EACH_KIND(fault_40_who_has_nothing_to_do_goes_on),
		cmocka_unit_test(fault_40_who_goes_on_knows_the_time),
		EACH_KIND(fault_40_before_the_worker_begins),
		cmocka_unit_test(fault_40_many_wake_who_goes_on_without),
		EACH_KIND(fault_40_the_number_is_another_files),
		EACH_KIND(fault_40_the_worker_lets_a_stranger_be),
		cmocka_unit_test(fault_40_destroy_closes_no_stranger),
		cmocka_unit_test(fault_40_a_child_closes_all),
		cmocka_unit_test(fault_40_a_child_lets_a_stranger_be),
		cmocka_unit_test(fault_40_a_turn_says_that_the_fd_is_gone),
		cmocka_unit_test(fault_40_a_turn_remembers_that_the_fd_is_gone),
		cmocka_unit_test(fault_40_a_job_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
