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

# measure BUDGETS: a line "operation budget count" for each operation there is.
measure()
{
	for op in $("$program"); do
		budget=$(awk -v op="$op" '$1 == op { print $2 }' "$1")
		count=$(instructions "$op") || {
			echo "budget: $op was not counted" >&2
			return 1
		}
		echo "$op ${budget:-0.01} $count"
	done
}

check()
{
	measure "$1" >"$scratch/counts" || return 1
	awk -v margin=$margin '
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
	}' "$scratch/counts"
}

# must_fail WHAT BUDGETS
must_fail()
{
	if check "$2" >"$scratch/log" 2>&1; then
		cat "$scratch/log"
		echo "budget: let pass: $1" >&2
		exit 1
	fi
}

self_test()
{
	for factor in 0.9 1.1; do
		awk -v f=$factor '$1 == "cancel" { $2 *= f } { print }' "$1" \
			>"$scratch/moved"
		must_fail "a budget times $factor" "$scratch/moved"
		grep -q '^7 within, 1 not' "$scratch/log" || {
			cat "$scratch/log" >&2
			exit 1
		}
	done
	grep -v '^cancel ' "$1" >"$scratch/moved"
	must_fail 'an operation without a budget' "$scratch/moved"
	program=$scratch/broken
	printf '#!/bin/sh\n[ $# = 0 ] && echo schedule && echo cancel\n' >"$program"
	chmod +x "$program"
	must_fail 'operations that cannot be counted' "$1"
	echo 'budget: self-test passed'
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
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
