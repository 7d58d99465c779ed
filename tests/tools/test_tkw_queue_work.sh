#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_queue_work.sh TKW WAY - tests `tkw queue work` and `watch`. WAY is
# `direct` or `socket`, as in test_tkw_queue.sh.
# shellcheck disable=SC2317 # check() calls the functions
# shellcheck disable=SC2016 # the commands of `work` expand their variables
set -u
TKW=$1
way=$2
export TKW scratch
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"
# shellcheck source-path=SCRIPTDIR source=queue_checks.sh
. "$(dirname "$0")/queue_checks.sh"
export scratch file

[ "$way" = direct ] || start_owner

# --- one after the other -----------------------------------------------------

q put 'first line' -k 'a key'
id=$(value)
q put second
q work --wait 0 -- sh -c 'cat >>"$scratch/seen"; echo >>"$scratch/seen"
	echo "$TKW_ID $TKW_ATTEMPT ${TKW_KEY-none} $TKW_QUEUE" >>"$scratch/seen"
	[ "$TKW_TOKEN" -gt 0 ]'
check 'work: exit status 0' ended 0
check 'work: no complaint' is_empty "$err"
check 'work: the payload is the standard input' \
	grep -q -x 'first line' "$scratch/seen"
check 'work: the environment' grep -q -x "$id 1 a key default" "$scratch/seen"
check 'work: no key, no TKW_KEY' grep -q -x '[0-9]* 1 none default' \
	"$scratch/seen"
check 'work: in order' [ "$(sed -n '1p;3p' "$scratch/seen" | tr '\n' ,)" = \
	'first line,second,' ]
check 'work: both were acked' fact_is acks 2
check 'work: nothing is left' fact_is taken 0

q put one two three
q work -n 2 --json -- true
check 'work -n 2: exit status 0' ended 0
check 'work -n 2: two lines' [ "$(wc -l <"$out")" -eq 2 ]
check 'work --json: JSON' valid_json
check 'work --json: done' [ "$(grep -c '"done":true' "$out")" -eq 2 ]
check 'work -n 2: one is left' fact_is ready 1
q work --wait 0 -- true

head -c 300000 /dev/zero >"$scratch/large"
in=$scratch/large
q put -
in=/dev/null
q work --wait 0 -- true
check 'a command that does not read its payload' ended 0
check 'a command that does not read its payload: acked' fact_is ready 0

# --- failures ----------------------------------------------------------------

q put bad --attempts 1
q work -n 1 -- sh -c 'exit 3'
check 'work: a command that fails is no failure of work' ended 0
check 'work: one line about it' one_line "$err"
q dead --json
check 'work: the reason is the exit status' says '"reason":"exit status 3"'
q purge --all
q put worse --attempts 1
q work -n 1 -- sh -c 'kill -9 $$'
q dead --json
check 'work: the reason is the signal' says '"reason":"signal 9"'
q purge --all
q put again --attempts 3
q work --wait 0 -- sh -c '[ "$TKW_ATTEMPT" -eq 3 ]'
check 'work: the third attempt succeeds' fact_is dead 0
check 'work: it was acked' fact_is ready 0
q put later
id=$(value)
q work -n 1 -d 1h -- false
q get "$id"
check 'work --delay: it waits after a failure' grep -q 'state  *waiting' "$out"
q cancel "$id"

q put x
q work -- "$scratch/nothing"
check 'a command that is not there: exit status 127' ended 127
check 'a command that is not there: one line' one_line "$err"
q work -- no-such-command-anywhere
check 'a command that is not in PATH: exit status 127' ended 127
q work -- "$scratch/large"
check 'a command that is not executable: exit status 126' ended 126
q work -- "$scratch"
check 'a folder: exit status 126' ended 126
printf 'no program\n' >"$scratch/text"
chmod +x "$scratch/text"
q work -- "$scratch/text"
check 'a file that is no program: exit status 126' ended 126
check 'a command that cannot be run: the item is ready' fact_is ready 1
q work --wait 0 -- true

# --- many at once ------------------------------------------------------------

