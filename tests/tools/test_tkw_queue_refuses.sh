#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_queue_refuses.sh TKW - tests what `tkw queue` refuses: with one line,
# exit status 2, and nothing changed. Also its help, and files that it cannot
# open.
# shellcheck disable=SC2317 # check() calls the functions
set -u
TKW=$1
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"
# shellcheck source-path=SCRIPTDIR source=queue_checks.sh
. "$(dirname "$0")/queue_checks.sh"

# --- help --------------------------------------------------------------------

for words in 'queue --help' 'queue -h' 'help queue' 'queue f put --help'; do
	# shellcheck disable=SC2086 # words of a command line
	run "$TKW" $words
	check "tkw $words: exit status 0" ended 0
	check "tkw $words: says something" [ -s "$out" ]
	check "tkw $words: nothing on stderr" is_empty "$err"
	check "tkw $words: ASCII, 80 columns" \
		[ "$(tr -d '\n\040-\176' <"$out" | wc -c)$(grep -c '.\{81\}' "$out")" \
		= 00 ]
done

# --- bad command lines -------------------------------------------------------

f=$file
key256=$(printf '%0256d' 0)
tab=$(printf 'a\tb')

refuses queue
refuses queue ''
refuses queue '' put x
refuses queue "$f"
refuses queue "$f" ''
refuses queue "$f" nothing
refuses queue "$f" puts x
refuses queue "$f" --bad
refuses queue "$f" plan
refuses queue "$f" plan n
refuses queue "$f" plan n @daily
refuses queue "$f" plan n @daily x more
refuses queue "$f" plan '' @daily x
refuses queue "$f" plan "$key256" @daily x
refuses queue "$f" plan n @daily x --zone Moon/Crater
refuses queue "$f" plan n @daily x --misfire never
refuses queue "$f" plan n @daily x --misfire
refuses queue "$f" plan n @daily x --max-missed 3
refuses queue "$f" plan n @daily x --misfire all --max-missed 101
refuses queue "$f" plan n @daily x --misfire all --max-missed 0
refuses queue "$f" plan n @daily x --grace soon
refuses queue "$f" plan n @daily x --overlap maybe
refuses queue "$f" plan n @daily x --next put
refuses queue "$f" plan n @daily x --max-backoff 5s
refuses queue "$f" plan n @daily x --key k
refuses queue "$f" put x --zone UTC
refuses queue "$f" unplan
refuses queue "$f" unplan ''
refuses queue "$f" unplan "$key256"
refuses queue "$f" plan-pause
refuses queue "$f" plan-resume
refuses queue "$f" plans a b
refuses queue "$f" put
refuses queue "$f" put x --bad
refuses queue "$f" put x -x
refuses queue "$f" put x --delay
refuses queue "$f" put x --delay 5
refuses queue "$f" put x --delay s
refuses queue "$f" put x --delay 5x
refuses queue "$f" put x --delay 5S
refuses queue "$f" put x --delay ' 5s'
refuses queue "$f" put x --delay 5s5s
refuses queue "$f" put x --delay -5s
refuses queue "$f" put x --delay 1.5s
refuses queue "$f" put x --delay 36526d
refuses queue "$f" put x --delay 99999999999999999999s
refuses queue "$f" put x --delay forever
refuses queue "$f" put x --del 5s
refuses queue "$f" put x --delay 5s --at 5
refuses queue "$f" put x --at 0
refuses queue "$f" put x --at tomorrow
refuses queue "$f" put x --at 99999999999999999
refuses queue "$f" put x --key ''
refuses queue "$f" put x --key "$key256"
refuses queue "$f" put x y --key k
refuses queue "$f" put x --replace
refuses queue "$f" put x --keep
refuses queue "$f" put x --key k --keep --replace
refuses queue "$f" put x --keep=yes --key k
refuses queue "$f" put x --attempts 0
refuses queue "$f" put x --attempts -1
refuses queue "$f" put x --attempts 4294967296
refuses queue "$f" put x --backoff 50d
refuses queue "$f" put x --max-backoff 5s
refuses queue "$f" put - -
refuses queue "$f" put x --lease 5s
refuses queue "$f" put x -q ''
refuses queue "$f" put x -q "$key256"
refuses queue "$f" put x -q "$tab"
refuses queue "$f" put x -q "$(printf 'a\377')"
refuses queue "$f" take x
refuses queue "$f" take -n 0
refuses queue "$f" take --lease 0
refuses queue "$f" take --lease 0s
refuses queue "$f" take --wait
refuses queue "$f" take --wait always
refuses queue "$f" take --delay 5s
refuses queue "$f" ack
refuses queue "$f" ack 1
refuses queue "$f" ack 1:
refuses queue "$f" ack :1
refuses queue "$f" ack 0:1
refuses queue "$f" ack 1:1x
refuses queue "$f" ack 1:1 x
refuses queue "$f" ack 1:99999999999999999999
refuses queue "$f" nack
refuses queue "$f" nack 1:1 --reason "$key256"
refuses queue "$f" nack 1:1 --reason ''
refuses queue "$f" extend 1:1 --lease 0
refuses queue "$f" cancel
refuses queue "$f" cancel x
refuses queue "$f" cancel 0
refuses queue "$f" cancel 1 --key k
refuses queue "$f" reschedule 1
refuses queue "$f" reschedule --delay 5s
refuses queue "$f" reschedule 1 2 --delay 5s
refuses queue "$f" get
refuses queue "$f" get 1 2
refuses queue "$f" get 1 --raw --json
refuses queue "$f" list x
refuses queue "$f" list --state gone
refuses queue "$f" dead --state dead
refuses queue "$f" stats x
refuses queue "$f" stats --all -q default
refuses queue "$f" revive
refuses queue "$f" revive --all 1
refuses queue "$f" purge
refuses queue "$f" purge x
refuses queue "$f" pause x
refuses queue "$f" resume --all
refuses queue "$f" limit
refuses queue "$f" limit --max-items x
refuses queue "$f" limit --max-payload 536870913
refuses queue "$f" watch -n 0
refuses queue "$f" watch --wait 1s
refuses queue "$f" work
refuses queue "$f" work --
refuses queue "$f" work -j 0 -- true
refuses queue "$f" work -j 1025 -- true
refuses queue "$f" work --key k -- true
refuses queue "$f" put x "$(printf -- '--a\nb%s[31m' "$esc")"
check 'control bytes do not reach the terminal' \
	[ -z "$(tr -d '\n\040-\176' <"$err")" ]
