#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_redis.sh TKW_BENCH TKW_BENCH_REDIS NAME... - tests the rows of the
# queue in Redis. First it sends a small request of every kind to the program of
# each entrant. The program must answer "done" with all figures of that kind, or
# "skip" where the entrant has nothing of the kind, and must leave nothing
# behind: no file, and no server. Then it tests the rows with fake entrants. The
# test judges only one figure: with tickwheel no item may be early.
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
	put n=300 each=1 : us server_us
	put n=300 each=16 : us server_us
	put n=300 each=100 call=1 : us server_us
	take n=300 each=1 : us server_us
	take n=300 each=1 way=1 : us server_us
	take n=300 each=16 way=2 : us server_us
	take n=300 each=100 : us server_us
	cycle n=100 : us server_us
	hold n=2000 : memory resident after disk save_ms restart_ms
	tiny n=0 count=20 : bytes whole
	tiny n=10 count=20 : bytes whole
	lateness rate=1000 n=500 ms=200 each=100 : p50 p99 max early cpu_us
	lateness rate=9000 n=500 ms=200 each=100 : p50 p99 max early cpu_us
	herd n=3000 each=100 : p50 p99 max before drain_ms pings
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
	lua_loop,*call=1* | lua_loop,take*each=100*) ;;
	lua_loop,* | set,tiny* | set,lateness* | set,herd* | bullmq,*way=1* | \
		bullmq,*rate=9000*)
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

# Is there no server whose folder is in ours?
no_server_left()
{
	for process in /proc/[0-9]*; do
		case $(readlink "$process/cwd" 2>/dev/null) in
		"$TKW_BENCH_DIR"/*)
			return 1
			;;
		esac
	done
}

# A program that was killed has left this folder.
mkdir "$TKW_BENCH_DIR/bench_queue.999999999.abcdef"
: >"$TKW_BENCH_DIR/bench_queue.999999999.abcdef/file"

kinds >"$scratch/kinds"
for entrant in "$@"; do
	{
		sed 's/ :.*//' "$scratch/kinds"
		echo 'juggle n=3'
		echo 'take n=0'
		echo 'put each=5000'
	} | timeout 300 "$program" "$entrant" >"$scratch/answers" 2>"$err"
	check "$entrant: ends at the end of its input" [ $? -eq 0 ]
	if grep -q -e '^skip no node' -e '^skip no BullMQ' "$scratch/answers"; then
		# It comes from a network, so it may be missing even in CI.
		echo "not checked: $entrant: $(sed -n 's/^skip //p;q' "$scratch/answers")"
		continue
	fi
	if grep -q -e '^skip no redis-server' -e '^skip the module' \
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
		esac
	done <"$scratch/kinds"
	for wrong in 'an unknown kind' 'no items' 'too large a batch'; do
		n=$((n + 1))
		block $n
		check "$entrant: $wrong" grep -q '^fail ' "$scratch/answer"
	done
	check "$entrant: leaves no file" [ -z "$(ls "$TKW_BENCH_DIR")" ]
	check "$entrant: leaves no server" no_server_left
done

run env TKW_BENCH_SERVER=/nonexistent sh -c 'echo put | "$1" set' sh "$program"
check 'no server: says so' grep -qx 'skip no redis-server' "$out"

# A server that ends with its program, even if that is killed.
mkfifo "$scratch/requests"
"$program" set <"$scratch/requests" >"$scratch/answers" 2>"$err" &
victim=$!
exec 3>"$scratch/requests"
echo 'hold n=100000000' >&3
has_server()
{
	! no_server_left
}
until_true has_server
kill -9 "$victim"
wait "$victim" 2>/dev/null
exec 3>&-
check 'killed: its server ends too' until_true no_server_left
run sh -c 'echo juggle | "$1" set' sh "$program"
check 'killed: the next program removes its folder' \
	[ -z "$(ls "$TKW_BENCH_DIR")" ]

# fake NAME US...: writes a program whose answers have these times in turn.
fake()
{
	name=$1
	shift
	{
		echo '#!/bin/sh'
		echo "set -- $*"
		echo 'while read -r request; do'
		echo 'echo "figure us $1"; echo figure server_us 1; echo done; shift'
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

# The first answer of each is the warm-up.
fake tickwheel 99 10 20 30
fake lua 99 50 60 300
fake set 99 1 1 1
run "$bench" --rivals "$programs" --runs 3 --json "$json" redis/put/16
check 'pairs: exit status 0' ended 0
check 'pairs: the median and the quartiles' has_line "$(
	printf '{"bench":"redis/put/16","impl":"lua","unit":"us/op",'
	printf '"median":60.000,"min":50.000,"max":300.000,"runs":3,'
	printf '"pairs":3,"pair_ratio":5.000,"pair_low":4.000,"pair_high":7.500}'
)"
check 'pairs: the summary; set is a floor and no rival' has_line "$(
	printf '{"bench":"redis/put/16","impl":"summary",'
	printf '"best_rival":"lua","ratio":3.000,"ratio_min":5.000,'
	printf '"pairs":3,"pair_ratio":5.000,"pair_low":4.000,'
	printf '"pair_high":7.500}'
)"
check 'pairs: the missing are named' \
	grep -q '^tkw_bench: bullmq skipped: ' "$err"
check 'pairs: nobody else is named' \
	[ -z "$(grep -e netty -e beanstalkd "$err")" ]

run "$bench" --rivals "$programs" --list redis/
check '--list: exit status 0' ended 0
for row in put/1 put/100 put_cpu/16 mput/100 take/1 take/1_apart \
	take/1_of_16 take/100 \
	cycle/1 memory/1e6 resident/1e6 disk/1e6 restart/1e6 queue/0 queue/10 \
	lateness_p99/5e4 lateness_early/2e4 lateness_cpu/2e3/1e5 herd_p99/1e6; do
	check "--list: redis/$row" grep -qx "redis/$row" "$out"
done
for name in tickwheel lua lua_loop bullmq set; do
	check "--list: $name" grep -q "^$name\\( \\|\$\\)" "$out"
done

finish
