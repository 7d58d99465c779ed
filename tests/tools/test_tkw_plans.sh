#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_plans.sh TKW - tests `tkw cron` and `tkw next`. Other tests test which
# times a plan has.
# shellcheck disable=SC2317 # check() calls the functions
# shellcheck disable=SC2016 # the commands expand their variables
set -u
TKW=$1
TZ=UTC
export TKW TZ
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"
# shellcheck source-path=SCRIPTDIR source=run_checks.sh
. "$(dirname "$0")/run_checks.sh"
export scratch

for name in cron next; do
	run "$TKW" $name --help
	check "$name --help: exit status 0" ended 0
	check "$name --help: fits a screen" [ "$(wc -l <"$out")" -le 24 ]
	check "$name --help: 80 columns" [ "$(grep -c '.\{81\}' "$out")" -eq 0 ]
done

# --- next --------------------------------------------------------------------

after='--after 2026-03-28T12:00Z'
# shellcheck disable=SC2086 # words
run "$TKW" next '30 2 * * *' 2 --zone Europe/Berlin $after
check 'next: exit status 0' ended 0
check 'next: the words first' [ "$(sed -n 1p "$out")" = \
	'at 02:30 each day, Europe/Berlin' ]
check 'next: a time that the clocks skip' [ "$(sed -n 2p "$out")" = \
	'Sun 2026-03-29T03:00:00+02:00  in 13 h' ]
check 'next: the day after' [ "$(sed -n 3p "$out")" = \
	'Mon 2026-03-30T02:30:00+02:00  in 1 d 12 h' ]
check 'next 2: two times' [ "$(wc -l <"$out")" -eq 3 ]
# shellcheck disable=SC2086
run "$TKW" next @daily 2 --previous $after
check 'next --previous: the latest first' [ "$(sed -n 2,3p "$out" | tr '\n' ,)" \
	= 'Sat 2026-03-28T00:00:00Z  12 h ago,Fri 2026-03-27T00:00:00Z  1 d 12 h ago,' ]
run "$TKW" next @daily --words
check 'next --words: only the words' outputs 'at 00:00 each day, UTC'
# shellcheck disable=SC2086
run "$TKW" next '30 2 * * 1-5' 3 --json --zone Asia/Tokyo $after
cp "$out" "$err"
check 'next --json: the plan' events \
	'e[0]["plan"] == "30 2 * * 1-5" and e[0]["zone"] == "Asia/Tokyo" and
	 e[0]["words"]'
check 'next --json: the times' events \
	'e[1]["time"] == "2026-03-30T02:30:00+09:00" and
	 e[1]["in_ms"] == 29.5 * 3600000 and len(e) == 4 and
	 e[1]["ms"] == 1774805400000'
run "$TKW" next "$(printf '\t0 0\t* * *')" --json
cp "$out" "$err"
check 'next --json: the plan as it was given' events \
	'e[0]["plan"] == "\t0 0\t* * *"'
for zone in Europe/Berlin :Europe/Berlin /usr/share/zoneinfo/Europe/Berlin; do
	run env TZ=$zone "$TKW" next @daily --words
	check "next: the zone of TZ=$zone" \
		outputs 'at 00:00 each day, Europe/Berlin'
done
run env -u TZ "$TKW" next @daily
check 'next: without TZ' ended 0
run env TZ= "$TKW" next @daily --words
check 'next: an empty TZ is UTC, as for libc' outputs 'at 00:00 each day, UTC'
# TZ may name a file, as for libc. /etc/localtime is a link, or a copy.
ln -s /usr/share/zoneinfo/Asia/Tokyo "$scratch/link"
cp /usr/share/zoneinfo/Asia/Tokyo "$scratch/localtime"
run env TZ="$scratch/link" "$TKW" next @daily --words
check 'next: a link to a zone has its name' \
	outputs 'at 00:00 each day, Asia/Tokyo'
run env TZ=":$scratch/localtime" "$TKW" next @daily --after 2026-01-01T00:00Z
check 'next: a copy of a zone has its times' [ "$(sed -n 2p "$out")" = \
	'Fri 2026-01-02T00:00:00+09:00  in 15 h' ]
run env TZ="$scratch/none" "$TKW" next @daily
check 'next: TZ names a file that is not there: exit status 2' ended 2
printf 'no zone' >"$scratch/text"
run env TZ="$scratch/text" "$TKW" next @daily
check 'next: TZ names another file: exit status 1' ended 1
check 'next: TZ names another file: says what is wrong' \
	grep -q 'it is not a time zone, or damaged$' "$err"
