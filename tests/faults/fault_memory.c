/* SPDX-License-Identifier: MIT */
/*
 * fault_memory.c - faults 1 to 4: no memory, no thread, no file descriptor.
 *
 * Memory is refused in two ways: by the timer's own hooks and, for a timer
 * without hooks, by the linker (--wrap). It sends each call of the allocator in
 * this program to the functions below, which refuse only while `armed` is set.
 */
#include "fault_bed.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef TKW__RING_BITS
enum {
	MANY = 3000 /* the blocks are small */
};
#elif FAULT_SLOWNESS > 1
enum {
	MANY = 70000
};
#else
enum {
	MANY = 140000 /* enough for the list of blocks to grow */
};
#endif

/* --- the allocator, wrapped -------------------------------------------- */

static atomic_bool armed;
static struct fault_memory heap;
static atomic_ulong mapped_bytes;

/* The assembler names are needed because C reserves names with two
 * underscores. */
#define NAMED(name) __asm__(name)

void *real_malloc(size_t size) NAMED("__real_malloc");
void *real_calloc(size_t n, size_t size) NAMED("__real_calloc");
void *real_realloc(void *old, size_t size) NAMED("__real_realloc");
void *real_aligned_alloc(size_t align, size_t size)
	NAMED("__real_aligned_alloc");
void real_free(void *mem) NAMED("__real_free");
void *real_mmap(void *at, size_t size, int prot, int flags, int fd,
		off_t offset) NAMED("__real_mmap");
int real_munmap(void *at, size_t size) NAMED("__real_munmap");

void *wrap_malloc(size_t size) NAMED("__wrap_malloc");
void *wrap_calloc(size_t n, size_t size) NAMED("__wrap_calloc");
void *wrap_realloc(void *old, size_t size) NAMED("__wrap_realloc");
void *wrap_aligned_alloc(size_t align, size_t size)
	NAMED("__wrap_aligned_alloc");
void wrap_free(void *mem) NAMED("__wrap_free");
void *wrap_mmap(void *at, size_t size, int prot, int flags, int fd,
		off_t offset) NAMED("__wrap_mmap");
int wrap_munmap(void *at, size_t size) NAMED("__wrap_munmap");

static bool refuses(void)
{
	return atomic_load(&armed) && fault_memory_refuses(&heap);
}

/* The size is not known at free(), so each piece counts as one byte. */
static void *noted(void *mem)
{
	if (mem && atomic_load(&armed))
		fault_memory_note(&heap, 1);
	return mem;
}

void *wrap_malloc(size_t size)
{
	return refuses() ? NULL : noted(real_malloc(size));
}

void *wrap_calloc(size_t n, size_t size)
{
	return refuses() ? NULL : noted(real_calloc(n, size));
}

void *wrap_realloc(void *old, size_t size)
{
	if (refuses())
		return NULL;
	if (old)
		return real_realloc(old, size);
	return noted(real_realloc(NULL, size));
}

void *wrap_aligned_alloc(size_t align, size_t size)
{
	return refuses() ? NULL : noted(real_aligned_alloc(align, size));
}

void wrap_free(void *mem)
{
	if (mem && atomic_load(&armed))
		fault_memory_forget(&heap, 1);
	real_free(mem);
}

/* NOLINTNEXTLINE(readability-function-size): the system's parameters */
void *wrap_mmap(void *at, size_t size, int prot, int flags, int fd,
		off_t offset)
{
	void *mem = MAP_FAILED;

	if (refuses())
		errno = ENOMEM;
	else
		mem = real_mmap(at, size, prot, flags, fd, offset);
	if (mem != MAP_FAILED && atomic_load(&armed))
		atomic_fetch_add(&mapped_bytes, size);
	return mem;
}

int wrap_munmap(void *at, size_t size)
{
	if (atomic_load(&armed))
		must(atomic_fetch_sub(&mapped_bytes, size) >= size);
	return real_munmap(at, size);
}

/* --- a timer whose memory is refused ----------------------------------- */

