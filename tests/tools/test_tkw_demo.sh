#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_demo.sh TKW - tests `tkw demo` in real time: its ledger, its options,
# and what it writes to a pipe, to a terminal and to a full disk.
# shellcheck disable=SC2317 # check() calls the functions
set -u
TKW=$1
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"

# --- the ledger --------------------------------------------------------------

obeys_law()
{
	[ "$(field accepted)" -eq $(($(field fired) + $(field cancelled) + \
		$(field dropped) + $(field handed_over) + $(field pending))) ]
}

# Are the timer's terms equal to those that the demo has counted itself?
agrees()
{
	for term in accepted fired cancelled handed_over; do
		[ "$(field "$term")" -eq "$(field "own_$term")" ] || return 1
	done
}

# ledger_checks WHAT FAR: checks the JSON in $out. FAR is the number of far
# timeouts.
# SPEC L, 4.1 (never early), 5.2, 5.5, 6.2, 6.4, faults 13, 23, 25
ledger_checks()
{
	check "$1: exit status 0" ended 0
	check "$1: one JSON object on one line" is_json
	check "$1: nothing on stderr" is_empty "$err"
	check "$1: balanced" [ "$(field balanced)" = true ]
	check "$1: not interrupted" [ "$(field interrupted)" = false ]
	check "$1: accepted is the sum of the others" obeys_law
	check "$1: the timer and the demo agree" agrees
	check "$1: all far timeouts were scheduled" [ "$(field far)" -eq "$2" ]
	check "$1: were pending all the while" [ "$(field held)" -ge "$2" ]
	check "$1: and were handed over" [ "$(field handed_over)" -ge "$2" ]
	check "$1: heartbeats have re-armed themselves" \
		[ "$(field fired_beats)" -gt "$(field beats)" ]
	for key in pending dropped early twice lost failed uneven; do
		check "$1: $key is 0" [ "$(field "$key")" -eq 0 ]
	done
	for key in cancelled pushed_back fired_calls fired_idle readings \
		worker_ns late_max_ns; do
		check "$1: $key is not 0" [ "$(field "$key")" -gt 0 ]
	done
	check "$1: it took as long as it should" \
		[ "$(field run_ns)" -ge 1000000000 ]
}

run "$TKW" demo --json --seconds 1
ledger_checks 'a million' 1000000
check 'the default is four threads' [ "$(field threads)" -eq 4 ]
run "$TKW" demo --json --seconds=1 --threads=1 --pending=0
ledger_checks 'one thread' 0
run "$TKW" demo --json --seconds 1 --threads 64 --pending 1000
ledger_checks '64 threads' 1000
if taskset -c 0 true 2>/dev/null; then
	run taskset -c 0 "$TKW" demo --json --seconds 1 --pending 1000
	ledger_checks 'one CPU' 1000
else
	unchecked 'one CPU (no taskset, or CPU 0 is not to be had)'
fi

# --- a pipe ------------------------------------------------------------------

run "$TKW" demo --seconds 2 --pending 10000
check 'piped: exit status 0' ended 0
check 'piped: nothing on stderr' is_empty "$err"
check 'piped: ASCII, no control bytes' printable
check 'piped: 80 columns' [ "$(grep -c '.\{81\}' "$out")" -eq 0 ]
check 'piped: what is about to run' \
	grep -q '4 threads, 10,000 far timeouts' "$out"
check 'piped: a line of figures for each second' \
	[ "$(grep -c '^ *[0-9]*\.[0-9] .*[0-9,]\{5\}' "$out")" -ge 2 ]
for term in '  accepted' '= fired' '+ cancelled' '+ dropped' '+ handed over' \
	'+ pending'; do
	check "piped: the ledger has: $term" \
		grep -q "^  $term  *\\([0-9,][0-9,]*\\)  *\\1   " "$out"
done
check 'piped: with the title and a line between, the report has 22 lines' \
	[ "$(sed -n '/^ in all /,$p' "$out" | wc -l)" -eq 20 ]
check 'piped: the last word' [ "$(tail -n 1 "$out")" = ' balanced' ]

# --- bad options -------------------------------------------------------------

for value in 0 -1 +1 '' ' ' abc 5x 1.5 0x10 3601 4294967297 \
	18446744073709551617; do
	refuses demo --seconds "$value"
	check '--seconds: is named in the line' grep -q '^tkw: --seconds: ' "$err"
	refuses demo "--seconds=$value"
done
for value in 0 -1 '' abc 65 4294967297; do
	refuses demo --threads "$value"
done
for value in -1 '' abc 100000001 18446744073709551616; do
	refuses demo --pending "$value"
done
for option in --count --seed --engine --slots; do
	refuses demo $option 1
	check "$option: it says why" \
		grep -q "^tkw: $option: only with --virtual" "$err"
	refuses demo $option=1
done
refuses demo --seconds
refuses demo --threads
refuses demo --pending
refuses demo --virtual=yes
refuses demo --json=yes
refuses demo --help=yes
refuses demo --second 1
refuses demo --second=1
refuses demo --s 1
refuses demo -- --json
refuses demo --real
refuses demo 3
refuses demo --json 3
refuses demo 3 --json
refuses demo -
refuses demo ''

