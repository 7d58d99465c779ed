#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_rivals.sh TKW_BENCH - tests the rows of the timer with fake
# entrants. They give right answers, wrong answers, no answer, or nonsense.
# shellcheck disable=SC2016 # the programs expand it
set -u
bench=$1
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"
json=$scratch/lines.json
programs=$scratch/programs
mkdir "$programs" || exit 1

# entrant NAME BODY: writes a program that runs BODY for each request. BODY
# finds the request in $kind and $rest.
entrant()
{
	{
		echo '#!/bin/sh'
		echo 'while read -r kind rest; do'
		echo "$2"
		echo 'done'
	} >"$programs/$1"
	chmod +x "$programs/$1"
}

# answers TEXT: prints a BODY that gives this answer. Write \n between lines.
answers()
{
	printf 'printf "%s\\n"' "$1"
}

# ask [OPTION...] FILTER: runs the benchmark with the fake entrants.
ask()
{
	run "$bench" --rivals "$programs" --runs 3 --json "$json" "$@"
}

# has_line TEXT: Is this a line of the JSON file?
has_line()
{
	grep -qxF "$1" "$json"
}

# counted FILE NUMBER: Was the program that writes FILE asked NUMBER times?
counted()
{
	[ "$(wc -l <"$scratch/$1")" -eq "$2" ]
}

asked_or_ended()
{
	[ -s "$scratch/pid" ] || ! kill -0 "$running" 2>/dev/null
}

program_is_gone()
{
	# If no process collects dead processes, they stay in state Z.
	! grep -q '^State:.[^Z]' "/proc/$(cat "$scratch/pid")/status" 2>/dev/null
}

# fails BODY WHY: the entrant go runs BODY. It must be named as failed, with the
# reason WHY, and have no figures. The others must have theirs.
fails()
{
	entrant go "$1"
	ask --patience 1 timer/pair/2t
	check "$2: exit status 1" ended 1
	check "$2: said once" [ "$(grep -c FAILED "$err")" -eq 1 ]
	check "$2: with the row, the entrant and the reason" \
		grep -Fq "FAILED timer/pair/2t: go: $2" "$err"
	check "$2: in the table" grep -q '^  go  *failed: ' "$out"
	check "$2: it has no figures" [ -z "$(grep '"impl":"go"' "$json")" ]
	check "$2: the others have theirs" [ "$(grep -c '"impl":"stpe"' "$json")" -eq 2 ]
}

# The n-th answer of tickwheel says n times 10 ns. The first answer is the
# warm-up.
entrant tickwheel 'n=$((${n:-0} + 1)); echo "$kind $rest" >>'"$scratch/asked"'
	printf "figure ns %d\nfigure cpu_ns 8.5\ndone\n" $((n * 10))'
entrant stpe "$(answers 'figure ns 75\nfigure cpu_ns 34\ndone')"
ask timer/pair/2t
check 'a good run: exit status 0' ended 0
check 'a good run: a warm-up, and three runs' counted asked 4
check 'a good run: the request' grep -qx \
	'pair threads=2 ops=1500000' "$scratch/asked"
check 'a good run: ours, without the warm-up' has_line "$(
	printf '{"bench":"timer/pair/2t","impl":"tickwheel","unit":"ns/op",'
	printf '"median":30.000,"min":20.000,"max":40.000,"runs":3}'
)"
check 'a good run: the ratios' has_line "$(
	printf '{"bench":"timer/pair/2t","impl":"summary","best_rival":"stpe",'
	printf '"ratio":2.500,"ratio_min":3.750}'
)"
check 'a good run: the other figure' has_line "$(
	printf '{"bench":"timer/pair_cpu/2t","impl":"summary",'
	printf '"best_rival":"stpe","ratio":4.000,"ratio_min":4.000}'
)"
check 'a good run: a table for each figure' [ \
	"$(grep -c '^timer/pair.*ns/op, 3 runs' "$out")" -eq 2 ]
