/* SPDX-License-Identifier: MIT */
/*
 * fault_static_init.cc - fault 33: a static object has a timer, made before
 * main() and destroyed after it.
 */
#include "fault_before_main.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "tickwheel.h"

namespace
{

class StaticTimer
{
      public:
	StaticTimer()
	{
		tkw_task task = tkw_task();

		task.fn = fire;
		task.ctx = this;
		result = tkw_timer_create(&timer, nullptr);
		if (result == 0)
			result = tkw_timer_schedule(timer, &task, 0, nullptr);
		if (result == 0)
			result = tkw_timer_schedule(timer, &task,
						    3600 * TKW_SEC, nullptr);
		while (result == 0 && fired == 0)
			std::this_thread::yield();
	}

	~StaticTimer()
	{
		if (tkw_timer_destroy(timer) == 0 && fired == 1)
			std::printf("static ");
	}

	StaticTimer(const StaticTimer &) = delete;
	StaticTimer &operator=(const StaticTimer &) = delete;

	int result = -EINVAL;
	std::atomic<unsigned long> fired{ 0 };

      private:
	static void fire(const tkw_firing *, void *ctx)
	{
		static_cast<StaticTimer *>(ctx)->fired++;
	}

	tkw_timer *timer = nullptr;
};

StaticTimer instance;

} // namespace

int static_init_result(void)
{
	return instance.result;
}

unsigned long static_init_fired(void)
{
	return instance.fired;
}
