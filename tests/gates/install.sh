#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh ROOT | --self-test - the release preset builds and installs, and
# what it installs is enough: the first example compiles against the installed
# headers, and runs with the shared and with the static library.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CMAKE=${CMAKE:-cmake}
unset DESTDIR

# step WHAT COMMAND...: its output is shown only if it fails, and that ends it.
step()
{
	what=$1
	shift
	"$@" >"$scratch/step" 2>&1 && return
	cat "$scratch/step" >&2
	complain "failed: $what"
	verdict
}

# Each preset that configures has one that builds.
check_presets()
{
	for kind in configure build; do
		"$CMAKE" --list-presets="$kind" | grep -o '^ *"[^"]*"' |
			sort >"$scratch/$kind"
	done
	diff "$scratch/configure" "$scratch/build" >&2 ||
		complain 'the build presets are not the configure presets'
}

install_it()
{
	step configure "$CMAKE" --preset release -B "$scratch/make" \
		-DCMAKE_INSTALL_LIBDIR=lib -DTKW_BUILD_BENCH=OFF
	step build "$CMAKE" --build "$scratch/make"
	step install "$CMAKE" --install "$scratch/make" --prefix "$prefix"
	diff -r include "$prefix/include" >&2 ||
		complain 'the installed headers are not those of the tree'
}

# try KIND LIBRARY...: compile the example, run it.
try()
{
	kind=$1
	shift
	step "compile, $kind" "$CC" -std=c11 -Wall -Wextra -Werror \
		-I"$prefix/include" examples/first_wheel.c \
		-o "$scratch/$kind" "$@"
	LD_LIBRARY_PATH=$prefix/lib "$scratch/$kind" >"$scratch/$kind.out" ||
		complain "the example failed: $kind"
	[ -s "$scratch/$kind.out" ] || complain "the example said nothing: $kind"
}

# Before 1.0 a minor version may break the API: its number is in the soname.
check_soname()
{
	version=$(sed -n 's/^#define TKW_VERSION "\(.*\)"$/\1/p' \
		include/tickwheel/version.h)
	case $version in
	0.*)
		soname=libtickwheel.so.${version%.*}
		;;
	*)
		soname=libtickwheel.so.${version%%.*}
		;;
	esac
	objdump -p "$scratch/shared" | grep -q "NEEDED  *$soname\$" ||
		complain "the shared example does not ask for $soname"
	if objdump -p "$scratch/static" | grep -q 'NEEDED  *libtickwheel'; then
		complain 'the static example asks for a shared library'
	fi
}

check_install()
{
	make_scratch
	prefix=$scratch/prefix
	cd "$1" || exit 1
	check_presets
	install_it
	try shared -L"$prefix/lib" -ltickwheel
	try static "$prefix/lib/libtickwheel.a"
	check_soname
	cmp -s "$scratch/shared.out" "$scratch/static.out" ||
		complain 'the two libraries do not do the same'
	verdict 'installed, and used both ways'
}

# A small project that installs a library of one function.
plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/include/tickwheel" "$tree/examples"
	cat >"$tree/CMakePresets.json" <<-'END'
	{ "version": 6,
	  "configurePresets": [
	    { "name": "release", "generator": "Ninja" } ],
	  "buildPresets": [
	    { "name": "release", "configurePreset": "release" } ] }
	END
	cat >"$tree/CMakeLists.txt" <<-'END'
	cmake_minimum_required(VERSION 3.25)
	project(planted LANGUAGES C)
	add_library(tickwheel SHARED one.c)
	set_target_properties(tickwheel PROPERTIES SOVERSION 0.7)
	add_library(static STATIC one.c)
	set_target_properties(static PROPERTIES OUTPUT_NAME tickwheel)
	install(TARGETS tickwheel)
	install(TARGETS static)
	install(DIRECTORY include/ TYPE INCLUDE)
	END
	echo '#define TKW_VERSION "0.7.3"' >"$tree/include/tickwheel/version.h"
	echo 'int one(void);' >"$tree/include/tickwheel.h"
	echo 'int one(void); int one(void) { return 1; }' >"$tree/one.c"
	cat >"$tree/examples/first_wheel.c" <<-'END'
	#include <stdio.h>
	#include <tickwheel.h>
	int main(void) { return printf("%d\n", one()) != 2; }
	END
}

# broken WORD FILE SED-SCRIPT
broken()
{
	plant
	sed -i "$3" "$tree/$2"
	must_reject "$1" sh "$self" "$tree"
}

self_test()
{
	make_scratch
	plant
	must_accept 'a sound project' sh "$self" "$tree"
	broken 'the build presets are not' CMakePresets.json \
		's/"name": "release", "conf/"name": "other", "conf/'
	broken 'failed: build' one.c 's/return/retrun/'
	broken 'the installed headers' CMakeLists.txt '/DIRECTORY/d'
	broken 'failed: compile, shared' CMakeLists.txt '/TARGETS/d'
	broken 'failed: compile, static' CMakeLists.txt '/TARGETS static/d'
	broken 'does not ask for libtickwheel.so.0.7' CMakeLists.txt \
		's/SOVERSION 0.7/SOVERSION 0/'
	broken 'the example failed: shared' examples/first_wheel.c 's/!= 2/!= 3/'
	plant
	sed -i 's/STATIC one/STATIC two/' "$tree/CMakeLists.txt"
	sed 's/return 1/return 2/' "$tree/one.c" >"$tree/two.c"
	must_reject 'do not do the same' sh "$self" "$tree"
	self_verdict
}

for tool in ninja objdump; do
	command -v "$tool" >/dev/null && continue
	echo "skipped: no $tool"
	exit 77
done
self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_install "${1:?the root of the tree}"
	;;
esac
