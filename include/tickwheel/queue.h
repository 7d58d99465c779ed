/* SPDX-License-Identifier: MIT */
/*
 * queue.h - a durable delay queue in a file
 *
 * A queue holds items. An item has a payload and a due time. From that time on
 * a consumer can take the item. The consumer holds it for the time of a lease,
 * does the work, and acknowledges the item, which ends it. If the lease runs
 * out before that, another consumer can take the item. So each item is worked
 * on at least once, also if a consumer, the process or the machine crashes.
 *
 * A file holds many queues, each with a name. The calls are in a library of
 * their own: link with -ltickwheel-queue -ltickwheel, and with -lsqlite3 if you
 * link statically. tickwheel.h does not include this header.
 *
 *   Promise  When a call returns success, its change is on the disk (see enum
 *            tkw_queue_durability). Nobody sees a change before that. If the
 *            process is killed at any moment, no item that was put is lost,
 *            and no item that has ended comes back. For each queue this law
 *            is exact at any time: puts = acks + cancels + purges + waiting +
 *            ready + taken + dead.
 *   States   An item is waiting until it is due, and then ready. It is taken
 *            while a consumer holds it. It is dead if its last attempt has
 *            failed. A dead item stays until it is revived, replaced, purged
 *            or cancelled.
 *   Order    Items are taken in the order of their due times. Items that are
 *            due in the same millisecond are taken in the order in which their
 *            due times were set. There is an exception right after a put of
 *            thousands of items, and after the clock was put back: an item
 *            whose lease runs out may then come before items that were put
 *            earlier. No item is taken before its due time. There are no
 *            priorities.
 *   Token    Each take gives an item a new token. The token is a number that
 *            grows with each take of the queue, also over restarts. Only the
 *            latest token of an item is valid, and only until its lease ends.
 *            If your work changes something outside of the queue, store the
 *            token with it, and refuse a change with a token that is lower
 *            than the one stored for the same item. Then a consumer that has
 *            lost its lease cannot overwrite the work of the next one.
 *   Time     A time is in milliseconds since 1970 on the wall clock, because it
 *            must survive a restart. If somebody sets the wall clock, due times
 *            and the ends of leases are compared with the new time at once.
 *            The latest time is 9223372036854775, in the year 294,247. A due
 *            time or a delay beyond it counts as this time.
 *   Threads  Any thread may make any call, but not in a signal handler. A call
 *            that changes something waits for the disk. Calls that arrive
 *            during a write share the next write. A call that only reads may
 *            have to wait for the write of others. The ..._async calls do not
 *            wait.
 *   Fork     In a child of fork(), calls return -EPERM. Only
 *            tkw_queues_close() works there: it frees the memory and leaves the
 *            file alone. The child shares the lock of the file until it makes
 *            this call, runs another program or ends. So if the parent dies
 *            first, nobody can open the file before the child has done this.
 *   Structs  Only struct tkw_queues_config can grow in later versions of the
 *            library.
 *   Plans    A queue can have plans, which put items at planned times: cron for
 *            jobs. See struct tkw_queue_plan_spec.
 *   Owner    One process at a time can have a file open. It also serves a
 *            socket beside the file, through which the command tkw queue can
 *            work on the file meanwhile.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed.
 *               A count must be 1 to INT_MAX.
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -ENOSPC     the disk is full, or another program has kept the file locked
 *               for seconds. The call works again when this is over.
 *   -EIO        the disk has failed. Nobody knows if the change is on the disk.
 *               From then on, each call that changes something returns -EIO.
 *               Close the file and open it again.
 *   -ESHUTDOWN  the file is being closed
 *   -EDEADLK    the call changes something, and is made inside a callback on a
 *               thread of the library, where it would wait for itself. Use an
 *               ..._async call there, or set exec in struct tkw_queues_config
 *               to an executor that refuses no job.
 *   -EPERM      the file was opened by the parent of a fork
 *   -EOVERFLOW  the queue has no number left for an id or a token. A new queue
 *               has at least 2^62 of them, so the lists below leave this out.
 */
#ifndef TICKWHEEL_QUEUE_H
#define TICKWHEEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/calendar.h>
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

/* The largest number of bytes in the name of a plan. */
#define TKW_QUEUE_MAX_PLAN_NAME 200

