#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_run.sh TKW - tests `tkw after` and `tkw every`. No test measures how
# long something takes: the commands wait for files, and the times are short.
# shellcheck disable=SC2317 # check() calls the functions
# shellcheck disable=SC2016 # the commands expand their variables
set -u
TKW=$1
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"
# shellcheck source-path=SCRIPTDIR source=run_checks.sh
. "$(dirname "$0")/run_checks.sh"
export scratch

# --- help and wrong command lines --------------------------------------------

for name in after every; do
	run "$TKW" $name --help
	check "$name --help: exit status 0" ended 0
	check "$name --help: fits a screen" [ "$(wc -l <"$out")" -le 24 ]
	check "$name --help: 80 columns" [ "$(grep -c '.\{81\}' "$out")" -eq 0 ]
	refuses $name
	refuses $name 1s
	refuses $name 1s --
	refuses $name -- true
	refuses $name 1s true
	refuses $name 5 -- true
	refuses $name 1x -- true
	refuses $name '' -- true
	refuses $name 1m1h -- true
	refuses $name 5s5s -- true
	refuses $name 99999999999999999999s -- true
	refuses $name 40000d -- true
	refuses $name 1s --jitter -- true
	refuses $name 1s --jitter x -- true
	refuses $name 1s --bad -- true
	refuses $name 1s --zone UTC -- true
	run "$TKW" $name 1d -- "$scratch/nothing"
	check "$name: a command that is not there: 127 before the wait" ended 127
	check "$name: a command that is not there: one line" one_line "$err"
	run "$TKW" $name 1d -- no-such-command-anywhere
	check "$name: a command that is not in PATH: 127" ended 127
	run "$TKW" $name 1d -- "$scratch"
	check "$name: a folder: 126" ended 126
	rm -f "$scratch/text"
	printf 'no program\n' >"$scratch/text"
	run "$TKW" $name 1d -- "$scratch/text"
	check "$name: not executable: 126 before the wait" ended 126
	chmod +x "$scratch/text"
	run "$TKW" $name 1ms -- "$scratch/text"
	check "$name: a file that is no program: 126" ended 126
done
refuses after 1s --times 2 -- true
refuses after 1s --now -- true
refuses every 0 -- true
check 'every 0: says what is wrong' grep -q 'the period must be longer than 0' \
	"$err"
refuses every 1s --jitter 2s -- true
refuses every 1s --times 0 -- true
refuses every 1s --until always -- true
refuses every 1s --overlap queue -- true

# --- after -------------------------------------------------------------------

run "$TKW" after 1ms -- printf '%s|' 'a  b' '*' '$HOME'
check 'after: exit status 0' ended 0
check 'after: no shell is between' outputs 'a  b|*|$HOME|'
check 'after: says nothing' is_empty "$err"
run "$TKW" after 0 -- true
check 'after 0' ended 0
run "$TKW" after 0 -- sh -c 'exit 7'
check 'after: the exit status of the command' ended 7
check 'after: says nothing about it' is_empty "$err"
run "$TKW" after 0 -- sh -c 'kill -9 $$'
check 'after: 128 + the signal of the command' ended 137
run env TKW_PLAN=old TKW_RUN=old "$TKW" after 1ms --jitter 2ms -- \
	sh -c 'echo "$TKW_RUN ${TKW_PLAN-none} $TKW_PLANNED_MS $TKW_PLANNED"'
check 'after: the environment' grep -q -x -E \
	'1 none [0-9]{13} [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z' "$out"
check 'after: the planned time as text is the one in ms' \
	[ "$(date -u -d "$(cut -d ' ' -f 4 "$out")" +%s%3N)" = \
	"$(cut -d ' ' -f 3 "$out")" ]
printf 'some input' >"$scratch/in"
"$TKW" after 0 -- cat <"$scratch/in" >"$out" 2>"$err"
check 'after: the input is passed on' outputs 'some input'
run "$TKW" after 20ms --json -- echo hello
check 'after --json: stdout belongs to the command' outputs hello
check 'after --json: the events' events \
	'[x["event"] for x in e] == ["planned", "started", "ended"]'
