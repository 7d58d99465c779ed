/* SPDX-License-Identifier: MIT */
/*
 * pool.c - a fixed number of threads, and a bounded queue.
 *
 * The queue is a ring of jobs under a lock. A thread that finds it empty
 * counts itself among the sleepers, remembers the bell, drops the lock and
 * parks on the bell; who puts a job in and sees a sleeper rings it first. So
 * the thread either sees the job or the bell has changed before it parks.
 *
 * States: OPEN -> STOPPING -> STOPPED, under the lock but for the last step,
 * which only the winner of a stop makes.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "os/memory.h"
#include "os/sync.h"
#include "os/thread.h"
#include "tickwheel/exec.h"

enum {
	DEFAULT_QUEUE = 65536,
	THREADS_MAX = 4096,
	NAME_BYTES = 16
};
#define QUEUE_MAX (INT64_C(1) << 30)

enum {
	OPEN = 0,
	STOPPING = 1,
	STOPPED = 2
};

struct tkw_pool {
	/* Set by create, and read only. */
	struct tkw_exec exec;
	uint32_t forks; /* of the process that made it */
	uint32_t threads;
	uint64_t room;
	size_t bytes;
	char name[NAME_BYTES];

	struct tkw__lock lock;
	struct tkw__a32 state;
	bool giving_up; /* what is queued is not run any more */
	uint32_t sleepers;
	struct tkw__a32 bell; /* counts up when one of them is to look */
	/* How many jobs were ever put in, and taken out. A change is one store,
	 * so that a forked child finds a queue that is whole. */
	struct tkw__a64 put;
	struct tkw__a64 taken;
	void **handles;        /* behind the jobs */
	struct tkw_job jobs[]; /* of `room` places */
};

static bool is_foreign(const struct tkw_pool *p)
{
	return p->forks != tkw__forks;
}

/* --- jobs ---------------------------------------------------------------- */

static uint64_t queued(const struct tkw_pool *p)
{
	return TKW__LOAD(&p->put, RELAXED) - TKW__LOAD(&p->taken, RELAXED);
}

static void push(struct tkw_pool *p, const struct tkw_job *job)
{
	uint64_t put = TKW__LOAD(&p->put, RELAXED);

	p->jobs[put % p->room] = *job;
	/* RELEASE: not before the job is there, for the child of a fork. */
	TKW__STORE(&p->put, put + 1, RELEASE);
}

static struct tkw_job pop(struct tkw_pool *p)
{
	uint64_t taken = TKW__LOAD(&p->taken, RELAXED);
	struct tkw_job job = p->jobs[taken % p->room];

	TKW__STORE(&p->taken, taken + 1, RELEASE);
	return job;
}

static int submit(void *ctx, const struct tkw_job *job)
{
	struct tkw_pool *p = ctx;
	bool wake = false;
	int err = 0;

	if (job == NULL || job->run == NULL || job->abandon == NULL)
		return -EINVAL;
	if (is_foreign(p))
		return -EPERM;
	tkw__lock_take(&p->lock);
	if (TKW__LOAD(&p->state, RELAXED) != OPEN)
		err = -ESHUTDOWN;
	else if (queued(p) == p->room)
		err = -EAGAIN;
	if (err == 0) {
		push(p, job);
		wake = p->sleepers > 0;
	}
	if (wake)
		TKW__ADD(&p->bell, 1, RELAXED);
	tkw__lock_drop(&p->lock);
	if (wake)
		tkw__unpark_one(&p->bell);
	return err;
}

/* Wait for a job. Return false when there will be none any more. */
static bool next_job(struct tkw_pool *p, struct tkw_job *job)
{
	bool found;

	tkw__lock_take(&p->lock);
	while (queued(p) == 0 && TKW__LOAD(&p->state, RELAXED) == OPEN) {
		uint32_t rung = TKW__LOAD(&p->bell, RELAXED);

		p->sleepers++;
		tkw__lock_drop(&p->lock);
		tkw__park(&p->bell, rung);
		tkw__lock_take(&p->lock);
		p->sleepers--;
	}
	found = queued(p) > 0 && !p->giving_up;
	if (found)
		*job = pop(p);
	tkw__lock_drop(&p->lock);
	return found;
}

static void *work(void *pool)
{
	struct tkw_pool *p = pool;
	struct tkw_job job;

	tkw__thread_become_worker(p->name);
	tkw__thread_local()->pool = p;
	/* A job may have forked: then the child, which is here too, ends. */
	while (!is_foreign(p) && next_job(p, &job))
		job.run(&job);
	return NULL;
}

/* --- create -------------------------------------------------------------- */

static bool is_sound(const struct tkw_pool_config *cfg)
{
	return (cfg->size == 0 || cfg->size == sizeof(*cfg)) &&
	       cfg->threads > 0 && cfg->threads <= THREADS_MAX &&
	       cfg->queue >= 0 && cfg->queue <= QUEUE_MAX;
}

