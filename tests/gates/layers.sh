#!/bin/sh
# SPDX-License-Identifier: MIT
# layers.sh ROOT | --self-test - checks that each folder includes only what the
# table in rules() allows.
#
# The gate finds an included file as the compiler does, however its path is
# written: "../timer/x.h" or <wheel/x.h>. A header that is not in the tree counts
# as a system header.
set -uf
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# `plain` lists headers that declare types and constants, but no function except
# that of assert. `libc` adds the headers of C library functions that need no
# operating system.
plain='stddef.h stdint.h stdbool.h stdalign.h stdarg.h limits.h errno.h assert.h'
libc="$plain string.h stdlib.h stdio.h"

# Which headers the wheel, the executors, the patterns and the timer may
# include. A room is a folder or a file with a row in rules().
api=include/tickwheel
api_wheel="$api/version.h $api/wheel.h"
api_exec="$api/version.h $api/exec.h"
os_for_patterns='src/os/atomic.h src/os/sync.h src/os/memory.h src/os/thread.h'
os_for_patterns="$os_for_patterns src/os/bell.h src/os/rundown.h src/os/frame.h"
os_for_patterns="$os_for_patterns src/os/fork.h src/os/cpus.h src/os/dice.h"
os_for_patterns="$os_for_patterns src/os/id_table.h src/timer/for_patterns.h"
os_for_patterns="$os_for_patterns src/os/clock.h src/os/alarm.h"
os_for_patterns="$os_for_patterns src/calendar/plan_share.h"
api_timer="$api_wheel $api/exec.h $api/stats.h $api/timer.h $api/group.h"

# What is spoken through the socket of a queue.
wire='src/store/wire.h src/store/address.h src/store/name.h'

# The oracles judge the wheel and the queue, so they share no code with them.
oracle='tests/model/oracle.[ch]'
queue_oracle='tests/queue/queue_oracle*.[ch]'

# Prints a table with three columns: a room, the files or folders of the tree
# that it may include, and the system headers that it may include.
#
# If you add a row, add a planted violation to self_test(). base may include
# wheel.h, because wheel.h declares an entry's links (struct tkw_link).
rules()
{
	cat <<-END
	include   | include                                    | $plain
	src/base  | src/base $api/version.h $api/wheel.h       | $plain
	src/wheel | src/wheel src/base $api_wheel              | $plain string.h
	src/os    | src/os src/base                            | *
	src/exec  | src/exec src/os src/base $api_exec         | $libc
	src/timer | src/timer src/wheel src/os src/base $api_timer | $libc
	src/queue | src/queue src/wheel src/base $api_wheel    | $plain string.h
	src/home  | src/home src/queue/heart.h $api/calendar.h | $libc
	src/store | src/store src/home src/queue src/os src/base include | *
	src/redis | src/redis src/home src/queue/heart.h $api_wheel $api/calendar.h | *
	src/patterns | src/patterns src/base $os_for_patterns include   | $libc
	src/calendar | src/calendar src/os/sync.h $api/calendar.h | $libc fcntl.h unistd.h sys/stat.h
	adapters  | adapters include                           | *
	tools     | tools include $wire                        | *
	examples  | examples include                           | *
	bench     | bench include                              | *
	bench/queue/queue_ram.c | bench include src/queue/heart.h | *
	$oracle   | tests/model/oracle.h                       | $libc
	$queue_oracle | tests/queue/queue_oracle.h             | $libc
	END
}

