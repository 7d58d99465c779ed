# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# tasks.sh - what the tasks of ./dev share: packages, builds and test runs. A
# task sources it, and runs in the root of the project.
set -eu
cd "$(dirname "$0")/.."

task=$(basename "$0")

die()
{
	echo "dev $task: $*" >&2
	exit 1
}

misuse()
{
	echo "dev $task: $*" >&2
	exit 2
}

# no_arguments "$@"
no_arguments()
{
	[ $# -eq 0 ] || misuse "takes no arguments, not '$1'"
}

# --- packages ----------------------------------------------------------------

build_tools='cmake ninja-build gcc libc6-dev'
# shellcheck disable=SC2034 # tasks use it
clang_tools='clang libclang-rt-14-dev'
loops='libev-dev libuv1-dev libevent-dev'
rivals="$loops libglib2.0-dev libboost-dev"
rivals="$rivals golang-go libnetty-java openjdk-17-jdk-headless"
rivals="$rivals libsqlite3-dev beanstalkd libhiredis-dev redis-server"
test_tools="$build_tools g++ libcmocka-dev pkg-config tzdata"
# Without one of these, the tests that need it are not built, or are skipped.
more_test_tools="valgrind $loops libhiredis-dev redis-server redis-tools"
more_test_tools="$more_test_tools python3-redis python3-croniter mandoc"
more_test_tools="$more_test_tools abigail-tools jq"
more_test_tools="$more_test_tools libsqlite3-dev strace"

installed()
{
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null |
		grep -qx installed
}

apt_install()
{
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" \
		</dev/null
}

# missing_of "PACKAGE...": prints the packages that are not installed. Without
# dpkg it prints nothing, and the first tool that is missing fails.
missing_of()
{
	command -v dpkg-query >/dev/null || return 0
	for package in $1; do
		installed "$package" || printf ' %s' "$package"
	done
}

# need "PACKAGE...": installs the packages that are missing. If we are not root,
# it names them and fails.
need()
{
	missing=$(missing_of "$1")
	[ -n "$missing" ] || return 0
	[ "$(id -u)" -eq 0 ] ||
		die "packages are missing; install them: sudo apt-get install$missing"
	echo "dev $task: installing$missing" >&2
	mkdir -p build
	# shellcheck disable=SC2086 # a list of names
	if ! apt_install $missing >build/apt.log 2>&1; then
		# There may be no package lists yet, or old ones.
		apt-get -qq update </dev/null >>build/apt.log 2>&1 || true
		apt_install $missing >>build/apt.log 2>&1 || {
			cat build/apt.log >&2
			die "apt-get cannot install:$missing"
		}
	fi
}

# Installs BullMQ, a rival of the benchmark, in build/bullmq, in the versions of
# its lock file. If there is no npm or no network, BullMQ is left out, and the
# benchmark says so.
get_bullmq()
{
	from=bench/redis/bullmq
	to=build/bullmq
	if cmp -s "$from/package-lock.json" "$to/installed"; then
		return
	fi
	if ! command -v npm >/dev/null && [ "$(id -u)" -eq 0 ]; then
		mkdir -p build
		apt_install nodejs npm >build/apt.log 2>&1 || true
	fi
	command -v npm >/dev/null || return 0
	echo "dev $task: installing BullMQ" >&2
	rm -rf "$to"
	mkdir -p "$to"
	cp "$from/package.json" "$from/package-lock.json" "$to"
	if npm install --prefix "$to" --cache "$to/cache" --ignore-scripts \
		--no-audit --no-fund --fetch-retries=1 \
		>build/npm.log 2>&1 </dev/null; then
		cp "$from/package-lock.json" "$to/installed"
		rm -rf "$to/cache"
	else
		echo "dev $task: npm cannot install BullMQ; see build/npm.log" >&2
		rm -rf "$to"
	fi
}

# backports_into FOLDER: writes the machine's own sources of packages there, with
# the backports of its release instead of the release.
backports_into()
{
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
	for list in /etc/apt/sources.list.d/*.sources; do
		[ ! -f "$list" ] || awk -v RS= -v ORS='\n\n' -v release="$release" '
			$0 ~ "(^|\n)Suites: *" release "( |\n|$)" {
				gsub(/\nSuites:[^\n]*/, "\nSuites: " release "-backports")
				print
			}' "$list"
	done >"$1/backports.sources"
	[ ! -f /etc/apt/sources.list ] ||
		sed -n "s/^deb \(.*\) $release main.*/deb \1 $release-backports main/p" \
			/etc/apt/sources.list >"$1/backports.list"
}

