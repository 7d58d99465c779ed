/* SPDX-License-Identifier: MIT */
/*
 * queue_driver.c - the life of a queue under random commands.
 *
 * A run makes a queue and a replica of it, gives commands to the queue and to
 * the oracle while time passes, forwards and back, commits or undoes what was
 * done, and at the end frees the queue piece by piece.
 */
#include "queue_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queue_driving.h"

typedef void qd_op(struct qd *d);

/* How many lots each command gets, before a run shifts the weights. */
static const struct {
	qd_op *op;
	uint8_t lots;
} ops[] = {
	{ qd_put, 20 },     { qd_take, 12 },       { qd_ack, 5 },
	{ qd_nack, 6 },     { qd_extend, 4 },      { qd_cancel, 4 },
	{ qd_advance, 8 },  { qd_reschedule, 4 },  { qd_revive_or_purge, 3 },
	{ qd_settings, 2 }, { qd_some_dead, 1 },   { qd_scan_some, 6 },
	{ qd_commit, 10 },  { qd_undo, 2 },        { qd_verify_items, 2 },
	{ qd_crash, 1 },    { qd_failover, 1 },    { qd_copy_some, 5 },
	{ qd_plan, 3 },     { qd_change_plan, 1 },
};
enum {
	OPS = sizeof(ops) / sizeof(ops[0])
};

uint32_t qd_below(struct qd *d, uint32_t n)
{
	return n < 2 ? 0 : choice_below(d->choice, n);
}

/* Swarm: each life leans to other commands, so that rare states build up. */
static void draw_lots(struct qd *d, uint32_t number)
{
	uint64_t state = ~(uint64_t)number;
	uint32_t weight[OPS];
	uint32_t sum = 0;
	uint32_t i, op, got, done = 0;

	for (op = 0; op < OPS; op++) {
		weight[op] = (uint32_t)ops[op].lots
			     << (choice_next(&state) % 3);
		sum += weight[op];
	}
	for (op = 0, got = 0; op < OPS; op++) {
		got += weight[op];
		for (i = got * QD_LOTS / sum; done < i; done++)
			d->lots[done] = (uint8_t)op;
	}
}

/* The clock stops before its end, so that numbers are left for ids. */
static const uint64_t last_us = TKW__QUEUE_MAX_US - 1000000;

static uint64_t draw_start(struct qd *d)
{
	switch (qd_below(d, 8)) {
	case 0:
		return qd_below(d, 3000);
	case 1:
		return last_us - (uint64_t)qd_below(d, 5000) * 1000;
	case 2:
	case 3:
		/* Before the last of several rings turns over. */
		return ((UINT64_C(1) << 32) - qd_below(d, 40)) * 1000;
	default:
		return UINT64_C(1700000000000000) + qd_below(d, 65536);
	}
}

static void begin_life(struct qd *d)
{
	struct tkw__queue_config cfg;

	d->now_us = draw_start(d);
	draw_lots(d, qd_below(d, 4096));
	d->mem = &d->memory[0];
	d->replica_mem = &d->memory[1];
	queue_calendar_init(&d->calendar);
	d->cfg = (struct tkw__queue_config){
		.hooks = { qd_alloc, qd_free, d->mem },
		.now_us = d->now_us,
		.seed = { qd_below(d, 65536), 7 },
		.small = 1 + qd_below(d, qd_below(d, 2) ? 4 : 40),
		.take_steps = 1 + qd_below(d, 8),
		.calendar = &d->calendar.calls,
	};
	if (qd_below(d, 2))
		d->cfg.take_steps = 0;
	cfg = d->cfg;
	cfg.hooks.ctx = d->replica_mem;
	cfg.small = 1 + qd_below(d, 40);
	if (tkw__queue_create(&d->q, &d->cfg) != 0 ||
	    tkw__queue_create(&d->replica, &cfg) != 0)
		qd_fail(d, "a queue could not be created");
}

static void end_life(struct qd *d)
{
	uint32_t pieces = 0;

	if (qd_below(d, 4) == 0)
		qd_undo(d);
	else if (qd_below(d, 2))
		qd_commit(d);
	else
		qd_crash(d);
	tkw__queue_log_fini(d->q, &d->log);
	while (tkw__queue_free_some(d->q, 3) == 1)
		pieces++;
	if (pieces > (d->oracle.count + QO_PLANS) / 3 + 1)
		qd_fail(d, "freeing took too many pieces");
	tkw__queue_destroy(d->replica);
	d->q = NULL;
	d->replica = NULL;
	if (d->mem->bytes != 0 || d->replica_mem->bytes != 0)
		qd_fail(d, "memory has leaked");
}

