#!/bin/sh
# SPDX-License-Identifier: MIT
# spec.sh ROOT | --self-test - checks that each promise and each fault in
# docs/promises.md has a test that names it: test_1_9_... or "SPEC 1.9",
# fault_23_... or "fault 23". No test may name a number that does not exist.
# Each number and each test that docs/guarantees.md names must exist, too.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# promised ROOT: prints each number of docs/promises.md in a line of its own, as
# "1.9" or "fault 23".
promised()
{
	sed -n 's/^| \([1-9][0-9]*\.[1-9][0-9]*\) | .*/\1/p
		s/^| \([1-9][0-9]*\) | .*/fault \1/p' "$1/docs/promises.md" | sort
}

# named ROOT: prints each number that a test names, in the name of its function
# or in the comment above it. Only definitions count. They need no further
# check, because the compiler warns about a test that is defined but not run.
named()
{
	# shellcheck disable=SC2016 # the dollars are awk's
	find "$1/tests" "$1/fuzz" -name '*.c' -o -name '*.cc' | sort | xargs awk '
	function say(prefix, text, pattern) {
		while (match(text, pattern)) {
			word = substr(text, RSTART, RLENGTH)
			sub(/^[^0-9]*0*/, "", word)
			print prefix word
			text = substr(text, RSTART + RLENGTH)
			# "SPEC 4.1, 4.2" and "SPEC 4.1 and 4.2"
			while (match(text, more[prefix])) {
				word = substr(text, RSTART, RLENGTH)
				sub(/^[^0-9]*0*/, "", word)
				print prefix word
				text = substr(text, RSTART + RLENGTH)
			}
		}
	}
	BEGIN {
		more[""] = "^(,| and|, and)[ *]*[0-9]+[.][0-9]+"
		more["fault "] = "^(,| and|, and)[ *]*[0-9]+"
	}
	FNR == 1 { comment = "" }
	/^\/\*/ { comment = ""; inside = 1 }
	inside { comment = comment " " $0 }
	/\*\// { inside = 0 }
	/^(static )?void [a-z_]*(test|fault)_/ {
		name = $0
		if (match(name, /test_[0-9]+_[0-9]+_/)) {
			split(substr(name, RSTART, RLENGTH), part, "_")
			print part[2] "." part[3]
		}
		if (match(name, /fault_[0-9]+_/)) {
			split(substr(name, RSTART, RLENGTH), part, "_")
			print "fault " part[2] + 0
		}
		say("", comment, "SPEC [0-9]+[.][0-9]+")
		say("fault ", comment, "[Ff]aults? [0-9]+")
		comment = ""
	}' | sort
}

# check_guarantees ROOT: each test and each number that docs/guarantees.md names
# must exist.
check_guarantees()
{
	page=$1/docs/guarantees.md
	tr -cs 'a-z0-9_' '\n' <"$page" | grep -E '^(test|fault)_' | sort -u \
		>"$scratch/said"
	while read -r name; do
		grep -rqE "^(static )?void $name\(" "$1/tests" ||
			complain "docs/guarantees.md: there is no $name"
	done <"$scratch/said"
	{
		grep -oE '[0-9]+\.[0-9]+' "$page"
		grep -oE 'faults? [0-9]+( and [0-9]+)?' "$page" |
			tr -cs '0-9\n' ' ' | tr ' ' '\n' | sed '/./!d; s/^/fault /'
	} | sort -u | comm -23 - "$scratch/promised" >"$scratch/unknown"
	while read -r number; do
		complain "docs/guarantees.md: nothing promises $number"
	done <"$scratch/unknown"
	[ -s "$scratch/said" ] || complain 'docs/guarantees.md names no test'
}

check_spec()
{
	make_scratch
	promised "$1" >"$scratch/promised"
	named "$1" >"$scratch/named"
	uniq "$scratch/named" >"$scratch/once"
	[ -s "$scratch/promised" ] || complain 'docs/promises.md has no numbers'
	comm -23 "$scratch/promised" "$scratch/once" >"$scratch/untested"
	comm -13 "$scratch/promised" "$scratch/once" >"$scratch/unknown"
	while read -r number; do
		complain "no test of $number."
	done <"$scratch/untested"
	while read -r number; do
		complain "a test of $number, which does not exist"
	done <"$scratch/unknown"
	check_guarantees "$1"
	verdict "$(wc -l <"$scratch/named") tests of \
$(wc -l <"$scratch/promised") statements"
}

# plant LINE...: makes a tree that promises 1.1, 1.2 and fault 7. The lines are
# its tests.
plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/tests/wheel" "$tree/docs" "$tree/fuzz"
	printf '| 1.1 | One. |\n| 1.2 | Two. |\n\n| 7 | Seven. |\n' \
		>"$tree/docs/promises.md"
	printf '%s\n' "$@" >"$tree/tests/wheel/test_a.c"
	echo 'static void test_kept(void)' >"$tree/tests/wheel/test_b.c"
	echo '| 1.1 (fault 7) | test_kept |' >"$tree/docs/guarantees.md"
}

self_test()
{
	make_scratch
	plant 'static void test_1_1_a(void **state)' \
		'static void test_1_2_b(void **state)' \
		'static void fault_07_c(void **state)'
	must_accept 'numbers in names' sh "$self" "$tree"
	plant '/* SPEC 1.1, 1.2, fault 7: so it is' ' * indeed. */' \
		'static void test_a(struct timer_bed *b)'
	must_accept 'numbers in a comment' sh "$self" "$tree"
	plant '/* SPEC 1.1, fault 7 */' 'static void test_a(void **state)'
	must_reject 'no test of 1.2.' sh "$self" "$tree"
	plant '/* SPEC 1.1 and 1.2 */' 'static void test_a(void **state)'
	must_reject 'no test of fault 7.' sh "$self" "$tree"
	plant '/* SPEC 1.1, 1.2, fault 7 */' 'static int helper;'
	must_reject 'no test of 1.1.' sh "$self" "$tree"
	plant '/* SPEC 1.1, 1.2, 1.3, fault 7 */' 'static void test_a(void)'
	must_reject 'a test of 1.3, which does not exist' sh "$self" "$tree"
	plant 'static void test_1_1_a(void **state)' \
		'	cmocka_unit_test(test_1_2_b),' \
		'static void fault_07_c(void **state)'
	must_reject 'no test of 1.2.' sh "$self" "$tree"
	plant '/* SPEC 1.1, 1.2, fault 7 */' 'static void test_a(void **state)'
	must_accept 'guarantees' sh "$self" "$tree"
	sed -i s/test_kept/test_broken/ "$tree/docs/guarantees.md"
	must_reject 'there is no test_broken' sh "$self" "$tree"
	echo '1.3 | test_kept' >"$tree/docs/guarantees.md"
	must_reject 'nothing promises 1.3' sh "$self" "$tree"
	echo '(faults 7 and 8) | test_kept' >"$tree/docs/guarantees.md"
	must_reject 'nothing promises fault 8' sh "$self" "$tree"
	echo '1.1' >"$tree/docs/guarantees.md"
	must_reject 'names no test' sh "$self" "$tree"
	rm "$tree/docs/promises.md"
	must_reject 'has no numbers' sh "$self" "$tree"
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_spec "${1:?the root of the tree}"
	;;
esac
