#!/bin/sh
# SPDX-License-Identifier: MIT
# names.sh ROOT | --self-test - file names are unique in the tree, each source
# and script carries its licence line, and no source hides from the coverage.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

files()
{
	find . \( -path ./.git -o -path ./build \) -prune -o -type f "$@" -print
}

check_unique()
{
	# Dot files and these two are named by the tools that read them.
	for name in $(files ! -name CMakeLists.txt ! -name README.md \
		! -name '.*' | sed 's,.*/,,' | sort | uniq -d); do
		complain "two files are called $name:" \
			"$(files -name "$name" | sort | tr '\n' ' ')"
	done
}

check_licence()
{
	for f in $(files \( -name '*.[ch]' -o -name '*.cc' -o -name '*.map' \)); do
		head -n 1 "$f" | grep -qxF '/* SPDX-License-Identifier: MIT */' ||
			complain "no licence on the first line: $f"
	done
	# A script's first line is its #!.
	for f in $(files \( -name '*.sh' -o -name '*.cmake' \
		-o -name CMakeLists.txt -o -path ./dev -o -path './.ci/*' \)); do
		head -n 2 "$f" | grep -qxF '# SPDX-License-Identifier: MIT' ||
			complain "no licence on the first lines: $f"
	done
}

check_markers()
{
	files -name '*.[ch]' >"$scratch/sources"
	[ -s "$scratch/sources" ] || complain 'no sources found'
	while read -r f; do
		if grep -nE '(GCOV|LCOV|GCOVR)_EXCL' "$f"; then
			complain "excludes itself from the coverage: $f"
		fi
	done <"$scratch/sources"
}

check_tree()
{
	make_scratch
	cd "$1" || exit 1
	check_unique
	check_licence
	check_markers
	verdict "$(files | wc -l) files"
}

plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/src" "$tree/tests" "$tree/build"
	echo '/* SPDX-License-Identifier: MIT */' |
		tee "$tree/src/a.c" >"$tree/src/a.h"
	printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\n' >"$tree/dev"
	echo '# SPDX-License-Identifier: MIT' |
		tee "$tree/src/CMakeLists.txt" >"$tree/tests/CMakeLists.txt"
	: >"$tree/build/a.c"
}

self_test()
{
	make_scratch
	plant
	must_accept 'a sound tree' sh "$self" "$tree"
	cp "$tree/src/a.c" "$tree/tests/a.c"
	must_reject 'two files are called a.c' sh "$self" "$tree"
	plant
	echo 'int x;' >"$tree/src/a.h"
	must_reject 'no licence on the first line: ./src/a.h' sh "$self" "$tree"
	plant
	echo '#!/bin/sh' >"$tree/dev"
	must_reject 'no licence on the first lines: ./dev' sh "$self" "$tree"
	plant
	: >"$tree/src/CMakeLists.txt"
	must_reject './src/CMakeLists.txt' sh "$self" "$tree"
	for word in GCOV LCOV GCOVR; do
		plant
		echo "int x; /* ${word}_EXCL_LINE */" >>"$tree/src/a.c"
		must_reject 'excludes itself' sh "$self" "$tree"
	done
	plant
	rm "$tree"/src/*.[ch]
	must_reject 'no sources' sh "$self" "$tree"
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_tree "${1:?the root of the tree}"
	;;
esac
