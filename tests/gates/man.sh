#!/bin/sh
# SPDX-License-Identifier: MIT
# man.sh ROOT PLACE LIBRARY TKW | --self-test - the manual pages.
#
#   1. Each function that a public header declares is in the NAME and, word by
#      word, in the SYNOPSIS of exactly one page of section 3. No page names a
#      function, macro, field, error or page that is not there.
#   2. mandoc finds nothing to complain about; each page has its sections, and
#      tkw(1) has the options that tkw tells of.
#   3. What is installed is found by the name of each function. PLACE is a build
#      folder, from which the pages are installed, or where they are.
#   4. The programs of the pages compile with the static LIBRARY, run, and print
#      what their page says.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CMAKE=${CMAKE:-cmake}
MAN=mman # mandoc's own, on Debian
command -v "$MAN" >/dev/null || MAN='man'
struck=$(printf '.\b') # how a terminal is told what is bold

# --- what there is -----------------------------------------------------------

# Prototypes, one a line, with no space that could be left out.
squeeze()
{
	sed 's/[[:space:]][[:space:]]*/ /g; s/ *\([*(),]\) */\1/g; s/^ //; s/ $//'
}

# declared INCLUDE_DIR: "HEADER PROTOTYPE" for each function of each header.
declared()
{
	for header in "$1"/tickwheel/*.h; do
		$CC -std=c11 -E -I"$1" "$header" |
			awk -v own="\"$header\"" '
			/^# [0-9]+ "/ { ours = index($0, own); next }
			ours' | tr '\n' ' ' | sed 's/[;{}]/\n/g' |
			grep -Ev '^ *(typedef|static|extern  *inline)' |
			grep -E '^[^(]*tkw_[A-Za-z0-9_]* *\(' | squeeze |
			sed "s/^/$(basename "$header") /"
	done
}

# name_of: of "WORD PROTOTYPE" lines, "WORD FUNCTION".
name_of()
{
	sed 's/^\([^ ]*\) [^(]*[ *]\(tkw_[A-Za-z0-9_]*\)(.*/\1 \2/'
}

# section NAME FILE: the lines of a section.
section()
{
	awk -v wanted=".Sh $1" '/^\.Sh / { inside = $0 == wanted; next } inside' \
		"$2"
}

