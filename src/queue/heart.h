/* SPDX-License-Identifier: MIT */
/*
 * heart.h - the heart of the durable delay queue: a pure state machine
 *
 * A queue is told the time and a command. It answers, and writes what changed
 * to a log of records. It reads no clock, starts no thread, does no I/O, and
 * allocates through hooks. The homes of the queue (a file, a Redis module) are
 * shells around it: they read the clock, store the records and talk to clients.
 *
 *   Time     Each command gets now_us, the wall clock in microseconds since
 *            1970. Due times and leases are in milliseconds. The clock may step
 *            back.
 *   States   waiting, ready, taken and dead. Waiting and ready differ only by
 *            the time: an item is ready when due_ms <= now. This is recorded
 *            nowhere.
 *   Records  A command appends its records to the log of its call, all of them
 *            or none. tkw__queue_replay() applies them to another queue, which
 *            is then equal to the first. A command changes the queue only
 *            through its records: it makes them and applies them.
 *   Undo     Changes can be undone back to the last tkw__queue_commit(). There
 *            is one level: decide a batch, write it, then commit it or undo
 *            it. Decide nothing else meanwhile, because commit and undo affect
 *            all changes since the last commit. Calls that read see what is
 *            decided, committed or not.
 *   Leases   When a lease runs out, the item counts as nacked at that moment,
 *            whether or not a record says so yet. tkw__queue_advance() makes
 *            the records in bounded steps.
 *   Roles    A master decides. A replica is a copy that is fed with the records
 *            of a master.
 *   Quiet    A master is quiet at a time if tkw__queue_advance() has returned 0
 *            for this time. Counts by state, the age of the oldest item and
 *            lists of the dead are exact if the queue is quiet. All other
 *            answers are always exact, unless the call says that it is behind.
 *            A replica counts items whose leases have run out as taken, until a
 *            record of the master says that they are lost.
 *   Plans    A plan keeps one fresh item: an item for its next planned time
 *            that was never taken. The command that takes or ends the fresh
 *            item also puts the next one, by a record with an absolute time. So
 *            replay and replicas need no calendar. tkw__queue_plan() has the
 *            rules.
 *   Bounds   A call takes O(1) steps, or O(items asked for). Some steps need
 *            an ordered tree, and take O(log n); docs/internals/queue.md says
 *            when. tkw__queue_count_steps() returns the number of steps.
 *   Threads  None. During a call, no other thread may use the queue.
 *   Errors   0 or -errno. A call that fails changes nothing, but it may have
 *            written to the caller's arrays of results: these are then
 *            undefined. -EINVAL: an argument is not valid. -ENOMEM: an
 *            allocation failed. -EOVERFLOW: the last id or token has been
 *            given, 2^63 - 1. If a table or a wheel cannot grow, nothing
 *            fails: the queue becomes slower.
 */
#ifndef TKW_QUEUE_HEART_H
#define TKW_QUEUE_HEART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The latest time, in ms. In microseconds it fits into an int64_t. */
#define TKW__QUEUE_MAX_MS (UINT64_C(9223372036854775))
/* The latest time that a command may be told. A later time is refused with
 * -EINVAL. */
#define TKW__QUEUE_MAX_US (TKW__QUEUE_MAX_MS * 1000)

enum {
	TKW__QUEUE_MAX_KEY = 255,
	TKW__QUEUE_MAX_REASON = 255,
	/* No limit allows larger payloads. */
	TKW__QUEUE_MAX_PAYLOAD = 1 << 29,
	TKW__QUEUE_DEFAULT_PAYLOAD = 1 << 20,
	/* The largest number of items that one take may ask for. */
	TKW__QUEUE_MAX_TAKE = 4096,
	/* A line of more items than this uses a wheel; see line.h. */
	TKW__QUEUE_SMALL = 64,
	/* How many steps a take may make, besides four for each item. */
	TKW__QUEUE_TAKE_STEPS = 256,
	/* The name of a plan; the key of an item has 17 bytes more. */
	TKW__QUEUE_MAX_PLAN_NAME = 200,
	TKW__QUEUE_MAX_PLAN_TEXT = 255,
	TKW__QUEUE_MAX_ZONE = 63,
	/* The largest max_missed of a plan. */
	TKW__QUEUE_MAX_MISSED = 100,
	/* How many planned times with a held key a plan passes over. */
	TKW__QUEUE_MAX_HELD = 64,
	/* How many plans a queue can have. */
	TKW__QUEUE_MAX_PLANS = 1 << 16
};

