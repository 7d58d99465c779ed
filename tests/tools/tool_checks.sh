# SPDX-License-Identifier: MIT
# tool_checks.sh - what the tests of the command line share; they read it.
# shellcheck shell=sh

passed=0
failed=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
out=$scratch/out
err=$scratch/err

unset NO_COLOR
LC_ALL=C
TERM=xterm
export LC_ALL TERM
esc=$(printf '\033')

# check WHAT COMMAND...: does the command succeed?
check()
{
	checked=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "ok      $checked"
	else
		failed=$((failed + 1))
		echo "FAILED  $checked"
		for stream in "$out" "$err"; do
			[ -s "$stream" ] || continue
			echo "        the last lines of $(basename "$stream"):"
			tail -n 5 "$stream" | cut -c 1-400 | sed 's/^/        /'
		done
	fi
}

# run COMMAND...: sets $status, and fills $out and $err.
run()
{
	status=0
	"$@" >"$out" 2>"$err" </dev/null || status=$?
}

ended()
{
	[ "$status" -eq "$1" ]
}

# field NAME [FILE]: the value of a key of the JSON object.
field()
{
	sed -n 's/.*"'"$1"'":"\{0,1\}\([^,"}]*\).*/\1/p' "${2:-$out}"
}

is_empty()
{
	! [ -s "$1" ]
}

one_line()
{
	[ "$(wc -l <"$1")" -eq 1 ] && [ "$(tail -c 1 "$1" | wc -l)" -eq 1 ]
}

# unchecked WHAT: this machine cannot show it. CI's must.
unchecked()
{
	if [ "${CI:-}" = true ]; then
		failed=$((failed + 1))
		echo "FAILED  not checked: $1"
	else
		echo "not checked: $1"
	fi
}

# Flat: each value is a number, a word or a string.
is_json()
{
	pair='"[a-z0-9_]+":("[^"]*"|[0-9]+|true|false)'
	one_line "$out" && grep -q -x -E "\\{($pair,)*$pair\\}" "$out"
}

printable()
{
	[ -z "$(tr -d '\n\040-\176' <"$out" | od -An -c)" ]
}

no_control_bytes()
{
	[ -z "$(tr -d '\n\040-\176\200-\377' <"$out" | od -An -c)" ]
}

# --- a program that is called wrongly; TKW is the program ---

# refuses ARG...: one clear line, exit status 2, nothing done.
refuses()
{
	run "$TKW" "$@"
	what="tkw $(printf '%s ' "$@" | tr '\n\033' '??')"
	check "${what}: exit status 2" ended 2
	check "${what}: nothing on stdout" is_empty "$out"
	check "${what}: one line on stderr" one_line "$err"
	check "${what}: it begins with tkw:" grep -q '^tkw: ' "$err"
}

# fails_without_stdout ARG...: with standard output on a full disk, or closed.
fails_without_stdout()
{
	status=0
	"$TKW" "$@" >/dev/full 2>"$err" || status=$?
	: >"$out"
	check "tkw $*, disk full: exit status 1" ended 1
	check "tkw $*, disk full: one line on stderr" one_line "$err"
	status=0
	"$TKW" "$@" >&- 2>"$err" || status=$?
	check "tkw $*, stdout closed: exit status 1" ended 1
	check "tkw $*, stdout closed: one line on stderr" one_line "$err"
}

# A sanitizer's own memory is more than any limit that would do here.
sanitized()
{
	grep -q -e __asan_init -e __tsan_init -e __msan_init "$TKW"
}

# --- a terminal ---

# on_terminal COMMAND: in a terminal of 80 columns and 24 rows.
on_terminal()
{
	status=0
	script -qec "stty cols 80 rows 24; $1" /dev/null >"$out" 2>"$err" \
		</dev/null || status=$?
}

# What was written, without the commands to the terminal.
text()
{
	sed "s/$esc\\[[?0-9;]*[a-zA-Z]//g" "$out" | tr -d '\r'
}

is_balanced()
{
	text | grep -q -x ' balanced'
}

shows_cursor_last()
{
	tail -c 6 "$out" | grep -q "^$esc\\[?25h\$"
}

picture_lines()
{
	text | sed '/^ ledger/,$d'
}

# The shell writes its process id and becomes the demo.
demo_is_gone()
{
	[ -s "$pid_file" ] && ! kill -0 "$(cat "$pid_file")" 2>/dev/null
}

demo_draws_or_is_gone()
{
	grep -q "$esc\\[?25l" "$out" || demo_is_gone
}

# until_true COMMAND...: or until minutes have passed, so that a demo that went
# wrong ends this test with a failure, and not never.
until_true()
{
	polls=0
	until "$@"; do
		polls=$((polls + 1))
		[ $polls -lt 6000 ] || return 1
		sleep 0.1
	done
}

# Type Ctrl-C as soon as there is a picture; type no end of file after it.
interrupt()
{
	pid_file=$scratch/pid
	export pid_file
	: >"$out"
	# shellcheck disable=SC2094 # it waits for what is written there
	{
		until_true demo_draws_or_is_gone
		printf '\003'
		until_true demo_is_gone || kill -9 "$(cat "$pid_file")"
	} | script -qec "$1" /dev/null >"$out" 2>"$err"
	status=$?
}

finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}
