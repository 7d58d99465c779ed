/* SPDX-License-Identifier: MIT */
/*
 * open.c - opens a file of queues: its lock, its journal, its reserve, its
 * threads and its socket, in this order. A close goes back in reverse.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "store/beside.h"
#include "store/keeper.h"
#include "store/lock.h"
#include "store/reserve.h"
#include "store/socket.h"
#include "store/store.h"

enum {
	DEFAULT_RESERVE = 4 << 20
};

/* What belongs to a file besides its threads. */
struct belongings {
	char *path;
	struct tkw__file_lock lock;
	struct tkw__reserve reserve;
	struct tkw__socket *socket;
};

static void before_close(void *ctx)
{
	struct belongings *b = ctx;

	tkw__socket_close(b->socket);
}

static void after_close(void *ctx)
{
	struct belongings *b = ctx;

	tkw__reserve_close(&b->reserve);
	tkw__file_lock_drop(&b->lock);
	free(b->path);
	free(b);
}

static void in_child(void *ctx)
{
	struct belongings *b = ctx;

	tkw__socket_abandon(b->socket);
	tkw__reserve_leave(&b->reserve);
	tkw__file_lock_leave(&b->lock);
	free(b->path);
	free(b);
}

/* Says why an open has failed, unless somebody has said it already. */
static void say(const struct tkw_queues_config *cfg, const char *what,
		const char *why)
{
	if (cfg->error && cfg->error_size > 0 && !cfg->error[0])
		snprintf(cfg->error, cfg->error_size, "%s: %s", what, why);
}

static int explain(const struct tkw_queues_config *cfg, int err,
		   const char *what)
{
	if (err)
		say(cfg, what, strerror(-err));
	return err;
}

static int take_lock(struct belongings *b, const struct tkw_queues_config *cfg)
{
	static const char what[] = "cannot lock the file";
	char why[64] = "another process has it open";
	int64_t pid = 0;
	int err = tkw__file_lock_take(&b->lock, b->path, &pid);

	if (cfg->owner_pid)
		*cfg->owner_pid = pid;
	if (err != -EBUSY)
		return explain(cfg, err, what);
	if (pid)
		snprintf(why, sizeof(why), "process %" PRId64 " has it open",
			 pid);
	say(cfg, what, why);
	return err;
}

static int open_store(struct belongings *b, const struct tkw_queues_config *cfg,
		      struct tkw__store **out)
{
	struct tkw__sqlite_config how = {
		.path = b->path,
		.to_system = cfg->durability == TKW_QUEUE_TO_SYSTEM,
	};
	char why[256] = "";
	int err = tkw__sqlite_store.open(out, &how, why, sizeof(why));

	if (err && why[0] && cfg->error && cfg->error_size > 0)
		snprintf(cfg->error, cfg->error_size, "%s", why);
	return explain(cfg, err, "cannot open the file");
}

static int open_reserve(struct belongings *b,
			const struct tkw_queues_config *cfg)
{
	int64_t bytes =
		cfg->reserve_bytes ? cfg->reserve_bytes : DEFAULT_RESERVE;

	return explain(cfg, tkw__reserve_open(&b->reserve, b->path, bytes),
		       "cannot make the reserve");
}

static int open_home(struct tkw_queues **out, struct belongings *b,
		     struct tkw__store *store,
		     const struct tkw_queues_config *cfg)
{
	struct tkw__home home = {
		.store = store,
		.reserve = { tkw__reserve_give, tkw__reserve_get, &b->reserve,
			     b->reserve.bytes > 0 ? (uint64_t)b->reserve.bytes
						  : 0,
			     b->reserve.path && !b->reserve.held },
		.exec = cfg->exec,
		.now_us = cfg->now_us,
		.now_ctx = cfg->now_ctx,
		.before_close = before_close,
		.after_close = after_close,
		.in_child = in_child,
		.ctx = b,
	};
	static const char what[] = "cannot read the queues";
	int err = tkw__keeper_open(out, &home);

	if (err && store->why && store->why[0])
		say(cfg, what, store->why);
	return explain(cfg, err, what);
}

/* A path that is too long for a socket is no reason to refuse the file. */
static int open_socket(struct belongings *b, struct tkw_queues *f,
		       const struct tkw_queues_config *cfg)
{
	int err = 0;

	if (!cfg->no_socket)
		err = tkw__socket_open(&b->socket, f, b->path);
	if (err == -ENAMETOOLONG)
		err = 0;
	return explain(cfg, err, "cannot make the socket");
}

/* The lock is held. If it fails, b is freed. */
static int open_locked(struct tkw_queues **out, struct belongings *b,
		       const struct tkw_queues_config *cfg)
{
	struct tkw__store *store;
	struct tkw_queues *f;
	int err = open_store(b, cfg, &store);

	if (err) {
		after_close(b);
		return err;
	}
	err = open_reserve(b, cfg);
	if (!err)
		err = open_home(&f, b, store, cfg);
	if (err) {
		store->ops->close(store);
		after_close(b);
		return err;
	}
	err = open_socket(b, f, cfg);
	if (err)
		tkw__keeper_close(f);
	else
		*out = f;
	return err;
}

static bool is_legal(const struct tkw_queues_config *c)
{
	return (unsigned)c->durability <= TKW_QUEUE_TO_SYSTEM &&
	       (!c->exec || c->exec->submit) && (c->error || !c->error_size);
}

static int open_queues(struct tkw_queues **out, const char *path,
		       const struct tkw_queues_config *cfg)
{
	struct tkw_queues_config c;
	struct belongings *b;
	int err = tkw__config_read(
		&c, sizeof(c), cfg,
		TKW__END_OF(struct tkw_queues_config, owner_pid));

	if (err)
		return err;
	if (c.error && c.error_size > 0)
		c.error[0] = 0;
	if (c.owner_pid)
		*c.owner_pid = 0;
	if (!out || !path || !is_legal(&c))
		return explain(&c, -EINVAL, "cannot open the file");
	b = calloc(1, sizeof(*b));
	if (!b)
		return explain(&c, -ENOMEM, "cannot open the file");
	b->lock.fd = -1;
	b->reserve.fd = -1;
	err = explain(&c, tkw__real_path(&b->path, path),
		      "cannot find the path");
	if (!err)
		err = take_lock(b, &c);
	if (err) {
		free(b->path);
		free(b);
		return err;
	}
	return open_locked(out, b, &c);
}

int tkw_queues_open(struct tkw_queues **out, const char *path,
		    const struct tkw_queues_config *cfg)
{
	int was;
	int err;

	/* A cancelled thread would leave the file locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	err = open_queues(out, path, cfg);
	pthread_setcancelstate(was, NULL);
	return err;
}