/* Let the threads end, and wait for them. */
static void join(struct tkw_pool *p, uint32_t threads)
{
	TKW__ADD(&p->bell, 1, RELAXED);
	tkw__unpark_all(&p->bell);
	for (uint32_t i = 0; i < threads; i++)
		tkw__thread_join(p->handles[i]);
}

/* Win the stop. */
static bool begin_stop(struct tkw_pool *p, bool giving_up)
{
	bool won;

	tkw__lock_take(&p->lock);
	won = TKW__LOAD(&p->state, RELAXED) == OPEN;
	if (won) {
		TKW__STORE(&p->state, STOPPING, RELAXED);
		p->giving_up = giving_up;
	}
	tkw__lock_drop(&p->lock);
	return won;
}

/* Make the threads, all or none. */
static int make_threads(struct tkw_pool *p)
{
	struct tkw__signals were;
	uint32_t made = 0;
	int err = 0;

	/* What they block, they block from their first moment. */
	tkw__signals_block(&were);
	while (made < p->threads && err == 0) {
		err = tkw__thread_create(work, p, &p->handles[made]);
		if (err == 0)
			made++;
	}
	tkw__signals_restore(&were);
	if (err == 0)
		return 0;
	begin_stop(p, true);
	join(p, made);
	return -ENOMEM;
}

/* Create, from a config that is sound. */
static int create(struct tkw_pool **out, const struct tkw_pool_config *cfg)
{
	struct tkw_pool *p;
	size_t handles;
	uint64_t room;
	size_t bytes;
	int err;

	err = tkw__forks_watch();
	if (err != 0)
		return err;
	room = cfg->queue ? (uint64_t)cfg->queue : DEFAULT_QUEUE;
	handles = (size_t)cfg->threads * sizeof(p->handles[0]);
	/* 2^30 jobs are more than a size_t of 32 bits holds. */
	if (room > (SIZE_MAX - sizeof(*p) - handles) / sizeof(*p->jobs))
		return -ENOMEM;
	bytes = sizeof(*p) + handles + (size_t)room * sizeof(*p->jobs);
	p = tkw__memory_take(bytes, _Alignof(max_align_t));
	if (p == NULL)
		return -ENOMEM;
	*p = (struct tkw_pool){
		.exec = { .submit = submit, .ctx = p },
		.forks = tkw__forks,
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
	int was;
	int err;

	if (out == NULL || cfg == NULL || !is_sound(cfg))
		return -EINVAL;
	/* A thread that is cancelled half way would leak the rest. */
	was = tkw__thread_no_cancel();
	err = create(out, cfg);
	tkw__thread_restore_cancel(was);
	return err;
}

const struct tkw_exec *tkw_pool_exec(struct tkw_pool *p)
{
	return p ? &p->exec : NULL;
}

uint64_t tkw_pool_queued(struct tkw_pool *p)
{
	uint64_t count;

	if (p == NULL || is_foreign(p))
		return 0;
	tkw__lock_take(&p->lock);
	count = queued(p);
	tkw__lock_drop(&p->lock);
	return count;
}

/* --- stop and destroy ---------------------------------------------------- */

/* Stop, if nobody has. Return  as tkw_pool_stop(). */
static int stop(struct tkw_pool *p, bool giving_up)
{
	if (!begin_stop(p, giving_up))
		return 1;
	join(p, p->threads);
	/* RELEASE pairs with the ACQUIRE of destroy. */
	TKW__STORE(&p->state, STOPPED, RELEASE);
	tkw__unpark_all(&p->state);
	return 0;
}

static bool is_inside(const struct tkw_pool *p)
{
	return tkw__thread_local()->pool == p;
}

int tkw_pool_stop(struct tkw_pool *p)
{
	int was;
	int err;

	if (p == NULL)
		return -EINVAL;
	if (is_foreign(p))
		return -EPERM;
	if (is_inside(p))
		return -EDEADLK;
	/* Were the thread cancelled in the join, the rest would never come. */
	was = tkw__thread_no_cancel();
	err = stop(p, false);
	tkw__thread_restore_cancel(was);
	return err;
}

/* As if from a thread of the pool: it must not be destroyed from in there. */
static void abandon_all(struct tkw_pool *p)
{
	struct tkw__local *local = tkw__thread_local();
	void *outer = local->pool;

	local->pool = p;
	while (queued(p) > 0) {
		struct tkw_job job = pop(p);

		job.abandon(&job);
	}
	local->pool = outer;
}

int tkw_pool_destroy(struct tkw_pool *p)
{
	int was;

	if (p == NULL)
		return -EINVAL;
	if (is_inside(p))
		return -EDEADLK;
	was = tkw__thread_no_cancel(); /* as above, and in an abandon */
	if (!is_foreign(p)) {
		stop(p, true);
		while (TKW__LOAD(&p->state, ACQUIRE) != STOPPED)
			tkw__park(&p->state, STOPPING);
	}
	abandon_all(p);
	tkw__memory_free(p, p->bytes);
	tkw__thread_restore_cancel(was);
	return 0;
}
