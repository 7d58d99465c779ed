#!/bin/sh
# SPDX-License-Identifier: MIT
# man.sh ROOT PLACE TKW LIBRARY... | --self-test - checks the manual pages.
#
# The pages of section 3 are generated from the headers, so their text is not
# compared with the headers. The gate checks this:
#
#   1. The generator accepts each header, and writes the same page with each awk
#      that is installed.
#   2. mandoc finds nothing to complain about, no line is wider than 80 columns,
#      and a page refers only to pages of ours that exist.
#   3. man finds and shows a page for each public function. PLACE is a build
#      folder, from which the gate installs the pages, or a folder that already
#      has them.
#   4. The programs of the pages compile with the libraries, run, and print
#      what their page says.
#   5. tkw(1) has the options that tkw --help has.
#   6. tkw-redis(7) and docs/redis.md have the commands that the module has.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CMAKE=${CMAKE:-cmake}
MAN=mman # the man of mandoc, on Debian
command -v "$MAN" >/dev/null || MAN='man'
struck=$(printf '.\b') # a struck-over character: it marks bold text

# complain_each TEXT LIST: complains about each line of the file LIST, with TEXT
# after the line.
complain_each()
{
	while read -r each; do
		complain "$each$1"
	done <"$2"
}

# Prints each word of the input once.
words()
{
	tr -cs 'A-Za-z0-9_' '\n' | sort -u
}

# --- 1: the generator --------------------------------------------------------

# generate AWK HEADER: writes the page of HEADER to standard output.
generate()
{
	# shellcheck disable=SC2086 # "busybox awk" is two words
	$1 -v page=tkw_page -v date='January 1, 2026' -v pages=tkw_page \
		-f "$generator" "$2"
}

check_generator()
{
	generator=$1/man/header_to_mdoc.awk
	for header in "$1"/include/tickwheel/*.h; do
		if ! generate awk "$header" >"$scratch/page" 2>"$scratch/said"; then
			sed "s,^$1/,," "$scratch/said" >"$scratch/list"
			[ -s "$scratch/list" ] || echo "$generator: fails" \
				>"$scratch/list"
			complain_each '' "$scratch/list"
			continue
		fi
		for awk in mawk gawk original-awk 'busybox awk'; do
			command -v "${awk%% *}" >/dev/null || continue
			generate "$awk" "$header" 2>&1 | cmp -s - "$scratch/page" ||
				complain "man/header_to_mdoc.awk: $awk makes" \
					"another page of $(basename "$header") than awk"
		done
	done
}

# --- 2: form -----------------------------------------------------------------

# install_pages PLACE: sets man to the folder with man1, man3 and man7.
install_pages()
{
	place=$1
	if [ -f "$place/CMakeCache.txt" ]; then
		place=$scratch/stage
		DESTDIR=$place "$CMAKE" --install "$1" --component man \
			>"$scratch/said" 2>&1 || {
			cat "$scratch/said" >&2
			complain 'man/CMakeLists.txt: the pages cannot be installed'
		}
	fi
	man=$(find "$place" -type d -name man3 | sed 's,/man3$,,')
	# List the pages. A file with one line, .so, only refers to a page.
	find "$man" -type f -exec grep -L '^\.so ' {} + | sort >"$scratch/pages"
}

# source_of PAGE: prints the file in which to correct the text of the page.
source_of()
{
	case $1 in
	*.3)
		echo "include/$(sed -n 's/^\.In //p' "$1" | head -n 1)"
		;;
	*)
		echo "man/$(basename "$1")"
		;;
	esac
}

check_form()
{
	while read -r page; do
		name=$(basename "$page")
		mandoc -T lint -W warning "$page" 2>&1 | sed 's/.*: //' \
			>"$scratch/list"
		complain_each " in $name: correct $(source_of "$page")" \
			"$scratch/list"
		mandoc -T ascii -O width=78 "$page" 2>/dev/null |
			sed "s/$struck//g" | awk 'length($0) > 80' >"$scratch/list"
		complain_each " is too wide in $name: correct $(source_of "$page")" \
			"$scratch/list"
		head -n 1 "$page" | grep -qxF '.\" SPDX-License-Identifier: MIT' ||
			complain "$name: no licence on the first line"
	done <"$scratch/pages"
}

# check_references ROOT: each page of ours to which a page refers must exist.
# Each TKW_ name in tickwheel(7), which is written by hand, must be in a header.
check_references()
{
	while read -r page; do
		sed -n 's/.*\<Xr \(\(tkw\|tickwheel\)[a-z0-9_-]*\) \([0-9]\).*/\1.\3/p' \
			"$page" | sort -u | while read -r other; do
			[ -f "$man/man${other##*.}/$other" ] ||
				echo "$(source_of "$page"): refers to $other," \
					"which is not a page"
		done
	done <"$scratch/pages" >"$scratch/list"
	complain_each '' "$scratch/list"
	cat "$1"/include/tickwheel/*.h | words >"$scratch/known"
	grep -v '^\.Dt' "$1/man/tickwheel.7" | words | grep '^TKW_' |
		comm -23 - "$scratch/known" >"$scratch/list"
	complain_each ' is in no header: correct man/tickwheel.7' "$scratch/list"
}

# --- 3: what man finds -------------------------------------------------------

# functions INCLUDE_DIR: prints the names of all public functions. It runs the
# preprocessor of the compiler.
functions()
{
	for header in "$1"/tickwheel/*.h; do
		$CC -std=c11 -E -I"$1" "$header" |
			awk -v own="\"$header\"" '
			/^# [0-9]+ "/ { ours = index($0, own); next }
			ours' | tr '\n' ' ' | sed 's/[;{}]/\n/g' |
			grep -Ev '^ *(typedef|static|extern  *inline)' |
			sed -n 's/^[^(]*\<\(tkw_[A-Za-z0-9_]*\) *(.*/\1/p'
	done | sort
}