check 'nothing was made' [ ! -e "$f" ]

# --- with a file that is there -----------------------------------------------

q put x
q stats --json
cp "$out" "$scratch/before"
for words in 'put x --delay 5' 'take -n 0' 'ack 1' 'nack 1:' 'cancel x' \
	'purge x' 'limit --max-items x' 'work -j 0 -- true'; do
	# shellcheck disable=SC2086 # words of a command line
	refuses queue "$f" $words
done
q stats --json
check 'nothing was changed' [ "$(sed 's/,"oldest_age_ms.*"puts"//' "$out")" = \
	"$(sed 's/,"oldest_age_ms.*"puts"//' "$scratch/before")" ]

# --- files -------------------------------------------------------------------

# fails ARG...: the program must fail, with one line on stderr and exit status
# 1.
fails()
{
	run "$TKW" queue "$@"
	check "tkw queue $*: exit status 1" ended 1
	check "tkw queue $*: nothing on stdout" is_empty "$out"
	check "tkw queue $*: one line on stderr" one_line "$err"
}

for command in list dead stats watch resume 'get 1' 'ack 1:1' 'cancel 1' \
	'purge --all'; do
	# shellcheck disable=SC2086 # words of a command line
	fails "$scratch/none" $command
	check "tkw queue, $command: makes no file" [ ! -e "$scratch/none" ]
done
fails "$scratch/no/folder" put x
fails "$scratch" put x
echo 'This is not a file of queues. It is a text.' >"$scratch/text"
cp "$scratch/text" "$scratch/copy"
fails "$scratch/text" put x
check 'another kind of file is left as it is' \
	cmp -s "$scratch/text" "$scratch/copy"

fails_without_stdout queue --help
fails_without_stdout queue "$f" list
finish
