/* SPDX-License-Identifier: MIT */
/*
 * wheel.h - an intrusive timing wheel, without clock, threads or malloc
 *
 * The wheel is a data structure that holds entries and expires each of them at
 * its tick. You embed a struct tkw_entry in every object that can expire, and
 * you provide the memory of the wheel. The wheel reads no clock. You decide how
 * long a tick is, and tkw_wheel_advance() tells the wheel what time it is.
 *
 *   Time     A tick is a uint64_t. "now" is the first tick that has not been
 *            expired yet. Every tick is legal. An entry with the tick
 *            TKW_TICK_NEVER never expires.
 *   Promise  An entry is never expired before its tick, never expired twice,
 *            and never missed.
 *   Order    Ticks are expired in ascending order. Within a tick, entries are
 *            expired in the order in which they were added. A moved entry
 *            counts as added when it was moved. An extended entry counts as
 *            added at some moment between the extension and its new tick.
 *   Threads  The wheel has no locks. During a call, no other thread may use the
 *            wheel or the entries in it. If several threads use a wheel,
 *            protect it with a lock of your own.
 *   Errors   Calls return 0 or a negative errno. A call that fails changes
 *            nothing and writes no result. If a wheel, an entry, a function or
 *            a pointer for a result is NULL, the call returns -EINVAL, unless
 *            its description says otherwise. Debug and release builds behave in
 *            the same way.
 *   Misuse   The wheel cannot detect every mistake. Set an entry to zero before
 *            its first use. Do not copy, free or write to an entry while it is
 *            linked. Pass a linked entry only to the wheel in which it is
 *            linked. Do not reuse the memory of a wheel before
 *            tkw_wheel_fini().
 */
#ifndef TICKWHEEL_WHEEL_H
#define TICKWHEEL_WHEEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tick that never comes. */
#define TKW_TICK_NEVER UINT64_MAX

/* A value for max_steps that means no limit. */
#define TKW_STEPS_UNBOUNDED UINT64_MAX

/* The largest number of slots of a hashed wheel. */
#define TKW_WHEEL_MAX_SLOTS (UINT64_C(1) << 30)

/* This many bytes are enough for the default wheel (hierarchical) in any
 * build. */
#define TKW_WHEEL_BYTES 73728

/* A link of a list. Private. */
struct tkw_link {
	struct tkw_link *next;
	struct tkw_link *prev;
};

/*
 * An entry of a wheel. Embed it in your own struct.
 *
 * It takes 32 bytes on a machine with 8-byte pointers. An entry that is all
 * zero is not linked: declare it static, allocate it with calloc(), or use
 * TKW_ENTRY_INIT. The fields are private. Read them with tkw_entry_tick() and
 * tkw_entry_is_linked().
 */
struct tkw_entry {
	struct tkw_link link;
	uint64_t tick;
	uint32_t slot;
	uint32_t flags;
};

/* Converts a pointer to an entry into a pointer to your struct that contains
 * the entry. For example, TKW_CONTAINER_OF(e, struct request, timeout) is a
 * struct request *. If the entry is the first member, a cast is enough. */
#define TKW_CONTAINER_OF(entry, type, member)                                  \
	((type *)(void *)((char *)(entry)-offsetof(type, member)))

/* The initial value of an entry. */
#define TKW_ENTRY_INIT                                                         \
	{                                                                      \
		{ NULL, NULL }, 0, 0, 0                                        \
	}

/* A wheel. It lives in memory that you provide. */
struct tkw_wheel;

/* How a wheel sorts its entries. */
enum tkw_wheel_engine {
	/*
	 * Several rings. The slots of the finest ring are one tick long. In
	 * each coarser ring they are longer, by a power of two. An entry that
	 * is far away is in a coarse ring, and moves to finer rings as its tick
	 * comes nearer. The cost of an advance does not depend on how much time
	 * has passed.
	 */
	TKW_WHEEL_HIERARCHICAL = 0,
	/*
	 * One ring, which the wheel goes around again and again. One time
	 * around is a round. An entry stays in its slot until the round in
	 * which it is due. An advance looks at every entry of each slot that it
	 * passes, whether it is due or not.
	 */
	TKW_WHEEL_HASHED = 1
};

/* The settings of a wheel. All zero means the defaults. */
struct tkw_wheel_config {
	/* sizeof(struct tkw_wheel_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	/* An enum tkw_wheel_engine. */
	int engine;
	/* The number of slots of the hashed engine, from 1 to
	 * TKW_WHEEL_MAX_SLOTS. It is rounded up to a power of two. Must be 0
	 * with the hierarchical engine. */
	uint64_t slots;
	/* The value of now at the beginning. */
	uint64_t now_tick;
};

/*
 * Computes how many bytes a wheel takes.
 *
 * cfg    The settings. NULL means the defaults.
 * bytes  Receives the number of bytes.
 *
 * Returns 0, or
 *   -EINVAL  bytes is NULL, the engine is unknown, the number of slots is not
 *            allowed, or cfg has a size or fields that this library does not
 *            know
 *   -ENOMEM  the wheel would be larger than the address space
 */
