#!/bin/sh
# SPDX-License-Identifier: MIT
# spec.sh ROOT | --self-test - each numbered statement about the wheel, 1.1 to
# 1.11, has a unit test that carries its number: test_1_9_... checks 1.9.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

last=11

check_spec()
{
	make_scratch
	# Definitions only: a test that is defined but not run is a warning.
	cat "$1"/tests/unit/*.c |
		sed -n 's/^static void test_1_\([0-9]*\)_.*/\1/p' |
		sort -n >"$scratch/numbers"
	n=1
	while [ "$n" -le "$last" ]; do
		grep -qx "$n" "$scratch/numbers" ||
			complain "no unit test of 1.$n (test_1_${n}_...)"
		n=$((n + 1))
	done
	for n in $(uniq "$scratch/numbers"); do
		case $n in
		0* | '')
			complain "a test of 1.$n, which does not exist"
			;;
		*)
			[ "$n" -le "$last" ] ||
				complain "a test of 1.$n, which does not exist"
			;;
		esac
	done
	verdict "$(wc -l <"$scratch/numbers") tests of $last statements"
}

# plant NUMBER...: a tree with a test of each.
plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/tests/unit"
	for n in "$@"; do
		printf 'static void test_1_%s_holds(void **state)\n{\n}\n' "$n"
	done >"$tree/tests/unit/test_a.c"
}

self_test()
{
	make_scratch
	plant 1 2 3 4 5 6 7 8 9 10 11
	must_accept 'a test of each' sh "$self" "$tree"
	plant 2 3 4 5 6 7 8 9 10 11
	must_reject 'no unit test of 1.1 ' sh "$self" "$tree"
	plant 1 2 3 4 5 6 7 8 9 10
	must_reject 'no unit test of 1.11 ' sh "$self" "$tree"
	plant 1 2 3 4 6 7 8 9 10 11
	echo '	cmocka_unit_test(test_1_5_holds),' >>"$tree/tests/unit/test_a.c"
	must_reject 'no unit test of 1.5 ' sh "$self" "$tree"
	plant 1 2 3 4 5 6 7 8 9 10 11 12
	must_reject 'a test of 1.12, which does not exist' sh "$self" "$tree"
	plant
	must_reject 'no unit test of 1.1 ' sh "$self" "$tree"
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
