# SPDX-License-Identifier: MIT
# run_checks.sh - functions that the tests of `tkw after`, `every`, `cron` and
# `next` share. Source it after tool_checks.sh.
# shellcheck shell=sh disable=SC2154 # variables of tool_checks.sh

# events TEST: Is each line of $err JSON, and is the Python expression TEST true
# of the list `e` of all of them?
if command -v python3 >/dev/null; then
	events()
	{
		python3 -c 'import json, sys
e = [json.loads(line) for line in open(sys.argv[1])]
def only(event): return [x for x in e if x["event"] == event]
sys.exit(not (e and eval("(" + sys.argv[2] + ")")))' "$err" "$1"
	}
else
	unchecked 'that JSON is valid: no python3'
	events()
	{
		[ -s "$err" ]
	}
fi

outputs()
{
	[ "$(cat "$out")" = "$1" ]
}
