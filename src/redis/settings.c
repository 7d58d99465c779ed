/* SPDX-License-Identifier: MIT */
/* settings.c - the settings of the module, and of the server. */
#define _POSIX_C_SOURCE 200809L
#include "redis/module.h"

#include <string.h>
#include <strings.h>

static int allow_eviction;
/* Whether the server may evict queues. It is asked anew after its settings have
 * changed, because a question takes longer than a put. */
static bool evicts;
static bool is_known;

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

bool tkw__redis_may_evict(struct rm_ctx *ctx)
{
	if (!is_known) {
		struct rm_info *info = tkw__rm.GetServerInfo(ctx, "memory");
		const char *policy =
			tkw__rm.ServerInfoGetFieldC(info, "maxmemory_policy");

		evicts = policy && strncmp(policy, "allkeys-", 8) == 0;
		is_known = true;
		tkw__rm.FreeServerInfo(ctx, info);
	}
	return evicts && !allow_eviction;
}

/* True if an argument is this word. */
static bool is_word(const struct rm_string *arg, const char *word)
{
	size_t len;
	const char *text = tkw__rm.StringPtrLen(arg, &len);

	return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

/* Reads the arguments of the load: allow-eviction yes|no. */
static int read_arguments(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	for (int i = 0; i < argc; i += 2) {
		bool yes = i + 1 < argc && is_word(argv[i + 1], "yes");

		if (!is_word(argv[i], "allow-eviction") || i + 1 == argc ||
		    (!yes && !is_word(argv[i + 1], "no"))) {
			tkw__rm.Log(ctx, "warning",
				    "the only argument of the module is "
				    "allow-eviction, with yes or no");
			return RM_ERR;
		}
		allow_eviction = yes;
	}
	return RM_OK;
}

int tkw__redis_settings_init(struct rm_ctx *ctx, struct rm_string **argv,
			     int argc)
{
	const struct rm_event config = { RM_EVENT_CONFIG, 1 };

	if (read_arguments(ctx, argv, argc) != RM_OK)
		return RM_ERR;
	if (tkw__rm.RegisterBoolConfig(ctx, "allow-eviction", allow_eviction, 0,
				       get_allow, set_allow, NULL,
				       NULL) != RM_OK ||
	    tkw__rm.LoadConfigs(ctx) != RM_OK)
		return RM_ERR;
	return tkw__rm.SubscribeToServerEvent(ctx, config, on_config);
}
