/* SPDX-License-Identifier: MIT */
/*
 * queue.h - a durable delay queue in a file
 *
 * A queue holds items. An item has a payload and a due time. From that time on
 * a consumer can take it. The consumer holds the item for the time of a lease,
 * and acknowledges it when the work is done. If the lease runs out before that,
 * another consumer gets the item. So each item is worked on at least once, and
 * what was put is not lost when the process or the machine crashes.
 *
 * A file holds many queues, each with a name. The library is
 * libtickwheel-queue. Link with -ltickwheel-queue -ltickwheel -lsqlite3.
 *
 *   Promise  When a call returns success, its change is on the disk (see
 *            TKW_QUEUE_TO_DISK). Nobody sees a change before that. What was put
 *            is not lost, and what has ended does not come back, even if the
 *            process is killed at any moment. For each queue this law is exact
 *            at any time: puts = acks + cancels + purges + waiting + ready +
 *            taken + dead.
 *   States   An item is waiting until it is due, and then ready. It is taken
 *            while a consumer holds it. It is dead if its attempts are used up;
 *            it then stays until it is revived, purged, cancelled or replaced.
 *   Order    Items are taken in the order of their due times. Items of the same
 *            millisecond are taken in the order in which their due times were
 *            set. No item is taken before its due time. There are no
 *            priorities.
 *   Token    Each take gives an item a new token, a number that grows with
 *            every take of the queue, also over restarts. Only the latest
 *            token of an item is valid, and only until the lease ends. Pass the
 *            token to the resource that you change, and let it refuse a token
 *            that is lower than one it has seen. Then a consumer that was
 *            overtaken cannot do harm.
 *   Time     Times are milliseconds since 1970 on the wall clock, because they
 *            must survive a restart. If the wall clock is set, due times and
 *            leases follow it at once.
 *   Threads  Any thread may make any call, but not in a signal handler. Calls
 *            that arrive while another call is written to the disk share the
 *            next write. A call that changes something waits for the disk.
 *            The ..._async calls do not wait.
 *   Fork     In a child of fork(), calls return -EPERM. There,
 *            tkw_queues_close() frees the memory and leaves the file alone.
 *   Owner    One process at a time can open a file. While it is open, its owner
 *            serves a socket beside the file, which `tkw queue` uses.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -ENOSPC     the disk is full. Calls work again when there is room.
 *   -EIO        the disk has failed. The change may or may not be found when
 *               the file is opened again. Calls that change something return
 *               -EIO until the file is closed.
 *   -ESHUTDOWN  the file is being closed
 *   -EDEADLK    the call would wait for itself, because it is made inside a
 *               callback of the queue that an executor runs without a thread
 *   -EPERM      the file was opened by the parent of a fork
 */
#ifndef TICKWHEEL_QUEUE_H
#define TICKWHEEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/exec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open file of queues. */
struct tkw_queues;
/* One queue of a file. */
struct tkw_queue;

/* The largest number of bytes in the name of a queue, in a key, and in the
 * reason of a nack. */
#define TKW_QUEUE_MAX_NAME 255
#define TKW_QUEUE_MAX_KEY 255
#define TKW_QUEUE_MAX_REASON 255

/* The largest number of items in one take. */
#define TKW_QUEUE_MAX_TAKE 4096

/* The length of a lease if the caller gives none. */
#define TKW_QUEUE_DEFAULT_LEASE_MS 30000

/* --- the file ------------------------------------------------------------- */

/* When a call returns success. */
enum tkw_queue_durability {
	/* When its change is on the disk. It survives a loss of power. */
	TKW_QUEUE_TO_DISK,
	/* When the system has its change. It survives a crash of the process.
	 * After a crash of the system, the last changes may be lost, but not
	 * changes before them. */
	TKW_QUEUE_TO_SYSTEM
};

