#!/bin/sh
# SPDX-License-Identifier: MIT
# test_redis_orders.sh MODULE COMMAND... - runs one of the programs redis_orders
# with a server of its own. All of them must print the same. docs/redis.md shows
# these lines, too.
set -u
here=$(dirname "$0")
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
trap 'exit 1' HUP INT TERM

sh "$here/with_redis.sh" "$@" >"$printed"
status=$?
if [ "$status" -ne 0 ]; then
	cat "$printed"
	exit "$status"
fi
diff - "$printed" <<'LINES'
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
