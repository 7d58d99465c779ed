#!/bin/sh
# SPDX-License-Identifier: MIT
# names.sh ROOT | --self-test - checks that file names are unique in the tree,
# that each source and script has its licence line, and that no source excludes
# lines from the coverage.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# A git hook sets these for the repository that it runs in.
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE

# Lists the files of the tree. In a clone it lists only files that git knows,
# because there may be any number of build folders.
list_files()
{
	if [ -e .git ] && git ls-files >"$scratch/kept" 2>/dev/null; then
		# Leave out files that were deleted but are still in the index.
		while read -r f; do
			[ ! -f "$f" ] || echo "$f"
		done <"$scratch/kept"
	else
		find . \( -path ./.git -o -path ./build \) -prune -o -type f -print |
			sed 's,^\./,,'
	fi | sort >"$scratch/files"
}

# files PATTERN: prints the files whose path matches.
files()
{
	grep -E "$1" "$scratch/files"
}

check_unique()
{
	# These names need not be unique. Tools prescribe the names of dot
	# files, CMakeLists.txt and README.md. An input of the corpus is named
	# after its content. A page of docs/internals may have the name of the
	# guide to the same part.
	grep -Ev '^fuzz/corpus/|^docs/internals/|(^|/)(CMakeLists\.txt|README\.md|\.[^/]*)$' \
		"$scratch/files" >"$scratch/ours"
	for name in $(sed 's,.*/,,' "$scratch/ours" | sort | uniq -d); do
		complain "two files are called $name:" \
			"$(awk -F / -v name="$name" '$NF == name' "$scratch/ours" |
				tr '\n' ' ')"
	done
}

check_licence()
{
	for f in $(files '\.([ch]|cc|map)$'); do
		head -n 1 "$f" | grep -qxF '/* SPDX-License-Identifier: MIT */' ||
			complain "no licence on the first line: $f (add the SPDX line)"
	done
	# The first line of a script may be its #! line.
	for f in $(files '\.(sh|awk|cmake)$|(^|/)CMakeLists\.txt$|^dev$|^(\.ci|scripts)/'); do
		head -n 2 "$f" | grep -qxF '# SPDX-License-Identifier: MIT' ||
			complain "no licence on the first lines: $f (add the SPDX line)"
	done
}

check_markers()
{
	files '\.[ch]$' >"$scratch/sources"
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
	list_files
	check_unique
	check_licence
	check_markers
	verdict "$(wc -l <"$scratch/files") files"
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

self_test_pages()
{
	plant
	mkdir -p "$tree/docs/internals"
	echo page | tee "$tree/docs/a.md" >"$tree/docs/internals/a.md"
	must_accept 'a guide and the page of its inside' sh "$self" "$tree"
}

self_test_corpus()
{
	plant
	mkdir -p "$tree/fuzz/corpus/one" "$tree/fuzz/corpus/two"
	echo input | tee "$tree/fuzz/corpus/one/0a" >"$tree/fuzz/corpus/two/0a"
	must_accept 'an input in two corpora' sh "$self" "$tree"
}

self_test_clone()
{
	command -v git >/dev/null || return 0
	plant
	git -C "$tree" init -q
	git -C "$tree" add dev src tests
	mkdir "$tree/build-arm"
	echo 'int x;' >"$tree/build-arm/a.c"
	must_accept 'a build folder of another name' sh "$self" "$tree"
	git -C "$tree" add build-arm
	must_reject 'two files are called a.c: build-arm/a.c src/a.c' \
		sh "$self" "$tree"
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
	must_reject 'no licence on the first line: src/a.h' sh "$self" "$tree"
	plant
	echo '#!/bin/sh' >"$tree/dev"
	must_reject 'no licence on the first lines: dev' sh "$self" "$tree"
	plant
	: >"$tree/src/CMakeLists.txt"
	must_reject 'src/CMakeLists.txt' sh "$self" "$tree"
	for word in GCOV LCOV GCOVR; do
		plant
		echo "int x; /* ${word}_EXCL_LINE */" >>"$tree/src/a.c"
		must_reject 'excludes itself' sh "$self" "$tree"
	done
	plant
	rm "$tree"/src/*.[ch]
	must_reject 'no sources' sh "$self" "$tree"
	self_test_pages
	self_test_corpus
	self_test_clone
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
