/* SPDX-License-Identifier: MIT */
/*
 * faulty_wheel.c - a wheel that makes mistakes on purpose.
 *
 * tkw_faulty is tkw, but some calls of the wheel go through here (by the
 * linker's --wrap). TKW_FAULT names the mistake. It is made at every hundredth
 * call:
 *
 *   none       no mistake
 *   early      an entry is added one tick too early
 *   late       an entry is added one tick too late
 *   never      an entry is added for TKW_TICK_NEVER
 *   forget     an entry is not added, but the wheel returns 0
 *   refuse     an entry is not added, and the wheel returns -ENOMEM
 *   jump       an entry is moved behind a later one of the same tick
 *   keep       an entry is not removed, but the wheel returns 0
 *   agree      every wrong add returns 0
 *   twice      an entry expires twice
 *   unsound    the checker finds something
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tickwheel.h"

enum {
	EVERY = 100,
	TICKS = 4096
};

/* The linker wants these names.
 * NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_tkw_wheel_add(struct tkw_wheel *w, struct tkw_entry *e,
			 uint64_t tick);
int __wrap_tkw_wheel_add(struct tkw_wheel *w, struct tkw_entry *e,
			 uint64_t tick);
int __real_tkw_wheel_remove(struct tkw_wheel *w, struct tkw_entry *e);
int __wrap_tkw_wheel_remove(struct tkw_wheel *w, struct tkw_entry *e);
int __real_tkw_wheel_advance(struct tkw_wheel *w, uint64_t to,
			     uint64_t max_steps, tkw_expire_fn *fn, void *ctx);
int __wrap_tkw_wheel_advance(struct tkw_wheel *w, uint64_t to,
			     uint64_t max_steps, tkw_expire_fn *fn, void *ctx);
const char *__real_tkw_wheel_check(const struct tkw_wheel *w);
const char *__wrap_tkw_wheel_check(const struct tkw_wheel *w);

static bool fault_is(const char *name)
{
	const char *fault = getenv("TKW_FAULT");

	return fault && !strcmp(fault, name);
}

static bool errs(const char *name)
{
	static unsigned calls;

	return fault_is(name) && calls++ % EVERY == 0;
}

/* Move the first entry of this tick behind the one that was just added. */
static int jump(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick)
{
	static struct tkw_entry *first[TICKS];
	struct tkw_entry **place = &first[tick % TICKS];

	if (*place && tkw_entry_tick(*place) == tick)
		return tkw_wheel_move(w, *place, tick);
	*place = e;
	return 0;
}

int __wrap_tkw_wheel_add(struct tkw_wheel *w, struct tkw_entry *e,
			 uint64_t tick)
{
	int r;

	if (tkw_entry_is_linked(e))
		return fault_is("agree") ? 0 : __real_tkw_wheel_add(w, e, tick);
	if (errs("forget"))
		return 0;
	if (errs("refuse"))
		return -ENOMEM;
	if (errs("never"))
		return __real_tkw_wheel_add(w, e, TKW_TICK_NEVER);
	if (errs("early"))
		return __real_tkw_wheel_add(w, e, tick - 1);
	if (errs("late"))
		return __real_tkw_wheel_add(w, e, tick + 1);
	r = __real_tkw_wheel_add(w, e, tick);
	if (!r && fault_is("jump"))
		r = jump(w, e, tick);
	return r;
}

int __wrap_tkw_wheel_remove(struct tkw_wheel *w, struct tkw_entry *e)
{
	return errs("keep") ? 0 : __real_tkw_wheel_remove(w, e);
}

struct call {
	tkw_expire_fn *fn;
	void *ctx;
};

static void expire_twice(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	const struct call *call = ctx;

	call->fn(w, e, call->ctx);
	if (errs("twice"))
		call->fn(w, e, call->ctx);
}

int __wrap_tkw_wheel_advance(struct tkw_wheel *w, uint64_t to,
			     uint64_t max_steps, tkw_expire_fn *fn, void *ctx)
{
	struct call call = { fn, ctx };

	return __real_tkw_wheel_advance(w, to, max_steps, expire_twice, &call);
}

const char *__wrap_tkw_wheel_check(const struct tkw_wheel *w)
{
	return errs("unsound") ? "a fault on purpose"
			       : __real_tkw_wheel_check(w);
}
/* NOLINTEND(bugprone-reserved-identifier) */
