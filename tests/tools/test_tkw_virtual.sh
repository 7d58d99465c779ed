#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_virtual.sh TKW - tests `tkw demo --virtual`: its ledger, its options,
# and what it writes to a pipe, to a terminal and to a full disk.
# shellcheck disable=SC2317 # check() calls the functions
set -u
TKW=$1
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"

# --- the ledger --------------------------------------------------------------

balances()
{
	[ "$(field balanced)" = true ] &&
		[ "$(field accepted)" -eq "$1" ] &&
		[ "$(field accepted)" -eq \
			$(($(field fired) + $(field cancelled) + $(field pending))) ] &&
		[ "$(field pending)" -eq 0 ]
}

# untimed FILE: prints the JSON without the times, which do not depend on the
# seed.
untimed()
{
	sed 's/"[a-z]*_ns":[0-9]*,//g' "$1"
}

same_ledger()
{
	untimed "$1" >"$scratch/a"
	untimed "$2" >"$scratch/b"
	cmp -s "$scratch/a" "$scratch/b"
}

for engine in hierarchical hashed; do
	for count in 1 2 25 1024 20000; do
		run "$TKW" demo --virtual --json --engine "$engine" --count "$count"
		what="$engine, $count"
		check "$what: exit status 0" ended 0
		check "$what: one JSON object on one line" is_json
		check "$what: nothing on stderr" is_empty "$err"
		check "$what: accepted = fired + cancelled + pending" \
			balances "$count"
	done
	check "$engine: most are cancelled" \
		[ $(($(field cancelled) * 2)) -gt "$(field accepted)" ]
	check "$engine: some are fired" [ "$(field fired)" -gt 0 ]
	check "$engine: some are pushed back" [ "$(field extended)" -gt 0 ]
	check "$engine: it says which" [ "$(field engine)" = "$engine" ]
	cp "$out" "$scratch/$engine"
done
for key in accepted fired cancelled extended digest virtual_ms; do
	check "both engines: the same $key" \
		[ "$(field $key "$scratch/hierarchical")" = \
		"$(field $key "$scratch/hashed")" ]
done

run "$TKW" demo --virtual --json --count 20000
check 'the default is hierarchical, seed 1' \
	same_ledger "$out" "$scratch/hierarchical"
run "$TKW" demo --virtual --json --count=20000 --seed=1 --engine=hierarchical
check '--count=N is --count N, and a seed replays' \
	same_ledger "$out" "$scratch/hierarchical"
run "$TKW" demo --virtual --json --count 20000 --seed 2
check 'another seed: balanced' balances 20000
check 'another seed: another number fired' \
	[ "$(field fired)" -ne "$(field fired "$scratch/hierarchical")" ]
check 'another seed: another digest' \
	[ "$(field digest)" != "$(field digest "$scratch/hierarchical")" ]
run "$TKW" demo --virtual --json --count 1000 --seed 18446744073709551615
check 'the last seed' balances 1000
for slots in 1 600 65536; do
	run "$TKW" demo --virtual --json --count 20000 --engine hashed --slots $slots
	check "$slots slots: balanced" balances 20000
	check "$slots slots: the same digest" \
		[ "$(field digest)" = "$(field digest "$scratch/hashed")" ]
done
run "$TKW" demo --virtual --json --count 1000 --engine hashed --slots 600
check '600 slots are made 1024' [ "$(field slots)" -eq 1024 ]

# --- a pipe ------------------------------------------------------------------

for engine in hierarchical hashed; do
	run "$TKW" demo --virtual --count 20000 --engine $engine
	check "$engine, piped: exit status 0" ended 0
	check "$engine, piped: nothing on stderr" is_empty "$err"
	check "$engine, piped: ASCII, no control bytes" printable
	check "$engine, piped: the hand is in the picture" grep -q '^ *^$' "$out"
	check "$engine, piped: so is a full cell" grep -q '^ |.*@.*|$' "$out"
	check "$engine, piped: 80 columns" fits 80
	check "$engine, piped: the ledger" \
		grep -q '^ ledger   20,000 scheduled' "$out"
	check "$engine, piped: the law" \
		grep -q '^  *= .* fired + .* cancelled + 0 pending$' "$out"
	check "$engine, piped: the virtual time" grep -q 'of virtual time' "$out"
	check "$engine, piped: the seed" grep -q 'seed 1)' "$out"
	check "$engine, piped: the last word" \
		[ "$(tail -n 1 "$out")" = ' balanced' ]
