#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""redis_orders.py [PORT] - closes orders that are not paid in time, with a
queue in Redis.

The server must have loaded tickwheel.so. Each order is an item of the queue
"orders", with a short delay. A payment cancels the item. An item that can be
taken is an order that nobody has paid. On Debian, the package is python3-redis.
"""
import sys

import redis

port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
ask = redis.Redis(port=port, decode_responses=True).execute_command


def place(order, delay_ms):
    # The order is the key of its item, so that pay() can name the item. With
    # KEEP, an order that is placed twice has one item.
    ask("TKW.PUT", "orders", delay_ms, order, "KEY", order, "KEEP", "ATTEMPTS", 2)
    print(f"placed: {order}")


def pay(order):
    # 0: the order is closed. -1: close_next() has it.
    if ask("TKW.CANCEL", "orders", "KEY", order) == [1]:
        print(f"paid: {order}")
    else:
        print(f"paid too late: {order}")


def close_next(till_is_locked):
    [[item, order, token, attempt, *_]] = ask("TKW.TAKE", "orders", "BLOCK", 0)
    if till_is_locked and order == "order 3":
        print(f"{order}, attempt {attempt}: the till is locked")
        ask("TKW.NACK", "orders", "REASON", "the till is locked", item, token)
    else:
        print(f"closed: {order}")
        ask("TKW.ACK", "orders", item, token)


def revive_dead():
    _, dead = ask("TKW.DEAD", "orders", "LIST")
    for fields in dead:
        # In RESP2, an item is a list of names and values.
        item = dict(zip(fields[::2], fields[1::2]))
        print(f"dead: {item['payload']} after {item['attempts']} attempts, "
              f"{item['reason']}")
    done, _ = ask("TKW.DEAD", "orders", "REVIVE", "ALL")
    print(f"revived: {done}")


ask("DEL", "orders")
place("order 1", 100)
place("order 2", 100)
place("order 3", 200)
pay("order 1")

close_next(till_is_locked=True)  # order 2
close_next(till_is_locked=True)  # order 3
close_next(till_is_locked=True)  # order 3 again, with its last attempt
revive_dead()
close_next(till_is_locked=False)  # order 3
ask("DEL", "orders")