/* The largest number of plans in a queue. */
#define TKW_QUEUE_MAX_PLANS 65536

/* The largest max_missed of a plan. */
#define TKW_QUEUE_MAX_MISSED 100

/* The largest number of items in one take. */
#define TKW_QUEUE_MAX_TAKE 4096

/* The length of a lease if the caller gives none. */
#define TKW_QUEUE_DEFAULT_LEASE_MS 30000

/* --- the file ------------------------------------------------------------- */

/* What a call waits for before it returns success. */
enum tkw_queue_durability {
	/* The change is on the disk. It survives a loss of power. */
	TKW_QUEUE_TO_DISK,
	/* The operating system has the change. It survives a crash of the
	 * process. If the operating system crashes, the latest changes may be
	 * lost. If a change is lost, all later changes are lost too. */
	TKW_QUEUE_TO_SYSTEM
};

/* The settings of a file. In all fields, zero means the default. */
struct tkw_queues_config {
	/* sizeof(struct tkw_queues_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	enum tkw_queue_durability durability;
	/* How many bytes to keep in reserve, so that acks still succeed when
	 * the disk is full. While neither the disk nor the file itself has this
	 * much room, puts and tkw_queue_plan() fail with -ENOSPC. 0 means 4
	 * MiB. A negative number means no reserve. If the system refuses the
	 * room for another reason than a full disk, the file works without a
	 * reserve. */
	int64_t reserve_bytes;
	/* The executor that calls the callbacks of the ..._async calls. NULL
	 * means a thread of the library. That thread also calls the callbacks
	 * that the executor refuses or gives up. A callback on that thread must
	 * not block. Calls that change something return -EDEADLK there. The
	 * struct is copied. The executor must work until tkw_queues_close() has
	 * returned. */
	const struct tkw_exec *exec;
	/* The clock, in microseconds since 1970. NULL means the wall clock of
	 * the system. A time before 1970 counts as 1970, and a time after the
	 * year 148,108 counts as that year. The function is called on any
	 * thread, must not block, and must not call the library. Nothing tells
	 * the library that your clock has moved, so it looks at the clock every
	 * 10 ms while an item is waiting or taken, or if tkw_queue_fd() was
	 * called. wait_ms in struct tkw_take is not measured by this clock, but
	 * by the monotonic clock of the system. */
	int64_t (*now_us)(void *ctx);
	/* Passed to now_us. */
	void *now_ctx;
	/* If not 0, no socket is served. */
	int no_socket;
	/* A buffer of error_size bytes. If the open fails, it receives a
	 * sentence that says why, with a 0 at the end. It receives nothing if
	 * size is wrong, or if a field is set that the library does not know.
	 * May be NULL. */
	char *error;
	size_t error_size;
	/* If the open fails with -EBUSY, receives the id of the process that
	 * has the file open, or 0 if that process is not known or has died (see
	 * Fork at the top). Otherwise receives 0. May be NULL. */
	int64_t *owner_pid;
};

/*
 * Opens a file of queues. A file that does not exist is created.
 *
 * While the file is open, there are up to five more files beside it. Their
 * names are that of the file followed by -wal, -shm, -lock, -sock and -reserve.
 * tkw_queues_close() removes them. After an error of the disk, or while another
 * program reads the file, -wal and -shm stay. After a crash, all of them stay.
 * Do not remove -wal: it has the latest changes.
 *
 * out   Receives the file. Close it with tkw_queues_close().
 * path  The name of the file. It must be on a local file system.
 * cfg   The settings. They are copied. NULL means the defaults.
 *
 * Returns 0, or
 *   -EBUSY         another process, or this one, has the file open, or another
 *                  program has locked it
 *   -EMEDIUMTYPE   the file is not a file of queues, or a newer version of
 *                  tickwheel wrote it
 *   -EBADMSG       the file is damaged. Nothing in it was changed.
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO
 *                  as listed at the top
 *   another error  the system refuses to open or create the file, for example
 *                  -EACCES, -ENOENT or -EROFS
 */
int tkw_queues_open(struct tkw_queues **out, const char *path,
		    const struct tkw_queues_config *cfg);