static unsigned open_fds(void)
{
	unsigned n = 0;
	int fd;

	for (fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

/* The test itself allocates nothing. */
struct site {
	int drive;
	struct fault_memory *m; /* of the hooks, or `heap` */
	struct fault_memory hooked;
	struct tkw_timer_hooks hooks;
	struct tkw_timer *t;
	atomic_llong now_ns;
	atomic_ulong fired;
	atomic_ulong cancelled; /* on_cancel was called */
	unsigned create_refused;
	unsigned schedule_refused;
	unsigned fds; /* open before the timer was created */
};

static struct site site;
static struct tkw_timeout_id ids[MANY];

static int64_t site_now(void *ctx)
{
	(void)ctx; /* it belongs to the memory hooks */
	return atomic_load(&site.now_ns);
}

static void site_fired(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
	atomic_fetch_add(&site.fired, 1);
}

static void site_cancelled(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&site.cancelled, 1);
}

static const struct tkw_task site_task = { .fn = site_fired,
					   .on_cancel = site_cancelled };

static void site_init(int drive, bool hooked)
{
	memset(&site, 0, sizeof(site));
	site.drive = drive;
	site.now_ns = 1000 * TKW_SEC;
	site.hooks.now = site_now;
	site.fds = open_fds();
	site.m = &heap;
	if (hooked) {
		fault_memory_hooks(&site.hooked, &site.hooks);
		site.m = &site.hooked;
	}
	atomic_store(&armed, !hooked);
}

static void expect_nothing_live(void)
{
	must(atomic_load(&site.m->live) == 0);
	must(atomic_load(&site.m->live_bytes) == 0);
	must(atomic_load(&mapped_bytes) == 0);
	must(open_fds() == site.fds);
}

static int try_create(void)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = site.drive,
					.shards = 2,
					/* Refused calls take no place under
					 * this limit. */
					.max_pending = MANY,
					.hooks = &site.hooks };
	struct tkw_timer *const untouched = (void *)&site;
	int ret;

	site.t = untouched;
	ret = tkw_timer_create(&site.t, &cfg);
	if (ret != 0) {
		must(ret == -ENOMEM);
		must(site.t == untouched);
		expect_nothing_live();
		site.create_refused++;
	}
	return ret;
}

static int try_schedule(size_t i)
{
	struct tkw_ledger l;
	int ret;

	ids[i] = BED_NO_ID;
	ret = tkw_timer_schedule(site.t, &site_task,
				 TKW_SEC + (int64_t)i * TKW_MSEC, &ids[i]);
	if (ret != 0) {
		must(ret == -ENOMEM);
		must(ids[i].bits == 0);
		l = fault_ledger(site.t);
		must(l.accepted == i && l.pending == i);
		must(tkw_timer_count(site.t) == i);
		site.schedule_refused++;
	} else {
		must(ids[i].bits != 0);
	}
	return ret;
}

/* Lets n timeouts become due and fire. Waking the worker needs no memory. */
static void fire(size_t n, struct tkw_timeout_id one_of_them)
{
	atomic_fetch_add(&site.now_ns, 1000 * TKW_SEC);
	must(tkw_timer_reschedule(site.t, one_of_them, 0) == 0);
	if (site.drive == TKW_DRIVE_MANUAL)
		must(tkw_timer_turn(site.t, 0, NULL) == (int)n);
	fault_await(&site.fired, n);
}

/* Cancels the even ones of n, moves the others, and lets them fire. */
static void end_all(size_t n)
{
	struct tkw_timeout_info info;
	struct tkw_ledger l;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i % 2 == 0)
			must(tkw_timer_cancel(site.t, ids[i]) == 0);
		else
			must(tkw_timer_reschedule(site.t, ids[i],
						  (int64_t)(n - i) *
							  TKW_MSEC) == 0);
	}
	must(atomic_load(&site.cancelled) == (n + 1) / 2);
	if (n >= 2) {
		must(tkw_timer_get(site.t, ids[1], &info) == 0);
		fire(n / 2, ids[1]);
	}
	l = fault_ledger(site.t);
	must(l.accepted == n && l.pending == 0);
	must(l.cancelled == (n + 1) / 2 && l.fired == n / 2);
}

static void destroy(void)
{
	must(tkw_timer_destroy(site.t) == 0);
	expect_nothing_live();
}

