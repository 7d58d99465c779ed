#!/bin/sh
# SPDX-License-Identifier: MIT
# headers.sh ROOT | --self-test - each public header compiles alone, twice in
# one file, as C11 and as C++11, 17 and 20, without a warning.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CXX=${CXX:-g++}

# compile INCLUDE_DIR HEADER LANGUAGE COMPILER FLAGS...
compile()
{
	dir=$1
	header=$2
	language=$3
	shift 3
	printf '#include "%s"\n#include "%s"\nextern int tkw_unit;\n' \
		"$header" "$header" |
		"$@" -std="$language" -Wall -Wextra -Wpedantic -Wshadow -Werror \
			-I"$dir" -fsyntax-only - ||
		complain "$header does not compile alone as $language"
}

check_headers()
{
	headers=$(cd "$1/include" && find . -name '*.h' | sed 's,^\./,,' | sort)
	[ -n "$headers" ] || complain "no headers under $1/include"
	for h in $headers; do
		compile "$1/include" "$h" c11 "$CC" -x c -Wstrict-prototypes
		for language in c++11 c++17 c++20; do
			compile "$1/include" "$h" "$language" "$CXX" -x c++
		done
	done
	verdict "$(echo "$headers" | wc -l) headers, each in 4 languages"
}

plant()
{
	mkdir -p "$scratch/include"
	printf '%s\n' '#ifndef A_H' '#define A_H' "$1" '#endif' \
		>"$scratch/include/a.h"
}

self_test()
{
	make_scratch
	plant 'int tkw_a(int x);'
	must_accept 'a sound header' sh "$self" "$scratch"
	plant 'uint64_t tkw_a(void);'
	must_reject 'a.h does not compile alone as c11' sh "$self" "$scratch"
	plant 'int tkw_a(int class);'
	must_reject 'a.h does not compile alone as c++11' sh "$self" "$scratch"
	plant '#include <stdatomic.h>
	struct tkw_a { _Atomic int x; };'
	must_reject 'a.h does not compile alone as c++17' sh "$self" "$scratch"
	plant 'int tkw_a();'
	must_reject 'a.h does not compile alone as c11' sh "$self" "$scratch"
	echo 'struct tkw_a { int x; };' >"$scratch/include/a.h"
	must_reject 'a.h does not compile alone as c11' sh "$self" "$scratch"
	self_verdict
}

if ! command -v "$CXX" >/dev/null 2>&1; then
	echo "skipped: no $CXX"
	exit 77
fi
self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_headers "${1:?the root of the tree}"
	;;
esac
