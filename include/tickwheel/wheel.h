/* SPDX-License-Identifier: MIT */
/*
 * wheel.h - an intrusive timing wheel: the data structure alone.
 *
 * The wheel knows no clock, no thread, no lock and no allocator. The caller
 * says what time it is, in ticks of whatever length the caller likes, brings
 * the memory, and embeds a struct tkw_entry in whatever shall expire.
 *
 *   Time     A tick is a uint64_t. now is the first tick that has not been
 *            expired yet. Every tick is legal; TKW_TICK_NEVER means never.
 *   Promise  An entry is never expired before its tick, never twice, never
 *            missed. Ticks come in ascending order and, inside a tick, in the
 *            order of adding. A moved entry counts as added when moved; an
 *            extended one takes its place in its new tick at some moment
 *            between the extension and that tick.
 *   Threads  None. Whoever calls owns the wheel and the entries in it for as
 *            long as the call takes; two threads need a lock of their own.
 *   Errors   0 or a negative errno. A refused call changes nothing. NULL
 *            where a wheel, an entry, a function or a place for a result is
 *            wanted is -EINVAL, in debug and release builds alike.
 *   Misuse   Beyond what is refused below, the caller keeps to these: an
 *            entry is set to zero before its first use, it is not copied,
 *            freed or written to while linked, it is passed only to the wheel
 *            in which it is linked, and a wheel's memory is not reused before
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

/* As max_steps: no bound. */
#define TKW_STEPS_UNBOUNDED UINT64_MAX

/* The largest number of slots of a hashed wheel. */
#define TKW_WHEEL_MAX_SLOTS (UINT64_C(1) << 30)

/* Memory that holds the default, hierarchical wheel in any build. */
#define TKW_WHEEL_BYTES 65536

/* What an entry's links and a slot's head have in common. Private. */
struct tkw_link {
	struct tkw_link *next;
	struct tkw_link *prev;
};

/*
 * One thing that shall expire, embedded in the caller's struct: 32 bytes where
 * a pointer has eight. All zero means "not linked": static, calloc'ed or
 * TKW_ENTRY_INIT. The fields are private; read them with the calls below.
 */
struct tkw_entry {
	struct tkw_link link;
	uint64_t tick;
	uint32_t slot;
	uint32_t flags;
};

/* The caller's struct, from its entry: TKW_CONTAINER_OF(e, struct request,
 * timeout). Where the entry is the first member a cast will do. */
#define TKW_CONTAINER_OF(entry, type, member)                                  \
	((type *)(void *)((char *)(entry)-offsetof(type, member)))

#define TKW_ENTRY_INIT                                                         \
	{                                                                      \
		{ NULL, NULL }, 0, 0, 0                                        \
	}

/* The wheel itself; it lives in memory of the caller's. */
struct tkw_wheel;

enum tkw_wheel_engine {
	/*
	 * Several rings, each a power of two coarser than the one below. A far
	 * entry sits in a coarse ring and moves down as its time nears. The
	 * cost of an advance does not depend on the time that passed.
	 */
	TKW_WHEEL_HIERARCHICAL = 0,
	/*
	 * One ring; an entry waits in its slot for its round. An advance looks
	 * at each entry of each slot that it passes, once a round.
	 */
	TKW_WHEEL_HASHED = 1
};

/* How a wheel shall be. All zero means the defaults. */
struct tkw_wheel_config {
	/* sizeof(struct tkw_wheel_config); 0: the fields of version 0.2. */
	size_t size;
	/* enum tkw_wheel_engine */
	int engine;
	/* hashed: 1 to TKW_WHEEL_MAX_SLOTS, rounded up to a power of two;
	 * hierarchical: 0 */
	uint64_t slots;
	/* the first tick */
	uint64_t now_tick;
};

/*
 * How many bytes a wheel of this config takes.
 *
 * cfg     NULL means the defaults.
 * bytes   written on success.
 * Return  0; -EINVAL: unknown engine, bad number of slots, a config whose size
 *         this library does not know, bytes is NULL; -ENOMEM: more
 *         than the address space holds.
 */