/* The whole life of a timer. A call that is refused is made once more. */
static void live_through(void)
{
	size_t i;

	if (try_create() != 0)
		must(try_create() == 0);
	for (i = 0; i < MANY; i++) {
		if (try_schedule(i) != 0)
			must(try_schedule(i) == 0);
	}
	end_all(MANY);
	destroy();
	must(atomic_load(&site.fired) == MANY / 2);
}

static void refuse_each_in_turn(int drive, bool hooked)
{
	unsigned creates = 0;
	unsigned schedules = 0;
	unsigned long refused;
	unsigned long n = 0;

	do {
		site_init(drive, hooked);
		fault_memory_plan(site.m, ++n, false);
		live_through();
		refused = atomic_load(&site.m->refused);
		must(site.create_refused + site.schedule_refused == refused);
		creates += site.create_refused;
		schedules += site.schedule_refused;
	} while (refused > 0);
	atomic_store(&armed, false);
	print_message("%u creates and %u schedules were refused\n", creates,
		      schedules);
	assert_true(creates >= 2);
	assert_true(schedules >= 3);
}

/* Fault 1: call number n of the alloc hook fails, for each n. */
static void fault_01_each_hooked_allocation_fails_in_turn(void **state)
{
	refuse_each_in_turn(fault_drive(state), true);
}

/* Fault 1: the same without hooks, by the allocator of the system. */
static void fault_01_each_system_allocation_fails_in_turn(void **state)
{
	refuse_each_in_turn(fault_drive(state), false);
}

/* Schedules until memory runs out for good, and ends what was accepted. */
static void live_until_refused(void)
{
	size_t n = 0;

	if (try_create() != 0)
		return;
	while (n < MANY && try_schedule(n) == 0)
		n++;
	end_all(n);
	/* The memory that was given back is enough for one more timeout, or for
	 * none. */
	if (n < MANY)
		must(site.schedule_refused == 1);
	destroy();
	must(atomic_load(&site.cancelled) == (n + 1) / 2);
}

static void refuse_all_from_each(int drive, bool hooked)
{
	unsigned long refused;
	unsigned long n = 0;

	do {
		site_init(drive, hooked);
		fault_memory_plan(site.m, ++n, true);
		live_until_refused();
		refused = atomic_load(&site.m->refused);
	} while (refused > 0);
	atomic_store(&armed, false);
	assert_true(n >= 6);
}

/* Fault 1: all calls from number n on fail. What was accepted still ends. */
static void fault_01_hooked_memory_runs_out_for_good(void **state)
{
	refuse_all_from_each(fault_drive(state), true);
}

/* Fault 1 */
static void fault_01_system_memory_runs_out_for_good(void **state)
{
	refuse_all_from_each(fault_drive(state), false);
}

static void visited(const struct tkw_timeout_info *info, void *ctx)
{
	must(info->state == TKW_TIMEOUT_PENDING);
	++*(unsigned long *)ctx;
}

static void end_without_memory(int drive, bool hooked)
{
	unsigned long handed_over = 0;
	size_t i;

	site_init(drive, hooked);
	fault_memory_plan(site.m, 0, false);
	must(try_create() == 0);
	for (i = 0; i < MANY; i++)
		must(try_schedule(i) == 0);
	/* These are left for stop. */
	for (i = 0; i < 10; i++)
		must(tkw_timer_reschedule(site.t, ids[MANY - 1 - i],
					  TKW_NEVER_NS) == 0);
	fault_memory_plan(site.m, 1, true);
	for (i = 0; i < MANY - 10; i += 2)
		must(tkw_timer_cancel(site.t, ids[i]) == 0);
	fire((MANY - 10) / 2, ids[1]);
	must(fault_ledger(site.t).pending == 10);
	must(tkw_timer_stop(site.t, visited, &handed_over) == 0);
	must(handed_over == 10);
	must(fault_ledger(site.t).handed_over == 10);
	destroy();
	assert_int_equal(atomic_load(&site.m->calls), 0);
	atomic_store(&armed, false);
}

/* SPEC 1.1, fault 2: fire, cancel, reschedule and stop allocate nothing. */
static void fault_02_hooked_fire_and_cancel_allocate_nothing(void **state)
{
	end_without_memory(fault_drive(state), true);
}

/* Fault 2 */
static void fault_02_system_fire_and_cancel_allocate_nothing(void **state)
{
	end_without_memory(fault_drive(state), false);
}

