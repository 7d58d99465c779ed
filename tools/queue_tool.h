/* SPDX-License-Identifier: MIT */
/*
 * queue_tool.h - what the parts of `tkw queue` share.
 *
 * cmd_queue.c       the table of commands, the options, the help
 * queue_values.c    reads times, ids, claims and payloads
 * queue_commands.c  the commands that are one call
 * queue_plans.c     the commands about plans
 * queue_print.c     items and facts, as text and as JSON
 * queue_print_plan.c  the same for plans
 * queue_watch.c     `watch`
 * queue_work.c      `work`, and queue_job.c, a command that it runs
 * queue_way.h       the two ways to a queue
 */
#ifndef TKW_TOOLS_QUEUE_TOOL_H
#define TKW_TOOLS_QUEUE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue_way.h"
#include "tool_signals.h"

enum {
	/* The exit status of a take that took nothing. */
	QUEUE_EXIT_NOTHING = 3,
	QUEUE_JOBS_MAX = 1024,
	/* The most items of one call. */
	QUEUE_COUNT_MAX = 4096,
	/* The most times of a plan that can be shown. */
	QUEUE_TIMES_MAX = 1000,
	/* A time as text, with the 0 at its end. */
	QUEUE_TIME = 40
};

/* The longest time that the command line takes: 100 years. */
#define QUEUE_MAX_MS (INT64_C(36525) * 24 * 60 * 60 * 1000)

/* What the command line says. */
struct queue_options {
	const char *file;
	const char *queue;
	bool json;
	/* put, nack, reschedule */
	bool has_delay;
	int64_t delay_ms;
	int64_t at_ms;
	const char *key;
	enum tkw_key_held held;
	uint64_t attempts;
	int64_t backoff_ms;
	int64_t max_backoff_ms;
	/* take, list, watch */
	uint64_t count; /* 0: not given */
	int64_t lease_ms;
	int64_t wait_ms;
	const char *reason;
	enum tkw_item_state state;
	bool all;
	bool raw;
	uint64_t jobs;
	/* limit; UINT64_MAX: not given */
	uint64_t max_items;
	uint64_t max_bytes;
	uint64_t max_payload;
	/* plan; the texts are in the words */
	struct tkw_queue_plan_spec plan;
	/* The words behind the command. NULL ends them. */
	char **words;
	size_t word_count;
};

/* A payload. */
struct queue_bytes {
	char *bytes;
	size_t len;
	bool owned; /* to be freed */
};

/* What the words of a command line are: one of the arrays, with word_count
 * members. */
struct queue_words {
	struct tkw_claim *claims;
	struct tkw_item_name *names;
	struct tkw_item_id *ids;
	struct queue_bytes *payloads;
	int *done; /* the answers */
};

/* --- queue_values.c ------------------------------------------------------ */

/*
 * Read values. `name` is that of the option, for the error message.
 *
 * A time is a number and a unit, like 500ms, 5s, 10m, 2h or 1d; or 0.
 *
 * They return 0, or -1 after telling the user what is wrong.
 */
int queue_read_time(const char *name, const char *text, int64_t max_ms,
		    int64_t *ms);
int queue_read_text(const char *name, const char *text, size_t max);
int queue_read_state(const char *text, enum tkw_item_state *state);
int queue_read_name(const char *text);
int queue_read_claims(const struct queue_options *o, struct queue_words *w);
int queue_read_names(const struct queue_options *o, struct queue_words *w);
int queue_read_ids(const struct queue_options *o, struct queue_words *w);
/* The words are the name, the text and the payload of a plan. */
int queue_read_plan(const struct queue_options *o, struct queue_words *w);
/* The words are names of plans. */
int queue_check_plan_names(const struct queue_options *o);
int queue_read_misfire(const char *text, enum tkw_misfire *misfire);
/* Reads one of two words. *chosen is 1 for the second one. */
int queue_read_choice(const char *name, const char *text,
		      const char *const words[2], int *chosen);
int queue_read_payloads(const struct queue_options *o, struct queue_words *w);

void queue_words_free(const struct queue_options *o, struct queue_words *w);

/* --- queue_commands.c, queue_watch.c, queue_work.c ----------------------- */

/* A command. It returns the exit status of tkw. */
typedef int queue_command_fn(struct queue_session *s,
			     const struct queue_options *o,
			     struct queue_words *w);

queue_command_fn queue_put, queue_take, queue_ack, queue_nack, queue_extend;
queue_command_fn queue_cancel, queue_reschedule, queue_get, queue_list;
queue_command_fn queue_stats, queue_revive, queue_purge, queue_pause;
queue_command_fn queue_resume, queue_limit, queue_watch, queue_work;
queue_command_fn queue_plan, queue_unplan, queue_plans, queue_plan_pause;
queue_command_fn queue_plan_resume;

/* Checks that the command of `work` can be run, before anything is opened.
 * Returns 0, or the exit status of tkw after telling the user. */
int queue_work_check(const struct queue_options *o);

/* --- queue_print.c ------------------------------------------------------- */

const char *queue_state_word(enum tkw_item_state state);

/*
 * Print bytes. As text, control bytes and what is not UTF-8 are written as
 * printf %b reads them: \n, \t, \\ and \0ooo. As JSON, with quotes.
 */
void queue_print_text(const void *bytes, size_t len);
void queue_print_json_text(const void *bytes, size_t len);

/* Prints a member of a JSON object. JSON has no bytes, so what is not UTF-8
 * gets the name with _base64. */
void queue_print_json_bytes(const char *name, const void *bytes, size_t len);

/* Print an item: one line of text with its claim and payload, of a list, or all
 * about it in many lines; and one line of JSON. */
void queue_print_taken(const struct tkw_item *item);
void queue_print_listed(const struct tkw_item *item);
void queue_print_item(const struct tkw_item *item);
void queue_print_json_item(const struct tkw_item *item);

/* Writes a time like 2026-11-16T10:00:00.000Z. */
const char *queue_word_time(char buf[QUEUE_TIME], int64_t ms);

/* Prints a plan of a list, in one line. */
void queue_print_listed_plan(const struct tkw_queue_plan_facts *f);
/* Prints everything about a plan, with its next times if times_ms is not
 * NULL. */
void queue_print_plan(const struct tkw_queue_plan_facts *f,
		      const int64_t *times_ms, size_t count);
void queue_print_json_plan(const struct tkw_queue_plan_facts *f,
			   const int64_t *times_ms, size_t count);

void queue_print_stats(const char *queue, const struct tkw_queue_stats *st);
void queue_print_json_stats(const char *queue,
			    const struct tkw_queue_stats *st);

/* Returns how late the items were that were taken, in ms: the quantile, rounded
 * up to the end of its bucket; 0 if none was taken. */
int64_t queue_lateness_ms(const struct tkw_queue_stats *st, unsigned permille);

#endif /* TKW_TOOLS_QUEUE_TOOL_H */
