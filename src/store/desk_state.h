/* SPDX-License-Identifier: MIT */
/*
 * desk_state.h - the struct of a desk, and what its files share.
 *
 *   desk.c           life, submit, queues, checks
 *   desk_replay.c    from the store to the hearts
 *   desk_turn.c      the frame of a turn: decide, append, commit or undo, end
 *   desk_decide.c    one request: from its arguments to its heart
 *   desk_takes.c     takes: parked, served in order, timed out
 *   desk_agenda.c    which queue has work to do when
 *   desk_snapshot.c  plans and live items are copied forward, old rows removed
 *
 * A turn:
 *
 *   1. Queues whose time has come are touched: marked for this turn.
 *   2. Requests move from `todo` to `batch`, and are decided. This touches
 *      their queues. Looks and withdrawals wait for step 6.
 *   3. Touched queues do the work that the time has brought, and serve their
 *      parked takes.
 *   4. A snapshot adds its piece.
 *   5. The logs of the touched queues go to the store as one batch. Then the
 *      hearts commit. If the store fails, they undo. If it is full, the batch
 *      is decided once more without the snapshot, and then without its puts.
 *      If there is no memory, it is decided once more without the snapshot.
 *   6. If the reserve is gone, it is asked for now and then. Old rows are
 *      removed. Looks run, or go back to `todo` if their queue is not quiet.
 *      Takes are withdrawn or time out, and the requests end.
 */
#ifndef TKW_STORE_DESK_STATE_H
#define TKW_STORE_DESK_STATE_H

#include "store/desk.h"

enum {
	/* The most requests of a batch, with parked takes that it serves. */
	TKW__DESK_BATCH = 4096,
	/* The most queues that a turn works on, besides those of its
	 * requests. */
	TKW__DESK_QUEUES = 1024,
	/* About how many bytes a row has, besides key and payload. */
	TKW__DESK_ROW = 56,
	/* How long the desk leaves its own work alone after a failed write. */
	TKW__DESK_HOLD_US = 1000000,
	/* A queue that nobody waits for does its work this much later, so that
	 * items that become due one by one cost no wake-up each. */
	TKW__DESK_LAZY_US = 1000000
};

/* Where a snapshot is. In each queue, the plans come before the items. */
struct tkw__cycle_place {
	struct tkw_queue *queue; /* NULL: at the end */
	bool in_items;
	uint64_t cursor; /* of the list of items */
	size_t name_len; /* the last plan; 0: none yet */
	char name[TKW__QUEUE_MAX_PLAN_NAME];
};

/* A snapshot and what follows it. */
struct tkw__desk_cycle {
	enum {
		TKW__CYCLE_NONE,
		TKW__CYCLE_COPY,
		TKW__CYCLE_REMOVE
	} state;
	uint64_t first; /* the row at which the snapshot began */
	struct tkw__cycle_place at;
	struct tkw__cycle_place
		next; /* the same after the batch of this turn */
	bool began;
	bool ends;
	bool piece;            /* this batch has a piece of the snapshot */
	struct tkw__base base; /* remove */
	bool done_before;      /* a snapshot of this desk has ended */
	bool closing;          /* the desk was shut down */
	bool tidied;           /* a snapshot has begun since then */
	uint64_t bytes_at_end; /* facts.commit_bytes when it ended */
	/* Most bytes of live items since the last snapshot, or since the
	 * open. */
	uint64_t most_live;
};

struct tkw__desk {
	struct tkw__desk_config cfg;
	struct tkw__store *store;
	uint64_t now_us;
	uint64_t mono_us;
	uint64_t last_seq;

	struct tkw_queue *first;
	struct tkw_queue *last;
	/* Three tables of the same size, a power of two. */
	struct tkw_queue **by_number; /* from 1 */
	struct tkw_queue **agenda;
	struct tkw_queue **by_name; /* buckets of a hash table */
	size_t room;
	size_t scheduled;
	uint32_t count; /* of queues */
	uint64_t live;  /* sum of all queues */

	struct tkw__request_list todo;
	struct tkw__request_list looks;
	struct tkw__request_list ended;
	/* The batch of this turn. */
	struct tkw__request *batch[TKW__DESK_BATCH];
	size_t batch_count;
	struct tkw_queue *touched;
	struct tkw_queue *touched_last;
	struct tkw_queue *to_tell; /* watched ones whose can_take has changed */
	uint64_t rows;
	uint64_t time_rows; /* of these: that the time has brought */
	uint64_t bytes;
	/* Of these: that the time has brought. */
	uint64_t time_bytes;
	uint64_t calls; /* requests with rows */
	bool again;     /* a request was refused while it was decided */
	bool saving;    /* puts are refused: the disk is full */
	bool asked;     /* the reserve was asked for in this turn */
	int failed;     /* an error before the batch came to the store */
	struct tkw__row *row;
	size_t row_room;

	bool reserve_gone;
	uint64_t ask_at_us;     /* mono: when the reserve is asked for again */
	bool broken;            /* -EIO, for ever */
	uint64_t held_until_us; /* mono: the desk's own work waits until then */
	struct tkw_wheel *wheel; /* the timeouts of parked takes */
	uint64_t tickets;        /* that were given to takes */
	bool late;               /* more takes are to be timed out */
	void *wheel_mem;
	struct tkw__queue_taken *taken;
	struct tkw__desk_cycle cycle;
	struct tkw__desk_facts facts;
};