/* --- threads ----------------------------------------------------------- */

static atomic_uint threads_to_refuse;
static atomic_uint threads_asked;

int real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
	NAMED("__real_pthread_create");
int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
	NAMED("__wrap_pthread_create");

static bool thread_refused(void)
{
	atomic_fetch_add(&threads_asked, 1);
	if (atomic_load(&threads_to_refuse) == 0)
		return false;
	atomic_fetch_sub(&threads_to_refuse, 1);
	return true;
}

int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			void *(*run)(void *), void *arg)
{
	return thread_refused() ? EAGAIN
				: real_pthread_create(thread, attr, run, arg);
}

static int hook_thread_create(void *(*run)(void *arg), void *arg, void **handle,
			      void *ctx)
{
	static pthread_t thread;

	(void)ctx;
	if (thread_refused())
		return -EAGAIN;
	*handle = &thread;
	return -real_pthread_create(&thread, NULL, run, arg);
}

static void hook_thread_join(void *handle, void *ctx)
{
	(void)ctx;
	fault_join(*(const pthread_t *)handle);
}

static void expect_no_trace(struct tkw_timer *t)
{
	const struct tkw_ledger l = fault_ledger(t);

	assert_int_equal(l.accepted, 0);
	assert_int_equal(tkw_timer_count(t), 0);
	assert_int_equal(tkw_timer_is_stopped(t), 0);
}

/* Each way to start is refused once. After that the timer works as usual. */
static void start_at_last(struct tkw_timer *t)
{
	const struct tkw_task task = { .fn = site_fired };
	struct tkw_timeout_id id = { 0 };

	site.fired = 0;
	assert_int_equal(tkw_timer_start(t), -ENOMEM);
	expect_no_trace(t);
	assert_int_equal(tkw_timer_schedule(t, &task, 0, &id), -ENOMEM);
	assert_int_equal(tkw_timer_schedule_at(t, &task, 0, &id), -ENOMEM);
	assert_int_equal(id.bits, 0);
	expect_no_trace(t);
	assert_int_equal(tkw_timer_start(t), 0);
	/* max_pending is 1. Refused timeouts take no place under it. */
	assert_int_equal(tkw_timer_schedule(t, &task, 0, &id), 0);
	assert_int_not_equal(id.bits, 0);
	fault_await(&site.fired, 1);
	assert_int_equal(fault_ledger(t).accepted, 1);
}

static void refuse_threads(const struct tkw_timer_hooks *hooks)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.max_pending = 1,
					.hooks = hooks };
	struct tkw_timer *t = NULL;

	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	threads_asked = 0;
	threads_to_refuse = 3;
	start_at_last(t);
	assert_int_equal(threads_asked, 4);
	assert_int_equal(tkw_timer_destroy(t), 0);

	/* A timer that never gets a thread can be stopped and destroyed. */
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	threads_to_refuse = 1;
	assert_int_equal(tkw_timer_start(t), -ENOMEM);
	assert_int_equal(tkw_timer_stop(t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_start(t), -ESHUTDOWN);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* SPEC 2.4, 3.7, fault 3 */
static void fault_03_the_thread_hook_fails(void **state)
{
	const struct tkw_timer_hooks hooks = { .thread_create =
						       hook_thread_create,
					       .thread_join =
						       hook_thread_join };

	(void)state;
	refuse_threads(&hooks);
}

/* SPEC 2.4, 3.7, fault 3 */
static void fault_03_pthread_create_fails(void **state)
{
	(void)state;
	refuse_threads(NULL);
}

static void set_limit(int which, rlim_t soft)
{
	struct rlimit limit;

	must(getrlimit((__rlimit_resource_t)which, &limit) == 0);
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	must(setrlimit((__rlimit_resource_t)which, &limit) == 0);
}

/* The limit does not hold for root, so the child becomes the user nobody. No
 * leaks can be found as nobody. */
static int child_without_threads(void)
{
	const uid_t nobody = 65534;
	const struct tkw_task task = { .fn = site_fired };
	struct tkw_timer *t;

	if (geteuid() == 0) {
		must(setgroups(0, NULL) == 0);
		must(setresgid(nobody, nobody, nobody) == 0);
		must(setresuid(nobody, nobody, nobody) == 0);
	}
	must(tkw_timer_create(&t, NULL) == 0);
	set_limit(RLIMIT_NPROC, 0);
	must(tkw_timer_start(t) == -ENOMEM);
	must(tkw_timer_schedule(t, &task, 0, NULL) == -ENOMEM);
	must(fault_ledger(t).accepted == 0);
	set_limit(RLIMIT_NPROC, RLIM_INFINITY);
	must(tkw_timer_schedule(t, &task, 0, NULL) == 0);
	fault_await(&site.fired, 1);
	must(fault_ledger(t).accepted == 1);
	must(tkw_timer_destroy(t) == 0);
	_exit(0);
}

/* SPEC 2.4, fault 3: the system itself refuses to make a thread. */
static void fault_03_the_limit_of_processes_is_met(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(fault_child("no_threads", "", out, sizeof(out)), 0);
}

/* --- objects of the system --------------------------------------------- */

static int alarm_error;
static int wipe_error;
static int atfork_error;

int real_timerfd_create(int clock, int flags) NAMED("__real_timerfd_create");
int wrap_timerfd_create(int clock, int flags) NAMED("__wrap_timerfd_create");
int real_madvise(void *at, size_t size, int advice) NAMED("__real_madvise");
int wrap_madvise(void *at, size_t size, int advice) NAMED("__wrap_madvise");
int real_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			void (*child)(void)) NAMED("__real_pthread_atfork");
int wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			void (*child)(void)) NAMED("__wrap_pthread_atfork");

