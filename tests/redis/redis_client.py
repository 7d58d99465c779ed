# SPDX-License-Identifier: MIT
"""redis_client.py PORT - uses a queue as a program in Python does.

It needs python3-redis, and a server with the module at that port. It prints a
line for each step that was as expected, and ends with status 1 at the first one
that was not. Without python3-redis it ends with status 77.
"""

import sys
import threading

try:
    import redis
except ImportError:
    print("skipped: no python3-redis")
    sys.exit(77)


def check(what, good):
    """Prints a line, or ends the program."""
    if not good:
        print("FAILED: " + what)
        sys.exit(1)
    print("ok: " + what)


def put_take_ack(client):
    """The way of one item, with a payload of any bytes."""
    payload = bytes(range(256))
    item = client.execute_command(
        "TKW.PUT", "py", 0, payload, "KEY", "k", "ATTEMPTS", 3)
    check("a put gives an id", isinstance(item, int) and item > 0)
    taken = client.execute_command("TKW.TAKE", "py", "LEASE", 60000)
    check("a take gives the item", len(taken) == 1 and taken[0][0] == item)
    check("any bytes come back", taken[0][1] == payload)
    check("and the key", taken[0][5] == b"k")
    token = taken[0][2]
    check("an ack is done",
          client.execute_command("TKW.ACK", "py", item, token) == [1])
    check("a second one is stale",
          client.execute_command("TKW.ACK", "py", item, token) == [0])
    check("nothing is left", client.execute_command("TKW.TAKE", "py") is None)


def errors(client):
    """The first word of an error tells what is wrong."""
    client.execute_command("TKW.PUT", "py", 60000, "a", "KEY", "held")
    try:
        client.execute_command("TKW.PUT", "py", 0, "b", "KEY", "held")
        check("a key that is held is refused", False)
    except redis.ResponseError as error:
        check("a key that is held is refused",
              str(error).startswith("TKWEXISTS"))
    try:
        client.execute_command("TKW.PUT", "py", "soon", "b")
        check("a delay that is no number is refused", False)
    except redis.ResponseError:
        check("a delay that is no number is refused", True)


def pipeline(client):
    """Many commands at once, in a transaction and without one."""
    for transaction in (False, True):
        pipe = client.pipeline(transaction=transaction)
        for number in range(100):
            pipe.execute_command("TKW.PUT", "pipe", 0, number)
        ids = pipe.execute()
        check("a pipeline puts in order", ids == sorted(ids))
        taken = client.execute_command("TKW.TAKE", "pipe", "COUNT", 1000)
        check("and all of it can be taken",
              [int(item[1]) for item in taken] == list(range(100)))


def waiting(client, port):
    """A take that waits is served by another client."""
    got = []

    def consume():
        consumer = redis.Redis(port=port)
        got.extend(consumer.execute_command("TKW.TAKE", "wait", "BLOCK", 0))

    thread = threading.Thread(target=consume)
    thread.start()
    client.execute_command("TKW.PUT", "wait", 10, "later")
    thread.join()
    check("a take that waits is served", got[0][1] == b"later")


def plans(client):
    """An item of a plan has its planned time, and the next one follows."""
    first = client.execute_command("TKW.PLAN", "plan", "p", "every 20ms", "x")
    taken = client.execute_command("TKW.TAKE", "plan", "BLOCK", 0)
    check("a plan puts an item", taken[0][6] == first)
    check("with the planned time in its key",
          taken[0][5] == b"p@%d" % first)
    client.execute_command("TKW.ACK", "plan", taken[0][0], taken[0][2])
    taken = client.execute_command("TKW.TAKE", "plan", "BLOCK", 0)
    check("and another one for its next time", taken[0][6] > first)
    check("until it ends",
          client.execute_command("TKW.UNPLAN", "plan", "p") == 1)
    try:
        client.execute_command("TKW.PLAN", "plan", "p", "* * 32 * *", "x")
        check("a wrong plan is refused", False)
    except redis.ResponseError as error:
        check("a wrong plan is refused", str(error).startswith("TKWPLAN"))


def facts(client):
    """Maps are flat lists in RESP2."""
    pairs = client.execute_command("TKW.COUNT", "py")
    counts = dict(zip(pairs[::2], pairs[1::2]))
    check("counts by state", counts[b"waiting"] == 1 and counts[b"taken"] == 0)


def main():
    """Runs all steps."""
    port = int(sys.argv[1])
    client = redis.Redis(port=port)
    put_take_ack(client)
    errors(client)
    facts(client)
    pipeline(client)
    plans(client)
    waiting(client, port)


main()