struct tkw__queue;

/* Where memory comes from. free is told the size that alloc was asked for. */
struct tkw__queue_hooks {
	void *(*alloc)(size_t bytes, void *ctx);
	void (*free)(void *mem, size_t bytes, void *ctx);
	void *ctx;
};

/* Bytes of the caller. */
struct tkw__queue_text {
	const void *at;
	size_t len;
};

/*
 * Where planned times come from. Only commands of a master use it.
 *
 * compile   Reads a plan and its zone. An empty zone means UTC. If anew is
 *           true, the rules of the zone are read again, even if they are known.
 *           Returns 0 or an error. -ENOMEM fails the command. Any other error
 *           becomes the error of the plan, so it must not be -ENOENT; see
 *           struct tkw__queue_plan_facts.
 * next      Finds the first planned time after after_ms. Returns 0, or -ENOENT
 *           if there is none.
 * previous  Finds the last planned time before before_ms, in the same way.
 * free      Frees what compile has made. A command frees all that it compiles.
 */
struct tkw__queue_calendar {
	int (*compile)(void **out, struct tkw__queue_text plan,
		       struct tkw__queue_text zone, bool anew, void *ctx);
	int (*next)(void *compiled, uint64_t after_ms, uint64_t *out_ms);
	int (*previous)(void *compiled, uint64_t before_ms, uint64_t *out_ms);
	void (*free)(void *compiled, void *ctx);
	void *ctx;
};

struct tkw__queue_config {
	struct tkw__queue_hooks hooks;
	/* NULL: no calendar. Plans can then be replayed, but not made, and no
	 * plan goes on. The struct must stay valid. */
	const struct tkw__queue_calendar *calendar;
	uint64_t now_us;
	/* A secret, so that users cannot choose keys that collide. Use a new
	 * one in each process. Otherwise a dump, which is in the order of
	 * hashes, is loaded in the order of its own hashes, and the buckets of
	 * the new queue have long chains meanwhile. */
	uint64_t seed[2];
	/* For tests: they replace TKW__QUEUE_SMALL and TKW__QUEUE_TAKE_STEPS. 0
	 * means that they do not. */
	uint32_t small;
	uint32_t take_steps;
};

/* Records, as bytes. All zero is an empty log. Its memory comes from the hooks
 * of the queue that writes to it, and does not count as the queue's. Queues
 * with the same hooks may share a log. */
struct tkw__queue_log {
	uint8_t *bytes;
	size_t len;
	size_t room;
	size_t last; /* where the last record starts */
};

/* What each command is told. */
struct tkw__queue_call {
	uint64_t now_us;
	/* Receives the records. NULL: they are not kept. */
	struct tkw__queue_log *log;
	/* Set by commands that say so: true if they have not come to their end.
	 * A take: call tkw__queue_advance() and then take again. */
	bool behind;
};

/* A time, given as a delay from now or as a UNIX time. */
struct tkw__queue_when {
	bool absolute;
	int64_t ms; /* a negative one counts as 0 */
};

/* What happens if the key of a put is held by an item. */
enum tkw__queue_held {
	TKW__QUEUE_REFUSE, /* -EEXIST */
	/* The item gets the new payload, due time and options, and starts from
	 * zero attempts. It keeps its id. -EBUSY if it is taken. */
	TKW__QUEUE_REPLACE,
	TKW__QUEUE_KEEP /* nothing changes */
};

struct tkw__queue_put {
	struct tkw__queue_when when;
	struct tkw__queue_text payload;
	struct tkw__queue_text key; /* at = NULL: no key */
	enum tkw__queue_held held;
	uint32_t max_attempts; /* 0: no limit */
	uint32_t backoff_ms; /* the first delay, which then doubles; 0: none */
	uint32_t max_backoff_ms; /* 0: no limit */
};

