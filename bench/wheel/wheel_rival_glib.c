/* SPDX-License-Identifier: MIT */
/*
 * wheel_rival_glib.c - GLib, which keeps a list of sources. Each iteration
 * looks at all of them.
 *
 * Our use is the one that is best for GLib: a source of our own with a ready
 * time, attached once. Then an operation only stores a time.
 * g_timeout_source_new() would allocate, attach and destroy a source for each
 * timeout. GLib allocates its sources itself.
 */
#include "wheel_bench.h"
#include "wheel_entrants.h"

#include <glib.h>

struct source {
	GSource base;
	uint32_t id;
};

struct state {
	GMainContext *context;
	GSource **sources;
	uint32_t n;
};

static gboolean dispatch(GSource *source, GSourceFunc fn, gpointer data)
{
	(void)fn;
	(void)data;
	g_source_set_ready_time(source, -1); /* once */
	bench_count_fired(((struct source *)source)->id);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs source_funcs = { .dispatch = dispatch };

/* There is nothing to wait for; see vclock.h. */
static gint no_poll(GPollFD *fds, guint n, gint timeout)
{
	(void)fds;
	(void)n;
	(void)timeout;
	return 0;
}

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	(void)entrant;
	s->context = g_main_context_new();
	g_main_context_set_poll_func(s->context, no_poll);
	if (!g_main_context_acquire(s->context))
		bench_die("g_main_context_acquire failed");
	s->n = l->n;
	s->sources = (GSource **)bench_pages_get(l->n * sizeof(GSource *));
	for (uint32_t i = 0; i < l->n; i++) {
		GSource *source =
			g_source_new(&source_funcs, sizeof(struct source));

		((struct source *)source)->id = i;
		(void)g_source_attach(source, s->context);
		s->sources[i] = source;
	}
}

static void state_close(struct state *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		g_source_destroy(s->sources[i]);
		g_source_unref(s->sources[i]);
	}
	g_main_context_release(s->context);
	g_main_context_unref(s->context);
	bench_pages_put(s->sources, s->n * sizeof(GSource *));
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	g_source_set_ready_time(s->sources[i], (gint64)tick * 1000);
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	g_source_set_ready_time(s->sources[i], -1);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	g_source_set_ready_time(s->sources[i], (gint64)tick * 1000);
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	bench_vclock_set(tick);
	(void)g_main_context_iteration(s->context, FALSE);
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

const struct bench_entrant bench_entrant_glib = {
	.name = "glib",
	.run = run_load,
	.linear_tick = 1,
};
