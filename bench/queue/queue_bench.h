/* SPDX-License-Identifier: MIT */
/*
 * queue_bench.h - what the files of tkw_bench_queue share.
 *
 * The program is run once for each entrant: our queue, a rival, or a floor. It
 * makes one sample for each line on stdin; see timer/rival_line.h. An entrant
 * is a table of operations. An indirect call is nothing beside a write to the
 * disk, so the loops are compiled only once (queue_loops.c).
 *
 * Each sample has a folder of its own, which is removed afterwards.
 */
#ifndef TKW_QUEUE_BENCH_H
#define TKW_QUEUE_BENCH_H

#include "timer/rival.h"

enum {
	QUEUE_PAYLOAD = 100, /* bytes */
	QUEUE_MOST = 1024,   /* most items in one call */
	QUEUE_DIR_MAX = 512,
	QUEUE_ROUNDS_MAX = 100,
	QUEUE_LEASE_S = 3600 /* longer than any sample */
};

#define QUEUE_LEASE_MS (QUEUE_LEASE_S * INT64_C(1000))

enum queue_kind {
	QUEUE_PUT,
	QUEUE_CYCLE,
	QUEUE_BATCH,
	QUEUE_LATENESS,
	QUEUE_MEMORY,
	QUEUE_OPEN,
	QUEUE_CHURN
};

/* A request for one sample. */
struct queue_load {
	enum queue_kind kind;
	uint32_t threads; /* callers */
	uint32_t flight;  /* put: calls of each caller at the same time */
	uint32_t ms;      /* how long to measure; for batch, each part */
	uint32_t n;       /* batch: items in a call; else: items that wait */
	uint32_t rate;    /* lateness: items due per second */
	uint32_t rounds;  /* open: how often */
	uint32_t ops;     /* churn: items put and acknowledged */
};

/* An item to put. Its number is in its payload. */
struct queue_put {
	uint64_t number;
	int64_t due_ms; /* UNIX time; 0 means now */
};

/* An item that was taken. */
struct queue_taken {
	uint64_t id;
	uint64_t token;
	uint64_t number;
};

/* Only one queue is open at a time. Functions that return false have failed in
 * a way that they should not. */
struct queue_entrant {
	const char *name;
	/* Returns why it cannot run, or NULL. May be NULL. */
	const char *(*missing)(void);
	bool floor; /* it writes, but holds no items */
	bool keeps; /* its items survive a close */
	/* A delay is a whole number of seconds. */
	bool whole_seconds;
	/* sync: a call returns when its change is on the disk. */
	void (*open)(const char *dir, bool sync);
	void (*close)(void);
	/* What a caller needs for itself: any thread, one caller each. */
	void *(*caller_open)(void);
	void (*caller_close)(void *caller);
	/* One call, all or none. */
	bool (*put)(void *caller, const struct queue_put *puts, size_t n);
	/* n calls in flight; waits until all have ended. NULL: it has no
	 * such calls. */
	bool (*put_flight)(void *caller, const struct queue_put *puts,
			   size_t n);
	/* Takes what is ready, up to max. If nothing is, waits for the first
	 * one. Returns how many, 0 if the time is over. */
	size_t (*take)(void *caller, size_t max, int64_t wait_ms,
		       struct queue_taken *out);
	bool (*ack)(void *caller, const struct queue_taken *taken, size_t n);
	/* Bytes that were written to the disk so far. NULL: nobody counts. */
	uint64_t (*written)(void);
	uint64_t (*resident)(void); /* bytes */
};

extern const struct queue_entrant queue_ours;
extern const struct queue_entrant queue_ram;
extern const struct queue_entrant queue_beanstalkd;
extern const struct queue_entrant queue_sqlite;
extern const struct queue_entrant queue_floor;
extern const struct queue_entrant queue_floor_in_place;

/* Makes a sample. */
void queue_run(const struct queue_entrant *e, const struct queue_load *l,
	       struct rival_answer *a);

/* --- payloads and records ------------------------------------------------ */

void queue_payload_write(uint8_t payload[QUEUE_PAYLOAD], uint64_t number);
/* Returns the number. Ends the program if the payload is not as it was
 * written. */
uint64_t queue_payload_read(const void *payload, size_t len);

enum queue_record {
	QUEUE_RECORD_PUT,
	QUEUE_RECORD_TAKE,
	QUEUE_RECORD_ACK,
	QUEUE_RECORDS
};

/* Returns how many bytes the record of our queue has. */
size_t queue_record_bytes(enum queue_record record);

/* --- the folder of a sample ---------------------------------------------- */

/* Removes folders that killed programs have left. */
void queue_folder_sweep(void);
void queue_folder_make(char dir[QUEUE_DIR_MAX]);
void queue_folder_remove(const char *dir);
uint64_t queue_folder_bytes(const char *dir);
/* Takes the files out of the page cache. */
void queue_folder_cool(const char *dir);

/* --- processes ----------------------------------------------------------- */

/* A server on a port of the loopback address. */
struct queue_server {
	int pid; /* 0 if it does not run */
	uint16_t port;
};

/* Called in the child process. It executes the server. */
typedef void queue_server_exec(const char *port, const void *ctx);

/* Starts a server, and returns when it accepts connections. */
void queue_server_start(struct queue_server *s, queue_server_exec *become,
			const void *ctx);
void queue_server_kill(struct queue_server *s);
/* Returns a connection, or -1. */
int queue_server_connect(const struct queue_server *s);

/* Bytes that a process has in memory. */
uint64_t queue_process_resident(int pid);
/* Processor time of a process, in steps of 10 ms; and of its first thread. */
int64_t queue_process_cpu_ns(int pid);
int64_t queue_process_main_ns(int pid);
/* Bytes that this process has written to disks, how often it has called
 * fdatasync(), and how long that took; see queue_count.c. */
uint64_t queue_written(void);
uint64_t queue_syncs(void);
int64_t queue_sync_ns(void);

/* The wall clock, in microseconds since 1970. */
static inline int64_t queue_wall_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000) + ts.tv_nsec / 1000;
}

#endif /* TKW_QUEUE_BENCH_H */
