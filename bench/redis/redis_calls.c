/* SPDX-License-Identifier: MIT */
/* redis_calls.c - the worker of the entrants in C: one connection, on which it
 * waits for each reply, or for those of all commands of one write. */
#include "redis_bench.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	WAIT_MS = 200,
	STUCK_S = 60,
	FAR_MS = 3600000,
	NAME_MAX = 16
};

static struct {
	const struct redis_commands *commands;
	struct redis_link *link;
} worker;

static void open_worker(const struct redis_entrant *e, uint16_t port)
{
	worker.commands = e->commands;
	worker.link = redis_link_open(port);
	if (e->commands->prepare)
		e->commands->prepare(worker.link);
}

static void close_worker(void)
{
	redis_link_close(worker.link);
}

int64_t redis_due_ms(const struct redis_puts *p, uint64_t i, uint64_t *rng)
{
	switch (p->due) {
	case REDIS_FAR:
		return queue_wall_us() / 1000 + FAR_MS +
		       rival_below(rng, FAR_MS);
	case REDIS_AT:
		return p->begin_ms +
		       (p->rate > 0 ? (int64_t)(i * 1000 / p->rate) : 0);
	default:
		return 0;
	}
}

static bool put_written(const struct queue_put *puts, size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++)
		worker.commands->put(worker.link, "q", &puts[i]);
	for (size_t i = 0; i < n; i++)
		good &= worker.commands->put_reply(worker.link);
	return good;
}

static bool put(const struct redis_puts *p)
{
	static struct queue_put puts[QUEUE_MOST];
	uint64_t rng = 1;
	bool good = true;

	for (uint64_t done = 0; good && done < p->n;) {
		size_t n =
			p->n - done < p->each ? (size_t)(p->n - done) : p->each;

		for (size_t i = 0; i < n; i++)
			puts[i] = (struct queue_put){
				.number = p->first + done + i,
				.due_ms = redis_due_ms(p, done + i, &rng),
			};
		good = p->call ? worker.commands->put_all(worker.link, "q",
							  puts, n)
			       : put_written(puts, n);
		done += n;
	}
	return good;
}

/* Notes that items were taken. Returns false if one of them was taken before,
 * or was never put. */
static bool note(uint8_t *seen, uint64_t total, const struct queue_taken *taken,
		 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (taken[i].number >= total || seen[taken[i].number])
			return false;
		seen[taken[i].number] = 1;
	}
	return true;
}

/* Takes up to max items, and waits for the first one. If the server cannot wait
 * for it, it is asked again and again, without a pause. Returns how many were
 * taken, 0 if none came in time. */
static size_t take_some(const char *queue, size_t max, struct queue_taken *out)
{
	int64_t end = rival_now() + WAIT_MS * RIVAL_MSEC;
	size_t n;

	do {
		worker.commands->take(worker.link, queue, max, WAIT_MS);
		n = worker.commands->take_reply(worker.link, max, out);
	} while (n == 0 && rival_now() < end);
	return n;
}

static bool ack_all(const char *queue, const struct queue_taken *taken,
		    size_t n)
{
	worker.commands->ack(worker.link, queue, taken, n);
	return worker.commands->ack_reply(worker.link, n);
}

/* What take() has in its hands. */
struct hands {
	struct queue_taken taken[QUEUE_MOST];
	size_t n;
	uint64_t done, total;
	uint8_t *seen;
};

static size_t next_most(const struct hands *h, uint32_t each)
{
	uint64_t left = h->total - h->done;

	return left < each ? (size_t)left : each;
}

/* Acknowledges what was taken, and takes more, by a command for each item. */
static bool ack_and_take_single(struct hands *h, size_t max)
{
	size_t n = h->n;
	bool good = true;

	for (size_t i = 0; i < n; i++)
		worker.commands->ack(worker.link, "q", &h->taken[i], 1);
	for (size_t i = 0; i < max; i++)
		worker.commands->take(worker.link, "q", 1, WAIT_MS);
	for (size_t i = 0; i < n; i++)
		good &= worker.commands->ack_reply(worker.link, 1);
	h->n = 0;
	for (size_t i = 0; i < max; i++)
		h->n += worker.commands->take_reply(worker.link, 1,
						    &h->taken[h->n]);
	return good;
}

/* Acknowledges what was taken, and takes more. */
static bool ack_and_take(struct hands *h, uint32_t each, enum redis_way way)
{
	size_t max = next_most(h, each);
	size_t n = h->n;
	bool good;

	if (way == REDIS_SINGLE)
		return ack_and_take_single(h, max);
	if (way == REDIS_APART || max == 0) {
		good = ack_all("q", h->taken, n);
		h->n = max > 0 ? take_some("q", max, h->taken) : 0;
		return good;
	}
	worker.commands->ack(worker.link, "q", h->taken, n);
	worker.commands->take(worker.link, "q", max, WAIT_MS);
	good = worker.commands->ack_reply(worker.link, n);
	h->n = worker.commands->take_reply(worker.link, max, h->taken);
	return good;
}