check_found()
{
	functions "$1/include" >"$scratch/functions"
	[ -s "$scratch/functions" ] || complain "no functions in $1/include"
	while read -r name; do
		"$MAN" -M "$man" "$name" 2>/dev/null | sed "s/$struck//g" |
			words | grep -qxF "$name" ||
			complain "man $name shows no page about it:" \
				"see link_names() in man/CMakeLists.txt"
	done <"$scratch/functions"
}

# --- 4: programs -------------------------------------------------------------

# programs_of PAGE PREFIX: writes each program of the page to PREFIX-N.c. The
# next display shows what the program prints, and goes to PREFIX-N.txt.
programs_of()
{
	awk -v prefix="$2" '
	/^\.Sh / { examples = $2 == "EXAMPLES" }
	/^\.Bd -literal/ && examples { inside = 1; text = ""; next }
	/^\.Ed/ && inside {
		inside = 0
		if (text ~ /\nint main\(/) {
			program = prefix "-" ++n
			printf "%s", text >(program ".c")
		} else if (program) {
			printf "%s", text >(program ".txt")
			program = ""
		}
		next
	}
	inside {
		gsub(/\\-/, "-")
		gsub(/\\\(aq/, "\047")
		gsub(/\\\(ga/, "`")
		gsub(/\\\(ha/, "^")
		gsub(/\\\(ti/, "~")
		gsub(/\\e/, "\\")
		sub(/^\\&/, "")
		text = text $0 "\n"
	}' "$1"
}

# run_program FILE FROM LIBRARY...: compiles FILE.c, runs it, and compares its
# output with FILE.txt. FROM names the program in complaints.
run_program()
{
	file=$1
	named=$2
	shift 2
	if ! $CC -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
		-Wstrict-prototypes -Wmissing-prototypes -Werror -pthread \
		-I"$root/include" "$file.c" "$@" -o "$file"; then
		complain "$named: does not compile"
		return
	fi
	# A program may make files.
	(cd "$scratch" && timeout 60 "$file") >"$file.out" ||
		complain "$named: fails when it is run"
	[ -f "$file.txt" ] || : >"$file.txt"
	diff "$file.out" "$file.txt" >&2 ||
		complain "$named: does not print what it should"
}

# check_programs ROOT LIBRARY...: one library alone is that of the timer. The one
# of the queue is missing if there is no SQLite.
check_programs()
{
	root=$1
	shift
	programs=0
	while read -r page; do
		name=$(basename "$page")
		case $name in
		*.1 | tkw-redis.7) # about a shell
			continue
			;;
		*.3)
			from="man/examples/${name%.3}*.c"
			;;
		*)
			from="man/$name"
			;;
		esac
		programs_of "$page" "$scratch/$name"
		[ -f "$scratch/$name-1.c" ] || complain "$from: there is no program"
		if [ "$name" = tkw_queue.3 ] && [ $# -eq 1 ]; then
			echo "skipped: no library for $from"
			continue
		fi
		for program in "$scratch/$name"-*.c; do
			[ -f "$program" ] || continue
			programs=$((programs + 1))
			number=${program##*-}
			run_program "${program%.c}" "$from, program ${number%.c}" "$@"
		done
	done <"$scratch/pages"
}

# --- 5: the command ----------------------------------------------------------

# Without SQLite, tkw says so instead of its help on queues. Then the page has
# more options than the help.
check_options()
{
	all=yes
	for of in '' demo 'demo --virtual' after every cron next \
		queue; do
		# shellcheck disable=SC2086 # words of a command line
		if "$2" $of --help 2>"$scratch/why"; then
			continue
		elif [ "$of" = queue ] &&
			grep -q 'built without SQLite' "$scratch/why"; then
			all=no
		else
			complain "tkw $of --help: fails"
		fi
	done >"$scratch/help"
	grep -Eo -e '--[a-z][a-z-]*' "$scratch/help" | sort -u >"$scratch/told"
	grep -Eo '(Fl|\||,) -[a-z][a-z-]*' "$1/man/tkw.1" | sed 's/.* -/--/' |
		sort -u >"$scratch/shown"
	comm -23 "$scratch/told" "$scratch/shown" >"$scratch/list"
	complain_each ': add it to man/tkw.1, because tkw --help has it' \
		"$scratch/list"
	if [ $all = no ]; then
		echo 'skipped: options that only man/tkw.1 has, no SQLite'
		return
	fi
	comm -13 "$scratch/told" "$scratch/shown" >"$scratch/list"
	complain_each ': remove it from man/tkw.1, or add it to tkw --help' \
		"$scratch/list"
}

# --- 6: the module -----------------------------------------------------------

# commands_in FILE...: prints the commands of the module that the files name.
# TKW.APPLY is for the server alone, and TKW.CLOCK for the tests.
commands_in()
{
	cat "$@" | grep -Eio '\<tkw\.[a-z]+\>' | tr '[:lower:]' '[:upper:]' |
		grep -Evx 'TKW\.(APPLY|CLOCK)' | sort -u
}

check_commands()
{
	[ -d "$1/src/redis" ] || return 0
	cat "$1"/src/redis/*.[ch] | grep -Eio '"tkw\.[a-z]+"' >"$scratch/quoted"
	commands_in "$scratch/quoted" >"$scratch/told"
	[ -s "$scratch/told" ] || complain 'src/redis: there are no commands'
	for page in man/tkw-redis.7 docs/redis.md; do
		commands_in "$1/$page" >"$scratch/shown"
		comm -23 "$scratch/told" "$scratch/shown" >"$scratch/list"
		complain_each ": add it to $page, because the module has it" \
			"$scratch/list"
		comm -13 "$scratch/told" "$scratch/shown" >"$scratch/list"
		complain_each ": remove it from $page, or add it to the module" \
			"$scratch/list"
	done
}

check_man()
{
	make_scratch
	check_generator "$1"
	install_pages "$2"
	check_form
	check_references "$1"
	check_found "$1"
	check_options "$1" "$3"
	check_commands "$1"
	root=$1
	shift 3
	check_programs "$root" "$@"
	verdict "$(wc -l <"$scratch/functions") functions, $programs programs"
}

# --- self-test ---------------------------------------------------------------

plant_header()
{
	cat <<-'END'
	/* SPDX-License-Identifier: MIT */
	/*
	 * timer.h - a planted header
	 *
	 * A paragraph, with 'quotes', a \ and
	 * .a dot at the begin of a line.
	 *
	 *   Tag   A tagged paragraph
	 *         of two lines.
	 *
	 * Errors, the same in every call:
	 *   -EINVAL  an argument is NULL
	 */
	#ifndef TICKWHEEL_TIMER_H
	#define TICKWHEEL_TIMER_H

	#include <stddef.h>

	/* The largest number. */
	#define TKW_MOST 1

	/* A struct. */
	struct tkw_a {
		int (*tkw_op)(int); /* its function */
	};

	/* A callback. */
	typedef int tkw_a_fn(int (*tkw_arg)(int));

	/*
	 * Adds a function, see TKW_MOST.
	 *
	 * a   The struct.
	 * fn  The function, which is
	 *     called by tkw_a_name().
	 *
	 * Returns 0, or
	 *   -EINVAL  a is NULL
	 *   -ENOMEM, -EPERM
	 *            as listed at the top
	 */
	int tkw_a_add(struct tkw_a *a,
		      tkw_a_fn *fn);

	/* Returns the name. */
	const char *tkw_a_name(void);

	#endif
	END
}

plant_program()
{
	cat <<-'END'
	/* SPDX-License-Identifier: MIT */
	/* Prints a name. */
	#include <stdio.h>
	#include <tickwheel/timer.h>

	int main(void)
	{
		/* `quotes' ^ ~ - */
		printf("%s\n", tkw_a_name());
		return tkw_a_add(NULL, NULL);
	}
	END
}

# plant_page NAME SECTION: prints a page like those that are written by hand.
plant_page()
{
	cat <<-END
	.\\" SPDX-License-Identifier: MIT
	.Dd January 1, 2026
	.Dt $1 $2
	.Os tickwheel
	.Sh NAME
	.Nm tkw
	.Nd a page
	.Sh DESCRIPTION
	.Fl -help | -json
	is not more than
	.Dv TKW_MOST .
	.Sh EXAMPLES
	.Bd -literal
	END
	plant_program | sed '1,2d; s/\\/\\e/'
	printf '.Ed\n.Bd -literal\na\n.Ed\n.Sh SEE ALSO\n.Xr tkw_a_add 3\n'
}

# Writes a library of two functions, its pages, and a command.
plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/include/tickwheel" "$tree/man/examples" \
		"$tree/share/man1" "$tree/share/man3" "$tree/share/man7"
	plant_header >"$tree/include/tickwheel/timer.h"
	cat >"$tree/a.c" <<-'END'
	#include <tickwheel/timer.h>
	int tkw_a_add(struct tkw_a *a, tkw_a_fn *fn) { return a || fn; }
	const char *tkw_a_name(void) { return "a"; }
	END
	cp "$(dirname "$self")/../../man/header_to_mdoc.awk" "$tree/man"
	plant_program >"$tree/man/examples/tkw_a.c"
	echo a >"$tree/man/examples/tkw_a.txt"
	plant_page TICKWHEEL 7 >"$tree/man/tickwheel.7"
	plant_page TKW 1 >"$tree/man/tkw.1"
	printf '#!/bin/sh\necho "  --help, --json"\n' >"$tree/tkw"
	chmod +x "$tree/tkw"
}

# Makes the folder with the installed pages, and builds the library.
stage()
{
	awk -v page=tkw_a -v date='January 1, 2026' -v pages=tkw_a \
		-f "$tree/man/header_to_mdoc.awk" \
		"$tree/include/tickwheel/timer.h" "$tree"/man/examples/tkw_a.* \
		>"$tree/share/man3/tkw_a.3" 2>/dev/null
	cp "$tree/man/tkw.1" "$tree/share/man1"
	cp "$tree/man/tickwheel.7" "$tree/share/man7"
	for name in tkw_a_add tkw_a_name; do
		echo '.so man3/tkw_a.3' >"$tree/share/man3/$name.3"
	done
	$CC -I"$tree/include" -c "$tree/a.c" -o "$tree/a.o" || exit 1
}

check_planted()
{
	sh "$self" "$tree" "$tree/share" "$tree/tkw" "$tree/a.o"
}

# break_in FILE SED-SCRIPT: changes FILE of the planted tree.
break_in()
{
	sed -i "$2" "$tree/$1"
}

# Prints the output of the last all_said() run, and returns its status.
again()
{
	cat "$scratch/once"
	return "$once"
}

# all_said WORD...: runs the gate once. It must fail and say each WORD. Then
# plants a sound tree again.
all_said()
{
	check_planted >"$scratch/once" 2>&1
	once=$?
	for said in "$@"; do
		must_reject "$said" again
	done
	plant
}

# malformed SED-SCRIPT WORD: a header that the generator must reject.
malformed()
{
	plant_header | sed "$1" >"$tree/include/tickwheel/timer.h"
	must_reject "$2" generate awk "$tree/include/tickwheel/timer.h"
}

# lacking DECLARATION [WORD]: a declaration that the page would lack. The generator
# must name it, or say WORD.
lacking()
{
	malformed "s,^#endif,/* Returns b. */\n$1\n\n&," \
		"timer.h:49: the page would lack ${2:-\"${1%;}\"}"
}

self_test_lacking()
{
	for each in 'typedef int tkw_b;' 'typedef struct tkw_a tkw_b;' \
		'typedef int (*tkw_b_fn)(int);' 'typedef int (*tkw_b)(int tkw_c(int));' \
		'extern int tkw_b;' 'extern const struct tkw_a tkw_b[];' \
		'struct tkw_a tkw_b;' 'int (*tkw_b)(void);' 'enum { TKW_B };'; do
		lacking "$each" "\"${each%%[\{;]*}"
	done
	lacking 'static inline int tkw_b(void)\n{\n\treturn 1;\n}' \
		'"static inline int tkw_b(void) {...}"'
	lacking 'static int tkw_b(void);'
	# A body must not hide what is around it.
	lacking 'int tkw_b(void) { return 1; }\nint tkw_c(void);' \
		'"int tkw_b(void) {...}"'
	for each in '/* b */' '// b' '/* b\n * c */'; do
		lacking "int tkw_b(void); $each" 'the comment behind this'
		lacking "typedef int tkw_b(int); $each" 'the comment behind this'
	done
	malformed 's,^/\* A callback.*,&\nstruct tkw_b {\n\tint b;\n};,' \
		'a callback and a type share a comment'
}

# Tests each malformed comment. The generator must name the line.
self_test_generator()
{
	generator=$tree/man/header_to_mdoc.awk
	must_accept 'a sound header' generate awk "$tree/include/tickwheel/timer.h"
	malformed 's/^ \* fn  The/ * gn  The/' 'timer.h:34: "gn" is no parameter'
	malformed 's/^ \* fn  The/ * int  The/' 'timer.h:34: "int" is no parameter'
	malformed '/Returns 0/s/Returns/Return /' \
		'timer.h:37: "Return" is no parameter'
	malformed 's/-EINVAL  a is NULL/-EINVAL/' \
		'timer.h:38: "-EINVAL" has no text'
	malformed '/as listed at the top/d' \
		'timer.h:39: "-ENOMEM, -EPERM" has no text'
	malformed '/Returns the name/d' 'tkw_a_name() has no comment'
	malformed 's/Returns the name/Gets the name/' \
		'nothing is said about what tkw_a_name() returns'
	malformed 's/Returns the name. \*\//&\n/' \
		'nothing is declared below this comment'
	malformed 's/^ \*     called by/ *    called by/' \
		'timer.h:35: indent this line to the text above it'
	malformed 's/^ \* A paragraph/ *  A paragraph/' \
		'timer.h:5: do not indent this line'
	malformed 's/timer\.h - a/a/' 'timer.h:3: the first line of the header'
	malformed '/^\/\* A struct/d; /^struct tkw_a {/i int tkw_b(void);' \
		'tkw_b() has no comment'
	malformed '/^\/\* A struct/a int tkw_b(void);' \
		'a function and a type share a comment'
	self_test_lacking
	plant
	break_in include/tickwheel/timer.h 's/^ \* fn  The/ * gn  The/'
	stage
	all_said 'man: include/tickwheel/timer.h:34: "gn" is no parameter'
}

# shows TEXT...: the page of the planted header must contain each TEXT.
shows()
{
	"$MAN" -M "$tree/share" tkw_a_add 2>/dev/null | sed "s/$struck//g" |
		tr -s ' \n' ' ' >"$scratch/shown"
	for each in "$@"; do
		must_accept "shown: $each" grep -qF -e "$each" "$scratch/shown"
	done
}

self_test_page()
{
	stage
	shows 'tkw_a, tkw_a_add, tkw_a_name - a planted header' \
		"A paragraph, with 'quotes', a \\ and .a dot at the begin" \
		'Tag A tagged paragraph of two lines.' \
		'struct tkw_a { int (*tkw_op)(int); /* its function */ };' \
		'int tkw_a_add(struct tkw_a *a, tkw_a_fn *fn); Adds a function' \
		'fn The function, which is called by tkw_a_name().' \
		'Returns 0, or -EINVAL a is NULL -ENOMEM, -EPERM as listed under' \
		'ERRORS Errors, the same in every call: -EINVAL an argument'
}

self_test_form()
{
	break_in man/tkw.1 '1s/MIT/X/; s/^\.Nd/.Ix/; s/ | -json/ | -xml/'
	break_in man/tickwheel.7 's/Xr tkw_a_add/Xr tkw_b/; s/TKW_MOST/TKW_LEAST/'
	break_in man/examples/tkw_a.c "/quotes/s/-/$(printf '%080d' 0)/"
	break_in include/tickwheel/timer.h 's/tkw_a_name()/tkw_c()/'
	break_in tkw 's/echo.*/&; exit 1/'
	stage
	all_said 'in tkw.1: correct man/tkw.1' 'tkw demo --help: fails' \
		'is too wide in tkw_a.3: correct include/tickwheel/timer.h' \
		'tkw.1: no licence on the first line' \
		'--json: add it to man/tkw.1' '--xml: remove it from man/tkw.1' \
		'man/tickwheel.7: refers to tkw_b.3, which is not a page' \
		'include/tickwheel/timer.h: refers to tkw_c.3, which is not' \
		'TKW_LEAST is in no header: correct man/tickwheel.7'
	stage
	rm "$tree/share/man3/tkw_a_name.3"
	echo '.so man3/none.3' >"$tree/share/man3/tkw_a_add.3"
	all_said 'man tkw_a_name shows no page' 'man tkw_a_add shows no page'
}

# A tkw without SQLite does not tell the options of queues.
self_test_no_sqlite()
{
	break_in man/tkw.1 's/ | -json/& | -queue/'
	# shellcheck disable=SC2016 # the planted tkw expands it
	break_in tkw \
		'1a [ "$1" != queue ] || { echo built without SQLite >\&2; exit 2; }'
	stage
	must_accept 'a tkw without SQLite' check_planted
	plant
}

self_test_programs()
{
	break_in man/examples/tkw_a.c 's/tkw_a_add(NULL, NULL)/tkw_a_add(NULL)/'
	break_in man/tickwheel.7 's/main(/entry(/'
	stage
	all_said 'man/examples/tkw_a*.c, program 1: does not compile' \
		'man/tickwheel.7: there is no program'
	break_in a.c 's/a || fn/1/; s/"a"/"b"/'
	stage
	all_said 'man/examples/tkw_a*.c, program 1: fails when it is run' \
		'man/tickwheel.7, program 1: does not print what it should'
}

# A module with two commands, of which each page must have both.
self_test_module()
{
	mkdir -p "$tree/src/redis" "$tree/docs"
	echo '{ "TKW.PUT", put }, { "tkw.take", take }, { "TKW.APPLY", apply }' \
		>"$tree/src/redis/module.c"
	echo '.Cm TKW.PUT , TKW.TAKE , TKW.APPLY' >"$tree/man/tkw-redis.7"
	echo 'TKW.PUT, tkw.take and so on' >"$tree/docs/redis.md"
	stage
	must_accept 'a module and its pages' check_planted
	sed -i 's/TKW.TAKE/TKW.GIVE/' "$tree/man/tkw-redis.7"
	sed -i 's/, tkw.take//' "$tree/docs/redis.md"
	all_said 'TKW.TAKE: add it to man/tkw-redis.7' \
		'TKW.GIVE: remove it from man/tkw-redis.7' \
		'TKW.TAKE: add it to docs/redis.md'
}

self_test()
{
	make_scratch
	plant
	stage
	must_accept 'sound pages' check_planted
	self_test_page
	self_test_generator
	self_test_form
	self_test_no_sqlite
	self_test_programs
	self_test_module
	self_verdict
}

if ! command -v mandoc >/dev/null; then
	echo 'skipped: no mandoc'
	exit 77
fi
self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	: "${1:?the root of the tree}" "${2:?a build, or a prefix}" \
		"${3:?the program tkw}" "${4:?the static library}"
	check_man "$@"
	;;
esac
