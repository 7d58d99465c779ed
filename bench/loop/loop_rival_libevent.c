/* SPDX-License-Identifier: MIT */
/* loop_rival_libevent.c - idle timeouts in libevent's base, by event_add() or
 * by our timer. event_add() uses libevent's heap or the queue of a common
 * timeout. */
#include "timer/rival.h"

#include <sys/eventfd.h>
#include <tickwheel.h>
#include <tickwheel_event.h>
#include <unistd.h>

static struct {
	struct event_base *base;
	struct event file;
	struct tkw_event_adapter adapter;
	struct event *events;
	struct timeval delay;
	const struct timeval *again; /* the delay, or the common timeout */
	int fd;
} ev;

static void pushed(void);
static void expired(void);

static void on_file(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	pushed();
}

static struct event_base *new_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	if (cfg == NULL)
		rival_die("event_config_new failed");
	(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}

static void loop_open(void)
{
	ev.base = new_base();
	ev.fd = eventfd(1, EFD_NONBLOCK);
	if (ev.fd < 0 || ev.base == NULL ||
	    event_assign(&ev.file, ev.base, ev.fd, EV_READ | EV_PERSIST,
			 on_file, NULL) != 0 ||
	    event_add(&ev.file, NULL) != 0)
		rival_die("no base of libevent");
}

static void loop_run(void)
{
	(void)event_base_dispatch(ev.base);
}

static void loop_end(void)
{
	(void)event_base_loopbreak(ev.base);
}

static void loop_close(void)
{
	(void)event_del(&ev.file);
	event_base_free(ev.base);
	(void)close(ev.fd);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	expired();
}

static void own_open(uint32_t n, bool common)
{
	ev.delay.tv_sec = EXTEND_MS / 1000;
	ev.delay.tv_usec = 0;
	ev.again = &ev.delay;
	if (common)
		ev.again = event_base_init_common_timeout(ev.base, &ev.delay);
	ev.events = rival_pages_get(n * sizeof(*ev.events));
	for (uint32_t i = 0; i < n; i++)
		(void)evtimer_assign(&ev.events[i], ev.base, on_timeout, NULL);
}

static inline void own_again(uint32_t i)
{
	(void)event_add(&ev.events[i], ev.again);
}

static void own_start(uint32_t i, uint32_t first_ms)
{
	struct timeval first = { .tv_sec = first_ms / 1000 };

	first.tv_usec = (suseconds_t)(first_ms % 1000) * 1000;
	if (ev.again == &ev.delay)
		(void)event_add(&ev.events[i], &first);
	else
		own_again(i);
}

static bool own_pending(uint32_t i)
{
	return event_pending(&ev.events[i], EV_TIMEOUT, NULL) != 0;
}

static void own_close(uint32_t n)
{
	for (uint32_t i = n; i-- > 0;)
		(void)event_del(&ev.events[i]);
	rival_pages_put(ev.events, n * sizeof(*ev.events));
}

static int adapter_attach(struct tkw_timer *t)
{
	return tkw_event_attach(&ev.adapter, ev.base, t);
}

static void adapter_detach(void)
{
	tkw_event_detach(&ev.adapter);
}

#include "loop_extend.h"

static void run_own(const struct rival_load *l, struct rival_answer *a)
{
	measure_extend(l, EXTEND_OWN, a);
}

static void run_common(const struct rival_load *l, struct rival_answer *a)
{
	if (l->same)
		measure_extend(l, EXTEND_OWN_COMMON, a);
	else
		a->skip = "the delays are not all the same";
}

void ours_extend_libevent(const struct rival_load *l, bool clock,
			  struct rival_answer *a)
{
	measure_extend(l, clock ? EXTEND_OURS_CLOCK : EXTEND_OURS, a);
}

const struct entrant entrant_libevent = {
	.name = "libevent",
	.run_extend = run_own,
	.loop = RIVAL_LOOP_LIBEVENT,
};

const struct entrant entrant_libevent_common = {
	.name = "libevent_common",
	.run_extend = run_common,
	.loop = RIVAL_LOOP_LIBEVENT,
};