/* One item given out. The pointers are valid until the item ends or is
 * replaced, and that is committed. */
struct tkw__queue_taken {
	uint64_t id;
	uint64_t token;
	uint64_t due_ms;
	uint64_t planned_ms; /* an item of a plan: its planned time; else 0 */
	uint32_t attempt;
	struct tkw__queue_text payload;
	struct tkw__queue_text key;
};

/* A consumer's proof that it holds an item. */
struct tkw__queue_claim {
	uint64_t id;
	uint64_t token;
};

/* Answers, one per item. */
enum tkw__queue_answer {
	TKW__QUEUE_TAKEN = -1,  /* a consumer has it; nothing changed */
	TKW__QUEUE_UNKNOWN = 0, /* no such item, or a stale token */
	TKW__QUEUE_DONE = 1
};

/* Many claims and an answer for each. */
struct tkw__queue_claims {
	const struct tkw__queue_claim *claim;
	size_t count;
	enum tkw__queue_answer *answer;
};

/* How an item is named: by its key, or by its id if key.at is NULL. */
struct tkw__queue_name {
	uint64_t id;
	struct tkw__queue_text key;
};

/* The options of a nack. */
struct tkw__queue_nack {
	bool has_delay; /* else the item's back-off */
	uint64_t delay_ms;
	struct tkw__queue_text reason;
};

/* Limits. A put beyond one is refused, and nothing changes. */
struct tkw__queue_limits {
	uint64_t items;   /* 0: no limit. -EAGAIN */
	uint64_t bytes;   /* of keys and payloads; 0: no limit. -EAGAIN */
	uint64_t payload; /* bytes of one payload; 0: 1 MiB. -EMSGSIZE */
};

enum tkw__queue_state {
	TKW__QUEUE_IS_WAITING,
	TKW__QUEUE_IS_READY,
	TKW__QUEUE_IS_TAKEN,
	TKW__QUEUE_IS_DEAD,
	TKW__QUEUE_STATES
};

/* Everything about an item. The pointers are valid as those of a take. */
struct tkw__queue_facts {
	uint64_t id;
	enum tkw__queue_state state;
	uint64_t due_ms;
	uint64_t seq;      /* waiting, ready: its place among those due then */
	uint64_t token;    /* taken */
	uint64_t lease_ms; /* taken: when the lease ends */
	uint64_t died_ms;  /* dead */
	uint64_t planned_ms; /* an item of a plan: its planned time; else 0 */
	uint32_t attempts;
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
	struct tkw__queue_text key;
	struct tkw__queue_text payload;
	/* Not taken: the reason of the last nack. */
	struct tkw__queue_text reason;
};

/* Since the beginning, over restarts. */
struct tkw__queue_totals {
	uint64_t last_id; /* the last number given to an id or a sequence */
	uint64_t last_token;
	/* The law: puts = acks + cancels + purges + the items of all states. */
	uint64_t puts;
	uint64_t acks;
	uint64_t cancels;
	uint64_t purges;
	uint64_t replaces;
	uint64_t takes;
	uint64_t nacks;
	uint64_t losses; /* leases that ran out */
	uint64_t deaths;
	uint64_t revivals;
	uint64_t extends;
	uint64_t reschedules;
	uint64_t paused; /* 0 or 1 */
	uint64_t max_items;
	uint64_t max_bytes;
	uint64_t max_payload;
};

/* A bucket is one millisecond wide below 8 ms. From there on, each power of two
 * has four. */
#define TKW__QUEUE_LATENESS_BUCKETS 156

struct tkw__queue_stats {
	struct tkw__queue_totals totals;
	uint64_t count[TKW__QUEUE_STATES]; /* exact if quiet */
	uint64_t items;
	uint64_t bytes;     /* of keys and payloads, and of plans */
	uint64_t allocated; /* bytes that the queue has from its hooks */
	/* How long the first ready item has been due. Exact if quiet. */
	uint64_t oldest_age_ms;
	bool quiet;
	/* Takes of this process, by the time from due to taken. */
	uint64_t lateness[TKW__QUEUE_LATENESS_BUCKETS];
};