int tkw_wheel_bytes(const struct tkw_wheel_config *cfg, size_t *bytes);

/*
 * Sets up an empty wheel, in memory that you provide, in O(slots).
 *
 * out    Receives the wheel. It points into mem.
 * mem    The memory. It must be aligned for any object, as memory from malloc()
 *        is. An alignment to 64 bytes is fastest. Do not move or free the
 *        memory before tkw_wheel_fini().
 * bytes  The size of mem: at least the number that tkw_wheel_bytes() gives.
 * cfg    The settings. NULL means the defaults. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  out or mem is NULL, mem is not aligned, bytes is too small, or
 *            cfg is not valid, as in tkw_wheel_bytes()
 *   -ENOMEM  the wheel would be larger than the address space
 */
int tkw_wheel_init(struct tkw_wheel **out, void *mem, size_t bytes,
		   const struct tkw_wheel_config *cfg);

/*
 * Unlinks all entries and ends the wheel, in O(entries + slots in use).
 *
 * After this call you may reuse the memory of the wheel and add the entries to
 * other wheels.
 *
 * w  The wheel. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside an expiry callback of this wheel
 */
int tkw_wheel_fini(struct tkw_wheel *w);

/*
 * Adds an entry in O(1). The entry then expires at the given tick.
 *
 * tick  The tick. A tick before now counts as now. The exception is inside an
 *       expiry callback: there, now and all ticks before it count as the first
 *       tick after the target of the running tkw_wheel_advance(), so that every
 *       advance ends. If this first tick is TKW_TICK_NEVER, the entry never
 *       expires.
 *
 * Returns 0, or
 *   -EINVAL  w or e is NULL
 *   -EEXIST  the entry is linked already
 */
int tkw_wheel_add(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick);

/*
 * Removes an entry in O(1). You may free the entry at once.
 *
 * Returns 0, or
 *   -EINVAL  w or e is NULL
 *   -ENOENT  the entry is not linked
 */
int tkw_wheel_remove(struct tkw_wheel *w, struct tkw_entry *e);

/*
 * Moves a linked entry to an earlier or later tick in O(1).
 *
 * This is the same as a remove and an add, so the entry goes behind the other
 * entries of its new tick.
 *
 * tick  The new tick, as in tkw_wheel_add().
 *
 * Returns 0, or
 *   -EINVAL  w or e is NULL
 *   -ENOENT  the entry is not linked
 */
int tkw_wheel_move(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick);

/*
 * Pushes a linked entry back to a later tick. This costs about one store.
 *
 * The entry stays in its slot. The wheel moves it when that slot comes up. This
 * suits idle timeouts, which every packet pushes back.
 *
 * tick  The new tick. It must not be before tkw_entry_tick(). If the two are
 *       equal, nothing changes.
 *
 * Returns 0, or
 *   -EINVAL  w or e is NULL, or the new tick is earlier
 *   -ENOENT  the entry is not linked
 */
int tkw_wheel_extend(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick);

/*
 * Rounds a tick up, for an entry that may be late.
 *
 * The result lies between tick and tick + slack. Of these ticks it is the one
 * that is a multiple of the largest power of two. Entries that are rounded in
 * this way share ticks, and need fewer moves and wake-ups. Pass the result to
 * tkw_wheel_add(), tkw_wheel_move() or tkw_wheel_extend().
 *
 * slack  How many ticks late the entry may be. With 0 the result is tick.
 *
 * Returns the rounded tick. It is TKW_TICK_NEVER only if tick is.
 */
uint64_t tkw_tick_with_slack(uint64_t tick, uint64_t slack);

/*
 * Called for each entry that expires.
 *
 * The entry is not linked any more, so the callback may add it again or free
 * it. The callback may add, remove, move and extend any entry of any wheel,
 * even an entry that is due next. It may make any call that only reads. It must
 * not leave by longjmp() or by a C++ exception.
 *
 * ctx  The ctx that was passed to tkw_wheel_advance().
 */
typedef void tkw_expire_fn(struct tkw_wheel *w, struct tkw_entry *e, void *ctx);

/*
 * Expires all entries that are due at or before a tick.
 *
 * The call can be limited to a number of steps. A step is one entry that
 * expires, or one entry that moves to a finer ring or to the slot of its
 * extended tick. With the hashed engine, it is also a step to look at an entry
 * that is due in a later round.
 *
 * If the call reaches the limit, now is the tick that is not finished. Call
 * again to go on, with the same or another target. You may add and remove
 * entries in between; the order is kept.
 *
 * to         The target tick. When the call is done, now is to + 1. If to is
 *            before now, the call does nothing. TKW_TICK_NEVER counts as
 *            TKW_TICK_NEVER - 1.
 * max_steps  The largest number of steps. TKW_STEPS_UNBOUNDED means no limit.
 *            With 0 the call only moves now forward, to the first tick that has
 *            work to do.
 * fn         Called for each entry that expires. Inside fn,
 *            tkw_wheel_now_tick() returns the tick that is being expired.
 * ctx        Passed to fn.
 *
 * Returns 0 if the target was reached, 1 if the limit was reached first, or
 *   -EINVAL   w or fn is NULL
 *   -EDEADLK  called inside an expiry callback of this wheel
 */
