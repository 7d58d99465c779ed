/* SPDX-License-Identifier: MIT */
/*
 * request_bed.h - a set of requests on the bed, and a record of its callbacks.
 */
#ifndef TKW_TESTS_REQUEST_BED_H
#define TKW_TESTS_REQUEST_BED_H

#include "timer_bed.h"

#include <stdatomic.h>

#include "tickwheel/request.h"

#define HOUR_NS (3600 * TKW_SEC)

/* A request, and what was passed to its fn. */
struct asked {
	struct tkw_request_id id;
	atomic_uint calls;
	struct tkw_request_end end;
	pthread_t by;
};

/* The id with these bits. */
static inline struct tkw_request_id id_of(uint64_t bits)
{
	return (struct tkw_request_id){ bits };
}

static inline void note_end(const struct tkw_request_end *end, void *ctx)
{
	struct asked *a = ctx;

	a->end = *end;
	a->by = pthread_self();
	atomic_fetch_add(&a->calls, 1);
}

static inline struct tkw_requests *open_limited_set(struct timer_bed *b,
						    const struct tkw_exec *exec,
						    int64_t max_pending)
{
	const struct tkw_requests_config cfg = { .size = sizeof(cfg),
						 .timer = b->t,
						 .exec = exec,
						 .max_pending = max_pending };
	struct tkw_requests *rs = NULL;

	assert_int_equal(tkw_requests_create(&rs, &cfg), 0);
	assert_non_null(rs);
	return rs;
}

static inline struct tkw_requests *open_set(struct timer_bed *b,
					    const struct tkw_exec *exec)
{
	return open_limited_set(b, exec, 0);
}

static inline void ask(struct tkw_requests *rs, struct asked *a,
		       int64_t timeout_ns)
{
	atomic_init(&a->calls, 0);
	a->id = id_of(0);
	assert_int_equal(tkw_requests_add(rs, note_end, a, timeout_ns, &a->id),
			 0);
	assert_true(a->id.bits != 0);
}

/* Adds a request that somebody will wait for. */
static inline struct tkw_request_id ask_quietly(struct tkw_requests *rs,
						int64_t timeout_ns)
{
	struct tkw_request_id id = { 0 };

	assert_int_equal(tkw_requests_add(rs, NULL, NULL, timeout_ns, &id), 0);
	return id;
}

/* Asserts that fn was called once, with this. */
static inline void assert_ended(struct asked *a, int status, void *response)
{
	assert_int_equal(atomic_load(&a->calls), 1);
	assert_true(a->end.id.bits == a->id.bits);
	assert_int_equal(a->end.status, status);
	assert_ptr_equal(a->end.response, response);
}

static inline void assert_under_way(struct asked *a)
{
	assert_int_equal(atomic_load(&a->calls), 0);
}

/* Waits for a request that has ended, and asserts how. */
static inline void assert_kept(struct tkw_requests *rs,
			       struct tkw_request_id id, int status,
			       void *response)
{
	struct tkw_request_end end;

	assert_int_equal(tkw_requests_wait(rs, id, &end), 0);
	assert_true(end.id.bits == id.bits);
	assert_int_equal(end.status, status);
	assert_ptr_equal(end.response, response);
	assert_int_equal(tkw_requests_wait(rs, id, &end), -ENOENT);
}

static inline void close_set(struct tkw_requests *rs)
{
	assert_int_equal(tkw_requests_destroy(rs), 0);
}

#endif /* TKW_TESTS_REQUEST_BED_H */
