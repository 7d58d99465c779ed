/* SPDX-License-Identifier: MIT */
/*
 * links.h - circular doubly linked lists. The head is a link like the others,
 * so appending and removing have no special case.
 */
#ifndef TKW_BASE_LINKS_H
#define TKW_BASE_LINKS_H

#include <stdbool.h>

#include "tickwheel/wheel.h"

static inline void tkw__links_init(struct tkw_link *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool tkw__links_empty(const struct tkw_link *head)
{
	return head->next == head;
}

/* Appends a link to a list. Returns true if the list was empty. */
static inline bool tkw__links_append(struct tkw_link *head, struct tkw_link *l)
{
	struct tkw_link *last = head->prev;

	/* In this order, so that no compiler writes both links of l by a vector
	 * register, which takes longer. */
	l->next = head;
	last->next = l;
	l->prev = last;
	head->prev = l;
	return last == head;
}

static inline void tkw__links_prepend(struct tkw_link *head, struct tkw_link *l)
{
	struct tkw_link *first = head->next;

	l->next = first;
	l->prev = head;
	first->prev = l;
	head->next = l;
}

/* Removes a link from its list. Returns true if the list is empty now: then
 * both neighbours are the same link, the head. */
static inline bool tkw__links_remove(struct tkw_link *l)
{
	struct tkw_link *next = l->next;
	struct tkw_link *prev = l->prev;

	prev->next = next;
	next->prev = prev;
	return next == prev;
}

#endif /* TKW_BASE_LINKS_H */
