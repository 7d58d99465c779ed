#!/bin/sh
# SPDX-License-Identifier: MIT
# planted.sh ROOT [PATCH...] | --self-test ROOT - plants bugs, one at a time, and
# checks that the test that the patch names fails with the message that the patch
# names. Without PATCH it plants all bugs of this folder, and checks that each
# scenario of the explorers has a patch.
#
# A patch begins with prose, and these lines:
#   Test: TARGET [ARGUMENT...]  the program to build and run, and its arguments
#   Says: TEXT                  a part of the line that reports the failure
#   First: yes                  explorers only: the first order shows the bug;
#                               without this line it must not
# The bugs are planted in copies of the tree, one copy per CPU. Each copy is built
# once. After that, a patch rebuilds only what depends on the files that it
# touches.
set -u

copies=$(nproc)
complete= # "yes" if all patches of this folder are planted
here=$(cd "$(dirname "$0")" && pwd)
explorers='explore_timer explore_lock'
LC_ALL=C
TKW_QUEUE_KILLS=10 # the run goes on until all has happened that must
TKW_EXPLORE_ORDERS=105000
export LC_ALL TKW_QUEUE_KILLS TKW_EXPLORE_ORDERS

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

# copy_tree ROOT TO: copies the files that the build needs, and configures a
# build folder in the copy.
copy_tree()
{
	mkdir -p "$2"
	(cd "$1" && tar cf - CMakeLists.txt adapters bench cmake examples fuzz \
		include man src tests tools) | (cd "$2" && tar xf -)
	cmake -S "$2" -B "$2/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DTKW_BUILD_TESTS=ON \
		-DTKW_BUILD_BENCH=OFF >"$2/configure.log" 2>&1 ||
		die "cannot configure: $(cat "$2/configure.log")"
}

# field NAME PATCH: prints the text after "NAME:" in the patch.
field()
{
	sed -n "s/^$1: *//p" "$2" | head -n 1
}

# build TREE TARGET...: builds the targets. The output goes to TREE/log.
build()
{
	copy=$1
	shift
	cmake --build "$copy/build" --target "$@" >"$copy/log" 2>&1
}

# built TREE TARGET: prints the path of the program.
built()
{
	find "$1/build" -type f -name "$2" -perm -u+x | head -n 1
}

# run_test TREE TEXT TARGET [ARGUMENT...]: runs a test. Its output goes to
# TREE/log. Returns 0 if the test passed, 1 if it failed and said TEXT, and 2
# otherwise. It ends the test as soon as a failure says TEXT, because some bugs
# make the next test wait for ever. So the test leaves its files behind, and they
# must be in the copy.
run_test()
{
	copy=$1
	fixed=$2
	text=$(printf '%s\n' "$2" | sed 's/[][\\.*^$/]/\\&/g')
	program=$(built "$1" "$3")
	shift 3
	(cd "$copy" && exec env TMPDIR="$copy" timeout 20 "$program" "$@") \
		>"$copy/pipe" 2>&1 &
	job=$!
	timeout 30 sed -e "/FAILED.*$text/q" -e "/ERROR   \].*$text/q" \
		"$copy/pipe" >"$copy/log"
	kill "$job" 2>"$copy/kill.log"
	wait "$job" 2>"$copy/kill.log" && return 0
	# After a crash cmocka names the case, too, but a crash does not count.
	awk '/^\[ RUN/ { crash = 0 } { last = /failed with exception/ }
		last { crash = 1 } END { exit crash && !last }' "$copy/log" ||
		return 2
	tail -n 1 "$copy/log" | grep -aE 'FAILED|ERROR   \]' |
		grep -qaF -e "$fixed" || return 2
	return 1
}

# check_tests TREE PATCH...: the tests that the patches name must pass before a
# bug is planted.
check_tests()
{
	tree=$1
	shift
	for patch in "$@"; do
		field Test "$patch"
	done | sort -u >"$tree/tests.list"
	# shellcheck disable=SC2046 # words
	build "$tree" $(cut -d ' ' -f 1 "$tree/tests.list" | sort -u) || {
		say "does not build as it is: $(grep error "$tree/log" | head -n 3)"
		return 1
	}
	while read -r line; do
		# shellcheck disable=SC2086 # words
		TKW_EXPLORE_ORDERS=300 run_test "$tree" '' $line && continue
		say "$line: fails as it is: $(tail -n 3 "$tree/log")"
		return 1
	done <"$tree/tests.list"
}