/* Creates an empty queue. Returns 0, -EINVAL or -ENOMEM. */
int tkw__queue_create(struct tkw__queue **out,
		      const struct tkw__queue_config *cfg);

/* Frees a queue at once, in O(items). */
void tkw__queue_destroy(struct tkw__queue *q);

/*
 * Frees a queue piece by piece. After the first call, the queue may only be
 * passed to this function. The first call commits, in O(changes).
 *
 * Returns 1 if there is more to free, 0 if the queue is gone.
 */
int tkw__queue_free_some(struct tkw__queue *q, uint64_t max_items);

/* Empties a log and keeps its memory. */
void tkw__queue_log_clear(struct tkw__queue_log *log);
/* Frees the memory of a log. */
void tkw__queue_log_fini(const struct tkw__queue *q,
			 struct tkw__queue_log *log);

/*
 * Puts items, all or none.
 *
 * ids  Receives the id of each. With TKW__QUEUE_KEEP it may be an old one.
 *
 * Returns 0, or
 *   -EEXIST    a key is held
 *   -EBUSY     an item that would be replaced is taken
 *   -EAGAIN    the queue is full: items or bytes
 *   -EMSGSIZE  a payload is larger than the limit
 *   -EINVAL, -ENOMEM, -EOVERFLOW
 */
int tkw__queue_put(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__queue_put *puts, size_t count,
		   uint64_t *ids);

/*
 * Takes up to max items that are ready, in the order of (due, sequence).
 *
 * If call->behind is set, these items are right, but there may be more.
 *
 * Returns how many were taken, or -EINVAL, -ENOMEM, -EOVERFLOW.
 */
int tkw__queue_take(struct tkw__queue *q, struct tkw__queue_call *call,
		    size_t max, uint64_t lease_ms,
		    struct tkw__queue_taken *out);

/* Ack ends items, nack makes them wait again, and extend makes their leases end
 * at now + lease_ms. Return 0, -EINVAL, -ENOMEM or -EOVERFLOW. */
int tkw__queue_ack(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__queue_claims *claims);
int tkw__queue_nack(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__queue_claims *claims,
		    const struct tkw__queue_nack *how);
int tkw__queue_extend(struct tkw__queue *q, struct tkw__queue_call *call,
		      const struct tkw__queue_claims *claims,
		      uint64_t lease_ms);

/* Ends items that are waiting, ready or dead. A cancel of a fresh item first
 * records leases that have run out, if another item of its plan seems to be
 * running. call->behind says that it has not come to their end: the plan may
 * then go on as if that item were running. */
int tkw__queue_cancel(struct tkw__queue *q, struct tkw__queue_call *call,
		      const struct tkw__queue_name *names, size_t count,
		      enum tkw__queue_answer *answers);

/* Gives an item that is waiting or ready a new due time. A dead one is
 * unknown. */
int tkw__queue_reschedule(struct tkw__queue *q, struct tkw__queue_call *call,
			  const struct tkw__queue_name *name,
			  struct tkw__queue_when when,
			  enum tkw__queue_answer *answer);

/* Revive makes dead items ready, and their attempts start from 0. Purge ends
 * dead items. An item that is not dead is unknown. */
int tkw__queue_revive(struct tkw__queue *q, struct tkw__queue_call *call,
		      const uint64_t *ids, size_t count,
		      enum tkw__queue_answer *answers);
int tkw__queue_purge(struct tkw__queue *q, struct tkw__queue_call *call,
		     const uint64_t *ids, size_t count,
		     enum tkw__queue_answer *answers);

/* A walk over the dead items by id. All zero: it begins. */
struct tkw__queue_walk {
	uint64_t from;     /* the next id */
	uint64_t last;     /* the last id when the walk began */
	uint64_t begin_ms; /* when it began */
};

/*
 * The same for all items that are dead when the walk begins, each once. A call
 * does up to max of them. It first records leases that had run out when the
 * walk began. While it has not come to the end of these, it does no item.
 *
 * walk  All zero before the first call. Each call sets it for the next one.
 *
 * call->behind says if there is more to do: then call again. Return how many,
 * or -EINVAL, -ENOMEM, -EOVERFLOW. After an error, the walk has not moved.
 */
