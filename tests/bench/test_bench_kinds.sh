#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_kinds.sh COMMAND NAME... - tests a program that the benchmark asks
# for figures. The test sends a small request of every kind. The program must
# answer "done" with all figures of that kind, or "skip" with a reason. To an
# unknown kind it must answer "fail". The test judges only two figures: with
# tickwheel no timeout may be early, and none may be lost.
set -u
command=$1
shift
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"

# Prints requests, each with the figures that its answer must have.
kinds()
{
	cat <<-'END'
	schedule threads=2 ops=1000 : ns cpu_ns
	pair threads=2 ops=1000 : ns cpu_ns
	pair threads=2 ops=1000 at=1 : ns cpu_ns
	reschedule threads=2 ops=1000 : ns cpu_ns
	churn threads=2 n=100 ops=1000 : ns
	cross_cancel ops=1000 : ns
	fire n=100 ms=200 : ns cpu_ns
	fire n=100 longest_ms=4 ms=200 : ns cpu_ns
	lateness n=100 tick_ns=10000 : p10 p25 p50 p75 p90 p99 p99_9 max early
	idle ms=200 : wakeups cpu_ms
	far n=1000 ms=200 : wakeups cpu_ms
	herd n=200000 : p99 max drain_ms
	create ops=100 : ns cpu_ns
	unused n=10 : bytes
	memory n=1000 : bytes after_kb
	stop threads=2 rounds=3 : accepted lost
	END
	# Only the rivals in C know these kinds.
	case $command in
	*tkw_bench_rival*)
		echo 'request threads=2 ops=1000 : ns cpu_ns'
		echo 'delayed threads=2 ops=1000 crowd=10 : ns cpu_ns'
		echo 'expire threads=2 window=100 : cpu_ns'
		for loop in 1 '2 same=1' 2 3; do
			echo "extend loop=$loop n=500 ops=2500 : ns cpu_ns"
		done
		;;
	esac
}

# block N: writes the answer to the N-th request to $scratch/answer.
block()
{
	awk -v n="$1" '
	BEGIN { i = 1 }
	i == n { print }
	/^(done|skip|fail)/ { i++ }
	' "$scratch/answers" >"$scratch/answer"
}

has_figures()
{
	case $entrant,$request in
	# In a small herd, maybe no call is made while the timeouts fire.
	tickwheel,herd*) may_skip=yes ;;
	# The loop's library may be missing.
	tickwheel,extend*) may_skip=yes ;;
	tickwheel,*) may_skip= ;;
	*) may_skip=yes ;;
	esac
	[ -z "$may_skip" ] || ! grep -q '^skip ..*' "$scratch/answer" || return 0
	[ "$(tail -n 1 "$scratch/answer")" = "done" ] || return 1
	for figure in $1; do
		grep -qE "^figure $figure -?[0-9.]+\$" "$scratch/answer" || return 1
	done
}

is_nothing()
{
	grep -qE "^figure $1 0(\\.0+)?\$" "$scratch/answer"
}

kinds >"$scratch/kinds"
for entrant in "$@"; do
	# shellcheck disable=SC2086 # words
	{
		sed 's/ :.*//' "$scratch/kinds"
		echo 'juggle n=3'
	} | timeout 300 $command "$entrant" >"$scratch/answers"
	check "$entrant: ends at the end of its input" [ $? -eq 0 ]
	n=0
	while IFS=: read -r request figures; do
		n=$((n + 1))
		block $n
		check "$entrant: $request" has_figures "$figures"
		case $entrant,$request in
		tickwheel,lateness*)
			check "$entrant: none is early" is_nothing early
			;;
		tickwheel,stop*)
			check "$entrant: none is lost" is_nothing lost
			;;
		esac
	done <"$scratch/kinds"
	block $((n + 1))
	check "$entrant: an unknown kind" grep -q '^fail ' "$scratch/answer"
done
finish
