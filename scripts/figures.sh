#!/bin/sh
# SPDX-License-Identifier: MIT
# figures.sh [--check] [ROOT] - every measured figure in README.md, docs/*.md and
# docs/internals/*.md comes from bench/results.json, which `./dev bench --json
# bench/results.json` writes. This script rewrites the pages in place, and draws
# docs/plots/*.svg anew (with gnuplot) if they are of other results. --check
# changes nothing and needs no gnuplot. It fails, and names page and line, if a
# page or a picture differs from the results.
#
# A page has its figures in blocks. The comment is the template, and the lines
# after it are made from it:
#
#   <!-- figures
#   To cancel one and schedule another takes {timer/pair/2t tickwheel} ns.
#   -->
#   To cancel one and schedule another takes 41 ns.
#   <!-- /figures -->
#
# Placeholders. They may span lines. ROW and IMPL are "bench" and "impl" in the
# results.
#
#   {ROW IMPL}             the median, three significant digits
#   {ROW IMPL UNIT}        the median in ns, us, ms, s, bytes, KiB or MiB
#   {ROW IMPL KEY}         another value of that line: min, max, runs, accepted
#   {ROW IMPL range}       the minimum and the maximum
#   {ROW IMPL / ROW IMPL}  a ratio of two medians, two significant digits
#   {goal EXPR >= N}       "at least N: reached", or "at least N: **not
#                          reached**". EXPR is one of the above, and the
#                          operator is >= or <=. Compared are three
#                          significant digits
#   {table TITLE | ROW... [| IMPL...]}
#                          a table of medians. A * in ROW stands for all but /.
#                          Without IMPL there is a column for everyone who took
#                          part. "-" stands where someone did not.
#   {losses ROW...}        a table of those rows in which a rival is better than
#                          tickwheel, and all such rivals
#   {date} {commit} {machine}
#                          of the results
#
# --check also fails on a measured figure that was typed by hand. It takes for
# one, outside of code and of these blocks, and in their templates:
#
#   N ns, N us, N µs   unless N is 1, 10 or 100: those are limits and ticks
#   N ms               if N has two significant digits or more
#   N wake-ups         any N but 0
#   N ×, and "N times" before "as", "faster", "slower", "less" or "more"
#
# Seconds, bytes and percentages pass: no rule tells a measured one from a
# promised one. A line with <!-- not a figure --> passes, and in docs/internals
# so does all between <!-- measured once --> and <!-- /measured once -->: one-off
# experiments, which are not repeated.
set -eu
LC_ALL=C
export LC_ALL
# Absolute, because we are about to leave this folder.
here=$(cd "$(dirname "$0")" && pwd)
results=bench/results.json

die()
{
	echo "figures.sh: $*" >&2
	exit 1
}

check=
if [ "${1:-}" = --check ]; then
	check=1
	shift
fi
case ${1:-} in
-*)
	echo 'usage: figures.sh [--check] [ROOT]' >&2
	exit 2
	;;
esac
cd "${1:-$here/..}"
[ -s "$results" ] ||
	die "there is no $results; run ./dev bench --json $results timer/ patterns/ loop/"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# Make all pages before one is replaced: if one cannot be made, none is.
wrong=0
pages=0
for page in README.md docs/*.md docs/internals/*.md; do
	[ -f "$page" ] || continue
	pages=$((pages + 1))
	made=$scratch/$pages
	status=0
	awk -v page="$page" -v results="$results" -v check="$check" \
		-f "$here/figures.awk" "$results" "$page" >"$made" || status=$?
	# 2: the results themselves are no good. It would say so for each page.
	[ "$status" -ne 2 ] || exit 1
	[ "$status" -eq 0 ] || wrong=1
	echo "$made $page" >>"$scratch/list"
done
[ "$pages" -gt 0 ] || die "there are no pages in $PWD"

# The last line of a picture says which results it shows; see plots.sh.
stale=
stamp="<!-- cksum of the results: $(cksum <"$results") -->"
for picture in docs/plots/*.svg; do
	[ -f "$picture" ] || continue
	[ "$(tail -n 1 "$picture")" = "$stamp" ] || stale="$stale $picture"
done

if [ -n "$check" ]; then
	for picture in $stale; do
		echo "$picture:1: drawn from other results than $results;" \
			"run scripts/figures.sh" >&2
		wrong=1
	done
	[ "$wrong" -eq 0 ] || exit 1
	echo "figures.sh: $pages pages agree with $results"
	exit 0
fi
[ "$wrong" -eq 0 ] || die 'no page was changed'
while read -r made page; do
	cmp -s "$made" "$page" || {
		cat "$made" >"$page"
		echo "$page"
	}
done <"$scratch/list"
[ -z "$stale" ] || sh "$here/../bench/harness/plots.sh" "$results" docs/plots
