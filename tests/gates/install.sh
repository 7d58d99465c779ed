#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh ROOT | --self-test - checks that the release preset builds, and that
# the files that it installs are complete and still work after they were moved.
#
# The programs of tests/consumer must compile with the installed headers, and run
# with the shared and with the static library. The compiler finds the library by
# its own options, by pkg-config and by CMake. The programs must also build with
# tickwheel's sources as a subdirectory of their project. If there is SQLite, the
# same holds for the program that uses the queue, and for its library.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CMAKE=${CMAKE:-cmake}
unset DESTDIR PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
# If the compiler knows a folder for the architecture, install there. Then the
# installed files must also work in a folder that is deeper than usual.
libdir=lib/$("$CC" -print-multiarch 2>/dev/null)
libdir=${libdir%/}

# step WHAT COMMAND...: runs the command. If it fails, shows its output and ends
# the gate.
step()
{
	what=$1
	shift
	"$@" >"$scratch/step" 2>&1 && return
	cat "$scratch/step" >&2
	complain "failed: $what"
	verdict
}

# Each configure preset must have a build preset of the same name.
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
		-DCMAKE_INSTALL_LIBDIR="$libdir" -DTKW_BUILD_BENCH=OFF
	step build "$CMAKE" --build "$scratch/make"
	step install "$CMAKE" --install "$scratch/make" --prefix "$scratch/first"
	mkdir "$scratch/headers"
	cp -R include/. adapters/. "$scratch/headers"
	[ ! -d "$scratch/make/include" ] ||
		cp -R "$scratch/make/include/." "$scratch/headers"
	diff -r "$scratch/headers" "$scratch/first/include" >&2 ||
		complain 'the installed headers are not those of the tree'
	mv "$scratch/first" "$prefix"
	grep -rlF "$scratch/" "$prefix" >"$scratch/named"
	while read -r f; do
		complain "names a folder of this machine: ${f#"$prefix"/}"
	done <"$scratch/named"
}

# If there is SQLite, the library of the queue must be installed. Sets `queue` to
# "yes" if it is there.
look_for_queue()
{
	queue=
	[ ! -f "$prefix/$libdir/pkgconfig/tickwheel-queue.pc" ] || queue=yes
	[ -f cmake/tickwheel-queue.pc.in ] || return
	if pkg-config --exists 'sqlite3 >= 3.37' && [ -z "$queue" ]; then
		complain 'libtickwheel-queue is not installed'
	fi
}

# run KIND PROGRAM: the program must succeed, and print something: what the
# program with the shared library, `model`, prints.
model=shared
run()
{
	LD_LIBRARY_PATH=$prefix/$libdir "$2" >"$scratch/$1.out" ||
		complain "the program failed: $1"
	[ -s "$scratch/$1.out" ] || complain "the program said nothing: $1"
	cmp -s "$scratch/$1.out" "$scratch/$model.out" ||
		complain "the libraries do not do the same: $1"
	kinds=$((kinds + 1))
}

# try KIND FLAG...: compiles the consumer in C, `source`, with these flags, and
# runs it.
source=in_c.c
try()
{
	kind=$1
	shift
	step "compile, $kind" "$CC" -std=c11 -Wall -Wextra -Werror \
		"tests/consumer/$source" -o "$scratch/$kind" "$@"
	run "$kind" "$scratch/$kind"
}

# ask KIND OPTION... PACKAGE: sets `words` to the flags that pkg-config prints.
# pkg-config looks only in our prefix, so that it does not find another
# tickwheel that is installed on this machine. For the queue it looks there
# first: SQLite is elsewhere.
ask()
{
	kind=$1
	shift
	elsewhere=
	[ "$source" = in_c.c ] ||
		elsewhere=:$(pkg-config --variable pc_path pkg-config)
	step "pkg-config, $kind" env \
		PKG_CONFIG_LIBDIR="$prefix/$libdir/pkgconfig$elsewhere" \
		pkg-config --cflags --libs "$@"
	words=$(cat "$scratch/step")
}

