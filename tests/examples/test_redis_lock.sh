#!/bin/sh
# SPDX-License-Identifier: MIT
# test_redis_lock.sh REDIS_LOCK - tests the example with a Redis server of its
# own. Locks are kept, lost and released. The test checks the order of events,
# and not how long they take.
set -u
redis_lock=$1
scratch=$(cd "$(mktemp -d)" && pwd -P)
server=
holders=
failed=0

end()
{
	# A stopped server does not react to most signals, so it must go on
	# first.
	[ -z "$server" ] || kill -CONT "$server" 2>>"$scratch/kill.log"
	for pid in $holders $server; do
		kill -KILL "$pid" 2>>"$scratch/kill.log"
	done
	wait
	rm -rf "$scratch"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

die()
{
	echo "test_redis_lock: $*" >&2
	for log in "$scratch"/*.out; do
		[ ! -f "$log" ] || sed "s|^|$(basename "$log"): |" "$log" >&2
	done
	exit 1
}

# check WHAT COMMAND...: counts a failure if the command does not succeed.
check()
{
	what=$1
	shift
	if "$@"; then
		echo "ok: $what"
	else
		echo "FAILED: $what"
		failed=$((failed + 1))
	fi
}

cli()
{
	redis-cli -h 127.0.0.1 -p "$port" "$@"
}

# Starts a server on a free port. If a port is taken, the server ends at once,
# and the next port is tried.
start_server()
{
	tries=0
	while [ "$tries" -lt 50 ]; do
		port=$((20000 + ($$ * 7 + tries * 131) % 12000))
		redis-server --save '' --appendonly no --bind 127.0.0.1 \
			--port "$port" --dir "$scratch" \
			>"$scratch/server.log" 2>&1 &
		server=$!
		while kill -0 "$server" 2>>"$scratch/kill.log"; do
			# Another server on this port has another folder.
			[ "$(cli config get dir 2>>"$scratch/kill.log" |
				tail -n 1)" = "$scratch" ] && return 0
			sleep 0.02
		done
		tries=$((tries + 1))
	done
	die 'no server'
}

# start NAME KEY COUNT LEASE_MS RENEW_MS: starts a holder, which reads NAME.in
# and writes to NAME.out. Sets $holder to its process id.
start()
{
	: >"$scratch/$1.out"
	mkfifo "$scratch/$1.in"
	"$redis_lock" "$port" "$2" "$3" "$4" "$5" <"$scratch/$1.in" \
		>"$scratch/$1.out" 2>&1 3>&- 4>&- 5>&- &
	holder=$!
	holders="$holders $holder"
}

# await NAME LINES PATTERN: waits until the holder has printed this many lines
# with the pattern.
await()
{
	waited=0
	while [ "$(grep -c "$3" "$scratch/$1.out")" -lt "$2" ]; do
		waited=$((waited + 1))
		[ "$waited" -lt 3000 ] || die "$1 does not say '$3'"
		sleep 0.02
	done
}

# when NAME PATTERN: prints the time in the first line with the pattern.
when()
{
	grep "$2" "$scratch/$1.out" | head -n 1 | sed 's/.* //'
}

is()
{
	[ "$1" = "$2" ]
}

more()
{
	[ "$1" -gt "$2" ]
}

# Prints how often the holders have asked for a lock, all together.
asks()
{
	cli info commandstats | sed -n 's/^cmdstat_set:calls=\([0-9]*\),.*/\1/p'
}

silent()
{
	! grep -q "$2" "$scratch/$1.out"
}

for program in redis-server redis-cli; do
	command -v "$program" >"$scratch/which" || {
		echo "skipped: no $program"
		exit 77
	}
done
start_server

# 1: Locks are kept for longer than their lease. They are renewed so often that
# one is lost only if the machine stands still for long.
start a kept 3 3000 100
exec 3>"$scratch/a.in"
await a 3 '^acquired'
token=$(cli get kept:0)
begin=$(when a '^acquired kept:2')
now=$begin
waited=0
while [ $((now - begin)) -lt 7000000000 ]; do
	waited=$((waited + 1))
	[ "$waited" -lt 600 ] || die 'a does not renew'
	sleep 0.1
	now=$(tail -n 1 "$scratch/a.out" | sed 's/.* //')
done
check 'kept past its lease' is "$(cli get kept:0)" "$token"
check 'so are the others' is "$(cli get kept:1) $(cli get kept:2)" \
	"$token $token"
check 'none was lost' silent a '^lost'

# 2: A lock is renewed only if the key has the token of its owner.
cli set kept:1 other px 3600000 >"$scratch/cli.log"
await a 1 '^lost:stale kept:1'
renewals=$(grep -c '^renewed' "$scratch/a.out")
await a $((renewals + 5)) '^renewed'
check "another's lock stays as it is" is "$(cli get kept:1)" other
check 'and its time, too' more "$(cli pttl kept:1)" 1800000
check 'no other was lost' silent a '^lost.* kept:[02]'

# 3: A lock that was released is not renewed. The test gives the key the old
# token again, so that a renewal would succeed and the test would notice it.
echo 0 >&3
await a 1 '^released kept:0'
check 'released: it is gone' is "$(cli exists kept:0)" 0
cli set kept:0 "$token" px 3600000 >"$scratch/cli.log"
renewals=$(grep -c '^renewed' "$scratch/a.out")
await a $((renewals + 5)) '^renewed'
check 'one that was released is not renewed' more "$(cli pttl kept:0)" 1800000
cli del kept:0 >"$scratch/cli.log"
renewals=$(grep -c '^renewed' "$scratch/a.out")
await a $((renewals + 5)) '^renewed'
check 'a lock that is gone does not come back' is "$(cli exists kept:0)" 0
check 'nobody was asked about it' silent a '^lost.* kept:0'
exec 3>&-
await a 1 '^released kept:2'

# 4: A holder that is killed loses its lock, and another holder gets it.
start b killed 1 3000 100
exec 4>"$scratch/b.in"
killed=$holder
await b 1 '^acquired'
start c killed 1 3000 100
exec 5>"$scratch/c.in"
asked=$(asks)
waited=0
while [ $(($(asks) - asked)) -lt 3 ]; do
	waited=$((waited + 1))
	[ "$waited" -lt 3000 ] || die 'c does not ask'
	sleep 0.02
done
check 'while it lives nobody else has it' silent c '^acquired'
kill -KILL "$killed"
await c 1 '^acquired'
check 'the lock of one who was killed is had by another, later' \
	more "$(when c '^acquired')" "$(when b '^acquired')"
exec 4>&- 5>&-
await c 1 '^released'

# 5: The server hangs. The holder must report the lock as lost before another
# holder gets it.
start d hung 1 3000 100
exec 4>"$scratch/d.in"
await d 1 '^acquired'
start e hung 1 3000 100
exec 5>"$scratch/e.in"
await d 1 '^renewed'
kill -STOP "$server"
await d 1 '^lost hung:0'
check 'nobody else has it yet' silent e '^acquired'
kill -CONT "$server"
await e 1 '^acquired'
check 'lost before another has it' \
	more "$(when e '^acquired')" "$(when d '^lost')"
exec 4>&- 5>&-
await d 1 '^gone'
await e 1 '^released'

[ "$failed" -eq 0 ] || die "$failed failed"
