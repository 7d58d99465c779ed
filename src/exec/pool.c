/* SPDX-License-Identifier: MIT */
/*
 * pool.c - a fixed number of threads, and a bounded queue.
 *
 * Idea:    the queue is a ring of jobs under a lock. A thread that finds it
 *          empty waits for the bell `work`. Each job that is put in rings the
 *          bell for one thread.
 * Stop:    a stop closes the queue under the lock. From then on the threads
 *          take no job out of it, and the jobs left in it belong to the thread
 *          that stops the pool.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/config.h"
#include "base/ns.h"
#include "os/bell.h"
#include "os/clock.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/memory.h"
#include "os/rundown.h"
#include "os/sync.h"
#include "os/thread.h"
#include "tickwheel/exec.h"

enum {
	DEFAULT_QUEUED = 65536,
	MAX_THREADS = 4096,
	NAME_BYTES = 16
};
#define MAX_QUEUED (INT64_C(1) << 30)

struct tkw_pool {
	/* Set by create; only read afterwards. */
	struct tkw_exec exec;
	uint32_t epoch; /* the process that made the pool; see fork.h */
	uint32_t threads;
	uint64_t room;
	size_t bytes;
	char name[NAME_BYTES];

	/* Calls of tkw_pool_stop() that are under way. */
	struct tkw__rundown stops;
	struct tkw__lock lock;
	bool stopped;
	/* Jobs that are being run, plus 1 while a stop abandons jobs. */
	uint32_t running;
	struct tkw__bell work; /* there is a job, or there will be none */
	struct tkw__bell idle; /* nothing is queued or running */
	/* How many jobs were ever put in, and taken out. Each change is one
	 * store, so that a forked child always finds a consistent queue. */
	struct tkw__a64 put;
	struct tkw__a64 taken;
	void **handles;        /* behind the jobs, in the same memory */
	struct tkw_job jobs[]; /* `room` places */
};

/* --- jobs ---------------------------------------------------------------- */

static uint64_t queued(const struct tkw_pool *p)
{
	return TKW__LOAD(&p->put, RELAXED) - TKW__LOAD(&p->taken, RELAXED);
}

static void push(struct tkw_pool *p, const struct tkw_job *job)
{
	uint64_t put = TKW__LOAD(&p->put, RELAXED);

	p->jobs[put % p->room] = *job;
	/* RELEASE: after the job is stored, for the child of a fork. */
	TKW__STORE(&p->put, put + 1, RELEASE);
}

static struct tkw_job pop(struct tkw_pool *p)
{
	uint64_t taken = TKW__LOAD(&p->taken, RELAXED);
	struct tkw_job job = p->jobs[taken % p->room];

	TKW__STORE(&p->taken, taken + 1, RELEASE);
	return job;
}

static int submit(const struct tkw_job *job, void *ctx)
{
	struct tkw_pool *p = ctx;
	int err = 0;

	if (job == NULL || job->run == NULL || job->abandon == NULL)
		return -EINVAL;
	if (tkw__is_child(p->epoch))
		return -EPERM;
	tkw__lock_take(&p->lock);
	if (p->stopped)
		err = -ESHUTDOWN;
	else if (queued(p) == p->room)
		err = -EAGAIN;
	if (err != 0) {
		tkw__lock_drop(&p->lock);
		return err;
	}
	push(p, job);
	tkw__bell_ring_one_and_drop(&p->work, &p->lock);
	return 0;
}

static bool is_idle(const struct tkw_pool *p)
{
	return queued(p) == 0 && p->running == 0;
}

/* Waits for a job. The lock is held, but not during the wait. Returns false
 * when there will be no more jobs. */
static bool next_job(struct tkw_pool *p, struct tkw_job *job)
{
	while (queued(p) == 0 && !p->stopped)
		tkw__bell_wait(&p->work, &p->lock);
	if (p->stopped)
		return false;
	*job = pop(p);
	return true;
}