/* The settings of a file. In all fields, zero means the default. */
struct tkw_queues_config {
	/* sizeof(struct tkw_queues_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	enum tkw_queue_durability durability;
	/* Bytes kept free on the disk, so that acks still succeed when the disk
	 * is full. 0 means 4 MiB, a negative number means none. */
	int64_t reserve_bytes;
	/* The executor that calls the callbacks of the ..._async calls. NULL
	 * means that the library's own thread calls them; then they must not
	 * block. The struct is copied. */
	const struct tkw_exec *exec;
	/* The clock, in microseconds since 1970. It must not block. NULL means
	 * the wall clock of the system. */
	int64_t (*now_us)(void *ctx);
	void *now_ctx;
	/* Not 0: serve no socket. */
	int no_socket;
	/* Receives a sentence if the open fails: at most error_size bytes with
	 * the 0 at the end. May be NULL. */
	char *error;
	size_t error_size;
	/* Receives the process that has the file open if the open fails with
	 * -EBUSY, else 0. May be NULL. */
	int64_t *owner_pid;
};

/*
 * Opens a file of queues. A file that does not exist is created.
 *
 * Besides the file itself, up to five files exist while it is open: the name of
 * the file followed by -wal, -shm, -lock, -sock and -reserve. A close removes
 * them.
 *
 * out   Receives the file. Close it with tkw_queues_close().
 * path  The name of the file. It must be on a local file system.
 * cfg   The settings. They are copied. NULL means the defaults.
 *
 * Returns 0, or
 *   -EBUSY       another process, or this one, has the file open
 *   -EMEDIUMTYPE the file is not a file of queues, or is of a newer version
 *   -EBADMSG     the file is damaged. It was left as it is.
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO
 *                as listed at the top
 *   or the error of the system, for example -EACCES, -ENOENT, -EROFS
 */
int tkw_queues_open(struct tkw_queues **out, const char *path,
		    const struct tkw_queues_config *cfg);

/*
 * Closes a file.
 *
 * Calls that wait return -ESHUTDOWN, and so do later calls. Asynchronous calls
 * end with -ESHUTDOWN. The call waits until all calls and callbacks have ended.
 * Taken items stay taken until their leases end.
 *
 * f  The file. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside a callback
 */
int tkw_queues_close(struct tkw_queues *f);

/* Prints a sentence that says why calls fail with -ENOSPC or -EIO; an empty one
 * if they do not. Works like snprintf(). */
int tkw_queues_print_error(struct tkw_queues *f, char *buf, size_t size);

/* Checks all invariants and the law of all queues. Returns NULL if they are
 * sound, else a text that says what is broken. It holds up all calls. */
const char *tkw_queues_check(struct tkw_queues *f);

/*
 * Opens a queue of a file. A queue that does not exist is created.
 *
 * The queue is valid until the file is closed. Opening it twice gives the same
 * pointer.
 *
 * name  1 to 255 bytes of UTF-8, without control characters.
 *
 * Returns 0, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EPERM
 *           as listed at the top
 */
int tkw_queue_open(struct tkw_queue **out, struct tkw_queues *f,
		   const char *name);

/* Returns the queue that was created after prev, or the first one if prev is
 * NULL; NULL if there is none. */
struct tkw_queue *tkw_queues_next(struct tkw_queues *f,
				  struct tkw_queue *prev);

/* Returns the name of a queue, valid until the file is closed. */
const char *tkw_queue_name(const struct tkw_queue *q);

/* --- items ---------------------------------------------------------------- */

/* The id of an item. It is never used again in its queue. You may keep it for
 * ever, and over restarts. No item has bits 0. */
struct tkw_item_id {
	uint64_t bits;
};

/* The proof that a consumer holds an item. */
struct tkw_claim {
	struct tkw_item_id id;
	uint64_t token;
};

enum tkw_item_state {
	TKW_ITEM_WAITING,
	TKW_ITEM_READY,
	TKW_ITEM_TAKEN,
	TKW_ITEM_DEAD,
	TKW_ITEM_STATES
};

/* Everything about an item. */
struct tkw_item {
	/* The id, and the token if the item is taken. */
	struct tkw_claim claim;
	enum tkw_item_state state;
	/* How often it was taken since it was put, replaced or revived. */
	uint32_t attempts;
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
	int64_t due_ms;
	int64_t expires_ms; /* when its lease ends; 0 if it is not taken */
	int64_t died_ms;  /* when it died; 0 if it is not dead */
	const void *payload;
	size_t payload_len;
	const void *key; /* NULL if it has none */
	size_t key_len;
	/* Why it was nacked last, with a 0 at the end; "lease lost" if its
	 * lease ran out; "" if it was not nacked. */
	const char *reason;
};

