#!/bin/sh
# SPDX-License-Identifier: MIT
# plots.sh FILE.json DIR - draw what `tkw_bench --json FILE.json` wrote, as SVG:
# churn.svg, fire.svg, threads.svg, memory.svg, lateness.svg and idle.svg in DIR.
# A picture that the file has no rows for is not drawn, and named. The last line of a picture is the
# checksum of the file, by which scripts/figures sees what it shows.
set -eu
# There is more than ASCII on the axes.
LC_ALL=C.UTF-8
export LC_ALL
[ $# -eq 2 ] || {
	echo 'usage: plots.sh FILE.json DIR' >&2
	exit 2
}
json=$1
dir=$2
script=$(dirname "$0")/plots.gp
# Ours last: it is drawn over the others. (The legend begins with it.)
entrants='mutex_wheel_malloc mutex_wheel timerfd mutex_libevent mutex_libev mutex_libuv go stpe
	netty_100ms netty_1ms tickwheel'
quantiles='p10 p25 p50 p75 p90 p99 p99_9 max'

[ -r "$json" ] || {
	echo "plots.sh: cannot read $json" >&2
	exit 2
}
command -v gnuplot >/dev/null || {
	echo 'plots.sh: there is no gnuplot (Debian: gnuplot-nox)' >&2
	exit 1
}
mkdir -p "$dir"
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
trap 'exit 1' HUP INT TERM

# BENCH NAME MEDIAN MAX, of the timer's rows.
sed -n 's/^{"bench":"\(timer\/[^"]*\)","impl":"\([^"]*\)",.*"median":\([^,]*\),.*"max":\([^,]*\),.*/\1 \2 \3 \4/p' \
	"$json" >"$data/all"

# On how many processors it was measured.
cpus=$(sed -n 's/^{"date":.*"cpus":\([0-9]*\).*/\1/p' "$json" | tail -n 1)

# series PICTURE NAME: lines "X MEDIAN" from lines "X BENCH" on stdin, in
# PICTURE.NAME. What was not measured is left out.
series()
{
	awk -v entrant="$2" '
	NR == FNR { if ($2 == entrant) median[$1] = $3; next }
	$2 in median { print $1, median[$2] }
	' "$data/all" - >"$data/$1.$2"
	[ -s "$data/$1.$2" ] || rm "$data/$1.$2"
}

# lateness_of TICK: where the quantiles stand, and their names.
lateness_of()
{
	x=0
	for q in $quantiles; do
		x=$((x + 1))
		echo "$x timer/lateness_$q/1e3/$1"
	done
}

# early_of TICK: those that were early, in whatever run: to be early is no way to
# be less late.
early_of()
{
	awk -v bench="timer/lateness_early/1e3/$1" \
		'$1 == bench && $4 > 0 { printf " %s", $2 }' "$data/all"
}

for entrant in $entrants; do
	for n in 1e2 1e3 1e4 1e5 1e6 1e7; do
		echo "$n timer/churn/$n"
	done | series churn "$entrant"
	for n in 1e2 1e3 1e4 1e5 1e6 1e7; do
		echo "$n timer/fire_steady_cpu/$n"
	done | series fire "$entrant"
	for n in 1e3 1e4 1e5 1e6 1e7; do
		echo "$n timer/memory/$n"
	done | series memory "$entrant"
	for t in 1 2 4 8 16; do
		echo "$t timer/pair/${t}t"
	done | series threads "$entrant"
	lateness_of 10us | series lateness_10us "$entrant"
	lateness_of 1ms | series lateness_1ms "$entrant"
	echo "$entrant timer/idle_wakeups/1h" | series idle_wakeups "$entrant"
	echo "$entrant timer/idle_cpu/1h" | series idle_cpu "$entrant"
done

early_10us=$(early_of 10us)
early_1ms=$(early_of 1ms)
for entrant in $early_10us; do
	rm -f "$data/lateness_10us.$entrant"
done
for entrant in $early_1ms; do
	rm -f "$data/lateness_1ms.$entrant"
done

# draw PICTURE PANEL...: if all panels have data.
draw()
{
	picture=$1
	shift
	settings="data = '$data'; picture = '$picture'; cpus = ${cpus:-0}"
	settings="$settings; early_10us = '$early_10us'"
	settings="$settings; early_1ms = '$early_1ms'"
	for panel in "$@"; do
		found=
		for entrant in $entrants; do
			[ ! -f "$data/$panel.$entrant" ] || found="$found $entrant"
		done
		[ -n "$found" ] || {
			echo "plots.sh: no rows for $picture.svg in $json" >&2
			return 0
		}
		settings="$settings; $panel = '$found'"
	done
	# Not half a picture, if gnuplot fails.
	gnuplot -e "$settings; svg = '$data/svg'" "$script"
	echo "<!-- cksum of the results: $(cksum <"$json") -->" >>"$data/svg"
	mv "$data/svg" "$dir/$picture.svg"
	echo "$dir/$picture.svg"
}

draw churn churn
draw fire fire
draw threads threads
draw memory memory
draw lateness lateness_10us lateness_1ms
draw idle idle_wakeups idle_cpu
