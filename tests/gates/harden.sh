#!/bin/sh
# SPDX-License-Identifier: MIT
# harden.sh PROGRAM {SHARED STATIC}... [MODULE] | --self-test - checks that the
# built files have the protections that docs/internals/hardening.md lists. MODULE
# is loaded by a server, and shows it nothing but its entry.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}

say()
{
	printf 'harden: %-22s %s\n' "$1:" "$2"
}

# check_image FILE: checks what must hold for the library and for a program.
check_image()
{
	name=$(basename "$1")
	readelf -lW "$1" >"$scratch/segments" || complain "cannot read $1"
	readelf -dW "$1" >"$scratch/dynamic"
	before=$complaints
	grep -q 'GNU_RELRO' "$scratch/segments" ||
		complain "$name: no RELRO segment"
	grep -Eq '\((FLAGS|FLAGS_1)\).*NOW' "$scratch/dynamic" ||
		complain "$name: bound lazily"
	grep -q 'GNU_STACK' "$scratch/segments" ||
		complain "$name: nothing is said about its stack"
	awk '$1 == "GNU_STACK" && !/ RW / { exit 1 }' "$scratch/segments" ||
		complain "$name: an executable stack"
	awk '$1 == "LOAD" && / RWE / { exit 1 }' "$scratch/segments" ||
		complain "$name: memory that is writable and executable"
	if grep -q 'TEXTREL' "$scratch/dynamic"; then
		complain "$name: relocations in the code"
	fi
	if grep -Eq '\((RPATH|RUNPATH)\)' "$scratch/dynamic"; then
		complain "$name: looks for libraries in a folder of its own"
	fi
	[ "$complaints" -gt "$before" ] ||
		say "$name" 'RELRO, bound at start, no executable stack, no RPATH'
}

check_shared()
{
	check_image "$1"
	readelf -W --dyn-syms "$1" | awk '$7 == "UND" { print $8 }' |
		sort >"$scratch/used"
	grep -q '^__stack_chk_fail@' "$scratch/used" ||
		complain "$name: no stack protector"
	# If the compiler knows the size of a buffer, it calls the _chk
	# function.
	grep -Eq '^__v?snprintf_chk@' "$scratch/used" ||
		complain "$name: nothing is fortified"
	say "$name" "calls $(grep -Eo '^__[a-z_]*_chk(_fail)?' "$scratch/used" |
		tr '\n' ' ')"
}

check_module()
{
	check_image "$1"
	readelf -W --dyn-syms "$1" | awk '$7 == "UND" { print $8 }' |
		grep -q '^__stack_chk_fail@' ||
		complain "$name: no stack protector"
	shown=$(nm -D --defined-only "$1" | awk '{ print $3 }' | tr '\n' ' ')
	[ "$shown" = 'RedisModule_OnLoad ' ] ||
		complain "$name: shows the server more than its entry: $shown"
}

# check_marks SHARED STATIC: checks that each object in STATIC has the marks of
# its processor. If one object has no mark, the linker marks nothing that it
# links with that object. The mark of a whole program also depends on libc's
# objects, so it is not checked.
check_marks()
{
	case $(readelf -h "$1" | sed -n 's/^ *Machine: *//p') in
	*X86-64* | *80386*)
		marks='IBT, SHSTK'
		;;
	AArch64)
		marks='BTI, PAC'
		;;
	*)
		return
		;;
	esac
	readelf -nW "$2" 2>/dev/null | awk -v marks="feature: $marks" '
	/^File: / {
		file = $2
		gsub(/.*\(|\)/, "", file)
		marked[file] = 0
	}
	index($0, marks) { marked[file] = 1 }
	END { for (f in marked) print marked[f], f }' >"$scratch/marked"
	[ -s "$scratch/marked" ] || complain "no objects in $2"
	while read -r marked object; do
		[ "$marked" -eq 1 ] || complain "$object: not marked $marks"
	done <"$scratch/marked"
	say "$(basename "$2")" \
		"$(grep -c '^1' "$scratch/marked") objects marked $marks"
}

check_program()
{
	check_image "$1"
	readelf -h "$1" | grep -q 'Type: *DYN' ||
		complain "$name: at a fixed address (no PIE)"
}

