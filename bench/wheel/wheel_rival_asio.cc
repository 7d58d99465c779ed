/* SPDX-License-Identifier: MIT */
/*
 * wheel_rival_asio.cc - Boost.Asio: basic_waitable_timer on a clock of our own;
 * inside, a binary heap of times and pointers. No threads, so no locks;
 * operations come from a pool that was allocated before, through the handler's
 * allocator.
 *
 * A cancelled wait still has to be completed by the context. That is put off,
 * and done for a few hundred at a time.
 */
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <new>

#include "wheel_bench.h"
#include "wheel_entrants.h"

namespace
{

struct tick_clock {
	using duration = std::chrono::milliseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<tick_clock>;
	[[maybe_unused]] static constexpr bool is_steady = true;

	static time_point at(uint64_t tick)
	{
		return time_point(duration(static_cast<rep>(tick)));
	}
	static time_point now()
	{
		return at(bench_tally.now);
	}
};

using context = boost::asio::io_context;
using timer =
	boost::asio::basic_waitable_timer<tick_clock,
					  boost::asio::wait_traits<tick_clock>,
					  context::executor_type>;

/* Cancelled waits that are not completed yet. */
constexpr uint32_t put_off_max = 256;

struct block {
	union {
		block *next;
		alignas(std::max_align_t) unsigned char bytes[128];
	};
};

struct pool {
	block *blocks;
	block *free;
	size_t count;
};

template <typename T> struct pool_allocator {
	using value_type = T;

	explicit pool_allocator(pool *pool) : from(pool)
	{
	}
	template <typename U>
	pool_allocator(const pool_allocator<U> &other) : from(other.from)
	{
	}
	T *allocate(size_t n)
	{
		static_assert(sizeof(T) <= sizeof(block), "larger blocks");
		block *b = from->free;

		if (n != 1 || b == nullptr)
			bench_die("asio: the pool is empty");
		from->free = b->next;
		return reinterpret_cast<T *>(b);
	}
	void deallocate(T *p, size_t)
	{
		block *b = reinterpret_cast<block *>(p);

		b->next = from->free;
		from->free = b;
	}
	pool *from;
};

template <typename T, typename U>
bool operator==(const pool_allocator<T> &a, const pool_allocator<U> &b)
{
	return a.from == b.from;
}

template <typename T, typename U>
bool operator!=(const pool_allocator<T> &a, const pool_allocator<U> &b)
{
	return a.from != b.from;
}

struct on_wait {
	using allocator_type = pool_allocator<char>;

	allocator_type get_allocator() const
	{
		return allocator_type(from);
	}
	void operator()(const boost::system::error_code &ec) const
	{
		if (!ec)
			bench_count_fired(id);
	}
	pool *from;
	uint32_t id;
};

struct state {
	context *ctx;
	boost::asio::executor_work_guard<context::executor_type> *work;
	timer *timers;
	pool ops;
	uint32_t n;
	uint32_t put_off;
};

void pool_open(pool *p, size_t count)
{
	p->count = count;
	p->free = nullptr;
	p->blocks =
		static_cast<block *>(bench_pages_get(count * sizeof(block)));
	for (size_t i = count; i-- > 0;) {
		p->blocks[i].next = p->free;
		p->free = &p->blocks[i];
	}
}

void state_open(state *s, const bench_entrant *, const bench_load *l)
{
	s->ctx = new context(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
	s->work = new boost::asio::executor_work_guard<context::executor_type>(
		s->ctx->get_executor());
	s->n = l->n;
	s->put_off = 0;
	pool_open(&s->ops, size_t{ l->n } + put_off_max);
	s->timers = static_cast<timer *>(bench_pages_get(l->n * sizeof(timer)));
	for (uint32_t i = 0; i < l->n; i++)
		new (&s->timers[i]) timer(*s->ctx);
}

inline void op_settle(state *s)
{
	s->put_off = 0;
	s->ctx->poll();
}

void state_close(state *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		s->timers[i].~timer();
		if (i % put_off_max == 0)
			op_settle(s);
	}
	op_settle(s);
	delete s->work;
	delete s->ctx;
	bench_pages_put(s->timers, s->n * sizeof(timer));
	bench_pages_put(s->ops.blocks, s->ops.count * sizeof(block));
}

inline void count_put_off(state *s)
{
	if (++s->put_off == put_off_max)
		op_settle(s);
}

inline void op_schedule(state *s, uint32_t i, uint64_t tick)
{
	s->timers[i].expires_at(tick_clock::at(tick));
	s->timers[i].async_wait(on_wait{ &s->ops, i });
}

inline void op_cancel(state *s, uint32_t i)
{
	s->timers[i].cancel();
	count_put_off(s);
}

/* expires_at() cancels the wait that is under way. */
inline void op_extend(state *s, uint32_t i, uint64_t tick)
{
	op_schedule(s, i, tick);
	count_put_off(s);
}

inline void op_advance(state *s, uint64_t)
{
	op_settle(s);
}

#include "wheel_loops.h"

} /* namespace */

extern const struct bench_entrant bench_entrant_asio = {
	"asio", run_load, nullptr, 0, 0, 0, 0
};