# Unpacks Valkey under build/valkey. Debian 12 has it in its backports only, which
# the machine need not know. Where it cannot be had, a remark says so.
get_valkey()
{
	[ ! -x build/valkey/usr/bin/valkey-server ] || return 0
	command -v apt-get >/dev/null || return 0
	state=$PWD/build/valkey/apt
	rm -rf build/valkey
	mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/sources"
	backports_into "$state/sources"
	set -- -qq -o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$state/sources" \
		-o Dir::State::lists="$state/lists" -o Dir::Cache="$state" \
		-o Acquire::Languages=none
	echo "dev $task: fetching Valkey" >&2
	if (
		apt-get "$@" update && cd "$state" &&
			apt-get "$@" download valkey-server valkey-tools &&
			for package in ./*.deb; do
				dpkg-deb -x "$package" ..
			done
	) >build/valkey.log 2>&1 </dev/null; then
		rm -rf "$state"
	else
		rm -rf build/valkey
		remark 'not run with Valkey: apt cannot give valkey-server here'
	fi
}

# need_for_tests "PACKAGE...": installs the packages that the tests need, and the
# given ones. If we are not root, optional packages may be missing, and `absent`
# names them. In CI, no package may be missing.
absent=
need_for_tests()
{
	need "$test_tools"
	get_valkey
	if [ "$(id -u)" -eq 0 ] || [ "${CI:-}" = true ]; then
		need "$more_test_tools $1"
	else
		absent=$(missing_of "$more_test_tools $1")
	fi
}

# --- build -------------------------------------------------------------------

# moving WHAT: reads the output of ninja or ctest and shows the progress on
# stderr, in one line if that is a terminal. WHAT is the text before the
# numbers.
moving()
{
	terminal=0
	[ ! -t 2 ] || terminal=1
	# By default, mawk waits until it has 4096 bytes to read.
	at_once=
	case $(awk -W version 2>&1 </dev/null) in
	mawk*)
		at_once='-W interactive'
		;;
	esac
	# shellcheck disable=SC2086 # two words or none
	awk $at_once -v what="$1" -v terminal="$terminal" \
		-f scripts/progress.awk >&2
}

# quietly LOG COMMAND...: runs the command with its output in a file, and shows
# the file if the command fails.
quietly()
{
	log=$1
	shift
	"$@" >"$log" 2>&1 || {
		cat "$log" >&2
		die "failed: $*"
	}
}

# configure PRESET [CMAKE-ARGUMENT...]
configure()
{
	preset=$1
	shift
	mkdir -p build/reports
	quietly "build/reports/$preset-build.log" cmake --preset "$preset" "$@"
}

# build PRESET [TARGET...]
build()
{
	preset=$1
	shift
	log=build/reports/$preset-build.log
	rm -f build/status
	{
		cmake --build "build/$preset" ${1:+--target} "$@" 2>&1 &&
			echo 0 >build/status
	} | tee "$log" | moving "building $preset"
	[ -f build/status ] || {
		grep -A 20 '^FAILED:' "$log" >&2 || cat "$log" >&2
		die "the build of $preset failed; all of its output: $log"
	}
}

# --- tests -------------------------------------------------------------------

passed=0
failed=0
skipped=0
jobs=$((2 * $(nproc))) # because many tests sleep most of the time

# The sanitizers of Debian 12 do not start if the kernel randomizes more than 28
# bits of an address. The prefix turns this off, if the system allows it.
prefix=
keep_addresses_together()
{
	if setarch -R true 2>/dev/null; then
		prefix='setarch -R'
	fi
}

# row KIND COUNT [SECONDS]: adds a row to the table that .ci/run prints.
row()
{
	mkdir -p build
	printf '%-9s %10s %7s\n' "$1" "$2" "${3:-}" >>build/rows
}

# rows_of_tests XML: adds a row for each kind of test. The kind is the first
# word of a test's name.
rows_of_tests()
{
	sed -n 's/.*<testcase name="\([^"]*\)".* time="\([^"]*\)".*/\1 \2/p' "$1" |
		awk '
		{ kind = $1; sub(/_.*/, "", kind); n[kind]++; s[kind] += $2 }
		END { for (kind in n) print kind, n[kind], int(s[kind] + 0.5) }
		' | sort | while read -r kind n s; do
			row "$kind" "$n" "$s"
		done
}

# attribute NAME FILE: prints a number from the head of ctest's report.
attribute()
{
	tr '\n\t' '  ' <"$2" |
		sed -n "s/.*<testsuite [^>]* $1=\"\([0-9]*\)\".*/\1/p"
}

# run_tests PRESET [CTEST-ARGUMENT...]: runs tests and counts them. Their output
# goes to files in build/reports, and the output of failed tests is also shown.
run_tests()
{
	preset=$1
	shift
	xml=$PWD/build/$preset/tests.xml
	log=build/reports/$preset.log
	rm -f "$xml" build/status
	{
		$prefix ctest --test-dir "build/$preset" --parallel "$jobs" \
			--output-on-failure --no-label-summary --output-junit "$xml" \
			"$@" 2>&1 && echo 0 >build/status
	} | tee "$log" | moving "testing $preset"
	[ -f "$xml" ] || {
		tail -n 5 "$log" >&2
		die "ctest did not run; all of its output: $log"
	}
	rows_of_tests "$xml"
	bad=$(attribute failures "$xml")
	left_out=$(($(attribute skipped "$xml") + $(attribute disabled "$xml")))
	ran=$(attribute tests "$xml")
	passed=$((passed + ran - bad - left_out))
	# Something else went wrong, for example a program is missing.
	if [ ! -f build/status ] && [ "$bad" -eq 0 ]; then
		tail -n 5 "$log" >&2
		bad=1
	fi
	failed=$((failed + bad))
	skipped=$((skipped + left_out))
	save_reports "$preset"
	remark "$(name_skipped "$xml")"
	wanted=$(sed -n 's,^ *[0-9]*/\([0-9]*\) Test  *#.*,\1,p' "$log" | tail -n 1)
	[ "$ran" -ge "${wanted:-0}" ] ||
		remark "stopped early: $((wanted - ran)) tests of $preset were not run"
}

# remark TEXT: verdict() prints it, unless it is empty.
remarks=
remark()
{
	[ -z "$1" ] || remarks="$remarks$1
"
}

# save_reports PRESET: keeps the output of all tests in build/reports, and that of
# each test that is labelled "report" in a file of its own.
save_reports()
{
	log=build/$1/Testing/Temporary/LastTest.log
	[ -f "$log" ] || return 0
	kept=build/reports/$1-output.log
	cp "$log" "$kept" # because ctest -N empties the log
	ctest --test-dir "build/$1" -N -L report |
		sed -n 's/^ *Test *#[0-9]*: //p' |
		awk -v place="build/reports/$1-" '
		NR == FNR { wanted[$1] = 1; next }
		/^[0-9]+\/[0-9]+ Test: / { name = $3 }
		/^<end of output>$/ { inside = 0 }
		inside && !/^-+$/ { print >(place name ".txt") }
		/^Output:$/ && name in wanted { inside = 1 }
		' - "$kept"
}

# name_skipped XML: prints which tests were skipped, and what they said about
# it: the line that begins with "skipped:", else the first one.
name_skipped()
{
	awk '
	/<testcase / { name = $0; sub(/.*name="/, "", name); sub(/".*/, "", name) }
	/status="(notrun|disabled)"/ { off = 1 }
	off && /<system-out>/ {
		text = $0
		gsub(/.*<system-out>|<\/system-out>.*/, "", text)
	}
	off && /^skipped: / { text = $0 }
	/<\/testcase>/ {
		if (off)
			print "skipped " name (text == "" ? "" : ": " text)
		off = 0
		text = ""
	}' "$1"
}

# Prints the last line of a task that runs tests, and ends the task.
verdict()
{
	[ -z "$absent" ] ||
		remark "some tests were left out; install their packages: sudo apt-get install$absent"
	[ "$skipped" -eq 0 ] || [ "${CI:-}" != true ] ||
		remark 'CI=true: a skipped test is a failure'
	printf '%s' "$remarks"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] || exit 1
	[ "$skipped" -eq 0 ] || [ "${CI:-}" != true ] || exit 1
	[ "$passed" -gt 0 ] || exit 1
	exit 0
}