# is_in NAME PATTERN...: Does a pattern match NAME, or a folder that contains
# it?
is_in()
{
	member=$1
	shift
	for pattern in "$@"; do
		# shellcheck disable=SC2254 # the table holds patterns
		case $member in
		$pattern | $pattern/*)
			return 0
			;;
		esac
	done
	return 1
}

# normalise PATH: sets target to the path without "." and "..": a/b/../c becomes
# a/c.
normalise()
{
	target=$1
	while :; do
		case $target in
		./* | */./* | */../*) ;;
		*)
			return
			;;
		esac
		next=$(printf '%s\n' "$target" |
			sed 's,/\./,/,g; s,^\./,,; s,[^/]*[^/.]/\.\./,,')
		[ "$next" != "$target" ] || return
		target=$next
	done
}

# resolve FILE SPELLING: sets header to the name between the quotes, and target to
# the path in the tree of the header that FILE includes by this spelling, or to
# nothing if the header is not in the tree.
resolve()
{
	header=${2#?}
	header=${header%?}
	case $2 in
	\"*)
		set -- "${1%/*}" include src bench
		;;
	*)
		set -- include src bench
		;;
	esac
	target=
	for dir in "$@"; do
		if [ -f "$dir/$header" ]; then
			normalise "$dir/$header"
			return
		fi
	done
}

# judge FILE LINE SPELLING: complains if FILE must not include this header.
# find_row() has set may_project and may_system to the row of the file.
judge()
{
	case $3 in
	\<*\> | \"*\") ;;
	*)
		complain "$1:$2: cannot judge #include $3"
		return
		;;
	esac
	resolve "$1" "$3"
	# shellcheck disable=SC2086 # the row's lists are split on purpose
	if [ -n "$target" ]; then
		is_in "$target" $may_project ||
			complain "$1:$2: $room must not include $target"
	else
		is_in "$header" $may_system ||
			complain "$1:$2: $room must not include <$header>"
	fi
}

# find_row FILE: sets room, may_project and may_system to the row of the file.
find_row()
{
	room=
	while IFS='|' read -r name projects systems; do
		name=${name%"${name##*[! ]}"}
		if is_in "$1" "$name"; then
			room=$name
			may_project=$projects
			may_system=$systems
		fi
	done <"$table"
	[ -n "$room" ]
}

check_tree()
{
	cd "$1" || exit 1
	table=$(mktemp)
	found=$(mktemp)
	trap 'rm -f "$table" "$found"' EXIT
	rules >"$table"
	# shellcheck disable=SC2046 # folder names, without spaces
	find $(ls -d include src adapters tools examples bench \
		tests/model/oracle.c tests/model/oracle.h \
		tests/queue/queue_oracle.c tests/queue/queue_oracle.h \
		tests/queue/queue_oracle_plans.c \
		2>/dev/null) \
		\( -name '*.[ch]' -o -name '*.cc' \) -exec awk '
		/^[ \t]*#[ \t]*include/ {
			sub(/^[ \t]*#[ \t]*include[ \t]*/, "")
			if (match($0, /^(<[^>]*>|"[^"]*")/))
				$0 = substr($0, 1, RLENGTH)
			print FILENAME, FNR, $0
		}' {} + >"$found"
	last=
	while read -r file line spelling; do
		if [ "$file" = "$last" ] || find_row "$file"; then
			last=$file
			judge "$file" "$line" "$spelling"
		else
			complain "$file: no rule for this folder (add one to tests/gates/layers.sh)"
		fi
	done <"$found"
	[ ! -d tests/model ] || [ -f tests/model/oracle.c ] ||
		complain 'tests/model has no oracle.c: its rule is out of date'
	[ ! -d tests/queue ] || [ -f tests/queue/queue_oracle.c ] ||
		complain 'tests/queue has no queue_oracle.c: its rule is out of date'
	[ -s "$found" ] || complain "no includes found under $1"
	verdict "$(wc -l <"$found") includes"
}

# plant FILE INCLUDE: makes a tree in which only FILE includes something.
plant()
{
	rm -rf "$scratch/tree"
	for h in include/tickwheel.h include/tickwheel/wheel.h \
		include/tickwheel/timer.h include/tickwheel/retry.h \
		src/base/links.h src/wheel/engine.h src/os/sync.h \
		src/os/clock.h src/timer/shard.h src/exec/queue.h \
		src/timer/for_patterns.h bench/harness/report.h \
		src/queue/heart.h src/queue/state.h src/home/planner.h \
		include/tickwheel/calendar.h src/store/store.h src/store/wire.h \
		"${1%.c}.h" "$1"; do
		mkdir -p "$scratch/tree/$(dirname "$h")"
		: >"$scratch/tree/$h"
	done
	echo "#include $2" >"$scratch/tree/$1"
}

bad()
{
	plant "$1" "$2"
	word=${3:-$(printf '%s\n' "$2" | tr -d '<>"')}
	must_reject "$word" sh "$self" "$scratch/tree"
	# self_test() checks that each room had a violation.
	echo "$1" >>"$scratch/rooms"
}

good()
{
	plant "$1" "$2"
	must_accept "$1 -> $2" sh "$self" "$scratch/tree"
}

