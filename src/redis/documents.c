/* SPDX-License-Identifier: MIT */
/*
 * documents.c - what COMMAND DOCS and COMMAND INFO say about the commands.
 *
 * The arguments of a command end with one whose name is NULL.
 */
#include "redis/documents.h"

#include <string.h>

/* Kinds of arguments. */
#define STRING(n)                                                              \
	{                                                                      \
		.name = (n), .type = RM_ARG_STRING, .key_spec = -1             \
	}
#define INTEGER(n)                                                             \
	{                                                                      \
		.name = (n), .type = RM_ARG_INTEGER, .key_spec = -1            \
	}
#define INTEGERS(n)                                                            \
	{                                                                      \
		.name = (n), .type = RM_ARG_INTEGER, .key_spec = -1,           \
		.flags = RM_ARG_MULTIPLE                                       \
	}
#define OPTION(n, t, w)                                                        \
	{                                                                      \
		.name = (n), .type = (t), .key_spec = -1, .token = (w),        \
		.flags = RM_ARG_OPTIONAL                                       \
	}
#define WORD(n, w)                                                             \
	{                                                                      \
		.name = (n), .type = RM_ARG_TOKEN, .key_spec = -1,             \
		.token = (w)                                                   \
	}
#define GROUP(n, t, f, p)                                                      \
	{                                                                      \
		.name = (n), .type = (t), .key_spec = -1, .flags = (f),        \
		.parts = (p)                                                   \
	}
/* An option that is followed by one of some words. */
#define CHOICE(n, w, p)                                                        \
	{                                                                      \
		.name = (n), .type = RM_ARG_ONEOF, .key_spec = -1,             \
		.token = (w), .flags = RM_ARG_OPTIONAL, .parts = (p)           \
	}
#define QUEUE                                                                  \
	{                                                                      \
		.name = "queue", .type = RM_ARG_KEY, .key_spec = 0             \
	}
#define END                                                                    \
	{                                                                      \
		.name = NULL                                                   \
	}

static struct rm_arg when[] = {
	INTEGER("delay"),
	{ .name = "unix-ms",
	  .type = RM_ARG_UNIX_TIME,
	  .key_spec = -1,
	  .token = "AT" },
	END,
};
static struct rm_arg held[] = { WORD("replace", "REPLACE"),
				WORD("keep", "KEEP"), END };
static struct rm_arg item[] = {
	GROUP("when", RM_ARG_ONEOF, 0, when),
	STRING("payload"),
	OPTION("key", RM_ARG_STRING, "KEY"),
	GROUP("held", RM_ARG_ONEOF, RM_ARG_OPTIONAL, held),
	OPTION("attempts", RM_ARG_INTEGER, "ATTEMPTS"),
	OPTION("backoff", RM_ARG_INTEGER, "BACKOFF"),
	OPTION("max-backoff", RM_ARG_INTEGER, "MAX"),
	END,
};
static struct rm_arg put_args[] = { QUEUE, GROUP("item", RM_ARG_BLOCK, 0, item),
				    END };
static struct rm_arg mput_args[] = {
	QUEUE, GROUP("item", RM_ARG_BLOCK, RM_ARG_MULTIPLE, item), END
};
static struct rm_arg take_args[] = {
	QUEUE,
	OPTION("count", RM_ARG_INTEGER, "COUNT"),
	OPTION("lease", RM_ARG_INTEGER, "LEASE"),
	OPTION("block", RM_ARG_INTEGER, "BLOCK"),
	END,
};
static struct rm_arg claim[] = { INTEGER("id"), INTEGER("token"), END };
static struct rm_arg ack_args[] = {
	QUEUE, GROUP("claim", RM_ARG_BLOCK, RM_ARG_MULTIPLE, claim), END
};
static struct rm_arg nack_args[] = {
	QUEUE,
	OPTION("delay", RM_ARG_INTEGER, "DELAY"),
	OPTION("reason", RM_ARG_STRING, "REASON"),
	GROUP("claim", RM_ARG_BLOCK, RM_ARG_MULTIPLE, claim),
	END,
};
static struct rm_arg extend_args[] = {
	QUEUE, INTEGER("lease"),
	GROUP("claim", RM_ARG_BLOCK, RM_ARG_MULTIPLE, claim), END
};
static struct rm_arg names[] = {
	INTEGERS("id"),
	{ .name = "key",
	  .type = RM_ARG_STRING,
	  .key_spec = -1,
	  .token = "KEY",
	  .flags = RM_ARG_MULTIPLE },
	END,
};
static struct rm_arg cancel_args[] = { QUEUE,
				       GROUP("names", RM_ARG_ONEOF, 0, names),
				       END };
