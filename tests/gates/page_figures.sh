#!/bin/sh
# SPDX-License-Identifier: MIT
# page_figures.sh ROOT | --self-test - checks that every measured figure in
# README.md and docs/ comes from bench/results.json, or from the same of the queue
# or of the queue in Redis, unless its page says that it was measured once.
# scripts/figures --check does the work, and describes how to write figures. The
# self-test also tests scripts/figures.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
figures=$(dirname "$0")/../../scripts/figures

check_pages()
{
	make_scratch
	# Each line on stderr is one complaint.
	sh "$1/scripts/figures" --check "$1" >"$scratch/said" \
		2>"$scratch/wrong" || [ -s "$scratch/wrong" ] ||
		complain 'scripts/figures failed without a word'
	while read -r line; do
		complain "$line"
	done <"$scratch/wrong"
	verdict "$(sed -n 's/.*: \([0-9]* pages\) .*/\1/p' "$scratch/said")"
}

# line ROW IMPL UNIT MEDIAN [MORE]: prints a line of results. MORE is JSON text
# that is added at its end.
line()
{
	printf '{"bench":"%s","impl":"%s","unit":"%s",' "$1" "$2" "$3"
	printf '"median":%s,"min":%s,"max":%s,"runs":5%s}\n' "$4" "$4" "$4" "${5:-}"
}

origin()
{
	printf '{"date":"2026-11-16","commit":"%s","cpu":"Xeon",' "$1"
	printf '"cpus":2,"kernel":"Linux 6.1","compiler":"gcc 12"}\n'
}

plant_results()
{
	origin 1234567
	line timer/pair/1t go ns/op 1234.500
	line timer/pair/1t tickwheel ns/op 93.260
	line timer/pair/1t summary x 1
	line timer/pair/2t tickwheel ns/op 40.616
	line timer/pair/2t go ns/op 159.490
	line timer/pair_cpu/2t tickwheel ns/op 64.016
	line timer/herd_max/1e7 tickwheel us 39.500 ',"probes":70.0'
	line timer/memory/1e6 new_rival bytes 3072.000
	line timer/memory/1e6 tickwheel bytes -0.200
	line timer/lateness_p50/1e3/1ms early us 0.500
	line timer/lateness_p50/1e3/1ms go us 0.750
	line timer/lateness_p50/1e3/1ms tickwheel us 1.000
	line timer/lateness_early/1e3/1ms early count 7.000
}

