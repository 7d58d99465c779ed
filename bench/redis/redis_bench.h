/* SPDX-License-Identifier: MIT */
/*
 * redis_bench.h - what the files of tkw_bench_redis share.
 *
 * The program is run once for each entrant: the module, a rival, or the floor.
 * It makes one sample for each line on stdin; see timer/rival_line.h. For each
 * sample it starts a new server, with the same settings for all entrants, and
 * kills it afterwards. The samples (redis_samples.c, redis_due.c) read the
 * clocks. A worker is what talks to the server: redis_calls.c for the entrants
 * in C, and a process of node for BullMQ.
 */
#ifndef TKW_REDIS_BENCH_H
#define TKW_REDIS_BENCH_H

#include <hiredis/hiredis.h>

#include "queue/queue_bench.h"

enum {
	REDIS_NUMBER_MAX = 24,
	REDIS_HEAD_MAX = 32, /* "*" and the number of words */
	/* More than each item needs. */
	REDIS_COMMAND_MAX = 256 * QUEUE_MOST,
	REDIS_REPLY_MAX = 1024 * QUEUE_MOST
};

#define REDIS_LATER (UINT64_C(1) << 40)

enum redis_kind {
	REDIS_PUT,
	REDIS_TAKE,
	REDIS_CYCLE,
	REDIS_HOLD,
	REDIS_TINY,
	REDIS_LATENESS,
	REDIS_HERD
};

/* How a take gets `each` items, and ends them. */
enum redis_way {
	REDIS_TOGETHER, /* one ack, sent together with the next take */
	REDIS_APART,    /* the same, but each of them waits for its reply */
	/* A take and an ack for each item; those of all are sent together. */
	REDIS_SINGLE
};

/* A request for one sample. */
struct redis_load {
	enum redis_kind kind;
	uint32_t n;     /* items; in lateness, those that wait for later */
	uint32_t each;  /* put: in one write or call; else: in one take */
	uint32_t call;  /* put: 1 if `each` items are put by one call */
	uint32_t way;   /* take: enum redis_way */
	uint32_t rate;  /* lateness: items due per second */
	uint32_t ms;    /* lateness: for how long */
	uint32_t count; /* tiny: queues */
};

/* --- payloads ------------------------------------------------------------ */

/* The server compresses what it saves. So a payload is its number and random
 * bytes, which do not become shorter. */
void redis_payload_write(uint8_t payload[QUEUE_PAYLOAD], uint64_t number);
/* Returns the number. Ends the program if the payload is not as it was
 * written. */
uint64_t redis_payload_read(const redisReply *r);

/* --- a connection -------------------------------------------------------- */

/* Commands are formatted here, and replies are made in memory that is there
 * already. hiredis could do both, but with many items it takes as long as the
 * server needs for them. */
struct redis_link {
	redisContext *to;
	size_t words;
	size_t len; /* of the command; its head comes last */
	char command[REDIS_HEAD_MAX + REDIS_COMMAND_MAX];
	size_t used;
	_Alignas(max_align_t) uint8_t memory[REDIS_REPLY_MAX];
};

struct redis_link *redis_link_open(uint16_t port);
void redis_link_close(struct redis_link *k);

/* Writes a number in front of `end`, and returns where it begins. It needs less
 * time than snprintf(), which is as slow as a small command. */
char *redis_digits(char *end, uint64_t number);

/* Add a word to the command. */
void redis_add(struct redis_link *k, const void *at, size_t len);
void redis_add_word(struct redis_link *k, const char *word);
void redis_add_number(struct redis_link *k, uint64_t number);
void redis_add_payload(struct redis_link *k, uint64_t number);

/* Ends the command. It is sent when a reply is awaited. */
void redis_end(struct redis_link *k);
/* Waits for the next reply, which is valid until the one after it. An error
 * ends the program. */
const redisReply *redis_reply(struct redis_link *k);
/* The same, but the reply may be an error. */
const redisReply *redis_reply_or_error(struct redis_link *k);
/* The same for a reply that must be an integer. */
int64_t redis_reply_integer(struct redis_link *k);
/* The same for a reply that has to be OK. */
bool redis_reply_ok(struct redis_link *k);

/* --- the server ---------------------------------------------------------- */

/* Returns why there is no server, or NULL. */
const char *redis_server_missing(void);
/* Returns the module's file, or NULL if it was not built. */
const char *redis_module(void);

/* Starts a server whose files are in the folder, with this module if it is not
 * NULL. Returns when it has read its file and answers. */
void redis_server_start(struct queue_server *s, const char *dir,
			const char *module);

/* The bytes that it has allocated. */
uint64_t redis_server_used(struct redis_link *k);

/* --- workers ------------------------------------------------------------- */