/* Items that a call gives you, in one piece of memory. */
struct tkw_items {
	size_t count;
	const struct tkw_item *item;
};

/* Frees items. NULL is allowed. */
void tkw_items_free(struct tkw_items *items);

/* How an item is named: by its key, or by its id if key is NULL. */
struct tkw_item_name {
	struct tkw_item_id id;
	const void *key;
	size_t key_len;
};

/* --- put ------------------------------------------------------------------ */

/* What a put does if an item has its key already. */
enum tkw_key_held {
	TKW_KEY_REFUSE, /* The put fails with -EEXIST. */
	/* The item gets the payload, due time and options of the put, and
	 * starts with no attempts. It keeps its id. A dead one is revived. If
	 * it is taken, the put fails with -EBUSY. */
	TKW_KEY_REPLACE,
	TKW_KEY_KEEP /* Nothing changes, and the put gives the item's id. */
};

/* An item to put. In all fields, zero means the default. */
struct tkw_put {
	const void *payload;
	size_t payload_len;
	/* When the item is due: at the UNIX time due_ms, or, if due_ms is 0,
	 * after delay_ms. A time in the past means now. */
	int64_t delay_ms;
	int64_t due_ms;
	/* A name of your own for the item, up to 255 bytes. NULL means none.
	 * The item holds its key until it ends. */
	const void *key;
	size_t key_len;
	enum tkw_key_held held;
	/* How often the item can be taken before it is dead. 0 means that there
	 * is no limit. */
	uint32_t max_attempts;
	/* How long the item waits after a lost lease, or after a nack without a
	 * delay. It doubles with each attempt, up to max_backoff_ms. 0 means
	 * that it is ready at once. */
	uint32_t backoff_ms;
	uint32_t max_backoff_ms; /* 0 means no limit. */
};

/*
 * Puts items into a queue: all of them, or none.
 *
 * ids  Receives the id of each item. May be NULL.
 *
 * Returns 0, or
 *   -EEXIST    a key is held by an item
 *   -EBUSY     an item that would be replaced is taken
 *   -EAGAIN    the queue is full
 *   -EMSGSIZE  a payload is larger than the limit of the queue
 *   -EINVAL    an argument is not valid, for example a key of 256 bytes
 *   -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *              as listed at the top
 */
int tkw_queue_put(struct tkw_queue *q, const struct tkw_put *puts, size_t count,
		  struct tkw_item_id *ids);

/* --- take ----------------------------------------------------------------- */

/* How to take. In all fields, zero means the default. */
struct tkw_take {
	uint32_t max_items; /* 1 to 4096. 0 means 1. */
	int64_t lease_ms;   /* at least 1. 0 means 30 seconds. */
	/* How long to wait for an item. 0 means not at all. INT64_MAX means
	 * without a limit. */
	int64_t wait_ms;
};

/*
 * Takes items that are ready.
 *
 * If none is ready, the call waits for the first one. Calls that wait are
 * served in the order in which they came. A call can return fewer than
 * max_items.
 *
 * how  NULL means the defaults.
 * out  Receives the items. Free them with tkw_items_free(). NULL if there are
 *      none.
 *
 * Returns how many items were taken, 0 if the time is over, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_take(struct tkw_queue *q, const struct tkw_take *how,
		   struct tkw_items **out);

/*
 * Returns a file descriptor for poll(), epoll and event loops. It is readable
 * while an item can be taken.
 *
 * The descriptor belongs to the queue. Do not read it and do not close it. Do
 * not wait when you take: another consumer may be faster.
 *
 * Returns the descriptor, or
 *   -EMFILE, -ENFILE  no descriptor is free
 *   -EINVAL, -ESHUTDOWN, -EPERM
 *                     as listed at the top
 */
int tkw_queue_fd(struct tkw_queue *q);

