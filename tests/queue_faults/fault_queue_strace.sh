#!/bin/sh
# SPDX-License-Identifier: MIT
# fault_queue_strace.sh TKW - strace makes one system call of `tkw queue` fail,
# for each of the writes and syncs of a put. A put that succeeds has put its
# item; after any other, the file is sound, and what was in it before is there.
# Exit status 77: strace does not work here.
set -u

tkw=${1:?the program tkw}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
file=$scratch/f
told=0
# The search for leaks does not work under strace.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

die()
{
	echo "fault_queue_strace: $*" >&2
	exit 1
}

# inject CALL ERROR N WORD...: runs `tkw queue` with the n-th call failing.
inject()
{
	how=$1:error=$2:when=$3
	shift 3
	strace -f -qq -o "$scratch/log" -e trace="${how%%:*}" \
		-e inject="$how" "$tkw" queue "$file" "$@" \
		>"$scratch/out" 2>"$scratch/err"
}

has()
{
	grep -q " $1\$" "$scratch/list"
}

# check_file STATUS ERROR: the item `old` is there, and `new` if the put
# succeeded. A put that found no room has put nothing.
check_file()
{
	"$tkw" queue "$file" list >"$scratch/list" 2>&1 ||
		die "$call $error $n: $(cat "$scratch/list")"
	has old || die "$call $error $n: the first item is lost"
	if [ "$1" -eq 0 ]; then
		has new || die "$call $error $n: an item is lost"
		return
	fi
	told=$((told + 1))
	[ -s "$scratch/err" ] || die "$call $error $n: it does not say why"
	[ "$2" = EIO ] || ! has new || die "$call $error $n: it is there"
}

# sweep CALL ERROR: until the call is not made so often.
sweep()
{
	call=$1
	error=$2
	n=1
	while :; do
		rm -f "$file"*
		"$tkw" queue "$file" put old >"$scratch/out" ||
			die 'a put fails without a fault'
		status=0
		inject "$call" "$error" "$n" put new || status=$?
		check_file "$status" "$error"
		grep -q INJECTED "$scratch/log" || break
		n=$((n + 1))
	done
	echo "$call $error: failed at each of $((n - 1))"
	[ "$n" -gt 2 ] || die "$call is not called"
}

strace -f -qq -o "$scratch/log" -e trace=fdatasync true || {
	echo 'strace does not work here'
	exit 77
}
sweep fdatasync EIO
sweep pwrite64 EIO
sweep pwrite64 ENOSPC
echo "$told puts have failed"
[ "$told" -gt 0 ] || die 'no put has failed'
