#!/bin/sh
# SPDX-License-Identifier: MIT
# freestanding.sh ROOT [COMPILER...] | --self-test - checks that the wheel needs
# no function but memcpy and memset.
#
# The gate compiles src/base and src/wheel as freestanding code, with asserts off,
# as they are shipped, and links them into one object. The code includes only
# assert.h and errno.h of libc. A compiler may call memcpy and memset by itself,
# so these are allowed. For other processors, name their compilers.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}

# undefined ROOT COMPILER: prints the symbols that the wheel uses and does not
# define, one in each line.
undefined()
{
	objects=
	for source in "$1"/src/base/*.c "$1"/src/wheel/*.c; do
		object=$scratch/$(basename "$source").o
		# Some compilers make position-independent code or protect the
		# stack by default. Both need symbols of the system.
		"$2" -std=c11 -O2 -DNDEBUG -ffreestanding -fno-pic \
			-fno-stack-protector -I"$1/include" -I"$1/src" \
			-c "$source" -o "$object" || return 1
		objects="$objects $object"
	done
	# shellcheck disable=SC2086 # a list of files
	"$2" -r -nostdlib $objects -o "$scratch/whole.o" || return 1
	"$("$2" -print-prog-name=nm)" -u "$scratch/whole.o" | awk '{ print $2 }'
}

check_compiler()
{
	if ! undefined "$1" "$2" >"$scratch/undefined"; then
		complain "$2 does not build the wheel"
		return
	fi
	# An empty object would need no symbol, so check that the wheel is in
	# it.
	"$("$2" -print-prog-name=nm)" "$scratch/whole.o" |
		grep -q ' T tkw_wheel_advance$' ||
		complain "$2: the wheel is not in what was built"
	while read -r symbol; do
		case $symbol in
		memcpy | memset) ;;
		*)
			complain "$2: the wheel needs $symbol" \
				"(only memcpy and memset are allowed in src/base, src/wheel)"
			;;
		esac
	done <"$scratch/undefined"
}

check_tree()
{
	root=$1
	shift
	[ $# -gt 0 ] || set -- "$CC"
	make_scratch
	for compiler in "$@"; do
		check_compiler "$root" "$compiler"
	done
	verdict "the wheel by $*"
}

# plant LINE: writes a tiny wheel, with LINE added at its end.
plant()
{
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/include" "$scratch/tree/src/base" \
		"$scratch/tree/src/wheel"
	echo 'int tkw__base(int x); int tkw__base(int x) { return x + 1; }' \
		>"$scratch/tree/src/base/b.c"
	cat >"$scratch/tree/src/wheel/a.c" <<-END
	#include <assert.h>
	#include <stddef.h>
	struct big { char c[4096]; };
	int tkw__base(int x);
	int tkw_wheel_advance(struct big *b, struct big *c);
	int tkw_wheel_advance(struct big *b, struct big *c)
	{
		assert(b != c);
		*b = *c;
		*c = (struct big){ { 0 } };
		return tkw__base(c->c[1]);
	}
	$1
	END
}

rejected()
{
	plant "$2"
	must_reject "$1" sh "$self" "$scratch/tree"
}

self_test()
{
	make_scratch
	plant ''
	must_accept 'a sound wheel' sh "$self" "$scratch/tree"
	rejected 'the wheel needs malloc' \
		'void *malloc(size_t n); void *tkw__m(void) { return malloc(1); }'
	rejected 'the wheel needs memmove' \
		'void *memmove(void *, const void *, size_t);
		 void tkw__m(char *p, size_t n) { memmove(p, p + 1, n); }'
	rejected 'the wheel needs tkw__clock_now' \
		'long tkw__clock_now(void); long tkw__n(void);
		 long tkw__n(void) { return tkw__clock_now(); }'
	rejected 'the wheel needs stray' \
		'extern int stray; int *tkw__s(void) { return &stray; }'
	rejected 'does not build the wheel' 'not C'
	plant ''
	rm "$scratch/tree/src/base/b.c"
	must_reject 'does not build the wheel' sh "$self" "$scratch/tree"
	plant ''
	echo 'int tkw__other;' >"$scratch/tree/src/wheel/a.c"
	must_reject 'the wheel is not in what was built' sh "$self" "$scratch/tree"
	plant ''
	must_reject 'no-such-cc does not build' \
		sh "$self" "$scratch/tree" "$CC" no-such-cc
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	: "${1:?the root of the tree}"
	check_tree "$@"
	;;
esac