int tkw_wheel_bytes(const struct tkw_wheel_config *cfg, size_t *bytes);

/*
 * Make an empty wheel in the caller's memory, in O(slots).
 *
 * out     written on success. It points into mem, which must stay where it is
 *         until tkw_wheel_fini().
 * mem     bytes of memory, aligned for any object (malloc's will do; 64 is the
 *         fastest).
 * cfg     NULL means the defaults. It is not kept.
 * Return  0; -EINVAL: as tkw_wheel_bytes(), or mem is NULL or misaligned, or
 *         bytes is less than tkw_wheel_bytes() says; -ENOMEM as there.
 */
int tkw_wheel_init(struct tkw_wheel **out, void *mem, size_t bytes,
		   const struct tkw_wheel_config *cfg);

/*
 * Unlink every entry that is left, in O(entries + slots in use), and end the
 * wheel: its memory is the caller's again, each entry may be added elsewhere.
 *
 * w       NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from an expiry callback of this wheel.
 */
int tkw_wheel_fini(struct tkw_wheel *w);

/*
 * Link an entry for a tick, in O(1).
 *
 * tick    a tick < now is due at now. From inside an expiry callback a tick up
 *         to the one being expired is due at the first tick after the target
 *         of the running tkw_wheel_advance(): a pass ends. (If the target is
 *         the last tick of all, that is TKW_TICK_NEVER.)
 * Return  0; -EINVAL: NULL; -EEXIST: the entry is linked already.
 */
int tkw_wheel_add(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick);

/*
 * Unlink an entry, in O(1). Its memory is free at once.
 *
 * Return  0; -EINVAL: NULL; -ENOENT: it is not linked.
 */
int tkw_wheel_remove(struct tkw_wheel *w, struct tkw_entry *e);

/*
 * Give a linked entry another tick, earlier or later, in O(1). As remove and
 * add: it goes behind the others of its new tick.
 *
 * tick    as in tkw_wheel_add().
 * Return  0; -EINVAL: NULL; -ENOENT: it is not linked.
 */
int tkw_wheel_move(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick);

/*
 * Push a linked entry back to a later tick at the price of a store: it stays
 * where it is and is moved when its old slot comes up. For idle timeouts that
 * are pushed back by every packet.
 *
 * tick    at least tkw_entry_tick(); if equal, nothing changes.
 * Return  0; -EINVAL: NULL, or an earlier tick; -ENOENT: it is not linked.
 */
int tkw_wheel_extend(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick);

/*
 * When an entry that may be late should be due: at the multiple of the coarsest
 * power of two that lies within tick ... tick + slack. Entries rounded so share
 * ticks, and need fewer moves and wake-ups. Use it on the tick given to add,
 * move or extend.
 *
 * slack   how many ticks late the entry may be. 0: tick itself is returned.
 * Return  the rounded tick; never TKW_TICK_NEVER unless tick is.
 */
uint64_t tkw_tick_with_slack(uint64_t tick, uint64_t slack);

/*
 * Called for each entry that expires. The entry is no longer linked: the
 * callback may add it again, or free it. It may add, remove, move and extend
 * any entry, of this wheel or another, also one that is due next, and make any
 * call that only reads; it must not leave by longjmp or a C++ exception.
 */
typedef void tkw_expire_fn(struct tkw_wheel *w, struct tkw_entry *e, void *ctx);

/*
 * Expire everything due at or before a tick.
 *
 * to      the target. When all is done now = to + 1; to < now does nothing.
 *         TKW_TICK_NEVER goes as far as the tick before it.
 * max_steps
 *         stop after so many steps, TKW_STEPS_UNBOUNDED for none. A step is an
 *         entry expired, an entry moved to a finer ring or to the slot of its
 *         extended tick, or (hashed) an entry passed over because its round has
 *         not come. With 0 the wheel goes on to the first tick that has work.
 * fn      called for each entry expired, with ctx. Inside it
 *         tkw_wheel_now_tick() is the tick being expired.
 * Return  0: done; 1: the bound was met first. Then now is the tick that is not
 *         finished; call again, with the same or another target, to go on. Adds
 *         and removes in between are legal and keep the order.
 *         -EINVAL: NULL; -EDEADLK: called from an expiry callback of this
 *         wheel.
 */
