/* SPDX-License-Identifier: MIT */
/*
 * server.h - what the module uses of Redis and Valkey.
 *
 * A server hands its calls out by name when it loads a module. So there is
 * nothing to link with, and no header of a server is needed: the declarations
 * here are our own. They describe the interface of Redis 7.0, which Valkey and
 * later versions of Redis have kept. The types with rm_ belong to the server,
 * and we only have pointers to them.
 *
 * The calls are in tkw__rm, under their names without "RedisModule_". Those
 * listed under NEED are always there, because the module is not loaded without
 * them. One listed under WANT is NULL if the server does not have it.
 */
#ifndef TKW_REDIS_SERVER_H
#define TKW_REDIS_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct rm_ctx;     /* what a command or a callback works for */
struct rm_string;  /* a string of the server */
struct rm_key;     /* an open key */
struct rm_io;      /* an RDB or AOF file that is read or written */
struct rm_type;    /* a data type of a module */
struct rm_digest;  /* the digest of DEBUG DIGEST */
struct rm_blocked; /* a client that waits */
struct rm_dict;
struct rm_dict_iter;
struct rm_command;
struct rm_reply;
struct rm_info;
struct rm_key_info;
struct rm_defrag;

enum {
	RM_OK = 0,
	RM_ERR = 1,
	RM_API_VERSION = 1,
	/* OpenKey */
	RM_READ = 1,
	RM_WRITE = 2,
	/* KeyType */
	RM_KEY_EMPTY = 0,
	/* SetModuleOptions */
	RM_HANDLE_IO_ERRORS = 1,
	RM_NO_SIGNAL_MODIFIED = 2,
	RM_HANDLE_ASYNC_LOAD = 4,
	/* GetContextFlags */
	RM_IN_SCRIPT = 1 << 0,
	RM_IN_MULTI = 1 << 1,
	RM_IS_MASTER = 1 << 2,
	RM_FROM_MASTER = 1 << 12,
	RM_IS_LOADING = 1 << 13,
	RM_DENY_BLOCKING = 1 << 21,
	/* EventLoopAdd */
	RM_READABLE = 1,
	/* SubscribeToServerEvent, and the part of an event */
	RM_EVENT_ROLE = 0,
	RM_NOW_MASTER = 0,
	RM_EVENT_LOADING = 3,
	RM_LOADING_ENDED = 3, /* the parts before it are beginnings */
	RM_EVENT_CONFIG = 16,
	/* The version of struct rm_type_methods. */
	RM_TYPE_METHODS = 4
};

typedef int rm_command_fn(struct rm_ctx *ctx, struct rm_string **argv,
			  int argc);
typedef void rm_free_fn(struct rm_ctx *ctx, void *data);
typedef void rm_timer_fn(struct rm_ctx *ctx, void *data);
typedef void rm_fd_fn(int fd, void *data, int mask);

/* How a server handles the values of a data type. */
struct rm_type_methods {
	uint64_t version;
	void *(*rdb_load)(struct rm_io *io, int version);
	void (*rdb_save)(struct rm_io *io, void *value);
	void (*aof_rewrite)(struct rm_io *io, struct rm_string *key,
			    void *value);
	size_t (*mem_usage)(const void *value);
	void (*digest)(struct rm_digest *digest, void *value);
	void (*free)(void *value);
	int (*aux_load)(struct rm_io *io, int version, int when);
	void (*aux_save)(struct rm_io *io, int when);
	int aux_save_triggers;
	size_t (*free_effort)(struct rm_string *key, const void *value);
	void (*unlink)(struct rm_string *key, const void *value);
	void *(*copy)(struct rm_string *from, struct rm_string *to,
		      const void *value);
	int (*defrag)(struct rm_defrag *ctx, struct rm_string *key,
		      void **value);
	size_t (*mem_usage2)(struct rm_key_info *info, const void *value,
			     size_t samples);
	size_t (*free_effort2)(struct rm_key_info *info, const void *value);
	void (*unlink2)(struct rm_key_info *info, const void *value);
	void *(*copy2)(struct rm_key_info *info, const void *value);
};

struct rm_event {
	uint64_t id;
	uint64_t version; /* of the data that comes with it */
};

typedef void rm_event_fn(struct rm_ctx *ctx, struct rm_event event,
			 uint64_t part, void *data);

/* What COMMAND DOCS and COMMAND INFO say about a command. */
enum rm_arg_type {
	RM_ARG_STRING,
	RM_ARG_INTEGER,
	RM_ARG_DOUBLE,
	RM_ARG_KEY,
	RM_ARG_PATTERN,
	RM_ARG_UNIX_TIME,
	RM_ARG_TOKEN,
	RM_ARG_ONEOF,
	RM_ARG_BLOCK
};

enum {
	RM_ARG_OPTIONAL = 1,
	RM_ARG_MULTIPLE = 2,
	/* How a command uses its key. */
	RM_KEY_RO = 1 << 0,
	RM_KEY_RW = 1 << 1,
	RM_KEY_ACCESS = 1 << 4,
	RM_KEY_UPDATE = 1 << 5,
	RM_KEY_INSERT = 1 << 6,
	RM_KEY_DELETE = 1 << 7,
	RM_BEGIN_INDEX = 2,
	RM_FIND_RANGE = 2
};

