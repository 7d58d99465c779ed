/* SPDX-License-Identifier: MIT */
/*
 * redis_lock.c - locks in Redis that are renewed while they are held.
 *
 *     redis_lock PORT KEY COUNT LEASE_MS RENEW_MS
 *
 * The program waits until it has the locks KEY:0 ... KEY:COUNT-1, and keeps
 * them until its input ends. An input line with a number releases the lock of
 * that number. The program prints what happens to which key, with the time in
 * nanoseconds:
 *
 *   acquired    it has the lock
 *   lost        the lock could not be renewed in time
 *   lost:stale  somebody else has the lock, or the key is gone
 *   released    the lock was released while it was held
 *   gone        the lock was released, but it was lost before
 *   renewed N   the N-th batch of renewals was answered (no key)
 *
 * A lock is a key with a time to live, and with a token that only its holder
 * knows. Renewal and release check the token first. They do both in one script,
 * so that nothing can happen in between.
 */
#define _DEFAULT_SOURCE /* usleep */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>
#include <tickwheel.h>

#define RENEW                                                                  \
	"if redis.call('get', KEYS[1]) == ARGV[1] then "                       \
	"return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"
#define RELEASE                                                                \
	"if redis.call('get', KEYS[1]) == ARGV[1] then "                       \
	"return redis.call('del', KEYS[1]) else return 0 end"

enum {
	LOCKS_MAX = 100
};

struct lock {
	char key[64];
	struct tkw_lease_id id;
	int held;
};

static struct {
	int port;
	int lease_ms;
	char token[33];
	struct tkw_timer *timer;
	struct tkw_leases *leases;
	redisContext *main; /* used by the main thread, which may wait */
	/* Used by the pool's thread, which may wait only for a short time. */
	redisContext *renew;
	int renewals;
} app;

static void say(const char *what, const char *about)
{
	printf("%s %s %" PRId64 "\n", what, about, tkw_timer_now_ns(app.timer));
	fflush(stdout);
}

/* --- callbacks of the leases --------------------------------------------- */

/* Runs on the pool's thread. One connection carries all commands. */
static int connect_for_renew(void)
{
	struct timeval patience = {
		.tv_sec = app.lease_ms / 10 / 1000,
		.tv_usec = app.lease_ms / 10 % 1000 * 1000L,
	};

	if (app.renew && app.renew->err == 0)
		return 0;
	if (app.renew)
		redisFree(app.renew);
	app.renew = redisConnectWithTimeout("127.0.0.1", app.port, patience);
	if (app.renew == NULL || app.renew->err != 0)
		return -EIO;
	return redisSetTimeout(app.renew, patience) == REDIS_OK ? 0 : -EIO;
}

static int read_renewal(void)
{
	redisReply *reply = NULL;
	int result = -EIO;

	/* After a failure the connection is not used any more. */
	if (app.renew->err != 0 ||
	    redisGetReply(app.renew, (void **)&reply) != REDIS_OK)
		return -EIO;
	if (reply->type == REDIS_REPLY_INTEGER)
		result = reply->integer == 1 ? 0 : -ESTALE;
	freeReplyObject(reply);
	return result;
}

static void renew(struct tkw_lease *leases, size_t count, void *ctx)
{
	const struct lock *l;
	char text[32];

	(void)ctx;
	if (connect_for_renew() != 0)
		return; /* all results are still -EIO, which means: try again */
	for (size_t i = 0; i < count; i++) {
		l = leases[i].data;
		redisAppendCommand(app.renew, "EVAL %s 1 %s %s %d", RENEW,
				   l->key, app.token, app.lease_ms);
	}
	for (size_t i = 0; i < count; i++)
		leases[i].result = read_renewal();
	snprintf(text, sizeof(text), "%d", ++app.renewals);
	if (app.renew->err == 0)
		say("renewed", text);
}

/* Called before the lock runs out, or if it is no longer ours. Stop using what
 * it protects. */
static void lost(const struct tkw_lease_end *end, void *ctx)
{
	const struct lock *l = end->data;

	(void)ctx;
	say(end->status == -ESTALE ? "lost:stale" : "lost", l->key);
}

/* --- take and release ---------------------------------------------------- */

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "redis_lock: %s\n", why);
	exit(1);
}

static redisReply *must_reply(void *reply)
{
	if (reply == NULL)
		die(app.main->errstr);
	return reply;
}

