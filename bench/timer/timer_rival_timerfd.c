/* SPDX-License-Identifier: MIT */
/*
 * timer_rival_timerfd.c - the kernel's timers: one timerfd for each timeout,
 * created before, and one thread that waits for all of them with epoll.
 */
#include "rival.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 256
#define QUIT UINT64_MAX

enum {
	HAS_DEADLINES = 1,
	SLOTS_ARE_CALLERS = 0
};

static struct {
	pthread_t thread;
	int epoll;
	int quit;
	int *fds;
	size_t bytes; /* size of fds */
	size_t n;     /* how many are open */
} timer;

static void fired(size_t i);

/* Edge-triggered events would save the read. But only the read tells whether
 * the timeout was cancelled after epoll had reported it. */
static void on_event(uint64_t i)
{
	uint64_t expirations;

	if (read(timer.fds[i], &expirations, sizeof(expirations)) > 0)
		fired(i);
}

static void *work(void *arg)
{
	struct epoll_event events[EVENTS_AT_ONCE];

	for (;;) {
		int count = epoll_wait(timer.epoll, events, EVENTS_AT_ONCE, -1);

		for (int k = 0; k < count; k++) {
			if (events[k].data.u64 == QUIT)
				return arg;
			on_event(events[k].data.u64);
		}
	}
}

static int watch(int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

	return epoll_ctl(timer.epoll, EPOLL_CTL_ADD, fd, &event);
}

static void allow_descriptors(void)
{
	struct rlimit limit;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void timer_open(const struct rival_load *l)
{
	(void)l;
	allow_descriptors();
	timer.epoll = epoll_create1(EPOLL_CLOEXEC);
	timer.quit = eventfd(0, EFD_CLOEXEC);
	if (timer.epoll < 0 || timer.quit < 0 || watch(timer.quit, QUIT) != 0)
		rival_die("epoll or eventfd failed");
	if (pthread_create(&timer.thread, NULL, work, NULL) != 0)
		rival_die("pthread_create failed");
}

static void timer_stop(void)
{
	(void)eventfd_write(timer.quit, 1);
	(void)pthread_join(timer.thread, NULL);
}

static void timer_close(void)
{
	(void)close(timer.quit);
	(void)close(timer.epoll);
}

static void slots_close(void)
{
	for (size_t i = 0; i < timer.n; i++)
		(void)close(timer.fds[i]);
	rival_pages_put(timer.fds, timer.bytes);
}

static const char *slots_open(size_t n)
{
	struct rlimit limit;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	if (n > limit.rlim_cur)
		return "more timeouts than file descriptors";
	timer.bytes = n * sizeof(*timer.fds);
	timer.fds = rival_pages_get(timer.bytes);
	for (timer.n = 0; timer.n < n; timer.n++) {
		int fd = timerfd_create(CLOCK_MONOTONIC,
					TFD_NONBLOCK | TFD_CLOEXEC);

		timer.fds[timer.n] = fd;
		if (fd < 0 || watch(fd, timer.n) != 0) {
			if (fd >= 0)
				(void)close(fd);
			slots_close();
			return "more timeouts than file descriptors";
		}
	}
	return NULL;
}

static inline bool set(size_t i, int flags, int64_t ns)
{
	struct itimerspec when = { .it_value = rival_timespec(ns) };

	return timerfd_settime(timer.fds[i], flags, &when, NULL) == 0;
}

static inline bool op_schedule(size_t i, int64_t delay_ns)
{
	return set(i, 0, delay_ns);
}

static inline bool op_schedule_at(size_t i, int64_t deadline_ns,
				  int64_t delay_ns)
{
	(void)delay_ns;
	return set(i, TFD_TIMER_ABSTIME, deadline_ns);
}

static inline bool op_cancel(size_t i)
{
	struct itimerspec none = { 0 };
	struct itimerspec before;

	return timerfd_settime(timer.fds[i], 0, &none, &before) == 0 &&
	       (before.it_value.tv_sec > 0 || before.it_value.tv_nsec > 0);
}

static inline bool op_reschedule(size_t i, int64_t delay_ns)
{
	return op_schedule(i, delay_ns);
}

static inline bool op_rearm(size_t i, int64_t delay_ns)
{
	return op_schedule(i, delay_ns);
}

#include "timer_loops.h"

static void run(const struct rival_load *l, struct rival_answer *a)
{
	if (l->kind == RIVAL_MEMORY)
		a->skip = "its memory is the kernel's";
	else
		run_load(l, a);
}

const struct entrant entrant_timerfd = {
	.name = "timerfd",
	.run = run,
};