struct rm_arg {
	const char *name;
	enum rm_arg_type type;
	int key_spec;
	const char *token;
	const char *summary;
	const char *since;
	int flags;
	const char *deprecated_since;
	struct rm_arg *parts;
	/* Redis 7.2 and Valkey read it, whatever size we say that the struct
	 * has. Redis 7.0 does not know it. */
	const char *display;
};

struct rm_history {
	const char *since;
	const char *changes;
};

struct rm_key_spec {
	const char *notes;
	uint64_t flags;
	int begin; /* RM_BEGIN_INDEX */
	union {
		struct {
			int at;
		} index;
		struct {
			const char *word;
			int from;
		} keyword;
	} begin_at;
	int find; /* RM_FIND_RANGE */
	union {
		struct {
			int last;
			int step;
			int limit;
		} range;
		struct {
			int number_at;
			int first;
			int step;
		} number;
	} find_by;
};

struct rm_info_version {
	int version;
	size_t sizeof_history;
	size_t sizeof_key_spec;
	size_t sizeof_arg;
};

struct rm_command_info {
	const struct rm_info_version *version;
	const char *summary;
	const char *complexity;
	const char *since;
	struct rm_history *history;
	const char *tips;
	int arity;
	struct rm_key_spec *key_specs;
	struct rm_arg *args;
};

typedef int rm_get_bool_fn(const char *name, void *data);
typedef int rm_set_bool_fn(const char *name, int value, void *data,
			   struct rm_string **err);
typedef int rm_apply_fn(struct rm_ctx *ctx, void *data, struct rm_string **err);

