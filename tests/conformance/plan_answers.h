/* SPDX-License-Identifier: MIT */
/* plan_answers.h - the commands of plan.cases over the C calls. */
#ifndef TKW_TESTS_PLAN_ANSWERS_H
#define TKW_TESTS_PLAN_ANSWERS_H

#include <stdint.h>

#include "cases.h"
#include "tickwheel/queue.h"

/* Runs a command and adds its answer. */
typedef void plan_command_fn(struct tkw_queue *q, int64_t now_ms,
			     const struct words *w, struct reply_text *t);

plan_command_fn plan_command_plan, plan_command_unplan, plan_command_pause;
plan_command_fn plan_command_resume, plan_command_list, plan_command_facts;
plan_command_fn plan_command_times;

#endif /* TKW_TESTS_PLAN_ANSWERS_H */
