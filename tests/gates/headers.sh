#!/bin/sh
# SPDX-License-Identifier: MIT
# headers.sh ROOT | --self-test - checks that each public header and each adapter
# compiles alone, and twice in one file, as C11 and as C++11, 17 and 20, without a
# warning. An adapter is skipped if its library is not installed. In CI, a skipped
# adapter is a failure.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CXX=${CXX:-g++}

# compile INCLUDE_DIR HEADER LANGUAGE COMPILER FLAGS...: compiles a file that
# includes HEADER twice and nothing else.
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
		complain "$header does not compile alone as $language" \
			"(include what it uses; the compiler says what is missing)"
}

# try_all INCLUDE_DIR HEADER FLAGS...: compiles HEADER in all languages.
try_all()
{
	dir=$1
	header=$2
	shift 2
	compile "$dir" "$header" c11 "$CC" -x c -Wstrict-prototypes "$@"
	for language in c++11 c++17 c++20; do
		compile "$dir" "$header" "$language" "$CXX" -x c++ "$@"
	done
}

# An adapter includes our header and one header of another library. The header
# of libuv needs more of libc than C11 has, hence _GNU_SOURCE.
check_adapters()
{
	for h in $(cd "$1/adapters" && find . -name '*.h' | sed 's,^\./,,' | sort); do
		if sed -n 's/^\(#include <.*\)/\1/p' "$1/adapters/$h" |
			grep -v '<tickwheel' |
			"$CC" -E -x c -o /dev/null - 2>/dev/null; then
			try_all "$1/adapters" "$h" -D_GNU_SOURCE -I"$1/include"
		elif [ "${CI:-}" = true ]; then
			complain "the library of $h is not there"
		else
			echo "skipped: no library for $h"
		fi
	done
}

check_headers()
{
	headers=$(cd "$1/include" && find . -name '*.h' | sed 's,^\./,,' | sort)
	[ -n "$headers" ] || complain "no headers under $1/include"
	for h in $headers; do
		try_all "$1/include" "$h"
	done
	[ ! -d "$1/adapters" ] || check_adapters "$1"
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
	mkdir "$scratch/adapters"
	echo 'struct tkw_b { int x; };' >"$scratch/adapters/b.h"
	must_reject 'b.h does not compile alone as c11' sh "$self" "$scratch"
	printf '#include <no/such.h>\n' >"$scratch/adapters/b.h"
	must_accept 'an adapter without its library' \
		env CI= sh "$self" "$scratch"
	must_reject 'the library of b.h is not there' \
		env CI=true sh "$self" "$scratch"
	rm -r "$scratch/adapters"
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
