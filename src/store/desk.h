/* SPDX-License-Identifier: MIT */
/*
 * desk.h - the queues of a file, without threads and clocks
 *
 * A desk has the hearts (queue/heart.h) of all queues of a file, and the store
 * to which their records go. Requests are submitted to it. A turn decides them
 * in the order in which they came, appends all records to the store as one
 * batch, and then ends the requests.
 *
 *   Promise  Nothing that a turn has decided is visible before the store has
 *            it. If the store fails, all hearts are as before the turn, and
 *            each request of the batch ends with the error.
 *   Time     A turn is told two times in microseconds. now_us is the wall
 *            clock, for due times and leases. It may step. mono_us is for the
 *            timeouts of takes. It never goes back.
 *   Takes    A take that finds nothing waits in its queue, first come, first
 *            served. It does not keep a turn from ending.
 *   Looks    A look reads the hearts. It runs at the end of a turn, when they
 *            are what the store has. If it wants a quiet queue, it waits until
 *            a turn has done all the work that the time has brought to it.
 *   Bounds   A turn handles a bounded number of rows and bytes, plus one
 *            request. Lost leases have a bound of their own. The rest is left
 *            to the next turn.
 *   Snapshot If the journal is much longer than the live items need, the desk
 *            copies them and the plans forward, one piece in each turn. Then
 *            it lets the store remove the old rows, also in pieces. A turn
 *            that adds many rows also copies and removes many.
 *   Threads  None. During a call, no other thread may use the desk, its queues
 *            or the requests that it has.
 */
#ifndef TKW_STORE_DESK_H
#define TKW_STORE_DESK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/heart.h"
#include "store/store.h"
#include "tickwheel/queue.h"
#include "tickwheel/wheel.h"

struct tkw__desk;
struct tkw__request;

/* --- requests ------------------------------------------------------------- */

enum tkw__request_kind {
	TKW__REQUEST_OPEN, /* finds a queue by its name, or makes it */
	TKW__REQUEST_PUT,
	TKW__REQUEST_TAKE,
	TKW__REQUEST_ACK,
	TKW__REQUEST_NACK,
	TKW__REQUEST_EXTEND,
	TKW__REQUEST_CANCEL,
	TKW__REQUEST_RESCHEDULE,
	TKW__REQUEST_REVIVE,
	TKW__REQUEST_PURGE,
	TKW__REQUEST_REVIVE_SOME,
	TKW__REQUEST_PURGE_SOME,
	TKW__REQUEST_PAUSE,
	TKW__REQUEST_RESUME,
	TKW__REQUEST_LIMIT,
	TKW__REQUEST_PLAN,
	TKW__REQUEST_UNPLAN,
	TKW__REQUEST_PAUSE_PLAN,
	TKW__REQUEST_RESUME_PLAN,
	TKW__REQUEST_LOOK,
	/* Ends another request with -ECANCELED, if it is a take that waits. */
	TKW__REQUEST_WITHDRAW
};

enum tkw__request_state {
	TKW__REQUEST_MADE,  /* not submitted */
	TKW__REQUEST_WAITS, /* for a turn */
	/* A take that waits for an item, or a look for a quiet queue. */
	TKW__REQUEST_PARKED,
	TKW__REQUEST_DECIDED, /* in the batch of this turn */
	TKW__REQUEST_ENDED
};

/* Called when a request has ended. The desk does not use the request any more.
 * It may submit requests, but must not call any other function of the desk. */
typedef void tkw__request_fn(struct tkw__request *r);

/* Reads the desk. Its result is the result of the request. */
typedef int64_t tkw__look_fn(struct tkw__desk *d, struct tkw__request *r);

struct tkw__request_open {
	const char *name; /* legal */
};

struct tkw__request_put {
	const struct tkw__queue_put *puts;
	size_t count;
	uint64_t *ids; /* answer */
};

struct tkw__request_take {
	size_t max;
	/* No more items are taken when they have so many bytes; 0: no bound. */
	uint64_t max_bytes;
	uint64_t lease_ms;
	/* How long to wait. UINT64_MAX means without a limit. */
	uint64_t wait_us;
	/* When the waiting began, on the monotonic clock. 0 means when the turn
	 * began. */
	uint64_t asked_us;
	/* Answer: malloc()ed, for tkw_items_free(). NULL if there are none. */
	struct tkw_items *items;
};

/* ack, nack, extend */
struct tkw__request_claims {
	struct tkw__queue_claims claims; /* with the answers */
	struct tkw__queue_nack how;      /* nack */
	uint64_t lease_ms;               /* extend */
};

struct tkw__request_cancel {
	const struct tkw__queue_name *names;
	size_t count;
	enum tkw__queue_answer *answers;
};

struct tkw__request_reschedule {
	const struct tkw__queue_name *name;
	struct tkw__queue_when when;
};