done
for engine in hierarchical hashed; do
	run "$TKW" demo --virtual --count 1100000 --engine $engine
	check "$engine, 1100000, piped: exit status 0" ended 0
	check "$engine, 1100000, piped: 80 columns" fits 80
done
run "$TKW" demo --virtual --count 20 --engine hashed --slots 16777216 \
	--seed 18446744073709551615
check 'many slots, piped: 80 columns' fits 80
if [ "$(LC_ALL=C.UTF-8 locale charmap 2>/dev/null)" = UTF-8 ]; then
	LC_ALL=C.UTF-8 run "$TKW" demo --virtual --count 20000
	check 'UTF-8, piped: no control bytes' no_control_bytes
	check 'UTF-8, piped: the picture has blocks' grep -q '█' "$out"
else
	unchecked 'blocks of UTF-8 (no locale C.UTF-8)'
fi

# --- bad options -------------------------------------------------------------

refuses_value()
{
	refuses demo --virtual "$1" "$2"
	check "$1: is named in the line" grep -q "^tkw: $1: " "$err"
	refuses demo --virtual "$1=$2"
}

for value in 0 -1 +1 '' ' ' abc 5x x5 '5 ' 1e6 1.5 0x10 1,000 100000001 \
	4294967297 18446744073709551616 18446744073709551617 \
	99999999999999999999999999; do
	refuses_value --count "$value"
done
for value in -1 '' abc 1.5 18446744073709551616; do
	refuses_value --seed "$value"
done
for value in '' Hashed hash heap 0; do
	refuses_value --engine "$value"
done
for value in 0 -1 '' abc 16777217 4294967296; do
	refuses demo --virtual --engine hashed --slots "$value"
done
refuses demo --virtual --slots 512
refuses demo --virtual --engine hierarchical --slots 512
refuses demo --virtual --count
refuses demo --virtual --seed
refuses demo --virtual --engine
refuses demo --virtual --slots
refuses demo --virtual --json=yes
refuses demo --virtual --help=yes
refuses demo --virtual --jso
refuses demo --virtual --coun 5
refuses demo --virtual --coun=5
refuses demo --virtual --s 5
refuses demo --virt --json --count 1
refuses demo --virtual --counts 5
refuses demo --virtual -j
refuses demo --virtual -hj
refuses demo --virtual -h=yes
refuses demo --virtual --
refuses demo --virtual -- --json
refuses demo --virtual -
refuses demo --virtual ''
refuses demo --virtual 1000
refuses demo --virtual --json 1000
refuses demo --virtual 1000 --json
refuses demo 1000 --virtual --json
for option in --seconds --threads --pending; do
	refuses demo --virtual $option 1
	check "$option: it says why" grep -q "^tkw: $option: not with --virtual" \
		"$err"
	refuses demo $option=1 --virtual
done
refuses demo --virtual --bad "$(printf 'a\nb%s[31m' "$esc")"
refuses demo --virtual "$(printf -- '--bad\nb%s[31m' "$esc")"
refuses demo --virtual "$(printf 'a\nb%s[31m' "$esc")"
refuses demo --virtual --count "$(printf '1\n2%s[31m' "$esc")"
check 'control bytes of an argument do not reach the terminal' \
	[ -z "$(tr -d '\n\040-\176' <"$err")" ]
refuses demo --virtual --count "$(printf '%01000d' 0)x"

# --- nowhere to write, nothing to work with ----------------------------------

fails_without_stdout demo --virtual --count 1000
fails_without_stdout demo --virtual --count 1000 --json

# shellcheck disable=SC3045 # dash, bash and busybox have ulimit -v
if sanitized; then
	echo 'left out: no memory (a sanitizer cannot live with ulimit -v)'
