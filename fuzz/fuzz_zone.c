/* SPDX-License-Identifier: MIT */
/*
 * fuzz_zone.c - libFuzzer's target: the bytes of a zone's file.
 *
 * A file that is accepted must answer for any time, and plans in its zone must
 * give times in order, the same in both directions.
 */
#include "fuzz_target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "calendar/zone_state.h"
#include "tickwheel/calendar.h"

static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_piece(const struct tkw_zone *z, int64_t at_ms)
{
	int64_t at_s = at_ms / 1000;
	struct tkw__piece piece = tkw__zone_piece(z, at_s);

	must(piece.begin_s <= at_s && at_s < piece.end_s,
	     "a time is not in its piece");
	must(abs(piece.offset_s) < TKW__OFFSET_END_S, "an offset is too large");
	must(piece.begin_s == INT64_MIN || (piece.mark_s < TKW__OFFSET_END_S &&
					    piece.mark_s > -TKW__OFFSET_END_S),
	     "a mark is too far away");
}

static void check_plan(struct tkw_zone *z, const char *text, int64_t at_ms)
{
	struct tkw_plan *p = NULL;
	int64_t next_ms = 0;
	int64_t back_ms = 0;

	must(tkw_plan_create(&p, text, z, NULL) == 0, "no plan");
	if (tkw_plan_next(p, at_ms, &next_ms) == 0) {
		must(next_ms > at_ms, "a later time is not later");
		must(tkw_plan_previous(p, next_ms + 1, &back_ms) == 0 &&
			     back_ms == next_ms,
		     "backwards, a time is another one");
		must(tkw_plan_previous(p, next_ms, &back_ms) < 0 ||
			     back_ms <= at_ms,
		     "a time was left out");
	}
	tkw_plan_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const int64_t times_ms[] = { INT64_MIN,
					    INT64_C(-2208988800000),
					    -1,
					    INT64_C(1774738800000),
					    INT64_C(4102444800000),
					    INT64_C(253402300799000),
					    INT64_MAX };
	struct tkw_zone *z = NULL;
	size_t i;

	if (tkw__zone_load(&z, "Fuzz", data, len) < 0)
		return 0;
	for (i = 0; i < sizeof(times_ms) / sizeof(times_ms[0]); i++)
		check_piece(z, times_ms[i]);
	for (i = 0; i < z->count; i++) {
		int64_t at_ms =
			z->change[i].at_s % INT64_C(253402300800) * 1000;

		check_piece(z, at_ms);
		if (i < 8) {
			check_plan(z, "*/7 * * * *", at_ms - 1);
			check_plan(z, "*/7 0-23 * * *", at_ms - 3600000);
		}
	}
	for (i = 1; i + 1 < sizeof(times_ms) / sizeof(times_ms[0]); i++) {
		check_plan(z, "30 2 * * *", times_ms[i]);
		check_plan(z, "*/30 * * * *", times_ms[i]);
		check_plan(z, "0 0 * 2 mon#5", times_ms[i]);
	}
	tkw_zone_close(z);
	return 0;
}