static struct rm_arg name[] = {
	INTEGER("id"),
	{ .name = "key",
	  .type = RM_ARG_STRING,
	  .key_spec = -1,
	  .token = "KEY" },
	END,
};
static struct rm_arg reschedule_args[] = { QUEUE,
					   GROUP("name", RM_ARG_ONEOF, 0, name),
					   GROUP("when", RM_ARG_ONEOF, 0, when),
					   END };
static struct rm_arg get_args[] = { QUEUE, GROUP("name", RM_ARG_ONEOF, 0, name),
				    END };
static struct rm_arg states[] = {
	WORD("waiting", "waiting"), WORD("ready", "ready"),
	WORD("taken", "taken"),     WORD("dead", "dead"),
	WORD("all", "all"),         END
};
static struct rm_arg list_args[] = {
	QUEUE,
	{ .name = "state",
	  .type = RM_ARG_ONEOF,
	  .key_spec = -1,
	  .token = "STATE",
	  .parts = states },
	OPTION("cursor", RM_ARG_STRING, "CURSOR"),
	OPTION("count", RM_ARG_INTEGER, "COUNT"),
	END,
};
static struct rm_arg queue_args[] = { QUEUE, END };
static struct rm_arg limit_args[] = {
	QUEUE,
	OPTION("items", RM_ARG_INTEGER, "ITEMS"),
	OPTION("bytes", RM_ARG_INTEGER, "BYTES"),
	OPTION("payload", RM_ARG_INTEGER, "PAYLOAD"),
	END,
};
static struct rm_arg list_dead[] = { WORD("list", "LIST"),
				     OPTION("cursor", RM_ARG_STRING, "CURSOR"),
				     OPTION("count", RM_ARG_INTEGER, "COUNT"),
				     END };
static struct rm_arg which_dead[] = { INTEGERS("id"), WORD("all", "ALL"), END };
static struct rm_arg revive_dead[] = {
	WORD("revive", "REVIVE"), GROUP("which", RM_ARG_ONEOF, 0, which_dead),
	END
};
static struct rm_arg purge_dead[] = {
	WORD("purge", "PURGE"), GROUP("which", RM_ARG_ONEOF, 0, which_dead), END
};
static struct rm_arg what_dead[] = {
	GROUP("list", RM_ARG_BLOCK, 0, list_dead),
	GROUP("revive", RM_ARG_BLOCK, 0, revive_dead),
	GROUP("purge", RM_ARG_BLOCK, 0, purge_dead), END
};
static struct rm_arg dead_args[] = { QUEUE,
				     GROUP("what", RM_ARG_ONEOF, 0, what_dead),
				     END };
static struct rm_arg misfire_all[] = { WORD("all", "all"),
				       INTEGER("max-missed"), END };
static struct rm_arg misfire[] = { WORD("once", "once"),
				   GROUP("all", RM_ARG_BLOCK, 0, misfire_all),
				   WORD("skip", "skip"), END };
static struct rm_arg overlap[] = { WORD("skip", "skip"), WORD("allow", "allow"),
				   END };
static struct rm_arg next_on[] = { WORD("take", "take"), WORD("ack", "ack"),
				   END };
static struct rm_arg plan_args[] = {
	QUEUE,
	STRING("name"),
	STRING("plan"),
	STRING("payload"),
	OPTION("zone", RM_ARG_STRING, "ZONE"),
	CHOICE("misfire", "MISFIRE", misfire),
	OPTION("grace", RM_ARG_INTEGER, "GRACE"),
	CHOICE("overlap", "OVERLAP", overlap),
	CHOICE("next", "NEXT", next_on),
	OPTION("attempts", RM_ARG_INTEGER, "ATTEMPTS"),
	OPTION("backoff", RM_ARG_INTEGER, "BACKOFF"),
	OPTION("max-backoff", RM_ARG_INTEGER, "MAX"),
	END,
};
static struct rm_arg plan_name_args[] = { QUEUE, STRING("name"), END };
static struct rm_arg one_plan[] = { { .name = "name",
				      .type = RM_ARG_STRING,
				      .key_spec = -1,
				      .token = "NAME" },
				    OPTION("times", RM_ARG_INTEGER, "TIMES"),
				    END };
static struct rm_arg list_plans[] = { OPTION("after", RM_ARG_STRING, "AFTER"),
				      OPTION("count", RM_ARG_INTEGER, "COUNT"),
				      END };
static struct rm_arg which_plans[] = {
	GROUP("one", RM_ARG_BLOCK, 0, one_plan),
	GROUP("list", RM_ARG_BLOCK, 0, list_plans), END
};
static struct rm_arg plans_args[] = {
	QUEUE, GROUP("which", RM_ARG_ONEOF, RM_ARG_OPTIONAL, which_plans), END
};
static struct rm_arg what_apply[] = { WORD("records", "RECORDS"),
				      WORD("snapshot", "SNAPSHOT"), END };
static struct rm_arg apply_args[] = {
	QUEUE, GROUP("what", RM_ARG_ONEOF, 0, what_apply), STRING("bytes"), END
};

