/* SPDX-License-Identifier: MIT */
/* settings.c - the settings of the module, and what the server tells about
 * itself: its settings, its role, and when it loads. */
#define _POSIX_C_SOURCE 200809L
#include "redis/module.h"

#include <string.h>

#include "redis/args.h"
#include "redis/waiters.h"

static int allow_eviction;
/* Whether the server evicts keys when it has no memory, and any of them. It is
 * asked anew after its settings have changed, because a question takes longer
 * than a put. */
static bool evicts_some;
static bool evicts_any;
static bool is_known;
/* The role is asked for once. Then the server tells. */
static bool is_master;
static bool is_role_known;

static int get_allow(const char *name, void *data)
{
	(void)name;
	(void)data;
	return allow_eviction;
}

static int set_allow(const char *name, int value, void *data,
		     struct rm_string **err)
{
	(void)name;
	(void)data;
	(void)err;
	allow_eviction = value;
	return RM_OK;
}

static void on_config(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
		      void *data)
{
	(void)ctx;
	(void)event;
	(void)part;
	(void)data;
	is_known = false;
}

static void ask_for_policy(struct rm_ctx *ctx)
{
	struct rm_info *info;
	const char *policy;

	if (is_known)
		return;
	info = tkw__rm.GetServerInfo(ctx, "memory");
	policy = tkw__rm.ServerInfoGetFieldC(info, "maxmemory_policy");
	evicts_some = policy && strcmp(policy, "noeviction") != 0;
	evicts_any = policy && strncmp(policy, "allkeys-", 8) == 0;
	is_known = true;
	tkw__rm.FreeServerInfo(ctx, info);
}

bool tkw__redis_may_evict(struct rm_ctx *ctx)
{
	ask_for_policy(ctx);
	return evicts_any && !allow_eviction;
}

bool tkw__redis_evicts(struct rm_ctx *ctx)
{
	ask_for_policy(ctx);
	return evicts_some;
}

int tkw__redis_read_settings(struct rm_ctx *ctx, struct rm_string **argv,
			     int argc)
{
	struct tkw__args a = { .argv = argv, .argc = argc };

	while (tkw__args_more(&a)) {
		bool named = tkw__args_word(&a, "allow-eviction");
		bool yes = named && tkw__args_word(&a, "yes");

		if (!named || (!yes && !tkw__args_word(&a, "no"))) {
			tkw__rm.Log(ctx, "warning",
				    "the only argument of the module is "
				    "allow-eviction, with yes or no");
			return RM_ERR;
		}
		allow_eviction = yes;
	}
	return RM_OK;
}

int tkw__redis_settings_init(struct rm_ctx *ctx)
{
	if (tkw__rm.RegisterBoolConfig(ctx, "allow-eviction", allow_eviction, 0,
				       get_allow, set_allow, NULL,
				       NULL) != RM_OK)
		return RM_ERR;
	return tkw__rm.LoadConfigs(ctx);
}

bool tkw__redis_is_master(struct rm_ctx *ctx)
{
	if (!is_role_known) {
		is_master = tkw__rm.GetContextFlags(ctx) & RM_IS_MASTER;
		is_role_known = true;
	}
	return is_master;
}

static void on_role(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
		    void *data)
{
	(void)ctx;
	(void)event;
	(void)data;
	is_master = part == RM_NOW_MASTER;
	is_role_known = true;
}

/* Timers do not run while a server loads, so the graves would stay. A load
 * brings other queues, and signals nothing. */
static void on_loading(struct rm_ctx *ctx, struct rm_event event, uint64_t part,
		       void *data)
{
	(void)event;
	(void)data;
	if (part < RM_LOADING_ENDED) {
		tkw__redis_burial_finish();
	} else if (part == RM_LOADING_ENDED) {
		tkw__redis_apply_end(ctx);
		tkw__waiters_wake_all(ctx);
	}
}

int tkw__redis_events_init(struct rm_ctx *ctx)
{
	static const struct {
		struct rm_event event;
		rm_event_fn *fn;
	} events[] = { { { RM_EVENT_CONFIG, 1 }, on_config },
		       { { RM_EVENT_ROLE, 1 }, on_role },
		       { { RM_EVENT_LOADING, 1 }, on_loading } };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (tkw__rm.SubscribeToServerEvent(ctx, events[i].event,
						   events[i].fn) != RM_OK)
			return RM_ERR;
	}
	return RM_OK;
}
