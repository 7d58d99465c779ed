/* SPDX-License-Identifier: MIT */
/*
 * fuzz_wire.c - libFuzzer's target: bytes that a client sends through the
 * socket of a file of queues.
 *
 * The input is a list of frames, each with a byte for its length in front. A
 * clerk reads them, and a desk on a store in memory does what they say. An
 * answer must be a whole frame, and the queues must stay sound. If the length
 * is odd, the client goes away before it has read its answer.
 */
#include "fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "home/planner.h"
#include "ram_store.h"
#include "store/clerk.h"
#include "store/desk.h"

enum {
	MAX_FRAMES = 200,
	MAX_TURNS = 100
};

struct world {
	struct ram_disk disk;
	struct tkw__store *store;
	struct tkw__desk *desk;
	struct tkw__clerk clerk;
	struct tkw__planner planner;
	uint64_t now_us;
};

static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void turn(struct world *w)
{
	w->now_us += 1000;
	tkw__desk_turn(w->desk, w->now_us, w->now_us);
}

/* Submits a request, and waits until it has ended. A take that waits is
 * withdrawn, as if the client had gone. */
static void submit(struct world *w, struct tkw__request *r)
{
	struct tkw__request withdraw = { .kind = TKW__REQUEST_WITHDRAW,
					 .target = r };

	tkw__desk_submit(w->desk, r);
	for (int i = 0; i < MAX_TURNS && r->state != TKW__REQUEST_ENDED; i++) {
		turn(w);
		if (r->state == TKW__REQUEST_PARKED &&
		    withdraw.state == TKW__REQUEST_MADE) {
			withdraw.state = TKW__REQUEST_WAITS;
			tkw__desk_submit(w->desk, &withdraw);
		}
	}
	must(r->state == TKW__REQUEST_ENDED, "a request does not end");
}

static enum tkw__clerk_step run_frame(struct world *w, const uint8_t *frame,
				      size_t len)
{
	enum tkw__clerk_step step = tkw__clerk_read(&w->clerk, frame, len, 1);

	while (step == TKW__CLERK_SUBMIT) {
		submit(w, &w->clerk.request);
		step = tkw__clerk_go_on(&w->clerk);
	}
	must(!w->clerk.out.failed, "an answer was not made");
	must(w->clerk.out.len >= TKW__WIRE_HEAD + 8 &&
		     tkw__wire_length(w->clerk.out.bytes) ==
			     w->clerk.out.len - TKW__WIRE_HEAD,
	     "an answer is not a frame");
	return step;
}

/* A new connection, which has said hello. */
static void connect_again(struct world *w)
{
	static const uint8_t hello[] = {
		TKW__WIRE_HELLO, 0, TKW__WIRE_VERSION, 0, 0, 0
	};

	tkw__clerk_fini(&w->clerk);
	memset(&w->clerk, 0, sizeof(w->clerk));
	(void)run_frame(w, hello, sizeof(hello));
	tkw__clerk_sent(&w->clerk);
}

static void begin(struct world *w)
{
	struct tkw__desk_config cfg;

	memset(w, 0, sizeof(*w));
	w->now_us = UINT64_C(1700000000000000);
	ram_disk_init(&w->disk);
	w->store = ram_store_open(&w->disk);
	memset(&cfg, 0, sizeof(cfg));
	cfg.store = w->store;
	tkw__planner_init(&w->planner, NULL);
	cfg.calendar = &w->planner.calendar;
	cfg.now_us = w->now_us;
	cfg.mono_us = w->now_us;
	must(tkw__desk_create(&w->desk, &cfg) == 0, "no desk");
	connect_again(w);
}

static void end(struct world *w)
{
	const char *wrong = tkw__desk_check(w->desk);

	must(!wrong, wrong ? wrong : "");
	tkw__clerk_fini(&w->clerk);
	tkw__desk_shutdown(w->desk);
	tkw__desk_destroy(w->desk);
	tkw__planner_fini(&w->planner);
	w->store->ops->close(w->store);
	ram_disk_fini(&w->disk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < MAX_FRAMES && size > 0; i++) {
		size_t len = data[0] < size ? data[0] : size - 1;
		enum tkw__clerk_step step = run_frame(&w, data + 1, len);

		if (len % 2 == 1) {
			if (tkw__clerk_give_back(&w.clerk))
				submit(&w, &w.clerk.request);
			step = TKW__CLERK_CLOSE;
		}
		if (step == TKW__CLERK_CLOSE)
			connect_again(&w);
		else
			tkw__clerk_sent(&w.clerk);
		data += 1 + len;
		size -= 1 + len;
	}
	end(&w);
	return 0;
}