# sanitized PRESET LABELS TIMEOUTS [CTEST-ARGUMENT...]: runs the tests that have
# none of these labels. The model, the stress and the kills are shorter, because
# sanitizers make them slow. TIMEOUTS is the number of timeouts of the stress.
sanitized()
{
	need_for_tests ''
	configure "$1"
	build "$1"
	keep_addresses_together
	TKW_MODEL_SEEDS=${TKW_MODEL_SEEDS:-1000}
	TKW_STRESS_TIMEOUTS=${TKW_STRESS_TIMEOUTS:-$3}
	TKW_STRESS_ROUNDS=${TKW_STRESS_ROUNDS:-5000}
	TKW_QUEUE_KILLS=${TKW_QUEUE_KILLS:-40}
	TKW_QUEUE_STRIDE=${TKW_QUEUE_STRIDE:-7}
	TKW_QUEUE_HERD=${TKW_QUEUE_HERD:-100000}
	export TKW_MODEL_SEEDS TKW_STRESS_TIMEOUTS TKW_STRESS_ROUNDS \
		TKW_QUEUE_KILLS TKW_QUEUE_STRIDE TKW_QUEUE_HERD
	preset=$1
	labels=$2
	shift 3
	run_tests "$preset" -LE "$labels" "$@"
	verdict
}
