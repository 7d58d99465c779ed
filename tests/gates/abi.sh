#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh ROOT SHARED... | --dump ROOT SHARED | --self-test - checks that the
# functions and types of each library are those recorded in packaging/abi.
#
# NAME-X.Y.Z.abi is the record of version X.Y.Z of libNAME.so, a dump by abidw. If a change
# was intended, --dump writes the record of this version again. If there are
# records of other versions with the same soname, those versions were released,
# and nothing in their records may be removed or changed.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}

# name_dump ROOT SHARED: sets `dump` to the record of the tree's version.
name_dump()
{
	version=$(sed -n 's/^#define TKW_VERSION "\(.*\)"$/\1/p' \
		"$1/include/tickwheel/version.h")
	name=$(basename "$2")
	name=${name#lib}
	dump=$1/packaging/abi/${name%%.so*}-$version.abi
}

# make_dump ROOT SHARED FILE: writes the dump of the library to FILE. Types that
# are not in the public headers are left out. The dump must be the same on each
# machine, so it has no line numbers, and its paths begin at the root.
make_dump()
{
	abidw --headers-dir "$1/include" --drop-private-types \
		--drop-undefined-syms --exported-interfaces-only \
		--no-comp-dir-path --no-corpus-path --no-elf-needed \
		--no-show-locs --type-id-style hash \
		--out-file "$scratch/raw" "$2" || exit 1
	sed "s, path='[^']*/src/, path='src/," "$scratch/raw" >"$3"
}

write_dump()
{
	make_scratch
	name_dump "$1" "$2"
	mkdir -p "$1/packaging/abi"
	make_dump "$1" "$2" "$dump"
	echo "abi: wrote $dump"
}

# compare OPTION DUMP: compares a dump with the dump of the library that
# make_dump() wrote to $scratch/now. It does not compare with the library
# itself, because abidiff takes types without a file for private ones.
compare()
{
	abidiff "$@" "$scratch/now" >&2
}

soname_of()
{
	sed -n "1s/.* soname='\([^']*\)'.*/\1/p" "$1"
}

# check_library SHARED: checks one library, in `root`.
check_library()
{
	name_dump "$root" "$1"
	[ -f "$dump" ] || {
		complain "no $dump (run ./dev abi, and commit what it writes)"
		return
	}
	make_dump "$root" "$1" "$scratch/now"
	if grep -n "='/" "$dump" >&2; then
		complain 'the dump names a folder of some machine (run ./dev abi)'
	fi
	compare --harmless "$dump" ||
		complain 'what programs see has changed (if you mean it, run ./dev abi and commit)'
	for old in "$root"/packaging/abi/*.abi; do
		[ "$old" != "$dump" ] || continue
		[ "$(soname_of "$old")" = "$(soname_of "$dump")" ] || continue
		compare --no-added-syms "$old" ||
			complain "not compatible with $(basename "$old" .abi)" \
				"(undo the change, or raise the version in version.h)"
	done
	said="$said${said:+, }$(grep -c '<elf-symbol ' "$dump") functions as in $dump"
}

check_abi()
{
	make_scratch
	root=$1
	shift
	said=
	for library in "$@"; do
		check_library "$library"
	done
	verdict "$said"
}

# Builds the library of the planted tree.
build()
{
	$CC -g -shared -fPIC -I"$tree/include" -Wl,-soname,libone.so.7 \
		"$tree/src/one.c" -o "$tree/libtickwheel.so" || exit 1
}

# Writes and builds a tiny library, and records its dump.
plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/include/tickwheel" "$tree/src"
	echo '#define TKW_VERSION "7.2.1"' >"$tree/include/tickwheel/version.h"
	cat >"$tree/include/tickwheel/one.h" <<-'END'
	enum tkw_kind { TKW_A, TKW_B };
	struct tkw_hidden;
	struct tkw_one { int a; enum tkw_kind kind; };
	int tkw_get(const struct tkw_one *one, struct tkw_hidden *hidden);
	typedef int tkw_number;
	tkw_number tkw_two(void);
	END
	cat >"$tree/src/one.c" <<-'END'
	#include "tickwheel/one.h"
	struct tkw_hidden { int a; };
	int tkw_get(const struct tkw_one *one, struct tkw_hidden *hidden)
	{
		return one->a + hidden->a;
	}
	tkw_number tkw_two(void) { return 2; }
	END
	build
	sh "$self" --dump "$tree" "$tree/libtickwheel.so" >/dev/null || exit 1
}

# changed FILE SED-SCRIPT: plants a tree, changes FILE and builds the library
# again. The dump stays as it was.
changed()
{
	plant
	sed -i "$2" "$tree/$1"
	build
}

rejected()
{
	changed "$2" "$3"
	must_reject "$1" sh "$self" "$tree" "$tree/libtickwheel.so"
}

self_test_releases()
{
	plant
	cp "$tree/packaging/abi/tickwheel-7.2.1.abi" \
		"$tree/packaging/abi/tickwheel-7.2.0.abi"
	echo 'int tkw_new(void) { return 3; }' >>"$tree/src/one.c"
	build
	sh "$self" --dump "$tree" "$tree/libtickwheel.so" >/dev/null
	must_accept 'more than the last release' sh "$self" "$tree" "$tree/libtickwheel.so"
	sed -i 's/tkw_two/tkw_too/' "$tree/src/one.c"
	build
	sh "$self" --dump "$tree" "$tree/libtickwheel.so" >/dev/null
	must_reject 'not compatible with tickwheel-7.2.0' \
		sh "$self" "$tree" "$tree/libtickwheel.so"
}

self_test()
{
	make_scratch
	plant
	must_accept 'a sound library' sh "$self" "$tree" "$tree/libtickwheel.so"
	cp "$tree/packaging/abi/tickwheel-7.2.1.abi" "$scratch/once"
	mv "$tree" "$scratch/other"
	tree=$scratch/other
	build
	sh "$self" --dump "$tree" "$tree/libtickwheel.so" >/dev/null
	must_accept 'a dump made in another folder' \
		cmp "$scratch/once" "$tree/packaging/abi/tickwheel-7.2.1.abi"
	rm -r "$tree"
	changed src/one.c 's/hidden { int a/hidden { int a, b/'
	must_accept 'a change that is private' sh "$self" "$tree" "$tree/libtickwheel.so"
	rejected './dev abi' include/tickwheel/one.h 's/{ int a;/{ int a, b;/'
	rejected 'data member change' include/tickwheel/one.h \
		's/{ int a;/{ short a;/'
	rejected 'Removed function' src/one.c '/tkw_two/d'
	rejected 'Added function' src/one.c \
		's/.*tkw_two.*/& int tkw_new(void) { return 3; }/'
	rejected 'return type changed' include/tickwheel/one.h 's/f int/f long/'
	rejected 'TKW_C' include/tickwheel/one.h 's/TKW_B }/TKW_B, TKW_C }/'
	plant
	cp "$tree/libtickwheel.so" "$tree/libtickwheel-queue.so"
	must_reject tickwheel-queue-7.2.1.abi \
		sh "$self" "$tree" "$tree/libtickwheel.so" \
		"$tree/libtickwheel-queue.so"
	sh "$self" --dump "$tree" "$tree/libtickwheel-queue.so" >/dev/null
	must_accept 'two libraries' sh "$self" "$tree" "$tree/libtickwheel.so" \
		"$tree/libtickwheel-queue.so"
	plant
	rm "$tree"/packaging/abi/*
	must_reject 'run ./dev abi' sh "$self" "$tree" "$tree/libtickwheel.so"
	plant
	sed -i "s,='src/,='/home/src/," "$tree"/packaging/abi/*
	must_reject 'names a folder' sh "$self" "$tree" "$tree/libtickwheel.so"
	self_test_releases
	self_verdict
}

for tool in abidw abidiff readelf; do
	command -v "$tool" >/dev/null && continue
	echo "skipped: no $tool"
	exit 77
done
self=$0
case ${1:-} in
--self-test)
	self_test
	exit
	;;
--dump)
	write_dump "${2:?the root of the tree}" "${3:?the shared library}"
	exit
	;;
esac
root=${1:?the root of the tree}
: "${2:?the shared library}"
shift
for library; do
	[ -f "$library" ] || {
		complain "no library $library"
		verdict
	}
	readelf -h "$library" | grep -q 'Machine:.*X86-64' || {
		echo 'skipped: the dumps are of x86-64'
		exit 77
	}
	readelf -S "$library" | grep -qF .debug_info || {
		echo 'skipped: the library has no debug information'
		exit 77
	}
done
check_abi "$root" "$@"
