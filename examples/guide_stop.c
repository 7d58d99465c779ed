/* SPDX-License-Identifier: MIT */
/* guide_stop.c - the order in which to stop a service. */
#include <errno.h>
#include <stdio.h>
#include <tickwheel.h>

struct service {
	struct tkw_pool *pool;
	struct tkw_timer *timer;
	struct tkw_requests *requests;
};

static void on_end(const struct tkw_request_end *end, void *ctx)
{
	printf("%s: %s\n", (const char *)ctx,
	       end->status == -ESHUTDOWN ? "shut down" : "answered");
}

static void flush_cache(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

static void left_over(const struct tkw_timeout_info *info, void *ctx)
{
	(void)ctx;
	printf("%s: left over\n", (const char *)info->task.ctx);
}

static int start_service(struct service *s)
{
	struct tkw_pool_config pool = { .size = sizeof(pool), .threads = 2 };
	struct tkw_timer_config timer = { .size = sizeof(timer) };
	struct tkw_requests_config requests = { .size = sizeof(requests) };

	if (tkw_pool_create(&s->pool, &pool) != 0)
		return 1;
	timer.exec = tkw_pool_exec(s->pool);
	if (tkw_timer_create(&s->timer, &timer) != 0)
		return 1;
	requests.timer = s->timer;
	return tkw_requests_create(&s->requests, &requests);
}

static void stop_service(struct service *s)
{
	/* First what uses the timer, then the timer, then its pool. */
	tkw_requests_destroy(s->requests);
	tkw_timer_stop(s->timer, left_over, NULL);
	tkw_timer_destroy(s->timer);
	tkw_pool_destroy(s->pool);
}

int main(void)
{
	struct tkw_task flush = { .fn = flush_cache, .ctx = "flush" };
	struct tkw_request_id id;
	struct service s;

	if (start_service(&s) != 0)
		return 1;
	tkw_timer_schedule(s.timer, &flush, 60 * TKW_SEC, NULL);
	tkw_requests_add(s.requests, on_end, "get", 60 * TKW_SEC, &id);
	tkw_requests_add(s.requests, on_end, "put", 60 * TKW_SEC, &id);
	tkw_requests_complete(s.requests, id, NULL);
	stop_service(&s);
	return 0;
}
