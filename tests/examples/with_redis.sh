#!/bin/sh
# SPDX-License-Identifier: MIT
# with_redis.sh MODULE COMMAND... - starts a server with the module, runs the
# command with the port of the server as its last argument, and stops the server.
# The exit status is that of the command, or 77 if there is no server. If the
# command is a Python program, it is run by a Python that has the package redis.
set -u
# shellcheck source=../../scripts/redis_server.sh
. "$(dirname "$0")/../../scripts/redis_server.sh"
module=$1
shift

why=$(redis_find) || {
	echo "skipped: $why"
	exit 77
}
redis_find
case $1 in
*.py)
	for python in python3 /usr/bin/python3 none; do
		! "$python" -c 'import redis' 2>/dev/null || break
	done
	[ "$python" != none ] || {
		echo 'skipped: no python3-redis'
		exit 77
	}
	set -- "$python" "$@"
	;;
esac
trap redis_stop EXIT
trap 'exit 1' HUP INT TERM
redis_start "$module" || {
	echo 'with_redis: the server does not start:' >&2
	[ -z "$redis_dir" ] || cat "$redis_dir/server.log" >&2
	exit 1
}
"$@" "$redis_port"