elif (ulimit -v 200000 && "$TKW" --version) >"$out" 2>"$err"; then
	(ulimit -v 200000 && run "$TKW" demo --virtual --count 100000000
		exit "$status")
	status=$?
	check 'no memory: exit status 1' ended 1
	check 'no memory: nothing on stdout' is_empty "$out"
	check 'no memory: one line on stderr' one_line "$err"
	check 'no memory: it says so' grep -q 'not enough memory' "$err"
else
	unchecked 'no memory (ulimit -v is not to be had)'
fi

# --- a terminal --------------------------------------------------------------

terminal_checks()
{
	# shellcheck disable=SC2016 # the inner shell expands it
	on_terminal 'exec "$TKW" demo --virtual --count 20000'
	check 'terminal: exit status 0' ended 0
	check 'terminal: the cursor is hidden' grep -q "$esc\\[?25l" "$out"
	check 'terminal: pictures are redrawn in place, many times' \
		[ "$(grep -c "$esc\\[[0-9]*A" "$out")" -gt 50 ]
	check 'terminal: colours' grep -q "$esc\\[0;32m" "$out"
	check 'terminal: the progress bar gets to the end' grep -q '100 %' "$out"
	check 'terminal: nothing is wider than 79 columns' fits 79
	check 'terminal: the report fits 24 rows' report_fits 23
	check 'terminal: the ledger balances' is_balanced
	check 'terminal: it ends with the cursor shown' shows_cursor_last

	# shellcheck disable=SC2016
	on_terminal 'stty cols 50 rows 16
		NO_COLOR=1 exec "$TKW" demo --virtual --count 20'
	check '50 columns: exit status 0' ended 0
	check '50 columns: no picture is wider' \
		[ "$(picture_lines | grep -c '.\{50\}')" -eq 0 ]
	check '50 columns: there are pictures' \
		[ "$(picture_lines | grep -c 'ring 0')" -gt 1 ]
	check 'NO_COLOR: no colours' sh -c "! grep -q '$esc\\[0;' '$out'"
	check 'NO_COLOR: it ends with the cursor shown' shows_cursor_last

	# shellcheck disable=SC2016
	on_terminal 'TERM=dumb exec "$TKW" demo --virtual --count 20000'
	check 'TERM=dumb: exit status 0' ended 0
	check 'TERM=dumb: no commands to the terminal' \
		sh -c "! grep -q '$esc' '$out'"
	check 'TERM=dumb: the ledger balances' is_balanced
}

interrupt_checks()
{
	# In a ring of one slot, each tick looks at all entries. That takes
	# hours, but the first picture comes at once.
	# shellcheck disable=SC2016 # the inner shell expands it
	interrupt 'echo $$ >"$pid_file"; exec "$TKW" demo --virtual \
		--count 1000000 --engine hashed --slots 1'
	check 'Ctrl-C: ended by the signal' ended 130
	check 'Ctrl-C: the report says so' \
		grep -q 'The wheel when it was interrupted' "$out"
	check 'Ctrl-C: the ledger balances' is_balanced
	check 'Ctrl-C: the report fits 24 rows' report_fits 23
	check 'Ctrl-C: it ends with the cursor shown' shows_cursor_last
}

signal_checks()
{
	args='demo --virtual --count 1000000 --engine hashed --slots 1'
	signalled INT says_or_is_gone '^ 1/4 '
	check 'SIGINT: ended by the signal' ended 130
	check 'SIGINT: the report says so' grep -q '^ Interrupted\.$' "$out"
	check 'SIGINT: timeouts are pending' \
		grep -q 'cancelled + [1-9][0-9,]* pending$' "$out"
	check 'SIGINT: the last word' [ "$(tail -n 1 "$out")" = ' balanced' ]
	signalled TERM says_or_is_gone '^ 1/4 '
	check 'SIGTERM: ended by the signal' ended 143
	check 'SIGTERM: the last word' [ "$(tail -n 1 "$out")" = ' balanced' ]
}

if command -v script >/dev/null; then
	terminal_checks
	interrupt_checks
else
	unchecked 'a terminal (no script command)'
fi
if env --default-signal=INT true 2>/dev/null; then
	signal_checks
else
	unchecked 'signals (no env --default-signal)'
fi
finish