/*
 * Closes a file.
 *
 * Calls that wait return -ESHUTDOWN, and so do calls that come while the file
 * is being closed. Asynchronous calls end with -ESHUTDOWN. tkw_queues_close()
 * waits until all calls and callbacks have ended. When it has returned, the
 * file, its queues and their descriptors are gone: a later call with one of
 * them is not allowed. A struct tkw_items that you have stays valid until you
 * free it. Items that are taken stay taken until their leases end.
 *
 * If the file has far more records than its items need, the call first removes
 * the old ones. This takes about as long as an open.
 *
 * f  The file. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  the call is made inside a callback of this file, on any thread
 */
int tkw_queues_close(struct tkw_queues *f);

/*
 * Prints a sentence that says why changes fail with -ENOSPC, -EIO or -ENOMEM.
 * If changes do not fail, the sentence is empty.
 *
 * Returns the length of the sentence, as snprintf() does, or
 *   -EINVAL, -EPERM
 *           as listed at the top
 */
int tkw_queues_print_error(struct tkw_queues *f, char *buf, size_t size);

/*
 * Checks the law and all other invariants of all queues in a file. All other
 * calls wait until it has ended.
 *
 * Returns NULL if all is sound, else a text that says what is broken. The text
 * is a constant: it stays valid.
 */
const char *tkw_queues_check(struct tkw_queues *f);

/*
 * Opens a queue of a file. A queue that does not exist is created.
 *
 * A queue cannot be closed: it is valid until its file is closed. If a queue is
 * opened twice, both calls give the same pointer.
 *
 * out   Receives the queue.
 * name  1 to 255 bytes of UTF-8 without control characters.
 *
 * Returns 0, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_open(struct tkw_queue **out, struct tkw_queues *f,
		   const char *name);

/* Returns the queue that was created after prev, or the first queue if prev is
 * NULL. Returns NULL if there is none. */
struct tkw_queue *tkw_queues_next(struct tkw_queues *f, struct tkw_queue *prev);

/* Returns the name of a queue. It is valid until the file is closed. */
const char *tkw_queue_name(const struct tkw_queue *q);

/* --- items ---------------------------------------------------------------- */

/* The id of an item. A queue uses each id once, so you may keep an id for ever,
 * also over restarts. No item has an id whose bits are 0. */
struct tkw_item_id {
	uint64_t bits;
};

/* Says which item a consumer holds, and by which take. */
struct tkw_claim {
	struct tkw_item_id id;
	uint64_t token;
};

/* The state of an item; see States at the top. */
enum tkw_item_state {
	TKW_ITEM_WAITING,
	TKW_ITEM_READY,
	TKW_ITEM_TAKEN,
	TKW_ITEM_DEAD,
	/* The number of states. */
	TKW_ITEM_STATES
};

/* Everything about an item. */
struct tkw_item {
	/* The id. The token is 0 if the item is not taken. */
	struct tkw_claim claim;
	enum tkw_item_state state;
	/* How often it was taken since it was put, replaced or revived. */
	uint32_t attempts;
	/* As in struct tkw_put. */
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
	int64_t due_ms;
	/* When its lease ends. 0 if it is not taken. */
	int64_t expires_ms;
	/* When it died. 0 if it is not dead. */
	int64_t died_ms;
	/* The planned time, if a plan has put the item, else 0. A reschedule, a
	 * replacement or a nack does not change it. */
	int64_t planned_ms;
	const void *payload;
	size_t payload_len;
	/* NULL if it has none. */
	const void *key;
	size_t key_len;
	/* The reason of its last nack, with a 0 at the end, or "lease lost" if
	 * its last lease ran out. "" if there is none, and while the item is
	 * taken. */
	const char *reason;
};

/* Items that a call gives you. They are in one piece of memory. */
struct tkw_items {
	size_t count;
	const struct tkw_item *item;
};

/* Frees items. If items is NULL, it does nothing. */
void tkw_items_free(struct tkw_items *items);

/* Names an item: by its key, or by its id if key is NULL. */
struct tkw_item_name {
	struct tkw_item_id id;
	const void *key;
	size_t key_len;
};

/* --- put ------------------------------------------------------------------ */

/* What a put does if an item of the queue has the same key. */
enum tkw_key_held {
	/* The put fails with -EEXIST. */
	TKW_KEY_REFUSE,
	/* The item gets the payload, the due time and the options of the put,
	 * and its attempts start from 0. It keeps its id. If it was dead, it is
	 * revived. If it is taken, the put fails with -EBUSY. */
	TKW_KEY_REPLACE,
	/* Nothing changes, and the put gives you the id of the item. */
	TKW_KEY_KEEP
};

