# SPDX-License-Identifier: MIT
# queue_checks.sh - functions that the tests of `tkw queue` share. Source it
# after tool_checks.sh.
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tool_checks.sh

file=$scratch/queue.db
owner_pid=

# q WORD...: runs `tkw queue` with the file. Its input is $in, by default
# nothing.
in=/dev/null
q()
{
	status=0
	"$TKW" queue "$file" "$@" >"$out" 2>"$err" <"$in" || status=$?
}

# value: prints the first line of the output.
value()
{
	head -n 1 "$out"
}

# says TEXT: Is TEXT in the output?
says()
{
	grep -q -F -e "$1" "$out"
}

complains()
{
	one_line "$err" && grep -q -e "^tkw: .*$1" "$err"
}

# outputs TEXT: Is the output this line?
outputs()
{
	[ "$(cat "$out")" = "$1" ]
}

is_number()
{
	case $1 in
	'' | *[!0-9]*)
		return 1
		;;
	esac
}

# fact NAME: prints a fact of the queue $queue.
queue=default
fact()
{
	"$TKW" queue "$file" stats --json -q "$queue" |
		sed -n 's/.*"'"$1"'":\([^,}]*\).*/\1/p'
}

# fact_is NAME VALUE
fact_is()
{
	[ "$(fact "$1")" = "$2" ]
}

# The law: nothing was lost, and nothing came back.
law_holds()
{
	[ "$(fact puts)" -eq "$(($(fact acks) + $(fact cancels) + $(fact purges) \
		+ $(fact waiting) + $(fact ready) + $(fact taken) + $(fact dead)))" ]
}

# Is each line of the output a JSON value, and is there one?
if command -v jq >/dev/null; then
	valid_json()
	{
		[ -s "$out" ] && jq -e -s "length == $(wc -l <"$out")" "$out" \
			>/dev/null
	}
elif command -v python3 >/dev/null; then
	valid_json()
	{
		[ -s "$out" ] && python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' <"$out"
	}
else
	unchecked 'that JSON is valid: no jq and no python3'
	valid_json()
	{
		[ -s "$out" ]
	}
fi

# --- an owner ---

socket_is_there()
{
	[ -S "$file-sock" ]
}

socket_is_gone()
{
	! [ -e "$file-sock" ]
}

# Does the owner serve its socket, or has it ended?
owner_is_ready()
{
	socket_is_there || ! kill -0 "$owner_pid" 2>/dev/null
}

# start_owner: lets another process have the file open, so that commands go
# through its socket.
start_owner()
{
	"$TKW" queue "$file" put x -q owner >/dev/null
	env --default-signal=HUP,INT,QUIT,TERM "$TKW" queue "$file" watch \
		>"$scratch/watched" 2>&1 &
	owner_pid=$!
	until_true owner_is_ready
	check 'an owner has the file open' socket_is_there
}

stop_owner()
{
	[ -n "$owner_pid" ] || return 0
	kill -s TERM "$owner_pid"
	wait "$owner_pid"
	owner_pid=
}

# end_owner: ends the owner, even if it is suspended.
end_owner()
{
	[ -n "$owner_pid" ] || return 0
	kill "$owner_pid"
	kill -s CONT "$owner_pid"
}

trap 'end_owner; rm -rf "$scratch"' EXIT
