#!/bin/sh
# SPDX-License-Identifier: MIT
# readme.sh ROOT [PAGE.md PROGRAM...]... | --self-test - the programs of a page
# are the examples in the tree, one after the other, and what the page says they
# print is what they print. PROGRAM is an example, built.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# block N LANGUAGE FILE: the N-th fenced block of that language.
block()
{
	awk -v n="$1" -v fence="\`\`\`$2" '
	inside && /^```$/ { inside = 0 }
	inside { print }
	$0 == fence && --n == 0 { inside = 1 }
	' "$3"
}

# check_program PROGRAM: the n-th one of the page, in the tree `root`.
check_program()
{
	name=$(basename "$1")
	block "$n" c "$root/$page" >"$scratch/program"
	block "$n" text "$root/$page" >"$scratch/output"
	[ -s "$scratch/program" ] || complain "no program $n in $page"
	[ -s "$scratch/output" ] || complain "no output $n in $page"
	# The file has its licence and a title above.
	sed '1,2d' "$root/examples/$name.c" |
		diff - "$scratch/program" >&2 ||
		complain "program $n of $page is not the example $name"
	"$1" >"$scratch/printed" || complain "the example $name failed"
	diff "$scratch/printed" "$scratch/output" >&2 ||
		complain "$page shows another output of $name"
}

check_readme()
{
	make_scratch
	root=$1
	shift
	for word in "$@"; do
		case $word in
		*.md)
			page=$word
			n=0
			;;
		*)
			n=$((n + 1))
			check_program "$word"
			;;
		esac
	done
	verdict "$# words"
}

plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/examples"
	for name in one two; do
		printf 'licence\ntitle\nint %s;\n' "$name" >"$tree/examples/$name.c"
		printf '#!/bin/sh\necho %s\n' "$name" >"$tree/$name"
		chmod +x "$tree/$name"
		# shellcheck disable=SC2016 # fences, not commands
		printf '```c\nint %s;\n```\n```text\n%s\n```\n' "$name" "$name"
	done >"$tree/README.md"
	sed 1,6d "$tree/README.md" >"$tree/PAGE.md"
}

self_test()
{
	make_scratch
	plant
	set -- "$tree" README.md "$tree/one" "$tree/two" PAGE.md "$tree/two"
	must_accept 'a sound tree' sh "$self" "$@"
	echo 'int y;' >>"$tree/examples/two.c"
	must_reject 'program 2 of README.md is not' sh "$self" "$@"
	plant
	echo 'echo again' >>"$tree/one"
	must_reject 'another output of one' sh "$self" "$@"
	plant
	echo 'exit 1' >>"$tree/two"
	must_reject 'the example two failed' sh "$self" "$@"
	plant
	: >"$tree/README.md"
	must_reject 'no program 1' sh "$self" "$@"
	plant
	sed -i 's/int two/int three/' "$tree/PAGE.md"
	must_reject 'program 1 of PAGE.md is not' sh "$self" "$@"
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	: "${3:?readme.sh ROOT PAGE.md PROGRAM...}"
	check_readme "$@"
	;;
esac