try_pkg_config()
{
	ask pc_shared tickwheel
	# shellcheck disable=SC2086 # a list of flags
	try pc_shared $words
	ask pc_static --static tickwheel
	# shellcheck disable=SC2086
	try pc_static -static $words
	asks_for pc_shared
	asks_not pc_static
}

# The program of the queue. SQLite itself is linked as a shared library, because
# its static one needs more packages.
try_queue()
{
	source=queue_in_c.c
	model=queue_shared
	soname=libtickwheel-queue${soname#libtickwheel}
	try queue_shared -I"$prefix/include" -L"$prefix/$libdir" \
		-Wl,-rpath-link,"$prefix/$libdir" -ltickwheel-queue
	try queue_static -I"$prefix/include" \
		"$prefix/$libdir/libtickwheel-queue.a" \
		"$prefix/$libdir/libtickwheel.a" -lsqlite3 -pthread
	ask queue_pc_shared tickwheel-queue
	# shellcheck disable=SC2086 # a list of flags
	try queue_pc_shared $words
	ask queue_pc_static --static tickwheel-queue
	words=$(echo "$words" | sed 's/-ltickwheel /& -Wl,-Bdynamic /')
	# shellcheck disable=SC2086
	try queue_pc_static -Wl,-Bstatic $words
	for way in package folder; do
		for program in queue_in_c_shared queue_in_c_static; do
			run "${way}_$program" "$scratch/$way/$program"
		done
	done
	asks_for queue_shared queue_pc_shared package/queue_in_c_shared \
		folder/queue_in_c_shared
	asks_not queue_static queue_pc_static package/queue_in_c_static \
		folder/queue_in_c_static
}

# The wheel as one header, which needs no library.
try_inline()
{
	source=inline_in_c.c
	try inline -I"$prefix/include" -Wpedantic
	step 'compile, inline as C++' "${CXX:-g++}" -x c++ -std=c++11 -Wall \
		-Wextra -Werror -Wpedantic -Wold-style-cast -Wuseless-cast \
		-Wzero-as-null-pointer-constant tests/consumer/$source \
		-o "$scratch/inline_cxx" -I"$prefix/include"
	run inline_cxx "$scratch/inline_cxx"
	for way in package folder; do
		run "${way}_inline_in_c" "$scratch/$way/inline_in_c"
	done
	asks_not inline package/inline_in_c folder/inline_in_c
}

# try_cmake KIND CMAKE-ARGUMENT...: builds the consumers with CMake, and runs
# them.
try_cmake()
{
	kind=$1
	shift
	step "configure, $kind" "$CMAKE" -S tests/consumer -B "$scratch/$kind" \
		-G Ninja "$@"
	step "compile, $kind" "$CMAKE" --build "$scratch/$kind"
	for program in in_c_shared in_c_static in_cxx_shared; do
		run "${kind}_$program" "$scratch/$kind/$program"
	done
	asks_for "$kind/in_c_shared" "$kind/in_cxx_shared"
	asks_not "$kind/in_c_static"
}

# The CMake package must accept a request for its own version. It must refuse an
# earlier version, which may have had another API.
check_version_file()
{
	file=$prefix/$libdir/cmake/tickwheel/tickwheelConfigVersion.cmake
	for wanted in "$version" 0.0; do
		cat >"$scratch/ask.cmake" <<-END
		set(PACKAGE_FIND_VERSION $wanted)
		string(REPLACE "." ";" part $wanted)
		list(GET part 0 PACKAGE_FIND_VERSION_MAJOR)
		list(GET part 1 PACKAGE_FIND_VERSION_MINOR)
		set(CMAKE_SIZEOF_VOID_P "")
		include($file)
		message(STATUS "\${PACKAGE_VERSION_COMPATIBLE}")
		END
		step "version $wanted" "$CMAKE" -P "$scratch/ask.cmake"
		cp "$scratch/step" "$scratch/answer.$wanted"
	done
	grep -q TRUE "$scratch/answer.$version" ||
		complain "the CMake package is not for version $version"
	if grep -q TRUE "$scratch/answer.0.0"; then
		complain 'the CMake package is for version 0.0 too'
	fi
}

# asks_for PROGRAM...: each must need the shared library, by its soname.
asks_for()
{
	for program in "$@"; do
		objdump -p "$scratch/$program" | grep -q "NEEDED  *$soname\$" ||
			complain "$program does not ask for $soname"
	done
}

asks_not()
{
	for program in "$@"; do
		if objdump -p "$scratch/$program" |
			grep -q 'NEEDED  *libtickwheel'; then
			complain "$program asks for a shared library"
		fi
	done
}

# Sets `version` and `soname`. Before 1.0 a minor version may break the API, so
# the soname contains its number.
name_version()
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
}