int64_t tkw__queue_revive_some(struct tkw__queue *q,
			       struct tkw__queue_call *call,
			       struct tkw__queue_walk *walk, uint32_t max);
int64_t tkw__queue_purge_some(struct tkw__queue *q,
			      struct tkw__queue_call *call,
			      struct tkw__queue_walk *walk, uint32_t max);

/* A paused queue gives nothing out. A pause of a paused queue, or a resume of
 * one that is not paused, makes no record. */
int tkw__queue_pause(struct tkw__queue *q, struct tkw__queue_call *call);
int tkw__queue_resume(struct tkw__queue *q, struct tkw__queue_call *call);
int tkw__queue_limit(struct tkw__queue *q, struct tkw__queue_call *call,
		     const struct tkw__queue_limits *limits);

/* Which of the planned times that were missed are given out. */
enum tkw__queue_misfire {
	TKW__QUEUE_MISSED_ONCE, /* the latest one */
	TKW__QUEUE_MISSED_ALL,  /* the latest max_missed, the oldest first */
	TKW__QUEUE_MISSED_SKIP  /* none */
};

struct tkw__queue_plan {
	struct tkw__queue_text name; /* 1 to TKW__QUEUE_MAX_PLAN_NAME bytes */
	struct tkw__queue_text plan; /* 1 to TKW__QUEUE_MAX_PLAN_TEXT bytes */
	struct tkw__queue_text zone; /* empty: UTC */
	struct tkw__queue_text payload;
	uint64_t grace_ms; /* taken as it is: 0 is no grace */
	enum tkw__queue_misfire misfire;
	/* TKW__QUEUE_MISSED_ALL: 1 to TKW__QUEUE_MAX_MISSED; else 0. */
	uint32_t max_missed;
	/* A planned time that comes while an earlier item of the plan is
	 * running is given out too. Otherwise it is left out. */
	bool allow_overlap;
	/* The next item is put when all earlier ones have ended, not when they
	 * are taken. */
	bool next_on_end;
	/* Of each item, as in struct tkw__queue_put. */
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
};

/* Everything about a plan. The pointers are valid until the plan changes, and
 * that is committed. */
struct tkw__queue_plan_facts {
	struct tkw__queue_plan plan;
	bool paused;
	/* Not 0: the plan cannot go on. A resume, or a new plan of this name,
	 * tries again.
	 *   -ENOENT   the plan has no more times
	 *   -EEXIST   the keys of the next TKW__QUEUE_MAX_HELD times are held
	 *   -EOVERFLOW
	 *             there is no id left for an item
	 *   -ENOSYS   there is no calendar
	 *   another   an error of the calendar */
	int32_t error;
	uint64_t fresh_id; /* the fresh item; 0: none */
	uint64_t next_ms;  /* its planned time; 0: none */
	/* No planned time up to this one comes again. It is the latest time
	 * that was taken, cancelled by a user, missed or left out. Or it is the
	 * moment at which the plan got other times or was resumed, if it had to
	 * wait for an item that was running. */
	uint64_t decided_ms;
	uint64_t running;  /* items that are running; exact if quiet */
	uint64_t runs;     /* fresh items that were taken */
	uint64_t missed;   /* fresh items that ended because they were missed */
	uint64_t overlaps; /* fresh items that were left out */
};