run env TZ=CET-1CEST "$TKW" next @daily
check 'next: TZ without a name: exit status 2' ended 2
check 'next: TZ without a name: says what to do' grep -q 'use --zone$' "$err"

run "$TKW" next '0 0 31 feb *'
check 'next: a plan that never comes: exit status 1' ended 1
check 'next: a plan that never comes: says so' grep -q 'never comes$' "$err"
check 'next: a plan that never comes: the words' one_line "$out"
run "$TKW" next 'every 1s from 2026-01-01T00:00Z' --previous \
	--after 2026-01-01T00:00Z
check 'next --previous: there is none: exit status 1' ended 1
run "$TKW" next 'every 1s from 9000-01-01T00:00Z' --previous
check 'next --previous: none yet: exit status 1' ended 1
check 'next --previous: none yet: does not say that it never comes' \
	grep -q -x 'tkw: next: the plan has no earlier time' "$err"
run "$TKW" next 'every 1h from 9999-12-31T22:00Z' 2 --zone Asia/Tokyo \
	--after 9999-01-01T00:00Z
check 'next: a time in the local year 10000 is printed in UTC' \
	grep -q '^Fri 9999-12-31T22:00:00Z  in 364 d 22 h$' "$out"
near="$(seq -s, 1 31 | sed 's/[0-9]\{1,\}/&W/g')"
run "$TKW" next "0 0 $near * *" --words
check 'next: long words are whole' grep -q 'day 31 of each month, UTC$' "$out"

# points_at COLUMN TEXT: Do three lines say what is wrong, show the text, and
# point to the column?
points_at()
{
	[ "$status" -eq 2 ] && is_empty "$out" && [ "$(wc -l <"$err")" -eq 3 ] &&
		sed -n 1p "$err" | grep -q '^tkw: ' &&
		[ "$(sed -n 2p "$err")" = "  $2" ] &&
		[ "$(sed -n 3p "$err")" = "$(printf '  %*s^' "$1" '')" ]
}
for name in cron next; do
	[ $name = cron ] && command='-- true' || command=
	# shellcheck disable=SC2086 # words
	run "$TKW" $name '30 24 * * *' $command
	check "$name: shows where a plan is wrong" points_at 3 '30 24 * * *'
	# shellcheck disable=SC2086
	run "$TKW" $name '1 2 3' $command
	check "$name: shows where a plan ends too early" points_at 5 '1 2 3'
	# shellcheck disable=SC2086
	run "$TKW" $name "$(printf '1\033[31m')" $command
	check "$name: no control bytes reach the terminal" \
		[ -z "$(tr -d '\n\040-\176' <"$err")" ]
	# shellcheck disable=SC2086
	refuses $name @daily --zone Moon/Base $command
	# shellcheck disable=SC2086
	refuses $name @daily --zone ../passwd $command
	# shellcheck disable=SC2086
	refuses $name @daily --bad $command
done
run "$TKW" next @daily --after 2026-13-01
check 'next --after: shows where it is wrong' points_at 5 2026-13-01
refuses next
refuses next @daily 0
refuses next @daily x
refuses next @daily 1 2
refuses next @daily 10001
refuses next 30 2 '*' '*' '*'
fails_without_stdout next @daily

# --- cron --------------------------------------------------------------------

refuses cron
refuses cron @daily
refuses cron @daily true
refuses cron @daily --misfire all -- true
refuses cron @daily --grace x -- true
run "$TKW" cron @daily -- "$scratch/nothing"
check 'cron: a command that is not there: 127 before the wait' ended 127
run "$TKW" cron @daily -- "$scratch"
check 'cron: a command that is not executable: 126' ended 126
run "$TKW" cron '0 0 31 feb *' -- true
check 'cron: a plan that never comes: exit status 1' ended 1
check 'cron: a plan that never comes: one line' one_line "$err"
# A timer of the system counts nanoseconds, and they end in 2262.
run "$TKW" cron 'every 1s from 2300-01-01T00:00Z' --times 1 -- echo ran
check 'cron: a time in 2300: exit status 1' ended 1
check 'cron: a time in 2300: is not run' is_empty "$out"
check 'cron: a time in 2300: says so' \
	grep -q -x 'tkw: cron: the next time, 2300-01-01T00:00:00.000Z, is too far away' \
	"$err"

run "$TKW" cron 'every 20ms' --times 3 --json -- sh -c 'echo "$TKW_RUN $TKW_PLAN"'
check 'cron: exit status 0' ended 0
check 'cron: three runs, and TKW_PLAN' [ "$(tr '\n' , <"$out")" = \
	'1 every 20ms,2 every 20ms,3 every 20ms,' ]
