/* SPDX-License-Identifier: MIT */
/*
 * loop_extend.h - pushes back idle timeouts in an event loop: the loop's own
 * timers, and those of a tickwheel timer through its adapter.
 *
 * It has no include guard, because it is the last include of each loop's file.
 * Before the include, the file declares pushed() and expired(). It calls
 * pushed() in each round of the loop, from a callback of a readable file, and
 * expired() when one of the loop's own timers fires. It also defines
 *
 *   void loop_open()                 with a file that is always readable
 *   void loop_run()                  until loop_end()
 *   void loop_end()
 *   void loop_close()                without timers
 *   void own_open(n, common)         n timers; if common, all have one delay
 *   void own_start(i, first_ms)
 *   void own_again(i)                pending; to EXTEND_MS from now
 *   bool own_pending(i)
 *   void own_close(n)
 *   int adapter_attach(t), void adapter_detach()
 *
 * After the include, it can call measure_extend(). A loop reads the clock once
 * in a round. So ours is measured twice: once with one reading per round
 * (reschedule_at), and once with a reading per call.
 */
enum extend_who {
	EXTEND_OWN,
	EXTEND_OWN_COMMON,
	EXTEND_OURS,
	EXTEND_OURS_CLOCK
};

enum {
	PER_ROUND = 1000 /* as in the row wheel/extend/random */
};

static struct {
	enum extend_who who;
	uint32_t n;
	uint32_t left; /* operations left to do */
	uint32_t wrong;
	uint64_t rng;
	struct tkw_timeout_id *ids;
	struct tkw_timer *t;
} extend;

static void expired(void)
{
	extend.wrong++;
}

static void on_due(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
	expired();
}

static void push_own(uint32_t ops)
{
	uint64_t rng = extend.rng;

	for (uint32_t k = 0; k < ops; k++)
		own_again(rival_below(&rng, extend.n));
	extend.rng = rng;
}

static void push_ours(uint32_t ops)
{
	int64_t to_ns = tkw_timer_now_ns(extend.t) + EXTEND_MS * RIVAL_MSEC;
	uint64_t rng = extend.rng;
	uint32_t wrong = 0;

	for (uint32_t k = 0; k < ops; k++) {
		struct tkw_timeout_id id =
			extend.ids[rival_below(&rng, extend.n)];

		wrong += tkw_timer_reschedule_at(extend.t, id, to_ns) != 0;
	}
	extend.wrong += wrong;
	extend.rng = rng;
}

static void push_ours_clock(uint32_t ops)
{
	uint64_t rng = extend.rng;
	uint32_t wrong = 0;

	for (uint32_t k = 0; k < ops; k++) {
		struct tkw_timeout_id id =
			extend.ids[rival_below(&rng, extend.n)];

		wrong += tkw_timer_reschedule(extend.t, id,
					      EXTEND_MS * RIVAL_MSEC) != 0;
	}
	extend.wrong += wrong;
	extend.rng = rng;
}

static void pushed(void)
{
	uint32_t ops = extend.left < PER_ROUND ? extend.left : PER_ROUND;

	if (extend.who == EXTEND_OURS)
		push_ours(ops);
	else if (extend.who == EXTEND_OURS_CLOCK)
		push_ours_clock(ops);
	else
		push_own(ops);
	extend.left -= ops;
	if (extend.left == 0)
		loop_end();
}

static bool is_ours(void)
{
	return extend.who == EXTEND_OURS || extend.who == EXTEND_OURS_CLOCK;
}

static void open_ours(void)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = TKW_DRIVE_LOOP };

	extend.ids = rival_pages_get(extend.n * sizeof(*extend.ids));
	if (tkw_timer_create(&extend.t, &cfg) != 0 ||
	    adapter_attach(extend.t) != 0)
		rival_die("the timer cannot be made");
}

static void close_ours(void)
{
	extend.wrong += tkw_timer_count(extend.t) != extend.n;
	adapter_detach();
	(void)tkw_timer_destroy(extend.t);
	rival_pages_put(extend.ids, extend.n * sizeof(*extend.ids));
}

static void close_own(void)
{
	for (uint32_t i = 0; i < extend.n; i++)
		extend.wrong += !own_pending(i);
	own_close(extend.n);
}

/* The timeouts are due after half to all of EXTEND_MS, or all after
 * EXTEND_MS. */
static void fill(bool same)
{
	const struct tkw_task task = { .fn = on_due };
	uint64_t rng = 1;

	for (uint32_t i = 0; i < extend.n; i++) {
		uint32_t ms = EXTEND_MS / 2 + rival_below(&rng, EXTEND_MS / 2);

		if (same)
			ms = EXTEND_MS;
		if (!is_ours())
			own_start(i, ms);
		else if (tkw_timer_schedule(extend.t, &task, ms * RIVAL_MSEC,
					    &extend.ids[i]) != 0)
			rival_die("a timeout was refused");
	}
}

static void measure_extend(const struct rival_load *l, enum extend_who who,
			   struct rival_answer *a)
{
	int64_t begin_ns;
	int64_t begin_cpu_ns;

	extend.who = who;
	extend.n = l->n;
	extend.left = l->ops;
	extend.wrong = 0;
	extend.rng = 2;
	loop_open();
	if (is_ours())
		open_ours();
	else
		own_open(l->n, who == EXTEND_OWN_COMMON);
	fill(l->same);
	begin_cpu_ns = rival_cpu_ns();
	begin_ns = rival_now();
	loop_run();
	rival_figure(a, "ns", (double)(rival_now() - begin_ns) / l->ops);
	rival_figure(a, "cpu_ns",
		     (double)(rival_cpu_ns() - begin_cpu_ns) / l->ops);
	if (is_ours())
		close_ours();
	else
		close_own();
	loop_close();
	if (extend.wrong > 0)
		rival_fail(a, "a timeout fired, or was refused, or was lost");
}
