#!/bin/sh
# SPDX-License-Identifier: MIT
# budget.sh PROGRAM BUDGETS [--measure] | --self-test PROGRAM BUDGETS - count the
# instructions of each operation by callgrind, and fail when one needs more than
# its budget, or so much less that the budget should be lowered.
set -eu

case ${COMPILER:-} in
'GNU 12.'*x86_64 | '')
	;;
*)
	echo "skipped: the budgets are for gcc 12 on x86_64, not $COMPILER"
	exit 77
	;;
esac
command -v valgrind >/dev/null || {
	echo 'skipped: no valgrind'
	exit 77
}

program=
margin=5 # per cent, either way: another patch level of the compiler

# instructions OPERATION: per operation, with two decimals.
instructions()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		--toggle-collect=measured "$program" "$1" 2>&1 |
		awk -v op="$1" '
		$1 == op { n = $2 }
		/Collected/ { sub(/.*: /, ""); total = $1 }
		END {
			if (!n || !total)
				exit 1
			printf "%.2f\n", total / n
		}'
}

measure()
{
	grep -v '^#' "$1" | while read -r op budget; do
		count=$(instructions "$op") || {
			echo "$op: not counted" >&2
			exit 1
		}
		echo "$op $budget $count"
	done
}

check()
{
	measure "$1" | awk -v margin=$margin '
	{
		change = ($3 / $2 - 1) * 100
		verdict = "within"
		if (change > margin) {
			verdict = "OVER ITS BUDGET"
			failed++
		} else if (change < -margin) {
			verdict = "UNDER: lower the budget, to keep what was won"
			failed++
		}
		printf "%-12s budget %7.2f  counted %7.2f  %+6.1f %%  %s\n", \
			$1, $2, $3, change, verdict
		seen++
	}
	END {
		printf "%d within, %d not\n", seen - failed, failed
		exit failed > 0 || seen == 0
	}'
}

# With budgets moved past the margin each line must fail, and none pass.
self_test()
{
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	for factor in 0.9 1.1; do
		grep '^schedule ' "$1" |
			awk -v f=$factor '{ print $1, $2 * f }' >"$scratch/moved"
		if check "$scratch/moved"; then
			echo "budget: a budget times $factor was let pass" >&2
			exit 1
		fi
	done
	echo 'nothing 1' >"$scratch/moved"
	if check "$scratch/moved"; then
		echo 'budget: an operation that is not there was let pass' >&2
		exit 1
	fi
	echo 'budget: self-test passed'
}

if [ "${1:-}" = --self-test ]; then
	program=$2
	self_test "$3"
	exit
fi
program=${1:?the program}
budgets=${2:?the budgets}
if [ "${3:-}" = --measure ]; then
	measure "$budgets"
else
	check "$budgets"
fi