check 'after --json: never early' events 'e[1]["late_ms"] >= 0'
check 'after --json: the facts' events \
	'e[1]["pid"] == e[2]["pid"] and e[2]["status"] == 0
	 and e[2]["duration_ms"] >= 0 and e[1]["run"] == 1'
# A timer that comes much later than its delay has missed nothing.
: >"$err"
"$TKW" after 80ms --json -- true 2>"$err" &
pid=$!
until [ -s "$err" ]; do
	sleep 0.01
done
kill -STOP $pid
sleep 0.2
kill -CONT $pid
wait $pid
check 'after: late, and nothing is skipped' events \
	'[x["event"] for x in e] == ["planned", "started", "ended"]
	 and e[0]["planned"] == e[1]["planned"]'
run "$TKW" after 0 --json -- sh -c 'kill -9 $$'
check 'after --json: a signal' events \
	'e[-1]["signal"] == 9 and "status" not in e[-1]'

# --- every -------------------------------------------------------------------

run "$TKW" every 2ms --times 4 -- sh -c 'echo "$TKW_RUN"'
check 'every --times: exit status 0' ended 0
check 'every --times: four runs' [ "$(tr '\n' , <"$out")" = 1,2,3,4, ]
run "$TKW" every 1h --now --times 1 -- echo once
check 'every --now: at once' outputs once
run "$TKW" every 2ms --until success --quiet -- sh -c '[ "$TKW_RUN" -eq 3 ]'
check 'every --until success: exit status 0' ended 0
check 'every --until success --quiet: says nothing' is_empty "$err"
run "$TKW" every 2ms --until success --times 3 -- sh -c 'exit 5'
check 'every --until success --times: the last exit status' ended 5
check 'every: a line for each failure' \
	[ "$(grep -c -x 'tkw: every: run [123]: exit status 5' "$err")" -eq 3 ]
run "$TKW" every 2ms --until failure -- sh -c '[ "$TKW_RUN" -lt 3 ] || exit 4'
check 'every --until failure: its exit status' ended 4
check 'every --until failure: the third run' grep -q 'run 3: exit status 4' \
	"$err"

# No drift: all planned times are a whole number of periods apart.
run "$TKW" every 40ms --times 4 --json -- true
check 'every: no drift' events \
	'all((x["planned_ms"] - e[0]["planned_ms"]) % 40 == 0
	     for x in only("started") + only("planned"))'
check 'every: never early' events \
	'all(x["late_ms"] >= 0 for x in only("started"))'
run "$TKW" every 10ms --jitter 5ms --times 5 --json -- true
check 'every --jitter: five runs' events 'len(only("ended")) == 5'

# The first run ends when a time was skipped.
run "$TKW" every 5ms --times 2 --json -- sh -c '
	[ "$TKW_RUN" -gt 1 ] && exit
	until grep -q "\"skipped\"" "$scratch/err"; do sleep 0.01; done'
check 'every: a long run skips' events \
	'only("skipped") and only("skipped")[0]["why"] in ("overlap", "missed")'
check 'every: two runs all the same' events 'len(only("ended")) == 2'
# Each run ends when three run at once.
run "$TKW" every 5ms --times 3 --overlap allow -- sh -c '
	: >"$scratch/at_once.$TKW_RUN"
	until [ -e "$scratch/at_once.3" ]; do sleep 0.01; done'
check 'every --overlap allow: three at once' ended 0
check 'every --overlap allow: nothing is skipped for a run that goes on' \
	[ "$(grep -c 'has not ended' "$err")" -eq 0 ]

# The first run goes on when nobody reads standard error any more.
rm -f "$scratch/unread" "$scratch/status"
{
	"$TKW" every 5ms --times 3 --json -- sh -c '
		until [ -e "$scratch/unread" ]; do sleep 0.01; done' 2>&1
	echo $? >"$scratch/status"
} | {
	read -r _
	exec <&-
	: >"$scratch/unread"
}
until [ -s "$scratch/status" ]; do
	sleep 0.01
done
check 'every: goes on when nobody reads its events' \
	[ "$(cat "$scratch/status")" -eq 0 ]
run "$TKW" after 0 -- sh -c 'kill -PIPE $$'
check 'after: SIGPIPE ends the command as ever' ended 141

# --- signals -----------------------------------------------------------------

is_started()
{
	[ -e "$scratch/started" ]
}

