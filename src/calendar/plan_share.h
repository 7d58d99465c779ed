/* SPDX-License-Identifier: MIT */
/* plan_share.h - what src/patterns needs of a plan besides calendar.h. */
#ifndef TKW_CALENDAR_PLAN_SHARE_H
#define TKW_CALENDAR_PLAN_SHARE_H

#include <stdbool.h>

#include "tickwheel/calendar.h"

/* Shares a plan: its memory stays until it was destroyed once more. */
struct tkw_plan *tkw__plan_ref(const struct tkw_plan *p);

/* The zone of a plan, which lives as long as the plan. NULL for UTC. */
const struct tkw_zone *tkw__plan_zone(const struct tkw_plan *p);

/* True if both have the same text, and zones of the same name. */
bool tkw__plan_is_same(const struct tkw_plan *a, const struct tkw_plan *b);

#endif /* TKW_CALENDAR_PLAN_SHARE_H */