/* --- what a consumer does with an item ------------------------------------- */

/* What a nack does. In all fields, zero means the default. */
struct tkw_nack {
	/* Not 0: the item waits for delay_ms. 0: it waits for its back-off. */
	int has_delay;
	int64_t delay_ms;
	/* Kept with the item: at most 255 bytes. NULL means none. */
	const char *reason;
};

/*
 * Ends items whose work is done.
 *
 * A claim is stale if its lease has ended, if the item was taken again, or if
 * the item has ended. A stale claim changes nothing and is no error.
 *
 * done  Receives 1 for each claim whose item has ended now, and 0 for each stale
 *       one. May be NULL.
 *
 * Returns how many claims were not stale, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_ack(struct tkw_queue *q, const struct tkw_claim *claims,
		  size_t count, int *done);

/*
 * Gives items back, so that they are tried again later. An item whose attempts
 * are used up is dead.
 *
 * how  NULL means the defaults.
 *
 * done and the result are those of tkw_queue_ack().
 */
int tkw_queue_nack(struct tkw_queue *q, const struct tkw_claim *claims,
		   size_t count, const struct tkw_nack *how, int *done);

/*
 * Lets leases end lease_ms from now. 0 means 30 seconds.
 *
 * done and the result are those of tkw_queue_ack().
 */
int tkw_queue_extend(struct tkw_queue *q, const struct tkw_claim *claims,
		     size_t count, int64_t lease_ms, int *done);

/* --- what everybody else does with an item ---------------------------------- */

/*
 * Ends items that are waiting, ready or dead.
 *
 * done  Receives 1 for each item that has ended now, -EBUSY if it is taken, and
 *       -ENOENT if there is no such item. May be NULL.
 *
 * Returns how many items have ended, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_cancel(struct tkw_queue *q, const struct tkw_item_name *names,
		     size_t count, int *done);

/*
 * Gives an item that is waiting or ready another due time.
 *
 * delay_ms, due_ms  As in struct tkw_put.
 *
 * Returns 0, or
 *   -ENOENT  there is no such item, or it is dead
 *   -EBUSY   the item is taken
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *            as listed at the top
 */
int tkw_queue_reschedule(struct tkw_queue *q, const struct tkw_item_name *name,
			 int64_t delay_ms, int64_t due_ms);

/*
 * Gets everything about an item.
 *
 * out  Receives one item. Free it with tkw_items_free().
 *
 * Returns 0, or
 *   -ENOENT  there is no such item
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *            as listed at the top
 */
int tkw_queue_get(struct tkw_queue *q, const struct tkw_item_name *name,
		  struct tkw_items **out);

/*
 * Lists the items of a state, piece by piece.
 *
 * An item that is in the state from the first call to the last one is listed at
 * least once. An item that changes meanwhile may be listed or not.
 *
 * state   TKW_ITEM_STATES means all states.
 * max     About how many items to look at in this call, 1 to 4096.
 * cursor  Set it to 0 before the first call. It is 0 again after the last one.
 * out     Receives the items. Free them with tkw_items_free(). NULL if this
 *         piece has none, which does not mean the end.
 *
 * Returns how many items are listed in this piece, or
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *           as listed at the top
 */
int tkw_queue_list(struct tkw_queue *q, enum tkw_item_state state, uint32_t max,
		   uint64_t *cursor, struct tkw_items **out);

/*
 * Makes dead items ready again, with no attempts made; ends dead items.
 *
 * done  Receives 1 for each item, or -ENOENT if it is not dead or not there.
 *       May be NULL.
 *
 * Return how many items were revived or purged, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_revive(struct tkw_queue *q, const struct tkw_item_id *ids,
		     size_t count, int *done);
int tkw_queue_purge(struct tkw_queue *q, const struct tkw_item_id *ids,
		    size_t count, int *done);

/* Revive or purge all dead items, in pieces. Return how many, or an error. If
 * an error comes, some may be revived or purged. */
int64_t tkw_queue_revive_all(struct tkw_queue *q);
int64_t tkw_queue_purge_all(struct tkw_queue *q);

/* --- the queue -------------------------------------------------------------- */

