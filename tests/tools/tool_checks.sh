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

finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}
