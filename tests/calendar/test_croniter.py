# SPDX-License-Identifier: MIT
# test_croniter.py PLAN_TIMES - compares the times of random plans with those of
# croniter, for the grammar that both have, in UTC.
#
# We differ on purpose in these cases, so they are not made here, or have a check
# of their own below:
#   - The second is the first of six fields. In croniter it is the last.
#   - A day field that starts with a star restricts nothing: with "*/2" as day
#     and "mon" as weekday, a day must match both. In croniter either is enough.
#   - When the clocks change, the header says what we do. croniter has other
#     rules, so the comparison is in UTC.
#   - A range of weekdays or months may wrap around.
#   - LW, 15W, L-3, and 5L beside other weekdays are ours alone.
#   - A step that is larger than the field is refused by us.
#   - A list of all weekdays, or of all days, is a restriction. To croniter it is a
#     star.
#   - Backwards, croniter 1.3.5 does not find February 29.
import datetime
import random
import subprocess
import sys

try:
    from croniter import croniter
except ImportError:
    print("skipped: no croniter (Debian: python3-croniter)")
    sys.exit(77)

SEED = 7
COUNT = 10
PLANS = 3000
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
rng = random.Random(SEED)


def value(low, high, names):
    n = rng.randint(low, high)
    if names and rng.random() < 0.3:
        return names[n - low]
    return str(n)


def item(low, high, names):
    kind = rng.randrange(4)
    if kind == 0:
        first = rng.randint(low, high)
        return "%d-%d" % (first, rng.randint(first, high))
    if kind == 1:
        first = rng.randint(low, high)
        last = rng.randint(first, high)
        return "%d-%d/%d" % (first, last, rng.randint(1, max(1, last - first)))
    return value(low, high, names)


def field(low, high, names=None, star=0.4, steps=True):
    if rng.random() < star:
        return "*"
    if steps and rng.random() < 0.2:
        return "*/%d" % rng.randint(1, (high - low + 1) // 2)
    return ",".join(item(low, high, names) for _ in range(rng.randint(1, 3)))


def make_plan():
    day = field(1, 28 if rng.random() < 0.5 else 31, star=0.6, steps=False)
    if rng.random() < 0.1:
        day = "l"
    weekday = field(0, 6, DAYS, star=0.6, steps=False)
    if day == "*" and rng.random() < 0.2:
        weekday = "%d#%d" % (rng.randint(0, 6), rng.randint(1, 4))
    return " ".join([field(0, 59), field(0, 23), day,
                     field(1, 12, MONTHS, star=0.7), weekday])


def is_common(plan):
    if not croniter.is_valid(plan):
        return False
    sets = croniter.expand(plan)[0]
    return all(a == "*" or b != ["*"]
               for a, b in zip(plan.split()[2:5:2], sets[2:5:2]))


def is_leap_day(at):
    day = datetime.datetime.utcfromtimestamp(at)
    return (day.month, day.day) == (2, 29)


def ask(program, cases):
    text = "".join("%d %s\n" % case for case in cases)
    answer = subprocess.run([program], input=text, capture_output=True,
                            text=True, check=True).stdout
    return answer.splitlines()


def theirs(after, plan):
    it = croniter(plan, after, ret_type=float)
    times = [int(it.get_next()) for _ in range(COUNT)]
    return times + [int(croniter(plan, after, ret_type=float).get_prev())]


def check_differences(program):
    # 2026-11-01, a Sunday.
    after = 1793491200
    lines = ask(program, [(after, "0 0 */2 * mon"), (after, "*/90 * * * *"),
                          (after, "30 0 0 * * *")])
    first = int(lines[0].split()[0])
    assert first == 1793491200 + 8 * 86400, "a star restricts a day field"
    assert first != theirs(after, "0 0 */2 * mon")[0], "croniter has changed"
    assert lines[1] == "refused", "a step of 90 minutes"
    assert int(lines[2].split()[0]) == after + 30, "the second is first"


def main():
    program = sys.argv[1]
    cases = []
    while len(cases) < PLANS:
        plan = make_plan()
        if is_common(plan):
            cases.append((rng.randint(0, 4102444800), plan))
    wrong = 0
    never = 0
    for (after, plan), line in zip(cases, ask(program, cases)):
        try:
            want = theirs(after, plan)
        except Exception:  # croniter gives up on rare plans
            never += 1
            continue
        got = [int(word) for word in line.split()] if line != "refused" else []
        if got and is_leap_day(got[-1]):
            want[-1] = got[-1]
        if got != want:
            wrong += 1
            if wrong <= 10:
                print("%s after %d:\n  ours   %s\n  theirs %s"
                      % (plan, after, got, want))
    check_differences(program)
    print("seed %d: %d plans, %d that croniter gives up on, %d differ"
          % (SEED, len(cases), never, wrong))
    return 1 if wrong or never > len(cases) // 20 else 0


sys.exit(main())