/* An item to put. In all fields, zero means the default. */
struct tkw_put {
	const void *payload;
	size_t payload_len;
	/* How long from now until the item is due. Used if due_ms is 0. An item
	 * with a delay of 0 or less is ready at once. For the largest value,
	 * see Time at the top. */
	int64_t delay_ms;
	/* When the item is due, in milliseconds since 1970. If the time is in
	 * the past, the item is ready at once. */
	int64_t due_ms;
	/* A name of your own for the item, of 1 to 255 bytes. NULL means none.
	 * While the item exists, also if it is dead, no other item of the queue
	 * can have this key. */
	const void *key;
	size_t key_len;
	enum tkw_key_held held;
	/* How often the item can be taken. If the last attempt ends with a nack
	 * or a lost lease, the item is dead. 0 means no limit. */
	uint32_t max_attempts;
	/* The back-off: how long the item waits after its first attempt, if
	 * that ends with a lost lease, or with a nack without a delay. The time
	 * doubles with each attempt, up to max_backoff_ms. 0 means that the
	 * item is ready at once. */
	uint32_t backoff_ms;
	/* 0 means no limit. */
	uint32_t max_backoff_ms;
};

/*
 * Puts items into a queue, all of them or none.
 *
 * ids  Receives the id of each item. May be NULL.
 *
 * Returns 0, or
 *   -EEXIST    an item has the same key
 *   -EBUSY     the item to replace is taken
 *   -EAGAIN    the queue is full; see struct tkw_queue_limits
 *   -EMSGSIZE  a payload is larger than the queue allows
 *   -EINVAL    an argument is not valid, for example a key of 256 bytes
 *   -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *              as listed at the top
 */
int tkw_queue_put(struct tkw_queue *q, const struct tkw_put *puts, size_t count,
		  struct tkw_item_id *ids);

/* --- take ----------------------------------------------------------------- */

/* How to take. In all fields, zero means the default. */
struct tkw_take {
	/* 1 to 4096. 0 means 1. */
	uint32_t max_items;
	/* How long you may hold the items, 1 to 9223372036854775. 0 means 30
	 * seconds. */
	int64_t lease_ms;
	/* How long to wait for an item. 0 means that the call does not wait.
	 * INT64_MAX means that it waits for ever. It must not be negative. */
	int64_t wait_ms;
};

/*
 * Takes items that are ready.
 *
 * If no item is ready, the call waits for the first one, for wait_ms at most.
 * Calls that wait are served in the order in which they came. A call takes what
 * is ready, and does not wait until there are max_items.
 *
 * how  NULL means the defaults.
 * out  Receives the items. Free them with tkw_items_free(). Receives NULL if no
 *      item was taken.
 *
 * Returns how many items were taken, which is 0 if none was ready in time, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_take(struct tkw_queue *q, const struct tkw_take *how,
		   struct tkw_items **out);

/*
 * Returns a file descriptor for poll(), epoll and event loops. It is readable
 * while an item can be taken.
 *
 * The descriptor belongs to the queue, and is valid until the file is closed.
 * Do not read it and do not close it. When it is readable, take with a wait_ms
 * of 0, because another consumer may take the item before you do. Do not use
 * EPOLLET: with other consumers you could miss an item.
 *
 * Returns the descriptor, or
 *   -EMFILE, -ENFILE  no descriptor is free
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *                     as listed at the top
 */
int tkw_queue_fd(struct tkw_queue *q);

/* --- for the consumer of an item ------------------------------------------ */

/*
 * Ends items whose work is done.
 *
 * A claim is stale if its lease has ended, or if the item was nacked, was taken
 * again or has ended. A stale claim changes nothing, and is not an error.
 *
 * claims  The claims of the items, from the take.
 * done    Receives 1 for each claim whose item has now ended, and 0 for each
 *         stale one. May be NULL.
 *
 * Returns how many claims were not stale, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_ack(struct tkw_queue *q, const struct tkw_claim *claims,
		  size_t count, int *done);

/* How to nack. In all fields, zero means the default. */
struct tkw_nack {
	/* If not 0, the item waits for delay_ms. If 0, it waits for its
	 * back-off (see backoff_ms in struct tkw_put). */
	int has_delay;
	/* A negative delay counts as 0. */
	int64_t delay_ms;
	/* Why the work failed, in up to 255 bytes. It is kept with the item.
	 * NULL means no reason. */
	const char *reason;
};

