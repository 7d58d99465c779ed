# SPDX-License-Identifier: MIT
# tool_checks.sh - functions that the tests of the command line share.
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

# check WHAT COMMAND...: counts a failure if the command does not succeed.
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

# run COMMAND...: runs the command. Sets $status, and writes its output to the
# files $out and $err.
run()
{
	status=0
	"$@" >"$out" 2>"$err" </dev/null || status=$?
}

ended()
{
	[ "$status" -eq "$1" ]
}

# field NAME [FILE]: prints the value of a key in FILE, by default $out.
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

# unchecked WHAT: says that this machine cannot check WHAT. In CI, this is a
# failure.
unchecked()
{
	if [ "${CI:-}" = true ]; then
		failed=$((failed + 1))
		echo "FAILED  not checked: $1"
	else
		echo "not checked: $1"
	fi
}

# Is the output one flat JSON object, whose values are numbers, strings, true or
# false?
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

# --- wrong calls of the program $TKW ---

# refuses ARG...: the program must refuse the arguments, with one line on stderr
# and exit status 2.
refuses()
{
	run "$TKW" "$@"
	what="tkw $(printf '%s ' "$@" | tr '\n\033' '??')"
	check "${what}: exit status 2" ended 2
	check "${what}: nothing on stdout" is_empty "$out"
	check "${what}: one line on stderr" one_line "$err"
	check "${what}: it begins with tkw:" grep -q '^tkw: ' "$err"
}

# fails_without_stdout ARG...: the program must fail if its standard output is
# on a full disk, or is closed.
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

# Was the program built with a sanitizer? Then it needs more memory than a
# useful limit allows.
sanitized()
{
	grep -q -e __asan_init -e __tsan_init -e __msan_init "$TKW"
}

# --- a terminal ---

# on_terminal COMMAND: runs the command in a terminal of 80 columns and 24 rows.
on_terminal()
{
	status=0
	script -qec "stty cols 80 rows 24; $1" /dev/null >"$out" 2>"$err" \
		</dev/null || status=$?
}

# Prints the output without the commands to the terminal.
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

# fits COLUMNS: Is no line of the text wider than that?
fits()
{
	[ "$(text | grep -c ".\\{$(($1 + 1))\\}")" -eq 0 ]
}

# report_fits LINES: Is there a report, and has it at most LINES lines, counted
# from the title of the last picture? Of 24 rows, one must be left for the
# prompt.
report_fits()
{
	lines=$(text | awk '/ tickwheel demo/ { first = NR }
		/^ (NOT BALANCED|balanced)$/ { last = NR }
		END { print (last > first && first ? last - first + 1 : 999) }')
	[ "$lines" -le "$1" ]
}

# --- signals ---

pid_file=$scratch/pid
export pid_file
args= # the arguments of the program in signalled(); a test sets them

# Has the demo ended? The shell has written its process id to the file before it
# became the demo.
demo_is_gone()
{
	[ -s "$pid_file" ] && ! kill -0 "$(cat "$pid_file")" 2>/dev/null
}

# says_or_is_gone PATTERN: Has the demo printed the pattern, or ended?
says_or_is_gone()
{
	grep -q "$1" "$out" || demo_is_gone
}

# Has the demo started its threads, or ended? It has more than three threads
# then.
has_threads_or_is_gone()
{
	[ -s "$pid_file" ] || return 1
	set -- "/proc/$(cat "$pid_file")/task"/*
	[ $# -gt 3 ] || demo_is_gone
}

# until_true COMMAND...: waits until the command succeeds. It gives up after ten
# minutes or more, so that a demo that hangs is a failure.
until_true()
{
	polls=0
	until "$@"; do
		polls=$((polls + 1))
		[ $polls -lt 6000 ] || return 1
		sleep 0.1
	done
}

# interrupt COMMAND: runs the command in a terminal, and types Ctrl-C when the
# first picture begins. The input stays open until the demo has ended.
interrupt()
{
	rm -f "$pid_file"
	: >"$out"
	# shellcheck disable=SC2094 # it waits for the output
	{
		until_true says_or_is_gone "$esc\\[?25l"
		printf '\003'
		until_true demo_is_gone || kill -9 "$(cat "$pid_file")"
	} | script -qec "$1" /dev/null >"$out" 2>"$err"
	status=$?
}

# signalled SIGNAL COMMAND...: runs the program $TKW with $args, and sends it
# the signal when the command succeeds. The program runs in the foreground,
# because a shell makes background commands ignore SIGINT and SIGQUIT.
signalled()
{
	signal=$1
	shift
	rm -f "$pid_file"
	: >"$out"
	{
		until_true "$@"
		kill -s "$signal" "$(cat "$pid_file")"
	} &
	signaller=$!
	status=0
	# shellcheck disable=SC2016,SC2086 # the inner shell expands it; words
	sh -c 'echo $$ >"$pid_file"
		exec env --default-signal=HUP,INT,QUIT,TERM \
			"$TKW" "$@"' sh $args \
		>"$out" 2>"$err" </dev/null || status=$?
	wait "$signaller"
}

finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}
