#!/bin/sh
# SPDX-License-Identifier: MIT
# readme.sh ROOT EXAMPLE | --self-test - the README's program is the example in
# the tree, and what the README says it prints is what EXAMPLE, built, prints.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# block LANGUAGE FILE: the first fenced block of that language.
block()
{
	awk -v fence="\`\`\`$1" '
	inside && /^```$/ { exit }
	inside { print }
	$0 == fence { inside = 1 }
	' "$2"
}

check_readme()
{
	make_scratch
	block c "$1/README.md" >"$scratch/program"
	block text "$1/README.md" >"$scratch/output"
	[ -s "$scratch/program" ] || complain 'no program in the README'
	[ -s "$scratch/output" ] || complain 'no output in the README'
	# The file has its licence and a title above.
	sed '1,2d' "$1/examples/first_wheel.c" |
		diff - "$scratch/program" >&2 ||
		complain 'the program of the README is not the example'
	"$2" >"$scratch/printed" || complain 'the example failed'
	diff "$scratch/printed" "$scratch/output" >&2 ||
		complain 'the README shows another output'
	verdict "$(wc -l <"$scratch/program") lines"
}

plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/examples"
	printf 'licence\ntitle\nint x;\n' >"$tree/examples/first_wheel.c"
	# shellcheck disable=SC2016 # fences, not commands
	printf '```c\nint x;\n```\n```text\nhello\n```\n' >"$tree/README.md"
	printf '#!/bin/sh\necho hello\n' >"$tree/example"
	chmod +x "$tree/example"
}

self_test()
{
	make_scratch
	plant
	must_accept 'a sound tree' sh "$self" "$tree" "$tree/example"
	echo 'int y;' >>"$tree/examples/first_wheel.c"
	must_reject 'not the example' sh "$self" "$tree" "$tree/example"
	plant
	echo 'echo again' >>"$tree/example"
	must_reject 'another output' sh "$self" "$tree" "$tree/example"
	plant
	echo 'exit 1' >>"$tree/example"
	must_reject 'the example failed' sh "$self" "$tree" "$tree/example"
	plant
	: >"$tree/README.md"
	must_reject 'no program' sh "$self" "$tree" "$tree/example"
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_readme "${1:?the root of the tree}" "${2:?the built example}"
	;;
esac