/*
 * Gives back items whose work has failed, so that they can be taken again
 * later. An item that has no attempts left becomes dead.
 *
 * how   NULL means the defaults.
 * done  Receives 1 for each item that was given back, and 0 for each stale
 *       claim. May be NULL.
 *
 * Returns what tkw_queue_ack() returns.
 */
int tkw_queue_nack(struct tkw_queue *q, const struct tkw_claim *claims,
		   size_t count, const struct tkw_nack *how, int *done);

/*
 * Extends the leases of items. They then end lease_ms from now, even if they
 * would have ended later without this call.
 *
 * lease_ms  As in struct tkw_take. 0 means 30 seconds.
 * done      Receives 1 for each lease that was extended, and 0 for each stale
 *           claim. May be NULL.
 *
 * Returns what tkw_queue_ack() returns.
 */
int tkw_queue_extend(struct tkw_queue *q, const struct tkw_claim *claims,
		     size_t count, int64_t lease_ms, int *done);

/* --- for everybody else --------------------------------------------------- */

/*
 * Ends items that are waiting, ready or dead.
 *
 * done  Receives 1 for each item that has now ended, -EBUSY for each item that
 *       is taken, and -ENOENT for each name that no item has. May be NULL.
 *
 * Returns how many items have ended, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_cancel(struct tkw_queue *q, const struct tkw_item_name *names,
		     size_t count, int *done);

/*
 * Gives another due time to an item that is waiting or ready.
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
 * Lists the items of a state. Each call gives you a piece of the list.
 *
 * An item that is in the state from the first call to the last one is listed at
 * least once. An item that enters or leaves the state meanwhile may be missing.
 * While the disk is full or has failed, or if more leases have run out than
 * 4096 writes can record, an item whose last lease has run out may be missing
 * among the dead.
 *
 * state   TKW_ITEM_STATES means all states.
 * max     About how many items to look at in this call, 1 to 4096.
 * cursor  Set it to 0 before the first call. Each call sets it for the next
 *         one. If it is 0 after a call, the list is complete. It can only be
 *         used with the same queue and the same state, and while the file is
 *         open.
 * out     Receives the items. Free them with tkw_items_free(). Receives NULL if
 *         this piece has no items. The next piece may have some.
 *
 * Returns how many items are in this piece, or
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *           as listed at the top
 */
int tkw_queue_list(struct tkw_queue *q, enum tkw_item_state state, uint32_t max,
		   uint64_t *cursor, struct tkw_items **out);

/*
 * tkw_queue_revive() makes dead items ready again. Their attempts start from 0.
 * tkw_queue_purge() ends dead items.
 *
 * done  Receives 1 for each item that was revived or purged, and -ENOENT for
 *       each id that no dead item has. May be NULL.
 *
 * Returns how many items were revived or purged, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_revive(struct tkw_queue *q, const struct tkw_item_id *ids,
		     size_t count, int *done);
int tkw_queue_purge(struct tkw_queue *q, const struct tkw_item_id *ids,
		    size_t count, int *done);

/*
 * tkw_queue_revive_all() revives all items that are dead when the call begins,
 * and tkw_queue_purge_all() ends them. An item is revived once, even if it dies
 * again meanwhile. The work is done in pieces, so if the call fails, some items
 * may have been revived or purged.
 *
 * Returns how many items were revived or purged, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int64_t tkw_queue_revive_all(struct tkw_queue *q);
int64_t tkw_queue_purge_all(struct tkw_queue *q);

/* --- plans ---------------------------------------------------------------- */

