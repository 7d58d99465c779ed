#!/bin/sh
# SPDX-License-Identifier: MIT
# tables.sh FILE.json - the timer's rows of what `tkw_bench --json FILE.json`
# wrote, as Markdown: a column for ours and for each rival, medians, "-" for what
# was left out. What docs/benchmarks.md shows is made by it.
set -eu
if [ $# -ne 1 ] || ! [ -r "$1" ]; then
	echo 'usage: tables.sh FILE.json' >&2
	exit 2
fi

# table TITLE BENCH...: a bench that the file does not have is left out.
table()
{
	title=$1
	shift
	sed -n 's/^{"bench":"\([^"]*\)","impl":"\([^"]*\)",.*"median":\([^,]*\),.*/\1 \2 \3/p' \
		"$json" | awk -v title="$title" -v benches="$*" '
	function shown(x) {
		if (x == "")
			return "-"
		if (x < 0 || x >= 100)
			return sprintf("%.0f", x)
		return sprintf("%.3g", x)
	}
	BEGIN {
		entrants = "tickwheel netty_1ms netty_100ms stpe go mutex_wheel " \
			"mutex_libev mutex_libuv mutex_libevent timerfd"
		columns = split(entrants, entrant, " ")
		rows = split(benches, bench, " ")
	}
	{ median[$1, $2] = $3; there[$1] = 1 }
	END {
		line = "| " title " |"
		rule = "|---|"
		for (c = 1; c <= columns; c++) {
			line = line " " entrant[c] " |"
			rule = rule "---:|"
		}
		print line "\n" rule
		for (r = 1; r <= rows; r++) {
			if (!(bench[r] in there))
				continue
			line = "| `" bench[r] "` |"
			for (c = 1; c <= columns; c++)
				line = line " " \
					shown(median[bench[r], entrant[c]]) " |"
			print line
		}
		print ""
	}'
}

json=$1
t=timer
table 'ns per operation' \
	$t/schedule/1t $t/schedule/2t $t/schedule/4t \
	$t/pair/1t $t/pair/2t $t/pair/4t $t/pair/8t \
	$t/pair_at/1t $t/pair_at/2t $t/pair_at/4t $t/cross_cancel/2t \
	$t/churn/1e2 $t/churn/1e3 $t/churn/1e4 $t/churn/1e5 $t/churn/1e6 \
	$t/churn/1e7 $t/fire/1e6 $t/create/1
table 'ns of processor time' \
	$t/schedule_cpu/1t $t/schedule_cpu/2t $t/schedule_cpu/4t \
	$t/pair_cpu/1t $t/pair_cpu/2t $t/pair_cpu/4t $t/pair_cpu/8t \
	$t/fire_cpu/1e6 $t/create_cpu/1
for size in 1e3/10us 1e3/1ms 1e5/10us 1e5/1ms; do
	table "µs late, $size" \
		$t/lateness_p50/$size $t/lateness_p99/$size \
		$t/lateness_p99_9/$size $t/lateness_max/$size \
		$t/lateness_early/$size
done
table 'at rest, in 10 s' \
	$t/idle_wakeups/1h $t/idle_cpu/1h $t/far_wakeups/1e6 $t/far_cpu/1e6
table 'a herd (µs; drain: ms)' \
	$t/herd_p99/1e6 $t/herd_max/1e6 $t/herd_drain/1e6 \
	$t/herd_p99/1e7 $t/herd_max/1e7 $t/herd_drain/1e7
table 'memory (bytes; after: KiB), and lost at a stop' \
	$t/memory/0 $t/memory/1e6 $t/memory_after/1e6 $t/stop_lost/2t
