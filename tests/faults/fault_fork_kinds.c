/* SPDX-License-Identifier: MIT */
/*
 * fault_fork_kinds.c - fault 29: whatever call makes the child, all objects of
 * its parents are inert in it, and its own objects work.
 *
 * The calls are fork(), _Fork() of POSIX, which calls no handlers, and clone()
 * itself, of which libc knows nothing. All other threads of the parent sleep
 * meanwhile. Otherwise only a child of fork() could use malloc(). Forks in the
 * middle of something are in fault_fork.c.
 */
#include "fault_bed.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tickwheel.h"

#define FAR_NS (3600 * TKW_SEC)

/* --- how to fork --------------------------------------------------------- */

struct kind {
	pid_t (*fork)(void);
	bool by_fork; /* handlers of pthread_atfork() are called */
};

static struct kind by_fork = { fork, true };

#define BY_FORK(name)                                                          \
	{                                                                      \
#name " (fork)", name, NULL, NULL, &by_fork                    \
	}

/* ThreadSanitizer takes a child for a thread unless fork() made it. */
#ifdef FAULT_OTHER_SANITIZER
#define EACH_KIND(name) BY_FORK(name)
#else
/* NULL if libc has no _Fork(). */
pid_t bare_fork(void) __asm__("_Fork") __attribute__((weak));