int tkw_wheel_advance(struct tkw_wheel *w, uint64_t to, uint64_t max_steps,
		      tkw_expire_fn *fn, void *ctx);

/* Returns now, the first tick that has not been expired yet; 0 if w is NULL. */
uint64_t tkw_wheel_now_tick(const struct tkw_wheel *w);

/*
 * Finds the tick to which the wheel must be advanced next, in O(rings).
 *
 * This tick is never before now, and never later than the tick of the earliest
 * entry. It may be earlier than the tick of that entry if the entry is in a
 * coarse ring, if the entry was extended, or if an advance has stopped at its
 * limit. With the hashed engine, it may also be earlier if the entry waits for
 * a later round, or if an earlier entry was removed.
 *
 * If the returned tick is earlier, an advance to it expires nothing. It only
 * moves the entries of one slot to where they belong or, with the hashed
 * engine, looks at each of them.
 *
 * Returns the tick; TKW_TICK_NEVER if the wheel is empty or w is NULL.
 */
uint64_t tkw_wheel_next_tick(const struct tkw_wheel *w);

/* Returns the number of linked entries; 0 if w is NULL. */
uint64_t tkw_wheel_count(const struct tkw_wheel *w);

/* Returns how many steps all calls of tkw_wheel_advance() have made so far; 0
 * if w is NULL. */
uint64_t tkw_wheel_count_steps(const struct tkw_wheel *w);

/* Returns the tick of a linked entry, or the last tick of an entry that is not
 * linked any more; 0 if e is NULL. */
uint64_t tkw_entry_tick(const struct tkw_entry *e);

/* Returns 1 if an entry is linked in a wheel, else 0; 0 if e is NULL. */
int tkw_entry_is_linked(const struct tkw_entry *e);

/*
 * These two calls visit all linked entries, in no defined order. The whole walk
 * takes O(entries + slots in use).
 *
 *     for (e = tkw_wheel_first(w); e; e = tkw_wheel_after(w, e))
 *
 * If you remove or move e during the walk, get the next entry before you do so.
 * Do not remove or move any other entry, or the walk may miss entries. The walk
 * may or may not visit an entry that is added or moved meanwhile.
 *
 * Returns an entry; NULL at the end, if an argument is NULL, or if e is not
 * linked.
 */
struct tkw_entry *tkw_wheel_first(const struct tkw_wheel *w);
struct tkw_entry *tkw_wheel_after(const struct tkw_wheel *w,
				  const struct tkw_entry *e);

/* The shape of a wheel. */
struct tkw_wheel_shape {
	int engine;     /* an enum tkw_wheel_engine */
	uint32_t rings; /* the number of rings; 1 if hashed */
	uint64_t slots; /* the number of slots of each ring */
};

/* The place of an entry in a wheel. An extended entry is in its old slot until
 * that slot comes up. */
struct tkw_wheel_place {
	uint32_t ring;   /* 0 is the finest ring */
	uint64_t slot;   /* within the ring */
	uint64_t rounds; /* hashed: (tick - now) / slots; else 0 */
};

/*
 * Gets the shape of a wheel.
 *
 * s  Receives the shape.
 *
 * Returns 0, or
 *   -EINVAL  w or s is NULL
 */
int tkw_wheel_get_shape(const struct tkw_wheel *w, struct tkw_wheel_shape *s);

/*
 * Counts the slots of a ring that have entries, in O(slots with entries).
 *
 * ring  The ring, counted from 0.
 *
 * Returns the number of slots; 0 if w is NULL, or if the wheel has no ring with
 * this number.
 */
uint64_t tkw_wheel_count_slots(const struct tkw_wheel *w, uint32_t ring);

/*
 * Gets the place of an entry.
 *
 * p  Receives the place.
 *
 * Returns 0, or
 *   -EINVAL  w, e or p is NULL
 *   -ENOENT  the entry is not linked
 */
int tkw_wheel_get_place(const struct tkw_wheel *w, const struct tkw_entry *e,
			struct tkw_wheel_place *p);

/*
 * Checks all invariants of a wheel, in O(entries + slots in use). It changes
 * nothing. Use it in tests.
 *
 * Returns NULL if the wheel is sound, else a static string that says what is
 * broken. If w is NULL, the call returns a string too.
 */
const char *tkw_wheel_check(const struct tkw_wheel *w);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_WHEEL_H */