check_built()
{
	make_scratch
	check_program "$1"
	shift
	while [ $# -gt 1 ]; do
		check_shared "$1"
		check_marks "$1" "$2"
		shift 2
	done
	[ $# -eq 0 ] || check_module "$1"
	verdict 'hardened'
}

flags='-O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection'
links='-Wl,-z,relro,-z,now'

# plant COMPILE-FLAG LINK-FLAG PROGRAM-FLAG: builds a tiny library and a
# program, with these flags after the usual ones.
plant()
{
	cat >"$scratch/one.c" <<-'END'
	#include <stdarg.h>
	#include <stdio.h>
	void tkw_one(char *to, const char *format, ...)
	{
		char line[64];
		va_list args;
		va_start(args, format);
		vsnprintf(line, sizeof(line), format, args);
		va_end(args);
		snprintf(to, 32, "%s", line);
	}
	END
	echo 'int main(void) { return 0; }' >"$scratch/main.c"
	rm -f "$scratch/one.a"
	# shellcheck disable=SC2086 # lists of flags
	$CC $flags -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fPIC $1 -c \
		"$scratch/one.c" -o "$scratch/one.o" &&
		ar rcs "$scratch/one.a" "$scratch/one.o" &&
		$CC -shared $links $2 "$scratch/one.o" -o "$scratch/one.so" &&
		$CC $flags -fPIE -pie $links $3 "$scratch/main.c" \
			-o "$scratch/one" || exit 1
}

# plant_module COMPILE-FLAG LINK-FLAG: builds a tiny module.
plant_module()
{
	cat >"$scratch/module.c" <<-'END'
	static __attribute__((noinline)) int helper(volatile char *line)
	{
		return line[0];
	}
	int RedisModule_OnLoad(void)
	{
		char line[64] = { 0 };
		return helper(line);
	}
	END
	# shellcheck disable=SC2086 # lists of flags
	$CC $flags -fPIC $1 -shared $links $2 "$scratch/module.c" \
		-o "$scratch/module.so" || exit 1
}

check_planted()
{
	sh "$self" "$scratch/one" "$scratch/one.so" "$scratch/one.a"
}

check_planted_module()
{
	sh "$self" "$scratch/one" "$scratch/one.so" "$scratch/one.a" \
		"$scratch/module.so"
}

# rejected WORD COMPILE-FLAG LINK-FLAG PROGRAM-FLAG: the gate must reject what
# is built with these flags, and say WORD.
rejected()
{
	plant "$2" "$3" "$4"
	must_reject "$1" check_planted
}

self_test()
{
	make_scratch
	plant '' '' ''
	must_accept 'a hardened library' check_planted
	rejected 'one.so: no stack protector' -fno-stack-protector '' ''
	rejected 'nothing is fortified' -U_FORTIFY_SOURCE '' ''
	case $(uname -m) in
	x86_64 | i?86)
		rejected 'one.o: not marked' -fcf-protection=none '' ''
		rejected 'one.o: not marked' -fcf-protection=branch '' ''
		;;
	esac
	rejected 'one.so: no RELRO' '' -Wl,-z,norelro ''
	rejected 'one.so: bound lazily' '' -Wl,-z,lazy ''
	rejected 'one.so: an executable stack' '' -Wl,-z,execstack ''
	rejected 'one.so: looks for libraries' '' -Wl,-rpath,/opt ''
	rejected 'one: at a fixed address' '' '' '-fno-pie -no-pie'
	rejected 'one: bound lazily' '' '' -Wl,-z,lazy
	rejected 'one: an executable stack' '' '' -Wl,-z,execstack
	plant '' '' ''
	cp "$scratch/one.so" "$scratch/two.so"
	plant '' -Wl,-z,lazy ''
	must_reject 'one.so: bound lazily' sh "$self" "$scratch/one" \
		"$scratch/two.so" "$scratch/one.a" \
		"$scratch/one.so" "$scratch/one.a"
	plant '' '' ''
	plant_module '' ''
	must_accept 'a hardened module' check_planted_module
	plant_module '' -Wl,-z,lazy
	must_reject 'module.so: bound lazily' check_planted_module
	plant_module -fno-stack-protector ''
	must_reject 'module.so: no stack protector' check_planted_module
	plant_module -Dstatic= ''
	must_reject 'more than its entry: RedisModule_OnLoad helper' \
		check_planted_module
	ar d "$scratch/one.a" one.o
	must_reject 'no objects' check_planted
	self_verdict
}

command -v readelf >/dev/null || {
	echo 'skipped: no readelf'
	exit 77
}
self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	: "${3:?harden.sh PROGRAM SHARED STATIC}"
	check_built "$@"
	;;
esac