/*
 * A plan. It puts an item for each of its times that is not missed or left out.
 * name and text are required. In all other fields, zero means the default.
 *
 *   Fresh    A plan keeps one fresh item in the queue: an item that was never
 *            taken, for its next time. The item is due at its planned time. Its
 *            key is the name of the plan, "@", and the planned time in
 *            milliseconds. If another item of the queue has that key, the plan
 *            goes on to the time after it.
 *   Next     The call that takes or cancels the fresh item also puts the next
 *            one, in the same write. So no time gets a second item, and none is
 *            forgotten, even if the process is killed, and with any number of
 *            consumers.
 *   Running  An item is running from its first take until it is acked,
 *            cancelled or dead, also between two attempts. A dead item that is
 *            revived is running again.
 *   Missed   A time is missed if it passed more than the grace ago. A take that
 *            meets a missed fresh item gives it out if the misfire rule wants
 *            it. Else the item ends, and the plan puts the item for the time
 *            that the rule wants, or for the next time that is not missed.
 *   Overlap  With TKW_OVERLAP_SKIP, a time that has passed when an item of the
 *            plan is taken, or that passes while it is running, is left out. A
 *            fresh item for such a time ends, and the item for the first time
 *            after now is put. With TKW_MISFIRE_ALL, the missed times that
 *            wait are not left out, but come one after the other.
 *   Counts   An item that ends because it was missed or left out counts as
 *            cancelled. The name, the text, the zone and the payload of a plan
 *            count as bytes of the queue. The limits of the queue hold for
 *            tkw_queue_plan(), but not for the items that the plan puts later.
 */
struct tkw_queue_plan_spec {
	/* 1 to TKW_QUEUE_MAX_PLAN_NAME bytes. A queue has one plan of each
	 * name. */
	const char *name;
	/* The times, as in calendar.h. */
	const char *text;
	/* The name of the time zone, such as "Europe/Berlin". NULL or "" means
	 * UTC. */
	const char *zone;
	/* The payload of each item. NULL is allowed if payload_len is 0. */
	const void *payload;
	size_t payload_len;
	/* How late an item may be taken before its time is missed. 0 means one
	 * minute. A negative number means no grace. */
	int64_t grace_ms;
	enum tkw_misfire misfire;
	/* For TKW_MISFIRE_ALL: how many of the missed times are given out, at
	 * most TKW_QUEUE_MAX_MISSED. 0 means TKW_QUEUE_MAX_MISSED. Must be 0
	 * with the other rules. */
	uint32_t max_missed;
	enum tkw_overlap overlap;
	/* If not 0, the next item is put when all earlier ones have ended, by
	 * the call that ends the last of them. If 0, it is put when the earlier
	 * one is taken. */
	int next_on_ack;
	/* The rules of each item, as in struct tkw_put. */
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
};

/* Everything about a plan. */
struct tkw_queue_plan_facts {
	/* The settings, with the defaults filled in. Here a grace_ms of 0 means
	 * no grace, and max_missed is 0 only if the rule is not
	 * TKW_MISFIRE_ALL. The zone is never NULL; "" means UTC. */
	struct tkw_queue_plan_spec plan;
	/* 1 if the plan is paused, else 0. */
	int paused;
	/*
	 * Not 0 if the plan cannot go on. tkw_queue_resume_plan() tries again,
	 * and so does a new plan of this name.
	 *   -ENOENT     the plan has no more times
	 *   -EEXIST     other items have the keys of the next 64 times
	 *   -EOVERFLOW  as listed at the top
	 *   -EINVAL     a newer version of tickwheel has made the plan, and
	 *               this one does not understand its text
	 *   another one
	 *               an error of tkw_queue_plan() about the time zone
	 */
	int error;
	/* The fresh item, and its planned time. 0 if there is none. */
	struct tkw_item_id next_id;
	int64_t next_ms;
	/* No time up to this one comes again: it is the latest time that was
	 * taken, cancelled, missed or left out, or the moment from which the
	 * times of a changed or resumed plan count. 0 if there is none. */
	int64_t decided_ms;
	/* Items that are running. */
	uint64_t running;
	/* How many fresh items were taken, have ended because they were missed,
	 * and were left out because of an overlap. They count from when the
	 * plan was made, also over restarts. */
	uint64_t runs;
	uint64_t missed;
	uint64_t overlaps;
};

/* Plans that a call gives you. All that they point to is valid until you free
 * them. */
struct tkw_queue_plans {
	size_t count;
	const struct tkw_queue_plan_facts *plan;
};

/* Frees plans. If plans is NULL, it does nothing. */
void tkw_queue_plans_free(struct tkw_queue_plans *plans);

