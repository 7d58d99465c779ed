/* SPDX-License-Identifier: MIT */
/*
 * fetch_wait.c - the long poll of a message broker: "answer when 10 KB are
 * there, or after 500 ms with what there is".
 *
 * A fetch is a delayed operation. It watches the topics that it reads, and each
 * append to a topic is an event. If enough is there already, the fetch is
 * answered at once and needs no timeout. The clock is the program's own, so the
 * program always prints the same.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <tickwheel.h>

enum {
	TOPICS = 2
};

/* A topic is as long as what was appended to it. Its number is its key. */
static struct topic {
	const char *name;
	long kb;
} topics[TOPICS] = { { "orders", 0 }, { "payments", 0 } };

struct fetch {
	const char *who;
	bool of[TOPICS];
	long read_kb[TOPICS]; /* what this reader has seen before */
	long least_kb;
	struct tkw_delayed_id id;
};

static struct tkw_timer *timer;
static struct tkw_delayed *fetches;
static int64_t clock_ns;

static int64_t read_clock(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static int ms(void)
{
	return (int)(clock_ns / TKW_MSEC);
}

static long available(const struct fetch *f)
{
	long kb = 0;

	for (int i = 0; i < TOPICS; i++)
		kb += f->of[i] ? topics[i].kb - f->read_kb[i] : 0;
	return kb;
}

/* Is the condition true now? In a broker with threads, this would lock the
 * topics, or read atomic lengths. */
static int is_enough(void *ctx)
{
	const struct fetch *f = ctx;

	return available(f) >= f->least_kb;
}

/* Called once for each fetch. A broker would send the answer here. */
static void answer(const struct tkw_delayed_end *end, void *ctx)
{
	struct fetch *f = ctx;
	const char *why = end->status == 0            ? "enough"
			  : end->status == -ETIMEDOUT ? "time is over"
			  : end->status == -ECANCELED ? "reader has gone"
						      : "broker stops";

	printf("%3d ms: %s gets %ld KB: %s\n", ms(), f->who, available(f), why);
	for (int i = 0; i < TOPICS; i++) {
		if (f->of[i])
			f->read_kb[i] = topics[i].kb;
	}
}

static void fetch(struct fetch *f)
{
	struct tkw_delayed_op op = { .holds = is_enough,
				     .on_end = answer,
				     .ctx = f,
				     .timeout_ns = 500 * TKW_MSEC };
	uint64_t keys[TOPICS];

	for (uint64_t i = 0; i < TOPICS; i++) {
		if (f->of[i])
			keys[op.key_count++] = i;
	}
	op.keys = keys;
	if (tkw_delayed_add(fetches, &op, &f->id) < 0)
		printf("%s is refused\n", f->who);
}

/* First the change, then the event. */
static void append(uint64_t topic, long kb)
{
	int answered;

	topics[topic].kb += kb;
	printf("%3d ms: %ld KB for %s\n", ms(), kb, topics[topic].name);
	answered = tkw_delayed_event(fetches, topic);
	if (answered > 1)
		printf("%3d ms: that was %d answers\n", ms(), answered);
}

static void pass_until(int at_ms)
{
	int64_t next_ns;

	/* Stops at each time at which the timer has something to do. */
	while (tkw_timer_next_turn(timer, &next_ns) == 0 &&
	       next_ns <= at_ms * TKW_MSEC) {
		clock_ns = next_ns > clock_ns ? next_ns : clock_ns;
		tkw_timer_turn(timer, 0, NULL);
	}
	clock_ns = at_ms * TKW_MSEC;
}

static void run(void)
{
	struct fetch ann = { .who = "ann", .of = { true }, .least_kb = 10 };
	struct fetch bob = { .who = "bob",
			     .of = { true, true },
			     .least_kb = 10 };
	struct fetch cid = ann;
	struct fetch dan = bob;

	cid.who = "cid";
	dan.who = "dan";
	fetch(&ann);
	fetch(&bob);
	pass_until(100);
	append(0, 4);
	pass_until(200);
	append(1, 5);
	pass_until(300);
	append(0, 6);
	/* Enough is there already. */
	fetch(&cid);
	/* These two want 10 KB more. */
	fetch(&ann);
	fetch(&bob);
	pass_until(600);
	append(0, 2);
	tkw_delayed_cancel(fetches, bob.id);
	pass_until(900);
	dan.least_kb = 100;
	fetch(&dan);
	pass_until(950);
	tkw_delayed_shutdown(fetches);
}

int main(void)
{
	const struct tkw_timer_hooks hooks = { .now = read_clock };
	const struct tkw_timer_config config = { .size = sizeof(config),
						 .drive = TKW_DRIVE_MANUAL,
						 .hooks = &hooks };
	struct tkw_delayed_config cfg = { .size = sizeof(cfg) };

	if (tkw_timer_create(&timer, &config) != 0)
		return 1;
	cfg.timer = timer;
	if (tkw_delayed_create(&fetches, &cfg) != 0)
		return 1;
	run();
	return tkw_delayed_count(fetches) != 0 ||
	       tkw_delayed_destroy(fetches) != 0 ||
	       tkw_timer_destroy(timer) != 0;
}