# --- nowhere to write, nothing to work with ----------------------------------

fails_without_stdout demo --seconds 1 --pending 1000
fails_without_stdout demo --seconds 1 --pending 1000 --json

# The limit leaves room for the threads, but not for ten million timeouts.
# shellcheck disable=SC3045 # dash, bash and busybox have ulimit -v
if sanitized; then
	echo 'left out: no memory (a sanitizer cannot live with ulimit -v)'
elif (ulimit -v 600000 && "$TKW" --version) >"$out" 2>"$err"; then
	(ulimit -v 600000 && run "$TKW" demo --pending 10000000
		exit "$status")
	status=$?
	check 'no memory: exit status 1' ended 1
	check 'no memory: nothing on stdout' is_empty "$out"
	check 'no memory: one line on stderr' one_line "$err"
	check 'no memory: it says so' grep -q 'not enough memory' "$err"
else
	unchecked 'no memory (ulimit -v is not to be had)'
fi

# --- a terminal --------------------------------------------------------------

terminal_checks()
{
	# shellcheck disable=SC2016 # the inner shell expands it
	on_terminal 'exec "$TKW" demo --seconds 1 --pending 10000'
	check 'terminal: exit status 0' ended 0
	check 'terminal: the cursor is hidden' grep -q "$esc\\[?25l" "$out"
	check 'terminal: figures are redrawn in place' \
		grep -q "$esc\\[[0-9]*A" "$out"
	check 'terminal: colours' grep -q "$esc\\[0;32m" "$out"
	check 'terminal: the progress bar gets to the end' grep -q '100 %' "$out"
	check 'terminal: nothing is wider than 79 columns' fits 79
	check 'terminal: the report fits 24 rows' report_fits 23
	check 'terminal: the ledger balances' is_balanced
	check 'terminal: it ends with the cursor shown' shows_cursor_last

	# shellcheck disable=SC2016
	on_terminal 'stty cols 50 rows 8
		NO_COLOR=1 exec "$TKW" demo --seconds 1 --pending 0'
	check '50 columns: exit status 0' ended 0
	check '50 columns: no figures are wider' \
		[ "$(text | sed '/in all/,$d' | grep -c '.\{50\}')" -eq 0 ]
	check '50 columns: the ledger is whole' is_balanced
	check 'NO_COLOR: no colours' sh -c "! grep -q '$esc\\[0;' '$out'"
	check 'NO_COLOR: it ends with the cursor shown' shows_cursor_last

	# shellcheck disable=SC2016
	on_terminal 'TERM=dumb exec "$TKW" demo --seconds 1 --pending 0'
	check 'TERM=dumb: exit status 0' ended 0
	check 'TERM=dumb: no commands to the terminal' \
		sh -c "! grep -q '$esc' '$out'"
	check 'TERM=dumb: the ledger balances' is_balanced
}

interrupt_checks()
{
	# shellcheck disable=SC2016 # the inner shell expands it
	interrupt 'echo $$ >"$pid_file"; exec "$TKW" demo --seconds 3600'
	check 'Ctrl-C: ended by the signal' ended 130
	check 'Ctrl-C: the report says so' \
		grep -q '^.* in all .* (interrupted), then stopped' "$out"
	check 'Ctrl-C: the ledger balances' is_balanced
	check 'Ctrl-C: the report fits 24 rows' report_fits 23
	check 'Ctrl-C: it ends with the cursor shown' shows_cursor_last
}

signal_checks()
{
	args='demo --seconds 600 --pending 1000'
	signalled INT says_or_is_gone '^ time '
	check 'SIGINT: ended by the signal' ended 130
	check 'SIGINT: the report says so' \
		grep -q '^ in all .* (interrupted), then stopped' "$out"
	check 'SIGINT: the last word' [ "$(tail -n 1 "$out")" = ' balanced' ]
	signalled TERM says_or_is_gone '^ time '
	check 'SIGTERM: ended by the signal' ended 143
	check 'SIGTERM: the last word' [ "$(tail -n 1 "$out")" = ' balanced' ]

	# Send the signal while the far timeouts are scheduled, or soon after.
	args='demo --seconds 600 --json'
	signalled INT has_threads_or_is_gone
	check 'SIGINT, JSON: ended by the signal' ended 130
	check 'SIGINT, JSON: one JSON object on one line' is_json
	check 'SIGINT, JSON: interrupted' [ "$(field interrupted)" = true ]
	check 'SIGINT, JSON: balanced' [ "$(field balanced)" = true ]
	check 'SIGINT, JSON: accepted is the sum of the others' obeys_law
	check 'SIGINT, JSON: the timer and the demo agree' agrees
}

if ! command -v script >/dev/null; then
	unchecked 'a terminal (no script command)'
else
	terminal_checks
	interrupt_checks
fi
if env --default-signal=INT true 2>/dev/null; then
	signal_checks
else
	unchecked 'signals (no env --default-signal)'
fi
finish