static pid_t clone_fork(void)
{
#ifdef __s390x__
	return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static struct kind by_bare_fork = { bare_fork, false };
static struct kind by_clone = { clone_fork, false };

#define EACH_KIND(name)                                                        \
	BY_FORK(name), { #name " (_Fork)", name, NULL, NULL, &by_bare_fork },  \
	{                                                                      \
#name " (clone)", name, NULL, NULL, &by_clone                  \
	}
#endif

/* Does the kernel wipe pages in children? Linux does since 4.14. */
static bool pages_are_wiped(void)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	must(page != MAP_FAILED);
	ret = madvise(page, bytes, MADV_WIPEONFORK);
	must(munmap(page, bytes) == 0);
	return ret == 0;
}

/* Returns the kind that the test uses. Skips the test if the library cannot
 * notice that kind here. */
static const struct kind *kind_of(void **state)
{
	const struct kind *k = *state;

	if (k->fork == NULL) {
		print_message("SKIPPED: this libc has no _Fork()\n");
		skip();
	}
	if (!k->by_fork && !pages_are_wiped()) {
		print_message("SKIPPED: this kernel wipes no pages\n");
		skip();
	}
	return k;
}

/* Returns 0 in the child, which dies with its parent. The parent gets the
 * child's pid. */
static pid_t fork_child(const struct kind *k)
{
	pid_t pid = k->fork();

	must(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* --- one of everything --------------------------------------------------- */

/* One object of each type. Each has something pending, and nothing is due. */
struct world {
	struct fault_memory m; /* memory of the timer */
	struct tkw_timer *t;
	struct tkw_timeout_id timeout;
	struct tkw_pool *pool;
	struct tkw_repeat *repeat;
	struct tkw_channels *channels;
	struct tkw_channel channel;
	struct tkw_requests *requests;
	struct tkw_request_id request;
	struct tkw_retries *retries;
	struct tkw_retry_id retry;
	struct tkw_leases *leases;
	struct tkw_lease_id lease;
};

static atomic_ulong fired; /* fired timeouts, and jobs of the pool */
static atomic_ulong calls; /* calls of all other callbacks */

static void count(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	(void)ctx;
	atomic_fetch_add(&fired, 1);
}

static void on_cancel(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&calls, 1);
}

static void job_run(const struct tkw_job *job)
{
	(void)job;
	atomic_fetch_add(&fired, 1);
}

static void job_abandoned(const struct tkw_job *job)
{
	(void)job;
	atomic_fetch_add(&calls, 1);
}

static void round_of_repeat(struct tkw_repeat *r, void *ctx)
{
	(void)r;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
}

static int act(struct tkw_channel *ch, void *ctx)
{
	(void)ch;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
	return 0;
}

static void on_request_end(const struct tkw_request_end *end, void *ctx)
{
	(void)end;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
}

static int try_it(const struct tkw_try *attempt, void *ctx)
{
	(void)attempt;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
	return 0;
}

static void on_retry_end(const struct tkw_retry_end *end, void *ctx)
{
	(void)end;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
}

static void renew(struct tkw_lease *leases, size_t n, void *ctx)
{
	(void)leases;
	(void)n;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
}

static void on_lost(const struct tkw_lease_end *end, void *ctx)
{
	(void)end;
	(void)ctx;
	atomic_fetch_add(&calls, 1);
}

static const struct tkw_task counted = { .fn = count, .on_cancel = on_cancel };
static const struct tkw_job counted_job = { .run = job_run,
					    .abandon = job_abandoned };
static const struct tkw_retry retried = { .fn = try_it,
					  .on_end = on_retry_end };

static struct tkw_repeat_config repeat_config(struct tkw_timer *t)
{
	return (struct tkw_repeat_config){ .size = sizeof(
						   struct tkw_repeat_config),
					   .timer = t,
					   .interval_ns = FAR_NS,
					   .fn = round_of_repeat,
					   .on_end = round_of_repeat };
}

static struct tkw_channels_config channels_config(struct tkw_timer *t)
{
	return (struct tkw_channels_config){
		.size = sizeof(struct tkw_channels_config),
		.timer = t,
		.rules = { { .fn = act,
			     .interval_ns = FAR_NS,
			     .period_ns = FAR_NS } },
	};
}

static struct tkw_requests_config requests_config(struct tkw_timer *t)
{
	return (struct tkw_requests_config){
		.size = sizeof(struct tkw_requests_config), .timer = t
	};
}

static struct tkw_retries_config retries_config(struct tkw_timer *t)
{
	return (struct tkw_retries_config){
		.size = sizeof(struct tkw_retries_config), .timer = t
	};
}

static struct tkw_leases_config leases_config(struct tkw_timer *t)
{
	return (struct tkw_leases_config){
		.size = sizeof(struct tkw_leases_config),
		.timer = t,
		.lease_ns = FAR_NS,
		.renew = renew,
		.on_lost = on_lost,
	};
}

static void open_patterns(struct world *w)
{
	const struct tkw_repeat_config repeat = repeat_config(w->t);
	const struct tkw_channels_config channels = channels_config(w->t);
	const struct tkw_requests_config requests = requests_config(w->t);
	const struct tkw_retries_config retries = retries_config(w->t);
	const struct tkw_leases_config leases = leases_config(w->t);

	must(tkw_repeat_create(&w->repeat, &repeat) == 0);
	must(tkw_repeat_start(w->repeat) == 0);
	must(tkw_channels_create(&w->channels, &channels) == 0);
	must(tkw_channels_add(w->channels, &w->channel) == 0);
	must(tkw_requests_create(&w->requests, &requests) == 0);
	must(tkw_requests_add(w->requests, on_request_end, NULL, FAR_NS,
			      &w->request) == 0);
	must(tkw_retries_create(&w->retries, &retries) == 0);
	must(tkw_retries_add(w->retries, &retried, FAR_NS, &w->retry) == 0);
	must(tkw_leases_create(&w->leases, &leases) == 0);
	must(tkw_leases_add(w->leases, NULL, tkw_timer_now_ns(w->t),
			    &w->lease) == 0);
}

/* The pool is destroyed after everything that uses it. */
static void open_world(struct world *w, int drive)
{
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_pool_config pool = { .size = sizeof(pool),
					      .threads = 2 };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = drive,
					      .hooks = &hooks };

	memset(w, 0, sizeof(*w));
	fault_memory_hooks(&w->m, &hooks);
	must(tkw_timer_create(&w->t, &cfg) == 0);
	must(tkw_timer_schedule(w->t, &counted, FAR_NS, &w->timeout) == 0);
	/* In a child of several threads, ThreadSanitizer allows no new
	 * thread. */
	if (drive == TKW_DRIVE_THREAD)
		must(tkw_pool_create(&w->pool, &pool) == 0);
	open_patterns(w);
}

/* Checks that each object works. */
static void expect_alive(struct world *w)
{
	const unsigned long before = atomic_load(&fired);
	const bool by_hand = w->pool == NULL;

	must(tkw_timer_schedule(w->t, &counted, 0, NULL) == 0);
	if (by_hand)
		must(tkw_timer_turn(w->t, 0, NULL) == 1);
	fault_await(&fired, before + 1);
	must(by_hand ||
	     tkw_pool_exec(w->pool)->submit(&counted_job,
					    tkw_pool_exec(w->pool)->ctx) == 0);
	must(by_hand || tkw_pool_wait_idle(w->pool, INT64_MAX) == 0);
	must(atomic_load(&fired) == before + (by_hand ? 1 : 2));
	must(tkw_timer_count(w->t) >= 5);
	must(tkw_repeat_restart(w->repeat) == 0);
	must(tkw_channels_count(w->channels) == 1);
	must(tkw_requests_count(w->requests) == 1);
	must(tkw_retries_count(w->retries) == 1);
	must(tkw_leases_count(w->leases) == 1);
	must(atomic_load(&calls) == 0);
}

/* Destroys the patterns first, then the timer, then the pool. */
static void destroy_world(struct world *w)
{
	must(tkw_repeat_destroy(w->repeat) == 0);
	must(tkw_channels_destroy(w->channels) == 0);
	must(tkw_requests_destroy(w->requests) == 0);
	must(tkw_retries_destroy(w->retries) == 0);
	must(tkw_leases_destroy(w->leases) == 0);
	must(tkw_timer_destroy(w->t) == 0);
	must(tkw_pool_destroy(w->pool) == 0);
	must(w->m.live == 0 && w->m.live_bytes == 0);
}

/* --- in a child ---------------------------------------------------------- */

static void expect_inert_pool(struct tkw_pool *pool)
{
	const struct tkw_exec *exec = tkw_pool_exec(pool);

	must(exec->submit(&counted_job, exec->ctx) == -EPERM);
	must(tkw_pool_count(pool) == 0);
	must(tkw_pool_wait_idle(pool, INT64_MAX) == -EPERM);
	must(tkw_pool_stop(pool) == -EPERM);
}

static void expect_inert_repeat(struct world *w)
{
	const struct tkw_repeat_config cfg = repeat_config(w->t);
	struct tkw_repeat *other = NULL;
	char text[8] = "as is";

	must(tkw_repeat_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_repeat_start(w->repeat) == -EPERM);
	must(tkw_repeat_start_now(w->repeat) == -EPERM);
	must(tkw_repeat_pause(w->repeat) == -EPERM);
	must(tkw_repeat_restart(w->repeat) == -EPERM);
	must(tkw_repeat_reset(w->repeat, 1) == -EPERM);
	must(tkw_repeat_run_now(w->repeat) == -EPERM);
	must(tkw_repeat_shutdown(w->repeat) == -EPERM);
	must(tkw_repeat_print(w->repeat, text, sizeof(text)) == -EPERM);
	must(strcmp(text, "as is") == 0);
}

static void expect_inert_channels(struct world *w)
{
	const struct tkw_channels_config cfg = channels_config(w->t);
	struct tkw_channels *other = NULL;
	struct tkw_channel_stats stats;
	struct tkw_channel ch;

	memset(&ch, 0, sizeof(ch));
	must(tkw_channels_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_channels_add(w->channels, &ch) == -EPERM);
	must(tkw_channels_remove(w->channels, &w->channel) == -EPERM);
	must(tkw_channels_get_stats(w->channels, &stats) == -EPERM);
	must(tkw_channels_count(w->channels) == 0);
	must(tkw_channels_shutdown(w->channels) == -EPERM);
}

static void expect_inert_requests(struct world *w)
{
	const struct tkw_requests_config cfg = requests_config(w->t);
	struct tkw_requests *other = NULL;
	struct tkw_request_id id = { 7 };
	struct tkw_request_end end;

	must(tkw_requests_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_requests_add(w->requests, on_request_end, NULL, 0, &id) ==
	     -EPERM);
	must(tkw_requests_complete(w->requests, w->request, NULL) == -EPERM);
	must(tkw_requests_cancel(w->requests, w->request) == -EPERM);
	must(tkw_requests_wait(w->requests, w->request, &end) == -EPERM);
	must(tkw_requests_count(w->requests) == 0);
	must(tkw_requests_shutdown(w->requests) == -EPERM);
	must(id.bits == 7);
}

static void expect_inert_retries(struct world *w)
{
	const struct tkw_retries_config cfg = retries_config(w->t);
	struct tkw_retries *other = NULL;
	struct tkw_retry_id id = { 7 };

	must(tkw_retries_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_retries_add(w->retries, &retried, 0, &id) == -EPERM);
	must(tkw_retries_done(w->retries, w->retry, 1, 0) == -EPERM);
	must(tkw_retries_cancel(w->retries, w->retry) == -EPERM);
	must(tkw_retries_count(w->retries) == 0);
	must(tkw_retries_shutdown(w->retries) == -EPERM);
	must(id.bits == 7);
}

static void expect_inert_leases(struct world *w)
{
	const struct tkw_leases_config cfg = leases_config(w->t);
	struct tkw_leases *other = NULL;
	struct tkw_lease_id id = { 7 };

	must(tkw_leases_create(&other, &cfg) == -EPERM && other == NULL);
	must(tkw_leases_add(w->leases, NULL, tkw_timer_now_ns(w->t), &id) ==
	     -EPERM);
	must(tkw_leases_release(w->leases, w->lease) == -EPERM);
	must(tkw_leases_count(w->leases) == 0);
	must(tkw_leases_shutdown(w->leases) == -EPERM);
	must(id.bits == 7);
}

static void expect_inert_world(struct world *w)
{
	fault_expect_inert(w->t, w->timeout);
	if (w->pool) {
		must(tkw_timer_wait_idle(w->t, TKW_NEVER_NS) == -EPERM);
		expect_inert_pool(w->pool);
	} else {
		must(tkw_timer_turn(w->t, 0, NULL) == -EPERM);
	}
	expect_inert_repeat(w);
	expect_inert_channels(w);
	expect_inert_requests(w);
	expect_inert_retries(w);
	expect_inert_leases(w);
	must(atomic_load(&calls) == 0);
}

/* The objects are inert to the end, and destroying them calls no callback. */
static void end_inert_world(struct world *w)
{
	expect_inert_world(w);
	destroy_world(w);
	must(atomic_load(&calls) == 0);
}

/* SPEC 6.7, fault 29 */
static void fault_29_a_child_finds_all_inert_and_frees_it(void **state)
{
	const struct kind *k = kind_of(state);
	static struct world w;
	pid_t child;

	calls = 0;
	open_world(&w, TKW_DRIVE_THREAD);
	expect_alive(&w);
	child = fork_child(k);
	if (child == 0) {
		end_inert_world(&w);
		_exit(0);
	}
	assert_int_equal(fault_wait(child), 0);
	expect_alive(&w);
	destroy_world(&w);
}

/* SPEC 6.7, fault 29: the parent of a grandchild is a child itself. */
static void fault_29_a_grandchild_is_noticed(void **state)
{
	const struct kind *k = kind_of(state);
	static struct world w;
	pid_t child;

	calls = 0;
	open_world(&w, TKW_DRIVE_THREAD);
	expect_alive(&w);
	child = fork_child(k);
	if (child == 0) {
		/* The child makes no call before its fork, so the library had
		 * no chance to notice the child. */
		child = fork_child(k);
		if (child == 0) {
			end_inert_world(&w);
			_exit(0);
		}
		fault_reap(child);
		end_inert_world(&w);
		_exit(0);
	}
	assert_int_equal(fault_wait(child), 0);
	expect_alive(&w);
	destroy_world(&w);
}

/* Runs in a grandchild. The objects of both processes before it are inert. */
static void live_as_grandchild(struct world *parents, struct world *childs)
{
	struct world own;

	expect_inert_world(childs);
	open_world(&own, TKW_DRIVE_MANUAL);
	expect_alive(&own);
	/* They are still inert after this process has made its own objects. */
	end_inert_world(childs);
	end_inert_world(parents);
	expect_alive(&own);
	destroy_world(&own);
}

/* The objects that a child makes work in it, and are inert in its children. */
static void live_as_child(const struct kind *k, struct world *parents)
{
	struct world own;
	pid_t child;

	expect_inert_world(parents);
	open_world(&own, TKW_DRIVE_MANUAL);
	expect_alive(&own);
	expect_inert_world(parents);
	child = fork_child(k);
	if (child == 0) {
		live_as_grandchild(parents, &own);
		_exit(0);
	}
	fault_reap(child);
	expect_alive(&own);
	end_inert_world(parents);
	destroy_world(&own);
}

/* SPEC 6.7, fault 29 */
static void fault_29_a_child_has_objects_of_its_own(void **state)
{
	const struct kind *k = kind_of(state);
	static struct world w;
	pid_t child;

	calls = 0;
	open_world(&w, TKW_DRIVE_THREAD);
	expect_alive(&w);
	child = fork_child(k);
	if (child == 0) {
		live_as_child(k, &w);
		_exit(0);
	}
	assert_int_equal(fault_wait(child), 0);
	expect_alive(&w);
	destroy_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_KIND(fault_29_a_child_finds_all_inert_and_frees_it),
		EACH_KIND(fault_29_a_grandchild_is_noticed),
		EACH_KIND(fault_29_a_child_has_objects_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