static bool take(uint64_t total, uint32_t each, enum redis_way way)
{
	static struct hands h;
	int64_t last = rival_now();
	bool good;

	h.n = 0;
	h.done = 0;
	h.total = total;
	h.seen = calloc(total, 1);
	good = h.seen != NULL;
	while (good && (h.done < total || h.n > 0)) {
		if (h.n > 0) {
			good = ack_and_take(&h, each, way);
		} else {
			h.n = take_some("q", next_most(&h, each), h.taken);
			good = rival_now() - last < STUCK_S * RIVAL_SEC;
		}
		good = good && note(h.seen, total, h.taken, h.n);
		h.done += h.n;
		if (h.n > 0)
			last = rival_now();
	}
	free(h.seen);
	return good;
}

/* Puts an item that is due, takes it and acknowledges it. */
static bool cycle_once(const char *queue, uint64_t number)
{
	const struct queue_put item = { .number = number };
	struct queue_taken taken;

	worker.commands->put(worker.link, queue, &item);
	return worker.commands->put_reply(worker.link) &&
	       take_some(queue, 1, &taken) == 1 && taken.number == number &&
	       ack_all(queue, &taken, 1);
}

static bool cycle(uint64_t n)
{
	bool good = true;

	for (uint64_t i = 0; good && i < n; i++)
		good = cycle_once("q", i);
	return good;
}

static bool tiny(uint32_t first, uint32_t queues, uint32_t items)
{
	const struct redis_puts far = { .n = items, .due = REDIS_FAR };
	struct queue_put puts[QUEUE_MOST];
	char name[NAME_MAX];
	uint64_t rng = 1;
	bool good = true;

	for (uint32_t i = 0; i < items; i++)
		puts[i] = (struct queue_put){
			.number = i, .due_ms = redis_due_ms(&far, i, &rng)
		};
	for (uint32_t i = first; good && i < first + queues; i++) {
		(void)snprintf(name, sizeof(name), "t%u", (unsigned)i);
		good = items > 0 ? worker.commands->put_all(worker.link, name,
							    puts, items)
				 : cycle_once(name, 0);
	}
	return good;
}

/* Notes how late items are. Returns false if one of them is due in an hour. */
static bool note_late(const struct redis_puts *p, int64_t *late_us,
		      const struct queue_taken *taken, size_t n)
{
	int64_t now_us = queue_wall_us();
	uint64_t rng = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t number = taken[i].number;

		if (number >= p->n)
			return false;
		late_us[number] = now_us - redis_due_ms(p, number, &rng) * 1000;
	}
	return true;
}

/* An item that was not taken is as late as if it were taken now. */
static void figures(struct redis_late *l, const struct redis_puts *p,
		    int64_t *late_us)
{
	int64_t now_us = queue_wall_us();
	uint64_t rng = 0;

	l->early = 0;
	for (uint32_t i = 0; i < l->total; i++) {
		if (late_us[i] == INT64_MIN)
			late_us[i] = now_us - redis_due_ms(p, i, &rng) * 1000;
		l->early += late_us[i] < 0;
	}
	rival_sort(late_us, l->total);
	l->p50 = (double)rival_quantile(late_us, l->total, 0.5);
	l->p99 = (double)rival_quantile(late_us, l->total, 0.99);
	l->max = (double)late_us[l->total - 1];
}

static bool late(struct redis_late *l)
{
	static struct queue_taken taken[QUEUE_MOST];
	const struct redis_puts p = { .n = l->total,
				      .due = REDIS_AT,
				      .begin_ms = l->begin_ms,
				      .rate = l->rate };
	size_t bytes = l->total * sizeof(int64_t);
	int64_t *late_us = rival_pages_get(bytes);
	bool good = true;

	for (uint32_t i = 0; i < l->total; i++)
		late_us[i] = INT64_MIN;
	for (uint32_t done = 0; good && done < l->total &&
				queue_wall_us() / 1000 < l->give_up_ms;) {
		size_t n = take_some("q", l->each, taken);

		good = note_late(&p, late_us, taken, n) &&
		       (n == 0 || ack_all("q", taken, n));
		done += (uint32_t)n;
	}
	figures(l, &p, late_us);
	rival_pages_put(late_us, bytes);
	return good;
}

const struct redis_worker redis_calls = {
	.open = open_worker,
	.close = close_worker,
	.put = put,
	.take = take,
	.cycle = cycle,
	.tiny = tiny,
	.late = late,
	.cpu_ns = rival_cpu_ns,
};