enum redis_due {
	REDIS_NOW,
	REDIS_FAR, /* one to two hours away */
	/* At begin_ms; or, if rate is not 0, then that many in each second, and
	 * the first one at begin_ms. */
	REDIS_AT
};

/* Items to put. Their numbers count up. */
struct redis_puts {
	uint64_t first, n;
	uint32_t each; /* in one write */
	bool call;     /* these are one call, instead of as many calls */
	enum redis_due due;
	int64_t begin_ms; /* UNIX time */
	uint32_t rate;
};

/* Returns the due time of the i-th item, in UNIX milliseconds. For items that
 * are far away, it is another one each time. */
int64_t redis_due_ms(const struct redis_puts *p, uint64_t i, uint64_t *rng);

/* Items that become due, and how late they are taken, in microseconds. One that
 * was not taken in time is as late as if it were taken at the end. */
struct redis_late {
	uint32_t total;
	uint32_t each; /* most items in one take */
	uint32_t rate;
	int64_t begin_ms;
	int64_t give_up_ms;
	double p50, p99, max;
	double early; /* how many */
};

struct redis_entrant;

/* What talks to the server. Functions that return false have failed in a way
 * that they should not. */
struct redis_worker {
	void (*open)(const struct redis_entrant *e, uint16_t port);
	void (*close)(void);
	bool (*put)(const struct redis_puts *p);
	/* Takes and acknowledges n items, up to `each` at once. Waits for items
	 * that are not due yet. */
	bool (*take)(uint64_t n, uint32_t each, enum redis_way way);
	/* Puts an item, takes it and acknowledges it, n times. */
	bool (*cycle)(uint64_t n);
	/* Makes queues of their own, with this many items in each. With 0
	 * items, each has had one. */
	bool (*tiny)(uint32_t first, uint32_t queues, uint32_t items);
	bool (*late)(struct redis_late *l);
	/* Processor time of the process that consumes. */
	int64_t (*cpu_ns)(void);
};

/* The commands of an entrant in C. */
struct redis_commands {
	/* Called once for each connection. May be NULL. */
	void (*prepare)(struct redis_link *k);
	/* Adds one command that puts an item, and reads its reply. */
	void (*put)(struct redis_link *k, const char *queue,
		    const struct queue_put *put);
	bool (*put_reply)(struct redis_link *k);
	/* Puts n items by one command, and waits for its reply. */
	bool (*put_all)(struct redis_link *k, const char *queue,
			const struct queue_put *puts, size_t n);
	/* Adds a command that takes what is ready, up to max. If nothing is,
	 * the server may wait until something is. */
	void (*take)(struct redis_link *k, const char *queue, size_t max,
		     int64_t wait_ms);
	/* Reads its reply. Returns how many were taken. */
	size_t (*take_reply)(struct redis_link *k, size_t max,
			     struct queue_taken *out);
	/* Adds a command that acknowledges n items, and reads its reply. */
	void (*ack)(struct redis_link *k, const char *queue,
		    const struct queue_taken *taken, size_t n);
	bool (*ack_reply)(struct redis_link *k, size_t n);
};

struct redis_entrant {
	const char *name;
	const char *(*missing)(void); /* may be NULL */
	bool module;                  /* its server has the module */
	bool no_due;                  /* its items are not due at a time */
	/* It differs from another entrant only if a call has many items. */
	bool only_many;
	/* The most items per second that it is asked for in lateness. */
	uint32_t rate_most;
	const struct redis_worker *worker;
	const struct redis_commands *commands; /* NULL if it is not in C */
	/* Returns how many items the queue has. */
	uint64_t (*count)(struct redis_link *k);
};

extern const struct redis_entrant redis_ours;
extern const struct redis_entrant redis_lua;
extern const struct redis_entrant redis_lua_loop;
extern const struct redis_entrant redis_bullmq;
extern const struct redis_entrant redis_set;

extern const struct redis_worker redis_calls;

/* --- samples ------------------------------------------------------------- */

/* Where a sample is made: a server, the folder with its files, and a connection
 * to look at it. */
struct redis_stage {
	char dir[QUEUE_DIR_MAX];
	struct queue_server server;
	struct redis_link *link;
};

void redis_stage_open(struct redis_stage *s, const struct redis_entrant *e);
void redis_stage_close(struct redis_stage *s);

/* Puts n items in large batches: due now, with the numbers from 0 on; or far
 * away, with the numbers from REDIS_LATER on. */
bool redis_fill(const struct redis_entrant *e, uint64_t n, enum redis_due due);

void redis_run_lateness(const struct redis_entrant *e,
			const struct redis_load *l, struct rival_answer *a);
void redis_run_herd(const struct redis_entrant *e, const struct redis_load *l,
		    struct rival_answer *a);

/* Makes a sample. */
void redis_run(const struct redis_entrant *e, const struct redis_load *l,
	       struct rival_answer *a);

#endif /* TKW_REDIS_BENCH_H */
