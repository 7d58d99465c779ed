/* SPDX-License-Identifier: MIT */
/* loop_rival_libuv.c - idle timeouts in libuv's loop, by uv_timer_again() or by
 * our timer. */
#include "timer/rival.h"

#include <sys/eventfd.h>
#include <tickwheel.h>
#include <tickwheel_uv.h>
#include <unistd.h>

static struct {
	uv_loop_t loop;
	uv_poll_t file;
	struct tkw_uv_adapter adapter;
	uv_timer_t *timers;
	int fd;
} uv;

static void pushed(void);
static void expired(void);

static void on_file(uv_poll_t *poll, int status, int events)
{
	(void)poll;
	(void)status;
	(void)events;
	pushed();
}

static void loop_open(void)
{
	uv.fd = eventfd(1, EFD_NONBLOCK);
	if (uv.fd < 0 || uv_loop_init(&uv.loop) != 0 ||
	    uv_poll_init(&uv.loop, &uv.file, uv.fd) != 0 ||
	    uv_poll_start(&uv.file, UV_READABLE, on_file) != 0)
		rival_die("no loop of libuv");
}

static void loop_run(void)
{
	(void)uv_run(&uv.loop, UV_RUN_DEFAULT);
}

static void loop_end(void)
{
	uv_stop(&uv.loop);
}

static void loop_close(void)
{
	uv_close((uv_handle_t *)&uv.file, NULL);
	(void)uv_run(&uv.loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&uv.loop) != 0)
		rival_die("uv_loop_close failed");
	(void)close(uv.fd);
}

static void on_timer(uv_timer_t *t)
{
	(void)t;
	expired();
}

static void own_open(uint32_t n, bool common)
{
	(void)common;
	uv.timers = rival_pages_get(n * sizeof(*uv.timers));
	for (uint32_t i = 0; i < n; i++)
		(void)uv_timer_init(&uv.loop, &uv.timers[i]);
}

static void own_start(uint32_t i, uint32_t first_ms)
{
	(void)uv_timer_start(&uv.timers[i], on_timer, first_ms, EXTEND_MS);
}

static inline void own_again(uint32_t i)
{
	(void)uv_timer_again(&uv.timers[i]);
}

static bool own_pending(uint32_t i)
{
	return uv_is_active((uv_handle_t *)&uv.timers[i]);
}

static void own_close(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		uv_close((uv_handle_t *)&uv.timers[i], NULL);
	(void)uv_run(&uv.loop, UV_RUN_NOWAIT);
	rival_pages_put(uv.timers, n * sizeof(*uv.timers));
}

static int adapter_attach(struct tkw_timer *t)
{
	return tkw_uv_attach(&uv.adapter, &uv.loop, t);
}

static void adapter_detach(void)
{
	tkw_uv_detach(&uv.adapter);
}

#include "loop_extend.h"

static void run_own(const struct rival_load *l, struct rival_answer *a)
{
	measure_extend(l, EXTEND_OWN, a);
}

void ours_extend_libuv(const struct rival_load *l, bool clock,
		       struct rival_answer *a)
{
	measure_extend(l, clock ? EXTEND_OURS_CLOCK : EXTEND_OURS, a);
}

const struct entrant entrant_libuv = {
	.name = "libuv",
	.run_extend = run_own,
	.loop = RIVAL_LOOP_LIBUV,
};
