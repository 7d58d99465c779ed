#!/bin/sh
# SPDX-License-Identifier: MIT
# tested.sh ROOT | --self-test - checks that a test calls each function that a
# public header declares. Benchmarks, tools and examples do not count.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# An awk program that prints C files without their comments, strings and
# characters. A name in one of those is not a call.
# shellcheck disable=SC2016 # the dollar is that of awk
code_only='
FNR == 1 { inside = 0 }
{
	rest = $0
	code = ""
	while (rest != "") {
		if (inside) {
			end = index(rest, "*/")
			rest = end ? substr(rest, end + 2) : ""
			inside = !end
		} else if (match(rest, \
		    /\/[*]|\/\/.*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) {
			code = code substr(rest, 1, RSTART - 1) " "
			inside = substr(rest, RSTART, 2) == "/*"
			rest = substr(rest, RSTART + RLENGTH)
		} else {
			code = code rest
			rest = ""
		}
	}
	print code
}'

check_tested()
{
	make_scratch
	declared "$1/include" >"$scratch/declared"
	[ -s "$scratch/declared" ] || complain "no declarations in $1/include"
	find "$1/tests" -name '*.[ch]' -exec awk "$code_only" {} + |
		grep -Eo 'tkw_[A-Za-z0-9_]*\(' | tr -d '(' | sort -u \
		>"$scratch/called"
	for name in $(comm -23 "$scratch/declared" "$scratch/called"); do
		complain "no test calls $name() (write one in tests/)"
	done
	verdict "$(wc -l <"$scratch/declared") functions"
}

self_test()
{
	make_scratch
	mkdir -p "$scratch/tree/include/tickwheel" "$scratch/tree/tests/one"
	printf '%s\n' 'int tkw_a(void);' 'void *tkw_ab(void *(*fn)(int));' \
		>"$scratch/tree/include/tickwheel/a.h"
	echo 'int f(void) { return tkw_a() + (tkw_ab(0) == 0); }' \
		>"$scratch/tree/tests/one/test_a.c"
	must_accept 'a tree with tests' sh "$self" "$scratch/tree"
	echo 'int f(void) { return tkw_ab(0) == 0; }' \
		>"$scratch/tree/tests/one/test_a.c"
	must_reject 'no test calls tkw_a()' sh "$self" "$scratch/tree"
	# A name in a comment or in a string is not a call.
	for text in '/* tkw_a() */' '// tkw_a()' 'f("\" tkw_a()");' \
		'/* a comment
		 * tkw_a() */' "f('\"'); /* \" tkw_a() */"; do
		{
			printf '%s\n' "$text"
			echo 'int f(void) { return tkw_ab(0) == 0; }'
		} >"$scratch/tree/tests/one/test_a.c"
		must_reject 'no test calls tkw_a()' sh "$self" "$scratch/tree"
		echo 'int x = tkw_a();' >>"$scratch/tree/tests/one/test_a.c"
		must_accept "$text" sh "$self" "$scratch/tree"
	done
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_tested "${1:?the root of the tree}"
	;;
esac