struct document {
	const char *command;
	const char *summary;
	const char *complexity;
	int arity;
	uint64_t key_flags;
	struct rm_arg *args;
};

enum {
	READS = RM_KEY_RO | RM_KEY_ACCESS,
	SETTLES = RM_KEY_RW | RM_KEY_ACCESS, /* reads, but may replicate */
	CHANGES = RM_KEY_RW | RM_KEY_ACCESS |
		  RM_KEY_UPDATE, /* and replies data */
	ENDS = RM_KEY_RW | RM_KEY_DELETE,
	UPDATES = RM_KEY_RW | RM_KEY_UPDATE /* also puts: REPLACE does */
};

static const struct document documents[] = {
	{ "TKW.PUT", "Puts an item into a delay queue.", "O(1)", -4, UPDATES,
	  put_args },
	{ "TKW.MPUT", "Puts many items into a delay queue, all or none.",
	  "O(N) for N items", -4, UPDATES, mput_args },
	{ "TKW.TAKE",
	  "Takes items that are due, and leases them to the client.",
	  "O(N) for N items", -2, CHANGES, take_args },
	{ "TKW.ACK", "Ends items whose work is done.", "O(N) for N items", -4,
	  ENDS, ack_args },
	{ "TKW.NACK", "Gives back items whose work has failed.",
	  "O(N) for N items", -4, UPDATES, nack_args },
	{ "TKW.EXTEND", "Extends the leases of items.", "O(N) for N items", -5,
	  UPDATES, extend_args },
	{ "TKW.CANCEL", "Ends items that are not taken.", "O(N) for N items",
	  -3, ENDS, cancel_args },
	{ "TKW.RESCHEDULE", "Gives an item another due time.", "O(1)", -4,
	  UPDATES, reschedule_args },
	{ "TKW.GET", "Gets everything about an item.", "O(1)", -3, READS,
	  get_args },
	{ "TKW.LIST", "Lists the items of a state, a piece at a time.",
	  "O(N) for COUNT N", -4, SETTLES, list_args },
	{ "TKW.COUNT", "Counts the items by state.", "O(1)", 2, SETTLES,
	  queue_args },
	{ "TKW.INFO", "Gets the facts of a queue.", "O(1)", 2, SETTLES,
	  queue_args },
	{ "TKW.DIGEST", "Gets a checksum of all facts of a queue.",
	  "O(N) for N items", 2, READS, queue_args },
	{ "TKW.PAUSE", "Makes a queue give nothing out.", "O(1)", 2, UPDATES,
	  queue_args },
	{ "TKW.RESUME", "Makes a paused queue give items out again.", "O(1)", 2,
	  UPDATES, queue_args },
	{ "TKW.LIMIT", "Limits what a queue can hold.", "O(1)", -4, UPDATES,
	  limit_args },
	{ "TKW.DEAD",
	  "Lists, revives or purges items that have no attempts "
	  "left.",
	  "O(N) for N items", -3, CHANGES, dead_args },
	{ "TKW.PLAN", "Makes a plan that puts items by a calendar.", "O(1)", -5,
	  UPDATES, plan_args },
	{ "TKW.UNPLAN", "Ends a plan.", "O(1)", 3, ENDS, plan_name_args },
	{ "TKW.PLANS", "Gets the facts of plans, a piece at a time.",
	  "O(N) for COUNT N", -2, SETTLES, plans_args },
	{ "TKW.PLANPAUSE", "Makes a plan put no more items.", "O(1)", 3,
	  UPDATES, plan_name_args },
	{ "TKW.PLANRESUME", "Makes a plan put items again.", "O(1)", 3, UPDATES,
	  plan_name_args },
	{ "TKW.APPLY", "Internal: applies the records of a master or an AOF.",
	  "O(N) for N records", 4, UPDATES, apply_args },
};

const struct rm_command_info *tkw__redis_document(const char *command)
{
	static const struct rm_info_version version = {
		.version = 1,
		.sizeof_history = sizeof(struct rm_history),
		.sizeof_key_spec = sizeof(struct rm_key_spec),
		.sizeof_arg = sizeof(struct rm_arg)
	};
	static struct rm_key_spec keys[2];
	static struct rm_command_info info;
	const struct document *d = documents;

	while (strcmp(d->command, command) != 0)
		d++;
	keys[0] = (struct rm_key_spec){
		.flags = d->key_flags,
		.begin = RM_BEGIN_INDEX,
		.begin_at.index.at = 1,
		.find = RM_FIND_RANGE,
		.find_by.range = { .last = 0, .step = 1, .limit = 0 }
	};
	info = (struct rm_command_info){ .version = &version,
					 .summary = d->summary,
					 .complexity = d->complexity,
					 .since = "0.2.0",
					 .arity = d->arity,
					 .key_specs = keys,
					 .args = d->args };
	return &info;
}
