#!/bin/sh
# SPDX-License-Identifier: MIT
# planted.sh ROOT [PATCH...] | --self-test ROOT - plant bugs, one at a time, and
# require that the test named in the patch fails. Without PATCH: all of the
# folder.
#
# A patch begins with prose; a line "Test: TARGET [ARGUMENT...]" names the target
# to build and the arguments to run it with. Work is done in copies of the tree,
# one per CPU, each built once; a patch is then a matter of the files it touches.
set -u

here=$(cd "$(dirname "$0")" && pwd)
LC_ALL=C
export LC_ALL

say()
{
	echo "planted: $*"
}

die()
{
	say "$*" >&2
	exit 1
}

make_scratch()
{
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 1' HUP INT TERM
}

# copy_tree ROOT TO: what is needed to build, with a build folder of its own.
copy_tree()
{
	mkdir -p "$2"
	(cd "$1" && tar cf - CMakeLists.txt cmake include src tests tools examples \
		bench fuzz) | (cd "$2" && tar xf -)
	cmake -S "$2" -B "$2/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_C_FLAGS_RELWITHDEBINFO='-O1 -g' -DTKW_BUILD_TESTS=ON \
		-DTKW_BUILD_BENCH=OFF >"$2/configure.log" 2>&1 ||
		die "cannot configure: $(cat "$2/configure.log")"
}

# test_line PATCH: what the patch names after "Test:".
test_line()
{
	sed -n 's/^Test: *//p' "$1" | head -n 1
}

# built TREE TARGET: the path of its program.
built()
{
	find "$1/build" -type f -name "$2" -perm -u+x | head -n 1
}

# try_patch TREE PATCH: prints a verdict; status 0 if the bug was found.
try_patch()
{
	tree=$1
	name=$(basename "$2" .patch)
	# shellcheck disable=SC2046 # words
	set -- "$2" $(test_line "$2")
	[ $# -ge 2 ] || {
		say "$name: names no test"
		return 1
	}
	file=$1
	target=$2
	shift 2
	patch -s -p1 -d "$tree" <"$file" >"$tree/log" 2>&1 || {
		say "$name: does not apply: $(head -n 3 "$tree/log")"
		return 1
	}
	status=0
	if ! cmake --build "$tree/build" --target "$target" >"$tree/log" 2>&1; then
		say "$name: does not build: $(grep error "$tree/log" | head -n 3)"
		status=1
	elif (cd "$tree" && timeout 20 "$(built "$tree" "$target")" "$@") \
		>"$tree/log" 2>&1; then
		say "$name: NOT FOUND by $target $*"
		status=1
	elif grep -qE "FAILED|\[  ERROR   \]" "$tree/log"; then
		say "$name: found by $target $*"
	else
		# Not by a crash, a bad argument, or a test that does not end.
		say "$name: $target $* ended, but not by a failed check:" \
			"$(tail -n 3 "$tree/log")"
		status=1
	fi
	patch -s -R -p1 -d "$tree" <"$file" ||
		die "$name: cannot be taken back"
	return "$status"
}

# run_share TREE PATCH...: one after the other.
run_share()
{
	share=$1
	shift
	failures=0
	for patch in "$@"; do
		try_patch "$share" "$patch" || failures=$((failures + 1))
	done
	return "$failures"
}

# Deal the patches out to the copies, and wait for all.
run_all()
{
	root=$1
	shift
	make_scratch
	cpus=$(nproc)
	jobs=
	i=0
	while [ "$i" -lt "$cpus" ]; do
		share=
		n=0
		for patch in "$@"; do
			[ $((n % cpus)) -ne "$i" ] || share="$share $patch"
			n=$((n + 1))
		done
		if [ -n "$share" ]; then
			copy_tree "$root" "$scratch/$i"
			# shellcheck disable=SC2086 # a list of paths
			run_share "$scratch/$i" $share &
			jobs="$jobs $!"
		fi
		i=$((i + 1))
	done
	failed=0
	for job in $jobs; do
		wait "$job" || failed=$((failed + $?))
	done
	say "$# bugs planted, $(($# - failed)) found"
	[ "$failed" -eq 0 ] && [ $# -gt 0 ]
}

# A patch that harms nothing must be reported as not found, one that does not
# apply as such.
self_test()
{
	make_scratch
	log=$scratch/log
	cat >"$scratch/harmless.patch" <<-'END'
	It adds a comment.
	Test: test_base
	--- a/src/base/version.c
	+++ b/src/base/version.c
	@@ -1,2 +1,3 @@
	 /* SPDX-License-Identifier: MIT */
	+/* version.c */
	 #include "tickwheel/version.h"
	END
	cat >"$scratch/stale.patch" <<-'END'
	It was made for another tree.
	Test: test_base
	--- a/src/base/version.c
	+++ b/src/base/version.c
	@@ -1,1 +1,1 @@
	-nothing like this
	+is there
	END
	sed 's/^Test: .*/Test: explore_timer no_such_scenario/' \
		"$scratch/harmless.patch" >"$scratch/nowhere.patch"
	if sh "$0" "$1" "$scratch/harmless.patch" "$scratch/stale.patch" \
		"$scratch/nowhere.patch" >"$log" 2>&1; then
		cat "$log"
		die 'accepted a bug that nothing finds'
	fi
	for word in 'harmless: NOT FOUND' 'stale: does not apply' \
		'nowhere: .* not by a failed check' '3 bugs planted, 0 found'; do
		grep -q "$word" "$log" && continue
		cat "$log"
		die 'rejected, but for another reason'
	done
	say 'self-test passed'
}

case ${1:-} in
--self-test)
	self_test "${2:?the root of the tree}"
	;;
*)
	root=${1:?the root of the tree}
	shift
	[ $# -gt 0 ] || set -- "$here"/*.patch
	run_all "$root" "$@"
	;;
esac