# Does the program wait? It has opened its timer.
waits()
{
	[ -s "$pid_file" ] && find "/proc/$(cat "$pid_file")/fd" \
		-lname '*timerfd*' 2>/dev/null | grep -q .
}

# run_until SIGNAL WORDS SCRIPT: runs the program with a script, and sends it the
# signal when the script has made the file `started`.
run_until()
{
	rm -f "$scratch/started" "$scratch/seen"
	printf '%s\n' '#!/bin/sh' "$3" >"$scratch/script"
	chmod +x "$scratch/script"
	args="$2 -- $scratch/script"
	signalled "$1" is_started
}

# No core dump of SIGQUIT.
# shellcheck disable=SC3045 # the shells of Linux have it
ulimit -c 0
for signal in 1:HUP 2:INT 3:QUIT 15:TERM; do
	number=${signal%:*}
	signal=${signal#*:}
	args='after 1d -- true'
	signalled "$signal" waits
	check "$signal while after waits" ended $((128 + number))
	args='every 1d -- true'
	signalled "$signal" waits
	check "$signal while every waits" ended $((128 + number))
	run_until "$signal" 'after 0' 'trap "exit 7" HUP INT QUIT TERM
		: >"$scratch/started"
		while :; do sleep 0.01; done'
	check "$signal: after ends with the exit status of the command" ended 7
	run_until "$signal" 'every 1ms' 'trap "exit 7" HUP INT QUIT TERM
		: >"$scratch/started"
		while :; do sleep 0.01; done'
	check "$signal: every ends by the signal" ended $((128 + number))
done
run_until TERM 'after 0' ': >"$scratch/started"; exec sleep 600'
check 'TERM: after, and its command dies from it' ended 143
run_until TERM 'after 0' ': >"$scratch/started"; sleep 600; exit 0'
check 'TERM reaches all that the command has started' ended 143
# is_stopped: Has the command stopped itself?
is_stopped()
{
	is_started && grep -q '^State:.T' "/proc/$(cat "$scratch/started")/status"
}
printf '%s\n' '#!/bin/sh' 'echo $$ >"$scratch/started"
	kill -STOP $$' 'exit 0' >"$scratch/script"
for signal in 1:HUP 2:INT 3:QUIT 15:TERM; do
	number=${signal%:*}
	signal=${signal#*:}
	rm -f "$scratch/started"
	args="after 0 -- $scratch/script"
	signalled "$signal" is_stopped
	check "$signal ends a command that is stopped" ended $((128 + number))
done
for signal in USR1 USR2 WINCH; do
	run_until $signal 'after 0' 'trap "exit 9" '$signal'
		: >"$scratch/started"
		while :; do sleep 0.01; done'
	check "$signal is passed on" ended 9
done
run_until TERM 'every 1h --now' 'trap "" TERM
	: >"$scratch/started"
	while :; do kill -TERM "$PPID"; sleep 0.01; done'
check 'a second TERM kills' ended 143
check 'a second TERM kills: says so' grep -q 'run 1: signal 9' "$err"
run_until TERM 'after 0' 'trap "ends=1" TERM
	trap "exit 9" WINCH
	: >"$scratch/started"
	until [ "${ends:-}" ]; do sleep 0.01; done
	kill -WINCH "$PPID"
	while :; do sleep 0.01; done'
check 'a WINCH behind a TERM does not kill' ended 9

# resized INPUT: changes the size of the terminal while a command runs, which
# then waits a moment for a second WINCH.
resized()
{
	rm -f "$scratch/started"
	on_terminal "(until [ -e '$scratch/started' ]; do sleep 0.01; done
		stty cols 90 rows 30) </dev/tty &
		'$TKW' after 0 -- '$scratch/script' <$1"
}
printf '%s\n' '#!/bin/sh' 'trap "echo resized; ends=1" WINCH
	: >"$scratch/started"
	until [ "${ends:-}" ]; do sleep 0.01; done
	sleep 0.2' >"$scratch/script"
if command -v script >/dev/null; then
	for input in /dev/tty /dev/null; do
		resized $input
		check "a new size of the terminal, input $input: one WINCH" \
			[ "$(text | grep -c -x resized)" -eq 1 ]
	done
else
	unchecked 'a new size of the terminal: no script'
fi
finish