check 'cron: at its planned times, never early' events \
	'all(x["planned_ms"] % 20 == 0 and x["late_ms"] >= 0
	     for x in only("started"))'
check 'cron: no planned time runs twice' events \
	'len({x["planned_ms"] for x in only("started")}) == 3'
run "$TKW" cron '* * * * * *' --times 1 --zone Asia/Tokyo -- \
	sh -c 'echo "$TKW_PLANNED"'
check 'cron: TKW_PLANNED is in the zone, and has milliseconds' \
	grep -q -x '[-0-9]*T[0-9:]*\.000+09:00' "$out"
run "$TKW" cron 'every 1s from 2026-01-01T00:00:00.250Z' --times 1 --json -- \
	sh -c 'echo "$TKW_PLANNED"'
check 'cron: milliseconds that are not 0' \
	grep -q -x '[-0-9]*T[0-9:]*\.250Z' "$out"
check 'cron --json: the same time' events \
	"only('started')[0]['planned'] == '$(cat "$out")'"
run "$TKW" cron @yearly --now --times 1 -- sh -c 'exit 6'
check 'cron --now: the exit status of the run' ended 6
run "$TKW" cron 'every 10ms' --until success --quiet -- \
	sh -c '[ "$TKW_RUN" -eq 2 ]'
check 'cron --until success' ended 0
check 'cron --quiet' is_empty "$err"

# The first run stops tkw until it is far behind, and lets it go on. So times
# are missed.
stall='[ "$TKW_RUN" -gt 1 ] && exit
	kill -STOP $PPID; sleep 0.2; kill -CONT $PPID'
run "$TKW" cron 'every 20ms' --times 2 --json -- sh -c "$stall"
# There are at least nine times in the stall.
check 'cron --misfire once: missed times are one run' events \
	'len(only("started")) == 2 and
	 [x for x in only("skipped") if x["why"] == "missed" and x["count"] >= 9]'
run "$TKW" cron 'every 20ms' --times 2 -- sh -c "$stall"
check 'cron: one line for all missed times' grep -q -x -E \
	'tkw: cron: skipped [0-9]+ times from [-0-9T:.]+Z on: they were missed' \
	"$err"
# With a jitter, the times that come before the run are not missed. It is so long
# that a busy machine misses none.
run "$TKW" cron 'every 40ms' --jitter 3s --overlap allow --misfire skip \
	--grace 1h --times 8 --json -- true
check 'cron --jitter: no time is left out' events \
	'not only("skipped") and
	 {y["planned_ms"] - x["planned_ms"]
	  for x, y in zip(only("started"), only("started")[1:])} == {40}'
run "$TKW" cron 'every 20ms' --misfire skip --grace 1h --times 2 --json -- true
check 'cron --misfire skip: within the grace' events 'len(only("ended")) == 2'
# It runs for the first times that it meets within a millisecond.
run "$TKW" cron 'every 20ms' --misfire skip --grace 0 --times 2 --json -- true
check 'cron --grace 0: none, but a time that is met runs' events \
	'len(only("ended")) == 2'
# Stops the program before a time, and lets it go on when the grace is over. If
# it was stopped too late, it is tried again.
miss()
{
	at=$(($(date +%s) + 2))
	: >"$err"
	"$TKW" cron "every 1h from $(date -u -d @$at +%Y-%m-%dT%H:%M:%SZ)" \
		--misfire skip --grace 100ms --json -- echo ran >"$out" 2>"$err" &
	pid=$!
	until grep -q '"planned"' "$err"; do
		sleep 0.01
	done
	kill -STOP $pid
	stopped=$(date +%s)
	until [ "$(date +%s)" -gt $at ]; do
		sleep 0.05
	done
	kill -CONT $pid
	until grep -q -E '"(skipped|started)"' "$err"; do
		sleep 0.01
	done
	kill -TERM $pid
	wait $pid
	[ "$stopped" -lt $at ]
}
until miss; do
	:
done
check 'cron --misfire skip: a time behind its grace is left out' events \
	'[x["why"] for x in only("skipped")] == ["missed"] and
	 only("skipped")[0]["count"] == 1 and not only("started")'
check 'cron --misfire skip: the command has not run' is_empty "$out"


waits()
{
	[ -s "$pid_file" ] && find "/proc/$(cat "$pid_file")/fd" \
		-lname '*timerfd*' 2>/dev/null | grep -q .
}
args='cron @yearly -- true'
signalled TERM waits
check 'TERM while cron waits' ended 143
finish