int wrap_timerfd_create(int clock, int flags)
{
	if (alarm_error == 0)
		return real_timerfd_create(clock, flags);
	errno = alarm_error;
	return -1;
}

int wrap_madvise(void *at, size_t size, int advice)
{
	if (advice != MADV_WIPEONFORK || wipe_error == 0)
		return real_madvise(at, size, advice);
	errno = wipe_error;
	return -1;
}

int wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			void (*child)(void))
{
	if (atfork_error == 0)
		return real_pthread_atfork(prepare, parent, child);
	return atfork_error;
}

/* The first file descriptor >= `from` that is not open. */
static int free_fd(int from)
{
	while (fcntl(from, F_GETFD) != -1)
		from++;
	return from;
}

static void expect_refused_create(const struct tkw_timer_config *cfg, int error,
				  const struct fault_memory *m)
{
	struct tkw_timer *const untouched = (void *)&site;
	struct tkw_timer *t = untouched;
	const unsigned open_before = open_fds();

	assert_int_equal(tkw_timer_create(&t, cfg), error);
	assert_ptr_equal(t, untouched);
	assert_int_equal(m->live, 0);
	assert_int_equal(open_fds(), open_before);
}

static void expect_working(struct tkw_timer *t)
{
	const struct tkw_task task = { .fn = site_fired };

	site.fired = 0;
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	fault_await(&site.fired, 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* Fault 4: one descriptor too few is left. */
static void fault_04_no_file_descriptor_is_left(void **state)
{
	struct fault_memory m;
	struct tkw_timer_hooks hooks = { 0 };
	struct tkw_timer_config cfg = { .size = sizeof(cfg), .hooks = &hooks };
	const unsigned open_before = open_fds();
	struct tkw_timer *t;
	struct rlimit limit;
	unsigned needed;
	int fd = -1;
	unsigned n;

	(void)state;
	fault_memory_hooks(&m, &hooks);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	needed = open_fds() - open_before;
	assert_true(needed >= 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(open_fds(), open_before);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (n = 0; n < needed; n++) {
		fd = free_fd(fd + 1);
		set_limit(RLIMIT_NOFILE, (rlim_t)fd);
		expect_refused_create(&cfg, -EMFILE, &m);
	}
	set_limit(RLIMIT_NOFILE, limit.rlim_cur);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	expect_working(t);
	assert_int_equal(m.live, 0);
}

/* Fault 4: create returns the error of the alarm, whatever it is. */
static void fault_04_the_alarm_is_refused(void **state)
{
	struct fault_memory m;
	struct tkw_timer_hooks hooks = { 0 };
	struct tkw_timer_config cfg = { .size = sizeof(cfg), .hooks = &hooks };
	struct tkw_timer *t;

	(void)state;
	fault_memory_hooks(&m, &hooks);
	alarm_error = ENFILE;
	expect_refused_create(&cfg, -ENFILE, &m);
	alarm_error = ENOMEM;
	expect_refused_create(&cfg, -ENOMEM, &m);
	/* The manual drive needs no alarm. */
	cfg.drive = TKW_DRIVE_MANUAL;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
	cfg.drive = TKW_DRIVE_THREAD;
	alarm_error = 0;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	expect_working(t);
	assert_int_equal(m.live, 0);
}

/* In a child, the timer is inert, and a new timer works. In a child of that
 * child, both are inert. */
static void expect_inert_in_children(struct tkw_timer *t)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL };
	struct tkw_timer *own;
	pid_t child = fork();

	if (child == 0) {
		must(tkw_timer_start(t) == -EPERM);
		must(tkw_timer_create(&own, &cfg) == 0);
		must(tkw_timer_turn(own, 0, NULL) == 0);
		must(tkw_timer_start(t) == -EPERM);
		child = fork();
		if (child == 0) {
			must(tkw_timer_start(t) == -EPERM);
			must(tkw_timer_start(own) == -EPERM);
			_exit(0);
		}
		fault_reap(child);
		must(tkw_timer_destroy(own) == 0);
		must(tkw_timer_destroy(t) == 0);
		_exit(0);
	}
	fault_reap(child);
}

/* This is a separate process, because forks are watched from the first timer
 * on. It pretends that the kernel is old and cannot wipe pages, so a handler is
 * needed. */
static int child_without_atfork(void)
{
	struct fault_memory m;
	struct tkw_timer_hooks hooks = { 0 };
	struct tkw_timer_config cfg = { .size = sizeof(cfg), .hooks = &hooks };
	struct tkw_timer *t;

	fault_memory_hooks(&m, &hooks);
	/* First there is no page at all. Then the page is not wiped, and the
	 * handler is refused. */
	fault_memory_plan(&heap, 1, true);
	atomic_store(&armed, true);
	must(tkw_timer_create(&t, &cfg) == -ENOMEM);
	atomic_store(&armed, false);
	must(m.live == 0 && atomic_load(&heap.refused) == 1);
	wipe_error = EINVAL;
	atfork_error = ENOMEM;
	atomic_store(&armed, true);
	fault_memory_plan(&heap, 0, false);
	must(tkw_timer_create(&t, &cfg) == -ENOMEM);
	must(m.live == 0 && atomic_load(&mapped_bytes) == 0);
	atomic_store(&armed, false);
	atfork_error = 0;
	must(tkw_timer_create(&t, &cfg) == 0);
	/* Now forks are watched, by one handler for all timers. */
	atfork_error = ENOMEM;
	expect_inert_in_children(t);
	must(tkw_timer_start(t) == 0);
	must(tkw_timer_destroy(t) == 0);
	return 0;
}

/* Fault 4: forks cannot be watched at first, but later they can. */
static void fault_04_the_fork_handler_is_refused(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(fault_child("no_atfork", "", out, sizeof(out)), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		FAULT_BOTH(fault_01_each_hooked_allocation_fails_in_turn),
		FAULT_BOTH(fault_01_each_system_allocation_fails_in_turn),
		FAULT_BOTH(fault_01_hooked_memory_runs_out_for_good),
		FAULT_BOTH(fault_01_system_memory_runs_out_for_good),
		FAULT_BOTH(fault_02_hooked_fire_and_cancel_allocate_nothing),
		FAULT_BOTH(fault_02_system_fire_and_cancel_allocate_nothing),
		cmocka_unit_test(fault_03_the_thread_hook_fails),
		cmocka_unit_test(fault_03_pthread_create_fails),
		cmocka_unit_test(fault_03_the_limit_of_processes_is_met),
		cmocka_unit_test(fault_04_no_file_descriptor_is_left),
		cmocka_unit_test(fault_04_the_alarm_is_refused),
		cmocka_unit_test(fault_04_the_fork_handler_is_refused),
	};

	if (argc > 2 && strcmp(argv[1], "--child") == 0)
		return strcmp(argv[2], "no_threads") == 0
			       ? child_without_threads()
			       : child_without_atfork();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
