/* SPDX-License-Identifier: MIT */
/* request_ours.c - our requests, through the public header. */
#include "timer/rival.h"

#include "tickwheel/request.h"

typedef struct tkw_request_id request_id;

static struct {
	struct tkw_timer *timer;
	struct tkw_requests *set;
} requests;

static inline void ended(void *caller, int status, const void *response);

static void on_end(const struct tkw_request_end *end, void *ctx)
{
	ended(ctx, end->status, end->response);
}

static void requests_open(const struct rival_load *l)
{
	struct tkw_timer_config timer = { .size = sizeof(timer),
					  .tick_ns = l->tick_ns };
	struct tkw_requests_config cfg = { .size = sizeof(cfg) };

	if (tkw_timer_create(&requests.timer, &timer) != 0)
		rival_die("tkw_timer_create failed");
	cfg.timer = requests.timer;
	if (tkw_requests_create(&requests.set, &cfg) != 0)
		rival_die("tkw_requests_create failed");
}

static void requests_close(void)
{
	(void)tkw_requests_destroy(requests.set);
	(void)tkw_timer_destroy(requests.timer);
}

static inline bool op_add(void *caller, int64_t timeout_ns, request_id *id)
{
	return tkw_requests_add(requests.set, on_end, caller, timeout_ns, id) ==
	       0;
}

static inline bool op_complete(request_id id, void *response)
{
	return tkw_requests_complete(requests.set, id, response) == 0;
}

#include "request_loops.h"

void ours_run_requests(const struct rival_load *l, struct rival_answer *a)
{
	measure_requests(l, a);
}
