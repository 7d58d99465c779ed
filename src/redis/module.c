/* SPDX-License-Identifier: MIT */
/* module.c - loads the module into the server, and registers its commands. */
#define _POSIX_C_SOURCE 200809L
#include "redis/module.h"

#include <time.h>

#include "redis/documents.h"
#include "redis/waiters.h"
#include "tickwheel/version.h"

uint64_t (*tkw__redis_now_us)(void) = tkw__redis_real_now_us;
int (*tkw__redis_extra_load)(struct rm_ctx *ctx);

uint64_t tkw__redis_real_now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

struct command {
	const char *name;
	rm_command_fn *fn;
	const char *flags;
	/* Where the server has categories of ACLs for modules. */
	const char *categories;
};

static const struct command commands[] = {
	{ "TKW.PUT", tkw__redis_put, "write deny-oom fast", "write fast" },
	{ "TKW.MPUT", tkw__redis_mput, "write deny-oom", "write slow" },
	{ "TKW.TAKE", tkw__redis_take, "write blocking",
	  "write blocking slow" },
	{ "TKW.ACK", tkw__redis_ack, "write fast", "write fast" },
	{ "TKW.NACK", tkw__redis_nack, "write fast", "write fast" },
	{ "TKW.EXTEND", tkw__redis_extend, "write fast", "write fast" },
	{ "TKW.CANCEL", tkw__redis_cancel, "write fast", "write fast" },
	{ "TKW.RESCHEDULE", tkw__redis_reschedule, "write fast", "write fast" },
	{ "TKW.GET", tkw__redis_get, "readonly fast", "read fast" },
	{ "TKW.LIST", tkw__redis_list, "readonly may-replicate", "read slow" },
	{ "TKW.COUNT", tkw__redis_count, "readonly may-replicate",
	  "read slow" },
	{ "TKW.INFO", tkw__redis_info, "readonly may-replicate", "read slow" },
	{ "TKW.DIGEST", tkw__redis_digest, "readonly", "read slow" },
	{ "TKW.PAUSE", tkw__redis_pause, "write fast", "write fast" },
	{ "TKW.RESUME", tkw__redis_resume, "write fast", "write fast" },
	{ "TKW.LIMIT", tkw__redis_limit, "write fast", "write fast" },
	{ "TKW.DEAD", tkw__redis_dead, "write", "write slow" },
	{ "TKW.PLAN", tkw__redis_plan, "write deny-oom", "write slow" },
	{ "TKW.UNPLAN", tkw__redis_unplan, "write fast", "write fast" },
	{ "TKW.PLANS", tkw__redis_plans, "readonly may-replicate",
	  "read slow" },
	{ "TKW.PLANPAUSE", tkw__redis_planpause, "write fast", "write fast" },
	{ "TKW.PLANRESUME", tkw__redis_planresume, "write", "write slow" },
	{ "TKW.APPLY", tkw__redis_apply, "write", "write slow dangerous" },
};

static int register_command(struct rm_ctx *ctx, const struct command *c)
{
	struct rm_command *command;

	if (tkw__rm.CreateCommand(ctx, c->name, c->fn, c->flags, 1, 1, 1) !=
	    RM_OK)
		return RM_ERR;
	command = tkw__rm.GetCommand(ctx, c->name);
	if (tkw__rm.SetCommandInfo &&
	    tkw__rm.SetCommandInfo(command, tkw__redis_document(c->name)) !=
		    RM_OK)
		return RM_ERR;
	if (tkw__rm.SetCommandACLCategories)
		(void)tkw__rm.SetCommandACLCategories(command, c->categories);
	return RM_OK;
}

static int register_commands(struct rm_ctx *ctx)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (register_command(ctx, &commands[i]) != RM_OK) {
			tkw__rm.Log(ctx, "warning", "%s cannot be registered",
				    commands[i].name);
			return RM_ERR;
		}
	}
	return RM_OK;
}

/* The version as a number: 0.2.0 is 200. */
enum {
	VERSION = TKW_VERSION_MAJOR * 10000 + TKW_VERSION_MINOR * 100 +
		  TKW_VERSION_PATCH
};

/* The server calls it, so it has this name. */
int RedisModule_OnLoad(struct rm_ctx *ctx, struct rm_string **argv, int argc);

int RedisModule_OnLoad(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	const char *missing = tkw__rm_find_calls(ctx);

	if (missing) {
		if (tkw__rm.Log)
			tkw__rm.Log(ctx, "warning",
				    "tickwheel needs %s, which this server "
				    "does not have; Redis 7.0 and Valkey have "
				    "it",
				    missing);
		return RM_ERR;
	}
	if (tkw__rm.IsModuleNameBusy("tickwheel"))
		return RM_ERR;
	tkw__rm.SetModuleAttribs(ctx, "tickwheel", VERSION, RM_API_VERSION);
	tkw__rm.SetModuleOptions(ctx, RM_HANDLE_IO_ERRORS |
					      RM_NO_SIGNAL_MODIFIED |
					      RM_HANDLE_ASYNC_LOAD);
	tkw__redis_burial_init(ctx);
	/* If a load fails, a server forgets what the module has registered, but
	 * not its events. So they come last. */
	if (tkw__redis_read_settings(ctx, argv, argc) != RM_OK ||
	    tkw__redis_type_create(ctx) != RM_OK ||
	    register_commands(ctx) != RM_OK ||
	    tkw__redis_settings_init(ctx) != RM_OK ||
	    (tkw__redis_extra_load && tkw__redis_extra_load(ctx) != RM_OK) ||
	    tkw__waiters_init(ctx) != RM_OK)
		return RM_ERR;
	return tkw__redis_events_init(ctx);
}
