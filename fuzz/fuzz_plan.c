/* SPDX-License-Identifier: MIT */
/*
 * fuzz_plan.c - libFuzzer's target: the text of a plan.
 *
 * The first eight bytes are a time, the rest is the text. A text that is
 * refused has a position inside it and a sentence. A plan that is made gives
 * times in order, the same in both directions, in bounded steps.
 */
#include "fuzz_target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calendar/plan_state.h"
#include "tickwheel/calendar.h"

enum {
	MAX_STEPS = 60
};

static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_times(const struct tkw_plan *p, int64_t at_ms)
{
	unsigned steps = 0;
	int64_t next_ms = 0;
	int64_t back_ms = 0;

	if (tkw__plan_previous(p, at_ms, &back_ms, &steps) == 0) {
		must(back_ms < at_ms, "an earlier time is not earlier");
		must(tkw_plan_next(p, back_ms, &next_ms) < 0 ||
			     next_ms >= at_ms,
		     "a time was left out backwards");
	}
	must(steps <= MAX_STEPS, "a search backwards takes too many steps");
	if (tkw__plan_next(p, at_ms, &next_ms, &steps) == 0) {
		must(next_ms > at_ms, "a later time is not later");
		must(tkw_plan_previous(p, next_ms, &back_ms) < 0 ||
			     back_ms <= at_ms,
		     "a time was left out");
	}
	must(steps <= MAX_STEPS, "a search takes too many steps");
}

static void check_words(const struct tkw_plan *p)
{
	char words[32];
	int len = tkw_plan_print(p, NULL, 0);

	must(len > 0 && tkw_plan_print(p, words, sizeof(words)) == len,
	     "the length of the words changes");
	must(strlen(words) == (len < 31 ? (size_t)len : 31),
	     "the words are not cut");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tkw_plan_error error;
	struct tkw_plan *p = NULL;
	int64_t at_ms = 0;
	char *text;
	size_t head = len < 8 ? len : 8;

	memcpy(&at_ms, data, head);
	text = malloc(len - head + 1);
	must(text != NULL, "no memory");
	memcpy(text, data + head, len - head);
	text[len - head] = 0;
	memset(&error, 0xff, sizeof(error));
	if (tkw_plan_create(&p, text, NULL, &error) < 0) {
		must(error.position <= strlen(text), "no position in the text");
		must(strncmp(error.text, "Expected ", 9) == 0 &&
			     memchr(error.text, 0, sizeof(error.text)),
		     "no sentence");
	} else {
		check_times(p, at_ms);
		check_times(p, at_ms % INT64_C(253402300800000));
		check_words(p);
		tkw_plan_destroy(p);
	}
	free(text);
	return 0;
}
