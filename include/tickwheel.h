/* SPDX-License-Identifier: MIT */
/* tickwheel.h - includes every public header of tickwheel */
#ifndef TICKWHEEL_H
#define TICKWHEEL_H

#include "tickwheel/calendar.h" /* IWYU pragma: export */
#include "tickwheel/channel.h"  /* IWYU pragma: export */
#include "tickwheel/delayed.h"  /* IWYU pragma: export */
#include "tickwheel/exec.h"     /* IWYU pragma: export */
#include "tickwheel/group.h"    /* IWYU pragma: export */
#include "tickwheel/job.h"      /* IWYU pragma: export */
#include "tickwheel/lease.h"    /* IWYU pragma: export */
#include "tickwheel/repeat.h"   /* IWYU pragma: export */
#include "tickwheel/request.h"  /* IWYU pragma: export */
#include "tickwheel/retry.h"    /* IWYU pragma: export */
#include "tickwheel/stats.h"    /* IWYU pragma: export */
#include "tickwheel/timer.h"    /* IWYU pragma: export */
#include "tickwheel/version.h"  /* IWYU pragma: export */
#include "tickwheel/wheel.h"    /* IWYU pragma: export */

#endif /* TICKWHEEL_H */
