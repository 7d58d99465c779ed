/* SPDX-License-Identifier: MIT */
/*
 * scenarios_request.c - requests: several threads try to end one, and it ends
 * once.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/request.h"

#define HOUR_NS (3600 * TKW_SEC)

enum {
	REQUESTS = 2
};

/* What was asked, and how it ended. An answer is 16 times the number of its
 * request (from 1), plus the number of the thread that gave it. */
static struct {
	struct tkw_requests *set;
	bool destroyed;
	struct {
		struct tkw_request_id id;
		unsigned begun;
		unsigned ends;
		unsigned answers; /* answers that were accepted */
		int status;
		uintptr_t response;
	} of[REQUESTS];
} book;

static void note_end(unsigned n, const struct tkw_request_end *end)
{
	explore_tell("request ends", n);
	explore_check(book.of[n].ends++ == 0);
	explore_check(end->id.bits == book.of[n].id.bits);
	explore_check((end->status == 0) == (end->response != NULL));
	/* It is not the answer to another request. */
	if (end->status == 0)
		explore_check((uintptr_t)end->response / 16 == n + 1);
	book.of[n].status = end->status;
	book.of[n].response = (uintptr_t)end->response;
}

static void on_end(const struct tkw_request_end *end, void *ctx)
{
	explore_check(!book.destroyed);
	note_end((unsigned)(uintptr_t)ctx, end);
	explore_yield();
	explore_check(!book.destroyed);
}

static void open_set(const struct tkw_exec *exec)
{
	struct tkw_requests_config cfg = { .exec = exec };

	memset(&book, 0, sizeof(book));
	open_timer(1);
	cfg.timer = run.t;
	explore_check(tkw_requests_create(&book.set, &cfg) == 0);
}

static int ask(unsigned n, tkw_request_fn *fn, int64_t timeout_ns)
{
	int err = tkw_requests_add(book.set, fn, (void *)(uintptr_t)n,
				   timeout_ns, &book.of[n].id);

	explore_tell("add returns", err);
	explore_check(err == 0 || err == -ESHUTDOWN);
	book.of[n].begun += err == 0;
	return err;
}

/* who is 1 ... 15. */
static void answer(unsigned n, struct tkw_request_id id, unsigned who)
{
	uintptr_t response = 16 * (n + 1) + who;
	int err = tkw_requests_complete(book.set, id, (void *)response);

	explore_tell("complete returns", err);
	explore_check(err == 0 || err == -ENOENT);
	book.of[n].answers += err == 0;
}

static void *answer_first(void *who)
{
	answer(0, book.of[0].id, (unsigned)(uintptr_t)who);
	return NULL;
}

/* Each request that was added has ended once, with success if an answer was
 * accepted. */
static void check_ends(void)
{
	for (unsigned n = 0; n < REQUESTS; n++) {
		explore_check(book.of[n].ends == book.of[n].begun);
		explore_check(book.of[n].answers ==
			      (book.of[n].ends == 1 && book.of[n].status == 0));
	}
}

static void close_set(void)
{
	explore_check(tkw_requests_destroy(book.set) == 0);
	book.destroyed = true;
	check_ends();
	/* No timeout is left behind. */
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	explore_check(tkw_timer_destroy(run.t) == 0);
}

/* SPEC 8.3: a request ends exactly once, by its timeout or by an answer, which
 * cancels the timeout. */
void complete_against_timeout(void)
{
	int a, b;

	open_set(NULL);
	ask(0, on_end, 0);
	a = explore_spawn("answer a", answer_first, (void *)1);
	b = explore_spawn("answer b", answer_first, (void *)2);
	explore_join(a);
	explore_join(b);
	explore_await(&book.of[0].ends, 1);
	explore_check(book.of[0].status == 0 ||
		      book.of[0].status == -ETIMEDOUT);
	close_set();
}

/* SPEC 8.3: a late answer does not end another request, even if that one uses
 * the same record. */
void complete_against_reuse(void)
{
	int a;

	open_set(NULL);
	ask(0, on_end, 0);
	a = explore_spawn("late answer", answer_first, (void *)1);
	answer(0, book.of[0].id, 2);
	ask(1, on_end, HOUR_NS);
	explore_join(a);
	explore_check(book.of[1].ends == 0);
	answer(1, book.of[1].id, 3);
	explore_check(book.of[1].answers == 1);
	explore_await(&book.of[0].ends, 1);
	close_set();
}

static void *wait_first(void *unused)
{
	struct tkw_request_end end;

	explore_check(tkw_requests_wait(book.set, book.of[0].id, &end) == 0);
	note_end(0, &end);
	return unused;
}

/* SPEC 8.3: a thread that waits is woken by any end of the request. If it comes
 * after the end, it does not wait. */
void wait_against_complete(void)
{
	int a, b;

	open_set(NULL);
	ask(0, NULL, 0);
	a = explore_spawn("wait", wait_first, NULL);
	b = explore_spawn("answer", answer_first, (void *)1);
	explore_join(a);
	explore_join(b);
	explore_check(tkw_requests_count(book.set) == 0);
	close_set();
}

static void *ask_second(void *unused)
{
	ask(1, on_end, HOUR_NS);
	return unused;
}

static void *shut_set_down(void *unused)
{
	explore_check(tkw_requests_shutdown(book.set) == 0);
	return unused;
}

/* SPEC 8.3: an add is refused, or its request ends before or by the
 * shutdown. */
void shutdown_of_a_set(void)
{
	int a, b, c;

	open_set(NULL);
	ask(0, on_end, HOUR_NS);
	a = explore_spawn("shutdown", shut_set_down, NULL);
	b = explore_spawn("add", ask_second, NULL);
	c = explore_spawn("answer", answer_first, (void *)1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	check_ends();
	explore_check(tkw_requests_count(book.set) == 0);
	close_set();
}

static void *stop_timer(void *unused)
{
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	return unused;
}

/* SPEC 8.3: the stop of the timer ends the requests, even one that was just
 * added. */
void timer_stop_against_complete(void)
{
	int a, b, c;

	open_set(NULL);
	ask(0, on_end, HOUR_NS);
	a = explore_spawn("stop", stop_timer, NULL);
	b = explore_spawn("add", ask_second, NULL);
	c = explore_spawn("answer", answer_first, (void *)1);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	check_ends();
	explore_check(book.of[0].status == 0 ||
		      book.of[0].status == -ESHUTDOWN);
	close_set();
}

/* SPEC 8.3: the memory stays while the worker or a thread of the pool uses
 * it. */
void destroy_of_a_set(void)
{
	const struct tkw_pool_config cfg = { .threads = 1, .max_queued = 1 };
	struct tkw_pool *pool;

	explore_check(tkw_pool_create(&pool, &cfg) == 0);
	open_set(tkw_pool_exec(pool));
	ask(0, on_end, 0);
	ask(1, on_end, 0);
	close_set();
	explore_check(tkw_pool_destroy(pool) == 0);
}

/* SPEC 8.3: after destroy has returned, the worker makes no callback any
 * more. */
void destroy_against_timeouts(void)
{
	open_set(NULL);
	ask(0, on_end, 0);
	ask(1, on_end, TKW_MSEC);
	explore_sleep_until(EXPLORE_START_NS + TKW_MSEC);
	close_set();
}