# judge TREE FIRST TEXT TARGET [ARGUMENT...]: prints a verdict on the bug that
# is in the tree. Returns 0 if the test found the bug as the patch says.
judge()
{
	tree=$1
	first=$2
	text_said=$3
	shift 3
	if ! build "$tree" "$1"; then
		echo "does not build: $(grep error "$tree/log" | head -n 3)"
		return 1
	fi
	case $1 in
	explore_*)
		target=$1
		shift
		run_test "$tree" "$text_said" "$target" --replay none "$@"
		case $?,$first in
		0, | 1,yes) ;;
		*,yes)
			echo "not found by the first order of $target $*"
			return 1
			;;
		*)
			echo "found by the first order of $target $*:" \
				"$(grep -a FAILED "$tree/log")"
			return 1
			;;
		esac
		set -- "$target" "$@"
		;;
	esac
	run_test "$tree" "$text_said" "$@"
	case $? in
	0)
		echo "NOT FOUND by $*"
		return 1
		;;
	1)
		echo "found by $*: $text_said"
		;;
	*)
		# A crash, the failure of another check, a bad argument, or a
		# test that does not end: the bug does not count as found.
		echo "$* ended, but does not say '$text_said':" \
			"$(tail -n 3 "$tree/log")"
		return 1
		;;
	esac
}

# try_patch TREE PATCH: plants a bug, prints the verdict on it, and takes it out
# again. Returns 0 if the bug was found.
try_patch()
{
	name=$(basename "$2" .patch)
	test=$(field Test "$2")
	says=$(field Says "$2")
	if [ -z "$test" ] || [ -z "$says" ]; then
		say "$name: does not say which test fails, and how"
		return 1
	fi
	# If a part of a patch no longer applies, apply no part of it.
	patch -s -p1 -F0 --dry-run -d "$1" <"$2" >"$1/log" 2>&1 || {
		say "$name: does not apply: $(head -n 3 "$1/log")"
		return 1
	}
	patch -s -p1 -F0 -d "$1" <"$2" || die "$name: cannot be applied"
	# shellcheck disable=SC2086 # words
	verdict=$(judge "$1" "$(field First "$2")" "$says" $test)
	status=$?
	say "$name: $verdict"
	patch -s -R -p1 -F0 -d "$1" <"$2" || die "$name: cannot be taken back"
	return "$status"
}

# run_share TREE PATCH...: tries the patches one after the other. Returns how
# many failed.
run_share()
{
	share=$1
	shift
	[ -p "$share/pipe" ] || mkfifo "$share/pipe"
	check_tests "$share" "$@" || return $#
	failures=0
	for patch in "$@"; do
		try_patch "$share" "$patch" || failures=$((failures + 1))
	done
	return "$failures"
}

# check_scenarios TREE PATCH...: each scenario of the explorers must have a
# patch explore_SCENARIO, and each of these patches must have a scenario.
check_scenarios()
{
	tree=$1
	shift
	# shellcheck disable=SC2086 # words
	build "$tree" $explorers || die "the explorers do not build"
	for explorer in $explorers; do
		"$(built "$tree" "$explorer")" --list |
			sed "s/^\([^ ]*\).*/explore_\1: $explorer \1/"
	done | sort >"$tree/scenarios.list"
	for patch in "$@"; do
		echo "$(basename "$patch" .patch): $(field Test "$patch")"
	done | grep '^explore_' | sort >"$tree/bugs.list"
	diff "$tree/scenarios.list" "$tree/bugs.list" ||
		die 'scenarios (<) and bugs for them (>) are not the same'
}