check 'a good run: no seed, there is none' [ -z "$(grep seed "$out")" ]
check 'a good run: the missing are named' \
	grep -q '^tkw_bench: netty_1ms skipped: ' "$err"
check 'a good run: nothing but the origin and figures in JSON' \
	[ "$(wc -l <"$json")" -eq 7 ]

rm "$scratch/asked"
ask --quick --impl tickwheel timer/pair_cpu/4t
check 'one figure: its request is run' grep -qx \
	'pair threads=4 ops=75000' "$scratch/asked"
check 'nobody else: no rival' has_line "$(
	printf '{"bench":"timer/pair_cpu/4t","impl":"summary",'
	printf '"best_rival":null,"ratio":null,"ratio_min":null}'
)"
run "$bench" --rivals "$programs" --list timer/pair_cpu/1t
check '--list: a row for each figure' grep -qx timer/pair/1t "$out"
check '--list: who takes part' grep -qx stpe "$out"
check '--list: and who does not' grep -q '^timerfd   skipped: ' "$out"
run "$bench" --rivals "$programs" --impl libev timer/pair/2t
check 'no entrant of the timer: exit status 2' ended 2

fails "$(answers 'fail 3 fired too early')" '3 fired too early'
fails 'exit 0' 'ended instead of answering'
fails 'kill -9 $$' 'ended instead of answering'
fails 'exec sleep 30' 'no answer within 1 s'
fails "$(answers 'figure ns 1\ndone')" "it gave no figure 'cpu_ns'"
fails "$(answers 'hello')" "its answer makes no sense: 'hello'"
fails "$(answers 'figure ns\ndone')" "its answer makes no sense: 'figure ns'"
fails "$(answers 'figure ns 1x\ndone')" 'its answer makes no sense'
fails "$(answers 'figure ns nan\ndone')" 'its answer makes no sense'
fails 'head -c 2000 /dev/zero' 'its answer is a line without an end'
fails 'yes figure ns 1' 'its answer makes no sense'
fails 'echo fail' 'no reason given'
fails "$(answers 'figure ns 1\nfigure cpu_ns 1\ndone\ndone')" 'it spoke unasked'
# The benchmark reads only the first answer at once. The second one waits in the
# pipe.
fails 'printf "figure ns %0480d\nfigure cpu_ns 1\ndone\ndone\n" 1' \
	'it spoke unasked'

# This program ends after its second answer.
entrant go 'n=$((${n:-0} + 1)); echo "figure ns 1"; echo "figure cpu_ns 1"
	echo done; [ $n -lt 2 ] || exit 0'
ask timer/pair/1t timer/pair/2t
check 'a program that ends: exit status 1' ended 1
check 'a program that ends: said once' [ "$(grep -c FAILED "$err")" -eq 1 ]
check 'a program that ends: left out from then on' [ \
	"$(grep -c '^  go  *failed: ' "$out")" -eq 4 ]

# A program that reports a failure in one row still takes part in the next row.
entrant go 'case $rest in
	*threads=1*) echo fail once ;;
	*) printf "figure ns 1\nfigure cpu_ns 1\ndone\n" ;;
	esac'
ask timer/pair/1t timer/pair/2t
check 'a failure: exit status 1' ended 1
check 'a failure: only in its row' grep -q \
	'"timer/pair/2t","impl":"go"' "$json"

entrant go "$(answers 'skip it has no such thing')"
ask timer/pair/2t
check 'skip: exit status 0' ended 0
check 'skip: the reason' grep -q '^  go  *skipped: it has no such thing' "$out"

