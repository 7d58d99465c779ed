/* SPDX-License-Identifier: MIT */
/*
 * rival_process.h - the processes that the rows of the timer ask for figures.
 *
 * Each runs one entrant: ours, or a rival. It is started when it is first asked
 * and kept, so that what its runtime has learnt stays learnt. It reads one
 * request per line and answers in lines: any number of
 *     figure NAME VALUE
 * and then one of
 *     done
 *     skip REASON        the entrant has nothing of the kind
 *     fail REASON        its results were wrong
 * A process that ends, speaks unasked, says anything else or nothing for too
 * long is lost: it is killed and not asked again. At the end of the program all
 * are killed.
 */
#ifndef TKW_RIVAL_PROCESS_H
#define TKW_RIVAL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BENCH_ANSWER_MAX = 16, /* figures in an answer */
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
	char reason[BENCH_REASON_MAX]; /* unless it is done; printable */
	size_t count;
	struct {
		char name[16];
		double value;
	} figures[BENCH_ANSWER_MAX];
};

struct bench_process;

/* The i-th process, NULL after the last; also those that cannot be started. */
struct bench_process *bench_processes_get(size_t i);

const char *bench_process_name(const struct bench_process *p);

/* Does it take part in the rows of a group (timer, patterns, loop), those that
 * end like this? */
bool bench_process_is_of(const struct bench_process *p, const char *group,
			 const char *where);

/* Why it cannot be asked, NULL if it can. A process that was lost can not. */
const char *bench_process_missing(const struct bench_process *p);
bool bench_process_lost(const struct bench_process *p);

/* Send a request, and wait for its answer. What goes wrong while sending is in
 * the answer too. There it is skipped if it cannot be started just now. */
void bench_process_ask(struct bench_process *p, const char *request);
void bench_process_answer(struct bench_process *p, struct bench_answer *a);

/* The value of a figure, or NULL. */
const double *bench_answer_find(const struct bench_answer *a, const char *name);

/* Before anyone is asked: wait so long for an answer, and take the programs
 * DIR/NAME instead of those that were built (NULL: do not). */
void bench_processes_init(uint32_t patience_s, const char *dir);

#endif /* TKW_RIVAL_PROCESS_H */