/*
 * Makes a plan, or replaces the plan of this name.
 *
 *   First     Puts the fresh item: for the first planned time after now.
 *   Key       The key of an item is the name of its plan, "@", and the planned
 *             time in ms. A time whose key is held is passed over.
 *   Due       The item is due at its planned time. A reschedule, a replacement
 *             or a nack can change when it is due, but not its planned time.
 *   Running   An item is running from its first take until it is acked,
 *             cancelled or dead, and also between two attempts. A dead item
 *             that is revived is running again.
 *   Next      The command that takes or cancels the fresh item also puts the
 *             next one, for the first time after it. Without allow_overlap, and
 *             if an item is running then, it is for the first time after now.
 *             With next_on_end, the command that ends the last running item
 *             puts the next one, in the same way. A plan that is not paused
 *             and has no error always has a fresh item or a running one.
 *   Missed    A planned time is missed if it passed more than the grace ago. A
 *             fresh item that was rescheduled is missed if it has also been due
 *             for longer than the grace. A take that meets a missed fresh item
 *             gives it out if misfire wants its time. If not, the take ends it,
 *             and puts the item for the first time that misfire wants, or that
 *             is not missed. This item may be ready at once.
 *   All       With TKW__QUEUE_MISSED_ALL and without allow_overlap, a missed
 *             item that is taken puts the next one when it ends: for the time
 *             after it. So the times that wait are not left out.
 *   Overlap   Without allow_overlap, a fresh item that is ready while another
 *             item of the plan is running is left out: it ends, and the item
 *             for the first time after now is put. A take that meets it does
 *             this, or the command that ends the last running item. If a lease
 *             that has run out ends that item, "now" is the end of the lease.
 *   Replaced  The old fresh item is cancelled. Items that are running go on.
 *             The plan keeps decided_ms and its counters. A paused plan stays
 *             paused. If plan and zone are the same as before, and the planned
 *             time of the old fresh item has passed, it comes again, and
 *             missed times that come in turn go on. If nothing at all differs,
 *             nothing changes.
 *   Limits    The limits of the queue hold for this call. But a queue that is
 *             full does not refuse a plan that is replaced, if this adds
 *             neither items nor bytes. Items that are put later are not
 *             refused. The name, text, zone and payload of a plan count as
 *             bytes of the queue.
 *
 * An item that ends because it was missed or left out counts as cancelled.
 *
 * next_ms  Receives the planned time of the fresh item. 0: there is none,
 *          because the plan is paused, or because of next_on_end. May be NULL.
 *
 * Returns 0, or
 *   -ENOENT    the plan has no time after now
 *   -EEXIST    the keys of the next TKW__QUEUE_MAX_HELD times are held
 *   -ENOSYS    there is no calendar
 *   -EAGAIN    the queue is full: items, bytes or plans
 *   -EMSGSIZE  the payload is larger than the limit
 *   -EINVAL, -ENOMEM, -EOVERFLOW, or an error of the calendar
 */
int tkw__queue_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__queue_plan *plan, uint64_t *next_ms);

/* Ends a plan and cancels its fresh item. Items that are running go on; if a
 * plan of this name is made again, they do not belong to it. The answer is
 * TKW__QUEUE_DONE or TKW__QUEUE_UNKNOWN. */
int tkw__queue_unplan(struct tkw__queue *q, struct tkw__queue_call *call,
		      struct tkw__queue_text name,
		      enum tkw__queue_answer *answer);

/* A pause cancels the fresh item of a plan, and puts no more. Its time is not
 * decided by this. A resume of a plan that is paused or has an error puts the
 * item for the first time after now and after decided_ms, as tkw__queue_plan()
 * does. It reads the zone anew. If that fails, it becomes the error of the
 * plan, and the call returns 0. The answer is TKW__QUEUE_DONE or
 * TKW__QUEUE_UNKNOWN. */
int tkw__queue_pause_plan(struct tkw__queue *q, struct tkw__queue_call *call,
			  struct tkw__queue_text name,
			  enum tkw__queue_answer *answer);
int tkw__queue_resume_plan(struct tkw__queue *q, struct tkw__queue_call *call,
			   struct tkw__queue_text name,
			   enum tkw__queue_answer *answer);

/* Gets a plan by its name. Returns 0 or -ENOENT. */
int tkw__queue_get_plan(struct tkw__queue *q, struct tkw__queue_text name,
			struct tkw__queue_plan_facts *out);

typedef void tkw__queue_visit_plan_fn(const struct tkw__queue_plan_facts *facts,
				      void *ctx);

/*
 * Lists plans in the order of the bytes of their names. visit must not change
 * the queue.
 *
 * after  List the names behind this one. at = NULL: from the first one.
 *
 * Returns how many were visited. Fewer than max: there are no more.
 */
