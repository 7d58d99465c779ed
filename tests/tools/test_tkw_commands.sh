#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_commands.sh TKW - tests the help and the version of `tkw`, how it
# finds a command, and what it refuses. Other tests test what a command does.
# shellcheck disable=SC2317 # check() calls the functions
set -u
TKW=$1
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"

# --- help --------------------------------------------------------------------

for words in --help -h help 'demo --help' 'demo -h' 'help demo' \
	'demo --json --help' 'demo --virtual --help' 'demo --json --virtual -h' \
	--version; do
	# shellcheck disable=SC2086 # words of a command line
	run "$TKW" $words
	check "tkw $words: exit status 0" ended 0
	check "tkw $words: says something" [ -s "$out" ]
	check "tkw $words: nothing on stderr" is_empty "$err"
	check "tkw $words: ASCII, 80 columns" \
		[ "$(tr -d '\n\040-\176' <"$out" | wc -c)$(grep -c '.\{81\}' "$out")" \
		= 00 ]
done
check '--version: one line' grep -q -x 'tkw [0-9]*\.[0-9]*\.[0-9]*' "$out"

# same_help WORDS WORDS: Do both command lines print the same?
same_help()
{
	# shellcheck disable=SC2086 # words of a command line
	"$TKW" $1 >"$scratch/a" && "$TKW" $2 >"$scratch/b" &&
		cmp -s "$scratch/a" "$scratch/b"
}

check 'tkw help: as tkw --help' same_help help --help
check 'tkw help demo: as tkw demo --help' same_help 'help demo' 'demo --help'
run "$TKW" help
check 'tkw help: names the commands' \
	[ "$(grep -c -e '^  demo  ' -e '^  queue  ' "$out")" -eq 2 ]

# Without SQLite there are no queues.
run "$TKW" queue --help
if [ "$status" -eq 0 ]; then
	check 'tkw queue --help: 80 columns' [ "$(grep -c '.\{81\}' "$out")" -eq 0 ]
	check 'tkw help queue: as tkw queue --help' \
		same_help 'help queue' 'queue --help'
else
	refuses queue "$scratch/file" put x
	check 'tkw queue: says why there are no queues' \
		grep -q '^tkw: tkw was built without SQLite' "$err"
fi

# --- what is refused ---------------------------------------------------------

refuses
refuses ''
refuses dem
refuses --bad
refuses --version 1
refuses help nothing
refuses help demo 1
refuses demos
refuses --demo
refuses -
refuses --
refuses -x
refuses -hx
refuses --hel
refuses --help=yes
refuses --versio
refuses help ''
refuses help --help
refuses --help demo 1
refuses nothing
check 'an unknown command: it says so' \
	grep -q "^tkw: unknown command 'nothing'" "$err"
refuses --nothing
check 'an unknown option: it says so' \
	grep -q "^tkw: unknown option '--nothing'" "$err"
refuses "$(printf 'a\nb%s[31m' "$esc")"
check 'control bytes of a command do not reach the terminal' \
	[ -z "$(tr -d '\n\040-\176' <"$err")" ]

# --- nowhere to write --------------------------------------------------------

fails_without_stdout --help
fails_without_stdout --version
finish