/* revive, purge */
struct tkw__request_ids {
	const uint64_t *ids;
	size_t count;
	enum tkw__queue_answer *answers;
};

/* revive_some, purge_some */
struct tkw__request_some {
	uint32_t max;
	struct tkw__queue_walk walk; /* all zero in the first request */
	/* Answer: there is more to do, by a request with this walk. */
	bool more;
	struct tkw__queue_walk next;
};

struct tkw__request_plan {
	const struct tkw__queue_plan *plan;
	uint64_t next_ms; /* answer */
};

struct tkw__request_look {
	tkw__look_fn *fn;
	void *arg;
	/* The look needs a quiet queue; see queue/heart.h. It then waits for
	 * one, but not if the store has failed, and for 4096 turns at most. */
	bool quiet;
	uint64_t now_us; /* set by the desk before fn is called */
	uint32_t turns;  /* the desk's own: how many it has waited */
};

/*
 * A request. Set all of it to zero. Then set the fields from kind to the
 * arguments of that kind. The request and its arguments belong to the
 * submitter, and must stay as they are until the request has ended.
 */
struct tkw__request {
	enum tkw__request_kind kind;
	/* All kinds except open and withdraw: the queue. A look may have NULL.
	 * If it has a queue, the work that the time has brought to this queue
	 * is done before the look. open: the answer. */
	struct tkw_queue *queue;
	tkw__request_fn *done; /* may be NULL */
	void *ctx;
	union {
		struct tkw__request_open open;
		struct tkw__request_put put;
		struct tkw__request_take take;
		struct tkw__request_claims claim;
		struct tkw__request_cancel cancel;
		struct tkw__request_reschedule move;
		struct tkw__request_ids ids;
		struct tkw__request_some some;
		struct tkw__queue_limits limits;
		struct tkw__request_plan plan;
		/* unplan, pause_plan, resume_plan */
		struct tkw__queue_text plan_name;
		struct tkw__request_look look;
		/* withdraw: the take. It must stay valid until the withdrawal
		 * has ended. */
		struct tkw__request *target;
	};

	/*
	 * The answer, when the request has ended: a negative errno, or
	 *   put, open, pause, resume, limit, plan
	 *                                     0
	 *   unplan, pause_plan, resume_plan   0; -ENOENT
	 *   take                              how many items
	 *   ack, nack, extend, cancel, revive, purge and ..._some
	 *                                     how many were done
	 *   reschedule                        0; -ENOENT, -EBUSY
	 *   withdraw                          0; -ENOENT: it does not wait
	 */
	int64_t result;
	enum tkw__request_state state;

	/* The desk's own. */
	struct tkw__request *next;
	struct tkw__request *prev;
	struct tkw_entry deadline; /* of a take that is parked */
	int refused;               /* the error that it gets in this turn */
	bool was_parked;           /* before this turn */
	uint64_t ticket;           /* of a take: the order of arrival */

	/* The keeper's own. */
	struct tkw_queues *home;
	tkw__request_fn *then;
};

/* --- queues --------------------------------------------------------------- */

struct tkw__request_list {
	struct tkw__request *first;
	struct tkw__request *last;
	uint64_t count;
};

/* A queue of a file. It lives until the desk is destroyed. */
struct tkw_queue {
	struct tkw__queue *heart;
	uint32_t number; /* from 1 */
	/* For the owner of the desk. The desk sets them once, to the owner of
	 * its config and to -1. */
	void *owner;
	int fd;
	/* If watched is set, can_take tells at the end of each turn if an item
	 * can be taken. */
	bool watched;
	bool can_take;
	struct tkw__request_list parked; /* takes, in the order of arrival */

	/* The desk's own. */
	struct tkw__desk *desk;
	struct tkw__queue_log log;  /* records of this turn */
	struct tkw_queue *next;     /* by number */
	struct tkw_queue *namesake; /* the next one in its bucket by name */
	struct tkw_queue *touched;  /* the next one that this turn works on */
	bool is_touched;
	bool is_new;  /* its name is not in the store yet */
	bool behind;  /* there is work for this very time */
	bool changed; /* by a batch of this turn */
	bool tell;    /* can_take has changed; it is in a list of these */
	struct tkw_queue *next_to_tell;
	uint64_t hasty; /* parked takes that do not want to wait */
	uint64_t live;  /* about how many bytes a snapshot of it takes */
	uint64_t at_us; /* when it has work to do */
	size_t place;   /* in the agenda */
	char name[TKW_QUEUE_MAX_NAME + 1];
};

/* --- the desk ------------------------------------------------------------- */

/* Room that is kept on the disk for the time when the disk is full. All fields
 * may be zero: then there is no reserve. */