# Prints a template with each kind of placeholder. plant_made() prints what
# scripts/figures must make of it.
plant_template()
{
	cat <<-'END'
	<!-- figures
	{date} {commit} {machine}
	{timer/pair/1t tickwheel} {timer/pair/1t go}, {timer/memory/1e6 tickwheel} bytes
	{timer/herd_max/1e7 tickwheel ms} {timer/memory/1e6 new_rival KiB}
	{timer/herd_max/1e7 tickwheel probes} {timer/pair/2t go range}
	{timer/pair/2t go / timer/pair/2t
	tickwheel} ×
	{goal timer/pair/2t go / timer/pair/2t tickwheel >= 2.5}
	{goal timer/pair_cpu/2t tickwheel <= 64}
	{goal timer/pair/2t tickwheel us >= 1}

	{table ns, tick 10 µs | timer/pair*/*
	timer/pair/1t}
	{table bytes | timer/memory/1e6 | new_rival}
	{losses timer/pair/* timer/lateness_p50/*/* timer/memory/*}
	-->
	END
}

plant_made()
{
	cat <<-'END'
	2026-11-16 1234567 Xeon, 2 CPUs, Linux 6.1, gcc 12
	93.3 1234, -0.2 bytes
	0.0395 3
	70 159–159
	3.93 ×
	at least 2.5: reached
	at most 64: **not reached**
	at least 1: **not reached**

	| ns, tick 10 µs | tickwheel | go |
	|---|---:|---:|
	| `timer/pair/1t` | 93.3 | 1234 |
	| `timer/pair/2t` | 40.6 | 159 |
	| `timer/pair_cpu/2t` | 64 | - |
	| bytes | new_rival |
	|---|---:|
	| `timer/memory/1e6` | 3072 |
	| row | unit | tickwheel | who is better |
	|---|---|---:|---|
	| `timer/lateness_p50/1e3/1ms` | us | 1 | go 0.75 |
	<!-- /figures -->
	END
}

plant()
{
	tree=$scratch/tree
	rm -rf "$tree"
	mkdir -p "$tree/bench" "$tree/docs/internals" "$tree/docs/plots"
	plant_results >"$tree/bench/results.json"
	{
		echo 'Ticks of 1 ms, 10 µs or 30 ms, for 0 wake-ups; 64 bytes.'
		plant_template
		plant_made
		# shellcheck disable=SC2016 # backquotes
		echo 'At `1e3/77us`, or 256 ms. <!-- not a figure -->'
	} >"$tree/README.md"
	# shellcheck disable=SC2016 # fences
	printf '%s\n' text '```sh' 'sleep 77 ns' '<!-- figures' '```' \
		'<!-- figures' 'At {commit}:' '-->' 'At 1234567:' \
		'<!-- /figures -->' >"$tree/docs/page.md"
	printf '%s\n' '<!-- measured once -->' '41 ns' '<!-- /measured once -->' \
		>"$tree/docs/internals/in.md"
	echo "<!-- cksum of the results: $(cksum <"$tree/bench/results.json") -->" \
		>"$tree/docs/plots/one.svg"
}

# spoil FILE SED-SCRIPT WORD: changes FILE in a sound tree. scripts/figures must
# reject it, and say WORD.
spoil()
{
	plant
	sed -i "$2" "$tree/$1"
	must_reject "$3" sh "$figures" --check "$tree"
}

# typed TEXT: a figure that was typed must be found in a page and in a template.
typed()
{
	spoil docs/page.md "s/^text/It takes $1./" 'docs/page.md:1: a measured fig'
	spoil docs/page.md "s/^At {/Takes $1 at {/" 'docs/page.md:7: a measured fig'
}

self_test_pages()
{
	spoil README.md 's/^93.3 /93.4 /' 'README.md:19: this is not what'
	spoil README.md 's/^93.3 /93.4 /' 'run ./dev figures'
	spoil README.md '/^70 159/d' 'README.md:21: this is not what'
	spoil README.md 's/^3.93 ×/&\nmore/' 'README.md:23: this is not what'
	spoil README.md 's/^| ns, tick/| µs, tick/' 'README.md:27: this is not what'
	spoil docs/page.md '/^At 1234567/d' 'docs/page.md:9: this is not what'
	spoil docs/page.md 's/{commit}/{timer\/pair\/9t go}/' \
		'docs/page.md:7: there is no row timer/pair/9t'
	spoil docs/page.md 's/{commit}/{timer\/pair\/1t gone}/' \
		'docs/page.md:7: there is no gone in the row timer/pair/1t'
	spoil docs/page.md 's/{commit}/x\n{timer\/pair\/1t go KiB}/' \
		'docs/page.md:8: no KiB of timer/pair/1t'
	spoil README.md 's/^tickwheel} ×/gone} ×/' 'README.md:7: there is no gone'
	spoil docs/page.md 's/{commit}/{timer\/pair\/1t}/' 'page.md:7: this is no pl'
	spoil docs/page.md 's/{commit}/{host}/' 'docs/page.md:7: this is no pl'
	spoil docs/page.md 's/{commit}/{commit/' 'docs/page.md:7: a brace without'
	spoil docs/page.md 's/{commit}/{goal timer\/pair\/1t go > 1}/' 'is no pl'
	spoil docs/page.md 's/{commit}/{table x}/' 'docs/page.md:7: a table is'
	spoil docs/page.md 's/{commit}/{table x | timer\/none\/*}/' \
		'docs/page.md:7: there is no row timer/none/*'
	spoil docs/page.md 's/{commit}/{table x | timer\/pair\/1t | me}/' \
		'docs/page.md:7: there is no me'
	spoil docs/page.md 's/{commit}/{losses timer\/none\/*}/' \
		'docs/page.md:7: there is no row timer/none/*'
	spoil docs/page.md '/^<!-- .figures -->/d' 'docs/page.md:6: a block of figures'
	spoil docs/page.md '/^-->/d' 'docs/page.md:6: a block of figures'
	spoil docs/page.md 's/^-->/x -->/' 'docs/page.md:8: --> must stand alone'
	spoil docs/page.md 's/^text/<!-- \/figures -->/' 'docs/page.md:1: a block'
	spoil docs/page.md 's/^text/<!-- figures {date} -->/' 'docs/page.md:1: a block'
	spoil docs/page.md 's/^<!-- .figures -->/<!-- figures/' 'page.md:6: a block'
}

# placed TEXT WORD: TEXT instead of a placeholder, in line 7 of docs/page.md, must
# be rejected with WORD.
placed()
{
	spoil docs/page.md "s,{commit},$1," "docs/page.md:7: $2"
}

# made TEXT RESULT: scripts/figures must make RESULT of TEXT.
made()
{
	plant
	sed -i "s,{commit},$1," "$tree/docs/page.md"
	must_accept "$1" sh "$figures" "$tree"
	must_accept "$1: $2" grep -qxF -e "At $2:" "$tree/docs/page.md"
}

self_test_numbers()
{
	placed '{timer/pair/2t go unit}' 'the unit of timer/pair/2t go is no number'
	placed '{timer/pair/2t go impl}' 'the impl of timer/pair/2t go is no number'
	placed '{goal timer/pair/2t go range <= 1}' 'a goal needs one number'
	spoil bench/results.json '6s/"min"/"mean"/' \
		'README.md:6: the min of timer/pair/2t go is no number'
	spoil bench/results.json '2s/"median":1/&.2./' 'results.json:2: no median'
	# The goal decides by the whole number, and the figure has the digits for it.
	made '{timer/pair_cpu/2t tickwheel}' 64
	made '{timer/pair_cpu/2t tickwheel} {goal timer/pair_cpu/2t tickwheel <= 64}' \
		'64.02 at most 64: **not reached**'
	made '{goal timer/pair/2t go >= 159.5} {timer/pair/2t go}' \
		'at least 159.5: **not reached** 159'
	made '{timer/pair/2t go} {goal timer/pair/2t go <= 159}' \
		'159.5 at most 159: **not reached**'
	ours='timer/pair/2t go / timer/pair/2t tickwheel'
	made "{$ours} {goal $ours >= 3.93}" '3.927 at least 3.93: **not reached**'
}

self_test_wins()
{
	made '{timer/lateness_p50/1e3/1ms go wins} µs' '0.75 µs'
	placed '{timer/pair/2t go wins}' 'go is not better than tickwheel in timer/p'
	placed '{timer/lateness_p50/1e3/1ms early wins}' 'early is not better'
	placed '{timer/pair/2t tickwheel wins}' 'tickwheel is not better'
	placed '{timer/pair/2t gone wins}' 'there is no gone'
}

self_test_units()
{
	for text in '{timer/pair/2t go}ns' '{timer/pair/2t go us} µs' \
		'**{timer/pair/2t go}** nanoseconds' '{timer/pair/2t go max} ns' \
		'{timer/memory/1e6 new_rival KiB} KiB' '{timer/pair/2t go runs} samples' \
		'{timer/pair/2t go range} ns/op' \
		'{timer/pair/2t go / timer/pair/1t go} ×'; do
		plant
		sed -i "s,{commit},$text," "$tree/docs/page.md"
		must_accept "$text" sh "$figures" "$tree"
	done
	for text in µs us ms s bytes KiB milliseconds wake-ups ×; do
		placed "{timer/pair/2t go} $text" \
			"{timer/pair/2t go} is in ns, but $text follows"
	done
	for text in 'ms' '\nms' '\&nbsp;ms' '** ms' ' ms/op'; do
		placed "{timer/pair/2t go}$text" '{timer/pair/2t go} is in ns, but ms'
	done
	placed '{timer/pair/2t go us} ns' '{timer/pair/2t go us} is in us, but ns'
	placed '{timer/pair/2t go range} s' '{timer/pair/2t go range} is in ns, but s'
	placed '{timer/pair/2t go runs} ns' '{timer/pair/2t go runs} has no unit, but ns'
	placed '{timer/pair/2t go / timer/pair/1t go} ns' \
		'{timer/pair/2t go / timer/pair/1t go} is in ×, but ns'
}

# shellcheck disable=SC2016 # the dollar is that of sed
self_test_typed()
{
	for text in '41 ns' '2,106 ns' '0.36 µs' '21us' '**50** ns' '12 ms' \
		'1.27 ms' '9,121 wake-ups' '3.9 ×' '4 times faster' \
		'2 times as fast' '41 nanoseconds' '4x faster' '4 x faster' '4x' \
		'41\&nbsp;ns' '41\xc2\xa0ns' '41\nns' '**41**\n  µs' \
		'4\ntimes faster' '4 times\nfaster' '1.27\nmilliseconds'; do
		typed "$text"
	done
	spoil README.md 's/ <!-- not.*//' 'README.md:39: a measured figure'
	spoil README.md 's/ <!-- not.*//' 'typed: 256 ms'
	for text in 'Number 41\n\nns' 'libuv 1.x and 0x41' 'It was 41.\nus' '30\nms' \
		'41 <!-- not a figure -->\nns' '41\nns <!-- not a figure -->'; do
		plant
		sed -i "s/^text/$text/" "$tree/docs/page.md"
		must_accept "$text" sh "$figures" --check "$tree"
	done
	spoil docs/page.md '5d' 'docs/page.md:2: a block of code without its end'
	spoil docs/internals/in.md 1d 'docs/internals/in.md:1: a measured figure'
	spoil docs/internals/in.md 1d 'docs/internals/in.md:2: nothing that was'
	spoil docs/internals/in.md '$d' 'docs/internals/in.md:1: measured once'
	spoil docs/page.md 's/^text/<!-- measured once -->/' 'page.md:1: measured once'
}

self_test_results()
{
	plant
	rm "$tree/bench/results.json"
	must_reject 'run ./dev bench' sh "$figures" --check "$tree"
	plant
	rm -r "$tree/README.md" "$tree/docs"
	must_reject 'there are no pages' sh "$figures" --check "$tree"
	spoil bench/results.json 1d 'results.json:1: no line with the date'
	spoil bench/results.json '2s/}$//' 'results.json:2: this is not a line'
	spoil bench/results.json '2s/bench/bank/' 'results.json:2: this is not a line'
	spoil bench/results.json '2s/median/medium/' 'results.json:2: no median'
	spoil bench/results.json '2p' 'results.json:3: timer/pair/1t of go is there'
	spoil bench/results.json '1s/Xeon/unknown/' 'results.json:1: the cpu is unkn'
	spoil bench/results.json '1s/1234567/&-dirty/' 'changes that are in no commit'
	spoil docs/plots/one.svg 's/.$/x/' 'docs/plots/one.svg:1: drawn from other'
	plant
	origin 7654321 >>"$tree/bench/results.json"
	must_reject 'results.json:15: runs of two kinds: commit' \
		sh "$figures" --check "$tree"
	plant
	origin 1234567 | sed 's/-16/-17/' >>"$tree/bench/results.json"
	must_reject 'README.md:18: this is not' sh "$figures" --check "$tree"
}

# self_test_more KIND: tests a second file, with the rows KIND/...
self_test_more()
{
	plant
	name=results_$1.json
	more=$tree/bench/$name
	{
		origin 7654321
		line "$1/put/1" tickwheel us/op 250.000 ',"pair_ratio":2.500'
		line "$1/put/1" set us/op 100.000
	} >"$more"
	sed "s/KIND/$1/g" >"$tree/docs/page.md" <<-'END'
	<!-- figures
	{commit} {commit KIND} {KIND/put/1 tickwheel} us
	{goal KIND/put/1 tickwheel pair_ratio >= 3}
	{losses KIND/put/*}
	-->
	1234567 7654321 250 us
	at least 3: **not reached**
	| row | unit | tickwheel | who is better |
	|---|---|---:|---|
	<!-- /figures -->
	END
	must_accept "figures of $name" sh "$figures" --check "$tree"
	sed -i "s,{$1/put/1 t,{$1/put/2 t,g" "$tree/docs/page.md"
	must_reject "there is no row $1/put/2 in bench/$name" \
		sh "$figures" --check "$tree"
	sed -i '1s/7654321/&-dirty/' "$more"
	must_reject "$name:1: measured with changes" \
		sh "$figures" --check "$tree"
	sed -i 1d "$more"
	must_reject "$name:1: no line with the date" \
		sh "$figures" --check "$tree"
	{
		origin 7654321
		line timer/pair/9t tickwheel ns/op 40.616
	} >"$more"
	must_reject "$name:2: timer/pair/9t is not a row" \
		sh "$figures" --check "$tree"
	: >"$more"
	must_reject "$name is empty; run ./dev bench --json bench/$name $1/" \
		sh "$figures" --check "$tree"
	spoil bench/results.json "2s,timer/,$1/," \
		"results.json:2: $1/pair/1t is not a row"
}

# Tests scripts/figures without --check. It corrects what --check rejects, and
# changes nothing else. If one page cannot be made, it changes no page.
self_test_making()
{
	plant
	sed -i 's/^93.3 /93.4 /; /^70 159/d' "$tree/README.md"
	must_accept 'a page to be made anew' sh "$figures" "$tree"
	cp -r "$tree" "$scratch/made"
	plant
	must_accept 'the page that was made' diff -r "$tree" "$scratch/made"
	must_accept 'pages that are in order' sh "$figures" "$tree"
	must_accept 'that they are left alone' diff -r "$tree" "$scratch/made"
	sed -i 's/^93.3 /93.4 /' "$tree/README.md"
	sed -i 's/{commit}/{none}/' "$tree/docs/page.md"
	must_reject 'no page was changed' sh "$figures" "$tree"
	must_accept 'that none was' grep -q '^93.4 ' "$tree/README.md"
	must_reject 'usage' sh "$figures" --help
}

self_test()
{
	make_scratch
	plant
	must_accept 'a sound tree' sh "$figures" --check "$tree"
	self_test_pages
	self_test_numbers
	self_test_wins
	self_test_units
	self_test_typed
	self_test_results
	self_test_more queue
	self_test_more redis
	self_test_making
	# The tests above ran scripts/figures. Now test the gate itself.
	plant
	mkdir "$tree/scripts"
	cp "$figures" "$figures.awk" "$tree/scripts"
	must_accept 'a sound tree, by the gate' sh "$self" "$tree"
	sed -i 's/^93.3 /93.4 /' "$tree/README.md"
	must_reject 'page_figures: README.md:19: this is' sh "$self" "$tree"
	echo 'exit 1' >"$tree/scripts/figures"
	must_reject 'failed without a word' sh "$self" "$tree"
	self_verdict
}

self=$0
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_pages "${1:?the root of the tree}"
	;;
esac
