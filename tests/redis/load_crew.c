/* SPDX-License-Identifier: MIT */
/* load_crew.c - see load_crew.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load_crew.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_server.h"

enum {
	CONFIRM_MS = 60000
};

/* What became of a command. */
enum outcome {
	DONE,    /* it has a reply */
	REFUSED, /* it has not happened */
	ENDED    /* the connection has ended: nobody knows */
};

struct hold {
	uint32_t serial;
	uint64_t id;
	uint64_t token;
};

struct worker {
	struct load_share *share;
	struct load_notes *notes;
	const struct load_plan *plan;
	struct resp *c;
	uint64_t random;
	struct hold held[LOAD_HELD];
	uint32_t held_count;
	struct hold put[LOAD_HELD]; /* a ring */
	uint32_t put_count;
	struct reply_text line;
};

/* --- the notes ------------------------------------------------------------ */

struct load_share *load_share_make(void)
{
	struct load_share *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(s != MAP_FAILED);
	s->serial = 1;
	return s;
}

void load_share_reset(struct load_share *s)
{
	for (int i = 0; i < LOAD_WORKERS; i++)
		s->notes[i].count = 0;
	s->answered = 0;
	s->allowed = 0;
	s->stop = 0;
	s->broken[0] = 0;
}

void load_share_free(struct load_share *s)
{
	munmap(s, sizeof(*s));
}

static void broken(struct worker *w, const char *what, const char *reply)
{
	snprintf(w->share->broken, sizeof(w->share->broken), "%s: %s", what,
		 reply);
	_exit(1);
}

static struct load_call *ask_call(struct worker *w, enum load_kind kind,
				  uint32_t count)
{
	struct load_call *c = &w->notes->call[w->notes->count];

	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->count = count;
	return c;
}

static void publish(struct worker *w, struct load_call *c)
{
	__atomic_store_n(&c->state, LOAD_ASKED, __ATOMIC_RELEASE);
	__atomic_store_n(&w->notes->count, w->notes->count + 1,
			 __ATOMIC_RELEASE);
}

/* --- commands ------------------------------------------------------------- */

