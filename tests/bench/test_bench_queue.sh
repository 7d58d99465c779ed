#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_queue.sh TKW_BENCH TKW_BENCH_QUEUE NAME... - tests the rows of the
# queue. First it sends a small request of every kind to the program of each
# entrant. The program must answer "done" with all figures of that kind, or
# "skip" where the entrant has nothing of the kind, and must leave nothing
# behind. Then it tests the ratios of pairs with fake entrants. The test judges
# only one figure: with tickwheel no item may be early.
# shellcheck disable=SC2016 # the programs expand it
set -u
bench=$1
program=$2
shift 2
# shellcheck source-path=SCRIPTDIR source=../tools/tool_checks.sh
. "$(dirname "$0")/../tools/tool_checks.sh"
json=$scratch/lines.json
programs=$scratch/programs
TKW_BENCH_DIR=$scratch/files
export TKW_BENCH_DIR
mkdir "$programs" "$TKW_BENCH_DIR" || exit 1

# Prints requests, each with the figures that its answer must have.
kinds()
{
	cat <<-'END'
	put threads=2 ms=20 : us per_s
	put threads=3 flight=4 ms=20 : us per_s
	cycle threads=2 ms=20 : us per_s
	batch n=8 ms=20 : put_us take_us ack_us
	lateness rate=1000 n=500 ms=100 threads=2 : p50 p99 max early sync_p99
	memory n=2000 : ram disk
	open n=2000 rounds=2 : cold_ms warm_ms
	churn ops=3000 n=1500 : max_mib end_mib of_limit
	END
}

# block N: writes the answer to the N-th request to $scratch/answer.
block()
{
	awk -v n="$1" '
	BEGIN { i = 1 }
	i == n { print }
	/^(done|skip|fail)/ { i++ }
	' "$scratch/answers" >"$scratch/answer"
}

# Does the answer have these figures? Or, if the entrant has nothing of the kind,
# does it say so?
has_figures()
{
	case $entrant,$request in
	floor*,lateness* | floor*,memory* | floor*,open* | floor*,churn* | \
		*_ram,open* | *_ram,churn* | *_ram,*flight* | sqlite*,*flight*)
		grep -q '^skip ..*' "$scratch/answer"
		return
		;;
	esac
	[ "$(tail -n 1 "$scratch/answer")" = "done" ] || return 1
	for figure in $1; do
		grep -qE "^figure $figure -?[0-9.]+\$" "$scratch/answer" || return 1
	done
}

none_early()
{
	grep -qE '^figure early 0(\.0+)?$' "$scratch/answer"
}

# A program that was killed has left this folder.
mkdir "$TKW_BENCH_DIR/bench_queue.999999999.abcdef"
: >"$TKW_BENCH_DIR/bench_queue.999999999.abcdef/file"

kinds >"$scratch/kinds"
for entrant in "$@"; do
	{
		sed 's/ :.*//' "$scratch/kinds"
		echo 'juggle n=3'
		echo 'batch n=5000'
	} | timeout 300 "$program" "$entrant" >"$scratch/answers" 2>"$err"
	check "$entrant: ends at the end of its input" [ $? -eq 0 ]
	if grep -q -x -e 'skip no beanstalkd' -e 'skip no SQLite' \
		"$scratch/answers"; then
		unchecked "$entrant: $(sed -n 's/^skip //p;q' "$scratch/answers")"
		continue
	fi
	n=0
	while IFS=: read -r request figures; do
		n=$((n + 1))
		block $n
		check "$entrant: $request" has_figures "$figures"
		case $entrant,$request in
		tickwheel,lateness*)
			check "$entrant: none is early" none_early
			;;
		tickwheel,churn*)
			check "$entrant: time and amplification of churn" \
				has_figures 'us amp'
			;;
		*,churn*)
			check "$entrant: no time without syncs" \
				[ "$(grep -c '^figure us ' "$scratch/answer")" -eq 0 ]
			;;
		tickwheel,put* | floor*,put* | tickwheel,cycle* | floor*,cycle*)
			check "$entrant: its syncs" \
				has_figures 'per_sync sync_us'
			;;
		tickwheel,batch* | sqlite*,batch* | floor*,batch*)
			check "$entrant: amplification" \
				has_figures 'put_amp ack_amp amp'
			;;
		esac
	done <"$scratch/kinds"
	block $((n + 1))
	check "$entrant: an unknown kind" grep -q '^fail ' "$scratch/answer"
	block $((n + 2))
	check "$entrant: too large a batch" grep -q '^fail ' "$scratch/answer"
	check "$entrant: leaves nothing behind" [ -z "$(ls "$TKW_BENCH_DIR")" ]
done

# fake NAME US...: writes a program whose answers have these times in turn.
fake()
{
	name=$1
	shift
	{
		echo '#!/bin/sh'
		echo "set -- $*"
		echo 'while read -r request; do'
		echo 'echo "figure us $1"; echo figure per_sync 7; echo done; shift'
		echo 'done'
	} >"$programs/$name"
	chmod +x "$programs/$name"
}

# has_line TEXT: Is this a line of the JSON file? How busy the machine is does
# not matter.
has_line()
{
	sed 's/,"busy_cpus":[0-9.]*//' "$json" | grep -qxF "$1"
}

fake tickwheel 10 20 30
fake beanstalkd 50 60 300
fake floor 1 1 1
run "$bench" --rivals "$programs" --runs 3 --json "$json" queue/put/1c
check 'pairs: exit status 0' ended 0
check 'pairs: ours has none' has_line "$(
	printf '{"bench":"queue/put/1c","impl":"tickwheel","unit":"us/op",'
	printf '"median":20.000,"min":10.000,"max":30.000,"runs":3,"per_sync":7.0}'
)"
check 'pairs: the median and the quartiles' has_line "$(
	printf '{"bench":"queue/put/1c","impl":"beanstalkd","unit":"us/op",'
	printf '"median":60.000,"min":50.000,"max":300.000,"runs":3,'
	printf '"per_sync":7.0,"pairs":3,"pair_ratio":5.000,"pair_low":4.000,'
	printf '"pair_high":7.500}'
)"
check 'pairs: the summary; a floor is no rival' has_line "$(
	printf '{"bench":"queue/put/1c","impl":"summary",'
	printf '"best_rival":"beanstalkd","ratio":3.000,"ratio_min":5.000,'
	printf '"pairs":3,"pair_ratio":5.000,"pair_low":4.000,'
	printf '"pair_high":7.500}'
)"
check 'pairs: the table' grep -q '^  beanstalkd  .* 5\.00 .* 4\.00 .* 7\.50 ' \
	"$out"
check 'pairs: how busy the machine is' \
	grep -Eq '"summary".*,"busy_cpus":[0-9]+\.[0-9]+}$' "$json"
check 'pairs: the missing are named' \
	grep -q '^tkw_bench: sqlite_polled skipped: ' "$err"
check 'pairs: nobody else is named' [ -z "$(grep netty "$err")" ]
run "$bench" --compare "$json" "$json"
check 'pairs: the file can be compared' ended 0

run "$bench" --rivals "$programs" --list queue/
check '--list: exit status 0' ended 0
for row in put/64c_16 cycle/8c put_batch/32 ack_batch/512 amplification/32 \
	lateness_p99/1e4 memory/1e6 disk/1e6 open/1e7 churn_max/10M; do
	check "--list: queue/$row" grep -qx "queue/$row" "$out"
done
run "$bench" --rivals "$programs" --list --quick
check '--list: tickwheel is there once for all processes' \
	[ "$(grep -c '^tickwheel$' "$out")" -eq 2 ]

finish
