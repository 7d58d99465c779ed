#!/bin/sh
# SPDX-License-Identifier: MIT
# redis_orders.sh [PORT] - closes orders that are not paid in time, with a queue
# in Redis.
#
# The server must have loaded tickwheel.so. Each order is an item of the queue
# "orders", with a short delay. A payment cancels the item. An item that can be
# taken is an order that nobody has paid.
#
# redis-cli prints each element of a reply in a line of its own. A payload with
# line breaks needs redis-cli --json.
set -eu
port=${1:-6379}
cli=$(command -v redis-cli || command -v valkey-cli)

# Sends a command. Fails if the reply is an error.
ask()
{
	"$cli" -e -h 127.0.0.1 -p "$port" "$@"
}

# place ORDER DELAY_MS: the order is the key of its item, so that pay() can name
# the item. With KEEP, an order that is placed twice has one item.
place()
{
	ask TKW.PUT orders "$2" "$1" KEY "$1" KEEP ATTEMPTS 2 >/dev/null
	echo "placed: $1"
}

pay()
{
	# 0: the order is closed. -1: close_next() has it.
	if [ "$(ask TKW.CANCEL orders KEY "$1")" -eq 1 ]; then
		echo "paid: $1"
	else
		echo "paid too late: $1"
	fi
}

close_next()
{
	item=$(ask TKW.TAKE orders BLOCK 0)
	{
		read -r id
		read -r order
		read -r token
		read -r attempt
	} <<-END
	$item
	END
	if [ "$1" = locked ] && [ "$order" = 'order 3' ]; then
		echo "$order, attempt $attempt: the till is locked"
		ask TKW.NACK orders REASON 'the till is locked' "$id" "$token" \
			>/dev/null
	else
		echo "closed: $order"
		ask TKW.ACK orders "$id" "$token" >/dev/null
	fi
}

# The first line of the list is a cursor. Then there are two lines for each
# field of an item, a name and a value. The last field is the payload.
revive_dead()
{
	ask TKW.DEAD orders LIST | awk '
	NR % 2 == 0 { name = $0; next }
	{ value[name] = $0 }
	name == "payload" {
		printf "dead: %s after %s attempts, %s\n", value["payload"],
			value["attempts"], value["reason"]
	}'
	revived=$(ask TKW.DEAD orders REVIVE ALL)
	echo "revived: $(echo "$revived" | head -n 1)"
}

ask DEL orders >/dev/null
place 'order 1' 100
place 'order 2' 100
place 'order 3' 200
pay 'order 1'

close_next locked # order 2
close_next locked # order 3
close_next locked # order 3 again, with its last attempt
revive_dead
close_next open # order 3
ask DEL orders >/dev/null
