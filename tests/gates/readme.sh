#!/bin/sh
# SPDX-License-Identifier: MIT
# readme.sh ROOT PROGRAMS | --self-test - checks that the C and Python code in the
# README and in docs/ is code of the examples, and that the output shown with it is
# what the example prints. PROGRAMS is the folder where the examples are built.
#
# A block of code must be a part of one example, line by line. A block with main()
# must be the whole example, without the lines for licence and title. The next
# block of text must be what that example prints. If several blocks of code follow
# each other, they share the block of text after them. An example that speaks of
# tickwheel.so needs a Redis server with the module, and gets one.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# split_page FILE PREFIX: writes each block of code or text to a file that is named
# PREFIX, the number of the block and its language. Prints what is wrong with
# the fences.
split_page()
{
	awk -v prefix="$2" '
	inside && /^```$/ { inside = 0; close(file); next }
	inside { print >file; next }
	/^[ \t]*(```|~~~)/ {
		inside = 1
		language = substr($0, 4)
		if ($0 !~ /^```(c|python|text|sh|java|cmake|json)$/)
			print "a block of which language? " $0
		file = sprintf("%s%03d.%s", prefix, ++n, language)
		if (language !~ /^(c|python|text)$/)
			file = "/dev/null"
		printf "" >file
	}
	END { if (inside) print "a block without an end" }
	' "$1"
}

# examples_with FILE SUFFIX: prints the names of the examples with this suffix that
# contain the lines of FILE in one piece. If FILE has a main(), it must be the whole
# example without its first two lines.
examples_with()
{
	# shellcheck disable=SC2016 # the dollars are awk's
	find "$root/examples" -name "*.$2" | sort | xargs -r awk -v part="$1" '
	function search(    i, k) {
		for (i = 1; lines && i + lines - 1 <= length_of; i++) {
			for (k = 1; k <= lines && text[i + k - 1] == block[k]; k++)
				;
			if (k <= lines || (whole && (i != 3 ||
			    lines != length_of - 2)))
				continue
			sub(/.*\//, "", name)
			print name
			return
		}
	}
	BEGIN {
		while ((getline line <part) > 0) {
			block[++lines] = line
			whole = whole || line ~ /^int main\(/
		}
	}
	FNR == 1 { search(); name = FILENAME; length_of = 0 }
	{ text[++length_of] = $0 }
	END { search() }
	'
}

# check_code FILE SUFFIX: a block of code must be in exactly one example, which is
# added to `shown`.
check_code()
{
	found=$(examples_with "$1" "$2")
	case $(echo "$found" | wc -w) in
	0)
		complain "$page shows what is in no example: $(head -n 1 "$1")"
		;;
	1)
		shown="$shown $found"
		blocks=$((blocks + 1))
		;;
	*)
		complain "$page shows what is in several examples:" \
			"$(echo "$found" | tr '\n' ' ')"
		;;
	esac
}

# run_example NAME: runs it. Returns 77 if it cannot be run here.
run_example()
{
	program=$root/examples/$1
	[ "$program" = "${program%.c}" ] || program=$programs/${1%.c}
	[ -x "$program" ] || return 77
	if ! grep -q 'tickwheel\.so' "$root/examples/$1"; then
		"$program"
	elif [ -f "$programs/../tickwheel.so" ]; then
		sh "$root/tests/examples/with_redis.sh" \
			"$programs/../tickwheel.so" "$program"
	else
		return 77
	fi
}

# check_text FILE: each example in `shown` must print this text.
check_text()
{
	for name in $shown; do
		run_example "$name" >"$scratch/printed"
		status=$?
		name=${name%.c}
		if [ "$status" -eq 77 ]; then
			unbuilt="$unbuilt $name"
			continue
		fi
		[ "$status" -eq 0 ] || complain "the example $name failed"
		diff "$scratch/printed" "$1" >&2 ||
			complain "$page shows another output of $name"
	done
	shown=
}

check_page()
{
	rm -f "$scratch"/block*
	split_page "$root/$page" "$scratch/block" >"$scratch/wrong"
	while read -r line; do
		complain "$page: $line"
	done <"$scratch/wrong"
	shown=
	for block in "$scratch"/block*; do
		case $block in
		*.c)
			check_code "$block" c
			;;
		*.python)
			check_code "$block" py
			;;
		*.text)
			check_text "$block"
			;;
		esac
	done
	[ -z "$shown" ] || complain "$page does not show the output of$shown"
}

check_readme()
{
	make_scratch
	root=$1
	programs=$2
	blocks=0
	unbuilt=
	pages=0
	for page in $(cd "$root" && ls -- *.md docs/*.md); do
		before=$blocks
		check_page
		pages=$((pages + 1))
		[ "$page" != README.md ] || [ "$blocks" -gt "$before" ] ||
			complain 'no program in README.md'
	done
	if [ "$complaints" -eq 0 ] && [ -n "$unbuilt" ]; then
		echo "$gate: skipped: no library for$unbuilt"
		exit 77
	fi
	verdict "$blocks blocks of code on $pages pages"
}

plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/examples" "$tree/docs"
	for name in one two; do
		printf 'licence\ntitle\nint %s;\n\nint main(void)\n' "$name" \
			>"$tree/examples/$name.c"
		printf '#!/bin/sh\necho %s\n' "$name" >"$tree/$name"
		chmod +x "$tree/$name"
		# shellcheck disable=SC2016 # fences, not commands
		printf '```c\nint %s;\n\nint main(void)\n```\n```text\n%s\n```\n' \
			"$name" "$name"
	done >"$tree/README.md"
	# shellcheck disable=SC2016
	printf '%s\n' '```sh' ls '```' '```text' huh '```' '' '```c' 'int two;' \
		'```' and '```text' two '```' >"$tree/docs/page.md"
	plant_server
}

# Plants an example in C and one in Python that need a server, and what runs them
# with one. The programs are really shell scripts.
plant_server()
{
	mkdir -p "$tree/tests/examples"
	: >"$scratch/tickwheel.so"
	# shellcheck disable=SC2016 # for the planted script
	printf 'shift\n"$@" 7\n' >"$tree/tests/examples/with_redis.sh"
	printf 'licence\ntitle, tickwheel.so\nint three;\n' \
		>"$tree/examples/three.c"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho port $1\n# tickwheel.so\n' |
		tee "$tree/three" >"$tree/examples/three.py"
	chmod +x "$tree/three" "$tree/examples/three.py"
	# shellcheck disable=SC2016 # fences, and Python in a shell
	printf '%s\n' '```c' 'int three;' '```' '```python' 'echo port $1' '```' \
		'```text' 'port 7' '```' >"$tree/docs/server.md"
}

# spoil FILE SED-SCRIPT WORD: changes FILE in a sound tree. The gate must reject
# it, and say WORD.
spoil()
{
	plant
	sed -i "$2" "$tree/$1"
	must_reject "$3" sh "$self" "$tree" "$tree"
}

# shellcheck disable=SC2016 # fences, and the dollars are sed's
self_test()
{
	make_scratch
	plant
	must_accept 'a sound tree' sh "$self" "$tree" "$tree"
	spoil README.md 's/int one;/int won;/' 'README.md shows what is in no ex'
	spoil docs/page.md 's/int two/int too/' 'page.md shows what is in no ex'
	spoil docs/page.md 's/^int two.*/int main(void)/' 'is in no example'
	spoil examples/two.c '$a int more;' 'README.md shows what is in no ex'
	spoil examples/two.c '4a int between;' 'README.md shows what is in no ex'
	spoil docs/page.md 's/^int two;/licence/' 'is in several examples'
	spoil one '$a echo again' 'README.md shows another output of one'
	spoil two '$a exit 1' 'the example two failed'
	spoil docs/page.md 's/^two$/too/' 'docs/page.md shows another output of two'
	spoil docs/page.md '/^int/,$ { /^```text/,$d }' 'not show the output of two'
	# Two programs share the second output, which the first does not print.
	spoil README.md '/^```text/{ N; /one/{ N; d; }; }' 'output of one'
	spoil docs/page.md 's/^int two;$//' 'docs/page.md shows what is in'
	spoil docs/page.md '/^int two;$/d' 'docs/page.md shows what is in no'
	spoil README.md d 'no program in README.md'
	spoil docs/page.md 's/^```c$/```C/' 'page.md: a block of which language'
	spoil docs/page.md 's/^```c$/ ```c/' 'page.md: a block of which language'
	spoil docs/page.md 's/^```c$/~~~c/' 'page.md: a block of which language'
	spoil docs/page.md 's/^```c$/```/' 'page.md: a block of which language'
	spoil docs/page.md '$d' 'page.md: a block without an end'
	spoil docs/server.md 's/^echo port/echo ports/' 'server.md shows what is in no'
	spoil docs/server.md 's/^port 7/port 8/' 'another output of three.py'
	spoil three 's/port/ports/' 'server.md shows another output of three'
	plant
	rm "$tree/two"
	must_reject 'skipped: no library for two' sh "$self" "$tree" "$tree"
	plant
	rm "$scratch/tickwheel.so"
	must_reject 'no library for three three.py' sh "$self" "$tree" "$tree"
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_readme "${1:?the root of the tree}" "${2:?the examples, built}"
	;;
esac