# Ends the gate if there are complaints, because the next steps take long.
settle()
{
	[ "$complaints" -eq 0 ] || verdict
}

check_install()
{
	make_scratch
	prefix=$scratch/elsewhere/moved
	mkdir "$scratch/elsewhere"
	kinds=0
	cd "$1" || exit 1
	name_version
	check_presets
	settle
	install_it
	look_for_queue
	check_version_file
	try shared -I"$prefix/include" -L"$prefix/$libdir" -ltickwheel
	try static -I"$prefix/include" "$prefix/$libdir/libtickwheel.a"
	asks_for shared
	asks_not static
	settle
	try_pkg_config
	settle
	try_cmake package -DCMAKE_PREFIX_PATH="$prefix"
	settle
	try_cmake folder -DTICKWHEEL="$PWD"
	settle
	[ ! -f tests/consumer/inline_in_c.c ] || try_inline
	[ -z "$queue" ] || try_queue
	verdict "installed, moved, and used in $kinds ways"
}

# Writes a small project that installs a library of one function.
plant_project()
{
	cat >"$tree/CMakePresets.json" <<-'END'
	{ "version": 6,
	  "configurePresets": [
	    { "name": "release", "generator": "Ninja" } ],
	  "buildPresets": [
	    { "name": "release", "configurePreset": "release" } ] }
	END
	cat >"$tree/CMakeLists.txt" <<-'END'
	cmake_minimum_required(VERSION 3.25)
	project(planted VERSION 0.7.3 LANGUAGES C)
	include(GNUInstallDirs)
	include(CMakePackageConfigHelpers)
	set(dir ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)
	add_library(tickwheel SHARED one.c)
	set_target_properties(tickwheel PROPERTIES SOVERSION 0.7)
	add_library(static STATIC one.c)
	set_target_properties(static PROPERTIES OUTPUT_NAME tickwheel)
	foreach(lib tickwheel static)
	  target_include_directories(${lib} PUBLIC
	    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
	    $<INSTALL_INTERFACE:include>)
	  add_library(tickwheel::${lib} ALIAS ${lib})
	endforeach()
	install(TARGETS tickwheel EXPORT one)
	install(TARGETS static EXPORT one)
	install(DIRECTORY include/ adapters/ TYPE INCLUDE)
	file(RELATIVE_PATH up "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig/" /p)
	file(WRITE ${PROJECT_BINARY_DIR}/tickwheel.pc
	  "p=\${pcfiledir}/${up}\nName: tickwheel\nDescription: d\nVersion: 0\n"
	  "Cflags: -I\${p}/include\n"
	  "Libs: -L\${p}/${CMAKE_INSTALL_LIBDIR} -ltickwheel\n")
	install(FILES ${PROJECT_BINARY_DIR}/tickwheel.pc
	  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
	write_basic_package_version_file(tickwheelConfigVersion.cmake
	  COMPATIBILITY SameMinorVersion)
	install(FILES ${PROJECT_BINARY_DIR}/tickwheelConfigVersion.cmake
	  DESTINATION ${dir})
	install(EXPORT one FILE tickwheelConfig.cmake NAMESPACE tickwheel::
	  DESTINATION ${dir})
	END
}

plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/include/tickwheel" "$tree/tests/consumer" \
		"$tree/adapters"
	plant_project
	sed 's/tickwheel 0.2/tickwheel 0.7/' "$consumer" \
		>"$tree/tests/consumer/CMakeLists.txt"
	echo '#define TKW_VERSION "0.7.3"' >"$tree/include/tickwheel/version.h"
	cat >"$tree/include/tickwheel.h" <<-'END'
	#ifdef __cplusplus
	extern "C"
	#endif
	int one(void);
	END
	echo 'int two(void);' >"$tree/adapters/tickwheel_two.h"
	echo 'int one(void); int one(void) { return 1; }' >"$tree/one.c"
	cat >"$tree/tests/consumer/in_c.c" <<-'END'
	#include <stdio.h>
	#include <tickwheel.h>
	int main(void) { return printf("%d\n", one()) != 2; }
	END
	cp "$tree/tests/consumer/in_c.c" "$tree/tests/consumer/in_cxx.cc"
}

