#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols.sh ROOT SHARED STATIC [QUEUE_SHARED QUEUE_STATIC] | --self-test -
# checks which symbols the libraries define, and which functions the wheel calls.
#
#   1. The shared library exports the functions that the public headers declare,
#      and nothing else. Those of queue.h are in a library of their own.
#   2. The static libraries define no global symbol without our prefix.
#   3. The objects of src/base and src/wheel call no outside functions, except
#      memcpy, memmove, memset and memcmp, which a compiler may call by itself,
#      and the function that a failed assert calls.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
NM=${NM:-nm}

exported()
{
	$NM -D --defined-only "$1" |
		awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# check_exports DECLARED SHARED MAP: compares with a list of functions.
check_exports()
{
	exported "$2" >"$scratch/exported"
	[ -s "$1" ] || complain "no declarations for $2"
	for symbol in $(comm -23 "$1" "$scratch/exported"); do
		complain "declared in a public header, not exported: $symbol" \
			"(add it to $3)"
	done
	for symbol in $(comm -13 "$1" "$scratch/exported"); do
		complain "exported, not declared in a public header: $symbol" \
			"(remove it from $3, or declare it)"
	done
}

check_prefix()
{
	$NM -g --defined-only "$1" | awk 'NF == 3 { print $3 }' >"$scratch/defined"
	[ -s "$scratch/defined" ] || complain "$1 defines nothing"
	grep -v '^tkw_' "$scratch/defined" >"$scratch/strangers"
	while read -r symbol; do
		complain "defined in the static library without prefix: $symbol" \
			"(make it static, or call it tkw__...)"
	done <"$scratch/strangers"
}

# check_calls ROOT STATIC: a member of the archive is named after its source,
# and the names of sources are unique.
check_calls()
{
	for source in "$1"/src/base/*.c "$1"/src/wheel/*.c; do
		member=$(basename "$source").o
		calls=$($NM -A "$2" | awk -F: -v m="$member" '$2 == m { print $3 }')
		if [ -z "$calls" ]; then
			complain "no object in the static library: $member" \
				"(add its source to cmake/library.cmake)"
			continue
		fi
		for symbol in $(echo "$calls" | awk '$1 == "U" { print $2 }'); do
			case $symbol in
			tkw_* | memcpy | memmove | memset | memcmp) ;;
			__assert_fail | _GLOBAL_OFFSET_TABLE_) ;;
			*)
				complain "$member must not use $symbol" \
					"(the wheel needs no libc: move the code out of it)"
				;;
			esac
		done
	done
}

check_library()
{
	make_scratch
	declared "$1/include" >"$scratch/all"
	declared "$1/include" queue.h >"$scratch/core"
	comm -23 "$scratch/all" "$scratch/core" >"$scratch/queue"
	check_exports "$scratch/core" "$2" src/tickwheel.map
	check_prefix "$3"
	check_calls "$1" "$3"
	if [ -n "${4:-}" ]; then
		check_exports "$scratch/queue" "$4" src/tickwheel-queue.map
		check_prefix "$5"
	fi
	verdict "$(wc -l <"$scratch/all") functions"
}

# plant LINE SYMBOLS: builds a tiny library. LINE is added to its wheel, and
# SYMBOLS to its map.
plant()
{
	dir=$scratch/lib
	rm -rf "$dir"
	mkdir -p "$dir/include/tickwheel" "$dir/src/base" "$dir/src/wheel"
	cat >"$dir/include/tickwheel/a.h" <<-END
	typedef int tkw_typed_fn(int (*tkw_arg)(int));
	struct tkw_ops { int (*tkw_op)(int); };
	static inline int tkw_inlined(int x) { return x; }
	int tkw_a(int x,
		  tkw_typed_fn *fn);
	const char *tkw_b(void);
	END
	cat >"$dir/src/wheel/a.c" <<-END
	#include "tickwheel/a.h"
	int tkw__inner(int x);
	int tkw__inner(int x) { return x; }
	int tkw_a(int x, tkw_typed_fn *fn) { return fn ? tkw__inner(x) : 0; }
	const char *tkw_b(void) { return ""; }
	$1
	END
	echo 'int tkw__base = 1;' >"$dir/src/base/b.c"
	for source in "$dir"/src/*/*.c; do
		$CC -fPIC -fno-builtin -I"$dir/include" -c "$source" \
			-o "$dir/$(basename "$source").o" || exit 1
	done
	echo "V { global: tkw_a; $2 local: *; };" >"$dir/map"
	$CC -shared -Wl,--version-script="$dir/map" -o "$dir/a.so" "$dir"/*.o ||
		exit 1
	ar rcs "$dir/a.a" "$dir"/*.o
}

rejected()
{
	plant "$2" "$3"
	must_reject "$1" sh "$self" "$dir" "$dir/a.so" "$dir/a.a"
}

# plant_queue LINE: plants a library of the queue beside it, with LINE in it.
plant_queue()
{
	plant '' 'tkw_b;'
	printf '%s\n' '#include "a.h"' 'int tkw_q(void);' \
		>"$dir/include/tickwheel/queue.h"
	printf '%s\n' '#include "tickwheel/queue.h"' "$1" >"$dir/q.c"
	$CC -fPIC -I"$dir/include" -c "$dir/q.c" -o "$dir/q.o" &&
		$CC -shared -o "$dir/q.so" "$dir/q.o" || exit 1
	ar rcs "$dir/q.a" "$dir/q.o"
}

self_test_queue()
{
	plant_queue 'int tkw_q(void) { return 0; }'
	must_accept 'a sound library of the queue' sh "$self" "$dir" \
		"$dir/a.so" "$dir/a.a" "$dir/q.so" "$dir/q.a"
	plant_queue 'int tkw_r(void); int tkw_r(void) { return 0; }'
	must_reject 'not exported: tkw_q (add it to src/tickwheel-queue.map)' \
		sh "$self" "$dir" "$dir/a.so" "$dir/a.a" "$dir/q.so" "$dir/q.a"
	must_reject 'not declared in a public header: tkw_r' \
		sh "$self" "$dir" "$dir/a.so" "$dir/a.a" "$dir/q.so" "$dir/q.a"
	plant_queue 'int tkw_q(void) { return 0; } int stray = 1;'
	must_reject 'without prefix: stray' \
		sh "$self" "$dir" "$dir/a.so" "$dir/a.a" "$dir/q.so" "$dir/q.a"
}

self_test()
{
	make_scratch
	plant '' 'tkw_b;'
	must_accept 'a sound library' sh "$self" "$dir" "$dir/a.so" "$dir/a.a"
	rejected 'exported, not declared in a public header: stray' \
		'int stray(void) { return 0; }' 'tkw_b; stray;'
	rejected 'exported, not declared in a public header: tkw__inner' \
		'' 'tkw_b; tkw__inner;'
	rejected 'exported, not declared in a public header: tkw_data' \
		'int tkw_data = 1;' 'tkw_b; tkw_data;'
	rejected 'declared in a public header, not exported: tkw_b' '' ''
	rejected 'without prefix: stray' 'int stray(void) { return 0; }' 'tkw_b;'
	rejected 'a.c.o must not use malloc' \
		'void *malloc(unsigned long n); void *tkw__m(void) { return malloc(1); }' \
		'tkw_b;'
	rejected 'a.c.o must not use clock' \
		'long clock(void); long tkw__c(void) { return clock(); }' 'tkw_b;'
	plant '' 'tkw_b;'
	: >"$dir/src/base/lost.c"
	must_reject 'no object in the static library: lost.c.o' \
		sh "$self" "$dir" "$dir/a.so" "$dir/a.a"
	self_test_queue
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_library "${1:?the root of the tree}" "${2:?the shared library}" \
		"${3:?the static library}" "${4:-}" "${5:-}"
	;;
esac
