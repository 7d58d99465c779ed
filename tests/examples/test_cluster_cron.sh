#!/bin/sh
# SPDX-License-Identifier: MIT
# test_cluster_cron.sh MODULE PROGRAM - runs cluster_cron with a server of its
# own. docs/redis.md shows these lines, too.
for port in abc 6379x 65536 ''; do
	[ "$("$2" "$port" 2>&1)" = "cluster_cron: '$port' is not a port" ] || {
		echo "port '$port': no message"
		exit 1
	}
done
exec sh "$(dirname "$0")/redis_prints.sh" "$@" <<'LINES'
3 processes wait for the times of one plan
one is killed while it runs time 4
time 1: ran 1 time, by attempt 1
time 2: ran 1 time, by attempt 1
time 3: ran 1 time, by attempt 1
time 4: ran 1 time, by attempt 2
time 5: ran 1 time, by attempt 1
time 6: ran 1 time, by attempt 1
time 7: ran 1 time, by attempt 1
time 8: ran 1 time, by attempt 1
LINES