/* --- lists ---------------------------------------------------------------- */

void tkw__requests_push(struct tkw__request_list *l, struct tkw__request *r);
/* Puts it in front of `before`, or at the end if that is NULL. */
void tkw__requests_insert(struct tkw__request_list *l, struct tkw__request *r,
			  struct tkw__request *before);
void tkw__requests_remove(struct tkw__request_list *l, struct tkw__request *r);

/* --- desk.c --------------------------------------------------------------- */

/* Makes a queue and links it at the end. number is the next one. Returns 0 or
 * -ENOMEM. */
int tkw__desk_add_queue(struct tkw__desk *d, const char *name,
			struct tkw_queue **out);
/* Removes and frees the last queue. */
void tkw__desk_drop_queue(struct tkw__desk *d);

/* Measures about how many bytes a snapshot of a queue takes. */
void tkw__desk_measure(struct tkw__desk *d, struct tkw_queue *q);

/* The call of a heart in this turn. */
static inline struct tkw__queue_call tkw__desk_call(struct tkw__desk *d,
						    struct tkw_queue *q)
{
	return (struct tkw__queue_call){ .now_us = d->now_us, .log = &q->log };
}

/* The clock is kept in the first half of the time, which is up to the year
 * 148,000. Ids and tokens never go back. So if a clock that is wrong tells the
 * latest time once, the other half of the numbers is left. */
static inline uint64_t tkw__desk_clamp(uint64_t now_us)
{
	uint64_t most = TKW__QUEUE_MAX_US / 2;

	return now_us < most ? now_us : most;
}

/* True if the free pages of the file can serve instead of the reserve. `more`
 * bytes will be added to this batch. They count twice, because a page may be
 * half empty. */
static inline bool tkw__desk_has_spare(const struct tkw__desk *d, uint64_t more)
{
	uint64_t bytes = d->cfg.reserve.bytes;

	return bytes > 0 && d->store->spare >= bytes + 2 * (d->bytes + more);
}

static inline bool tkw__desk_is_held(const struct tkw__desk *d)
{
	return d->mono_us < d->held_until_us;
}

/* --- the other files ------------------------------------------------------ */

int tkw__desk_replay(struct tkw__desk *d);

/* Marks a queue as one that this turn works on. */
void tkw__desk_touch(struct tkw__desk *d, struct tkw_queue *q);
/* Counts the rows that a call has added behind `from` bytes of the log. */
void tkw__desk_count_rows(struct tkw__desk *d, struct tkw_queue *q,
			  size_t from);
/* A write has failed: the desk leaves its own work alone for a while. */
void tkw__desk_fail(struct tkw__desk *d, int err);
/* True if there is room for another request in this turn. */
bool tkw__desk_has_room(const struct tkw__desk *d);

/* While the reserve is gone, tries to get it back, once in a turn. */
void tkw__desk_ask_reserve(struct tkw__desk *d);
/* Decides a request; its state tells if it is parked then. */
void tkw__desk_decide(struct tkw__desk *d, struct tkw__request *r);

/* Parks a take and serves its queue. */
void tkw__desk_take(struct tkw__desk *d, struct tkw__request *r);
/* Serves the parked takes of a queue. */
void tkw__desk_serve(struct tkw__desk *d, struct tkw_queue *q);
/* Puts a take of the batch back to where it was before this turn. */
void tkw__desk_unserve(struct tkw__desk *d, struct tkw__request *r);
/* Unlinks a parked take. */
void tkw__desk_unpark(struct tkw__desk *d, struct tkw__request *r);
/* A write has failed. Ends the takes of touched queues that do not want to
 * wait. */
void tkw__desk_end_hasty(struct tkw__desk *d, int64_t result);
/* End all parked takes with the result, or those whose time is over with 0. */
void tkw__desk_end_parked(struct tkw__desk *d, int64_t result);
void tkw__desk_time_out(struct tkw__desk *d);

/* Sets when a queue has work to do; UINT64_MAX: never. */
void tkw__agenda_set(struct tkw__desk *d, struct tkw_queue *q, uint64_t at_us);
/* Returns the queue that comes first, or NULL. */
struct tkw_queue *tkw__agenda_first(struct tkw__desk *d);

/* Begins a snapshot if it is time, and adds its piece to the logs. */
void tkw__cycle_copy(struct tkw__desk *d);
/* To be called when the batch with the piece was appended, or undone. */
void tkw__cycle_commit(struct tkw__desk *d);
void tkw__cycle_undo(struct tkw__desk *d);
/* Removes some of the rows that are not needed any more. */
void tkw__cycle_remove(struct tkw__desk *d);
/* True if there is something to copy or to remove now. */
bool tkw__cycle_can_go_on(const struct tkw__desk *d);
/* On a full disk: true if a snapshot goes on or is due. It will make room, so
 * the reserve must not be taken back now. */
bool tkw__cycle_needs_room(const struct tkw__desk *d);

#endif /* TKW_STORE_DESK_STATE_H */