uint32_t tkw__queue_list_plans(struct tkw__queue *q,
			       struct tkw__queue_text after, uint32_t max,
			       tkw__queue_visit_plan_fn *visit, void *ctx);

/* Returns how many plans there are. */
uint32_t tkw__queue_count_plans(const struct tkw__queue *q);

/* What advance does. */
enum tkw__queue_role {
	TKW__QUEUE_MASTER, /* records the leases that have run out */
	/* Makes no records: what is decided comes from the master. */
	TKW__QUEUE_REPLICA
};

/*
 * Does the work that the time has brought: items become ready, and leases that
 * have run out are recorded. Up to max_steps items.
 *
 * Returns 0 if the queue is quiet, 1 if there is more to do, or -EINVAL or
 * -ENOMEM. After an error, none of its records are left.
 */
int tkw__queue_advance(struct tkw__queue *q, struct tkw__queue_call *call,
		       uint64_t max_steps, enum tkw__queue_role role);

/*
 * Tells a master when something can change next: an item becomes due, or a
 * lease runs out. The answer may be early, never late. A replica waits for
 * records.
 *
 * Returns ms; now if the queue is not quiet; UINT64_MAX if nothing can change
 * by time.
 */
uint64_t tkw__queue_next_ms(struct tkw__queue *q, uint64_t now_us);

enum tkw__queue_ready {
	TKW__QUEUE_NONE_READY,
	TKW__QUEUE_SOME_READY,
	/* The queue is not quiet. Call tkw__queue_advance() and ask again. */
	TKW__QUEUE_MAYBE_READY
};

/* Tells whether a take would give something out. A paused queue has nothing
 * ready. If leases have run out that come before the ready items, a take
 * records them first: it may give nothing out yet, and say that it is behind.
 * And a take may end the item of a plan instead of giving it out. The call
 * takes O(1) steps, and a walk down a tree. */
enum tkw__queue_ready tkw__queue_has_ready(struct tkw__queue *q,
					   uint64_t now_us);

/* Makes all changes so far final, in O(changes). */
void tkw__queue_commit(struct tkw__queue *q);
/* Takes back all changes since the last commit, in O(changes * log n). */
void tkw__queue_undo(struct tkw__queue *q);

/*
 * Applies records, whole commands only. It looks at no clock. Each record must
 * fit what the queue knows.
 *
 * The changes can be undone, which takes memory for each record. So replay a
 * long journal in pieces, and commit each.
 *
 * used  Receives how many bytes the whole commands took. The bytes after them
 *       are the beginning of a command that was cut off. This is damage, except
 *       at the very end of what was written.
 *
 * Returns 0, or
 *   -EBADMSG  a record is malformed or does not fit; nothing has changed
 *   -ENOMEM   nothing has changed
 */
int tkw__queue_replay(struct tkw__queue *q, const void *bytes, size_t len,
		      size_t *used);

/*
 * Applies the records of a snapshot to a queue that is new: a dump, or a
 * journal that has lost its older records. A snapshot ends with a TOTALS
 * record. Up to there, a record about an item that is not known is skipped: the
 * item has ended, or its ITEM record follows. TOTALS must fit the items. From
 * there on the queue is whole, and each record must fit, as in a replay.
 *
 * Up to the end of the snapshot, each command is committed at once.
 *
 * used and the result are those of tkw__queue_replay(), but after an error, a
 * queue that is not whole can only be destroyed.
 */
int tkw__queue_load(struct tkw__queue *q, const void *bytes, size_t len,
		    size_t *used);

/*
 * Applies one record of a journal, whether or not it is a whole command. It
 * looks at no clock. This is for a journal that is read when it is opened:
 * until the next command, items are placed by the time of their records. This
 * changes no answer, but overdue items are placed faster than by
 * tkw__queue_replay().
 *
 * tolerant  The record belongs to a snapshot, and may be skipped as in
 *           tkw__queue_load(). Unlike there, it can be undone.
 *
 * Returns 0; 1 if it was skipped; -EINVAL, -EBADMSG or -ENOMEM. After an error
 * nothing has changed.
 */
int tkw__queue_replay_one(struct tkw__queue *q, const void *bytes, size_t len,
			  bool tolerant);