static void *work(void *pool)
{
	struct tkw_pool *p = pool;
	struct tkw__frame frame;
	struct tkw_job job;

	tkw__thread_become_worker(p->name);
	tkw__frame_enter(&frame, p);
	tkw__lock_take(&p->lock);
	while (next_job(p, &job)) {
		p->running++;
		tkw__lock_drop(&p->lock);
		job.run(&job);
		tkw__lock_take(&p->lock);
		p->running--;
		if (is_idle(p))
			tkw__bell_ring(&p->idle);
	}
	tkw__lock_drop(&p->lock);
	tkw__frame_leave(&frame);
	return NULL;
}

/* --- create -------------------------------------------------------------- */

static bool is_sound(const struct tkw_pool_config *cfg)
{
	return cfg->threads > 0 && cfg->threads <= MAX_THREADS &&
	       cfg->max_queued >= 0 && cfg->max_queued <= MAX_QUEUED;
}

/* Returns true for the one caller that begins the stop. Wakes the idle threads,
 * so that they end. */
static bool begin_stop(struct tkw_pool *p)
{
	tkw__lock_take(&p->lock);
	if (p->stopped) {
		tkw__lock_drop(&p->lock);
		return false;
	}
	p->stopped = true;
	p->running++; /* undone by end_abandons() */
	tkw__bell_ring_and_drop(&p->work, &p->lock);
	return true;
}

static void join(struct tkw_pool *p, uint32_t threads)
{
	for (uint32_t i = 0; i < threads; i++)
		tkw__thread_join(p->handles[i]);
}

/* Makes the threads, all or none. */
static int make_threads(struct tkw_pool *p)
{
	struct tkw__signals were;
	uint32_t made = 0;
	int err = 0;

	/* Signals are blocked while the threads are made, so that they block
	 * them from their start. */
	tkw__signals_block(&were);
	while (made < p->threads && err == 0) {
		err = tkw__thread_create(work, p, &p->handles[made]);
		if (err == 0)
			made++;
	}
	tkw__signals_restore(&were);
	if (err == 0)
		return 0;
	begin_stop(p);
	join(p, made);
	return -ENOMEM;
}

/* Creates a pool from a config that was checked. */
static int create(struct tkw_pool **out, const struct tkw_pool_config *cfg)
{
	struct tkw_pool *p;
	size_t handles;
	uint32_t epoch;
	uint64_t room;
	size_t bytes;
	int err;

	err = tkw__epoch_get(&epoch);
	if (err != 0)
		return err;
	room = cfg->max_queued ? (uint64_t)cfg->max_queued : DEFAULT_QUEUED;
	handles = (size_t)cfg->threads * sizeof(p->handles[0]);
	/* 2^30 jobs do not fit a size_t of 32 bits. */
	if (room > (SIZE_MAX - sizeof(*p) - handles) / sizeof(*p->jobs))
		return -ENOMEM;
	bytes = sizeof(*p) + handles + (size_t)room * sizeof(*p->jobs);
	p = tkw__memory_take(bytes, _Alignof(max_align_t));
	if (p == NULL)
		return -ENOMEM;
	*p = (struct tkw_pool){
		.exec = { .submit = submit, .ctx = p },
		.epoch = epoch,
		.threads = (uint32_t)cfg->threads,
		.room = room,
		.bytes = bytes,
	};
	p->handles = (void **)(void *)(p->jobs + room);
	strncpy(p->name, cfg->thread_name ? cfg->thread_name : "tkw-pool",
		sizeof(p->name) - 1);
	err = make_threads(p);
	if (err != 0)
		tkw__memory_free(p, bytes);
	else
		*out = p;
	return err;
}

