/* SPDX-License-Identifier: MIT */
/*
 * test_job_watch.c - SPEC 12.3: how a set notices that the system's clock was
 * set. The timers have the system's clock.
 *
 * The clock is not really set: the library reads a wall clock that this test
 * has moved, and the descriptor that waits for a step is made to ring. That the
 * kernel would make it ring is seen from how the library has set it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "tickwheel/job.h"

#define HOUR_MS INT64_C(3600000)

/* --- the wall clock ------------------------------------------------------ */

static atomic_llong ahead_s;

#define NAMED(name) __asm__(name)
int real_clock_gettime(clockid_t clock, struct timespec *ts)
	NAMED("__real_clock_gettime");
int wrap_clock_gettime(clockid_t clock, struct timespec *ts)
	NAMED("__wrap_clock_gettime");

int wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int err = real_clock_gettime(clock, ts);

	if (clock == CLOCK_REALTIME)
		ts->tv_sec += (time_t)atomic_load(&ahead_s);
	return err;
}

/* --- how the descriptor is set ------------------------------------------- */

static atomic_int last_flags;
static atomic_int last_armed; /* not 0: an alarm was set, not disarmed */

int real_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			 struct itimerspec *was)
	NAMED("__real_timerfd_settime");
int wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			 struct itimerspec *was)
	NAMED("__wrap_timerfd_settime");

int wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			 struct itimerspec *was)
{
	atomic_store(&last_flags, flags);
	atomic_store(&last_armed, when->it_value.tv_sec != 0);
	return real_timerfd_settime(fd, flags, when, was);
}

/* --- threads that are cancelled ------------------------------------------ */

ssize_t real_read(int fd, void *buf, size_t size) NAMED("__real_read");
ssize_t wrap_read(int fd, void *buf, size_t size) NAMED("__wrap_read");
void real_testcancel(void) NAMED("__real_pthread_testcancel");
void wrap_testcancel(void) NAMED("__wrap_pthread_testcancel");

/* If the descriptor of a set is closed, its thread is cancelled and leaves its
 * stack, and AddressSanitizer does not notice. */
static void leave_stack(void *unused)
{
	(void)unused;
#ifdef __SANITIZE_ADDRESS__
	__asan_handle_no_return();
#endif
}

ssize_t wrap_read(int fd, void *buf, size_t size)
{
	ssize_t n;

	pthread_cleanup_push(leave_stack, NULL);
	n = real_read(fd, buf, size);
	pthread_cleanup_pop(0);
	return n;
}

void wrap_testcancel(void)
{
	pthread_cleanup_push(leave_stack, NULL);
	real_testcancel();
	pthread_cleanup_pop(0);
}

/* --- the bed ------------------------------------------------------------- */

static int64_t wall_ms(void)
{
	struct timespec ts;

	wrap_clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- the descriptor ------------------------------------------------------ */

/* Is this a timerfd of CLOCK_REALTIME? */
static bool is_wall_fd(int fd)
{
	char path[64], line[64];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		found = found || strcmp(line, "clockid: 0\n") == 0;
	if (f)
		fclose(f);
	return found;
}

/* The descriptor of the set, or -1. */
static int find_wall_fd(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int found = -1;

	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		int fd = (int)strtol(e->d_name, NULL, 10);

		if (e->d_name[0] != '.' && is_wall_fd(fd))
			found = fd;
	}
	closedir(dir);
	return found;
}

