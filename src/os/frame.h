/* SPDX-License-Identifier: MIT */
/*
 * frame.h - is this thread inside a callback?
 *
 * For each function of the user's that the library calls, a frame on the stack
 * of the thread says on whose behalf: a timer's, a pool's, a set's. So a call
 * that would wait for itself is known, and refused with -EDEADLK.
 */
#ifndef TKW_OS_FRAME_H
#define TKW_OS_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "os/thread.h"

struct tkw__frame {
	const void *owner;
	bool of_set; /* of src/patterns, not of a timer or a pool */
	struct tkw__frame *up;
};

static inline void tkw__frame_enter(struct tkw__frame *f, const void *owner)
{
	struct tkw__local *local = tkw__thread_local();

	*f = (struct tkw__frame){ .owner = owner, .up = local->frames };
	local->frames = f;
}

static inline void tkw__frame_enter_set(struct tkw__frame *f, const void *set)
{
	tkw__frame_enter(f, set);
	f->of_set = true;
}

static inline void tkw__frame_leave(const struct tkw__frame *f)
{
	tkw__thread_local()->frames = f->up;
}

/* Inside a callback on behalf of this owner? */
static inline bool tkw__frame_inside(const void *owner)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	while (f && f->owner != owner)
		f = f->up;
	return f != NULL;
}

/* The same, and in no other callback that has been called in there? */
static inline bool tkw__frame_innermost(const void *owner)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	return f && f->owner == owner;
}

/* Inside a callback of any set? */
static inline bool tkw__frame_inside_set(void)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	while (f && !f->of_set)
		f = f->up;
	return f != NULL;
}

#endif /* TKW_OS_FRAME_H */
