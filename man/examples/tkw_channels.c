/* SPDX-License-Identifier: MIT */
/*
 * Closes a connection that sends nothing. The action itself frees the
 * connection.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel/channel.h>
#include <tickwheel/wheel.h>

struct connection {
	const char *peer;
	struct tkw_channel channel;
};

static struct tkw_channels *set;
static sem_t closed;

static int on_idle(struct tkw_channel *ch, void *ctx)
{
	struct connection *c =
		TKW_CONTAINER_OF(ch, struct connection, channel);

	(void)ctx;
	printf("%s: closed\n", c->peer);
	/* An action may remove its own channel at once. */
	if (tkw_channels_remove(set, ch) == 0)
		free(c);
	sem_post(&closed);
	return 0;
}

static int on_connection(const char *peer)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -1;
	c->peer = peer;
	/* For each packet, call tkw_channel_mark_read(). */
	return tkw_channels_add(set, &c->channel);
}

int main(void)
{
	struct tkw_channels_config cfg = { .size = sizeof(cfg),
					   .mark_on_add = 1 };
	struct tkw_channel_rule *rule = &cfg.rules[TKW_CHANNEL_CLOSE];

	sem_init(&closed, 0, 0);
	rule->fn = on_idle;
	rule->interval_ns = 30 * TKW_MSEC;
	rule->period_ns = 10 * TKW_MSEC;
	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_channels_create(&set, &cfg) != 0 ||
	    on_connection("127.0.0.1") != 0)
		return 1;
	while (sem_wait(&closed) != 0)
		; /* interrupted by a signal: wait again */
	return tkw_channels_destroy(set) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