/* Makes it ring. Its interval is the library's mark, and must stay. */
static void ring(int fd)
{
	struct itimerspec when;

	assert_int_equal(timerfd_gettime(fd, &when), 0);
	when.it_value.tv_sec = 0;
	when.it_value.tv_nsec = 1;
	assert_int_equal(timerfd_settime(fd, 0, &when, NULL), 0);
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* --- a job, due in two hours --------------------------------------------- */

struct watched {
	struct tkw_timer *timer;
	struct tkw_jobs *set;
	struct tkw_job_id id;
	sem_t ran;
	int64_t planned_ms;
	int64_t now_ms;
	int64_t due_ms;
};

static int note(const struct tkw_job_run *run, void *ctx)
{
	struct watched *w = ctx;

	w->planned_ms = run->planned_ms;
	w->now_ms = run->now_ms;
	sem_post(&w->ran);
	return 0;
}

static void open_watched(struct watched *w, int drive)
{
	struct tkw_timer_config timer = { .size = sizeof(timer),
					  .drive = drive };
	struct tkw_jobs_config set = { .size = sizeof(set) };
	struct tkw_job_config job = { .size = sizeof(job),
				      .fn = note,
				      .ctx = w };
	struct tkw_plan *plan;
	char text[64];
	time_t due;

	memset(w, 0, sizeof(*w));
	assert_int_equal(sem_init(&w->ran, 0, 0), 0);
	w->due_ms = wall_ms() / 1000 * 1000 + 2 * HOUR_MS;
	due = (time_t)(w->due_ms / 1000);
	strftime(text, sizeof(text), "every 1d from %Y-%m-%dT%H:%M:%SZ",
		 gmtime(&due));
	assert_int_equal(tkw_plan_create(&plan, text, NULL, NULL), 0);
	assert_int_equal(tkw_timer_create(&w->timer, &timer), 0);
	set.timer = w->timer;
	assert_int_equal(tkw_jobs_create(&w->set, &set), 0);
	job.plan = plan;
	assert_int_equal(tkw_jobs_add(w->set, &job, &w->id), 0);
	(void)tkw_plan_destroy(plan);
}

static void close_watched(struct watched *w)
{
	assert_int_equal(tkw_jobs_destroy(w->set), 0);
	assert_int_equal(tkw_timer_destroy(w->timer), 0);
	assert_int_equal(find_wall_fd(), -1);
	sem_destroy(&w->ran);
	atomic_store(&ahead_s, 0);
}

static void await_run(struct watched *w)
{
	while (sem_wait(&w->ran) != 0)
		assert_int_equal(errno, EINTR);
}

static void assert_ran(struct watched *w)
{
	assert_true(w->planned_ms == w->due_ms);
	assert_true(w->now_ms >= w->due_ms);
}

/* SPEC 12.3: with a timer that has a thread, the set notices it by itself. The
 * test would wait for two hours otherwise. */
static void test_12_3_job_step_is_noticed_by_the_thread(void **state)
{
	struct watched w;

	(void)state;
	open_watched(&w, TKW_DRIVE_THREAD);
	assert_int_equal(tkw_jobs_fd(w.set), -EINVAL);
	/* A step of an hour is not enough, and a step back is not, either. */
	atomic_store(&ahead_s, 3600);
	ring(find_wall_fd());
	atomic_store(&ahead_s, -3600);
	ring(find_wall_fd());
	atomic_store(&ahead_s, 7200);
	ring(find_wall_fd());
	await_run(&w);
	assert_ran(&w);
	close_watched(&w);
}

/* SPEC 12.3: with the other drives, the fd is readable when the clock was
 * set. */
static void test_12_3_job_step_is_noticed_by_the_fd(void **state)
{
	static const int drives[] = { TKW_DRIVE_LOOP, TKW_DRIVE_MANUAL };
	struct watched w;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd;

		open_watched(&w, drives[i]);
		fd = tkw_jobs_fd(w.set);
		assert_int_equal(fd, find_wall_fd());
		assert_false(is_readable(fd));
		atomic_store(&ahead_s, 7200);
		ring(fd);
		/* It stays readable until the set looks. */
		assert_true(is_readable(fd));
		assert_true(is_readable(fd));
		assert_true(tkw_timer_turn(w.timer, 0, NULL) >= 0);
		assert_int_equal(w.planned_ms, 0);
		assert_int_equal(tkw_jobs_reread_clock(w.set), 0);
		assert_false(is_readable(fd));
		assert_int_equal(tkw_timer_turn(w.timer, 0, NULL), 1);
		assert_ran(&w);
		close_watched(&w);
	}
}

/* The kernel tells of a step only if the descriptor is of CLOCK_REALTIME, is
 * set to an absolute time, and has the flag for it. */
