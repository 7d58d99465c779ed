/* SPDX-License-Identifier: MIT */
/*
 * frame.h - tells whether this thread is inside a callback.
 *
 * While the library calls functions of the user's, there is a frame on the
 * thread's stack that names the owner: a timer, a pool or a set. One frame may
 * serve several calls in a row. So the library detects a call that would wait
 * for itself, and refuses it with -EDEADLK.
 */
#ifndef TKW_OS_FRAME_H
#define TKW_OS_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "os/thread.h"

struct tkw__frame {
	const void *owner;
	/* True if the owner is a set of src/patterns; false for a timer or a
	 * pool. */
	bool of_set;
	struct tkw__frame *up;
	struct tkw__local *local; /* of the thread */
};

static inline void tkw__frame_enter(struct tkw__frame *f, const void *owner)
{
	struct tkw__local *local = tkw__thread_local();

	f->owner = owner;
	f->of_set = false;
	f->up = local->frames;
	f->local = local;
	local->frames = f;
}

static inline void tkw__frame_enter_set(struct tkw__frame *f, const void *set)
{
	tkw__frame_enter(f, set);
	f->of_set = true;
}

static inline void tkw__frame_leave(const struct tkw__frame *f)
{
	f->local->frames = f->up;
}

/* Is this thread inside a callback of this owner? */
static inline bool tkw__frame_inside(const void *owner)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	while (f && f->owner != owner)
		f = f->up;
	return f != NULL;
}

/* Does the innermost callback of this thread belong to this owner? */
static inline bool tkw__frame_innermost(const void *owner)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	return f && f->owner == owner;
}

/* Is this thread inside a callback of any set? */
static inline bool tkw__frame_inside_set(void)
{
	const struct tkw__frame *f = tkw__thread_local()->frames;

	while (f && !f->of_set)
		f = f->up;
	return f != NULL;
}

#endif /* TKW_OS_FRAME_H */
