#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_completion.sh TKW FILE - tests the completion for bash in FILE: it must
# know the commands and the options that the help has.
# shellcheck disable=SC2317 # check() calls the functions
set -u
TKW=$1
file=$2
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"

if ! command -v bash >/dev/null; then
	unchecked 'the completion: no bash'
	passed=1
	finish
fi

# completions WORD...: prints what the last word can become.
completions()
{
	# shellcheck disable=SC2016 # bash expands it
	bash -c '. "$1"; shift
		COMP_WORDS=(tkw "$@"); COMP_CWORD=$#
		_tkw; printf "%s\n" "${COMPREPLY[@]}"' bash "$file" "$@" | sort -u
}

# options WORDS...: prints the options in the help of a command.
options()
{
	for words; do
		# shellcheck disable=SC2086 # words of a command line
		"$TKW" $words --help
	done | grep -Eo -e '--[a-z][a-z-]*' | sort -u
}

# same COMMAND...: compares the two files.
same()
{
	[ -s "$scratch/a" ] && diff "$scratch/a" "$scratch/b" >"$out"
}

{
	"$TKW" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'
	printf '%s\n' --help --version
} | sort -u >"$scratch/a"
completions '' >"$scratch/b"
check 'the commands are those of the help' same
for name in $("$TKW" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
	case $name in
	help)
		continue
		;;
	demo)
		options demo 'demo --virtual' >"$scratch/a"
		;;
	*)
		"$TKW" "$name" --help >/dev/null 2>&1 || continue
		options "$name" >"$scratch/a"
		;;
	esac
	completions "$name" -- >"$scratch/b"
	check "$name: the options are those of the help" same
done
completions help '' >"$scratch/b"
"$TKW" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p' |
	grep -v help | sort >"$scratch/a"
check 'help: the commands' same
printf '%s\n' success >"$scratch/a"
completions every 1s --until s >"$scratch/b"
check 'the value of an option' same
completions every 1s --until = s >"$scratch/b"
check 'the value behind an equals sign' same
printf '%s\n' failure success >"$scratch/a"
completions every 1s --until = >"$scratch/b"
check 'all values behind an equals sign' same
# In zoneinfo, UTC is a link.
echo UTC >"$scratch/a"
completions cron @daily --zone UTC >"$scratch/b"
check 'a zone that is a link' same
echo Europe/Berlin >"$scratch/a"
completions cron @daily --zone = Europe/Berli >"$scratch/b"
check 'a zone behind an equals sign' same
completions every 1s -- tru | grep -x true >"$scratch/b"
echo true >"$scratch/a"
check 'behind -- is a command' same
finish