/* False if the end of a snapshot is still to be loaded. After the last record,
 * this is damage. */
bool tkw__queue_is_whole(const struct tkw__queue *q);

/*
 * Writes a piece of a snapshot, about max items. With the whole snapshot,
 * tkw__queue_load() makes a new queue equal to this one. Each piece is a
 * command of its own. The queue must not change between two pieces.
 *
 * This call and the next three also write what is not committed.
 *
 * cursor  Starts at 0. It is 0 again at the end.
 */
int tkw__queue_dump(struct tkw__queue *q, uint64_t *cursor, uint32_t max,
		    struct tkw__queue_log *log);

/* Writes one record that has all facts of an item. -ENOENT: no such item. */
int tkw__queue_dump_item(struct tkw__queue *q, uint64_t id,
			 struct tkw__queue_log *log);

/* The same for a plan, by its name. Its items have records of their own. */
int tkw__queue_dump_plan(struct tkw__queue *q, struct tkw__queue_text name,
			 struct tkw__queue_log *log);

/*
 * Writes the record that ends a snapshot.
 *
 * A journal may copy its items forward while the queue is in use. Note the
 * place of the next record. List all plans and all items, in any order, and
 * write tkw__queue_dump_plan() or tkw__queue_dump_item() of each; these records
 * and those of other commands go to the journal in the order in which they were
 * made. Then write this record. The commands before the place can now be
 * dropped. The rest is a snapshot, and what has happened since.
 */
int tkw__queue_dump_totals(struct tkw__queue *q, struct tkw__queue_log *log);

/* Gets an item by id or key. Returns 0 or -ENOENT. */
int tkw__queue_get(struct tkw__queue *q, uint64_t now_us,
		   const struct tkw__queue_name *name,
		   struct tkw__queue_facts *out);

typedef void tkw__queue_visit_fn(const struct tkw__queue_facts *facts,
				 void *ctx);

/* What to list. */
struct tkw__queue_list {
	uint64_t now_us;
	enum tkw__queue_state state; /* TKW__QUEUE_STATES: all */
	/* How much to look at; a call may visit a few items more, or none. */
	uint32_t max;
	tkw__queue_visit_fn *visit;
	void *ctx;
};

/*
 * Lists items. An item that is in the state from the first call to the last one
 * is visited at least once. For the dead this holds if the queue is quiet in
 * each call. list->visit must not change the queue.
 *
 * cursor  0 to begin.
 *
 * Returns the next cursor; 0 at the end.
 */
uint64_t tkw__queue_list(struct tkw__queue *q,
			 const struct tkw__queue_list *list, uint64_t cursor);

void tkw__queue_get_stats(struct tkw__queue *q, uint64_t now_us,
			  struct tkw__queue_stats *out);
/* The limits of a queue, and whether it is paused. */
void tkw__queue_get_limits(const struct tkw__queue *q,
			   struct tkw__queue_limits *out);
bool tkw__queue_is_paused(const struct tkw__queue *q);
/* Returns how many bytes the queue has from its hooks. */
uint64_t tkw__queue_allocated(const struct tkw__queue *q);
/* Gets how many items there are, and the bytes of their keys and payloads. */
void tkw__queue_get_size(const struct tkw__queue *q, uint64_t *items,
			 uint64_t *bytes);

/* Returns the bucket of a lateness, and the smallest lateness of a bucket. */
uint32_t tkw__queue_lateness_bucket(uint64_t ms);
uint64_t tkw__queue_lateness_least_ms(uint32_t bucket);

/* Returns a checksum of all recorded facts, in O(items + bytes). Queues that
 * are equal item by item have the same digest. */
uint64_t tkw__queue_digest(struct tkw__queue *q);

/* Returns how many steps all calls have made so far. */
uint64_t tkw__queue_count_steps(const struct tkw__queue *q);

/* Checks all invariants and the law, in O(items * log n + bytes). Returns NULL
 * if the queue is sound, else a static string that says what is broken. */
const char *tkw__queue_check(struct tkw__queue *q);

#endif /* TKW_QUEUE_HEART_H */
