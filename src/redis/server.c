/* SPDX-License-Identifier: MIT */
/* server.c - asks the server for its calls. */
#include "redis/server.h"

#include <string.h>

struct tkw__rm_calls tkw__rm;

/* Sets a pointer to a function to the call with this name. Returns RM_OK, or
 * RM_ERR if there is none. */
typedef int get_call_fn(const char *name, void *out);

/* A context begins with a pointer to the function that finds a call. */
static get_call_fn *getter(const struct rm_ctx *ctx)
{
	get_call_fn *get;

	memcpy(&get, ctx, sizeof(get));
	return get;
}

const char *tkw__rm_find_calls(struct rm_ctx *ctx)
{
	get_call_fn *get = getter(ctx);
	const char *missing = NULL;

#define WANT(type, name, args)                                                 \
	if (get("RedisModule_" #name, (void *)&tkw__rm.name) != RM_OK)         \
		tkw__rm.name = NULL;
#define NEED(type, name, args)                                                 \
	WANT(type, name, args)                                                 \
	if (!tkw__rm.name)                                                     \
		missing = "RedisModule_" #name;
	TKW__RM_CALLS(NEED, WANT)
#undef NEED
#undef WANT
	return missing;
}
