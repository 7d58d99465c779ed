# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# common.sh - functions that the gates share. ctest runs each gate over the tree,
# and once more with --self-test. There the gate must reject planted mistakes,
# because a gate that cannot fail guards nothing.

LC_ALL=C
export LC_ALL

gate=$(basename "$0" .sh)
complaints=0
planted=0
missed=0

complain()
{
	echo "$gate: $*" >&2
	complaints=$((complaints + 1))
}

# verdict WHAT: exits with status 1 if there was a complaint. Otherwise prints
# WHAT, which says what was checked.
verdict()
{
	if [ "$complaints" -gt 0 ]; then
		echo "$gate: $complaints complaints"
		exit 1
	fi
	echo "$gate: $1, no complaints"
}

# declared INCLUDE_DIR [HEADER]: prints the functions that the public headers
# declare, sorted. HEADER is left out.
declared()
{
	for header in "$1"/tickwheel/*.h; do
		[ "$(basename "$header")" = "${2:-}" ] ||
			echo "#include \"tickwheel/$(basename "$header")\""
	done | ${CC:-cc} -std=c11 -E -P -I"$1" - | tr '\n' ' ' |
		sed 's/[;{}]/\n/g' |
		grep -Ev '^ *(typedef|static|extern  *inline)' |
		grep -Eo 'tkw_[A-Za-z0-9_]* *\(' | tr -d ' (' | sort -u
}

make_scratch()
{
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 1' HUP INT TERM
}

# must_reject WORD COMMAND...: counts a mistake of the gate unless the command
# fails and its output contains WORD.
must_reject()
{
	word=$1
	shift
	planted=$((planted + 1))
	if "$@" >"$scratch/log" 2>&1; then
		echo "$gate: accepted a planted mistake: $word" >&2
	elif ! grep -qF -e "$word" "$scratch/log"; then
		echo "$gate: rejected, but without a word on: $word" >&2
		cat "$scratch/log" >&2
	else
		return 0
	fi
	missed=$((missed + 1))
}

# must_accept WHAT COMMAND...: counts a mistake of the gate unless the command
# succeeds. Sound input must pass. This shows that must_reject() saw the planted
# mistakes, and not something else.
must_accept()
{
	what=$1
	shift
	planted=$((planted + 1))
	"$@" >"$scratch/log" 2>&1 && return 0
	echo "$gate: rejected what is sound: $what" >&2
	cat "$scratch/log" >&2
	missed=$((missed + 1))
}

self_verdict()
{
	echo "$gate: self-test, $planted cases, $missed wrong"
	[ "$missed" -eq 0 ] && [ "$planted" -gt 0 ]
}
