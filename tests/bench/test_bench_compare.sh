#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_compare.sh TKW_BENCH - tests tkw_bench --compare: its verdicts, and
# what it says about files that are no results of the benchmark.
set -u
bench=$1
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"
old=$scratch/old.json
new=$scratch/new.json

# line BENCH NAME MEDIAN MIN MAX [RUNS]: prints a line of results.
line()
{
	printf '{"bench":"%s","impl":"%s","unit":"ns/op",' "$1" "$2"
	printf '"median":%s,"min":%s,"max":%s,' "$3" "$4" "$5"
	printf '"runs":%s,"seed":1}\n' "${6:-7}"
}

summary()
{
	printf '{"bench":"%s","impl":"summary","best_rival":null,' "$1"
	printf '"ratio":null,"ratio_min":null}\n'
}

origin()
{
	printf '{"date":"%s","commit":"1234567","cpu":"x",' "$1"
	printf '"cpus":2,"kernel":"Linux 6.1","compiler":"gcc 12"}\n'
}

compare()
{
	run "$bench" --compare "$old" "$new"
}

# verdict BENCH NAME VERDICT [CHANGE]: Does the table have this verdict?
verdict()
{
	grep -Eq "^$1 +$2 .* ${4:-[^ ]+} +$3\$" "$out"
}

last_line()
{
	[ "$(tail -n 1 "$out")" = "$1" ]
}

# malformed WHAT LINE: the benchmark must refuse a file whose second line is
# LINE.
malformed()
{
	{
		line a/1 tickwheel 1 1 1
		printf '%b' "$2"
	} >"$new"
	compare
	check "$1: exit status 2" ended 2
	check "$1: one line" one_line "$err"
	check "$1: the file and the line" grep -q "$new: line 2: " "$err"
	check "$1: no table" is_empty "$out"
}

{
	origin 2026-11-16
	line b/1 tickwheel 100.000 90.000 110.000
	line b/1 libev 100.000 90.000 110.000
	line b/1 libuv 100.000 90.000 110.000
	summary b/1
	line a/1 tickwheel 100.000 90.000 300.000
	line c/1 tickwheel 0.000 0.000 0.000
	line d/old go 1.000 1.000 1.000
} >"$old"
{
	line a/1 tickwheel 200.000 150.000 250.000
	line b/1 libev 150.000 120.000 160.000
	line b/1 libuv 150.000 95.000 160.000
	line b/1 tickwheel 50.000 40.000 60.000
	line c/1 tickwheel 0.000 0.000 0.000
	line d/new go 1.000 1.000 1.000
	origin 2026-11-17
	summary b/1
} >"$new"
compare
check 'nothing of ours is slower: exit status 0' ended 0
check 'beyond the spread: faster' verdict b/1 tickwheel faster '-50.0%'
check 'beyond the spread: slower' verdict b/1 libev slower '\+50.0%'
check 'the old median within the new spread: the same' verdict b/1 libuv =
check 'the new median within the old spread: the same' verdict a/1 tickwheel =
check 'from 0 to 0: the same' verdict c/1 tickwheel = -
check 'a row that is gone' grep -q "^d/old  *go  *only in $old\$" "$out"
check 'a row that is new' grep -q "^d/new  *go  *only in $new\$" "$out"
check 'the last line counts' last_line '5 compared: 1 faster, 1 slower, 3 =, 0 ?; of tickwheel: 1 faster, 0 slower, 2 =, 0 ?'
check 'sorted' [ "$(sed '1d;$d' "$out" | cut -d ' ' -f 1 | tr '\n' ' ')" = \
	'a/1 b/1 b/1 b/1 c/1 d/new d/old ' ]

line c/1 tickwheel 1.000 1.000 1.000 >"$new"
compare
check 'ours is slower: exit status 1' ended 1
check 'ours is slower: said' verdict c/1 tickwheel slower -

line c/1 tickwheel 1.000 1.000 1.000 2 >"$new"
compare
check 'two runs have no spread: exit status 0' ended 0
check 'two runs have no spread: said' verdict c/1 tickwheel '\?' -
check 'two runs have no spread: counted' last_line '1 compared: 0 faster, 0 slower, 0 =, 1 ?; of tickwheel: 0 faster, 0 slower, 0 =, 1 ?'
run "$bench" --compare "$new" "$old"
check 'two old runs: the same' verdict c/1 tickwheel '\?'
line c/1 tickwheel 1.000 1.000 1.000 3 >"$new"
compare
check 'three runs have one: exit status 1' ended 1

good=$(line a/2 go 1 1 1)
malformed 'no JSON' 'hello\n'
malformed 'an empty line' '\n'
malformed 'a line cut off' "${good%\}}\\n"
malformed 'no end of line' "$good"
malformed 'no number' "$(line a/2 go 1x 1 1)\\n"
malformed 'not a number' "$(line a/2 go nan 1 1)\\n"
malformed 'a number as text' "$(line a/2 go '"1"' 1 1)\\n"
malformed 'an empty date' '{"date":""}\n'
malformed 'no median' '{"bench":"a/2","impl":"go","unit":"ns/op"}\n'
malformed 'no runs' "$(line a/2 go 1 1 1 0)\\n"
malformed 'the median beyond the max' "$(line a/2 go 3 1 2)\\n"
malformed 'something behind' "$good,\\n"
malformed 'a zero byte' 'x\0000y\n'
malformed 'a long line' "$(head -c 5000 /dev/zero | tr '\0' x)\\n"

{
	line a/1 tickwheel 1 1 1
	line a/1 tickwheel 2 2 2
} >"$new"
compare
check 'a row twice: exit status 2' ended 2
check 'a row twice: named' grep -q 'a/1 of tickwheel is there twice' "$err"
: >"$new"
compare
check 'an empty file: exit status 2' ended 2
origin 2026-11-16 >"$new"
compare
check 'no figure: exit status 2' ended 2
rm "$new"
compare
check 'no file: exit status 2' ended 2
check 'no file: one line' one_line "$err"
run "$bench" --compare "$scratch" "$old"
check 'a folder: exit status 2' ended 2

finish
