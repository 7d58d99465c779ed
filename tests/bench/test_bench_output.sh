#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_output.sh TKW_BENCH - runs the wheel's rows briefly, and tests what
# is printed, how many timers fired, and which arguments are refused. It judges
# no figure.
# shellcheck disable=SC2317 # check() calls the functions
set -u
bench=$1
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"
json=$scratch/lines.json
unset TKW_COMMIT

tiny()
{
	run "$bench" --quick --runs 1 --sizes 1e3 "$@"
}

# of ROW NAME: prints the line of an entrant in a row.
of()
{
	grep "^{\"bench\":\"$1\",\"impl\":\"$2\"," "$json"
}

# Is each line a flat JSON object?
all_valid()
{
	value='("[^"\\]*"|-?[0-9]+(\.[0-9]+)?|null)'
	! grep -Evx "\{\"[a-z_]+\":$value(,\"[a-z_]+\":$value)*\}" "$json"
}

# is_origin COMMIT: Does the first line, and no other line, have a date, this
# commit and the machine?
is_origin()
{
	head -n 1 "$json" >"$scratch/origin"
	[ "$(grep -c '"date"' "$json")" -eq 1 ] &&
		grep -Eqx '\{"date":"20[0-9][0-9]-[01][0-9]-[0-3][0-9]",.*\}' \
			"$scratch/origin" &&
		[ "$(field commit "$scratch/origin")" = "$1" ] &&
		[ "$(field cpus "$scratch/origin")" -eq "$(getconf _NPROCESSORS_ONLN)" ] &&
		[ -n "$(field cpu "$scratch/origin")" ] &&
		field kernel "$scratch/origin" | grep -q '^Linux [0-9.]*$' &&
		field compiler "$scratch/origin" | grep -q '[0-9]$'
}

# has_keys ROW NAME KEY...: Does this line have the keys, with values?
has_keys()
{
	of "$1" "$2" >"$scratch/line" || return 1
	shift 2
	for key in "$@"; do
		grep -q "\"$key\":[^n]" "$scratch/line" || return 1
	done
}

# fired ROW NUMBER: Did each entrant that reports it fire NUMBER timers, and all
# the same ones?
fired()
{
	grep "^{\"bench\":\"$1\"," "$json" | grep '"fired"' |
		sed 's/.*"fired":\([0-9]*\),"checksum":"\([0-9a-f]*\)".*/\1 \2/' \
			>"$scratch/fired"
	[ "$(wc -l <"$scratch/fired")" -ge 3 ] &&
		[ "$(sort -u "$scratch/fired" | wc -l)" -eq 1 ] &&
		grep -q "^$2 " "$scratch/fired"
}

# refused WHAT ARG...: the benchmark must refuse the arguments, with exit status
# 2, one line on stderr and nothing on stdout.
refused()
{
	what=$1
	shift
	run "$bench" "$@"
	check "$what: exit status 2" ended 2
	check "$what: one line" [ "$(wc -l <"$err")" -eq 1 ]
	check "$what: nothing on stdout" [ ! -s "$out" ]
}

tiny --json "$json" wheel/
check 'tiny run: exit status 0' ended 0
check 'tiny run: JSON lines' [ -s "$json" ]
check 'tiny run: each line is valid JSON' all_valid
check 'tiny run: the date, the commit and the machine' is_origin unknown
check 'tiny run: tables' grep -q '^\* tickwheel ' "$out"
check 'tiny run: progress' grep -q 'run 1 of 1' "$err"

"$bench" --quick --sizes 1e3 --list wheel/ >"$scratch/list"
rows=$(sed '/^$/,$d' "$scratch/list")
check 'nine rows' [ "$(echo "$rows" | wc -l)" -eq 9 ]
for row in $rows; do
	check "$row: summary" has_keys "$row" summary best_rival ratio ratio_min
	check "$row: tickwheel" has_keys "$row" tickwheel unit median min max \
		runs bytes_per_timer fired checksum
	check "$row: tickwheel_inline" has_keys "$row" tickwheel_inline median
	check "$row: tickwheel_hashed" has_keys "$row" tickwheel_hashed median
	check "$row: heap" has_keys "$row" heap median
done
check 'null has its line' has_keys wheel/rpc/fifo/1e4 null median

check 'schedule: all are pending' fired wheel/schedule/uniform/1e3 1000
check 'cancel: none is pending' fired wheel/cancel/random/1e3 0
check 'churn: all are pending' fired wheel/churn/uniform/1e3 1000
check 'extend: all are pending' fired wheel/extend/random/1e3 1000
check 'hot: all are pending' fired wheel/extend/hot/1e4 10000
check 'rpc: all are pending' fired wheel/rpc/fifo/1e4 10000
check 'expire: all have fired' fired wheel/expire/uniform/1e3 1000
check 'ticks: all are pending' fired wheel/ticks/empty 100000
check 'jump: all are pending' fired wheel/jump/10y/1e3 1000

# An entrant that was not built or not run must be named.
for entrant in libev libuv libevent libevent_common glib asio; do
	check "$entrant: a line, or the reason why not" \
		grep -Eq "^  $entrant +([0-9.]+ |skipped: )" "$out"
done

sum_of()
{
	tiny --impl heap --json - --seed "$1" wheel/expire
	field checksum
}
check 'a seed replays' [ "$(sum_of 5)" = "$(sum_of 5)" ]
check 'another seed is another load' [ "$(sum_of 5)" != "$(sum_of 6)" ]

tiny --impl tickwheel,heap --json - rpc 'wheel/churn/*'
check 'filters: exit status 0' ended 0
check 'filters: a part and a pattern choose two rows' \
	[ "$(grep -c '"summary"' "$out")" -eq 2 ]
check '--impl: chooses two' [ "$(grep -c '"median"' "$out")" -eq 4 ]
check '--json -: the origin, too' grep -q '^{"date"' "$out"
check '--json -: no tables' [ -z "$(grep -v '^{' "$out")" ]
tiny --impl heap --json - rpc
check 'without tickwheel: no ratio' grep -q '"ratio":null' "$out"

TKW_COMMIT='v0.2-5-g"12\34
dirty' tiny --impl heap --json "$json" rpc
check 'a commit that is none: one line of valid JSON' all_valid
check 'a commit that is none: what can be said of it' is_origin v0.2-5-g1234
TKW_COMMIT=v0.2-5-g1234-dirty tiny --impl heap --json "$json" rpc
check 'the commit: as given' is_origin v0.2-5-g1234-dirty

run "$bench" --help
check '--help: exit status 0' ended 0
check '--help: names its options' grep -q -- '--json FILE' "$out"

refused 'unknown option' --fast
refused 'flag with a value' --quick=1
refused 'no value' --runs
refused 'zero runs' --runs 0
refused 'too many runs' --runs=101
refused 'too many long runs' --runs 5,101
refused 'half a pair of runs' --runs 5,
refused 'three numbers of runs' --runs 5,3,1
refused 'crooked number' --seed 12x
refused 'crooked size' --sizes 1e3,
refused 'huge size' --sizes 1e9
refused 'unknown entrant' --impl libfoo
refused 'no patience' --patience 0
refused 'one file' --compare x
refused 'three files' --compare x y z
refused 'two files and an option' --compare x y --quick
refused 'an option and two files' --quick --compare x y
refused 'no such row' wheel/none
refused 'no such folder' --quick --json "$scratch/none/x" rpc
refused 'an empty file name' --json= rpc
refused 'an empty folder name' --rivals= rpc

finish
