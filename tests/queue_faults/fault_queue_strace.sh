#!/bin/sh
# SPDX-License-Identifier: MIT
# fault_queue_strace.sh TKW - strace makes one system call of `tkw queue` fail, for
# each of the writes, syncs, truncations, reservations and opens of a put, and of
# a cancel that makes the file smaller. A call that succeeds has happened; after
# any other, the file is sound, and what was in it before is there.
# Exit status 77: strace does not work here.
set -u

tkw=${1:?the program tkw}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
file=$scratch/f
told=0
# Old rows are removed when those of items that have ended take 4 MiB.
big_items=10
big_bytes=450000
# The search for leaks does not work under strace.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

die()
{
	echo "fault_queue_strace: $*" >&2
	exit 1
}

# fail WORD...: names the place of the sweep, too.
fail()
{
	die "$what: $call $error $n: $*"
}

queue()
{
	"$tkw" queue "$file" "$@"
}

# Puts large items into another queue. `ids` gets their ids.
put_big()
{
	ids=
	i=0
	while [ "$i" -lt "$big_items" ]; do
		id=$(head -c "$big_bytes" /dev/zero | queue put -q big -) ||
			die 'a large put fails without a fault'
		ids="$ids $id"
		i=$((i + 1))
	done
}

# inject CALL ERROR N WORD...: runs `tkw queue` with the n-th call failing.
inject()
{
	how=$1:error=$2:when=$3
	shift 3
	strace -f --seccomp-bpf -qq -o "$scratch/log" -e trace="${how%%:*}" \
		-e inject="$how" "$tkw" queue "$file" "$@" \
		>"$scratch/out" 2>"$scratch/err"
}

has()
{
	grep -q " $1\$" "$scratch/list"
}

# The item `new` is there if the put succeeded. A put that found no room has put
# nothing.
check_put()
{
	queue list >"$scratch/list" 2>&1 || fail "$(cat "$scratch/list")"
	has old || fail 'the first item is lost'
	if [ "$status" -eq 0 ]; then
		has new || fail 'an item is lost'
	elif [ "$error" = ENOSPC ] && has new; then
		fail 'it is there'
	fi
}

# ready QUEUE: prints how many items the queue has.
ready()
{
	sed -n "/\"queue\":\"$1\"/s/.*\"ready\":\([0-9]*\),.*/\1/p" \
		"$scratch/stats"
}

# All large items are gone if the cancel succeeded. Otherwise all or none are.
check_cancel()
{
	queue stats --all --json >"$scratch/stats" 2>&1 ||
		fail "$(cat "$scratch/stats")"
	[ "$(ready default)" = 1 ] || fail 'the first item is lost'
	case $(ready big),$status in
	0,* | "$big_items",[1-9]*) ;;
	*)
		fail "$(ready big) large items are left"
		;;
	esac
}

# sweep WHAT CALL ERROR: until the call is not made so often. WHAT is put or
# cancel.
sweep()
{
	what=$1
	call=$2
	error=$3
	n=1
	while :; do
		rm -f "$file"*
		cp "$scratch/$what.made" "$file"
		status=0
		case $what in
		put)
			inject "$call" "$error" "$n" put new || status=$?
			;;
		cancel)
			# shellcheck disable=SC2086 # words
			inject "$call" "$error" "$n" cancel -q big $ids ||
				status=$?
			;;
		esac
		if [ "$status" -ne 0 ]; then
			told=$((told + 1))
			[ -s "$scratch/err" ] || fail 'it does not say why'
		fi
		"check_$what"
		grep -q INJECTED "$scratch/log" || break
		n=$((n + 1))
	done
	echo "$what: $call $error: failed at each of $((n - 1))"
	[ "$n" -gt 1 ] || die "$what: $call is not called"
}

strace -f --seccomp-bpf -qq -o "$scratch/log" -e trace=fdatasync true || {
	echo 'skipped: strace does not work here'
	exit 77
}
queue put old >"$scratch/out" || die 'a put fails without a fault'
cp "$file" "$scratch/put.made"
put_big
cp "$file" "$scratch/cancel.made"
sweep put fdatasync EIO
for error in EIO ENOSPC; do
	for call in pwrite64 ftruncate fallocate openat; do
		sweep put "$call" "$error"
	done
done
sweep cancel fdatasync EIO
sweep cancel ftruncate EIO
sweep cancel pwrite64 EIO
sweep cancel pwrite64 ENOSPC
echo "$told calls have failed"
[ "$told" -gt 0 ] || die 'no call has failed'
