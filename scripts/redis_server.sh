# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# redis_server.sh - starts a Redis or Valkey server with the module, on a loopback
# port and in a scratch folder of its own. ./dev redis and the tests of the
# examples source it.

# Sets redis_server and redis_cli to the programs. Returns 1, and says what is
# missing, if there are none.
redis_find()
{
	for kind in redis valkey; do
		redis_server=$(command -v "$kind-server") || continue
		redis_cli=$(command -v "$kind-cli") || continue
		return 0
	done
	echo 'no redis-server and redis-cli'
	return 1
}

# redis_is_ours: succeeds if the server that answers on the port is the one that
# was started. Another server on this port has another folder, or never answers.
redis_is_ours()
{
	[ "$(timeout 2 "$redis_cli" -h 127.0.0.1 -p "$redis_port" CONFIG GET dir \
		2>>"$redis_dir/cli.log" | tail -n 1)" = "$redis_dir" ]
}

# redis_try MODULE: starts a server on redis_port. Returns 0 when it answers, and
# 1 if it has ended.
redis_try()
{
	"$redis_server" --loadmodule "$1" --port "$redis_port" \
		--bind 127.0.0.1 --dir "$redis_dir" --save '' --appendonly no \
		>"$redis_dir/server.log" 2>&1 &
	redis_pid=$!
	while kill -0 "$redis_pid" 2>>"$redis_dir/cli.log"; do
		! redis_is_ours || return 0
		sleep 0.02
	done
	wait "$redis_pid" || true
	redis_pid=
	return 1
}

# redis_start MODULE [PORT]: starts a server, on a free port if none is given. Sets
# redis_pid, redis_port and redis_dir. Returns 1, with the server's log in
# redis_dir/server.log, if it does not start. Call redis_stop in any case.
redis_pid=
redis_dir=
redis_start()
{
	redis_scratch=$(mktemp -d) || return 1
	redis_dir=$(cd "$redis_scratch" && pwd -P) || return 1
	redis_port=${2:-}
	if [ -n "$redis_port" ]; then
		redis_try "$1"
		return
	fi
	tries=0
	while [ "$tries" -lt 50 ]; do
		redis_port=$((20000 + ($$ * 7 + tries * 131) % 12000))
		! redis_try "$1" || return 0
		# Another port does not help if the module is refused.
		grep -qi 'address already in use' "$redis_dir/server.log" ||
			return 1
		tries=$((tries + 1))
	done
	return 1
}

# Stops the server and removes its folder.
redis_stop()
{
	if [ -n "$redis_pid" ]; then
		kill "$redis_pid" 2>>"$redis_dir/cli.log" || true
		wait "$redis_pid" || true
		redis_pid=
	fi
	[ -z "$redis_dir" ] || rm -rf "$redis_dir"
	redis_dir=
}