/*
 * Makes a plan, or replaces the plan of this name.
 *
 * The call puts the item for the first time after now. If it replaces a plan,
 * the fresh item of the old plan is cancelled. Items that are running go on,
 * and the counters stay. A paused plan stays paused. If the text and the zone
 * stay the same, the new fresh item is for the time of the old one, even if
 * that has passed. If nothing differs, nothing changes. So a program may make
 * its plans each time that it starts.
 *
 * plan     It is copied.
 * next_ms  Receives the planned time of the fresh item. Receives 0 if there is
 *          none, because the plan is paused, or has to wait for an item that is
 *          running. May be NULL.
 * error    Receives what is wrong with the text, even though the call fails. If
 *          nothing is wrong with the text, error->text is empty. May be NULL.
 *
 * Returns 0, or
 *   -ENOENT        the plan has no time after now
 *   -ENXIO         the system has no time zone of this name
 *   -EBADMSG       the file of the time zone is damaged
 *   -EMEDIUMTYPE   the file of the time zone is of another kind
 *   -EEXIST        other items have the keys of the next 64 times
 *   -EAGAIN        the queue is full; see struct tkw_queue_limits and
 *                  TKW_QUEUE_MAX_PLANS
 *   -EMSGSIZE      the payload is larger than the queue allows
 *   -EINVAL        an argument is not valid, for example the text
 *   -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *                  as listed at the top
 *   another error  the system refuses to read the file of the time zone, for
 *                  example -EACCES
 */
int tkw_queue_plan(struct tkw_queue *q, const struct tkw_queue_plan_spec *plan,
		   int64_t *next_ms, struct tkw_plan_error *error);

/*
 * Ends a plan and cancels its fresh item. Items that are running go on. If a
 * plan of this name is made again, they do not belong to it.
 *
 * Returns 0, or
 *   -ENOENT  there is no such plan
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *            as listed at the top
 */
int tkw_queue_unplan(struct tkw_queue *q, const char *name);

/*
 * Pauses or resumes a plan.
 *
 * A pause cancels the fresh item, and the plan puts no more. A resume puts the
 * item for the first time after now, and reads the file of the time zone again.
 * It also lets a plan go on that has an error. If such a plan still cannot go
 * on, the call returns 0, and the plan has an error again: see
 * tkw_queue_get_plan().
 *
 * Returns 0, also if the plan was paused or running already, or
 *   -ENOENT  there is no such plan
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *            as listed at the top
 */
int tkw_queue_pause_plan(struct tkw_queue *q, const char *name);
int tkw_queue_resume_plan(struct tkw_queue *q, const char *name);

/*
 * Gets everything about a plan. tkw_plan_create() and tkw_plan_next() of
 * calendar.h tell its later times.
 *
 * out  Receives one plan. Free it with tkw_queue_plans_free().
 *
 * Returns 0, or
 *   -ENOENT  there is no such plan
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *            as listed at the top
 */
int tkw_queue_get_plan(struct tkw_queue *q, const char *name,
		       struct tkw_queue_plans **out);

/*
 * Lists plans, sorted by the bytes of their names. Each call gives you a piece
 * of the list.
 *
 * A plan that is there from the first call to the last one is listed once. A
 * plan that is made or ends meanwhile may be listed or not.
 *
 * after  The name of the last plan of the piece before. NULL for the first
 *        piece.
 * max    The most plans of this piece, 1 to 4096. If their payloads are large,
 *        the piece has fewer, but at least one.
 * out    Receives the plans. Free them with tkw_queue_plans_free(). Receives
 *        NULL if there are no more.
 *
 * Returns how many plans are in this piece, which is 0 at the end of the list,
 * or
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *           as listed at the top
 */
int tkw_queue_list_plans(struct tkw_queue *q, const char *after, uint32_t max,
			 struct tkw_queue_plans **out);

/* --- the queue ------------------------------------------------------------ */

/*
 * tkw_queue_pause() pauses a queue: no item of it can be taken until
 * tkw_queue_resume(). All other calls work, and calls that wait for an item
 * keep waiting. A queue stays paused over a restart.
 *
 * Returns 0, also if nothing had to change, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_pause(struct tkw_queue *q);
int tkw_queue_resume(struct tkw_queue *q);

/* The limits of a queue. They survive a restart. A put that would exceed
 * max_items or max_bytes fails with -EAGAIN. */
