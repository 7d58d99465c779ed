/* SPDX-License-Identifier: MIT */
/*
 * redis_rival_bullmq.c - BullMQ on node. The worker is the process of
 * bullmq_rival.js. It gets a line for each function of the worker, and answers
 * with a line when it has done it. It is started once, so that its code is
 * compiled when it is measured, and ends with this program.
 *
 * CMake defines BENCH_NODE, the program node, and BENCH_BULLMQ_SCRIPT. If node
 * was not found, BENCH_NODE is an empty string. ./dev bench installs BullMQ in
 * the folder BENCH_BULLMQ.
 */
#include "redis_bench.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	LINE_MAX = 256
};

static struct {
	pid_t pid; /* 0 if it was not started */
	FILE *to;
	FILE *from;
	char answer[LINE_MAX];
} node;

static const char *missing(void)
{
	static const char program[] = BENCH_NODE;

	if (sizeof(program) == 1 || access(program, X_OK) != 0)
		return "no node";
	if (access(BENCH_BULLMQ "/node_modules/bullmq/package.json", R_OK) != 0)
		return "no BullMQ; ./dev bench installs it with npm";
	return NULL;
}

/* --- the process --------------------------------------------------------- */

/* Runs in the child. Does not return. */
static void become_node(int in, int out, pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(in, STDIN_FILENO) >= 0 &&
	    dup2(out, STDOUT_FILENO) >= 0)
		(void)execl(BENCH_NODE, "node", BENCH_BULLMQ_SCRIPT,
			    BENCH_BULLMQ, (char *)NULL);
	_exit(127);
}

static void start_node(void)
{
	pid_t parent = getpid();
	int to[2];
	int from[2];

	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		rival_die("no more files");
	(void)fflush(NULL);
	node.pid = fork();
	if (node.pid < 0)
		rival_die("fork failed");
	if (node.pid == 0)
		become_node(to[0], from[1], parent);
	(void)close(to[0]);
	(void)close(from[1]);
	node.to = fdopen(to[1], "w");
	node.from = fdopen(from[0], "r");
	if (node.to == NULL || node.from == NULL)
		rival_die("out of memory");
}

/* Sends a line and waits for the answer. Returns true if it begins with ok. */
__attribute__((format(printf, 1, 2))) static bool tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vfprintf(node.to, fmt, ap);
	va_end(ap);
	(void)fputc('\n', node.to);
	if (fflush(node.to) != 0 ||
	    fgets(node.answer, sizeof(node.answer), node.from) == NULL)
		rival_die("the process of node has ended");
	if (strncmp(node.answer, "ok", 2) == 0)
		return true;
	(void)fprintf(stderr, "tkw_bench_redis: BullMQ: %s", node.answer);
	return false;
}

/* Returns the number behind KEY= in the last answer. */
static double answered(const char *key)
{
	size_t len = strlen(key);
	const char *at = node.answer;

	while ((at = strchr(at, ' ')) != NULL) {
		at++;
		if (strncmp(at, key, len) == 0 && at[len] == '=')
			return strtod(at + len + 1, NULL);
	}
	rival_die("an answer of node is incomplete");
}

/* --- the worker ---------------------------------------------------------- */

static void open_worker(const struct redis_entrant *e, uint16_t port)
{
	(void)e;
	if (node.pid == 0)
		start_node();
	if (!tell("open port=%u", (unsigned)port))
		rival_die("BullMQ cannot be opened");
}

static void close_worker(void)
{
	(void)tell("close");
}

static bool put(const struct redis_puts *p)
{
	return tell("put first=%" PRIu64 " n=%" PRIu64 " each=%" PRIu32
		    " call=%d due=%d begin=%" PRId64 " rate=%" PRIu32,
		    p->first, p->n, p->each, p->call ? 1 : 0, (int)p->due,
		    p->begin_ms, p->rate);
}

/* It takes the next job when it completes one, in one call. */
static bool take(uint64_t n, uint32_t each, enum redis_way way)
{
	(void)way;
	return tell("take n=%" PRIu64 " each=%" PRIu32, n, each);
}

static bool cycle(uint64_t n)
{
	return tell("cycle n=%" PRIu64, n);
}

static bool tiny(uint32_t first, uint32_t queues, uint32_t items)
{
	return tell("tiny first=%" PRIu32 " queues=%" PRIu32 " items=%" PRIu32,
		    first, queues, items);
}

static bool late(struct redis_late *l)
{
	if (!tell("late n=%" PRIu32 " each=%" PRIu32 " rate=%" PRIu32
		  " begin=%" PRId64 " give_up=%" PRId64,
		  l->total, l->each, l->rate, l->begin_ms, l->give_up_ms))
		return false;
	l->p50 = answered("p50");
	l->p99 = answered("p99");
	l->max = answered("max");
	l->early = answered("early");
	return true;
}

static int64_t cpu_ns(void)
{
	return queue_process_cpu_ns(node.pid);
}

static uint64_t count(struct redis_link *k)
{
	redis_add_word(k, "ZCARD");
	redis_add_word(k, "bull:q:delayed");
	redis_end(k);
	return (uint64_t)redis_reply_integer(k);
}

static const struct redis_worker worker = {
	.open = open_worker,
	.close = close_worker,
	.put = put,
	.take = take,
	.cycle = cycle,
	.tiny = tiny,
	.late = late,
	.cpu_ns = cpu_ns,
};

const struct redis_entrant redis_bullmq = {
	.name = "bullmq",
	.missing = missing,
	.rate_most = 5000,
	.worker = &worker,
	.count = count,
};