# If tickwheel fires early or loses a timeout, the run fails. A rival may do so.
late='figure p10 1\nfigure p25 1\nfigure p50 1\nfigure p75 1\nfigure p90 1'
late="$late"'\nfigure p99 1\nfigure p99_9 1\nfigure max 1'
entrant tickwheel "$(answers "$late"'\nfigure early 0\ndone')"
entrant stpe "$(answers 'figure p50 0.5\n'"$late"'\nfigure early 2\ndone')"
entrant go "$(answers "$late"'\nfigure early 0\ndone')"
ask timer/lateness/1e3/1ms
check 'an early rival: exit status 0' ended 0
check 'lateness: nine figures' [ "$(grep -c '"summary"' "$json")" -eq 9 ]
check 'ours is 0: no ratio' has_line "$(
	printf '{"bench":"timer/lateness_early/1e3/1ms","impl":"summary",'
	printf '"best_rival":"go","ratio":null,"ratio_min":null}'
)"
check 'who is early is no rival' has_line "$(
	printf '{"bench":"timer/lateness_p50/1e3/1ms","impl":"summary",'
	printf '"best_rival":"go","ratio":1.000,"ratio_min":1.000}'
)"
entrant go "$(answers 'figure bytes 20\nfigure after_kb -1\ndone')"
entrant stpe "$(answers 'figure bytes 50\nfigure after_kb 4\ndone')"
entrant tickwheel "$(answers 'figure bytes 40\nfigure after_kb 2\ndone')"
ask timer/memory
check 'a rival that wins: the ratio' has_line "$(
	printf '{"bench":"timer/memory/1e6","impl":"summary",'
	printf '"best_rival":"go","ratio":0.500,"ratio_min":0.500}'
)"
check 'a rival below 0: no ratio' has_line "$(
	printf '{"bench":"timer/memory_after/1e6","impl":"summary",'
	printf '"best_rival":"go","ratio":null,"ratio_min":null}'
)"
entrant tickwheel "$(answers "$late"'\nfigure early 2\ndone')"
ask --runs 1 timer/lateness_p50/1e3/1ms
check 'ours is early: exit status 1' ended 1
check 'ours is early: said' grep -q \
	'FAILED timer/lateness_early/1e3/1ms: tickwheel: 2 instead of 0' "$err"
entrant tickwheel "$(answers 'figure lost 1\nfigure accepted 500\ndone')"
ask --runs 1 --impl tickwheel timer/stop
check 'ours lost one: exit status 1' ended 1
check 'stop: how many were accepted' [ "$(field accepted "$json")" = 500.0 ]

# A number that is printed beside a figure is a median, too.
entrant tickwheel 'n=$((${n:-0} + 1))
	printf "figure lost 0\nfigure accepted %d\ndone\n" $((n * n))'
ask --impl tickwheel timer/stop
check 'stop: the median of those accepted' [ "$(field accepted "$json")" = 4.0 ]

# In these rows all entrants are asked at the same time, first for the warm-up
# and then for the run. Each answer takes a second.
for entrant in tickwheel stpe go timerfd; do
	entrant $entrant "sleep 1; $(answers 'figure wakeups 0\nfigure cpu_ms 0\ndone')"
done
begin=$(date +%s)
run "$bench" --rivals "$programs" --json "$json" timer/idle
check 'idle: exit status 0' ended 0
check 'idle: all at the same time' [ $(($(date +%s) - begin)) -le 5 ]
check 'idle: one run' grep -q '"runs":1' "$json"
ask --impl go timer/idle
check 'idle: as often as was asked for' grep -q '"runs":3' "$json"
ask --runs 2,1 --impl go timer/idle
check '--runs 2,1: the second number is for long rows' \
	grep -q '"runs":1' "$json"
entrant stpe "$(answers 'figure ns 75\nfigure cpu_ns 34\ndone')"
ask --runs 2,1 --impl stpe timer/pair/2t
check '--runs 2,1: the first number is for the others' \
	grep -q '"runs":2' "$json"

# If the benchmark is killed, its programs end too, even one that hangs.
entrant tickwheel 'echo $$ >'"$scratch/pid"'; exec sleep 60'
"$bench" --rivals "$programs" --impl tickwheel timer/pair/1t >"$out" 2>"$err" &
running=$!
until_true asked_or_ended
kill -9 $running
wait $running 2>/dev/null
check 'killed: its program was running' [ -s "$scratch/pid" ]
check 'killed: its program ends too' until_true program_is_gone

finish
