#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_plots.sh PLOTS_SH - tests plots.sh with made-up figures. It does
# not judge how the pictures look.
set -u
plots=$1
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"
json=$scratch/lines.json

# row BENCH MEDIAN: prints a row of two entrants.
row()
{
	for entrant in tickwheel netty_1ms; do
		printf '{"bench":"%s","impl":"%s","unit":"x",' "$1" $entrant
		[ $entrant = tickwheel ] || set -- "$1" "${2}0"
		printf '"median":%s,"min":0,"max":9,"runs":7,"seed":1}\n' "$2"
	done
}

# early TICK NUMBER: prints a line that says that NUMBER timeouts of netty_1ms
# were early in the worst run.
early()
{
	printf '{"bench":"timer/lateness_early/1e3/%s","impl":"netty_1ms",' "$1"
	printf '"unit":"x","median":0,"min":0,"max":%s,"runs":7}\n' "$2"
}

# says NAME TEXT: Does the picture contain the text?
says()
{
	grep -q "$2" "$scratch/svg/$1.svg"
}

# drawn NAME: Is there a complete picture, with both entrants?
drawn()
{
	grep -qx '</svg>' "$scratch/svg/$1.svg" &&
		grep -q tickwheel "$scratch/svg/$1.svg" &&
		grep -q netty_1ms "$scratch/svg/$1.svg"
}

run sh "$plots"
check 'no arguments: exit status 2' ended 2
run sh "$plots" "$scratch/none.json" "$scratch/svg"
check 'no file: exit status 2' ended 2
if ! command -v gnuplot >/dev/null; then
	unchecked 'the pictures: no gnuplot'
	finish
fi

for n in 1e2 1e3 1e4; do
	row timer/churn/$n 50
done >"$json"
run sh "$plots" "$json" "$scratch/svg"
check 'some rows: exit status 0' ended 0
check 'some rows: their picture' drawn churn
check 'some rows: the others are named' [ "$(grep -c 'no rows' "$err")" -eq 5 ]
check 'some rows: no other picture' \
	[ "$(find "$scratch/svg" -type f | wc -l)" -eq 1 ]

{
	printf '{"date":"2026-11-16","commit":"1234567","cpu":"x",'
	printf '"cpus":96,"kernel":"Linux 6.1","compiler":"gcc 12"}\n'
	for t in 1 2 4 8 16; do
		row timer/pair/${t}t 60
	done
	for n in 1e2 1e5 1e7; do
		row timer/fire_steady_cpu/$n 70
		row timer/memory/$n 64
	done
	for q in p10 p25 p50 p75 p90 p99 p99_9 max; do
		row timer/lateness_$q/1e3/10us 30
		row timer/lateness_$q/1e3/1ms -3
	done
	row timer/idle_wakeups/1h 0
	early 10us 0
	early 1ms 0
	row timer/idle_cpu/1h 12
} >>"$json"
run sh "$plots" "$json" "$scratch/svg"
check 'all rows: exit status 0' ended 0
check 'all rows: nothing to complain about' is_empty "$err"
for picture in churn fire threads memory lateness idle; do
	check "all rows: $picture" drawn $picture
done
check 'threads: on how many CPUs' says threads 'on 96 CPUs'
check 'the last line: which results it shows' [ \
	"$(tail -n 1 "$scratch/svg/idle.svg")" = \
	"<!-- cksum of the results: $(cksum <"$json") -->" ]
check 'idle: what is counted of go' says idle 'go: of the whole process'
check 'lateness: nobody is left out' [ -z "$(says lateness early && echo x)" ]

early 10us 2 >>"$json"
run sh "$plots" "$json" "$scratch/svg"
check 'an early one: exit status 0' ended 0
check 'an early one: named' says lateness 'left out, early: netty_1ms'
check 'an early one: once' [ "$(grep -c early "$scratch/svg/lateness.svg")" -eq 1 ]
check 'an early one: the other picture has it' drawn lateness

finish
