/* SPDX-License-Identifier: MIT */
/*
 * queue_way.h - the two ways to a queue: the file itself, or the socket of the
 * process that has the file open.
 *
 * Both stand behind one table of operations, so that each command of `tkw
 * queue` is written once. The operations mean what the calls of
 * tickwheel/queue.h mean. A session chooses the way, and chooses again when an
 * owner has gone.
 *
 * queue_direct.c   opens the file
 * queue_client.c   speaks to the owner (store/wire.h), with
 *                  queue_client_plans.c
 * queue_session.c  chooses
 */
#ifndef TKW_TOOLS_QUEUE_WAY_H
#define TKW_TOOLS_QUEUE_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tickwheel/queue.h>

enum {
	QUEUE_WHY = 300
};

/* Where a queue is. */
struct queue_place {
	const char *file;
	const char *queue; /* NULL: no queue is chosen */
	/* Make the file and the queue if they are not there. */
	bool make;
};

/* Items, and who frees them. */
struct queue_items {
	struct tkw_items *list; /* NULL: none */
	void (*free)(struct tkw_items *list);
};

/* Plans, and who frees them. */
struct queue_plans {
	struct tkw_queue_plans *list; /* NULL: none */
	void (*free)(struct tkw_queue_plans *list);
};

/* A piece of a list. */
struct queue_piece {
	enum tkw_item_state state;
	uint32_t max;
	uint64_t cursor;
};

struct queue_way;

/*
 * The operations. They return what the public calls return. In addition:
 *
 *   -ESHUTDOWN   the file is being closed by its owner. Nothing was done.
 *   -ECONNRESET  the owner has gone. Nobody knows if it was done.
 *   -EINTR       the owner does not answer, and a signal has ended the wait.
 *                Nobody knows if it was done. The way is of no use any more.
 *   -E2BIG       the request is larger than TKW__WIRE_MAX_REQUEST
 *   -EPROTO      the owner said something that makes no sense
 */
struct queue_ops {
	/*
	 * why  Receives a sentence on failure, if there is more to say than the
	 *      error. QUEUE_WHY bytes.
	 *
	 * Returns 0, -ENOENT if the file or the queue is not there and shall
	 * not be made, -EBUSY if this way is not the right one now, or an
	 * error.
	 */
	int (*open)(struct queue_way **out, const struct queue_place *place,
		    char *why);
	void (*close)(struct queue_way *w);
	/* Chooses another queue, which must exist. */
	int (*choose)(struct queue_way *w, const char *queue);
	/* Writes the name of the queue after this one, or of the first one if
	 * `name` is empty. Returns 1, or 0 if there is none. */
	int (*next)(struct queue_way *w, char name[TKW_QUEUE_MAX_NAME + 1]);

	int (*put)(struct queue_way *w, const struct tkw_put *puts,
		   size_t count, struct tkw_item_id *ids);
	int (*take)(struct queue_way *w, const struct tkw_take *how,
		    struct queue_items *out);
	int (*ack)(struct queue_way *w, const struct tkw_claim *claims,
		   size_t count, int *done);
	int (*nack)(struct queue_way *w, const struct tkw_claim *claims,
		    size_t count, const struct tkw_nack *how, int *done);
	int (*extend)(struct queue_way *w, const struct tkw_claim *claims,
		      size_t count, int64_t lease_ms, int *done);
	int (*cancel)(struct queue_way *w, const struct tkw_item_name *names,
		      size_t count, int *done);
	int (*reschedule)(struct queue_way *w, const struct tkw_item_name *name,
			  int64_t delay_ms, int64_t due_ms);
	int (*get)(struct queue_way *w, const struct tkw_item_name *name,
		   struct queue_items *out);
	int (*list)(struct queue_way *w, struct queue_piece *piece,
		    struct queue_items *out);
	int (*revive)(struct queue_way *w, const struct tkw_item_id *ids,
		      size_t count, int *done);
	int (*purge)(struct queue_way *w, const struct tkw_item_id *ids,
		     size_t count, int *done);
	int64_t (*revive_all)(struct queue_way *w);
	int64_t (*purge_all)(struct queue_way *w);
	int (*pause)(struct queue_way *w);
	int (*resume)(struct queue_way *w);
	int (*limit)(struct queue_way *w,
		     const struct tkw_queue_limits *limits);
	int (*get_stats)(struct queue_way *w, struct tkw_queue_stats *out);

	int (*plan)(struct queue_way *w, const struct tkw_queue_plan_spec *plan,
		    int64_t *next_ms);
	int (*unplan)(struct queue_way *w, const char *name);
	int (*pause_plan)(struct queue_way *w, const char *name);
	int (*resume_plan)(struct queue_way *w, const char *name);
	int (*get_plan)(struct queue_way *w, const char *name,
			struct queue_plans *out);
	int (*list_plans)(struct queue_way *w, const char *after, uint32_t max,
			  struct queue_plans *out);

	/*
	 * A take that does not hold up the caller, who can make other calls
	 * meanwhile. When the descriptor is readable, call take_end(). If that
	 * returns -EAGAIN, go on waiting.
	 *
	 * take_begin() returns the descriptor, which belongs to the way. The
	 * wait of the take is without a limit, until take_cancel() ends it.
	 * That returns how many items were taken in the last moment.
	 */
	int (*take_begin)(struct queue_way *w, const struct tkw_take *how);
	int (*take_end)(struct queue_way *w, struct queue_items *out);
	int (*take_cancel)(struct queue_way *w, struct queue_items *out);
};

extern const struct queue_ops queue_direct;
extern const struct queue_ops queue_client;

void queue_items_free(struct queue_items *items);
void queue_plans_free(struct queue_plans *plans);

/* --- a session ----------------------------------------------------------- */

struct queue_session {
	struct queue_place place;
	const struct queue_ops *ops;
	struct queue_way *way;
	unsigned opened; /* how often a way was opened */
	/* Repeat a call even if nobody knows whether it was done. Right for
	 * calls that do no harm when they are made twice. */
	bool insist;
};

/*
 * Opens the file, or connects to its owner. It waits a few seconds for an owner
 * that is opening or closing the file at this moment.
 *
 * Returns 0, or -errno after telling the user what is wrong.
 */
int queue_session_open(struct queue_session *s,
		       const struct queue_place *place);
void queue_session_close(struct queue_session *s);

/*
 * Looks at the result of an operation. If the owner has gone before it did it,
 * opens a way again. If that fails, or if the owner does not answer, the user
 * is told and s->way is NULL.
 *
 * Returns true if the operation has to be made again.
 */
bool queue_session_again(struct queue_session *s, int64_t result);

/* Chooses another queue, which must exist. The name must stay where it is. */
int queue_session_choose(struct queue_session *s, const char *queue);

/* Makes an operation, an expression like s->ops->pause(s->way), until it has a
 * result. */
#define QUEUE_CALL(result, s, operation)                                       \
	do {                                                                   \
		(result) = (operation);                                        \
	} while (queue_session_again((s), (result)))

/* Prints one line that says why an operation failed, unless the user was told
 * that there is no way to the queue any more. After -EINTR, lets the program
 * end by the signal that has come. Returns the exit status of tkw. */
int queue_session_fail(const struct queue_session *s, const char *what,
		       int64_t error);

/* Returns the time in ms since 1970, and the time of a clock that is never
 * set. */
int64_t queue_wall_ms(void);
int64_t queue_steady_ms(void);

#endif /* TKW_TOOLS_QUEUE_WAY_H */
