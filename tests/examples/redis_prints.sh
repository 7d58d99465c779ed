#!/bin/sh
# SPDX-License-Identifier: MIT
# redis_prints.sh MODULE COMMAND... - runs an example with a server of its own,
# and compares what it prints with the lines of the standard input.
set -u
here=$(dirname "$0")
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
trap 'exit 1' HUP INT TERM

sh "$here/with_redis.sh" "$@" </dev/null >"$printed"
status=$?
if [ "$status" -ne 0 ]; then
	cat "$printed"
	exit "$status"
fi
diff - "$printed"
