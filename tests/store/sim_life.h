/* SPDX-License-Identifier: MIT */
/*
 * sim_life.h - the life of a file of queues from one seed, with crashes.
 *
 * simulate_queue runs one life after the other. What the parts of a life share
 * is below; it is not for others.
 */
#ifndef SIM_LIFE_H
#define SIM_LIFE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "choice.h"
#include "queue_calendar.h"
#include "queue_oracle.h"
#include "sim_store.h"
#include "sim_tally.h"
#include "store/desk.h"

enum {
	LIFE_QUEUES = 3,
	LIFE_CALLERS = 12,
	LIFE_MANY = 4,    /* items of one request */
	LIFE_CLAIMS = 16, /* remembered, of each queue */
	LIFE_ENDED = 64,  /* ids remembered, of each queue */
	LIFE_TIMES = 64,  /* planned times remembered, of each queue */
	LIFE_LOTS = 64
};

/* Which faults come: by chance, or one alone at a given moment. */
enum life_fault {
	LIFE_BY_CHANCE,
	LIFE_CRASH, /* at the n-th step of the disk */
	LIFE_FULL,  /* in the n-th call of the store */
	LIFE_ERROR, /* the same */
	LIFE_BUSY   /* the same */
};

struct life_opts {
	enum life_fault fault;
	uint64_t at; /* which one */
	FILE *trace; /* NULL: none */
	uint64_t trace_from;
};

struct life_failure {
	const char *what;
	uint64_t turn;
	char detail[160];
};

/* Returns 0 if the queues kept their promises; 1 if not: f says what. */
int life_run(uint64_t seed, const struct life_opts *opts, struct life_tally *t,
	     struct life_failure *f);

/* --- the truth ----------------------------------------------------------- */

struct truth_queue {
	bool exists;
	uint64_t settings; /* how often they were set */
	struct qo o;
};

/* What must be in the file. */
struct truth {
	struct truth_queue q[LIFE_QUEUES];
};

/* What a request must be answered. */
struct wanted {
	int64_t result;
	bool more;     /* ..._some */
	uint64_t next; /* plan */
	int answer[LIFE_MANY];
	uint64_t id[LIFE_MANY];
	struct qo_item item[LIFE_MANY];
};

/* --- a request of a simulated caller ------------------------------------- */

struct call {
	struct tkw__request r;
	struct life *life;
	bool busy;         /* submitted, and its answer was not judged yet */
	bool ended;        /* its answer has come: */
	int64_t result;    /* this one */
	bool planned;      /* it is in the batch in flight */
	bool accepted;     /* its batch is on the disk */
	bool waits;        /* a take that has waited since an earlier turn */
	bool in_line;      /* a take that waits, while a batch is played */
	uint32_t q;        /* which queue */
	uint64_t number;   /* in the order of arrival */
	uint64_t since_us; /* when it came, or has begun to wait */
	struct call *withdrawal; /* of this take */
	struct wanted wanted;

	uint32_t count;
	struct qo_want want[LIFE_MANY];
	struct tkw__queue_put put[LIFE_MANY];
	struct tkw__queue_claim claim[LIFE_MANY];
	struct tkw__queue_name name[LIFE_MANY];
	uint32_t key[LIFE_MANY]; /* of a name; 0: by id */
	uint64_t id[LIFE_MANY];
	enum tkw__queue_answer answer[LIFE_MANY];
	struct qo_nack nack;
	struct qo_job job;
	struct tkw__queue_plan plan;
	char times[80];     /* the text of the plan */
	uint32_t plan_name; /* of unplan, and of a plan's pause or resume */
};

/* --- a life -------------------------------------------------------------- */

/* A planned time that was given out. */
struct life_time {
	uint64_t plan;
	uint64_t planned;
	uint64_t id; /* of its item */
};

/* What callers remember of a queue, over crashes. */
struct memory {
	struct tkw__queue_claim claim[LIFE_CLAIMS];
	uint32_t claims;
	uint64_t ended[LIFE_ENDED];
	uint32_t ends;
	struct life_time time[LIFE_TIMES];
	uint32_t times;
	uint64_t last_id;
	uint64_t last_token;
};

struct life {
	struct choice choice;
	const struct life_opts *opts;
	struct life_tally *tally;
	struct life_failure *failure;
	jmp_buf out;
	uint64_t turn;

	struct sim_disk *disk;
	struct tkw__store *store;
	struct tkw__desk *desk;
	struct tkw_queue *queue[LIFE_QUEUES]; /* NULL: not opened */
	bool told[LIFE_QUEUES]; /* an item can be taken, by what was told */
	struct tkw__desk_config cfg;
	struct queue_calendar calendar;
	uint64_t now_us, mono_us;
	bool reserve;       /* is there */
	bool reserve_asked; /* in this turn, and it was not there */