# synopsis FILE: "HEADER PROTOTYPE" for each function.
synopsis()
{
	section SYNOPSIS "$1" | awk '
	{ rest = $0; sub(/^[^ ]+ */, "", rest) }
	$1 == ".In" { header = $2; sub(/.*\//, "", header) }
	$1 == ".Ft" { type = rest; gsub(/"/, "", type) }
	$1 == ".Fo" { name = $2; args = "" }
	$1 == ".Fa" { gsub(/"/, "", rest); args = args (args ? "," : "") rest }
	$1 == ".Fc" { print header, type " " name "(" args ")" }
	$1 == ".Fn" {
		name = $2
		sub(/^[^ ]+ */, "", rest)
		gsub(/" +"/, ",", rest)
		gsub(/"/, "", rest)
		print header, type " " name "(" rest ")"
	}' | squeeze
}

# names FILE: the words of NAME.
names()
{
	section NAME "$1" | awk '$1 == ".Nm" { print $2 }'
}

# words: each word of the input, once.
words()
{
	tr -cs 'A-Za-z0-9_' '\n' | sort -u
}

# --- 1: functions, and other words -------------------------------------------

# complain_each TEXT LIST
complain_each()
{
	while read -r each; do
		complain "$1: $each"
	done <"$2"
}

# Leaves in $scratch: declared, synopses, names, functions.
check_functions()
{
	declared "$1/include" | sort >"$scratch/declared"
	[ -s "$scratch/declared" ] || complain "no declarations in $1"
	: >"$scratch/raw_synopses"
	: >"$scratch/raw_names"
	for page in "$1"/man/*.3; do
		own=$(basename "$page" .3)
		synopsis "$page" >"$scratch/own"
		cat "$scratch/own" >>"$scratch/raw_synopses"
		names "$page" >>"$scratch/raw_names"
		sed 's/^[^ ]* //; s/^/. /' "$scratch/own" | name_of |
			sed 's/^. //' | sort >"$scratch/own_functions"
		names "$page" | sort >"$scratch/own_names"
		comm -23 "$scratch/own_functions" "$scratch/own_names" >"$scratch/list"
		complain_each "not in the NAME of $own(3)" "$scratch/list"
		# A struct may be there too, and the name of the page.
		header=$(head -n 1 "$scratch/own")
		comm -13 "$scratch/own_functions" "$scratch/own_names" |
			grep -vxF "$own" | while read -r name; do
			grep -qw "struct $name" "$1/include/tickwheel/${header%% *}" ||
				echo "$name"
		done >"$scratch/list"
		complain_each "in the NAME of $own(3), not in its header" \
			"$scratch/list"
	done
	sort "$scratch/raw_synopses" >"$scratch/synopses"
	sort "$scratch/raw_names" >"$scratch/names"
	name_of <"$scratch/declared" | sed 's/.* //' | sort >"$scratch/functions"
	uniq -d "$scratch/names" >"$scratch/list"
	complain_each 'in the NAME of two pages' "$scratch/list"
	uniq -d "$scratch/synopses" >"$scratch/list"
	complain_each 'in two SYNOPSES' "$scratch/list"
	comm -23 "$scratch/declared" "$scratch/synopses" >"$scratch/list"
	complain_each 'declared, and so in no SYNOPSIS' "$scratch/list"
	comm -13 "$scratch/declared" "$scratch/synopses" >"$scratch/list"
	complain_each 'in a SYNOPSIS, not declared so' "$scratch/list"
}

# macros PATTERN: the first argument of each of these mdoc macros.
macros()
{
	grep -Eo "(^\.|[ .])$1 [A-Za-z_][A-Za-z0-9_]*" | sed 's/.* //' | sort -u
}

# check_words PAGE HEADER...: what a page names is in the headers.
check_words()
{
	page=$1
	shift
	short=$(basename "$page")
	cat "$@" | words >"$scratch/known"
	# Fields and parameters; a line may have several.
	sed -n 's/^\.\(It \)*Fa //p' "$page" | words >"$scratch/used"
	comm -23 "$scratch/used" "$scratch/known" | grep . >"$scratch/list"
	complain_each "named by $short, not in its header" "$scratch/list"
	grep -v '^\.Dt' "$page" | words | grep '^TKW_' |
		comm -23 - "$scratch/all" >"$scratch/list"
	complain_each "named by $short, in no header" "$scratch/list"
	macros '(Fn|Fo)' <"$page" | grep '^tkw_' |
		comm -23 - "$scratch/functions" >"$scratch/list"
	complain_each "named by $short, not a function" "$scratch/list"
}

# pages_of ROOT HEADER: the pages that are about a header, one a line.
pages_of()
{
	for of in "$1"/man/*.3; do
		[ "$(header_of "$of")" != "$2" ] || echo "$of"
	done
}

header_of()
{
	sed -n 's/^\.In tickwheel\///p' "$1" | head -n 1
}

# check_errors ROOT PAGE HEADER: the errors of a page are those of its header,
# and what this page leaves out is in another one about the same header.
check_errors()
{
	grep -Eo -e '-E[A-Z]+' "$1/include/tickwheel/$3" | tr -d - | sort -u \
		>"$scratch/known"
	macros Er <"$2" >"$scratch/used"
	comm -13 "$scratch/known" "$scratch/used" >"$scratch/list"
	complain_each "an error of $(basename "$2"), not of its header" \
		"$scratch/list"
	pages_of "$1" "$3" | xargs cat | macros Er >"$scratch/used"
	comm -23 "$scratch/known" "$scratch/used" >"$scratch/list"
	complain_each "an error that $(basename "$2") leaves out" "$scratch/list"
}

# References to pages of ours, and to names in them.
check_references()
{
	grep -Eoh 'Xr (tkw|tickwheel)[A-Za-z0-9_]* [0-9]' "$1"/man/*.[137] |
		sort -u | while read -r _ name number; do
		[ -f "$1/man/$name.$number" ] ||
			{ [ "$number" = 3 ] && grep -qxF "$name" "$scratch/names"; } ||
			echo "$name($number)"
	done >"$scratch/list"
	complain_each 'a page refers to what is not there' "$scratch/list"
}

check_all_words()
{
	cat "$1"/include/tickwheel/*.h | words >"$scratch/all"
	for page in "$1"/man/*.3; do
		header=$(header_of "$page")
		if [ ! -f "$1/include/tickwheel/${header:-none}" ]; then
			complain "$(basename "$page") has no header of ours"
			continue
		fi
		check_words "$page" "$1/include/tickwheel/$header" \
			"$1/include/tickwheel/timer.h"
		check_errors "$1" "$page" "$header"
	done
	check_words "$1/man/tickwheel.7" "$1"/include/tickwheel/*.h
	check_references "$1"
}

# --- 2: form -----------------------------------------------------------------

# sections_of PAGE: the names of those that it must have, one a line.
sections_of()
{
	printf '%s\n' NAME SYNOPSIS DESCRIPTION EXAMPLES 'SEE ALSO'
	case $1 in
	*.3)
		printf '%s\n' THREADS 'RETURN VALUES' ERRORS
		;;
	*.1)
		echo 'EXIT STATUS'
		;;
	esac
}

check_form()
{
	mandoc -T lint -W warning "$1"/man/*.[137] >"$scratch/list" \
		2>"$scratch/said" || [ -s "$scratch/list" ] ||
		cp "$scratch/said" "$scratch/list"
	complain_each lint "$scratch/list"
	for page in "$1"/man/*.[137]; do
		head -n 1 "$page" | grep -qxF '.\" SPDX-License-Identifier: MIT' ||
			complain "no licence on the first line: $(basename "$page")"
		sections_of "$page" >"$scratch/sections"
		while read -r name; do
			section "$name" "$page" | grep -q . ||
				complain "$(basename "$page") has no section $name"
		done <"$scratch/sections"
	done
}

# The options that the command tells of, and those of its page.
check_options()
{
	for of in '' demo 'demo --virtual'; do
		# shellcheck disable=SC2086 # words of a command line
		"$2" $of --help || complain "failed: tkw $of --help"
	done >"$scratch/help"
	grep -Eo -e '--[a-z]+' "$scratch/help" | sort -u >"$scratch/told"
	grep -Eo '(Fl|\|) -[a-z]+' "$1/man/tkw.1" | sed 's/.* -/--/' |
		sort -u >"$scratch/shown"
	comm -23 "$scratch/told" "$scratch/shown" >"$scratch/list"
	complain_each 'an option that tkw(1) leaves out' "$scratch/list"
	comm -13 "$scratch/told" "$scratch/shown" >"$scratch/list"
	complain_each 'an option of tkw(1) that tkw does not tell of' \
		"$scratch/list"
}

# --- 3: what is installed ----------------------------------------------------

check_installed()
{
	place=$2
	if [ -f "$place/CMakeCache.txt" ]; then
		place=$scratch/stage
		DESTDIR=$place "$CMAKE" --install "$2" --component man \
			>"$scratch/said" 2>&1 || {
			cat "$scratch/said" >&2
			complain 'the pages cannot be installed'
		}
	fi
	man=$(find "$place" -type d -name man3 | sed 's,/man3$,,')
	for page in "$1"/man/*.[137]; do
		name=$(basename "$page")
		cmp -s "$page" "$man/man${name##*.}/$name" ||
			complain "not installed as it is: $name"
	done
	while read -r name; do
		"$MAN" -M "$man" -w "$name" >"$scratch/where" 2>/dev/null ||
			complain "man does not find $name"
		"$MAN" -M "$man" "$name" 2>/dev/null | sed "s/$struck//g" |
			words | grep -qxF "$name" ||
			complain "man shows no page with $name"
	done <"$scratch/names"
}

# --- 4: programs -------------------------------------------------------------

# blocks FILE PREFIX: each program of a page to PREFIX-N.c, and the literal block
# behind it, which is what it prints, to PREFIX-N.txt.
blocks()
{
	awk -v prefix="$2" '
	/^\.Bd -literal/ { inside = 1; text = ""; next }
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
		gsub(/\\e/, "\\")
		sub(/^\\&/, "")
		text = text $0 "\n"
	}' "$1"
}

# run_program FILE PAGE
run_program()
{
	if ! $CC -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
		-Wstrict-prototypes -Wmissing-prototypes -Werror -pthread \
		-I"$root/include" "$1.c" "$library" -o "$1"; then
		complain "a program of $2 does not compile"
		return
	fi
	timeout 60 "$1" >"$1.out" || complain "a program of $2 failed"
	[ -f "$1.txt" ] || : >"$1.txt"
	diff "$1.out" "$1.txt" >&2 || complain "a program of $2 prints other things"
}

check_programs()
{
	root=$1
	library=$2
	programs=0
	for page in "$1"/man/*.[37]; do
		name=$(basename "$page")
		blocks "$page" "$scratch/$name"
		[ -f "$scratch/$name-1.c" ] || complain "$name has no program"
		for program in "$scratch/$name"-*.c; do
			[ -f "$program" ] || continue
			programs=$((programs + 1))
			run_program "${program%.c}" "$name"
		done
	done
}

check_man()
{
	make_scratch
	check_functions "$1"
	check_all_words "$1"
	check_form "$1"
	check_options "$1" "$4"
	check_installed "$1" "$2"
	check_programs "$1" "$3"
	verdict "$(wc -l <"$scratch/functions") functions, $programs programs"
}

# --- self-test ---------------------------------------------------------------

plant_page()
{
	cat <<-'END'
	.\" SPDX-License-Identifier: MIT
	.Dd November 15, 2026
	.Dt TKW_A 3
	.Os tickwheel
	.Sh NAME
	.Nm tkw_a ,
	.Nm tkw_a_add ,
	.Nm tkw_a_name
	.Nd a page
	.Sh SYNOPSIS
	.In tickwheel/timer.h
	.Ft int
	.Fo tkw_a_add
	.Fa "struct tkw_a *a"
	.Fa "tkw_a_fn *fn"
	.Fc
	.Ft "const char *"
	.Fn tkw_a_name "void"
	.Sh DESCRIPTION
	.Fn tkw_a_add
	adds
	.Fa fn ,
	at most
	.Dv TKW_MOST .
	.Sh THREADS
	Any.
	.Sh RETURN VALUES
	0.
	.Sh EXAMPLES
	.Bd -literal
	#include <stdio.h>
	#include <tickwheel/timer.h>

	int main(void)
	{
		printf("%s\en", tkw_a_name());
		return tkw_a_add(NULL, NULL);
	}
	.Ed
	.Bd -literal
	a
	.Ed
	.Sh ERRORS
	.Bl -tag -width Er
	.It Bq Er EINVAL
	.Dv NULL .
	.El
	.Sh SEE ALSO
	.Xr tkw 1
	END
}

# A library of two functions, its pages, as they are installed, and a command.
plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/include/tickwheel" "$tree/man" "$tree/share/man1" \
		"$tree/share/man3" "$tree/share/man7"
	cat >"$tree/include/tickwheel/timer.h" <<-'END'
	#include <stddef.h>
	#define TKW_MOST 1
	struct tkw_a { int (*tkw_op)(int); };
	typedef int tkw_a_fn(int (*tkw_arg)(int));
	/* Return  0; -EINVAL: NULL. */
	int tkw_a_add(struct tkw_a *a,
		      tkw_a_fn *fn);
	const char *tkw_a_name(void);
	END
	cat >"$tree/a.c" <<-'END'
	#include <tickwheel/timer.h>
	int tkw_a_add(struct tkw_a *a, tkw_a_fn *fn) { return a || fn; }
	const char *tkw_a_name(void) { return "a"; }
	END
	plant_page >"$tree/man/tkw_a.3"
	plant_page | sed 's/TKW_A 3/TICKWHEEL 7/; s/Xr tkw 1/Xr tkw_a_add 3/
		/RETURN VALUES/,/^0/d; /ERRORS/,/^\.El/d' >"$tree/man/tickwheel.7"
	plant_page | sed 's/TKW_A 3/TKW 1/; s/Xr tkw 1/Xr tickwheel 7/
		/THREADS/,/^0/d; /ERRORS/,/^\.El/d
		s/^\.Sh EXAMPLES/.Sh EXIT STATUS\n.Fl -help | -json\n&/' \
		>"$tree/man/tkw.1"
	printf '#!/bin/sh\necho "  --help, --json"\n' >"$tree/tkw"
	chmod +x "$tree/tkw"
}

# What is installed, and the library.
stage()
{
	for page in "$tree"/man/*.[137]; do
		cp "$page" "$tree/share/man${page##*.}"
	done
	for name in tkw_a_add tkw_a_name tkw_b; do
		echo '.so man3/tkw_a.3' >"$tree/share/man3/$name.3"
	done
	$CC -I"$tree/include" -c "$tree/a.c" -o "$tree/a.o" || exit 1
}

check_planted()
{
	sh "$self" "$tree" "$tree/share" "$tree/a.o" "$tree/tkw"
}

# break_in FILE SED-SCRIPT
break_in()
{
	sed -i "$2" "$tree/$1"
}

again()
{
	cat "$scratch/once"
	return "$once"
}

# all_said WORD...: of what is planted each is complained about, in one run.
all_said()
{
	check_planted >"$scratch/once" 2>&1
	once=$?
	for said in "$@"; do
		must_reject "$said" again
	done
	plant
}

self_test_functions()
{
	break_in include/tickwheel/timer.h 's/^const/int tkw_b(void);\n&/'
	break_in man/tkw_a.3 's/^\.Ft int/.Ft long/'
	break_in man/tkw_a.3 '/^\.Nm tkw_a_add/d'
	stage
	all_said 'declared, and so in no SYNOPSIS: timer.h int tkw_b(void)' \
		'declared, and so in no SYNOPSIS: timer.h int tkw_a_add(' \
		'in a SYNOPSIS, not declared so: timer.h long tkw_a_add(' \
		'not in the NAME of tkw_a(3): tkw_a_add'
	break_in man/tkw_a.3 '/^\.Sh DESC/i .Ft int\n.Fn tkw_b void'
	break_in man/tkw_a.3 's/struct tkw_a \*a/const &/'
	break_in man/tkw_a.3 's/^\.Nm tkw_a_add ,/&\n.Nm tkw_c ,/'
	break_in man/tickwheel.7 's/^adds/.Fn tkw_b\nadds/'
	stage
	all_said 'in a SYNOPSIS, not declared so: timer.h int tkw_b(void)' \
		'in no SYNOPSIS: timer.h int tkw_a_add(struct tkw_a*a,' \
		'in the NAME of tkw_a(3), not in its header: tkw_c' \
		'named by tickwheel.7, not a function: tkw_b'
	cp "$tree/man/tkw_a.3" "$tree/man/tkw_z.3"
	stage
	all_said 'in the NAME of two pages: tkw_a_add' \
		'in two SYNOPSES: timer.h int tkw_a_add('
}

self_test_words()
{
	break_in man/tkw_a.3 's/TKW_MOST/TKW_LEAST/'
	break_in man/tkw_a.3 's/^\.Fa fn/.Fa gn/'
	break_in man/tkw_a.3 's/Er EINVAL/Er EBUSY/'
	break_in man/tickwheel.7 's/Xr tkw_a_add/Xr tkw_b/'
	stage
	all_said 'named by tkw_a.3, in no header: TKW_LEAST' \
		'named by tkw_a.3, not in its header: gn' \
		'an error of tkw_a.3, not of its header: EBUSY' \
		'an error that tkw_a.3 leaves out: EINVAL' \
		'a page refers to what is not there: tkw_b(3)'
	break_in man/tkw_a.3 's/tickwheel.timer/stdio/'
	stage
	all_said 'tkw_a.3 has no header of ours'
}

# Two pages about one header: an error of it may be in either.
self_test_two_pages()
{
	plant_page | sed 's/TKW_A 3/TKW_N 3/; s/^\.Nm tkw_a ,/.Nm tkw_n ,/
		/^\.Nm tkw_a_add/d; /^\.Ft int/,/^\.Fc/d; /^\.Bl/,/^\.El/d
		s/^\.Sh ERRORS/&\nNone./' >"$tree/man/tkw_n.3"
	break_in man/tkw_a.3 's/^\(\.Nm tkw_a_add\) ,/\1/
		/^\.Nm tkw_a_name/d; /^\.Ft "const/,/^\.Fn tkw_a_name/d'
	stage
	must_accept 'an error that the other page has' check_planted
	break_in man/tkw_a.3 's/^\.It Bq Er EINVAL/.It EINVAL/'
	stage
	all_said 'an error that tkw_n.3 leaves out: EINVAL' \
		'an error that tkw_a.3 leaves out: EINVAL'
}

self_test_form()
{
	break_in man/tkw_a.3 's/^\.It Bq/.Ix Bq/'
	break_in man/tkw_a.3 's/THREADS/OTHERS/'
	break_in man/tkw.1 '1s/MIT/X/'
	break_in man/tkw.1 's/ | -json/ | -xml/'
	break_in tkw 's/echo.*/&; exit 1/'
	stage
	all_said 'lint: ' 'failed: tkw demo --help' 'tkw_a.3 has no section THREADS' \
		'no licence on the first line: tkw.1' 'leaves out: --json' \
		'does not tell of: --xml'
	stage
	rm "$tree/share/man3/tkw_a_name.3"
	echo '.so man3/none.3' >"$tree/share/man3/tkw_a_add.3"
	: >"$tree/share/man7/tickwheel.7"
	all_said 'man does not find tkw_a_name' \
		'man shows no page with tkw_a_add' \
		'not installed as it is: tickwheel.7'
}

self_test_programs()
{
	break_in man/tkw_a.3 's/tkw_a_add(NULL, NULL)/tkw_a_add(NULL)/'
	break_in man/tickwheel.7 's/main(/entry(/'
	stage
	all_said 'a program of tkw_a.3 does not compile' \
		'tickwheel.7 has no program'
	break_in a.c 's/a || fn/1/; s/"a"/"b"/'
	stage
	all_said 'a program of tkw_a.3 failed' \
		'a program of tkw_a.3 prints other things'
	break_in man/tickwheel.7 '/^\.Bd -literal/,/^\.Ed/{/^a$/d}'
	stage
	all_said 'a program of tickwheel.7 prints other things'
}

self_test()
{
	make_scratch
	plant
	stage
	must_accept 'sound pages' check_planted
	plant
	self_test_functions
	self_test_words
	self_test_two_pages
	self_test_form
	self_test_programs
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
	check_man "${1:?the root of the tree}" "${2:?a build, or a prefix}" \
		"${3:?the static library}" "${4:?the program tkw}"
	;;
esac
