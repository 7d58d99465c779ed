/* SPDX-License-Identifier: MIT */
/*
 * rival_process.h - the processes that measure the rows of the timer, the
 * patterns, the event loops, the queue and the queue in Redis.
 *
 * Each process runs one entrant: ours, or a rival. It is started with its first
 * request and then kept, so that its runtime stays warmed up. It reads one
 * request per line and answers with any number of lines
 *     figure NAME VALUE
 * followed by one of
 *     done
 *     skip REASON        the entrant has nothing of this kind
 *     fail REASON        its results were wrong
 * A process is lost if it ends, writes without a request, writes anything else,
 * or does not answer in time. Then it is killed and not asked again. At the end
 * of the program all processes are killed.
 */
#ifndef TKW_RIVAL_PROCESS_H
#define TKW_RIVAL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BENCH_ANSWER_MAX = 16, /* most figures in an answer */
	BENCH_REASON_MAX = 160
};

enum bench_verdict {
	BENCH_DONE,
	BENCH_SKIP,
	BENCH_FAIL,
	BENCH_LOST
};

struct bench_answer {
	enum bench_verdict verdict;
	char reason[BENCH_REASON_MAX]; /* printable; not set if it is done */
	size_t count;
	struct {
		char name[16];
		double value;
	} figures[BENCH_ANSWER_MAX];
};

struct bench_process;

/* Returns the i-th process, or NULL after the last. Processes that cannot be
 * started are included. */
struct bench_process *bench_processes_get(size_t i);

const char *bench_process_name(const struct bench_process *p);

/* Is the process a floor? Then it does less than a rival would have to do, and
 * does not count as one. */
bool bench_process_is_floor(const struct bench_process *p);

/* Does the process take part in the rows of a group (timer, patterns, loop,
 * queue, redis) whose names end with `where`? */
bool bench_process_is_of(const struct bench_process *p, const char *group,
			 const char *where);

/* Returns why the process cannot be asked, or NULL if it can. A process that
 * was lost cannot be asked. */
const char *bench_process_missing(const struct bench_process *p);
bool bench_process_lost(const struct bench_process *p);

/* Send a request, and wait for its answer. If something goes wrong while
 * sending, the answer says so. If the process should not be started just now,
 * the answer is skip. */
void bench_process_ask(struct bench_process *p, const char *request);
void bench_process_answer(struct bench_process *p, struct bench_answer *a);

/* Returns the value of a figure, or NULL. */
const double *bench_answer_find(const struct bench_answer *a, const char *name);

/*
 * Call this before any process is asked.
 *
 * patience_s  How long to wait for an answer.
 * dir         A folder with the programs DIR/NAME, or NULL for those that were
 *             built.
 */
void bench_processes_init(uint32_t patience_s, const char *dir);

#endif /* TKW_RIVAL_PROCESS_H */
