#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_tables.sh TABLES_SH - tables of made-up figures.
# shellcheck disable=SC2016 # backquotes are Markdown's
set -u
tables=$1
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"
json=$scratch/lines.json

# line BENCH NAME MEDIAN
line()
{
	printf '{"bench":"%s","impl":"%s","unit":"ns/op",' "$1" "$2"
	printf '"median":%s,"min":1.000,"max":9.000,"runs":7}\n' "$3"
}

has_line()
{
	grep -qxF "$1" "$out"
}

run sh "$tables"
check 'no arguments: exit status 2' ended 2
run sh "$tables" "$scratch/none.json"
check 'no file: exit status 2' ended 2

{
	line timer/pair/1t tickwheel 20.125
	line timer/pair/1t go 150.600
	printf '{"bench":"timer/pair/1t","impl":"summary","best_rival":"go",'
	printf '"ratio":7.483,"ratio_min":1.000}\n'
	line timer/pair/2t go 0.000
	line timer/idle_cpu/1h tickwheel 0.012
	line wheel/rpc/fifo/1e4 tickwheel 3.000
} >"$json"
run sh "$tables" "$json"
check 'two entrants: exit status 0' ended 0
check 'two entrants: the others, too, have a column' has_line "$(
	printf '| ns per operation | tickwheel | netty_1ms | netty_100ms | stpe '
	printf '| go | mutex_wheel | mutex_libev | mutex_libuv | mutex_libevent '
	printf '| timerfd |'
)"
check 'two entrants: their medians, "-" for the others' has_line \
	'| `timer/pair/1t` | 20.1 | - | - | - | 151 | - | - | - | - | - |'
check 'one entrant: "-" for ours; 0 is a figure' has_line \
	'| `timer/pair/2t` | - | - | - | - | 0 | - | - | - | - | - |'
check 'another table' has_line \
	'| `timer/idle_cpu/1h` | 0.012 | - | - | - | - | - | - | - | - | - |'
check 'no other row' [ "$(grep -c '^| `' "$out")" -eq 3 ]

finish