/* Connects to the server that a -MOVED or -ASK names: "-MOVED 5 host:port". */
static bool redirect(struct worker *w, const char *reply)
{
	const char *colon = strrchr(reply, ':');
	int port = colon ? (int)strtol(colon + 1, NULL, 10) : 0;

	resp_close(w->c);
	w->c = resp_try_open(port, 2);
	__atomic_fetch_add(&w->share->moved, 1, __ATOMIC_RELAXED);
	/* Two nodes may name each other for a while. */
	poll(NULL, 0, 1);
	return w->c != NULL;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Sends the line. In a cluster it may have to go somewhere else: then it has
 * not happened where it was sent. */
static enum outcome send_line(struct worker *w, const char **reply)
{
	bool ask = false;

	for (;;) {
		if (ask && !resp_try_ask(w->c, "ASKING"))
			return ENDED;
		*reply = resp_try_ask(w->c, "%s", w->line.at);
		if (!*reply)
			return ENDED;
		ask = begins(*reply, "-ASK ");
		if (ask || begins(*reply, "-MOVED ")) {
			if (!w->plan->cluster)
				broken(w, w->line.at, *reply);
			if (!redirect(w, *reply))
				return REFUSED;
			continue;
		}
		if (begins(*reply, "-TRYAGAIN") ||
		    begins(*reply, "-CLUSTERDOWN"))
			continue;
		/* The server is no master any more, or will not be one. */
		if (begins(*reply, "-READONLY") ||
		    begins(*reply, "-UNBLOCKED") ||
		    begins(*reply, "-LOADING") || begins(*reply, "-MASTERDOWN"))
			return REFUSED;
		if ((*reply)[0] == '-')
			broken(w, w->line.at, *reply);
		return DONE;
	}
}

/* Asks the replicas whether they have it. */
static bool is_confirmed(struct worker *w)
{
	const char *reply;

	if (w->plan->replicas == 0)
		return true;
	reply = resp_try_ask(w->c, "WAIT %d %d", w->plan->replicas, CONFIRM_MS);
	if (!reply)
		_exit(0);
	return strtol(reply, NULL, 10) >= w->plan->replicas;
}

/* Sends the command of a call. Returns its reply. The process ends here if the
 * connection has ended. */
static const char *run(struct worker *w, struct load_call *c)
{
	const char *reply;
	enum outcome o;

	publish(w, c);
	o = send_line(w, &reply);
	if (o == REFUSED)
		__atomic_store_n(&w->notes->count, w->notes->count - 1,
				 __ATOMIC_RELEASE);
	if (o != DONE)
		_exit(0);
	return reply;
}

/* The facts of the reply are noted. */
static void answered(struct worker *w, struct load_call *c)
{
	__atomic_store_n(&c->state, LOAD_ANSWERED, __ATOMIC_RELEASE);
	if (is_confirmed(w))
		__atomic_store_n(&c->state, LOAD_SURE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&w->share->answered, 1, __ATOMIC_RELEASE);
}

/* Reads "[1, 0, 1]". */
static void read_answers(struct load_call *c, const char *reply)
{
	const char *at = reply + 1;

	for (uint32_t i = 0; i < c->count; i++) {
		char *end;

		c->item[i].done = (int32_t)strtol(at, &end, 10);
		at = end + (*end == ',');
	}
}

static void put(struct worker *w)
{
	uint32_t count = 1 + (uint32_t)server_below(&w->random, LOAD_ITEMS);
	struct load_call *c = ask_call(w, LOAD_PUT, count);
	uint32_t serial =
		__atomic_fetch_add(&w->share->serial, count, __ATOMIC_RELAXED);
	const char *at;

	if (serial + count >= LOAD_SERIALS)
		return;
	reply_text_add(&w->line, "TKW.MPUT %s", w->plan->queue);
	for (uint32_t i = 0; i < count; i++) {
		c->item[i].serial = serial + i;
		reply_text_add(&w->line, " %d %u KEY k%u",
			       (int)server_below(&w->random, 3), serial + i,
			       serial + i);
	}
	at = run(w, c) + 1;
	for (uint32_t i = 0; i < count; i++) {
		char *end;

		c->item[i].id = strtoull(at, &end, 10);
		at = end + 1;
		w->put[w->put_count++ % LOAD_HELD] =
			(struct hold){ .serial = serial + i,
				       .id = c->item[i].id };
	}
	answered(w, c);
}

static void take(struct worker *w)
{
	uint32_t most = 1 + (uint32_t)server_below(&w->random, LOAD_ITEMS);
	struct load_call *c = ask_call(w, LOAD_TAKE, most);
	uint32_t n = 0;
	const char *at;

	if (w->held_count + most > LOAD_HELD)
		return;
	reply_text_add(&w->line, "TKW.TAKE %s COUNT %u LEASE %d%s",
		       w->plan->queue, most, LOAD_LONG_MS,
		       server_below(&w->random, 2) ? " BLOCK 5" : "");
	for (at = run(w, c); (at = strchr(at, '[')); at++) {
		struct load_item *it = &c->item[n];

		if (sscanf(at, "[%" SCNu64 ", \"%" SCNu32 "\", %" SCNu64,
			   &it->id, &it->serial, &it->token) != 3)
			continue;
		w->held[w->held_count++] = (struct hold){ .serial = it->serial,
							  .id = it->id,
							  .token = it->token };
		n++;
	}
	c->count = n;
	answered(w, c);
}

/* Ack, nack or extend. Leases are long, so each claim must be good. */
static void claim(struct worker *w, enum load_kind kind)
{
	static const struct {
		const char *name;
		const char *options;
	} words[] = { [LOAD_ACK] = { "ACK", "" },
		      [LOAD_NACK] = { "NACK", " DELAY 1" },
		      [LOAD_EXTEND] = { "EXTEND", " 3600000" } };
	uint32_t count = 1 + (uint32_t)server_below(&w->random, LOAD_ITEMS);
	struct load_call *c;

	if (count > w->held_count)
		count = w->held_count;
	if (count == 0)
		return;
	c = ask_call(w, kind, count);
	reply_text_add(&w->line, "TKW.%s %s%s", words[kind].name,
		       w->plan->queue, words[kind].options);
	for (uint32_t i = 0; i < count; i++) {
		const struct hold *h = &w->held[w->held_count - 1 - i];

		c->item[i] = (struct load_item){ .serial = h->serial,
						 .id = h->id,
						 .token = h->token };
		reply_text_add(&w->line, " %" PRIu64 " %" PRIu64, h->id,
			       h->token);
	}
	read_answers(c, run(w, c));
	for (uint32_t i = 0; i < count; i++) {
		if (c->item[i].done != 1)
			broken(w, w->line.at, "a valid claim was refused");
	}
	if (kind != LOAD_EXTEND)
		w->held_count -= count;
	answered(w, c);
}

/* Of items that this worker has put; others may hold them. */
static void cancel(struct worker *w)
{
	uint32_t there = w->put_count < LOAD_HELD ? w->put_count : LOAD_HELD;
	struct load_call *c;
	const struct hold *h;

	if (w->put_count == 0)
		return;
	c = ask_call(w, LOAD_CANCEL, 1);
	h = &w->put[server_below(&w->random, there)];
	c->item[0] = (struct load_item){ .serial = h->serial, .id = h->id };
	reply_text_add(&w->line, "TKW.CANCEL %s %" PRIu64, w->plan->queue,
		       h->id);
	read_answers(c, run(w, c));
	answered(w, c);
}

static void work(struct worker *w)
{
	static const enum load_kind kinds[] = {
		LOAD_PUT, LOAD_PUT,  LOAD_TAKE,   LOAD_TAKE,   LOAD_ACK,
		LOAD_ACK, LOAD_NACK, LOAD_EXTEND, LOAD_CANCEL,
	};
	enum load_kind kind = kinds[server_below(
		&w->random, sizeof(kinds) / sizeof(kinds[0]))];

	reply_text_clear(&w->line);
	switch (kind) {
	case LOAD_PUT:
		put(w);
		break;
	case LOAD_TAKE:
		take(w);
		break;
	case LOAD_CANCEL:
		cancel(w);
		break;
	default:
		claim(w, kind);
	}
}

/* True if the workers have made all calls that are allowed now. */
static bool must_wait(struct load_share *s)
{
	uint32_t allowed = __atomic_load_n(&s->allowed, __ATOMIC_ACQUIRE);

	return allowed != 0 &&
	       __atomic_load_n(&s->answered, __ATOMIC_ACQUIRE) >= allowed;
}

static _Noreturn void run_worker(struct worker *w)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A failed check ends this process, and not the test that it was
	 * copied from. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	w->c = resp_try_open(w->plan->port, 2);
	while (w->c && w->notes->count < LOAD_CALLS &&
	       !__atomic_load_n(&w->share->stop, __ATOMIC_ACQUIRE)) {
		if (must_wait(w->share))
			poll(NULL, 0, 1);
		else
			work(w);
	}
	_exit(0);
}

/* --- the crew ------------------------------------------------------------- */

void load_start(struct load_share *s, const struct load_plan *plan,
		uint64_t seed, pid_t *pids)
{
	for (int i = 0; i < LOAD_WORKERS; i++) {
		struct worker w = { .share = s,
				    .notes = &s->notes[i],
				    .plan = plan,
				    .random = seed + (uint64_t)i };

		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			run_worker(&w);
	}
}

void load_allow(struct load_share *s, uint32_t calls)
{
	uint32_t now = __atomic_load_n(&s->answered, __ATOMIC_ACQUIRE);

	__atomic_store_n(&s->allowed, now + calls, __ATOMIC_RELEASE);
}

void load_wait(struct load_share *s, uint32_t calls)
{
	WAIT_UNTIL(s->broken[0] ||
		   __atomic_load_n(&s->answered, __ATOMIC_ACQUIRE) >= calls);
}

void load_end(struct load_share *s, pid_t *pids)
{
	bool good = true;

	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < LOAD_WORKERS; i++) {
		int status;

		while (waitpid(pids[i], &status, 0) < 0)
			assert_int_equal(errno, EINTR);
		good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	if (!good)
		fail_msg("a worker has failed: %s", s->broken);
}
