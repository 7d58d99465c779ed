/* SPDX-License-Identifier: MIT */
/* from_netty.c - remote calls that time out; see docs/from-netty.md. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel.h>

struct client {
	struct tkw_timer *timer;
	sem_t timed_out;
};

/* Freed once: by on_timeout(), or by on_cancel if on_timeout() never runs. */
struct call {
	struct client *client;
	const char *method;
};

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	struct call *call = ctx;

	(void)firing;
	printf("%s: timed out\n", call->method);
	sem_post(&call->client->timed_out);
	free(call);
}

/* Begins a call. The id of its timeout is the id of the call. */
static int begin(struct client *c, const char *method, int64_t limit_ns,
		 struct tkw_timeout_id *id)
{
	struct call *call = malloc(sizeof(*call));
	struct tkw_task task = { .fn = on_timeout,
				 .ctx = call,
				 .on_cancel = free };
	int err;

	if (call == NULL)
		return -ENOMEM;
	*call = (struct call){ c, method };
	err = tkw_timer_schedule(c->timer, &task, limit_ns, id);
	if (err != 0)
		free(call); /* refused, so it is still ours */
	/* Here the request would be sent. */
	return err;
}

/* Called when an answer comes in, on any thread. */
static void answer(struct client *c, struct tkw_timeout_id id, const char *text)
{
	if (tkw_timer_cancel(c->timer, id) == 0)
		printf("answer \"%s\": in time\n", text);
	else
		printf("answer \"%s\": too late\n", text);
}

static void give_up(const struct tkw_timeout_info *info, void *ctx)
{
	const struct call *call = info->task.ctx;

	(void)ctx;
	printf("%s: given up\n", call->method);
}

static int run(struct client *c)
{
	struct tkw_timeout_id get, put, watch;

	if (begin(c, "get", 3600 * TKW_SEC, &get) != 0)
		return 1;
	answer(c, get, "42");
	if (begin(c, "put", 200 * TKW_MSEC, &put) != 0)
		return 1;
	while (sem_wait(&c->timed_out) != 0)
		; /* interrupted by a signal */
	answer(c, put, "done");
	return begin(c, "watch", 3600 * TKW_SEC, &watch) != 0;
}

int main(void)
{
	struct tkw_timer_config cfg;
	struct client c;
	int status;

	sem_init(&c.timed_out, 0, 0);
	tkw_timer_preset(&cfg, TKW_PRESET_NETTY); /* 100 ms, 512 slots */
	if (tkw_timer_create(&c.timer, &cfg) != 0)
		return 1;
	status = run(&c);
	tkw_timer_stop(c.timer, give_up, NULL);
	tkw_timer_destroy(c.timer);
	return status;
}