struct tkw__desk_reserve {
	/* Releases the reserve. Returns false if it is not held. */
	bool (*give)(void *ctx);
	/* Gets the reserve back. Returns true if it is held now, or if it was
	 * given up for good. */
	bool (*get)(void *ctx);
	void *ctx;
	uint64_t bytes; /* how much it is */
	bool gone;      /* it is wanted, but not held at the start */
};

/* In all fields except the store and the times, zero means the default. */
struct tkw__desk_config {
	struct tkw__store *store; /* open; the desk does not close it */
	void *owner;              /* the value of `owner` in each queue */
	uint64_t now_us;
	uint64_t mono_us;
	struct tkw__queue_hooks hooks; /* of the hearts; default: malloc */
	/* Of the hearts. It must stay valid. NULL: no plan can be made. */
	const struct tkw__queue_calendar *calendar;
	uint64_t seed[2];
	struct tkw__desk_reserve reserve;
	/* Bounds of a turn. The defaults are 4096 and 1 MiB. */
	uint32_t max_rows;
	uint32_t max_bytes;
	/* A snapshot begins when the journal has more bytes than this plus 1.5
	 * times the largest size of the live items since the last snapshot or
	 * the open. Before a close, their size at that time counts. The default
	 * is 4 MiB. */
	uint64_t slack_bytes;
	/* How many items and plans of a snapshot a turn may append, besides
	 * four for each of its other rows. The default is 256. */
	uint32_t snapshot_items;
};

/*
 * Creates a desk, and replays the store.
 *
 * Returns 0, or
 *   -EBADMSG  a row does not fit
 *   -ENOMEM, or an error of the store
 */
int tkw__desk_create(struct tkw__desk **out,
		     const struct tkw__desk_config *cfg);

/* Frees a desk. Requests that it still has never end: call
 * tkw__desk_shutdown() before. NULL is allowed. */
void tkw__desk_destroy(struct tkw__desk *d);

/* Submits a request. It is decided in a later turn. */
void tkw__desk_submit(struct tkw__desk *d, struct tkw__request *r);

/* Returns the first request that no turn has come to yet, or NULL. The others
 * follow by `next`. */
struct tkw__request *tkw__desk_first(struct tkw__desk *d);

/*
 * Does one turn, with at most one batch for the store.
 *
 * If the batch fails, its requests get the error. The `done` functions of
 * requests are called inside this call.
 *
 * Returns 1 if there is more to do at once, else 0.
 */
int tkw__desk_turn(struct tkw__desk *d, uint64_t now_us, uint64_t mono_us);

/* Before a close, after tkw__desk_shutdown(): true if a snapshot has begun, or
 * if the journal is much longer than its live items need. Then do turns without
 * requests until it is false. Otherwise no snapshot would ever end if each
 * process makes only one call, and the next open would read all rows of a queue
 * that is empty. */
bool tkw__desk_is_untidy(const struct tkw__desk *d);

/* When the next turn is needed if no request comes. UINT64_MAX: never. */
struct tkw__desk_next {
	uint64_t now_us;
	uint64_t mono_us;
};

void tkw__desk_next(struct tkw__desk *d, struct tkw__desk_next *out);

/* Ends all requests with -ESHUTDOWN, and writes nothing. Then the desk can only
 * be made tidy and destroyed. */
void tkw__desk_shutdown(struct tkw__desk *d);

/* Returns the queue after prev, or the first one if prev is NULL; NULL: there
 * is none. In the order in which they were made. */
struct tkw_queue *tkw__desk_queue(struct tkw__desk *d, struct tkw_queue *prev);
struct tkw_queue *tkw__desk_find(struct tkw__desk *d, const char *name);

/* Returns a watched queue whose can_take has changed, each once; NULL: no
 * more. */
struct tkw_queue *tkw__desk_changed(struct tkw__desk *d);

/* What the desk has done so far. */
struct tkw__desk_facts {
	uint64_t commits;      /* batches that were appended */
	uint64_t commit_calls; /* requests that had records in them */
	uint64_t commit_rows;
	uint64_t commit_bytes; /* of their records */
	uint64_t undone;       /* batches that were undone */
	uint64_t snapshots;    /* that were finished */
	uint64_t compactions;  /* calls of the store's compact */
	/* Negative if the last batch failed. -EIO stays until the desk is
	 * destroyed. */
	int error;
	const char *why; /* of the store; may be NULL */
};

void tkw__desk_get_facts(const struct tkw__desk *d,
			 struct tkw__desk_facts *out);

/* For checks, between turns and in looks. check() verifies all invariants and
 * the law of all queues. It returns NULL if they are sound, else what is
 * broken. digest() returns a checksum of all that was recorded. Desks with
 * equal queues have the same digest. */
const char *tkw__desk_check(struct tkw__desk *d);
uint64_t tkw__desk_digest(struct tkw__desk *d);

#endif /* TKW_STORE_DESK_H */