/* clang-format off */
#define TKW__RM_CALLS(NEED, WANT) \
	NEED(void, SetModuleAttribs, (struct rm_ctx *ctx, const char *name, int version, int api)) \
	NEED(int, IsModuleNameBusy, (const char *name)) \
	NEED(void, SetModuleOptions, (struct rm_ctx *ctx, int options)) \
	NEED(void, Log, (struct rm_ctx *ctx, const char *level, const char *format, ...)) \
	NEED(void, LogIOError, (struct rm_io *io, const char *level, const char *format, ...)) \
	NEED(void *, Alloc, (size_t bytes)) \
	WANT(void *, TryAlloc, (size_t bytes)) \
	NEED(void, Free, (void *mem)) \
	NEED(void *, PoolAlloc, (struct rm_ctx *ctx, size_t bytes)) \
	NEED(void, GetRandomBytes, (unsigned char *out, size_t len)) \
	\
	NEED(int, CreateCommand, (struct rm_ctx *ctx, const char *name, rm_command_fn *fn, const char *flags, int first_key, int last_key, int step)) \
	NEED(struct rm_command *, GetCommand, (struct rm_ctx *ctx, const char *name)) \
	WANT(int, SetCommandInfo, (struct rm_command *command, const struct rm_command_info *info)) \
	WANT(int, SetCommandACLCategories, (struct rm_command *command, const char *categories)) \
	NEED(int, GetContextFlags, (struct rm_ctx *ctx)) \
	NEED(int, WrongArity, (struct rm_ctx *ctx)) \
	NEED(const char *, StringPtrLen, (const struct rm_string *s, size_t *len)) \
	NEED(int, StringToLongLong, (const struct rm_string *s, long long *out)) \
	NEED(struct rm_string *, CreateString, (struct rm_ctx *ctx, const char *at, size_t len)) \
	NEED(void, RetainString, (struct rm_ctx *ctx, struct rm_string *s)) \
	NEED(void, FreeString, (struct rm_ctx *ctx, struct rm_string *s)) \
	\
	NEED(int, ReplyWithError, (struct rm_ctx *ctx, const char *text)) \
	NEED(int, ReplyWithSimpleString, (struct rm_ctx *ctx, const char *text)) \
	NEED(int, ReplyWithLongLong, (struct rm_ctx *ctx, long long number)) \
	NEED(int, ReplyWithArray, (struct rm_ctx *ctx, long count)) \
	NEED(int, ReplyWithMap, (struct rm_ctx *ctx, long count)) \
	NEED(int, ReplyWithNull, (struct rm_ctx *ctx)) \
	NEED(int, ReplyWithNullArray, (struct rm_ctx *ctx)) \
	NEED(int, ReplyWithStringBuffer, (struct rm_ctx *ctx, const char *bytes, size_t len)) \
	NEED(int, ReplyWithCString, (struct rm_ctx *ctx, const char *text)) \
	\
	NEED(int, GetSelectedDb, (struct rm_ctx *ctx)) \
	NEED(int, SelectDb, (struct rm_ctx *ctx, int db)) \
	NEED(struct rm_key *, OpenKey, (struct rm_ctx *ctx, struct rm_string *name, int mode)) \
	NEED(void, CloseKey, (struct rm_key *key)) \
	NEED(int, KeyType, (struct rm_key *key)) \
	NEED(struct rm_type *, ModuleTypeGetType, (struct rm_key *key)) \
	NEED(void *, ModuleTypeGetValue, (struct rm_key *key)) \
	NEED(int, ModuleTypeSetValue, (struct rm_key *key, struct rm_type *type, void *value)) \
	NEED(int, SignalModifiedKey, (struct rm_ctx *ctx, struct rm_string *name)) \
	NEED(int, Replicate, (struct rm_ctx *ctx, const char *command, const char *format, ...)) \
	NEED(int, ReplicateVerbatim, (struct rm_ctx *ctx)) \
	NEED(int, AvoidReplicaTraffic, (void)) \
	NEED(struct rm_reply *, Call, (struct rm_ctx *ctx, const char *command, const char *format, ...)) \
	NEED(const char *, CallReplyStringPtr, (struct rm_reply *reply, size_t *len)) \
	NEED(void, FreeCallReply, (struct rm_reply *reply)) \
	WANT(float, GetUsedMemoryRatio, (void)) \
	\
	NEED(struct rm_type *, CreateDataType, (struct rm_ctx *ctx, const char *name, int version, struct rm_type_methods *methods)) \
	NEED(int, GetDbIdFromOptCtx, (struct rm_key_info *info)) \
	NEED(const struct rm_string *, GetKeyNameFromOptCtx, (struct rm_key_info *info)) \
	NEED(void, SaveStringBuffer, (struct rm_io *io, const char *bytes, size_t len)) \
	NEED(char *, LoadStringBuffer, (struct rm_io *io, size_t *len)) \
	NEED(int, IsIOError, (struct rm_io *io)) \
	NEED(void, EmitAOF, (struct rm_io *io, const char *command, const char *format, ...)) \
	NEED(void, DigestAddLongLong, (struct rm_digest *digest, long long number)) \
	NEED(void, DigestEndSequence, (struct rm_digest *digest)) \
	\
	NEED(struct rm_blocked *, BlockClientOnKeys, (struct rm_ctx *ctx, rm_command_fn *ready, rm_command_fn *timeout, rm_free_fn *free, long long timeout_ms, struct rm_string **keys, int count, void *data)) \
	NEED(void *, GetBlockedClientPrivateData, (struct rm_ctx *ctx)) \
	NEED(void, SignalKeyAsReady, (struct rm_ctx *ctx, struct rm_string *name)) \
	NEED(uint64_t, CreateTimer, (struct rm_ctx *ctx, long long period_ms, rm_timer_fn *fn, void *data)) \
	NEED(int, EventLoopAdd, (int fd, int mask, rm_fd_fn *fn, void *data)) \
	NEED(int, SubscribeToServerEvent, (struct rm_ctx *ctx, struct rm_event event, rm_event_fn *fn)) \
	NEED(struct rm_ctx *, GetDetachedThreadSafeContext, (struct rm_ctx *ctx)) \
	\
	NEED(struct rm_dict *, CreateDict, (struct rm_ctx *ctx)) \
	NEED(int, DictReplaceC, (struct rm_dict *d, void *key, size_t len, void *value)) \
	NEED(void *, DictGetC, (struct rm_dict *d, void *key, size_t len, int *missing)) \
	NEED(int, DictDelC, (struct rm_dict *d, void *key, size_t len, void *old)) \
	NEED(struct rm_dict_iter *, DictIteratorStartC, (struct rm_dict *d, const char *op, void *key, size_t len)) \
	NEED(void *, DictNextC, (struct rm_dict_iter *it, size_t *len, void **value)) \
	NEED(void, DictIteratorStop, (struct rm_dict_iter *it)) \
	\
	NEED(struct rm_info *, GetServerInfo, (struct rm_ctx *ctx, const char *section)) \
	NEED(const char *, ServerInfoGetFieldC, (struct rm_info *info, const char *field)) \
	NEED(void, FreeServerInfo, (struct rm_ctx *ctx, struct rm_info *info)) \
	NEED(int, RegisterBoolConfig, (struct rm_ctx *ctx, const char *name, int initial, unsigned int flags, rm_get_bool_fn *get, rm_set_bool_fn *set, rm_apply_fn *apply, void *data)) \
	NEED(int, LoadConfigs, (struct rm_ctx *ctx))
/* clang-format on */

/* NOLINTNEXTLINE(bugprone-macro-parentheses): the parts of a declaration */
#define TKW__RM_DECLARE(type, name, args) type(*name) args;
struct tkw__rm_calls {
	TKW__RM_CALLS(TKW__RM_DECLARE, TKW__RM_DECLARE)
};
#undef TKW__RM_DECLARE

extern struct tkw__rm_calls tkw__rm;

/* Looks up all calls. Returns NULL, or the name of a call that is needed and
 * that the server does not have. */
const char *tkw__rm_find_calls(struct rm_ctx *ctx);

#endif /* TKW_REDIS_SERVER_H */
