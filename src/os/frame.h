/* SPDX-License-Identifier: MIT */
/*
 * frame.h - tells whether this thread is inside a callback.
 *
 * Whenever the library calls a function of the user's, it puts a frame on the
 * thread's stack that names the owner: a timer, a pool or a set. So the library
 * detects a call that would wait for itself, and refuses it with -EDEADLK.
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