self_test()
{
	make_scratch
	bad include/tickwheel/a.h '"wheel/engine.h"'
	bad include/tickwheel/a.h '<pthread.h>'
	bad src/base/a.h '"wheel/engine.h"'
	bad src/base/a.c '<string.h>'
	bad src/wheel/a.c '"timer/shard.h"'
	bad src/wheel/a.c '"../timer/shard.h"' src/timer/shard.h
	bad src/wheel/a.c '<timer/shard.h>'
	bad src/wheel/a.c '"tickwheel/timer.h"'
	for h in time pthread stdatomic stdio stdlib unistd sys/time; do
		bad src/wheel/a.c "<$h.h>"
		bad src/base/a.c "<$h.h>"
	done
	bad src/wheel/a.c 'SOME_MACRO'
	bad src/os/a.c '"wheel/engine.h"'
	bad src/exec/a.c '"timer/shard.h"'
	bad src/exec/a.c '<pthread.h>'
	bad src/timer/a.c '"exec/queue.h"'
	bad src/timer/a.c '<time.h>'
	bad src/timer/a.c '"tickwheel/retry.h"'
	bad src/queue/a.c '"timer/shard.h"'
	bad src/queue/a.c '"os/sync.h"'
	bad src/queue/a.c '"tickwheel/timer.h"'
	bad src/queue/a.c '"store/store.h"'
	for h in time pthread stdatomic stdio stdlib unistd sqlite3; do
		bad src/queue/a.c "<$h.h>"
	done
	bad src/queue/a.c '"home/planner.h"'
	bad src/home/a.c '"queue/state.h"'
	bad src/home/a.c '"store/store.h"'
	bad src/home/a.c '<time.h>'
	bad src/store/a.c '"wheel/engine.h"'
	bad src/store/a.c '"timer/shard.h"'
	bad src/redis/a.c '"queue/state.h"' src/queue/state.h
	bad src/redis/a.c '"store/store.h"'
	bad src/redis/a.c '"wheel/engine.h"'
	bad src/wheel/a.c '"store/store.h"'
	bad src/timer/a.c '"store/store.h"'
	bad src/patterns/a.c '"timer/shard.h"'
	bad src/patterns/a.c '"exec/queue.h"'
	bad src/patterns/a.c '"wheel/engine.h"'
	bad src/calendar/a.c '"timer/shard.h"'
	bad src/calendar/a.c '<time.h>'
	bad adapters/a.h '"../src/os/sync.h"' src/os/sync.h
	bad tools/a.c '"wheel/engine.h"'
	bad tools/a.c '"store/store.h"'
	bad examples/a.c '"base/links.h"'
	bad bench/a.c '"timer/shard.h"'
	bad bench/timer/a.c '"../../src/timer/shard.h"' src/timer/shard.h
	bad bench/queue/a.c '"queue/heart.h"'
	bad bench/queue/queue_ram.c '"timer/shard.h"'
	bad tools/a.c '"harness/report.h"' bench/harness/report.h
	bad tests/model/oracle.c '"tickwheel/wheel.h"'
	bad tests/model/oracle.c '<tickwheel.h>'
	bad tests/model/oracle.c '"../../src/base/links.h"' src/base/links.h
	bad tests/model/oracle.c '"wheel/engine.h"'
	bad tests/model/oracle.c '"driver.h"'
	bad tests/model/oracle.c '<time.h>'
	bad tests/model/oracle.h '"tickwheel.h"'
	bad tests/queue/queue_oracle.c '"queue/heart.h"'
	bad tests/queue/queue_oracle.c '"tickwheel/wheel.h"'
	bad tests/queue/queue_oracle.h '<time.h>'
	bad tests/queue/queue_oracle_plans.c '"queue/heart.h"'
	plant tests/queue/judge.c '<stdint.h>'
	must_reject 'no queue_oracle.c' sh "$self" "$scratch/tree"
	plant tests/model/judge.c '<stdint.h>'
	must_reject 'no oracle.c' sh "$self" "$scratch/tree"
	bad src/attic/a.c '<stdint.h>' 'no rule'
	good src/base/a.h '<stdint.h>'
	good src/wheel/a.c '"base/links.h"'
	good src/wheel/a.c '"engine.h"'
	good src/queue/a.c '"base/links.h"'
	good src/queue/a.c '"tickwheel/wheel.h"'
	good src/queue/a.c '<string.h>'
	good src/home/a.c '"queue/heart.h"'
	good src/home/a.c '"tickwheel/calendar.h"'
	good src/store/a.c '"home/planner.h"'
	good src/redis/a.c '"home/planner.h"'
	good src/store/a.c '"queue/heart.h"'
	good src/store/a.c '"os/sync.h"'
	good src/store/a.c '"tickwheel/timer.h"'
	good src/store/a.c '<sqlite3.h>'
	good src/redis/a.c '"queue/heart.h"'
	good src/redis/a.c '"tickwheel/wheel.h"'
	good tests/queue/queue_oracle.c '"queue_oracle.h"'
	good src/timer/a.c '"os/sync.h" /* a comment */'
	good src/patterns/a.c '"timer/for_patterns.h"'
	good src/patterns/a.c '"os/sync.h"'
	good src/calendar/a.c '"os/sync.h"'
	good tools/a.c '<stdio.h>'
	good tools/a.c '"store/wire.h"'
	good bench/a.c '"tickwheel.h"'
	good bench/timer/a.c '"harness/report.h"'
	good bench/queue/queue_ram.c '"queue/heart.h"'
	good tests/model/oracle.c '<string.h>'
	good tests/model/oracle.c '"oracle.h"'
	rules | while read -r name rest; do
		grep -q "^$name\\(/\\|$\\)" "$scratch/rooms" ||
			echo "$gate: no planted violation for $name: $rest"
	done >"$scratch/bare"
	if [ -s "$scratch/bare" ]; then
		cat "$scratch/bare" >&2
		missed=$((missed + 1))
	fi
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_tree "${1:?the root of the tree}"
	;;
esac