# Each command waits until three run, so less than three at once would hang.
q put 1 2 3
q work -j 3 --wait 0 -- sh -c '
	: >"$scratch/at_once.$TKW_ID"
	polls=0
	until [ "$(ls "$scratch"/at_once.* | wc -l)" -eq 3 ]; do
		polls=$((polls + 1))
		[ $polls -lt 6000 ] || exit 1
		sleep 0.1
	done'
check 'work -j 3: three at once' ended 0
check 'work -j 3: no failures' is_empty "$err"
# shellcheck disable=SC2046 # words
q put $(seq 50)
q work -j 8 --wait 0 -- sh -c 'cat >"$scratch/many.$TKW_ID"'
check 'work -j 8: all 50' [ "$(cat "$scratch"/many.* | wc -c)" -eq 91 ]
check 'work -j 8: all were acked' fact_is ready 0
check 'the law' law_holds

# --- leases ------------------------------------------------------------------

# The command ends when its lease was extended.
q put long
q work -n 1 --lease 9s -- sh -c '
	lease()
	{
		"$TKW" queue "$file" get "$TKW_ID" --json |
			sed "s/.*\"expires_ms\":\([0-9]*\).*/\1/"
	}
	first=$(lease)
	until [ "$(lease)" -gt "$first" ]; do
		sleep 0.1
	done'
check 'work: the lease is extended' ended 0
check 'work: no lease was lost' fact_is losses 0
check 'work: the long one was acked' fact_is taken 0

# --- signals -----------------------------------------------------------------

is_started()
{
	[ -e "$scratch/started" ]
}

# work_until SIGNAL SCRIPT: runs `work` with a shell script, and sends it the
# signal when the script has made the file `started`.
work_until()
{
	rm -f "$scratch/started"
	printf '%s\n' '#!/bin/sh' "$2" >"$scratch/script"
	chmod +x "$scratch/script"
	args="queue $file work -- $scratch/script"
	signalled "$1" is_started
}

