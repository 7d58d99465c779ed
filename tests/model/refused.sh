# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# refused.sh - sourced by tests of bad options. $program is what they run.
failed=0

# refused OPTION...: the program must say one line, and end with status 2.
refused()
{
	said=$("${program:?}" "$@" 2>&1)
	status=$?
	lines=$(printf '%s\n' "$said" | wc -l)
	if [ "$status" -ne 2 ] || [ "$lines" -ne 1 ] || [ -z "$said" ]; then
		echo "$*: exit status $status, said: $said"
		# shellcheck disable=SC2034 # the tests look at it
		failed=1
	fi
}