static void delete_if_ours(const struct lock *l)
{
	freeReplyObject(must_reply(redisCommand(app.main, "EVAL %s 1 %s %s",
						RELEASE, l->key, app.token)));
}

static int try_to_acquire(struct lock *l)
{
	/* Read the clock before asking, because the answer may take long. */
	int64_t asked_ns = tkw_timer_now_ns(app.timer);
	redisReply *reply =
		must_reply(redisCommand(app.main, "SET %s %s NX PX %d", l->key,
					app.token, app.lease_ms));
	int granted = reply->type == REDIS_REPLY_STATUS;
	int err;

	if (reply->type == REDIS_REPLY_ERROR)
		die(reply->str);
	freeReplyObject(reply);
	if (!granted)
		return 0;
	l->held = 1;
	err = tkw_leases_add(app.leases, l, asked_ns, &l->id);
	if (err == 0)
		return 1;
	/* The answer came too late to keep the lease. Delete the key, and ask
	 * again. */
	l->held = 0;
	delete_if_ours(l);
	if (err != -ETIMEDOUT)
		die("the lease cannot be kept");
	return 0;
}

static void acquire(struct lock *l)
{
	while (!try_to_acquire(l))
		usleep(5000);
	say("acquired", l->key);
}

/* First ends the renewals, then deletes the key. */
static void release(struct lock *l)
{
	int err;

	if (!l->held)
		return;
	l->held = 0;
	err = tkw_leases_release(app.leases, l->id);
	delete_if_ours(l);
	say(err == 0 ? "released" : "gone", l->key);
}

/* --- the program --------------------------------------------------------- */

/* Makes a token that no other process has, on any machine. */
static void make_token(void)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("no random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(&app.token[2 * i], 3, "%02x", bytes[i]);
}

static struct tkw_pool *open_all(int renew_ms)
{
	const struct tkw_pool_config thread = { .threads = 1 };
	/* A lease also runs out while the machine is suspended. */
	const struct tkw_timer_config clock = { .clock = TKW_CLOCK_BOOTTIME };
	struct tkw_leases_config cfg = {
		.size = sizeof(cfg),
		.lease_ns = app.lease_ms * TKW_MSEC,
		.renew_after_ns = renew_ms * TKW_MSEC,
		.renew = renew,
		.on_lost = lost,
	};
	struct tkw_pool *pool;

	app.main = redisConnect("127.0.0.1", app.port);
	if (app.main == NULL || app.main->err != 0)
		die("cannot connect to Redis");
	if (tkw_timer_create(&app.timer, &clock) != 0 ||
	    tkw_pool_create(&pool, &thread) != 0)
		die("not enough memory");
	cfg.timer = app.timer;
	cfg.exec = tkw_pool_exec(pool);
	if (tkw_leases_create(&app.leases, &cfg) != 0)
		die("LEASE_MS and RENEW_MS do not fit together");
	make_token();
	return pool;
}

static void close_all(struct tkw_pool *pool)
{
	tkw_leases_destroy(app.leases);
	tkw_timer_destroy(app.timer);
	tkw_pool_destroy(pool);
	if (app.renew)
		redisFree(app.renew);
	redisFree(app.main);
}

int main(int argc, char **argv)
{
	static struct lock locks[LOCKS_MAX];
	struct tkw_pool *pool;
	char line[32];
	char *end;
	long count;
	long n;

	count = argc == 6 ? strtol(argv[3], NULL, 10) : 0;
	if (count < 1 || count > LOCKS_MAX) {
		fprintf(stderr, "usage: redis_lock PORT KEY COUNT LEASE_MS "
				"RENEW_MS\n");
		return 2;
	}
	app.port = (int)strtol(argv[1], NULL, 10);
	app.lease_ms = (int)strtol(argv[4], NULL, 10);
	pool = open_all((int)strtol(argv[5], NULL, 10));
	for (n = 0; n < count; n++) {
		snprintf(locks[n].key, sizeof(locks[n].key), "%s:%ld", argv[2],
			 n);
		acquire(&locks[n]);
	}
	while (fgets(line, sizeof(line), stdin)) {
		n = strtol(line, &end, 10);
		if (end != line && n >= 0 && n < count)
			release(&locks[n]);
	}
	for (n = 0; n < count; n++)
		release(&locks[n]);
	close_all(pool);
	return 0;
}