static void test_12_3_job_fd_waits_for_a_step(void **state)
{
	struct watched w;

	(void)state;
	open_watched(&w, TKW_DRIVE_MANUAL);
	for (int i = 0; i < 2; i++) {
		assert_true(is_wall_fd(tkw_jobs_fd(w.set)));
		assert_int_equal(atomic_load(&last_flags),
				 TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
		assert_int_not_equal(atomic_load(&last_armed), 0);
		atomic_store(&last_flags, 0);
		assert_int_equal(tkw_jobs_reread_clock(w.set), 0);
	}
	close_watched(&w);
}

/* A step back is noticed, too, and nothing runs. */
static void test_12_3_job_step_back_runs_nothing(void **state)
{
	struct tkw_job_info info;
	struct watched w;

	(void)state;
	open_watched(&w, TKW_DRIVE_MANUAL);
	atomic_store(&ahead_s, 7200);
	assert_int_equal(tkw_jobs_reread_clock(w.set), 0);
	assert_int_equal(tkw_timer_turn(w.timer, 0, NULL), 1);
	atomic_store(&ahead_s, 7199);
	assert_int_equal(tkw_jobs_reread_clock(w.set), 0);
	assert_int_equal(tkw_timer_turn(w.timer, 0, NULL), 0);
	assert_int_equal(tkw_jobs_get(w.set, w.id, &info), 0);
	assert_true(info.next_ms == w.due_ms + 24 * HOUR_MS);
	close_watched(&w);
}

/* Somebody closes the descriptor. The jobs go on, and destroy works. */
static void test_12_3_job_fd_is_closed(void **state)
{
	struct watched w;

	(void)state;
	open_watched(&w, TKW_DRIVE_MANUAL);
	close(tkw_jobs_fd(w.set));
	atomic_store(&ahead_s, 7200);
	assert_int_equal(tkw_jobs_reread_clock(w.set), -EBADF);
	assert_int_equal(tkw_timer_turn(w.timer, 0, NULL), 1);
	assert_ran(&w);
	close_watched(&w);
	open_watched(&w, TKW_DRIVE_THREAD);
	/* Not close(), which TSan would call a race with the thread. */
	assert_int_equal(syscall(SYS_close, find_wall_fd()), 0);
	atomic_store(&ahead_s, 7200);
	assert_int_equal(tkw_jobs_reread_clock(w.set), 0);
	await_run(&w);
	assert_ran(&w);
	close_watched(&w);
}

/* A step while the set is destroyed, many times: the thread always ends. */
static void test_12_3_job_step_during_destroy(void **state)
{
	struct watched w;

	(void)state;
	for (int i = 0; i < 200; i++) {
		open_watched(&w, TKW_DRIVE_THREAD);
		if (i % 2)
			ring(find_wall_fd());
		close_watched(&w);
	}
}

/* No thread can be made: the add fails, and may be tried again. */
static bool refuse_threads;

static int make_thread(void *(*run)(void *arg), void *arg, void **handle,
		       void *ctx)
{
	pthread_t *thread = malloc(sizeof(*thread));

	(void)ctx;
	assert_non_null(thread);
	if (refuse_threads || pthread_create(thread, NULL, run, arg) != 0) {
		free(thread);
		return -EAGAIN;
	}
	*handle = thread;
	return 0;
}

static void join_thread(void *handle, void *ctx)
{
	(void)ctx;
	pthread_join(*(pthread_t *)handle, NULL);
	free(handle);
}

static void test_12_3_job_without_a_thread(void **state)
{
	const struct tkw_timer_hooks hooks = { .thread_create = make_thread,
					       .thread_join = join_thread };
	const struct tkw_timer_config timer = { .hooks = &hooks };
	struct tkw_jobs_config set = { 0 };
	struct tkw_job_config job = { .fn = note };
	struct tkw_plan *plan;
	struct tkw_jobs *js;

	(void)state;
	assert_int_equal(tkw_plan_create(&plan, "@yearly", NULL, NULL), 0);
	job.plan = plan;
	assert_int_equal(tkw_timer_create(&set.timer, &timer), 0);
	assert_int_equal(tkw_timer_start(set.timer), 0);
	assert_int_equal(tkw_jobs_create(&js, &set), 0);
	refuse_threads = true;
	assert_int_equal(tkw_jobs_add(js, &job, NULL), -ENOMEM);
	assert_int_equal(tkw_jobs_count(js), 0);
	assert_int_equal(tkw_timer_count(set.timer), 0);
	refuse_threads = false;
	assert_int_equal(tkw_jobs_add(js, &job, NULL), 0);
	assert_int_equal(tkw_jobs_destroy(js), 0);
	assert_int_equal(tkw_timer_destroy(set.timer), 0);
	(void)tkw_plan_destroy(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_12_3_job_step_is_noticed_by_the_thread),
		cmocka_unit_test(test_12_3_job_step_is_noticed_by_the_fd),
		cmocka_unit_test(test_12_3_job_fd_waits_for_a_step),
		cmocka_unit_test(test_12_3_job_step_back_runs_nothing),
		cmocka_unit_test(test_12_3_job_fd_is_closed),
		cmocka_unit_test(test_12_3_job_step_during_destroy),
		cmocka_unit_test(test_12_3_job_without_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