int tkw_wheel_advance(struct tkw_wheel *w, uint64_t to, uint64_t max_steps,
		      tkw_expire_fn *fn, void *ctx);

/* The first tick not yet expired; 0 for NULL. */
uint64_t tkw_wheel_now_tick(const struct tkw_wheel *w);

/*
 * When must the wheel be advanced next? In O(rings).
 *
 * Return  a bound: a tick >= now, and never later than the earliest entry's.
 *         It is earlier when that entry sits in a coarse ring, was extended or
 *         waits for its round, when a bounded advance has stopped, or (hashed)
 *         when an earlier entry was removed. An advance to it then moves each
 *         entry of that slot to where it belongs, or (hashed) looks at each.
 *         TKW_TICK_NEVER if the wheel is empty or NULL.
 */
uint64_t tkw_wheel_next_tick(const struct tkw_wheel *w);

/* How many entries are linked; 0 for NULL. */
uint64_t tkw_wheel_count(const struct tkw_wheel *w);

/* How many steps all calls of tkw_wheel_advance() have made: entries expired,
 * moved nearer and (hashed) looked at; 0 for NULL. */
uint64_t tkw_wheel_count_steps(const struct tkw_wheel *w);

/* The tick for which an entry is, or was last, linked; 0 for NULL. */
uint64_t tkw_entry_tick(const struct tkw_entry *e);

/* 1 if an entry is linked in a wheel, else 0; 0 for NULL. */
int tkw_entry_is_linked(const struct tkw_entry *e);

/*
 * Visit every linked entry, in no promised order:
 *
 *     for (e = tkw_wheel_first(w); e; e = tkw_wheel_after(w, e))
 *
 * To remove or move e on the way, ask for the one after it before. While a walk
 * is under way no other entry may be removed or moved: the walk may miss some.
 * One that is added or moved may be visited or not. A whole walk is
 * O(entries + slots in use).
 *
 * Return  an entry; NULL at the end, for NULL, and after an entry that is not
 *         linked.
 */
struct tkw_entry *tkw_wheel_first(const struct tkw_wheel *w);
struct tkw_entry *tkw_wheel_after(const struct tkw_wheel *w,
				  const struct tkw_entry *e);

/* The size and shape of a wheel. */
struct tkw_wheel_shape {
	int engine;     /* enum tkw_wheel_engine */
	uint32_t rings; /* hashed: 1 */
	uint64_t slots; /* per ring */
};

/* Where in the wheel an entry sits; an extended one, in its old slot still. */
struct tkw_wheel_place {
	uint32_t ring;   /* 0 is the finest */
	uint64_t slot;   /* within its ring */
	uint64_t rounds; /* hashed: (tick - now) / slots; else 0 */
};

/* Return  0; -EINVAL: NULL. */
int tkw_wheel_get_shape(const struct tkw_wheel *w, struct tkw_wheel_shape *s);

/* How many slots of a ring have entries; 0 for NULL, and for a ring that is not
 * there. In O(that many). */
uint64_t tkw_wheel_count_slots(const struct tkw_wheel *w, uint32_t ring);

/* Return  0; -EINVAL: NULL; -ENOENT: the entry is not linked. */
int tkw_wheel_get_place(const struct tkw_wheel *w, const struct tkw_entry *e,
			struct tkw_wheel_place *p);

/*
 * Walk the whole wheel and verify each invariant, in O(entries + slots in use).
 * For tests and for a suspicious mind; it changes nothing.
 *
 * Return  NULL: sound; else which invariant is broken, as a static string.
 */
const char *tkw_wheel_check(const struct tkw_wheel *w);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_WHEEL_H */
