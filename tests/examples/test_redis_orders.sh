#!/bin/sh
# SPDX-License-Identifier: MIT
# test_redis_orders.sh MODULE COMMAND... - runs one of the programs redis_orders
# with a server of its own. All of them must print the same. docs/redis.md shows
# these lines, too.
exec sh "$(dirname "$0")/redis_prints.sh" "$@" <<'LINES'
placed: order 1
placed: order 2
placed: order 3
paid: order 1
closed: order 2
order 3, attempt 1: the till is locked
order 3, attempt 2: the till is locked
dead: order 3 after 2 attempts, the till is locked
revived: 1
closed: order 3
LINES
