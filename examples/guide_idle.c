/* SPDX-License-Identifier: MIT */
/* guide_idle.c - packets push an idle timeout back; when to free what. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel.h>

struct conn {
	struct tkw_timer *timer;
	struct tkw_timeout_id idle;
	sem_t quiet;
};

static void on_idle(const struct tkw_firing *firing, void *ctx)
{
	struct conn *c = ctx;

	(void)firing;
	puts("no packet for too long");
	sem_post(&c->quiet);
}

static struct conn *open_conn(struct tkw_timer *t, int64_t idle_ns)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct tkw_task task = { .fn = on_idle,
				 .ctx = c,
				 .slack_ns = idle_ns / 16 };

	if (c == NULL)
		return NULL;
	c->timer = t;
	sem_init(&c->quiet, 0, 0);
	if (tkw_timer_schedule(t, &task, idle_ns, &c->idle) == 0)
		return c;
	free(c);
	return NULL;
}

static void on_packet(struct conn *c, int64_t idle_ns)
{
	/* A later deadline costs about one store, and wakes nobody. */
	if (tkw_timer_reschedule(c->timer, c->idle, idle_ns) == 0)
		puts("pushed back");
	else
		puts("too late, on_idle() was first");
}

/* Do not call it in a task of the timer. */
static void free_conn(struct conn *c)
{
	/* 0: on_idle() never runs. 1: it was running and has returned.
	 * -ENOENT: it had run. In each case nothing uses c any more. */
	int how = tkw_timer_cancel_wait(c->timer, c->idle);

	puts(how == 0 ? "freed, and on_idle() never ran"
		      : "freed, and on_idle() is over");
	free(c);
}

int main(void)
{
	struct conn *busy, *calm;
	struct tkw_timer *t;

	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	busy = open_conn(t, 60 * TKW_SEC);
	if (busy == NULL)
		return 1;
	on_packet(busy, 120 * TKW_SEC);
	calm = open_conn(t, 20 * TKW_MSEC);
	if (calm == NULL)
		return 1;
	while (sem_wait(&calm->quiet) != 0)
		; /* interrupted by a signal */
	on_packet(calm, 20 * TKW_MSEC);
	free_conn(busy);
	free_conn(calm);
	return tkw_timer_destroy(t);
}
