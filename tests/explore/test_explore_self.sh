#!/bin/sh
# SPDX-License-Identifier: MIT
# test_explore_self.sh PROGRAM - what is wrong with the scenarios of
# scenarios_wrong.c is found, each failure can be replayed, and nothing is found
# where nothing is wrong.
set -u
program=${1:?explore_self}
unset TKW_EXPLORE_ORDERS
failed=0

complain()
{
	echo "$*"
	failed=1
}

# finds SCENARIO TEXT [OPTION...]: it fails, says so, and fails in a replay.
finds()
{
	scenario=$1
	text=$2
	shift 2
	said=$("$program" "$@" --orders 3000 "$scenario")
	status=$?
	[ "$status" -eq 1 ] || complain "$scenario: exit status $status"
	case $said in
	*"$scenario FAILED in "*"$text"*) ;;
	*) complain "$scenario: did not say '$text' but: $said" ;;
	esac
	again=$(printf '%s\n' "$said" | sed -n 's/^replay it: [^ ]* //p')
	[ -n "$again" ] || complain "$scenario: does not say how to replay it"
	# shellcheck disable=SC2086 # words
	second=$("$program" $again)
	[ "$(printf '%s\n' "$second" | grep -v '^seed')" = \
		"$(printf '%s\n' "$said" | grep -v '^seed' | sed 1d)" ] ||
		complain "$scenario: the replay was another one: $second"
}

# passes SCENARIO [OPTION...]
passes()
{
	scenario=$1
	shift
	"$program" "$@" --orders 3000 "$scenario" >/dev/null ||
		complain "$scenario: failed"
}

# refuses ARGUMENT...: one line, exit status 2.
refuses()
{
	said=$("$program" "$@" 2>&1)
	status=$?
	if [ "$status" -ne 2 ] || [ "$(printf '%s\n' "$said" | wc -l)" -ne 1 ]
	then
		complain "$*: exit status $status, said: $said"
	fi
}

finds lost_count 'toy.x.v == 2'
finds lost_count 'toy.x.v == 2' --sequential
finds kept_back 'toy.saw_x == 1'
finds lost_wake_up 'nobody can go on'
finds late_wake_up 'explore_now() == EXPLORE_START_NS'
finds spurious_wake_up 'toy.x'
finds deadlock 'nobody can go on'
finds not_the_holder 'does not hold it'
finds leak 'memory was leaked'
finds write_after_free 'written to after it was freed'
finds read_after_free 'used after it was freed'
finds freed_twice 'freed twice'
finds left_behind 'left behind'
finds endless 'does not end'
finds killed 'killed by a signal' 2>/dev/null
passes kept_back --sequential
passes not_kept_back
passes published
passes wake_up
passes asleep
passes timed_out

"$program" two_by_two | grep -Eq '^two_by_two .* 10 +[0-9.]+$' ||
	complain 'two_by_two: not 10 orders'
"$program" one_store | grep -Eq '^one_store .* 6 +[0-9.]+$' ||
	complain 'one_store: not 6 orders'
"$program" --sequential one_store | grep -Eq '^one_store .* 4 +[0-9.]+$' ||
	complain 'one_store: not 4 sequential orders'
TKW_EXPLORE_ORDERS=7 "$program" two_by_two |
	grep -Eq '^two_by_two .* 7 +[0-9.]+$' ||
	complain 'TKW_EXPLORE_ORDERS does not bound the orders'
"$program" --replay none two_by_two | grep -q '^two_by_two passed$' ||
	complain 'a replay that does not fail does not say so'
# Options and names come in any order.
"$program" two_by_two --replay 0,0,1 | grep -q '^two_by_two passed$' ||
	complain 'no options after a name: --replay'
[ "$("$program" two_by_two --orders 8 asleep | grep -Ec '^(two|asleep)')" = 2 ] ||
	complain 'no options between names'
"$program" two_by_two --orders 8 | grep -q '^total: 8 distinct orders$' ||
	complain 'no options after a name: --orders'
[ "$("$program" two_by_two asleep | grep -c '^total: ')" = 1 ] ||
	complain 'not one total'
"$program" two_by_two --orders 1 | grep -Eq '^two_by_two +1 \( -\)' ||
	complain 'a bound that was not completed is not left out'
"$program" --random two_by_two |
	grep -Eq '^two_by_two +0 \( -\) +0 \( -\) +10 +10 ' ||
	complain '--random: not random orders only'
"$program" --help | grep -q -e --replay || complain 'no help'
"$program" --list | grep -q '^deadlock ' || complain 'no list'

refuses --nonsense
refuses --orders
refuses --orders 0 wake_up
refuses --orders -1 wake_up
refuses --orders 3x wake_up
refuses --orders 99999999999999999999 wake_up
refuses --seed x wake_up
refuses --part 1
refuses --part 0/2
refuses --part 3/2
refuses --part x/2
refuses --part 1/
refuses no_such_scenario
refuses wake_up --nonsense
refuses wake_up --orders
refuses wake_up --orders 0
refuses --list no_such_scenario
refuses --replay x wake_up
refuses --replay 1, wake_up
refuses --replay 1,999 wake_up
refuses --replay none
refuses --replay none wake_up deadlock
TKW_EXPLORE_ORDERS=many refuses wake_up
exit $failed