# No core dump of SIGQUIT.
# shellcheck disable=SC3045 # the shells of Linux have it
ulimit -c 0
for signal in 1:HUP 2:INT 3:QUIT 15:TERM; do
	number=${signal%:*}
	signal=${signal#*:}
	q put "for $signal"
	id=$(value)
	work_until "$signal" 'trap "exit 7" HUP INT QUIT TERM
		: >"$scratch/started"
		while :; do sleep 0.1; done'
	check "$signal: work ends by the signal" ended $((128 + number))
	q get "$id" --json
	check "$signal: the item is ready" says '"state":"ready"'
	check "$signal: the reason" says '"reason":"exit status 7, work was ended"'
	q cancel "$id"
	check "$signal: it can be cancelled" ended 0
done

q put 'it ends well'
work_until TERM 'trap "good=1" TERM
	: >"$scratch/started"
	until [ "${good:-}" ]; do sleep 0.1; done
	exit 0'
check 'TERM: work ends' ended 143
check 'TERM: a command that ends well is acked' fact_is taken 0
check 'TERM: nothing is left' fact_is ready 0

q put 'it does not listen'
id=$(value)
work_until TERM 'trap "" TERM
	: >"$scratch/started"
	while :; do kill -TERM "$PPID"; sleep 0.1; done'
check 'a second signal: work ends' ended 143
q get "$id" --json
check 'a second signal kills' says '"reason":"signal 9, work was ended"'
q cancel "$id"

stops_itself()
{
	[ -s "$scratch/stopped" ] &&
		grep -q '^State:.T' "/proc/$(cat "$scratch/stopped")/status"
}
q put 'it is stopped'
id=$(value)
printf '%s\n' '#!/bin/sh' 'echo $$ >"$scratch/stopped"
	kill -STOP $$' >"$scratch/script"
args="queue $file work -- $scratch/script"
signalled TERM stops_itself
check 'TERM ends a command that is stopped' ended 143
q get "$id" --json
check 'TERM ends a command that is stopped: by the signal' \
	says '"reason":"signal 15, work was ended"'
q cancel "$id"

q put 'it closes twice'
work_until HUP 'trap "good=1" HUP
	: >"$scratch/started"
	until [ "${good:-}" ]; do sleep 0.1; done
	kill -HUP "$PPID"
	sleep 0.2
	exit 0'
check 'a second HUP: work ends' ended 129
check 'a second HUP does not kill: it was acked' fact_is taken 0
check 'a second HUP: nothing is left' fact_is ready 0

# --- stopped -----------------------------------------------------------------

# is_stopped PID, goes_on PID, sleeps PID: Is the process suspended? Does it go
# on? Does it wait?
is_stopped()
{
	grep -q '^State:.T' "/proc/$1/status"
}
goes_on()
{
	! is_stopped "$1"
}
sleeps()
{
	grep -q '^State:.S' "/proc/$1/status"
}

# `timeout` gives the process a group of its own. The system stops a process by
# SIGTSTP only if its group has a parent that can let it go on.
q put 'it is stopped'
id=$(value)
rm -f "$pid_file" "$scratch/started" "$scratch/go"
timeout 600 sh -c 'echo $$ >"$pid_file"
	exec "$TKW" queue "$file" work -n 1 --lease 1h -- sh -c "
		echo \$\$ >\"\$scratch/command\"
		: >\"\$scratch/started\"
		until [ -e \"\$scratch/go\" ]; do sleep 0.1; done"' \
	>"$out" 2>"$err" </dev/null &
worker=$!
until_true is_started
worker_pid=$(cat "$pid_file")
command_pid=$(cat "$scratch/command")
kill -s TSTP "$worker_pid"
until_true is_stopped "$worker_pid"
check 'TSTP: work is stopped' is_stopped "$worker_pid"
until_true is_stopped "$command_pid"
check 'TSTP: its command is stopped' is_stopped "$command_pid"
kill -s CONT "$worker_pid"
until_true goes_on "$command_pid"
check 'CONT: the command goes on' goes_on "$command_pid"
: >"$scratch/go"
wait $worker
check 'CONT: work ends well' [ $? -eq 0 ]
q get "$id"
check 'CONT: the item was acked' ended 1

# --- results that do not get to the queue ------------------------------------

q put 'given back by another'
id=$(value)
q work -n 1 --json -- sh -c \
	'"$TKW" queue "$file" nack "$TKW_ID:$TKW_TOKEN" >/dev/null'
check 'a stale ack: exit status 1' ended 1
check 'a stale ack: it is not done' says '"done":false,"end":"exit status 0"'
check 'a stale ack: one line about it' one_line "$err"
q cancel "$id"
check 'a stale ack: the item is there' ended 0

nothing_runs()
{
	if [ "$way" = direct ]; then
		socket_is_there
	else
		[ "$(fact waiting_takes)" = 1 ]
	fi
}
args="queue $file work -- true"
signalled TERM nothing_runs
check 'TERM while nothing runs' ended 143
check 'TERM while nothing runs: no complaint' \
	[ "$(grep -c '^tkw:' "$err")" -eq 0 ]

# --- stopped while nothing runs ----------------------------------------------

# stop_idle_worker: starts a worker of one item, and stops it while it waits.
stop_idle_worker()
{
	rm -f "$pid_file"
	timeout 600 sh -c 'echo $$ >"$pid_file"
		exec "$TKW" queue "$file" work -n 1 -- true' \
		>"$out" 2>"$err" </dev/null &
	worker=$!
	until_true nothing_runs
	worker_pid=$(cat "$pid_file")
	kill -s TSTP "$worker_pid"
	until_true is_stopped "$worker_pid"
}

if [ "$way" = socket ]; then
	stop_idle_worker
	check 'TSTP while nothing runs: its take does not wait' \
		fact_is waiting_takes 0
	"$TKW" queue "$file" put 'not for the stopped one' >/dev/null
	check 'TSTP while nothing runs: it takes no item' fact_is ready 1
	kill -s CONT "$worker_pid"
	wait $worker
	check 'CONT while nothing runs: work ends well' [ $? -eq 0 ]
	check 'CONT while nothing runs: it takes the item' fact_is ready 0

	# When it goes on, it asks an owner that does not answer.
	stop_idle_worker
	kill -s STOP "$owner_pid"
	kill -s CONT "$worker_pid"
	until_true sleeps "$worker_pid"
	kill -s TERM "$worker_pid"
	wait $worker
	check 'a suspended owner: TERM while nothing runs' [ $? -eq 143 ]
	kill -s CONT "$owner_pid"
fi

# --- the owner goes away -----------------------------------------------------

if [ "$way" = socket ]; then
	"$TKW" queue "$file" work -n 1 -- sh -c 'cat >"$scratch/inherited"' \
		>"$scratch/worker" 2>&1 &
	worker=$!
	until_true nothing_runs
	stop_owner
	q put 'after the owner'
	check 'put after the owner has gone: exit status 0' ended 0
	wait $worker
	check 'work goes on without the owner' [ $? -eq 0 ]
	check 'work goes on: it worked' \
		grep -q 'after the owner' "$scratch/inherited"
	start_owner

	"$TKW" queue "$file" work -n 1 -- sh -c 'cat >"$scratch/inherited"' \
		>"$scratch/worker" 2>&1 &
	worker=$!
	until_true nothing_runs
	kill -s KILL "$owner_pid"
	wait "$owner_pid" 2>/dev/null
	owner_pid=
	q put 'after a crash'
	check 'put after a crash of the owner: exit status 0' ended 0
	wait $worker
	check 'work goes on after a crash of the owner' [ $? -eq 0 ]
	check 'work goes on after a crash: it worked' \
		grep -q 'after a crash' "$scratch/inherited"
	start_owner
fi

# --- the owner is suspended --------------------------------------------------

is_connected()
{
	[ -s "$pid_file" ] &&
		find "/proc/$(cat "$pid_file")/fd" -lname 'socket:*' | grep -q .
}

# Suspends the owner when `watch` has shown something. It asks again within a
# second.
suspends_watched()
{
	[ -s "$out" ] || return 1
	kill -s STOP "$owner_pid"
	sleep 3
}

if [ "$way" = socket ]; then
	export owner_pid
	q put 'it suspends the owner' -q suspended
	args="queue $file work -q suspended -- $scratch/script"
	rm -f "$scratch/started"
	printf '%s\n' '#!/bin/sh' 'kill -s STOP "$owner_pid"
		until grep -q "^State:.T" "/proc/$owner_pid/status"; do
			sleep 0.1
		done
		: >"$scratch/started"' >"$scratch/script"
	signalled TERM is_started
	check 'a suspended owner: TERM ends work, which has lost a result' ended 1
	check 'a suspended owner: work says so' grep -q 'does not answer' "$err"
	args="queue $file take -q empty --wait forever"
	signalled TERM is_connected
	check 'a suspended owner: TERM ends take' ended 143
	kill -s CONT "$owner_pid"
	args="queue $file watch"
	signalled TERM suspends_watched
	check 'a suspended owner: TERM ends watch' ended 143
	kill -s CONT "$owner_pid"
	q put 'the owner goes on' -q suspended
	check 'the owner goes on' ended 0
fi

# --- watch -------------------------------------------------------------------

q watch -n 2
check 'watch: exit status 0' ended 0
check 'watch: two lines' [ "$(wc -l <"$out")" -eq 2 ]
check 'watch: text' printable
check 'watch: the counts' grep -q ' waiting 0 ready [0-9]* taken 0 ' "$out"
q watch -n 1 --json -q default
check 'watch --json: one flat object' is_json
if command -v script >/dev/null; then
	on_terminal "'$TKW' queue '$file' watch -n 2"
	check 'watch on a terminal: exit status 0' ended 0
	check 'watch on a terminal: 80 columns' fits 80
	check 'watch on a terminal: the queue' \
		grep -q "default" "$out"
	check 'watch on a terminal: shows the cursor' shows_cursor_last
	i=0
	while [ $i -lt 30 ]; do
		i=$((i + 1))
		q pause -q "queue $i"
	done
	on_terminal "'$TKW' queue '$file' watch -n 1"
	check 'watch of 30 queues: one screen' [ "$(text | wc -l)" -le 24 ]
	check 'watch of 30 queues: tells that there are more' \
		[ "$(text | grep -c ' more queues')" -eq 1 ]
else
	unchecked 'watch on a terminal: no script'
fi

# --- the end -----------------------------------------------------------------

stop_owner
check 'the law, at the end' law_holds
check 'nothing is left but the file' [ "$(ls "$file"*)" = "$file" ]
finish