# broken WORD FILE SED-SCRIPT: plants a tree and changes FILE. The gate must
# reject it, and say WORD.
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
	if pkg-config --exists 'sqlite3 >= 3.37'; then
		mkdir "$tree/cmake"
		touch "$tree/cmake/tickwheel-queue.pc.in"
		must_reject 'libtickwheel-queue is not' sh "$self" "$tree"
	fi
	# The gate must not use a tickwheel that is installed on this machine.
	mkdir "$scratch/decoy"
	printf '%s\n' 'Name: tickwheel' 'Description: d' 'Version: 0' \
		>"$scratch/decoy/tickwheel.pc"
	PKG_CONFIG_LIBDIR=$scratch/decoy
	export PKG_CONFIG_LIBDIR
	broken 'the build presets are not' CMakePresets.json \
		's/"name": "release", "conf/"name": "other", "conf/'
	broken 'failed: build' one.c 's/return/retrun/'
	broken 'the installed headers' CMakeLists.txt '/DIRECTORY/d'
	broken 'the installed headers' CMakeLists.txt 's,include/ adapters/,include/,'
	broken 'failed: compile, shared' CMakeLists.txt \
		'/TARGETS/s/EXPORT.*/EXPORT one DESTINATION x)/'
	broken 'failed: compile, static' CMakeLists.txt \
		'/TARGETS static/s/EXPORT.*/EXPORT one DESTINATION x)/'
	broken 'does not ask for libtickwheel.so.0.7' CMakeLists.txt \
		's/SOVERSION 0.7/SOVERSION 0/'
	broken 'the program failed: shared' tests/consumer/in_c.c 's/!= 2/!= 3/'
	broken 'failed: pkg-config, pc_shared' CMakeLists.txt \
		's,/pkgconfig),/nowhere),'
	broken 'failed: compile, pc_shared' CMakeLists.txt \
		's,.{pcfiledir}/.{up},/nowhere,'
	broken 'failed: configure, package' CMakeLists.txt \
		's/TARGETS static EXPORT one/TARGETS static/'
	broken 'names a folder of this machine: lib' CMakeLists.txt \
		's,{pcfiledir}/.{up},{CMAKE_BINARY_DIR}/..,; s,p=.,p=,'
	broken 'failed: configure, folder' CMakeLists.txt '/ALIAS/d'
	broken 'is for version 0.0 too' CMakeLists.txt 's/SameMinor/SameMajor/'
	plant
	sed -i 's/STATIC one/STATIC two/' "$tree/CMakeLists.txt"
	sed 's/return 1/return 2/' "$tree/one.c" >"$tree/two.c"
	must_reject 'do not do the same' sh "$self" "$tree"
	self_verdict
}

for tool in ninja objdump pkg-config g++; do
	command -v "$tool" >/dev/null && continue
	echo "skipped: no $tool"
	exit 77
done
self=$0
consumer=$(dirname "$0")/../consumer/CMakeLists.txt
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_install "${1:?the root of the tree}"
	;;
esac
