#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_virtual_ledger.sh TKW_FAULTY - tests that the ledger of `tkw demo
# --virtual` shows the faults of a wheel. faulty_wheel.c describes the faults.
set -u
tkw=$1
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"

demo()
{
	TKW_FAULT=$1 run "$tkw" demo --virtual --count 20000 --json
}

# sees FAULT FIELD: the field must not be 0. Without the fault it is 0.
sees()
{
	demo "$1"
	check "$1: exit status 1" ended 1
	check "$1: not balanced" [ "$(field balanced)" = false ]
	check "$1: $2 is $(field "$2"), not 0" [ "$(field "$2")" -gt 0 ]
}

demo none
check 'none: exit status 0' ended 0
check 'none: balanced' [ "$(field balanced)" = true ]
for key in early late twice lost out_of_order pending; do
	check "none: $key is 0" [ "$(field "$key")" -eq 0 ]
done
check 'none: sound' [ "$(field sound)" = true ]
check 'none: each wrong call is refused' \
	[ "$(field refused)" -eq "$(field wrong_calls)" ]
check 'none: there were wrong calls' [ "$(field wrong_calls)" -gt 0 ]

sees early early
sees late late
sees never pending
sees forget lost
sees jump out_of_order
sees keep twice
sees twice twice

demo refuse
check 'refuse: exit status 1' ended 1
check 'refuse: more calls refused than were wrong' \
	[ "$(field refused)" -gt "$(field wrong_calls)" ]
demo agree
check 'agree: exit status 1' ended 1
check 'agree: fewer calls refused than were wrong' \
	[ "$(field refused)" -lt "$(field wrong_calls)" ]
demo unsound
check 'unsound: exit status 1' ended 1
check 'unsound: sound is false' [ "$(field sound)" = false ]

TKW_FAULT=late run "$tkw" demo --virtual --count 20000
check 'in words: exit status 1' ended 1
check 'in words: NOT BALANCED' grep -q '^ NOT BALANCED$' "$out"
TKW_FAULT=unsound run "$tkw" demo --virtual --count 20000
check 'in words: what the checker found' grep -q 'a fault on purpose' "$out"
finish
