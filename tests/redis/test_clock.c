/* SPDX-License-Identifier: MIT */
/*
 * test_clock.c - TKW.CLOCK, a command that only the test build of the module
 * has.
 *
 *   TKW.CLOCK us    From now on it is this time, in microseconds since 1970.
 *   TKW.CLOCK REAL  The module uses the clock of the machine again.
 *
 * Each call also looks at the queues for which clients wait.
 */
#include <string.h>
#include <strings.h>

#include "redis/module.h"
#include "redis/waiters.h"

static uint64_t set_us;

static uint64_t set_clock(void)
{
	return set_us;
}

static int clock_command(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	long long us;

	if (argc != 2)
		return tkw__rm.WrongArity(ctx);
	if (strcasecmp(tkw__rm.StringPtrLen(argv[1], NULL), "REAL") == 0) {
		tkw__redis_now_us = tkw__redis_real_now_us;
	} else if (tkw__rm.StringToLongLong(argv[1], &us) == RM_OK && us >= 0) {
		set_us = (uint64_t)us;
		tkw__redis_now_us = set_clock;
	} else {
		return tkw__rm.ReplyWithError(ctx, "ERR no time");
	}
	tkw__waiters_wake_all(ctx);
	return tkw__rm.ReplyWithSimpleString(ctx, "OK");
}

static int load(struct rm_ctx *ctx)
{
	return tkw__rm.CreateCommand(ctx, "TKW.CLOCK", clock_command,
				     "readonly", 0, 0, 0);
}

/* Runs when the server opens the module, before the module is loaded. */
__attribute__((constructor)) static void add_command(void)
{
	tkw__redis_extra_load = load;
}
