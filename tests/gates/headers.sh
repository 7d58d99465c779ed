#!/bin/sh
# SPDX-License-Identifier: MIT
# headers.sh ROOT [GENERATED] | --self-test - checks that each public header and
# each adapter compiles alone, and twice in one file, as C11 and as C++11, 17 and
# 20, without a warning. An adapter is skipped if its library is not installed. In
# CI, a skipped adapter is a failure.
#
# All names that the public headers define must begin with tkw_, TKW_ or
# TICKWHEEL_, and no header may define anything that other files can see.
#
# GENERATED is the folder with wheel_inline.h. tickwheel.h may follow it in a file,
# but must not come before it.
#
# As C++ there must be no warning about casts and null pointers of C either. But
# this must not turn such warnings off for what follows in the file.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CXX=${CXX:-g++}
cxx_only='-Wold-style-cast -Wuseless-cast -Wzero-as-null-pointer-constant'

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
			-Wconversion -I"$dir" -fsyntax-only - ||
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
		# shellcheck disable=SC2086 # a list of flags
		compile "$dir" "$header" "$language" "$CXX" -x c++ $cxx_only "$@"
	done
}

# check_rest INCLUDE_DIR HEADER WORD CODE: as C++, code after the header gets the
# warning WORD, which only the code deserves.
check_rest()
{
	printf '#include "%s"\n%s\n' "$2" "$4" |
		"$CXX" -std=c++11 -x c++ -Werror "$3" -I"$1" -fsyntax-only - \
			>"$scratch/log" 2>&1 &&
		complain "$2 turns $3 off for the rest of the file"
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

# Prints the names of types, enumerators, functions and variables at file scope,
# out of the debug information of an object.
debug_names()
{
	readelf --debug-dump=info "$1" | awk '
	/^ <[0-9a-f]+><[0-9a-f]+>: Abbrev/ {
		wanted = /^ <1>.*DW_TAG_(typedef|subprogram|variable)/ ||
			/^ <1>.*DW_TAG_(structure|union|enumeration)_type/ ||
			/DW_TAG_enumerator/
	}
	wanted && / DW_AT_name / {
		sub(/.*: /, "")
		print
	}'
}

# names_in FILE FLAG...: prints all names that a file in C has at file scope, with
# the macros. Functions that nothing calls are kept.
names_in()
{
	file=$1
	shift
	"$CC" -std=c11 "$@" -dM -E "$file" |
		awk '{ sub(/\(.*/, "", $2); print $2 }'
	"$CC" -std=c11 "$@" -DNDEBUG -O0 -g -c "$file" -o "$scratch/unit.o" \
		-fno-eliminate-unused-debug-types -fkeep-inline-functions \
		-fkeep-static-functions || return 1
	debug_names "$scratch/unit.o"
}

# check_names INCLUDE_DIR HEADER FLAG...: checks the names of a header, without
# those of the libc headers that the public headers include.
check_names()
{
	dir=$1
	header=$2
	shift 2
	echo "#include \"$header\"" >"$scratch/unit.c"
	names_in "$scratch/unit.c" -I"$dir" "$@" | sort -u >"$scratch/names"
	[ -f "$scratch/unit.o" ] || return
	comm -23 "$scratch/names" "$scratch/libc_names" |
		grep -Ev '^(tkw_|TKW_|TICKWHEEL_|__builtin_)' >"$scratch/bad"
	while read -r name; do
		complain "$header: $name needs the prefix tkw_ or TKW_"
	done <"$scratch/bad"
	nm -g --defined-only "$scratch/unit.o" >"$scratch/bad"
	while read -r _ _ name; do
		complain "$header: $name is not static"
	done <"$scratch/bad"
	rm -f "$scratch/unit.o"
}

# Sets libc_names to the names of the libc headers that the public headers include.
find_libc_names()
{
	find "$@" -name '*.h' -exec sed -n '/^#include <[a-z]*\.h>/p' {} + |
		sort -u >"$scratch/libc.c"
	names_in "$scratch/libc.c" | sort -u >"$scratch/libc_names"
	rm -f "$scratch/unit.o"
}

# pair INCLUDE_DIR FIRST SECOND FLAG...: compiles a file that includes both.
pair()
{
	printf '#include "%s"\n#include "%s"\nint tkw_unit(void);\n' "$2" "$3" \
		>"$scratch/unit.c"
	dir=$1
	shift 3
	"$CC" -std=c11 -Wall -Wextra -Werror -I"$dir" "$@" -fsyntax-only \
		"$scratch/unit.c" >"$scratch/log" 2>&1
}

# check_inline INCLUDE_DIR GENERATED: checks wheel_inline.h.
check_inline()
{
	h=tickwheel/wheel_inline.h
	try_all "$2" "$h"
	check_rest "$2" "$h" -Wold-style-cast 'int tkw_a = (int)1.5;'
	check_rest "$2" "$h" -Wuseless-cast 'int tkw_a = static_cast<int>(1);'
	check_rest "$2" "$h" -Wzero-as-null-pointer-constant 'char *tkw_a = 0;'
	check_names "$2" "$h"
	"$CC" -std=c11 -O2 -Wall -Wextra -Werror -I"$2" -x c -c \
		"$2/$h" -o "$scratch/unit.o" ||
		complain "$h: there are warnings if it is not used"
	for other in tickwheel.h tickwheel/wheel.h; do
		pair "$1" "$h" "$other" -I"$2" ||
			complain "$h: $other cannot follow it"
		if pair "$1" "$other" "$h" -I"$2" ||
			! grep -q 'error: #error .*before' "$scratch/log"; then
			complain "$h: after $other, there is no clear error"
		fi
	done
}

check_headers()
{
	headers=$(cd "$1/include" && find . -name '*.h' | sed 's,^\./,,' | sort)
	[ -n "$headers" ] || complain "no headers under $1/include"
	find_libc_names "$1/include" ${2:+"$2"}
	for h in $headers; do
		try_all "$1/include" "$h"
		check_names "$1/include" "$h"
	done
	[ -z "${2:-}" ] || check_inline "$1/include" "$2"
	[ ! -d "$1/adapters" ] || check_adapters "$1"
	verdict "$(echo "$headers" | wc -l) headers, each in 4 languages"
}

plant()
{
	mkdir -p "$scratch/include"
	printf '%s\n' '#ifndef TKW_A_H' '#define TKW_A_H' "$1" '#endif' \
		>"$scratch/include/a.h"
}

# bad_name NAME LINE: a header with a line that defines NAME.
bad_name()
{
	plant "$2"
	must_reject "a.h: $1 needs the prefix" sh "$self" "$scratch"
}

self_test_names()
{
	bad_name MOST '#define MOST 1'
	bad_name ONE 'enum tkw_a { ONE };'
	bad_name a 'struct a { int x; };'
	bad_name b 'typedef int b;'
	bad_name c 'static inline int c(int x) { return x; }'
	plant 'int tkw_d;'
	must_reject 'a.h: tkw_d is not static' sh "$self" "$scratch"
}

# plant_inline GUARD REST: writes a tickwheel.h, a wheel.h and a wheel_inline.h.
plant_inline()
{
	mkdir -p "$scratch/made/tickwheel" "$scratch/include/tickwheel"
	rm "$scratch/include/a.h"
	printf '%s\n' '#ifndef TICKWHEEL_WHEEL_H' '#define TICKWHEEL_WHEEL_H' \
		'struct tkw_b { int x; };' '#endif' \
		>"$scratch/include/tickwheel/wheel.h"
	echo '#include "tickwheel/wheel.h"' >"$scratch/include/tickwheel.h"
	printf '%s\n' '#ifndef TKW_INLINE_H' '#define TKW_INLINE_H' "$1" \
		'#define TICKWHEEL_WHEEL_H' "$2" '#endif' \
		>"$scratch/made/tickwheel/wheel_inline.h"
	touch "$scratch/include/a.h"
}

self_test_inline()
{
	guard='#ifdef TICKWHEEL_WHEEL_H
	#error "include it before"
	#endif'
	wheel='struct tkw_b { int x; };'
	plant_inline "$guard" "$wheel"
	must_accept 'a sound wheel_inline.h' sh "$self" "$scratch" "$scratch/made"
	plant_inline "$guard" "$wheel
	static inline int tkw_a(double x) { return (int)x; }"
	must_reject 'wheel_inline.h does not compile alone as c++11' \
		sh "$self" "$scratch" "$scratch/made"
	plant_inline "$guard" "$wheel
	#pragma GCC diagnostic ignored \"-Wold-style-cast\""
	must_reject 'turns -Wold-style-cast off for the rest' \
		sh "$self" "$scratch" "$scratch/made"
	plant_inline '#undef TICKWHEEL_WHEEL_H' "$wheel"
	must_reject 'there is no clear error' sh "$self" "$scratch" "$scratch/made"
	plant_inline "$guard" 'static int tkw_unused(void) { return 1; }'
	must_reject 'warnings if it is not used' \
		sh "$self" "$scratch" "$scratch/made"
	plant_inline "$guard" "$wheel
	#undef TICKWHEEL_WHEEL_H"
	must_reject 'wheel.h cannot follow it' \
		sh "$self" "$scratch" "$scratch/made"
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
	self_test_names
	self_test_inline
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
	make_scratch
	check_headers "${1:?the root of the tree}" "${2:-}"
	;;
esac