/* A paused queue gives nothing out. Items can be put, and calls that wait keep
 * waiting. The queue stays paused over a restart. Return 0 or an error. */
int tkw_queue_pause(struct tkw_queue *q);
int tkw_queue_resume(struct tkw_queue *q);

/* The limits of a queue. They survive a restart. A put beyond a limit is
 * refused. */
struct tkw_queue_limits {
	uint64_t max_items;         /* 0 means no limit. */
	uint64_t max_bytes;         /* of keys and payloads; 0 means no limit. */
	uint64_t max_payload_bytes; /* of one payload; 0 means 1 MiB. */
};

/* Sets the limits of a queue. What is there already stays. Returns 0 or an
 * error. */
int tkw_queue_limit(struct tkw_queue *q, const struct tkw_queue_limits *limits);

/* The number of buckets in a histogram of lateness. */
#define TKW_QUEUE_LATENESS_BUCKETS 156

/* The facts of a queue. Those called "all" count since the queue was created,
 * over restarts. */
struct tkw_queue_stats {
	uint64_t waiting;
	uint64_t ready;
	uint64_t taken;
	uint64_t dead;
	int paused;
	uint64_t bytes;         /* of keys and payloads */
	uint64_t memory_bytes;  /* that the queue uses in memory */
	int64_t oldest_age_ms;  /* how long the first ready item has been due */
	uint64_t all_puts;
	uint64_t all_takes;
	uint64_t all_acks;
	uint64_t all_nacks;
	uint64_t all_losses; /* leases that ran out */
	uint64_t all_deaths;
	uint64_t all_revivals;
	uint64_t all_cancels;
	uint64_t all_purges;
	uint64_t all_replaces;
	struct tkw_queue_limits limits;
	/* How many calls wait for an item. */
	uint64_t waiting_takes;
	/* Since the file was opened: how many items were taken how late, by the
	 * time from due to taken. tkw_queue_lateness_ms() tells the buckets. */
	uint64_t lateness[TKW_QUEUE_LATENESS_BUCKETS];
	/* Since the file was opened, for all queues of the file: batches that
	 * were written, calls that were in them, and bytes of their records. */
	uint64_t commits;
	uint64_t commit_calls;
	uint64_t commit_bytes;
};

/* Gets the facts of a queue. Returns 0, -EINVAL, -ESHUTDOWN or -EPERM. */
int tkw_queue_get_stats(struct tkw_queue *q, struct tkw_queue_stats *out);

/* Returns the smallest lateness of a bucket, in ms; INT64_MAX for the number of
 * buckets. */
int64_t tkw_queue_lateness_ms(uint32_t bucket);

/* --- calls that do not wait -------------------------------------------------- */

/* Passed to the callback of an asynchronous call. It is valid during the
 * callback. */
struct tkw_queue_end {
	/* What the call that waits would have returned. */
	int result;
	/* put: the ids, as many as were put. Else NULL. */
	const struct tkw_item_id *ids;
	/* take: the items. They are yours: free them with tkw_items_free().
	 * NULL if there are none. */
	struct tkw_items *items;
	/* ack: 1 or 0 for each claim. Else NULL. */
	const int *done;
};

/* Called when an asynchronous call has ended, exactly once for each call that
 * has returned 0. It may make calls, but see exec in struct
 * tkw_queues_config. */
typedef void tkw_queue_end_fn(struct tkw_queue *q,
			      const struct tkw_queue_end *end, void *ctx);

/*
 * Begin a put, a take and an ack, and return at once. fn is called when they
 * have ended. The arguments are copied.
 *
 * Return 0 if the call has begun, or
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *           as listed at the top. fn is not called.
 */
int tkw_queue_put_async(struct tkw_queue *q, const struct tkw_put *puts,
			size_t count, tkw_queue_end_fn *fn, void *ctx);
int tkw_queue_take_async(struct tkw_queue *q, const struct tkw_take *how,
			 tkw_queue_end_fn *fn, void *ctx);
int tkw_queue_ack_async(struct tkw_queue *q, const struct tkw_claim *claims,
			size_t count, tkw_queue_end_fn *fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_QUEUE_H */
