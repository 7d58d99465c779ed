/* SPDX-License-Identifier: MIT */
/* gate.c - a gate for threads. */
#include "gate.h"

void gate_init(struct gate *g)
{
	const struct gate shut = GATE_INIT;

	*g = shut;
}

void gate_pass(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->came++;
	pthread_cond_broadcast(&g->changed);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

void gate_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

void gate_await(struct gate *g, unsigned least)
{
	pthread_mutex_lock(&g->lock);
	while (g->came < least)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}