# run_all ROOT PATCH...: divides the patches among the copies of the tree, and
# waits until all are tried.
run_all()
{
	root=$1
	shift
	jobs=
	i=0
	while [ "$i" -lt "$copies" ]; do
		share=
		n=0
		for patch in "$@"; do
			[ $((n % copies)) -ne "$i" ] || share="$share $patch"
			n=$((n + 1))
		done
		if [ -n "$share" ]; then
			[ -d "$scratch/$i" ] || copy_tree "$root" "$scratch/$i"
			[ "$i" -ne 0 ] || [ -z "$complete" ] ||
				check_scenarios "$scratch/$i" "$@"
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

# expect WORD...: fails the self-test unless each WORD is in the log.
expect()
{
	for word in "$@"; do
		grep -q "$word" "$scratch/log" && continue
		cat "$scratch/log"
		die "self-test: no '$word'"
	done
}

# write_patch NAME SAYS BODY: writes a patch that puts BODY into tkw_version().
write_patch()
{
	cat >"$scratch/$1.patch" <<-END
	Test: test_base
	Says: $2
	--- a/src/base/version.c
	+++ b/src/base/version.c
	@@ -3,5 +3,6 @@

	 const char *tkw_version(void)
	 {
	+	$3
	 	return TKW_VERSION;
	 }
	END
}

# Each faulty patch must be reported, and the bug of the good one must be found.
self_test()
{
	make_scratch
	copies=1
	case=test_version_of_header_and_library_agree
	write_patch good "$case" 'return "";'
	write_patch other test_links_append 'return "";'
	write_patch crash "$case" '__builtin_trap();'
	write_patch harmless "$case" '/* nothing */'
	write_patch no_code "$case" '#error'
	sed '/^Says:/d' "$scratch/good.patch" >"$scratch/mute.patch"
	sed 's/^$/ not this/' "$scratch/good.patch" >"$scratch/fuzzy.patch"
	cat "$scratch/good.patch" - >"$scratch/half.patch" <<-'END'
	--- a/src/base/bits.h
	+++ b/src/base/bits.h
	@@ -1,1 +1,1 @@
	-nothing like this
	+is there
	END
	# Two patches of the folder, with a wrong statement about the first
	# order.
	{
		echo 'First: yes'
		cat "$here/explore_lock_two.patch"
	} >"$scratch/late.patch"
	sed '/^First:/d' "$here/explore_let_in_nobody.patch" \
		>"$scratch/early.patch"
	cat >"$scratch/signal.patch" <<-'END'
	Test: explore_lock lock_two
	Says: not so
	--- a/src/os/sync.c
	+++ b/src/os/sync.c
	@@ -102,4 +102,5 @@
	 void tkw__lock_wait(struct tkw__lock *l)
	 {
	+	__builtin_trap();
	 	if (spin(l))
	 		return;
	END
	set -- "$1" "$scratch/half.patch" "$scratch/fuzzy.patch" \
		"$scratch/good.patch" "$scratch/other.patch" \
		"$scratch/crash.patch" "$scratch/harmless.patch" \
		"$scratch/no_code.patch" "$scratch/mute.patch" \
		"$scratch/late.patch" "$scratch/early.patch" \
		"$scratch/signal.patch"
	(run_all "$@") >"$scratch/log" 2>&1 && die 'self-test: accepted all'
	expect 'half: does not apply' 'fuzzy: does not apply' \
		"good: found by test_base: $case" 'other: .* does not say' \
		'crash: .* does not say' 'harmless: NOT FOUND' \
		'no_code: does not build' 'mute: does not say which' \
		'late: not found by the first order' \
		'early: found by the first order' \
		'signal: .* does not say' 'lock_two FAILED .*killed by a signal' \
		'11 bugs planted, 1 found'

	sed 's/^Test: .*/Test: explore_lock no_such/' "$scratch/good.patch" \
		>"$scratch/nowhere.patch"
	(run_all "$1" "$scratch/nowhere.patch") >"$scratch/log" 2>&1 &&
		die 'self-test: accepted a test that does not pass'
	expect 'explore_lock no_such: fails as it is' '1 bugs planted, 0 found'

	(complete=yes && run_all "$1" "$scratch/good.patch") \
		>"$scratch/log" 2>&1 &&
		die 'self-test: accepted scenarios without a bug'
	expect '^< explore_lock_two: explore_lock lock_two' 'are not the same'
	say 'self-test passed'
}

case ${1:-} in
--self-test)
	self_test "${2:?the root of the tree}"
	;;
*)
	root=${1:?the root of the tree}
	shift
	[ $# -gt 0 ] || {
		complete=yes
		set -- "$here"/*.patch
	}
	make_scratch
	run_all "$root" "$@"
	;;
esac
