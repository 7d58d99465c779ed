#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_demo_ledger.sh TKW_FAULTY_TIMER - tests that the ledger of `tkw demo`
# shows the faults of a timer. faulty_timer.c describes the faults.
set -u
tkw=$1
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"

demo()
{
	TKW_FAULT=$1 run "$tkw" demo --seconds 1 --pending 1000 --json
}

# sees FAULT FIELD RELATION VALUE: with this fault the demo must not be
# balanced, and the relation must hold. If VALUE is not a number, it is the name
# of a field.
sees()
{
	demo "$1"
	value=$4
	case $value in
	*[!0-9]*)
		value=$(field "$4")
		;;
	esac
	check "$1: exit status 1" ended 1
	check "$1: not balanced" [ "$(field balanced)" = false ]
	check "$1: $2 is $(field "$2"), $3 $4 ($value)" \
		[ "$(field "$2")" "$3" "$value" ]
}

demo none
check 'none: exit status 0' ended 0
check 'none: balanced' [ "$(field balanced)" = true ]
for key in early twice lost failed uneven pending dropped; do
	check "none: $key is 0" [ "$(field "$key")" -eq 0 ]
done
check 'none: sound' [ "$(field sound)" = true ]
check 'none: each wrong call is refused' \
	[ "$(field refused)" -eq "$(field wrong_calls)" ]
check 'none: there were wrong calls' [ "$(field wrong_calls)" -gt 0 ]

sees early early -gt 0
sees forget own_accepted -gt accepted
check 'forget: some are lost' [ "$(field lost)" -gt 0 ]
sees lose uneven -gt 0
check 'lose: some are lost' [ "$(field lost)" -gt 0 ]
check 'lose: some are still pending after the stop' [ "$(field pending)" != 0 ]
check 'lose: the checker finds it' [ "$(field sound)" = false ]
sees refuse failed -gt 0
sees twice own_fired -gt fired
check 'twice: some end twice, or fire in the time of the next' \
	[ $(($(field twice) + $(field early))) -gt 0 ]
sees keep own_cancelled -gt cancelled
check 'keep: some end twice, or fire in the time of the next' \
	[ $(($(field twice) + $(field early))) -gt 0 ]
sees deny own_cancelled -lt cancelled
check 'deny: some are lost' [ "$(field lost)" -gt 0 ]
sees agree refused -lt wrong_calls
sees hold early -gt 0
sees skip own_handed_over -lt handed_over
check 'skip: some are lost' [ "$(field lost)" -gt 0 ]
sees swap twice -gt 0
check 'swap: as many are lost' [ "$(field lost)" -eq "$(field twice)" ]
check 'swap: the sums agree' \
	[ "$(field own_handed_over)" -eq "$(field handed_over)" ]
sees cook own_fired -lt fired
check 'cook: the law itself holds' [ "$(field uneven)" -eq 0 ]
sees uneven uneven -gt 0
check 'uneven: the sums agree' \
	[ "$(field own_accepted)" -eq "$(field accepted)" ]
sees restart refused -lt wrong_calls
demo unsound
check 'unsound: exit status 1' ended 1
check 'unsound: sound is false' [ "$(field sound)" = false ]

TKW_FAULT=cook run "$tkw" demo --seconds 1 --pending 1000
check 'in words: exit status 1' ended 1
check 'in words: NOT BALANCED' [ "$(tail -n 1 "$out")" = ' NOT BALANCED' ]
check 'in words: the word alone is nowhere' \
	[ "$(grep -c '^ *balanced$' "$out")" -eq 0 ]
TKW_FAULT=unsound run "$tkw" demo --seconds 1 --pending 1000
check 'in words: what the checker found' grep -q 'a fault on purpose' "$out"
check 'in words: the report has one line more' \
	[ "$(sed -n '/^ in all /,$p' "$out" | wc -l)" -le 21 ]

# With this fault the checker delays the worker by a second. The demo runs the
# checker after it has read the figures, so its table and its histogram agree.
demo stall
check "stall: a late task is in both figures, or in none" \
	[ "$(field timer_late_max_ns)" -lt $(($(field late_max_ns) + 500000000)) ]

demo idle
check 'no thread: exit status 1' ended 1
check 'no thread: nothing on stdout' is_empty "$out"
check 'no thread: one line on stderr' one_line "$err"
check 'no thread: it says so' grep -q 'cannot start a thread' "$err"
finish
