/* SPDX-License-Identifier: MIT */
/* loop_rival_libev.c - idle timeouts in libev's loop, by ev_timer_again() or by
 * our timer. */
#include "timer/rival.h"

#include <sys/eventfd.h>
#include <tickwheel.h>
#include <tickwheel_ev.h>
#include <unistd.h>

static struct {
	struct ev_loop *loop;
	ev_io file;
	struct tkw_ev_adapter adapter;
	ev_timer *timers;
	int fd;
} ev;

static void pushed(void);
static void expired(void);

static void on_file(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop;
	(void)io;
	(void)revents;
	pushed();
}

static void loop_open(void)
{
	ev.loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
	ev.fd = eventfd(1, EFD_NONBLOCK);
	if (ev.fd < 0 || ev.loop == NULL)
		rival_die("no loop of libev");
	ev_io_init(&ev.file, on_file, ev.fd, EV_READ);
	ev_io_start(ev.loop, &ev.file);
}

static void loop_run(void)
{
	(void)ev_run(ev.loop, 0);
}

static void loop_end(void)
{
	ev_break(ev.loop, EVBREAK_ONE);
}

static void loop_close(void)
{
	ev_loop_destroy(ev.loop);
	(void)close(ev.fd);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
	expired();
}

static void own_open(uint32_t n, bool common)
{
	(void)common;
	ev.timers = rival_pages_get(n * sizeof(*ev.timers));
	for (uint32_t i = 0; i < n; i++)
		ev_init(&ev.timers[i], on_timer);
}

static void own_start(uint32_t i, uint32_t first_ms)
{
	ev_timer_set(&ev.timers[i], first_ms * 1e-3, EXTEND_MS * 1e-3);
	ev_timer_start(ev.loop, &ev.timers[i]);
}

static inline void own_again(uint32_t i)
{
	ev_timer_again(ev.loop, &ev.timers[i]);
}

static bool own_pending(uint32_t i)
{
	return ev_is_active(&ev.timers[i]);
}

static void own_close(uint32_t n)
{
	for (uint32_t i = n; i-- > 0;)
		ev_timer_stop(ev.loop, &ev.timers[i]);
	rival_pages_put(ev.timers, n * sizeof(*ev.timers));
}

static int adapter_attach(struct tkw_timer *t)
{
	return tkw_ev_attach(&ev.adapter, ev.loop, t);
}

static void adapter_detach(void)
{
	tkw_ev_detach(&ev.adapter);
}

#include "loop_extend.h"

static void run_own(const struct rival_load *l, struct rival_answer *a)
{
	measure_extend(l, EXTEND_OWN, a);
}

void ours_extend_libev(const struct rival_load *l, bool clock,
		       struct rival_answer *a)
{
	measure_extend(l, clock ? EXTEND_OURS_CLOCK : EXTEND_OURS, a);
}

const struct entrant entrant_libev = {
	.name = "libev",
	.run_extend = run_own,
	.loop = RIVAL_LOOP_LIBEV,
};