int tkw_pool_create(struct tkw_pool **out, const struct tkw_pool_config *cfg)
{
	struct tkw_pool_config known;
	int was;
	int err;

	if (out == NULL || cfg == NULL)
		return -EINVAL;
	err = tkw__config_read(
		&known, sizeof(known), cfg,
		TKW__END_OF(struct tkw_pool_config, thread_name));
	if (err != 0)
		return err;
	if (!is_sound(&known))
		return -EINVAL;
	/* A thread that is cancelled half way would leak what it has made. */
	was = tkw__thread_no_cancel();
	err = create(out, &known);
	tkw__thread_restore_cancel(was);
	return err;
}

const struct tkw_exec *tkw_pool_exec(struct tkw_pool *p)
{
	return p ? &p->exec : NULL;
}

uint64_t tkw_pool_count(struct tkw_pool *p)
{
	uint64_t count;

	if (p == NULL || tkw__is_child(p->epoch))
		return 0;
	tkw__lock_take(&p->lock);
	count = queued(p);
	tkw__lock_drop(&p->lock);
	return count;
}

int tkw_pool_wait_idle(struct tkw_pool *p, int64_t timeout_ns)
{
	int64_t until_ns;
	bool in_time = true;

	if (p == NULL)
		return -EINVAL;
	if (tkw__is_child(p->epoch))
		return -EPERM;
	if (tkw__frame_inside(p))
		return -EDEADLK;
	until_ns = tkw__bell_until(timeout_ns);
	tkw__lock_take(&p->lock);
	while (!is_idle(p) && in_time)
		in_time = tkw__bell_wait_until(&p->idle, &p->lock, until_ns);
	tkw__lock_drop(&p->lock);
	return in_time ? 0 : -ETIMEDOUT;
}

/* --- stop and destroy ---------------------------------------------------- */

/* Abandons all jobs in the queue. The queue must belong to this thread: it has
 * stopped the pool, or is in a forked child. */
static void abandon_all(struct tkw_pool *p)
{
	struct tkw__frame frame;

	tkw__frame_enter(&frame, p);
	while (queued(p) > 0) {
		struct tkw_job job = pop(p);

		job.abandon(&job);
	}
	tkw__frame_leave(&frame);
}

/* After this, the stop no longer counts as a running job. Until then, a thread
 * that waits for the pool to be idle also waits for the abandons. */
static void end_abandons(struct tkw_pool *p)
{
	tkw__lock_take(&p->lock);
	p->running--;
	if (is_idle(p))
		tkw__bell_ring_and_drop(&p->idle, &p->lock);
	else
		tkw__lock_drop(&p->lock);
}

/* Stops the pool, unless that was done before. Returns what tkw_pool_stop()
 * returns. */
static int stop(struct tkw_pool *p)
{
	if (!begin_stop(p))
		return 1;
	abandon_all(p);
	end_abandons(p);
	join(p, p->threads);
	return 0;
}

int tkw_pool_stop(struct tkw_pool *p)
{
	int err = 1;
	int was;

	if (p == NULL)
		return -EINVAL;
	if (tkw__is_child(p->epoch))
		return -EPERM;
	if (tkw__frame_inside(p))
		return -EDEADLK;
	/* If the thread were cancelled in here, the stop would never be
	 * completed. */
	was = tkw__thread_no_cancel();
	if (tkw__rundown_enter(&p->stops)) {
		err = stop(p);
		tkw__rundown_leave(&p->stops);
	}
	tkw__thread_restore_cancel(was);
	return err;
}

int tkw_pool_destroy(struct tkw_pool *p)
{
	int was;

	if (p == NULL)
		return 0;
	if (tkw__frame_inside(p))
		return -EDEADLK;
	was = tkw__thread_no_cancel(); /* as in tkw_pool_stop() */
	if (tkw__is_child(p->epoch)) {
		abandon_all(p);
	} else {
		stop(p);
		tkw__rundown_close(&p->stops);
	}
	tkw__memory_free(p, p->bytes);
	tkw__thread_restore_cancel(was);
	return 0;
}