	struct truth now;     /* with all that was appended */
	struct truth next;    /* with the batch in flight, too */
	struct truth scratch; /* to see what a request would do */
	struct qo before;     /* of a put of several items */
	bool in_flight;       /* the fate of a batch is not known */
	uint64_t flying;      /* the number of its last row */
	uint32_t changes;     /* requests of the batch that changed anything */
	uint64_t heard;       /* changes that the rows of the batch tell */
	const struct tkw__row *rows; /* of the batch, while it is played */
	size_t row_count;
	size_t row_at[LIFE_QUEUES]; /* of each queue, the next to be heard */
	uint32_t plan_calls; /* requests of the batch that changed a plan */
	uint32_t plan_items; /* items that plans put in it */
	bool written;        /* a batch of this turn is on the disk */
	uint64_t digest;     /* of the desk, before this turn */
	bool full;           /* this turn met -ENOSPC */
	bool busy;           /* this turn met -EBUSY */
	uint64_t full_us;    /* when one met either; 0: never */
	uint32_t hunger;     /* this allocation from now on fails; 0: none */
	bool starved;        /* one has failed in this turn */
	bool failed;         /* the store has failed: -EIO */
	bool gone;           /* the process has crashed: nothing counts */
	bool snapshot;       /* one has begun */

	uint32_t queues, callers;
	bool long_leases; /* no lease runs out */
	uint8_t lots[LIFE_LOTS];
	struct call call[LIFE_CALLERS];
	uint64_t calls; /* so far */
	struct memory memory[LIFE_QUEUES];
};

_Noreturn void life_fail(struct life *l, const char *what);
void life_trace(struct life *l, const char *what, uint64_t a, uint64_t b);
uint32_t life_below(struct life *l, uint32_t n);
static inline uint64_t life_now_ms(const struct life *l)
{
	return l->now_us / 1000;
}

/* Draws which requests are frequent in this life. */
void call_draw_lots(struct life *l);
/* Draws a request for a caller, and submits it. */
void call_draw(struct life *l, struct call *c);
const char *call_queue_name(uint32_t q);
/* Does to the truth what a request does. Returns false if it has to wait. */
bool call_play(struct life *l, struct call *c, struct truth *t,
	       struct wanted *w);
/* A take that found nothing may have ended items of plans. */
void call_play_look(struct life *l, struct call *c, struct truth *t);
/* Holds the answer against what is wanted. */
void call_compare(struct life *l, const struct call *c, const struct wanted *w);
/* Callers learn from an answer. */
void call_learn(struct life *l, const struct call *c);

/* Requests about plans. */
bool call_draw_plan(struct life *l, struct call *c);
bool call_draw_change_plan(struct life *l, struct call *c);
void call_play_plan(struct life *l, struct call *c, struct qo *o,
		    struct wanted *w);
void call_learn_plan(struct life *l, const struct call *c);
/* An item of a plan was given out. */
void call_learn_time(struct life *l, const struct qo_item *it,
		     struct memory *m);

/* While a batch is played, its records are heard. Between these two calls the
 * others pass over the records that belong to what the oracle does; at other
 * times they do nothing. */
void hear_begin(struct life *l, const struct tkw__row *rows, size_t count);
void hear_end(struct life *l);
/* True for the records of a snapshot: they change nothing. */
bool hear_is_copy(const struct tkw__row *row);
/* Tells the oracle which leases were lost, up to the next record of something
 * else; and of one item alone. */
void hear_lost(struct life *l, uint32_t q, struct qo *o);
void hear_lost_of(struct life *l, uint32_t q, struct qo *o,
		  const struct qo_item *it);
/* The oracle has done something: passes over the record of it, and over what
 * plans have done then. */
void hear_own(struct life *l, uint32_t q, struct qo *o);
/* The same for a request about a plan. Returns true if it has records. */
bool hear_own_plan(struct life *l, uint32_t q, struct qo *o);
/* The item that the next record cancels; NULL if it is about something else. */
struct qo_item *hear_cancel(struct life *l, uint32_t q, struct qo *o);

/* Plays the batch that is about to be written, into l->next. */
void plan_batch(struct life *l, const struct tkw__row *rows, size_t count);
/* It was written, or was not. */
void plan_appended(struct life *l, int err);
/* A turn is over, or a crash came: all answers that came must be right. */
void plan_settle(struct life *l);
/* A turn is over: nobody waits who need not; the store has failed. */
void plan_quiet(struct life *l, bool more);
void plan_failed(struct life *l);

/* In a turn that has written nothing, nothing has changed. */
void life_verify_undone(struct life *l);
/* Holds the queues against the truth. */
void life_verify(struct life *l);
void life_verify_queue(struct life *l, uint32_t q);
/* After an open: also the names, and what callers remember. */
void life_verify_open(struct life *l);

#endif /* SIM_LIFE_H */