struct tkw_queue_limits {
	/* 0 means no limit. */
	uint64_t max_items;
	/* The bytes of all keys and payloads. 0 means no limit. */
	uint64_t max_bytes;
	/* The bytes of one payload, up to 512 MiB: more is -EINVAL. 0 means 1
	 * MiB. */
	uint64_t max_payload_bytes;
};

/*
 * Sets the limits of a queue. Items that are in the queue stay there, even if
 * they exceed the new limits.
 *
 * Returns 0, or
 *   -EINVAL, -ENOMEM, -ENOSPC, -EIO, -ESHUTDOWN, -EDEADLK, -EPERM
 *           as listed at the top
 */
int tkw_queue_limit(struct tkw_queue *q, const struct tkw_queue_limits *limits);

/* The number of buckets in a histogram of lateness. */
#define TKW_QUEUE_LATENESS_BUCKETS 156

/* The facts of a queue. Fields that begin with all_ count since the queue was
 * created, also over restarts. The facts are exact, with one exception: while
 * the disk is full or has failed, or if more leases have run out than 4096
 * writes can record, items whose leases have run out count as taken. */
struct tkw_queue_stats {
	/* How many items are in each state. */
	uint64_t waiting;
	uint64_t ready;
	uint64_t taken;
	uint64_t dead;
	/* 1 if the queue is paused, else 0. */
	int paused;
	/* The bytes of all keys and payloads, and of the plans. */
	uint64_t bytes;
	/* The memory that the queue uses. */
	uint64_t memory_bytes;
	/* How long ago the first ready item became due. 0 if none is ready. */
	int64_t oldest_age_ms;
	uint64_t all_puts;
	uint64_t all_takes;
	uint64_t all_acks;
	uint64_t all_nacks;
	/* Leases that ran out. */
	uint64_t all_losses;
	/* Items that died. */
	uint64_t all_deaths;
	uint64_t all_revivals;
	uint64_t all_cancels;
	uint64_t all_purges;
	uint64_t all_replaces;
	struct tkw_queue_limits limits;
	/* How many plans there are. */
	uint64_t plans;
	/* How many calls wait for an item. */
	uint64_t waiting_takes;
	/* How late items were taken since the file was opened. lateness[i] is
	 * the number of items that were taken at least
	 * tkw_queue_lateness_ms(i) after they were due, but less than
	 * tkw_queue_lateness_ms(i + 1). */
	uint64_t lateness[TKW_QUEUE_LATENESS_BUCKETS];
	/* Since the file was opened, for all its queues together: how many
	 * writes to the disk there were, for how many calls, and with how many
	 * bytes of records. */
	uint64_t commits;
	uint64_t commit_calls;
	uint64_t commit_bytes;
};

/*
 * Gets the facts of a queue.
 *
 * Returns 0, or
 *   -EINVAL, -ESHUTDOWN, -EPERM
 *           as listed at the top
 */
int tkw_queue_get_stats(struct tkw_queue *q, struct tkw_queue_stats *out);

/* Returns the smallest lateness that a bucket counts; INT64_MAX if there is no
 * such bucket. */
int64_t tkw_queue_lateness_ms(uint32_t bucket);

/* --- calls that do not wait ----------------------------------------------- */

/* Passed to the callback of an asynchronous call. It is valid until the
 * callback returns. */
struct tkw_queue_end {
	/* What the call without _async would have returned. */
	int result;
	/* After a put that has succeeded: the id of each item. Else NULL. */
	const struct tkw_item_id *ids;
	/* After a take: the items, or NULL if there are none. They are yours.
	 * Free them with tkw_items_free(). */
	struct tkw_items *items;
	/* After an ack that has succeeded: 1 or 0 for each claim, as in
	 * tkw_queue_ack(). Else NULL. */
	const int *done;
};

/* Called exactly once for each asynchronous call that has returned 0, when its
 * put, take or ack has ended. exec in struct tkw_queues_config says on which
 * thread. */
typedef void tkw_queue_end_fn(struct tkw_queue *q,
			      const struct tkw_queue_end *end, void *ctx);

/*
 * Begins a put, a take or an ack, and does not wait for it. fn is called when
 * it has ended. All arguments are copied, also keys and payloads.
 *
 * Returns 0 if the call has begun. If it returns an error, fn is not called:
 *   -EMSGSIZE  a payload is larger than 512 MiB
 *   -EINVAL, -ENOMEM, -ESHUTDOWN, -EPERM
 *              as listed at the top
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