static void count_back(struct qd *d, uint64_t to_ms)
{
	uint32_t i;

	d->tally->n[QT_CLOCK_BACK]++;
	for (i = 0; i < d->oracle.count; i++) {
		const struct qo_item *it = &d->oracle.items[i];

		if (qo_state_of(it, qd_now_ms(d)) == QO_READY &&
		    it->want.due > to_ms) {
			d->tally->n[QT_CLOCK_BACK_READY]++;
			break;
		}
	}
}

static void step_back(struct qd *d)
{
	uint64_t by =
		(uint64_t)(1 + qd_below(d, qd_below(d, 4) ? 20 : 3000)) * 1000;
	uint64_t to;

	/* Often to before a jump. What was decided meanwhile stays. */
	if (d->jumped_us && qd_below(d, 2)) {
		by = d->jumped_us;
		d->jumped_us = 0;
		d->tally->n[QT_CLOCK_BACK_JUMP]++;
	}
	to = d->now_us > by ? d->now_us - by : 0;
	count_back(d, to / 1000);
	d->now_us = to;
	d->quiet_ms = 0;
}

static void jump_ahead(struct qd *d)
{
	uint64_t day_us = UINT64_C(86400000000);

	d->jumped_us =
		qd_below(d, 2) ? day_us : UINT64_C(1000) << qd_below(d, 28);
	d->now_us += d->jumped_us;
	d->tally->n[QT_CLOCK_JUMP]++;
}

static void move_clock(struct qd *d)
{
	uint64_t now = qd_now_ms(d);
	uint64_t next;

	switch (qd_below(d, 32)) {
	case 0:
		step_back(d);
		break;
	case 1:
		if (qd_below(d, 8) == 0)
			jump_ahead(d);
		break;
	case 2:
	case 3:
	case 4:
		next = tkw__queue_next_ms(d->q, d->now_us);
		if (next != UINT64_MAX && next > now && next < now + 1000000)
			d->now_us = next * 1000 + qd_below(d, 2);
		break;
	case 5:
	case 6:
		d->now_us += (uint64_t)qd_below(d, 300) * 1000;
		break;
	case 7:
	case 8:
	case 9:
	case 10:
		d->now_us += (uint64_t)qd_below(d, 6) * 1000;
		break;
	case 11:
	case 12:
	case 13:
	case 14:
		d->now_us += qd_below(d, 500);
		break;
	default:
		d->now_us += qd_below(d, 3);
		break;
	}
}

/* Time passes before each command. */
static void pass_time(struct qd *d)
{
	move_clock(d);
	if (d->now_us > last_us)
		d->now_us = last_us;
}

/* Now and then the zone files cannot be read. */
static void draw_calendar(struct qd *d)
{
	d->calendar.error = qd_below(d, 64) ? 0 : -EBADMSG;
	d->oracle.calendar = d->calendar.error;
}

/* Remembers what the oracle says after a command that has made records. */
static void note_point(struct qd *d)
{
	size_t noted = d->points ? d->point[d->points - 1].len : 0;

	if (d->log.len == noted)
		return;
	d->point[d->points].len = d->log.len;
	d->point[d->points++].oracle = d->oracle;
	if (d->points == QD_BATCH)
		qd_commit(d);
}

static void run(struct qd *d)
{
	begin_life(d);
	for (; d->op < d->opts->ops && !choice_spent(d->choice); d->op++) {
		d->tally->n[QT_COMMAND]++;
		pass_time(d);
		draw_calendar(d);
		ops[d->lots[qd_below(d, QD_LOTS)]].op(d);
		note_point(d);
		qd_scan_watch(d);
		qd_verify(d);
	}
	end_life(d);
}

int queue_driver_run(struct choice *c, const struct queue_driver_opts *opts,
		     struct queue_tally *t, struct queue_driver_failure *f)
{
	struct qd *d = calloc(1, sizeof(*d));
	int failed;

	if (!d)
		abort();
	d->choice = c;
	d->opts = opts;
	d->tally = t;
	d->failure = f;
	failed = setjmp(d->out);
	if (!failed)
		run(d);
	/* A queue that went wrong is not called again, and so not freed. */
	free(d->journal.records.at);
	free(d->journal.dump.at);
	free(d);
	return failed;
}
