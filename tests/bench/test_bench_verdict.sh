#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_verdict.sh TKW_BENCH_FAULTY - tests that the benchmark fails if the
# wheel has a fault. faulty_wheel.c describes the faults.
set -u
bench=$1
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"

# measure FAULT ROW: runs the row with this fault in the wheel.
measure()
{
	TKW_FAULT=$1 run "$bench" --quick --runs 1 --sizes 1e3 "wheel/$2"
}

# sees FAULT ROW: the run must fail, and name the row and both entrants.
sees()
{
	measure "$1" "$2"
	check "$1: exit status 1" ended 1
	check "$1: the row is named" grep -q "FAILED wheel/$2" "$err"
	check "$1: both are named" grep -Eq 'tickwheel.*heap' "$err"
}

for row in schedule cancel churn extend rpc expire ticks jump; do
	measure none "$row"
	check "none: $row, exit status 0" ended 0
done

sees early expire
sees late expire
sees never expire
sees forget schedule
sees refuse schedule
sees twice expire
sees keep cancel
sees keep churn
sees keep rpc

finish
